"""`jaxrate rate`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.chunked_rating import CHUNK_OPTIONS, rate_by_chunks
from jaxrate.cli.commands import Output, command
from jaxrate.cli.dry_run import describe_run
from jaxrate.cli.hyperparameters import fitted_share
from jaxrate.cli.input_options import (
    is_parquet_folder_or_pattern,
    is_saved_run,
    read_events,
    reading_options,
    title_from_file,
)
from jaxrate.cli.options import OutputFolder, argument, option
from jaxrate.cli.rate_output import SHOWN_EVENTS, answer_questions
from jaxrate.cli.rating import (
    RateOptions,
    Rating,
    check_players_exist,
    describe_file,
    events_up_to,
    note_time_outside_history,
    parse_span,
    rate_and_evaluate_task,
    smooth_task,
)
from jaxrate.cli.rating_by_league import rate_leagues
from jaxrate.cli.shared_options import (
    KEEPS_PREDICTIONS,
    LEADERBOARD_RULES,
    RatingRequest,
    complete_request_from_saved_run,
    list_option,
    lock_output_folder,
    no_calibrate_option,
    plain_option,
    pop_request,
    system_options,
)
from jaxrate.cli.system_selection import (
    RatingTask,
    check_system,
    choose_system,
    columns_of_saved_run,
    read_events_with_evidence,
)
from jaxrate.cli.terminal_tables import ProgressReport

OF_ONE_HISTORY = (  # options that a rating league by league does not take
    *("--state", "--as-of", "--player", "--show", "--csv", "--outlook", "--chunk", "--brief", "--format"),
)
SHOWN = "peaks", "upsets", "hindsight"
SHOW_HELP = "Also show the highest ratings of all time (peaks), the biggest upsets, or ratings in hindsight."


@command(
    argument("file", "[FILE]", is_file=True, required=False),
    *reading_options(),
    plain_option,
    "System",
    *system_options(),
    option("outlook", text="Predict wins, draws and losses separately.", excludes=("--state",),
           reason=KEEPS_PREDICTIONS),
    no_calibrate_option,
    "Saved runs",
    option("state", "DIR", "Continue from the run saved there."),
    option("as-of", "DATE", "Leave out later results, and show the ratings of that date."),
    "Leaderboard and history",
    option("top", "NUMBER", f"Length of the lists.  [default: 10, or {SHOWN_EVENTS} of --player]",
           least=1),
    list_option(LEADERBOARD_RULES),
    option("player", "NAME", "List a player's last matches or contests; given twice, the record of the two.",
           to="players", multiple=True),
    option("show", "|".join(SHOWN), SHOW_HELP, type=click.Choice(SHOWN), multiple=True),
    "Large files and several leagues",
    option("dry-run", text="Rate nothing; tell what FILE has, the memory that it takes, and the rate of this machine.",
           needs="FILE"),
    option("by", "COLUMN", "Rate each league in this column separately.", needs="FILE", excludes=OF_ONE_HISTORY),
    *CHUNK_OPTIONS,
    "Output",
    option("out", "DIR", "Save the run in this folder.", type=OutputFolder()),
    option("csv", text="Save the tables as CSV, too, with an apostrophe before names that a spreadsheet would take "
           "for formulas.", needs="--out"),
    usual=("a", "b", "score", "time", "system", "param", "player", "top", "out", "state"),
    examples=(
        "jaxrate rate games.csv --player Ada",
        "jaxrate rate games.csv --system glicko2 --param tau=0.3 --out season",
        "jaxrate rate may.csv --state season --out season",
        "jaxrate rate --state season --as-of 2026-05-20 --list active=all",
        "jaxrate rate races.csv --contest race --participant driver --rank place",
        "jaxrate rate games.csv --contest game --team side --rank place",
    ),
)  # fmt: skip
def rate(
    report: ProgressReport, by: str | None, dry_run: bool, chunk: int | None, brief: bool, **options: Any
) -> Output:
    """Rate the players in FILE, a table of matches or contests (CSV, Parquet or a public format).

    Each match is predicted before its result is used. Prints the leaderboard and the accuracy of the predictions; with
    --player, that player alone.

    The system and the columns of the file that it learns from are chosen by default; --plain learns from results alone.

    --out saves the run: ratings, predictions and the state that --state, predict and site continue from.
    """
    request = pop_request(options)
    asked = RateOptions(**options)
    _check_options(request, asked)
    if dry_run:
        return describe_run(report, request)
    if by is not None:
        return rate_leagues(report, request, by, asked)
    if chunk is not None or brief or ("format" not in request.columns and is_parquet_folder_or_pattern(request.file)):
        return answer_questions(rate_by_chunks(report, request, {"rows": chunk, "brief": brief}, asked), asked)
    if asked.out is not None and asked.out.is_dir():
        lock_output_folder(asked.out)  # before the run there is loaded: whoever carries on there follows this command
    saved = None if asked.state is None else jr.load(asked.state)
    rating = _rate_file(report, asked, request, saved) if request.file else _show_run(report, asked, request, saved)
    output = answer_questions(rating, asked)
    if asked.out is not None:  # all arguments have proved right, and nothing was printed yet that could fail
        _save(report, asked.out, rating, csv=asked.csv)
    return output


def _check_options(request: RatingRequest, asked: RateOptions) -> None:
    """ValueError for options that contradict each other, or name nothing to rate."""
    file = request.file
    if not file and asked.state is None:
        raise ValueError("name a FILE of matches or contests, or a saved run with --state")
    if file and is_saved_run(file):
        raise ValueError(f"{file} is a saved run; name it with --state {quote(file)}")
    if len(asked.players) > 2:
        raise ValueError(f"--player shows one player, or two against each other, got {len(asked.players)}")
    if "hindsight" in asked.show and (not file or asked.state is not None):
        raise ValueError("--show hindsight is of a whole history; rate its FILE without --state")


def _show_run(report: ProgressReport, asked: RateOptions, request: RatingRequest, saved: Any) -> Rating:
    """A run as it was saved; it cannot be saved anew up to an earlier time."""
    from jaxrate.history.ratings_at_times import date_format_of_history_file

    columns = complete_request_from_saved_run(saved, request).columns
    span = parse_span(asked, saved.clock, date_format_of_history_file(saved))
    if span.until is not None and saved.last is not None and span.until < saved.last and asked.out is not None:
        raise ValueError(f"--out: the run in {asked.state} ends after --as-of; rate its file again")
    note_time_outside_history(report, saved, span.until)
    return Rating(saved._replace(options=saved.options | {"columns": columns}), span)


def _rate_file(report: ProgressReport, asked: RateOptions, request: RatingRequest, saved: jr.History | None) -> Rating:
    """The history of a file, carried on from a saved run if there is one."""
    if saved is None:
        data, request = read_events_with_evidence(report, request)
    else:
        request = complete_request_from_saved_run(saved, request)
        data = read_events(report, request.file, request.columns, history=saved)
    span = parse_span(asked, data.clock, data.dates)
    if span.until is not None:
        data = events_up_to(data, span.until, 0 if saved is None else len(saved.players))
    check_players_exist(data, asked.players)
    if saved is None:
        task, fits_draws = _choose_task(report, asked, request, data)
    else:
        task, fits_draws = check_system(report, saved.system, data, request), False
    if asked.out is not None:
        lock_output_folder(asked.out)  # before rating
    hindsight = smooth_task(report, task) if "hindsight" in asked.show else None
    rating = rate_and_evaluate_task(report, task, request, saved)
    history = _fit_draws(report, rating.history) if fits_draws else rating.history
    note_time_outside_history(report, history, span.until)
    facts = {"title": title_from_file(request.file)} | history.options
    facts |= describe_file(request, data, history.options)
    facts |= {"columns": columns_of_saved_run(history.system, data, request.columns)}
    facts |= fitted_share(request.fitted, request.file)
    return rating._replace(history=history._replace(options=facts), span=span, hindsight=hindsight)


def _choose_task(
    report: ProgressReport, asked: RateOptions, request: RatingRequest, data: jr.data.Dataset
) -> tuple[RatingTask, bool]:
    """What to rate by which system, and whether the chances of draws are to be fitted afterwards."""
    from jaxrate.systems.prediction_wrapping import find_own_draw_predict_rule, has_outcome_wrapper

    task = choose_system(report, request, data)
    task = task._replace(calibrate=False) if asked.no_calibrate else task
    if not asked.outlook or has_outcome_wrapper(task.system):
        return task, False
    if find_own_draw_predict_rule(task.system) is not None:
        return task._replace(system=jr.forecasts.add_outcomes(task.system)), False
    if not data.of_matches:
        raise ValueError(f"--outlook: {task.system.name} predicts no draws of contests")
    return task, True


def _fit_draws(report: ProgressReport, history: jr.History) -> jr.History:
    """The history with chances of draws, fitted to the matches before each."""
    from jaxrate.forecasts.draw_probabilities import add_fitted_outcomes

    report.note("chances of draws are fitted to the matches before each; --param draw_odds=VALUE sets the odds")
    return add_fitted_outcomes(history)


def _save(report: ProgressReport, out: Path, rating: Rating, *, csv: bool) -> None:
    """Save the run and its tables, if `csv` also for spreadsheets, and say what it replaced.

    Ratings in hindsight are a table of their own; those of an earlier run are removed.
    """
    from jaxrate.history.saved_runs import describe_longer_run, make_run_metadata, write_run
    from jaxrate.storage.atomic_folder import OPTIONAL_FILES

    rated, tables = rating.history, dict[str, Any]()
    if rating.hindsight is not None:
        hidden = {"participants", "teams", "team", *(["time"] if rated.clock is None else [])}
        columns = rating.hindsight.columns().items()
        tables["hindsight"] = {name.replace("_after", ""): x for name, x in columns if name not in hidden}
    other_files: dict[str, Any] = dict.fromkeys(OPTIONAL_FILES)
    other_files |= {f"{name}.parquet": columns for name, columns in tables.items()}
    if csv:
        tables |= {"ratings": jr.history.rating_table(rated), "predictions": rated.predictions}
        other_files |= {f"{name}.csv": columns for name, columns in tables.items()}
    with report.stage(f"writing {out}"):
        lock_output_folder(out)
        longer_run = describe_longer_run(out, rated)
        write_run(out, rated, make_run_metadata(rated), other_files, csv)
    if longer_run:
        report.warn(f"replaced {longer_run} in {out}; to go on with a run, name it with --state {quote(str(out))}")
    report.note(f"saved the run to {out}")
