"""What all pages of a site are made of.

Ratings in hindsight, at the level and spread of the ratings at the time.

Results tell differences of ratings. The level of all is held by newcomers, and what is learned of them later moves it;
and whoever is rated without later results is drawn to that level. So both lines are compared with the same field.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import coarse_rating_decimals, format_count
from jaxrate.forecasts.matchup_tables import MatchupTables, Partners, encode_matchup_tables, typical_team_size
from jaxrate.history.history import History
from jaxrate.history.leaderboards import (
    PEAK_MIN_EVENTS,
    Leaderboard,
    describe_groups,
    leaderboard,
    make_history_leaderboards,
    rows_of_peaks,
)
from jaxrate.history.participations import Participations
from jaxrate.history.player_records import rating_table
from jaxrate.history.recorded_runs import do_leads_fade
from jaxrate.site.line_ups import (
    TEAM_SHARE,
    LineUps,
    build_line_ups,
    has_teammates,
    has_two_sides,
    side_score_by_participant,
    side_words,
)
from jaxrate.site.page_templates import assign_slugs
from jaxrate.site.wording import (
    SURFACES,
    UNKNOWN,
    PlayerOrTeamNoun,
    category_noun,
    choose_player_or_team_noun,
    describe_current_players,
    describe_draw_chances,
    describe_learned_columns,
    format_category,
    format_rating,
    format_time_span,
    format_times,
    learns_from_margins,
)

LEVEL_ROWS = 1000  # rows of the predictions around each over which fields are compared, at least
LEVEL_SHARE = 0.05  # of all rows, at least
EDGE_ROWS = 250  # before the last row, and behind the first: near the ends of the history the field is a shorter one


def align_hindsight(careers: Participations, mean: HostArray, deviation: HostArray) -> tuple[HostArray, HostArray]:
    """The ratings in hindsight, moved and scaled so that the field around each match is as it was at the time.

    Args:
      careers: all careers, with the ratings at the time.
      mean, deviation: [n, 2] of both players of each match in hindsight, or [n, 1] of participants.

    Returns:
      The same, of which everybody in the rows around each has the mean and the standard deviation of those at the time.
    """
    n = len(mean)
    middle, spread = _moving_mean_and_deviation(careers, careers.gather(mean), n)
    middle_then, spread_then = _moving_mean_and_deviation(careers, careers.after.mean, n)
    is_spread = (spread > 0) & (spread_then > 0)
    scale = np.where(is_spread, spread_then / np.where(is_spread, spread, 1.0), 1.0)
    middle, middle_then, scale = (x[:, None] for x in (middle, middle_then, scale))
    return middle_then + (mean - middle) * scale, deviation * scale


def _moving_mean_and_deviation(careers: Participations, rating: HostArray, n: int) -> tuple[HostArray, HostArray]:
    """[n] the mean and the standard deviation of ratings [M] in the rows around each row."""
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

    Raises:
      ValueError: if it is of other events.
    """
    result, sides = ("score", ("_a", "_b")) if rated.contests is None else ("rank", ("",))
    columns = smoothed_event_columns(smoothed) if isinstance(smoothed, History) else smoothed
    columns = columns if isinstance(columns, Mapping) else {}
    if not {"rating", "deviation"} <= {name.removesuffix("_a") for name in columns}:
        raise ValueError("smoothed must be as from jr.smooth, or the columns that `rate --show hindsight` saved")
    if not np.array_equal(rated.events[result], np.asarray(columns.get(result))):
        raise ValueError(f"smoothed must be of the same {rated.nouns} as the rated history, in their order")
    mean, deviation = (
        np.stack([columns[f"{name}{side}"] for side in sides], axis=1) for name in ("rating", "deviation")
    )
    return mean, deviation


def smoothed_event_columns(smoothed: History) -> dict[str, HostArray]:
    """The columns of a history with hindsight that are saved beside a run: its ratings are those after events."""
    return {name.replace("_after", ""): x for name, x in smoothed.columns().items()}


def equal_partners(rated: History, listed: HostArray) -> Partners | None:
    """The partners of any two in a history of teams: as strong as the middle one of those `listed`, best first."""
    size = typical_team_size(rated)
    return None if size < 2 or not len(listed) else Partners(size - 1, int(listed[len(listed) // 2]))


def sort_categories(rated: History, tables: Mapping[Any, Any]) -> dict[Any, Any]:
    """Tables by category, beginning with that in which strengths are known best: the commonest, as a rule.

    One without a name is the last.
    """
    if rated.categories is None:
        return dict(tables)
    ratings = rating_table(rated)

    def mean_deviation(category: Any) -> float:
        """Of all players' strengths in it; the histories do not keep the categories of matches."""
        deviations = ratings.get(f"deviation {category}")
        return 0.0 if deviations is None else float(np.mean(deviations))

    return {x: tables[x] for x in sorted(tables, key=lambda x: (format_category(x) == UNKNOWN, mean_deviation(x)))}


def pair_fields(rated: History, matchups: Mapping[Any, MatchupTables]) -> dict[str, Any]:
    """The variables of its template, from the tables by category."""
    num_players = len(rated.players)
    tables = list(matchups.values())
    count = min((x.even.left.shape[1] for x in tables), default=num_players)
    categories = [format_category(name) for name in matchups if name is not None]
    return {
        "few": count if count < num_players else 0,
        "sided": bool(tables) and all(x.home is not None for x in tables),
        "drawn": bool(tables) and all(x.draw is not None for x in tables),
        "categories": categories,
        "category_noun": category_noun(rated),
        "in_series": not any(x.casefold() in SURFACES for x in categories),  # tennis has none
    }


def encode_matchups(matchups: Mapping[Any, MatchupTables]) -> list[dict[str, Any]]:
    """The tables in JSON, in the order of the categories."""
    return [encode_matchup_tables(tables) for tables in matchups.values()]


MEAN_YEAR_DAYS = 365.25
FIRST_EVENTS = PEAK_MIN_EVENTS - 1  # whose ratings jump: no peaks, and in long careers they may leave the chart
SETTLED_EVENTS = 30  # lists of all times end with those who have fewer: a short run is no strength
UNCERTAIN_RATIO = 1.4  # of a listed player's interval to the median one, above which it is marked: half the evidence
EXTRA_DIGITS = 2  # decimals of ratings in downloads, beyond those that are shown


class SiteData(NamedTuple):
    """Data of all pages."""

    rated: History
    careers: Participations  # rows [R], one for each player and event
    level: HostArray | None  # [R] the median of the active at the time, which peaks are above; None: it does not drift
    peak: HostArray  # [num_players] the row of each player's peak, as on leaderboards; -1: they have none
    full_leaderboard: Leaderboard
    leaderboard_ids: HostArray  # [num_players] ids in order of the full leaderboard
    current: Leaderboard  # leaderboard of current players
    listed: HostArray  # their ids
    names: list[str]
    slugs: list[str]
    line_ups: LineUps
    columns: dict[str, HostArray]  # [n] further columns of the predictions, by heading
    points: tuple[HostArray, HostArray] | None
    hindsight: tuple[HostArray, HostArray] | None  # [n, 2] smoothed means and deviations, aligned; [n, 1] of contests
    digits: int
    noun: PlayerOrTeamNoun
    leaderboard_options: Mapping[str, Any]
    min_games: int  # with which a player is listed
    made: datetime  # when the pages are made, in UTC

    @property
    def last_day(self) -> str:
        """The day of the last result, as "2024-12-18"; nothing without dates."""
        if self.rated.last is None or self.rated.clock != "dates":
            return ""
        return str(format_times(np.array([self.rated.last]), dates=True)[0])[:10]

    @property
    def change_period(self) -> str:
        """The time of moves and changes, as "from 2023-12-19 to 2024-12-18"; nothing where none are shown."""
        since = self.current.scope.partition("since ")[2]
        if not since:
            return ""
        return f"from {since} to {self.last_day}" if self.last_day else f"since {since}"

    def is_past(self, time: Any) -> bool:
        """Whether a fixture is on a day before the pages were made; those without dates are on the last day."""
        is_dated = time is not None and self.rated.clock == "dates"
        return is_dated and self.last_day < str(time)[:10] < self.made.date().isoformat()


def build_site_data(
    rated: History,
    names: Mapping[Any, str],
    columns: Mapping[str, Any],
    points: Any,
    smoothed: Any,
    leaderboard_options: Mapping[str, Any],
    noun: Any = None,
    permalinks: Mapping[str, str] | None = None,
) -> SiteData:
    """Make the data of all pages from the arguments of `write_site` and the addresses that earlier builds gave."""
    rated.check_has_events()
    displayed_names = unique_display_names(rated.players, names)
    points, event_columns = _check_points_and_columns(rated, points, columns)
    careers = rated.rows.once_per_event()
    hindsight = None if smoothed is None else align_hindsight(careers, *smoothed_event_ratings(rated, smoothed))
    count = len(rated.players)
    lists = make_history_leaderboards(rated, None, **leaderboard_options)
    full_leaderboard = leaderboard(rated, active="all", top=count)
    current = leaderboard(rated, top=count, **leaderboard_options)
    if current.change is not None and current.rank_then is not None:  # none of those who are new on the list
        current["change"] = np.where(current.rank_then > 0, current.change, np.nan)
    id_of_name = {name: i for i, name in enumerate(rated.players.tolist())}
    order, listed = (
        np.array([id_of_name[x] for x in board.player.tolist()], int) for board in (full_leaderboard, current)
    )
    slugs = assign_slugs(rated.players.tolist(), displayed_names, permalinks or {})
    digits = coarse_rating_decimals(full_leaderboard.rating)
    return SiteData(
        rated,
        careers,
        *rows_of_peaks(rated, careers),
        full_leaderboard,
        order,
        current,
        listed,
        displayed_names,
        slugs,
        build_line_ups(rated, careers),
        event_columns,
        points,
        hindsight,
        digits,
        choose_player_or_team_noun(rated, noun),
        dict(leaderboard_options),
        lists.resolve_min_games(None),
        datetime.now(UTC),
    )


def _check_points_and_columns(
    rated: History, points: Any, columns: Mapping[str, Any]
) -> tuple[Any, dict[str, HostArray]]:
    """The points, or those that the history has, and columns that hold something; ValueError if they are of others."""
    if points is not None and rated.contests is not None:
        raise ValueError("points are for matches of two players; these are contests")
    if points is None and "points" in rated.events:
        points = rated.events["points"].T
    pair, n = [] if points is None else [*map(np.asarray, points)], len(rated.events["row"])
    arrays = {name: np.asarray(x) for name, x in columns.items()}
    for name, x in chain(arrays.items(), zip(repeat("points"), pair, strict=False)):
        if x.shape != (n,):
            raise ValueError(f"column {name!r} must be [n], one for each of {n} rows of the predictions, got {x.shape}")
    return tuple(pair) or None, {name: x for name, x in arrays.items() if not _is_empty(x)}


def _is_empty(column: HostArray) -> bool:
    """Whether all values of a column are missing."""
    return all(x is None or x != x for x in column.tolist())


def unique_display_names(players: HostArray, names: Mapping[Any, str]) -> list[str]:
    """Names of players; equal names are followed by the players' names in the history."""
    texts = [" ".join(str(names.get(x, x)).split()) for x in players.tolist()]
    count: dict[str, int] = {}
    for text in texts:
        count[text] = count.get(text, 0) + 1
    original_names = players.tolist()
    return [f"{text} ({original_names[i]})" if count[text] > 1 else text for i, text in enumerate(texts)]


def page_template_context(data: SiteData, title: str) -> dict[str, Any]:
    """Variables and texts of all pages."""
    rated = data.rated
    event, events = event_nouns(rated)
    in_teams, partners = has_teammates(rated), equal_partners(rated, data.listed)
    pair_title = "Predict a match" if event == "match" and not in_teams else "Compare two"
    count, time_span, dated = rated.num_events, format_time_span(rated), rated.clock == "dates"
    time_span = time_span and f", {'' if dated else 'times '}{time_span}"
    last = "" if rated.last is None or not dated else format_times(np.array([rated.last]), dates=True)[0]
    return {
        "title": title,
        "pair_title": pair_title,
        "in_teams": in_teams,
        "partners": partners,
        "team_size": 1 if partners is None else 1 + partners.number,
        "searched": data.noun.many if in_teams else "opponents" if event == "match" else "contests",
        "made": data.made.date().isoformat(),
        "moment": data.made.isoformat(timespec="seconds"),
        "event": event,
        "events": events,
        "noun": data.noun.one,
        "is_collective": data.noun.is_collective,
        "sides": side_words(rated),
        "nouns": data.noun.many,
        "summary": f"{format_count(count, event)} of {data.noun.quantify(len(data.names))}{time_span}.",
        "last": last,
        "last_day": data.last_day,
        "now_text": f"as of {last}" if last else f"after the last {event}",
        "some_current": len(data.listed) < len(data.leaderboard_ids),
        "current_text": describe_current_players(data.current, event),
        "change_period": data.change_period,
        "settled_events": SETTLED_EVENTS,
        "uncertain_ratio": UNCERTAIN_RATIO,
        "dated": dated,
        "timed": rated.clock is not None,
        "draws": has_draws(rated),
        "halves": is_draw_half(rated),
        "draw_chances": describe_draw_chances(rated),
        "periods": rated.period is not None,
        "hindsight": data.hindsight is not None,
        "peak": peak_definition(data) if has_peaks(data) else "",
        "groups": describe_player_groups(data),
        "grouped": data.current.group is not None,
        "evidence": describe_learned_columns(rated),
        "margins": learns_from_margins(rated),
        "team_share_text": describe_team_share(data),
        "table_text": _explain_table_columns(data, event),
    }  # fmt: skip


def script_settings(data: SiteData, context: Mapping[str, Any], course: str) -> dict[str, Any]:
    """What the scripts of all pages need to know."""
    settings = {name: context[name] for name in ("dated", "event", "halves", "events", "noun", "nouns", "peak")}
    return settings | {
        "digits": data.digits,
        "leads": data.level is not None,
        "since": data.change_period or None,
        "course": course,
        "category": category_noun(data.rated),
        "sides": {"head": context["sides"].head, "names": context["sides"].names},
        "firstEvents": FIRST_EVENTS,
        "settledEvents": SETTLED_EVENTS,
        "uncertain": uncertain_half_width(data, data.current.deviation),
    }


def uncertain_half_width(data: SiteData, deviation: HostArray | None) -> float | None:
    """Half of the interval above which one of those listed is marked as uncertain; None if nobody is."""
    if deviation is None or not len(deviation):
        return None
    limit = UNCERTAIN_RATIO * float(np.median(deviation))
    return round(1.96 * limit, data.digits + EXTRA_DIGITS) if (deviation > limit).any() else None


def is_draw_half(rated: History) -> bool:
    """Whether predictions are expected scores, of which a draw counts as half, and no chances to win."""
    return "win" not in rated.events and has_draws(rated)


def has_draws(rated: History) -> bool:
    """Whether some matches were drawn."""
    if not has_two_sides(rated):
        return False
    score = rated.events["score"] if rated.contests is None else side_score_by_participant(rated.events)
    return bool(((score > 0) & (score < 1)).any())


def event_nouns(rated: History) -> tuple[str, str]:
    """What one and many of the events are called."""
    return ("match", "matches") if has_two_sides(rated) else ("contest", "contests")


def last_event_heading(rated: History) -> str:
    """The heading of the dates of last events."""
    return "last played" if has_two_sides(rated) else "last contest"


def peak_definition(data: SiteData) -> str:
    """What a peak is."""
    events = f"from the {PEAK_MIN_EVENTS}th {event_nouns(data.rated)[0]} on"
    if data.level is None:
        return f"the highest rating {events}"
    return f"the greatest lead {events} over the median of the active at the time, as that drifts"


def format_peak(data: SiteData, peak: float) -> str:
    """A peak as text; nothing for NaN. Leads over the median of the active have a sign."""
    return format_rating(peak, data.digits, signed=data.level is not None)


def groups_by_id(data: SiteData) -> HostArray:
    """[num_players] the numbers, from 1, of groups that no chain of events joins, the largest first."""
    groups = np.ones(len(data.names), int)
    if data.full_leaderboard.group is not None:
        groups[data.leaderboard_ids] = data.full_leaderboard.group
    return groups


def describe_player_groups(data: SiteData) -> str:
    """The groups of current players, whose ratings cannot be compared, or else of all; nothing if there is one."""
    ids = data.leaderboard_ids if data.current.group is None else data.listed
    numbers, first, sizes = np.unique(groups_by_id(data)[ids], return_index=True, return_counts=True)
    names = np.array([data.names[i] for i in ids[first]], object)
    text = describe_groups(numbers, names, sizes, event_nouns(data.rated)[1])
    return text and f"{text[:1].upper()}{text[1:]}. Ratings of different groups cannot be compared."


def has_peaks(data: SiteData) -> bool:
    """Whether anybody has events enough for a peak."""
    return not bool(np.isnan(np.asarray(data.full_leaderboard.peak)).all())


def describe_team_share(data: SiteData) -> str:
    """What the column of shares of teams holds; nothing where there is none."""
    if TEAM_SHARE not in data.columns:
        return ""
    whose = f"the {data.noun.one}\u2019s share"
    return f"\u201c{TEAM_SHARE.capitalize()}\u201d is {whose} of the sum of the team\u2019s ratings before it."


def _explain_table_columns(data: SiteData, event: str) -> str:
    of_team = "of the team " if data.line_ups.mates is not None else ""
    before = f"Chance: {of_team}to win, as it was before the match"
    if event == "contest":
        before = "Expected is the place before the contest"
    elif is_draw_half(data.rated):
        before = f"Expected: the score {of_team}in percent, as it was before the match; a draw counts as half"
    moved = f" Ratings move at the end of each period, with the last {event} in it." if data.rated.period else ""
    margins = learns_from_margins(data.rated)
    margin_text = " Margins count too, so a win by less than expected lowers the rating." if margins else ""
    seasons = data.rated.system.settings.get("seasons")
    time = "Between seasons" if seasons else "With time"
    fading = f" {time}, leads also shrink; the change by a {event} does not count that."
    fading_text = fading if do_leads_fade(data.rated.system) else ""
    mates = ""
    if TEAM_SHARE in data.columns:
        mates = f" {describe_team_share(data)}"
    return f"{before}. The rating is the one after it.{mates}{margin_text}{moved}{fading_text}"
