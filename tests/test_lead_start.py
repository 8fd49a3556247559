"""Since when the leader has led: the exact event, as lists of all days show it."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history import lead_start as lead_start_module
from jaxrate.history.leaderboards import lead_start
from tests.conftest import mark_full

pytest.importorskip("pyarrow")

DAYS = np.datetime64("2019-01-01") + np.arange(400)


def rated_duels(seed, **options):
    """A match of three players on every day, each about as good as the others."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 3, len(DAYS))
    names = np.array(["Ada", "Bo", "Cy"])
    columns = {"a": names[a], "b": names[(a + random.integers(1, 3, len(DAYS))) % 3]}
    columns |= {"score": random.integers(0, 2, len(DAYS)).astype(float), "date": DAYS}
    return jr.rate(jr.elo(k=20), jr.read(columns), **options)


@pytest.mark.parametrize("seed", mark_full(range(3), 0))
def test_the_lead_begins_on_the_day_from_which_on_the_leader_is_first_on_all_lists(seed, monkeypatch):
    monkeypatch.setattr(lead_start_module, "BLOCK", 7)
    rated = rated_duels(seed)
    first = [jr.leaderboard(rated, as_of=str(day), top=1).player[0] for day in DAYS]
    leader = jr.leaderboard(rated, top=1).player[0]
    number = max((i for i, name in enumerate(first) if name != leader), default=-1) + 1
    assert 0 < number < len(DAYS)  # else these cases show nothing
    assert np.datetime64(int(lead_start(rated)), "D") == DAYS[number]


@pytest.mark.parametrize("seed", mark_full(range(3), 0))
def test_a_list_leaves_out_who_has_not_played_of_late_and_counts_the_last_match_of_a_day(seed, monkeypatch):
    """Against lists of every day: of players who come and go, with three matches a day at times of their own."""
    monkeypatch.setattr(lead_start_module, "BLOCK", 5)
    random, number = np.random.default_rng(seed), np.arange(1200)
    names = np.array([f"player {i}" for i in range(12)])
    a = (number // 100 + random.integers(0, 4, 1200)) % 12
    b = (a + random.integers(1, 4, 1200)) % 12
    time = DAYS[number // 3] + (number % 3 * 60 + 600) * np.timedelta64(1, "m")
    columns = {"a": names[a], "b": names[b], "score": random.integers(0, 2, 1200).astype(float), "date": time}
    rated = jr.rate(jr.elo(k=20), jr.read(columns))
    ends = [f"{day}T23:59" for day in DAYS]
    first = [jr.leaderboard(rated, as_of=end, top=1, active=50, min_games=5).player for end in ends]
    leader = jr.leaderboard(rated, top=1, active=50, min_games=5).player[0]
    number = max((i for i, one in enumerate(first) if one.tolist() != [leader]), default=-1) + 1
    assert np.datetime64(int(lead_start(rated, active=50, min_games=5)), "D") == DAYS[number]


def test_newcomers_who_are_not_on_the_list_take_no_lead():
    """Of many who have played ten times or more, those with fewer matches are not listed, whatever their rating."""
    random, settled = np.random.default_rng(0), [f"player {i:02}" for i in range(24)]
    rows = [(settled[i], settled[(i + k) % 24], random.integers(2) * 1.0) for k in range(1, 12) for i in range(24)]
    rows += [("Meteor", settled[i], 1.0) for i in range(9)]
    a, b, score = zip(*rows, strict=True)
    day = DAYS[0] + np.arange(len(rows)) // 9
    rated = jr.rate(jr.elo(k=40), jr.read({"a": list(a), "b": list(b), "score": list(score), "date": day}))
    assert jr.leaderboard(rated, min_games=1, top=1).player[0] == "Meteor" != jr.leaderboard(rated, top=1).player[0]
    assert lead_start(rated) == lead_start(rated, min_games=10) < lead_start(rated, min_games=1)


def test_a_lead_in_rating_periods_begins_at_the_end_of_one():
    rated = rated_duels(0, period=30)
    start = lead_start(rated)
    leader = jr.leaderboard(rated, top=1).player[0]
    assert (start - (start // 30) * 30) == 0
    assert jr.leaderboard(rated, as_of=str(np.datetime64(int(start), "D")), top=1).player[0] == leader


def test_who_leads_from_the_first_match_on_has_led_since_then():
    columns = {"a": ["Ada"] * 5, "b": ["Bo"] * 5, "score": np.ones(5), "date": DAYS[:5]}
    assert np.datetime64(int(lead_start(jr.rate(jr.elo(), jr.read(columns)))), "D") == DAYS[0]
    assert lead_start(jr.rate(jr.elo(), jr.read({"a": ["Ada"], "b": ["Bo"], "score": [1.0]}))) is None
