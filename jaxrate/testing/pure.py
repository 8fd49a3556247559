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

from jaxrate.records.readings import ratings
from jaxrate.replay.pure import scan
from jaxrate.replay.run import Run
from jaxrate.system import Params, RatingSystem
from jaxrate.testing.cases import Case, arrays, claim, key, near, quick, strictly, told
from jaxrate.testing.changes import renamed
from jaxrate.testing.chunks import chunks, counts, stacked
from jaxrate.testing.histories import LATER, players, seasons
from jaxrate.testing.replays import replay

STEP = 1e-5  # of finite differences, in parts of a hyperparameter, or of about 1 in a column
SIGNS = -STEP, STEP


class Point(NamedTuple):
    """What a replay is a function of."""

    params: Params
    chunks: Any  # leaves [chunks, ...]


def total(system: RatingSystem, params: Params, done: Run) -> Any:
    """A number that depends on every prediction and on the whole final state."""
    rating, deviation = ratings(system, done.state, time=LATER, params=params)
    random = np.random.default_rng(6)

    def mean(values: Any) -> Any:
        return jnp.mean(jnp.asarray(random.uniform(0.5, 1.5, values.shape), float) * values)

    return mean(done.prediction**2) + 1e-3 * (mean(rating) + (0.0 if deviation is None else mean(deviation)))


def measured(case: Case, point: Point) -> tuple[Any, Run]:
    """The total of a history, replayed in chunks, and its run."""
    system, params = case.system, point.params

    def one(state: Any, events: Any) -> tuple[Any, Any]:
        done = scan(system, params, state, events, key(system))
        return done.state, done.prediction

    done = Run(*lax.scan(one, system.init(params, players(case.form)), point.chunks))
    return total(system, params, done), done


def free(system: RatingSystem) -> dict[str, float]:
    """The hyperparameters about which other values are allowed on both sides."""
    found = {}
    for name, value in system.params._asdict().items():
        if value is None or not math.isfinite(value):
            continue
        allows, step = getattr(system.space, name).range.allows, STEP * size(value)
        if allows(value - step) and allows(value + step):
            found[name] = float(value)
    return found


def size(value: float) -> float:
    return abs(value) or 1.0


def scaled(system: RatingSystem, factor: float) -> Params:
    """Hyperparameters of which the first that is free is another one."""
    some = dict([*free(system).items()][:1])
    return system.params._replace(**{name: factor * value for name, value in some.items()})


def histories(case: Case) -> list[tuple[Any, Params]]:
    """Three of one shape, each with other hyperparameters."""
    (one, other), name = seasons(case), np.random.default_rng(1).permutation(players(case.form))
    params = case.system.params, *(scaled(case.system, factor) for factor in (0.5, 0.75))
    return [*zip((one, other, renamed(one, name)), params, strict=True)]


def columns(chunks: Any) -> dict[str, int]:
    """The places of the columns of numbers among the leaves, by name."""
    leaves = jax.tree_util.tree_leaves_with_path(chunks)
    named = ((jax.tree_util.keystr(path[-1:], simple=True), i, x) for i, (path, x) in enumerate(leaves))
    return {name: i for name, i, x in named if jnp.issubdtype(x.dtype, jnp.floating)}


def base(case: Case) -> Point:
    """A history whose scores and times are between those at which a rule may take another turn."""
    chunked = stacked(chunks(case, seasons(case)[0]))
    leaves, structure = jax.tree.flatten(chunked)
    for name, i in columns(chunked).items():
        if name == "score":
            step = np.random.default_rng(3).uniform(0.01, 0.02, leaves[i].shape)
            leaves[i] = leaves[i] + np.where(leaves[i] < 1.0, step, -step)
        elif name == "time":
            leaves[i] = leaves[i] + 0.01
    return jax.tree.map(np.asarray, Point(arrays(case.system.params), jax.tree.unflatten(structure, leaves)))


def directions(case: Case, point: Point) -> dict[str, Point]:
    """Where hyperparameters, one by one, and then all columns are moved to see what changes."""
    random, nowhere = np.random.default_rng(5), jax.tree.map(np.zeros_like, point)
    found = {}
    for name, value in free(case.system).items():
        found[name] = nowhere._replace(params=nowhere.params._replace(**{name: np.asarray(size(value))}))
    leaves, structure = jax.tree.flatten(nowhere.chunks)
    for name, i in columns(point.chunks).items():
        x = jax.tree.leaves(point.chunks)[i]
        move = 0.1 * x if name == "time" else random.uniform(0.5, 1.5, x.shape)
        leaves[i] = np.where(np.isfinite(x), move, 0.0)
    named = "the columns " + ", ".join(columns(point.chunks))
    return found | {named: nowhere._replace(chunks=jax.tree.unflatten(structure, leaves))}


class Found(NamedTuple):
    """What the program returns."""

    slopes: Any  # leaves of numbers of the base, None if the system draws random numbers
    values: Any  # [3 + 2 directions] of the histories, then of the base moved back and forth
    runs: Run  # leaves [3 + 2 directions, ...]


@lru_cache(maxsize=4)
def together(case: Case) -> Found:
    """Three histories in chunks, and one that is moved, in one batch; with the slopes of that one in reverse."""
    random = case.system.rules.draw is not None
    with strictly(case.double):
        center = base(case)
        several = [Point(arrays(params), stacked(chunks(case, events))) for events, params in histories(case)]
        for move in () if random else directions(case, center).values():
            several += [jax.tree.map(lambda x, y, by=by: x + (by * y).astype(x.dtype), center, move) for by in SIGNS]
        leaves, structure = jax.tree.flatten(center)
        numbers = [i for i, x in enumerate(leaves) if x.dtype.kind == "f"]

        def value(some: list[Any]) -> Any:
            filled = dict(enumerate(leaves)) | dict(zip(numbers, some, strict=True))
            return measured(case, jax.tree.unflatten(structure, filled.values()))[0]

        def program(some: list[Any], several: Point) -> Found:
            slopes = None if random else jax.grad(value)(some)
            return Found(slopes, *jax.vmap(partial(measured, case))(several))

        return jax.tree.map(np.asarray, quick(program)([leaves[i] for i in numbers], stacked(several)))


def chunks_of_several_histories_in_one_batch_equal_runs(case: Case) -> None:
    """Under jit, vmap and lax.scan, with other hyperparameters in each."""
    runs = together(case).runs
    for i, (events, params) in enumerate(histories(case)):
        with strictly(case.double):
            wanted = replay(case, events, params=arrays(params))
            length = counts(chunks(case, events))
        guess = np.concatenate([x[:n] for x, n in zip(runs.prediction[i], length, strict=True)])
        near("the state", jax.tree.map(lambda x, i=i: x[i], runs.state), wanted.state, 1e-10)
        near("predictions", guess, wanted.prediction, 1e-10)


def slopes_equal_finite_differences(case: Case) -> None:
    """In every hyperparameter and in every column of numbers: scores, weights, times and what else there is."""
    found = together(case)
    with strictly(case.double):
        moves = directions(case, base(case))
    low, high = found.values[len(histories(case)) :].reshape(-1, 2).T
    wanted = dict(zip(moves, (high - low) / (2.0 * STEP), strict=True))
    for name, move in moves.items():
        along = [x for x in jax.tree.leaves(move) if x.dtype.kind == "f"]
        slope = sum(float(np.sum(x * y)) for x, y in zip(found.slopes, along, strict=True))
        digits = 1e-9  # that the difference has not
        told(f"the slope in {name}", np.testing.assert_allclose, slope, wanted[name], rtol=2e-5, atol=digits)
    claim(all(np.isfinite(x).all() for x in found.slopes), "slopes are not finite")
    claim(any(wanted.values()) or not wanted, "neither hyperparameters nor columns matter")
