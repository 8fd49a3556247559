"""Tables with a row per match of teams: the same contests as those of a table with a row per player."""

import re

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import refused

pa = pytest.importorskip("pyarrow")
parquet_files = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings("ignore::jaxrate.data.column_recognition.ColumnsRecognisedWarning")
MATCHES = [  # teams, score, date, mode
    (["Ann", "Bob"], ["Cy", "Di"], 1.0, "2024-01-01", "duo"),
    (["Bob"], ["Eve"], 0.5, "2024-01-02", "solo"),
    (["Cy", "Ann", "Eve"], ["Di"], 0.0, "2024-01-02", "mixed"),
    (["Eve", "Cy"], ["Bob", "Ann"], 0.0, "2024-01-05", "duo"),
]
GOALS = [(3, 1), (2, 2), (0, 1), (1, 4)]


def long_table(**more):
    rows = [
        (i, name, side, 1 + (score < 0.5 if side == "a" else score > 0.5), date, mode, GOALS[i][side == "b"])
        for i, (first, second, score, date, mode) in enumerate(MATCHES)
        for side, team in (("a", first), ("b", second))
        for name in team
    ]
    names = "contest", "player", "team", "rank", "date", "mode", "goals"
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) | more


def wide_table(names=("a{}", "b{}")):
    """Columns a1, a2, a3, b1, b2, None where a team is smaller."""
    teams = [(name, i, k) for i, name in enumerate(names) for k in range((3, 2)[i])]
    table = {name.format(k + 1): [dict(enumerate(x[i])).get(k) for x in MATCHES] for name, i, k in teams}
    return table | others()


def others():
    table = {name: [x[i] for x in MATCHES] for name, i in (("score", 2), ("date", 3), ("mode", 4))}
    return table | {"goals": [x for x, _ in GOALS], "goals_b": [y for _, y in GOALS]}


def list_table():
    return {"a": [x[0] for x in MATCHES], "b": [x[1] for x in MATCHES]} | others()


def text_table():
    """Teams in text, whose columns must be named as those of teams."""
    return list_table() | {side: ["; ".join(team) for team in list_table()[side]] for side in "ab"}


def renamed(change):
    """The table of numbered columns, the numbers and sides of which have other names."""
    return {change(name[0], int(name[1:])) if name[1:].isdigit() else name: x for name, x in wide_table().items()}


NAMED_SIDES = {"a": ["pa1", "pa2", "pa3"], "b": ["pb1", "pb2"]}
CELLS = {"a": ["a"], "b": ["b"]}


def same_data(got, wanted):
    assert jax.tree.structure(got.events) == jax.tree.structure(wanted.events)
    jax.tree.map(np.testing.assert_array_equal, got.events, wanted.events)
    assert got.players.tolist() == wanted.players.tolist() and got.contests.tolist() == wanted.contests.tolist()
    assert got.clock == wanted.clock and (got.categories == wanted.categories).all()


@pytest.fixture
def wanted():
    return jr.read(long_table(), team="team", category="mode")


@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize(
    ("table", "sides"),
    [
        (wide_table(), {}),
        (list_table(), {}),
        (text_table(), CELLS),
        *((list_table() | {"b": ["Cy; Di", *list_table()["b"][1:]]}, x) for x in ({}, CELLS)),  # lists beside text
        (wide_table(("A_{}", "B_{}")), {}),
        (wide_table(("team1_player{}", "team2_player{}")), {}),
        (renamed(lambda side, number: f"{side}{number - 1}"), {}),
        (renamed(lambda side, number: "A5" if side + str(number) == "a3" else f"{side}{number}"),
         {"a": ["a1", "a2", "A5"], "b": ["b1", "b2"]}),
        (renamed("p{}{}".format), NAMED_SIDES),
    ],
)  # fmt: skip
def test_the_same_contests_as_of_a_long_table(table, sides, is_file, wanted, tmp_path):
    source = table
    if is_file and {*map(type, table.get("b", ()))} != {str, list}:
        parquet_files.write_table(pa.table(table), source := tmp_path / "games.parquet")
    found = jr.read(source, **sides, category="mode")
    same_data(found, wanted)
    assert found.rows.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    scored = jr.read(source, **sides, category="mode", margin=["goals", "goals_b"])
    same_data(scored, jr.read(long_table(), team="team", category="mode", margin="goals"))
    assert scored.margin == ("goals",)


@pytest.mark.parametrize("blank", ["", "  ", None, float("nan")])
def test_blank_cells_are_nobody(blank, wanted, tmp_path):
    wide = {name: [blank if x is None else x for x in values] for name, values in wide_table().items()}
    same_data(jr.read(wide, category="mode"), wanted)
    lists = {name: [[*team, blank] for team in values] for name, values in list_table().items() if name in "ab"}
    same_data(jr.read(others() | lists, category="mode"), wanted)
    for table, name in (
        (wide | {"b1": ["Cy", blank, "Di", "Bob"]}, "b1"),
        (others() | lists | {"b": [["Cy"], [blank, blank], ["Di"], ["Bob"]]}, "b"),
    ):
        with refused(f"row 1 (counting from 0): column {name!r} has no value"):
            jr.read(table)
        with pytest.warns(UserWarning, match="skipped 1 of 4 rows"):
            assert jr.read(table, on_faulty="skip").contests.tolist() == [0, 2, 3]
    if isinstance(blank, str):
        jr.data.write(pa.table(wide), tmp_path / "games.csv")
        same_data(jr.read(tmp_path / "games.csv", category="mode"), wanted)


def test_winners_and_losers_and_players_beside_numbered_columns():
    won = {"winner1_name": ["Ann"], "winner2_name": ["Bob"], "loser1_name": ["Cy"], "loser2_name": ["Di"]}
    doubles = {"w1": ["Ann"], "w2": ["Bob"], "l1": ["Cy"], "l2": ["Di"]}
    for table in (won, doubles):
        assert jr.read(table).rounds.events.rank.tolist() == [0, 0, 2, 2]
    sets_of_tennis = {"Winner": ["Ann"], "Loser": ["Bob"], "W1": [6], "L1": [4], "W2": [6], "L2": [3]}
    assert jr.read(sets_of_tennis).matches.player.tolist() == [[0, 1]]
    assert jr.read({"winners": [["Ann", "Bob"]], "losers": [["Cy", "Di"]]}).rounds.events.rank.tolist() == [0, 0, 2, 2]
    best = {"prompt": [7, 7, 7], "model": ["m1", "m2", "m3"], "rank": [2, 1, 2]}
    assert jr.read(best).rounds.events.player.tolist() == [0, 1, 2]
    pair = jr.read({"a": ["Ann"], "b": ["Bob"], "a1": ["x"], "b1": ["y"], "b2": ["z"], "score": [1]})
    assert pair.matches.player.tolist() == [[0, 1]]
    sets = {"a1": [6, 4], "a2": [7, 6], "b1": [3, 6], "b2": [5, 7]}
    named = {"home": ["Ann", "Bea"], "away": ["Bea", "Ann"], "home_score": [2, 0], "away_score": [0, 2]}
    contests = {"contest": [0, 0], "player": ["Ann", "Bea"], "rank": [1, 2]}
    for table in (named, contests):
        assert jr.read(table | sets).players.tolist() == ["Ann", "Bea"]


def test_one_margin_is_that_of_the_winner():
    table = wide_table() | {"margin": [2, 0, -1, 3]}
    found = jr.read(table, margin="margin").rounds.events.columns["margin"]
    assert found.tolist() == [2, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 3]


def test_a_match_of_weight_w_says_w_times_as_much():
    def read(weight):
        return jr.read(wide_table() | {"importance": weight}, weight="importance")

    weight = [0.25, 1.0, 4.0, 1.0]
    np.testing.assert_allclose(read(weight).rounds.events.noise, np.power(weight, -0.5))
    learnt = [abs(jr.rate(jr.weng_lin(), read([x] * 4)).state.rating - 25.0) for x in (0.5, 1.0, 2.0)]
    assert (np.diff(np.max(learnt, axis=1)) > 0.1).all()


def test_results_in_words_and_matches_to_come():
    table = list_table() | {"score": ["W", "D", "L", None]}
    with pytest.warns(UserWarning, match="1 of 4 rows has no result and is left out: 1 is to come"):
        data = jr.read(table, category="mode")
    assert data.rounds.events.rank.tolist() == jr.read(long_table(), team="team").rounds.events.rank.tolist()[:10]
    assert data.fixtures.rows.tolist() == [3] * 4 and data.fixtures.contests.tolist() == [3]
    rated = jr.rate(jr.trueskill(), data)
    found = jr.forecasts.predict_fixtures(rated, data.fixtures)
    assert found["player"].tolist() == ["Eve", "Cy", "Bob", "Ann"] and found["share"][0] == found["share"][1]
    coming = {name: x[3:] for name, x in wide_table().items() if name not in ("score", "goals", "goals_b")}
    again = jr.forecasts.predict_fixtures(rated, coming)
    assert again["share"].tolist() == found["share"].tolist()


TWO_PAIRS = {"a1": ["Ann", "Cy"], "a2": ["Bob", "Di"], "b1": ["Eve", "Fay"], "score": [1, 0]}


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a2": ["Ann", None, "Bob", "Bob"]}, {}, "row 0 (counting from 0): player 'Ann' is in contest 0 twice, in"),
        ({"score": [1, 0, 2, 1]}, {}, "row 2 (counting from 0): score 2, and teams win (1), draw (0.5) or"),
        ({}, {"side": "a"}, "line-ups take no side: make a home game a covariate of each player, in a table with a"),
        ({}, {"covariates": "goals"}, "line-ups take no covariates: they are each player's own, in a table with"),
        ({}, {"weight": "goals"}, "row 2 (counting from 0): column 'goals' is 0, and weights are above 0"),
        ({}, {"category": ["mode", "date"]}, "the category of line-ups is one column"),
        ({}, {"a": ["a1", "b1"], "b": "b1"}, "a and b name a column twice: a1, b1, b1; name a different column"),
        ({}, {"a": ["a1", "a2"]}, "a and b must both name the columns of a side"),
        ({"a": ["x;y", "z", " ; "], "b": ["z", "x;y", "u"], "score": [1, 0, 1]}, CELLS,
         "row 2 (counting from 0): column 'a' has no value"),
        # players after the gap were dropped
        (renamed(lambda side, number: "A5" if side + str(number) == "a3" else f"{side}{number}"), {},
         "there are columns a1, a2 and A5 for the team of a, and no a3; add it, or name the columns of both teams"),
        # the number among all players was taken for the row, which there may not be
        (TWO_PAIRS | {"b2": ["Gil", "x" * 100_000]}, {}, "row 1 (counting from 0): column 'players' is 'xxx"),
    ],
)  # fmt: skip
def test_wrong_line_ups_are_refused(table, options, message):
    with refused(message):
        jr.read(table if len(table) > 2 else wide_table() | table, **options)


def test_matches_of_teams_are_put_in_order():
    dates = ["2024-01-02", "2024-01-01", "2024-01-03", "2024-01-04"]
    in_order = jr.read(wide_table() | {"date": dates}, sort=True)
    assert in_order.rows.tolist()[:3] == [1, 1, 0] and in_order.contests.tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("separator", [";", " / "])
def test_names_may_have_separators(separator):
    """They divide players only where a list of a column says that these are teams."""
    one, other = f"x{separator}y", f"z{separator}u"
    table = {"a": [one, "z", one], "b": ["z", one, "u"], "score": [1, 0, 1]}
    assert jr.read(table).players.tolist() == [one, "z", "u"]
    table = {"a": [one, other], "b": [other, one], "score": [1, 0]}
    assert jr.read(table, a=["a"], b=["b"]).players.tolist() == ["x", "y", "z", "u"]
    wide = {"a1": [one], "a2": ["v"], "b1": [other], "score": [1]}  # where slashes may be of names
    assert len(jr.read(wide).players) == (5 if separator == ";" else 3)


def test_columns_of_numbers_keep_their_names_beside_lists():
    """The columns made of lists, "a, 2", took their places."""
    wanted = [7.0, 8.0, 9.0, 10.0]
    data = jr.read(list_table() | {"a, 2": wanted}, columns="a, 2")
    assert data.rounds.events.columns["a, 2"][data.rounds.player_start[:-1]].tolist() == wanted
    assert len(data.players) == 5


def test_teams_that_tie_count_in_the_order_of_their_contest():
    """As those of lists and of live histories; not in that of the first contest in which their names stood."""
    names = ["Ann", "Bob", "Cy", "Di"]
    table = {"contest": [0, 0, 1, 1, 1, 1], "player": [*names[:2], *names], "rank": [1, 2, 1, 1, 1, 1]}
    found = jr.read(table | {"team": ["red", "blue", "blue", "blue", "white", "red"]}, team="team").rounds
    wanted = jr.data.from_teams([[["Ann"], ["Bob"]], [["Ann", "Bob"], ["Cy"], ["Di"]]]).rounds
    assert found.events.team.tolist() == wanted.events.team.tolist() == [0, 1, 0, 0, 1, 2]


def test_the_command_line(jaxrate, tmp_path):
    named = pa.table(renamed("p{}{}".format))
    jr.data.write(named.drop(["goals_b"]), tmp_path / "named.csv")
    sides = ("--a", "pa1,pa2,pa3", "--b", "pb1,pb2", "--score", "score")
    run = tmp_path / "run"
    code, again, _ = jaxrate("rate", tmp_path / "named.csv", "--system", "trueskill", *sides, "--out", run)
    assert code == 0 and again.startswith("trueskill: 4 contests, 14 participations of 5 players")
    coming = named.drop(["goals", "goals_b", "score", "mode", "date"]).slice(0, 1)
    jr.data.write(coming, tmp_path / "coming.csv")
    code, text, errors = jaxrate("predict", run, tmp_path / "coming.csv")
    assert code == 0 and re.search(r"Ann, Bob  Cy, Di +\d+% +\d+% +\d", text), errors
