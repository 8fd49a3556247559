"""Pictures of fits: the loss about the best parameters, and its profile in one of them."""

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.fitting.fit_results import Fit, LossProfile
from jaxrate.fitting.free_parameters import make_free_parameters, to_hyperparameters
from jaxrate.fitting.hyperparameter_fit import make_training_task
from jaxrate.fitting.losses import loss_label
from jaxrate.fitting.parameter_sweeps import sweep_parameters
from jaxrate.plots.plot_helpers import COLOURS, GREY, Z_95, add_legend, events_names_clock, make_axes
from jaxrate.system import RatingSystem
from jaxrate.types import HostArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANGE_IN_DEVIATIONS = 3.0  # standard errors to either side
MAX_RANGE = 2.0  # in logarithms and logits, if the standard error is larger, or there is none
CONTOUR_LEVELS = 1, 3, 6, 10, 15, 25, 50, 100, 250, 500, 1000
ELLIPSE_DROP = 2.0 * math.log(20.0)  # the 95 % quantile of chi squared of 2
INTERVAL_DROP = 0.5 * Z_95**2  # of one parameter: the summed loss may be so far above its least
MAX_LOSS_SHOWN = 20.0  # nats of a profile that are shown


@check_arguments
def loss_surface(
    fit: Fit, data: Any, x: str | None = None, y: str | None = None, *, points: int = 21, ax: "Axes | None" = None
) -> "Axes":
    """The loss about a fit, over two of its parameters: contours, the optimum, and its 95 % confidence ellipse.

        jr.plots.loss_surface(jr.fit(jr.glicko(), data, free=("c", "initial_deviation")), data)

    It is the loss that was fitted, of the events that were fitted: `fit.options` says which. Contours are of its sum
    above the fit's, in nats of log losses; that of 3 is the 95 % region by the likelihood, to be compared with the
    ellipse, which is by `fit.covariance`. The other parameters stay as fitted in the contours; the ellipse knows that
    they were fitted too, and is wider; there is none if one of the two is open. Positive parameters have logarithmic
    axes.

    Args:
      fit: as from `jr.fit`.
      data: the events that were given to `jr.fit`, or their `Dataset`.
      x, y: names among `fit.free`. None: the first two.
      points: of the grid in either direction, from 3; so many squared settings are swept.

    Raises:
      ValueError: for names that were not fitted, or as `jr.fitting.sweep_parameters`.
    """
    events, system = events_names_clock(data)[0], fit.system
    names = _choose_parameters(fit, x, y)
    if points < 3:
        raise ValueError(f"points must be at least 3, got {points}")
    form, centre = make_free_parameters(system, names)
    real = np.array(form.spaces) == "real"

    def at(where: Any) -> Any:
        """The hyperparameters at real numbers [2]; bounds move as in a fit."""
        return to_hyperparameters(form, where, np.ones(2, where.dtype), jax.tree.map(jnp.asarray, fit.params))

    def both(params: Any) -> HostArray:
        return np.stack([np.asarray(getattr(params, name), np.float64) for name in names], axis=-1)

    place = [fit.free.index(name) for name in names]
    covariance = fit.covariance[np.ix_(place, place)]
    known = np.isfinite(np.diag(covariance))
    slope = both(jax.jacfwd(at)(jnp.asarray(centre, float))).T
    wide = RANGE_IN_DEVIATIONS * np.sqrt(np.diag(covariance)) / np.abs(np.diag(slope))
    if known.all():
        covariance = np.linalg.solve(slope, np.linalg.solve(slope, covariance).T)
        wide = RANGE_IN_DEVIATIONS * np.sqrt(np.diag(covariance))
    reach = np.where(real, np.where(known, wide, np.maximum(np.abs(centre), 1.0)), np.minimum(wide, MAX_RANGE))
    span = np.linspace(-1.0, 1.0, points)
    grid = centre + reach * np.stack(np.meshgrid(span, span), axis=-1)
    params = jax.vmap(jax.vmap(at))(jnp.asarray(grid, float))
    columns = jax.tree.map(np.append, params, fit.params)
    swept, count = sweep_parameters(fit, events, columns), make_training_task(system, events, fit.options).weight.sum()
    above = np.ma.masked_invalid(count * (swept[:-1] - swept[-1])).reshape(points, points)
    ax = make_axes(ax, None, f"The loss about a fit of {fit.system.name}")
    place_of, levels = both(params), [level for level in CONTOUR_LEVELS if level < above.max()]
    if len(levels) < 2:
        levels = list(np.linspace(above.min(), above.max(), 7)[1:-1])
    lines = ax.contour(place_of[..., 0], place_of[..., 1], above, levels, colors=GREY, linewidths=0.8)
    ax.clabel(lines, fontsize="small", fmt="%g")
    for axis, name, values in zip("xy", names, place_of.reshape(-1, 2).T, strict=True):
        _set_parameter_axis(ax, axis, system, name, values)
        ax.set(**{f"{axis}lim": (values.min(), values.max())})
    if known.all():
        turn = np.linspace(0.0, 2.0 * np.pi, 181)
        ring = (
            np.sqrt(ELLIPSE_DROP) * np.stack([np.cos(turn), np.sin(turn)], axis=-1) @ np.linalg.cholesky(covariance).T
        )
        ellipse = both(jax.vmap(at)(jnp.asarray(centre + ring, float)))
        ax.plot(*ellipse.T, "--", color=COLOURS[1], label="95 % by the curvature")
    ax.plot(*both(fit.params), "o", color=COLOURS[0], label="fit")
    add_legend(ax, f"summed {loss_label(fit.options.loss)} above the fit's")
    return ax


@check_arguments
def profile(result: LossProfile, *, ax: "Axes | None" = None) -> "Axes":
    """The summed loss above its least by the values of one parameter, and the 95 % interval it gives.

        jr.plots.profile(jr.fitting.profile_loss(jr.glicko(), data, "c", [5, 10, 20], free=["initial_deviation"]))

    The interval is where it lies less than 1.92 above its least, by interpolating its square root, which is nearly
    straight; the least is that of the parabola through the lowest three. It is open where the values do not reach far
    enough. Only the log loss of matches gives one: other sums are no likelihoods. Shown are the lowest 20 nats.

    Args:
      result: as from `jr.fitting.profile_loss`.

    Raises:
      ValueError: for fewer than three values with finite losses.
    """
    system, name, count = result.system, result.name, result.weight
    fine = np.isfinite(result.loss)
    value, first = np.unique(result.value[fine], return_index=True)
    if len(value) < 3:
        raise ValueError(f"a profile needs three values with finite losses, got {len(value)}")
    loss = result.loss[fine][first]
    log = getattr(system.space, name).space == "positive" and bool(value[0] > 0)
    t = np.log(value) if log else value
    lowest = int(np.argmin(loss))
    best, least, first_of = t[lowest], loss[lowest], min(max(lowest - 1, 0), len(t) - 3)
    three = slice(first_of, first_of + 3)
    bend, tilt, base = np.polyfit(t[three] - best, loss[three] - least, 2)
    if bend > 0 and t[0] < best - 0.5 * tilt / bend < t[-1]:
        best, least = best - 0.5 * tilt / bend, least + base - 0.25 * tilt**2 / bend
    root = np.sign(t - best) * np.sqrt(np.maximum(count * (loss - least), 0.0))
    known = t != best
    nodes, roots = np.append(t[known], best), np.append(root[known], 0.0)
    nodes, roots = nodes[np.argsort(nodes)], roots[np.argsort(nodes)]
    ends = _interval_end(-nodes[::-1], -roots[::-1], -best), _interval_end(nodes, roots, best)
    low, high = (np.exp(x) if log else x for x in (-ends[0], ends[1]))
    dense = np.linspace(nodes[0], nodes[-1], 401)
    ax = make_axes(ax, None, f"The loss by {result.name}")
    if result.likelihood:
        said = f"{low:.4g} to {high:.4g}"
        if np.isinf(ends[1]):
            said = f"above {low:.4g}" if np.isfinite(ends[0]) else "all of these"
        elif np.isinf(ends[0]):
            said = f"below {high:.4g}"
        within = max(low, value[0]), min(high, value[-1])
        ax.axvspan(*within, color=COLOURS[4], alpha=0.25, linewidth=0, label=f"95 %: {said}")
        ax.axhline(INTERVAL_DROP, color=GREY, linestyle="--", linewidth=0.8)
    ax.plot(np.exp(dense) if log else dense, np.interp(dense, nodes, roots) ** 2, color=COLOURS[0], linewidth=1.0)
    ax.plot(value, count * (loss - least), "o", color=COLOURS[0], markersize=4)
    top = min(MAX_LOSS_SHOWN, 1.05 * count * (loss.max() - least))
    unit = "" if result.loss_function == "brier" else " (nats)"
    ax.set(ylabel=f"summed excess {result.loss_function.replace('_', ' ')}{unit}")
    ax.set_ylim(0.0, max(top, 2.0 * INTERVAL_DROP) if result.likelihood else None)
    _set_parameter_axis(ax, "x", system, name, value)
    if result.likelihood:
        add_legend(ax)
    return ax


def _interval_end(t: HostArray, root: HostArray, best: float) -> float:
    """Where, from the best value up, the summed loss first lies `LINE` above its least; inf if nowhere."""
    up = t >= best
    out = np.maximum.accumulate(root[up])
    return float(np.interp(math.sqrt(INTERVAL_DROP), out, t[up])) if out[-1] >= math.sqrt(INTERVAL_DROP) else math.inf


def _choose_parameters(fit: Fit, x: str | None, y: str | None) -> tuple[str, str]:
    names = tuple(name for name in (x, y) if name is not None)
    for name in names:
        if name not in fit.free:
            raise ValueError(f"{name!r} was not fitted (those were {', '.join(fit.free)})")
    names += tuple(name for name in fit.free if name not in names)
    if len(names) < 2 or names[0] == names[1]:
        raise ValueError(f"a surface needs two parameters, but the fit is of {', '.join(fit.free)}: see `profile`")
    return (names[1], names[0]) if x is None and y is not None else (names[0], names[1])


def _set_parameter_axis(ax: "Axes", axis_name: str, system: RatingSystem, name: str, values: HostArray) -> None:
    """Label, limits and scale; a logarithmic axis of less than a decade has plain numbers at its ticks."""
    from matplotlib.ticker import MaxNLocator, NullLocator, ScalarFormatter

    about, low, high = getattr(system.space, name), values.min(), values.max()
    ax.set(**{f"{axis_name}label": f"{name} ({about.unit})"})
    if about.space == "positive" and low > 0:
        ax.set(**{f"{axis_name}scale": "log"})
        if high < 10.0 * low:
            axis = getattr(ax, f"{axis_name}axis")
            axis.set_major_locator(MaxNLocator(5))
            axis.set_major_formatter(ScalarFormatter())
            axis.set_minor_locator(NullLocator())
