"""Every command that prints JSON, and the pages that commands write, as facts: columns of numbers, names and cells."""

import base64
import gzip
import json
import re
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from unittest import mock

import jax
import numpy as np

import jaxrate as jr
from jaxrate.cli import main
from tests.goldens.histories import TABLES
from tests.goldens.storage import digest_columns

NFL = "--a home --b away --side a --column neutral=neutral --margin home_points away_points --season season --time date"
FOOTBALL = "--a home --b away --side a --season season --margin home_goals away_goals --time date"
RATE = {  # in this order, as some carry on from others
    "rate": f"rate nfl.csv {NFL} --system glicko --param c=20 --player 'Green Bay Packers' --out run",
    "rate again": "rate later.csv --state run --top 5 --out longer",
    "rate until a date": f"rate nfl.csv {NFL} --system elo --show upsets --as-of 2012-06-01 --list min_games=3",
    "rate of two": f"rate nfl.csv {NFL} --system elo --player 'Green Bay Packers' --player 'Chicago Bears' --outlook",
    "rate peaks": f"rate nfl.csv {NFL} --system glicko2 --period 28 --show peaks --list cautious=1",
    "rate by margins": f"rate nfl.csv {NFL} --top 5 --out margins",
    "rate goals": f"rate football.csv {FOOTBALL} --system skills --param outcome=goals --show hindsight "
    "--player 'East 3' --out goals",
    "rate by league": f"rate football.csv {FOOTBALL} --system elo --by league",
    "rate in chunks": "rate nfl.parquet --plain --a home --b away --time date --system glicko --chunk 300 --out chunks",
    "rate contests": "rate contests.csv --system elo_mmr --column ceiling=ceiling --column noise=noise "
    "--player 'Runner 03'",
    "rate teams": "rate doubles.csv --system trueskill --player 'Player 03' --list active=all --out doubles",
    "rate by category": "rate races.csv --category race_a race_b --system category_glicko --period 14 "
    "--list category=Zerg --time date",
}
OTHERS = {
    "compare": f"compare nfl.csv {NFL} --system glicko --system trueskill --last 0.3",
    "compare contests": "compare contests.csv --column noise=noise --system elo_mmr --system weng_lin",
    "benchmark": f"benchmark nfl.csv {NFL} --system glicko --system elo --fit-seconds 0 --out benchmark",
    "fit": f"fit nfl.csv {NFL} --system elo --free k",
    "plan": "rate nfl.csv --a home --b away --dry-run",
    "arena": "arena votes.csv --moved --cluster voter --report arena.html",
    "systems": "systems glicko",
    "predict": "predict run coming.csv",
    "predict by margins": "predict margins coming.csv --explain",
    "predict goals": "predict goals games.csv --scorelines",
    "predict teams": "predict doubles pairs.csv",
    "season": "predict run coming.csv --simulate --samples 500 --relegated 1",
    "tournament": "predict goals cup.toml --simulate --samples 500",
}
PAGES = {  # what writes them, and where they are; those of commands above are there already
    "report": (f"report nfl.csv {NFL} --system glicko --top 4 --compare elo --out report.html", "report.html"),
    "report of contests": ("report ranks.csv --system elo_mmr --top 3 --compare topcoder --out r.html", "r.html"),
    "site": ("site run --out site --coming coming.csv --season", "site"),
    "site of teams": ("site doubles --out team_site", "team_site"),
    "arena": (None, "arena.html"),
    "benchmark": (None, "benchmark/index.html"),
}
RTOL = {"fit": 1e-4, "benchmark": 1e-6, "compare": 1e-6}  # of the others 1e-9
PASSING = re.compile(
    r"second|/s|memory|speed|file|folder|version|note|finding|scope|source|device|made|stamp|reason|history|"
    r"^\.systems\.rating|^\.moved\.players\.p$"  # the last is simulated, and rounding moves it
)
COMING = "home,away,date\nGreen Bay Packers,Chicago Bears,2013-03-01\nNew York Jets,Buffalo Bills,2013-03-02\n"
FILES = {
    "coming.csv": COMING + "Chicago Bears,New York Jets,2013-03-02\nBuffalo Bills,Green Bay Packers,2013-03-03\n",
    "later.csv": "home,away,date,home_points,away_points,neutral,season\n"
    "Green Bay Packers,Chicago Bears,2013-03-01,20,17,0,2012\nNew York Jets,Buffalo Bills,2013-03-02,3,10,1,2012\n",
    "games.csv": "home,away,date\nEast 1,East 2,2023-06-01\nEast 3,East 4,2023-06-02\n",
    "pairs.csv": "a1,a2,b1,b2,date\nPlayer 01,Player 02,Player 03,Player 04,2023-06-01\n",
    "cup.toml": 'knockout = ["A1", "B2", "B1", "A2"]\n[groups]\nA = ["East 1", "East 2"]\nB = ["East 3", "East 4"]\n',
}


def write_files(folder):
    for name, table in TABLES.items():
        jr.data.write(table(), folder / f"{name}.csv")
    jr.data.write(TABLES["nfl"](), folder / "nfl.parquet")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def run_command(line):
    """What a command prints."""
    words = [a or b for a, b in re.findall(r"'(.*?)'|(\S+)", line)]
    printed, errors = StringIO(), StringIO()
    with mock.patch.object(sys, "argv", ["jaxrate", *words]), redirect_stdout(printed), redirect_stderr(errors):
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise AssertionError(f"{line}: {errors.getvalue()}") from None
    return printed.getvalue()


def collect_facts(value, path="", facts=None):
    """Leaves of JSON by their path, in which all places of a list are one; no sentences, and nothing that passes."""
    facts = {} if facts is None else facts
    if isinstance(value, dict):
        for name, one in value.items():
            if (
                not PASSING.search(f"{path}.{name}") and "left" not in value
            ):  # chances of pairs in numbers of no meaning
                collect_facts(one, f"{path}.{'*' if name.isdigit() else name}", facts)
    elif isinstance(value, list):
        for one in value:
            collect_facts(one, path, facts)
    elif not (isinstance(value, str) and value.count(" ") > 5):
        facts.setdefault(path, []).append(value)
    return facts


def columns_of_facts(facts):
    """Arrays of numbers where all facts are such, missing ones as NaN; else of text."""
    return {
        path: np.array(values, float)
        if all(x is None or isinstance(x, (bool, int, float)) for x in values)
        else np.array([str(x) for x in values], object)
        for path, values in facts.items()
    }


class Page(HTMLParser):
    """Cells of the tables of a page, row by row, and its JSON."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.data, self.text, self.is_json, self.depth = [], [], None, False, 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.text = ""
        elif tag == "script":
            self.is_json = ("type", "application/json") in attrs

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.text is not None:
            self.tables[-1][-1].append(" ".join(self.text.split()))
            self.text = None
        elif tag == "script":
            self.is_json = False

    def handle_data(self, data):
        if self.is_json:
            values = json.loads(data)
            is_packed = isinstance(values, str)  # as that of reports
            self.data.append(json.loads(gzip.decompress(base64.b64decode(values))) if is_packed else values)
        elif self.text is not None:
            self.text += f" {data}"


def page_facts(text, name):
    """Columns of the tables of a page by the number of each, without those that pass, and facts of its JSON."""
    page, facts = Page(text), {}
    for number, (head, *rows) in enumerate(table for table in page.tables if table):
        for place in range(max(map(len, rows), default=0)):
            if not (place < len(head) and PASSING.search(head[place])):
                cells = [row[place] for row in rows if place < len(row)]
                facts[f"{name} table {number} column {place}"] = [x for x in cells if x.count(" ") <= 5]
    for data in page.data:
        collect_facts(data, name, facts)
    return facts


def read_pages(path):
    """Facts of a page, or of all pages and data of a folder."""
    files = [path] if path.is_file() else sorted(x for x in path.rglob("*") if x.suffix in (".html", ".js", ".json"))
    facts = {}
    for file in files:
        text, group = file.read_text(encoding="utf-8"), re.sub(r"^.*/(players|careers)/.*", r"\1", file.as_posix())
        name = group if group in ("players", "careers") else file.name
        found = {}
        if file.suffix == ".html":
            found = page_facts(text, name)
        elif file.parent.name in ("data", "careers") and file.name != "site.json":
            found = collect_facts(json.loads(re.sub(r"^[\w.\[\]\" -]+ = |;\n?$", "", text)), name)
        for key, values in found.items():
            facts.setdefault(key, []).extend(values)
    return facts


def answer_commands(folder):
    """The digests of what commands print and write in a folder where they run."""
    found = {"commands": {}, "pages": {}}
    with jax.enable_x64(True), chdir(folder):
        write_files(folder)
        for name, line in (RATE | OTHERS).items():
            told = json.loads(run_command(f"{line} --json" + " -q" * (name != "systems")))
            found["commands"][name] = columns_of_facts(collect_facts(told))
        for name, (line, path) in PAGES.items():
            if line is not None:
                run_command(f"{line} -q")
            found["pages"][name] = columns_of_facts(read_pages(folder / path))
    return digest_columns(found)
