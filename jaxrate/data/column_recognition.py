"""The roles of columns by the names that people give them, and by what they hold.

Names are compared in lower case, by letters and digits alone: `Home_Team` is `hometeam`. Columns that options name come
first, then those of the library's own names (a and b, winner and loser, contest and player, score, time), and only for
what is left these spellings.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_count, join_names
from jaxrate.data.column_conversion import missing_mask, to_column, to_flags, to_float_or_none, to_numbers
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
from jaxrate.data.result_parsing import (
    MIN_READABLE_SHARE,
    SETS_NOTE,
    WINNER_CODES,
    ParsedResults,
    codes_to_scores,
    parse_partly_numeric_results,
    parse_results,
    replace_na_values,
    winner_code_readings,
)
from jaxrate.data.role_resolution import default_column, is_margin_of_two_columns
from jaxrate.data.table_sources import Column, TableSource, find_column_ignoring_case, import_pyarrow


class CandidateColumns(NamedTuple):
    """Columns whose values are looked at."""

    results: list[str]
    points: list[tuple[str, str]]
    goals: list[tuple[str, str]]  # of the points, those of the match itself for sure
    times: list[str]
    neutral: list[str]
    side: list[str]


def load_columns_to_inspect(
    table: TableSource, inspected: CandidateColumns, unsure: bool, player_columns: list[Any]
) -> dict[str, Column]:
    """The columns to look at, of a single reading; none if nothing has to be looked at."""
    numbers = [*inspected.times, *(name for pair in inspected.points for name in pair), *inspected.neutral]
    text = [*filter(None, player_columns), *inspected.results, *inspected.side]
    if not (unsure or inspected.results or inspected.points or inspected.neutral or inspected.side):
        return {}
    names = list(dict.fromkeys([*text, *numbers]))
    if any(name not in table.names or table.names.count(name) > 1 for name in names):
        return {}
    loaded = table.load(names, text, numbers)
    return {name: to_column(name, loaded[name]) for name in names}


def table_with_loaded_columns(table: TableSource, columns: dict[str, Column]) -> TableSource:
    if not columns:
        return table

    def load(wanted: Sequence[str], text: Sequence[str], numbers: Sequence[str]) -> Any:
        others = [name for name in wanted if name not in columns]
        loaded = (
            table.load(others, [x for x in text if x in others], [x for x in numbers if x in others]) if others else {}
        )
        return columns | {name: loaded[name] for name in others}

    return table._replace(load=load)


def is_numeric_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_numbers(name, column, default=np.nan)
        return True
    return False


def is_mostly_numeric(column: Column, na_values: Sequence[str]) -> bool:
    """Whether at least `MIN_READABLE_SHARE` of the rows that are not missing are numbers."""
    column = replace_na_values(column, na_values)
    if is_numeric_column("", column):
        return True
    present = ~missing_mask(column, nan_is_missing=True)
    if isinstance(column, np.ndarray):
        readable = np.array([to_float_or_none(value) is not None for value in column])
    elif (partly := parse_partly_numeric_results(column)) is not None:
        readable = partly.readable
    else:
        return False
    return bool(np.count_nonzero(readable & present) >= max(MIN_READABLE_SHARE * np.count_nonzero(present), 1))


def is_flag_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_flags(name, column)
        return True
    return False


def missing_score_message(table: TableSource, known: Sequence[Any]) -> str:
    """What to name where no column of a table has the result of its matches; `known` columns have other roles."""
    others = [name for name in table.names if name not in known and table.names.count(name) == 1]
    loaded = table.load(others, [], others)
    numeric = [name for name in others if is_numeric_column(name, to_column(name, loaded[name]))]
    if len(numeric) == 2:
        x, y = numeric
        hint = f"; if {x} and {y} are the points of both, name them as margin=[{x!r}, {y!r}]"
    else:
        hint = did_you_mean_suffix("score", others) if len(numeric) < 2 else ""
        hint = hint or "; name that of the results as score, or those of the points of both as margin"
    return f"no column 'score'{hint} (there are: {', '.join(map(str, table.names))})"


def date_columns(table: TableSource, used: Collection[str], dates: str | None) -> list[str]:
    """The columns, other than those used, that hold dates, as far as their first values tell; of numbers none."""
    arrow, names = import_pyarrow(), []
    unused = [name for name in table.names if name not in used and table.names.count(name) == 1]
    for name, values in table.first_values(unused).items() if unused else ():
        with suppress(ValueError):
            column = to_column(name, values)
            if isinstance(column, np.ndarray) or not len(column := column.drop_null()):
                continue
            kinds, first = arrow.types, column[0].as_py()
            is_text = kinds.is_large_string(column.type) and not first.strip().isdecimal()
            if (is_text or kinds.is_date(column.type) or kinds.is_timestamp(column.type)) and is_time_column(
                name, column, dates
            ):
                names.append(name)
    return names


MAX_CONTRADICTIONS = 0.03  # share of the rows that is an error of some rows, and not of a column
MIN_AGREEMENT = 0.9  # share of the rows in which a reading agrees with the points
SCORE_CODES = {1: 1.0, 0: 0.0}


class ResultChoice(NamedTuple):
    """The columns that tell the results."""

    result: str | None = None
    points: tuple[str, ...] = ()  # of both sides, which tell the results
    scores: Column | None = None  # of the first players, if numbers stand for the winners
    codes: dict[int, float] | None = None  # the scores that these numbers stand for
    notes: tuple[str, ...] = ()


def choose_result(
    inspected: CandidateColumns, columns: Mapping[str, Column], players: Mapping[str, Column], na_values: Sequence[str]
) -> ResultChoice:
    """The column of results, or those of both sides' points.

    Args:
      inspected: the columns that may be these.
      columns: their values.
      players: the names of the first players and of the second, by the names of their columns.
      na_values: as in `read`.

    Raises:
      ValueError: if a column can be read in two ways, and the others do not say which is right.
    """
    points = _choose_points(inspected.points, columns, na_values)
    names = [*inspected.results, *(pair[0] for pair in inspected.points if not points)]  # W and L of both sides
    cleaned = {name: replace_na_values(columns[name], na_values) for name in names}
    filled = {name: x for name, x in cleaned.items() if not missing_mask(x, nan_is_missing=True).all()}
    parsed = {name: parse_results(name, column, players) for name, column in filled.items()}
    candidates = {name: results for name, results in parsed.items() if results is not None}
    result = min(
        candidates, key=lambda name: candidates[name].note == SETS_NOTE, default=None
    )  # sets may be a winner's
    if result is None:
        empty = next((name for name in inspected.results if name not in filled), None)
        is_empty = all(missing_mask(columns[x], nan_is_missing=True).all() for x in points)
        if not points or (is_empty and empty is not None):
            return ResultChoice(empty, notes=(f"{empty} for the score",) * (empty is not None))
        return ResultChoice(
            points=points, notes=(f"{' and '.join(points)} for the points of both, which tell who won",)
        )
    lead = _sign_of_lead(points, columns, na_values) if points in inspected.goals else np.zeros(0)
    if readings := winner_code_readings(result, filled[result], players):
        return _choose_winner_codes(result, filled[result], readings, lead, [*players])
    others = [other for name, other in candidates.items() if name != result]
    return _settle_contradictions(result, points, candidates[result], others, lead)


def describe_contradicting_results(
    inspected: CandidateColumns, columns: Mapping[str, Column], players: Mapping[str, Column], na_values: Sequence[str]
) -> list[str]:
    """Which columns of results contradict the points of both sides, which tell who won, in more than a few rows."""
    lead, notes = _sign_of_lead(inspected.points[0], columns, na_values), list[str]()
    for name in inspected.results if lead.any() else ():
        results = parse_results(name, replace_na_values(columns[name], na_values), players)
        if results is not None and (bad := _contradictions(results, lead)).mean() > MAX_CONTRADICTIONS:
            notes.append(_describe_preferred_points(name, inspected.points[0], bad))
    return notes


def _describe_preferred_points(name: str, points: tuple[str, ...], bad: HostArray) -> str:
    count = f"{np.count_nonzero(bad):,} of {format_count(len(bad), 'row')}"
    text = "for the points of both, which tell who won, and not"
    return f"{join_names(points)} {text} {name}, which contradicts them in {count}"


def _choose_points(
    pairs: Sequence[tuple[str, str]], columns: Mapping[str, Column], na_values: Sequence[str]
) -> tuple[str, ...]:
    """The first pair of columns that holds numbers; full ones come first, and those with mistakes last."""
    cleaned = {name: replace_na_values(columns[name], na_values) for pair in pairs for name in pair}
    numeric = [pair for pair in pairs if all(is_numeric_column(x, cleaned[x]) for x in pair)]
    full = [pair for pair in numeric if not all(missing_mask(columns[x], nan_is_missing=True).all() for x in pair)]
    mostly = (pair for pair in pairs if all(is_mostly_numeric(columns[x], na_values) for x in pair))
    return next(iter([*full, *numeric, *mostly]), ())


def _sign_of_lead(points: tuple[str, ...], columns: Mapping[str, Column], na_values: Sequence[str]) -> HostArray:
    """[n] 1 where the first player has more points, -1 where the second has; 0 where neither has, or none are known."""
    cleaned = [replace_na_values(columns[name], na_values) for name in points]
    if not points or not all(is_numeric_column("", column) for column in cleaned):
        return np.zeros(0)
    first, second = (to_numbers("", column, default=np.nan) for column in cleaned)
    return np.nan_to_num(np.sign(first - second))


def _choose_winner_codes(
    name: str, column: Column, readings: list[dict[int, float]], lead: HostArray, players: Sequence[str]
) -> ResultChoice:
    """The scores of a column of winners in numbers, by the reading that agrees with the points, or the only one."""
    if lead.any():
        all_readings = [codes for codes in (*WINNER_CODES, SCORE_CODES) if readings[0].keys() <= codes.keys()]
        agreement = {i: _agreement(codes_to_scores(name, column, codes), lead) for i, codes in enumerate(all_readings)}
        best = max(agreement, key=lambda i: agreement[i])
        readings = [all_readings[best]] if agreement[best] >= MIN_AGREEMENT else readings
    if len(readings) > 1:
        both = "; or ".join(_describe_codes(codes, players) for codes in readings)
        raise ValueError(
            f"column {name!r} can be read in two ways: {both}. Write the names of the winners, or {players[0]}, "
            f"{players[1]} and draw, in place of the numbers"
        )
    codes = readings[0]
    if codes == WINNER_CODES[0]:
        return ResultChoice(name, notes=(f"{name} for the score",))
    scores = codes_to_scores(name, column, codes)
    note = f"{name} for the score, where {_describe_codes(codes, players)}"
    if codes == WINNER_CODES[2] and not lead.any():
        note += f"; if it is 1 where {players[0]} won, say score={name!r}"
    array = import_pyarrow().array(scores, mask=np.isnan(scores))
    return ResultChoice(name, scores=import_pyarrow().chunked_array([array]), codes=codes, notes=(note,))


def _agreement(scores: HostArray, lead: HostArray) -> float:
    """The share of the rows with a winner by points in which the scores say the same."""
    rows = (lead != 0) & ~np.isnan(scores)
    return float(np.mean(np.sign(scores - 0.5)[rows] == lead[rows])) if rows.any() else 0.0


def _describe_codes(codes: Mapping[int, float], players: Sequence[str]) -> str:
    meanings = {1.0: f"a win of {players[0]}", 0.0: f"one of {players[1]}", 0.5: "a draw"}
    return join_names([f"{code} is {meanings[score]}" for code, score in codes.items()])


def _settle_contradictions(
    name: str, points: tuple[str, ...], results: ParsedResults, others: Sequence[ParsedResults], lead: HostArray
) -> ResultChoice:
    """The column of results, or the points that contradict it where a third column agrees with them."""
    chosen = ResultChoice(name, notes=(f"{name} for the score",))
    bad = _contradictions(results, lead)
    if not bad.any():
        return chosen
    x, y = points
    count = f"in {np.count_nonzero(bad):,} of {format_count(len(bad), 'row')}"
    told = chosen._replace(notes=(f"{name} for the score, though {x} and {y} contradict it {count}",))
    if np.count_nonzero(bad) < 2 or bad.mean() <= MAX_CONTRADICTIONS:
        return told
    if any(_contradictions(other, lead).mean() <= MAX_CONTRADICTIONS for other in others):
        return ResultChoice(points=points, notes=(_describe_preferred_points(name, points, bad),))
    if any(_do_agree(other, results) for other in others):
        return told
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


VERSUS = r"vs?\.?|versus|against|@|gegen|contre|contra"
DASHES = "[-\u2013\u2014]"
PAIR_NAMES = r"match(up|es)?|game|fixture|bout|fight|teams|players|pairing|opponents|meeting|encounter"


def split_pairs_column(table: TableSource) -> tuple[TableSource, tuple[str, str, str]] | None:
    """The table with two columns for one whose cells name both players, and the names of that and of these two.

    "Ada vs. Bo" tells of any column, and "Ada - Bo" of one that is called as matches are.
    """
    names = [name for name in table.names if table.names.count(name) == 1]
    first_values = table.first_values(names)
    for name in names:
        with suppress(ValueError):
            column = to_column(str(name), first_values.get(name, []))
            pattern = _pair_pattern(name)
            if _is_text(column) and len(column) and all(re.match(pattern, cell or "") for cell in column.to_pylist()):
                return _append_split_columns(table, name, pattern), (name, f"{name} (1)", f"{name} (2)")
    return None


def _pair_pattern(name: str) -> str:
    is_match = re.fullmatch(PAIR_NAMES, normalise_column_name(name)) is not None
    separator = f"{VERSUS}|{DASHES}" if is_match else VERSUS
    return rf"(?i)^\s*(?P<one>.+?)\s+(?:{separator})\s+(?P<two>.+?)\s*$"


def _is_text(column: Column) -> bool:
    return not isinstance(column, np.ndarray) and import_pyarrow().types.is_large_string(column.type)


def _append_split_columns(table: TableSource, name: str, pattern: str) -> TableSource:
    parts = {f"{name} (1)": "one", f"{name} (2)": "two"}

    def load(wanted: Sequence[str], text: Sequence[str], numbers: Sequence[str]) -> Any:
        others = [x for x in wanted if x not in parts]
        is_split = len(others) < len(wanted)
        sources = [*others, *([name] if is_split and name not in others else [])]
        loaded = table.load(sources, [*text, *([name] if is_split else [])], numbers)
        columns = {x: loaded[x] for x in others}
        if is_split:
            fields = import_pyarrow().compute.extract_regex(to_column(name, loaded[name]), pattern)
            columns |= {x: import_pyarrow().compute.struct_field(fields, [parts[x]]) for x in wanted if x in parts}
        return columns

    return table._replace(names=[*table.names, *parts], load=load)


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
    winner_codes: dict[int, float] | None = None  # the scores that numbers in the column of results stand for


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
        choice.codes,
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
