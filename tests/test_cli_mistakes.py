"""Wrong lines of the shell: each is refused in a line that says what is wrong, and nothing is written."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core import memory_checks
from jaxrate.data import simulate
from tests.conftest import write_games
from tests.test_benchmark import make_league

for package in ("pyarrow", "jinja2", "click"):
    pytest.importorskip(package)
pq = pytest.importorskip("pyarrow.parquet")

REFUSED_BEFORE_WORK = r"""
rate days.csv --out days.csv :: invalid value for '--out': a folder is written there; take a name without .csv
rate days.csv --out days.csv/run :: days.csv' is a file
predict days.csv coming.csv :: no saved run there: run.json is missing; `jaxrate rate FILE --out
predict days.csv :: missing argument 'FIXTURES \| PLAN.toml'; see jaxrate predict --help\n$
fit days.csv --errors zz :: invalid value for '--errors': 'zz' is not one of 'information', 
report days.csv --out report.pdf :: invalid value for '--out': the name must end in .html or .htm
rate days.csv --list since=foo :: --list since foo: write a date as 2026-05-31
fit days.csv --save . :: invalid value for '--save': File '.' is a directory
simulate league.parquet --matches 1e12 :: 1,000,000,000,000 rows would take 1.5 TB, and there are
predict run cup.toml :: cup.toml is the plan of a tournament; add --simulate
predict run cup.toml --simulate --relegated 1 :: --relegated cannot be combined with a tournament, whose plan says
"""
REFUSED = r"""
rate :: name a FILE of matches or contests, or a saved run with --state
rate games.csv --sytem elo :: no such option '--sytem'. .*'--system'
rat games.csv :: no such command 'rat'. Did you mean 'rate'?
site run :: missing option '--out'; see jaxrate site --help\n$
rate games.csv --weight x :: no such option '--weight'; write --column weight=COLUMN\n$
rate games.csv --system gliko :: unknown system 'gliko'; did you mean 'glicko'\?\n$
rate nfll :: nfll: no such file
rate lost.pgn :: lost.pgn: line 6: the game has no tag White; --skip-incomplete leaves such games out
compare lost.pgn --first 1 :: --first reads the first rows of a table, and lost.pgn holds games of pgn
rate games.csv --param K=3 :: glicko has no parameter 'K' (it has seasons, c, initial_rating
rate games.csv --system glicko --param c= :: --param c=: write name=value, as in k=20
rate --category surface gmes.csv :: gmes.csv: no such file
rate games.csv --param runs/k=3.toml :: --param runs/k=3.toml: there is no such file
rate goals.csv --margin home_goals away_goals --param k=20 :: no parameter 'k'; did you mean 'k' of --system elo\?\n$
rate games.csv --column na_values=x :: no name 'na_values'; write --na-values\n$
arena games.csv --anchor 1500 :: --anchor 1500: write NAME=RATING, as in Ada=1500
arena games.csv --anchor Ada=1 --anchor 'Ada = 2' :: --anchor names Ada twice
rate games.csv --period week :: --period must be a number above 0, got week
rate games.csv --column side=x :: --column side=x: no name 'side'; write --side\n$
rate games.csv --column rest= :: --column rest=: write rest=DAYS
rate games.csv --column weight=x --column weight=y :: no column 'y'
rate games.csv --show peek :: 'peek' is not one of 'peaks', 'upsets', 'hindsight'
rate games.csv --system elo --show hindsight :: skills
rate --state run --show hindsight :: whole history; rate its FILE without
rate games.csv --param games.csv :: games.csv: Expected '='
rate games.csv --param elo.toml --system glicko :: is of elo, not glicko
rate days.csv --state run --system elo :: --system cannot be combined with --state: it is for new runs; the saved
rate games.csv --state run :: games.csv: row 0 \(counting from 0\): time .* is earlier than the last match
rate --state run --as-of 100 --out new :: --out: the run in .*run ends after --as-of; rate its file again
rate --state run --list active=few :: --list active=few: write a number of days above 0, a share below 1, or all
rate run :: run is a saved run; name it with --state run
rate --state run --player a --player b --player c :: --player shows one player, or two against each other, got 3
rate days.csv --as-of 2023-01-01 :: no matches up to --as-of
rate maps.csv --category a1 --column mixtures=Random=Zerg:x :: --column mixtures must be a number, got x
rate maps.csv --column mixtures=Random :: mixtures need category
rate races.csv --rank place --system glicko :: glicko does not rate contests; jaxrate systems tells
rate races.csv --rank place --period 7 :: rating periods are of matches of two, not of contests; leave out --period
rate teams.csv --team side --format pgn :: --team cannot be combined with --format pgn
fit --free c :: missing argument 'FILE'
compare games.csv --param elo.toml --param elo.toml :: are both of elo; compare one at a time
compare games.csv --system elo --system glicko --param kk=3 :: elo and glicko: no parameter 'kk' here; did you mean 'k'?
compare games.csv --param eloo.k=3 :: eloo: no parameter 'k' here
site run --out new --file games.csv --points a b :: --points: column 'a' of games.csv holds no numbers, but 'play
site run --out new --file other.csv --show venue :: --file: other.csv is not what was rated: its row 0 should be of
site run --out new --list min_games=1000 :: 1,000 times (a lower --list min_games lists more)
site run --out . :: --out . holds other files; name a new folder, or the one of an earlier site
arena games.csv --cluster a --cluster b --cluster a :: --cluster takes one column or two, got 3
arena games.csv --wins score --losses score :: must be different columns
arena games.csv --column weight=home --tied home :: --column weight is for votes
arena games.pgn --cluster Event :: name columns, and not those of a public format
"""
BAD_ROWS = r"""
rate bad.csv --out new | a,b,score,time x,y,1,1 y,x,0,2 x,x,1,3 :: bad.csv: row 2 \(counting from 0, line 4\): x is on
rate bad.csv | a,b,score Ada,Bo,0x1 Ada,Bo,1 Ada,Bo,maybe :: row 0 .*line 2.*: column 'score' is '0x1'.*\n.*line 4
arena bad.csv | a,b,wins,losses x,y,3,2 y,z,many,3 :: line 3\): column 'wins' is 'many', not a number
arena bad.csv --moved | a,b,wins,losses,time x,y,7,5,1 :: of votes with times, and not of counts
arena bad.csv --moved | a,b,score x,y,1 y,x,1 :: name their column with --time
arena bad.csv --column drop=gone | a,b,wins,losses,gone x,y,1,1,1 x,y,3,2,0 y,z,-1,3,0 :: line 4\): wins is -1
arena bad.csv --column drop=no --cluster v | a,b,wins,losses,no,v x,y,1,1,1, x,y,3,2,0,p y,z,1,3,0, :: line 4\): column
arena bad.csv --out '' | a,b,score x,y,1 :: name a file or a folder
rate bad.csv --period 7 | a,b,score x,y,1 y,z,0 :: rating periods need times; name the column of time
rate bad.csv --score home_goals | a,b,score,home_goals p,q,1,3 q,p,0,1 :: of both sides are the margin, as --margin
rate bad.csv | home,away,result x,y,W y,x,odd x,y,D x,y,P :: column 'result' is 'odd'
"""
MOMENTS = "a,b,score,date x,y,1,2024-01-01T12:00 y,x,0,2024-01-05T18:30 x,y,0,2024-01-06T00:30"
GOALS = "home,away,home_goals,away_goals,x,y A,B,1,0,0.5,0.2 B,A,2,2,1.5,1.2"
LONE = "contest,player,rank r,Ada,1 r,Bo,2 s,Ada,1 t,Bo,1 t,Ada,1"
NOTED = rf"""
rate bad.csv | a,b,score x,y,1 y,z,0 :: no column of dates, so uncertainty does not grow with time
rate bad.csv --skip-incomplete | a,b,score,time Ada,Bo,1,1 ada,Bo,0,2 Ada,Bo,1, :: skipped 1 of 3 rows, which lack a
rate bad.csv | a,b,score,date x,y,1,2024-01-01 x,y,1,2024-01-01 :: line 3 repeats line 2; they count again
rate bad.csv | team_a,team_b,score A;B,C;D,1 A;C,B;D,0 :: rated as one, apart from the members; if they are teams, say
rate bad.csv --na-values odd | home,away,result x,y,W y,x,odd x,y,D x,y,P :: 2 matches of 2 teams
rate bad.csv --as-of 2024-01-05T18:29 | {MOMENTS} :: glicko: 1 match
rate bad.csv --as-of 2024-01-05 | {MOMENTS} :: glicko: 2 matches
rate bad.csv --as-of 2034-01-05 | {MOMENTS} :: --as-of is after the last result, of 2024-01-0
rate bad.csv --system elo_mmr -q | {LONE} :: contest 's' has one participant; that changes nothing in systems of ranks
rate bad.csv --system elo_mmr | {LONE} :: 5 before +-
rate bad.csv --system skills --column expected_goals=x,y | {GOALS} :: skills does not use expected goals
rate bad.csv --system elo --column expected_goals=x,y | {GOALS} :: elo does not use .*expected goals; take skills
compare bad.csv --system elo | winner,loser x,y y,z x,z :: elo +0\.6
compare bad.csv --system elo --period 7 | winner,loser x,y y,z x,z :: no column of time, so no rating periods; name one
rate --category c 'ba*.csv' --dry-run | a,b,score,c x,y,1,u y,z,0,v :: 2 matches
report bad.csv --plain --compare elo | a,b,score,home_goals,away_goals x,y,1,3,1 y,x,1,2,two :: are not shown: .*'two'
"""
TEAMS = "a,Ada,red,1,1\na,Bo,red,1,1\na,Cy,blue,2,1\nb,Cy,red,2,2\nb,Ada,red,2,2\nb,Di,blue,1,2\nb,Bo,blue,1,2\n"
GAME = '[White "Ada"]\n[Black "Bo"]\n[Result "1-0"]\n\n1. e4 1-0\n'
FILES = {
    "lost.pgn": GAME + GAME.replace('"Ada"', '"Ada'),
    "elo.toml": 'system = "elo"\n',
    "week.toml": 'system = "glicko"\nperiod = 7\n',
    "year.toml": 'system = "glicko2"\nperiod = 365\n',
    "days.csv": "a,b,score,date\nx,y,1,2024-01-01\ny,x,0,2024-01-05\nx,y,0,2024-01-06\n",
    "goals.csv": "a,b,home_goals,away_goals\n" + "x,y,1,0\ny,x,2,2\nx,y,0,3\n" * 9,
    "june.csv": "a,b\nplayer 01,player 02\n",
    "teams.csv": f"contest,player,side,rank,t\n{TEAMS}",
    "races.csv": "race,driver,place,date\n" + "r0,driver 0,1,2024-01-01\nr0,driver 1,2,2024-01-01\n",
    "other.csv": "venue,a,b\n" + "".join(f"Dunedin,{i % 7},{i % 5}\n" for i in range(600)),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder of files, and of saved runs."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    league = simulate.league(40, 600, seed=4, draws=0.2).matches
    write_games(folder / "games.csv")
    games = jr.read(folder / "games.csv")
    jr.save(folder / "run", jr.rate(jr.glicko(c=20), games))
    jr.save(folder / "elo", jr.rate(jr.elo(), games))
    kinds = np.array(["Protoss", "Terran", "Zerg", "Random"])[np.random.default_rng(0).integers(0, 4, (600, 2))]
    a, b = games.players[league.player].T
    maps = {"a": a, "b": b, "score": league.score, "time": league.time, "a1": kinds[:, 0], "b1": kinds[:, 1]}
    jr.data.write(maps | {"map": np.array(["Lost Temple", "Python"])[np.arange(600) % 2]}, folder / "maps.csv")
    data, truth = make_league(n=300)
    home, away = data.players[np.asarray(data.matches.player)].T
    league = {"date": np.datetime64("2020-01-01") + np.arange(300), "home": home, "away": away}
    odds = dict.fromkeys(("PSCH", "PSH"), 1 / truth[:, 2]) | dict.fromkeys(("PSCA", "PSA"), 1 / truth[:, 0])
    league |= {"score": data.matches.score, "mine": truth[:, 2], "derby": np.arange(300) % 2} | odds
    jr.data.write(league, folder / "league.csv")
    return folder


def parse_cases(text):
    return [tuple(line.split(" :: ")) for line in text.strip("\n").splitlines()]


def check_refused(jaxrate, line, message):
    before = {path.name for path in Path().iterdir()}
    code, text, errors = jaxrate(*shlex.split(line))
    assert code == 2 and text == "" and (message in errors or re.search(message, errors)), errors
    assert errors.startswith("jaxrate: ") and "Traceback" not in errors and "unexpected" not in errors
    assert {path.name for path in Path().iterdir()} == before


@pytest.mark.parametrize(("line", "message"), parse_cases(REFUSED))
def test_wrong_lines_are_refused(jaxrate, place, monkeypatch, line, message):
    monkeypatch.chdir(place)
    quick = " --fit-seconds 0" * (line.startswith("benchmark") and "--fit-seconds" not in line)
    check_refused(jaxrate, line + quick, message)


@pytest.mark.parametrize(("line", "message"), parse_cases(REFUSED_BEFORE_WORK))
def test_some_are_refused_before_the_work(jaxrate, place, monkeypatch, line, message):
    def work(*_, **__):
        raise AssertionError("work began")

    for name in ("rate", "fit", "compare", "predict"):
        monkeypatch.setattr(jr, name, work)
    monkeypatch.setattr(memory_checks, "machine_memory_bytes", lambda: 8e9)
    monkeypatch.setattr(simulate, "disk_usage", lambda path: shutil.disk_usage(place))
    monkeypatch.chdir(place)
    if "/proc" in line and not Path("/proc/self").exists():
        pytest.skip("there is no folder in which nobody can write")
    check_refused(jaxrate, line, message)


@pytest.mark.parametrize(("line", "message"), parse_cases(BAD_ROWS))
def test_bad_rows_are_named(jaxrate, tmp_path, monkeypatch, line, message):
    monkeypatch.chdir(tmp_path)
    command, rows = line.split(" | ")
    Path("bad.csv").write_text("\n".join(rows.split(" ")) + "\n")
    check_refused(jaxrate, command, message)


@pytest.mark.parametrize(("line", "message"), parse_cases(NOTED))
def test_rows_are_noted(jaxrate, tmp_path, monkeypatch, line, message):
    monkeypatch.chdir(tmp_path)
    command, rows = line.split(" | ")
    Path("bad.csv").write_text("\n".join(rows.split(" ")) + "\n")
    code, text, errors = jaxrate(*shlex.split(command))
    assert code == 0 and (message in text + errors or re.search(message, text + errors)), errors


def test_compare_includes_the_systems_of_fitted_files(jaxrate, tmp_path):
    (tmp_path / "fit.toml").write_text('system = "fide"\n')
    (tmp_path / "won.csv").write_text("winner,loser\nx,y\ny,z\nx,z\n")
    code, text, errors = jaxrate("compare", tmp_path / "won.csv", "--param", tmp_path / "fit.toml")
    assert code == 0 and re.search("^fide +0", text, re.MULTILINE) and re.search("^elo +0", text, re.MULTILINE), errors


def test_hindsight_of_matches_without_times_has_no_times(jaxrate, tmp_path):
    (tmp_path / "won.csv").write_text("winner,loser\nx,y\ny,z\nx,z\n")
    options = "--system", "skills", "--out", tmp_path / "run", "--show", "hindsight"
    code, _, errors = jaxrate("rate", tmp_path / "won.csv", *options)
    assert code == 0 and "time" not in pq.read_schema(tmp_path / "run" / "hindsight.parquet").names, errors
