"""Which system predicts best: each rates the same events, and every prediction is made before its result is known."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.text_format import format_number
from jaxrate.data.data_inputs import as_dataset
from jaxrate.evaluation.blending import blend_one_step_ahead
from jaxrate.evaluation.comparison_candidates import (
    rated_event_type,
    resolve_system,
    select_candidates,
    system_choices_by_name,
)
from jaxrate.evaluation.comparison_notes import compose_notes
from jaxrate.evaluation.comparison_table import (
    LOSS_DIFFERENCE_NOTE,
    BlendWeightsAndMetrics,
    Comparison,
    PublishedForecast,
    SystemResult,
    system_result_label,
)
from jaxrate.evaluation.contenders import Contender, fit_contenders, time_replay
from jaxrate.evaluation.scored_predictions import (
    TwoSidedEvents,
    as_two_sided,
    check_last_share,
    describe_constant_forecast,
    last_share_mask,
    participants_mask,
)
from jaxrate.events import Matches, periods
from jaxrate.events.dataset import Dataset
from jaxrate.history.dataset_rating import rating_history
from jaxrate.history.event_columns import expected_outcomes
from jaxrate.metrics.pair_order import compare_pair_order
from jaxrate.metrics.prediction_metrics import (
    LogLossDifference,
    compare_log_loss,
    match_metrics,
    ranking_metrics,
    right_pair_shares,
)
from jaxrate.metrics.running_metrics import numbers_that_predict_order
from jaxrate.replay.checked_replay import run
from jaxrate.replay.schedule import get_or_make_levels_plan
from jaxrate.systems import SYSTEMS

FIT_PROGRESS_SHARE = 0.8  # of the work, about, where systems are fitted


@enforce_argument_annotations
def compare(
    data: Any,
    systems: Mapping[str, Any] | Iterable[Any] | None = None,
    *,
    lengths: Iterable[float | None] = (None,),
    last: float = 1.0,
    timed: bool = False,
    fit: bool = False,
    watch: Callable[[float], None] | None = None,
    executor: Executor | None = None,
    published: Mapping[str, Any] | None = None,
) -> Comparison:
    """Rate the same events by several systems, and say which predicted best.

    Each system predicts every match before it learns from it, and is judged by log loss, Brier score, accuracy and
    calibration error. Losses are compared match by match: the table says how far each system is behind the best, with
    the standard error of that difference, as if matches were drawn independently. The last row blends two or more
    systems: it adds up their log-odds, with weights fitted to the matches before, as `blend_systems` does. Contests of
    more than two sides are judged by the order of the ratings before them, as in `metrics.ranking_metrics`. Notes
    beneath the table name the hyperparameters, and the data that a system does not use. Default systems are not
    calibrated, as `rate` does it.

        print(jr.compare(jr.data.datasets.nfl(), ["elo", "glicko"]))
        print(jr.compare(jr.data.datasets.nfl(), {"glicko": {"side_advantage": 60}, "mine": jr.glicko(c=20)}))

    Args:
      data: matches or contests, as from `read`, or a table or path as it takes it.
      systems: names of `SYSTEMS`, which are adapted to the data (to its categories, scores, sides and periods), or
        systems, which are taken as they are. Or a dict from the names to show to systems, or from names of `SYSTEMS` to
        the hyperparameters to change. None: all that rate the data, except those that demand what it does not have. For
        systems given by name, the matches before the scored share say what the side is worth and which worth of margins
        predicts best; if all is scored, both have their defaults.
      lengths: rate in periods of each of these lengths, by the systems that do; None: one event after the other.
      last: score this last share of the matches or contests only.
      timed: replay twice, one system after the other, and say how fast the second replay was, without compilation and
        schedule.
      fit: fit the systems given by name to the events before the scored share: to the last 100,000 matches or
        participations of these, in at most 50 steps, none of which begins after a minute. Hyperparameters that you give
        stay.
      watch: a function that is called with the share of the work that is done.
      executor: whose workers each fit or rate a system in one form: anything with a `map`, as a
        `concurrent.futures.Executor`, Dask's `Client(...).get_executor()`, or Ray's `ray.util.multiprocessing.Pool`.
        None: one after the other, here. Work for other processes is pickled, so functions of your own must be in a
        module. Spawn such processes, do not fork them. The numbers are the same.
      published: forecasts of others to be judged beside the systems, by name: [n] expected scores of player 0.

    Returns:
      A `Comparison`. Systems that draw random numbers draw the same every time.

    Raises:
      ValueError: if no system rates the data, if `last` is not above 0 and at most 1, or 1 for a `fit`; if published
        forecasts are not [n] of matches; or as `rate`.
    """
    check_last_share(last)
    if fit and last == 1:
        raise ValueError("a fit needs events that are not scored; score the last ones only, as by last=0.2")
    data = as_dataset("compare", data)
    system_choices = system_choices_by_name({name: {} for name in SYSTEMS} if systems is None else systems)
    system_choices, left_out = select_candidates(data, system_choices, is_named=systems is not None)
    lengths = tuple(lengths)
    systems_of = {name: resolve_system(name, given, None, data) for name, given in system_choices.items()}
    names_and_lengths = [
        (name, x) for name, system in systems_of.items() for x in lengths if rated_event_type(data, x) in system.events
    ]
    if not names_and_lengths:
        raise ValueError(
            f"{' and '.join(system_choices)} rates rating periods, which need times; name the column of time"
        )
    of_matches = isinstance(data.events, Matches)
    count = len(data.rows) if of_matches else len(data.rounds.player_start) - 1
    event_mask = last_share_mask(data, last)
    two_sided = as_two_sided(data)
    for name, forecast in (published or {}).items():
        if two_sided is None or np.shape(forecast) != two_sided.score.shape:
            raise ValueError(f"published {name!r} must be [n], a forecast of each match, got {np.shape(forecast)}")
    num_past = int(np.count_nonzero(~event_mask))
    systems_by_form = [
        resolve_system(name, system_choices[name], length, data, num_past) for name, length in names_and_lengths
    ]
    contenders = [
        Contender(name, length, system)
        for (name, length), system in zip(names_and_lengths, systems_by_form, strict=True)
    ]
    reasons: dict[str, str] = {}
    if fit:
        watch_fit = None if watch is None else (lambda share: watch(FIT_PROGRESS_SHARE * share))
        contenders, reasons = fit_contenders(data, contenders, system_choices, num_past, executor, watch_fit)
    share = FIT_PROGRESS_SHARE if fit else 0.0
    watch_rating = None if watch is None else (lambda done: watch(share + (1.0 - share) * done))
    results_and_guesses = map_items(
        None if timed else executor,
        partial(_evaluate_contender, data, two_sided, event_mask, timed, {}),
        contenders,
        watch_rating,
    )
    results = [result for result, _ in results_and_guesses]
    predictions = {system_result_label(result): guess for result, guess in results_and_guesses}
    results.sort(key=lambda result: _sort_key(result.quality))
    blend, forecasts = None, list[PublishedForecast]()
    if two_sided is not None:
        best, event_weights = predictions[system_result_label(results[0])], two_sided.weight
        compare_with_best = partial(
            compare_log_loss, other_prediction=best, score=two_sided.score, weight=event_weights, mask=event_mask
        )
        results = [
            result._replace(log_loss_difference=compare_with_best(predictions[system_result_label(result)]))
            for result in results
        ]
        if len(predictions) > 1:
            blend = _blend_predictions(predictions, two_sided, event_mask, compare_with_best)
        for name, forecast in (published or {}).items():
            quality = match_metrics(forecast, two_sided.score, weight=event_weights, mask=event_mask)
            forecasts.append(PublishedForecast(name, quality, compare_with_best(forecast)))
    else:
        scored = participants_mask(data, event_mask)
        _, participants = right_pair_shares(data.rounds, np.zeros(len(scored)), mask=scored)
        behind = partial(compare_pair_order, predictions[system_result_label(results[0])], count=participants)
        results = [x._replace(pair_order_difference=behind(predictions[system_result_label(x)])) for x in results]
    counts = {"matches": count} if of_matches else {"contests": count, "participations": len(data.rows)}
    scored_on = _describe_scored(counts, int(event_mask.sum()), lengths)
    notes = compose_notes(
        data, {form.name: form.system for form in contenders}, system_choices, num_past, reasons if fit else None
    )
    notes += describe_constant_forecast(data, last)
    if len(results) > 1 and results[0].log_loss_difference is not None:
        notes.append(LOSS_DIFFERENCE_NOTE)
    num_scored, num_players = int(event_mask.sum()), len(data.players)
    return Comparison(results, counts, num_players, num_scored, scored_on, notes, left_out, blend, tuple(forecasts))


def _evaluate_contender(
    data: Dataset,
    two_sided: TwoSidedEvents | None,
    event_mask: HostArray,
    timed: bool,
    event_cache: dict[Any, Any],
    contender: Contender,
) -> tuple[SystemResult, HostArray]:
    """The result of a system, and its expected scores of the first sides [n]; `event_cache` has events and plans.

    Of contests of many in place of these the sums [E] of `right_pair_shares`.
    """
    name, period, system = contender
    if period not in event_cache:
        event_cache[period] = data.events if period is None else periods(data.matches, period), {}
    events, plans = event_cache[period]
    replay, evaluate = _make_replay_and_metric_functions(data, two_sided, event_mask)
    run_result, seconds = time_replay(replay, system, events, get_or_make_levels_plan(system, events, plans), 1 + timed)
    speed = len(data.rows) / seconds if timed else None
    if two_sided is None:
        scored = participants_mask(data, event_mask)
        prediction, _ = right_pair_shares(data.rounds, _predicted_order(data, run_result), mask=scored)
    else:
        prediction = np.asarray(expected_outcomes(run_result.prediction, data)[two_sided.row])
    return SystemResult(name, period, system, evaluate(run_result), speed, None), prediction


def _predicted_order(data: Dataset, history: Any) -> Any:
    """[sum P] numbers that predict the order of the participants of contests, highest first."""
    return numbers_that_predict_order(data.rounds, history.prediction, history.before.mean)


def _blend_predictions(
    predictions: dict[str, Any],
    two_sided: TwoSidedEvents,
    event_mask: HostArray,
    compare_with_best: Callable[[Any], LogLossDifference],
) -> BlendWeightsAndMetrics:
    weights, blend, quality = blend_one_step_ahead([*predictions.values()], two_sided, event_mask)
    weights_by_name = dict(zip(predictions, weights.tolist(), strict=True))
    return BlendWeightsAndMetrics(weights_by_name, quality, compare_with_best(blend))


def _describe_scored(counts: Mapping[str, int], num_scored: int, lengths: tuple[float | None, ...]) -> str:
    """The scored events in words."""
    noun, count = next(iter(counts.items()))
    scored_part = f"all {count:,} {noun}" if num_scored == count else f"the last {num_scored:,} of {count:,} {noun}"
    form = "" if len(lengths) > 1 or lengths[0] is None else f" History in periods of {format_number(lengths[0])}."
    return f"Scored on {scored_part}.{form}"


def _make_replay_and_metric_functions(
    data: Dataset, two_sided: TwoSidedEvents | None, scored_event_mask: HostArray
) -> tuple[Callable[..., Any], Callable[[Any], dict[str, Any]]]:
    """A function that replays, and one that computes metrics of its result; `scored_event_mask` marks the scored
    events.
    """
    if two_sided is None:
        mask = participants_mask(data, scored_event_mask)
        return rating_history, lambda history: ranking_metrics(data.rounds, _predicted_order(data, history), mask=mask)

    def evaluate_sides(run_result: Any) -> dict[str, float]:
        prediction = expected_outcomes(run_result.prediction, data)[two_sided.row]
        return match_metrics(prediction, two_sided.score, weight=two_sided.weight, mask=scored_event_mask)

    return run, evaluate_sides


def _sort_key(quality: Mapping[str, float]) -> float:
    """A key that sorts the best first."""
    return quality["log loss"] if "log loss" in quality else -(quality["pair inversion"] or 0.0)
