"""A rated history as a site of static files: ranking, a page for every player, pairs, and accuracy."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from jaxrate.core.argument_checks import FilePath, enforce_argument_annotations
from jaxrate.core.text_format import join_names
from jaxrate.data.table_writing import write as write_table
from jaxrate.forecasts.pairwise_probabilities import encode_matchup_tables
from jaxrate.forecasts.prediction_explanations import Explanation
from jaxrate.forecasts.scorelines import Scorelines
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.history import History
from jaxrate.site import category_rankings, front_page, page_templates, site_data
from jaxrate.site.drawings import PREVIEW_PLAYERS, preview_image
from jaxrate.site.forecast_tables import render_next_matches
from jaxrate.site.html_tables import Column
from jaxrate.site.page_texts import Fixtures, PageViews, build_fixtures, build_page_views
from jaxrate.site.player_pages import CAREERS_FOLDER, count_latest_events, write_player_pages
from jaxrate.site.table_rows import SitePage, build_leaders, render_ranking, split_ranking
from jaxrate.views.line_ups import contest_name_column
from jaxrate.views.wording import spell_dates

SITE_MARKER = "site.json"  # marks a folder that holds a site, and keeps the entries of its feed


@enforce_argument_annotations
def write_site(
    rated: History,
    folder: FilePath,
    *,
    description: str | None = None,
    names: Mapping[Any, str] | None = None,
    columns: Mapping[str, Any] | None = None,
    coming: ColumnTable | None = None,
    explanations: Sequence[Explanation] = (),
    scorelines: Scorelines | None = None,
    season: SeasonForecast | None = None,
    address: str | None = None,
    **options: Unpack[site_data.PageOptions],
) -> None:
    """Write a site that any host of static files can serve, and that also opens from the folder.

        jr.site.write_site(rated, "public", title="Our league")

    The site opens on a ranking of current players with their intervals and the lines of their careers. It has a page
    for every player with a chart and all matches or contests, predictions for any pair, the accuracy of the
    predictions, and an explanation of ratings. A column of leagues, countries, divisions or classes, one for each
    player, gives each of these a ranking of its own. All pages are complete without JavaScript, which adds search,
    sorting, and comparisons, all of which addresses keep. Tables can be downloaded as CSV and JSON. The site loads
    nothing from other hosts.

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
      smoothed: the smoothed history of the same matches, from `jr.smooth`, or the columns that `jaxrate rate
        --show hindsight` saved as `hindsight`: charts then have two lines, at the time and in hindsight.
      coming: forecasts of future matches, from `jr.forecasts.predict_fixtures`. None: not shown.
      explanations: what each player contributes to these forecasts, from `jr.forecasts.explain_fixtures`. Without
        `coming` they are not shown.
      scorelines: of the same matches, from `jr.forecasts.predict_scorelines`. Without `coming` they are not shown.
      season: the forecast of a season, from `jr.forecasts.simulate_season`. None: not shown.
      active, min_games: definition of current players, as for `jr.leaderboard`.
      noun: what the rated are called, one and many, as ("team", "teams"). None: what the columns that were read say, as
        teams of home_team, or drivers of driver, else players.
      address: where the site will be, as https://ratings.example.org/: for previews, the site map and the feed of
        changes. It then has canonical addresses, a preview image, a map of its pages (`sitemap.xml`) and a feed of
        changes (`feed.xml`).

    Raises:
      ValueError: if the folder holds other files, a column has another length, points are given for contests, the
        smoothed history or the scorelines are of other matches, the noun is not two words, or the address is none.
      ImportError: if jinja2 is not installed.
    """
    folder, address = Path(folder), page_templates.check_address(address)
    check_site_folder(folder)
    shown_columns = contest_name_column(rated) | category_rankings.shared_category_column(rated)
    permalinks = page_templates.load_permalinks(folder)
    data = site_data.build_site_data(rated, options, names, shown_columns | dict(columns or {}), permalinks)
    views = build_page_views(data, options.get("title"))
    strengths = category_rankings.build_category_strengths(data)
    by_column = category_rankings.build_rankings_by_column(data)
    fixtures = build_fixtures(views, coming, explanations, scorelines, season)
    files, site = _script_files(views), views.site
    site |= {"address": address, "lists": category_rankings.ranking_links_with_leaders(data, strengths)}
    site["rankings_by_column"] = {
        name: category_rankings.ranking_links_with_leaders(data, rankings) for name, rankings in by_column.items()
    }
    site["overall_text"] = category_rankings.describe_overall_rating(data) * bool(site["lists"])
    site["leaders"] = join_names(data.names[i] for i in data.listed[:PREVIEW_PLAYERS])
    site["stamp"] = views.shared["stamp"] = sha256("".join(files.values()).encode()).hexdigest()[:8]
    templates = page_templates.make_template_environment().overlay()  # all pages of a process share the other
    given = {"h": 1, "is_report": False, "quality": {}, "site": site, "shared": views.shared}
    templates.globals = templates.globals | views.variables | given | {"headline": views.headline}
    modules = front_page.build_front_modules(data, data.link_to_page, *_next_match_and_title_tables(fixtures, season))
    listed = [*_list_pages(views, modules, [*strengths, *chain(*by_column.values())], fixtures)]
    site["pages"] = [(x.path.removesuffix(".html"), x.link) for x in listed if x.link]
    pages = {x.path: _render_page(templates, views, x, description) for x in listed}
    _prepare_folder(folder)
    links = permalinks | dict(zip(data.shown_names, data.slugs, strict=True))
    files[page_templates.PERMALINKS_FILE] = site_data.script_safe_json(links)
    files |= pages | _marker_and_feed(views, folder, address)
    next_matches = render_next_matches(fixtures.next_cards, fixtures.places, templates)
    players = write_player_pages(data, templates, site, folder, next_matches, strengths)
    if address is not None:
        finding = views.headline.title or site["title"]
        (folder / "assets" / "preview.png").write_bytes(preview_image(data, site["title"], finding))
        files |= page_templates.site_map_files(address, [*pages, *players], site["made"])
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    _write_downloads(folder, views, fixtures)


def check_site_folder(folder: Path) -> None:
    """ValueError unless the folder is new, empty, or holds a site."""
    if folder.is_dir() and not (folder / SITE_MARKER).exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds other files; name a new folder, or the one of an earlier site")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")


def _marker_and_feed(views: PageViews, folder: Path, address: str | None) -> dict[str, str]:
    """The marker of a site, which keeps the entries of its feed, and with an address the feed."""
    site, headline, files = views.site, views.headline, dict[str, str]()
    entries = page_templates.saved_feed_entries(page_templates.load_json(folder / SITE_MARKER))
    if address is not None:
        entry = {"id": f"{address}#{site['last'] or views.data.rated.num_events}", "updated": site["moment"]}
        entry |= {"title": headline.title or site["title"], "summary": headline.finding}
        entries = page_templates.add_feed_entry(entries, entry)
        files["feed.xml"] = page_templates.feed_text(address, site["title"], entries)
    return files | {
        SITE_MARKER: site_data.script_safe_json({"made": site["made"], "title": site["title"], "feed": entries})
    }


def _prepare_folder(folder: Path) -> None:
    """Make the folders of a site, and remove the pages of an earlier one."""
    for name in ("assets", f"data/{CAREERS_FOLDER}", "players"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for pages in ("*.html", "*.xml", "players/*.html", f"data/{CAREERS_FOLDER}/*.js"):
        for path in folder.glob(pages):
            path.unlink()


def _script_files(views: PageViews) -> dict[str, str]:
    """Styles, scripts and their data, by path."""
    data = views.data
    played = data.careers.totals[data.leaderboard_ids]
    board = views.board | {"stored": (played > count_latest_events(data.line_ups)).astype(int).tolist()}
    files = {
        "assets/site.css": page_templates.concatenate_page_files(page_templates.STYLE_FILES),
        "assets/site.js": page_templates.concatenate_page_files([*page_templates.SHARED_SCRIPTS, "site.js"]),
        "data/board.js": f"window.jaxrateBoard = {site_data.script_safe_json(board)};\n",
    }
    if views.matchups:
        pairs = [*map(encode_matchup_tables, views.matchups.values())]
        files["data/pairs.js"] = f"window.jaxratePairs = {site_data.script_safe_json(pairs)};\n"
    return files


def _write_downloads(folder: Path, views: PageViews, fixtures: Fixtures) -> None:
    """Write the ranking and the fixtures as JSON, and as CSV that is safe for spreadsheets."""
    tables = {"players": site_data.leaderboard_rows(views.data)}
    tables |= {x.file: x.rows for x in fixtures.tables}
    for name, rows in tables.items():
        lines = ",\n".join(map(site_data.script_safe_json, rows))  # the encoder indents slowly
        (folder / f"data/{name}.json").write_text(f"[\n{lines}\n]", encoding="utf-8")
        columns = {key: np.array([row[key] for row in rows], object) for key in rows[0]}
        write_table(columns, folder / f"data/{name}.csv", csv_safe=True)


def _list_pages(
    views: PageViews,
    modules: list[front_page.FrontModule],
    strengths: list[category_rankings.CategoryStrengths],
    fixtures: Fixtures,
) -> Iterator[SitePage]:
    """All pages but those of players, in the order of the links to them."""
    data, site = views.data, views.site
    yield from _ranking_pages(views, modules)
    if fixtures.tables:
        about = fixtures._asdict(), fixtures.finding and f"{fixtures.finding}.", "Fixtures"
        yield SitePage("coming.html", "coming", "Fixtures", *about)
    yield from category_rankings.category_pages(data, strengths)
    if views.matchups:
        matrices, title = category_rankings.build_matrix_views(data, views.matchups, strengths), site["pair_title"]
        summary = f"{matrices[0]['finding']}." * bool(matrices[0]["finding"])
        yield SitePage("pairs.html", "pairs", title, {"views": matrices}, summary, title)
    yield SitePage("quality.html", "quality", "Accuracy", {}, views.variables["accuracy"].text, "Accuracy")
    yield SitePage("about.html", "about", "Method", {}, f"How the ratings are made. {site['summary']}", "Method")


def _next_match_and_title_tables(fixtures: Fixtures, season: SeasonForecast | None) -> list[list[Column]]:
    """The tables of the next matches, and of the chances of the title."""
    places = fixtures.places
    return [front_page.next_match_columns(fixtures.matches, places), front_page.title_chance_columns(season, places)]


def _ranking_pages(views: PageViews, modules: list[front_page.FrontModule]) -> Iterator[SitePage]:
    """The pages of the ranking; the first is the index."""
    data, site, link = views.data, views.site, views.data.link_to_page
    heading = data.noun.many.capitalize() if data.is_grouped else "Ranks"
    for part in split_ranking("index.html", "ranking", len(data.listed)):
        begin, end, is_first = part["begin"], part["end"], part["earlier"] is None
        variables = part | {"ranking": render_ranking(data, views.lines, begin - 1, end, link), "current": "index.html"}
        variables["modules"] = modules * is_first
        variables |= {"leaders": build_leaders(data, link) if is_first else {}, "first": is_first}
        title, name = (site["title"], "Ranking") if is_first else (f"{heading} {begin:,} to {end:,}", "")
        yield SitePage(part["path"], "index", title, variables, link=name)


def _render_page(templates: Any, views: PageViews, page: SitePage, description: str | None) -> str:
    """The HTML of a page; the `description` is that of the index."""
    site, headline, is_index = views.site, views.headline, page.path == "index.html"
    summary = page.summary or f"{page.heading}: {site['summary']}"
    told = spell_dates((description or headline.finding or site["summary"]) if is_index else summary)
    preview = description or spell_dates(headline.sentence) if is_index and headline.sentence else told
    about = {"page": page.template, "heading": page.heading, "root": "", "path": page.path}
    about |= {"description": told, "preview": preview}
    return str(templates.get_template("site.html").render(page.variables | about))
