"""A rated history as a site of static files: ranking, a page for every player, pairs, and accuracy."""

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.text_format import join_names
from jaxrate.forecasts.matchup_tables import build_matchup_tables_by_category
from jaxrate.forecasts.prediction_explanations import Explanation
from jaxrate.forecasts.scorelines import Scorelines
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.history import History
from jaxrate.site.accuracy_summary import reliability_dot_plot, summarise_accuracy
from jaxrate.site.category_rankings import (
    build_category_strengths,
    build_matrix_views,
    describe_overall_rating,
    ranking_links_with_leaders,
    render_category_rankings,
    shared_category_column,
)
from jaxrate.site.drawings import PLAYERS as PREVIEW_PLAYERS
from jaxrate.site.drawings import preview_image, site_icon, site_mark
from jaxrate.site.forecast_tables import (
    add_scoreline_columns,
    build_explanation_tables,
    build_forecast_tables,
    build_scoreline_cards,
    closest_match_sentence,
    render_next_matches,
)
from jaxrate.site.headline import Headline, write_headline
from jaxrate.site.json_columns import leaderboard_columns, leaderboard_rows, rows_to_csv, script_safe_json
from jaxrate.site.line_ups import contest_label_column, team_rating_share_column
from jaxrate.site.method_texts import (
    describe_dates,
    describe_fit,
    describe_model,
    describe_settings,
    describe_source,
    describe_teams,
    rating_scale,
)
from jaxrate.site.page_templates import (
    PERMALINKS_FILE,
    SHARED_SCRIPTS,
    STYLE_FILES,
    add_feed_entry,
    check_address,
    concatenate_page_files,
    feed_text,
    load_permalinks,
    make_template_environment,
    saved_feed_entries,
    site_map_files,
)
from jaxrate.site.player_pages import CAREERS_FOLDER, count_latest_events, write_player_pages
from jaxrate.site.site_data import (
    SiteData,
    build_site_data,
    encode_matchups,
    page_template_context,
    pair_fields,
    script_settings,
    sort_categories,
)
from jaxrate.site.table_rows import CareerLines, build_career_lines, ranking_axis, ranking_heads, ranking_rows
from jaxrate.site.wording import category_noun, choose_title, describe_period, pluralise, spell_dates
from jaxrate.systems.system_titles import describe_system

SITE_MARKER = "site.json"  # marks a folder that holds a site, and keeps the entries of its feed
RANKING_ROWS = 50  # on each page of the ranking


@enforce_argument_annotations
def write_site(
    rated: History,
    folder: str | os.PathLike[str],
    *,
    title: str | None = None,
    description: str | None = None,
    names: Mapping[Any, str] | None = None,
    columns: Mapping[str, Any] | None = None,
    points: tuple[Any, Any] | None = None,
    smoothed: Any = None,
    coming: ColumnTable | None = None,
    explanations: Sequence[Explanation] = (),
    scorelines: Scorelines | None = None,
    season: SeasonForecast | None = None,
    active: Any = None,
    min_games: int | None = None,
    noun: Any = None,
    address: str | None = None,
) -> None:
    """Write a site that any host of static files can serve, and that also opens from the folder.

        jr.site.write_site(rated, "public", title="Our league")

    The site opens on a ranking of current players with their intervals and the lines of their careers. It has a page
    for every player with a chart and all matches or contests, predictions for any pair, the accuracy of the
    predictions, and an explanation of ratings. All pages are complete without JavaScript, which adds search, sorting,
    and comparisons. All tables can be downloaded as CSV and JSON. The site loads nothing from other hosts.

    The address of a player's page never changes: a later build into the same folder keeps those of the earlier one.

    Args:
      rated: a history from `jr.rate` or `jr.load`.
      folder: a folder that is new, empty, or holds such a site, which is replaced.
      title: the name of the site. None: the name of the file, as "NFL", if `jaxrate rate` saved it, else "Ratings".
      description: one sentence on the ranking, for search engines and link previews. None: the finding at its head.
      names: display names of players, by their names in the history; others keep theirs.
      columns: further columns of matches or participations: [n] values by heading, in the order of `rated.predictions`.
      points: [n] points of the first and of the second player of each match, such as goals or sets. None: those in the
        history, if it was rated from data that have them as their margin.
      smoothed: the smoothed history of the same matches, from `jr.smooth`, or the columns that `jaxrate rate --smooth`
        saved as `hindsight`: charts then have two lines, at the time and in hindsight.
      coming: forecasts of future matches, from `jr.forecasts.predict_fixtures`. None: not shown.
      explanations: what each player contributes to these forecasts, from `jr.forecasts.explain_fixtures`. Without
        `coming` they are not shown.
      scorelines: of the same matches, from `jr.forecasts.predict_scorelines`. Without `coming` they are not shown.
      season: the forecast of a season, from `jr.forecasts.simulate_season`. None: not shown.
      active, min_games: definition of current players, as for `jr.leaderboard`.
      noun: what the rated are called, one and many, as ("team", "teams"). None: teams if `jaxrate rate` saved that the
        file is about teams, else players.
      address: where the site will be, as https://ratings.example.org/: for previews, the site map and the feed of
        changes. It then has canonical addresses, a preview image, a map of its pages (`sitemap.xml`) and a feed of
        changes (`feed.xml`).

    Raises:
      ValueError: if the folder holds other files, a column has another length, points are given for contests, the
        smoothed history or the scorelines are of other matches, the noun is not two words, or the address is none.
      ImportError: if jinja2 is not installed.
    """
    folder, address = Path(folder), check_address(address)
    check_site_folder(folder)
    options, title = {"active": active, "min_games": min_games}, choose_title(rated, title)
    shown_columns = team_rating_share_column(rated) | contest_label_column(rated) | shared_category_column(rated)
    shown_columns |= dict(columns or {})
    site_data = build_site_data(
        rated, names or {}, shown_columns, points, smoothed, options, noun, load_permalinks(folder)
    )
    headline, strengths = write_headline(site_data, coming), build_category_strengths(site_data)
    context = page_template_context(site_data, title) | {"address": address, "mark": site_mark(), "icon": site_icon()}
    board, lines = leaderboard_columns(site_data), build_career_lines(site_data)
    board["course"] = [""] * len(board["name"])
    for place, levels in zip(np.argsort(site_data.leaderboard_ids)[site_data.listed], lines.levels, strict=True):
        board["course"][place] = levels
    played = np.diff(site_data.careers.start)[site_data.leaderboard_ids]
    board["stored"] = (played > count_latest_events(site_data.line_ups)).astype(int).tolist()
    files, pages = _style_script_and_data_files(site_data, board), context["pages"]
    ids, partners = site_data.leaderboard_ids, context["partners"]
    matchups = sort_categories(rated, build_matchup_tables_by_category(rated, ids, partners))
    if matchups:
        files["data/pairs.js"] = f"window.jaxratePairs = {script_safe_json(encode_matchups(matchups))};\n"
    else:
        context["pages"] = pages = [(name, text) for name, text in pages if name != "pairs"]
    context |= {"paired": bool(matchups), "lists": ranking_links_with_leaders(site_data, strengths), "overall_text": ""}
    if context["lists"]:
        first_path = context["lists"][1]["path"].removesuffix(".html")
        pages.insert(1, (first_path, pluralise(category_noun(rated)).capitalize()))
        context["overall_text"] = describe_overall_rating(site_data)
    context["leaders"] = join_names([site_data.names[i] for i in site_data.listed[:PREVIEW_PLAYERS]] or ["nobody"])
    tables = build_forecast_tables(add_scoreline_columns(coming, scorelines), season, site_data.noun)
    if tables:
        pages.insert(1, ("coming", "Fixtures"))
        files |= {f"data/{x.file}.json": script_safe_json(x.rows, indent=1) for x in tables}
        files |= {f"data/{x.file}.csv": rows_to_csv(x.rows) for x in tables}
    context["stamp"] = sha256("".join(files.values()).encode()).hexdigest()[:8]
    shared = script_settings(site_data, context, lines.heading) | {"stamp": context["stamp"]}
    templates = make_template_environment().overlay()  # all pages of a process share the other
    templates.globals = templates.globals | {"site": context, "shared": shared}
    pages_html: dict[str, str] = {}

    def render_page(path: str, template: str, heading: str, *, page_summary: str = "", **given: Any) -> None:
        about = {"page": template, "heading": heading, "root": "", "path": path}
        own = page_summary or f"{heading}: {context['summary']}"
        is_index = path == "index.html"
        about["description"] = spell_dates((description or headline.finding or context["summary"]) if is_index else own)
        says_finding = is_index and headline.title and headline.sentence
        about["preview"] = description or spell_dates(headline.sentence) if says_finding else about["description"]
        pages_html[path] = str(templates.get_template(f"site_{template}.html").render(about | given))

    accuracy = summarise_accuracy(rated, site_data.noun)
    _render_ranking(render_page, site_data, lines, headline, title)
    render_category_rankings(render_page, site_data, strengths)
    if matchups:
        views = build_matrix_views(site_data, matchups, strengths, has_draws=context["draws"])
        render_page(
            "pairs.html",
            "pairs",
            dict(pages)["pairs"],
            **pair_fields(rated, matchups),
            event=context["event"],
            views=views,
            accuracy=accuracy,
            page_summary=f"{views[0]['finding']}." if views[0]["finding"] else "",
        )
    next_matches: dict[str, str] = {}
    category = next(iter(matchups), None)
    scale = rating_scale(site_data, matchups.get(category), category)
    if tables:
        keys = map(str, rated.players.tolist())
        places = dict(zip(keys, zip(site_data.slugs, site_data.names, strict=True), strict=True))
        display_names = {key: name for key, (_, name) in places.items()}
        cards = build_scoreline_cards(scorelines, tables[-1].matches) if coming is not None else []
        matches = tables[-1].matches
        next_cards = [x for x, match in zip(cards, matches, strict=False) if not site_data.is_past(match.day)]
        next_matches = render_next_matches(next_cards, places, templates)
        closest = closest_match_sentence([x for x in matches if not site_data.is_past(x.day)], display_names)
        expected = "expected score, draws as half" if context["draws"] else "chance"
        explained, more = build_explanation_tables(
            explanations, matches, display_names, site_data.digits, expected, context["sides"]
        )
        render_page(
            "coming.html",
            "coming",
            "Fixtures",
            tables=tables,
            places=places,
            finding=closest,
            accuracy=accuracy,
            scale=scale,
            page_summary=closest,
            scorelines=cards,
            explained=explained,
            more_explained=more,
        )
    dots, fit_text = reliability_dot_plot(accuracy.bins), describe_fit(rated, context["events"])
    found = {"accuracy": accuracy, "reliability": dots, "fit_text": fit_text}
    render_page("quality.html", "quality", "Accuracy", page_summary=accuracy.texts[0], **found)
    render_page(
        "about.html",
        "about",
        "Method",
        page_summary=f"How the ratings are made. {context['summary']}",
        title=f"How strong each {site_data.noun.one} is, from {context['evidence']}",
        spread=site_data.careers.after.deviation is not None,
        system=describe_system(rated.system.name),
        period=describe_period(rated),
        model_text=describe_model(rated, site_data.noun, context["sides"]),
        params=describe_settings(rated),
        scale=scale,
        source=describe_source(rated),
        team_text=describe_teams(rated),
        dates_text=describe_dates(site_data),
    )
    for name in ("assets", f"data/{CAREERS_FOLDER}", "players"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in [*folder.glob("*.html"), *folder.glob("*.xml")]:
        path.unlink()
    links = load_permalinks(folder) | dict(zip(map(str, rated.players.tolist()), site_data.slugs, strict=True))
    files[PERMALINKS_FILE] = script_safe_json(links, indent=0)
    entries = saved_feed_entries(_load_marker(folder))
    if address is not None:
        entry = {
            "id": f"{address}#{_last_day_or_event_count(context)}",
            "title": headline.title or title,
            "summary": headline.finding,
        }
        entries = add_feed_entry(entries, entry | {"updated": context["moment"]})
        files["feed.xml"] = feed_text(address, title, entries)
        (folder / "assets" / "preview.png").write_bytes(preview_image(site_data, title, headline.title or title))
    files[SITE_MARKER] = script_safe_json({"made": context["made"], "title": title, "feed": entries})
    for name, text in (files | pages_html).items():
        (folder / name).write_text(text, encoding="utf-8")
    written = write_player_pages(site_data, templates, context, folder, next_matches, strengths)
    if address is not None:
        for name, text in site_map_files(address, [*pages_html, *written], context["made"]).items():
            (folder / name).write_text(text, encoding="utf-8")


def check_site_folder(folder: Path) -> None:
    """ValueError unless the folder is new, empty, or holds a site."""
    if folder.is_dir() and not (folder / SITE_MARKER).exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds other files; name a new folder, or the one of an earlier site")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")


def _load_marker(folder: Path) -> Any:
    """What an earlier build wrote of itself; None if that is not readable."""
    try:
        return json.loads((folder / SITE_MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _last_day_or_event_count(context: dict[str, Any]) -> str:
    """What tells the results of one build from those of another: the last day, or their number."""
    return str(context["last"] or context["summary"].partition(" ")[0])


def _style_script_and_data_files(site_data: SiteData, board: dict[str, Any]) -> dict[str, str]:
    """Styles, scripts and data, by path."""
    rows = leaderboard_rows(site_data)
    return {
        "assets/site.css": concatenate_page_files(STYLE_FILES),
        "assets/site.js": concatenate_page_files([*SHARED_SCRIPTS, "site.js"]),
        "data/board.js": f"window.jaxrateBoard = {script_safe_json(board)};\n",
        "data/players.json": script_safe_json(rows, indent=1),
        "data/players.csv": rows_to_csv(rows),
    }


def _render_ranking(render_page: Any, site_data: SiteData, lines: CareerLines, headline: Headline, title: str) -> None:
    """Render the pages of the ranking; the first is the index."""
    total = len(site_data.listed)
    heading = "Ranks" if site_data.current.group is None else site_data.noun.many.capitalize()
    starts = range(0, max(total, 1), RANKING_ROWS)
    paths = ["index.html", *(f"ranking-{i}.html" for i in range(2, len(starts) + 1))]
    for number, (path, begin) in enumerate(zip(paths, starts, strict=True)):
        end = min(begin + RANKING_ROWS, total)
        axis = ranking_axis(site_data, begin, end)
        render_page(
            path,
            "index",
            title if number == 0 else f"{heading} {begin + 1:,} to {end:,}",
            headline=headline,
            current="index.html",
            spread=site_data.current.deviation is not None,
            heads=ranking_heads(site_data, lines, axis),
            grid=axis.grid,
            rows=ranking_rows(
                site_data, lines, axis, begin, end, lambda i, _: f"href=players/{site_data.slugs[i]}.html"
            ),
            begin=begin + 1,
            end=end,
            total=total,
            first=number == 0,
            earlier=paths[number - 1] if number else None,
            later=paths[number + 1] if number + 1 < len(paths) else None,
        )
