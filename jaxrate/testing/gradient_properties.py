"""What slopes in hyperparameters must keep beside what `pure` tests of them."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxrate.replay.checked_replay import run
from jaxrate.system import Params
from jaxrate.testing.case_assertions import (
    Case,
    as_float_arrays,
    assert_claim,
    jit_fast_compiled,
    make_key,
    strict_precision,
)
from jaxrate.testing.pure_replay_properties import summarise_run
from jaxrate.testing.synthetic_histories import form_schedule, player_count, split_seasons, to_form_events


def slopes_are_finite(case: Case) -> None:
    """Forward, which in float32 overflow first, through `run`."""
    system, events = case.system, split_seasons(case)[0]
    options = {
        "num_players": player_count(case.form),
        "schedule": form_schedule(case.form, events),
        "key": make_key(system),
    }

    def measured(params: Params) -> Any:
        done = run(system, to_form_events(case.form, events), params=params, **options)
        return summarise_run(system, params, done)

    with strict_precision(case.double):
        found = jit_fast_compiled(jax.jacfwd(measured))(as_float_arrays(system.params))
    assert_claim(all(bool(jnp.isfinite(x)) for x in jax.tree.leaves(found)), f"slopes are not finite: {found}")
