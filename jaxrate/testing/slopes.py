"""What slopes in hyperparameters must keep beside what `pure` tests of them."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxrate.replay.run import run
from jaxrate.system import Params
from jaxrate.testing.cases import Case, arrays, claim, key, quick, strictly
from jaxrate.testing.histories import as_replayed, players, schedule, seasons
from jaxrate.testing.pure import total


def slopes_are_finite(case: Case) -> None:
    """Forward, which in float32 overflow first, through `run`."""
    system, events = case.system, seasons(case)[0]
    options = {"num_players": players(case.form), "schedule": schedule(case.form, events), "key": key(system)}

    def measured(params: Params) -> Any:
        done = run(system, as_replayed(case.form, events), params=params, **options)
        return total(system, params, done)

    with strictly(case.double):
        found = quick(jax.jacfwd(measured))(arrays(system.params))
    claim(all(bool(jnp.isfinite(x)) for x in jax.tree.leaves(found)), f"slopes are not finite: {found}")
