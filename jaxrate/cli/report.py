"""`jaxrate report`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.compare import compare_with_notes
from jaxrate.cli.hyperparameters import hint_scored_on_fitted_data
from jaxrate.cli.input_options import (
    VariadicColumnOptionsCommand,
    is_about_colours,
    is_about_teams,
    is_shipped_dataset,
    published_forecasts,
)
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.option_names import format_reading_options
from jaxrate.cli.output_path_checks import NonEmptyPath, check_html_output_file, title_from_file
from jaxrate.cli.rate import rate_and_evaluate_task
from jaxrate.cli.rate_output import smooth_task
from jaxrate.cli.shared_options import (
    LEADERBOARD_OPTIONS,
    RatingRequest,
    complete_systems,
    request_options,
    share_option,
)
from jaxrate.cli.site import load_display_names, names_option, noun_option
from jaxrate.cli.system_selection import (
    check_system_request,
    choose_system,
    no_calibrate_option,
    plain_option,
    read_events_with_evidence,
    recognise_evidence_columns_of_file,
)
from jaxrate.cli.terminal_tables import ProgressReport, print_escaped, report_options
from jaxrate.core.text_format import metric_heading, to_one_line

OTHERS_HELP = "Another system to compare with; may be repeated.  [default: those that jaxrate systems names]"


@click.command(
    cls=VariadicColumnOptionsCommand,
    groups={"Page": ("top", "player", "compare", "title", "names", "noun", "active", "min-games", "smooth", "last")},
    examples=(
        "jaxrate report games.csv --out report.html",
        'jaxrate report games.csv --title "Our league" --player Ada',
        "jaxrate report games.csv --system glicko2 --compare elo",
    ),
)
@click.argument("file", metavar="FILE", type=NonEmptyPath())
@request_options(files=True)
@plain_option
@no_calibrate_option
@click.option("--out", type=NonEmptyPath(path_type=Path), default=Path("report.html"), show_default=True,
              metavar="FILE.html", help="Where to write the page.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=0), default=50, show_default=True, metavar="NUMBER",
              help="Number of players with a section of their own.")  # fmt: skip
@click.option("--player", "players", multiple=True, metavar="NAME", help="Add a player's section; may be repeated.")
@click.option("--compare", "others", multiple=True, shell_complete=complete_systems, metavar="NAME", help=OTHERS_HELP)
@click.option("--title", metavar="TEXT", help="Title of the page.  [default: the name of FILE]")
@names_option
@noun_option
@LEADERBOARD_OPTIONS[0]
@LEADERBOARD_OPTIONS[1]
@click.option("--smooth", is_flag=True, help="With --system skills: also draw ratings in hindsight.")
@share_option("--last", default=0.2, show_default=True, help="Compare systems on the last SHARE of the predictions.")
@report_options
def report(
    report: ProgressReport,
    file: str,
    request: RatingRequest,
    plain: bool,
    no_calibrate: bool,
    out: Path,
    top: int,
    players: tuple[str, ...],
    others: tuple[str, ...],
    title: str | None,
    names: Path | None,
    noun: tuple[str, ...] | None,
    active: Any,
    min_games: int | None,
    smooth: bool,
    last: float,
) -> None:
    """Rate the players in FILE as jaxrate rate does, and write a report: one page of HTML that works offline.

    It has a leaderboard to search and sort, careers and matches of the best players, win chances of any two, the
    accuracy of the predictions, and a comparison of systems.
    """
    from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
    from jaxrate.evaluation.comparison import BASELINES, TEAM_BASELINES
    from jaxrate.evaluation.scored_predictions import format_metric
    from jaxrate.history.history import find_player_id
    from jaxrate.site.accuracy_summary import LOSING_ADVICE, summarise_accuracy
    from jaxrate.site.benchmark_page import advise_best_system
    from jaxrate.site.page_templates import make_template_environment
    from jaxrate.site.site_data import unique_display_names
    from jaxrate.site.wording import choose_player_or_team_noun
    from jaxrate.systems.system_construction_by_name import make_system

    check_html_output_file("--out", out, "report.html")
    make_template_environment()
    check_system_request(request)
    for other in others:
        make_system(other, {})
    data, request, points = _read_events_and_points(report, file, request, plain=plain)
    if names is not None:
        data = data._replace(
            players=np.array(unique_display_names(data.players, load_display_names(names, data.players)), object)
        )
    for player in players:
        find_player_id(data.players, player)
    task = choose_system(report, request, data, file)
    task = task._replace(calibrate=False) if no_calibrate else task
    smoothed = smooth_task(report, task) if smooth else None
    rated, _, metrics = rate_and_evaluate_task(report, file, task, changes=request.changes)
    baselines = TEAM_BASELINES if dataset_has_teams(task.data) else BASELINES
    changes_by_system: dict[str, dict[str, Any]] = {name: {} for name in others or baselines}
    changes_by_system[rated.system.name] = request.changes
    comparison = compare_with_notes(
        report,
        file,
        task.data,
        changes_by_system,
        is_named=bool(others),
        period_lengths=(task.period,),
        last=last,
        timed=False,
        published=published_forecasts(file, task.data),
    )
    hint_scored_on_fitted_data(report, [request.fitted] if request.fitted else [], file, last)
    from jaxrate.systems.system_construction_by_name import has_sides

    teams = is_about_teams(file, request.columns) and not dataset_has_teams(task.data)  # whose members are rated
    about_file: dict[str, Any] = {"sided": has_sides(task.data), "teams": teams, "file": Path(file).name}
    about_file["columns"] = {role: x for role, x in request.columns.items() if role == "category"}
    about_file["colours"] = is_about_colours(file, request.columns)
    if is_shipped_dataset(file):
        about_file["source"] = jr.data.datasets.NFL_SOURCE
    rated = rated._replace(options=rated.options | about_file)
    with report.stage("writing the page"):
        page = jr.site.report_html(
            rated,
            title=title or title_from_file(file),
            top=top,
            players=players,
            quality={metric_heading(name): format_metric(name, value) for name, value in metrics.items()},
            comparison=comparison,
            smoothed=smoothed,
            active=active,
            min_games=min_games,
            noun=noun,
            points=points,
        )
    out.write_text(page, encoding="utf-8")
    losing = [advice for advice in summarise_accuracy(rated).advice if advice is LOSING_ADVICE]
    for advice in (*losing, *advise_best_system(comparison, rated.system.name, is_fitted=request.fitted is not None)):
        report.note(advice.to_text(shlex.quote(file), "run", format_reading_options(request.columns)))
    _, plural = choose_player_or_team_noun(rated, noun)
    print_escaped(f"{out}: {len(rated.players):,} {plural}, {out.stat().st_size / 1e6:.1f} MB; open it in a browser")


def _read_events_and_points(
    report: ProgressReport, file: str, request: RatingRequest, *, plain: bool
) -> tuple[jr.data.Dataset, RatingRequest, tuple[Any, Any] | None]:
    """The events and the request, as `read_events_with_evidence` has them, and the points [n] of both players.

    The points are those that the file has and the system does not learn from; None where there are none.
    """
    given = {} if request.fitted is None else request.fitted.values
    is_margin_learned = bool(request.columns.get("margin") or given.get("margin"))
    if (plain or request.name is not None or request.changes) and not is_margin_learned:
        evidence = recognise_evidence_columns_of_file(file, request.columns)
        columns = request.columns | {role: evidence[role] for role in ("margin", "score") if role in evidence}
        if len(evidence.get("margin", ())) == 2:
            try:
                asked = request._replace(columns=columns)
                data, asked = read_events_with_evidence(report, file, asked, plain=plain)
            except ValueError as error:
                report.note(f"points are not shown: {to_one_line(str(error))}")
            else:
                points = None
                if data.of_matches:
                    read: Any = data.matches.context.columns
                    points = np.asarray(read[data.margin[0]]), np.asarray(read[data.margin[1]])
                columns = {role: x for role, x in asked.columns.items() if role in request.columns}
                return data._replace(margin=()), request._replace(columns=columns), points
    return *read_events_with_evidence(report, file, request, plain=plain), None
