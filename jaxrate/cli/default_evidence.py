"""What commands learn from if no system is named: the sides, points, seasons and surfaces of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

import jaxrate as jr
from jaxrate.cli.hyperparameters import FittedParams
from jaxrate.cli.input_options import is_parquet_folder_or_pattern, is_pgn_file, is_shipped_dataset, read_events
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.progress import ProgressReport
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.core.text_format import join_names, to_one_line

if TYPE_CHECKING:
    from jaxrate.data.table_sources import TableSource

SKILLS = "skills"  # the system that learns from margins and surfaces


def plain_option(command: Callable[..., None]) -> Callable[..., None]:
    """The option --plain."""
    text = "Learn from results alone, not from the sides, points, seasons and surfaces in the file."
    return click.option("--plain", is_flag=True, help=text)(command)


def no_calibrate_option(command: Callable[..., None]) -> Callable[..., None]:
    """The option --no-calibrate."""
    text = "Leave chances as a system with default hyperparameters predicts them."
    return click.option("--no-calibrate", is_flag=True, help=text)(command)


def read_events_with_evidence(
    report: ProgressReport, file: str, request: RatingRequest, *, plain: bool
) -> tuple[jr.data.Dataset, RatingRequest]:
    """The events of a file with all that improves predictions, and the request with the columns that were recognised.

    Where a system or hyperparameters are named, and where the request is `plain`, options alone name columns.
    """
    if plain and not _is_side_option_given():
        columns = {role: x for role, x in request.columns.items() if role not in ("side", "neutral")}
        return remove_side_advantages(read_events(report, file, columns)), request._replace(columns=columns)
    if request.fitted is not None and not plain:
        request = request._replace(columns=add_fitted_evidence(file, request.columns, request.fitted))
    request = request if plain else complete_goals_or_points_request(file, request)
    if plain or request.name is not None or request.changes:
        return read_events(report, file, request.columns), request
    evidence = recognise_evidence_columns_of_file(file, request.columns)
    data, evidence = _read_events_with_readable_evidence(report, file, request.columns, evidence)
    if not data.of_matches:
        return data, request._replace(columns=evidence | request.columns)
    if "margin" in evidence and not has_informative_margins(data):
        data, evidence = data._replace(margin=()), {role: x for role, x in evidence.items() if role != "margin"}
    return data, request._replace(columns=evidence | request.columns)


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


def complete_goals_or_points_request(file: str, request: RatingRequest) -> RatingRequest:
    """The request: if it is to learn from goals or points, of skills, with the columns of them that were recognised."""
    if request.changes.get("outcome") not in ("points", "goals") or request.name not in (None, SKILLS):
        return request
    evidence = recognise_evidence_columns_of_file(file, request.columns)
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
    from jaxrate.evaluation.comparison_notes import format_side_advantage, unused_data_features
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


def _is_side_option_given() -> bool:
    """Whether --side was given, and not only recognised."""
    return click.get_current_context().params.get("side") is not None


def recognise_evidence_columns_of_file(
    file: str, columns: dict[str, Any], table: TableSource | None = None
) -> dict[str, Any]:
    """The arguments of `read` for columns that improve predictions, by the names of columns.

    `table` is that of the file if it is open already.
    """
    from jaxrate.data.column_recognition import recognise_columns
    from jaxrate.data.column_role_definitions import select_role_arguments
    from jaxrate.data.evidence_column_recognition import FORMAT_EVIDENCE, recognise_evidence_columns
    from jaxrate.data.source_opening import open_table_source

    if "format" in columns:
        evidence = FORMAT_EVIDENCE.get(columns["format"], {})
        return {role: x for role, x in evidence.items() if role not in columns}
    if table is None and (is_parquet_folder_or_pattern(file) or is_pgn_file(file)):
        return {}
    try:
        table = table or open_table_source(jr.data.datasets.nfl_columns() if is_shipped_dataset(file) else file)
        evidence = recognise_evidence_columns(table.names, columns)
        if "margin" in evidence and "score" not in columns:  # a column of results tells who won, and not the points
            roles, na_values = select_role_arguments(columns), columns.get("na_values", ())
            recognised = recognise_columns(table, roles, False, columns.get("dates"), na_values)
            score = None if recognised.has_winner_codes else recognised.arguments["score"]
            evidence |= {} if score is None else {"score": score}
        return evidence
    except (ValueError, OSError):  # reading the file says what is wrong
        return {}


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
