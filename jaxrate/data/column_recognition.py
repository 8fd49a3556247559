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
    OWN_POINTS,
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


class HeaderRoles(NamedTuple):
    """What the names of the columns tell; more arguments and notes are added as the columns are looked at."""

    names: Sequence[str]
    column_by_spelling: dict[str, str]
    arguments: dict[str, Any]
    notes: list[str]
    upcoming: bool
    layout: tuple[str, ...] | None = None  # the roles of the players
    spelling: SidesSpelling | None = None  # how both sides are called

    @property
    def own_score(self) -> str | None:
        """The column that is called as the library calls results."""
        return find_column_ignoring_case(self.names, "score")

    @property
    def has_margin_of_both(self) -> bool:
        """Whether an argument names the points of both sides."""
        return is_margin_of_two_columns(self.arguments["margin"])

    @property
    def needs_result(self) -> bool:
        """Whether a column of results must be sought: no argument and none of the library's own names has it."""
        is_open = self.layout == PLAYER_PAIR and self.arguments["score"] is None and not self.has_margin_of_both
        return is_open and (self.spelling is not None or self.own_score is None)


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
    arguments, notes = dict(arguments), list[str]()
    spelt = {normalise_column_name(name): name for name in reversed(table.names)}
    header = _recognise_players(HeaderRoles(table.names, spelt, arguments, notes, upcoming))
    if header.layout is None and (split := split_pairs_column(table)) is not None:
        table, (name, *pair) = split
        spelt |= {normalise_column_name(x): x for x in pair}
        header = header._replace(names=table.names, layout=PLAYER_PAIR)
        arguments |= dict(zip(PLAYER_PAIR, pair, strict=True))
        notes.append(f"the two names in {name} for a and b")
    layout, inspected = header.layout, _columns_to_inspect(header)
    unsure = len(inspected.times) > 1 or any(_is_nondefault_time_column(table.names, name) for name in inspected.times)
    unsure |= bool(inspected.times and notes)  # where others have names of their own, time may be something else
    players: list[Any] = [arguments[role] or find_column_ignoring_case(table.names, role) for role in layout or ()][:2]
    columns = load_columns_to_inspect(table, inspected, unsure, players)
    choice = ResultChoice()
    if columns and all(players):  # else `resolve_roles` says what is missing
        choice = _recognise_result(header, inspected, columns, players, na_values)
        columns |= {} if choice.scores is None else {str(choice.result): choice.scores}
    _check_result(table, header, choice, players)
    unused_neutral = _recognise_side(header, inspected, columns)
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


def _recognise_players(header: HeaderRoles) -> HeaderRoles:
    """The header with the roles of the players and how both sides are called; adds their columns to the arguments."""
    arguments, notes = header.arguments, header.notes
    layout = _player_roles_of_table(header.names, arguments, header.upcoming)
    has_contests = layout is None and not header.upcoming and bool(_contest_columns(header, layout))
    match = player_columns(header.column_by_spelling, has_contests) if layout is None else None
    if match is not None:
        spelling, pair = match
        layout = WINNER_LOSER if spelling.won and not header.upcoming else PLAYER_PAIR
        arguments |= dict(zip(layout, pair, strict=True))
        home = SIDE_NOTE if spelling.side and arguments["side"] in (None, "a") else ""
        notes.append(f"{pair[0]} and {pair[1]} for {layout[0]} and {layout[1]}{home}")
        return header._replace(layout=layout, spelling=spelling)
    if layout in (None, CONTEST_ROLES):
        contest_columns = _contest_columns(header, layout)
        layout = CONTEST_ROLES if contest_columns else layout
        arguments |= contest_columns
        notes += [
            f"{name} for the {role}"
            for role, name in contest_columns.items()
            if normalise_column_name(name) != default_column(role)
        ]
    return header._replace(layout=layout)


def _columns_to_inspect(header: HeaderRoles) -> CandidateColumns:
    """The columns whose values must be looked at, as their names leave their roles open."""
    arguments, spelt, sides = header.arguments, header.column_by_spelling, header.spelling or SidesSpelling((), ())
    is_sideless = arguments["side"] is None
    may_be_neutral = sides.side or (is_sideless and header.layout == PLAYER_PAIR and not header.upcoming)
    return CandidateColumns(
        *_result_columns_to_inspect(header),
        times=_matching_columns(spelt, TIME_NAMES) if arguments["time"] is None else [],
        neutral=_matching_columns(spelt, NEUTRAL_NAMES)[:may_be_neutral],
        side=_matching_columns(spelt, SIDE_COLUMN_NAMES)[: sides.won and is_sideless and not header.upcoming],
    )


def _result_columns_to_inspect(header: HeaderRoles) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
    """The columns of results, the pairs of points, and those of them that are goals, which may tell who won."""
    arguments, spelt, own_score = header.arguments, header.column_by_spelling, header.own_score
    results = _matching_columns(spelt, RESULT_NAMES)
    if header.needs_result:
        spellings = [x for x in SIDE_PAIRS if not x.won] if header.spelling is None else [header.spelling]
        goals = pairs_of_points(spelt, GOAL_TEMPLATES, spellings)
        points = pairs_of_points(spelt, (*POINT_TEMPLATES, *COUNT_TEMPLATES), spellings)
        results += _results_of_first_side(spelt, spellings)
        others = {
            *as_column_list(arguments["a"]),
            *as_column_list(arguments["b"]),
            *(x for pair in goals for x in pair),
        }
        return [name for name in results if name not in others], points, goals
    if header.layout != PLAYER_PAIR or not header.has_margin_of_both or arguments["score"] is not None:
        return [], [], []
    pairs = [tuple(arguments["margin"])] if {*arguments["margin"]} <= {*header.names} else []
    return (results if own_score is None else [own_score]), pairs, []


def _recognise_result(
    header: HeaderRoles,
    inspected: CandidateColumns,
    columns: dict[str, Column],
    players: list[str],
    na_values: Sequence[str],
) -> ResultChoice:
    """The columns that tell the results; puts that of the score into the arguments."""
    names_by_column, own_score = {name: columns[name] for name in players}, header.own_score
    if header.has_margin_of_both:
        column = replace_na_values(columns[own_score], na_values) if own_score in inspected.results else None
        if column is not None and parse_results(str(own_score), column, names_by_column) is None:
            header.arguments["score"] = False
            text = "nothing for the score, as {} has no results, and the points of both tell who won"
            header.notes.append(text.format(own_score))
        if own_score is None and inspected.points:
            header.notes.extend(describe_contradicting_results(inspected, columns, names_by_column, na_values))
        return ResultChoice()
    if not (inspected.results or inspected.points):
        return ResultChoice()
    choice = choose_result(inspected, columns, names_by_column, na_values)
    header.arguments["score"] = choice.result
    header.notes.extend(note for note in choice.notes if note != f"{own_score} for the score")
    return choice


def _check_result(table: TableSource, header: HeaderRoles, choice: ResultChoice, players: list[Any]) -> None:
    """ValueError if nothing tells the results of matches that need them."""
    is_known = choice.points or header.own_score is not None or not header.needs_result
    if not header.upcoming and not is_known and {*players} <= {*table.names}:
        named = [name for value in header.arguments.values() for name in as_column_list(value)]
        raise ValueError(missing_score_message(table, [*players, *named, *time_columns(table.names)]))


def _recognise_side(header: HeaderRoles, inspected: CandidateColumns, columns: dict[str, Column]) -> str | None:
    """Puts who has the side, and where nobody has, into the arguments; a column of neutral ground that is not used."""
    arguments, notes = header.arguments, header.notes
    if header.spelling is not None and header.spelling.side and arguments["side"] is None and "a" not in header.names:
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


def player_columns(
    column_by_spelling: dict[str, str], has_contests: bool = False
) -> tuple[SidesSpelling, tuple[str, str]] | None:
    """The columns of both sides; ValueError if several could be. In tables of contests opponents are no sides."""
    matches: dict[tuple[str, str], SidesSpelling] = {}
    for spelling in (x for x in SIDE_PAIRS if not (x.own and has_contests)):
        pair = matching_pair(column_by_spelling, NAME_TEMPLATES, spelling)
        if pair is not None:
            matches.setdefault(pair, spelling)
    named = {pair: x for pair, x in matches.items() if not (x.won or x.own)}  # others count where there are none
    matches = named or {pair: x for pair, x in matches.items() if x.won} or matches
    if len(matches) > 1:
        candidates = ", or ".join(f"{x} and {y}" for x, y in matches)
        a, b = next(iter(matches))
        raise ValueError(f"the players could be {candidates}; say which, as a={a!r}, b={b!r}")
    return next(((spelling, pair) for pair, spelling in matches.items()), None)


def _contest_columns(header: HeaderRoles, layout: tuple[str, ...] | None) -> dict[str, str]:
    """The columns of contests that are not named; nothing if these are none, as far as their names tell."""
    columns: dict[str, str] = {}
    for role, own_names, spellings in (
        ("contest", ("contest",), CONTEST_NAMES),
        ("participant", ("player",), PARTICIPANT_NAMES),
        ("rank", ("rank", "score"), RANK_NAMES),
    ):
        if role == "rank" and (header.upcoming or header.arguments["score"]):
            continue
        has_own = layout is not None and any(find_column_ignoring_case(header.names, name) for name in own_names)
        if has_own or header.arguments[role] is not None:
            continue
        matching = _matching_columns(header.column_by_spelling, spellings)
        if not matching:
            return {}
        columns[role] = str(matching[0])
    return columns


def pairs_of_points(
    column_by_spelling: dict[str, str], templates: Sequence[str], spellings: Sequence[SidesSpelling]
) -> list[tuple[str, str]]:
    """Pairs of columns that are called as these templates say of both sides, or as points for and against."""
    pairs = [pair for x in spellings for pair in _name_pairs_from_templates(templates, x)]
    pairs += OWN_POINTS if any(x.own for x in spellings) else ()
    known = column_by_spelling.keys()
    return [(column_by_spelling[x], column_by_spelling[y]) for x, y in pairs if x in known and y in known]


def _results_of_first_side(column_by_spelling: dict[str, str], spellings: Sequence[SidesSpelling]) -> list[str]:
    """Columns that say whether the first side has won, if the second has none: a pair holds points.

    Wins beside losses are counts.
    """
    pairs = [pair for x in spellings for pair in _name_pairs_from_templates(RESULT_TEMPLATES, x)]
    seconds = {first: False for first, _ in pairs}
    for first, second in pairs:
        seconds[first] |= second in column_by_spelling or (first == "wins" and "losses" in column_by_spelling)
    return [
        column_by_spelling[first] for first, is_pair in seconds.items() if first in column_by_spelling and not is_pair
    ]
