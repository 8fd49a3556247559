"""`jaxrate season` and `jaxrate tournament`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.help_pages import HelpCommand
from jaxrate.cli.input_options import (
    FIXTURE_OPTIONS,
    VariadicColumnOptionsCommand,
    newcomers_option,
    reading_options,
)
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.output_path_checks import NonEmptyPath
from jaxrate.cli.shared_options import parse_whole_number, split_reading_options
from jaxrate.cli.terminal_tables import (
    ProgressReport,
    name_teams,
    print_escaped,
    print_sections,
    report_options,
    to_text_table,
    warnings_as_notes,
)
from jaxrate.core.text_format import format_percentage

GROUPS = {
    "Season": ("results", "points", "ties", "relegated"),
    "Simulation": ("samples", "seed", "newcomers"),
}


def _simulation_options(command: Callable[..., None]) -> Callable[..., None]:
    options = (
        click.option("--samples", type=parse_whole_number, default="10000", show_default=True, metavar="NUMBER",
                     help="Number of simulations."),
        click.option("--seed", type=int, default=0, show_default=True, metavar="NUMBER", help="Random seed."),
        newcomers_option,
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    )  # fmt: skip
    decorated: Any = command
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


@click.command(
    cls=VariadicColumnOptionsCommand,
    groups=GROUPS,
    examples=(
        "jaxrate season run to_come.csv --results so_far.csv --relegated 3",
        "jaxrate season run to_come.csv --points 2 1 0 --ties head_to_head",
    ),
)
@click.argument("run", metavar="RUN", type=NonEmptyPath(path_type=Path))
@click.argument("file", metavar="FIXTURES", type=NonEmptyPath())
@reading_options(FIXTURE_OPTIONS)
@click.option("--results", type=NonEmptyPath(), metavar="FILE", help="The matches of the season played so far.")
@click.option("--points", type=float, nargs=3, default=(3.0, 1.0, 0.0), metavar="WIN DRAW LOSS",
              help="Points for a win, a draw and a loss.  [default: 3 1 0]")  # fmt: skip
@click.option("--ties", type=click.Choice(("wins", "head_to_head", "goal_difference", "goals")), multiple=True,
              metavar="RULE", help="Tie-break: wins, head_to_head, goal_difference or goals; may be repeated.  "
              "[default: wins, then head_to_head; if the run learned from goals goal_difference, goals, "
              "head_to_head]")  # fmt: skip
@click.option("--relegated", type=click.IntRange(min=0), default=0, show_default=True, metavar="NUMBER",
              help="Number relegated.")  # fmt: skip
@_simulation_options
@report_options
def season(
    report: ProgressReport, run: Path, file: str, options: dict[str, Any], results: str | None,
    points: tuple[float, float, float], ties: tuple[str, ...], relegated: int, samples: int, seed: int,
    newcomers: bool, as_json: bool,
) -> None:  # fmt: skip
    """Simulate the matches in FIXTURES many times from a saved run, on top of the results so far.

    Every simulation draws each player's strength from their rating and its uncertainty. Prints the expected points, and
    the chances to win and to be relegated. A run that learned from goals plays each match to a score.
    """
    import jax

    rated, options = split_reading_options(jr.load(run), options)
    settings: dict[str, Any] = {"ties": ties} if ties else {}
    with report.stage(f"simulating {samples:,} seasons"), warnings_as_notes(report):
        season_forecast = jr.forecasts.simulate_season(
            rated, file, results=results, points=points, relegated=relegated, samples=samples,
            key=jax.random.key(seed), newcomers=newcomers, **settings, **options,
        )  # fmt: skip
    _print_forecast(season_forecast, "seasons", rated, as_json)


@click.command(
    cls=HelpCommand,
    groups=GROUPS,
    examples=(
        "jaxrate tournament run cup.toml",
        "where cup.toml holds",
        '  knockout = ["A1", "B2", "B1", "A2"]',
        "  [groups]",
        '  A = ["Ada", "Bo", "Cy"]',
        '  B = ["Di", "Eve", "Flo"]',
    ),
)
@click.argument("run", metavar="RUN", type=NonEmptyPath(path_type=Path))
@click.argument("plan", metavar="PLAN.toml", type=NonEmptyPath(path_type=Path))
@_simulation_options
@report_options
def tournament(
    report: ProgressReport, run: Path, plan: Path, samples: int, seed: int, newcomers: bool, as_json: bool
) -> None:  # fmt: skip
    """Simulate the tournament in PLAN.toml many times from a saved run. Nobody has the home advantage.

    The plan lists groups, in which everybody meets everybody else, and the pairings of the knock-out. There "A1" is the
    winner of group A, other names are players, and "" is a bye. Optional: rounds, points and ties of the groups, and
    best = [3, 8], by which the best eight third places go through as best1 to best8.
    """
    import jax

    rated = jr.load(run)
    with report.stage(f"simulating {samples:,} tournaments"):
        tournament_forecast = jr.forecasts.simulate_tournament(
            rated, plan, samples=samples, key=jax.random.key(seed), newcomers=newcomers
        )  # fmt: skip
    _print_forecast(tournament_forecast, "tournaments", rated, as_json)


def _print_forecast(forecast: Any, kind: str, rated: jr.History, as_json: bool) -> None:
    from jaxrate.history.column_table import PROBABILITY_COLUMNS, ColumnTable

    columns = forecast.columns()
    if as_json:
        print_escaped(json.dumps(columns.to_records(), indent=1))
    else:
        shares = {name: x for name, x in columns.items() if PROBABILITY_COLUMNS.fullmatch(name)}
        percents = {name: np.array([format_percentage(x) for x in values.tolist()]) for name, values in shares.items()}
        if "champion" in columns:
            champion = columns.pop("champion")
            percents["win"] = np.where(champion, "champions" if rated.options.get("teams") else "champion", "")
        table = to_text_table(ColumnTable(columns | percents), f"{forecast.samples:,} {kind}")
        print_sections(name_teams(table) if rated.options.get("teams") else table)
