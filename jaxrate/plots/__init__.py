"""Plots of ratings, predictions and fits with matplotlib.

Every function draws into `ax` and returns it; without `ax` it makes a new figure by `pyplot.subplots`, which notebooks
show. Close figures if you make many. No setting of matplotlib is changed, and nothing is shown or saved. Players are
chosen by name, or by id unless names are numbers. Intervals are 95 % intervals. The colours are distinct for the
colour-blind too (Okabe and Ito 2008), and never the only distinction. ImportError without matplotlib.

career_plots.py       trajectory, careers
belief_plot.py        belief
leaderboard_plots.py  leaderboard, matchups
prediction_plots.py   calibration, loss_by_difference, residuals, comparison
rank_plots.py         distribution, ranks, odds
strength_plots.py     intervals, rank_sets, win_matrix
loss_plots.py         loss_surface, profile
plot_helpers.py       axes, colours, labels and checks for all of them
rating_lines.py       lines of ratings through time
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


def __dir__() -> list[str]:
    return __all__
