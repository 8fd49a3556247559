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
from types import MappingProxyType
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
    NAME_TEMPLATES,
    NEUTRAL_NAMES,
    PARTICIPANT_NAMES,
    POINT_TEMPLATES,
    RANK_NAMES,
    RESULT_NAMES,
    RESULT_TEMPLATES,
    SIDE_COLUMN_NAMES,
    SIDE_PAIRS,
    TIME_NAMES,
    Header,
    SidesSpelling,
    normalise_column_name,
    spell_pairs,
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
from jaxrate.data.role_resolution import choose_layout, default_column, find_own_column, is_margin_of_two_columns
from jaxrate.data.table_sources import Column, TableSource, find_column_ignoring_case, import_pyarrow

SIDE_NOTE = ", the first of whom has the side"


class ColumnsRecognisedWarning(UserWarning):
    """Which columns were recognised, and as what."""


class CandidateColumns(NamedTuple):
    """Columns whose values are looked at."""

    results: Sequence[str] = ()
    points: Sequence[tuple[str, str]] = ()
    goals: Sequence[tuple[str, str]] = ()  # of the points, those of the match itself for sure
    times: Sequence[str] = ()
    neutral: Sequence[str] = ()
    side: Sequence[str] = ()


class RoleSearch(NamedTuple):
    """What is known of the roles; arguments and notes are added as columns are found."""

    table: TableSource  # at the end one that does not load again what was inspected
    header: Header
    arguments: dict[str, Any]
    notes: list[str]
    upcoming: bool
    layout: tuple[str, ...] | None = None  # the roles of the players
    sides: SidesSpelling | None = None  # how both sides are called, if they were recognised
    candidates: CandidateColumns = CandidateColumns()
    columns: Mapping[str, Column] = MappingProxyType({})  # the candidates and the players; none if nothing is open
    values: Mapping[str, Column] = MappingProxyType({})  # the same, missing where a text says so
    points: tuple[str, ...] = ()  # the columns of each side's points, which tell the result
    timeless: bool = False  # whether no column of time holds times
    unused_neutral: str | None = None  # the column that says that there are sides, where nobody has the side
    winner_codes: dict[int, float] | None = None  # the scores that numbers in the column of results stand for

    @property
    def players(self) -> list[Any]:
        """The columns of both players, or of contest and participant; None for one that is not there."""
        roles = (self.layout or ())[:2]
        return [self.arguments[role] or find_column_ignoring_case(self.header.names, role) for role in roles]

    @property
    def player_values(self) -> dict[str, Column]:
        """The names of both players, by column."""
        return {name: self.columns[name] for name in self.players}

    @property
    def kind(self) -> str:
        """What both sides are, by how they are called; none if they were not recognised."""
        return "" if self.sides is None else self.sides.kind

    @property
    def first_has_side(self) -> bool:
        """Whether the first player has an advantage, by how both are called."""
        return self.sides is not None and self.sides.side

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
        is_open = self.layout == PLAYER_PAIR and self.arguments["score"] is None and not self.has_margin_of_both
        return is_open and (self.sides is not None or self.own_score is None)


def recognise_columns(
    table: TableSource, arguments: dict[str, Any], upcoming: bool, dates: str | None, na_values: Sequence[str]
) -> RoleSearch:
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
    search = RoleSearch(table, Header.of_columns(table.names), dict(arguments), [], upcoming)
    search = load_candidates(recognise_pairs_in_cells(recognise_players(search)), na_values)
    choice = recognise_result(search)
    unused_neutral = recognise_side(search)
    timeless = recognise_time(search, dates)
    columns = dict(search.columns)
    if choice.codes is not None:
        scores = codes_to_scores(str(choice.result), search.values[str(choice.result)], choice.codes)
        columns[str(choice.result)] = import_pyarrow().chunked_array([import_pyarrow().array(scores, from_pandas=True)])
    return search._replace(
        table=table_with_loaded_columns(search.table, columns),
        columns={},
        values={},
        points=choice.points,
        timeless=timeless,
        unused_neutral=unused_neutral,
        winner_codes=choice.codes,
    )


def recognise_players(search: RoleSearch) -> RoleSearch:
    """With the roles of the players and how both sides are called; adds their columns to the arguments."""
    header, arguments = search.header, search.arguments
    layout = choose_layout(header.names, arguments, search.upcoming)
    contest_columns = _contest_columns(search, layout)
    match = player_columns(header, bool(contest_columns) and not search.upcoming) if layout is None else None
    if match is None:
        arguments |= contest_columns
        renamed = [role for role, x in contest_columns.items() if normalise_column_name(x) != default_column(role)]
        search.notes.extend(f"{contest_columns[role]} for the {role}" for role in renamed)
        return search._replace(layout=CONTEST_ROLES if contest_columns else layout)
    sides, pair = match
    layout = WINNER_LOSER if sides.kind == "winner" and not search.upcoming else PLAYER_PAIR
    arguments |= dict(zip(layout, pair, strict=True))
    home = SIDE_NOTE if sides.side and arguments["side"] in (None, "a") else ""
    search.notes.append(f"{pair[0]} and {pair[1]} for {layout[0]} and {layout[1]}{home}")
    return search._replace(layout=layout, sides=sides)


def player_columns(header: Header, has_contests: bool = False) -> tuple[SidesSpelling, tuple[str, str]] | None:
    """The columns of both sides; ValueError if several could be. In tables of contests opponents are no sides."""
    matches: dict[tuple[str, str], SidesSpelling] = {}
    for sides in SIDE_PAIRS:
        for pair in header.pairs(NAME_TEMPLATES, sides)[:1]:
            matches.setdefault(pair, sides)
    for kind in ("sides", "winner", *(() if has_contests else ("own",))):
        pairs = [pair for pair, sides in matches.items() if sides.kind == kind]
        if len(pairs) > 1:
            candidates, (a, b) = ", or ".join(f"{x} and {y}" for x, y in pairs), pairs[0]
            raise ValueError(f"the players could be {candidates}; say which, as a={a!r}, b={b!r}")
        if pairs:
            return matches[pairs[0]], pairs[0]
    return None


CONTEST_SPELLINGS = {  # how columns of contests are spelt, and the library's own names of them
    "contest": (CONTEST_NAMES, ("contest",)),
    "participant": (PARTICIPANT_NAMES, ("player",)),
    "rank": (RANK_NAMES, ("rank", "score")),
}


def _contest_columns(search: RoleSearch, layout: tuple[str, ...] | None) -> dict[str, str]:
    """The columns of contests that are not named; nothing if these are none, as far as their names tell."""
    header, arguments = search.header, search.arguments
    columns = {}
    for role, (spellings, own_names) in CONTEST_SPELLINGS.items() if layout in (None, CONTEST_ROLES) else ():
        is_named = arguments[role] is not None or (role == "rank" and (search.upcoming or arguments["score"]))
        has_own = layout is not None and any(find_column_ignoring_case(header.names, name) for name in own_names)
        if not (is_named or has_own):
            columns[role] = next(iter(header.columns(spellings)), None)
    return {role: str(name) for role, name in columns.items()} if None not in columns.values() else {}


def load_candidates(search: RoleSearch, na_values: Sequence[str]) -> RoleSearch:
    """With the columns whose names leave their roles open, and the players, of a single reading of the table."""
    table, players = search.table, search.players
    candidates = _result_candidates(search)._replace(
        times=_time_candidates(search), neutral=_neutral_candidates(search), side=_side_candidates(search)
    )
    text = [*filter(None, players), *candidates.results, *candidates.side]
    names = list(dict.fromkeys([*text, *candidates.times, *chain(*candidates.points), *candidates.neutral]))
    if not any(candidates) or any(table.names.count(name) != 1 for name in names):
        return search._replace(candidates=candidates)
    loaded = table.load(names, text)
    columns = {name: to_column(name, loaded[name]) for name in names}
    values = {name: replace_na_values(column, na_values) for name, column in columns.items()}
    return search._replace(candidates=candidates, columns=columns, values=values)


def _time_candidates(search: RoleSearch) -> list[str]:
    """The columns that are called as times are, if there are several, or one that may be something else."""
    times = search.header.columns(TIME_NAMES) if search.arguments["time"] is None else []
    is_sure = len(times) == 1 and not search.notes and times == [find_own_column(search.header.names, "time")]
    return [] if is_sure else times


def _neutral_candidates(search: RoleSearch) -> list[str]:
    is_open = search.layout == PLAYER_PAIR and search.arguments["side"] is None and not search.upcoming
    return search.header.columns(NEUTRAL_NAMES)[: is_open or search.first_has_side]


def _side_candidates(search: RoleSearch) -> list[str]:
    is_open = search.kind == "winner" and search.arguments["side"] is None and not search.upcoming
    return search.header.columns(SIDE_COLUMN_NAMES)[:is_open]


def _result_candidates(search: RoleSearch) -> CandidateColumns:
    """The columns of results, the pairs of points, and those of them that are goals, which may tell who won."""
    header, arguments = search.header, search.arguments
    if search.layout != PLAYER_PAIR or arguments["score"] is not None:
        return CandidateColumns()
    if search.has_margin_of_both:
        results = header.columns(RESULT_NAMES) if search.own_score is None else [search.own_score]
        pairs = [tuple(arguments["margin"])] if {*arguments["margin"]} <= {*header.names} else []
        return CandidateColumns(results, pairs)
    if not search.needs_result:
        return CandidateColumns()
    spellings = [x for x in SIDE_PAIRS if x.kind != "winner"] if search.sides is None else [search.sides]
    goals = header.points(GOAL_TEMPLATES, spellings)
    points = header.points((*POINT_TEMPLATES, *COUNT_TEMPLATES), spellings)
    others = {*as_column_list(arguments["a"]), *as_column_list(arguments["b"]), *chain(*goals)}
    results = [*header.columns(RESULT_NAMES), *_results_of_first_side(header, spellings)]
    return CandidateColumns([name for name in results if name not in others], points, goals)


def _results_of_first_side(header: Header, spellings: Sequence[SidesSpelling]) -> list[str]:
    """Columns that say whether the first side has won, if the second has none: a pair holds points.

    Wins beside losses are counts.
    """
    pairs = [*(pair for sides in spellings for pair in spell_pairs(RESULT_TEMPLATES, sides)), ("wins", "losses")]
    counts = {first for first, second in pairs if second in header.by_spelling}
    return header.columns(first for first in dict.fromkeys(first for first, _ in pairs[:-1]) if first not in counts)


def table_with_loaded_columns(table: TableSource, columns: dict[str, Column]) -> TableSource:
    if not columns:
        return table

    def load(wanted: Sequence[str], text: Sequence[str] = ()) -> Any:
        others = [name for name in wanted if name not in columns]
        loaded = table.load(others, text) if others else {}
        return columns | {name: loaded[name] for name in others}

    return table._replace(load=load)


def is_numeric_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_numbers(name, column, default=np.nan)
        return True
    return False


def numeric_share(column: Column) -> float:
    """The share of the rows with a value that are numbers; 1 if none has a value."""
    if is_numeric_column("", column):
        return 1.0
    present = ~missing_mask(column, nan_is_missing=True)
    if isinstance(column, np.ndarray):
        return float(np.mean([to_float_or_none(value) is not None for value in column[present]]))
    partly = parse_partly_numeric_results(column)
    return 0.0 if partly is None else float(partly.readable[present].mean())


def is_flag_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_flags(name, column)
        return True
    return False


def missing_score_message(table: TableSource, known: Sequence[Any]) -> str:
    """What to name where no column of a table has the result of its matches; `known` columns have other roles."""
    others = [name for name in table.names if name not in known and table.names.count(name) == 1]
    loaded = table.load(others)
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


def recognise_pairs_in_cells(search: RoleSearch) -> RoleSearch:
    """With columns for both names in the cells of one, if nothing else tells the players and there is such a column."""
    split = split_pairs_column(search.table) if search.layout is None else None
    if split is None:
        return search
    table, (name, *pair) = split
    search.arguments.update(zip(PLAYER_PAIR, pair, strict=True))
    search.notes.append(f"the two names in {name} for a and b")
    return search._replace(table=table, header=Header.of_columns(table.names), layout=PLAYER_PAIR)


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

    def load(wanted: Sequence[str], text: Sequence[str] = ()) -> Any:
        others = [x for x in wanted if x not in parts]
        is_split = len(others) < len(wanted)
        sources = [*others, *([name] if is_split and name not in others else [])]
        loaded = table.load(sources, [*text, name])
        columns = {x: loaded[x] for x in others}
        if is_split:
            fields = import_pyarrow().compute.extract_regex(to_column(name, loaded[name]), pattern)
            columns |= {x: import_pyarrow().compute.struct_field(fields, [parts[x]]) for x in wanted if x in parts}
        return columns

    return table._replace(names=[*table.names, *parts], load=load)


MAX_CONTRADICTIONS = 0.03  # share of the rows that is an error of some rows, and not of a column
MIN_AGREEMENT = 0.9  # share of the rows in which a reading agrees with the points
SCORE_CODES = {1: 1.0, 0: 0.0}


class ResultChoice(NamedTuple):
    """The columns that tell the results."""

    result: str | None = None
    points: tuple[str, ...] = ()  # of both sides, which tell the results
    codes: dict[int, float] | None = None  # the scores of the first players that numbers stand for
    notes: tuple[str, ...] = ()


def recognise_result(search: RoleSearch) -> ResultChoice:
    """The columns that tell the results; puts that of the score into the arguments.

    Raises:
      ValueError: if nothing tells the results of matches that need them.
    """
    choice, candidates = ResultChoice(), search.candidates
    can_be_read = bool(search.columns) and None not in search.players  # else `resolve_roles` says what is missing
    if can_be_read and search.has_margin_of_both:
        _compare_results_with_margin(search)
    elif can_be_read and (candidates.results or candidates.points):
        choice = choose_result(candidates, search.values, search.player_values)
        search.arguments["score"] = choice.result
        search.notes.extend(note for note in choice.notes if note != f"{search.own_score} for the score")
    check_result(search, choice)
    return choice


def check_result(search: RoleSearch, choice: ResultChoice) -> None:
    """ValueError if nothing tells the results of matches that need them."""
    is_known = choice.points or search.own_score is not None or search.upcoming
    if search.needs_result and not is_known and {*search.players} <= {*search.header.names}:
        named = [name for value in search.arguments.values() for name in as_column_list(value)]
        known = [*search.players, *named, *time_columns(search.header.names)]
        raise ValueError(missing_score_message(search.table, known))


def _compare_results_with_margin(search: RoleSearch) -> None:
    """Notes which columns of results the named points of both overrule, as they have no results or contradict them."""
    candidates, own_score = search.candidates, search.own_score
    parsed = {name: parse_results(name, search.values[name], search.player_values) for name in candidates.results}
    if parsed.get(str(own_score), True) is None:
        search.arguments["score"] = False
        text = "nothing for the score, as {} has no results, and the points of both tell who won"
        search.notes.append(text.format(own_score))
    lead = np.zeros(0) if own_score is not None else _sign_of_lead(tuple(*candidates.points), search.values)
    for name, results in parsed.items():
        if results is not None and (bad := _contradictions(results, lead)).mean() > MAX_CONTRADICTIONS:
            search.notes.append(_describe_preferred_points(name, candidates.points[0], bad))


def choose_result(
    candidates: CandidateColumns, values: Mapping[str, Column], players: Mapping[str, Column]
) -> ResultChoice:
    """The column of results, or those of both sides' points.

    Args:
      candidates: the columns that may be these.
      values: those of columns, by name; missing where a text says that there is none.
      players: the names of the first players and of the second, by the names of their columns.

    Raises:
      ValueError: if a column can be read in two ways, and the others do not say which is right.
    """
    points = _choose_points(candidates.points, values)
    names = [*candidates.results, *(pair[0] for pair in candidates.points if not points)]  # W and L of both sides
    parsed = {name: parse_results(name, values[name], players) for name in names}
    readings = {name: results for name, results in parsed.items() if results is not None}
    if not readings:
        empty = next((name for name in candidates.results if _is_empty(values[name])), None)
        return _choose_points_or_empty_results(points, empty, values)
    name = min(readings, key=lambda name: readings[name].note == SETS_NOTE)  # sets may be a winner's
    lead = _sign_of_lead(points, values) if points in candidates.goals else np.zeros(0)
    if codes := winner_code_readings(name, values[name], players):
        return _choose_winner_codes(name, values[name], codes, lead, [*players])
    return _settle_contradictions(name, points, readings, lead)


def _choose_points_or_empty_results(
    points: tuple[str, ...], empty: str | None, values: Mapping[str, Column]
) -> ResultChoice:
    """The points of both, or a column of results without a value if there are no points either."""
    if empty is not None and all(_is_empty(values[name]) for name in points):
        return ResultChoice(empty, notes=(f"{empty} for the score",))
    if not points:
        return ResultChoice()
    return ResultChoice(points=points, notes=(f"{' and '.join(points)} for the points of both, which tell who won",))


def _is_empty(column: Column) -> bool:
    return bool(missing_mask(column, nan_is_missing=True).all())


def _choose_points(pairs: Sequence[tuple[str, str]], values: Mapping[str, Column]) -> tuple[str, ...]:
    """The pair of columns that holds points most surely, the first of those that do so alike; () if none does."""
    qualities = [_points_quality(pair, values) for pair in pairs]
    best = max(qualities, default=0)
    return pairs[qualities.index(best)] if best else ()


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
    if not points or not all(is_numeric_column(name, values[name]) for name in points):
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
    return ResultChoice(name, codes=codes, notes=(note,))


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
        return ResultChoice(name, notes=(f"{name} for the score",))
    x, y = points
    count = f"in {np.count_nonzero(bad):,} of {format_count(len(bad), 'row')}"
    is_rare = np.count_nonzero(bad) < 2 or bad.mean() <= MAX_CONTRADICTIONS
    if not is_rare and any(_contradictions(other, lead).mean() <= MAX_CONTRADICTIONS for other in others):
        return ResultChoice(points=points, notes=(_describe_preferred_points(name, points, bad),))
    if is_rare or any(_do_agree(other, results) for other in others):
        return ResultChoice(name, notes=(f"{name} for the score, though {x} and {y} contradict it {count}",))
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


def recognise_side(search: RoleSearch) -> str | None:
    """Puts who has the side, and where nobody has, into the arguments; a column of neutral ground that is not used."""
    arguments, notes, columns = search.arguments, search.notes, search.columns
    if search.first_has_side and arguments["side"] is None and "a" not in search.header.names:
        arguments["side"] = "a"
    for name in search.candidates.side:
        arguments["side"] = name
        notes.append(f"{name} for the side")
    is_open = arguments["neutral"] is None and arguments["side"] in ("a", None)
    neutral = search.candidates.neutral if is_open else ()
    for name in (x for x in neutral if x in columns and is_flag_column(x, columns[x])):
        if arguments["side"] is None:
            return name
        arguments["neutral"] = name
        notes.append(f"{name} for neutral")
    return None


def recognise_time(search: RoleSearch, dates: str | None) -> bool:
    """Puts the column that holds times into the arguments; whether columns are called so, and none holds times."""
    columns = {name: search.values[name] for name in search.candidates.times if name in search.values}
    if not columns:
        return False
    own = _own_time_columns(search.header.names)
    dated = [name for name, column in columns.items() if is_time_column(name, column, dates)]
    numbers = [name for name, column in columns.items() if name in own and is_numeric_column(name, column)]
    time = search.arguments["time"] = next(iter([*dated, *numbers]), None)
    if time not in (None, *own):
        search.notes.append(f"{time} for the time")
    if time is None and not {*own}.isdisjoint(columns):
        search.notes.append(f"nothing for the time, as {', '.join(map(str, columns))} has no dates")
    return time is None


def _own_time_columns(names: Sequence[Any]) -> list[Any]:
    return [find_column_ignoring_case(names, name) for name in COLUMN_ROLES["time"].default]


def time_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called as times are."""
    return [name for name in names if normalise_column_name(name) in TIME_NAMES]
