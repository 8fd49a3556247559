"""`read` and `write`: what they make of a table, whatever holds it, and what they say about a bad one."""

import bz2
import datetime
import gzip
import os
import sys
import uuid
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxrate.data.dataset import Dataset
from jaxrate.data.read import read
from jaxrate.data.writing import frame, write
from jaxrate.events import rounds

pa = pytest.importorskip("pyarrow")
import pyarrow.csv  # noqa: E402
import pyarrow.parquet  # noqa: E402, F401

KINDS = ("dict", "pandas", "polars", "arrow", "csv", "csv.gz", "parquet")
MEMORY = ("dict", "pandas", "polars", "arrow")


def as_kind(kind, table, folder):
    """The table, a dict of lists, as a source of this kind."""
    if kind == "dict":
        return table
    if kind in ("pandas", "polars"):
        return pytest.importorskip(kind).DataFrame(table)
    if kind == "arrow":
        return pa.table(table)
    path = folder / f"games.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(pa.table(table), path)
    else:
        pa.csv.write_csv(pa.table(table), folder / "games.csv")
    if kind == "csv.gz":
        path.write_bytes(gzip.compress((folder / "games.csv").read_bytes()))
    return path


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def source(kind, tmp_path):
    return lambda table: as_kind(kind, table, tmp_path)


@pytest.fixture
def games(tmp_path):
    """Write the text of games.csv and give its path."""

    def save(text, name="games.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return save


def table(**columns):
    """Three matches."""
    return {"a": ["Ann", "Bob", "Cy"], "b": ["Bob", "Cy", "Ann"], "score": [1.0, 0.5, 0.0]} | columns


def names(dataset):
    return [[dataset.players[i] for i in row] for row in dataset.events.player]


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
    with pytest.raises(ValueError, match=r"row 1 \(counting from 0\): column 'score' has no value"):
        read(frame)


scalars = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.integers(), st.binary(max_size=1))


@settings(deadline=None, database=None)
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


# CSV


def test_csv_names_are_text(games):
    dataset = read(games("a,b,score\n007,7,1\n7,1e3,0\n1e3,late,1\nNA,null,0\nnan,2020-01-01,1\ntrue, 7,1\n"))
    assert dataset.players.tolist() == ["007", "7", "1e3", "late", "NA", "null", "nan", "2020-01-01", "true", " 7"]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa,b,score\nZoë,x,1\n\"Doe, J\",x,0\n",
        "a,b,score\r\nZoë,x,1\r\n\"Doe, J\",x,0\r\n",
        "a,b,score\nZoë,x,1\n\"Doe, J\",x,0",
        "\n\na,b,score\n\nZoë,x,1\n\n\"Doe, J\",x,0\n\n",
        "\ufeff\"score\",\"b\",\"a\"\r\n1,x,Zoë\r\n0,x,\"Doe, J\"\r\n",
    ],
    ids=["bom", "crlf", "no last newline", "empty lines", "all of it"],
)  # fmt: skip
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv_dialects(games, text, mark):
    text = text.replace(",", mark).replace(f"Doe{mark}", "Doe,")
    dataset = read(games(text))
    assert dataset.players.tolist() == ["Zoë", "x", "Doe, J"]
    assert dataset.events.score.tolist() == [1, 0]


def test_csv_quotes(games):
    dataset = read(games('a,b,score\n"two\nlines",x,1\n"say ""hi""",x,0\n'))
    assert dataset.players.tolist() == ["two\nlines", "x", 'say "hi"']


def test_csv_lines_in_quotes_at_any_place(games):
    names = [f"{i}\n{'x' * 60}" for i in range(40_000)]  # more than Arrow takes at once
    dataset = read(games("a,b,score\n" + "".join(f'"{name}",y,1\n' for name in names)))
    assert dataset.players.tolist() == [names[0], "y", *names[1:]]


@pytest.mark.parametrize("name", ["games.tsv", "games.csv.gz", "games.tsv.bz2", "games.csv.zst"])
def test_csv_endings(games, name):
    mark, ann = ("\t", "Doe, J") if "tsv" in name else (",", "Doe")
    text = (
        mark.join(["a", "b", "score", "elo, then" if "tsv" in name else "elo"])
        + "\n"
        + mark.join([ann, "x", "7", "1"])
        + "\n"
    )
    squeeze = {"gz": gzip.compress, "bz2": bz2.compress, "zst": lambda x: pa.compress(x, "zstd", asbytes=True)}
    path = games(squeeze.get(name.rpartition(".")[2], bytes)(text.encode()), name)
    with pytest.raises(ValueError, match=rf"^{name}: row 0 \(counting from 0, line 2\): score 7.0 is outside"):
        read(path)
    assert read(path, upcoming=True).players.tolist() == [ann, "x"]


def test_semicolons_within_a_name(games):
    assert read(games("a,b,score;\nx;1,y,1\n"), score="score;").players.tolist() == ["x;1", "y"]


def test_csv_numbers_that_turn_into_fractions_late(games):
    dataset = read(games("a,b,score\n" + "x,y,1\n" * 300_000 + "x,y,0.5\n"))
    assert dataset.events.score[-2:].tolist() == [1, 0.5]


def test_path_as_text_and_capitals(games):
    path = games("a,b,score\nx,y,1\n", "GAMES.CSV")
    assert read(str(path)).players.tolist() == ["x", "y"]


# Time

TIMES = {
    "dates": [datetime.date(1970, 1, 2), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)],
    "timestamps": [datetime.datetime(1970, 1, 2), datetime.datetime(1969, 12, 31), datetime.datetime(2024, 2, 29)],
    "dates in text": ["1970-01-02", "1969-12-31", "2024-02-29"],
    "timestamps in text": ["1970-01-02 00:00", "1969-12-31T00:00:00", "2024-02-29 00:00:00"],
    "both in text": ["1970-01-02", "1969-12-31T00:00:00", "2024-02-29 00"],
    "zones in text": ["1970-01-02T00:00:00Z", "1969-12-31T02:00:00+02:00", "2024-02-28 19:00:00-05:00"],
    "nanoseconds in text": ["1970-01-02", "1969-12-31 00:00:00.000000000", "2024-02-29"],
    "numbers": [1, -1, 19782],
}


@pytest.mark.parametrize("values", TIMES.values(), ids=TIMES)
def test_time(source, values):
    dataset = read(source(table(time=values)), sort=True)
    assert dataset.events.time.tolist() == [-1, 1, 19782]
    assert dataset.events.time.dtype == np.float64


def test_hours_are_parts_of_days(source):
    times = [datetime.datetime(1970, 1, 1, hour, 30) for hour in (0, 12, 18)]
    assert read(source(table(time=times))).events.time.tolist() == [0.5 / 24, 12.5 / 24, 18.5 / 24]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+02:00"])
def test_units_and_zones(unit, zone):
    times = pa.array(np.array([43_200, 86_400, 108_000], "datetime64[s]")).cast(pa.timestamp(unit, zone))
    assert read(pa.table(table(time=times))).events.time.tolist() == [0.5, 1, 1.25]


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_numpy_units(unit):
    times = np.array(["1970-01-01", "1970-01-03", "1970-01-04"], f"datetime64[{unit}]")
    assert read(table(time=times)).events.time.tolist() == [0, 2, 3]


def test_zones_of_pandas():
    pandas = pytest.importorskip("pandas")
    times = pandas.to_datetime(["1970-01-01 01:00", "1970-01-02 01:00"]).tz_localize("+01:00")
    frame = pandas.DataFrame({"a": ["x", "y"], "b": ["y", "x"], "score": [1, 0], "time": times})
    assert read(frame).events.time.tolist() == [0, 1]


def test_date64():
    times = pa.array([datetime.date(1970, 1, day) for day in (1, 2, 3)], pa.date64())
    assert read(pa.table(table(time=times))).events.time.tolist() == [0, 1, 2]


def test_sort_is_stable_and_takes_all_columns_along(source):
    columns = {
        "a": ["d", "c", "b", "a"],
        "b": ["x", "x", "x", "y"],
        "score": [0.0, 1.0, 0.5, 0.25],
        "time": [2, 1, 2, 0],
        "side": [1.0, -1.0, 0.0, 0.5],
        "w": [1.0, 2.0, 3.0, 4.0],
        "ca": ["p", "q", "q", "r"],
        "cb": ["q", "q", "p", "p"],
    }
    dataset = read(source(columns), sort=True, side="side", weight="w", category=("ca", "cb"), columns=["w"])
    assert names(dataset) == [["a", "y"], ["c", "x"], ["d", "x"], ["b", "x"]]
    assert dataset.players.tolist() == ["d", "x", "c", "b", "a", "y"]  # as they stand in the source
    assert dataset.events.time.tolist() == [0, 1, 2, 2]
    assert dataset.events.score.tolist() == [0.25, 1, 0, 0.5]
    assert dataset.events.context.side.tolist() == [0.5, -1, 1, 0]
    assert dataset.events.context.weight.tolist() == dataset.events.context.columns["w"].tolist() == [4, 2, 1, 3]
    categories = [[dataset.categories[i] for i in row] for row in dataset.events.context.category]
    assert categories == [["r", "p"], ["q", "q"], ["p", "q"], ["q", "p"]]


def test_sort_is_stable_among_many():
    time = np.random.default_rng(0).integers(0, 5, 1000)
    dataset = read({"a": np.arange(1000), "b": -1 - np.arange(1000), "score": np.ones(1000), "t": time}, sort=True)
    assert dataset.players[dataset.events.player[:, 0]].tolist() == sorted(range(1000), key=lambda row: time[row])


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
    dataset = read(source(table(**RACES)), category=("x", "y"), categories=["Z", "P", "R", "T"])
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
    dataset = read(source(table(**RACES)), category=("x", "y"), mixtures={"R": mixture})
    assert dataset.categories.tolist() == ["P", "T", "Z"]
    p, t, z = np.eye(3)
    np.testing.assert_allclose(dataset.events.context.category, [[p, t], [t, shares], [shares, z]])
    later = {"category": "x", "categories": ["P", "T"], "mixtures": {"R": ["T"]}}  # nobody plays it here
    absent = read(source(table(x=["P", "T", "P"])), **later)
    assert absent.events.context.category.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_mixtures_of_numbers_and_of_known_categories():
    columns = {"a": [1, 2], "b": [2, 1], "score": [1, 0], "race": np.array([3, 7])}
    for name, part in ((7, 5), ("7", "5")):
        dataset = read(columns, category="race", categories=[5, 3], mixtures={name: [part]})
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


# Errors about rows: (columns that go wrong, arguments, the first bad row, what is said)

DAYS = [datetime.date(2020, 1, day) for day in (2, 3, 1)]
ROWS = {
    "no name": ({"b": ["Bob", None, None]}, {}, 1, "column 'b' has no value"),
    "no score": ({"score": [1.0, 0.0, None]}, {}, 2, "column 'score' has no value"),
    "no time": ({"time": [None, 1, 2]}, {}, 0, "column 'time' has no value"),
    "no date": ({"time": [DAYS[0], None, DAYS[1]]}, {"sort": True}, 1, "column 'time' has no value"),
    "no text": ({"time": [None, "2020-01-01", None]}, {}, 0, "column 'time' has no value"),
    "no side": ({"x": [1, None, 0]}, {"side": "x"}, 1, "column 'x' has no value"),
    "no neutral": ({"x": [True, None, False]}, {"side": "a", "neutral": "x"}, 1, "column 'x' has no value"),
    "no weight": ({"x": [1.0, 1.0, None]}, {"weight": "x"}, 2, "column 'x' has no value"),
    "no category": ({"x": ["p", None, "q"]}, {"category": "x"}, 1, "column 'x' has no value"),
    "no category of b": ({"x": list("pqr"), "y": ["p", None, "q"]}, {"category": ("x", "y")}, 1, "'y' has no value"),
    "category": ({"x": list("pqr")}, {"category": "x", "categories": ["q", "p"]}, 2, "unknown category 'r' .*are q, p"),
    "no drop": ({"x": [1, 0, None]}, {"drop": "x"}, 2, "column 'x' has no value"),
    "self": ({"b": ["Bob", "Bob", "Cy"]}, {}, 1, "Bob is on both sides"),
    "score above": ({"score": [1.0, 0.0, 1.5]}, {}, 2, r"score 1.5 is outside \[0, 1\]"),
    "score below": ({"score": [1, -1, 2]}, {}, 1, r"score -1.0 is outside \[0, 1\]"),
    "side": ({"x": [1, -1, 2]}, {"side": "x"}, 2, r"side 2.0 is outside \[-1, 1\]"),
    "weight": ({"x": [1, 0, 2]}, {"weight": "x"}, 1, "weight 0.0 is not above 0"),
    "neutral": ({"x": [1, 0, 2]}, {"side": "a", "neutral": "x"}, 2, "column 'x' is 2.0, expected true or false"),
    "drop": ({"x": [0.5, 0, 2]}, {"drop": "x"}, 0, "column 'x' is 0.5, expected true or false"),
    "text score": ({"score": ["1", "win", "0"]}, {}, 1, "column 'score' is 'win', not a number"),
    "text weight": ({"x": ["heavy", "1", "1"]}, {"weight": "x"}, 0, "column 'x' is 'heavy', not a number"),
    "no column": ({"x": [1, 2, None]}, {"columns": "x"}, 2, "column 'x' has no value"),
    "infinite column": ({"x": [1.0, np.inf, 2.0]}, {"columns": "x"}, 1, "column 'x' is inf, not a finite number"),
    "text column": ({"x": ["1", "2", "few"]}, {"columns": ["x"]}, 2, "column 'x' is 'few', not a number"),
    "text flag": ({"x": ["0", "1", "yes"]}, {"drop": "x"}, 2, "column 'x' is 'yes', not a number"),
    "text time": ({"time": ["2020-01-31", "2020-02-30", "?"]}, {}, 1, "column 'time' is '2020-02-30', not an ISO date"),
    "local time": ({"time": ["31/01/2020", "2020-02-01", "?"]}, {}, 0, r"'31/01/2020', not .* \(2024-01-31, "),
    "some zones": ({"time": ["2020-01-31", "2020-02-01", "2020-02-02 10:00Z"]}, {}, 2, "10:00Z', not an ISO date"),
    "unsorted": ({"time": [1.0, 3.0, 2.5]}, {}, 2, "time 2.5 is earlier than 3 in the row before; .*the option sort"),
    "unsorted dates": ({"date": DAYS}, {}, 2, "time 2020-01-01 is earlier than 2020-01-03 in the .*the option sort"),
}  # fmt: skip


@pytest.fixture
def say(kind):
    """The start of the message about a row, as a pattern."""

    def start(row):
        if kind in MEMORY:
            return rf"^row {row} \(counting from 0\): "
        return rf"^games\.{kind}: row {row} \(counting from 0{'' if kind == 'parquet' else f', line {row + 2}'}\): "

    return start


@pytest.mark.parametrize("columns, arguments, row, message", ROWS.values(), ids=ROWS)
def test_bad_row(source, say, columns, arguments, row, message):
    with pytest.raises(ValueError, match=say(row) + ".*" + message):
        read(source(table(**columns)), **arguments)


@pytest.mark.parametrize("columns, arguments, row, message", ROWS.values(), ids=ROWS)
def test_bad_row_after_dropped_ones(source, say, columns, arguments, row, message):
    longer = {name: [values[0], *values[:1], *values] for name, values in table(**columns).items()}
    longer["bad"] = [1, 1, 0, 0, 0]
    drop = ["bad", arguments["drop"]] if "drop" in arguments else "bad"
    if "drop" in arguments:
        row = -2 if row == 0 else row  # what tells which rows to drop is looked at in all of them
    with pytest.raises(ValueError, match=say(row + 2) + ".*" + message):
        read(source(longer), **{**arguments, "drop": drop})


def test_bad_row_after_sorting_and_dropping(source, say):
    columns = {"a": list("xyxy"), "b": list("yxyx"), "score": [7.0, 1.0, 5.0, 0.0]}
    columns |= {"time": [1, 3, 4, 2], "bad": [1, 0, 0, 0]}
    with pytest.raises(ValueError, match=say(2) + "score 5.0"):
        read(source(columns), sort=True, drop="bad")
    with pytest.raises(ValueError, match=say(0) + "score 7.0"):
        read(source(columns), sort=True)


@pytest.mark.parametrize("kind", [*MEMORY, "parquet"], indirect=True)
@pytest.mark.parametrize("column", ["a", "b", "score", "time", "w"])
def test_nan(source, say, column):
    nan = {"a": [1.0, 2.0], "b": [2.0, 1.0], "score": [1.0, 1.0], "time": [1.0, 2.0], "w": [1.0, 2.0]}
    nan[column] = [nan[column][0], float("nan")]
    message = f"(column '{column}' has no value|{column[0]}.* is nan, not a finite number)"
    with pytest.raises(ValueError, match=say(1) + message):
        read(source(nan), weight="w")


def test_nan_in_csv(games):
    with pytest.raises(ValueError, match=r"^games.csv: row 1 \(counting from 0, line 3\): score is nan"):
        read(games("a,b,score\nx,y,1\nx,y,nan\n"))


def test_infinity(source, say):
    with pytest.raises(ValueError, match=say(1) + "time is inf, not a finite number"):
        read(source(table(time=[1.0, float("inf"), float("inf")])))


def test_missing_names_among_mixed_ones():
    for nothing in (None, float("nan"), np.datetime64("NaT"), pytest.importorskip("pandas").NA):
        with pytest.raises(ValueError, match=r"^row 1 \(counting from 0\): column 'b' has no value"):
            read({"a": ["x", "y"], "b": [3, nothing], "score": [1, 1]})
        with pytest.raises(ValueError, match=r"^row 0 \(counting from 0\): column 'a' has no value"):
            read({"a": [nothing, "y"], "b": ["x", "x"], "score": [1, 1]})


def test_mixed_numbers_in_a_dict():
    columns = {"a": ["x", "y"], "b": ["y", "x"]}
    assert read(columns | {"score": [Fraction(1, 4), 1]}).events.score.tolist() == [0.25, 1]
    assert read(columns | {"score": [True, 0.5]}).events.score.tolist() == [1, 0.5]
    with pytest.raises(ValueError, match=r"^row 1 \(counting from 0\): column 'score' is 'lost', not a number"):
        read(columns | {"score": [1, "lost"]})
    with pytest.raises(ValueError, match="^column 'time' mixes values of different types"):
        read(columns | {"score": [1, 1], "time": [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 2)]})
    with pytest.raises(ValueError, match=r"^row 1 \(counting from 0\): column 'time' has no value"):
        read(columns | {"score": [1, 1], "time": [datetime.date(2020, 1, 1), float("nan")]})


# Players who have ids, matches to come, dates


def test_known_players_keep_their_ids(source):
    first = read(source(table()))
    later = read(source({"a": ["Dan", "Cy"], "b": ["Cy", "Eve"], "score": [1.0, 0.0]}), players=first.players)
    assert later.players.tolist() == ["Ann", "Bob", "Cy", "Dan", "Eve"]
    assert later.events.player.tolist() == [[3, 2], [2, 4]]
    assert later.events.player.dtype == np.int32
    assert read(source(table()), players=["Cy", "Zoë"]).events.player.tolist() == [[2, 3], [3, 0], [0, 2]]
    assert read(source(table()), players=[]).players.tolist() == first.players.tolist()


def test_known_players_of_other_types():
    for known in ([7, 3], np.array([7, 3], np.int8), ["x", 3]):
        dataset = read({"a": np.array([3, 5]), "b": np.array([4, 3]), "score": [1, 1]}, players=known)
        assert [[dataset.players[i] for i in row] for row in dataset.events.player] == [[3, 4], [5, 3]]
        assert list(dataset.players[:2]) == list(known)
    as_text = read({"a": ["3", "5"], "b": ["4", "3"], "score": [1, 1]}, players=np.array([7, 3]))  # as CSV gives them
    assert as_text.players.tolist() == [7, 3, 4, 5]
    with pytest.raises(ValueError, match="row 1 .*column 'b' is 'x', not a whole number, as the known players are"):
        read({"a": ["3", "5"], "b": ["4", "x"], "score": [1, 1]}, players=[7, 3])
    with pytest.raises(ValueError, match="players has a name twice"):
        read({"a": [1, "x"], "b": [2, 1], "score": [1, 1]}, players=[1, 1])


def test_upcoming(source):
    columns = {"a": ["x", "y"], "b": ["y", "x"], "score": [None, 9.0], "home": [1, -1], "winner": ["", ""], "t": [1, 2]}
    dataset = read(source(columns), upcoming=True, side="home")
    assert dataset.events.score.tolist() == [0.5, 0.5]
    assert dataset.events.context.side.tolist() == [1, -1]
    assert dataset.events.time.tolist() == [1, 2]
    with pytest.raises(ValueError, match="no column 'a'"):
        read(source({"winner": ["x"], "loser": ["y"]}), upcoming=True)


def test_dated(source):
    assert read(source(table(date=[datetime.date(2024, 1, 1)] * 3))).clock == "dates"
    assert read(source(table(date=["2024-01-01T10:00:00Z"] * 3))).clock == "dates"
    assert read(source(table(date=[1, 2, 3]))).clock != "dates"
    assert read(source(table())).clock != "dates"


# Contests

CONTESTS = {
    "contest": ["Spa", "Spa", "Spa", "Monza", "Monza"],
    "player": ["Ann", "Bob", "Cy", "Bob", "Dan"],
    "rank": [1.0, 2.0, 2.0, 9.0, 4.0],
}


def same(found, expected):
    for x, y in zip(found.events, expected.events, strict=True):
        assert (x is None) == (y is None)
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(found.player_start, expected.player_start)


def test_contests(source):
    dataset = read(source(CONTESTS | {"time": [3, 3, 3, 5, 5]}))
    same(dataset.events, rounds([0, 0, 0, 1, 1], [0, 1, 2, 1, 3], [1, 2, 2, 9, 4], time=[3, 3, 3, 5, 5]))
    assert dataset.players.tolist() == ["Ann", "Bob", "Cy", "Dan"]
    assert dataset.rows.tolist() == [0, 1, 2, 3, 4]
    assert dataset.rounds is dataset.events and dataset.contests.tolist() == ["Spa", "Monza"]
    with pytest.raises(ValueError, match="^these are rounds"):
        _ = dataset.matches
    with pytest.raises(ValueError, match="^these are matches"):
        _ = read(source(table())).rounds


def test_contests_by_score_and_in_teams(source):
    columns = {
        "race": [7, 7, 7, 5, 5],
        "who": list("pqrpq"),
        "score": [2.5, 2.5, 3.0, 1.0, 2.0],
        "share": [1.0, 0.5] * 2 + [1],
    }
    columns |= {"car": ["red", "red", "blue", "red", "blue"], "bad": [0, 1, 0, 0, 0]}
    dataset = read(source(columns), contest="race", player="who", team="car", weight="share")
    weight, team = [1, 0.5, 1, 0.5, 1], [0, 0, 1, 0, 1]
    rank = [-2.5, -2.5, -3, -1, -2]
    same(dataset.events, rounds([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], rank, team=team, weight=weight))
    dataset = read(source(columns), contest="race", player="who", drop="bad", players=["r"])
    same(dataset.events, rounds([0, 0, 1, 1], [1, 0, 1, 2], [-2.5, -3, -1, -2]))
    assert dataset.rows.tolist() == [0, 2, 3, 4]


def test_contests_sorted_as_wholes(source):
    columns = {"contest": list("bcbaca"), "player": list("xxyxyz"), "rank": [1, 2, 3, 4, 5, 6], "t": [5, 5, 5, 1, 5, 1]}
    dataset = read(source(columns), sort=True)
    assert dataset.rows.tolist() == [3, 5, 0, 2, 1, 4] and dataset.contests.tolist() == ["a", "b", "c"]
    same(dataset.events, rounds([0, 0, 1, 1, 2, 2], [0, 2, 0, 1, 0, 1], [1, 2] * 3, time=[1, 1, 5, 5, 5, 5]))


def test_contests_with_ties_and_a_ceiling(source):
    """Ranges may have gaps, since rows may have been left out, and rows stand in any order."""
    columns = CONTESTS | {"rank": [2, 0, 0, 5, 3], "last": [2, 1, 1, 5, 4], "ceiling": [None] * 3 + [99.5] * 2}
    dataset = read(source(columns), last="last", ceiling="ceiling")
    ceiling = [np.inf] * 3 + [99.5] * 2
    same(dataset.events, rounds([0, 0, 0, 1, 1], [0, 1, 2, 1, 3], [2, 0, 0, 5, 3], ceiling=ceiling))
    assert dataset.contests.tolist() == ["Spa", "Monza"]
    assert (
        read(source(columns | {"ceiling": [None] * 5}), ceiling="ceiling").rounds.events.ceiling.tolist()
        == [np.inf] * 2
    )


def test_contests_count_in_their_order_whatever_their_times(source):
    dataset = read(source(CONTESTS | {"t": [3, 3, 3, 2, 2]}))
    assert dataset.rounds.events.time.tolist() == [3, 2] and dataset.rows.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_column_of_time_without_a_value_is_no_time(source, nothing):
    for columns in (CONTESTS | {"time": [nothing] * 5}, table(time=[nothing] * 3)):
        for arguments in ({}, {"time": "time"}):
            dataset = read(source(columns), **arguments)
            assert dataset.clock is None
            assert not (dataset.events if "a" in columns else dataset.rounds.events).time.any()
        with pytest.raises(ValueError, match="the option sort needs times, but column 'time' has no value"):
            read(source(columns), sort=True)


def test_a_contest_of_one_is_told_by_its_name(source):
    with pytest.warns(UserWarning, match="^contest 'Monza' has one participant") as told:
        read(source({name: values[:4] for name, values in CONTESTS.items()}))
    assert len(told) == 1 and told[0].filename == __file__


def test_contests_to_come(source):
    columns = {"contest": ["q", "q", "p", "p"], "player": list("xyxz"), "date": ["2024-01-09"] * 2 + ["2024-01-02"] * 2}
    dataset = read(source(columns), players=["z"], upcoming=True)
    same(dataset.events, rounds([0, 0, 1, 1], [1, 0, 1, 2], [0] * 4, time=[19724] * 2 + [19731] * 2))
    assert dataset.contests.tolist() == ["p", "q"] and dataset.rows.tolist() == [2, 3, 0, 1]
    columns |= {"car": list("uuvw")}
    dataset = read(source(columns), team="car", upcoming=True)
    assert dataset.rounds.events.team.tolist() == [0, 1, 0, 0] and not dataset.rounds.events.rank.any()


BAD_CONTESTS = {
    "twice": ({"player": list("xyyxz")}, {}, 2, "player 'y' is in contest 'Spa' twice"),
    "again": ({"contest": ["p", "q", "p", "q", "q"]}, {}, 2, "contest 'p' begins a second time; put the rows"),
    "ceiling": ({"c": [1, 1, 1, 1, 2]}, {"ceiling": "c"}, 4, "ceiling 2.0 differs within contest 'Monza'"),
    "ceiling, missing": ({"c": [1, None, 1, 1, 1]}, {"ceiling": "c"}, 1, "ceiling inf differs within contest 'Spa'"),
    "no rank": ({"rank": [1, 2, None, 1, 2]}, {}, 2, "column 'rank' has no value"),
    "no last": ({"last": [1, 3, None, 9, 4]}, {"last": "last"}, 2, "column 'last' has no value"),
    "backward": ({"last": [1, 3, 3, 8, 4]}, {"last": "last"}, 3, "the places 9 to 8 end before they begin"),
    "overlap": ({"last": [2, 3, 3, 9, 4]}, {"last": "last"}, 1, "the places 2 to 3 overlap others of the same contest"),
    "part": ({"last": [1, 4, 3, 9, 4]}, {"last": "last"}, 1, "the places 2 to 4 overlap others .* without being the"),
    "within": ({"last": [1, 3, 3, 9, 9]}, {"last": "last"}, 3, "the places 9 to 9 overlap others of the same contest"),
    "crowd": ({"last": [1, 2, 2, 9, 4]}, {"last": "last"}, 2, "the places 2 to 2 are fewer than the players who share"),
    "times": ({"t": [3, 3, 4, 5, 5]}, {}, 2, "time 4.0 differs within contest 'Spa'"),
    "times, sorted": ({"t": [3, 3, 1, 5, 5]}, {"sort": True}, 2, "time differs within contest 'Spa'"),
    "nan": ({"t": [3.0, 3.0, 3.0, 5.0, float("inf")]}, {"sort": True}, 4, "time"),
    "rank": ({"rank": ["1", "2", "DNF", "1", "2"]}, {}, 2, "column 'rank' is 'DNF', not a number"),
    "contest": ({"contest": ["p", None, "p", "q", "q"]}, {}, 1, "column 'contest' has no value"),
    "weight": ({"w": [1, 1, 0, 1, 1]}, {"weight": "w"}, 2, "weight 0.0 is not above 0"),
    "team": ({"car": list("uvwxx")}, {"team": "car"}, 4, "rank 4.0 differs from 9.0 of the same team in row 3 .*Monza"),
    "no team": ({"car": ["u", None, *"vwx"]}, {"team": "car"}, 1, "column 'car' has no value; players without a team"),
    "no player": ({"player": ["x", None, "y", "z", "z"]}, {}, 1, r"column 'player' has no value \(contest 'Spa'\)$"),
    "no rank, named": ({"rank": [1, 2, None, 1, 2]}, {}, 2, r"column 'rank' has no value \(contest 'Spa'\)$"),
    "weight, named": ({"w": [0] * 5}, {"weight": "w"}, 0, r"weight 0.0 is .*; remove the row \(contest 'Spa'\)$"),
}  # fmt: skip


@pytest.mark.parametrize("columns, arguments, row, message", BAD_CONTESTS.values(), ids=BAD_CONTESTS)
def test_bad_contest(source, kind, columns, arguments, row, message):
    place = "" if kind in (*MEMORY, "parquet") else f", line {row + 2}"
    with pytest.raises(ValueError, match=rf"row {row} \(counting from 0{place}\): {message}"):
        read(source(CONTESTS | columns), **arguments)


def test_bad_team_after_dropped_rows():
    columns = {name: ["0", *values] for name, values in CONTESTS.items()} | {"rank": [0, *CONTESTS["rank"]]}
    with pytest.raises(ValueError, match=r"row 5 .*: rank 4.0 differs from 9.0 of the same team in row 4 .contest"):
        read(columns | {"car": list("?uvwxx"), "bad": [1, 0, 0, 0, 0, 0]}, team="car", drop="bad")


# Errors about columns and arguments

ARGUMENTS = {
    "misspelt": ({"score": "scor"}, r"no column 'scor'; did you mean 'score'\? \(there are: a, b, score\)"),
    "missing": ({"weight": "importance"}, r"no column 'importance' \(there are: a, b, score\)"),
    "missing side": ({"side": "home"}, "no column 'home'"),
    "missing neutral": ({"side": "a", "neutral": "x"}, "no column 'x'"),
    "missing time": ({"time": "when"}, "no column 'when'"),
    "missing player": ({"a": "white", "b": "b"}, "no column 'white'"),
    "missing drop": ({"drop": ["score", "walkover"]}, "no column 'walkover'"),
    "missing category": ({"category": ("a", "class")}, "no column 'class'"),
    "half a category": ({"category": ("a",)}, "category must be one column or the pair"),
    "categories of nothing": ({"categories": ["x"]}, "mixtures and categories need category, the columns"),
    "a mixture of nothing": ({"mixtures": {"x": None}}, "mixtures and categories need category, the columns"),
    "a strange part": ({"category": "b", "mixtures": {"Bob": ["Cyy"]}}, "the mixture 'Bob' has 'Cyy', which is no cat"),
    "a mixture nobody plays": (
        {"category": "b", "mixtures": {"Bobb": None}},
        "the mixture 'Bobb' is in no row; did you",
    ),
    "a part twice": ({"category": "b", "mixtures": {"Bob": ["Cy", "Cy"]}}, "the mixture 'Bob' has a part twice"),
    "parts as text": (
        {"category": "b", "mixtures": {"Bob": "Cy"}},
        "the mixture 'Bob' must be None, a list of names, or",
    ),
    "a number for parts": (
        {"category": "b", "mixtures": {"Bob": 0.5}},
        "the mixture 'Bob' must be None, a list of names",
    ),
    "a share of text": (
        {"category": "b", "mixtures": {"Bob": {"Cy": "x"}}},
        "the mixture 'Bob' must be None, a list of",
    ),
    "a list of mixtures": ({"category": "b", "mixtures": ["Bob"]}, "mixtures must be a dict of shares by name, as "),
    "no category": ({"category": "b", "categories": []}, "categories is empty; leave it out"),
    "category and mixture": (
        {"category": "b", "categories": ["Bob", "Cy", "Ann"], "mixtures": {"Cy": None}},
        "'Cy' is in categories and in mixtures",
    ),
    "missing column": ({"columns": ["score", "margin"]}, "no column 'margin'"),
    "columns of a contest": ({"contest": "a", "player": "b", "columns": "score"}, "side, neutral, category and column"),
    "category of a number": ({"category": 3}, "category must be one column or the pair"),
    "shares beyond one": (
        {"category": "b", "mixtures": {"Bob": {"Ann": 0.5, "Cy": 0.6}}},
        "the shares of the mixture 'Bob' must be from 0 and sum to 1, not to 1.1",
    ),
    "a share below zero": (
        {"category": "b", "mixtures": {"Bob": {"Ann": -0.5, "Cy": 1.5}}},
        "the shares of the mixture 'Bob' must be from 0",
    ),
    "nothing but mixtures": (
        {"category": "b", "mixtures": dict.fromkeys(["Ann", "Bob", "Cy"])},
        "all categories are mix",
    ),
    "neutral without side": ({"neutral": "score"}, "neutral needs side"),
    "only loser": ({"loser": "a"}, "no column 'winner'"),
    "only contest": ({"contest": "a"}, "no column 'player'"),
    "contest and a": ({"contest": "score", "a": "a"}, "give the columns a and b, or winner and loser, or those of"),
    "team of a match": ({"team": "score", "b": "b"}, "give the columns a and b, or winner and loser, or those of"),
    "rank and score": ({"contest": "a", "rank": "score", "score": "score"}, "give rank, lower .* and not both"),
    "neither rank nor score": ({"contest": "a", "player": "b", "rank": "place"}, "no column 'place'"),
    "side of a contest": ({"contest": "a", "player": "b", "side": "score"}, "side, neutral, category and column"),
    "upcoming winner": ({"winner": "a", "upcoming": True}, "matches to come have columns a and b"),
    "upcoming contest": ({"contest": "a", "upcoming": True}, "no column 'player'"),
    "upcoming rank": (
        {"contest": "a", "player": "b", "rank": "score", "upcoming": True},
        "matches to come have columns",
    ),
    "last of a score": (
        {"contest": "a", "player": "b", "last": "score"},
        "last, the last place of a tie, goes with rank",
    ),
    "last of a match": ({"a": "a", "last": "score"}, "give the columns a and b, or winner and loser, or those of"),
    "players of another type": (
        {"players": [1, 2]},
        "row 0 .*column .a. is .*, not a whole number, as the known players are",
    ),
    "a player twice": ({"players": ["Bob", "Ann", "Bob"]}, "players has a name twice"),
    "a player without name": ({"players": ["Bob", None]}, "players has a name missing"),
    "a and winner": ({"a": "a", "winner": "b"}, "give the columns a and b, or winner and loser"),
    "all four": ({"a": "a", "b": "b", "winner": "a", "loser": "b"}, "give the columns a and b, or winner and loser"),
    "score of a winner": ({"winner": "a", "loser": "b", "score": "score"}, "the score of a winner is 1"),
    "sort by nothing": ({"sort": True}, "the option sort needs a column of time"),
    "side winner": ({"side": "winner"}, "side='winner' would tell the result"),
    "side loser": ({"side": "loser"}, "side='loser' would tell the result"),
    "side of a winner": ({"winner": "a", "loser": "b", "side": "a"}, "side='a' would tell the result"),
    "side of a loser": ({"winner": "a", "loser": "b", "side": "b"}, "side='b' would tell the result"),
}


@pytest.mark.parametrize("arguments, message", ARGUMENTS.values(), ids=ARGUMENTS)
def test_bad_argument(source, kind, arguments, message):
    with pytest.raises(ValueError, match=("^" if kind in MEMORY else rf"^games\.{kind}: ") + message):
        read(source(table()), **arguments)


@pytest.mark.parametrize("side", ["a", "b", "winner", "loser"])
def test_side_must_not_tell_the_winner(source, side):
    with pytest.raises(ValueError, match=f"side='{side}' would tell the result before the match"):
        read(source({"winner": ["x"], "loser": ["y"]}), side=side)
    other = {"a": "won", "b": "lost"}.get(side, side)
    with pytest.raises(ValueError, match=f"side='{other}' would tell the result before the match"):
        read(source({"won": [1], "lost": [2]}), winner="won", loser="lost", side=other)


def test_no_names_at_all(source):
    with pytest.raises(ValueError, match=r"no column 'a'; name the players' columns, .* \(there are: home, away\)"):
        read(source({"home": ["x"], "away": ["y"]}))


@pytest.mark.parametrize("kind", [*MEMORY, "parquet"], indirect=True)
def test_wrong_types(source):
    with pytest.raises(ValueError, match="columns must be of the same type, but 'a' holds .*string and 'b' holds int"):
        read(source(table(b=[1, 2, 3])))
    with pytest.raises(ValueError, match="columns must be of the same type, but 'x' holds int64 and 'y' holds double"):
        read(source(table(x=[1, 2, 3], y=[0.5, 1.0, 2.0])), category=("x", "y"))
    with pytest.raises(ValueError, match="column 'score' must hold numbers, got date32"):
        read(source(table(score=DAYS)))
    with pytest.raises(ValueError, match="column 'time' must hold dates, timestamps or numbers, got bool"):
        read(source(table(time=[False, True, True])))
    with pytest.raises(ValueError, match="column 'time' must hold dates, timestamps or numbers, got time"):
        read(source(table(time=[datetime.time(1)] * 3)))


def test_integers_of_different_sizes():
    dataset = read({"a": np.array([1, 2], np.int8), "b": np.array([2, 3], np.uint64), "score": [1, 1]})
    assert dataset.players.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="18446744073709551615"):
        read({"a": np.array([1], np.int8), "b": np.array([2**64 - 1], np.uint64), "score": [1]})


def test_columns_that_are_none():
    for column in (3, "xyz", b"xyz", np.zeros((3, 1)), (i for i in range(3))):
        with pytest.raises(ValueError, match="column 'b' must be an array of one dimension or a list"):
            read(table(b=column))
    with pytest.raises(ValueError, match="column 'b' has 2 rows, 'a' has 3"):
        read(table(b=["x", "y"]))
    with pytest.raises(ValueError, match=r"columns \['a', 'b'\] hold values that cannot be names"):
        read(table(b=[[1], [2], [3]]))


@pytest.mark.parametrize("source", [3, None, ["a", "b"], np.zeros(3)])
def test_source_of_another_kind(source):
    with pytest.raises(TypeError, match=f"cannot read a {type(source).__name__}; give a path, a table or a dict"):
        read(source)


def test_repeated_columns(games, tmp_path):
    repeated = pa.Table.from_arrays([pa.array([i]) for i in (1, 2, 1, 2)], ["a", "b", "score", "b"])
    pa.parquet.write_table(repeated, tmp_path / "games.parquet")
    sources = [repeated, games("a,b,score,b\n1,2,1,2\n"), tmp_path / "games.parquet"]
    pandas = pytest.importorskip("pandas")
    for source in [*sources, pandas.DataFrame([[1, 2, 1, 2]], columns=["a", "b", "score", "b"])]:
        with pytest.raises(ValueError, match="several columns have the same name: b$"):
            read(source)


@pytest.mark.parametrize("kind", MEMORY, indirect=True)
def test_no_rows(source):
    with pytest.raises(ValueError, match="^no rows$"):
        read(source({"a": [], "b": [], "score": []}))


def test_all_rows_dropped(source):
    with pytest.raises(ValueError, match="no rows are left: 'x' drops them all$"):
        read(source(table(x=[1, 1, 1])), drop="x")


# Errors about files


@pytest.mark.parametrize("name", ["games.csv", "games.csv.gz", "games.parquet"])
def test_files_that_are_not_there(tmp_path, name):
    with pytest.raises(ValueError, match=f"^{name}: no such file$"):
        read(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"^{name}: a directory, not a file$"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["games.xlsx", "games", "csv", "games.parquet.gz"])
def test_unknown_ending(games, name):
    with pytest.raises(ValueError, match=rf"^{name}: cannot read .*\.parquet, \.csv or \.tsv"):
        read(games("a,b,score\nx,y,1\n", name))


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_empty_csv(games, text):
    with pytest.raises(ValueError, match="^games.csv: the file is empty$"):
        read(games(text))


def test_header_alone(games, tmp_path):
    with pytest.raises(ValueError, match="^games.csv: no rows$"):
        read(games("a,b,score\n"))
    pa.parquet.write_table(pa.table(table()).slice(0, 0), tmp_path / "games.parquet")
    with pytest.raises(ValueError, match="^games.parquet: no rows$"):
        read(tmp_path / "games.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b,score\nx,y,1\n" * 9, b"PAR1" + bytes(99) + b"PAR1"])
def test_not_parquet(games, content):
    with pytest.raises(ValueError, match="^games.parquet: [^\n]*$"):
        read(games(content, "games.parquet"))


@pytest.mark.parametrize("part", ["end", "middle"])
def test_broken_parquet(games, tmp_path, part):
    columns = {"a": np.arange(9999), "b": -np.arange(9999) - 1, "score": np.ones(9999)}
    pa.parquet.write_table(pa.table(columns), tmp_path / "x")
    whole = (tmp_path / "x").read_bytes()
    content = whole[:-40] if part == "end" else whole[:4] + b"\xff" * 5000 + whole[5004:]
    with pytest.raises(ValueError, match="^games.parquet: [^\n]*$"):
        read(games(content, "games.parquet"))


@pytest.mark.parametrize("name", ["games.csv", "games.csv.gz"])
@pytest.mark.parametrize("bad, found", [("x,y", 2), ("x,y,1,2", 4), ("x", 1)])
def test_wrong_number_of_fields(games, name, bad, found):
    text = "a,b,score\n\n" + "x,y,1\n" * 5 + bad + "\n" + "x,y,1\n" * 5
    content = gzip.compress(text.encode()) if name.endswith("gz") else text
    message = rf"^{name}: row 5 \(counting from 0, line 8\): Expected 3 columns, got {found}: {bad}$"
    with pytest.raises(ValueError, match=message):
        read(games(content, name))


def test_lines_of_rows_over_several_lines(games):
    with pytest.raises(ValueError, match=r"^games.csv: row 2 \(counting from 0, line 7\): score 2.0 is outside"):
        read(games('a,b,score\n\n"x\ny",z,1\n\nx,y,1\nx,z,2\n'))


NOT_UTF8 = {
    "latin-1 name": (("a,b,score\nx,y,1\nZoë,y,1\n", "latin-1"), r"row 1 \(counting from 0, line 3\)"),
    "latin-1 number": (("a,b,score\nx,y,1\nx,y,½\n", "latin-1"), r"row 1 \(counting from 0, line 3\)"),
    "latin-1 header": (("\na,b,score,Größe\nx,y,1,2\n", "latin-1"), "line 2"),
    "utf-16": (("a,b,score\nx,y,1\n", "utf-16"), "line 1"),
    "utf-16 without a mark": (("a,b,score\nx,y,1\n", "utf-16-le"), "line 1"),
}


@pytest.mark.parametrize("text, place", NOT_UTF8.values(), ids=NOT_UTF8)
def test_not_utf8(games, text, place):
    with pytest.raises(ValueError, match=f"^games.csv: {place}: not UTF-8 text; save the file as UTF-8$"):
        read(games(text[0].encode(text[1])))


def test_not_gzip(games):
    whole = gzip.compress(b"a,b,score\n" + b"x,y,1\n" * 9999)
    for content in (b"a,b,score\nx,y,1\n", whole[:-20], whole[:12], whole[:20] + b"?" + whole[21:]):
        with pytest.raises(ValueError, match="^games.csv.gz: [^\n]*$"):
            read(games(content, "games.csv.gz"))


def test_empty_fields(games):
    with pytest.raises(ValueError, match=r"^games.csv: row 1 \(counting from 0, line 3\): column 'b' has no value"):
        read(games('a,b,score\nx,y,1\nx,"",1\n'))
    with pytest.raises(ValueError, match=r"^games.csv: row 0 \(counting from 0, line 2\): column 'score' has no value"):
        read(games("a,b,score\nx,y,\ny,x,\n"))


def test_without_pyarrow(monkeypatch, tmp_path):
    for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'pip install "jaxrate\[data\]"'):
        read(table())
    with pytest.raises(ImportError, match=r'pip install "jaxrate\[data\]"'):
        write(table(), tmp_path / "games.csv")


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
        target.write_text("half")
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
    made = frame(board, kind)
    assert type(made) is (package.table({}) if kind == "pyarrow" else package.DataFrame()).__class__
    back = pa.table(made)
    assert back.column_names == ["player", "when"]
    assert back["player"].to_pylist() == ["x", "y"]
    assert np.array(back["when"].cast("date32").to_pylist()).tolist() == [datetime.date(y, 1, 1) for y in (2020, 2021)]


def test_frame_of_what_is_installed(monkeypatch):
    for package in ("polars", "pandas", "pyarrow"):
        assert type(frame({"x": [1]})).__module__.startswith(package)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"a frame needs {package}: pip install {package}$"):
            frame({"x": [1]}, package)
    with pytest.raises(ImportError, match="a frame needs polars, pandas or pyarrow"):
        frame({"x": [1]})


def test_bad_frame():
    with pytest.raises(ValueError, match="kind must be one of polars, pandas, pyarrow, got 'excel'"):
        frame({"x": [1]}, "excel")
    with pytest.raises(ValueError, match=r"column 'y' has shape \(1,\), expected \(2,\)"):
        frame({"x": [1, 2], "y": [1]})


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
    assert frame(source(columns), "pyarrow").to_pydict() == columns
