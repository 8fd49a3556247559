"""Bradley-Terry, Davidson and Rao-Kupper: the log likelihood of counts, and its first and second derivatives.

With eta the difference of log strengths and the covariates' part, and s the logistic function:

    Bradley-Terry (1952)   P(win) = s(eta); a tie, where it is counted, is half a win and half a loss
    Davidson (1970)        P(win) : P(tie) : P(loss) = e^(eta/2) : e^kappa : e^(-eta/2),  nu = e^kappa
    Rao and Kupper (1967)  P(win) = s(eta - kappa), P(loss) = s(-eta - kappa),  theta = e^kappa, kappa > 0

All three are concave in (eta, kappa) together.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array

ETA_LIMIT = 1e6  # where all probabilities are 0 or 1


class LogLikelihoodDerivatives(NamedTuple):
    """The log likelihood of each cell and its derivatives: leaves [M]."""

    value: Array  # log likelihood
    eta: Array  # its derivatives
    kappa: Array
    eta_eta: Array  # minus its second derivatives
    eta_kappa: Array
    kappa_kappa: Array


def log_likelihood(model: str, counts: Array, eta: Array, kappa: Array) -> Array:
    """The log likelihood of counts [3, ...]: wins, ties and losses."""
    win, tie, loss = counts
    if model == "bradley_terry":
        return (win + 0.5 * tie) * jax.nn.log_sigmoid(eta) + (loss + 0.5 * tie) * jax.nn.log_sigmoid(-eta)
    if model == "davidson":
        log_sum = jnp.logaddexp(jnp.logaddexp(0.5 * eta, -0.5 * eta), kappa)
        return 0.5 * (win - loss) * eta + tie * kappa - (win + tie + loss) * log_sum
    up, down = jax.nn.log_sigmoid(eta - kappa), jax.nn.log_sigmoid(-eta - kappa)
    return (win + tie) * up + (loss + tie) * down + tie * (2.0 * kappa + jnp.log(-jnp.expm1(-2.0 * kappa)))


@partial(jax.jit, static_argnums=0)
def log_likelihood_and_derivatives(model: str, counts: Array, eta: Array, kappa: Array) -> LogLikelihoodDerivatives:
    """The log likelihood [M] of counts [3, M] (wins, ties, losses), and its derivatives."""

    def of_cell(counts: Array, eta: Array) -> LogLikelihoodDerivatives:
        function = partial(log_likelihood, model, counts)
        value, slopes = jax.value_and_grad(function, (0, 1))(eta, kappa)
        (eta_eta, eta_kappa), (_, kappa_kappa) = jax.hessian(function, (0, 1))(eta, kappa)
        return LogLikelihoodDerivatives(value, slopes[0], slopes[1], -eta_eta, -eta_kappa, -kappa_kappa)

    return jax.vmap(of_cell, (1, 0))(counts, eta)


def outcome_probabilities(model: str, eta: Any, kappa: float) -> tuple[Any, Any, Any]:
    """The probabilities of a win, a tie and a loss, on the host."""
    eta = np.asarray(eta, np.float64)
    if model == "bradley_terry":
        return _sigmoid(eta), np.zeros_like(eta), _sigmoid(-eta)
    if model == "davidson":
        eta = np.clip(eta, -ETA_LIMIT, ETA_LIMIT)  # it is infinite for players who only won or only lost
        log_sum = np.logaddexp(np.logaddexp(0.5 * eta, -0.5 * eta), kappa)
        return tuple(np.exp(x - log_sum) for x in (0.5 * eta, kappa, -0.5 * eta))
    win, loss = _sigmoid(eta - kappa), _sigmoid(-eta - kappa)
    return win, -np.expm1(-2.0 * kappa) * np.exp(kappa + kappa) * win * loss, loss


def vote_information(model: str, eta: float, kappa: float) -> float:
    """The Fisher information of one vote about eta: the mean squared derivative of its log likelihood."""
    win, tie, loss = (float(x) for x in outcome_probabilities(model, eta, kappa))
    if model == "rao_kupper":
        return win * (1.0 - win) ** 2 + loss * (1.0 - loss) ** 2 + tie * (loss - win) ** 2
    return 0.25 * (win + loss - (win - loss) ** 2)


def _sigmoid(x: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -x))


def initial_kappa(model: str, num_ties: float, num_votes: float) -> float:
    """The likeliest kappa for equal strengths, from the share of ties."""
    share = num_ties / num_votes
    return float(np.log(2.0 * share / (1.0 - share)) if model == "davidson" else np.log((1.0 + share) / (1.0 - share)))
