"""Parts of a user's own: copies of known parts equal these to the bit, and others keep all promises of systems."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts, testing
from jaxrate.smoothing.smoother import smooth_events
from tests.conftest import refused

PLAYERS, MATCHES = 12, 240


def bring_home(participants):
    side = participants.columns["side"] if participants.side is None else participants.side
    return side[..., None]


def bring_surface(participants):
    return jax.nn.one_hot(participants.category, 3, dtype=participants.one.dtype)


def bring_night(participants):
    return participants.columns["night"][..., None]


def bring_root(participants):
    return jnp.sqrt(participants.columns["night"])[..., None]


NIGHT = parts.own("night", bring_night, "night", growth=2, deviation=60)


def league(owls=0.0):
    """Matches by day and by night, with sides, surfaces and goals; every second player is better by night."""
    random = np.random.default_rng(0)
    first = random.integers(0, PLAYERS, MATCHES)
    player = np.stack([first, (first + random.integers(1, PLAYERS, MATCHES)) % PLAYERS], axis=1)
    night = random.integers(0, 2, MATCHES).astype(float)
    strength = owls * (player % 2) * night[:, None]
    margin = np.rint(strength[:, 0] - strength[:, 1] + random.normal(0.0, 3.0, MATCHES))
    goals = {"ga": np.maximum(margin, 0.0), "gb": np.maximum(-margin, 0.0)}
    return jr.matches(
        player,
        0.5 + 0.5 * np.sign(margin),
        np.arange(MATCHES) * 0.5,
        side=random.integers(-1, 2, MATCHES),
        category=random.integers(0, 3, (MATCHES, 2)),
        columns={"night": night, "margin": margin, **goals},
    )


def contests():
    """Contests of three teams of two, of whom some are at home."""
    random = np.random.default_rng(1)
    player = np.concatenate([random.permutation(PLAYERS)[:6] for _ in range(30)])
    contest, team = np.repeat(np.arange(30), 6), np.tile([0, 0, 1, 1, 2, 2], 30)
    columns = {"side": random.integers(-1, 2, 180).astype(float)}
    return jr.rounds(contest, player, team, team=team, time=contest + 0.0, columns=columns)


HOME = parts.own("home", bring_home, growth=4, deviation=50), parts.own_side(4, 50)
COPIES = {  # a part of one's own, the known one that it equals, further arguments, and the events
    "win": (*HOME, {}, league),
    "goals": (*HOME, {"observe": parts.goals("ga", "gb")}, league),
    "margin": (
        parts.own("surface", bring_surface, size=3, growth=2, deviation=40),
        parts.modifier(3, 2, 40),
        {"observe": parts.margin()},
        league,
    ),
    "teams": (parts.own("home", bring_home, "side", growth=4, deviation=50), HOME[1], {}, contests),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_of_a_part_equals_it(double, name):
    own, known, options, make_events = COPIES[name]
    events, systems = make_events(), [jr.skills(part, **options) for part in (own, known)]
    runs = [jr.run(system, events) for system in systems]
    hindsight = [smooth_events(system, events) for system in systems]
    beliefs = [
        (run.prediction, run.state, smooth.rating, smooth.components, smooth.evidence)
        for run, smooth in zip(runs, hindsight, strict=True)
    ]
    jax.tree.map(np.testing.assert_array_equal, *beliefs)


def test_a_fit_finds_what_it_finds_of_the_known_part(double):
    own, known = (
        jr.fit(jr.skills(part), league(), free=[name])
        for part, name in zip(HOME, ("initial_home_deviation", "initial_own_side_deviation"), strict=True)
    )
    assert own.params.initial_home_deviation == known.params.initial_own_side_deviation != 50.0


def test_a_part_tells_who_is_better_by_night(double):
    mean = jr.run(jr.skills(NIGHT, observe=parts.margin()), league(owls=4.0)).state.mean
    assert np.corrcoef(mean[:, 1], np.arange(PLAYERS) % 2)[0, 1] > 0.9


def test_a_part_is_a_value_that_prints_as_its_call():
    system = jr.skills(NIGHT, parts.covariate("x", 3))
    own = "parts.own('night', bring_night, columns=('night',), growth=2, deviation=60)"
    assert repr(system) == f"skills({own}, parts.covariate('x', weight=3))"
    assert eval(repr(system), {"skills": jr.skills, "parts": parts, "bring_night": bring_night}) == system
    assert system.make(**system.params._asdict()) == pickle.loads(pickle.dumps(system)) == system
    assert system.make(night_growth=5).params.night_growth == 5 and system.space.night_growth.unit


def rated_league():
    names, rows = np.array([f"player {i}" for i in range(PLAYERS)], object), np.arange(MATCHES)
    return jr.rate(jr.skills(NIGHT), jr.data.Dataset(league(owls=4.0), names, rows))


def test_a_saved_run_needs_the_part_again(tmp_path):
    rated = rated_league()
    jr.save(tmp_path / "run", rated)
    with refused("skills: own_parts=('night',) are names, and parts of your own need their functions: make the system"):
        jr.load(tmp_path / "run")
    loaded = jr.load(tmp_path / "run", make=lambda own_parts, **saved: jr.skills(NIGHT).make(**saved))
    assert loaded.system == rated.system
    jax.tree.map(np.testing.assert_array_equal, loaded.state, rated.state)


def test_explanations_and_matches_to_come_have_it():
    rated, coming = rated_league(), {"a": ["player 1"], "b": ["player 2"], "night": [1.0]}
    (one,) = jr.forecasts.explain_fixtures(rated, coming, covariates="night")
    assert one.parts["own_night"][0] > one.parts["own_night"][1]
    np.testing.assert_allclose(one.parts["points"], one.parts["skill"] + one.parts["own_night"])
    by_day = jr.forecasts.predict_fixtures(rated, [("player 1", "player 2")])  # columns are 0 where nothing is said
    by_night = jr.forecasts.predict_fixtures(rated, coming, covariates="night")
    assert by_day["expected"][0] < by_night["expected"][0]


@pytest.mark.full
def test_a_part_keeps_the_promises_of_systems():
    testing.check(jr.skills(NIGHT, parts.experience()))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: parts.own("a b", bring_night), "a part of your own must be one plain word that is no hyperparameter"),
        (lambda: parts.own("own_side", bring_night), "that is no hyperparameter; rename 'own_side'"),
        (lambda: parts.own("form", bring_night), "own: 'form' is a part of jaxrate; give yours another name"),
        (lambda: parts.own("night", 3), "own: loadings must be a function of participants, got 3"),
        (lambda: parts.own("night", bring_night, size=0), "own: size must be a whole number from 1 to 100, got 0"),
        (lambda: parts.own("night", bring_night, ("x", "x")), "own names a column twice: x, x"),
        (lambda: parts.own("night", bring_night, deviation=0), "own: deviation must be > 0, got 0"),
        (lambda: jr.skills(NIGHT, NIGHT), "both set night_growth; leave one of them out"),
        (
            lambda: jr.run(jr.skills(parts.own("late", bring_night, "late")), league()),
            "skills needs the column 'late' of the matches",
        ),
        (
            lambda: jr.run(jr.skills(parts.own("late", bring_night)), league()),
            "the loadings of parts.own('late', ...) fail: KeyError: 'night'; they are a function of participants",
        ),
        (
            lambda: jr.run(jr.skills(parts.own("late", lambda x: x.one)), league()),
            "the loadings of parts.own('late', ...) fail: ValueError: Incompatible types for broadcasting",
        ),
        (
            lambda: jr.run(jr.skills(parts.own("late", bring_root, "margin")), league()),
            "the loadings of parts.own('late', ...) fail: KeyError: 'night'",
        ),
        (
            lambda: jr.run(
                jr.skills(parts.own("root", bring_root, "night")),
                jr.matches([[0, 1], [1, 2]], [1, 0], columns={"night": [0.0, -1.0]}),
            ),
            "row 1 (counting from 0): a loading of parts.own('root', ...) is no finite number",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    with refused(said):
        make()
