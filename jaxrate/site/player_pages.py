"""The page of every player: a summary, the chart, tables, and the career as data for the scripts of the site."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from html import escape
from itertools import chain, compress, count, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, use_minus_sign
from jaxrate.history.event_columns import days_to_dates
from jaxrate.site import table_rows
from jaxrate.site.category_rankings import CategoryStrengths, render_player_category_tables
from jaxrate.site.drawings import axis_marks
from jaxrate.site.html_tables import mark_dates
from jaxrate.site.site_data import (
    EXTRA_DIGITS,
    FIRST_EVENTS,
    SiteData,
    chances_for_json,
    ratings_for_json,
    round_for_json,
    times_for_json,
    values_for_json,
)
from jaxrate.views.charts import YEAR, half_widths
from jaxrate.views.line_ups import LineUps, count_sides, sides_of_career_events
from jaxrate.views.wording import spell_dates

LATEST_EVENTS = 150  # on the page of a player; the career of one who has more is a file of its own
LATEST_NAMES = 300  # of others in these, at most, so that pages of teams stay small
ARCHIVE_RATIO = 3  # of the events on each page of earlier events
CAREERS_FOLDER = "careers"  # within the folder of data
TOKEN = "\x01"  # around what differs from player to player in a rendered template


def count_latest_events(line_ups: LineUps) -> int:
    """How many events the page of a player has, at most."""
    return min(LATEST_EVENTS, round(LATEST_NAMES / max(line_ups.names_per_event, 1.0)))


def write_player_pages(
    site_data: SiteData,
    environment: Any,
    context: dict[str, Any],
    folder: Path,
    next_matches: Mapping[str, str],
    category_strengths: list[CategoryStrengths],
) -> list[str]:
    """Write the pages of all players, and remove former ones; returns paths of pages, and of earlier events."""
    pauses, line_ups = mark_events_after_pauses(site_data), site_data.line_ups
    names = [escape(x) for x in site_data.names]
    columns = career_columns(site_data, pauses)
    rows, charts = table_rows.build_event_table_cells(site_data, columns), draw_career_charts(site_data, pauses)
    summaries, start = summarise_players(site_data, context), site_data.careers.start.tolist()
    strengths, most = render_player_category_tables(site_data, category_strengths), count_latest_events(line_ups)
    opponents, num_met = table_rows.find_players_met(site_data, columns, line_ups.opponents)
    partners, num_joined = table_rows.find_players_met(site_data, columns, line_ups.mates)
    upsets, (season_heads, seasons, strips) = (
        table_rows.find_upset_wins(site_data, columns),
        table_rows.build_player_season_tables(site_data),
    )
    forms = table_rows.find_standing_or_past_peak(site_data, [f"<bdi>{x}</bdi>" for x in names])
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

    template_of = cache(partial(_split_template, environment, {"heads": rows.heads, "season_heads": season_heads}))
    written = []

    def write_page(name: str, template: str, fields: dict[str, str], **flags: bool) -> None:
        split = template_of(template, tuple(fields), **flags)
        parts = [fields[x] if i % 2 else x for i, x in enumerate(split)]
        (folder / "players" / f"{name}.html").write_bytes("".join(parts).encode())
        written.append(f"players/{name}.html")

    for i, slug in enumerate(site_data.slugs):
        begin, end = start[i : i + 2]
        is_long = end - begin > most
        career = encode(_whole_career(site_data, i, columns)).replace("<", "\\u003c")
        summary, preview = mark_dates(summaries[i]), escape(spell_dates(summaries[i]))
        fields = {
            "heading": names[i],
            "form": forms[i],
            "seasons": seasons[i],
            "strip": strips[i],
            "summary": summary,
            "strengths": strengths[i],
            "description": f"{names[i]}: {preview}",
            "preview": preview,
            "slug": slug,
            "address": quote(slug),
            "chart": charts[i],
            "note": write_chart_note(site_data, pauses, i),
            "next": next_matches.get(slug, ""),
            "opponents": opponents[i],
            "met": f"{num_met[i]:,}",
            "partners": partners[i],
            "joined": f"{num_joined[i]:,}",
            "upsets": rows.render_rows(upsets[i]),
            "events": rows.render_rows(np.arange(max(begin, end - most), end)[::-1]),
            "earlier": f"{slug}.2.html",
            "data": career * (not is_long),
        }
        flags = {"played": end > begin, "several": end > begin + 1, "long": is_long}
        flags |= {"won": len(upsets[i]) > 0, "has_partners": num_joined[i] > 0, "seasonal": bool(seasons[i])}
        write_page(slug, "site_player.html", fields, **flags)
        if is_long:
            script = f"(window.jaxrateCareers ??= {{}})[{json.dumps(slug)}] = {career};\n"
            (folder / "data" / CAREERS_FOLDER / f"{slug}.js").write_bytes(script.encode())
            size = ARCHIVE_RATIO * most
            for number, stop in enumerate(range(end - most, begin, -size), 2):
                first = max(begin, stop - size)
                following = f'<a href="{slug}.{number + 1}.html">Earlier</a>' * (first > begin)
                given = {"events": rows.render_rows(np.arange(first, stop)[::-1]), "earlier": following}
                write_page(f"{slug}.{number}", "site_matches.html", fields | given)
    return written


def _split_template(
    environment: Any, heads: Mapping[str, str], name: str, fields: tuple[str, ...], **flags: bool
) -> tuple[str, ...]:
    """A rendered template in parts: text, the name of one of the fields, text, and so on."""
    marks = {field: f"{TOKEN}{field}{TOKEN}" for field in fields}
    text = environment.get_template(name).render(page="player", root="../", **heads, **marks, **flags)
    return tuple(text.split(TOKEN))


def career_columns(site_data: SiteData, pauses: HostArray, extra_digits: int = EXTRA_DIGITS) -> dict[str, HostArray]:
    """[M] the columns of all players' careers, for JSON, with whether a long pause comes before each event."""
    careers = site_data.careers
    ratings = {"rating": careers.after.mean, "change": careers.after.mean - careers.before.mean}
    if site_data.has_intervals:
        ratings["spread"] = half_widths(careers.after.deviation)
    if site_data.hindsight is not None:
        mean, deviation = map(careers.gather, site_data.hindsight)
        ratings |= {"known": mean, "knownSpread": half_widths(deviation)}
    columns: dict[str, Any] = {name: ratings_for_json(site_data, x, extra_digits) for name, x in ratings.items()}
    if site_data.rated.clock is not None:
        columns |= {"time": times_for_json(site_data, careers.time), "pauses": pauses}
    if site_data.line_ups.in_teams:
        columns["mates"] = site_data.line_ups.mates.to_tuples()
    columns |= _match_columns(site_data) if site_data.line_ups.in_two else _contest_columns(site_data)
    for name, values in site_data.columns.items():
        columns[f"column {name}"] = values_for_json(careers.gather(values), 3)
    return {name: np.fromiter(x, object, len(x)) for name, x in columns.items()}


def _match_columns(site_data: SiteData) -> dict[str, Any]:
    """The columns of careers in matches."""
    careers, line_ups, table = site_data.careers, site_data.line_ups, site_data.rated.events
    opponents = line_ups.opponents
    columns: dict[str, Any] = {"opponent": opponents.player if line_ups.are_alone else opponents.to_tuples()}
    columns["score"] = values_for_json(line_ups.score, 3)
    ground = sides_of_career_events(site_data.rated, careers)
    columns |= {} if ground is None else {"ground": ground}
    told = {"chance": "win", "draw": "draw"} if {"win", "draw"} <= table.keys() else {"chance": "prediction"}
    columns |= {key: chances_for_json(careers.column(name)) for key, name in told.items()}
    if len(points := site_data.points):
        both = zip(careers.gather(points).tolist(), careers.gather(points[:, ::-1]).tolist(), strict=True)
        columns["points"] = [f"{a:g}\u2013{b:g}" * (a + b == a + b) for a, b in both]
    return columns


def _contest_columns(site_data: SiteData) -> dict[str, Any]:
    """The columns of careers in contests of more than two sides."""
    careers, table = site_data.careers, site_data.rated.events
    among = careers.gather(count_sides(table))
    expected = 1.0 + (1.0 - careers.gather(table["prediction"])) * (among - 1)
    return {
        "contest": [str(x) for x in careers.gather(table["contest"]).tolist()],
        "place": careers.gather(table["rank"]).tolist(),
        "among": among.tolist(),
        "expected": round_for_json(expected, 1),
    }


def _whole_career(site_data: SiteData, player: int, columns: dict[str, HostArray]) -> dict[str, Any]:
    """The career of a player for their page, in JSON, with links and names of the others in it, by first appearance."""
    numbers = defaultdict[int, int](count().__next__)
    rows = slice(*site_data.careers.start[player : player + 2].tolist())
    career = player_career(site_data, player, columns, rows, numbers.__getitem__)
    further = {name.removeprefix("column "): career.pop(name) for name in [*career] if name.startswith("column ")}
    return career | {"others": [(site_data.slugs[x], site_data.names[x]) for x in numbers], "columns": further}


def player_career(
    site_data: SiteData,
    player: int,
    columns: dict[str, HostArray],
    rows: HostArray | slice,
    number: Callable[[int], int],
) -> dict[str, Any]:
    """The career of a player, of which these rows of all careers are told; others have a `number` by their id."""
    career: dict[str, Any] = {name: x[rows].tolist() for name, x in columns.items()}
    if "pauses" in career:
        career["pauses"] = np.flatnonzero(career["pauses"]).tolist()
    if "ground" in career:
        career["ground"] = "".join(map(str, career["ground"]))
    return career | _peak_fields(site_data, player) | _encode_opponents_and_team_mates(career, number)


def _peak_fields(site_data: SiteData, player: int) -> dict[str, Any]:
    """The peak of a player by the number of its event, and how far it is above the level, if that drifts."""
    peak = int(site_data.peak[player])
    if peak < 0:
        return {}
    noted: dict[str, Any] = {"peak": peak - int(site_data.careers.start[player]) + 1}
    if site_data.drifts:
        noted["lead"] = round(float(site_data.leads[peak]), site_data.digits + EXTRA_DIGITS)
    return noted


def _encode_opponents_and_team_mates(career: dict[str, Any], number: Callable[[int], int]) -> dict[str, Any]:
    """The columns of opponents and team-mates, who are given by id, alone or several, with their numbers."""
    return {
        key: [[*map(number, x)] if isinstance(x, tuple) else number(x) for x in career[key]]
        for key in ("opponent", "mates")
        if key in career
    }


def summarise_players(site_data: SiteData, context: dict[str, Any]) -> list[str]:
    """A few sentences about each player, by id."""
    results, above = _describe_results(site_data), " over the median" * site_data.drifts
    last_on, texts = site_data.last_event_heading, []
    figures = site_data.rating, half_widths(site_data.deviation), site_data.careers.totals, site_data.peak_lead
    dates = (days_to_dates(np.floor(x)).astype(str) for x in (site_data.peak_time, site_data.last_time))
    columns = (x.tolist() for x in (*figures, *dates))
    for result, rating, half, games, peak, peaked_on, last in zip(results, *columns, strict=True):
        margin = f" ± {half:,.{site_data.digits}f}" * site_data.has_intervals
        played = f"{format_count(games, context['event'])}{result * bool(games)}"
        top = f"peak {site_data.format_peak(peak)}{above}{f' on {peaked_on}' * site_data.is_dated}" * (peak == peak)
        end = ", ".join(filter(None, [top, f"{last_on} on {last}" * (site_data.is_dated and games > 0)]))
        told = f"Rating {site_data.format_rating(rating)}{margin}", played, end[:1].upper() + end[1:]
        texts.append(". ".join(filter(None, told)) + ".")
    return texts


def _describe_results(site_data: SiteData) -> list[str]:
    """How often each player won, by id; of contests of many, with podiums."""
    counts = table_rows.count_results(site_data)
    text = ", ".join(f"{{:,}} {way}" for way in counts)
    return [f": {text.format(*row)}" for row in zip(*(x.tolist() for x in counts.values()), strict=True)]


# Charts, all drawn at once: lines with bands as SVG, and labels in percent of its size.

UNITS = 1000  # width and height of a chart in its own units
BINS = 200  # of the width; each shows its last event
EDGE_ROOM = 0.05  # of the height of lines and bands: free above and below them, so that dots and bands are seen whole
LABEL_ROOM = 0.2  # of the width, within which the label of a peak is written towards the middle
MONTH_STEPS = {12 * x: 10 for x in (1, 2, 5, 10, 20, 50, 100)} | dict.fromkeys((1, 2, 3, 4, 6), 5)  # and most labels
MIN_MARKS = 3  # labels that have room on a phone
EPOCH = date(1970, 1, 1).toordinal()
PAUSE_YEARS, PAUSE_GAPS = 3, 5  # a pause is longer than so many years, and than so many median gaps of the career


def draw_career_charts(data: SiteData, pauses: HostArray, players: Sequence[int] | None = None) -> list[str]:
    """The inside of each player's chart, empty for fewer than two events; `pauses` [M] come before events."""
    careers, counts = data.careers, data.careers.totals
    charts = [""] * len(counts)
    is_drawn = (counts > 1) & (True if players is None else np.isin(np.arange(len(counts)), players))
    drawn, row = np.flatnonzero(is_drawn), np.flatnonzero(np.repeat(is_drawn, counts))
    if not len(drawn):
        return charts
    lines, count, time = _lines_of_rows(data, row), counts[drawn], careers.time[row]
    begin = np.append(0, np.cumsum(count)[:-1])
    left, right = time[begin], time[begin + count - 1]
    is_timed = right > left  # neither NaN nor equal; other events are numbered
    across = np.where(np.repeat(is_timed, count), time, np.arange(len(time)) - np.repeat(begin, count) + 1.0)
    left, right = np.where(is_timed, left, 1.0), np.where(is_timed, right, count)
    low, high = _lowest_and_highest_ratings_by_chart([*chain(*lines.values())], begin, count)
    x = UNITS * (across - np.repeat(left, count)) / np.repeat(right - left, count)
    top, scale = np.repeat(high, count), np.repeat(UNITS / (high - low), count)
    bins = np.floor(BINS * x / UNITS)
    is_kept = np.append(bins[1:] != bins[:-1], True)
    has_peak = data.peak[drawn] >= 0
    peak = np.where(has_peak, begin + (data.peak - careers.start[:-1])[drawn], begin)
    is_kept[begin] = is_kept[np.append(begin[1:], len(x)) - 1] = is_kept[peak] = True
    kept_peak = (np.cumsum(is_kept) - 1)[peak].tolist()
    bounds = np.append(0, np.cumsum(np.add.reduceat(is_kept, begin))).tolist()
    is_broken = np.logical_or.reduceat(pauses[row], np.append(0, np.flatnonzero(is_kept)[:-1] + 1))
    texts = np.array([str(i) for i in range(-UNITS, 2 * UNITS + 1)], object)
    columns = texts[np.round(x[is_kept]).astype(int) + UNITS]

    def points(values: HostArray) -> list[str]:
        y = np.clip(np.round((top - values) * scale)[is_kept], -UNITS, 2 * UNITS).astype(int)
        return list((columns + " " + texts[y + UNITS]).tolist())

    paths = {style: [*map(points, edges)] for style, edges in lines.items()}
    by_date = is_timed & data.is_dated
    axes = zip(*(x.tolist() for x in (low, high, left, right, by_date, ~is_timed)), strict=True)
    for i, (player, ends) in enumerate(zip(drawn.tolist(), axes, strict=True)):
        first, last = bounds[i : i + 2]
        breaks = (np.flatnonzero(is_broken[first:last]) + first).tolist()
        pieces = [slice(*x) for x in pairwise([first, *breaks, last])]
        drawing, label = "".join(_draw_line(style, *path, pieces=pieces) for style, path in paths.items()), ""
        if has_peak[i]:
            point = paths["first"][0][kept_peak[i]]
            drawing += f'<path class="peak" d="M{point}h0"/>'
            label = _peak_label(point, data, int(data.peak[player]), bool(by_date[i]))
        charts[player] = _frame(drawing, label, ends[:2], ends[2:4], *ends[4:])
    return charts


def _lines_of_rows(data: SiteData, row: HostArray) -> dict[str, list[HostArray]]:
    """The ratings at the time in these rows of the careers, and in hindsight, by style, with both edges of bands."""
    lines: dict[str, tuple[Any, Any]] = {"first": data.careers.after}
    if data.hindsight is not None:
        mean, deviation = map(data.careers.gather, data.hindsight)
        lines["second now"] = mean, deviation
    bands = {style: [0.0] if x is None else [0.0, half_widths(x), -half_widths(x)] for style, (_, x) in lines.items()}
    return {style: [(mean + x)[row] for x in bands[style]] for style, (mean, _) in lines.items()}


def _lowest_and_highest_ratings_by_chart(
    edges: list[HostArray], chart_start: HostArray, count: HostArray
) -> tuple[HostArray, HostArray]:
    """The ends of each chart's axis: it holds lines and bands, but for the first events of long careers."""
    number = np.arange(count.sum()) - np.repeat(chart_start, count)
    is_first = (number < FIRST_EVENTS) & np.repeat(count >= 2 * FIRST_EVENTS, count)
    low = np.min([np.minimum.reduceat(np.where(is_first, np.inf, x), chart_start) for x in edges], axis=0)
    high = np.max([np.maximum.reduceat(np.where(is_first, -np.inf, x), chart_start) for x in edges], axis=0)
    room = np.where(high - low < 1e-6, 1.0, EDGE_ROOM * (high - low))
    return low - room, high + room


def _draw_line(style: str, middle: list[str], *edges: list[str], pieces: list[slice]) -> str:
    """The band between edges, if any, and a career's line in pieces, with dots over gaps; points are texts."""
    drawing = ""
    if edges:
        outline = "Z".join(f"M{'L'.join(edges[0][x] + edges[1][x][::-1])}" for x in pieces)
        drawing = f'<path class="area {style}" d="{outline}Z"/>'
    line = "".join(f"M{'L'.join(middle[x])}{'h0' if x.stop == x.start + 1 else ''}" for x in pieces)
    drawing += f'<path class="line {style}" d="{line}"/>'
    bridges = "".join(f"M{middle[x.start - 1]}L{middle[x.start]}" for x in pieces[1:])
    return drawing + f'<path class="line {style} pause" d="{bridges}"/>' * bool(bridges)


def write_chart_note(data: SiteData, pauses: HostArray, player: int) -> str:
    """The note below a player's chart on what it shows besides the line."""
    own, events = slice(*data.careers.start[player : player + 2].tolist()), data.events
    band = "The band is the 95% interval at the time."
    if data.hindsight is not None:
        band = "The bands are 95% intervals. Hindsight is at the level and spread that the ratings had at the time."
    texts = {
        f"The first {FIRST_EVENTS} {events} may run off the chart.": data.careers.totals[player] >= 2 * FIRST_EVENTS,
        "A dotted line leads over a pause of years.": pauses[own].any(),
        band: data.has_intervals,
    }
    return " ".join(compress(texts, texts.values()))


def mark_events_after_pauses(data: SiteData) -> HostArray:
    """[M] whether a long pause comes before an event, over which the line of its career is broken."""
    time = data.careers.time
    is_late = np.zeros(len(time), bool)
    for begin, end in pairwise(data.careers.start.tolist()):
        gap = np.diff(time[begin:end])
        if len(gap) and data.is_dated:
            median = np.sort(gap)[len(gap) // 2]
            is_late[begin + 1 : end] = gap > max(YEAR * PAUSE_YEARS, PAUSE_GAPS * median)
    return is_late


def _peak_label(point: str, data: SiteData, row: int, by_date: bool) -> str:
    """The rating of a peak, with its year, above its point; beside it where a label might stick out of a phone."""
    x, y = (int(z) for z in point.split())
    text = f"peak {data.format_peak(float(data.leads[row]))}"
    if by_date:
        text += f" ({date.fromordinal(EPOCH + int(data.careers.time[row] // 1)).year})"
    edge = " late" if x > (1 - LABEL_ROOM) * UNITS else " early" if x < LABEL_ROOM * UNITS else ""
    return f'<b class="top{edge}" style="left:{100 * x / UNITS:.1f}%;top:{100 * y / UNITS:.1f}%">{text}</b>'


def _frame(
    drawing: str, peak_label: str, ratings: tuple[float, float], times: tuple[float, float], by_date: bool,
    is_counted: bool,
) -> str:  # fmt: skip
    """The chart around its lines: grid and labels of both axes; of events that are counted these are whole numbers."""
    (low, high), (left, right) = ratings, times
    down = [((high - y) / (high - low), use_minus_sign(f"{y:,.10g}")) for y in axis_marks(low, high)]
    grid = "".join(f"M0 {round(UNITS * at)}H{UNITS}" for at, _ in down)
    tall = "".join(f'<b class="tall" style="top:{100 * at:.1f}%">{text}</b>' for at, text in down)
    widths = _date_marks(left, right) if by_date else [(x, f"{x:.9g}") for x in axis_marks(left, right)]
    ends = {left: " begin", right: " end"}  # where labels of whole dates would stick out of the chart
    wide = "".join(
        f'<b class="wide{ends.get(x, "")}" style="left:{100 * (x - left) / (right - left):.1f}%">{text}</b>'
        for x, text in widths
        if not is_counted or x == round(x)
    )
    return f'<path class="grid" d="{grid}"/>{drawing}</svg><span aria-hidden="true">{tall}{wide}{peak_label}</span>'


def _date_marks(left: float, right: float) -> list[tuple[float, str]]:
    """Years within the axis; where there are fewer than three, months, or else its ends and its middle as dates."""
    begin, end = (date.fromordinal(EPOCH + int(x)) for x in (left, right))
    months = range(12 * begin.year + begin.month - (begin.day == 1), 12 * end.year + end.month)
    for step, most in MONTH_STEPS.items():
        starts = [date(x // 12, x % 12 + 1, 1) for x in months if x % step == 0]
        if MIN_MARKS <= len(starts) <= most:
            texts = [str(x.year) if step >= 12 else f"<time>{x:%Y-%m}</time>" for x in starts]
            return [(float(x.toordinal() - EPOCH), text) for x, text in zip(starts, texts, strict=True)]
    days = dict.fromkeys([left, float((int(left) + int(right)) // 2), right])
    return [(x, f"<time>{date.fromordinal(EPOCH + int(x))}</time>") for x in days]
