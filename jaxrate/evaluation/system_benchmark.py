"""How near ratings come to ceilings: fitted systems beside forecasts of others, odds, and boosted trees."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.memory_checks import peak_memory_bytes, reset_peak_memory
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import join_names
from jaxrate.data.data_inputs import as_dataset
from jaxrate.evaluation.benchmark_findings import write_findings
from jaxrate.evaluation.benchmark_scoring import (
    ScoredForecast,
    Scoring,
    compare_with_best,
    feature_worth,
    score_forecast,
)
from jaxrate.evaluation.benchmark_table import (
    TREES,
    TREES_ON_RATINGS,
    Benchmark,
    FeatureWorth,
)
from jaxrate.evaluation.blending import blend_one_step_ahead
from jaxrate.evaluation.boosted_trees import (
    boosted_forecast,
    check_trees_can_be_grown,
    match_features,
    resolve_stack_columns,
)
from jaxrate.evaluation.comparison_candidates import resolve_system, select_candidates, system_choices_by_name
from jaxrate.evaluation.comparison_notes import compose_notes
from jaxrate.evaluation.contenders import Contender, fit_contenders, time_replay
from jaxrate.evaluation.external_forecasts import (
    ExternalForecast,
    describe_impossible_results,
    past_frequencies,
    resolve_external_forecasts,
)
from jaxrate.evaluation.scored_predictions import TwoSidedEvents, as_two_sided, check_last_share
from jaxrate.events import Matches
from jaxrate.events.column_checks import as_event_time, check_clock
from jaxrate.events.dataset import Dataset, count_first_share
from jaxrate.fitting.time_limited_fit import FitLimits
from jaxrate.history.event_columns import expected_outcomes
from jaxrate.metrics.bookmaker_odds import check_odds_method
from jaxrate.metrics.outcome_metrics import score_probabilities
from jaxrate.replay.checked_replay import run
from jaxrate.replay.schedule import get_or_make_levels_plan
from jaxrate.systems.draw_probability_wrapper import add_outcomes, has_outcome_wrapper

BENCHMARK_SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "skills"  # those that are fitted if none are named
MIN_DRAWS = 0.05  # share of draws in the past from which they are predicted
FIT_PROGRESS_SHARE = 0.9  # of the work of a system, about


@enforce_argument_annotations
def benchmark_systems(
    data: Any,
    systems: Mapping[str, Any] | Iterable[Any] | None = None,
    *,
    last: float = 0.2,
    since: Any = None,
    outcomes: int | None = None,
    forecasts: Mapping[str, Any] | None = None,
    odds: Mapping[str, Any] | None = None,
    odds_method: str = "power",
    stack: Any = False,
    fit_seconds: float = 60.0,
    watch: Callable[[float], None] | None = None,
) -> Benchmark:
    """Fit systems to the past, score what follows, and say how near they come to ceilings.

    `compare` says which system predicts a history best; a benchmark fits them all, and measures the best one by
    ceilings: forecasts that others have published, the odds of bookmakers, and boosted trees that see whatever is known
    before a match.

        data = jr.data.datasets.nfl()
        forecasts = {"FiveThirtyEight": jr.data.datasets.nfl_forecast()}
        print(jr.evaluation.benchmark_systems(data, ["elo", "skills"], since="1990-03-01", forecasts=forecasts))

    Every forecast is of the time before its match. Those of systems are as they make them, without the calibration of
    `rate`. Rows have log loss, Brier score, with win, draw and loss the ranked probability score, accuracy, and the
    calibration slope (below 1: too bold). Losses are compared match by match with those of the best system, on the
    matches that have both forecasts; errors are standard errors of such differences.

    Args:
      data: matches, or contests of two sides, as from `read`, or a table or path as it takes it.
      systems: as of `compare`. None: Elo, Glicko, Glicko-2, TrueSkill and skills, as far as they suit the data.
      last: score this last share of the matches, and fit to those before.
      since: score the matches from this date or time on, in place of `last`.
      outcomes: 2: score expected scores, with a draw as half a win; 3: win, draw and loss. None: 3 if at least 5% of
        the matches before are drawn, and no forecast of others leaves out the draw.
      forecasts: probabilities that others have published, or percents, by the name of their row: [n] of the first
        player's win (a draw as half of one), or [n, 2] of win and loss, or [n, 3] of win, draw and loss. Or the columns
        of these, by name, as read by `columns`. NaN where there is none.
      odds: decimal odds of bookmakers, by the name of their row: [n, 2] or [n, 3] in the same order, or columns.
      odds_method: how the margin of bookmakers is removed, see `metrics.probabilities_from_odds`.
      stack: True: boosted trees of scikit-learn on the ratings' log-odds, rest days, form, the round, the side and
        covariates, trained on the matches before those that are scored. Or names of further columns that they see, or
        a mapping from names to columns or arrays, [n], or [n, 2] of each player. Name only what is known before the
        match.
      fit_seconds: seconds after which no step of a fit begins, for each system; 0: hyperparameters stay as they are.
      watch: called with the share of the work that is done.

    Returns:
      A `Benchmark`.

    Raises:
      ValueError: if no system rates the data; for contests of more than two sides; if nothing is before the scored
        matches, or nothing is scored; for forecasts or odds that are none, or leave out the draw where `outcomes` is
        3; or as `compare`.
      ImportError: for a `stack` without scikit-learn.
    """
    check_last_share(last)
    check_odds_method(odds_method)
    if outcomes not in (None, 2, 3):
        raise ValueError(f"outcomes must be 2 or 3, got {outcomes}")
    if not 0.0 <= fit_seconds < float("inf"):
        raise ValueError(f"fit_seconds must be 0 or more, got {fit_seconds:g}")
    data = as_dataset("benchmark_systems", data)
    two_sided = as_two_sided(data)
    if two_sided is None:
        raise ValueError("these are contests of more than two sides, which `compare` ranks systems by")
    num_past = _count_past(data, two_sided, last, since)
    external = resolve_external_forecasts(data, forecasts or {}, odds or {}, odds_method)
    score = np.asarray(two_sided.score, np.float64)
    num_outcomes = _resolve_outcomes(outcomes, score[:num_past], external, isinstance(data.events, Matches))
    if num_outcomes == 3 and not _has_three_scores(score):
        raise ValueError("with outcomes=3 all scores must be 0, 0.5 or 1")
    if stack is not False:
        check_trees_can_be_grown(data, num_past)
    columns = resolve_stack_columns(stack, data)
    scoring = Scoring(score, two_sided.weight, num_past, num_outcomes)
    entries, notes, left_out = _rate_systems(data, two_sided, systems, scoring, fit_seconds, watch)
    predictions = {entry.row.name: entry.prediction for entry in entries}
    others = [score_forecast("past frequencies", "frequencies", _frequencies(data, scoring), scoring)]
    if len(entries) > 1 and num_outcomes == 2:
        _, blend, _ = blend_one_step_ahead(
            [p[:, 1] for p in predictions.values()], two_sided, np.arange(len(score)) >= num_past
        )
        others.append(score_forecast("blend", "blend", np.stack([1.0 - blend, blend], axis=1), scoring))
    for x in external:
        probability = _as_outcomes(x, num_outcomes)
        others.append(score_forecast(x.name, x.kind, probability, scoring))  # type: ignore[arg-type]
        notes += x.notes
        notes += describe_impossible_results(x.name, probability[num_past:], score[num_past:])
    worth, num_trained = list[FeatureWorth](), None
    if stack is not False:
        in_named_order = {name: predictions[name] for name in sorted(predictions)}  # which no scored match has a say in
        features = match_features(data, score, in_named_order, columns, num_past)
        boosted = boosted_forecast(features, score, num_past, num_outcomes)
        num_trained = boosted.num_trained
        trees = scoring.pad(boosted.probabilities)
        others.append(score_forecast(TREES, "trees", trees, scoring))
        others.append(score_forecast(TREES_ON_RATINGS, "trees", scoring.pad(boosted.by_ratings), scoring))
        worth = feature_worth(boosted.without, others[-2], scoring)
    others.sort(key=lambda entry: math.inf if entry.row.quality["log loss"] is None else entry.row.quality["log loss"])
    rows = [compare_with_best(entry, entries[0], scoring) for entry in (*entries, *others)]
    if percents := [x.name for x in external if x.is_percent]:
        notes.append(f"Read as percent: {join_names(percents)}.")
    if odds:
        notes.append(f"The margin of bookmakers is removed by the {odds_method} method.")
    num_scored = len(score) - num_past
    if watch is not None:
        watch(1.0)
    return Benchmark(
        rows,
        len(score),
        num_scored,
        len(data.players),
        num_outcomes,
        f"Scored on the last {num_scored:,} of {len(score):,} matches.",
        write_findings(rows, worth, num_trained),
        notes,
        left_out,
        worth,
    )


def _count_past(data: Dataset, two_sided: TwoSidedEvents, last: float, since: Any) -> int:
    """How many matches come before those that are scored."""
    count = len(two_sided.score)
    if since is None:
        num_past = count_first_share(count, 1.0 - last)
    else:
        if data.clock is None:
            raise ValueError("since needs times; name the column of time")
        check_clock(data.clock, since)
        flat: Any = data.events if isinstance(data.events, Matches) else data.rounds.events
        time_of_match = np.asarray(flat.time)[two_sided.row]
        num_past = int(np.searchsorted(time_of_match, as_event_time("since", since)))
        if num_past == count:
            raise ValueError(f"no match is played since {since}")
    if num_past == 0:
        raise ValueError("no match is before the scored ones; score the last part, as by last=0.2")
    return num_past


def _has_three_scores(score: HostArray) -> bool:
    return bool(np.isin(score, (0.0, 0.5, 1.0)).all())


def _resolve_outcomes(
    outcomes: int | None, past_score: HostArray, external: list[ExternalForecast], matches: bool
) -> int:
    """How many outcomes are scored; ValueError where forecasts of others, or systems, have no draws."""
    lacking = [x.name for x in external if not x.has_draws]
    if outcomes == 3 and lacking:
        raise ValueError(f"{lacking[0]} leaves out the draw; give win, draw and loss, or score by outcomes=2")
    if outcomes == 3 and not matches:
        raise ValueError("win, draw and loss are predicted of matches, and these are contests; take outcomes=2")
    if outcomes is not None:
        return outcomes
    has_draws = matches and not lacking and _has_three_scores(past_score) and np.mean(past_score == 0.5) >= MIN_DRAWS
    return 3 if has_draws else 2


def _rate_systems(
    data: Dataset,
    two_sided: TwoSidedEvents,
    systems: Any,
    scoring: Scoring,
    fit_seconds: float,
    watch: Callable[[float], None] | None,
) -> tuple[list[ScoredForecast], list[str], dict[str, str]]:
    """The entries of all systems, the best first; notes; and why others are left out."""
    choices = system_choices_by_name({name: {} for name in BENCHMARK_SYSTEMS} if systems is None else systems)
    choices, left_out = select_candidates(data, choices, is_named=systems is not None)
    num_past, entries, reasons, used = (
        scoring.num_past,
        list[ScoredForecast](),
        dict[str, str](),
        dict[str, RatingSystem](),
    )
    limits = FitLimits(float("inf"), fit_seconds)
    for number, name in enumerate(choices):
        system = resolve_system(name, choices[name], None, data, num_past)
        if scoring.num_outcomes == 3 and not has_outcome_wrapper(system):
            system = add_outcomes(system)
        contender = Contender(name, None, system)
        reset_peak_memory()
        start_time = time.perf_counter()
        fit_reasons: dict[str, str] = {}
        if fit_seconds > 0:
            watch_fit = None if watch is None else partial(_watch_part, watch, number, len(choices))
            (contender,), fit_reasons = fit_contenders(data, [contender], choices, num_past, None, watch_fit, limits)
        is_fitted = fit_reasons.get(name) == ""
        seconds = time.perf_counter() - start_time if is_fitted else None
        plan = get_or_make_levels_plan(contender.system, data.events, {})
        result, run_seconds = time_replay(run, contender.system, data.events, plan)
        entry = score_forecast(
            name, "system", _predicted_outcomes(result.prediction, data, two_sided, scoring), scoring
        )
        row = entry.row._replace(
            system=contender.system,
            fit_seconds=seconds,
            speed=len(two_sided.score) / run_seconds,
            memory=peak_memory_bytes(),
        )
        entries.append(entry._replace(row=row))
        reasons, used[name] = reasons | fit_reasons, contender.system
        if watch is not None:
            watch((number + 1) / len(choices) * 0.99)
    entries.sort(key=lambda entry: entry.row.quality["log loss"])
    return entries, compose_notes(data, used, choices, num_past, reasons if fit_seconds > 0 else None), left_out


def _watch_part(watch: Callable[[float], None], number: int, count: int, share: float) -> None:
    watch((number + FIT_PROGRESS_SHARE * share) / count * 0.99)


def _predicted_outcomes(prediction: Any, data: Dataset, two_sided: TwoSidedEvents, scoring: Scoring) -> HostArray:
    """[n, K] probabilities of each result."""
    if scoring.num_outcomes == 3:
        return score_probabilities(prediction)
    expected = np.asarray(expected_outcomes(prediction, data)[two_sided.row], np.float64)
    return np.stack([1.0 - expected, expected], axis=1)


def _frequencies(data: Dataset, scoring: Scoring) -> HostArray:
    """[n, K] how often each result was seen in the past."""
    side = data.matches.context.side if isinstance(data.events, Matches) else None
    if side is not None and np.ptp(side) == 0 and (scoring.score == 1).all():  # of winners, who come first
        side = None
    return past_frequencies(scoring.score, side, scoring.num_past, scoring.num_outcomes)


def _as_outcomes(forecast: ExternalForecast, num_outcomes: int) -> HostArray:
    """[n, K] probabilities of each result; of two, with a draw as half a win."""
    p = forecast.probabilities
    if num_outcomes == 3 or not forecast.has_draws:
        return p
    return p[:, ::2] + 0.5 * p[:, 1:2]
