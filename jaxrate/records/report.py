"""A rated history as one page of HTML: leaderboard, players, what is predicted of any two, how good all of it was.

The page needs no network and forbids itself any. Its templates, styles and scripts are in the folder `page`, which the
site shares.
"""

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.records.careers import career, rating_table
from jaxrate.records.comparison import Comparison
from jaxrate.records.duels import duels, packed
from jaxrate.records.everyone import in_hindsight
from jaxrate.records.leaderboard import Leaderboard, leaderboard
from jaxrate.records.metrics import Calibration
from jaxrate.records.rated import Rated, find, to_dates
from jaxrate.records.readings import ratings
from jaxrate.smoothing.found import Smoothed
from jaxrate.text import coarse, number

PAGE = Path(__file__).with_name("page")
STYLES = "page.css", "site.css"
SCRIPTS = "words.js", "table.js", "picker.js", "pair.js", "page.js"
ROWS = 500  # of a player's matches, the last ones
POINTS = 400  # of a trajectory
SIZE = 1000  # of a picture in its own units; the page stretches it


class Picture(NamedTuple):
    """Lines within [0, SIZE] x [0, SIZE], from the top left, and where labels stand beside them, in percent."""

    line: str  # an SVG path
    area: str  # another one, or nothing
    known: str  # the line with hindsight, or nothing
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


class Sheet(NamedTuple):
    """The page of a player."""

    place: int  # on the leaderboard, from 0
    name: str
    rating: str
    games: int
    picture: Picture
    timed: bool  # the picture goes by time, not by the number of events
    every: int  # the picture shows each so many-th event
    columns: list[str]
    kinds: list[str]  # of the columns
    rows: list[tuple[Any, ...]]  # the last events, the latest first


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
    digits, place = coarse(table["rating"]), np.argsort(table["id"])
    chosen = dict.fromkeys([*range(min(top, len(place))), *(int(place[find(rated.players, name)]) for name in players)])
    modifiers = [] if rated.categories is None else [f"modifier {name}" for name in rated.categories]
    columns = [name for name in ("rating", "deviation", *modifiers, "games") if name in table]
    names = _column(table["player"], "text")
    end = ratings(rated)
    if smoothed is not None:
        in_hindsight(rated, smoothed)
    sheets = [_sheet(rated, end, int(table["id"][i]), i, digits, smoothed) for i in chosen]
    found = None
    if len(names) > 1 and rated.categories is None:
        found = duels(rated, table["id"])
    current = leaderboard(rated, top=len(names), active=active, min_games=min_games)
    listed = np.isin(table["player"], current.player)
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
        "current": listed.astype(int).tolist(),
        "pairs": found and packed(found),
    }
    bins = [] if calibration is None else np.transpose(calibration[:3])[calibration.weight > 0].tolist()
    return str(
        page.render(
            libraries,
            title=title,
            rated=rated,
            event="match" if rated.contests is None else "contest",
            events=len(rated.predictions) if rated.contests is None else rated.contests,
            span=span(rated),
            params=settings_said(rated),
            columns=columns,
            sheets=sheets,
            quality=quality or {},
            bins=bins,
            reliability=reliability(bins),
            comparison=comparison,
            current="" if listed.all() else current_said(current),
            paired=found is not None,
            few=0 if found is None or found.even.left.shape[1] == len(names) else found.even.left.shape[1],
            sided=found is not None and found.home is not None,
            drawn=found is not None and found.draw is not None,
            now="" if rated.last is None else times_said(np.array([rated.last]), dates=rated.clock == "dates")[0],
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


def _sheet(rated: Rated, end: Any, player: int, place: int, digits: int, smoothed: Smoothed | None) -> Sheet:
    """The page of the player with this id, who ends with these ratings and at this place."""
    name = rated.players[player]
    found: dict[str, Any] = career(rated, name)
    times, games = found.pop("time"), len(found["rating"])
    mean, deviation = np.append(found["rating"], end.mean[player]), None
    rating = f"{mean[-1]:,.{digits}f}"
    if "deviation" in found:
        deviation = np.append(found["deviation"], end.deviation[player])
        found["deviation"] = 1.96 * found["deviation"]
        rating += f" ± {1.96 * deviation[-1]:,.{digits}f}"
    if rated.clock is not None:
        found = {"time": times_said(times, dates=True) if rated.clock == "dates" else times} | found
    kinds = [_kind(key, x, digits) for key, x in found.items()]
    columns = [_column(x[-ROWS:][::-1], kind) for x, kind in zip(found.values(), kinds, strict=True)]
    timed, every = rated.clock is not None and games > 0 and times[0] != times[-1], max(-(-games // POINTS), 1)
    at = np.append(times, times[-1]) if timed else np.arange(games + 1)
    kept = np.append(np.arange(0, games, every), games)
    known = None if smoothed is None else career(smoothed, name)["rating"]
    if known is not None:  # what the first match left is what the second one found
        known = np.append(known[:1], known)[kept]
    picture = _trajectory(at[kept], mean[kept], None if deviation is None else deviation[kept], known)
    shown = str(*_column([name], "text"))
    rows = list(zip(*columns, strict=True))
    heads = [HEADS.get(key, key.replace("_", " ")) for key in found]
    if rated.clock == "dates":
        heads[0] = "date"
    return Sheet(place, shown, rating, games, picture, timed, every, heads, kinds, rows)


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
    """What JSON can say; None where there is no number."""
    if kind in ("text", "time"):
        return [" ".join(str(x).split()) for x in values]
    digits = 3 if kind in ("plain", "result", "percent") else int(kind)
    return [None if x != x else round(float(x), digits or None) for x in values]


def times_said(values: Values, *, dates: bool) -> Values:
    """As text: days, moments to the second, or numbers."""
    if not dates:
        return np.array([number(round(x, 2)) for x in values.tolist()], object)
    days: Any = to_dates(values) if values.dtype.kind == "f" else values
    unit: Any = "D" if days.dtype == "datetime64[D]" else "s"
    texts = np.datetime_as_string(days, unit=unit, casting="unsafe").tolist()
    return np.array([text.replace("T", " ") for text in texts], object)


def settings_said(rated: Rated) -> list[tuple[str, str]]:
    """The hyperparameters of the system by name, as people write numbers."""
    params = rated.system.params._asdict() | dict(rated.system.settings)
    said = {name: f"{x:,.6g}" if isinstance(x, float) else str(x) for name, x in params.items()}
    return [(name.replace("_", " "), said[name]) for name, x in params.items() if x not in (None, ())]


def current_said(current: Leaderboard) -> str:
    """Who current players are, as "played in the 365 days to 2026-07-19"."""
    return current.scope.partition("\n")[0].partition(" (")[0].partition(", who ")[2]


def span(rated: Rated) -> str:
    """From when to when."""
    if rated.clock is None:
        return ""
    times, dated = rated.predictions["time"].to_numpy(), rated.clock == "dates"
    ends = np.array([times.min(), times.max()])
    return " to ".join(times_said(ends.astype("datetime64[D]") if dated else ends, dates=dated))


def _trajectory(times: Values, mean: Values, deviation: Values | None, known: Values | None) -> Picture:
    """Ratings at dates, or at numbers; as they were known then, and perhaps as they are `known` now."""
    dated = times.dtype.kind == "M"
    at = (times.astype("datetime64[us]") if dated else times).astype(float)
    spread = 0.0 if deviation is None else 1.96 * deviation
    low, high = mean - spread, mean + spread
    whole = [low, high] if known is None else [low, high, known]
    bottom, top = float(np.min(whole)), float(np.max(whole))
    if bottom == top:
        bottom, top = bottom - 1, top + 1
    long = (at[-1] - at[0]) or 1.0

    def y(values: Values) -> Values:
        return np.rint((top - values) / (top - bottom) * SIZE).astype(int)

    x = np.rint((at - at[0]) / long * SIZE).astype(int)
    area = "" if deviation is None else _path(np.append(x, x[::-1]), np.append(y(low), y(high)[::-1])) + "Z"
    marks = at[0] + np.array([0.0, 0.5, 1.0]) * long
    said = times_said(marks.astype("datetime64[us]").astype("datetime64[D]") if dated else marks, dates=dated)
    across = list(zip((0.0, 50.0, 100.0), said, strict=True))
    down = [(float(y(mark)) / SIZE * 100, f"{mark:,.6g}") for mark in _marks(bottom, top)]
    return Picture(_path(x, y(mean)), area, "" if known is None else _path(x, y(known)), across, down)


def _marks(low: float, high: float) -> Values:
    """At most six round numbers between two."""
    size = 10.0 ** math.floor(math.log10((high - low) / 5))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= (high - low) / 5)
    return np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step


def reliability(bins: list[list[float]]) -> Picture:
    """A dot for each bin: what was predicted across, what was observed upwards."""
    dots = (f"M{round(SIZE * predicted)} {round(SIZE * (1 - observed))}h0" for predicted, observed, _ in bins)
    marks = [(25.0 * i, f"{0.25 * i:g}") for i in range(5)]
    return Picture("".join(dots), "", "", marks, [(100 - at, said) for at, said in marks])


def _path(x: Values, y: Values) -> str:
    return "M" + "L".join(f"{a} {b}" for a, b in zip(x, y, strict=True))
