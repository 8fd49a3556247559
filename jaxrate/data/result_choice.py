"""Which columns tell the results of matches, where several may: each is compared with the others."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, join_names
from jaxrate.data.candidate_columns import CandidateColumns, is_mostly_numeric, is_numeric_column
from jaxrate.data.column_conversion import missing_mask, to_numbers
from jaxrate.data.result_parsing import (
    SETS_NOTE,
    WINNER_CODES,
    ParsedResults,
    codes_to_scores,
    parse_results,
    replace_na_values,
    winner_code_readings,
)
from jaxrate.data.table_sources import Column, import_pyarrow

MAX_CONTRADICTIONS = 0.03  # share of the rows that is an error of some rows, and not of a column
MIN_AGREEMENT = 0.9  # share of the rows in which a reading agrees with the points
SCORE_CODES = {1: 1.0, 0: 0.0}


class ResultChoice(NamedTuple):
    """The columns that tell the results."""

    result: str | None = None
    points: tuple[str, ...] = ()  # of both sides, which tell the results
    scores: Column | None = None  # of the first players, if numbers stand for the winners
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
    return ResultChoice(name, scores=import_pyarrow().chunked_array([array]), notes=(note,))


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
