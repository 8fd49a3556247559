"""Every option of every command takes a right value, and refuses a wrong one in a line."""

import shlex

import click
import pytest

import jaxrate as jr
from jaxrate import parts
from tests.conftest import mark_full

cli = pytest.importorskip("jaxrate.cli")
for package in ("pyarrow", "jinja2", "matplotlib", "sklearn"):
    pytest.importorskip(package)
pytestmark = pytest.mark.filterwarnings("ignore")
COMMANDS = {name: cli.cli.load_command(name) for name in cli.cli.commands}
HEAD = "date,a,b,score,goals_a,goals_b,home,neutral,year,surface,age_a,age_b,gone,value,league,voter,p,odds_a,odds_b\n"
FILES = {
    "won.csv": "winner,loser,day\nAda,Bo,01/02/2024\nBo,Cy,02/02/2024\nAda,Cy,03/02/2024\n",
    "races.csv": "date,race,driver,place,last,team,cap,noise\n"
    + "".join(
        f"2024-01-0{race},{race},{driver},{place},{place},{driver}s,9,1\n"
        for race in (1, 2, 3)
        for place, driver in enumerate(["Ada", "Bo", "Cy", "Di"], 1)
    ),
    "game.pgn": '[White "Ada"]\n[Black "Bo"]\n[Result "1-0"]\n[Date "2024.01.02"]\n\n1. e4 1-0\n',
    "counts.csv": "a,b,up,down,even\nAda,Bo,7,5,1\nBo,Cy,4,4,2\nCy,Ada,3,6,0\n",
    "next.csv": "date,a,b,home\n2024-03-01,Ada,Bo,1\n2024-03-02,Cy,Ada,0\n",
    "undated.csv": "a,b\nAda,Zed\n",
    "later.csv": "date,a,b,score\n2024-03-01,Ada,Bo,1\n",
    "names.csv": "id,name\nAda,Ada Lovelace\n",
    "cup.toml": 'knockout = ["Ada", "Bo"]\n',
    "elo.toml": 'system = "elo"\n',
}
READING = (  # lines that together have every option of reading a file
    "games.csv --a a --b b --score score --time date --sort --na-values none --skip-incomplete --side home "
    "--column drop=gone --column normalise_names=yes --column neutral=neutral --column weight=value "
    "--column covariates=value --column rest=9 --column form=30 --column age=age_a,age_b --column columns=gone",
    "games.csv --margin goals_a goals_b --season year --category surface --column mixtures=any=clay:0.5,hard:0.5 "
    "--column statistics=x=goals_a,goals_b --column shares=y=goals_a,goals_b --system skills "
    "--venue surface --column ground=9 --column layoff=9 --column relative_margin=9",
    "games.csv --margin goals_a goals_b --column expected_goals=odds_a,odds_b --column league_season=year "
    "--category surface --column category_lead=9",
    "won.csv --winner winner --loser loser --time day --column dates=day-first",
    "races.csv --contest race --participant driver --rank place --column unfinished=DNF "
    "--column ceiling=cap --column noise=noise",
    "races.csv --contest race --participant driver --rank place --team team --system trueskill",
    "game.pgn --format pgn",
)
RIGHT = {  # lines that together have the other options of a command
    "rate": (
        *READING,
        "games.csv --system elo --param k=20 --period 7 --csv --out new --top 2 --show upsets --show peaks --list "
        "since=2024-01-02 --as-of 2024-02-08",
        "games.csv --system elo --player Ada --list active=all --list min_games=1 --no-calibrate --json",
        "games.csv --category surface --system skills --show hindsight --list category=clay --list cautious=1 -v",
        "games.csv --param elo.toml --outlook --player Ada --player Bo -q",
        "games.csv --plain --by league",
        "games.csv --system elo --dry-run",
        "later.csv --state run",
        "games.parquet --system elo --chunk 1e6 --brief --out chunks",
    ),
    "compare": (
        "games.csv --system elo --param elo.k=20 --param elo.toml --period 7 --last 0.5 --fit --plain -q --json",
        "games.parquet --system elo --first 1 -v",
    ),
    "benchmark": (
        "games.csv --system elo --fit-seconds 0 --since 2024-02-01 --outcomes 2 --forecast mine=p --odds "
        "us=odds_a,odds_b --odds-method shin --plain --out page -q --json",
        "games.csv --system elo --fit-seconds 0 --last 0.1 --stack --stack-column value -v",
    ),
    "fit": (
        "games.csv --system elo --param k=20 --period 7 --free k --loss brier --warm-up 1 "
        "--data-share 0.8 --starts 2 --steps 2 --errors products --save k.toml --plain -q --json",
        "games.csv --system elo --free k --outlook --steps 1 -v",
        "games.parquet --system elo --free k --calibrated --first 2 --steps 1",
    ),
    "arena": (
        "games.csv --column covariates=value --cluster voter --moved --ties half --anchor Ada=1500 --errors sandwich "
        "--top 2 --out table.csv -q",
        "counts.csv --wins up --losses down --tied even --prior 300 --report page.html --title T --source us --noun "
        "team,teams -v --json",
    ),
    "systems": ("elo --json -q", "-v"),
    "predict": (
        "run undated.csv --at 2024-04-01 --newcomers --out table.csv -q --json",
        "goals next.csv --explain -v",
        "goals next.csv --scorelines",
        "run next.csv --simulate --results later.csv --points 2 1 0 --ties wins --relegated 1 --samples 10 --seed 1",
        "run cup.toml --simulate --samples 10 --newcomers -v",
    ),
    "report": (
        "games.csv --system elo --param k=20 --period 7 --compare glicko --out page.html --top 1 "
        "--player 'Ada Lovelace' --title T "
        "--names names.csv --noun team,teams --list active=all --list min-games=1 --last 0.5 --no-calibrate --plain -q",
        "games.csv --param elo.toml --compare glicko -v",
        "games.csv --system skills --compare elo --show hindsight",
    ),
    "site": (
        "run --out site --title T --description D --address https://example.org/ --names names.csv --noun team,teams "
        "--list active=all --list min_games=1 --file games.csv --show surface --points goals_a goals_b -q",
        "run --out site --coming next.csv --season --results later.csv --relegated 1 -v",
    ),
    "simulate": (
        "new.parquet --players 9 --matches 2e1 --days 9 --spread 9 --drift 1 --activity 1 --draws 0.1 "
        "--side-advantage 9 "
        "--luck 0.9 --seed 1 -q",
        "new.parquet --players 9 --rounds 3 --size 3-4 --noise 9 --grid 1 -v",
    ),
}
WRONG = {  # values, by what help calls them
    **dict.fromkeys(("NUMBER", "DAYS", "POINTS", "SECONDS", "SHARE", "EXPONENT", "GAMES", "WIN DRAW LOSS"), "many"),
    **dict.fromkeys(("FILE", "DIR", "FILE.html", "FILE.png", "FILE.toml"), "games.csv/x"),
    "TEXT": None,  # any text will do, but none will not
    "HOW": None,
}
BESIDE = {"--out": ["new"], "--file": ["games.csv"], "--coming": ["next.csv"], "--rounds": ["3"], "--simulate": []}
BESIDE["--report"] = ["page.html"]
FIRST = {  # of each command, arguments that it would take
    **dict.fromkeys(("rate", "arena", "report", "compare"), "games.csv"),
    "benchmark": "games.csv --fit-seconds 0 --system elo",
    "fit": "games.csv --system elo --steps 1",
    "systems": "elo",
    "predict": "run next.csv",
    "site": "run --out site",
    "simulate": "new.parquet --players 9",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files of each kind, and saved runs."""
    folder = tmp_path_factory.mktemp("options")
    lines = [
        f"2024-{1 + i // 150:02}-{1 + i % 150 // 12:02},{('Ada,Bo', 'Bo,Cy', 'Cy,Ada', 'Bo,Ada', 'Ada,Cy')[i % 5]},"
        f"{('1,2,0', '0,0,1', '0.5,1,1')[i % 3]},1,{i % 2},{2023 + i // 150},{('clay', 'hard', 'any')[i % 7 % 3]},"
        f"30,20,0,0.{1 + i % 3},{('x', 'y')[i % 2]},v{i % 4},0.5,1.9,1.9\n"
        for i in range(300)
    ]
    for name, text in (FILES | {"games.csv": HEAD + "".join(lines)}).items():
        (folder / name).write_text(text)
    jr.data.write({"a": ["Ada", "Bo"], "b": ["Bo", "Ada"], "score": [1.0, 0.0]}, folder / "games.parquet")
    roles = {"time": "date", "margin": ("goals_a", "goals_b"), "side": "home", "neutral": "neutral"}
    data = jr.read(folder / "games.csv", a="a", b="b", **roles)
    jr.save(folder / "run", jr.rate(jr.elo(side_advantage=50), data))
    jr.save(folder / "goals", jr.rate(jr.skills(parts.side(50), observe=parts.goals("goals_a", "goals_b")), data))
    return folder


def options_of(name):
    """The options of a command that are its own; those of reading a file are those of `rate`."""
    reading = {word for line in READING for word in line.split() if word[:2] == "--"} - {"--system"}
    options = [x for x in COMMANDS[name].params if isinstance(x, click.Option) and "--help" not in x.opts[-1]]
    return [x for x in options if name == "rate" or x.opts[0] not in reading]


@pytest.mark.parametrize("name", mark_full([*COMMANDS], *{*COMMANDS} - {"fit", "report"}))
def test_every_option_takes_a_right_value(jaxrate, files, monkeypatch, name):
    monkeypatch.chdir(files)
    for line in RIGHT[name]:
        code, _, errors = jaxrate(name, *shlex.split(line))
        assert code == 0 or (name == "fit" and code == 1), f"{line}: {errors}"
    used = {word for line in RIGHT[name] for word in line.split()}
    assert used >= {x.opts[0] for x in options_of(name)}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_refuses_a_wrong_value(jaxrate, files, monkeypatch, name):
    monkeypatch.chdir(files)
    for option in options_of(name):
        needed = getattr(option, "needs", "")
        words = shlex.split(FIRST[name])
        words += [needed, *BESIDE[needed]] if needed in BESIDE and needed not in words else []
        wrong = WRONG.get(option.metavar, "nowhere")
        value = [] if wrong is None else [wrong] * option.nargs
        line = [f"{option.opts[-1]}=1"] if option.is_flag else [option.opts[0], *value]
        code, text, errors = jaxrate(name, *words, *line)
        last = errors.splitlines()[-1] if errors else ""
        assert code == 2 and text == "" and last.startswith("jaxrate: "), f"{name} {line}: {code} {errors}"
        assert "Traceback" not in errors and "unexpected" not in errors, errors
