"""Interactive charts: the same values as in the plots of matplotlib, in specifications that Altair's schema accepts."""

import sys
from functools import lru_cache

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("altair")
pytest.importorskip("pyarrow")

from matplotlib import pyplot as plt

import jaxrate as jr
from jaxrate import plots
from jaxrate.events import slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.plots import altair_charts
from jaxrate.plots import leaderboard_plots as leaderboard_and_matchup_plots
from jaxrate.plots.altair_charts import ChartBand, ChartLine, ChartText, line_chart
from jaxrate.plots.plotted_data_and_checks import describe_source
from tests.conftest import mark_full, refused
from tests.test_plots import rate_and_smooth_games


@lru_cache
def rated():
    matches = jr.data.simulate.league(20, 600, seed=2, draws=0.2).matches
    names = np.array([f"P{i}" for i in range(20)], object)
    return jr.rate(
        jr.glicko(), Dataset(matches._replace(time=np.floor(matches.time)), names, np.arange(600), clock="dates")
    )


@lru_cache
def strengths():
    a, b = ["Ada", "Ada", "Bo", "Cy", "Di"], ["Bo", "Cy", "Cy", "Di", "Ada"]
    return jr.arena.fit_strengths(jr.arena.count_votes(a, b, wins=[7, 6, 5, 9, 4], losses=[5, 3, 4, 4, 3]))


def rows(chart, key):
    """The rows of the data in which this key occurs, and the specification."""
    specification = chart.to_dict()
    assert "url" not in str(specification).replace("$schema", "").replace("'usermeta'", "")
    layers = specification.get("layer", [specification])
    data = [layer.get("data", specification.get("data", {})).get("values", []) for layer in layers]
    return next(values for values in data if values and key in values[0]), specification


def title(specification):
    return specification["title"]["text"]


@pytest.mark.parametrize("kind", ["trajectory", "careers", "ranks"])
def test_lines_are_those_of_matplotlib(ax, kind):
    draw = {
        "trajectory": lambda **look: plots.trajectory(rated(), players=["P7", "P5"], **look),
        "careers": lambda **look: plots.careers(rated(), ["P7", "P5"], **look),
        "ranks": lambda **look: plots.ranks(rated(), ["P7", "P5"], step=30.0, **look),
    }[kind]
    draw(ax=ax)
    values, specification = rows(draw(backend="altair"), "y")
    assert "P5" in title(specification)
    for line in [line for line in ax.lines if line.get_label() in ("P7", "P5")]:
        mine = np.array([row["y"] for row in values if row["name"] == line.get_label()], float)
        np.testing.assert_allclose(mine, line.get_ydata(), atol=0.001)
        at = np.array([row["x"] for row in values if row["name"] == line.get_label()], "datetime64[D]")
        np.testing.assert_array_equal(at, np.asarray(line.get_xdata(orig=True), "datetime64[D]"))
    assert kind != "trajectory" or all("low" in row for row in values)


def test_peaks_are_dots():
    chart = plots.careers(rated(), ["P7", "P5"], backend="altair").to_dict()
    (dots,) = [layer["data"]["values"] for layer in chart["layer"] if layer["mark"].get("stroke") == "white"]
    board = jr.leaderboard(rated(), top=20, active="all")
    peaks = dict(zip(board.player, board.peak, strict=True))
    assert {row["name"]: row["y"] for row in dots} == pytest.approx({x: peaks[x] for x in ("P7", "P5")}, abs=0.01)


def test_eight_lines_have_names_at_their_ends_as_in_matplotlib():
    """The eighth made a legend of all, and 28 lines were told by dashes."""
    chart = plots.trajectory(rated(), players=range(8), backend="altair").to_dict()
    labels = [layer["data"]["values"][0]["name"] for layer in chart["layer"] if "lineHeight" in layer["mark"]]
    assert sorted(labels) == [f"P{i}" for i in range(8)] and "'legend': {" not in str(chart["layer"])
    with refused("1 to 8 named players, not 9"):
        plots.trajectory(rated(), players=range(9), backend="altair")


def test_what_was_known_then_is_dashed(ax):
    """Altair left out the dashed lines, and the title had a rating in hindsight without saying so."""
    rated, smoothed = rate_and_smooth_games()
    known = {"players": ["P5", "P7"], "smooth": smoothed}
    chart = plots.trajectory(rated, **known, backend="altair").to_dict()
    plots.trajectory(rated, **known, ax=ax)
    (then,) = [layer["data"]["values"] for layer in chart["layer"] if "strokeDash" in layer["mark"]]
    drawn = np.concatenate([line.get_ydata() for line in ax.lines if line.get_gid() == "then"])
    np.testing.assert_allclose([row["y"] for row in then], drawn, atol=0.001)
    assert title(chart).endswith(", in hindsight") and "Dashed: at the time" in chart["title"]["subtitle"][0]


def test_others_are_grey_lines():
    chart = plots.ranks(rated(), "P7", step=30.0, others=["P1", "P2"], backend="altair").to_dict()
    assert len({row["name"] for row in chart["layer"][0]["data"]["values"]}) == 2
    (names,) = [layer["encoding"] for layer in chart["layer"] if "lineHeight" in layer["mark"]]
    assert names["x"]["value"] > chart["width"]  # beside all lines


def test_leaderboards_and_intervals_have_their_rows():
    board = jr.leaderboard(rated(), top=5)
    values, specification = rows(plots.leaderboard(rated(), top=5, backend="altair"), "low")
    assert [layer["mark"]["type"] for layer in specification["layer"][:2]] == ["bar", "circle"]
    assert [row["name"] for row in values] == board.player.tolist()
    assert [row["label"].strip("\u200b").split("\u2002") for row in values] == [
        [f"{i + 1}", name] for i, name in enumerate(board.player)
    ]
    assert values[0]["text"] == f"{board.rating[0]:,.0f} ± {1.96 * board.deviation[0]:,.0f}"
    np.testing.assert_allclose([row["high"] for row in values], board.rating + 1.96 * board.deviation, atol=0.002)
    found = strengths()
    values, _ = rows(plots.intervals(found, backend="altair"), "low")
    np.testing.assert_allclose([row["value"] for row in values], found.rating[found.order], atol=0.001)


def test_matrices_have_a_cell_for_each_pair():
    values, specification = rows(plots.win_matrix(strengths(), backend="altair"), "percent")
    assert len(values) == 12 and title(specification) == "Ada favoured against the other 3, at 55% or more"
    win = 100 * strengths().probability("Ada", "Bo")[0]
    (cell,) = [row["percent"] for row in values if (row["row"], row["column"]) == ("Ada", "Bo")]
    assert cell == pytest.approx(win, abs=0.006) and specification["layer"][1]["encoding"]["text"]
    assert len(rows(plots.matchups(rated(), players=["P1", "P2"], backend="altair"), "percent")[0]) == 2


def test_matchups_of_a_large_field_are_those_of_its_best(monkeypatch):
    """With numbers in the cells, and both title and subtitle say of whom."""
    for module in (altair_charts, leaderboard_and_matchup_plots):
        monkeypatch.setattr(module, "MAX_WRITTEN_COLUMNS", 4)
    board = jr.leaderboard(rated(), top=20).player.tolist()
    values, specification = rows(plots.matchups(rated(), backend="altair"), "percent")
    assert list(dict.fromkeys(row["row"] for row in values)) == board[:4] and all(row["text"] for row in values)
    assert f"{board[0]} favoured against the next 3" in title(specification)
    assert f"the first 4 of {len(board)}" in specification["title"]["subtitle"][0]


def test_matrices_are_in_the_order_of_ratings_and_their_colours_reach_from_0_to_100():
    """The farthest of any scores had the full colour, also 52 against 48."""
    board = jr.leaderboard(rated(), top=20).player.tolist()
    values, specification = rows(plots.matchups(rated(), players=board[2::-1], backend="altair"), "percent")
    assert list(dict.fromkeys(row["row"] for row in values)) == board[:3]
    scale = specification["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert (scale[0], scale[2], scale[-1]) == (0, 50, 100)


def test_calibration_has_a_point_for_each_bin(ax):
    p, score = np.array([0.1, 0.15, 0.6, 0.9]), np.array([0, 1, 1, 1])
    plots.calibration({"one": p}, score, bins=5, ax=ax)
    values, specification = rows(plots.calibration({"one": p}, score, bins=5, backend="altair"), "observed")
    np.testing.assert_allclose([row["observed"] for row in values], ax.containers[0][0].get_ydata(), atol=1e-4)
    np.testing.assert_allclose([row["count"] for row in values], [2, 1, 1])
    axes = [layer["encoding"][axis]["axis"]["values"] for layer in specification["layer"][:4] for axis in "xy"]
    assert axes == 4 * [[0, 20, 40, 60, 80, 100], [20, 40, 60, 80, 100]]  # one zero in the corner
    written = [layer["data"]["values"] for layer in specification["layer"] if layer["mark"].get("baseline") == "bottom"]
    assert [[row["number"] for row in rows] for rows in written] == [["2", "1", "1"]]  # Altair showed no counts


@pytest.mark.parametrize("kind", ["trajectory", "leaderboard", "matchups"])
def test_the_source_stands_below_the_chart(kind):
    """It was a line of the subtitle."""
    draw = {"trajectory": {"players": ["P7", "P5"]}}.get(kind, {})
    chart = getattr(plots, kind)(rated(), **draw, backend="altair").to_dict()
    (note,) = [layer for layer in chart["layer"] if "source" in layer.get("data", {}).get("values", [{}])[0]]
    assert note["data"]["values"][0]["source"].startswith("Data: 600 matches")
    assert note["encoding"]["y"]["value"] > chart["layer"][0].get("height", chart.get("height"))
    assert "600 matches" not in str(chart["title"])


def test_charts_name_the_source_of_a_history():
    """A count alone stood there as the source, and the league that ships named none."""
    source = "Our friends, https://friends.example (CC BY 4.0). All of it."
    one = rated()._replace(options={"source": source})
    chart = plots.trajectory(one, players=["P7", "P5"], backend="altair").to_dict()
    assert any("Source: Our friends. 600 matches to Sep 27, 1972" in str(layer["data"]) for layer in chart["layer"])
    figure = plots.leaderboard(one, top=3).figure
    assert figure.get_supxlabel() == "Source: Our friends. 600 matches to Sep 27, 1972"
    plt.close(figure)
    few = jr.data.datasets.nfl()
    assert describe_source(few) == "Source: FiveThirtyEight. 16,810 matches to Feb 7, 2021"
    few = few._replace(events=slice_events(few.events, 0, 600), rows=few.rows[:600], seasons=None)
    assert describe_source(jr.rate(jr.elo(), few)).startswith("Source: FiveThirtyEight. 600 matches to ")


def test_other_backends_are_refused(ax):
    with refused("backend must be 'matplotlib' or 'altair', got 'plotly'"):
        plots.intervals(strengths(), backend="plotly")
    with refused("backend='altair' draws into none"):
        plots.intervals(strengths(), backend="altair", ax=ax)


def test_names_stand_beside_interactive_lines_with_their_peaks():
    chart = plots.careers(rated(), ["P7", "P5"], backend="altair").to_dict()
    labels = [x for x in chart["layer"] if isinstance(x["mark"], dict) and "lineHeight" in x["mark"]]
    assert [x["data"]["values"][0]["label"][0] for x in labels] == ["P7", "P5"]
    assert all(", peak " in x["data"]["values"][0]["label"][1] for x in labels)
    assert all(x["encoding"]["x"]["value"] > chart["width"] for x in labels)


def test_ranks_of_several_have_a_chart_each():
    chart = plots.ranks(rated(), ["P7", "P5", "P3"], step=30.0, backend="altair").to_dict()
    assert [panel["title"]["text"] for panel in chart["concat"]] == ["P7", "P5", "P3"]
    assert all(panel["title"]["subtitle"].startswith(("first", "best")) for panel in chart["concat"])
    names = [{row["name"] for row in panel["layer"][-2]["data"]["values"]} for panel in chart["concat"]]
    assert names == [{"P7"}, {"P5"}, {"P3"}] and chart["columns"] == 1  # with two a place was empty


def test_ticks_of_ranks_are_those_of_matplotlib(ax):
    """Of who was first all the time there was one tick alone."""
    score = np.tile([1.0, 0.0], 20)
    table = {"a": ["Ada", "Bo"] * 20, "b": ["Bo", "Ada"] * 20, "score": score, "time": np.arange(40.0)}
    league = jr.rate(jr.elo(), jr.read(table))
    chart = plots.ranks(league, "Ada", step=4.0, min_games=0, backend="altair").to_dict()
    plots.ranks(league, "Ada", step=4.0, min_games=0, ax=ax)
    ticks = chart["layer"][0]["encoding"]["y"]["axis"]["values"]
    assert ticks == ax.get_yticks().tolist() == [1, 2, 3]


def test_others_with_names_are_not_drawn_as_the_median(monkeypatch):
    """Behind each of several players the others were dotted like the median of those without names."""
    monkeypatch.setattr(sys.modules["jaxrate.plots.rank_plots"], "MAX_GREY_LINES", 2)
    chart = plots.ranks(rated(), ["P7", "P5", "P3"], step=30.0, others=rated().players, backend="altair").to_dict()
    looks = {}
    for layer in chart["concat"][0]["layer"]:
        if layer["mark"]["type"] == "line":
            looks |= {row["name"]: layer["mark"].get("strokeDash") for row in layer["data"]["values"]}
    assert looks == {"median": [1, 2], "P7": None, "P5": None, "P3": None}


def test_pictures_and_interactive_charts_agree_on_white_numbers(ax):
    votes = jr.arena.count_votes(np.arange(5), np.arange(1, 6), np.full(5, 40), np.full(5, 10))
    strengths = jr.arena.fit_strengths(votes)
    plots.win_matrix(strengths, ax=ax)
    drawn = {(text.get_position()[::-1], text.get_text()): text.get_color() for text in ax.texts}
    rows = plots.win_matrix(strengths, backend="altair").to_dict()["data"]["values"]
    names = [label.get_text() for label in ax.get_yticklabels()]
    for row in rows:
        at = names.index(row["row"]), names.index(row["column"])
        assert drawn[at, row["text"]] == row["colour"]
    assert {row["colour"] for row in rows} == {"#ffffff", "#000000"}


def test_bands_of_nobody_do_not_widen_the_time_axis():
    """Quantiles begin where there are enough players, as in the picture."""
    days = np.array(["2000-01-01", "2010-01-01", "2020-01-01"], "datetime64[D]")
    line = ChartLine("Ada", days[1:], np.array([1.0, 2.0]))
    empty = np.array([np.nan, 1.0, 2.0])
    chart = line_chart([line], ChartText("", "", "date", "rating"), bands=[ChartBand(days, empty, empty)]).to_dict()
    assert chart["layer"][0]["encoding"]["x"]["scale"]["domain"][0] == days[1].astype(int) * 86_400_000


@pytest.mark.parametrize("count", mark_full([30, 400, 1500], 1500))
def test_many_rows_are_named_and_thinned_as_in_matplotlib(count):
    """All 3,000 names were a black smear, with opaque intervals on 4,141 pixels."""
    rating = np.linspace(2500.0, 500.0, count)
    players = np.array([f"player {i}" for i in range(count)])
    error = np.full(count, 40.0)
    s = strengths()._replace(
        players=players, rating=rating, standard_error=error, is_anchor=np.zeros(count, bool),
        games=np.ones(count), covariance=None, converged=False,
    )  # fmt: skip
    axes = plots.intervals(s)
    named = [label.get_text() for label in axes.get_yticklabels()]
    values, chart = rows(plots.intervals(s, backend="altair"), "text")
    bars = chart["layer"][0]
    axis = bars["encoding"]["y"]["axis"]
    row_height = chart["height"] / count
    assert axis.get("values", [row["label"] for row in values]) == named
    step = {30: 1, 400: 10, 1500: 50}[count]
    assert step * row_height >= 10 and bars["mark"]["height"] <= row_height and chart["height"] <= 3000
    subtitle = " ".join(chart["title"]["subtitle"])
    assert (f"every {step}th named" in subtitle) == (step > 1)
    assert "results of" in axes.figure.get_supxlabel() == chart["layer"][-1]["data"]["values"][0]["source"]
    assert axes.get_xlabel() == "rating (points)" == bars["encoding"]["x"]["title"]
    plt.close(axes.figure)


def test_a_large_matrix_names_the_rows_that_matplotlib_names():
    count = 88
    s = strengths()._replace(
        players=np.array([f"player {i}" for i in range(count)]), rating=np.linspace(2500.0, 500.0, count),
        met=None,
    )  # fmt: skip
    axes = plots.win_matrix(s, range(count))
    named = [label.get_text().split("  ")[-1] for label in axes.get_yticklabels()]
    chart = plots.win_matrix(s, range(count), backend="altair").to_dict(validate=False)  # as others are
    assert [x.split("\N{EN SPACE}")[-1] for x in chart["layer"][0]["encoding"]["y"]["axis"]["values"]] == named
    assert len(named) == 18 and "every 5th named" in " ".join(chart["title"]["subtitle"])
    numbers = chart["layer"][0]["encoding"]["x"]["axis"]["values"]  # those of a hundred columns hid each other
    assert numbers == [f"{i}" for i in range(1, count + 1, 5)]
    assert axes.get_xlabel() == "against, in the order of the rows" == chart["layer"][0]["encoding"]["x"]["title"]
    plt.close(axes.figure)
