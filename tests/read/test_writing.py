"""`write` and `frame`."""

import datetime
import os
import sys
from typing import NamedTuple

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from jaxrate.data.table_writing import to_frame, write
from tests.read.tables import MEMORY, names, table

pa = pytest.importorskip("pyarrow")

# Write


@pytest.mark.parametrize("name", ["games.csv", "games.parquet"])
def test_what_is_written_is_read(tmp_path, name):
    columns = {
        "winner": np.array(["Doe, J", 'say "hi"', "Zoë"]),
        "loser": np.array(["x", "y", "Doe, J"], object),
        "time": np.array(["2020-01-01T06", "2020-01-02T12", "2020-01-03T18"], "datetime64[s]"),
        "weight": np.array([0.1, 1 / 3, 1e-9]),
        "neutral": np.array([True, False, True]),
        "side": np.array([1, -1, 0]),
    }
    (tmp_path / name).write_text("what was there before")
    for path in (tmp_path / name, str(tmp_path / name)):
        assert write(columns, path) is None
        assert os.listdir(tmp_path) == [name]
        dataset = read(path, weight="weight", side="side", neutral="neutral")
        assert names(dataset) == np.stack([columns["winner"], columns["loser"]], axis=1).tolist()
        assert dataset.events.time.tolist() == [18262.25, 18263.5, 18264.75]
        assert dataset.events.context.weight.tolist() == columns["weight"].tolist()
        assert dataset.events.context.side.tolist() == [0, -1, 0]


@pytest.mark.parametrize("name", ["games.txt", "games", "games.csv.gz"])
def test_write_to_another_ending(tmp_path, name):
    with pytest.raises(ValueError, match=rf"^{name}: the name must end in \.parquet or \.csv$"):
        write(table(), tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["games.csv", "games.parquet"])
def test_write_all_or_nothing(tmp_path, name, monkeypatch):
    (tmp_path / name).write_text("before")

    def fail(source, target):
        assert os.path.getsize(source) > 0
        assert os.path.dirname(source) == str(tmp_path)
        raise OSError("disk full")

    def fail_midway(table, target):
        target.write(b"half")
        raise OSError("disk full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(os, "replace", fail)
        write(table(), tmp_path / name)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(pa.csv, "write_csv", fail_midway)
        patch.setattr(pa.parquet, "write_table", fail_midway)
        write(table(), tmp_path / name)
    with pytest.raises(ValueError, match=r"column 'b' has shape \(3,\), expected \(1,\)"):
        write(table(a=["x"]), tmp_path / name)
    with pytest.raises(ValueError, match="Could not convert 'x'"):
        write(table(a=[1, "x", object()]), tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "before"
    with pytest.raises(OSError):
        write(table(), tmp_path / "nowhere" / name)


# Frames


class Board(NamedTuple):
    player: object
    when: object
    nothing: object = None


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "s", "ms", "us", "ns"])
def test_frame(kind, unit):
    package = pytest.importorskip(kind)
    board = Board(np.array(["x", "y"], object), np.array(["2020-01-01", "2021-01-01"], f"datetime64[{unit}]"))
    made = to_frame(board, kind)
    assert type(made) is (package.table({}) if kind == "pyarrow" else package.DataFrame()).__class__
    back = pa.table(made)
    assert back.column_names == ["player", "when"]
    assert back["player"].to_pylist() == ["x", "y"]
    assert np.array(back["when"].cast("date32").to_pylist()).tolist() == [datetime.date(y, 1, 1) for y in (2020, 2021)]


def test_frame_of_what_is_installed(monkeypatch):
    for package in ("polars", "pandas", "pyarrow"):
        assert type(to_frame({"x": [1]})).__module__.startswith(package)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"a frame needs {package}: pip install {package}$"):
            to_frame({"x": [1]}, package)
    with pytest.raises(ImportError, match="a frame needs polars, pandas or pyarrow"):
        to_frame({"x": [1]})


def test_bad_frame():
    with pytest.raises(ValueError, match="kind must be one of polars, pandas, pyarrow, got 'excel'"):
        to_frame({"x": [1]}, "excel")
    with pytest.raises(ValueError, match=r"column 'y' has shape \(1,\), expected \(2,\)"):
        to_frame({"x": [1, 2], "y": [1]})


@pytest.mark.parametrize("name", ["games.csv", "games.parquet"])
def test_write_a_named_tuple(tmp_path, name):
    write(Board(["x"], np.array(["2020-02"], "datetime64[M]")), tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    load = pa.csv.read_csv if name.endswith("csv") else pa.parquet.read_table
    assert load(tmp_path / name).to_pylist() == [{"player": "x", "when": datetime.date(2020, 2, 1)}]


@pytest.mark.parametrize("kind", MEMORY, indirect=True)
def test_write_and_frame_any_table(source, tmp_path):
    columns = {"x": [1, 2], "y": ["p", "q"]}
    write(source(columns), tmp_path / "x.parquet")
    assert pa.parquet.read_table(tmp_path / "x.parquet").to_pydict() == columns
    assert to_frame(source(columns), "pyarrow").to_pydict() == columns
