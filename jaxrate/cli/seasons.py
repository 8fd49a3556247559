"""`jaxrate season` and `jaxrate tournament`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.options import whole
from jaxrate.cli.paths import PathName
from jaxrate.cli.progress import Report, noting, reporting
from jaxrate.cli.reading import Reading, columns
from jaxrate.cli.terminal import say

SEASON = """\b
Examples:
  jaxrate season run to_come.csv --results so_far.csv --relegated 3
  jaxrate season run to_come.csv --points 2 1 0 --ties head_to_head --ties wins"""

TOURNAMENT = """\b
Example: jaxrate tournament run cup.toml, where cup.toml holds
\b
  knockout = ["A1", "B2", "B1", "A2"]
  [groups]
  A = ["Ada", "Bo", "Cy"]
  B = ["Di", "Eve", "Flo"]"""


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    options = (
        click.option("--samples", type=whole, default="10000", show_default=True, metavar="NUMBER",
                     help="Play it so often."),
        click.option("--seed", type=int, default=0, show_default=True, help="Of the random numbers."),
        click.option("--newcomers", is_flag=True, help="Names that the run does not have are new players."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    )  # fmt: skip
    decorated: Any = command
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


@click.command(cls=Reading, short_help="Say how a season may end, from a saved run.", epilog=SEASON)
@click.argument("run", metavar="RUN", type=PathName(path_type=Path))
@click.argument("file", metavar="FIXTURES", type=PathName())
@columns
@click.option("--results", type=PathName(), metavar="FILE", help="The matches of this season that have been played.")
@click.option("--points", type=float, nargs=3, default=(3.0, 1.0, 0.0), show_default=True, metavar="WIN DRAW LOSS",
              help="What each gives.")  # fmt: skip
@click.option("--ties", type=click.Choice(("wins", "head_to_head")), multiple=True,
              help="What tells equals apart; may be repeated.  [default: wins, head_to_head]")  # fmt: skip
@click.option("--relegated", type=click.IntRange(min=0), default=0, show_default=True, help="So many go down.")
@_shared
@reporting
def season(
    report: Report, run: Path, file: str, options: dict[str, Any], results: str | None,
    points: tuple[float, float, float], ties: tuple[str, ...], relegated: int, samples: int, seed: int,
    newcomers: bool, as_json: bool,
) -> None:  # fmt: skip
    """Play the matches in FIXTURES many times, as the saved run expects them, on top of the results so far.

    Each time everybody has one strength, drawn from their rating and its deviation. Prints the expected points, and the
    chances to win and to be relegated.
    """
    import jax

    rated = jr.load(run)
    more: dict[str, Any] = {"ties": ties} if ties else {}
    with report.stage(f"playing {samples:,} seasons"), noting(report):
        found = jr.season(
            rated, file, results=results, points=points, relegated=relegated, samples=samples,
            key=jax.random.key(seed), newcomers=newcomers, **more, **options,
        )  # fmt: skip
    say(json.dumps(found.columns().rows(), indent=1) if as_json else found)


@click.command(short_help="Say how a tournament of groups and a knock-out may end.", epilog=TOURNAMENT)
@click.argument("run", metavar="RUN", type=PathName(path_type=Path))
@click.argument("plan", metavar="PLAN.toml", type=PathName(path_type=Path))
@_shared
@reporting
def tournament(
    report: Report, run: Path, plan: Path, samples: int, seed: int, newcomers: bool, as_json: bool
) -> None:  # fmt: skip
    """Play the tournament in PLAN.toml many times, as the saved run expects its matches.

    The plan has groups, in which everybody meets everybody else, and a knock-out: who meets whom, where "A1" is the
    winner of group A, other names are players, and "" is a bye. It may have rounds, points and ties of the groups, and
    best = [3, 8], which lets the best eight of third places go on as best1 to best8.
    """
    import jax

    with report.stage(f"playing {samples:,} tournaments"):
        found = jr.tournament(
            jr.load(run), plan, samples=samples, key=jax.random.key(seed), newcomers=newcomers
        )  # fmt: skip
    say(json.dumps(found.columns().rows(), indent=1) if as_json else found)
