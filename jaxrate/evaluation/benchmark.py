"""benchmark_systems: how near systems come to ceilings, and how that prints."""

import html
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.memory_checks import format_bytes, peak_memory_bytes, reset_peak_memory
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_html_table, format_table, join_names
from jaxrate.data.data_inputs import as_dataset
from jaxrate.evaluation.blending import blend_one_step_ahead
from jaxrate.evaluation.ceilings import (
    ExternalForecast,
    boosted_forecast,
    check_trees_can_be_grown,
    describe_impossible_results,
    match_features,
    past_frequencies,
    resolve_external_forecasts,
    resolve_stack_columns,
)
from jaxrate.evaluation.comparison import (
    INTERVAL_ERRORS,
    LOSS_DIFFERENCE_HEAD,
    Contender,
    compose_notes,
    fit_contenders,
    format_loss_difference,
    resolve_system,
    select_candidates,
    system_choices_by_name,
    time_replay,
)
from jaxrate.evaluation.scored_predictions import TwoSidedEvents, as_two_sided, check_last_share, format_metric
from jaxrate.events import Matches
from jaxrate.events.column_checks import as_event_time, check_clock
from jaxrate.events.dataset import Dataset, count_first_share
from jaxrate.fitting.time_limited_fit import FitLimits
from jaxrate.history.column_table import ColumnTable, table_to_pandas, to_numbers_or_texts
from jaxrate.history.event_columns import expected_outcomes
from jaxrate.metrics.bookmaker_odds import check_odds_method
from jaxrate.metrics.calibration_slopes import NO_SLOPE, calibration_slope
from jaxrate.metrics.prediction_metrics import (
    LogLossDifference,
    LossesByMatch,
    losses_by_match,
    paired_difference,
    score_probabilities,
)
from jaxrate.replay.checked_replay import run
from jaxrate.replay.schedule import get_or_make_levels_plan
from jaxrate.systems.draw_probability_wrapper import add_outcomes, has_outcome_wrapper

RowKind = Literal["system", "blend", "frequencies", "forecast", "odds", "trees"]
SLOPE = "calibration slope"
TREES = "boosted trees"  # the row of those that see everything
TREES_ON_RATINGS = "boosted trees, ratings alone"
ROW_KINDS = {  # what rows are called in the column of their kind
    "system": "rating",
    "blend": "blend",
    "frequencies": "floor",
    "forecast": "forecast",
    "odds": "odds",
    "trees": "trees",
}
LEFT_ALIGNED = "forecaster", "kind"


class BenchmarkRow(NamedTuple):
    """A forecaster, and how good its forecasts of the scored matches are."""

    name: str
    kind: RowKind
    quality: dict[str, Any]  # metrics by name; None of a slope that there is not, and of no match
    slope_error: float | None  # standard error of the calibration slope
    scored: int  # matches of those that are scored which have a forecast
    log_loss_difference: LogLossDifference | None  # from the best system, on these; None of it, and of no match
    system: RatingSystem | None = None
    fit_seconds: float | None = None  # None: it was not fitted
    speed: float | None = None  # matches rated in a second, compiled
    memory: float | None = None  # bytes at the peak of its fit and its run; None: unknown


class FeatureWorth(NamedTuple):
    """What trees lose without a kind of evidence."""

    name: str
    loss: LogLossDifference  # log loss without it, less that with it


class Benchmark(NamedTuple):
    """How near ratings come to ceilings: a row for each forecaster. `print` shows the table.

    `rows` has the systems first, the best of them at the head, and then the others, the best first.
    """

    rows: list[BenchmarkRow]
    matches: int
    scored: int
    players: int
    outcomes: int  # 2: expected scores are scored; 3: win, draw and loss
    scored_on: str  # the scored matches, in words
    findings: list[str]  # sentences: how near the best system is to each ceiling, and where evidence is left
    notes: list[str]  # sentences on hyperparameters, and on how odds became probabilities
    left_out: dict[str, str]  # why systems were left out, by name
    worth: list[FeatureWorth]  # of what trees see beside the ratings, the most valuable first

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """Everything in JSON: a record for each row."""
        return json.dumps(self.to_record(), ensure_ascii=False, allow_nan=False)

    def to_record(self) -> dict[str, Any]:
        """Everything as a dict of what JSON can hold, None for what is missing."""
        rows = [
            {
                "name": row.name,
                "kind": row.kind,
                **{name.replace(" ", "_"): _finite(x) for name, x in row.quality.items()},
                "calibration_slope_error": _finite(row.slope_error),
                "scored": row.scored,
                **_difference_record("behind", row.log_loss_difference),
                "fit_seconds": row.fit_seconds,
                "matches_per_second": row.speed,
                "memory_bytes": row.memory,
                "hyperparameters": None
                if row.system is None
                else {name: _finite(x) for name, x in row.system.params._asdict().items()},
            }
            for row in self.rows
        ]
        worth = [{"name": x.name, **_difference_record("lost_without", x.loss)} for x in self.worth]
        counts = {"matches": self.matches, "scored": self.scored, "players": self.players, "outcomes": self.outcomes}
        texts = {"findings": self.findings, "notes": self.notes, "left_out": self.left_out}
        return counts | {"rows": rows, "worth": worth} | texts

    def columns(self) -> ColumnTable:
        """The table as columns, of numbers; `behind_error` is the standard error of the difference `behind`."""
        names = [*self.rows[0].quality]
        columns: dict[str, Any] = {"forecaster": [x.name for x in self.rows], "kind": [x.kind for x in self.rows]}
        columns |= {name.replace(" ", "_"): [x.quality[name] for x in self.rows] for name in names}
        gaps = [x.log_loss_difference or LogLossDifference(0.0, 0.0) for x in self.rows]
        columns |= {"behind": [x.difference for x in gaps], "behind_error": [x.error for x in gaps]}
        columns["scored"] = [x.scored for x in self.rows]
        for name in ("fit_seconds", "speed", "memory"):
            columns[name] = [getattr(x, name) for x in self.rows]
        return ColumnTable({name: to_numbers_or_texts(values) for name, values in columns.items()})

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        counts, fits = ["scored"] * self._has_gaps, ["fit"] * self._is_fitted
        metrics = [*self.rows[0].quality, LOSS_DIFFERENCE_HEAD]
        return ["forecaster", "kind", *metrics, *counts, *fits, "matches/s", "memory"]

    @property
    def _has_gaps(self) -> bool:
        """Whether somebody has no forecast of some of the scored matches."""
        return any(row.scored != self.scored for row in self.rows)

    @property
    def _is_fitted(self) -> bool:
        return any(row.fit_seconds is not None for row in self.rows)

    @property
    def cells(self) -> list[list[str]]:
        """The cells of each row as text."""
        return [self._row_cells(row) for row in self.rows]

    def _row_cells(self, row: BenchmarkRow) -> list[str]:
        metrics = [
            ""
            if value is None
            else format_slope(value, row.slope_error)
            if name == SLOPE and row.slope_error is not None
            else format_metric(name, value)
            for name, value in row.quality.items()
        ]
        gap = "" if row.log_loss_difference is None else format_loss_difference(row.log_loss_difference)
        count = [f"{row.scored:,}"] * self._has_gaps
        fit = ["" if row.fit_seconds is None else f"{row.fit_seconds:.1f} s"] * self._is_fitted
        costs = [
            "" if row.speed is None else f"{row.speed:,.0f}",
            "" if row.memory is None else format_bytes(row.memory),
        ]
        return [row.name, ROW_KINDS[row.kind], *metrics, gap, *count, *fit, *costs]

    def __str__(self) -> str:
        table = format_table(self.head, self.cells, left_aligned=LEFT_ALIGNED)
        return "\n".join([table, "", *self.findings, "", self.scored_on, *self.notes])

    def _repr_html_(self) -> str:
        text = html.escape(" ".join([*self.findings, self.scored_on, *self.notes]))
        return format_html_table(self.head, self.cells, left_aligned=LEFT_ALIGNED) + f"<p>{text}</p>"


def format_slope(slope: float, error: float) -> str:
    """A calibration slope with its 95% interval."""
    return f"{slope:.2f} ± {INTERVAL_ERRORS * error:.2f}"


def _difference_record(name: str, gap: LogLossDifference | None) -> dict[str, Any]:
    if gap is None:
        return {}
    return {name: _finite(gap.difference), f"{name}_error": _finite(gap.error)}


def _finite(value: Any) -> Any:
    """A number as JSON can hold it; None if it is not finite, or is none."""
    number = None if value is None else float(value)
    return number if number is not None and math.isfinite(number) else None


class Scoring(NamedTuple):
    """What predictions are scored by."""

    score: HostArray  # [n]
    weight: HostArray | None  # [n]
    num_past: int
    num_outcomes: int

    def pad(self, ahead: HostArray) -> HostArray:
        """[n, K] predictions of the scored matches alone, NaN before them."""
        return np.concatenate([np.full((self.num_past, ahead.shape[1]), np.nan), ahead])


class ScoredForecast(NamedTuple):
    """A row without its difference from the best, its predictions, and what it loses."""

    row: BenchmarkRow
    prediction: HostArray  # [n, K] probabilities of each result
    losses: LossesByMatch  # of the scored matches that it has
    has: HostArray  # [m] which of the scored matches it has


def score_forecast(name: str, kind: RowKind, prediction: HostArray, scoring: Scoring) -> ScoredForecast:
    """The metrics of a forecaster, whose predictions [n, K] are NaN where it has none."""
    ahead, score = prediction[scoring.num_past :], scoring.score[scoring.num_past :]
    has = np.asarray(~np.isnan(ahead).any(axis=1))
    weight = np.ones(len(score)) if scoring.weight is None else np.asarray(scoring.weight)[scoring.num_past :]
    if not has.any():
        names = ["log loss", "Brier score", *["RPS"] * (scoring.num_outcomes == 3), "accuracy", SLOPE]
        row = BenchmarkRow(name, kind, dict.fromkeys(names), None, 0, None)
        return ScoredForecast(row, prediction, LossesByMatch(*[np.empty(0)] * 4), has)
    p, s, w = ahead[has], score[has], weight[has]
    losses = losses_by_match(p if scoring.num_outcomes == 3 else p[:, 1], s)
    by_match = {"log loss": losses.log_loss, "Brier score": losses.brier_score}
    if losses.rps is not None:
        by_match["RPS"] = losses.rps
    by_match["accuracy"] = losses.accuracy
    quality: dict[str, Any] = {metric: float(np.average(x, weights=w)) for metric, x in by_match.items()}
    slope = NO_SLOPE
    if kind != "frequencies":  # which are two or three numbers
        slope = calibration_slope(p @ np.linspace(0.0, 1.0, p.shape[1]), s, weight=w)
    quality[SLOPE] = slope.slope
    return ScoredForecast(BenchmarkRow(name, kind, quality, slope.error, len(s), None), prediction, losses, has)


def compare_with_best(entry: ScoredForecast, best: ScoredForecast, scoring: Scoring) -> BenchmarkRow:
    """The row with its difference from the best system, on the matches that it has."""
    if entry is best or not entry.row.scored:
        return entry.row
    weight = None if scoring.weight is None else np.asarray(scoring.weight)[scoring.num_past :][entry.has]
    gap = paired_difference(entry.losses.log_loss, best.losses.log_loss[entry.has], weight)
    return entry.row._replace(log_loss_difference=LogLossDifference(*gap))


def feature_worth(without: Mapping[str, HostArray], trees: ScoredForecast, scoring: Scoring) -> list[FeatureWorth]:
    """What trees lose without each kind of evidence, the most valuable first."""
    worth = []
    for name, prediction in without.items():
        entry = score_forecast(name, "trees", scoring.pad(prediction), scoring)
        gap = compare_with_best(entry, trees, scoring).log_loss_difference
        assert gap is not None
        worth.append(FeatureWorth(name, gap))
    return sorted(worth, key=lambda x: -x.loss.difference)


SUSPECT_SHARE = 0.5  # of what ratings gain on frequencies: who adds more is perhaps a result
MIN_WORTH = 0.0003  # nats that a kind of evidence is worth at least to be named
MIN_SHARE_OF_WAY = 0.002  # nats between floor and ceiling from which a share of the way is told


def write_findings(rows: Sequence[BenchmarkRow], worth: Sequence[FeatureWorth], num_trained: int | None) -> list[str]:
    """The sentences of a benchmark.

    Args:
      rows: as in `Benchmark`: the best system first.
      worth: of what trees see beside the ratings.
      num_trained: matches that trees were trained on; None: there are no trees.
    """
    best, floor = rows[0], next(row for row in rows if row.kind == "frequencies")
    sentences = [_describe_best(best, floor)]
    for row in rows:
        if row.kind in ("forecast", "odds"):
            sentences.append(_describe_ceiling(row, best, floor))
    trees = {row.name: row for row in rows if row.kind == "trees"}
    if num_trained is not None:
        sentences += _describe_trees(trees[TREES], trees[TREES_ON_RATINGS], best, worth, num_trained)
        way = floor.quality["log loss"] - best.quality["log loss"]
        sentences += [_describe_doubt(x.name) for x in worth if x.loss.difference > SUSPECT_SHARE * max(way, 0.0)]
    return sentences


def is_clear(gap: LogLossDifference, count: int = 1) -> bool:
    """Whether a difference is further from 0 than chance takes 5% of so many differences, by Bonferroni's bound."""
    limit = NormalDist().inv_cdf(1.0 - 0.025 / count)
    return gap.error is not None and abs(gap.difference) > limit * gap.error


def _format_gap(gap: LogLossDifference) -> str:
    """The size of a difference with its 95% interval."""
    half = "" if gap.error is None else f" ± {INTERVAL_ERRORS * gap.error:.4f}"
    return f"{abs(gap.difference):.4f}{half}"


def _describe_best(best: BenchmarkRow, floor: BenchmarkRow) -> str:
    loss, base = best.quality["log loss"], floor.quality["log loss"]
    return f"The best rating is {best.name}, with log loss {loss:.4f}; past frequencies alone have {base:.4f}."


def _describe_ceiling(row: BenchmarkRow, best: BenchmarkRow, floor: BenchmarkRow) -> str:
    """How a forecast of others and the best system compare, and how much of the way from the floor that is."""
    gap = row.log_loss_difference
    if gap is None or gap.error is None:
        return f"{row.name} has too few matches to compare with."
    where = "" if row.scored == best.scored else f" on the {row.scored:,} matches that it has"
    if not is_clear(gap):
        return f"{best.name} and {row.name} predict about equally well{where}: they differ by {_format_gap(gap)}."
    if gap.difference > 0:
        return f"{best.name} is ahead of {row.name} by {_format_gap(gap)}{where}."
    sentence = f"{row.name} is ahead of {best.name} by {_format_gap(gap)}{where}"
    way = floor.quality["log loss"] - best.quality["log loss"]
    whole = way - gap.difference
    if where or way <= 0 or whole < MIN_SHARE_OF_WAY:
        return f"{sentence}."
    return f"{sentence}; {best.name} goes {100.0 * way / whole:.0f}% of the way to it from the frequencies."


def _describe_doubt(name: str) -> str:
    """A doubt about a column that says more than half as much as all ratings."""
    return (
        f"Mind that {name} adds more than half of what the ratings say. Is it really known before the match? If not, "
        "the trees are no ceiling."
    )


def _describe_trees(
    trees: BenchmarkRow,
    trees_on_ratings: BenchmarkRow,
    best: BenchmarkRow,
    worth: Sequence[FeatureWorth],
    num_trained: int,
) -> list[str]:
    """How much the ratings leave, and what has it; the second row is of trees on the ratings alone."""
    gap, gap_on_ratings = trees.log_loss_difference, trees_on_ratings.log_loss_difference
    assert gap is not None and gap_on_ratings is not None
    names = join_names(["the ratings", *(x.name for x in worth)])
    intro = f"Boosted trees on {names}, trained on {num_trained:,} earlier matches,"
    if is_clear(gap) and gap.difference < 0:
        first = f"{intro} are ahead of {best.name} by {_format_gap(gap)}: so much is still on the table."
    elif is_clear(gap):
        first = f"{intro} are behind {best.name} by {_format_gap(gap)}: they find no evidence that it leaves."
    else:
        first = f"{intro} differ from {best.name} by {_format_gap(gap)}: no evidence is clearly left on the table."
    clear = [x for x in worth if x.loss.difference >= MIN_WORTH and is_clear(x.loss, len(worth))]
    unclear = [x.name for x in worth if x not in clear]
    sentences = [first]
    if is_clear(gap_on_ratings) and gap_on_ratings.difference < 0:
        sentences.append(
            f"On the ratings alone they are ahead by {_format_gap(gap_on_ratings)}, since they blend and stretch them."
        )
    if clear:
        parts = join_names([f"{x.name} (without it they lose {_format_gap(x.loss)})" for x in clear])
        sentences.append(f"Beyond the ratings, evidence is in {parts}.")
    if unclear:
        sentences.append(f"They gain nothing clear from {join_names(unclear, 'or')}.")
    return sentences


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
