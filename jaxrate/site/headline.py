"""The headline of a site: a finding made from the data, and one sentence: who leads, who rose most, what comes next."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from jaxrate.history.column_table import ColumnTable
from jaxrate.history.leaderboards import FirstPlace, classify_first_place, lead_start
from jaxrate.site.site_data import SiteData
from jaxrate.site.wording import PlayerOrTeamNoun, format_times

RECENT_DAYS = 60.0  # a lead that is younger is news
LONG_DAYS = 330.0  # a lead that is older lasts "still"
STALE_DAYS = 30  # from the last result to the build, above which the headline says as of when it speaks
TOP_RISERS = 50  # ranks among which the greatest rise is sought


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
        return Headline("".join(f"{x} {noun.verb('is')} on top" for x in names), "")
    gap_text = format_points(float(current.rating[0] - current.rating[1]), data.digits)
    since = lead_start(data.rated, **data.leaderboard_options) if data.rated.clock == "dates" else None
    held = None if since is None else float(data.careers.time.max()) - since
    is_taken = _is_news(held) and _has_played_on(data, since)
    title = _write_title(noun, names, gap_text, held, is_taken, _lead_certainty(data))
    sentence, as_of = f"{names[0]} {noun.verb('leads')} by {gap_text}", stale_clause(data)
    if since is not None:
        gap = _gap_clause(title, names[1], gap_text, "" if as_of else "now ")
        led = "took the lead on" if is_taken else f"{noun.verb('has')} led since"
        sentence = f"{names[0]} {led} {format_times(np.array([since]), dates=True)[0][:10]}{gap}"
    parts = filter(None, [f"{sentence}{_greatest_rise_clause(data)}", _next_match_clause(data, coming)])
    return Headline(title, f"{as_of and f'{as_of}: '}{'; '.join(parts)}.")


def _gap_clause(title: str, second: str, gap_text: str, now: str) -> str:
    """By how much the leader leads the second, as far as the title does not say it."""
    over = "" if second in title else f" over {second}"
    return "" if gap_text in title else f", {now}by {gap_text}{over}"


def stale_clause(data: SiteData) -> str:
    """The day of the last result, as "As of 2024-12-18", where it is long before the build; else nothing."""
    if not data.last_day or (data.made.date() - date.fromisoformat(data.last_day)).days <= STALE_DAYS:
        return ""
    return f"As of {data.last_day}"


def _is_news(held: float | None) -> bool:
    """Whether a lead that has been held for so many days is young."""
    return held is not None and held < RECENT_DAYS


def _has_played_on(data: SiteData, time: float | None) -> bool:
    """Whether the leader played on the day of a time; else others lost the lead."""
    own = data.careers.of_player(int(data.listed[0])).time
    return time is not None and bool((np.floor(own) == np.floor(time)).any())


def _write_title(
    noun: PlayerOrTeamNoun,
    names: Sequence[str],
    gap_text: str,
    held: float | None,
    is_taken: bool,
    certainty: FirstPlace,
) -> str:
    """The finding about the leader, who has held the lead for so many days, or took it lately."""
    leader, second = names
    if is_taken and certainty == "level":
        return f"{leader} {noun.verb('takes')} the lead, {gap_text} ahead of {second} \N{EN DASH} too close to call"
    if is_taken and certainty in ("ahead", "best"):
        return f"{leader} {noun.verb('takes')} the lead"
    if held is not None and held >= LONG_DAYS and certainty == "best":
        return f"{leader} {noun.verb('is')} still the {noun.one} to beat"
    return describe_lead(noun, names, gap_text, certainty)


def describe_lead(noun: PlayerOrTeamNoun, names: Sequence[str], gap_text: str, certainty: FirstPlace) -> str:
    """Who leads whom by how much, and how surely, for two names, the leader first."""
    leader, second = names
    return {
        "level": f"{leader} and {second} are almost level at the top",
        "probably ahead": f"{leader} {noun.verb('leads')} by {gap_text}, probably ahead of {second}",
        "probably best": f"{leader} {noun.verb('is')} probably the best, {gap_text} ahead of {second}",
    }.get(certainty, f"{leader} {noun.verb('leads')} {second} by {gap_text}")


def format_points(gap: float, digits: int) -> str:
    """A difference of ratings in words, as "12 points"."""
    if round(gap, digits) == 0:
        return f"less than {'a point' if digits == 0 else f'{10.0**-digits:g} points'}"
    return f"{gap:,.{digits}f} point{'' if round(gap, digits) == 1 else 's'}"


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
    return f"next, {a} {data.noun.verb('meets')} {b}{day}"
