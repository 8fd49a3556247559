"""The roles of the columns of a table, by the names that people give them.

Names are compared in lower case, by letters and digits alone: `Home_Team` is `hometeam`. Columns that options name come
first, then those of the library's own names (a and b, winner and loser, contest and player, score, time), and only for
what is left these spellings.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jaxrate.data.candidate_columns import (
    CandidateColumns,
    is_flag_column,
    is_mostly_numeric,
    is_numeric_column,
    load_columns_to_inspect,
    missing_score_message,
    table_with_loaded_columns,
)
from jaxrate.data.column_conversion import missing_mask
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    CONTEST_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    as_column_list,
    check_role_arguments,
)
from jaxrate.data.column_spellings import (
    CONTEST_NAMES,
    HOME_AND_AWAY,
    NAME_TEMPLATES,
    NEUTRAL_NAMES,
    PARTICIPANT_NAMES,
    POINT_TEMPLATES,
    RANK_NAMES,
    RESULT_NAMES,
    SIDE_COLUMN_NAMES,
    SIDE_PAIRS,
    TEAM_NAMES,
    TIME_NAMES,
    SidesSpelling,
    normalise_column_name,
)
from jaxrate.data.date_parsing import is_time_column
from jaxrate.data.result_parsing import parse_results, replace_na_values
from jaxrate.data.role_resolution import default_column, is_margin_of_two_columns
from jaxrate.data.table_sources import Column, TableSource, find_column_ignoring_case

SIDE_NOTE = ", the first of whom has the side"


class ColumnsRecognisedWarning(UserWarning):
    """Which columns were recognised, and as what."""


class RecognisedColumnRoles(NamedTuple):
    """The roles that columns were recognised to have."""

    arguments: dict[str, Any]  # of `read`, by role
    table: TableSource  # which does not load again what was inspected
    points: tuple[str, ...] = ()  # the columns of each side's points, which tell the result
    timeless: bool = False  # whether no column of time holds times
    unix: bool = False  # whether numbers in the column of time may be seconds since 1970
    notes: tuple[str, ...] = ()  # which column was taken for what, in words
    has_rank_as_score: bool = False  # whether the score of contests is called as ranks are, of which lower is better
    has_unused_home: bool = False  # whether a and b are called as home and away are, and nobody has the side
    unused_neutral: str | None = None  # the column that says that there are sides, where nobody has the side
    unused_team: str | None = None  # the column that is called as teams are, in contests without teams


def recognise_columns(
    table: TableSource, arguments: dict[str, Any], upcoming: bool, dates: str | None, na_values: Sequence[str]
) -> RecognisedColumnRoles:
    """The roles of the columns of a table: as the arguments say, and else as the columns are called.

    Args:
      table: the table whose columns are inspected.
      arguments: those of `read` that name columns; columns are sought for those that are None.
      upcoming: the matches are to come, so that nobody has won.
      dates, na_values: as in `read`.

    Raises:
      ValueError: if several columns could be the players; says which options decide. Also if an argument names none.
    """
    check_role_arguments(arguments)
    spelt: dict[str, str] = {}
    for name in table.names:
        spelt.setdefault(normalise_column_name(name), name)
    arguments, notes = dict(arguments), list[str]()
    layout, spelling = _player_roles_of_table(table.names, arguments, upcoming), None
    if layout is None and (match := player_columns(spelt, upcoming)) is not None:
        spelling, pair = match
        layout = WINNER_LOSER if spelling.won else PLAYER_PAIR
        arguments |= dict(zip(layout, pair, strict=True))
        home = SIDE_NOTE if spelling.side and arguments["side"] in (None, "a") else ""
        notes.append(f"{pair[0]} and {pair[1]} for {layout[0]} and {layout[1]}{home}")
    elif layout in (None, CONTEST_ROLES):
        contest_columns = _contest_columns(table.names, spelt, arguments, layout, upcoming)
        layout = CONTEST_ROLES if contest_columns else layout
        arguments |= contest_columns
        notes += [
            f"{name} for the {role}"
            for role, name in contest_columns.items()
            if normalise_column_name(name) != default_column(role)
        ]
    needs_result = layout == PLAYER_PAIR and _needs_result(table.names, arguments, spelling)
    is_sideless = layout == PLAYER_PAIR and not upcoming and arguments["side"] is None
    has_home, has_winner = spelling is not None and spelling.side, spelling is not None and spelling.won
    inspected = CandidateColumns(
        results=_matching_columns(spelt, RESULT_NAMES) if needs_result else [],
        points=_point_columns(spelt, spelling) if needs_result else [],
        times=_matching_columns(spelt, TIME_NAMES) if arguments["time"] is None else [],
        neutral=_matching_columns(spelt, NEUTRAL_NAMES)[:1] if has_home or is_sideless else [],
        side=_matching_columns(spelt, SIDE_COLUMN_NAMES)[:1] if has_winner and arguments["side"] is None else [],
    )
    unsure = len(inspected.times) > 1 or any(_is_nondefault_time_column(table.names, name) for name in inspected.times)
    unsure |= bool(inspected.times and notes)  # where others have names of their own, time may be something else
    players: list[Any] = [arguments[role] or find_column_ignoring_case(table.names, role) for role in layout or ()][:2]
    points: tuple[str, ...] = ()
    seeks_score = layout == PLAYER_PAIR and arguments["score"] is None and is_margin_of_two_columns(arguments["margin"])
    doubtful = find_column_ignoring_case(table.names, "score") if seeks_score else None
    if doubtful is not None:
        inspected = inspected._replace(results=[doubtful])
    columns = load_columns_to_inspect(table, inspected, unsure, players)
    if doubtful is not None and columns and all(players):
        column = replace_na_values(columns[doubtful], na_values)
        if parse_results(doubtful, column, *(columns[name] for name in players)) is None:
            arguments["score"] = False
            notes.append(f"nothing for the score, as {doubtful} has no results, and the points of both tell who won")
    elif (
        (inspected.results or inspected.points) and columns and all(players)
    ):  # else `resolve_roles` says what is missing
        result, points = _find_result(inspected, columns, [columns[name] for name in players], na_values)
        if result is not None:
            arguments["score"] = result
            notes += [f"{result} for the score"] * (result != find_column_ignoring_case(table.names, "score"))
        elif points:
            notes.append(f"{points[0]} and {points[1]} for the points of both, which tell who won")
    has_score = arguments["score"] is not None or find_column_ignoring_case(table.names, "score") is not None
    if needs_result and not (upcoming or points or has_score) and {*players} <= {*table.names}:
        named = [name for value in arguments.values() for name in as_column_list(value)]
        raise ValueError(missing_score_message(table, [*players, *named, *time_columns(table.names)]))
    if has_home and arguments["side"] is None and "a" not in table.names:
        arguments["side"] = "a"
    unused_neutral = None
    for name in inspected.neutral if arguments["neutral"] is None else ():
        if arguments["side"] in ("a", None) and columns and is_flag_column(name, columns[name]):
            arguments["neutral"], unused_neutral = (name, None) if arguments["side"] else (None, name)
            notes += [f"{name} for neutral"] if arguments["side"] else []
    for name in inspected.side:
        arguments["side"] = name
        notes.append(f"{name} for the side")
    timeless = False
    if unsure and columns:
        time, note = _choose_time(table.names, inspected.times, columns, dates)
        arguments["time"], timeless = time, time is None
        notes += filter(None, [note])
    unix = (
        arguments["time"] is not None
        and bool(inspected.times)
        and _is_nondefault_time_column(table.names, arguments["time"])
    )
    has_rank_as_score = layout == CONTEST_ROLES and normalise_column_name(arguments["score"]) in RANK_NAMES
    has_unused_home = arguments["side"] is None and not upcoming and are_home_and_away(arguments["a"], arguments["b"])
    named_columns = [x for value in arguments.values() for x in as_column_list(value)]
    is_teamless = layout == CONTEST_ROLES and arguments["team"] is None
    teams = [x for x in _matching_columns(spelt, TEAM_NAMES) if x not in named_columns] if is_teamless else []
    return RecognisedColumnRoles(
        arguments,
        table_with_loaded_columns(table, columns),
        points,
        timeless,
        unix,
        tuple(notes),
        has_rank_as_score,
        has_unused_home,
        unused_neutral,
        teams[0] if teams else None,
    )


def are_home_and_away(a: str | None, b: str | None) -> bool:
    """Whether two columns are called as those of home and away are."""
    if a is None or b is None:
        return False
    spelt = {normalise_column_name(a): a, normalise_column_name(b): b}
    return any(matching_pair(spelt, NAME_TEMPLATES, spelling) == (a, b) for spelling in HOME_AND_AWAY)


def _choose_time(
    names: Sequence[str], times: Sequence[str], columns: dict[str, Column], dates: str | None
) -> tuple[str | None, str]:
    """Which of these columns holds times, and a note about it; None if none does."""
    ours = [name for name in times if not _is_nondefault_time_column(names, name)]
    time = next((name for name in times if is_time_column(name, columns[name], dates)), None)
    if time is None:
        time = next((name for name in ours if is_numeric_column(name, columns[name])), None)
    if time is None:
        note = f"nothing for the time, as {', '.join(map(str, times))} has no dates" if ours else ""
        return None, note
    return time, f"{time} for the time" if time not in ours else ""


def time_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called as times are."""
    return [name for name in names if normalise_column_name(name) in TIME_NAMES]


def _is_nondefault_time_column(names: Sequence[str], name: str) -> bool:
    """Whether a column of time has none of the library's own names."""
    return name not in [find_column_ignoring_case(names, key) for key in COLUMN_ROLES["time"].default]


def _matching_columns(column_by_spelling: dict[str, str], names: Sequence[str]) -> list[str]:
    return [column_by_spelling[name] for name in names if name in column_by_spelling]


def _player_roles_of_table(names: Sequence[str], arguments: dict[str, Any], upcoming: bool) -> tuple[str, ...] | None:
    """The roles of a table whose players are named, or are called as the library calls them."""
    layouts = [WINNER_LOSER, PLAYER_PAIR, CONTEST_ROLES]
    for roles in layouts:
        if any(arguments[role] is not None for role in roles):
            return roles
    for roles in layouts[1:] if upcoming else layouts:
        if all(find_column_ignoring_case(names, default_column(role)) for role in roles[:2]):
            return roles
    return None


def _name_pairs_from_templates(templates: Sequence[str], spelling: SidesSpelling) -> Iterator[tuple[str, str]]:
    for template in templates:
        for first in spelling.first:
            for second in spelling.second:
                if template != "{}" or len(first) > 1 < len(second):
                    yield template.format(first), template.format(second)


def matching_pair(
    column_by_spelling: dict[str, str], templates: Sequence[str], spelling: SidesSpelling
) -> tuple[str, str] | None:
    """The first two columns that are called as these templates say of both sides."""
    pairs = (
        (column_by_spelling[x], column_by_spelling[y])
        for x, y in _name_pairs_from_templates(templates, spelling)
        if x in column_by_spelling and y in column_by_spelling
    )
    return next(pairs, None)


def player_columns(column_by_spelling: dict[str, str], upcoming: bool) -> tuple[SidesSpelling, tuple[str, str]] | None:
    """The columns of both sides; ValueError if several could be."""
    matches = []
    for spelling in SIDE_PAIRS:
        pair = matching_pair(column_by_spelling, NAME_TEMPLATES, spelling)
        if pair is not None and not (spelling.won and upcoming):
            matches.append((spelling, pair))
    matches = [match for match in matches if not match[0].won] or matches
    if len(matches) > 1:
        candidates = ", or ".join(f"{x} and {y}" for _, (x, y) in matches)
        a, b = matches[0][1]
        raise ValueError(f"the players could be {candidates}; say which, as a={a!r}, b={b!r}")
    return matches[0] if matches else None


def _contest_columns(
    names: Sequence[str],
    column_by_spelling: dict[str, str],
    arguments: dict[str, Any],
    layout: tuple[str, ...] | None,
    upcoming: bool,
) -> dict[str, str]:
    """The columns of contests that are not named; nothing if these are none, as far as their names tell."""
    columns: dict[str, str] = {}
    for role, own_names, spellings in (
        ("contest", ("contest",), CONTEST_NAMES),
        ("participant", ("player",), PARTICIPANT_NAMES),
        ("rank", ("rank", "score"), RANK_NAMES),
    ):
        if role == "rank" and (upcoming or arguments["score"]):
            continue
        if arguments[role] is not None or (
            layout is not None and any(find_column_ignoring_case(names, name) for name in own_names)
        ):
            continue
        matching = _matching_columns(column_by_spelling, spellings)
        if not matching:
            return {}
        columns[role] = str(matching[0])
    return columns


def _needs_result(names: Sequence[str], arguments: dict[str, Any], spelling: SidesSpelling | None) -> bool:
    """Whether a column of results must be sought: no argument and none of the library's own names has it."""
    return (
        arguments["score"] is None
        and not is_margin_of_two_columns(arguments["margin"])
        and (spelling is not None or find_column_ignoring_case(names, "score") is None)
    )


def _point_columns(column_by_spelling: dict[str, str], spelling: SidesSpelling | None) -> list[tuple[str, str]]:
    """Pairs of columns that are called as the points of both sides are."""
    spellings = [spelling] if spelling is not None else [x for x in SIDE_PAIRS if not x.won]
    pairs = [
        pair
        for x in spellings
        for pair in _name_pairs_from_templates(POINT_TEMPLATES, x)
        if pair[0] in column_by_spelling and pair[1] in column_by_spelling
    ]
    return [(column_by_spelling[x], column_by_spelling[y]) for x, y in pairs]


def _find_result(
    inspected: CandidateColumns, columns: dict[str, Column], player_columns: list[Column], na_values: Sequence[str]
) -> tuple[str | None, tuple[str, ...]]:
    """The column of results, or those of both sides' points."""
    empty: str | None = None
    for name in inspected.results:
        column = replace_na_values(columns[name], na_values)
        if missing_mask(column, nan_is_missing=True).all():
            empty = empty or name
        elif parse_results(name, column, *player_columns) is not None:
            return name, ()
    numeric = [
        pair
        for pair in inspected.points
        if all(is_numeric_column(x, replace_na_values(columns[x], na_values)) for x in pair)
    ]
    full = [pair for pair in numeric if not all(missing_mask(columns[x], nan_is_missing=True).all() for x in pair)]
    if full or empty is None:
        mostly = (pair for pair in inspected.points if all(is_mostly_numeric(columns[x], na_values) for x in pair))
        return None, next(iter([*full, *numeric, *mostly]), ())  # whose other rows are mistakes
    return empty, ()
