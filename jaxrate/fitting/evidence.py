"""Hyperparameters by the evidence: how likely all results are together, by expectation propagation.

At its fixed point the evidence does not change with the sites, to first order (Minka 2001, "Expectation propagation for
approximate Bayesian inference"; Seeger 2005, "Expectation propagation for exponential families"). So its slopes by
hyperparameters are those with the sites held fixed, and nothing has to be differentiated through the sweeps. That
holds where a site keeps the moments of a likelihood: not for half a win, for weights, or for Glicko's messages. And it
holds for chains that the sites do not change: where time leads a variance to `deviation_max`, what is added depends on
what was believed, and slopes are off by about one in a hundred.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.data.dataset import open_data
from jaxrate.events import Array, Matches
from jaxrate.fitting.free import Free, constrain
from jaxrate.records.metrics import NumPy
from jaxrate.replay.compiling import side_by_side
from jaxrate.replay.schedule import check
from jaxrate.smoothing.smooth import model_of
from jaxrate.smoothing.sweeps import shares, sweep
from jaxrate.smoothing.timelines import Timelines, timelines
from jaxrate.system import Params, RatingSystem
from jaxrate.systems.skills.model import Model

TOLERANCE, SWEEPS = 3e-4, 400
BEND = 0.1  # the longest step of a difference of slopes


class History(NamedTuple):
    """A history whose evidence is to be great."""

    model: Model
    lines: Timelines
    length: int  # matches


class Searched(NamedTuple):
    """What is fixed in a search."""

    model: Model
    free: Free

    @property
    def size(self) -> int:
        return self.model.size


def check_method(method: str, given: dict[str, Any]) -> None:
    """ValueError for another method than the evidence, or for options that it does not take and that are not None."""
    if method != "evidence":
        raise ValueError(f'method must be "ahead" or "evidence", got {method!r}')
    if names := ", ".join(sorted(name for name, value in given.items() if value is not None)):
        raise ValueError(f'method="evidence" counts all matches alike, and takes no {names}')


def opened(system: RatingSystem, data: Any) -> History:
    """ValueError where slopes of the evidence are not those with fixed sites."""
    params: Any = system.params
    model, events = model_of(system), open_data(data)[0]
    if not isinstance(events, Matches):
        raise ValueError("the evidence is of matches, each at its own time; take method='ahead'")
    matches = check(events)
    if model.outcome == "logistic":
        raise ValueError("the evidence of skills('logistic') has no slopes, as its messages are Glicko's; take 'win'")
    if matches.context.weight is not None and (np.asarray(matches.context.weight) != 1).any():
        raise ValueError("the evidence is of whole matches, but there are weights other than 1; leave them out")
    drawn = (matches.score != 0) & (matches.score != 1)
    if model.outcome == "win" and params.draw_margin is None and drawn.any():
        row = int(np.flatnonzero(drawn)[0])
        raise ValueError(f"row {row} is no win and no loss: half a win has no likelihood; give a draw_margin")
    known = int(np.max(matches.player)) + 1
    return History(model, timelines(matches, known, model.seasons, model.size), len(matches.score))


@side_by_side
def _slopes(fixed: Searched, lines: Timelines, site: Any, x: Array, unit: Array, params: Params) -> Any:
    """[size] minus the shares of the evidence, and their slopes [k, size]."""
    model, free = fixed

    def lost(x: Array) -> Array:
        return -shares(model, constrain(free, x, unit, params), lines, site)

    return lost(x), lax.map(lambda along: jax.jvp(lost, (x,), (along,))[1], jnp.eye(len(x)))


def calculate(what: str, given: History, free: Free, x: NumPy, unit: NumPy, params: Params, curved: Any) -> Any:
    """As `slopes.calculate`, of minus the evidence: sums, for all matches count 1."""
    one = partial(_look, given, free, unit)
    rows = [(x[i], jax.tree.map(lambda y: float(y[i]), params)) for i in range(len(x))]  # noqa: B023
    if what == "hessian":
        return np.stack([_hessian(one, *row, curved) for row in rows])
    losses = [one(*row) for row in rows]
    value, slope, product = (np.stack(y) for y in zip(*losses, strict=True))
    values = np.stack([value, np.zeros_like(value)], axis=1)
    return values if what == "values" else (values, slope, product)


def _look(given: History, free: Free, unit: NumPy, x: NumPy, params: Params) -> tuple[float, NumPy, NumPy]:
    """Minus the evidence, its slopes [k], and [k, k] the sum of products of those of matches."""
    model, lines, n = given
    at, units = jnp.asarray(x, float), jnp.asarray(unit, float)
    held = jax.tree.map(lambda y: jnp.asarray(y, float), params)
    swept = sweep(model, constrain(free, at, units, held), lines, TOLERANCE, SWEEPS)
    if not swept.change <= TOLERANCE:
        return np.nan, np.full(len(x), np.nan), np.full((len(x), len(x)), np.nan)
    found = _slopes(Searched(model, free), lines, swept.site, at, units, held)
    lost, slope = (np.asarray(y, np.float64)[..., :n] for y in found)
    return float(lost.sum()), slope.sum(axis=1), slope @ slope.T


def _hessian(one: Any, x: NumPy, params: Params, curved: Any) -> NumPy:
    """[k, k] by differences of slopes over about a standard error to either side."""
    product, whole = one(x, params)[2], np.zeros((len(x), len(x)))
    chosen = np.arange(len(x)) if curved is None else np.asarray(curved)
    for i in chosen:
        step = min(BEND, 1.0 / np.sqrt(product[i, i]))
        sides = [one(x + sign * step * np.eye(len(x))[i], params)[1] for sign in (1.0, -1.0)]
        whole[i] = (sides[0] - sides[1]) / (2.0 * step)
    return 0.5 * (whole + whole.T)
