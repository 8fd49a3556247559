"""Predictions in full: who wins, whether nobody does, the ranks, match quality; every score.

A system that has draws of its own tells what it believes of them. Any other system of matches predicts an expected
score p, and Davidson's model (1970, "On extending the Bradley-Terry model to accommodate ties in paired comparison
experiments", equation 2.5) divides it: win, draw and loss have chances in the proportion r^2 : nu r : 1. The root r of
their odds is that with which win + draw / 2 = p, the positive solution of

    r^2 (1 - p) + nu r (1/2 - p) - p = 0

nu is `draw_odds`. Where draws depend on strength (Glickman 2025), log nu grows by `draw_strength` for each point that
the mean rating of both players lies above a newcomer's.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.arguments import check_arguments
from jaxrate.events import Array, Matches, Periods
from jaxrate.parameters import MAYBE_ANY, POSITIVE, Parameter
from jaxrate.plain import bind
from jaxrate.system import RatingSystem, State, check_names, sides
from jaxrate.systems.remaking import Inner, Remade, anew, check_once, remake

FAR = 40.0  # of log nu, beyond which it goes no further: squares of nu stay finite in float32


class Outlook(NamedTuple):
    """A prediction in full: [n, 2] for both players of matches, [P] for the team of each participant of rounds."""

    win: Array  # the probability that it beats every other team by more than the margin
    draw: Array  # the probability that no team does; of a match, that it is drawn
    rank: Array  # the expected rank among the teams, from 1; a draw is half a place
    quality: Array  # match quality: the density of a draw of all, relative to equals whose skills are known


class Draws(NamedTuple):
    """The hyperparameters of Davidson's draws."""

    draw_odds: float | Array
    draw_strength: float | Array | None


DRAWS = Draws(
    draw_odds=Parameter(
        "positive", POSITIVE, "1", "odds of a draw between equals, to a win of one of them", concerns_draws=True
    ),
    draw_strength=Parameter(
        "real",
        MAYBE_ANY,
        "1 per point",
        "growth of log(draw_odds) with the mean rating of both above a newcomer's",
        concerns_draws=True,
    ),
)


@check_arguments
def outlook(system: RatingSystem, **given: float | None) -> RatingSystem:
    """The same system, predicting in full, in `jr.run` and in `jr.predict`.

    TrueSkill, and skills with a draw margin, predict an `Outlook` by their own margin of draws, TrueSkill also of
    rounds; Urnings [n, m + 1], the probabilities of the scores 0, 1/m, ..., 1 of player 0. In rounds of P participants
    TrueSkill's probabilities to win take time of order P^2 (and memory of order P).

    Every other system of matches predicts an `Outlook` by Davidson's model, which agrees with its expected scores: two
    hyperparameters more say how frequent draws are, and `fit` finds them. Match quality is then the chance of a draw
    relative to that between equals. Rounds it does not rate.

        found = jr.fit(jr.outlook(jr.glicko(), draw_strength=0.0), data)

    Rated histories keep what it says beside the expected scores, see `rate`; measures and pictures take the expected
    scores of it.

    Args:
      system: of matches; or one whose `traits` have an outlook.
      **given: of a system without draws of its own. draw_odds: odds of a draw between equals, to a win of one of them
        (> 0), at first 1: nu, with which they draw nu / (nu + 2) of their matches. draw_strength: growth of
        log(draw_odds) with the mean rating of both above a newcomer's (1 per point, any number or None), at first None.

    Raises:
      ValueError: for a system of rounds alone, hyperparameters that it does not have, or one of `outlook` already.
    """
    predict = system.traits.outlook
    if predict is None:
        check_names("outlook", given, Draws._fields)
        return remake(system, outlook, Draws(**{"draw_odds": 1.0, "draw_strength": None} | given), DRAWS, by_davidson)
    if given:
        raise ValueError(f"{system.name} has draws of its own, without {' and '.join(given)}")
    check_once(system, "outlook")
    make = None if system.make is None else bind(anew, outlook, (), system.make)
    traits = system.traits._replace(remade=(*system.traits.remade, "outlook"))
    return system._replace(rules=system.rules._replace(predict=predict), traits=traits, make=make)


def is_outlook(system: RatingSystem) -> bool:
    """Whether the system is one that `outlook` made."""
    return "outlook" in system.traits.remade


def by_davidson(inner: Inner, constants: Remade, rows: State, event: Matches | Periods) -> Outlook:
    """Of matches leaves [2], of the pairs of a period [M, 2]."""
    score, draws = inner.rules.predict(constants.inner, rows, event), constants.params
    odds = jnp.log(draws.draw_odds)
    if draws.draw_strength is not None:
        one, two = sides(inner.summary(inner.own(draws), rows).mean, event)
        odds = odds + draws.draw_strength * (0.5 * (one + two) - constants.newcomer)
    return divided(score, jnp.exp(jnp.clip(odds, -FAR, FAR)))


def divided(score: Array, odds: Array) -> Outlook:
    """Win, draw and loss with these expected scores [...] of the first player, and these odds of a draw of equals.

    1 / r of the better player is the root that loses no digits, and it is at most 1.
    """
    score = jnp.clip(score, 0.0, 1.0)
    ahead = score >= 0.5
    more, less = jnp.where(ahead, score, 1.0 - score), jnp.where(ahead, 1.0 - score, score)
    lean = odds * (more - 0.5)
    root = 2.0 * less / (lean + jnp.sqrt(lean * lean + 4.0 * more * less))
    both = 1.0 + odds * root + root * root
    better, worse, draw = 1.0 / both, root * root / both, odds * root / both
    win = jnp.stack([jnp.where(ahead, better, worse), jnp.where(ahead, worse, better)], axis=-1)
    even = draw * ((2.0 + odds) / odds)
    draw, even = (jnp.stack([x, x], axis=-1) for x in (draw, even))
    return Outlook(win, draw, 2.0 - win - 0.5 * draw, even)


def by_score(guess: Any) -> Any:
    """Expected scores [...], or probabilities [..., K]; of an `Outlook` of matches, of a loss, a draw and a win."""
    if isinstance(guess, Outlook):
        return jnp.stack([guess.win[..., 1], guess.draw[..., 0], guess.win[..., 0]], axis=-1)
    return guess


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
