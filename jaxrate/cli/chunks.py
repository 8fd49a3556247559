"""`jaxrate rate` of a folder of Parquet files, or by chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.choosing import check_asked, choose
from jaxrate.cli.options import Asked, whole
from jaxrate.cli.outputs import check_folder
from jaxrate.cli.progress import Report, noting
from jaxrate.cli.terminal import say

LOOKED_AT = 100_000  # rows, from which it is told what the system must know, and how large margins are
OWN = "chunk", "brief", "resume"
TAKEN = {*OWN, "file", "name", "params", "fit", "out", "top", "as_json", "sort", "quiet", "verbose", "period"}
TAKEN |= {"margin", "statistics", "shares", "covariates", "columns", "season"}
CHUNK = (
    "Rate Parquet by chunks of so many matches, in bounded memory, into --out. Folders of Parquet files, and patterns, "
)
CHUNK += "are rated so anyway.  [default: 1048576]"


def by_chunks(command: Any) -> Any:
    """Options --chunk, --brief and --resume."""
    options = [
        click.option("--chunk", type=whole, metavar="INTEGER", help=CHUNK),
        click.option("--brief", is_flag=True, help="By chunks: predictions have the row and the prediction only."),
        click.option("--resume", is_flag=True, help="By chunks: go on from the checkpoint in --out."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def rate_parts(
    report: Report, file: str, asked: Asked, out: Path | None, parts: dict[str, Any], top: int, as_json: bool
) -> None:
    """Rate by chunks, and say what came of it. `parts` has the values of the options of `by_chunks`."""
    from jaxrate.data.streams import ROLES

    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    others = [x for x in context.params if context.get_parameter_source(x) == given and x not in {*TAKEN, *ROLES}]
    if others:
        raise ValueError(f"--{others[0].replace('_', '-')} does not go with matches that are rated by chunks")
    if out is None:
        raise ValueError("what is rated by chunks goes into a folder; name one with --out")
    check_folder("--out", out)
    check_asked(asked)
    columns = {name: x for name, x in asked.columns.items() if name != "sort"}
    found = _rated(report, file, asked, columns, out, {name: x for name, x in parts.items() if x is not None})
    for work, seconds in found.seconds.items() if report.verbose else ():
        say(f"jaxrate: {work}: {seconds:.2f} s", err=True)
    report.note(f"saved the run to {out}")
    board = jr.leaderboard(found.system, found.state, found.players, top=top)
    say(_as_json(found, board) if as_json else _as_text(found, board))


def _rated(
    report: Report, file: str, asked: Asked, columns: dict[str, Any], out: Path, options: dict[str, Any]
) -> jr.RatedFiles:
    from jaxrate.data.parts import find_parts, source_of
    from jaxrate.data.streams import roles_in, seasons_in
    from jaxrate.records.files import rows_at_first

    parts = find_parts(file)
    asked_of = {name: x for name, x in columns.items() if name != "season"}
    roles = roles_in(parts, asked_of)
    looked_at = LOOKED_AT
    if options.get("resume"):  # files that were added change nothing of the system
        looked_at = min(looked_at, rows_at_first(out) or looked_at)
    with noting(report):
        first = jr.read(source_of(parts, looked_at)._replace(noted=False), sort=roles.time is not None, **asked_of)
    if "season" in columns:
        first = first._replace(seasons=seasons_in(parts, columns["season"], roles))
    chosen = choose(report, asked, first, file)
    with report.stage(f"rating {parts.rows:,} matches", parts.rows) as done:
        return jr.rate_files(chosen.system, parts, out, **asked_of, **options, period=chosen.period, progress=done)


def _as_json(found: jr.RatedFiles, board: Any) -> str:

    system = found.system
    told = {"system": system.name, "params": system.params._asdict() | system.settings, "period": found.period}
    told |= {"matches": found.matches, "players": len(found.players)} | found.quality
    rows = board.rows()
    return json.dumps(told | {"leaderboard": rows}, indent=1)


def _as_text(found: jr.RatedFiles, board: Any) -> str:
    from jaxrate.records.quality import in_words

    measures = {name: in_words(name, x) for name, x in found.quality.items()}
    width, digits = max(map(len, measures)) + 1, max(map(len, measures.values()))
    took = f"{found.matches:,} matches in {found.seconds['all']:.2f} s, reading, writing and compilation included"
    lines = [took, *(f"{name:<{width}}{x:>{digits}}" for name, x in measures.items())]
    title = f"{found.system.name}: {found.matches:,} matches of {len(found.players):,} players"
    title += "" if found.period is None else f" in periods of {found.period:g}"
    return "\n\n".join([title, str(board), "\n".join(lines)])
