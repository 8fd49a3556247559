"""A few cases of every system, in a run of the tests; many more by hand, see `tests.fuzz.systems`."""

import pytest

from tests.fuzz.draws import FIELD
from tests.fuzz.driver import drawn
from tests.fuzz.systems import fuzz, kinds

KINDS = sorted(kind for kind in kinds() if kind[1] != "levels")  # the rules are those of the stream
OUTSIDE = pytest.mark.xfail(run=False, reason="shares of rounds are not yet kept within [0, 1]")


def marks(kind):
    return [OUTSIDE] if kind[1] == "rounds" and kind[0] in (*FIELD, "trueskill") else []


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=marks(kind), id="_".join([*kind[:2], *["outlook"] * kind[2]])) for kind in KINDS],
)
def test_hostile_cases(kind, double):
    batch = 4 if kind[1] == "rounds" else 8
    assert fuzz(drawn(1, KINDS.index(kind)), kind, double, batch, deep=kind[1] == "stream") == batch
