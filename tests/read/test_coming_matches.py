"""Matches to come, and what else takes tables."""

import pytest

import jaxrate as jr
from jaxrate.data.dataset_from_table import read
from tests.read.test_recognition import COMING

pytestmark = pytest.mark.filterwarnings("ignore:took ")


def read_coming(games, **options):
    with pytest.warns(UserWarning) as notes:
        data = read(games(COMING), **options)
    return data, [str(note.message) for note in notes]


def test_rows_without_result_are_fixtures(games):
    data, notes = read_coming(games)
    assert data.rows.tolist() == [0, 1] and data.players.tolist() == ["x", "y"]
    assert data.fixtures.rows.tolist() == [2, 3] and data.fixtures.players.tolist() == ["x", "y", "z"]
    assert data.fixtures.matches.context.side.tolist() == [1, 1]
    assert "2 of 4 rows have no result and are left out: 2 are to come (`fixtures` of" in " ".join(notes)
    assert "to come    2 matches (`fixtures`)" in repr(data)
    rated = jr.rate(jr.elo(), data)
    chances = jr.forecasts.predict_fixtures(rated, data.fixtures, newcomers=True)
    assert chances["a"].tolist() == ["x", "z"] and chances["row"].tolist() == [2, 3]
    with pytest.warns(UserWarning, match="of 4 rows 2 are without a result and to come"):
        again = jr.forecasts.predict_fixtures(rated, games(COMING), newcomers=True)
    assert {name: again[name].tolist() for name in again} == {name: chances[name].tolist() for name in chances}


def test_what_was_never_played_is_not_to_come(games):
    text = "date,home,away,result\n2024-01-01,x,y,H\n2024-01-02,y,x,P\n2024-01-03,x,y,D\n2024-01-03,y,x,\n,,,\n"
    early, incomplete = r"1 is earlier than the last result \(row 1, ", r"1 is incomplete otherwise \(row 4, "
    with pytest.warns(UserWarning, match=f"3 of 5 rows .* left out: 1 is to come .*; {early}.*; {incomplete}"):
        data = read(games(text))
    assert data.rows.tolist() == [0, 2] and data.fixtures.rows.tolist() == [3]


def test_nothing_but_fixtures(games):
    text = "date,home,away,result\n2024-01-01,x,y,\n"
    with pytest.raises(ValueError, match="^games.csv: no row has a result; .*upcoming=True"):
        read(games(text))
    with pytest.warns(UserWarning, match="took home and away for a and b"):
        assert read(games(text), upcoming=True).rows.tolist() == [0]


def test_fixtures_of_other_players_are_refused(games):
    data, _ = read_coming(games)
    other = jr.rate(jr.elo(), read({"a": list("yx"), "b": list("xz"), "score": [1, 1], "date": ["2024-01-01"] * 2}))
    with pytest.raises(ValueError, match="the players have other ids than in the run; read what is to come with"):
        jr.forecasts.predict_fixtures(other, data.fixtures)


def test_a_table_that_follows_has_dates_as_the_first_one():
    first = {"home": [*"xyz"], "away": [*"yzx"], "result": [*"HDA"], "date": ["13/07/2024"] * 3}
    second = {"home": ["z"], "away": ["w"], "result": ["H"], "date": ["01/08/2024"]}
    rated = jr.rate(jr.elo(), first)
    more = jr.rate(rated.system, second, onto=rated)
    assert more.players.tolist() == [*"xyzw"] and str(more.predictions["time"][-1]) == "2024-08-01"


def test_dates_of_questions_as_in_the_file(games):
    rated = jr.rate(jr.elo(), read(games("home,away,result,date\nx,y,H,05/07/2010\ny,x,H,15/07/2010\n")))
    early, late = (jr.leaderboard(rated, as_of=day) for day in ("05/07/2010", "15/07/2010"))
    assert early.player[0] == "x" and early.games.tolist() == [1, 1] and late.games.tolist() == [2, 2]
    assert jr.leaderboard(rated, as_of="2010-07-05").rating.tolist() == early.rating.tolist()
    american = jr.rate(jr.elo(), read({"a": ["x"], "b": ["y"], "score": [1.0], "date": ["2010-05-07"]}))
    assert jr.leaderboard(american, as_of="05/15/2010").games.tolist() == [1, 1]
    with pytest.raises(ValueError, match="time 05/08/2010: its day and month cannot be told apart; write 2026-05-31"):
        jr.leaderboard(american, as_of="05/08/2010")


def test_warnings_point_at_the_line_of_the_caller():
    table = {"home": ["x", "y"], "away": ["y", "x"], "score": [1, 0]}
    with pytest.warns(UserWarning, match="took home") as notes:
        rated = jr.rate(jr.elo(), table)
        read(table)
        jr.forecasts.predict_fixtures(rated, {"home": ["x"], "away": ["y"]})
    assert [note.filename for note in notes] == [__file__] * 3


@pytest.mark.parametrize("word", ["abgesagt", "RET", "W/O", "w.o.", "-:-", "Cancelled", "verlegt", "6-3 2-1 RET"])
@pytest.mark.parametrize("scores", [["2:1", "0:3"], ["W", "L"], ["1", "0"]])
def test_usual_words_for_no_result(word, scores):
    with pytest.warns(UserWarning, match="1 of 3 rows has no result"):
        assert read({"a": [*"xyx"], "b": [*"yxy"], "score": [*scores, word]}).matches.score.tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore:2 of 4 rows have no result")
@pytest.mark.parametrize("name", ["status", "Match Status", "fixture.status.short"])
def test_matches_that_are_not_over_are_to_come(name):
    """Their goals so far were rated as a result."""
    goals = {"goals_a": [2, 1, 0, 1], "goals_b": [1, 1, 1, 0]}
    table = {"a": [*"xyxy"], "b": [*"yxyx"], **goals, "date": ["2024-05-01"] * 4, name: ["FT", "AET", "HT", "LIVE"]}
    with pytest.warns(UserWarning, match="for matches that are not over .2 of 4 matches"):
        data = read(table)
    assert data.matches.score.tolist() == [1, 0.5] and data.fixtures.rows.tolist() == [2, 3]
