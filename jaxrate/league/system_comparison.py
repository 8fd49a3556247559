"""Which system predicts best: each rates the same events, and every prediction is made before its result is known."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.argument_checks import check_arguments, format_value
from jaxrate.data.data_inputs import as_dataset
from jaxrate.data.nested_teams import dataset_has_teams
from jaxrate.events import Matches, Periods, Rounds, periods
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.time_limited_fit import fixed_key
from jaxrate.league.blending import blend_one_step_ahead
from jaxrate.league.comparison_notes import (
    describe_fits,
    describe_hyperparameters,
    describe_margin,
    describe_side,
    describe_unused,
    has_sides,
    unused_data_features,
    uses_side,
)
from jaxrate.league.comparison_table import BlendResult, Comparison, SystemResult, result_label
from jaxrate.league.dataset_rating import check_contest_times
from jaxrate.league.evaluation import TwoSidedEvents, as_two_sided, check_last_share, last_share_mask
from jaxrate.league.event_ratings import rating_history
from jaxrate.league.margin_worth import adapt_margin_scale
from jaxrate.league.prediction_columns import expected_outcomes
from jaxrate.league.system_choice import adapt_system, rates_events
from jaxrate.metrics.prediction_metrics import compare_log_loss, match_metrics, ranking_metrics
from jaxrate.parallel_map import Executor, map_items
from jaxrate.replay.checked_replay import run
from jaxrate.replay.schedule import reuse_levels
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS, systems_with_trait
from jaxrate.text_format import format_number
from jaxrate.types import HostArray

FIT_PROGRESS_SHARE = 0.8  # of the work, about, where systems are fitted


@check_arguments
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
) -> Comparison:
    """Rate the same events by several systems, and say which predicted best.

    Each predicts every match before it learns from it, and is judged by log loss, Brier score, accuracy and calibration
    error. Losses are compared match by match: the table says by how much each lies behind the best, and the standard
    error of that difference, as if matches were drawn independently. Two or more of them are blended in the last row:
    their log-odds, with weights that are fitted to what came before each match, as `blend` does. In contests of more
    than two sides, the ratings before each say who will be ahead of whom, and how far off the places are, as in
    `metrics.standings`. Beneath the table stand the hyperparameters, and what the data say and a system does not know.

        print(jr.compare(jr.data.datasets.nfl(), ["elo", "glicko"]))
        print(jr.compare(jr.data.datasets.nfl(), {"glicko": {"side_advantage": 60}, "mine": jr.glicko(c=20)}))

    Args:
      data: matches or contests, as from `read`, or a table or path as it takes it.
      systems: names of `SYSTEMS`, which are adapted to the data (to its categories, scores, sides and periods), or
        systems, which are taken as they are; or either by the name to show: then a name of `SYSTEMS` comes with the
        hyperparameters to change. None: all that rate the data, except those that demand what it does not have. To
        those by name the side is worth what it was before the share that is scored, and margins what predicted best
        there; both as usual if all is scored.
      lengths: rate in periods of each of these lengths, by the systems that do; None: one event after the other.
      last: score this last share of the matches or contests only.
      timed: replay twice, and say how fast the second one was, compilation and schedule apart; no two at once.
      fit: fit those by name to what comes before the share that is scored: to the last 100,000 matches or
        participations of it, in at most 50 steps, none of which begins after a minute. What is given stays.
      watch: called with the share of the work that is done.
      executor: whose workers each fit or rate a system in one form: anything with a `map`, as a
        `concurrent.futures.Executor`, Dask's `Client(...).get_executor()`, or Ray's `ray.util.multiprocessing.Pool`.
        None: one after the other, here.
        What workers in other processes are given is pickled, so functions of one's own stand in a module; such
        processes are spawned, not forked. The numbers are the same.

    Returns:
      A `Comparison`. Systems that draw random numbers draw the same every time.

    Raises:
      ValueError: if no system rates the data, if `last` is not above 0 and at most 1, or 1 for a `fit`; or as `rate`.
    """
    check_last_share(last)
    if fit and last == 1:
        raise ValueError("a fit needs events that are not scored; score the last ones only, as by last=0.2")
    data = as_dataset("compare", data)
    system_choices = _systems_by_name({name: {} for name in SYSTEMS} if systems is None else systems)
    system_choices, left_out = select_candidates(data, system_choices, is_named=systems is not None)
    lengths = tuple(lengths)
    systems_of = {name: resolve_system(name, given, None, data) for name, given in system_choices.items()}
    names_and_lengths = [
        (name, x) for name, system in systems_of.items() for x in lengths if _event_type(data, x) in system.events
    ]
    if not names_and_lengths:
        raise ValueError(
            f"{' and '.join(system_choices)} rates rating periods, which need times; name the column of time"
        )
    of_matches = isinstance(data.events, Matches)
    count = len(data.rows) if of_matches else len(data.rounds.player_start) - 1
    event_mask = last_share_mask(data, last)
    sides = as_two_sided(data)
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
        contenders, reasons = _fit_contenders(data, contenders, system_choices, num_past, executor, watch_fit)
    share = FIT_PROGRESS_SHARE if fit else 0.0
    watch_rating = None if watch is None else (lambda done: watch(share + (1.0 - share) * done))
    results_and_guesses = map_items(
        None if timed else executor,
        partial(_evaluate_contender, data, sides, event_mask, timed, {}),
        contenders,
        watch_rating,
    )
    results = [result for result, _ in results_and_guesses]
    guesses = {result_label(result): guess for result, guess in results_and_guesses if guess is not None}
    results.sort(key=lambda result: _sort_key(result.quality))
    if sides is not None:
        best = guesses[result_label(results[0])]
        results = [
            result._replace(
                behind=compare_log_loss(
                    guesses[result_label(result)], best, sides.score, weight=sides.weight, mask=event_mask
                )
            )
            for result in results
        ]
    counts = {"matches": count} if of_matches else {"contests": count, "participations": len(data.rows)}
    scored_on = _describe_scored(counts, int(event_mask.sum()), lengths)
    notes = _compose_notes(
        data, {form.name: form.system for form in contenders}, system_choices, num_past, reasons if fit else None
    )
    blend = _blend_guesses(guesses, sides, event_mask) if sides is not None and len(guesses) > 1 else None
    return Comparison(results, counts, len(data.players), int(event_mask.sum()), scored_on, notes, left_out, blend)


class Contender(NamedTuple):
    """What is to be rated in which form."""

    name: str
    length: float | None  # of rating periods
    system: RatingSystem


def _evaluate_contender(
    data: Dataset,
    sides: TwoSidedEvents | None,
    event_mask: HostArray,
    timed: bool,
    event_cache: dict[Any, Any],
    contender: Contender,
) -> tuple[SystemResult, HostArray | None]:
    """How a system did, and what it expected of the first sides [n]; `arranged` are events and plans by length."""
    name, length, system = contender
    if length not in event_cache:
        event_cache[length] = data.events if length is None else periods(data.matches, length), {}
    events, plans = event_cache[length]
    replay, judge = _make_evaluator(data, sides, event_mask)
    run_result, seconds = time_replay(replay, system, events, reuse_levels(system, events, plans), 1 + timed)
    speed = len(data.rows) / seconds if timed else None
    guess = None if sides is None else np.asarray(expected_outcomes(run_result.prediction, data)[sides.row])
    return SystemResult(name, length, system, judge(run_result), speed, None), guess


def _blend_guesses(guesses: dict[str, Any], sides: TwoSidedEvents, event_mask: HostArray) -> BlendResult:
    weights, _, quality = blend_one_step_ahead([*guesses.values()], sides, event_mask)
    return BlendResult(dict(zip(guesses, weights.tolist(), strict=True)), quality)


def _describe_scored(counts: Mapping[str, int], num_scored: int, lengths: tuple[float | None, ...]) -> str:
    """What was scored."""
    what, count = next(iter(counts.items()))
    some = f"all {count:,} {what}" if num_scored == count else f"the last {num_scored:,} of {count:,} {what}"
    form = "" if len(lengths) > 1 or lengths[0] is None else f" Rated in periods of {format_number(lengths[0])}."
    return f"Scored on {some}.{form}"


def _fit_contenders(
    data: Dataset,
    contenders: list[Contender],
    system_choices: Mapping[str, Any],
    num_past: int,
    executor: Executor | None,
    watch: Callable[[float], None] | None,
) -> tuple[list[Contender], dict[str, str]]:
    """The forms with systems that are fitted, and why those by name were not, "" if they were."""
    by_name = [form for form in contenders if not isinstance(system_choices[form.name], RatingSystem)]
    fit_tasks = [(form, tuple(system_choices[form.name])) for form in by_name]
    results = dict(
        zip(by_name, map_items(executor, partial(_fit_contender, data, num_past), fit_tasks, watch), strict=True)
    )
    reasons = {form.name: reason for form, (_, reason) in results.items()}
    return [form._replace(system=results[form][0]) if form in results else form for form in contenders], reasons


def _fit_contender(
    data: Dataset, num_past: int, fit_task: tuple[Contender, tuple[str, ...]]
) -> tuple[RatingSystem, str]:
    """The system of a form, fitted, and why not; some hyperparameters stay."""
    from jaxrate.fitting.time_limited_fit import fit_with_time_limit

    contender, fixed = fit_task
    return fit_with_time_limit(contender.system, data, num_past, contender.length, fixed)


def _compose_notes(
    data: Dataset, systems: Mapping[str, RatingSystem], system_choices: Mapping[str, Any], num_past: int,
    reasons: Mapping[str, str] | None,
) -> list[str]:  # fmt: skip
    """What to say beneath the table; `reasons` why those by name were not fitted, None if there was no fit."""
    changed = [name for name, given in system_choices.items() if given]
    what = "matches" if isinstance(data.events, Matches) else "contests"
    sentences = (
        [describe_hyperparameters(changed)] if reasons is None else describe_fits(reasons, changed, num_past, what)
    )
    if num_past and data.margin:
        sentences += describe_margin(
            [
                name
                for name, system in systems.items()
                if not isinstance(system_choices[name], RatingSystem) and "margin_scale" not in system_choices[name]
                if system.settings.get("outcome") == "margin" and (reasons or {}).get(name, " ")
            ],
            num_past,
        )
    if has_sides(data):
        by_default = [
            name
            for name, system in systems.items()
            if not isinstance(system_choices[name], RatingSystem) and "side_advantage" not in system_choices[name]
            if uses_side(system) and (reasons or {}).get(name, " ")
        ]
        sentences += describe_side(data, by_default, num_past)
    return sentences + describe_unused({name: unused_data_features(system, data) for name, system in systems.items()})


def _systems_by_name(systems: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Systems, or changes of hyperparameters of those that are named, by the name to show."""
    if isinstance(systems, Mapping):
        return dict(systems)
    listed_systems = [systems] if isinstance(systems, (str, RatingSystem)) else list(systems)
    by_name: dict[str, Any] = {}
    for system in listed_systems:
        name = system.name if isinstance(system, RatingSystem) else system
        if not isinstance(name, str):
            raise ValueError(f"compare takes systems, or their names, got {format_value(system)}")
        if name in by_name:
            raise ValueError(f"two systems have the name {name}; give each its own, as in {{'fast': {name}(...), ...}}")
        by_name[name] = system if isinstance(system, RatingSystem) else {}
    return by_name


def resolve_system(
    name: str, system_or_changes: Any, length: float | None, data: Dataset, num_past: int = 0
) -> RatingSystem:
    """A system that was given, or the one of this name with these changes for these data.

    Of the matches the first are the `past`, so many, of which none is scored.
    """
    if isinstance(system_or_changes, RatingSystem):
        return system_or_changes
    return adapt_margin_scale(
        adapt_system(name, system_or_changes, length, data, unscored_count=num_past),
        system_or_changes,
        data,
        length,
        num_past,
    )


def select_candidates(
    data: Dataset, systems: Mapping[str, Any], *, is_named: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Which of these systems, or of those so named with these changes, rate the data, and why others are left out.

    Unless the user `named` them, systems are left out whose demands the data does not meet.

    Raises:
      ValueError: if none is left, or if contests are not in order of time and a system takes notice.
    """
    of_matches = isinstance(data.events, Matches)
    chosen = {name: resolve_system(name, given, None, data) for name, given in systems.items()}
    fitting = [name for name, system in chosen.items() if rates_events(system, data)]
    if not is_named and of_matches:
        fitting = [name for name in fitting if not chosen[name].traits.contests]
    if not is_named and of_matches and (data.categories is None or data.clock is None):
        fitting = [name for name in fitting if Matches in chosen[name].events]
    if not fitting:
        kind = "matches" if of_matches else "rounds"
        raise ValueError(f"none of these systems rates {kind}: {', '.join(chosen)}")
    left_out: dict[str, str] = {}
    if dataset_has_teams(data):
        left_out = {name: "team-mates would be opponents" for name in fitting if not chosen[name].traits.teams}
        if len(left_out) == len(fitting):
            know = " or ".join(systems_with_trait("teams"))
            raise ValueError(f"none of these systems rates teams: {', '.join(left_out)}; try {know}")
    flat: Any = None if of_matches else data.rounds.events
    if flat is not None and flat.seat is not None:
        left_out |= {name: "it rates nobody in several teams" for name in fitting if not chosen[name].traits.seats}
        if len(left_out) == len(fitting):
            know = " or ".join(systems_with_trait("seats"))
            raise ValueError(f"none of these rates players in several teams: {', '.join(left_out)}; try {know}")
    if flat is not None and flat.noise is not None:
        left_out |= {name: "it knows no noise of contests" for name in fitting if not chosen[name].traits.noise}
        if len(left_out) == len(fitting):
            know = " or ".join(systems_with_trait("noise"))
            raise ValueError(f"none of these systems knows the noise of contests: {', '.join(left_out)}; try {know}")
    for name in fitting:
        if of_matches and not is_named:
            try:
                resolve_system(name, systems[name], None, data).check(data.events)
            except ValueError as error:
                left_out[name] = str(error)
        elif not of_matches and name not in left_out:
            check_contest_times(chosen[name], data)
    return {name: systems[name] for name in fitting if name not in left_out}, left_out


def _event_type(data: Dataset, length: float | None) -> type:
    """What a system is to rate."""
    whole = Matches if isinstance(data.events, Matches) else Rounds
    return whole if length is None else Periods


def _make_evaluator(
    data: Dataset, sides: TwoSidedEvents | None, event_mask: HostArray
) -> tuple[Callable[..., Any], Callable[[Any], dict[str, float]]]:
    """How to replay, and what to say of what it gave; `scored` [n] or [E] is a mask."""
    if sides is None:
        mask = np.repeat(event_mask, np.diff(data.rounds.player_start))
        return rating_history, lambda found: ranking_metrics(data.rounds, found.before.mean, mask=mask)

    def of_sides(run_result: Any) -> dict[str, float]:
        prediction = expected_outcomes(run_result.prediction, data)[sides.row]
        return match_metrics(prediction, sides.score, weight=sides.weight, mask=event_mask)

    return run, of_sides


def _sort_key(quality: Mapping[str, float]) -> float:
    """The best first."""
    return quality["log loss"] if "log loss" in quality else -np.nan_to_num(quality["pair inversion"])


def time_replay(
    replay: Callable[..., Any], system: RatingSystem, events: Any, plan: Any, times: int = 2
) -> tuple[Any, float]:
    """What `replay` gives, and the seconds of its last time: of a second one, compilation and schedule apart."""
    for _ in range(times):
        start = time.perf_counter()
        result = jax.block_until_ready(replay(system, events, schedule=plan, key=fixed_key(system)))
        seconds = time.perf_counter() - start
    return result, seconds
