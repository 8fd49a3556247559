"""Folders that are not saved runs, and saved systems of one's own."""

import json
import shutil

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.system import FactoryCall
from jaxrate.storage.atomic_folder import encode_run_json
from tests.test_saved import NEW, equal, league

pa = pytest.importorskip("pyarrow")


# Folders that are not saved runs


@pytest.fixture
def folder(tmp_path):
    jr.save(tmp_path / "run", jr.rate(jr.glicko(), jr.read(league())))
    return tmp_path / "run"


def test_categories_are_kept_and_age(tmp_path):
    table = {"a": ["x", "y"], "b": ["y", "z"], "score": [1, 0], "time": [0, 20], "kind": [7, 9]}
    system = jr.category_glicko(2, deviation_min=None, initial_deviation=100, initial_modifier_deviation=90)
    rated = jr.rate(system, jr.read(table, category="kind"), period=14.0)
    jr.save(tmp_path / "run", rated)
    loaded = jr.load(tmp_path / "run")
    assert loaded.categories.tolist() == [7, 9]
    now, later = (jr.history.rating_table(loaded, time) for time in (None, 48.0))
    variance = {
        name: later[name][np.argsort(later["id"])] ** 2 - now[name][np.argsort(now["id"])] ** 2
        for name in ("deviation", "deviation 7", "deviation 9")
    }
    for name, days in (("deviation", [34, 20, 20]), ("deviation 9", [34, 20, 20])):
        np.testing.assert_allclose(variance[name], 65.0**2 / 14.0 * np.array(days), rtol=1e-4)
    with pytest.raises(ValueError, match="the categories differ from the saved run's; read the matches with history"):
        jr.rate(system, jr.read(table | {"time": [60, 70], "kind": [9, 7]}, category="kind"), period=14.0, onto=loaded)
    odd = jr.read(table | {"kind": [b"p", b"q"]}, category="kind")
    with pytest.raises(ValueError, match="the names of categories must be all text, or all numbers, to be kept"):
        jr.rate(system, odd, period=14.0)


def edit(folder, **changes):
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_bytes(encode_run_json({k: v for k, v in (about | changes).items() if v != "gone"}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: shutil.rmtree(f), "no saved run there: run.json is missing"),
        (lambda f: (f / "state.npz").unlink(), "no saved run there: state.npz is missing"),
        (lambda f: (f / "run.json").write_text("{"), "run.json is damaged"),
        (lambda f: (f / "run.json").write_text("[]"), "run.json is damaged"),
        (lambda f: (f / "ratings.parquet").write_text("no"), "ratings.parquet is damaged"),
        (lambda f: (f / "predictions.parquet").unlink(), "no saved run there: predictions.parquet is missing"),
        (lambda f: (f / "state.npz").write_bytes(b"no"), "state.npz is damaged"),
        (lambda f: edit(f, system="gliko"), "for the system 'gliko', which this version does not have"),
        (lambda f: edit(f, system="glicko2"), "run.json: glicko2 has no parameter 'c'"),
        (lambda f: edit(f, system="elo", params={}), "state.npz .*not a state of elo"),
        (lambda f: edit(f, players=7), "state.npz is damaged .it is not of 7 players"),
        (lambda f: edit(f, period="gone"), "run.json is damaged .period is missing"),
    ],
)
def test_other_folders_are_refused(folder, spoil, message):
    spoil(folder)
    with pytest.raises(ValueError, match=message) as error:
        jr.load(folder)
    assert str(folder) in str(error.value)


# Systems of one's own


def own(scales=((1.0, 2.0), "wide"), bonus=None, **params):
    """A factory: Elo, named otherwise, with settings."""
    made = jr.elo(**params)
    return made._replace(name="own", make=FactoryCall(own, (("scales", scales), ("bonus", bonus))))


def test_a_system_of_ones_own_comes_back_by_its_factory(tmp_path):
    rated = jr.rate(own(k=20, scales=((3.0,), "narrow"), bonus=True), jr.read(league()))
    jr.save(tmp_path, rated)
    back = jr.load(tmp_path, make=own)
    equal(back, rated)
    assert back.system == rated.system and back.system.settings == {"scales": ((3.0,), "narrow"), "bonus": True}
    more = jr.read(NEW, history=back)
    assert len(jr.rate(back.system, more, onto=back).predictions) == 901
    for make, message in (
        (None, r"for the system 'own', which this version does not have; if it is your own, .* jr.load\(folder, make"),
        (jr.elo, "elo has no parameter 'scales'"),
        (lambda **given: jr.elo(), "the run is of own, but the factory makes elo"),
        (lambda k: own(k=k), "the factory does not accept the arguments that own was made with: .*scales"),
    ):
        with pytest.raises(ValueError, match=message):
            jr.load(tmp_path, make=make)


def test_other_rules_are_not_saved_under_the_name_of_a_system(tmp_path):
    """They would come back as the system's own."""
    data, elo = jr.read(league()), jr.elo()
    rated = jr.rate(elo._replace(rules=elo.rules._replace(advance=lambda constants, rows, time: rows)), data)
    with pytest.raises(ValueError, match="this elo is not the one of jaxrate; give a system of your own a name"):
        jr.save(tmp_path, rated)
    with pytest.raises(ValueError, match="was made with bonus of its own, which a saved run cannot hold"):
        jr.save(tmp_path, jr.rate(own(bonus=(1.0, print)), data))
    assert not list(tmp_path.iterdir())


def test_a_run_that_replaces_a_longer_one_is_told(tmp_path):
    """Whoever forgets `onto` loses the history."""
    long, short = (jr.rate(jr.elo(), {"a": ["x"] * n, "b": ["y"] * n, "score": [1] * n}) for n in (3, 2))
    jr.save(tmp_path, short)
    jr.save(tmp_path, long)
    with pytest.warns(UserWarning, match=r"^replaced a run of 3 matches in .*; jr.rate\(..., onto=jr.load\(") as notes:
        jr.save(tmp_path, short)
    assert notes[0].filename == __file__ and len(jr.load(tmp_path).predictions) == 2
    (tmp_path / "run.json").write_text("{}")  # of which nothing can be said
    jr.save(tmp_path, short)
