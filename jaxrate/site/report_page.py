"""A rated history as one HTML page: ranking, players, predictions for pairs, and accuracy.

The page needs no network, and its policy forbids access to it. The site shares the templates, styles and scripts in the
folder `page`.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
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
from jaxrate.site.page_templates import SHARED_SCRIPTS, render_page
from jaxrate.site.page_texts import PageViews, build_page_views
from jaxrate.site.site_data import PageOptions, SiteData, build_site_data, script_safe_json
from jaxrate.site.table_rows import RANKING_ROWS, build_event_table_cells, build_leaders, find_forms, render_ranking
from jaxrate.views.accuracy import FIELD_WORDS
from jaxrate.views.wording import spell_dates

LONG_EVENTS, LONG_POINTS = 50, 45  # latest events in the section of a top player, and how many more points of the line
SHORT_EVENTS, SHORT_POINTS = 10, 8  # the same of other current players
SHORT_SECTIONS = 250  # of other current players, at most
TABLE_COLUMNS = {"chance", "draw", "expected", "change", "ground"}  # of careers, which only tables show, and no chart
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
    sections = _build_player_sections(views, long_ids, short_ids)
    shown, nouns = min(RANKING_ROWS, len(listed)), views.site["nouns"]
    compared = comparison_view(comparison, rated.system.name, views.site["events"])
    links = {
        "#leaderboard": "Ranking",
        "#player": nouns.capitalize(),
        "#pair": views.site["pair_title"] * views.site["paired"],
        "#quality": "Accuracy",
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
        is_report=True,
        end=shown,
        total=len(listed),
        views=[],
        num_sections=len(sections.by_place),
        top_player=sections.first,
        quality=quality or {},
        metric_notes=contest_metrics_notes({"pair inversion"} if accuracy.words == FIELD_WORDS else ()),
        long_events=LONG_EVENTS,
        shared=views.shared,
        data=b64encode(compress(script_safe_json(packed).encode(), 9, mtime=0)).decode(),  # which the script unpacks
    )


class PlayerSections(NamedTuple):
    """The sections of players."""

    place: list[int]  # of each player, by id, on the list of all
    by_place: dict[int, Any]
    first: dict[str, Any] | None  # the first of them as it is shown without scripts

    def link(self, player: int) -> str:
        """A link that leads nowhere until the script, which draws the sections, gives it an address."""
        return f'data-section="{self.place[player]}"' * (self.place[player] in self.by_place)


def _build_player_sections(views: PageViews, detailed_ids: list[int], brief_ids: list[int]) -> PlayerSections:
    """The sections of those with more and with fewer events and points of the line."""
    data, ids = views.data, [*detailed_ids, *brief_ids]
    place, pauses = np.argsort(data.leaderboard_ids).tolist(), player_pages.mark_events_after_pauses(data)
    columns, summaries = player_pages.career_columns(data, pauses, 0), player_pages.summarise_players(data, views.site)
    forms, sections = find_forms(data, data.names), {}
    for number, i in enumerate(ids):
        is_detailed = number < len(detailed_ids)
        num_events, num_points = (LONG_EVENTS, LONG_POINTS) if is_detailed else (SHORT_EVENTS, SHORT_POINTS)
        rows, is_drawn = _choose_rows(data, i, pauses, num_events, num_points)
        section = player_pages.player_career(data, i, columns, rows, place)
        begin, end = data.careers.start[i : i + 2].tolist()
        listed = min(num_events, end - begin)
        section |= {key: section[key][-listed:] for key in TABLE_COLUMNS & section.keys()}
        section |= {
            "form": forms[i].removeprefix(data.names[i]),
            "played": end - begin,
            "listed": listed,
            "number": (rows - begin + 1).tolist(),
        }
        section |= {"drawn": np.flatnonzero(is_drawn).tolist()} if not is_drawn.all() else {}
        sections[place[i]] = section | {"summary": summaries[i], "note": player_pages.write_chart_note(data, pauses, i)}
    first = None
    if ids:
        i, events = ids[0], build_event_table_cells(data, columns, linked=False)
        begin, end = data.careers.start[i : i + 2].tolist()
        first = {
            "name": data.names[i],
            "form": sections[place[i]]["form"],
            "summary": summaries[i],
            "note": sections[place[i]]["note"],
            "chart": player_pages.draw_career_charts(data, pauses, [i])[i],
            "heads": events.heads,
            "rows": events.render_rows(np.arange(begin, end)[: -SHOWN_EVENTS - 1 : -1]),
        }
    return PlayerSections(place, sections, first)


def _choose_rows(
    data: SiteData, player: int, pauses: HostArray, num_events: int, num_points: int
) -> tuple[HostArray, HostArray]:
    """The rows of careers in the section of a player, and which of them are points of the line.

    They are the last events, and events at even distances over all the career, with the peak and those around pauses.
    """
    begin, end = data.careers.start[player : player + 2].tolist()
    last = np.arange(max(begin, end - num_events), end)
    drawn = np.linspace(begin, end - 1, min(num_points + num_events, end - begin)).astype(int)
    after_pauses = begin + np.flatnonzero(pauses[begin:end])
    drawn = np.concatenate([drawn, after_pauses - 1, after_pauses, data.peak[[player]]])
    rows = np.union1d(last, drawn[drawn >= 0])
    return rows, np.isin(rows, drawn)
