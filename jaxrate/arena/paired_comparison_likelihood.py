"""Bradley-Terry, Davidson and Rao-Kupper: the log likelihood of counts, and its first and second derivatives.

With eta the difference of log strengths and the covariates' part, and s the logistic function:

    Bradley-Terry (1952)   P(win) = s(eta); a tie, where it is counted, is half a win and half a loss
    Davidson (1970)        P(win) : P(tie) : P(loss) = e^(eta/2) : e^kappa : e^(-eta/2),  nu = e^kappa
    Rao and Kupper (1967)  P(win) = s(eta - kappa), P(loss) = s(-eta - kappa),  theta = e^kappa, kappa > 0

All three are concave in (eta, kappa) together.
"""

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


def log_likelihood_and_derivatives(model: str, counts: Array, eta: Array, kappa: Array) -> LogLikelihoodDerivatives:
    """The log likelihood [M] of counts [3, M] (wins, ties, losses), and its derivatives."""
    win, tie, loss = counts[0], counts[1], counts[2]
    zero = jnp.zeros_like(eta)
    if model == "bradley_terry":
        win, loss = win + 0.5 * tie, loss + 0.5 * tie
        p, q = jax.nn.sigmoid(eta), jax.nn.sigmoid(-eta)
        value = win * jax.nn.log_sigmoid(eta) + loss * jax.nn.log_sigmoid(-eta)
        return LogLikelihoodDerivatives(value, win * q - loss * p, zero, (win + loss) * p * q, zero, zero)
    if model == "davidson":
        total = win + tie + loss
        log_sum = jnp.logaddexp(jnp.logaddexp(0.5 * eta, -0.5 * eta), kappa)
        p, t, q = jnp.exp(0.5 * eta - log_sum), jnp.exp(kappa - log_sum), jnp.exp(-0.5 * eta - log_sum)
        value = 0.5 * (win - loss) * eta + tie * kappa - total * log_sum
        difference = p - q
        return LogLikelihoodDerivatives(
            value,
            0.5 * (win - loss - total * difference),
            tie - total * t,
            0.25 * total * (p + q - difference**2),
            -0.5 * total * difference * t,
            total * t * (1.0 - t),
        )
    up, down = win + tie, loss + tie
    p, q = jax.nn.sigmoid(eta - kappa), jax.nn.sigmoid(-eta - kappa)
    value = up * jax.nn.log_sigmoid(eta - kappa) + down * jax.nn.log_sigmoid(-eta - kappa)
    win_slope, loss_slope = up * (1.0 - p), down * (1.0 - q)
    u, v = win_slope * p, loss_slope * q
    tie_factor = -jnp.expm1(-2.0 * kappa)  # 1 - theta^-2
    value = value + tie * (2.0 * kappa + jnp.log(tie_factor))
    tie_curvature = 4.0 * tie * (1.0 - tie_factor) / tie_factor**2
    return LogLikelihoodDerivatives(
        value,
        win_slope - loss_slope,
        2.0 * tie / tie_factor - win_slope - loss_slope,
        u + v,
        v - u,
        u + v + tie_curvature,
    )


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
