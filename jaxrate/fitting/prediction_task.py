"""A prediction task: a history, its scores, the weights of predictions and their loss."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params, Record
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Ragged, Rounds, count_teams, fail_where, has_teammates
from jaxrate.events.dataset import count_first_share, resolve_events_and_num_players
from jaxrate.fitting.evidence_objective import EvidenceProblem, prepare_evidence_problem
from jaxrate.fitting.losses import (
    DEFAULT_OBJECTIVE,
    LossDefinition,
    Objective,
    choose_loss,
    infer_for_losses,
    loss_label,
    resolve_loss,
)
from jaxrate.metrics.prediction_metrics import experience_mask, is_winner_first, observed_share_of_sides_beaten
from jaxrate.metrics.ranking_metrics import has_untied_opponent
from jaxrate.replay.checked_replay import check_system_takes_events, run
from jaxrate.replay.execution import CompilePolicy, Engine
from jaxrate.replay.padded_arrays import check_ids_not_sparse, count_players
from jaxrate.replay.plan import PlacedEvents, Plan
from jaxrate.replay.player_rows import as_device_arrays
from jaxrate.replay.schedule import schedule_by_level
from jaxrate.systems.prediction_wrapping import scores_or_score_probabilities


class PredictionTask(NamedTuple):
    """A history to predict, with weights and the loss of its predictions."""

    system: RatingSystem
    objective: Objective
    loss: LossDefinition
    record: Record | None  # what a replay records for the loss; None: its predictions
    events: Matches | Ragged
    kind: type  # Matches, Periods or Rounds
    schedule: Plan
    placed: PlacedEvents  # on the device
    score: Array  # [n] what was to be predicted
    weight: HostArray  # [n] of each prediction; 0: it is not fitted
    held_out_weight: HostArray  # [n] of those that are scored and not fitted
    event: HostArray  # [n] the number of its event, from 0 on
    key: Array | None
    num_players: int
    num_score_levels: int  # number of scores with a probability each; 0: predictions are expected scores
    evidence_problem: EvidenceProblem | None = None  # its evidence counts in place of predictions

    @property
    def is_likelihood(self) -> bool:
        """Whether the summed loss is minus the logarithm of a likelihood."""
        return self.evidence_problem is not None or self.kind in self.loss.likelihood


def make_prediction_task(system: RatingSystem, data: Any, objective: Objective = DEFAULT_OBJECTIVE) -> PredictionTask:
    """The task of predicting a history by a system; errors are those of `fit`."""
    events, _ = resolve_events_and_num_players(data)
    state, key = objective.state, objective.key
    objective = choose_loss(objective, system)
    check_system_takes_events(system, events, key)
    flat = events.flat
    loss, event = resolve_loss(objective.loss), _event_of_predictions(events)
    record = loss.record and loss.record(system)
    check_that(len(event) != 0, "there are no events to fit")
    has_levels = record is None and events.nouns == "matches"
    num_score_levels = _count_predicted_score_levels(system, flat) if has_levels else 0
    _check_loss_suits_events(loss, objective.loss, events, (len(event), *[num_score_levels] * (num_score_levels > 0)))
    score, weight = _scores_and_weights(events, event, objective)
    if record is None:
        _check_scores_are_informative(score[weight > 0])
    player_count = int(np.max(flat.player)) + 1
    check_ids_not_sparse(system, flat.player, player_count, None, count_players(state))
    number = event if events.nouns == "contests" else np.arange(len(event))
    is_held_out = np.zeros(len(event), bool)
    if objective.data_share < 1:
        is_held_out = number >= count_first_share(int(number[-1]) + 1, objective.data_share)
        if not (weight * is_held_out).any():
            raise ValueError(f"data_share={objective.data_share} of the events leave no rest to score; take less")
    evidence_problem = prepare_evidence_problem(system, events) if objective.by_evidence else None
    schedule = schedule_by_level(events)
    return PredictionTask(
        system,
        objective,
        loss,
        record,
        events,
        type(flat),
        schedule,
        schedule.place(events),
        as_device_arrays(score),
        weight * ~is_held_out if evidence_problem is None else evidence_problem.weight,
        weight * is_held_out,
        event,
        None if system.rules.draw is None else key,
        max(player_count, count_players(state)),
        num_score_levels,
        evidence_problem,
    )


def _check_loss_suits_events(loss: LossDefinition, name: Any, events: Any, shape: tuple[int, ...]) -> None:
    """ValueError for a loss of other events, of players where there are teams, or not of single predictions."""
    label = loss_label(name)
    if type(events.flat) not in loss.events:
        kinds = " or ".join(kind.__name__.lower() for kind in loss.events)
        raise ValueError(f"the {label} loss is of {kinds}; take log_loss")
    if not loss.teams and events.nouns == "contests" and has_teammates(events):
        raise ValueError(f"the {label} loss compares players, but there are teams; take log_loss")
    if callable(name):
        predictions, scores = (jax.ShapeDtypeStruct(x, jnp.result_type(float)) for x in (shape, shape[:1]))
        got = getattr(jax.eval_shape(loss.each, predictions, scores), "shape", None)
        if got != shape[:1]:
            raise ValueError(f"the loss {label} must give [{shape[0]}], a number for each prediction, got shape {got}")


def _check_scores_are_informative(score: HostArray) -> None:
    """ValueError if all that is scored [n] ended alike, unless winners or losers come first.

    Such scores tell systems as much as those in any other order, since systems treat both players alike.
    """
    if np.ptp(score) == 0 and score[0] not in (0.0, 1.0):
        raise ValueError(f"every score is {score[0]:g}: such scores hold no information")


def replay_predictions(
    task: PredictionTask, params: Params, policy: CompilePolicy | None = None, engine: Engine = "auto"
) -> Any:
    """The predictions of a replay with these hyperparameters, or the record that the loss takes."""
    options = dict(state=task.objective.state, num_players=task.num_players, key=task.key, schedule=task.schedule)
    options |= dict(record=task.record, policy=policy, engine=engine)
    system = task.system if task.record is None else infer_for_losses(task.system)
    return run(system, task.placed, params=params, **options).prediction


def constant_prediction_loss(task: PredictionTask) -> float:
    """The mean loss held out of the mean score, or of each score's frequency, in what is fitted; NaN of margins."""
    if task.loss.even is not None:
        return task.loss.even
    if task.record is not None:
        return math.nan
    score, weight = np.asarray(task.score, np.float64), task.weight
    fitted_score = score[weight > 0]
    if is_winner_first(fitted_score) or is_winner_first(1.0 - fitted_score):  # nobody knows beforehand who that is
        score, weight = np.concatenate([score, 1.0 - score]), np.concatenate([weight, weight])
    if task.num_score_levels:
        level = np.rint(score * (task.num_score_levels - 1)).astype(int)
        prediction = np.bincount(level, weight, minlength=task.num_score_levels) / weight.sum()
    else:
        prediction = np.asarray(np.average(score, weights=weight))
    predictions = jnp.asarray(np.broadcast_to(prediction, (len(task.score), *prediction.shape)), float)
    losses = jax.jit(task.loss.each)(predictions, task.score)
    return float(np.average(np.asarray(losses, np.float64), weights=task.held_out_weight))


def _scores_and_weights(events: Any, event: HostArray, objective: Objective) -> tuple[HostArray, HostArray]:
    """[n] scores, of contests the share of other teams beaten, and weights; ValueError if nothing is scored."""
    warm_up, n = objective.warm_up, len(event)
    noun = "participants" if events.nouns == "contests" else "matches"
    weight = np.ones(n) if objective.weight is None else objective.weight
    if weight.shape != (n,):
        raise ValueError(f"weight must be [{n}], one for each of the {noun}, got {weight.shape}")
    is_bad = ~((weight >= 0) & (weight < np.inf))
    fail_where(is_bad, lambda row: f"weight is {weight[row]}; it must be from 0, and finite")
    if events.nouns == "contests":
        score = np.nan_to_num(observed_share_of_sides_beaten(events))
        is_informative = has_untied_opponent(events.flat, event) | (count_teams(events)[event] == 2)
        check_that(is_informative.any(), "no contest ranks anybody")
        scored = np.where(is_informative, weight, 0.0)
    else:
        score, scored = np.asarray(events.flat.score), weight
    is_warm = _has_played_before(events, int(warm_up)) if warm_up >= 1 else event >= warm_up * (event[-1] + 1)
    check_that(scored.any(), f"the weights leave no {noun} to score")
    if not (scored * is_warm).any():
        kind, comparative = ("games of every player", "fewer") if warm_up >= 1 else ("of the events", "less")
        raise ValueError(f"warm_up={warm_up} {kind} leave no {noun} to score; take {comparative}")
    return score, np.where(is_warm, scored, 0.0)


def _event_of_predictions(events: Any) -> HostArray:
    """[n] the number of the event of each prediction: of a match, of a pair in a period, of a contest's participant."""
    pair_start = getattr(events, "pair_start", None)
    start = events.start if pair_start is None else pair_start
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def has_draws(task: PredictionTask) -> bool:
    """Whether any match that is fitted is drawn, or any such contest has a tie of two teams."""
    is_scored = task.weight > 0
    if task.kind is not Rounds:
        score = np.asarray(task.score)[is_scored]
        return bool(((score > 0.0) & (score < 1.0)).any())
    flat: Any = task.events.events  # type: ignore[union-attr]
    team = np.stack([task.event, flat.team, np.asarray(flat.rank)])[:, is_scored]
    place = np.unique(team, axis=1)[[0, 2]]
    return np.unique(place, axis=1).shape[1] < place.shape[1]


def _has_played_before(events: Any, min_games: int) -> HostArray:
    """[n] whether all players of a match, or the participant, have played `min_games` games before."""
    if events.nouns == "periods":
        flat = events.flat
        events = Matches(events.pairs, flat.score, flat.time)
    return experience_mask(events, min_games)


def _count_predicted_score_levels(system: RatingSystem, matches: Matches) -> int:
    """The number of scores to which a system gives probabilities, or 0; ValueError for a score that has none."""

    def predict(params: Params, event: Matches) -> Any:
        constants, first = system.rules.prepare(params), jax.tree.map(lambda x: x[0], event)
        return scores_or_score_probabilities(system.rules.predict(constants, system.init(params, 2), first))

    if len(matches.score) == 0:
        return 0
    event = as_device_arrays(jax.tree.map(lambda x: np.asarray(x)[:1], matches))
    prediction = jax.eval_shape(predict, system.params, event)
    if prediction.ndim == 0:
        return 0
    last_level, score = prediction.shape[-1] - 1, np.asarray(matches.score, np.float64)
    is_unmatched = np.abs(score * last_level - np.rint(score * last_level)) > 1e-4
    message = f"{system.name} predicts the scores 0, 1/{last_level}, ..., 1, not "
    fail_where(is_unmatched, lambda row: f"{message}{score[row]}")
    return int(prediction.shape[-1])
