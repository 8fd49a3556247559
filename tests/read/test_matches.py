"""What `read` makes of a table of matches, whatever holds it."""

import datetime
import uuid
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate.data.category_mixtures import mix_categories
from jaxrate.data.dataset_from_table import read
from jaxrate.data.event_tables import NamesOfEarlierData
from jaxrate.data.saved_options import read_by_options
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


# Sides, weights, categories and players who have ids.

# Side, weight, category, drop


def test_side_column(source):
    assert read(source(table(home=[1, -1, 0])), side="home").events.context.side.tolist() == [1, -1, 0]
    assert read(source(table(home=[True, False, True])), side="home").events.context.side.tolist() == [1, 0, 1]


def test_side_of_the_winner(source):
    columns = {"winner": ["x", "y"], "loser": ["y", "x"], "home": [1, -1]}
    assert read(source(columns), side="home").events.context.side.tolist() == [1, -1]
    columns = {"winner": ["x", "y"], "loser": ["y", "x"], "a": [1, -1]}
    assert read(source(columns), side="a").events.context.side.tolist() == [1, -1]


def test_side_everywhere(source):
    other = {"white": ["x", "y"], "black": ["y", "x"], "score": [1.0, 0.0]}
    for columns, players in ((table(), {}), (other, {"a": "white", "b": "black"})):
        n = len(columns["score"])
        assert read(source(columns), side="a", **players).events.context.side.tolist() == [1] * n
        assert read(source(columns), side="b", **players).events.context.side.tolist() == [-1] * n


def test_a_column_goes_before_the_side_everywhere(source):
    columns = {"white": ["x", "y"], "black": ["y", "x"], "score": [1.0, 0.0], "b": [0.5, 0.25]}
    dataset = read(source(columns), a="white", b="black", side="b")
    assert dataset.events.context.side.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("neutral", [[True, False, True], [1, 0, 1], [1.0, 0.0, 1.0]])
def test_neutral(source, neutral):
    columns = table(neutral=neutral, home=[1, 1, -1])
    assert read(source(columns), side="home", neutral="neutral").events.context.side.tolist() == [0, 1, 0]
    assert read(source(columns), side="b", neutral="neutral").events.context.side.tolist() == [0, -1, 0]


def test_category_of_both(source):
    dataset = read(source(table(kind=["clay", "grass", "clay"])), category="kind")
    assert dataset.events.context.category.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert dataset.categories.tolist() == ["clay", "grass"]


def test_category_of_each(source):
    dataset = read(source(table(x=["p", "q", "p"], y=["q", "p", "r"])), category=("x", "y"))
    assert dataset.events.context.category.tolist() == [[0, 1], [1, 0], [0, 2]]
    assert dataset.categories.tolist() == ["p", "q", "r"]


RACES = {"x": ["P", "T", "R"], "y": ["T", "R", "Z"]}


def test_known_categories_keep_their_ids(source):
    dataset = read(source(table(**RACES)), category=("x", "y"), history=NamesOfEarlierData([], ["Z", "P", "R", "T"]))
    assert dataset.events.context.category.tolist() == [[1, 3], [3, 2], [2, 0]]
    assert dataset.categories.tolist() == ["Z", "P", "R", "T"]


@pytest.mark.parametrize(
    ("mixture", "shares"),
    [
        (None, [1 / 3, 1 / 3, 1 / 3]),
        (["P", "Z"], [0.5, 0, 0.5]),
        ({"T": 0.75, "P": 0.25}, [0.25, 0.75, 0]),
    ],
)
def test_mixtures(source, mixture, shares):
    dataset = mix_categories(read(source(table(**RACES)), category=("x", "y")), {"R": mixture})
    assert dataset.categories.tolist() == ["P", "T", "Z"]
    p, t, z = np.eye(3)
    np.testing.assert_allclose(dataset.events.context.category, [[p, t], [t, shares], [shares, z]])
    later = {"category": "x", "mixtures": {"R": ["T"]}}  # nobody plays it here
    absent = read_by_options(source(table(x=["P", "T", "P"])), later, NamesOfEarlierData([], ["P", "T"]))
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


def test_further_columns(source):
    columns = table(margin=[3, 7, 20], long=[True, False, True], unused=[1, 2, 3])
    context = read(source(columns), columns=["margin", "long"]).events.context
    assert {name: x.tolist() for name, x in context.columns.items()} == {"margin": [3, 7, 20], "long": [1, 0, 1]}
    assert read(source(columns), columns="margin", drop="long").events.context.columns["margin"].tolist() == [7]
    assert read(source(columns)).events.context.columns is None
    with pytest.raises(ValueError, match="a column must not be called 'side', as a part of the context is; rename it"):
        read(source(table(side=[1, 1, 1])), columns="side")


@pytest.mark.parametrize("flag", [[False, True, False], [0, 1, 0], [0.0, 1.0, 0.0]])
def test_drop(source, flag):
    for drop in ("walkover", ["walkover"], ("walkover", "other")):
        dataset = read(source(table(walkover=flag, other=[False] * 3)), drop=drop)
        assert names(dataset) == [["Ann", "Bob"], ["Cy", "Ann"]]
        assert dataset.events.score.tolist() == [1, 0]
    dataset = read(source(table(walkover=flag, other=[0, 0, 1])), drop=("walkover", "other"))
    assert names(dataset) == [["Ann", "Bob"]]
    assert dataset.players.tolist() == ["Ann", "Bob"]  # no ids for those who are left out


def test_dropped_rows_are_not_looked_at(source):
    columns = {"a": ["x", None, "x"], "b": ["y", "y", "z"], "score": [1.0, 7.0, 0.0], "w": [1.0, None, 2.0]}
    columns |= {"time": ["1970-01-02", "?", "1970-01-03"], "bad": [0, 1, 0]}
    dataset = read(source(columns), drop="bad", weight="w")
    assert names(dataset) == [["x", "y"], ["x", "z"]]
    assert dataset.events.time.tolist() == [1, 2]


def test_dropped_text_among_numbers(games):
    text = "a,b,score,bad\nx,y,1,0\ny,x,W/O,1\ny,x,0,0\n"
    assert read(games(text), drop="bad").events.score.tolist() == [1, 0]
    mixed = {"a": ["x", "y", "y"], "b": ["y", "x", "x"], "score": [1, "W/O", 0], "bad": [0, 1, 0]}
    assert read(mixed, drop="bad").events.score.tolist() == [1, 0]


def test_one_column_in_two_roles(source):
    columns = {"a": ["x", "y", "x"], "b": ["y", "x", "z"], "score": [1.0, 0.0, 0.5], "flag": [0, 1, 0], "w": [1, 2, 3]}
    dataset = read(source(columns), side="flag", neutral="flag", drop="flag", weight="w", time="w")
    assert names(dataset) == [["x", "y"], ["x", "z"]]
    assert dataset.events.context.side.tolist() == [0, 0]
    assert dataset.events.context.weight.tolist() == dataset.events.time.tolist() == [1, 3]


# Players who have ids, matches to come, dates


def test_known_players_keep_their_ids(source):
    first = read(source(table()))
    later = read(source({"a": ["Dan", "Cy"], "b": ["Cy", "Eve"], "score": [1.0, 0.0]}), history=first)
    assert later.players.tolist() == ["Ann", "Bob", "Cy", "Dan", "Eve"]
    assert later.events.player.tolist() == [[3, 2], [2, 4]]
    assert later.events.player.dtype == np.int32
    assert read(source(table()), history=NamesOfEarlierData(["Cy", "Zoë"])).events.player.tolist() == [
        [2, 3],
        [3, 0],
        [0, 2],
    ]
    assert read(source(table()), history=NamesOfEarlierData([])).players.tolist() == first.players.tolist()


def test_known_players_of_other_types():
    for known in ([7, 3], np.array([7, 3], np.int8), ["x", 3]):
        dataset = read(
            {"a": np.array([3, 5]), "b": np.array([4, 3]), "score": [1, 1]}, history=NamesOfEarlierData(known)
        )
        assert [[dataset.players[i] for i in row] for row in dataset.events.player] == [[3, 4], [5, 3]]
        assert list(dataset.players[:2]) == list(known)
    as_text = read(
        {"a": ["3", "5"], "b": ["4", "3"], "score": [1, 1]}, history=NamesOfEarlierData(np.array([7, 3]))
    )  # as CSV gives them
    assert as_text.players.tolist() == [7, 3, 4, 5]
    with pytest.raises(ValueError, match="row 1 .*column 'b' is 'x', not a whole number, as the known players are"):
        read({"a": ["3", "5"], "b": ["4", "x"], "score": [1, 1]}, history=NamesOfEarlierData([7, 3]))
    with pytest.raises(ValueError, match="history has a name of players twice"):
        read({"a": [1, "x"], "b": [2, 1], "score": [1, 1]}, history=NamesOfEarlierData([1, 1]))


def test_upcoming(source):
    columns = {"a": ["x", "y"], "b": ["y", "x"], "score": [7.0, 9.0], "home": [1, -1], "winner": ["", ""], "t": [1, 2]}
    dataset = read(source(columns), upcoming=True, side="home")
    assert dataset.events.score.tolist() == [0.5, 0.5]
    assert dataset.events.context.side.tolist() == [1, -1]
    assert dataset.events.time.tolist() == [1, 2]
    with pytest.warns(UserWarning, match="took winner and loser for a and b"):
        assert read(source({"winner": ["x"], "loser": ["y"]}), upcoming=True).events.score.tolist() == [0.5]


def test_dated(source):
    assert read(source(table(date=[datetime.date(2024, 1, 1)] * 3))).clock == "dates"
    assert read(source(table(date=["2024-01-01T10:00:00Z"] * 3))).clock == "dates"
    assert read(source(table(date=[1, 2, 3]))).clock != "dates"
    assert read(source(table())).clock != "dates"


# A column that is called score and tells no result, beside the points of both sides.

POINTS = {"a": ["x", "y", "z"], "b": ["y", "z", "x"], "goals_a": [2, 1, 0], "goals_b": [1, 1, 3]}
PAIR = ("goals_a", "goals_b")
TEXT = {"Score": ["great", "dull", "so-so"]}


def test_a_text_column_called_score_does_not_block_the_points_of_both():
    with pytest.warns(UserWarning, match="nothing for the score, as Score has no results"):
        data = jr.read(POINTS | TEXT, margin=PAIR)
    assert data.matches.score.tolist() == [1.0, 0.5, 0.0]
    with pytest.warns(UserWarning, match="nothing for the score, as Score has no results"):
        assert jr.read(POINTS | {"Score": [70, 50, 10]}, margin=PAIR).matches.score.tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("score", [[0, 1, 0.5], ["0-1", "1-0", "1-1"]])
def test_a_column_of_results_is_still_the_score(score):
    with pytest.warns(UserWarning, match="margins .* have another sign than the score"):
        assert jr.read(POINTS | {"Score": score}, margin=PAIR).matches.score.tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("score", [[0, 1, 0.5], ["0-1", "1-0", "1-1"], *TEXT.values()])
def test_false_is_no_column_whatever_it_is_called(score):
    data = jr.read(POINTS | {"score": score}, margin=PAIR, score=False)
    assert data.matches.score.tolist() == [1.0, 0.5, 0.0]


def test_false_without_points_is_refused():
    for margin in ((), "goals_a"):
        with pytest.raises(ValueError, match="score=False needs the two columns of each side's points as margin"):
            jr.read(POINTS | TEXT, margin=margin, score=False)


def test_false_beside_winners_and_ranks_changes_nothing():
    won = {"winner": ["x"], "loser": ["y"], "score": ["6-1"]}
    assert jr.read(won, score=False).matches.score.tolist() == [1.0]
    race = {"contest": [1, 1], "player": ["x", "y"], "score": [3, 2]}
    assert jr.read(race | {"rank": [2, 1]}, score=False).rounds.events.rank.tolist() == [1, 0]
    with pytest.raises(ValueError, match="no column 'rank'"):
        jr.read(race, score=False)


def test_results_of_a_season_that_a_text_beside_them_does_not_spoil():
    rated = jr.rate(jr.elo(), jr.read(POINTS, margin=PAIR))
    table = jr.forecasts.simulate_season(
        rated, [("x", "z")], results=POINTS | {"score": [0, 1, 0]}, margin=PAIR, score=False, samples=100
    )
    assert dict(zip(table.player, table.points, strict=True)) == {"x": 6.0, "y": 1.0, "z": 1.0}
