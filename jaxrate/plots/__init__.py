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

from jaxrate.plots.beliefs import belief
from jaxrate.plots.careers import careers, trajectory
from jaxrate.plots.drawing import COLOURS
from jaxrate.plots.fits import loss_surface, profile
from jaxrate.plots.players import leaderboard, matchups
from jaxrate.plots.predictions import calibration, comparison, loss_by_difference, residuals
from jaxrate.plots.standings import distribution, odds, ranks
from jaxrate.plots.strengths import intervals, rank_sets, win_matrix

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
