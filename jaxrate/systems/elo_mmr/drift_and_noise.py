"""How far skills drift and performances scatter: gamma and beta, of the hyperparameters and of a contest."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.systems.elo_mmr.belief import State


def resolve_noise_params(
    system_name: str, weight: float | None, limit: float | None, beta: float | None, gamma: float | None
) -> Any:
    """weight, limit_deviation, beta and gamma: two of them, the first two unless others are given."""
    if (beta, gamma) == (None, None):
        return 0.2 if weight is None else weight, 80.0 if limit is None else limit, None, None
    if (weight, limit) != (None, None):
        raise ValueError(f"{system_name}: give weight and limit_deviation, or beta and gamma, not both")
    if beta is None or gamma is None:
        raise ValueError(f"{system_name}: beta and gamma go together; give both")
    return None, None, beta, gamma


class ContestVariances(NamedTuple):
    """Variances of a contest of weight 1."""

    growth: float | Array  # gamma^2 = w L^2
    limit: float | Array  # L^2
    noise: float | Array  # beta^2 - L^2: L^2 / w, and of the drift D / w


def contest_variances(params: Any) -> ContestVariances:
    """Of weight and limit_deviation, or of beta and gamma, if those are given."""
    if params.beta is not None and params.gamma is not None:
        ratio = params.gamma / params.beta  # w / sqrt(1 + w)
        part = 2.0 / (ratio + jnp.sqrt(ratio**2 + 4.0))  # ratio / w, which is 1 if gamma is 0
        return ContestVariances(params.gamma**2, params.gamma * params.beta * part, (params.beta * part) ** 2)
    square = params.limit_deviation**2
    drift = 0.0 if params.drift is None else params.drift
    return ContestVariances(params.weight * square, square, (square + drift) / params.weight)


def drift_and_noise(constants: Any, rows: State, weight: Array, factor: Array | None) -> tuple[Array, Array]:
    """gamma^2 and beta^2 of a contest that counts `weight` for each, and is noisier than others by the factor []."""
    weight = weight * constants.newcomer[jnp.minimum(rows.games, len(constants.newcomer) - 1)]
    square = constants.limit + constants.noise / weight
    return constants.growth * weight, square if factor is None else factor**2 * square
