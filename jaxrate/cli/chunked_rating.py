"""`jaxrate rate` of a folder of files, or by chunks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import Output, check_only
from jaxrate.cli.options import option
from jaxrate.cli.rate_output import SHOWN_PLAYERS
from jaxrate.cli.rating import RateOptions, calibration_lines, metric_lines
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import choose_system, recognise_evidence_columns_of_file
from jaxrate.cli.terminal_tables import (
    ProgressReport,
    TextTable,
    print_message,
    to_text_table,
    warnings_as_notes,
)
from jaxrate.data.column_role_definitions import COLUMN_ROLES

SAMPLE_ROWS = 100_000  # that show what the system needs to know of the data, and how large margins are
ALLOWED_OPTIONS = (
    *("chunk", "brief", "system", "param", "period", "out", "top", "no-calibrate"),
    *(*COLUMN_ROLES, "sort", "column"),
)
CHUNK_HELP = (
    "Rate files in chunks of this many rows, in bounded memory, into --out; given again, it goes on there. "
    "Folders and patterns are always rated in chunks.  [default: 1048576]"
)


CHUNK_OPTIONS = (
    option("chunk", "NUMBER", CHUNK_HELP, needs="FILE"),
    option("brief", text="In chunks: save only the row and the prediction of each match.", needs="FILE"),
)


def rate_by_chunks(
    report: ProgressReport, request: RatingRequest, chunk_settings: dict[str, Any], asked: RateOptions
) -> Output:
    """Rate by chunks. `chunk_settings` has the values of the options of chunks."""
    check_only(ALLOWED_OPTIONS, "rating in chunks")
    if unknown := [name for name in request.columns if name not in (*COLUMN_ROLES, "sort")]:
        raise ValueError(f"--column {unknown[0]} cannot be combined with rating in chunks")
    out = asked.out
    if out is None:
        raise ValueError("the results of rating by chunks go into a folder; name one with --out")
    if (out / "checkpoint").exists():
        report.note(f"going on with the run in {out}")
    elif (out / "predictions").exists():
        raise ValueError(f"there is a run in {out} that cannot be gone on with; name another folder")
    rated_files = _rate_files(report, request, out, chunk_settings | {"calibrate": not asked.no_calibrate})
    for work, seconds in rated_files.seconds.items() if report.verbose else ():
        print_message("note", f"{work}: {seconds:.2f} s")
    report.note(f"saved the run to {out}")
    board = jr.leaderboard(rated_files, top=asked.top or SHOWN_PLAYERS)
    return Output(_result_sections(rated_files, board), _json_result(rated_files, board))


def _rate_files(
    report: ProgressReport, request: RatingRequest, out: Path, settings: dict[str, Any]
) -> jr.history.RatedFiles:
    from jaxrate.data.table_files import join_files
    from jaxrate.history.out_of_core.checkpoints import read_checkpoint
    from jaxrate.history.out_of_core.chunk_pipeline import Chunks
    from jaxrate.history.out_of_core.rating_by_chunks import rate_by_chunks
    from jaxrate.history.out_of_core.table_reading import resolve_table_reading

    columns = {name: x for name, x in request.columns.items() if name != "sort"}
    files, checkpoint = join_files(request.file), read_checkpoint(out)
    sampled = SAMPLE_ROWS if checkpoint is None else min(SAMPLE_ROWS, checkpoint[0]["at_first"])  # as at the beginning
    source = files.to_source(sampled)._replace(noted=False)
    if request.name is None and not request.changes:
        evidence = recognise_evidence_columns_of_file(request.file, columns, source)
        columns = {role: x for role, x in evidence.items() if role != "category"} | columns
    with warnings.catch_warnings(action="ignore"):  # which are those of the sample below
        reading = resolve_table_reading(files, columns)
    with warnings_as_notes(report):
        sample = jr.read(source, sort=reading.roles.time is not None, **columns)
    sample = sample._replace(seasons=reading.seasons, categories=reading.categories)
    task = choose_system(report, request._replace(columns=columns), sample)
    n, noun = files.count_rows(), "participations" if reading.roles.layout.contest else "matches"
    calibrate = task.calibrate if settings["calibrate"] else False
    with report.stage(f"rating {n:,} {noun}", n, is_even=True) as progress:
        rows = Chunks().rows if settings["chunk"] is None else settings["chunk"]
        chunks = Chunks(rows, settings["brief"], progress=progress)
        return rate_by_chunks(task.system, reading, out, chunks, columns, task.period, calibrate=calibrate)


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
