"""What fits find, and how it reads."""

import html
import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.system import Params, RatingSystem, State
from jaxrate.text_format import format_table, html_table
from jaxrate.types import Array, HostArray

MAX_PRINTED_VALUES = 12  # values of a profile that are printed


class FitOptions(NamedTuple):
    """What a fit was asked to make small: see `fit`. Whatever goes on from a `Fit` takes them from there."""

    loss: Any = "log_loss"  # a name, or a function of predictions and scores
    warm_up: float = 0
    weight: Any = None
    data_share: float = 1.0
    validation: float = 0.0
    errors: str | None = None
    mode: str | None = None
    state: State = None
    key: Array | None = None


class HeldOutLosses(NamedTuple):
    """How the events after those of a fit were predicted, none of which it has seen: mean losses."""

    start: float  # with the hyperparameters from which the search began
    fitted: float  # with those found
    constant: float  # of who always says the mean score of the events before, or each score's share; NaN of margins
    scored: int  # matches (pairs, participants)


class Fit(NamedTuple):
    """The best hyperparameters found. In place of a system, `profile`, `sweep`, `rolling` and `fit` go on from it."""

    system: RatingSystem  # with them, ready for `run`
    params: Params
    free: tuple[str, ...]  # the names of the k that were fitted
    idle: tuple[str, ...]  # those that might have been, but change no prediction, or none that others do not as well
    unconstrained: dict[str, float]  # their logarithms, logits or values; of a bound, see `constrain` in `free`
    loss: float  # mean over the matches (pairs, participants) scored for training
    loss_history: HostArray  # [steps + 1] of it, from the start
    validation_history: HostArray | None  # [steps + 1] the same of the validation part
    standard_error: dict[str, float]  # in the parameter's own unit; inf of those that are open
    covariance: HostArray  # [k, k] in the parameters' own units; rows and columns of those that are open are inf
    converged: bool  # whether the search found a least loss, or stopped for the validation part; not if it is "flat"
    reason: str  # "gradient" | "validation" | "no further decrease" | "flat" (some are open) | "steps" | "diverged"
    seconds: float
    open: tuple[str, ...] = ()  # of `free`, those of which the events say next to nothing: their values mean little
    options: FitOptions = FitOptions()
    rest: HeldOutLosses | None = None  # None: nothing was left out of the fit
    moved_bounds: tuple[str, ...] = ()  # hyperparameters that were not fitted, but moved with those they bound

    def __repr__(self) -> str:
        return f"{self._format_summary()}\n{format_table(TABLE_HEADER, self._table_rows(), left_aligned=LEFT_ALIGNED)}"

    def _repr_html_(self) -> str:
        said = html.escape(self._format_summary()).replace("\n", "<br>")
        return f"<p>{said}</p>{html_table(TABLE_HEADER, self._table_rows(), left_aligned=LEFT_ALIGNED)}"

    def _format_summary(self) -> str:
        """A line, or one for each part, and one of what was not fitted."""
        steps = len(self.loss_history) - 1
        count = f"{steps} step{'s' if steps != 1 else ''}"
        said = [
            f"{self.system.name} after {count} ({self.reason}): "
            f"loss {_format_loss_change(self.loss_history, self.loss)}"
        ]
        if self.validation_history is not None:
            best = np.nanmin(self.validation_history)
            said.append(f"of the validation part {_format_loss_change(self.validation_history, best)}")
        if self.idle:
            said.append(f"of no effect here: {', '.join(self.idle)}")
        if self.open:
            said.append(f"left open by these events: {', '.join(self.open)} (`likelihood_interval` says how far)")
        if self.rest is not None:
            said.append(f"of the rest, which was not fitted: {format_held_out_losses(self.rest)}")
        return "\n".join(said)

    def _table_rows(self) -> list[tuple[str, ...]]:
        """A line for each hyperparameter that was fitted, or moved with one that was."""
        return [
            (
                name,
                f"{getattr(self.params, name):.5g}",
                f"{self.standard_error[name]:.2g}",
                getattr(self.system.space, name).unit,
            )
            for name in self.free
        ] + [
            (name, f"{getattr(self.params, name):.5g}", "moved along", getattr(self.system.space, name).unit)
            for name in self.moved_bounds
        ]


def format_held_out_losses(losses: HeldOutLosses) -> str:
    """The losses."""
    said = {"at the start": losses.start, "fitted": losses.fitted, "of a constant prediction": losses.constant}
    return "loss " + ", ".join(f"{value:.5f} {what}" for what, value in said.items() if math.isfinite(value))


TABLE_HEADER = ["hyperparameter", "fitted", "standard error", "unit"]
LEFT_ALIGNED = "hyperparameter", "unit"


class LossProfile(NamedTuple):
    """The least loss for each of some values of one parameter."""

    value: HostArray  # [V]
    loss: HostArray  # [V]
    params: Params  # leaves [V]: the best for it
    system: RatingSystem
    name: str  # of the parameter
    weight: float  # of all that was scored: the summed loss is so many times `loss`
    scored: Any = "log_loss"  # the loss: a name or a function
    likelihood: bool = True  # whether its sum is minus a log likelihood, so that it gives intervals

    def __repr__(self) -> str:
        unit = getattr(self.system.space, self.name).unit
        said = f"{self.system.name} by {self.name} ({unit}), all others fitted anew: {len(self.value)} values"
        if not np.isfinite(self.loss).any():
            return f"{said}, none with a finite loss"
        least = int(np.nanargmin(self.loss))
        said += f", the least loss {self.loss[least]:.5f} at {self.value[least]:.5g}"
        if len(self.value) > MAX_PRINTED_VALUES:
            return said
        above = self.weight * (self.loss - self.loss[least])
        columns = zip(self.value, self.loss, above, strict=True)
        rows = [(f"{value:.5g}", f"{loss:.5f}", f"{more:.2f}") for value, loss, more in columns]
        return f"{said}\n{format_table([self.name, 'loss', 'sum above the least'], rows)}"


class RollingFits(NamedTuple):
    """What was learnt from the past, scored on what followed: leaves [folds]."""

    params: Params  # leaves [folds]
    fitted: HostArray  # mean loss of these
    default: HostArray  # mean loss of the system's own parameters
    events: HostArray  # how many events were scored

    def __repr__(self) -> str:
        columns = zip(self.events, self.default, self.fitted, strict=True)
        rows = [(i + 1, n, f"{x:.5f}", f"{y:.5f}", f"{y - x:+.5f}") for i, (n, x, y) in enumerate(columns)]
        return format_table(["fold", "scored", "default loss", "fitted loss", "difference"], rows)


def _format_loss_change(history: HostArray, final_loss: float) -> str:
    return f"{history[0]:.5f} at the start, {final_loss:.5f} now"
