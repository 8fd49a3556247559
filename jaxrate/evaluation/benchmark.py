"""benchmark_systems: how near systems come to ceilings, and how that prints."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict, Unpack

import jax
import numpy as np

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.memory_checks import format_bytes, peak_memory_bytes, reset_peak_memory
from jaxrate.core.text_format import join_names
from jaxrate.data.dataset_from_table import as_dataset
from jaxrate.evaluation.blending import blend_systems_one_step_ahead, name_systems
from jaxrate.evaluation.ceilings import (
    ExternalForecast,
    boosted_forecast,
    check_trees_can_be_grown,
    external_forecast_notes,
    first_trained_match,
    match_features,
    outcome_weights,
    past_frequencies,
    resolve_external_forecasts,
    resolve_stack_columns,
)
from jaxrate.evaluation.comparison import (
    Contender,
    compose_notes,
    fit_contender,
    make_contender,
    select_candidates,
)
from jaxrate.evaluation.scored_predictions import (
    INTERVAL_ERRORS,
    LOSS_DIFFERENCE_HEAD,
    ForecasterKind,
    ScoredForecaster,
    ScoringTarget,
    check_last_share,
    format_loss_difference,
    format_metric,
    loss_to_sort_by,
    make_forecaster_table,
    make_scoring_target,
    select_nonempty_columns,
)
from jaxrate.events.column_checks import as_event_time, check_clock
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.hyperparameter_fit import make_fixed_key
from jaxrate.history.column_table import ColumnTable, PrintedResult, to_numbers_or_texts
from jaxrate.history.history import format_time
from jaxrate.metrics.calibration_slopes import NO_SLOPE, calibration_slope
from jaxrate.metrics.prediction_metrics import (
    LogLossDifference,
    losses_by_match,
    paired_difference,
    score_probabilities,
)
from jaxrate.replay.checked_replay import run
from jaxrate.replay.schedule import get_or_make_levels_plan
from jaxrate.systems.prediction_wrapping import add_outcomes, has_outcome_wrapper
from jaxrate.views.findings import (
    Finding,
    find_against_ceiling,
    find_evidence_beside_ratings,
    format_gap,
    judge_gap_to_best,
)

SLOPE = "calibration slope"
TREES = "boosted trees"  # the row of those that see everything
TREES_ON_RATINGS = "boosted trees, ratings alone"
KIND_NAMES: dict[ForecasterKind, str] = {  # what rows are called in the column of their kind
    "system": "rating",
    "blend": "blend",
    "frequencies": "floor",
    "forecast": "forecast",
    "odds": "odds",
    "trees": "trees",
}


class FeatureWorth(NamedTuple):
    """The worth of a kind of evidence: the log loss that trees add without it."""

    name: str
    loss: LogLossDifference  # log loss without it, less that with it


@dataclass(frozen=True, repr=False)
class Benchmark(PrintedResult):
    """How near ratings come to ceilings: a row for each forecaster. `print` shows the table."""

    left_aligned: ClassVar[tuple[str, ...]] = ("forecaster", "kind")

    rows: list[ScoredForecaster]  # systems, the best of them at the head, and then the others, the best first
    matches: int
    scored: int
    players: int
    outcomes: int  # 2: expected scores are scored; 3: win, draw and loss
    scored_on: str  # the scored matches, in words
    findings: list[str]  # sentences: how near the best system is to each ceiling, and where evidence is left
    notes: list[str]  # sentences on hyperparameters, and on how odds became probabilities
    left_out: dict[str, str]  # why systems were left out, by name
    worth: list[FeatureWorth]  # of what trees see beside the ratings, the most valuable first

    def to_record(self) -> dict[str, Any]:
        """Everything as a dict of what JSON can hold, None for what is missing."""
        worth = [{"name": x.name, **_difference_record("lost_without", x.loss)} for x in self.worth]
        counts = {"matches": self.matches, "scored": self.scored, "players": self.players, "outcomes": self.outcomes}
        texts = {"findings": self.findings, "notes": self.notes, "left_out": self.left_out}
        return counts | {"rows": [_row_record(x) for x in self.rows], "worth": worth} | texts

    def columns(self) -> ColumnTable:
        """The table as columns, of numbers; "behind_error" is the standard error of the difference `behind`."""
        columns: dict[str, Any] = {"forecaster": [x.name for x in self.rows], "kind": [x.kind for x in self.rows]}
        names = "scored", "fit_seconds", "speed", "memory"
        costs = {name: to_numbers_or_texts([getattr(x, name) for x in self.rows]) for name in names}
        return ColumnTable(make_forecaster_table(columns, self.rows, has_differences=True) | costs)

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The names of the columns, and the cells of the first `top` rows, as text for people."""
        has_gaps = any(row.scored != self.scored for row in self.rows)  # where some have no forecast
        head, cells = select_nonempty_columns([_row_cells(x) | ({} if has_gaps else {"scored": ""}) for x in self.rows])
        return head, cells[:top]

    def closing_lines(self) -> list[str]:
        """What was found, on which matches, and notes."""
        return ["", *self.findings, "", self.scored_on, *self.notes]


def _row_cells(row: ScoredForecaster) -> dict[str, str]:
    """The cells of a row by the name of their column."""
    metrics = {name: _format_if_known(partial(format_metric, name), value) for name, value in row.quality.items()}
    if row.slope_error is not None:
        metrics[SLOPE] = f"{row.quality[SLOPE]:.2f} ± {INTERVAL_ERRORS * row.slope_error:.2f}"
    return {
        "forecaster": row.name,
        "kind": KIND_NAMES[row.kind],
        **metrics,
        LOSS_DIFFERENCE_HEAD: format_loss_difference(row.log_loss_difference),
        "scored": f"{row.scored:,}",
        "fit": _format_if_known("{:.1f} s".format, row.fit_seconds),
        "matches/s": _format_if_known("{:,.0f}".format, row.speed),
        "memory": _format_if_known(format_bytes, row.memory),
    }


def _format_if_known(format_one: Callable[[Any], str], value: float | None) -> str:
    return "" if value is None else format_one(value)


def _row_record(row: ScoredForecaster) -> dict[str, Any]:
    """A row as a dict of what JSON can hold."""
    return {
        "name": row.name,
        "kind": row.kind,
        **{name.replace(" ", "_"): _finite_or_none(x) for name, x in row.quality.items()},
        "calibration_slope_error": _finite_or_none(row.slope_error),
        "scored": row.scored,
        **_difference_record("behind", row.log_loss_difference),
        "fit_seconds": row.fit_seconds,
        "matches_per_second": row.speed,
        "memory_bytes": row.memory,
        "hyperparameters": row.system and {name: _finite_or_none(x) for name, x in row.system.params._asdict().items()},
    }


def _difference_record(name: str, gap: LogLossDifference | None) -> dict[str, Any]:
    return {} if gap is None else {name: _finite_or_none(gap.difference), f"{name}_error": _finite_or_none(gap.error)}


def _finite_or_none(value: Any) -> Any:
    """A number as JSON can hold it; None if it is not finite, or is none."""
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else None


class ForecastLosses(NamedTuple):
    """A row without its difference from the best, and what the forecaster loses."""

    row: ScoredForecaster
    log_loss: HostArray  # [m] of each scored match; NaN where it has no forecast


def score_forecast(name: str, kind: ForecasterKind, prediction: HostArray, target: ScoringTarget) -> ForecastLosses:
    """The metrics of a forecaster, whose predictions [m, K] of the scored matches are NaN where it has none."""
    has_forecast = ~np.isnan(prediction).any(axis=1)
    past, log_loss = target.num_past, np.full(len(prediction), np.nan)
    p, score, weight = (x[has_forecast] for x in (prediction, target.score[past:], target.weight[past:]))
    if not len(score):
        names = ["log loss", "Brier score", *["RPS"] * (target.num_outcomes == 3), "accuracy", SLOPE]
        return ForecastLosses(ScoredForecaster(name, kind, dict.fromkeys(names)), log_loss)
    losses = losses_by_match(p if target.num_outcomes == 3 else p[:, 1], score)
    log_loss[has_forecast] = losses.log_loss
    by_match: dict[str, Any] = {"log loss": losses.log_loss, "Brier score": losses.brier_score}
    by_match |= {"RPS": losses.rps, "accuracy": losses.accuracy}
    slope = NO_SLOPE
    if kind != "frequencies":  # which are two or three numbers
        slope = calibration_slope(p @ np.linspace(0.0, 1.0, p.shape[1]), score, weight=weight)
    quality = {metric: float(np.average(x, weights=weight)) for metric, x in by_match.items() if x is not None}
    row = ScoredForecaster(name, kind, quality | {SLOPE: slope.slope}, scored=len(score), slope_error=slope.error)
    return ForecastLosses(row, log_loss)


def log_loss_behind(entry: ForecastLosses, best: ForecastLosses, target: ScoringTarget) -> LogLossDifference:
    """How much more a forecaster loses than another one, on the matches that it has."""
    both = ~np.isnan(entry.log_loss)
    weight = target.weight[target.num_past :][both]
    return LogLossDifference(*paired_difference(entry.log_loss[both], best.log_loss[both], weight))


SUSPECT_SHARE = 0.5  # of what ratings gain on frequencies: who adds more is perhaps a result


def write_findings(rows: Sequence[ScoredForecaster], worth: Sequence[FeatureWorth], num_past: int) -> list[Finding]:
    """What a benchmark finds, from its rows, with the best system first, and the worth of what trees see."""
    best, floor = rows[0], next(row for row in rows if row.kind == "frequencies")
    loss, floor_loss = best.quality["log loss"], floor.quality["log loss"]

    def matches_of(row: ScoredForecaster) -> str:
        return "" if row.scored == best.scored else f" on the {row.scored:,} matches that it has"

    return [
        Finding("best rating", "", best.name, details={"loss": loss, "floor": floor_loss}),
        *(
            find_against_ceiling(row.name, best.name, row.log_loss_difference, floor_loss - loss, matches_of(row))
            for row in rows
            if row.kind in ("forecast", "odds")
        ),
        *_compare_trees_to_best({row.name: row.log_loss_difference for row in rows}, best.name, worth, num_past),
        *find_evidence_beside_ratings({x.name: x.loss for x in worth}, SUSPECT_SHARE * max(floor_loss - loss, 0.0)),
    ]


def _compare_trees_to_best(
    gaps: Mapping[str, LogLossDifference | None], best: str, worth: Sequence[FeatureWorth], num_past: int
) -> list[Finding]:
    """How boosted trees and the best system compare; nothing without any."""
    if TREES not in gaps:
        return []
    names = join_names(["the ratings", *(x.name for x in worth)])
    intro = f"Boosted trees on {names}, trained on {num_past - first_trained_match(num_past):,} earlier matches,"
    told = {TREES: judge_gap_to_best(gaps[TREES])}
    if judge_gap_to_best(gaps[TREES_ON_RATINGS]) == "ahead":
        told[TREES_ON_RATINGS] = "ratings ahead"
    return [Finding("trees", kind, intro, best, format_gap(gaps[name])) for name, kind in told.items()]


BENCHMARK_SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "skills"  # those that are fitted if none are named
MIN_DRAWS = 0.05  # share of draws in the past from which they are predicted
SYSTEMS_PROGRESS_SHARE = 0.99  # of all work


class Ceilings(TypedDict, total=False):
    """The forecasts, odds and stacked models that ratings are compared with, see `benchmark_systems`."""

    forecasts: Mapping[str, Any] | None
    odds: Mapping[str, Any] | None
    odds_method: str
    stack: Any


@enforce_argument_annotations
def benchmark_systems(
    data: Any,
    systems: Mapping[str, Any] | Iterable[Any] | None = None,
    *,
    last: float = 0.2,
    since: Any = None,
    outcomes: Literal[2, 3] | None = None,
    fit_seconds: float = 60.0,
    watch: Callable[[float], None] | None = None,
    **ceilings: Unpack[Ceilings],
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
      outcomes: score expected scores (2), or win, draw and loss (3). In the first a draw is half a win. None: 3 if 5%
        of the matches before are drawn, and no forecast of others leaves out the draw.
      fit_seconds: limit of the fit of each system; 0 takes hyperparameters as they are. No step begins afterwards.
      watch: called with the share of the work that is done.
      forecasts: probabilities that others have published, or percents, by the name of their row: [n] of the first
        player's win (a draw as half of one), or [n, 2] of win and loss, or [n, 3] of win, draw and loss. Or the columns
        of these, by name, as read by `columns`. NaN where there is none.
      odds: decimal odds of bookmakers, by the name of their row: [n, 2] or [n, 3] in the same order, or columns.
      odds_method: how the margin of bookmakers is removed, see `metrics.probabilities_from_odds`. "power" by default.
      stack: True: boosted trees of scikit-learn on the ratings' log-odds, rest days, form, the round, the side and
        covariates, trained on the matches before those that are scored. Or names of further columns that they see, or
        a mapping from names to columns or arrays, [n], or [n, 2] of each player. Name only what is known before the
        match. False by default.

    Returns:
      A `Benchmark`.

    Raises:
      ValueError: if no system rates the data; for contests of more than two sides; if nothing is before the scored
        matches, or nothing is scored; for forecasts or odds that are none, or leave out the draw where `outcomes` is
        3; or as `compare`.
      ImportError: for a `stack` without scikit-learn.
    """
    check_last_share(last)
    if not 0.0 <= fit_seconds < float("inf"):
        raise ValueError(f"fit_seconds must be 0 or more, got {fit_seconds:g}")
    data = as_dataset("benchmark_systems", data)
    published, odds = ceilings.get("forecasts") or {}, ceilings.get("odds") or {}
    stack, odds_method = ceilings.get("stack", False), ceilings.get("odds_method", "power")
    external = resolve_external_forecasts(data, published, odds, odds_method)
    target = _make_target(data, last, since, outcomes, external)
    if stack is not False:
        check_trees_can_be_grown(data, target.num_past)
    columns = resolve_stack_columns(stack, data)
    entries, predictions, notes, left_out = _rate_systems(target, systems, fit_seconds, watch)
    others = _score_other_forecasts(predictions, external, target)
    worth = list[FeatureWorth]()
    if stack is not False:
        trees, worth = _score_boosted_trees(predictions, columns, target)
        others += trees
    others.sort(key=lambda x: loss_to_sort_by(x.row))
    rows = [entries[0].row]
    for x in (*entries[1:], *others):  # which have differences from the best, if they have forecasts
        gap = log_loss_behind(x, entries[0], target) if x.row.scored else None
        rows.append(x.row._replace(log_loss_difference=gap))
    notes += external_forecast_notes(external, target, odds_method)
    count, num_scored = len(target.score), len(target.score) - target.num_past
    notes += [f"Source: {data.source.rstrip('.')}."] if data.source else []
    scored_on = f"Scored on the last {num_scored:,} of {count:,} matches{_describe_dates(data, target.num_past)}."
    findings = [*map(str, write_findings(rows, worth, target.num_past))]
    if watch is not None:
        watch(1.0)
    texts = scored_on, findings, notes, left_out
    return Benchmark(rows, count, num_scored, len(data.players), target.num_outcomes, *texts, worth)


def _describe_dates(data: Dataset, num_past: int) -> str:
    """The first and the last day of the scored matches, as the end of a sentence; nothing without dates."""
    if data.clock != "dates":
        return ""
    times = np.asarray(data.events.flat.time)[[data.events.start[num_past], -1]]
    first, last = (format_time(float(np.floor(day)), "dates") for day in times)
    return f", from {first} to {last}"


def _make_target(
    data: Dataset, last: float, since: Any, outcomes: int | None, external: list[ExternalForecast]
) -> ScoringTarget:
    """The results by which forecasters are scored, see `benchmark_systems`."""
    target = make_scoring_target(data, last)
    check_has_two_sides(target)
    target = target._replace(score=np.asarray(target.score, np.float64), num_past=_count_earlier_matches(target, since))
    reason = _why_not_three_outcomes(target, external)
    if outcomes == 3 and reason:
        raise ValueError(reason)
    if outcomes is None:
        outcomes = 3 if not reason and np.mean(target.score[: target.num_past] == 0.5) >= MIN_DRAWS else 2
    return target._replace(num_outcomes=outcomes)


def check_has_two_sides(target: ScoringTarget) -> None:
    """ValueError for contests of more than two sides."""
    if target.row is None:
        raise ValueError("these are contests of more than two sides, which `compare` ranks systems by")


def _count_earlier_matches(target: ScoringTarget, since: Any) -> int:
    """How many matches come before those that are scored, which are the last share, or those since a time."""
    num_past, clock = target.num_past, target.data.clock
    if since is not None:
        if clock is None:
            raise ValueError("since needs times; name the column of time")
        check_clock(clock, since)
        times = np.asarray(target.data.events.flat.time)
        num_past = int(np.searchsorted(times, as_event_time("since", since)))
        check_that(num_past != len(times), f"no match is played since {since}")
    check_that(num_past != 0, "no match is before the scored ones; score the last part, as by last=0.2")
    return num_past


def _why_not_three_outcomes(target: ScoringTarget, external: list[ExternalForecast]) -> str:
    """Why win, draw and loss cannot be scored; nothing if they can."""
    if lacking := [x.name for x in external if not x.has_draws]:
        return f"{lacking[0]} leaves out the draw; give win, draw and loss, or score by outcomes=2"
    if not target.data.of_matches:
        return "win, draw and loss are predicted of matches, and these are contests; take outcomes=2"
    has_three_scores = np.isin(target.score, (0.0, 0.5, 1.0)).all()
    return "" if has_three_scores else "with outcomes=3 all scores must be 0, 0.5 or 1"


def _rate_systems(
    target: ScoringTarget, systems: Any, fit_seconds: float, watch: Callable[[float], None] | None
) -> tuple[list[ForecastLosses], dict[str, HostArray], list[str], dict[str, str]]:
    """The entries of all systems, the best first; their predictions [n, K]; notes; and why others are left out."""
    data, num_past = target.data, target.num_past
    choices = name_systems([*BENCHMARK_SYSTEMS] if systems is None else systems)
    choices, left_out = select_candidates(data, choices, is_named=systems is not None)
    entries, predictions, contenders = list[ForecastLosses](), dict[str, HostArray](), list[Contender]()
    for number, (name, choice) in enumerate(choices.items(), 1):
        contender = make_contender(name, choice, data, num_past)
        if target.num_outcomes == 3 and not has_outcome_wrapper(contender.system):
            contender = contender._replace(system=add_outcomes(contender.system))
        reset_peak_memory()
        start_time = time.perf_counter()
        if fit_seconds > 0:
            contender = fit_contender(data, num_past, contender, max_events=math.inf, seconds=fit_seconds)
        seconds = time.perf_counter() - start_time if contender.is_fitted else None
        plan = get_or_make_levels_plan(contender.system, data.events, {})
        for _ in range(2):  # the first run compiles
            start_time = time.perf_counter()
            result = run(contender.system, data.events, schedule=plan, key=make_fixed_key(contender.system))
            jax.block_until_ready(result)
        run_seconds = time.perf_counter() - start_time
        if target.num_outcomes == 3:
            predictions[name] = score_probabilities(result.prediction)
        else:
            predictions[name] = outcome_weights(np.asarray(target.select_predictions(result.prediction), np.float64), 2)
        entry = score_forecast(name, "system", predictions[name][num_past:], target)
        row = entry.row._replace(system=contender.system, fit_seconds=seconds, memory=peak_memory_bytes())
        entries.append(entry._replace(row=row._replace(speed=len(target.score) / run_seconds)))
        contenders.append(contender)
        if watch is not None:
            watch(SYSTEMS_PROGRESS_SHARE * number / len(choices))
    notes = compose_notes(data, contenders, num_past, fit=fit_seconds > 0)
    return sorted(entries, key=lambda x: loss_to_sort_by(x.row)), predictions, notes, left_out


def _score_other_forecasts(
    predictions: Mapping[str, HostArray], external: list[ExternalForecast], target: ScoringTarget
) -> list[ForecastLosses]:
    """The entries of past frequencies, of the blend of two or more systems without draws, and of others' forecasts."""
    frequencies = past_frequencies(target.score, target.side, target.num_past, target.num_outcomes)
    forecasts: list[tuple[str, ForecasterKind, HostArray]] = [("past frequencies", "frequencies", frequencies)]
    if len(predictions) > 1 and target.num_outcomes == 2:
        expected = [p[:, 1] for p in predictions.values()]
        _, blend, _ = blend_systems_one_step_ahead(expected, target.score, target.weight, target.mask)
        forecasts.append(("blend", "blend", outcome_weights(blend, 2)))
    forecasts += [(x.name, x.kind, x.as_outcomes(target.num_outcomes)) for x in external]
    return [score_forecast(name, kind, x[target.num_past :], target) for name, kind, x in forecasts]


def _score_boosted_trees(
    predictions: Mapping[str, HostArray], columns: Mapping[str, HostArray], target: ScoringTarget
) -> tuple[list[ForecastLosses], list[FeatureWorth]]:
    """The entries of boosted trees, and the worth of what they see, the most valuable first."""
    in_named_order = [predictions[name] for name in sorted(predictions)]  # which no scored match has a say in
    features = match_features(target.data, target.score, in_named_order, columns, target.num_past)

    def grow(name: str, groups: Iterable[str]) -> ForecastLosses:
        seen = {group: features[group] for group in groups}
        forecast = boosted_forecast(seen, target.score, target.num_past, target.num_outcomes)
        return score_forecast(name, "trees", forecast, target)

    trees, on_ratings = grow(TREES, features), grow(TREES_ON_RATINGS, ["ratings"])
    without = [grow(name, [x for x in features if x != name]) for name in features if name != "ratings"]
    worth = [FeatureWorth(x.row.name, log_loss_behind(x, trees, target)) for x in without]
    return [trees, on_ratings], sorted(worth, key=lambda x: -x.loss.difference)
