"""A prediction task: a history, its scores, the weights of predictions and their loss."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params, Record, State
from jaxrate.core.system import RatingSystem, random_draw_rule
from jaxrate.events import Matches, Ragged, Rounds, count_better, fail_where, has_teammates
from jaxrate.events.dataset import count_first_share, resolve_events_and_num_players
from jaxrate.fitting.evidence_objective import EvidenceProblem
from jaxrate.fitting.losses import (
    LossDefinition,
    check_loss_shape,
    loss_label,
    make_replay_record_for_loss,
    resolve_loss,
)
from jaxrate.metrics.prediction_metrics import experience_mask
from jaxrate.replay.blocks import BlockPlan
from jaxrate.replay.checked_replay import check_system_takes_events, run
from jaxrate.replay.execution import CompilePolicy
from jaxrate.replay.padded_states_and_columns import check_ids_not_sparse, count_players
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from jaxrate.replay.schedule import Plan, schedule_by_level
from jaxrate.systems.prediction_wrapping import scores_or_score_probabilities


class PredictionTask(NamedTuple):
    """A history to predict, with weights and the loss of its predictions."""

    system: RatingSystem
    loss: LossDefinition
    record: Record | None  # what a replay records for the loss; None: its predictions
    events: Matches | Ragged
    kind: type  # Matches, Periods or Rounds
    schedule: Plan | BlockPlan
    score: Array  # [n] what was to be predicted
    weight: HostArray  # [n] of each prediction; 0: it is not scored
    event: HostArray  # [n] the number of its event, from 0 on
    key: Array | None
    state: State  # to carry on from, or None
    num_players: int
    num_score_levels: int  # number of scores with a probability each; 0: predictions are expected scores
    evidence_problem: EvidenceProblem | None = None  # its evidence counts in place of predictions


def make_prediction_task(
    system: RatingSystem,
    data: Any,
    loss: Any,
    warm_up: float = 0,
    weight: Any = None,
    key: Array | None = None,
    state: State = None,
) -> PredictionTask:
    """See `fit` for the arguments and errors."""
    events, _ = resolve_events_and_num_players(data)
    check_system_takes_events(system, events, key)
    resolved_loss, flat = resolve_loss(loss), events.flat
    _check_loss_suits_events(resolved_loss, loss_label(loss), events)
    record = make_replay_record_for_loss(resolved_loss, system)
    event = _event_of_predictions(events)
    if len(event) == 0:
        raise ValueError("there are no events to fit")
    score, is_informative = _scores_and_informative_mask(events, event)
    has_levels = record is None and events.nouns == "matches"
    num_score_levels = _count_predicted_score_levels(system, flat) if has_levels else 0
    if callable(loss):
        shape = (len(score), num_score_levels) if num_score_levels else (len(score),)
        check_loss_shape(
            resolved_loss, loss_label(loss), jax.ShapeDtypeStruct(shape, jnp.result_type(float)), len(score)
        )
    prediction_weights = _prediction_weights(events, is_informative, event, weight, warm_up)
    scored = score[prediction_weights > 0]
    if record is None and np.ptp(scored) == 0 and not _is_winner_first(scored):
        raise ValueError(f"every score is {scored[0]:g}: such scores hold no information")
    key = None if random_draw_rule(system.rules) is None else key
    player_count = int(np.max(flat.player)) + 1
    check_ids_not_sparse(system, flat.player, player_count, None, count_players(state))
    num_players = player_count if state is None else max(player_count, len(jax.tree.leaves(state)[0]))
    schedule, score = schedule_by_level(events), as_device_arrays(score)
    return PredictionTask(
        system,
        resolved_loss,
        record,
        events,
        type(flat),
        schedule,
        score,
        prediction_weights,
        event,
        key,
        state,
        num_players,
        num_score_levels,
    )


def _check_loss_suits_events(loss: LossDefinition, label: str, events: Any) -> None:
    """ValueError for a loss of other events, or of players alone where there are teams."""
    if type(events.flat) not in loss.events:
        kinds = " or ".join(kind.__name__.lower() for kind in loss.events)
        raise ValueError(f"the {label} loss is of {kinds}; take log_loss")
    if not loss.teams and events.nouns == "contests" and has_teammates(events):
        raise ValueError(f"the {label} loss compares players, but there are teams; take log_loss")


def replay_task(task: PredictionTask, params: Params, policy: CompilePolicy | None = None) -> Any:
    """The predictions of a replay with these hyperparameters, or the record that the loss takes."""
    options = dict(state=task.state, num_players=task.num_players, key=task.key, schedule=task.schedule)
    return run(task.system, task.events, params=params, record=task.record, policy=policy, **options).prediction


def split_training_validation_heldout_weights(
    task: PredictionTask, data_share: float, validation: float
) -> tuple[HostArray, HostArray, HostArray]:
    """Weights [n] of the predictions for training, for validation, and of the held-out rest, see `fit`.

    ValueError if a requested part has nothing to score.
    """
    event_index = task.event if task.kind is Rounds else np.arange(len(task.event))
    count = int(event_index[-1]) + 1
    is_held_out = event_index >= (count if data_share == 1 else count_first_share(count, data_share))
    last_event = int(np.max(task.event[~is_held_out], initial=0))
    is_validation = ~is_held_out & (task.event >= math.ceil((1.0 - validation) * (last_event + 1)))
    if validation and not (task.weight * is_validation).any():
        raise ValueError(f"validation={validation} of the events leave nothing to validate on: none of them is scored")
    if data_share < 1 and not (task.weight * is_held_out).any():
        raise ValueError(f"data_share={data_share} of the events leave no rest to score; take less")
    return task.weight * ~(is_validation | is_held_out), task.weight * is_validation, task.weight * is_held_out


def constant_prediction_loss(task: PredictionTask, past_weight: HostArray, scored_weight: HostArray) -> float:
    """The mean loss of a constant prediction: the mean score, or the frequency of each score; NaN of margins.

    `past_weight` [n] are weights of the scores behind the constant, `scored_weight` [n] those of its predictions.
    """
    if task.loss.even is not None:
        return task.loss.even
    if task.record is not None:
        return math.nan
    score = np.asarray(task.score, np.float64)
    past = score[past_weight > 0]
    if _is_winner_first(past):  # nobody knows beforehand who that is
        score, past_weight = np.concatenate([score, 1.0 - score]), np.concatenate([past_weight, past_weight])
    if task.num_score_levels:
        level = np.rint(score * (task.num_score_levels - 1)).astype(int)
        prediction = np.bincount(level, past_weight, minlength=task.num_score_levels) / past_weight.sum()
    else:
        prediction = np.asarray(np.average(score, weights=past_weight))
    losses = jax.jit(task.loss.each)(
        jnp.asarray(np.broadcast_to(prediction, (len(task.score), *prediction.shape)), float), task.score
    )
    return float(np.average(np.asarray(losses, np.float64), weights=scored_weight))


def _is_winner_first(score: HostArray) -> bool:
    """Whether the winner comes first in all matches, or the loser: scores [n] are all 1, or all 0.

    They tell systems as much as scores in any other order, since these treat both players alike.
    """
    return len(score) > 0 and float(score[0]) in (0.0, 1.0) and bool((score == score[0]).all())


def _prediction_weights(
    events: Any, is_informative: HostArray, event: HostArray, weight: Any, warm_up: float
) -> HostArray:
    """[n] the weight of each prediction, 0 where `is_informative` is false. ValueError if all are 0."""
    n, noun = len(is_informative), "participants" if events.nouns == "contests" else "matches"
    weights = np.ones(n) if weight is None else np.asarray(weight, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"weight must be [{n}], one for each of the {noun}, got {weights.shape}")
    fail_where(
        ~((weights >= 0) & (weights < np.inf)), lambda row: f"weight is {weights[row]}; it must be from 0, and finite"
    )
    weights = np.where(is_informative, weights, 0.0)
    if not weights.any():
        raise ValueError(
            "no contest ranks anybody" if not is_informative.any() else f"the weights leave no {noun} to score"
        )
    if warm_up:
        weights = np.where(_is_after_warm_up(events, event, warm_up), weights, 0.0)
    if not weights.any():
        kind, comparative = ("games of every player", "fewer") if warm_up >= 1 else ("of the events", "less")
        raise ValueError(f"warm_up={warm_up} {kind} leave no {noun} to score; take {comparative}")
    return weights


def _event_of_predictions(events: Any) -> HostArray:
    """[n] the number of the event of each prediction: of a match, of a pair in a period, of a contest's participant."""
    pair_start = getattr(events, "pair_start", None)
    start = events.start if pair_start is None else pair_start
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _scores_and_informative_mask(events: Any, event: HostArray) -> tuple[HostArray, HostArray]:
    """[n] what was to be predicted, and whether it is informative."""
    if events.nouns == "contests":
        return _round_shares_of_teams_beaten(events, event)
    score = np.asarray(events.flat.score)
    return score, np.ones(len(score), bool)


def has_draws(task: PredictionTask, weight: HostArray) -> bool:
    """Whether any match with a weight [n] above 0 is drawn, or any such contest has a tie of two teams."""
    is_scored = weight > 0
    if task.kind is not Rounds:
        score = np.asarray(task.score)[is_scored]
        return bool(((score > 0.0) & (score < 1.0)).any())
    flat: Any = task.events.events  # type: ignore[union-attr]
    team = np.stack([task.event, flat.team, np.asarray(flat.rank)])[:, is_scored]
    place = np.unique(team, axis=1)[[0, 2]]
    return np.unique(place, axis=1).shape[1] < place.shape[1]


def _is_after_warm_up(events: Any, event: HostArray, warm_up: float) -> HostArray:
    """[n] whether all players have played `warm_up` games before, or that share of the events has passed."""
    if not (0 <= warm_up < 1 or (warm_up >= 1 and float(warm_up).is_integer())):
        raise ValueError(f"warm_up is a whole number of games, or a share of the events below 1, got {warm_up}")
    return _has_played_before(events, int(warm_up)) if warm_up >= 1 else event >= warm_up * (event[-1] + 1)


def _has_played_before(events: Any, min_games: int) -> HostArray:
    """[n] whether all players of a match, or the participant, have played `min_games` games before."""
    if events.nouns == "periods":
        flat = events.flat
        first = np.repeat(events.player_start[:-1], np.diff(events.pair_start))
        events = Matches(np.asarray(flat.player)[first[:, None] + flat.pair], flat.score, flat.time)
    return experience_mask(events, min_games)


def _round_shares_of_teams_beaten(rounds: Ragged, event: HostArray) -> tuple[HostArray, HostArray]:
    """[n] the share of the other teams that each one's team beat, and whether it is scored.

    A contest that ranks nobody is not scored, unless there are two teams: that is the draw of a match.
    """
    flat: Any = rounds.events
    team_index = rounds.player_start[event] + flat.team
    first_row, team_of_row = np.unique(team_index, return_index=True, return_inverse=True)[
        1:
    ]  # one player of each team, in order
    team_event, rank = event[first_row], np.asarray(flat.rank)[first_row]
    teams_ahead, teams_behind = count_better(team_event, rank), count_better(team_event, -rank)
    teams = np.bincount(team_event, minlength=len(flat.time))
    other_teams = teams[team_event] - 1
    share = (teams_behind + 0.5 * (other_teams - teams_ahead - teams_behind)) / np.maximum(other_teams, 1)
    is_scored = (np.bincount(team_event, teams_ahead, minlength=len(flat.time)) > 0) | (teams == 2)
    return share[team_of_row], is_scored[event]


def _count_predicted_score_levels(system: RatingSystem, matches: Matches) -> int:
    """The number of scores to which a system gives probabilities, or 0; ValueError for a score that has none."""

    def predict(params: Params, event: Matches) -> Any:
        first = jax.tree.map(lambda x: x[0], event)
        return scores_or_score_probabilities(
            system.rules.predict(system.rules.prepare(params), system.init(params, 2), first)
        )

    if len(matches.score) == 0:
        return 0
    event = as_device_arrays(jax.tree.map(lambda x: np.asarray(x)[:1], matches))
    prediction = jax.eval_shape(predict, system.params, event)
    if prediction.ndim == 0:
        return 0
    last_level, score = prediction.shape[-1] - 1, np.asarray(matches.score, np.float64)
    is_unmatched = np.abs(score * last_level - np.rint(score * last_level)) > 1e-4
    fail_where(
        is_unmatched, lambda row: f"{system.name} predicts the scores 0, 1/{last_level}, ..., 1, not {score[row]}"
    )
    return int(prediction.shape[-1])
