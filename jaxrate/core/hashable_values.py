"""Functions with bound arguments, and arrays, that hash and compare by value.

A system binds them into its rules. Systems that are made alike are then equal, and their programs are compiled once.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class BoundFunction(NamedTuple):
    """A function with its first arguments bound, as `functools.partial`, that hashes and compares by value."""

    function: Callable[..., Any]
    bound_args: tuple[Any, ...]
    bound_options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*self.bound_args, *args, **dict(self.bound_options), **options)


def bind(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The function with its first arguments bound, or some by name; it hashes and compares by value."""
    return BoundFunction(function, args, tuple(options.items()))


def look_up_replacement_function(rule: Any, replacements: Mapping[Any, Any]) -> Any:
    """What stands in a table for a function, with the same first arguments given; None where nothing does."""
    function, args = (rule.function, rule.bound_args) if isinstance(rule, BoundFunction) else (rule, ())
    other = replacements.get(function)
    return None if other is None else bind(other, *args)


class HashableArray(NamedTuple):
    """An array that hashes and compares by value."""

    data: bytes
    shape: tuple[int, ...]
    dtype: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = np.frombuffer(self.data, self.dtype).reshape(self.shape)
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"array{list(self.shape)}"


def hashable_array(values: Any) -> HashableArray:
    """An array of numbers that hashes and compares by value."""
    array = np.asarray(values)
    return HashableArray(array.tobytes(), array.shape, array.dtype.str)


def display_name(value: Any) -> str:
    """The name of a function, or the repr of any other value."""
    if isinstance(value, BoundFunction):
        return display_name(value.function)
    return str(getattr(value, "__name__", None) or repr(value))
