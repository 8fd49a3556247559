"""What takes a rated history or a dataset takes its parts, and both print as a few lines."""

import datetime
import fnmatch
import tomllib
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.events import slice_events
from jaxrate.forecasts.knockout_forecasts import matchup_matrix
from jaxrate.history.history import find_player_id
from jaxrate.history.leaderboards import ranks_over_time
from tests.conftest import MOSTLY_SINGLE, refused

NAMES = np.array([f"player {i:02}" for i in range(41)], object)


@pytest.fixture
def data(league):
    """Of 40 players, and one who has not played."""
    return jr.data.Dataset(league, NAMES, np.arange(600))


@pytest.fixture
def rated(data):
    return jr.rate(jr.glicko(), data)


def same(one, two):
    jax.tree.map(np.testing.assert_array_equal, one, two)


def test_records_take_a_rated_history(rated):
    system, state = rated.system, rated.state
    same(jr.ratings(rated, time=2000.0), jr.ratings(system, state, time=2000.0))
    best = np.argsort(-np.asarray(state.rating), kind="stable")
    same(jr.forecasts.predict_pairs(rated), jr.forecasts.predict_pairs(system, state, best, time=rated.last))
    named = matchup_matrix(rated, players=["player 03", "player 01", 7])
    same(named, matchup_matrix(system, state, [3, 1, 7]))
    assert matchup_matrix(rated).shape == (41, 41)
    for function in (jr.ratings, jr.forecasts.predict_pairs, matchup_matrix):
        with refused("a rated history has a state of its own"):
            function(rated, state)


def test_replays_take_a_dataset(data, no_errors):
    system, plain = jr.glicko(), data.matches
    result = jr.run(system, data)
    same(result, jr.run(system, plain, num_players=41))
    same(jr.history.rating_history(system, data), jr.history.rating_history(system, plain, num_players=41))
    same(jr.extend.schedule_by_level(data), jr.extend.schedule_by_level(plain))
    half = jr.run(system, data, state=result.state)
    same(half, jr.run(system, plain, state=result.state))
    assert jr.predict(system, jr.run(system, plain).state, data._replace(players=NAMES)).shape == (600,)
    few = jr.data.Dataset(plain, NAMES[:40], np.arange(600))
    assert len(jr.run(system, few, state=result.state).state.rating) == 41
    assert len(jr.run(system, data, num_players=50).state.rating) == 50
    assert jr.fit(jr.elo(), data, free=("k",), steps=2).loss == jr.fit(jr.elo(), plain, free=("k",), steps=2).loss


def test_players_are_found_by_name_or_id():
    numbers = np.array([30, 10])
    assert find_player_id(NAMES, "player 03") == find_player_id(NAMES, 3) == 3
    assert find_player_id(numbers, "10") == find_player_id(numbers, 10) == find_player_id(None, 1, 2) == 1
    for names, player, message in (
        (NAMES, 41, "no player 41: ids run from 0 to 40"),
        (np.array([30, 10]), 0, "no player 0"),
        (np.array(["x", "x"]), "x", "2 players have the name 'x'; give an id"),
    ):
        with refused(message):
            find_player_id(names, player)


ZONE = datetime.timezone(datetime.timedelta(hours=2))


@pytest.fixture
def dated(data):
    return jr.rate(jr.glicko(), data._replace(clock="dates"))


@pytest.mark.parametrize(
    "time",
    [
        "2030-02-03",
        datetime.date(2030, 2, 3),
        datetime.datetime(2030, 2, 3),
        datetime.datetime(2030, 2, 3, 2, tzinfo=ZONE),
        "2030-02-03T02:00+02:00",
        np.datetime64("2030-02-03"),
        np.datetime64("2030-02-03T00:00:00.000000000"),
        np.float32(21948.0),
    ],
)
def test_dates_are_times(dated, time):
    day = 21948.0
    same(jr.ratings(dated, time=time), jr.ratings(dated, time=day))
    same(jr.ratings(dated.system, dated.state, time=time), jr.ratings(dated, time=day))
    assert str(jr.leaderboard(dated, as_of=time)) == str(jr.leaderboard(dated, as_of=day))
    same(jr.history.rating_table(dated, time)["deviation"], jr.history.rating_table(dated, day)["deviation"])
    assert jr.history.rating_at(dated, 7, time) == jr.history.rating_at(dated, 7, day)
    player, score = [[0, 1]], [1.0]
    same(jr.matches(player, score, [time]).time, jr.matches(player, score, [day]).time)
    one = {"contest": [0, 0], "player": [0, 1], "rank": [0, 1]}
    same(jr.rounds(**one, time=[time] * 2).events.time, [day])


def test_times_of_pandas_are_times(dated):
    pandas = pytest.importorskip("pandas")
    same(jr.ratings(dated, time=pandas.Timestamp("2030-02-03")), jr.ratings(dated, time=21948.0))
    times = pandas.Series(pandas.to_datetime(["2030-02-03 00:00", "2030-02-03 12:00"]))
    for column in (times, times.dt.tz_localize("UTC"), list(times)):
        assert jr.matches([[0, 1], [0, 1]], [1.0, 1.0], column).time.tolist() == [21948.0, 21948.5]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ("soon", "time must be a number or a date, as 2026-05-31 in text, got 'soon'"),
        ("20301303", "time must be a number or a date, as 2026-05-31 in text, got '20301303'"),
        (np.nan, "time must be finite, got nan"),
        (np.datetime64("NaT", "D"), "time must be finite, got NaT"),
        (1e15, "time 1000000000000000.0 is too far from 0"),
    ],
)
def test_what_is_no_moment_is_refused(dated, time, message):
    with refused(message):
        jr.history.rating_at(dated, 7, time)
    with refused(message):
        jr.ratings(dated.system, dated.state, time=time)


def test_a_date_is_no_time_of_a_history_in_numbers(rated):
    for call in (jr.ratings, jr.history.rating_table, matchup_matrix, jr.forecasts.predict_pairs):
        with refused("time 2030-02-03 is a date, but the history counts time in numbers"):
            call(rated, time="2030-02-03")
    with refused("time 2030-02-03 is a date, but the history has no times"):
        jr.ratings(rated._replace(clock=None), time="2030-02-03")
    with refused("the history has no times; name the column of time"):
        jr.history.rating_at(rated._replace(clock=None), 7, 10.0)


@pytest.mark.parametrize("system", [jr.glicko(), jr.elo()], ids=["glicko", "elo"])
def test_a_time_before_the_last_event_is_refused(data, system):
    """The later rating came back."""
    rated = jr.rate(system, data._replace(clock="dates"))
    last = data.matches.time.max()
    said = "time 1972-09-26 is before the last event of the history, at 1972-09-27; what is"
    for call in (jr.history.rating_table, matchup_matrix, jr.forecasts.predict_pairs):
        with pytest.raises(ValueError, match=said):
            call(rated, time="1972-09-26")
        call(rated, time=last)
    if system.name == "glicko":
        with refused("is before the last event of"):
            jr.ratings(system, rated.state, time=last - 1.0)
        with refused("is before the last event of"):
            jr.ratings(rated, time=last - 1.0, params=system.params)


def test_a_time_within_the_last_rating_period_is_before_its_end(data):
    for system in (jr.glicko(period=30), jr.glicko2(period=30)):
        rated = jr.rate(system, data, period=30.0)
        end = 30.0 * (np.floor(rated.last / 30.0) + 1.0)
        with refused(f"at {end:g}; what is asked is known after the last event"):
            jr.history.rating_table(rated, time=rated.last)
        late = np.unique(data.matches.player[data.matches.time >= end - 30.0])
        now, then = jr.ratings(rated), jr.ratings(rated, time=end)
        np.testing.assert_array_equal(now.deviation[late], then.deviation[late])
        idle = np.setdiff1d(np.unique(data.matches.player), late)
        assert (now.deviation[idle] < then.deviation[idle]).all() and len(idle)


def test_rate_says_that_sides_are_worth_nothing_to_a_system(caplog):
    """`jr.glicko()` computes what it says, but the file says who was at home."""
    table = {"a": ["Ada", "Bo"], "b": ["Bo", "Ada"], "score": [1.0, 0.5]}
    sided, plain = jr.read(table, side="a"), jr.read(table)
    caplog.set_level("WARNING", "jaxrate")
    first = jr.rate(jr.elo(k=31.5), sided)
    assert len(caplog.messages) == 1 and "side_advantage=0, though the data say who has the side" in caplog.text
    np.testing.assert_array_equal(first.state.rating, jr.rate(jr.elo(k=31.5), plain).state.rating)
    jr.rate(jr.elo(k=31.5), sided)  # once is enough
    jr.rate(jr.elo(k=31.5, side_advantage=20), sided)
    jr.rate(jr.elo(k=30.5), plain)
    assert len(caplog.messages) == 1
    for _ in range(2):
        jr.rate(jr.elo(k=31.5, side_advantage=20), plain)
    assert len(caplog.messages) == 2 and "side_advantage=20, though the data do not say who" in caplog.messages[1]


def test_rating_periods_have_one_length(data):
    """A default period is that of `rate`, in aging too; another one is refused wherever periods are rated."""
    data = data._replace(clock="numbers")
    for name in ("glicko", "glicko2", "skills"):
        make = getattr(jr, name)
        default, same = (jr.rate(system, data, period=30.0) for system in (make(), make(period=30)))
        assert default.system == same.system and default.system.params.period == 30.0
        np.testing.assert_array_equal(jr.ratings(default, time=1e5).deviation, jr.ratings(same, time=1e5).deviation)
    months = jr.periods(data.matches, 30.0)
    for call in (
        lambda: jr.rate(jr.glicko2(period=14), data, period=30.0),
        lambda: jr.run(jr.glicko2(), months),
        lambda: jr.run(jr.glicko2(), slice_events(months, 1, 3)),
        lambda: jr.fit(jr.glicko2(), months),
        lambda: jr.compare(data, {"mine": jr.glicko2(period=14)}, lengths=[30.0]),
    ):
        with refused("the rating periods are of 30, and this glicko2 has period="):
            call()
    system = jr.glicko2()
    jr.run(system, months, params=system.params._replace(period=30.0))
    assert jr.compare(data, {"mine": system}, lengths=[30.0], last=0.2).results[0].system.params.period == 30.0


def test_they_print_as_a_few_lines(data, rated):
    first, second = np.argsort(-np.asarray(rated.state.rating))[:2]
    *lines, leaders = repr(rated).splitlines()
    system, last = f"  system   {rated.system!r}", f"  last     {rated.last:.15g}"
    assert lines == ["History: 600 matches of 41 players", system, last]
    assert leaders.startswith(f"  leaders  {NAMES[first]} {rated.state.rating[first]:.0f}, {NAMES[second]} ")
    seasons = jr.parts.seasons(tuple(100.0 * i for i in range(9)), keep=0.7)  # had a line of a hundred numbers
    assert "seasons((0.0, ..., 800.0), keep=0.7)" in repr(jr.rate(jr.skills(seasons), data))
    contests = jr.data.from_teams([[["Ada"], ["Bo"]], [["Bo"], ["Cy"], ["Ada"]]])
    assert repr(jr.rate(jr.weng_lin(), contests)).startswith("History: 2 contests, 5 participations of 3 players\n")
    assert repr(jax.eval_shape(lambda: jr.run(jr.elo(), data))).startswith("Run\n")


@pytest.mark.parametrize("count", [0, 2])
def test_a_history_of_no_events_is_refused_and_a_run_is_not(count):
    nothing = jr.data.Dataset(jr.matches(np.zeros((0, 2), int), [], []), np.arange(count), np.zeros(0, int))
    for call in (lambda: jr.rate(jr.glicko(), nothing), lambda: jr.history.rating_history(jr.elo(), nothing)):
        with refused("there are no matches: a history needs one"):
            call()
    assert len(jr.run(jr.glicko(), nothing).state.rating) == count
    with refused("run: events must be a Matches"):
        jr.history.performance_ratings(jr.elo_mmr(), "contests.csv")


MATCHES = {"a": ["Ann", "Bob", "Cy"], "b": ["Bob", "Cy", "Ann"], "score": [1, 0.5, 0]}
CONTESTS = {"contest": ["Spa"] * 3 + ["Monza"] * 2, "player": ["Ann", "Bob", "Cy", "Bob", "Dan"]}
CONTESTS["rank"] = [1, 2, 3, 1, 2]


DAYS = [datetime.date(2024, 1, day) for day in (1, 9, 9)]
RECORDED = {"date": DAYS, "w": [1, 2, 3], "on": ["clay", "grass", "clay"], "margin": [3, 2, 1]}
TEAMS = [[["Ada", "Bo"], ["Cy", "Di"]], [["Ada", "Di"], ["Bo", "Eve"]]]
ROLES = {"side": "a", "weight": "w", "category": "on", "columns": ["margin", "w"]}
BY_PERIOD = jr.read(MATCHES | {"t": [1, 2, 20]})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (jr.read(MATCHES | RECORDED, **ROLES), "3 matches | players 3: Ann, Bob, Cy | known side, weight | columns "
         "margin, w | time 2024-01-01 to 2024-01-09 | categories 2: clay, grass"),
        (jr.read(CONTESTS | {"time": [3, 3, 3, 2.5, 2.5]}),
         "2 contests | players 4: Ann, Bob, Cy, Dan | size 2 to 3 players | time 2.5 to 3"),
        (jr.data.from_teams(TEAMS), "2 contests | players 5: Ada, Bo, Cy, Di, ... | size 4 players in 2 teams"),
        (BY_PERIOD._replace(events=jr.periods(BY_PERIOD.matches, 10.0)),
         "2 periods | players 3: Ann, Bob, Cy | size 2 to 3 players | time 0 to 20"),
    ],
)  # fmt: skip
def test_a_dataset_says_what_it_holds(data, said):
    lines = repr(data).removeprefix("Dataset of ").splitlines()
    assert " | ".join(" ".join(line.split()) for line in lines) == said


ROOT = Path(__file__).parent.parent


def test_nfl_as_a_table():
    """What is read of it is the dataset."""
    data, table = jr.data.datasets.nfl(), jr.data.datasets.nfl_columns()
    roles = {"a": "home", "b": "away", "side": "a", "neutral": "neutral", "season": "season"}
    read = jr.read(table, **roles, margin=data.margin, columns=["season", "playoff"])
    assert read.seasons == data.seasons and len(data.seasons) == 101 and data.margin == read.margin
    assert read.players.tolist() == data.players.tolist() and read.clock == data.clock
    jax.tree.map(np.testing.assert_array_equal, read.matches, data.matches)
    del table["score"]  # which the points say as well
    np.testing.assert_array_equal(jr.read(table, **roles, margin=data.margin).matches.score, data.matches.score)


def test_the_last_super_bowl_and_the_forecasts_are_of_these_matches():
    data, forecast = jr.data.datasets.nfl(), jr.data.datasets.nfl_forecast()
    assert data.players[data.matches.player[-1]].tolist() == ["Tampa Bay Buccaneers", "Kansas City Chiefs"]
    score = data.matches.score
    assert score[-1] == 1.0 and data.matches.context.side[-1] == 0.0 and forecast[-1] == 0.4458
    last = {name: x[-1] for name, x in data.matches.context.columns.items()}
    assert last == {"season": 2020.0, "playoff": 1.0, "home_points": 31.0, "away_points": 9.0}
    loss, moved = (-np.mean(score * np.log(x) + (1 - score) * np.log(1 - x)) for x in (forecast, np.roll(forecast, 1)))
    assert abs(loss - 0.61401) < 1e-5 and moved > 0.66


def test_every_file_is_installed():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["jaxrate"]
    files = [path.relative_to(ROOT / "jaxrate") for path in (ROOT / "jaxrate").rglob("*") if path.is_file()]
    others = [str(path) for path in files if path.suffix not in (".py", ".pyc")]
    assert "data/datasets/nfl.csv.gz" in others
    for file in others:
        assert any(file.count("/") == p.count("/") and fnmatch.fnmatch(file, p) for p in patterns), file


PARTICIPATIONS_NAMES = [f"player {i}" for i in range(7)]


def matches(random, n=60):
    pairs = np.array([random.choice(7, 2, replace=False) for _ in range(n)])
    a, b = np.array(PARTICIPATIONS_NAMES, object)[pairs].T
    points = random.integers(0, 9, (n, 2)).astype(float)
    score = 0.5 + 0.5 * np.sign(points[:, 0] - points[:, 1])
    table = {"a": a, "b": b, "score": score, "t": np.sort(random.integers(0, 40, n))}
    return jr.read(table | {"x": points[:, 0], "y": points[:, 1]}, time="t", margin=("x", "y"))


def contests(random, n=15):
    """Teams of two; some play in several teams of a contest."""
    teams = [[random.choice(PARTICIPATIONS_NAMES, 2, replace=False).tolist() for _ in range(3)] for _ in range(n)]
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
                ratings = match[f"rating_{own}"], match.get(f"rating_after_{own}")
                rows.append((row, row, side, ids.index(match[other]), score, expected, *ratings, match["time"]))
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
