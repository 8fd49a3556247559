"""Results as people write them: W, D and L, home and away, 1, X and 2, 2-1 in one cell, or the name of the winner."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from jaxrate.argument_checks import is_iterable
from jaxrate.array_types import HostArray
from jaxrate.data.column_conversion import missing_mask, to_float_or_none, to_numbers
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import fail_where
from jaxrate.text_format import format_value_for_error

NA_VALUES: tuple[str, ...] = (
    "",
    "-",
    "*",
    "?",
    "NA",
    "N/A",
    "NaN",
    "null",
    "None",
    r"\N",
    "P",
    "P-P",
    "PP",
    "Postp",
    "Postp.",
)
NA_VALUES += ("Postponed", "TBD")
DRAW_WORDS = ("d", "draw", "drawn", "tie", "tied", "t", "x", "tie (bothbad)", "no winner")
WIN_LOSS_WORDS = (  # for a win of the first player, and of the second
    ("h", "a"), ("home", "away"), ("home", "visitor"), ("w", "l"), ("win", "loss"), ("win", "lose"), ("won", "lost"),
    ("white", "black"), ("w", "b"), ("1", "2"), ("blue", "red"), ("radiant", "dire"), ("team1", "team2"),
    ("team 1", "team 2"), ("team_1", "team_2"), ("player1", "player2"), ("player 1", "player 2"),
    ("player_1", "player_2"), ("a", "b"), ("model_a", "model_b"), ("team_a", "team_b"), ("player_a", "player_b"),
    ("true", "false"), ("yes", "no"),
)  # fmt: skip
SIDE_WORDS = {"h": 1.0, "home": 1.0, "a": -1.0, "away": -1.0, "v": -1.0, "visitor": -1.0, "n": 0.0, "neutral": 0.0}
NUMBER_PATTERN = r"\d+(?:\.\d+)?|½|1/2"
DASH = "[-:\u2013]"  # or a long one
SCORELINE_PATTERN = rf"^(?P<one>{NUMBER_PATTERN})\s*{DASH}\s*(?P<two>{NUMBER_PATTERN})\s*(?:\(.*\))?$"
SIGNED_NOTE = "as 1, 0 and -1 for win, draw and loss ; if -1 says that there is no result, say na_values=['-1']"
MIN_READABLE_SHARE = 0.5  # of the rows, for a column to be one of results, whose other rows are mistakes


class ParsedResults(NamedTuple):
    """The results in a column."""

    score: HostArray  # [n] of the first player; NaN where there is no result, and where it cannot be read
    readable: HostArray  # [n] whether it can be read
    plain: bool  # whether they are numbers in [0, 1]
    signed: bool = False  # whether they are 1, 0 and -1


def replace_na_values(column: Column, na_values: Iterable[str] = ()) -> Column:
    """The column of results, null where a text says that there is none; case and blanks around it do not matter.

    Numbers are null where one of `na_values` is the same number.
    """
    arrow = import_pyarrow()
    na_texts = sorted({value.strip().lower() for value in (*NA_VALUES, *na_values)})
    na_numbers = _finite_numbers(na_values)
    if isinstance(column, np.ndarray):
        values = [None if _is_na(x, na_texts, na_numbers) else x for x in column.tolist()]
        return np.fromiter(values, dtype=object, count=len(values))
    if any(getattr(arrow.types, f"is_{kind}")(column.type) for kind in ("integer", "floating", "decimal")):
        if not na_numbers:
            return column
        is_na = arrow.compute.is_in(column.cast(arrow.float64(), safe=False), arrow.array(na_numbers, arrow.float64()))
    elif arrow.types.is_large_string(column.type):
        is_na = arrow.compute.is_in(_lower_and_trim(column), arrow.array(na_texts, arrow.large_string()))
    else:
        return column
    return arrow.compute.if_else(is_na, arrow.scalar(None, column.type), column)


def _is_na(value: Any, na_texts: Sequence[str], na_numbers: Sequence[float]) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in na_texts
    return not isinstance(value, bool) and to_float_or_none(value) in na_numbers


def _finite_numbers(texts: Iterable[str]) -> list[float]:
    """The texts that are finite numbers, as numbers."""
    numbers = []
    for text in texts:
        with suppress(ValueError):
            numbers.append(float(text))
    return list(filter(isfinite, numbers))


def _lower_and_trim(column: Column) -> Any:
    """Text in lower case, without blanks around it."""
    return import_pyarrow().compute.utf8_lower(import_pyarrow().compute.utf8_trim_whitespace(column))


def check_texts(argument: str, texts: Any) -> None:
    """ValueError unless these are texts."""
    if isinstance(texts, str) or not is_iterable(texts) or not all(isinstance(value, str) for value in texts):
        raise ValueError(f"{argument} must be a list of texts, got {format_value_for_error(texts)}")


def rank_unfinished_last(column: Column, unfinished: Sequence[str]) -> Column:
    """The column of ranks, with a rank behind all numbers of it where a text is one of `unfinished`."""
    arrow = import_pyarrow()
    texts = sorted({value.strip().lower() for value in unfinished})
    if isinstance(column, np.ndarray):
        is_last = np.array([isinstance(x, str) and x.strip().lower() in texts for x in column.tolist()], bool)
    elif arrow.types.is_large_string(column.type):
        is_last = np.asarray(arrow.compute.is_in(_lower_and_trim(column), arrow.array(texts, arrow.large_string())))
    else:
        return column  # of numbers
    numbers = column if isinstance(column, np.ndarray) else np.array(column.to_pylist(), object)
    finite = [x for x in map(_to_rank, numbers[~is_last].tolist()) if x is not None]
    last = max(finite, default=0.0) + 1.0
    if isinstance(column, np.ndarray):
        return np.array([last if late else x for x, late in zip(column.tolist(), is_last, strict=True)], object)
    return arrow.compute.if_else(arrow.array(is_last), arrow.scalar(repr(last), column.type), column)


def _to_rank(value: Any) -> float | None:
    """A number, also as text; None for what is none."""
    with suppress(ValueError, TypeError):
        return float(value) if isfinite(float(value)) else None
    return None


def parse_results(name: str, column: Column, first: Column, second: Column) -> ParsedResults | None:
    """The results in a column, by the notation that fits most rows; None if none fits half of them.

    Args:
      name: of the column, for messages.
      column: [n], missing where there is no result.
      first, second: the names of both players.
    """
    present = ~missing_mask(column, nan_is_missing=True)
    numbers = _parse_number_results(name, column)
    if numbers is not None and numbers.plain and numbers.readable[present].all():
        return numbers._replace(readable=numbers.readable | ~present) if present.any() else None
    text = _lower_text_or_none(column)
    candidates = [numbers if numbers is not None and numbers.plain else None]
    if text is not None:
        text_results = (
            []
            if import_pyarrow().types.is_integer(column.type)
            else [*_parse_outcome_words(text), _scores_from_scorelines(text)]
        )
        candidates += [_parse_winner_names(text, first, second), *text_results]  # names may be numbers
    candidates.append(numbers)
    best = max(filter(None, candidates), key=lambda way: np.count_nonzero(way.readable & present), default=None)
    if best is None or np.count_nonzero(best.readable & present) < max(
        MIN_READABLE_SHARE * np.count_nonzero(present), 1
    ):
        return None
    return best._replace(readable=best.readable | ~present)


def result_column_to_scores(name: str, column: Column, first: Column, second: Column) -> tuple[Column, str | None]:
    """The column of results as scores in [0, 1] of the first player, and a note on a notation that may mean another.

    Numbers in [0, 1] stay as they are.

    Raises:
      RowError: where a row is no result as the others are.
    """
    results = None if _are_numbers_in_unit_interval(column) else parse_results(name, column, first, second)
    if results is None or results.plain:
        return column, None
    fail_where(
        ~results.readable,
        lambda row: (
            f"column {name!r} is {format_value_for_error(_cell_value(column, row))}, no result as the others "
            f"are; if it means that there is none, say na_values=[{str(_cell_value(column, row))!r}]"
        ),
    )
    scores = import_pyarrow().array(results.score, mask=np.isnan(results.score))
    return import_pyarrow().chunked_array([scores]), f"{name} {SIGNED_NOTE}" if results.signed else None


def _are_numbers_in_unit_interval(column: Column) -> bool:
    """Whether these are numbers from 0 to 1, by their range alone."""
    arrow = import_pyarrow()
    if isinstance(column, np.ndarray) or not (
        arrow.types.is_floating(column.type) or arrow.types.is_integer(column.type)
    ):
        return False
    ends = arrow.compute.min_max(column).as_py()
    return ends["min"] is not None and bool(0 <= ends["min"] <= ends["max"] <= 1)


def to_sides(name: str, column: Column) -> HostArray:
    """[n] sides in [-1, 1], of numbers or of H, A and N from the view of the first player, or the winner."""
    arrow = import_pyarrow()
    if isinstance(column, np.ndarray) or not arrow.types.is_large_string(column.type):
        return to_numbers(name, column)
    positions = arrow.compute.index_in(_lower_and_trim(column), arrow.array([*SIDE_WORDS], arrow.large_string()))
    index = np.asarray(positions.fill_null(-1).to_numpy())
    return to_numbers(name, column) if (index < 0).all() else _sides_from_home_away_words(name, column, index)


def _sides_from_home_away_words(name: str, column: Column, word_index: HostArray) -> HostArray:
    fail_where(
        word_index < 0,
        lambda row: (
            f"column {name!r} is {format_value_for_error(_cell_value(column, row))}, expected H, A or N, or 1, -1 or 0"
        ),
    )
    return np.array([*SIDE_WORDS.values()])[word_index]


def _cell_value(column: Column, row: int) -> Any:
    return column[row] if isinstance(column, np.ndarray) else column[row].as_py()


def _lower_text_or_none(column: Column) -> Any:
    """Text in lower case; None of a column that holds something else."""
    arrow = import_pyarrow()
    if isinstance(column, np.ndarray):
        return None
    kinds = arrow.types
    if kinds.is_boolean(column.type) or kinds.is_integer(column.type) or kinds.is_time(column.type):
        column = column.cast(arrow.large_string())
    return _lower_and_trim(column) if kinds.is_large_string(column.type) else None


def _parse_number_results(name: str, column: Column) -> ParsedResults | None:
    """Scores in [0, 1], or 1, 0 and -1; of a column that names the winner, 1 and 2."""
    values = np.full(len(column), np.nan)
    with suppress(ValueError):
        values = to_numbers(name, column, default=np.nan)
    present_values = values[~np.isnan(values)]
    if not len(present_values):
        return parse_partly_numeric_results(column)
    if ((present_values >= 0) & (present_values <= 1)).all():
        return ParsedResults(values, ~np.isnan(values), True)
    if np.isin(present_values, (-1.0, 0.0, 1.0)).all():
        return ParsedResults((values + 1) / 2, ~np.isnan(values), False, signed=True)
    if "win" in name.lower() and np.isin(present_values, (1.0, 2.0)).all():
        return ParsedResults(2.0 - values, ~np.isnan(values), False)
    return None


def parse_partly_numeric_results(column: Column) -> ParsedResults | None:
    """Text of which some rows are numbers; the others are not readable."""
    arrow = import_pyarrow()
    if isinstance(column, np.ndarray) or not arrow.types.is_large_string(column.type):
        return None
    number = arrow.compute.match_substring_regex(column, r"^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*$").fill_null(False)
    readable = np.asarray(number.to_numpy())
    return ParsedResults(np.full(len(column), np.nan), readable, True)


def _parse_outcome_words(text: Any) -> list[ParsedResults]:
    """Words for who has won."""
    results = []
    for pair in WIN_LOSS_WORDS:
        values = import_pyarrow().array([*pair, *DRAW_WORDS], import_pyarrow().large_string())
        index = np.asarray(import_pyarrow().compute.index_in(text, values).fill_null(-1).to_numpy())
        if (index >= 0).any() and ((index == 0) | (index == 1)).any():
            score = np.where(index < 0, np.nan, np.where(index == 0, 1.0, np.where(index == 1, 0.0, 0.5)))
            results.append(ParsedResults(score, index >= 0, False))
    return results


def _scores_from_scorelines(text: Any) -> ParsedResults | None:
    """The points of both sides in one cell."""
    arrow = import_pyarrow()
    fields = arrow.compute.extract_regex(text, SCORELINE_PATTERN)
    points = []
    for name in ("one", "two"):
        half = arrow.compute.replace_substring_regex(arrow.compute.struct_field(fields, [name]), "^(½|1/2)$", "0.5")
        points.append(np.asarray(half.cast(arrow.float64()).to_numpy()))
    score = 0.5 + 0.5 * np.sign(points[0] - points[1])
    return ParsedResults(score, ~np.isnan(score), False)


def _parse_winner_names(text: Any, first: Column, second: Column) -> ParsedResults | None:
    """The name of the winner, or a word for a draw."""
    arrow = import_pyarrow()
    names = [_lower_text_or_none(column) for column in (first, second)]
    if names[0] is None or names[1] is None:
        return None
    won, lost = (np.asarray(arrow.compute.equal(text, x).fill_null(False).to_numpy()) for x in names)
    if not (won | lost).any():
        return None
    drawn = np.asarray(arrow.compute.is_in(text, arrow.array(DRAW_WORDS, arrow.large_string())).to_numpy())
    score = np.where(won, 1.0, np.where(lost, 0.0, np.where(drawn, 0.5, np.nan)))
    return ParsedResults(score, ~np.isnan(score), False)
