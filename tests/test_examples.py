"""Every public function has an example, and it runs."""

import pytest

pytest.importorskip("pyarrow")

from jaxrate.docs.example_outputs import list_examples, run_example

pytestmark = pytest.mark.filterwarnings("ignore:replaced a run of")
TOLD_BESIDE = {"urns.replay_history"}  # by simulate_world, for a history whose matchmaker is known


def test_every_function_has_one():
    assert {name for name, examples in list_examples().items() if not examples} == TOLD_BESIDE


def test_the_first_of_several_calls_is_shown_if_it_is_short_and_reads_well():
    assert run_example("x = 2\nprint(x)\nx", {}) == ">>> print(x)\n2"
    assert run_example("x + 1  # one", {"x": 1}) == "2"
    assert run_example("x = 1", {}) == ""
    assert run_example("import numpy as np\nnp.array([1.23456])", {}) == "array([1.2346])"
    assert run_example("'x' * 200", {}) == ""
    assert run_example("object()", {}) == ""  # an address in memory
    assert run_example("print('1\\n' * 20)", {}).splitlines() == ["1"] * 14 + ["..."]
