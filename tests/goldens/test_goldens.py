"""What users see is as it was when it was frozen; `python -m tests.goldens` freezes it anew."""

import pytest

from tests.goldens.digests import find_difference
from tests.goldens.histories import CASES
from tests.goldens.questions import QUESTIONS
from tests.goldens.storage import answer_questions, read

for package in ("pyarrow", "click", "rich", "jinja2"):
    pytest.importorskip(package)
pytestmark = pytest.mark.filterwarnings("ignore")
SINGLE = 1e-5  # of the greatest number of a column, in float32


def list_differences(label, found, wanted, rtol_of):
    """A line for each column that differs: history and system, precision, question, column, both values."""
    differences = []
    for kind in sorted({*found, *wanted}):
        asked, frozen = found.get(kind, {}), wanted.get(kind, {})
        for name in sorted({*asked, *frozen}):
            columns, kept = asked.get(name, {}), frozen.get(name, {})
            for column in sorted({*columns, *kept}):
                told = find_difference(columns.get(column, {}), kept.get(column, {}), rtol_of(kind, name))
                if told:
                    differences.append(f"{label}, {kind}, {name}, {column}: {told}")
    return differences


def rtol_of_question(precision, name):
    return max(QUESTIONS[name].rtol, SINGLE if precision == "float32" else 0.0) if name in QUESTIONS else 0.0


LARGE = (  # by `pytest -m full` alone: others have the same kinds of events or the same rules
    "nfl blat_mmr", "nfl skills of wins", "nfl skills of margins", "nfl skills of points", "nfl glicko2 in periods",
    "contests trueskill", "contests weng_lin", "ranks topcoder", "teams trueskill", "teams elo_mmx",
)  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.full if case.label in LARGE else ()) for case in CASES],
    ids=lambda case: case.label.replace(" ", "_"),
)
def test_answers_are_as_they_were(case):
    differences = list_differences(case.label, answer_questions(case), read(case.label), rtol_of_question)
    assert not differences, "\n".join(differences)


def test_commands_and_pages_are_as_they_were(tmp_path):
    commands = pytest.importorskip("tests.goldens.commands")
    found, wanted = commands.answer_commands(tmp_path), read("commands")
    differences = list_differences("commands", found, wanted, lambda _, name: commands.RTOL.get(name, 1e-9))
    assert not differences, "\n".join(differences)
