"""What a fit minimises: the loss of predictions made one step ahead, or minus the evidence of a smoothed history."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import AnyNumber, Key, enforce_argument_annotations, to_floats
from jaxrate.core.array_types import Array
from jaxrate.core.rules import State
from jaxrate.fitting.losses import resolve_loss

ERROR_METHODS = "information", "products", "sandwich"


class Objective(NamedTuple):
    """The quantity that a fit minimises, as from `ahead` or `evidence`."""

    loss: Any = "log_loss"  # a name, or a function of predictions and scores
    warm_up: float = 0
    weight: Any = None
    data_share: float = 1.0
    errors: str | None = None
    state: State = None
    key: Array | None = None
    by_evidence: bool = False  # minus the evidence counts in place of the loss


DEFAULT_OBJECTIVE = Objective()


@enforce_argument_annotations
def ahead(
    *,
    loss: Any = "log_loss",
    warm_up: AnyNumber = 0,
    weight: Any = None,
    data_share: AnyNumber = 1.0,
    errors: str | None = None,
    state: State = None,
    key: Key | None = None,
) -> Objective:
    """The mean loss of predictions, each made before its result was known: the usual objective of a fit.

        jr.fit(jr.elo(), data, objective=jr.fitting.ahead(loss="brier", warm_up=5))

    Args:
      loss: "log_loss", "brier", "margin" (of margins), "joint" or "pairwise" (of contests); see `losses`. Or a function
        in JAX of predictions [n] (of a system that predicts in full [n, K]) and scores [n] that returns the loss of
        each, [n].
      warm_up: a number of first matches of each player, or below 1 a first share of all events, that are not scored.
        They are rated, and predicted from little.
      weight: [n] what each match, pair of a period, or participant of a round counts; 0: it is rated, but not scored.
        `np.arange(n) >= n // 2` scores the last half. None: 1.
      data_share: the first share of the matches or contests, which is fitted, as 0.8. The rest is rated and scored
        afterwards (see `Fit.held_out`) and does not influence the fit.
      errors: what standard errors are from: "information", "products" or "sandwich". "information": the curvature of
        the summed loss, right if the system is; "products": the variation of the slopes between events, which takes no
        time and is also right if the system is (Berndt, Hall, Hall and Hausman 1974); or "sandwich": both, which is
        right even if the system is not, if draws count as half a win (they vary less than coins), and for any loss.
        None: information; products for long histories; sandwich for contests. Histories are long if predictions times
        pairs of parameters are 8 million or more; "sandwich" is for all losses but the log loss of matches.
      state: to carry on from, as in `run`; players beyond it are newcomers, who start as the parameters say.
      key: for systems that draw random numbers.

    Raises:
      ValueError: for a loss, a share or a source of errors that there is not.
    """
    resolve_loss(loss)
    if not 0.0 < data_share <= 1.0:
        raise ValueError(f"data_share is a share of the events, above 0 and at most 1, got {data_share}")
    if not (0 <= warm_up < 1 or (warm_up >= 1 and float(warm_up).is_integer())):
        raise ValueError(f"warm_up is a whole number of games, or a share of the events below 1, got {warm_up}")
    if errors not in (None, *ERROR_METHODS):
        raise ValueError(f"errors must be one of {', '.join(ERROR_METHODS)}, got {errors!r}")
    weights = None if weight is None else np.array(to_floats("weight", weight))  # a copy, since a fit keeps it
    return Objective(loss, warm_up, weights, data_share, errors, state, key)


def evidence() -> Objective:
    """Minus the logarithm of the probability of all results together, of `skills`: see `smooth`.

        jr.fit(jr.skills(observe=jr.parts.result(draw_margin=60.0)), data, objective=jr.fitting.evidence())

    It is a mean over matches or contests, which all count alike, and takes no half wins, and not "logistic".
    """
    return Objective(by_evidence=True)
