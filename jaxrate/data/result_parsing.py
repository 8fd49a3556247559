"""Results as people write them: W, D and L, home and away, 1, X and 2, 2-1 in one cell, or the name of the winner."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import is_iterable
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import (
    DistinctCells,
    cell_number,
    cell_text,
    cell_value,
    distinct_cells,
    distinct_texts,
    fail_at_cells,
    is_numeric,
    is_text,
    missing_mask,
    null_where,
    numbers_or_nan,
    to_column,
    to_numbers,
    to_values,
)
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
DRAWN_MATCH_PATTERN = rf"(match |game )?({DRAW_PATTERN})"
WORDS_OF_WINNING = r"^(winner:?|win for) | (won|wins?|beat)\b.*$"  # beside a name, as "Ash won by 5 runs"
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
PLACE_PATTERN = r"[=t]?\s*-?\s*(\d+)\s*(?:st|nd|rd|th)?\s*[=t]?"  # with marks of a tie
TIME_PATTERN = r"(?=.*[:.])(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d+)?)"  # hours, minutes and seconds, or some of these
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
    plain: bool = False  # whether they are numbers in [0, 1]
    note: str = ""  # on a notation that may mean something else


def check_texts(argument: str, texts: Any) -> None:
    """ValueError unless these are texts."""
    if isinstance(texts, str) or not is_iterable(texts) or not all(isinstance(value, str) for value in texts):
        raise ValueError(f"{argument} must be a list of texts, got {format_value_for_error(texts)}")


def mask_of_texts(column: Column, texts: Iterable[str]) -> HostArray:
    """[n] where a cell is one of some texts, or the number that one says; case and blanks around it do not matter."""
    words, numbers = {*map(cell_text, texts)}, [x for x in map(cell_number, texts) if x is not None and isfinite(x)]
    if is_numeric(column) and numbers:
        return np.isin(numbers_or_nan(column), numbers)
    if not is_text(column):
        return np.zeros(len(column), bool)
    return distinct_cells(column).map(lambda text: cell_text(text) in words, False)


def replace_na_values(column: Column, na_values: Sequence[str] = ()) -> Column:
    """The column of results, null where a text or number says that there is none."""
    return null_where(column, mask_of_texts(column, (*NA_VALUES, *na_values)))


def _place_in_cell(value: Any) -> float | None:
    """The place in a cell, as T2, =2, 2= and 2nd say it."""
    match = re.fullmatch(PLACE_PATTERN, cell_text(value))
    return None if match is None else float(match[1])


def _seconds_in_cell(value: Any) -> float | None:
    """The seconds of a time in a cell, as 34:02 and 1:02:33.5 say it."""
    match = re.fullmatch(TIME_PATTERN, cell_text(value))
    return None if match is None else float(np.dot([float(part or 0) for part in match.groups()], (3600, 60, 1)))


RANK_NOTATIONS = (
    (cell_number, ""),
    (_place_in_cell, "as places, as {}"),
    (_seconds_in_cell, "as times, as {}, of which the shortest is the best (gaps to the first are none)"),
)


def parse_contest_results(
    name: str, column: Column, na_values: Sequence[str], unfinished: Sequence[str], ranked: bool
) -> tuple[Column, str | None]:
    """The results of participants of contests, and a note on their notation; what that of most does not say stays.

    Ranks become numbers. Those who are `unfinished`, as a text or number says, have a rank behind all others. Those
    with one of `na_values` have no result.
    """
    column = null_where(column, mask_of_texts(column, na_values))
    is_last = mask_of_texts(column, unfinished)
    if not ranked or (is_numeric(column) and not is_last.any()):
        return column, None
    cells = distinct_cells(column)
    readings = [np.where(is_last, np.nan, cells.map(read, np.nan)) for read, _ in RANK_NOTATIONS]
    best = int(np.argmin([np.count_nonzero(np.isnan(ranks)) for ranks in readings]))
    if best == 0 and not is_last.any():
        return column, None
    ranks = readings[best]
    example = cell_value(column, int(np.argmax(np.isnan(readings[0]) & ~np.isnan(ranks))))
    note = f"{name} {RANK_NOTATIONS[best][1].format(example)}" if best else None
    ranks = np.where(is_last, ranks[np.isfinite(ranks)].max(initial=0.0) + 1.0, ranks)
    values = [value if np.isnan(rank) else rank for value, rank in zip(to_values(column), ranks.tolist(), strict=True)]
    return to_column(name, values), note


def parse_results(name: str, column: Column, players: Mapping[str, Column]) -> ParsedResults | None:
    """The results in a column, by the notation that fits most rows; None if none fits half of them.

    Args:
      name: of the column.
      column: [n], missing where there is no result.
      players: the names of the first players and of the second, by the names of their columns.
    """
    num_present = np.count_nonzero(~missing_mask(column))
    best, least = None, max(MIN_READABLE_SHARE * num_present, 1.0)
    for results in _parse_by_each_notation(name, column, players):
        count = int(np.count_nonzero(~np.isnan(results.score)))
        if count >= least:
            best, least = results, count + 1.0
        if count == num_present:
            break
    return best


def _parse_by_each_notation(name: str, column: Column, players: Mapping[str, Column]) -> Iterator[ParsedResults]:
    """The results in a column by each notation that has some of them, the most usual first."""
    numbers = _parse_number_results(name, column)
    plain = [results for results in numbers if results.plain]
    if not is_winner_column(name):
        yield from plain
    if is_numeric(column) and not import_pyarrow().types.is_integer(column.type):
        yield from numbers  # which name nobody
        return
    values = distinct_cells(column)
    cells = values.merge(cell_text)
    yield from _parse_winner_names(cells, players)
    yield from plain
    if any(isinstance(value, str) for value in values.values):
        yield from _parse_outcome_words(cells, [*players])
        yield ParsedResults(cells.map(_score_of_scoreline, np.nan))
        yield from _parse_winner_names(cells.merge(lambda cell: re.sub(WORDS_OF_WINNING, "", cell)), players)
        yield ParsedResults(cells.map(_score_of_sets, np.nan), note=SETS_NOTE)
    yield from numbers


def is_winner_column(name: str) -> bool:
    """Whether a column is called as one that says who won."""
    return re.search(WINNER_NAME, normalise_column_name(name)) is not None


def winner_code_readings(name: str, column: Column, players: Mapping[str, Column]) -> list[dict[int, float]]:
    """What the numbers in a column of winners may mean, each the score of the first player by number; [] of others."""
    present = ~missing_mask(column)
    if not is_winner_column(name) or not present.any():
        return []
    cells = distinct_texts(column)
    are_names = any(not np.isnan(x.score[present]).any() for x in _parse_winner_names(cells, players))
    if are_names or {*cells.values} <= {"true", "false"}:
        return []
    values = {*np.unique(numbers_or_nan(column)[present]).tolist()}
    readings = [codes for codes in WINNER_CODES if values <= codes.keys()]
    return [codes for codes in readings if len(codes) == min(map(len, readings))]


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
    results = parse_results(name, column, players)
    if results is None or results.plain:
        return column, None
    fail_where(
        np.isnan(results.score) & ~missing_mask(column),
        lambda row: (
            f"column {name!r} is {format_value_for_error(cell_value(column, row))}, no result as the others are; "
            f"if it means that there is none, say na_values=[{format_value_for_error(str(cell_value(column, row)))}]"
        ),
    )
    scores = import_pyarrow().array(results.score, from_pandas=True)
    return import_pyarrow().chunked_array([scores]), f"{name} {results.note}" if results.note else None


def to_sides(name: str, column: Column) -> HostArray:
    """[n] sides in [-1, 1], of numbers or of H, A and N from the view of the first player, or the winner."""
    sides = np.full(len(column), np.nan) if is_numeric(column) else distinct_texts(column).map(SIDE_WORDS.get, np.nan)
    if np.isnan(sides).all():
        return to_numbers(name, column)
    fail_at_cells(np.isnan(sides), name, column, "expected H, A or N, or 1, -1 or 0")
    return sides


def _parse_number_results(name: str, column: Column) -> list[ParsedResults]:
    """Scores in [0, 1], or 1, 0 and -1; of a column that names the winner, 1 to 2, or 0 for a draw; [] of others.

    Where some cells are no numbers, the others are taken for scores.
    """
    values = numbers_or_nan(column)
    is_number = ~np.isnan(values)
    numbers = values[is_number]
    has_others = len(numbers) < np.count_nonzero(~missing_mask(column))
    if has_others or ((numbers >= 0) & (numbers <= 1)).all():
        return [ParsedResults(values, plain=True)] if len(numbers) else []
    if np.isin(numbers, (-1.0, 0.0, 1.0)).all():
        return [ParsedResults((values + 1) / 2, note=SIGNED_NOTE)]
    if is_winner_column(name) and ((numbers == 0) | (np.abs(numbers - 1.5) <= 0.5)).all():
        return [ParsedResults(np.where(values == 0, 0.5, 2.0 - values))]
    return []


def _parse_outcome_words(cells: DistinctCells, player_columns: Sequence[str]) -> list[ParsedResults]:
    """Words for who has won, in each notation that has some of them: Home, home win, HOME_WIN.

    The notation in which the columns of the players are called comes first; where these are called the other way round,
    "home" is a win of the second player.
    """
    words = cells.merge(_outcome_word)
    sides = [_outcome_word(str(name).lower()) for name in player_columns]
    results: list[ParsedResults] = []
    for first, second, draw in OUTCOME_WORDS:
        is_own, is_exchanged = (x in first and y in second for x, y in (sides, reversed(sides)))
        wins = (0.0, 1.0) if is_exchanged else (1.0, 0.0)
        scores = dict.fromkeys(draw, 0.5) | dict.fromkeys(second, wins[1]) | dict.fromkeys(first, wins[0])
        if not {*words.values}.isdisjoint((*first, *second)):
            results.insert(0 if is_own or is_exchanged else len(results), ParsedResults(words.map(scores.get, np.nan)))
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


def _parse_winner_names(cells: DistinctCells, players: Mapping[str, Column]) -> list[ParsedResults]:
    """The name of the winner, or a word for a draw; [] where no cell names a player of its match."""
    positions = {text: position for position, text in enumerate(cells.values)}
    names = [distinct_texts(column).map(lambda text: positions.get(text, -2), -2) for column in players.values()]
    won, lost = (position == cells.codes for position in names)
    drawn = cells.map(lambda text: text in NO_WINNER_WORDS or re.match(DRAWN_MATCH_PATTERN, text) is not None, False)
    score = np.select([won, lost, drawn], [1.0, 0.0, 0.5], np.nan)
    return [ParsedResults(score)] if (won | lost).any() else []


def mentions_draw(column: Column) -> HostArray:
    """[n] whether a column of text has a word for a draw, as "Match drawn"."""
    if not is_text(column):
        return np.zeros(len(column), bool)
    return distinct_texts(column).map(lambda cell: re.search(DRAW_PATTERN, cell) is not None, False)


def flags_of_draws(column: Column) -> HostArray:
    """[n] whether a match is drawn, of a column of flags: true, yes, 1 or a word for a draw, beside false or 0."""
    cells = distinct_texts(column)
    is_flag = {*cells.values} <= {*TRUE_WORDS, *FALSE_WORDS}
    return cells.map(lambda text: is_flag and text in TRUE_WORDS, False)


def draws_in_results(column: Column) -> HostArray:
    """[n] whether a match is drawn, of a column of results beside the winners: draw, 1/2-1/2, a score of 0.5."""
    if is_numeric(column):
        scores = [results.score for results in _parse_number_results("", column)]
        return np.asarray(scores[0] == 0.5) if scores else np.zeros(len(column), bool)
    words, draws = distinct_texts(column).merge(_outcome_word), (*DRAW_WORDS, "1/2", "0.5")
    if {*words.values} <= {*chain(*chain(*OUTCOME_WORDS))}:
        return words.map(draws.__contains__, False)
    return mentions_draw(column)
