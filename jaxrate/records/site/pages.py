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

from jaxrate.arguments import check_arguments
from jaxrate.data.writing import MARK as BYTE_ORDER_MARK
from jaxrate.data.writing import without_formulas
from jaxrate.records.duels import duels, packed
from jaxrate.records.phrases import period_said, settings_said
from jaxrate.records.rated import Rated
from jaxrate.records.report import STYLES, environment, joined, reliability
from jaxrate.records.seasons import Season
from jaxrate.records.shown import Columns
from jaxrate.records.site.coming import coming_tables
from jaxrate.records.site.players import write_players
from jaxrate.records.site.told import Told, about_site, board_of, told_of
from jaxrate.records.site.worded import Worded, worded

SCRIPTS = "words.js", "table.js", "picker.js", "chart.js", "careers.js", "pair.js", "site.js"
MARK = "site.json"  # tells a folder that holds a site
FIRST = 25  # players whose rows are in the page itself


@check_arguments
def site(
    rated: Rated,
    folder: str | os.PathLike[str],
    *,
    title: str = "Ratings",
    description: str | None = None,
    names: Mapping[Any, str] | None = None,
    columns: Mapping[str, Any] | None = None,
    points: tuple[Any, Any] | None = None,
    smoothed: Any = None,
    coming: Columns | None = None,
    season: Season | None = None,
    active: Any = None,
    min_games: int | None = None,
) -> None:
    """Write a site that any host of plain files can serve, and that also opens from the folder.

        jr.site(rated, "public", title="Our league")

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
      coming: matches to come and what is expected of them, as from `jr.fixtures`. None: not shown.
      season: how a season may end, as from `jr.season`. None: not shown.
      active, min_games: who are current players, as in `jr.leaderboard`.

    Raises:
      ValueError: if the folder holds something else, a column has another length, points are given of contests, or the
        hindsight is of other matches.
      ImportError: if jinja2 is not installed.
    """
    folder = Path(folder)
    check_site(folder)
    told = told_of(rated, names or {}, columns or {}, points, smoothed, {"active": active, "min_games": min_games})
    about = about_site(told, title)
    templates = _templates(about)
    board = board_of(told)
    found = None
    if len(told.names) > 1 and rated.categories is None:
        found = duels(rated, told.order)
    files = {
        "assets/site.css": joined(STYLES),
        "assets/site.js": joined(SCRIPTS),
        "data/board.js": f"window.jaxrateBoard = {_json(board)};\n",
        "data/players.json": _json(_listed(told), indent=1),
        "data/players.csv": _csv(_listed(told)),
        MARK: _json({"made": about["made"], "title": title}),
    }
    if found is not None:
        files["data/pairs.js"] = f"window.jaxratePairs = {_json(packed(found))};\n"
    else:
        about["pages"] = [(name, text) for name, text in about["pages"] if name != "pairs"]
    tables = coming_tables(coming, season)
    if tables:
        about["pages"].insert(1, ("coming", "Coming"))
        files |= {f"data/{x.file}.json": _json(x.rows, indent=1) for x in tables}
        files |= {f"data/{x.file}.csv": _csv(x.rows) for x in tables}
    about["stamp"] = sha256("".join(files.values()).encode()).hexdigest()[:8]
    common = {"dated": about["dated"], "digits": told.digits, "event": about["event"], "events": about["events"]}
    common |= {"stamp": about["stamp"], "since": f"since {about['since']}" if about["since"] else None}
    described = description or about["summary"]

    def page(name: str, heading: str, **given: Any) -> str:
        template = templates.get_template(f"site_{name}.html")
        here = {"page": name, "heading": heading, "root": "", "description": described, "about": common | {"root": ""}}
        return str(template.render(here | given))

    said = worded(rated)
    best = zip(told.listed[:FIRST].tolist(), told.current.rating[:FIRST].tolist(), strict=True)
    first = [(i, told.slugs[x], told.names[x], f"{y:,.{told.digits}f}") for i, (x, y) in enumerate(best, 1)]
    files["index.html"] = page("index", title, first=first)
    if found is not None:
        count = found.even.left.shape[1]
        extra = {"sided": found.home is not None, "drawn": found.draw is not None, "event": about["event"]}
        files["pairs.html"] = page("pairs", "Who would win?", few=count if count < len(told.names) else 0, **extra)
    if tables:
        places = dict(zip(map(str, rated.players.tolist()), zip(told.slugs, told.names, strict=True), strict=True))
        files["coming.html"] = page("coming", "What is coming", tables=tables, places=places)
    files["quality.html"] = page("quality", "How good are the predictions?", **_quality(said))
    files["about.html"] = page(
        "about",
        "About these ratings",
        spread=told.careers.deviation is not None,
        system=rated.system.name,
        period=period_said(rated),
        params=settings_said(rated),
    )
    for name in ("assets", "data", "players"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.html"):
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_players(told, templates, about, common, folder / "players")


def check_site(folder: Path) -> None:
    """ValueError unless the folder is new, empty, or holds a site."""
    if folder.is_dir() and not (folder / MARK).exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds other files; name a new folder, or the one of an earlier site")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")


def _quality(said: Worded) -> dict[str, Any]:
    return {"said": said.texts, "bins": said.bins, "reliability": reliability(said.bins)}


def _templates(about: dict[str, Any]) -> Any:
    """The templates, which know what is about all pages."""
    found = environment()
    found.globals["site"] = about
    return found


def _json(values: Any, **options: Any) -> str:
    """JSON that can also stand in a script of a page."""
    options = options or {"separators": (",", ":")}
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, **options)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _listed(told: Told) -> list[dict[str, Any]]:
    """The leaderboard as rows, for files."""
    board = board_of(told)
    head = {"name": "name", "rating": "rating", "spread": "plus or minus", "games": "games", "last": "last played"}
    head |= {"change": "change", "then": "rank then", "peak": "best", "peaked": "best on", "slug": "page"}
    if told.rated.clock == "dates":
        for key in ("last", "peaked"):
            board[key] = [None if x is None else str(np.datetime64(int(x), "D")) for x in board[key]]
    board["slug"] = [f"players/{slug}.html" for slug in board["slug"]]
    columns = [board[key] for key in head if key in board]
    names = [text for key, text in head.items() if key in board]
    return [{"rank": i, **dict(zip(names, row, strict=True))} for i, row in enumerate(zip(*columns, strict=True), 1)]


def _csv(rows: list[dict[str, Any]]) -> str:
    safe = without_formulas({key: np.array([row[key] for row in rows], object) for key in rows[0]})
    file = StringIO()
    file.write(BYTE_ORDER_MARK.decode())
    writer = csv.writer(file)
    writer.writerow(safe)
    writer.writerows(zip(*(x.tolist() for x in safe.values()), strict=True))
    return file.getvalue()
