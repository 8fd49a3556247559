"""What hyperparameters as arguments are good for: batches of them, and slopes in them."""

import math
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.records.leaderboard import ratings
from jaxrate.replay.run import Run, run
from jaxrate.system import Params, RatingSystem
from jaxrate.testing.cases import Case, arrays, claim, key, near, quick, strictly, told
from jaxrate.testing.histories import LATER, as_replayed, players, schedule, seasons
from jaxrate.testing.replays import replay

STEP = 1e-5  # of finite differences, in parts of a hyperparameter


def measured(case: Case, params: Params) -> tuple[Any, Run]:
    """A number that depends on every prediction and on the whole final state of a season, and the run."""
    system, events = case.system, seasons(case)[0]
    options = {"num_players": players(case.form), "schedule": schedule(case.form, events), "key": key(system)}
    done = run(system, as_replayed(case.form, events), params=params, **options)
    rating, deviation = ratings(system, done.state, time=LATER, params=params)
    random = np.random.default_rng(6)

    def mean(values: Any) -> Any:
        return jnp.mean(jnp.asarray(random.uniform(0.5, 1.5, len(values)), float) * values)

    spread = 0.0 if deviation is None else mean(deviation)
    return mean(done.prediction**2) + 1e-3 * (mean(rating) + spread), done


def free(system: RatingSystem) -> dict[str, float]:
    """The hyperparameters about which other values are allowed on both sides."""
    found = {}
    for name, value in system.params._asdict().items():
        if value is None or not math.isfinite(value):
            continue
        allows = getattr(system.space, name).range.allows
        if allows(value - step(value)) and allows(value + step(value)):
            found[name] = float(value)
    return found


def step(value: float) -> float:
    return STEP * (abs(value) or 1.0)


def scaled(system: RatingSystem, factor: float) -> Params:
    """Hyperparameters of which the first that is free is another one."""
    name, value = next(iter(free(system).items()))
    return system.params._replace(**{name: factor * value})


@lru_cache(maxsize=4)
def together(case: Case) -> tuple[Any, Run]:
    """`measured` in one batch: with two values of a hyperparameter, then with each a little lower and higher."""
    system = case.system
    several = [scaled(system, factor) for factor in (0.5, 0.75)]
    for name, value in free(system).items():
        several += [system.params._replace(**{name: value + sign * step(value)}) for sign in (-1, 1)]
    with strictly(case.double):
        stacked = jax.tree.map(lambda *x: jnp.stack(x), *map(arrays, several))
        return jax.tree.map(np.asarray, quick(jax.vmap(lambda params: measured(case, params)))(stacked))


def vmap_equals_one_by_one(case: Case) -> None:
    if not free(case.system):
        return
    for i, factor in enumerate((0.5, 0.75)):
        with strictly(case.double):
            alone = replay(case, seasons(case)[0], params=arrays(scaled(case.system, factor)))
        near("the state and the predictions", jax.tree.map(lambda x, i=i: x[i], together(case)[1]), alone, 1e-10)


def slopes(case: Case) -> Params:
    """In reverse, which JAX derives from the slopes forward: where they are wrong, these are."""
    with strictly(case.double):
        reverse = quick(jax.grad(lambda params: measured(case, params)[0]))
        return jax.tree.map(float, reverse(arrays(case.system.params)))


def differences(case: Case) -> dict[str, float]:
    """Slopes by finite differences."""
    names = free(case.system)
    low, high = together(case)[0][2:].reshape(-1, 2).T if names else ([], [])
    return {name: float(b - a) / (2.0 * step(names[name])) for name, a, b in zip(names, low, high, strict=True)}


def slopes_equal_finite_differences(case: Case) -> None:
    """In every hyperparameter, with padding."""
    found, wanted = slopes(case), differences(case)
    for name, slope in wanted.items():
        digits = 1e-9 / (abs(getattr(case.system.params, name)) or 1.0)  # that the difference has not
        given = getattr(found, name), slope
        told(f"the slope in {name}", np.testing.assert_allclose, *given, rtol=2e-5, atol=digits)
    claim(all(map(math.isfinite, jax.tree.leaves(found))), f"slopes are not finite: {found}")
    claim(any(wanted.values()) or not wanted, "no hyperparameter matters")


def slopes_are_finite(case: Case) -> None:
    """Forward, which in float32 overflow first."""
    with strictly(case.double):
        found = quick(jax.jacfwd(lambda params: measured(case, params)[0]))(arrays(case.system.params))
    claim(all(bool(jnp.isfinite(x)) for x in jax.tree.leaves(found)), f"slopes are not finite: {found}")
