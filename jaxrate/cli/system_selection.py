"""Which system is meant, and what the data say for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli.hyperparameters import FittedParams, note_open_hyperparameters
from jaxrate.cli.input_options import is_parquet_folder_or_pattern, is_pgn_file, open_file_table, read_events
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.option_names import name_options
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.terminal_tables import ProgressReport
from jaxrate.core.text_format import join_names, to_one_line

if TYPE_CHECKING:
    from jaxrate.data.table_sources import TableSource

SKILLS = "skills"  # the system that learns from margins and surfaces


def read_events_with_evidence(report: ProgressReport, request: RatingRequest) -> tuple[jr.data.Dataset, RatingRequest]:
    """The events of a file with all that improves predictions, and the request with the columns that were recognised.

    Where a system or hyperparameters are named, and where the request is `plain`, options alone name columns.
    """
    if request.plain:
        return _read_plain_events(report, request)
    file = request.file
    if request.fitted is not None:
        request = request._replace(columns=add_fitted_evidence(file, request.columns, request.fitted))
    request = complete_goals_or_points_request(request)
    if request.name is not None or request.changes:
        return read_events(report, file, request.columns), request
    evidence = recognise_evidence_columns_of_file(file, request.columns)
    data, evidence = _read_events_with_readable_evidence(report, file, request.columns, evidence)
    if data.of_matches and "margin" in evidence and not has_informative_margins(data):
        data, evidence = data._replace(margin=()), {role: x for role, x in evidence.items() if role != "margin"}
    return data, request._replace(columns=evidence | request.columns)


def _read_plain_events(report: ProgressReport, request: RatingRequest) -> tuple[jr.data.Dataset, RatingRequest]:
    """The events without sides, unless --side was given and not only recognised."""
    if click.get_current_context().params.get("side") is not None:
        return read_events(report, request.file, request.columns), request
    columns = {role: x for role, x in request.columns.items() if role not in ("side", "neutral")}
    return remove_side_advantages(read_events(report, request.file, columns)), request._replace(columns=columns)


def add_fitted_evidence(file: str, columns: dict[str, Any], fitted: FittedParams) -> dict[str, Any]:
    """Arguments of `read`, with the columns that the system of a file of hyperparameters learns from."""
    values = fitted.values
    margin = values.get("margin") or ()
    wanted = {
        "margin": bool(margin),
        "season": bool(values.get("seasons")),
        "category": values.get("categories", 1) > 1,
    }
    evidence = recognise_evidence_columns_of_file(file, columns) if any(wanted.values()) else {}
    if [*np.atleast_1d(evidence.get("margin", ()))] != [*margin]:
        wanted["margin"] = False
    wanted["score"] = wanted["margin"]
    return {role: x for role, x in evidence.items() if wanted.get(role)} | columns


def complete_goals_or_points_request(request: RatingRequest) -> RatingRequest:
    """The request: if it is to learn from goals or points, of skills, with the columns of them that were recognised."""
    if request.changes.get("outcome") not in ("points", "goals") or request.name not in (None, SKILLS):
        return request
    evidence = recognise_evidence_columns_of_file(request.file, request.columns)
    recognised = {role: x for role, x in evidence.items() if role in ("margin", "score")}
    return request._replace(name=SKILLS, columns=recognised | request.columns)


def default_system(data: jr.data.Dataset) -> str:
    """The system of those who name none: skills where matches or teams have more than results, sides and seasons."""
    from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
    from jaxrate.systems.system_construction_by_name import default_system_name

    has_more = data.margin or data.categories is not None or data.covariates or data.statistics
    suits_skills = data.of_matches or dataset_has_teams(data)
    return SKILLS if has_more and suits_skills else default_system_name(data)


def note_evidence(report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset) -> None:
    """Say in a line what the system learns from beside results."""
    if used := describe_evidence(system, data):
        report.note(f"{system.name} also learns from {used}, with default settings; --plain turns this off")


def describe_evidence(system: jr.extend.RatingSystem, data: jr.data.Dataset) -> str:
    """What a system learns from beside results, as "the sides (50 points), margins and seasons"."""
    from jaxrate.evaluation.comparison import format_side_advantage, unused_data_features
    from jaxrate.systems.system_construction_by_name import has_sides

    unused = unused_data_features(system, data)
    points = getattr(system.params, "side_advantage", None)
    kinds = {
        "the side": f"the sides ({format_side_advantage(points or 0.0)} points)" if has_sides(data) else "",
        "margins": "margins" if data.margin else "",
        "seasons": "seasons" if data.seasons else "",
        "categories": "categories" if data.categories is not None else "",
        "expected goals": "expected goals" if system.settings.get("expected_goals") else "",
        "statistics": "statistics" if system.settings.get("statistics") else "",
    }
    used = [text for kind, text in kinds.items() if text and kind not in unused]
    return join_names(used) if used else ""


def remove_side_advantages(data: jr.data.Dataset) -> jr.data.Dataset:
    """The dataset, in whose matches nobody has the side."""
    if not data.of_matches:
        return data
    context = data.matches.context._replace(side=None)
    return data._replace(events=data.matches._replace(context=context))


def drop_sides_margins_and_seasons(data: jr.data.Dataset) -> jr.data.Dataset:
    """The dataset without sides, margins and seasons."""
    return remove_side_advantages(data)._replace(margin=(), seasons=None)


def has_informative_margins(data: jr.data.Dataset) -> bool:
    """Whether margins are more than results: some are above 1."""
    from jaxrate.data.seasons_and_margins import first_player_lead

    columns: Any = data.matches.context.columns
    lead = first_player_lead([np.asarray(columns[name], float) for name in data.margin])
    return bool(np.any(np.abs(lead) > 1.0))


def recognise_evidence_columns_of_file(
    file: str, columns: dict[str, Any], table: TableSource | None = None
) -> dict[str, Any]:
    """The arguments of `read` for columns that improve predictions, by the names of columns.

    `table` is that of the file if it is open already.
    """
    from jaxrate.data.evidence_column_recognition import FORMAT_EVIDENCE, recognise_evidence_columns

    if "format" in columns:
        evidence = FORMAT_EVIDENCE.get(columns["format"], {})
        return {role: x for role, x in evidence.items() if role not in columns}
    if table is None and (is_parquet_folder_or_pattern(file) or is_pgn_file(file)):
        return {}
    try:
        table = table or open_file_table(file)
        evidence = recognise_evidence_columns(table.names, columns)
        needs_score = "margin" in evidence and "score" not in columns
        return evidence | (_recognise_score_beside_margin(table, columns) if needs_score else {})
    except (ValueError, OSError):  # reading the file says what is wrong
        return {}


def _recognise_score_beside_margin(table: TableSource, columns: dict[str, Any]) -> dict[str, Any]:
    """The column of results that tells who won, where it does not tell the points."""
    from jaxrate.data.column_recognition import resolve_table
    from jaxrate.data.column_role_definitions import select_role_arguments

    roles, na_values = select_role_arguments(columns), columns.get("na_values", ())
    resolved = resolve_table(table, roles, False, columns.get("dates"), na_values)
    score = None if resolved.winner_codes else resolved.recognised["score"]
    return {} if score is None else {"score": score}


def _read_events_with_readable_evidence(
    report: ProgressReport, file: str, columns: dict[str, Any], evidence: dict[str, Any]
) -> tuple[jr.data.Dataset, dict[str, Any]]:
    """The events with the evidence that can be read, and this evidence."""
    reasons: list[str] = []
    while evidence:
        try:
            data = read_events(report, file, columns | evidence)
            break
        except ValueError as error:
            reasons.append(to_one_line(str(error)))
            failed = {x for x in evidence if any(str(y) in reasons[-1] for y in (x, *np.atleast_1d(evidence[x])))}
            evidence = {role: x for role, x in evidence.items() if role not in (failed or evidence)}
    else:
        data = read_events(report, file, columns)  # whose error is about the results
    for reason in reasons:
        report.note(f"a column was recognised, but is not used: {reason}")
    return data, evidence


if TYPE_CHECKING:
    from jaxrate.systems.system_construction_by_name import DataFacts


class RatingTask(NamedTuple):
    """Data to rate, and by which system."""

    system: jr.extend.RatingSystem
    data: jr.data.Dataset  # without teams if the system has none
    period: float | None  # the length of the rating periods
    calibrate: bool | None = None  # as in `jr.rate`


def check_system_request(request: RatingRequest) -> None:
    """ValueError if no system can be made of the request; called before the file is read."""
    from jaxrate.systems.system_construction_by_name import make_system

    if request.name is not None:
        facts = facts_from_options(request.columns)
        if request.changes.get("outcome") in ("points", "goals") and not facts.margin:  # which the file may name
            facts = facts._replace(margin=("a", "b"))
        make_system(request.name, request.changes, facts)


def facts_from_options(columns: dict[str, Any]) -> DataFacts:
    """Facts of the data that follow from the options, before the data are read."""
    from jaxrate.systems.system_construction_by_name import DataFacts

    margin, covariates = columns.get("margin", ()), columns.get("covariates", ())
    derived = [name for name in ("rest", "form", "age") if name in columns]
    return DataFacts(
        categories=2 if "category" in columns else None,
        side="side" in columns,
        margin=(margin,) if isinstance(margin, str) else tuple(margin),
        covariates=(*covariates, *derived),
        seasons=(0.0,) if "season" in columns else (),
        league_season=columns.get("league_season"),
        statistics=(*columns.get("statistics", ()), *columns.get("shares", ())),
        expected_goals=tuple(columns.get("expected_goals", ())),
    )


def choose_system(
    report: ProgressReport,
    request: RatingRequest,
    data: jr.data.Dataset,
    *,
    fitting: bool = False,
    data_share: float = 1.0,
) -> RatingTask:
    """The requested system, or the default one; ValueError if it cannot rate these events.

    Notes say what in the data changes nothing. With `fitting` the side advantage is fitted, so that its start does not
    matter.
    Only the first share `data_share` of the data is used for the choice.
    """
    from jaxrate.systems.system_construction_by_name import default_system_name, make_system_for_data

    changes = request.changes
    if request.fitted is not None:
        changes = drop_fitted_seasons_from_changes(data, request.fitted, changes)
        note_open_hyperparameters(report, request.fitted, changes)
    is_default = request.name is None and not changes
    name = request.name or (default_system(data) if is_default else default_system_name(data))
    system = make_system_for_data(name, changes, request.period, data, data_share)
    if fitting:
        task = check_system_and_hint(report, system, data, request)
    else:
        if is_default:
            note_evidence(report, system, data)
        else:
            hint_default_side(report, data, system, changes)
        task = check_system_and_hint(report, system, data, request)
        hint_side_advantage_without_sides(report, data, [system])
    return task._replace(calibrate=request.fitted is None and not _has_fitted(system, changes))


def _has_fitted(system: jr.extend.RatingSystem, changes: dict[str, Any]) -> bool:
    """Whether some of the changes are of hyperparameters that a fit may move."""
    space = {} if system.space is None else system.space._asdict()
    return any(space[name].fitted for name in changes if name in space)


def drop_fitted_seasons_from_changes(
    data: jr.data.Dataset, fitted: FittedParams, changes: dict[str, Any]
) -> dict[str, Any]:
    """The changes that a file of hyperparameters asks for, without its seasons where the data have their own."""
    fitted_seasons = fitted.values.get("seasons", ())
    return {key: x for key, x in changes.items() if not (key == "seasons" and data.seasons and x == fitted_seasons)}


def check_system_and_hint(
    report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset, request: RatingRequest
) -> RatingTask:
    """`choose_system` for a system that exists already."""
    from jaxrate.systems import systems_with_feature
    from jaxrate.systems.system_construction_by_name import split_unsupported_teams

    period = request.period
    if system.events == (jr.Periods,) and period is None:
        period = system.params.period
        report.note(f"{system.name} rates in periods, here of {period:g}; set their length with --period")
    check_system_rates_data(system, data, period)
    check_contest_file_time_order(system, data, request.file)
    _note_unused_columns(report, system, data, request.columns)
    if data.clock is None and period is None and "period" in system.params._fields:
        hint = "; jaxrate arena ranks those who do not change, as language models" if data.of_matches else ""
        report.note(f"no column of dates, so uncertainty does not grow with time; name one with --time{hint}")
    rated_data = split_unsupported_teams(system, data)
    if rated_data is not data:
        hint = _format_systems_that_do(systems_with_feature("teams"))
        report.note(f"{system.name} does not use teams: team-mates count as opponents who tie; {hint}")
    return RatingTask(system, rated_data, period)


def _note_unused_columns(
    report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset, columns: dict[str, Any]
) -> None:
    """Say which columns change nothing, and which systems use them."""
    from jaxrate.systems import systems_with_feature

    if has_unused_categories(system, columns):
        hint = _format_systems_that_do(systems_with_feature("categories"))
        report.note(f"{system.name} does not use categories; {hint}")
    for option in unused_evidence_options(system, columns):
        systems = [name for name, new in jr.extend.SYSTEMS.items() if EVIDENCE_OPTIONS[option] in new().settings]
        text = f"does not use `{option}`"
        if option == "margin" and margin_tells_result(data):
            text = "learns from `margin` who won, and not by how much"
        note = f"{system.name} {text}; {_format_systems_that_do(systems)}"
        if option == "expected_goals" and system.name == SKILLS:
            note = "skills use `expected_goals` where they learn from goals: --param outcome=goals"
        report.note(name_options(note, click.get_current_context().command))


def _format_systems_that_do(names: Iterable[str]) -> str:
    """The end of a sentence about what a system does not do: "elo does", "elo and glicko do"."""
    from jaxrate.core.text_format import join_names

    systems = [*names]
    return f"{join_names(systems)} {'do' if len(systems) > 1 else 'does'}"


def check_period(data: jr.data.Dataset, period: float | None) -> None:
    """ValueError if these events cannot be rated in periods."""
    if period is not None and not data.of_matches:
        raise ValueError("rating periods are of matches of two, not of contests; leave out --period")
    if period is not None and data.clock is None:
        raise ValueError("rating periods need times; name the column of time with --time")


def check_system_rates_data(system: jr.extend.RatingSystem, data: jr.data.Dataset, period: float | None) -> None:
    """ValueError if the system does not rate these events, or if these have no rating periods."""
    from jaxrate.systems.system_construction_by_name import can_rate_dataset, make_system

    check_period(data, period)
    if can_rate_dataset(system, data):
        return
    kind = "matches of two" if data.of_matches else "contests of many players"
    fitting = [name for name in jr.extend.SYSTEMS if can_rate_dataset(make_system(name, {}), data)]
    hint = f"; try {' or '.join(fitting)}" if fitting else ""
    raise ValueError(f"{system.name} does not rate {kind}{hint}")


def check_contest_file_time_order(system: jr.extend.RatingSystem, data: jr.data.Dataset, file: str) -> None:
    """ValueError if the times of contests decrease, and the system takes notice."""
    from jaxrate.history import dataset_rating

    with prefix_errors_with_file(file):
        dataset_rating.check_contests_in_time_order(system, data)


@contextmanager
def prefix_errors_with_file(file: str) -> Iterator[None]:
    """A ValueError names the file, and the option that helps where events have to be sorted."""
    try:
        yield
    except ValueError as error:
        hint = ", or use --sort" if str(error).endswith("sort the contests by time") else ""
        raise ValueError(f"{Path(file).name}: {error}{hint}") from None


def has_unused_categories(system: jr.extend.RatingSystem, columns: dict[str, Any]) -> bool:
    """Whether there are categories that the system does not use."""
    return "category" in columns and "categories" not in system.features


EVIDENCE_OPTIONS = {  # options, and settings of systems
    "margin": "margin",
    "covariates": "covariates",
    **dict.fromkeys(("rest", "form", "age"), "covariates"),
    "season": "seasons",
    "league_season": "league_season",
    "expected_goals": "expected_goals",
}


def unused_evidence_options(system: jr.extend.RatingSystem, columns: dict[str, Any]) -> list[str]:
    """The options of evidence that the system does not use."""
    options = [option for option in EVIDENCE_OPTIONS if option in columns]
    unused = [option for option in options if EVIDENCE_OPTIONS[option] not in system.settings]
    has_unused_goals = "expected_goals" in options and system.settings.get("expected_goals") == ()
    return [*unused, *(["expected_goals"] if has_unused_goals else [])]


def margin_tells_result(data: jr.data.Dataset) -> bool:
    """Whether the columns of the margin tell who has won, so that the file cannot be read without them."""
    return bool(data.margin) and data.margin == data.points


def columns_of_saved_run(
    system: jr.extend.RatingSystem, data: jr.data.Dataset, columns: dict[str, Any]
) -> dict[str, Any]:
    """The reading options that a saved run keeps: those of the result, and of what its system uses."""
    unused = ["category", "mixtures"] if has_unused_categories(system, columns) else []
    unused += unused_evidence_options(system, columns)
    kept = ["margin"] if margin_tells_result(data) else []
    return {key: x for key, x in columns.items() if key in kept or key not in unused}


def hint_side_advantage_without_sides(
    report: ProgressReport, data: jr.data.Dataset, systems: list[jr.extend.RatingSystem]
) -> None:
    """A note if nobody has the side, and a system has a side advantage."""
    if not data.of_matches or data.matches.context.side is not None:
        return
    if any(getattr(system.params, "side_advantage", 0.0) for system in systems):
        report.note("side_advantage has no effect, as nobody has the side; name its column with --side")


def hint_default_side(
    report: ProgressReport, data: jr.data.Dataset, system: jr.extend.RatingSystem, changes: dict[str, Any]
) -> None:
    """A note of the default side advantage where none is chosen, or that the system does not use sides."""
    from jaxrate.systems.system_construction_by_name import has_sides

    if not has_sides(data) or "side_advantage" in changes:
        return
    points = getattr(system.params, "side_advantage", None)
    if points is None:
        systems = [name for name, new in jr.extend.SYSTEMS.items() if "side_advantage" in new().params._fields]
        report.note(f"{system.name} does not use home advantage; {_format_systems_that_do(systems)}")
    else:
        hint = "set it with --param side_advantage, or fit it with jaxrate fit --free side_advantage"
        report.note(f"the home advantage is {points:g} points by default; {hint}")


class ScoredSystem(NamedTuple):
    """A system with changed hyperparameters, and how well it predicted."""

    name: str
    changes: dict[str, Any]
    quality: Mapping[str, Any]  # its metrics
    period: float | None = None
    last: float = 1.0  # the share of the predictions that is scored


def warn_worse_than_even(report: ProgressReport, data: jr.data.Dataset, scored: ScoredSystem) -> None:
    """A note if changed hyperparameters make a system worse than without, and than equal forecasts."""
    from jaxrate.evaluation.scored_predictions import constant_forecast_log_loss

    is_loss = "log loss" in scored.quality
    metric, sign = ("log loss", 1.0) if is_loss else ("pair inversion", -1.0)
    if not scored.changes or scored.quality[metric] is None:
        return
    constant = constant_forecast_log_loss(data, scored.last) if is_loss else 0.5
    if sign * scored.quality[metric] <= sign * constant:
        return
    usual = jr.compare(data, [scored.name], lengths=(scored.period,), last=scored.last).results[0].quality[metric]
    if sign * usual < sign * scored.quality[metric]:
        settings = ", ".join(f"{key}={value}" for key, value in scored.changes.items())
        report.note(
            f"with {settings if len(scored.changes) < 4 else 'what was given'} {scored.name} predicts worse ({metric} "
            f"{scored.quality[metric]:.4f}) than without ({usual:.4f}) and than the same forecast for all "
            f"({constant:.4f}); `jaxrate systems {scored.name}` lists units and ranges"
        )


def count_events_and_players(task: RatingTask, are_teams: bool) -> str:
    """The size of what is rated, as "594 matches of 40 players in periods of 7"."""
    kind, nouns = "matches" if task.data.of_matches else "participations", "teams" if are_teams else "players"
    periods = "" if task.period is None else f" in periods of {task.period:g}"
    return f"{len(task.data.rows):,} {kind} of {len(task.data.players):,} {nouns}{periods}"
