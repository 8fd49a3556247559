"""States in which some players begin with ratings of their own."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.arguments import check_arguments
from jaxrate.data.dataset import Dataset
from jaxrate.parameters import checked
from jaxrate.records.rated import find
from jaxrate.replay.state import check_players
from jaxrate.system import RatingSystem, State, check_system
from jaxrate.text import cell

FIELDS = {"rating": ("initial_rating", "initial_proportion"), "deviation": ("initial_deviation",)}  # of newcomers
WITHOUT = {
    ("urnings", "deviation"): "has no deviation to begin with: it follows from the size of the urns",
    ("blat_mmr", "rating"): "begins with a belief, not with a rating: give it a `prior`, or set `belief` of its state",
    ("blat_mmr", "deviation"): "begins with a belief, not with a deviation: give it a `prior`",
}


@check_arguments
def start(
    system: RatingSystem,
    players: Any,
    *,
    rating: Mapping[Any, float] | None = None,
    deviation: Mapping[Any, float] | None = None,
) -> State:
    """The state before the first event, in which some players begin with ratings or deviations of their own.

    They are newcomers in all else: no time passes for them before their first event, and rules for first games hold.
    `jr.run` and `jr.live` go on from it.

        data = jr.read("games.csv")
        state = jr.start(jr.glicko(), data, rating={"Ada": 1800}, deviation={"Ada": 60})
        result = jr.run(jr.glicko(), data, state=state)

    Args:
      system: as from `glicko()`, ...
      players: how many there are, their names in order of id, or a `Dataset`.
      rating: by player, in the units of `ratings`: points, or of Urnings the share of green balls. Players are given by
        name, or by id where names are not numbers.
      deviation: the same of deviations.

    Raises:
      ValueError: for a player who is not there or is named twice, a number that is not finite or out of range, a
        deviation of a system that has none (of Urnings it follows from the size of the urns), and of BlatMMR, which
        begins with beliefs.
    """
    check_system(system)
    names = players.players if isinstance(players, Dataset) else players
    names, count = (None, names) if np.ndim(names) == 0 else (names, len(names))
    if isinstance(count, (bool, str)) or not isinstance(count, (int, np.integer)) or count < 0:
        raise ValueError(f"players must be a number of players, their names or a Dataset, got {cell(players)}")
    count, params = int(count), system.params
    check_players(system, count)
    state = system.init(params, count)
    own: dict[str, Any] = {}  # [players with values of their own] by hyperparameter
    values = {what: _by_id(names, count, what, x) for what, x in {"rating": rating, "deviation": deviation}.items()}
    ids = sorted({*values["rating"], *values["deviation"]})
    for what, found in values.items():
        if not found:
            continue
        name = next((x for x in FIELDS[what] if x in params._fields), None)
        if name is None:
            raise ValueError(f"{system.name} {WITHOUT.get((system.name, what), f'has no {what} to begin with')}")
        for x in found.values():
            checked(system.name, params._replace(**{name: x}), system.space)
        own[name] = jnp.array([found.get(i, getattr(params, name)) for i in ids], float)
    if not ids:
        return state

    def row(own: dict[str, Any]) -> State:
        return jax.tree.map(lambda x: x[0], system.init(params._replace(**own), 1))

    rows = jax.vmap(row)(own)
    return jax.tree.map(lambda x, y: x.at[np.array(ids)].set(y), state, rows)


def _by_id(names: Any, count: int, what: str, given: Mapping[Any, float] | None) -> dict[int, float]:
    """Values by id, from those by name or id."""
    if given is not None and not isinstance(given, Mapping):
        raise ValueError(f"{what} must say by player what each begins with, as {{'Ada': 1800}}, got {cell(given)}")
    found: dict[int, float] = {}
    for who, x in (given or {}).items():
        i = find(names, who, count)
        if i in found:
            raise ValueError(f"{what} names player {cell(who)} twice, by name and by id")
        found[i] = x
    return found
