"""What a match changed is told apart from what a new season, or time, changes before the next one."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.history.trajectories import build_trajectories
from tests.conftest import mark_full

pytest.importorskip("pyarrow")
NAMES = ["Ada", "Bo", "Cy"]
SEASONS = (0.0, 100.0, 200.0)
TIMES = [0.0, 10.0, 20.0, 30.0, 100.0, 110.0, 120.0, 210.0, 220.0]
SYSTEMS = {
    "elo": lambda: jr.elo(SEASONS, season_keep=0.5),
    "elo reversion": lambda: jr.elo(reversion=100.0),
    "glicko": lambda: jr.glicko(SEASONS, season_keep=0.5, season_growth=40.0),
    "glicko2": lambda: jr.glicko2(SEASONS, season_keep=0.5),
    "trueskill": lambda: jr.trueskill(seasons=SEASONS, season_keep=0.5),
    "skills": lambda: jr.skills(seasons=SEASONS, season_keep=0.5),
}


def league():
    pairs = np.array([[0, 1], [1, 2], [0, 2], [1, 0], [0, 1], [2, 0], [1, 2], [1, 0], [0, 2]])
    score = np.array([1.0, 0.5, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    return jr.data.Dataset(
        jr.matches(pairs, score, TIMES), np.array(NAMES, object), np.arange(len(pairs)), clock="numbers"
    )


def select_matches(data, low, high):
    return data._replace(events=slice_events(data.matches, low, high), rows=data.rows[low:high])


@pytest.mark.parametrize("name", mark_full(SYSTEMS, "elo", "skills"))
def test_the_change_at_a_match_is_what_the_match_changed(name):
    system, data = SYSTEMS[name](), league()
    rated, history = jr.rate(system, data), jr.history.rating_history(system, data.matches, after=True)
    careers = rated.rows
    for i, player in enumerate(NAMES):
        row, side = np.nonzero(data.matches.player == i)
        before, after = np.asarray(history.before.mean)[row, side], np.asarray(history.after.mean)[row, side]
        career, some = jr.career(rated, player), slice(*careers.start[i : i + 2])
        np.testing.assert_allclose(career["rating"], before, rtol=1e-6)
        np.testing.assert_allclose(career["change"], after - before, atol=2e-3)
        np.testing.assert_allclose(careers.after.mean[some], after, rtol=1e-6)
        np.testing.assert_allclose(careers.before.mean[some], before, rtol=1e-6)
        if history.after.deviation is not None:
            np.testing.assert_allclose(
                careers.after.deviation[some], np.asarray(history.after.deviation)[row, side], 1e-5
            )
            assert (careers.after.deviation[some] < career["deviation"]).all()
    ada = jr.career(rated, "Ada")
    assert (ada["change"][ada["score"] == 1] > 0).all()  # whatever season comes next


def test_a_season_lowers_nobody_before_it_begins():
    rated = jr.rate(SYSTEMS["elo"](), league())
    career = jr.career(rated, "Ada")
    left = career["rating"] + career["change"]
    for day, expected in ((40.0, left[2]), (99.0, left[2]), (100.0, left[3]), (5.0, career["rating"][1])):
        assert jr.history.rating_at(rated, "Ada", day).mean == pytest.approx(expected), day
        board = jr.leaderboard(rated, as_of=day, active="all")
        assert board.rating[board.player.tolist().index("Ada")] == pytest.approx(expected), day
    assert career["rating"][3] == pytest.approx(1500 + 0.5 * (left[2] - 1500))


def test_peaks_are_what_matches_left():
    rated = jr.rate(SYSTEMS["elo"](), league())
    career = jr.career(rated, "Ada")
    peaks = jr.history.peak_ratings(rated, min_games=1)
    assert peaks.rating[peaks.player.tolist().index("Ada")] == pytest.approx(
        (career["rating"] + career["change"]).max()
    )


def test_a_rating_period_has_its_change_at_its_last_match():
    rated = jr.rate(SYSTEMS["elo"](), league(), period=25.0)
    career = jr.career(rated, "Ada")
    assert career["time"].tolist() == [0.0, 20.0, 30.0, 100.0, 110.0, 210.0, 220.0]
    assert (career["change"] != 0).tolist() == [False, True, True, False, True, False, True]
    assert career["rating"][3] == pytest.approx(1500 + 0.5 * (career["rating"][2] + career["change"][2] - 1500))


def test_a_history_that_carries_on_from_one_without_ratings_after_events():
    """Its events have the rating before the next event in their place."""
    data, system = league(), SYSTEMS["elo"]()
    early = jr.rate(system, select_matches(data, 0, 4))
    early = early._replace(events={name: x for name, x in early.events.items() if "after" not in name})
    rated, whole = jr.rate(system, select_matches(data, 4, len(TIMES)), onto=early), jr.rate(system, data)
    changes, expected = (jr.career(x, "Ada")["change"] for x in (rated, whole))
    assert np.isfinite(changes).all() and len(changes) == 7
    assert np.flatnonzero(changes != expected).tolist() == [2]
    assert np.isfinite(build_trajectories(rated).mean).all()


def test_only_systems_whose_leads_fade_have_ratings_after_events():
    assert "rating_after_a" in jr.rate(SYSTEMS["elo"](), league()).predictions.column_names
    assert "rating_after_a" not in jr.rate(jr.elo(), league()).predictions.column_names
    trajectories = build_trajectories(jr.rate(jr.elo(), league()))
    np.testing.assert_array_equal(trajectories.mean, trajectories.later_mean)
