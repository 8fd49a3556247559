"""`jaxrate fit`, and what `jaxrate rate --param` makes of its file."""

import importlib
import json
import re
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli.file_rating import drop_fitted_seasons_from_changes
from jaxrate.cli.options import parse_params
from jaxrate.fitting.fit_results import format_held_out_losses
from jaxrate.systems.system_construction_by_name import make_system

pytest.importorskip("pyarrow")


def predicted(system, data):
    return jr.rate(system, data).predictions["prediction"].to_numpy()


def test_fit_prints_and_saves_what_fit_finds(jaxrate, games, tmp_path):
    path = tmp_path / "fitted.toml"
    options = "--system", "glicko", "--param", "period=20", "--side", "home"
    code, text, errors = jaxrate("fit", *options, "--free", "c", "side_advantage", games, "--save", path)
    assert code == 0 and errors == f"jaxrate: saved the hyperparameters to {path}\n"
    data, start = jr.read(games, side="home"), jr.glicko(period=20, side_advantage=50)
    found = jr.fit(start, data.matches, free=("c", "side_advantage"))
    call = re.search("in Python: jr.(glicko.*)", text)[1]
    assert found.summary() in text and f"c={found.params.c:.6g}, " in call and "period=20" in call
    written = tomllib.loads(path.read_text())
    assert written["system"] == "glicko" and written["params"]["period"] == 20
    assert written["params"]["c"] == found.params.c and "period" not in written

    code, text, errors = jaxrate("rate", games, "--param", path, "--side", "home")
    loss = jr.metrics.log_loss(predicted(found.system, data), data.matches.score)
    assert code == 0 and errors.startswith("jaxrate: glicko also learns from the side (")
    assert f"log loss {loss:.4f}" in text


def test_fit_scores_the_rest_and_others_read_what_was_fitted(jaxrate, games, tmp_path, no_errors):
    path = tmp_path / "fitted.toml"
    arguments = "fit", games, "--system", "elo", "--side", "home", "--data-share", 0.75, "--save", path
    code, text, _ = jaxrate(*arguments)
    data = jr.read(games, side="home")
    found = jr.fit(jr.elo(side_advantage=50), data, objective=jr.fitting.ahead(data_share=0.75))
    assert code == 0 and f"not fitted: {format_held_out_losses(found.held_out)}" in text
    seen = f"{path} was fitted to the first 75% of games.csv, of which some are scored here"
    compared = "compare", games, "--side", "home", "--param", path, "--system", "elo", "--system", "glicko"
    code, text, errors = jaxrate(*compared, "--last", 0.25, "--json")
    rows = {row["system"]: row for row in json.loads(text)["results"] if row["period"] is None}
    assert code == 0 and "fitted" not in errors and rows["elo"]["params"]["k"] == pytest.approx(found.params.k)
    assert rows["elo"]["log loss"] == pytest.approx(found.held_out.fitted, rel=1e-5)
    assert rows["glicko"]["params"]["c"] == jr.glicko().params.c
    code, text, errors = jaxrate(*compared, "--last", 0.3, "--param", "elo.k=7", "--json")
    assert seen in errors and json.loads(text)["results"][-1]["params"]["k"] == 7


def test_fit_says_what_is_better_switched_off(jaxrate, tmp_path):
    """Margins that nothing compresses: the fit raises the compression without end, and not at all is as good."""
    random, path = np.random.default_rng(0), tmp_path / "margins.csv"
    strength, first = random.normal(0, 8, 12), random.integers(0, 12, 300)
    second = (first + random.integers(1, 12, 300)) % 12
    margin = np.rint(strength[first] - strength[second] + random.normal(0, 10, 300))
    rows = zip(first, second, np.abs(margin), 0.5 + 0.5 * np.sign(margin), strict=True)
    path.write_text("\n".join(["a,b,margin,score", *(",".join(f"{x:g}" for x in row) for row in rows)]))
    options = "--system", "skills", "--margin", "margin", "--loss", "margin"
    param = "--param", "compression=30", "--param", "margin_scale=25"
    code, text, _ = jaxrate("fit", path, *options, *param, "--free", "compression")
    losses = r"\(loss ([.\d]+) without it, ([.\d]+) with the value at the start\)"
    said = re.search(f"compression is better switched off: --param compression=none {losses}", text)
    assert code == 0 and float(said[1]) < float(said[2])


def test_fit_says_what_is_open_which_is_no_failure(jaxrate, tmp_path):
    """Pairs who win in turns, three of five at home: it is best to learn nothing."""
    lines = [f"{2 * (i % 12)},{2 * (i % 12) + 1},{[1, 0, 1, 0, 1][i // 12 % 5]},1" for i in range(600)]
    path, saved = tmp_path / "turns.csv", tmp_path / "fitted.toml"
    path.write_text("\n".join(["a,b,score,home", *lines]))
    arguments = "fit", path, "--system", "elo", "--side", "home", "--save", saved
    code, text, _ = jaxrate(*arguments)
    assert code == 0 and "left open by these events: k" in text and "--free side_advantage" in text
    assert "elo converged, but for what is left open, after" in text
    assert tomllib.loads(saved.read_text())["left_open"] == ["k"]
    code, text, _ = jaxrate(*arguments, "--json")
    told = json.loads(text)
    assert code == 0 and told["open"] == ["k"] and told["standard_error"]["k"] is None
    assert told["standard_error"]["side_advantage"] > 0 and not told["converged"]


def test_settings_and_what_is_switched_off_survive_the_file(jaxrate, games, tmp_path, no_errors):
    path = tmp_path / "fitted.toml"
    off = "--param", "deviation_max=none", "--param", "deviation_min=none"
    seasons = "--param", "seasons=100,300", "--param", "season_keep=0.9"
    assert jaxrate("fit", games, "--free", "c", *off, *seasons, "--save", path)[0] == 0
    written = tomllib.loads(path.read_text())
    assert (written["params"]["deviation_max"], written["params"]["deviation_min"]) == ("none", "none")
    assert written["settings"] == {"seasons": [100.0, 300.0]}
    assert jaxrate("rate", games, "--param", path)[0] == 0


def test_margins_that_are_recognised_serve_the_system_of_the_file(jaxrate, tmp_path):
    (tmp_path / "games.csv").write_text("Date,Home,Away,HG,AG\n2024-01-02,x,y,3,1\n2024-01-09,y,x,0,2\n")
    (tmp_path / "m.toml").write_text(
        'system = "skills"\n[params]\nmargin_scale = 20.0\n[settings]\noutcome = "margin"\nmargin = ["HG", "AG"]\n'
    )
    code, text, errors = jaxrate("rate", tmp_path / "games.csv", "--param", tmp_path / "m.toml")
    assert code == 0 and text.startswith("skills: 2 matches of 2 teams"), errors


def test_values_of_parameters():
    values, files = parse_params(("a=3", "b=0.5", "c=none", "d=False", "e=0.5,2", "f=x", "g=0.5,"))
    assert files == []
    assert values == {"a": 3, "b": 0.5, "c": None, "d": False, "e": (0.5, 2), "f": "x", "g": (0.5,)}
    assert isinstance(values["a"], int)
    assert make_system("elo_mmr", {"newcomer": 0.5}).settings["newcomer"] == (0.5,)


def test_options_of_several_words_end_before_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "games.csv").touch()
    command = importlib.import_module("jaxrate.cli.fit").fit
    for line in (
        "--free growth rest games.csv --margin pa pb",  # of which FILE was pb
        "--margin=pa pb games.csv --free growth --free rest",
        "--free=growth rest --margin pa --margin pb games.csv",
        "--margin pa pb --free growth rest nowhere/*",
    ):
        params = command.make_context("fit", line.split()).params
        file = "games.csv" if "games.csv" in line else "nowhere/*"
        assert (params["file"], params["free"], params["margin"]) == (file, ("growth", "rest"), ["pa", "pb"])
    assert command.make_context("fit", ["--margin", "H*", "A*", "games.csv"]).params["margin"] == ["H*", "A*"]


def test_seasons_that_are_named_hold_where_the_file_and_the_data_have_others():
    data, fitted = SimpleNamespace(seasons={"2022": 0.0}), SimpleNamespace(values={"seasons": [5.0]})
    named = {"seasons": "2023-06-01"}
    assert drop_fitted_seasons_from_changes(data, fitted, named) == named
    assert drop_fitted_seasons_from_changes(data, fitted, {"seasons": [5.0]}) == {}
