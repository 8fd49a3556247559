"""Folders that were damaged or forged: one ValueError that names the file, soon, and without much memory."""

import io
import os
import shutil
import zipfile

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.storage.run_folder import RUN_FILE, RUN_FILES
from tests.fuzz.driver import drawn
from tests.fuzz.saved import REFERENCE, about_of, fuzz, refused, write_about

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(REFERENCE / "glicko2", tmp_path / "run")


@pytest.mark.parametrize("part", range(4))
def test_whatever_is_changed(part):
    for case in range(75):
        fuzz(drawn(part, case))


@pytest.mark.parametrize("name", [RUN_FILE, *RUN_FILES])
def test_what_is_no_plain_file_is_not_waited_for(run, name):
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(ValueError, match=f"{name} is no regular file"):
        jr.load(run)
    (run / name).unlink()
    for target in ("/dev/zero", run.parent, run / name):
        (run / name).symlink_to(target)
        with pytest.raises(ValueError, match=f"{name} (is no regular file|cannot be read)"):
            jr.load(run)
        (run / name).unlink()


def test_large_files_are_not_read(run):
    for name in (RUN_FILE, *RUN_FILES):
        with (run / name).open("ab") as file:
            size = file.tell()
            file.truncate(1 << 40)  # takes no room
        with pytest.raises(ValueError, match=f"{name} would take"):
            jr.load(run)
        os.truncate(run / name, size)
    assert not refused(run)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000, '"\\ud800', "null", "", "\xff"])
def test_json_of_any_kind(run, text):
    (run / RUN_FILE).write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match="run.json is (damaged|missing)"):
        jr.load(run)


WRONG = {
    "format": [None, "4", 4.0, True, 99, -1],
    "jaxrate": [None, 1, []],
    "system": [None, 1, [], {}],
    "settings": [None, [], {"x": {}}, {"x": 10**400}, 7],
    "params": [None, [], {"tau": "x"}, {"tau": [1]}, {"tau": float("nan")}, {"tau": True}],
    "period": ["x", -1, 0, float("nan"), [], True, 10**400, 1e300, 1e-300],
    "matches": [-1, 4, 10**12, 10**30, 5.0, None, "5", True],
    "players": [-1, 3, 5, 10**12, 10**30, 4.0, None, "4", True],
    "last": ["x", float("inf"), [], 10**400, 1e300],
    "clock": ["days", 1, [], {}],
    "options": [None, [], 1],
    "categories": [[], [1, "x"], "x", {}, [[1]], ["x"], [10**400]],
}


@pytest.mark.parametrize("key", WRONG)
def test_each_key_of_another_type_or_gone(run, key):
    whole = (run / RUN_FILE).read_bytes()
    for value in (*WRONG[key], "gone"):
        (run / RUN_FILE).write_bytes(whole)
        about = about_of(run)
        about[key] = value
        if value == "gone":
            del about[key]
        write_about(run, about)
        if value != "gone" or key != "matches":
            with pytest.raises(ValueError, match="run: (run.json|state.npz|ratings.parquet|predictions.parquet)"):
                jr.load(run)


def packed(**leaves):
    file = io.BytesIO()
    np.savez(file, **leaves)
    return file.getvalue()


def leaves_of(folder):
    with np.load(folder / "state.npz") as file:
        return dict(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: {"rating": x["rating"].astype(int)}, "rating is of int64, not of float32"),
        (lambda x: {"rating": x["rating"].astype(object)}, "Object arrays cannot be loaded"),
        (lambda x: {"rating": x["rating"][:, None]}, "it is not a state of"),
        (lambda x: {"rating": x["rating"][:3]}, "not of 4 players"),
        (lambda x: {"rating": x["rating"] * np.nan}, "rating is not a number for some player"),
    ],
)
def test_leaves_of_another_kind(run, change, message):
    leaves = leaves_of(run)
    (run / "state.npz").write_bytes(packed(**(leaves | change(leaves))))
    with pytest.raises(ValueError, match=f"state.npz is damaged .*{message}"):
        jr.load(run)


def test_players_who_have_not_played_have_no_time_and_either_precision_loads(run):
    leaves = leaves_of(run)
    leaves = {key: x.astype(float) for key, x in leaves.items()} | {"time": np.array([np.inf] * 4)}
    (run / "state.npz").write_bytes(packed(**leaves))
    assert jr.load(run).state.time.dtype == float


def test_archives_that_claim_much(run):
    def header(shape):
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        return file.getvalue()

    def archive(names, data, method=zipfile.ZIP_STORED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as made:
            for name in names:
                made.writestr(f"{name}.npy", data)
        return file.getvalue()

    names = ["rating", "variance", "volatility", "time"]
    bombs = [
        archive(names, header((10**13,)) + bytes(16)),
        archive(names, header((-4,)) + bytes(16)),
        archive(names, header((10**400,)) + bytes(16)),
        archive(names, header((10**8,)) + bytes(4 * 10**8 // 100), zipfile.ZIP_DEFLATED),
        archive(names, bytes(100)),
        archive([], b""),
        b"PK\5\6" + bytes(18),
        bytes(1000),
    ]
    for raw in bombs:
        (run / "state.npz").write_bytes(raw)
        with pytest.raises(ValueError, match=r"state.npz is damaged"):
            jr.load(run)


def table_of(folder, name):
    return pa.parquet.read_table(folder / name)


def with_column(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.chunked_array([pa.array(values)]))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ratings.parquet", lambda t: t.slice(1), "it has 3 rows, not 4"),
        ("ratings.parquet", lambda t: with_column(t, "games", [1, 1, 1, -1]), "less than no games"),
        ("ratings.parquet", lambda t: with_column(t, "player", [["Ada"]] * 4), "player is of list"),
        ("ratings.parquet", lambda t: with_column(t, "player", ["Ada"] * 4), "a name that no player has"),
        ("predictions.parquet", lambda t: with_column(t, "a", ["Eve"] * 5), "a holds a name that no player has"),
        ("predictions.parquet", lambda t: with_column(t, "time", ["x"] * 5), "time is of string"),
        ("predictions.parquet", lambda t: t.drop_columns(["deviation_a"]), "deviation_a is missing"),
        ("predictions.parquet", lambda t: with_column(t, "score", [1.0, None, 1.0, 1.0, 1.0]), "no value in some row"),
        ("predictions.parquet", lambda t: with_column(t, "participants", [0] * 6), "less than one participant"),
    ],
)
def test_tables_of_another_kind(run, name, change, message):
    if "participant" in message:
        run = shutil.copytree(REFERENCE / "weng_lin", run.with_name("contests"))
    pa.parquet.write_table(change(table_of(run, name)), run / name)
    with pytest.raises(ValueError, match=rf"(ratings|predictions).parquet is damaged \(.*{message}"):
        jr.load(run)


def test_tables_that_claim_much(run):
    """Two million equal rows take a few thousand bytes."""
    table = table_of(run, "predictions.parquet").slice(0, 1).take(pa.array(np.zeros(2 * 10**6, int)))
    pa.parquet.write_table(table, run / "predictions.parquet")
    write_about(run, about_of(run) | {"matches": 2 * 10**6})
    assert (run / "predictions.parquet").stat().st_size < 10**5
    with pytest.raises(ValueError, match="predictions.parquet is damaged .it claims more than it holds"):
        jr.load(run)


def test_matches_that_are_said_to_be_contests(run):
    about = about_of(run)
    about["participations"] = about.pop("matches")
    write_about(run, about)
    with pytest.raises(ValueError, match="predictions.parquet is damaged .*contest is missing"):
        jr.load(run)
