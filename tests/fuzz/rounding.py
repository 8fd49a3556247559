"""How far results may differ that should be equal: what rounding moves, by the condition of each problem."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.systems.blat_mmr.opponent_sum_algorithms import make_result_likelihood
from jaxrate.systems.blat_mmr.system import average_likelihood_over_opponent
from jaxrate.testing.cases import jit_quickly

CLOSE = {True: 1e-5, False: 1e-2}  # of results that should be equal, in each precision


def rounding(case):
    """Of a number in the precision of the case."""
    return float(np.finfo(float if case.double else np.float32).eps)


def reach(before, after):
    """[batch, n, ...] how large numbers were, or how far any moved: their rounding is of this size."""
    finite = np.isfinite(before) & np.isfinite(after)
    before, after = (np.where(finite, x, 0.0) for x in (before, after))
    far = np.abs(after - before).max(axis=tuple(range(1, before.ndim)), keepdims=True)
    return np.maximum(np.abs(before), far)


def prediction_rounding(case, params, events):
    """[batch, 1] the size of ratings whose `CLOSE` share the rounding of one prediction may move, by k x weight."""
    k = np.asarray(params.k if getattr(params, "k_new", None) is None else np.maximum(params.k, params.k_new))
    most = k * float(np.max(np.asarray(events.context.weight, float)))
    return (rounding(case) / CLOSE[case.double] * most)[:, None]


def prediction_sensitivity(case, predictions, states):
    """How far two roundings of the ratings before a history move its predictions, the most of four times.

    Ratings of 1e6 points are known to 0.1 in float32, and so are all who meet them: to a beta of 1 that is much.

    Args:
      predictions: of the states before the history.
    """
    random, usual = np.random.default_rng(0), predictions(states)
    eps, most = rounding(case), np.zeros_like(usual)
    for _ in range(4 if hasattr(states, "rating") else 0):
        rating = states.rating * (1.0 + 2.0 * eps * random.choice([-1.0, 1.0], states.rating.shape))
        moved = predictions(states._replace(rating=rating.astype(states.rating.dtype)))
        most = np.maximum(most, np.abs(moved - usual))
    return most


def belief_rounding(case, params, states, matches):
    """[batch, n, 1] the size of beliefs whose `CLOSE` share rounding may move, of players who meet once.

    A sum over the opponent's strengths is known to 8 eps of its largest term, and a belief is divided by the evidence:
    of what is next to impossible, as results with a weight of 1e5 are, no digit may be left.
    """
    system = case.systems[0]
    model = system.rules.predict.bound_args[0]

    def evidence(params, state):
        constants = system.rules.prepare.sized(params)(params)

        def of_match(match):
            rows = jax.tree.map(lambda x: x[match.player], state)
            rows = jax.vmap(lambda row: system.rules.advance(constants, row, match.time))(rows)
            likelihood = make_result_likelihood(match.score, match.context.weight)
            return jnp.sum(
                rows.belief * average_likelihood_over_opponent(model, constants, rows, match, likelihood), axis=-1
            )

        return jax.vmap(of_match)(jax.tree.map(jnp.asarray, matches))

    unknown = 8.0 * rounding(case)
    least = np.maximum(np.asarray(jit_quickly(jax.vmap(evidence))(params, states)), unknown)
    sizes = np.zeros((*states.belief.shape[:2], 1))
    sizes[:, np.asarray(matches.player)] = unknown / CLOSE[case.double] / least[..., None]
    return sizes


def performance_rounding(case):
    """Of the widest deviation, the size of ratings whose `CLOSE` share the rounding of a performance may move.

    A contest that is padded otherwise has tables of another size. Sums read from them are known to some hundred eps,
    and so is a performance, of the deviations of those who take part.
    """
    return 200.0 * rounding(case) / CLOSE[case.double]
