"""Kernels: how a belief spreads between matches (Model 2.16, section 3.3, equation (8))."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.hashable_functions_and_arrays import display_name, hashable_array
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.systems.blat_mmr.function_hyperparameters import NO_ARGUMENTS, FunctionArguments, inspect_arguments


class Kernel(NamedTuple):
    """How much of the mass at a strength goes to which other one, as kappa of a strength has it in Model 2.16.

    The shape is "gaussian", "laplace" (of the b of section 4.3), or one's own, which must not be negative:

    - `f(d)`, a function of the distance d from the old strength to the new one in units of the width, in R^d
      Euclidean;
    - `f(x, y)`, a function of the old strength x and the new one y, which broadcast as in a luck function, where
      `kernel_width` does nothing; or `f(x, y, width)` with the width that it, the player and the time give;
    - a matrix [n, n] over the strengths of the grid or the support: row i says where strength i goes.

    Beliefs over distributions (`inner`) take all but the matrix by the means of the distributions.

    Any argument of a function that has a number for its default becomes a hyperparameter of the system, under its own
    name, which `params=` and `jr.fit` move. It may be any number, or what an annotation says: `Annotated[float,
    "positive"]`, or "unit" for a share.

    Weights and widths make a mixture, of a shape that has a width; the widths are multiples of `kernel_width`. On a
    grid each component of the distance has mass one: the endless grid's, or for a function of one's own that of all
    differences on the grid. What leaves at the edges is given back in proportion to what stayed ("global", section
    3.4), or at each point in proportion to where its own mass goes ("source", equation (6)). The
    paper's equation (6) is a distribution of each strength, and so "source"; its equation (8), Example 4.2 and section
    3.4 make the whole belief sum to one, and are "global". With "global" a strength counts by the mass of its row. So
    the default is "global" of whatever depends on the distance alone, however it is written: then rows differ by what
    leaves at the edges only. Of other functions of both strengths, of those with hyperparameters of their own, and of
    other matrices it is "source".

        def steadier(x, y, *, low: Annotated[float, "positive"] = 0.1, slope: float = -0.2):
            return jnp.exp(-0.5 * ((y - x) / (low * jnp.exp(slope * x))) ** 2)

        system = jr.blat_mmr(kernel=jr.extend.kernels.Kernel(steadier))
        system.params.slope  # -0.2
    """

    shape: Any = "gaussian"
    weights: tuple[float, ...] = (1.0,)
    widths: tuple[float, ...] = (1.0,)
    clock: str = "match"  # "match": after every match; "time": variance per unit of time, when it has passed
    edges: str | None = None
    own: bool = False  # players have a factor of the width, `State.width`

    def __repr__(self) -> str:
        fields = zip(self._fields, self, Kernel._field_defaults.values(), strict=True)
        return f"Kernel({', '.join(f'{name}={display_name(x)}' for name, x, usual in fields if x != usual)})"


KERNELS = {
    "gaussian": Kernel(edges="global"),
    "laplace": Kernel("laplace", edges="global"),
    "gaussian_by_time": Kernel(clock="time", edges="global"),
    "laplace_by_time": Kernel("laplace", clock="time", edges="global"),
}
FIELD_CHOICES = {"shape": ("gaussian", "laplace"), "clock": ("match", "time"), "edges": ("global", "source")}


def parse(kernel: Kernel | str | None) -> Kernel | None:
    """A checked kernel; None and "none" are the identity (Example 2.17)."""
    if kernel is None or (isinstance(kernel, str) and kernel == "none"):
        return None
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"unknown kernel {kernel!r}{did_you_mean_suffix(kernel, KERNELS)} (there are "
                f"{', '.join(KERNELS)}, and none)"
            )
        return KERNELS[kernel]
    if type(kernel) is tuple and len(kernel) == len(Kernel._fields):  # as a saved run holds it
        kernel = Kernel(*kernel)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"a kernel is a name or a jr.extend.kernels.Kernel, got {kernel!r}")
    if not isinstance(kernel.shape, str):
        kernel = _check_and_normalise_custom_kernel(kernel)
    elif kernel.edges is None:
        kernel = kernel._replace(edges="global")
    for field, allowed in FIELD_CHOICES.items():
        value = getattr(kernel, field)
        chosen_later = field == "edges" and value is None  # when the strengths are known
        if value not in allowed and not (chosen_later or (field == "shape" and has_custom_shape(kernel))):
            raise ValueError(f"the kernel's {field} is one of {', '.join(allowed)}, got {value!r}")
    weights, widths = kernel.weights, kernel.widths
    if len(weights) != len(widths) or not weights or min(weights) < 0 or abs(sum(weights) - 1.0) > 1e-9:
        raise ValueError(f"a kernel has as many weights as widths, and they sum to 1; got {weights} and {widths}")
    if not all(0 < width < math.inf for width in widths):
        raise ValueError(f"the widths of a kernel are above 0, got {widths}")
    return kernel


def _check_and_normalise_custom_kernel(kernel: Kernel) -> Kernel:
    """A kernel of one's own as a plain value; with its edges, if it is of the distance."""
    if not callable(kernel.shape):
        try:
            table = np.asarray(kernel.shape, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"a kernel's shape is a name, a function or a matrix, got {kernel.shape!r}") from None
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
            raise ValueError(f"a kernel's matrix is [n, n], got shape {table.shape}")
        kernel = kernel._replace(shape=hashable_array(table))
    elif not 1 <= shape_function_arguments(kernel).num_required <= 3:
        raise ValueError(
            f"kernel {display_name(kernel.shape)}: it takes a distance, two strengths, or these and a width, each "
            f"without a default; this one takes {shape_function_arguments(kernel).num_required}"
        )
    plain = (kernel.weights, kernel.widths, kernel.clock, kernel.own) == ((1.0,), (1.0,), "match", False)
    if not (plain or has_width(kernel)):
        raise ValueError(
            f"kernel {display_name(kernel.shape)}: it has no width that a mixture, a clock or a player could change; "
            "take a function of the distance, or f(x, y, width)"
        )
    return kernel._replace(edges="global") if kernel.edges is None and depends_on_distance(kernel) else kernel


def has_custom_shape(kernel: Kernel) -> bool:
    """Whether its shape has no name."""
    return not isinstance(kernel.shape, str)


def shape_function_arguments(kernel: Kernel | None) -> FunctionArguments:
    """What its function takes; nothing for other shapes."""
    return inspect_arguments(kernel.shape) if kernel is not None and callable(kernel.shape) else NO_ARGUMENTS


def depends_on_distance(kernel: Kernel) -> bool:
    """Whether the kernel is a function of the distance of two strengths alone."""
    return not has_custom_shape(kernel) or shape_function_arguments(kernel).num_required == 1


def has_width(kernel: Kernel) -> bool:
    """Whether the kernel has a width, which may be fitted."""
    return not has_custom_shape(kernel) or shape_function_arguments(kernel).num_required in (1, 3)
