"""The seasons of every player: rows with results, rating and rank, a strip of ranks, and how they stand now."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.leaderboards import ranks_over_time
from jaxrate.site.html_tables import Column, make_column, table_head
from jaxrate.site.site_data import SiteData
from jaxrate.views.findings import find_form
from jaxrate.views.wording import rating_unit

MAX_SEASONS = 60  # of the history, of which players have rows: the last ones
PODIUM = 3  # places
MIN_WRITTEN_WIDTH = 0.03  # of a chart, from which on the mark of a season has room for its rank


def list_seasons(data: SiteData) -> dict[str, float]:
    """The begins of the last seasons that the history knows, or of calendar years of dates; none without either."""
    rated, time = data.rated, data.careers.time
    seasons = dict(rated.seasons or {})
    if not seasons and data.is_dated and len(time):
        first, last = days_to_dates(np.floor(np.array([time.min(), time.max()]))).astype("M8[Y]")
        years = np.arange(first, last + np.timedelta64(1, "Y"))
        seasons = dict(zip(years.astype(str).tolist(), years.astype("M8[D]").astype(float).tolist(), strict=True))
    return dict([*seasons.items()][-MAX_SEASONS:])


class PlayerSeasons(NamedTuple):
    """What pages of players say of seasons, as HTML by id; empty of players with fewer than two."""

    heads: str  # of the tables
    rows: list[str]
    strips: list[str]  # ranks at the ends of seasons, along the axis of the chart


def build_player_seasons(data: SiteData) -> PlayerSeasons:
    """The rows and strips of seasons, the latest row first."""
    seasons, count = list_seasons(data), len(data.names)
    begin, careers = np.array([*seasons.values()]), data.careers
    known = np.flatnonzero(careers.time >= begin[0]) if len(begin) > 1 else np.zeros(0, int)
    if not len(known):
        return PlayerSeasons("", [""] * count, [""] * count)
    player, season = careers.player[known], np.searchsorted(begin, careers.time[known], "right") - 1
    first = np.flatnonzero((np.diff(player, prepend=-1) != 0) | (np.diff(season, prepend=-1) != 0))
    before, after = known[first], known[np.append(first[1:], len(known)) - 1]
    owner, number = player[first], season[first]
    ends = np.append(np.nextafter(begin[1:], -np.inf), float(careers.time.max()))
    rank = ranks_over_time(data.rated, ends, **data.leaderboard_options)[number, owner]
    rating = careers.after.mean[after]
    signed = partial(data.format_rating, signed=True)
    columns = [
        make_column("words", "season", map([*seasons].__getitem__, number.tolist())),
        make_column("figure", "rank", rank.tolist(), lambda x: "" if x != x else f"{x:,.0f}"),
        make_column("figure", "rating", rating.tolist(), data.format_rating),
        make_column("figure", "change", (rating - careers.before.mean[before]).tolist(), signed),
        *_result_columns(data, known, first),
    ]
    cells = [[f"<td{' class=n' * (x.kind == 'figure')}>{text}" for text in x.cells] for x in columns]
    rows, marks = ["<tr>" + "".join(x) for x in zip(*cells, strict=True)], _draw_marks(data, begin, owner, number, rank)
    bounds = np.searchsorted(owner, np.arange(count + 1)).tolist()
    several = [slice(a, b if b > a + 1 else a) for a, b in pairwise(bounds)]
    return PlayerSeasons(
        table_head(columns), ["".join(rows[x][::-1]) for x in several], ["".join(marks[x]) for x in several]
    )


def _result_columns(data: SiteData, known: HostArray, first: HostArray) -> list[Column]:
    """How many events there were in each season, which begin at the `first` of the `known` rows, and how they ended."""
    columns = {data.events: np.ones(len(known), bool)} | result_masks(data, known)
    sums = {name: np.add.reduceat(x.astype(int), first).tolist() for name, x in columns.items()}
    return [make_column("figure", name, x, "{:,}".format) for name, x in sums.items()]


def result_masks(data: SiteData, rows: HostArray | slice) -> dict[str, HostArray]:
    """How each of these rows of the careers ended, by what that is called: as matches, or as contests of many."""
    if data.line_ups.score is None:
        place = data.careers.gather(data.rated.events["rank"])[rows]
        return {"won": place == 1, "podiums": place <= PODIUM}
    score = np.asarray(data.line_ups.score)[rows]
    drawn = {"drawn": (score != 1.0) & (score != 0.0)} if data.has_draws else {}
    return {"won": score == 1.0, **drawn, "lost": score == 0.0}


def count_results(data: SiteData, rows: HostArray | slice = slice(None)) -> dict[str, HostArray]:
    """[num_players] how many of these rows of the careers each has, by how they ended."""
    player = data.careers.player[rows]
    return {way: np.bincount(player[x], minlength=len(data.names)) for way, x in result_masks(data, rows).items()}


def _draw_marks(data: SiteData, begin: HostArray, owner: HostArray, number: HostArray, rank: HostArray) -> list[str]:
    """A mark for each season of each player, the darker the better the rank, from its begin to its end on the chart."""
    careers = data.careers
    left, right = careers.time[careers.start[owner]], careers.time[careers.start[owner + 1] - 1]
    edges = np.stack([begin[number], np.append(begin[1:], np.inf)[number]])
    low, high = np.clip((edges - left) / np.maximum(right - left, 1e-9), 0.0, 1.0)
    share = np.clip(1.0 - np.log(rank) / np.log(np.nanmax(np.append(rank, 2.0))), 0.05, 1.0)
    marks = []
    for a, b, x, place in zip(low.tolist(), high.tolist(), share.tolist(), rank.tolist(), strict=True):
        text = f"{place:,.0f}" if b - a > MIN_WRITTEN_WIDTH else ""
        style = f"left:{100 * a:.1f}%;width:{100 * (b - a):.1f}%;--share:{100 * x:.0f}%"
        marks.append("" if place != place else f'<i style="{style}">{text}</i>')
    return marks


def find_forms(data: SiteData, names: Sequence[str]) -> list[str]:
    """How the rating of each player stands in their career, by id, with these names; the name of one without a peak."""
    careers, listed, start = data.careers, {*data.listed.tolist()}, data.careers.start.tolist()
    leads = careers.after.mean if data.level is None else careers.after.mean - data.level
    noun, unit = "rating" if data.level is None else "lead over the median", rating_unit(data.rated.system)
    now, forms = float(careers.time.max()) if data.rated.clock is not None else 0.0, [*names]
    for i in np.flatnonzero(data.peak >= 0).tolist():
        begin, end = start[i : i + 2]
        days = careers.time[begin:end] if data.is_dated else None
        form = find_form(names[i], leads[begin:end], days, int(data.peak[i]) - begin, now if i in listed else None)
        forms[i] = str(form._replace(noun=noun, unit=unit))
    return forms
