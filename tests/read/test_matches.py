"""What `read` makes of a table of matches, whatever holds it."""

import datetime
import uuid
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxrate.data.dataset_from_table import read
from jaxrate.events.dataset import Dataset
from tests.read.tables import ELSE, MEMORY, names, table

pa = pytest.importorskip("pyarrow")

# What a table becomes


def test_obvious_names(source):
    dataset = read(source(table(date=[datetime.date(1970, 1, day) for day in (1, 2, 2)])))
    assert isinstance(dataset, Dataset)
    assert dataset.matches is dataset.events
    assert dataset.events.player.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert dataset.events.player.dtype == np.int32
    assert dataset.events.score.tolist() == [1, 0.5, 0]
    assert dataset.events.time.tolist() == [0, 1, 1]
    assert dataset.events.context == (None, None, None, None)
    assert dataset.players.tolist() == ["Ann", "Bob", "Cy"]
    assert dataset.categories is None


def test_winner_and_loser(source):
    columns = {"loser": ["Bob", "Cy"], "winner": ["Ann", "Ann"]}
    for dataset in (read(source(columns)), read(source(columns), winner="winner", loser="loser")):
        assert names(dataset) == [["Ann", "Bob"], ["Ann", "Cy"]]
        assert dataset.events.score.tolist() == [1, 1]
        assert dataset.events.time.tolist() == [0, 0]


def test_names_in_any_case(source):
    assert read(source({"B": ["y"], "A": ["x"], "Score": [0.5]})).players.tolist() == ["x", "y"]
    assert read(source({"Loser": ["y"], "WINNER": ["x"]})).players.tolist() == ["x", "y"]
    assert read(source({"a": ["x"], "b": ["y"], "score": [0.0], "Winner": ["p"], "Loser": ["q"]})).players[0] == "x"
    assert read(source({"Score": [0.5], "score": [0.0], "a": [1], "b": [2]})).events.score.tolist() == [0]
    contests = {"Contest": ["c", "c"], "Player": ["x", "y"], "RANK": [2, 1], "Date": [3.0, 3.0]}
    assert read(source(contests)).events.events.rank.tolist() == [1, 0]


def test_one_of_two_names(source):
    columns = {"won": ["x"], "loser": ["y"], "lost": ["z"], "winner": ["w"], "score": [0.0], "b": ["v"]}
    assert read(source(columns), winner="won").players.tolist() == ["x", "y"]
    assert read(source(columns), loser="lost").players.tolist() == ["w", "z"]
    assert read(source(columns), a="lost").players.tolist() == ["z", "v"]


def test_other_names(source):
    columns = {"white": ["x"], "black": ["y"], "points": [0.5], "when": [7], "elo gain": [8.0], "score": [0.0]}
    dataset = read(source(columns), a="white", b="black", score="points", time="when", weight="elo gain")
    assert names(dataset) == [["x", "y"]]
    assert dataset.events.score.tolist() == [0.5]
    assert dataset.events.time.tolist() == [7]
    assert dataset.events.context.weight.tolist() == [8]
    assert read(source(columns), winner="black", loser="white").players.tolist() == ["y", "x"]
    assert read(source(columns), a="white", b="black").events.score.tolist() == [0]  # "score" unless told


@pytest.mark.parametrize("there, used", [(("t", "date", "time"), "time"), (("t", "date"), "date"), (("t",), "t")])
def test_detected_time(source, there, used):
    columns = {name: [3.5 if name == used else 9.5] * 3 for name in there}
    assert read(source(table(**columns))).events.time.tolist() == [3.5] * 3


def test_columns_not_named_do_nothing(source):
    unused = {"side": [5, 5, 5], "weight": ["x"] * 3, "neutral": [3, 3, 3], "drop": [True] * 3, "category": [""] * 3}
    assert read(source(table(**unused))).events.context == (None, None, None, None)


NAMES = {
    "str": ["Ann", "Bob", "Cy"],
    "int": [7, -3, 7_000_000_000],
    "float": [0.5, 1.0, -2.0],
    "date": [datetime.date(2020, 1, day) for day in (3, 1, 2)],
    "time": [datetime.datetime(2020, 1, day, 12) for day in (3, 1, 2)],
    "bytes": [b"x", b"y", b"\xff"],
}


@pytest.mark.parametrize("kind", [*MEMORY, "parquet"], indirect=True)
@pytest.mark.parametrize("values", NAMES.values(), ids=NAMES)
def test_names_of_any_type(source, values):
    dataset = read(source({"a": [values[0], values[0]], "b": [values[1], values[2]], "score": [1, 0]}))
    assert dataset.events.player.tolist() == [[0, 1], [0, 2]]
    expected = np.asarray(values) if not isinstance(values[0], (bytes, str)) else np.array(values, object)
    assert (dataset.players == expected).all()


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


@pytest.mark.parametrize("kind", [*MEMORY, "parquet"], indirect=True)
def test_names_that_are_booleans(source):
    dataset = read(source({"a": [True, False], "b": [False, True], "score": [1, 0]}))
    assert dataset.events.player.tolist() == [[0, 1], [1, 0]]
    assert dataset.players.tolist() == [True, False]


@pytest.mark.parametrize(
    "values",
    [
        ["x", 1, 2.5],
        [1, (1, 2), int],
        [(1, 2), (1, 3), (2, 1)],
        [2**70, 2**71, 1],
        [uuid.UUID(int=i) for i in range(3)],
        [frozenset({1}), "x", datetime.date(2020, 1, 1)],
        [Fraction(1, 3), "y", b"y"],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 1, 6)],
    ],
)
@pytest.mark.parametrize("make", [list, lambda values: np.fromiter(values, object, len(values))])
def test_names_of_mixed_types_in_a_dict(values, make):
    dataset = read({"a": make([values[0], values[2]]), "b": make([values[1], values[0]]), "score": [1, 0]})
    assert dataset.events.player.tolist() == [[0, 1], [2, 0]]
    assert dataset.events.player.dtype == np.int32
    assert dataset.players.tolist() == values


def test_names_of_mixed_types_beside_plain_ones():
    dataset = read({"a": ["x", 1], "b": ["y", "x"], "score": [1, 0]})
    assert dataset.players.tolist() == ["x", "y", 1]


def test_names_of_mixed_types_in_pandas():
    dataset = read(pytest.importorskip("pandas").DataFrame({"a": ["x", 1], "b": [1, "x"], "score": [1, 0]}))
    assert dataset.players.tolist() == ["x", 1]


def test_categoricals():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    a, b = ["x", "y", "x"], ["y", "z", "z"]
    chunks = [pa.array(a[:1]).dictionary_encode(), pa.array(a[1:]).dictionary_encode()]
    columns = [
        {"a": pandas.Categorical(a, categories=["z", "y", "x"]), "b": b, "score": [1, 1, 1]},
        pandas.DataFrame({"a": pandas.Categorical(a), "b": pandas.Categorical(b), "score": 1}),
        polars.DataFrame({"a": a, "b": b, "score": [1, 1, 1]}, schema_overrides={"a": polars.Categorical}),
        polars.DataFrame({"a": a, "b": b, "score": [1, 1, 1]}, schema_overrides={"b": polars.Enum(["z", "y"])}),
        pa.table({"a": pa.chunked_array(chunks), "b": pa.array(b), "score": [1, 1, 1]}),
        pa.table({"a": pa.array(a, pa.large_string()), "b": pa.array(b, pa.string_view()), "score": [1, 1, 1]}),
    ]
    for source in columns:
        dataset = read(source)
        assert dataset.players.tolist() == ["x", "y", "z"]
        assert dataset.events.player.tolist() == [[0, 1], [1, 2], [0, 2]]


def test_arrays_in_a_dict():
    jnp, polars = pytest.importorskip("jax.numpy"), pytest.importorskip("polars")
    columns = {"a": jnp.array([4, 2]), "b": np.array([2, 3], np.int8), "score": jnp.array([1.0, 0.5])}
    columns |= {"time": np.array(["1970-01", "1970-02"], "datetime64[M]"), "w": polars.Series([1, 2])}
    dataset = read(columns, weight="w")
    assert dataset.players.tolist() == [4, 2, 3]
    assert dataset.events.score.tolist() == [1, 0.5]
    assert dataset.events.time.tolist() == [0, 31]
    assert dataset.events.context.weight.tolist() == [1, 2]


def test_table_in_chunks():
    parts = [pa.table({"a": [i], "b": [i + 1], "score": [1.0]}) for i in range(3)]
    assert read(pa.concat_tables(parts)).events.player.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_batches():
    batch = pa.record_batch({"a": [1, 2], "b": [2, 3], "score": [1.0, 0.0]})
    for source in (batch, pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])):
        assert read(source).events.player[:2].tolist() == [[0, 1], [1, 2]]


def test_text_of_pandas():
    pandas = pytest.importorskip("pandas")
    for dtype in ("object", "string", "str"):
        frame = pandas.DataFrame({"a": pandas.Series(["x", "y"], dtype=dtype), "b": ["y", "x"], "score": [1, 0]})
        assert read(frame).players.tolist() == ["x", "y"]


def test_pandas_index_and_masks_do_not_matter():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table(score=pandas.array([1, None, 0], "Int64")), index=[9, 9, 2])
    assert read(frame.dropna()).events.player.tolist() == [[0, 1], [2, 0]]
    with pytest.warns(UserWarning, match="1 of 3 rows has no result and is left out: 1 is to come"):
        assert read(frame).rows.tolist() == [0, 2]


scalars = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.integers(), st.binary(max_size=1))


@pytest.mark.filterwarnings("ignore:.* differ from others only by:UserWarning")
@settings(deadline=None, database=None, max_examples=25)
@given(
    st.one_of(
        st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2)), min_size=1),
        st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1),
        st.lists(st.tuples(scalars, scalars), min_size=1),
    ),
    st.booleans(),
)
def test_ids_are_the_order_of_first_appearance(pairs, categories):
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    a, b = [[pair[i] for pair in pairs] for i in range(2)]
    types = [{type(name) for name in column} for column in (a, b)]
    if not pairs or (max(map(len, types)) == 1 and types[0] != types[1]):
        return
    if categories:
        n = len(pairs)
        dataset = read({"a": [0] * n, "b": [1] * n, "score": [1] * n, "x": a, "y": b}, category=("x", "y"))
        ids, found = dataset.events.context.category, dataset.categories
    else:
        dataset = read({"a": a, "b": b, "score": [1] * len(a)})
        ids, found = dataset.events.player, dataset.players
    flat = [name for pair in pairs for name in pair]
    assert [found[i] for i in ids.ravel()] == flat
    assert list(found) == list(dict.fromkeys(flat))
