"""Pictures by their data: lines, intervals, bars and labels against what was computed."""

import sys
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
import scipy
from matplotlib import pyplot
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from scipy.stats import chi2, poisson

import jaxrate as jr
from jaxrate import plots
from jaxrate.events import slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts import Scorelines
from jaxrate.forecasts.knockout_forecasts import matchup_matrix
from jaxrate.metrics.prediction_metrics import observed_share_of_sides_beaten
from jaxrate.plots.line_end_labels import LineLabel, place_line_end_labels
from jaxrate.plots.plot_style import cell_text_colour, format_plot_name, truncate_names
from jaxrate.plots.standing_plots import CONTENDERS
from jaxrate.views.charts import DIVERGING_COLOURS, SEQUENTIAL_COLOURS, THIN, WIDE, mix_colours
from jaxrate.views.findings import find_first_place
from tests.conftest import league_table, mark_full, refused


@pytest.fixture(autouse=True)
def no_figures():
    yield
    pyplot.close("all")


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


def points(rated, player):
    """[2, m + 1] the ratings and deviations before the first event and after each, from the columns of events."""
    row, side = np.nonzero(rated.events["player"] == player)
    final = rated.system.summary(rated.system.params, rated.state)
    before = rated.events["rating"], rated.events["deviation"]
    return np.stack([np.append(x[row, side], end[player]) for x, end in zip(before, final, strict=True)])


def subtitle(figure):
    return " ".join(figure.artists[0].get_text().split())


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ends(ax):
    """The names at the ends of lines, in the order of the lines."""
    return [text.get_text() for text in ax.texts if text.get_gid() == "name"]


def rows(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def drawn(ax, gid, number=0):
    """The lines or bars of a kind."""
    return [artist for artist in (*ax.lines, *ax.collections) if artist.get_gid() == gid][number]


def interval_ends(ax, number=0):
    """[n, 2, 2] both ends of each bar."""
    return np.array(drawn(ax, "interval", number).get_segments())


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


def test_trajectories_share_axes_and_differ_in_colour(ax):
    ranges = []
    for first, end in ((4, 9), (9, 12)):
        plots.trajectory(past("elo"), [f"P{i}" for i in range(first, end)], ax=ax)
        ranges.append(ax.get_ylim())
    assert ends(ax) == [f"P{i}" for i in range(4, 12)] and len({line.get_color() for line in ax.lines}) == 8
    assert ranges[1][0] <= ranges[0][0] < ranges[0][1] <= ranges[1][1]
    with refused("1 to 8 named players, not 9"):
        plots.trajectory(past("elo"), "P12", ax=ax)


def test_trajectory_without_time_goes_by_number(ax):
    rated = rated_games(None)
    plots.trajectory(rated, "P9", ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(rated.games[9] + 1))
    assert ax.get_xlabel() == "matches played"


def test_trajectory_of_contests(ax, share):
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


@pytest.mark.parametrize("name", ["glicko", "elo"])
def test_leaderboard_is_the_leaderboard(ax, name):
    rated = past(name)
    assert plots.leaderboard(rated, top=12, ax=ax) is ax
    board = jr.leaderboard(rated, top=12)
    np.testing.assert_array_equal(drawn(ax, "value").get_xdata(), board.rating)
    told = truncate_names([format_plot_name(name) for name in board.player], ax)
    rows = [f"{i + 1}  {name}" for i, name in enumerate(told)]
    assert [label.get_text().strip() for label in ax.get_yticklabels()] == rows
    half = 0.0 * board.rating if board.deviation is None else 1.96 * board.deviation
    values = [f"{x:,.0f}" + f" ± {y:,.0f}" * bool(y) for x, y in zip(board.rating, half, strict=True)]
    assert [text.get_text() for text in ax.texts] == values
    low, high = sorted(ax.get_ylim())
    assert ax.yaxis_inverted() and low < 0 and high > 11
    ends = board.rating[:, None] + half[:, None] * [-1, 1]
    np.testing.assert_allclose(interval_ends(ax)[:, :, 0], ends, rtol=1e-6)


def test_matchups_are_the_matchups(ax):
    rated = past("glicko")
    chosen = ["P4", "P15", "P8"]  # in the order of ratings
    assert plots.matchups(rated, ["P8", "P4", "P15"], ax=ax) is ax
    win = 100 * np.asarray(matchup_matrix(rated, players=[4, 15, 8]))
    (image,) = ax.images
    away = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(np.asarray(image.get_array())[away], win[away], rtol=1e-6)
    assert [text.get_text() for text in ax.texts] == [f"{x:.0f}" for x in win[away]]
    assert rows(ax) == chosen


@lru_cache
def rated_games(clock="dates"):
    return jr.rate(jr.glicko(), games(clock))


def test_without_axes_pyplot_gets_one_figure():
    open_figures = pyplot.get_fignums()
    ax = plots.leaderboard(past("elo"))
    (number,) = set(pyplot.get_fignums()) - set(open_figures)
    assert pyplot.figure(number) is ax.figure
    with refused("prediction is nan"):
        plots.calibration([np.nan], [1])
    assert len(pyplot.get_fignums()) == len(open_figures) + 1


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
    shown, column = np.asarray(mesh.get_array()), np.interp(rating, grid, belief)
    np.testing.assert_allclose(shown[:, 3] / shown[:, 3].max(), column / column.max(), rtol=0.02, atol=1e-3)
    mean = next(line for line in ax.lines if line.get_label() == "mean").get_ydata()
    end = system.summary(system.params, jr.run(system, matches).state).mean[7]
    np.testing.assert_allclose(mean[-2:], end, rtol=1e-4)


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


def forecast(first=1.6, second=0.9, most_goals=15):
    chances = [poisson.pmf(np.arange(most_goals + 1), rate) for rate in (first, second)]
    return Scorelines(np.array(["Ada", "Cy"]), np.array(["Bo", "Di"]), np.stack([np.outer(*chances)] * 2))


def test_scorelines_are_drawn_as_they_are_predicted(ax):
    table = forecast()
    assert plots.scorelines(table, 1, most_goals=3, ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), 100.0 * table.probability[1, :4, :4])
    figure = plots.scorelines(table).figure
    assert subtitle(figure) == "Ada 54%, draw 25%, Bo 21%; more goals 0.6%. Framed: draws"
    assert figure.get_supxlabel() == "Forecast of scorelines up to 15 goals of a side"
    pyplot.close(figure)
    dated = plots.scorelines(table._replace(time=np.array(["2021-02-07", "2021-02-08"], "datetime64[us]")), 1).figure
    assert dated.get_supxlabel().endswith("goals of a side, for Feb 8, 2021")
    pyplot.close(dated)
    assert ax.get_xlabel() == "goals of Di" and ax.get_ylabel() == "goals of Cy"
    assert sum(patch.get_gid() == "frame" for patch in ax.patches) == 4


@lru_cache
def fitted():
    matches = jr.data.simulate.league(30, 1500, seed=3, side_advantage=60).matches
    return jr.fit(jr.elo(side_advantage=30), matches), matches


def test_loss_surface(ax):
    fit, matches = fitted()
    assert plots.loss_surface(fit, matches, points=7, ax=ax) is ax
    assert ax.get_xscale() == "log" and ax.get_yscale() == "linear"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k (points)", "side advantage (points)")
    *contours, ellipse, optimum = ax.lines
    np.testing.assert_allclose(optimum.get_xydata()[0], [fit.params.k, fit.params.side_advantage])
    centre = np.array([np.log(fit.params.k), fit.params.side_advantage])
    scale = np.array([fit.params.k, 1.0])
    covariance = fit.covariance / scale / scale[:, None]
    off = np.stack([np.log(ellipse.get_xdata()), ellipse.get_ydata()], axis=-1) - centre
    distance = np.einsum("ni,ij,nj->n", off, np.linalg.inv(covariance), off)
    np.testing.assert_allclose(distance, chi2.ppf(0.95, 2), rtol=0.01)
    assert list(dict.fromkeys(text.get_text() for text in ax.texts))[:3] == ["1", "3", "6"]
    three = contours[[text.get_text() for text in ax.texts].index("3")].get_xydata()[::5]
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
    k, side = ax.lines[1].get_xydata()[::5].T
    weight = jr.metrics.experience_mask(matches, 20) * options["weight"] * (np.arange(1500) < 1200)
    params, objective = fit.params._replace(k=k, side_advantage=side), jr.fitting.ahead(loss="brier", weight=weight)
    swept = jr.fitting.sweep_parameters(fit.system, matches, params, objective=objective)
    np.testing.assert_allclose(weight.sum() * (swept - fit.loss), float(ax.texts[1].get_text()), rtol=0.15)
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
    assert shown == ["10", "20", "50"]  # up to where the loss leaves the picture


def test_a_profile_of_what_is_no_likelihood_gives_no_interval_and_one_of_equal_losses_has_an_axis(ax):
    equal = np.full(3, 0.2)
    profile = jr.fitting.LossProfile(np.arange(3.0), equal, None, jr.elo(), "side_advantage", 9, "brier", False)
    assert plots.profile(profile, ax=ax).get_ylim()[1] > 0.0
    assert ax.get_ylabel() == "summed excess brier" and not ax.patches and ax.get_legend() is None


def test_matchups_are_of_who_is_on_the_leaderboard(ax):
    plots.matchups(rated_games(), active=5, min_games=2, ax=ax)
    board = jr.leaderboard(rated_games(), top=100, active=5, min_games=2)
    assert 1 < len(board.player) < len(rated_games().players)
    assert [label.get_text().split()[-1] for label in ax.get_yticklabels()] == board.player.tolist()


def test_careers_go_through_the_ends_of_steps(ax):
    """Of a player in steps 0, 1 and 4 of ten days, back from the end: who pauses for 22 days after 9 is not absent."""
    time = [0.0, 9.0, 31.0, 38.0, 49.0]
    table = {"a": ["x", "x", "x", "x", "x"], "b": ["y", "z", "y", "z", "y"], "score": [1, 0, 1, 1, 1], "time": time}
    rated = jr.rate(jr.elo(), jr.read(table))
    assert plots.careers(rated, ["x"], others=["y"], step=10.0, ax=ax) is ax
    grey, line = ax.lines  # five matches are too few for a peak
    career = jr.career(rated, "x")
    after = career["rating"] + career["change"]
    np.testing.assert_array_equal(line.get_xdata(), [9.0, 38.0, 49.0])
    np.testing.assert_allclose(line.get_ydata(), [after[1], after[3], after[4]])
    assert to_hex(grey.get_color()) == plots.plot_style.PALE
    assert [text.get_text() for text in ax.texts] == [f"x\n{after[4]:,.0f}"] and ax.get_xlabel() == "time"


def test_the_highest_within_a_step_is_marked(ax):
    """The dot and the title have the peak of the leaderboard, which no step ends with, and the subtitle its rule."""
    table = {"a": ["x"] * 30, "b": ["y"] * 30, "score": [1] * 17 + [0] * 13, "time": np.arange(30.0)}
    rated = jr.rate(jr.elo(), jr.read(table))
    board = jr.leaderboard(rated, active="all")
    peak, time = (np.asarray(column)[board.player == "x"][0] for column in (board.peak, board.peak_time))
    figure = plots.careers(rated, ["x"], step=10.0).figure
    (ax,) = figure.axes
    line, dot = ax.lines
    assert time == 16.0 and dot.get_xydata().tolist() == [[time, pytest.approx(peak)]]
    assert line.get_xdata().tolist() == [9.0, 16.0, 19.0, 29.0]
    assert "units of time, from the tenth match on. Dots mark peaks" in subtitle(figure)
    assert f"{peak:,.0f} points" in figure.get_suptitle()
    pyplot.close(figure)


def test_careers_of_very_many_others_are_bands(ax, monkeypatch):
    monkeypatch.setattr(sys.modules["jaxrate.views.charts"], "MAX_GREY_LINES", 18)
    monkeypatch.setattr(sys.modules["jaxrate.views.charts"], "MIN_BAND_PLAYERS", 2)
    rated, others = rated_games(), games().players[:19]
    plots.careers(rated, ["P19"], others=others, step=1e6, ax=ax)
    assert [line.get_gid() for line in ax.lines if line.get_gid()] == ["other", "line", "peak"]
    after = [(x := jr.career(rated, name))["rating"][-1] + x["change"][-1] for name in others]
    for band, share in zip(ax.collections, (0.05, 0.25), strict=True):
        y = band.get_paths()[0].vertices[:, 1]
        np.testing.assert_allclose([y.min(), y.max()], np.quantile(after, [share, 1.0 - share]), rtol=1e-6)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.median(after), rtol=1e-6)
    chart = plots.careers(rated, ["P19"], others=others, step=20.0, backend="altair").to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"][:4]] == ["area", "area", "line", "line"]


@pytest.mark.parametrize("is_smoothed", mark_full([False, True], False))
def test_trajectories_are_interrupted_by_absence(is_smoothed):
    """A line went straight through the years from one career to the next, and below the peak that the title names."""
    days = np.append(np.arange(200.0), 2000.0 + np.arange(200.0))
    won = np.append(np.arange(200) < 90, np.arange(200) % 2)
    data = jr.read({"a": ["x"] * 400, "b": ["y"] * 400, "score": won * 1.0, "time": days.astype("datetime64[D]")})
    rated = jr.smooth(jr.skills(), data) if is_smoothed else jr.rate(jr.glicko(), data)
    figure = plots.trajectory(rated, players="x").figure
    (line,) = [line for line in figure.axes[0].lines if line.get_gid() == "line"]
    x, y = line.get_xdata(orig=True).astype(float), np.asarray(line.get_ydata())
    (gap,) = np.flatnonzero(np.isnan(y))
    assert x[gap - 1] <= 199.0 and x[gap + 1] >= 2000.0
    (band,) = [band for band in figure.axes[0].collections if band.get_gid() == "interval"]
    assert len(band.get_paths()) == 2
    assert f"{np.nanmax(y):,.0f} points" in figure.get_suptitle()
    chart = plots.trajectory(rated, players="x", backend="altair").to_dict()
    assert None in [row["y"] for row in chart["layer"][1]["data"]["values"]]


def seasons(first, last, names=("x", "y", "z"), begin=60, matches=40):
    """A match each other day in a season of each year, between these three in turn; x always wins."""
    years = np.arange(f"{first}", f"{last + 1}", dtype="M8[Y]").astype("M8[D]")
    days = (years[:, None] + (begin + 2 * np.arange(matches))).ravel()
    a, b = np.array(names)[np.resize([[0, 1], [1, 2], [0, 2]], (len(days), 2)).T]
    return {"a": a, "b": b, "score": np.ones(len(days)), "time": days}


@pytest.mark.parametrize("draw", [plots.careers, plots.trajectory])
def test_an_off_season_is_no_absence_and_the_line_of_the_title_stands_out(draw):
    """Lines were torn between any two seasons, where a step was shorter than the off-season, and all equally thick."""
    rated = jr.rate(jr.elo(), jr.read(seasons(2001, 2012)))
    figure = draw(rated, players=["x", "y"]).figure
    lines = [line for line in figure.axes[0].lines if line.get_gid() == "line"]
    assert len(lines) == 2 and not any(np.isnan(line.get_ydata()).any() for line in lines)
    assert "every 41 days" in subtitle(figure)
    assert figure.get_suptitle().startswith("x ") and [line.get_linewidth() for line in lines] == [WIDE, THIN]
    chart = draw(rated, players=["x", "y"], backend="altair").to_dict()
    (widths,) = [x["encoding"]["strokeWidth"] for x in chart["layer"] if "strokeWidth" in x["encoding"]]
    assert widths["scale"] == {"type": "ordinal", "domain": ["x", "y"], "range": [WIDE, THIN]}  # no other type draws it


def test_a_missed_season_is_an_absence_also_if_one_lonely_event_follows():
    """z misses 2006 to 2008; the only event of 2009, between two absences, is a dot."""
    table, first, last = seasons(2001, 2012), np.datetime64("2006-01-01"), np.datetime64("2011-01-01")
    is_away = (table["b"] == "z") & (first <= table["time"]) & (table["time"] < last)
    is_away[8 * 40 + 2] = False
    figure = plots.careers(jr.rate(jr.elo(), {name: x[~is_away] for name, x in table.items()}), ["z"]).figure
    line, *dots = figure.axes[0].lines
    assert line.get_gid() == "line" and np.isnan(line.get_ydata()).sum() == 2
    (dot,) = [dot for dot in dots if dot.get_gid() == "isolated"]
    assert dot.get_xdata().astype("M8[Y]").astype(str).tolist() == ["2009"]


@lru_cache
def rated(clock="dates"):
    return jr.rate(jr.glicko(), games(clock)._replace(players=np.array([f"P{i}" for i in range(20)], object)))


def test_a_distribution_counts_who_is_listed(ax):
    board = jr.leaderboard(rated(), top=20, min_games=55)
    two = board.player[[5, 1]].tolist()
    assert plots.distribution(rated(), players=two, bins=6, min_games=55, ax=ax) is ax
    assert 2 < len(board.rating) < 20
    bars = ax.containers[0]
    np.testing.assert_array_equal([bar.get_height() for bar in bars], np.histogram(board.rating, 6)[0])
    of = dict(zip(board.player, board.rating, strict=True))
    marks = dict(zip(ends(ax), [line.get_xdata()[0] for line in ax.lines], strict=True))
    assert marks == {name: of[name] for name in two} | {"median": np.median(board.rating)}
    missing = next(f"P{i}" for i in range(20) if f"P{i}" not in of)
    with refused(f"{missing} is not among the {len(of)} who are listed"):
        plots.distribution(rated(), players=missing, min_games=55, ax=ax)


def test_a_distribution_has_bins_for_its_players(ax):
    def bins(ratings):
        pairs = np.arange(len(ratings)).reshape(-1, 2)
        result = jr.rate(jr.elo(), {"a": pairs[:, 0], "b": pairs[:, 1], "score": np.ones(len(pairs))})
        result = result._replace(state=result.state._replace(rating=np.asarray(ratings, np.float32)))
        return len(plots.distribution(result, active="all", ax=ax).containers[-1])

    normal = np.random.default_rng(0).normal(1500, 200, 5000)
    assert [bins(normal[:n]) for n in (2, 6, 50)] == [2, 4, 7] and bins([1500, 1500]) == 1
    assert bins(normal[:500]) == len(np.histogram_bin_edges(normal[:500].astype("f"), "auto")) - 1 > 15
    assert bins(np.append(normal[1:], 9000)) == 60
    assert all(tick == round(tick) for tick in ax.get_yticks())


def test_ranks_are_those_of_leaderboards(ax):
    players = ["P7", "P3"]
    assert plots.ranks(rated(), players, step=40.0, active=30, min_games=3, ax=ax) is ax
    assert [name.split("\n")[0] for name in ends(ax)] == players
    assert ax.yaxis_inverted() and ax.get_yscale() == "log"
    seen = 0
    for name, line in zip(players, ax.lines, strict=True):
        for day, rank in zip(line.get_xdata(orig=True), line.get_ydata(), strict=True):
            board = jr.leaderboard(rated(), top=20, as_of=day, active=30, min_games=3)
            there = board.rank[board.player == name]
            assert (there.tolist() or [None])[0] == (None if np.isnan(rank) else rank)
            seen += len(there)
    assert seen > 10


def test_ranks_begin_when_ratings_are_settled():
    """The finding was that somebody reached rank 2 by the first of all matches, when hardly anybody had a rating."""
    table = league_table(40, 1200, [f"P{i}" for i in range(40)], seed=4)
    rated = jr.rate(jr.glicko(), table | {"time": np.arange(1200.0)})
    figure = plots.ranks(rated, ["P1", "P2", "P3"], step=10.0).figure
    played = {x: jr.career(rated, x)["time"][9] for x in ("P1", "P2", "P3")}
    for panel in figure.axes[0].child_axes:
        (line,) = [line for line in panel.lines if line.get_gid() == "line"]
        tenth = played[line.get_label()]
        assert tenth <= line.get_xdata()[~np.isnan(line.get_ydata())][0] <= max(tenth + 10.0, 250.0)
    assert "from the tenth match on" in subtitle(figure)
    every = plots.ranks(rated, ["P1", "P2", "P3"], step=10.0, min_games=0).figure
    assert every.axes[0].child_axes[0].lines[-1].get_xdata()[0] < 100.0


def test_odds_are_those_of_the_tournament_and_of_the_season(ax):
    coming = [("P1", "P2"), ("P2", "P3"), ("P3", "P1")]
    season = jr.forecasts.simulate_season(rated(), coming, samples=100)
    shown = plots.odds(season, top=2, ax=ax).images[0].get_array()
    np.testing.assert_allclose(shown, 100 * season.place[:2])
    ax.clear()
    found = jr.forecasts.simulate_tournament(rated(), {"knockout": ["P1", "P2", "P3", "P4"]}, samples=100)
    assert plots.odds(found, ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), 100 * found.reach[:, 1:])
    assert rows(ax) == found.player.tolist()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["final", "win"]


def test_ranks_of_years_are_those_at_their_ends():
    """The title counted years back from the last event, and a year that is not over yet."""
    days = [f"{year}-{day}" for year in range(2000, 2004) for day in ("02-01", "11-01")] + ["2004-03-01"]
    won = [0, 0, 1, 1, 1, 1, 1, 1, 1]
    table = {"a": ["x"] * 9, "b": ["y"] * 9, "score": won, "time": np.array(days, "datetime64[D]")}
    rated = jr.rate(jr.elo(), jr.read(table))
    figure = plots.ranks(rated, ["x", "y"], step=365.25, min_games=0).figure
    ends = [*(f"{year}-12-31" for year in range(2000, 2004)), "2004-03-01"]
    first = [jr.leaderboard(rated, as_of=end, top=1, min_games=0).player[0] for end in ends]
    lines = {line.get_label(): line for line in figure.axes[0].lines if line.get_gid() == "line"}
    assert lines["x"].get_xdata(orig=True).astype(str).tolist() == ends
    assert [name == "x" for name in first] == (lines["x"].get_ydata() == 1).tolist()
    most = max("xy", key=first[:4].count)
    title = f"{most} ranked first most often, at the end of {first[:4].count(most)} of 4 years"
    assert figure.get_suptitle().replace("\n", " ").startswith(title)
    assert "at the end of each year and on Mar 1, 2004" in subtitle(figure)


def test_expected_scores_of_systems_with_a_side_are_those_without_it():
    """The title did not say where they play, and the system had its name in code."""
    table = {"a": [*"xyzx"], "b": [*"yzxz"], "score": [1, 0, 1, 1], "time": np.arange(4.0)}
    data = jr.read(table, side="a")
    for system, said in ((jr.glicko2(side_advantage=60), ", on neutral ground"), (jr.glicko2(), "")):
        figure = plots.matchups(jr.rate(system, data), players=[*"xyz"]).figure
        assert subtitle(figure).endswith(f"by Glicko-2{said}; blue: favoured, orange: not")


@pytest.fixture(scope="module")
def found():
    """Five who beat each other, Eve who is held, and Low who only lost; ties among them."""
    a, b = ["Ada", "Ada", "Bo", "$Cy$", "Di", "Ada"], ["Bo", "$Cy$", "$Cy$", "Di", "Eve", "Low"]
    votes = jr.arena.count_votes(a, b, wins=[7, 6, 5, 9, 4, 3], losses=[5, 3, 4, 4, 3, 0], ties=[2, 1, 3, 1, 2, 0])
    return jr.arena.fit_strengths(votes, anchors={"Eve": 1400.0})


def test_intervals_are_those_of_the_table(ax, found):
    assert plots.intervals(found, ax=ax) is ax
    order = [i for i in found.order if np.isfinite(found.rating[i])]
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in order] and "Low" not in rows(ax)
    free = [i for i in order if not found.is_anchor[i]]
    ends = interval_ends(ax)[~found.is_anchor[order], :, 0]
    wide = scipy.stats.norm.ppf(0.975) * found.standard_error[free]
    np.testing.assert_allclose(ends, np.stack([found.rating[free] - wide, found.rating[free] + wide], axis=1))
    np.testing.assert_allclose(drawn(ax, "value").get_xdata(), found.rating[order])


def test_rank_sets_are_bars_from_the_least_to_the_greatest_rank(ax, found):
    ranks = jr.arena.rank_sets(found, level=0.5)
    assert (ranks.least[:-1] > 1).any()
    assert plots.rank_sets(ranks, ax=ax) is ax
    order = found.order
    np.testing.assert_allclose(interval_ends(ax)[:, :, 0], np.stack([ranks.least, ranks.greatest], axis=1)[order])
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in order]
    assert ax.lines[0].get_xdata()[:5].tolist() == [1, 2, 3, 4, 5] and ax.get_xlabel() == "rank (simultaneous at 50%)"


def test_who_won_once_and_never_lost_is_not_ahead_of_those_with_a_rating(ax):
    """They stood first, without a dot, and the title called one of them the leader."""
    votes = jr.arena.count_votes(["Ada", "Bo", "Lucky"], ["Bo", "Cy", "Bo"], wins=[70, 60, 1], losses=[30, 40, 0])
    found = jr.arena.fit_strengths(votes)
    ranks = jr.arena.rank_sets(found)
    assert ranks.order[0] == [*found.players].index("Lucky")
    plots.rank_sets(ranks, ax=ax)
    assert rows(ax) == ["Ada", "Bo", "Cy", "Lucky"]
    assert ax.lines[0].get_xdata()[:3].tolist() == [1, 2, 3] and np.isnan(ax.lines[0].get_xdata()[3])
    figure = plots.rank_sets(ranks).figure
    assert " ".join(figure.get_suptitle().split()) == "The leading contender is Ada, but Lucky may be better"
    pyplot.close(figure)


def test_win_matrix_has_expected_scores(ax, found):
    """A tie is half a win, so that the two cells of a pair add up to 100, and even players are white."""
    chosen = ["Ada", "Bo", "Low"]
    assert plots.win_matrix(found, ["Bo", "Low", "Ada"], ax=ax) is ax
    shown = ax.images[0].get_array().filled(np.nan)
    for i, a in enumerate(chosen):
        for j, b in enumerate(chosen):
            win, tie, _ = (np.nan, np.nan, 0) if i == j else found.probability(a, b)
            expected = 100 * (win + 0.5 * tie)
            np.testing.assert_allclose(shown[i, j], expected, atol=1e-9)
    assert sorted(text.get_text() for text in ax.texts)[:1] == ["0"] and len(ax.texts) == 6
    assert ax.images[0].cmap(0.5)[:3] == pytest.approx((1, 1, 1), abs=0.01)
    assert ax.images[0].get_clim() == (0, 100)  # as Low always loses


def test_win_matrix_of_everybody_and_of_those_who_never_met(ax, found):
    plots.win_matrix(found, ax=ax)
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in found.order if np.isfinite(found.rating[i])]
    apart = jr.arena.fit_strengths(jr.arena.count_votes(["x", "u"], ["y", "v"], [2, 1], [1, 1]))
    plots.win_matrix(apart, ["x", "y", "u"], ax=ax)
    shown = ax.images[-1].get_array().filled(np.nan)
    assert np.isnan(shown).tolist() == [[True, False, True], [False, True, True], [True, True, True]]


def test_plots_say_as_pages_who_may_be_first(found):
    ranks = jr.arena.rank_sets(found)
    finding = str(find_first_place(found.players, found, ranks, CONTENDERS)).replace("$", r"\$")
    for ax in (plots.intervals(found), plots.rank_sets(ranks)):
        assert " ".join(ax.figure.get_suptitle().split()) == finding


def contrast(colour, other):
    def luminance(channels):
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels]
        return np.dot(linear, (0.2126, 0.7152, 0.0722))

    low, high = sorted(luminance(x) for x in (colour, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [DIVERGING_COLOURS, SEQUENTIAL_COLOURS])
def test_numbers_stand_out_from_every_colour_of_cells(palette):
    """At 4.5 to 1; on colours in the middle of either half they had 2.9 to 1."""
    for share in np.linspace(0.0, 1.0, 101):
        behind = mix_colours(palette, share)
        assert contrast(to_rgb(cell_text_colour(*behind)), behind) >= 4.5


def test_calibration_is_that_of_the_metrics(ax):
    score = games().matches.score
    several = {name: past(name).events["prediction"] for name in ("elo", "glicko")}
    assert plots.calibration(several, score, bins=8, ax=ax) is ax
    for i, ((name, p), said) in enumerate(zip(several.items(), texts(ax), strict=True)):
        found = jr.metrics.calibration(p, score, bins=8)
        filled = found.weight > 0
        points = drawn(ax, "layer", i).get_xydata().T
        np.testing.assert_array_equal(points, [100.0 * found.predicted[filled], 100.0 * found.observed[filled]])
        assert said == f"{name}, {100 * found.error:.1f}"
        ends = interval_ends(ax, i)[:, :, 1] / 100.0
        for (low, high), share, count in zip(ends, found.observed[filled], found.weight[filled], strict=True):
            for end in (low, high):  # Wilson: where the share is 1.96 standard errors of a binomial off
                assert np.isclose((share - end) ** 2, 1.96**2 * end * (1 - end) / count, atol=1e-6)
    assert len({(line.get_marker(), line.get_linestyle()) for line in ax.lines[1:]}) == 2


def test_calibration_of_two_calls_is_told_apart(ax):
    for name in ("elo", "glicko"):
        plots.calibration({name: past(name).events["prediction"]}, games().matches.score, ax=ax)
    assert [x.partition(",")[0] for x in texts(ax)] == ["elo", "glicko"] and ax.get_xlim() == (-2.0, 102.0)
    assert drawn(ax, "layer", 0).get_color() != drawn(ax, "layer", 1).get_color()


def test_one_curve_without_a_name_has_no_legend():
    """It was a number, "6.1", beside a line."""
    p, score = np.repeat([0.3, 0.7], 50), np.tile([0.0, 1.0], 50)
    ax = plots.calibration(p, score)
    assert ax.get_legend() is None
    assert "calibration error 20.0%" in subtitle(ax.figure)
    chart = plots.calibration(p, score, backend="altair").to_dict()
    assert "legend" not in str(chart["layer"])


def test_calibration_of_winners_is_from_either_side(ax):
    p = np.array([0.9, 0.8, 0.6, 0.3])
    plots.calibration(p, np.ones(4), bins=5, ax=ax)
    found = jr.metrics.calibration(np.append(p, 1 - p), [1] * 4 + [0] * 4, bins=5)
    np.testing.assert_allclose(drawn(ax, "layer").get_ydata(), 100.0 * found.observed[found.weight > 0])


def test_calibration_of_rounds_is_of_shares_left_behind(ax):
    """Teams, a tie, a contest of one, and one of two, against counting."""
    contest, team = [0, 0, 0, 0, 1, 2, 2, 2, 3, 3], [0, 0, 1, 2, 0, 0, 1, 2, 0, 1]
    place = [1, 1, 2, 2, 1, 2, 2, 1, 1, 2]
    with pytest.warns(UserWarning, match="contest 1 has one participant"):
        rounds = jr.rounds(contest, np.arange(10), place, team=team)
    share = []
    for i in range(10):
        others = {team[j]: place[j] for j in range(10) if contest[j] == contest[i] and team[j] != team[i]}
        share.append(np.mean([(x > place[i]) + 0.5 * (x == place[i]) for x in others.values()]) if others else np.nan)
    np.testing.assert_allclose(observed_share_of_sides_beaten(rounds), share)
    prediction, share = np.linspace(0.05, 0.95, 10), np.array(share)
    plots.calibration(prediction, rounds, bins=10, ax=ax)
    there = ~np.isnan(share)
    points = drawn(ax, "layer").get_xydata().T
    np.testing.assert_allclose(points, [100.0 * prediction[there], 100.0 * share[there]])
    assert ax.get_ylabel() == "observed share of the others beaten (%)"


def test_loss_by_difference(ax):
    elo, glicko = past("elo"), past("glicko")
    score = np.asarray(games().matches.score, float)
    assert plots.loss_by_difference({"Elo": elo, "Glicko": glicko}, bins=6, ax=ax) is ax
    means = [float(jr.metrics.log_loss(rated.events["prediction"], score)) for rated in (elo, glicko)]
    assert texts(ax) == [f"Elo, {means[0]:.3f}", f"Glicko, {means[1]:.3f}"]
    assert ax.get_legend().get_title().get_text() == "mean over all matches"
    curves = [line for line in ax.lines if line.get_gid() == "layer"]
    expected = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert [line.get_color() for line in expected] == [line.get_color() for line in curves]
    least, greatest = ax.get_xlim()
    assert least < 50.0 < max(curves[0].get_xdata()) < greatest < 97.0  # no room for chances that nobody had
    assert ax.get_xlabel() == "predicted chance of the favourite (%)"
    mean = np.mean([np.asarray(rated.events["prediction"], float) for rated in (elo, glicko)], axis=0)
    chance = 100.0 * np.maximum(mean, 1.0 - mean)
    edges = np.sort(chance)[[0, 99, 199, 299, 399, 499, 599]]
    for number, (curve, grey, rated) in enumerate(zip(curves, expected, (elo, glicko), strict=True)):
        p = np.asarray(rated.events["prediction"], float)
        x, y = curve.get_xydata().T
        for i, (low, high) in enumerate(pairwise(edges)):
            inside = (chance >= low) & ((chance < high) | (i == 5))
            assert np.isclose(x[i], chance[inside].mean())
            assert np.isclose(y[i], jr.metrics.log_loss(p, score, mask=inside), rtol=1e-5)
            assert np.isclose(grey.get_ydata()[i], jr.metrics.log_loss(p, p, mask=inside), rtol=1e-5)
            each = -score * np.log(p) - (1 - score) * np.log1p(-p)
            error = each[inside].std(ddof=1) / inside.sum() ** 0.5
            ends = y[i] - 1.96 * error, y[i] + 1.96 * error
            np.testing.assert_allclose(interval_ends(ax, number)[i, :, 1], ends, rtol=1e-4)


def test_loss_of_equal_ratings_is_one_bin(ax):
    one = jr.rate(jr.elo(), [{"a": "x", "b": "y", "score": 1.0}])
    plots.loss_by_difference(one, ax=ax)
    np.testing.assert_allclose(drawn(ax, "layer").get_xydata(), [[50.0, np.log(2)]], rtol=1e-6)
    assert ax.get_ylim()[0] > 0.5
    few = {"a": [*"xxxy"], "b": [*"yyzz"], "score": [1.0, 1.0, 0.0, 0.5]}
    plots.loss_by_difference(jr.rate(jr.elo(), few), ax=ax)
    assert 1 < len(drawn(ax, "layer", 1).get_xydata()) < 4


def test_residuals(ax):
    prediction = np.asarray(past("elo").events["prediction"], float)
    assert plots.residuals(prediction, games(), top=5, ax=ax) is ax
    score, player = games().matches.score, games().matches.player
    surprises = []
    for i, name in enumerate(games().players):
        first, second = player[:, 0] == i, player[:, 1] == i
        off = np.concatenate([(score - prediction)[first], (prediction - score)[second]])
        p = prediction[first | second]
        error = np.sqrt((p * (1 - p)).sum())
        surprises.append((off.sum() / error, off.mean(), error / len(off), name))
    most = sorted(sorted(surprises, key=lambda row: -abs(row[0]))[:5], reverse=True)
    np.testing.assert_allclose(drawn(ax, "value").get_xdata(), [row[1] for row in most])
    ends = [[x - 1.96 * e, x + 1.96 * e] for _, x, e, _ in most]  # as far to either side, also at the largest score
    np.testing.assert_allclose(interval_ends(ax)[:, :, 0], ends)
    games_of = [np.sum(player == list(games().players).index(row[3])) for row in most]
    assert rows(ax) == truncate_names([format_plot_name(x[3]) for x in most], ax)
    values = [f"{x[0]:+.1f} ({n})".replace("-", "\N{MINUS SIGN}") for x, n in zip(most, games_of, strict=True)]
    assert [text.get_text() for text in ax.texts] == [*values, "z (matches)"]


def test_residuals_are_of_who_still_plays(ax):
    """Gone has played more than a year before the end, and surprised most."""
    a, b = ["Gone"] * 12 + ["Ada"] * 12, ["Bo"] * 24
    days = np.datetime64("2020-01-01") + np.append(np.arange(12), 500 + np.arange(12))
    data = jr.read({"a": a, "b": b, "score": [1] * 12 + [1, 0] * 6, "date": days})
    plots.residuals(np.full(24, 0.5), data, ax=ax)
    assert rows(ax) == ["Ada", "Bo"]
    ax.clear()
    plots.residuals(np.full(24, 0.5), data, active="all", ax=ax)
    assert rows(ax) == ["Gone", "Ada", "Bo"]
    figure = plots.residuals(np.full(24, 0.5), data, top=1).figure
    assert "of the 1 most surprising of 2 who played in the last 365 days" in subtitle(figure)
    assert "beyond ±2.2 it is more than chance" in subtitle(figure)
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("wins", "title"),
    [(32, "None of 4 stands out alone, but together they scored more than expected"), (24, "None of 4 stands out")],
)
def test_a_lean_of_surprises_is_tested(wins, title):
    """Four won so many of 40 matches against four who stopped; 24 may be chance."""
    days = np.datetime64("2022-01-01") + np.append(np.arange(40), [2000, 2000])
    a, b = ([f"{side}{i % 4}" for i in range(40)] for side in "SW")
    score = [1.0 if i < wins else 0.0 for i in range(40)]
    data = jr.read({"a": [*a, "S0", "S2"], "b": [*b, "S1", "S3"], "score": [*score, 0.5, 0.5], "date": days})
    figure = plots.residuals(np.full(42, 0.5), data).figure
    assert " ".join(figure.get_suptitle().split()) == title


def test_residuals_of_many(ax):
    random = np.random.default_rng(0)
    matches = jr.matches(np.arange(100_000).reshape(-1, 2), random.integers(0, 2, 50_000))
    plots.residuals(np.full(50_000, 0.5), matches, ax=ax)
    assert len(ax.get_yticklabels()) == 20
    assert np.abs(interval_ends(ax)[:, :, 0]).max() == pytest.approx(0.5 + 1.96 * 0.5)  # of one match
    often = jr.matches([[0, 1], [0, 2], [0, 3]], [1, 1, 1])
    ax.clear()
    plots.residuals([0.5, 0.6, 0.7], often, min_games=2, ax=ax)
    assert rows(ax) == ["player 0"] and ax.texts[0].get_text().endswith(" (3)")


def test_a_comparison_is_of_differences(ax):
    found = jr.compare(games(), {"a_b": jr.elo(k=8), "elo": {}})
    assert plots.comparison(found, ax=ax) is ax
    behind = np.array([result.log_loss_difference for result in found.results])
    np.testing.assert_allclose(drawn(ax, "value").get_xdata(), behind[:, 0])
    ends = behind[:, :1] + 1.96 * np.array([-1.0, 1.0]) * behind[:, 1:]
    np.testing.assert_allclose(interval_ends(ax)[:, :, 0], ends)
    names = rows(ax)
    assert names == ["Elo" if result.name == "elo" else result.name for result in found.results] and behind[
        0
    ].tolist() == [0.0, 0.0]
