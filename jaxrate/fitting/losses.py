"""What a fit minimises: losses of predictions made one step ahead, or minus the evidence of a smoothed history.

Losses are those of matches or of participants.

`log_loss`: minus the logarithm of the probability that was given to the result. An expected score p against a score s
loses -s log p - (1 - s) log(1 - p); a system that gives every score a probability, [n, K] of 0, 1/(K-1), ..., 1 (an
`OutcomeProbabilities` of matches says the same of a loss, a draw and a win), gets that of the score there was. A
participant of a round has as score the share of the others whom they beat, a tie being half.

`brier`: (p - s)^2, of the mean where there are probabilities.

`margin`: minus the logarithm of the density of the margin there was, in its own units, of a system that learns from
margins, as skills that observe `margin` do. A margin that is compressed first has the density of what it becomes times
the slope of that, so the compression is fitted, too. Of a draw it is the probability of a margin below half a unit. In
contests it is that of the margins of neighbours in the standing, each given those before, in equal parts for members.
Where a system learns from statistics and quits, they count, too: statistics with the densities of their values, quits
with their probabilities. A participant's are told as if those of the others were not known, and the result after all.
Of skills that observe `goals` it is minus the logarithm of the probability of the scoreline.

`joint`, of contests of skills: minus the logarithm of how likely all is that was seen of a contest, in equal parts for
members: the standing or the margins, each one's statistics, and who quit. The result alone says little of what a
statistic is worth, or of the threshold below which players quit.

`pairwise`, of rounds: a participant's mean of -log P(the one who was ahead does better) over opponents, a tie being
half of each, with P what the system says of a match of the two (a composite likelihood of the ranking; Varin, Reid and
Firth 2011). The opponents are all others in rounds of up to 2 OPPONENTS + 1, elsewhere OPPONENTS to either side in a
circle that shuffles the ids: were they chosen by the standing, neighbours would be near in performance, and the better
player's odds would seem too small.

A further loss is a function of predictions and scores, in place of a name, or an entry of `LOSSES`.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.argument_checks import AnyNumber, Key, check_that, enforce_argument_annotations, to_floats
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind, display_name, look_up_replacement_function
from jaxrate.core.rules import PredictRule, RatedEvent, Record, State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events import LAST_ID, Context, Matches, Periods, Rounds
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities, observes_goals, scores_or_score_probabilities
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.skills import rules as skills

OPPONENTS = 32  # to either side
_HASH_MULTIPLIER = 2654435761  # 2^32 over the golden ratio: its multiples, modulo 2^32, lie evenly, in no order of ids


class LossDefinition(NamedTuple):
    """The loss of a prediction, and the events that it suits."""

    each: Callable[[Array, Array], Array]  # (predictions [n], or [n, K] of every score, and scores [n]) -> [n]
    events: tuple[type, ...] = (Matches, Periods, Rounds)
    teams: bool = True  # whether those of a round may have several players
    likelihood: tuple[type, ...] = ()  # events of which its sum is that of a likelihood: the curvature says how sure
    record: Callable[[RatingSystem], Record] | None = None  # makes what a replay records, which is the loss itself
    even: float | None = None  # what who takes all for equals loses, where that does not depend on the scores


def resolve_loss(loss: Any) -> LossDefinition:
    """The loss of a name or of a function; ValueError if it is neither."""
    if callable(loss):
        return LossDefinition(loss)
    if not isinstance(loss, str) or loss not in LOSSES:
        more = "" if isinstance(loss, str) else ", or a function"
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}{more}, got {format_value_for_error(loss)}")
    return LOSSES[loss]


def loss_label(loss: Any) -> str:
    """The name of a loss for messages, from its name or its function."""
    return display_name(loss).replace("_", " ") if callable(loss) else str(loss).replace("_", " ")


def elementwise_log_loss(prediction: Array, score: Array) -> Array:
    """[n] minus the logarithm of the probability of each score."""
    if prediction.ndim == 1:
        return cross_entropy(prediction, score)
    level = jnp.round(score * (prediction.shape[1] - 1)).astype(jnp.int32)
    p = jnp.take_along_axis(prediction, level[:, None], axis=1)[:, 0]
    return cross_entropy(p, jnp.ones_like(p))


def elementwise_brier(prediction: Array, score: Array) -> Array:
    """[n] the squared distance of each expected score from the score."""
    if prediction.ndim == 1:
        mean = prediction
    else:
        mean = jnp.matmul(prediction, jnp.linspace(0.0, 1.0, prediction.shape[1]), precision="highest")
    return (mean - score) ** 2


def return_recorded_loss(loss: Array, score: Array) -> Array:
    """The recorded losses themselves."""
    del score
    return loss


def cross_entropy(p: Array, score: Array) -> Array:
    """-s log p - (1 - s) log(1 - p), with p kept 1e-15 away from 0 and 1 (float32: 6e-8)."""
    margin = 1e-15 if p.dtype == np.float64 else 2.0**-24
    p = jnp.clip(p, margin, 1.0 - margin)
    return -score * jnp.log(p) - (1.0 - score) * jnp.log1p(-p)


@partial(jax.jit, static_argnums=0)
def prediction_losses(loss: LossDefinition, prediction: Any, score: Array, weight: Array) -> Array:
    """[n] the losses of predictions; 0 where the weight [n] is 0."""
    if isinstance(prediction, OutcomeProbabilities) and prediction.win.ndim == 1:
        raise ValueError("there is no loss of an outlook of rounds; fit the system itself")
    return jnp.where(weight > 0, loss.each(scores_or_score_probabilities(prediction), score), 0.0)


def make_pairwise_loss_record(system: RatingSystem) -> Record:
    record: Record = bind(pairwise_losses, OPPONENTS, system.rules.predict)
    return record


def make_margin_loss_record(system: RatingSystem) -> Record:
    record: Record | None = _replace_skills_update(system, skills.rated_event_loss)
    if record is None or system.settings["outcome"] in ("win", "logistic"):
        raise ValueError(f"{system.name} says nothing of margins here; take the skills of jr.parts.margin themselves")
    return record


def make_joint_loss_record(system: RatingSystem) -> Record:
    record: Record | None = _replace_skills_update(system, skills.rated_event_loss)
    if record is None:
        raise ValueError(f"{system.name} knows no statistics and quits, as jr.skills does; take log_loss")
    return record


def infer_for_losses(system: RatingSystem) -> RatingSystem:
    """The system, of skills with rules that infer once what they learn and what the loss is: half to compile."""
    infer = _replace_skills_update(system, skills.update_and_infer)
    return system if infer is None else system._replace(rules=system.rules._replace(infer=infer))


def _replace_skills_update(system: RatingSystem, function: Callable[..., Any]) -> Any:
    """What is done in place of the update of skills, with their settings; None of other systems."""
    return look_up_replacement_function(system.rules.update, {skills.update: function})


def pairwise_losses(max_opponents: int, predict: PredictRule, rated_event: RatedEvent) -> Array:
    """[P] each participant's mean loss against `max_opponents` to either side, from the rows before the round."""
    rows, event = rated_event.before, rated_event.event
    is_participant = cdf_sums.participant_mask(event)
    count, size = jnp.sum(is_participant, dtype=jnp.int32), len(event.rank)
    hashed_ids = (event.player.astype(jnp.uint32) * jnp.uint32(_HASH_MULTIPLIER)) >> 1
    order = jnp.argsort(jnp.where(is_participant, hashed_ids.astype(jnp.int32), LAST_ID))
    participants = jax.tree.map(lambda x: x[order], (rows, event.rank, cdf_sums.participant_weights(event)))
    position = jnp.arange(size, dtype=jnp.int32)

    def predict_pair(first: tuple[State, Array, Array], second: tuple[State, Array, Array]) -> Array:
        """The system's prediction for a match of the two."""
        both, _, weight = jax.tree.map(lambda x, y: jnp.stack([x, y]), first, second)
        match = Matches(jnp.arange(2, dtype=jnp.int32), jnp.full((), 0.5), event.time, Context(weight=weight.mean()))
        return predict(rated_event.constants, both, match)

    def losses_at_distance(distance: Array) -> Array:
        """[P] the losses against the opponents at this distance in the circle, on either side."""
        next_position, previous_position = ((position + x) % jnp.maximum(count, 1) for x in (distance, -distance))
        opponents = jax.tree.map(lambda x: x[next_position], participants)
        score = 0.5 + 0.5 * jnp.sign(opponents[1] - participants[1]).astype(jnp.result_type(float))
        losses = cross_entropy(jax.vmap(predict_pair)(participants, opponents), score)
        losses = jnp.where(2 * distance == count, 0.5, 1.0) * (losses + losses[previous_position])
        return jnp.where((position < count) & (2 * distance <= count), losses, 0.0)

    distances = jnp.arange(1, min(size // 2, max_opponents) + 1, dtype=jnp.int32)
    total = jnp.sum(lax.map(losses_at_distance, distances), axis=0)
    num_opponents = jnp.clip(count - 1, 1, 2 * max_opponents).astype(total.dtype)
    return jnp.zeros_like(total).at[order].set(total / num_opponents, unique_indices=True)


LOSSES = {
    "log_loss": LossDefinition(elementwise_log_loss, likelihood=(Matches, Periods)),
    "brier": LossDefinition(elementwise_brier),
    "margin": LossDefinition(return_recorded_loss, likelihood=(Matches, Periods), record=make_margin_loss_record),
    "joint": LossDefinition(return_recorded_loss, events=(Rounds,), record=make_joint_loss_record),
    "pairwise": LossDefinition(
        return_recorded_loss, events=(Rounds,), teams=False, record=make_pairwise_loss_record, even=math.log(2.0)
    ),
}


ERROR_METHODS = "information", "products", "sandwich"


class Objective(NamedTuple):
    """The quantity that a fit minimises, as from `ahead` or `evidence`."""

    loss: Any = None  # a name, or a function of predictions and scores; None: see `choose_loss`
    warm_up: float = 0
    weight: Any = None
    data_share: float = 1.0
    errors: str | None = None
    state: State = None
    key: Array | None = None
    by_evidence: bool = False  # minus the evidence counts in place of the loss


DEFAULT_OBJECTIVE = Objective()


def choose_loss(objective: Objective, system: RatingSystem) -> Objective:
    """The objective with the loss that suits the system, if it names none."""
    return objective._replace(loss=objective.loss or ("margin" if observes_goals(system) else "log_loss"))


@enforce_argument_annotations
def ahead(
    *,
    loss: Any = None,
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
        each, [n]. None: "margin" of skills that observe goals, as results do not tell how many fall; else "log_loss".
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
    if loss is not None:
        resolve_loss(loss)
    check_that(0.0 < data_share <= 1.0, f"data_share is a share of the events, above 0 and at most 1, got {data_share}")
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
