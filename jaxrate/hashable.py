"""Plain values: a function with its first arguments, and an array, that hash and equal their like.

A system binds them into its rules. Systems made alike are then equal, and their programs are compiled once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class BoundFunction(NamedTuple):
    """A function with its first arguments given: as `functools.partial`, but a plain value.

    Two of the same function and equal arguments are equal; they hash, and they can be pickled.
    """

    function: Callable[..., Any]
    bound_args: tuple[Any, ...]
    bound_options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*self.bound_args, *args, **dict(self.bound_options), **options)


def bind(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The function with its first arguments given, or some by name, as a plain value."""
    return BoundFunction(function, args, tuple(options.items()))


class HashableArray(NamedTuple):
    """An array as a plain value, which hashes and equals its like."""

    data: bytes
    shape: tuple[int, ...]
    dtype: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = np.frombuffer(self.data, self.dtype).reshape(self.shape)
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"array{list(self.shape)}"


def hashable_array(values: Any) -> HashableArray:
    """The value of an array of numbers."""
    array = np.asarray(values)
    return HashableArray(array.tobytes(), array.shape, array.dtype.str)


def display_name(value: Any) -> str:
    """A function by its name, anything else by its repr."""
    if isinstance(value, BoundFunction):
        return display_name(value.function)
    return str(getattr(value, "__name__", None) or repr(value))
