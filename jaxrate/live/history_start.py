"""Where live ratings begin: at a system, or at a rated history."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxrate.core.argument_checks import Key, check_concrete, enforce_argument_annotations
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem, random_draw_rule
from jaxrate.events import Matches, Rounds
from jaxrate.history.history import History, resolve_system_state_and_players
from jaxrate.live.event_checks import check_player_names
from jaxrate.live.live_history import LiveHistory
from jaxrate.live.live_ratings import Live
from jaxrate.replay.padded_states_and_columns import leaves_by_name
from jaxrate.replay.scan_programs import is_random_numbers
from jaxrate.storage.npz_tables import restore_state


@enforce_argument_annotations
def start_history(
    rated: History | RatingSystem,
    players: Sequence[Any] | None = None,
    state: State = None,
    *,
    key: Key | None = None,
) -> Live:
    """Live ratings, which take one result at a time, in some tens of microseconds a match.

        live = jr.live.start_history(jr.load("season"))  # or jr.live.start_history(jr.glicko())
        live.update("Ada", "Bo", 1.0, time="2026-06-01")
        live.predict("Bo", "Cy")
        jr.save("season", live)

    The numbers are those of `run` over the same events: to the last bit on a CPU for matches of Elo, Glicko and
    Glicko-2, otherwise to rounding. A program is compiled for the first event of each kind, and again whenever the
    number of rows for players has doubled. Every result is kept, in about 100 bytes a match; `to_rated` replays them,
    millions in a second. Seasons are those in the system's settings; no others begin.

    Args:
      rated: a rated history to continue, as from `rate` or `load`; or a system of matches, of contests or
        of both.
      players: with a system, the names of players, all text or all numbers. Others join when they first play.
      state: with a system, the state of these players, as from `run` or `initial_state`. None: all are newcomers.
      key: a PRNG key for systems that draw random numbers, as for `run`. None: a key that depends on the number of
        events before, as for `rate`.

    Raises:
      ValueError: for a system of rating periods only, a history in periods, names that repeat or that one table cannot
        hold, or a state of other players or of another system.
    """
    base = rated if isinstance(rated, History) else None
    if base is not None and players is not None:
        raise ValueError("a rated history has players of its own")
    system, state, players = resolve_system_state_and_players(rated, state, players, needs_state=False)
    check_concrete("live ratings are kept", (state, key), "; jr.scan goes on from a traced state")
    if not {Matches, Rounds} & {*system.events} or (base is not None and base.period is not None):
        raise ValueError(
            f"live ratings are of matches and contests; rate the periods of {system.name} by jr.rate(..., onto=...)"
        )
    if is_random_numbers(key):
        raise ValueError("key must be a PRNG key, such as jax.random.key(0)")
    names = check_player_names(players)
    if state is not None:
        state = restore_state(system, len(names), {name: np.asarray(x) for name, x in leaves_by_name(state).items()})
    return Live(LiveHistory(system, state, names, base, _default_key(system, base) if key is None else key))


def _default_key(system: RatingSystem, base: History | None) -> Key | None:
    """The key of a system that draws random numbers, which depends on the number of events before."""
    if random_draw_rule(system.rules) is None:
        return None
    return jax.random.fold_in(jax.random.key(0), 0 if base is None else base.num_rows)
