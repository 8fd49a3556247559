"""Rows that are wrong, lack a value or repeat others, names that look alike, and text that commands a terminal."""

import re

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from jaxrate.data.dataset_names import NamesOfEarlierData, unify_names
from jaxrate.data.faulty_rows import find_repeated_matches
from jaxrate.data.lookalike_names import lookalike_key, normalise_name
from jaxrate.data.table_files import open_table_source
from jaxrate.data.table_writing import write
from jaxrate.events import matches, rounds
from tests.read.tables import read_noting, table

pa = pytest.importorskip("pyarrow")

# All bad rows: the text of a file, and the lines that are said of it

UNIT_HINT = "rescale it, or make it win, draw, loss; goals or points of both sides are the margin, as "
UNIT_HINT += "margin=['goals_a', 'goals_b']"
PLACE, FIELDS = "games.csv: row {} (counting from 0, line {}): ", "Expected 3 columns, got "
ALL_ROWS = {
    "an advice that is given once": (
        "a,b,score,time\n" + "x,y,1,1\n" * 2 + "x,y,7,2\nx,y,1,3\n\nx,y,9,5\n",
        [
            PLACE.format(2, 4) + f"score 7.0 is outside [0, 1]; {UNIT_HINT}",
            PLACE.format(4, 7) + "score 9.0 is outside [0, 1]",
        ],
    ),
    "wrong numbers of fields": (
        "a,b,score\n" + "x,y,1\n" * 3 + "x,y\n" + "x,y,1\n" + "x,y,1,2\n" * 12,
        [PLACE.format(3, 5) + FIELDS + "2: x,y"]
        + [PLACE.format(row, row + 2) + FIELDS + "4: x,y,1,2" for row in range(5, 14)]
        + ["... and at least 3 others"],
    ),
    "another encoding": (b"a,b,score\n\xcb,y,1,2\nx,y,1\n", [PLACE.format(0, 2) + FIELDS + "4: Ë,y,1,2"]),
}


@pytest.mark.parametrize("text, lines", ALL_ROWS.values(), ids=ALL_ROWS)
def test_all_bad_rows_are_told(games, text, lines):
    with pytest.raises(ValueError) as caught:
        read(games(text))
    said = str(caught.value).split("\n  ")
    assert len(said) == len(lines) and all(map(str.startswith, said, lines))


def test_ten_bad_rows_of_many():
    with pytest.raises(ValueError, match=r"^row 0 .*\n  row 1 ") as caught:
        read({"a": ["x"] * 1000, "b": ["y"] * 1000, "score": [2] * 1000})
    lines = str(caught.value).split("\n  ")
    assert len(lines) == 11 and lines[9].startswith("row 9 ") and lines[10] == "... and at least 990 others"
    with pytest.raises(ValueError, match=r"^row 1 [^\n]*\(contest 0\)\n  row 3 [^\n]*\(contest 1\)$"):
        rounds([0, 0, 1, 1], [0, 1, 0, 1], [0, np.nan, 0, np.inf])
    with pytest.raises(ValueError, match=r"^row 1 .*'x[^\n]*\n  row 2 .*'y'[^\n]*\n[^\n]*row 5 .*'z'[^\n]*$"):
        read({"a": list("pppppp"), "b": list("qqqqqq"), "score": ["1", "x", "y", "1", "0", "z"]})


@pytest.mark.parametrize("cell", ["0x1", "1_0", "\u0661", "1d0", "1;0", "yes", "--1"])
@pytest.mark.parametrize("where", [0, 1])
@pytest.mark.parametrize("column", ["score", "t", "w", "h", "n"])
def test_what_is_no_number(games, cell, where, column):
    columns = {"a": ["x", "x"], "b": ["y", "y"], "score": ["1", "0"], "t": ["1", "2"], "w": ["1", "2"]}
    columns |= {"h": ["1", "0"], "n": ["true", "0"]}
    columns[column][where] = cell
    text = ",".join(columns) + "\n" + "\n".join(map(",".join, zip(*columns.values(), strict=True)))
    for source in (columns, games(text)):
        with pytest.raises(ValueError, match=rf"row {where} \(counting.*column '{column}' (is '{cell}', not a|has no)"):
            read(source, time="t", weight="w", side="h", neutral="n")


@pytest.mark.parametrize("cell", ["1", "1.", "01", "+1", "1e0", " 1", "1 ", "true", "True", "TRUE", "1.0E+0"])
@pytest.mark.parametrize("bad", ["inf", "-inf", "infinity", "1e999"])
def test_what_is_a_number(games, cell, bad):
    assert read(games(f"a,b,score\nx,y,{cell}\nx,y,0.5\n")).events.score.tolist() == [1, 0.5]
    assert read({"a": ["x"] * 2, "b": ["y"] * 2, "score": [cell, "0"]}).events.score.tolist() == [1, 0]
    assert read({"a": ["x"] * 2, "b": ["y"] * 2, "score": [cell, 0.5]}).events.score.tolist() == [1, 0.5]  # mixed
    for source in (games(f"a,b,score\nx,y,{bad}\n"), {"a": ["x"], "b": ["y"], "score": [bad]}):
        with pytest.raises(ValueError, match=r"row 0 .*: score is -?inf, not a finite number"):
            read(source)


def test_skip_incomplete(source):
    columns = table(b=["Bob", None, "Ann"], score=[1.0, 0.5, 0.0], c=["p", "q", None], t=[None, 1, 2], x=[None] * 3)
    with pytest.warns(UserWarning, match=r"^skipped 1 of 3 rows, which lack a value: 1 \(counting from 0\)$"):
        data = read(source(columns), time="x", on_faulty="skip")
    assert data.rows.tolist() == [0, 2] and data.clock is None
    with pytest.raises(ValueError, match="no rows are left: all of them lack a value$"), pytest.warns(UserWarning):
        read(source(columns), category="c", time="t", on_faulty="skip")
    read(source(table()), on_faulty="skip")


def test_skip_blanks_and_nan(games):
    left = pytest.warns(UserWarning, match="^1 of 5 rows has no result and is left out")
    with left, pytest.warns(UserWarning, match=r"^skipped 2 of 4 rows, which lack a value: 0, 1 "):
        data = read(games('a,b,score\nx," ",1\n,y,1\nx,y,nan\nx,y,1\nna,y,0\n'), on_faulty="skip")
    assert data.players.tolist() == ["x", "y", "na"]
    with pytest.raises(ValueError, match=r"row 1 .*score 2.0 is outside"), pytest.warns(UserWarning):
        read(games("a,b,score\n,y,1\nx,y,2\n"), on_faulty="skip")


def test_repeats_are_told(source):
    columns = {"a": list("xyxxx"), "b": list("yxyyy"), "score": [1.0, 0.0, 1.0, 0.5, 1.0], "time": [1, 1, 1, 1, 1]}
    rows = "^2 of 5 .* score too: (row 2 repeats row 0, row 4 repeats row 0 .counting|line 4 repeats line 2)"
    with pytest.warns(UserWarning, match=rows):
        read(source(columns | {"h": [1, 0, 1, 1, 1]}), side="h")
    read({name: x for name, x in columns.items() if name != "time"})  # nobody knows, without times
    read(source(columns | {"w": [1, 2, 3, 4, 5]}), weight="w")


def test_repeats_are_those_of_a_slow_twin():
    draw = np.random.default_rng(5)
    n = 400
    player = np.stack([draw.integers(0, 4, n), draw.integers(4, 8, n)], axis=1)
    values = dict(score=draw.integers(0, 3, n) / 2, time=np.sort(draw.integers(0, 20, n)) * 1.0)
    values |= dict(side=draw.integers(-1, 2, n), category=draw.integers(0, 2, (n, 2)))
    values["columns"] = {"z": draw.integers(0, 2, n)}
    made = matches(player, **values)
    rows = [(*player[i], *(x[i] for x in list(values.values())[:3]), *values["category"][i], values["columns"]["z"][i])
            for i in range(n)]  # fmt: skip
    table = dict(zip([*"abctsdez"], map(list, zip(*rows, strict=True)), strict=True))
    later, earlier = find_repeated_matches(made, np.arange(n), open_table_source(table))
    assert 0 < len(later) < n
    assert dict(zip(later, earlier, strict=True)) == {i: rows.index(r) for i, r in enumerate(rows) if rows.index(r) < i}


ZOE = "Zoë", "Zoe\u0308"


def games_of(*pairs):
    return {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "score": [1.0] * len(pairs)}


ALIKE, ACCENTS = "{} names of {} differ from others only by ", "accents, and count as different players: "
LOOK_ALIKE = ALIKE + "blanks, letter case or Unicode form, and count as different {}: "
CORRECT = "; where they are the same, correct the file$"
NORTH = games_of(("Bodo", "Naesby"), ("Lodz", "Ole"))
NOTED = {  # names, arguments of `read`, and what is noted
    "players": (
        games_of(("Ada", "Bo"), ("ada ", "Bo"), ZOE), {},
        LOOK_ALIKE.format(4, *["players"] * 2) + "'Ada' and 'ada '; 'Zo.+' and 'Zo.+'; jr.data.unify_names",
    ),
    "categories": (
        table(c=["clay", "Clay", "grass"]), {"category": "c"},
        LOOK_ALIKE.format(2, *["categories"] * 2) + "'clay' and 'Clay'; jr.data.unify",
    ),
    "contests": (
        {"contest": [*"ppPP"], "player": [*"xyxy"], "rank": [1, 2, 1, 2]}, {},
        LOOK_ALIKE.format(2, *["contests"] * 2) + ".*; where they are the same, correct the names$",
    ),
    "accents in one file": (
        games_of(("Köln", "Bo"), ("Ada", "Koln"), ("Łódź", "lodz")), {},
        ALIKE.format(4, "players") + ACCENTS + "'Köln' and 'Koln'; 'Łódź' and 'lodz'" + CORRECT,
    ),
    "of known players": (
        games_of(("Zoe", "Bo"), ("José", "Ada"), ("Eva", "Zoë")), {"history": ["Zoë", "Bo", "JOSE", "Ada"]},
        ALIKE.format(4, "players") + ACCENTS + "'Zoë' and 'Zoe'; 'JOSE' and 'José'" + CORRECT,
    ),
    "of known players alone": (games_of(("Zoe", "Bo"), ("Eva", "Zoë")), {"history": ["Zoe", "Zoë", "Ada"]}, None),
    "letters that are whole": (NORTH, {"history": ["Bodø", "Næsby", "Łódź"]}, ".*'Bodø' and 'Bodo'; 'Næsby' and"),
}  # fmt: skip


@pytest.mark.parametrize("columns, arguments, note", NOTED.values(), ids=NOTED)
def test_names_that_look_alike_are_noted(source, columns, arguments, note):
    data, notes = read_noting(source(columns), **arguments)
    assert len(notes) == (note is not None) and all(re.match(note, str(x.message)) for x in notes)
    assert len({*data.players.tolist()}) == len(data.players)


@pytest.mark.filterwarnings("ignore:.* differ from others only by blanks")
def test_names_that_look_alike_are_joined(source):
    a = ["Mary  Ann", "mary ann", "Mary Ann ", "\uff2d\uff41\uff52\uff59 Ann", "STRASSE", "straße", "Cy"]
    columns = games_of(*((name, "z") for name in a)) | {"c": [" Clay", "clay", "clay", "x", "x", "x", "X"]}
    data = unify_names(read(source(columns), category="c"))
    assert data.players.tolist() == ["Mary Ann", "z", "STRASSE", "Cy"] and data.categories.tolist() == ["clay", "x"]
    assert data.events.player.tolist() == [[0, 1]] * 4 + [[2, 1]] * 2 + [[3, 1]]
    assert data.events.context.category[:, 0].tolist() == [0] * 3 + [1] * 4
    earlier = NamesOfEarlierData(["cy ", "mary ann", "Cy"], ["Clay", "x"])
    known = unify_names(read(source(columns), category="c", history=earlier), earlier)
    assert known.players.tolist() == ["cy ", "mary ann", "Cy", "z", "STRASSE"]
    assert known.events.player[-1].tolist() == [2, 3] and known.categories.tolist() == ["Clay", "x"]
    coming = games_of(("Ada", "Bo"), ("ada", "Cy"), ("Bo", "DI")) | {"score": [1.0, 1.0, None]}
    with pytest.warns(UserWarning, match="1 of 3 rows has no result"):
        data = unify_names(read(source(coming)))
    assert data.players.tolist() == ["Ada", "Bo", "Cy"] and data.events.player.tolist() == [[0, 1], [0, 2]]
    assert data.fixtures.players.tolist() == ["Ada", "Bo", "Cy", "DI"]
    assert data.fixtures.events.player.tolist() == [[1, 3]]
    for columns, message in (
        (games_of(("Ada", "Bo"), ("ada ", "Bo"), ZOE), "'Zoë' is on both sides, in two spellings"),
        ({"contest": [1] * 3, "player": [*"xyX"], "rank": [1, 2, 3]}, "'x' is in a contest twice"),
    ):
        with pytest.raises(ValueError, match=f"row 2 .*: {message}"):
            unify_names(read(source(columns)))


@pytest.mark.filterwarnings("ignore:.* differ from others only by blanks")
def test_what_alike_is():
    assert unify_names(read(games_of((1, "X"), ("x ", 2)))).players.tolist() == ["1", "X", "2"]
    assert unify_names(read(games_of((1, 2), (2, 3)))).players.tolist() == [1, 2, 3]
    assert normalise_name(" \ufeffA\u00a0 b\tc\u200b ") == "A b c"
    assert lookalike_key("ΣΊΣΥΦΟΣ") == lookalike_key("Σίσυφος") and lookalike_key("ﬁx") == lookalike_key("FIX")
    assert lookalike_key("Mary Ann") != lookalike_key("MaryAnn")


BAD = "\x1b]0;owned\x07", "\x9b31m", "\u202eevil\u2066", "a\rb", "\x00"


@pytest.mark.parametrize("name", BAD)
def test_errors_and_notes_escape(source, kind, name):
    said = repr(name)[1:-1]
    with pytest.raises(ValueError) as caught:
        read(source({"a": [name], "b": [name], "score": [1]}))
    assert said in str(caught.value) or "NUL" in str(caught.value)
    assert not set(str(caught.value)) & set("\x1b\x07\x9b\u202e\u2066\r\x00")
    data = read({"a": [name], "b": ["y"], "score": [1]})
    assert data.players[0] == name and said in repr(data)


def test_formulas_are_made_harmless_for_spreadsheets(tmp_path):
    """And a mark tells them the encoding."""
    names = ["=1+1", "+x", "-x", "@x", "\ty", "\rz", "'=x", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20y", "\n=2"]
    columns = {"a": np.array([*names, "'x", "x=1", "007", "Zoë"], object), "b": ["u"] * 16, "score": np.ones(16)}
    write(columns, tmp_path / "plain.csv")
    assert read(tmp_path / "plain.csv").players.tolist() == [names[0], "u", *names[1:], *columns["a"][12:]]
    write(columns, tmp_path / "safe.csv", csv_safe=True)
    safe = [f"'{name}" for name in names]
    assert read(tmp_path / "safe.csv").players.tolist() == [safe[0], "u", *safe[1:], *columns["a"][12:]]
    marks = [(tmp_path / f"{name}.csv").read_bytes().startswith(b"\xef\xbb\xbf") for name in ("plain", "safe")]
    assert marks == [False, True]
    write(columns, tmp_path / "safe.parquet", csv_safe=True)
    assert read(tmp_path / "safe.parquet").players[0] == "=1+1"


def test_rows_that_differ_in_a_column_that_is_not_used_are_no_repeats(games):
    text = "date,winner,loser,rounds,map\n2026-01-01,x,y,13-10,A\n2026-01-01,x,y,13-8,B\n2026-01-01,x,y,13-8,B\n"
    with pytest.warns(UserWarning, match="1 of 3 matches repeat an earlier one .*line 4 repeats line 3"):
        read(games(text))
    numbered = text.replace("date", ",date").replace("\n2026", "\n{},2026").format(0, 1, 2)  # by a data frame
    with pytest.warns(UserWarning, match="line 4 repeats line 3"):
        read(games(numbered))
    read(games(text.rsplit("\n", 2)[0] + "\n"))


MIRRORED = {"a": list("xyyzzx"), "b": list("yxzyxz"), "score": [1, 0, 0.5, 0.5, 0, 1]}


def test_rows_of_both_sides_of_matches_are_told():
    with pytest.warns(UserWarning, match="6 of 6 matches stand there twice"):
        read(MIRRORED | {"date": ["2026-08-15"] * 2 + ["2026-08-22"] * 2 + ["2026-08-29"] * 2})
    with pytest.warns(UserWarning, match="12 of 12 matches stand there twice"):
        read({name: column * 2 for name, column in MIRRORED.items()})
    read(MIRRORED)  # who won at home may have won away
    read(MIRRORED | {"t": [1, 2, 3, 4, 5, 6]})


def test_long_cells_are_cut(games):
    long = "x" * 10**5
    for text in (f"a,b,score\nx,y,{long}", f"a,b,score\n{long},y", f"{long},b\n1,2"):
        with pytest.raises(ValueError, match="x") as caught:
            read(games(text))
        assert len(str(caught.value)) < 1_200
