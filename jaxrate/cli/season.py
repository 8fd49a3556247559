"""`jaxrate season`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import RUN, Output, argument, check_only, command, option
from jaxrate.cli.input_options import FIXTURE_OPTIONS, newcomers_option, reading_options
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.library_options import library_choice, library_option
from jaxrate.cli.shared_options import split_reading_options
from jaxrate.cli.terminal_tables import ProgressReport, name_teams, to_text_table, warnings_as_notes
from jaxrate.core.text_format import format_percentage

TOURNAMENT_OPTIONS = "run", "file", "samples", "seed", "newcomers", "json", "quiet", "verbose"


@command(
    RUN,
    argument("file", "FIXTURES | PLAN.toml", is_file=True),
    reading_options(FIXTURE_OPTIONS),
    library_option("simulate_season", "results", "FILE", text="The matches of the season played so far."),
    library_option("simulate_season", "points", "WIN DRAW LOSS", type=float, nargs=3,
                   text="Points for a win, a draw and a loss.  [default: 3 1 0]"),
    library_option("simulate_season", "ties", "RULE", multiple=True,
                   type=library_choice("simulate_season", "TIE_BREAKS", "GOAL_TIE_BREAKS")),
    library_option("simulate_season", "relegated", "NUMBER"),
    library_option("simulate_season", "samples", "NUMBER"),
    option("seed", "NUMBER", "Random seed.", default=0),
    newcomers_option,
    usual=("a", "b", "time", "side", "results", "points", "ties", "relegated", "samples", "newcomers"),
    groups={
        "Season": ("results", "points", "ties", "relegated"),
        "Simulation": ("samples", "seed", "newcomers"),
    },
    examples=(
        "jaxrate season run to_come.csv --results so_far.csv --relegated 3",
        "jaxrate season run to_come.csv --points 2 1 0 --ties head_to_head",
        "jaxrate season run cup.toml",
        "where cup.toml holds",
        '  knockout = ["A1", "B2", "B1", "A2"]',
        "  [groups]",
        '  A = ["Ada", "Bo", "Cy"]',
        '  B = ["Di", "Eve", "Flo"]',
    ),
)  # fmt: skip
def season(
    report: ProgressReport, run: Path, file: str, options: dict[str, Any], samples: int, seed: int, newcomers: bool,
    **rules: Any,
) -> Output:  # fmt: skip
    """Simulate the matches in FIXTURES, or a tournament, many times from a saved run.

    Every simulation draws each player's strength from their rating and its uncertainty. Prints the expected points, and
    the chances to win and to be relegated. A run that learned from goals plays each match to a score.

    PLAN.toml has the groups of a tournament, in which everybody meets everybody else, and the pairings of the
    knock-out. There "A1" is the winner of group A, other names are players, and "" is a bye. Nobody has the home
    advantage. Optional: rounds, points and ties of the groups, and best = [3, 8], by which the best eight third places
    go through as best1 to best8.
    """
    import jax

    settings: dict[str, Any] = {"samples": samples, "key": jax.random.key(seed), "newcomers": newcomers}
    kind = "tournaments" if Path(file).suffix.lower() == ".toml" else "seasons"
    if kind == "tournaments":
        check_only(TOURNAMENT_OPTIONS, "a tournament, whose plan says its rules")
    rated, options = split_reading_options(jr.load(run), options)
    with report.stage(f"simulating {samples:,} {kind}"), warnings_as_notes(report):
        forecast: Any
        if kind == "tournaments":
            forecast = jr.forecasts.simulate_tournament(rated, file, **settings)
        else:
            rules["ties"] = rules["ties"] or None
            forecast = jr.forecasts.simulate_season(rated, file, **rules, **settings, **options)
    columns = forecast.columns()
    return Output([_forecast_table(columns, f"{forecast.samples:,} {kind}", rated)], columns.to_records())


def _forecast_table(columns: Any, caption: str, rated: jr.History) -> Any:
    """The table of how it may end, with chances in percent."""
    from jaxrate.history.column_table import PROBABILITY_COLUMNS, ColumnTable

    are_teams = bool(rated.options.get("teams"))
    shown = dict(columns)
    for name in filter(PROBABILITY_COLUMNS.fullmatch, columns):
        shown[name] = np.array([format_percentage(x) for x in columns[name].tolist()])
    if "champion" in shown:
        shown["win"] = np.where(shown.pop("champion"), "champions" if are_teams else "champion", "")
    table = to_text_table(ColumnTable(shown), caption)
    return name_teams(table) if are_teams else table
