"""Histories changed in ways after which the results must follow from those before."""

from itertools import pairwise
from typing import Any

import numpy as np

from jaxrate.events import Context, Matches, Ragged


def swap_sides(league: Matches) -> Matches:
    """The same matches, each told from the other side."""
    side, weight, category, columns = league.context
    context = Context(None if side is None else -side, weight, None if category is None else category[:, ::-1], columns)
    return league._replace(player=league.player[:, ::-1], score=1.0 - league.score, context=context)


def shuffle_participants(contests: Ragged) -> tuple[Ragged, Any]:
    """The same contests with the rows of each in another order, and that order."""
    random = np.random.default_rng(4)
    order = np.concatenate([a + random.permutation(b - a) for a, b in pairwise(contests.player_start)])
    columns = {name: getattr(contests.events, name)[order] for name in ("player", "rank", "team", "weight")}
    return contests._replace(events=contests.events._replace(**columns)), order


def rename_players(events: Any, new_ids: Any) -> Any:
    """The same events, with `name[i]` for player i."""
    if isinstance(events, Ragged):
        return events._replace(events=rename_players(events.events, new_ids))
    return events._replace(player=new_ids[events.player].astype(np.int32))


def reverse_results(events: Any, first_event: int, evidence: tuple[str, ...] = ()) -> Any:
    """The same events with the results of event number `since` and of all later ones the other way round.

    Args:
      events: matches or contests.
      since: the number of the first that ends differently.
      evidence: names of the columns of matches that tell the result, as margins do: their sign changes.
    """
    if isinstance(events, Matches):
        later = np.arange(len(events.score)) >= first_event
        score = np.where(later, 1.0 - events.score, events.score)
        columns: Any = events.context.columns
        told = {name: np.where(later, -columns[name], columns[name]) for name in evidence}
        context = events.context._replace(columns=columns | told if told else columns)
        return events._replace(score=score, context=context)
    rank, start = events.events.rank, events.player_start
    worse = [(x[:, None] < x[None, :]).sum(axis=1) for x in np.split(rank, start[1:-1])]
    later = np.arange(len(rank)) >= start[first_event]
    rank = np.where(later, np.concatenate(worse), rank).astype(np.int32)
    return events._replace(events=events.events._replace(rank=rank))
