"""compare: systems on the same events, fitted to the past, and how the table prints.

The starting scale of margins in a system that learns from them: the one that predicted the past best.

A scale common to all points changes no prediction, so the worth of a margin counts relative to deviations and growth,
and has no formula. The past is rated with a few values. The log loss of its second half is summed, and
(points - 600)^2 / (2 x 200^2) is added: leagues scatter like that about the usual value, and few matches keep it. The
result is the lowest point of the parabola through the least of these sums and its neighbours. (Measured with the last
fifth unseen: the calibration slope there went from 0.68 to 1.00 on club football, from 1.27 to 1.03 on international
football, from 1.21 to 0.98 on college basketball, from 0.88 to 0.95 on the NBA, and from 0.99 to 1.07 on the NFL.)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.system import RatingSystem, replace_params, set_period_if_default
from jaxrate.core.text_format import format_number, join_names
from jaxrate.data.column_role_definitions import Columns
from jaxrate.data.dataset_from_table import as_dataset
from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
from jaxrate.evaluation.blending import blend_systems_one_step_ahead, name_systems
from jaxrate.evaluation.scored_predictions import (
    LOSS_DIFFERENCE_HEAD,
    ScoredForecaster,
    ScoringTarget,
    check_last_share,
    count_events,
    describe_constant_forecast,
    format_loss_difference,
    format_metric,
    loss_to_sort_by,
    make_forecaster_table,
    make_scoring_target,
    select_nonempty_columns,
)
from jaxrate.events import Matches, Periods, periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.events.event_types import match_weights
from jaxrate.fitting.hyperparameter_fit import fit_with_time_limit, make_fixed_key
from jaxrate.history.column_table import ColumnTable, PrintedResult
from jaxrate.history.dataset_rating import check_contests_in_time_order
from jaxrate.history.recorded_runs import rating_history
from jaxrate.metrics.prediction_metrics import log_loss
from jaxrate.replay.checked_replay import run
from jaxrate.replay.schedule import get_or_make_levels_plan
from jaxrate.systems import ALL_SYSTEMS, SYSTEMS, systems_with_feature
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction
from jaxrate.systems.skills.settings import match_prior_columns
from jaxrate.systems.system_construction_by_name import (
    CONTEST_SYSTEMS,
    DEFAULT_SIDE_SCORE,
    MEAN_MARGIN_POINTS,
    add_parts_to_fit,
    can_rate_dataset,
    has_sides,
    make_system_for_data,
    smoothed_mean_side_score,
    uses_side,
)
from jaxrate.systems.system_titles import system_title

MARGIN_POINTS_GRID = np.array([200.0, 300.0, 450.0, MEAN_MARGIN_POINTS, 800.0, 1100.0])  # points, of a mean margin
MARGIN_POINTS_DEVIATION = 200.0  # points, of leagues about `MEAN_MARGIN_POINTS`
MAX_FIT_MATCHES = 200_000  # matches, the first ones, that are rated
BASELINES = "elo", "glicko", "glicko2", "elo_mmr", "codeforces", "trueskill"  # what reports compare with
TEAM_BASELINES = "trueskill", "weng_lin", "skills"  # of teams


class Contender(NamedTuple):
    """A system to be compared, and what of it is the user's."""

    name: str
    choice: Any  # the user's system, which stays as it is; or their hyperparameters and settings of the named one
    system: RatingSystem
    period: float | None = None  # the length of its rating periods; None: one event after the other
    is_fitted: bool = False  # to the events before the scored ones
    reason: str = ""  # why a fit was not taken

    @property
    def is_given(self) -> bool:
        """Whether the system is the user's."""
        return isinstance(self.choice, RatingSystem)

    @property
    def has_changes(self) -> bool:
        """Whether the user has changed something of the system as its factory makes it."""
        if self.is_given and self.choice.name in ALL_SYSTEMS:
            return bool(self.choice != ALL_SYSTEMS[self.choice.name]())
        return bool(self.choice)

    @property
    def weighs_margins_by_default(self) -> bool:
        """Whether the system learns from margins by a scale that is neither the user's nor fitted."""
        return self.system.settings.get("outcome") == "margin" and self.has_default("margin_scale")

    def has_default(self, name: str) -> bool:
        """Whether a hyperparameter is neither the user's nor fitted."""
        return not (self.is_given or self.is_fitted or name in self.choice)


def make_contender(name: str, choice: Any, data: Dataset, num_past: int = 0, period: float | None = None) -> Contender:
    """The system that is chosen as it is, or that of this name, adapted to the first `num_past` events."""
    if isinstance(choice, RatingSystem):
        return Contender(name, choice, set_period_if_default(choice, period), period)
    changes = {} if isinstance(choice, str) else choice
    system = make_system_for_data(name, changes, period, data, unscored_count=num_past)
    return adapt_margin_scale(Contender(name, changes, system, period), data, num_past)


def adapt_margin_scale(contender: Contender, data: Dataset, num_past: int) -> Contender:
    """The contender with the margin scale that predicted the first `num_past` matches best."""
    system = contender.system
    if not (contender.weighs_margins_by_default and num_past and data.of_matches):
        return contender
    matches = slice_events(data.matches, 0, min(num_past, MAX_FIT_MATCHES))
    events = matches if contender.period is None else periods(matches, contender.period)
    weight = match_weights(matches)
    second_half, usual_scale, losses = np.arange(len(weight)) >= len(weight) // 2, system.params.margin_scale, []
    for points in MARGIN_POINTS_GRID:
        params = system.params._replace(margin_scale=points / MEAN_MARGIN_POINTS * usual_scale)
        result = run(system, events, params=params, num_players=len(data.players))
        expected = expected_score_from_prediction(result.prediction)
        losses.append(log_loss(expected, matches.score, weight=weight, mask=second_half))
    best = loss_minimising_mean_margin_points(np.array(losses) * weight[second_half].sum())
    scale = float(f"{best / MEAN_MARGIN_POINTS * usual_scale:.3g}")
    return contender._replace(system=replace_params(system, system.params._replace(margin_scale=scale)))


def loss_minimising_mean_margin_points(losses_on_grid: HostArray) -> float:
    """The worth of a mean margin in points, by losses [6] of `MARGIN_POINTS_GRID`; the usual if not finite."""
    if not np.isfinite(losses_on_grid).all():
        return MEAN_MARGIN_POINTS
    penalised_losses = losses_on_grid + 0.5 * ((MARGIN_POINTS_GRID - MEAN_MARGIN_POINTS) / MARGIN_POINTS_DEVIATION) ** 2
    middle = int(np.clip(np.argmin(penalised_losses), 1, len(MARGIN_POINTS_GRID) - 2))
    neighbours = slice(middle - 1, middle + 2)
    square, linear, _ = np.polyfit(MARGIN_POINTS_GRID[neighbours], penalised_losses[neighbours], 2)
    lowest = -0.5 * linear / square if square > 0 else MARGIN_POINTS_GRID[np.argmin(penalised_losses)]
    return float(np.clip(lowest, MARGIN_POINTS_GRID[0], MARGIN_POINTS_GRID[-1]))


DEMANDS = {  # of data, by the feature of systems that meets them: why one is left out, and what is said if all are
    "teams": ("team-mates would be opponents", "systems rates teams"),
    "seats": ("it rates nobody in several teams", "rates players in several teams"),
    "noise": ("it knows no noise of contests", "systems knows the noise of contests"),
}


def select_candidates(
    data: Dataset, choices: Mapping[str, Any], *, is_named: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """The choices of systems that rate the data; and why others are left out, by name."""
    systems = {name: make_contender(name, choice, data).system for name, choice in choices.items()}
    systems = {name: x for name, x in systems.items() if _is_suitable(x, data, is_named=is_named)}
    if not systems:
        raise ValueError(f"none of these systems rates {data.events.nouns}: {', '.join(choices)}")
    left_out = _find_lacking_features(systems, data)
    others = {name: x for name, x in systems.items() if name not in left_out}
    left_out |= {name: why for name, x in others.items() if (why := _find_refusal(x, data, is_named=is_named))}
    return {name: choices[name] for name in systems if name not in left_out}, left_out


def _is_suitable(system: RatingSystem, data: Dataset, *, is_named: bool) -> bool:
    """Whether a system rates such events; unless it is named, it must be made for them."""
    if is_named or not data.of_matches:
        return can_rate_dataset(system, data)
    has_categories_in_periods = data.categories is not None and data.clock is not None
    kinds = (Matches, Periods) if has_categories_in_periods else (Matches,)
    return system.name not in CONTEST_SYSTEMS and any(x in system.events for x in kinds)


def _find_lacking_features(systems: Mapping[str, RatingSystem], data: Dataset) -> dict[str, str]:
    """Why systems do not meet the first of the `DEMANDS` of the data that they lack; ValueError if all lack one."""
    flat = data.events.flat
    has_seats, has_noise = (getattr(flat, name, None) is not None for name in ("seat", "noise"))
    demands = {"teams": dataset_has_teams(data), "seats": has_seats, "noise": has_noise}
    lacking: dict[str, str] = {}
    for feature in [name for name in DEMANDS if demands[name]]:
        lacking = {name: feature for name, x in systems.items() if feature not in x.features} | lacking
        if len(lacking) == len(systems):
            others = " or ".join(systems_with_feature(feature))
            raise ValueError(f"none of these {DEMANDS[feature][1]}: {', '.join(lacking)}; try {others}")
    return {name: DEMANDS[feature][0] for name, feature in lacking.items()}


def _find_refusal(system: RatingSystem, data: Dataset, *, is_named: bool) -> str:
    """Why a system that is not named does not take these matches; ValueError for contests that are not in order."""
    if not data.of_matches:
        check_contests_in_time_order(system, data)
    elif not is_named:
        try:
            system.check(data.events)
        except ValueError as error:
            return str(error)
    return ""


def fit_contender(data: Dataset, num_past: int, contender: Contender, **limits: float) -> Contender:
    """The contender with a fitted system, or with the reason why it is not; the user's own stays as it is."""
    if contender.is_given:
        return contender
    _, choice, system, period, *_ = contender
    system = add_parts_to_fit(system, choice, data, num_past)
    fitted, reason = fit_with_time_limit(system, data, num_past, period, tuple(choice), **limits)
    return contender._replace(reason=reason) if reason else contender._replace(system=fitted, is_fitted=True)


def rescale_progress(watch: Callable[[float], None] | None, begin: float, end: float) -> Callable[[float], None] | None:
    """A function that reports the share of the whole work from that of a part between these shares of the whole."""
    return None if watch is None else lambda share: watch(begin + (end - begin) * share)


def use_of_data_features(system: RatingSystem, data: Dataset) -> dict[str, bool]:
    """Whether a system uses what data have beside results: the side, margins, seasons, categories, covariates, ..."""
    if system.factory is None or system.name not in ALL_SYSTEMS:
        return {}
    settings = system.settings
    covariates = match_prior_columns(settings)
    has_categories = settings.get("categories", 2 * ("categories" in system.features)) > 1
    has_margins = settings.get("margin") and settings.get("outcome", "margin") in ("margin", "points", "goals")
    kinds: dict[str, tuple[Any, Any]] = {  # whether the data have it, and whether the system uses it
        "the side": (has_sides(data), uses_side(system)),
        "margins": (data.margin, has_margins),
        "seasons": (data.seasons, settings.get("seasons")),
        "league seasons": (data.league_season, settings.get("league_season")),
        "categories": (data.categories is not None, has_categories or "category_lead" in covariates),
        "expected goals": (data.expected_goals, settings.get("expected_goals")),
        "statistics": (data.statistics, settings.get("statistics")),
    }
    uses = {kind: bool(is_used) for kind, (is_there, is_used) in kinds.items() if is_there}
    return uses | {name: name in covariates for name in data.covariates}


def compose_notes(data: Dataset, contenders: Iterable[Contender], num_past: int, *, fit: bool) -> list[str]:
    """The notes beneath the table, on the systems and what they use; `fit`: whether they were to be fitted."""
    systems = {x.name: x for x in contenders}  # of several lengths the last one
    past = f"{num_past:,} {data.events.nouns}"

    write = partial(_write_note_by_detail, systems)
    changed = [name for name, x in systems.items() if x.has_changes]
    exceptions = f", except those of {join_names(changed)}" if changed else ""
    notes = [f"Hyperparameters are the default ones{exceptions}."]
    if fit:
        notes = [
            *write("Hyperparameters of {names} are fitted to the {detail} before.", lambda x: past * x.is_fitted),
            *write("Not fitted: {names} ({detail}).", lambda x: x.reason),
            *write("As given, where anything is: {names}.", lambda x: past * bool(x.choice)),
        ]
    if num_past and data.margin:
        note = "The weight of margins in {names} is from the {detail} before."
        notes += write(note, lambda x: past * x.weighs_margins_by_default)
    if has_sides(data) and (worths := write("{detail} for {names}", _describe_default_side_advantage)):
        is_usual = smoothed_mean_side_score(data.matches, num_past) == DEFAULT_SIDE_SCORE
        source = "by default" if is_usual else f"from the {num_past:,} matches before"
        worth = ", ".join(worths).replace(" for", " points for", 1)
        notes.append(f"The side advantage is {worth}, {source}.")
    return notes + write("Not used by {names}: {detail}.", partial(_name_unused_data, data))


def _write_note_by_detail(
    systems: Mapping[str, Contender], note: str, describe: Callable[[Contender], str]
) -> list[str]:
    """A note for each detail, but an empty one, with the names of the systems that it describes."""
    details = {name: describe(x) for name, x in systems.items()}
    groups = {detail: [name for name in details if details[name] == detail] for detail in details.values()}
    return [note.format(names=join_names(names), detail=detail) for detail, names in groups.items() if detail]


def _describe_default_side_advantage(contender: Contender) -> str:
    """The side advantage of a system, if it has one that neither the user nor a fit has chosen."""
    points = getattr(contender.system.params, "side_advantage", 0.0)
    return format_side_advantage(points) * bool(points and contender.has_default("side_advantage"))


def _name_unused_data(data: Dataset, contender: Contender) -> str:
    """What the data have and a system does not use."""
    return ", ".join(name for name, is_used in use_of_data_features(contender.system, data).items() if not is_used)


def format_side_advantage(points: float) -> str:
    """A side advantage in points of the system."""
    return f"{points:.0f}" if points >= 10.0 else f"{points:.3g}"


LOSS_DIFFERENCE_NOTE = "Log loss behind: that of a system less the best one's, with its 95% interval."


@dataclass(frozen=True, repr=False)
class Comparison(PrintedResult):
    """How systems predicted the same events, the best first, and their blend. `print` shows a table."""

    left_aligned: ClassVar[tuple[str, ...]] = ("system", "form")

    results: list[ScoredForecaster]
    counts: dict[str, int]  # of matches, or of contests and participations
    players: int
    scored: int  # number of matches or contests, the last ones, that were scored
    scored_on: str  # the scored events, in words
    notes: list[str]  # sentences on hyperparameters and on data that systems do not use
    left_out: dict[str, str]  # why systems were left out, by name
    others: tuple[ScoredForecaster, ...] = ()  # the blend of two or more systems, of matches; published forecasts
    warnings: Sequence[str] = ()  # the sentence on systems that a constant forecast beats

    @property
    def blend(self) -> ScoredForecaster | None:
        """The blend of all systems, see `blend_systems`; None of one system, and of contests."""
        return next((x for x in self.others if x.kind == "blend"), None)

    @property
    def published(self) -> tuple[ScoredForecaster, ...]:
        """The forecasts of others."""
        return tuple(x for x in self.others if x.kind == "forecast")

    def columns(self) -> ColumnTable:
        """The table as columns, of numbers: a row for each result, one for the blend, and those of published forecasts.

        "behind_error" is the standard error of the difference `behind`.
        """
        rows = [*self.results, *self.others]
        columns: dict[str, Any] = {"system": [_row_label(x) for x in rows]}
        if self._has_periods:
            columns["period"] = [x.period for x in rows]
        return make_forecaster_table(columns, rows, has_differences=self.has_differences)

    @property
    def has_differences(self) -> bool:
        """Whether there is a column of differences."""
        return len(self.results) > 1 and self.results[0].log_loss_difference is not None

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The names of the columns, and the cells of the first `top` rows, as text for people."""
        head, cells = select_nonempty_columns([self._row_cells(x) for x in (*self.results, *self.others)])
        return head, cells[:top]

    @property
    def _has_periods(self) -> bool:
        return any(x.period is not None for x in self.results)

    def _row_cells(self, row: ScoredForecaster) -> dict[str, str]:
        """The cells of a row by the name of their column."""
        form = "by match" if row.period is None else f"periods of {format_number(row.period)}"
        gap = "best" if row is self.results[0] else format_loss_difference(row.log_loss_difference)
        return {
            "system": _row_label(row),
            "form": form if self._has_periods and row.kind == "system" else "",
            **{name: format_metric(name, value) for name, value in row.quality.items()},
            LOSS_DIFFERENCE_HEAD: gap if self.has_differences else "",
        }

    def closing_lines(self) -> list[str]:
        """Which events were scored, warnings and notes."""
        return ["", self.scored_on, *self.warnings, *self.notes]


def _row_label(row: ScoredForecaster) -> str:
    """The name of a forecaster in a table: in brackets unless it is a system."""
    return row.name if row.kind == "system" else f"({row.name})"


def system_result_label(result: ScoredForecaster) -> str:
    """The name of a system, with the length of its periods."""
    return result.name if result.period is None else f"{result.name}, periods of {format_number(result.period)}"


def system_result_title(result: ScoredForecaster) -> str:
    """The name of a system in sentences, with the length of its periods."""
    title = system_title(result.name)
    return title if result.period is None else f"{title} in periods of {format_number(result.period)}"


FIT_PROGRESS_SHARE = 0.8  # of the work, about, where systems are fitted


@enforce_argument_annotations
def compare(
    data: Any,
    systems: Mapping[str, Any] | Iterable[Any] | None = None,
    *,
    lengths: Iterable[float | None] = (None,),
    last: float = 1.0,
    fit: bool = False,
    watch: Callable[[float], None] | None = None,
    executor: Executor | None = None,
    **columns: Unpack[Columns],
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
        print(jr.compare("games.csv", ["elo", "glicko"], a="a", b="b"))

    Args:
      data: matches or contests, as from `read`, or a table or path as it takes it.
      systems: names of `ALL_SYSTEMS`, which are adapted to the data (to its categories, scores, sides and periods), or
        systems, which are taken as they are. Or a dict from the names to show to systems, or from names of `SYSTEMS` to
        the hyperparameters to change; beside them may be forecasts of others by their names, [n] expected scores of
        player 0. None, or forecasts alone: all that rate the data, except those that demand what it does not have. For
        systems given by name, the matches before the scored share say what the side is worth and which worth of margins
        predicts best; if all is scored, both have their defaults.
      lengths: rate in periods of each of these lengths, by the systems that do; None: one event after the other.
      last: score this last share of the matches or contests only.
      fit: fit the systems given by name to the events before the scored share: to the last 100,000 matches or
        participations of these, in at most 50 steps, none of which begins after a minute. Hyperparameters that you give
        stay.
      watch: a function that is called with the share of the work that is done.
      executor: whose workers each fit or rate a system in one form: anything with a `map`, as a
        `concurrent.futures.Executor`, Dask's `Client(...).get_executor()`, or the Pool of `ray.util.multiprocessing`.
        None: one after the other, here. Work for other processes is pickled, so functions of your own must be in a
        module. Spawn such processes, do not fork them. The numbers are the same.
      columns: those of a table, by role, as `read` takes them.

    Returns:
      A `Comparison`. Systems that draw random numbers draw the same every time.

    Raises:
      ValueError: if no system rates the data, if `last` is not above 0 and at most 1, or 1 for a `fit`; if forecasts
        are not [n] of matches; or as `rate`.
    """
    check_last_share(last)
    if fit and last == 1:
        raise ValueError("a fit needs events that are not scored; score the last ones only, as by last=0.2")
    data = as_dataset("compare", data, columns)
    lengths, target = tuple(lengths), make_scoring_target(data, last)
    choices, forecasts = _split_systems_and_forecasts({} if systems is None else name_systems(systems), target)
    is_named = bool(choices) or (systems is not None and not forecasts)
    choices, left_out = select_candidates(data, choices if is_named else name_systems([*SYSTEMS]), is_named=is_named)
    contenders = _make_contenders(data, choices, lengths, target.num_past)
    begin = FIT_PROGRESS_SHARE * fit
    if fit:
        fit_one = partial(fit_contender, data, target.num_past)
        contenders = map_items(executor, fit_one, contenders, rescale_progress(watch, 0.0, begin))
    score_one = partial(_score_contender, target, {})
    scored = map_items(executor, score_one, contenders, rescale_progress(watch, begin, 1.0))
    results, others = _compare_with_best(target, scored, forecasts)
    counts, num_scored = _count_by_noun(data), int(np.count_nonzero(target.mask))
    losses: dict[str, Any] = {}
    for x in results:  # of which the best form of each system comes first
        losses.setdefault(system_title(x.name), x.quality.get("log loss"))
    constant, warnings = describe_constant_forecast(data, last, losses)
    notes = compose_notes(data, contenders, target.num_past, fit=fit) + constant
    if len(results) > 1 and results[0].log_loss_difference is not None:
        notes.append(LOSS_DIFFERENCE_NOTE)
    notes += _note_absent_systems(choices, contenders) if is_named else []
    scored_on = _describe_scored(counts, num_scored, lengths)
    return Comparison(results, counts, len(data.players), num_scored, scored_on, notes, left_out, others, warnings)


def _split_systems_and_forecasts(
    named: Mapping[str, Any], target: ScoringTarget
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The choices of systems, and forecasts of others, by name; ValueError for one that is not of all matches."""
    choices = {name: x for name, x in named.items() if isinstance(x, (str, Mapping, RatingSystem))}
    forecasts = {name: x for name, x in named.items() if name not in choices}
    for name, forecast in forecasts.items():
        if target.row is None or np.shape(forecast) != target.score.shape:
            asked = "a system, its hyperparameters, or [n], a forecast of each match"
            raise ValueError(f"{name!r} must be {asked}; got the shape {np.shape(forecast)}")
    return choices, forecasts


def _make_contenders(
    data: Dataset, choices: Mapping[str, Any], period_lengths: tuple[float | None, ...], num_past: int
) -> list[Contender]:
    """The chosen systems in all forms in which they rate: event by event, and in periods of these period_lengths."""
    contenders = []
    for name, choice in choices.items():
        events = make_contender(name, choice, data).system.events
        contenders += [
            make_contender(name, choice, data, num_past, x)
            for x in period_lengths
            if (Periods if x is not None else type(data.events.flat)) in events
        ]
    if not contenders:
        raise ValueError(f"{' and '.join(choices)} rates rating periods, which need times; name the column of time")
    return contenders


def _note_absent_systems(choices: Iterable[str], contenders: Iterable[Contender]) -> list[str]:
    """A note on the chosen systems that rate in none of the forms, if there are any."""
    absent = [name for name in choices if name not in {x.name for x in contenders}]
    return [f"Left out, as they do not rate in this form: {join_names(absent)}."] if absent else []


def _score_contender(
    target: ScoringTarget, event_cache: dict[Any, Any], contender: Contender
) -> tuple[ScoredForecaster, HostArray]:
    """The row of a system without its difference, and its selected predictions; `event_cache` has events and plans."""
    data, system, period = target.data, contender.system, contender.period
    if period not in event_cache:
        event_cache[period] = data.events if period is None else periods(data.matches, period), {}
    events, plans = event_cache[period]
    replay: Any = run if target.row is not None else rating_history
    plan = get_or_make_levels_plan(system, events, plans)
    result = replay(system, events, schedule=plan, key=make_fixed_key(system))
    rating = None if target.row is not None else result.before.mean
    prediction = target.select_predictions(result.prediction, rating)
    quality = target.compute_metrics(prediction)
    return ScoredForecaster(contender.name, "system", quality, system=system, period=period), prediction


def _compare_with_best(
    target: ScoringTarget, scored: list[tuple[ScoredForecaster, HostArray]], forecasts: Mapping[str, Any]
) -> tuple[list[ScoredForecaster], tuple[ScoredForecaster, ...]]:
    """The systems, the best first, and their blend and the forecasts, all with differences from the best system."""
    ranked = sorted(scored, key=lambda x: loss_to_sort_by(x[0]))
    others = []
    if target.row is not None and len(scored) > 1:
        predictions = {system_result_label(row): prediction for row, prediction in scored}
        results = target.score, target.weight, target.mask
        weights, blend, quality = blend_systems_one_step_ahead([*predictions.values()], *results)
        weight_by_label = dict(zip(predictions, weights.tolist(), strict=True))
        others.append((ScoredForecaster("blend", "blend", quality, weights=weight_by_label), blend))
    others += [(ScoredForecaster(name, "forecast", target.compute_metrics(x)), x) for name, x in forecasts.items()]
    rows = [target.add_difference(row, prediction, ranked[0][1]) for row, prediction in (*ranked, *others)]
    return rows[: len(ranked)], tuple(rows[len(ranked) :])


def _count_by_noun(data: Dataset) -> dict[str, int]:
    """The number of matches, or of contests and participations."""
    participations = {} if data.of_matches else {"participations": len(data.rows)}
    return {data.events.nouns: count_events(data)} | participations


def _describe_scored(counts: Mapping[str, int], num_scored: int, lengths: tuple[float | None, ...]) -> str:
    """The scored events in words, with the length of rating periods if there is only one in `lengths`."""
    noun, count = next(iter(counts.items()))
    scored_part = f"all {count:,} {noun}" if num_scored == count else f"the last {num_scored:,} of {count:,} {noun}"
    form = "" if len(lengths) > 1 or lengths[0] is None else f" History in periods of {format_number(lengths[0])}."
    return f"Scored on {scored_part}.{form}"
