"""The names of the package: each loaded when it is first used, and never hidden by a module."""

import importlib
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import jaxrate as jr

ROOT = Path(__file__).parents[1]


def test_all_names_are_there():
    assert {"run", "read", "glicko", "metrics", "leaderboard"} <= set(jr.__all__)
    assert all(getattr(jr, name) is not None for name in jr.__all__)
    assert set(jr.__all__) <= set(dir(jr))
    assert set(jr.extend.SYSTEMS) <= set(jr.__all__)
    with pytest.raises(AttributeError, match="No jaxrate attribute gliko; did you mean 'glicko'"):
        jr.gliko  # noqa: B018


NAMESPACES = ["arena", "data", "evaluation", "extend", "fitting", "forecasts", "history", "live", "metrics"]
NAMESPACES += ["plots", "site", "testing", "urns"]


@pytest.mark.parametrize("name", NAMESPACES)
def test_namespaces_show_public_names_only(name):
    namespace = importlib.import_module(f"jaxrate.{name}")
    assert dir(namespace) == sorted(namespace.__all__)
    assert all(hasattr(namespace, public_name) for public_name in namespace.__all__)


FRESH = [
    "import jaxrate, sys; assert 'jax' not in sys.modules and 'numpy' not in sys.modules",
    "import jaxrate.live.live_ratings, jaxrate as jr; assert callable(jr.run) and callable(jr.live.start_history)",
    "import jaxrate as jr; jr.predict; assert callable(jr.run) and jr.run.__name__ == 'run'",
    "from jaxrate.history.ratings_at_times import ratings; import jaxrate as jr; assert callable(jr.leaderboard)",
    "from jaxrate import *; import jax; assert callable(run) and callable(leaderboard) and metrics.log_loss\n"
    "import sys; assert plots.trajectory and not {'matplotlib', 'altair'} & {*sys.modules}",  # needed only to draw
]
WITHOUT_EXTRAS = """
import sys
from pathlib import Path
import jaxrate as jr, numpy as np
from jaxrate.core.optional_imports import NEEDS
from jaxrate.data.table_files import open_table_source
from jaxrate.docs.__main__ import write_docs
from jaxrate.history.out_of_core.chunk_reading import write_sorted_copy

extras = [*NEEDS, "click", "pandas", "polars", "rich"]
assert not {*extras} & {*sys.modules}
sys.modules |= dict.fromkeys(extras)
nfl = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(), nfl)
assert "Kansas City Chiefs" in str(jr.leaderboard(rated, top=3))
for call, message in {
    "jr.read(dict(a=['Ada'], b=['Bo'], score=[1]))": 'tables need pyarrow: pip install "jaxrate[data]"',
    "jr.data.write(dict(a=['Ada']), 'games.csv')": 'tables need pyarrow: pip install "jaxrate[data]"',
    "jr.data.to_frame(dict(a=['Ada']))": "a frame needs polars, pandas or pyarrow: pip install polars",
    "write_sorted_copy(None, None, 0, '')": 'putting rows in order needs duckdb: pip install "jaxrate[large]"',
    "jr.plots.calibration([0.5], [1])": 'plots need matplotlib: pip install "jaxrate[plot]"',
    "jr.plots.leaderboard(rated, backend='altair')": 'plots need altair: pip install "jaxrate[interactive]"',
    "jr.site.report_html(rated)": 'pages need jinja2: pip install "jaxrate[report]"',
    "jr.site.write_site(rated, 'no_site')": 'pages need jinja2: pip install "jaxrate[report]"',
    "jr.evaluation.benchmark_systems(nfl, stack=True)": 'boosted trees need scikit-learn: pip install "scikit-learn"',
    "write_docs(Path('no_docs'))": 'the documentation needs sphinx: pip install "jaxrate[docs]"',
}.items():
    try:
        eval(call)
    except ImportError as error:
        assert str(error).endswith(message), (call, error)
    else:
        raise AssertionError(call)
"""
FORGET = "import sys; [sys.modules.pop(x) for x in [*sys.modules] if x.partition('.')[0] == 'jaxrate']"


def test_names_where_nothing_was_imported():
    """One after the other: a fresh process would import JAX each time."""
    assert subprocess.run([sys.executable, "-c", f"\n{FORGET}\n".join([*FRESH, WITHOUT_EXTRAS])]).returncode == 0


MYPY = pytest.param(("mypy", "--strict", "--follow-imports=silent", "--config-file="), marks=pytest.mark.full)


@pytest.mark.parametrize("checker", [MYPY, ("pyright",)])  # .ci/run gives the script to mypy with the package
def test_type_checkers_know_what_calls_of_a_script_return(checker, tmp_path):
    pytest.importorskip(checker[0])
    command = [sys.executable, "-m", *checker]
    if subprocess.run([*command[:3], "--version"], capture_output=True).returncode:
        pytest.skip("pyright cannot fetch the program that it wraps")
    where = ["--cache-dir", str(tmp_path)] if checker[0] == "mypy" else ["--pythonpath", sys.executable]
    done = subprocess.run([*command, *where, "tests/user_script.py"], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stdout


def test_the_conda_recipe_asks_for_what_the_package_and_its_report_need():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(x for extra in ("data", "plot", "cli", "report") for x in extras[extra])]
    recipe = (ROOT / ".github" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    conda_names = {"lazy_loader": "lazy-loader", "matplotlib": "matplotlib-base"}
    listed = re.findall(r"^    - ([\w-]+) >=([\d.]+)$", recipe, re.MULTILINE)
    pairs = (x.split(">=") for x in needed if not x.startswith("jaxrate["))
    assert {*listed} == {(conda_names.get(name, name), version) for name, version in pairs} | {
        ("python", project["requires-python"].removeprefix(">="))
    }
    assert f'  version: "{project["version"]}"\n' in recipe


def test_the_container_runs_the_service_of_the_guide(tmp_path, monkeypatch):
    pytest.importorskip("flask")
    monkeypatch.setenv("JAXRATE_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["write_service.py", str(tmp_path / "service.py")])
    runpy.run_path(str(ROOT / ".github" / "container" / "write_service.py"))
    client = runpy.run_path(str(tmp_path / "service.py"))["app"].test_client()
    match = {"id": "1", "a": "Ada", "b": "Bo", "score": 1.0, "time": 0.0}
    assert client.post("/results", json=match).get_json() == {"expected": 0.5}
    assert client.get("/ratings/Ada").get_json()["mean"] > 1500
