"""Leaderboards of those who play, and of any date: against one player after the other, by `rating_at`."""

import math
from itertools import pairwise

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import number_connected_groups
from jaxrate.history import leaderboards
from jaxrate.history.leaderboards import lead_start, ranks_over_time
from tests.conftest import mark_full, refused

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


def slowly(rated, now, days, least):
    """Name, rating, games and last time of those listed, best first, by `rating_at`."""
    listed, end = [], min(now, rated.last)
    for name in rated.players:
        times = (np.asarray(jr.career(rated, name)["time"]) - np.datetime64(0, "D")) / np.timedelta64(1, "D")
        over = times if rated.period is None else rated.period * (np.floor(times / rated.period) + 1)
        games = int((over <= now).sum())
        if games and games >= least and times[games - 1] >= end - days:
            listed.append((name, jr.history.rating_at(rated, name, now).mean, games, times[games - 1]))
    return sorted(listed, key=lambda x: -x[1])


def check_list(board, expected, tolerance=2e-3):
    assert board.player.tolist() == [x[0] for x in expected]
    np.testing.assert_allclose(board.rating, [x[1] for x in expected], atol=tolerance)
    assert board.games.tolist() == [x[2] for x in expected]
    days = (board.last - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    np.testing.assert_allclose(days, [x[3] for x in expected], atol=1e-5)


@pytest.mark.parametrize("now", mark_full([120.0, 500.0, 730.0, 1400.0], 500.0, 1400.0))
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
        f"change and move: since {np.datetime64(int(rated.last - 365), 'D')}",
    ]
    assert board.scope in str(board) and board.scope.splitlines()[0].split(" (")[0] in board._repr_html_()
    everybody = jr.leaderboard(rated, top=41, active="all")
    assert len(everybody.player) == 41 and np.isnat(everybody.last[everybody.player == NAMES[40]]).all()
    assert everybody.scope.startswith("change")
    shared, days = (jr.leaderboard(rated, top=41, active=x) for x in (0.3, 0.3 * (rated.last - data.matches.time[0])))
    assert shared.player.tolist() == days.player.tolist() and "all" not in shared.scope


@pytest.mark.parametrize(("matches", "enough"), [(300, 10), (150, 0)])
def test_who_has_played_little_is_left_out_by_default_where_many_have_played_more(data, matches, enough):
    player, score, time, _ = data.matches
    some = jr.matches(player[:matches], score[:matches], time[:matches])
    rated = jr.rate(jr.glicko(), jr.data.Dataset(some, NAMES, np.arange(matches), clock="dates"))
    board, everybody = (jr.leaderboard(rated, top=41, min_games=x) for x in (None, 0))
    is_wide = everybody.deviation > 0.7 * rated.system.params.initial_deviation
    listed = [x[0] for x in slowly(rated, rated.last, 365.0, enough)]
    assert board.player.tolist() == [x for x in listed if x not in everybody.player[is_wide]]
    assert {*jr.leaderboard(rated, top=41, cautious=2.0).player} == {*board.player}
    assert len(board.player) < len(everybody.player) and (enough > 0) == ("had played 10 times" in board.scope)
    assert (len(listed) > len(board.player)) == (enough == 0) == ("at most 0.7 times a newcomer's" in board.scope)
    (rank,) = ranks_over_time(rated, np.array([rated.last]))
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
    active, dated = jr.leaderboard(plain, top=41, active=365), jr.leaderboard(jr.rate(jr.glicko(), data), top=41)
    assert active.player.tolist() == dated.player.tolist()
    timeless = jr.leaderboard(jr.rate(jr.glicko(), data._replace(clock=None)), top=41)
    assert timeless.last is None and timeless.peak_time is None and timeless.games.sum() == 2 * len(data.rows)


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
    first = np.repeat([x[0] for x in sides], [len(x) for x in sides])
    groups, slow = number_connected_groups(100, np.concatenate(sides), first), slow_groups(sides)
    assert [set(np.flatnonzero(groups == i)) for i in range(len(slow))] == slow
    assert (groups == -1).sum() == 100 - sum(map(len, slow))


def test_players_whom_no_chain_of_matches_joins_are_ranked_apart(league):
    """Two groups of players who meet from day 600 on, and two guests who met only each other, 40 times."""
    names = np.append(NAMES[:40], ["guest 1", "guest 2"])
    some = ((league.player < 25).sum(axis=1) != 1) | (league.time >= 600)
    a, b = names[np.append(league.player[some], np.tile([40, 41], (40, 1)), axis=0)].T
    score, time = np.append(league.score[some], np.ones(40)), np.append(league.time[some], np.linspace(0, 900, 40))
    data = jr.read({"a": a, "b": b, "score": score, "time": time.astype("M8[D]")}, sort=True)
    rated = jr.rate(jr.elo(), data)
    board, early = jr.leaderboard(rated, active="all", top=99), jr.leaderboard(rated, as_of="1971-08-01", top=99)
    assert board.group.tolist() == [1] * 40 + [2] * 2 and early.group.tolist() == [1] * 25 + [2] * 15 + [3] * 2
    assert board["rank"].tolist() == [*range(1, 41), 1, 2]
    assert board.rating[40] > board.rating[5] and "guest 1 (2)" in board.scope  # who would be among the first six
    first = board.first_group()
    assert first.group is None and first.num_listed == 40 and first.player.tolist() == board.player[:40].tolist()
    assert jr.leaderboard(rated, among=["guest 1", "guest 2"]).group is None
    ranks = ranks_over_time(rated, np.array([599.0, rated.last]), active="all")
    assert dict(zip(rated.players, ranks[1], strict=True)) == dict(zip(board.player, board["rank"], strict=True))
    assert f"leaders  {board.player[0]}" in repr(rated) and "guest" not in repr(rated)
    smoothed = jr.smooth(jr.skills(), data)
    assert jr.leaderboard(smoothed, top=99, active="all").group[-2:].tolist() == [2, 2]
    fixtures = [("guest 1", "player 03"), ("guest 1", "guest 2"), ("newcomer", "player 03")]
    with pytest.warns(UserWarning, match="guest 1 and player 03"):
        forecasts = jr.forecasts.predict_fixtures(rated, fixtures, newcomers=True)
        assert forecasts["connected"].tolist() == [False, True, True]
    assert "connected" not in jr.forecasts.predict_fixtures(rated, [("player 01", "player 30")])


@pytest.mark.parametrize("clock", ["dates", "numbers", None])
def test_peaks_are_above_the_median_of_the_active_where_it_drifts(data, clock):
    steady = jr.rate(jr.elo(), data._replace(clock=clock))
    assert jr.leaderboard(steady).peak_median is None and jr.history.peak_ratings(steady).above_median is None
    time = np.asarray(data.events.time)
    events = steady.events | {"rating": steady.events["rating"] + 2.0 * time[:, None]}
    last = [time[(data.events.player == i).any(axis=1)].max(initial=0.0) for i in range(41)]
    state = steady.state._replace(rating=np.asarray(steady.state.rating) + 2.0 * np.array(last, np.float32))
    rated = steady._replace(events=events, state=state)
    board = jr.leaderboard(rated, top=41, active=None if clock is None else "all")
    best = jr.history.peak_ratings(rated, top=41)
    assert "drift" in board.scope and (np.diff(best.above_median) <= 0).all() and (np.diff(best.rating) > 0).any()
    rows = rated.rows
    for name, peak, median in zip(board.player, board.peak, board.peak_median, strict=True):
        if np.isnan(peak):
            continue
        at = best.player.tolist().index(name)
        assert best.above_median[at] == pytest.approx(peak, abs=1e-2)
        assert best.rating[at] == pytest.approx(peak + median, abs=1e-2)
        row, window = best.match[at], {"dates": 365.0, "numbers": time[-1] / 10, None: len(time) / 10}[clock]
        when = rows.event if clock is None else rows.time
        now = row if clock is None else time[row]
        known = np.array([k for i, j in pairwise(rows.start) for k in range(i, j) if rows.row[i:k + 1].max() <= row
                          and (k + 1 == j or rows.row[k + 1] > row)])  # fmt: skip
        active = known[when[known] >= now - window]
        assert median == pytest.approx(np.median(rows.after.mean[active]), abs=60)  # over days, by 2 points each


def test_what_a_list_cannot_be_is_refused(data, contests):
    rated = jr.rate(jr.glicko(), data)
    for active in ("some", 0, -3, np.nan, np.inf, True, [3]):
        with refused("active must be a number of days above 0"):
            jr.leaderboard(rated, active=active)
    with refused("must be before the moment of the list"):
        jr.leaderboard(rated, as_of=300.0, since=300.0)
    timeless = rated._replace(clock=None)
    for given in ({"active": 30}, {"since": 3.0}):
        with refused("needs times, and this history has none"):
            jr.leaderboard(timeless, **given)
    with refused("time must be a number or a date"):
        jr.leaderboard(rated, as_of="soon")
    with refused("no player 'player 55'; did you mean"):
        jr.leaderboard(rated, among=["player 55"])


# Rounds from nested lists.

TWO = [[["Ada", "Bo"], ["Cy"]], [["Bo"], ["Cy"], ["Ada", "Di"]]]


def same(data, contest, player, rank, **columns):
    events = jr.rounds(contest, player, rank, **columns)
    for x, y in zip(data.rounds.events, events.events, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(data.rounds.player_start, events.player_start)


def test_lists_are_rounds():
    data = jr.data.from_teams(TWO)
    contest, player, team = [0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 1, 2, 0, 3], [0, 0, 1, 0, 1, 2, 2]
    same(data, contest, player, team, team=team)
    assert data.players.tolist() == ["Ada", "Bo", "Cy", "Di"] and data.rows.tolist() == list(range(7))
    assert data.clock is None and data.contests.tolist() == [0, 1]
    weights = [[[1, 0.5], [1]], [[1], [2], [0.5, 1]]]
    some = {"time": np.array([3, 5]), "players": np.array(["Di", "Bo", "Eve"])}
    data = jr.data.from_teams(TWO, [[2, 1], [0, 0, -1]], weights=weights, **some)
    player, flat = [3, 1, 4, 1, 4, 3, 0], [1, 0.5, 1, 1, 2, 0.5, 1]
    same(data, contest, player, [2, 2, 1, 0, 0, -1, -1], team=team, weight=flat, time=[3, 3, 3, 5, 5, 5, 5])
    assert data.players.tolist() == ["Di", "Bo", "Eve", "Ada", "Cy"] and data.clock == "numbers"


def test_names_are_anything_hashable():
    data = jr.data.from_teams([[[(1, 2)], [7, "x"]]], players=[(3, 4), 7])
    assert data.players.tolist() == [(3, 4), 7, (1, 2), "x"] and data.rounds.events.player.tolist() == [2, 1, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": []}, "no rounds"),
        ({"rounds": [["Ada", "Bo"]]}, "round 0, team 0 (counting from 0): players must be a list, got 'Ada'"),
        ({"rounds": [[["Ada"], []]]}, "round 0, team 1 (counting from 0): no players"),
        ({"rounds": [[["Cy"], ["Ada", "Ada"]]]}, "round 0, team 1 (counting from 0): player 'Ada' is in contest 0 tw"),
        ({"rounds": [[["Ada"], [None]]]}, "round 0, team 1 (counting from 0): None cannot be the name of a player"),
        ({"ranks": [[1, 2]]}, "ranks of 1 rounds, but there are 2"),
        ({"ranks": [[1, 2], [1, 2]]}, "round 1 (counting from 0): ranks of 2 teams, but there are 3"),
        ({"ranks": [[1, 2], [1, 2, math.nan]]}, "round 1, team 2 (counting from 0): rank is nan, not a finite number"),
        ({"weights": [[[1], [1]], []]}, "round 0, team 0 (counting from 0): weights of 1 players, but there are 2"),
        ({"weights": [[[1, 0], [1]], [[1], [1], [1, 1]]]}, "round 0, team 0 (counting from 0): weight 0.0 of player"),
        ({"players": ["Ada", "Ada"]}, "players names somebody twice"),
    ],
)
def test_bad_lists_are_refused(arguments, message):
    with pytest.raises(ValueError) as refused:
        jr.data.from_teams(**{"rounds": TWO, **arguments})
    assert str(refused.value).startswith(message)


# Since when the leader has led: the exact event, as lists of all days show it.


DAYS = np.datetime64("2019-01-01") + np.arange(400)


def rated_equals(seed, time=DAYS, count=3, system=None, **options):
    """A match at each time of three players who are about as good as each other; of more, some come and some go."""
    random, n = np.random.default_rng(seed), len(time)
    first = (np.arange(n) // 100 if count > 3 else 0) + random.integers(0, 4, n)
    a, b = first % count, (first + random.integers(1, min(count, 4), n)) % count
    table = {"a": a, "b": b, "score": random.integers(0, 2, n).astype(float), "time": time}
    return jr.rate(system or jr.elo(k=20), jr.read(table), **options)


THRICE = np.repeat(DAYS, 3) + np.tile([600, 660, 720], len(DAYS)) * np.timedelta64(1, "m")
LEADS = {  # how histories are made, the rules of their lists, and the moments of these
    "duels": ({}, {}, DAYS),
    "comers": ({"time": THRICE, "count": 12}, {"active": 50, "min_games": 5}, DAYS[200:]),
    "cautious": ({"time": np.arange(60.0), "system": jr.glicko()}, {"cautious": 2.0, "min_games": 0}, np.arange(60.0)),
}


@pytest.mark.parametrize("seed", mark_full([0, 1, 2], 0))
@pytest.mark.parametrize("name", LEADS)
def test_the_lead_begins_at_the_moment_from_which_on_the_leader_is_first_on_all_lists(name, seed, monkeypatch):
    monkeypatch.setattr(leaderboards, "BLOCK", 5)
    options, rules, moments = LEADS[name]
    rated = rated_equals(seed, **options)
    ends = [f"{x}T23:59" for x in moments] if moments.dtype.kind == "M" else moments.tolist()
    first = [jr.leaderboard(rated, as_of=end, top=1, **rules).player.tolist() for end in ends]
    leader = jr.leaderboard(rated, top=1, **rules).player.tolist()
    number = max((i for i, one in enumerate(first) if one != leader), default=-1) + 1
    assert 0 < number < len(moments)  # else these cases show nothing
    start = lead_start(rated, **rules)
    assert (np.datetime64(int(start), "D") if moments.dtype.kind == "M" else start) == moments[number]


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
    rated = rated_equals(0, period=30)
    start = lead_start(rated)
    leader = jr.leaderboard(rated, top=1).player[0]
    assert (start - (start // 30) * 30) == 0
    assert jr.leaderboard(rated, as_of=str(np.datetime64(int(start), "D")), top=1).player[0] == leader


def test_who_leads_from_the_first_match_on_has_led_since_then():
    columns = {"a": ["Ada"] * 5, "b": ["Bo"] * 5, "score": np.ones(5), "date": DAYS[:5]}
    assert np.datetime64(int(lead_start(jr.rate(jr.elo(), jr.read(columns)))), "D") == DAYS[0]
    assert lead_start(jr.rate(jr.elo(), jr.read({"a": ["Ada"], "b": ["Bo"], "score": [1.0]}))) is None


def test_meetings_upsets_and_form_in_words(data):
    rated, contests = jr.rate(jr.elo(), data), jr.rate(jr.weng_lin(), jr.data.from_teams([[["Ada"], ["Bo"]]]))
    one, two = "player 03", str(jr.career(rated, "player 03")["opponent"][0])
    found, other = jr.history.head_to_head(rated, one, two), jr.history.head_to_head(rated, two, one)
    assert (other.won, other.lost) == (found.lost, found.won) and str(other).startswith(f"{two} against {one}: ")
    assert found.summary in found._repr_html_() and jr.data.to_frame(found, "pyarrow").column_names == [*found.matches]
    assert str(jr.history.head_to_head(rated, one, "player 40")) == f"{one} and player 40 have not met"
    assert jr.history.recent_form(rated, one)["player"].tolist() == [one]  # was taken letter by letter
    for call, message in (
        (lambda: jr.history.head_to_head(rated, one, one), "head to head takes two different players"),
        (lambda: jr.history.upsets(rated, top=0), "top must be a whole number from 1, got 0"),
        (lambda: jr.history.recent_form(contests), "this is of matches of two"),
        (lambda: jr.history.upsets(contests), "this is of matches of two"),
        (lambda: jr.history.head_to_head(contests, "Ada", "Bo"), "this is of matches of two"),
        (lambda: jr.history.peak_ratings(rated, cautious=1), "elo has no deviations to be cautious about"),
        (lambda: jr.fit(jr.elo(), data.matches, free="kk"), "elo has no parameter 'kk'; did you mean 'k'?"),
    ):
        with refused(message):
            call()


def test_contests_whose_times_decrease_count_once_those_before_them_do():
    """Of a system that takes no notice of times; a list told of contests after its day, and peaks were NaN."""
    three, time = [[["a"], ["b"], ["c"]]], np.r_[np.arange(15.0) + 50.0, np.arange(15.0)]
    rated = jr.rate(jr.weng_lin(), jr.data.from_teams(three * 30, time=time))
    assert not len(jr.leaderboard(rated, as_of=20.0).player) and jr.history.rating_at(rated, "a", 20.0).mean == 25.0
    assert (jr.leaderboard(rated, as_of=55.0).last == 55.0).all()
    assert np.isfinite(jr.leaderboard(rated).peak).all() and len(jr.history.peak_ratings(rated).player) == 3
