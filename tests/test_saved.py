"""Histories with the ratings on the way, carried on, saved and loaded."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data import simulate
from jaxrate.events import slice_events
from tests.conftest import mark_full
from tests.test_rounds import SYSTEM as CONTESTS

pa = pytest.importorskip("pyarrow")

ATP = Path(__file__).parents[2] / "shared" / "data" / "atp.parquet"
SYSTEMS = {
    "elo": jr.elo(),
    "elo_fide": jr.elo(k=20, k_new=40, new_games=30, side_advantage=30),
    "glicko": jr.glicko(),
    "glicko2": jr.glicko2(volatility_max=0.1),
}


def league():
    """Named players, of whom some join late, as columns of a table; days 0 to 300."""
    player, score, time, _ = simulate.league(30, 900, seed=8, draws=0.2, days=300.0).matches
    player = np.where(np.arange(900)[:, None] < 400, player % 20, player)
    player[:, 1] += player[:, 0] == player[:, 1]
    names = np.array([f"player {i:02}" for i in range(31)])
    a, b = names[player].T
    return {"a": a, "b": b, "score": score, "time": np.round(time, 3), "side": np.where(np.arange(900) % 3, 1.0, 0.0)}


def rows(table, low, high):
    return {name: values[low:high] for name, values in table.items()}


def equal(one, two):
    for x, y in zip(jax.tree.leaves(one.state), jax.tree.leaves(two.state), strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(one.players, two.players)
    np.testing.assert_array_equal(one.games, two.games)
    assert one.last == two.last and one.period == two.period and one.clock == two.clock
    for name in ("a", "b", "score", "prediction", "rating_a", "rating_b", "time"):
        assert one.predictions[name].to_pylist() == two.predictions[name].to_pylist(), name


# Histories


def check_history(system, events, starts, monkeypatch):
    """It is the run's, to the bit, and each event found the ratings that the events before it left."""
    flat = events if isinstance(events, jr.Matches) else events.events
    players, numbers = int(flat.player.max()) + 1, (1, 2 * len(flat.time) // 3)
    states = [jr.run(system, slice_events(events, 0, number), num_players=players).state for number in numbers]
    monkeypatch.delenv("JAXRATE_COMPILE")  # the rest as users compile it
    result, plain = jr.history.rating_history(system, events), jr.run(system, events)
    for x, y in zip(jax.tree.leaves((result.state, result.prediction)), jax.tree.leaves(tuple(plain)), strict=True):
        np.testing.assert_array_equal(x, y)
    for number, state in zip(numbers, states, strict=True):
        now = jr.ratings(system, state, time=float(flat.time[number]))
        one = slice_events(events, number, number + 1)
        low = int(starts[number])
        if isinstance(events, jr.Matches):
            who = one.player
        else:
            who = one.events.player if one.pair_start is None else one.events.player[one.events.pair]
        for got, want in zip(result.before, now, strict=True):
            if want is not None:
                np.testing.assert_allclose(np.asarray(got)[low : low + len(who)], np.asarray(want)[who], rtol=2e-6)


@pytest.mark.parametrize("form", mark_full(["matches", "periods"], "periods"))
@pytest.mark.parametrize("name", mark_full(SYSTEMS, "glicko"))
def test_history_is_the_run_and_the_ratings_that_it_found(name, form, monkeypatch):
    matches = jr.read(league(), side="side").matches
    weeks = jr.periods(matches, 30.0)._replace(length=None)  # of systems with periods of their own
    events, starts = (matches, np.arange(900)) if form == "matches" else (weeks, weeks.pair_start)
    check_history(SYSTEMS[name], events, starts, monkeypatch)


def test_history_of_rounds(monkeypatch):
    random = np.random.default_rng(0)
    contest = np.repeat(np.arange(40), 6)
    player = np.concatenate([random.choice(20, 6, replace=False) for _ in range(40)])
    rounds = jr.rounds(contest, player, random.permuted(player), time=contest * 2.0)
    check_history(CONTESTS, rounds, rounds.player_start, monkeypatch)


# Carrying on


@pytest.mark.parametrize(
    ("length", "x64"), [(None, False), pytest.param(30.0, True, marks=pytest.mark.full)], indirect=["x64"]
)
@pytest.mark.parametrize("name", mark_full(SYSTEMS, "elo_fide", "glicko"))
def test_two_halves_are_one_run(tmp_path, x64, name, length, default_policy):
    """Through a folder, with newcomers in the second half, to the last bit."""
    system, table = SYSTEMS[name], league()
    middle = int(np.searchsorted(table["time"], 120.0))
    whole = jr.rate(system, jr.read(table, side="side"), period=length)
    first = jr.read(rows(table, 0, middle), side="side")
    jr.save(tmp_path / "run", jr.rate(system, first, period=length))
    half = jr.load(tmp_path / "run")
    second = jr.read(rows(table, middle, 900), side="side", history=half)
    assert len(half.players) < len(second.players) == len(whole.players)
    equal(jr.rate(system, second, period=length, onto=half), whole)


@pytest.mark.skipif(not ATP.exists(), reason="the tennis history is not at hand")
@pytest.mark.filterwarnings("ignore:.* matches repeat an earlier one:UserWarning")
@pytest.mark.parametrize("name", mark_full(["elo", "glicko2"]))
def test_two_halves_of_the_tennis_history_are_one_run(tmp_path, name, default_policy):
    source = pytest.importorskip("pyarrow.parquet").read_table(ATP)
    source = source.filter(pa.compute.invert(source["walkover"]))
    half = len(source) // 2
    system = jr.extend.SYSTEMS[name]()
    whole = jr.run(system, jr.read(source).matches)
    jr.save(tmp_path, jr.rate(system, jr.read(source.slice(0, half)), calibrate=False))
    onto = jr.load(tmp_path)
    both = jr.rate(system, jr.read(source.slice(half), history=onto), onto=onto, calibrate=False)
    for x, y in zip(jax.tree.leaves(both.state), jax.tree.leaves(whole.state), strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(both.predictions["prediction"].to_numpy(), whole.prediction)


def test_a_saved_run_comes_back_as_it_was(tmp_path):
    rated = jr.rate(jr.glicko2(tau=1 / 3), jr.read(league()))._replace(options={"side": "home"})
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    jr.save(tmp_path / "run", rated)
    jr.save(str(tmp_path / "run"), rated)
    back = jr.load(str(tmp_path / "run"))
    equal(back, rated)
    assert back.system == rated.system and back.options == {"side": "home"}
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files == {"notes.txt", "run.json", "ratings.parquet", "predictions.parquet", "state.npz"}
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["params"]["tau"] == 1 / 3 and about["params"]["deviation_min"] is None
    table = pa.parquet.read_table(tmp_path / "run" / "ratings.parquet").to_pydict()
    assert list(table) == ["id", "player", "rating", "deviation", "games", "volatility"]
    assert table["rating"] == sorted(table["rating"], reverse=True)
    np.testing.assert_array_equal(np.asarray(rated.state.volatility)[table["id"]], np.float32(table["volatility"]))


def test_dates_stay_dates(tmp_path):
    days = np.datetime64("2024-02-28") + np.arange(3)
    table = {"a": ["x", "y", "x"], "b": ["y", "z", "z"], "score": [1, 0, 0.5], "date": days}
    rated = jr.rate(jr.glicko(), jr.read(table))
    assert rated.clock == "dates" and rated.last == days[-1].astype(int)
    assert rated.predictions["time"].to_pylist() == days.tolist()
    hours = days + np.timedelta64(30, "m")
    assert jr.rate(jr.elo(), jr.read(table | {"date": hours})).predictions["time"].to_pylist() == hours.tolist()


def test_periods_follow_exactly():
    """The first time of the next period follows, one within the last does not; lengths that no float holds included."""
    table = {"a": ["x", "y"], "b": ["y", "z"], "score": [1, 0]}
    for length, last, same, following in ((0.1, 1.0, 1.05, 1.1), (0.1, 0.95, 0.96, 1.0), (7.0, -3.0, -1.0, 0.0)):
        onto = jr.rate(jr.elo(), jr.read(table | {"time": [last - 20, last]}), period=length)
        for time in (same, following):
            data = jr.read({"a": ["x"], "b": ["z"], "score": [1], "time": [time]}, history=onto)
            parts = len(jr.periods(jr.matches([[0, 1]] * 2, [1, 1], [last, time]), length).pair_start) - 1
            assert parts == (1 if time == same else 2)
            if parts == 2:
                assert len(jr.rate(jr.elo(), data, period=length, onto=onto).predictions) == 3
            else:
                with pytest.raises(ValueError, match="in the same rating period"):
                    jr.rate(jr.elo(), data, period=length, onto=onto)


def test_time_zero_is_a_time_and_hours_follow_days():
    table = {"a": ["x"], "b": ["y"], "score": [1]}
    first = jr.rate(jr.glicko(), jr.read(table | {"week": [0]}, time="week"), period=1.0)
    second = jr.read(table | {"week": [1]}, time="week", history=first)
    assert jr.rate(jr.glicko(), second, period=1.0, onto=first).last == 1
    days = jr.rate(jr.glicko(), jr.read(table | {"date": ["2024-01-01"]}))
    hours = jr.read(table | {"date": ["2024-01-01 10:30:00"]}, history=days)
    times = jr.rate(jr.glicko(), hours, onto=days).predictions["time"].to_pylist()
    assert [str(time) for time in times] == ["2024-01-01 00:00:00", "2024-01-01 10:30:00"]


@pytest.mark.parametrize("names", [[1, "x"], [(1, 2), (3, 4)]])
def test_names_that_no_table_holds(names):
    with pytest.raises(ValueError, match="the names of players must be all text, or all numbers"):
        jr.rate(jr.elo(), jr.read({"a": names, "b": names[::-1], "score": [1, 0]}))


def test_ratings_as_of_a_time_in_a_table():
    rated = jr.rate(jr.glicko(), jr.read(league()))
    table, now = jr.history.rating_table(rated), jr.history.rating_table(rated, 2000.0)
    assert now["player"].tolist() == table["player"].tolist() and (now["deviation"] > table["deviation"]).all()
    want = jr.ratings(rated.system, rated.state, time=2000.0).deviation
    np.testing.assert_array_equal(now["deviation"], np.asarray(want)[now["id"]])


def test_a_career():
    table = {"a": ["x", "y", "x"], "b": ["y", "z", "z"], "score": [1, 0.25, 0.5], "time": [1, 2, 3]}
    rated = jr.rate(jr.elo(), jr.read(table))
    z = jr.career(rated, "z")
    assert list(z) == ["time", "opponent", "score", "probability", "rating", "change"]
    assert z["opponent"].tolist() == ["y", "x"] and z["score"].tolist() == [0.75, 0.5] and z["time"].tolist() == [2, 3]
    guess = rated.predictions["prediction"].to_numpy()
    np.testing.assert_allclose(z["probability"], 1 - guess[1:])
    assert z["rating"][0] == 1500
    np.testing.assert_allclose(z["rating"][0] + z["change"].sum(), rated.state.rating[2], rtol=1e-6)
    np.testing.assert_allclose(z["rating"][1] - z["rating"][0], z["change"][0], rtol=1e-5)
    with pytest.raises(ValueError, match="no player 'Z'; did you mean 'z'?"):
        jr.career(rated, "Z")
    weekly = jr.career(jr.rate(jr.elo(), jr.read(table), period=7.0), "z")
    assert weekly["change"][0] == 0 != weekly["change"][1]
    wide = jr.career(jr.rate(jr.glicko(), jr.read(table)), "z")
    before = jr.history.rating_history(jr.glicko(), jr.read(table).matches).before.deviation
    assert wide["deviation"].tolist() == [before[1][1], before[2][1]]


NEW = {"a": ["player 00"], "b": ["stranger"], "score": [1.0], "time": [301.0]}


@pytest.mark.parametrize(
    ("system", "options", "table", "message"),
    [
        (jr.glicko(), {}, NEW, "the saved run is of elo with its own parameters"),
        (jr.elo(k=21), {}, NEW, "the saved run is of elo with its own parameters"),
        (jr.elo(), {"period": 7.0}, NEW, "the saved run was rated match by match"),
        (jr.elo(), {}, NEW | {"time": [120.5]}, r"row 0 .*time 120.5 is earlier than the last match of .*, 298.667"),
        (jr.elo(), {}, NEW | {"time": [0.0]}, "is earlier than the last match of the saved run"),
        (
            jr.elo(),
            {},
            NEW | {"time": ["2024-01-01"]},
            "the saved run has numbers for times, the new matches have dates",
        ),
    ],
)
def test_what_cannot_follow_is_refused(system, options, table, message):
    data = jr.read(rows(league(), 0, 899))
    onto = jr.rate(jr.elo(), data._replace(events=data.events._replace(time=data.events.time * 299 / 300)))
    with pytest.raises(ValueError, match=message):
        jr.rate(system, jr.read(table, history=onto), onto=onto, **options)


def test_players_need_their_ids_and_periods_their_end():
    onto = jr.rate(jr.elo(), jr.read(league()), period=30.0)
    with pytest.raises(ValueError, match="read the events with history=saved"):
        jr.rate(jr.elo(), jr.read(NEW), period=30.0, onto=onto)
    same = jr.read(NEW | {"time": [300.5]}, history=onto)
    onto_299 = onto._replace(last=300.0)
    with pytest.raises(ValueError, match="in the same rating period as the last match of the saved run, 300"):
        jr.rate(jr.elo(), same, period=30.0, onto=onto_299)
    timeless = {key: values for key, values in league().items() if key != "time"}
    before = jr.rate(jr.elo(), jr.read(timeless))
    assert before.last is None
    again = jr.read(timeless, history=before)
    assert len(jr.rate(jr.elo(), again, onto=before).predictions) == 1800
    with pytest.raises(ValueError, match="the saved run has no times, the new matches have numbers for times"):
        jr.rate(jr.elo(), jr.read(league(), history=before), onto=before)
    with pytest.raises(ValueError, match="rating periods need times"):
        jr.rate(jr.elo(), again, period=7.0)


@pytest.mark.parametrize("period", [1e300, 1e-300])
def test_a_period_in_which_no_event_can_lie_is_refused_when_a_run_is_loaded(tmp_path, period):
    games = {"a": ["x", "y"], "b": ["y", "x"], "score": [1, 0], "t": [1.0, 9.0]}
    rated = jr.rate(jr.glicko(), jr.read(games, time="t"), period=4.0)
    jr.save(tmp_path / "run", rated._replace(period=period))
    with pytest.raises(ValueError, match=r"run\.json.*period"):
        jr.load(tmp_path / "run")
