"""Rows of tables: events and rankings."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, format_percentage, use_minus_sign
from jaxrate.site.drawings import COURSE_POINTS, Axis, course_line, interval_bar, make_axis, ratings_to_level_letters
from jaxrate.site.json_columns import half_widths_for_json, ratings_for_json, returned_players
from jaxrate.site.line_ups import PlayerLists, side_words
from jaxrate.site.page_templates import join_figures
from jaxrate.site.site_data import (
    MEAN_YEAR_DAYS,
    SiteData,
    event_nouns,
    format_peak,
    groups_by_id,
    has_peaks,
    is_draw_half,
    last_event_heading,
    peak_definition,
    uncertain_half_width,
)
from jaxrate.site.wording import category_noun

MAX_OPPONENTS, MAX_UPSETS = 10, 5
MATES_HEAD = "with"
CELL_CLASSES = {  # of columns of figures, in one letter, since the pages hold millions of cells
    "chance": "c",
    "draw": "d",
    "place": "p",
    "expected": "e",
    "rating": "r",
    "change": "g",
    "matches": "m",
    "contests": "m",
    "won": "w",
    "drawn": "n",
    "lost": "l",
    "last met": "t",
}
RESULTS = {1.0: ("won", "up"), 0.5: ("drew", "s"), 0.0: ("lost", "drop")}


class EventTableCells(NamedTuple):
    """Cells [M] of each event, by column."""

    headings: list[tuple[str, bool]]  # of columns, and whether they are figures
    cells: list[HostArray]

    def render_rows(self, places: HostArray | slice) -> str:
        """The rows of events at these places, as HTML."""
        columns = [x[places] for x in self.cells]
        return "".join(chain.from_iterable(zip(*columns, strict=True)))


def build_event_table_cells(data: SiteData, columns: dict[str, Any], *, linked: bool = True) -> EventTableCells:
    """The cells of all events; `columns` are those of careers for JSON. Opponents may be `linked` to their pages."""
    careers, digits = data.careers, data.digits
    headings, cells = [], []

    def add(heading: str, values: HostArray, *, figure: bool = True) -> None:
        headings.append((heading, figure))
        cells.append(values)

    if data.rated.clock is not None:
        name = "date" if data.rated.clock == "dates" else "time"
        add(name, _cells(careers.time, lambda x: _time_cell(data, name, x)), figure=False)
    line_ups = data.line_ups
    if line_ups.opponents is not None:
        if line_ups.mates is not None:
            add(MATES_HEAD, _player_list_cells(data, line_ups.mates, linked, "<td class=k>"), figure=False)
        if line_ups.are_alone:
            add("opponent", player_cells(data, linked)[line_ups.opponents.player], figure=False)
        else:
            add("opponents", _player_list_cells(data, line_ups.opponents, linked), figure=False)
        if "ground" in columns:
            words = side_words(data.rated)
            cells_by_ground = np.array([f"<td class=h>{x}" for x in words.names], object)
            add(words.head, cells_by_ground[columns["ground"]], figure=False)
        add("result", _result_cells(data, columns), figure=False)
        chance = "expected" if is_draw_half(data.rated) else "chance"
        add(chance, _cells(_array(columns["chance"]), lambda x: figure_cell(chance, format_chance(x))))
        if "draw" in columns:
            add("draw", _cells(_array(columns["draw"]), lambda x: figure_cell("draw", format_chance(x))))
    else:
        labels, number = np.unique(np.array(columns["contest"], object).astype(str), return_inverse=True)
        texts = [f"<td><bdi>{escape(x)}</bdi>" for x in labels.tolist()]
        add("contest", np.array(texts, object)[number], figure=False)
        place = [f"{i:,} of {n:,}" for i, n in zip(columns["place"], columns["among"], strict=True)]
        add("place", np.array([figure_cell("place", x) for x in place], object))
        add("expected", _cells(_array(columns["expected"]), lambda x: figure_cell("expected", f"{x:,.1f}")))
        if line_ups.mates is not None:
            add(MATES_HEAD, _player_list_cells(data, line_ups.mates, linked, "<td class=k>"), figure=False)
    add(
        "rating",
        _cells(
            np.round(np.asarray(careers.after.mean), digits),
            lambda x: figure_cell("rating", use_minus_sign(format_decimals(x, digits))),
        ),
    )
    add(
        "change",
        _cells(
            np.round(careers.after.mean - careers.before.mean, digits) + 0.0,
            lambda x: figure_cell("change", use_minus_sign(format_decimals(x, digits, signed=True))),
        ),
    )
    for name in data.columns:
        heading, values = escape(name), columns[f"column {name}"]
        is_text = any(isinstance(x, str) for x in values)
        known = {None: f'<td data-name="{heading}">'}
        kind = "words" if is_text else "figure"
        for x in values:
            if x not in known:
                text = f"<bdi>{escape(x)}</bdi>" if is_text else f"{x:.12g}"
                known[x] = f'<td class="{kind}" data-name="{heading}">{text}'
                if is_text and name == category_noun(data.rated):
                    known[x] = f"<td class=h>{escape(x)}"
        add(heading, np.array([known[x] for x in values], object), figure=not is_text)
    if cells:
        cells[0] = np.array(["<tr>"], object) + cells[0]
    return EventTableCells(headings, cells)


def _array(values: list[Any]) -> HostArray:
    return np.array(values, float)


def _cells(values: HostArray, cell: Any) -> HostArray:
    """[M] the cell of each value, made once for each different one."""
    different, number = np.unique(values, return_inverse=True)
    return np.array([cell(x) for x in different.tolist()], object)[number]


def figure_cell(name: str, text: str) -> str:
    return f"<td class={CELL_CLASSES[name]}>{text}"


def player_cells(data: SiteData, linked: bool = True) -> HostArray:
    """[num_players] the cell of each player."""
    return np.array([f"<td>{x}" for x in _player_names(data, linked)], object)


def _player_names(data: SiteData, linked: bool) -> list[str]:
    """The names of all players as HTML."""
    texts = [escape(join_figures(x)) for x in data.names]
    if not linked:
        return [f"<bdi>{x}</bdi>" for x in texts]
    return [f"<a href={x}.html>{y}</a>" for x, y in zip(data.slugs, texts, strict=True)]


def _player_list_cells(data: SiteData, lists: PlayerLists, linked: bool, head: str = "<td>") -> HostArray:
    """[M] the cell of each list of players, made once for each different one."""
    names, tuples = _player_names(data, linked), lists.to_tuples()
    cells = {players: head + ", ".join([names[i] for i in players]) for players in set(tuples)}
    return np.array([cells[players] for players in tuples], object)


def format_chance(p: float) -> str:
    """A probability in percent, as on all pages."""
    if p != p:
        return ""
    return escape(format_percentage(p))


def _time_cell(data: SiteData, name: str, time: float) -> str:
    text = "" if time != time else f"{round(time, 3):.12g}"
    if text and data.rated.clock == "dates":
        text = f"<time>{np.datetime64(int(np.floor(time)), 'D')}</time>"
    return figure_cell(name, text) if name in CELL_CLASSES else f"<td>{text}"


def _result_cells(data: SiteData, columns: dict[str, Any]) -> HostArray:
    points = columns.get("points")
    texts = {}
    for x in set(columns["score"]):
        word, kind = RESULTS.get(x, (f"scored {x:g}", "s"))
        texts[x] = f"<td class={kind}>{word}"
    if points is None:
        return np.array([texts[x] for x in columns["score"]], object)
    return np.array([f"{texts[x]} {y}".rstrip() for x, y in zip(columns["score"], points, strict=True)], object)


def iterate_upset_win_positions_by_player(data: SiteData, columns: dict[str, Any]) -> Iterator[HostArray]:
    """For each player, the places of the wins over favourites, those with the lowest chances first."""
    start = data.careers.start
    player = np.repeat(np.arange(len(start) - 1), np.diff(start))
    score, chance = _array(columns["score"]), _array(columns["chance"])
    expected = chance + 0.5 * _array(columns["draw"]) if "draw" in columns else chance
    wins = np.flatnonzero((score == 1.0) & (expected < 0.5))
    wins = wins[np.lexsort((-wins, chance[wins], player[wins]))]
    bounds = np.searchsorted(player[wins], np.arange(len(start)))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield wins[begin : min(end, begin + MAX_UPSETS)]


def most_frequent_player_rows_and_counts(
    data: SiteData, others: PlayerLists, has_draws: bool
) -> tuple[list[str], list[int]]:
    """For each player, rows of those with whom or against whom they played most often, and how many these were.

    `others` lists them for each event of the careers.
    """
    careers, count, event = data.careers, len(data.slugs), others.holders
    player = careers.player.astype(np.int64)
    key = player[event] * count + others.player
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    first = np.flatnonzero(np.diff(sorted_key, prepend=-1))
    score = np.asarray(data.line_ups.score)[event[order]]
    met = np.diff(np.append(first, len(order)))
    won, lost = (np.add.reduceat(score == x, first) if len(first) else np.zeros(0, int) for x in (1.0, 0.0))
    last = event[order[np.append(first[1:], len(order)) - 1]] if len(first) else first
    pair_player, opponent = np.divmod(sorted_key[first], count)
    ranked = np.lexsort((-last, -met, pair_player))
    bounds = np.searchsorted(pair_player[ranked], np.arange(count + 1)).tolist()
    chosen = np.concatenate([ranked[a : min(b, a + MAX_OPPONENTS)] for a, b in pairwise(bounds)])
    names = player_cells(data)[opponent[chosen]].tolist()
    figures = [met, won, *([met - won - lost] if has_draws else []), lost]
    headings = [event_nouns(data.rated)[1], "won", *(["drawn"] if has_draws else []), "lost"]
    cells = [
        [figure_cell(name, f"{x:,}") for x in values[chosen].tolist()]
        for name, values in zip(headings, figures, strict=True)
    ]
    if data.rated.clock is not None:
        cells.append(_cells(careers.time[last[chosen]], lambda x: _time_cell(data, "last met", x)).tolist())
    rows = ["<tr>" + "".join(x) for x in zip(names, *cells, strict=True)]
    sizes = np.diff(bounds)
    ends = np.append(0, np.cumsum(np.minimum(sizes, MAX_OPPONENTS))).tolist()
    return ["".join(rows[a:b]) for a, b in pairwise(ends)], sizes.tolist()


def heading_row(headings: Iterable[tuple[str, bool]]) -> str:
    """The heads of columns, given with whether they are figures."""
    return "".join(f'<th scope="col" class="{"figure" if y else "words"}">{x}</th>' for x, y in headings)


COURSE_YEARS = 10  # of the line of a career
SPAN_PLAYERS = 50  # the greatest range of whose lines is the height of all lines


class CareerLines(NamedTuple):
    """The lines of careers of current players."""

    levels: list[str]  # of each, by rank, as of `ratings_to_level_letters`
    heading: str


def build_career_lines(data: SiteData) -> CareerLines:
    """The lines of careers of current players, all over the same time."""
    careers, dated = data.careers, data.rated.clock == "dates"
    has_times = data.rated.clock is not None and not np.isnan(careers.time).any() and len(careers.time) > 0
    grid, heading = np.zeros(0), "Career"
    if has_times:
        first, last = float(careers.time.min()), float(careers.time.max())
        years = (last - first) / MEAN_YEAR_DAYS
        if dated and years >= 2:
            first = max(first, last - COURSE_YEARS * MEAN_YEAR_DAYS)
            heading = f"{min(round(years), COURSE_YEARS)} years"
        grid = np.linspace(first, last, COURSE_POINTS)
    ratings = np.full((len(data.listed), COURSE_POINTS), np.nan)
    for row, i in zip(ratings, data.listed.tolist(), strict=True):
        begin, end = careers.start[i : i + 2].tolist()
        if end > begin:
            mean = careers.after.mean[begin:end]
            at = (
                np.searchsorted(careers.time[begin:end], grid, side="right") - 1
                if has_times
                else _evenly_spaced_events(end - begin)
            )
            row[:] = np.where(at < 0, np.nan, mean[np.maximum(at, 0)])
    return CareerLines([ratings_to_level_letters(row, _widest_rating_range(ratings)) for row in ratings], heading)


def _evenly_spaced_events(count: int) -> HostArray:
    """[COURSE_POINTS] positions in a career of so many events."""
    return np.round(np.linspace(0, count - 1, COURSE_POINTS)).astype(int)


def _widest_rating_range(ratings: HostArray) -> float:
    """The height of lines in points: the greatest range among the first players."""
    some = ratings[:SPAN_PLAYERS]
    some = some[~np.isnan(some).all(axis=1)]
    return float((np.nanmax(some, axis=1) - np.nanmin(some, axis=1)).max()) if len(some) else 1.0


def ranking_axis(data: SiteData, begin_rank: int, end_rank: int) -> Axis:
    """The axis of the intervals of ranks `begin_rank` to `end_rank`, from 0."""
    rating, deviation = data.current.rating[begin_rank:end_rank], data.current.deviation
    half = np.zeros(len(rating)) if deviation is None else 1.96 * deviation[begin_rank:end_rank]
    return make_axis(float((rating - half).min()), float((rating + half).max()))


def ranking_heads(data: SiteData, lines: CareerLines, axis: Axis) -> str:
    """The heads of the columns."""
    heads = [("rank", "rank", ""), ("words name", data.noun.one, ""), ("figure rating", "rating", "")]
    heads.append(("interval", f'<span class="axis">{axis.labels}</span><span class="hidden">95% interval</span>', ""))
    if data.current.change is not None:
        heads.insert(1, ("move", "move", data.change_period))
        heads.append(("figure change", "change", data.change_period))
    heads.append(("course", lines.heading, ""))
    if has_peaks(data):
        heads.append(("figure peak", "peak", peak_definition(data)))
    heads.append(("figure more", event_nouns(data.rated)[1], ""))
    if data.current.last is not None:
        heads += [("words more", x, "") for x in (last_event_heading(data.rated), "peak on")[: 1 + has_peaks(data)]]
    titles = [f' title="{escape(title)}"' if title else "" for _, _, title in heads]
    return "".join(
        f'<th scope="col" class="{kind}"{title}>{text}</th>'
        for (kind, text, _), title in zip(heads, titles, strict=True)
    )


def ranking_rows(data: SiteData, lines: CareerLines, axis: Axis, begin_rank: int, end_rank: int, link: Any) -> str:
    """The rows of ranks `begin_rank` to `end_rank`, from 0; `link` makes attributes of a link from an id and a rank."""
    board, digits, dated = data.current, data.digits, data.rated.clock == "dates"
    events, with_peaks, rows = event_nouns(data.rated)[1], has_peaks(data), []
    groups = groups_by_id(data)
    uncertain, returned = uncertain_half_width(data), returned_players(data)
    intervals = _ratings_and_half_widths(data, begin_rank, end_rank)
    for at in range(begin_rank, min(end_rank, len(data.listed))):
        i = int(data.listed[at])
        rating = float(board.rating[at])
        half = None if board.deviation is None else 1.96 * float(board.deviation[at])
        peak, games = np.asarray(board.peak)[at], int(np.asarray(board.games)[at])
        year = f" <small>{str(board.peak_time[at])[:4]}</small>" if dated and board.peak_time is not None else ""
        attributes = link(i, at)
        name = f"<bdi>{escape(join_figures(data.names[i]))}</bdi>"
        name = f"<a {attributes}>{name}</a>" if attributes else name
        is_uncertain = half is not None and uncertain is not None and half > uncertain
        if is_uncertain:
            name += ' <small class="uncertain">uncertain</small>'
        if groups[i] > 1:
            name += f' <small class="badge">group {groups[i]}</small>'
        rank = int(board.rank[at])
        cells = [f'<td class="figure rank" data-name="rank">{"~" if is_uncertain else ""}{rank:,}']
        if board.change is not None and board.rank_then is not None:
            cells.append(
                f'<td class="move" data-name="move">{_move(rank, int(board.rank_then[at]), bool(returned[at]))}'
            )
        cells.append(f'<td class="words name" data-name="name">{name}')
        cells.append(f'<td class="figure rating" data-name="rating">{use_minus_sign(format_decimals(rating, digits))}')
        cells.append(f'<td class="interval">{interval_bar(axis, *intervals[at - begin_rank], digits)}')
        if board.change is not None:
            change = float(board.change[at])
            text = "" if change != change else use_minus_sign(format_decimals(change, digits, signed=True))
            cells.append(f'<td class="figure change" data-name="change">{text}')
        cells.append(f'<td class="course">{course_line(lines.levels[at])}')
        if with_peaks:
            cells.append(
                f'<td class="figure peak" data-name="peak">{format_peak(data, peak)}{year if peak == peak else ""}'
            )
        cells.append(f'<td class="figure more" data-name="{events}">{games:,}')
        if board.last is not None and board.peak_time is not None:
            dates = [(last_event_heading(data.rated), board.last[at]), ("peak on", board.peak_time[at])]
            for heading, time in dates[: 1 + with_peaks]:
                cells.append(f'<td class="words more" data-name="{heading}">{_time_text(time, dated)}')
        rows.append(f"<tr>{''.join(cells)}\n")
    return "".join(rows)


def _ratings_and_half_widths(data: SiteData, begin_rank: int, end_rank: int) -> list[tuple[float, float | None]]:
    """Ratings with the decimals that scripts know, so that both tell the same ends of intervals."""
    rating, deviation = data.current.rating[begin_rank:end_rank], data.current.deviation
    half = [None] * len(rating) if deviation is None else half_widths_for_json(data, deviation[begin_rank:end_rank])
    return list(zip(ratings_for_json(data, rating), half, strict=True))


def _move(rank: int, rank_then: int, has_returned: bool) -> str:
    if rank_then == 0:
        return "<span>back</span>" if has_returned else '<span class="up">new</span>'
    if rank == rank_then:
        return "\u2013"
    up = rank < rank_then
    return f'<span class="{"up" if up else "drop"}">{"▲" if up else "▼"} {abs(rank_then - rank):,}</span>'


def _time_text(time: Any, dated: bool) -> str:
    if time != time or (dated and np.isnat(time)):
        return ""
    return f"<time>{str(time)[:10]}</time>" if dated else f"{round(float(time), 3):.12g}"
