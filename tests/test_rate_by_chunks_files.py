"""Files of every kind, rated by chunks: as in memory."""

import json
from functools import partial

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history.out_of_core import table_reading
from tests.conftest import refused

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings("ignore:took", "ignore:.* repeat")
N, CHUNK = 300, 70
RANDOM = np.random.default_rng(5)
PAIRS = RANDOM.permuted(np.tile(np.arange(25), (N, 1)), axis=1)[:, :2]
DAYS = np.sort(RANDOM.integers(0, 200, N)) + np.datetime64("2024-01-01")
SCORE = RANDOM.choice([1.0, 0.5, 0.0], N)
TABLE = {"a": [f"00{x}" for x in PAIRS[:, 0]], "b": [f"00{x}" for x in PAIRS[:, 1]], "score": SCORE.tolist()}
TABLE |= {"date": DAYS.astype(str).tolist()}


def write_rows(rows, path):
    """Rows of the table in a file of the kind that its name says."""
    columns = {name: values[rows] for name, values in TABLE.items()}
    if path.suffix == ".jsonl":
        records = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        path.write_text("\n".join(map(json.dumps, records)))
    else:
        jr.data.write(columns, path)


def check_alike(found, whole):
    assert found.players.tolist() == whole.players.tolist() and found.last == whole.last
    np.testing.assert_allclose(found.state.rating, whole.state.rating, rtol=1e-9)
    loaded = jr.load(found.folder).predictions
    assert loaded.column_names == whole.predictions.column_names
    for name in loaded.column_names:
        mine, theirs = loaded[name].to_pylist(), whole.predictions[name].to_pylist()
        assert mine == (pytest.approx(theirs, rel=1e-9) if isinstance(mine[0], float) else theirs), name


@pytest.mark.parametrize("kind", ["file", "folder", "pattern", "list"])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_files_of_every_kind_are_rated_as_in_memory(suffix, kind, tmp_path, double):
    (tmp_path / "games").mkdir()
    ends = [0, N] if kind == "file" else [0, 90, 200, N]
    paths = [tmp_path / "games" / f"{i}.{suffix}" for i in range(len(ends) - 1)]
    for path, low, high in zip(paths, ends, ends[1:], strict=False):
        write_rows(slice(low, high), path)
    folder = paths[0].parent
    source = {"file": paths[0], "folder": folder, "pattern": f"{folder}/*.{suffix}", "list": paths}[kind]
    if (suffix, kind) == ("jsonl", "folder"):
        with refused("there are no tables"):
            jr.rate(jr.elo(), source, chunk=CHUNK, out=tmp_path / "out")
        return
    whole = jr.rate(jr.elo(), jr.read(source))
    assert whole.players.tolist() == jr.read(TABLE).players.tolist()
    check_alike(jr.rate(jr.elo(), source, chunk=CHUNK, out=tmp_path / "out"), whole)


def dates_as(style):
    return {"date": [day.strftime(style) for day in DAYS.astype(object)]}


FORMS = {  # of columns in CSV
    "the day first": dates_as("%d/%m/%Y"),
    "months by name": dates_as("%d %B %Y"),
    "eight digits": dates_as("%Y%m%d"),
    "hours": dates_as("%Y-%m-%d 18:30"),
    "numbers": {"date": None, "t": (np.arange(N) // 7).tolist()},
    "both names in a cell": {"match": [f"{a} vs {b}" for a, b in zip(TABLE["a"], TABLE["b"], strict=True)]},
    "words": {"score": None, "result": np.select([SCORE == 1, SCORE == 0], ["W", "L"], "D").tolist()},
}


@pytest.mark.parametrize("disorder", [False, True], ids=["in order", "in disorder"])
@pytest.mark.parametrize("form", FORMS)
def test_text_of_csv_is_read_as_in_memory(form, disorder, tmp_path, double, monkeypatch):
    monkeypatch.setattr(table_reading, "RECOGNITION_ROWS", 150)
    columns = TABLE | FORMS[form] | ({"a": None, "b": None} if "match" in FORMS[form] else {})
    order = np.argsort(np.arange(N) % 2, kind="stable") if disorder else np.arange(N)
    columns = {name: np.array(x)[order] for name, x in columns.items() if x is not None}
    jr.data.write(columns, tmp_path / "games.csv")
    whole = jr.rate(jr.elo(), jr.read(tmp_path / "games.csv", sort=True))
    found = jr.rate(jr.elo(), tmp_path / "games.csv", chunk=CHUNK, out=tmp_path / "out")
    if disorder:
        assert sorted(found.players) == sorted(whole.players)
        assert found.quality["log loss"] == pytest.approx(jr.metrics.log_loss(
            whole.predictions["prediction"].to_numpy(), whole.predictions["score"].to_numpy()), rel=1e-9)  # fmt: skip
    else:
        check_alike(found, whole)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,x,1,2024-05-01", "x is on both sides; remove the row"),
        ("x,y,1,05/31/2024", "column 'date' is '05/31/2024', not an ISO date"),
        ("x,y,7,2024-05-01", "score 7.0 is outside"),
        ("x,,1,2024-05-01", "column 'b' has no value"),
        ("x,y,1", "Expected 4 columns, got 3: x,y,1"),
        ("x,y,1,2023-12-31", None),
    ],
)
def test_wrong_rows_of_csv_are_named_by_file_and_line(row, message, tmp_path):
    lines = ["a,b,score,date", *(f"p{i % 9},q{i % 7},1,2024-01-{i // 10 + 10}" for i in range(90))]
    (tmp_path / "0.csv").write_text("\n".join(lines))
    (tmp_path / "1.csv").write_text("\n".join([lines[0], *lines[-5:], row]))
    rate = partial(jr.rate, jr.elo(), [tmp_path / "0.csv", tmp_path / "1.csv"], chunk=40, out=tmp_path / "out")
    if message is None:
        assert len(rate().players) == 18
        return
    with refused(f"1.csv: row 5 (counting from 0, line 7): {message}"):
        rate()
