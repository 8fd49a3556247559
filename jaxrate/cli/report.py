"""`jaxrate report`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli import file_rating, options
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import command
from jaxrate.cli.compare import compare_with_notes
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.options import FILE, LIST_RULES, PAGE_FILE, SHARE, RatingRequest, SystemName, list_option, option
from jaxrate.cli.site import load_display_names, names_option, noun_option
from jaxrate.cli.terminal_tables import ProgressReport, print_escaped
from jaxrate.core.text_format import metric_heading, to_one_line


@command(
    FILE,
    *options.reading_options(),
    options.plain_option,
    "System",
    *options.system_options(),
    options.no_calibrate_option,
    "Page",
    option("top", "NUMBER", "Number of players with a section of their own.", default=50),
    option("player", "NAME", "Add a player's section; may be repeated.", to="players", multiple=True),
    option("compare", "NAME", "A system to compare with; may be repeated.  [default: those that jaxrate systems names]",
           to="others", multiple=True, type=SystemName()),
    option("title", "TEXT", "Title of the page.  [default: the name of FILE]"),
    names_option,
    noun_option,
    list_option(LIST_RULES),
    option("show", "hindsight", "Also draw ratings in hindsight (of skills).", type=click.Choice(["hindsight"]),
           multiple=True),
    option("last", "SHARE", "Compare systems on the last SHARE of the predictions.", default=0.2, **SHARE),
    "Output",
    option("out", "FILE.html", "Where to write the page.", default=Path("report.html"), type=PAGE_FILE),
    json=False,
    usual=("a", "b", "score", "time", "system", "param", "out", "title", "player", "compare"),
    examples=(
        "jaxrate report games.csv --out report.html",
        'jaxrate report games.csv --title "Our league" --player Ada',
        "jaxrate report games.csv --system glicko2 --compare elo",
    ),
)  # fmt: skip
def report(
    report: ProgressReport, out: Path, players: tuple[str, ...], others: tuple[str, ...], title: str | None,
    names: Path | None, show: tuple[str, ...], rules: dict[str, Any], last: float, **settings: Any,
) -> None:  # fmt: skip
    """Rate the players in FILE as jaxrate rate does, and write a report: one page of HTML that works offline.

    It has a leaderboard to search and sort, careers and matches of the best players, win chances of any two, the
    accuracy of the predictions, and a comparison of systems.
    """
    request = options.pop_rating_request(settings)
    data, request = file_rating.read_events_with_evidence(report, request)
    settings["points"] = _load_points(report, request, data)
    if names is not None:
        shown = lazy.unique_display_names(data.players, load_display_names(names, data.players))
        data = data._replace(players=np.array(shown, object))
    file_rating.check_players_exist(data, players)
    task = file_rating.make_rating_task(report, request, data)
    smoothed = file_rating.smooth_task(report, task) if show else None
    rating = file_rating.rate_and_evaluate_task(report, task, request)
    settings["comparison"] = _compare_with_baselines(report, task, request, others, last)
    facts = file_rating.wording_facts_to_save(request, task.data, {}) | {"file": Path(request.file).name}
    facts["columns"] = {role: x for role, x in request.columns.items() if role == "category"}
    rated = rating.history._replace(options=rating.history.options | facts)
    with report.stage("writing the page"):
        quality = {metric_heading(name): lazy.format_metric(name, value) for name, value in rating.metrics.items()}
        title = title or file_rating.title_from_file(request.file)
        page = jr.site.report_html(
            rated, title=title, players=players, smoothed=smoothed, quality=quality, **settings, **rules
        )
    out.write_text(page, encoding="utf-8")
    losing = [advice for advice in lazy.summarise_accuracy(rated).advice if advice is lazy.LOSING_ADVICE]
    own = rated.system.name, rated.period
    better = lazy.advise_best_system(settings["comparison"], *own, is_fitted=bool(request.fitted.system))
    for advice in (*losing, *better):
        report.note(advice.replace("FILE", quote(request.file)))
    _, plural = lazy.name_rated(rated.options, settings["noun"])
    print_escaped(f"{out}: {len(rated.players):,} {plural}, {out.stat().st_size / 1e6:.1f} MB; open it in a browser")


def _load_points(report: ProgressReport, request: RatingRequest, data: jr.data.Dataset) -> tuple[Any, Any] | None:
    """The points [n] of both players that the file has, where the events are plain and lack them; else None."""
    if not (request.plain and data.of_matches):
        return None
    columns = file_rating.recognise_evidence_columns_of_file(request.file, request.columns).get("margin", ())
    if len(columns) != 2:
        return None
    try:
        points = file_rating.load_match_columns(request.file, data, {"points": columns})["points"]
    except ValueError as error:
        report.note(f"points are not shown: {to_one_line(str(error))}")
        return None
    return None if np.isnan(points).any() else (points[:, 0], points[:, 1])


def _compare_with_baselines(
    report: ProgressReport, task: file_rating.RatingTask, request: RatingRequest, others: tuple[str, ...], last: float
) -> lazy.Comparison:
    """The comparison of the system with others, or with usual ones."""
    baselines = lazy.TEAM_BASELINES if lazy.dataset_has_teams(task.data) else lazy.BASELINES
    changes: dict[str, dict[str, Any]] = {name: {} for name in others or baselines}
    changes[task.system.name] = {**request.changes}
    comparison = compare_with_notes(
        report, request.file, task.data, changes, is_named=bool(others), lengths=(task.period,), last=last
    )
    options.hint_scored_on_fitted_data(report, [request.fitted], request.file, last)
    return comparison
