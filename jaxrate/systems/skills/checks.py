"""Whether matches have what skills learn from."""

from functools import partial
from typing import Any

import numpy as np

from jaxrate.events import Context, Matches, Ragged, fail_where
from jaxrate.systems.skills.model import SIDES, Model


def check_events_fit(model: Model, events: Matches | Ragged) -> None:
    """ValueError if the matches lack what the model needs, or have other categories."""
    flat: Any = events.events if isinstance(events, Ragged) else events
    context: Context = flat.context
    wanted = dict.fromkeys(model.covariates, ("covariates", "--covariates"))
    wanted |= dict.fromkeys(model.margin if model.outcome == "margin" else (), ("margin", "--margin"))
    wanted |= dict.fromkeys(model.statistics, ("statistics", "--statistics"))
    further = (*model.kinds, *filter(None, [model.league_season]))
    wanted |= dict.fromkeys((x for x in further if x != SIDES), ("columns", "--columns"))
    for name, (argument, option) in wanted.items():
        columns: dict[str, Any] = context.columns or {}
        if name not in columns:
            where = f"{argument}=... of `read`, {option}, or columns=... of `matches`"
            raise ValueError(f"skills needs the column {name!r} of the matches: {where}")
        if name not in model.statistics:
            value = np.asarray(columns[name])
            fail_where(np.isnan(value), partial(_missing_number_message, name))
    check_kinds(model, events)
    if model.own_side and context.side is None:
        raise ValueError("skills with own_side needs the sides of the matches: side=... of `matches` or `read`, --side")
    if not model.modifiers:
        return
    category: Any = context.category
    if category is None:
        raise ValueError("skills with categories needs those of the matches: category=... of `matches` or `read`")
    have = f"skills has {model.categories} of them; make it with categories=..."
    if category.ndim == 3:
        if category.shape[-1] != model.categories:
            raise ValueError(f"the matches have shares of {category.shape[-1]} categories, but {have}")
        return
    highest = np.max(category, axis=-1, initial=0)
    fail_where(highest >= model.categories, lambda row: f"category {highest[row]}, counting from 0, but {have}")


def check_kinds(model: Model, events: Any) -> None:
    """ValueError where a player is on both sides, which tell the kinds, or where their column has another number."""
    flat: Any = events.events if isinstance(events, Ragged) else events
    for name in model.kinds if model.kinds != (SIDES,) else ():
        values = np.asarray(flat.context.columns[name])
        fail_where(~np.isin(values, (0, 1)), partial(_kind_message, name, values))
    if model.kinds != (SIDES,):
        return
    pair = np.asarray(flat.player)
    if isinstance(events, Ragged):
        begins: Any = events.pair_start
        pair = pair[flat.pair + np.repeat(events.player_start[:-1], np.diff(begins))[:, None]]
    both = np.isin(pair[:, 1], pair[:, 0])
    fail_where(both, lambda row: f"player {pair[row, 1]} is of both kinds: kinds='sides' takes all who are a for one")


def _missing_number_message(name: str, row: int) -> str:
    return f"column {name!r} has no number, which only statistics may lack"


def _kind_message(name: str, values: Any, row: int) -> str:
    return f"column {name!r} is {values[row]:g}; it must be 1 for players of the second kind, 0 for those of the first"
