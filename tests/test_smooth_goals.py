"""Goals with hindsight against the slow twin, and what follows from them."""

import math

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.system import skills_by_name
from tests.conftest import mark_full, refused
from tests.reference.goals_smooth_twin import GoalsSmoother
from tests.test_goals import league, system_of

TEAMS = 5
PARAMS = {
    "growth": 8.0, "deviation_max": 1e4, "initial_deviation": 90.0, "side_advantage": 30.0, "pace_growth": 0.0,
    "initial_pace_deviation": 40.0, "goal_rate": 1.3, "period": 1.0,
}  # fmt: skip
CASES = {
    "plain": ({}, {}),
    "all": (
        {"covariates": ("rest",), "expected_goals": ("xg_a", "xg_b")},
        {"experience": 15.0, "goal_dispersion": 30.0, "low_score_dependence": -0.08, "rest": -6.0}
        | {"expected_goals_noise": 0.4, "expected_goals_scale": 0.9},
    ),
}


def history(weight):
    events = league(weight, n=10)
    player = np.asarray(events.player) % TEAMS
    player[:, 1] = np.where(player[:, 0] == player[:, 1], (player[:, 1] + 1) % TEAMS, player[:, 1])
    return events._replace(player=player)


def goals_system(case):
    settings, params = CASES[case]
    return skills_by_name(outcome="goals", margin=("goals_a", "goals_b"), **settings, **PARAMS | params)


def twin_of(case, events):
    params, columns = PARAMS | CASES[case][1], events.context.columns
    weights = np.ones(len(events.score)) if events.context.weight is None else events.context.weight
    games, played = [], np.zeros(TEAMS)
    for i, (a, b) in enumerate(np.asarray(events.player).tolist()):
        lead = params["side_advantage"] * events.context.side[i] + params.get("rest", 0.0) * columns["rest"][i]
        lead += params.get("experience", 0.0) * (math.log1p(played[a]) - math.log1p(played[b]))
        expected = [columns[x][i] if case == "all" else np.nan for x in ("xg_a", "xg_b")]
        goals = [columns[x][i] for x in ("goals_a", "goals_b")]
        games.append((a, b, events.time[i], goals, expected, lead, weights[i]))
        played[[a, b]] += weights[i]
    return GoalsSmoother(
        games, params["growth"], params["initial_deviation"], params["initial_pace_deviation"], params["goal_rate"],
        params.get("goal_dispersion", 0.0), params.get("low_score_dependence", 0.0),
        params.get("expected_goals_noise"), params.get("expected_goals_scale", 1.0),
    )  # fmt: skip


@pytest.mark.parametrize(("case", "weight"), mark_full([("plain", True), ("all", False)], ("all", False)))
def test_against_the_twin(case, weight, double):
    events = history(weight)
    smoothed = smooth_events(goals_system(case), events, tolerance=1e-10)
    twin = twin_of(case, events)
    twin.converge()
    for i, pair in enumerate(np.asarray(events.player).tolist()):
        for side, name in enumerate(pair):
            m, P = twin.belief(name, match=i)
            np.testing.assert_allclose(smoothed.components.mean[i, side], m + np.array([1500.0, 0.0]), atol=5e-3)
            np.testing.assert_allclose(smoothed.components.deviation[i, side], np.sqrt(np.diag(P)), atol=5e-3)
    wanted = [twin.prediction(i) for i in range(len(events.score))]
    np.testing.assert_allclose(smoothed.prediction, wanted, atol=2e-5)


def test_a_filter_goes_on_where_hindsight_ends(double):
    """The state after a match between newcomers is about the filter's; and ratings at a time are those of matches."""
    league_events, system = league(n=9), goals_system("all")  # as the twin's, whose programs it shares
    system = system._replace(params=system.params._replace(initial_deviation=40.0, initial_pace_deviation=20.0))
    last_goals = {"goals_a": 2.0, "goals_b": 1.0, "xg_a": 1.2, "xg_b": np.nan, "rest": 0.0}
    columns = {name: np.append(x, last_goals[name]) for name, x in league_events.context.columns.items()}
    events = jr.matches(
        [*league_events.player, (8, 9)], np.append(league_events.score, 1.0), np.append(league_events.time, 125.0),
        side=np.append(league_events.context.side, 1.0), columns=columns,
    )  # fmt: skip
    smoothed, run = smooth_events(system, events), jr.run(system, events)
    np.testing.assert_allclose(smoothed.state.mean[8:], run.state.mean[8:], atol=0.05)
    np.testing.assert_allclose(smoothed.state.covariance[8:], run.state.covariance[8:], rtol=2e-3, atol=1.0)
    np.testing.assert_allclose(smoothed.prediction[-1], run.prediction[-1], atol=1e-9)
    last = {
        name: (i, side) for i, pair in enumerate(np.asarray(events.player).tolist()) for side, name in enumerate(pair)
    }
    at_end, rating = smoothed.at(float(events.time[-1])).mean, np.asarray(smoothed.rating.mean)
    ends = np.asarray(jr.ratings(system, smoothed.state).mean)
    for name, place in last.items():
        assert rating[place] == pytest.approx(ends[name], abs=0.2)
        assert np.isfinite(at_end[name])


@pytest.mark.full
def test_hindsight_forecasts_goals(double):
    events = league()
    forecast = jr.forecasts.forecast_by_smoothing(system_of("expected"), events, start=60.0, refit=30.0)
    assert np.isfinite(forecast.prediction).all() and len(forecast.prediction) == len(events.score)


def test_the_evidence_of_goals_is_no_fit():
    with refused('goals are fitted one step ahead; take objective=ahead(loss="margin")'):
        jr.fit(system_of("plain"), league(), free=["growth"], objective=jr.fitting.evidence())
