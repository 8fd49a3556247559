"""Matches as contests of two, for systems of contests: a win is a first and a second place, a draw is a tie."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxrate.events import Matches, Rounds
from jaxrate.events.column_checks import fail_where


def match_as_contest(event: Matches | Rounds) -> Rounds:
    """The contest of two that a match is; a contest as it is."""
    if isinstance(event, Rounds):
        return event
    rank = jnp.stack([event.score < 0.5, event.score > 0.5]).astype(jnp.int32)
    one = jnp.ones_like(event.score) if event.context.weight is None else event.context.weight
    return Rounds(event.player, rank, jnp.arange(2, dtype=jnp.int32), jnp.stack([one, one]), event.time, solo=one)


def check_match_results(system: str, events: Any) -> None:
    """ValueError for matches that are no win, draw or loss, which alone are ranks; names the row."""
    if isinstance(events, Matches):
        score = np.asarray(events.score)

        def say(row: int) -> str:
            return (
                f"{system} ranks the two players of a match, and score {score[row]} is no win, draw or loss: 1, 0.5, 0"
            )

        fail_where((score != 0.0) & (score != 0.5) & (score != 1.0), say)
