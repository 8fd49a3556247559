"""A rated history as one HTML page: ranking, players, predictions for pairs, and accuracy.

The page needs no network, and its policy forbids access to it. The site shares the templates, styles and scripts in the
folder `page`.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.text_format import contest_metrics_notes, format_percentage
from jaxrate.evaluation.comparison import Comparison
from jaxrate.history.history import History, describe_event_counts, find_player_id
from jaxrate.history.player_records import rating_table
from jaxrate.site.accuracy_summary import FIELD_WORDS
from jaxrate.site.benchmark_page import comparison_view
from jaxrate.site.career_charts import (
    describe_thinning,
    draw_career_charts,
    mark_events_after_pauses,
    write_chart_notes,
)
from jaxrate.site.json_columns import ratings_for_json
from jaxrate.site.page_templates import SHARED_SCRIPTS
from jaxrate.site.page_views import PageViews, build_page_views, render_page
from jaxrate.site.player_pages import career_columns, number_players, player_career, summarise_players
from jaxrate.site.site_data import PageOptions, SiteData, build_site_data, encode_matchups
from jaxrate.site.table_rows import RANKING_ROWS, build_event_table_cells, ranking_view
from jaxrate.views.wording import spell_dates

LONG_EVENTS, LONG_POINTS = 50, 45  # latest events in the section of a top player, and how many more points of the line
SHORT_EVENTS, SHORT_POINTS = 10, 8  # the same of other current players
SHORT_SECTIONS = 250  # of other current players, at most
CHANCE_UNITS = 1000  # of a probability in the data of sections, which are whole numbers
DIFFERENCE_COLUMNS = "time", "rating", "spread", "known", "knownSpread"  # whose neighbours are near each other
SHOWN_EVENTS = 10  # in the first section, before scripts show more


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
      top: number of the first players of the ranking whose sections have their last fifty matches or contests. Other
        current players have shorter sections.
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
    long_ids = list(dict.fromkeys([*listed[:top], *chosen]))
    short_ids = [i for i in listed[top : top + SHORT_SECTIONS] if i not in set(long_ids)] if top else []
    sections = _build_sections(views, long_ids, short_ids)
    shown = min(RANKING_ROWS, len(listed))
    nothing = {"grid": "", "heads": "", "rows": ""}
    link = partial(_section_link, sections)
    return render_page(
        "page.html",
        (*SHARED_SCRIPTS, "report.js"),
        **views.variables,
        **(ranking_view(data, views.lines, 0, shown, link) if shown else nothing),
        **comparison_view(comparison, rated.system, views.site["events"]),
        title=views.site["title"],
        site=views.site,
        headline=views.headline,
        description=spell_dates(views.headline.finding),
        rated=rated,
        event_counts=describe_event_counts(len(rated.events["row"]), rated.contests),
        shown=shown,
        total=len(listed),
        options=[(x, data.names[data.leaderboard_ids[x]]) for x in sections.by_place],
        first=sections.first,
        quality=quality or {},
        metric_notes=contest_metrics_notes({"pair inversion"} if accuracy.words == FIELD_WORDS else ()),
        long_events=LONG_EVENTS,
        data=views.shared
        | {"board": _leaderboard_data_with_modifiers(views), "pairs": encode_matchups(views.matchups)}
        | {"sections": sections.by_place, "notes": sections.notes},
    )


class PlayerSections(NamedTuple):
    """The sections of players."""

    place: list[int]  # of each player, by id, on the list of all
    by_place: dict[int, Any]
    notes: list[str]  # below charts
    first: dict[str, Any] | None  # the first of them as it is shown without scripts


def _build_sections(views: PageViews, long_ids: list[int], short_ids: list[int]) -> PlayerSections:
    """The sections of those with more and with fewer events and points of the line."""
    data, ids = views.data, [*long_ids, *short_ids]
    place, pauses = np.argsort(data.leaderboard_ids).tolist(), mark_events_after_pauses(data)
    columns, summaries = career_columns(data, pauses, 0), summarise_players(data, views.site)
    notes = write_chart_notes(data, pauses)
    shown_notes = list(dict.fromkeys(notes[i] for i in ids))
    sections = {}
    for i in ids:
        size = (LONG_EVENTS, LONG_POINTS) if i in set(long_ids) else (SHORT_EVENTS, SHORT_POINTS)
        told = {"summary": summaries[i], "note": shown_notes.index(notes[i])}
        sections[place[i]] = _player_section_data(data, columns, i, place, *size) | told
    first = None
    if ids:
        i, rows = ids[0], build_event_table_cells(data, columns, linked=False)
        begin, end = data.careers.start[i : i + 2].tolist()
        chart = draw_career_charts(data, pauses, [i])[i]
        first = {
            "name": data.names[i],
            "summary": summaries[i],
            "note": notes[i],
            "chart": chart,
            "line": describe_thinning(chart, end - begin, data.event, data.events),
            "heads": rows.heads,
            "rows": rows.render_rows(np.arange(begin, end)[: -SHOWN_EVENTS - 1 : -1]),
        }
    return PlayerSections(place, sections, shown_notes, first)


def _leaderboard_data_with_modifiers(views: PageViews) -> dict[str, Any]:
    """The columns of all players, the best first, with the modifiers of categories."""
    board, rated = {name: x for name, x in views.board.items() if name != "slug"}, views.data.rated
    if rated.categories is not None:
        table = rating_table(rated)
        names = [name for x in rated.categories if (name := f"modifier {x}") in table]
        board["columns"] = {name: ratings_for_json(views.data, table[name]) for name in names}
    return board


def _player_section_data(
    site_data: SiteData, columns: dict[str, Any], player: int, place: list[int], events: int, points: int
) -> dict[str, Any]:
    """The last events of a player, and points of the line before them; opponents by their place on the list of all."""
    begin, end = site_data.careers.start[player : player + 2].tolist()
    first = max(begin, end - events)
    career = player_career(site_data, player, columns, first)
    for key in career.keys() & {"opponent", "mates"}:
        career[key] = number_players(columns[key][first:end], place.__getitem__)
    career.pop("others", None)
    del career["columns"]
    if first > begin:
        at = np.linspace(begin, end - 1, min(points + events, end - begin)).astype(int)  # also over the last ones
        if "pauses" in columns:
            after = begin + np.flatnonzero(columns["pauses"][begin:end])
            at = np.concatenate([at, after - 1, after])
        at = np.unique([*at, site_data.peak[player]])
        career["drawn"] = (at[at >= first] - first).tolist()
        at = at[at < first].tolist()
        career["past"] = {name: [columns[name][i] for i in at] for name in DIFFERENCE_COLUMNS if name in columns}
        if "pauses" in columns:
            career["past"]["pauses"] = np.flatnonzero(columns["pauses"][at]).tolist()
        career["past"]["number"] = [i - begin + 1 for i in at]
    return _encode_section_data(career) | {"played": end - begin}


def _encode_section_data(career: dict[str, Any]) -> dict[str, Any]:
    """The data of a section in fewer characters; report.js decodes it."""
    encoded = dict(career)
    if "past" in career:
        past = career["past"].items()
        encoded["past"] = {name: x if name == "pauses" else encode_as_differences(x) for name, x in past}
    for name in career.keys() & DIFFERENCE_COLUMNS:
        encoded[name] = encode_as_differences(career[name])
    if "points" in career:
        encoded["points"] = " ".join(x.replace("\u2013", ":") for x in career["points"])
    for name in career.keys() & {"chance", "draw"}:
        encoded[name] = [None if x is None else _round_chance(x) for x in career[name]]
    return encoded


def _round_chance(chance: float) -> int:
    """The number of `CHANCE_UNITS` that is nearest to a probability, of those that are shown as it is."""
    nearest = round(CHANCE_UNITS * chance)
    shown = format_percentage(chance)
    around = (nearest, nearest - 1, nearest + 1)
    return next((x for x in around if format_percentage(x / CHANCE_UNITS) == shown), nearest)


def encode_as_differences(values: list[Any]) -> list[Any]:
    """Numbers less those before them, which are shorter; None stays, and the first number is what it is."""
    last, found = 0.0, []
    for x in values:
        found.append(None if x is None else round(x - last, 3) or 0)
        last = last if x is None else x
    return [int(x) if x is not None and x == int(x) else x for x in found]


def _section_link(sections: PlayerSections, player: int) -> str:
    """A link that leads nowhere until the script, which draws the sections, gives it an address."""
    place = sections.place[player]
    return f'data-section="{place}"' if place in sections.by_place else ""
