"""Leaderboards of those who play, and of any date: against one player after the other, by `rating_at`."""

from itertools import pairwise

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import number_connected_groups
from jaxrate.history.leaderboards import ranks_over_time
from jaxrate.history.trajectories import build_trajectories
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
            at = jr.history.rating_at(rated, name, now)
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
    board, best = jr.leaderboard(rated, active="all", top=41), jr.history.peak_ratings(rated, top=41)
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
    assert len(jr.history.peak_ratings(rated, min_games=10_000).player) == 0
    early = jr.leaderboard(rated, active="all", top=41, as_of=300.0)
    assert (early.peak_time[early.games >= 10] <= np.datetime64(300, "D")).all()
    with refused("elo has no deviations to be cautious about"):
        jr.history.peak_ratings(rated, cautious=1)


def slow_groups(sides):
    """Sets of ids whom chains of events join, by joining the sets of those who meet; the largest first."""
    groups = []
    for met in map(set, sides):
        met = met.union(*(x for x in groups if x & met))
        groups = [x for x in groups if not x & met] + [met]
    return sorted(groups, key=lambda x: (-len(x), min(x)))


@pytest.mark.parametrize("count", [1, 30, 60, 400])
def test_groups_are_joined_by_chains_of_events(count):
    random = np.random.default_rng(count)
    sides = [random.permutation(90)[: random.integers(1, 4)] for _ in range(count)]
    event = np.repeat(np.arange(count), [len(x) for x in sides])
    groups, slow = number_connected_groups(100, np.concatenate(sides), event), slow_groups(sides)
    assert [set(np.flatnonzero(groups == i)) for i in range(len(slow))] == slow
    assert (groups == -1).sum() == 100 - sum(map(len, slow))


@pytest.fixture
def apart(league):
    """Two groups of players who meet from day 600 on, and two guests who met only each other, 40 times."""
    names = np.append(NAMES[:40], ["guest 1", "guest 2"])
    some = ((league.player < 25).sum(axis=1) != 1) | (league.time >= 600)
    columns = [
        np.append(league.player[some], np.tile([40, 41], (40, 1)), axis=0),
        league.score[some],
        league.time[some],
    ]
    columns[1:] = np.append(columns[1], np.ones(40)), np.append(columns[2], np.linspace(0, 900, 40))
    order = np.argsort(columns[2], kind="stable")
    player, score, time = (x[order] for x in columns)
    return jr.read({"a": names[player[:, 0]], "b": names[player[:, 1]], "score": score, "time": time.astype("M8[D]")})


def check_groups(board, sizes):
    assert board.group.tolist() == np.repeat(np.arange(len(sizes)) + 1, sizes).tolist()
    assert board["rank"].tolist() == [i + 1 for size in sizes for i in range(size)]
    for group in range(1, len(sizes) + 1):
        assert (np.diff(board.rating[board.group == group]) <= 0).all()


def test_players_whom_no_chain_of_matches_joins_are_ranked_apart(apart):
    rated = jr.rate(jr.elo(), apart)
    board, early = jr.leaderboard(rated, active="all", top=99), jr.leaderboard(rated, as_of="1971-08-01", top=99)
    check_groups(board, [40, 2])
    assert board.rating[40] > board.rating[5] and "guest 1 (2)" in board.scope  # who would be among the first six
    check_groups(early, [25, 15, 2])
    first = board.first_group()
    assert first.group is None and first.num_listed == 40 and first.player.tolist() == board.player[:40].tolist()
    assert jr.leaderboard(rated, among=["guest 1", "guest 2"]).group is None
    ranks = ranks_over_time(rated, range(42), np.array([599.0, rated.last]), active="all")
    assert dict(zip(rated.players, ranks[1], strict=True)) == dict(zip(board.player, board["rank"], strict=True))
    assert f"leaders  {board.player[0]}" in repr(rated) and "guest" not in repr(rated)
    smoothed = jr.smooth(jr.skills(), apart)
    assert jr.leaderboard(smoothed, top=99).group[-2:].tolist() == [2, 2]
    fixtures = [("guest 1", "player 03"), ("guest 1", "guest 2"), ("newcomer", "player 03")]
    with pytest.warns(UserWarning, match="guest 1 and player 03"):
        forecasts = jr.forecasts.predict_fixtures(rated, fixtures, newcomers=True)
        assert forecasts["connected"].tolist() == [False, True, True]
    assert "connected" not in jr.forecasts.predict_fixtures(rated, [("player 01", "player 30")])


def test_groups_of_contests_are_ranked_apart():
    names, random = np.array(list("abcdefghij")), np.random.default_rng(0)
    contests = [random.permutation(names[:6] if i % 3 else names[6:])[:3] for i in range(60)]
    data = jr.data.from_teams([[[str(x)] for x in one] for one in contests])
    rated = jr.rate(jr.weng_lin(), data)
    board = jr.leaderboard(rated)
    check_groups(board, [6, 4])
    assert {*board.player[:6].tolist()} == {*"abcdef"} and "contests" in board.scope
    with pytest.warns(UserWarning, match="cannot be compared"):
        forecasts = jr.forecasts.predict_fixtures(rated, [(["a"], ["b"]), (["a"], ["j"], ["b"])])
    assert forecasts["connected"].tolist() == [True] * 2 + [False] * 3


@pytest.mark.parametrize("clock", ["dates", "numbers", None])
def test_peaks_are_above_the_median_of_the_active_where_it_drifts(data, clock):
    steady = jr.rate(jr.elo(), data._replace(clock=clock))
    assert jr.leaderboard(steady).peak_median is None and jr.history.peak_ratings(steady).above_median is None
    time = np.asarray(data.events.time)
    events = steady.events | {"rating": steady.events["rating"] + 2.0 * time[:, None]}
    last = [time[(data.events.player == i).any(axis=1)].max(initial=0.0) for i in range(41)]
    state = steady.state._replace(rating=np.asarray(steady.state.rating) + 2.0 * np.array(last, np.float32))
    rated = steady._replace(events=events, state=state)
    board, best = (
        jr.leaderboard(rated, top=41, active=None if clock is None else "all"),
        jr.history.peak_ratings(rated, top=41),
    )
    assert "drift" in board.scope and (np.diff(best.above_median) <= 0).all() and (np.diff(best.rating) > 0).any()
    points = build_trajectories(rated)
    for name, peak, median in zip(board.player, board.peak, board.peak_median, strict=True):
        if np.isnan(peak):
            continue
        at = best.player.tolist().index(name)
        assert best.above_median[at] == pytest.approx(peak, abs=1e-2)
        assert best.rating[at] == pytest.approx(peak + median, abs=1e-2)
        row, window = best.match[at], {"dates": 365.0, "numbers": time[-1] / 10, None: len(time) / 10}[clock]
        when = points.event if clock is None else points.time
        now = row if clock is None else time[row]
        known = np.array([max(range(i, j), key=lambda k: (points.row[k] <= row, k)) for i, j in pairwise(points.start)])
        active = known[(points.row[known] >= 0) & (when[known] >= now - window)]
        assert median == pytest.approx(np.median(points.mean[active]), abs=60)  # over days, by 2 points each


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
    jr.data.write(jr.history.peak_ratings(rated, top=5), tmp_path / "peaks.csv")
    for no_table, instead in (
        (data, "a Dataset is no table: the table that it was read from is one"),
        (jr.run(jr.glicko(), data), "a Run is no table: choose some of its fields"),
    ):
        with refused(instead):
            jr.data.to_frame(no_table)
    assert (tmp_path / "peaks.csv").read_text().startswith('"rank","player","rating","deviation","match","time"')
