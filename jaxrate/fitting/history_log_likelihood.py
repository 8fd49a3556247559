"""The log likelihood of a history under hyperparameters, as samplers take it."""

from typing import Any

import jax.numpy as jnp

from jaxrate.core.argument_checks import AnyNumber, Key, enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.fitting.fit_results import Fit
from jaxrate.fitting.hyperparameter_fit import make_training_task, resolve_options
from jaxrate.fitting.losses import loss_label, prediction_losses
from jaxrate.fitting.prediction_task import replay_task


@enforce_argument_annotations
def log_likelihood(
    system: RatingSystem | Fit,
    events: Any,
    params: Params | None = None,
    *,
    loss: str | None = None,
    warm_up: AnyNumber | None = None,
    weight: Any = None,
    state: State = None,
    key: Key | None = None,
) -> Array:
    """How likely the results of a history are under given hyperparameters: the sum of logarithms, each match predicted
    from those before (Dawid 1984).

        density = jax.jit(lambda c: jr.fitting.log_likelihood(jr.glicko(), data, jr.glicko().params._replace(c=c)))
        density(20.0), jax.grad(density)(20.0), jax.vmap(density)(jnp.array([10.0, 20.0, 40.0]))

    It is differentiable, and a function like any other under `jax.jit`, `jax.grad` and `jax.vmap`. The matches are put
    in order on the host, in every call outside of `jax.jit` and once within: samplers want it within.

    Args:
      system: as from `glicko()`; of `add_outcomes(system)` each result has a probability, of others half a win counts
        as half of the logarithm of either. Or a `Fit`: then of the events that it scored.
      events: matches, rating periods or a `Dataset`, concrete.
      params: leaves []; may be traced. None: the system's own.
      loss: "log_loss", or "margin": the density of margins, or the chance of scorelines, of skills that learn from
        these. None: "log_loss".
      warm_up, weight, state, key: what is scored, and how, as in `fit`.

    Returns:
      [] the sum over all that is scored.

    Raises:
      ValueError: for rounds, whose predictions have no joint likelihood (`fit` minimises a sum of losses, or of pairs);
        for other losses; and as `fit`.
    """
    system, _, options = resolve_options(system, None, loss=loss, warm_up=warm_up, weight=weight, state=state, key=key)
    task = make_training_task(system, events, options)
    if task.kind not in task.loss.likelihood:
        if not task.loss.likelihood:
            raise ValueError(f"the {loss_label(options.loss)} loss is no log likelihood; take log_loss")
        raise ValueError(
            f"{task.kind.__name__.lower()} have no likelihood: predictions of participants are not independent; give "
            "matches or periods"
        )
    prediction = replay_task(task, system.params if params is None else params)
    weight = jnp.asarray(task.weight, float)
    return -jnp.sum(weight * prediction_losses(task.loss, prediction, task.score, jnp.stack([weight, weight])))
