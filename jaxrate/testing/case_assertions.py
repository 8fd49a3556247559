"""What is tested, under which conditions, and when two results are the same."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Matches, Periods, Rounds
from jaxrate.replay.execution import quick_compile_options
from jaxrate.system import RatingSystem

FORMS = {"stream": Matches, "levels": Matches, "periods": Periods, "rounds": Rounds}  # the events that each replays


class Case(NamedTuple):
    """A system, replayed in one form and in one precision."""

    system: RatingSystem
    form: str  # a key of FORMS
    double: bool  # in float64

    def __str__(self) -> str:
        return f"{self.system.name}, {self.form}, {'float64' if self.double else 'float32'}"


@contextmanager
def strict_precision(double: bool) -> Iterator[None]:
    """One precision, in which JAX promotes neither types nor ranks unasked."""
    with jax.enable_x64(double), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def jit_fast_compiled(function: Callable[..., Any]) -> Any:
    """The function under jit, compiled in a hurry."""
    return jax.jit(function, compiler_options=quick_compile_options())


def as_float_arrays(params: Any) -> Any:
    """Hyperparameters as arrays of the default precision: for other ones nothing is compiled anew."""
    return jax.tree.map(lambda x: jnp.asarray(x, float), params)


@contextmanager
def record_compilations() -> Iterator[list[float]]:
    """The seconds of each compilation within, in a list that grows."""
    made: list[float] = []

    def listen(event: str, duration_secs: float, **_: Any) -> None:
        if event.endswith("backend_compile_duration"):
            made.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield made
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def make_key(system: RatingSystem) -> Any:
    """A key if the system draws random numbers."""
    return None if system.rules.draw is None else jax.random.key(0)


def gather_player_rows(state: Any, ids: Any) -> Any:
    """Some players' rows of a state."""
    return jax.tree.map(lambda x: x[ids], state)


def assert_claim(holds: Any, message: str) -> None:
    """AssertionError with this message unless it holds. (`assert` may be switched off.)"""
    if not holds:
        raise AssertionError(message)


def assert_with_label(label: str, compare: Callable[..., None], *values: Any, **options: Any) -> None:
    """A comparison of NumPy, whose AssertionError begins with what was compared."""
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

    Small ones need only agree relative to 1, or to the largest of their kind; the tails of a belief, which have no
    digits of their own, relative to the largest of the belief's.
    """
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        largest = np.abs(y)[np.isfinite(y)].max(initial=0.0)
        scale = largest if np.ndim(y) > 1 else min(largest, 1.0)
        assert_with_label(label, np.testing.assert_allclose, x, y, rtol=tolerance, atol=tolerance * scale)
