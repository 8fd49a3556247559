"""`jaxrate report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.compare import compare_with_notes
from jaxrate.cli.hyperparameters import hint_scored_on_fitted_data
from jaxrate.cli.input_options import ReadingCommand, read_events
from jaxrate.cli.leaderboard_options import LEADERBOARD_OPTIONS
from jaxrate.cli.output_checks import check_page, title_from_file
from jaxrate.cli.paths import NonEmptyPath
from jaxrate.cli.progress import ProgressReport, report_options
from jaxrate.cli.rate import rate_task
from jaxrate.cli.shared_options import RatingRequest, complete_systems, request_options, share_option
from jaxrate.cli.site import load_display_names, names_option
from jaxrate.cli.smoothed_output import smooth_task
from jaxrate.cli.system_selection import check_system_request, choose_system
from jaxrate.cli.terminal import print_escaped

OTHERS_HELP = "A system to compare with; may be repeated.  [default: a few that `jaxrate systems` names, if they fit]"


@click.command(
    cls=ReadingCommand,
    short_help="Write a page about a file: leaderboard, players, pairs.",
    epilog="Example: jaxrate report games.csv --system glicko2 --out report.html --player Ada",
)
@click.argument("file", metavar="FILE", type=NonEmptyPath())
@request_options(files=True)
@click.option("--out", type=NonEmptyPath(path_type=Path), default=Path("report.html"), show_default=True,
              metavar="FILE.html", help="Write the page there.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=0), default=50, show_default=True,
              help="So many of the best players have pages of their own.")  # fmt: skip
@click.option("--player", "players", multiple=True, metavar="NAME", help="Another who has one; may be repeated.")
@click.option("--compare", "others", multiple=True, shell_complete=complete_systems, metavar="NAME", help=OTHERS_HELP)
@click.option("--title", metavar="TEXT", help="The heading of the page.  [default: the name of FILE, in words]")
@names_option
@LEADERBOARD_OPTIONS[0]
@LEADERBOARD_OPTIONS[1]
@click.option("--smooth", is_flag=True, help="Also show what is known now, by skills: a second line in each picture.")
@share_option("--last", default=0.2, show_default=True, help="Compare by this last share of the matches or contests.")
@report_options
def report(
    report: ProgressReport,
    file: str,
    request: RatingRequest,
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
    """Rate the matches or contests of FILE as `jaxrate rate` does, and write the results as one page of HTML.

    The page is a single file that needs no network: a leaderboard to search and sort, trajectories and matches of the
    best players, what is predicted of any two, calibration, and how other systems do.
    """
    from jaxrate.league.evaluation import format_metric, prediction_calibration
    from jaxrate.league.rated_history import find_player
    from jaxrate.league.system_choice import make_system
    from jaxrate.league.system_comparison import BASELINES
    from jaxrate.site.report_page import load_template
    from jaxrate.site.site_data import display_names

    check_page("--out", out, "report.html")
    load_template()
    check_system_request(request)
    for other in others:
        make_system(other, {})
    data = read_events(report, file, request.columns)
    if names is not None:
        data = data._replace(
            players=np.array(display_names(data.players, load_display_names(names, data.players)), object)
        )
    for player in players:
        find_player(data.players, player)
    task = choose_system(report, request, data, file)
    smoothed = smooth_task(report, task) if smooth else None
    rated, _, metrics = rate_task(report, file, task, changes=request.changes)
    changes_by_system: dict[str, dict[str, Any]] = {name: {} for name in others or BASELINES}
    changes_by_system[rated.system.name] = request.changes
    comparison = compare_with_notes(
        report,
        file,
        task.data,
        changes_by_system,
        is_named=bool(others),
        lengths=(task.period,),
        last=last,
        timed=False,
    )
    hint_scored_on_fitted_data(report, [request.fitted] if request.fitted else [], file, last)
    with report.stage("making the page"):
        page = jr.site.report_html(
            rated,
            title=title or title_from_file(file),
            top=top,
            players=players,
            quality={measure: format_metric(measure, value) for measure, value in metrics.items()},
            calibration=prediction_calibration(rated, task.data),
            comparison=comparison,
            smoothed=smoothed,
            active=active,
            min_games=min_games,
        )
    out.write_text(page, encoding="utf-8")
    print_escaped(f"{out}: {len(rated.players):,} players, {out.stat().st_size / 1e6:.1f} MB; open it in a browser")
