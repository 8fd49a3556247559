"""`jaxrate demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.output_checks import check_file
from jaxrate.cli.paths import NonEmptyPath
from jaxrate.cli.progress import ProgressReport, report_options
from jaxrate.cli.simulated_demo import DEFAULT_MATCHES, DEFAULT_PLAYERS, show_simulated
from jaxrate.cli.terminal import print_escaped
from jaxrate.text_format import format_table

TEAMS = ("Chicago Bears", "Green Bay Packers", "San Francisco 49ers", "New England Patriots", "Kansas City Chiefs")
HOME_ADVANTAGE = 65.0  # points that home is worth where newcomers begin at 1500, and in proportion elsewhere
SEASON_DAYS = 200.0  # days, about


@click.command(
    short_help="Every system on a hundred seasons of the NFL.",
    epilog="Example: jaxrate demo --simulated --players 1000 --matches 50000",
)
@click.option("--picture", type=NonEmptyPath(dir_okay=False, path_type=Path), default=Path("nfl.png"),
              show_default=True, metavar="FILE.png", help="Draw some teams through time there.")  # fmt: skip
@click.option("--simulated", is_flag=True, help="A league of known strengths instead, beside the truth.")
@click.option("--players", type=click.IntRange(min=2), help=f"Of the simulated league.  [default: {DEFAULT_PLAYERS}]")
@click.option("--matches", type=click.IntRange(min=1), help=f"Of the simulated league.  [default: {DEFAULT_MATCHES}]")
@click.option("--seed", type=click.IntRange(min=0), help="Of the simulated league.  [default: 0]")
@report_options
def demo(
    report: ProgressReport, picture: Path, simulated: bool, players: int | None, matches: int | None, seed: int | None
) -> None:
    """Rate every match of the National Football League, 1920 to 2021, by every system that rates matches.

    Prints how well each predicted them and how the teams stood at the end, and draws a picture. With --simulated, rates
    a league of known strengths, and says how near each system comes to them.
    """
    from jaxrate.data.table_sources import import_pyarrow

    if simulated:
        show_simulated(report, players or DEFAULT_PLAYERS, matches or DEFAULT_MATCHES, seed or 0)
        return
    for name, value in (("players", players), ("matches", matches), ("seed", seed)):
        if value is not None:
            raise ValueError(f"--{name} goes with --simulated")
    if picture.suffix not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--picture {picture}: the name must end in .png, .pdf or .svg")
    check_file("--picture", picture, "nfl.png")
    import_pyarrow()  # raises its ImportError before rating
    data = jr.data.datasets.nfl()
    best = _compare_systems(report, data)
    with report.stage(f"rating by {best.name}"):
        rated = jr.rate(best, data)
    last = float(data.matches.time[-1])
    playing = data.players[np.unique(data.matches.player[data.matches.time > last - SEASON_DAYS])]
    print_escaped(
        f"\nThe {len(playing)} teams that still play, by {best.name}, as of {np.datetime64(int(last), 'D')}:\n"
    )
    print_escaped(jr.leaderboard(rated, among=playing, top=len(playing)))
    with report.stage("drawing"):
        was_drawn = _draw_careers(rated, playing, picture)
    if was_drawn:
        print_escaped(f"\n{picture} shows the {TEAMS[0]} and others through their seasons.")
    else:
        report.note("a picture would need matplotlib: pip install 'jaxrate[plot]'")


def _compare_systems(report: ProgressReport, data: jr.data.Dataset) -> jr.extend.RatingSystem:
    """Print how well each system predicts the matches; return the best of those that have deviations."""
    from jaxrate.league.comparison_candidates import select_candidates

    home = {name: _side_advantage_overrides(new().params) for name, new in jr.extend.SYSTEMS.items()}
    fitting, _ = select_candidates(data, home, is_named=False)
    with report.stage(f"rating by {len(fitting)} systems", 1.0) as update_progress:
        comparison = jr.compare(data, fitting, watch=update_progress)
    published = jr.metrics.match_metrics(jr.data.datasets.nfl_forecast(), data.matches.score)
    qualities = [(result.name, result.quality) for result in comparison.results] + [("(FiveThirtyEight)", published)]
    rows = [(name, f"{quality['log loss']:.4f}", f"{quality['accuracy']:.1%}") for name, quality in qualities]
    counts = f"{len(data.rows):,} matches of {len(data.players)} teams"
    print_escaped(f"The NFL from 1920 to 2021: {counts}, each predicted before it was played.\n")
    print_escaped(format_table(["system", "log loss", "accuracy"], rows))
    print_escaped(
        "\nThe lower the log loss, the better: a coin has 0.6931. Home is worth 65 points, and all else is left as it\n"
        "is by default. Last stand the forecasts that FiveThirtyEight published, which also know margins and seasons."
    )
    systems = (result.system for result in comparison.results)
    return next(x for x in systems if jr.ratings(x, x.init(x.params, 1)).deviation is not None)


def _side_advantage_overrides(params: Any) -> dict[str, float]:
    """The home advantage as a hyperparameter of a system; none if it has no side advantage."""
    if "side_advantage" not in params._fields:
        return {}
    return {"side_advantage": HOME_ADVANTAGE * getattr(params, "initial_rating", 1500.0) / 1500.0}


def _draw_careers(rated: jr.Rated, playing: Any, picture: Path) -> bool:
    """Whether there is matplotlib to do it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(10.0, 5.5), layout="constrained")
    ax = jr.plots.careers(rated, TEAMS, others=playing, step=365.25, ax=figure.subplots())
    ax.set_title(f"The NFL by {rated.system.name}: every team of today, after each season", loc="left")
    ax.set_xlabel("")
    figure.savefig(picture, dpi=150)
    return True
