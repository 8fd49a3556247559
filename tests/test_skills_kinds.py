"""Skills of players of two kinds, in seasons of several leagues, and with a side advantage that drifts."""

import re

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full, quick
from tests.reference.skills_twin import Skills, game

LEARNERS, EXERCISES, MATCHES, LENGTH = 5, 7, 120, 7.0
KINDS = {
    "second_kind_growth": 3.0, "second_kind_initial_deviation": 260.0, "second_kind_match_growth": 1.0,
    "second_kind_experience": -4.0,
}  # fmt: skip
PARTS = {"growth": 14.0, "initial_deviation": 120.0, "match_growth": 9.0, "experience": 25.0, "side_advantage": 30.0}
MODIFIERS = {"modifier_growth": 4.0, "initial_modifier_deviation": 55.0}
SEASONS = {"season_keep": 0.7, "season_growth": 40.0}
CASES = {  # settings, and hyperparameters
    "sides": ({"kinds": "sides"}, PARTS | KINDS | {"deviation_max": 300.0}),
    "columns": ({"kinds": ("kind_a", "kind_b"), "categories": 2}, PARTS | KINDS | MODIFIERS),
    "leagues": ({"league_season": "season"}, PARTS | SEASONS),
    "drift": ({"side_since": 50.0}, PARTS | {"side_trend": -40.0}),
}


def answers(seed=0):
    """Learners answer exercises, some in leagues whose seasons overlap."""
    random, n = np.random.default_rng(seed), MATCHES
    player = np.stack([random.integers(0, LEARNERS, n), LEARNERS + random.integers(0, EXERCISES, n)], axis=1)
    time = np.sort(random.uniform(0, 200, n))
    columns = {"kind_a": np.zeros(n), "kind_b": np.ones(n), "season": 2019 + (time + 30 * (player[:, 0] % 2)) // 60}
    context = {"side": random.integers(-1, 2, n), "weight": random.choice([0.5, 1.0], n)}
    return jr.matches(player, random.integers(0, 2, n), time, columns=columns, category=player % 2, **context)


def by_twin(case, events, periods):
    settings, params = CASES[case]
    given = {"categories": settings.get("categories", 1)} | {x: y for x, y in settings.items() if x == "side_since"}
    twin = Skills("win", **params, **given, noise=300.0, initial_rating=1500.0, duration=LENGTH if periods else 0.0)
    of, n = events.context, len(events.score)
    known = {"kinds": (0, 1) if "kinds" in settings else (0, 0)}
    games = [
        game(
            *map(int, events.player[i]), events.score[i], of.side[i], of.weight[i], of.category[i], **known,
            season=of.columns["season"][i] if case == "leagues" else None,
        )
        for i in range(n)
    ]  # fmt: skip
    time = np.floor(events.time / LENGTH) * LENGTH if periods else events.time
    together = np.split(np.arange(n), np.flatnonzero(np.diff(time)) + 1)
    return twin, np.concatenate([twin.play(time[rows[0]], [games[i] for i in rows]) for rows in together])


def system_of(case):
    settings, params = CASES[case]
    return jr.skills(**settings, **params)


@pytest.mark.parametrize(
    ("case", "form"),
    mark_full(
        [(case, form) for case in CASES for form in ("matches", "periods")],
        *(
            ("sides", "periods"),
            ("columns", "periods"),
            ("leagues", "matches"),
            ("leagues", "periods"),
            ("drift", "matches"),
        ),
    ),
)
def test_against_the_twin(double, case, form):
    events, system = answers(), system_of(case)
    result = jr.run(system, jr.periods(events, LENGTH) if form == "periods" else events)
    twin, guess = by_twin(case, events, form == "periods")
    rows = [twin.players[i] for i in range(LEARNERS + EXERCISES)]
    np.testing.assert_allclose(result.prediction, guess, atol=1e-10)
    shape, square = np.shape(result.state.mean), np.shape(result.state.covariance)
    np.testing.assert_allclose(result.state.mean, np.array([x.m for x in rows]).reshape(shape), atol=1e-7)
    np.testing.assert_allclose(result.state.covariance, np.array([x.P for x in rows]).reshape(square), atol=1e-5)
    shown = [x.m[0] + x.kind.experience * np.log1p(x.games) for x in rows]
    np.testing.assert_allclose(jr.ratings(system, result.state).mean, shown, rtol=1e-10)


@pytest.mark.parametrize("case", mark_full(CASES, "columns", "leagues"))
def test_the_schedule_changes_nothing(double, case):
    events, system = answers(), system_of(case)
    one, other = jr.run(system, events), jr.run(system, events, schedule=jr.extend.schedule_by_level(events))
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_two_kinds_alike_are_one():
    events = answers()
    one = jr.run(jr.skills(**PARTS), events)
    two = jr.run(jr.skills(kinds="sides", **PARTS), events)
    np.testing.assert_allclose(two.prediction, one.prediction, rtol=2e-5)


def test_a_season_of_one_league_changes_nothing_in_another():
    """Players 0 and 1 play on in their season while 2 and 3 begin another; 2, who then joins 0, stays in theirs."""
    player, season = [[0, 1], [2, 3], [2, 3], [0, 1], [0, 2]], [2020, 2020, 2021, 2020, 2020]
    system = jr.skills(league_season="season", season_keep=0.5, season_growth=60.0, growth=0.0)
    own = jr.run(system, jr.matches(player, [1] * 5, columns={"season": season}))
    none = jr.run(system, jr.matches(player, [1] * 5, columns={"season": [2020] * 5}))
    assert own.prediction[3] == none.prediction[3] and own.prediction[2] < none.prediction[2]
    np.testing.assert_array_equal(own.state.season, [2020, 2020, 2021, 2021])


def test_a_side_advantage_follows_its_line():
    ours = jr.skills(side_advantage=50.0, side_since=0.0, side_trend=-20.0)
    events = jr.matches([[0, 1], [2, 3]], [1, 1], [0.0, 730.5], side=[1, 1])
    lower = jr.run(jr.skills(side_advantage=10.0), events).prediction[1]
    np.testing.assert_allclose(jr.run(ours, events).prediction[1], lower, rtol=1e-6)


@pytest.mark.full  # slopes are below
def test_a_fit_reaches_what_a_kind_has_of_its_own(double, no_errors):
    events = answers()
    fitted = jr.fit(jr.skills(kinds="sides", **PARTS), events, steps=1)
    for name in KINDS:
        assert name in fitted.free and getattr(fitted.params, name) != PARTS[name.removeprefix("second_kind_")]


def test_slopes_reach_what_a_kind_has_of_its_own(double):
    events, system = answers(), system_of("sides")
    none = jax.tree.map(lambda _: 0.0, system.params)
    directions = jax.tree.map(lambda *x: np.array(x), *(none._replace(**{name: 1.0}) for name in KINDS))

    def slope(direction):
        return jax.jvp(lambda x: jr.run(system, events, params=x).prediction, (system.params,), (direction,))[1]

    found = np.asarray(quick(jax.vmap(slope))(directions))
    assert np.isfinite(found).all() and (np.abs(found).max(axis=1) > 0).all()


@pytest.mark.parametrize(
    ("make", "columns", "why"),
    [
        (lambda: jr.skills(kinds="kind_a"), {}, "kinds must be 'sides', or the columns of a's and of b's kind"),
        (lambda: jr.skills(second_kind_growth=3.0), {}, "second_kind_growth needs kinds=\"sides\""),
        (lambda: jr.skills(kinds="sides", second_kind_experience=3.0), {}, "second_kind_experience needs experience"),
        (lambda: jr.skills(side_trend=3.0), {}, "side_trend needs side_since=..., a time"),
        (lambda: jr.skills(seasons=[1.0], league_season="season"), {}, "and not both"),
        (lambda: jr.skills(league_season="year"), {}, "skills needs the column 'year' of the matches"),
        (lambda: jr.skills(kinds="sides"), {"player": [[0, 1], [1, 2]]}, "player 1 is of both kinds"),
        (lambda: jr.skills(kinds=("a", "b")), {"columns": {"a": [0, 0], "b": [1, 2]}}, "column 'b' is 2; it must"),
    ],
)  # fmt: skip
def test_what_is_refused(make, columns, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        jr.run(make(), jr.matches(**{"player": [[0, 1], [0, 2]], "score": [1, 0]} | columns))
