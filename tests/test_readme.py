"""What the README says to type, typed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in README.split("\n## ")}
GAME = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n[Date "2024.01.{:02}"]\n\n1. e4 {}\n\n'


def blocks(section, language):
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the README shows, and small ones of the formats it names."""
    folder = tmp_path_factory.mktemp("readme")
    shown = re.findall(r"`(\w+\.csv)`[^`]*```csv\n(.*?)```", README, re.DOTALL)
    assert [name for name, _ in shown] == ["games.csv", "june.csv", "july.csv"]
    for name, text in shown:
        (folder / name).write_text(text)
    results = ("1-0", "0-1", "1/2-1/2")
    games = [GAME.format("Ada", "Bo", r := results[i % 3], i + 1, r) for i in range(9)]
    (folder / "games.pgn").write_text("".join(games))
    football = [f"2024-01-{i + 1:02},Malta,Cyprus,{i % 3},1,Friendly,Ta' Qali,Malta,FALSE" for i in range(20)]
    head = "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral"
    (folder / "results.csv").write_text("\n".join([head, *football]) + "\n")
    return folder


def run(arguments, folder):
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


SERIES = "Categories, series, tournaments"


@pytest.mark.parametrize("section", [SERIES, "Fitting", "Your own file", "Formats", "Command line", "A report"])
def test_commands(folder, section):
    commands = [shlex.split(line) for block in blocks(section, "sh") for line in block.splitlines()]
    assert commands and all(command[0] == "jaxrate" for command in commands)
    for command in commands:
        out = run(["-m", *command], folder)
        assert out or command[1] == "simulate"


@pytest.mark.parametrize("section", ["In Python", "Teams", SERIES, "Fitting", "Pictures", "Your own file"])
def test_python(folder, section):
    (block,) = blocks(section, "python")
    assert run(["-c", block], folder)


def test_tables_name_every_command_and_format():
    import jaxrate as jr
    from jaxrate.cli import cli

    assert set(re.findall(r"^\| `(\w+)` \|", SECTIONS["Command line"], re.MULTILINE)) == set(cli.commands)
    assert set(re.findall(r"^\| `(\w+)` \|", SECTIONS["Formats"], re.MULTILINE)) == set(jr.formats.FORMATS)
    assert set(re.findall(r"^\| `jr\.(\w+)` \|", SECTIONS["Systems"], re.MULTILINE)) == set(jr.SYSTEMS)
