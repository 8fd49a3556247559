"""Plots of ratings, predictions and fits with matplotlib, or as interactive charts of Altair.

Every function draws into `ax` and returns it; without `ax` it makes a new figure by `pyplot.subplots`, which notebooks
show. Close figures if you make many. No setting of matplotlib is changed, and nothing is shown or saved. Players are
chosen by name, or by id unless names are numbers. Intervals are 95% intervals. The colours are distinct for the
colour-blind too (Okabe and Ito 2008), and never the only distinction. ImportError without matplotlib.

With `backend="altair"` they return a chart of Altair instead, with the same axes, lines and texts: the pointer shows
names and numbers, and sets its line off from others. Charts of lines, rows and layers are as wide as the page. A chart
holds its data, and JupyterLab draws it without a network after
`altair.renderers.enable("mimetype")`. ImportError without altair.

line_plots.py         careers, trajectory, ranks: lines of some players through time, with points at steps of time
standing_plots.py     leaderboard, matchups, distribution, odds; of strengths intervals, rank_sets, win_matrix
prediction_plots.py   predictions against results: calibration, scorelines, losses
fit_plots.py          loss_surface, profile, belief
matplotlib_charts.py  views drawn by Matplotlib
altair_charts.py      views as interactive charts
line_end_labels.py    where the names of lines stand
plot_style.py         axes, titles, colours, legends and names of all plots, and what they are drawn from
"""

from jaxrate.plots.fit_plots import belief, loss_surface, profile
from jaxrate.plots.line_plots import careers, ranks, trajectory
from jaxrate.plots.plot_style import COLOURS, PAPER, darken, make_axes
from jaxrate.plots.prediction_plots import calibration, comparison, loss_by_difference, residuals, scorelines
from jaxrate.plots.standing_plots import distribution, intervals, leaderboard, matchups, odds, rank_sets, win_matrix

__all__ = [
    "COLOURS",
    "PAPER",
    "belief",
    "calibration",
    "careers",
    "comparison",
    "darken",
    "distribution",
    "intervals",
    "leaderboard",
    "loss_by_difference",
    "loss_surface",
    "make_axes",
    "matchups",
    "odds",
    "profile",
    "rank_sets",
    "ranks",
    "residuals",
    "scorelines",
    "trajectory",
    "win_matrix",
]


def __dir__() -> list[str]:
    return __all__
