"""The command line through its entry point: what it prints, writes and refuses."""

import io
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import cli
from jaxrate.cli import dry_run, rate
from jaxrate.cli import terminal_tables as progress
from jaxrate.cli.option_names import name_options
from jaxrate.cli.rate import career_sides
from jaxrate.cli.terminal_tables import to_text_table
from jaxrate.data import simulate
from jaxrate.systems.system_construction_by_name import make_system
from tests.browser import inside

pa = pytest.importorskip("pyarrow")
BashComplete = pytest.importorskip("click.shell_completion").BashComplete


@pytest.mark.parametrize("system", ["elo", "glicko", "glicko2"])
def test_rate_prints_and_saves_what_it_computes(jaxrate, games, tmp_path, system):
    out = tmp_path / "new" / "folder"
    code, text, errors = jaxrate("rate", games, "--system", system, "--out", out, "--csv", "--column", "drop=early")
    assert code == 0 and errors == f"jaxrate: saved the run to {out}\n"
    data = jr.read(games, drop="early")
    result = jr.rate(getattr(jr, system)(), data)
    prediction = result.predictions["prediction"].to_numpy()
    assert f"{system}: 594 matches of 40 players" in text
    assert f"log loss {jr.metrics.log_loss(prediction, data.matches.score):.4f}" in text
    assert to_text_table(jr.leaderboard(result, top=10)).describe() in text
    written = {"ratings.parquet", "predictions.parquet", "ratings.csv", "predictions.csv", "run.json", "state.npz"}
    assert {p.name for p in out.iterdir()} == written
    board = jr.leaderboard(result, top=40)
    for read in (lambda name: pa.parquet.read_table(out / f"{name}.parquet"), lambda name: csv(out / f"{name}.csv")):
        ratings, predictions = read("ratings").to_pydict(), read("predictions").to_pydict()
        assert ratings["player"] == list(board.player) and ratings["games"] == list(board.games)
        np.testing.assert_allclose(ratings["rating"], board.rating, rtol=1e-6)
        assert ("deviation" in ratings) == (system != "elo") and ("volatility" in ratings) == (system == "glicko2")
        assert predictions["row"] == list(data.rows)
        np.testing.assert_allclose(predictions["prediction"], prediction, rtol=1e-6)


def csv(path):
    import pyarrow.csv

    return pyarrow.csv.read_csv(path)


def test_compare_says_what_is_doubtful(jaxrate, games):
    systems = "--system", "urnings", "--system", "elo"
    options = "compare", games, "--side", "home", *systems, "--last", 0.25
    code, text, errors = jaxrate(*options)
    data = jr.read(games, side="home")
    found = jr.compare(data, ["elo", "urnings"], last=0.25)
    form = "Each in its better form, by match or in periods; --period lists both"
    assert code == 0 and errors == "" and text.splitlines()[-1] == f"{form} (-v: more)"
    shown = re.findall(r"^(elo|urnings) ", text, re.MULTILINE)  # elo stood there twice, and nothing was found
    assert sorted(shown) == ["elo", "urnings"] and text.split("\n\n")[1].startswith(("Elo", "Urnings"))
    notes = "\n".join(["", f"{form}.", "Unlike in jaxrate rate, chances are not calibrated.", *found.notes, ""])
    assert jaxrate(*options, "-v")[1].endswith(notes)
    both = jaxrate(*options, "--period", 50)[1]
    assert re.findall(r"^elo  +(by match|periods of 50) ", both, re.MULTILINE) and "better form" not in both


def test_no_command_loads_numpy_or_jax_before_it_runs():
    modules = [f"jaxrate.cli.{name}" for name in cli.cli.commands]
    code = f"import importlib, sys\nfor name in {modules}: importlib.import_module(name)\n"
    code += "print(sorted({'jax', 'pyarrow', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_systems_are_completed():
    complete = BashComplete(cli.cli, {}, "jaxrate", "_JAXRATE_COMPLETE")
    found = {x.value for x in complete.get_completions(["rate", "--system"], "gli")}
    assert found == {"glicko", "glicko2", "glicko_boost"}


FRESH = """
import os, sys
from jaxrate.__main__ import main
options = "games.csv", "--system", "elo"
for command in (("rate", *options, "--dry-run"), ("rate", *options, "-q", "--out", "run")):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as stop:
        assert not stop.code
reader, writer = os.pipe()
os.close(reader)
os.dup2(writer, 1)
sys.argv[-1] = "run2"
main()
"""  # the last time nobody reads on


def test_a_fresh_process_plans_dates_and_rates_though_nobody_reads_on(tmp_path):
    (tmp_path / "games.csv").write_text(
        "winner,loser,date\nĐoković,Bo,2024-01-31\nCy,Bo,2024-02-02\n", encoding="utf-8"
    )
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, cwd=tmp_path, env=environment)
    assert done.stdout.startswith(b"2 matches of 3 players, 2024-01-31 to 2024-02-02\n"), done.stderr
    assert b"?okovi" in done.stdout and jr.load(tmp_path / "run").players[0] == "Đoković"
    assert done.returncode == 1 and done.stderr == b"" and (tmp_path / "run2" / "run.json").exists()


def test_memory_that_does_not_do_is_one_line(jaxrate, games, monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(jr, "rate", fail)
    code, _, errors = jaxrate("rate", games)
    assert code == 2 and errors.startswith("jaxrate: not enough memory; `jaxrate rate FILE --dry-run`")
    monkeypatch.setattr(jr, "rate", lambda *arguments, **options: {}["a bug"])
    code, _, errors = jaxrate("rate", games)
    assert code == 1 and errors == "jaxrate: unexpected KeyError: 'a bug'; -v shows where it comes from\n"
    assert "Traceback" in jaxrate("rate", games, "-v")[2]


@pytest.mark.parametrize(("patience", "quiet"), [(0.0, False), (10.0, False), (0.0, True)])
def test_a_terminal_sees_progress_if_it_takes_long(monkeypatch, patience, quiet):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    is_seen = patience == 0 and not quiet
    with progress.ProgressReport(quiet=quiet, verbose=False).stage("thinking", 10, is_even=True) as done:
        deadline = time.monotonic() + (10 if is_seen else 0.05)
        while "0:0" not in screen.getvalue() and time.monotonic() < deadline:
            done(3 + time.monotonic() % 1)
            time.sleep(0.05)
    assert ("thinking" in screen.getvalue()) == is_seen


def test_a_career_has_the_side():
    rated = jr.rate(jr.elo(), {"a": [*"xyzy"], "b": [*"yxyx"], "score": [1, 0, 1, 0]})
    assert career_sides(rated, "x") == {}
    sided = rated._replace(events=rated.events | {"side": np.array([1, 1, 1, 0])})
    for options, words in ({}, ["home", "away", ""]), ({"colours": True}, ["white", "black", ""]):
        assert career_sides(sided._replace(options=options), "x")["side"].tolist() == words


pytest.importorskip("jinja2")


def test_the_report_has_the_quality_that_rate_prints(jaxrate, games, tmp_path):
    out = tmp_path / "page.html"
    named = "--side", "home", "--system", "glicko", "--param", "c=20", "--param", "side_advantage=30"
    code, text, errors = jaxrate("report", games, *named, "--out", out, "--top", 3, "--compare", "elo", "-q")
    page = out.read_text(encoding="utf-8")
    assert (code, errors) == (0, "") and text.startswith(f"{out}: 40 players, 0.") and "MB" in text
    assert "<title>Games</title>" in page and "<li>side advantage: 30 points" in page
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    code, text, _ = jaxrate("rate", games, *named, "-q")
    told = {label: re.search(rf"{label} +([\d.]+%?)", text)[1] for label in shown}
    assert shown == told and len(shown) == 4


def test_results_have_the_points_of_the_file_even_if_nobody_learns_from_them(jaxrate, tmp_path):
    table = "date,home,away,home_goals,away_goals\n2024-01-01,Ada,Bo,3,1\n2024-01-08,Bo,Ada,2,2\n"
    (tmp_path / "games.csv").write_text(table, encoding="utf-8")
    out = tmp_path / "page.html"
    assert jaxrate("report", tmp_path / "games.csv", "--plain", "--compare", "elo", "--out", out, "-q")[0] == 0
    sections = inside(out.read_text(encoding="utf-8"), "data")["sections"]
    assert sections["0"]["points"] == ["3\u20131", "2\u20132"]


def test_ranks_that_are_text_are_one_line_for_each_text():
    with pytest.raises(ValueError) as told:
        rank = [str(i) if i < 6 else "DNF" for i in range(1, 16)] * 2
        jr.read({"contest": [1] * 15 + [2] * 15, "player": [*range(30)], "rank": rank})
    said = str(told.value)
    assert said.startswith("row 5 (counting from 0): column 'rank' is 'DNF'") and "\n" not in said
    assert name_options(said, rate.rate).count("--column unfinished=DNF") == 1


def test_systems_lists_them_all(jaxrate):
    code, text, _ = jaxrate("systems")
    assert code == 0
    listed, defaults = text.split("\n\n")
    assert [line.split()[0] for line in listed.splitlines()[1:]] == list(jr.extend.ALL_SYSTEMS)
    assert "glicko for matches, elo_mmr for contests" in " ".join(defaults.split())
    for name in jr.extend.ALL_SYSTEMS:
        code, text, _ = jaxrate("systems", name)
        assert code == 0
        listed = text.partition("Parameters:")[2].splitlines()[::-1]  # sentences follow
        lines = {line.split()[0]: line for line in listed if line.strip()}
        for field, about in make_system(name, {}).space._asdict().items():
            line = lines[field]
            assert about.meaning.replace("`", "") in line and about.unit_in_print in line and about.range.text in line
    assert jaxrate("systems", "elow")[0] == 2 and "luck=bradley_terry, size=1001" in jaxrate("systems", "blat_mmr")[1]
    told = json.loads(jaxrate("systems", "--json")[1])
    assert len({x["source"] for x in told.values()}) == len(told)  # elo_mmr and elo_mmx had one
    assert list(told) == list(jr.extend.ALL_SYSTEMS) and told["glicko"]["default_of"] == ["matches"]


def test_a_dry_run_describes_and_rates_nothing(jaxrate, games, tmp_path):
    code, text, errors = jaxrate("rate", games, "--dry-run", "--top", 3, "--out", tmp_path / "run")
    assert code == 0 and errors == "" and not (tmp_path / "run").exists()
    steps = jr.extend.schedule_by_level(jr.read(games).matches).num_steps
    head, about, device = text.splitlines()
    assert head == "600 matches of 40 players, 0 to 1000" and re.match(r"device: .*, [\d,]+ matches a second", device)
    assert re.match(rf"glicko: {steps} steps of {600 / steps:.3g} matches on average, 50\d.\d MB at the peak", about)
    text = jaxrate("rate", games, "--dry-run", "--period", 100, "--system", "elo")[1]
    assert "\nelo: 11 steps of 1 periods on average" in text


def test_a_dry_run_of_a_folder_holds_chunks_of_it(jaxrate, tmp_path, monkeypatch):
    table = pa.table({"a": [i % 30 for i in range(900)], "b": [i % 30 + 30 for i in range(900)], "score": [1.0] * 900})
    for i in range(2):
        jr.data.write(table, tmp_path / f"{i}.parquet")
    monkeypatch.setattr(dry_run, "ROWS_OF_CHUNKS", 600)
    monkeypatch.setattr(rate, "SAMPLE_ROWS", 300)
    told = json.loads(jaxrate("rate", tmp_path, "--dry-run", "--system", "elo", "--json")[1])
    assert told["matches"] == 1800 and 0 < told["memory"] - 5e8 - 200 * 600 < 10_000 and told["per_second"] > 0
    assert "1,800 matches of at least 60 players" in jaxrate("rate", tmp_path, "--dry-run", "--system", "elo")[1]


def test_a_dry_run_warns_when_memory_will_not_do(jaxrate, games, monkeypatch):
    monkeypatch.setattr(dry_run, "device_memory_bytes", lambda device: 1e8)
    code, text, _ = jaxrate("rate", games, "--dry-run")
    assert code == 0 and ", 0.1 GB, too little memory here: rate fewer players, or use a larger device" in text


def test_simulate_writes_a_league_and_its_truth(jaxrate, tmp_path):
    options = ("--players", 50, "--matches", 3000, "--draws", 0.3, "--side-advantage", 30, "--luck", 0.9, "--seed", 5)
    code, text, errors = jaxrate("simulate", tmp_path / "new" / "league.parquet", *options)
    assert code == 0 and text == "" and "wrote 3,000 matches of 50 players" in errors
    league = simulate.league(50, 3000, draws=0.3, side_advantage=30, luck=0.9, seed=5)
    data = jr.read(tmp_path / "new" / "league.parquet", side="side")
    np.testing.assert_array_equal(data.players[data.matches.player], league.matches.player)
    np.testing.assert_array_equal(data.matches.score, league.matches.score)
    truth = pa.parquet.read_table(tmp_path / "new" / "league.truth.parquet")
    np.testing.assert_allclose(truth["strength"], league.strength)
