"""`jaxrate rate`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import jaxrate as jr
from jaxrate.cli.chunked_rating import chunk_options, rate_by_chunks
from jaxrate.cli.commands import Output, argument, command, option
from jaxrate.cli.dry_run import describe_run
from jaxrate.cli.hyperparameters import fitted_share, hint_scored_on_fitted_data
from jaxrate.cli.input_options import (
    VariadicColumnOptionsCommand,
    is_parquet_folder_or_pattern,
    is_saved_run,
    read_events,
)
from jaxrate.cli.output_path_checks import check_output_folder, title_from_file
from jaxrate.cli.rate_output import SHOWN_EVENTS, answer_questions
from jaxrate.cli.rate_times import TimeSpan, events_up_to, note_time_outside_history, parse_time_option
from jaxrate.cli.rating import (
    RateOptions,
    Rating,
    describe_file,
    rate_and_evaluate_task,
    smooth_task,
    smoothed_event_columns,
)
from jaxrate.cli.rating_by_league import rate_leagues
from jaxrate.cli.shared_options import (
    KEEPS_PREDICTIONS,
    LEADERBOARD_OPTIONS,
    RatingRequest,
    complete_request_from_saved_run,
    last_option,
    lock_output_folder,
    no_calibrate_option,
    request_options,
    save_run,
)
from jaxrate.cli.system_selection import (
    RatingTask,
    check_system_and_hint,
    check_system_request,
    choose_system,
    columns_of_saved_run,
    read_events_with_evidence,
)
from jaxrate.cli.terminal_tables import ProgressReport

OF_ONE_HISTORY = (  # options that a rating league by league does not take
    *("state", "as-of", "player", "against", "upsets", "csv", "csv-safe", "smooth", "outlook", "since", "peaks"),
    *("last", "chunk", "brief", "resume", "format"),
)


@command(
    argument("file", "[FILE]", is_file=True, required=False),
    request_options(files=True),
    no_calibrate_option,
    option("state", "DIR", "Continue from the run saved there."),
    option("as-of", "DATE", "Leave out later results, and show the ratings of that date."),
    option("player", "NAME", f"List a player's last {SHOWN_EVENTS} matches or contests."),
    option("all-matches", text="List all of their matches or contests.", needs="player"),
    option("against", "NAME", "Show the record of the two against each other.", needs="player"),
    option("upsets", text="List the biggest upsets; with --player, that player's."),
    option("out", "DIR", "Save the run in this folder."),
    option("csv", text="Save the tables as CSV, too.", needs="out"),
    option("csv-safe", text="As --csv, with an apostrophe before names that a spreadsheet would take for formulas.",
           needs="out"),
    option("top", "NUMBER", "Length of the leaderboard.", default=10, least=1),
    option("smooth", text="With --system skills: also rate with hindsight, from the whole history.", needs="file",
           excludes=("state",), reason="hindsight is of a whole history; rate its FILE without --state"),
    option("outlook", text="Predict wins, draws and losses separately.", excludes=("state",),
           reason=KEEPS_PREDICTIONS),
    *LEADERBOARD_OPTIONS,
    option("since", "DATE", "Start date of the changes.  [default: 365 days before the end, or half the history if "
           "that is less]"),
    option("peaks", text="List the highest ratings of all time."),
    option("ranking-category", "NAME", "Rank by strength in this category, as a surface or a mode."),
    last_option,
    option("by", "COLUMN", "Rate each league in this column separately.", needs="file", excludes=OF_ONE_HISTORY),
    option("dry-run", text="Rate nothing; tell what FILE has, the memory that it takes, and the rate of this machine.",
           needs="file"),
    chunk_options,
    cls=VariadicColumnOptionsCommand,
    examples=(
        "jaxrate rate games.csv --player Ada",
        "jaxrate rate games.csv --system glicko2 --param tau=0.3 --out season",
        "jaxrate rate may.csv --state season --out season",
        "jaxrate rate --state season --as-of 2026-05-20 --active all",
        "jaxrate rate races.csv --contest race --participant driver --rank place",
        "jaxrate rate games.csv --contest game --team side --rank place",
    ),
)  # fmt: skip
def rate(
    report: ProgressReport, request: RatingRequest, by: str | None, dry_run: bool, chunk: int | None, brief: bool,
    resume: bool, **options: Any,
) -> Output:  # fmt: skip
    """Rate the players in FILE, a table of matches or contests (CSV, Parquet or a public format).

    Each match is predicted before its result is used. Prints the leaderboard and the accuracy of the predictions; with
    --player, that player alone.

    The system and the columns of the file that it learns from are chosen by default; --plain learns from results alone.

    --out saves the run: ratings, predictions and the state that --state, predict, season and site continue from.
    """
    asked = RateOptions(**options)
    file = request.file
    check_output_folder("--out", asked.out)
    if not file:
        if asked.state is None:
            raise ValueError("name a FILE of matches or contests, or a saved run with --state")
        return _rate_and_answer(report, asked, request)
    if is_saved_run(file):
        raise ValueError(f"{file} is a saved run; name it with --state {quote(file)}")
    if dry_run:
        return describe_run(report, request)
    if by is not None:
        return rate_leagues(report, request, by, asked)
    is_folder = "format" not in request.columns and is_parquet_folder_or_pattern(file)
    if chunk is not None or brief or resume or is_folder:
        settings = {"chunk": chunk, "brief": brief, "resume": resume}
        return rate_by_chunks(report, request, settings, asked)
    return _rate_and_answer(report, asked, request)


def _rate_and_answer(report: ProgressReport, asked: RateOptions, request: RatingRequest) -> Output:
    """Rate a file, or load a run; answer what is asked of it; and save it."""
    if asked.out is not None and asked.out.is_dir():
        lock_output_folder(asked.out)  # before the run there is loaded: whoever carries on there follows this command
    saved = None if asked.state is None else jr.load(asked.state)
    if saved is None:
        check_system_request(request)
    else:
        request = complete_request_from_saved_run(saved, request)
    if not request.file:
        assert saved is not None
        rating, span = _show_saved_run(saved, asked, request)
    else:
        rating, span = _rate_file(report, asked, request, saved)
    note_time_outside_history(report, rating.history, span.until)
    output = answer_questions(rating, asked, span)
    if asked.out is not None:  # all arguments have proved right, and nothing was printed yet that could fail
        _save(report, asked.out, rating, asked)
    return output


def _show_saved_run(saved: jr.History, asked: RateOptions, request: RatingRequest) -> tuple[Rating, TimeSpan]:
    """A run as it was saved; it cannot be saved anew up to an earlier time."""
    from jaxrate.history.ratings_at_times import date_format_of_history_file

    history = saved._replace(options=saved.options | {"columns": request.columns})
    span = _parse_span(asked, saved.clock, date_format_of_history_file(saved))
    if span.until is not None and saved.last is not None and span.until < saved.last and asked.out is not None:
        raise ValueError(f"--out: the run in {asked.state} ends after --as-of; rate its file again")
    return Rating(history, "", {}, {}), span


def _parse_span(asked: RateOptions, clock: str | None, dates: str | None) -> TimeSpan:
    """The times of --as-of and --since."""
    options = {"--as-of": asked.as_of, "--since": asked.since}
    return TimeSpan(*(parse_time_option(name, text, clock, dates) for name, text in options.items()))


def _rate_file(
    report: ProgressReport, asked: RateOptions, request: RatingRequest, saved: jr.History | None
) -> tuple[Rating, TimeSpan]:
    """The history of a file, carried on from a saved run if there is one."""
    from jaxrate.history.history import find_player_id

    if saved is None:
        data, request = read_events_with_evidence(report, request)
    else:
        data = read_events(report, request.file, request.columns, history=saved)
    span = _parse_span(asked, data.clock, data.dates)
    if span.until is not None:
        data = events_up_to(data, span.until, 0 if saved is None else len(saved.players))
    for name in filter(None, (asked.player, asked.against)):
        find_player_id(data.players, name)  # raises errors before rating
    task, fits_draws = _choose_task(report, asked, request, data, saved)
    if asked.out is not None:
        lock_output_folder(asked.out)  # before rating
    hindsight = smooth_task(report, task) if asked.smooth else None
    rating = rate_and_evaluate_task(report, task, request, saved, asked.last)
    history = rating.history
    if fits_draws:
        from jaxrate.forecasts.draw_probabilities import add_fitted_outcomes

        history = add_fitted_outcomes(history)
        report.note("chances of draws are fitted to the matches before each; --param draw_odds=VALUE sets the odds")
    if asked.last != 1 and request.fitted is not None:
        hint_scored_on_fitted_data(report, [request.fitted], request.file, asked.last)
    facts = {"title": title_from_file(request.file)} | history.options | describe_file(request, data, history)
    facts |= {"columns": columns_of_saved_run(history.system, data, request.columns)}
    facts |= fitted_share(request.fitted, request.file)
    tables = {} if hindsight is None else {"hindsight": smoothed_event_columns(hindsight, data)}
    return rating._replace(history=history._replace(options=facts), hindsight=hindsight, tables=tables), span


def _choose_task(
    report: ProgressReport,
    asked: RateOptions,
    request: RatingRequest,
    data: jr.data.Dataset,
    saved: jr.History | None,
) -> tuple[RatingTask, bool]:
    """What to rate by which system, and whether the chances of draws are to be fitted afterwards."""
    from jaxrate.systems.draw_probability_wrapper import find_own_draw_predict_rule, has_outcome_wrapper

    if saved is not None:
        return check_system_and_hint(report, saved.system, data, request), False
    task = choose_system(report, request, data)
    task = task._replace(calibrate=False) if asked.no_calibrate else task
    if not asked.outlook or has_outcome_wrapper(task.system):
        return task, False
    if find_own_draw_predict_rule(task.system) is not None:
        return task._replace(system=jr.forecasts.add_outcomes(task.system)), False
    if not data.of_matches:
        raise ValueError(f"--outlook: {task.system.name} predicts no draws of contests")
    return task, True


def _save(report: ProgressReport, out: Path, rating: Rating, asked: RateOptions) -> None:
    """Save the run, and say what it replaced."""
    with report.stage(f"writing {out}"):
        longer_run = save_run(out, rating.history, rating.tables, asked.csv, asked.csv_safe)
    if longer_run:
        report.warn(f"replaced {longer_run} in {out}; to go on with a run, name it with --state {quote(str(out))}")
    report.note(f"saved the run to {out}")
