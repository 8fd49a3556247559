"""What compiling must keep."""

import re
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxrate.events import Ragged, part
from jaxrate.replay import programs
from jaxrate.replay.blocks import Block
from jaxrate.replay.compiling import compiled
from jaxrate.replay.rows import on_device
from jaxrate.replay.schedule import plan
from jaxrate.testing.cases import FORMS, Case, arrays, claim, compilations, key, strictly
from jaxrate.testing.histories import as_replayed, players, seasons
from jaxrate.testing.replays import replay

MANY = 7919  # players: a number that nothing else has


def another_length_compiles_nothing(case: Case) -> None:
    """Of a history of two events fewer, with a player more."""
    events = seasons(case)[0]
    count = len(events.player_start) - 1 if isinstance(events, Ragged) else len(events.score)
    replay(case, events)
    with compilations() as made:
        replay(case, part(events, 0, count - 2), num_players=players(case.form) + 1)
    claim(not made, f"a history of two events fewer took {len(made)} compilations")


def no_state_sized_copy_inside_the_loop(case: Case) -> None:
    """XLA must not copy a leaf of the state at every step: an event would cost more, the more players there are."""
    with strictly(case.double):
        text = lowered(case).compile(compiler_options={"xla_backend_optimization_level": 0}).as_text()
    inner = text[: text.index("ENTRY")]
    claim(re.search(rf"\[{MANY}[,\]]", inner), "the loop does not hold the state")
    copies = re.findall(rf"= \S*\[{MANY}[,\]]\S* copy\(", inner)
    claim(not copies, f"at every step, {len(copies)} leaves of the state are copied")


def lowered(case: Case) -> Any:
    """The replay of a season or, in periods and rounds, of a few events, for many players."""
    (system, form, _), events = case, as_replayed(case.form, seasons(case)[0])
    params, random = arrays(system.params), key(system)
    state = system.init(params, MANY)
    if form in ("stream", "levels"):
        arranged, stream = plan(events, form), form == "stream"
        replay = compiled(programs.stream if stream else programs.levels, (params, state, random), stream=stream)
        shape = programs.Shape(arranged.size, None, True)
        given = arranged.events, arranged.number, random, np.int32(arranged.num_steps)
        return replay.lower(system.rules, shape, params, state, *given)
    starts = tuple(None if x is None else jnp.asarray(x, jnp.int32) for x in (events.player_start, events.pair_start))
    flat, block = on_device(events.events), Block(np.zeros((4, 2), np.int32), (8, 8))
    so_far = state, jnp.zeros(seasons(case)[0].score.shape if form == "periods" else flat.player.shape)
    replay = compiled(programs.block, (params, state, random), FORMS[form])
    return replay.lower(system.rules, block.size, params, so_far, flat, starts, block.number, random, np.int32(4))
