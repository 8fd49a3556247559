"""Properties of slopes in hyperparameters, beyond those in `batch_chunk_and_slope_properties`."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxrate.core.rules import Params
from jaxrate.replay.checked_replay import run
from jaxrate.testing.batch_chunk_and_slope_properties import reduce_run_to_scalar
from jaxrate.testing.case_and_assertions import (
    SystemFormPrecision,
    as_float_arrays,
    assert_claim,
    jit_quickly,
    make_key,
    strict_precision,
)
from jaxrate.testing.synthetic_histories import events_in_form, player_count, schedule_for_form, split_seasons


def slopes_are_finite(case: SystemFormPrecision) -> None:
    """In forward mode, which overflows first in float32, through `run`."""
    system, events = case.system, split_seasons(case)[0]
    options = {
        "num_players": player_count(case.form),
        "schedule": schedule_for_form(case.form, events),
        "key": make_key(system),
    }

    def replay_summary(params: Params) -> Any:
        result = run(system, events_in_form(case.form, events), params=params, **options)
        return reduce_run_to_scalar(system, params, result)

    with strict_precision(case.double):
        slopes = jit_quickly(jax.jacfwd(replay_summary))(as_float_arrays(system.params))
    assert_claim(all(bool(jnp.isfinite(x)) for x in jax.tree.leaves(slopes)), f"slopes are not finite: {slopes}")
