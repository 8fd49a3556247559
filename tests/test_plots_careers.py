"""Pictures of careers."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import jaxrate as jr
from jaxrate import plots
from jaxrate.views.charts import THIN, WIDE
from tests.conftest import mark_full
from tests.test_plots import games, rated_games

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


def test_matchups_are_of_who_is_on_the_leaderboard(ax):
    plots.matchups(rated_games(), active=5, min_games=2, ax=ax)
    board = jr.leaderboard(rated_games(), top=100, active=5, min_games=2)
    assert 1 < len(board.player) < len(rated_games().players)
    assert [label.get_text().split()[-1] for label in ax.get_yticklabels()] == board.player.tolist()


def test_careers_go_through_the_ends_of_steps(ax):
    """Of a player with matches in steps 0, 1 and 4 of ten days, counted back from the end.

    Who pauses for 22 days after one of 9 is not absent: lines of thousands were fragments.
    """
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


def test_first_events_are_no_peaks(ax):
    """A newcomer who falls from the top has the peak that the leaderboard has, not one of their first ratings."""
    table = {"a": ["x"] * 30, "b": ["y"] * 30, "score": [1] * 4 + [0] * 8 + [1, 0] * 9, "time": np.arange(30.0)}
    rated = jr.rate(jr.elo(), jr.read(table))
    plots.careers(rated, ["x"], step=1.0, ax=ax)
    (dot,) = [line for line in ax.lines if line.get_marker() == "o"]
    board = jr.leaderboard(rated, active="all")
    peak, time = (np.asarray(column)[board.player == "x"][0] for column in (board.peak, board.peak_time))
    assert dot.get_xydata().tolist() == [[time, pytest.approx(peak)]] and time >= 9.0


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
    said = figure.artists[0].get_text()
    assert (
        "units of time, from the tenth match on. Dots mark peaks" in said
        and f"{peak:,.0f} points" in figure.get_suptitle()
    )
    pyplot.close(figure)


def test_careers_of_very_many_others_are_bands(ax, monkeypatch):
    monkeypatch.setattr(sys.modules["jaxrate.views.charts"], "MAX_GREY_LINES", 18)
    monkeypatch.setattr(sys.modules["jaxrate.views.charts"], "MIN_BAND_PLAYERS", 2)
    rated, others = rated_games(), games().players[:19]
    plots.careers(rated, ["P19"], others=others, step=1e6, ax=ax)
    assert [line.get_gid() for line in ax.lines if line.get_gid()] == ["other", "line", "peak"] and len(
        ax.collections
    ) == 2
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
    pyplot.close(figure)
    chart = plots.trajectory(rated, players="x", backend="altair").to_dict()
    assert None in [row["y"] for row in chart["layer"][1]["data"]["values"]]


def seasons(first, last, names=("x", "y", "z"), begin=60, matches=40):
    """A match each other day in a season of each year, between these three in turn; x always wins."""
    days = [
        np.datetime64(f"{year}-01-01") + np.timedelta64(begin + 2 * i, "D")
        for year in range(first, last + 1)
        for i in range(matches)
    ]
    pairs = [(names[0], names[1]), (names[1], names[2]), (names[0], names[2])] * len(days)
    a, b = zip(*pairs[: len(days)], strict=True)
    return {"a": a, "b": b, "score": np.ones(len(days)), "time": np.array(days)}


@pytest.mark.parametrize("draw", [plots.careers, plots.trajectory])
def test_an_off_season_is_no_absence_and_the_line_of_the_title_stands_out(draw):
    """Lines were torn between any two seasons, where a step was shorter than the off-season, and all equally thick."""
    rated = jr.rate(jr.elo(), jr.read(seasons(2001, 2012)))
    figure = draw(rated, players=["x", "y"]).figure
    lines = [line for line in figure.axes[0].lines if line.get_gid() == "line"]
    assert len(lines) == 2 and not any(np.isnan(line.get_ydata()).any() for line in lines)
    assert "every 41 days" in figure.artists[0].get_text()
    assert figure.get_suptitle().startswith("x ") and [line.get_linewidth() for line in lines] == [WIDE, THIN]
    pyplot.close(figure)
    chart = draw(rated, players=["x", "y"], backend="altair").to_dict()
    (widths,) = [x["encoding"]["strokeWidth"] for x in chart["layer"] if "strokeWidth" in x["encoding"]]
    assert widths["scale"] == {"domain": ["x", "y"], "range": [WIDE, THIN]}


def test_a_missed_season_is_an_absence_also_if_one_lonely_event_follows():
    """z misses 2006 to 2008; the only event of 2009, between two absences, is a dot."""
    table = {name: list(values) for name, values in seasons(2001, 2012).items()}
    is_away = [
        "z" in pair and 2006 <= day.astype(object).year <= 2010 and day != table["time"][8 * 40 + 2]
        for *pair, day in zip(table["a"], table["b"], table["time"], strict=True)
    ]
    kept = {name: [x for x, away in zip(values, is_away, strict=True) if not away] for name, values in table.items()}
    figure = plots.careers(jr.rate(jr.elo(), jr.read(kept)), ["z"]).figure
    line, *dots = figure.axes[0].lines
    assert line.get_gid() == "line" and np.isnan(line.get_ydata()).sum() == 2
    assert [
        dot.get_xdata().astype("datetime64[Y]").astype(str).tolist() for dot in dots if dot.get_gid() == "isolated"
    ] == [["2009"]]
    pyplot.close(figure)
