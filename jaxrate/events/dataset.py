"""A dataset: events, and the names behind their ids."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_number, format_unquoted_name
from jaxrate.events import Matches, Ragged, Rounds, count_teams


class Dataset(NamedTuple):
    """Events read from a table, with the names of players, categories, contests and seasons."""

    events: Matches | Ragged
    players: HostArray  # [num_players] names in order of id
    rows: HostArray  # [n] where each match, or participant of a round, stands in the source, from 0
    categories: HostArray | None = None  # [num_categories] names in order of id
    clock: str | None = "numbers"  # what time came from: "dates" (in days since 1970-01-01), "numbers"; None: no time
    contests: HostArray | None = None  # [E] what the source calls each contest
    margin: tuple[str, ...] = ()  # the column of the margin, or those of each side's points
    covariates: tuple[str, ...] = ()  # columns of numbers known before a match
    seasons: dict[str, float] | None = None  # when each begins, by its name and in order of time
    fixtures: Any = None  # a `Dataset` of the rows without a result that are to come; None: there are none
    dates: str | None = None  # how dates were written, as in `read`, where they are not those of ISO
    league_season: str | None = None  # the column of the number of the season of a match, where leagues have their own
    statistics: tuple[str, ...] = ()  # columns of counts recorded beside the result
    points: tuple[str, ...] = ()  # the columns of each side's points, where these tell who has won
    expected_goals: tuple[str, ...] = ()  # the columns of both sides' expected goals
    source: str | None = None  # where the results come from
    upcoming: bool = False  # whether the events are to come: their scores, ranks and margins stand in for none
    derived: dict[str, float] | None = None  # the spans of columns that follow from the matches before: rest, form ...
    venues: HostArray | None = None  # [n] names of the grounds of matches, None where it is not known
    played: int = 0  # rows with a result that were left out, as the others are to come
    noun: str = ""  # what the columns say that each player is, as "team" or "driver"; empty if they do not

    @property
    def of_matches(self) -> bool:
        """Whether the events are matches of two, and not contests of many."""
        return isinstance(self.events, Matches)

    @property
    def matches(self) -> Matches:
        """The events. ValueError if they are rounds."""
        events: Any = self.events
        check_that(self.of_matches, "these are rounds, contests of many players, and not matches of two")
        return events

    @property
    def rounds(self) -> Ragged:
        """The events. ValueError if they are matches."""
        events: Any = self.events
        check_that(not self.of_matches, "these are matches of two players, and not rounds, contests of many")
        return events

    def __repr__(self) -> str:
        events: Any = self.events
        flat = events.flat
        counts = _match_repr_entries_by_label(flat) if self.of_matches else _describe_contests_or_periods(events)
        roles = {"margin": self.margin, "covariates": self.covariates, "statistics": self.statistics}
        roles |= {"xG": self.expected_goals}
        counts |= {role: ", ".join(names) for role, names in roles.items() if names}
        descriptions = {"players": _summarise_names(self.players)} | counts
        if self.clock is not None and len(flat.time):
            descriptions["time"] = " to ".join(
                format_event_time(time, self.clock) for time in (np.min(flat.time), np.max(flat.time))
            )
        if self.categories is not None:
            descriptions["categories"] = _summarise_names(self.categories)
        if self.seasons:
            descriptions["seasons"] = _summarise_names(np.array([*self.seasons], object))
        if self.fixtures is not None:
            descriptions["to come"] = f"{format_count(len(self.fixtures.rows), 'match')} (`fixtures`)"
        return "\n  ".join(
            [f"Dataset of {descriptions.pop('')}", *(f"{name:11}{text}" for name, text in descriptions.items())]
        )


def resolve_events_and_num_players(
    data: Any, num_players: int | None = None, num_known_players: int = 0
) -> tuple[Any, int | None]:
    """The events, and the number of players: the argument, or all players known before and named by a `Dataset`."""
    if not isinstance(data, Dataset):
        return data, num_players
    return data.events, max(len(data.players), num_known_players) if num_players is None else num_players


def check_dataset(caller: str, data: Any) -> None:
    """ValueError unless `data` is a `Dataset`, as `read` returns it."""
    if not isinstance(data, Dataset):
        hint = ""
        if isinstance(data, (Matches, Ragged)):
            hint = "; `run` and `rating_history` rate events without names; or name the players: "
            hint += "jr.data.Dataset(matches, players=np.array(names), rows=np.arange(n))"
        raise ValueError(
            f"{caller} takes a Dataset, or a table or path as `read` does, and not {type(data).__name__}{hint}"
        )
    is_list = isinstance(data.players, (list, tuple))
    check_that(not is_list, f"{caller}: players of a Dataset are an array of names, as players=np.array(names)")


MAX_LISTED_NAMES = 4  # names shown at the start of a list


def _match_repr_entries_by_label(matches: Matches) -> dict[str, str]:
    """Descriptions of matches by subject; the one without a subject is their number."""
    side, weight, _, columns = matches.context
    recorded = [name for name, values in (("side", side), ("weight", weight)) if values is not None]
    descriptions = {"": format_count(len(matches.score), "match")}
    if recorded:
        descriptions["known"] = ", ".join(recorded)
    if columns:
        descriptions["columns"] = ", ".join(columns)
    return descriptions


def _describe_contests_or_periods(events: Ragged) -> dict[str, str]:
    """Descriptions of contests or periods by subject."""
    size, contests = np.diff(events.player_start), isinstance(events.events, Rounds)
    descriptions = {"": format_count(len(size), "contest" if contests else "period")}
    if len(size):
        descriptions["size"] = f"{_format_count_range(size)} players"
    if contests and ((teams := count_teams(events)) < size).any():
        descriptions["size"] += f" in {_format_count_range(teams)} teams"
    return descriptions


def _format_count_range(counts: HostArray) -> str:
    return " to ".join(f"{count:,}" for count in sorted({int(counts.min()), int(counts.max())}))


def format_event_time(time: Any, clock: str | None) -> str:
    """A time as text: the day, or the number."""
    return str(np.datetime64(int(np.floor(time)), "D")) if clock == "dates" else format_number(float(time))


def _summarise_names(names: HostArray) -> str:
    """The number of names, and the first of them."""
    first = ", ".join(map(format_unquoted_name, names[:MAX_LISTED_NAMES].tolist()))
    return f"{len(names):,}: {first}{', ...' if len(names) > MAX_LISTED_NAMES else ''}"


def count_first_share(count: int, share: float) -> int:
    """How many of `count` events make up the first `share` of them; at least one event is left over."""
    return min(round(share * count), count - 1)
