"""Which system is meant, the columns that it learns from, and notes on what it makes of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.commands import prefix_errors_with_file
from jaxrate.cli.input_options import is_parquet_folder_or_pattern, open_file_table, read_events
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.option_names import name_options
from jaxrate.cli.shared_options import FittedParams, RatingRequest, note_open_hyperparameters
from jaxrate.cli.terminal_tables import ProgressReport
from jaxrate.core.text_format import join_names, to_one_line
from jaxrate.data.column_role_definitions import is_pgn_file

SKILLS = "skills"  # the system that learns from margins and surfaces
POINT_OUTCOMES = "points", "goals"  # values of its setting `outcome` for which it needs the points of both sides


def read_events_with_evidence(
    report: ProgressReport, request: RatingRequest, first: int | None = None
) -> tuple[jr.data.Dataset, RatingRequest]:
    """The events of a file with all that improves predictions, and the request with the columns that were recognised.

    Where a system or hyperparameters are named, the request is `plain`, or only the `first` rows are read, options
    alone name columns, but for those that the system of a file of hyperparameters learns from, and goals or points
    that are asked for. Plain events have no sides, unless an option names them.
    """
    recognised = {} if request.plain else recognise_evidence_columns_of_file(request.file, request.columns)
    if request.learns_from_all_evidence and first is None:
        data, evidence = _read_events_with_readable_evidence(report, request.file, request.columns, recognised)
        if data.of_matches and "margin" in evidence and not has_informative_margins(data):
            data, evidence = data._replace(margin=()), {role: x for role, x in evidence.items() if role != "margin"}
        return data, request._replace(columns=evidence | request.columns)
    request = _complete_named_request(request, recognised)
    data = read_events(report, request.file, request.columns, first=first)
    if request.plain and data.of_matches and "side" not in request.columns:
        matches = data.matches
        data = data._replace(events=matches._replace(context=matches.context._replace(side=None)))
    return data, request


def _complete_named_request(request: RatingRequest, recognised: dict[str, Any]) -> RatingRequest:
    """The request with the recognised columns that its file of hyperparameters, its goals or its points need."""
    columns = request.columns
    if request.fitted is not None:
        columns = fitted_evidence(recognised, request.fitted) | columns
    if request.changes.get("outcome") in POINT_OUTCOMES and request.name in (None, SKILLS):
        points = {role: x for role, x in recognised.items() if role in ("margin", "score")}
        return request._replace(name=SKILLS, columns=points | columns)
    return request._replace(columns=columns)


def fitted_evidence(recognised: Mapping[str, Any], fitted: FittedParams) -> dict[str, Any]:
    """The recognised columns that the system of a file of hyperparameters learns from."""
    margin = [*(fitted.values.get("margin") or ())]
    is_its_margin = bool(margin) and [*np.atleast_1d(recognised.get("margin", ()))] == margin
    wanted = {
        "margin": is_its_margin,
        "score": is_its_margin,
        "season": bool(fitted.values.get("seasons")),
        "category": fitted.values.get("categories", 1) > 1,
    }
    return {role: x for role, x in recognised.items() if wanted.get(role)}


def has_informative_margins(data: jr.data.Dataset) -> bool:
    """Whether margins are more than results: some are above 1."""
    columns: Any = data.matches.context.columns
    lead = lazy.first_player_lead([np.asarray(columns[name], float) for name in data.margin])
    return bool(np.any(np.abs(lead) > 1.0))


def recognise_evidence_columns_of_file(
    file: str, columns: dict[str, Any], table: lazy.TableSource | None = None
) -> dict[str, Any]:
    """The arguments of `read` for columns that improve predictions, by the names of columns.

    `table` is that of the file if it is open already.
    """
    if "format" in columns:
        evidence = lazy.FORMAT_EVIDENCE.get(columns["format"], {})
        return {role: x for role, x in evidence.items() if role not in columns}
    if table is None and (is_parquet_folder_or_pattern(file) or is_pgn_file(file)):
        return {}
    try:
        table = table or open_file_table(file)
        evidence = lazy.recognise_evidence_columns(table.names, columns)
        if "margin" not in {*columns, *evidence}:
            points = lazy.points_in_scorelines(table, lazy.select_role_arguments(columns))
            evidence |= {"margin": points} if points else {}
        return evidence | _recognise_score_beside_margin(table, columns, evidence)
    except (ValueError, OSError):  # reading the file says what is wrong
        return {}


def _recognise_score_beside_margin(
    table: lazy.TableSource, columns: dict[str, Any], evidence: dict[str, Any]
) -> dict[str, Any]:
    """The column of results that tells who won, where there are points, which do not tell it."""
    if "margin" not in evidence or "score" in columns:
        return {}
    roles, na_values = lazy.select_role_arguments(columns), columns.get("na_values", ())
    resolved = lazy.resolve_table(table, roles, False, columns.get("dates"), na_values)
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


class RatingTask(NamedTuple):
    """Data to rate, and by which system."""

    system: jr.extend.RatingSystem
    data: jr.data.Dataset  # without teams if the system has none
    period: float | None  # the length of the rating periods
    calibrate: bool | None = None  # as in `jr.rate`


def choose_system(
    report: ProgressReport,
    request: RatingRequest,
    data: jr.data.Dataset,
    *,
    fitting: bool = False,
    data_share: float = 1.0,
) -> RatingTask:
    """The requested system, or the default one; ValueError if it cannot rate these events.

    Notes say what it learns from, and what in the data changes nothing; with `fitting` nothing of the side advantage,
    which is fitted, and the system has what `add_parts_to_fit` adds. The choice uses the first share `data_share` of
    the data alone.
    """
    changes = request.changes
    if request.fitted is not None:
        changes = drop_fitted_seasons_from_changes(data, request.fitted, changes)
        note_open_hyperparameters(report, request.fitted, changes)
    is_default = request.name is None and not changes
    name = request.name or (default_system if is_default else lazy.default_system_name)(data)
    system = lazy.make_system_for_data(name, changes, request.period, data, data_share)
    if fitting:
        system = lazy.add_parts_to_fit(system, changes, data, round(len(data.rows) * data_share))
    elif is_default:
        note_evidence(report, system, data)
    task = check_system(report, system, data, request)
    if not fitting:
        note_side_advantage(report, data, [system], is_chosen=is_default or "side_advantage" in changes)
    return task._replace(calibrate=request.fitted is None and not _has_fitted(system, changes))


def _has_fitted(system: jr.extend.RatingSystem, changes: dict[str, Any]) -> bool:
    """Whether some of the changes are of hyperparameters that a fit may move."""
    space = {} if system.space is None else system.space._asdict()
    return any(space[name].fitted for name in changes if name in space)


def default_system(data: jr.data.Dataset) -> str:
    """The system of those who name none: skills where matches or teams have more than results, sides and seasons."""
    has_more = data.margin or data.categories is not None or data.covariates or data.statistics
    suits_skills = data.of_matches or lazy.dataset_has_teams(data)
    return SKILLS if has_more and suits_skills else lazy.default_system_name(data)


def drop_fitted_seasons_from_changes(
    data: jr.data.Dataset, fitted: FittedParams, changes: dict[str, Any]
) -> dict[str, Any]:
    """The changes that a file of hyperparameters asks for, without its seasons where the data have their own."""
    fitted_seasons = fitted.values.get("seasons", ())
    return {key: x for key, x in changes.items() if not (key == "seasons" and data.seasons and x == fitted_seasons)}


def check_system(
    report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset, request: RatingRequest
) -> RatingTask:
    """What to rate by a system that exists already; ValueError if it cannot rate these events.

    Notes say what in the data changes nothing.
    """
    period = request.period
    if system.events == (jr.Periods,) and period is None:
        period = system.params.period
        report.note(f"{system.name} rates in periods, here of {period:g}; set their length with --period")
    check_system_rates_data(system, data, period)
    with prefix_errors_with_file(request.file):
        lazy.check_contests_in_time_order(system, data)
    rated_data = lazy.split_unsupported_teams(system, data)
    for note in _notes_on_unused_data(system, data, request.columns, has_lost_teams=rated_data is not data):
        report.note(name_options(note, click.get_current_context().command))
    if data.clock is None and period is None and "period" in system.params._fields:
        hint = "; jaxrate arena ranks those who do not change, as language models" if data.of_matches else ""
        report.note(f"no column of dates, so uncertainty does not grow with time; name one with --time{hint}")
    return RatingTask(system, rated_data, period)


def check_period(data: jr.data.Dataset, period: float | None) -> None:
    """ValueError if these events cannot be rated in periods."""
    if period is not None and not data.of_matches:
        raise ValueError("rating periods are of matches of two, not of contests; leave out --period")
    if period is not None and data.clock is None:
        raise ValueError("rating periods need times; name the column of time with --time")


def check_system_rates_data(system: jr.extend.RatingSystem, data: jr.data.Dataset, period: float | None) -> None:
    """ValueError if the system does not rate these events, or if these have no rating periods."""
    check_period(data, period)
    if lazy.can_rate_dataset(system, data):
        return
    kind = "matches of two" if data.of_matches else "contests of many players"
    fitting = [name for name in jr.extend.SYSTEMS if lazy.can_rate_dataset(lazy.make_system(name, {}), data)]
    hint = f"; try {' or '.join(fitting)}" if fitting else ""
    raise ValueError(f"{system.name} does not rate {kind}{hint}")


EVIDENCE_SETTINGS = {  # settings of systems, by the arguments of `read` that they are for
    "category": "categories",
    "margin": "margin",
    "covariates": "covariates",
    **dict.fromkeys(("rest", "layoff", "form", "age", "venue"), "covariates"),
    "season": "seasons",
    "league_season": "league_season",
    "expected_goals": "expected_goals",
}


def unused_evidence(system: jr.extend.RatingSystem, columns: dict[str, Any]) -> list[str]:
    """The arguments of `read` for what the system does not learn from."""
    used = {name for name in system.settings if name != "expected_goals" or system.settings[name]}
    return [name for name, setting in EVIDENCE_SETTINGS.items() if name in columns and setting not in used]


def margin_tells_result(data: jr.data.Dataset) -> bool:
    """Whether the columns of the margin tell who has won, so that the file cannot be read without them."""
    return bool(data.margin) and data.margin == data.points


def columns_of_saved_run(
    system: jr.extend.RatingSystem, data: jr.data.Dataset, columns: dict[str, Any]
) -> dict[str, Any]:
    """The reading options that a saved run keeps: those of the result, and of what its system uses."""
    unused = {*unused_evidence(system, columns)} - ({"margin"} if margin_tells_result(data) else set())
    unused |= {"mixtures"} if "category" in unused else set()
    return {key: x for key, x in columns.items() if key not in unused}


def _notes_on_unused_data(
    system: jr.extend.RatingSystem, data: jr.data.Dataset, columns: dict[str, Any], *, has_lost_teams: bool
) -> Iterator[str]:
    """What of the data changes nothing, and which systems use it."""
    for argument in unused_evidence(system, columns):
        if argument == "expected_goals" and system.name == SKILLS:
            yield "skills use `expected_goals` where they learn from goals: --param outcome=goals"
            continue
        tells_result = argument == "margin" and margin_tells_result(data)
        use = "learns from `margin` who won, and not by how much" if tells_result else f"does not use `{argument}`"
        others = [name for name, new in jr.extend.SYSTEMS.items() if EVIDENCE_SETTINGS[argument] in new().settings]
        yield f"{system.name} {use}; take {join_names(others, 'or')}"
    if has_lost_teams:
        others = lazy.systems_with_feature("teams")
        text = "does not use teams: team-mates count as opponents who tie"
        yield f"{system.name} {text}; take {join_names(others, 'or')}"


def note_evidence(report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset) -> None:
    """Say in a line what the system learns from beside results, as "the sides (50 points), margins and seasons"."""
    unused = lazy.unused_data_features(system, data)
    sides = f"the sides ({lazy.format_side_advantage(getattr(system.params, 'side_advantage', None) or 0.0)} points)"
    kinds = {  # what the data have, and what is called how where the system does not use it
        sides: lazy.has_sides(data) and "the side",
        "margins": data.margin and "margins",
        "seasons": data.seasons and "seasons",
        "categories": data.categories is not None and "categories",
        "expected goals": system.settings.get("expected_goals") and "expected goals",
        "statistics": system.settings.get("statistics") and "statistics",
    }
    if used := [kind for kind, name in kinds.items() if name and name not in unused]:
        text = f"{system.name} also learns from {join_names(used)}, with default settings"
        report.note(f"{text}; --plain turns this off")


def note_side_advantage(
    report: ProgressReport, data: jr.data.Dataset, systems: list[jr.extend.RatingSystem], *, is_chosen: bool = True
) -> None:
    """A note if systems have a side advantage, and nobody the side; or what the side is worth, unless that is chosen.

    The latter is of the first system.
    """
    points = [getattr(system.params, "side_advantage", None) for system in systems]
    if not lazy.has_sides(data):
        if data.of_matches and any(points):
            report.note("side_advantage has no effect, as nobody has the side; name its column with --side")
    elif not is_chosen and points[0] is None:
        others = [name for name, new in jr.extend.SYSTEMS.items() if "side_advantage" in new().params._fields]
        report.note(f"{systems[0].name} does not use home advantage; take {join_names(others, 'or')}")
    elif not is_chosen:
        hint = "set it with --param side_advantage, or fit it with jaxrate fit --free side_advantage"
        report.note(f"the home advantage is {points[0]:g} points by default; {hint}")


def note_worse_than_constant(
    report: ProgressReport,
    data: jr.data.Dataset,
    name: str,
    changes: Mapping[str, Any],
    quality: Mapping[str, Any],
    last: float = 1.0,
) -> None:
    """A note if a system with these changes predicts the last share of the events worse than the same for all."""
    loss = quality.get("log loss")
    if not changes or loss is None or loss <= (constant := lazy.constant_forecast_log_loss(data, last)):
        return
    settings = ", ".join(f"{key}={value}" for key, value in changes.items()) if len(changes) < 4 else "what was given"
    text = f"with {settings} {name} predicts worse (log loss {loss:.4f}) than the same forecast for all"
    report.note(f"{text} ({constant:.4f}); `jaxrate systems {name}` lists units and ranges")
