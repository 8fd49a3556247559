"""Plots of ratings, predictions and fits with matplotlib, and some as interactive charts of Altair.

Every function draws into `ax` and returns it; without `ax` it makes a new figure by `pyplot.subplots`, which notebooks
show. Close figures if you make many. No setting of matplotlib is changed, and nothing is shown or saved. Players are
chosen by name, or by id unless names are numbers. Intervals are 95% intervals. The colours are distinct for the
colour-blind too (Okabe and Ito 2008), and never the only distinction. ImportError without matplotlib.

With `backend="altair"`, careers, trajectory, ranks, leaderboard, matchups, calibration, intervals and win_matrix return
a chart of Altair instead: the pointer shows names and numbers. A chart holds its data, and JupyterLab draws it without
a network after `altair.renderers.enable("mimetype")`. ImportError without altair.

trajectory_plot.py                trajectory
career_plots.py                   careers
belief_plot.py                    belief
leaderboard_and_matchup_plots.py  leaderboard, matchups
calibration_plot.py               calibration
prediction_plots.py               loss_by_difference, residuals, comparison
rank_plots.py                     ranks
distribution_and_odds_plots.py    distribution, odds
scoreline_plot.py                 scorelines
strength_plots.py                 intervals, rank_sets, win_matrix
loss_plots.py                     loss_surface, profile
altair_charts.py                  interactive charts of rows, cells and points
altair_line_charts.py             interactive charts of lines through time
finding_titles.py                 titles that say what a plot shows
scoreboard_style.py               axes, titles, colours and legends of all plots
name_labels.py                    names of players
line_end_labels.py                where the names of lines stand
player_rows.py                    plots with a row for each player
percent_matrix.py                 matrices of percentages
rank_axis.py                      how far axes of ranks reach, and their ticks
rating_line_data.py               lines of ratings through time
time_steps.py                     steps of time, at whose ends lines have points
unnamed_players.py                others in grey, as lines or bands
plotted_data_and_checks.py        events, clocks and checks
"""

from jaxrate.plots.belief_plot import belief
from jaxrate.plots.calibration_plot import calibration
from jaxrate.plots.career_plots import careers
from jaxrate.plots.distribution_and_odds_plots import distribution, odds
from jaxrate.plots.leaderboard_and_matchup_plots import leaderboard, matchups
from jaxrate.plots.loss_plots import loss_surface, profile
from jaxrate.plots.prediction_plots import comparison, loss_by_difference, residuals
from jaxrate.plots.rank_plots import ranks
from jaxrate.plots.scoreboard_style import COLOURS, PAPER, make_axes
from jaxrate.plots.scoreline_plot import scorelines
from jaxrate.plots.strength_plots import intervals, rank_sets, win_matrix
from jaxrate.plots.trajectory_plot import trajectory

__all__ = [
    "COLOURS",
    "PAPER",
    "belief",
    "calibration",
    "careers",
    "comparison",
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
