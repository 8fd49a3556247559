"""Standings of a season: points, tie-breaks, and what was won and scored so far."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.text_format import join_names
from jaxrate.forecasts.upcoming_event_reading import PlayedResults

TIE_BREAKS = "wins", "head_to_head"
GOAL_TIE_BREAKS = "goal_difference", "goals", "head_to_head"


def check_tie_breaks(ties: tuple[str, ...], has_goals: bool) -> None:
    """ValueError for a tie-break that there is not, or that needs goals."""
    tie_breaks = (*TIE_BREAKS, *(x for x in GOAL_TIE_BREAKS if x not in TIE_BREAKS))
    for name in ties:
        if name not in tie_breaks:
            raise ValueError(f"no tie-break {name!r}; there are {join_names(tie_breaks)}")
        if name not in TIE_BREAKS and not has_goals:
            raise ValueError(f"the tie-break {name!r} needs goals: rate with jr.skills('goals', margin=...)")


class PlayedTables(NamedTuple):
    """What N players have won, drawn and scored so far."""

    won: Any  # [N, N] against each other player
    drawn: Any  # [N, N]
    goals: Any  # [N, 2] scored and conceded; 0 where goals are not known


def tabulate_results(past: PlayedResults | None, index_of_name: Mapping[Any, int]) -> PlayedTables:
    """The tables of these matches; empty ones without any."""
    n = len(index_of_name)
    won, drawn, goals = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, 2))
    if past is not None:
        a, b = name_indices(index_of_name, past.names).T
        np.add.at(won, (a, b), past.score == 1.0)
        np.add.at(won, (b, a), past.score == 0.0)
        np.add.at(drawn, (a, b), past.score == 0.5)
        np.add.at(drawn, (b, a), past.score == 0.5)
        if past.goals is not None:
            np.add.at(goals, a, past.goals)
            np.add.at(goals, b, past.goals[:, ::-1])
    return PlayedTables(won, drawn, goals)


def name_indices(index_of_name: Mapping[Any, int], names: HostArray) -> HostArray:
    """[n, 2] the numbers of names [n, 2]."""
    return np.array([[index_of_name[x] for x in pair] for pair in names.tolist()], np.int32).reshape(-1, 2)


def rank_by_points(
    key: Array,
    won: Array,
    drawn: Array,
    points: tuple[float, ...],
    ties: tuple[str, ...],
    group: Array | None = None,
    goals: Array | None = None,
) -> tuple[Array, Array]:
    """The order [N], best first, and the points [N], from wins and draws [N, N] against each other player.

    With groups [N], players of the first group come first, and so on. Goals are those scored and conceded, [N, 2].
    """
    win, draw, loss = points
    points_by_pair = win * won + draw * drawn + loss * won.T
    total = points_by_pair.sum(axis=1)
    lots = jax.random.uniform(key, total.shape, total.dtype)
    keys = [total] if group is None else [-group.astype(total.dtype), total]
    for tie in ties:
        if tie == "wins":
            keys.append(won.sum(axis=1))
        elif tie == "head_to_head":
            is_tied = jnp.all(jnp.stack([x[:, None] == x[None, :] for x in keys]), axis=0)
            keys.append(jnp.where(is_tied, points_by_pair, 0.0).sum(axis=1))
        elif goals is not None:
            keys.append(goals[:, 0] - goals[:, 1] if tie == "goal_difference" else goals[:, 0])
    return jnp.lexsort([-lots, *(-x for x in reversed(keys))]), total
