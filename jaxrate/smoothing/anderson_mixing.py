"""Anderson mixing: the sites of the next sweep from those of the last ones."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.numerics.linear_systems import solve_definite_systems
from jaxrate.smoothing.forward_backward import GaussianSite

ANDERSON_DEPTH = 5  # past sweeps that are mixed
UNMIXED_SWEEPS = 3  # first sweeps that are not mixed, as they change much
SUM_WIDTH = 1024  # partial sums side by side


class AndersonHistory(NamedTuple):
    """Differences between consecutive sweeps among the last ones, for Anderson mixing."""

    images: GaussianSite  # [ANDERSON_DEPTH, ...] of the sites that a sweep produces
    residuals: Array  # [ANDERSON_DEPTH, ...] of the changes of sites, in deviations
    products: Array  # [ANDERSON_DEPTH, ANDERSON_DEPTH] inner products of the residuals
    num_kept: Array  # differences kept since the history was last cleared


def anderson_step(
    site: GaussianSite,
    image: GaussianSite,
    scale: Array,
    count: Array,
    last_image: GaussianSite,
    residual: Array,
    history: AndersonHistory,
) -> tuple[GaussianSite, GaussianSite, Array, AndersonHistory]:
    """The sites of the next sweep (Anderson 1965, "Iterative procedures for nonlinear integral equations").

    They are the mixture of the last sweeps that would have changed the sites least. Where a sweep changes more than the
    one before, the history is cleared, and the sweep counts half.
    """
    new_residual = (image.pull - site.pull) * scale
    is_worse = (count > 0) & (_inner_product(new_residual, new_residual) > _inner_product(residual, residual))
    num_kept = jnp.where(is_worse | (count < UNMIXED_SWEEPS), 0, history.num_kept + 1)
    slot = jnp.maximum(num_kept - 1, 0) % ANDERSON_DEPTH
    images = jax.tree.map(lambda old, x, y: old.at[slot].set(x - y), history.images, image, last_image)
    change = new_residual - residual
    residuals = history.residuals.at[slot].set(change)
    row = jnp.stack([_inner_product(x, change) for x in residuals])
    products = history.products.at[slot].set(row).at[:, slot].set(row)
    square = jnp.diagonal(products)  # 0 where nothing changes
    in_use = (jnp.arange(ANDERSON_DEPTH, dtype=num_kept.dtype) < num_kept) & (
        square > float(np.finfo(new_residual.dtype).tiny)
    )
    size = jnp.where(in_use, jnp.sqrt(jnp.where(in_use, square, 1.0)), jnp.inf)
    gram = products / (size[None] * size[:, None]) + jnp.diag(
        jnp.where(in_use, 10.0 * float(np.finfo(new_residual.dtype).eps), 1.0)
    )
    target = jnp.stack([_inner_product(x, new_residual) for x in residuals]) / size
    coefficients = solve_definite_systems(gram[None], target[None])[0] / size
    step = jnp.where(is_worse, 0.5, 1.0)

    def mix(old: Array, now: Array, changes: Array) -> Array:
        return old + step * (now - old) - sum(coefficients[i] * changes[i] for i in range(ANDERSON_DEPTH))

    precision, pull = jax.tree.map(mix, site, image, images)
    return (
        GaussianSite(jnp.maximum(precision, 0.0), pull),
        image,
        new_residual,
        AndersonHistory(images, residuals, products, num_kept),
    )


def _inner_product(x: Array, y: Array) -> Array:
    """The inner product, by many partial sums side by side: fast, and with little rounding."""
    products = (x * y).reshape(-1)
    lanes = jnp.pad(products, (0, -len(products) % SUM_WIDTH)).reshape(-1, SUM_WIDTH)
    return jnp.sum(jnp.sum(lanes, axis=0))
