"""What a dataset says of itself."""

import datetime

import numpy as np
import pytest

import jaxrate as jr

pytest.importorskip("pyarrow")

MATCHES = {"a": ["Ann", "Bob", "Cy"], "b": ["Bob", "Cy", "Ann"], "score": [1, 0.5, 0]}
CONTESTS = {
    "contest": ["Spa"] * 3 + ["Monza"] * 2,
    "player": ["Ann", "Bob", "Cy", "Bob", "Dan"],
    "rank": [1, 2, 3, 1, 2],
}


def test_matches_without_more():
    assert repr(jr.read(MATCHES)) == "Dataset of 3 matches\n  players    3: Ann, Bob, Cy"


def test_all_that_is_known_of_matches():
    days = [datetime.date(2024, 1, day) for day in (1, 9, 9)]
    table = MATCHES | {"date": days, "w": [1, 2, 3], "on": ["clay", "grass", "clay"], "margin": [3, 2, 1]}
    data = jr.read(table, side="a", weight="w", category="on", columns=["margin", "w"])
    assert repr(data).splitlines() == [
        "Dataset of 3 matches",
        "  players    3: Ann, Bob, Cy",
        "  known      side, weight",
        "  columns    margin, w",
        "  time       2024-01-01 to 2024-01-09",
        "  categories 2: clay, grass",
    ]


def test_contests():
    data = jr.read(CONTESTS | {"time": [3, 3, 3, 2.5, 2.5]})
    assert repr(data).splitlines() == [
        "Dataset of 2 contests",
        "  players    4: Ann, Bob, Cy, Dan",
        "  size       2 to 3 players",
        "  time       2.5 to 3",
    ]
    teams = jr.data.from_teams([[["Ada", "Bo"], ["Cy", "Di"]], [["Ada", "Di"], ["Bo", "Eve"]]])
    assert repr(teams).splitlines()[1:] == ["  players    5: Ada, Bo, Cy, Di, ...", "  size       4 players in 2 teams"]


def test_periods():
    data = jr.read(MATCHES | {"t": [1, 2, 20]})
    said = repr(data._replace(events=jr.periods(data.matches, 10.0))).splitlines()
    assert said[0] == "Dataset of 2 periods" and said[2:] == ["  size       2 to 3 players", "  time       0 to 20"]


def test_names_and_times_of_any_kind():
    data = jr.read({"a": [(1, 2), 7], "b": [7, "x"], "score": [1, 0], "t": [-0.25, 1e9]})
    assert repr(data).splitlines()[1:] == ["  players    3: (1, 2), 7, x", "  time       -0.25 to 1000000000"]
    assert "  time       1969-12-31 to 1970-01-01" in repr(
        data._replace(clock="dates")._replace(events=data.events._replace(time=np.array([-0.25, 0.5])))
    )


def test_the_repr_is_short():
    lines = repr(jr.data.datasets.nfl()).splitlines()
    assert lines[0] == "Dataset of 16,810 matches" and lines[-2] == "  time       1920-09-26 to 2021-02-07"
    assert len(lines) <= 7 and max(map(len, lines)) < 120
