"""Which columns of a table have which part, by the names that people give them.

Names are compared in lower case, by letters and digits alone: `Home_Team` is `hometeam`. Columns that options name come
first, then those of the library's own names (a and b, winner and loser, contest and player, score, time), and only for
what is left these spellings.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.column_conversion import missing_mask, to_column, to_flags, to_numbers
from jaxrate.data.column_roles import (
    CONTEST_PARTS,
    DEFAULT_COLUMNS,
    PLAYER_PAIR,
    WINNER_LOSER,
    check_column_names,
    is_pair,
)
from jaxrate.data.column_spellings import (
    CONTEST_NAMES,
    NAME_TEMPLATES,
    NEUTRAL_NAMES,
    PARTICIPANT_NAMES,
    POINT_TEMPLATES,
    RANK_NAMES,
    RESULT_NAMES,
    SIDE_COLUMN_NAMES,
    SIDE_PAIRS,
    TIME_NAMES,
    SidesSpelling,
)
from jaxrate.data.date_parsing import is_time_column
from jaxrate.data.result_parsing import parse_results, replace_na_texts
from jaxrate.data.table_sources import Column, TableSource, find_column


class Recognition(NamedTuple):
    """What was recognised."""

    named: dict[str, Any]  # arguments of `read`
    table: TableSource  # which does not load again what was looked at
    points: tuple[str, ...] = ()  # the columns of each side's points, which tell the result
    timeless: bool = False  # whether no column of time holds times
    unix: bool = False  # whether numbers in the column of time may be seconds since 1970
    taken: tuple[str, ...] = ()  # which column was taken for what, in words


def recognise_columns(
    table: TableSource, named: dict[str, Any], upcoming: bool, dates: str | None, na_values: Sequence[str]
) -> Recognition:
    """The parts of the columns of a table: as named, and else as they are called.

    Args:
      table: whose columns are looked at.
      named: arguments of `read`, of which those that are None are sought.
      upcoming: the matches are to come, so that nobody has won.
      dates, na_values: as in `read`.

    Raises:
      ValueError: if several columns could be the players; says which options decide. Also if an argument names none.
    """
    check_column_names(named)
    spelt: dict[str, str] = {}
    for name in table.names:
        spelt.setdefault(_letters_and_digits(name), name)
    named, taken = dict(named), list[str]()
    form, kind = _table_form(table.names, named, upcoming), None
    if form is None and (hit := _player_columns(spelt, upcoming)) is not None:
        kind, pair = hit
        form = WINNER_LOSER if kind.won else PLAYER_PAIR
        named |= dict(zip(form, pair, strict=True))
        home = ", the first of whom has the side" if kind.side and named["side"] is None else ""
        taken.append(f"{pair[0]} and {pair[1]} for {form[0]} and {form[1]}{home}")
    elif form in (None, CONTEST_PARTS):
        found = _contest_columns(table.names, spelt, named, form, upcoming)
        form = CONTEST_PARTS if found else form
        named |= found
        taken += [
            f"{name} for the {part}"
            for part, name in found.items()
            if _letters_and_digits(name) != DEFAULT_COLUMNS.get(part, part)
        ]
    wanted = _InspectedColumns(
        results=_matching_columns(spelt, RESULT_NAMES)
        if form == PLAYER_PAIR and _needs_result(table.names, named, kind)
        else [],
        points=_point_columns(spelt, kind) if form == PLAYER_PAIR and _needs_result(table.names, named, kind) else [],
        times=_matching_columns(spelt, TIME_NAMES) if named["time"] is None else [],
        neutral=_matching_columns(spelt, NEUTRAL_NAMES)[:1]
        if kind is not None and kind.side and named["neutral"] is None
        else [],
        side=_matching_columns(spelt, SIDE_COLUMN_NAMES)[:1]
        if kind is not None and kind.won and named["side"] is None
        else [],
    )
    unsure = len(wanted.times) > 1 or any(_has_foreign_name(table.names, name) for name in wanted.times)
    unsure |= bool(wanted.times and taken)  # where others have names of their own, time may be something else
    sides: list[Any] = [named[part] or find_column(table.names, part) for part in form or ()][:2]
    points: tuple[str, ...] = ()
    seeks_score = form == PLAYER_PAIR and named["score"] is None and is_pair(named["margin"])
    doubtful = find_column(table.names, "score") if seeks_score else None
    if doubtful is not None:
        wanted = wanted._replace(results=[doubtful])
    columns = _load_inspected(table, wanted, unsure, sides)
    if doubtful is not None and columns and all(sides):
        column = replace_na_texts(columns[doubtful], na_values)
        if parse_results(doubtful, column, *(columns[name] for name in sides)) is None:
            named["score"] = False
            taken.append(f"nothing for the score, as {doubtful} has no results, and the points of both tell who won")
    elif (wanted.results or wanted.points) and columns and all(sides):  # else `roles_of` says what is missing
        result, points = _find_result(wanted, columns, [columns[name] for name in sides], na_values)
        if result is not None:
            named["score"] = result
            taken += [f"{result} for the score"] * (result != find_column(table.names, "score"))
        elif points:
            taken.append(f"{points[0]} and {points[1]} for the points of both, which tell who won")
    if kind is not None and kind.side and named["side"] is None and "a" not in table.names:
        named["side"] = "a"
    for name in wanted.neutral:
        if named["side"] == "a" and columns and _is_flag_column(name, columns[name]):
            named["neutral"] = name
            taken.append(f"{name} for neutral")
    for name in wanted.side:
        named["side"] = name
        taken.append(f"{name} for the side")
    timeless = False
    if unsure and columns:
        time = next((name for name in wanted.times if is_time_column(name, columns[name], dates)), None)
        plain = next((name for name in wanted.times if not _has_foreign_name(table.names, name)), None)
        if time is None and plain is not None:
            numbers = [
                x for x in wanted.times if not _has_foreign_name(table.names, x) and _is_numeric_column(x, columns[x])
            ]
            time = next(iter(numbers), None)
        named["time"], timeless = time, time is None
        if time is None and plain is not None:
            taken.append(f"nothing for the time, as {', '.join(map(str, wanted.times))} has no dates")
        elif time is not None and _has_foreign_name(table.names, time):
            taken.append(f"{time} for the time")
    unix = named["time"] is not None and bool(wanted.times) and _has_foreign_name(table.names, named["time"])
    return Recognition(named, _cache_columns(table, columns), points, timeless, unix, tuple(taken))


def time_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called as times are."""
    return [name for name in names if _letters_and_digits(name) in TIME_NAMES]


class _InspectedColumns(NamedTuple):
    """Columns whose values are looked at."""

    results: list[str]
    points: list[tuple[str, str]]
    times: list[str]
    neutral: list[str]
    side: list[str]


def _letters_and_digits(name: Any) -> str:
    """A name in lower case, without anything but letters and digits."""
    return "".join(x for x in str(name).casefold() if x.isalnum())


def _has_foreign_name(names: Sequence[str], name: str) -> bool:
    """Whether a column of time has none of the library's own names."""
    return name not in [find_column(names, key) for key in ("time", "date", "t")]


def _matching_columns(spelt: dict[str, str], names: Sequence[str]) -> list[str]:
    return [spelt[name] for name in names if name in spelt]


def _table_form(names: Sequence[str], named: dict[str, Any], upcoming: bool) -> tuple[str, ...] | None:
    """The form of a table whose players are named, or are called as the library calls them."""
    forms = [PLAYER_PAIR, CONTEST_PARTS] if upcoming else [WINNER_LOSER, PLAYER_PAIR, CONTEST_PARTS]
    for form in (WINNER_LOSER, PLAYER_PAIR, CONTEST_PARTS):
        if any(named[part] is not None for part in form):
            return form
    return next(
        (form for form in forms if all(find_column(names, DEFAULT_COLUMNS.get(part, part)) for part in form[:2])), None
    )


def _spelling_pairs(templates: Sequence[str], kind: SidesSpelling) -> Iterator[tuple[str, str]]:
    for template in templates:
        for first in kind.first:
            for second in kind.second:
                if template != "{}" or len(first) > 1 < len(second):
                    yield template.format(first), template.format(second)


def _player_columns(spelt: dict[str, str], upcoming: bool) -> tuple[SidesSpelling, tuple[str, str]] | None:
    """The columns of both sides; ValueError if several could be."""
    found = []
    for kind in SIDE_PAIRS:
        pairs = ((spelt[x], spelt[y]) for x, y in _spelling_pairs(NAME_TEMPLATES, kind) if x in spelt and y in spelt)
        if (pair := next(pairs, None)) is not None and not (kind.won and upcoming):
            found.append((kind, pair))
    played = [hit for hit in found if not hit[0].won] or found
    if len(played) > 1:
        said = ", or ".join(f"{x} and {y}" for _, (x, y) in played)
        raise ValueError(
            f"the players could be {said}; say which by the options a and b, as a={played[0][1][0]!r}, "
            f"b={played[0][1][1]!r}, or --a and --b on the command line"
        )
    return played[0] if played else None


def _contest_columns(
    names: Sequence[str], spelt: dict[str, str], named: dict[str, Any], form: tuple[str, ...] | None, upcoming: bool
) -> dict[str, str]:
    """The columns of contests that are not named; nothing if these are none, as far as their names tell."""
    found = {}
    for part, plain, spellings in (
        ("contest", ("contest",), CONTEST_NAMES),
        ("participant", ("player",), PARTICIPANT_NAMES),
        ("rank", ("rank", "score"), RANK_NAMES),
    ):
        if part == "rank" and (upcoming or named["score"]):
            continue
        if named[part] is not None or (form is not None and any(find_column(names, name) for name in plain)):
            continue
        found[part] = next(iter(_matching_columns(spelt, spellings)), None)
    return {} if None in found.values() else {part: str(name) for part, name in found.items()}


def _needs_result(names: Sequence[str], named: dict[str, Any], kind: SidesSpelling | None) -> bool:
    """Whether the result has to be sought: nothing names it, and no column of the library's name stands beside a, b."""
    return (
        named["score"] is None
        and not is_pair(named["margin"])
        and (kind is not None or find_column(names, "score") is None)
    )


def _point_columns(spelt: dict[str, str], kind: SidesSpelling | None) -> list[tuple[str, str]]:
    """Pairs of columns that are called as the points of both sides are."""
    kinds = [kind] if kind is not None else [x for x in SIDE_PAIRS if not x.won]
    pairs = [
        pair for x in kinds for pair in _spelling_pairs(POINT_TEMPLATES, x) if pair[0] in spelt and pair[1] in spelt
    ]
    return [(spelt[x], spelt[y]) for x, y in pairs]


def _load_inspected(
    table: TableSource, wanted: _InspectedColumns, unsure: bool, player_columns: list[Any]
) -> dict[str, Column]:
    """The columns to look at, of a single reading; none if nothing has to be looked at."""
    numbers = [*wanted.times, *(name for pair in wanted.points for name in pair), *wanted.neutral]
    text = [*filter(None, player_columns), *wanted.results, *wanted.side]
    if not (unsure or wanted.results or wanted.points or wanted.neutral or wanted.side):
        return {}
    names = list(dict.fromkeys([*text, *numbers]))
    if any(name not in table.names or table.names.count(name) > 1 for name in names):
        return {}
    loaded = table.load(names, text, numbers)
    return {name: to_column(name, loaded[name]) for name in names}


def _cache_columns(table: TableSource, columns: dict[str, Column]) -> TableSource:
    if not columns:
        return table

    def load(wanted: Sequence[str], text: Sequence[str], numbers: Sequence[str]) -> Any:
        others = [name for name in wanted if name not in columns]
        loaded = (
            table.load(others, [x for x in text if x in others], [x for x in numbers if x in others]) if others else {}
        )
        return columns | {name: loaded[name] for name in others}

    return table._replace(load=load)


def _find_result(
    wanted: _InspectedColumns, columns: dict[str, Column], player_columns: list[Column], na_values: Sequence[str]
) -> tuple[str | None, tuple[str, ...]]:
    """The column of results, or those of both sides' points."""
    empty: str | None = None
    for name in wanted.results:
        column = replace_na_texts(columns[name], na_values)
        if missing_mask(column, nan_is_missing=True).all():
            empty = empty or name
        elif parse_results(name, column, *player_columns) is not None:
            return name, ()
    good = [
        pair
        for pair in wanted.points
        if all(_is_numeric_column(x, replace_na_texts(columns[x], na_values)) for x in pair)
    ]
    full = [pair for pair in good if not all(missing_mask(columns[x], nan_is_missing=True).all() for x in pair)]
    if full or empty is None:
        return None, next(iter([*full, *good]), ())
    return empty, ()


def _is_numeric_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_numbers(name, column, default=np.nan)
        return True
    return False


def _is_flag_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_flags(name, column)
        return True
    return False
