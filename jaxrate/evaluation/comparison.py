"""compare: systems on the same events, fitted to the past, and how the table prints."""

import html
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations, format_value_or_type
from jaxrate.core.array_types import HostArray
from jaxrate.core.default_side_advantage import DEFAULT_SIDE_SCORE, smoothed_mean_side_score
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.system import RatingSystem, replace_params, set_default_period
from jaxrate.core.text_format import format_html_table, format_number, format_table, join_names
from jaxrate.data.data_inputs import as_dataset
from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
from jaxrate.evaluation.blending import blend_one_step_ahead
from jaxrate.evaluation.scored_predictions import (
    TwoSidedEvents,
    as_two_sided,
    check_last_share,
    describe_constant_forecast,
    format_metric,
    last_share_mask,
    participants_mask,
)
from jaxrate.events import Matches, Periods, Rounds, periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.time_limited_fit import FitLimits, fit_with_time_limit, make_fixed_key
from jaxrate.history.column_table import ColumnTable, table_to_json, table_to_pandas, to_numbers_or_texts
from jaxrate.history.dataset_rating import check_contests_in_time_order, rating_history
from jaxrate.history.event_columns import expected_outcomes
from jaxrate.metrics.prediction_metrics import (
    LogLossDifference,
    compare_log_loss,
    log_loss,
    match_metrics,
    ranking_metrics,
    right_pair_shares,
)
from jaxrate.metrics.ranking_metrics import PairOrderDifference, compare_pair_order
from jaxrate.metrics.running_metrics import numbers_that_predict_order
from jaxrate.replay.checked_replay import run
from jaxrate.replay.schedule import get_or_make_levels_plan
from jaxrate.systems import SYSTEMS, systems_with_feature
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction
from jaxrate.systems.system_construction_by_name import (
    CONTEST_SYSTEMS,
    MEAN_MARGIN_POINTS,
    can_rate_dataset,
    has_sides,
    make_system_for_data,
    uses_side,
)

MARGIN_POINTS_GRID = np.array([200.0, 300.0, 450.0, MEAN_MARGIN_POINTS, 800.0, 1100.0])  # points, of a mean margin
MARGIN_POINTS_DEVIATION = 200.0  # points, of leagues about `MEAN_MARGIN_POINTS`
MAX_FIT_MATCHES = 200_000  # matches, the first ones, that are rated


def system_with_best_margin_scale(
    system: RatingSystem, explicit_settings: Mapping[str, Any], data: Dataset, period: float | None, num_past: int
) -> RatingSystem:
    """The system with the margin scale that predicted the first `num_past` matches best.

    The same system if it learns from no margins, if the scale is among the `explicit_settings` that the user made, or
    without a past.

    Args:
      system: adapted to the data, so that a mean margin is worth `MEAN_MARGIN_POINTS`.
      explicit_settings: the settings and hyperparameters that the user gave.
      data: the dataset.
      period: the length of the rating periods; None: match by match.
      num_past: matches before the scored ones.
    """
    is_adaptable = system.settings.get("outcome") == "margin" and "margin_scale" not in explicit_settings
    if not is_adaptable or not num_past or not isinstance(data.events, Matches):
        return system
    matches = slice_events(data.events, 0, min(num_past, MAX_FIT_MATCHES))
    events = matches if period is None else periods(matches, period)
    weight = np.ones(len(matches.score)) if matches.context.weight is None else np.asarray(matches.context.weight)
    second_half = np.arange(len(weight)) >= len(weight) // 2
    losses = []
    for ratio in MARGIN_POINTS_GRID / MEAN_MARGIN_POINTS:
        params = system.params._replace(margin_scale=ratio * system.params.margin_scale)
        result = run(system, events, params=params, num_players=len(data.players))
        losses.append(
            log_loss(expected_score_from_prediction(result.prediction), matches.score, weight=weight, mask=second_half)
        )
    scale = (
        system.params.margin_scale
        * loss_minimising_mean_margin_points(np.array(losses) * weight[second_half].sum())
        / MEAN_MARGIN_POINTS
    )
    return replace_params(system, system.params._replace(margin_scale=float(f"{scale:.3g}")))


def loss_minimising_mean_margin_points(losses_on_grid: HostArray) -> float:
    """The best worth of a mean margin in points, from the summed log losses of `MARGIN_POINTS_GRID` [6].

    It is the usual one if some losses are not finite.
    """
    if not np.isfinite(losses_on_grid).all():
        return MEAN_MARGIN_POINTS
    penalised_losses = losses_on_grid + 0.5 * ((MARGIN_POINTS_GRID - MEAN_MARGIN_POINTS) / MARGIN_POINTS_DEVIATION) ** 2
    middle = int(np.clip(np.argmin(penalised_losses), 1, len(MARGIN_POINTS_GRID) - 2))
    neighbours = slice(middle - 1, middle + 2)
    square, linear, _ = np.polyfit(MARGIN_POINTS_GRID[neighbours], penalised_losses[neighbours], 2)
    lowest = -0.5 * linear / square if square > 0 else MARGIN_POINTS_GRID[np.argmin(penalised_losses)]
    return float(np.clip(lowest, MARGIN_POINTS_GRID[0], MARGIN_POINTS_GRID[-1]))


BASELINES = "elo", "glicko", "glicko2", "elo_mmr", "codeforces", "trueskill"  # what reports compare with
TEAM_BASELINES = "trueskill", "weng_lin", "skills"  # of teams


def system_choices_by_name(systems: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Systems, or changes of hyperparameters of systems given by name, by the name to show."""
    if isinstance(systems, Mapping):
        return dict(systems)
    listed_systems = [systems] if isinstance(systems, (str, RatingSystem)) else list(systems)
    by_name: dict[str, Any] = {}
    for system in listed_systems:
        name = system.name if isinstance(system, RatingSystem) else system
        if not isinstance(name, str):
            raise ValueError(f"compare takes systems, or their names, got {format_value_or_type(system)}")
        if name in by_name:
            raise ValueError(f"two systems have the name {name}; give each its own, as in {{'fast': {name}(...), ...}}")
        by_name[name] = system if isinstance(system, RatingSystem) else {}
    return by_name


def resolve_system(
    name: str, system_or_changes: Any, period: float | None, data: Dataset, num_past: int = 0
) -> RatingSystem:
    """The given system, or the system of this name adapted to the data with these changes.

    The first `num_past` matches are not scored.
    """
    if isinstance(system_or_changes, RatingSystem):
        return set_default_period(system_or_changes, period)
    return system_with_best_margin_scale(
        make_system_for_data(name, system_or_changes, period, data, unscored_count=num_past),
        system_or_changes,
        data,
        period,
        num_past,
    )


def select_candidates(
    data: Dataset, systems: Mapping[str, Any], *, is_named: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """The systems, or changes by name, that rate the data; and why others are left out, by name.

    Unless the user named them, systems are left out whose requirements the data do not meet.

    Raises:
      ValueError: if none is left, or if contests are not in order of time and a system takes notice.
    """
    of_matches = isinstance(data.events, Matches)
    candidates = {name: resolve_system(name, given, None, data) for name, given in systems.items()}
    candidate_names = [name for name, system in candidates.items() if can_rate_dataset(system, data)]
    if not is_named and of_matches:
        candidate_names = [name for name in candidate_names if candidates[name].name not in CONTEST_SYSTEMS]
    if not is_named and of_matches and (data.categories is None or data.clock is None):
        candidate_names = [name for name in candidate_names if Matches in candidates[name].events]
    if not candidate_names:
        kind = "matches" if of_matches else "rounds"
        raise ValueError(f"none of these systems rates {kind}: {', '.join(candidates)}")
    left_out: dict[str, str] = {}
    flat: Any = None if of_matches else data.rounds.events
    for is_needed, feature, reason, refusal in (
        (dataset_has_teams(data), "teams", "team-mates would be opponents", "systems rates teams"),
        (
            flat is not None and flat.seat is not None,
            "seats",
            "it rates nobody in several teams",
            "rates players in several teams",
        ),
        (
            flat is not None and flat.noise is not None,
            "noise",
            "it knows no noise of contests",
            "systems knows the noise of contests",
        ),
    ):
        if is_needed:
            left_out |= {name: reason for name in candidate_names if feature not in candidates[name].features}
            if len(left_out) == len(candidate_names):
                supporting_systems = " or ".join(systems_with_feature(feature))
                raise ValueError(f"none of these {refusal}: {', '.join(left_out)}; try {supporting_systems}")
    for name in candidate_names:
        if of_matches and not is_named:
            try:
                resolve_system(name, systems[name], None, data).check(data.events)
            except ValueError as error:
                left_out[name] = str(error)
        elif not of_matches and name not in left_out:
            check_contests_in_time_order(candidates[name], data)
    return {name: systems[name] for name in candidate_names if name not in left_out}, left_out


def rated_event_type(data: Dataset, period: float | None) -> type:
    """The type of events to rate."""
    whole = Matches if isinstance(data.events, Matches) else Rounds
    return whole if period is None else Periods


class Contender(NamedTuple):
    """A system to be compared, by match or in rating periods."""

    name: str
    period: float | None  # of rating periods
    system: RatingSystem


def fit_contenders(
    data: Dataset,
    contenders: list[Contender],
    system_choices: Mapping[str, Any],
    num_past: int,
    executor: Executor | None = None,
    watch: Callable[[float], None] | None = None,
    limits: FitLimits | None = None,
) -> tuple[list[Contender], dict[str, str]]:
    """The contenders with fitted systems, and why those given by name were not fitted ("" if they were)."""
    by_name = [form for form in contenders if not isinstance(system_choices[form.name], RatingSystem)]
    fit_tasks = [(form, tuple(system_choices[form.name])) for form in by_name]
    results = dict(
        zip(
            by_name, map_items(executor, partial(_fit_contender, data, num_past, limits), fit_tasks, watch), strict=True
        )
    )
    reasons = {form.name: reason for form, (_, reason) in results.items()}
    return [form._replace(system=results[form][0]) if form in results else form for form in contenders], reasons


def _fit_contender(
    data: Dataset, num_past: int, limits: FitLimits | None, fit_task: tuple[Contender, tuple[str, ...]]
) -> tuple[RatingSystem, str]:
    """The fitted system of a contender, and why not; fixed hyperparameters stay."""
    contender, fixed = fit_task
    return fit_with_time_limit(contender.system, data, num_past, contender.period, fixed, limits)


def time_replay(
    replay: Callable[..., Any], system: RatingSystem, events: Any, plan: Any, num_runs: int = 2
) -> tuple[Any, float]:
    """The result of `replay`, and the seconds of its last run: a second one, without compilation."""
    for _ in range(num_runs):
        start = time.perf_counter()
        result = jax.block_until_ready(replay(system, events, schedule=plan, key=make_fixed_key(system)))
        seconds = time.perf_counter() - start
    return result, seconds


def unused_data_features(system: RatingSystem, data: Dataset) -> tuple[str, ...]:
    """The data that the system ignores: the side, margins, covariates, categories, seasons.

    Empty for systems of your own, whose use of data is unknown.
    """
    if system.make is None or system.name not in SYSTEMS:
        return ()
    settings = system.settings
    kinds: dict[str, tuple[bool, bool]] = {  # whether the data have it, and whether the system uses it
        "the side": (has_sides(data), uses_side(system)),
        "margins": (bool(data.margin), settings.get("outcome") in ("margin", "points", "goals")),
        "categories": (
            data.categories is not None,
            "categories" in system.features and settings.get("categories", 2) > 1,
        ),
        "seasons": (bool(data.seasons), bool(settings.get("seasons"))),
    }
    unused = [kind for kind, (there, counts) in kinds.items() if there and not counts]
    return *unused, *(name for name in data.covariates if name not in settings.get("covariates", ()))


def describe_default_hyperparameters(changed_systems: Iterable[str]) -> str:
    """The sentence on hyperparameters where nothing was fitted; `changed_systems` names systems with other ones."""
    changed_systems = [*changed_systems]
    exceptions = f", except those of {join_names(changed_systems)}" if changed_systems else ""
    return f"Hyperparameters are the default ones{exceptions}."


def describe_fits(reasons: Mapping[str, str], changed: Iterable[str], num_past: int, event_noun: str) -> list[str]:
    """The sentences on fitted hyperparameters, and on systems that were not fitted.

    Args:
      reasons: why each system named was not fitted, by name; "" if it was.
      changed: names of systems with given hyperparameters, which stay as they are.
      num_past: events before the scored ones.
      event_noun: "matches" or "contests".
    """
    changed = [*changed]
    fitted = [name for name, reason in reasons.items() if not reason]
    sentences = (
        [f"Hyperparameters of {join_names(fitted)} are fitted to the {num_past:,} {event_noun} before."]
        if fitted
        else []
    )
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names_by_reason.setdefault(reason, []).append(name)
    sentences += [f"Not fitted: {join_names(names)} ({reason})." for reason, names in names_by_reason.items() if reason]
    return sentences + ([f"As given, where anything is: {join_names(changed)}."] if changed else [])


def describe_side(data: Dataset, systems: Mapping[str, RatingSystem], num_past: int) -> list[str]:
    """The sentence on the worth of the side in systems, by name, without a given one: on the scale of each."""
    names_by_worth: dict[str, list[str]] = {}
    for name, system in systems.items():
        if points := getattr(system.params, "side_advantage", 0.0):
            names_by_worth.setdefault(format_side_advantage(points), []).append(name)
    if not names_by_worth:
        return []
    worths = [f"{points} for {join_names(names)}" for points, names in names_by_worth.items()]
    worths[0] = worths[0].replace(" ", " points ", 1)
    is_default = smoothed_mean_side_score(data.matches, num_past) == DEFAULT_SIDE_SCORE
    source = "by default" if is_default else f"from the {num_past:,} matches before"
    return [f"The side advantage is {', '.join([*worths, source])}."]


def format_side_advantage(points: float) -> str:
    """A side advantage in points of the system."""
    return f"{points:.0f}" if points >= 10.0 else f"{points:.3g}"


def describe_margin_scale(names: list[str], num_past: int) -> list[str]:
    """The sentence on the scale of margins in systems without a given one."""
    return [f"The weight of margins in {join_names(names)} is from the {num_past:,} matches before."] if names else []


def describe_ignored_data(unused: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A sentence for each group of systems that ignore the same data; `unused` is by name of the system."""
    names_by_kinds: dict[tuple[str, ...], list[str]] = {}
    for name, kinds in unused.items():
        names_by_kinds.setdefault(kinds, []).append(name)
    return [f"Not used by {join_names(names)}: {', '.join(kinds)}." for kinds, names in names_by_kinds.items() if kinds]


def compose_notes(
    data: Dataset, systems: Mapping[str, RatingSystem], system_choices: Mapping[str, Any], num_past: int,
    reasons: Mapping[str, str] | None,
) -> list[str]:  # fmt: skip
    """The notes beneath the table; `reasons` why systems by name were not fitted, None if there was no fit."""
    changed = [name for name, given in system_choices.items() if given]
    event_noun = "matches" if isinstance(data.events, Matches) else "contests"
    sentences = (
        [describe_default_hyperparameters(changed)]
        if reasons is None
        else describe_fits(reasons, changed, num_past, event_noun)
    )
    if num_past and data.margin:
        sentences += describe_margin_scale(
            [
                name
                for name, system in systems.items()
                if not isinstance(system_choices[name], RatingSystem) and "margin_scale" not in system_choices[name]
                if system.settings.get("outcome") == "margin" and (reasons or {}).get(name, " ")
            ],
            num_past,
        )
    if has_sides(data):
        by_default = {
            name: system
            for name, system in systems.items()
            if not isinstance(system_choices[name], RatingSystem) and "side_advantage" not in system_choices[name]
            if uses_side(system) and (reasons or {}).get(name, " ")
        }
        sentences += describe_side(data, by_default, num_past)
    return sentences + describe_ignored_data(
        {name: unused_data_features(system, data) for name, system in systems.items()}
    )


LOSS_DIFFERENCE_HEAD = "log loss behind"
LOSS_DIFFERENCE_NOTE = "Log loss behind: that of a system less the best one's, with its 95% interval."
INTERVAL_ERRORS = 1.96  # standard errors to either side: 95%


class SystemResult(NamedTuple):
    """The metrics of one system, by match or in periods."""

    name: str
    period: float | None  # the length of its rating periods; None: one event after the other
    system: RatingSystem
    quality: dict[str, Any]  # metrics by name
    speed: float | None  # matches or participations rated in a second; None: not measured
    log_loss_difference: LogLossDifference | None  # from the best system; None of contests of many
    pair_order_difference: PairOrderDifference | None = None  # the best one's less this, of contests of many


class BlendWeightsAndMetrics(NamedTuple):
    """The metrics of the blend of all systems, see `blend_systems`."""

    weights: dict[str, float]  # by the name of each, and the length of its periods where there are any
    quality: dict[str, Any]  # metrics by name
    log_loss_difference: LogLossDifference  # from the best system


class PublishedForecast(NamedTuple):
    """The metrics of forecasts of the same events that others have published."""

    name: str
    quality: dict[str, Any]  # metrics by name
    log_loss_difference: LogLossDifference  # from the best system


class Comparison(NamedTuple):
    """How systems predicted the same events, the best first, and their blend. `print` shows a table."""

    results: list[SystemResult]
    counts: dict[str, int]  # of matches, or of contests and participations
    players: int
    scored: int  # number of matches or contests, the last ones, that were scored
    scored_on: str  # the scored events, in words
    notes: list[str]  # sentences on hyperparameters and on data that systems do not use
    left_out: dict[str, str]  # why systems were left out, by name
    blend: BlendWeightsAndMetrics | None  # of two or more, of matches; None of others
    published: tuple[PublishedForecast, ...] = ()

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table as columns, of numbers: a row for each result, one for the blend, and those of published forecasts.

        `behind_error` is the standard error of the difference `behind`.
        """
        results = self.results
        columns: dict[str, Any] = {"system": [x.name for x in results]}
        if any(x.period is not None for x in results):
            columns["period"] = [x.period for x in results]
        columns |= {name: [x.quality[name] for x in results] for name in results[0].quality}
        if self.has_differences:
            gaps = [x.log_loss_difference for x in results]
            columns["behind"] = [None if x is None else x.difference for x in gaps]
            columns["behind_error"] = [None if x is None else x.error for x in gaps]
        others = [] if self.blend is None else [("blend", self.blend.quality, self.blend.log_loss_difference)]
        others += [(x.name, x.quality, x.log_loss_difference) for x in self.published]
        rows = [
            {"system": f"({name})", "behind": gap.difference, "behind_error": gap.error} | quality
            for name, quality, gap in others
        ]
        columns = {name: [*values, *(x.get(name) for x in rows)] for name, values in columns.items()}
        return ColumnTable({name.replace(" ", "_"): to_numbers_or_texts(values) for name, values in columns.items()})

    @property
    def about(self) -> str:
        """The caption: the scored events and the notes."""
        return " ".join([self.scored_on, *self.notes])

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        forms = ["form"] * any(result.period is not None for result in self.results)
        speeds = [f"{[*self.counts][-1]}/s"] * (self.results[0].speed is not None)
        return ["system", *forms, *self.results[0].quality, *[LOSS_DIFFERENCE_HEAD] * self.has_differences, *speeds]

    @property
    def has_differences(self) -> bool:
        """Whether there is a column of differences."""
        return len(self.results) > 1 and self.results[0].log_loss_difference is not None

    @property
    def rows(self) -> list[list[str]]:
        """The cells of each row as text."""
        rows = []
        for result in self.results:
            form = "by match" if result.period is None else f"periods of {format_number(result.period)}"
            rows.append([result.name, *[form] * ("form" in self.head)])
            rows[-1] += [format_metric(*measure) for measure in result.quality.items()]
            if self.has_differences and result.log_loss_difference is not None:
                rows[-1] += [format_loss_difference(result.log_loss_difference) if len(rows) > 1 else "best"]
            rows[-1] += [] if result.speed is None else [f"{result.speed:,.0f}"]
        others = [(x.name, x.quality, x.log_loss_difference) for x in self.published]
        if self.blend is not None:
            others.insert(0, ("blend", self.blend.quality, self.blend.log_loss_difference))
        for name, quality, difference in others:
            rows.append([f"({name})", *[""] * ("form" in self.head)])
            rows[-1] += [format_metric(*measure) for measure in quality.items()]
            rows[-1] += [format_loss_difference(difference)] * self.has_differences
            rows[-1] += [""] * (len(self.head) - len(rows[-1]))
        return rows

    def __str__(self) -> str:
        return "\n".join([format_table(self.head, self.rows, left_aligned=("system", "form")), "", *self.notes])

    def _repr_html_(self) -> str:
        return (
            format_html_table(self.head, self.rows, left_aligned=("system", "form"))
            + f"<p>{html.escape(self.about)}</p>"
        )


def format_loss_difference(gap: LogLossDifference) -> str:
    """A difference with its 95% interval, as "+0.0013 ± 0.0018"; of one match without."""
    half_width = "" if gap.error is None else f" ± {INTERVAL_ERRORS * gap.error:.4f}"
    return f"{gap.difference:+.4f}{half_width}"


def system_result_label(result: SystemResult) -> str:
    """The name of a system, with the length of its periods."""
    return result.name if result.period is None else f"{result.name}, periods of {format_number(result.period)}"


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
