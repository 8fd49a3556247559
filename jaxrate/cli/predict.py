"""`jaxrate predict`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.escaped_terminal_output import print_escaped
from jaxrate.cli.input_options import (
    FIXTURE_OPTIONS,
    VariadicColumnOptionsCommand,
    newcomers_option,
    reading_options,
)
from jaxrate.cli.output_path_checks import check_output_file
from jaxrate.cli.path_type import NonEmptyPath
from jaxrate.cli.prediction_output import prediction_table, print_explanations, print_scorelines
from jaxrate.cli.progress import ProgressReport, report_options, warnings_as_notes
from jaxrate.cli.terminal_tables import print_sections
from jaxrate.core.text_format import format_unquoted_name


@click.command(
    cls=VariadicColumnOptionsCommand,
    groups={"Fixtures": ("newcomers", "at", "explain", "scorelines")},
    examples=(
        "jaxrate rate games.csv --out season",
        "jaxrate predict season july.csv",
        "jaxrate predict season july.csv --newcomers --out chances.csv",
        "jaxrate predict season july.csv --explain",
        "jaxrate predict season july.csv --scorelines",
    ),
)
@click.argument("run", metavar="RUN", type=NonEmptyPath(path_type=Path))
@click.argument("file", metavar="FIXTURES", type=NonEmptyPath())
@reading_options(FIXTURE_OPTIONS)
@newcomers_option
@click.option("--at", metavar="DATE", help="Date of the matches, if FIXTURES has none.  [default: the end of the run]")
@click.option("--out", type=NonEmptyPath(path_type=Path), metavar="FILE", help="Save the table as .csv or .parquet.")
@click.option("--explain", is_flag=True, help="Print what each player contributes, in points, in place of the table.")
@click.option(
    "--scorelines",
    is_flag=True,
    help="Print goals and the likeliest scoreline in place of the table, if the run learned from goals.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_options
def predict(
    report: ProgressReport, run: Path, file: str, options: dict[str, Any], newcomers: bool, at: str | None,
    out: Path | None, explain: bool, scorelines: bool, as_json: bool,
) -> None:  # fmt: skip
    """Predict the matches or contests in FIXTURES from a run that jaxrate rate --out RUN saved.

    FIXTURES has the columns of the rated file, without results. It may be the rated file itself: rows without a result
    are predicted.

    Matches get the chances of the first player to win, draw and lose, and fair odds (1 / chance). Contests get the
    expected rank and the expected share of opponents beaten. Files and JSON also have the row of each in FIXTURES and,
    of matches, the quality, which says how even the two are.

    --scorelines prints the mean goals of both, the likeliest scoreline, and the chances that there are more than 2.5
    goals and that both score; with --json also the chances of all scorelines up to 15 goals of a side.

    --explain prints, for each match or contest, the parts of every player: skill, experience, side and so on.
    """
    from jaxrate.history.dataset_rating import slope_of_history

    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"--out {out}: the name must end in .csv or .parquet")
        check_output_file("--out", out, "chances.csv")
    rated = jr.load(run)
    when: Any = at
    if at is not None and rated.clock != "dates":
        try:
            when = float(at)
        except ValueError:
            raise ValueError(f"--at {at}: write a number, as the times of the run are") from None
    elif at is not None and not any(map(str.isdigit, at)):
        raise ValueError(f"--at {at}: write a date, as 2026-05-20")
    if at is not None and "time" in options:
        raise ValueError("--at is for fixtures without times, and --time names their column; leave one out")
    options = {"time": when} | options
    with report.stage(f"predicting {Path(file).name}"), warnings_as_notes(report):
        predictions = jr.forecasts.predict_fixtures(rated, file, newcomers=newcomers, **options)
    player_sets = [set(predictions[name].tolist()) for name in ("a", "b", "player") if name in predictions]
    new = sorted(set().union(*player_sets) - set(rated.players.tolist()), key=str)
    if new:
        names = ", ".join(map(format_unquoted_name, new[:3])) + ", ..." * (len(new) > 3)
        report.note(f"{len(new)} of these players have not played yet: {names}")
    if getattr(rated.system.params, "side_advantage", 0.0) and "side" not in predictions:
        report.note("side_advantage has no effect, as nobody has the side; name its column with --side")
    if slope := slope_of_history(rated):
        report.note(f"chances are calibrated by the slope of the run, {slope.learn().slope:.2f}")
    if out is not None:
        jr.data.write(predictions, out)
        report.note(f"saved the table to {out}")
    if explain:
        with report.stage("explaining predictions"), warnings.catch_warnings(action="ignore"):  # which were notes above
            found = jr.forecasts.explain_fixtures(rated, file, newcomers=newcomers, **options)
        print_explanations(found, rated, as_json)
        return
    if scorelines:
        with warnings.catch_warnings(action="ignore"):  # which were notes above
            forecast = jr.forecasts.predict_scorelines(rated, file, newcomers=newcomers, **options)
        print_scorelines(forecast, predictions, rated, as_json)
        return
    if as_json:
        print_escaped(json.dumps(predictions.to_records(), indent=1))
        return
    print_sections(prediction_table(predictions, rated))
