"""Test cases, the conditions under which they run, and comparisons of results."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.system import RatingSystem, random_draw_rule
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.replay.compiler_options import quick_compile_options

FORMS = {"stream": Matches, "levels": Matches, "periods": Periods, "rounds": Rounds}  # the events of each form


class SystemFormPrecision(NamedTuple):
    """A system, replayed in one form and in one precision."""

    system: RatingSystem
    form: str  # a key of FORMS
    double: bool  # in float64

    def __str__(self) -> str:
        return f"{self.system.name}, {self.form}, {'float64' if self.double else 'float32'}"


@contextmanager
def strict_precision(double: bool) -> Iterator[None]:
    """A precision, with strict promotion of types and ranks."""
    with jax.enable_x64(double), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def jit_quickly(function: Callable[..., Any]) -> Any:
    """The function under jit, compiled with options for quick compilation."""
    return jax.jit(function, compiler_options=quick_compile_options())


def as_float_arrays(params: Any) -> Any:
    """Hyperparameters as arrays of the default precision: new values then need no compilation."""
    return jax.tree.map(lambda x: jnp.asarray(x, float), params)


@contextmanager
def record_compilations() -> Iterator[list[float]]:
    """A list that collects the seconds of each compilation within the context."""
    durations: list[float] = []

    def record_duration(event: str, duration_secs: float, **_: Any) -> None:
        if event.endswith("backend_compile_duration"):
            durations.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(record_duration)
    try:
        yield durations
    finally:
        jax.monitoring.unregister_event_duration_listener(record_duration)


def make_key(system: RatingSystem) -> Any:
    """A key if the system draws random numbers."""
    return None if random_draw_rule(system.rules) is None else jax.random.key(0)


def gather_player_rows(state: Any, ids: Any) -> Any:
    """Some players' rows of a state."""
    return jax.tree.map(lambda x: x[ids], state)


def assert_claim(condition: Any, message: str) -> None:
    """AssertionError with this message unless the condition holds. (`assert` may be switched off.)"""
    if not condition:
        raise AssertionError(message)


def assert_with_label(label: str, compare: Callable[..., None], *values: Any, **options: Any) -> None:
    """A comparison by NumPy, whose AssertionError begins with a label."""
    try:
        compare(*values, **options)
    except AssertionError as error:
        raise AssertionError(f"{label}: {str(error).strip()}") from None


def assert_equal_leaves(label: str, a: Any, b: Any) -> None:
    """AssertionError unless all leaves are equal to the last bit."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert_with_label(label, np.testing.assert_array_equal, x, y)


def assert_close_leaves(label: str, a: Any, b: Any, tolerance: float) -> None:
    """AssertionError unless all leaves agree, relative to each number.

    Small numbers need only agree relative to 1, or to the largest number of the leaf; the tails of a belief relative to
    its largest number.
    """
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        largest = np.abs(y)[np.isfinite(y)].max(initial=0.0)
        scale = largest if np.ndim(y) > 1 else min(largest, 1.0)
        assert_with_label(label, np.testing.assert_allclose, x, y, rtol=tolerance, atol=tolerance * scale)
