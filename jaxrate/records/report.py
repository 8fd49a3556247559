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

from jaxrate.arguments import check_arguments
from jaxrate.data.tables import Values
from jaxrate.records.careers import career, rating_table
from jaxrate.records.comparison_table import Comparison
from jaxrate.records.duels import duels, packed
from jaxrate.records.metrics import Calibration
from jaxrate.records.phrases import period_said, settings_said, times_said
from jaxrate.records.rated import Rated, find
from jaxrate.records.site.players import career_columns, career_of, summaries_of
from jaxrate.records.site.told import FURTHER, Told, about_site, plain, told_of
from jaxrate.smoothing.found import Smoothed

PAGE = Path(__file__).with_name("page")
STYLES = "page.css", "site.css"
SCRIPTS = "words.js", "table.js", "picker.js", "chart.js", "careers.js", "pair.js", "page.js"
DATE = re.compile(r"\d{4,}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
ROWS = 500  # of a player's matches, the last ones
TABLED = "chance", "draw", "expected"  # what a chart does not tell of a career
SIZE = 1000  # of a picture in its own units; the page stretches it


class Picture(NamedTuple):
    """Dots within [0, SIZE] x [0, SIZE], from the top left, and where labels stand beside them, in percent."""

    dots: str  # an SVG path
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


class Sheet(NamedTuple):
    """The page of a player."""

    place: int  # on the leaderboard of all, from 0
    name: str
    summary: str
    games: int
    columns: list[str]
    kinds: list[str]  # of the columns
    rows: list[tuple[Any, ...]]  # the last events, the latest first


@check_arguments
def report(
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

        Path("report.html").write_text(jr.report(rated, title="Our league"), encoding="utf-8")

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
    page, libraries = installed()
    table = rating_table(rated)
    place = np.argsort(table["id"])
    chosen = dict.fromkeys([*range(min(top, len(place))), *(int(place[find(rated.players, name)]) for name in players)])
    modifiers = [] if rated.categories is None else [f"modifier {name}" for name in rated.categories]
    columns = [name for name in ("rating", "deviation", *modifiers, "games") if name in table]
    told = told_of(rated, {}, {}, None, smoothed, {"active": active, "min_games": min_games})
    about, digits, ids = about_site(told, title), told.digits, table["id"].tolist()
    names, summaries = [told.names[i] for i in ids], summaries_of(told, about)
    lines = {name: x for name, x in career_columns(told).items() if name not in TABLED}
    sheets = [_sheet(told, ids[i], i, summaries[ids[i]]) for i in chosen]
    found = None
    if len(names) > 1 and rated.categories is None:
        found = duels(rated, table["id"])
    listed = np.isin(table["id"], told.listed)
    if "deviation" in columns:
        table["±"] = 1.96 * table["deviation"]
        columns[columns.index("deviation")] = "±"
    kinds = [_kind(name, table[name], digits) for name in columns]
    shown = [_column(table[name], kind) for name, kind in zip(columns, kinds, strict=True)]
    data = {
        "board": list(zip(range(1, len(names) + 1), names, *shown, strict=True)),
        "boardKinds": ["0", "text", *kinds],
        "sheets": {sheet.place: sheet.rows for sheet in sheets},
        "sheetKinds": sheets[0].kinds if sheets else [],
        "careers": {i: career_of(told, ids[i], lines) for i in chosen},
        "dated": about["dated"],
        "digits": digits,
        "current": listed.astype(int).tolist(),
        "pairs": found and packed(found),
    }
    bins = [] if calibration is None else np.transpose(calibration[:3])[calibration.weight > 0].tolist()
    return str(
        page.render(
            libraries,
            title=title,
            rated=rated,
            site=about,
            event=about["event"],
            period=period_said(rated),
            params=settings_said(rated),
            columns=columns,
            sheets=sheets,
            rows=ROWS,
            quality=quality or {},
            bins=bins,
            reliability=reliability(bins),
            comparison=comparison,
            paired=found is not None,
            few=0 if found is None or found.even.left.shape[1] == len(names) else found.even.left.shape[1],
            sided=found is not None and found.home is not None,
            drawn=found is not None and found.draw is not None,
            data=data,
        )
    )


def environment() -> Any:
    """Where the templates are; ImportError if jinja2 is not installed."""
    try:
        jinja2 = import_module("jinja2")
    except ImportError as error:
        raise ImportError("pages need jinja2: pip install 'jaxrate[report]'") from error
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    escape = import_module("markupsafe").escape  # dates are set so that they are not broken
    found.filters["dates"] = lambda text: type(escape(""))(DATE.sub(r"<time>\g<0></time>", str(escape(text))))
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return found


def installed(name: str = "page.html") -> tuple[Any, dict[str, Any]]:
    """The template of this name, and its style and script; ImportError if jinja2 is not installed."""
    template, script = environment().get_template(name), joined(SCRIPTS)
    check = b64encode(sha256(script.encode()).digest()).decode()
    return template, {"version": version("jaxrate"), "style": joined(STYLES), "script": script, "hash": check}


def joined(names: Iterable[str]) -> str:
    """Files of the folder `page` one after the other."""
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in names)


def _sheet(told: Told, player: int, place: int, summary: str) -> Sheet:
    """The page of the player with this id, who is at this place."""
    rated, digits = told.rated, told.digits
    found: dict[str, Any] = career(rated, rated.players[player])
    times, games = found.pop("time"), len(found["rating"])
    if "deviation" in found:
        found["deviation"] = 1.96 * found["deviation"]
    if rated.clock is not None:
        found = {"time": times_said(times, dates=True) if rated.clock == "dates" else times} | found
    kinds = [_kind(key, x, digits) for key, x in found.items()]
    columns = [_column(x[-ROWS:][::-1], kind) for x, kind in zip(found.values(), kinds, strict=True)]
    heads = [HEADS.get(key, key.replace("_", " ")) for key in found]
    if rated.clock == "dates":
        heads[0] = "date"
    return Sheet(place, told.names[player], summary, games, heads, kinds, list(zip(*columns, strict=True)))


# What a column of the page's tables holds: "text", "time" in words, the "result" of a match, "percent", "plain"
# numbers, or numbers with so many decimals, after a + with their sign. And what people call the columns.

KINDS = {"player": "text", "opponent": "text", "score": "result", "expected_rank": "1", "quality": "3"}
KINDS |= dict.fromkeys(("probability", "win", "draw", "loss"), "percent")
HEADS = {"score": "result", "probability": "chance", "rank": "place", "expected_rank": "expected", "deviation": "±"}
KINDS |= dict.fromkeys(("participants", "teams", "rank", "rank_needed", "games"), "0")


def _kind(column: str, values: Values, digits: int) -> str:
    """The kind of this column, if ratings have so many decimals."""
    if column in ("time", "contest"):
        return "plain" if values.dtype.kind in "iuf" else "text" if column == "contest" else "time"
    return KINDS.get(column, f"+{digits}" if column == "change" else str(digits))


def _column(values: Iterable[Any], kind: str) -> list[Any]:
    """What JSON can say, in more decimals than are shown; None where there is no number."""
    if kind in ("text", "time"):
        return [" ".join(str(x).split()) for x in values]
    return plain(np.asarray(values), 3 if kind in ("plain", "result", "percent") else int(kind) + FURTHER)


def reliability(bins: list[list[float]]) -> Picture:
    """A dot for each bin: what was predicted across, what was observed upwards."""
    dots = (f"M{round(SIZE * predicted)} {round(SIZE * (1 - observed))}h0" for predicted, observed, _ in bins)
    marks = [(25.0 * i, f"{25 * i} %") for i in range(5)]
    return Picture("".join(dots), marks, [(100 - at, said) for at, said in marks])
