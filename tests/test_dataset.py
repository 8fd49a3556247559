"""What a dataset says of itself."""

import datetime
import fnmatch
import tomllib
from pathlib import Path

import jax
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


DAYS = [datetime.date(2024, 1, day) for day in (1, 9, 9)]
RECORDED = {"date": DAYS, "w": [1, 2, 3], "on": ["clay", "grass", "clay"], "margin": [3, 2, 1]}
TEAMS = [[["Ada", "Bo"], ["Cy", "Di"]], [["Ada", "Di"], ["Bo", "Eve"]]]
ROLES = {"side": "a", "weight": "w", "category": "on", "columns": ["margin", "w"]}
BY_PERIOD = jr.read(MATCHES | {"t": [1, 2, 20]})
BEFORE_1970 = jr.matches([[0, 1]] * 2, [1, 0], [-0.25, 0.5])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (jr.read(MATCHES), "3 matches | players 3: Ann, Bob, Cy"),
        (jr.read(MATCHES | RECORDED, **ROLES), "3 matches | players 3: Ann, Bob, Cy | known side, weight | columns "
         "margin, w | time 2024-01-01 to 2024-01-09 | categories 2: clay, grass"),
        (jr.read(CONTESTS | {"time": [3, 3, 3, 2.5, 2.5]}),
         "2 contests | players 4: Ann, Bob, Cy, Dan | size 2 to 3 players | time 2.5 to 3"),
        (jr.data.from_teams(TEAMS), "2 contests | players 5: Ada, Bo, Cy, Di, ... | size 4 players in 2 teams"),
        (BY_PERIOD._replace(events=jr.periods(BY_PERIOD.matches, 10.0)),
         "2 periods | players 3: Ann, Bob, Cy | size 2 to 3 players | time 0 to 20"),
        (jr.read({"a": [(1, 2), 7], "b": [7, "x"], "score": [1, 0], "t": [-0.25, 1e9]}),
         "2 matches | players 3: (1, 2), 7, x | time -0.25 to 1000000000"),
        (jr.data.Dataset(BEFORE_1970, np.array(["a", "b"], object), np.arange(2), clock="dates"),
         "2 matches | players 2: a, b | time 1969-12-31 to 1970-01-01"),
    ],
)  # fmt: skip
def test_a_dataset_says_what_it_holds(data, said):
    lines = repr(data).removeprefix("Dataset of ").splitlines()
    assert " | ".join(" ".join(line.split()) for line in lines) == said


# The data sets that ship with the package.

ROOT = Path(__file__).parent.parent


def test_nfl():
    data = jr.data.datasets.nfl()
    lines = repr(data).splitlines()
    assert lines[0] == "Dataset of 16,810 matches" and lines[-2] == "  time       1920-09-26 to 2021-02-07"
    assert len(lines) <= 7 and max(map(len, lines)) < 120
    events = data.matches
    assert len(events.score) == len(data.rows) == 16_810 and len(set(data.players)) == 123
    assert data.clock == "dates" and data.contests is None
    dates = events.time[[0, -1]].astype("datetime64[D]").astype(str).tolist()
    assert dates == ["1920-09-26", "2021-02-07"]
    assert set(events.score) == {0.0, 0.5, 1.0} and set(events.context.side) == {0.0, 1.0}
    assert events.player[0].tolist() == [0, 1] and events.player.max() == 122
    assert data.players[:2].tolist() == ["Rock Island Independents", "St. Paul Ideals"]
    playing = {data.players[i] for i in np.unique(events.player[events.time > 18_500])}
    assert len(playing) == 32 and {"Arizona Cardinals", "Chicago Bears", "Las Vegas Raiders"} <= playing
    assert all("(" not in name for name in playing)


def test_nfl_as_a_table():
    """What is read of it is the dataset."""
    data, table = jr.data.datasets.nfl(), jr.data.datasets.nfl_columns()
    roles = {"a": "home", "b": "away", "side": "a", "neutral": "neutral", "season": "season"}
    read = jr.read(table, **roles, margin=data.margin, columns=["season", "playoff"])
    assert read.seasons == data.seasons and len(data.seasons) == 101 and data.margin == read.margin
    assert read.players.tolist() == data.players.tolist() and read.clock == data.clock
    for got, wanted in zip(jax.tree.leaves(read.matches), jax.tree.leaves(data.matches), strict=True):
        np.testing.assert_array_equal(got, wanted)
    del table["score"]  # which the points say as well
    np.testing.assert_array_equal(jr.read(table, **roles, margin=data.margin).matches.score, data.matches.score)


def test_the_last_super_bowl_and_the_forecasts_are_of_these_matches():
    data, forecast = jr.data.datasets.nfl(), jr.data.datasets.nfl_forecast()
    assert data.players[data.matches.player[-1]].tolist() == ["Tampa Bay Buccaneers", "Kansas City Chiefs"]
    score = data.matches.score
    assert score[-1] == 1.0 and data.matches.context.side[-1] == 0.0 and forecast[-1] == 0.4458
    last = {name: x[-1] for name, x in data.matches.context.columns.items()}
    assert last == {"season": 2020.0, "playoff": 1.0, "home_points": 31.0, "away_points": 9.0}
    loss, moved = (-np.mean(score * np.log(x) + (1 - score) * np.log(1 - x)) for x in (forecast, np.roll(forecast, 1)))
    assert abs(loss - 0.61401) < 1e-5 and moved > 0.66


def test_every_file_is_installed():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["jaxrate"]
    files = [path.relative_to(ROOT / "jaxrate") for path in (ROOT / "jaxrate").rglob("*") if path.is_file()]
    others = [str(path) for path in files if path.suffix not in (".py", ".pyc")]
    assert "data/datasets/nfl.csv.gz" in others
    for file in others:
        assert any(file.count("/") == p.count("/") and fnmatch.fnmatch(file, p) for p in patterns), file
