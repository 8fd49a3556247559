"""Every public function has an example, and it runs."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from jaxrate.docs import example_outputs
from jaxrate.docs.example_outputs import NOT_RUN, docstring_examples, functions_with_examples, run_example

pytestmark = pytest.mark.filterwarnings("ignore:replaced a run of")
TOLD_BESIDE = {"urns.replay_history"}  # by simulate_world, for a history whose matchmaker is known


def test_every_function_has_one():
    assert not [name for name in functions_with_examples() if not docstring_examples(name) and name not in TOLD_BESIDE]


@pytest.mark.full  # building the documentation runs them too
def test_examples_run_and_have_outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    variables, outputs = example_outputs.example_variables(), {}
    for name in sorted({*functions_with_examples()} - NOT_RUN):
        for code in docstring_examples(name):
            try:
                outputs[name] = example_outputs._readable_output(*run_example(code, variables))
            except Exception as error:
                raise AssertionError(f"the example of {name} fails: {code}") from error
    assert "Green Bay Packers" in outputs["leaderboard"] and outputs["rate"].startswith("History: 249 matches")
    assert sum(map(bool, outputs.values())) > 45


def test_the_first_of_several_calls_is_shown():
    assert run_example("x = 2\nprint(x)\nx + 1", {}) == ("2\n", 3)
    assert run_example("x + 1  # one\nx + 2", {"x": 1}) == (">>> x + 1\n", 2)
    assert run_example("x = 1", {}) == ("", None)


def test_outputs_that_pages_show_are_short_and_read_well():
    assert example_outputs._readable_output("two\n", np.array([1.23456])) == "two\narray([1.2346])"
    assert example_outputs._readable_output("x" * 200, None) == ""
    assert example_outputs._readable_output("", object()) == ""  # an address in memory
    assert example_outputs._readable_output("1\n" * 20, None).splitlines() == ["1"] * 14 + ["..."]
