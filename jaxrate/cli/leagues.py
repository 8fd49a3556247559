"""`jaxrate rate --by`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.choosing import check_asked, choose, naming
from jaxrate.cli.lists import as_options
from jaxrate.cli.options import Asked
from jaxrate.cli.outputs import check_folder
from jaxrate.cli.progress import Report
from jaxrate.cli.reading import are_parts, is_shipped, read
from jaxrate.cli.terminal import say
from jaxrate.text import near

LONGEST = 100  # bytes of the name of a folder
RESERVED = re.compile(r"con|prn|aux|nul|(com|lpt)\d", re.IGNORECASE)  # names that Windows keeps for devices
FOREIGN = {
    "state", "as_of", "player", "against", "upsets", "csv", "csv_safe", "smooth", "outlook", "since", "peaks", "last",
    "chunk", "brief", "resume", "format",
}  # fmt: skip


def rate_leagues(
    report: Report, file: str, asked: Asked, by: str, out: Path | None, top: int, listed: dict[str, Any], as_json: bool
) -> None:
    """Rate each league of a file alone, and print and save them one by one."""
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    if others := [x for x in context.params if x in FOREIGN and context.get_parameter_source(x) == given]:
        raise ValueError(f"--{others[0].replace('_', '-')} does not go with --by")
    if out is not None:
        check_folder("--out", out)
    check_asked(asked)
    data = read(report, file, asked.columns)
    league = _column(file, by)
    chosen = choose(report, asked, data, file)
    with report.stage("rating leagues"), naming(file):
        found = jr.rate_each(chosen.system, chosen.data, league, period=chosen.period)
    boards = {name: jr.leaderboard(rated, top=top, **listed) for name, rated in found.items()}
    if out is not None:
        with report.stage(f"writing {out}"):
            folders = _folders([*found])
            for name, rated in found.items():
                folder = out / folders[name]
                folder.mkdir(parents=True, exist_ok=True)
                jr.save(folder, rated._replace(options={"columns": asked.columns}))
            jr.write(_together(by, found), out / "leagues.parquet")
        report.note(f"saved {len(found):,} runs to {out}")
    if as_json:
        say(json.dumps([_plain(by, name, found[name], board) for name, board in boards.items()], indent=1, default=str))
        return
    titles = (f"{name}: {_counted(rated)} of {len(rated.players):,} players" for name, rated in found.items())
    parts = zip(titles, boards.values(), strict=True)
    say("\n\n".join([chosen.system.name, *(f"{title}\n\n{as_options(board)}" for title, board in parts)]))


def _column(file: str, by: str) -> Any:
    """[N] the values of a column of the file."""
    from jaxrate.data.parts import find_parts, source_of
    from jaxrate.data.tables import located, open_source

    parts = source_of(find_parts(file)) if are_parts(file) else file
    source = open_source(jr.datasets.nfl_columns() if is_shipped(file) else parts)
    with located(source.title, source.where):
        if by not in source.names:
            raise ValueError(f"--by: no column {by!r}{near(by, source.names)}")
        values = source.load([by], [by], [])[by]
    return values.to_pylist() if hasattr(values, "to_pylist") else values


def _folders(names: list[Any]) -> dict[Any, str]:
    """A folder for each league, of letters, digits and dashes; those alike are numbered, long ones cut."""
    folders: dict[Any, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^\w-]+", "_", str(name)).strip("_").encode()[:LONGEST].decode(errors="ignore") or "league"
        plain = folder = f"{plain}_" if RESERVED.fullmatch(plain) else plain
        while folder.lower() in taken:
            folder = f"{plain}_{len(taken) + 1}"
        taken.add(folder.lower())
        folders[name] = folder
    return folders


def _together(by: str, found: dict[Any, jr.Rated]) -> dict[str, Any]:
    """The ratings of all leagues, with a column of the league."""
    tables = [jr.rating_table(rated) for rated in found.values()]
    league = np.repeat([str(name) for name in found], [len(rated.players) for rated in found.values()])
    return {by: league} | {name: np.concatenate([table[name] for table in tables]) for name in tables[0] if name != by}


def _counted(rated: jr.Rated) -> str:
    return f"{len(rated.predictions):,} matches" if rated.contests is None else f"{rated.contests:,} contests"


def _plain(by: str, name: Any, rated: jr.Rated, board: Any) -> dict[str, Any]:
    """What JSON can say of a league."""
    rows = board.rows()
    counts = {"matches": len(rated.predictions)} if rated.contests is None else {"contests": rated.contests}
    return {by: name, "system": rated.system.name} | counts | {"players": len(rated.players), "leaderboard": rows}
