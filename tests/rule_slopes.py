"""Slopes of the rules of a system on one step: events are rated under `vmap`, without a scan, which compiles soon."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import periods
from jaxrate.history.ratings_at_times import ratings
from jaxrate.replay.plan import Block, gather_events, place_events
from jaxrate.replay.player_rows import as_device_arrays, gather_rows
from jaxrate.replay.scan_programs import make_replay_rules, prepare_replay, rate_event
from jaxrate.replay.schedule import arrange_blocks
from jaxrate.testing.cases import (
    PADDED_PERIOD,
    PERIOD_LENGTH,
    SLOTS,
    TIME_AFTER_EVENTS,
    as_float_arrays,
    jit_quickly,
    split_seasons,
    stack_trees,
    strict_precision,
)
from jaxrate.testing.properties import (
    DIFFERENCE_STEP,
    float_column_indices,
    perturbable_parameters,
    replay_first_season,
)

SCORE_SHIFT = 0.015  # away from the scores at which rules may switch formulas
NUMBERS = {"stream": [0, 20, 50, 119], "levels": [0, 20, 50, 119], "periods": [0, 4, 8], "rounds": [0, 6]}


class StepInputs(NamedTuple):
    """What a step depends on."""

    params: Any
    rows: Any  # leaves [events, players, ...]
    events: Any  # leaves [events, ...]


def padded_events(case):
    """Events of the second season, leaves [events, ...], all padded to one size."""
    season, number = split_seasons(case)[1], np.array(NUMBERS[case.form])
    if case.form in ("stream", "levels"):
        return jax.tree.map(lambda x: np.asarray(x)[number], as_device_arrays(season))
    size = (SLOTS, SLOTS) if case.form == "rounds" else PADDED_PERIOD
    history = season if case.form == "rounds" else periods(season, PERIOD_LENGTH)._replace(length=None)
    blocks = arrange_blocks(history, [Block(number[:, None].astype(np.int32), size)])
    gather = jit_quickly(lambda *x: gather_events(*x, size)[0])
    return jax.tree.map(np.asarray, gather(place_events(history, blocks), number.astype(np.int32)))


def step_inputs(case):
    """A step after the first season, at scores and times at which rules switch no formulas.

    And how far the rows are from those of newcomers.
    """
    state, events = replay_first_season(case).state, padded_events(case)
    leaves, structure = jax.tree.flatten(events)
    for name, i in float_column_indices(events).items():
        if name == "score":
            leaves[i] = leaves[i] + np.where(leaves[i] < 1.0, SCORE_SHIFT, -SCORE_SHIFT).astype(leaves[i].dtype)
        elif name == "time":
            leaves[i] = leaves[i] + leaves[i].dtype.type(0.01)
    params = as_float_arrays(case.system.params)

    def gather_and_compare(state, params, player):
        rows, newcomers = gather_rows(state, player), gather_rows(case.system.init(params, 1), 0 * player)
        return rows, jax.tree.map(lambda new, x: new - x if x.dtype.kind == "f" else 0 * x, newcomers, rows)

    rows, to_newcomers = jit_quickly(gather_and_compare)(state, params, events.player)
    return StepInputs(params, rows, jax.tree.unflatten(structure, leaves)), to_newcomers


def summarise_step(case, inputs):
    """A number that depends on every prediction, every leaf of the rows after the step, and newcomers."""
    system, (state, _) = case.system, replay_first_season(case)
    rules, random = make_replay_rules(system.rules, inputs.params), np.random.default_rng(6)
    rows, prediction = jax.vmap(partial(rate_event, rules, prepare_replay(rules, inputs.params), random_draw=None))(
        inputs.rows, inputs.events
    )
    weight = getattr(inputs.events, "weight", getattr(inputs.events, "context", inputs.events).weight)
    num_players = len(jax.tree.leaves(state)[0])

    def weighted_mean(values, scale=1.0, mask=True):
        values = jnp.asarray(values, float)
        mask = jnp.isfinite(values) & jnp.reshape(mask, np.shape(mask) + (1,) * (values.ndim - np.ndim(mask)))
        weights = jnp.asarray(random.uniform(0.5, 1.5, values.shape) / scale, float)
        return jnp.mean(weights * jnp.where(mask, values, 0.0))

    def largest(x):
        return np.abs(x)[np.isfinite(x)].max(initial=1e-3)

    summary = sum(weighted_mean(x**2, mask=weight > 0.0) for x in jax.tree.leaves(prediction))
    summary += sum(weighted_mean(x, 1e3) for x in jax.tree.leaves(system.init(inputs.params, 2)))
    rows = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rows)
    present = inputs.events.player.ravel() < num_players
    for x, before in zip(jax.tree.leaves(rows), jax.tree.leaves(state), strict=True):
        summary += weighted_mean(x, largest(before), present)
    later = ratings(system, rows, time=TIME_AFTER_EVENTS, params=inputs.params)
    return summary + sum(weighted_mean(x, 1e3, present) for x in jax.tree.leaves(later))


def perturbation_directions(case, inputs, to_newcomers):
    """Each hyperparameter, the rows of players, towards those of newcomers, and all columns of floats."""
    random, zero = np.random.default_rng(5), jax.tree.map(np.zeros_like, inputs)
    directions = {}
    for name, value in perturbable_parameters(case.system).items():
        directions[name] = zero._replace(params=zero.params._replace(**{name: np.asarray(abs(value) or 1.0)}))
    rows = jax.tree.map(lambda x: np.where(np.isfinite(x), x, np.zeros((), x.dtype)), to_newcomers)
    directions["the rows"] = zero._replace(rows=rows)
    leaves, structure = jax.tree.flatten(zero.events)
    for name, i in float_column_indices(inputs.events).items():
        x = np.asarray(jax.tree.leaves(inputs.events)[i])
        direction = 0.1 * x if name == "time" else random.uniform(0.5, 1.5, x.shape)
        leaves[i] = np.where(np.isfinite(x) & ((name != "weight") | (x > 0.0)), direction, 0.0)  # padding stays
    return directions | {"the columns": zero._replace(events=jax.tree.unflatten(structure, leaves))}


def slopes_of_one_step_equal_finite_differences(case):
    """In every hyperparameter, in the rows before it, and in every column of floats."""
    with strict_precision(True):
        center, to_newcomers = jax.tree.map(np.asarray, step_inputs(case))
        directions = perturbation_directions(case, center, to_newcomers)
        moved = [
            jax.tree.map(lambda x, y, by=by: x + (by * y).astype(x.dtype), center, direction)
            for direction in directions.values()
            for by in (-DIFFERENCE_STEP, DIFFERENCE_STEP)
        ]
        leaves, structure = jax.tree.flatten(stack_trees([center, *moved]))
        floats = [i for i, x in enumerate(leaves) if x.dtype.kind == "f"]

        def summary_of_floats(values, others):
            filled = dict(enumerate(others)) | dict(zip(floats, values, strict=True))
            return summarise_step(case, jax.tree.unflatten(structure, filled.values()))

        program = jit_quickly(jax.vmap(jax.value_and_grad(summary_of_floats)))  # one program for values and slopes
        value, slopes = jax.tree.map(np.asarray, program([leaves[i] for i in floats], leaves))
    low, high = value[1:].reshape(-1, 2).T
    for (name, direction), wanted in zip(directions.items(), (high - low) / (2.0 * DIFFERENCE_STEP), strict=True):
        along = [x for x in jax.tree.leaves(direction) if x.dtype.kind == "f"]
        slope = sum(float(np.sum(x * y[0])) for x, y in zip(along, slopes, strict=True))
        tolerance = 2e-4 if name == "the rows" else 2e-5  # points of tables move with the rows
        np.testing.assert_allclose(slope, wanted, rtol=tolerance, atol=1e-8, err_msg=f"the slope in {name}")
    assert all(np.isfinite(x).all() for x in slopes)
    assert np.any(high != low)


def slopes_of_one_step_are_finite(case):
    """In forward mode, which overflows first, in single precision.

    A sum of slopes is finite only if all of them are.
    """
    with strict_precision(False):
        inputs, _ = step_inputs(case)

        def summary_of_params(params):
            return summarise_step(case, inputs._replace(params=params))

        ones = jax.tree.map(jnp.ones_like, inputs.params)
        slope = jit_quickly(lambda params: jax.jvp(summary_of_params, (params,), (ones,))[1])(inputs.params)
    assert np.isfinite(slope), slope
