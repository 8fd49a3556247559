"""Saved runs of contests."""

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import MOSTLY_SINGLE
from tests.test_saved import NEW, rows

pa = pytest.importorskip("pyarrow")


# Contests


def races(sizes=(4, 6, 5, 7, 6, 3, 6, 8), label="race {}".format, seed=5):
    """Columns of contests on days 0, 2, ...; the last players join late."""
    random = np.random.default_rng(seed)
    which = np.repeat(np.arange(len(sizes)), sizes)
    who = np.concatenate([random.permutation(8 + i)[:size] for i, size in enumerate(sizes)])
    names = np.array([f"driver {i:02}" for i in range(20)])
    return {
        "contest": [label(i) for i in which],
        "player": names[who],
        "rank": random.integers(10, 14, len(which)),
        "time": 2.0 * which,
    }


def same_contests(one, two, tolerance=0.0):
    for x, y in zip(jax.tree.leaves(one.state), jax.tree.leaves(two.state), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance)
    assert one.players.tolist() == two.players.tolist() and one.games.tolist() == two.games.tolist()
    assert (one.last, one.clock, one.contests) == (two.last, two.clock, two.contests)
    assert one.predictions.column_names == two.predictions.column_names
    for name in two.predictions.column_names[1:]:
        x, y = (table.predictions[name].to_numpy() for table in (one, two))
        np.testing.assert_allclose(x, y, rtol=tolerance) if y.dtype.kind == "f" else np.testing.assert_array_equal(x, y)


def test_contests_have_a_row_per_participation(share):
    table = races()
    data = jr.read(table)
    system = share(k=30)
    rated, history = jr.rate(system, data), jr.history.rating_history(system, data.rounds)
    assert rated.contests == 8 and rated.clock == "numbers" and rated.last == 14
    found = {name: rated.predictions[name].to_numpy() for name in rated.predictions.column_names}
    given = ["row", "contest", "time", "player", "rank", "participants"]
    assert [*found] == [*given, "prediction", "rating", "deviation"]
    assert found["row"].tolist() == list(range(45)) and found["rank"].tolist() == (data.rounds.events.rank + 1).tolist()
    for name in ("contest", "player", "time"):
        assert found[name].tolist() == list(table[name])
    assert found["participants"].tolist() == [n for n in (4, 6, 5, 7, 6, 3, 6, 8) for _ in range(n)]
    np.testing.assert_array_equal(found["prediction"], history.prediction)
    np.testing.assert_array_equal(found["rating"], history.before.mean)
    np.testing.assert_array_equal(found["deviation"], history.before.deviation)
    board = jr.history.rating_table(rated)
    assert board["games"].sum() == 45 and (np.diff(board["rating"]) <= 0).all()
    for name, games in zip(board["player"], board["games"], strict=True):
        assert games == list(table["player"]).count(name)


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
    same_contests(both, whole, 1e-12 if x64 else 1e-5)
    assert both.predictions["row"].to_pylist() == [*range(22), *range(23)]
    jr.save(tmp_path, both)
    same_contests(jr.load(tmp_path), both)


def test_a_career_of_contests(share):
    table = {"contest": [7, 7, 7, 9, 9], "player": list("xyzzy"), "rank": [1, 2, 2, 1, 4], "date": ["2024-01-01"] * 5}
    rated = jr.rate(share(), jr.read(table))
    z = jr.career(rated, "z")
    assert list(z) == ["time", "contest", "participants", "rank", "expected_rank", "rating", "deviation", "change"]
    assert [z[name].tolist() for name in ("contest", "participants", "rank")] == [[7, 9], [3, 2], [2, 1]]
    guess = rated.predictions["prediction"].to_numpy()[[2, 3]].astype(float)
    np.testing.assert_allclose(z["expected_rank"], [1 + 2 * (1 - guess[0]), 2 - guess[1]])
    assert z["expected_rank"][0] == 2 and z["time"].astype(str).tolist() == ["2024-01-01"] * 2
    final = float(rated.state.rating[2])
    np.testing.assert_allclose(z["change"], [z["rating"][1] - 1500, final - z["rating"][1]], rtol=1e-4)


def test_teams_are_ranked_among_teams_and_follow(tmp_path):
    table = {"contest": list("aaaaa"), "player": list("vwxyz"), "rank": [1, 3, 2, 2, 3], "car": [5, 7, 6, 6, 8]}
    teams, system = jr.read(table, team="car"), jr.weng_lin()
    solo = jr.read({"contest": list("bb"), "player": list("vz"), "rank": [2, 1]}, history=teams)
    alone, first = jr.rate(system, jr.read(table)), jr.rate(system, teams)
    assert "teams" not in alone.predictions.column_names
    assert alone.predictions["rank"].to_pylist() == [1, 4, 2, 2, 4]
    assert [first.predictions[name].to_pylist() for name in ("rank", "teams")] == [[1, 3, 2, 2, 3], [4] * 5]
    assert first.predictions["team"].to_pylist() == [1, 2, 3, 3, 4]
    z = jr.career(first, "z")
    guess = first.predictions["prediction"].to_numpy()[4]
    np.testing.assert_allclose(z["expected_rank"], [1 + 3 * (1 - guess)])
    assert list(z)[2:5] == ["participants", "teams", "rank"]
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
    with pytest.raises(ValueError, match="glicko rates Matches or Periods, not Rounds"):
        jr.rate(jr.glicko(), jr.read(races()))
    with pytest.raises(ValueError, match="these are rounds"):
        jr.rate(share(), jr.read(races()), period=7.0)


def test_names_of_contests(share):
    """Numbers stay numbers until text follows; what no table holds is counted on."""
    numbers, pairs, text = (jr.read(races(label=label)) for label in (int, lambda i: (int(i), 0), "race {}".format))
    system = share(growth=0.0)

    def rate(*several):
        onto = None
        for data in several:
            again = data.rounds._replace(events=data.rounds.events._replace(time=np.full(8, 9.0)))
            onto = jr.rate(system, data._replace(events=again), onto=onto)
        return onto.predictions["contest"].to_pylist()

    which = numbers.contests.repeat(np.diff(numbers.rounds.player_start)).tolist()
    assert rate(numbers, pairs) == which + [8 + i for i in which]
    assert rate(pairs._replace(contests=None), numbers) == which * 2
    assert rate(numbers, text) == [f"{i}" for i in which] + [f"race {i}" for i in which]
