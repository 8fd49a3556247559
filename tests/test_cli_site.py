"""`jaxrate site`: its pages are those of Python, and what it refuses."""

import re
import shlex
from pathlib import Path

import pytest

import jaxrate as jr
from jaxrate.cli import cli
from tests.test_site import inside, page_of

for package in ("pyarrow", "jinja2"):
    pytest.importorskip(package)


def test_the_command(jaxrate, games, tmp_path):
    run, out = tmp_path / "run", tmp_path / "public"
    assert jaxrate("rate", games, "--system", "glicko", "--out", run, "-q")[0] == 0
    (tmp_path / "names.csv").write_text("id,name\nplayer 03,Ada\n")
    options = "--names", tmp_path / "names.csv", "--file", games, "--show", "walkover", "-q"
    code, text, errors = jaxrate("site", run, "--out", out, "--title", "League", *options)
    assert (code, errors) == (0, "") and text.startswith(f"{out}: 40 players\nOpen ")
    told = inside(page_of(out, "Ada"), "career")
    mine = [row for row in jr.load(run).predictions.to_pylist() if "player 03" in (row["a"], row["b"])]
    assert told["columns"]["walkover"] == [str(row["row"] % 100 == 0) for row in mine]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--show", "venue"), "--show and --points need --file FILE"),
        (("--file", "games.csv", "--show", "walkovers"), "games.csv: no column 'walkovers'; did you mean 'walkover'?"),
        (
            ("--file", "games.csv", "--points", "a", "b"),
            "--points: column 'a' of games.csv holds no numbers, but 'play",
        ),
        (("--file", "other.csv", "--show", "venue"), "--file: other.csv is not what was rated: its row 0 should be of"),
        (("--names", "games.csv"), "--names: games.csv: no column 'id'"),
        (("--season",), "--season needs --coming FILE"),
        (("--results", "games.csv"), "--results and --relegated need --season"),
        (("--out", "."), "--out . holds other files; name a new folder, or the one of an earlier site"),
    ],
)
def test_the_command_refuses(jaxrate, games, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    jaxrate("rate", games, "--system", "elo", "--out", "run", "-q")
    rows = (f"Dunedin,{i % 7},{i % 5}\n" for i in range(600))
    (tmp_path / "other.csv").write_text("venue,a,b\n" + "".join(rows), encoding="utf-8")
    code, text, errors = jaxrate("site", "run", "--out", "public", *arguments)
    assert code == 2 and text == "" and message in errors and errors.count("\n") == 1


def test_hints_can_be_pasted(jaxrate, tmp_path, monkeypatch):
    """Names with blanks and quotes, and the columns that the run was told of."""
    monkeypatch.chdir(tmp_path)
    file, run, options = (
        "our games.csv",
        "Ada's run",
        ("--a", "p one", "--b", "p two", "--score", "res", "--time", "day"),
    )
    names = [f"player {i}" for i in range(20)]
    rows = [f"{2020 + i // 100}-01-{1 + i // 8 % 28:02},{names[i % 20]},{names[(7 * i + 3) % 20]},{i % 4 > 0:d}"
            for i in range(400) if i % 20 != (7 * i + 3) % 20]  # fmt: skip
    Path(file).write_text("\n".join(["day,p one,p two,res", *rows]) + "\n")
    assert jaxrate("rate", file, *options, "--system", "elo", "--no-calibrate", "--sort", "--out", run)[0] == 0
    code, _, errors = jaxrate("site", run, "--out", "site", "--file", file)
    told = (
        jaxrate("rate", file, *options, "--system", "elo", "--no-calibrate", "--sort", "--out", run)[2]
        + jaxrate("rate", run)[2]
    )
    hints = re.findall(r"jaxrate ([a-z]+ [^;\n]+)", errors)
    assert code == 0 and len(hints) > 1 and "--state 'Ada'\"'\"'s run'" in told
    for hint in hints:
        name, *words = shlex.split(hint)
        context = cli.load_command(name).make_context(name, words)
        assert context.params["file"] == file and (context.params["a"], context.params["sort"]) == ("p one", True)
        assert context.params.get("out") in (None, Path(run))
