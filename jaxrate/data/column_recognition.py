"""The roles of columns by the names that people give them, and by what they hold.

Names are compared in lower case, by letters and digits alone: those of home_team and HomeTeam are the same. Columns
that options name come first, then those of the library's own names (a and b, winner and loser, contest and player,
score, time), and only for what is left the spellings of `column_spellings`. Who plays is told by names alone. Then all
columns are loaded at once whose names leave their roles open, and their values decide: which tells the results, who has
the side, and which holds times.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_count, format_table, join_names, truncate_text
from jaxrate.data.column_conversion import missing_mask, numbers_or_nan, to_column, to_flags, to_numbers
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
    Header,
    SidesSpelling,
    normalise_column_name,
    spell_pairs,
)
from jaxrate.data.date_parsing import is_time_column
from jaxrate.data.event_tables import check_line_up_roles
from jaxrate.data.result_parsing import (
    MIN_READABLE_SHARE,
    SETS_NOTE,
    WINNER_CODES,
    ParsedResults,
    codes_to_scores,
    parse_results,
    replace_na_values,
    winner_code_readings,
)
from jaxrate.data.role_resolution import ColumnRoles, find_own_column, is_margin_of_two_columns, resolve_roles
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    UnreadableTableError,
    check_columns_exist_and_unique,
    find_column_ignoring_case,
    import_pyarrow,
    shorten_to_one_line,
)

SIDE_NOTE = ", the first of whom has the side"
LAYOUTS = (
    WINNER_LOSER,
    PLAYER_PAIR,
    CONTEST_ROLES,
)  # of which the first two roles are the players, or contest and player


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
    header = Header.of_columns(table.names)
    players = recognise_players(header, arguments, upcoming)
    if players is None:
        table, players = split_pairs_in_cells(table)
        header = Header.of_columns(table.names)
    players = check_players(table, players, arguments)
    search = RoleSearch(header, players, arguments | players.columns, [*filter(None, [players.note])], upcoming)
    contents = load_contents(search, table, na_values)
    choice = recognise_result(search, contents)
    check_result(table, search, choice)
    unused_neutral = recognise_side(search, contents)
    time = recognise_time(search, contents, dates)
    table = table_with_loaded_columns(table, {**contents.columns, **choice.scores(contents)})
    roles = resolve_roles(table.names, players.roles, search.arguments, upcoming, choice.points)
    roles = roles._replace(time=time) if contents.candidates.times else roles
    return ResolvedTable(table, roles, arguments, search.arguments, search.notes, unused_neutral, choice.codes)


# Who plays, by names alone


class PlayerColumns(NamedTuple):
    """The columns of the players of a table."""

    roles: tuple[str, ...]  # one of `LAYOUTS`
    columns: dict[str, Any]  # by role; for a side of several players a list
    sides: SidesSpelling | None = None  # how both sides are called, if they were recognised
    note: str = ""

    @property
    def names(self) -> list[Any]:
        """The columns of both sides, of several players of the first, or of contest and participant."""
        return [(as_column_list(self.columns[role]) or [None])[0] for role in self.roles[:2]]

    @property
    def are_teams(self) -> bool:
        """Whether several columns hold the players of a side."""
        return any(isinstance(x, list) for x in self.columns.values())

    @property
    def kind(self) -> str:
        """What both sides are, by how they are called; none if they were not recognised."""
        return "" if self.sides is None else self.sides.kind


def recognise_players(header: Header, arguments: Mapping[str, Any], upcoming: bool = False) -> PlayerColumns | None:
    """The columns of the players, by the first of these rules that tells them: arguments, and then usual names.

    Args:
      header: the names of all columns.
      arguments: those of `read` that name columns.
      upcoming: the matches are to come, so that nobody has won.

    Raises:
      ValueError: if arguments contradict each other, or if several columns could be the players.
    """
    check_layout_arguments(header, arguments, upcoming)
    rows_of_one_side = [recognise_contest, recognise_own_rows]  # each row of a participant, or of a player in a match
    for rule in (find_players, recognise_sides, recognise_line_ups, *rows_of_one_side[:: -1 if upcoming else 1]):
        if (players := rule(header, arguments, upcoming)) is not None:
            return players
    return None


def check_layout_arguments(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> None:
    """ValueError if arguments name columns of several layouts, of one side alone, or results of events to come."""
    named = [roles for roles in LAYOUTS if any(arguments[role] is not None for role in roles)]
    result = arguments["rank"] or arguments["last_rank"]
    missing = "" if result in header.names else f", and there is no column {result!r}"
    raise_first(
        (
            len(named) > 1,
            "give the columns a and b, or winner and loser, or those of contests, and not the others",
        ),
        *(
            (
                any(isinstance(arguments[role], (list, tuple)) for role in roles)
                and not all(map(arguments.get, roles)),
                f"{roles[0]} and {roles[1]} must both name the columns of a side, got {[*map(arguments.get, roles)]}",
            )
            for roles in (PLAYER_PAIR, WINNER_LOSER)
        ),
        (
            upcoming and CONTEST_ROLES in named and result,
            f"contests to come have no rank yet{missing}; leave out rank",
        ),
        (
            upcoming and WINNER_LOSER in named,
            "matches to come have columns a and b, contests contest, player and perhaps team; nobody has won them yet",
        ),
    )


def find_players(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> PlayerColumns | None:
    """The columns that arguments name, or else those of the library's own names, at best as they are written here."""
    named = [roles for roles in LAYOUTS if any(arguments[role] is not None for role in roles)]
    own = {role: find_own_column(header.names, role) for roles in LAYOUTS for role in roles[:2]}
    default = {role: COLUMN_ROLES[role].default[0] for role in own}
    complete = [roles for roles in LAYOUTS[upcoming:] if None not in (own[roles[0]], own[roles[1]])]
    complete.sort(key=lambda roles: any(own[role] != default[role] for role in roles[:2]))
    roles = next(iter([*named, *complete]), None)
    if roles == CONTEST_ROLES:
        return recognise_contest(header, arguments, upcoming, is_contest=True)
    if roles is None:
        return None
    columns = {role: arguments[role] or own[role] or default[role] for role in roles}
    if any(isinstance(x, (list, tuple)) for x in columns.values()):
        columns = {role: as_column_list(x) for role, x in columns.items()}
    return PlayerColumns(roles, columns)


def recognise_sides(
    header: Header, arguments: Mapping[str, Any], upcoming: bool, kinds: Sequence[str] = ("sides", "winner")
) -> PlayerColumns | None:
    """The columns of both sides, as of home and away; ValueError if several could be."""
    for kind in kinds:
        sides = {pair: x for x in reversed(SIDE_PAIRS) if x.kind == kind for pair in _pairs_of_names(header, x)[:1]}
        if len(sides) > 1:
            candidates = ", or ".join(f"{x} and {y}" for x, y in reversed(sides))
            a, b = [*sides][-1]
            raise ValueError(f"the players could be {candidates}; say which, as a={a!r}, b={b!r}")
        for pair, spelling in sides.items():
            roles = WINNER_LOSER if kind == "winner" and not upcoming else PLAYER_PAIR
            home = SIDE_NOTE if spelling.side and arguments["side"] in (None, "a") else ""
            note = f"{pair[0]} and {pair[1]} for {roles[0]} and {roles[1]}{home}"
            return PlayerColumns(roles, dict(zip(roles, pair, strict=True)), spelling, note)
    return None


def _pairs_of_names(header: Header, sides: SidesSpelling) -> list[tuple[Any, Any]]:
    return header.pairs(spell_pairs(NAME_TEMPLATES, sides))


def recognise_own_rows(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> PlayerColumns | None:
    """The columns of a player and of their opponent, as in a log of matches."""
    return recognise_sides(header, arguments, upcoming, ["own"])


def recognise_line_ups(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> PlayerColumns | None:
    """The columns of players that are numbered, as a1, a2, b1 and b2; ValueError if a number between has none."""
    for *templates, kind in LINE_UP_SPELLINGS:
        sides = [_numbered_columns(header, template) for template in templates]
        if all(sides) and sum(map(len, sides)) > 2:
            roles = WINNER_LOSER if kind == "winner" and not upcoming else PLAYER_PAIR
            for role, columns, template in zip(roles, sides, templates, strict=True):
                _check_numbers_without_gap(role, columns, template)
            first, second = ([columns[number] for number in sorted(columns)] for columns in sides)
            note = f"{', '.join(first)} for the team of {roles[0]}, and {', '.join(second)} for that of {roles[1]}"
            return PlayerColumns(roles, dict(zip(roles, (first, second), strict=True)), note=note)
    return None


def _numbered_columns(header: Header, template: str) -> dict[int, Any]:
    """The columns of a template by number, that of a letter in the alphabet; none unless one has number 0 or 1."""
    pattern = re.compile(template.format(number="(0|[1-9][0-9]*)", letter="([a-h])"))
    matches = {match[1]: name for x, name in header.by_spelling.items() if (match := pattern.fullmatch(x))}
    columns = {int(x) if x.isdigit() else LETTERS.index(x): name for x, name in matches.items()}
    return columns if columns.keys() & {0, 1} else {}


LETTERS = " abcdefgh"


def _check_numbers_without_gap(role: str, columns: Mapping[int, str], template: str) -> None:
    """ValueError if a number between those of the columns has none, whose player would be missing."""
    numbers = sorted(columns)
    missing = next((i for i in range(numbers[0], numbers[-1]) if i not in columns), None)
    if missing is not None:
        names = [columns[number] for number in numbers]
        lacking = template.format(number=missing, letter=LETTERS[missing % len(LETTERS)])
        raise ValueError(
            f"there are columns {join_names(names)} for the team of {role}, and no {lacking}; add it, or name the "
            f"columns of both teams, as {role}={names!r}"
        )


def recognise_contest(
    header: Header, arguments: Mapping[str, Any], upcoming: bool, is_contest: bool = False
) -> PlayerColumns | None:
    """The columns of contests, as arguments name them or as they are spelt; None if one is not there.

    If these are contests for sure, those of the library's own names come first, and are assumed if there are none.
    """
    own = {role: find_own_column(header.names, role) if is_contest else None for role in CONTEST_ROLES[:3]}
    has_own_score = is_contest and arguments["score"] is None and find_own_column(header.names, "score") is not None
    columns: dict[str, Any] = {role: arguments[role] for role in CONTEST_ROLES if arguments[role] is not None}
    notes = []
    for role in CONTEST_ROLES[: 2 if upcoming or arguments["score"] else 3]:
        default = COLUMN_ROLES[role].default[0]
        if role in columns or (role == "rank" and own["rank"] is None and has_own_score):
            continue
        columns[role] = own[role] or next(iter(header.columns(SPELLINGS[role])), default if is_contest else None)
        if normalise_column_name(columns[role]) != default:
            notes.append(f"{columns[role]} for the {role}")
    return None if None in columns.values() else PlayerColumns(CONTEST_ROLES, columns, note="; ".join(notes))


def check_players(table: TableSource, players: PlayerColumns | None, arguments: Mapping[str, Any]) -> PlayerColumns:
    """The columns of the players; ValueError if there are none, or if arguments do not go with them."""
    if players is None:
        raise missing_column_error(table, "a")
    named = [x for value in arguments.values() for x in as_column_list(value)]
    check_columns_exist_and_unique(table.names, [name for name in players.names if name in named])
    for role, name in zip(players.roles[:2], players.names, strict=True):
        if name not in table.names:
            raise missing_column_error(table, role, named)
    if players.are_teams:
        check_line_up_roles(arguments)
    return players


# Columns whose contents decide


class CandidateColumns(NamedTuple):
    """Columns whose values are looked at."""

    results: Sequence[str] = ()
    points: Sequence[tuple[str, str]] = ()
    goals: Sequence[tuple[str, str]] = ()  # of the points, those of the match itself for sure
    times: Sequence[str] = ()
    neutral: Sequence[str] = ()
    side: Sequence[str] = ()


class RoleSearch(NamedTuple):
    """What is known of the roles; columns and notes are added as they are found."""

    header: Header
    players: PlayerColumns
    arguments: dict[str, Any]
    notes: list[str]
    upcoming: bool

    @property
    def is_of_pairs(self) -> bool:
        """Whether the table has matches of a and b."""
        return self.players.roles == PLAYER_PAIR

    @property
    def own_score(self) -> str | None:
        """The column that is called as the library calls results."""
        return find_own_column(self.header.names, "score")

    @property
    def has_margin_of_both(self) -> bool:
        """Whether an argument names the points of both sides."""
        return is_margin_of_two_columns(self.arguments["margin"])

    @property
    def needs_result(self) -> bool:
        """Whether a column of results must be sought: no argument and none of the library's own names has it."""
        is_named = self.arguments["score"] is not None or self.has_margin_of_both
        return self.is_of_pairs and not is_named and (self.players.sides is not None or self.own_score is None)

    @property
    def first_has_side(self) -> bool:
        """Whether the first player has an advantage, by how both are called."""
        return self.players.sides is not None and self.players.sides.side


class Contents(NamedTuple):
    """The columns that may have open roles, with their values."""

    candidates: CandidateColumns
    columns: Mapping[str, Column]  # the candidates and the players; none if nothing is open
    values: Mapping[str, Column]  # the same, missing where a text says so
    players: Mapping[str, Column]  # the names of both players, by column


def load_contents(search: RoleSearch, table: TableSource, na_values: Sequence[str]) -> Contents:
    """The columns whose names leave their roles open, and the players, of a single reading of the table."""
    candidates = find_candidates(search)
    if not any(candidates):
        return Contents(candidates, {}, {}, {})
    players = search.players.names
    text = [*players, *candidates.results, *candidates.side]
    names = list(dict.fromkeys([*text, *candidates.times, *chain(*candidates.points), *candidates.neutral]))
    loaded = table.load(names, text)
    columns = {name: to_column(name, loaded[name]) for name in names}
    values = {name: replace_na_values(column, na_values) for name, column in columns.items()}
    return Contents(candidates, columns, values, {name: columns[name] for name in players})


def find_candidates(search: RoleSearch) -> CandidateColumns:
    """The columns that may have open roles, as far as their names tell."""
    header, arguments = search.header, search.arguments
    is_open = {role: arguments[role] is None and not search.upcoming for role in ("side", "neutral")}
    times = header.columns(SPELLINGS["time"]) if arguments["time"] is None else []
    is_sure = not search.notes and times == [find_own_column(header.names, "time")]
    results, points, goals = _result_candidates(search)
    return CandidateColumns(
        results,
        points,
        goals,
        [] if is_sure else times,
        header.columns(
            SPELLINGS["neutral"] if search.first_has_side or (search.is_of_pairs and is_open["side"]) else ()
        ),
        header.columns(SPELLINGS["side"] if search.players.kind == "winner" and is_open["side"] else ()),
    )


def _result_candidates(search: RoleSearch) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
    """The columns of results, the pairs of points, and those of them that are goals, which may tell who won."""
    header, arguments = search.header, search.arguments
    if search.is_of_pairs and arguments["score"] is None and search.has_margin_of_both:
        results = header.columns(SPELLINGS["score"]) if search.own_score is None else [search.own_score]
        x, y = arguments["margin"]
        return results, [(x, y)] if {x, y} <= {*header.names} else [], []
    if not search.needs_result:
        return [], [], []
    sides = [x for x in SIDE_PAIRS if x.kind != "winner"] if search.players.sides is None else [search.players.sides]
    goals = header.points(GOAL_TEMPLATES, sides)
    points = header.points((*POINT_TEMPLATES, *COUNT_TEMPLATES), sides)
    # Columns that say whether the first side has won are results if the second has none: wins of both are counts.
    pairs = [*(pair for x in sides for pair in spell_pairs(RESULT_TEMPLATES, x)), ("wins", "losses")]
    counts = {first for first, second in pairs if second in header.by_spelling}
    results = header.columns([*SPELLINGS["score"], *dict.fromkeys(x for x, _ in pairs[:-1] if x not in counts)])
    others = {*chain(*map(as_column_list, search.players.columns.values())), *chain(*goals)}
    return [name for name in results if name not in others], points, goals


def table_with_loaded_columns(table: TableSource, columns: Mapping[str, Column]) -> TableSource:
    """The table, which does not load these columns again."""

    def load(wanted: Sequence[str], text: Sequence[str] = ()) -> Any:
        others = [name for name in wanted if name not in columns]
        loaded = table.load(others, text) if others else {}
        return {**columns, **{name: loaded[name] for name in others}}

    return table._replace(load=load) if columns else table


def _to_values(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()


def is_numeric_column(column: Column) -> bool:
    with suppress(ValueError):
        to_numbers("", column, default=np.nan)
        return True
    return False


def numeric_share(column: Column) -> float:
    """The share of the rows with a value that are numbers; 1 if none has a value."""
    present = ~missing_mask(column, nan_is_missing=True)
    return float(np.mean(~np.isnan(numbers_or_nan(column)[present]))) if present.any() else 1.0


def is_flag_column(column: Column) -> bool:
    with suppress(ValueError):
        to_flags("", column)
        return True
    return False


def date_columns(table: TableSource, used: Collection[str], dates: str | None) -> list[str]:
    """The columns, other than those used, that hold dates, as far as their first values tell; of numbers none."""
    unused = [name for name in table.names if name not in used and table.names.count(name) == 1]
    return [name for name, values in table.first_values(unused).items() if _begins_with_date(name, values, dates)]


def _begins_with_date(name: str, values: Any, dates: str | None) -> bool:
    kinds = import_pyarrow().types
    with suppress(ValueError):
        column = to_column(name, values)
        if not isinstance(column, np.ndarray) and len(column := column.drop_null()):
            is_text = kinds.is_large_string(column.type) and not column[0].as_py().strip().isdecimal()
            return (is_text or kinds.is_temporal(column.type)) and is_time_column(name, column, dates)
    return False


VERSUS = r"vs?\.?|versus|against|@|gegen|contre|contra"
DASHES = "[-\u2013\u2014]"
PAIR_NAMES = r"match(up|es)?|game|fixture|bout|fight|teams|players|pairing|opponents|meeting|encounter"


def split_pairs_in_cells(table: TableSource) -> tuple[TableSource, PlayerColumns | None]:
    """The table with two columns for the first one whose cells name both players; as it is if there is none.

    "Ada vs. Bo" tells of any column, and "Ada - Bo" of one that is called as matches are.
    """
    first_values = table.first_values(table.names)
    for name in table.names:
        with suppress(ValueError):
            cells = _to_values(to_column(name, first_values.get(name, [])))
            if cells and all(isinstance(cell, str) and re.match(_pair_pattern(name), cell) for cell in cells):
                pair = dict(zip(PLAYER_PAIR, names_of_split_columns(name), strict=True))
                note = f"the two names in {name} for a and b"
                return append_split_columns(table, name), PlayerColumns(PLAYER_PAIR, pair, note=note)
    return table, None


def names_of_split_columns(name: str) -> list[str]:
    """The columns of the two names in the cells of one."""
    return [f"{name} (1)", f"{name} (2)"]


def _pair_pattern(name: str) -> str:
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
        if not {*parts}.isdisjoint(wanted):
            compute = import_pyarrow().compute
            fields = compute.extract_regex(to_column(name, loaded[name]), pattern)
            columns |= {x: compute.struct_field(fields, [i]) for i, x in enumerate(parts)}
        return columns

    return table._replace(names=[*table.names, *parts], load=load)


MAX_CONTRADICTIONS = 0.03  # share of the rows that is an error of some rows, and not of a column
MIN_AGREEMENT = 0.9  # share of the rows in which a reading agrees with the points
SCORE_CODES = {1: 1.0, 0: 0.0}


class ResultChoice(NamedTuple):
    """The columns that tell the results."""

    result: str | None = None
    points: tuple[str, ...] = ()  # of both sides, which tell the results
    codes: dict[int, float] | None = None  # the scores of the first players that numbers in the column stand for
    note: str = ""

    def scores(self, contents: Contents) -> dict[str, Column]:
        """The scores by the column of their codes; none if there are no codes."""
        if self.codes is None or self.result is None:
            return {}
        scores = codes_to_scores(self.result, contents.values[self.result], self.codes)
        arrow = import_pyarrow()
        return {self.result: arrow.chunked_array([arrow.array(scores, from_pandas=True)])}


def recognise_result(search: RoleSearch, contents: Contents) -> ResultChoice:
    """The columns that tell the results; puts that of the score into the arguments."""
    candidates = contents.candidates
    if search.has_margin_of_both and candidates.results:
        _compare_results_with_margin(search, contents)
    elif candidates.results or (candidates.points and not search.has_margin_of_both):
        choice = choose_result(contents)
        search.arguments["score"] = choice.result
        search.notes.extend({choice.note} - {"", f"{search.own_score} for the score"})
        return choice
    return ResultChoice()


def check_result(table: TableSource, search: RoleSearch, choice: ResultChoice) -> None:
    """ValueError if nothing tells the results of events that need them."""
    lacks_rank = search.players.columns.get("rank") == "rank" and "rank" not in table.names
    if (search.needs_result or lacks_rank) and not (choice.points or search.own_score or search.upcoming):
        used = [name for value in search.arguments.values() for name in as_column_list(value)]
        raise missing_column_error(table, "rank" if lacks_rank else "score", used)


def _compare_results_with_margin(search: RoleSearch, contents: Contents) -> None:
    """Notes which columns of results the named points of both overrule, as they have no results or contradict them."""
    own_score, points = search.own_score, contents.candidates.points[0]
    parsed = {x: parse_results(x, contents.values[x], contents.players) for x in contents.candidates.results}
    if parsed.get(str(own_score), True) is None:
        search.arguments["score"] = False
        search.notes.append(
            f"nothing for the score, as {own_score} has no results, and the points of both tell who won"
        )
    lead = np.zeros(0) if own_score is not None else _sign_of_lead(points, contents.values)
    for name, results in parsed.items():
        if results is not None and (bad := _contradictions(results, lead)).mean() > MAX_CONTRADICTIONS:
            search.notes.append(_describe_preferred_points(name, points, bad))


def choose_result(contents: Contents) -> ResultChoice:
    """The column of results, or those of both sides' points.

    Raises:
      ValueError: if a column can be read in two ways, and the others do not say which is right.
    """
    candidates, values = contents.candidates, contents.values
    quality = {pair: _points_quality(pair, values) for pair in candidates.points}
    points = max(quality, key=lambda pair: quality[pair]) if any(quality.values()) else ()
    names = [*candidates.results, *(pair[0] for pair in candidates.points if not points)]  # W and L of both sides
    parsed = {name: parse_results(name, values[name], contents.players) for name in names}
    readings = {name: results for name, results in parsed.items() if results is not None}
    if not readings:
        return _choose_points_or_empty_results(points, [x for x in candidates.results if _is_empty(values[x])], values)
    name = min(readings, key=lambda name: readings[name].note == SETS_NOTE)  # sets may be a winner's
    lead = _sign_of_lead(points if points in candidates.goals else (), values)
    if codes := winner_code_readings(name, values[name], contents.players):
        return _choose_winner_codes(name, values[name], codes, lead, [*contents.players])
    return _settle_contradictions(name, points, readings, lead)


def _choose_points_or_empty_results(
    points: tuple[str, ...], empty: Sequence[str], values: Mapping[str, Column]
) -> ResultChoice:
    """The points of both, or a column of results without a value if there are no points either."""
    if empty and all(_is_empty(values[name]) for name in points):
        return ResultChoice(empty[0], note=f"{empty[0]} for the score")
    note = f"{' and '.join(points)} for the points of both, which tell who won"
    return ResultChoice(points=points, note=note if points else "")


def _is_empty(column: Column) -> bool:
    return bool(missing_mask(column, nan_is_missing=True).all())


def _points_quality(pair: tuple[str, str], values: Mapping[str, Column]) -> int:
    """How sure two columns hold points: 3 for numbers, 2 for nothing, 1 with mistakes, 0 for no numbers."""
    share = min(numeric_share(values[name]) for name in pair)
    if share == 1.0:
        return 2 if all(_is_empty(values[name]) for name in pair) else 3
    return int(share >= MIN_READABLE_SHARE)


def _describe_preferred_points(name: str, points: tuple[str, ...], bad: HostArray) -> str:
    count = f"{np.count_nonzero(bad):,} of {format_count(len(bad), 'row')}"
    text = "for the points of both, which tell who won, and not"
    return f"{join_names(points)} {text} {name}, which contradicts them in {count}"


def _sign_of_lead(points: tuple[str, ...], values: Mapping[str, Column]) -> HostArray:
    """[n] 1 where the first player has more points, -1 where the second has; 0 where neither has, or none are known."""
    if not points or not all(is_numeric_column(values[name]) for name in points):
        return np.zeros(0)
    first, second = (to_numbers(name, values[name], default=np.nan) for name in points)
    return np.nan_to_num(np.sign(first - second))


def _choose_winner_codes(
    name: str, column: Column, readings: list[dict[int, float]], lead: HostArray, players: Sequence[str]
) -> ResultChoice:
    """The scores of a column of winners in numbers, by the reading that agrees with the points, or the only one."""
    if lead.any():
        possible = [codes for codes in (*WINNER_CODES, SCORE_CODES) if readings[0].keys() <= codes.keys()]
        agreement = [_agreement(codes_to_scores(name, column, codes), lead) for codes in possible]
        readings = [possible[int(np.argmax(agreement))]] if max(agreement) >= MIN_AGREEMENT else readings
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


def _agreement(scores: HostArray, lead: HostArray) -> float:
    """The share of the rows with a winner by points in which the scores say the same."""
    rows = (lead != 0) & ~np.isnan(scores)
    return float(np.mean(np.sign(scores - 0.5)[rows] == lead[rows])) if rows.any() else 0.0


def _describe_codes(codes: Mapping[int, float], players: Sequence[str]) -> str:
    meanings = {1.0: f"a win of {players[0]}", 0.0: f"one of {players[1]}", 0.5: "a draw"}
    return join_names([f"{code} is {meanings[score]}" for code, score in codes.items()])


def _settle_contradictions(
    name: str, points: tuple[str, ...], readings: Mapping[str, ParsedResults], lead: HostArray
) -> ResultChoice:
    """The column of results, or the points that contradict it where a third column agrees with them."""
    results, others = readings[name], [other for x, other in readings.items() if x != name]
    bad = _contradictions(results, lead)
    if not bad.any():
        return ResultChoice(name, note=f"{name} for the score")
    x, y = points
    count = f"in {np.count_nonzero(bad):,} of {format_count(len(bad), 'row')}"
    is_rare = np.count_nonzero(bad) < 2 or bad.mean() <= MAX_CONTRADICTIONS
    if not is_rare and any(_contradictions(other, lead).mean() <= MAX_CONTRADICTIONS for other in others):
        return ResultChoice(points=points, note=_describe_preferred_points(name, points, bad))
    if is_rare or any(_do_agree(other, results) for other in others):
        return ResultChoice(name, note=f"{name} for the score, though {x} and {y} contradict it {count}")
    raise ValueError(
        f"columns {name!r} and {x!r} and {y!r} contradict each other {count} (the first is row {np.argmax(bad)}, "
        f"counting from 0); say score={name!r} or margin={[x, y]!r}"
    )


def _contradictions(results: ParsedResults, lead: HostArray) -> HostArray:
    """[n] where the points have a winner, and the results another or none; level points may have one by a shoot-out."""
    if not len(lead):
        return np.zeros(1, bool)
    return (lead != 0) & ~np.isnan(results.score) & (np.sign(results.score - 0.5) != lead)


def _do_agree(one: ParsedResults, other: ParsedResults) -> bool:
    both = ~np.isnan(one.score) & ~np.isnan(other.score)
    return bool(both.any() and (one.score != other.score)[both].mean() <= MAX_CONTRADICTIONS)


# Sides and times


def recognise_side(search: RoleSearch, contents: Contents) -> str | None:
    """Puts who has the side, and where nobody has, into the arguments; a column of neutral ground that is not used."""
    arguments, notes = search.arguments, search.notes
    if search.first_has_side and arguments["side"] is None and "a" not in search.header.names:
        arguments["side"] = "a"
    for name in contents.candidates.side:
        arguments["side"] = name
        notes.append(f"{name} for the side")
    is_open = arguments["neutral"] is None and arguments["side"] in ("a", None)
    for name in contents.candidates.neutral if is_open else ():
        if is_flag_column(contents.columns[name]):
            if arguments["side"] is None:
                return name
            arguments["neutral"] = name
            notes.append(f"{name} for neutral")
    return None


def recognise_time(search: RoleSearch, contents: Contents, dates: str | None) -> str | None:
    """The first column that holds dates, or one of the library's own names that holds numbers; notes which it is."""
    columns = {name: contents.values[name] for name in contents.candidates.times}
    own = [find_column_ignoring_case(search.header.names, name) for name in COLUMN_ROLES["time"].default]
    dated = [name for name, column in columns.items() if is_time_column(name, column, dates)]
    numbers = [name for name, column in columns.items() if name in own and is_numeric_column(column)]
    time = next(iter([*dated, *numbers]), None)
    if time not in (None, *own):
        search.notes.append(f"{time} for the time")
    if time is None and not {*own}.isdisjoint(columns):
        search.notes.append(f"nothing for the time, as {', '.join(map(str, columns))} has no dates")
    return time


def time_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called as times are."""
    return [name for name in names if normalise_column_name(name) in SPELLINGS["time"]]


# What is missing


SHOWN_ROWS, SHOWN_COLUMNS = 3, 12  # of a table that cannot be read as it is


def missing_column_error(table: TableSource, role: str, used: Collection[Any] = ()) -> ValueError:
    """The error for a table without a column that it needs: it shows the first rows, and the arguments to write.

    Args:
      table: its columns, none of which is called as those of the role are.
      role: `a` says that nothing tells who plays.
      used: the columns that have another role.
    """
    loaded = table.load(table.names, table.names) if table.names else {}
    columns = {name: to_column(name, loaded[name]) for name in table.names}
    others = [name for name in columns if name not in (*used, *time_columns(table.names))]
    numbers = [name for name in others if is_numeric_column(columns[name])]
    texts = [name for name in others if name not in numbers]
    x, y = [*texts, *numbers, *["..."] * 2][:2]
    p, q = [*numbers, *texts, *["..."] * 2][:2]
    contest = next((name for name in others if name != x), "...")
    advice = {
        "a": [
            f"of matches name both players, as a={x!r}, b={y!r}",
            f"of those in which somebody won, as winner={x!r}, loser={y!r}",
            f"of contests with a row for each participant, as contest={contest!r}, participant={x!r}, rank={p!r}",
        ],
        "rank": [f"name that of ranks, as rank={p!r}", f"or of scores, of which higher is better, as score={p!r}"],
        "score": [f"name that of the results, as score={x!r}", f"or those of the points of both, as margin={[p, q]!r}"],
    }.get(role, [f"name it, as {role}={x!r}"])
    if role == "score" and len(numbers) == 2:
        advice = [f"if {p} and {q} are the points of both, name them as margin={[p, q]!r}"]
    elif role == "score" and len(numbers) < 2 and (suggestion := did_you_mean_suffix("score", others)):
        advice = [suggestion.removeprefix("; ")]
    name = COLUMN_ROLES[role].default[0]
    message = f"{'; '.join([f'no column {name!r}', *advice])} (there are: {', '.join(map(str, table.names))})"
    shown = [truncate_text(str(name)) for name in table.names[:SHOWN_COLUMNS]]
    cells = [_to_values(columns[name][:SHOWN_ROWS]) for name in table.names[:SHOWN_COLUMNS]]
    rows = [["" if x is None else truncate_text(str(x)) for x in row] for row in zip(*cells, strict=False)]
    return UnreadableTableError(
        "\n  ".join([shorten_to_one_line(message), *format_table(shown, rows, shown).split("\n")])
    )
