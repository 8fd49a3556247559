"""What the examples in docstrings print and return: they are run on a small league, and pages show it below them."""

import ast
import inspect
import pathlib
import re
import textwrap
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import jax
import numpy as np

import jaxrate as jr
from jaxrate.docs.page_sources import get_public

SECTION_HEADER = re.compile(r"^(?=(?:Args|Fields|Raises|Returns|Warns|Yields):$)", re.MULTILINE)
CODE_BLOCK = re.compile(r"(?:(?<=\n\n)|^)((?:    .*\n?)+(?:\n(?:    .*\n?)+)*)")
NAMESPACES = "arena", "data", "evaluation", "fitting", "forecasts", "history", "live", "site", "urns"  # with examples
NOT_RUN = {  # examples that take long, or need races, files or goals
    *("forecasts.calibrate", "forecasts.forecast_by_smoothing", "history.modifiers", "forecasts.add_outcomes"),
    *("history.category_ratings", "history.attack_and_defence", "data.mix_categories"),
    *("forecasts.predict_points", "forecasts.predict_scorelines", "site.benchmark_page_html"),
}
MAX_LINES, MAX_WIDTH = 14, 180  # of an output that a page shows


def split_examples(docstring: str) -> tuple[list[str], str]:
    """The text and the indented blocks of code of a docstring, in turn, and its sections on arguments and errors."""
    text, *sections = SECTION_HEADER.split(docstring, maxsplit=1)
    return CODE_BLOCK.split(text), "".join(sections)


def list_examples() -> dict[str, list[str]]:
    """The examples of each public function that should have some: those at the top, and those of namespaces."""
    names = [*vars(jr)["__all__"], *(f"{space}.{name}" for space in NAMESPACES for name in getattr(jr, space).__all__)]
    functions = [name for name in names if inspect.isroutine(inspect.unwrap(get_public(name)))]
    blocks = {name: split_examples(inspect.getdoc(get_public(name)) or "")[0][1::2] for name in functions}
    return {name: [textwrap.dedent(code).strip("\n") for code in codes] for name, codes in blocks.items()}


def example_variables() -> dict[str, Any]:
    """What examples take for known: a league of some who play often, and files of it in the current folder."""
    names = np.array(["Ada", "Bo", "Cy", "Di", "Eve", "Flo", "Chicago Bears", "Green Bay Packers"], object)
    matches = jr.data.simulate.league(8, 240, days=480, draws=0.2).matches
    (a, b), scores = names[matches.player.T], matches.score
    date = np.datetime64("2024-01-01") + matches.time.astype(int)
    table = {"a": a, "b": b, "score": scores, "date": date}
    to_come = {"a": a[:9], "b": b[:9], "date": date[-9:] + np.timedelta64(40, "D")}
    new = to_come | {"score": scores[:9]}
    files = {"games": table, "fights": table, "to_come": to_come, "so_far": new}
    files["july"] = {"home": a[:9], "away": b[:9], "date": to_come["date"]}
    files["football"] = table | {"stadium": a, "points_a": 2 * scores, "points_b": 2 * (1 - scores)}
    files["answers"] = table | {"b": [f"exercise {x}" for x in b], "topic": np.where(a < "D", "sums", "roots")}
    pathlib.Path("matches").mkdir(exist_ok=True)
    jr.data.write(table, "matches/2024.parquet")
    for name, columns in files.items():
        jr.data.write(columns, f"{name}.csv")
    votes = past = future = data = jr.read(table)
    system, rated = jr.skills(observe=jr.parts.logistic()), jr.rate(jr.glicko(), data)
    result = jr.run(system, data)
    state = result.state
    jr.save("season", rated)
    before, after = jr.urns.make_urns([20, 20], [0.3, 0.5]), jr.urns.make_urns([20, 20], [0.8, 0.5])
    rounds = jr.rounds([0, 0, 0, 1, 1, 1], [0, 1, 2, 2, 3, 0], [1, 2, 3, 1, 2, 2])
    scorelines = jr.forecasts.Scorelines(names[:1], names[1:2], np.full((1, 9, 9), 1 / 81), None)
    return {"jr": jr, "np": np, "jax": jax, "jnp": jax.numpy, "pathlib": pathlib, "Path": pathlib.Path} | locals()


def run_example(code: str, variables: dict[str, Any]) -> str:
    """What an example prints, as in a console, of its first line that prints something; others are other ways to call.

    Nothing if it has lines that are too long, or addresses in memory.
    """
    known, printed = dict(variables), []
    for statement in ast.parse(code).body:
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()), patch("sys.displayhook", print_value):
            exec(compile(ast.Interactive([statement]), "<example>", "single"), known)
        if text := out.getvalue().rstrip():
            printed.append([f">>> {ast.get_source_segment(code, statement)}", *text.split("\n")])
    lines = printed[0][len(printed) == 1 :] if printed else []
    if any(len(line) > MAX_WIDTH for line in lines) or re.search(r"\bat 0x|<Axes|\bPosixPath|shape=", "".join(lines)):
        return ""
    return "\n".join([*lines[:MAX_LINES], *["..."] * (len(lines) > MAX_LINES)])


def print_value(value: Any) -> None:
    """Print the value of a line of an example, as a console does; results as `print` shows them."""
    if value is not None:
        with np.printoptions(precision=4, suppress=True, threshold=12, edgeitems=3):
            print(str(value) if type(value).__module__.startswith("jaxrate.") else repr(value))


def example_outputs() -> dict[str, str]:
    """The outputs of examples by code, empty where they do not read well."""
    with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings(action="ignore"):
        variables = example_variables()
        examples = {code for name, codes in list_examples().items() if name not in NOT_RUN for code in codes}
        return {code: run_example(code, variables) for code in sorted(examples)}
