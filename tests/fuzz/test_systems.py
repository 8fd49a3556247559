"""A few cases of every system, in a run of the tests; many more by hand, and slopes, see `tests.fuzz.systems`."""

import pytest

from tests.fuzz.driver import drawn
from tests.fuzz.systems import fuzz, kinds

KINDS = sorted(kind for kind in kinds() if kind[1] != "levels")  # the rules are those of the stream


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, id="_".join([*kind[:2], *["outlook"] * kind[2]])) for kind in KINDS],
)
def test_hostile_cases(kind):
    double = KINDS.index(kind) % 2 == 0
    batch = 4 if kind[1] == "rounds" else 8
    assert fuzz(drawn(1, KINDS.index(kind)), kind, double, batch, deep=False) == batch
