"""The results of the rows of a table: as scores, drawn ones among them, and of which rows there is none yet."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count
from jaxrate.data.column_conversion import (
    distinct_cells,
    fail_at_cells,
    missing_mask,
    null_where,
    numbers_or_nan,
    to_column,
    to_numbers,
)
from jaxrate.data.column_role_definitions import PLAYER_PAIR, WINNER_LOSER, as_column_list
from jaxrate.data.column_spellings import DRAW_NAMES, SPELLINGS, normalise_column_name
from jaxrate.data.evidence_column_recognition import recognise_evidence_columns
from jaxrate.data.faulty_rows import find_incomplete_rows
from jaxrate.data.result_parsing import (
    MIN_AGREEMENT,
    Notation,
    ResultColumn,
    draws_in_results,
    flags_of_draws,
    in_play_mask,
    mentions_draw,
    parse_contest_results,
    replace_na_values,
    result_column_to_scores,
)
from jaxrate.data.role_resolution import ColumnRoles, TableLayout
from jaxrate.data.table_sources import Column, TableSource, import_pyarrow


class PlayedAndComingMasks(NamedTuple):
    """Rows by whether they have a result."""

    played: HostArray  # [n] whether they have one
    coming: HostArray  # [n] whether they have none, are complete otherwise, and not before the last played one
    left_out: dict[str, HostArray]  # [n] whether they have none and are not to come, by reason


def parse_result_columns(
    roles: ColumnRoles,
    columns: dict[str, Column],
    na_values: Sequence[str],
    unfinished: Sequence[str],
    notation: Notation | None = None,
) -> tuple[dict[str, Column], Notation | None, str | None]:
    """The columns, results of matches among them as scores, null where there is none; their notation, and a note on it.

    Those of contests who are `unfinished` have the last rank, and those whose rank is one of `na_values` have none.
    The notation is the one given, or else the one that fits most rows.

    Raises:
      RowError: where a row is no result as the others are.
      ValueError: if there are no ranks of which some could be unfinished.
    """
    layout = roles.layout
    if unfinished and not layout.ranked:
        raise ValueError("unfinished is for the ranks of contests; name their columns as contest and rank")
    if layout.winner_first:
        return columns, None, None
    if layout.contest is None:
        names = [name for name in (layout.result, *layout.points, *roles.margin) if name in columns]
        columns = columns | {name: replace_na_values(columns[name], na_values) for name in names}
    if layout.result not in columns:
        return columns, None, None
    players = {} if layout.contest is not None else {name: columns[name] for name in layout.first_players}
    results = ResultColumn(layout.result, columns[layout.result], players)
    if layout.contest is not None:
        scores, notation, note = parse_contest_results(results, na_values, unfinished, layout.ranked, notation)
    else:
        scores, notation, note = result_column_to_scores(results, notation)
    return columns | {layout.result: scores}, notation, note


def hide_results_in_play(
    table: TableSource, roles: ColumnRoles, columns: dict[str, Column], rows: HostArray
) -> tuple[dict[str, Column], str]:
    """The columns, without results of matches that another column says are not over yet; and a note on it.

    `rows` [n] says in which rows of the table those of the columns stand.
    """
    results = [name for name in (roles.layout.result, *roles.layout.points) if name in columns]
    names = [] if roles.layout.contest is not None else status_columns(table.names, roles.all_columns)
    for name, column in (_load_rows(table, names, rows) if results else {}).items():
        if (in_play := in_play_mask(column)).any():
            count = f"{np.count_nonzero(in_play):,} of {format_count(len(rows), 'match')}"
            hidden = {result: null_where(columns[result], in_play) for result in results}
            return columns | hidden, f"{name} for matches that are not over ({count})"
    return columns, ""


def status_columns(names: Iterable[str], used: Collection[str]) -> list[str]:
    """The columns, other than those used, that are called as what says how far a match is."""
    return [name for name in names if name not in used and normalise_column_name(name) in STATUS_NAMES]


def check_points_not_negative(points: Sequence[str], columns: dict[str, Column]) -> None:
    """RowError where the points of a side, in columns that nobody named, are no number or negative."""
    advice = f"correct it, or name both columns as the margin, which may be: margin={list(points)!r}"
    for name in points:
        is_bad = to_numbers(name, columns[name], default=0.0) < 0
        fail_at_cells(is_bad, name, columns[name], f"and points are not negative; {advice}")


def split_by_result(
    roles: ColumnRoles, columns: dict[str, Column], na_values: Sequence[str] = ()
) -> PlayedAndComingMasks:
    """Which rows have a result, and which are to come: of contests those in which nobody has one.

    Other participants without a result did not take part if `na_values` say so, else their rows are faulty.
    """
    layout = roles.layout
    nothing = np.zeros(len(columns[layout.players[0]]), bool)
    results = [name for name in (layout.result, *layout.points) if name in columns]
    without_result, absent = np.any([nothing, *(missing_mask(columns[name]) for name in results)], axis=0), nothing
    if layout.contest is not None and without_result.any():
        contest = distinct_cells(columns[layout.contest]).codes + 1
        is_open = without_result & (np.bincount(contest, ~without_result) == 0)[contest]
        absent = without_result & ~is_open if na_values else nothing
        without_result = is_open
    if not (without_result | absent).any():
        return PlayedAndComingMasks(~nothing, nothing, {})
    roles_to_come = roles._replace(upcoming=True, last_rank=None, layout=layout._replace(result=None, points=()))
    incomplete = without_result & find_incomplete_rows(roles_to_come, columns)
    open_rows, is_early = without_result & ~incomplete, nothing
    if roles.time is not None and not without_result.all():
        time = to_numbers(roles.time, columns[roles.time], np.nan)
        is_early = time < np.fmax.reduce(time[~without_result])
    left_out = {"earlier than the last result": open_rows & is_early, "incomplete otherwise": incomplete}
    left_out |= {"of participants who did not take part": absent}
    return PlayedAndComingMasks(~(without_result | absent), open_rows & ~is_early, left_out)


def doubts_about_unplayed_rows(split: PlayedAndComingMasks, rows: HostArray, upcoming: bool) -> Iterator[str]:
    """A note that rows have no result or, if matches to come are read, that some have one.

    `rows` [n] says where those of the split stand in the source.
    """
    n, num_without = len(split.played), np.count_nonzero(~split.played)
    if not num_without or (upcoming and num_without == n):
        return
    reasons = []
    for reason, mask in split.left_out.items():
        if mask.any():
            first = "row" if np.count_nonzero(mask) == 1 else "the first is row"
            reasons.append(f"{_count_and_verb(mask)} {reason} ({first} {rows[mask][0]}, counting from 0)")
    if upcoming:
        yield "; ".join([f"of {n:,} rows {_count_and_verb(split.coming)} without a result and to come", *reasons])
        return
    if split.coming.any():
        coming = f"{_count_and_verb(split.coming)} to come (`fixtures` of the data, or jaxrate predict)"
        reasons = [coming, *reasons]
    verbs = "has no result and is" if num_without == 1 else "have no result and are"
    yield f"{num_without:,} of {n:,} rows {verbs} left out: {'; '.join(reasons)}"


def _count_and_verb(mask: HostArray) -> str:
    """The number of rows in a mask, as "1 is" or "2 are"."""
    count = np.count_nonzero(mask)
    return f"{count:,} {'is' if count == 1 else 'are'}"


STATUS_NAMES = frozenset(
    f"{prefix}status{suffix}" for prefix in ("", "match", "game", "fixture", "event") for suffix in ("", "short")
)


class DrawRule(NamedTuple):
    """The columns that tell which matches are drawn, and how."""

    names: tuple[str, ...]
    tell: Callable[[Sequence[Column], HostArray], HostArray]  # [n] the drawn ones, by the columns and the scores [n]


def score_drawn_matches(
    table: TableSource,
    roles: ColumnRoles,
    columns: dict[str, Column],
    rows: HostArray,
    rules: Sequence[DrawRule] | None = None,
) -> tuple[ColumnRoles, dict[str, Column], DrawRule | None, str]:
    """The roles and columns with 0.5 for drawn matches that the result leaves open, what tells them, and a note on it.

    Of winners and losers these are all that a flag, or a column of results, calls drawn. Beside other results they are
    those without a result, by a word or by equal points, and, if no result is a draw, those that a flag calls drawn.

    Args:
      table: with the other columns.
      roles: of the columns that are used.
      columns: their values, results as scores.
      rows: [n] in which rows of the table these stand.
      rules: what may tell them; None: that is found out.
    """
    layout, score = roles.layout, _scores_or_none(roles, columns, len(rows))
    if score is None:
        return roles, columns, None, ""
    for rule in _possible_draw_rules(table, roles, rows, score) if rules is None else rules:
        is_drawn = rule.tell([*_load_rows(table, rule.names, rows).values()], score)
        if is_drawn.any():
            result = layout.result or rule.names[0]
            scores = import_pyarrow().array(np.where(is_drawn, 0.5, score), from_pandas=True)
            count = f"{np.count_nonzero(is_drawn):,} of {format_count(len(rows), 'match')}"
            return (
                roles._replace(layout=layout._replace(result=result)),
                columns | {result: import_pyarrow().chunked_array([scores])},
                rule,
                f"{' and '.join(rule.names)} for the draws ({count})",
            )
    return roles, columns, None, ""


def _scores_or_none(roles: ColumnRoles, columns: dict[str, Column], n: int) -> HostArray | None:
    """[n] the scores of matches, NaN where they are missing; None if there are none, or some are no numbers."""
    layout = roles.layout
    if layout.contest is None and layout.winner_first:
        return np.ones(n)
    with suppress(ValueError):  # which the rows that are wrong will tell
        if layout.contest is None and layout.result in columns:
            return to_numbers(layout.result, columns[layout.result], default=np.nan)
    return None


def flag_rules(names: Iterable[str], is_result: bool) -> Iterator[DrawRule]:
    """Rules by the columns that are called as flags of draws are, and then as results are if these may say so."""
    names = [*names]
    for name in names:
        if normalise_column_name(name) in DRAW_NAMES:
            yield DrawRule((name,), lambda columns, score: flags_of_draws(columns[0]))
    for name in names:
        if is_result and normalise_column_name(name) in SPELLINGS["score"]:
            yield DrawRule((name,), lambda columns, score: draws_in_results(columns[0]))


def _possible_draw_rules(
    table: TableSource, roles: ColumnRoles, rows: HostArray, score: HostArray
) -> Iterator[DrawRule]:
    """What may tell draws that the scores [n] leave open, the surest first.

    Flags and results tell them, words for draws that nearly all stand in rows without a result, and equal points.
    """
    others = [name for name in table.names if name not in roles.all_columns]
    if not (score == 0.5).any():
        yield from flag_rules(others, roles.layout.winner_first)
    layout = roles.layout
    # Of columns called Winner/tie and Loser/tie points tell the ties; elsewhere level points may have a winner.
    has_ties = layout.winner_first and all(normalise_column_name(x).endswith("tie") for x in layout.first_players)
    has_gaps = np.isnan(score).any()
    if has_gaps:
        yield from _draw_rules_by_words(_load_rows(table, others, rows), score)
    if has_gaps or has_ties:
        yield from _draw_rule_by_equal_points(table, layout, rows, score, has_ties)


def _draw_rules_by_words(columns: Mapping[str, Column], score: HostArray) -> Iterator[DrawRule]:
    """Rules by columns whose words for draws nearly all stand in rows without a result, or that are called as results.

    A column of results may stand beside a winner, as of a shoot-out.
    """
    is_missing = np.isnan(score)
    for name, column in columns.items():
        is_drawn, is_result = mentions_draw(column), normalise_column_name(name) in SPELLINGS["score"]
        if is_drawn.any() and (is_result or is_missing[is_drawn].mean() >= MIN_AGREEMENT):
            yield DrawRule((name,), lambda columns, score: mentions_draw(columns[0]) & np.isnan(score))


def _draw_rule_by_equal_points(
    table: TableSource, layout: TableLayout, rows: HostArray, score: HostArray, has_ties: bool
) -> Iterator[DrawRule]:
    """The rule by equal points of both sides, if the winners mostly have more of them."""
    players = dict(zip(WINNER_LOSER if layout.winner_first else PLAYER_PAIR, layout.first_players, strict=True))
    points = as_column_list(recognise_evidence_columns(table.names, players).get("margin"))
    if len(points) != 2:
        return
    lead = _sign_of_lead([*_load_rows(table, points, rows).values()])
    is_decided = ~np.isnan(score) & (lead != 0)  # level points may have a winner, by a shoot-out
    if is_decided.any() and (lead == np.sign(score - 0.5))[is_decided].mean() >= MIN_AGREEMENT:
        yield DrawRule(
            tuple(points), lambda columns, score: (np.isnan(score) | has_ties) & (_sign_of_lead(columns) == 0)
        )


def _sign_of_lead(points: Sequence[Column]) -> HostArray:
    """[n] 1 where the first player has more points, -1 where the second has, 0 where neither; NaN without them."""
    return np.asarray(np.sign(np.subtract(*map(numbers_or_nan, points))))


def _load_rows(table: TableSource, names: Sequence[str], rows: HostArray) -> dict[str, Column]:
    """These columns of the table, in these rows."""
    loaded = table.load(names, names) if names else {}
    return {name: to_column(name, loaded[name]).take(rows) for name in names}
