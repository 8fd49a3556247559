"""Rating a file: what it holds, by which system it is rated, the history, its quality, and times in it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from inspect import signature, unwrap
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import is_on_command_line, prefix_errors, prefix_errors_with_file
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.options import (
    HyperparameterFileContents,
    RatingRequest,
    is_shipped_dataset,
)
from jaxrate.cli.terminal_tables import ProgressReport, warnings_as_notes
from jaxrate.core.text_format import (
    contest_metrics_notes,
    format_count,
    join_names,
    metric_heading,
    most_similar_name,
    to_one_line,
)
from jaxrate.data.column_role_definitions import is_pgn_file

ABBREVIATION = re.compile(r"\b([b-df-hj-np-tv-xz]{2,4}|atp|wta|nba|wnba|ncaa|epl|ufc|mma|afl|ipl|uefa|fifa|fide)\b")


def title_from_file(file: str) -> str:
    """A title from the name of a file, as "Our league" from our_league.csv, or "NFL" from nfl."""
    text = re.sub(r"[\s_-]+", " ", Path(file).name.partition(".")[0]).strip()
    text = ABBREVIATION.sub(lambda word: word[0].upper(), text)
    return text[:1].upper() + text[1:] or "Ratings"


def find_format(file: str, options: dict[str, Any]) -> str:
    """The public format of a file; "" of a table."""
    return options.get("format") or "pgn" * is_pgn_file(file)


def published_forecasts(file: str, data: jr.data.Dataset) -> dict[str, Any]:
    """The forecasts that were published with the shipped league, by name; none for other files."""
    return {"FiveThirtyEight": jr.data.datasets.nfl_forecast()[data.rows]} if is_shipped_dataset(file) else {}


def has_chess_colours(file: str, options: dict[str, Any]) -> bool:
    """Whether the side of a file is White: games of chess, or columns such as white and black."""
    are_named = {"white", "black"} <= {*map(str.lower, column_names(file, options))}
    return are_named or find_format(file, options) in ("pgn", "lichess")


def column_names(file: str, options: dict[str, Any]) -> list[str]:
    """The names of the columns of a table; none of a public format."""
    return [] if find_format(file, options) else open_file_table(file).names


_load_shipped_columns = cache(lambda: jr.data.datasets.nfl_columns())  # which a command reads more than once


def open_file_table(file: str) -> Any:
    """The table of a file, a folder or a pattern, or of the league that ships."""
    return lazy.open_table_source(_load_shipped_columns() if is_shipped_dataset(file) else file)


def load_columns(source: Any, names: Iterable[str], option: str = "", *, as_texts: bool = False) -> dict[str, Any]:
    """Columns of a table by their names; ValueError, which begins with the option, as "--by: ", if it lacks one."""
    wanted = list(dict.fromkeys(names))
    with prefix_errors(option), lazy.add_location_to_data_errors(source.title, source.where):
        lazy.check_columns_exist_and_unique(source.names, wanted)
        loaded = source.load(wanted, wanted if as_texts else ()) if wanted else {}
        return {name: loaded[name] for name in wanted}


def load_match_columns(
    file: str, data: jr.data.Dataset, columns_by_name: dict[str, list[str]], option: str = ""
) -> dict[str, Any]:
    """[n] or [n, K] numbers of the matches, by name, from columns of a file, NaN where missing."""
    if not columns_by_name:
        return {}
    numbers = _load_numbers(file, [*chain(*columns_by_name.values())], option)
    rows = np.asarray(data.rows)[np.asarray(data.events.start)[:-1]]
    if any(rows.max(initial=0) >= len(x) for x in numbers.values()):
        raise ValueError(f"{option}{file} is read from several tables, whose columns cannot be told apart")
    values = {key: [numbers[name][rows] for name in columns] for key, columns in columns_by_name.items()}
    return {key: np.stack(x, axis=1) if len(x) > 1 else x[0] for key, x in values.items()}


def _load_numbers(file: str, names: list[str], option: str) -> dict[str, Any]:
    """Columns of a file as numbers, NaN where there is none."""
    arrow, source, numbers = lazy.import_pyarrow(), open_file_table(file), {}
    loaded = load_columns(source, names, option)
    with lazy.add_location_to_data_errors(source.title, source.where):
        for name, x in loaded.items():
            column: Any = lazy.to_column(name, x)
            column = arrow.compute.utf8_rtrim(column, characters=" %") if lazy.is_text(column) else column
            numbers[name] = lazy.to_numbers(name, column, np.nan)
    return numbers


def is_parquet_folder_or_pattern(file: str) -> bool:
    """Whether this is a folder of Parquet files, or a pattern."""
    path = Path(file or "*")  # an empty path is the folder where one is
    return any(path.glob("*.parquet")) or bool({*"*?["} & {*file} and not path.exists())


def reader_argument_names(reader: Callable[..., jr.data.Dataset]) -> list[str]:
    """The options that a format takes: its own, and further ones where it passes these on."""
    names = [*signature(unwrap(reader)).parameters]
    return names + [*lazy.COLUMN_OPTIONS, *lazy.DATASET_OPTIONS, "skip_incomplete"] * ("options" in names)


def read_events(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    *,
    source: Any = None,
    first: int | None = None,
    history: jr.History | None = None,
) -> jr.data.Dataset:
    """The events of a file, as reading options say, or of its first rows, after those of a history."""
    file_format = find_format(file, options)
    arguments = {name: x for name, x in options.items() if name != "format"}
    with report.stage(f"reading {Path(file).name}"), warnings_as_notes(report):
        if file_format and first is not None:
            raise ValueError(f"--first reads the first rows of a table, and {file} holds games of {file_format}")
        if file_format:
            return lazy.read_by_cli_options(file, arguments, history, _find_reader(file_format, arguments))
        whole = _open_table(file) if source is None else source
        if first is not None and first < (count := whole.count_rows()):
            report.note(f"read the first {first:,} of {count:,} rows")
        return lazy.read_by_cli_options(lazy.first_rows(whole, first), arguments, history)


def _open_table(file: str) -> Any:
    """The table of a file; ValueError for a folder of no tables."""
    if Path(file).is_dir() and not is_shipped_dataset(file) and not lazy.list_table_files(Path(file)):
        raise ValueError(f"{file} is a folder; say what it holds with --format ({', '.join(jr.data.formats.FORMATS)})")
    return open_file_table(file)


def _find_reader(name: str, arguments: dict[str, Any]) -> Callable[..., jr.data.Dataset]:
    """The reader of a public format; ValueError if it does not take the arguments."""
    reader = jr.data.formats.FORMATS[name]
    if foreign := sorted(arguments.keys() - reader_argument_names(reader)):
        option = foreign[0].replace("_", "-")
        raise ValueError(f"--{option} cannot be combined with --format {name}, which knows its own columns")
    return reader


# Which system is meant, the columns that it learns from, and notes on what it makes of the data.

SKILLS = "skills"  # the system that learns from margins and surfaces


def read_events_with_evidence(
    report: ProgressReport, request: RatingRequest, first: int | None = None
) -> tuple[jr.data.Dataset, RatingRequest]:
    """The events of a file with all that improves predictions, and the request with columns recognised."""
    if request.plain:
        return drop_unnamed_side(read_events(report, request.file, request.columns, first=first), request), request
    recognised = recognise_evidence_columns_of_file(request.file, request.columns)
    data, evidence = _read_events_with_readable_evidence(report, request, recognised, first)
    if "margin" in evidence and not has_informative_margins(data):
        data, evidence = data._replace(margin=()), {role: x for role, x in evidence.items() if role != "margin"}
    return data, request._replace(columns=evidence | request.columns)


def drop_unnamed_side(data: jr.data.Dataset, request: RatingRequest) -> jr.data.Dataset:
    """The data without sides, if they are plain and no option names the side."""
    if not request.plain or is_on_command_line("side") or not data.of_matches:
        return data
    return data._replace(events=data.matches._replace(context=data.matches.context._replace(side=None)))


def has_informative_margins(data: jr.data.Dataset) -> bool:
    """Whether margins are more than results: some of matches are above 1."""
    if not data.of_matches:
        return True
    columns: Any = data.matches.context.columns
    lead = lazy.first_player_lead([np.asarray(columns[name], float) for name in data.margin])
    return bool(np.any(np.abs(lead) > 1.0))


def recognise_evidence_columns_of_file(
    file: str, columns: dict[str, Any], table: lazy.TableSource | None = None
) -> dict[str, Any]:
    """The arguments of `read` for columns that improve predictions, by the names of columns."""
    if file_format := find_format(file, columns):
        evidence = lazy.FORMAT_EVIDENCE.get(file_format, {})
        return {role: x for role, x in evidence.items() if role not in columns}
    with suppress(ValueError, OSError):  # reading the file says what is wrong
        table = open_file_table(file) if table is None else table
        evidence = lazy.recognise_evidence_columns(table.names, columns)
        if "margin" not in {*columns, *evidence}:
            points = lazy.points_in_scorelines(table, lazy.select_role_arguments(columns))
            evidence |= {"margin": points} if points else {}
        return _settle_margin(table, columns, evidence)
    return {}


def _settle_margin(table: lazy.TableSource, columns: dict[str, Any], evidence: dict[str, Any]) -> dict[str, Any]:
    """The evidence with the column of results that tells who won, if it has points; without these if sets differ."""
    if "margin" not in evidence or "score" in columns:
        return evidence
    roles, na_values = lazy.select_role_arguments(columns), columns.get("na_values", ())
    resolved = lazy.resolve_table(table, roles, False, columns.get("dates"), na_values)
    if lazy.do_points_contradict(resolved, evidence["margin"]):
        return {role: x for role, x in evidence.items() if role != "margin"}
    score = None if resolved.notation else resolved.recognised["score"]
    return evidence if score is None else evidence | {"score": score}


def _read_events_with_readable_evidence(
    report: ProgressReport, request: RatingRequest, evidence: dict[str, Any], first: int | None
) -> tuple[jr.data.Dataset, dict[str, Any]]:
    """The events with the evidence that can be read, and this evidence; notes say what cannot."""
    try:
        return read_events(report, request.file, request.columns | evidence, first=first), evidence
    except ValueError as error:
        if not evidence:  # the error is about the results
            raise
        reason = to_one_line(str(error))
    failed = {x for x in evidence if any(str(y) in reason for y in (x, *np.atleast_1d(evidence[x])))} or evidence
    readable = {role: x for role, x in evidence.items() if role not in failed}
    events_and_evidence = _read_events_with_readable_evidence(report, request, readable, first)
    report.note(f"a column was recognised, but is not used: {reason}")
    return events_and_evidence


class RatingTask(NamedTuple):
    """Data to rate, and by which system."""

    system: jr.extend.RatingSystem
    data: jr.data.Dataset  # without teams if the system has none
    period: float | None  # the length of the rating periods
    calibrate: bool | None = None  # as in `jr.rate`


def make_rating_task(
    report: ProgressReport,
    request: RatingRequest,
    data: jr.data.Dataset,
    *,
    fitting: bool = False,
    data_share: float = 1.0,
) -> RatingTask:
    """The requested system, or the default one; ValueError if it cannot rate these events.

    Notes say what it learns from, and what in the data changes nothing; with `fitting` nothing of the side advantage,
    which is fitted, and the system has what `add_parts_to_fit` adds. The choice uses the first share `data_share` of
    the data alone.
    """
    changes = drop_fitted_seasons_from_changes(data, request.fitted, request.changes)
    name = request.name or lazy.default_system_name(data)
    try:
        system = lazy.make_system_for_data(name, changes, request.period, data, data_share)
    except ValueError as error:
        prefix = "" if request.name else f"without --system it is {name} for these data: "
        raise ValueError(f"{prefix}{error}{_suggest_param(error, is_named=bool(request.name))}") from None
    if fitting:
        system = lazy.add_parts_to_fit(system, changes, data, round(len(data.rows) * data_share))
    else:
        note_evidence(report, system, data)
        note_idle_side_advantage(report, data, [system])
    space = {} if system.space is None else system.space._asdict()
    is_tuned = bool(request.fitted.system) or any(space[key].fitted for key in changes if key in space)
    task = check_system(report, system, data, request)
    return task._replace(calibrate=not (is_tuned or request.no_calibrate))


def _suggest_param(error: ValueError, *, is_named: bool) -> str:
    """The end of a message that a system lacks a hyperparameter, if it has none like it and too many to list."""
    if not isinstance(error, lazy.UnknownParameterError) or error.hint:
        return ""
    owners: dict[str, str] = {}
    for other in () if is_named else (*lazy.BASELINES, *jr.extend.ALL_SYSTEMS):
        owners = dict.fromkeys(jr.extend.ALL_SYSTEMS[other]().params._fields, other) | owners
    similar = most_similar_name(error.name, owners)
    if similar is not None:
        return f"; did you mean {similar!r} of --system {owners[similar]}?"
    return f"; jaxrate systems {error.system} lists them"


def drop_fitted_seasons_from_changes(
    data: jr.data.Dataset, fitted: HyperparameterFileContents, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """The changes that a file of hyperparameters asks for, without its seasons where the data have their own."""
    seasons = fitted.values.get("seasons") if data.seasons else None
    return {key: x for key, x in changes.items() if not (key == "seasons" and x == seasons)}


def check_system(
    report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset, request: RatingRequest
) -> RatingTask:
    """What to rate by a system that exists already; ValueError if it cannot rate these events."""
    period = request.period
    if system.events == (jr.Periods,) and period is None:
        period = system.params.period
        report.note(f"{system.name} rates in periods, here of {period:g}; set their length with --period")
    check_period(data, period)
    if not lazy.can_rate_dataset(system, data):
        raise ValueError(f"{system.name} does not rate {data.events.nouns}; jaxrate systems tells which systems do")
    with prefix_errors_with_file(request.file):
        lazy.check_contests_in_time_order(system, data)
    rated_data = lazy.split_unsupported_teams(system, data)
    _note_unused_data(report, system, data)
    if rated_data is not data:
        others = join_names(lazy.systems_with_feature("teams"), "or")
        report.note(f"{system.name} does not use teams: team-mates count as opponents who tie; take {others}")
    if data.clock is None and period is None and "period" in system.params._fields:
        report.note("no column of dates, so uncertainty does not grow with time; name one with --time")
    return RatingTask(system, rated_data, period)


def check_period(data: jr.data.Dataset, period: float | None) -> None:
    """ValueError if these events cannot be rated in periods."""
    if period is not None and not data.of_matches:
        raise ValueError("rating periods are of matches of two, not of contests; leave out --period")
    if period is not None and data.clock is None:
        raise ValueError("rating periods need times; name the column of time with --time")


EVIDENCE_SETTINGS = {  # settings of systems, by the arguments of `read` that they are for
    **dict.fromkeys(("category", "mixtures"), "categories"),
    "margin": "margin",
    "covariates": "covariates",
    **dict.fromkeys(("rest", "layoff", "activity", "form", "category_lead", "age", "venue"), "covariates"),
    "season": "seasons",
    "league_season": "league_season",
    "expected_goals": "expected_goals",
}


def reading_options_to_save(
    system: jr.extend.RatingSystem, data: jr.data.Dataset, columns: dict[str, Any]
) -> dict[str, Any]:
    """The reading options that a saved run keeps: those of the result, and of what its system uses."""
    used = {name for name, value in system.settings.items() if name != "expected_goals" or value}
    if data.margin == data.points:  # which tell who has won, so that the file cannot be read without them
        used.add("margin")
    return {key: x for key, x in columns.items() if EVIDENCE_SETTINGS.get(key) in {None, *used}}


def _note_unused_data(report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset) -> None:
    """Say in a line what of the data changes nothing, and what learns from it."""
    if unused := [name for name, is_used in lazy.use_of_data_features(system, data).items() if not is_used]:
        report.note(f"{system.name} does not use {join_names(unused)}" + f"; take {SKILLS}" * (system.name != SKILLS))


def note_evidence(report: ProgressReport, system: jr.extend.RatingSystem, data: jr.data.Dataset) -> None:
    """Say in a line what the system learns from beside results, as "the side (50 points), margins and seasons"."""
    if used := [name for name, is_used in lazy.use_of_data_features(system, data).items() if is_used]:
        points = lazy.format_side_advantage(getattr(system.params, "side_advantage", None) or 0.0)
        text = join_names(used).replace("the side", f"the side ({points} points)")
        report.note(f"{system.name} also learns from {text}; --plain turns this off")


def note_idle_side_advantage(
    report: ProgressReport, data: jr.data.Dataset, systems: Iterable[jr.extend.RatingSystem]
) -> None:
    """A note if systems of matches have a side advantage, and nobody has the side."""
    points = [getattr(system.params, "side_advantage", None) for system in systems]
    if data.of_matches and any(points) and not lazy.has_sides(data):
        report.note("side_advantage has no effect, as nobody has the side; name its column with --side")


# The history.


class RateOptions(NamedTuple):
    """What is rated, which questions are asked of it, and where it is saved; see the options of the command."""

    state: Path | None
    out: Path | None
    csv: bool
    outlook: bool
    as_of: str | None
    players: tuple[str, ...]
    show: tuple[str, ...]
    top: int | None
    rules: dict[str, Any]  # of the leaderboard


class Rating(NamedTuple):
    """A rated history, and what is known about it beside."""

    history: jr.History
    until: float | None = None  # the time of --as-of, on the clock of the history
    text: str = ""  # how long it took, and how well it was predicted
    metrics: Mapping[str, Any] = {}  # of the predictions
    hindsight: jr.History | None = None


def rate_and_evaluate_task(
    report: ProgressReport, task: RatingTask, request: RatingRequest, saved: jr.History | None = None
) -> Rating:
    """Rate, carrying on from a saved run if there is one, and score the predictions."""
    system, data, period, calibrate = task
    kind, count = ("match" if data.of_matches else "contest"), len(data.events.start) - 1
    counts = format_count(count, kind if saved is None else f"new {kind}")
    with report.stage(f"rating {counts}"), prefix_errors_with_file(request.file), warnings_as_notes(report):
        start = time.perf_counter()
        history = jr.rate(system, data, period=period, onto=saved, calibrate=calibrate)
        seconds = time.perf_counter() - start
    counts += "" if data.of_matches else f", {format_count(len(data.rows), 'participation')}"
    metrics = lazy.evaluate_predictions(history, data)
    losses: dict[str, Any] = {"the predictions": metrics.get("log loss")}
    constant, warnings = lazy.describe_constant_forecast(data, 1.0, losses)
    constant = constant * report.verbose + [f"{x} To do better: {'; '.join(lazy.WAYS_OUT)}" for x in warnings]
    lines = [f"{counts} in {seconds:.2f} s, compilation included"]
    lines += quality_lines(history, metrics, constant, verbose=report.verbose)
    return Rating(history, text="\n".join(lines).replace("FILE", quote(request.file)), metrics=metrics)


def quality_lines(
    rated: jr.History, metrics: Mapping[str, float | None], constant: list[str], *, verbose: bool
) -> Iterator[str]:
    """The metrics, what those of contests are, and the lines on a `constant` forecast; or more."""
    yield "; ".join(f"{metric_heading(name)} {lazy.format_metric(name, value)}" for name, value in metrics.items())
    yield from contest_metrics_notes(metrics)
    yield from constant
    if verbose and (text := lazy.describe_calibration(rated.system, rated.options)):
        yield text + " (--no-calibrate turns this off.)" * (lazy.OPTION in rated.options)


def check_players_exist(data: jr.data.Dataset, names: Iterable[str]) -> None:
    """ValueError if one of these names is of no player."""
    for name in names:
        lazy.find_player_id(data.players, name)


def wording_facts_to_save(request: RatingRequest, data: jr.data.Dataset, before: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a file has sides and colours, or goes on with such a run, and where it is from."""
    file = request.file
    colours = has_chess_colours(file, request.columns) or bool(before.get("colours"))
    facts: dict[str, Any] = {"sided": lazy.has_sides(data), "colours": colours}
    return facts | ({"source": jr.data.datasets.NFL_SOURCE} if is_shipped_dataset(file) else {})


def smooth_task(report: ProgressReport, task: RatingTask) -> jr.History:
    """The history with hindsight; ValueError for a system that has none."""
    if task.system.name != SKILLS:  # of its forms `smooth` says which it lacks
        raise ValueError(f"--show hindsight needs --system skills: {task.system.name} has no hindsight")
    kind = "matches" if task.data.of_matches else "participations"
    with report.stage(f"smoothing {len(task.data.rows):,} {kind}"):
        return jr.smooth(task.system, task.data)


def parse_moment(option: str, text: str | None, clock: str | None, dates: str | None) -> float | None:
    """The end of a day, or a moment, where the events have dates that are written so; else a number."""
    if text is not None and clock is None:
        raise ValueError(f"{option} needs times; name the column of time with --time")
    time = parse_library_time(option, text, clock)
    if not isinstance(time, str):
        return time
    days = lazy.parse_moment(time, dates)
    return float(np.nextafter(days + 1, 0)) if ":" not in time and days == np.floor(days) else days


def parse_library_time(option: str, text: str | None, clock: str | None) -> Any:
    """A time as functions of the library take it: text where the history has dates, else a number."""
    if text is None:
        return None
    try:
        time: Any = text if clock == "dates" else float(text)
        lazy.parse_moment(time, None)
    except ValueError:
        raise ValueError(f"{option} {text}: write a date as 2026-05-31, or a number where times are numbers") from None
    return time


def note_time_after_history(report: ProgressReport, rated: jr.History, until: float | None) -> None:
    """A note if --as-of is so long after the last result that nobody is active any more."""
    if until is None or rated.last is None or rated.clock != "dates":
        return
    if until > rated.last + lazy.DEFAULT_ACTIVE_DAYS + 1:
        report.note(f"--as-of is after the last result, of {lazy.format_time(rated.last, rated.clock)}")


def events_up_to(data: jr.data.Dataset, until: float, num_known_players: int) -> jr.data.Dataset:
    """The events up to a time, and their players; the first `num_known_players` stay in any case."""
    is_later = np.asarray(data.events.flat.time) > until
    keep = ~np.logical_or.accumulate(is_later)
    if not keep.any():
        raise ValueError(f"no {data.events.nouns} up to --as-of")
    return lazy.select_events(data, keep, num_known_players)
