"""Predictions of upcoming events from a state."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import check_not_traced, enforce_argument_annotations, is_traced
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Ragged, Rounds, has_teammates
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.replay.blocks import BlockPlan, BlockSteps, arrange_blocks
from jaxrate.replay.checked_replay import check_contest_features_supported
from jaxrate.replay.compiler_options import ProgramTraits
from jaxrate.replay.execution import compile_policy_from_environment, compile_replay, zero_predictions_of_blocks
from jaxrate.replay.padded_states_and_columns import (
    count_players,
    extend_state_if_needed,
    init_or_copy_padded_state,
    read_rows_with_clipped_ids,
    resolve_params,
    truncate_leaves,
)
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from jaxrate.replay.scan_programs import (
    ReplayRules,
    advance_and_predict_event,
    make_replay_rules,
    predict_block,
    prepare_replay,
)
from jaxrate.replay.schedule import check_and_make_sequential_plan, flat_events_for_check
from jaxrate.replay.sharding import with_automatic_sharding


@enforce_argument_annotations
def predict(
    system: RatingSystem,
    state: State,
    events: Matches | Ragged | Dataset,
    *,
    params: Params = None,
    num_players: int | None = None,
) -> Any:
    """Predict upcoming matches or rounds from a state; nothing is learnt.

        jr.predict(system, result.state, jr.matches([[0, 1]], [0.5], [20_000.0]))  # whatever the score

    Args:
      system: as from `elo()`, `elo_mmr()`, ...
      state: the state of all players, as `run` left it.
      events: [n] `Matches` or `Ragged` rounds, each predicted as of its own time; scores and ranks are not read. Or a
        `Dataset` of either. Columns may be traced, except `player_start`; traced ids are not checked. For matches,
        systems of rounds predict which of the two would do better in a contest.
      params: hyperparameters, by default `system.params`.
      num_players: as in `run`: rows beyond the state's are newcomers'.

    Returns:
      The system's predictions: for matches, leaves [n, ...], usually the expected score of player 0; for rounds, [P],
      the share of the others whom each participant is expected to beat. The expected rank is then
      1 + (1 - share) (size - 1).

    Raises:
      ValueError: for events that the system does not predict, teams that it does not know, bad rows, ids beyond the
        state, or hyperparameters out of their range.
    """
    events, num_players = resolve_events_and_num_players(events, num_players, count_players(state))
    params = resolve_params(system, params)
    rules = make_replay_rules(system.rules, params)
    if isinstance(events, Ragged) and isinstance(events.events, Rounds) and Rounds in system.events:
        check_not_traced(
            "player_start", events.player_start, "sizes of contests are shapes; what may be traced is `events`"
        )
        check_contest_features_supported(system, events)
        if not is_traced(events.events):
            system.check(events)
        known = 0 if is_traced(events.events.player) else int(np.max(events.events.player, initial=-1)) + 1
        if is_traced(events.events):
            return _predict_traced_rounds(
                rules, params, extend_state_if_needed(system, params, state, num_players, known), events
            )
        copy, _ = init_or_copy_padded_state(system, params, state, num_players, known)
        contests = arrange_blocks(events)
        if contests.num_rows == 0:
            return jnp.zeros(0)
        return truncate_leaves(predict_blocks(rules, params, copy, contests), contests.num_rows)
    if not isinstance(events, Matches):
        kind = type(getattr(events, "events", events)).__name__
        kinds = "Matches" + (" or Rounds" if Rounds in system.events else "")
        raise ValueError(f"{system.name} predicts {kinds}, not {kind}")
    system.check(flat_events_for_check(events._replace(score=np.zeros(len(events.score)))))
    upcoming, _ = check_and_make_sequential_plan(events)
    state = with_automatic_sharding(extend_state_if_needed(system, params, state, num_players, upcoming.num_players))
    rows = read_rows_with_clipped_ids(state, upcoming.events.player)
    return truncate_leaves(_predict_matches(rules, params, rows, upcoming.events), len(events.score))


def predict_blocks(rules: ReplayRules, params: Params, state: State, plan: BlockPlan) -> Any:
    """The predictions of rounds from one state, each as of its own time: nothing is learnt."""
    policy = compile_policy_from_environment()
    prediction = zero_predictions_of_blocks(rules, params, state, plan, None)
    traits = ProgramTraits(Rounds, inner_loops=True, short=plan.size <= policy.short_history)
    program = compile_replay(predict_block, (params, state, plan), policy, traits)
    for block in plan.blocks:
        prediction = program(rules, block.size, params, prediction, state, plan.block_steps(block.number))
    return prediction


def _predict_traced_rounds(rules: ReplayRules, params: Params, state: State, contests: Ragged) -> Any:
    """Predictions [P] of contests that are traced, each padded to the largest."""
    flat: Any = contests.events
    start = np.asarray(contests.player_start)
    if start[-1] == 0:
        return jnp.zeros(0)
    known = np.zeros(len(start) - 1, bool)
    solo = None if is_traced(flat.team) or has_teammates(contests) else known
    most = int(np.diff(start).max())
    starts, every = (jnp.asarray(start, jnp.int32), None), jnp.arange(len(start) - 1, dtype=jnp.int32)[None]
    steps = BlockSteps(as_device_arrays(flat)._replace(strict=None, solo=solo), starts, every)
    return jax.jit(predict_block, static_argnums=(0, 1))(rules, (most, most), params, None, state, steps)


@partial(jax.jit, static_argnums=0)
def _predict_matches(rules: ReplayRules, params: Params, rows: State, events: Matches) -> Any:
    return jax.vmap(partial(advance_and_predict_event, rules, prepare_replay(rules, params)))(rows, events)
