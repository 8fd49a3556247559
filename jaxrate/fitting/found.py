"""What fits find, and how it reads."""

import html
from typing import NamedTuple

import numpy as np

from jaxrate.records.metrics import NumPy
from jaxrate.system import Params, RatingSystem
from jaxrate.text import html_table, table

SHOWN = 12  # values of a profile that are printed


class Fit(NamedTuple):
    """The best hyperparameters found."""

    system: RatingSystem  # with them, ready for `run`
    params: Params
    free: tuple[str, ...]  # the names of the k that were fitted
    idle: tuple[str, ...]  # those that might have been, but change no prediction, or none that others do not as well
    unconstrained: dict[str, float]  # their logarithms, logits or values; of a bound, see `constrain` in `free`
    loss: float  # mean over the matches (pairs, participants) scored for training
    loss_history: NumPy  # [steps + 1] of it, from the start
    validation_history: NumPy | None  # [steps + 1] the same of the validation part
    standard_error: dict[str, float]  # in the parameter's own unit; inf where the loss is not curved
    covariance: NumPy  # [k, k] in the parameters' own units
    converged: bool
    reason: str  # "gradient" | "validation" | "no further decrease" | "flat" | "steps" | "diverged"
    seconds: float

    def __repr__(self) -> str:
        return f"{self._losses()}\n{table(HEAD, self._rows(), left=WORDS)}"

    def _repr_html_(self) -> str:
        said = html.escape(self._losses()).replace("\n", "<br>")
        return f"<p>{said}</p>{html_table(HEAD, self._rows(), left=WORDS)}"

    def _losses(self) -> str:
        """A line, or one for each part, and one of what was not fitted."""
        steps = len(self.loss_history) - 1
        count = f"{steps} step{'s' if steps != 1 else ''}"
        said = [f"{self.system.name} after {count} ({self.reason}): loss {_change(self.loss_history, self.loss)}"]
        if self.validation_history is not None:
            best = np.nanmin(self.validation_history)
            said.append(f"of the validation part {_change(self.validation_history, best)}")
        if self.idle:
            said.append(f"of no effect here: {', '.join(self.idle)}")
        return "\n".join(said)

    def _rows(self) -> list[tuple[str, ...]]:
        """A line for each hyperparameter that was fitted."""
        return [
            (
                name,
                f"{getattr(self.params, name):.5g}",
                f"{self.standard_error[name]:.2g}",
                getattr(self.system.space, name).unit,
            )
            for name in self.free
        ]


HEAD = ["hyperparameter", "fitted", "standard error", "unit"]
WORDS = "hyperparameter", "unit"


class Profile(NamedTuple):
    """The least loss for each of some values of one parameter."""

    value: NumPy  # [V]
    loss: NumPy  # [V]
    params: Params  # leaves [V]: the best for it
    system: RatingSystem
    name: str  # of the parameter
    weight: float  # of all that was scored: the summed loss is so many times `loss`

    def __repr__(self) -> str:
        unit = getattr(self.system.space, self.name).unit
        said = f"{self.system.name} by {self.name} ({unit}), all others fitted anew: {len(self.value)} values"
        if not np.isfinite(self.loss).any():
            return f"{said}, none with a finite loss"
        least = int(np.nanargmin(self.loss))
        said += f", the least loss {self.loss[least]:.5f} at {self.value[least]:.5g}"
        if len(self.value) > SHOWN:
            return said
        above = self.weight * (self.loss - self.loss[least])
        columns = zip(self.value, self.loss, above, strict=True)
        rows = [(f"{value:.5g}", f"{loss:.5f}", f"{more:.2f}") for value, loss, more in columns]
        return f"{said}\n{table([self.name, 'loss', 'sum above the least'], rows)}"


class Rolling(NamedTuple):
    """What was learnt from the past, scored on what followed: leaves [folds]."""

    params: Params  # leaves [folds]
    fitted: NumPy  # mean loss of these
    default: NumPy  # mean loss of the system's own parameters
    events: NumPy  # how many events were scored

    def __repr__(self) -> str:
        columns = zip(self.events, self.default, self.fitted, strict=True)
        rows = [(i + 1, n, f"{x:.5f}", f"{y:.5f}", f"{y - x:+.5f}") for i, (n, x, y) in enumerate(columns)]
        return table(["fold", "scored", "default loss", "fitted loss", "difference"], rows)


def _change(history: NumPy, now: float) -> str:
    return f"{history[0]:.5f} at the start, {now:.5f} now"
