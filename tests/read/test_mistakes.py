"""What `read` says about bad rows, columns and arguments."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from jaxrate.data.dataset_names import NamesOfEarlierData, check_known_categories, mix_categories, unify_names
from tests.conftest import mark_full, refused
from tests.read.tables import KINDS, MEMORY, table

pa = pytest.importorskip("pyarrow")
SOME_KINDS = pytest.mark.parametrize("kind", mark_full(KINDS, "csv", "polars"), indirect=True)

# Errors about rows: (columns that go wrong, arguments, the first bad row, what is said)

DAYS = [datetime.date(2020, 1, day) for day in (2, 3, 1)]
ROWS = {
    "no name": ({"b": ["Bob", None, None]}, {}, 1, "column 'b' has no value"),
    "no time": ({"time": [None, 1, 2]}, {}, 0, "column 'time' has no value"),
    "no date": ({"time": [DAYS[0], None, DAYS[1]]}, {"sort": True}, 1, "column 'time' has no value"),
    "self": ({"b": ["Bob", "Bob", "Cy"]}, {}, 1, "Bob is on both sides"),
    "score above": ({"score": [1.0, 0.0, 1.5]}, {}, 2, r"score 1.5 is outside \[0, 1\]"),
    "side": ({"x": [1, -1, 2]}, {"side": "x"}, 2, r"side 2.0 is outside \[-1, 1\]"),
    "weight": ({"x": [1, 0, 2]}, {"weight": "x"}, 1, "weight 0.0 is not above 0"),
    "neutral": ({"x": [1, 0, 2]}, {"side": "a", "neutral": "x"}, 2, "column 'x' is 2.0, expected true or false"),
    "text score": ({"score": ["1", "win", "0"]}, {}, 1, "column 'score' is 'win', not a number"),
    "infinite column": ({"x": [1.0, np.inf, 2.0]}, {"columns": "x"}, 1, "column 'x' is inf, not a finite number"),
    "text time": ({"time": ["2020-01-31", "2020-02-30", "x"]}, {}, 1, "column 'time' is '2020-02-30', not an ISO date"),
    "local time": ({"time": ["31/01/2020", "2020-02-01", "x"]}, {}, 0, r"'31/01/2020', not .* \(2024-01-31, "),
    "some zones": ({"time": ["2020-01-31", "2020-02-01", "2020-02-02 10:00Z"]}, {}, 2, "10:00Z', not an ISO date"),
    "unsorted": ({"time": [1.0, 3.0, 2.5]}, {}, 2, "time 2.5 is earlier than 3 in the row before; .*sort=True"),
    "unsorted dates": ({"date": DAYS}, {}, 2, "time 2020-01-01 is earlier than 2020-01-03 in the .*sort=True"),
}  # fmt: skip


@pytest.mark.parametrize("columns, arguments, row, message", ROWS.values(), ids=ROWS)
def test_bad_row(source, say, columns, arguments, row, message):
    with pytest.raises(ValueError, match=say(row) + ".*" + message):
        read(source(table(**columns)), **arguments)


def test_bad_row_after_sorting_and_dropping(source, say):
    columns = {"a": list("xyxy"), "b": list("yxyx"), "score": [7.0, 1.0, 5.0, 0.0]}
    columns |= {"time": [1, 3, 4, 2], "bad": [1, 0, 0, 0]}
    with pytest.raises(ValueError, match=say(2) + "score 5.0"):
        read(source(columns), sort=True, drop="bad")
    with pytest.raises(ValueError, match=say(0) + "score 7.0"):
        read(source(columns), sort=True)


@pytest.mark.parametrize("kind", [*MEMORY, "parquet"], indirect=True)
@pytest.mark.parametrize("column", ["a", "b", "time", "w"])
def test_nan(source, say, column):
    nan = {"a": [1.0, 2.0], "b": [2.0, 1.0], "score": [1.0, 1.0], "time": [1.0, 2.0], "w": [1.0, 2.0]}
    nan[column] = [nan[column][0], float("nan")]
    with pytest.raises(ValueError, match=say(1) + f"column '{column}' has no value"):
        read(source(nan), weight="w")


def row_of(row):
    return rf"^row {row} \(counting from 0\): "


NOBODY = None, float("nan"), np.datetime64("NaT", "D"), pytest.importorskip("pandas").NA
PAIR, DATE, MOMENT = {"a": ["x", "y"], "b": ["y", "x"]}, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 2)
STRANGE = (
    ("(inf, not a finite|'Infinity', no result)", Decimal("inf")),
    ("'sNaN', not a number", Decimal("sNaN")),
    ("'1j', not a number", 1j),
)


def scored(*scores):
    return {"a": ["x"] * len(scores), "b": ["y"] * len(scores), "score": [*scores]}


VALUES = [  # of a dict; what is said
    *((PAIR | {"b": [3, nothing]}, row_of(1) + "column 'b' has no value") for nothing in NOBODY),
    *((PAIR | {"a": [nothing, "y"], "b": ["x", "x"]}, row_of(0) + "column 'a' has no value") for nothing in NOBODY),
    (PAIR | {"time": [DATE, 3]}, row_of(1) + "column 'time' is '3', not an ISO date"),
    (PAIR | {"score": [1, 10**400]}, row_of(1) + r"column 'score' is '1000.*\.\.\. \([0-9,]+ characters\), no result"),
    (PAIR | {"time": [DATE, float("nan")]}, row_of(1) + "column 'time' has no value"),
    *((scored(*before, value), rf"{row_of(len(before))}(column ')?score'? is {said}")
      for said, value in STRANGE for before in ((), (1,), (1.0, 1))),
    (scored(10**10_000), "is 'of type int, too long to show', not a number$"),
    *((table(b=x), "column 'b' must be an array of one dimension or a list") for x in ("xyz", np.zeros((3, 1)))),
    (table(b=["x", "y"]), "column 'b' has 2 rows, 'a' has 3"),
    (table(b=pa.array([{"x": 1}] * 3)), r"row 0 .*column 'b' is \{'x': 1\}, which cannot be a name; write text"),
    ([{"a": "x", "b": "y", "score": 1}, ["y", "z", 1]], row_of(1) + "not a dict, as the first row is, but a list$"),
    ([{"a": "x", "b": "y", "score": 1}, {"a": "y", "score": 1}], row_of(1) + "column 'b' has no value"),
    (["a", 1], "cannot read a list; give a path, a table"),
    *((PAIR | {"date": pa.array([2**62, 5], pa.timestamp(unit))}, r"row \d .*(time|date)")
      for unit in ("s", "ms", "us")),  # which Python's datetime does not hold
]  # fmt: skip


@pytest.mark.parametrize("source, message", VALUES)
def test_values_that_are_none(source, message):
    source = {"score": [1.0, 0.0]} | source if isinstance(source, dict) else source
    with pytest.raises(ValueError, match=message):
        read(source)


def test_numbers_of_several_types():
    for scores in ([Fraction(1, 4), 1], [True, 0.5], [Decimal("0.25"), 1]):
        assert read(PAIR | {"score": scores}).events.score.tolist() == [float(x) for x in scores]
    for number, as_read in ((3, int), (2**63, str), (2**64 - 1, str)):  # which 64 bits with a sign do not hold
        names = {"a": np.array([1, 1], np.int8), "b": np.array([2, number], np.uint64), "score": [1, 1]}
        assert read(names).players.tolist() == [*map(as_read, (1, 2, number))]
    assert read(PAIR | {"score": [1, 0], "time": [DATE, MOMENT]}).matches.time.tolist() == [18262, 18263]


ARGUMENTS = {
    "misspelt": ({"score": "scor"}, r"no column 'scor'; did you mean 'score'\? \(there are: a, b, score\)"),
    "missing side": ({"side": "home"}, "no column 'home' .*; where the first player has the side .* say side='a'"),
    "three categories": ({"category": ("a", "b", "a")}, "category must be one or two columns, of a and of b, got a,"),
    "season of a contest": ({"contest": "a", "participant": "b", "season": "score"}, "contests take no season"),
    "neutral without side": ({"neutral": "score"}, "neutral needs side"),
    "contest and a": ({"contest": "score", "a": "a"}, "give the columns a and b, or winner and loser, or those of"),
    "rank and score": (
        {"contest": "a", "participant": "b", "rank": "score", "score": "score"},
        "give rank, lower .* and not both",
    ),
    "side of a contest": ({"contest": "a", "participant": "b", "side": "score"}, "contests take no side"),
    "upcoming winner": ({"winner": "a", "upcoming": True}, "matches to come have columns a and b"),
    "players of another type": ({"history": NamesOfEarlierData([1, 2])}, "row 0 .*column .a. is .*, not a whole"),
    "a player twice": ({"history": NamesOfEarlierData(["Bob", "Ann", "Bob"])}, "history has a name of players twice"),
    "score of a winner": ({"winner": "a", "loser": "b", "score": "score"}, "the score of a winner is 1"),
    "sort by nothing": ({"sort": True}, "sort=True needs a column of time"),
    "side of a winner": ({"winner": "a", "loser": "b", "side": "a"}, "side='a' would tell the result"),
}


@pytest.mark.parametrize("arguments, message", ARGUMENTS.values(), ids=ARGUMENTS)
@SOME_KINDS
def test_bad_argument(source, kind, arguments, message):
    with pytest.raises(ValueError, match=("^" if kind in MEMORY else rf"^games\.{kind}: ") + message):
        read(source(table()), **arguments)


MIXTURES = {
    "a strange part": ({"Bob": ["Cyy"]}, "the mixture 'Bob' has 'Cyy', which is no cat"),
    "nobody plays it": ({"Bobb": None}, "the mixture 'Bobb' is in no row; did you"),
    "a part twice": ({"Bob": ["Cy", "Cy"]}, "the shares of the mixture 'Bob' must be from 0 and sum to 1"),
    "shares beyond one": ({"Bob": {"Ann": 0.5, "Cy": 0.6}}, "the shares of the mixture 'Bob' must be from 0 and sum"),
    "nothing but mixtures": (
        dict.fromkeys(["Ann", "Bob", "Cy"]),
        "the shares of the mixture 'Ann' must be",
    ),
}


@pytest.mark.parametrize("mixtures, message", MIXTURES.values(), ids=MIXTURES)
def test_bad_mixtures(source, mixtures, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        mix_categories(read(source(table()), category="b"), mixtures)


def test_a_category_that_a_history_does_not_know():
    known = NamesOfEarlierData([], ["q", "p"])
    data = read(table(x=[*"qpq"], y=[*"pqr"]), category=("x", "y"), history=known)
    assert data.categories.tolist() == ["q", "p", "r"]
    check_known_categories(data, data.categories)
    with pytest.raises(ValueError, match="^row 2 .*: unknown category 'r' .there are q, p"):
        check_known_categories(data, known.categories)
    check_known_categories(data, known.categories, ["r"])
    with pytest.raises(ValueError, match="^row 0 .*: unknown category 'p' [^\\n]*\n *row 1 .* 'p' [^\\n]*\n *row 2"):
        check_known_categories(data, ["q"])
    with pytest.raises(ValueError, match="^row 0 .*: unknown category 'r'"):
        check_known_categories(mix_categories(data, {"p": ["r", "q"]}), ["q"])


def test_categories_are_mixed_once_and_after_names_are_unified():
    mixed = mix_categories(read(table(), category="b"), {"Bob": None})
    with pytest.raises(ValueError, match="mixed already; give all mixtures at once"):
        mix_categories(mixed, {"Ann": ["Cy"]})
    with pytest.raises(ValueError, match="mixed already; unify names before mixing categories"):
        unify_names(mixed)


ROWS_SHOWN = {  # columns, arguments, the call to write, and the first row that is shown below
    "no players": (
        {"this": ["Ann", "Bob"], "that": ["Bob", "Cy"], "n": [1, 2]},
        {},
        "no column 'a'; name the columns: of matches both players, as a='this', b='that'; of those in which somebody",
        "Ann Bob 1",
    ),
    "no results": (
        {"home": ["Ann"], "away": ["Bob"], "venue": ["Rome"]},
        {},
        "no column 'score'; name that of the results, as score='...'; or those of the points of both, as margin=",
        "Ann Bob Rome",
    ),
    "no ranks": (
        {"contest": [1, 1], "player": ["Ann", "Bob"], "lap": [60, 61]},
        {},
        "name that of ranks, as rank='...'; or of scores, of which higher is better, as score='...'",
        "1 Ann 60",
    ),
}


@pytest.mark.parametrize("columns, arguments, message, row", ROWS_SHOWN.values(), ids=ROWS_SHOWN)
def test_what_cannot_be_read_shows_rows_and_the_call(columns, arguments, message, row):
    with pytest.raises(ValueError) as error:
        read(columns, **arguments)
    said, header, *rows = str(error.value).split("\n")
    assert message in said and header.split() == [*columns] and " ".join(rows[0].split()) == row


def test_the_command_shows_rows_and_its_options(jaxrate, games):
    code, _, errors = jaxrate("rate", games("race,who,finish\n1,Ann,1\n1,Bob,2\n"))
    said, *rows = errors.splitlines()[-4:]
    assert (
        code == 2 and "no column 'a'; name the columns: of matches both players, as --a race --b who; of those" in said
    )
    assert "as --contest race --participant ... --rank finish, or --score ..." in said
    assert [row.split() for row in rows] == [["race", "who", "finish"], ["1", "Ann", "1"], ["1", "Bob", "2"]]


@pytest.mark.parametrize("kind", [*MEMORY, "parquet"], indirect=True)
def test_wrong_types(source):
    with pytest.raises(ValueError, match="columns must be of the same type, but 'a' holds .*string, as 'Ann' and 'b'"):
        read(source(table(b=[1, 2, 3])))
    with pytest.raises(ValueError, match="column 'score' is datetime.date.2020, 1, 2., not a number"):
        read(source(table(score=DAYS)))
    for kind, times in ("bool", [False, True, True]), ("time", [datetime.time(1)] * 3):
        with pytest.raises(ValueError, match=f"column 'time' must hold dates, timestamps or numbers, got {kind}"):
            read(source(table(time=times)))


def test_repeated_columns(games, tmp_path):
    repeated = pa.Table.from_arrays([pa.array([i]) for i in (1, 2, 1, 2)], ["a", "b", "score", "b"])
    pa.parquet.write_table(repeated, tmp_path / "games.parquet")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2, 1, 2]], columns=["a", "b", "score", "b"])
    for source in (repeated, tmp_path / "games.parquet", frame):
        with pytest.raises(ValueError, match="several columns have the same name: b$"):
            read(source)
    text = games('a,b,score,b,,""\n1,2,1,3,x,y\n\n4,5,0,6,"x\ny",\n')  # columns of text have a number each
    data = read(text, b="b (2)", columns=[])
    assert data.players[data.matches.player].tolist() == [["1", "3"], ["4", "6"]]
    with pytest.raises(ValueError, match=r"row 1 \(counting from 0, line 5\): column 'column 6' has no value"):
        read(text, b="b (1)", category="column 6")


@pytest.mark.filterwarnings("ignore:took a and b for teams")
def test_odd_cells_and_moments_are_no_internal_errors():
    """Found by fuzzing: an array of no dimension among lists, and moments beyond Python's calendar beside text."""
    data = read({"a": [["x"], np.array(3)], "b": [["y"], ["z"]], "score": [1, 0]})
    assert len(data.players) == 4
    far = np.array([2**62], "datetime64[us]")
    with pytest.raises(ValueError, match="same type"):
        read({"a": far, "b": ["x"], "score": [1]})
    table = {"contest": [["x"], ["y"]], "player": ["Ada", "Bo"], "rank": [1, None]}  # of lists, one without a result
    with pytest.warns(UserWarning, match="1 of 2 rows has no result"), pytest.raises(ValueError) as refusal:
        read(table)
    assert "row 0" in str(refusal.value) and "contest" in str(refusal.value)


def test_results_that_contradict_scores_of_one_cell_are_refused():
    table = {"home": ["x", "y", "z", "x"], "away": ["y", "z", "x", "z"], "result": ["H", "A", "D", "H"]}
    with refused("columns 'result' and 'FT' contradict each other in 2 of 4 rows (the first is row 0, counting"):
        read(table | {"FT": ["0-2", "2-0", "1-1", "3-1"]})
    with pytest.warns(UserWarning, match="took home and away"):
        assert len(read(table | {"FT": ["2-0", "0-2", "1-1", "3-1"]}).matches.score) == 4
