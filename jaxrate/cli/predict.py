"""`jaxrate predict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.input_options import ReadingCommand, reading_options
from jaxrate.cli.output_checks import check_file
from jaxrate.cli.paths import NonEmptyPath
from jaxrate.cli.progress import ProgressReport, report_options, warnings_as_notes
from jaxrate.cli.terminal import print_escaped
from jaxrate.text_format import format_table, format_unquoted_name

MAX_ROWS_SHOWN = 30  # rows that are printed
HIDDEN_COLUMNS = "row", "quality"
EXAMPLES = """\b
Examples:
  jaxrate rate games.csv --out season
  jaxrate predict season july.csv
  jaxrate predict season july.csv --newcomers --out chances.csv"""


@click.command(cls=ReadingCommand, short_help="Say what a saved run expects of matches to come.", epilog=EXAMPLES)
@click.argument("run", metavar="RUN", type=NonEmptyPath(path_type=Path))
@click.argument("file", metavar="FIXTURES", type=NonEmptyPath())
@reading_options()
@click.option("--newcomers", is_flag=True, help="Names that the run does not have are new players.")
@click.option(
    "--at", metavar="DATE", help="When all is played, if FIXTURES has no times.  [default: the end of the run]"
)
@click.option(
    "--out", type=NonEmptyPath(path_type=Path), metavar="FILE", help="Write the table there, .csv or .parquet."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_options
def predict(
    report: ProgressReport, run: Path, file: str, options: dict[str, Any], newcomers: bool, at: str | None,
    out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Say what `jaxrate rate --out RUN` expects of the matches or contests in FIXTURES: columns as in the file that was
    rated, without score and rank; or that file itself, of which the rows without a result are to come.

    Matches have the chances of the first player to win, to draw and to lose, and the fair odds of each, 1 / chance;
    without draws the expected score. Contests have the expected rank, and the share of the others to be left behind.
    Names that the run does not have are refused, and the nearest are told.
    """
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"--out {out}: the name must end in .csv or .parquet")
        check_file("--out", out, "chances.csv")
    rated = jr.load(run)
    when: Any = at
    if at is not None and rated.clock != "dates":
        try:
            when = float(at)
        except ValueError:
            raise ValueError(f"--at {at}: write a number, as the times of the run are") from None
    with report.stage(f"predicting {Path(file).name}"), warnings_as_notes(report):
        try:
            predictions = jr.forecasts.predict_fixtures(rated, file, newcomers=newcomers, time=when, **options)
        except ValueError as error:
            raise ValueError(str(error).replace("newcomers=True takes", "--newcomers takes")) from None
    player_sets = [set(predictions[name].tolist()) for name in ("a", "b", "player") if name in predictions]
    new = sorted(set().union(*player_sets) - set(rated.players.tolist()), key=str)
    if new:
        names = ", ".join(map(format_unquoted_name, new[:3])) + ", ..." * (len(new) > 3)
        report.note(f"{len(new)} of these players have not played yet: {names}")
    if getattr(rated.system.params, "side_advantage", 0.0) and "side" not in predictions:
        report.note("nobody has the side, so side_advantage changes nothing; say who by --side")
    if out is not None:
        jr.data.write(predictions, out)
        report.note(f"saved the table to {out}")
    if as_json:
        print_escaped(json.dumps(predictions.to_records(), indent=1))
        return
    headings, rows = predictions.drop_columns(*HIDDEN_COLUMNS).heads_and_cells(MAX_ROWS_SHOWN)
    text = format_table(headings, rows, left_aligned=("a", "b", "side", "contest", "player"))
    total = len(predictions["row"])
    print_escaped(
        text + (f"\n... and {total - MAX_ROWS_SHOWN:,} more; --out writes them all" if total > MAX_ROWS_SHOWN else "")
    )
