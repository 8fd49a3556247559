"""A rated history as a site of static files: leaderboard, a page for every player, pairs, and accuracy."""

import csv
import json
import os
from collections.abc import Mapping
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.data.table_writing import UTF8_BOM as BYTE_ORDER_MARK
from jaxrate.data.table_writing import escape_formulas
from jaxrate.forecasts.matchup_tables import build_matchup_tables, encode_matchup_tables
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.league.column_table import ColumnTable
from jaxrate.league.rated_history import Rated
from jaxrate.site.accuracy_summary import AccuracySummary, summarise_accuracy
from jaxrate.site.player_pages import write_player_pages
from jaxrate.site.report_page import (
    STYLE_FILES,
    concatenate_page_files,
    make_template_environment,
    reliability_dot_plot,
)
from jaxrate.site.site_data import SiteData, build_site_data, leaderboard_columns, site_context
from jaxrate.site.upcoming_tables import build_upcoming_tables
from jaxrate.site.wording import describe_period, format_settings

SITE_SCRIPTS = "words.js", "table.js", "picker.js", "chart.js", "careers.js", "pair.js", "site.js"
SITE_MARKER = "site.json"  # marks a folder that holds a site
INLINE_PLAYERS = 25  # players whose rows are in the page itself


@check_arguments
def write_site(
    rated: Rated,
    folder: str | os.PathLike[str],
    *,
    title: str = "Ratings",
    description: str | None = None,
    names: Mapping[Any, str] | None = None,
    columns: Mapping[str, Any] | None = None,
    points: tuple[Any, Any] | None = None,
    smoothed: Any = None,
    coming: ColumnTable | None = None,
    season: SeasonForecast | None = None,
    active: Any = None,
    min_games: int | None = None,
) -> None:
    """Write a site that any host of static files can serve, and that also opens from the folder.

        jr.site.write_site(rated, "public", title="Our league")

    The site has a leaderboard, which begins with current players, a page for every player with a chart and all matches
    or contests, predictions for any pair, the accuracy of the predictions, and an explanation of ratings. All tables
    can be downloaded as CSV and JSON. The site loads nothing from other hosts.

    Args:
      rated: a history from `jr.rate` or `jr.load`.
      folder: a folder that is new, empty, or holds such a site, which is replaced.
      title: the name of the site.
      description: a sentence for search engines and previews. None: number of events and players, and dates.
      names: display names of players, by their names in the history; others keep theirs.
      columns: further columns of matches or participations: [n] values by heading, in the order of `rated.predictions`.
      points: [n] points of the first and of the second player of each match, such as goals or sets.
      smoothed: the smoothed history of the same matches, from `jr.smooth`, or the columns that `jaxrate rate --smooth`
        saved as `hindsight`: charts then have two lines, as known then and as known now.
      coming: forecasts of future matches, from `jr.forecasts.predict_fixtures`. None: not shown.
      season: the forecast of a season, from `jr.forecasts.simulate_season`. None: not shown.
      active, min_games: definition of current players, as for `jr.leaderboard`.

    Raises:
      ValueError: if the folder holds other files, a column has another length, points are given for contests, or the
        smoothed history is of other matches.
      ImportError: if jinja2 is not installed.
    """
    folder = Path(folder)
    check_site_folder(folder)
    site_data = build_site_data(
        rated, names or {}, columns or {}, points, smoothed, {"active": active, "min_games": min_games}
    )
    context = site_context(site_data, title)
    templates = _load_templates(context)
    board = leaderboard_columns(site_data)
    matchup_tables = None
    if len(site_data.names) > 1 and rated.categories is None:
        matchup_tables = build_matchup_tables(rated, site_data.leaderboard_ids)
    files = {
        "assets/site.css": concatenate_page_files(STYLE_FILES),
        "assets/site.js": concatenate_page_files(SITE_SCRIPTS),
        "data/board.js": f"window.jaxrateBoard = {_script_safe_json(board)};\n",
        "data/players.json": _script_safe_json(_leaderboard_rows(site_data), indent=1),
        "data/players.csv": rows_to_csv(_leaderboard_rows(site_data)),
        SITE_MARKER: _script_safe_json({"made": context["made"], "title": title}),
    }
    if matchup_tables is not None:
        files["data/pairs.js"] = f"window.jaxratePairs = {_script_safe_json(encode_matchup_tables(matchup_tables))};\n"
    else:
        context["pages"] = [(name, text) for name, text in context["pages"] if name != "pairs"]
    tables = build_upcoming_tables(coming, season)
    if tables:
        context["pages"].insert(1, ("coming", "Coming"))
        files |= {f"data/{x.file}.json": _script_safe_json(x.rows, indent=1) for x in tables}
        files |= {f"data/{x.file}.csv": rows_to_csv(x.rows) for x in tables}
    context["stamp"] = sha256("".join(files.values()).encode()).hexdigest()[:8]
    common = {
        "dated": context["dated"],
        "digits": site_data.digits,
        "event": context["event"],
        "events": context["events"],
    }
    common |= {"stamp": context["stamp"], "since": f"since {context['since']}" if context["since"] else None}
    site_description = description or context["summary"]

    def render_page(name: str, heading: str, **given: Any) -> str:
        template = templates.get_template(f"site_{name}.html")
        here = {
            "page": name,
            "heading": heading,
            "root": "",
            "description": site_description,
            "about": common | {"root": ""},
        }
        return str(template.render(here | given))

    accuracy = summarise_accuracy(rated)
    best_players = zip(
        site_data.listed[:INLINE_PLAYERS].tolist(), site_data.current.rating[:INLINE_PLAYERS].tolist(), strict=True
    )
    first_rows = [
        (i, site_data.slugs[x], site_data.names[x], f"{y:,.{site_data.digits}f}")
        for i, (x, y) in enumerate(best_players, 1)
    ]
    files["index.html"] = render_page("index", title, first=first_rows)
    if matchup_tables is not None:
        count = matchup_tables.even.left.shape[1]
        pair_options = {
            "sided": matchup_tables.home is not None,
            "drawn": matchup_tables.draw is not None,
            "event": context["event"],
        }
        files["pairs.html"] = render_page(
            "pairs", "Who would win?", few=count if count < len(site_data.names) else 0, **pair_options
        )
    if tables:
        page_of_name = dict(
            zip(map(str, rated.players.tolist()), zip(site_data.slugs, site_data.names, strict=True), strict=True)
        )
        files["coming.html"] = render_page("coming", "What is coming", tables=tables, places=page_of_name)
    files["quality.html"] = render_page("quality", "How good are the predictions?", **_quality_context(accuracy))
    files["about.html"] = render_page(
        "about",
        "About these ratings",
        spread=site_data.careers.deviation is not None,
        system=rated.system.name,
        period=describe_period(rated),
        params=format_settings(rated),
    )
    for name in ("assets", "data", "players"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.html"):
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_player_pages(site_data, templates, context, common, folder / "players")


def check_site_folder(folder: Path) -> None:
    """ValueError unless the folder is new, empty, or holds a site."""
    if folder.is_dir() and not (folder / SITE_MARKER).exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds other files; name a new folder, or the one of an earlier site")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")


def _quality_context(accuracy: AccuracySummary) -> dict[str, Any]:
    return {"texts": accuracy.texts, "bins": accuracy.bins, "reliability": reliability_dot_plot(accuracy.bins)}


def _load_templates(context: dict[str, Any]) -> Any:
    """The environment of the templates, with the variables of all pages."""
    environment = make_template_environment()
    environment.globals["site"] = context
    return environment


def _script_safe_json(values: Any, **options: Any) -> str:
    """JSON that is safe in a script of a page."""
    options = options or {"separators": (",", ":")}
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, **options)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _leaderboard_rows(site_data: SiteData) -> list[dict[str, Any]]:
    """The leaderboard as rows, for downloads."""
    board = leaderboard_columns(site_data)
    headings = {"name": "name", "rating": "rating", "spread": "plus or minus", "games": "games", "last": "last played"}
    headings |= {"change": "change", "then": "rank then", "peak": "best", "peaked": "best on", "slug": "page"}
    if site_data.rated.clock == "dates":
        for key in ("last", "peaked"):
            board[key] = [None if x is None else str(np.datetime64(int(x), "D")) for x in board[key]]
    board["slug"] = [f"players/{slug}.html" for slug in board["slug"]]
    columns = [board[key] for key in headings if key in board]
    names = [text for key, text in headings.items() if key in board]
    return [{"rank": i, **dict(zip(names, row, strict=True))} for i, row in enumerate(zip(*columns, strict=True), 1)]


def rows_to_csv(rows: list[dict[str, Any]]) -> str:
    safe = escape_formulas({key: np.array([row[key] for row in rows], object) for key in rows[0]})
    file = StringIO()
    file.write(BYTE_ORDER_MARK.decode())
    writer = csv.writer(file)
    writer.writerow(safe)
    writer.writerows(zip(*(x.tolist() for x in safe.values()), strict=True))
    return file.getvalue()
