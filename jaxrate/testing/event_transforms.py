"""Transforms of histories under which results change in a known way."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from jaxrate.events import Context, Matches, Ragged


def swap_sides(league: Matches, opposite: Mapping[str, str] | None = None) -> Matches:
    """The same matches, each from the other side; `opposite` as in `reverse_results`."""
    side, weight, category, columns = league.context
    if opposite and columns:
        columns = {name: columns[opposite.get(name, name)] for name in columns}
    context = Context(None if side is None else -side, weight, None if category is None else category[:, ::-1], columns)
    return league._replace(player=league.player[:, ::-1], score=1.0 - league.score, context=context)


def shuffle_participants(contests: Ragged, renumber: bool = False) -> tuple[Ragged, Any]:
    """The same contests with the rows of each in another order, and that order.

    Args:
      contests: contests of teams.
      renumber: give teams new numbers too, as they have in tables whose rows are in another order.
    """
    random = np.random.default_rng(4)
    order = np.concatenate([a + random.permutation(b - a) for a, b in pairwise(contests.player_start)])
    rounds: Any = contests.events
    fields = {name: getattr(rounds, name)[order] for name in ("player", "rank", "team", "weight")}
    if renumber:
        for a, b in pairwise(contests.player_start):
            _, team = np.unique(fields["team"][a:b], return_inverse=True)
            fields["team"][a:b] = random.permutation(b - a)[team]
    fields["category"] = None if rounds.category is None else rounds.category[order]
    fields["columns"] = rounds.columns and {name: x[order] for name, x in rounds.columns.items()}
    return contests._replace(events=rounds._replace(**fields)), order


def rename_players(events: Any, new_ids: Any) -> Any:
    """The same events, with the id `new_ids[i]` for player i."""
    return events.with_flat(events.flat._replace(player=new_ids[events.flat.player].astype(np.int32)))


def reverse_results(
    events: Any, first_event: int, evidence: tuple[str, ...] = (), opposite: Mapping[str, str] | None = None
) -> Any:
    """The same events with reversed results in event `first_device_event` and all later ones.

    Args:
      events: matches or contests.
      first_event: index of the first event with a reversed result.
      evidence: names of columns that depend on the result, as margins do: their signs change.
      opposite: of columns of one side, as of goals, that of the other side: these are exchanged.
    """
    opposite = opposite or {}

    if isinstance(events, Matches):
        is_reversed = np.arange(len(events.score)) >= first_event
        score = np.where(is_reversed, 1.0 - events.score, events.score)
        columns: Any = events.context.columns
        reversed_columns = {
            name: np.where(is_reversed, columns[opposite[name]] if name in opposite else -columns[name], columns[name])
            for name in evidence
        }
        context = events.context._replace(columns=columns | reversed_columns if reversed_columns else columns)
        return events._replace(score=score, context=context)
    rank, start = events.events.rank, events.player_start
    worse = [(x[:, None] < x[None, :]).sum(axis=1) for x in np.split(rank, start[1:-1])]
    is_reversed = np.arange(len(rank)) >= start[first_event]
    rank = np.where(is_reversed, np.concatenate(worse), rank).astype(np.int32)
    columns = events.events.columns
    reversed_columns = {name: np.where(is_reversed, -columns[name], columns[name]) for name in evidence}
    columns = columns | reversed_columns if reversed_columns else columns
    return events._replace(events=events.events._replace(rank=rank, columns=columns))
