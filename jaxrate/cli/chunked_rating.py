"""`jaxrate rate` of a folder of Parquet files, or by chunks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import Output, check_only, option
from jaxrate.cli.rating import RateOptions, calibration_lines, metric_lines
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import check_system_request, choose_system, recognise_evidence_columns_of_file
from jaxrate.cli.terminal_tables import (
    ProgressReport,
    TextTable,
    print_message,
    to_text_table,
    warnings_as_notes,
)
from jaxrate.data.column_role_definitions import roles_taken_by

SAMPLE_ROWS = 100_000  # that show what the system needs to know of the data, and how large margins are
CHUNK_OPTIONS = "chunk", "brief", "resume"
READ_OPTIONS = *roles_taken_by("rate_files"), "season", "sort"
OTHER_OPTIONS = "file", "system", "param", "params", "period", "out", "top", "no-calibrate", "json", "quiet", "verbose"
ALLOWED_OPTIONS = *CHUNK_OPTIONS, *(name.replace("_", "-") for name in READ_OPTIONS), *OTHER_OPTIONS
CHUNK_HELP = (
    "Rate Parquet files in chunks of this many rows, in bounded memory, into --out. Folders and patterns are always "
    "rated in chunks.  [default: 1048576]"
)


def chunk_options(command: Any) -> Any:
    """Options --chunk, --brief and --resume."""
    options = [
        option("chunk", "NUMBER", CHUNK_HELP, needs="file"),
        option("brief", text="In chunks: save only the row and the prediction of each match.", needs="file"),
        option("resume", text="In chunks: continue from the checkpoint in --out.", needs="file"),
    ]
    for one in reversed(options):
        command = one(command)
    return command


def rate_by_chunks(
    report: ProgressReport,
    file: str,
    request: RatingRequest,
    chunk_settings: dict[str, Any],
    asked: RateOptions,
) -> Output:
    """Rate by chunks. `chunk_settings` has the arguments of `rate_files` that options give."""
    check_only(ALLOWED_OPTIONS, "rating in chunks")
    out = asked.out
    if out is None:
        raise ValueError("the results of rating by chunks go into a folder; name one with --out")
    check_system_request(request)
    columns = {name: x for name, x in request.columns.items() if name != "sort"}
    settings = {name: x for name, x in chunk_settings.items() if x is not None}
    settings |= {"calibrate": False} if asked.no_calibrate else {}
    rated_files = _rate_files(report, file, request, columns, out, settings)
    for work, seconds in rated_files.seconds.items() if report.verbose else ():
        print_message("note", f"{work}: {seconds:.2f} s")
    report.note(f"saved the run to {out}")
    board = jr.leaderboard(rated_files, top=asked.top)
    return Output(_result_sections(rated_files, board), _json_result(rated_files, board))


def _rate_files(
    report: ProgressReport,
    file: str,
    request: RatingRequest,
    columns: dict[str, Any],
    out: Path,
    options: dict[str, Any],
) -> jr.history.RatedFiles:
    from jaxrate.data.column_recognition import ColumnsRecognisedWarning
    from jaxrate.data.parquet_table import find_parquet_table, parquet_source
    from jaxrate.history.out_of_core.checkpoints import read_row_count_at_run_start
    from jaxrate.history.out_of_core.event_chunks import resolve_event_roles, table_season_starts

    parquet_table = find_parquet_table(file)
    rows = SAMPLE_ROWS
    if options.get("resume"):  # files that were added change nothing of the system
        rows = min(rows, read_row_count_at_run_start(out) or rows)
    source = parquet_source(parquet_table, rows)._replace(noted=False)
    if request.name is None and not request.changes:
        evidence = recognise_evidence_columns_of_file(file, columns, source)
        columns = {role: x for role, x in evidence.items() if role != "category"} | columns
    arguments = {name: x for name, x in columns.items() if name != "season"}
    with warnings.catch_warnings(action="ignore"):  # which are those of the sample below
        roles = resolve_event_roles(parquet_table, arguments)
    with warnings_as_notes(report):
        sample = jr.read(source, sort=roles.time is not None, **arguments)
    if "season" in columns:
        sample = sample._replace(seasons=table_season_starts(parquet_table, columns["season"], roles))
    request = request._replace(columns=columns)
    task, n = choose_system(report, request, sample, file), parquet_table.row_count
    arguments |= {"period": task.period, "calibrate": task.calibrate} | options
    noun = "matches" if roles.layout.contest is None else "participations"
    with (
        report.stage(f"rating {n:,} {noun}", n, is_even=True) as progress,
        warnings.catch_warnings(action="ignore", category=ColumnsRecognisedWarning),  # which the sample has told
    ):
        return jr.history.rate_files(task.system, parquet_table, out, **arguments, progress=progress)


def _json_result(rated_files: jr.history.RatedFiles, board: Any) -> dict[str, Any]:
    system = rated_files.system
    summary = {"system": system.name, "params": system.params._asdict() | system.settings, "period": rated_files.period}
    rows, contests = rated_files.num_rows, rated_files.contests
    summary |= {"matches": rows} if contests is None else {"contests": contests, "participations": rows}
    summary |= {"players": len(rated_files.players)} | rated_files.quality
    return summary | {"leaderboard": board.to_records()}


def _result_sections(rated_files: jr.history.RatedFiles, board: Any) -> list[str | TextTable]:
    from jaxrate.history.history import describe_event_counts

    count = describe_event_counts(rated_files.num_rows, rated_files.contests)
    duration = f"{count} in {rated_files.seconds['all']:.2f} s, "
    duration += "reading, writing and compilation included"
    lines = [duration, *metric_lines(rated_files.quality)]
    lines += calibration_lines(rated_files.system, rated_files.options)
    title = f"{rated_files.system.name}: {count} of {len(rated_files.players):,} players"
    title += "" if rated_files.period is None else f" in periods of {rated_files.period:g}"
    return [title, to_text_table(board, board.scope), "\n".join(lines)]
