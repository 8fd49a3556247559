"""Data of all pages of a site: careers, names, and texts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import coarse_rating_decimals, format_count, format_decimals, use_minus_sign
from jaxrate.history.dataset_rating import do_leads_fade
from jaxrate.history.history import History
from jaxrate.history.leaderboards import (
    Leaderboard,
    describe_groups,
    leaderboard,
    make_history_leaderboards,
    rows_of_peaks,
)
from jaxrate.history.participations import Participations
from jaxrate.history.trajectories import PEAK_MIN_EVENTS
from jaxrate.site.hindsight_level import align_hindsight, smoothed_event_ratings
from jaxrate.site.line_ups import (
    TEAM_SHARE,
    LineUps,
    build_line_ups,
    has_teammates,
    has_two_sides,
    side_score_by_participant,
    side_words,
)
from jaxrate.site.pair_fields import equal_partners
from jaxrate.site.permalinks import assign_slugs
from jaxrate.site.wording import (
    PlayerOrTeamNoun,
    category_noun,
    choose_player_or_team_noun,
    describe_current_players,
    describe_draw_chances,
    describe_learned_columns,
    format_time_span,
    format_times,
    learns_from_margins,
)

MEAN_YEAR_DAYS = 365.25
FIRST_EVENTS = PEAK_MIN_EVENTS - 1  # whose ratings jump: no peaks, and in long careers they may leave the chart
SETTLED_EVENTS = 30  # lists of all times end with those who have fewer: a short run is no strength
UNCERTAIN_RATIO = 1.4  # of a listed player's interval to the median one, above which it is marked: half the evidence
EXTRA_DIGITS = 2  # decimals of ratings in downloads, beyond those that are shown
PAGE_TITLES = {"index": "Ranking", "pairs": "", "quality": "Accuracy", "about": "Method"}


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
    n = len(rated.events["row"])
    if points is not None and rated.contests is not None:
        raise ValueError("points are for matches of two players; these are contests")
    displayed_names = unique_display_names(rated.players, names)
    event_columns = {name: np.asarray(x) for name, x in columns.items()}
    if points is None and "points" in rated.events:
        points = rated.events["points"].T
    points = None if points is None else tuple(np.asarray(x) for x in points)
    for name, x in [*event_columns.items(), *(("points", x) for x in points or ())]:
        if x.shape != (n,):
            raise ValueError(f"column {name!r} must be [n], one for each of {n} rows of the predictions, got {x.shape}")
    event_columns = {name: x for name, x in event_columns.items() if not all(y is None or y != y for y in x.tolist())}
    hindsight = None if smoothed is None else smoothed_event_ratings(rated, smoothed)
    careers = rated.rows.once_per_event()
    if hindsight is not None:
        hindsight = align_hindsight(careers, *hindsight)
    count = len(rated.players)
    lists = make_history_leaderboards(rated, None, **leaderboard_options)
    full_leaderboard, current = (
        leaderboard(rated, active="all", top=count),
        leaderboard(rated, top=count, **leaderboard_options),
    )
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
    count = rated.num_events
    time_span = (
        f"{', times ' if rated.clock == 'numbers' else ', '}{format_time_span(rated)}"
        if format_time_span(rated)
        else ""
    )
    dated = rated.clock == "dates"
    last = "" if rated.last is None else format_times(np.array([rated.last]), dates=dated)[0]
    return {
        "title": title,
        "pages": [*(PAGE_TITLES | {"pairs": pair_title}).items()],
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
        "last": last if dated else "",
        "last_day": data.last_day,
        "now_text": f"as of {last}" if last and dated else f"after the last {event}",
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
        "uncertain": uncertain_half_width(data),
    }


def uncertain_half_width(data: SiteData) -> float | None:
    """Half of the interval above which a listed player is marked as uncertain; None if nobody is."""
    if data.current.deviation is None or not len(data.current.deviation):
        return None
    limit = UNCERTAIN_RATIO * float(np.median(data.current.deviation))
    return round(1.96 * limit, data.digits + EXTRA_DIGITS) if (data.current.deviation > limit).any() else None


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
    is_lead = data.level is not None
    return use_minus_sign(format_decimals(peak, data.digits, signed=is_lead)) if peak == peak else ""


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
