"""Results as people write them: W, D and L, home and away, 1, X and 2, 2-1 in one cell, or the name of the winner."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import is_iterable
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import missing_mask, to_column, to_float_or_none, to_numbers
from jaxrate.data.column_spellings import SIDE_PAIRS, WINNER_NAME, normalise_column_name
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import fail_where

NA_VALUES = (
    "", "-", "*", "?", "NA", "<NA>", "N/A", "#N/A", "NaN", "NaT", "null", "None", r"\N", "P", "P-P", "PP", "Postp",
    "Postp.", "Postponed", "TBD", "TBA", "TBC", "0000-00-00", "NC", "NC/NC", "No contest", "No result", "N/R", "NR",
)  # fmt: skip
DRAW_WORDS = (
    "d", "draw", "drawn", "drew", "tie", "tied", "t", "x", "tiebothbad", "nowinner", "½", "halved", "level", "even",
    "stalemate", "remis", "unentschieden", "empate", "nul", "pareggio", "gelijk", "bothbad", "bothgood", "both",
    "neither", "equal", "same", "tieinconsistent",
)  # fmt: skip


class OutcomeWords(NamedTuple):
    """A notation of results: the words for a win of the first player, for one of the second, and for a draw."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    draw: tuple[str, ...] = DRAW_WORDS


OUTCOME_WORDS = (
    *(OutcomeWords(sides.first, sides.second) for sides in SIDE_PAIRS if sides.kind == "sides"),
    OutcomeWords(("w", "win", "won", "wins", "victory", "beat"), ("l", "loss", "lose", "lost", "defeat")),
    OutcomeWords(("wl", "winloss", "winlose"), ("lw", "losswin", "losewin"), ("dd", "drawdraw", "tt")),
    OutcomeWords(("a",), ("b",), (*DRAW_WORDS, "c")),  # as language models judge
    OutcomeWords(("true", "yes", "y"), ("false", "no", "n")),
    OutcomeWords(("1",), ("0",), ("½", "1/2", "0.5", "0,5")),
    OutcomeWords(("s", "sieg"), ("n", "niederlage"), ("u", "remis", "unentschieden")),
    OutcomeWords(("g", "ganado", "victoria"), ("p", "perdido", "derrota"), ("e", "empate", "empatado")),
    OutcomeWords(("v", "victoire", "vitória", "vittoria"), ("d", "p", "défaite", "derrota"), ("n", "e", "nul")),
)
NO_WINNER_WORDS = (
    *DRAW_WORDS,
    "no winner",
    "tie (bothbad)",
    "both_bad",
    "both bad",
    "both_equal",
)  # in place of the name of the winner
DRAW_PATTERN = r"½|1/2-1/2|\b(draw|drawn|drew|tie|tied|stalemate|remis|empate|unentschieden)\b"
TRUE_WORDS = "true", "yes", "y", "1", "1.0", *(word for word in DRAW_WORDS if word not in ("nul", "no"))
FALSE_WORDS = "false", "f", "no", "n", "0", "0.0", "", "na", "nan", "null", "none", "-"
FILLER_WORDS = (
    "the", "win", "wins", "won", "victory", "winner", "winning", "team", "side", "player", "model", "corner", "match",
    "game", "agreed", "for", "by", "of", "vote", "response", "answer", "output", "assistant", "is", "are", "better",
    "much", "slightly",
)  # fmt: skip
GLUED_FILLERS = "^(team|player|model)(?=.)|(?<=.)(wins?|won|victory|team|player|fighter|vote)$"  # as in "homewin"
SIDE_WORDS = {"h": 1.0, "home": 1.0, "a": -1.0, "away": -1.0, "v": -1.0, "visitor": -1.0, "n": 0.0, "neutral": 0.0}
NUMBER_PATTERN = r"\d+(?:\.\d+)?|½|1/2"
DASH = "[-:\u2013]"  # or a long one
SCORELINE_PATTERN = rf"^({NUMBER_PATTERN})\s*{DASH}\s*({NUMBER_PATTERN})\s*(?:\(.*\))?$"
SIGNED_NOTE = "as 1, 0 and -1 for win, draw and loss; if -1 says that there is no result, say na_values=['-1']"
SET_PATTERN = r"(\d+)\s*[-:/\u2013]\s*(\d+)"
SETS_NOTE = "as the sets of the first player and of the second"
WINNER_CODES: tuple[dict[int, float], ...] = (  # the score of the first player, by the number in a column of winners
    {1: 1.0, 2: 0.0},
    {1: 1.0, 2: 0.0, 0: 0.5},
    {0: 1.0, 1: 0.0},
    {0: 1.0, 1: 0.0, -1: 0.5},
    {0: 1.0, 1: 0.0, 2: 0.5},
    {1: 1.0, -1: 0.0},
    {1: 1.0, -1: 0.0, 0: 0.5},
)
MIN_READABLE_SHARE = 0.5  # of the rows, for a column to be one of results, whose other rows are mistakes


class ParsedResults(NamedTuple):
    """The results in a column."""

    score: HostArray  # [n] of the first player; NaN where there is no result, and where it cannot be read
    readable: HostArray  # [n] whether it can be read
    plain: bool  # whether they are numbers in [0, 1]
    note: str = ""  # on a notation that may mean something else


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


def _finite_numbers(values: Iterable[Any]) -> list[float]:
    """The values that are finite numbers, also as text."""
    numbers = []
    for value in values:
        with suppress(ValueError, TypeError):
            numbers.append(float(value))
    return list(filter(isfinite, numbers))


def _lower_and_trim(column: Column) -> Any:
    """Text in lower case, without blanks around it."""
    return import_pyarrow().compute.utf8_lower(import_pyarrow().compute.utf8_trim_whitespace(column))


def check_texts(argument: str, texts: Any) -> None:
    """ValueError unless these are texts."""
    if isinstance(texts, str) or not is_iterable(texts) or not all(isinstance(value, str) for value in texts):
        raise ValueError(f"{argument} must be a list of texts, got {format_value_for_error(texts)}")


def rank_unfinished_last(column: Column, unfinished: Sequence[str]) -> Column:
    """The column of ranks, with a rank behind all numbers of it where a text or number is one of `unfinished`."""
    texts, numbers = [value.strip().lower() for value in unfinished], _finite_numbers(unfinished)
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    is_last = [_is_na(value, texts, numbers) for value in values]
    others = [value for value, late in zip(values, is_last, strict=True) if not late]
    if len(others) == len(values):
        return column
    last = max(_finite_numbers(others), default=0.0) + 1.0
    rank = str(last) if str in map(type, others) else last
    return to_column("", [rank if late else value for value, late in zip(values, is_last, strict=True)])


def parse_results(name: str, column: Column, players: Mapping[str, Column]) -> ParsedResults | None:
    """The results in a column, by the notation that fits most rows; None if none fits half of them.

    Args:
      name: of the column.
      column: [n], missing where there is no result.
      players: the names of the first players and of the second, by the names of their columns.
    """
    present = ~missing_mask(column, nan_is_missing=True)
    best, least = None, max(MIN_READABLE_SHARE * np.count_nonzero(present), 1)
    for reading in _parse_by_each_notation(name, column, players):
        count = int(np.count_nonzero(reading.readable & present))
        if count >= least:
            best, least = reading, count + 1.0
        if count == np.count_nonzero(present):
            break
    return None if best is None else best._replace(readable=best.readable | ~present)


def _parse_by_each_notation(name: str, column: Column, players: Mapping[str, Column]) -> Iterator[ParsedResults]:
    """The results in a column by each notation that has some of them, the most usual first."""
    text = _lower_text_or_none(column)
    names = None if text is None else _parse_winner_names(text, *players.values())  # which may be numbers
    numbers = _parse_number_results(name, column)
    ways = [numbers if numbers is not None and numbers.plain else None, names]
    yield from filter(None, reversed(ways) if is_winner_column(name) else ways)
    if text is not None and not import_pyarrow().types.is_integer(column.type):
        cells = distinct_texts(text)
        yield from _parse_outcome_words(cells, [*players])
        yield _scores_of_cells(cells, _score_of_scoreline)
        yield from filter(None, [_parse_winner_names(_remove_words_of_winning(text), *players.values())])
        yield _scores_of_cells(cells, _score_of_sets)._replace(note=SETS_NOTE)
    yield from filter(None, [numbers])


def is_winner_column(name: str) -> bool:
    """Whether a column is called as one that says who won."""
    return re.search(WINNER_NAME, normalise_column_name(name)) is not None


def winner_code_readings(name: str, column: Column, players: Mapping[str, Column]) -> list[dict[int, float]]:
    """What the numbers in a column of winners may mean, each the score of the first player by number; [] of others."""
    text = _lower_text_or_none(column)
    names = None if text is None else _parse_winner_names(text, *players.values())
    present = ~missing_mask(column, nan_is_missing=True)
    if not is_winner_column(name) or not present.any() or (names is not None and names.readable[present].all()):
        return []
    with suppress(ValueError):
        values = {*np.unique(to_numbers(name, column, default=np.nan)[present]).tolist()}
        readings = [codes for codes in WINNER_CODES if values <= codes.keys()]
        return [codes for codes in readings if len(codes) == min(map(len, readings))]
    return []


def codes_to_scores(name: str, column: Column, codes: dict[int, float]) -> HostArray:
    """[n] the scores of the first player that numbers stand for; NaN where there is none."""
    numbers = to_numbers(name, column, default=np.nan)
    return np.select([numbers == code for code in codes], [*codes.values()], np.nan)


def result_column_to_scores(name: str, column: Column, players: Mapping[str, Column]) -> tuple[Column, str | None]:
    """The column of results as scores in [0, 1] of the first player, and a note on a notation that may mean another.

    Numbers in [0, 1] stay as they are.

    Raises:
      RowError: where a row is no result as the others are.
    """
    results = None if _are_numbers_in_unit_interval(column) else parse_results(name, column, players)
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
    return import_pyarrow().chunked_array([scores]), f"{name} {results.note}" if results.note else None


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
    """Scores in [0, 1], or 1, 0 and -1; of a column that names the winner, 1 to 2, or 0 for a draw."""
    values = np.full(len(column), np.nan)
    with suppress(ValueError):
        values = to_numbers(name, column, default=np.nan)
    present_values = values[~np.isnan(values)]
    if not len(present_values):
        return parse_partly_numeric_results(column)
    if ((present_values >= 0) & (present_values <= 1)).all():
        return ParsedResults(values, ~np.isnan(values), True)
    if np.isin(present_values, (-1.0, 0.0, 1.0)).all():
        return ParsedResults((values + 1) / 2, ~np.isnan(values), False, SIGNED_NOTE)
    if is_winner_column(name) and ((present_values == 0) | (np.abs(present_values - 1.5) <= 0.5)).all():
        return ParsedResults(np.where(values == 0, 0.5, 2.0 - values), ~np.isnan(values), False)
    return None


def parse_partly_numeric_results(column: Column) -> ParsedResults | None:
    """Text of which some rows are numbers; the others are not readable."""
    arrow = import_pyarrow()
    if isinstance(column, np.ndarray) or not arrow.types.is_large_string(column.type):
        return None
    number = arrow.compute.match_substring_regex(column, r"^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*$").fill_null(False)
    readable = np.asarray(number.to_numpy())
    return ParsedResults(np.full(len(column), np.nan), readable, True)


class DistinctTexts(NamedTuple):
    """The different texts in a column, and which of them each row has."""

    texts: list[str]
    codes: HostArray  # [n] their positions, -1 where there is none

    def map(self, function: Callable[[str], Any], missing: Any) -> HostArray:
        """[n] the value of a function of each text; `missing` where there is none."""
        return np.array([*map(function, self.texts), missing])[self.codes]


def distinct_texts(text: Any) -> DistinctTexts:
    """The different texts in an Arrow column."""
    codes = text.dictionary_encode().combine_chunks()
    index = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return DistinctTexts(codes.dictionary.to_pylist(), np.asarray(index))


def _scores_of_cells(cells: DistinctTexts, score_of_cell: Callable[[str], float]) -> ParsedResults:
    """The results of a notation; the score of a cell in another one is NaN."""
    score = cells.map(score_of_cell, np.nan)
    return ParsedResults(score, ~np.isnan(score), False)


def _parse_outcome_words(cells: DistinctTexts, player_columns: Sequence[str]) -> list[ParsedResults]:
    """Words for who has won, in each notation that has some of them: Home, home win, HOME_WIN.

    The notation in which the columns of the players are called comes first; where these are called the other way round,
    "home" is a win of the second player.
    """
    words = {cell: _outcome_word(cell) for cell in cells.texts}
    sides = [_outcome_word(str(name).lower()) for name in player_columns]
    results: list[ParsedResults] = []
    for first, second, draw in OUTCOME_WORDS:
        is_own, is_exchanged = (x in first and y in second for x, y in (sides, reversed(sides)))
        wins = (0.0, 1.0) if is_exchanged else (1.0, 0.0)
        scores = dict.fromkeys(draw, 0.5) | dict.fromkeys(second, wins[1]) | dict.fromkeys(first, wins[0])
        if not {*words.values()}.isdisjoint((*first, *second)):
            read = _scores_of_cells(cells, lambda cell: scores.get(words[cell], np.nan))  # noqa: B023
            results.insert(0 if is_own or is_exchanged else len(results), read)
    return results


def _outcome_word(cell: str) -> str:
    """The word that says who has won: "home" of "home win", "1" of "team_1"; "win" where there is no other."""
    if re.fullmatch(r"[-+\d.,/½]+", cell):
        return cell
    if verdict := re.fullmatch(r"\W*(\w+)\s*(>+|=+|<+)\s*(\w+)\W*", cell):  # as "A>>B"
        return {">": verdict[1], "<": verdict[3]}.get(verdict[2][0], "tie")
    parts = re.findall(r"[^\W_]+", cell)
    if "/" in cell and len(parts) == 2:
        return "".join(parts)
    word = "".join(re.sub(GLUED_FILLERS, "", part) for part in parts if part not in FILLER_WORDS)
    return word if word and parts[0] != "no" else "".join(parts)


def mentions_draw(column: Column) -> HostArray:
    """[n] whether a column of text has a word for a draw, as "Match drawn"."""
    text = _lower_text_or_none(column)
    if text is None:
        return np.zeros(len(column), bool)
    return distinct_texts(text).map(lambda cell: re.search(DRAW_PATTERN, cell) is not None, False)


def flags_of_draws(column: Column) -> HostArray | None:
    """[n] whether a match is drawn, of a column of flags: true, yes, 1, or a word for a draw; None of others."""
    text = _lower_text_or_none(column)
    if text is None:
        with suppress(ValueError):
            numbers = to_numbers("", column, default=0.0)
            return np.asarray(numbers == 1.0) if np.isin(numbers, (0.0, 1.0)).all() else None
        return None
    cells = distinct_texts(text)
    return cells.map(TRUE_WORDS.__contains__, False) if {*cells.texts} <= {*TRUE_WORDS, *FALSE_WORDS} else None


def draws_in_results(column: Column) -> HostArray:
    """[n] whether a match is drawn, of a column of results beside the winners: draw, 1/2-1/2, a score of 0.5."""
    text = _lower_text_or_none(column)
    if text is None:
        numbers = _parse_number_results("", column)
        return np.zeros(len(column), bool) if numbers is None else np.asarray(numbers.score == 0.5)
    cells, draws = distinct_texts(text), (*DRAW_WORDS, "1/2", "0.5")
    if {*map(_outcome_word, cells.texts)} <= {*chain(*chain(*OUTCOME_WORDS))}:
        return cells.map(lambda cell: _outcome_word(cell) in draws, False)
    return mentions_draw(column)


def _remove_words_of_winning(text: Any) -> Any:
    """The name of the winner, of texts such as "Ash won by 5 runs"."""
    return import_pyarrow().compute.replace_substring_regex(text, r"^(winner:?|win for) | (won|wins?|beat)\b.*$", "")


def _score_of_sets(cell: str) -> float:
    """The score of the first player in the sets of a cell; NaN if there is more than sets in it."""
    sets, others = re.findall(SET_PATTERN, cell := re.sub(r"\(.*?\)", "", cell)), re.sub(SET_PATTERN, "", cell)
    if not sets or re.search(r"[^\s,;|\[\]]", others):
        return np.nan
    return float(0.5 + 0.5 * np.sign(sum(np.sign(int(one) - int(two)) for one, two in sets)))


def _score_of_scoreline(cell: str) -> float:
    """The score of the first player by the points of both sides in a cell; NaN of other cells."""
    match = re.search(SCORELINE_PATTERN, cell)
    if match is None:
        return np.nan
    one, two = (0.5 if points in ("½", "1/2") else float(points) for points in match.groups())
    return float(0.5 + 0.5 * np.sign(one - two))


def _parse_winner_names(text: Any, first: Column, second: Column) -> ParsedResults | None:
    """The name of the winner, or a word for a draw."""
    arrow = import_pyarrow()
    names = [_lower_text_or_none(column) for column in (first, second)]
    if names[0] is None or names[1] is None:
        return None
    won, lost = (np.asarray(arrow.compute.equal(text, x).fill_null(False).to_numpy()) for x in names)
    if not (won | lost).any():
        return None
    is_drawn = arrow.compute.match_substring_regex(text, rf"^(match |game )?({DRAW_PATTERN})")
    is_word = arrow.compute.is_in(text, arrow.array(NO_WINNER_WORDS, arrow.large_string()))
    drawn = np.asarray(arrow.compute.or_(is_drawn, is_word).fill_null(False).to_numpy())
    score = np.where(won, 1.0, np.where(lost, 0.0, np.where(drawn, 0.5, np.nan)))
    return ParsedResults(score, ~np.isnan(score), False)
