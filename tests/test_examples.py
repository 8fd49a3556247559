"""Every public function has an example, and it runs."""

import pytest

pytest.importorskip("pyarrow")

from jaxrate.docs.example_outputs import NOT_RUN, example_variables, list_examples, run_example

pytestmark = pytest.mark.filterwarnings("ignore:replaced a run of")
TOLD_BESIDE = {"urns.replay_history"}  # by simulate_world, for a history whose matchmaker is known


def test_every_function_has_one():
    assert {name for name, examples in list_examples().items() if not examples} == TOLD_BESIDE


@pytest.mark.full  # building the documentation runs them too
def test_examples_run_and_have_outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    variables, outputs = example_variables(), {}
    for name, code in [(name, code) for name, x in list_examples().items() if name not in NOT_RUN for code in x]:
        try:
            outputs[name] = run_example(code, variables)
        except Exception as error:
            raise AssertionError(f"the example of {name} fails: {code}") from error
    assert "Green Bay Packers" in outputs["leaderboard"] and "History: 249 matches" in outputs["rate"]
    assert sum(map(bool, outputs.values())) > 45


def test_the_first_of_several_calls_is_shown_if_it_is_short_and_reads_well():
    assert run_example("x = 2\nprint(x)\nx", {}) == ">>> print(x)\n2"
    assert run_example("x + 1  # one", {"x": 1}) == "2"
    assert run_example("x = 1", {}) == ""
    assert run_example("import numpy as np\nnp.array([1.23456])", {}) == "array([1.2346])"
    assert run_example("'x' * 200", {}) == ""
    assert run_example("object()", {}) == ""  # an address in memory
    assert run_example("print('1\\n' * 20)", {}).splitlines() == ["1"] * 14 + ["..."]
