"""Urnings against exact enumeration by others, the slow twin, and the theorems of the paper on small systems."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.reference import urnings_twin as twin

FOLDER = Path(__file__).parent / "reference"
GOLDEN = json.loads((FOLDER / "urnings.json").read_text())
CASES, TRACES = GOLDEN["cases"], GOLDEN["traces"]
OURS = [not c["replacement"] and (c["family"] == "U2" or c["acceptance"] == "Z") for c in CASES]


def stored(array, shapes):
    """The pieces of a stored array."""
    with np.load(FOLDER / "urnings.npz") as file:
        flat = file[array]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [x.reshape(shape) for x, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]


SIZES = [case["num_states"] for case in CASES]
TRANSITION = stored("transition", [(s, s) for s in SIZES])
TARGET = stored("target", [(s,) for s in SIZES])
STATES = stored("states", [(s, len(case["n"])) for s, case in zip(SIZES, CASES, strict=True)])


def options(case):
    kind = {"global": "similar"}.get(case["matchmaking"], case["matchmaking"])
    corrected = case["matchmaking_ratio_in_acceptance"] is not False
    return case["family"], case["w"], case["n"], case["pi"], case["rplus"], kind, case["lam"], corrected


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_twin_gives_the_stored_matrices_and_laws(number):
    case = CASES[number]
    assert [tuple(r) for r in STATES[number]] == twin.states(case["n"], case["rplus"])
    np.testing.assert_allclose(twin.target(case["n"], case["pi"], case["rplus"]), TARGET[number], atol=1e-14)
    if not case["replacement"]:
        matrix = twin.transition(*options(case), accept=case["acceptance"] == "Z")
        np.testing.assert_allclose(matrix, TRANSITION[number], atol=1e-13)
    off = np.abs(twin.stationary(TRANSITION[number]) - TARGET[number]).max()
    assert off < 1e-12 if case["expect_stationary_equals_target"] else off > 1e-5
