"""How far skills drift and performances scatter: gamma and beta, of the hyperparameters and of a contest."""

from typing import Any

import jax.numpy as jnp

from jaxrate.events import Array
from jaxrate.systems.elo_mmr.belief import State


def given_noise(name: str, weight: float | None, limit: float | None, beta: float | None, gamma: float | None) -> Any:
    """weight, limit_deviation, beta and gamma: two of them, the first two unless others are given."""
    if (beta, gamma) == (None, None):
        return 0.2 if weight is None else weight, 80.0 if limit is None else limit, None, None
    if (weight, limit) != (None, None):
        raise ValueError(f"{name}: give weight and limit_deviation, or beta and gamma, not both")
    if beta is None or gamma is None:
        raise ValueError(f"{name}: beta and gamma go together; give both")
    return None, None, beta, gamma


def usual(params: Any) -> tuple[float | Array, float | Array]:
    """w and L, of beta and gamma if those are given."""
    weight, limit = params.weight, params.limit_deviation
    if params.beta is not None and params.gamma is not None:
        ratio = params.gamma / params.beta  # w / sqrt(1 + w)
        weight = 0.5 * ratio * (ratio + jnp.sqrt(ratio**2 + 4.0))
        limit = params.gamma / jnp.sqrt(weight)
    assert weight is not None and limit is not None
    return weight, limit


def noise(constants: Any, rows: State, weight: Array, factor: Array | None) -> tuple[Array, Array]:
    """gamma^2 and beta^2 of a contest that counts `weight` for each, and is noisier than others by the factor []."""
    w = constants.weight * weight * constants.newcomer[jnp.minimum(rows.games, len(constants.newcomer) - 1)]
    params = constants.params
    drift = 0.0 if params.drift is None or params.beta is not None else params.drift / w
    square = (1.0 + 1.0 / w) * constants.limit + drift
    return w * constants.limit, square if factor is None else factor**2 * square
