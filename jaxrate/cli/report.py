"""`jaxrate report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.choosing import check_asked, choose
from jaxrate.cli.compare import compared
from jaxrate.cli.hindsight import smoothed_of
from jaxrate.cli.hyperparameters import hint_seen
from jaxrate.cli.lists import OPTIONS
from jaxrate.cli.options import Asked, asking, complete_systems, share_option
from jaxrate.cli.outputs import check_page, titled
from jaxrate.cli.paths import PathName
from jaxrate.cli.progress import Report, reporting
from jaxrate.cli.rate import rate_chosen
from jaxrate.cli.reading import Reading, read
from jaxrate.cli.site import called, names_option
from jaxrate.cli.terminal import say

OTHERS = "A system to compare with; may be repeated.  [default: a few that `jaxrate systems` names, if they fit]"


@click.command(
    cls=Reading,
    short_help="Write a page about a file: leaderboard, players, pairs.",
    epilog="Example: jaxrate report games.csv --system glicko2 --out report.html --player Ada",
)
@click.argument("file", metavar="FILE", type=PathName())
@asking(files=True)
@click.option("--out", type=PathName(path_type=Path), default=Path("report.html"), show_default=True,
              metavar="FILE.html", help="Write the page there.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=0), default=50, show_default=True,
              help="So many of the best players have pages of their own.")  # fmt: skip
@click.option("--player", "players", multiple=True, metavar="NAME", help="Another who has one; may be repeated.")
@click.option("--compare", "others", multiple=True, shell_complete=complete_systems, metavar="NAME", help=OTHERS)
@click.option("--title", metavar="TEXT", help="The heading of the page.  [default: the name of FILE, in words]")
@names_option
@OPTIONS[0]
@OPTIONS[1]
@click.option("--smooth", is_flag=True, help="Also show what is known now, by skills: a second line in each picture.")
@share_option("--last", default=0.2, show_default=True, help="Compare by this last share of the matches or contests.")
@reporting
def report(
    report: Report,
    file: str,
    asked: Asked,
    out: Path,
    top: int,
    players: tuple[str, ...],
    others: tuple[str, ...],
    title: str | None,
    names: Path | None,
    active: Any,
    min_games: int | None,
    smooth: bool,
    last: float,
) -> None:
    """Rate the matches or contests of FILE as `jaxrate rate` does, and write what came of it as one page of HTML.

    The page is a single file that needs no network: a leaderboard to search and sort, trajectories and matches of the
    best players, what is predicted of any two, calibration, and how other systems do.
    """
    from jaxrate.records.quality import calibrated, in_words
    from jaxrate.records.rated import find
    from jaxrate.records.report import installed
    from jaxrate.records.site.told import shown_names
    from jaxrate.systems.choosing import make, those_with

    check_page("--out", out, "report.html")
    installed()
    check_asked(asked)
    for other in others:
        make(other, {})
    data = read(report, file, asked.columns)
    if names is not None:
        data = data._replace(players=np.array(shown_names(data.players, called(names, data.players)), object))
    for player in players:
        find(data.players, player)
    chosen = choose(report, asked, data, file)
    smoothed = smoothed_of(report, chosen) if smooth else None
    rated, _, how = rate_chosen(report, file, chosen, changes=asked.changes)
    versus: dict[str, dict[str, Any]] = {name: {} for name in others or those_with("baseline")}
    versus[rated.system.name] = asked.changes
    comparison = compared(
        report, file, chosen.data, versus, named=bool(others), lengths=(chosen.period,), last=last, timed=False
    )
    hint_seen(report, [asked.fitted] if asked.fitted else [], file, last)
    with report.stage("making the page"):
        page = jr.report(
            rated,
            title=title or titled(file),
            top=top,
            players=players,
            quality={measure: in_words(measure, value) for measure, value in how.items()},
            calibration=calibrated(rated, chosen.data),
            comparison=comparison,
            smoothed=smoothed,
            active=active,
            min_games=min_games,
        )
    out.write_text(page, encoding="utf-8")
    say(f"{out}: {len(rated.players):,} players, {out.stat().st_size / 1e6:.1f} MB; open it in a browser")
