"""All columns that `read` takes, by chunks as in memory: categories, line-ups, results in words, statistics, drops."""

import warnings

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history.out_of_core import table_reading
from tests.conftest import refused
from tests.test_rate_by_chunks import state_by_player

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")
pytest.importorskip("duckdb")
pytestmark = pytest.mark.filterwarnings("ignore:took", "ignore:.* are left out", "ignore:.* repeat", "ignore:a and b")
N, CHUNK = 400, 90
RANDOM = np.random.default_rng(3)
PLAYERS = RANDOM.permuted(np.tile(np.arange(30), (N, 1)), axis=1)  # of each row, in an order of its own
NAMES = np.array([f"player {x}" for x in range(30)], object)
SCORE = RANDOM.choice([1.0, 0.5, 0.0], N)
SURFACE = np.array(["clay", "grass", "hard"], object)
TIMES = np.sort(RANDOM.integers(0, 300, N))
GAMES = RANDOM.integers(0, 7, (N, 2))


def matches(**columns):
    """Matches of two with names, in order of time."""
    a, b = NAMES[PLAYERS[:, :2]].T
    return {"a": a, "b": b, "score": SCORE, "t": TIMES} | columns


def words(first, second, draw):
    return np.select([SCORE == 1.0, SCORE == 0.0], [first, second], draw).tolist()


def lists_of(players, largest):
    """The first one to `largest` players of each row, as lists."""
    size = RANDOM.integers(1, largest + 1, N)
    return [row[:n].tolist() for row, n in zip(players, size, strict=True)]


LINE_UPS = [lists_of(NAMES[PLAYERS[:, i : i + 3]], 3) for i in (0, 3)]
WIDE = {
    f"{side}{k + 1}": [cell[k] if k < len(cell) else None for cell in cells]
    for side, cells in zip("ab", LINE_UPS, strict=True)
    for k in range(3)
}
WIDE_NUMBERS = {
    name: pa.array([x if name[1] == "1" or x % 2 else None for x in PLAYERS[:, column].tolist()], pa.int32())
    for column, name in enumerate(["a1", "a2", "a3", "b1", "b2", "b3"])
}
RESULT = {"score": SCORE, "t": TIMES}
SKILLS = jr.skills()
CASES = {
    "categories of both": (
        jr.skills(categories=3),
        matches(x=SURFACE[PLAYERS[:, 0] % 3], y=SURFACE[TIMES % 3]),
        {"category": ("x", "y")},
    ),
    "one category": (jr.skills(categories=3), matches(x=SURFACE[TIMES % 3]), {"category": "x"}),
    "categories of numbers": (
        jr.skills(categories=3),
        matches(a=PLAYERS[:, 0], b=PLAYERS[:, 1], x=TIMES % 3 + 5),
        {"category": "x"},
    ),
    "line-ups in columns": (SKILLS, WIDE | RESULT, {}),
    "line-ups of numbers": (SKILLS, WIDE_NUMBERS | RESULT, {}),
    "line-ups of numbers in disorder": (SKILLS, WIDE_NUMBERS | {"score": SCORE, "t": TIMES[::-1]}, {}),
    "line-ups in lists": (SKILLS, {"a": LINE_UPS[0], "b": LINE_UPS[1], "score": SCORE, "t": TIMES}, {}),
    "line-ups in text": (
        SKILLS,
        {f"team {x}": [" ; ".join(cell) for cell in cells] for x, cells in zip("ab", LINE_UPS, strict=True)} | RESULT,
        {"a": ["team a"], "b": ["team b"]},
    ),
    "line-ups with a margin": (
        jr.skills("margin", margin="lead", categories=3),
        WIDE | {"score": SCORE, "t": TIMES, "lead": np.abs(2 * SCORE - 1) * 3, "map": SURFACE[TIMES % 3]},
        {"margin": "lead", "category": "map"},
    ),
    "words": (jr.elo(), matches(score=words("W", "L", "D")), {}),
    "names of winners": (jr.elo(), matches(score=[*np.where(SCORE == 1, *NAMES[PLAYERS[:, :2]].T)]), {}),
    "names of winners in numbers": (
        jr.elo(),
        matches(a=PLAYERS[:, 0] + 7, b=PLAYERS[:, 1] + 7, score=np.where(SCORE == 1, *PLAYERS[:, :2].T) + 7),
        {},
    ),
    "codes of winners": (
        jr.elo(),
        dict(zip(("player_1", "player_2"), NAMES[PLAYERS[:, :2]].T, strict=True)) | {"t": TIMES, "winner": TIMES % 2},
        {},
    ),
    "codes of winners in text, and rows without": (
        jr.elo(),
        dict(zip(("player_1", "player_2"), NAMES[PLAYERS[:, :2]].T, strict=True))
        | {"t": TIMES, "winner": [str(x % 2 + 1) if i % 7 or i < 200 else "NA" for i, x in enumerate(TIMES)]},
        {},
    ),
    "scores from -1 to 1": (jr.elo(), matches(score=np.rint(2 * SCORE - 1).astype(int)), {}),
    "winners and draws": (
        jr.elo(),
        {"winner": NAMES[PLAYERS[:, 0]], "loser": NAMES[PLAYERS[:, 1]], "t": TIMES, "draw": SCORE == 0.5},
        {},
    ),
    "draws that remarks tell, after more of them than are examples": (
        jr.elo(),
        matches(
            score=[TIMES[i] % 2 if i % 5 or i < 300 else None for i in range(N)],
            remark=[f"won by {i}" if i % 5 or i < 300 else "match drawn" for i in range(N)],
        ),
        {},
    ),
    "rows without a result": (jr.elo(), matches(score=[x if i % 7 else None for i, x in enumerate(SCORE)]), {}),
    "rows to drop": (jr.elo(), matches(bad=TIMES % 5 == 0, other=TIMES % 11 == 0), {"drop": ["bad", "other"]}),
    "weights, sides and neutral ground": (
        jr.elo(side_advantage=30),
        matches(w=1.0 + TIMES % 2, s=TIMES % 3 - 1, n=TIMES % 4 == 0),
        {"weight": "w", "side": "s", "neutral": "n"},
    ),
    "statistics and shares": (
        jr.skills(statistics=("xg", "games"), covariates="komi"),
        matches(one=GAMES[:, 0], two=GAMES[:, 1], komi=TIMES % 3 - 1.0),
        {"statistics": {"xg": ("one", "two")}, "shares": {"games": ("one", "two")}, "covariates": "komi"},
    ),
    "ages": (jr.skills(covariates="age"), matches(one=TIMES % 9 + 20, two=GAMES[:, 0] + 20), {"age": ("one", "two")}),
    "points": (jr.elo(), matches(score=None, p=GAMES[:, 0], q=GAMES[:, 1]), {"margin": ("p", "q")}),
}


def by_chunks_and_in_memory(system, table, tmp_path, **columns):
    """The history by chunks and loaded again, and that in memory."""
    pq.write_table(table, tmp_path / "games.parquet", row_group_size=77)
    found = jr.rate(system, tmp_path / "games.parquet", chunk=CHUNK, out=tmp_path / "out", **columns)
    return found, jr.load(tmp_path / "out"), jr.rate(system, jr.read(table, sort=True, **columns))


@pytest.mark.parametrize("name", CASES)
def test_by_chunks_is_in_memory(name, tmp_path, double):
    system, table, columns = CASES[name]
    table = pa.table({name: x for name, x in table.items() if x is not None})
    found, loaded, whole = by_chunks_and_in_memory(system, table, tmp_path, **columns)
    assert len([*(tmp_path / "out" / "predictions").iterdir()]) > 3
    assert "disorder" in name or found.players.tolist() == whole.players.tolist()
    assert (found.num_rows, found.contests) == (whole.num_rows, whole.contests)
    for x, y in zip(jax.tree.leaves(state_by_player(found, whole)), jax.tree.leaves(whole.state), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
    assert loaded.predictions.column_names == whole.predictions.column_names
    for column in whole.predictions.column_names:
        mine, theirs = (x.predictions[column] for x in (loaded, whole))
        if pa.types.is_floating(theirs.type):
            np.testing.assert_allclose(mine.to_numpy(), theirs.to_numpy(), rtol=1e-9, atol=1e-9)
        else:
            assert mine.to_pylist() == theirs.to_pylist(), column
    assert loaded.system == whole.system and loaded.last == whole.last
    assert (loaded.categories is None) == (whole.categories is None)
    if whole.categories is not None:
        assert loaded.categories.tolist() == found.categories.tolist() == whole.categories.tolist()


def test_contests_of_teams_with_all_that_they_take(tmp_path, double):
    team = np.tile(np.repeat([0, 1, 2], 2), 60)
    contest = np.repeat(np.arange(60), 6)
    table = {"contest": contest, "player": RANDOM.permuted(np.tile(np.arange(20), (60, 1)), axis=1)[:, :6].ravel()}
    table |= {"team": team, "rank": team // 2 + 1, "t": contest // 2, "map": SURFACE[contest % 3]}
    table |= {"w": 1.0 - 0.5 * (team == 1)}
    columns = {"team": "team", "category": "map", "weight": "w"}
    found, loaded, whole = by_chunks_and_in_memory(jr.skills(categories=3), pa.table(table), tmp_path, **columns)
    for x, y in zip(jax.tree.leaves(found.state), jax.tree.leaves(whole.state), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
    assert loaded.predictions["category"].to_pylist() == whole.predictions["category"].to_pylist()


def test_words_of_later_rows_mean_what_the_first_rows_say(tmp_path, monkeypatch, double):
    """A chunk of nothing but 1 and 0 would be read as scores, and not as wins and draws."""
    monkeypatch.setattr(table_reading, "RECOGNITION_ROWS", 100)
    score = np.rint(2 * SCORE - 1).astype(int)
    score[100:] = np.abs(score[100:])
    with warnings.catch_warnings(action="ignore"):
        found, _, whole = by_chunks_and_in_memory(jr.elo(), pa.table(matches(score=score)), tmp_path)
    np.testing.assert_allclose(found.state.rating, whole.state.rating, rtol=1e-9)


SIDES = dict(zip(("player_1", "player_2"), NAMES[PLAYERS[:, :2]].T, strict=True)) | {"t": TIMES}
LATER = np.isin(np.arange(N), (250, 300))


@pytest.mark.parametrize("numbers", [False, True], ids=["names", "numbers"])
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (SIDES | {"score": np.where(LATER, -1, TIMES % 2)}, "with this row results are read otherwise than in the "),
        (SIDES | {"score": TIMES % 2, "draw": LATER}, "with this row results are read otherwise than in the "),
        ({"winner": NAMES[PLAYERS[:, 0]], "loser": NAMES[PLAYERS[:, 1]], "t": TIMES, "draw": LATER}, "with this row"),
        (SIDES | {"winner": np.where(LATER, 0, TIMES % 2 + 1)}, "column 'winner' is 0, and in the first rows only 1 "),
    ],
    ids=["scores", "flags", "winners and flags", "codes of winners"],
)
def test_results_that_mean_another_thing_later_are_refused(table, message, numbers, tmp_path, monkeypatch):
    """Some chunks were rated by the notation of the first rows, and some by that of the whole table."""
    monkeypatch.setattr(table_reading, "RECOGNITION_ROWS", 150)
    if numbers:  # of which no copy is made
        table = table | dict(zip([*table][:2], PLAYERS[:, :2].T, strict=True))
    pq.write_table(pa.table(table), tmp_path / "games.parquet")
    with refused(f"games.parquet: row 250 (counting from 0): {message}"):
        jr.rate(jr.elo(), tmp_path / "games.parquet", chunk=CHUNK, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"category": "no"}, "no column 'no'"),
        ({"a": "a", "b": "c"}, "no column 'c'"),
    ],
)
def test_what_chunks_do_not_take_is_refused(columns, message, tmp_path):
    pq.write_table(pa.table(matches()), tmp_path / "games.parquet")
    with refused(message):
        jr.rate(jr.elo(), tmp_path / "games.parquet", out=tmp_path / "out", **columns)


def test_a_folder_is_needed_and_nothing_to_carry_on(tmp_path):
    pq.write_table(pa.table(matches()), tmp_path / "games.parquet")
    rated = jr.rate(jr.elo(), tmp_path / "games.parquet", a="a", b="b")
    for options in ({"chunk": 100}, {"out": tmp_path / "out", "onto": rated}):
        with refused("rating by chunks needs out, a folder, in which it also goes on; give no onto"):
            jr.rate(jr.elo(), tmp_path / "games.parquet", **options)
