"""Histories with the ratings on the way, carried on, saved and loaded."""

import json

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data import simulate
from jaxrate.storage.run_folder import encode_run_json
from tests.conftest import MOSTLY_SINGLE

pa = pytest.importorskip("pyarrow")


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


def equal(one, two, tolerance=0.0):
    """All that two histories have is equal, but for the numbers of rows in their files."""
    for x, y in zip(jax.tree.leaves(one.state), jax.tree.leaves(two.state), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance)
    assert one.players.tolist() == two.players.tolist() and one.games.tolist() == two.games.tolist()
    assert (one.last, one.period, one.clock, one.contests) == (two.last, two.period, two.clock, two.contests)
    assert one.predictions.column_names == two.predictions.column_names
    for name in two.predictions.column_names[1:]:
        x, y = (table.predictions[name].to_numpy() for table in (one, two))
        np.testing.assert_allclose(x, y, rtol=tolerance) if y.dtype.kind == "f" else np.testing.assert_array_equal(x, y)


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
    table = pa.parquet.read_table(tmp_path / "run" / "ratings.parquet").to_pydict()
    assert list(table) == ["id", "player", "rating", "deviation", "games", "volatility"]
    assert table["rating"] == sorted(table["rating"], reverse=True)
    np.testing.assert_array_equal(np.asarray(rated.state.volatility)[table["id"]], np.float32(table["volatility"]))


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


NEW = {"a": ["player 00"], "b": ["stranger"], "score": [1.0], "time": [301.0]}


@pytest.mark.parametrize(
    ("system", "options", "changes", "message"),
    [
        (jr.elo(k=21), {}, {}, "the saved run is of elo with its own parameters"),
        (jr.elo(), {"period": 7.0}, {}, "the saved run was rated match by match"),
        (jr.elo(), {}, {"time": [120.5]}, r"row 0 .*time 120.5 is earlier than the last match of .*, 298.667"),
        (jr.elo(), {}, {"time": ["2024-01-01"]}, "the saved run has numbers for times, the new matches have dates"),
    ],
)
def test_what_cannot_follow_is_refused(system, options, changes, message):
    data = jr.read(rows(league(), 0, 899))
    onto = jr.rate(jr.elo(), data._replace(events=data.events._replace(time=data.events.time * 299 / 300)))
    with pytest.raises(ValueError, match=message):
        jr.rate(system, jr.read(NEW | changes, history=onto), onto=onto, **options)


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
    with pytest.raises(ValueError, match="rating periods need times"):
        jr.rate(jr.elo(), again, period=7.0)


def test_categories_are_kept_and_age(tmp_path):
    table = {"a": ["x", "y"], "b": ["y", "z"], "score": [1, 0], "time": [0, 20], "kind": [7, 9]}
    system = jr.category_glicko(2, deviation_min=None, initial_deviation=100, initial_modifier_deviation=90)
    rated = jr.rate(system, jr.read(table, category="kind"), period=14.0)
    jr.save(tmp_path / "run", rated)
    loaded = jr.load(tmp_path / "run")
    assert loaded.categories.tolist() == [7, 9]
    now, later = (jr.history.rating_table(loaded, time) for time in (None, 48.0))
    for name in ("deviation", "deviation 9"):
        variance, end = (table[name][np.argsort(table["id"])] ** 2 for table in (now, later))
        np.testing.assert_allclose(end - variance, 65.0**2 / 14.0 * np.array([34, 20, 20]), rtol=1e-4)
    with pytest.raises(ValueError, match="the categories differ from the saved run's; read the matches with history"):
        jr.rate(system, jr.read(table | {"time": [60, 70], "kind": [9, 7]}, category="kind"), period=14.0, onto=loaded)
    odd = jr.read(table | {"kind": [b"p", b"q"]}, category="kind")
    with pytest.raises(ValueError, match="the names of categories must be all text, or all numbers, to be kept"):
        jr.rate(system, odd, period=14.0)


def edit(folder, **changes):
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_bytes(encode_run_json({k: v for k, v in (about | changes).items() if v != "gone"}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "state.npz").unlink(), "no saved run there: state.npz is missing"),
        (lambda f: (f / "run.json").write_text("{"), "run.json is damaged"),
        (lambda f: (f / "ratings.parquet").write_text("no"), "ratings.parquet is damaged"),
        (lambda f: edit(f, system="gliko"), "for the system 'gliko', which this version does not have"),
        (lambda f: edit(f, system="elo", params={}), "state.npz .*not a state of elo"),
    ],
)
def test_other_folders_are_refused(tmp_path, spoil, message):
    jr.save(folder := tmp_path / "run", jr.rate(jr.glicko(), jr.read(league())))
    spoil(folder)
    with pytest.raises(ValueError, match=message) as error:
        jr.load(folder)
    assert str(folder) in str(error.value)


def own(scales=((1.0, 2.0), "wide"), bonus=None, **params):
    """A factory: Elo, named otherwise, with settings."""
    made = jr.elo(**params)
    return made._replace(name="own", factory=own, settings=jr.extend.Settings(scales=scales, bonus=bonus))


def test_a_system_of_ones_own_comes_back_by_its_factory(tmp_path):
    rated = jr.rate(own(k=20, scales=((3.0,), "narrow"), bonus=True), jr.read(league()))
    jr.save(tmp_path, rated)
    back = jr.load(tmp_path, make=own)
    equal(back, rated)
    assert back.system == rated.system and back.system.settings == {"scales": ((3.0,), "narrow"), "bonus": True}
    more = jr.read(NEW, history=back)
    assert len(jr.rate(back.system, more, onto=back).predictions) == 901
    for make, message in (
        (None, r"for the system 'own', which this version does not have; if it is your own, .* jr.load\(folder, make"),
        (jr.elo, "elo has no parameter 'scales'"),
        (lambda k: own(k=k), "the factory does not accept the arguments that own was made with: .*scales"),
    ):
        with pytest.raises(ValueError, match=message):
            jr.load(tmp_path, make=make)


def test_other_rules_are_not_saved_under_the_name_of_a_system(tmp_path):
    """They would come back as the system's own."""
    data, elo = jr.read(league()), jr.elo()
    rated = jr.rate(elo._replace(rules=elo.rules._replace(advance=lambda constants, rows, time: rows)), data)
    with pytest.raises(ValueError, match="this elo is not the one of jaxrate; give a system of your own a name"):
        jr.save(tmp_path, rated)
    with pytest.raises(ValueError, match="was made with bonus of its own, which a saved run cannot hold"):
        jr.save(tmp_path, jr.rate(own(bonus=(1.0, print)), data))
    with pytest.raises(ValueError, match="a history with hindsight is not saved"):  # it could not be loaded
        jr.save(tmp_path, jr.smooth(jr.skills(), data))
    assert not list(tmp_path.iterdir())


def test_a_run_that_replaces_a_longer_one_is_told(tmp_path):
    """Whoever forgets `onto` loses the history."""
    long, short = (jr.rate(jr.elo(), {"a": ["x"] * n, "b": ["y"] * n, "score": [1] * n}) for n in (3, 2))
    jr.save(tmp_path, short)
    jr.save(tmp_path, long)
    with pytest.warns(UserWarning, match=r"^replaced a run of 3 matches in .*; jr.rate\(..., onto=jr.load\(") as notes:
        jr.save(tmp_path, short)
    assert notes[0].filename == __file__ and len(jr.load(tmp_path).predictions) == 2
    (tmp_path / "run.json").write_text("{}")  # of which nothing can be said
    jr.save(tmp_path, short)


SIZES = 4, 6, 5, 7, 6, 3, 6, 8


def races():
    """Columns of contests on days 0, 2, ...; the last players join late."""
    random, which = np.random.default_rng(5), np.repeat(np.arange(8), SIZES)
    who = np.concatenate([random.permutation(8 + i)[:size] for i, size in enumerate(SIZES)])
    names = {"contest": [f"race {i}" for i in which], "player": [f"driver {i:02}" for i in who]}
    return names | {"rank": random.integers(10, 14, len(which)), "time": 2.0 * which}


@MOSTLY_SINGLE
def test_two_halves_of_contests_are_one_run(tmp_path, x64, share):
    table, system = races(), share()
    whole = jr.rate(system, jr.read(table))
    jr.save(tmp_path, jr.rate(system, jr.read(rows(table, 0, 22))))
    half = jr.load(tmp_path)
    assert half.system.settings == {"factors": (0.5, 0.75)} and half.contests == 4
    data = jr.read(rows(table, 22, 45), history=half)
    assert len(data.players) > len(half.players)
    both = jr.rate(half.system, data, onto=half)
    equal(both, whole, 1e-12 if x64 else 1e-5)
    assert both.predictions["row"].to_pylist() == [*range(22), *range(23)]
    jr.save(tmp_path, both)
    equal(jr.load(tmp_path), both)


def test_teams_are_ranked_among_teams_and_follow(tmp_path):
    table = {"contest": list("aaaaa"), "player": list("vwxyz"), "rank": [1, 3, 2, 2, 3], "car": [5, 7, 6, 6, 8]}
    teams, system = jr.read(table, team="car"), jr.weng_lin()
    solo = jr.read({"contest": list("bb"), "player": list("vz"), "rank": [2, 1]}, history=teams)
    alone, first = jr.rate(system, jr.read(table)), jr.rate(system, teams)
    assert "teams" not in alone.predictions.column_names
    assert alone.predictions["rank"].to_pylist() == [1, 4, 2, 2, 4]
    assert [first.predictions[name].to_pylist() for name in ("rank", "teams")] == [[1, 3, 2, 2, 3], [4] * 5]
    assert first.predictions["team"].to_pylist() == [1, 2, 3, 3, 4]
    z, guess = jr.career(first, "z"), first.predictions["prediction"].to_numpy()[4]
    np.testing.assert_allclose(z["expected_rank"], [1 + 3 * (1 - guess)])
    jr.save(tmp_path, first)
    after, before = jr.rate(system, solo, onto=jr.load(tmp_path)), jr.rate(system, teams, onto=jr.rate(system, solo))
    assert after.predictions["teams"].to_pylist() == [4] * 5 + [2] * 2 and after.contests == before.contests == 2
    assert before.predictions["teams"].to_pylist() == [2] * 2 + [4] * 5
    assert before.predictions["team"].to_pylist() == [1, 2, 1, 2, 3, 3, 4]
    assert after.predictions["team"].to_pylist() == [1, 2, 3, 3, 4, 1, 2]
    assert after.predictions.column_names == before.predictions.column_names == first.predictions.column_names


def test_contests_follow_with_or_without_times(share):
    table = races()
    timeless = {name: values for name, values in table.items() if name != "time"}
    dated = table | {"time": (np.datetime64("2024-01-01") + np.asarray(table["time"], int)).tolist()}
    onto = jr.rate(share(), jr.read(table))
    data = jr.read(timeless, history=onto)
    both = jr.rate(share(), data, onto=onto)
    assert (both.last, both.clock, both.contests) == (14, "numbers", 16)
    assert both.predictions["time"].to_pylist() == [*table["time"], *[None] * 45]
    for late, more in ((dated, "dates"), (table, "numbers")):
        first = jr.rate(share(), jr.read(timeless))
        assert first.clock is None and first.predictions["time"].null_count == 45
        both = jr.rate(share(), jr.read(late, history=first), onto=first)
        assert both.clock == more and both.predictions["time"].to_pylist()[45:] == list(late["time"])
    with pytest.raises(ValueError, match="the saved run has numbers for times, the new contests have dates"):
        jr.rate(share(), jr.read(dated, history=onto), onto=onto)
    with pytest.raises(ValueError, match=r"row 0 .*: time 0 is earlier than the last contest of the saved run, 14"):
        jr.rate(share(), jr.read(table, history=onto), onto=onto)


def test_matches_and_contests_do_not_follow_each_other(share):
    onto = jr.rate(share(), jr.read(races()))
    matches = jr.read(NEW, history=onto)
    with pytest.raises(ValueError, match="the saved run is of contests, these are matches"):
        jr.rate(share(), matches, onto=onto)
