"""Strict JAX everywhere, fixtures that run a test in both precisions or compile quickly, a small system of rounds.

What takes the time of tests is compilation: of thousands of small operations, and of the runner. All is compiled
quickly; the fixture `default_policy` compiles the runner as users do.
"""

import gc
import importlib
import os
import re
import shutil
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read by NumPy: threads of two workers would wait for each other

import jax
import numpy as np
import pytest
from jax._src.interpreters import mlir

ROOT = Path(__file__).parents[1]
QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 1,  # two workers keep two cores busy
}
if jax.__version_info__ < (0, 11):  # later XLA has newer emitters alone, and a flag that it does not know ends it
    QUICK["xla_cpu_use_fusion_emitters"] = False

# Read once, when the first device is asked for; processes that tests start read it too.
os.environ["XLA_FLAGS"] = " ".join(
    [os.environ.get("XLA_FLAGS", ""), *(f"--{name}={int(value)}" for name, value in QUICK.items())]
)
jax.devices()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; some tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["JAXRATE_COMPILE"] = "quick"  # a sixth of the time, and slow code
os.environ["JAXRATE_CACHE"] = "off"  # commands of tests write nothing into the user's cache
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_traceback_in_locations_limit", 0)  # nobody reads where the operations of programs come from
jax.config.update("jax_enable_compilation_cache", False)  # keys of programs are computed also without a folder

SHARED_CONTEXT = mlir.make_ir_context()


def get_context(make_context=mlir.make_ir_context):
    """A context of the compiler's for a program: the shared one, unless a program is lowered in the course of another.

    JAX makes one for each, which stays as long as the program. That would take a sixth of the time of all tests, and a
    megabyte for each of thousands of programs.
    """
    return SHARED_CONTEXT if mlir.ir.Context.current is None else make_context()


mlir.make_ir_context = get_context


def refused(message):
    """A ValueError that says this."""
    return pytest.raises(ValueError, match=re.escape(message))


def draw_pairs(random, players, count):
    """Two different players of each of so many matches, [count, 2]."""
    first = random.integers(0, players, count)
    return np.stack([first, (first + random.integers(1, players, count)) % players], axis=1)


def league_table(players, rows, names=(), **options):
    """Columns of a simulated league as `jr.read` takes them; those without one of these names are numbered."""
    from jaxrate.data import simulate

    matches = simulate.league(players, rows, **options).matches
    names = np.array([*names, *(f"player {i:02}" for i in range(players - len(names)))], object)
    a, b = names[matches.player].T
    return {"a": a, "b": b, "score": matches.score, "time": matches.time}


@pytest.fixture(params=[False, True], ids=["float32", "float64"])
def x64(request):
    with jax.enable_x64(request.param):
        yield request.param


def mark_full(values, *default):
    """The values of a parameter, or tuples of several, of which only the default ones are outside `pytest -m full`."""
    return [
        pytest.param(*x if isinstance(x, tuple) else (x,), marks=() if x in default else pytest.mark.full)
        for x in values
    ]


def in_precision(double):
    """Run a test with the fixture x64 in this precision; in the other one by `pytest -m full`."""
    names = {False: "float32", True: "float64"}
    return pytest.mark.parametrize("x64", mark_full([False, True], double), ids=names.get, indirect=True)


MOSTLY_DOUBLE, MOSTLY_SINGLE = in_precision(True), in_precision(False)


@pytest.fixture
def double():
    """float64; a test with the fixture x64 runs in both precisions."""
    with jax.enable_x64(True):
        yield


gc.set_threshold(1_000_000, 20, 20)  # what was traced lives long: looking through it again took a tenth of the time


def pytest_collection(session):
    """Import a share of the modules before the others, so that no two workers compile the same ones for the first time.

    Python keeps what one worker has compiled for the others; it was two thirds of the time of collecting.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and session.config.args == session.config.getini("testpaths"):
        number, count = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))[number::count]:
            with suppress(Exception, pytest.skip.Exception):  # which collecting will report
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish():
    gc.freeze()  # what is imported stays


def pytest_sessionfinish():
    gc.freeze()  # pytest looks through all that there is twice before it ends


quick = partial(jax.jit, compiler_options=QUICK)
compiled = []  # programs, since maps of memory were counted


def note_program(event, seconds, **_):
    if event.endswith("backend_compile_duration"):
        compiled.append(seconds)


jax.monitoring.register_event_duration_secs_listener(note_program)


@pytest.fixture
def default_policy(monkeypatch):
    """Replays are compiled with care, as those of users: what is equal to the last bit is so then."""
    monkeypatch.delenv("JAXRATE_COMPILE")


@pytest.fixture(autouse=True)
def few_maps():
    """Forget compiled functions before they take all the maps of memory that Linux allows a process, 65,530.

    A program takes eleven. Counting them takes 10 ms, and compiling again what is forgotten many seconds.
    """
    yield
    maps = Path("/proc/self/maps")
    if len(compiled) >= 100 and maps.exists():
        compiled.clear()
        if maps.read_bytes().count(b"\n") > 60_000:
            jax.clear_caches()


@pytest.fixture
def share(monkeypatch):
    """A factory of a small system of rounds, known by its name, with a tuple among its settings; it knows no teams."""
    import jaxrate as jr
    from tests.test_rounds import SYSTEM

    def make(factors=(0.5, 0.75), **params):
        settings = jr.extend.Settings(factors=factors)
        return SYSTEM._replace(params=SYSTEM.params._replace(**params), features=(), factory=make, settings=settings)

    monkeypatch.setitem(jr.extend.SYSTEMS, "share", make)
    return make


@pytest.fixture
def jaxrate(capsys, monkeypatch):
    """Run the command with arguments; returns exit code, output and errors."""
    cli = pytest.importorskip("jaxrate.cli")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["jaxrate", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def ax():
    """Axes that no state of pyplot knows; whatever is drawn must also come out in a small figure, without a warning."""
    matplotlib, pyplot = pytest.importorskip("matplotlib"), pytest.importorskip("matplotlib.pyplot")
    settings, open_figures = dict(matplotlib.rcParams), pyplot.get_fignums()
    ax = importlib.import_module("matplotlib.figure").Figure(figsize=(3.3, 2.5), layout="constrained").subplots()
    yield ax
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == settings and pyplot.get_fignums() == open_figures


@pytest.fixture
def league():
    from jaxrate.data import simulate

    return simulate.league(40, 600, seed=4, draws=0.2).matches


@pytest.fixture
def games(tmp_path):
    """A CSV file of the league with named players, a side and a column of flags."""
    write_games(tmp_path / "games.csv")
    return tmp_path / "games.csv"


def write_games(path):
    import jaxrate as jr

    more = {"home": np.ones(600), "early": np.arange(600) % 100 == 0}
    jr.data.write(league_table(40, 600, seed=4, draws=0.2) | more, path)


@pytest.fixture
def no_errors(monkeypatch):
    """Without errors, which take some more replays."""
    solution = importlib.import_module("jaxrate.fitting.hyperparameter_fit")
    monkeypatch.setattr(solution, "estimate_errors", lambda problem, *_: (np.eye(len(problem.active)), (), "products"))


@pytest.fixture(scope="session")
def chromium():
    webdriver = pytest.importorskip("selenium.webdriver")
    names = ("chromium", "chromium-browser", "google-chrome")
    program, driver = next(filter(None, map(shutil.which, names)), None), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no Chromium, or no chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = importlib.import_module("selenium.webdriver.chrome.service").Service(driver)
    with webdriver.Chrome(options=options, service=service) as chrome:
        yield chrome


@pytest.fixture
def browser(chromium):
    """Chromium that has forgotten other tests; no page may write into its log or ask the network for anything."""
    from tests.browser import check_that_nothing_was_loaded

    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    for kind in ("browser", "performance"):
        chromium.get_log(kind)
    yield chromium
    check_that_nothing_was_loaded(chromium)
