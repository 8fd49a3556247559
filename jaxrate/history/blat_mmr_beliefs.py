"""Quantiles, modes and probabilities of the beliefs of BlatMMR, beyond the mean and deviation of `ratings`.

Every function takes a system made by `blat_mmr` and its state, or the rows of some players.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import Numbers, check_that, enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches
from jaxrate.replay.checked_replay import predict
from jaxrate.systems.blat_mmr import opponent_sum_algorithms
from jaxrate.systems.blat_mmr.settings import Constants, Model, State
from jaxrate.systems.blat_mmr.system import (
    CENTRE_RATING,
    average_over_both_beliefs,
    average_win_loss_over_opponent,
    support_point_strengths,
)


@enforce_argument_annotations
def belief_grid(system: RatingSystem) -> Any:
    """The ratings [n] in points, float64, whose probabilities every player's belief holds.

    Raises:
      ValueError: for a system with a support of its own, which need not be alike for all.
    """
    model = _blat_model(system)
    if model.grid is None:
        raise ValueError("these beliefs are on a support of their own, and not on a grid")
    return CENTRE_RATING + model.luck.unit * model.grid.points


@enforce_argument_annotations
def belief_quantile(system: RatingSystem, state: State, probability: Numbers) -> Array:
    """Ratings [num_players, ...] in points below which a player is with these probabilities [...].

    Linear between the points of the support, each of which has half its mass on either side.

    Raises:
      ValueError: for a probability outside [0, 1].
    """
    probabilities = np.asarray(probability, float)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError(f"a probability must lie in [0, 1], got {probability!r}")
    return _quantiles_of_beliefs(_blat_model(system), state, jnp.asarray(probabilities, float))


@enforce_argument_annotations
def belief_mode(system: RatingSystem, state: State) -> Array:
    """The most likely rating [num_players] in points: a point of the support."""
    return _modes_of_beliefs(_blat_model(system), state)


@enforce_argument_annotations
def probability_stronger(system: RatingSystem, state: State, a: Any, b: Any) -> Array:
    """[m] the probability that players a [m] are stronger than players b [m]; equal strengths count half.

    Luck has no part in it: it is not the chance to win.

    Raises:
      ValueError: for ids that are not [m], or not in the state.
    """
    model, ids = _blat_model(system), [np.asarray(x) for x in (a, b)]
    for x in ids:
        if x.ndim != 1 or x.dtype.kind not in "iu" or not ((x >= 0) & (x < len(state.belief))).all():
            raise ValueError(f"players are ids [m] from 0 to {len(state.belief) - 1}, got {x}")
    return _probabilities_stronger(model, state, *ids)


@enforce_argument_annotations
def outcome_probabilities(
    system: RatingSystem, state: State, matches: Matches, *, draws: float = 0.0, params: Params = None
) -> Array:
    """Probabilities [n, 3] that player 0 wins, draws, loses the matches.

    A luck function has no draws: it gives an expected score. As Davidson (1970), the chances of strengths x and y are
    in the proportion L(x, y) : nu sqrt(L(x, y) L(y, x)) : L(y, x), which is what equation (1) supposes of a draw.

    Args:
      system: a system from `blat_mmr`.
      state: the state that `jr.run` left.
      matches: n matches to come.
      draws: the share of draws between equals, which gives nu = 2 draws / (1 - draws).
      params: hyperparameters, by default `system.params`.

    Raises:
      ValueError: if `draws` is not in [0, 1), or as `predict`; for a luck function with zero_sum=False, whose scores
        do not say how likely either player wins.
    """
    check_that(0 <= draws < 1, f"draws must be a share from 0 to less than 1, got {draws!r}")
    if not _blat_model(system).luck.zero_sum:
        raise ValueError(
            f"luck function {_blat_model(system).luck.name} has zero_sum=False: expected scores that are not 1 "
            "together do not say how likely a win, a draw or a loss is"
        )
    return predict(
        _replace_predict_rule(system, bind(_outcome_probabilities, 2.0 * draws / (1.0 - draws))),
        state,
        matches,
        params=params,
    )


@enforce_argument_annotations
def make_evidence_predicting_system(system: RatingSystem) -> RatingSystem:
    """A system whose "predictions" are the evidence of each result: sum p(x) q(y) L^theta L'^(1 - theta).

    A match of weight w has it to the power of w within the sum. With draws "outside" it is that of player 0's update.
    Evidence below the rounding of algorithm="fft" (1e-6, in float64 2e-15) is given as that.
    """
    return _replace_predict_rule(system, _marginal_likelihood_of_result)


def _outcome_probabilities(nu: float, model: Model, constants: Constants, rows: State, event: Matches) -> Array:
    def power(outcome: int, log_win: Array, log_loss: Array) -> Array:
        weight = (log_win, 0.5 * (log_win + log_loss), log_loss)[outcome]
        total = jnp.exp(log_win) + jnp.exp(log_loss) + nu * jnp.exp(0.5 * (log_win + log_loss))
        return jnp.exp(weight) * (nu if outcome == 1 else 1.0) / total

    chances = jnp.stack([average_over_both_beliefs(model, constants, rows, event, partial(power, i)) for i in range(3)])
    return jnp.clip(chances, 0.0, 1.0)


def _marginal_likelihood_of_result(model: Model, constants: Constants, rows: State, event: Matches) -> Array:
    score, weight = event.score, 1.0 if event.context.weight is None else event.context.weight

    def power(log_win: Array, log_loss: Array) -> Array:
        return jnp.exp(weight * (score * log_win + (1.0 - score) * log_loss))

    if model.draws == "inside":
        return average_over_both_beliefs(model, constants, rows, event, power)
    wins, losses = average_win_loss_over_opponent(model, constants, rows, event)
    return jnp.sum(rows.belief[0] * power(*opponent_sum_algorithms.log_chances((wins[0], losses[0]))))


@partial(jax.jit, static_argnums=0)
def _quantiles_of_beliefs(model: Model, state: State, probabilities: Array) -> Array:
    value, belief = _sort_by_strength(support_point_strengths(model, state), state.belief)
    cumulative = jnp.cumsum(belief, axis=-1) - 0.5 * belief
    quantiles = jax.vmap(lambda at, x: jnp.interp(probabilities, at, x))(cumulative, value)
    return CENTRE_RATING + model.luck.unit * quantiles


@partial(jax.jit, static_argnums=0)
def _modes_of_beliefs(model: Model, state: State) -> Array:
    best_point = jnp.argmax(state.belief, axis=-1)[:, None]
    strength = jnp.take_along_axis(support_point_strengths(model, state), best_point, axis=-1)
    return CENTRE_RATING + model.luck.unit * strength[:, 0]


@partial(jax.jit, static_argnums=0)
def _probabilities_stronger(model: Model, state: State, a: Array, b: Array) -> Array:
    values = support_point_strengths(model, state)
    (x, p), (y, q) = (_sort_by_strength(values[i], state.belief[i]) for i in (a, b))

    def probability_stronger_pair(x: Array, p: Array, y: Array, q: Array) -> Array:
        mass = jnp.concatenate([jnp.zeros(1, q.dtype), jnp.cumsum(q)])
        below = mass[jnp.searchsorted(y, x, side="left")] + mass[jnp.searchsorted(y, x, side="right")]
        return 0.5 * jnp.sum(p * below)

    return jax.vmap(probability_stronger_pair)(x, p, y, q)


def _sort_by_strength(value: Array, belief: Array) -> tuple[Array, Array]:
    """Values and probabilities in order of strength: distributions over distributions need not be."""
    order = jnp.argsort(value, axis=-1)
    return jnp.take_along_axis(value, order, axis=-1), jnp.take_along_axis(belief, order, axis=-1)


def _blat_model(system: RatingSystem) -> Model:
    model = getattr(system.summary, "bound_args", (None,))[0]
    if not isinstance(model, Model):
        raise ValueError(f"{system.name} has no beliefs on a grid; make the system by blat_mmr()")
    return model


def _replace_predict_rule(system: RatingSystem, rule: Any) -> RatingSystem:
    """The system with `rule(model, ...)` as its prediction."""
    rules = system.rules._replace(predict=bind(rule, _blat_model(system)))
    return system._replace(rules=rules)
