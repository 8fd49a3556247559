"""The roles of columns by the names that people give them, and by what they hold.

Names are compared in lower case, by letters and digits alone: those of home_team and HomeTeam are the same. Columns
that options name come first, then those of the library's own names (a and b, winner and loser, contest and player,
score, time), and only for what is left the spellings of `column_spellings`. Who plays is told by names alone. Then all
columns are loaded at once whose names leave their roles open, and their values decide: which tells the results, who has
the side, and which holds times.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, permutations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_table, join_names, to_one_line, truncate_text
from jaxrate.data.column_conversion import missing_mask, numbers_or_nan, to_column, to_flags, to_values
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    CONTEST_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    as_column_list,
    check_role_arguments,
    raise_first,
)
from jaxrate.data.column_spellings import (
    COUNT_TEMPLATES,
    GOAL_TEMPLATES,
    LINE_UP_SPELLINGS,
    NAME_TEMPLATES,
    POINT_TEMPLATES,
    RESULT_TEMPLATES,
    SIDE_PAIRS,
    SPELLINGS,
    THIRD_SIDES,
    UNKNOWN_SIDES,
    Header,
    SidesSpelling,
    normalise_column_name,
    spell_pairs,
)
from jaxrate.data.date_parsing import is_time_column
from jaxrate.data.result_parsing import (
    MIN_READABLE_SHARE,
    SETS,
    WINNER_CODES,
    ParsedResults,
    ResultColumn,
    codes_to_scores,
    is_winner_column,
    parse_results,
    replace_na_values,
    winner_code_readings,
)
from jaxrate.data.role_resolution import ColumnRoles, TableLayout, check_line_up_roles, resolve_roles
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    UnreadableTableError,
    check_columns_exist_and_unique,
    import_pyarrow,
    shorten_to_one_line,
)

SIDE_NOTE = ", the first of whom has the side"
LAYOUTS = WINNER_LOSER, PLAYER_PAIR, CONTEST_ROLES  # the first two roles of each are of players, or contest and player


class ColumnsRecognisedWarning(UserWarning):
    """Which columns were recognised, and as what."""


class ResolvedTable(NamedTuple):
    """A table, and what its columns are used for."""

    table: TableSource  # which does not load again what was inspected
    roles: ColumnRoles
    arguments: dict[str, Any]  # the columns by role that were named
    recognised: dict[str, Any]  # these, and the columns that were recognised
    notes: list[str]  # what was taken for what
    unused_neutral: str | None = None  # the column that says that there are sides, where nobody has the side
    winner_codes: dict[int, float] | None = None  # the scores that numbers in the column of results stand for


def resolve_table(
    table: TableSource, arguments: dict[str, Any], upcoming: bool, dates: str | None, na_values: Sequence[str]
) -> ResolvedTable:
    """Which columns of a table are used, and for what: as the arguments say, and else as the columns are called.

    Args:
      table: the table whose columns are inspected.
      arguments: those of `read` that name columns; columns are sought for those that are None.
      upcoming: the matches are to come, so that nobody has won.
      dates, na_values: as in `read`.

    Raises:
      ValueError: if arguments contradict each other or the table, or if it does not tell what they leave open; it then
        shows the columns, the first rows and what to name.
    """
    check_role_arguments(arguments)
    players = recognise_players(Header.of_columns(table.names), arguments, upcoming)
    table, players = (table, players) if players else split_pairs_in_cells(table)
    check_players(table, players, arguments)
    header = Header.of_columns(table.names)
    notes = [players.note] if players.note else []
    search = RoleSearch(header, players, {**arguments, **players.columns}, notes, upcoming)
    opened = load_open_columns(search, table, na_values)
    choice = recognise_result(table, search, opened)
    unused_neutral = recognise_side(search, opened)
    if arguments["time"] is None:
        search.arguments["time"] = recognise_time(search, opened, dates)
    table = table_with_loaded_columns(table, opened.columns)
    roles = resolve_roles(table.names, table_layout(search, choice), search.arguments, upcoming)
    return ResolvedTable(table, roles, arguments, search.arguments, search.notes, unused_neutral, choice.codes)


def table_layout(search: "RoleSearch", choice: "ResultChoice") -> TableLayout:
    """The columns of players and results; of events to come only if there are such columns."""
    columns, rank = search.players.columns, search.arguments["rank"]
    if search.players.roles == CONTEST_ROLES:
        contest, participant = search.players.names
        if search.upcoming and rank is None:  # which tells the contests that were played
            rank = search.header.find_own("rank") or search.header.find_first(SPELLINGS["rank"])
        result = rank or search.arguments["score"] or search.header.find_own("score")
        return TableLayout([participant], result, contest, ranked=rank is not None)
    first, second = (as_column_list(columns[role]) for role in search.players.roles)
    layout = TableLayout(
        [*first, *second],
        winner_first=search.players.roles == WINNER_LOSER,
        num_first=len(first) if search.players.are_teams else 0,
    )
    has_result = {*choice.points, choice.result} <= {*search.header.names, None}
    is_used = has_result or not search.upcoming
    return layout._replace(result=choice.result, points=choice.points) if is_used else layout


# Who plays, by names alone


class PlayerColumns(NamedTuple):
    """The columns of the players of a table."""

    roles: tuple[str, ...]  # one of `LAYOUTS`
    columns: dict[str, Any]  # by role; for both sides of several players lists
    sides: SidesSpelling = UNKNOWN_SIDES  # how both sides are called
    note: str = ""

    @property
    def names(self) -> list[Any]:
        """The columns of both sides, of several players of the first, or of contest and participant."""
        return [as_column_list(self.columns[role])[0] for role in self.roles[:2]]

    @property
    def are_teams(self) -> bool:
        """Whether several columns hold the players of a side."""
        return isinstance(self.columns[self.roles[0]], list)

    @property
    def possible_sides(self) -> list[SidesSpelling]:
        """How both sides may be called in further columns; first as these are called, also the other way round."""
        if self.sides != UNKNOWN_SIDES:
            return [self.sides]
        kinds = ["winner"] if self.roles == WINNER_LOSER else ["sides", *([] if self.are_teams else ["own"])]
        one, other = differing_words(*self.names)
        sides = [
            x._replace(first=x.second, second=x.first) if other in x.first and one in x.second else x
            for x in SIDE_PAIRS
            if x.kind in kinds
        ]
        return sorted(sides, key=lambda x: not (one in x.first and other in x.second))


def differing_words(one: Any, other: Any) -> tuple[str, str]:
    """The only words in which two names of columns differ; "" if there are none, or several."""
    names = (re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)) for name in (one, other))
    words = ([normalise_column_name(word) for word in re.findall(r"[^\W\d_]+|\d+", name)] for name in names)
    first, second = words
    pairs = {pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]}
    return pairs.pop() if len(pairs) == 1 and len(first) == len(second) else ("", "")


def recognise_players(header: Header, arguments: Mapping[str, Any], upcoming: bool = False) -> PlayerColumns | None:
    """The columns of the players, by the first rule that tells them: arguments, the library's names, and usual names.

    Args:
      header: the names of all columns.
      arguments: those of `read` that name columns.
      upcoming: the matches are to come, so that nobody has won.

    Raises:
      ValueError: if arguments contradict each other, or if several columns could be the players.
    """
    check_layout_arguments(header, arguments, upcoming)
    rows_of_one_side = [
        _spelt_contest(header, arguments, upcoming),
        _players_of_sides(header, arguments, upcoming, "own"),
    ]
    rules = (
        _named_players(header, arguments, upcoming),
        _players_of_sides(header, arguments, upcoming, "sides"),
        _players_of_sides(header, arguments, upcoming, "winner"),
        _numbered_players(header, upcoming),
        *(reversed(rows_of_one_side) if upcoming else rows_of_one_side),
    )
    return next(chain(*rules), None)


def _named_layouts(arguments: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The layouts of which arguments name a column."""
    return [roles for roles in LAYOUTS if any(arguments[role] is not None for role in roles)]


def check_layout_arguments(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> None:
    """ValueError if arguments name columns of several layouts, of one side alone, or results of events to come."""
    named, rank = _named_layouts(arguments), arguments["rank"] or arguments["last_rank"]
    sides = [arguments[role] for roles in named[:1] for role in roles[:2]]
    one_side = any(isinstance(x, (list, tuple)) for x in sides) and not all(sides)
    roles = " and ".join([*chain(*named)][:2])
    raise_first(
        (len(named) > 1, "give the columns a and b, or winner and loser, or those of contests, and not the others"),
        (one_side, f"{roles} must both name the columns of a side, got {sides}"),
        (upcoming and WINNER_LOSER in named, "matches to come have columns a and b; nobody has won them yet"),
        (rank and arguments["score"], "give rank, lower is better, or score, higher is better, and not both"),
    )


def _named_players(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> Iterator[PlayerColumns]:
    """The columns that arguments name, and those of the library's own names, at best in their letter case."""
    own = [roles for roles in LAYOUTS[upcoming:] if None not in map(header.find_own, roles[:2])]
    own.sort(key=lambda roles: not {COLUMN_ROLES[role].default[0] for role in roles[:2]} <= {*header.names})
    for roles in (*_named_layouts(arguments), *own):
        if roles == CONTEST_ROLES:
            yield _named_contest(header, arguments, upcoming)
        else:
            columns = {role: arguments[role] or header.find_own(role) or role for role in roles}
            has_lists = any(isinstance(x, (list, tuple)) for x in columns.values())
            yield PlayerColumns(roles, {role: as_column_list(x) if has_lists else x for role, x in columns.items()})


def _players_of_sides(
    header: Header, arguments: Mapping[str, Any], upcoming: bool, kind: str
) -> Iterator[PlayerColumns]:
    """The columns of both sides, as of home and away; ValueError if several could be."""
    found: dict[tuple[Any, Any], SidesSpelling] = {}
    for sides in SIDE_PAIRS:
        for pair in header.find_pairs(spell_pairs(NAME_TEMPLATES, sides))[: sides.kind == kind]:
            found.setdefault(pair, sides)
    if len(found) > 1:
        candidates, (a, b) = ", or ".join(f"{x} and {y}" for x, y in found), next(iter(found))
        raise ValueError(f"the players could be {candidates}; say which, as a={a!r}, b={b!r}")
    for pair, sides in found.items():
        _check_no_third_player(header, sides, pair)
        roles = WINNER_LOSER if kind == "winner" and not upcoming else PLAYER_PAIR
        home = SIDE_NOTE if sides.side and arguments["side"] in (None, "a") else ""
        note = f"{pair[0]} and {pair[1]} for {roles[0]} and {roles[1]}{home}"
        yield PlayerColumns(roles, dict(zip(roles, pair, strict=True)), sides, note)


def _check_no_third_player(header: Header, sides: SidesSpelling, pair: tuple[Any, Any]) -> None:
    """ValueError if a third player is called as those of both sides are, as p3 beside p1 and p2."""
    spelling = normalise_column_name(pair[0])
    for first in THIRD_SIDES.keys() & {*sides.first}:
        templates = [template for template in NAME_TEMPLATES if template.format(first) == spelling]
        for third in header.find_columns(template.format(THIRD_SIDES[first]) for template in templates):
            raise ValueError(
                f"{pair[0]}, {pair[1]} and {third} are more than two players of a row; give each participant a row, "
                f"with contest, player and rank, or, if only two of them play, say a={pair[0]!r}, b={pair[1]!r}"
            )


def _numbered_players(header: Header, upcoming: bool) -> Iterator[PlayerColumns]:
    """The numbered columns of line-ups, as a1, a2, b1 and b2; ValueError if a number between has no column."""
    for templates in LINE_UP_SPELLINGS:
        sides = [_numbered_columns(header, template) for template in templates]
        if all(sides) and sum(map(len, sides)) > 2:
            roles = WINNER_LOSER if "winner" in templates[0] and not upcoming else PLAYER_PAIR
            for role, columns, template in zip(roles, sides, templates, strict=True):
                _check_numbers_without_gap(role, columns, template)
            first, second = ([columns[number] for number in sorted(columns)] for columns in sides)
            note = f"{', '.join(first)} for the team of {roles[0]}, and {', '.join(second)} for that of {roles[1]}"
            yield PlayerColumns(roles, {roles[0]: first, roles[1]: second}, note=note)


def _numbered_columns(header: Header, template: str) -> dict[int, Any]:
    """The columns of a template by number, that of a letter in the alphabet; none unless one has number 0 or 1."""
    pattern = re.compile(template.format(number="(0|[1-9][0-9]*)", letter="([a-h])"))
    matches = {match[1]: name for x, name in header.by_spelling.items() if (match := pattern.fullmatch(x))}
    columns = {int(x) if x.isdigit() else LETTERS.index(x): name for x, name in matches.items()}
    return columns if columns.keys() & {0, 1} else {}


LETTERS = " abcdefgh"  # by number


def _check_numbers_without_gap(role: str, columns: Mapping[int, str], template: str) -> None:
    """ValueError if a number between those of the columns has none, whose player would be missing."""
    numbers = sorted(columns)
    for missing in sorted({*range(numbers[0], numbers[-1])} - {*numbers})[:1]:
        names = [columns[number] for number in numbers]
        lacking = template.format(number=missing, letter=LETTERS[missing % len(LETTERS)])
        raise ValueError(
            f"there are columns {join_names(names)} for the team of {role}, and no {lacking}; add it, or name the "
            f"columns of both teams, as {role}={names!r}"
        )


def _contest_roles(arguments: Mapping[str, Any], upcoming: bool) -> tuple[str, ...]:
    """The roles that every contest has; those to come have no rank, and others may have a score."""
    return CONTEST_ROLES[: 2 if upcoming or arguments["score"] else 3]


def _named_contest(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> PlayerColumns:
    """The columns of contests: named, or of the library's own names, or spelt so; assumed where there are none."""
    roles = _contest_roles(arguments, upcoming)
    own_score = header.find_own("score") if arguments["score"] is None else None
    columns = {role: arguments[role] or header.find_own(role) for role in roles}
    sought = [role for role in roles if columns[role] is None and (role != "rank" or own_score is None)]
    spelt = {role: header.find_first(SPELLINGS[role]) for role in sought}
    assumed = {role: COLUMN_ROLES[role].default[0] for role in sought if spelt[role] is None}
    return PlayerColumns(CONTEST_ROLES, columns | spelt | assumed, note=_describe_contest(spelt))


def _spelt_contest(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> Iterator[PlayerColumns]:
    """The columns of contests, if all of them are spelt as people call them."""
    spelt = {role: header.find_first(SPELLINGS[role]) for role in _contest_roles(arguments, upcoming)}
    if None not in spelt.values():
        yield PlayerColumns(CONTEST_ROLES, spelt, note=_describe_contest(spelt))


def _describe_contest(columns: Mapping[str, Any]) -> str:
    """What columns of contests were taken for, but for those of the library's own names."""
    own = {role: (None, *COLUMN_ROLES[role].default[:1]) for role in columns}
    spelt = {role: name and normalise_column_name(name) for role, name in columns.items()}
    return "; ".join(f"{name} for the {role}" for role, name in columns.items() if spelt[role] not in own[role])


def check_players(table: TableSource, players: PlayerColumns, arguments: Mapping[str, Any]) -> None:
    """ValueError if there are no such columns, or if arguments do not go with them."""
    check_columns_exist_and_unique(table.names, [x for role in players.roles for x in as_column_list(arguments[role])])
    for role in players.roles[:3]:
        if not {*as_column_list(players.columns.get(role))} <= {*table.names}:
            raise missing_column_error(table, role, {**arguments, **players.columns})
    if players.are_teams:
        check_line_up_roles(arguments)
    first, second = (players.columns[role] for role in players.roles[:2])
    columns, roles = [*as_column_list(first), *as_column_list(second)], " and ".join(players.roles[:2])
    is_scored = players.roles == WINNER_LOSER and arguments["score"]
    raise_first(
        (first == second, f"{roles} are the same column, {first!r}; name one for each player"),
        (len({*columns}) < len(columns), f"the line-ups name a column twice: {', '.join(map(str, columns))}"),
        (is_scored, "the score of a winner is 1; give a and b, not winner and loser, to use a column of scores"),
    )


# Columns whose contents decide


class RoleSearch(NamedTuple):
    """What is known of the roles; columns and notes are added as they are found."""

    header: Header
    players: PlayerColumns
    arguments: dict[str, Any]
    notes: list[str]
    upcoming: bool

    @property
    def is_result_open(self) -> bool:
        """Whether contents decide what tells the results: no argument and none of the library's own names has it."""
        is_sought = self.margin_of_both or self.players.sides != UNKNOWN_SIDES or self.header.find_own("score") is None
        return bool(self.players.roles == PLAYER_PAIR and self.arguments["score"] is None and is_sought)

    @property
    def margin_of_both(self) -> tuple[str, ...]:
        """The points of both sides, if an argument names them."""
        margin = tuple(as_column_list(self.arguments["margin"]))
        return margin if len(margin) == 2 else ()


class OpenColumns(NamedTuple):
    """Columns whose names leave their roles open, so that their values decide."""

    results: Sequence[str]
    points: Sequence[tuple[str, str]]
    goals: Sequence[tuple[str, str]]  # of the points, those of the match itself for sure
    times: Sequence[str]
    neutral: Sequence[str]
    side: Sequence[str]
    columns: Mapping[str, Column] = MappingProxyType({})  # all of these and the players; none if nothing is open
    values: Mapping[str, Column] = MappingProxyType({})  # the same, missing where a text says so
    players: Mapping[str, Column] = MappingProxyType({})  # the names of both players, by column

    def result_column(self, name: str) -> ResultColumn:
        """A column that may tell the results."""
        return ResultColumn(name, self.values[name], self.players)


def find_open_columns(search: RoleSearch) -> OpenColumns:
    """The columns whose roles are open, as far as their names tell."""
    header, arguments, sides = search.header, search.arguments, search.players.sides
    results = _result_candidates(search) if search.is_result_open else ([], [], [])
    times = header.find_columns(SPELLINGS["time"]) if arguments["time"] is None else []
    is_sure = times == [header.find_own("time")] and not search.notes
    is_side_open = arguments["side"] is None and not search.upcoming
    roles = {"neutral": sides.side or (is_side_open and search.players.roles == PLAYER_PAIR)}
    roles["side"] = is_side_open and sides.kind == "winner"
    neutral, side = (header.find_columns(SPELLINGS[role] if is_open else ()) for role, is_open in roles.items())
    return OpenColumns(*results, [] if is_sure else times, neutral, side)


def _result_candidates(search: RoleSearch) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
    """The columns of results, the pairs of points, and those of them that are goals, which may tell who won."""
    header, players = search.header, search.players
    if search.margin_of_both:
        points = [(x, y) for x, y in [search.margin_of_both] if {x, y} <= {*header.names}]
        return (
            [x for x in [header.find_own("score")] if x is not None] or header.find_columns(SPELLINGS["score"]),
            points,
            [],
        )
    sides = players.possible_sides
    goals = header.find_points(GOAL_TEMPLATES, sides)
    others = {*chain(*map(as_column_list, players.columns.values())), *chain(*goals)}
    results = [
        x for x in (*header.find_columns(SPELLINGS["score"]), *_results_of_first_side(header, sides)) if x not in others
    ]
    return results, header.find_points((*POINT_TEMPLATES, *COUNT_TEMPLATES), sides), goals


def _results_of_first_side(header: Header, sides: Sequence[SidesSpelling]) -> list[Any]:
    """Columns that say whether the first side has won, where the second has none: wins of both are counts."""
    pairs = [*chain(*(spell_pairs(RESULT_TEMPLATES, one) for one in sides)), ("wins", "losses")]
    counts = {first for first, second in pairs if second in header.by_spelling}
    return header.find_columns(
        first for first in dict.fromkeys(first for first, _ in pairs[:-1]) if first not in counts
    )


def load_open_columns(search: RoleSearch, table: TableSource, na_values: Sequence[str]) -> OpenColumns:
    """The columns whose roles are open, and those of the players, of a single reading of the table."""
    opened, players = find_open_columns(search), search.players.names
    if not any(opened):
        return opened
    text = [*players, *opened.results, *opened.side]
    names = list(dict.fromkeys([*text, *opened.times, *chain(*opened.points), *opened.neutral]))
    loaded = table.load(names, text)
    columns = {name: to_column(name, loaded[name]) for name in names}
    values = {name: replace_na_values(column, na_values) for name, column in columns.items()}
    return opened._replace(columns=columns, values=values, players={x: columns[x] for x in players})


def table_with_loaded_columns(table: TableSource, columns: Mapping[str, Column]) -> TableSource:
    """The table, which does not load these columns again."""

    def load(wanted: Sequence[str], text: Sequence[str] = ()) -> Any:
        others = [name for name in wanted if name not in columns]
        loaded = table.load(others, text) if others else {}
        return {**columns, **{name: loaded[name] for name in others}}

    return table._replace(load=load) if columns else table


def is_numeric_column(column: Column) -> bool:
    """Whether all values of a column are numbers, or it has none."""
    return numeric_share(column) == 1.0


def numeric_share(column: Column) -> float:
    """The share of the rows with a value that are numbers; 1 if none has a value."""
    present = ~missing_mask(column)
    return float(np.mean(~np.isnan(numbers_or_nan(column)[present]))) if present.any() else 1.0


def date_columns(table: TableSource, used: Collection[str], dates: str | None) -> list[str]:
    """The columns, other than those used, that hold dates, as far as their first values tell; of numbers none."""
    found = []
    for name, values in table.first_values([name for name in table.names if name not in used]).items():
        with suppress(ValueError):
            column = to_column(name, values)
            if not is_numeric_column(column) and is_time_column(name, column, dates):
                found.append(name)
    return found


VERSUS = r"vs?\.?|versus|against|@|gegen|contre|contra"
DASHES = "[-\u2013\u2014]"
PAIR_NAMES = r"match(up|es)?|game|fixture|bout|fight|teams|players|pairing|opponents|meeting|encounter"


def split_pairs_in_cells(table: TableSource) -> tuple[TableSource, PlayerColumns]:
    """The table with two columns for one whose cells name both players; ValueError if there is none.

    "Ada vs. Bo" tells of any column, and "Ada - Bo" of one that is called as matches are.
    """
    first_values = table.first_values(table.names)
    for name in table.names:
        with suppress(ValueError):
            cells = to_values(to_column(name, first_values.get(name, [])))
            if cells and all(isinstance(cell, str) and re.match(_pair_pattern(name), cell) for cell in cells):
                pair = dict(zip(PLAYER_PAIR, names_of_split_columns(name), strict=True))
                note = f"the two names in {name} for a and b"
                return append_split_columns(table, name), PlayerColumns(PLAYER_PAIR, pair, note=note)
    header = Header.of_columns(table.names)
    for roles in (PLAYER_PAIR, WINNER_LOSER):
        own = {role: column for role in roles if (column := header.find_own(role)) is not None}
        if len(own) == 1:
            (missing,) = {*roles} - own.keys()
            raise missing_column_error(table, missing, own)
    raise missing_column_error(table, "a", {})


def names_of_split_columns(name: str) -> list[str]:
    """The columns of the two names in the cells of one."""
    return [f"{name} (1)", f"{name} (2)"]


def _pair_pattern(name: str) -> str:
    """The pattern of a cell that names both players, in a column of this name."""
    is_match = re.fullmatch(PAIR_NAMES, normalise_column_name(name)) is not None
    separator = f"{VERSUS}|{DASHES}" if is_match else VERSUS
    return rf"(?i)^\s*(?P<one>.+?)\s+(?:{separator})\s+(?P<two>.+?)\s*$"


def append_split_columns(table: TableSource, name: str) -> TableSource:
    """The table with a column for each of both names in the cells of one."""
    pattern, parts = _pair_pattern(name), names_of_split_columns(name)

    def load(wanted: Sequence[str], text: Sequence[str] = ()) -> Any:
        sources = list(dict.fromkeys(name if x in parts else x for x in wanted))
        loaded = table.load(sources, [*text, name])
        columns = {x: loaded[x] for x in sources}
        if name in columns:
            compute = import_pyarrow().compute
            fields = compute.extract_regex(to_column(name, loaded[name]), pattern)
            columns |= {x: compute.struct_field(fields, [i]) for i, x in enumerate(parts)}
        return columns

    return table._replace(names=[*table.names, *parts], load=load)


# What tells the results of matches


MAX_CONTRADICTIONS = 0.03  # share of the rows that is an error of some rows, and not of a column
MIN_AGREEMENT = 0.9  # share of the matches with a winner by points in which a reading has the same
SCORE_CODES = {1: 1.0, 0: 0.0}


class ResultChoice(NamedTuple):
    """The columns that tell the results of matches."""

    result: str | None = None
    points: tuple[str, ...] = ()  # of both sides, which tell the results
    codes: dict[int, float] | None = None  # the scores of the first players that numbers in the column stand for
    note: str = ""


def recognise_result(table: TableSource, search: RoleSearch, opened: OpenColumns) -> ResultChoice:
    """The columns that tell the results; puts that of the score into the arguments if contents tell it.

    Raises:
      ValueError: if nothing tells the results of matches that need them.
    """
    own, named = search.header.find_own("score"), search.arguments["score"]
    if search.players.roles != PLAYER_PAIR or named:
        return ResultChoice(named or None)
    if search.margin_of_both or named is False:
        return _choose_named_points(search, opened)
    choice = choose_result(search, opened) if search.is_result_open else ResultChoice(own)
    if choice != ResultChoice():
        return choice
    if own is None and not search.upcoming:
        raise missing_column_error(table, "score", search.arguments)
    return ResultChoice(own)


def _choose_named_points(search: RoleSearch, opened: OpenColumns) -> ResultChoice:
    """The points of both that an argument names, or the library's own column of scores if it has results.

    Notes if it has none, and which other columns of results contradict the points.
    """
    own, margin, arguments = search.header.find_own("score"), search.margin_of_both, search.arguments
    parsed = {name: parse_results(opened.result_column(name)) for name in opened.results}
    if not margin and not search.upcoming:
        raise ValueError("score=False needs the two columns of each side's points as margin, which tell who won")
    if own is not None and arguments["score"] is None and parsed.get(own, own) is not None:
        return ResultChoice(own)
    if own in parsed:
        arguments["score"] = False
        search.notes.append(f"nothing for the score, as {own} has no results, and the points of both tell who won")
    lead = _sign_of_lead(opened.points, opened.values)
    for name, results in parsed.items():
        if results is not None and (bad := _contradictions(results.score, lead)).mean() > MAX_CONTRADICTIONS:
            search.notes.append(_describe_preferred_points(name, margin, bad))
    return ResultChoice(points=margin)


def choose_result(search: RoleSearch, opened: OpenColumns) -> ResultChoice:
    """The column of results, which becomes an argument, or those of both sides' points; notes which.

    Raises:
      ValueError: if a column can be read in two ways, and the others do not say which is right.
    """
    values = opened.values
    quality = {pair: _points_quality([values[name] for name in pair]) for pair in opened.points}
    points = max(quality, key=lambda pair: quality[pair]) if any(quality.values()) else ()
    names = [*opened.results, *(() if points else (first for first, _ in opened.points))]  # W and L of both sides
    parsed = {name: parse_results(opened.result_column(name)) for name in names}
    readings = {name: results for name, results in parsed.items() if results is not None}
    choice = _choose_reading(readings, points, opened) if readings else _choose_points(points, opened)
    search.arguments["score"] = choice.result
    search.notes.extend({choice.note} - {"", f"{search.header.find_own('score')} for the score"})
    return choice


def _choose_points(points: tuple[str, ...], opened: OpenColumns) -> ResultChoice:
    """The points of both, or a column of results without a value if there are no points either."""
    empty = next((name for name in opened.results if _are_empty([opened.values[name]])), None)
    if empty is not None and _are_empty([opened.values[name] for name in points]):
        return ResultChoice(empty, note=f"{empty} for the score")
    note = f"{' and '.join(points)} for the points of both, which tell who won"
    return ResultChoice(points=points, note=note) if points else ResultChoice()


def _choose_reading(
    readings: Mapping[str, ParsedResults], points: tuple[str, ...], opened: OpenColumns
) -> ResultChoice:
    """The column of these that tells the results, or the points."""
    is_decided = {name: _has_wins_of_both(results) for name, results in readings.items()}
    has_winner = any(is_winner_column(name) and is_decided[name] for name in readings)
    # Sets may be a winner's, and beside the names of winners a column may say that somebody won.
    order = {name: (x.notation == SETS, has_winner and not is_decided[name]) for name, x in readings.items()}
    name = min(readings, key=lambda name: order[name])
    lead = _sign_of_lead([points] if points in opened.goals else [], opened.values)
    if codes := winner_code_readings(opened.result_column(name)):
        return _choose_winner_codes(name, opened.values[name], codes, lead, [*opened.players])
    scores = {name: readings[name].score} | {other: results.score for other, results in readings.items()}
    return _settle_contradictions(name, points, scores, lead)


def _has_wins_of_both(results: ParsedResults) -> bool:
    """Whether either side wins in some row."""
    return {0.0, 1.0} <= {*results.score.tolist()}


def _are_empty(columns: Iterable[Column]) -> bool:
    return all(missing_mask(column).all() for column in columns)


def _points_quality(columns: Sequence[Column]) -> int:
    """How sure two columns hold points: 3 for numbers, 2 for nothing, 1 with mistakes, 0 for no numbers."""
    share = min(map(numeric_share, columns))
    return 3 - _are_empty(columns) if share == 1.0 else int(share >= MIN_READABLE_SHARE)


def _describe_preferred_points(name: str, points: tuple[str, ...], bad: HostArray) -> str:
    count = f"{np.count_nonzero(bad):,} of {format_count(len(bad), 'row')}"
    text = "for the points of both, which tell who won, and not"
    return f"{join_names(points)} {text} {name}, which contradicts them in {count}"


def _sign_of_lead(pairs: Sequence[tuple[str, ...]], values: Mapping[str, Column]) -> HostArray:
    """[n] 1 where the first player has more points, -1 where the second has, 0 where neither; [0] without a pair."""
    for x, y in pairs:
        if is_numeric_column(values[x]) and is_numeric_column(values[y]):
            return np.nan_to_num(np.sign(numbers_or_nan(values[x]) - numbers_or_nan(values[y])))
    return np.zeros(0)


def _choose_winner_codes(
    name: str, column: Column, readings: list[dict[int, float]], lead: HostArray, players: Sequence[str]
) -> ResultChoice:
    """The scores of a column of winners in numbers, by the reading that agrees with the points, or the only one."""
    if lead.any():
        possible = [codes for codes in (*WINNER_CODES, SCORE_CODES) if readings[0].keys() <= codes.keys()]
        wrong = [np.count_nonzero(_contradictions(codes_to_scores(column, codes), lead)) for codes in possible]
        is_clear = min(wrong) <= (1.0 - MIN_AGREEMENT) * np.count_nonzero(lead)
        readings = [possible[int(np.argmin(wrong))]] if is_clear else readings
    if len(readings) > 1:
        both = "; or ".join(_describe_codes(codes, players) for codes in readings)
        raise ValueError(
            f"column {name!r} can be read in two ways: {both}. Write the names of the winners, or {players[0]}, "
            f"{players[1]} and draw, in place of the numbers"
        )
    codes, note = readings[0], f"{name} for the score"
    if codes != WINNER_CODES[0]:
        note += f", where {_describe_codes(codes, players)}"
    if codes == WINNER_CODES[2] and not lead.any():
        note += f"; if it is 1 where {players[0]} won, say score={name!r}"
    return ResultChoice(name, codes=codes, note=note)


def _describe_codes(codes: Mapping[int, float], players: Sequence[str]) -> str:
    meanings = {1.0: f"a win of {players[0]}", 0.0: f"one of {players[1]}", 0.5: "a draw"}
    return join_names([f"{code} is {meanings[score]}" for code, score in codes.items()])


def _settle_contradictions(
    name: str, points: tuple[str, ...], scores: Mapping[str, HostArray], lead: HostArray
) -> ResultChoice:
    """The column of results, or the points that contradict it where a third column agrees with them.

    Args:
      name: the column.
      points: those of both sides.
      scores: by column, those of this one first.
      lead: of the points; empty if there are none.
    """
    score, *others = scores.values()
    bad = _contradictions(score, lead)
    if not bad.any():
        return ResultChoice(name, note=f"{name} for the score")
    x, y = points
    count = f"in {np.count_nonzero(bad):,} of {format_count(len(bad), 'row')}"
    is_rare = np.count_nonzero(bad) < 2 or bad.mean() <= MAX_CONTRADICTIONS
    if not is_rare and any(_contradictions(other, lead).mean() <= MAX_CONTRADICTIONS for other in others):
        return ResultChoice(points=points, note=_describe_preferred_points(name, points, bad))
    if is_rare or any(_do_agree(score, other) for other in others):
        return ResultChoice(name, note=f"{name} for the score, though {x} and {y} contradict it {count}")
    raise ValueError(
        f"columns {name!r} and {x!r} and {y!r} contradict each other {count} (the first is row {np.argmax(bad)}, "
        f"counting from 0); say score={name!r} or margin={[x, y]!r}"
    )


def _contradictions(score: HostArray, lead: HostArray) -> HostArray:
    """[n] where the points have a winner, and the score another or none; level points may have one by a shoot-out."""
    if not len(lead):
        return np.zeros(1, bool)
    return (lead != 0) & ~np.isnan(score) & (np.sign(score - 0.5) != lead)


def _do_agree(one: HostArray, other: HostArray) -> bool:
    both = ~np.isnan(one) & ~np.isnan(other)
    return bool(both.any() and (one != other)[both].mean() <= MAX_CONTRADICTIONS)


# Sides and times


def recognise_side(search: RoleSearch, opened: OpenColumns) -> str | None:
    """Puts who has the side, and where nobody has, into the arguments; a column of neutral ground that is not used."""
    arguments, notes = search.arguments, search.notes
    if search.players.sides.side and arguments["side"] is None and "a" not in search.header.names:
        arguments["side"] = "a"
    for name in opened.side:
        arguments["side"] = name
        notes.append(f"{name} for the side")
    is_open = arguments["neutral"] is None and arguments["side"] in ("a", None)
    for name in opened.neutral if is_open else ():
        with suppress(ValueError):
            to_flags(name, opened.columns[name])
            if arguments["side"] is None:
                return name
            arguments["neutral"] = name
            notes.append(f"{name} for neutral")
    return None


def recognise_time(search: RoleSearch, opened: OpenColumns, dates: str | None) -> str | None:
    """The first column that holds dates, or an own one of the library that holds numbers; notes what was found."""
    columns, own = {name: opened.values[name] for name in opened.times}, search.header.find_own("time")
    if not columns:
        return own if own != search.arguments["rank"] else None
    own_columns = {*search.header.find_columns(COLUMN_ROLES["time"].default)} & {*columns}
    times = [name for name, column in columns.items() if is_time_column(name, column, dates)]
    times += [name for name, column in columns.items() if name in own_columns and is_numeric_column(column)]
    if not {*times[:1]} <= own_columns:
        search.notes.append(f"{times[0]} for the time")
    if own_columns and not times:
        search.notes.append(f"nothing for the time, as {', '.join(map(str, columns))} has no dates")
    return next(iter(times), None)


def time_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called as times are."""
    return [name for name in names if normalise_column_name(name) in SPELLINGS["time"]]


# What is missing


SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_WIDTH = 3, 12, 120  # of a table that cannot be read as it is
CONTEST_WORDS = "tournament", "meet", "match", "game", "round"  # that may be contests, if nothing else is
MAX_EXAMPLES = 20  # columns among which two of both sides are sought
ADVICE = {  # by the role that is missing, with columns that may have it
    "a": "of matches name both players, as a={x!r}, b={y!r}; of those in which somebody won, as winner={x!r}, "
    "loser={y!r}; of contests with a row for each participant, as contest={contest!r}, participant={participant!r}, "
    "{place}",
    "rank": "name that of ranks, as rank={p!r}; or of scores, of which higher is better, as score={p!r}",
    "score": "name that of the results, as score={text!r}; or those of the points of both, as margin=[{p!r}, {q!r}]",
}


def missing_column_error(table: TableSource, role: str, arguments: Mapping[str, Any]) -> UnreadableTableError:
    """The error for a table without a column that it needs: it shows the first rows, and the arguments to write.

    Args:
      table: its columns, none of which is called as those of the role are.
      role: `a` says that nothing tells who plays.
      arguments: the columns that have another role.
    """
    used = [*chain(*map(as_column_list, arguments.values())), *time_columns(table.names)]
    loaded = table.load(table.names, table.names) if table.names else {}
    columns = {name: to_column(name, loaded[name]) for name in table.names}
    others = {name: x for name, x in columns.items() if name not in used and not is_time_column(name, x, None)}
    advice = ADVICE.get(role, "name it, as {role}={x!r}").format(role=role, **_example_columns(others))
    message = f"no column {COLUMN_ROLES[role].default[0]!r}; {advice} (there are: {', '.join(map(str, table.names))})"
    return UnreadableTableError("\n  ".join([shorten_to_one_line(message), *format_first_rows(columns)]))


def _example_columns(columns: Mapping[str, Column]) -> dict[str, Any]:
    """The columns that advice may name: x and y of both sides, p and q of numbers, and those of contests."""
    numbers = [name for name, column in columns.items() if is_numeric_column(column)]
    texts = [name for name in columns if name not in numbers]
    (x, y), (p, q) = _pair_of_sides(texts or numbers), _pair_of_sides(numbers)
    words = _example_contest_columns(Header.of_columns([*columns]), texts or numbers, numbers)
    return words | {"x": x, "y": y, "p": p, "q": q, "text": next(iter(texts), "...")}


def _example_contest_columns(header: Header, names: Sequence[Any], numbers: Sequence[Any]) -> dict[str, Any]:
    """The columns of contests that advice may name, with participants among `names`, and places among numbers."""
    contests = header.find_columns([*SPELLINGS["contest"], *CONTEST_WORDS])
    participant, *_ = *(name for name in names if name not in contests[:1]), "..."
    contest, *_ = *contests, *(name for name in header.names if name != participant), "..."
    score, *_ = *(name for name in numbers if name not in (participant, contest)), "..."
    ranks = [name for name in header.find_columns(SPELLINGS["rank"]) if name in numbers]
    place = f"rank={ranks[0]!r}" if ranks else f"score={score!r}, of which higher is better, or rank"
    return {"contest": contest, "participant": participant, "place": place}


def _pair_of_sides(names: Sequence[Any]) -> tuple[Any, Any]:
    """Two columns that are called as both sides are, or else the first two, or "..."."""
    words = {pair: differing_words(*pair) for pair in permutations(names[:MAX_EXAMPLES], 2)}
    for pair, (one, other) in words.items():
        if any(one in sides.first and other in sides.second for sides in SIDE_PAIRS):
            return pair
    first, second, *_ = *next((pair for pair, (one, _) in words.items() if one), names), "...", "..."
    return first, second


def format_first_rows(columns: Mapping[Any, Column]) -> list[str]:
    """The lines of a table of the first cells of columns."""
    names = [*columns][:SHOWN_COLUMNS]
    cells = zip(*(to_values(columns[name][:SHOWN_ROWS]) for name in names), strict=False)
    rows = [["" if x is None else to_one_line(truncate_text(str(x))) for x in row] for row in cells]
    head = [to_one_line(truncate_text(str(name))) for name in names]
    text = format_table(head, rows, head)
    return [line[:SHOWN_WIDTH] for line in text.split("\n")]
