"""Properties of systems themselves, without a replay."""

import copy
import pickle
from typing import Any

import jax
import numpy as np

from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.events import Matches, Periods, Rounds, matches, periods, rounds
from jaxrate.replay.checked_replay import run
from jaxrate.testing.case_and_assertions import assert_claim


def parameters_are_described(system: RatingSystem) -> None:
    fields = getattr(system.space, "_fields", ())
    assert_claim(system.params._fields == fields, f"params has the fields {system.params._fields}, space has {fields}")
    for name, about in system.space._asdict().items():
        assert_claim(str(about.range) and about.unit and about.meaning, f"{name} lacks its range, unit or meaning")


def system_is_a_hashable_value(system: RatingSystem) -> None:
    """Pickled, copied or made again, it is equal and has the same hash."""
    copies = {"pickled": pickle.loads(pickle.dumps(system)), "copied": copy.deepcopy(system)}
    copies["made again"] = replace_params(system, system.params)
    for origin, other in copies.items():
        assert_claim(other == system and hash(other) == hash(system), f"{origin}, it differs: {other!r}")


def system_repr_is_one_line(system: RatingSystem) -> None:
    text = repr(system)
    assert_claim("\n" not in text and " at 0x" not in text, f"its repr shows lines or addresses: {text}")


def unsupported_events_are_refused(system: RatingSystem) -> None:
    league = matches([[0, 1]], [1.0])
    others: dict[type, Any] = {Matches: league, Periods: periods(league, 1.0), Rounds: rounds([0, 0], [0, 1], [1, 2])}
    kinds = " or ".join(kind.__name__ for kind in system.events)
    for kind in others.keys() - {*system.events}:
        message = "nothing"
        try:
            run(system, others[kind])
        except ValueError as error:
            message = str(error)
        expected = f"{system.name} rates {kinds}, not {kind.__name__}"
        assert_claim(
            message.startswith(expected), f"{kind.__name__} should be refused: {expected!r}; the error said {message!r}"
        )


def state_leaves_have_a_row_per_player(system: RatingSystem) -> None:
    """Every leaf of the state has a row for each player."""
    shapes = [np.shape(x) for x in jax.tree.leaves(system.init(system.params, 3))]
    assert_claim(shapes and all(shape[:1] == (3,) for shape in shapes), f"the state of 3 players has leaves {shapes}")
