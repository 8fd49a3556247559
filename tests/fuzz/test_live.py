"""A few live histories with undone and corrected results, in a run of the tests; many more by hand."""

from tests.fuzz.driver import drawn
from tests.fuzz.live import STEPS, fuzz


def test_hostile_changes():
    assert sum(fuzz(drawn(1, case)) for case in range(4)) == 4 * STEPS
