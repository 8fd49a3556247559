"""A rated history as a site of plain files: leaderboard, a page for every player, pairs, and how good it all is."""

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
from jaxrate.site.report_page import STYLE_FILES, concatenate_files, reliability_diagram, template_environment
from jaxrate.site.site_data import SiteData, build_site_data, leaderboard_columns, site_context
from jaxrate.site.upcoming_tables import build_upcoming_tables
from jaxrate.site.wording import describe_period, format_settings

SITE_SCRIPTS = "words.js", "table.js", "picker.js", "chart.js", "careers.js", "pair.js", "site.js"
SITE_MARKER = "site.json"  # tells a folder that holds a site
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
    """Write a site that any host of plain files can serve, and that also opens from the folder.

        jr.site.write_site(rated, "public", title="Our league")

    There is a leaderboard, first of current players as `jr.leaderboard` lists them, a page for every player with a
    chart and all matches or contests, what is expected of any two, how good the predictions were, and what a rating is.
    All tables can be had as CSV and JSON. The site asks nothing of other hosts.

    Args:
      rated: as from `jr.rate` or `jr.load`.
      folder: it must be new, empty, or hold such a site, whose place the new one takes.
      title: the name of the site.
      description: a sentence for search engines and previews. None: how many were rated, from when to when.
      names: what players are called, by their names in the history; others keep theirs.
      columns: what else is shown of each match or participation: [n] values by heading, in the order of
        `rated.predictions`.
      points: [n] points of the first and of the second player of each match, as goals or sets.
      smoothed: the same matches with hindsight, as from `jr.smooth`, or the columns that `jaxrate rate --smooth` saved
        as `hindsight`: charts then have two lines, as known then and as known now.
      coming: matches to come and what is expected of them, as from `jr.forecasts.predict_fixtures`. None: not shown.
      season: how a season may end, as from `jr.forecasts.simulate_season`. None: not shown.
      active, min_games: who are current players, as in `jr.leaderboard`.

    Raises:
      ValueError: if the folder holds something else, a column has another length, points are given of contests, or the
        hindsight is of other matches.
      ImportError: if jinja2 is not installed.
    """
    folder = Path(folder)
    check_site_folder(folder)
    site_data = build_site_data(
        rated, names or {}, columns or {}, points, smoothed, {"active": active, "min_games": min_games}
    )
    about = site_context(site_data, title)
    templates = _load_templates(about)
    board = leaderboard_columns(site_data)
    pair_duels = None
    if len(site_data.names) > 1 and rated.categories is None:
        pair_duels = build_matchup_tables(rated, site_data.order)
    files = {
        "assets/site.css": concatenate_files(STYLE_FILES),
        "assets/site.js": concatenate_files(SITE_SCRIPTS),
        "data/board.js": f"window.jaxrateBoard = {_script_safe_json(board)};\n",
        "data/players.json": _script_safe_json(_leaderboard_rows(site_data), indent=1),
        "data/players.csv": _to_csv(_leaderboard_rows(site_data)),
        SITE_MARKER: _script_safe_json({"made": about["made"], "title": title}),
    }
    if pair_duels is not None:
        files["data/pairs.js"] = f"window.jaxratePairs = {_script_safe_json(encode_matchup_tables(pair_duels))};\n"
    else:
        about["pages"] = [(name, text) for name, text in about["pages"] if name != "pairs"]
    tables = build_upcoming_tables(coming, season)
    if tables:
        about["pages"].insert(1, ("coming", "Coming"))
        files |= {f"data/{x.file}.json": _script_safe_json(x.rows, indent=1) for x in tables}
        files |= {f"data/{x.file}.csv": _to_csv(x.rows) for x in tables}
    about["stamp"] = sha256("".join(files.values()).encode()).hexdigest()[:8]
    common = {"dated": about["dated"], "digits": site_data.digits, "event": about["event"], "events": about["events"]}
    common |= {"stamp": about["stamp"], "since": f"since {about['since']}" if about["since"] else None}
    described = description or about["summary"]

    def page(name: str, heading: str, **given: Any) -> str:
        template = templates.get_template(f"site_{name}.html")
        here = {"page": name, "heading": heading, "root": "", "description": described, "about": common | {"root": ""}}
        return str(template.render(here | given))

    accuracy = summarise_accuracy(rated)
    best = zip(
        site_data.listed[:INLINE_PLAYERS].tolist(), site_data.current.rating[:INLINE_PLAYERS].tolist(), strict=True
    )
    first = [
        (i, site_data.slugs[x], site_data.names[x], f"{y:,.{site_data.digits}f}") for i, (x, y) in enumerate(best, 1)
    ]
    files["index.html"] = page("index", title, first=first)
    if pair_duels is not None:
        count = pair_duels.even.left.shape[1]
        extra = {"sided": pair_duels.home is not None, "drawn": pair_duels.draw is not None, "event": about["event"]}
        files["pairs.html"] = page("pairs", "Who would win?", few=count if count < len(site_data.names) else 0, **extra)
    if tables:
        places = dict(
            zip(map(str, rated.players.tolist()), zip(site_data.slugs, site_data.names, strict=True), strict=True)
        )
        files["coming.html"] = page("coming", "What is coming", tables=tables, places=places)
    files["quality.html"] = page("quality", "How good are the predictions?", **_quality_context(accuracy))
    files["about.html"] = page(
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
    write_player_pages(site_data, templates, about, common, folder / "players")


def check_site_folder(folder: Path) -> None:
    """ValueError unless the folder is new, empty, or holds a site."""
    if folder.is_dir() and not (folder / SITE_MARKER).exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds other files; name a new folder, or the one of an earlier site")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")


def _quality_context(accuracy: AccuracySummary) -> dict[str, Any]:
    return {"said": accuracy.texts, "bins": accuracy.bins, "reliability": reliability_diagram(accuracy.bins)}


def _load_templates(context: dict[str, Any]) -> Any:
    """The templates, which know what is about all pages."""
    found = template_environment()
    found.globals["site"] = context
    return found


def _script_safe_json(values: Any, **options: Any) -> str:
    """JSON that can also stand in a script of a page."""
    options = options or {"separators": (",", ":")}
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, **options)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _leaderboard_rows(site_data: SiteData) -> list[dict[str, Any]]:
    """The leaderboard as rows, for files."""
    board = leaderboard_columns(site_data)
    head = {"name": "name", "rating": "rating", "spread": "plus or minus", "games": "games", "last": "last played"}
    head |= {"change": "change", "then": "rank then", "peak": "best", "peaked": "best on", "slug": "page"}
    if site_data.rated.clock == "dates":
        for key in ("last", "peaked"):
            board[key] = [None if x is None else str(np.datetime64(int(x), "D")) for x in board[key]]
    board["slug"] = [f"players/{slug}.html" for slug in board["slug"]]
    columns = [board[key] for key in head if key in board]
    names = [text for key, text in head.items() if key in board]
    return [{"rank": i, **dict(zip(names, row, strict=True))} for i, row in enumerate(zip(*columns, strict=True), 1)]


def _to_csv(rows: list[dict[str, Any]]) -> str:
    safe = escape_formulas({key: np.array([row[key] for row in rows], object) for key in rows[0]})
    file = StringIO()
    file.write(BYTE_ORDER_MARK.decode())
    writer = csv.writer(file)
    writer.writerow(safe)
    writer.writerows(zip(*(x.tolist() for x in safe.values()), strict=True))
    return file.getvalue()
