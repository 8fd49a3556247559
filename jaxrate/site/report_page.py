"""A rated history as one HTML page: ranking, players, predictions for pairs, and accuracy.

The page needs no network, and its policy forbids access to it. The site shares the templates, styles and scripts in the
folder `page`.
"""

import math
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from gzip import compress
from typing import Any, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import contest_metrics_notes
from jaxrate.evaluation.comparison import Comparison
from jaxrate.forecasts.pairwise_probabilities import encode_matchup_tables
from jaxrate.history.history import History, describe_event_counts, find_player_id
from jaxrate.site import player_pages
from jaxrate.site.benchmark_page import comparison_view
from jaxrate.site.front_page import build_front_modules
from jaxrate.site.html_tables import mark_html_safe
from jaxrate.site.page_templates import SHARED_SCRIPTS, render_page
from jaxrate.site.page_texts import PageViews, build_page_views
from jaxrate.site.site_data import PageOptions, SiteData, build_site_data, script_safe_json
from jaxrate.site.table_rows import (
    RANKING_ROWS,
    build_leaders,
    find_standing_or_past_peak,
    interpolate_careers,
    name_link_with_group,
    peak_column,
    render_ranking,
)
from jaxrate.views.accuracy import FIELD_WORDS
from jaxrate.views.charts import format_peak_time
from jaxrate.views.findings import Finding
from jaxrate.views.wording import format_with_unit, rating_unit, spell_dates

LONG_EVENTS, LONG_POINTS = 50, 45  # latest events in the section of a top player, and how many more points of the line
SMALL_CAREERS, SMALL_POINTS = 24, 160  # of the best, side by side, and points of the line of each
TABLE_COLUMNS = {"chance", "draw", "expected", "change", "ground"}  # of careers, which only tables show, and no chart


@enforce_argument_annotations
def report_html(
    rated: History,
    *,
    top: int = 50,
    players: Iterable[Any] = (),
    quality: Mapping[str, str] | None = None,
    comparison: Comparison | None = None,
    **options: Unpack[PageOptions],
) -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        Path("report.html").write_text(jr.site.report_html(rated, title="Our league"), encoding="utf-8")

    Args:
      rated: a history from `jr.rate` or `jr.load`.
      title: the heading of the page. None: as in `write_site`.
      top: number of the first players of the ranking who have a section with their last fifty matches or contests.
      players: names of further players with such a section.
      quality: metrics of the predictions as text, by name. None: not shown.
      comparison: comparison with other systems. None: not shown.
      smoothed: the smoothed history of the same matches, from `jr.smooth`: charts then have a second line, in
        hindsight. None: one line.
      active, min_games: definition of current players, as for `jr.leaderboard`: the page opens with them.
      noun: what the rated are called, one and many, as ("team", "teams"), as in `write_site`.
      points: [n] points of the first and of the second player of each match, as in `write_site`.

    Raises:
      ValueError: for an unknown player, a smoothed history of other matches, points of another number of
        matches, or a noun that is not two words.
      ImportError: if jinja2 is not installed.
    """
    data = build_site_data(rated, options)
    views = build_page_views(data, options.get("title"))
    chosen = [find_player_id(rated.players, name) for name in players]
    listed, accuracy = data.listed.tolist(), views.variables["accuracy"]
    sections = _build_player_sections(views, [*dict.fromkeys([*listed[:top], *chosen])])
    shown, nouns = min(RANKING_ROWS, len(listed)), views.site["nouns"]
    compared = comparison_view(comparison, rated.system.name, views.site["events"], rated.period)
    careers = _draw_small_careers(data, sections.link)
    links = {
        "#leaderboard": "Ranking",
        "#careers": "Careers" * (careers is not None),
        "#quality": "Accuracy",
        "#player": nouns.capitalize(),
        "#pair": views.site["pair_title"] * views.site["paired"],
        "#about": "Method",
    }
    packed = views.shared | {"board": {x: y for x, y in views.board.items() if x != "slug"}}
    packed |= {"pairs": [*map(encode_matchup_tables, views.matchups.values())]}
    packed |= {"sections": sections.by_place, "shown": [*sections.by_place]}
    return render_page(
        "report.html",
        (*SHARED_SCRIPTS, "report.js"),
        **views.variables,
        title=views.site["title"],
        links=links,
        site=views.site,
        headline=views.headline,
        description=spell_dates(views.headline.finding),
        rated=rated,
        event_counts=describe_event_counts(len(rated.events["row"]), rated.contests),
        ranking=render_ranking(data, views.lines, 0, shown, sections.link),
        comparison=compared,
        leaders=build_leaders(data, sections.link),
        modules=build_front_modules(data, sections.link),
        careers=careers,
        is_report=True,
        end=shown,
        total=len(listed),
        views=[],
        num_sections=len(sections.by_place),
        quality=quality or {},
        metric_notes=contest_metrics_notes({"pair inversion"} if accuracy.words == FIELD_WORDS else ()),
        long_events=LONG_EVENTS,
        shared=views.shared,
        data=b64encode(compress(script_safe_json(packed).encode(), 9, mtime=0)).decode(),  # which the script unpacks
    )


class SmallCareers(NamedTuple):
    """The careers of the best, side by side on one scale."""

    finding: str
    panels: list[tuple[Any, str]]  # the name and the peak of each as markup for templates, and the path of the line


def _draw_small_careers(data: SiteData, link: Callable[[int], str]) -> SmallCareers | None:
    """The careers of the first of the ranking, and who of them stood highest; None where peaks have no dates."""
    players, time = data.first_group[:SMALL_CAREERS], data.careers.time
    peak = data.peak_lead[players]
    if not data.is_dated or len(peak) < 2 or np.isnan(peak).all():
        return None
    ratings = interpolate_careers(data, players, np.linspace(time.min(), time.max(), SMALL_POINTS), True)
    heights = np.round(100.0 * (np.nanmax(ratings) - ratings) / max(np.nanmax(ratings) - np.nanmin(ratings), 1e-9))
    peaks, panels = peak_column(data, players)[0].cells, []
    for i, text, height in zip(players.tolist(), peaks, heights.tolist(), strict=True):
        line = "L".join(f"{x} {y:.0f}" for x, y in enumerate(height) if y == y)
        panels.append((mark_html_safe(f"{name_link_with_group(data, link, i)} <small>{text}</small>"), f"M{line}"))
    best, unit = int(np.nanargmax(peak)), rating_unit(data.rated.system)
    amount = format_with_unit(float(peak[best]), unit) + " above the median" * data.drifts
    year = f"in {format_peak_time(np.datetime64(int(data.peak_time[players[best]]), 'D'), math.inf)}"
    finding = Finding("peaked", "highest of these", data.names[players[best]], f"{len(peak)}", amount, since=year)
    return SmallCareers(str(finding), panels)


class PlayerSections(NamedTuple):
    """The sections of players, which scripts draw."""

    place: list[int]  # of each player, by id, on the list of all
    by_place: dict[int, Any]

    def link(self, player: int) -> str:
        """A link that leads nowhere until the script, which draws the sections, gives it an address."""
        return f'data-section="{self.place[player]}"' * (self.place[player] in self.by_place)


def _build_player_sections(views: PageViews, ids: list[int]) -> PlayerSections:
    """The sections of players with their last events and points of the line."""
    data = views.data
    place, pauses = data.place.tolist(), player_pages.mark_events_after_pauses(data)
    columns, summaries = player_pages.career_columns(data, pauses, 0), player_pages.summarise_players(data, views.site)
    forms, sections = find_standing_or_past_peak(data, data.names), {}
    for i in ids:
        rows, is_drawn = _choose_rows(data, i, pauses)
        section = player_pages.player_career(data, i, columns, rows, place.__getitem__)
        begin, end = data.careers.start[i : i + 2].tolist()
        listed = min(LONG_EVENTS, end - begin)
        section |= {key: section[key][-listed:] for key in TABLE_COLUMNS & section.keys()}
        section |= {
            "form": forms[i].removeprefix(data.names[i]),
            "played": end - begin,
            "listed": listed,
            "number": (rows - begin + 1).tolist(),
        }
        if not is_drawn.all():
            section["drawn"] = np.flatnonzero(is_drawn).tolist()
        sections[place[i]] = section | {"summary": summaries[i], "note": player_pages.write_chart_note(data, pauses, i)}
    return PlayerSections(place, sections)


def _choose_rows(data: SiteData, player: int, pauses: HostArray) -> tuple[HostArray, HostArray]:
    """The career's rows in a player's section: the last, and some at even distances; and which are on the line."""
    begin, end = data.careers.start[player : player + 2].tolist()
    last = np.arange(max(begin, end - LONG_EVENTS), end)
    drawn = np.linspace(begin, end - 1, min(LONG_POINTS + LONG_EVENTS, end - begin)).astype(int)
    after_pauses = begin + np.flatnonzero(pauses[begin:end])
    drawn = np.concatenate([drawn, after_pauses - 1, after_pauses, data.peak[[player]]])
    rows = np.union1d(last, drawn[drawn >= 0])
    return rows, np.isin(rows, drawn)
