"""Fitting hyperparameters: results, intervals, profiles, sweeps and fits that roll through time."""

from jaxrate.fitting.fit_results import Fit, LossProfile, RollingFits
from jaxrate.fitting.likelihood import log_likelihood
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
