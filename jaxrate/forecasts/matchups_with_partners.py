"""Predictions for every two players of a history of teams, each with equal partners."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import rounds
from jaxrate.forecasts.pairwise_probabilities import (
    LowRankPairProbabilities,
    cross_approximation,
    fill_result_columns,
)
from jaxrate.history.event_columns import contest_prediction_columns
from jaxrate.history.history import History
from jaxrate.replay.event_prediction import predict
from jaxrate.systems.skills.settings_and_event_checks import contest_prior_columns


class Partners(NamedTuple):
    """Whom each of two players has in their team: so many, all as strong as one player of the history."""

    number: int  # at least 1
    model: int  # the id of that player


def typical_team_size(rated: History) -> int:
    """How many members most teams of a history have; the smaller number if two are as frequent, and 1 without teams."""
    table = rated.events
    if rated.contests is None or "team" not in table:
        return 1
    team = table["team"].astype(np.int64)
    known = team > 0
    if not known.any():
        return 1
    _, members = np.unique(np.stack([table["event"], team])[:, known], axis=1, return_counts=True)
    return int(np.argmax(np.bincount(members)))


def predict_pairs_with_partners(
    rated: History, players: HostArray, partners: Partners, category: int | None
) -> LowRankPairProbabilities:
    """As `predict_pairs`, for teams of each of two players [N] and equal partners, at the end of the history.

    The state holds the partners besides everybody.
    """
    count, size = len(rated.players), 1 + partners.number

    def add_partners(leaf: Any) -> HostArray:
        rows = np.asarray(leaf)
        return np.concatenate([rows, np.repeat(rows[partners.model][None], 2 * partners.number, axis=0)])

    state = jax.tree.map(add_partners, rated.state)
    others = count + np.arange(2 * partners.number).reshape(2, -1)
    player, settings = np.asarray(players), rated.system.settings
    rank = np.repeat([0, 1], size)

    def probability_above_half(a: HostArray, b: HostArray) -> HostArray:
        n = len(a)
        sides = [np.column_stack([player[x], np.tile(y, (n, 1))]) for x, y in zip((a, b), others, strict=True)]
        zeros = {name: np.zeros(2 * size * n) for name in contest_prior_columns(settings)}
        upcoming = rounds(
            np.repeat(np.arange(n), 2 * size),
            np.concatenate(sides, axis=1).ravel(),
            np.tile(rank, n),
            team=np.tile(rank, n),
            time=np.full(2 * size * n, rated.last or 0.0),
            category=None if category is None else np.full(2 * size * n, category),
            columns=zeros or None,
        )
        prediction = predict(rated.system, state, fill_result_columns(rated.system, upcoming))
        share: Any = contest_prediction_columns(prediction, upcoming)["prediction"]
        return np.asarray(share, np.float64)[:: 2 * size] - 0.5

    while (factors := cross_approximation(probability_above_half, len(player))) is None:
        player = player[: (len(player) + 1) // 2]
    return LowRankPairProbabilities(*factors)
