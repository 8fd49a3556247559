"""Parts and observations of skills: they print as calls, add up, and say what does not go together."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts, testing
from jaxrate.parts import covariate, expected_goals, goals, logistic, margin, quits, skill, statistic
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.part_declarations import PARAMETER_NAMES
from jaxrate.systems.skills.system import list_further_hyperparameters, skills_by_name
from tests.conftest import draw_pairs, mark_full, refused

SYSTEMS = {
    "usual": (lambda: jr.skills(), "skills()"),
    "tennis": (
        lambda: jr.skills(skill(12, match_growth=3), parts.modifier(("clay", "grass")), parts.experience(80), period=1),
        "skills(parts.skill(growth=12, match_growth=3), parts.modifier(2), parts.experience(worth=80), period=1)",
    ),
    "football": (
        lambda: jr.skills(
            parts.seasons(["2020-08-01", 18840]), observe=(expected_goals("xa", "xb", 0.4), goals("ga", "gb"))
        ),
        "skills(parts.seasons((18475.0, 18840.0)), "
        "observe=(parts.goals('ga', 'gb'), parts.expected_goals('xa', 'xb', noise=0.4)))",
    ),
    "teams": (
        lambda: jr.skills(
            parts.team(90, performance="mean"),
            covariate("party", 4),
            parts.form(50),
            observe=[quits("left"), statistic("kills", noise=200), margin()],
        ),
        "skills(parts.form(deviation=50), parts.covariate('party', weight=4), "
        "parts.team(noise=90, performance='mean'), observe=(parts.margin('margin'), "
        "parts.statistic('kills', noise=200), parts.quits('left', threshold=1200)))",
    ),
    "a side that changes": (
        lambda: jr.skills(parts.side_trend("1970-01-03", -2)),
        "skills(parts.side_trend(2, trend=-2))",
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_skills_print_as_the_call_that_makes_them(name):
    make, text = SYSTEMS[name]
    system = make()
    assert repr(system) == text and eval(text, {"skills": jr.skills, "parts": parts}) == system
    assert system.make(**system.params._asdict()) == skills_by_name(**system.settings, **system.params._asdict())
    assert system.make(**system.params._asdict()) == pickle.loads(pickle.dumps(system)) == system


def test_parts_are_values():
    made = parts.modifier(3, deviation=40)
    assert repr(made) == "parts.modifier(3, deviation=40)" and made == eval(repr(made)) and hash(made) is not None
    assert made.params == {"modifier_growth": 3.0, "initial_modifier_deviation": 40.0}
    assert jr.skills(made, covariate("x"), covariate("y")) == jr.skills(covariate("x"), covariate("y"), made)
    assert parts.seasons({"2020": 3.0}) == parts.seasons([3.0])


OLD_DEFAULTS = {"growth": 10.0, "initial_rating": 1500.0, "initial_deviation": 150.0, "period": 7.0}


@pytest.mark.parametrize(
    ("old", "system"),
    [
        ({"outcome": "win", "categories": 1, "noise": 300.0, "compression": None}, jr.skills()),
        ({"outcome": "logistic", "noise": None, "draw_margin": None}, jr.skills(observe=logistic())),
        (
            {"outcome": "margin", "margin": "gap", "margin_scale": 20.0, "experience": 15.0, "reversion": 300.0},
            jr.skills(skill(reversion=300), parts.experience(15), observe=margin("gap", scale=20)),
        ),
        (
            {
                "kinds": ["x", "y"],
                "match_growth": 3.0,
                "second_kind_match_growth": 5.0,
                "covariates": ["rest"],
                "rest": 2,
            },
            jr.skills(skill(match_growth=3), parts.kinds("x", "y", match_growth=5), covariate("rest", 2)),
        ),
        (
            {"seasons": (1.0, 2.0), "season_keep": 0.7, "own_side": True, "own_side_growth": None, "form_deviation": 9},
            jr.skills(parts.seasons((1, 2), 0.7), parts.own_side(), parts.form(9)),
        ),
        (
            {"statistics": ("xg",), "xg_scale": 3, "side_since": 4, "side_trend": 1, "size_advantage": 2, "quit": "q"},
            jr.skills(
                parts.side_trend(4, 1), parts.team(size_advantage=2), observe=[statistic("xg", 3), quits("q", 1200)]
            ),
        ),
    ],
)
def test_settings_of_saved_runs_stand_for_parts(old, system):
    """Hyperparameters of what was off are None there."""
    assert skills_by_name(**OLD_DEFAULTS | {"goal_rate": None, "team_noise": None} | old) == system


def test_every_hyperparameter_is_told():
    told = {name: (value, about.meaning) for name, value, about in list_further_hyperparameters()}
    assert {*PARAMETER_NAMES} == {*jr.skills().params._fields, *told} - {"NAME", "NAME_scale", "NAME_noise"}
    assert told["season_keep"][0] == 0.8 and "; with seasons=... or league_season=..." in told["season_keep"][1]


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
    player = draw_pairs(random, PLAYERS, MATCHES)
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


@pytest.mark.parametrize("name", mark_full(COPIES, "goals", "margin", "teams"))
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


def run_with(*own):
    return jr.run(jr.skills(parts.own(*own)), jr.matches([[0, 1], [1, 2]], [1, 0], columns={"night": [0.0, -1.0]}))


GOALS = {"outcome": "goals", "margin": ("a", "b")}
REFUSED = [
    (lambda: jr.skills("margin"), "skills takes parts such as jr.parts.experience(20), got 'margin'"),
    (lambda: jr.skills(growth=3), "skills takes parts, and no growth; give jr.parts.skill(...)"),
    (lambda: jr.skills(margin()), "skills: margin is observed: give it as observe=jr.parts.margin(...)"),
    (lambda: jr.skills(observe=skill()), "skills: skill is no observation; give jr.parts.skill(...) before observe"),
    (lambda: jr.skills(skill(), skill(3)), "skill() and parts.skill(growth=3) both set growth; leave one"),
    (lambda: jr.skills(covariate("noise")), "a covariate must be one plain word that is no hyperparameter"),
    (lambda: jr.skills(covariate("x_noise"), observe=statistic("x")), "and parts.statistic('x') both set x_noise"),
    (lambda: jr.skills(observe=(logistic(), statistic("xg"))), "statistic does not go with logistic, which has"),
    (lambda: jr.skills(observe=(goals("a", "b"), quits("x"))), "quits does not go with goals, which are of matches"),
    (lambda: jr.skills(observe=expected_goals("a", "b")), "expected_goals needs goals, as it is beside"),
    (lambda: jr.skills(observe=(goals("a", "b"), expected_goals("b", "c"))), "names 'b', a column of the goals"),
    (lambda: jr.skills(parts.kinds(experience=3)), "second_kind_experience of kinds needs experience"),
    (lambda: parts.modifier("surface"), "modifier: categories must be their number or their names, as data.categories"),
    (lambda: parts.seasons(()), "seasons has no season; leave the part out"),
    (lambda: margin("a", "a"), "margin names a column twice: a, a"),
    # Settings without their part
    (lambda: skills_by_name(outcome="goals", margin="m"), "with outcome='goals' margin must be two columns: the goals"),
    (lambda: skills_by_name(**GOALS, noise=3), "noise needs outcome='win', outcome='margin' or outcome='points'"),
    (lambda: skills_by_name(compression=3), "compression needs outcome='margin' or outcome='points'"),
    (lambda: skills_by_name(season_keep=0.5), "season_keep needs seasons=... or league_season=..."),
    # Parts of one's own
    (lambda: parts.own("a b", bring_night), "a part of your own must be one plain word that is no hyperparameter"),
    (lambda: parts.own("form", bring_night), "own: 'form' is a part of jaxrate; give yours another name"),
    (lambda: run_with("late", bring_night, "late"), "skills needs the column 'late' of the matches"),
    (
        lambda: run_with("late", lambda x: x.one),
        "the loadings of parts.own('late', ...) fail: ValueError: Incompatible types for broadcasting",
    ),
    (
        lambda: run_with("root", bring_root, "night"),
        "row 1 (counting from 0): a loading of parts.own('root', ...) is no finite number",
    ),
]


@pytest.mark.parametrize(("make", "said"), REFUSED)
def test_what_makes_no_sense_is_refused(make, said):
    with refused(said):
        make()
