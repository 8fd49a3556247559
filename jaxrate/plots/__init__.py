"""The pictures people expect of ratings, predictions and fits, by matplotlib.

Every function draws into `ax` and returns it; without one it makes a figure of its own by `pyplot.subplots`, which
notebooks show and whoever makes many closes. No setting of matplotlib is changed, nothing is shown or saved. Players
are chosen by name, or by id unless names are numbers. Intervals are those of 95 %. The colours differ for the
colour-blind too (Okabe and Ito 2008), and never stand alone. ImportError without matplotlib.

careers.py      trajectory, careers
beliefs.py      belief
players.py      leaderboard, matchups
predictions.py  calibration, loss_by_difference, residuals, comparison
standings.py    distribution, ranks, odds
strengths.py    intervals, rank_sets, win_matrix
fits.py         loss_surface, profile
drawing.py      what they share
"""

from jaxrate.plots.belief_plot import belief
from jaxrate.plots.career_plots import careers, trajectory
from jaxrate.plots.leaderboard_plots import leaderboard, matchups
from jaxrate.plots.loss_plots import loss_surface, profile
from jaxrate.plots.plot_helpers import COLOURS
from jaxrate.plots.prediction_plots import calibration, comparison, loss_by_difference, residuals
from jaxrate.plots.rank_plots import distribution, odds, ranks
from jaxrate.plots.strength_plots import intervals, rank_sets, win_matrix

__all__ = [
    "COLOURS",
    "belief",
    "calibration",
    "careers",
    "comparison",
    "distribution",
    "intervals",
    "leaderboard",
    "loss_by_difference",
    "loss_surface",
    "matchups",
    "odds",
    "profile",
    "rank_sets",
    "ranks",
    "residuals",
    "trajectory",
    "win_matrix",
]
