"""Single matches: checked, and packed for the live program."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.system import EventCheck, RatingSystem, accept_any_events
from jaxrate.events import Matches
from jaxrate.live.compiled_event_programs import pack_event
from jaxrate.live.event_record_layout import PackedEvent
from jaxrate.live.events_from_arguments import MATCH_FORMS, build_match, check_number
from jaxrate.systems.skills.settings_and_event_checks import contest_result_columns, match_result_columns

SIDES = {"a": 1.0, "b": -1.0}  # as in `read`


class RequiredMatchColumns(NamedTuple):
    """The columns that a system needs of a match."""

    system: RatingSystem
    results: tuple[str, ...]  # columns that are known after the match only: margins, statistics and quits
    columns: tuple[str, ...]  # all columns that it must have
    is_simple: bool  # whether it needs no columns, and has no checks of its own


def required_match_columns(system: RatingSystem) -> RequiredMatchColumns:
    """The columns that a system needs, by its settings."""
    settings = system.settings
    results = contest_result_columns(settings)
    columns = *match_result_columns(settings), *settings.get("covariates", ())
    check = system.check.check if isinstance(system.check, EventCheck) else system.check
    return RequiredMatchColumns(system, results, columns, check is accept_any_events and not columns)


def check_and_pack_match(
    requirements: RequiredMatchColumns,
    first_name: Any,
    ids: list[int],
    score: float,
    time: float,
    context: Mapping[str, Any],
    categories: Any,
) -> PackedEvent:
    """A match of the players with these ids, packed; ValueError if it is invalid."""
    if ids[0] == ids[1]:
        raise ValueError(f"player {first_name!r} is on both sides")
    if not context and requirements.is_simple:
        return PackedEvent(Matches, MATCH_FORMS[False, False], ids, [score, time])
    known_context = {name: x for name, x in context.items() if x is not None}
    side, weight = known_context.get("side"), known_context.get("weight")
    structure, floats = MATCH_FORMS[side is not None, weight is not None], [score, time]
    if side is not None:
        known_context["side"] = check_number("side", _side_label_to_number(side), -1.0, 1.0)
        floats.append(known_context["side"])
    if weight is not None:
        floats.append(check_number("weight", weight, 0.0, np.inf, exclusive_low=True))
    has_standard_fields = len(known_context) == len(floats) - 2
    if has_standard_fields and requirements.is_simple:
        return PackedEvent(Matches, structure, ids, floats)
    event = build_match(ids, score, time, known_context, categories)
    missing = [name for name in requirements.columns if name not in (event.context.columns or {})]
    if missing:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        raise ValueError(
            f"{requirements.system.name} learns from {missing[0]!r}, which is missing; give columns={{{example}}}"
        )
    requirements.system.check(event)
    return (
        PackedEvent(Matches, structure, ids, floats)
        if has_standard_fields
        else PackedEvent(Matches, *pack_event(jax.tree.map(lambda x: x[0], event)))
    )


def _side_label_to_number(side: Any) -> Any:
    if not isinstance(side, str):
        return side
    if side not in SIDES:
        raise ValueError(f"side must be a number, 'a' or 'b', got {side!r}")
    return SIDES[side]
