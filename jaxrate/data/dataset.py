"""What reading a table gives: events, and the names behind their ids."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.events import Matches, Ragged, Rounds, count_teams
from jaxrate.text import name_of, number


class Fields(NamedTuple):
    """What the events of a `Dataset` are built of."""

    values: dict[str, Any]  # [n, ...] by name of the builder's argument, in the order of the rows
    players: Values  # [num_players] names in order of id
    clock: str | None  # as in `Dataset`
    categories: Values | None = None  # [num_categories] names in order of id
    contests: Values | None = None  # what the source calls each contest, by its number in `values`
    seasons: dict[str, float] | None = None  # as in `Dataset`


class Dataset(NamedTuple):
    """What `read` makes of a table."""

    events: Matches | Ragged
    players: Values  # [num_players] names in order of id
    rows: Values  # [n] where each match, or participant of a round, stands in the source, from 0
    categories: Values | None = None  # [num_categories] names in order of id
    clock: str | None = "numbers"  # what time came from: "dates" (in days since 1970-01-01), "numbers"; None: no time
    contests: Values | None = None  # [E] what the source calls each contest
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
        counted = _matches(flat) if isinstance(self.events, Matches) else _ragged(self.events)
        roles = {"margin": self.margin, "covariates": self.covariates, "statistics": self.statistics}
        counted |= {role: ", ".join(names) for role, names in roles.items() if names}
        said = {"players": _listed(self.players)} | counted
        if self.clock is not None and len(flat.time):
            said["time"] = " to ".join(_time(time, self.clock) for time in (np.min(flat.time), np.max(flat.time)))
        if self.categories is not None:
            said["categories"] = _listed(self.categories)
        if self.seasons:
            said["seasons"] = _listed(np.array([*self.seasons], object))
        if self.fixtures is not None:
            said["to come"] = f"{len(self.fixtures.rows):,} matches (`fixtures`)"
        return "\n  ".join([f"Dataset of {said.pop('')}", *(f"{name:11}{text}" for name, text in said.items())])


def open_data(data: Any, num_players: int | None = None, known: int = 0) -> tuple[Any, int | None]:
    """Events, and how many players there are: as given, or those who are known and all whom a `Dataset` names."""
    if not isinstance(data, Dataset):
        return data, num_players
    return data.events, max(len(data.players), known) if num_players is None else num_players


def check_dataset(what: str, data: Any) -> None:
    """ValueError unless these are data with names, as `read` makes them."""
    if not isinstance(data, Dataset):
        hint = ""
        if isinstance(data, (Matches, Ragged)):
            hint = (
                "; of events without names, `run` and `history` make ratings, or name everybody: jr.Dataset(matches, "
            )
            hint += "players=names, rows=np.arange(n))"
        raise ValueError(f"{what} takes a Dataset, or what `read` takes, and not {type(data).__name__}{hint}")


SHOWN = 4  # names that a list begins with


def _matches(matches: Matches) -> dict[str, str]:
    """What to say of matches, by subject; of how many there are, by no subject."""
    side, weight, _, columns = matches.context
    more = [name for name, values in (("side", side), ("weight", weight)) if values is not None]
    said = {"": f"{len(matches.score):,} matches"}
    if more:
        said["known"] = ", ".join(more)
    if columns:
        said["columns"] = ", ".join(columns)
    return said


def _ragged(events: Ragged) -> dict[str, str]:
    """The same of contests or periods."""
    size, contests = np.diff(events.player_start), isinstance(events.events, Rounds)
    said = {"": f"{len(size):,} {'contests' if contests else 'periods'}"}
    if len(size):
        said["size"] = f"{_range(size)} players"
    if contests and ((teams := count_teams(events)) < size).any():
        said["size"] += f" in {_range(teams)} teams"
    return said


def _range(counts: Values) -> str:
    return " to ".join(f"{count:,}" for count in sorted({int(counts.min()), int(counts.max())}))


def _time(time: Any, clock: str) -> str:
    return str(np.datetime64(int(np.floor(time)), "D")) if clock == "dates" else number(float(time))


def _listed(names: Values) -> str:
    """How many, and the first of them."""
    first = ", ".join(map(name_of, names[:SHOWN].tolist()))
    return f"{len(names):,}: {first}{', ...' if len(names) > SHOWN else ''}"
