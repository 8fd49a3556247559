"""`jaxrate rate`."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from shlex import quote
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.chunked_rating import chunk_options, rate_by_chunks
from jaxrate.cli.hyperparameters import fitted_share, hint_scored_on_fitted_data
from jaxrate.cli.input_options import (
    VariadicColumnOptionsCommand,
    is_about_colours,
    is_about_teams,
    is_parquet_folder_or_pattern,
    is_saved_run,
    is_shipped_dataset,
    read_events,
)
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.output_path_checks import NonEmptyPath, check_output_folder, title_from_file
from jaxrate.cli.rate_output import (
    SHOWN_EVENTS,
    calibration_lines,
    career_sections,
    career_sides,
    career_up_to,
    check_smooth_has_whole_history,
    events_up_to,
    find_category,
    head_to_head_sections,
    metric_lines,
    note_time_outside_history,
    parse_time_option,
    peak_rating_sections,
    smooth_task,
    smoothed_career_columns,
    smoothed_event_columns,
    strengths_by_category,
    time_of_shown_ratings,
    to_match_table,
)
from jaxrate.cli.rating_by_league import rate_leagues
from jaxrate.cli.shared_options import (
    RatingRequest,
    complete_request_from_saved_run,
    leaderboard_options,
    leaderboard_table,
    lock_output_folder,
    request_options,
    save_run,
    share_option,
)
from jaxrate.cli.system_selection import (
    RatingTask,
    check_system_and_hint,
    check_system_request,
    choose_system,
    columns_of_saved_run,
    no_calibrate_option,
    plain_option,
    prefix_errors_with_file,
    read_events_with_evidence,
    warn_worse_than_even,
)
from jaxrate.cli.terminal_tables import (
    ProgressReport,
    TextTable,
    name_teams,
    print_escaped,
    print_sections,
    report_options,
    to_text_table,
    warnings_as_notes,
)
from jaxrate.core.text_format import format_count


@click.command(
    cls=VariadicColumnOptionsCommand,
    examples=(
        "jaxrate rate games.csv --player Ada",
        "jaxrate rate games.csv --system glicko2 --param tau=0.3 --out season",
        "jaxrate rate may.csv --state season --out season",
        "jaxrate rate --state season --as-of 2026-05-20 --active all",
        "jaxrate rate races.csv --contest race --participant driver --rank place",
        "jaxrate rate games.csv --contest game --team side --rank place",
    ),
)
@click.argument("file", metavar="[FILE]", required=False, type=NonEmptyPath())
@request_options(files=True)
@plain_option
@no_calibrate_option
@click.option("--state", type=NonEmptyPath(path_type=Path), metavar="DIR", help="Continue from the run saved there.")
@click.option("--as-of", metavar="DATE", help="Leave out later results, and show the ratings of that date.")
@click.option("--player", metavar="NAME", help=f"List a player's last {SHOWN_EVENTS} matches or contests.")
@click.option("--all-matches", is_flag=True, help="With --player: list all of their matches or contests.")
@click.option("--against", metavar="NAME", help="With --player: show the record of the two against each other.")
@click.option("--upsets", is_flag=True, help="List the biggest upsets; with --player, that player's.")
@click.option("--out", type=NonEmptyPath(path_type=Path), metavar="DIR", help="Save the run in this folder.")
@click.option("--csv", is_flag=True, help="With --out: save the tables as CSV, too.")
@click.option("--csv-safe", is_flag=True,
              help="As --csv, with an apostrophe before names that a spreadsheet would take for formulas.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="NUMBER",
              help="Length of the leaderboard.")  # fmt: skip
@click.option("--smooth", is_flag=True, help="With --system skills: also rate with hindsight, from the whole history.")
@click.option("--outlook", is_flag=True, help="Predict wins, draws and losses separately.")
@leaderboard_options
@click.option(
    "--since",
    metavar="DATE",
    help="Start date of the changes.  [default: 365 days before the end, or half the history if that is less]",
)
@click.option("--peaks", is_flag=True, help="List the highest ratings of all time.")
@click.option("--ranking-category", metavar="NAME", help="Rank by strength in this category, as a surface or a mode.")
@share_option("--last", default=1.0, help="Score only the last SHARE of the predictions, as 0.2.  [default: all]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--by", metavar="COLUMN", help="Rate each league in this column separately.")
@chunk_options
@report_options
def rate(
    report: ProgressReport,
    file: str | None,
    request: RatingRequest,
    state: Path | None,
    as_of: str | None,
    player: str | None,
    all_matches: bool,
    plain: bool,
    no_calibrate: bool,
    against: str | None,
    upsets: bool,
    out: Path | None,
    csv: bool,
    csv_safe: bool,
    top: int,
    smooth: bool,
    outlook: bool,
    leaderboard_arguments: dict[str, Any],
    since: str | None,
    peaks: bool,
    ranking_category: str | None,
    last: float,
    as_json: bool,
    by: str | None,
    **by_parts: Any,
) -> None:
    """Rate the players in FILE, a table of matches or contests (CSV, Parquet or a public format).

    Each match is predicted before its result is used. Prints the leaderboard and the accuracy of the predictions; with
    --player, that player alone.

    The system and the columns of the file that it learns from are chosen by default; --plain learns from results alone.

    --out saves the run: ratings, predictions and the state that --state, predict, season and site continue from.
    """
    from jaxrate.forecasts.draw_probabilities import add_fitted_outcomes
    from jaxrate.history.history import find_player_id
    from jaxrate.history.ratings_at_times import date_format_of_history_file
    from jaxrate.systems.draw_probability_wrapper import find_own_draw_predict_rule, has_outcome_wrapper

    if file is None and state is None:
        raise ValueError("name a FILE of matches or contests, or a saved run with --state")
    if file is not None and is_saved_run(file):
        raise ValueError(f"{file} is a saved run; name it with --state {shlex.quote(file)}")
    chunked = by_parts["chunk"] is not None or by_parts["brief"] or by_parts["resume"]
    if chunked and file is None:
        raise ValueError("--chunk, --brief and --resume need a FILE")
    if by is not None:
        if file is None:
            raise ValueError("--by needs a FILE")
        return rate_leagues(report, file, request, by, out, top, leaderboard_arguments, as_json, plain, no_calibrate)
    if file is not None and (chunked or ("format" not in request.columns and is_parquet_folder_or_pattern(file))):
        by_parts |= {"calibrate": False if no_calibrate else None}
        return rate_by_chunks(report, file, request, out, by_parts, top, as_json)
    if smooth:
        check_smooth_has_whole_history(state, file)
    if outlook and state is not None:
        raise ValueError("--outlook is for new runs; a saved run keeps its kind of predictions")
    if player is None and (against is not None or all_matches):
        raise ValueError(f"{'--all-matches' if all_matches else '--against'} needs --player")
    if (csv or csv_safe) and out is None:
        raise ValueError("--csv and --csv-safe need --out")
    if plain and state is not None:
        raise ValueError("--plain is for new runs; the saved run keeps its system")
    if no_calibrate and state is not None:
        raise ValueError("--no-calibrate is for new runs; a saved run keeps its kind of predictions")
    if last != 1 and file is None:
        raise ValueError("--last needs a FILE")
    if out is not None:
        check_output_folder("--out", out)
        if out.is_dir():
            lock_output_folder(
                out
            )  # before the run there is loaded: whoever carries on there, too, follows this command
    saved = None if state is None else jr.load(state)
    if saved is None:
        check_system_request(request)
    else:
        request = complete_request_from_saved_run(saved, request)
    quality_text, hindsight = "", None
    metrics: dict[str, float] = {}
    fits_draws = False
    if file is None:
        assert saved is not None
        rated = saved._replace(options=saved.options | {"columns": request.columns})
        until, since_time = (
            parse_time_option(*x, saved.clock, date_format_of_history_file(saved))
            for x in (("--as-of", as_of), ("--since", since))
        )
        if until is not None and saved.last is not None and until < saved.last and out is not None:
            raise ValueError(f"--out: the run in {state} ends after --as-of; rate its file again")
    else:
        if saved is None:
            data, request = read_events_with_evidence(report, file, request, plain=plain)
        else:
            data = read_events(report, file, request.columns, history=saved)
        until, since_time = (
            parse_time_option(*x, data.clock, data.dates) for x in (("--as-of", as_of), ("--since", since))
        )
        if until is not None:
            data = events_up_to(data, until, 0 if saved is None else len(saved.players))
        for name in filter(None, (player, against)):
            find_player_id(data.players, name)  # raises errors before rating
        if saved is None:
            task = choose_system(report, request, data, file)
            if outlook and not has_outcome_wrapper(task.system):
                predicting = jr.forecasts.add_outcomes(task.system)
                fits_draws = find_own_draw_predict_rule(task.system) is None
                if fits_draws and not data.of_matches:
                    raise ValueError(f"--outlook: {task.system.name} predicts no draws of contests")
                task = task if fits_draws else task._replace(system=predicting)
        else:
            task = check_system_and_hint(report, saved.system, data, saved.period, file, request.columns)
        task = task._replace(calibrate=False) if no_calibrate else task
        if out is not None:
            lock_output_folder(out)  # before rating
        hindsight = smooth_task(report, task) if smooth else None
        rated, quality_text, metrics = rate_and_evaluate_task(report, file, task, saved, last, request.changes)
        if fits_draws:
            rated = add_fitted_outcomes(rated)
            report.note("chances of draws are fitted to the matches before each; --param draw_odds=VALUE sets the odds")
        if last != 1 and request.fitted is not None:
            hint_scored_on_fitted_data(report, [request.fitted], file, last)
        from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
        from jaxrate.systems.system_construction_by_name import has_sides

        columns = columns_of_saved_run(rated.system, data, request.columns)
        teams = is_about_teams(file, request.columns) and not dataset_has_teams(data)  # whose members are rated
        teams = teams or bool(rated.options.get("teams"))
        about_file = {"columns": columns, "sided": has_sides(data), "teams": teams} | fitted_share(request.fitted, file)
        about_file["colours"] = is_about_colours(file, request.columns) or bool(rated.options.get("colours"))
        rated = rated._replace(options=rated.options | about_file)
        rated.options.setdefault("title", title_from_file(file))
        if is_shipped_dataset(file):
            rated.options["source"] = jr.data.datasets.NFL_SOURCE
    are_teams = bool(rated.options.get("teams"))
    note_time_outside_history(report, rated, until)
    sections: list[str | TextTable] = [_summary_line(rated)]
    category = find_category(rated, ranking_category)
    shown_time = time_of_shown_ratings(rated, until)
    board = jr.leaderboard(
        rated, top=top, as_of=shown_time, since=since_time, category=category, **leaderboard_arguments
    )
    if player is None:
        sections += [leaderboard_table(board, are_teams=are_teams), *strengths_by_category(rated, board), quality_text]
    json_values: dict[str, Any] = {"leaderboard": _columns_to_records(board)}
    if peaks:
        peaks_table = jr.history.peak_ratings(rated, top=top, cautious=leaderboard_arguments["cautious"])
        peaks_text = to_text_table(peaks_table)
        sections += ["the highest peak ratings", name_teams(peaks_text) if are_teams else peaks_text]
        json_values["peaks"] = _columns_to_records(peaks_table)
    tables: dict[str, Any] = {}
    if hindsight is not None:
        sections += peak_rating_sections(hindsight, top)
        json_values["hindsight"] = _columns_to_records(jr.history.peak_ratings(hindsight, top=top))
        tables["hindsight"] = smoothed_event_columns(hindsight, data)
    if upsets:
        upsets_table = jr.history.upsets(rated, player=player, top=top)
        sections += ["biggest upsets", to_match_table(upsets_table, rated.clock)]
        json_values["upsets"] = upsets_table.to_records()
    if player is not None and against is not None:
        meetings = jr.history.head_to_head(rated, player, against)
        sections += head_to_head_sections(meetings, rated.clock)
        json_values["against"] = meetings._asdict() | {"matches": meetings.matches.to_records()}
    elif player is not None:
        hindsight_columns = {} if hindsight is None else smoothed_career_columns(hindsight, player)
        career = career_up_to(jr.career(rated, player) | career_sides(rated, player) | hindsight_columns, until)
        sections += career_sections(rated, player, career, hindsight_columns, is_whole=all_matches)
        json_values["career"] = _columns_to_records(career)
    if out is not None:  # all arguments have proved right, and nothing was printed yet that could fail
        with report.stage(f"writing {out}"):
            longer_run = save_run(out, rated, tables, csv, csv_safe)
        if longer_run:
            report.warn(
                f"replaced {longer_run} in {out}; to go on with a run, name it with --state {shlex.quote(str(out))}"
            )
        report.note(f"saved the run to {out}")
    finite_metrics = {name: None if x is None or not np.isfinite(x) else x for name, x in metrics.items()}
    if as_json:
        print_escaped(json.dumps(_json_summary(rated) | finite_metrics | json_values, indent=1))
    else:
        print_sections(*sections)


def rate_and_evaluate_task(
    report: ProgressReport,
    file: str,
    task: RatingTask,
    saved: jr.History | None = None,
    last: float = 1.0,
    changes: dict[str, Any] | None = None,
) -> tuple[jr.History, str, dict[str, float]]:
    """The rated history, a text of its time and the metrics of the last share of its predictions, and these by name."""
    from jaxrate.evaluation.scored_predictions import (
        describe_constant_forecast,
        evaluate_predictions,
        make_scoring_target,
    )

    system, data, period, calibrate = task
    n, contests = len(data.rows), None if data.of_matches else data.rounds
    new_text = "" if saved is None else "new "
    num_events = n if contests is None else len(contests.player_start) - 1
    count_text = format_count(num_events, f"{new_text}{'match' if contests is None else 'contest'}")
    with report.stage(f"rating {count_text}"):
        start = time.perf_counter()
        with prefix_errors_with_file(file), warnings_as_notes(report):
            rated = jr.rate(system, data, period=period, onto=saved, calibrate=calibrate)
        seconds = time.perf_counter() - start
    if contests is not None:
        count_text += f", {format_count(n, 'participation')}"
    metrics = evaluate_predictions(rated, data, last)
    warn_worse_than_even(report, data, system.name, changes or {}, metrics, period, last)
    scored_text = "" if last == 1 else f"; the last {np.count_nonzero(make_scoring_target(data, last).mask):,} scored"
    constant = describe_constant_forecast(data, last, metrics.get("log loss"))
    lines = [*metric_lines(metrics), *(text.replace("FILE", quote(file)) for text in constant)]
    lines += calibration_lines(rated.system, rated.options)
    return rated, "\n".join([f"{count_text} in {seconds:.2f} s, compilation included{scored_text}", *lines]), metrics


def _json_summary(rated: jr.History) -> dict[str, Any]:
    """The system and the counts of a rated history, for JSON."""
    system, n = rated.system, len(rated.events["row"])
    counts = {"matches": n} if rated.contests is None else {"contests": rated.contests, "participations": n}
    summary = {"system": system.name, "params": system.params._asdict() | system.settings, "period": rated.period}
    return summary | counts | {"players": len(rated.players)}


def _columns_to_records(columns: Any) -> list[dict[str, Any]]:
    """A dict for each row of a table that is a NamedTuple of columns, or a dict of them."""
    from jaxrate.history.column_table import ColumnTable

    columns = columns if isinstance(columns, dict) else columns._asdict()
    return ColumnTable({name: x for name, x in columns.items() if np.ndim(x)}).to_records()


def _summary_line(rated: jr.History) -> str:
    """The system and the counts of a rated history, as text."""
    from jaxrate.history.history import describe_event_counts

    count = describe_event_counts(rated.num_rows, rated.contests)
    periods = "" if rated.period is None else f" in periods of {rated.period:g}"
    noun = "team" if rated.options.get("teams") else "player"
    return f"{rated.system.name}: {count} of {format_count(len(rated.players), noun)}{periods}"
