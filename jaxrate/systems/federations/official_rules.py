"""What official rules share: further columns of games, rounding, and a normal expected score."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtr

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.rules import Params
from jaxrate.core.system import full_leaf

ADULT = 30.0  # years


class RatingState(NamedTuple):
    """The state of a system that keeps a rating alone."""

    rating: Array  # [num_players] points


def init_ratings(params: Params, num_players: int) -> RatingState:
    """The ratings of newcomers."""
    return RatingState(full_leaf(num_players, params.initial_rating))


def change_rating(_params: Params, rows: Any, total: Any) -> Any:
    """The rows with ratings changed by the first term of the total, where evidence is the change itself."""
    return rows._replace(rating=rows.rating + total[0])


def read_column(event: Any, name: str | None, default: float) -> Array | float:
    """The column of this name of games; the default if the rules have none."""
    return default if name is None else event.context.columns[name]


def read_margin(event: Any, names: tuple[str, ...]) -> Array:
    """The margins of games, from the column of the margin, or those of the points of both sides; 0 without."""
    columns = [event.context.columns[name] for name in names]
    return jnp.abs(columns[0] - columns[1] if len(columns) == 2 else columns[0]) if columns else 0.0 * event.score


def parse_margin_columns(margin: str | Sequence[str]) -> tuple[str, ...]:
    """The column of the margin, or those of the points of both sides."""
    return (margin,) if isinstance(margin, str) else tuple(margin)


def parse_age_columns(system: str, ages: Sequence[str]) -> tuple[str, ...]:
    """The two columns of the ages of both players; ValueError unless there are two, or none."""
    if isinstance(ages, str) or len(ages) not in (0, 2):
        raise ValueError(f"{system}: ages must be two columns, of the ages of a and of b, got {ages!r}")
    return tuple(ages)


def read_ages(event: Any, names: tuple[str, ...]) -> tuple[Array, Array]:
    """The ages of both players in years; those of adults where there are no columns."""
    if not names:
        return jnp.full_like(event.score, ADULT), jnp.full_like(event.score, ADULT)
    return event.context.columns[names[0]], event.context.columns[names[1]]


def require_columns(**named: str | tuple[str, ...] | None) -> Any:
    """The check that games have the columns that settings of a system name; None or () names none."""
    columns = [(setting, names if isinstance(names, tuple) else (names,)) for setting, names in named.items() if names]
    return bind(_check_columns, tuple((setting, x) for setting, names in columns for x in names))


def _check_columns(named: tuple[tuple[str, str], ...], events: Any) -> None:
    columns = events.flat.context.columns or {}
    for setting, name in named:
        if name not in columns:
            maker = "columns=... of `matches` or `read`"
            raise ValueError(f"the matches need the column {name!r}, which {setting}= of the system names: {maker}")
        missing = np.flatnonzero(np.isnan(np.asarray(columns[name])))
        if missing.size:
            raise ValueError(f"row {missing[0]}: column {name!r} has no number, and {setting}= of the system needs one")


def round_half_away(x: Array, rounding: bool, digits: int = 0) -> Array:
    """`x` rounded to so many decimals, halves away from zero, if `rounding`; its slope is that of `x`."""
    if not rounding:
        return x
    scaled = jnp.abs(x) * 10.0**digits
    rounded = jnp.sign(x) * jnp.floor(scaled + 0.5 + 1e-4) / 10.0**digits  # of float32: a half may be just below
    return x + lax.stop_gradient(rounded - x)


def expected_by_normal(difference: Array, deviation: float) -> Array:
    """Phi of a rating difference by the deviation of a difference of performances."""
    return ndtr(difference / deviation)
