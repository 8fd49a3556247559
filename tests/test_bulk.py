"""From bulk to a service: what `rate` leaves of chunks is carried on, saved and loaded with its clock and games."""

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import refused

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
SYSTEM = jr.glicko(side_advantage=20)
N = 300


@pytest.fixture(scope="module")
def bulk(tmp_path_factory):
    """Matches of 40 players up to the time 1000 in a file, and what was rated of them."""
    folder = tmp_path_factory.mktemp("bulk")
    league = jr.data.simulate.league(40, N, seed=3)
    time = np.linspace(0.0, 1000.0, N)
    a, b = ([f"player {x:02}" for x in side] for side in league.matches.player.T)
    pq.write_table(pa.table({"a": a, "b": b, "score": league.matches.score, "time": time}), folder / "matches.parquet")
    return jr.rate(SYSTEM, folder / "matches.parquet", chunk=100, out=folder / "rated"), folder


def check_goes_on(live, folder, games):
    """As one run over all, and not before the end."""
    with refused("time 0 is earlier than 1000, that of the last event"):
        live.update("player 00", "player 01", 1.0, time=0.0)
    live.update("player 00", "newcomer", 0.5, time=1001.0)
    table = pq.read_table(folder / "matches.parquet").to_pydict()
    for name, value in {"a": "player 00", "b": "newcomer", "score": 0.5, "time": 1001.0}.items():
        table[name].append(value)
    whole, rated = jr.rate(SYSTEM, jr.read(table)), live.to_rated()
    assert rated.players.tolist() == whole.players.tolist() and rated.games.tolist() == whole.games.tolist()
    assert rated.games.sum() == games.sum() + 2 and rated.last == 1001.0 and rated.clock == "numbers"
    for x, y in zip(jax.tree.leaves(rated.state), jax.tree.leaves(whole.state), strict=True):
        np.testing.assert_allclose(x, y, 1e-6)
    last = whole.predictions.slice(N).drop(["row"])
    assert rated.predictions.drop(["row"]).to_pylist()[-1:] == last.to_pylist()


@pytest.mark.parametrize("way", ["returned", "loaded", "saved", "live"])
def test_a_service_goes_on_from_bulk(bulk, tmp_path, way):
    found, folder = bulk
    if way == "saved":
        jr.save(tmp_path / "run", found)
    elif way == "live":
        jr.save(tmp_path / "run", jr.live.start_history(found))
    begin = found if way == "returned" else jr.load(folder / "rated" if way == "loaded" else tmp_path / "run")
    if way != "returned":
        assert repr(begin).startswith("History: 300 matches of ") and begin.games.tolist() == found.games.tolist()
    check_goes_on(jr.live.start_history(begin), folder, found.games)


def test_a_run_that_is_not_whole_and_a_folder_of_bulk_are_refused(bulk, tmp_path, monkeypatch):
    found, folder = bulk
    with refused("has a run by chunks, which `load` takes as it is; save into another folder"):
        jr.save(folder / "rated", found)

    def stop(rows):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxrate.history.out_of_core.rating_by_chunks.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("jaxrate.history.out_of_core.rating_by_chunks.CHECKPOINT_WORK_RATIO", 0.0)
    with pytest.raises(KeyboardInterrupt):
        jr.rate(SYSTEM, folder / "matches.parquet", chunk=jr.history.Chunks(100, progress=stop), out=tmp_path / "part")
    with refused("of 300 rows are rated there; rate them again with the same `out` to go on"):
        jr.load(tmp_path / "part")


def test_a_list_of_bulk_is_that_of_its_end(bulk):
    found, folder = bulk
    board, whole = jr.leaderboard(found, top=40), jr.leaderboard(jr.load(folder / "rated"), active="all", top=40)
    for name in ("rank", "player", "rating", "deviation", "games"):
        np.testing.assert_array_equal(board[name], whole[name])
    later, end = (jr.leaderboard(found, as_of=time, top=40) for time in (2000.0, 1000.0))
    assert (np.sort(later.deviation) > np.sort(end.deviation)).all()
    with refused("time 500 is before the last event of"):
        jr.leaderboard(found, as_of=500.0)
    for rules in ({"min_games": 3}, {"active": 100.0}, {"since": 5.0}):
        with refused("the predictions of this run by chunks are in its files alone"):
            jr.leaderboard(found, **rules)


def test_a_history_of_which_some_events_are_in_files_tells_its_end(bulk):
    """Lists counted the games of the few that followed, and ratings of early dates were those of the end."""
    found, folder = bulk
    more = {"a": ["player 03"], "b": ["player 05"], "score": [1.0], "time": [1002.0]}
    rated = jr.rate(found.system, jr.read(more, side="a", history=found), onto=found)
    board = jr.leaderboard(rated, top=40)
    onto_loaded = jr.rate(found.system, jr.read(more, side="a", history=found), onto=jr.load(folder / "rated"))
    assert onto_loaded.predictions.num_rows == N + 1 and rated.games.sum() == found.games.sum() + 2
    assert board.games.sum() == 2 * (N + 1) and board.group is None and len(board.player) == len(found.players)
    for ask in (jr.ratings, jr.history.rating_table, lambda x, time: jr.history.rating_at(x, "player 03", time)):
        with refused("time 500 is before the last event of"):
            ask(rated, time=500.0)
    with refused("in its files alone"):
        jr.history.peak_ratings(rated)
