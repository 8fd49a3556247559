"""Properties of a replay as a pure function of hyperparameters and events: in batches, in chunks and in its slopes."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.history.ratings_at_times import ratings
from jaxrate.replay.checked_replay import Run, scan
from jaxrate.testing.case_and_assertions import (
    SystemFormPrecision,
    as_float_arrays,
    assert_claim,
    assert_close_leaves,
    assert_with_label,
    jit_quickly,
    make_key,
    strict_precision,
)
from jaxrate.testing.event_transforms import rename_players
from jaxrate.testing.history_chunks import prediction_counts, split_in_chunks, stack_trees
from jaxrate.testing.replay_properties import replay_case_events
from jaxrate.testing.synthetic_histories import TIME_AFTER_EVENTS, player_count, split_seasons

DIFFERENCE_STEP = 1e-5  # of finite differences, relative to a hyperparameter, or to about 1 in a column
DIFFERENCE_STEPS = -DIFFERENCE_STEP, DIFFERENCE_STEP


class ReplayInputs(NamedTuple):
    """The inputs of a replay."""

    params: Params
    chunks: Any  # leaves [chunks, ...]


def reduce_run_to_scalar(system: RatingSystem, params: Params, result: Run) -> Any:
    """A number that depends on every prediction and on the whole final state."""
    rating, deviation = ratings(system, result.state, time=TIME_AFTER_EVENTS, params=params)
    random = np.random.default_rng(6)

    def weighted_mean(values: Any) -> Any:
        return jnp.mean(jnp.asarray(random.uniform(0.5, 1.5, values.shape), float) * values)

    return weighted_mean(result.prediction**2) + 1e-3 * (
        weighted_mean(rating) + (0.0 if deviation is None else weighted_mean(deviation))
    )


def replay_and_summarise(case: SystemFormPrecision, inputs: ReplayInputs) -> tuple[Any, Run]:
    """The summary of a history that is replayed in chunks, and its run."""
    system, params = case.system, inputs.params

    def replay_chunk(state: Any, events: Any) -> tuple[Any, Any]:
        result = scan(system, params, state, events, make_key(system))
        return result.state, result.prediction

    result = Run(*lax.scan(replay_chunk, system.init(params, player_count(case.form)), inputs.chunks))
    return reduce_run_to_scalar(system, params, result), result


def perturbable_parameters(system: RatingSystem) -> dict[str, float]:
    """The hyperparameters for which slightly smaller and larger values are allowed."""
    values = {}
    for name, value in system.params._asdict().items():
        if value is None or not math.isfinite(value):
            continue
        allows, step = getattr(system.space, name).range.allows, DIFFERENCE_STEP * perturbation_scale(value)
        if allows(value - step) and allows(value + step):
            values[name] = float(value)
    return values


def perturbation_scale(value: float) -> float:
    return abs(value) or 1.0


def scale_first_parameter(system: RatingSystem, factor: float) -> Params:
    """Hyperparameters with the first perturbable one scaled."""
    first_parameter = dict([*perturbable_parameters(system).items()][:1])
    return system.params._replace(**{name: factor * value for name, value in first_parameter.items()})


def make_histories_for_batch(case: SystemFormPrecision) -> list[tuple[Any, Params]]:
    """Three histories of one shape, each with other hyperparameters."""
    (first, second), new_ids = split_seasons(case), np.random.default_rng(1).permutation(player_count(case.form))
    params = case.system.params, *(scale_first_parameter(case.system, factor) for factor in (0.5, 0.75))
    return [*zip((first, second, rename_players(first, new_ids)), params, strict=True)]


def float_column_indices(chunks: Any) -> dict[str, int]:
    """The indices of columns of floats among the leaves, by name."""
    leaves = jax.tree_util.tree_leaves_with_path(chunks)
    named = ((jax.tree_util.keystr(path[-1:], simple=True), i, x) for i, (path, x) in enumerate(leaves))
    return {name: i for name, i, x in named if jnp.issubdtype(x.dtype, jnp.floating)}


def make_base_replay_inputs(case: SystemFormPrecision) -> ReplayInputs:
    """A history whose scores and times avoid points at which rules may switch formulas."""
    chunked = stack_trees(split_in_chunks(case, split_seasons(case)[0]))
    leaves, structure = jax.tree.flatten(chunked)
    for name, i in float_column_indices(chunked).items():
        if name == "score":
            step = np.random.default_rng(3).uniform(0.01, 0.02, leaves[i].shape)
            leaves[i] = leaves[i] + np.where(leaves[i] < 1.0, step, -step)
        elif name == "time":
            leaves[i] = leaves[i] + 0.01
    return jax.tree.map(
        np.asarray, ReplayInputs(as_float_arrays(case.system.params), jax.tree.unflatten(structure, leaves))
    )


def perturbation_directions(case: SystemFormPrecision, inputs: ReplayInputs) -> dict[str, ReplayInputs]:
    """Directions of perturbations: each hyperparameter alone, then all columns together."""
    random, zero = np.random.default_rng(5), jax.tree.map(np.zeros_like, inputs)
    directions = {}
    for name, value in perturbable_parameters(case.system).items():
        directions[name] = zero._replace(params=zero.params._replace(**{name: np.asarray(perturbation_scale(value))}))
    leaves, structure = jax.tree.flatten(zero.chunks)
    for name, i in float_column_indices(inputs.chunks).items():
        x = jax.tree.leaves(inputs.chunks)[i]
        direction = 0.1 * x if name == "time" else random.uniform(0.5, 1.5, x.shape)
        leaves[i] = np.where(np.isfinite(x), direction, 0.0)
    columns_label = "the columns " + ", ".join(float_column_indices(inputs.chunks))
    return directions | {columns_label: zero._replace(chunks=jax.tree.unflatten(structure, leaves))}


def stack_replay_inputs(case: SystemFormPrecision) -> ReplayInputs:
    """The histories of a batch, in chunks; leaves [3, ...]."""
    histories = make_histories_for_batch(case)
    chunks = [(as_float_arrays(params), stack_trees(split_in_chunks(case, events))) for events, params in histories]
    return stack_trees([ReplayInputs(*x) for x in chunks])


def chunks_of_several_histories_in_one_batch_equal_runs(case: SystemFormPrecision) -> None:
    """Under jit, vmap and lax.scan, with other hyperparameters in each."""
    with strict_precision(case.double):
        replay_batch = jit_quickly(jax.vmap(lambda inputs: replay_and_summarise(case, inputs)[1]))
        runs = jax.tree.map(np.asarray, replay_batch(stack_replay_inputs(case)))
    for i, (events, params) in enumerate(make_histories_for_batch(case)):
        with strict_precision(case.double):
            expected = replay_case_events(case, events, params=as_float_arrays(params))
            length = prediction_counts(split_in_chunks(case, events))
        prediction = np.concatenate([x[:n] for x, n in zip(runs.prediction[i], length, strict=True)])
        assert_close_leaves("the state", jax.tree.map(lambda x, i=i: x[i], runs.state), expected.state, 1e-10)
        assert_close_leaves("predictions", prediction, expected.prediction, 1e-10)


def slopes_equal_finite_differences(case: SystemFormPrecision) -> None:
    """In every hyperparameter and in every column of floats: scores, weights, times and others."""
    with strict_precision(case.double):
        center = make_base_replay_inputs(case)
        directions = perturbation_directions(case, center)
        moved = [
            jax.tree.map(lambda x, y, by=by: x + (by * y).astype(x.dtype), center, direction)
            for direction in directions.values()
            for by in DIFFERENCE_STEPS
        ]
        leaves, structure = jax.tree.flatten(center)
        float_indices = [i for i, x in enumerate(leaves) if x.dtype.kind == "f"]

        def summary_of_leaves(float_leaves: list[Any]) -> Any:
            filled = dict(enumerate(leaves)) | dict(zip(float_indices, float_leaves, strict=True))
            return replay_and_summarise(case, jax.tree.unflatten(structure, filled.values()))[0]

        def slopes_and_values(float_leaves: list[Any], moved: ReplayInputs) -> tuple[list[Any], Any]:
            values = jax.vmap(lambda inputs: replay_and_summarise(case, inputs)[0])(moved)
            return jax.grad(summary_of_leaves)(float_leaves), values

        program = jit_quickly(slopes_and_values)  # one program, since compiling takes most of the time
        slopes, values = jax.tree.map(np.asarray, program([leaves[i] for i in float_indices], stack_trees(moved)))
    low, high = values.reshape(-1, 2).T
    differences = dict(zip(directions, (high - low) / (2.0 * DIFFERENCE_STEP), strict=True))
    for name, direction in directions.items():
        direction_leaves = [x for x in jax.tree.leaves(direction) if x.dtype.kind == "f"]
        slope = sum(float(np.sum(x * y)) for x, y in zip(slopes, direction_leaves, strict=True))
        tolerance = 1e-9  # rounding of the differences
        assert_with_label(
            f"the slope in {name}", np.testing.assert_allclose, slope, differences[name], rtol=2e-5, atol=tolerance
        )
    assert_claim(all(np.isfinite(x).all() for x in slopes), "slopes are not finite")
    assert_claim(any(differences.values()) or not differences, "neither hyperparameters nor columns matter")
