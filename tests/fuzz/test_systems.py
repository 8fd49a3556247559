"""A few cases of every system and live histories, in a run of the tests; many more by hand, see `tests.fuzz`."""

import pytest

from tests.fuzz import live
from tests.fuzz.driver import drawn
from tests.fuzz.systems import fuzz, kinds

KINDS = sorted(kind for kind in kinds() if kind[1] != "levels")  # the rules are those of the stream

# Hostile rounds have a twin in `test_elo_mmr.py`, and of those of others a match is a round of two; an outlook
# wraps every system alike. Systems whose extremes are in a file of their own are fuzzed by hand alone.
BOTH = "elo_mmr", "elo_mmx", "codeforces", "topcoder", "weng_lin", "trueskill"
SLOW = {(name, form) for name in BOTH for form in ("rounds", "stream")}
SLOW |= {(name, "stream") for name in ("skills", "glicko2", "blat_mmr")}
SLOW |= {(name, "periods") for name in ("skills", "elo", "glicko", "category_glicko")}


def cases():
    for kind in KINDS:
        name, form, outlook = kind
        slow = (name, form) in SLOW or (outlook != (name == "urnings"))
        label = f"{name}_{form}{'_outlook' * outlook}"
        yield pytest.param(kind, id=label, marks=pytest.mark.full if slow else ())


@pytest.mark.parametrize("kind", [*cases()])
def test_hostile_cases(kind):
    double = KINDS.index(kind) % 2 == 0
    batch = 4 if kind[1] == "rounds" else 8
    assert fuzz(drawn(1, KINDS.index(kind)), kind, double, batch, deep=False) == batch


def test_hostile_changes_of_live_histories():
    assert sum(live.fuzz(drawn(1, case)) for case in range(4)) == 4 * live.STEPS
