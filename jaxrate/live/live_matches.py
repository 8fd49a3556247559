"""Matches that are rated live: checked, and packed for the program."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.events import Matches
from jaxrate.live.event_log import PackedEvent
from jaxrate.live.event_programs import pack_event
from jaxrate.live.single_events import MATCH_FORMS, build_match, check_number
from jaxrate.system import RatingSystem, accept_any_events

SIDES = {"a": 1.0, "b": -1.0}  # as in `read`


class MatchRequirements(NamedTuple):
    """What a system needs of a match."""

    system: RatingSystem
    margins: tuple[str, ...]  # columns that are known once it is over
    columns: tuple[str, ...]  # all that it must have
    simple: bool  # whether it has no columns, and no checks of its own


def needs_of(system: RatingSystem) -> MatchRequirements:
    """What a system needs, by its settings."""
    margins = tuple(system.settings.get("margin", ())) if system.settings.get("outcome") == "margin" else ()
    columns = *margins, *system.settings.get("covariates", ())
    return MatchRequirements(system, margins, columns, system.check is accept_any_events and not columns)


def pack_match(
    needs: MatchRequirements,
    a: Any,
    ids: list[int],
    score: float,
    time: float,
    context: Mapping[str, Any],
    categories: Any,
) -> PackedEvent:
    """A match of the players of these ids, the first called `a`; ValueError if something is wrong with it."""
    if ids[0] == ids[1]:
        raise ValueError(f"player {a!r} is on both sides")
    if not context and needs.simple:
        return PackedEvent(Matches, MATCH_FORMS[False, False], ids, [score, time])
    given = {name: x for name, x in context.items() if x is not None}
    side, weight = given.get("side"), given.get("weight")
    form, real = MATCH_FORMS[side is not None, weight is not None], [score, time]
    if side is not None:
        given["side"] = check_number("side", _parse_side(side), -1.0, 1.0)
        real.append(given["side"])
    if weight is not None:
        real.append(check_number("weight", weight, 0.0, np.inf, exclusive_low=True))
    plain = len(given) == len(real) - 2
    if plain and needs.simple:
        return PackedEvent(Matches, form, ids, real)
    event = build_match(ids, score, time, given, categories)
    lacking = [name for name in needs.columns if name not in (event.context.columns or {})]
    if lacking:
        told = ", ".join(f"{name!r}: ..." for name in lacking)
        raise ValueError(f"{needs.system.name} learns from {lacking[0]!r}, which is missing; give columns={{{told}}}")
    needs.system.check(event)
    return (
        PackedEvent(Matches, form, ids, real)
        if plain
        else PackedEvent(Matches, *pack_event(jax.tree.map(lambda x: x[0], event)))
    )


def _parse_side(side: Any) -> Any:
    if not isinstance(side, str):
        return side
    if side not in SIDES:
        raise ValueError(f"side must be a number, 'a' or 'b', got {side!r}")
    return SIDES[side]
