"""Starting states in which some players have ratings of their own."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations, is_whole_number
from jaxrate.core.hyperparameter_definitions import check_params
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events.dataset import Dataset
from jaxrate.history.history import find_player_id
from jaxrate.replay.padded_states_and_columns import check_player_count_and_memory

INITIAL_PARAMETERS = {
    "rating": ("initial_rating", "initial_proportion"),
    "deviation": ("initial_deviation",),
}  # of newcomers
REFUSAL_REASONS = {
    ("urnings", "deviation"): "has no deviation to begin with: it follows from the size of the urns",
    ("blat_mmr", "rating"): "begins with a belief, not with a rating: give it a `prior`, or set `belief` of its state",
    ("blat_mmr", "deviation"): "begins with a belief, not with a deviation: give it a `prior`",
}


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
    names, count = _names_and_count(players)
    params = system.params
    check_player_count_and_memory(system, count)
    state = system.init(params, count)
    given = {
        _initial_parameter(system, quantity): _map_player_values_to_ids(names, count, quantity, values)
        for quantity, values in {"rating": rating, "deviation": deviation}.items()
        if values
    }
    ids = sorted({i for values_by_id in given.values() for i in values_by_id})
    if not ids:
        return state
    for name, values_by_id in given.items():
        for x in values_by_id.values():
            check_params(system.name, params._replace(**{name: x}), system.space)
    params_of_players = {  # [players with values of their own] by hyperparameter
        name: jnp.array([values_by_id.get(i, getattr(params, name)) for i in ids], float)
        for name, values_by_id in given.items()
    }

    def initial_row(player_params: dict[str, Any]) -> State:
        return jax.tree.map(lambda x: x[0], system.init(params._replace(**player_params), 1))

    rows = jax.vmap(initial_row)(params_of_players)
    return jax.tree.map(lambda x, y: x.at[np.array(ids)].set(y), state, rows)


def _names_and_count(players: Any) -> tuple[Any, int]:
    """The names of players, None if only their number is given, and their number."""
    names = players.players if isinstance(players, Dataset) else players
    names, count = (None, names) if np.ndim(names) == 0 else (names, len(names))
    if not is_whole_number(count) or count < 0:
        raise ValueError(
            f"players must be a number of players, their names or a Dataset, got {format_value_for_error(players)}"
        )
    return names, int(count)


def _initial_parameter(system: RatingSystem, quantity: str) -> str:
    """The hyperparameter that newcomers begin with, of their rating or deviation."""
    name = next((x for x in INITIAL_PARAMETERS[quantity] if x in system.params._fields), None)
    if name is None:
        reason = REFUSAL_REASONS.get((system.name, quantity), f"has no {quantity} to begin with")
        raise ValueError(f"{system.name} {reason}")
    return name


def _map_player_values_to_ids(
    names: Any, count: int, quantity: str, values: Mapping[Any, float] | None
) -> dict[int, float]:
    """Values by id, from those by name or id."""
    if values is not None and not isinstance(values, Mapping):
        raise ValueError(
            f"{quantity} must say by player what each begins with, as {{'Ada': 1800}}, got "
            f"{format_value_for_error(values)}"
        )
    by_id: dict[int, float] = {}
    for player, x in (values or {}).items():
        i = find_player_id(names, player, count)
        if i in by_id:
            raise ValueError(f"{quantity} names player {format_value_for_error(player)} twice, by name and by id")
        by_id[i] = x
    return by_id
