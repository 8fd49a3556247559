"""How a replay is arranged and timed: everything is on the device, checked and compiled before."""

import time

import jax
import numpy as np
from common import distance

import jaxrate as jr
from gpu_parts.histories import keep_history, simulate_history
from jaxrate.events import Matches, Ragged
from jaxrate.replay.execution import execute_plan
from jaxrate.replay.padded_states_and_columns import state_shapes
from jaxrate.replay.scan_programs import make_replay_rules
from jaxrate.testing.cases import make_key


def system_of(case):
    """The system that a case names, with its settings."""
    return jr.extend.SYSTEMS[case["system"]](**case.get("settings_of_system", {}))


def arrange_events(case):
    """The events, and their plan on the device."""
    names = "history", "players", "matches", "rounds", "width"
    return _arrange_events(*(case.get(name) for name in names), jax.config.jax_enable_x64)


@keep_history(6)
def _arrange_events(history, players, matches, rounds, width, double):  # threads of both precisions ask for it
    events = simulate_history(history, players, matches, rounds)
    return events, put_on_device(jr.extend.schedule_by_level(events, width))


def put_on_device(plan):
    """A plan whose columns lie on the device; what is known of it stays on the host."""
    if hasattr(plan, "blocks"):
        blocks = tuple(block._replace(number=jax.device_put(block.number)) for block in plan.blocks)
        return plan._replace(events=jax.device_put(plan.events), starts=jax.device_put(plan.starts), blocks=blocks)
    return plan._replace(events=jax.device_put(plan.events), number=jax.device_put(plan.number))


def replay(system, plan, state, engine="scan"):
    """A run without the checks of the host; the state is used up."""
    rules = make_replay_rules(system.rules, system.params)
    return execute_plan(rules, system.params, state, plan, make_key(system), ids_checked=True, engine=engine)


def first_state(system, players):
    return jax.block_until_ready(system.init(system.params, players))


def best_seconds(prepare, function, turns):
    """Seconds of a function of what is prepared anew, outside of the clock: of the first call, which may compile, and
    the best of the others; and the result of the last.
    """
    times = []
    for _ in range(1 + turns):
        given = jax.block_until_ready(prepare())
        start = time.perf_counter()
        result = jax.block_until_ready(function(given))
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:], default=times[0]), result


def time_replay(case, options, system=None):
    """The numbers of a replay: times, its steps, memory, and its log loss, which no device should change.

    Args:
      system: None: the one that the case names.
    """
    system, engine = system or system_of(case), case.get("engine", "scan")
    events, plan = arrange_events(case)
    first, best, (state, prediction) = best_seconds(
        lambda: first_state(system, plan.num_players),
        lambda state: replay(system, plan, state, engine),
        options.turns,
    )
    prediction = np.asarray(prediction, np.float64)
    number = plan.num_rows if isinstance(events, Ragged) else plan.num_matches
    prediction = prediction[:number]
    assert np.isfinite(prediction).all(), "a prediction is not finite"
    rating = jr.ratings(system, state).mean[: case["players"]]
    assert np.isfinite(np.asarray(rating)).all(), "a rating is not finite"
    return {
        "rated": number,
        "steps": int(np.sum(plan.steps if isinstance(events, Ragged) else plan.num_steps)),
        "units": count_units(events, plan),
        "first_seconds": first,
        "seconds": best,
        "million_per_second": number / best / 1e6,
        "state_bytes": sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state_shapes(system, case["players"]))),
        **event_scores(events, prediction),
    }


def count_units(events, plan):
    """Slots that are rated, as they are counted; see `unit_seconds` of `gpu_estimates.py`."""
    if isinstance(events, Matches):
        return plan.num_steps * plan.number.shape[1]
    total = 0
    for steps, block in zip(plan.steps, plan.blocks, strict=True):
        players, pairs = block.size
        each = players + pairs if events.pair_start is not None else players**2
        total += int(steps) * block.number.shape[1] * each
    return total


def event_scores(events, prediction):
    """The log loss of matches, or the mean of predictions that have no results of two."""
    if not isinstance(events, Matches):
        return {"mean_prediction": float(prediction.mean())}
    score, p = np.asarray(events.score, np.float64), np.clip(prediction, 1e-12, 1 - 1e-12)
    return {"log_loss": float(-np.mean(score * np.log(p) + (1 - score) * np.log1p(-p)))}


def differences(found, wanted):
    """The largest differences of two runs: of predictions, and of the leaves of states relative to their size."""
    relative = 0.0
    for x, y in zip(jax.tree.leaves(found[0]), jax.tree.leaves(wanted[0]), strict=True):
        x, y = (np.nan_to_num(np.asarray(leaf, np.float64), posinf=0.0) for leaf in (x, y))  # inf: nobody played
        relative = max(relative, distance(x, y) / max(float(np.abs(y).max(initial=0.0)), 1.0))
    return {"prediction_difference": distance(found[1], wanted[1]), "state_difference": relative}
