"""The table of participations, beside a loop over the events, of matches, periods, seasons, contests and hindsight."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.history.leaderboards import ranks_over_time
from tests.conftest import MOSTLY_SINGLE

pytest.importorskip("pyarrow")
NAMES = [f"player {i}" for i in range(7)]


def matches(random, n=60):
    pairs = np.array([random.choice(7, 2, replace=False) for _ in range(n)])
    a, b = np.array(NAMES, object)[pairs].T
    points = random.integers(0, 9, (n, 2)).astype(float)
    score = 0.5 + 0.5 * np.sign(points[:, 0] - points[:, 1])
    table = {
        "a": a,
        "b": b,
        "score": score,
        "t": np.sort(random.integers(0, 40, n)),
        "x": points[:, 0],
        "y": points[:, 1],
    }
    return jr.read(table, time="t", margin=("x", "y"))


def contests(random, n=15):
    """Teams of two; some play in several teams of a contest."""
    teams = [[random.choice(NAMES, 2, replace=False).tolist() for _ in range(3)] for _ in range(n)]
    return jr.data.from_teams(teams, ranks=[random.integers(0, 3, 3).tolist() for _ in range(n)], time=[*range(n)])


HISTORIES = {
    "matches": lambda random: jr.rate(jr.glicko(), matches(random)),
    "periods": lambda random: jr.rate(jr.glicko2(), matches(random), period=7.0),
    "seasons": lambda random: jr.rate(jr.skills(parts.seasons([10.0, 25.0], keep=0.5)), matches(random)),
    "outcomes": lambda random: jr.rate(jr.forecasts.add_outcomes(jr.elo()), matches(random)),
    "contests": lambda random: jr.rate(jr.elo_mmx(), contests(random)),
    "hindsight of matches": lambda random: jr.smooth(jr.skills(), matches(random)),
    "hindsight of contests": lambda random: jr.smooth(jr.skills(), contests(random)),
}


def seats(history):
    """For each player what a loop over the events says: (event, row, side, opponent, score, expected, ratings)."""
    if history.hindsight is not None:
        smoothed = history.hindsight
        events, mean, prediction = smoothed.events, np.asarray(smoothed.rating.mean), np.asarray(smoothed.prediction)
        if isinstance(events, jr.Matches):
            rows = [
                (e, e, side, pair[1 - side], abs(side - s), abs(side - p), None, mean[e, side], events.time[e])
                for e, (pair, s, p) in enumerate(zip(events.player, events.score, prediction, strict=True))
                for side in (0, 1)
            ]
            players = events.player.ravel()
        else:
            event, time = np.repeat(np.arange(len(events.start) - 1), np.diff(events.start)), events.events.time
            rows = [(e, r, 0, None, None, prediction[r], None, mean[r], time[e]) for r, e in enumerate(event)]
            players = events.events.player
    elif history.contests is None:
        ids, rows, players = history.players.tolist(), [], []
        for row, match in enumerate(history.predictions.to_pylist()):
            for side, (own, other) in enumerate(("ab", "ba")):
                score, expected = (abs(side - match[x]) for x in ("score", "prediction"))
                left = match.get(f"rating_after_{own}")
                one = (
                    row,
                    row,
                    side,
                    ids.index(match[other]),
                    score,
                    expected,
                    match[f"rating_{own}"],
                    left,
                    match["time"],
                )
                rows.append(one)
                players.append(ids.index(match[own]))
    else:
        ids, rows, players = history.players.tolist(), [], []
        for row, one in enumerate(history.predictions.to_pylist()):
            rows.append((one["contest"], row, 0, None, None, one["prediction"], one["rating"], None, one["time"]))
            players.append(ids.index(one["player"]))
    found = [[] for _ in history.players]
    for player, row in zip(players, rows, strict=True):
        found[player].append(row)
    return found


@pytest.mark.parametrize("name", HISTORIES)
@MOSTLY_SINGLE
def test_the_table_is_that_of_a_loop_over_the_events(name, x64):
    history = HISTORIES[name](np.random.default_rng(5))
    table, period = history.rows, getattr(history, "period", None)
    final = np.asarray(history.system.summary(history.system.params, history.state).mean)
    for player, wanted in enumerate(seats(history)):
        rows = slice(*table.start[player : player + 2])
        event, row, side, opponent, score, expected, before, left, time = zip(*wanted, strict=True)
        for found, told in ((table.event, event), (table.row, row), (table.side, side), (table.time, time)):
            assert found[rows].tolist() == [*told]
        assert (table.player[rows] == player).all()
        np.testing.assert_allclose(table.column("prediction")[rows], expected)
        if opponent[0] is not None:
            assert table.opponent[rows].tolist() == [*opponent] and table.column("score")[rows].tolist() == [*score]
        if before[0] is None:
            np.testing.assert_array_equal(table.after.mean[rows], left)
            continue
        np.testing.assert_array_equal(table.before.mean[rows], before)
        group = event if period is None else [x // period for x in time]
        after = [final[player]]
        for i in reversed(range(len(event) - 1)):
            is_known = group[i] != group[i + 1] and left[i] is not None
            after.insert(0, left[i] if is_known else before[i + 1])
        np.testing.assert_array_equal(table.after.mean[rows], after)
        alone = history.rows.of_player(player)
        for found, whole in ((alone.row, table.row), (alone.side, table.side), (alone.end, table.end)):
            np.testing.assert_array_equal(found, whole[rows])
        np.testing.assert_array_equal(alone.after.mean, table.after.mean[rows])


def test_a_column_of_both_players_is_turned_round(x64):
    rated = HISTORIES["outcomes"](np.random.default_rng(6))
    table = rated.rows
    for player, row, side, win, draw, own, other in zip(
        table.player, table.row, table.side, table.column("win"), table.column("draw"), table.column("points"),
        table.column("points", of_opponent=True), strict=True,
    ):  # fmt: skip
        match = rated.predictions.slice(row, 1).to_pylist()[0]
        assert match["ab"[side]] == rated.players[player]
        assert (win, draw) == (match[("win", "loss")[side]], match["draw"])
        assert (own, other) == tuple(match[f"points_{x}"] for x in ("ab", "ba")[side])


def test_one_row_for_each_event_has_the_rating_that_its_last_seat_left():
    rated = HISTORIES["contests"](np.random.default_rng(7))
    table = rated.rows
    once = table.once_per_event()
    assert len(once.row) < len(table.row) and np.diff(once.start).tolist() == rated.games.tolist()
    for player in range(7):
        rows, first = slice(*table.start[player : player + 2]), slice(*once.start[player : player + 2])
        last = [np.flatnonzero(table.event[rows] == event)[-1] for event in once.event[first]]
        np.testing.assert_array_equal(once.after.mean[first], table.after.mean[rows][last])


@pytest.mark.parametrize("name", HISTORIES)
@MOSTLY_SINGLE
def test_ratings_of_any_date_are_those_that_a_loop_finds(name, x64):
    """Of each player the rating before their first later event; of who has none, that of the state at the time."""
    history = HISTORIES[name](np.random.default_rng(5))
    rows = history.rows.once_per_event()
    for time in (-3.0, 0.0, 6.5, 12.0, 26.0, 39.0):
        found = jr.ratings(history, time=time)
        if history.hindsight is not None:
            np.testing.assert_array_equal(found.mean, history.hindsight.at(time).mean)
            one_by_one = [jr.history.rating_at(history, player, time).mean for player in history.players]
            np.testing.assert_array_equal(one_by_one, found.mean)
            continue
        later = jr.ratings(history)
        for i, player in enumerate(history.players):
            mine = rows.of_player(i)
            after = np.flatnonzero(mine.end > time)
            at = jr.history.rating_at(history, player, time)
            assert [None if x is None else float(x[i]) for x in found] == [*at]
            begun = [k for k, x in enumerate((10.0, 25.0)) if name == "seasons" and time < x]
            if len(after) and not begun:
                assert at.mean == mine.before.mean[after[0]]
            elif not len(after) and name in ("matches", "outcomes", "contests"):
                assert at.mean == pytest.approx(float(later.mean[i]), rel=1e-6)


@pytest.mark.parametrize("name", HISTORIES)
@MOSTLY_SINGLE
def test_careers_lists_and_peaks_are_those_of_loops_over_the_rows(name, x64):
    history = HISTORIES[name](np.random.default_rng(5))
    table, times = history.rows.once_per_event(), np.array([12.5, 26.0, 37.0])
    rows = [[] for _ in history.players]
    for player, time, end, rating in zip(table.player, table.time, table.end, table.after.mean, strict=True):
        rows[player].append((end, time, float(rating)))
    for i, player in enumerate(history.players):
        assert jr.career(history, player)["time"].tolist() == history.rows.time[history.rows.player == i].tolist()
    for time, ranks in zip(times, ranks_over_time(history, times, active="all", min_games=1), strict=True):
        past = [[x for x in mine if x[0] <= time] for mine in rows]
        rating = jr.ratings(history, time=time).mean
        order = sorted((i for i, x in enumerate(past) if x), key=lambda i: -rating[i])
        listed = jr.leaderboard(history, as_of=time, active="all", min_games=1)
        assert listed.player.tolist() == history.players[order].tolist()
        assert listed.games.tolist() == [len(past[i]) for i in order]
        assert listed.last.tolist() == [past[i][-1][1] for i in order]
        np.testing.assert_allclose(listed.rating, [rating[i] for i in order], rtol=1e-6)
        assert [ranks[i] for i in order] == [*range(1, len(order) + 1)]
    found = jr.history.peak_ratings(history, min_games=3)
    if found.above_median is None:  # else it is the lead over the median of the active
        peaks = {i: max(mine[2:], key=lambda x: x[2]) for i, mine in enumerate(rows) if len(mine) > 2}
        order = sorted(peaks, key=lambda i: -peaks[i][2])
        assert found.player.tolist() == history.players[order].tolist()
        assert found.time.tolist() == [peaks[i][1] for i in order]
