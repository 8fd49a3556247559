"""What a terminal shows: tables that fit into it, colour where there is some, and plain text in a pipe."""

import io
import re
import sys
import time
import types
import unicodedata
from io import BytesIO

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli import terminal_tables
from jaxrate.cli.predict import prediction_table
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, choose_hidden_columns, print_message, print_sections
from jaxrate.core.text_format import display_width, format_decimals, format_range, format_table, format_whole_percent
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.event_columns import from_table_columns
from jaxrate.storage.run_folder import columns_to_npz, read_names_and_games, read_predictions
from tests.conftest import refused

ESCAPES = re.compile(r"\x1b\[[\d;]*m")
HEADINGS = ["rank", "player", "move", "rating", "95% interval", "change", "games", "last played", "peak", "on"]
ROW = 1, "Kansas City Chiefs", "▼ 3", "1992.6", "1804 to 2181", "-63.9", 967, "2021-02-07", "2056.3", "2020-12-27"


@pytest.fixture
def terminal(monkeypatch):
    """Make standard output a terminal, or a pipe, of so many columns; returns what is written there."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def make(columns, *, is_terminal=True):
        screen = io.StringIO()
        screen.isatty = lambda: is_terminal
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setenv("COLUMNS", str(columns))
        return screen

    return make


@pytest.mark.parametrize("columns", [30, 60, 80, 120])
def test_rows_are_never_wrapped(terminal, monkeypatch, columns):
    """At 80 columns every row of the leaderboard took two lines."""
    monkeypatch.setenv("NO_COLOR", "1")
    screen = terminal(columns)
    table = TextTable(HEADINGS, [ROW, (2, "大坂なおみ", *ROW[2:])], caption="since 2020")
    print_sections("glicko: 2 matches", table, "log loss 0.6", verbose=True)
    assert "\x1b[3" not in screen.getvalue()
    text = ESCAPES.sub("", screen.getvalue())
    assert text.startswith("glicko: 2 matches\n\n")
    assert all(display_width(line) <= columns for line in text.splitlines())
    note = "hidden in 80 columns: peak, date of peak (a wider window shows more)"
    assert "1992.6" in text and ("hidden in" in text) == (columns < 120)
    assert columns < 80 or ("Kansas City Chiefs" in text and "2021-02-07" in text)
    assert columns != 80 or note in " ".join(text.split())


@pytest.mark.parametrize(
    ("columns", "is_terminal", "is_drawn"),
    [(140, True, True), (80, True, True), (50, True, False), (140, False, False)],
)
def test_intervals_are_drawn_where_there_is_room(terminal, columns, is_terminal, is_drawn):
    """Nothing was ever drawn, though intervals are the product."""
    screen = terminal(columns, is_terminal=is_terminal)
    spans = [(1000.0, 1250.0, 1500.0), (1500.0, 1875.0, 2000.0), (1500.0, 1500.0, 1500.0)]
    print_sections(TextTable(HEADINGS, [ROW] * 3, spans=spans))
    text = ESCAPES.sub("", screen.getvalue())
    assert text.count("●") == 3 * is_drawn and "hidden in 140" not in text
    assert ("1804 to 2181" in text) == (columns == 140)  # the ends in figures go before the drawing
    assert ("├───●───┤" in text and "├──────●─┤" in text) == is_drawn
    if is_drawn:  # on one axis: all stood at the right end, as the blanks after them went
        first, second, third = (line for line in text.splitlines() if "●" in line)
        assert first.index("┤") == second.index("├") == third.index("●") and first.index("├") > 30 * columns / 80


def test_odds_fit_into_80_columns():
    """They took three columns and were left out, while the expected score repeated the chance to win."""
    names = ["Bosnia and Herzegovina", "Trinidad and Tobago"]
    odds = {"odds_win": [1.5], "odds_draw": [52.05], "odds_loss": [3.19]}
    chances = {"row": [0], "time": ["2026-06-01"], "a": names[:1], "b": names[1:], "win": [0.66], "draw": [0.03]}
    table = chances | {"loss": [0.31], "expected": [0.68]} | odds | {"quality": [0.9]}
    predictions = ColumnTable({name: np.array(x, object if name in "ab" else None) for name, x in table.items()})
    shown = prediction_table(predictions, types.SimpleNamespace(clock="dates", options={}))
    assert shown.headings == ["date", "a", "b", "win", "draw", "loss", "odds win/draw/loss"]
    assert shown.rows == [("2026-06-01", *names, "66%", "3%", "31%", "1.50  52.05  3.19")]
    cells = [[*shown.headings], *map(list, shown.rows)]
    assert choose_hidden_columns(cells, {"a", "b", "date"}, 80) == []
    cells = [["player", "rating", "games"], ["Ada", "1500", "9"]]  # 6, 6 and 5 wide, and two gaps of 2
    assert choose_hidden_columns(cells, {"player"}, 21) == [] and choose_hidden_columns(cells, {"player"}, 20) == [2]


@pytest.mark.parametrize(
    ("variables", "is_terminal", "colour"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
    ],
)
def test_colour_is_where_it_is_wanted(terminal, monkeypatch, variables, is_terminal, colour):
    screen = terminal(200, is_terminal=is_terminal)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    print_sections(TextTable(HEADINGS, [ROW]))
    text = screen.getvalue()
    assert bool(re.search(r"\x1b\[[\d;]*3\dm", text)) == colour and "-63.9" in text and "2020-12-27" in text
    assert ("\x1b" in text) == ((is_terminal and variables.get("TERM") != "dumb") or colour)


def test_a_pipe_gets_plain_text_of_any_width(terminal):
    screen = terminal(20, is_terminal=False)
    print_sections("title", "", TextTable(HEADINGS, [ROW], caption="since 2020"))
    title, empty, head, row, caption = screen.getvalue().splitlines()
    assert (title, empty, caption) == ("title", "", "since 2020")
    assert head.split("  ") and "2020-12-27" in row and len(head) == len(row) > 90


def test_no_name_commands_the_terminal(terminal):
    """Neither by control characters nor by the marks of Rich."""
    screen = terminal(80)
    print_sections(TextTable(["player"], [("[red]Ada[/red]\x1b[2J",)], caption="[bold]Bo\x07"))
    text = screen.getvalue()
    assert r"[red]Ada[/red]\x1b[2J" in text and r"[bold]Bo\x07" in text and "\x1b[2J" not in text


def test_one_line_stands_beneath_a_table(terminal):
    """Defect: under ten rows stood five lines, at 80 columns more than half of the text."""
    caption = "32 of 123, who played in 365 days (--list active=all for everybody)\nchange: since 2020"
    for columns, is_terminal in ((80, True), (120, True), (80, False)):
        screen = terminal(columns, is_terminal=is_terminal)
        print_sections(TextTable(HEADINGS, [ROW], caption=caption))
        lines = ESCAPES.sub("", screen.getvalue()).rstrip().splitlines()
        assert lines[-1] == "32 of 123, who played in 365 days (-v: more)" and lines[-2 - is_terminal][:4] == "   1"
        print_sections(TextTable(HEADINGS, [ROW], caption=caption), verbose=True)
        assert "(--list active=all for everybody)\nchange: since 2020\n" in ESCAPES.sub("", screen.getvalue())


def test_a_career_is_its_last_matches_unless_all_are_asked_for(jaxrate, tmp_path):
    """The leaderboard scrolled away above a thousand rows."""
    path = tmp_path / "games.csv"
    days = [f"2024-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(30)]
    path.write_text("winner,loser,date\n" + "".join(f"Ada,Bo,{day}\n" for day in days))
    rate = "rate", path, "--system", "elo", "--player", "Ada"
    code, text, _ = jaxrate(*rate)
    head, table = text.split("Ada: 30 matches")[1].split("\n\n", 1)
    assert code == 0 and head == ", the last 20 of them (--top 30 for all)" and len(table.splitlines()) == 22
    assert table.splitlines()[-2].startswith(days[-1])
    assert len(jaxrate(*rate, "--top", 30)[1].split("Ada: 30 matches\n\n")[1].splitlines()) == 32


def test_notes_stand_above_the_bar(terminal, monkeypatch):
    """They stood in the midst of it."""
    monkeypatch.setattr(terminal_tables, "PATIENCE", 0.0)
    screen = terminal(80)
    monkeypatch.setattr(sys, "stderr", screen)
    report = ProgressReport(quiet=False, verbose=False)
    with report.stage("thinking", 10) as update:
        while "thinking" not in screen.getvalue():
            time.sleep(0.01)
        report.note("of a stage")
        report.warn("of its data")
        update(5)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", screen.getvalue()))
    assert {"note: of a stage", "warning: of its data"} <= {line.strip() for line in lines}


def test_a_terminal_in_colour_tells_errors_warnings_and_notes_apart(capsys, monkeypatch):
    """All three were "jaxrate:", and errors were wider than the terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    print_message("error", "no column \x1b[31m")
    assert capsys.readouterr().err == "jaxrate: no column \\x1b[31m\n"
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for level, colour in (("error", 31), ("warning", 33), ("note", 36)):
        print_message(level, "a text of many words " * 5)
        first, *rest = capsys.readouterr().err.splitlines()
        assert first.startswith(f"\x1b[1;{colour}m{level}: \x1b[0ma text") and len(rest) > 1
        assert all(len(line) <= 40 for line in rest)
    print_message("error", "row 1 has no rank\n  row 2 has no rank")  # which ran on in one line
    assert ESCAPES.sub("", capsys.readouterr().err) == "error: row 1 has no rank\n  row 2 has no rank\n"
    monkeypatch.setenv("NO_COLOR", "1")
    print_message("note", "plain")
    assert capsys.readouterr().err == "\x1b[1mnote: \x1b[0mplain\n"


def test_display_width_counts_cells():
    texts = "Ada", "大坂なおみ", "José", "김연아", "🏓 Ma Long", "🇯🇵", "ﾏﾂﾔﾏ", "a\u200db"
    widths = [display_width(unicodedata.normalize("NFD", x)) for x in texts]  # an accent is a character of its own
    assert widths == [3, 10, 4, 6, 10, 2, 4, 2]


def test_tables_are_aligned_by_cells():
    """They were aligned by characters, so that every row with a Japanese name was out of place."""
    names = "Ada", "大坂なおみ", unicodedata.normalize("NFD", "José"), "🏓 Ma"
    lines = format_table(["player", "rating"], [(name, 1500 + i) for i, name in enumerate(names)]).splitlines()
    assert lines[0] == "player      rating" and {display_width(line) for line in lines} == {18}


def test_numbers_have_groups_of_thousands_and_zero_has_no_sign():
    assert [format_decimals(x, 1) for x in (1829.24, -0.04)] == ["1,829.2", "0.0"]
    assert [format_decimals(x, 0, signed=True) for x in (12.0, -1200.0, -0.4)] == ["+12", "-1,200", "0"]
    assert [format_range(1, 1), format_range(1, 1200)] == ["1", "1 to 1,200"]
    assert [*map(format_whole_percent, (0.0, 0.4, 50.2, 99.7, 100.0))] == ["0", "<1", "50", ">99", "100"]


def feed_matches(live, which):
    for i, (a, b, score) in enumerate([("Ada", "Bö", 1.0), ("Bö", "Cy", 0.5), ("Cy", "Ada", 0.0), ("Di", "Ada", 1.0)]):
        if i in which:
            live.update(a, b, score, time=["2026-05-01", "2026-05-02", "2026-05-03T12:00", "2026-05-04"][i])


def feed_contests(live, which):
    rounds = [[["Ada"], ["Bö"], ["Cy"]], [["Cy"]], [["Bö", "Di"], ["Ada"]], [["Di"], ["Cy"], ["Ada"]]]
    for i in which:
        live.update_round(rounds[i])


def save_in_two_parts(path, system, feed):
    """The first half is saved, loaded, and followed by the second."""
    live = jr.live.start_history(system)
    feed(live, range(2))
    jr.save(path, live)
    rated = jr.load(path)
    assert rated.players.tolist() == live.players and repr(rated) == repr(live.to_rated())
    again = jr.live.start_history(rated), jr.live.start_history(live.to_rated())
    assert again[0].rating("Ada") == live.rating("Ada") == again[1].rating("Ada")
    feed(again := jr.live.start_history(rated), range(2, 4))
    jr.save(path, again)
    assert jr.history.rating_table(jr.load(path))["games"].sum() == sum(jr.load(path).games)


@pytest.mark.filterwarnings("ignore:replaced a run of")
def test_a_live_history_is_saved_and_loaded_without_pyarrow(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    cases = ("matches", jr.glicko(), feed_matches), ("contests", jr.weng_lin(), feed_contests)
    with monkeypatch.context() as without:
        for name in [x for x in sys.modules if x.partition(".")[0] == "pyarrow"]:
            without.setitem(sys.modules, name, None)
        for name, system, feed in cases:
            save_in_two_parts(tmp_path / name, system, feed)
    found = sorted(x.name for x in (tmp_path / "matches").iterdir())
    assert found == ["predictions.npz", "ratings.npz", "run.json", "state.npz"]
    for name, system, feed in cases:
        live = jr.live.start_history(system)
        feed(live, range(4))
        rated, wanted = jr.load(tmp_path / name), live.to_rated()
        one, two = (x.predictions.drop(["row"]) for x in (rated, wanted))
        assert one.schema == two.schema
        pandas.testing.assert_frame_equal(one.to_pandas(), two.to_pandas(), rtol=1e-5)
        assert rated.games.tolist() == wanted.games.tolist()
        assert (rated.last, rated.clock) == (wanted.last, wanted.clock)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, 1e-6), rated.state, wanted.state)
        jr.save(tmp_path / name, rated)
        assert not [*(tmp_path / name).glob("*s.npz")]


COLUMNS = {
    "row": np.arange(2),
    "time": np.array(["2026-05-01", "2026-05-02"], "datetime64[D]"),
    "a": np.array(["Ada", "Bö\0"], object),
    "b": np.array(["Bö\0", "Ada"], object),
    "score": np.array([1.0, 0.5]),
    **{name: np.array([0.25, 0.75]) for name in ("prediction", "rating_a", "rating_b")},
}
PLAYERS = np.array(["Ada", "Bö\0"], object)


def test_forged_columns_are_refused():
    raw = columns_to_npz(COLUMNS)
    read = lambda raw, count=2: read_predictions("x.npz", raw, "matches", count)  # noqa: E731
    assert read(raw)["b"].tolist() == ["Bö\0", "Ada"]
    with refused("a holds a name that no player has"):
        from_table_columns(COLUMNS | {"a": np.array(["Ada", "Cy"], object)}, PLAYERS)
    with refused("row has 2 rows, not 3"):
        read(raw, 3)
    with refused("score is of int64"):
        read(columns_to_npz(COLUMNS | {"score": np.arange(2)}))
    with refused("its ids are not those of 2 players"):
        table = {"id": np.array([0, 0]), "player": PLAYERS, "games": np.arange(2)}
        read_names_and_games("x.npz", columns_to_npz(table), 2)
    with np.load(BytesIO(raw)) as archive:
        stored = dict(archive)
    forgeries = {"code": ([0, 2], [0, -1], [False, True]), "size": ([9, -2], [3, -3, 7], [3, 3]), "text": ([[1] * 7],)}
    for part, values in [(name, values) for name in forgeries for values in forgeries[name]]:
        np.savez(forged := BytesIO(), **stored | {f"a:{part}": np.array(values)})
        with refused("a is no column"):
            read(forged.getvalue())
