"""`jaxrate rate` of a folder of Parquet files, or by chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.output_checks import check_folder
from jaxrate.cli.progress import ProgressReport, warnings_as_notes
from jaxrate.cli.shared_options import RatingRequest, parse_whole_number
from jaxrate.cli.system_selection import check_system_request, choose_system
from jaxrate.cli.terminal import print_escaped

SAMPLE_ROWS = 100_000  # rows, from which it is told what the system must know, and how large margins are
CHUNK_OPTIONS = "chunk", "brief", "resume"
ALLOWED_OPTIONS = {
    *CHUNK_OPTIONS,
    "file",
    "name",
    "params",
    "fit",
    "out",
    "top",
    "as_json",
    "sort",
    "quiet",
    "verbose",
    "period",
}
ALLOWED_OPTIONS |= {"margin", "statistics", "shares", "covariates", "columns", "season"}
CHUNK_HELP = (
    "Rate Parquet by chunks of so many matches, in bounded memory, into --out. Folders of Parquet files, and patterns, "
)
CHUNK_HELP += "are rated so anyway.  [default: 1048576]"


def chunk_options(command: Any) -> Any:
    """Options --chunk, --brief and --resume."""
    options = [
        click.option("--chunk", type=parse_whole_number, metavar="INTEGER", help=CHUNK_HELP),
        click.option("--brief", is_flag=True, help="By chunks: predictions have the row and the prediction only."),
        click.option("--resume", is_flag=True, help="By chunks: go on from the checkpoint in --out."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def rate_by_chunks(
    report: ProgressReport,
    file: str,
    request: RatingRequest,
    out: Path | None,
    chunk_settings: dict[str, Any],
    top: int,
    as_json: bool,
) -> None:
    """Rate by chunks, and say what came of it. `parts` has the values of the options of `by_chunks`."""
    from jaxrate.league.out_of_core.match_chunks import SUPPORTED_ROLES

    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    others = [
        x
        for x in context.params
        if context.get_parameter_source(x) == given and x not in {*ALLOWED_OPTIONS, *SUPPORTED_ROLES}
    ]
    if others:
        raise ValueError(f"--{others[0].replace('_', '-')} does not go with matches that are rated by chunks")
    if out is None:
        raise ValueError("what is rated by chunks goes into a folder; name one with --out")
    check_folder("--out", out)
    check_system_request(request)
    columns = {name: x for name, x in request.columns.items() if name != "sort"}
    rated_files = _rate_files(
        report, file, request, columns, out, {name: x for name, x in chunk_settings.items() if x is not None}
    )
    for work, seconds in rated_files.seconds.items() if report.verbose else ():
        print_escaped(f"jaxrate: {work}: {seconds:.2f} s", err=True)
    report.note(f"saved the run to {out}")
    board = jr.leaderboard(rated_files.system, rated_files.state, rated_files.players, top=top)
    print_escaped(_json_result(rated_files, board) if as_json else _text_result(rated_files, board))


def _rate_files(
    report: ProgressReport,
    file: str,
    request: RatingRequest,
    columns: dict[str, Any],
    out: Path,
    options: dict[str, Any],
) -> jr.league.RatedFiles:
    from jaxrate.data.parquet_table import find_parquet_table, parquet_source
    from jaxrate.league.out_of_core.match_chunks import resolve_match_roles, table_season_starts
    from jaxrate.league.out_of_core.parquet_rating import read_initial_row_count

    parts = find_parquet_table(file)
    asked_of = {name: x for name, x in columns.items() if name != "season"}
    roles = resolve_match_roles(parts, asked_of)
    looked_at = SAMPLE_ROWS
    if options.get("resume"):  # files that were added change nothing of the system
        looked_at = min(looked_at, read_initial_row_count(out) or looked_at)
    with warnings_as_notes(report):
        first = jr.read(parquet_source(parts, looked_at)._replace(noted=False), sort=roles.time is not None, **asked_of)
    if "season" in columns:
        first = first._replace(seasons=table_season_starts(parts, columns["season"], roles))
    chosen = choose_system(report, request, first, file)
    with report.stage(f"rating {parts.rows:,} matches", parts.rows) as done:
        return jr.league.rate_files(
            chosen.system, parts, out, **asked_of, **options, period=chosen.period, progress=done
        )


def _json_result(rated_files: jr.league.RatedFiles, board: Any) -> str:

    system = rated_files.system
    about = {"system": system.name, "params": system.params._asdict() | system.settings, "period": rated_files.period}
    about |= {"matches": rated_files.matches, "players": len(rated_files.players)} | rated_files.quality
    rows = board.rows()
    return json.dumps(about | {"leaderboard": rows}, indent=1)


def _text_result(rated_files: jr.league.RatedFiles, board: Any) -> str:
    from jaxrate.league.evaluation import format_metric

    measures = {name: format_metric(name, x) for name, x in rated_files.quality.items()}
    width, digits = max(map(len, measures)) + 1, max(map(len, measures.values()))
    took = f"{rated_files.matches:,} matches in {rated_files.seconds['all']:.2f} s, "
    took += "reading, writing and compilation included"
    lines = [took, *(f"{name:<{width}}{x:>{digits}}" for name, x in measures.items())]
    title = f"{rated_files.system.name}: {rated_files.matches:,} matches of {len(rated_files.players):,} players"
    title += "" if rated_files.period is None else f" in periods of {rated_files.period:g}"
    return "\n\n".join([title, str(board), "\n".join(lines)])
