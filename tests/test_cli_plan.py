"""Commands that list systems, tell what a run takes, and simulate."""

import json
import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli import dry_run, rate
from jaxrate.data import simulate
from jaxrate.systems.system_construction_by_name import make_system

pa = pytest.importorskip("pyarrow")


def test_systems_lists_them_all(jaxrate):
    code, text, _ = jaxrate("systems")
    assert code == 0
    listed, defaults = text.split("\n\n")
    assert [line.split()[0] for line in listed.splitlines()[1:]] == list(jr.extend.ALL_SYSTEMS)
    defaults = " ".join(defaults.split())
    assert "glicko for matches, elo_mmr for contests" in defaults and "elo, glicko, glicko2" in defaults
    for name in jr.extend.ALL_SYSTEMS:
        code, text, _ = jaxrate("systems", name)
        assert code == 0
        listed = text.partition("Parameters:")[2].splitlines()[::-1]  # sentences follow
        lines = {line.split()[0]: line for line in listed if line.strip()}
        for field, about in make_system(name, {}).space._asdict().items():
            line = lines[field]
            assert about.meaning.replace("`", "") in line and about.unit in line and about.range.text in line
    text = jaxrate("systems", "glicko2")[1]
    assert "Glickman 2012" in text and re.search(r"tau +0.5 ", text)
    assert "luck=bradley_terry, size=1001" in jaxrate("systems", "blat_mmr")[1]
    assert jaxrate("systems", "elow")[0] == 2
    text = jaxrate("systems", "elo")[1]
    assert "`" not in text and ".py" not in text and "\nFurther arguments:\nseasons: " in text
    told = json.loads(jaxrate("systems", "--json")[1])
    assert len({x["source"] for x in told.values()}) == len(told)  # elo_mmr and elo_mmx had one
    assert list(told) == list(jr.extend.ALL_SYSTEMS) and told["glicko"]["default_of"] == ["matches"]
    assert told["glicko2"] == json.loads(jaxrate("systems", "glicko2", "--json")[1])
    tau = next(x for x in told["glicko2"]["parameters"] if x["name"] == "tau")
    assert tau["default"] == 0.5 and told["blat_mmr"]["settings"]["size"] == 1001


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
    """It read all of it, and told the memory of a run that has it all."""
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
