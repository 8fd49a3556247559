"""A rated history as one HTML page: leaderboard, players, predictions for pairs, and accuracy.

The page needs no network, and its policy forbids access to it. The site shares the templates, styles and scripts in the
folder `page`.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.forecasts.matchup_tables import build_matchup_tables, encode_matchup_tables
from jaxrate.league.comparison_table import Comparison
from jaxrate.league.player_history import career, rating_table
from jaxrate.league.rated_history import Rated, find_player
from jaxrate.metrics.sample_metrics import Calibration
from jaxrate.site.player_pages import career_columns, player_career, summarise_players
from jaxrate.site.site_data import EXTRA_DIGITS, SiteData, build_site_data, round_for_json, site_context
from jaxrate.site.wording import describe_period, format_settings, format_times
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.types import HostArray

PAGE_FOLDER = Path(__file__).with_name("page")
STYLE_FILES = "page.css", "site.css"
SCRIPT_FILES = "words.js", "table.js", "picker.js", "chart.js", "careers.js", "pair.js", "page.js"
DATE_PATTERN = re.compile(r"\d{4,}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
MAX_PLAYER_ROWS = 500  # a player's last matches
TABLE_ONLY_COLUMNS = "chance", "draw", "expected"  # columns of a career that its chart does not need
PICTURE_SIZE = 1000  # width and height of the diagram in its own units


class DotPlot(NamedTuple):
    """Dots within [0, PICTURE_SIZE]^2 from the top left, and labels with their positions in percent."""

    dots: str  # an SVG path
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


class PlayerSheet(NamedTuple):
    """The page of a player."""

    place: int  # place on the leaderboard of all players, from 0
    name: str
    summary: str
    games: int
    columns: list[str]
    kinds: list[str]  # kinds of the columns
    rows: list[tuple[Any, ...]]  # the last events, the latest first


@check_arguments
def report_html(
    rated: Rated,
    *,
    title: str = "Ratings",
    top: int = 50,
    players: Iterable[Any] = (),
    quality: Mapping[str, str] | None = None,
    calibration: Calibration | None = None,
    comparison: Comparison | None = None,
    smoothed: Smoothed | None = None,
    active: Any = None,
    min_games: int | None = None,
) -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        Path("report.html").write_text(jr.site.report_html(rated, title="Our league"), encoding="utf-8")

    Args:
      rated: a history from `jr.rate` or `jr.load`.
      title: the heading of the page.
      top: number of the best players who have a section with their trajectory and their matches or contests.
      players: names of further players with such a section.
      quality: metrics of the predictions as text, by name. None: not shown.
      calibration: calibration of the predictions. None: not shown.
      comparison: comparison with other systems. None: not shown.
      smoothed: the smoothed history of the same matches, from `jr.smooth`: trajectories then have a second line, as
        known now. None: one line.
      active, min_games: definition of current players, as for `jr.leaderboard`: the page begins with them.

    Raises:
      ValueError: for an unknown player, or a smoothed history of other matches.
      ImportError: if jinja2 is not installed.
    """
    page, libraries = load_template()
    table = rating_table(rated)
    place = np.argsort(table["id"])
    chosen = dict.fromkeys(
        [*range(min(top, len(place))), *(int(place[find_player(rated.players, name)]) for name in players)]
    )
    modifiers = [] if rated.categories is None else [f"modifier {name}" for name in rated.categories]
    columns = [name for name in ("rating", "deviation", *modifiers, "games") if name in table]
    site_data = build_site_data(rated, {}, {}, None, smoothed, {"active": active, "min_games": min_games})
    context, digits, ids = site_context(site_data, title), site_data.digits, table["id"].tolist()
    names, summaries = [site_data.names[i] for i in ids], summarise_players(site_data, context)
    chart_columns = {name: x for name, x in career_columns(site_data).items() if name not in TABLE_ONLY_COLUMNS}
    sheets = [_build_player_sheet(site_data, ids[i], i, summaries[ids[i]]) for i in chosen]
    matchup_tables = None
    if len(names) > 1 and rated.categories is None:
        matchup_tables = build_matchup_tables(rated, table["id"])
    is_listed = np.isin(table["id"], site_data.listed)
    if "deviation" in columns:
        table["±"] = 1.96 * table["deviation"]
        columns[columns.index("deviation")] = "±"
    kinds = [_column_kind(name, table[name], digits) for name in columns]
    column_values = [_column_for_json(table[name], kind) for name, kind in zip(columns, kinds, strict=True)]
    data = {
        "board": list(zip(range(1, len(names) + 1), names, *column_values, strict=True)),
        "boardKinds": ["0", "text", *kinds],
        "sheets": {sheet.place: sheet.rows for sheet in sheets},
        "sheetKinds": sheets[0].kinds if sheets else [],
        "careers": {i: player_career(site_data, ids[i], chart_columns) for i in chosen},
        "dated": context["dated"],
        "digits": digits,
        "current": is_listed.astype(int).tolist(),
        "pairs": matchup_tables and encode_matchup_tables(matchup_tables),
    }
    bins = [] if calibration is None else np.transpose(calibration[:3])[calibration.weight > 0].tolist()
    return str(
        page.render(
            libraries,
            title=title,
            rated=rated,
            site=context,
            event=context["event"],
            period=describe_period(rated),
            params=format_settings(rated),
            columns=columns,
            sheets=sheets,
            rows=MAX_PLAYER_ROWS,
            quality=quality or {},
            bins=bins,
            reliability=reliability_dot_plot(bins),
            comparison=comparison,
            paired=matchup_tables is not None,
            few=0
            if matchup_tables is None or matchup_tables.even.left.shape[1] == len(names)
            else matchup_tables.even.left.shape[1],
            sided=matchup_tables is not None and matchup_tables.home is not None,
            drawn=matchup_tables is not None and matchup_tables.draw is not None,
            data=data,
        )
    )


def make_template_environment() -> Any:
    """The environment of the templates; ImportError if jinja2 is not installed."""
    try:
        jinja2 = import_module("jinja2")
    except ImportError as error:
        raise ImportError("pages need jinja2: pip install 'jaxrate[report]'") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE_FOLDER), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    escape = import_module("markupsafe").escape  # dates are not broken over lines
    environment.filters["dates"] = lambda text: type(escape(""))(
        DATE_PATTERN.sub(r"<time>\g<0></time>", str(escape(text)))
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def load_template(name: str = "page.html") -> tuple[Any, dict[str, Any]]:
    """The template of this name, and variables for its style and script; ImportError if jinja2 is not installed."""
    template, script = make_template_environment().get_template(name), concatenate_page_files(SCRIPT_FILES)
    script_hash = b64encode(sha256(script.encode()).digest()).decode()
    return template, {
        "version": version("jaxrate"),
        "style": concatenate_page_files(STYLE_FILES),
        "script": script,
        "hash": script_hash,
    }


def concatenate_page_files(names: Iterable[str]) -> str:
    """The contents of files of the folder `page`, one after the other."""
    return "\n".join((PAGE_FOLDER / name).read_text(encoding="utf-8") for name in names)


def _build_player_sheet(site_data: SiteData, player: int, place: int, summary: str) -> PlayerSheet:
    """The section of a player, who has this place on the leaderboard."""
    rated, digits = site_data.rated, site_data.digits
    player_columns: dict[str, Any] = career(rated, rated.players[player])
    times, games = player_columns.pop("time"), len(player_columns["rating"])
    if "deviation" in player_columns:
        player_columns["deviation"] = 1.96 * player_columns["deviation"]
    if rated.clock is not None:
        player_columns = {"time": format_times(times, dates=True) if rated.clock == "dates" else times} | player_columns
    kinds = [_column_kind(key, x, digits) for key, x in player_columns.items()]
    columns = [
        _column_for_json(x[-MAX_PLAYER_ROWS:][::-1], kind)
        for x, kind in zip(player_columns.values(), kinds, strict=True)
    ]
    heads = [COLUMN_HEADINGS.get(key, key.replace("_", " ")) for key in player_columns]
    if rated.clock == "dates":
        heads[0] = "date"
    return PlayerSheet(place, site_data.names[player], summary, games, heads, kinds, list(zip(*columns, strict=True)))


# Kinds of columns of tables: "text", "time" as text, the "result" of a match, "percent", "plain" numbers, or a number
# of decimals, after a + with signs. Then the headings of columns.

COLUMN_KINDS = {"player": "text", "opponent": "text", "score": "result", "expected_rank": "1", "quality": "3"}
COLUMN_KINDS |= dict.fromkeys(("probability", "win", "draw", "loss"), "percent")
COLUMN_HEADINGS = {
    "score": "result",
    "probability": "chance",
    "rank": "place",
    "expected_rank": "expected",
    "deviation": "±",
}
COLUMN_KINDS |= dict.fromkeys(("participants", "teams", "rank", "rank_needed", "games"), "0")


def _column_kind(column: str, values: HostArray, digits: int) -> str:
    """The kind of a column, if ratings have this number of decimals."""
    if column in ("time", "contest"):
        return "plain" if values.dtype.kind in "iuf" else "text" if column == "contest" else "time"
    return COLUMN_KINDS.get(column, f"+{digits}" if column == "change" else str(digits))


def _column_for_json(values: Iterable[Any], kind: str) -> list[Any]:
    """Values for JSON, with more decimals than are shown; None for NaN."""
    if kind in ("text", "time"):
        return [" ".join(str(x).split()) for x in values]
    return round_for_json(np.asarray(values), 3 if kind in ("plain", "result", "percent") else int(kind) + EXTRA_DIGITS)


def reliability_dot_plot(bins: list[list[float]]) -> DotPlot:
    """A dot for each bin: predicted to the right, observed upwards."""
    dots = (
        f"M{round(PICTURE_SIZE * predicted)} {round(PICTURE_SIZE * (1 - observed))}h0"
        for predicted, observed, _ in bins
    )
    marks = [(25.0 * i, f"{25 * i} %") for i in range(5)]
    return DotPlot("".join(dots), marks, [(100 - at, text) for at, text in marks])
