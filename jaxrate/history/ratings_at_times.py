"""Ratings, modifiers of categories and ratings by category, as of a time; ratings of one's own to start from."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations, is_traced, is_whole_number
from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import check_params
from jaxrate.core.rules import AdvanceRule, Params, PrepareRule, Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import did_you_mean_suffix, format_value_for_error
from jaxrate.data.date_parsing import parse_date
from jaxrate.events import MAX_ABS_DAYS, as_event_time, check_clock, is_date, period_end
from jaxrate.events.dataset import Dataset
from jaxrate.history.history import History, find_player_id, format_time, resolve_system_state_and_players
from jaxrate.replay.padded_arrays import check_player_count_and_memory

PAST_RATINGS_HINT = "what is asked is known after the last event; `jr.leaderboard` lists any date of a history"


def parse_query_time(rated: Any, time: Any) -> Any:
    """A query time as a number on the clock of a history; None and traced values stay as they are.

    Text may be a date as written in the file of the history, or in another unambiguous form, as 15/07/2010.

    Raises:
      ValueError: if it is neither, a date where the times of a rated history are no dates, or a number that is no
        day where they are.
    """
    if time is None or is_traced(time):
        return time
    if isinstance(rated, History) and is_date(time):
        check_clock(rated.clock, time)
    query_time = parse_moment(time, input_date_format(rated))
    if getattr(rated, "clock", None) == "dates" and abs(query_time) > MAX_ABS_DAYS:
        raise ValueError(f"time {time} is no day since 1970-01-01; give a date, as 2026-05-31 in text")
    return query_time


def input_date_format(rated: Any) -> str | None:
    """The format of dates in the file of a history, as `dates` of `read`; None for ISO dates."""
    date_format: Any = rated.options.get("dates") if isinstance(rated, History) else None
    return date_format if isinstance(date_format, str) else None


def parse_moment(time: Any, date_format: str | None) -> float:
    """A number, or days since 1970-01-01 of a date; text may be in ISO, or as it is written in a file, see `read`.

    Raises:
      ValueError: if it is neither, or if its day and month cannot be told apart.
    """
    if isinstance(time, str):
        with suppress(ValueError):
            return as_event_time("time", time)
        try:
            return parse_date(time, date_format)
        except ValueError as error:
            if "day is above 12" in str(error):
                raise ValueError(f"time {time}: its day and month cannot be told apart; write 2026-05-31") from None
    return as_event_time("time", time)  # which says what is wrong


def parse_time_after_last_events(rated: Any, state: State, time: Any) -> Any:
    """The query time as `parse_query_time` returns it; ValueError if it is before the last event, which is named.

    A state without times allows any query time.
    """
    query_time, last_times = parse_query_time(rated, time), getattr(state, "time", None)
    if query_time is None or is_traced((query_time, last_times)):
        return query_time
    times, last = (np.array(x, float) for x in (last_times, getattr(rated, "last", None)))  # NaN of None
    played = float(times[np.isfinite(times)].max(initial=-np.inf))
    rounding = 4.0 * np.finfo(jnp.result_type(float)).eps * abs(played)  # of times in the state
    if query_time < np.fmax(played - rounding, last):
        asked_and_last = float(query_time), float(np.fmax(played, last))
        asked_text, last_text = (format_time(x, getattr(rated, "clock", None)) for x in asked_and_last)
        raise ValueError(
            f"time {asked_text} is before the last event of the history, at {last_text}; {PAST_RATINGS_HINT}"
        )
    return query_time


@enforce_argument_annotations
def ratings(system: RatingSystem | History, state: State = None, *, time: Any = None, params: Params = None) -> Rating:
    """Every player's rating [num_players]: after their last event, or as of `time`, with the time since then passed.

        jr.ratings(rated, time="1999-12-31").mean  # as of any date of a history

    Both conventions are in use: published lists often show ratings as of the last event, while the uncertainty of today
    depends on the time since. Players who have not played do not age.

    Ratings as of a moment are those that an event beginning then would find. A match or contest is over at its own
    time. In every system rating period k lasts from k length to (k + 1) length. `time=(k + 1) * length` gives the table
    at its end: players who played in it are as it left them, and all others have aged until then. The next period
    begins at the same moment. Its own time passes before its games count (Glicko) or with them (Glicko-2). With
    `periods(..., period=[k, ...])` and `period=1` the end of period k is `time=k + 1`.

    Before its end a history has the rating that each player's next event found, as `rating_at` does for one player, and
    that of a newcomer of who had not played by then; with hindsight NaN.

    Args:
      system: a system; or in place of system and state a rated history, or one with hindsight, as from `smooth`.
      state: the state that `run` left.
      time: on the clock of the matches: a number, of days since 1970-01-01 if dates were read, or a date (ISO text, a
        `date`, a `datetime`, a timestamp of pandas, a `np.datetime64`), which stands for its midnight in UTC. None: as
        each left their last event.
      params: hyperparameters, by default `system.params`.

    Raises:
      ValueError: if the time is no moment; of a state, or with `params`, if it is before somebody's last event, whose
        player and end are named.
    """
    rated: Any = system
    system, state, players = resolve_system_state_and_players(system, state)
    if isinstance(rated, History) and rated.hindsight is not None and time is not None:
        if params is not None:
            raise ValueError("a smoothed history has hyperparameters of its own; smooth it anew with others")
        return rated.hindsight.at(parse_query_time(rated, time))
    query_time, has_own_params = parse_query_time(rated, time), params is None
    params = system.params if has_own_params else params
    final = system.summary(params, advance_state_to_time(system, state, query_time, params))
    if isinstance(rated, History) and has_own_params and _is_before_end(rated, query_time):
        rows, seasons = rated.rows.once_per_event(), system.settings.get("seasons") or ()
        return rows.ratings_at(np.arange(len(players)), rows.counts_at(query_time), query_time, seasons, final)
    parse_time_after_last_events(rated, state, query_time)
    return final


def _is_before_end(rated: History, query_time: Any) -> bool:
    """Whether some events of a history are later, and their rows tell what was before."""
    if query_time is None or is_traced(query_time) or rated.last is None or rated.has_events_elsewhere:
        return False
    last = rated.events["time"].max()  # NaN if some have none
    return bool(query_time < (last if rated.period is None else period_end(last, rated.period)))


@enforce_argument_annotations
def modifiers(system: RatingSystem | History, state: State = None, *, time: Any = None) -> Rating:
    """Every player's modifier of each category [num_players, categories], and its deviation.

    In a match or contest of category c, as a surface or a mode, a player of skills has the strength rating +
    modifier c, as far as the rating is of skill. In category Glicko it is the strength against an opponent of category
    c, and the modifiers of a player sum to zero.

        jr.history.modifiers(rated, time="2012-04-19").mean[:, rated.categories.tolist().index("Zerg")]

    Args:
      system: a system, or a rated history in place of system and state.
      state: the state that `run` left.
      time: as of when, as in `ratings`.

    Raises:
      ValueError: as `ratings`, or if the system has no modifiers.
    """
    system, rows = _rows_with_modifiers(system, state, time)
    if hasattr(rows, "modifiers"):
        return Rating(rows.modifiers, _deviation(rows.modifier_variance))
    of_categories = slice(1, 1 + system.settings["categories"])
    variance = jnp.diagonal(rows.covariance, axis1=1, axis2=2)
    return Rating(rows.mean[:, of_categories], _deviation(variance[:, of_categories]))


@enforce_argument_annotations
def category_ratings(rated: History, category: Any, *, time: Any = None) -> Rating:
    """Every player's rating [num_players] where they meet a category: on a surface, in a mode, against a race.

        jr.history.category_ratings(rated, "doubles").mean

    Args:
      rated: the history, as from `rate` or `load`.
      category: its name, or its number.
      time: as of when, as in `ratings`.

    Raises:
      ValueError: as `modifiers`, or if there is no such category.
    """
    number = category_number(rated, category)
    system, rows = _rows_with_modifiers(rated, None, time)
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
    names = getattr(system, "categories", None)
    count = (system.system if isinstance(system, History) else system).settings.get("categories", 0)
    known: Any = range(count) if names is None else names.tolist()
    if category in known:
        return int(known.index(category))
    hint = did_you_mean_suffix(category, [*map(str, known)])
    raise ValueError(f"no category {category!r}{hint} (there are {', '.join(map(str, known)) or 0})")


def resolve_category(system: RatingSystem | History, category: Any) -> int | None:
    """The number of a category, by its name or number; None of None, for no category."""
    return None if category is None else category_number(system, category)


def has_modifiers(system: RatingSystem, state: State) -> bool:
    """Whether players have modifiers by category: of category Glicko, or of skills with two categories or more."""
    of_skills = hasattr(state, "covariance") and system.settings.get("categories", 1) > 1
    return hasattr(state, "modifiers") or of_skills


def check_has_modifiers(system: RatingSystem, state: State) -> None:
    """ValueError unless players have modifiers by category."""
    if not has_modifiers(system, state):
        raise ValueError(f"{system.name} has no modifiers; take category_glicko, or skills with categories")


def _rows_with_modifiers(rated: RatingSystem | History, state: State, time: Any) -> tuple[RatingSystem, Any]:
    """The system, and the rows of all players as of a time; ValueError without modifiers."""
    system, state, _ = resolve_system_state_and_players(rated, state)
    check_has_modifiers(system, state)
    query_time = parse_time_after_last_events(rated, state, time)
    return system, advance_state_to_time(system, state, query_time, system.params)


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
    return _advance_jitted(system.rules.prepare, system.rules.advance, params, state, time)


@partial(jax.jit, static_argnums=(0, 1))
def _advance_jitted(prepare: PrepareRule, advance: AdvanceRule, params: Params, state: State, time: Any) -> State:
    return advance(prepare(params), state, time)


INITIAL_PARAMETERS = {
    "rating": ("initial_rating", "initial_proportion"),
    "deviation": ("initial_deviation",),
}  # of newcomers


@enforce_argument_annotations
def initial_state(
    system: RatingSystem,
    players: Any,
    *,
    rating: Mapping[Any, float] | None = None,
    deviation: Mapping[Any, float] | None = None,
) -> State:
    """The state before the first event, in which some players begin with ratings or deviations of their own.

    They are newcomers in all else: no time passes for them before their first event, and rules for first games hold.
    `jr.run` and `jr.live.start_history` go on from it.

        data = jr.read("games.csv")
        state = jr.history.initial_state(jr.glicko(), data, rating={"Ada": 1800}, deviation={"Ada": 60})
        result = jr.run(jr.glicko(), data, state=state)

    Args:
      system: the system, as from `glicko()`.
      players: how many there are, their names in order of id, or a `Dataset`.
      rating: by player, in the units of `ratings`: points, or of Urnings the share of green balls. Players are given by
        name, or by id where names are not numbers.
      deviation: the first deviations, likewise.

    Raises:
      ValueError: for a player who is not there or is named twice, a number that is not finite or out of range, a
        deviation of a system that has none (of Urnings it follows from the size of the urns), and of BlatMMR, which
        begins with beliefs.
    """
    names: Any = players.players if isinstance(players, Dataset) else players
    if np.ndim(names) == 0 and not (is_whole_number(names) and names >= 0):
        raise ValueError(
            f"players must be a number of players, their names or a Dataset, got {format_value_for_error(players)}"
        )
    names, count = (None, int(names)) if np.ndim(names) == 0 else (names, len(names))
    check_player_count_and_memory(system, count)
    params, state = system.params, system.init(system.params, count)
    quantities = {"rating": rating, "deviation": deviation}.items()
    find_id = partial(find_player_id, names, count=count)
    given = dict(_initial_values_by_id(system, find_id, quantity, values) for quantity, values in quantities if values)
    ids = sorted({*chain(*given.values())})
    if not ids:
        return state
    params_of_players = {  # [players with values of their own] by hyperparameter
        name: jnp.array([values_by_id.get(i, getattr(params, name)) for i in ids], float)
        for name, values_by_id in given.items()
    }

    def initial_row(player_params: dict[str, Any]) -> State:
        return jax.tree.map(lambda x: x[0], system.init(params._replace(**player_params), 1))

    rows = jax.vmap(initial_row)(params_of_players)
    return jax.tree.map(lambda x, y: x.at[np.array(ids)].set(y), state, rows)


def _initial_values_by_id(
    system: RatingSystem, find_id: Callable[[Any], int], quantity: str, values: Mapping[Any, float]
) -> tuple[str, dict[int, float]]:
    """The hyperparameter that newcomers begin with, of their rating or deviation, and its values by id."""
    parameters = [x for x in INITIAL_PARAMETERS[quantity] if x in system.params._fields]
    if not parameters:
        raise ValueError(f"{system.name} has no {quantity} to begin with; newcomers of BlatMMR begin with a `prior`")
    by_id = {find_id(player): x for player, x in values.items()}
    if len(by_id) < len(values):
        raise ValueError(f"{quantity} names a player twice, by name and by id: {[*values]}")
    for x in by_id.values():
        check_params(system.name, system.params._replace(**{parameters[0]: x}), system.space)
    return parameters[0], by_id
