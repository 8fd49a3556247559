"""Predictions as columns: the probabilities of a win, a draw and a loss, or of each score."""

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import Ragged, count_teams
from jaxrate.events.dataset import Dataset
from jaxrate.systems.outcome_prediction_forms import OutcomeProbabilities, expected_score_from_prediction

PROBABILITY_PREFIX = "probability_"  # and the score, of more than three


def match_prediction_columns(prediction: Any) -> dict[str, HostArray]:
    """The expected score [n] of player 0 as "prediction", and the probabilities of results, if predicted."""
    probabilities: Any = jax.tree.map(np.asarray, prediction)
    columns = {"prediction": expected_score_from_prediction(probabilities)}
    if isinstance(probabilities, OutcomeProbabilities):
        win, draw, quality = probabilities.win, probabilities.draw, probabilities.quality
        return columns | {"win": win[:, 0], "draw": draw[:, 0], "loss": win[:, 1], "quality": quality[:, 0]}
    if probabilities.ndim == 1:
        return columns
    last = probabilities.shape[1] - 1
    names_by_score = [f"{PROBABILITY_PREFIX}{k / last:.3g}" for k in range(last + 1)]
    names = {1: ["loss", "win"], 2: ["loss", "draw", "win"]}.get(last, names_by_score)
    return columns | dict(reversed([*zip(names, probabilities.T, strict=True)]))


def contest_prediction_columns(prediction: Any, rounds: Ragged) -> dict[str, HostArray]:
    """The share [sum P] of the others to be beaten as "prediction", and the probabilities to win or draw, if any."""
    if not isinstance(prediction, OutcomeProbabilities):
        return {"prediction": np.asarray(prediction)}
    others = np.repeat(count_teams(rounds) - 1, np.diff(rounds.player_start))
    win, draw, rank, quality = (np.asarray(x) for x in prediction)
    share = np.clip(1.0 - (rank - 1.0) / np.maximum(others, 1).astype(rank.dtype), 0.0, 1.0)
    share = np.where(others > 0, share, np.asarray(0.5, share.dtype))
    return {"prediction": share, "win": win, "draw": draw, "quality": quality}


def event_prediction_columns(prediction: Any, data: Dataset) -> dict[str, HostArray]:
    """The predictions of matches or of contests, as the two functions above have them."""
    if data.of_matches:
        return match_prediction_columns(prediction)
    return contest_prediction_columns(prediction, data.rounds)


def expected_outcomes(prediction: Any, data: Dataset) -> HostArray:
    """[n] expected scores of matches, or shares of the others to be beaten, from predictions in any form."""
    return event_prediction_columns(prediction, data)["prediction"]


def outcome_columns(names: Iterable[str]) -> list[str]:
    """The columns with the probabilities of outcomes, and the quality, in their order."""
    return [x for x in names if x in ("win", "draw", "loss", "quality") or x.startswith(PROBABILITY_PREFIX)]


def mirrored_column(name: str, names: Iterable[str]) -> str | None:
    """The column of a match that tells of player 1 what this one tells of player 0; None: none does."""
    scores = [x for x in names if x.startswith(PROBABILITY_PREFIX)]
    mirrors = {"win": "loss", "loss": "win"} | dict(zip(scores, reversed(scores), strict=True))
    return mirrors.get(name)
