"""`jaxrate site`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.lists import OPTIONS
from jaxrate.cli.outputs import check_folder
from jaxrate.cli.paths import PathName
from jaxrate.cli.progress import Report, noting, reporting
from jaxrate.cli.terminal import say
from jaxrate.text import cell

LOOKED_AT = 100  # rows of --file, whether they are those that were rated

EXAMPLES = """\b
Examples:
  jaxrate rate games.csv --out season
  jaxrate site season --out public --title "Our league"
  jaxrate site season --out public --file games.csv --show venue --points home_goals away_goals
  jaxrate site season --out public --coming july.csv --season --results june.csv"""

names_option = click.option("--names", metavar="FILE", type=PathName(path_type=Path),
                            help="A table of what players are called: columns id and name.")  # fmt: skip


@click.command(short_help="Write a site about a saved run: leaderboard, every player, pairs.", epilog=EXAMPLES)
@click.argument("run", metavar="RUN", type=PathName(path_type=Path))
@click.option("--out", required=True, type=PathName(path_type=Path), metavar="FOLDER", help="Write the site there.")
@click.option("--title", default="Ratings", show_default=True, metavar="TEXT", help="The name of the site.")
@click.option("--description", metavar="TEXT", help="A sentence for search engines and previews.")
@names_option
@click.option("--file", metavar="FILE", type=PathName(path_type=Path), help="The file that was rated, for --show.")
@click.option("--show", multiple=True, metavar="COLUMN", help="A column of --file to be shown; may be repeated.")
@click.option("--points", nargs=2, metavar="COLUMN COLUMN",
              help="Columns of --file: points of the first and the second player.")  # fmt: skip
@click.option("--coming", metavar="FILE", type=PathName(), help="Matches to come, columns as of those rated.")
@click.option("--season", "seasonal", is_flag=True, help="With --coming: also play them out, as jaxrate season does.")
@click.option("--results", metavar="FILE", type=PathName(), help="With --season: its matches so far.")
@click.option("--relegated", type=click.IntRange(min=0), default=0, metavar="NUMBER",
              help="With --season: so many go down.")  # fmt: skip
@OPTIONS[0]
@OPTIONS[1]
@reporting
def site(
    report: Report,
    run: Path,
    out: Path,
    title: str,
    description: str | None,
    names: Path | None,
    file: Path | None,
    show: tuple[str, ...],
    points: tuple[str, str] | None,
    coming: str | None,
    seasonal: bool,
    results: str | None,
    relegated: int,
    active: Any,
    min_games: int | None,
) -> None:
    """Write what `jaxrate rate --out RUN` saved as a site, for any host of plain files.

    There is a leaderboard of current players and of all, a page for every player, what is expected of any two, how good
    the predictions were, and what a rating is. The site needs no other host; index.html also opens in a browser. Of a
    run that was saved with --smooth charts also show what is known now.
    """
    from jaxrate.records.site.pages import check_site

    check_folder("--out", out)
    with _said_of("--out "):
        check_site(out)
    if seasonal and coming is None:
        raise ValueError("--season plays the matches of --coming FILE")
    if (results or relegated) and not seasonal:
        raise ValueError("--results and --relegated go with --season")
    if (show or points) and file is None:
        raise ValueError("--show and --points name columns of --file FILE")
    rated = jr.load(run)
    names_of = {} if names is None else called(names, rated.players)
    wanted = dict.fromkeys([*show, *(points or ())])
    columns = columns_of(file, list(wanted), rated) if file is not None else {}
    for name in points or ():
        if columns[name].dtype.kind not in "iuf":
            raise ValueError(f"--points: column {name!r} of {file} holds no numbers, but {cell(columns[name][0])}")
    with noting(report):
        fixtures = None if coming is None else jr.fixtures(rated, coming)
        season = jr.season(rated, coming, results=results, relegated=relegated) if seasonal else None
    with report.stage(f"writing {len(rated.players):,} pages"):
        jr.site(
            rated,
            out,
            title=title,
            description=description,
            names=names_of,
            columns={name: columns[name] for name in show},
            points=(columns[points[0]], columns[points[1]]) if points else None,
            smoothed=_hindsight(run),
            coming=fixtures,
            season=season,
            active=active,
            min_games=min_games,
        )
    say(f"{out}: {len(rated.players):,} players; open {out / 'index.html'} in a browser, or copy the folder to a host")


def _hindsight(run: Path) -> dict[str, Any] | None:
    """What `jaxrate rate --smooth` saved beside the run, if it did."""
    for name in ("hindsight.parquet", "hindsight.csv"):
        if (run / name).exists():
            wanted = ["score", "rating_a", "deviation_a", "rating_b", "deviation_b"]
            return dict(zip(wanted, _loaded(run / name, wanted), strict=True))
    return None


def _loaded(file: Path, names: list[str], *, text: bool = False) -> list[np.ndarray[Any, Any]]:
    """Columns of a file, of a CSV as they are written there if as text; ValueError if it lacks one."""
    from jaxrate.data.tables import open_file
    from jaxrate.text import near

    source = open_file(file)
    for name in names:
        if name not in source.names:
            raise ValueError(f"{file.name}: no column {name!r}{near(name, source.names)}")
    loaded = source.load(names, names if text else (), ())
    return [loaded[name].to_numpy() for name in names]


def called(file: Path, players: Any) -> dict[Any, str]:
    """What players are called, by what they are called in the events."""
    with _said_of("--names: "):
        ids, names = _loaded(file, ["id", "name"], text=True)
    found = {str(x): str(name) for x, name in zip(ids.tolist(), names.tolist(), strict=True) if name is not None}
    known = {x: found[str(x)] for x in players.tolist() if str(x) in found}
    if not known:
        raise ValueError(f"--names: {file.name}: none of its ids is a player, such as {players[0]!r}")
    return known


def columns_of(file: Path, names: list[str], rated: jr.Rated) -> dict[str, Any]:
    """[n] values of the columns for each row of the predictions."""
    if not names:
        return {}
    with _said_of("--file: "):
        rows, loaded = rated.predictions["row"].to_numpy(), _loaded(file, names)
    if len(np.unique(rows)) < len(rows) or rows.max(initial=0) >= len(loaded[0]):
        raise ValueError(f"{file.name} is not the only file of the run: rate all its rows at once, or leave out --show")
    _check_rows(file, rated)
    return {name: values[rows] for name, values in zip(names, loaded, strict=True)}


def _check_rows(file: Path, rated: jr.Rated) -> None:
    """ValueError if none of some rows of the file names the players that were rated in it."""
    from jaxrate.data.tables import open_file

    some = np.unique(np.linspace(0, len(rated.predictions) - 1, LOOKED_AT).astype(int))
    sides = [name for name in ("a", "b", "player") if name in rated.predictions.column_names]
    told = rated.predictions.select(["row", *sides]).take(some).to_pylist()
    names = list(open_file(file).names)
    columns = [*_loaded(file, names), *_loaded(file, names, text=True)]  # who is "007" is no number
    for row in told:
        there = {_folded(x[row["row"]]) for x in columns}
        if all(any(x == who or (len(x) > 2 and x in who) for x in there) for who in (_folded(row[x]) for x in sides)):
            return
    who = " and ".join(cell(told[0][x]) for x in sides)
    raise ValueError(f"--file: {file.name} is not what was rated: its row {told[0]['row']} should be of {who}")


def _folded(value: Any) -> str:
    """As names are compared, whatever their case and blanks; formats make them of several columns."""
    return " ".join(str(value).casefold().split())


@contextmanager
def _said_of(option: str) -> Iterator[None]:
    """A ValueError says which option it is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{option}{error}") from None
