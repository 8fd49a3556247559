"""Urnings' model: hyperparameters, urns, and what they expect before a match."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params
from jaxrate.core.system import full_leaf, split_sides
from jaxrate.events import Matches

MAX_URN_SIZE = 1 << 23  # balls in an urn: in float32 they are still counted exactly
INFINITE_LEAD = 1e4  # difference of logits of which nothing but 0 or 1 comes


class Constants(NamedTuple):
    weights: tuple[float | Array, ...]  # [m + 1]


class State(NamedTuple):
    green: Array  # [num_players] int32 balls
    size: Array  # [num_players] int32 balls in the urn


def init(params: Params, num_players: int) -> State:
    balls = (params.size * params.initial_proportion, params.size)
    whole = (
        jnp.round(x) if isinstance(x, jax.Array) else np.round(np.asarray(x, jnp.result_type(float))) for x in balls
    )
    return State(*(full_leaf(num_players, x, jnp.int32) for x in whole))


def prepare(weights: tuple[float, ...], params: Params) -> Constants:
    first, *between, last = weights
    return Constants((first, *(params.draw_weight * w for w in between), last))


def advance(constants: Constants, rows: State, time: Array) -> State:
    """Urns do not age."""
    del constants, time
    return rows


def urn_logit(green: Array, size: Array) -> Array:
    """ln((r + 1) / (n - r + 1)), finite for empty and full urns."""
    dtype = jnp.result_type(float)
    return jnp.log((green + 1).astype(dtype) / (size - green + 1).astype(dtype))


def score_probabilities(constants: Constants, logit_lead: Array) -> list[Array]:
    """P(x) for x = 0..m, of a difference of logits."""
    m = len(constants.weights) - 1
    parts = [w * jnp.exp(x * logit_lead - jnp.maximum(m * logit_lead, 0.0)) for x, w in enumerate(constants.weights)]
    total = sum(parts)
    return [part / total for part in parts]


def posterior_mean_logit_difference(one: State, two: State) -> Array:
    """The difference of the logits of (r + 1) / (n + 2)."""
    return urn_logit(*one) - urn_logit(*two)


def green_share_logit_difference(one: State, two: State) -> Array:
    """That of r / n: 0 of two empty or two full urns, and else `INFINITE_LEAD` where it is infinite."""
    dtype = jnp.result_type(float)
    up, down = (x.green.astype(dtype) * (y.size - y.green).astype(dtype) for x, y in ((one, two), (two, one)))
    finite = (up > 0) & (down > 0)
    ratio = jnp.where(finite, up, 1.0) / jnp.where(finite, down, 1.0)
    return jnp.where(finite, jnp.log(ratio), INFINITE_LEAD * (jnp.sign(up) - jnp.sign(down)))


ESTIMATES = {"mean": posterior_mean_logit_difference, "share": green_share_logit_difference}


def predict(estimate: str, constants: Constants, rows: State, event: Matches) -> Array:
    """Expected score of the first player."""
    m, lead = len(constants.weights) - 1, ESTIMATES[estimate](*split_sides(rows, event))
    expected: Any = sum(x / m * p for x, p in enumerate(score_probabilities(constants, lead)))
    return expected


def predict_score_probabilities(estimate: str, constants: Constants, rows: State, event: Matches) -> Array:
    """[m + 1] P(x)."""
    return jnp.stack(score_probabilities(constants, ESTIMATES[estimate](*split_sides(rows, event))))
