"""A rated history as one page of HTML: leaderboard, players, what is predicted of any two, how good all of it was.

The page needs no network and forbids itself any. Its templates, styles and scripts are in the folder `page`, which the
site shares.
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
from jaxrate.metrics.prediction_metrics import Calibration
from jaxrate.site.player_pages import career_columns, player_career, summarise_players
from jaxrate.site.site_data import EXTRA_DIGITS, SiteData, build_site_data, round_for_json, site_context
from jaxrate.site.wording import describe_period, format_settings, format_times
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.types import HostArray

PAGE_FOLDER = Path(__file__).with_name("page")
STYLE_FILES = "page.css", "site.css"
SCRIPT_FILES = "words.js", "table.js", "picker.js", "chart.js", "careers.js", "pair.js", "page.js"
DATE_PATTERN = re.compile(r"\d{4,}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
MAX_PLAYER_ROWS = 500  # of a player's matches, the last ones
TABLE_ONLY_COLUMNS = "chance", "draw", "expected"  # what a chart does not tell of a career
PICTURE_SIZE = 1000  # of a picture in its own units; the page stretches it


class DotPlot(NamedTuple):
    """Dots within [0, SIZE] x [0, SIZE], from the top left, and where labels stand beside them, in percent."""

    dots: str  # an SVG path
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


class PlayerSheet(NamedTuple):
    """The page of a player."""

    place: int  # on the leaderboard of all, from 0
    name: str
    summary: str
    games: int
    columns: list[str]
    kinds: list[str]  # of the columns
    rows: list[tuple[Any, ...]]  # the last events, the latest first


@check_arguments
def write_report(
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
    """The page, to be written to a file in UTF-8.

        Path("report.html").write_text(jr.site.write_report(rated, title="Our league"), encoding="utf-8")

    Args:
      rated: as from `jr.rate` or `jr.load`.
      title: its heading.
      top: how many of the best have a page with their trajectory and their matches or contests.
      players: names of others who have one.
      quality: how good the predictions were, by the name of the measure. None: not shown.
      calibration: of the predictions. None: the page says that there is none.
      comparison: with other systems. None: the page says that there is none.
      smoothed: the same matches with hindsight, as from `jr.smooth`: trajectories then have a second line, as is known
        now. None: they have one.
      active, min_games: who are current players, as in `jr.leaderboard`: the page begins with them.

    Raises:
      ValueError: if there is no such player, or the hindsight is of other matches.
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
    about, digits, ids = site_context(site_data, title), site_data.digits, table["id"].tolist()
    names, summaries = [site_data.names[i] for i in ids], summarise_players(site_data, about)
    lines = {name: x for name, x in career_columns(site_data).items() if name not in TABLE_ONLY_COLUMNS}
    sheets = [_player_sheet(site_data, ids[i], i, summaries[ids[i]]) for i in chosen]
    pair_duels = None
    if len(names) > 1 and rated.categories is None:
        pair_duels = build_matchup_tables(rated, table["id"])
    listed = np.isin(table["id"], site_data.listed)
    if "deviation" in columns:
        table["±"] = 1.96 * table["deviation"]
        columns[columns.index("deviation")] = "±"
    kinds = [_column_kind(name, table[name], digits) for name in columns]
    shown = [_json_column(table[name], kind) for name, kind in zip(columns, kinds, strict=True)]
    data = {
        "board": list(zip(range(1, len(names) + 1), names, *shown, strict=True)),
        "boardKinds": ["0", "text", *kinds],
        "sheets": {sheet.place: sheet.rows for sheet in sheets},
        "sheetKinds": sheets[0].kinds if sheets else [],
        "careers": {i: player_career(site_data, ids[i], lines) for i in chosen},
        "dated": about["dated"],
        "digits": digits,
        "current": listed.astype(int).tolist(),
        "pairs": pair_duels and encode_matchup_tables(pair_duels),
    }
    bins = [] if calibration is None else np.transpose(calibration[:3])[calibration.weight > 0].tolist()
    return str(
        page.render(
            libraries,
            title=title,
            rated=rated,
            site=about,
            event=about["event"],
            period=describe_period(rated),
            params=format_settings(rated),
            columns=columns,
            sheets=sheets,
            rows=MAX_PLAYER_ROWS,
            quality=quality or {},
            bins=bins,
            reliability=reliability_diagram(bins),
            comparison=comparison,
            paired=pair_duels is not None,
            few=0
            if pair_duels is None or pair_duels.even.left.shape[1] == len(names)
            else pair_duels.even.left.shape[1],
            sided=pair_duels is not None and pair_duels.home is not None,
            drawn=pair_duels is not None and pair_duels.draw is not None,
            data=data,
        )
    )


def template_environment() -> Any:
    """Where the templates are; ImportError if jinja2 is not installed."""
    try:
        jinja2 = import_module("jinja2")
    except ImportError as error:
        raise ImportError("pages need jinja2: pip install 'jaxrate[report]'") from error
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE_FOLDER), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    escape = import_module("markupsafe").escape  # dates are set so that they are not broken
    found.filters["dates"] = lambda text: type(escape(""))(DATE_PATTERN.sub(r"<time>\g<0></time>", str(escape(text))))
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return found


def load_template(name: str = "page.html") -> tuple[Any, dict[str, Any]]:
    """The template of this name, and its style and script; ImportError if jinja2 is not installed."""
    template, script = template_environment().get_template(name), concatenate_files(SCRIPT_FILES)
    check = b64encode(sha256(script.encode()).digest()).decode()
    return template, {
        "version": version("jaxrate"),
        "style": concatenate_files(STYLE_FILES),
        "script": script,
        "hash": check,
    }


def concatenate_files(names: Iterable[str]) -> str:
    """Files of the folder `page` one after the other."""
    return "\n".join((PAGE_FOLDER / name).read_text(encoding="utf-8") for name in names)


def _player_sheet(site_data: SiteData, player: int, place: int, summary: str) -> PlayerSheet:
    """The page of the player with this id, who is at this place."""
    rated, digits = site_data.rated, site_data.digits
    player_columns: dict[str, Any] = career(rated, rated.players[player])
    times, games = player_columns.pop("time"), len(player_columns["rating"])
    if "deviation" in player_columns:
        player_columns["deviation"] = 1.96 * player_columns["deviation"]
    if rated.clock is not None:
        player_columns = {"time": format_times(times, dates=True) if rated.clock == "dates" else times} | player_columns
    kinds = [_column_kind(key, x, digits) for key, x in player_columns.items()]
    columns = [
        _json_column(x[-MAX_PLAYER_ROWS:][::-1], kind) for x, kind in zip(player_columns.values(), kinds, strict=True)
    ]
    heads = [COLUMN_HEADINGS.get(key, key.replace("_", " ")) for key in player_columns]
    if rated.clock == "dates":
        heads[0] = "date"
    return PlayerSheet(place, site_data.names[player], summary, games, heads, kinds, list(zip(*columns, strict=True)))


# What a column of the page's tables holds: "text", "time" in words, the "result" of a match, "percent", "plain"
# numbers, or numbers with so many decimals, after a + with their sign. And what people call the columns.

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
    """The kind of this column, if ratings have so many decimals."""
    if column in ("time", "contest"):
        return "plain" if values.dtype.kind in "iuf" else "text" if column == "contest" else "time"
    return COLUMN_KINDS.get(column, f"+{digits}" if column == "change" else str(digits))


def _json_column(values: Iterable[Any], kind: str) -> list[Any]:
    """What JSON can say, in more decimals than are shown; None where there is no number."""
    if kind in ("text", "time"):
        return [" ".join(str(x).split()) for x in values]
    return round_for_json(np.asarray(values), 3 if kind in ("plain", "result", "percent") else int(kind) + EXTRA_DIGITS)


def reliability_diagram(bins: list[list[float]]) -> DotPlot:
    """A dot for each bin: what was predicted across, what was observed upwards."""
    dots = (
        f"M{round(PICTURE_SIZE * predicted)} {round(PICTURE_SIZE * (1 - observed))}h0"
        for predicted, observed, _ in bins
    )
    marks = [(25.0 * i, f"{25 * i} %") for i in range(5)]
    return DotPlot("".join(dots), marks, [(100 - at, said) for at, said in marks])
