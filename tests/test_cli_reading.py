"""What the command line says of files: notes, bad rows, and names that would command a terminal."""

import re
from pathlib import Path

import pytest

import jaxrate as jr

pa = pytest.importorskip("pyarrow")
cli = pytest.importorskip("jaxrate.cli")

TITLE = "\x1b]0;owned\x07"
COMMANDS = set("\x1b\x07\x9b\u202e\r")


@pytest.fixture
def strange(tmp_path):
    """A file in which names, its own too, command the terminal."""
    path = tmp_path / f"games {TITLE}.csv"
    names = TITLE, "\u202eAda", "Bo\x9b31m", "=1+1"
    rows = [(a, b) for a in names for b in names if a != b]
    jr.write({"winner": [a for a, _ in rows], "loser": [b for _, b in rows]}, path)
    return path


def test_names_do_not_command_the_terminal(jaxrate, strange, tmp_path):
    out = tmp_path / "run"
    code, said, notes = jaxrate("rate", strange, "--player", TITLE, "--out", out, "--csv", "-v")
    assert code == 0 and "\\x1b]0;owned\\x07" in said and "\\u202eAda" in said
    assert not COMMANDS & set(said + notes)
    players = set(jr.load(out).players)
    assert players == {TITLE, "\u202eAda", "Bo\x9b31m", "=1+1"}  # files have them as they are
    assert set(pa.csv.read_csv(out / "ratings.csv")["player"].to_pylist()) == players
    for arguments in (["rate", strange, "--player", f"Cy{TITLE}"], ["rate", f"{TITLE}.csv"], ["rate", "--x" + TITLE]):
        code, said, errors = jaxrate(*arguments)
        assert code == 2 and "\\x1b" in errors and not COMMANDS & set(said + errors)


def test_csv_safe(jaxrate, strange, tmp_path):
    code, _, errors = jaxrate("rate", strange, "--out", tmp_path / "run", "--csv-safe")
    assert code == 0, errors
    assert "'=1+1" in pa.csv.read_csv(tmp_path / "run" / "ratings.csv")["player"].to_pylist()
    assert "=1+1" in jr.load(tmp_path / "run").players
    assert jaxrate("rate", strange, "--csv-safe")[::2] == (2, "jaxrate: --csv and --csv-safe go with --out\n")


def test_all_output_passes_one_door():
    for path in Path(cli.__file__).parent.glob("*.py"):
        calls = re.findall(
            r"click\.s?echo\w*\(|\bprint\(|\.print_exc\(|sys\.std\w+\.write", path.read_text(encoding="utf-8")
        )
        assert len(calls) == (path.name == "terminal.py"), path.name


def test_notes_and_options(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("a,b,score,time\nAda,Bo,1,1\nada ,Bo,0,2\nAda,Bo,,3\nAda,Bo,1,4\nAda,Bo,1,4\n")
    code, _, errors = jaxrate("plan", path, "--system", "elo")
    assert code == 2 and "row 2 (counting from 0, line 4): column 'score' has no value" in errors
    code, said, notes = jaxrate("plan", path, "--system", "elo", "--skip-incomplete")
    assert code == 0 and "4 matches of 3 players" in said
    assert "jaxrate: skipped 1 of 5 rows, which lack a value: 2 (counting from 0)" in notes
    assert "jaxrate: 1 of 4 matches repeat an earlier one exactly" in notes and "row 4 repeats row 3" in notes
    assert "'Ada' and 'ada '; join them with the option normalise_names" in notes
    code, said, notes = jaxrate("plan", path, "--system", "elo", "--skip-incomplete", "--normalise-names")
    assert code == 0 and "4 matches of 2 players" in said and "normalise_names" not in notes


def test_bad_rows_are_told_each_on_a_line(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("a,b,score\nAda,Bo,0x1\nAda,Bo,1\nAda,Bo,yes\n,Bo,1\n")
    code, _, errors = jaxrate("rate", path)
    lines = errors.splitlines()
    assert code == 2 and lines[0].startswith(
        "jaxrate: games.csv: row 0 (counting from 0, line 2): column 'score' is '0x1'"
    )
    assert [re.findall(r"line (\d)", line) for line in lines] == [["2"], ["4"], ["5"]]
