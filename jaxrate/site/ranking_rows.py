"""Rows of the ranking as HTML: rank, move, name, rating, interval, change, course of the career, peak."""

from html import escape
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, use_minus_sign
from jaxrate.site.drawings import COURSE_POINTS, Axis, course_line, interval_bar, make_axis, ratings_to_level_letters
from jaxrate.site.json_columns import half_widths_for_json, ratings_for_json, returned_players
from jaxrate.site.page_templates import join_figures
from jaxrate.site.site_data import (
    MEAN_YEAR_DAYS,
    SiteData,
    event_nouns,
    format_peak,
    groups_by_id,
    has_peaks,
    last_event_heading,
    peak_definition,
    uncertain_half_width,
)

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
