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
    is_numeric_column,
    load_columns_to_inspect,
    missing_score_message,
    table_with_loaded_columns,
)
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
    COUNT_TEMPLATES,
    GOAL_TEMPLATES,
    HOME_AND_AWAY,
    NAME_TEMPLATES,
    NEUTRAL_NAMES,
    PARTICIPANT_NAMES,
    POINT_TEMPLATES,
    RANK_NAMES,
    RESULT_NAMES,
    RESULT_TEMPLATES,
    SIDE_COLUMN_NAMES,
    SIDE_PAIRS,
    TEAM_NAMES,
    TIME_NAMES,
    SidesSpelling,
    normalise_column_name,
)
from jaxrate.data.date_parsing import is_time_column
from jaxrate.data.pairs_in_one_column import split_pairs_column
from jaxrate.data.result_choice import ResultChoice, choose_result, describe_contradicting_results
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
    notes: tuple[str, ...] = ()  # which column was taken for what, in words
    has_rank_as_score: bool = False  # whether the score of contests is called as ranks are, of which lower is better
    has_unused_home: bool = False  # whether a and b are called as home and away are, and nobody has the side
    unused_neutral: str | None = None  # the column that says that there are sides, where nobody has the side
    unused_team: str | None = None  # the column that is called as teams are, in contests without teams
    has_winner_codes: bool = False  # whether numbers that stand for the winner became scores


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
    layout, spelling = _recognise_players(table.names, spelt, arguments, notes, upcoming)
    if layout is None and (split := split_pairs_column(table)) is not None:
        table, (name, *pair) = split
        layout, spelt = PLAYER_PAIR, spelt | {normalise_column_name(x): x for x in pair}
        arguments |= dict(zip(layout, pair, strict=True))
        notes.append(f"the two names in {name} for a and b")
    inspected = _columns_to_inspect(table.names, spelt, arguments, layout, spelling, upcoming)
    unsure = len(inspected.times) > 1 or any(_is_nondefault_time_column(table.names, name) for name in inspected.times)
    unsure |= bool(inspected.times and notes)  # where others have names of their own, time may be something else
    players: list[Any] = [arguments[role] or find_column_ignoring_case(table.names, role) for role in layout or ()][:2]
    columns = load_columns_to_inspect(table, inspected, unsure, players)
    choice = ResultChoice()
    if columns and all(players):  # else `resolve_roles` says what is missing
        choice = _recognise_result(table.names, arguments, notes, inspected, columns, players, na_values)
        columns |= {} if choice.scores is None else {str(choice.result): choice.scores}
    _check_result(table, arguments, layout, spelling, choice, players, upcoming)
    unused_neutral = _recognise_side(table.names, arguments, notes, inspected, columns, spelling)
    timeless = False
    if unsure and columns:
        times = {name: replace_na_values(columns[name], na_values) for name in inspected.times}
        time, note = _choose_time(table.names, times, dates)
        arguments["time"], timeless = time, time is None
        notes += filter(None, [note])
    return RecognisedColumnRoles(
        arguments,
        table_with_loaded_columns(table, columns),
        choice.points,
        timeless,
        tuple(notes),
        layout == CONTEST_ROLES and normalise_column_name(arguments["score"]) in RANK_NAMES,
        arguments["side"] is None and not upcoming and are_home_and_away(arguments["a"], arguments["b"]),
        unused_neutral,
        _unused_team_column(spelt, arguments) if layout == CONTEST_ROLES else None,
        choice.scores is not None,
    )


def _recognise_players(
    names: Sequence[str],
    column_by_spelling: dict[str, str],
    arguments: dict[str, Any],
    notes: list[str],
    upcoming: bool,
) -> tuple[tuple[str, ...] | None, SidesSpelling | None]:
    """The roles of the players of a table, and how both sides are called; puts their columns into the arguments."""
    layout = _player_roles_of_table(names, arguments, upcoming)
    if layout is None and (match := player_columns(column_by_spelling, upcoming)) is not None:
        spelling, pair = match
        layout = WINNER_LOSER if spelling.won else PLAYER_PAIR
        arguments |= dict(zip(layout, pair, strict=True))
        home = SIDE_NOTE if spelling.side and arguments["side"] in (None, "a") else ""
        notes.append(f"{pair[0]} and {pair[1]} for {layout[0]} and {layout[1]}{home}")
        return layout, spelling
    if layout in (None, CONTEST_ROLES):
        contest_columns = _contest_columns(names, column_by_spelling, arguments, layout, upcoming)
        layout = CONTEST_ROLES if contest_columns else layout
        arguments |= contest_columns
        notes += [
            f"{name} for the {role}"
            for role, name in contest_columns.items()
            if normalise_column_name(name) != default_column(role)
        ]
    return layout, None


def _columns_to_inspect(
    names: Sequence[str],
    column_by_spelling: dict[str, str],
    arguments: dict[str, Any],
    layout: tuple[str, ...] | None,
    spelling: SidesSpelling | None,
    upcoming: bool,
) -> CandidateColumns:
    """The columns whose values must be looked at, as their names leave their roles open."""
    is_pair = layout == PLAYER_PAIR
    has_points = is_margin_of_two_columns(arguments["margin"]) and arguments["score"] is None
    own_score = find_column_ignoring_case(names, "score")
    needs_result = is_pair and _needs_result(names, arguments, spelling)
    spellings = [spelling] if spelling is not None else [x for x in SIDE_PAIRS if not x.won]
    results = _matching_columns(column_by_spelling, RESULT_NAMES)
    results += _results_of_first_side(column_by_spelling, spellings) if needs_result else []
    if is_pair and has_points:
        results = [own_score] if own_score is not None else results
    has_home, has_winner = spelling is not None and spelling.side, spelling is not None and spelling.won
    is_sideless = is_pair and not upcoming and arguments["side"] is None
    points, goals = (
        _matching_pairs(column_by_spelling, templates, spellings) if needs_result else []
        for templates in ((*POINT_TEMPLATES, *COUNT_TEMPLATES), GOAL_TEMPLATES)
    )
    if is_pair and has_points and {*arguments["margin"]} <= {*names}:
        points = [tuple(arguments["margin"])]
    return CandidateColumns(
        results=results if needs_result or (is_pair and has_points) else [],
        points=points,
        goals=goals,
        times=_matching_columns(column_by_spelling, TIME_NAMES) if arguments["time"] is None else [],
        neutral=_matching_columns(column_by_spelling, NEUTRAL_NAMES)[:1] if has_home or is_sideless else [],
        side=_matching_columns(column_by_spelling, SIDE_COLUMN_NAMES)[:1]
        if has_winner and arguments["side"] is None
        else [],
    )


def _recognise_result(
    names: Sequence[str],
    arguments: dict[str, Any],
    notes: list[str],
    inspected: CandidateColumns,
    columns: dict[str, Column],
    players: list[str],
    na_values: Sequence[str],
) -> ResultChoice:
    """The columns that tell the results; puts that of the score into the arguments."""
    names_by_column, own_score = {name: columns[name] for name in players}, find_column_ignoring_case(names, "score")
    if is_margin_of_two_columns(arguments["margin"]):
        column = replace_na_values(columns[own_score], na_values) if own_score in inspected.results else None
        if column is not None and parse_results(str(own_score), column, names_by_column) is None:
            arguments["score"] = False
            notes.append(f"nothing for the score, as {own_score} has no results, and the points of both tell who won")
        if own_score is None and inspected.points:
            notes += describe_contradicting_results(inspected, columns, names_by_column, na_values)
        return ResultChoice()
    if not (inspected.results or inspected.points):
        return ResultChoice()
    choice = choose_result(inspected, columns, names_by_column, na_values)
    arguments["score"] = choice.result
    notes += [note for note in choice.notes if note != f"{own_score} for the score"]
    return choice


def _check_result(
    table: TableSource,
    arguments: dict[str, Any],
    layout: tuple[str, ...] | None,
    spelling: SidesSpelling | None,
    choice: ResultChoice,
    players: list[Any],
    upcoming: bool,
) -> None:
    """ValueError if nothing tells the results of matches that need them."""
    has_score = arguments["score"] is not None or find_column_ignoring_case(table.names, "score") is not None
    if upcoming or choice.points or has_score or not {*players} <= {*table.names}:
        return
    if layout == PLAYER_PAIR and _needs_result(table.names, arguments, spelling):
        named = [name for value in arguments.values() for name in as_column_list(value)]
        raise ValueError(missing_score_message(table, [*players, *named, *time_columns(table.names)]))


def _recognise_side(
    names: Sequence[str],
    arguments: dict[str, Any],
    notes: list[str],
    inspected: CandidateColumns,
    columns: dict[str, Column],
    spelling: SidesSpelling | None,
) -> str | None:
    """Puts who has the side, and where nobody has, into the arguments; a column of neutral ground that is not used."""
    if spelling is not None and spelling.side and arguments["side"] is None and "a" not in names:
        arguments["side"] = "a"
    unused_neutral = None
    for name in inspected.neutral if arguments["neutral"] is None else ():
        if arguments["side"] in ("a", None) and columns and is_flag_column(name, columns[name]):
            arguments["neutral"], unused_neutral = (name, None) if arguments["side"] else (None, name)
            notes += [f"{name} for neutral"] if arguments["side"] else []
    for name in inspected.side:
        arguments["side"] = name
        notes.append(f"{name} for the side")
    return unused_neutral


def _unused_team_column(column_by_spelling: dict[str, str], arguments: dict[str, Any]) -> str | None:
    """The column that is called as teams are, in contests without teams."""
    named = [name for value in arguments.values() for name in as_column_list(value)]
    teams = [name for name in _matching_columns(column_by_spelling, TEAM_NAMES) if name not in named]
    return teams[0] if teams and arguments["team"] is None else None


def are_home_and_away(a: str | None, b: str | None) -> bool:
    """Whether two columns are called as those of home and away are."""
    if a is None or b is None:
        return False
    spelt = {normalise_column_name(a): a, normalise_column_name(b): b}
    return any(matching_pair(spelt, NAME_TEMPLATES, spelling) == (a, b) for spelling in HOME_AND_AWAY)


def _choose_time(names: Sequence[str], columns: dict[str, Column], dates: str | None) -> tuple[str | None, str]:
    """Which of these columns holds times, and a note about it; None if none does."""
    ours = [name for name in columns if not _is_nondefault_time_column(names, name)]
    time = next((name for name in columns if is_time_column(name, columns[name], dates)), None)
    if time is None:
        time = next((name for name in ours if is_numeric_column(name, columns[name])), None)
    if time is None:
        note = f"nothing for the time, as {', '.join(map(str, columns))} has no dates" if ours else ""
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


def _matching_pairs(
    column_by_spelling: dict[str, str], templates: Sequence[str], spellings: Sequence[SidesSpelling]
) -> list[tuple[str, str]]:
    """Pairs of columns that are called as these templates say of both sides."""
    pairs = [pair for x in spellings for pair in _name_pairs_from_templates(templates, x)]
    known = column_by_spelling.keys()
    return [(column_by_spelling[x], column_by_spelling[y]) for x, y in pairs if x in known and y in known]


def _results_of_first_side(column_by_spelling: dict[str, str], spellings: Sequence[SidesSpelling]) -> list[str]:
    """Columns that say whether the first side has won, if the second has none: a pair holds points."""
    pairs = [pair for x in spellings for pair in _name_pairs_from_templates(RESULT_TEMPLATES, x)]
    seconds = {first: False for first, _ in pairs}
    for first, second in pairs:
        seconds[first] |= second in column_by_spelling
    return [
        column_by_spelling[first] for first, is_pair in seconds.items() if first in column_by_spelling and not is_pair
    ]
