"""What takes a rated history or a dataset takes its parts, and both print as a few lines."""

import datetime

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.forecasts.series_and_knockout_brackets import matchup_matrix
from jaxrate.history.history import find_player_id
from tests.conftest import refused

pytest.importorskip("pyarrow")
NAMES = np.array([f"player {i:02}" for i in range(41)], object)


@pytest.fixture
def data(league):
    """Of 40 players, and one who has not played."""
    return jr.data.Dataset(league, NAMES, np.arange(600))


@pytest.fixture
def rated(data):
    return jr.rate(jr.glicko(), data)


def same(one, two):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(x, y)


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


def test_a_leaderboard_among_some(rated):
    few = ["player 05", "player 30", "player 11", 2]
    board, whole = jr.leaderboard(rated, among=few), jr.leaderboard(rated, top=41)
    there = np.isin(whole.player, ["player 05", "player 30", "player 11", "player 02"])
    for name in ("player", "rating", "deviation"):
        same(board[name], whole[name][there])
    assert board.rank.tolist() == [1, 2, 3, 4] and len(jr.leaderboard(rated, among=few, top=2).player) == 2
    with refused("no player 'player 55'; did you mean"):
        jr.leaderboard(rated, among=["player 55"])


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


def test_metrics_take_a_dataset():
    rounds = jr.rounds([0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 0, 1])
    data, rating = jr.data.Dataset(rounds, np.array(["x", "y"], object), np.arange(4)), [2.0, 1.0, 1.0, 2.0]
    for metric in (jr.metrics.pairwise_accuracy, jr.metrics.rank_deviation, jr.metrics.ranking_metrics):
        assert metric(data, rating) == pytest.approx(metric(rounds, rating), nan_ok=True)
    same(jr.metrics.contests_as_matches(data), jr.metrics.contests_as_matches(rounds))
    same(jr.metrics.experience_mask(data, 1), jr.metrics.experience_mask(rounds, 1))


def test_players_are_found_by_name_or_id():
    assert find_player_id(NAMES, "player 03") == find_player_id(NAMES, 3) == 3
    assert (
        find_player_id(np.array([30, 10]), "10")
        == find_player_id(np.array([30, 10]), 10)
        == find_player_id(None, 1, 2)
        == 1
    )
    for names, player, message in (
        (NAMES, 41, "no player 41: ids run from 0 to 40"),
        (np.array([30, 10]), 0, "no player 0"),
        (np.array(["x", "x"]), "x", "2 players have the name 'x'; give an id"),
    ):
        with refused(message):
            find_player_id(names, player)


# Moments

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
        (None, "date must be a number or a date, got None"),
        ([1.0, 2.0], "time must be a number or a date"),
        (np.nan, "time must be finite, got nan"),
        (np.datetime64("NaT", "D"), "time must be finite, got NaT"),
        (1e15, "time 1000000000000000.0 is too far from 0"),
    ],
)
def test_what_is_no_moment_is_refused(dated, time, message):
    with refused(message):
        jr.history.rating_at(dated, 7, time)
    if time is not None:
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
    one, other = (rated.predictions[side][-1].as_py() for side in "ab")
    said = f"time 1972-09-26 is before the last event of '({one}|{other})', which was at 1972-09-27; what is"
    for call in (jr.history.rating_table, matchup_matrix, jr.forecasts.predict_pairs):
        with pytest.raises(ValueError, match=said):
            call(rated, time="1972-09-26")
        call(rated, time=last)
    if system.name == "glicko":
        with refused("is before the last event of player "):
            jr.ratings(system, rated.state, time=last - 1.0)
        with refused("is before the last event of"):
            jr.ratings(rated, time=last - 1.0, params=system.params)


def test_a_time_within_the_last_rating_period_is_before_its_end(data):
    for system in (jr.glicko(period=30), jr.glicko2(period=30)):
        rated = jr.rate(system, data, period=30.0)
        end = 30.0 * (np.floor(rated.last / 30.0) + 1.0)
        with refused(f"which ended at {end:g}; what is asked is known after the last event"):
            jr.history.rating_table(rated, time=rated.last)
        late = np.unique(data.matches.player[data.matches.time >= end - 30.0])
        now, then = jr.ratings(rated), jr.ratings(rated, time=end)
        np.testing.assert_array_equal(now.deviation[late], then.deviation[late])
        idle = np.setdiff1d(np.unique(data.matches.player), late)
        assert (now.deviation[idle] < then.deviation[idle]).all() and len(idle)


@pytest.mark.parametrize("form", ["matches", "periods", "contests"])
def test_rating_at_is_the_rating_after_what_came_up_to_then(data, form):
    system, period = jr.glicko(period=30), 30.0 if form == "periods" else None
    data = data._replace(clock="dates")
    if form == "contests":
        flat, size = data.matches, np.repeat(np.arange(600), 2)
        rank = np.stack([1 - flat.score, flat.score], axis=1).ravel()
        events = jr.rounds(size, flat.player.ravel(), rank, time=flat.time[size])
        data, system = data._replace(events=events, rows=np.arange(1200)), jr.weng_lin(drift=1e-3)
    rated = jr.rate(system, data, period=period)
    time = data.matches.time if form != "contests" else data.rounds.events.time
    for number in (150, 400):
        now = time[number - 1]
        ended = number if period is None else int(np.searchsorted(time, np.floor(now / 30.0) * 30.0))
        rows = data.rows[: ended if form != "contests" else 2 * ended]
        some = data._replace(events=slice_events(data.events, 0, ended), rows=rows)
        wanted = jr.ratings(jr.rate(system, some, period=period))
        for player in (3, 17, 40):
            got = jr.history.rating_at(rated, player, float(now))
            np.testing.assert_allclose(got.mean, wanted.mean[player], rtol=2e-6)
            assert got.deviation >= wanted.deviation[player] * (1 - 1e-5)
    fresh = system.summary(system.params, system.init(system.params, 1))
    for player, day in (("player 03", "1950-01-01"), ("player 40", "2050-01-01")):  # before, and never
        np.testing.assert_allclose(
            jr.history.rating_at(rated, player, day), [fresh.mean[0], fresh.deviation[0]], rtol=1e-6
        )
    late = jr.ratings(rated, time=1e4)
    assert jr.history.rating_at(rated, 3, 1e4) == (float(late.mean[3]), float(late.deviation[3]))


def test_rate_and_compare_say_what_they_want(data):
    """It was an AttributeError."""
    system, matches = jr.glicko(), data.matches
    for name, call in (("rate", lambda data: jr.rate(system, data)), ("compare", jr.compare)):
        with refused(f"{name} takes a Dataset, or a table or path as `read` does, and not Matches; `run` and"):
            call(matches)
        with refused("games.csv: no such file"):
            call("games.csv")
    for call in (
        lambda: jr.rate(data, system),
        lambda: jr.run(matches, system),
        lambda: jr.history.rating_history("glicko", matches),
        lambda: jr.rate("glicko", data),
    ):
        with refused("system must be a RatingSystem (as of jr.glicko()), got "):
            call()


def test_rate_says_that_sides_are_worth_nothing_to_a_system(caplog):
    """`jr.glicko()` computes what it says, but the file says who was at home."""
    table = {"a": ["Ada", "Bo"], "b": ["Bo", "Ada"], "score": [1.0, 0.5]}
    sided, plain = jr.read(table, side="a"), jr.read(table)
    caplog.set_level("WARNING", "jaxrate")
    first = jr.rate(jr.elo(k=31.5), sided)
    assert caplog.messages == [
        "elo is rated with side_advantage=0, though the data say who has the side; give it points or fit it"
    ]
    np.testing.assert_array_equal(first.state.rating, jr.rate(jr.elo(k=31.5), plain).state.rating)
    jr.rate(jr.elo(k=31.5), sided)  # once is enough
    jr.rate(jr.elo(k=31.5, side_advantage=20), sided)
    jr.rate(jr.elo(k=30.5), plain)
    assert len(caplog.messages) == 1
    for _ in range(2):
        jr.rate(jr.elo(k=31.5, side_advantage=20), plain)
    assert caplog.messages[1:] == [
        "elo is rated with side_advantage=20, though the data do not say who has the side; name its column, "
        "as side='home'"
    ]


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
    slope = rated.system.params.calibration_slope
    assert repr(rated).splitlines() == [
        "History: 600 matches of 41 players",
        f"  system   {jr.forecasts.calibrate(jr.glicko(), calibration_slope=slope)!r}",
        f"  last     {rated.last:.15g}",
        repr(rated).splitlines()[3],
    ]
    leaders = repr(rated).splitlines()[3]
    assert leaders.startswith(f"  leaders  {NAMES[first]} {rated.state.rating[first]:.1f}, {NAMES[second]} ")
    assert repr(jr.run(jr.elo(), data)) == "Run\n  state       rating [41]\n  prediction  [600]"
    lines = repr(jr.history.rating_history(jr.glicko(), data)).splitlines()
    assert lines[-1] == "  before      mean [600, 2], deviation [600, 2]"
    contests = jr.data.from_teams([[["Ada"], ["Bo"]], [["Bo"], ["Cy"], ["Ada"]]])
    text = repr(jr.rate(jr.weng_lin(), contests))
    assert text.startswith("History: 2 contests, 5 participations of 3 players\n") and "last" not in text
    assert "in periods of 50" in repr(jr.rate(jr.elo(), data, period=50.0))
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
