"""The ranking of each category, as of each surface: pages with the ratings that count there."""

from html import escape
from typing import Any

import numpy as np

from jaxrate.core.text_format import format_decimals, use_minus_sign
from jaxrate.history.leaderboards import classify_first_place
from jaxrate.site.category_strengths import CategoryStrengths
from jaxrate.site.drawings import interval_bar, make_axis
from jaxrate.site.headline import describe_lead, format_points, stale_clause
from jaxrate.site.json_columns import half_widths_for_json, ratings_for_json
from jaxrate.site.page_templates import join_figures
from jaxrate.site.site_data import UNCERTAIN_RATIO, SiteData, event_nouns
from jaxrate.site.wording import category_noun, pluralise

RANKING_ROWS = 50  # on each page
TOP_GAINERS = 50  # ranks among which who gains most from the category is sought


def ranking_links_with_leaders(data: SiteData, strengths: list[CategoryStrengths]) -> list[dict[str, str]]:
    """The rankings to choose from: over all categories, and of each that has a page; nothing without any such.

    Each has its path, its name, and its leader with their rating.
    """
    ranked = [x for x in strengths if x.path]
    if not ranked:
        return []

    def format_leader(ids: Any, rating: Any) -> str:
        return f"{data.names[int(ids[0])]} {use_minus_sign(format_decimals(float(rating), data.digits))}"

    everything = f"All {pluralise(category_noun(data.rated))}"
    return [
        {"path": "index.html", "name": everything, "leader": format_leader(data.listed, data.current.rating[0])},
        *({"path": x.path, "name": x.name, "leader": format_leader(x.listed, x.mean[x.listed[0]])} for x in ranked),
    ]


def render_category_rankings(render_page: Any, data: SiteData, strengths: list[CategoryStrengths]) -> None:
    """Render the pages of all rankings by category, of so many rows each."""
    for one in strengths:
        starts = range(0, len(one.listed), RANKING_ROWS) if one.path else ()
        stem = one.path.removesuffix(".html")
        paths = [one.path, *(f"{stem}-{i}.html" for i in range(2, len(starts) + 1))]
        title, sentence = _write_finding(data, one) if one.path else ("", "")
        for number, begin in enumerate(starts):
            end = min(begin + RANKING_ROWS, len(one.listed))
            span = f"Ranks {begin + 1:,} to {end:,} {one.place}"
            grid, heads, rows = _draw_rows(data, one, begin, end)
            render_page(
                paths[number],
                "category",
                title if number == 0 else span,
                current=one.path,
                sentence=sentence if number == 0 else "",
                place=one.place,
                nouns=pluralise(category_noun(data.rated)),
                has_results=one.results is not None,
                grid=grid,
                heads=heads,
                rows=rows,
                begin=begin + 1,
                end=end,
                total=len(one.listed),
                earlier=paths[number - 1] if number else None,
                later=paths[number + 1] if number + 1 < len(paths) else None,
                page_summary=f"{title}. {sentence}" if number == 0 else "",
            )


def _write_finding(data: SiteData, one: CategoryStrengths) -> tuple[str, str]:
    """Who leads in the category, as a headline, and a sentence: who is listed, and whom it suits most."""
    mean, deviation = one.mean[one.listed], one.deviation[one.listed]
    certainty = classify_first_place(mean.tolist(), deviation.tolist())
    names = [data.names[i] for i in one.listed[:2]]
    gap = format_points(float(mean[0] - mean[1]), data.digits)
    lead = describe_lead(names, gap, certainty, is_plural=data.noun.is_collective)
    events, count = event_nouns(data.rated), len(one.listed)
    condition = f" with {one.min_events} {events[one.min_events != 1]} or more {one.place}" if one.min_events else ""
    current = "current " if len(data.listed) < len(data.names) else ""
    group = "" if data.current.group is None else f" of group {data.current.group[0]}"
    as_of = stale_clause(data)
    sentence = (
        f"{as_of + ', the' if as_of else 'The'} list has the {count:,} {current}{data.noun.many}{group}{condition}."
    )
    gain = (one.mean - _overall_ratings(data))[one.listed[:TOP_GAINERS]]
    best = int(np.argmax(gain))
    if gain[best] > 0 and round(float(gain[best]), data.digits) > 0:
        of = f"Of the top {TOP_GAINERS}, " if count > TOP_GAINERS else ""
        name, points = data.names[one.listed[best]], format_points(float(gain[best]), data.digits)
        verb = "gain" if data.noun.is_collective else "gains"
        sentence += f" {of}{name} {verb} most {one.place}: {points} above the rating over all."
    return f"{one.place[:1].upper()}{one.place[1:]}, {lead}", sentence


def _overall_ratings(data: SiteData) -> Any:
    """[num_players] ratings over all categories, by id."""
    rating = np.empty(len(data.names))
    rating[data.leaderboard_ids] = data.full_leaderboard.rating
    return rating


def _draw_rows(data: SiteData, one: CategoryStrengths, begin: int, end: int) -> tuple[str, str, str]:
    """The grid of the axis, the heads and the rows of ranks `begin` to `end`, from 0, as HTML."""
    ids = one.listed[begin:end]
    mean, half = one.mean[ids], 1.96 * one.deviation[ids]
    axis = make_axis(float((mean - half).min()), float((mean + half).max()))
    overall, overall_rank = _overall_ratings(data), np.zeros(len(data.names), int)
    overall_rank[data.listed] = data.current.rank
    limit = UNCERTAIN_RATIO * float(np.median(one.deviation[one.listed])) * 1.96
    events, digits = event_nouns(data.rated)[1], data.digits
    with_results = one.results is not None and data.line_ups.score is not None
    heads = [("rank", "rank"), ("words name", data.noun.one), ("figure rating", "rating")]
    heads.append(("interval", f'<span class="axis">{axis.labels}</span><span class="hidden">95% interval</span>'))
    heads += [("figure change", "vs overall"), ("figure overall", "overall rank")]
    if one.results is not None:
        heads.append(("figure count", events))
    if with_results:
        heads.append(("figure share", "won"))
    rows = []
    shown = zip(ratings_for_json(data, mean), half_widths_for_json(data, one.deviation[ids]), strict=True)
    for at, (i, bar) in enumerate(zip(ids.tolist(), shown, strict=True)):
        is_uncertain = half[at] > limit
        mark = ' <small class="uncertain">uncertain</small>' if is_uncertain else ""
        name = f"<a href=players/{data.slugs[i]}.html><bdi>{escape(join_figures(data.names[i]))}</bdi></a>{mark}"
        rating = use_minus_sign(format_decimals(float(mean[at]), digits))
        gain = use_minus_sign(format_decimals(float(one.mean[i] - overall[i]), digits, signed=True))
        cells = [
            f'<td class="figure rank">{"~" if is_uncertain else ""}{begin + at + 1:,}',
            f'<td class="words name" data-name="name">{name}',
            f'<td class="figure rating" data-name="rating">{rating}',
            f'<td class="interval">{interval_bar(axis, *bar, digits)}',
            f'<td class="figure change">{gain}',
            f'<td class="figure overall">{overall_rank[i]:,}',
        ]
        if one.results is not None:
            won, drawn, lost = one.results[i].tolist()
            games = won + drawn + lost
            cells.append(f'<td class="figure count">{games:,}<small> {events}</small>')
            if with_results:
                cells.append(f'<td class="figure share">{100 * won / games:.0f}%')
        rows.append(f"<tr>{''.join(cells)}\n")
    head = "".join(f'<th scope="col" class="{kind}">{text}</th>' for kind, text in heads)
    return axis.grid, head, "".join(rows)
