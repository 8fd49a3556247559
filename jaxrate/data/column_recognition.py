"""The roles of columns by the names that people give them, and by what they hold.

Names are compared in lower case, by letters and digits alone: those of home_team and HomeTeam are the same. Columns
that options name come first, then those of the library's own names (a and b, winner and loser, contest and player,
score, time), and only for what is left the spellings of `column_spellings`. Who plays is told by names alone. Then all
columns are loaded at once whose names leave their roles open, and their values decide: which tells the results, who has
the side, and which holds times.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import chain, combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_table, join_names, to_one_line, truncate_text
from jaxrate.data.column_conversion import (
    add_columns,
    distinct_cells,
    is_text,
    load_columns,
    missing_mask,
    numbers_or_nan,
    text_mask,
    to_column,
    to_flags,
    to_values,
)
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    CONTEST_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    as_column_list,
    check_role_arguments,
    raise_first_applicable_error,
    select_role_arguments,
)
from jaxrate.data.column_spellings import (
    COUNT_TEMPLATES,
    GOAL_TEMPLATES,
    LINE_UP_SPELLINGS,
    NAME_TEMPLATES,
    PARTNER_TEMPLATES,
    POINT_NOUNS,
    POINT_TEMPLATES,
    RESULT_TEMPLATES,
    SET_TEMPLATES,
    SIDE_PAIRS,
    SPELLINGS,
    THIRD_SIDES,
    UNKNOWN_SIDES,
    WINNER_TEMPLATES,
    Header,
    SidesSpelling,
    normalise_column_name,
    spell_pairs,
)
from jaxrate.data.date_parsing import is_time_column
from jaxrate.data.faulty_rows import describe_share
from jaxrate.data.result_parsing import (
    MIN_AGREEMENT,
    MIN_READABLE_SHARE,
    SCORELINE_POINTS,
    SCORELINES,
    SETS,
    WINNER_CODES,
    Notation,
    ParsedResults,
    ResultColumn,
    is_winner_column,
    parse_results,
    replace_na_values,
    winner_code_readings,
    winner_codes_notation,
    winner_codes_to_scores,
)
from jaxrate.data.role_resolution import ColumnRoles, resolve_roles
from jaxrate.data.table_sources import (
    Column,
    MissingColumnError,
    TableSource,
    check_columns_exist_and_unique,
    import_pyarrow,
    shorten_to_one_line,
)

SIDE_NOTE = ", the first of whom has the side"
COLUMN_NAMES_OF_ROLES = {name for role in COLUMN_ROLES.values() for name in role.default}
LAYOUTS = WINNER_LOSER, PLAYER_PAIR, CONTEST_ROLES  # the first two roles of each are of players, or contest and player


class ColumnsRecognisedWarning(UserWarning):
    """Which columns were recognised, and as what."""


class DerivedColumns(NamedTuple):
    """Columns of text that are computed from others."""

    names: list[str]
    sources: list[str]  # from which they are computed
    compute: Callable[[list[Column]], list[Column]]


class ResolvedTable(NamedTuple):
    """A table, and what its columns are used for."""

    table: TableSource  # which does not load again what was inspected
    roles: ColumnRoles
    arguments: dict[str, Any]  # the columns by role that were named
    recognised: dict[str, Any]  # these, and the columns that were recognised
    notes: list[str]  # what was taken for what
    notation: Notation | None = None  # of winners in numbers, which has been found out
    derived: Sequence[DerivedColumns] = ()  # columns that the table does not have itself


def resolve_table(
    table: TableSource, arguments: dict[str, Any], upcoming: bool, dates: str | None, na_values: Sequence[str]
) -> ResolvedTable:
    """Which columns of a table are used, and for what: as arguments of `read` say, and else as columns are called."""
    check_role_arguments(arguments)
    derived_players, players = find_player_columns(table, arguments, upcoming)
    derived = [*derived_players, *derive_named_points(table.names, arguments["margin"])]
    table = reduce(append_columns, derived, table)
    check_players(table, players, arguments)
    search = load_ambiguous_columns(table, players, {**arguments, **players.columns}, upcoming, na_values)
    choice = recognise_result(table, search)
    recognise_single_columns(search, dates)
    table = add_columns(table, search.columns)
    roles = resolve_roles(table.names, player_and_result_roles(search, choice), search.arguments, upcoming)
    return ResolvedTable(table, roles, arguments, search.arguments, search.notes, choice.notation, derived)


def player_and_result_roles(search: "RoleSearch", choice: "ResultChoice") -> dict[str, Any]:
    """The columns of players and results, as fields of `ColumnRoles`; of events to come only if there are such."""
    players, header, rank = search.players, search.header, search.arguments["rank"]
    if players.roles == CONTEST_ROLES:
        contest, participant = players.names
        if search.upcoming and rank is None:  # which tells the contests that were played
            rank = header.find_own("rank") or header.find_first(SPELLINGS["rank"])
        result = rank or search.arguments["score"] or header.find_own("score")
        return {"players": [participant], "result": result, "contest": contest, "ranked": rank is not None}
    first, second = map(as_column_list, map(players.columns.get, players.roles))
    if search.upcoming and not {*choice.points, choice.result} <= {*header.names, None}:
        choice = ResultChoice()
    results = {"result": choice.result, "points": choice.points, "winner_first": players.roles == WINNER_LOSER}
    return {"players": [*first, *second], "num_first": len(first) * players.are_teams, **results}


# Columns that a table does not have


def append_columns(table: TableSource, derived: DerivedColumns) -> TableSource:
    """The table with derived columns."""
    sources = load_columns(table, derived.sources)
    return add_columns(table, dict(zip(derived.names, derived.compute([*sources.values()]), strict=True)))


def find_player_columns(
    table: TableSource, arguments: Mapping[str, Any], upcoming: bool
) -> tuple[list[DerivedColumns], "PlayerColumns"]:
    """The columns of the players, and those of them that the table does not have itself."""
    contest, derived = as_column_list(arguments["contest"]), list[DerivedColumns]()
    if len(contest) > 1:
        check_columns_exist_and_unique(table.names, contest)
        derived = [join_columns(contest)]
        contest = derived[0].names
    arguments = {**arguments, "contest": next(iter(contest), None)}
    names = [*table.names, *contest] if derived else table.names
    header = Header.of_columns(names)
    players = recognise_players(header, arguments, upcoming)
    if players is None and (pair := split_pairs_in_cells(table)):
        return pair
    players = players or next(_spelt_contest_columns(header, arguments, upcoming, "score"), None)
    if players is None:
        raise _missing_players_error(table, header)
    season = _season_of_contests(table, players, arguments)
    if season is None:
        return derived, players
    joined = join_columns([season, players.names[0]])
    others = [note for note in players.notes if not note.endswith(" for the contest")]
    notes = f"{season} and {players.names[0]} for the contest", *others
    return [joined], players._replace(columns=players.columns | {"contest": joined.names[0]}, notes=notes)


def derive_named_points(names: Sequence[str], margin: Any) -> list[DerivedColumns]:
    """The points of both sides in cells as "2:1", which an argument names by their column, as "FT (1)" and "FT (2)"."""
    wanted = as_column_list(margin)
    splits = (
        split_column(name, SCORELINE_POINTS) for name in names if wanted and str(wanted[0]).startswith(f"{name} ")
    )
    return [split for split in splits if split.names == wanted and wanted[0] not in names]


def points_in_scorelines(table: TableSource, arguments: Mapping[str, Any]) -> list[str]:
    """Names by which to take the points of both sides from a column of cells as "2:1"; none for 1-0 as in chess."""
    header = Header.of_columns(table.names)
    players = recognise_players(header, arguments)
    for name in header.find_columns(SPELLINGS["score"]) if players and players.roles == PLAYER_PAIR else ():
        with suppress(ValueError):
            split, column = split_column(name, SCORELINE_POINTS), replace_na_values(load_columns(table, [name])[name])
            points = [numbers_or_nan(part) for part in split.compute([column])] if is_text(column) else []
            if points and not np.isnan(points[0][~missing_mask(column)]).any() and np.nanmax(points) > 1:
                return split.names
    return []


def join_columns(names: Sequence[str]) -> DerivedColumns:
    """A column of the texts of several, as "2024, Monza"."""

    def compute(columns: list[Column]) -> list[Column]:
        rows = zip(*map(to_values, columns), strict=True)
        return [to_column("", [None if None in row else ", ".join(map(str, row)) for row in rows])]

    return DerivedColumns([", ".join(map(str, names))], list(names), compute)


def _season_of_contests(table: TableSource, players: "PlayerColumns", arguments: Mapping[str, Any]) -> str | None:
    """The column of seasons in which contests have the same names, so that participants are in them again."""
    used = [*chain(*map(as_column_list, [*arguments.values(), *players.columns.values()]))]
    seasons = [x for x in Header.of_columns(table.names).find_columns(("season", "year")) if x not in used]
    names = [*players.names, *seasons[:1]]
    if players.roles != CONTEST_ROLES or not seasons or not {*names} <= {*table.names}:
        return None
    columns = load_columns(table, names)
    rows = import_pyarrow().table({name: distinct_cells(column).codes for name, column in columns.items()})
    num_places, num_within = (rows.group_by(keys).aggregate([]).num_rows for keys in (names[:2], names))
    return seasons[0] if num_places < num_within == len(rows) else None


VERSUS = r"vs?\.?|versus|against|@|gegen|contre|contra"
DASHES = "[-\u2013\u2014]"
PAIR_NAMES = r"match(up|es)?|game|fixture|bout|fight|teams|players|pairing|opponents|meeting|encounter"


def split_pairs_in_cells(table: TableSource) -> tuple[list[DerivedColumns], "PlayerColumns"] | None:
    """Two columns from one whose cells name both players; None if there is none."""
    for name, values in table.first_values(table.names).items():
        dashes = f"|{DASHES}" * (re.fullmatch(PAIR_NAMES, normalise_column_name(name)) is not None)
        pattern = rf"(?i)^\s*(?P<one>.+?)\s+(?:{VERSUS}{dashes})\s+(?P<two>.+?)\s*$"
        with suppress(ValueError):
            is_pair = text_mask(to_column(name, values), partial(re.match, pattern))
            if len(is_pair) and is_pair.all():
                split = split_column(name, pattern)
                pair = dict(zip(PLAYER_PAIR, split.names, strict=True))
                return [split], PlayerColumns(PLAYER_PAIR, pair, notes=(f"the two names in {name} for a and b",))
    return None


def _missing_players_error(table: TableSource, header: Header) -> ValueError:
    """The error that nothing tells who plays, or who the second player is."""
    for one, other in chain(*map(permutations, (PLAYER_PAIR, WINNER_LOSER))):
        if (column := header.find_own(one)) is not None and header.find_own(other) is None:
            return missing_column_error(table, other, {one: column})
    return missing_column_error(table, "a", {})


def split_column(name: str, pattern: str) -> DerivedColumns:
    """Both groups of a pattern as columns, "name (1)" and "name (2)"; cells that do not match are missing."""

    def compute(columns: list[Column]) -> list[Column]:
        fields = import_pyarrow().compute.extract_regex(columns[0], pattern)
        return [import_pyarrow().compute.struct_field(fields, [i]) for i in range(2)]

    return DerivedColumns([f"{name} (1)", f"{name} (2)"], [name], compute)


# Who plays, by names alone


class PlayerColumns(NamedTuple):
    """The columns of the players of a table."""

    roles: tuple[str, ...]  # one of `LAYOUTS`
    columns: dict[str, Any]  # by role; for both sides of several players lists
    sides: SidesSpelling = UNKNOWN_SIDES  # how both sides are called
    notes: tuple[str, ...] = ()  # what was taken for what

    @property
    def names(self) -> list[Any]:
        """The columns of both sides, of several players of the first, or of contest and participant."""
        return [as_column_list(self.columns[role])[0] for role in self.roles[:2]]

    @property
    def are_teams(self) -> bool:
        """Whether several columns hold the players of a side."""
        return any(isinstance(self.columns[role], (list, tuple)) for role in self.roles[:2])

    @property
    def possible_sides(self) -> list[SidesSpelling]:
        """How both sides may be called in further columns; first as these are called, also the other way round."""
        if self.sides != UNKNOWN_SIDES:
            return [self.sides]
        kinds = ["winner"] if self.roles == WINNER_LOSER else ["sides", "debate", "own"][: 2 if self.are_teams else 3]
        header, pair = Header.of_columns(self.names), tuple(self.names)
        called, others = list[SidesSpelling](), list[SidesSpelling]()
        for sides in (x for x in SIDE_PAIRS if x.kind in kinds):
            pairs = header.find_pairs_by_words(product(sides.first, sides.second))
            if pair not in pairs and pair[::-1] in pairs:
                sides = sides._replace(first=sides.second, second=sides.first)
            (called if pairs else others).append(sides)
        return [*called, *others]


def recognise_players(header: Header, arguments: Mapping[str, Any], upcoming: bool = False) -> PlayerColumns | None:
    """The columns of the players, by arguments of `read`, or else the library's names, or else usual names."""
    check_layout_arguments(arguments, upcoming)
    rows_of_one_side = [
        _spelt_contest_columns(header, arguments, upcoming, "rank"),
        _find_side_player_columns(header, arguments, upcoming, "own"),
    ]
    rules = (
        _find_named_player_columns(header, arguments, upcoming),
        _find_side_player_columns(header, arguments, upcoming, "sides"),
        _find_side_player_columns(header, arguments, upcoming, "winner"),
        _find_numbered_line_up_columns(header, upcoming),
        *(reversed(rows_of_one_side) if upcoming else rows_of_one_side),
        _find_side_player_columns(header, arguments, upcoming, "debate"),
    )
    players = next(chain(*rules), None)
    return players and _add_partner_columns(header, arguments, players)


def _add_partner_columns(header: Header, arguments: Mapping[str, Any], players: PlayerColumns) -> PlayerColumns:
    """The players as teams of two, where nothing names them and partners of both have columns."""
    first, second = roles = players.roles[:2]
    is_told = players.roles == CONTEST_ROLES or players.are_teams or arguments[first] or arguments[second]
    sides = () if is_told else players.possible_sides
    for pair in header.find_side_pairs(PARTNER_TEMPLATES, sides):
        columns = {role: [*names] for role, *names in zip(roles, players.names, pair, strict=True)}
        return PlayerColumns(players.roles, columns, notes=(_describe_line_ups(columns),))
    return players


def _describe_line_ups(columns: Mapping[str, Sequence[str]]) -> str:
    """What the columns of both teams were taken for."""
    (first, one), (second, other) = columns.items()
    return f"{', '.join(one)} for the team of {first}, and {', '.join(other)} for that of {second}"


def _named_layouts(arguments: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The layouts of which arguments name a column."""
    return [roles for roles in LAYOUTS if any(arguments[role] is not None for role in roles)]


def check_layout_arguments(arguments: Mapping[str, Any], upcoming: bool) -> None:
    """ValueError if arguments name columns of several layouts, of one side alone, or results of events to come."""
    named = _named_layouts(arguments)
    sides = [arguments[role] for roles in named[:1] for role in roles[:2]]
    one_side = any(isinstance(x, (list, tuple)) for x in sides) and not all(sides)
    roles = " and ".join([*chain(*named)][:2])
    raise_first_applicable_error(
        (len(named) > 1, "give the columns a and b, or winner and loser, or those of contests, and not the others"),
        (one_side, f"{roles} must both name the columns of a side, got {sides}"),
        (upcoming and WINNER_LOSER in named, "matches to come have columns a and b; nobody has won them yet"),
        (arguments["rank"] and arguments["score"], "give rank, lower is better, or score, and not both"),
    )


def _find_named_player_columns(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> Iterator[PlayerColumns]:
    """The columns that arguments name, and those of the library's own names, at best in their letter case."""
    own = [roles for roles in LAYOUTS[upcoming:] if None not in map(header.find_own, roles[:2])]
    own.sort(key=lambda roles: not {header.find_own(role) for role in roles[:2]} <= COLUMN_NAMES_OF_ROLES)
    for roles in (*_named_layouts(arguments), *own):
        if roles == CONTEST_ROLES:
            yield _named_contest_columns(header, arguments, upcoming)
        else:
            yield PlayerColumns(roles, {role: arguments[role] or header.find_own(role) or role for role in roles})


def _find_side_player_columns(
    header: Header, arguments: Mapping[str, Any], upcoming: bool, kind: str
) -> Iterator[PlayerColumns]:
    """The columns of both sides, as of home and away; ValueError if several could be."""
    found: dict[tuple[Any, Any], SidesSpelling] = {}
    for sides in (x for x in SIDE_PAIRS if x.kind == kind):
        for pair in header.find_pairs(spell_pairs(NAME_TEMPLATES, sides))[:1]:
            found.setdefault(*_order_colours(header, pair, sides))
    if len(found) > 1:
        candidates, (a, b) = ", or ".join(f"{x} and {y}" for x, y in found), next(iter(found))
        raise ValueError(f"the players could be {candidates}; say which, as a={a!r}, b={b!r}")
    for pair, sides in found.items():
        _check_no_third_player(header, sides, pair)
        roles = WINNER_LOSER if kind == "winner" and not upcoming else PLAYER_PAIR
        home = SIDE_NOTE * (sides.side and arguments["side"] in (None, "a"))
        note = f"{pair[0]} and {pair[1]} for {roles[0]} and {roles[1]}{home}"
        yield PlayerColumns(roles, dict(zip(roles, pair, strict=True)), sides, (note,))


def _order_colours(
    header: Header, pair: tuple[Any, Any], sides: SidesSpelling
) -> tuple[tuple[Any, ...], SidesSpelling]:
    """The columns of both sides and how these are called, of red and blue in the order of the table."""
    in_table = tuple(name for name in header.names if name in pair)
    if in_table == pair or {"blue", "red"}.isdisjoint((sides.first[0], sides.second[0])):
        return pair, sides
    return in_table, sides._replace(first=sides.second, second=sides.first)


def _check_no_third_player(header: Header, sides: SidesSpelling, pair: tuple[Any, Any]) -> None:
    """ValueError if a third player is called as those of both sides are, as p3 beside p1 and p2."""
    spelling = normalise_column_name(pair[0])
    for first in THIRD_SIDES.keys() & {*sides.first}:
        templates = [template for template in NAME_TEMPLATES if template.format(first) == spelling]
        for third in header.find_columns(template.format(THIRD_SIDES[first]) for template in templates):
            raise ValueError(
                f"{pair[0]}, {pair[1]} and {third} are more than two players of a row; give each participant a row, "
                f"with contest, player and rank, or, if only two of them play, say a={pair[0]!r}, b={pair[1]!r}; of "
                f"teams name the players of each, as a=[{pair[0]!r}, {pair[1]!r}]"
            )


LETTERS = " abcdefgh"  # by number


def _find_numbered_line_up_columns(header: Header, upcoming: bool) -> Iterator[PlayerColumns]:
    """The numbered columns of line-ups, as a1, a2, b1 and b2; ValueError if a number between has no column."""
    for templates in LINE_UP_SPELLINGS:
        sides = [_numbered_columns(header, template) for template in templates]
        if all(sides) and sum(map(len, sides)) > 2:
            is_winner_first = re.search(r"winner|w\{", templates[0]) is not None
            roles = WINNER_LOSER if is_winner_first and not upcoming else PLAYER_PAIR
            for role, columns, template in zip(roles, sides, templates, strict=True):
                _check_numbers_without_gap(role, columns, template)
            players = {role: [*columns.values()] for role, columns in zip(roles, sides, strict=True)}
            yield PlayerColumns(roles, players, notes=(_describe_line_ups(players),))


def _numbered_columns(header: Header, template: str) -> dict[int, Any]:
    """The columns of a template by number, that of a letter in the alphabet; none unless one has number 0 or 1."""
    pattern = re.compile(template.format(number="(0|[1-9][0-9]*)", letter="([a-h])"))
    matches = {match[1]: name for x, name in header.by_spelling.items() if (match := pattern.fullmatch(x))}
    columns = {int(x) if x.isdigit() else LETTERS.index(x): name for x, name in matches.items()}
    return dict(sorted(columns.items())) if columns.keys() & {0, 1} else {}


def _check_numbers_without_gap(role: str, columns: Mapping[int, str], template: str) -> None:
    """ValueError if a number between those of the columns has none, whose player would be missing."""
    names = [*columns.values()]
    for missing in sorted({*range(min(columns), max(columns))} - columns.keys())[:1]:
        lacking = template.format(number=missing, letter=LETTERS[missing % len(LETTERS)])
        raise ValueError(
            f"there are columns {join_names(names)} for the team of {role}, and no {lacking}; add it, or name the "
            f"columns of both teams, as {role}={names!r}"
        )


def _contest_roles(arguments: Mapping[str, Any], upcoming: bool, result: str) -> list[str]:
    """The roles that every contest has; those to come have no result, and others may have a score that is named."""
    return [*CONTEST_ROLES[:2], *([] if upcoming or arguments["score"] else [result])]


def _named_contest_columns(header: Header, arguments: Mapping[str, Any], upcoming: bool) -> PlayerColumns:
    """The columns of contests: named, or of the library's own names, or spelt so; assumed where there are none."""
    columns = {role: arguments[role] or header.find_own(role) for role in _contest_roles(arguments, upcoming, "rank")}
    spelt = {role: header.find_first(SPELLINGS[role]) for role, name in columns.items() if name is None}
    if "rank" in spelt and arguments["score"] is None:
        if header.find_own("score") is not None:
            del spelt["rank"]
        elif spelt["rank"] is None and (score := header.find_first(SPELLINGS["contest score"])):
            del spelt["rank"], columns["rank"]
            spelt["score"] = score
    spelt = {role: name or COLUMN_ROLES[role].default[0] for role, name in spelt.items()}
    return PlayerColumns(CONTEST_ROLES, columns | spelt, notes=_describe_contest(spelt))


def _spelt_contest_columns(
    header: Header, arguments: Mapping[str, Any], upcoming: bool, result: str
) -> Iterator[PlayerColumns]:
    """The columns of contests whose result is a rank or a score, if all of them are spelt as people call them."""
    spellings = {"score": "contest score"}
    roles = _contest_roles(arguments, upcoming, result)
    spelt = {role: header.find_first(SPELLINGS[spellings.get(role, role)]) for role in roles}
    if None not in spelt.values() and (result == "rank" or arguments["score"] is None):
        yield PlayerColumns(CONTEST_ROLES, spelt, notes=_describe_contest(spelt))


def _describe_contest(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """What columns of contests were taken for, but for those of the library's own names."""
    return tuple(f"{name} for the {role}" for role, name in columns.items() if not is_standard_role_name(role, name))


def is_standard_role_name(role: str, name: Any) -> bool:
    """Whether a column has one of the library's own names for a role."""
    return normalise_column_name(name) in COLUMN_ROLES[role].default


def check_players(table: TableSource, players: PlayerColumns, arguments: Mapping[str, Any]) -> None:
    """ValueError unless the columns of players exist and differ, and those of a winner have no scores beside them."""
    check_columns_exist_and_unique(table.names, [x for role in players.roles for x in as_column_list(arguments[role])])
    for role in players.roles[:3]:
        if not {*as_column_list(players.columns.get(role))} <= {*table.names}:
            raise missing_column_error(table, role, {**arguments, **players.columns})
    if "item" in players.sides.second:
        _check_players_and_items_differ(table, players.names)
    columns = [*chain(*map(as_column_list, players.columns.values()))]
    is_scored = players.roles == WINNER_LOSER and arguments["score"]
    twice = f"{join_names(players.columns)} name a column twice: {', '.join(map(str, columns))}"
    raise_first_applicable_error(
        (len({*columns}) < len(columns), f"{twice}; name a different column for each"),
        (is_scored, "the score of a winner is 1; give a and b, not winner and loser, to use a column of scores"),
    )


def _check_players_and_items_differ(table: TableSource, names: Sequence[str]) -> None:
    """ValueError if those who answer and what they answer have a name in common, which would make them one player."""
    first, second = ({*to_values(column)} for column in load_columns(table, names, names).values())
    for common in sorted((first & second) - {None})[:1]:
        raise ValueError(
            f"{names[0]} and {names[1]} have names in common, as {common!r}, which would be one player; write them "
            f"otherwise, as {names[1]}_{common}"
        )


# Columns whose contents decide


class AmbiguousColumns(NamedTuple):
    """Columns whose names leave their roles open, so that their values decide."""

    results: Sequence[str] = ()
    points: Sequence[tuple[str, ...]] = ()  # of both sides
    sets: Sequence[tuple[str, ...]] = ()  # of the points, those that win a match, whoever has more of the others
    goals: Sequence[tuple[str, ...]] = ()  # of the points, those of the match itself for sure
    leads: Sequence[str] = ()  # by how much the first player was ahead
    single: Mapping[str, list[str]] = {}  # by roles that one column has


class RoleSearch(NamedTuple):
    """What is known of the roles; arguments and notes are added as they are found."""

    header: Header
    players: PlayerColumns
    arguments: dict[str, Any]
    notes: list[str]
    upcoming: bool
    open: AmbiguousColumns
    columns: dict[str, Column]  # those that are open, and the players; none if nothing is open
    values: dict[str, Column]  # the same, missing where a text says so

    def result_column(self, name: str) -> ResultColumn:
        """A column that may tell the results."""
        return ResultColumn(name, self.values[name], {x: self.columns[x] for x in self.players.names})

    def read_results(self, names: Iterable[str]) -> dict[str, ParsedResults]:
        """The results in those of these columns that hold some."""
        parsed = {name: parse_results(self.result_column(name)) for name in names}
        return {name: results for name, results in parsed.items() if results is not None}


def load_ambiguous_columns(
    table: TableSource, players: PlayerColumns, arguments: dict[str, Any], upcoming: bool, na_values: Sequence[str]
) -> RoleSearch:
    """The search for roles, with the columns that are open and those of the players, of one reading of the table."""
    header = Header.of_columns(table.names)
    if players.sides.side and arguments["side"] is None and "a" not in header.names:
        arguments["side"] = "a"
    single = _find_columns_of_single_roles(header, players, arguments, upcoming)
    opened = _possible_result_columns(header, players, arguments)._replace(single=single)
    text = [*players.names, *opened.results, *single["side"]]
    names = [*text, *chain(*opened.points), *opened.leads, *chain(*single.values())]
    is_open = any(opened[:5]) or any(single.values())
    columns = load_columns(table, names if is_open else (), text)
    others = columns.keys() - players.names  # who may be many
    values = columns | {name: replace_na_values(columns[name], na_values) for name in others}
    return RoleSearch(header, players, arguments, [*players.notes], upcoming, opened, columns, values)


def _find_columns_of_single_roles(
    header: Header, players: PlayerColumns, arguments: Mapping[str, Any], upcoming: bool
) -> dict[str, list[str]]:
    """The columns that are called as side, neutral ground and time are, where their roles are open."""
    times = header.find_columns(SPELLINGS["time"])
    is_open = {
        "side": players.sides.kind == "winner" and not upcoming,
        "neutral": arguments["side"] == "a",
        "time": times != [header.find_own("time")] or bool(players.notes),
    }
    return {
        role: header.find_columns(SPELLINGS[role]) if is_open[role] and arguments[role] is None else []
        for role in is_open
    }


def points_columns(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The points of both sides, if an argument names them."""
    margin = tuple(as_column_list(arguments["margin"]))
    return margin if len(margin) == 2 else ()


def _possible_result_columns(header: Header, players: PlayerColumns, arguments: Mapping[str, Any]) -> AmbiguousColumns:
    """Columns that may tell results; none if an argument or the library's own names tell them."""
    own, margin = header.find_own("score"), points_columns(arguments)
    is_told = players.sides == UNKNOWN_SIDES and own is not None and not margin
    if players.roles != PLAYER_PAIR or arguments["score"] is not None or is_told:
        return AmbiguousColumns()
    sides = players.possible_sides
    if margin:
        results = header.find_columns(SPELLINGS["score"]) if own is None else [own]
        points = dict.fromkeys([margin, *header.find_points(POINT_TEMPLATES, sides)])
        return AmbiguousColumns(results, [*points] if {*margin} <= {*header.names} else [])
    goals = [*header.find_points(GOAL_TEMPLATES, sides), *header.find_points_beside(players.names)]
    sets = header.find_side_pairs(SET_TEMPLATES, sides)
    points = dict.fromkeys([*sets, *goals, *header.find_points((*POINT_TEMPLATES, *COUNT_TEMPLATES), sides)])
    possible = dict.fromkeys([*header.find_columns(SPELLINGS["score"]), *_find_first_side_win_columns(header, sides)])
    for name in chain(*map(as_column_list, players.columns.values()), *goals):
        possible.pop(name, None)
    named_lead = {*as_column_list(arguments["margin"])} & {*header.names}
    leads = [*named_lead] or header.find_columns(SPELLINGS["margin"])
    return AmbiguousColumns([*possible], [*points], sets, goals, leads)


def _find_first_side_win_columns(header: Header, sides: Sequence[SidesSpelling]) -> list[Any]:
    """Columns that say whether the first side has won, where the second has none: wins of both are counts."""
    pairs = [*chain(*(spell_pairs(RESULT_TEMPLATES, one) for one in sides))]
    counts = {first for first, second in [*pairs, ("wins", "losses")] if second in header.by_spelling}
    return header.find_columns(first for first in dict.fromkeys(first for first, _ in pairs) if first not in counts)


def is_numeric_column(column: Column) -> bool:
    """Whether all values of a column are numbers, or it has none."""
    return numeric_share(column) == 1.0


def numeric_share(column: Column) -> float:
    """The share of the rows with a value that are numbers; 1 if none has a value."""
    present = ~missing_mask(column)
    return float(np.mean(~np.isnan(numbers_or_nan(column)[present]))) if present.any() else 1.0


# Roles that one column has


def recognise_single_columns(search: RoleSearch, dates: str | None) -> None:
    """Put the columns of side, neutral ground and time into the arguments, with notes on guesses."""
    fits: dict[tuple[str, str], Callable[[str], int]] = {  # by role and meaning, how well the contents of a column do
        ("side", "the side"): lambda name: 1,
        ("neutral", "neutral"): lambda name: holds_flags(search.columns[name]),
        ("time", "the time"): lambda name: _time_column_confidence(name, search.values[name], dates),
    }
    for (role, meaning), fit in fits.items():
        best = max(search.open.single[role], key=fit, default=None)
        if best is not None and fit(best):
            search.arguments[role] = best
            search.notes.extend([] if is_standard_role_name(role, best) else [f"{best} for {meaning}"])
    if search.arguments["time"] is None:
        _settle_time_without_dates(search)


def _settle_time_without_dates(search: RoleSearch) -> None:
    """Take the library's own column as the time, or note that columns with names of times hold no dates."""
    own, rank = search.header.find_own("time"), search.arguments["rank"]
    others = [name for name in search.header.names if name in search.open.single["time"] and name != rank]
    texts = [str(name) for name in others if is_text(search.values[name])]
    if texts:
        search.notes.append(f"nothing for the time, as {', '.join(texts)} has no dates")
    elif own != rank:
        search.arguments["time"] = own


def _time_column_confidence(name: str, column: Column, dates: str | None) -> int:
    """How well a column holds times: 2 for dates, 1 for numbers under one of the library's own names, 0 for others."""
    return 2 * is_time_column(name, column, dates) or int(
        is_standard_role_name("time", name) and is_numeric_column(column)
    )


def holds_flags(column: Column) -> bool:
    """Whether all values of a column are flags: true or 1, false or 0."""
    with suppress(ValueError):
        to_flags("", column)
        return True
    return False


def time_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called as times are."""
    return [name for name in names if normalise_column_name(name) in SPELLINGS["time"]]


def date_columns(table: TableSource, used: Collection[str], dates: str | None) -> list[str]:
    """The columns, other than those used, that hold dates, as far as their first values tell; of numbers none."""
    found = []
    for name, values in table.first_values([name for name in table.names if name not in used]).items():
        with suppress(ValueError):
            column = to_column(name, values)
            if not is_numeric_column(column) and is_time_column(name, column, dates):
                found.append(name)
    return found


# What tells the results of matches


MAX_CONTRADICTIONS = 0.03  # share of the rows that is an error of some rows, and not of a column
SCORE_CODES = {1: 1.0, 0: 0.0}


class ResultChoice(NamedTuple):
    """The columns that tell the results of matches."""

    result: str | None = None
    points: tuple[str, ...] = ()  # of both sides, which tell the results
    notation: Notation | None = None  # of a column of winners in numbers
    note: str = ""


def recognise_result(table: TableSource, search: RoleSearch) -> ResultChoice:
    """The columns that tell the results; puts that of the score into the arguments if contents tell it."""
    own, named, margin = search.header.find_own("score"), search.arguments["score"], points_columns(search.arguments)
    if search.players.roles != PLAYER_PAIR or named:
        return ResultChoice(named or None)
    if margin or named is False:
        return _choose_named_points(search, margin)
    choice = _choose_by_contents(search)
    search.arguments["score"] = choice.result
    search.notes.extend({choice.note} - {"", f"{own} for the score"})
    if choice != ResultChoice():
        return choice
    if own is None and not search.upcoming:
        raise _missing_result_error(table, search.arguments)
    return ResultChoice(own)


def _missing_result_error(table: TableSource, arguments: Mapping[str, Any]) -> ValueError:
    """The error that nothing tells the results; raises one of its own for a misspelt column, which may be the cause."""
    named = [x for role, x in arguments.items() if role not in ("side", "margin", "drop", "statistics")]
    check_columns_exist_and_unique(table.names, [*chain(*map(as_column_list, filter(None, named)))])
    return missing_column_error(table, "score", arguments)


def _choose_named_points(search: RoleSearch, margin: tuple[str, ...]) -> ResultChoice:
    """The points of both that an argument names, or the library's own column of scores; notes what differs."""
    if not margin and not search.upcoming:
        raise ValueError("score=False needs the two columns of each side's points as margin, which tell who won")
    own, lead = search.header.find_own("score"), _sign_of_lead(search.open.points, search.values)
    readings = search.read_results(search.open.results)
    if own in readings:
        return ResultChoice(own)
    if own is not None and search.arguments["score"] is None:
        search.arguments["score"] = False
        search.notes.append(f"nothing for the score, as {own} has no results, and the points of both tell who won")
    for name, results in readings.items():
        if _contradict_too_often(bad := _contradictions(results.score, lead)):
            search.notes.append(_describe_preferred_points(name, margin, bad))
    if margin in search.open.points and (contradiction := _describe_contradicting_points(search, margin)):
        search.notes.append(f"{join_names(margin)} for the points of both, which tell who won{contradiction}")
    return ResultChoice(points=margin)


def _choose_by_contents(search: RoleSearch) -> ResultChoice:
    """The column of results that its contents tell, or those of both sides' points."""
    quality = {pair: _points_column_confidence([search.values[name] for name in pair]) for pair in search.open.points}
    vague = _find_vague_sets(search)
    best = max(quality, key=lambda pair: (quality[pair], pair not in vague), default=None)
    points = best if best is not None and quality[best] else ()
    firsts = [] if points else [first for first, _ in quality]  # of W and L of both sides
    readings = search.read_results([*search.open.results, *firsts])
    return _choose_result_reading(search, readings, points) if readings else _choose_points(search, points)


def _find_vague_sets(search: RoleSearch) -> set[tuple[str, ...]]:
    """Columns of sets that are level in all matches, or none in some of which there are points."""
    values, pairs = search.values, search.open.points
    played = {pair: np.count_nonzero(np.add(*(numbers_or_nan(values[name]) for name in pair)) > 0) for pair in pairs}
    most = max(played.values(), default=0)
    return {pair for pair in search.open.sets if played[pair] < most or not _sign_of_lead([pair], values).any()}


def _choose_points(search: RoleSearch, points: tuple[str, ...]) -> ResultChoice:
    """The points of both, or a lead, or a column of results without a value if there are none of these."""
    empty = next((name for name in search.open.results if _are_columns_empty([search.values[name]])), None)
    if empty is not None and _are_columns_empty([search.values[name] for name in points]):
        return ResultChoice(empty, note=f"{empty} for the score")
    if points:
        note = f"{' and '.join(points)} for the points of both, which tell who won"
        return ResultChoice(points=points, note=note + _describe_contradicting_points(search, points))
    leads = [name for name in search.open.leads if _has_both_signs(search.values[name])]
    note = f"{' '.join(leads[:1])} for the lead of {search.players.names[0]}, whose sign tells who won"
    return ResultChoice(points=tuple(leads[:1]), note=note * bool(leads))


def _describe_contradicting_points(search: RoleSearch, points: tuple[str, ...]) -> str:
    """What a note adds where others are ahead by further columns of points, as beside the goals of hurling."""
    score = 0.5 + 0.5 * _sign_of_lead([points], search.values)
    for pair in search.open.points:
        if (bad := _contradictions(score, _sign_of_lead([pair], search.values))).any() and pair not in search.open.sets:
            return f", though {join_names(pair)} contradict them in {describe_share(bad)}"
    return ""


def _has_both_signs(column: Column) -> bool:
    """Whether all values of a column are numbers, of which some are below 0 and others above."""
    return is_numeric_column(column) and {-1.0, 1.0} <= {*np.sign(numbers_or_nan(column)).tolist()}


def _choose_result_reading(
    search: RoleSearch, readings: Mapping[str, ParsedResults], points: tuple[str, ...]
) -> ResultChoice:
    """The surest column of readable results, or the points of both sides where these contradict it."""
    name, players = _surest_reading(readings), search.players.names
    lead = _sign_of_lead([points] if points in search.open.goals else [], search.values)
    if codes := winner_code_readings(search.result_column(name)):
        return _choose_winner_codes(name, search.values[name], codes, lead, players)
    if not points:
        _refuse_contradicting_scorelines(name, readings)
    others = [results.score for other, results in readings.items() if other != name]
    choice = _settle_contradictions(name, points, readings[name].score, others, lead)
    taken = f"{name} for the score"
    return choice._replace(note=choice.note.replace(taken, taken + _score_meaning(search, name, readings[name]), 1))


def _score_meaning(search: RoleSearch, name: str, results: ParsedResults) -> str:
    """What a note adds about a column of winners as 1 and 0, or about whose number is the first of a score."""
    (first, second), names = search.players.names, [*search.header.names]
    if is_winner_column(name) and results.notation.plain:
        return f", where 1 is a win of {first}"
    is_exchanged = results.notation == SCORELINES and names.index(first) > names.index(second)
    return f", its first number that of {first}" if is_exchanged else ""


def _refuse_contradicting_scorelines(name: str, readings: Mapping[str, ParsedResults]) -> None:
    """ValueError if the goals of both in one column contradict the results of another in more than a few rows."""
    chosen = readings[name]
    for other, results in readings.items():
        told, lead = (results, chosen) if chosen.notation == SCORELINES else (chosen, results)
        is_sure = lead.notation == SCORELINES and (told is chosen or bool(np.any(told.score == 0.0)))
        if lead is told or not is_sure:
            continue
        bad = _contradictions(told.score, np.nan_to_num(np.sign(lead.score - 0.5)))
        if _contradict_too_often(bad) and np.count_nonzero(bad) > 1:
            raise _contradiction_error(name, f"{other!r}", bad, f"score={other!r}")


def _surest_reading(readings: Mapping[str, ParsedResults]) -> str:
    """The first column of results that is not of sets or of winners alone, if there is such a one; else the first."""
    second_wins = {name: bool(np.any(results.score == 0.0)) for name, results in readings.items()}
    has_winner = any(is_winner_column(name) and wins for name, wins in second_wins.items())
    return min(readings, key=lambda x: (readings[x].notation == SETS, has_winner and not second_wins[x]))


def _are_columns_empty(columns: Iterable[Column]) -> bool:
    return all(missing_mask(column).all() for column in columns)


def _points_column_confidence(columns: Sequence[Column]) -> float:
    """How sure two columns hold points: the share of numbers, above 1 if there are some; 0 if they are few."""
    share = min(map(numeric_share, columns))
    return (share >= MIN_READABLE_SHARE) * (share + (share == 1.0 and not _are_columns_empty(columns)))


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
    known = _winner_codes_by_points(column, readings[0], lead) or _winner_codes_by_column_numbers(column, players)
    readings = [known] if known else readings
    meanings = {1.0: f"a win of {players[0]}", 0.0: f"one of {players[1]}", 0.5: "a draw"}
    described = [join_names([f"{code} is {meanings[x]}" for code, x in codes.items()]) for codes in readings]
    if len(readings) > 1:
        raise ValueError(
            f"column {name!r} can be read in two ways: {'; or '.join(described)}. Write the names of the winners, or "
            f"{players[0]}, {players[1]} and draw, in place of the numbers"
        )
    note = f"{name} for the score" + (f", where {described[0]}" if readings[0] != WINNER_CODES[0] else "")
    if readings[0] == WINNER_CODES[2] and not lead.any():
        note += f"; if it is 1 where {players[0]} won, say score={name!r}"
    return ResultChoice(name, notation=winner_codes_notation(readings[0]), note=note)


def _winner_codes_by_points(column: Column, reading: Mapping[int, float], lead: HostArray) -> dict[int, float]:
    """The scores of a column of winners in numbers that agree with the lead in points; {} if none do."""
    possible = [codes for codes in (*WINNER_CODES, SCORE_CODES) if reading.keys() <= codes.keys()]
    wrong = [np.count_nonzero(_contradictions(winner_codes_to_scores(column, codes), lead)) for codes in possible]
    is_clear = lead.any() and min(wrong) <= (1.0 - MIN_AGREEMENT) * np.count_nonzero(lead)
    return possible[int(np.argmin(wrong))] if is_clear else {}


def _winner_codes_by_column_numbers(column: Column, players: Sequence[str]) -> dict[int, float]:
    """Scores of the codes of both sides, whose columns are as player1 and player2; {} if others are there."""
    first, second = (re.sub(r"\D+", " ", str(name)).strip() for name in players)
    if {first, second} != {"1", "2"}:
        return {}
    values = {*np.unique(numbers_or_nan(column)[~missing_mask(column)]).tolist()}
    codes = {int(first): 1.0, int(second): 0.0}
    is_told = values <= {0, *codes} and (2 in values or 0 not in values)  # which else count from 0, perhaps
    return codes | ({0: 0.5} if 0 in values else {}) if is_told and values & codes.keys() else {}


def _settle_contradictions(
    name: str, points: tuple[str, ...], score: HostArray, others: Sequence[HostArray], lead: HostArray
) -> ResultChoice:
    """The column of results, or the points that contradict it where another column agrees with them."""
    bad = _contradictions(score, lead)
    if not bad.any():
        return ResultChoice(name, note=f"{name} for the score")
    x, y = points
    is_wrong = _contradict_too_often(bad) and np.count_nonzero(bad) > 1
    if is_wrong and not all(_contradict_too_often(_contradictions(other, lead)) for other in others):
        return ResultChoice(points=points, note=_describe_preferred_points(name, points, bad))
    if not is_wrong or any(_do_scores_mostly_agree(score, other) for other in others):
        share = describe_share(bad)
        return ResultChoice(name, note=f"{name} for the score, though {x} and {y} contradict it in {share}")
    raise _contradiction_error(name, f"{x!r} and {y!r}", bad, f"margin={[x, y]!r}")


def _contradiction_error(name: str, others: str, bad: HostArray, advice: str) -> ValueError:
    """The error that a column of results and others contradict each other in the rows [n] that are bad."""
    return ValueError(
        f"columns {name!r} and {others} contradict each other in {describe_share(bad)} (the first is row "
        f"{np.argmax(bad)}, counting from 0); say score={name!r} or {advice}"
    )


def _describe_preferred_points(name: str, points: tuple[str, ...], bad: HostArray) -> str:
    text = "for the points of both, which tell who won, and not"
    return f"{join_names(points)} {text} {name}, which contradicts them in {describe_share(bad)}"


def _contradictions(score: HostArray, lead: HostArray) -> HostArray:
    """[n] where the points have a winner, and the score another or none; level points may have one by a shoot-out."""
    if not len(lead):
        return np.zeros(1, bool)
    return (lead != 0) & ~np.isnan(score) & (np.sign(score - 0.5) != lead)


def _contradict_too_often(bad: HostArray) -> bool:
    return bool(bad.mean() > MAX_CONTRADICTIONS)


def _do_scores_mostly_agree(one: HostArray, other: HostArray) -> bool:
    both = ~np.isnan(one) & ~np.isnan(other)
    return bool(both.any() and not _contradict_too_often((one != other)[both]))


# Columns that improve predictions, by their names: points, seasons and surfaces, published forecasts and odds


FORMAT_EVIDENCE: dict[str, dict[str, Any]] = {"football": {"margin": ["home_score", "away_score"]}}


def recognise_evidence_columns(names: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `read` beside those given, as names tell: points of both sides or teams, season and surface."""
    header = Header.of_columns(names)
    players = recognise_players(header, select_role_arguments(arguments))
    if players is None or players.roles == CONTEST_ROLES:  # of which none is sought
        return {}
    templates, sides = WINNER_TEMPLATES if players.roles == WINNER_LOSER else POINT_TEMPLATES, players.possible_sides
    points = [*header.find_points_beside(players.names), *header.find_points(templates, sides)]
    found = {role: header.find_columns(SPELLINGS[role]) for role in ("margin", "season", "category")}
    found["margin"] = [*map(list, points), *found["margin"]]
    known = {*arguments, *(["season"] if players.are_teams or "league_season" in arguments else [])}
    return {role: columns[0] for role, columns in found.items() if columns and role not in known}


def do_points_contradict(resolved: ResolvedTable, margin: Any) -> bool:
    """Whether some match has another winner by the points of a margin than by those that tell who won, as sets do."""
    pairs = resolved.roles.points, tuple(as_column_list(margin))
    if {*map(len, pairs)} != {2} or not {*pairs[1]} <= {*resolved.table.names}:
        return False
    columns = load_columns(resolved.table, [*dict.fromkeys(chain(*pairs))])
    one, other = (_sign_of_lead([pair], columns) for pair in pairs)
    return not np.array_equal(one, other)


BOOKMAKERS = {  # by the beginning of their columns at football-data.co.uk and tennis-data.co.uk; the first are closing
    "PSC": "Pinnacle (closing)",
    "BFEC": "Betfair Exchange (closing)",
    "B365C": "bet365 (closing)",
    "AvgC": "market average (closing)",
    "PS": "Pinnacle",
    "BFE": "Betfair Exchange",
    "B365": "bet365",
    "Avg": "market average",
    "BbAv": "Betbrain average",
}
ODDS_ENDINGS = "HDA", "HA", "WL"  # home, draw and away; winner and loser
ODDS_COLUMNS = {label: [[start + end for end in ends] for ends in ODDS_ENDINGS] for start, label in BOOKMAKERS.items()}
FORECAST_COLUMNS = ("prob1", "probtie", "prob2"), ("elo_prob1", "elo_prob2")  # of FiveThirtyEight's files


def recognise_forecast_columns(names: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The columns of published forecasts, and those of odds, by the name of their row.

    Where a file has closing odds, those from before are left out. Forecasts and odds are those of win, draw and loss of
    the first player, or of win and loss.
    """
    header = Header.of_columns(names)
    forecasts, odds = (
        {x: present[0] for x, choices in columns.items() if (present := [*filter(None, map(header.find_all, choices))])}
        for columns in ({"FiveThirtyEight": FORECAST_COLUMNS}, ODDS_COLUMNS)
    )
    closing = {label: columns for label, columns in odds.items() if label.endswith("(closing)")}
    return forecasts, closing or odds


# What is missing


SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_WIDTH = 3, 12, 120  # of a table that cannot be read as it is
COMPARED_ROWS = 1000  # in which two columns of it may share texts
ADVICE = {  # by the role that is missing
    "a": "name the columns: of matches both players, as a={x!r}, b={y!r}; of those in which somebody won, as "
    "winner={x!r}, loser={y!r}; of contests with a row for each participant, as contest={contest!r}, "
    "participant={participant!r}, rank={rank!r}, or score='...', of which higher is better",
    "score": "name that of the results, as score='...'; or those of the points of both, as margin=['...', '...']",
    "rank": "name that of ranks, as rank='...'; or of scores, of which higher is better, as score='...'",
}
TWO_HEADERS_ADVICE = "two rows name the columns; join them into one, as 'Home Team', 'Home Goals', 'Away Team'"
WORDS_OF_HEADERS = {*SPELLINGS["time"], *SPELLINGS["participant"], *POINT_NOUNS}
FIRST_LINE_ADVICE = "the first line names the columns, separated by commas, semicolons or tabs; remove what is above it"


def missing_column_error(table: TableSource, role: str, arguments: Mapping[str, Any]) -> MissingColumnError:
    """The error for a table without the column of a role: shows the first rows, and the arguments to write."""
    used = {*chain(*map(as_column_list, arguments.values())), *time_columns(table.names)}
    columns = load_columns(table, table.names)
    x, y = find_columns_sharing_texts({name: column for name, column in columns.items() if name not in used})
    first_row = {normalise_column_name(cell) for x in table.first_values(table.names).values() for cell in x[:1]}
    advice = ADVICE.get(role, "name it, as {role}={x!r}") if len(table.names) > 1 else FIRST_LINE_ADVICE
    advice = advice if len(first_row & WORDS_OF_HEADERS) < 2 else TWO_HEADERS_ADVICE
    header = Header.of_columns(table.names)
    of_contests = {name: header.find_first(SPELLINGS[name]) or "..." for name in ("contest", "participant", "rank")}
    advice = advice.format(role=role, x=x, y=y, **of_contests)
    message = f"no column {COLUMN_ROLES[role].default[0]!r}; {advice} (there are: {', '.join(map(str, table.names))})"
    rows = format_first_rows(columns)
    return MissingColumnError("\n  ".join([shorten_to_one_line(message), *rows]))


def find_columns_sharing_texts(columns: Mapping[Any, Column]) -> tuple[Any, Any]:
    """The names of the two columns that share most texts, as those of both players do; "..." where there are fewer."""
    cells = {name: map(str, to_values(column[:COMPARED_ROWS])) for name, column in columns.items()}
    texts = {name: {x for x in values if x[:1].isalpha()} for name, values in cells.items()}
    pairs = combinations([*texts, "...", "..."], 2)
    return max(pairs, key=lambda pair: len(texts.get(pair[0], set()) & texts.get(pair[1], set())))


def format_first_rows(columns: Mapping[Any, Column]) -> list[str]:
    """The lines of a table of the first cells of columns."""
    names = [*columns][:SHOWN_COLUMNS]
    cells = zip(*(to_values(columns[name][:SHOWN_ROWS]) for name in names), strict=False)
    rows = [["" if x is None else to_one_line(truncate_text(str(x))) for x in row] for row in cells]
    head = [to_one_line(truncate_text(str(name))) for name in names]
    text = format_table(head, rows, head)
    return [line[:SHOWN_WIDTH] for line in text.split("\n")]
