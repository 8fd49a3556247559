"""`jaxrate benchmark`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli import file_rating, options
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import Output, command, is_on_command_line, prefix_errors_with_file
from jaxrate.cli.options import SHARE, SHIPPED_COLUMNS, NonEmptyPath, OutputFolder, library_option, option
from jaxrate.cli.terminal_tables import ProgressReport, TextTable

SHIPPED_SINCE = "1990-03-01"  # of the league that ships: the seasons that are scored
PAGE_FILE, JSON_FILE = "index.html", "benchmark.json"
ROWS = "forecast", "odds", "stack_column"  # options that name columns of the file


NAMED_COLUMNS: dict[str, Any] = {"multiple": True, "callback": options.columns_by_name}


@command(
    click.Argument(["files"], metavar="[FILE | NAME]...", nargs=-1, type=NonEmptyPath()),
    *options.reading_options(),
    options.plain_option,
    "System",
    options.system_option("Fit only this system; may be repeated.  [default: elo, glicko, glicko2, trueskill, skills]",
                  multiple=True),
    "Benchmark",
    library_option("benchmark_systems", "last", "SHARE", **SHARE),
    library_option("benchmark_systems", "since", "DATE", excludes=("--last",)),
    library_option("benchmark_systems", "outcomes", "2|3", type=int),
    library_option("benchmark_systems", "fit_seconds", "SECONDS"),
    "Ceilings",
    option("forecast", "NAME=COLUMNS", "Probabilities or percents of win, of win,loss, or of win,draw,loss.  [default: "
           "those of public files]", **NAMED_COLUMNS),
    option("odds", "NAME=COLUMNS", "Decimal odds of win,loss or win,draw,loss.  [default: those of public files]",
           **NAMED_COLUMNS),
    option("odds-method", "METHOD", "How the margin of bookmakers is removed: power, proportional or shin.",
           type=options.library_choice("probabilities_from_odds", "ODDS_METHODS"), default="power"),
    option("stack", text="Also boost trees (scikit-learn) on ratings, rest, form, matches played and covariates."),
    option("stack-column", "[NAME=]COLUMNS", "A column for these trees, or two of each player; known before the match.",
           **NAMED_COLUMNS),
    "Output",
    option("out", "DIR", f"Write a page, {PAGE_FILE}, and {JSON_FILE} into this folder.", type=OutputFolder()),
    usual=("a", "b", "score", "time", "system", "last", "forecast", "odds", "stack", "out"),
    examples=(
        "jaxrate benchmark nfl",
        "jaxrate benchmark games.csv --odds closing=o_home,o_draw,o_away",
        "jaxrate benchmark games.csv --forecast mine=p_win --stack --out public",
    ),
)  # fmt: skip
def benchmark(
    report: ProgressReport, files: tuple[str, ...], name: tuple[str, ...], out: Path | None, **settings: Any
) -> Output:
    """Fit systems to the past of each FILE, score what follows, and say how near they come to ceilings.

    compare says which system predicts a file best; benchmark fits them all, and measures the best one by ceilings:
    forecasts that others have published, odds, and boosted trees that see whatever is known before a match.

    Every forecast is made before its match. Rows have log loss, Brier score and RPS (lower is better), accuracy, and
    the calibration slope (below 1: too bold), with 95% intervals of paired differences. Without FILE it is the league
    that ships, by the name nfl. Odds of football-data.co.uk and tennis-data.co.uk and forecasts of FiveThirtyEight are
    found by the names of their columns.
    """
    if out is not None:
        lazy.make_template_environment()  # ImportError without jinja2
    files, columns = files or ("nfl",), options.pop_column_arguments(settings)
    titles = [file_rating.title_from_file(file) for file in files]
    if repeated := next((title for title in titles if titles.count(title) > 1), None):
        raise ValueError(f"two files are called {repeated}; rename one")
    tasks = [_read_file(report, file, columns, systems=name or None, **settings) for file in files]
    results: dict[str, lazy.Benchmark] = {}
    for file, title, task in zip(files, titles, tasks, strict=True):
        with prefix_errors_with_file(file), report.stage(f"fitting systems to {Path(file).name}", 1.0) as progress:
            results[title] = task(watch=progress)
    record = {title: result.to_record() for title, result in results.items()}
    if out is not None:
        with report.stage("writing the page"):
            out.mkdir(parents=True, exist_ok=True)
            (out / PAGE_FILE).write_text(jr.site.benchmark_page_html(results), encoding="utf-8")
            (out / JSON_FILE).write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
        report.note(f"wrote {out / PAGE_FILE} and {out / JSON_FILE}")
    return Output(list(_result_sections(results)), record)


def _result_sections(results: dict[str, lazy.Benchmark]) -> Iterator[str | TextTable]:
    """The table and the findings of each file, below its title if there are several."""
    for title, result in results.items():
        yield title if len(results) > 1 else ""
        notes = "\n".join([result.scored_on, *result.notes])
        yield TextTable(*result.heads_and_cells(), result.left_aligned, notes)
        yield "\n".join(result.findings)


def _read_file(
    report: ProgressReport, file: str, reading: dict[str, Any], *, plain: bool, since: str | None, **settings: Any
) -> Callable[..., lazy.Benchmark]:
    """The benchmark, to be run, of a file or shipped dataset, of matches since a date; `plain`: by results alone."""
    is_shipped = options.is_shipped_dataset(file)
    reading = SHIPPED_COLUMNS | reading if is_shipped else reading
    columns, stack = {kind: settings.pop(kind) for kind in ROWS}, settings.pop("stack")
    columns = _recognise_forecast_and_odds_columns(report, file, reading, columns)
    data, _ = file_rating.read_events_with_evidence(report, options.RatingRequest(file, reading, plain=plain))
    values = {
        kind: file_rating.load_match_columns(file, data, columns[kind], f"--{kind.replace('_', '-')}: ")
        for kind in ROWS
    }
    if is_shipped:
        data = data._replace(source=jr.data.datasets.NFL_SOURCE)
        values["forecast"] = file_rating.published_forecasts(file, data) | values["forecast"]
        since = SHIPPED_SINCE if since is None and not is_on_command_line("last") else since
    with prefix_errors_with_file(file):
        lazy.check_has_two_sides(lazy.make_scoring_target(data))
        begin = file_rating.parse_library_time("--since", since, data.clock)
    return partial(
        jr.evaluation.benchmark_systems,
        data,
        since=begin,
        forecasts=values["forecast"],
        odds=values["odds"],
        stack=values["stack_column"] or stack,
        **settings,
    )


def _recognise_forecast_and_odds_columns(
    report: ProgressReport, file: str, reading: dict[str, Any], named: dict[str, Any]
) -> dict[str, Any]:
    """The columns of rows, and of forecasts and odds that are recognised where none are named, and notes of these."""
    names: list[str] = []
    if not {"a", "b", "winner", "loser"} & reading.keys():
        with suppress(ValueError, OSError):  # reading the file says what is wrong
            names = file_rating.column_names(file, reading)
    recognised = zip(("forecast", "odds"), lazy.recognise_forecast_columns(names), strict=True)
    added = {kind: rows for kind, rows in recognised if rows and not named[kind]}
    for kind, rows in added.items():
        texts = "; ".join(f"{label} ({', '.join(columns)})" for label, columns in rows.items())
        report.note(f"{Path(file).name}: {kind} found: {texts}")
    return named | added
