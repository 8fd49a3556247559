"""How well events were predicted, by the measures that suit them: of two sides as matches are, of many as standings."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import Matches, Ragged
from jaxrate.events.dataset import Dataset, count_first_share
from jaxrate.events.event_types import count_games, count_teams
from jaxrate.league.rated_history import Rated
from jaxrate.metrics.prediction_metrics import (
    Calibration,
    calibration,
    contests_as_matches,
    log_loss,
    match_metrics,
    mirror_winner_first,
    ranking_metrics,
)
from jaxrate.types import HostArray


class TwoSidedEvents(NamedTuple):
    """Events of two sides, to be scored as matches."""

    row: Any  # of the prediction that is of the first side: [n], or a slice
    score: HostArray  # [n] of the first side
    weight: HostArray | None  # [n]


def as_two_sided(data: Dataset) -> TwoSidedEvents | None:
    """Matches, and contests of two sides each; None of other contests."""
    if isinstance(data.events, Matches):
        return TwoSidedEvents(slice(None), data.matches.score, data.matches.context.weight)
    row_and_score = contests_as_matches(data.rounds)
    return None if row_and_score is None else TwoSidedEvents(*row_and_score, None)


def share_beaten(rounds: Ragged) -> HostArray:
    """[sum P] the share of the other sides that each participant's left behind, a tie half; NaN where there is none.

    Predictions of rounds are expectations of it.
    """
    flat: Any = rounds.events
    event = np.repeat(np.arange(len(rounds.player_start) - 1), np.diff(rounds.player_start))
    sides, first, side = np.unique(np.stack([event, flat.team]), axis=1, return_index=True, return_inverse=True)
    rank, count, number = np.asarray(flat.rank)[first], count_teams(rounds), sides[0]
    place = np.stack([number, rank])
    _, head, tie, tied = np.unique(place, axis=1, return_index=True, return_inverse=True, return_counts=True)
    begin = np.append(0, np.cumsum(tied))[:-1] - np.append(0, np.cumsum(count))[number[head]]
    ahead, same = begin[tie.ravel()], tied[tie.ravel()] - 1
    others = count[number] - 1
    share = np.full(len(others), np.nan)
    np.divide(others - ahead - 0.5 * same, others, out=share, where=others > 0)
    return np.asarray(share[side.ravel()])


def check_last_share(last: float) -> None:
    """ValueError unless it is a share of the events."""
    if not 0 < last <= 1:
        raise ValueError(f"last must be above 0 and at most 1, got {last:g}")


def last_share_mask(data: Dataset, last: float) -> HostArray:
    """Which of the matches [n] or contests [E] are the last share of them."""
    count = len(data.rows) if isinstance(data.events, Matches) else len(data.rounds.player_start) - 1
    return np.arange(count) >= count_first_share(count, 1 - last)


def evaluate_predictions(rated: Rated, data: Dataset, last: float = 1.0) -> dict[str, float]:
    """How well the last share of these events, the last that were rated, was predicted: each measure by name."""
    these, mask = rated.predictions.slice(len(rated.predictions) - len(data.rows)), last_share_mask(data, last)
    if sides := as_two_sided(data):
        return match_metrics(these["prediction"].to_numpy()[sides.row], sides.score, weight=sides.weight, mask=mask)
    played = rated.games - count_games(data.rounds, len(rated.games))
    mask = np.repeat(mask, np.diff(data.rounds.player_start))
    return ranking_metrics(data.rounds, these["rating"].to_numpy(), mask=mask, played=played)


def constant_forecast_log_loss(data: Dataset, last: float = 1.0) -> float:
    """The log loss of the same forecast for all of the last share of the matches; NaN of contests of many.

    Those who have the side are expected to score what they do on average, as is known afterwards; without a side one
    half is expected.
    """
    sides = as_two_sided(data)
    if sides is None:
        return float("nan")
    mask = last_share_mask(data, last)
    given_side = data.matches.context.side if isinstance(data.events, Matches) else None
    side = np.zeros(len(mask)) if given_side is None else np.asarray(given_side, float)
    weight = np.ones(len(mask)) if sides.weight is None else sides.weight
    score, side, weight = sides.score[mask], side[mask], weight[mask]
    total = np.sum(weight * np.abs(side))
    share = np.sum(weight * side * (score - 0.5)) / total if total else 0.0
    return log_loss(0.5 + share * side, score, weight=weight)


def prediction_calibration(rated: Rated, data: Dataset) -> Calibration | None:
    """The calibration of the predictions of these events, as `quality` counts it; None of contests of many."""
    sides = as_two_sided(data)
    if sides is None:
        return None
    last = rated.predictions.slice(len(rated.predictions) - len(data.rows))
    p, score, weight = mirror_winner_first(last["prediction"].to_numpy()[sides.row], sides.score, sides.weight)
    return calibration(p, score, weight=weight)


def format_metric(metric: str, value: float) -> str:
    """A measure for people to read: a share in percent where ratings are judged by ranks, else four decimals."""
    if metric.startswith(("pair inversion", "rank deviation")):
        return "-" if np.isnan(value) else f"{value:.2%}"
    return f"{value:.4f}"
