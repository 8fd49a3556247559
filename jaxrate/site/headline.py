"""The headline of a site: the finding about who leads, and one sentence: since when, who rose most, what comes next."""

from datetime import date
from typing import NamedTuple

import numpy as np

from jaxrate.history.column_table import ColumnTable
from jaxrate.history.leaderboards import lead_start
from jaxrate.site.site_data import SiteData
from jaxrate.views.findings import Finding, date_lead, find_lead, find_rise, is_new_lead
from jaxrate.views.wording import format_amount, format_times, rating_unit

STALE_DAYS = 30  # from the last result to the build, above which the headline says as of when it speaks


class Headline(NamedTuple):
    """A finding, and a sentence about it."""

    title: str
    sentence: str = ""

    @property
    def finding(self) -> str:
        """Both in one text."""
        return " ".join(x for x in (self.title and f"{self.title}.", self.sentence) if x)


def write_headline(data: SiteData, coming: ColumnTable | None = None) -> Headline:
    """The finding about who leads, and a sentence about them, the greatest rise, and the next match."""
    board, unit = data.current.first_group(), rating_unit(data.rated.system)
    names = [data.names[i] for i in data.listed[: len(board.rank)]]
    if not names:
        return Headline("")
    lead = find_lead(names, board.rating, board.deviation, unit)
    if len(names) < 2:
        return Headline(str(lead))
    since = lead_start(data.rated, **data.leaderboard_options) if data.rated.clock == "dates" else None
    held = None if since is None else float(data.careers.time.max()) - since
    is_taken = is_new_lead(held) and _has_played_on(data, since)
    title = str(date_lead(lead, held, is_taken, data.noun))
    clauses = [_describe_hold(lead, since, is_taken, title), *_describe_rise(data, names, unit)]
    as_of, text = stale_clause(data), "; ".join(filter(None, [*clauses, _describe_next_match(data, coming)]))
    return Headline(title, text and f"{as_of and f'{as_of}: '}{text}.")


def stale_clause(data: SiteData) -> str:
    """The day of the last result, as "As of 2024-12-18", where it is long before the build; else nothing."""
    if not data.last_day or (data.made.date() - date.fromisoformat(data.last_day)).days <= STALE_DAYS:
        return ""
    return f"As of {data.last_day}"


def _has_played_on(data: SiteData, time: float | None) -> bool:
    """Whether the leader played on the day of a time; else others lost the lead."""
    own = data.careers.of_player(int(data.listed[0])).time
    return time is not None and bool((np.floor(own) == np.floor(time)).any())


def _describe_hold(lead: Finding, since: float | None, is_taken: bool, title: str) -> str:
    """Since when the leader leads, and by how much, as far as the title does not say it."""
    day = "" if since is None else str(format_times(np.array([since]), dates=True)[0])[:10]
    hold = Finding("held", "taken" if is_taken else "kept", lead.subject, since=day)
    gap = lead._replace(relation="held", certainty="by")
    is_told = format_amount(float(lead.amount), lead.unit) in title
    return ", ".join(str(x) for x, is_said in ((hold, day), (gap, not is_told)) if is_said)


def _describe_rise(data: SiteData, names: list[str], unit: str) -> list[str]:
    """Who rose most, and to which place, if the ranking has changes and somebody rose."""
    changes = data.current.change
    rise = None if changes is None else find_rise(names, changes[: len(names)], data.change_since, unit)
    return [] if rise is None else [f"{rise[0]}, to number {rise[1] + 1:,}"]


def _describe_next_match(data: SiteData, coming: ColumnTable | None) -> str:
    """The leader's next match, or else the first one; none of the past."""
    if coming is None or not {"a", "b"} <= set(coming):
        return ""
    leader = str(data.rated.players[data.listed[0]])
    rows = [x for x in coming.to_records() if not data.is_past(x.get("time"))]
    rows.sort(key=lambda x: leader not in (str(x["a"]), str(x["b"])))
    if not rows:
        return ""
    names, row = data.shown_names, rows[0]
    a, b = (names.get(str(row[x]), str(row[x])) for x in "ab")
    day = f" on {str(row['time'])[:10]}" if row.get("time") is not None and data.rated.clock == "dates" else ""
    return str(Finding("next", subject=a, other=b, since=day))
