"""Skills against the slow twin; what they do in long histories, with evidence of all kinds, and in leagues."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.match_margins import estimate_measurement_noise
from jaxrate.systems.skills.belief_updates import Message, condition_on_message
from jaxrate.systems.skills.system import skills_by_name
from jaxrate.systems.system_construction_by_name import make_system_for_data
from jaxrate.testing.cases import assert_close_leaves
from tests.conftest import MOSTLY_DOUBLE, draw_pairs, mark_full, quick, refused
from tests.reference.skills_twin import Skills, game

PLAYERS, MATCHES, SEASONS, LENGTH = 12, 150, (31.0, 62.5, 63.0, 100.0), 7.0
PARTS = {
    "growth": 12.0, "initial_rating": 1480.0, "initial_deviation": 140.0, "match_growth": 7.0, "side_advantage": 22.0,
}  # fmt: skip
MORE = {"season_keep": 0.7, "season_growth": 25.0, "reversion": 300.0, "experience": 15.0}
MODIFIERS = {"modifier_growth": 4.0, "initial_modifier_deviation": 55.0}
OWN_SIDE = {"own_side_growth": 2.0, "initial_own_side_deviation": 33.0}
FADING_FORM = {"form_deviation": 60.0, "form_reversion": 9.0}
STATISTICS = {"games_scale": 900.0, "games_noise": 310.0, "aces_scale": 20.0, "aces_noise": 400.0}
COLUMNS = {"covariates": ("komi", "rest")}
CASES = {  # settings and hyperparameters
    "win": ({"categories": 3, "own_side": True, **COLUMNS}, PARTS | MODIFIERS | OWN_SIDE | {"noise": 280.0}),
    "draws": (
        {"outcome": "win", "seasons": SEASONS},
        PARTS | MORE | {"noise": 280.0, "draw_margin": 60.0, "deviation_max": 170.0},
    ),
    "margin": (
        {"outcome": "margin", "categories": 3, "seasons": SEASONS, "margin": ("home", "away")},
        PARTS | MORE | MODIFIERS | {"noise": 280.0, "draw_margin": 10.0, "margin_scale": 9.0, "compression": 8.0},
    ),
    "logistic": (
        {"outcome": "logistic", "own_side": True, "seasons": SEASONS, "side_since": 60.0, **COLUMNS},
        PARTS | MORE | OWN_SIDE | {"side_trend": -50.0},
    ),
    "statistics": (
        {"outcome": "win", "categories": 3, "statistics": ("games", "aces")},
        PARTS | MODIFIERS | STATISTICS | {"noise": 280.0, "draw_margin": 60.0, "experience": 15.0},
    ),
    "all": (
        {"outcome": "win", "categories": 3, "own_side": True, "seasons": SEASONS, "statistics": ("games", "aces")}
        | COLUMNS,
        PARTS | MORE | MODIFIERS | OWN_SIDE | STATISTICS | {"noise": 280.0, "draw_margin": 60.0, **FADING_FORM},
    ),
    "margin and statistics": (
        {"outcome": "margin", "margin": ("home", "away"), "statistics": ("games", "aces")},
        PARTS | STATISTICS | {"noise": 280.0, "margin_scale": 9.0, "compression": 8.0, "experience": 15.0},
    ),
    "form": (
        {"outcome": "win", "categories": 3, "seasons": SEASONS},
        PARTS | MORE | MODIFIERS | {"noise": 280.0, **FADING_FORM},
    ),
}
# Of learners who answer exercises: in seasons of several leagues, and with a side advantage that drifts.
LEARNERS, EXERCISES = 5, 7
KINDS = {
    "second_kind_growth": 3.0, "second_kind_initial_deviation": 260.0, "second_kind_match_growth": 1.0,
    "second_kind_experience": -4.0,
}  # fmt: skip
LEARNING = {
    "growth": 14.0, "initial_deviation": 120.0, "match_growth": 9.0, "experience": 25.0, "side_advantage": 30.0,
    "initial_rating": 1500.0, "noise": 300.0,
}  # fmt: skip
CASES_OF_LEARNERS = {
    "sides": ({"kinds": "sides"}, LEARNING | KINDS | {"deviation_max": 300.0}),
    "columns": ({"kinds": ("kind_a", "kind_b"), "categories": 2}, LEARNING | KINDS | MODIFIERS),
    "leagues": ({"league_season": "season"}, LEARNING | {"season_keep": 0.7, "season_growth": 40.0}),
    "drift": ({"side_since": 50.0}, LEARNING | {"side_trend": -40.0}),
}
CASES |= CASES_OF_LEARNERS


def league(mixed=False, seed=0, n=MATCHES, categories=3):
    random = np.random.default_rng(seed)
    player = draw_pairs(random, PLAYERS, n)
    category = random.dirichlet(np.ones(categories), (n, 2)) if mixed else random.integers(0, categories, (n, 2))
    columns = {"komi": random.normal(size=n), "rest": random.normal(size=n)}
    return jr.matches(
        player,
        random.integers(0, 3, n) / 2,
        np.sort(random.uniform(0, 120, n)),
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0], n),
        category=category,
        columns=columns | {x: random.integers(0, 30, n) for x in ("home", "away")} | statistics(n, seed),
    )


def statistics(n, seed=0):
    """Of which some are missing."""
    random = np.random.default_rng((seed, n))
    found = {"games": random.uniform(-1, 1, n), "aces": random.normal(0, 9, n)}
    return {name: np.where(random.random(n) < 0.2, np.nan, x) for name, x in found.items()}


def answers(n=120):
    """Learners answer exercises, some in leagues whose seasons overlap."""
    random = np.random.default_rng(0)
    player = np.stack([random.integers(0, LEARNERS, n), LEARNERS + random.integers(0, EXERCISES, n)], axis=1)
    time = np.sort(random.uniform(0, 200, n))
    columns = {"kind_a": np.zeros(n), "kind_b": np.ones(n), "season": 2019 + (time + 30 * (player[:, 0] % 2)) // 60}
    context = {"side": random.integers(-1, 2, n), "weight": random.choice([0.5, 1.0], n)}
    return jr.matches(player, random.integers(0, 2, n), time, columns=columns, category=player % 2, **context)


def events_of(case, **options):
    return answers(**options) if case in CASES_OF_LEARNERS else league(mixed=case in ("win", "all"), **options)


def system_of(case):
    settings, params = CASES[case]
    return skills_by_name(**settings, **params, **({"komi": 4.0, "rest": -6.0} if "covariates" in settings else {}))


def games_of(case, events, duration=0.0):
    """The twin and the games of a case."""
    settings, params = CASES[case]
    names, covariates = settings.get("statistics", ()), settings.get("covariates", ())
    params = {x: y for x, y in params.items() if x not in STATISTICS}
    params["statistics"] = [(STATISTICS[f"{x}_scale"], STATISTICS[f"{x}_noise"]) for x in names]
    known = {x: settings[x] for x in ("categories", "own_side", "seasons", "side_since") if x in settings}
    weights = (4.0, -6.0) if covariates else ()
    twin = Skills(settings.get("outcome", "win"), **known, **params, weights=weights, duration=duration)
    of, columns = events.context, events.context.columns

    def game_of(i):
        known = {"kinds": (0, 1)} if "kinds" in settings else {}
        known |= {"season": columns["season"][i]} if "league_season" in settings else {}
        known |= {"margin": columns["home"][i] - columns["away"][i]} if "margin" in settings else {}
        known |= {"z": [columns[x][i] for x in covariates], "statistics": [columns[x][i] for x in names]}
        return game(*map(int, events.player[i]), events.score[i], of.side[i], of.weight[i], of.category[i], **known)

    return twin, [game_of(i) for i in range(len(events.score))]


def by_twin(case, events, periods):
    twin, games = games_of(case, events, LENGTH if periods else 0.0)
    time = np.floor(events.time / LENGTH) * LENGTH if periods else np.arange(len(games))
    together = np.split(np.arange(len(games)), np.flatnonzero(np.diff(time)) + 1)
    start = time if periods else events.time
    guess = [twin.play(start[rows[0]], [games[i] for i in rows]) for rows in together]
    return twin, np.concatenate(guess)


CASES_BY_PERIOD = "win", "draws", "statistics", "form", "all", *CASES_OF_LEARNERS


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("case", "form"),
    mark_full(
        [*((x, "matches") for x in CASES), *((x, "periods") for x in CASES_BY_PERIOD)],
        *((x, "matches") for x in ("draws", "margin", "logistic", "leagues", "drift")),
        *((x, "periods") for x in ("all", "sides", "columns", "leagues")),
    ),
)
def test_against_the_twin(x64, case, form):
    events, system = events_of(case), system_of(case)
    result = jr.run(system, jr.periods(events, LENGTH) if form == "periods" else events)
    twin, guess = by_twin(case, events, form == "periods")
    rows = [twin.players[i] for i in range(PLAYERS)]
    size, digits = len(rows[0].m), 1e-10 if x64 else 1e-4
    mean = np.array([x.m for x in rows]).reshape(np.shape(result.state.mean))
    covariance = np.array([x.P for x in rows]).reshape(np.shape(result.state.covariance))
    np.testing.assert_allclose(result.prediction, guess, atol=digits)
    np.testing.assert_allclose(result.state.mean, mean, atol=2000 * digits)
    np.testing.assert_allclose(result.state.covariance, covariance, atol=2e4 * size * digits)
    shown = mean if size == 1 else mean[:, 0]
    if case in ("form", "all"):
        shown = shown + mean[:, -1]
        deviation = [np.sqrt(x.P[0, 0] + 2.0 * x.P[0, -1] + x.P[-1, -1]) for x in rows]
        np.testing.assert_allclose(jr.ratings(system, result.state).deviation, deviation, rtol=100 * digits)
    shown = shown + np.reshape([x.kind.experience * np.log1p(x.games) for x in rows], shown.shape)
    np.testing.assert_allclose(jr.ratings(system, result.state).mean, shown, rtol=digits)


def test_slopes_equal_differences(double):
    """Of categories, form, statistics with gaps, and draws within a margin; the contract has the rest."""
    params = PARTS | MODIFIERS | STATISTICS | {"noise": 280.0, "draw_margin": 60.0}
    params |= FADING_FORM
    events, system = league(n=40), skills_by_name(categories=3, statistics=("games", "aces"), **params)

    def measured(params):
        done = jr.run(system, events, params=params)
        return jnp.mean(done.prediction**2) + 1e-6 * jnp.sum(done.state.mean**2) + 1e-6 * jnp.sum(done.state.covariance)

    none = jax.tree.map(lambda _: 0.0, system.params)
    moved = [
        (system.params._replace(**{x: y * (1 + 1e-5 * sign)}), none._replace(**{x: 1.0}))
        for x, y in params.items()
        for sign in (-1, 1)
    ]
    points, directions = jax.tree.map(lambda *x: np.array(x, float), *moved)
    value_and_slope = quick(jax.vmap(lambda at, to: jax.jvp(measured, (at,), (to,))))
    (low, high), slopes = (np.reshape(x, (-1, 2)).T for x in value_and_slope(points, directions))
    slopes = slopes.mean(axis=0)
    for i, (name, value) in enumerate(params.items()):
        np.testing.assert_allclose(slopes[i], (high[i] - low[i]) / (2e-5 * value), rtol=2e-5, err_msg=name)


def correlations(covariance):
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    return covariance / deviation[:, :, None] / deviation[:, None, :]


def test_covariances_stay_positive_definite_in_a_long_history(default_policy):
    """In float32, where nothing grows, and each of few players learns more from 33,000 matches than it can hold."""
    events = league(seed=2, n=200_000, categories=5)
    system = jr.skills(
        jr.parts.skill(growth=0), jr.parts.modifier(5, growth=0, deviation=90), observe=jr.parts.result(noise=60.0)
    )
    covariance = np.asarray(jr.run(system, events).state.covariance, np.float64)
    assert (covariance == covariance.transpose(0, 2, 1)).all()
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    assert deviation.min() < 60 and deviation.max() < 150
    assert np.linalg.eigvalsh(correlations(covariance)).min() > 1e-7


def test_covariances_stay_positive_definite_where_a_match_tells_nearly_all():
    """In float32, where the variances are far apart."""
    precision = jnp.geomspace(1e-6, 1e9, 40)[:, None, None]
    before = jnp.broadcast_to(jnp.diag(jnp.array([2.4e11, 900.0])), (40, 2, 2))
    loadings = jnp.broadcast_to(jnp.array([[1.0, -1.0]]), (40, 1, 2))
    covariance, _ = condition_on_message(before, loadings, Message(precision, precision[..., 0]))
    assert np.linalg.eigvalsh(correlations(np.asarray(covariance, np.float64))).min() > 0


def test_deviations_stay_above_zero_where_all_is_forgotten():
    """With nothing that grows: what is known is that everybody is a newcomer."""
    state = jr.run(jr.skills(jr.parts.skill(growth=0, reversion=0.01)), league()).state
    assert (np.asarray(state.covariance) > 0).all()


@pytest.mark.parametrize("period", mark_full([None, 20.0], 20.0))
def test_a_saved_run_learns_of_new_seasons(tmp_path, double, period):
    events = league()
    roles = {"margin": ("home", "away"), "covariates": "rest", "season": "year", "category": "surface"}
    day = np.arange(MATCHES) * 4.0
    table = {"a": events.player[:, 0], "b": events.player[:, 1], "time": day, "year": 2000 + day // 180}
    table["surface"] = np.array(["clay", "grass"])[events.player[:, 0] % 2]
    table |= {name: np.asarray(events.context.columns["komi"]) * size for name, size in (("home", 3), ("rest", 1))}
    table["away"] = table["home"] - np.where(events.score == 0.5, 0, 2 * events.score - 1)
    cut = int(np.argmax(table["year"] > 2000)) + 10
    parts = [{name: x[some] for name, x in table.items()} for some in (slice(0, cut), slice(cut, None))]

    def of(data):
        evidence = {"margin": data.margin, "covariates": data.covariates, "seasons": data.seasons}
        return skills_by_name(outcome="margin", categories=2, **evidence, rest=5)

    data, first = jr.read(table, **roles), jr.read(parts[0], **roles)
    whole, before = jr.rate(of(data), data, period=period), jr.rate(of(first), first, period=period)
    assert len(before.seasons) == 2 < len(whole.seasons)
    jr.save(tmp_path / "run", before)
    loaded = jr.load(tmp_path / "run")
    assert loaded.seasons == before.seasons
    second = jr.read(parts[1], **roles, history=loaded)
    after = jr.rate(loaded.system, second, period=period, onto=loaded)
    assert after.system == whole.system and after.seasons == whole.seasons
    assert_close_leaves("the state", after.state, whole.state, 1e-12)
    with pytest.raises(ValueError, match="the seasons differ from the saved run's"):
        jr.rate(
            loaded.system, jr.read(parts[1], **roles, history=loaded._replace(seasons=None)), period=period, onto=loaded
        )
    early = second._replace(seasons=loaded.seasons | {"x": float(first.matches.time[-1])})
    with pytest.raises(ValueError, match="a season that the run does not know begins at"):
        jr.rate(loaded.system, early, period=period, onto=loaded)


@pytest.mark.parametrize(("spread", "worst"), [(0.0, 0.05), (4.0, 0.1), (10.0, 0.15)])
def test_the_noise_of_measurements_is_found_again(spread, worst):
    random, n, players = np.random.default_rng(0), 6000, 60
    strength = spread * random.normal(size=players)
    player = np.stack([random.permutation(players)[:2] for _ in range(n)])
    side = random.integers(-1, 2, n)
    value = strength[player[:, 0]] - strength[player[:, 1]] + 3.0 * side + 7.0 * random.normal(size=n)
    value[::10] = np.nan
    assert estimate_measurement_noise(value, player, side) == pytest.approx(7.0, rel=worst)
    turned = np.where(value < 0, -1, 1)[:, None]  # winners first
    order = np.where(turned > 0, player, player[:, ::-1])
    assert estimate_measurement_noise(np.abs(value), order, side * turned[:, 0]) == pytest.approx(7.0, rel=worst)
    assert (
        estimate_measurement_noise(value[:0], player[:0]) == estimate_measurement_noise(value[1:2], player[1:2]) == 0.0
    )


def test_adapted_to_data_skills_take_all_evidence():
    data = jr.data.datasets.nfl()
    home, away = (np.asarray(data.matches.context.columns[name][:3362], float) for name in data.margin)  # a fifth
    size = float(np.mean(np.abs(home - away)))
    system = jr.skills_for_data(data)
    assert system == jr.skills(
        jr.parts.own_side(),
        jr.parts.seasons(data.seasons),
        jr.parts.experience(20),
        jr.parts.side(54),
        observe=jr.parts.margin(*data.margin, scale=600 / size, compression=size),
    )
    early = float(np.mean(np.abs(np.asarray(home, float)[:840] - away[:840])))  # a twentieth, where the rest is scored
    assert (
        make_system_for_data("skills", {}, None, data, past_share=0.05).params.compression
        == pytest.approx(early)
        != size
    )
    assert not hasattr(jr.skills_for_data(data, observe="result").params, "compression")
    given = make_system_for_data("skills", {"compression": None, "experience": None, "own_side": False}, None, data)
    assert given.params.compression is None and not {"experience", "own_side_growth"} & {*given.params._fields}
    bare = data._replace(events=data.matches._replace(context=jr.extend.Context()), margin=(), seasons=None)
    clocked = make_system_for_data("skills", {}, 14.0, bare)
    assert clocked == jr.skills(jr.parts.skill(reversion=3000), jr.parts.experience(20), period=14)
    wide = data._replace(statistics=("home_points",))  # for want of another
    noise = estimate_measurement_noise(home, data.matches.player[:3362], data.matches.context.side[:3362])
    params = make_system_for_data("skills", {}, None, wide).params
    assert params.home_points_scale == pytest.approx(300 / noise) and params.home_points_noise == 300


def test_pairs_meet_on_even_terms():
    columns = {"margin": np.array([7.0, 3.0, 10.0]), "rest": np.array([1.0, 0.0, -2.0])}
    events = jr.matches([[0, 1], [1, 2], [0, 2]], [1, 1, 1], [0.0, 1.0, 2.0], side=[1, -1, 1], columns=columns)
    system = jr.skills(
        jr.parts.own_side(), jr.parts.side(50), jr.parts.covariate("rest", 20), observe=jr.parts.margin()
    )
    state = jr.run(system, events).state
    none = {name: [0.0] for name in columns}
    wanted = jr.predict(system, state, jr.matches([[0, 2]], [0.5], [2.0], side=[0], columns=none))
    found = float(jr.forecasts.predict_pairs(system, state, np.arange(3), time=2.0).probability(0, 2))
    assert found == pytest.approx(float(wanted[0]), abs=3e-4) and found > 0.55


def test_the_kind_of_the_first_match_or_contest_stays():
    """One column of matches tells the kind of both players, and that of contests the kind of each."""
    pairs, kind = np.array([[0, 1], [2, 3], [0, 2], [1, 3]]), np.array([0.0, 1.0, 1.0, 0.0])
    system = jr.skills(parts.skill(growth=0.0), parts.kinds("kind", growth=9.0, initial_deviation=300.0))
    time, contest = np.arange(4.0), np.repeat(np.arange(4), 2)
    matches = jr.run(system, jr.matches(pairs, [1, 1, 1, 1], time, columns={"kind": kind}))
    for of_each in (kind[contest], np.append([0.0, 0.0, 1.0, 1.0], 1.0 - kind[contest][4:])):
        rounds = jr.rounds(contest, pairs.ravel(), [1, 2] * 4, time=time[contest], columns={"kind": of_each})
        contests = jr.run(system, rounds)
        np.testing.assert_array_equal(contests.state.kind, [0, 0, 1, 1])
        np.testing.assert_allclose(contests.prediction[::2], matches.prediction, rtol=1e-6)
        np.testing.assert_allclose(contests.state.covariance, matches.state.covariance, rtol=1e-5)


def test_pairs_need_no_season():
    """Players are in the season that they played last."""
    system, player = jr.skills(parts.league_seasons("s", keep=0.5)), np.array([[0, 1], [2, 3], [0, 2]])
    state = jr.run(system, jr.matches(player, [1, 1, 0], columns={"s": np.ones(3)})).state
    wanted = jr.predict(system, state, jr.matches([[0, 3]], [0.5], columns={"s": np.ones(1)}))
    found = jr.forecasts.predict_pairs(system, state, np.arange(4)).probability(0, 3)
    np.testing.assert_allclose(found, wanted[0], atol=3e-4)


def test_a_season_of_one_league_changes_nothing_in_another():
    """Players 0 and 1 play on in their season while 2 and 3 begin another; 2, who then joins 0, stays in theirs."""
    player, season = [[0, 1], [2, 3], [2, 3], [0, 1], [0, 2]], [2020, 2020, 2021, 2020, 2020]
    system = jr.skills(jr.parts.skill(growth=0.0), jr.parts.league_seasons("season", keep=0.5, growth=60.0))
    own = jr.run(system, jr.matches(player, [1] * 5, columns={"season": season}))
    none = jr.run(system, jr.matches(player, [1] * 5, columns={"season": [2020] * 5}))
    assert own.prediction[3] == none.prediction[3] and own.prediction[2] < none.prediction[2]
    np.testing.assert_array_equal(own.state.season, [2020, 2020, 2021, 2021])


@pytest.mark.parametrize(
    ("options", "columns", "why"),
    [
        ({"league_season": "year"}, {}, "skills needs the column 'year' of the matches"),
        (
            {"categories": 2},
            {"category": [[0, 1], [2, 0]]},
            "category 2, counting from 0, but parts.modifier has 2 of them",
        ),
        ({"categories": 2}, {}, "parts.modifier needs the category of the matches: category=... of `matches`"),
        ({"own_side": True}, {}, "parts.own_side needs the sides of the matches"),
        ({"kinds": "sides"}, {"player": [[0, 1], [1, 2]]}, "player 1 is of both kinds"),
        ({"kinds": ("a", "b")}, {"columns": {"a": [0, 0], "b": [1, 2]}}, "column 'b' is 2; it must"),
    ],
)
def test_matches_without_what_the_model_needs_are_refused(options, columns, why):
    with refused(why):
        jr.run(skills_by_name(**options), jr.matches(**{"player": [[0, 1], [0, 2]], "score": [1, 0]} | columns))
