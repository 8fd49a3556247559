"""Functions of small arrays taken apart into operations on single numbers, for programs that hold one in a register.

A kernel has a match in each thread, and there every number of it is a value of its own: a pair of ratings is two. The
compilers of kernels know neither slices of such pairs nor all functions, so what arranges numbers is done here, and
only arithmetic is left.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Literal

from jaxrate.core.array_types import Array
from jaxrate.numerics.special_functions import normal_tail

ScalarIndices = np.ndarray[Any, Any]  # of whole numbers: which of the values stands where in an array

ARITHMETIC = {
    "abs", "add", "and", "atan", "cbrt", "clamp", "convert_element_type", "cos", "div", "eq", "exp", "exp2", "expm1",
    "floor", "ge", "gt", "integer_pow", "is_finite", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne",
    "neg", "not", "or", "pow", "rem", "rsqrt", "select_n", "sign", "sin", "sqrt", "square", "sub", "tan", "tanh", "xor",
}  # fmt: skip
REDUCTIONS = {
    "reduce_sum": lax.add,
    "reduce_max": lax.max,
    "reduce_min": lax.min,
    "reduce_and": lax.bitwise_and,
    "reduce_or": lax.bitwise_or,
}
EXPANDED_CALL = "call_hi_primitive"  # a function with rules of its own for slopes, since JAX 0.11
CALL_PRIMITIVES = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
}
ROOT = 0.5**0.5


def erfc(x: Array) -> Array:
    """1 - erf(x), from the tail of the normal distribution: kernels know no such function."""
    far = jnp.abs(x)
    right = 2.0 * ROOT / np.pi**0.5 * jnp.exp(-far * far) / normal_tail(far / ROOT)[0]
    return jnp.where(x < 0, 2.0 - right, right)


def erf(x: Array) -> Array:
    """The error function; near 0 its series."""
    near, term, factor = jnp.zeros_like(x), x, 1.0
    for k in range(12):
        near = near + factor / (2 * k + 1) * term
        term, factor = term * x * x, -factor / (k + 1)
    return jnp.where(jnp.abs(x) < 0.5, 2.0 / np.pi**0.5 * near, 1.0 - erfc(x))


REPLACEMENTS = {"erf": erf, "erfc": erfc}


def unsupported_operations(closed_jaxpr: Any) -> set[str]:
    """The names of the operations in a function, as `jax.make_jaxpr` made it, that cannot be taken apart."""
    found: set[str] = set()
    for equation in closed_jaxpr.jaxpr.eqns:
        name = equation.primitive.name
        if (inner := _inner_jaxpr(equation)) is not None:
            found |= unsupported_operations(inner)
        elif (
            name not in ARITHMETIC
            and name not in REDUCTIONS
            and name not in REPLACEMENTS
            and name not in REARRANGEMENTS
        ):
            found.add(name)
    return found


def evaluate_jaxpr_on_scalars(closed_jaxpr: Any, scalars: list[Array]) -> list[Array]:
    """The numbers of a function's results, from those of its arguments, each array's in the order of its memory.

    Args:
      closed_jaxpr: as `jax.make_jaxpr` made it, with nothing that is `refused`.
      scalars: numbers, [] or all those of one shape, which stands for as many calls at once.
    """
    values, places, used = list(scalars), [], 0
    for variable in closed_jaxpr.jaxpr.invars:
        shape = variable.aval.shape
        size = int(np.prod(shape, dtype=int))
        places.append(np.arange(used, used + size).reshape(shape))
        used += size
    return [values[i] for found in _evaluate_jaxpr(closed_jaxpr, places, values) for i in found.ravel()]


def _evaluate_jaxpr(
    closed_jaxpr: Any, operand_indices: list[ScalarIndices], scalars: list[Array]
) -> list[ScalarIndices]:
    known = dict(zip(closed_jaxpr.jaxpr.invars, operand_indices, strict=True))
    known |= {
        v: _append_constant(x, v.aval, scalars)
        for v, x in zip(closed_jaxpr.jaxpr.constvars, closed_jaxpr.consts, strict=True)
    }

    def read(x: Any) -> ScalarIndices:
        return _append_constant(x.val, x.aval, scalars) if isinstance(x, Literal) else known[x]

    for equation in closed_jaxpr.jaxpr.eqns:
        found = _evaluate_equation(equation, [read(x) for x in equation.invars], scalars)
        known |= dict(zip(equation.outvars, found, strict=True))
    return [read(x) for x in closed_jaxpr.jaxpr.outvars]


def _evaluate_equation(
    equation: Any, operand_indices: list[ScalarIndices], scalars: list[Array]
) -> list[ScalarIndices]:
    name, params = equation.primitive.name, equation.params
    if (inner := _inner_jaxpr(equation)) is not None:
        return _evaluate_jaxpr(inner, operand_indices, scalars)
    if name in REARRANGEMENTS:
        found = REARRANGEMENTS[name](params, *operand_indices)
        return found if isinstance(found, list) else [found]
    if name in REDUCTIONS:
        return [_reduce_axes(REDUCTIONS[name], operand_indices[0], params["axes"], scalars)]
    function = REPLACEMENTS.get(name) or (lambda *x: equation.primitive.bind(*x, **params))
    return [_apply_elementwise(function, operand_indices, scalars)]


def _inner_jaxpr(equation: Any) -> Any:
    """The function that an equation calls; None if it calls none."""
    name = equation.primitive.name
    if name == EXPANDED_CALL:
        operation = partial(equation.primitive.to_lojax, **equation.params)
        return jax.make_jaxpr(operation)(*(x.aval for x in equation.invars))
    if name not in CALL_PRIMITIVES:
        return None
    inner = equation.params[CALL_PRIMITIVES[name]]
    return inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())


def _append_constant(value: Any, aval: Any, scalars: list[Array]) -> ScalarIndices:
    """Room for the numbers of a constant, of NumPy, which stand in the program itself."""
    array = np.asarray(value, aval.dtype)
    scalars += list(array.ravel())
    return np.arange(len(scalars) - array.size, len(scalars)).reshape(array.shape)


def _apply_elementwise(
    function: Callable[..., Array], operand_indices: list[ScalarIndices], scalars: list[Array]
) -> ScalarIndices:
    """Arithmetic on each number of some arrays."""
    operand_indices = [*np.broadcast_arrays(*operand_indices)]
    found = np.empty(operand_indices[0].shape, int)
    for at in np.ndindex(found.shape):
        found[at] = len(scalars)
        scalars.append(function(*broadcast_to_common_shape([scalars[x[at]] for x in operand_indices])))
    return found


def broadcast_to_common_shape(arrays: list[Array]) -> list[Array]:
    """Numbers of one shape."""
    shape = max((np.shape(x) for x in arrays), key=len)
    return [x if np.shape(x) == shape else jnp.broadcast_to(x, shape) for x in arrays]


def _reduce_axes(
    function: Callable[..., Array], x: ScalarIndices, axes: tuple[int, ...], scalars: list[Array]
) -> ScalarIndices:
    """Along each axis one number after the other."""
    for axis in sorted(axes, reverse=True):
        first, *rest = np.moveaxis(x, axis, 0)
        for other in rest:
            first = _apply_elementwise(function, [first, other], scalars)
        x = first
    return x


def _broadcast_indices(params: Any, x: ScalarIndices) -> ScalarIndices:
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], x.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(x.reshape(shape), params["shape"])


def _slice_indices(params: Any, x: ScalarIndices) -> ScalarIndices:
    strides = params["strides"] or (1,) * x.ndim
    return x[tuple(slice(*cut) for cut in zip(params["start_indices"], params["limit_indices"], strides, strict=True))]


REARRANGEMENTS: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": _broadcast_indices,
    "concatenate": lambda params, *x: np.concatenate(x, params["dimension"]),
    "copy": lambda params, x: x,
    "reshard": lambda params, x: x,
    "reshape": lambda params, x: x.reshape(params["new_sizes"]),
    "rev": lambda params, x: np.flip(x, params["dimensions"]),
    "slice": _slice_indices,
    "split": lambda params, x: np.split(x, np.cumsum(params["sizes"])[:-1], params["axis"]),
    "squeeze": lambda params, x: np.squeeze(x, params["dimensions"]),
    "stack": lambda params, *x: np.stack(x, params["axis"]),
    "stop_gradient": lambda params, x: x,
    "transpose": lambda params, x: np.transpose(x, params["permutation"]),
    "unstack": lambda params, x: [*np.moveaxis(x, params["axis"], 0)],
}
