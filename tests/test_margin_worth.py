"""What margins are worth to `skills` at first is taken from the matches that `compare` does not score."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.evaluation.comparison import MARGIN_POINTS_GRID, loss_minimising_mean_margin_points
from jaxrate.systems.system_construction_by_name import make_system_for_data
from tests.conftest import mark_full

MATCHES, PLAYERS, PAST = 8_000, 40, 6_400


def league(spread, unit, last_sign=1.0):
    """Margins are differences of performances, of players with this spread, in whole units of so many points."""
    random = np.random.default_rng(1)
    strength = spread * random.normal(size=PLAYERS)
    pair = np.array([random.choice(PLAYERS, 2, replace=False) for _ in range(MATCHES)])
    margin = np.rint((strength[pair[:, 0]] - strength[pair[:, 1]] + 300.0 * random.normal(size=MATCHES)) / unit)
    margin[PAST:] *= last_sign
    score, time = 0.5 + 0.5 * np.sign(margin), np.arange(MATCHES) / 20.0
    return jr.read({"a": pair[:, 0], "b": pair[:, 1], "score": score, "time": time, "margin": margin}, margin="margin")


def compared(data, given=None, last=0.2):
    """The system, its log loss, and the points of a mean margin of the first fifth; and the notes."""
    found = jr.compare(data, {"skills": given or {}}, last=last)
    (result,) = found.results
    size = np.mean(np.abs(data.matches.context.columns["margin"][: MATCHES // 5]))
    return result.system, result.quality["log loss"], result.system.params.margin_scale * size, found.notes


LEAGUES = (60, 300, 300), (60, 25, 350), (250, 25, 600), (400, 25, 850)


@pytest.mark.parametrize(("spread", "unit", "around"), mark_full(LEAGUES, LEAGUES[0]))
def test_the_worth_of_a_margin_is_what_predicts_best(spread, unit, around):
    """Low-scoring and high-scoring leagues, of players who are alike and who are not."""
    data = league(spread, unit)
    usual = make_system_for_data("skills", {}, None, data)
    system, loss, worth, notes = compared(data)
    assert worth == pytest.approx(around, abs=60)
    assert system == usual.make(**usual.settings, **system.params._asdict())
    assert system.params._replace(margin_scale=1.0) == usual.params._replace(margin_scale=1.0)
    assert "The weight of margins in skills is from the 6,400 matches before." in notes

    def lost(points):
        params = usual.params._replace(margin_scale=points / 600 * usual.params.margin_scale)
        return jr.metrics.log_loss(jr.run(usual, data, params=params).prediction[PAST:], data.matches.score[PAST:])

    grid = np.arange(200.0, 1200.0, 50.0)
    losses = [lost(points) for points in grid]
    assert grid[np.argmin(losses)] == around
    assert loss < min(losses) + 5e-4
    assert around == 600 or loss < lost(600.0) - 4e-3


def test_what_is_scored_and_what_is_given_change_nothing():
    data = league(60, 25)
    system, *_ = compared(data)
    turned, *_ = compared(league(60, 25, last_sign=-1.0))
    assert turned == system
    usual = make_system_for_data("skills", {}, None, data)
    assert system != usual
    whole, _, worth, notes = compared(data, last=1.0)
    assert whole == usual and worth == pytest.approx(600) and not any("margins" in note for note in notes)
    given, *_, notes = compared(data, {"margin_scale": 7.0})
    assert given.params.margin_scale == 7.0 and not any("margins" in note for note in notes)


@pytest.mark.full
def test_wins_alone_and_periods():
    data = league(60, 25)
    system, *_ = compared(data)
    won, *_ = jr.compare(data, {"skills": {"outcome": "win"}}, last=0.2).results
    assert won.system == make_system_for_data("skills", {"outcome": "win"}, None, data)
    in_periods, *_ = jr.compare(data, ["skills"], lengths=(20.0,), last=0.2).results
    assert in_periods.system.params.margin_scale == pytest.approx(system.params.margin_scale, rel=0.2)


def test_few_matches_say_little_of_margins():
    usual = loss_minimising_mean_margin_points(np.zeros(len(MARGIN_POINTS_GRID)))
    assert usual == pytest.approx(600)
    parabola = ((MARGIN_POINTS_GRID - 400.0) / 200.0) ** 2  # as much as twice what is known of leagues
    assert loss_minimising_mean_margin_points(parabola) == pytest.approx((2 * 400 + 600) / 3)
    assert loss_minimising_mean_margin_points(1e6 * parabola) == pytest.approx(400, rel=1e-4)
    assert (
        loss_minimising_mean_margin_points(-1e3 * MARGIN_POINTS_GRID) == MARGIN_POINTS_GRID[-1]
        and loss_minimising_mean_margin_points(1e3 * MARGIN_POINTS_GRID) == MARGIN_POINTS_GRID[0]
    )
    assert loss_minimising_mean_margin_points(np.where(MARGIN_POINTS_GRID > 1000, np.nan, 0.0)) == 600.0
