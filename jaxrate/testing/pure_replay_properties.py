"""What a replay must keep as a pure function of hyperparameters and events: in batches, in chunks and in its slopes.

One program serves all: it compiles what takes the time of these tests.
"""

import math
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.league.ratings_at_times import ratings
from jaxrate.replay.checked_replay import Run, scan
from jaxrate.system import Params, RatingSystem
from jaxrate.testing.case_assertions import (
    Case,
    as_float_arrays,
    assert_claim,
    assert_close_leaves,
    assert_with_label,
    jit_fast_compiled,
    make_key,
    strict_precision,
)
from jaxrate.testing.event_transforms import rename_players
from jaxrate.testing.replay_properties import replay
from jaxrate.testing.scan_chunks import prediction_counts, split_in_chunks, stack_trees
from jaxrate.testing.synthetic_histories import TIME_AFTER_EVENTS, player_count, split_seasons

DIFFERENCE_STEP = 1e-5  # of finite differences, in parts of a hyperparameter, or of about 1 in a column
DIFFERENCE_STEPS = -DIFFERENCE_STEP, DIFFERENCE_STEP


class ReplayInputs(NamedTuple):
    """What a replay is a function of."""

    params: Params
    chunks: Any  # leaves [chunks, ...]


def summarise_run(system: RatingSystem, params: Params, result: Run) -> Any:
    """A number that depends on every prediction and on the whole final state."""
    rating, deviation = ratings(system, result.state, time=TIME_AFTER_EVENTS, params=params)
    random = np.random.default_rng(6)

    def mean(values: Any) -> Any:
        return jnp.mean(jnp.asarray(random.uniform(0.5, 1.5, values.shape), float) * values)

    return mean(result.prediction**2) + 1e-3 * (mean(rating) + (0.0 if deviation is None else mean(deviation)))


def replay_and_summarise(case: Case, inputs: ReplayInputs) -> tuple[Any, Run]:
    """The total of a history, replayed in chunks, and its run."""
    system, params = case.system, inputs.params

    def one(state: Any, events: Any) -> tuple[Any, Any]:
        done = scan(system, params, state, events, make_key(system))
        return done.state, done.prediction

    done = Run(*lax.scan(one, system.init(params, player_count(case.form)), inputs.chunks))
    return summarise_run(system, params, done), done


def perturbable_parameters(system: RatingSystem) -> dict[str, float]:
    """The hyperparameters about which other values are allowed on both sides."""
    found = {}
    for name, value in system.params._asdict().items():
        if value is None or not math.isfinite(value):
            continue
        allows, step = getattr(system.space, name).range.allows, DIFFERENCE_STEP * parameter_scale(value)
        if allows(value - step) and allows(value + step):
            found[name] = float(value)
    return found


def parameter_scale(value: float) -> float:
    return abs(value) or 1.0


def scale_first_parameter(system: RatingSystem, factor: float) -> Params:
    """Hyperparameters of which the first that is free is another one."""
    some = dict([*perturbable_parameters(system).items()][:1])
    return system.params._replace(**{name: factor * value for name, value in some.items()})


def batch_histories(case: Case) -> list[tuple[Any, Params]]:
    """Three of one shape, each with other hyperparameters."""
    (one, other), name = split_seasons(case), np.random.default_rng(1).permutation(player_count(case.form))
    params = case.system.params, *(scale_first_parameter(case.system, factor) for factor in (0.5, 0.75))
    return [*zip((one, other, rename_players(one, name)), params, strict=True)]


def float_column_indices(chunks: Any) -> dict[str, int]:
    """The places of the columns of numbers among the leaves, by name."""
    leaves = jax.tree_util.tree_leaves_with_path(chunks)
    named = ((jax.tree_util.keystr(path[-1:], simple=True), i, x) for i, (path, x) in enumerate(leaves))
    return {name: i for name, i, x in named if jnp.issubdtype(x.dtype, jnp.floating)}


def base_inputs(case: Case) -> ReplayInputs:
    """A history whose scores and times are between those at which a rule may take another turn."""
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


def perturbation_directions(case: Case, inputs: ReplayInputs) -> dict[str, ReplayInputs]:
    """Where hyperparameters, one by one, and then all columns are moved to see what changes."""
    random, nowhere = np.random.default_rng(5), jax.tree.map(np.zeros_like, inputs)
    found = {}
    for name, value in perturbable_parameters(case.system).items():
        found[name] = nowhere._replace(params=nowhere.params._replace(**{name: np.asarray(parameter_scale(value))}))
    leaves, structure = jax.tree.flatten(nowhere.chunks)
    for name, i in float_column_indices(inputs.chunks).items():
        x = jax.tree.leaves(inputs.chunks)[i]
        move = 0.1 * x if name == "time" else random.uniform(0.5, 1.5, x.shape)
        leaves[i] = np.where(np.isfinite(x), move, 0.0)
    named = "the columns " + ", ".join(float_column_indices(inputs.chunks))
    return found | {named: nowhere._replace(chunks=jax.tree.unflatten(structure, leaves))}


class BatchReplays(NamedTuple):
    """What the program returns."""

    slopes: Any  # leaves of numbers of the base, None if the system draws random numbers
    values: Any  # [3 + 2 directions] of the histories, then of the base moved back and forth
    runs: Run  # leaves [3 + 2 directions, ...]


@lru_cache(maxsize=4)
def replay_batch(case: Case) -> BatchReplays:
    """Three histories in chunks, and one that is moved, in one batch; with the slopes of that one in reverse."""
    random = case.system.rules.draw is not None
    with strict_precision(case.double):
        center = base_inputs(case)
        several = [
            ReplayInputs(as_float_arrays(params), stack_trees(split_in_chunks(case, events)))
            for events, params in batch_histories(case)
        ]
        for move in () if random else perturbation_directions(case, center).values():
            several += [
                jax.tree.map(lambda x, y, by=by: x + (by * y).astype(x.dtype), center, move) for by in DIFFERENCE_STEPS
            ]
        leaves, structure = jax.tree.flatten(center)
        numbers = [i for i, x in enumerate(leaves) if x.dtype.kind == "f"]

        def value(some: list[Any]) -> Any:
            filled = dict(enumerate(leaves)) | dict(zip(numbers, some, strict=True))
            return replay_and_summarise(case, jax.tree.unflatten(structure, filled.values()))[0]

        def program(some: list[Any], several: ReplayInputs) -> BatchReplays:
            slopes = None if random else jax.grad(value)(some)
            return BatchReplays(slopes, *jax.vmap(partial(replay_and_summarise, case))(several))

        return jax.tree.map(np.asarray, jit_fast_compiled(program)([leaves[i] for i in numbers], stack_trees(several)))


def chunks_of_several_histories_in_one_batch_equal_runs(case: Case) -> None:
    """Under jit, vmap and lax.scan, with other hyperparameters in each."""
    runs = replay_batch(case).runs
    for i, (events, params) in enumerate(batch_histories(case)):
        with strict_precision(case.double):
            wanted = replay(case, events, params=as_float_arrays(params))
            length = prediction_counts(split_in_chunks(case, events))
        guess = np.concatenate([x[:n] for x, n in zip(runs.prediction[i], length, strict=True)])
        assert_close_leaves("the state", jax.tree.map(lambda x, i=i: x[i], runs.state), wanted.state, 1e-10)
        assert_close_leaves("predictions", guess, wanted.prediction, 1e-10)


def slopes_equal_finite_differences(case: Case) -> None:
    """In every hyperparameter and in every column of numbers: scores, weights, times and what else there is."""
    batch = replay_batch(case)
    with strict_precision(case.double):
        moves = perturbation_directions(case, base_inputs(case))
    low, high = batch.values[len(batch_histories(case)) :].reshape(-1, 2).T
    wanted = dict(zip(moves, (high - low) / (2.0 * DIFFERENCE_STEP), strict=True))
    for name, move in moves.items():
        along = [x for x in jax.tree.leaves(move) if x.dtype.kind == "f"]
        slope = sum(float(np.sum(x * y)) for x, y in zip(batch.slopes, along, strict=True))
        digits = 1e-9  # that the difference has not
        assert_with_label(
            f"the slope in {name}", np.testing.assert_allclose, slope, wanted[name], rtol=2e-5, atol=digits
        )
    assert_claim(all(np.isfinite(x).all() for x in batch.slopes), "slopes are not finite")
    assert_claim(any(wanted.values()) or not wanted, "neither hyperparameters nor columns matter")
