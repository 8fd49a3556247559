"""How well events were predicted, by the measures that suit them: of two sides as matches are, of many as standings."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.events import Matches, Ragged
from jaxrate.events.kinds import count_games, count_teams
from jaxrate.records.metrics import Calibration, NumPy, both_sides, calibration, duels, log_loss, scores, standings
from jaxrate.records.rated import Rated


class Sides(NamedTuple):
    """Events of two sides, to be scored as matches."""

    row: Any  # of the prediction that is of the first side: [n], or a slice
    score: NumPy  # [n] of the first side
    weight: NumPy | None  # [n]


def two_sides(data: Dataset) -> Sides | None:
    """Matches, and contests of two sides each; None of other contests."""
    if isinstance(data.events, Matches):
        return Sides(slice(None), data.matches.score, data.matches.context.weight)
    found = duels(data.rounds)
    return None if found is None else Sides(*found, None)


def left_behind(rounds: Ragged) -> NumPy:
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


def first_share(count: int, share: float) -> int:
    """How many of so many events are the first share of them; at least one is left."""
    return min(round(share * count), count - 1)


def check_last(last: float) -> None:
    """ValueError unless it is a share of the events."""
    if not 0 < last <= 1:
        raise ValueError(f"last must be above 0 and at most 1, got {last:g}")


def scored(data: Dataset, last: float) -> NumPy:
    """Which of the matches [n] or contests [E] are the last share of them."""
    count = len(data.rows) if isinstance(data.events, Matches) else len(data.rounds.player_start) - 1
    return np.arange(count) >= first_share(count, 1 - last)


def quality(rated: Rated, data: Dataset, last: float = 1.0) -> dict[str, float]:
    """How well the last share of these events, the last that were rated, was predicted: each measure by name."""
    these, mask = rated.predictions.slice(len(rated.predictions) - len(data.rows)), scored(data, last)
    if sides := two_sides(data):
        return scores(these["prediction"].to_numpy()[sides.row], sides.score, weight=sides.weight, mask=mask)
    played = rated.games - count_games(data.rounds, len(rated.games))
    mask = np.repeat(mask, np.diff(data.rounds.player_start))
    return standings(data.rounds, these["rating"].to_numpy(), mask=mask, played=played)


def equal_loss(data: Dataset, last: float = 1.0) -> float:
    """The log loss of the same forecast for all of the last share of the matches; NaN of contests of many.

    Those who have the side are expected to score what they do on average, as is known afterwards; without a side one
    half is expected.
    """
    sides = two_sides(data)
    if sides is None:
        return float("nan")
    mask = scored(data, last)
    given = data.matches.context.side if isinstance(data.events, Matches) else None
    side = np.zeros(len(mask)) if given is None else np.asarray(given, float)
    weight = np.ones(len(mask)) if sides.weight is None else sides.weight
    score, side, weight = sides.score[mask], side[mask], weight[mask]
    total = np.sum(weight * np.abs(side))
    share = np.sum(weight * side * (score - 0.5)) / total if total else 0.0
    return log_loss(0.5 + share * side, score, weight=weight)


def calibrated(rated: Rated, data: Dataset) -> Calibration | None:
    """The calibration of the predictions of these events, as `quality` counts it; None of contests of many."""
    sides = two_sides(data)
    if sides is None:
        return None
    last = rated.predictions.slice(len(rated.predictions) - len(data.rows))
    p, score, weight = both_sides(last["prediction"].to_numpy()[sides.row], sides.score, sides.weight)
    return calibration(p, score, weight=weight)


def in_words(measure: str, value: float) -> str:
    """A measure for people to read: a share in percent where ratings are judged by ranks, else four decimals."""
    if measure.startswith(("pair inversion", "rank deviation")):
        return "-" if np.isnan(value) else f"{value:.2%}"
    return f"{value:.4f}"
