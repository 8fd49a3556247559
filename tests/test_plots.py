"""Pictures by their data: lines, intervals, bars and labels against what was computed."""

import sys
from functools import lru_cache

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.stats import chi2

import jaxrate as jr
from jaxrate import plots
from jaxrate.events import slice_events
from tests.conftest import refused

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")
from matplotlib.figure import Figure
from scipy.stats import poisson

from jaxrate.events.dataset import Dataset
from jaxrate.forecasts import Scorelines
from jaxrate.forecasts.series_and_knockout_brackets import matchup_matrix
from jaxrate.plots.line_end_labels import LineLabel, place_line_end_labels
from jaxrate.plots.plot_style import fit_names, format_plot_name
from tests.conftest import mark_full

ODD = ["$x$ and $y$", "_hidden", "two\nlines", "a very long name of more than thirty letters"]
SHOWN = [r"\$x\$ and \$y\$", "\u200b_hidden", "two lines", "a very long name of mor…"]  # in a narrow figure


@lru_cache
def games(clock="dates"):
    """Twenty named players, the first four oddly; all matches on whole days, some on the same."""
    matches = jr.data.simulate.league(20, 600, seed=2, draws=0.2).matches
    names = np.array([*ODD, *(f"P{i}" for i in range(4, 20))], object)
    return Dataset(matches._replace(time=np.floor(matches.time)), names, np.arange(600), clock=clock)


@lru_cache
def past(name):
    return jr.rate(getattr(jr, name)(), games(), calibrate=False)


@lru_cache
def rate_and_smooth_games():
    """Skills as they were known at the time, and in hindsight."""
    return jr.rate(jr.skills(), games()), jr.smooth(jr.skills(), games())


def mean_ratings(system, state):
    return np.asarray(system.summary(system.params, state).mean)


def points(rated, player):
    """[2, m + 1] the ratings and deviations before the first event and after each, from the columns of events."""
    row, side = np.nonzero(rated.events["player"] == player)
    final = rated.system.summary(rated.system.params, rated.state)
    before = rated.events["rating"], rated.events["deviation"]
    return np.stack([np.append(x[row, side], end[player]) for x, end in zip(before, final, strict=True)])


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ends(ax):
    """The names at the ends of lines, in the order of the lines."""
    return [text.get_text() for text in ax.texts if text.get_gid() == "name"]


def interval_ends(container):
    """[n, 2, 2] both ends of each bar."""
    (bars,) = container[2]
    return np.array(bars.get_segments())


# Trajectories


@pytest.mark.parametrize("name", mark_full(["glicko", "blat_mmr", "trueskill"], "glicko", "trueskill"))
def test_trajectory_is_the_history(ax, name):
    rated = past(name)
    assert plots.trajectory(rated, ["P7", "P5"], ax=ax) is ax
    for line, band, player in zip(ax.lines, ax.collections, (7, 5), strict=True):
        mean, deviation = points(rated, player)
        days = games().matches.time[(games().matches.player == player).any(axis=1)]
        np.testing.assert_array_equal(line.get_xdata(orig=True), np.append(days[0], days).astype("datetime64[D]"))
        np.testing.assert_array_equal(line.get_ydata(), mean)
        y = band.get_paths()[0].vertices[:, 1]
        np.testing.assert_allclose([y.min(), y.max()], [min(mean - 1.96 * deviation), max(mean + 1.96 * deviation)])
    assert ends(ax) == ["P7", "P5"] and all(line.get_drawstyle() == "steps-post" for line in ax.lines)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("", "rating (points)")


def test_trajectory_without_deviations_is_a_line(ax):
    plots.trajectory(jr.rate(jr.elo(), games("numbers")), "P9", ax=ax)
    assert len(ax.lines) == 1 and not ax.collections and ax.get_xlabel() == "time"


def test_trajectories_share_axes_and_differ_in_colour(ax):
    plots.trajectory(past("elo"), [f"P{i}" for i in range(4, 9)], ax=ax)
    plots.trajectory(past("elo"), [f"P{i}" for i in range(9, 12)], ax=ax)
    assert ends(ax) == [f"P{i}" for i in range(4, 12)] and ax.get_legend() is None
    assert len({line.get_color() for line in ax.lines}) == 8
    with refused("1 to 8 named players, not 9"):  # a legend of so many left a strip for the lines
        plots.trajectory(past("elo"), "P12", ax=ax)


def test_trajectory_without_time_goes_by_number(ax):
    rated = rated_games(None)
    plots.trajectory(rated, "P9", ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(rated.games[9] + 1))
    assert ax.get_xlabel() == "matches played"


def test_trajectory_of_periods_and_of_contests(ax, share):
    rated = jr.rate(jr.glicko(period=50), games(), period=50.0)
    plots.trajectory(rated, "P6", ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), points(rated, 6)[0])

    ax.clear()
    rounds = jr.data.simulate.contests(12, 30, size=5, seed=1).rounds
    rated = jr.rate(share(), Dataset(rounds, np.arange(12), np.arange(150)))
    plots.trajectory(rated, [3], ax=ax)
    row = np.flatnonzero(rounds.events.player == 3)
    np.testing.assert_array_equal(ax.lines[0].get_ydata()[:-1], rated.events["rating"][row, 0])
    np.testing.assert_array_equal(ax.lines[0].get_xdata()[1:], rounds.events.time[row // 5])
    assert ends(ax) == ["3"]


def test_long_trajectories_go_through_the_ends_of_steps(ax):
    n = 1000
    matches = jr.matches(np.tile([0, 1], (n, 1)), np.arange(n) % 2, np.arange(n) / 10)
    rated = jr.rate(jr.glicko(), Dataset(matches, np.arange(2), np.arange(n)))
    plots.trajectory(rated, 0, ax=ax)
    (line, peak), (band,) = ax.lines, ax.collections
    assert peak.get_gid() == "peak" and peak.get_ydata() == np.nanmax(line.get_ydata())
    at, drawn = line.get_xdata(), line.get_ydata()
    assert 95 <= len(at) <= 101 and line.get_drawstyle() == "default"
    np.testing.assert_allclose(drawn, points(rated, 0)[0][1:][np.searchsorted(matches.time, at)])
    assert at[-1] == matches.time[-1] and len(band.get_paths()) == 1
    smoothed = jr.smooth(jr.skills(), matches)
    plots.trajectory(smoothed, 1, ax=ax)
    found = jr.career(smoothed, 1)["rating"][np.searchsorted(matches.time, ax.lines[-1].get_xdata())]
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), found)


def test_names_are_text(ax):
    plots.trajectory(past("elo"), ODD, ax=ax)
    assert ends(ax) == SHOWN
    ax.figure.canvas.draw()
    drawn = [text._preprocess_math(text.get_text()) for text in ax.texts if text.get_gid() == "name"]
    assert drawn[0] == ("$x$ and $y$", False)


def test_first_matches_can_be_skipped(ax):
    whole = Figure().subplots()
    plots.trajectory(rated_games(), ["P7", "P5"], ax=whole)
    plots.trajectory(rated_games(), players=["P7", "P5"], skip=8, ax=ax)
    for line, all_of_it in zip(ax.lines, whole.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), all_of_it.get_xydata()[8:])
    count = rated_games().games[7]
    with refused(f"skip must be from 0 to {count - 1}, as P7 has {count} events, got {count}"):
        plots.trajectory(rated_games(), players="P7", skip=count, ax=ax)


def test_then_and_now(ax):
    rated, smoothed = rate_and_smooth_games()
    plots.trajectory(rated, players=["P7", "P5"], smooth=smoothed, skip=3, ax=ax)
    assert ends(ax) == ["P7", "P5"]
    then, now = ([line for line in ax.lines if line.get_gid() == gid] for gid in ("then", "line"))
    for name, before, after in zip(["P7", "P5"], then, now, strict=True):
        np.testing.assert_allclose(before.get_ydata()[:-1], jr.career(rated, name)["rating"][3:])
        np.testing.assert_allclose(after.get_ydata(), jr.career(smoothed, name)["rating"][3:])
        assert before.get_color() == after.get_color() and after.get_drawstyle() == "default"
    assert len(ax.collections) == 2


def test_who_is_meant(ax):
    rated = past("elo")
    plots.trajectory(rated._replace(players=np.arange(20)[::-1]), 0, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata()[0], 1500.0)
    assert len(ax.lines[0].get_ydata()) == rated.games[19] + 1  # the name 0, not the id
    with refused("2 players have the name 'P4'"):
        plots.trajectory(rated._replace(players=np.array(["P4"] * 2 + ["x"] * 18)), "P4", ax=ax)


# How players stand


@pytest.mark.parametrize("name", ["glicko", "elo"])
def test_leaderboard_is_the_leaderboard(ax, name):
    rated = past(name)
    assert plots.leaderboard(rated, top=12, ax=ax) is ax
    board = jr.leaderboard(rated, top=12)
    (container,) = ax.containers
    np.testing.assert_array_equal(container[0].get_xdata(), board.rating)
    told = fit_names([format_plot_name(name) for name in board.player], ax)
    rows = [f"{i + 1}  {name}" for i, name in enumerate(told)]
    assert [label.get_text().strip() for label in ax.get_yticklabels()] == rows
    wide = [""] * 12 if board.deviation is None else [f" ± {1.96 * x:,.0f}" for x in board.deviation]
    assert [text.get_text() for text in ax.texts] == [f"{x:,.0f}{y}" for x, y in zip(board.rating, wide, strict=True)]
    low, high = sorted(ax.get_ylim())
    assert ax.yaxis_inverted() and low < 0 and high > 11
    if name == "elo":
        assert not container[2]
    else:
        ends = board.rating[:, None] + 1.96 * board.deviation[:, None] * [-1, 1]
        np.testing.assert_allclose(interval_ends(container)[:, :, 0], ends, rtol=1e-6)


def test_matchups_are_the_matchups(ax):
    rated = past("glicko")
    chosen = ["P4", "P15", "P8"]  # in the order of ratings
    assert plots.matchups(rated, ["P8", "P4", "P15"], ax=ax) is ax
    win = 100 * np.asarray(matchup_matrix(rated, players=[4, 15, 8]))
    (image,) = ax.images
    away = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(np.asarray(image.get_array())[away], win[away], rtol=1e-6)
    assert [text.get_text() for text in ax.texts] == [f"{x:.0f}" for x in win[away]]
    assert [label.get_text() for label in ax.get_yticklabels()] == chosen


# Careers


@lru_cache
def rated_games(clock="dates"):
    return jr.rate(jr.glicko(), games(clock))


# Figures


def test_without_axes_pyplot_gets_one_figure():
    open_figures = pyplot.get_fignums()
    ax = plots.leaderboard(past("elo"))
    (number,) = set(pyplot.get_fignums()) - set(open_figures)
    assert pyplot.figure(number) is ax.figure
    with refused("prediction is nan"):
        plots.calibration([np.nan], [1])
    assert len(pyplot.get_fignums()) == len(open_figures) + 1
    pyplot.close(ax.figure)


# Pictures of beliefs.


@pytest.mark.parametrize("chunk", [64, 1000])
def test_belief_is_the_state_on_the_way(ax, monkeypatch, chunk):
    """After each match of a day the player's belief is that of a run which ends there."""
    monkeypatch.setattr(sys.modules["jaxrate.plots.fit_plots"], "MATCHES_PER_CHUNK", chunk)
    system = jr.blat_mmr(size=101, kernel_width=0.3)
    assert plots.belief(system, games(), "P7", ax=ax) is ax
    (mesh,) = [x for x in ax.collections if x.get_array() is not None and x.get_array().ndim == 2]
    assert mesh.get_rasterized()
    matches = games().matches
    day = np.unique(matches.time[(matches.player == 7).any(axis=1)])
    edges = mesh.get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, [*day, matches.time[-1]])
    grid = jr.history.blat_mmr_beliefs.belief_grid(system)
    until = np.searchsorted(matches.time, day[3], side="right")
    state = jr.run(system, slice_events(matches, 0, until), num_players=20).state
    belief = np.asarray(state.belief)[7]
    rating = mesh.get_coordinates()[:-1, 0, 1] + 0.5 * (grid[1] - grid[0])
    drawn = np.interp(rating, grid, 100 * belief / (grid[1] - grid[0]))
    np.testing.assert_allclose(np.asarray(mesh.get_array())[:, 3], drawn, rtol=0.02, atol=1e-3)
    mean = next(line for line in ax.lines if line.get_label() == "mean").get_ydata()
    np.testing.assert_allclose(mean[-2:], mean_ratings(system, jr.run(system, matches).state)[7], rtol=1e-4)


# Lines through time: where their labels stand, and what the lines about them say of gaps, last ratings and dates.


def test_labels_of_lines_hide_no_line_and_no_other_label():
    """Who goes on to the end has a label beside the axes; who stops before has one at the end of their line."""
    x = np.linspace(0.0, 100.0, 101)
    flat, short = (x, np.full(101, 50.0)), (x[:41], np.linspace(0.0, 40.0, 41))
    labels = [LineLabel(np.stack(line, axis=1), ["name"], 30.0, 10.0) for line in (flat, flat, short)]
    one, two, end = place_line_end_labels(labels, (100.0, 100.0))
    assert one.x is None and two.x is None and abs(one.y - two.y) >= 10.0 and one.leader == (0.0, 0.5)
    assert end.x is not None and end.x >= 40.0 and end.y + 5.0 < 50.0  # the label stands below the other line
    walls = [np.stack([x, np.full(101, height)], axis=1) for height in np.arange(0.0, 100.0, 8.0)]
    crowd = [labels[2], *(LineLabel(wall, ["name"], 30.0, 10.0) for wall in walls)]
    crowded, *_ = place_line_end_labels(crowd, (100.0, 100.0))
    assert crowded.x is not None and abs(crowded.y - 40.0) <= 12.0  # where there is no room it is near its line


# The picture of scorelines by its data.


def forecast(first=1.6, second=0.9, most_goals=15):
    chances = [poisson.pmf(np.arange(most_goals + 1), rate) for rate in (first, second)]
    return Scorelines(np.array(["Ada", "Cy"]), np.array(["Bo", "Di"]), np.stack([np.outer(*chances)] * 2))


def test_scorelines_are_drawn_as_they_are_predicted(ax):
    table = forecast()
    assert plots.scorelines(table, 1, most_goals=3, ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), 100.0 * table.probability[1, :4, :4])
    figure = plots.scorelines(table).figure
    subtitle = " ".join(figure.artists[0].get_text().split())
    assert subtitle == "Ada 54%, draw 25%, Bo 21%; more goals 0.6%. Framed: draws"
    assert figure.get_supxlabel() == "Forecast of scorelines up to 15 goals of a side"
    pyplot.close(figure)
    dated = plots.scorelines(table._replace(time=np.array(["2021-02-07", "2021-02-08"], "datetime64[us]")), 1).figure
    assert dated.get_supxlabel().endswith("goals of a side, for Feb 8, 2021")
    pyplot.close(dated)
    assert ax.get_xlabel() == "goals of Di" and ax.get_ylabel() == "goals of Cy"
    assert sum(patch.get_gid() == "draw" for patch in ax.patches) == 4


# Pictures of fits.


# Fits


@lru_cache
def fitted():
    matches = jr.data.simulate.league(30, 1500, seed=3, side_advantage=60).matches
    return jr.fit(jr.elo(side_advantage=30), matches), matches


def test_loss_surface(ax):
    fit, matches = fitted()
    assert plots.loss_surface(fit, matches, points=7, ax=ax) is ax
    assert ax.get_xscale() == "log" and ax.get_yscale() == "linear"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k (points)", "side advantage (points)")
    ellipse, optimum = ax.lines
    np.testing.assert_allclose(optimum.get_xydata()[0], [fit.params.k, fit.params.side_advantage])
    centre = np.array([np.log(fit.params.k), fit.params.side_advantage])
    scale = np.array([fit.params.k, 1.0])
    covariance = fit.covariance / scale / scale[:, None]
    off = np.stack([np.log(ellipse.get_xdata()), ellipse.get_ydata()], axis=-1) - centre
    distance = np.einsum("ni,ij,nj->n", off, np.linalg.inv(covariance), off)
    np.testing.assert_allclose(distance, chi2.ppf(0.95, 2), rtol=0.01)
    (contour,) = ax.collections
    assert list(contour.levels[:3]) == [1, 3, 6]
    three = contour.get_paths()[1].vertices[::5]
    k, side = np.clip(three.T, 1e-3, None)
    loss = jr.fitting.sweep_parameters(fit.system, matches, fit.params._replace(k=k, side_advantage=side))
    least = jr.fitting.sweep_parameters(fit.system, matches, fit.params)
    np.testing.assert_allclose(1500 * (loss - least), 3.0, atol=0.35)  # straight between the points of the grid


def test_loss_surface_is_of_what_was_fitted(ax):
    """The loss, the weights, the warm-up and the events that the fit remembers."""
    matches = fitted()[1]
    options = {"loss": "brier", "warm_up": 20, "weight": 1.0 + np.arange(1500) % 2}
    fit = jr.fit(jr.elo(side_advantage=30), matches, objective=jr.fitting.ahead(data_share=0.8, **options))
    plots.loss_surface(fit, matches, points=7, ax=ax)
    (contour,) = ax.collections
    k, side = contour.get_paths()[1].vertices[::5].T
    weight = jr.metrics.experience_mask(matches, 20) * options["weight"] * (np.arange(1500) < 1200)
    swept = jr.fitting.sweep_parameters(
        fit.system,
        matches,
        fit.params._replace(k=k, side_advantage=side),
        objective=jr.fitting.ahead(loss="brier", weight=weight),
    )
    np.testing.assert_allclose(weight.sum() * (swept - fit.loss), contour.levels[1], rtol=0.15)
    assert ax.get_legend().get_title().get_text() == "summed brier above the fit's"


def test_profile(ax):
    """Of losses that are a parabola in the logarithm, the interval is exact."""
    value = np.geomspace(8.0, 100.0, 9)
    loss = 0.6 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    profile = jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000)
    assert plots.profile(profile, ax=ax) is ax
    low, high = 25.0 * np.exp(-1.96 * 0.2), 25.0 * np.exp(1.96 * 0.2)
    assert texts(ax) == [f"95%: {low:.4g} to {high:.4g}"]
    x, width = ax.patches[0].get_x(), ax.patches[0].get_width()
    np.testing.assert_allclose([x, x + width], [low, high])
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 1000 * (loss - 0.6), atol=1e-9)
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "c (points per sqrt(period))"
    ax.figure.canvas.draw()
    shown = [x.get_text() for x in ax.get_xticklabels() if 8.0 <= x.get_position()[0] <= 100.0]
    assert shown == ["10", "20", "50", "100"]


def test_a_profile_of_what_is_no_likelihood_gives_no_interval(ax):
    value = np.geomspace(8.0, 100.0, 9)
    loss = 0.2 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    profile = jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000, "brier", False)
    plots.profile(profile, ax=ax)
    assert ax.get_ylabel() == "summed excess brier" and not ax.patches and ax.get_legend() is None
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 1000 * (loss - 0.2), atol=1e-9)
