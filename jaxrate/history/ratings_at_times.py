"""Ratings, modifiers of categories and ratings by category, as of a time."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations, is_traced
from jaxrate.core.array_types import Array
from jaxrate.core.rules import AdvanceRuleProtocol, Params, PrepareRuleProtocol, Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.history.history import History, resolve_system_state_and_players
from jaxrate.history.query_time import parse_query_time, parse_time_after_last_events


@enforce_argument_annotations
def ratings(system: RatingSystem | History, state: State = None, *, time: Any = None, params: Params = None) -> Rating:
    """Every player's rating [num_players]: after their last event, or as of `time`, with the time since then passed.

        jr.ratings(rated, time="2026-01-01").deviation  # as of a date

    Both conventions are in use: published lists often show ratings as of the last event, while the uncertainty of today
    depends on the time since. Players who have not played do not age.

    Ratings as of a moment are those that an event beginning then would find. A match or contest is over at its own
    time. In every system rating period k lasts from k length to (k + 1) length. `time=(k + 1) * length` gives the table
    at its end: players who played in it are as it left them, and all others have aged until then. The next period
    begins at the same moment. Its own time passes before its games count (Glicko) or with them (Glicko-2). With
    `periods(..., period=[k, ...])` and `period=1` the end of period k is `time=k + 1`.

    Args:
      system, state: the system, and the state that `run` left; or in place of both a rated history, or one with
        hindsight, as from `smooth`. A history with hindsight has ratings as of any time: NaN for those who had not
        played by then.
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
    if isinstance(rated, History) and rated.hindsight is not None and time is not None:
        if params is not None:
            raise ValueError("a smoothed history has hyperparameters of its own; smooth it anew with others")
        return rated.hindsight.at(parse_query_time(rated, time))
    params = system.params if params is None else params
    return system.summary(
        params, advance_state_to_time(system, state, parse_time_after_last_events(rated, state, time, players), params)
    )


@enforce_argument_annotations
def modifiers(
    system: RatingSystem | History, state: State = None, *, time: Any = None, params: Params = None
) -> Rating:
    """Every player's modifier of each category [num_players, categories], and its deviation.

    In a match or contest of category c, as a surface or a mode, a player of skills has the strength rating +
    modifier c, as far as the rating is of skill. In category Glicko it is the strength against an opponent of category
    c, and the modifiers of a player sum to zero.

        jr.history.modifiers(rated, time="2012-04-19").mean[:, rated.categories.tolist().index("Zerg")]

    Args:
      system, state, time, params: what is rated and when, as in `ratings`.

    Raises:
      ValueError: as `ratings`, or if the system has no modifiers.
    """
    params = (system.system if isinstance(system, History) else system).params if params is None else params
    system, rows = _rows_with_modifiers(system, state, time, params)
    if hasattr(rows, "modifiers"):
        mean, variance = rows.modifiers, rows.modifier_variance
    else:
        end = 1 + system.settings["categories"]
        mean, variance = rows.mean[:, 1:end], jnp.diagonal(rows.covariance, axis1=1, axis2=2)[:, 1:end]
    return Rating(mean, _deviation(variance))


@enforce_argument_annotations
def category_ratings(system: RatingSystem | History, category: Any, state: State = None, *, time: Any = None) -> Rating:
    """Every player's rating [num_players] where they meet a category: on a surface, in a mode, against a race.

        jr.history.category_ratings(rated, "doubles").mean

    Args:
      system, state, time: what is rated and when, as in `ratings`.
      category: its name in a rated history, or its number.

    Raises:
      ValueError: as `modifiers`, or if there is no such category.
    """
    number = category_number(system, category)
    system, rows = _rows_with_modifiers(system, state, time, None)
    return category_rating(system, system.params, system.summary(system.params, rows), rows, number)


def category_rating(system: RatingSystem, params: Params, rating: Rating, rows: State, number: int) -> Rating:
    """[N] the ratings of rows where they meet the category of this number; `rating` is what they have without."""
    check_has_modifiers(system, rows)
    if hasattr(rows, "modifiers"):
        variance = jnp.asarray(rating.deviation) ** 2 + rows.modifier_variance[:, number]
        return Rating(rating.mean + rows.modifiers[:, number], jnp.sqrt(variance))
    picked = np.zeros(rows.mean.shape[1], jnp.result_type(float))
    picked[[0, 1 + number]] = 1.0
    if getattr(params, "form_deviation", None) is not None:
        picked[-1] = 1.0
    variance = jnp.einsum("i,nij,j->n", picked, rows.covariance, picked, precision="highest")
    return Rating(rating.mean + rows.mean[:, 1 + number], _deviation(variance))


def category_number(system: RatingSystem | History, category: Any) -> int:
    """The number of a category, by its name or number."""
    names = system.categories if isinstance(system, History) else None
    known = [] if names is None else names.tolist()
    if category in known:
        return int(known.index(category))
    count = (system.system if isinstance(system, History) else system).settings.get("categories", 0)
    if isinstance(category, int) and not isinstance(category, bool) and not known and 0 <= category < count:
        return category
    hint = did_you_mean_suffix(category, known)
    raise ValueError(f"no category {category!r}{hint} (there are {', '.join(map(str, known)) or count})")


def has_modifiers(system: RatingSystem, state: State) -> bool:
    """Whether players have modifiers by category: of category Glicko, or of skills with two categories or more."""
    of_skills = hasattr(state, "covariance") and system.settings.get("categories", 1) > 1
    return hasattr(state, "modifiers") or of_skills


def check_has_modifiers(system: RatingSystem, state: State) -> None:
    """ValueError unless players have modifiers by category."""
    if not has_modifiers(system, state):
        raise ValueError(f"{system.name} has no modifiers; take category_glicko, or skills with categories")


def _rows_with_modifiers(
    system: RatingSystem | History, state: State, time: Any, params: Params
) -> tuple[RatingSystem, Any]:
    """The system, and the rows of all players as of a time; ValueError without modifiers."""
    rated: Any = system
    own, state, players = resolve_system_state_and_players(rated, state)
    check_has_modifiers(own, state)
    query_time = parse_time_after_last_events(rated, state, time, players)
    return own, advance_state_to_time(own, state, query_time, own.params if params is None else params)


@jax.jit
def _deviation(variance: Array) -> Array:
    """Square roots whose slopes are finite at 0, as of the modifier of a single category, which is known."""
    known = variance > 0
    return jnp.where(known, jnp.sqrt(jnp.where(known, variance, 1.0)), 0.0)


def advance_state_to_time(system: RatingSystem, state: State, time: Any, params: Params) -> State:
    """The state as of a number on its clock."""
    if time is None:
        return state
    time = time if is_traced(time) else np.asarray(time, jnp.result_type(float))
    return _advance_in_one_program(system.rules.prepare, system.rules.advance, params, state, time)


@partial(jax.jit, static_argnums=(0, 1))
def _advance_in_one_program(
    prepare: PrepareRuleProtocol, advance: AdvanceRuleProtocol, params: Params, state: State, time: Any
) -> State:
    return advance(prepare(params), state, time)
