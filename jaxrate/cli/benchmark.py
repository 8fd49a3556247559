"""`jaxrate benchmark`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import jaxrate as jr
from jaxrate.cli.input_options import (
    SHIPPED_COLUMNS,
    VariadicColumnOptionsCommand,
    is_shipped_dataset,
    published_forecasts,
    reading_options,
)
from jaxrate.cli.output_path_checks import NonEmptyPath, check_output_folder, title_from_file
from jaxrate.cli.predict import load_match_columns, parse_named_columns, recognise_forecast_columns_of_file
from jaxrate.cli.shared_options import RatingRequest, share_option, system_option
from jaxrate.cli.system_selection import plain_option, prefix_errors_with_file, read_events_with_evidence
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, print_escaped, print_sections, report_options

if TYPE_CHECKING:
    from jaxrate.evaluation.benchmark import Benchmark

SHIPPED_SINCE = "1990-03-01"  # of the league that ships: the seasons that are scored
PAGE_FILE, JSON_FILE = "index.html", "benchmark.json"


@click.command(
    cls=VariadicColumnOptionsCommand,
    groups={
        "Benchmark": ("last", "since", "outcomes", "fit-seconds"),
        "Ceilings": ("forecast", "odds", "odds-method", "stack", "stack-column"),
    },
    examples=(
        "jaxrate benchmark nfl",
        "jaxrate benchmark games.csv --odds closing=o_home,o_draw,o_away",
        "jaxrate benchmark games.csv --forecast mine=p_win --stack --out public",
    ),
)
@click.argument("files", metavar="[FILE | NAME]...", nargs=-1, type=NonEmptyPath())
@system_option(multiple=True, help="Fit only this system; may be repeated.  [default: elo, glicko, glicko2, trueskill, "
               "skills]")  # fmt: skip
@reading_options()
@plain_option
@share_option("--last", default=0.2, show_default=True, help="Score the last SHARE of the matches.")
@click.option("--since", metavar="DATE", help="Score the matches from DATE on, in place of --last.  "
              f"[default of nfl: {SHIPPED_SINCE}]")  # fmt: skip
@click.option("--outcomes", type=click.Choice(["2", "3"]),
              help="Score expected scores (2), or win, draw and loss (3).  [default: 3 if 5% are drawn]")  # fmt: skip
@click.option("--fit-seconds", type=float, default=60.0, show_default=True, metavar="SECONDS",
              help="Limit of the fit of each system; 0 takes default hyperparameters.")  # fmt: skip
@click.option("--forecast", "forecasts", multiple=True, metavar="NAME=COLUMNS",
              help="Probabilities of others, or percents: of the first player's win, of win,loss, or of win,draw,loss; "
              "may be repeated.  [default: those of public files]")  # fmt: skip
@click.option("--odds", multiple=True, metavar="NAME=COLUMNS",
              help="Decimal odds of win,loss or win,draw,loss; may be repeated.  [default: those of public files]",
              )  # fmt: skip
@click.option("--odds-method", type=click.Choice(["power", "proportional", "shin"]), default="power",
              show_default=True, metavar="METHOD",
              help="How the margin of bookmakers is removed: power, proportional or shin.")  # fmt: skip
@click.option("--stack", is_flag=True,
              help="Also boost trees (scikit-learn) on ratings, rest, form, matches played and --covariates.",
              )  # fmt: skip
@click.option("--stack-column", "stack_columns", multiple=True, metavar="[NAME=]COLUMNS",
              help="A column for these trees, or two of each player; known before the match; may be repeated.",
              )  # fmt: skip
@click.option("--out", type=NonEmptyPath(path_type=Path), metavar="FOLDER",
              help=f"Write a page, {PAGE_FILE}, and {JSON_FILE} into this folder.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_options
def benchmark(
    report: ProgressReport,
    files: tuple[str, ...],
    name: tuple[str, ...],
    options: dict[str, Any],
    plain: bool,
    last: float,
    since: str | None,
    outcomes: str | None,
    fit_seconds: float,
    forecasts: tuple[str, ...],
    odds: tuple[str, ...],
    odds_method: str,
    stack: bool,
    stack_columns: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Fit systems to the past of each FILE, score what follows, and say how near they come to ceilings.

    compare says which system predicts a file best; benchmark fits them all, and measures the best one by ceilings:
    forecasts that others have published, odds, and boosted trees that see whatever is known before a match.

    Every forecast is made before its match. Rows have log loss, Brier score and RPS (lower is better), accuracy, and
    the calibration slope (below 1: too bold), with 95% intervals of paired differences. Without FILE it is the league
    that ships, by the name nfl. Odds of football-data.co.uk and tennis-data.co.uk and forecasts of FiveThirtyEight are
    found by the names of their columns.
    """
    named = {
        "forecast": parse_named_columns("forecast", forecasts),
        "odds": parse_named_columns("odds", odds),
        "stack-column": parse_named_columns("stack-column", stack_columns),
    }
    if since is not None and _is_named("last"):
        raise ValueError("--since and --last both say what is scored; name one")
    if out is not None:
        check_output_folder("--out", out)
        from jaxrate.site.page_templates import make_template_environment

        make_template_environment()
    files = files or ("nfl",)
    titles = [title_from_file(file) for file in files]
    if repeated := next((title for title in titles if titles.count(title) > 1), None):
        raise ValueError(f"two files are called {repeated}; rename one")
    results: dict[str, Benchmark] = {}
    for file, title in zip(files, titles, strict=True):
        results[title] = _benchmark_file(
            report, file, options, plain, named,
            systems=name or None, last=last, since=since, outcomes=None if outcomes is None else int(outcomes),
            odds_method=odds_method, stack=stack, fit_seconds=fit_seconds,
        )  # fmt: skip
    record = {title: result.to_record() for title, result in results.items()}
    if out is not None:
        with report.stage("writing the page"):
            out.mkdir(parents=True, exist_ok=True)
            (out / PAGE_FILE).write_text(jr.site.benchmark_page_html(results), encoding="utf-8")
            (out / JSON_FILE).write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
        report.note(f"wrote {out / PAGE_FILE} and {out / JSON_FILE}")
    if as_json:
        print_escaped(json.dumps(record, indent=2))
        return
    for title, result in results.items():
        from jaxrate.evaluation.benchmark import LEFT_ALIGNED

        print_sections(
            *[title] * (len(results) > 1),
            TextTable(result.head, result.cells, LEFT_ALIGNED),
            "\n".join(result.findings),
            "\n".join([result.scored_on, *result.notes]),
            *[""] * (len(results) > 1),
        )


def _benchmark_file(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    plain: bool,
    named: dict[str, dict[str, list[str]]],
    *,
    since: str | None,
    stack: bool,
    last: float,
    **arguments: Any,
) -> Benchmark:
    """The benchmark of one file."""
    is_shipped = is_shipped_dataset(file)
    options = SHIPPED_COLUMNS | options if is_shipped else options
    found_forecasts, found_odds = recognise_forecast_columns_of_file(file, options)
    for kind, found in (("forecast", found_forecasts), ("odds", found_odds)):
        if found and not named[kind]:
            columns = "; ".join(f"{label} ({', '.join(names)})" for label, names in found.items())
            report.note(f"{Path(file).name}: {kind} found: {columns}")
    data, _ = read_events_with_evidence(report, file, RatingRequest(None, {}, None, options), plain=plain)
    forecast_values = load_match_columns(file, data, named["forecast"] or found_forecasts, "forecast")
    odds_values = load_match_columns(file, data, named["odds"] or found_odds, "odds")
    stack_values = load_match_columns(file, data, named["stack-column"], "stack-column")
    if is_shipped:
        forecast_values = (published_forecasts(file, data) or {}) | forecast_values
        since = SHIPPED_SINCE if since is None and not _is_named("last") else since
    with prefix_errors_with_file(file), report.stage(f"fitting systems to {Path(file).name}", 1.0) as update_progress:
        return jr.evaluation.benchmark_systems(
            data,
            last=last,
            since=_parse_since(since, data),
            forecasts=forecast_values,
            odds=odds_values,
            stack=stack_values or stack,
            watch=update_progress,
            **arguments,
        )


def _is_named(option: str) -> bool:
    """Whether an option is on the command line."""
    return click.get_current_context().get_parameter_source(option) == ParameterSource.COMMANDLINE


def _parse_since(text: str | None, data: jr.data.Dataset) -> Any:
    """The time from which matches are scored: a number where the matches have numbers, else a date as text."""
    if text is None or data.clock == "dates":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--since {text}: write a number, as the times are") from None
