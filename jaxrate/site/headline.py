"""The headline of a site: a finding made from the data, and one sentence: who leads, who rose most, what comes next."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from jaxrate.history.column_table import ColumnTable
from jaxrate.history.history import find_player_id
from jaxrate.history.leaderboards import FirstPlace, classify_first_place, lead_start, leaderboard
from jaxrate.site.site_data import SiteData
from jaxrate.site.wording import format_times

RECENT_DAYS = 60.0  # a lead that is younger is news
LONG_DAYS = 330.0  # a lead that is older lasts "still"
STALE_DAYS = 30  # from the last result to the build, above which the headline says as of when it speaks
TOP_RISERS = 50  # ranks among which the greatest rise is sought


class FallenLeader(NamedTuple):
    """Who lost the lead without a match of the leader of today."""

    name: str
    is_listed: bool  # whether they were still on the list of current players then


class Headline(NamedTuple):
    title: str
    sentence: str

    @property
    def finding(self) -> str:
        """Both in one text."""
        return " ".join(x for x in (self.title and f"{self.title}.", self.sentence) if x)


def write_headline(data: SiteData, coming: ColumnTable | None = None) -> Headline:
    """The finding about who leads, and a sentence about them, the greatest rise, and the next match."""
    current = data.current.first_group()
    data = data._replace(current=current, listed=data.listed[: len(current.rank)])
    noun, names = data.noun, [data.names[i] for i in data.listed[:2]]
    if len(names) < 2:
        return Headline(f"{names[0]} {'are' if noun.is_collective else 'is'} on top" if names else "", "")
    gap_text = format_points(float(current.rating[0] - current.rating[1]), data.digits)
    rated = data.rated
    since = lead_start(rated, **data.leaderboard_options) if rated.clock == "dates" else None
    held = None if since is None or rated.last is None else rated.last - since
    certainty = _lead_certainty(data)
    fallen = _find_fallen_leader(data, since) if since is not None and _is_news(held) else None
    title = _write_title(data, names, gap_text, held, certainty, fallen)
    as_of = stale_clause(data)
    day = "" if since is None else format_times(np.array([since]), dates=True)[0][:10]
    if fallen is not None:
        sentence = _write_lead_by_fall(data, names, gap_text, fallen, day)
    else:
        leader, is_plural = names[0], noun.is_collective
        sentence = f"{leader} {'lead' if is_plural else 'leads'} by {gap_text}"
        if day:
            by_gap = f", by {gap_text}" if as_of else f", now by {gap_text}"
            led = "took the lead on" if _is_news(held) else f"{'have' if is_plural else 'has'} led since"
            sentence = f"{leader} {led} {day}{'' if gap_text in title else by_gap}"
    parts = [f"{sentence}{_greatest_rise_clause(data)}", _next_match_clause(data, coming)]
    return Headline(title, f"{as_of}{': ' if as_of else ''}{'; '.join(x for x in parts if x)}.")


def stale_clause(data: SiteData) -> str:
    """The day of the last result, as "As of 2024-12-18", where it is long before the build; else nothing."""
    if not data.last_day or (data.made.date() - date.fromisoformat(data.last_day)).days <= STALE_DAYS:
        return ""
    return f"As of {data.last_day}"


def _find_fallen_leader(data: SiteData, since: float) -> FallenLeader | None:
    """Who lost the lead at a time at which the leader of today did not play; None if the leader took it."""
    careers, leader = data.careers, int(data.listed[0])
    played = careers.time[careers.start[leader] : careers.start[leader + 1]]
    earlier = careers.time[careers.time < np.floor(since)]
    if (np.floor(played) == np.floor(since)).any() or not len(earlier):
        return None
    last_before, day = format_times(np.floor([earlier.max(), since]), dates=True)
    options = data.leaderboard_options
    before = leaderboard(data.rated, as_of=last_before, top=1, **options).player.tolist()
    fallen = find_player_id(data.rated.players, before[0]) if before else leader
    if fallen == leader:
        return None
    listed = leaderboard(data.rated, as_of=day, top=len(data.names), **options).player.tolist()
    return FallenLeader(data.names[fallen], before[0] in listed)


def _write_lead_by_fall(data: SiteData, names: list[str], gap_text: str, fallen: FallenLeader, day: str) -> str:
    """By how much the leader leads whom, after another lost the lead on this day."""
    leader, second = names
    ahead_of = "" if second == fallen.name else f" {second}"
    lead = "lead" if data.noun.is_collective else "leads"
    fell = f"fell back on {day}" if fallen.is_listed else f"left the list of current {data.noun.many}"
    return f"{leader} {lead}{ahead_of} by {gap_text} after {fallen.name} {fell}"


def _write_title(
    data: SiteData,
    names: list[str],
    gap_text: str,
    held: float | None,
    certainty: FirstPlace,
    fallen: FallenLeader | None = None,
) -> str:
    """The finding about the leader."""
    leader, second = names
    plural = data.noun.is_collective
    takes, on_top = f"{leader} {'take' if plural else 'takes'} the lead", ""
    if fallen is not None:
        falls = ("fall back", "leave the list") if plural else ("falls back", "leaves the list")
        on_top = f"{leader} {'are' if plural else 'is'} on top as {fallen.name} {falls[not fallen.is_listed]}"
    if certainty == "level" and fallen is not None and fallen.name == second:
        return f"{on_top} \N{EN DASH} too close to call"
    if certainty == "level" and fallen is None and _is_news(held):
        return f"{takes}, {gap_text} ahead of {second} \N{EN DASH} too close to call"
    if certainty in ("ahead", "best") and _is_news(held):
        return on_top or takes
    if held is not None and held >= LONG_DAYS and certainty == "best":
        return f"{leader} {'are' if plural else 'is'} still the {data.noun.one} to beat"
    return describe_lead(names, gap_text, certainty, is_plural=plural)


def describe_lead(names: Sequence[str], gap_text: str, certainty: FirstPlace, *, is_plural: bool) -> str:
    """Who leads whom by how much, and how surely, for two names, the leader first."""
    leader, second = names
    if certainty == "level":
        return f"{leader} and {second} are almost level at the top"
    if certainty == "probably ahead":
        return f"{leader} {'lead' if is_plural else 'leads'} by {gap_text}, probably ahead of {second}"
    if certainty == "probably best":
        return f"{leader} {'are' if is_plural else 'is'} probably the best, {gap_text} ahead of {second}"
    return f"{leader} {'lead' if is_plural else 'leads'} {second} by {gap_text}"


def format_points(gap: float, digits: int) -> str:
    """A difference of ratings in words, as "12 points"."""
    if round(gap, digits) == 0:
        return f"less than {'a point' if digits == 0 else f'{10.0**-digits:g} points'}"
    return f"{gap:,.{digits}f} point{'' if round(gap, digits) == 1 else 's'}"


def _is_news(held: float | None) -> bool:
    """Whether a lead that has been held for so many days is young."""
    return held is not None and held < RECENT_DAYS


def _lead_certainty(data: SiteData) -> FirstPlace:
    """Whether the intervals leave open who of the first two is better, or who of all is the best."""
    current = data.current
    if current.deviation is None or not current.deviation[:2].any():
        return "best"
    return classify_first_place(current.rating.tolist(), current.deviation.tolist())


def _greatest_rise_clause(data: SiteData) -> str:
    """Who rose most, to follow a clause whose subject is the leader; nothing if nobody rose."""
    current = data.current
    if current.change is None or current.rank_then is None:
        return ""
    changes = np.where(current.rank_then > 0, current.change, np.nan)
    change = changes[:TOP_RISERS]
    if np.isnan(change).all() or np.nanmax(change) <= 0:
        return ""
    at = int(np.nanargmax(change))
    since = data.current.scope.partition("since ")[2]
    most = "most" if change[at] == np.nanmax(changes) else f"most of the top {TOP_RISERS}"
    points = f"{change[at]:,.{data.digits}f}"
    rise = f"rose {most} since {since}, by {points}"
    return f", and {rise}" if at == 0 else f"; {data.names[data.listed[at]]} {rise} to number {at + 1:,}"


def _next_match_clause(data: SiteData, coming: ColumnTable | None) -> str:
    """The leader's next match, or else the first one; none of the past."""
    if coming is None or not {"a", "b"} <= set(coming):
        return ""
    names: Mapping[str, str] = dict(zip(map(str, data.rated.players.tolist()), data.names, strict=True))
    leader = str(data.rated.players[data.listed[0]])
    rows = [x for x in coming.to_records() if not data.is_past(x.get("time"))]
    row: dict[str, Any] | None = next((x for x in rows if leader in (str(x["a"]), str(x["b"]))), next(iter(rows), None))
    if row is None:
        return ""
    a, b = (names.get(str(row[x]), str(row[x])) for x in "ab")
    day = f" on {str(row['time'])[:10]}" if row.get("time") is not None and data.rated.clock == "dates" else ""
    return f"next, {a} {'meet' if data.noun.is_collective else 'meets'} {b}{day}"
