"""Sides, weights, categories and players who have ids."""

import datetime

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from tests.read.tables import names, table

pa = pytest.importorskip("pyarrow")


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
