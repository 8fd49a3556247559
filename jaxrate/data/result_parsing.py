"""Results as people write them: W, D and L, home and away, 1, X and 2, 2-1 in one cell, or the name of the winner."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, product
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
    distinct_texts,
    fail_at_cells,
    is_numeric,
    is_text,
    missing_mask,
    null_where,
    numbers_or_nan,
    text_mask,
    to_column,
    to_numbers,
    to_values,
)
from jaxrate.data.column_spellings import SIDE_PAIRS, WINNER_NAME, Header, normalise_column_name
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import fail_where

UNPLAYED_WORDS = (  # which say that a match was not played, and will not be
    "NC", "NC/NC", "No contest", "No_contest", "No result", "N/R", "NR", "W/O", "WO", "w.o.", "walkover", "walk over",
    "walk-over", "walk_over", "cancelled", "canceled", "canc", "bye", "abgesagt", "ausgefallen", "annulé", "kampflos",
    "forfeit", "forfeited", "forfait", "awarded", "awd", "no show", "no-show", "no_show", "void", "abandoned", "abd",
)  # fmt: skip
NA_VALUES = (
    *UNPLAYED_WORDS,
    "", "-", "--", "-:-", "- : -", "*", "?", "NA", "<NA>", "N/A", "#N/A", "NaN", "NaT", "null", "None", r"\N", "P",
    "P-P", "PP", "Postp", "Postp.", "Postponed", "TBD", "TBA", "TBC", "0000-00-00", "RET", "ret.", "unknown", "+:-",
    "-:+", "+ - -", "- - +", "+--", "--+", "1-0F", "0-1F", "0-0F", "W:FF", "FF:W", "W-FF", "FF-W", "abgebrochen",
    "verlegt", "reporté", "aplazado", "suspendido",
)  # fmt: skip
RESULTS_BESIDE = {"-": "+", "p": "g"}  # texts that are results where a column has another one, and else say none
IN_PLAY_WORDS = (  # without blanks, of a column that says how far a match is
    "1h", "2h", "ht", "1st", "2nd", "q1", "q2", "q3", "q4", "1sthalf", "2ndhalf", "halftime", "half-time", "live",
    "playing", "inplay", "inprogress", "paused",
)  # fmt: skip
DRAW_WORDS = (
    "d", "draw", "drawn", "drew", "tie", "tied", "t", "x", "tiebothbad", "nowinner", "½", "halved", "level", "even",
    "stalemate", "remis", "unentschieden", "empate", "nul", "pareggio", "gelijk", "bothbad", "bothgood", "both",
    "neither", "equal", "same", "tieinconsistent", "agreed", "jigo", "=",
)  # fmt: skip


class OutcomeWords(NamedTuple):
    """A notation of results: the words for a win of the first player, for one of the second, and for a draw."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    draw: tuple[str, ...] = DRAW_WORDS


def _add_words_of_wins(names: Sequence[str]) -> tuple[str, ...]:
    """The names of a side, with those of its win: h, hw, wh."""
    return tuple(word for name in names for word in (name, f"{name}w", f"w{name}"))


WINS_AND_LOSSES = OutcomeWords(
    ("w", "win", "won", "wins", "victory", "beat", "otw", "sow"),
    ("l", "loss", "lose", "lost", "defeat", "otl", "sol", "checkmated", "resigned", "timeout"),
    (*DRAW_WORDS, "repetition", "insufficient", "timevsinsufficient", "50move"),
)
FLAGS = OutcomeWords(("true", "yes", "y"), ("false", "no", "n"))
OUTCOME_WORDS = (
    *(
        OutcomeWords(_add_words_of_wins(sides.first), _add_words_of_wins(sides.second))
        for sides in SIDE_PAIRS
        if sides.kind in ("sides", "debate")
    ),
    WINS_AND_LOSSES,
    OutcomeWords(("wl", "winloss", "winlose"), ("lw", "losswin", "losewin"), ("dd", "drawdraw", "tt")),
    OutcomeWords(("a",), ("b",), (*DRAW_WORDS, "c")),  # as language models judge
    FLAGS,
    OutcomeWords(("1",), ("0",), ("½", "1/2", "0.5", "0,5", "=")),
    OutcomeWords(("s", "sieg"), ("n", "niederlage"), ("u", "remis", "unentschieden")),
    OutcomeWords(("+",), ("-",)),
    OutcomeWords(
        ("g", "ganado", "victoria"), ("p", "perdido", "derrota", "perdu"), ("e", "empate", "empatado", "n", "nul")
    ),
    OutcomeWords(("v", "victoire", "vitória", "vittoria"), ("d", "p", "défaite", "derrota"), ("n", "e", "nul")),
)
# in place of the name of the winner
NO_WINNER_WORDS = *DRAW_WORDS, "no winner", "tie (bothbad)", "both_bad", "both bad", "both_equal"
DRAW_PATTERN = r"½|1/2-1/2|\b(draw|drawn|drew|tie|tied|stalemate|remis|empate|unentschieden)\b"
DRAWN_MATCH_PATTERN = rf"((match|game|majority|split|unanimous|technical) )?({DRAW_PATTERN})"
DRAWN_MANNER = rf"^{DRAWN_MATCH_PATTERN}\s*($|[(,])"  # as "Draw (majority)"
DRAW_OR_EQUAL_POINTS = rf"{DRAW_PATTERN}|^\s*(?P<points>\d+)\s*[-:\u2013]\s*(?P=points)\s*$"  # as 1-1
WORDS_OF_WINNING = r"^(winner:?|win for) | (won|wins?|beat)\b.*$"  # beside a name, as "Ash won by 5 runs"
TRUE_WORDS = "true", "yes", "y", "ja", "oui", "si", "sí", "1", "1.0", *(word for word in DRAW_WORDS if word != "nul")
FALSE_WORDS = "false", "f", "no", "n", "nein", "non", "0", "0.0", "", "na", "nan", "null", "none", "-"
FILLER_WORDS = (
    "the", "win", "wins", "won", "victory", "winner", "winning", "team", "side", "player", "model", "corner", "match",
    "game", "agreed", "for", "by", "of", "vote", "response", "answer", "output", "assistant", "is", "are", "better",
    "much", "slightly", "about", "roughly", "score",
)  # fmt: skip
GLUED_FILLERS = "^(team|player|model)(?=.)|(?<=.)(wins?|won|victory|sieg|team|player|fighter|vote)$"  # as in "homewin"
SIDE_WORDS = {"h": 1.0, "home": 1.0, "a": -1.0, "away": -1.0, "v": -1.0, "visitor": -1.0, "n": 0.0, "neutral": 0.0}
NUMBER_PATTERN = r"\d*[.,]\d+|\d+|½|1/2"
DASH = "[-:\u2013]"  # or a long one
ENDINGS = r"aet|a\.e\.t|et|ot|so|sd|pens?|pso|p|agg|n\.?v|n\.?e|forfeit"  # of extra time, shoot-outs, sums of two legs
ENDINGS += "|awarded|awd|wertung|w"  # by a committee
AFTER_SCORE = rf"(?:\s*/?\s*(?:\([^()]*\)|\[[^\[\]]*\]))*(?:\s*/?\s*\d?(?:{ENDINGS})\b.*)?\s*$"
SCORELINE_PATTERN = rf"^({NUMBER_PATTERN})\s*{DASH}\s*({NUMBER_PATTERN}){AFTER_SCORE}"
RECORD_PATTERN = r"^(\d{1,2})-(\d{1,2})-\d{1,2}$"  # of a match of several games
SCORELINE_POINTS = rf"(?i)^\s*(?P<one>\d+)\s*{DASH}\s*(?P<two>\d+){AFTER_SCORE}"  # of Arrow too
PLACE_PATTERN = r"[=t]?\s*-?\s*(\d+)\s*(?:st|nd|rd|th|er|e|ème|[.ºª°])?\s*[=t]?"  # with marks of a tie
TIME_PATTERN = r"(?=.*[:.])(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d+)?)"  # hours, minutes and seconds, or some of these
SIGNED_NOTE = "as 1, 0 and -1 for win, draw and loss; if -1 says that there is no result, say na_values=['-1']"
# after a word, as in "W 3-1", "L (OT)" and, of Go, "B+2.5"
POINTS_AFTER_WORD = r"(?<=[a-z])(\s*\+.*|[\s,(]+\d+\s*[-:\u2013]\s*\d+.*|[-\s/(]+\d?(ot|so|wo|aet|pens?)\W*)$"
SET_PATTERN = r"(\d+)\s*[-:/\u2013]\s*(\d+)"
# sets of a match that was not played to its end, of which they do not say who won
UNFINISHED_SETS = re.compile(rf"{SET_PATTERN}.*\b(ret|retired|retd|def|default|abd|abandoned|walkover|w/?o)\.?")
WINNER_CODES: tuple[dict[int, float], ...] = (  # the score of the first player, by the number in a column of winners
    {1: 1.0, 2: 0.0},
    {1: 1.0, 2: 0.0, 0: 0.5},
    {0: 1.0, 1: 0.0},
    {0: 1.0, 1: 0.0, -1: 0.5},
    {0: 1.0, 1: 0.0, 2: 0.5},
    {1: 1.0, -1: 0.0},
    {1: 1.0, -1: 0.0, 0: 0.5},
)
MIN_AGREEMENT = 0.9  # share of the rows in which two columns say the same, so that both are what they seem
MIN_READABLE_SHARE = 0.5  # of the rows, for a column to be one of results, whose other rows are mistakes


@dataclass(frozen=True, eq=False)
class ResultColumn:
    """A column of results, and what tells what it means."""

    name: str
    column: Column  # [n] null where there is no result
    players: Mapping[str, Column]  # the names of the first players and of the second, by the names of their columns

    @cached_property
    def numbers(self) -> HostArray:
        """[n] the numbers in the cells, NaN where there is none."""
        return numbers_or_nan(self.column)

    @cached_property
    def texts(self) -> DistinctCells:
        """The different texts of the cells."""
        return distinct_texts(self.column)

    @cached_property
    def words(self) -> DistinctCells:
        """The different words that say who has won."""
        return self.texts.merge(_outcome_word)


class Notation(NamedTuple):
    """A way to write results."""

    label: str  # what it is called, for runs that go on as they began
    read: Callable[[ResultColumn], HostArray]  # [n] the scores of the first player, or ranks; NaN of other cells
    plain: bool = False  # whether cells are scores from 0 to 1 as they stand
    note: str = ""  # that it may mean something else, with {} for a cell that it reads
    needs_winner: bool = False  # whether it is only this one if somebody has won


class ParsedResults(NamedTuple):
    """The results in a column."""

    score: HostArray  # [n] of the first player; NaN where there is no result, and where it cannot be read
    notation: Notation


def check_texts(argument: str, texts: Any) -> None:
    """ValueError unless these are texts, each by itself."""
    if isinstance(texts, str) or not is_iterable(texts) or not all(isinstance(value, str) for value in texts):
        hint = f"; write {argument}={texts.split(',')}" if isinstance(texts, str) else ""
        raise ValueError(f"{argument} must be a list of texts, got {format_value_for_error(texts)}{hint}")


def in_play_mask(column: Column) -> HostArray:
    """[n] whether a match is not over yet, by a column that says how far it is."""
    return distinct_texts(column).map(lambda text: re.sub(r"[\s_]", "", text) in IN_PLAY_WORDS, False)


def mask_of_texts(column: Column, texts: Iterable[str]) -> HostArray:
    """[n] where a cell is one of some texts, or the number that one says; case and blanks around it do not matter."""
    words, numbers = {*map(cell_text, texts)}, [x for x in map(cell_number, texts) if x is not None and isfinite(x)]
    if is_numeric(column) and numbers:
        return np.isin(numbers_or_nan(column), numbers)
    return text_mask(column, lambda text: cell_text(text) in words)


def replace_na_values(column: Column, na_values: Sequence[str] = ()) -> Column:
    """The column of results, null where a text or number says that there is none."""
    texts = (*NA_VALUES, *na_values)
    if not is_text(column):
        return null_where(column, mask_of_texts(column, texts))
    cells = distinct_texts(column)
    words = {*map(cell_text, texts)} - {text for text, other in RESULTS_BESIDE.items() if other in cells.values}
    return null_where(column, cells.map(lambda x: x in words or UNFINISHED_SETS.fullmatch(x) is not None, False))


def _cell_notation(label: str, read: Callable[[str], float | None], **options: Any) -> Notation:
    """A notation by a function of the text of a cell."""
    return Notation(label, lambda results: results.texts.map(read, np.nan), **options)


def _number_notation(label: str, score: Callable[[HostArray], Any], **options: Any) -> Notation:
    """A notation by a function of numbers."""
    return Notation(label, lambda results: np.asarray(score(results.numbers)), **options)


def _score_of_sets(cell: str) -> float:
    """The score of the first player in the sets of a cell; NaN if there is more than sets in it."""
    sets, others = re.findall(SET_PATTERN, cell := re.sub(r"\(.*?\)", "", cell)), re.sub(SET_PATTERN, "", cell)
    if not sets or re.search(r"[^\s,;|\[\]]", others):
        return np.nan
    return float(0.5 + 0.5 * np.sign(sum(np.sign(int(one) - int(two)) for one, two in sets)))


def _score_of_scoreline(cell: str, pattern: str = SCORELINE_PATTERN) -> float:
    """The score of the first player by the points of both sides in a cell; NaN of other cells."""
    match = re.search(pattern, cell)
    if match is None:
        return 0.5 if re.fullmatch(rf"1/2|{DRAW_PATTERN}", cell) else np.nan
    one, two = (0.5 if points in ("½", "1/2") else float(points.replace(",", ".")) for points in match.groups())
    return float(0.5 + 0.5 * np.sign(one - two))


def _parse_place(cell: str) -> float | None:
    """The place in a cell, as t2, =2, 2= and 2nd say it."""
    match = re.fullmatch(PLACE_PATTERN, cell)
    return None if match is None else float(match[1])


def _parse_duration_seconds(cell: str) -> float | None:
    """The seconds of a time in a cell, as 34:02 and 1:02:33.5 say it."""
    match = re.fullmatch(TIME_PATTERN, cell)
    return None if match is None else float(np.dot([float(part or 0) for part in match.groups()], (3600, 60, 1)))


def _scores_of_winner_names(results: ResultColumn, words_beside: str) -> HostArray:
    """[n] the scores of cells with the name of the winner, perhaps beside some words, or with a word for a draw."""
    cells = results.texts.merge(lambda cell: _drop_decimal_point_from_name(re.sub(words_beside, "", cell)))
    positions = {text: position for position, text in enumerate(cells.values)}
    names = [
        distinct_texts(column).map(lambda text: positions.get(_drop_decimal_point_from_name(text), -2), -2)
        for column in results.players.values()
    ]
    won, lost = (position == cells.codes for position in names)
    drawn = cells.map(lambda text: text in NO_WINNER_WORDS or re.match(DRAWN_MATCH_PATTERN, text) is not None, False)
    return np.select([won, lost, drawn], [1.0, 0.0, 0.5], np.nan)


def _drop_decimal_point_from_name(text: str) -> str:
    """The name in a cell, of a number without the point that programs add where others are missing."""
    return text.removesuffix(".0") if text[:-2].isdigit() else text


NO_WORDS = r"(?!)"
RACE_TIMES_NOTE = "as times, as {}, of which the shortest is the best (gaps to the first are none)"
PLAIN = _number_notation("scores", lambda numbers: numbers, plain=True)
SIGNED = _number_notation("1, 0 and -1", lambda numbers: (numbers + 1) / 2, note=SIGNED_NOTE)
WINNER_NUMBERS = _number_notation("1 to 2", lambda numbers: 2.0 - numbers)
WINNER_OR_DRAW_NUMBERS = _number_notation(
    "0 to 2",
    lambda numbers: np.where(numbers == 0, 0.5, 2.0 - numbers),
    note="as 1 for a win of the first player, 2 for one of the second and 0 for a draw",
)
NAMES = Notation("names", lambda results: _scores_of_winner_names(results, NO_WORDS), needs_winner=True)
SENTENCES = Notation("sentences", lambda results: _scores_of_winner_names(results, WORDS_OF_WINNING), needs_winner=True)
SCORELINES = _cell_notation("scorelines", _score_of_scoreline)
RECORDS = _cell_notation(
    "records", partial(_score_of_scoreline, pattern=RECORD_PATTERN), note="as games won, lost and drawn"
)
SETS = _cell_notation("sets", _score_of_sets, note="as the sets of the first player and of the second")
NUMBERS = _number_notation("ranks", lambda numbers: numbers)
RANK_NOTATIONS = (
    NUMBERS,
    _cell_notation("places", _parse_place, note="as places, as {}"),
    _cell_notation("times", _parse_duration_seconds, note=RACE_TIMES_NOTE),
)


def _scores_of_words(scores: Mapping[str, float], results: ResultColumn) -> HostArray:
    return results.words.map(scores.get, np.nan)


def _scores_by_word(words: OutcomeWords, first: float = 1.0) -> dict[str, float]:
    """The scores that words for results stand for, of which those for the first side have this one."""
    first_words, second_words, draws = words
    return dict.fromkeys(draws, 0.5) | dict.fromkeys(second_words, 1.0 - first) | dict.fromkeys(first_words, first)


WORDS_OF_WINS = Notation(
    "words of wins", partial(_scores_of_words, _scores_by_word(WINS_AND_LOSSES) | _scores_by_word(FLAGS))
)


def notation_of_contest_scores(name: str, column: Column) -> Notation:
    """How the scores of contests are written: in numbers, unless all are words for who has won."""
    scores = WORDS_OF_WINS.read(ResultColumn(name, column, {}))[~missing_mask(column)]
    return WORDS_OF_WINS if is_text(column) and not np.isnan(scores).any() else NUMBERS


def parse_contest_results(
    name: str, column: Column, na_values: Sequence[str], unfinished: Sequence[str], notation: Notation | None
) -> tuple[Column, Notation, str | None]:
    """The results of participants of contests, their notation and a note on it; what that of most does not say stays.

    Ranks become numbers. Those who are `unfinished`, as a text or number says, have a rank behind all others. Those
    with one of `na_values` have no result.
    """
    column = null_where(column, mask_of_texts(column, na_values))
    results, is_last = ResultColumn(name, column, {}), mask_of_texts(column, unfinished)
    possible = RANK_NOTATIONS[: 1 if is_numeric(column) else 3] if notation is None else [notation]
    readings = {x: np.where(is_last, np.nan, x.read(results)) for x in possible}
    notation = min(readings, key=lambda x: np.count_nonzero(np.isnan(readings[x])))
    if notation == NUMBERS and not is_last.any():
        return column, notation, None
    ranks = readings[notation]
    is_special = ~np.isnan(ranks) & np.isnan(results.numbers)
    note = f"{name} {notation.note.format(cell_value(column, int(np.argmax(is_special))))}" if notation.note else None
    ranks = np.where(is_last, ranks[np.isfinite(ranks)].max(initial=0.0) + 1.0, ranks)
    values = [value if np.isnan(rank) else rank for value, rank in zip(to_values(column), ranks.tolist(), strict=True)]
    return to_column(name, values), notation, note


def parse_results(results: ResultColumn) -> ParsedResults | None:
    """The results in a column, by the notation that fits most rows; None if none fits half of them."""
    num_present = np.count_nonzero(~missing_mask(results.column))
    best, least = None, max(MIN_READABLE_SHARE * num_present, 1.0)
    for notation in _possible_notations(results):
        score = notation.read(results)
        count = int(np.count_nonzero(~np.isnan(score)))
        if count >= least and (not notation.needs_winner or np.isin(score, (0.0, 1.0)).any()):
            best, least = ParsedResults(score, notation), count + 1.0
        if count == num_present and best is not None:
            break
    return best


def _possible_notations(results: ResultColumn) -> Iterator[Notation]:
    """The notations that a column may be written in, the most usual first."""
    name, column = results.name, results.column
    number = _notation_of_numbers(results)
    plain = [x for x in number if x.plain]
    if not is_winner_column(name):
        yield from plain
        if is_numeric(column) and not import_pyarrow().types.is_integer(column.type):
            yield from number  # which name nobody
            return
    yield NAMES
    yield from plain
    if is_text(column):
        yield from _word_notations(results)
        yield SCORELINES
        yield from (SENTENCES, SETS, RECORDS)
    yield from number


def _notation_of_numbers(results: ResultColumn) -> list[Notation]:
    """Scores in [0, 1], or 1, 0 and -1; of a column that names the winner, 1 to 2, or 0 for a draw; [] of others.

    Where some cells are no numbers, the others are taken for scores.
    """
    numbers = results.numbers[~np.isnan(results.numbers)]
    has_others = len(numbers) < np.count_nonzero(~missing_mask(results.column))
    is_named_winner = is_winner_column(results.name)
    fits = {
        PLAIN: has_others or ((numbers >= 0) & (numbers <= 1)).all(),
        SIGNED: np.isin(numbers, (-1.0, 0.0, 1.0)).all(),
        WINNER_NUMBERS: is_named_winner and (np.abs(numbers - 1.5) <= 0.5).all(),
        WINNER_OR_DRAW_NUMBERS: is_named_winner and ((numbers == 0) | (np.abs(numbers - 1.5) <= 0.5)).all(),
    }
    return [notation for notation, does_fit in fits.items() if does_fit and len(numbers)][:1]


def is_winner_column(name: str) -> bool:
    """Whether a column is called as one that says who won."""
    return re.search(WINNER_NAME, normalise_column_name(name)) is not None


def winner_code_readings(results: ResultColumn) -> list[dict[int, float]]:
    """What the numbers in a column of winners may mean, each the score of the first player by number; [] of others."""
    present = ~missing_mask(results.column)
    if not is_winner_column(results.name) or not np.isnan(NAMES.read(results)[present]).any():
        return []
    values = {*np.unique(results.numbers[present]).tolist()}
    is_code = not {*results.texts.values} <= {"true", "false"}
    readings = [codes for codes in WINNER_CODES if is_code and values <= codes.keys()]
    return [codes for codes in readings if len(codes) == min(map(len, readings))]


def winner_codes_to_scores(column: Column, codes: Mapping[int, float]) -> HostArray:
    """[n] the scores of the first player that numbers stand for; NaN where there is none."""
    numbers = numbers_or_nan(column)
    return np.select([numbers == code for code in codes], [*codes.values()], np.nan)


def winner_codes_notation(codes: Mapping[int, float]) -> Notation:
    """The notation of a column of winners whose numbers stand for these scores of the first player."""
    return Notation(f"codes {dict(codes)}", lambda results: winner_codes_to_scores(results.column, codes))


def result_column_to_scores(results: ResultColumn, notation: Notation | None) -> tuple[HostArray, Notation, str | None]:
    """[n] the scores of the first player in [0, 1], NaN where there is none, their notation, and a note on it.

    Numbers in [0, 1] stay as they are. Without a notation it is the one that fits most rows; RowError at the others.
    """
    name, column = results.name, results.column
    parsed = parse_results(results) if notation is None else ParsedResults(notation.read(results), notation)
    if parsed is None or parsed.notation.plain:
        return to_numbers(name, column, np.nan), PLAIN, None
    fail_where_no_result(name, column, parsed.score)
    return parsed.score, parsed.notation, f"{name} {parsed.notation.note}" if parsed.notation.note else None


def fail_where_no_result(name: str, column: Column, results: HostArray) -> None:
    """RowError where a value of the column says no result [n], which is NaN there; it tells how to say that."""
    are_numbers = not np.isnan(numbers_or_nan(column)[~missing_mask(column)]).any()
    advice = "write W, D and L of the first player in place of the numbers; " * are_numbers

    def say(row: int) -> str:
        cell = cell_value(column, row)
        return (
            f"column {name!r} is {format_value_for_error(cell)}, no result as the others are; {advice}if it means that "
            f"there is none, say na_values=[{format_value_for_error(str(cell))}]"
        )

    fail_where(np.isnan(results) & ~missing_mask(column), say)


def parse_sides(name: str, column: Column) -> HostArray:
    """[n] sides in [-1, 1], of numbers or of H, A and N from the view of the first player, or the winner."""
    sides = np.full(len(column), np.nan) if is_numeric(column) else distinct_texts(column).map(SIDE_WORDS.get, np.nan)
    if np.isnan(sides).all():
        return to_numbers(name, column)
    fail_at_cells(np.isnan(sides), name, column, "expected H, A or N, or 1, -1 or 0")
    return sides


def _word_notations(results: ResultColumn) -> list[Notation]:
    """The notations by words for who has won of which cells have some: Home, home win, HOME_WIN.

    The notation in which the columns of the players are called comes first; where these are called the other way round,
    "home" is a win of the second player. Cells may also have the names of these columns.
    """
    sides, players = [_outcome_word(str(name).lower()) for name in results.players], tuple(results.players)
    header, notations = Header.of_columns(players), list[Notation]()
    own, letters = (OutcomeWords(*((side[:length],) for side in sides)) for length in (None, 1))
    are_sides = any({*sides} <= {*x.first, *x.second} for x in SIDE_PAIRS if x.kind == "sides")
    first_letters = [letters] * are_sides  # as E and W of east and west; a V of who won is the visitor, else a victory
    known = (*first_letters, *OUTCOME_WORDS) if is_winner_column(results.name) else (*OUTCOME_WORDS, *first_letters)
    for words in (own, *known):
        first, second, _ = words
        pairs = header.find_pairs_by_words(product(first, second))
        is_own, is_exchanged = players in pairs, players[::-1] in pairs
        if first != second and not {*results.words.values}.isdisjoint((*first, *second)):
            scores = _scores_by_word(words, first=1.0 - is_exchanged)
            notation = Notation(f"words as {first[0]} and {second[0]}", partial(_scores_of_words, scores))
            notations.insert(0 if is_own or is_exchanged else len(notations), notation)
    return notations


def _outcome_word(cell: str) -> str:
    """The word that says who has won: "home" of "home win", "1" of "team_1"; "win" where there is no other."""
    if re.fullmatch(r"[-+=\d.,/½]+", cell):
        return cell
    cell = re.sub(POINTS_AFTER_WORD, "", cell)
    if verdict := re.fullmatch(r"\W*(\w+)\s*(>+|=+|<+)\s*(\w+)\W*", cell):  # as "A>>B"
        return {">": verdict[1], "<": verdict[3]}.get(verdict[2][0], "tie")
    parts = re.findall(r"[^\W_]+", cell)
    if "/" in cell and len(parts) == 2:
        return "".join(parts)
    word = "".join(re.sub(GLUED_FILLERS, "", part) for part in parts if part not in FILLER_WORDS)
    return word if word and parts[0] != "no" else "".join(parts)


def draw_mask_from_words(column: Column, pattern: str = DRAW_PATTERN) -> HostArray:
    """[n] whether a column of text has a word for a draw, as "Match drawn", or what else a pattern finds."""
    return text_mask(column, lambda cell: re.search(pattern, cell.lower()))


def draw_mask_from_flags(column: Column) -> HostArray:
    """[n] whether a match is drawn, of a column of flags: true, yes, 1 or a word for a draw, beside false or 0."""
    cells = distinct_texts(column)
    is_flag = {*cells.values} <= {*TRUE_WORDS, *FALSE_WORDS}
    return cells.map(lambda text: is_flag and text in TRUE_WORDS, False)


def draw_mask_from_results(column: Column) -> HostArray:
    """[n] whether a match is drawn, of a column of results beside the winners: draw, 1/2-1/2, a score of 0.5."""
    if is_numeric(column):
        results = ResultColumn("", column, {})
        scores = [notation.read(results) for notation in _notation_of_numbers(results)]
        return np.any([np.zeros(len(column), bool), *(score == 0.5 for score in scores)], axis=0)
    words, draws = distinct_texts(column).merge(_outcome_word), (*DRAW_WORDS, "1/2", "0.5")
    if {*words.values} <= {*chain(*chain(*OUTCOME_WORDS))}:
        return words.map(draws.__contains__, False)
    return draw_mask_from_words(column, DRAW_OR_EQUAL_POINTS)
