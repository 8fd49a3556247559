"""`jaxrate rate` of a folder of files, or by chunks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import check_only
from jaxrate.cli.options import option
from jaxrate.cli.rating import RateOptions, Rating, calibration_lines, metric_lines
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import choose_system, recognise_evidence_columns_of_file
from jaxrate.cli.terminal_tables import ProgressReport, print_message, warnings_as_notes
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


def rate_by_chunks(report: ProgressReport, request: RatingRequest, sizes: dict[str, Any], asked: RateOptions) -> Rating:
    """Rate by chunks; `sizes` has the arguments of `Chunks` that options give, or None."""
    from jaxrate.data.table_files import join_files
    from jaxrate.history.history import describe_event_counts
    from jaxrate.history.out_of_core.chunk_pipeline import Chunks
    from jaxrate.history.out_of_core.rating_by_chunks import rate_by_chunks

    check_only(ALLOWED_OPTIONS, "rating in chunks")
    if unknown := [name for name in request.columns if name not in (*COLUMN_ROLES, "sort")]:
        raise ValueError(f"--column {unknown[0]} cannot be combined with rating in chunks")
    out = _check_folder(report, asked.out)
    files = join_files(request.file)
    reading, task, columns = _choose_reading_and_system(report, request, asked, files)
    n, noun = files.count_rows(), "participations" if reading.roles.layout.contest else "matches"
    calibrate = False if asked.no_calibrate else task.calibrate
    with report.stage(f"rating {n:,} {noun}", n, is_even=True) as progress:
        chunks = Chunks(progress=progress, **{name: x for name, x in sizes.items() if x is not None})
        rated = rate_by_chunks(task.system, reading, out, chunks, columns, task.period, calibrate=calibrate)
    for work, seconds in rated.seconds.items() if report.verbose else ():
        print_message("note", f"{work}: {seconds:.2f} s")
    report.note(f"saved the run to {out}")
    count = describe_event_counts(rated.num_rows, rated.contests)
    lines = [f"{count} in {rated.seconds['all']:.2f} s, reading, writing and compilation included"]
    lines += [*metric_lines(rated.quality), *calibration_lines(rated.system, rated.options)]
    return Rating(rated, text="\n".join(lines), metrics=rated.quality)


def _check_folder(report: ProgressReport, out: Path | None) -> Path:
    """The folder for the results, with a note if a run there goes on; ValueError without one, or if none can go on."""
    if out is None:
        raise ValueError("the results of rating by chunks go into a folder; name one with --out")
    if (out / "checkpoint").exists():
        report.note(f"going on with the run in {out}")
    elif (out / "predictions").exists():
        raise ValueError(f"there is a run in {out} that cannot be gone on with; name another folder")
    return out


def _choose_reading_and_system(
    report: ProgressReport, request: RatingRequest, asked: RateOptions, files: Any
) -> tuple[Any, Any, dict[str, Any]]:
    """How the files are read, the task of rating a sample of them, and their columns."""
    from jaxrate.data.table_files import first_rows
    from jaxrate.history.out_of_core.checkpoints import read_checkpoint
    from jaxrate.history.out_of_core.table_reading import resolve_table_reading

    columns = {name: x for name, x in request.columns.items() if name != "sort"}
    checkpoint = None if asked.out is None else read_checkpoint(asked.out)
    sampled = SAMPLE_ROWS if checkpoint is None else min(SAMPLE_ROWS, checkpoint[0]["at_first"])  # as at the beginning
    source = first_rows(files, sampled)._replace(noted=False)
    if request.learns_from_all_evidence:
        evidence = recognise_evidence_columns_of_file(request.file, columns, source)
        columns = {role: x for role, x in evidence.items() if role != "category"} | columns
    with warnings.catch_warnings(action="ignore"):  # which are those of the sample below
        reading = resolve_table_reading(files, columns)
    with warnings_as_notes(report):
        sample = jr.read(source, sort=reading.roles.time is not None, **columns)
    sample = sample._replace(seasons=reading.seasons, categories=reading.categories)
    return reading, choose_system(report, request._replace(columns=columns), sample), columns
