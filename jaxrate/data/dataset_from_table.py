"""`read`: a table becomes a dataset of matches or contests."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_argument
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import join_names
from jaxrate.data.column_conversion import distinct_cells, load_columns, missing_mask, to_flags, to_numbers
from jaxrate.data.column_recognition import (
    SIDE_NOTE,
    ColumnsRecognisedWarning,
    ResolvedTable,
    date_columns,
    recognise_evidence_columns,
    resolve_table,
)
from jaxrate.data.column_role_definitions import (
    Columns,
    as_column_list,
    document_roles,
    select_role_arguments,
)
from jaxrate.data.column_spellings import (
    HOME_AND_AWAY,
    NAME_TEMPLATES,
    SPELLINGS,
    WORDS_OF_SIDES,
    Header,
    normalise_column_name,
    spell_pairs,
)
from jaxrate.data.dataset_names import check_known_categories, mix_categories, unify_names
from jaxrate.data.date_parsing import (
    STYLE_DESCRIPTIONS,
    check_date_style,
    is_date_style,
    parse_further_times,
    parse_times,
)
from jaxrate.data.derived_covariates import DERIVED_COLUMNS, GROUND_FADE, add_derived_column, find_lacking_role
from jaxrate.data.event_tables import (
    DrawRule,
    NamesOfEarlierData,
    PlayedAndComingMasks,
    TableRows,
    build_dataset,
    check_points_not_negative,
    doubts_about_unplayed_rows,
    expand_line_up_cells,
    hide_results_in_play,
    label_codes,
    names_of_earlier_data,
    parse_result_columns,
    score_drawn_matches,
    split_by_result,
)
from jaxrate.data.faulty_rows import (
    describe_example_rows,
    describe_share,
    doubts_about_mirrored_matches,
    doubts_about_repeated_matches,
    find_incomplete_rows,
    find_later_mirrors,
    map_row_errors,
    warn_caller,
)
from jaxrate.data.lookalike_names import doubts_about_names
from jaxrate.data.match_margins import doubts_about_margins
from jaxrate.data.result_parsing import MIN_AGREEMENT, Notation, check_texts, winner_codes_notation
from jaxrate.data.role_resolution import ColumnRoles, check_line_up_roles
from jaxrate.data.table_files import find_opener_by_methods, is_list_of_paths, open_table_source
from jaxrate.data.table_sources import Column, TableSource, add_location_to_data_errors, import_pyarrow
from jaxrate.events import doubts_about_single_participants, fail_where, rewrite_row_errors
from jaxrate.events.dataset import Dataset, check_dataset


class TableConventions(NamedTuple):
    """How the results and the times of a table are written, as its first rows show."""

    notation: Notation | None  # of results; None: there is no column of them
    draws: Sequence[DrawRule]  # what may tell which matches are drawn
    clock: str | None  # as in `Dataset`
    date_style: str | None  # how dates are written, if that had to be found out


def convert_columns(
    resolved: ResolvedTable,
    rows: TableRows,
    dates: str | None = None,
    na_values: Sequence[str] = (),
    unfinished: Sequence[str] = (),
    conventions: TableConventions | None = None,
) -> TableRows:
    """The rows, of which results, line-ups in cells and times are as events are built from.

    Args:
      resolved: the roles of the columns.
      rows: of the table.
      dates: how dates in text are written, as in `read`.
      na_values: texts that say that there is no result, as in `read`.
      unfinished: ranks of those who did not finish, as in `read`.
      conventions: how the table is written; None: that is found out.

    Raises:
      RowError: where a row is not as the others are.
    """
    codes = resolved.winner_codes
    notation, rules = (None, None) if conventions is None else conventions[:2]
    notation = notation if codes is None else winner_codes_notation(codes)
    with map_row_errors(rows.rows):
        rows, side_note = expand_line_up_cells(rows), ""
        if rows.roles.num_first:  # of which columns called as home is tell no side
            check_line_up_roles(resolved.arguments)
            rows, side_note = (
                rows.change({}, side=None, constant_side=None, neutral=None),
                SIDE_NOTE,
            )  # of home and away
        rows = rows._replace(notes=(*rows.notes, *(note.removesuffix(side_note) for note in resolved.notes)))
        rows = parse_result_columns(rows, na_values, unfinished, notation)
        rows = score_drawn_matches(hide_results_in_play(rows), rules)
        check_points_not_negative(rows)
        time = rows.roles.time
        if time is None:
            return rows
        if conventions is None:
            times = parse_times(time, rows.columns[time], dates, na_values)
        else:
            times = parse_further_times(time, rows.columns[time], conventions.clock, conventions.date_style)
        return rows.change({time: times.to_column()})._replace(clock=times.clock, date_style=times.style)


@document_roles
def read(
    source: Any,
    *,
    sort: bool = False,
    upcoming: bool = False,
    dates: str | None = None,
    na_values: Sequence[str] = (),
    on_faulty: Literal["error", "skip"] = "error",
    history: Any = None,
    unfinished: Sequence[str] = (),
    **columns: Unpack[Columns],
) -> Dataset:
    """Checked matches from a table with one row per match, or rounds from one with one row per participant.

        data = jr.read("games.csv")
        data = jr.read([{"winner": "Ada", "loser": "Bo"}, {"winner": "Bo", "loser": "Cy"}])

    A file with columns a, b, score or winner, loser or contest, player, rank (and perhaps time, date or t) needs no
    arguments. The case of these names does not matter. Other usual names are recognised as well: home and away, white
    and black, team1 and team2, winner_name and loser_name in their spellings, goals or points of both sides, results
    and dates, some of them in other languages. A note says which columns were recognised as what, and arguments
    overrule it. All other columns are used only if named. Names of players and categories become ids in order of first
    appearance, reading the rows of the source from the top and a before b; in CSV they are text ("007" stays that), and
    an empty field is missing. CSV may be separated by commas, or by semicolons, tabs or | if the header has no comma,
    and be UTF-8, UTF-16 or Windows-1252. Objects in JSON become columns as "team.name". Of a spreadsheet the first
    sheet is read, or the one that is named, as in "games.xlsx#Sheet2".

    Args:
      source: a path to .parquet, .csv, .tsv, .txt, .json or .jsonl (all but the first also .gz, .bz2 or .zst), .xlsx or
        .ods, or "-" for standard input; a folder, a pattern or a list of files that are one table, as `rate` takes
        them; a pandas, polars or Arrow table, a lazy frame of polars, a relation or result of DuckDB, anything else
        that is a stream of Arrow's C interface, a dict of arrays or lists, or a list of dicts, one per row, which
        may be nested as JSON is. Of lazy frames and relations only the columns that are used are made.
      COLUMNS: the roles of `data.column_roles.COLUMN_ROLES`, each the name of a column.
      sort: put the rows in order of time (stable, contests as wholes). Otherwise a time that decreases is an error; in
        contests it is one only to systems in which time passes.
      upcoming: the events are to come. They are put in order of time, and no score or margin is read: 0.5 and 0 stand
        in for them, or in contests a tie of all players and teams. Where some rows have a result, those are left out.
      dates: how dates in text are written that are not ISO: "day-first", "month-first" or a format of `strptime`. None:
        as they are clear, by the name of the month, the year in front, or a day above 12.
      na_values: texts that say that there is no result, or no margin, beside "P", "P-P", "postp.", "NA", "-" and others
        that are usual; case does not matter. "-1" is the number, too, in columns of numbers. In contests they say who
        did not take part, as "DNS": with them, rows without a rank or score are left out, and a note counts them.
      on_faulty: "skip" leaves out rows in which a column that is used has no value, or nothing but blanks; they are an
        "error" otherwise. A missing ceiling is none, and a time that is missing everywhere is no time.
      history: an earlier `Dataset`, or a `History`: its players and categories keep their ids, and others come after;
        its seasons keep their beginnings, and others begin after them. Or a list of players in order of id.
      unfinished: texts in the column of ranks, as "DNF", of those who did not finish; case does not matter. They tie
        with each other, behind all of their contest who have a rank.

    Raises:
      ValueError: names the file, the bad rows of the source, up to ten (counting from 0; in CSV also their lines),
        their contests or the column, and what is wrong with them; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.

    Warns:
      UserWarning: about columns that were recognised, and rows that have no result; if a and b name columns called as
        home and away are, without side; if contests have a single participant, since systems of ranks learn nothing
        from them; if names of players, categories, contests or seasons differ only by letter case, blanks or Unicode
        form, or by accents; if matches with times repeat an earlier one exactly; if a margin has another sign than the
        score; if rows were skipped.
    """
    import_pyarrow()
    opened = open_table_source(source)
    with add_location_to_data_errors(opened.title, opened.where):
        earlier = names_of_earlier_data(history)
        arguments = check_read_arguments(columns, upcoming, on_faulty, dates, na_values, unfinished)
        resolved = resolve_table(opened, arguments, upcoming, dates, na_values)
        loaded = load_rows(resolved.table, resolved.roles)
        converted = convert_columns(resolved, loaded, dates, na_values, unfinished)
        check_times_to_sort_by(converted, sort)
        split = split_by_result(converted, na_values)
        used = _select_played_or_upcoming_rows(converted, split, upcoming)
        warn_about_columns(resolved, used, dates)
        warn_of_each(doubts_about_unplayed_rows(split, converted.rows, upcoming))
        used = _skip_incomplete_rows(used) if on_faulty == "skip" else used
        advice = "; on_faulty='skip' leaves such rows out"
        with rewrite_row_errors(lambda row, message: (row, message + advice * (" has no value" in message))):
            dataset = build_dataset(used, earlier, sort or upcoming)
            if used.roles.drop_mirrored and dataset.of_matches:
                mirrors = dataset.rows[find_later_mirrors(dataset.matches)]
                dataset = build_dataset(used.keep(~np.isin(used.rows, mirrors)), earlier, sort or upcoming)
        dataset = _add_fixtures(dataset, converted, split.coming & (not upcoming))
    warn_of_each(_doubts_about_dataset(dataset, resolved.table, earlier, upcoming))
    if not upcoming:
        warn_of_each([unused_points_hint(resolved.table, dataset, converted.roles)], ColumnsRecognisedWarning)
    return dataset._replace(
        dates=converted.date_style if is_date_style(converted.date_style) else None,
        played=int(split.played.sum()) if upcoming and not split.played.all() else 0,
        upcoming=upcoming,
    )


def warn_of_each(messages: Iterable[str], category: type[Warning] = UserWarning) -> None:
    """A warning for each of these messages that says something."""
    for message in filter(None, messages):
        warn_caller(message, category)


def check_times_to_sort_by(converted: TableRows, sort: bool) -> None:
    """ValueError if rows are to be sorted, and have no times."""
    time = converted.roles.time
    if sort and time is None:
        raise ValueError("sort=True needs a column of time")
    if sort and missing_mask(converted.columns[str(time)]).all():
        raise ValueError(f"sort=True needs times, but column {time!r} has no value")


def check_read_arguments(
    columns: Mapping[str, Any], upcoming: Any, on_faulty: Any, dates: Any, na_values: Any, unfinished: Any
) -> dict[str, Any]:
    """The columns by role, None for others; ValueError unless these can be arguments of `read`."""
    arguments = select_role_arguments(columns)
    check_argument("read", "upcoming", bool, upcoming)
    check_argument("read", "on_faulty", Literal["error", "skip"], on_faulty)
    for role in ("age", "expected_goals"):
        check_argument("read", role, str | Sequence[str] | None, arguments[role])
    check_argument("read", "statistics", str | Sequence[str] | Mapping[str, Any] | None, arguments["statistics"])
    check_date_style(dates)
    check_texts("na_values", na_values)
    check_texts("unfinished", unfinished)
    return arguments


def _select_played_or_upcoming_rows(table: TableRows, split: PlayedAndComingMasks, upcoming: bool) -> TableRows:
    """The rows that are rated, or that are to come; ValueError if there are none."""
    if split.played.all() or (upcoming and not split.played.any()):
        return table
    keep = split.coming if upcoming else split.played
    if not keep.any():
        hint = "" if upcoming else "; `jaxrate predict` takes matches to come; upcoming=True reads them"
        raise ValueError(f"no row {'without a result is to come' if upcoming else 'has a result'}{hint}")
    return table.keep(keep)


def _add_fixtures(data: Dataset, table: TableRows, is_coming: HostArray) -> Dataset:
    """The dataset with the rows that are to come, if there are some."""
    if not is_coming.any():
        return data
    coming = table.keep(is_coming)
    coming = coming._replace(roles=coming.roles._replace(upcoming=True, last_rank=None))
    fixtures = build_dataset(coming, names_of_earlier_data(data), True)
    return data._replace(fixtures=fixtures._replace(upcoming=True))


def _skip_incomplete_rows(table: TableRows) -> TableRows:
    """The rows that have all values; a warning counts the others. ValueError if none is left."""
    incomplete = find_incomplete_rows(table.roles, table.columns)
    if incomplete.any():
        examples = describe_example_rows(table.rows[incomplete])
        warn_caller(f"skipped {describe_share(incomplete)}, which lack a value: {examples}")
    if incomplete.all():
        raise ValueError("no rows are left: all of them lack a value")
    return table.keep(~incomplete)


def warn_about_columns(resolved: ResolvedTable, used: TableRows, dates: str | None) -> None:
    """Notes on what columns were taken for, and on those that may be something else."""
    table, roles, notes = resolved.table, used.roles, used.notes
    if roles.time is None and table.noted and (names := date_columns(table, roles.all_columns, dates)):
        verb = "has" if len(names) == 1 else "have"
        notes = *notes, f"nothing for the time, though {join_names(names)} {verb} dates"
    if used.date_style is not None and dates is None:
        notes = *notes, f"{roles.time} as dates, {STYLE_DESCRIPTIONS[used.date_style]}"
    if notes:
        warn_caller(f"took {'; '.join(notes)}; name columns to choose others", ColumnsRecognisedWarning)
    with map_row_errors(used.rows):
        hints = doubtful_roles_hints(resolved, roles, used.columns)
    warn_of_each(hints, ColumnsRecognisedWarning)


def _doubts_about_dataset(
    data: Dataset, table: TableSource, earlier: NamesOfEarlierData, upcoming: bool
) -> Iterator[str]:
    """The doubts about the events and the names of a table."""
    if not data.of_matches:
        yield from doubts_about_single_participants(data.rounds, data.contests)
    if not table.noted:
        return
    if data.of_matches and not upcoming:  # those to come have no scores
        yield from doubts_about_margins(data)
        yield from doubts_about_mirrored_matches(data.matches)
        yield from doubts_about_repeated_matches(data.matches, data.rows, table)
    yield from doubts_about_names("players", data.players, 0 if earlier.players is None else len(earlier.players))
    seasons = None if data.seasons is None else np.array([*data.seasons], object)
    for subject, names in {"categories": data.categories, "contests": data.contests, "seasons": seasons}.items():
        yield from () if names is None else doubts_about_names(subject, names, 0)


def load_rows(table: TableSource, roles: ColumnRoles) -> TableRows:
    """The rows of a table that are not dropped, with the columns that are used."""
    names = roles.all_columns
    columns = load_columns(table, names, roles.text_columns)
    n = len(columns[names[0]])
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, {names[0]!r} has {n}")
    if not n:
        raise ValueError("no rows")
    rows = TableRows(table, roles, columns, np.arange(n), (table.note,) if table.note else ())
    if not roles.drop:
        return rows
    keep = ~np.any([to_flags(name, columns[name]) for name in roles.drop], axis=0)
    if not keep.any():
        raise ValueError(f"no rows are left: {', '.join(map(repr, roles.drop))} drops them all")
    return rows.keep(keep)


def is_readable_source(data: Any) -> bool:
    """Whether `read` takes it: a path, a table of any package, a dict of columns, or a list of dicts."""
    if isinstance(data, (str, os.PathLike)):
        return True
    if isinstance(data, (list, tuple)) and not hasattr(data, "_fields"):
        return is_list_of_paths(data) or (bool(data) and all(isinstance(row, Mapping) for row in data))
    return find_opener_by_methods(data) is not None


# Hints about columns whose roles are doubtful: what else they may be, and what to say then


MAX_CODES = 2  # numbers below 1 in a column of ranks that stand for something else
MIN_DECIDED = 5  # matches with a winner that tell whether two columns hold the points of both


def doubtful_roles_hints(resolved: ResolvedTable, roles: ColumnRoles, columns: dict[str, Column]) -> Iterator[str]:
    """The doubts about the roles of columns, each with what to say instead.

    Args:
      resolved: the roles by the names of columns.
      roles: of the columns that are used.
      columns: their values.
    """
    if roles.contest is None:
        yield from _unused_side_hints(resolved, roles)
        return
    score, result = resolved.arguments["score"], roles.result
    if score is not None and normalise_column_name(score) in SPELLINGS["rank"]:
        advice = f"but of a score higher is better; say rank={score!r}"
        yield f"{score} looks like a rank, of which lower is better, {advice}"
    elif result is not None and not roles.ranked and score is None:
        yield f"{result}: the higher is the better; if lower is, say rank={result!r}"
    if roles.ranked and roles.last_rank is None and result in columns and not roles.upcoming:
        yield from _zero_ranks_hints(roles, columns)
    if roles.team is None:
        yield from _unused_team_hints(resolved, roles)


def _unused_side_hints(resolved: ResolvedTable, roles: ColumnRoles) -> Iterator[str]:
    """A hint that nobody has the home advantage, though columns are called as home, away or neutral ground are."""
    a, b = roles.first_players
    if roles.upcoming or roles.winner_first or resolved.recognised["side"] is not None:
        return
    nobody = "nobody has the home advantage"
    for name in Header.of_columns(resolved.table.names).find_columns(SPELLINGS["neutral"]):
        with suppress(ValueError):
            to_flags(name, load_columns(resolved.table, [name], ())[name])
            yield f"the column {name} is not used, as {nobody}; if {a} is at home, say side='a', neutral={name!r}"
            return
    pairs = chain(*(spell_pairs(NAME_TEMPLATES, sides) for sides in HOME_AND_AWAY))
    if (normalise_column_name(a), normalise_column_name(b)) in pairs:
        yield f"{a} and {b} look like home and away, but {nobody}; if the first has it, say side='a'"


def _zero_ranks_hints(roles: ColumnRoles, columns: dict[str, Column]) -> Iterator[str]:
    """A hint that ranks below 1 may say that somebody did not finish, if the others are places from 1.

    Raises:
      RowError: where a rank is below 1, unless all contests count from 0.
    """
    name = str(roles.result)
    try:
        rank, contest = to_numbers(name, columns[name]), label_codes(str(roles.contest), columns)[0]
    except ValueError:  # which building the contests tells
        return
    is_below, codes = rank < 1, np.unique(rank[rank < 1])
    has_zero, has_one = (np.bincount(contest[rank == x], minlength=contest.max() + 1) > 0 for x in (0, 1))
    if not 1 <= len(codes) <= MAX_CODES or np.mean(has_one) < MIN_AGREEMENT:
        return
    hint = f"if it is for those who did not finish, say unfinished=['{codes[0]:g}']"
    is_first_everywhere = codes.tolist() == [0] and has_zero.all()
    if rank.max() > 1 and not is_first_everywhere:
        fail_where(is_below, lambda row: f"column {name!r} is {rank[row]:g}, and ranks count from 1; {hint}")
    yield f"{name} counts from {codes[0]:g}, which is the best; {hint}"


def _unused_team_hints(resolved: ResolvedTable, roles: ColumnRoles) -> Iterator[str]:
    """A hint that a column is called as teams are, whose members share a rank, and nothing uses it."""
    named = [*chain(*map(as_column_list, resolved.recognised.values()))]
    teams = [x for x in Header.of_columns(resolved.table.names).find_columns(SPELLINGS["team"]) if x not in named]
    for team in teams[:1]:
        result = roles.result
        names = roles.contest, team, result
        if roles.upcoming or result is None or _do_share_results(resolved.table, names):
            yield f"the column {team} is not used; if those of a team share a rank, say team={team!r}"


def _do_share_results(table: TableSource, names: Sequence[Any]) -> bool:
    """Whether, of teams with several members in a contest, most have one rank; drivers of a team have their own.

    The names are those of the columns of contests, teams and ranks.
    """
    codes = np.stack([distinct_cells(column).codes for column in load_columns(table, names).values()])
    _, members = np.unique(codes[:2], axis=1, return_counts=True)
    _, ranks = np.unique(np.unique(codes, axis=1)[:2], axis=1, return_counts=True)
    several = members > 1
    return not several.any() or bool((ranks[several] == 1).mean() > 0.5)


def unused_points_hint(table: TableSource, data: Dataset, roles: ColumnRoles) -> str:
    """A hint that two unused columns of numbers tell who won, as the points of both sides do; or nothing."""
    if not (table.noted and data.of_matches) or _are_points_known(table, roles):
        return ""
    one, other = map(normalise_column_name, roles.first_players)
    words = [*WORDS_OF_SIDES, (one[:1], other[:1]), (one[-1:], other[-1:])]  # also ToreH and ToreG
    pairs = Header.of_columns([x for x in table.names if x not in roles.all_columns]).find_pairs_by_words(words)
    columns = load_columns(table, chain(*pairs), ())
    for x, y in pairs:
        if _do_tell_winners([columns[x], columns[y]], data):
            return f"{x} and {y} are not used; if they are the points of both, say margin=[{x!r}, {y!r}]"
    return ""


def _are_points_known(table: TableSource, roles: ColumnRoles) -> bool:
    """Whether both sides' points have columns that are used, or that are found by their names."""
    is_recognised = "margin" in recognise_evidence_columns(table.names, roles.player_arguments)
    return bool(roles.points or roles.margin or is_recognised)


def _do_tell_winners(points: Sequence[Column], data: Dataset) -> bool:
    """Whether, of two columns of numbers, the greater is that of the winner in nearly all matches."""
    decided = np.sign(np.asarray(data.matches.score) - 0.5)
    if np.count_nonzero(decided) < MIN_DECIDED:
        return False
    with suppress(ValueError):
        first, second = (to_numbers("", column, np.nan)[data.rows] for column in points)
        return bool(np.mean(np.sign(first - second)[decided != 0] == decided[decided != 0]) >= MIN_AGREEMENT)
    return False


# Options of the command line, as saved runs keep them: those that `read` does not take are functions of a dataset


NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
DATASET_OPTIONS = "normalise_names", "mixtures", *DERIVED_COLUMNS


def read_by_options(
    source: Any, options: Mapping[str, Any], history: Any = None, reader: Callable[..., Dataset] = read
) -> Dataset:
    """`read`, or a format, by options of the command line.

    Args:
      source: as `reader` takes it.
      options: arguments of the reader, and the options that are none.
      history: whose names keep their ids, and whose matches are those before; None: there is none.
      reader: what reads the source.

    Raises:
      ValueError: as the reader and the functions of a dataset.
    """
    arguments = {name: x for name, x in options.items() if name not in (*DATASET_OPTIONS, "skip_incomplete")}
    arguments |= {"on_faulty": "skip"} if options.get("skip_incomplete") else {}
    arguments |= {} if history is None else {"history": history}
    table = open_table_source(source) if reader is read else None
    source = source if table is None else table
    with warnings.catch_warnings():
        if options.get("normalise_names"):
            warnings.filterwarnings("ignore", r"(?s).*; jr\.data\.unify_names\(data\) joins them$")
        data = reader(source, **arguments)
    with nullcontext() if table is None else add_location_to_data_errors(table.title, table.where):
        data = unify_names(data, history) if options.get("normalise_names") else data
        return _apply_dataset_options(data, options, history)


def reading_options_of_history(history: Any) -> dict[str, Any]:
    """The options by which a table that carries on a `History` is read; none for other earlier data."""
    saved = getattr(history, "options", {})
    columns = saved.get("columns", {})
    options = {} if saved.get("dates") is None else {"dates": saved["dates"]}
    return options | saved.get("derived", {}) | ({} if "format" in columns else columns)


def read_if_table(caller: str, data: Any, columns: Mapping[str, Any], history: Any = None) -> Any:
    """The events of a table with these columns, read as one that carries on a history; other data as they are.

    This is how all functions that take a dataset take tables and paths.

    Raises:
      ValueError: for columns beside data that were read already; and as `read`.
    """
    if is_readable_source(data):
        return read_by_options(data, reading_options_of_history(history) | dict(columns), history)
    if columns:
        raise ValueError(f"{caller}: the data were read already; name {', '.join(columns)} where they are read")
    return data


def as_dataset(caller: str, data: Any, columns: Mapping[str, Any] = NO_COLUMNS, history: Any = None) -> Dataset:
    """`read_if_table`, and ValueError unless the data are a `Dataset` then."""
    dataset = read_if_table(caller, data, columns, history)
    check_dataset(caller, dataset)
    return dataset


def _apply_dataset_options(data: Dataset, options: Mapping[str, Any], history: Any) -> Dataset:
    """The events with mixtures and derived columns; RowError for a category that the history does not know."""
    mixtures = options.get("mixtures") or {}
    check_known_categories(data, getattr(history, "categories", None), mixtures)
    if mixtures:
        data = mix_categories(data, mixtures if history is None else _mixtures_of_table(mixtures, data))
    if data.venues is not None and not data.upcoming:
        options = {"ground": GROUND_FADE, **options}
    spans = {name: options[name] for name in DERIVED_COLUMNS if options.get(name) is not None}
    for name, span in spans.items():
        if history is None or not find_lacking_role(data, name):  # whose system may do without
            data = add_derived_column(data, name, span, history)
    return data


def _mixtures_of_table(mixtures: Mapping[Any, Any], data: Dataset) -> dict[Any, Any]:
    """The mixtures that are in a table of new events, which need not have them all."""
    last = data if data.fixtures is None else data.fixtures  # which may add some
    names = {*map(str, () if last.categories is None else last.categories)}
    return {name: shares for name, shares in mixtures.items() if str(name) in names}
