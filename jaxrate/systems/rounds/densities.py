"""Densities of the noise of a performance, of which Elo-MMR takes any log-concave one (its paper, sections 2 and 3).

A performance is a skill plus beta times a noise of mean 0 and variance 1. `elo_mmr(density=...)` takes the noise's
density by its name in `DENSITIES`, or one of your own:

    def quartic(x):
        return -0.25 * x**4

    system = jr.elo_mmr(density=jr.extend.densities.Density("quartic", quartic))

Heavy tails make a rating robust: one performance far off then says little. With the Gumbel density only a performance
that is far better than the skill is an outlier; one that is far worse counts fully.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.text_format import did_you_mean_suffix


class Density(NamedTuple):
    """A log-concave density. A value: two of the same name and function are equal."""

    name: str
    log: Callable[[Array], Array]  # the log of the density, elementwise, in JAX; mean, scale and factor may be any

    def __repr__(self) -> str:
        return f"Density({self.name!r})"


def _logistic_log_density(x: Array) -> Array:
    return -jnp.abs(x) - 2.0 * jnp.log1p(jnp.exp(-jnp.abs(x)))


def _normal_log_density(x: Array) -> Array:
    return -0.5 * x**2


def _gumbel_log_density(x: Array) -> Array:
    return -x - jnp.exp(-x)


def _smooth_laplace_log_density(x: Array) -> Array:
    return -jnp.sqrt(0.25 + x**2)


DENSITIES = {
    "logistic": Density("logistic", _logistic_log_density),
    "normal": Density("normal", _normal_log_density),
    "gumbel": Density("gumbel", _gumbel_log_density),  # of the best of many tries: its upper tail is the heavy one
    "laplace": Density(
        "laplace", _smooth_laplace_log_density
    ),  # exp(-sqrt(1/4 + x^2)): a Laplace density without its corner
}


def parse_density(density: Density | str) -> Density:
    """The density of this name, or the one that is given; ValueError if it is none."""
    if isinstance(density, str):
        if density not in DENSITIES:
            known = f"there are {', '.join(DENSITIES)}; one of your own is a jr.extend.densities.Density"
            raise ValueError(
                f"unknown density {density!r}{did_you_mean_suffix(density, DENSITIES)} ({known}, and a saved "
                "run with it is "
                'loaded by jr.load(folder, make=lambda **given: jr.elo_mmr(**given | {"density": own})))'
            )
        return DENSITIES[density]
    if not isinstance(density, Density) or not callable(density.log) or not isinstance(density.name, str):
        raise ValueError(
            f"a density is a name or a jr.extend.densities.Density of a name and a function, got {density!r}"
        )
    if density.name in DENSITIES and density != DENSITIES[density.name]:
        raise ValueError(f"the density {density.name!r} is another one; give your own a name of its own")
    return density
