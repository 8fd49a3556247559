"""Some thousand hostile tables, in a run of the tests; many more by hand, see `tests.fuzz.readers`."""

import tracemalloc
from decimal import Decimal

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full
from tests.fuzz.driver import drawn
from tests.fuzz.readers import check, fuzz

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("polars")

GAMES = {"a": ["x", "y"], "b": ["y", "x"], "score": [1, 0]}


@pytest.fixture(autouse=True, scope="module")
def memory_tracing():
    """Ends with these tests: it slows down all others."""
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("seed", mark_full(range(10), 0))
def test_hostile_tables(seed):
    assert sum(fuzz(drawn(seed, case)) for case in range(200)) == 200


@pytest.mark.parametrize("part", ["weight", "score", "a", "time", "category", "columns", "drop"])
def test_arguments_that_name_no_column(part):
    for name in ("", 0, ["a", 3.5], 3.5, {}, [["a"], "b"]):
        with pytest.raises(ValueError, match=f"^{part} must be "):
            jr.read(GAMES, **{part: name})
    with pytest.raises(ValueError, match="^no column 3 "):
        jr.read(GAMES, **{part: 3})


def test_lengths_that_are_numbers_or_not():
    for length in ("7", np.array([1.0, 2.0]), 10**400, [7], 1j, True):
        with pytest.raises(ValueError, match="^periods: length must be a number or None, got "):
            jr.periods(jr.matches([[0, 1]], [1]), length)
    for length in (7, np.float32(7), np.array(7)):
        assert check(jr.periods(jr.matches([[0, 1]], [1]), length)) == 2


def test_signalling_nan_and_huge_numbers():
    strange = Decimal("sNaN")
    with pytest.raises(ValueError, match=r"round 0, team 0 .*Decimal\('sNaN'\) cannot be the name of a player"):
        jr.data.from_teams([[[strange], ["x"]]])
    for rank in (strange, 10**400):
        with pytest.raises(ValueError, match="round 0, team 1 .*: rank is .*, not a finite number"):
            jr.data.from_teams([[["y"], ["x"]]], [[1, rank]])
    with pytest.raises(ValueError, match="row 0 .*column 'score' is .'1'., not a number"):
        jr.read(GAMES | {"score": [1, np.zeros(2)]})


def test_halves_of_surrogates():
    with pytest.raises(ValueError, match=r"^row 1 .*column 'a' is '\\ud800', which is no Unicode text$"):
        jr.read(GAMES | {"a": ["x", "\ud800"]})


def test_columns_of_polars():
    polars = pytest.importorskip("polars")
    wide = polars.DataFrame({"a": [2**70], "b": [1], "score": [1]}, schema_overrides={"a": polars.Int128})
    with pytest.raises(ValueError, match="^Arrow cannot read the columns of this table: "):
        jr.read(wide)
    data = jr.read(polars.DataFrame({"a": [b"p", b"q"], "b": [b"q", b"p"], "score": [1, 0], "x": [0, 1]}), drop="x")
    assert data.players.tolist() == [b"p", b"q"]


@pytest.mark.parametrize("far", [np.datetime64(10**9, "Y"), np.datetime64(-(10**8), "M")])
def test_times_that_numpy_would_turn_into_others(far):
    near = np.datetime64("2024-01-01", "ns")
    for times in ([near, far], [far, far], np.array([far, far])):
        said = f"row {int(times[0] is near)} .*, (not within 200,000 years|before the year 1000)"
        with pytest.raises(ValueError, match=said):
            jr.read(GAMES | {"time": times})
    weeks = np.array(["1970-01-01", "1970-01-15"], "datetime64[7D]")
    assert jr.read(GAMES | {"time": weeks}).matches.time.tolist() == [0, 14]
    assert jr.read(GAMES | {"time": [np.datetime64("1970-01-02"), near]}).matches.time.tolist() == [1, 19723]


def test_large_numbers_and_missing_times():
    table = {"contest": [1, 1], "player": ["x", "y"], "rank": [1, 2]}
    assert jr.read(table | {"c": [2**53 + 1] * 2}, ceiling="c").rounds.events.ceiling.tolist() == [2.0**53]
    with pytest.raises(ValueError, match=r"^time has shape \(3, 1\), expected \(0,\)$"):
        jr.rounds([], [], [], time=np.full((3, 1), np.datetime64("NaT", "D")))
    with pytest.raises(ValueError, match=r"^row 1 .*time is missing .contest 0.\n  row 2 .*missing"):
        jr.rounds([0, 0, 0], [0, 1, 2], [0, 1, 2], time=np.array(["2020", "NaT", "NaT"], "M8[D]"))


def test_players_that_have_no_column_beside_a_result_of_another_name():
    table = {"x": ["p", "q"], "b": ["q", "p"], "result": ["W", "L"]}
    with pytest.raises(ValueError, match="no column 'nowhere'"):
        jr.read(table, a="nowhere")
    with pytest.raises(ValueError, match="no column 'b'"):
        jr.read({"x": ["p"], "result": ["W"]}, a="x")
    with pytest.raises(ValueError, match="^participant must be the name of a column, got"):
        jr.read({"race": [1, 1], "driver": ["x", "y"], "position": [1, 2]}, participant=["driver"])


@pytest.mark.filterwarnings("ignore:took")
def test_a_cell_that_is_an_array_without_axes_is_a_name():
    players = []
    for first in (np.array("x"), ["x"]):
        cells = np.empty(3, object)
        cells[:] = [first, ["y", "z"], np.array(["x", "v"])]
        players.append(jr.read({"winner": cells, "loser": ["z", "x", "y"]}).rounds.events.player.tolist())
    assert players[0] == players[1]
