"""Pictures of careers."""

import re
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

import jaxrate as jr
from jaxrate import plots
from jaxrate.forecasts.series_and_knockout_brackets import matchup_matrix
from jaxrate.plots.name_labels import fit_names, format_plot_name
from jaxrate.plots.time_steps import spell_date
from tests.conftest import mark_full, refused
from tests.test_plots import games, past, rated_games

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


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
    names = fit_names(map(format_plot_name, jr.leaderboard(rated, top=3).player), ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"{i + 1}  {x}" for i, x in enumerate(names)]
    ax.clear()
    plots.matchups(rated, players=["P8", "P9"], ax=ax)
    expected = 100 * np.asarray(matchup_matrix(rated, players=["P8", "P9"]))[0, 1]
    assert ax.texts[0].get_text() == f"{expected:.0f}"


def test_matchups_are_of_who_is_on_the_leaderboard(ax):
    plots.matchups(rated_games(), active=5, min_games=2, ax=ax)
    board = jr.leaderboard(rated_games(), top=100, active=5, min_games=2)
    assert 1 < len(board.player) < len(rated_games().players)
    assert [label.get_text().split()[-1] for label in ax.get_yticklabels()] == board.player.tolist()
    with refused("active and min_games choose players, and these are given"):
        plots.matchups(rated_games(), players=["P8", "P9"], active=5, ax=ax)


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
    assert to_hex(grey.get_color()) == plots.scoreboard_style.PALE
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
    monkeypatch.setattr(sys.modules["jaxrate.plots.unnamed_players"], "MAX_GREY_LINES", 18)
    monkeypatch.setattr(sys.modules["jaxrate.plots.unnamed_players"], "MIN_BAND_PLAYERS", 2)
    rated, others = rated_games(), games().players[:19]
    plots.careers(rated, ["P19"], others=others, step=1e6, ax=ax)
    assert [line.get_gid() for line in ax.lines if line.get_gid()] == ["other", "career"] and len(ax.collections) == 2
    after = [(x := jr.career(rated, name))["rating"][-1] + x["change"][-1] for name in others]
    for band, share in zip(ax.collections, (0.05, 0.25), strict=True):
        y = band.get_paths()[0].vertices[:, 1]
        np.testing.assert_allclose([y.min(), y.max()], np.quantile(after, [share, 1.0 - share]), rtol=1e-6)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.median(after), rtol=1e-6)
    chart = plots.careers(rated, ["P19"], others=others, step=20.0, backend="altair").to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"][:4]] == ["area", "area", "line", "line"]


def test_others_of_a_trajectory_are_told(monkeypatch):
    for most, said, count in (
        (19, ". In grey: 18 others", 0),
        (17, ". In grey: the median, 50% and 90% of 18 others", 2),
    ):
        monkeypatch.setattr(sys.modules["jaxrate.plots.unnamed_players"], "MAX_GREY_LINES", most)
        monkeypatch.setattr(sys.modules["jaxrate.plots.unnamed_players"], "MIN_BAND_PLAYERS", 2)
        figure = plots.trajectory(rated_games(), players=["P19"], others=games().players[:18]).figure
        assert said in figure.artists[0].get_text()
        assert [band.get_gid() for band in figure.axes[0].collections].count("others") == count
        pyplot.close(figure)


def test_names_beside_careers_stand_apart(ax):
    chosen = [f"P{i}" for i in range(4, 11)]
    ax.figure.set_size_inches(6.0, 4.0)
    plots.careers(rated_games(), chosen, others=games().players, ax=ax)
    every_name = [text for text in ax.texts if text.get_text().split("\n")[0] in chosen]
    assert [text.get_text().split("\n")[0] for text in every_name] == chosen
    names = [text for text in every_name if text.xyann[0] > 1.0]
    places = np.array([text.xyann[1] for text in names])
    assert len(names) > 4
    assert (np.diff(np.sort(places)) * ax.bbox.height * 72 / ax.figure.dpi > 2 * names[0].get_fontsize()).all()
    tips = np.array([text.xy for text in names])
    np.testing.assert_array_equal(np.argsort(places), np.argsort(tips[:, 1]))
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in every_name]  # without the lines to them
    assert not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[:i])
    assert {to_hex(text.get_color()) for text in every_name} == set(plots.scoreboard_style.TEXT_COLOURS.values())
    note = r"[0-9,]+, peak [0-9,]+ in [A-Z][a-z]{2} 19\d\d"
    assert all(re.fullmatch(note, text.get_text().split("\n")[1]) for text in every_name)


def test_steps_of_many_years_are_years(ax):
    """Of a century with a season a year, the steps end with the seasons, and the ticks are seven or so."""
    days = (np.arange(100)[:, None] * 365.25 + np.arange(8)).ravel().round()
    table = {"a": ["x"] * 800, "b": ["y"] * 800, "score": [1, 0] * 400, "time": days.astype("datetime64[D]")}
    figure = plots.trajectory(jr.rate(jr.elo(), jr.read(table)), players=["x", "y"]).figure
    (ax,) = figure.axes
    assert len(ax.lines[0].get_xdata()) == 101 and 5 <= len(ax.get_xticks()) <= 9  # with the highest
    assert "at the end of each year and on Jan 8, 2069, from the tenth match on" in figure.artists[0].get_text()
    pyplot.close(figure)


@pytest.mark.parametrize("is_smoothed", mark_full([False, True], False))
def test_trajectories_are_interrupted_by_absence(is_smoothed):
    """A line went straight through the years from one career to the next, and below the peak that the title names."""
    days = np.append(np.arange(200.0), 2000.0 + np.arange(200.0))
    won = np.append(np.arange(200) < 90, np.arange(200) % 2)
    data = jr.read({"a": ["x"] * 400, "b": ["y"] * 400, "score": won * 1.0, "time": days.astype("datetime64[D]")})
    rated = jr.smooth(jr.skills(), data) if is_smoothed else jr.rate(jr.glicko(), data)
    figure = plots.trajectory(rated, players="x").figure
    (line,) = [line for line in figure.axes[0].lines if line.get_gid() == "trajectory"]
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
    days = [np.datetime64(f"{year}-01-01") + begin + 2 * i for year in range(first, last + 1) for i in range(matches)]
    pairs = [(names[0], names[1]), (names[1], names[2]), (names[0], names[2])] * len(days)
    a, b = zip(*pairs[: len(days)], strict=True)
    return {"a": a, "b": b, "score": np.ones(len(days)), "time": np.array(days)}


@pytest.mark.parametrize("draw", [plots.careers, plots.trajectory])
def test_an_off_season_is_no_absence(draw):
    """Lines were torn between any two seasons, where a step was shorter than the off-season."""
    rated = jr.rate(jr.elo(), jr.read(seasons(2001, 2012)))
    figure = draw(rated, players=["x", "y"]).figure
    lines = [line for line in figure.axes[0].lines if line.get_gid() in ("career", "trajectory")]
    assert len(lines) == 2 and not any(np.isnan(line.get_ydata()).any() for line in lines)
    assert "every 41 days" in figure.artists[0].get_text()
    pyplot.close(figure)


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
    assert line.get_gid() == "career" and np.isnan(line.get_ydata()).sum() == 2
    assert [
        dot.get_xdata().astype("datetime64[Y]").astype(str).tolist() for dot in dots if dot.get_gid() == "isolated"
    ] == [["2009"]]
    pyplot.close(figure)


def test_steps_of_years_end_with_calendar_years(ax):
    """The data end on 19 July: points stood there in each year, and the subtitle said that they were ends of years."""
    table = seasons(1990, 2019, begin=20, matches=91)
    rated = jr.rate(jr.elo(), jr.read(table))
    figure = plots.careers(rated, ["x", "y"], step=365.25).figure
    career = jr.career(rated, "x")
    x, y = figure.axes[0].lines[0].get_data()
    years, last = np.unique(career["time"].astype("datetime64[Y]")[::-1], return_index=True)
    after = (career["rating"] + career["change"])[::-1][last]
    ends = dict(zip(career["time"][::-1][last].tolist(), after.tolist(), strict=True))
    assert len(years) == 30 and {day: ends[day] for day in ends} == pytest.approx(
        {day: rating for day, rating in zip(x.tolist(), y.tolist(), strict=True) if day in ends}
    )
    assert (
        f"at the end of each year and on {spell_date(float(table['time'][-1].astype(int)))}"
        in figure.artists[0].get_text()
    )
    pyplot.close(figure)


def test_no_line_tops_its_peak():
    """The first nine events, whose ratings are no peaks, were drawn above the peak that the name told."""
    table = {"a": ["x"] * 30, "b": ["y"] * 30, "score": [1] * 4 + [0] * 8 + [1, 0] * 9, "time": np.arange(30.0)}
    rated = jr.rate(jr.elo(), jr.read(table))
    figure = plots.careers(rated, ["x"], others=["y"], step=1.0).figure
    grey, line, dot = figure.axes[0].lines
    assert line.get_ydata().max() == dot.get_ydata()[0] and line.get_xdata()[0] == grey.get_xdata()[0] == 9.0
    assert "every 1 units of time, from the tenth match on. Dots" in figure.artists[0].get_text()
    pyplot.close(figure)


@pytest.mark.parametrize("months", [1, 7, 20, 29, 30, 31, 36, 50])
def test_axes_of_dates_find_ticks(ax, months):
    """Matplotlib warned of spans of 29 to 31 months, in narrow axes too; warnings are errors here."""
    ax.plot(np.datetime64("2020-01-01") + np.array([0, 30 * months]), [0, 1])
    plots.scoreboard_style.label_time_axis(ax, "date")
    ax.figure.set_size_inches(3.0, 2.0)
    ax.figure.canvas.draw()
    assert 2 <= len(ax.get_xticks()) <= 10


def test_who_ends_at_their_peak_has_one_number():
    """The note said "2,358, peak 2,358 in 2026"."""
    table = {"a": ["x"] * 30, "b": [f"y{i}" for i in range(30)], "score": [1] * 30, "time": np.arange(30.0)}
    figure = plots.careers(jr.rate(jr.elo(), jr.read(table)), ["x"], step=1.0).figure
    (label,) = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "name"]
    assert re.fullmatch("x\n[0-9,]+, the peak", label)
    pyplot.close(figure)


def test_trajectories_of_dated_contests_speak_of_contests(share):
    """It was "before each match" of races with dates."""
    days = np.repeat(np.datetime64("2020-01-01") + np.arange(12), 3)
    table = {"contest": np.repeat(np.arange(12), 3), "player": [*"xyz"] * 12, "rank": [1, 2, 3] * 12, "time": days}
    figure = plots.trajectory(jr.rate(share(), jr.read(table)), players="x").figure
    assert "before each contest" in figure.artists[0].get_text()
    pyplot.close(figure)


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


def test_a_retired_player_has_their_name_where_their_line_ends():
    """Cy, who played on the first 200 days only, needs no line through the rest of the history to their name."""
    day = np.repeat(np.arange(0.0, 400.0, 4.0), 2)
    a, is_over = np.where(np.arange(200) % 2, "Ada", "Cy"), (np.arange(200) % 2 == 0) & (day > 200)
    table = {"a": a[~is_over], "b": np.full(200, "x")[~is_over], "score": (day % 12 < 5)[~is_over] * 1.0}
    rated = jr.rate(jr.elo(), jr.read(table | {"time": day[~is_over]}))
    figure = plots.careers(rated, ["Ada", "Cy"], step=4.0).figure
    (ax,) = figure.axes
    figure.canvas.draw()
    ada, cy = [text for text in ax.texts if text.get_gid() == "name"]
    assert ada.get_text().startswith("Ada\n") and re.fullmatch(r"Cy\npeak [0-9,]+ at [0-9]+", cy.get_text())
    assert Text.get_window_extent(ada).x0 > ax.bbox.x1 and ada.arrow_patch is not None
    box = Text.get_window_extent(cy)
    end = ax.transData.transform(cy.xy)
    assert np.hypot(*(np.clip(end, box.p0, box.p1) - end)) < 60 and box.x1 < ax.bbox.x1
    x = np.linspace(box.x0, box.x1, 50)
    for line in [line for line in ax.lines if line.get_gid() == "career"]:
        heights = np.interp(x, *ax.transData.transform(line.get_xydata()).T, left=np.nan, right=np.nan)
        assert not ((heights > box.y0) & (heights < box.y1)).any()
    pyplot.close(figure)


def test_intervals_of_more_than_two_would_hide_each_other(ax):
    plots.trajectory(rated_games(), players=["P7", "P5"], ax=ax)
    assert len(ax.collections) == 2
    plots.trajectory(rated_games(), players="P8", ax=ax)
    assert not ax.collections
    figure = plots.trajectory(rated_games(), players=["P7", "P5", "P8"]).figure
    assert not figure.axes[0].collections and "interval" not in figure.artists[0].get_text()
    pyplot.close(figure)
