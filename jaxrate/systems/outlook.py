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


def _remade(make: Callable[..., RatingSystem], **changes: Any) -> RatingSystem:
    """The outlook of what a factory makes."""
    return outlook(make(**changes))
