"""Matches of goals as two rows each, one of the goals of either team, at the same time."""

from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import Matches
from jaxrate.replay.padded_sizes import MIN_EVENT_SIZE, padded_event_size
from jaxrate.smoothing.participations import Participations
from jaxrate.systems.skills.settings_and_state import ModelSettings


def split_matches_by_scorer(model: ModelSettings, matches: Matches) -> Matches:
    """[2 n] two rows a match: the goals of its first player, and, seen from the other side, those of its second."""
    context = matches.context
    columns: Any = {name: np.asarray(x) for name, x in (context.columns or {}).items()}
    other = {name: -columns[name] for name in model.covariates}
    for first, second in filter(None, (model.margin, model.expected_goals)):
        other |= {first: columns[second], second: columns[first]}
    category = context.category
    return Matches(
        _interleave(matches.player, np.asarray(matches.player)[:, ::-1]),
        _interleave(matches.score, 1.0 - np.asarray(matches.score)),
        _interleave(matches.time, matches.time),
        context._replace(
            side=None if context.side is None else _interleave(context.side, -np.asarray(context.side)),
            weight=None if context.weight is None else _interleave(context.weight, context.weight),
            category=None if category is None else _interleave(category, np.asarray(category)[:, ::-1]),
            columns={name: _interleave(x, other.get(name, x)) for name, x in columns.items()},
        ),
    )


def _interleave(first: Any, second: Any) -> HostArray:
    """[2 n, ...] of [n, ...]."""
    pair = np.stack([np.asarray(first), np.asarray(second)], axis=1)
    return pair.reshape(-1, *pair.shape[2:])


def list_scorer_participations(model: ModelSettings, matches: Matches) -> Participations:
    """Those of the first rows of matches, and then of the second rows; both rows of a match count as one game."""
    n, context = len(matches.score), matches.context
    size, number = padded_event_size(max(2 * n, MIN_EVENT_SIZE)), np.arange(n)
    weight = np.ones(n) if context.weight is None else np.asarray(context.weight, np.float64)
    player = np.asarray(matches.player)
    season = None
    if model.league_season is not None:
        season = np.tile(np.asarray((context.columns or {})[model.league_season]), 4)
    return Participations(
        np.concatenate([*player.T, *player.T[::-1]]),
        np.tile(number, 4),
        np.tile(np.asarray(matches.time, np.float64), 4),
        np.concatenate([weight, weight, np.zeros(2 * n)]),
        np.ones(4 * n, bool),
        np.concatenate([2 * number, size + 2 * number, 2 * number + 1, size + 2 * number + 1]),
        (2, size),
        season,
    )
