"""The results of fits, and how they print."""

import html
import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_count, format_html_table, format_table, join_names
from jaxrate.fitting.losses import DEFAULT_OBJECTIVE, Objective

MAX_PRINTED_VALUES = 12  # values of a profile that are printed


class HeldOutLosses(NamedTuple):
    """Mean losses of the events after those fitted, none of which the fit has seen."""

    start: float  # with the hyperparameters from which the search began
    fitted: float  # with the fitted ones
    constant: float  # of a constant prediction, the mean score before or each score's share; NaN of margins
    scored: int  # matches (pairs, participants)


class HyperparameterRatio(NamedTuple):
    """A ratio of hyperparameters, where a common scale of these is left open."""

    names: tuple[str, str]  # above, and below
    power: float  # to which the one below is raised
    value: float
    low: float  # the ends of its 95% interval
    high: float

    @property
    def label(self) -> str:
        above, below = self.names
        return f"{above} / {below}" + ("" if self.power == 1 else f"^{self.power:g}")


class Fit(NamedTuple):
    """The fitted hyperparameters. `fit` and the functions of `jr.fitting` take it in place of a system."""

    system: RatingSystem  # with the fitted hyperparameters, ready for `run`
    params: Params
    free: tuple[str, ...]  # the names of the k that were fitted
    idle: tuple[str, ...]  # those without an effect of their own on any prediction, which were not fitted
    unconstrained: dict[str, float]  # their logarithms, logits or values; of a bound, see `to_hyperparameters`
    loss: float  # mean over the matches (pairs, participants) that are fitted
    loss_history: HostArray  # [steps + 1] of it, from the start, with the share of priors
    standard_error: dict[str, float]  # in the parameter's own unit; inf of those that are open
    covariance: HostArray  # [k, k] in the parameters' own units; rows and columns of those that are open are inf
    converged: bool  # whether the search reached a least loss; not if "flat"
    reason: str  # "gradient" | "no further decrease" | "flat" (some are open) | "steps" | "diverged"
    seconds: float = 0.0
    open: tuple[str, ...] = ()  # of `free`, those that the events hardly determine: their values mean little
    objective: Objective = DEFAULT_OBJECTIVE  # with the source of errors that was taken
    held_out: HeldOutLosses | None = None  # None: no event was left out of the fit
    moved_bounds: tuple[str, ...] = ()  # hyperparameters that were not fitted, but moved with those that they bound
    ratios: tuple[HyperparameterRatio, ...] = ()  # of those that are open as only their ratios matter

    def __repr__(self) -> str:
        return f"{self.summary()}\n{format_table(TABLE_HEADER, self.table_rows(), left_aligned=LEFT_ALIGNED)}"

    def _repr_html_(self) -> str:
        summary = html.escape(self.summary()).replace("\n", "<br>")
        return f"<p>{summary}</p>{format_html_table(TABLE_HEADER, self.table_rows(), left_aligned=LEFT_ALIGNED)}"

    def summary(self) -> str:
        """The lines above the table: losses, parameters without effect or left open, held-out losses."""
        steps = format_count(len(self.loss_history) - 1, "step")
        losses = f"loss {self.loss_history[0]:.5f} at the start, {self.loss:.5f} now"
        lines = [f"{self.system.name} {SEARCH_ENDS[self.reason]} after {steps}: {losses}"]
        if self.idle:
            lines.append(f"of no effect here: {', '.join(self.idle)}")
        if self.ratios:
            lines.append(self.describe_ratios())
        if open_names := [name for name in self.open if name not in self.scaled_together]:
            lines.append(f"left open by these events: {', '.join(open_names)} (likelihood_interval says how far)")
        lines += self.cautions
        if self.held_out is not None:
            lines.append(f"of the rest, which was not fitted: {format_held_out_losses(self.held_out)}")
        return "\n".join(lines)

    @property
    def scaled_together(self) -> tuple[str, ...]:
        """The hyperparameters of which these events determine ratios alone."""
        return tuple(dict.fromkeys(name for ratio in self.ratios for name in reversed(ratio.names)))

    @property
    def cautions(self) -> list[str]:
        """Cautions about fitted hyperparameters whose intervals cover the truth less often than they promise."""
        cautions = {name: getattr(self.system.space, name).caution for name in self.free}
        return [f"caution about {name}: {text}" for name, text in cautions.items() if text]

    def describe_ratios(self) -> str:
        """The sentence on hyperparameters of which only ratios matter."""
        names, first = self.scaled_together, self.ratios[0].names[1]
        ratios = [f"{x.label} {x.value:.4g} ({x.low:.4g} to {x.high:.4g} with 95% confidence)" for x in self.ratios]
        return (
            f"only ratios of {join_names(names)} are determined, as they may grow together without changing a "
            f"prediction; give {first} and leave it out: {', '.join(ratios)}"
        )

    def table_rows(self) -> list[tuple[str, ...]]:
        """A row for each hyperparameter that was fitted, or moved with a fitted one."""
        errors = {name: f"{self.standard_error[name]:.2g}".replace("inf", "open") for name in self.free}
        errors |= dict.fromkeys(self.moved_bounds, "moved along")
        return [
            (name, f"{getattr(self.params, name):.5g}", error, getattr(self.system.space, name).unit_in_print)
            for name, error in errors.items()
        ]


def format_held_out_losses(losses: HeldOutLosses) -> str:
    """Held-out losses in words."""
    kinds = ("at the start", losses.start), ("fitted", losses.fitted), ("of a constant prediction", losses.constant)
    return "loss " + ", ".join(f"{value:.5f} {kind}" for kind, value in kinds if math.isfinite(value))


SEARCH_ENDS = {  # in print, by `Fit.reason`
    "gradient": "converged",
    "no further decrease": "converged",
    "flat": "converged, but for what is left open,",
    "steps": "has not converged",
    "diverged": "diverged",
}
TABLE_HEADER = ["hyperparameter", "fitted", "standard error", "unit"]
LEFT_ALIGNED = "hyperparameter", "unit"


class LossProfile(NamedTuple):
    """The least loss for each of some values of one parameter."""

    value: HostArray  # [V]
    loss: HostArray  # [V]
    params: Params  # leaves [V]: the best for it
    system: RatingSystem
    name: str  # of the parameter
    weight: float  # total of scored predictions: the summed loss is `weight` times `loss`
    loss_function: Any = "log_loss"  # the loss: a name or a function
    likelihood: bool = True  # whether its sum is minus a log likelihood, so that it gives intervals

    def __repr__(self) -> str:
        summary = f"{self.system.name} by {self.name}, all others fitted anew: {len(self.value)} values"
        if not np.isfinite(self.loss).any():
            return f"{summary}, none with a finite loss"
        least = int(np.nanargmin(self.loss))
        summary += f", the least loss {self.loss[least]:.5f} at {self.value[least]:.5g}"
        if len(self.value) > MAX_PRINTED_VALUES:
            return summary
        sum_above_least = self.weight * (self.loss - self.loss[least])
        columns = zip(self.value, self.loss, sum_above_least, strict=True)
        rows = [(f"{value:.5g}", f"{loss:.5f}", f"{more:.2f}") for value, loss, more in columns]
        return f"{summary}\n{format_table([self.name, 'loss', 'sum above the least'], rows)}"


class RollingFits(NamedTuple):
    """Fits to the past, scored on the events that followed: leaves [folds]."""

    params: Params  # leaves [folds]
    fitted: HostArray  # mean loss of these
    default: HostArray  # mean loss of the system's own parameters
    events: HostArray  # how many events were scored

    def __repr__(self) -> str:
        columns = zip(self.events, self.default, self.fitted, strict=True)
        rows = [
            (i + 1, n, f"{x:.5f}", f"{y:.5f}", f"{round(float(y - x), 5) + 0.0:+.5f}")
            for i, (n, x, y) in enumerate(columns)
        ]
        return format_table(["fold", "scored", "default loss", "fitted loss", "difference"], rows)
