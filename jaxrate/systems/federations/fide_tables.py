"""FIDE's tables of expected scores and of performances (handbook B02, 8.1.1 and 8.1.2).

PD(D) is the expected score of a rating difference: table 8.1.2 has the differences up to which that of the stronger one
is .50, .51, ..., and 1 beyond the last. It rounds Phi(7 D / 2000), but for some entries. dp(p) is the rating difference
that a share p of the points is worth, by table 8.1.1.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.systems.federations.score_curves import expected_by_normal, round_half_away

TABLE_8_1_2 = """3 10 17 25 32 39 46 53 61 68 76 83 91 98 106 113 121 129 137 145 153 162 170 179 188 197 206 215 225
235 245 256 267 278 290 302 315 328 344 357 374 391 411 432 456 484 517 559 619 735"""  # last D of .50, .51, ...
TABLE_8_1_1 = """0 7 14 21 29 36 43 50 57 65 72 80 87 95 102 110 117 125 133 141 149 158 166 175 184 193 202 211 220
230 240 251 262 273 284 296 309 322 336 351 366 383 401 422 444 470 501 538 589 677 800"""  # dp of .50, .51, ... 1.00


def parse_table(text: str, dtype: Any) -> Array:
    """The numbers of a text, with blanks between them, as an array."""
    return jnp.asarray(np.array(text.split(), float), dtype)


def expected_by_fide_table(difference: Array, rounding: bool) -> Array:
    """PD of a rating difference, by the table or by the normal law that it rounds; its slope is that of the law."""
    smooth = expected_by_normal(difference, 2000.0 / 7.0)
    if not rounding:
        return smooth
    hundredths = jnp.searchsorted(parse_table(TABLE_8_1_2, difference.dtype), jnp.abs(difference) - 1e-3)
    table = 0.5 + jnp.sign(difference) * hundredths.astype(difference.dtype) / 100.0
    return smooth + lax.stop_gradient(table - smooth)


def performance_rating(pool: Array, further: tuple[Any, Any, Any], rounding: bool) -> Array:
    """[...] Ra + dp(p) of games in both pools.

    A pool [..., 3] has the number of games, the sum of the opponents' ratings, and points.
    """
    games, opponents, score = (pool[..., i] + x for i, x in enumerate(further))
    above = round_half_away(score / games, rounding, 2) - 0.5
    shares = jnp.linspace(0.0, 0.5, 51, dtype=above.dtype)
    difference = jnp.sign(above) * jnp.interp(jnp.abs(above), shares, parse_table(TABLE_8_1_1, above.dtype))
    return round_half_away(opponents / games + difference, rounding)


@enforce_argument_annotations
def fide_performance(opponents: Sequence[float], score: float) -> float:
    """FIDE's performance rating of a tournament, Ra + dp(p).

        jr.federations.fide_performance([2130.0, 2010.0, 1960.0], 2.5)

    Args:
      opponents: the ratings of the opponents, each a game.
      score: the points of these games.

    Raises:
      ValueError: without opponents, for ratings that are not finite, or a score that so many games do not give.
    """
    games = len(opponents)
    if not games or not np.isfinite(opponents).all():
        raise ValueError(f"fide_performance: opponents must be one finite rating or more, got {opponents!r}")
    if not 0 <= score <= games:
        raise ValueError(f"fide_performance: score must be from 0 to {games}, the number of games, got {score}")
    return float(performance_rating(jnp.array([games, sum(opponents), score], float), (0.0, 0.0, 0.0), rounding=True))
