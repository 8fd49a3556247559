"""Files rated by chunks, as in memory: all columns and events, files of every kind, and text as people write it."""

import json
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.history.out_of_core import chunk_reading
from tests.conftest import refused

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings(
    "ignore:took",
    "ignore:the column team",
    "ignore:.* are left out",
    "ignore:.* repeat",
    "ignore:a and b",
    "ignore:rank counts from 0",
)
N, CHUNK, PERIOD = 400, 90, 30.0
RANDOM = np.random.default_rng(3)
PLAYERS = RANDOM.permuted(np.tile(np.arange(30), (N, 1)), axis=1)  # of each row, in an order of its own
NAMES = np.array([f"player {x}" for x in range(30)], object)
A, B = NAMES[PLAYERS[:, :2]].T
SCORE = RANDOM.choice([1.0, 0.5, 0.0], N)
SURFACE = np.array(["clay", "grass", "hard"], object)
TIMES = np.sort(RANDOM.integers(0, 300, N))
DAYS = TIMES + np.datetime64("2024-01-01")
GAMES = RANDOM.integers(0, 7, (N, 2))
RESULT = {"score": SCORE, "t": TIMES}
UNSCORED, PLAYING = {"a": A, "b": B, "t": TIMES}, np.isin(np.arange(N), (300, 390, 391))
SIDES = {"player_1": A, "player_2": B, "t": TIMES}
SKILLS = jr.skills()


def matches(**columns):
    """Matches of two with names, in order of time."""
    return {"a": A, "b": B} | RESULT | columns


def numbered(**columns):
    """Matches of two with numbers for names, some of whom play late."""
    a, b = ((PLAYERS[:, :2] + TIMES[:, None] // 60) * 7 - 40).T
    return matches(a=a, b=b, home=np.where(TIMES % 3, 1.0, 0.0)) | columns


def words(first, second, draw):
    return np.select([SCORE == 1.0, SCORE == 0.0], [first, second], draw).tolist()


LINE_UPS = [[row[: size + 1].tolist() for row, size in zip(NAMES[PLAYERS[:, i : i + 3]], GAMES[:, i // 3] % 3,
                                                           strict=True)] for i in (0, 3)]  # fmt: skip
LINE_UP_TEXT = {f"team {x}": [" ; ".join(cell) for cell in cells] for x, cells in zip("ab", LINE_UPS, strict=True)}
WIDE = {
    f"{side}{k + 1}": [cell[k] if k < len(cell) else None for cell in cells]
    for side, cells in zip("ab", LINE_UPS, strict=True)
    for k in range(3)
}
WIDE_NUMBERS = {
    name: pa.array([x if name[1] == "1" or x % 2 else None for x in PLAYERS[:, column].tolist()], pa.int32())
    for column, name in enumerate(["a1", "a2", "a3", "b1", "b2", "b3"])
}


def contests(sides=(2, 3), largest=3, count=96):
    """Contests of teams, some with a tie, of players who come late."""
    random, rows = np.random.default_rng(1), []
    for contest in range(count):
        sizes = random.integers(1, largest + 1, random.choice(sides))
        team = np.repeat(np.arange(len(sizes)), sizes)
        player = random.permutation(12 + contest // 4)[: len(team)] * 3 - 8
        rank = random.integers(0, len(sizes), len(sizes))[team]
        rows.append(np.stack([np.full(len(team), x) for x in (contest // 3, 7 * contest + 3)] + [player, team, rank]))
    table = dict(zip(("t", "contest", "player", "team", "rank"), np.concatenate(rows, axis=1), strict=True))
    return table | {"map": SURFACE[table["contest"] % 3], "w": 1.0 - 0.5 * (table["team"] == 1)}


class Case(NamedTuple):
    """A system, the table that it rates, the columns by role, and the period."""

    system: Any
    table: dict
    columns: dict | None = None
    period: float | None = None


SEASONS, REST = parts.seasons({"1": 0.0, "2": 150.0}), parts.covariate("rest", 20.0)
MARGINS = jr.skills(SEASONS, REST, observe=parts.margin("won", "lost"))
MODIFIED = jr.skills(parts.modifier(3))
POINTS = {"won": GAMES[:, 0] + 7 * (SCORE == 1), "lost": GAMES[:, 0] + 7 * (SCORE == 0), "rest": RANDOM.normal(size=N)}
CASES = {
    "elo": Case(jr.elo(), numbered(), {"side": "home"}),
    "glicko2": Case(jr.glicko2(side_advantage=0.2), numbered(), {"side": "home"}),
    "periods": Case(jr.glicko(), numbered(), None, PERIOD),
    "periods longer than chunks": Case(jr.glicko(), numbered(), None, 3 * PERIOD),
    "margins and covariates": Case(MARGINS, matches(**POINTS), {"margin": ["won", "lost"], "covariates": "rest"}),
    "categories of both": Case(
        MODIFIED, matches(x=SURFACE[PLAYERS[:, 0] % 3], y=SURFACE[TIMES % 3]), {"category": ("x", "y")}
    ),
    "line-ups in columns": Case(SKILLS, WIDE | RESULT),
    "line-ups of numbers": Case(SKILLS, WIDE_NUMBERS | RESULT),
    "line-ups in text": Case(SKILLS, LINE_UP_TEXT | RESULT, {"a": ["team a"], "b": ["team b"]}),
    "line-ups with a margin": Case(
        jr.skills(parts.modifier(3), observe=parts.margin("lead")),
        WIDE | RESULT | {"lead": np.abs(2 * SCORE - 1) * 3, "map": SURFACE[TIMES % 3]},
        {"margin": "lead", "category": "map"},
    ),
    "words": Case(jr.elo(), matches(score=words("W", "L", "D"))),
    "names of winners": Case(jr.elo(), matches(score=[*np.where(SCORE == 1, A, B)])),
    "codes of winners in text, and rows without": Case(
        jr.elo(), SIDES | {"winner": [str(x % 2 + 1) if i % 7 or i < 200 else "NA" for i, x in enumerate(TIMES)]}
    ),
    "scores from -1 to 1": Case(jr.elo(), matches(score=np.rint(2 * SCORE - 1).astype(int))),
    "winners and draws": Case(jr.elo(), {"winner": A, "loser": B, "t": TIMES, "draw": SCORE == 0.5}),
    "draws that remarks tell": Case(
        jr.elo(),
        matches(
            score=[TIMES[i] % 2 if i % 5 or i < 300 else None for i in range(N)],
            remark=[f"won by {i}" if i % 5 or i < 300 else "match drawn" for i in range(N)],
        ),
    ),
    "rows without a result": Case(jr.elo(), matches(score=[x if i % 7 else None for i, x in enumerate(SCORE)])),
    "rows to drop": Case(jr.elo(), matches(bad=TIMES % 5 == 0, other=TIMES % 11 == 0), {"drop": ["bad", "other"]}),
    "winners of matches that were not played": Case(
        jr.elo(), {"winner": A, "loser": B, "t": TIMES, "Comment": np.where(TIMES % 5 == 0, "Walkover", "Completed")}
    ),
    "weights, sides and neutral ground": Case(
        jr.elo(side_advantage=30),
        matches(w=1.0 + TIMES % 2, s=TIMES % 3 - 1, n=TIMES % 4 == 0),
        {"weight": "w", "side": "s", "neutral": "n"},
    ),
    "statistics, shares and ages": Case(
        jr.skills(parts.covariate("age"), observe=(parts.statistic("xg"), parts.statistic("games"))),
        matches(one=GAMES[:, 0], two=GAMES[:, 1], here=TIMES % 9 + 20, there=GAMES[:, 0] + 20),
        {"statistics": {"xg": ("one", "two")}, "shares": {"games": ("one", "two")}, "age": ("here", "there")},
    ),
    "points in cells": Case(
        jr.skills(observe=parts.margin("FT (1)", "FT (2)")),
        UNSCORED | {"FT": [f"{x}:{y}" for x, y in GAMES]},
        {"margin": ("FT (1)", "FT (2)")},
    ),
    "points": Case(jr.elo(), UNSCORED | {"p": GAMES[:, 0], "q": GAMES[:, 1]}, {"margin": ("p", "q")}),
    "names as categories, dates": Case(jr.elo(), matches(a=pa.array(A).dictionary_encode(), t=DAYS)),
    "seconds since 1970": Case(jr.elo(), matches(t=DAYS.astype("datetime64[s]").astype(int))),
    "timestamps": Case(jr.elo(), matches(t=DAYS.astype("datetime64[us]") + np.timedelta64(90, "m"))),
    "times without a value": Case(jr.elo(), matches(t=pa.nulls(N, pa.float64()))),
    "names of decimals": Case(
        jr.elo(), {x: pa.array([*map(Decimal, y)]) for x, y in zip("ab", PLAYERS.T[:2].tolist(), strict=True)} | RESULT
    ),
    "matches that are not over": Case(
        jr.elo(), UNSCORED | {"goals_a": GAMES[:, 0], "goals_b": GAMES[:, 1], "status": np.where(PLAYING, "1H", "FT")}
    ),
    "contests of teams": Case(
        jr.skills(parts.skill(growth=4.0, reversion=200.0), parts.team(noise=50.0)), contests(), {"team": "team"}
    ),
    "contests of teams with weights and categories": Case(
        MODIFIED, contests(), {"team": "team", "category": "map", "weight": "w"}
    ),
    "contests of single players": Case(jr.codeforces(), contests(sides=(4,), largest=1)),
    "contests of two sides": Case(jr.weng_lin(), contests(sides=(2,)), {"team": "team"}),
}
EXACT = "elo", "glicko2", "periods", "periods longer than chunks"
IN_DISORDER = "elo", "margins and covariates", "line-ups of numbers", "timestamps", "contests of teams"


def write_parts(table, folder, split, row_group_size=77):
    """The rows of a table from each of these to the next, in a Parquet file each."""
    folder.mkdir(exist_ok=True)
    for i, (low, high) in enumerate(pairwise(split)):
        pq.write_table(table.slice(low, high - low), folder / f"{i}.parquet", row_group_size=row_group_size)
    return folder


def in_disorder(table):
    """The same events with names of contests as text; those of a contest keep their order."""
    if "contest" in table:
        table = table | {"contest": [f"game {x}" for x in table["contest"]]}
    n = len(next(iter(table.values())))
    order = np.random.default_rng(0).permutation(n)
    return pa.table(table).take(pa.array(order))


def state_by_player(found, whole):
    """The state of a history with the players in the order of another; they have the same games."""
    order = np.array([found.players.tolist().index(x) for x in whole.players.tolist()])
    assert len(found.players) == len(order) and found.games[order].tolist() == whole.games.tolist()
    return jax.tree.map(lambda x: np.asarray(x)[order], found.state)


def check_equal(mine, theirs, close, name=""):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.dtype.kind == "f":
        np.testing.assert_allclose(mine, theirs, rtol=close, atol=close, err_msg=name)
    else:
        assert mine.tolist() == theirs.tolist(), name


def check_alike(found, whole, close=1e-9):
    """A history by chunks, and as it is loaded, is that in memory."""
    loaded = jr.load(found.folder)
    for x, y in zip(jax.tree.leaves(state_by_player(found, whole)), jax.tree.leaves(whole.state), strict=True):
        check_equal(x, y, close)
    assert loaded.predictions.column_names == whole.predictions.column_names
    for name in whole.predictions.column_names:
        check_equal(loaded.predictions[name].to_numpy(), whole.predictions[name].to_numpy(), close, name)
    assert (loaded.contests, loaded.num_rows) == (found.contests, found.num_rows) == (whole.contests, whole.num_rows)
    assert loaded.system == whole.system and loaded.last == whole.last and loaded.clock == whole.clock
    for one in (loaded, found):
        assert (one.categories is None) == (whole.categories is None)
        assert whole.categories is None or one.categories.tolist() == whole.categories.tolist()
    table = pq.read_table(found.folder / "ratings.parquet")
    assert table["player"].to_pylist() == [*jr.history.rating_table(whole)["player"]]


def expected_quality(data, prediction):
    """The measures of matches, also of contests of two sides, or of rankings."""
    if data.of_matches:
        return jr.metrics.match_metrics(prediction, data.matches.score)
    if (sides := jr.metrics.contests_as_matches(data)) is None:
        return jr.metrics.ranking_metrics(data, prediction)
    return jr.metrics.match_metrics(prediction[sides[0]], sides[1])


@pytest.mark.parametrize(("name", "is_in_order"), [*((x, True) for x in CASES), *((x, False) for x in IN_DISORDER)])
def test_by_chunks_is_in_memory(name, is_in_order, tmp_path, double):
    system, table, columns, period = CASES[name]
    columns = columns or {}
    table = pa.table(table) if is_in_order else in_disorder(table)
    ends = [0, len(table)] if "contest" in table.column_names else [0, 150, 163, len(table)]
    games = write_parts(table, tmp_path / "games", ends)
    found = jr.rate(system, games, chunk=CHUNK, out=tmp_path / "out", period=period, **columns)
    data = jr.read(table, sort="without" not in name, **columns)  # which needs times
    whole = jr.rate(system, data, period=period)
    assert len([*(tmp_path / "out" / "predictions").iterdir()]) > 3
    assert not is_in_order or found.players.tolist() == whole.players.tolist()
    check_alike(found, whole, 0.0 if name in EXACT else 1e-9)
    if not {"weight"} & columns.keys():
        quality = expected_quality(data, whole.predictions["prediction"].to_numpy())
        assert found.quality == pytest.approx(quality, rel=1e-9)
    assert {x.name for x in (tmp_path / "out").iterdir()} == {"predictions", "ratings.parquet", "checkpoint"}
    measure = "pair inversion" if name.startswith("contests of teams") else "log loss"
    assert measure in repr(found) or "single" in name


def test_float32_is_in_memory_to_the_last_bit(tmp_path):
    games = write_parts(pa.table(numbered()), tmp_path / "games", [0, N])
    check_alike(jr.rate(jr.elo(), games, chunk=CHUNK, out=tmp_path / "out"), jr.rate(jr.elo(), jr.read(games)), 0.0)


def test_contests_that_stand_apart_come_together(tmp_path, double):
    """In chunks one of them would be two."""
    table = contests()
    row = int(np.flatnonzero(np.diff(table["t"]) > 0)[0])  # the last of its time
    number = np.arange(len(table["t"]))
    apart = pa.table({name: x[np.concatenate([[row], np.delete(number, row)])] for name, x in table.items()})
    games = write_parts(apart, tmp_path / "games", [0, len(apart)])
    system = CASES["contests of teams"].system
    found = jr.rate(system, games, chunk=CHUNK, out=tmp_path / "out", team="team")
    assert found.contests == 96 and found.num_rows == len(apart)
    whole = jr.rate(system, jr.read(apart, team="team", sort=True))
    np.testing.assert_allclose(state_by_player(found, whole).mean, whole.state.mean, atol=0.05)


def test_words_of_later_rows_mean_what_the_first_rows_say(tmp_path, monkeypatch, double):
    """A chunk of nothing but 1 and 0 would be read as scores, and not as wins and draws."""
    monkeypatch.setattr(chunk_reading, "RECOGNITION_ROWS", 100)
    score = np.rint(2 * SCORE - 1).astype(int)
    score[100:] = np.abs(score[100:])
    games = write_parts(pa.table(matches(score=score)), tmp_path / "games", [0, N])
    check_alike(jr.rate(jr.elo(), games, chunk=CHUNK, out=tmp_path / "out"), jr.rate(jr.elo(), jr.read(games)))


LATER = np.isin(np.arange(N), (250, 300))
LATER_DRAWS = {
    "flags": SIDES | {"score": TIMES % 2, "draw": LATER},
    "winners and flags": {"winner": A, "loser": B, "t": TIMES, "draw": LATER},
}
OTHER_RESULTS = {
    "scores": (SIDES | {"score": np.where(LATER, -1, TIMES % 2)}, "score -1.0 is outside [0, 1]"),
    "codes of winners": (SIDES | {"winner": np.where(LATER, 0, TIMES % 2 + 1)}, "column 'winner' is 0, no result as"),
}


@pytest.mark.parametrize("numbers", [False, True], ids=["names", "numbers"])
@pytest.mark.parametrize("case", [*LATER_DRAWS, *OTHER_RESULTS])
def test_results_that_mean_another_thing_later(case, numbers, tmp_path, monkeypatch, double):
    """Some chunks were rated by the notation of the first rows, and some by that of the whole table."""
    monkeypatch.setattr(chunk_reading, "RECOGNITION_ROWS", 150)
    table, message = OTHER_RESULTS.get(case) or (LATER_DRAWS[case], None)
    if numbers:
        table = table | dict(zip([*table][:2], PLAYERS[:, :2].T, strict=True))
    pq.write_table(pa.table(table), tmp_path / "games.parquet")
    rate = partial(jr.rate, jr.elo(), tmp_path / "games.parquet", chunk=CHUNK, out=tmp_path / "out")
    if message is None:
        check_alike(rate(), jr.rate(jr.elo(), jr.read(table)))
        return
    with refused(f"games.parquet: row 250 (counting from 0): {message}"):
        rate()


TEXT = {"a": [f"00{x}" for x in PLAYERS[:, 0]], "b": [f"00{x}" for x in PLAYERS[:, 1]], "score": SCORE.tolist()}
TEXT |= {"date": DAYS.astype(str).tolist()}


def write_rows(columns, path):
    """A table in a file of the kind that its name says."""
    if path.suffix == ".jsonl":
        records = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        path.write_text("\n".join(map(json.dumps, records)))
    else:
        jr.data.write(columns, path)


@pytest.mark.parametrize("kind", ["file", "folder", "pattern", "list"])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_files_of_every_kind_are_rated_as_in_memory(suffix, kind, tmp_path, double):
    folder = tmp_path / "a=1"  # no column
    folder.mkdir()
    (folder / "notes.txt").write_text("no table")
    ends = [0, N] if kind == "file" else [0, 90, 200, N]
    paths = [folder / f"{i}.{suffix}" for i in range(len(ends) - 1)]
    for path, low, high in zip(paths, ends, ends[1:], strict=False):
        write_rows({name: x[low:high] for name, x in TEXT.items()}, path)
    source = {"file": paths[0], "folder": folder, "pattern": f"{tmp_path}/*/*.{suffix}", "list": paths}[kind]
    if (suffix, kind) == ("jsonl", "folder"):
        with refused("a=1: no such file, and no folder or pattern of tables"):
            jr.rate(jr.elo(), source, chunk=CHUNK, out=tmp_path / "out")
        return
    whole = jr.rate(jr.elo(), jr.read(source))
    assert whole.players.tolist() == jr.read(TEXT).players.tolist()
    check_alike(jr.rate(jr.elo(), source, chunk=CHUNK, out=tmp_path / "out"), whole)


def dates_as(style):
    return {"date": [day.strftime(style) for day in DAYS.astype(object)]}


FORMS = {  # of columns in CSV
    "the day first": dates_as("%d/%m/%Y"),
    "months by name": dates_as("%d %B %Y"),
    "eight digits": dates_as("%Y%m%d"),
    "hours": dates_as("%Y-%m-%d 18:30"),
    "numbers": {"date": None, "t": TIMES.tolist()},
    "both names in a cell": {"match": [f"{a} vs {b}" for a, b in zip(A, B, strict=True)], "a": None, "b": None},
    "words": {"score": None, "result": words("W", "L", "D")},
}


@pytest.mark.parametrize("is_in_order", [True, False], ids=["in order", "in disorder"])
@pytest.mark.parametrize("form", FORMS)
def test_text_of_csv_is_read_as_in_memory(form, is_in_order, tmp_path, double, monkeypatch):
    monkeypatch.setattr(chunk_reading, "RECOGNITION_ROWS", 150)
    order = np.arange(N) if is_in_order else np.argsort(np.arange(N) % 2, kind="stable")
    columns = {name: np.array(x)[order] for name, x in (TEXT | FORMS[form]).items() if x is not None}
    jr.data.write(columns, tmp_path / "games.csv")
    found = jr.rate(jr.elo(), tmp_path / "games.csv", chunk=CHUNK, out=tmp_path / "out")
    check_alike(found, jr.rate(jr.elo(), jr.read(tmp_path / "games.csv", sort=True)))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,x,1,2024-05-01", "x is on both sides; remove the row"),
        ("x,y,1,05/31/2024", "column 'date' is '05/31/2024', not an ISO date"),
        ("x,y,7,2024-05-01", "score 7.0 is outside"),
        ("x,y,1,NA", "column 'date' has no value"),
        ("x,y,1", "Expected 4 columns, got 3: x,y,1"),
    ],
)
@pytest.mark.parametrize("by_chunks", [True, False], ids=["by chunks", "in memory"])
def test_wrong_rows_of_csv_are_named_by_file_and_line(row, message, by_chunks, tmp_path):
    lines = ["a,b,score,date", *(f"p{i % 9},q{i % 7},1,2024-01-{i // 10 + 10}" for i in range(90))]
    (tmp_path / "0.csv").write_text("\n".join(lines))
    (tmp_path / "1.csv").write_text("\n".join([lines[0], *lines[-5:], row]))
    rate = partial(jr.rate, jr.elo(), chunk=40, out=tmp_path / "out") if by_chunks else jr.read
    with refused(f"1.csv: row 5 (counting from 0, line 7): {message}") as caught:
        rate([tmp_path / "0.csv", tmp_path / "1.csv"])
    can_skip = "no value" in message and not by_chunks  # chunks named an option that they do not take
    assert ("on_faulty='skip'" in str(caught.value)) == can_skip


def test_contests_that_compare_nobody_have_no_measure(tmp_path):
    pq.write_table(pa.table({"contest": [1, 2], "player": ["x", "y"], "rank": [1, 1]}), tmp_path / "alone.parquet")
    rated = jr.rate(jr.weng_lin(), tmp_path / "alone.parquet", out=tmp_path / "out")
    assert repr(rated).endswith(f"files    {tmp_path / 'out'}")


def test_empty_files_and_columns_of_structs_are_passed_over(tmp_path):
    pairs = pa.array([{"x": 10**6, "y": 10**6 + i} for i in range(N)])
    table = pa.table(numbered()).add_column(0, "pair", pairs)
    games = write_parts(table, tmp_path / "games", [0, 60, 60, N])
    found, whole = jr.rate(jr.elo(), games, chunk=50, out=tmp_path / "out"), jr.rate(jr.elo(), jr.read(games))
    assert found.players.tolist() == whole.players.tolist()
    np.testing.assert_array_equal(found.state.rating, whole.state.rating)


def test_numbers_of_players_further_apart_than_int64_reaches_are_names(tmp_path):
    """The difference of the greatest and the least wrapped round, and no array had room for the numbers between."""
    far = [-(2**62) - 5, 2**62 + 5, 7]
    table = pa.table({"a": [far[0], far[1]], "b": [far[1], far[2]], "score": [1.0, 0.0]})
    pq.write_table(table, tmp_path / "far.parquet")
    rated = jr.rate(jr.elo(), tmp_path / "far.parquet", chunk=1, out=tmp_path / "rated")
    assert rated.players.tolist() == far
