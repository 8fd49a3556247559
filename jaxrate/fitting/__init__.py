"""Fitting: results, intervals, profiles, sweeps and fits that roll through time.

hyperparameter_fit.py  `fit`: hyperparameters that predict a history best
fit_results.py         Fit, LossProfile, RollingFits, and how they print
prediction_task.py     a history to predict: scores, weights, splits
losses.py              what a fit minimises: losses of predictions one step ahead, or minus the evidence
evidence_objective.py  the evidence of a smoothed history in place of a loss
free_parameters.py     free hyperparameters as unbounded numbers, and back
fit_problem.py         the mean loss, with slopes and curvature, as a function of the coordinates of a search
search.py              the search for the least loss, from several starts, by damped Fisher steps
standard_errors.py     standard errors, open hyperparameters, and ratios that alone are determined
parameter_sweeps.py    losses over grids, over values of one, whose intervals follow, and as the history goes on
"""

from jaxrate.fitting.fit_results import Fit, LossProfile, RollingFits
from jaxrate.fitting.hyperparameter_fit import log_likelihood
from jaxrate.fitting.losses import Objective, ahead, evidence
from jaxrate.fitting.parameter_sweeps import (
    LikelihoodInterval,
    fit_rolling,
    likelihood_interval,
    profile_loss,
    sweep_parameters,
)

__all__ = [
    "Fit",
    "LikelihoodInterval",
    "LossProfile",
    "Objective",
    "RollingFits",
    "ahead",
    "evidence",
    "fit_rolling",
    "likelihood_interval",
    "log_likelihood",
    "profile_loss",
    "sweep_parameters",
]


def __dir__() -> list[str]:
    return __all__
