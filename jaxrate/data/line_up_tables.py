"""A table with one row per match of two teams, whose players stand in several columns or in lists, as contests."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_unquoted_name, format_value_for_error, join_names
from jaxrate.data.column_conversion import (
    is_missing_value,
    missing_mask,
    time_column_to_days_and_clock,
    to_column,
    to_ids,
    to_numbers,
)
from jaxrate.data.column_recognition import matching_pair
from jaxrate.data.column_role_definitions import CONTEST_ROLES, PLAYER_PAIR, WINNER_LOSER, check_column_names
from jaxrate.data.column_spellings import LINE_UP_SPELLINGS, NAME_TEMPLATES, SIDE_PAIRS, normalise_column_name
from jaxrate.data.faulty_rows import is_blank_mask
from jaxrate.data.match_tables import match_arguments_from_columns
from jaxrate.data.player_categories import CategoryShares, category_ids_or_shares
from jaxrate.data.result_parsing import MIN_READABLE_SHARE
from jaxrate.data.role_resolution import ColumnRoles, TableLayout, default_column
from jaxrate.data.table_sources import (
    Column,
    check_columns_exist_and_unique,
    find_column_ignoring_case,
    import_pyarrow,
)
from jaxrate.events import NameFormatters, build_rounds, fail_where
from jaxrate.events.dataset import Dataset, EventBuilderInputs

SEPARATOR = ";"  # of the names in a cell of text, where columns are named as those of teams
HOME_ADVICE = "make a home game a covariate of each player, in a table with a row for each"
OWN_ADVICE = "they are each player's own, in a table with a row for each"
UNSUPPORTED_ROLES = {  # and what to do instead; nothing: no contest takes them
    "side": HOME_ADVICE,
    "neutral": HOME_ADVICE,
    "statistics": OWN_ADVICE,
    "covariates": OWN_ADVICE,
    "season": "give the times at which they begin to the system, as skills(seasons=...)",
    **dict.fromkeys(("rest", "form", "age", "league_season", "shares", "expected_goals"), ""),
}
OTHER_LAYOUTS = PLAYER_PAIR, WINNER_LOSER, ("contest", "participant")  # roles whose default columns tell of them


class LineUpColumns(NamedTuple):
    """The columns that hold the players of both sides."""

    first: list[str]
    second: list[str]
    roles: tuple[str, str]  # of the two sides: a and b, or winner and loser
    note: str = ""  # what was recognised, in words


def find_line_up_columns(names: Sequence[str], arguments: Mapping[str, Any]) -> LineUpColumns | None:
    """The columns of line-ups: several that arguments name for a side, or a1, a2, b1, b2 as people call them.

    Raises:
      ValueError: if only one of the sides is named.
    """
    for roles in (PLAYER_PAIR, WINNER_LOSER):
        named = [arguments[role] for role in roles]
        if any(isinstance(side, (list, tuple)) for side in named):
            for role, side in zip(roles, named, strict=True):
                check_column_names(role, side if isinstance(side, (list, tuple)) else ())
            if any(not side for side in named):
                raise ValueError(f"{roles[0]} and {roles[1]} must both name the columns of a side, got {named}")
            first, second = ([side] if isinstance(side, str) else list(side) for side in named)
            return LineUpColumns(first, second, roles)
    if any(arguments[role] is not None for role in (*PLAYER_PAIR, *WINNER_LOSER, *CONTEST_ROLES)):
        return None
    for roles in OTHER_LAYOUTS:
        if all(find_column_ignoring_case(names, default_column(role)) for role in roles):
            return None
    spelt = {normalise_column_name(name): name for name in reversed(names)}
    if any(matching_pair(spelt, NAME_TEMPLATES, spelling) for spelling in SIDE_PAIRS if not spelling.own):
        return None  # of named sides; numbered columns are sets, or more about them
    for roles, *templates in LINE_UP_SPELLINGS:
        sides = [_numbered_columns(spelt, template) for template in templates]
        if all(sides) and sum(map(len, sides)) > 2:
            for role, columns, template in zip(roles, sides, templates, strict=True):
                _check_numbers_without_gap(role, columns, template)
            first, second = ([columns[number] for number in sorted(columns)] for columns in sides)
            note = f"{', '.join(first)} for the team of {roles[0]}, and {', '.join(second)} for that of {roles[1]}"
            return LineUpColumns(first, second, roles, note)
    return None


def _numbered_columns(column_by_spelling: Mapping[str, str], template: str) -> dict[int, str]:
    """The columns of a template by number; none unless there is one of number 0 or 1."""
    pattern = re.compile(template.format("(0|[1-9][0-9]*)"))
    matches = {match: name for spelling, name in column_by_spelling.items() if (match := pattern.fullmatch(spelling))}
    columns = {int(match[1]): name for match, name in matches.items()}
    return columns if columns.keys() & {0, 1} else {}


def _check_numbers_without_gap(role: str, columns: Mapping[int, str], template: str) -> None:
    """ValueError if a number between those of the columns has none, whose player would be missing."""
    numbers = sorted(columns)
    missing = next((i for i in range(numbers[0], numbers[-1]) if i not in columns), None)
    if missing is not None:
        names = [columns[number] for number in numbers]
        raise ValueError(
            f"there are columns {join_names(names)} for the team of {role}, and no {template.format(missing)}; add it, "
            f"or name the columns of both teams, as {role}={names!r}"
        )


def set_line_up_columns(roles: ColumnRoles, line_ups: LineUpColumns, names: Sequence[str]) -> ColumnRoles:
    """The roles with all players; ValueError unless there are such columns, each once."""
    players = [*line_ups.first, *line_ups.second]
    if len({*players}) < len(players):
        raise ValueError(f"the line-ups name a column twice: {', '.join(map(str, players))}")
    check_columns_exist_and_unique(names, players)
    return roles._replace(layout=roles.layout._replace(players=players, num_first=len(line_ups.first)))


def check_line_up_roles(arguments: Mapping[str, Any]) -> None:
    """ValueError for arguments of `read` that a table of line-ups does not take."""
    wrong = [name for name in UNSUPPORTED_ROLES if arguments[name]]
    if isinstance(arguments["category"], (list, tuple)) and len(arguments["category"]) > 1:
        raise ValueError("the category of line-ups is one column, what everybody meets")
    if wrong:
        advice = UNSUPPORTED_ROLES[wrong[0]]
        wrong = [name for name in wrong if UNSUPPORTED_ROLES[name] == advice]
        others = f", and neither do other contests; leave {'it' if len(wrong) == 1 else 'them'} out"
        raise ValueError(f"line-ups take no {' and no '.join(wrong)}{f': {advice}' if advice else others}")


def expand_line_up_cells(roles: ColumnRoles, columns: dict[str, Column]) -> tuple[ColumnRoles, dict[str, Column], str]:
    """Matches whose cells hold lists of players, or of line-ups text with ;, with a column for each; and a note.

    Blank cells of line-ups are missing.
    """
    layout = roles.layout
    if layout.contest is not None:
        return roles, columns, ""
    if not any(_has_lists(columns[name]) for name in layout.players):
        shares = [separated_share(columns[name]) for name in layout.players]
        if not layout.num_first and min(shares) >= MIN_READABLE_SHARE and len(columns[layout.players[0]]) > 1:
            a, b = layout.players
            hint = f"say a=[{a!r}], b=[{b!r}]"
            return roles, columns, f"each of {a} and {b} for one name (if semicolons divide players, {hint})"
        if not layout.num_first:
            return roles, columns, ""
        if not any(shares):
            return roles, columns | {name: _blank_as_missing(name, columns[name]) for name in layout.players}, ""
    elif not layout.num_first:
        _check_no_separators_beside_lists(layout, columns)
    count = layout.num_first or 1
    players, num_first, new = list[str](), 0, dict(columns)
    for position, name in enumerate(layout.players):
        cells = [_cell_names(value, layout.num_first > 0) for value in _to_values(columns[name])]
        parts = [name]  # the first has its name, which errors show
        for number in range(2, max(map(len, cells)) + 1):
            part = f"{name}, {number}"
            while part in new:
                part += "'"
            parts.append(part)
            new[part] = to_column(part, [cell[number - 1] if number <= len(cell) else None for cell in cells])
        new[name] = to_column(name, [cell[0] if cell else None for cell in cells])
        players += parts
        num_first += len(parts) if position < count else 0
    text = f"{' and '.join(map(str, layout.players))} for teams, of several players in a cell"
    return roles._replace(layout=layout._replace(players=players, num_first=num_first)), new, text


def _check_no_separators_beside_lists(layout: TableLayout, columns: Mapping[str, Column]) -> None:
    """RowError where text that may name several players stands among lists of them."""
    a, b = layout.players
    advice = f"and others are lists: make it one, or say a=[{a!r}], b=[{b!r}] if semicolons divide the players"
    for name in layout.players:
        values = _to_values(columns[name])
        is_divided = np.array([isinstance(value, str) and SEPARATOR in value for value in values], bool)
        fail_where(is_divided, lambda row: f"column {name!r} is {format_value_for_error(values[row])}, {advice}")  # noqa: B023


def _blank_as_missing(name: str, column: Column) -> Column:
    """The column with None in place of blank text."""
    blank = is_blank_mask(column)
    if not blank.any():
        return column
    values = _to_values(column)
    return to_column(name, [None if blank[row] else values[row] for row in range(len(values))])


def _has_lists(column: Column) -> bool:
    return isinstance(column, np.ndarray) and any(isinstance(x, (list, np.ndarray)) for x in column)


def separated_share(column: Column) -> float:
    """The share of the cells that hold text with the separator."""
    if isinstance(column, np.ndarray):
        return float(np.mean([isinstance(x, str) and SEPARATOR in x for x in column]))
    if not import_pyarrow().types.is_large_string(column.type):
        return 0.0
    compute = import_pyarrow().compute
    return float(compute.mean(compute.match_substring(column, SEPARATOR)).as_py() or 0.0)


def _to_values(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()


def _cell_names(value: Any, divides: bool) -> list[Any]:
    """The names in a cell, which semicolons divide if they do; none of what is missing or blank."""
    if isinstance(value, str) and divides:
        return [name for part in re.split(SEPARATOR, value) if (name := part.strip())]
    value = value.tolist() if isinstance(value, np.ndarray) else value
    items = value if isinstance(value, list) else [value]
    return [x for x in items if not (is_missing_value(x, True) or (isinstance(x, str) and not x.strip()))]


def read_line_up_fields(
    roles: ColumnRoles,
    columns: dict[str, Column],
    players: Any,
    categories: Any,
    mixtures: Mapping[Any, CategoryShares],
    rows: HostArray,
) -> tuple[EventBuilderInputs, HostArray]:
    """Ids and numbers of the players of both teams, and the row [sum P] of the columns in which each stands.

    `rows` [n] says where those of the columns stand in the source.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    layout, count = roles.layout, len(columns[roles.layout.players[0]])
    for name in layout.first_players:
        fail_where(missing_mask(columns[name], True), lambda row: f"column {name!r} has no value")  # noqa: B023
    present = np.stack([~missing_mask(columns[name], True) for name in layout.players], axis=1)
    row, position = np.nonzero(present)
    player, players = to_ids(["players"], {"players": _names_by_row(layout.players, columns, present)}, players)
    arguments = match_arguments_from_columns(roles, columns, count)
    score, second = arguments["score"], position >= layout.num_first
    fail_where(
        ~np.isin(score, (0, 0.5, 1)), lambda row: f"score {score[row]:g}, and teams win (1), draw (0.5) or lose (0)"
    )
    place = np.sign(0.5 - score)  # of the first, -1 if they won; the second has the other
    values: dict[str, Any] = {"contest": row, "player": player[:, 0], "team": second.astype(int)}
    values["rank"] = np.where(second, -place[row], place[row])
    if (weight := arguments.get("weight")) is not None:
        fail_where(weight <= 0, lambda row: f"column {roles.weight!r} is {weight[row]:g}, and weights are above 0")
        values["noise"] = weight[row] ** -0.5
    labels = None
    if roles.category:
        category, labels = category_ids_or_shares(roles.category[:1], columns, categories, mixtures)
        values["category"] = category[row, 0]
    values["columns"] = {name: x[row] for name, x in arguments["columns"].items() if name not in roles.margin}
    if roles.margin:
        values["columns"][roles.margin[0]] = _team_points(roles, columns, score)[row, second.astype(int)]
    time, clock = time_column_to_days_and_clock(roles.time, columns)
    values |= {name: x[row] for name, x in time.items()}
    return EventBuilderInputs(values, players, clock, labels, rows), row


def _names_by_row(names: Sequence[str], columns: Mapping[str, Column], present: HostArray) -> Column:
    """The names of the players that there are, of each row those of the first team and then those of the second."""
    parts, arrow = [columns[name] for name in names], import_pyarrow()
    if any(isinstance(part, np.ndarray) for part in parts) or len({part.type for part in parts}) > 1:
        values = np.empty(present.shape, object)
        for i, part in enumerate(parts):
            values[:, i] = _to_values(part)
        return to_column("players", values[present].tolist())
    flat = arrow.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    row, position = np.nonzero(present)
    return flat.take(arrow.array(position * len(present) + row))


def _team_points(roles: ColumnRoles, columns: Mapping[str, Column], score: HostArray) -> HostArray:
    """[n, 2] the points of both teams; of a margin in one column it, for who has won, and 0."""
    if roles.upcoming:
        return np.zeros((len(score), 2))
    points = [to_numbers(name, columns[name]) for name in roles.margin]
    if len(points) == 2:
        return np.stack(points, axis=1)
    size = np.abs(points[0])
    return np.stack([np.where(score > 0.5, size, 0.0), np.where(score < 0.5, size, 0.0)], axis=1)


def build_line_up_dataset(roles: ColumnRoles, fields: EventBuilderInputs, rows: HostArray) -> Dataset:
    """The dataset of these contests, whose participants stand in these rows of the source."""
    players, source = fields.players, np.asarray(fields.contests)
    formatters = NameFormatters(lambda i: str(source[i]), lambda i: format_unquoted_name(players[i]))
    events = build_rounds(**fields.values, formatters=formatters)
    names = players, rows, fields.categories, fields.clock, rows[events.player_start[:-1]]
    return Dataset(events, *names, tuple(roles.margin[:1]))
