"""Histories that are saved, loaded and carried on without pyarrow."""

import sys
from io import BytesIO

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.storage.npz_tables import (
    columns_to_npz,
    concatenate_tables,
    read_npz_names_and_games,
    read_npz_predictions,
)
from tests.conftest import refused


def feed_matches(live, which):
    for i, (a, b, score) in enumerate([("Ada", "Bö", 1.0), ("Bö", "Cy", 0.5), ("Cy", "Ada", 0.0), ("Di", "Ada", 1.0)]):
        if i in which:
            live.update(a, b, score, time=["2026-05-01", "2026-05-02", "2026-05-03T12:00", "2026-05-04"][i])


def feed_contests(live, which):
    rounds = [[["Ada"], ["Bö"], ["Cy"]], [["Cy"]], [["Bö", "Di"], ["Ada"]], [["Di"], ["Cy"], ["Ada"]]]
    for i in which:
        live.update_round(rounds[i])


def save_in_two_parts(path, system, feed):
    """The first half is saved, loaded, and followed by the second."""
    live = jr.live.start_history(system)
    feed(live, range(2))
    jr.save(path, live)
    rated = jr.load(path)
    assert rated.players.tolist() == live.players and repr(rated) == repr(live.to_rated())
    again = jr.live.start_history(rated), jr.live.start_history(live.to_rated())
    assert again[0].rating("Ada") == live.rating("Ada") == again[1].rating("Ada")
    feed(again := jr.live.start_history(rated), range(2, 4))
    jr.save(path, again)
    assert jr.history.rating_table(jr.load(path))["games"].sum() == sum(jr.load(path).games)


@pytest.mark.filterwarnings("ignore:replaced a run of")
def test_a_live_history_is_saved_and_loaded_without_pyarrow(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    cases = ("matches", jr.glicko(), feed_matches), ("contests", jr.weng_lin(), feed_contests)
    with monkeypatch.context() as without:
        for name in [x for x in sys.modules if x.partition(".")[0] == "pyarrow"]:
            without.setitem(sys.modules, name, None)
        for name, system, feed in cases:
            save_in_two_parts(tmp_path / name, system, feed)
    found = sorted(x.name for x in (tmp_path / "matches").iterdir())
    assert found == ["predictions.npz", "ratings.npz", "run.json", "state.npz"]
    for name, system, feed in cases:
        live = jr.live.start_history(system)
        feed(live, range(4))
        rated, wanted = jr.load(tmp_path / name), live.to_rated()
        assert isinstance(rated.predictions, arrow.Table)
        assert rated.predictions.schema == wanted.predictions.schema
        for column in set(wanted.predictions.column_names) - {"row"}:
            one, two = (table[column] for table in (rated.predictions, wanted.predictions))
            if arrow.types.is_floating(one.type):
                assert one.is_null().equals(two.is_null())
                np.testing.assert_allclose(one.to_numpy(), two.to_numpy(), 1e-5)
            else:
                assert one.to_pylist() == two.to_pylist()
        assert rated.games.tolist() == wanted.games.tolist()
        assert (rated.last, rated.clock) == (wanted.last, wanted.clock)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, 1e-6), rated.state, wanted.state)
        jr.save(tmp_path / name, rated)
        assert {x.name for x in (tmp_path / name).iterdir()} >= {"predictions.parquet", "ratings.parquet"}
        assert not [*(tmp_path / name).glob("*s.npz")]


COLUMNS = {
    "row": np.arange(2),
    "time": np.array(["2026-05-01", "2026-05-02"], "datetime64[D]"),
    "a": np.array(["Ada", "Bö\0"], object),
    "b": np.array(["Bö\0", "Ada"], object),
    "score": np.array([1.0, 0.5]),
    **{name: np.array([0.25, 0.75]) for name in ("prediction", "rating_a", "rating_b")},
}
PLAYERS = np.array(["Ada", "Bö\0"], object)


def test_forged_columns_are_refused():
    raw = columns_to_npz(COLUMNS)
    read = lambda raw, count=2: read_npz_predictions(raw, "matches", count, PLAYERS)  # noqa: E731
    assert read(raw)["b"].to_pylist() == ["Bö\0", "Ada"]
    with refused("a holds a name that no player has"):
        read(columns_to_npz(COLUMNS | {"a": np.array(["Ada", "Cy"], object)}))
    with refused("row has 2 rows, not 3"):
        read(raw, 3)
    with refused("score is of int64"):
        read(columns_to_npz(COLUMNS | {"score": np.arange(2)}))
    with refused("b is missing"):
        read(columns_to_npz({name: x for name, x in COLUMNS.items() if name != "b"}))
    with refused("its ids are not those of 2 players"):
        read_npz_names_and_games(columns_to_npz({"id": np.array([0, 0]), "player": PLAYERS, "games": np.arange(2)}), 2)
    with np.load(BytesIO(raw)) as archive:
        stored = dict(archive)
    for part, values, message in (
        ("code", [0, 2], "a has a label that is not there"),
        ("size", [9, -2], "the labels of a are not as long as they claim"),
        ("text", [[1] * 7], "a is no column"),
    ):
        np.savez(forged := BytesIO(), **stored | {f"a:{part}": np.array(values)})
        with refused(message):
            read(forged.getvalue())


def test_tables_end_to_end_agree_in_their_columns():
    one = {"row": np.arange(1), "participants": np.array([2]), "time": np.full(1, np.nan)}
    two = {"row": np.arange(2), "participants": np.array([3, 3]), "teams": np.array([2, 2])}
    two |= {"time": np.array(["2026-05-01"] * 2, "datetime64[D]"), "rank_needed": np.array([1, 2], np.int32)}
    found = concatenate_tables(one, two)
    assert found["teams"].tolist() == [2, 2, 2] and found["rank_needed"].tolist() == [0, 1, 2]
    assert np.isnat(found["time"]).tolist() == [True, False, False] and found["rank_needed"].dtype == np.int32
