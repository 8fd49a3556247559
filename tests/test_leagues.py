"""Leagues of one table are rated as if each had a table of its own."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import jaxrate as jr

pytest.importorskip("pyarrow")


def games(count=60):
    """Matches of two leagues, whose players have the same names; with sides, weights and times."""
    random = np.random.default_rng(0)
    pairs = np.array([random.choice(8, 2, replace=False) for _ in range(count)])
    table = {"a": pairs[:, 0], "b": pairs[:, 1], "score": random.choice([0.0, 0.5, 1.0], count)}
    table |= {"t": np.sort(random.random(count)), "home": random.choice([-1, 1], count), "w": random.random(count) + 1}
    return table | {"league": random.choice(["N", "S/1"], count)}


def races():
    random = np.random.default_rng(0)
    table = {"contest": np.repeat(np.arange(10), 4), "rank": np.tile(np.arange(4), 10)}
    table |= {"player": np.concatenate([random.permutation(6)[:4] for _ in range(10)])}
    return table | {"league": np.repeat(np.where(np.arange(10) % 3, "N", "S/1"), 4)}


def apart(table, name):
    return {column: values[table["league"] == name] for column, values in table.items()}


@pytest.mark.filterwarnings("ignore:rank counts from 0")
@pytest.mark.parametrize("kind", ["matches", "periods", "contests"])
@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(2)], ids=["here", "threads"])
def test_a_league_is_rated_as_if_it_were_alone(kind, executor, share):
    table, options, period = (
        (races(), {}, None) if kind == "contests" else (games(), {"side": "home", "weight": "w"}, None)
    )
    system = share() if kind == "contests" else jr.glicko(side_advantage=40.0)
    period = 0.25 if kind == "periods" else None
    found = jr.history.rate_leagues(
        system, jr.read(table, **options), table["league"], period=period, executor=executor
    )
    assert [*found] == [*dict.fromkeys(table["league"])]
    for name, rated in found.items():
        alone = jr.rate(system, jr.read(apart(table, name), **options), period=period)
        order = [rated.players.tolist().index(player) for player in alone.players]
        for x, y in zip(jax.tree.leaves(rated.state), jax.tree.leaves(alone.state), strict=True):
            np.testing.assert_array_equal(np.asarray(x)[order], y)
        assert rated.games[order].tolist() == alone.games.tolist()
        assert rated.predictions.drop("row").equals(alone.predictions.drop("row"))
        assert rated.predictions["row"].to_pylist() == np.flatnonzero(table["league"] == name).tolist()


@pytest.mark.filterwarnings("ignore:rank counts from 0")
def test_leagues_that_are_taken_and_refused():
    table, contests = games(), races()
    data = jr.read(table)
    pairs = jr.history.rate_leagues(jr.elo(), data, [(name, 1) for name in table["league"]])
    assert [*pairs] == [(name, 1) for name in dict.fromkeys(table["league"])]
    lacking = [*table["league"][:3], None, *table["league"][4:]]
    mixed = ["N", "N", "S", "N", *["N"] * 36]
    for given, league, message in (
        (data, lacking, "row 3 (counting from 0): there is no league"),
        (data, ["N"] * 9, "league must have one value for each row of the source, got shape (9,)"),
        (jr.read(contests), mixed, "row 2 (counting from 0): its contest is of the leagues N and S"),
        (data.matches, table["league"], "rate_leagues: data must be a Dataset"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            jr.history.rate_leagues(jr.elo(), given, league)


def test_the_command(tmp_path, jaxrate):
    table = games()
    file, out = tmp_path / "games.csv", tmp_path / "out"
    jr.data.write(table, file)
    given = "rate", file, "--system", "elo", "--by", "league"
    code, said, errors = jaxrate(*given, "--out", out, "--top", 1)
    assert code == 0 and "saved 2 runs" in errors
    assert [line for line in said.splitlines() if " matches of " in line] == [
        f"{name}: {np.sum(table['league'] == name)} matches of 8 players" for name in dict.fromkeys(table["league"])
    ]
    data = jr.read({name: x.astype(str) if name in "ab" else x for name, x in table.items()})
    wanted = jr.history.rate_leagues(jr.elo(), data, table["league"])
    for folder, name in (("N", "N"), ("S_1", "S/1")):
        np.testing.assert_array_equal(jr.load(out / folder).state.rating, wanted[name].state.rating)
    import pyarrow.parquet as parquet

    ratings = parquet.read_table(out / "leagues.parquet")
    assert ratings.column_names[:3] == ["league", "id", "player"] and len(ratings) == 16
    code, said, _ = jaxrate(*given, "--json", "--top", 1)
    assert code == 0 and [x["league"] for x in json.loads(said)] == [*wanted]
    parts = tmp_path / "parts"
    parts.mkdir()
    days = np.where(table["league"] == "N", np.datetime64("2020-01-01"), np.datetime64("2020-01-02"))
    jr.data.write(table | {"league": days}, parts / "0.parquet")
    code, said, _ = jaxrate("rate", parts / "?.parquet", *given[2:], "--json", "--top", 1)
    assert code == 0 and json.loads(said)[0]["league"].startswith("2020-01-0")
    for more, message in (
        (["--peaks"], "--peaks cannot be combined with --by"),
        (["--by", "leage"], "no column 'leage'; did you mean 'league'?"),
    ):
        code, _, errors = jaxrate(*given, *more)
        assert code != 0 and message in errors


def test_leagues_of_teams_are_said_to_be(tmp_path, jaxrate):
    table = games()
    columns = {"home_team": table["a"], "away_team": table["b"]} | {x: table[x] for x in table if x not in "ab"}
    jr.data.write(columns, tmp_path / "games.csv")
    code, said, _ = jaxrate(
        "rate", tmp_path / "games.csv", "--system", "elo", "--by", "league", "--out", tmp_path / "out"
    )
    assert code == 0 and said.count("of 8 teams") == 2 and "player" not in said
    assert jr.load(tmp_path / "out" / "N").options["teams"]
