"""What commands print, by their functions: nouns, names of columns and what is left out."""

from types import SimpleNamespace

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli import arena, rate
from jaxrate.cli.option_names import name_options
from jaxrate.cli.rate_output import career_sides, strengths_by_category
from jaxrate.cli.season_and_tournament import _print_forecast
from jaxrate.history.column_table import ColumnTable

pa = pytest.importorskip("pyarrow")


def fake_run(**options):
    return SimpleNamespace(options=options)


@pytest.mark.parametrize(("options", "noun"), [({"teams": True}, "team"), ({}, "player")])
def test_forecasts_call_players_as_the_run_does(capsys, options, noun):
    columns = ColumnTable({"player": np.array(["Bears"]), "win": np.array([0.5])})
    _print_forecast(SimpleNamespace(columns=lambda: columns, samples=10), "seasons", fake_run(**options), False)
    assert capsys.readouterr().out.split()[:4] == [noun, "win", "Bears", "50%"]


def test_strengths_by_category_leave_out_what_has_no_evidence(monkeypatch):
    """Defect: a column named "?" and one of a surface that nobody had played on repeated the rating."""
    points = {
        "rating": [2137.1, 2073.5],
        "modifier Hard": [58.5, 20.9],
        "modifier ?": [3.0, 0.0],
        "modifier Ice": [0, 0.01],
    }
    table = {"player": np.array(["Ada", "Bo"]), **{name: np.array(x) for name, x in points.items()}}
    monkeypatch.setattr(jr.history, "rating_table", lambda rated: table)
    rated = SimpleNamespace(categories=np.array(["Hard", "?", "Ice"], object), system=jr.skills())
    (told,) = strengths_by_category(rated, SimpleNamespace(player=np.array(["Bo", "Ada"])))
    assert [*told.headings] == ["strength by category", "Hard", "unknown"]
    assert told.rows == [("Bo", "2,094.4", "2,073.5"), ("Ada", "2,195.6", "2,140.1")]


def test_a_saved_run_as_the_file_is_told(jaxrate, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").touch()
    code, _, errors = jaxrate("rate", tmp_path / "run")
    assert code == 2 and errors == f"jaxrate: {tmp_path}/run is a saved run; name it with --state {tmp_path}/run\n"


def test_an_arena_shows_twenty_and_says_what_ties_mean():
    """Defect: the headline scrolled away above 129 rows, and ties were "nu 0.5"."""
    votes = jr.arena.count_votes([0, 1], [1, 2], [30, 20], [10, 30], [20, 25])
    strengths = jr.arena.fit_strengths(votes)
    share = strengths.tie / (2 + strengths.tie)
    assert arena._fit_details(strengths, with_model=False) == [f"ties: {100 * share:.0f}% of votes between equals"]
    told = arena._fit_details(strengths, with_model=True)
    assert told[1].startswith("Davidson: log likelihood -") and told[2].startswith("nu of ties: ")
    assert next(x for x in arena.arena.params if x.name == "top").default == 20


def test_ranks_that_are_text_are_one_line_for_each_text():
    """Defect: ten lines of the same text, and no count."""
    with pytest.raises(ValueError) as told:
        rank = [str(i) if i < 5 else "DNF" for i in range(15)] * 2
        jr.read({"contest": [1] * 15 + [2] * 15, "player": [*range(30)], "rank": rank})
    assert str(told.value).startswith(
        "row 5 (counting from 0): column 'rank' is 'DNF' in 20 rows, not a number (contest"
    )
    assert name_options(str(told.value), rate.rate).count("--unfinished DNF") == 1 and "\n" not in str(told.value)


def test_semicolons_in_names_are_told_with_options(tmp_path):
    (tmp_path / "games.csv").write_text("team_a,team_b,score\nA;B,C;D,1\nA;C,B;D,0\n")
    with pytest.warns(UserWarning) as told:
        jr.read(tmp_path / "games.csv")
    assert "(if semicolons divide players, say --a team_a, --b team_b,)" in name_options(
        str(told[0].message), rate.rate
    )


def test_repeats_have_the_lines_of_the_file(tmp_path):
    (tmp_path / "games.csv").write_text("a,b,score,date\nx,y,1,2024-01-01\nx,y,1,2024-01-01\n")
    with pytest.warns(UserWarning, match="line 3 repeats line 2; they count again"):
        jr.read(tmp_path / "games.csv")


@pytest.mark.parametrize(
    ("options", "words"), [({}, ["home", "away", ""]), ({"colours": True}, ["white", "black", ""])]
)
def test_a_career_has_the_side(options, words):
    games = {"a": ["Ada", "Bo", "Cy", "Bo"], "b": ["Bo", "Ada", "Bo", "Ada"], "score": [1, 0, 1, 0]}
    rated = jr.rate(jr.elo(), games)
    assert career_sides(rated, "Ada") == {}
    rated = rated._replace(events=rated.events | {"side": np.array([1, 1, 1, 0])}, options=options)
    assert career_sides(rated, "Ada")["side"].tolist() == words


def test_an_arena_takes_those_who_did_not_finish():
    assert "--unfinished" in {option for x in arena.arena.params for option in x.opts}
