"""What reading a table gives: events, and the names behind their ids."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import Matches, Ragged, Rounds, count_teams
from jaxrate.text_format import format_name, format_number
from jaxrate.types import HostArray


class EventFields(NamedTuple):
    """What the events of a `Dataset` are built of."""

    values: dict[str, Any]  # [n, ...] by name of the builder's argument, in the order of the rows
    players: HostArray  # [num_players] names in order of id
    clock: str | None  # as in `Dataset`
    categories: HostArray | None = None  # [num_categories] names in order of id
    contests: HostArray | None = None  # what the source calls each contest, by its number in `values`
    seasons: dict[str, float] | None = None  # as in `Dataset`


class Dataset(NamedTuple):
    """What `read` makes of a table."""

    events: Matches | Ragged
    players: HostArray  # [num_players] names in order of id
    rows: HostArray  # [n] where each match, or participant of a round, stands in the source, from 0
    categories: HostArray | None = None  # [num_categories] names in order of id
    clock: str | None = "numbers"  # what time came from: "dates" (in days since 1970-01-01), "numbers"; None: no time
    contests: HostArray | None = None  # [E] what the source calls each contest
    margin: tuple[str, ...] = ()  # the column of the margin, or those of each side's points
    covariates: tuple[str, ...] = ()  # columns of what is known before a match
    seasons: dict[str, float] | None = None  # when each begins, by its name and in order of time
    fixtures: Any = None  # a `Dataset` of the rows without a result that are to come; None: there are none
    dates: str | None = None  # how dates were written, as in `read`, where they are not those of ISO
    league_season: str | None = None  # the column of the number of the season of a match, where leagues have their own
    statistics: tuple[str, ...] = ()  # columns of what was counted beside the result

    @property
    def matches(self) -> Matches:
        """The events. ValueError if they are rounds."""
        if not isinstance(self.events, Matches):
            raise ValueError("these are rounds, contests of many players, and not matches of two")
        return self.events

    @property
    def rounds(self) -> Ragged:
        """The events. ValueError if they are matches."""
        if not (isinstance(self.events, Ragged) and isinstance(self.events.events, Rounds)):
            raise ValueError("these are matches of two players, and not rounds, contests of many")
        return self.events

    def __repr__(self) -> str:
        flat: Any = self.events if isinstance(self.events, Matches) else self.events.events
        counted = _describe_matches(flat) if isinstance(self.events, Matches) else _describe_ragged(self.events)
        roles = {"margin": self.margin, "covariates": self.covariates, "statistics": self.statistics}
        counted |= {role: ", ".join(names) for role, names in roles.items() if names}
        said = {"players": _format_names(self.players)} | counted
        if self.clock is not None and len(flat.time):
            said["time"] = " to ".join(
                _format_time(time, self.clock) for time in (np.min(flat.time), np.max(flat.time))
            )
        if self.categories is not None:
            said["categories"] = _format_names(self.categories)
        if self.seasons:
            said["seasons"] = _format_names(np.array([*self.seasons], object))
        if self.fixtures is not None:
            said["to come"] = f"{len(self.fixtures.rows):,} matches (`fixtures`)"
        return "\n  ".join([f"Dataset of {said.pop('')}", *(f"{name:11}{text}" for name, text in said.items())])


def resolve_events(data: Any, num_players: int | None = None, num_known: int = 0) -> tuple[Any, int | None]:
    """Events, and how many players there are: as given, or those who are known and all whom a `Dataset` names."""
    if not isinstance(data, Dataset):
        return data, num_players
    return data.events, max(len(data.players), num_known) if num_players is None else num_players


def check_dataset(caller: str, data: Any) -> None:
    """ValueError unless these are data with names, as `read` makes them."""
    if not isinstance(data, Dataset):
        hint = ""
        if isinstance(data, (Matches, Ragged)):
            hint = "; of events without names, `run` and `rating_history` make ratings, or name everybody: "
            hint += "jr.data.Dataset(matches, players=names, rows=np.arange(n))"
        raise ValueError(f"{caller} takes a Dataset, or what `read` takes, and not {type(data).__name__}{hint}")


SHOWN_NAMES = 4  # names that a list begins with


def _describe_matches(matches: Matches) -> dict[str, str]:
    """What to say of matches, by subject; of how many there are, by no subject."""
    side, weight, _, columns = matches.context
    more = [name for name, values in (("side", side), ("weight", weight)) if values is not None]
    said = {"": f"{len(matches.score):,} matches"}
    if more:
        said["known"] = ", ".join(more)
    if columns:
        said["columns"] = ", ".join(columns)
    return said


def _describe_ragged(events: Ragged) -> dict[str, str]:
    """The same of contests or periods."""
    size, contests = np.diff(events.player_start), isinstance(events.events, Rounds)
    said = {"": f"{len(size):,} {'contests' if contests else 'periods'}"}
    if len(size):
        said["size"] = f"{_format_range(size)} players"
    if contests and ((teams := count_teams(events)) < size).any():
        said["size"] += f" in {_format_range(teams)} teams"
    return said


def _format_range(counts: HostArray) -> str:
    return " to ".join(f"{count:,}" for count in sorted({int(counts.min()), int(counts.max())}))


def _format_time(time: Any, clock: str) -> str:
    return str(np.datetime64(int(np.floor(time)), "D")) if clock == "dates" else format_number(float(time))


def _format_names(names: HostArray) -> str:
    """How many, and the first of them."""
    first = ", ".join(map(format_name, names[:SHOWN_NAMES].tolist()))
    return f"{len(names):,}: {first}{', ...' if len(names) > SHOWN_NAMES else ''}"


def count_first_share(count: int, share: float) -> int:
    """How many of so many events are the first share of them; at least one is left."""
    return min(round(share * count), count - 1)
