"""Plots of fits and of beliefs: the loss near the best hyperparameters, its profile in one of them, BlatMMR's grids."""

import math
from typing import Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import RectBivariateSpline  # type: ignore[import-untyped]

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.optional_imports import import_optional
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.fit_results import Fit, LossProfile
from jaxrate.fitting.free_parameters import make_free_parameters, to_hyperparameters
from jaxrate.fitting.losses import loss_label
from jaxrate.fitting.parameter_sweeps import sweep_parameters, upper_border_crossing
from jaxrate.fitting.prediction_task import make_prediction_task
from jaxrate.history.blat_mmr_beliefs import belief_grid
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.history import find_player_id
from jaxrate.history.recorded_runs import rating_history as record
from jaxrate.plots import plot_style as style
from jaxrate.plots.matplotlib_charts import show
from jaxrate.plots.plot_style import COLOURS, GREY, Canvas
from jaxrate.systems.system_titles import system_title
from jaxrate.views.charts import Z_95, Layer, LayerView, PictureText, Scale, logarithmic_scale, round_ticks, tight_scale
from jaxrate.views.wording import format_with_unit, rating_unit

RANGE_IN_DEVIATIONS = 3.0  # standard errors to either side
MAX_RANGE = 2.0  # in logarithms and logits, if the standard error is larger or unknown
CONTOUR_LEVELS = 1, 3, 6, 10, 15, 25, 50, 100, 250, 500, 1000
ELLIPSE_DROP = 2.0 * math.log(20.0)  # the 95% quantile of chi squared with 2 degrees of freedom
INTERVAL_DROP = 0.5 * Z_95**2  # 95% interval of one parameter: the summed loss above its minimum
REFINEMENT = 8  # steps of a drawn surface to one of its grid, so that contours have no corners
MAX_LOSS_SHOWN = 20.0  # height of a profile in nats


@enforce_argument_annotations
def loss_surface(
    fit: Fit, data: Any, x: str | None = None, y: str | None = None, *, points: int = 21, **canvas: Unpack[Canvas]
) -> Any:
    """Plot the loss near a fit over two of its hyperparameters: contours, the optimum, and its 95% confidence ellipse.

        jr.plots.loss_surface(jr.fit(jr.glicko(), data, free=("c", "initial_deviation")), data)

    Loss and events are those of the fit, in `fit.objective`. Contours show the summed loss above the fit's, in nats of
    log loss. The contour at 3 is the 95% region by the likelihood, to be compared with the ellipse, which follows from
    `fit.covariance`. Along the contours the other hyperparameters are fixed. The ellipse allows for their fit, and is
    wider; it is missing if one of the two is open. Axes of positive hyperparameters are logarithmic.

    Args:
      fit: a fit from `jr.fit`.
      data: the events that were given to `jr.fit`, or their `Dataset`.
      x: the name of a hyperparameter in `fit.free`. None: the first.
      y: the name of another one. None: the second.
      points: number of grid points in either direction, from 3; its square is the number of replays.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for names that were not fitted, or as for `jr.fitting.sweep_parameters`.
    """
    style.check_backend(**canvas)
    data, system = style.to_dataset(data), fit.system
    names = _choose_two_fitted_parameters(fit, x, y)
    check_that(points >= 3, f"points must be at least 3, got {points}")
    surface = _FitSurface(fit, names)
    columns = jax.tree.map(np.append, surface.params_on_grid(points), fit.params)
    count = make_prediction_task(system, data.events, fit.objective).weight.sum()
    swept = sweep_parameters(fit, data.events, columns)
    excess_loss = _refine_surface(np.ma.masked_invalid(count * (swept[:-1] - swept[-1])).reshape(points, points))
    fitted = [f"{name.replace('_', ' ')} {getattr(fit.params, name):.3g}" for name in names]
    grid_values = surface.axis_values(surface.params_on_grid(len(excess_loss)))
    scales = [_parameter_scale(system, name, grid_values[..., i]) for i, name in enumerate(names)]
    text = PictureText(
        f"Best fit at {' and '.join(fitted)}",
        f"Loss of {system_title(system.name)} near its fit; contours: summed loss above that of the fit",
        _parameter_label(system, names[0]),
        _parameter_label(system, names[1]),
        style.describe_counted_data(f"{count:,.15g} predictions", data.source),
    )
    layers = _contour_layers(grid_values, excess_loss)
    if surface.has_error.all():
        x_values, y_values = surface.ellipse().T
        layers.append(Layer("line", x_values, y_values, colour=COLOURS[1], dash="--", label="95% by the curvature"))
    x_values, y_values = surface.axis_values(fit.params)[:, None]
    layers.append(Layer("line", x_values, y_values, dash="", marker="o", label="fit"))
    legend = f"summed {loss_label(fit.objective.loss)} above the fit's"
    return show(LayerView(text, layers, scales[0], scales[1], (6.4, 5.6), legend), **canvas)


def _contour_layers(grid_values: HostArray, excess_loss: Any) -> list[Layer]:
    """The contours of losses [n, n] at these values [n, n, 2], each with its loss at its middle."""
    levels = [level for level in CONTOUR_LEVELS if level < excess_loss.max()]
    if len(levels) < 2:
        levels = list(np.linspace(excess_loss.min(), excess_loss.max(), 7)[1:-1])
    contours = import_optional("contourpy").contour_generator(grid_values[..., 0], grid_values[..., 1], excess_loss)
    layers, labels = [], []
    for level in levels:
        for line in contours.lines(level):
            (x, y), middle = line.T, slice(len(line) // 2, len(line) // 2 + 1)
            layers.append(Layer("line", x, y, colour=GREY, width=0.8))
            labels.append(Layer("texts", x[middle], y[middle], values=[f"{level:.3g}"], colour=GREY))
    return [*layers, *labels]


class _FitSurface:
    """The hyperparameters near a fit, by two real numbers about its centre; bounds move as in a fit."""

    def __init__(self, fit: Fit, names: tuple[str, str]) -> None:
        self.fit, self.names = fit, names
        self.form, self.centre = make_free_parameters(fit.system, names)
        index = [fit.free.index(name) for name in names]
        self.covariance = fit.covariance[np.ix_(index, index)]
        self.has_error = np.isfinite(np.diag(self.covariance))
        slope = self.axis_values(jax.jit(jax.jacfwd(self.params_at))(jnp.asarray(self.centre, float))).T
        error = np.sqrt(np.diag(self.covariance)) / np.abs(np.diag(slope))
        if self.has_error.all():
            self.covariance = np.linalg.solve(slope, np.linalg.solve(slope, self.covariance).T)
            error = np.sqrt(np.diag(self.covariance))
        width = RANGE_IN_DEVIATIONS * error
        largest = np.where(self.has_error, width, np.maximum(np.abs(self.centre), 1.0))
        self.half_width = np.where(np.array(self.form.spaces) == "real", largest, np.minimum(width, MAX_RANGE))

    def params_at(self, coordinates: Any) -> Any:
        """The fitted hyperparameters, but for the two that are drawn, at unbounded coordinates [2]."""
        fitted = jax.tree.map(jnp.asarray, self.fit.params)
        return to_hyperparameters(self.form, coordinates, fitted)

    def params_on_grid(self, count: int) -> Any:
        """The hyperparameters on a grid of so many points in either direction."""
        span = np.linspace(-1.0, 1.0, count)
        grid = self.centre + self.half_width * np.stack(np.meshgrid(span, span), axis=-1)
        return jax.jit(jax.vmap(jax.vmap(self.params_at)))(jnp.asarray(grid, float))

    def axis_values(self, params: Any) -> HostArray:
        """[..., 2] the values of the two hyperparameters."""
        return np.stack([np.asarray(getattr(params, name), np.float64) for name in self.names], axis=-1)

    def ellipse(self) -> HostArray:
        """[k, 2] the values on the 95% confidence ellipse."""
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        circle = np.sqrt(ELLIPSE_DROP) * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        ring = self.centre + circle @ np.linalg.cholesky(self.covariance).T
        return self.axis_values(jax.vmap(self.params_at)(jnp.asarray(ring, float)))


@enforce_argument_annotations
def profile(result: LossProfile, **canvas: Unpack[Canvas]) -> Any:
    """Plot the summed loss above its minimum by values of one hyperparameter, with its 95% interval.

        jr.plots.profile(jr.fitting.profile_loss(jr.glicko(), data, "c", [5, 10, 20], free=["initial_deviation"]))

    The interval is where the loss is less than 1.92 above its minimum, by interpolation of its square root, which is
    nearly straight; the minimum is that of the parabola through the lowest three points. The interval is open where the
    values do not reach far enough. Only the log loss of matches has an interval: other sums are no likelihoods. The
    lowest 20 nats are shown.

    Args:
      result: a profile from `jr.fitting.profile_loss`.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for fewer than three values with finite losses.
    """
    system, name, count = result.system, result.name, result.weight
    is_finite = np.isfinite(result.loss)
    value, first = np.unique(result.value[is_finite], return_index=True)
    if len(value) < 3:
        raise ValueError(f"a profile needs three values with finite losses, got {len(value)}")
    loss = count * result.loss[is_finite][first]
    is_logarithmic = getattr(system.space, name).space == "positive" and bool(value[0] > 0)
    to_nodes, restore = (np.log, np.exp) if is_logarithmic else (np.asarray, np.asarray)
    nodes, roots, lowest, least = _signed_root_losses(to_nodes(value), loss)
    border, above, below = math.sqrt(INTERVAL_DROP), nodes >= lowest, nodes <= lowest
    low = -upper_border_crossing(-nodes[below][::-1], -roots[below][::-1], border)
    ends = low, upper_border_crossing(nodes[above], roots[above], border)
    low, high = (float(restore(x)) if np.isfinite(x) else x for x in ends)
    words, best = name.replace("_", " "), float(restore(lowest))
    best_text = format_with_unit(best, "") if best >= 100 else f"{best:.3g}"
    text = PictureText(  # a symbol of one letter, as c, keeps its case
        f"Best fit at {words} {best_text}" if len(words) == 1 else f"{words.capitalize()} fits best at {best_text}",
        f"Loss of {system_title(system.name)}; each dot is fitted anew in the other free hyperparameters",
        _parameter_label(system, name),
        f"summed excess {result.loss_function.replace('_', ' ')}{' (nats)' * (result.loss_function != 'brier')}",
        source=style.describe_counted_data(f"{count:,.15g} predictions"),
    )  # fmt: skip
    dense, top, layers = np.linspace(nodes[0], nodes[-1], 401), float(loss.max() - least) or 1.0, list[Layer]()
    if result.likelihood:
        top = max(min(MAX_LOSS_SHOWN, top), 2.0 * INTERVAL_DROP)
        left, right = np.array([[max(low, value[0])], [min(high, value[-1])]])
        label = f"95%: {_describe_interval(low, high)}"
        span = Layer("boxes", left, np.zeros(1), right, np.array([1.05 * top]), colour=COLOURS[4], label=label)
        limit = Layer("line", value[[0, -1]], np.full(2, INTERVAL_DROP), colour=GREY, width=0.8, dash="--")
        layers = [span._replace(opacity=0.25), limit]
    curve = np.interp(dense, nodes, roots) ** 2
    layers.append(Layer("line", restore(dense), np.minimum(curve, 2.0 * top), width=1.0))
    layers.append(Layer("line", value, loss - least, dash="", marker="o"))
    y = Scale(0.0, 1.05 * top, round_ticks(0.0, top, 8)[:-1])
    x = _parameter_scale(system, name, restore(dense[curve <= y.high]))
    return show(LayerView(text, layers, x, y, (6.4, 4.4)), **canvas)


def _signed_root_losses(nodes: HostArray, loss: HostArray) -> tuple[HostArray, HostArray, float, float]:
    """Signed roots of losses above their least, nearly straight, by their nodes, of which one is the best; and both."""
    lowest = int(np.argmin(loss))
    best, least, begin = nodes[lowest], loss[lowest], min(max(lowest - 1, 0), len(nodes) - 3)
    three = slice(begin, begin + 3)
    curvature, slope, base = np.polyfit(nodes[three] - best, loss[three] - least, 2)
    if curvature > 0 and nodes[0] < best - 0.5 * slope / curvature < nodes[-1]:
        best, least = best - 0.5 * slope / curvature, least + base - 0.25 * slope**2 / curvature
    roots = np.sign(nodes - best) * np.sqrt(np.maximum(loss - least, 0.0))
    with_best, place = np.unique(np.append(best, nodes), return_index=True)  # a node that is the best comes second
    return with_best, np.append(0.0, roots)[place], float(best), float(least)


def _describe_interval(low: float, high: float) -> str:
    if math.isinf(low):
        return "all of these" if math.isinf(high) else f"below {high:.4g}"
    return f"above {low:.4g}" if math.isinf(high) else f"{low:.4g} to {high:.4g}"


def _refine_surface(values: Any) -> Any:
    """Values [n, n] on a grid, with more points between them by cubic splines; the same values if some are missing."""
    if np.ma.is_masked(values):
        return values
    nodes, degree = np.arange(len(values)), min(3, len(values) - 1)
    steps = np.linspace(0.0, nodes[-1], REFINEMENT * (len(values) - 1) + 1)
    return RectBivariateSpline(nodes, nodes, np.asarray(values), kx=degree, ky=degree)(steps, steps)


def _choose_two_fitted_parameters(fit: Fit, x: str | None, y: str | None) -> tuple[str, str]:
    for name in {x, y} - {None, *fit.free}:
        raise ValueError(f"{name!r} was not fitted (those were {', '.join(fit.free)})")
    if x == y is not None or len(fit.free) < 2:
        raise ValueError(f"a surface needs two parameters, but the fit is of {', '.join(fit.free)}: see `profile`")
    others = iter([name for name in fit.free if name not in (x, y)])
    return x or next(others), y or next(others)


def _parameter_label(system: RatingSystem, name: str) -> str:
    unit = getattr(system.space, name).unit_in_print
    return name.replace("_", " ") + f" ({unit})" * bool(unit)


def _parameter_scale(system: RatingSystem, name: str, values: HostArray) -> Scale:
    """The axis of these values of a hyperparameter; a positive one is on a logarithmic axis."""
    is_logarithmic = getattr(system.space, name).space == "positive" and bool(values.min() > 0)
    return (logarithmic_scale if is_logarithmic else tight_scale)(values)


MATCHES_PER_CHUNK = 1 << 16  # matches whose beliefs are in memory at once: half a gigabyte for 1001 points
MAX_COLUMNS = 400  # columns of a heat map


@enforce_argument_annotations
def belief(system: RatingSystem, data: Any, player: Any, *, params: Params = None, **canvas: Unpack[Canvas]) -> Any:
    """Plot BlatMMR's belief about a player's strength through a history: a heat map, its mean and its 95% interval.

        jr.plots.belief(jr.blat_mmr(), data, "Ada")

    Each column is the belief before the player's next match, from the match before on; the last column is the belief
    after the last match, up to the end of the history. At most 400 columns are drawn. The history is rated again.

    Args:
      system: a system from `blat_mmr` with a grid.
      data: the `Dataset`, or its matches.
      player: the player, by name or id.
      params: hyperparameters, by default `system.params`.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for a system without a grid, for rounds, or for a player who is unknown or plays only at the end of
        the history.
    """
    rating = belief_grid(system)
    data = style.to_dataset(data)
    matches, names = data.matches, data.players
    end, clock = _match_times(data)
    participants = np.asarray(matches.player)
    number = find_player_id(names, player, max(int(participants.max()) + 1, 0 if names is None else len(names)))
    name = style.player_label(number, names)
    edge = np.append(end[(participants == number).any(axis=1)], end[-1])
    last = np.flatnonzero(edge[1:] > edge[:-1])  # the last of several matches at one time
    check_that(len(last), f"{name} has no match before the end of the history: there is nothing to draw")
    last = last[np.unique(np.linspace(0, len(last) - 1, min(len(last), MAX_COLUMNS)).round().astype(int))]
    edge, beliefs = np.append(edge[last], edge[-1]), _beliefs_after_matches(system, matches, number, params)[last]
    style.check_ratings_finite(name, beliefs)
    mass = np.cumsum(beliefs, axis=1)
    low, high = (rating[np.argmax(mass >= share, axis=1)] for share in (0.025, 0.975))
    rating_range = rating[[np.argmax(mass >= 0.001, axis=1).min(), np.argmax(mass >= 0.999, axis=1).max()]]
    is_shown = (rating >= rating_range[0]) & (rating <= rating_range[1])
    step = rating[1] - rating[0]
    density = beliefs[:, is_shown].T
    subtitle = f"By {system_title(system.name)}: the stronger the colour, the likelier the strength; before each match"
    ends, unit = (format_with_unit(x[-1], "", 0) for x in (low, high)), rating_unit(system)
    title = f"{name} ended between {' and '.join(ends)} {unit}, with 95% probability"
    text = PictureText(title, subtitle, clock, style.rating_axis_label(system), style.describe_source(data))
    y = np.append(rating[is_shown] - 0.5 * step, rating_range[1] + 0.5 * step)
    layers = [Layer("heat", edge, y, values=density / np.quantile(density.max(axis=0), 0.9))]
    for line, dash, label in ((beliefs @ rating, "-", "mean"), (low, ":", "95% interval"), (high, ":", "")):
        steps = np.append(line, line[-1])
        layers.append(Layer("line", edge, steps, colour=COLOURS[1], width=1.0, dash=dash, is_stepped=True, label=label))
    days = edge.astype("datetime64[us]").astype(float) / 86_400e6 if clock == "date" else edge.astype(float)
    scales = [tight_scale(x)._replace(low=float(x[0]), high=float(x[-1])) for x in (days, y)]
    return show(LayerView(text, layers, scales[0], scales[1], (8.0, 4.8), name), **canvas)


def _match_times(data: Dataset) -> tuple[HostArray, str]:
    """[m] the times of matches, or their numbers if no time passes; and the label of the axis."""
    time = np.asarray(data.matches.time)
    if data.clock is None or np.ptp(time) == 0:
        return np.arange(1, len(time) + 1), "matches before"
    return (days_to_dates(time), "date") if data.clock == "dates" else (time, "time")


def _beliefs_after_matches(system: RatingSystem, matches: Matches, player_id: int, params: Params) -> HostArray:
    """[m, n] the beliefs about a player after each of their m matches."""
    recording_system, count = system._replace(summary=belief_of_rows), int(np.max(matches.player)) + 1
    chunks: list[HostArray] = []
    state: Any = None
    for low in range(0, len(matches.score), MATCHES_PER_CHUNK):
        chunk = slice_events(matches, low, low + MATCHES_PER_CHUNK)
        state, _, before, _ = record(recording_system, chunk, params=params, state=state, num_players=count)
        chunks.append(np.asarray(before)[np.asarray(chunk.player) == player_id])
    return np.concatenate([*chunks, np.asarray(state.belief)[None, player_id]])[1:]


def belief_of_rows(params: Params, rows: State) -> Array:
    del params
    return rows.belief
