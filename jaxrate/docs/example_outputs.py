"""What the examples in docstrings print and return: they are run on a small league, and pages show it below them."""

import ast
import inspect
import pathlib
import re
import textwrap
import warnings
from collections.abc import Iterable
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from jaxrate.docs.reference import get_public, split_examples

NAMESPACES = "arena", "data", "evaluation", "fitting", "forecasts", "history", "live", "site", "urns"  # with examples
NOT_RUN = {  # examples that take long, or need races, files or goals
    *("forecasts.calibrate", "forecasts.forecast_by_smoothing", "history.modifiers", "forecasts.add_outcomes"),
    *("history.category_ratings", "history.attack_and_defence", "data.mix_categories"),
    *("forecasts.predict_points", "forecasts.predict_scorelines", "site.benchmark_page_html"),
}
MAX_LINES, MAX_WIDTH = 14, 150  # of an output that a page shows


def functions_with_examples() -> list[str]:
    """The public functions that have examples, as after `jaxrate.`: those at the top, and those of namespaces."""
    names = [*vars(jr)["__all__"], *(f"{space}.{name}" for space in NAMESPACES for name in getattr(jr, space).__all__)]
    return [name for name in names if inspect.isroutine(inspect.unwrap(get_public(name)))]


def docstring_examples(name: str) -> list[str]:
    """The indented code of the docstring of a name as after `jaxrate.`, before its arguments."""
    parts, _ = split_examples(inspect.getdoc(get_public(name)) or "")
    return [textwrap.dedent(code).strip("\n") for code in parts[1::2]]


def example_variables() -> dict[str, Any]:
    """What examples take for known: a league of some who play often, and what was made of it.

    Its files are written into the current folder.
    """
    random = np.random.default_rng(0)
    names = np.array(["Ada", "Bo", "Cy", "Di", "Eve", "Flo", "Chicago Bears", "Green Bay Packers"], object)
    player = np.array([random.permutation(8)[:2] for _ in range(240)])
    player[:2] = [[0, 1], [2, 0]]
    days, lead = np.datetime64("2024-01-01") + np.arange(240) * 2, 0.3 * (player[:, 1] - player[:, 0])
    won = random.random(240) < 1.0 / (1.0 + np.exp(-lead))
    score = np.where(random.random(240) < 0.2, 0.5, won * 1.0)
    table = {"a": names[player[:, 0]], "b": names[player[:, 1]], "score": score, "date": days}
    new = {name: x[:9] for name, x in table.items()} | {"date": days[-9:] + np.timedelta64(40, "D")}
    coming = {"home": new["a"], "away": new["b"], "date": new["date"]}
    to_come = {"a": new["a"], "b": new["b"], "date": new["date"]}
    football = table | {"stadium": table["a"], "points_a": 2 * score, "points_b": 2 * (1 - score)}
    files = {"games": table, "fights": table, "football": football, "july": coming, "to_come": to_come, "so_far": new}
    topics = np.where(player[:, 1] < 4, "sums", "roots")
    files["answers"] = table | {"b": [f"exercise {i}" for i in player[:, 1]], "topic": topics}
    for name, columns in files.items():
        jr.data.write(columns, f"{name}.csv")
    pathlib.Path("matches").mkdir(exist_ok=True)
    jr.data.write(table, "matches/2024.parquet")
    data, system = jr.read(table), jr.skills(observe=jr.parts.logistic())
    rated, result = jr.rate(jr.glicko(), data), jr.run(system, data)
    jr.save("season", rated)
    before, after = jr.urns.make_urns([20, 20], [0.3, 0.5]), jr.urns.make_urns([20, 20], [0.8, 0.5])
    rounds = jr.rounds([0, 0, 0, 1, 1, 1], [0, 1, 2, 2, 3, 0], [1, 2, 3, 1, 2, 2])
    variables: dict[str, Any] = {"jr": jr, "np": np, "jax": jax, "jnp": jnp, "Path": pathlib.Path, "pathlib": pathlib}
    variables |= {"table": table, "votes": data, "rounds": rounds, "before": before, "after": after, "scores": score}
    variables |= {"data": data, "matches": data.matches, "system": system, "rated": rated, "result": result}
    variables |= {"new": new, "state": result.state, "players": data.players, "past": data, "future": data}
    scorelines = jr.forecasts.Scorelines(names[:1], names[1:2], np.full((1, 9, 9), 1 / 81), None)
    return variables | {"scorelines": scorelines}


def run_example(code: str, variables: dict[str, Any]) -> tuple[str, Any]:
    """What an example prints, and the value of its first line that has one; further lines are other ways to call."""
    known, printed, values = dict(variables), StringIO(), []
    with redirect_stdout(printed), redirect_stderr(StringIO()):
        for statement in ast.parse(code).body:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), "<example>", "eval"), known)
                values += [] if value is None else [(value, ast.get_source_segment(code, statement))]
            else:
                exec(compile(ast.Module([statement], []), "<example>", "exec"), known)
    if len(values) > 1:
        printed.write(f">>> {values[0][1]}\n")
    return printed.getvalue(), values[0][0] if values else None


def example_outputs(names: Iterable[str]) -> dict[str, str]:
    """The outputs of the examples of these functions by code, where there are any that read well."""
    outputs = {}
    with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        variables = example_variables()
        for code in (code for name in sorted({*names} - NOT_RUN) for code in docstring_examples(name)):
            outputs[code] = _readable_output(*run_example(code, variables))
    return outputs


def _readable_output(printed: str, value: Any) -> str:
    """The text below an example; empty if it has lines that are too long, or addresses in memory."""
    with np.printoptions(precision=4, suppress=True, threshold=12, edgeitems=3):
        show = str if type(value).__module__.startswith("jaxrate.") else repr  # tables print well
        lines = (printed + ("" if value is None else show(value))).rstrip().splitlines()
    if any(len(line) > MAX_WIDTH for line in lines) or re.search(r"\bat 0x|<Axes|\bPosixPath", "".join(lines)):
        return ""
    return "\n".join([*lines[:MAX_LINES], *["..."] * (len(lines) > MAX_LINES)])
