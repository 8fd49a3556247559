"""Properties of compiled replays."""

import re
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxrate.events import slice_events
from jaxrate.replay import block_programs, scan_programs
from jaxrate.replay.blocks import Block
from jaxrate.replay.compiler_options import ProgramTraits
from jaxrate.replay.execution import compile_replay
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from jaxrate.replay.schedule import make_plan
from jaxrate.testing.case_and_assertions import (
    FORMS,
    SystemFormPrecision,
    as_float_arrays,
    assert_claim,
    make_key,
    record_compilations,
    strict_precision,
)
from jaxrate.testing.replay_properties import replay_case_events
from jaxrate.testing.synthetic_histories import events_in_form, player_count, split_seasons

MANY_PLAYERS = 7919  # a number of players that no other dimension has


def another_length_compiles_nothing(case: SystemFormPrecision) -> None:
    """A history with two events fewer and one player more."""
    events = split_seasons(case)[0]
    count = len(events.flat.time)
    replay_case_events(case, events)
    with record_compilations() as durations:
        replay_case_events(case, slice_events(events, 0, count - 2), num_players=player_count(case.form) + 1)
    assert_claim(not durations, f"a history of two events fewer took {len(durations)} compilations")


def no_state_sized_copy_inside_the_loop(case: SystemFormPrecision) -> None:
    """XLA must not copy a leaf of the state at every step: an event would cost more, the more players there are."""
    with strict_precision(case.double):
        text = lower_replay(case).compile(compiler_options={"xla_backend_optimization_level": 0}).as_text()
    inner = text[: text.index("ENTRY")]
    assert_claim(re.search(rf"\[{MANY_PLAYERS}[,\]]", inner), "the loop does not hold the state")
    copies = re.findall(rf"= \S*\[{MANY_PLAYERS}[,\]]\S* copy\(", inner)
    assert_claim(not copies, f"at every step, {len(copies)} leaves of the state are copied")


def lower_replay(case: SystemFormPrecision) -> Any:
    """The replay of a season or, in periods and rounds, of a few events, for many players."""
    (system, form, _), events = case, events_in_form(case.form, split_seasons(case)[0])
    params, random = as_float_arrays(system.params), make_key(system)
    state = system.init(params, MANY_PLAYERS)
    if form in ("stream", "levels"):
        plan, stream = make_plan(events, form), form == "stream"
        replay = compile_replay(
            scan_programs.replay_matches_one_by_one if stream else scan_programs.replay_levels,
            (params, state, random),
            traits=ProgramTraits(stream=stream),
        )
        shape = scan_programs.MatchProgramShape(plan.size, None, True)
        arguments = plan.events, plan.number, random, np.int32(plan.num_steps)
        return replay.lower(scan_programs.make_replay_rules(system.rules, params), shape, params, state, *arguments)
    starts = tuple(None if x is None else jnp.asarray(x, jnp.int32) for x in (events.player_start, events.pair_start))
    flat, block = as_device_arrays(events.events), Block(np.zeros((4, 2), np.int32), (8, 8))
    carry = state, jnp.zeros(split_seasons(case)[0].score.shape if form == "periods" else flat.player.shape)
    replay = compile_replay(block_programs.replay_block, (params, state, random), traits=ProgramTraits(FORMS[form]))
    return replay.lower(
        scan_programs.make_replay_rules(system.rules, params),
        block.size,
        params,
        carry,
        flat,
        starts,
        block.number,
        random,
        np.int32(4),
    )
