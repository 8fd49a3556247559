"""Margins, covariates and seasons of matches."""

import numpy as np
import pytest

from jaxrate import parts, read, skills
from jaxrate.data.dataset_names import NamesOfEarlierData
from tests.read.tables import read_noting, table

POINTS = {"home": [3, 1, 0], "away": [1, 1, 2]}


def scored(**columns):
    """Three matches with points and seasons, of which 1905 is not over when 1906 begins."""
    text = {"time": [5.0, 300.0, 301.0], "when": ["1905-06", "1905-06", "1906-07"]}
    return table() | POINTS | text | {"rest": [2.0, -1.0, 0.0]} | columns


def test_roles(source):
    data = read(source(scored()), margin=("home", "away"), covariates="rest", season="when", columns="home")
    assert data.margin == ("home", "away") and data.covariates == ("rest",)
    assert data.seasons == {"1905-06": 5.0, "1906-07": 301.0}
    columns = data.matches.context.columns
    assert {name: x.tolist() for name, x in columns.items()} == {"rest": [2, -1, 0], **POINTS}
    assert read(source(scored(by=[2, 0, 4])), margin="by").margin == ("by",)
    none = read(source(scored()))
    assert (none.margin, none.covariates, none.seasons) == ((), (), None)


def test_statistics_and_shares(source):
    rows = scored(xa=[1.5, None, 0.5], xb=[0.5, 1.0, 2.0], ahead=[2.0, float("nan"), -1.0])
    roles = {"statistics": {"xg": ("xa", "xb"), "ahead": "ahead"}, "shares": {"points": ["home", "away"]}}
    data = read(source(rows), **roles, on_faulty="skip")
    assert data.statistics == ("xg", "ahead", "points") and "xg, ahead, points" in repr(data)
    found = data.matches.context.columns
    assert [*found] == ["xg", "ahead", "points"]
    np.testing.assert_array_equal(found["xg"], [1.0, np.nan, -1.5])
    np.testing.assert_array_equal(found["ahead"], [2.0, np.nan, -1.0])
    np.testing.assert_array_equal(found["points"], [0.5, 0.0, -1.0])
    nil = read(source(rows | {"home": [0, 1, 0], "away": [0, 1, 2]}), shares=roles["shares"], columns="home")
    assert nil.matches.context.columns["points"].tolist() == [0, 0, -1]
    coming = read(table() | {"time": [1, 2, 3]}, **roles, upcoming=True).matches.context.columns
    assert coming["xg"].tolist() == [0, 0, 0]  # which stands in for it


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"shares": {"points": ("home", "rest")}}, "column 'rest' is -1.0, not a number from 0, as a share is of"),
        ({"shares": {"points": "home"}}, "statistic 'points' must be of two columns, a's and b's$"),
        ({"statistics": "rest", "shares": {"rest": ("home", "away")}}, "two statistics have the same name"),
        ({"statistics": "rest", "covariates": "rest"}, "column 'rest' tells the result"),
        ({"statistics": "home", "margin": ("home", "away")}, "column 'home' is the margin"),
    ],
)
def test_mistaken_statistics(roles, message):
    with pytest.raises(ValueError, match=message):
        read(scored(), **roles)


def test_points_are_a_score(source):
    without = {name: x for name, x in scored().items() if name != "score"}
    assert read(source(without), margin=["home", "away"]).matches.score.tolist() == [1, 0.5, 0]
    won = {"winner": ["Ann", "Bob"], "loser": ["Bob", "Ann"], "by": [7, 2]}
    data = read(source(won), margin="by")
    assert data.matches.score.tolist() == [1, 1] and data.matches.context.columns["by"].tolist() == [7, 2]
    with pytest.raises(ValueError, match="no column 'score'"):
        read(source(without), margin="home")


def test_years(source):
    for years in ([1905, 1905, 1906], [1905.0, 1905.0, 1906.0]):
        assert read(source(scored(when=years)), season="when").seasons == {"1905": 5.0, "1906": 301.0}


def test_seasons_that_are_known():
    for names, known, new in (
        (["1906-07", "1906-07", "1907-08"], {"1905-06": -400.0, "1906-07": -20.0}, {"1907-08": 301.0}),
        (["x", "x", "w"], {"w": 1.0, "x": 2.0}, {}),  # put off
    ):
        data = read(scored(when=names), season="when", history=NamesOfEarlierData([], seasons=known))
        assert data.seasons == known | new


def test_a_few_late_matches_are_of_the_season_that_has_begun():
    n = 9
    rows = {"a": ["Ann"] * n, "b": ["Bob"] * n, "score": [1] * n, "t": range(n), "s": list("xxxyxyyzz")}
    assert read(rows, season="s").seasons == {"x": 0.0, "y": 3.0, "z": 7.0}


@pytest.mark.parametrize("rest", [None, float("nan")])
def test_rows_that_lack_something(rest, say, source):
    rows, roles = scored(rest=[2.0, rest, 0.0]), {"margin": ("home", "away"), "covariates": ["rest"], "season": "when"}
    with pytest.raises(ValueError, match=say(1) + "column 'rest'"):
        read(source(rows), **roles)
    for lacking in ("home", "when"):
        rows = scored()
        rows[lacking] = [*rows[lacking][:2], None]
        with pytest.raises(ValueError, match=say(2) + f"column '{lacking}' has no value"):
            read(source(rows), **roles)


def test_matches_to_come():
    rows = {name: x for name, x in scored().items() if name not in ("score", "home", "away")}
    roles = {"margin": ("home", "away"), "covariates": "rest", "season": "when"}
    data = read(rows, **roles, upcoming=True, history=NamesOfEarlierData([], seasons={"1905-06": 0.0}))
    assert data.seasons == {"1905-06": 0.0, "1906-07": 301.0} and data.covariates == ("rest",)
    assert data.matches.context.columns["home"].tolist() == [0, 0, 0]  # which stands in for it
    with pytest.raises(ValueError, match="no column 'rest'"):
        read(table(), covariates="rest", upcoming=True)


@pytest.mark.parametrize(
    ("score", "margin", "rows"),
    [
        ([1.0, 0.5, 1.0], ("home", "away"), "row 2 "),
        ([1.0, 0.5, 0.0], ("away", "home"), "row 0, 2 "),
        ([1.0, 0.5, 0.0], "home", "row 1 "),  # sizes, but of a draw
        ([0.0, 0.5, 1.0], "signed", "row 0, 1, 2 "),
        ([1.0, 0.5, 0.0], ("home", "away"), None),
        ([0.0, 1.0, 0.0], "sizes", None),
    ],
)
def test_margins_of_another_sign_are_told(score, margin, rows, recwarn):
    data = read(scored(score=score, signed=[1.0, 3.0, -1.0], sizes=[4, 4, 0]), margin=margin)
    assert data.matches.score.tolist() == score
    said = [str(x.message) for x in recwarn]
    assert len(said) == (rows is not None) and all(rows in text for text in said)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"margin": ("home", "away", "rest")}, "margin must be one or two columns, of a and of b"),
        ({"margin": ("home", "home")}, "margin names a column twice: home, home"),
        ({"margin": "rest", "covariates": "rest"}, "'rest' tells the result, so that it cannot be a covariate"),
        ({"covariates": "score"}, "'score' tells the result"),
        ({"covariates": "when"}, "row 0 .*column 'when' is '1905-06', not a number"),
        (
            {"season": "when", "history": NamesOfEarlierData([], seasons={"1907": 302.0})},
            "row 0 .*season '1905-06' is new, but '1907'",
        ),
        ({"season": "mixed"}, "row 1 .*season 'y', when season 'z' has begun, as for most"),
    ],
)
def test_wrong_arguments(roles, message):
    with pytest.raises(ValueError, match=message):
        read(scored(mixed=list("xyz"), time=[1.0, 2.0, 2.0]) if "mixed" in roles.values() else scored(), **roles)


def test_seasons_need_times():
    with pytest.raises(ValueError, match="season needs a column of time"):
        read({name: x for name, x in scored().items() if name != "time"}, season="when")


def test_participants_have_categories_and_columns():
    table = {
        "contest": [1, 1, 1, 2, 2], "player": list("ABCAB"), "team": [0, 0, 1, 2, 3], "rank": [1, 1, 2, 2, 1],
        "mode": ["duo", "duo", "duo", "solo", "solo"], "points": [6, 6, 3, 2, 9], "kills": [1.0, np.nan, 2, 0, 3],
        "age": [1.0, 2, 3, 4, 5], "day": [2, 2, 2, 1, 1],
    }  # fmt: skip
    roles = {"category": "mode", "team": "team", "statistics": "kills", "covariates": "age", "margin": "points"}
    data = read(table, time="day", sort=True, **roles)
    assert (data.margin, data.covariates, data.statistics) == (("points",), ("age",), ("kills",))
    flat = data.rounds.events
    assert data.categories[flat.category].tolist() == ["solo", "solo", "duo", "duo", "duo"]
    np.testing.assert_array_equal(flat.columns["kills"], [0, 3, 1, np.nan, 2])
    assert flat.columns["points"].tolist() == [2, 9, 6, 6, 3] and flat.columns["age"].tolist() == [4, 5, 1, 2, 3]
    observed = parts.margin("points"), parts.statistic("kills")
    skills(parts.modifier(2), parts.covariate("age"), observe=observed).check(data.rounds)
    for wrong in ({"margin": ["points", "age"]}, {"category": ["mode", "team"]}, {"statistics": {"x": ("age", "day")}}):
        with pytest.raises(ValueError, match="of contests is one column, of each participant, got"):
            read(table, team="team", **wrong)
    with pytest.raises(ValueError, match=r"row 1 .*column 'kills' has no value"):
        read(table, team="team", covariates="kills")


def test_points_in_cells_are_named_by_their_column(games, jaxrate):
    """Goals of both sides were evidence for the command, and in one cell they were not."""
    text = "home,away,FT,date\nx,y,2:1,2024-01-01\ny,z,0-3,2024-01-02\nz,x,abgesagt,2024-01-02\n"
    text += "x,z,1:1 (0:1),2024-01-04\n"
    names = ["FT (1)", "FT (2)"]
    data, _ = read_noting(games(text), margin=names)
    assert data.margin == (*names,) and data.matches.score.tolist() == [1, 0, 0.5]
    columns = data.matches.context.columns
    assert [columns[name].tolist() for name in names] == [[2, 0, 1], [1, 3, 1]]
    code, _, errors = jaxrate("rate", games(text), "--json")
    assert code == 0 and "margins" in errors
    for points, note in (("70,71", False), ("72,71", True)):  # which contradict the sets, or agree with them
        text = f"home,away,home_points,away_points,home_sets,away_sets\nx,y,90,85,3,1\ny,z,{points},3,2\n"
        assert ("margins" in jaxrate("rate", games(text), "--json")[2]) is note
