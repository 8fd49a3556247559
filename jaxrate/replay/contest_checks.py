"""What is checked of contests before they are rated: their order in time, and that the system knows their noise, teams
and seats.
"""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params, Rules, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Ragged, Rounds, RowError, check_contest_time_order, count_teams, repeat_seat_mask


def check_contest_features_supported(system: RatingSystem, events: Ragged) -> None:
    """ValueError for contests with noise, with teams, or with players in several of them, if the system knows none.

    It would rate team-mates as opponents who tie.
    """
    if not isinstance(events.events, Rounds):
        return
    check_contest_noise_supported(system, events.events)
    if events.events.seat is not None and "seats" not in system.features:
        further = np.zeros(0) if is_traced(events.events.seat) else np.flatnonzero(repeat_seat_mask(events))
        if len(further):
            raise RowError(
                int(further[0]),
                unsupported_several_teams_message(system, "the player of this row is in another team already"),
            )
    if "teams" in system.features or is_traced(events.events.team):
        return
    size = np.diff(events.player_start)
    (several,) = np.nonzero(count_teams(events) < size)
    if len(several):
        many = f"there are in {len(several):,} contests" if len(several) > 1 else "there are in one contest"
        raise RowError(
            int(events.player_start[several[0]]), unsupported_teams_message(system, f"{many}, this the first")
        )


def check_contest_noise_supported(system: RatingSystem, rounds: Any) -> None:
    """ValueError for contests with noise if the system knows none."""
    if rounds.noise is not None and "noise" not in system.features:
        from jaxrate.systems import systems_with_feature

        know = " or ".join(systems_with_feature("noise"))
        raise ValueError(f"{system.name} knows no noise of contests; rate them by {know}, or leave out `noise`")


def unsupported_several_teams_message(system: RatingSystem, occurrence: str) -> str:
    """What to say of players in several teams of a contest, to a system that does not know them."""
    from jaxrate.systems import systems_with_feature

    know = " or ".join(systems_with_feature("seats"))
    return (
        f"{system.name} rates nobody in several teams of one contest, but {occurrence}; rate them by {know}, "
        "or give each "
        "participation a player of its own"
    )


def unsupported_teams_message(system: RatingSystem, occurrence: str) -> str:
    """What to say of teams that a system does not know."""
    from jaxrate.systems import systems_with_feature

    know = " or ".join(systems_with_feature("teams"))
    return (
        f"{system.name} knows no teams, but {occurrence}; rate them by {know}, or leave out `team`: "
        "everyone is then on their own, and team-mates are opponents who tie"
    )


def check_scheduled_contest_features(system: RatingSystem, contests: Rounds) -> None:
    """The same of contests that are in blocks, and may be traced."""
    check_contest_noise_supported(system, contests)
    if contests.seat is not None and "seats" not in system.features:
        raise ValueError(unsupported_several_teams_message(system, "some players of these contests are"))
    if contests.solo is None and "teams" not in system.features:
        raise ValueError(unsupported_teams_message(system, "there are in these contests"))


def depends_on_time(system: RatingSystem, params: Params) -> bool:
    """Whether elapsed time counts, with these hyperparameters: rounds must then come in order of time."""
    return _advance_uses_time(system.rules, system.init, jax.tree.structure(params))


def check_contest_order_if_time_matters(system: RatingSystem, params: Params, rounds: Ragged, *formatting: Any) -> None:
    """ValueError if the times of rounds decrease, and elapsed time counts; names the row."""
    if np.any(np.diff(rounds.events.time) < 0) and depends_on_time(system, params):
        check_contest_time_order(rounds, *formatting)


@lru_cache
def _advance_uses_time(rules: Rules, init: Any, structure: Any) -> bool:
    """Whether `advance` makes anything of the time."""
    number = jax.ShapeDtypeStruct((), jnp.result_type(float))

    def advance(time: Array, params: Params) -> State:
        return rules.advance(rules.prepare(params), init(params, 1), time)

    params = jax.tree.unflatten(structure, [number] * structure.num_leaves)
    program = jax.make_jaxpr(advance)(number, params).jaxpr
    reached = {program.invars[0]}
    for step in program.eqns:
        if any(x in reached for x in step.invars if not isinstance(x, Literal)):
            reached.update(step.outvars)
    return any(x in reached for x in program.outvars if not isinstance(x, Literal))
