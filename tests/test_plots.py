"""Pictures by their data: lines, intervals, bars and labels against what was computed."""

import re
import subprocess
import sys
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import jaxrate as jr
from jaxrate import plots
from jaxrate.events import slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.knockout_brackets import matchup_matrix
from jaxrate.league.evaluation import observed_share_of_sides_beaten
from tests.conftest import refused

pytestmark = pytest.mark.usefixtures("in_a_hurry")
ODD = ["$x$ and $y$", "_hidden", "two\nlines", "a very long name of more than thirty letters"]
SHOWN = [r"\$x\$ and \$y\$", "\u200b_hidden", "two lines", "a very long name of mor…"]


@lru_cache
def games(clock="dates"):
    """Twenty named players, the first four oddly; all matches on whole days, some on the same."""
    matches = jr.data.simulate.league(20, 600, seed=2, draws=0.2).matches
    names = np.array([*ODD, *(f"P{i}" for i in range(4, 20))], object)
    return Dataset(matches._replace(time=np.floor(matches.time)), names, np.arange(600), clock=clock)


@lru_cache
def past(name):
    system = getattr(jr, name)()
    return system, jr.league.rating_history(system, games().matches)


def ratings(system, history):
    return [None if x is None else np.asarray(x) for x in system.summary(system.params, history.state)]


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


@pytest.mark.parametrize("name", ["glicko", "blat_mmr", "trueskill"])
def test_trajectory_is_the_history(ax, name):
    system, history = past(name)
    assert plots.trajectory(system, history, games(), ["P7", "P5"], ax=ax) is ax
    matches = games().matches
    final = ratings(system, history)
    for line, band, player in zip(ax.lines, ax.collections, (7, 5), strict=True):
        row, side = np.nonzero(matches.player == player)
        mean, deviation = (
            np.append(np.asarray(x)[row, side], end[player]) for x, end in zip(history.before, final, strict=True)
        )
        days = np.append(matches.time[row], matches.time[row[-1]])
        np.testing.assert_array_equal(line.get_xdata(orig=True), days.astype("datetime64[D]"))
        np.testing.assert_array_equal(line.get_ydata(), mean)
        y = band.get_paths()[0].vertices[:, 1]
        np.testing.assert_allclose([y.min(), y.max()], [min(mean - 1.96 * deviation), max(mean + 1.96 * deviation)])
    assert ends(ax) == ["P7", "P5"] and all(line.get_drawstyle() == "steps-pre" for line in ax.lines)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("date", "rating (points)")


def test_trajectory_without_deviations_is_a_line(ax):
    plots.trajectory(*past("elo"), games("numbers"), "P9", ax=ax)
    assert len(ax.lines) == 1 and not ax.collections and ax.get_xlabel() == "time"


def test_trajectories_share_axes_and_differ_in_colour_and_kind(ax):
    plots.trajectory(*past("elo"), games(), [f"P{i}" for i in range(4, 12)], ax=ax)
    plots.trajectory(*past("elo"), games(), [f"P{i}" for i in range(12, 20)], ax=ax)
    assert texts(ax) == [f"P{i}" for i in range(4, 20)]
    looks = [(line.get_color(), line.get_linestyle()) for line in ax.lines]
    assert len(set(looks)) == 16 and len({kind for _, kind in looks}) == 4


def test_trajectory_without_time_goes_by_number(ax):
    system, history = past("elo")
    for data in (games(None), games().matches._replace(time=np.zeros(600))):
        ax.clear()
        plots.trajectory(system, history, data, 9, ax=ax)
        row = np.flatnonzero((games().matches.player == 9).any(axis=1))
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), [*row, row[-1] + 1])
        assert ax.get_xlabel() == "matches before"


def test_trajectory_of_periods_and_of_contests(ax):
    system, matches = jr.glicko(), games().matches
    history = jr.league.rating_history(system, jr.periods(matches, 50.0))
    plots.trajectory(system, history, games(), "P6", ax=ax)
    row, side = np.nonzero(matches.player == 6)
    np.testing.assert_array_equal(ax.lines[0].get_ydata()[:-1], np.asarray(history.before.mean)[row, side])
    with refused("for rating periods, give the matches"):
        plots.trajectory(system, history, jr.periods(matches, 50.0), 6, ax=ax)

    ax.clear()
    rounds, system = jr.data.simulate.contests(12, 30, size=5, seed=1).rounds, jr.trueskill()
    history = jr.league.rating_history(system, rounds)
    plots.trajectory(system, history, rounds, [3], ax=ax)
    row = np.flatnonzero(rounds.events.player == 3)
    np.testing.assert_array_equal(ax.lines[0].get_ydata()[:-1], np.asarray(history.before.mean)[row])
    np.testing.assert_array_equal(ax.lines[0].get_xdata()[:-1], rounds.events.time[row // 5])
    assert ends(ax) == ["player 3"]


def test_long_trajectories_are_thinned(ax):
    n = 100_000
    matches = jr.matches(np.tile([0, 1], (n, 1)), np.arange(n) % 2, np.arange(n) / 10)
    system = jr.glicko()
    plots.trajectory(system, jr.league.rating_history(system, matches), matches, 0, ax=ax)
    (line,) = ax.lines
    assert len(line.get_xdata()) == 2000
    np.testing.assert_allclose(line.get_xdata()[[0, -1]], matches.time[[0, -1]])


def test_names_are_text(ax):
    plots.trajectory(*past("elo"), games(), ODD, ax=ax)
    assert ends(ax) == SHOWN
    plots.trajectory(*past("elo"), games(), range(4, 9), ax=ax)
    assert not ends(ax) and texts(ax)[:4] == SHOWN
    ax.figure.canvas.draw()
    drawn = [text._preprocess_math(text.get_text()) for text in ax.get_legend().get_texts()]
    assert drawn[0] == ("$x$ and $y$", False)


def test_first_matches_can_be_skipped(ax):
    whole = Figure().subplots()
    plots.trajectory(rated_games(), players=["P7", "P5"], ax=whole)
    plots.trajectory(rated_games(), players=["P7", "P5"], skip=8, ax=ax)
    for line, all_of_it in zip(ax.lines, whole.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), all_of_it.get_xydata()[8:])
    count = rated_games().games[7]
    with refused(f"skip must be from 0 to {count - 1}, as P7 has {count} events, got {count}"):
        plots.trajectory(rated_games(), players="P7", skip=count, ax=ax)


def test_then_and_now(ax):
    system = jr.skills()
    rated, smoothed = jr.rate(system, games()), jr.smooth(system, games())
    plots.trajectory(rated, players=["P7", "P5"], smooth=smoothed, skip=3, ax=ax)
    assert texts(ax) == ["as known then", "as known now"] and ends(ax) == ["P7", "P5"]
    then, now = ([line for line in ax.lines if line.get_gid() == gid] for gid in ("then", "trajectory"))
    for name, before, after in zip(["P7", "P5"], then, now, strict=True):
        np.testing.assert_allclose(before.get_ydata()[:-1], jr.career(rated, name)["rating"][3:])
        np.testing.assert_allclose(after.get_ydata(), jr.career(smoothed, name)["rating"][3:])
        assert before.get_color() == after.get_color() and after.get_drawstyle() == "default"
    assert len(ax.collections) == 2


def test_who_is_meant(ax):
    system, history = past("elo")
    for player, said in (
        ("P77", "no player 'P77'; did you mean 'P7'?"),
        (20, "no player 20: ids run from 0 to 19"),
        (-1, "no player -1"),
        (1.5, "no player 1.5"),
        (True, "no player True"),
        ([4, "P4"], "player 'P4' is named twice"),
        ([], "1 to 28 players, not 0"),
    ):
        with refused(said):
            plots.trajectory(system, history, games(), player, ax=ax)
    with refused("names need those of all players"):
        plots.trajectory(system, history, games().matches, "P4", ax=ax)
    numbers = games()._replace(players=np.arange(20)[::-1])
    plots.trajectory(system, history, numbers, 0, ax=ax)
    row, side = np.nonzero(games().matches.player == 19)  # the name 0, not the id
    np.testing.assert_array_equal(ax.lines[0].get_ydata()[:-1], np.asarray(history.before.mean)[row, side])
    with refused("2 players have the name 'P4'"):
        plots.trajectory(system, history, games()._replace(players=np.array(["P4"] * 2 + ["x"] * 18)), "P4", ax=ax)


def test_trajectory_refuses(ax):
    system, history = past("elo")
    matches = games().matches
    with refused("of other events"):
        plots.trajectory(system, history, slice_events(matches, 0, 5), 0, ax=ax)
    with refused("expected a Dataset"):
        plots.trajectory(system, history, [1, 2], 0, ax=ax)
    with refused("no events"):
        plots.trajectory(system, history, jr.matches(np.zeros((0, 2), int), []), 0, ax=ax)
    alone = jr.league.rating_history(system, matches, num_players=21)
    with refused("player 20 plays in none"):
        plots.trajectory(system, alone, matches, 20, ax=ax)
    mean = np.array(history.before.mean)
    mean[300] = np.nan
    broken = history._replace(before=history.before._replace(mean=mean))
    with refused("are not finite"):
        plots.trajectory(system, broken, games(), f"P{max(matches.player[300])}", ax=ax)
    many = jr.matches(np.arange(58).reshape(29, 2), np.ones(29))
    with refused("1 to 28 players, not 29"):
        plots.trajectory(system, jr.league.rating_history(system, many), many, range(29), ax=ax)
    assert not ax.lines


# How players stand


@pytest.mark.parametrize("name", ["glicko", "elo"])
def test_leaderboard_is_the_leaderboard(ax, name):
    system, history = past(name)
    assert plots.leaderboard(system, history.state, games().players, top=12, ax=ax) is ax
    board = jr.leaderboard(system, history.state, games().players, top=12)
    (container,) = ax.containers
    np.testing.assert_array_equal(container[0].get_xdata(), board.rating)
    told = [plots.plot_helpers.format_plot_name(name) for name in board.player]
    rows = [f"{name}  {i + 1}" for i, name in enumerate(told)]
    assert [label.get_text() for label in ax.get_yticklabels()] == rows
    wide = [""] * 12 if board.deviation is None else [f" ± {1.96 * x:.0f}" for x in board.deviation]
    assert [text.get_text() for text in ax.texts] == [f"{x:.0f}{y}" for x, y in zip(board.rating, wide, strict=True)]
    low, high = sorted(ax.get_ylim())
    assert ax.yaxis_inverted() and low < 0 and high > 11
    if name == "elo":
        assert not container[2]
    else:
        ends = board.rating[:, None] + 1.96 * board.deviation[:, None] * [-1, 1]
        np.testing.assert_allclose(interval_ends(container)[:, :, 0], ends, rtol=1e-6)


def test_leaderboard_of_many_ids_and_refusals(ax):
    system = jr.glicko()
    state = system.init(system.params, 100_000)
    plots.leaderboard(system, state, top=3, cautious=3, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["player 0  1", "player 1  2", "player 2  3"]
    with refused("1 to 100 players, not 101"):
        plots.leaderboard(system, state, top=101, ax=ax)
    state = state._replace(rating=state.rating.at[:].set(np.nan))
    with refused("ratings of player 0 are not finite"):
        plots.leaderboard(system, state, top=1, ax=ax)


def test_matchups_are_the_matchups(ax):
    system, history = past("glicko")
    chosen = ["P8", "P4", "P15"]
    assert plots.matchups(system, history.state, chosen, games().players, ax=ax) is ax
    win = 100 * np.asarray(matchup_matrix(system, history.state, [8, 4, 15]))
    (image,) = ax.images
    away = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(np.asarray(image.get_array())[away], win[away], rtol=1e-6)
    assert [text.get_text() for text in ax.texts] == [f"{x:.0f}" for x in win[away]]
    assert [label.get_text() for label in ax.get_yticklabels()] == chosen
    with refused("2 to 100 players, not 1"):
        plots.matchups(system, history.state, "P8", games().players, ax=ax)


def test_large_matrices_have_a_colour_bar(ax):
    system, history = past("glicko")
    plots.matchups(system, history.state, range(13), ax=ax)
    assert not ax.texts and len(ax.figure.axes) == 2


# Careers


@lru_cache
def rated_games(clock="dates"):
    return jr.rate(jr.glicko(), games(clock))


def test_trajectory_of_a_rated_history(ax):
    (system, history), rated = past("glicko"), rated_games()
    other = Figure().subplots()
    plots.trajectory(rated, players=["P7", "P5"], ax=ax)
    plots.trajectory(system, history, games(), ["P7", "P5"], ax=other)
    for one, two in zip(ax.lines, other.lines, strict=True):
        np.testing.assert_array_equal(one.get_xdata(orig=True), two.get_xdata(orig=True))
        np.testing.assert_allclose(one.get_ydata(), two.get_ydata(), rtol=1e-6)
    for one, two in zip(ax.collections, other.collections, strict=True):
        np.testing.assert_allclose(one.get_paths()[0].vertices[:, 1], two.get_paths()[0].vertices[:, 1], rtol=1e-6)
    ax.clear()
    plots.trajectory(rated_games(None), players="P7", ax=ax)
    assert ax.get_xlabel() == "matches played" and ax.lines[0].get_xdata()[-1] == rated.games[7]


def test_leaderboards_and_matchups_of_a_rated_history(ax):
    rated = rated_games()
    plots.leaderboard(rated, top=3, ax=ax)
    names = map(plots.plot_helpers.format_plot_name, jr.leaderboard(rated, top=3).player)
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"{x}  {i + 1}" for i, x in enumerate(names)]
    ax.clear()
    plots.matchups(rated, players=["P8", "P9"], ax=ax)
    expected = 100 * np.asarray(matchup_matrix(rated, players=["P8", "P9"]))[0, 1]
    assert ax.texts[0].get_text() == f"{expected:.0f}"


def test_careers_go_through_the_ends_of_steps(ax):
    """Of a player with matches in steps 0, 1 and 4 of ten days, counted back from the end."""
    time = [0.0, 9.0, 31.0, 38.0, 49.0]
    table = {"a": ["x", "x", "x", "x", "x"], "b": ["y", "z", "y", "z", "y"], "score": [1, 0, 1, 1, 1], "time": time}
    rated = jr.rate(jr.elo(), jr.read(table))
    assert plots.careers(rated, ["x"], others=["y"], step=10.0, ax=ax) is ax
    grey, line, dot = ax.lines
    career = jr.career(rated, "x")
    after = career["rating"] + career["change"]
    np.testing.assert_array_equal(line.get_xdata(), [9.0, 38.0, 38.0, 49.0])
    np.testing.assert_allclose(line.get_ydata(), [after[1], np.nan, after[3], after[4]])
    assert dot.get_xydata().tolist() == [[49.0, after[4]]] and to_hex(grey.get_color()) == "#cccccc"
    assert [text.get_text() for text in ax.texts] == ["49", "x"] and ax.get_xlabel() == "time"


def test_names_beside_careers_stand_apart(ax):
    chosen = [f"P{i}" for i in range(4, 11)]
    plots.careers(rated_games(), chosen, others=games().players, ax=ax)
    names = [text for text in ax.texts if text.get_text() in chosen]
    assert [text.get_text() for text in names] == chosen
    places = np.array([text.xyann[1] for text in names])
    assert (np.diff(np.sort(places)) * ax.bbox.height * 72 / ax.figure.dpi > names[0].get_fontsize()).all()
    tips = np.array([text.xy for text in names])
    np.testing.assert_array_equal(np.argsort(places), np.argsort(tips[:, 1]))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in names]
    assert not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[:i])
    assert {to_hex(text.get_color()) for text in names} == set(map(str.lower, plots.COLOURS))
    peaks = [text.get_text() for text in ax.texts if text.get_text() not in chosen]
    assert len(peaks) == 7 and all(re.fullmatch(r"19\d\d", peak) for peak in peaks)


def test_careers_refuse(ax):
    for rated, options, message in (
        (rated_games(None), {}, "careers need times, and this history has none"),
        (rated_games(), {"step": 0.0}, "step must be above 0, got 0.0"),
        (rated_games(), {"others": ["Q"]}, "no player 'Q'"),
    ):
        with refused(message):
            plots.careers(rated, ["P7"], **options, ax=ax)
    with refused("1 to 7 players, not 8"):
        plots.careers(rated_games(), range(4, 12), ax=ax)
    assert not ax.lines


# Beliefs


@pytest.mark.parametrize("chunk", [64, 1000])
def test_belief_is_the_state_on_the_way(ax, monkeypatch, chunk):
    """After each match of a day the player's belief is that of a run which ends there."""
    monkeypatch.setattr(sys.modules["jaxrate.plots.belief_plot"], "MATCHES_PER_CHUNK", chunk)
    system = jr.blat_mmr(size=101, kernel_width=0.3)
    assert plots.belief(system, games(), "P7", ax=ax) is ax
    (mesh,) = [x for x in ax.collections if x.get_array() is not None and x.get_array().ndim == 2]
    assert mesh.get_rasterized()
    matches = games().matches
    day = np.unique(matches.time[(matches.player == 7).any(axis=1)])
    edges = mesh.get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, [*day, matches.time[-1]])
    grid = jr.league.blat_mmr_beliefs.belief_grid(system)
    until = np.searchsorted(matches.time, day[3], side="right")
    state = jr.run(system, slice_events(matches, 0, until), num_players=20).state
    belief = np.asarray(state.belief)[7]
    rating = mesh.get_coordinates()[:-1, 0, 1] + 0.5 * (grid[1] - grid[0])
    drawn = np.interp(rating, grid, 100 * belief / (grid[1] - grid[0]))
    np.testing.assert_allclose(np.asarray(mesh.get_array())[:, 3], drawn, rtol=0.02, atol=1e-3)
    mean = next(line for line in ax.lines if line.get_label() == "mean").get_ydata()
    np.testing.assert_allclose(mean[-2:], ratings(system, jr.run(system, matches))[0][7], rtol=1e-4)


def test_belief_refuses(ax):
    with refused("glicko has no beliefs on a grid"):
        plots.belief(jr.glicko(), games(), "P7", ax=ax)
    with refused("on a support of their own"):
        plots.belief(jr.blat_mmr(support=[-1.0, 0.0, 1.0], kernel="none"), games(), "P7", ax=ax)
    with refused("not of rounds or periods"):
        plots.belief(jr.blat_mmr(), jr.data.simulate.contests(12, 30, size=5, seed=1).rounds, 0, ax=ax)
    with refused("no match before the end"):
        plots.belief(jr.blat_mmr(), jr.matches([[0, 1], [2, 3]], [1, 0], [0.0, 1.0]), 3, ax=ax)
    assert not ax.collections


# Predictions


def test_calibration_is_that_of_the_metrics(ax):
    score = games().matches.score
    several = {name: np.asarray(past(name)[1].prediction) for name in ("elo", "glicko")}
    assert plots.calibration(several, score, bins=8, ax=ax) is ax
    for container, (name, p), said in zip(ax.containers, several.items(), texts(ax), strict=True):
        found = jr.metrics.calibration(p, score, bins=8)
        filled = found.weight > 0
        np.testing.assert_array_equal(container[0].get_xydata().T, [found.predicted[filled], found.observed[filled]])
        assert said == f"{name}, {found.error:.3f}"
        ends = interval_ends(container)[:, :, 1]
        for (low, high), share, count in zip(ends, found.observed[filled], found.weight[filled], strict=True):
            for end in (low, high):  # Wilson: where the share is 1.96 standard errors of a binomial off
                assert np.isclose((share - end) ** 2, 1.96**2 * end * (1 - end) / count, atol=1e-6)
    assert len({c[0].get_marker() for c in ax.containers}) == 2
    (above,) = ax.child_axes
    count = jr.metrics.calibration(several["elo"], score, bins=8).weight
    np.testing.assert_array_equal(above.patches[0].get_data().values, count)


def test_calibration_of_winners_is_from_either_side(ax):
    p = np.array([0.9, 0.8, 0.6, 0.3])
    plots.calibration(p, np.ones(4), bins=5, ax=ax)
    found = jr.metrics.calibration(np.append(p, 1 - p), [1] * 4 + [0] * 4, bins=5)
    np.testing.assert_allclose(ax.containers[0][0].get_ydata(), found.observed[found.weight > 0])
    np.testing.assert_allclose(ax.child_axes[0].patches[0].get_data().values, 0.5 * found.weight)


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
    np.testing.assert_allclose(ax.containers[0][0].get_xydata().T, [prediction[there], share[there]])
    assert ax.get_ylabel() == "observed share of the others"
    with refused("for rating periods, give the matches"):
        plots.calibration([0.5], jr.periods(games().matches, 50.0), ax=ax)


def test_calibration_refuses(ax):
    with refused("row 1 (counting from 0): prediction is nan"):
        plots.calibration([0.5, np.nan], [1, 0], ax=ax)
    with refused("1 to 28 systems, not 0"):
        plots.calibration({}, [1, 0], ax=ax)
    assert not ax.lines


def test_loss_by_difference(ax):
    (_, elo), (_, glicko) = past("elo"), past("glicko")
    score = np.asarray(games().matches.score, float)
    assert plots.loss_by_difference({"Elo": elo, "Glicko": glicko}, score, bins=6, ax=ax) is ax
    assert texts(ax) == ["if predictions were right", "Elo", "Glicko"]
    expected = [line for line in ax.lines if to_hex(line.get_color()) == plots.plot_helpers.GREY]
    for container, grey, history in zip(ax.containers, expected, (elo, glicko), strict=True):
        p = np.asarray(history.prediction, float)
        difference = np.abs(np.diff(np.asarray(history.before.mean, float), axis=1))[:, 0]
        edges = np.sort(difference)[[0, 99, 199, 299, 399, 499, 599]]
        x, y = container[0].get_xydata().T
        for i, (low, high) in enumerate(pairwise(edges)):
            inside = (difference >= low) & ((difference < high) | (i == 5))
            assert np.isclose(x[i], difference[inside].mean())
            assert np.isclose(y[i], jr.metrics.log_loss(p, score, mask=inside), rtol=1e-5)
            assert np.isclose(grey.get_ydata()[i], jr.metrics.log_loss(p, p, mask=inside), rtol=1e-5)
            each = -score * np.log(p) - (1 - score) * np.log1p(-p)
            error = each[inside].std(ddof=1) / inside.sum() ** 0.5
            ends = y[i] - 1.96 * error, y[i] + 1.96 * error
            np.testing.assert_allclose(interval_ends(container)[i, :, 1], ends, rtol=1e-4)


def test_loss_of_equal_ratings_is_one_bin(ax):
    history = jr.league.rating_history(jr.elo(), jr.matches([[0, 1]], [1.0]))
    plots.loss_by_difference(history, [1.0], ax=ax)
    np.testing.assert_allclose(ax.containers[0][0].get_xydata(), [[0.0, np.log(2)]], rtol=1e-6)
    few = jr.matches([[0, 1], [0, 1], [0, 2], [1, 2]], [1.0, 1.0, 0.0, 0.5])
    plots.loss_by_difference(jr.league.rating_history(jr.elo(), few), few.score, ax=ax)
    assert 1 < len(ax.containers[1][0].get_xydata()) < 4
    with refused("score is nan"):
        plots.loss_by_difference(history, [np.nan], ax=ax)
    with refused("bins must be at least 1"):
        plots.loss_by_difference(history, [1.0], bins=0, ax=ax)
    broken = history._replace(before=history.before._replace(mean=np.full((1, 2), np.nan)))
    with refused("row 0 (counting from 0): ratings are not finite"):
        plots.loss_by_difference(broken, [1.0], ax=ax)


def test_residuals(ax):
    prediction = np.asarray(past("elo")[1].prediction, float)
    assert plots.residuals(prediction, games(), top=5, ax=ax) is ax
    score, player = games().matches.score, games().matches.player
    rows = []
    for i, name in enumerate(games().players):
        first, second = player[:, 0] == i, player[:, 1] == i
        off = np.concatenate([(score - prediction)[first], (prediction - score)[second]])
        p = prediction[first | second]
        error = np.sqrt((p * (1 - p)).sum())
        mine = np.concatenate([prediction[first], 1 - prediction[second]]).mean()
        rows.append((off.sum() / error, off.mean(), error / len(off), name, mine))
    most = sorted(sorted(rows, key=lambda row: -abs(row[0]))[:5], reverse=True)
    (container,) = ax.containers
    np.testing.assert_allclose(container[0].get_xdata(), [row[1] for row in most])
    ends = [[max(x - 1.96 * e, -p), min(x + 1.96 * e, 1 - p)] for _, x, e, _, p in most]
    np.testing.assert_allclose(interval_ends(container)[:, :, 0], ends)
    games_of = [np.sum(player == list(games().players).index(row[3])) for row in most]
    assert [int(label.get_text().rpartition("(")[2][:-1]) for label in ax.get_yticklabels()] == games_of


def test_residuals_of_many_and_refusals(ax):
    random = np.random.default_rng(0)
    matches = jr.matches(np.arange(100_000).reshape(-1, 2), random.integers(0, 2, 50_000))
    plots.residuals(np.full(50_000, 0.5), matches, ax=ax)
    assert len(ax.get_yticklabels()) == 20
    assert np.abs(interval_ends(ax.containers[0])[:, :, 0]).max() == 0.5  # of one match: a win or a loss, and no more
    often = jr.matches([[0, 1], [0, 2], [0, 3]], [1, 1, 1])
    ax.clear()
    plots.residuals([0.5, 0.6, 0.7], often, min_games=2, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["player 0 (3)"]
    with refused("prediction is nan"):
        plots.residuals(np.full(50_000, np.nan), matches, ax=ax)
    with refused("1 to 100 players, not 0"):
        plots.residuals(np.full(50_000, 0.5), matches, top=0, ax=ax)


def test_a_comparison_is_of_differences(ax):
    found = jr.compare(games(), {"a_b": jr.elo(k=8), "elo": {}})
    assert plots.comparison(found, ax=ax) is ax
    behind = np.array([result.log_loss_difference for result in found.results])
    (container,) = ax.containers
    np.testing.assert_allclose(container[0].get_xdata(), behind[:, 0])
    ends = behind[:, :1] + 1.96 * np.array([-1.0, 1.0]) * behind[:, 1:]
    np.testing.assert_allclose(interval_ends(container)[:, :, 0], ends)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [result.name for result in found.results] and behind[0].tolist() == [0.0, 0.0]
    with refused("contests of many have no log loss"):
        plots.comparison(found._replace(results=[found.results[0]._replace(log_loss_difference=None)]))


# Fits


@lru_cache
def fitted():
    matches = jr.data.simulate.league(30, 1500, seed=3, side_advantage=60).matches
    return jr.fit(jr.elo(side_advantage=30), matches), matches


def test_loss_surface(ax):
    fit, matches = fitted()
    assert plots.loss_surface(fit, matches, points=7, ax=ax) is ax
    assert ax.get_xscale() == "log" and ax.get_yscale() == "linear"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k (points)", "side_advantage (points)")
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
    fit = jr.fit(jr.elo(side_advantage=30), matches, data_share=0.8, **options)
    plots.loss_surface(fit, matches, points=7, ax=ax)
    (contour,) = ax.collections
    k, side = contour.get_paths()[1].vertices[::5].T
    weight = jr.metrics.experience_mask(matches, 20) * options["weight"] * (np.arange(1500) < 1200)
    swept = jr.fitting.sweep_parameters(
        fit.system, matches, fit.params._replace(k=k, side_advantage=side), loss="brier", weight=weight
    )
    np.testing.assert_allclose(weight.sum() * (swept - fit.loss), contour.levels[1], rtol=0.15)
    assert ax.get_legend().get_title().get_text() == "summed brier above the fit's"


def test_loss_surface_of_any_pair_and_refusals(ax):
    fit, matches = fitted()
    with refused("'scale' was not fitted (those were k, side_advantage)"):
        plots.loss_surface(fit, matches, "scale", ax=ax)
    with refused("points must be at least 3"):
        plots.loss_surface(fit, matches, points=2, ax=ax)
    with refused("a surface needs two parameters"):
        plots.loss_surface(fit._replace(free=("k",)), matches, ax=ax)
    flat = fit._replace(covariance=np.full((2, 2), np.inf))
    plots.loss_surface(flat, matches, "side_advantage", points=3, ax=ax)
    assert ax.get_ylabel() == "k (points)" and len(ax.lines) == 1
    k = fit.params.k
    np.testing.assert_allclose(ax.get_ylim(), [k * np.exp(-2), k * np.exp(2)], rtol=1e-5)
    half, side = fit._replace(covariance=np.array([[np.inf, np.inf], [np.inf, 4.0]])), fit.params.side_advantage
    plots.loss_surface(half, matches, "side_advantage", points=3, ax=ax)
    np.testing.assert_allclose(ax.get_xlim(), [side - 6.0, side + 6.0], rtol=1e-5)


def test_bounds_move_on_a_surface(ax):
    """Glicko's largest deviation is the initial one, and goes with it."""
    matches = fitted()[1]
    system = jr.glicko(c=5.0)
    fit = fitted()[0]._replace(
        system=system, params=system.params, free=("c", "initial_deviation"), covariance=np.diag([1.0, 400.0])
    )
    plots.loss_surface(fit, matches, points=3, ax=ax)
    assert ax.get_ylim()[1] > system.params.deviation_max


def test_profile(ax):
    """Of losses that are a parabola in the logarithm, the interval is exact."""
    value = np.geomspace(8.0, 100.0, 9)
    loss = 0.6 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    profile = jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000)
    assert plots.profile(profile, ax=ax) is ax
    low, high = 25.0 * np.exp(-1.96 * 0.2), 25.0 * np.exp(1.96 * 0.2)
    assert texts(ax) == [f"95 %: {low:.4g} to {high:.4g}"]
    x, width = ax.patches[0].get_x(), ax.patches[0].get_width()
    np.testing.assert_allclose([x, x + width], [low, high])
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 1000 * (loss - 0.6), atol=1e-9)
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "c (points per sqrt(period))"


def test_a_profile_of_what_is_no_likelihood_gives_no_interval(ax):
    value = np.geomspace(8.0, 100.0, 9)
    loss = 0.2 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    profile = jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000, "brier", False)
    plots.profile(profile, ax=ax)
    assert ax.get_ylabel() == "summed excess brier" and not ax.patches and ax.get_legend() is None
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 1000 * (loss - 0.2), atol=1e-9)


@pytest.mark.parametrize(
    ("ends", "said"), [((24, 60), "below 37"), ((8, 26), "above 16.89"), ((22, 28), "all of these")]
)
def test_a_profile_may_be_open(ax, ends, said):
    value = np.geomspace(*ends, 5)
    loss = 0.6 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    plots.profile(jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000), ax=ax)
    assert texts(ax) == [f"95 %: {said}"]


def test_profile_refuses(ax):
    profile = jr.fitting.LossProfile(
        np.array([1.0, 2.0, 3.0]), np.array([0.6, np.nan, 0.7]), None, jr.glicko(), "c", 10
    )
    with refused("three values with finite losses, got 2"):
        plots.profile(profile, ax=ax)


# Figures


def test_without_axes_pyplot_gets_one_figure():
    open_figures = pyplot.get_fignums()
    ax = plots.leaderboard(past("elo")[0], past("elo")[1].state)
    (number,) = set(pyplot.get_fignums()) - set(open_figures)
    assert pyplot.figure(number) is ax.figure
    with refused("prediction is nan"):
        plots.calibration([np.nan], [1])
    assert len(pyplot.get_fignums()) == len(open_figures) + 1
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    "code",
    [
        "import jaxrate as jr; jr.plots.trajectory; assert 'matplotlib' not in sys.modules",
        "sys.modules['matplotlib'] = None; import jaxrate as jr\n"
        "try: jr.plots.calibration([0.5], [1])\n"
        "except ImportError as error: assert \"pip install 'jaxrate[plot]'\" in str(error)\n"
        "else: raise AssertionError",
    ],
)
def test_matplotlib_is_only_needed_to_draw(code):
    assert subprocess.run([sys.executable, "-c", "import sys; " + code]).returncode == 0
