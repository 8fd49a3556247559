"""What all pages of a site are made of, also as JSON and in files.

Ratings in hindsight, at the level and spread of the ratings at the time.

Results tell differences of ratings. The level of all is held by newcomers, and what is learned of them later moves it;
and whoever is rated without later results is drawn to that level. So both lines are compared with the same field.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, zip_longest
from typing import Any, NamedTuple, TypedDict

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import rating_decimals
from jaxrate.history.event_columns import lookup_ids
from jaxrate.history.history import History
from jaxrate.history.leaderboards import DEFAULT_ACTIVE_DAYS, PEAK_MIN_EVENTS, find_peaks, leaderboard
from jaxrate.history.participations import Participations
from jaxrate.history.player_records import rating_table
from jaxrate.site.page_templates import assign_slugs
from jaxrate.views import wording
from jaxrate.views.accuracy import has_draws
from jaxrate.views.charts import half_widths
from jaxrate.views.line_ups import LineUps, build_line_ups

LEVEL_ROWS = 1000  # rows of the predictions around each over which fields are compared, at least
LEVEL_SHARE = 0.05  # of all rows, at least
EDGE_ROWS = 250  # before the last row, and behind the first: near the ends of the history the field is a shorter one


def align_hindsight(careers: Participations, mean: HostArray, deviation: HostArray) -> tuple[HostArray, HostArray]:
    """Means and deviations in hindsight, moved and scaled so that the field around each match is as it was at the time.

    `careers` have the ratings at the time; means and deviations are [n, 2] of matches, or [n, 1] of participants.
    """
    n = len(mean)
    middle, spread = _moving_mean_and_deviation(careers, careers.gather(mean), n)
    middle_then, spread_then = _moving_mean_and_deviation(careers, careers.after.mean, n)
    is_spread = (spread > 0) & (spread_then > 0)
    scale = np.where(is_spread, spread_then / np.where(is_spread, spread, 1.0), 1.0)
    middle, middle_then, scale = (x[:, None] for x in (middle, middle_then, scale))
    return middle_then + (mean - middle) * scale, deviation * scale


def _moving_mean_and_deviation(careers: Participations, rating: HostArray, n: int) -> tuple[HostArray, HostArray]:
    """[n] mean and standard deviation of the ratings [M] of careers in a window of events around each of n events."""
    at = np.arange(n)
    half = int(max(LEVEL_ROWS, LEVEL_SHARE * n)) // 2
    half_at = np.clip(np.minimum(at, n - 1 - at), min(EDGE_ROWS, half), half)
    begin, end = np.maximum(at - half_at, 0), np.minimum(at + half_at + 1, n)
    centre = float(np.mean(rating)) if len(rating) else 0.0
    centred = np.asarray(rating, float) - centre
    count, first, second = (
        np.append(0.0, np.cumsum(np.bincount(careers.row, x, n))) for x in (np.ones(len(centred)), centred, centred**2)
    )
    number, mean, square = (x[end] - x[begin] for x in (count, first, second))
    number = np.maximum(number, 1.0)
    return centre + mean / number, np.sqrt(np.maximum(square / number - (mean / number) ** 2, 0.0))


def smoothed_event_ratings(rated: History, smoothed: Any) -> tuple[HostArray, HostArray]:
    """Means and deviations [n, 2] of both players of each match, or [n, 1] of participants, given the whole history.

    Args:
      rated: the history.
      smoothed: as from `jr.smooth` of the same events, or the columns that `jaxrate rate --show hindsight` saved of it.
    """
    result, sides = ("score", ("_a", "_b")) if rated.contests is None else ("rank", ("",))
    table = smoothed.columns() if isinstance(smoothed, History) else smoothed
    columns = {name.replace("_after", ""): np.asarray(x) for name, x in table.items()}
    wanted = [[f"{name}{side}" for side in sides] for name in ("rating", "deviation")]
    if not {*chain(*wanted)} <= columns.keys() or not np.array_equal(rated.events[result], columns.get(result, [])):
        order = f"of the same {rated.nouns} as the rated history, in their order"
        raise ValueError(f"smoothed must be {order}, with ratings and deviations, as from jr.smooth")
    mean, deviation = (np.stack([columns[name] for name in names], axis=1) for names in wanted)
    return mean, deviation


def sort_categories(rated: History, tables: Mapping[Any, Any]) -> dict[Any, Any]:
    """Tables by category, beginning with that in which strengths are known best: the commonest, as a rule."""
    if rated.categories is None:
        return dict(tables)
    ratings = rating_table(rated)

    def mean_deviation(category: Any) -> float:
        """The mean deviation of all strengths in a category; histories do not keep the categories of matches."""
        deviations = ratings.get(f"deviation {category}")
        return 0.0 if deviations is None else float(np.mean(deviations))

    return {
        x: tables[x]
        for x in sorted(tables, key=lambda x: (wording.format_category(x) == wording.UNKNOWN, mean_deviation(x)))
    }


FIRST_EVENTS = PEAK_MIN_EVENTS - 1  # whose ratings jump: no peaks, and in long careers they may leave the chart
SETTLED_EVENTS = 30  # lists of all times end with those who have fewer: a short run is no strength
MIN_MET = 20  # others by their peak, or a third of the active: who plays among few cannot be compared with all
EXTRA_DIGITS = 2  # decimals of ratings in downloads, beyond those that are shown


class SiteData(NamedTuple):
    """The data that all pages of a site share."""

    rated: History
    careers: Participations  # rows [R], one for each player and event
    leads: HostArray  # [R] the ratings, or how far they are above the median of the active at the time, if that drifts
    drifts: bool  # whether it does
    peak: HostArray  # [num_players] the row of each player's greatest lead, as on leaderboards; -1: they have none
    rating: HostArray  # [num_players]
    deviation: HostArray  # [num_players]; 0 of systems without deviations
    group: HostArray  # [num_players] the number, from 1, of groups that no chain of events joins, the largest first
    leaderboard_ids: HostArray  # [num_players] ids in order of the leaderboard of all
    listed: HostArray  # ids of current players, in order of their leaderboard
    scope: str  # who these are, and since when ratings changed
    rank: HostArray  # [num_players] among them, in each group; 0 of others
    rank_then: HostArray  # [num_players] the same at the earlier time; 0 of who was not listed
    change: HostArray  # [num_players] of the rating since then; NaN of who is not listed now, or was not then
    names: list[str]
    slugs: list[str]
    line_ups: LineUps
    columns: dict[str, HostArray]  # [n] further columns of the predictions, by heading
    points: HostArray  # [n, 2] of both players of each match; [0, n] where there are none
    hindsight: tuple[HostArray, HostArray] | None  # [n, 2] smoothed means and deviations, aligned; [n, 1] of contests
    digits: int
    noun: wording.PlayerOrTeamNoun
    leaderboard_options: Mapping[str, Any]
    made: datetime  # when the pages are made, in UTC

    @property
    def is_dated(self) -> bool:
        """Whether events have dates."""
        return self.rated.clock == "dates"

    @property
    def is_timed(self) -> bool:
        """Whether all events have times."""
        return self.rated.clock is not None and self.careers.have_all_times

    @property
    def event(self) -> str:
        """What one event is called."""
        return "match" if self.line_ups.in_two else "contest"

    @property
    def events(self) -> str:
        """What several events are called."""
        return {"contest": "contests", "match": "matches"}[self.event]

    @property
    def last_event_heading(self) -> str:
        """The heading of the dates of last events."""
        return {"contest": "last contest", "match": "last played"}[self.event]

    @property
    def last_moment(self) -> str:
        """The time of the last result, as "2024-12-18" or "2024-12-18 20:45:00"; nothing without dates."""
        return "" if self.rated.last is None or not self.is_dated else wording.spell_moment(self.rated.last, "dates")

    @property
    def last_day(self) -> str:
        """The day of the last result; nothing without dates."""
        return self.last_moment[:10]

    @property
    def has_draws(self) -> bool:
        """Whether some matches were drawn."""
        return has_draws(self.line_ups.score)

    @property
    def is_draw_half(self) -> bool:
        """Whether predictions are expected scores, of which a draw counts as half, and no chances to win."""
        return "win" not in self.rated.events and self.has_draws

    @property
    def has_intervals(self) -> bool:
        """Whether ratings have deviations."""
        return self.careers.after.deviation is not None

    @property
    def has_peaks(self) -> bool:
        """Whether anybody has events enough for a peak."""
        return bool((self.peak >= 0).any())

    @property
    def peak_lead(self) -> HostArray:
        """[num_players] the greatest lead of each; NaN of who has no peak."""
        return np.where(self.peak >= 0, self.leads[self.peak], np.nan)

    @property
    def peak_time(self) -> HostArray:
        """[num_players] the time of the peak of each; NaN of who has none."""
        return np.where(self.peak >= 0, self.careers.time[self.peak], np.nan)

    @property
    def is_settled(self) -> HostArray:
        """[num_players] whether each has had events enough, and by their peak had met others enough."""
        is_met = _have_met_enough(self.careers, self.peak, DEFAULT_ACTIVE_DAYS if self.is_dated else np.inf)
        return (self.careers.totals >= SETTLED_EVENTS) & ((self.peak < 0) | is_met)

    @property
    def last_time(self) -> HostArray:
        """[num_players] the time of the last event of each; NaN of who has had none."""
        return np.where(self.careers.totals > 0, self.careers.time[self.careers.start[1:] - 1], np.nan)

    @property
    def place(self) -> HostArray:
        """[num_players] the place of each on the leaderboard of all, from 0."""
        return np.argsort(self.leaderboard_ids)

    @property
    def is_grouped(self) -> bool:
        """Whether no chain of events joins all current players."""
        return bool((self.group[self.listed] != self.group[self.listed[0]]).any())

    @property
    def first_group(self) -> HostArray:
        """The ids of current players in the group of the first, whose ratings alone can be compared with theirs."""
        return self.listed[self.group[self.listed] == self.group[self.listed[0]]]

    @property
    def change_period(self) -> str:
        """The time of moves and changes, as "from 2023-12-19 to 2024-12-18"; nothing where none are shown."""
        since = self.change_since
        return since and (f"from {since} to {self.last_day}" if self.last_day else f"since {since}")

    @property
    def change_since(self) -> str:
        """The time from which on changes count, as text; nothing where none are shown."""
        return self.scope.partition("since ")[2]

    @property
    def shown_names(self) -> dict[str, str]:
        """The names that are shown, by those in the history."""
        return dict(zip(map(str, self.rated.players.tolist()), self.names, strict=True))

    def link_to_page(self, player: int) -> str:
        """The attributes of a link from a page at the top to that of a player, by id."""
        return f"href=players/{self.slugs[player]}.html"

    def is_past(self, time: Any) -> bool:
        """Whether a fixture is on a day before the pages were made; those without dates are on the last day."""
        is_known = time is not None and self.is_dated
        return is_known and self.last_day < str(time)[:10] < self.made.date().isoformat()

    def format_rating(self, x: float, *, signed: bool = False) -> str:
        """A rating, or a difference with its sign, with the decimals of all pages; nothing for NaN."""
        return wording.format_rating(x, self.digits, signed=signed)

    def format_peak(self, peak: float) -> str:
        """A peak as text; nothing for NaN. Leads over the median of the active have a sign."""
        return self.format_rating(peak, signed=self.drifts)

    def peak_definition(self) -> str:
        """What a peak is."""
        events = f"from the {PEAK_MIN_EVENTS}th {self.event} on"
        lead = f"the greatest lead {events} over the median of the active at the time, as that drifts"
        return lead if self.drifts else f"the highest rating {events}"


def _have_met_enough(careers: Participations, rows: HostArray, days: float) -> HostArray:
    """[K] whether the player of each row had met 20 others by then, or a third of those active so shortly before."""
    player, opponent, time = careers.player, careers.opponent, careers.end
    if opponent is None:
        return np.ones(len(rows), bool)
    is_first, pair = np.zeros(len(player), int), player.astype(np.int64) * len(careers.totals) + opponent
    is_first[np.unique(pair, return_index=True)[1]] = 1
    met = np.append(0, np.cumsum(is_first))
    is_pause = np.append((np.diff(time) > days) | (np.diff(player) != 0), True)  # after a row
    begins, ends = np.sort(time[np.roll(is_pause, 1)]), np.sort(time[is_pause]) + days
    active = np.searchsorted(begins, time[rows], side="right") - np.searchsorted(ends, time[rows])
    return met[1:][rows] - met[careers.start[player[rows]]] >= np.minimum(MIN_MET, (active - 1) / 3)


class PageOptions(TypedDict, total=False):
    """How a site or a report shows a history; see `write_site`."""

    title: str | None
    points: tuple[Any, Any] | None
    smoothed: History | Mapping[str, Any] | None
    active: Any
    min_games: int | None
    noun: Any


def build_site_data(
    rated: History,
    options: PageOptions,
    names: Mapping[Any, str] | None = None,
    columns: Mapping[str, Any] | None = None,
    permalinks: Mapping[str, str] | None = None,
) -> SiteData:
    """Make the data of all pages from the arguments of `write_site` and the addresses that earlier builds gave."""
    rated.check_has_events()
    displayed_names = unique_display_names(rated.players, names or {})
    points, event_columns = _resolve_points_and_columns(rated, options.get("points"), columns or {})
    smoothed = options.get("smoothed")
    leaderboard_options: Any = {name: options.get(name) for name in ("active", "min_games")}
    careers = rated.rows.once_per_event()
    hindsight = None if smoothed is None else align_hindsight(careers, *smoothed_event_ratings(rated, smoothed))
    count = len(rated.players)
    board = leaderboard(rated, active="all", top=count)
    current = leaderboard(rated, top=count, **leaderboard_options)
    if not current.num_listed:
        raise ValueError(f"nobody is listed: {current.scope or 'there are no players'}")
    order, listed = (lookup_ids("player", x.player, rated.players).astype(int) for x in (board, current))

    def by_id(ids: HostArray, values: Any, others: float) -> HostArray:
        column = np.full(count, others)
        column[ids] = values
        return column

    rank_then = by_id(listed, current.get("rank_then", 0), 0)
    everybody = np.arange(len(careers.totals))
    level, lead, peak = find_peaks(careers, rated.clock, careers.after.mean, everybody, careers.totals)
    return SiteData(
        rated,
        careers,
        lead,
        level is not None,
        peak,
        by_id(order, board.rating, np.nan),
        by_id(order, board.get("deviation", 0.0), 0.0),
        by_id(order, board.get("group", 1), 1),
        order,
        listed,
        current.scope,
        by_id(listed, current.rank, 0),
        rank_then,
        np.where(rank_then > 0, by_id(listed, current.get("change", np.nan), np.nan), np.nan),
        displayed_names,
        assign_slugs(rated.players.tolist(), displayed_names, permalinks or {}),
        build_line_ups(rated, careers),
        event_columns,
        points,
        hindsight,
        rating_decimals(board.rating),
        wording.name_rated(rated.options, options.get("noun")),
        leaderboard_options,
        datetime.now(UTC),
    )


def _resolve_points_and_columns(
    rated: History, points: Any, columns: Mapping[str, Any]
) -> tuple[Any, dict[str, HostArray]]:
    """The points, or those that the history has, and columns that hold something; ValueError if they are of others."""
    if points is not None and rated.contests is not None:
        raise ValueError("points are for matches of two players; these are contests")
    points = rated.events.get("points", np.zeros((0, 0))).T if points is None else points
    pair, n = [*map(np.asarray, points)], len(rated.events["row"])
    arrays = {name: np.asarray(x) for name, x in columns.items()}
    for name, x in (*arrays.items(), *zip(("points", "points"), pair, strict=False)):
        if x.shape != (n,):
            raise ValueError(f"column {name!r} must be [n], one for each of {n} rows of the predictions, got {x.shape}")
    return np.array(pair).T, {name: x for name, x in arrays.items() if any(_are_known(x))}


def _are_known(values: HostArray) -> Iterator[bool]:
    """Whether each value of a column is neither None nor NaN."""
    return (x is not None and x == x for x in values.tolist())


def unique_display_names(players: HostArray, names: Mapping[Any, str]) -> list[str]:
    """Names of players; equal names are followed by the players' names in the history."""
    texts = [" ".join(str(names.get(x, x)).split()) for x in players.tolist()]
    count = Counter(texts)
    return [f"{text} ({x})" if count[text] > 1 else text for text, x in zip(texts, players.tolist(), strict=True)]


# The same in JSON and in files.

CHANCE_DIGITS = 4  # of probabilities in data
TENTHS_BEYOND = 2, 98  # percents below and above which pages show tenths


def round_for_json(values: HostArray, digits: int) -> list[Any]:
    """Numbers for JSON, with this number of decimals; None for NaN."""
    rounded = np.round(values.astype(float), digits)
    if digits == 0:
        return [None if x != x else int(x) for x in rounded.tolist()]
    return [None if x != x else x for x in rounded.tolist()]


def values_for_json(values: HostArray, digits: int) -> list[Any]:
    """The values of a column for JSON, as numbers or as text; None for what is missing, or not finite."""
    if values.dtype.kind not in "iuf":
        return [str(x) if is_known else None for x, is_known in zip(values.tolist(), _are_known(values), strict=True)]
    rounded = round_for_json(np.where(np.isfinite(values), values, np.nan), digits)
    return [x if x is None or x % 1 else int(x) for x in rounded]


def ratings_for_json(data: SiteData, ratings: HostArray, extra_digits: int = EXTRA_DIGITS) -> list[Any]:
    """Ratings for JSON, with more decimals than are shown: scripts, which round them again, show what pages do."""
    values, digits = ratings.astype(float), data.digits + extra_digits
    step = 10**extra_digits  # of the stored decimals, to one of those that are shown
    stored = np.rint(np.abs(values) * 10.0**digits)
    half_up = np.floor(stored / step + 0.5)  # as scripts round
    stored -= half_up > np.rint(np.abs(values) * 10.0**data.digits)
    return round_for_json(np.copysign(stored / 10.0**digits, values) + 0.0, digits)


def chances_for_json(chance: HostArray) -> list[Any]:
    """Probabilities for JSON, with more decimals than pages show in percent, which read as what they show."""
    p, unit = chance.astype(float), 10.0**CHANCE_DIGITS
    low, high = (x / 100 for x in TENTHS_BEYOND)
    stored = np.rint(unit * p)
    stored = np.where(p > low, np.maximum(stored, unit * low + 1.0), stored)
    stored = np.where(p < high, np.minimum(stored, unit * high - 1.0), stored)
    step = np.where((p > low) & (p < high), unit / 100, unit / 1000)
    is_half = stored % step == step / 2  # which may read either way
    is_rounded_up = np.floor(100 * p * (unit / 100 / step) + 0.5) > np.floor(stored / step)
    stored += np.where(is_half, np.where(is_rounded_up, 1.0, -1.0), 0.0)
    return round_for_json(stored / unit, CHANCE_DIGITS)


def times_for_json(data: SiteData, times: HostArray) -> list[Any]:
    """Times for JSON: days since 1970-01-01 for dates, else the times."""
    return round_for_json(np.floor(times), 0) if data.is_dated else round_for_json(times, 3)


def leaderboard_columns(data: SiteData) -> dict[str, Any]:
    """Columns of all players, the best first; columns of the list of current players are None for others."""
    ids = data.leaderboard_ids
    rank_then = np.where(data.rank_then > 0, data.rank_then, np.nan)
    columns: dict[str, tuple[Any, bool]] = {  # with whether there is such a column
        "name": ([data.names[i] for i in ids], True),
        "slug": ([data.slugs[i] for i in ids], True),
        "rating": (ratings_for_json(data, data.rating[ids]), True),
        "games": (data.careers.totals[ids].tolist(), True),
        "peak": (ratings_for_json(data, data.peak_lead[ids]), True),
        "current": ((data.rank[ids] > 0).astype(int).tolist(), True),
        "settled": (data.is_settled[ids].astype(int).tolist(), True),
        "group": (data.group[ids].tolist(), bool((data.group > 1).any())),
        "spread": (ratings_for_json(data, half_widths(data.deviation[ids])), data.has_intervals),
        "last": (times_for_json(data, data.last_time[ids]), data.is_timed),
        "peaked": (times_for_json(data, data.peak_time[ids]), data.is_timed),
        "change": (ratings_for_json(data, data.change[ids]), bool(data.change_since)),
        "then": (round_for_json(rank_then[ids], 0), bool(data.change_since)),
    }
    return {name: x for name, (x, is_known) in columns.items() if is_known}


def script_safe_json(values: Any) -> str:
    """JSON that is safe in a script of a page."""
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


DOWNLOAD_HEADINGS = {  # by the columns of the ranking
    "group": "group",
    "name": "name",
    "rating": "rating",
    "spread": "plus or minus",
    "games": "games",
    "last": "last played",
    "change": "change",
    "then": "earlier rank",
    "peak": "best",
    "peaked": "best on",
    "slug": "page",
}


def leaderboard_rows(site_data: SiteData) -> list[dict[str, Any]]:
    """The ranking as rows, for downloads: current players by rank, then all others by rating, without one."""
    board, ranks = leaderboard_columns(site_data), site_data.rank[site_data.listed].tolist()
    board["slug"] = [f"players/{slug}.html" for slug in board["slug"]]
    for key in board.keys() & {"last", "peaked"} if site_data.is_dated else ():
        board[key] = [None if x is None else str(np.datetime64(x, "D")) for x in board[key]]
    names = [key for key in DOWNLOAD_HEADINGS if key in board]
    order = np.argsort(1 - np.array(board["current"]), kind="stable").tolist()
    ranked = zip_longest(ranks, order)
    return [{"rank": rank} | {DOWNLOAD_HEADINGS[key]: board[key][i] for key in names} for rank, i in ranked]
