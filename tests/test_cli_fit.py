"""`jaxrate fit`, and what `jaxrate rate --params` makes of its file."""

import json
import tomllib

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.fitting.losses import LOSSES

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("in_a_hurry")


def test_fit_prints_and_saves_what_fit_finds(jaxrate, games, tmp_path):
    path = tmp_path / "fitted.toml"
    options = "--system", "glicko", "--param", "period=20", "--side", "home"
    code, text, errors = jaxrate("fit", *options, "--free", "c", "side_advantage", games, "--save", path)
    assert code == 0 and errors == f"jaxrate: saved the hyperparameters to {path}\n"
    data, start = jr.read(games, side="home"), jr.glicko(period=20)
    found = jr.fit(start, data.matches, free=("c", "side_advantage"))
    assert f"log loss {found.loss_history[0]:.5f} at the start, {found.loss:.5f} now" in text
    for name in found.free:
        row = next(line for line in text.splitlines() if line.startswith(name)).split()
        wanted = f"{getattr(start.params, name):.5g}", f"{getattr(found.params, name):.5g}"
        assert tuple(row[1:3]) == wanted and row[3] == f"{found.standard_error[name]:.2g}"
    written = tomllib.loads(path.read_text())
    assert written["system"] == "glicko" and written["params"]["period"] == 20
    assert written["params"]["c"] == found.params.c and "period" not in written

    code, text, errors = jaxrate("rate", games, "--params", path, "--side", "home")
    loss = jr.metrics.log_loss(jr.run(found.system, data.matches).prediction, data.matches.score)
    assert code == 0 and errors == "" and f"log loss          {loss:.4f}" in text
    code, text, _ = jaxrate("rate", games, "--params", path, "--side", "home", "--param", "c=90")
    changed = jr.run(found.system._replace(params=found.params._replace(c=90.0)), data.matches).prediction
    assert f"log loss          {jr.metrics.log_loss(changed, data.matches.score):.4f}" in text


def test_fit_of_periods_in_json(jaxrate, games, tmp_path):
    path = tmp_path / "fitted.toml"
    arguments = "--free=c", "--period", 50, "--json", "--save", path, "--validation", 0.25, "-q"
    code, text, errors = jaxrate("fit", games, *arguments)
    assert code == 0 and errors == ""
    told = json.loads(text)
    data = jr.read(games)
    found = jr.fit(jr.glicko(period=50), jr.periods(data.matches, 50.0), free=("c",), validation=0.25)
    values = [None if x is None else pytest.approx(x, rel=1e-6) for x in found.params]
    assert [*told["params"].values()] == values and told["period"] == 50
    assert told["free"] == ["c"] and told["start"]["c"] == jr.glicko().params.c
    np.testing.assert_allclose(told["validation_history"], found.validation_history, rtol=1e-6)
    code, text, _ = jaxrate("rate", games, "--params", path)
    assert code == 0 and "in periods of 50" in text
    code, text, _ = jaxrate("rate", games, "--params", path, "--period", 30)
    assert code == 0 and "in periods of 30" in text


def test_settings_and_what_is_switched_off_survive_the_file(jaxrate, games, tmp_path):
    path = tmp_path / "fitted.toml"
    draws = "--system", "urnings", "--outlook", "--free", "draw_weight"
    code, text, _ = jaxrate("fit", games, *draws, "--save", path)
    written = tomllib.loads(path.read_text())
    assert code == 0 and "draw_weight" in text and written["settings"]["outcomes"] == 3
    assert written["params"]["draw_weight"] > 0 and written["params"]["size"] == 100
    code, text, _ = jaxrate("rate", games, "--params", path)
    assert code == 0 and text.startswith("urnings: 600 matches")
    off = "--param", "deviation_max=none", "--param", "deviation_min=none"
    assert jaxrate("fit", games, "--free", "c", *off, "--save", path)[0] == 0
    written = tomllib.loads(path.read_text())["params"]
    assert (written["deviation_max"], written["deviation_min"]) == ("none", "none")
    assert jaxrate("rate", games, "--params", path)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "FILE", "--free", "q"), "glicko has no parameter 'q'"),
        (("fit", "FILE", "--system", "urnings", "--free", "size"), "urnings: size is fixed"),
        (("fit", "FILE", "--system", "glicho"), "unknown system 'glicho'; did you mean 'glicko'?"),
        (("fit", "FILE", "--validation", "1.5"), "validation is a share of the events"),
        (("fit", "FILE", "--loss", "pairwise"), "the pairwise loss is of rounds; take log_loss"),
        (("fit", "FILE", "--loss", "accuracy"), "loss must be one of log_loss, brier, pairwise, got 'accuracy'"),
        (("fit", "FILE", "--outlook"), "glicko has no outlook: it predicts expected scores"),
        (("fit", "FILE", "--warm-up", "600"), "leave no matches to score"),
        (("fit", "FILE", "--save", "FOLDER"), "is a folder; name a file, as fitted.toml"),
        (("fit", "--free", "c"), "Missing argument 'FILE'"),
        (("rate", "FILE", "--params", "FILE"), "is no TOML file"),
        (("rate", "FILE", "--params", "EMPTY"), 'must say system = "..."'),
        (("rate", "FILE", "--params", "ELO", "--system", "glicko"), "is of elo, not glicko"),
        (("rate", "FILE", "--params", "MISSING"), "no such file"),
        (("rate", "FILE", "--params", "ELO", "--state", "RUN"), "--params is of a new run"),
    ],
)
def test_what_fit_refuses(jaxrate, games, tmp_path, arguments, message):
    for name, text in (("EMPTY", ""), ("ELO", 'system = "elo"\n')):
        (tmp_path / name).write_text(text)
    if "RUN" in arguments:
        jr.save(tmp_path / "RUN", jr.rate(jr.elo(), jr.read(games)))
    places = {"FILE": games, "FOLDER": tmp_path} | {x: tmp_path / x for x in ("EMPTY", "ELO", "RUN", "MISSING")}
    code, text, errors = jaxrate(*(places.get(x, x) for x in arguments))
    assert code == 2 and text == "" and message in errors and len(errors.splitlines()) == 1


def test_the_help_names_every_loss(jaxrate):
    assert all(name in jaxrate("fit", "--help")[1] for name in LOSSES)
