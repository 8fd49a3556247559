"""Leaderboards of those who play, and of any date: against one player after the other, by `rating_at`."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.league.ranks_over_time import ranks_over_time
from tests.conftest import refused

pytest.importorskip("pyarrow")
NAMES = np.array([f"player {i:02}" for i in range(41)], object)


@pytest.fixture
def data(league):
    """Of 40 players of whom ten stop halfway, over 1000 days, and one who has not played."""
    some = ~((league.player < 10).any(axis=1) & (league.time > 500))
    events = jr.matches(league.player[some], league.score[some], league.time[some])
    return jr.data.Dataset(events, NAMES, np.arange(int(some.sum())), clock="dates")


@pytest.fixture
def contests():
    random, rounds = np.random.default_rng(3), []
    for _ in range(60):
        rounds.append([[NAMES[i]] for i in random.permutation(30)[: random.integers(2, 8)]])
    return jr.data.from_teams(rounds, time=np.sort(random.uniform(0, 1000, 60)))._replace(clock="dates")


def slowly(rated, now, days, least, cautious=0.0):
    """Name, shown rating, games and last time of those listed, best first, by `rating_at`."""
    listed, end = [], min(now, rated.last)
    for name in rated.players:
        times = (np.asarray(jr.career(rated, name)["time"]) - np.datetime64(0, "D")) / np.timedelta64(1, "D")
        over = times if rated.period is None else rated.period * (np.floor(times / rated.period) + 1)
        games = int((over <= now).sum())
        if games and games >= least and times[games - 1] >= end - days:
            at = jr.league.rating_at(rated, name, now)
            shown = at.mean - cautious * at.deviation if cautious else at.mean
            listed.append((name, shown, games, times[games - 1]))
    return sorted(listed, key=lambda x: -x[1])


def check_list(board, expected, tolerance=2e-3):
    assert board.player.tolist() == [x[0] for x in expected]
    np.testing.assert_allclose(board.rating, [x[1] for x in expected], atol=tolerance)
    assert board.games.tolist() == [x[2] for x in expected]
    days = (board.last - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    np.testing.assert_allclose(days, [x[3] for x in expected], atol=1e-5)


@pytest.mark.parametrize("now", [120.0, 500.0, 730.0, 1400.0])
@pytest.mark.parametrize("kind", ["glicko", "periods", "contests"])
def test_lists_of_any_date_are_those_of_every_player_at_it(data, contests, kind, now):
    if kind == "contests":
        rated = jr.rate(jr.weng_lin(), contests)
    else:
        rated = jr.rate(jr.glicko(), data, period=30.0 if kind == "periods" else None)
    board = jr.leaderboard(rated, top=41, as_of=now, active=200, min_games=2, since=now - 90.0)
    expected = slowly(rated, now, 200.0, 2)
    check_list(board, expected)
    then = slowly(rated, now - 90.0, 200.0, 2)
    assert len(expected) > 5
    for player, rating, change, rank in zip(board.player, board.rating, board.change, board.rank_then, strict=True):
        place = [x[0] for x in then].index(player) + 1 if player in [x[0] for x in then] else 0
        assert rank == place
        if place:
            assert rating - change == pytest.approx(then[place - 1][1], abs=5e-3)


def test_those_who_no_longer_play_are_left_out_by_default(data):
    rated = jr.rate(jr.glicko(), data)
    board = jr.leaderboard(rated, top=41)
    check_list(board, slowly(rated, rated.last, 365.0, 0), tolerance=30.0)  # as last played, not as of now
    assert set(board.player) == set(NAMES[10:40])
    last = np.datetime64(int(rated.last), "D")
    assert board.scope.splitlines() == [
        f'30 of 41 players, who played in the 365 days to {last} (active="all" for everybody)',
        f"change and earlier rank: since {np.datetime64(int(rated.last - 365), 'D')}",
    ]
    assert board.scope in str(board) and board.scope.splitlines()[0].split(" (")[0] in board._repr_html_()
    everybody = jr.leaderboard(rated, top=41, active="all")
    assert len(everybody.player) == 41 and np.isnat(everybody.last[everybody.player == NAMES[40]]).all()
    assert everybody.scope.startswith("change")
    shared = jr.leaderboard(rated, top=41, active=0.3)
    assert (
        shared.player.tolist()
        == jr.leaderboard(rated, top=41, active=0.3 * (rated.last - data.matches.time[0])).player.tolist()
    )
    assert "30 of 41" in jr.leaderboard(rated, active=100, min_games=1).scope and "all" not in shared.scope


@pytest.mark.parametrize(("matches", "enough"), [(300, 10), (150, 0)])
def test_who_has_played_little_is_left_out_by_default_where_many_have_played_more(data, matches, enough):
    player, score, time, _ = data.matches
    some = jr.matches(player[:matches], score[:matches], time[:matches])
    rated = jr.rate(jr.glicko(), jr.data.Dataset(some, NAMES, np.arange(matches), clock="dates"))
    board, everybody = (jr.leaderboard(rated, top=41, min_games=x) for x in (None, 0))
    assert board.player.tolist() == [x[0] for x in slowly(rated, rated.last, 365.0, enough)]
    assert (len(board.player) < len(everybody.player)) == (enough > 0) == ("had played 10 times" in board.scope)
    (rank,) = ranks_over_time(rated, range(41), np.array([rated.last]))
    last = jr.leaderboard(rated, top=41, as_of=rated.last)
    assert [NAMES[i] for i in np.argsort(rank)[: len(last.player)]] == last.player.tolist()
    assert np.isnan(rank).sum() == 41 - len(last.player)


def test_a_short_history_compares_with_its_middle_and_numbers_with_nothing(data, league):
    first = np.flatnonzero(data.matches.time < 300)
    player, score, time = (np.asarray(x)[first] for x in (data.matches.player, data.matches.score, data.matches.time))
    short = jr.data.Dataset(jr.matches(player, score, time), NAMES, first, clock="dates")
    rated = jr.rate(jr.glicko(), short)
    start = float(short.matches.time[0])
    assert jr.leaderboard(rated).scope.endswith(str(np.datetime64(int((start + rated.last) / 2), "D")))
    plain = jr.rate(jr.glicko(), data._replace(clock="numbers"))
    board = jr.leaderboard(plain, top=41)
    assert len(board.player) == 41 and board.change is None and board.scope == "" and board.last.dtype.kind == "f"
    assert (
        jr.leaderboard(plain, top=41, active=365).player.tolist()
        == jr.leaderboard(jr.rate(jr.glicko(), data), top=41).player.tolist()
    )
    timeless = jr.leaderboard(jr.rate(jr.glicko(), data._replace(clock=None)), top=41)
    assert timeless.last is None and timeless.peak_time is None and timeless.games.sum() == 2 * len(data.rows)


def test_the_peak_is_the_highest_rating_from_the_tenth_match_on(data):
    rated = jr.rate(jr.elo(), data)
    board, best = jr.leaderboard(rated, active="all", top=41), jr.league.peak_ratings(rated, top=41)
    for name, peak, time in zip(board.player, board.peak, board.peak_time, strict=True):
        career = jr.career(rated, name)
        if len(career["rating"]) < 10:
            assert np.isnan(peak) and np.isnat(time) and name not in best.player
            continue
        settled = (career["rating"] + career["change"])[9:]
        assert peak == pytest.approx(settled.max(), abs=1e-3)
        assert time == career["time"][-len(settled) :][settled.argmax()]
        at = best.player.tolist().index(name)
        assert best.rating[at] == pytest.approx(peak, abs=1e-3) and best.time[at] == time
        row = rated.predictions.slice(int(best.match[at]), 1).to_pylist()[0]
        assert name in (row["a"], row["b"])
    assert (np.diff(best.rating) <= 0).all() and best.deviation is None
    assert len(jr.league.peak_ratings(rated, min_games=10_000).player) == 0
    early = jr.leaderboard(rated, active="all", top=41, as_of=300.0)
    assert (early.peak_time[early.games >= 10] <= np.datetime64(300, "D")).all()
    with refused("elo has no deviations to be cautious about"):
        jr.league.peak_ratings(rated, cautious=1)


def test_cautious_lists_of_any_date(data):
    rated = jr.rate(jr.glicko(), data)
    board = jr.leaderboard(rated, as_of=700.0, cautious=2, top=41, active=1000)
    check_list(board, slowly(rated, 700.0, 1000.0, 0, cautious=2.0), tolerance=5e-3)
    assert board.deviation is None and (board.peak >= board.rating - 1e-3).mean() > 0.9


def test_what_a_list_cannot_be_is_refused(data, contests):
    rated = jr.rate(jr.glicko(), data)
    for active in ("some", 0, -3, np.nan, np.inf, True, [3]):
        with refused("active must be a number of days above 0"):
            jr.leaderboard(rated, active=active)
    with refused("must be before the moment of the list"):
        jr.leaderboard(rated, as_of=300.0, since=300.0)
    with refused("active, min_games and since need a rated history"):
        jr.leaderboard(rated.system, rated.state, active="all")
    timeless = rated._replace(clock=None)
    for given in ({"active": 30}, {"since": 3.0}):
        with refused("needs times, and this history has none"):
            jr.leaderboard(timeless, **given)
    with refused("time must be a number or a date"):
        jr.leaderboard(rated, as_of="soon")


def test_a_leaderboard_makes_a_frame(data, tmp_path):
    rated = jr.rate(jr.glicko(), data)
    table = jr.data.to_frame(jr.leaderboard(rated, top=5), "pyarrow")
    assert table.column_names[:4] == ["rank", "player", "rating", "deviation"] and "scope" not in table.column_names
    assert {"change", "rank_then", "games", "last", "peak", "peak_time"} < set(table.column_names) and len(table) == 5
    jr.data.write(jr.league.peak_ratings(rated, top=5), tmp_path / "peaks.csv")
    for no_table, instead in (
        (rated, "a Rated is no table: jr.leaderboard(rated) and jr.league.rating_table(rated) make tables"),
        (data, "a Dataset is no table: the table that it was read from is one"),
        (jr.run(jr.glicko(), data), "a Run is no table: choose some of its fields"),
    ):
        with refused(instead):
            jr.data.to_frame(no_table)
    assert (tmp_path / "peaks.csv").read_text().startswith('"rank","player","rating","deviation","match","time"')
