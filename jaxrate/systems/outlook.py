"""Predictions in full: who wins, whether nobody does, the ranks, match quality; every score."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxrate.events import Array
from jaxrate.system import RatingSystem, bind


class Outlook(NamedTuple):
    """A prediction in full: [n, 2] for both players of matches, [P] for the team of each participant of rounds."""

    win: Array  # the probability that it beats every other team by more than the margin
    draw: Array  # the probability that no team does; of a match, that it is drawn
    rank: Array  # the expected rank among the teams, from 1; a draw is half a place
    quality: Array  # match quality: the density of a draw of all, relative to equals whose skills are known


def outlook(system: RatingSystem) -> RatingSystem:
    """The same system, predicting in full, in `jr.run` and in `jr.predict`.

    TrueSkill predicts an `Outlook` of every match or round; Urnings [n, m + 1], the probabilities of the scores 0, 1/m,
    ..., 1 of player 0. In rounds of P participants TrueSkill's probabilities to win take time of order P^2 (and memory
    of order P).

    Rated histories keep what it says beside the expected scores, see `rate`; measures and pictures take the expected
    scores of it.

    Args:
      system: as from `trueskill()` or `urnings()`, or another whose `traits` have an outlook.

    Raises:
      ValueError: if the system has none.
    """
    predict = system.traits.outlook
    if predict is None:
        raise ValueError(f"{system.name} has no outlook: it predicts expected scores, and nothing else")
    make = None if system.make is None else bind(_remade, system.make)
    return system._replace(rules=system.rules._replace(predict=predict), make=make)


def is_outlook(system: RatingSystem) -> bool:
    """Whether the system is one that `outlook` made."""
    return system.traits.outlook is not None and system.rules.predict == system.traits.outlook


def expected_score(prediction: Any) -> Any:
    """[n] of player 0, from predictions of matches in any form: these, those of an outlook, or [n, K] of each score."""
    if isinstance(prediction, Outlook):
        if prediction.win.ndim != 2:
            raise ValueError("this outlook is of rounds, which have no expected scores")
        return prediction.win[:, 0] + 0.5 * prediction.draw[:, 0]
    if getattr(prediction, "ndim", 1) != 2:
        return prediction
    last = prediction.shape[1] - 1
    return sum(prediction[:, k] * (k / last) for k in range(1, last + 1))


def _remade(make: Callable[..., RatingSystem], **changes: Any) -> RatingSystem:
    """The outlook of what a factory makes."""
    return outlook(make(**changes))
