"""Ratings, and modifiers against categories, as of a time."""

from typing import Any

import jax.numpy as jnp

from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.league.query_time import parse_query_time, parse_time_after_last_events
from jaxrate.league.rated_history import Rated, resolve_system_state_and_players
from jaxrate.rules import Params, Rating, State
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.system import RatingSystem


@enforce_argument_annotations
def ratings(
    system: RatingSystem | Rated | Smoothed, state: State = None, *, time: Any = None, params: Params = None
) -> Rating:
    """Every player's rating [num_players]: after their last event, or as of `time`, with the time since then passed.

        jr.ratings(rated, time="2026-01-01").deviation  # as of a date

    Both conventions are in use: published lists are often "as last played", while uncertainty today needs the clock.
    Players who have not played do not age.

    A moment is what an event that begins then would find. A match or contest is over at its own time. A rating period k
    of some length lasts from k length to (k + 1) length, in every system, and takes all of it: `time=(k + 1) * length`
    gives the table at its end, in which those who played in it are as it left them, and everybody else has aged until
    then. The next period begins at the same moment, and lets its own time pass before its games count (Glicko) or with
    them (Glicko-2). With `periods(..., period=[k, ...])` and `period=1` the end of period k is `time=k + 1`.

    Args:
      system, state: the system, and the state that `run` left; or a rated history in place of both, or one with
        hindsight, as from `smooth`, which knows ratings as of any time: NaN for those who had not played by then.
      time: on the clock of the matches: a number, of days since 1970-01-01 if dates were read, or a date (ISO text, a
        `date`, a `datetime`, a `Timestamp`, a `np.datetime64`), which stands for its midnight in UTC. None: as each
        left their last event.
      params: hyperparameters, by default `system.params`.

    Raises:
      ValueError: if the time is before somebody's last event, whose player and end are named, or is no moment.
    """
    return _ratings_at_time(system, *resolve_system_state_and_players(system, state), time, params)


def _ratings_at_time(rated: Any, system: RatingSystem, state: State, players: Any, time: Any, params: Params) -> Rating:
    """The ratings as of a time; NaN for players of a smoothed history who had not begun."""
    if isinstance(rated, Smoothed) and time is not None:
        if params is not None:
            raise ValueError("a smoothed history has hyperparameters of its own; smooth it anew with others")
        return rated.at(parse_query_time(rated, time))
    params = system.params if params is None else params
    return system.summary(
        params, advance_state_to_time(system, state, parse_time_after_last_events(rated, state, time, players), params)
    )


@enforce_argument_annotations
def modifiers(system: RatingSystem | Rated, state: State = None, *, time: Any = None, params: Params = None) -> Rating:
    """Every player's modifier against each category [num_players, categories], and its deviation, of category Glicko.

    Against an opponent of category c a player has the strength rating + modifier c, of a variance that is the sum of
    both variances. The modifiers of a player sum to zero.

        jr.league.modifiers(rated, time="2012-04-19").mean[:, rated.categories.tolist().index("Zerg")]

    Args:
      system, state, time, params: as in `ratings`.

    Raises:
      ValueError: as `ratings`, or if the system has no modifiers.
    """
    rated = system
    system, state, players = resolve_system_state_and_players(system, state)
    if not hasattr(state, "modifiers"):
        raise ValueError(f"{system.name} has no modifiers; take category_glicko")
    params = system.params if params is None else params
    rows = advance_state_to_time(system, state, parse_time_after_last_events(rated, state, time, players), params)
    has_variance = rows.modifier_variance > 0  # the modifier of a single category is known
    deviation = jnp.where(has_variance, jnp.sqrt(jnp.where(has_variance, rows.modifier_variance, 1.0)), 0.0)
    return Rating(rows.modifiers, deviation)


def advance_state_to_time(system: RatingSystem, state: State, time: Any, params: Params) -> State:
    """The state as of a number on its clock."""
    if time is None:
        return state
    return system.rules.advance(system.rules.prepare(params), state, jnp.asarray(time, float))
