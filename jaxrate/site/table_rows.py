"""Rows of tables: events, seasons and rankings."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_percentage
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.leaderboards import ranks_over_time
from jaxrate.site.drawings import COURSE_POINTS, Axis, course_line, interval_bar, make_axis, ratings_to_level_letters
from jaxrate.site.html_tables import (
    Column,
    join_by_player,
    join_figures,
    make_column,
    name_to_html,
    render_table,
    table_head,
)
from jaxrate.site.site_data import SiteData, ratings_for_json, times_for_json
from jaxrate.views.charts import YEAR, format_peak_time, half_widths
from jaxrate.views.findings import (
    Finding,
    Standing,
    find_lead,
    find_most_firsts,
    find_past_peak,
    find_player_standing,
)
from jaxrate.views.line_ups import PlayerLists, side_words
from jaxrate.views.wording import category_noun, rating_unit

RANKING_ROWS = 50  # on each page
MAX_OPPONENTS, MAX_UPSETS = 10, 5

RESULTS = {1.0: ("won", "up"), 0.5: ("drew", "s"), 0.0: ("lost", "drop")}


class SitePage(NamedTuple):
    """A page of a site."""

    path: str
    template: str
    heading: str
    variables: dict[str, Any]  # of the template
    summary: str = ""  # for search engines
    link: str = ""  # the text of the link that all pages have to it


def split_ranking(first_path: str, stem: str, total: int) -> list[dict[str, Any]]:
    """The parts of a ranking of so many, as variables of their pages: paths, and the first and the last rank."""
    starts = range(0, max(total, 1), RANKING_ROWS)
    paths = [None, first_path, *(f"{stem}-{i}.html" for i in range(2, len(starts) + 1)), None]
    return [
        {"path": path, "earlier": earlier, "later": later, "total": total}
        | {"begin": begin + 1, "end": min(begin + RANKING_ROWS, total)}
        for earlier, path, later, begin in zip(paths, paths[1:], paths[2:], starts, strict=False)
    ]


class EventTableCells(NamedTuple):
    """Cells [M] of each event, by column."""

    heads: str  # of the columns, as HTML
    cells: list[HostArray]

    def render_rows(self, places: HostArray) -> str:
        """The rows of events at these places, as HTML."""
        columns = [x[places] for x in self.cells]
        return "".join(chain.from_iterable(zip(*columns, strict=True)))


def build_event_table_cells(data: SiteData, columns: dict[str, Any]) -> EventTableCells:
    """The cells of all events; `columns` are those of careers for JSON."""
    line_ups, names = data.line_ups, player_names(data)
    values = _cell_values_by_key(data, columns)
    chance, sides = "expected" if data.is_draw_half else "chance", side_words(data.rated)

    def name_all(players: Any) -> str:
        return ", ".join([names[i] for i in (players if isinstance(players, tuple) else (players,))])

    opponent = "opponent" if line_ups.are_alone else "opponents"
    told: list[Any] = [  # key, heading, whether it is a figure, and the cell of a value; of matches or of contests
        ("time", "date" if data.is_dated else "time", False, lambda x: f"<td>{time_text(data, x)}"),
        ("contest", "contest", False, lambda x: f"<td><bdi>{escape(x)}</bdi>"),
        ("place", "place", True, lambda x: _figure_cell(f"{x[0]:,} of {x[1]:,}")),
        ("expected", "expected", True, lambda x: _figure_cell(f"{x:,.1f}")),
        ("mates", "with", False, lambda x: f"<td class=k>{name_all(x)}"),
        ("opponent", opponent, False, lambda x: f"<td>{name_all(x)}"),
        ("ground", sides.head, False, lambda x: f"<td class=h>{sides.names[x]}"),
        ("result", "result", False, lambda x: _result_cell(*x)),
        ("chance", chance, True, lambda x: _figure_cell(format_chance(x))),
        ("draw", "draw", True, lambda x: _figure_cell(format_chance(x))),
        ("rating", "rating", True, lambda x: _figure_cell(data.format_rating(x))),
        ("change", "change", True, lambda x: _figure_cell(data.format_rating(x, signed=True))),
        *(_further_column(data, name, values) for name in data.columns),
    ]
    shown = [x for x in told if values.get(x[0])]
    heads = [Column("figure" if is_figure else "words", heading, ()) for _, heading, is_figure, _ in shown]
    cells = [_cells(values[key], cell) for key, *_, cell in shown]
    cells[0] = np.array(["<tr>"], object) + cells[0]
    return EventTableCells(table_head(heads), cells)


def _cells(values: list[Any], cell: Callable[[Any], str]) -> HostArray:
    """[M] the cell of each value, made once for each different one."""
    cell_of = {x: cell(x) for x in set(values)}
    return np.array([cell_of[x] for x in values], object)


def _cell_values_by_key(data: SiteData, columns: dict[str, Any]) -> dict[str, Any]:
    """Lists of the values of cells, by key."""
    values = {name: x.tolist() for name, x in columns.items()}
    after, before = data.careers.after.mean, data.careers.before.mean
    return values | {
        "result": [*zip(values.get("score", ()), values.get("points", repeat("")), strict=False)],
        "place": [*zip(values.get("place", ()), values.get("among", ()), strict=True)],
        "rating": np.round(np.asarray(after), data.digits).tolist(),
        "change": (np.round(after - before, data.digits) + 0.0).tolist(),
    }


def _further_column(data: SiteData, name: str, values: dict[str, Any]) -> tuple[str, str, bool, Callable[[Any], str]]:
    """A column of the file or of teams, as one of `build_event_table_cells`."""
    key, heading = f"column {name}", escape(name)
    is_text = any(isinstance(x, str) for x in values[key])
    head = f'<td class="{"words" if is_text else "figure"}" data-name="{heading}">'

    def cell(x: Any) -> str:
        if x is None:
            return f'<td data-name="{heading}">'
        if is_text and name == category_noun(data.rated):
            return f"<td class=h>{escape(x)}"
        return f"{head}<bdi>{escape(x)}</bdi>" if is_text else f"{head}{x:.12g}"

    return key, heading, not is_text, cell


def _figure_cell(text: str) -> str:
    return f"<td class=n>{text}"


def player_names(data: SiteData) -> list[str]:
    """The names of all players as HTML, linked to their pages from the page of another."""
    return [f"<a href={x}.html>{escape(join_figures(y))}</a>" for x, y in zip(data.slugs, data.names, strict=True)]


def format_chance(p: float | None) -> str:
    """A probability in percent, as on all pages."""
    return "" if p is None else escape(format_percentage(p))


def time_text(data: SiteData, time: Any) -> str:
    """A time of the columns for JSON, as HTML."""
    if time is None:
        return ""
    return f"<time>{np.datetime64(time, 'D')}</time>" if data.is_dated else f"{time:.12g}"


def _result_cell(score: float, points: str) -> str:
    word, kind = RESULTS.get(score, (f"scored {score:g}", "s"))
    return f"<td class={kind}>{word} {points}".rstrip()


def find_upset_wins(data: SiteData, columns: dict[str, Any]) -> list[HostArray]:
    """For each player, the places of the wins over favourites, those with the lowest chances first."""
    player, start = data.careers.player, np.arange(len(data.careers.start))
    nothing = np.zeros(len(player))
    score, chance, draw = (np.array(columns.get(x, nothing), float) for x in ("score", "chance", "draw"))
    wins = np.flatnonzero((score == 1.0) & (chance + 0.5 * draw < 0.5))
    wins = wins[np.lexsort((-wins, chance[wins], player[wins]))]
    return [x[:MAX_UPSETS] for x in np.split(wins, np.searchsorted(player[wins], start[1:-1]))]


def find_players_met(data: SiteData, columns: dict[str, Any], others: PlayerLists) -> tuple[list[str], list[int]]:
    """HTML rows of whom each player most often played with or against, and how many there were, by id."""
    count = len(data.slugs)
    if not len(others.player):
        return [""] * count, [0] * count
    event = others.holders
    key = data.careers.player[event].astype(np.int64) * count + others.player
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    end = np.append(first[1:], len(order))
    met, last = end - first, event[order[end - 1]]
    results = [np.add.reduceat(x.astype(int), first) for x in result_masks(data, event[order]).values()]
    player, other = np.divmod(key[order][first], count)
    ranked, num_met = np.lexsort((-last, -met, player)), np.bincount(player, minlength=count)
    number = np.arange(len(player)) - np.repeat(np.cumsum(num_met) - num_met, num_met)
    pairs = ranked[number < MAX_OPPONENTS]
    names = np.array(player_names(data), object)
    cells = [_cells(x[pairs].tolist(), lambda count: _figure_cell(f"{count:,}")) for x in (met, *results)]
    if "time" in columns:
        cells.append(_cells(columns["time"][last[pairs]].tolist(), lambda x: f"<td>{time_text(data, x)}"))
    rows = sum(cells, "<tr><td>" + names[other[pairs]])
    return join_by_player(rows.tolist(), player[pairs], count), num_met.tolist()


COURSE_YEARS = 10  # of the line of a career
SPAN_PLAYERS = 50  # the greatest range of whose lines is the height of all lines


class CareerLines(NamedTuple):
    """The lines of careers of current players."""

    levels: list[str]  # of each, by rank, as of `ratings_to_level_letters`
    heading: str


def build_career_lines(data: SiteData) -> CareerLines:
    """The lines of careers of current players, all over the same time, or by the numbers of their events."""
    careers, heading, first, last = data.careers, "Career", 0.0, 1.0
    is_timed = data.rated.clock is not None and careers.have_all_times
    if is_timed:
        first, last = float(careers.time.min()), float(careers.time.max())
        years = (last - first) / YEAR
        if data.is_dated and years >= 2:
            first = max(first, last - COURSE_YEARS * YEAR)
            heading = f"{min(round(years), COURSE_YEARS)} years"
    ratings = interpolate_careers(data, data.listed, np.linspace(first, last, COURSE_POINTS), is_timed)
    some = ratings[:SPAN_PLAYERS]  # whose greatest range is the height of all lines
    some = some[~np.isnan(some).all(axis=1)]
    height = float((np.nanmax(some, axis=1) - np.nanmin(some, axis=1)).max()) if len(some) else 1.0
    levels = [ratings_to_level_letters(row, height) for row in ratings]
    return CareerLines(levels, heading)


def interpolate_careers(data: SiteData, players: HostArray, grid: HostArray, is_timed: bool) -> HostArray:
    """[n, m] the ratings of players at times, or at shares of their events; NaN before the first event."""
    careers, ratings = data.careers, np.full((len(players), len(grid)), np.nan)
    for row, i in zip(ratings, players.tolist(), strict=True):
        career = slice(*careers.start[i : i + 2].tolist())
        mean = careers.after.mean[career]
        time = careers.time[career] if is_timed else np.linspace(0.0, 1.0, len(mean))
        row[:] = np.interp(grid, time, mean, left=np.nan)
    return ratings


def ranked_columns(
    data: SiteData, ids: list[int], ranks: Sequence[int], rating: HostArray, half: HostArray, link: Any
) -> tuple[Axis, list[Column]]:
    """The columns of rank, name, rating and interval of these ids, and the axis; `link` makes attributes from an id.

    Intervals have `half` of their widths, 0 of systems without any.
    """
    axis = make_axis(float((rating - half).min()), float((rating + half).max()))
    shown = map(partial(ratings_for_json, data), (rating, half))  # as scripts know them
    bars = [interval_bar(axis, x, y, data.digits) for x, y in zip(*shown, strict=True)]
    interval = f'<span class="axis">{axis.labels}</span><span class="hidden">95% interval</span>'
    return axis, [
        make_column("figure rank", "rank", ranks, "{:,}".format, label="rank"),
        make_column("words name", data.noun.one, ids, partial(name_link_with_group, data, link), label="name"),
        make_column("figure rating", "rating", rating.tolist(), data.format_rating, label="rating"),
        Column("interval", interval, bars),
    ]


def name_link_with_group(data: SiteData, link: Any, player: int) -> str:
    """The name of a player in a ranking, as HTML, with their group where that is not the first."""
    name, attributes, group = str(name_to_html(data.names[player])), link(player), data.group[player]
    name = f"<a {attributes}>{name}</a>" if attributes else name
    return name + f' <small class="badge">group {group}</small>' * int(group > 1)


def render_ranking(data: SiteData, lines: CareerLines, begin: int, end: int, link: Any) -> Any:
    """The table of ranks `begin` to `end`, from 0, of the ranking of current players."""
    ids, events = data.listed[begin:end], data.events
    ranks, half = data.rank[ids].tolist(), half_widths(data.deviation[ids])
    axis, columns = ranked_columns(data, ids.tolist(), ranks, data.rating[ids], half, link)
    if data.change_since:
        moves = map(rank_move_html, ranks, data.rank_then[ids].tolist())
        columns.insert(1, Column("move", "move", [*moves], "move", data.change_period))
        signed, about = partial(data.format_rating, signed=True), {"label": "change", "title": data.change_period}
        columns.append(make_column("figure change", "change", data.change[ids].tolist(), signed, **about))
    columns.append(make_column("course", lines.heading, lines.levels[begin:end], course_line))
    columns += peak_column(data, ids)
    columns.append(make_column("figure more", events, data.careers.totals[ids], "{:,}".format, label=events))
    dates = {data.last_event_heading: data.last_time, "peak on": data.peak_time}
    for heading, times in [*dates.items()][: data.is_timed * (1 + data.has_peaks)]:
        days = times_for_json(data, times[ids])
        columns.append(make_column("words more", heading, days, partial(time_text, data), label=heading))
    return render_table("Ranking", columns, "rows ranking", element="board", style=axis.grid)


def peak_column(data: SiteData, ids: HostArray) -> list[Column]:
    """The column of the peaks of some players, with their years; none where nobody has any."""
    texts = map(data.format_peak, data.peak_lead[ids].tolist())
    years = days_to_dates(np.floor(data.peak_time[ids])).astype("M8[Y]").astype(str)
    cells = [x + f" <small>{year}</small>" * (data.is_dated and x != "") for x, year in zip(texts, years, strict=True)]
    return [Column("figure peak", "peak", cells, "peak", data.peak_definition())] * data.has_peaks


def rank_move_html(rank: int, rank_then: int) -> str:
    """The move from an earlier rank, 0 of who was not listed, as HTML."""
    if rank_then == 0:
        return '<span class="up">joined</span>'
    if rank == rank_then:
        return "\u2013"
    kind, arrow = ("up", "▲") if rank < rank_then else ("drop", "▼")
    return f'<span class="{kind}">{arrow} {abs(rank_then - rank):,}</span>'


# Seasons of players.

MIN_SEASONS, MAX_LEADERS, LEADER_MARKS = 5, 8, 4  # of a table of those who ranked first, its rows, and labels or more
PODIUM = 3  # places
LETTER_WIDTH = 0.01  # of a chart; the mark of a season has room for its rank if it is wider than all letters and one


def list_season_begins(data: SiteData) -> dict[str, float]:
    """The begins of the seasons that the history knows, or of calendar years of dates; none without either."""
    rated, time = data.rated, data.careers.time
    seasons = dict(rated.seasons or {})
    if not seasons and data.is_dated and len(time):
        first, last = days_to_dates(np.floor(np.array([time.min(), time.max()]))).astype("M8[Y]")
        years = np.arange(first, last + np.timedelta64(1, "Y"))
        seasons = dict(zip(years.astype(str).tolist(), years.astype("M8[D]").astype(float).tolist(), strict=True))
    return seasons


def _ranks_at_season_ends(data: SiteData, begin: HostArray) -> HostArray:
    """[S, num_players] the ranks of all at the ends of seasons with these begins."""
    ends = np.append(np.nextafter(begin[1:], -np.inf), float(data.careers.time.max()))
    return ranks_over_time(data.rated, ends, **data.leaderboard_options)


def build_leaders(data: SiteData, link: Callable[[int], str]) -> dict[str, Any]:
    """Who ranked first at the ends of most seasons, as a finding and a table; nothing of a short history, or of one."""
    seasons = list_season_begins(data)
    begin = np.array([*seasons.values()])
    if len(begin) < MIN_SEASONS:
        return {}
    is_first = (_ranks_at_season_ends(data, begin) == 1) & (data.group == 1)
    counts = is_first.sum(axis=0)
    leaders = np.argsort(-counts, kind="stable")[: counts.astype(bool).sum()]
    shown = leaders[:MAX_LEADERS].tolist()
    if len(shown) < 2:
        return {}
    edges = np.append(begin, data.careers.time.max())
    edges = np.round(1000 * (edges - edges[0]) / (edges[-1] - edges[0])).astype(int)
    names = np.array([*seasons], object)
    marks = slice(0, None, max(len(begin) // LEADER_MARKS, 1))
    axis = Axis(0.0, 1.0, [*zip((edges[:-1][marks] / 10).tolist(), map(escape, names[marks]), strict=True)])
    bars = [
        _draw_seasons_in_lead(names[is_first[:, i]], edges[:-1][is_first[:, i]], edges[1:][is_first[:, i]])
        for i in shown
    ]
    columns = [
        make_column("words name", data.noun.one, shown, partial(name_link_with_group, data, link)),
        Column("reign", f'<span class="axis">{axis.labels}</span>', bars),
        make_column("figure", "times first", counts[shown], "{:,}".format),
        *peak_column(data, leaders[:MAX_LEADERS]),
    ]
    others = len(leaders) - len(shown)
    so_far = f", the last one as of {data.last_day}" * data.is_dated
    more = f" {data.noun.quantify(others)} more ranked first at the end of some." * (others > 0)
    ranks = np.where(is_first, 1.0, np.nan)
    return {
        "finding": str(find_most_firsts(ranks, {i: data.names[i] for i in shown}, is_yearly=True)),
        "table": render_table("Who ranked first", columns, "rows static narrow reigns", style=axis.grid),
        "note": f"Marks are seasons at whose end a {data.noun.one} ranked first{so_far}.{more}",
    }


def _draw_seasons_in_lead(names: HostArray, begin: HostArray, end: HostArray) -> str:
    """Seasons with these names as bars, from the begin to the end of each in thousandths of the history."""
    bars = "".join(f"M{a} 5H{b}" for a, b in zip(begin.tolist(), end.tolist(), strict=True))
    head = '<svg class="reign" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label='
    return f'{head}"{escape(", ".join(names.tolist()))}"><path d="{bars}"/></svg>'


def build_player_season_tables(data: SiteData) -> tuple[str, list[str], list[str]]:
    """What players' pages say of seasons, by id: heads, HTML rows (latest first), and strips of final ranks."""
    seasons, count = list_season_begins(data), len(data.names)
    begin, careers = np.array([*seasons.values()]), data.careers
    known = np.flatnonzero(careers.time >= begin[0]) if len(begin) > 1 else np.zeros(0, int)
    if not len(known):
        return "", [""] * count, [""] * count
    player, season = careers.player[known], np.searchsorted(begin, careers.time[known], "right") - 1
    first = np.flatnonzero((np.diff(player, prepend=-1) != 0) | (np.diff(season, prepend=-1) != 0))
    owner, number, last = player[first], season[first], known[np.append(first[1:], len(known)) - 1]
    rank = _ranks_at_season_ends(data, begin)[number, owner]
    rating = np.round(careers.after.mean[last], data.digits)  # as it is shown, so that changes add up
    change = np.where(np.diff(owner, prepend=-1) == 0, np.diff(rating, prepend=np.nan), np.nan)
    signed = partial(data.format_rating, signed=True)
    columns = [
        make_column("words", "season", map([*seasons].__getitem__, number.tolist())),
        make_column("figure", "rank", rank.tolist(), lambda x: f"{x:,.0f}" * (x == x)),
        make_column("figure", "rating", rating.tolist(), data.format_rating),
        make_column("figure", "change", change.tolist(), signed),
        *_season_result_columns(data, known, first),
    ]
    cells = [[f"<td{' class=n' * (x.kind == 'figure')}>{text}" for text in x.cells] for x in columns]
    rows = ["<tr>" + "".join(x) for x in zip(*cells, strict=True)]
    marks = np.array(_season_rank_marks(data, begin, owner, number, rank), object)
    several = np.flatnonzero(np.bincount(owner)[owner] > 1)
    latest = several[np.lexsort((-several, owner[several]))]
    tables, strips = (
        join_by_player(texts[places].tolist(), owner[places], count)
        for texts, places in ((np.array(rows, object), latest), (marks, several))
    )
    return table_head(columns), tables, strips


def _season_result_columns(data: SiteData, known: HostArray, first: HostArray) -> list[Column]:
    """How many events there were in each season, which begin at the `first` of the `known` rows, and how they ended."""
    columns = {data.events: np.ones(len(known), bool)} | result_masks(data, known)
    sums = {name: np.add.reduceat(x.astype(int), first).tolist() for name, x in columns.items()}
    return [make_column("figure", name, x, "{:,}".format) for name, x in sums.items()]


def result_masks(data: SiteData, rows: HostArray | slice) -> dict[str, HostArray]:
    """How each of these rows of the careers ended, by what that is called: as matches, or as contests of many."""
    if not data.line_ups.in_two:
        place = data.careers.gather(data.rated.events["rank"])[rows]
        return {"won": place == 1, "podiums": place <= PODIUM}
    score = data.line_ups.score[rows]
    drawn = {"drawn": (score != 1.0) & (score != 0.0)} if data.has_draws else {}
    return {"won": score == 1.0, **drawn, "lost": score == 0.0}


def count_results(data: SiteData, rows: HostArray | slice = slice(None)) -> dict[str, HostArray]:
    """[num_players] how many of these rows of the careers each has, by how they ended."""
    player = data.careers.player[rows]
    return {way: np.bincount(player[x], minlength=len(data.names)) for way, x in result_masks(data, rows).items()}


def _season_rank_marks(
    data: SiteData, begin: HostArray, owner: HostArray, number: HostArray, rank: HostArray
) -> list[str]:
    """A mark for each season of each player, the darker the better the rank, from its begin to its end on the chart."""
    careers = data.careers
    left, right = careers.time[careers.start[owner]], careers.time[careers.start[owner + 1] - 1]
    edges = np.stack([begin[number], np.append(begin[1:], np.inf)[number]])
    low, high = np.clip((edges - left) / np.maximum(right - left, 1e-9), 0.0, 1.0)
    share = np.clip(1.0 - np.log(rank) / np.log(np.nanmax(np.append(rank, 2.0))), 0.05, 1.0)
    marks = []
    for a, b, x, place in zip(low.tolist(), high.tolist(), share.tolist(), rank.tolist(), strict=True):
        text = f"{place:,.0f}"
        style = f"left:{100 * a:.1f}%;width:{100 * (b - a):.1f}%;--share:{100 * x:.0f}%"
        has_room = b - a > LETTER_WIDTH * (len(text) + 1)
        marks.append(f'<i style="{style}">{text * has_room}</i>' * (place == place))
    return marks


def find_standing_or_past_peak(data: SiteData, names: Sequence[str]) -> list[str]:
    """Where each player stands in the ranking, by id, with these names; the peak of those who play no more."""
    careers, start, unit = data.careers, data.careers.start.tolist(), rating_unit(data.rated.system)
    standings, forms = _find_standings(data, names, unit), [*names]
    for i, standing in standings.items():
        forms[i] = str(standing)
        if 0 <= data.peak[i] == start[i + 1] - 1:
            noun = "lead" if data.drifts else "rating"
            forms[i] = str(Finding("form", "at the peak", forms[i], noun=noun))
    for i in np.flatnonzero(data.peak >= 0).tolist():
        if i not in standings:
            begin, end = start[i : i + 2]
            days, row = careers.time[begin:end] if data.is_dated else None, int(data.peak[i])
            forms[i] = str(find_past_peak(names[i], float(data.leads[row]), days, row - begin, unit))
    return forms


def _find_standings(data: SiteData, names: Sequence[str], unit: str) -> dict[int, Finding]:
    """Where those who are listed stand in the ranking, by id, with these names."""
    since, groups, leads = data.change_since, data.group[data.listed], {}
    if since and data.is_dated:
        since = format_peak_time(np.datetime64(since, "D"), 0.0)
    for group in np.unique(groups).tolist():
        first = data.listed[groups == group]
        leads[group] = find_lead([names[i] for i in first[:2]], data.rating[first[:2]], data.deviation[first[:2]], unit)
    columns = data.listed, data.rank[data.listed], groups, np.round(data.change[data.listed], data.digits)
    return {
        i: find_player_standing(names[i], Standing(rank, group, change, since), leads[group], unit)
        for i, rank, group, change in zip(*(x.tolist() for x in columns), strict=True)
    }
