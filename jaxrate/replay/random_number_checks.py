"""Checks of the key of a replay, or of the random numbers in its place."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.system import RatingSystem, random_draw_rule
from jaxrate.replay.scan_programs import is_random_numbers


def check_prng_key_or_numbers(system: RatingSystem, num_events: int | None, key: Any) -> None:
    """ValueError without a key that the system needs, or for numbers that it could not have drawn for the events."""
    if random_draw_rule(system.rules) is not None and key is None:
        raise ValueError(f"{system.name} draws random numbers; give it a key, such as key=jax.random.key(0)")
    if is_random_numbers(key):
        check_random_numbers(system, len(key) if num_events is None else num_events, key)


def check_random_numbers(system: RatingSystem, num_events: int, numbers: Any) -> None:
    """ValueError unless the system could have drawn the numbers for so many events; names the row."""
    draw, check = random_draw_rule(system.rules), getattr(system.rules.update, "check_drawn", None)
    if draw is None or check is None:
        raise ValueError(f"{system.name} takes no numbers of yours in place of a key")
    shape = (num_events, *jax.eval_shape(draw, jax.random.key(0)).shape)
    if numbers.shape != shape:
        raise ValueError(f"key must be a PRNG key, or numbers of shape {shape}, got shape {numbers.shape}")
    if not is_traced(numbers):
        check(np.asarray(jnp.asarray(numbers, float)))
