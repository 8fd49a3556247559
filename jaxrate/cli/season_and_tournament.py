"""`jaxrate season` and `jaxrate tournament`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.input_options import ReadingCommand, reading_options
from jaxrate.cli.paths import NonEmptyPath
from jaxrate.cli.progress import ProgressReport, report_options, warnings_as_notes
from jaxrate.cli.shared_options import parse_whole_number
from jaxrate.cli.terminal import print_escaped

SEASON_HELP = """\b
Examples:
  jaxrate season run to_come.csv --results so_far.csv --relegated 3
  jaxrate season run to_come.csv --points 2 1 0 --ties head_to_head --ties wins"""

TOURNAMENT_HELP = """\b
Example: jaxrate tournament run cup.toml, where cup.toml holds
\b
  knockout = ["A1", "B2", "B1", "A2"]
  [groups]
  A = ["Ada", "Bo", "Cy"]
  B = ["Di", "Eve", "Flo"]"""


def _simulation_options(command: Callable[..., None]) -> Callable[..., None]:
    options = (
        click.option("--samples", type=parse_whole_number, default="10000", show_default=True, metavar="NUMBER",
                     help="Play it so often."),
        click.option("--seed", type=int, default=0, show_default=True, help="Of the random numbers."),
        click.option("--newcomers", is_flag=True, help="Names that the run does not have are new players."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    )  # fmt: skip
    decorated: Any = command
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


@click.command(cls=ReadingCommand, short_help="Say how a season may end, from a saved run.", epilog=SEASON_HELP)
@click.argument("run", metavar="RUN", type=NonEmptyPath(path_type=Path))
@click.argument("file", metavar="FIXTURES", type=NonEmptyPath())
@reading_options()
@click.option(
    "--results", type=NonEmptyPath(), metavar="FILE", help="The matches of this season that have been played."
)
@click.option("--points", type=float, nargs=3, default=(3.0, 1.0, 0.0), show_default=True, metavar="WIN DRAW LOSS",
              help="What each gives.")  # fmt: skip
@click.option("--ties", type=click.Choice(("wins", "head_to_head")), multiple=True,
              help="What tells equals apart; may be repeated.  [default: wins, head_to_head]")  # fmt: skip
@click.option("--relegated", type=click.IntRange(min=0), default=0, show_default=True, help="So many go down.")
@_simulation_options
@report_options
def season(
    report: ProgressReport, run: Path, file: str, options: dict[str, Any], results: str | None,
    points: tuple[float, float, float], ties: tuple[str, ...], relegated: int, samples: int, seed: int,
    newcomers: bool, as_json: bool,
) -> None:  # fmt: skip
    """Play the matches in FIXTURES many times, as the saved run expects them, on top of the results so far.

    Each time everybody has one strength, drawn from their rating and its deviation. Prints the expected points, and the
    chances to win and to be relegated.
    """
    import jax

    rated = jr.load(run)
    settings: dict[str, Any] = {"ties": ties} if ties else {}
    with report.stage(f"playing {samples:,} seasons"), warnings_as_notes(report):
        season_forecast = jr.forecasts.simulate_season(
            rated, file, results=results, points=points, relegated=relegated, samples=samples,
            key=jax.random.key(seed), newcomers=newcomers, **settings, **options,
        )  # fmt: skip
    print_escaped(json.dumps(season_forecast.columns().to_records(), indent=1) if as_json else season_forecast)


@click.command(short_help="Say how a tournament of groups and a knock-out may end.", epilog=TOURNAMENT_HELP)
@click.argument("run", metavar="RUN", type=NonEmptyPath(path_type=Path))
@click.argument("plan", metavar="PLAN.toml", type=NonEmptyPath(path_type=Path))
@_simulation_options
@report_options
def tournament(
    report: ProgressReport, run: Path, plan: Path, samples: int, seed: int, newcomers: bool, as_json: bool
) -> None:  # fmt: skip
    """Play the tournament in PLAN.toml many times, as the saved run expects its matches.

    The plan has groups, in which everybody meets everybody else, and a knock-out: who meets whom, where "A1" is the
    winner of group A, other names are players, and "" is a bye. It may have rounds, points and ties of the groups, and
    best = [3, 8], which lets the best eight of third places go on as best1 to best8.
    """
    import jax

    with report.stage(f"playing {samples:,} tournaments"):
        tournament_forecast = jr.forecasts.simulate_tournament(
            jr.load(run), plan, samples=samples, key=jax.random.key(seed), newcomers=newcomers
        )  # fmt: skip
    print_escaped(json.dumps(tournament_forecast.columns().to_records(), indent=1) if as_json else tournament_forecast)
