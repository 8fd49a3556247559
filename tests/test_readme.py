"""What README and guides say to type, typed: the Python of a page in one namespace, its commands in one folder."""

import re
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

import jaxrate as jr
from jaxrate.systems.federations import FEDERATIONS
from tests.conftest import mark_full

matplotlib = pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "jaxrate" / "guides").glob("*.md"))]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("python3 -m venv .venv && ", "python -m jaxrate.docs ")  # commands that .ci/run and other tests type
GAME = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n[Date "2024.01.{:02}"]\n\n1. e4 {}\n\n'
FEW = ("--system", "elo", "--system", "glicko")
PROGRAM = [name for name, text in PAGES.items() if {"python", "sh"} & {language for language, _ in BLOCK.findall(text)}]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that the pages show, and small ones of the formats that they name."""
    folder = tmp_path_factory.mktemp("pages")
    shows = re.compile(r"[tT]his is `(\w+\.csv)`[^\n]*\n\n```csv\n(.*?)```", re.DOTALL)
    shown = shows.findall("\n".join(PAGES.values()))
    names = ["coming.csv", "doubles.csv", "games.csv", "july.csv", "june.csv", "league.csv", "races.csv", "week.csv"]
    assert sorted(name for name, _ in shown) == names
    for name, text in shown:
        (folder / name).write_text(text)
    results = ("1-0", "0-1", "1/2-1/2")
    games = [GAME.format("Ada", "Bo", r := results[i % 3], i + 1, r) for i in range(9)]
    (folder / "games.pgn").write_text("".join(games))
    football = [f"2024-01-{i + 1:02},Malta,Cyprus,{i % 3},1,Friendly,Ta' Qali,Malta,FALSE" for i in range(20)]
    head = "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral"
    (folder / "results.csv").write_text("\n".join([head, *football]) + "\n")
    return folder


def words(text):
    """Words, and numbers with the unit of their last digit, and whether they have groups of thousands."""
    parts = re.findall(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?|[^\s\d]+", text)
    return [
        (float(x.replace(",", "")), 10.0 ** -len(x.partition(".")[2]), "," in x) if x[-1].isdigit() else x
        for x in parts
    ]


def alike(said, shown):
    """Whether a text was said as it is shown, but for a digit or two in the last place of its numbers."""
    one, two = words(said), words(shown)
    return len(one) == len(two) and all(
        x == y if isinstance(x, str) or isinstance(y, str) else abs(x[0] - y[0]) <= 2.1 * y[1] and x[2] == y[2]
        for x, y in zip(one, two, strict=True)
    )


# Those that take seconds: .ci/run types what they say to type, with -m full.
SLOW = ["README", "arena", "command_line", "contests", "contributing", "examples", "fitting", "large_histories"]
SLOW += ["official_ratings", "own_system", "pictures", "predicting", "service", "skills", "systems"]


@pytest.mark.filterwarnings("ignore:took ", "ignore:.* no result and ")
@pytest.mark.parametrize("page", mark_full(PROGRAM, *(x for x in PROGRAM if x not in SLOW)))
def test_a_page_does_what_it_says(page, files, tmp_path, jaxrate, capsys, monkeypatch):
    matplotlib.use("Agg")
    folder = shutil.copytree(files, tmp_path / "folder")
    monkeypatch.chdir(folder)
    module, said = ModuleType(page), None
    monkeypatch.setitem(sys.modules, page, module)  # what a page defines can be pickled
    for language, text in BLOCK.findall(PAGES[page]):
        if language == "python":
            exec(compile(text, page, "exec"), vars(module))
            said = capsys.readouterr().out
            assert said or "print" not in text
        elif language == "text":
            assert alike(said, text), said
        elif language == "sh":
            for line in filter(lambda x: not x.startswith(ELSEWHERE), text.splitlines()):
                first, *arguments = shlex.split(line, comments=True)
                assert first == "jaxrate"
                if arguments[0] == "compare" and "--system" not in arguments:
                    arguments += FEW  # test_cli_compare.py compares them all
                code, out, errors = jaxrate(*arguments)
                assert code == 0 and (out or arguments[0] == "simulate"), (line, errors)
        else:
            assert language == "csv"
    if "pyplot" in dir(matplotlib):
        matplotlib.pyplot.close("all")


def listed(page):
    return set(re.findall(r"^\| `(?:jr\.)?(\w+)` \|", PAGES[page], re.MULTILINE))


def test_tables_name_every_command_format_and_system():
    from jaxrate.cli import cli

    assert listed("command_line") == set(cli.commands)
    assert listed("your_file") >= set(jr.data.formats.FORMATS)
    assert listed("systems") >= set(jr.extend.SYSTEMS)


def test_systems_are_counted_as_there_are():
    words = {13: "thirteen", 15: "fifteen", 11: "eleven"}
    ours = len(jr.extend.ALL_SYSTEMS) - len(FEDERATIONS)
    files = [ROOT / "CITATION.cff", *(ROOT / "jaxrate/docs").rglob("*.*"), ROOT / "experiments/paper/paper.md"]
    texts = [*PAGES.values(), *(x.read_text(encoding="utf-8") for x in files if x.suffix in (".py", ".md", ".cff"))]
    said = [x.lower() for text in texts for x in re.findall(r"(?i)\b(\w+teen) (?:\w+ )*systems\b", text)]
    assert set(said) == {words[ours]} and len(said) > 6
    assert f"{words[len(FEDERATIONS)]} official ratings" in PAGES["README"]


def test_links_lead_somewhere():
    for path in FILES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", PAGES[path.stem]):
            assert (path.parent / target).exists(), (path, target)


@pytest.mark.parametrize("page", ["README", "contributing"])
def test_paths_are_there(page):
    paths = re.findall(r"(?<![\w/.])(?:jaxrate|experiments|tests)/[\w/.]*\w", PAGES[page])
    assert len(paths) > 5
    assert not [path for path in paths if "NAME" not in path and not (ROOT / path).exists()]


def test_start_here_lists_every_guide():
    guides = re.findall(r"^- \[[^]]+\]\((\w+)\.md\): ", PAGES["start"], re.MULTILINE)
    assert {*guides} == PAGES.keys() - {"README", "start"}
