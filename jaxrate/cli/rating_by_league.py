"""`jaxrate rate --by`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.input_options import is_about_teams, is_parquet_folder_or_pattern, is_shipped_dataset
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.output_path_checks import check_output_folder
from jaxrate.cli.shared_options import RatingRequest, leaderboard_table
from jaxrate.cli.system_selection import (
    check_system_request,
    choose_system,
    prefix_errors_with_file,
    read_events_with_evidence,
)
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, print_escaped, print_sections, warnings_as_notes
from jaxrate.core.text_format import did_you_mean_suffix, format_count

MAX_FOLDER_LENGTH = 100  # bytes of the name of a folder
RESERVED_NAMES = re.compile(r"con|prn|aux|nul|(com|lpt)\d", re.IGNORECASE)  # names that Windows keeps for devices
INCOMPATIBLE_OPTIONS = {
    "state", "as_of", "player", "against", "upsets", "csv", "csv_safe", "smooth", "outlook", "since", "peaks", "last",
    "chunk", "brief", "resume", "format",
}  # fmt: skip


def rate_leagues(
    report: ProgressReport,
    file: str,
    request: RatingRequest,
    by: str,
    out: Path | None,
    top: int,
    leaderboard_arguments: dict[str, Any],
    as_json: bool,
    plain: bool,
    no_calibrate: bool,
) -> None:
    """Rate each league of a file alone, and print and save them one by one."""
    context = click.get_current_context()
    command_line = click.core.ParameterSource.COMMANDLINE
    if others := [
        x for x in context.params if x in INCOMPATIBLE_OPTIONS and context.get_parameter_source(x) == command_line
    ]:
        raise ValueError(f"--{others[0].replace('_', '-')} cannot be combined with --by")
    if out is not None:
        check_output_folder("--out", out)
    check_system_request(request)
    data, request = read_events_with_evidence(report, file, request, plain=plain)
    league = _league_column(file, by)
    task = choose_system(report, request, data, file)
    with report.stage("rating leagues"), prefix_errors_with_file(file):
        rated_by_league = jr.history.rate_leagues(
            task.system, task.data, league, period=task.period, calibrate=task.calibrate and not no_calibrate
        )
    are_teams = is_about_teams(file, request.columns)
    boards = {name: jr.leaderboard(rated, top=top, **leaderboard_arguments) for name, rated in rated_by_league.items()}
    if out is not None:
        with report.stage(f"writing {out}"), warnings_as_notes(report):
            folders = _league_folders([*rated_by_league])
            for name, rated in rated_by_league.items():
                folder = out / folders[name]
                folder.mkdir(parents=True, exist_ok=True)
                options = {"columns": request.columns, "teams": are_teams, "title": str(name)}
                jr.save(folder, rated._replace(options=rated.options | options))
            jr.data.write(_concatenate_ratings(by, rated_by_league), out / "leagues.parquet")
        report.note(f"saved {len(rated_by_league):,} runs to {out}")
    if as_json:
        print_escaped(
            json.dumps(
                [_json_league(by, name, rated_by_league[name], board) for name, board in boards.items()],
                indent=1,
                default=str,
            )
        )
        return
    sections: list[str | TextTable] = [task.system.name]
    noun = "team" if are_teams else "player"
    for name, rated in rated_by_league.items():
        title = f"{name}: {_format_count(rated)} of {format_count(len(rated.players), noun)}"
        sections += [title, leaderboard_table(boards[name], are_teams=are_teams)]
    print_sections(*sections)


def _league_column(file: str, by: str) -> Any:
    """[N] the values of a column of the file."""
    from jaxrate.data.parquet_table import find_parquet_table, parquet_source
    from jaxrate.data.table_files import open_table_source
    from jaxrate.data.table_sources import add_location_to_data_errors

    table = parquet_source(find_parquet_table(file)) if is_parquet_folder_or_pattern(file) else file
    source = open_table_source(jr.data.datasets.nfl_columns() if is_shipped_dataset(file) else table)
    with add_location_to_data_errors(source.title, source.where):
        if by not in source.names:
            raise ValueError(f"--by: no column {by!r}{did_you_mean_suffix(by, source.names)}")
        values = source.load([by], [by], [])[by]
    return values.to_pylist() if hasattr(values, "to_pylist") else values


def _league_folders(names: list[Any]) -> dict[Any, str]:
    """A folder for each league, of letters, digits and dashes; those alike are numbered, long ones cut."""
    folders: dict[Any, str] = {}
    used_names: set[str] = set()
    for name in names:
        base_name = (
            re.sub(r"[^\w-]+", "_", str(name)).strip("_").encode()[:MAX_FOLDER_LENGTH].decode(errors="ignore")
            or "league"
        )
        base_name = folder = f"{base_name}_" if RESERVED_NAMES.fullmatch(base_name) else base_name
        while folder.lower() in used_names:
            folder = f"{base_name}_{len(used_names) + 1}"
        used_names.add(folder.lower())
        folders[name] = folder
    return folders


def _concatenate_ratings(by: str, rated_by_league: dict[Any, jr.History]) -> dict[str, Any]:
    """The ratings of all leagues, with a column of the league."""
    tables = [jr.history.rating_table(rated) for rated in rated_by_league.values()]
    league = np.repeat(
        [str(name) for name in rated_by_league], [len(rated.players) for rated in rated_by_league.values()]
    )
    return {by: league} | {name: np.concatenate([table[name] for table in tables]) for name in tables[0] if name != by}


def _format_count(rated: jr.History) -> str:
    if rated.contests is None:
        return format_count(len(rated.events["row"]), "match")
    return format_count(rated.contests, "contest")


def _json_league(by: str, name: Any, rated: jr.History, board: Any) -> dict[str, Any]:
    """The result of a league for JSON."""
    rows = board.to_records()
    counts = {"matches": len(rated.events["row"])} if rated.contests is None else {"contests": rated.contests}
    return {by: name, "system": rated.system.name} | counts | {"players": len(rated.players), "leaderboard": rows}
