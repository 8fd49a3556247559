"""Goals with hindsight against the slow twin, and what follows from them."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.system import skills_by_name
from tests.test_goals import league, system_of
from tests.test_smooth import PAIRS_CASES, SCORED


def test_a_filter_goes_on_where_hindsight_ends(double):
    """The state after a match between newcomers is about the filter's; and ratings at a time are those of matches."""
    settings, params, _ = PAIRS_CASES["expected goals"]
    league_events, system = (
        league(n=9),
        skills_by_name(**SCORED, **settings, **params),
    )  # as the twin's, whose programs it shares
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
