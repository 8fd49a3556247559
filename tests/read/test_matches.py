"""What `read` makes of a table of matches, whatever holds it."""

import datetime
import re
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate.data.dataset_from_table import read, read_by_cli_options
from jaxrate.data.dataset_names import NamesOfEarlierData, mix_categories
from jaxrate.events.dataset import Dataset
from tests.read.tables import ELSE, MEMORY, names, read_noting, table

pa = pytest.importorskip("pyarrow")

# What a table becomes: columns, arguments, and what is read

PAIRS = {"white": ["x", "y"], "black": ["y", "x"], "score": [1.0, 0.0]}
WON = {"loser": ["Bob", "Cy"], "winner": ["Ann", "Ann"]}
SIX = {"won": ["x"], "loser": ["y"], "lost": ["z"], "winner": ["w"], "score": [0.0], "b": ["v"]}
OTHER = {"white": ["x"], "black": ["y"], "points": [0.5], "when": [7], "elo gain": [8.0], "score": [0.0]}
OTHER_ROLES = {"a": "white", "b": "black", "score": "points", "time": "when", "weight": "elo gain"}
DAYS = [datetime.date(1970, 1, day) for day in (1, 2, 2)]
AT_HOME, KINDS = table(neutral=[True, False, True], home=[1, 1, -1]), table(x=["p", "q", "p"], y=["q", "p", "r"])
NOBODY = {"side": [5] * 3, "weight": ["x"] * 3, "neutral": [3] * 3, "drop": [True] * 3, "category": [""] * 3}
FLAGS = table(walkover=[False, True, False], other=[0.0, 0.0, 1.0], none=[False] * 3)
TO_COME = {"a": ["x", "y"], "b": ["y", "x"], "score": [7.0, 9.0], "home": [1, -1], "winner": ["", ""], "t": [1, 2]}
LATER = {"a": ["Dan", "Cy"], "b": ["Cy", "Eve"], "score": [1.0, 0.0]}
BESIDE = table(margin=[3, 7, 20], long=[True, False, True], unused=[1, 2, 3])
ANN_BOB_CY = {"player": [[0, 1], [1, 2], [2, 0]], "score": [1, 0.5, 0], "players": ["Ann", "Bob", "Cy"]}
READ = {
    "plain": (table(date=DAYS), {}, ANN_BOB_CY | {"time": [0, 1, 1], "clock": "dates", "context": (None,) * 4}),
    "winners": (WON, {}, {"names": [["Ann", "Bob"], ["Ann", "Cy"]], "score": [1, 1], "time": [0, 0], "clock": None}),
    "a and b in capitals": ({"B": ["y"], "A": ["x"], "Score": [0.5]}, {}, {"players": ["x", "y"]}),
    "exact before other case": (
        {"a": ["x"], "b": ["y"], "score": [0.0], "Winner": ["p"], "Loser": ["q"]}, {}, {"players": ["x", "y"]},
    ),
    "lost": (SIX, {"loser": "lost"}, {"players": ["w", "z"]}),
    "all named": (OTHER, OTHER_ROLES, {"names": [["x", "y"]], "score": [0.5], "time": [7], "weight": [8]}),
    "time": (table(t=[9] * 3, date=[9] * 3, time=[3.5] * 3), {}, {"time": [3.5] * 3, "clock": "numbers"}),
    "not named": (table(**NOBODY), {}, {"context": (None,) * 4}),
    "side": (table(home=[1, -1, 0]), {"side": "home"}, {"side": [1, -1, 0]}),
    "side called a": (WON | {"a": [1, -1]}, {"side": "a"}, {"side": [1, -1]}),
    "side a": (table(), {"side": "a"}, {"side": [1] * 3}),
    "side b": (table(), {"side": "b"}, {"side": [-1] * 3}),
    "column b": (PAIRS | {"b": [0.5, 0.25]}, {"a": "white", "b": "black", "side": "b"}, {"side": [0.5, 0.25]}),
    "neutral": (AT_HOME, {"side": "home", "neutral": "neutral"}, {"side": [0, 1, 0]}),
    "category of both": (KINDS, {"category": "x"}, {"category": [[0, 0], [1, 1], [0, 0]], "categories": ["p", "q"]}),
    "category of each": (
        KINDS, {"category": ("x", "y")}, {"category": [[0, 1], [1, 0], [0, 2]], "categories": ["p", "q", "r"]},
    ),
    "known categories": (
        KINDS, {"category": ("x", "y"), "history": NamesOfEarlierData([], ["z", "q", "p"])},
        {"category": [[2, 1], [1, 2], [2, 3]], "categories": ["z", "q", "p", "r"]},
    ),
    "drop, both": (FLAGS, {"drop": ("walkover", "other")}, {"rows": [0], "players": ["Ann", "Bob"]}),  # no other ids
    "columns": (BESIDE, {"columns": ["margin", "long"]}, {"columns": {"margin": [3, 7, 20], "long": [1, 0, 1]}}),
    "known players": (
        LATER, {"history": NamesOfEarlierData(["Ann", "Bob", "Cy"])},
        {"players": ["Ann", "Bob", "Cy", "Dan", "Eve"], "player": [[3, 2], [2, 4]]},
    ),
    "some known": (table(), {"history": NamesOfEarlierData(["Cy", "Zoë"])}, {"player": [[2, 3], [3, 0], [0, 2]]}),
    "rows that are dropped are not looked at": (
        {"a": ["x", None, "x"], "b": [*"yyz"], "score": [1.0, 7.0, 0.0], "w": [1.0, None, 2.0], "bad": [0, 1, 0]}
        | {"time": ["1970-01-02", "?", "1970-01-03"]},
        {"drop": "bad", "weight": "w"}, {"names": [["x", "y"], ["x", "z"]], "time": [1, 2]},
    ),
    "two roles": (
        {"a": [*"xyx"], "b": [*"yxz"], "score": [1.0, 0.0, 0.5], "flag": [0, 1, 0], "w": [1, 2, 3]},
        {"side": "flag", "neutral": "flag", "drop": "flag", "weight": "w", "time": "w"},
        {"names": [["x", "y"], ["x", "z"]], "side": [0, 0], "weight": [1, 3], "time": [1, 3]},
    ),
    "to come": (TO_COME, {"upcoming": True, "side": "home"}, {"score": [0.5] * 2, "side": [1, -1], "time": [1, 2]}),
}  # fmt: skip


@pytest.mark.parametrize("columns, arguments, expected", READ.values(), ids=READ)
def test_read(source, columns, arguments, expected):
    data = read(source(columns), **arguments)
    assert isinstance(data, Dataset) and data.matches is data.events and data.events.player.dtype == np.int32
    events, context = data.events, data.events.context
    arrays = {"player": events.player, "score": events.score, "time": events.time, "rows": data.rows}
    arrays |= {"players": data.players, "categories": data.categories}
    arrays |= {"side": context.side, "weight": context.weight, "category": context.category}
    facts = {name: values if values is None else values.tolist() for name, values in arrays.items()}
    facts |= {"names": names(data), "clock": data.clock, "context": tuple(context)}
    facts["columns"] = {name: values.tolist() for name, values in (context.columns or {}).items()}
    assert {name: facts[name] for name in expected} == expected


def test_what_is_read_with_notes(source):
    with pytest.warns(UserWarning, match="took winner and loser for a and b"):
        assert read(source({"winner": ["x"], "loser": ["y"]}), upcoming=True).events.score.tolist() == [0.5]
    contests = {"Contest": ["c", "c"], "Player": ["x", "y"], "RANK": [2, 1], "Date": [3.0, 3.0]}
    assert read(source(contests)).events.events.rank.tolist() == [1, 0]
    with pytest.raises(ValueError, match="a column must not be called 'side', as a part of the context is; rename it"):
        read(source(table(side=[1, 1, 1])), columns="side")


NAMES = [
    ["Ann", "Bob", "Cy"],
    [7, -3, 7_000_000_000],
    [0.5, 1.0, -2.0],
    [datetime.date(2020, 1, day) for day in (3, 1, 2)],
    [datetime.datetime(2020, 1, day, 12) for day in (3, 1, 2)],
    [b"x", b"y", b"\xff"],
    [True, False],
]


@pytest.mark.parametrize("kind", [*MEMORY, "parquet"], indirect=True)
@pytest.mark.parametrize("values", NAMES, ids=repr)
def test_names_of_any_type(source, values):
    dataset = read(source({"a": [values[0], values[0]], "b": [values[1], values[-1]], "score": [1, 0]}))
    assert dataset.events.player.tolist() == [[0, 1], [0, len(values) - 1]]
    expected = np.asarray(values) if not isinstance(values[0], (bytes, str)) else np.array(values, object)
    assert (dataset.players == expected).all()


MIXED_NAMES = {  # of a column of several types, or of one that Arrow does not have, and as they are read: as text
    ("x", 1, 2.5): ["x", "1", "2.5"],
    ((1, 2), (1, 3), (2, 1)): ["(1, 2)", "(1, 3)", "(2, 1)"],
    (2**70, 2**71, 1): [str(2**70), str(2**71), "1"],
    tuple(uuid.UUID(int=i) for i in range(3)): [f"00000000-0000-0000-0000-00000000000{i}" for i in range(3)],
    (Fraction(1, 4), "y", b"y"): ["0.25", "y", "b'y'"],
    (datetime.date(2020, 1, 1), "y", datetime.datetime(2020, 1, 1, 6)): ["2020-01-01", "y", "2020-01-01 06:00:00"],
}


@pytest.mark.parametrize("values", MIXED_NAMES, ids=repr)
@pytest.mark.parametrize("make", [list, lambda values: np.fromiter(values, object, len(values))])
def test_names_of_mixed_types_are_text(values, make):
    rows = [values[i] for i in (0, 1, 2, 0)]
    dataset = read({"a": make(rows), "b": ["z"] * 4, "score": [1] * 4})
    assert dataset.events.player[:, 0].tolist() == [0, 2, 3, 0]
    assert dataset.players.tolist() == [MIXED_NAMES[values][0], "z", *MIXED_NAMES[values][1:]]
    assert read({"a": ["x", 1], "b": ["y", "x"], "score": [1, 0]}).players.tolist() == ["x", "y", "1"]
    frame = pytest.importorskip("pandas").DataFrame({"a": ["x", 1], "b": [1, "x"], "score": [1, 0]})
    assert read(frame).players.tolist() == ["x", "1"]


def test_sets_are_line_ups_in_the_order_of_their_names():
    with pytest.warns(UserWarning, match="a and b for teams, of several players in a cell"):
        data = read({"a": [{"Zoë", "Ann"}, {"Ann"}], "b": [frozenset(["Cy", "Bo"]), {"Bo"}], "score": [1, 0]})
    assert data.players.tolist() == ["Ann", "Zoë", "Bo", "Cy"]


@pytest.mark.parametrize("kind", ELSE, indirect=True)
@pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
def test_tables_that_queries_make(source):
    days = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
    more = table(date=days, **{'home "side"': [1, 0, -1], "unread": [[1], [2], [3]]})
    dataset = read(source(more), side='home "side"')
    assert names(dataset) == [["Ann", "Bob"], ["Bob", "Cy"], ["Cy", "Ann"]]
    assert dataset.clock == "dates" and dataset.matches.context.side.tolist() == [1, 0, -1]
    with pytest.raises(ValueError, match="no column 'c'.*there are: a, b, score, date"):
        read(source(more), a="c")


def test_tables_of_other_types():
    """Categories, text of all kinds, chunks, batches, and arrays of several libraries in one dict."""
    pandas, polars, jnp = map(pytest.importorskip, ("pandas", "polars", "jax.numpy"))
    a, b = ["x", "y", "x"], ["y", "z", "z"]
    plain = {"a": a, "b": b, "score": [1, 1, 1]}
    chunks = [pa.array(a[:1]).dictionary_encode(), pa.array(a[1:]).dictionary_encode()]
    batch = pa.record_batch(plain)
    for source in (
        plain | {"a": pandas.Categorical(a, categories=["z", "y", "x"])},
        pandas.DataFrame(plain | {"a": pandas.Categorical(a), "b": pandas.Categorical(b)}),
        polars.DataFrame(plain, schema_overrides={"a": polars.Categorical}),
        polars.DataFrame(plain, schema_overrides={"b": polars.Enum(["z", "y"])}),
        pa.table(plain | {"a": pa.chunked_array(chunks)}),
        pa.table(plain | {"a": pa.array(a, pa.large_string()), "b": pa.array(b, pa.string_view())}),
        pa.concat_tables(pa.table({name: x[row : row + 1] for name, x in plain.items()}) for row in range(3)),
        batch,
        pa.RecordBatchReader.from_batches(batch.schema, [batch, batch]),
        *(pandas.DataFrame(plain | {"a": pandas.Series(a, dtype=dtype)}) for dtype in ("object", "string", "str")),
    ):
        dataset = read(source)
        assert dataset.players.tolist() == ["x", "y", "z"]
        assert dataset.events.player[:3].tolist() == [[0, 1], [1, 2], [0, 2]]
    columns = {"a": jnp.array([4, 2]), "b": np.array([2, 3], np.int8), "score": jnp.array([1.0, 0.5])}
    columns |= {"time": np.array(["1970-01", "1970-02"], "datetime64[M]"), "w": polars.Series([1, 2])}
    dataset = read(columns, weight="w")
    assert dataset.players.tolist() == [4, 2, 3] and dataset.events.score.tolist() == [1, 0.5]
    assert dataset.events.time.tolist() == [0, 31] and dataset.events.context.weight.tolist() == [1, 2]


def test_pandas_index_and_masks_do_not_matter():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table(score=pandas.array([1, None, 0], "Int64")), index=[9, 9, 2])
    assert read(frame.dropna()).events.player.tolist() == [[0, 1], [2, 0]]
    with pytest.warns(UserWarning, match="1 of 3 rows has no result and is left out: 1 is to come"):
        assert read(frame).rows.tolist() == [0, 2]


@pytest.mark.filterwarnings("ignore:.* differ from others only by:UserWarning")
@settings(deadline=None, database=None, max_examples=25)
@given(
    st.one_of(
        st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2)), min_size=1),
        st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1),
    )
)
def test_ids_are_the_order_of_first_appearance(pairs):
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    if not pairs:
        return
    a, b = map(list, zip(*pairs, strict=True))
    data = read({"a": a, "b": b, "score": [1] * len(a), "x": a, "y": b}, category=("x", "y"))
    flat = [name for pair in pairs for name in pair]
    for ids, found in (data.events.player, data.players), (data.events.context.category, data.categories):
        assert [found[i] for i in ids.ravel()] == flat and list(found) == list(dict.fromkeys(flat))


RACES = {"x": ["P", "T", "R"], "y": ["T", "R", "Z"]}


@pytest.mark.parametrize(
    ("mixture", "shares"),
    [(None, [1 / 3, 1 / 3, 1 / 3]), (["P", "Z"], [0.5, 0, 0.5]), ({"T": 0.75, "P": 0.25}, [0.25, 0.75, 0])],
)
def test_mixtures(source, mixture, shares):
    dataset = mix_categories(read(source(table(**RACES)), category=("x", "y")), {"R": mixture})
    assert dataset.categories.tolist() == ["P", "T", "Z"]
    p, t, z = np.eye(3)
    np.testing.assert_allclose(dataset.events.context.category, [[p, t], [t, shares], [shares, z]])
    later = {"category": "x", "mixtures": {"R": ["T"]}}  # nobody plays it here
    absent = read_by_cli_options(source(table(x=["P", "T", "P"])), later, NamesOfEarlierData([], ["P", "T"]))
    assert absent.events.context.category.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_mixtures_of_what_is_to_come(source):
    rows = table(**RACES, score=[1, 0, None])
    with pytest.warns(UserWarning, match="1 of 3 rows has no result"):
        data = mix_categories(read(source(rows), category=("x", "y")), {"R": None})
    assert data.categories.tolist() == ["P", "T"] and data.fixtures.categories.tolist() == ["P", "T", "Z"]
    np.testing.assert_allclose(data.fixtures.events.context.category[0], [[1 / 3] * 3, [0, 0, 1]])


def test_mixtures_of_numbers_and_of_known_categories():
    columns = {"a": [1, 2], "b": [2, 1], "score": [1, 0], "race": np.array([3, 7])}
    for name, part in ((7, 5), ("7", "5")):
        known = read(columns, category="race", history=NamesOfEarlierData([], [5, 3]))
        dataset = mix_categories(known, {name: [part]})
        assert dataset.categories.tolist() == [5, 3]
        np.testing.assert_allclose(dataset.events.context.category, [[[0, 1]] * 2, [[1, 0]] * 2])


def test_dropped_text_among_numbers(games):
    text = "a,b,score,bad\nx,y,1,0\ny,x,W/O,1\ny,x,0,0\n"
    assert read(games(text), drop="bad").events.score.tolist() == [1, 0]
    mixed = {"a": ["x", "y", "y"], "b": ["y", "x", "x"], "score": [1, "W/O", 0], "bad": [0, 1, 0]}
    assert read(mixed, drop="bad").events.score.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("known", "a", "b", "players"),
    [
        ([7, 3], [3, 5], [4, 3], [7, 3, 4, 5]),
        ([7, 3], ["3", "5"], ["4", "3"], [7, 3, 4, 5]),  # as CSV gives them
        (["x", 3], [3, 5], [4, 3], ["x", "3", "4", "5"]),
        (["7", "3"], [Decimal(3), Decimal(5)], ["4", "3"], ["7", "3", "4", "5"]),
    ],
)
def test_known_players_of_other_types(known, a, b, players):
    data = read({"a": a, "b": b, "score": [1, 1]}, history=NamesOfEarlierData(known))
    assert data.players.tolist() == players and data.events.player.tolist() == [[1, 2], [3, 1]]


POINTS = {"a": ["x", "y", "z"], "b": ["y", "z", "x"], "goals_a": [2, 1, 0], "goals_b": [1, 1, 3]}
PAIR = ("goals_a", "goals_b")
TEXT = {"Score": ["great", "dull", "so-so"]}


RESULTS = [0, 1, 0.5], ["0-1", "1-0", "1-1"]
NO_SCORE, OTHER_SIGN = "nothing for the score, as Score has no results", "margins .* have another sign than the score"
BESIDE_POINTS = [({"Score": x}, {}, [1.0, 0.5, 0.0], NO_SCORE) for x in (*TEXT.values(), [70, 50, 10])]
BESIDE_POINTS += [({"Score": x}, {}, [0.0, 1.0, 0.5], OTHER_SIGN) for x in RESULTS]
BESIDE_POINTS += [({"score": x}, {"score": False}, [1.0, 0.5, 0.0], "") for x in (*RESULTS, *TEXT.values())]


@pytest.mark.parametrize("column, arguments, scores, note", BESIDE_POINTS)
def test_columns_called_score_beside_the_points_of_both(column, arguments, scores, note):
    data, notes = read_noting(POINTS | column, margin=PAIR, **arguments)
    assert data.matches.score.tolist() == scores
    assert bool(notes) == bool(note) and any(re.search(note, str(x.message)) for x in notes) == bool(note)


def test_false_without_points_is_refused():
    for margin in ((), "goals_a"):
        with pytest.raises(ValueError, match="score=False needs the two columns of each side's points as margin"):
            jr.read(POINTS | TEXT, margin=margin, score=False)


def test_results_of_a_season_that_a_text_beside_them_does_not_spoil():
    rated = jr.rate(jr.elo(), jr.read(POINTS, margin=PAIR))
    more = {"results": POINTS | {"score": [0, 1, 0]}, "margin": PAIR, "score": False}
    table = jr.forecasts.simulate_season(rated, [("x", "z")], **more, samples=100)
    assert dict(zip(table.player, table.points, strict=True)) == {"x": 6.0, "y": 1.0, "z": 1.0}
