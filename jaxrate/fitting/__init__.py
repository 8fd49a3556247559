"""Fitting hyperparameters: results, intervals, profiles, sweeps and fits that roll through time.

hyperparameter_fit.py        fit: the public function, its options and its result
fit_results.py               Fit, LossProfile, RollingFits, and how they print
prediction_task.py           a history to predict: scores, weights, splits
losses.py                    the losses of predictions
evidence_objective.py        the evidence of a smoothed history in place of a loss
free_parameters.py           free hyperparameters as unbounded numbers, and back
history_loss_derivatives.py  losses of many settings with slopes and curvature
fit_problem.py               coordinates of the search, and covariances of the result
multistart_search.py         the search from one start or many
trust_region.py              how far a step may go
parameter_sweeps.py          losses of many settings, and profiles of the loss
profile_intervals.py         likelihood intervals of one hyperparameter
history_log_likelihood.py    the log likelihood, as samplers take it
rolling_origin.py            fits that roll through time
time_limited_fit.py          a fit in bounded time, for comparisons
search_state.py              the state of the search of `fit`
"""

from jaxrate.fitting.fit_results import Fit, LossProfile, RollingFits
from jaxrate.fitting.history_log_likelihood import log_likelihood
from jaxrate.fitting.parameter_sweeps import profile_loss, sweep_parameters
from jaxrate.fitting.profile_intervals import LikelihoodInterval, likelihood_interval
from jaxrate.fitting.rolling_origin import fit_rolling

__all__ = [
    "Fit",
    "LikelihoodInterval",
    "LossProfile",
    "RollingFits",
    "fit_rolling",
    "likelihood_interval",
    "log_likelihood",
    "profile_loss",
    "sweep_parameters",
]


def __dir__() -> list[str]:
    return __all__
