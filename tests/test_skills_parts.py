"""Parts and observations of skills: they print as calls, add up, and say what does not go together."""

import pickle

import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.parts import covariate, expected_goals, goals, logistic, margin, quits, result, skill, statistic
from jaxrate.systems.skills.part_declarations import PARAMETER_NAMES
from jaxrate.systems.skills.system import list_further_hyperparameters, skills_by_name
from tests.conftest import refused

SYSTEMS = {
    "usual": (lambda: jr.skills(), "skills()"),
    "tennis": (
        lambda: jr.skills(skill(12, match_growth=3), parts.modifier(("clay", "grass")), parts.experience(80), period=1),
        "skills(parts.skill(growth=12, match_growth=3), parts.modifier(2), parts.experience(worth=80), period=1)",
    ),
    "points": (
        lambda: jr.skills(parts.own_side(2), parts.side(50), observe=parts.points("pa", "pb", rate=80, draw_margin=1)),
        "skills(parts.own_side(growth=2), parts.side(advantage=50), "
        "observe=parts.points('pa', 'pb', rate=80, draw_margin=1))",
    ),
    "football": (
        lambda: jr.skills(
            parts.seasons(["2020-08-01", 18840]), observe=(expected_goals("xa", "xb", 0.4), goals("ga", "gb"))
        ),
        "skills(parts.seasons((18475.0, 18840.0)), "
        "observe=(parts.goals('ga', 'gb'), parts.expected_goals('xa', 'xb', noise=0.4)))",
    ),
    "school": (
        lambda: jr.skills(parts.kinds("sides", growth=1), parts.league_seasons("year", keep=0.9), observe=logistic()),
        "skills(parts.kinds('sides', growth=1, initial_deviation=150), "
        "parts.league_seasons('year', keep=0.9), observe=parts.logistic())",
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


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: jr.skills("margin"), "skills takes parts such as jr.parts.experience(20), got 'margin'"),
        (lambda: jr.skills(komi=3), "skills takes parts, and no komi; they are those of `jr.parts`"),
        (lambda: jr.skills(growth=3), "skills takes parts, and no growth; give jr.parts.skill(...)"),
        (lambda: jr.skills(margin="x"), "skills takes parts, and no margin; give jr.parts.margin(...)"),
        (lambda: jr.skills(categories=3), "skills takes parts, and no categories; give jr.parts.modifier(...)"),
        (lambda: jr.skills(margin()), "skills: margin is observed: give it as observe=jr.parts.margin(...)"),
        (
            lambda: jr.skills(observe=skill()),
            "skills: skill is no observation; give jr.parts.skill(...) before observe",
        ),
        (lambda: jr.skills(observe=None), "skills takes parts such as jr.parts.experience(20), got None"),
        (
            lambda: jr.skills(skill(), skill(3)),
            "skill() and parts.skill(growth=3) both set growth; leave one",
        ),
        (lambda: jr.skills(observe=(result(), margin())), "parts.result() and parts.margin() both set noise"),
        (lambda: jr.skills(covariate("noise")), "a covariate must be one plain word that is no hyperparameter"),
        (lambda: jr.skills(covariate("a b")), "no hyperparameter; rename 'a b'"),
        (lambda: jr.skills(covariate("x"), covariate("x")), "parts.covariate('x') and parts.covariate('x') both set x"),
        (lambda: jr.skills(covariate("x_noise"), observe=statistic("x")), "and parts.statistic('x') both set x_noise"),
        (
            lambda: jr.skills(observe=statistic("margin")),
            "a statistic must be one plain word that is no hyperparameter",
        ),
        (lambda: jr.skills(observe=(logistic(), statistic("xg"))), "statistic does not go with logistic, which has"),
        (lambda: jr.skills(observe=(goals("a", "b"), statistic("x"))), "statistic does not go with goals, where"),
        (
            lambda: jr.skills(observe=(goals("a", "b"), quits("x"))),
            "quits does not go with goals, which are of matches",
        ),
        (
            lambda: jr.skills(parts.team(3), observe=parts.points("a", "b")),
            "team does not go with points, which are of",
        ),
        (lambda: jr.skills(observe=expected_goals("a", "b")), "expected_goals needs goals, as it is beside"),
        (lambda: jr.skills(observe=(goals("a", "b"), expected_goals("b", "c"))), "names 'b', a column of the goals"),
        (
            lambda: jr.skills(parts.seasons([1.0]), parts.league_seasons("s")),
            "and parts.league_seasons('s') both set season_keep",
        ),
        (lambda: jr.skills(parts.kinds(experience=3)), "second_kind_experience of kinds needs experience"),
        (
            lambda: jr.skills(skill(initial_deviation=200, deviation_max=100)),
            "initial_deviation and deviation_max must",
        ),
        (lambda: jr.skills(period=0), "skills: period must be > 0, got 0"),
        (lambda: skill(growth=-1), "skill: growth must be >= 0, got -1"),
        (lambda: statistic("xg", noise=0), "statistic: noise must be > 0, got 0"),
        (lambda: parts.modifier(1), "modifier: categories must be a whole number from 2 to 100, got 1"),
        (
            lambda: parts.modifier("surface"),
            "modifier: categories must be their number or their names, as data.categories",
        ),
        (lambda: parts.seasons((3, 2)), "seasons: seasons must increase"),
        (lambda: parts.seasons(()), "seasons has no season; leave the part out"),
        (lambda: margin("a", "a"), "margin names a column twice: a, a"),
        (lambda: margin("a", "b", "c"), "margin takes 1 or 2 names of columns, got 3"),
        (lambda: parts.kinds("x", "y", "z"), "kinds takes 1 or 2 names of columns, got 3"),
        (lambda: parts.team(performance="max"), "team: performance must be 'sum' or 'mean', got 'max'"),
    ],
)
def test_what_makes_no_sense_names_the_part(make, said):
    with refused(said):
        make()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"outcome": "goal"}, "outcome must be 'win', 'logistic', 'margin', 'points' or 'goals', got 'goal'"),
        (
            {"outcome": "goals", "margin": "m"},
            "with outcome='goals' margin must be two columns: the goals of each side",
        ),
        ({"outcome": "goals", "margin": ("a", "b"), "expected_goals": "x"}, "expected_goals must be two columns"),
        (
            {"outcome": "goals", "margin": ("a", "b"), "noise": 3},
            "noise needs outcome='win', outcome='margin' or outcome='points'",
        ),
        ({"outcome": "goals", "margin": ("a", "b"), "goal_rate": 0.0}, "goal_rate must be > 0, got 0"),
        ({"outcome": "goals", "margin": ("a", "b"), "goal_dispersion": -1.0}, "goal_dispersion must be >= 0 or None"),
        ({"own_side": 1}, "own_side must be True or False"),
        ({"compression": 3}, "compression needs outcome='margin' or outcome='points'"),
        ({"modifier_growth": 3}, "modifier_growth needs categories=..."),
        ({"goal_rate": 1.4}, "goal_rate needs outcome='goals'"),
        ({"outcome": "margin", "margin": "m", "total_noise": 4}, "total_noise needs outcome='points'"),
        ({"pace_growth": 1}, "pace_growth needs outcome='points' or outcome='goals'"),
        ({"quit_threshold": 3}, "quit_threshold needs quit=..."),
        ({"season_keep": 0.5}, "season_keep needs seasons=... or league_season=..."),
        ({"second_kind_growth": 3}, "second_kind_growth needs kinds=..."),
        ({"growth": -3}, "growth must be >= 0, got -3"),
    ],
)
def test_settings_without_their_part_are_refused(values, said):
    with refused(f"skills: {said}"):
        skills_by_name(**values)


def test_every_hyperparameter_is_told():
    told = {name: (value, about.meaning) for name, value, about in list_further_hyperparameters()}
    assert {*PARAMETER_NAMES} == {*jr.skills().params._fields, *told} - {"NAME", "NAME_scale", "NAME_noise"}
    assert told["season_keep"][0] == 0.8 and "; with seasons=... or league_season=..." in told["season_keep"][1]


def test_a_name_that_is_none_is_refused():
    with refused("skills has no parameter 'modifer_growth'; did you mean 'modifier_growth'?"):
        skills_by_name(modifer_growth=None)
