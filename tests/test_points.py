"""Skills of points against the slow twin, whose abilities are attack and defence, and against margins."""

import jax
import numpy as np
import pytest
from scipy.stats import norm

import jaxrate as jr
from jaxrate.fitting.losses import LOSSES
from jaxrate.forecasts.points import make_point_system
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.system_construction_by_name import make_system_for_data
from jaxrate.testing.cases import assert_close_leaves
from tests.conftest import mark_full, refused
from tests.reference.points_twin import Points

TEAMS, MATCHES, SEASONS = 8, 40, (31.0, 62.5, 63.0)
POINTS = "points_a", "points_b"
PARTS = {
    "growth": 12.0, "initial_deviation": 90.0, "side_advantage": 35.0, "pace_growth": 9.0, "point_rate": 98.0,
    "initial_pace_deviation": 70.0, "noise": 290.0, "total_noise": 410.0, "margin_scale": 24.0, "season_keep": 0.7,
    "season_growth": 25.0, "reversion": 300.0, "experience": 15.0, "match_growth": 5.0, "own_side_growth": 2.0,
    "initial_own_side_deviation": 20.0, "compression": 11.0,
}  # fmt: skip


def league(weight=False, n=MATCHES):
    random = np.random.default_rng(1)
    first = random.integers(0, TEAMS, n)
    player = np.stack([first, (first + random.integers(1, TEAMS, n)) % TEAMS], axis=1)
    points = np.rint(random.normal(100.0, 12.0, (2, n)))
    points[0] += points[0] == points[1]
    return jr.matches(
        player,
        0.5 + 0.5 * np.sign(points[0] - points[1]),
        np.sort(random.uniform(0, 120, n)),
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0, 2.0], n) if weight else None,
        columns=dict(zip(POINTS, points, strict=True)) | {"rest": random.normal(size=n)},
    )


def system_of(outcome="points", **changes):
    settings = {"margin": POINTS, "own_side": True, "seasons": SEASONS, "covariates": ("rest",), "rest": -6.0}
    return jr.skills(outcome, **settings, **PARTS | changes)


@pytest.mark.parametrize("weight", mark_full([False, True], True))
def test_matches_are_those_of_the_twin(weight, double):
    events, twin = league(weight), Points(own_side=True, seasons=SEASONS, weights=(-6.0,), **PARTS)
    columns, context, system = events.context.columns, events.context, system_of()
    predict_points, lost_points = make_point_system(system).rules.predict, LOSSES["margin"].record(system)

    def record(rated):
        told = predict_points(rated.constants, rated.before, rated.event)
        return rated.prediction, told, lost_points(rated)

    run = jr.run(system, events, record=record)
    prediction, told, lost = jax.tree.map(np.asarray, run.prediction)
    for i, (a, b) in enumerate(np.asarray(events.player).tolist()):
        twin.advance(a, events.time[i]), twin.advance(b, events.time[i])
        more = context.side[i], (columns["rest"][i],)
        win, total, spread = twin.predict(a, b, *more)
        np.testing.assert_allclose(prediction[i], win, atol=1e-12)
        np.testing.assert_allclose([told.total[i], told.total_deviation[i]], [total, spread], rtol=1e-12)
        match = [columns[name][i] for name in POINTS], events.score[i]
        np.testing.assert_allclose(-lost[i], twin.log_density(a, b, *match, *more), rtol=1e-12)
        twin.learn_points(a, b, *match, *more, 1.0 if context.weight is None else context.weight[i])
    parts = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, -1.0, 0.0]])  # strength, own side, pace
    for name, team in twin.teams.items():
        mean = parts @ team.m + np.eye(3)[0] * 1500.0
        np.testing.assert_allclose(run.state.mean[name], mean, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(run.state.covariance[name], parts @ team.P @ parts.T, rtol=1e-11, atol=1e-8)


def test_totals_change_nothing_that_is_known_of_strengths(double):
    events, of_points = league(True), {"pace_growth", "initial_pace_deviation", "point_rate", "total_noise"}
    params = {name: x for name, x in PARTS.items() if name not in of_points}
    settings = {"margin": POINTS, "own_side": True, "seasons": SEASONS, "covariates": ("rest",), "rest": -6.0}
    one, two = jr.run(jr.skills("margin", **settings, **params), events), jr.run(system_of(), events)
    np.testing.assert_allclose(two.prediction, one.prediction, rtol=1e-12)
    np.testing.assert_allclose(two.state.mean[:, :2], one.state.mean, rtol=1e-12)


def test_rating_periods_of_one_match_are_matches_and_of_several_multiply_likelihoods(double):
    columns = {"points_a": [104.0, 91.0], "points_b": [99.0, 120.0]}
    both = jr.matches([[0, 1], [0, 2]], [1.0, 0.0], [0.0, 0.0], columns=columns)
    system = jr.skills("points", margin=POINTS, growth=0.0, pace_growth=0.0)
    state = jr.run(system, jr.periods(both, 7.0)).state
    precision, pull = np.array([150.0**-2, 0.0])
    for i in (0, 1):
        alone = jr.matches([[0, 1]], [1.0 - i], columns={name: [x[i]] for name, x in columns.items()})
        one = jr.run(system, alone).state
        assert_close_leaves("a period", jr.run(system, jr.periods(alone, 7.0)).state.mean, one.mean, 1e-12)
        precision = precision + 1.0 / one.covariance[0, 1, 1] - 150.0**-2
        pull = pull + one.mean[0, 1] / one.covariance[0, 1, 1]
    np.testing.assert_allclose([state.mean[0, 1], state.covariance[0, 1, 1]], [pull / precision, 1.0 / precision])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"margin": "margin"}, "with outcome='points' margin must be two columns: the points of each side"),
        ({"quit": "left"}, "quit and team_performance are of contests, and points of matches of two"),
        ({"expected_goals": ("x", "y")}, "expected_goals needs outcome='goals'"),
        ({"goal_rate": 1.4}, "goal_rate needs outcome='goals'"),
        ({"outcome": "margin", "total_noise": 400.0}, "total_noise needs outcome='points'"),
        ({"outcome": "win", "pace_growth": 1.0}, "pace_growth needs outcome='points' or outcome='goals'"),
    ],
)
def test_settings_that_do_not_go_with_points_are_refused(settings, said):
    with refused(f"skills: {said}"):
        jr.skills(**{"outcome": "points", "margin": POINTS} | settings)


def test_what_points_do_not_have_is_refused():
    with refused("hindsight knows no paces of points; take skills('margin'), which has the same strengths"):
        smooth_events(system_of(), league())
    with refused("skills needs the column 'points_a' of the matches"):
        jr.run(jr.skills("points", margin=POINTS), jr.matches([[0, 1]], [1.0]))
    rated = jr.rate(jr.skills(), {"a": ["Ada"], "b": ["Bo"], "score": [1.0]})
    with refused("this skills says nothing of points; take jr.skills('points', margin=...)"):
        jr.forecasts.predict_points(rated, [("Ada", "Bo")])


def dataset():
    names, events = np.array(["Ayr", "Bury", "Cork", "Derry", "Ely", "Fife", "Gorey", "Hull"]), league()
    table = {"home": names[events.player[:, 0]], "away": names[events.player[:, 1]], **events.context.columns}
    return jr.read(table, a="home", b="away", side="a", margin=list(POINTS))


def test_adapted_to_data_equals_score_what_was_scored_in_the_first_fifth():
    data = dataset()
    params = make_system_for_data("skills", {"outcome": "points"}, None, data).params
    first = [np.asarray(data.matches.context.columns[name], float)[: MATCHES // 5] for name in POINTS]
    assert params.point_rate == pytest.approx(np.mean(first))
    assert params.compression == pytest.approx(np.abs(first[0] - first[1]).mean())
    assert make_system_for_data("skills", {}, None, data).settings["outcome"] == "margin"


@pytest.mark.parametrize("compression", [None, 10.0])
def test_points_of_matches_to_come(compression, double):
    data = dataset()
    system = jr.skills("points", margin=POINTS, compression=compression, side_advantage=40.0)
    rated = jr.rate(system, data)
    pairs = [("Ayr", "Hull"), ("Cork", "Ely")]
    found = jr.forecasts.predict_points(rated, pairs, side="a", total=205.5, lead=0.0)
    np.testing.assert_allclose(found["win"], jr.forecasts.predict_fixtures(rated, pairs, side="a")["win"], atol=2e-4)
    np.testing.assert_allclose(found["ahead"], found["win"], rtol=1e-12)
    total = found["points_a"] + found["points_b"]
    np.testing.assert_allclose(found["over"], norm.sf(205.5, total, found["total_deviation"]), rtol=1e-12)
    middle = float(found["points_a"][0] - found["points_b"][0])
    at = jr.forecasts.predict_points(rated, pairs, side="a", lead=middle)["ahead"]
    np.testing.assert_allclose(at[0], 0.5, atol=1e-12)
    if compression is None:  # attacks and defences make the points, of teams without a side
        teams = jr.history.attack_and_defence(rated)
        row = {name: i for i, name in enumerate(teams["player"].tolist())}
        attack, defence = teams["attack"], teams["defence"]
        level = jr.forecasts.predict_points(rated, pairs, side=None)
        for side, other in (("a", "b"), ("b", "a")):
            ahead = [attack[row[x]] - defence[row[y]] for x, y in zip(level[side], level[other], strict=True)]
            np.testing.assert_allclose(level[f"points_{side}"], 100.0 + np.array(ahead) / 25.0, atol=0.01)
        gone = attack - defence.mean()
        np.testing.assert_allclose(teams["scored"], 100.0 + gone / 25.0, atol=0.01)
