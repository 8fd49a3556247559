"""What is checked of contests before they are rated: that the system knows their noise, teams and seats."""

from typing import Any

import numpy as np

from jaxrate.argument_checks import is_traced
from jaxrate.events import Ragged, Rounds, RowError, count_teams, repeat_seat_mask
from jaxrate.system import RatingSystem


def check_contest_features(system: RatingSystem, events: Ragged) -> None:
    """ValueError for contests with noise, with teams, or with players in several of them, if the system knows none.

    It would rate team-mates as opponents who tie.
    """
    if not isinstance(events.events, Rounds):
        return
    check_contest_noise(system, events.events)
    if events.events.seat is not None and not system.traits.seats:
        further = np.zeros(0) if is_traced(events.events.seat) else np.flatnonzero(repeat_seat_mask(events))
        if len(further):
            raise RowError(int(further[0]), no_seats(system, "the player of this row is in another team already"))
    if system.traits.teams or is_traced(events.events.team):
        return
    size = np.diff(events.player_start)
    (several,) = np.nonzero(count_teams(events) < size)
    if len(several):
        many = f"there are in {len(several):,} contests" if len(several) > 1 else "there are in one contest"
        raise RowError(int(events.player_start[several[0]]), teams_refusal(system, f"{many}, this the first"))


def check_contest_noise(system: RatingSystem, rounds: Any) -> None:
    """ValueError for contests with noise if the system knows none."""
    if rounds.noise is not None and not system.traits.noise:
        from jaxrate.systems import systems_with_trait

        know = " or ".join(systems_with_trait("noise"))
        raise ValueError(f"{system.name} knows no noise of contests; rate them by {know}, or leave out `noise`")


def no_seats(system: RatingSystem, where: str) -> str:
    """What to say of players in several teams of a contest, to a system that does not know them."""
    from jaxrate.systems import systems_with_trait

    know = " or ".join(systems_with_trait("seats"))
    return (
        f"{system.name} rates nobody in several teams of one contest, but {where}; rate them by {know}, or give each "
        "participation a player of its own"
    )


def teams_refusal(system: RatingSystem, where: str) -> str:
    """What to say of teams that a system does not know."""
    from jaxrate.systems import systems_with_trait

    know = " or ".join(systems_with_trait("teams"))
    return (
        f"{system.name} knows no teams, but {where}; rate them by {know}, or leave out `team`: "
        "everyone is then on their own, and team-mates are opponents who tie"
    )


def check_planned_contests(system: RatingSystem, contests: Rounds) -> None:
    """The same of contests that are in blocks, and may be traced."""
    check_contest_noise(system, contests)
    if contests.seat is not None and not system.traits.seats:
        raise ValueError(no_seats(system, "some players of these contests are"))
    if contests.solo is None and not system.traits.teams:
        raise ValueError(teams_refusal(system, "there are in these contests"))
