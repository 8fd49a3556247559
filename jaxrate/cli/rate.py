"""`jaxrate rate`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli import file_rating, options, terminal_tables
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import (
    Output,
    check_no_other_options,
    command,
    is_on_command_line,
    prefix_errors_with_file,
)
from jaxrate.cli.dry_run import describe_run
from jaxrate.cli.file_rating import RateOptions, Rating, RatingTask
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.option_names import name_options
from jaxrate.cli.options import RatingRequest, argument, complete_request_from_saved_run, lock_output_folder, option
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, columns_in_percent, label_team_columns, to_text_table
from jaxrate.core.text_format import format_count, format_decimals, format_unquoted_name, rating_decimals
from jaxrate.data.column_role_definitions import COLUMN_ROLES

MAX_FOLDER_LENGTH = 100  # bytes of the name of a folder


def rate_leagues(report: ProgressReport, request: RatingRequest, by: str, asked: RateOptions) -> Output:
    """Rate each league of a file alone, and save and show them one by one."""
    data, request = file_rating.read_events_with_evidence(report, request)
    league = file_rating.load_columns(file_rating.open_file_table(request.file), [by], "--by: ", as_texts=True)[by]
    task = file_rating.make_rating_task(report, request, data)
    with report.stage("rating leagues"), prefix_errors_with_file(request.file):
        leagues = jr.history.rate_leagues(task.system, task.data, league, period=task.period, calibrate=task.calibrate)
    facts = {"columns": request.columns}
    sections: list[Section] = []
    records = []
    for name, history in leagues.items():
        leagues[name] = history._replace(options=history.options | facts | {"title": str(name)})
        output = answer_questions(Rating(leagues[name]), asked)
        sections += [str(name), *output.sections]
        shared = "params", "period"
        records.append({by: str(name)} | {key: x for key, x in output.values.items() if key not in shared})
    if asked.out is not None:
        with report.stage(f"writing {asked.out}"), terminal_tables.warnings_as_notes(report):
            _save_leagues(asked.out, by, leagues)
        report.note(f"saved {len(leagues):,} runs to {asked.out}")
    return Output(sections, records)


def _save_leagues(out: Path, by: str, leagues: dict[Any, jr.History]) -> None:
    """Save a run for each league, and the ratings of all in a table with a column of the league."""
    for rated, folder in zip(leagues.values(), league_folders(leagues), strict=True):
        (out / folder).mkdir(parents=True, exist_ok=True)
        jr.save(out / folder, rated)
    tables = [jr.history.rating_table(rated) for rated in leagues.values()]
    column = np.repeat([*map(str, leagues)], [len(rated.players) for rated in leagues.values()])
    ratings = {name: np.concatenate([table[name] for table in tables]) for name in tables[0] if name != by}
    jr.data.write({by: column} | ratings, out / "leagues.parquet")


def league_folders(names: Iterable[Any]) -> list[str]:
    """A folder for each league, of letters, digits and dashes; those alike are numbered, long ones cut."""
    folders: dict[str, str] = {}  # by what of the name counts where case does not
    for name in map(str, names):
        text = re.sub(r"[^\w-]+", "_", name).strip("_").encode()[:MAX_FOLDER_LENGTH].decode(errors="ignore")
        text = folder = f"{text}-" if lazy.WINDOWS_RESERVED.fullmatch(text.lower()) else text or "league"
        while folder.lower() in folders:
            folder = f"{text}_{len(folders) + 1}"
        folders[folder.lower()] = folder
    return [*folders.values()]


SAMPLE_ROWS = 100_000  # that show what the system needs to know of the data, and how large margins are
ALLOWED_OPTIONS = (
    *("chunk", "brief", "plain", "system", "param", "period", "out", "top", "no-calibrate"),
    *(*COLUMN_ROLES, "sort", "column"),
)
CHUNK_HELP = (
    "Rate files in chunks of this many rows, in bounded memory, into --out; given again, it goes on there. "
    "Folders and patterns are always rated in chunks."
)
CHUNK_OPTIONS = (
    option("chunk", "NUMBER", CHUNK_HELP, default=1 << 20, needs="FILE"),
    option("brief", text="In chunks: save only the row and the prediction of each match.", needs="FILE"),
)


def rate_by_chunks(report: ProgressReport, request: RatingRequest, chunks: lazy.Chunks, asked: RateOptions) -> Rating:
    """Rate by chunks, into the folder of --out."""
    check_no_other_options(ALLOWED_OPTIONS, "rating in chunks")
    if unknown := [name for name in request.columns if name not in (*COLUMN_ROLES, "sort")]:
        raise ValueError(f"--column {unknown[0]} cannot be combined with rating in chunks")
    files = lazy.join_files(request.file)
    if asked.out is None:
        raise ValueError("the results of rating by chunks go into a folder; name one with --out")
    if (asked.out / "checkpoint").exists():
        report.note(f"going on with the run in {asked.out}")
    reading, task, columns = choose_reading_and_system(report, request, asked, files)
    n, noun = files.count_rows(), "participations" if reading.roles.contest else "matches"
    with report.stage(f"rating {n:,} {noun}", n, is_even=True) as progress:
        chunks = chunks._replace(progress=progress)
        rated = lazy.rate_by_chunks(
            task.system, reading, asked.out, chunks, columns, task.period, calibrate=task.calibrate
        )
    report.note(f"saved the run to {asked.out}")
    count = lazy.describe_event_counts(rated.num_rows, rated.contests)
    lines = [f"{count} in {rated.seconds['all']:.2f} s, reading, writing and compilation included"]
    lines += file_rating.quality_lines(rated, rated.quality, [], verbose=report.verbose)
    return Rating(rated, text="\n".join(lines), metrics=rated.quality)


def choose_reading_and_system(
    report: ProgressReport, request: RatingRequest, asked: RateOptions, files: Any
) -> tuple[Any, RatingTask, dict[str, Any]]:
    """How the files are read, the task of rating a sample of them, and their columns."""
    columns = {name: x for name, x in request.columns.items() if name != "sort"}
    sampled = SAMPLE_ROWS
    if asked.out is not None and (checkpoint := lazy.read_checkpoint(asked.out)):
        sampled = min(sampled, checkpoint[0].get("initial_rows", sampled))  # as at the beginning
    source = lazy.first_rows(files, sampled)._replace(noted=False)
    if not request.plain:
        evidence = file_rating.recognise_evidence_columns_of_file(request.file, columns, source)
        columns = {role: x for role, x in evidence.items() if role != "category"} | columns
    with warnings.catch_warnings(action="ignore"):  # which are those of the sample below
        reading = lazy.resolve_table_reading(files, columns)
    with terminal_tables.warnings_as_notes(report):
        sample = jr.read(source, sort=reading.roles.time is not None, **columns)
    sample = sample._replace(seasons=reading.seasons, categories=reading.categories)
    sample = file_rating.drop_unnamed_side(sample, request)
    return reading, file_rating.make_rating_task(report, request._replace(columns=columns), sample), columns


Section = str | TextTable
SHOWN_PLAYERS = 10  # of lists, the first ones
SHOWN_EVENTS = 20  # of a career, the last ones
RESULTS = {1.0: "W", 0.5: "D", 0.0: "L"}


def answer_questions(rating: Rating, asked: RateOptions) -> Output:
    """The leaderboard of a history, and what else is asked of it."""
    rated, top, events = rating.history, asked.top or SHOWN_PLAYERS, asked.top or SHOWN_EVENTS
    answers = [_answer_leaderboard(rating, asked)]
    if "peaks" in asked.show:
        cautious = asked.rules.get("cautious", 0.0)
        answers.append(_answer_peaks("peaks", rated, "the highest peak ratings", top, cautious=cautious))
    if rating.hindsight is not None:
        found: Any = rating.hindsight.hindsight
        title = f"peak ratings in hindsight (log likelihood {found.evidence:,.1f}, {found.sweeps} sweeps)"
        answers.append(_answer_peaks("hindsight", rating.hindsight, title, top))
    if "upsets" in asked.show:
        upsets = jr.history.upsets(rated, player=next(iter(asked.players), None), top=top)
        answers.append(Output(["biggest upsets", to_match_table(upsets, rated)], {"upsets": upsets.to_records()}))
    match asked.players:
        case one, other:
            answers.append(_answer_head_to_head(rated, one, other, events))
        case (player,):
            answers.append(_answer_career(rating, player, events))
    sections = [summary_line(rated), *(x for answer in answers for x in answer.sections)]
    values = dict(chain(*(answer.values.items() for answer in answers)))
    return Output(sections, json_summary(rated) | dict(rating.metrics) | values)


def json_summary(rated: jr.History) -> dict[str, Any]:
    """The system and the counts of a rated history, for JSON."""
    system, n = rated.system, rated.num_rows
    counts = {"matches": n} if rated.contests is None else {"contests": rated.contests, "participations": n}
    summary = {"system": system.name, "params": system.params._asdict() | system.settings, "period": rated.period}
    return summary | counts | {"players": len(rated.players)}


def summary_line(rated: jr.History) -> str:
    """The system and the counts of a rated history, as text."""
    count = lazy.describe_event_counts(rated.num_rows, rated.contests)
    periods = "" if rated.period is None else f" in periods of {rated.period:g}"
    return f"{rated.system.name}: {count} of {lazy.name_rated(rated.options).quantify(len(rated.players))}{periods}"


def leaderboard_sections(board: lazy.Leaderboard, rated: jr.History, *, is_cautious: bool) -> list[Section]:
    """Who leads, of cautious ratings without how far, and the board, whose caption names options for arguments."""
    scope = name_options(board.scope, click.get_current_context().command).splitlines()
    lines = [*scope, terminal_tables.first_rows_caption(len(board.rank), board.num_listed, "players")]
    lines.sort(key=lambda line: not line.startswith("ranked in groups"))
    table = label_team_columns(to_text_table(board, "\n".join(filter(None, lines))), rated)
    half, first = lazy.half_widths(board.deviation), board.first_group()
    if half is not None:
        table = table._replace(spans=terminal_tables.intervals_to_draw(board.rating, half))
    if not len(first.rank):
        return [table]
    names, unit = [*map(str, first.player)][: 1 if is_cautious else None], lazy.rating_unit(rated.system)
    return [str(lazy.find_lead(names, first.rating, first.get("deviation", 0.0 * first.rating), unit)), table]


def _answer_leaderboard(rating: Rating, asked: RateOptions) -> Output:
    """The leaderboard; it is not printed beside a player."""
    rated, until, rules = rating.history, rating.until, dict(asked.rules)
    if until is not None and rated.period is not None and rated.last is not None and until >= rated.last:
        until = max(until, float(lazy.period_end(rated.last, rated.period)))  # the last period is rated to its end
    dates = lazy.input_date_format(rated)
    rules["since"] = file_rating.parse_moment("--list since", rules.get("since"), rated.clock, dates)
    rules["category"] = _find_category(rated, rules.get("category"))
    board = jr.leaderboard(rated, top=asked.top or SHOWN_PLAYERS, as_of=until, **rules)
    sections: list[Section] = []
    if not asked.players:
        shown = leaderboard_sections(board, rated, is_cautious=bool(rules.get("cautious")))
        sections = [*shown, *_strengths_by_category(rated, board), rating.text]
    return Output(sections, {"leaderboard": board.to_records()})


def _answer_peaks(name: str, rated: jr.History, title: str, top: int, **rules: Any) -> Output:
    """The highest ratings of all time, at the time or in hindsight."""
    peaks = jr.history.peak_ratings(rated, top=top, **rules)
    records = lazy.as_column_table(peaks).to_records()
    return Output([title, label_team_columns(to_text_table(peaks), rated)], {name: records})


def _answer_career(rating: Rating, player: str, count: int) -> Output:
    """The career of a player up to a time, with hindsight if there is any."""
    rated = rating.history
    career = jr.career(rated, player) | career_sides(rated, player)
    if rating.hindsight is not None:
        in_hindsight = jr.career(rating.hindsight, player)
        career |= {"hindsight": in_hindsight["rating"], "its_deviation": in_hindsight["deviation"]}
    if rating.until is not None:
        is_shown = lazy.times_to_event_clock(career["time"]) <= rating.until
        career = {name: x[is_shown] for name, x in career.items()}
    sections = career_sections(rated, player, career, count)
    return Output(sections, {"career": lazy.ColumnTable(career).to_records()})


def _answer_head_to_head(rated: jr.History, one: str, other: str, count: int) -> Output:
    """How it stands between two players, and their last matches, in the order and the columns of a career."""
    meetings = jr.history.head_to_head(rated, one, other)
    career = jr.career(rated, one) | career_sides(rated, one)
    met = career.pop("opponent") == meetings.opponent
    matches = {name: x[met] for name, x in career.items()}
    matches["opponents_rating"] = meetings.matches["opponents_rating"][::-1]
    total, summary = int(met.sum()), meetings.summary
    summary += f"; the last {count} (--top {total} for all)" * (count < total)
    sections = [summary, *career_sections(rated, one, matches, count)[1:]]
    values = vars(meetings) | {"matches": lazy.ColumnTable(matches).to_records()}
    return Output(sections if total else sections[:1], {"against": values})


def _find_category(rated: jr.History, text: str | None) -> Any:
    """The category of a history that is written so; other text as it is, which no history has."""
    categories = [] if rated.categories is None else rated.categories.tolist()
    return next((name for name in categories if str(name) == text), text)


def _strengths_by_category(rated: jr.History, board: lazy.Leaderboard) -> list[TextTable]:
    """The strengths of the leaders in or against each category of which something is known."""
    columns = jr.history.rating_table(rated)
    names = [name for name in columns if name.startswith("modifier ") and columns[name].any()]
    if not names:
        return []
    rows = [columns["player"].tolist().index(name) for name in board.player]
    rating = columns["rating"][rows]
    digits = rating_decimals(rating)
    cells = [[format_decimals(x, digits) for x in rating + columns[name][rows]] for name in names]
    head = "strength against" if rated.system.name == "category_glicko" else "strength by category"
    headings = [head, *(name.removeprefix("modifier ") for name in names)]
    return [TextTable(headings, [*zip(board.player, *cells, strict=True)], (head,))]


def career_sides(rated: jr.History, name: str) -> dict[str, Any]:
    """The column `side` of a career of matches: at home or away, or the colours; empty if the history has no sides."""
    if "side" not in rated.events:
        return {}
    rows = rated.rows.of_player(lazy.find_player_id(rated.players, name))
    words = ("black", "", "white") if rated.options.get("colours") else ("away", "", "home")
    return {"side": np.array(words)[rows.column("side").astype(int) + 1]}


def career_sections(rated: jr.History, name: str, career: dict[str, Any], count: int = SHOWN_EVENTS) -> list[Section]:
    """The last `count` events of the career of a player, with the ratings after them, as pages have it."""
    kind, total = "match" if rated.contests is None else "contest", len(career["rating"])
    shown = {key: x[-count:] for key, x in (career | {"rating": career["rating"] + career["change"]}).items()}
    table = _name_career_columns(to_text_table(columns_in_percent(_arrange_career(shown, rated.clock))), rated)
    caption = f"The player's rating is after each {kind}, all else before it."
    if rated.system.settings.get("outcome") == "margin":
        caption += "\nA win by less than was expected costs points, as the system learns from margins."
    extent = f", the last {count} of them (--top {total} for all)" if count < total else ""
    title = f"{format_unquoted_name(name)}: {format_count(total, kind)}{extent}"
    return [title, table._replace(caption=caption, left_aligned=("date", "time", "opponent", "contest"))]


def _arrange_career(career: dict[str, Any], clock: str | None) -> dict[str, Any]:
    """The columns of a career in their order, with both points in one; narrow terminals leave out the last ones."""
    columns = _replace_scores_by_results(career)
    if clock is None:
        del columns["time"]
    if "points" in columns:
        pairs = zip(columns["points"].tolist(), columns.pop("opponents_points").tolist(), strict=True)
        columns["points"] = np.array([f"{x:g}\u2013{y:g}".replace("nan\u2013nan", "") for x, y in pairs])
    names = [*columns]
    before, after = names[: names.index("rating")], names[names.index("rating") :]
    order = dict.fromkeys(["time", "opponent", "side", *before, "change", *after])
    return {name: columns[name] for name in order if name in columns}


def _replace_scores_by_results(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns with a result, as W, in place of the score, where they have one."""
    named = {"result" if name == "score" else name: x for name, x in columns.items()}
    if "result" in named:
        named["result"] = np.array([RESULTS.get(x, f"{x:g}") for x in named["result"].tolist()])
    return named


def _name_career_columns(table: TextTable, rated: jr.History) -> TextTable:
    """A table of events with the headings of careers: their date, the expected score, whose rating."""
    words = {"probability": "expected"} | ({"time": "date"} if rated.clock == "dates" else {})
    headings = [words.get(x, re.sub(r"s rating$", "'s rating", x)) for x in table.headings]
    return table._replace(headings=headings, left_aligned=(*table.left_aligned, "date"))


def to_match_table(matches: Any, rated: jr.History, caption: str = "", top: int | None = None) -> TextTable:
    """Matches in the words of careers, with the expected score in percent."""
    return _name_career_columns(
        to_text_table(columns_in_percent(_replace_scores_by_results(matches)), caption, top), rated
    )


OF_ONE_HISTORY = (  # options that a rating league by league does not take
    *("--state", "--as-of", "--player", "--show", "--csv", "--outlook", "--chunk", "--brief", "--format"),
)
NOT_DESCRIBED = "--state", "--by", "--as-of", "--player", "--list", "--show", "--outlook"  # by --dry-run
SHOWN = "peaks", "upsets", "hindsight"
SHOW_HELP = "Also show the highest ratings of all time (peaks), the biggest upsets, or ratings in hindsight."


@command(
    argument("file", "[FILE]", is_file=True, required=False),
    *options.reading_options(),
    options.plain_option,
    "System",
    *options.system_options(),
    option("outlook", text="Predict wins, draws and losses separately.", excludes=("--state",),
           reason=options.KEEPS_PREDICTIONS),
    options.no_calibrate_option,
    "Saved runs",
    option("state", "DIR", "Continue from the run saved there."),
    option("as-of", "DATE", "Leave out later results, and show the ratings of that date."),
    "Leaderboard and history",
    option("top", "NUMBER", f"Length of the lists.  [default: 10, or {SHOWN_EVENTS} of --player]",
           least=1),
    options.list_option(options.LEADERBOARD_RULES),
    option("player", "NAME", "List a player's last matches or contests; given twice, the record of the two.",
           to="players", multiple=True),
    option("show", "|".join(SHOWN), SHOW_HELP, type=click.Choice(SHOWN), multiple=True),
    "Large files and several leagues",
    option("dry-run", text="Rate nothing; tell what FILE has, the memory that it takes, and the rate of this machine.",
           needs="FILE", excludes=NOT_DESCRIBED),
    option("by", "COLUMN", "Rate each league in this column separately.", needs="FILE", excludes=OF_ONE_HISTORY),
    *CHUNK_OPTIONS,
    "Output",
    option("out", "DIR", "Save the run in this folder.", type=options.OutputFolder()),
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
def rate(report: ProgressReport, by: str | None, dry_run: bool, chunk: int, brief: bool, **values: Any) -> Output:
    """Rate the players in FILE, a table of matches or contests (CSV, Parquet or a public format).

    Each match is predicted before its result is used. Prints the leaderboard and the accuracy of the predictions; with
    --player, that player alone.

    The system and the columns of the file that it learns from are chosen by default; --plain learns from results alone.

    --out saves the run: ratings, predictions and the state that --state, predict and site continue from.
    """
    request = options.pop_rating_request(values)
    asked = RateOptions(**values)
    _check_options(request, asked)
    is_folder = "format" not in request.columns and file_rating.is_parquet_folder_or_pattern(request.file)
    in_chunks = is_folder or is_on_command_line("chunk") or brief
    if dry_run:
        return describe_run(report, request, *_sample_for_dry_run(report, request, asked, in_chunks=in_chunks))
    if by is not None:
        return rate_leagues(report, request, by, asked)
    if in_chunks:
        return answer_questions(rate_by_chunks(report, request, lazy.Chunks(chunk, brief), asked), asked)
    if asked.out is not None and asked.out.is_dir():
        lock_output_folder(asked.out)  # before the run there is loaded: whoever carries on there follows this command
    saved = None if asked.state is None else jr.load(asked.state)
    rating = _rate_file(report, asked, request, saved) if request.file else _show_run(asked, request, saved)
    file_rating.note_time_after_history(report, rating.history, rating.until)
    output = answer_questions(rating, asked)
    if asked.out is not None:  # all arguments have proved right, and nothing was printed yet that could fail
        _save(report, asked.out, rating, csv=asked.csv)
    return output


def _check_options(request: RatingRequest, asked: RateOptions) -> None:
    """ValueError for options that contradict each other, or name nothing to rate."""
    file = request.file
    if not file and asked.state is None:
        raise ValueError("name a FILE of matches or contests, or a saved run with --state")
    if file and (Path(file) / "run.json").is_file():
        raise ValueError(f"{file} is a saved run; name it with --state {quote(file)}")
    if len(asked.players) > 2:
        raise ValueError(f"--player shows one player, or two against each other, got {len(asked.players)}")
    if "hindsight" in asked.show and asked.state is not None:
        raise ValueError("--show hindsight is of a whole history; rate its FILE without --state")


def _sample_for_dry_run(
    report: ProgressReport, request: RatingRequest, asked: RateOptions, *, in_chunks: bool
) -> tuple[RatingTask, int | None]:
    """What would be rated, and the number of rows of a file of which this is a sample, or None."""
    if in_chunks:
        files = lazy.join_files(request.file)
        return choose_reading_and_system(report, request, asked, files)[1], files.count_rows()
    data, request = file_rating.read_events_with_evidence(report, request)
    return file_rating.make_rating_task(report, request, data), None


def _show_run(asked: RateOptions, request: RatingRequest, saved: Any) -> Rating:
    """A run as it was saved; it cannot be saved anew up to an earlier time."""
    columns = complete_request_from_saved_run(saved, request).columns
    until = file_rating.parse_moment("--as-of", asked.as_of, saved.clock, lazy.input_date_format(saved))
    if until is not None and saved.last is not None and until < saved.last and asked.out is not None:
        raise ValueError(f"--out: the run in {asked.state} ends after --as-of; rate its file again")
    return Rating(saved._replace(options=saved.options | {"columns": columns}), until)


def _rate_file(report: ProgressReport, asked: RateOptions, request: RatingRequest, saved: jr.History | None) -> Rating:
    """The history of a file, carried on from a saved run if there is one."""
    if saved is None:
        data, request = file_rating.read_events_with_evidence(report, request)
    else:
        request = complete_request_from_saved_run(saved, request)
        data = file_rating.read_events(report, request.file, request.columns, history=saved)
    until = file_rating.parse_moment("--as-of", asked.as_of, data.clock, data.dates)
    file_rating.parse_moment("--list since", asked.rules.get("since"), data.clock, data.dates)  # raises before rating
    if until is not None:
        data = file_rating.events_up_to(data, until, 0 if saved is None else len(saved.players))
    file_rating.check_players_exist(data, asked.players)
    if saved is None:
        task = _choose_rating_task(report, asked, request, data)
    else:
        task = file_rating.check_system(report, saved.system, data, request)
    hindsight = file_rating.smooth_task(report, task) if "hindsight" in asked.show else None
    rating = file_rating.rate_and_evaluate_task(report, task, request, saved)
    history = rating.history
    if asked.outlook and not lazy.has_outcome_wrapper(history.system):
        report.note("chances of draws are fitted to the matches before each; --param draw_odds=VALUE sets the odds")
        history = lazy.add_fitted_outcomes(history)
    facts = {"title": file_rating.title_from_file(request.file)} | history.options
    facts |= file_rating.wording_facts_to_save(request, data, history.options)
    facts |= {"columns": file_rating.reading_options_to_save(history.system, data, request.columns)}
    if request.fitted.file == Path(request.file).name:
        facts["fitted_share"] = request.fitted.data_share
    return rating._replace(history=history._replace(options=facts), until=until, hindsight=hindsight)


def _choose_rating_task(
    report: ProgressReport, asked: RateOptions, request: RatingRequest, data: jr.data.Dataset
) -> RatingTask:
    """What to rate by which system, which predicts draws by rules of its own if these are asked for and it has them."""
    task = file_rating.make_rating_task(report, request, data)
    if not asked.outlook or lazy.has_outcome_wrapper(task.system):
        return task
    if lazy.find_own_draw_predict_rule(task.system) is not None:
        return task._replace(system=jr.forecasts.add_outcomes(task.system))
    if not data.of_matches:
        raise ValueError(f"--outlook: {task.system.name} predicts no draws of contests")
    return task


def _save(report: ProgressReport, out: Path, rating: Rating, *, csv: bool) -> None:
    """Save the run and its tables, if `csv` also for spreadsheets, and say what it replaced."""
    rated, tables = rating.history, dict[str, Any]()
    no_time = ["time"] * (rated.clock is None)
    if rating.hindsight is not None:
        columns = lazy.ColumnTable(rating.hindsight.columns()).drop_columns("participants", "teams", "team", *no_time)
        tables["hindsight"] = {name.replace("_after", ""): x for name, x in columns.items()}
    files: dict[str, Any] = {f"{name}.parquet": columns for name, columns in tables.items()}
    if csv:
        tables |= {"ratings": jr.history.rating_table(rated), "predictions": rated.predictions}
        files |= {f"{name}.csv": columns for name, columns in tables.items()}
    with report.stage(f"writing {out}"):
        lock_output_folder(out)
        longer_run = lazy.describe_longer_run(out, rated)
        lazy.write_run(out, rated, lazy.make_run_metadata(rated), files, csv)
    if longer_run:
        report.warn(f"replaced {longer_run} in {out}; to go on with a run, name it with --state {quote(str(out))}")
    report.note(f"saved the run to {out}")
