"""Every public function has an example, and it runs."""

import inspect
import pathlib
import re
import textwrap
from operator import attrgetter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:replaced a run of")
NAMESPACES = "arena", "data", "fitting", "forecasts", "league", "live", "site", "urns"
NAMES = [*jr.__all__, *(f"{space}.{name}" for space in NAMESPACES for name in getattr(jr, space).__all__)]
FUNCTIONS = [name for name in NAMES if inspect.isroutine(inspect.unwrap(attrgetter(name)(jr)))]
TOLD_BESIDE = {"urns.replay_history"}  # by simulate_world, for a history whose matchmaker is known
RUN_ELSEWHERE = {
    *("forecasts.calibrate", "forecasts.forecast_by_smoothing", "league.modifiers", "forecasts.add_outcomes"),
    *(
        "league.rate_files",
        "league.category_ratings",
        "league.attack_and_defence",
        "forecasts.predict_scorelines",
        "forecasts.predict_points",
    ),
}  # they take long, races, files or goals


def examples(name):
    """The indented code of a docstring, before its arguments."""
    told = (inspect.getdoc(attrgetter(name)(jr)) or "").partition("\nArgs:")[0]
    return [textwrap.dedent(x) for x in re.findall(r"(?:(?<=\n\n)|^)((?:    .*\n?)+(?:\n(?:    .*\n?)+)*)", told)]


@pytest.fixture
def known(tmp_path, monkeypatch):
    """What the examples take for known: a league of some who play often, its files, and what was made of it."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    names = np.array(["Ada", "Bo", "Cy", "Di", "Eve", "Flo", "Green Bay Packers", "Chicago Bears"], object)
    player = np.array([random.permutation(8)[:2] for _ in range(240)])
    player[:2] = [[0, 1], [2, 0]]
    days, score = np.datetime64("2024-01-01") + np.arange(240) * 2, random.choice([0.0, 0.5, 1.0], 240)
    table = {"a": names[player[:, 0]], "b": names[player[:, 1]], "score": score, "date": days}
    new = {name: x[:9] for name, x in table.items()} | {"date": days[-9:] + 40}
    coming = {"home": new["a"], "away": new["b"], "date": new["date"]}
    for name, columns in {
        "games": table,
        "july": coming,
        "to_come": {"a": new["a"], "b": new["b"], "date": new["date"]},
        "so_far": new,
    }.items():
        jr.data.write(columns, f"{name}.csv")
    data, system = jr.read(table), jr.skills("logistic")
    rated, result = jr.rate(jr.glicko(), data), jr.run(system, data)
    jr.save("season", rated)
    before, after = jr.urns.make_urns([20, 20], [0.3, 0.5]), jr.urns.make_urns([20, 20], [0.8, 0.5])
    rounds = jr.rounds([0, 0, 0, 1, 1, 1], [0, 1, 2, 2, 3, 0], [1, 2, 3, 1, 2, 2])
    more = {"jr": jr, "np": np, "jax": jax, "jnp": jnp, "Path": Path, "pathlib": pathlib, "table": table, "new": new}
    more |= {"data": data, "matches": data.matches, "system": system, "rated": rated, "result": result, "votes": data}
    more |= {"state": result.state, "players": data.players, "past": data, "future": data, "rounds": rounds}
    scorelines = jr.forecasts.Scorelines(names[:1], names[1:2], np.full((1, 9, 9), 1 / 81), None)
    return more | {"before": before, "after": after, "scores": score, "scorelines": scorelines}


def test_every_function_has_one():
    assert not [name for name in FUNCTIONS if not examples(name) and name not in TOLD_BESIDE]


def test_examples_run(known):
    for name in sorted({*FUNCTIONS} - RUN_ELSEWHERE):
        for code in examples(name):
            try:
                exec(compile(code, name, "exec"), dict(known))
            except Exception as error:
                raise AssertionError(f"the example of {name} fails: {code}") from error
