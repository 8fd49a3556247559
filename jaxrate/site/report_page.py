"""A rated history as one HTML page: ranking, players, predictions for pairs, and accuracy.

The page needs no network, and its policy forbids access to it. The site shares the templates, styles and scripts in the
folder `page`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.text_format import contest_metrics_notes, format_percentage, metric_heading, use_minus_sign
from jaxrate.evaluation.comparison import Comparison
from jaxrate.forecasts.matchup_tables import build_matchup_tables_by_category
from jaxrate.history.history import History, describe_event_counts, find_player_id
from jaxrate.history.player_records import rating_table
from jaxrate.site.accuracy_summary import FIELD_WORDS, reliability_dot_plot, summarise_accuracy
from jaxrate.site.benchmark_page import (
    describe_comparison,
    draw_system_bars,
    is_comparison,
    name_in_print,
    name_systems_in_print,
    write_comparison_title,
)
from jaxrate.site.career_charts import (
    describe_thinning,
    draw_career_charts,
    mark_events_after_pauses,
    write_chart_notes,
)
from jaxrate.site.drawings import site_icon, site_mark
from jaxrate.site.headline import write_headline
from jaxrate.site.json_columns import leaderboard_columns, ratings_for_json
from jaxrate.site.method_texts import describe_settings, describe_source, describe_teams, rating_scale
from jaxrate.site.page_templates import SHARED_SCRIPTS, STYLE_FILES, load_template_and_assets
from jaxrate.site.player_pages import career_columns, number_players, player_career, summarise_players
from jaxrate.site.site_data import (
    SiteData,
    build_site_data,
    encode_matchups,
    event_nouns,
    page_template_context,
    pair_fields,
    script_settings,
    sort_categories,
)
from jaxrate.site.table_rows import (
    build_career_lines,
    build_event_table_cells,
    heading_row,
    ranking_axis,
    ranking_heads,
    ranking_rows,
)
from jaxrate.site.wording import choose_title, describe_period, spell_dates
from jaxrate.systems.system_titles import describe_system, system_title

RANKING_ROWS = 50  # of the ranking, before scripts show more
LONG_EVENTS, LONG_POINTS = 50, 45  # latest events in the section of a top player, and how many more points of the line
SHORT_EVENTS, SHORT_POINTS = 10, 8  # the same of other current players
SHORT_SECTIONS = 250  # of other current players, at most
CHANCE_UNITS = 1000  # of a probability in the data of sections, which are whole numbers
DIFFERENCE_COLUMNS = {"time", "rating", "spread", "known", "knownSpread"}  # whose neighbours are near each other
SHOWN_EVENTS = 10  # in the first section, before scripts show more


@enforce_argument_annotations
def report_html(
    rated: History,
    *,
    title: str | None = None,
    top: int = 50,
    players: Iterable[Any] = (),
    quality: Mapping[str, str] | None = None,
    comparison: Comparison | None = None,
    smoothed: History | None = None,
    active: Any = None,
    min_games: int | None = None,
    noun: Any = None,
    points: tuple[Any, Any] | None = None,
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
    comparison = comparison if is_comparison(comparison) else None
    page, libraries = load_template_and_assets("page.html", STYLE_FILES, (*SHARED_SCRIPTS, "report.js"))
    options, title = {"active": active, "min_games": min_games}, choose_title(rated, title)
    site_data = build_site_data(rated, {}, {}, points, smoothed, options, noun)
    chosen = [find_player_id(rated.players, name) for name in players]
    listed = site_data.listed.tolist()
    long_ids = list(dict.fromkeys([*listed[:top], *chosen]))
    short_ids = [i for i in listed[top : top + SHORT_SECTIONS] if i not in set(long_ids)] if top else []
    context = page_template_context(site_data, title) | {"mark": site_mark(), "icon": site_icon(), "paired": False}
    place = np.argsort(site_data.leaderboard_ids).tolist()  # on the list of all, by id
    board, lines = _leaderboard_data_with_modifiers(site_data, rated), build_career_lines(site_data)
    board["course"] = [""] * len(place)
    for i, levels in zip(listed, lines.levels, strict=True):
        board["course"][place[i]] = levels
    pauses = mark_events_after_pauses(site_data)
    columns, summaries = career_columns(site_data, pauses, 0), summarise_players(site_data, context)
    notes = write_chart_notes(site_data, pauses)
    charts = draw_career_charts(site_data, pauses, [*long_ids, *short_ids][:1])  # that which is shown without scripts
    shown_notes = list(dict.fromkeys(notes[i] for i in (*long_ids, *short_ids)))
    note_number = {note: number for number, note in enumerate(shown_notes)}
    sections = {
        place[i]: _player_section_data(site_data, columns, i, place, summaries[i], *sizes)
        | {"note": note_number[notes[i]]}
        for ids, sizes in ((long_ids, (LONG_EVENTS, LONG_POINTS)), (short_ids, (SHORT_EVENTS, SHORT_POINTS)))
        for i in ids
    }
    all_matchups = build_matchup_tables_by_category(rated, site_data.leaderboard_ids, context["partners"])
    matchups = sort_categories(rated, all_matchups)
    category = next(iter(matchups), None)
    data = {"board": board, "sections": sections, "notes": shown_notes, "pairs": encode_matchups(matchups)}
    data |= script_settings(site_data, context, lines.heading)
    accuracy = summarise_accuracy(rated, site_data.noun)
    shown = min(RANKING_ROWS, len(listed))
    axis, headline = ranking_axis(site_data, 0, shown) if shown else None, write_headline(site_data)
    return str(
        page.render(
            libraries,
            title=title,
            headline=headline,
            description=spell_dates(headline.finding),
            rated=rated,
            site=context,
            event=context["event"],
            period=describe_period(rated),
            event_counts=describe_event_counts(len(rated.events["row"]), rated.contests),
            params=describe_settings(rated),
            system=describe_system(rated.system.name),
            scale=rating_scale(site_data, matchups.get(category), category),
            source=describe_source(rated),
            team_text=describe_teams(rated),
            heads=ranking_heads(site_data, lines, axis) if axis else "",
            grid=axis.grid if axis else "",
            rows=ranking_rows(site_data, lines, axis, 0, shown, _make_section_link_function(sections, place))
            if axis
            else "",
            shown=shown,
            total=len(listed),
            options=[(x, site_data.names[site_data.leaderboard_ids[x]]) for x in sections],
            first=_first_section(site_data, columns, [*long_ids, *short_ids], summaries, notes, charts),
            quality=quality or {},
            compared=_compared_rows(comparison),
            compared_head=[metric_heading(x) for x in comparison.head] if comparison else [],
            metric_notes=contest_metrics_notes({"pair inversion"} if accuracy.words == FIELD_WORDS else ()),
            accuracy=accuracy,
            reliability=reliability_dot_plot(accuracy.bins),
            comparison=comparison,
            scored_on=comparison.scored_on.replace("contests", context["events"]) if comparison else "",
            comparison_title=write_comparison_title(comparison, rated.system.name),
            behind=draw_system_bars(comparison),
            comparison_texts=describe_comparison(comparison, rated.system),
            comparison_notes=name_systems_in_print("\n".join(comparison.notes), comparison.results).splitlines()
            if comparison
            else [],
            paired=bool(matchups),
            **pair_fields(rated, matchups),
            spread=site_data.careers.after.deviation is not None,
            long_events=LONG_EVENTS,
            data=data,
        )
    )


def _compared_rows(comparison: Comparison | None) -> list[list[str]]:
    """The rows of a comparison as text, with names of forecasters in print."""
    if comparison is None:
        return []
    rows = [[system_title(name), *map(use_minus_sign, cells)] for name, *cells in comparison.rows]
    for row, forecaster in zip(rows[len(comparison.results) :], comparison.others, strict=True):
        row[0] = name_in_print(forecaster)
    return rows


def _leaderboard_data_with_modifiers(site_data: SiteData, rated: History) -> dict[str, Any]:
    """The columns of all players, the best first, with the modifiers of categories."""
    board = leaderboard_columns(site_data)
    board.pop("slug")
    if rated.categories is not None:
        table = rating_table(rated)
        names = [name for x in rated.categories if (name := f"modifier {x}") in table]
        board["columns"] = {name: ratings_for_json(site_data, table[name]) for name in names}
    return board


def _player_section_data(
    site_data: SiteData, columns: dict[str, Any], player: int, place: list[int], summary: str, events: int, points: int
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
        kept = ("time", "rating", "spread", "known", "knownSpread")
        career["past"] = {name: [columns[name][i] for i in at] for name in kept if name in columns}
        if "pauses" in columns:
            career["past"]["pauses"] = np.flatnonzero(columns["pauses"][at]).tolist()
        career["past"]["number"] = [i - begin + 1 for i in at]
    return _encode_section_data(career) | {"summary": summary, "played": end - begin}


def _encode_section_data(career: dict[str, Any]) -> dict[str, Any]:
    """The same in fewer characters; report.js decodes it."""
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


def _make_section_link_function(sections: Mapping[int, Any], place: list[int]) -> Any:
    """Links that lead nowhere until the script, which draws the sections, gives them an address."""
    return lambda i, _: f'data-section="{place[i]}"' if place[i] in sections else None


def _first_section(
    site_data: SiteData,
    columns: dict[str, Any],
    ids: list[int],
    summaries: list[str],
    notes: list[str],
    charts: list[str],
) -> dict[str, Any] | None:
    """The section of the first player as it is shown without scripts."""
    if not ids:
        return None
    player, rows = ids[0], build_event_table_cells(site_data, columns, linked=False)
    begin, end = site_data.careers.start[player : player + 2].tolist()
    return {
        "name": site_data.names[player],
        "summary": summaries[player],
        "note": notes[player],
        "chart": charts[player],
        "line": describe_thinning(charts[player], end - begin, *event_nouns(site_data.rated)),
        "heads": heading_row(rows.headings),
        "rows": rows.render_rows(np.arange(begin, end)[: -SHOWN_EVENTS - 1 : -1]),
    }
