"""Runs that record predictions, the ratings before and after each event, and performances.

Predictions of systems with default hyperparameters are calibrated by one slope of the log-odds that is learnt online.
`rate` is where all commands and pages get their predictions, and these go through here: expected scores of matches, and
in contests the shares of the others to be beaten. Chances of goals do not: those of scorelines and of seasons belong
together with them. What is known of the slope is kept with the history, in its options, and its system is that of
`jr.forecasts.calibrate` with the slope at the end, so that forecasts are calibrated as well. Ratings do not depend on
it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.backend_dependent_operations import check_accelerator_predictions_finite
from jaxrate.core.hashable_values import bind
from jaxrate.core.pairwise_rules import split_sides
from jaxrate.core.rules import Params, RatedEvent, Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Periods, Ragged, Rounds, period_number
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.history.history import History
from jaxrate.metrics.calibration_slopes import OnlineSlope, calibrate_online
from jaxrate.metrics.prediction_metrics import observed_share_of_sides_beaten
from jaxrate.replay.checked_replay import run
from jaxrate.replay.player_rows import describe_shapes
from jaxrate.systems import SYSTEMS
from jaxrate.systems.prediction_wrapping import (
    calibrate,
    expected_score_from_prediction,
    observes_goals,
    wrapper_names,
)
from jaxrate.systems.rounds.performance_inference import Performances

FADING_HYPERPARAMETERS = "reversion", "season_keep", "form_reversion"  # each None where nothing fades


class RecordedRun(NamedTuple):
    """The state and predictions of a `run`, and the ratings on the way."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # as in `Run`
    before: Rating  # leaves [n, 2] of both players of a match or pair, or [P] of participants, when the event begins
    after: Rating | None = None  # the same as the event left them; None unless asked for

    def __repr__(self) -> str:
        fields = {name: part for name, part in self._asdict().items() if part is not None}
        lines = (f"  {name:<11} {describe_shapes(part)}" for name, part in fields.items())
        return "\n".join(["RecordedRun", *lines])


@enforce_argument_annotations
def rating_history(
    system: RatingSystem, events: Matches | Ragged | Dataset, *, after: bool = False, **options: Any
) -> RecordedRun:
    """`run` with the same options, numbers and errors, recording the ratings before each event.

    With `after` also those that it left: a rating period those of its end, beside each of its matches. The numbers are
    then those of `run` to rounding, as a compiler that has more to keep may round in another order.

        history = jr.history.rating_history(jr.elo(), jr.matches([[0, 1], [1, 2]], [1, 0.5]), after=True)
        change = history.after.mean - history.before.mean  # [2, 2]
    """
    return rating_history_with_performances(system, events, with_performances=False, after=after, **options)[0]


def do_leads_fade(system: RatingSystem) -> bool:
    """Whether means move while time passes, so that what an event left is not what the next one finds."""
    return any(getattr(system.params, name, None) is not None for name in FADING_HYPERPARAMETERS)


def record_prediction_and_ratings(
    summary: Any, with_performances: bool, with_ratings_after: bool, rated_event: RatedEvent
) -> tuple[Any, ...]:
    """The prediction, the ratings before, those after and what is inferred; None in place of what is not asked for."""
    params, _, before, after, _, event, inferred = rated_event
    left = _ratings_of_event_players(summary, params, after, event) if with_ratings_after else None
    ratings_before = _ratings_of_event_players(summary, params, before, event)
    return rated_event.prediction, ratings_before, left, inferred if with_performances else None


def _ratings_of_event_players(summary: Any, params: Params, rows: State, event: Any) -> Rating:
    """The ratings of both players of a match or of each pair, or of participants."""
    rating: Rating = summary(params, rows)
    if isinstance(event, Periods):
        return jax.tree.map(lambda *x: jnp.stack(x, axis=-1), *split_sides(rating, event))
    return rating


def infers_performances(system: RatingSystem) -> bool:
    """Whether the system infers `Performances` of a round."""
    return system.rules.infer is not None


@enforce_argument_annotations
def performance_ratings(
    system: RatingSystem | History,
    contests: Annotated[Ragged | Dataset | None, CHECKED_BY_FUNCTION] = None,
    **options: Any,
) -> Performances:
    """The rating at which each participant performed in each contest, and the rank that would have kept their rating.

    The performance is inferred from the result before ratings are updated: the zero of the paper's Q
    (Ebtekar and Liu 2021, Theorem 3.3) in Elo-MMR and Elo-MMX, and what Codeforces and TopCoder call a performance;
    under a ceiling, if there is one. A member of a team has the performance that is expected of them, given that of
    the team. A rating rises if the performance lies above it, and falls if it lies below (of an asymmetric density of
    Elo-MMR only nearly so).

    The rank needed is the worst at which that performance would have been at least the rating before, had everybody
    else come in the order in which they did: 1 + the number of others, or of other teams, ahead. Nobody ties there.

        data = jr.data.from_teams([[["Ada"], ["Bo"], ["Cy"]], [["Bo"], ["Cy"], ["Ada"]]])
        jr.history.performance_ratings(jr.elo_mmr(), data)

    Args:
      system: `elo_mmr()`, `elo_mmx()`, `codeforces()` or `topcoder()`; or a history that one of them rated.
      contests: as of `run`; none with a rated history, which has its own.
      options: `params`, `state`, `num_players` and `schedule`, as of `run`.

    Returns:
      NumPy arrays [sum P], in the order of the rows: performances in rating points, NaN in contests that change
      nothing, as those of one participant; and ranks from 1, 0 in such contests and where even the first place would
      not have kept the rating, since the ceiling lies below it.

    Raises:
      ValueError: for a system that infers no performances, a history that was rated before they were kept, and as
        `run` does.
    """
    if isinstance(system, History):
        if contests is not None or options:
            raise ValueError("a rated history has contests of its own; give nothing else")
        events: Any = system.events
        if "performance" not in events or (np.isnan(events["performance"]).all() and len(events["row"])):
            _check_infers_performances(system.system)
            raise ValueError("this history was rated without performances; rate the contests again")
        return Performances(events["performance"].astype(float), events["rank_needed"])
    _check_infers_performances(system)
    _, inferred = rating_history_with_performances(system, contests, **options)
    if inferred is None:
        raise ValueError("performances are of contests of many, as from jr.rounds, and these are matches")
    return inferred


def _check_infers_performances(system: RatingSystem) -> None:
    """ValueError for a system without performances."""
    if not infers_performances(system):
        names = [name for name, make in SYSTEMS.items() if infers_performances(make())]
        raise ValueError(f"{system.name} infers no performances; {', '.join(names)} do")


def rating_history_with_performances(
    system: RatingSystem, events: Any, with_performances: bool = True, after: bool = False, **options: Any
) -> tuple[RecordedRun, Performances | None]:
    """The run, with ratings left by events if `after`, and performances of contests if the system infers them."""
    history, _ = resolve_events_and_num_players(events)
    if isinstance(history, Matches | Ragged) and not len(history.flat.player):
        raise ValueError(
            f"there are no {history.nouns}: a history needs one, and jr.run returns the state of newcomers"
        )
    has_contests = isinstance(getattr(history, "flat", None), Rounds)  # what is no history, `run` refuses
    with_performances = with_performances and has_contests and infers_performances(system)
    record = bind(record_prediction_and_ratings, system.summary, with_performances, after)
    state, (prediction, before, left, inferred) = run(system, events, record=record, **options)
    check_accelerator_predictions_finite(prediction)
    result = RecordedRun(state, prediction, before, left)
    if inferred is None:
        return result, None
    return result, mask_performances_of_contests_without_effect(system, jax.tree.map(np.asarray, inferred), history)


def mask_performances_of_contests_without_effect(
    system: RatingSystem, inferred: Performances, rounds: Ragged
) -> Performances:
    """The performances that a system inferred, NaN in contests that changed nothing."""
    flat: Any = rounds.events
    start, performance = rounds.player_start, inferred.performance
    is_contested_row = (flat.rank if system.settings.get("skip_ties") else flat.team) > 0  # as `field.contested`
    contested = np.repeat(np.logical_or.reduceat(is_contested_row, start[:-1]), np.diff(start))
    performance = np.where(contested, performance, np.array(np.nan, performance.dtype))
    return Performances(performance, np.where(contested, inferred.rank_needed, np.int32(0)))


def recorded_columns(result: RecordedRun, performances: Performances | None = None) -> dict[str, Any]:
    """The ratings before the events, those that they left if these were recorded, and performances, by column."""
    names, left_names = ("rating", "deviation"), ("rating_after", "deviation_after")
    columns = dict(zip(names, result.before, strict=True)) | dict(zip(left_names, result.after or (), strict=False))
    return columns | (performances._asdict() if performances else {})


OPTION = "calibration"  # of a history, with the fields of its `OnlineSlope`


def _has_default_hyperparameters(system: RatingSystem) -> bool:
    """Whether the hyperparameters that a fit may move are those of its factory."""
    if system.factory is None:
        return False
    try:
        default = system.factory(**system.settings).params._asdict()
    except ValueError:  # the settings need hyperparameters of their own, as a coarse grid a wide kernel
        return False
    fitted = (name for name, about in system.space._asdict().items() if about.fitted)
    return all(getattr(system.params, name) == default.get(name) for name in fitted)


def initial_calibration_slope(system: RatingSystem, calibrated: bool | None) -> OnlineSlope | None:
    """The belief about the slope before the first event; None if predictions are not calibrated.

    `calibrated` None: if hyperparameters are the default. Predictions of goals and those in full are never calibrated,
    since all of their numbers belong together, and nor are those of systems without a space of hyperparameters.
    """
    if system.space is None or wrapper_names(system) or observes_goals(system):
        return None
    is_calibrated = _has_default_hyperparameters(system) if calibrated is None else calibrated
    return OnlineSlope() if is_calibrated else None


def calibration_slope_of_history(rated: History) -> OnlineSlope | None:
    """The belief about the slope at the end of a history; None if its predictions are not calibrated online."""
    known = rated.options.get(OPTION)
    return None if known is None or wrapper_names(rated.system) != ("calibrated",) else OnlineSlope(**known)


def calibrate_like_history(system: RatingSystem, onto: History) -> RatingSystem:
    """The system with the calibration slope of the history's; as it is, if the history has none or it is wrapped."""
    if calibration_slope_of_history(onto) is None or wrapper_names(system):
        return system
    return set_calibration_slope(system, onto.system.params.calibration_slope)


def set_calibration_slope(system: RatingSystem, slope: float) -> RatingSystem:
    """The calibrated system with this slope, to six digits."""
    slope = float(f"{slope:.6g}")
    if wrapper_names(system):
        return system._replace(params=system.params._replace(calibration_slope=slope))
    return calibrate(system, calibration_slope=slope)


def calibrate_events(
    prediction: Any, data: Dataset, period: float | None, last: float | None, slope: OnlineSlope
) -> tuple[HostArray, OnlineSlope]:
    """The calibrated expected scores [n] or shares [sum P], and what is known of the slope after the events.

    Events of one time, or of one rating period, are calibrated by the slope before it; without times each event is
    after the one before it. `last` is the time of the event before them.
    """
    events: Any = data.events.flat
    begins_time = np.ones(len(events.time), bool)
    if data.clock is not None and len(begins_time):
        time = np.append(np.nan if last is None else last, events.time)
        begins_time = np.diff(time if period is None else period_number(time, period)) != 0.0
    if data.of_matches:
        expected = np.asarray(expected_score_from_prediction(prediction))
        return calibrate_online(expected, np.asarray(events.score), events.context.weight, begins_time, slope)
    start, rows = data.rounds.player_start, np.zeros(len(data.rows), bool)
    rows[start[:-1]] = begins_time
    beaten = observed_share_of_sides_beaten(data.rounds)
    team = np.repeat(start[:-1], np.diff(start)) + events.team  # numbered by the rows
    weight = np.where(np.isnan(beaten), 0.0, 0.5 / np.bincount(team, minlength=1)[team])
    return calibrate_online(np.asarray(prediction), np.nan_to_num(beaten), weight, rows, slope, start)


def calibrate_by_final_slope(system: RatingSystem, slope: OnlineSlope | None) -> tuple[RatingSystem, dict[str, Any]]:
    """The system with the slope that is known at the end, and the options of its history. Without a slope as it is."""
    if slope is None:
        return system, {}
    return set_calibration_slope(system, slope.learn().slope), {OPTION: slope._asdict()}


def describe_calibration(system: RatingSystem, options: Mapping[str, Any]) -> str:
    """A sentence on how the predictions of a history are calibrated; "" if they are not."""
    if OPTION not in options:
        return "Chances are those of goals, and are not calibrated." if observes_goals(system) else ""
    slope = OnlineSlope(**options[OPTION]).learn().slope
    return (
        f"Chances are calibrated by the results before each: they go {'towards' if slope < 1 else 'away from'} even "
        f"chances, as their log-odds are multiplied by {slope:.2f} at the end."
    )
