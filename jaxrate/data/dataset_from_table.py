"""The door of tables: names become ids, dates days, and bad rows are named."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from jaxrate.core.argument_checks import check_argument
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import join_names
from jaxrate.data import source_opening, table_sources
from jaxrate.data.candidate_columns import date_columns
from jaxrate.data.column_conversion import to_column, to_flags
from jaxrate.data.column_recognition import SIDE_NOTE, ColumnsRecognisedWarning, recognise_columns
from jaxrate.data.column_role_definitions import document_roles, select_role_arguments, suggest_role_on_unknown_argument
from jaxrate.data.dataset_building import NamesOfEarlierData, build_dataset, filter_column_rows
from jaxrate.data.date_parsing import (
    STYLE_DESCRIPTIONS,
    check_date_style,
    is_date_style,
    parse_time_column,
)
from jaxrate.data.doubtful_column_roles import doubtful_roles_hints, unused_points_hint
from jaxrate.data.drawn_matches import score_drawn_matches
from jaxrate.data.faulty_rows import (
    find_incomplete_rows,
    map_row_errors,
    stacklevel_outside_package,
    warn_incomplete_rows,
    warn_repeated_matches,
)
from jaxrate.data.line_up_tables import (
    check_line_up_roles,
    expand_line_up_cells,
    find_line_up_columns,
    set_line_up_columns,
)
from jaxrate.data.lookalike_names import (
    unify_spellings,
    warn_doubtful_names,
    warn_lookalike_names,
    warn_names_with_other_accents,
    warn_new_names_with_other_accents,
)
from jaxrate.data.player_categories import CategoryShares
from jaxrate.data.result_parsing import check_texts
from jaxrate.data.role_resolution import ColumnRoles, resolve_roles
from jaxrate.data.seasons_and_margins import check_seasons, warn_margin_signs
from jaxrate.data.table_sources import Column, TableSource
from jaxrate.data.unplayed_matches import (
    PlayedAndComingMasks,
    check_points_not_negative,
    parse_result_columns,
    split_by_result,
    warn_unplayed_rows,
)
from jaxrate.events import Ragged, warn_single_participant
from jaxrate.events.dataset import Dataset


@suggest_role_on_unknown_argument
@document_roles()
def read(
    source: Any, *, a: str | None = None, b: str | None = None, score: str | Literal[False] | None = None,
    winner: str | None = None, loser: str | None = None, contest: str | None = None, participant: str | None = None,
    rank: str | None = None, team: str | None = None, last_rank: str | None = None, ceiling: str | None = None,
    noise: str | None = None, time: str | None = None, side: str | None = None, neutral: str | None = None,
    weight: str | None = None, category: str | Sequence[str] | None = None, margin: str | Sequence[str] = (),
    statistics: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    shares: Mapping[str, Sequence[str]] | None = None, expected_goals: str | Sequence[str] = (),
    covariates: str | Sequence[str] = (), rest: float | None = None, form: float | None = None,
    age: str | Sequence[str] = (), season: str | None = None, league_season: str | None = None,
    columns: str | Sequence[str] = (), drop: str | Sequence[str] = (),
    mixtures: Mapping[Any, CategoryShares] | None = None, players: Any = None, categories: Any = None,
    seasons: Mapping[str, float] | None = None, history: Any = None, upcoming: bool = False, sort: bool = False,
    skip_incomplete: bool = False, normalise_names: bool = False, dates: str | None = None,
    na_values: Sequence[str] = (), unfinished: Sequence[str] = (),
) -> Dataset:  # fmt: skip
    """Checked matches from a table with one row per match, or rounds from one with one row per participant.

        data = jr.read("games.csv")
        data = jr.read([{"winner": "Ada", "loser": "Bo"}, {"winner": "Bo", "loser": "Cy"}])

    A file with columns a, b, score or winner, loser or contest, player, rank (and perhaps time, date or t) needs no
    arguments. The case of these names does not matter. Other usual names are recognised as well: home and away, white
    and black, team1 and team2, winner_name and loser_name in their spellings, goals or points of both sides, results
    and dates. A note says which columns were recognised as what, and arguments overrule it. All other columns are used
    only if named. Names of players and categories become ids in order of first appearance, reading the rows of the
    source from the top and a before b; in CSV they are text ("007" stays that), and an empty field is missing. CSV may
    be separated by commas, or by semicolons, tabs or | if the header has no comma, and be UTF-8, UTF-16 or
    Windows-1252. Objects in JSON become columns as "team.name". Of a spreadsheet the first sheet is read.

    Args:
      source: a path to .parquet, .csv, .tsv, .txt, .json or .jsonl (all but the first also .gz, .bz2 or .zst), .xlsx or
        .ods, or "-" for standard input; to a folder of Parquet files that are one table, as `rate_files` takes it; a
        pandas, polars or Arrow table, a lazy frame of polars, a relation or result of DuckDB, anything else that Arrow
        can take (`__arrow_c_stream__`), a dict of arrays or lists, or a list of dicts, one per row, which may be nested
        as JSON is. Of lazy frames and relations only the columns that are used are made.
      COLUMNS: the roles of `data.column_roles.COLUMN_ROLES`, each the name of a column.
      mixtures: names in the columns of categories that stand for several, as a random race does: by name their shares
        (by name, or names of equal parts; None: all categories in equal parts). Each player draws on their own.
      players: names that have ids already, as in `players` of an earlier dataset: they keep them, others come after.
      categories: names that have ids already, as in `categories` of an earlier dataset; there are no others.
      seasons: seasons that are known already, as in `seasons` of an earlier dataset; others begin after them.
      history: the matches so far, for rest and form: `predictions` of a rated history.
      upcoming: the events are to come. They are put in order of time, and no score or margin is read: 0.5 and 0 stand
        in for them, or in contests a tie of all players and teams. Where some rows have a result, those are left out.
      sort: put the rows in order of time (stable, contests as wholes). Otherwise a time that decreases is an error; in
        contests it is one only to systems in which time passes.
      skip_incomplete: leave out rows in which a column that is used has no value, or nothing but blanks. A missing
        ceiling is none, and a time that is missing everywhere is no time.
      dates: how dates in text are written that are not ISO: "day-first", "month-first" or a format of `strptime`. None:
        as they are clear, by the name of the month, the year in front, or a day above 12.
      na_values: texts that say that there is no result, or no margin, beside "P", "P-P", "postp.", "NA", "-" and others
        that are usual; case does not matter. "-1" is the number, too, in columns of numbers.
      unfinished: texts in the column of ranks, as "DNF", of those who did not finish; case does not matter. They tie
        with each other, behind all of their contest who have a rank.
      normalise_names: names (of players, categories, contests and teams) that differ only by letter case, by blanks
        around them or doubled, or by Unicode form (NFKC) are the same: spelt as most often, without those blanks.
        Those of `players` and `categories` stay as they are, and new ones join them.

    Raises:
      ValueError: names the file, the bad rows of the source, up to ten (counting from 0; in CSV also their lines),
        their contests or the column, and what is wrong with them; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.

    Warns:
      UserWarning: about columns that were recognised, and rows that have no result; if a and b name columns called as
        home and away are, without side; if contests have a single participant, since systems of ranks learn nothing
        from them; if names of players, categories or contests differ only in what `normalise_names` joins, or in
        accents; if matches with times repeat an earlier one exactly; if a margin has another sign than the score; if
        rows were skipped.
    """
    arguments = select_role_arguments(locals())
    level = stacklevel_outside_package()
    table_sources.import_pyarrow()
    table = source_opening.open_table_source(source)
    known = NamesOfEarlierData(players, categories, mixtures or {}, seasons, history)
    with table_sources.add_location_to_data_errors(table.title, table.where):
        check_argument("read", "upcoming", bool, upcoming)
        check_argument("read", "age", str | Sequence[str] | None, age)
        check_argument("read", "expected_goals", str | Sequence[str] | None, expected_goals)
        check_argument("read", "statistics", str | Sequence[str] | Mapping[str, Any], statistics)
        check_date_style(dates)
        check_texts("na_values", na_values)
        check_texts("unfinished", unfinished)
        line_ups = find_line_up_columns(table.names, arguments)
        if line_ups is not None:
            check_line_up_roles(arguments)
            first_players = line_ups.first[0], line_ups.second[0]
            arguments = arguments | dict(zip(line_ups.roles, first_players, strict=True))
        recognition = recognise_columns(table, arguments, upcoming, dates, na_values)
        table = recognition.table
        roles = resolve_roles(table.names, recognition.arguments, upcoming, recognition.points)
        if line_ups is not None:
            roles = set_line_up_columns(roles, line_ups, table.names)
        roles = roles._replace(time=None) if recognition.timeless else roles
        if sort and roles.time is None:
            raise ValueError("sort=True needs a column of time")
        if (mixtures or categories is not None) and not roles.category:
            raise ValueError("mixtures and categories need category, the columns that they are in")
        if seasons and not roles.season:
            raise ValueError("seasons needs season, the column that they are in")
        check_seasons(seasons)
        loaded, rows = _load_role_columns_and_drop_rows(table, roles)
        with map_row_errors(rows):
            roles, loaded, line_up_note = expand_line_up_cells(roles, loaded)
            if roles.layout.num_first:
                check_line_up_roles(arguments)
                roles = roles._replace(side=None, constant_side=None, neutral=None)  # of columns called as home is
            loaded, result_note = parse_result_columns(roles, loaded, na_values, unfinished)
            roles, loaded, draw_note = score_drawn_matches(table, roles, loaded, rows)
            check_points_not_negative(() if roles.margin else roles.layout.points, loaded)
            loaded, date_style = parse_time_column(roles.time, loaded, dates, na_values)
        if normalise_names:
            loaded = unify_spellings(
                loaded, _columns_holding_names_by_kind(roles), [players, categories, None, None, seasons]
            )
        with map_row_errors(rows):
            split = split_by_result(roles, loaded)
        kept, used = (
            (loaded, rows) if split.played.all() else _select_played_or_upcoming_rows(loaded, rows, split, upcoming)
        )
        notes = [*filter(None, [table.note]), *recognition.notes, *filter(None, [result_note, draw_note])]
        if roles.layout.num_first:
            notes = [note.removesuffix(SIDE_NOTE) for note in notes]
        notes = [*filter(None, [line_up_note, "" if line_ups is None else line_ups.note]), *notes]
        if roles.time is None and table.noted and (names := date_columns(table, roles.all_columns, dates)):
            notes.append(
                f"nothing for the time, though {join_names(names)} {'has' if len(names) == 1 else 'have'} dates"
            )
        warn_recognised_columns(notes, roles.time, date_style if dates is None else None, stacklevel=level)
        with map_row_errors(used):
            hints = doubtful_roles_hints(recognition, roles, kept, arguments["score"] is not None)
        for hint in hints:
            warnings.warn(hint, ColumnsRecognisedWarning, stacklevel=level)
        warn_unplayed_rows(split, rows, upcoming, stacklevel=level)
        if skip_incomplete:
            incomplete = find_incomplete_rows(roles, kept)
            warn_incomplete_rows(used[incomplete], len(incomplete), stacklevel=level)
            if incomplete.all():
                raise ValueError("no rows are left: all of them lack a value")
            kept, used = filter_column_rows(kept, ~incomplete), used[~incomplete]
        dataset = build_dataset(roles, kept, used, known, sort, sort or upcoming)
        if split.coming.any() and not upcoming:
            known = known._replace(players=dataset.players, categories=dataset.categories, seasons=dataset.seasons)
            known = known._replace(history=(history, dataset))
            coming = filter_column_rows(loaded, split.coming)
            fixtures = build_dataset(roles._replace(upcoming=True), coming, rows[split.coming], known, False, True)
            dataset = dataset._replace(fixtures=fixtures)
        played = int(split.played.sum()) if upcoming and not split.played.all() else 0
        dataset = dataset._replace(dates=date_style if is_date_style(date_style) else None, played=played)
    if isinstance(dataset.events, Ragged):
        warn_single_participant(dataset.events, dataset.contests, stacklevel=level)
    elif table.noted:
        warn_margin_signs(dataset, stacklevel=level)
        if hint := "" if upcoming else unused_points_hint(table, dataset, roles):
            warnings.warn(hint, ColumnsRecognisedWarning, stacklevel=level)
        warn_repeated_matches(dataset.events, dataset.rows, table, stacklevel=level)
    for field in ("players", "categories", "contests", "seasons") if table.noted else ():
        value = getattr(dataset, field)
        field_names: HostArray | None = np.array([*value], object) if isinstance(value, dict) else value
        num_known = len(players) if field == "players" and players is not None else 0
        if field == "players":
            warn_doubtful_names(dataset.players, num_known, stacklevel=level)
        warn_lookalike_names(field, field_names, num_known if upcoming else 0, stacklevel=level)
        warn_names_with_other_accents(
            field, field_names if field_names is None else field_names[num_known:], stacklevel=level
        )
    if table.noted and players is not None and dataset.players.dtype == object:
        warn_new_names_with_other_accents(dataset.players, len(players), stacklevel=level)
    return dataset


def warn_recognised_columns(
    recognised: Sequence[str], time: str | None, date_style: str | None, stacklevel: int
) -> None:
    """UserWarning about the roles that columns were recognised to have, and how their dates are written."""
    notes = [*recognised]
    if date_style is not None:
        notes.append(f"{time} as dates, {STYLE_DESCRIPTIONS[date_style]}")
    if notes:
        warnings.warn(
            f"took {'; '.join(notes)}; name columns to choose others", ColumnsRecognisedWarning, stacklevel=stacklevel
        )


def _columns_holding_names_by_kind(roles: ColumnRoles) -> list[list[str]]:
    """The columns of names: of players, categories, contests, teams and seasons."""
    single = roles.layout.contest, roles.team, roles.season
    return [roles.layout.players, roles.category, *([name] if name else [] for name in single)]


def _select_played_or_upcoming_rows(
    loaded: dict[str, Column], rows: HostArray, split: PlayedAndComingMasks, upcoming: bool
) -> tuple[dict[str, Column], HostArray]:
    """The rows that are rated, or that are to come; ValueError if there are none."""
    keep = split.coming if upcoming else split.played
    if upcoming and not split.played.any():
        return loaded, rows
    if not keep.any():
        hint = "" if upcoming else "; `jaxrate predict` takes matches to come; upcoming=True reads them"
        raise ValueError(f"no row {'without a result is to come' if upcoming else 'has a result'}{hint}")
    return filter_column_rows(loaded, keep), rows[keep]


def _load_role_columns_and_drop_rows(table: TableSource, roles: ColumnRoles) -> tuple[dict[str, Column], HostArray]:
    """The columns, without the rows to drop; and which rows are left."""
    names = roles.all_columns
    loaded = table.load(names, roles.text_columns, roles.number_columns)
    columns = {name: to_column(name, loaded[name]) for name in names}
    n = len(columns[names[0]])
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, {names[0]!r} has {n}")
    if not n:
        raise ValueError("no rows")
    if not roles.drop:
        return columns, np.arange(n)
    keep = ~np.any([to_flags(name, columns[name]) for name in roles.drop], axis=0)
    if not keep.any():
        raise ValueError(f"no rows are left: {', '.join(map(repr, roles.drop))} drops them all")
    return filter_column_rows(columns, keep), np.flatnonzero(keep)
