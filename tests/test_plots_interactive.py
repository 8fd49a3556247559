"""Interactive charts: the same values as in the plots of matplotlib, in specifications that Altair's schema accepts."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import jaxrate as jr
from jaxrate import plots
from jaxrate.plots import standing_plots
from jaxrate.views import charts
from tests.test_plots import drawn, forecast, games, past, rate_and_smooth_games, rated, subtitle
from tests.test_plots_refusals import strengths


def rows(chart, key):
    """The rows of the data in which this key occurs, and the specification."""
    specification = chart.to_dict()
    assert "url" not in str(specification).replace("$schema", "").replace("'usermeta'", "")
    layers = specification.get("layer", [specification])
    data = [layer.get("data", specification.get("data", {})).get("values", []) for layer in layers]
    return next(values for values in data if values and key in values[0]), specification


def title(specification):
    return " ".join(specification["title"]["text"])


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
    assert "{title: (datum.datum || datum).name, " in str(specification)  # the pointer showed "name: undefined"
    if kind == "careers":
        (dots,) = [x["data"]["values"] for x in specification["layer"] if x["mark"].get("stroke") == "white"]
        peaks = [line.get_ydata()[0] for line in ax.lines if line.get_gid() == "peak"]
        assert sorted(row["y"] for row in dots) == pytest.approx(sorted(peaks), abs=0.01)


def test_four_lines_have_names_at_their_ends_and_more_have_panels():
    """Eight lay over each other."""
    chart = plots.trajectory(rated(), players=range(4), backend="altair").to_dict()
    labels = [layer["data"]["values"][0]["name"] for layer in chart["layer"] if "lineHeight" in layer["mark"]]
    assert sorted(labels) == [f"P{i}" for i in range(4)] and "'legend': {" not in str(chart["layer"])
    chart = plots.trajectory(rated(), players=range(8), backend="altair").to_dict()
    assert [panel["title"]["text"] for panel in chart["concat"]] == [f"P{i}" for i in range(8)]
    panels = plots.trajectory(rated(), players=range(8)).child_axes
    assert [texts[0].get_text() for texts in (panel.texts for panel in panels)] == [f"P{i}" for i in range(8)]
    pyplot.close()


def test_panels_have_one_scale_and_one_median(monkeypatch):
    """Limits differed where dashes did, and the lines of other panels were dotted as the median of bands."""
    history, smoothed = rate_and_smooth_games()
    panels = plots.trajectory(history, players=range(5), smooth=smoothed).child_axes
    assert len({panel.get_ylim() for panel in panels}) == 1 and len(panels) == 5
    monkeypatch.setattr(charts, "MAX_GREY_LINES", 2)
    panels = plots.careers(history, players=range(5), others=range(5, 12)).child_axes
    assert {sum(line.get_gid() == "other" for line in panel.lines) for panel in panels} == {1}
    assert len({panel.get_ylim() for panel in panels}) == 1
    pyplot.close("all")


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


def test_leaderboards_have_their_rows():
    board = jr.leaderboard(rated(), top=5)
    values, _ = rows(plots.leaderboard(rated(), top=5, backend="altair"), "low")
    assert title(plots.leaderboard(rated(), cautious=2.0, backend="altair").to_dict()).endswith(" on top")
    assert [row["name"] for row in values] == board.player.tolist()
    assert [row["label"].strip("\u200b").split("\u2002") for row in values] == [
        [f"{i + 1}", name] for i, name in enumerate(board.player)
    ]
    assert values[0]["text"] == f"{board.rating[0]:,.0f} ± {1.96 * board.deviation[0]:,.0f}"
    np.testing.assert_allclose([row["high"] for row in values], board.rating + 1.96 * board.deviation, atol=0.002)


def test_matrices_have_a_cell_for_each_pair():
    values, specification = rows(plots.win_matrix(strengths(), backend="altair"), "percent")
    assert len(values) == 12 and title(specification) == "Ada favoured against the other 3, at 55% or more"
    win = 100 * strengths().probability("Ada", "Bo")[0]
    (cell,) = [row["percent"] for row in values if (row["row"], row["column"]) == ("Ada", "Bo")]
    assert cell == pytest.approx(win, abs=0.006) and specification["layer"][1]["encoding"]["text"]
    assert len(rows(plots.matchups(rated(), players=["P1", "P2"], backend="altair"), "percent")[0]) == 2


def test_matchups_of_a_large_field_are_those_of_its_best(monkeypatch):
    """With numbers in the cells, and both title and subtitle say of whom."""
    for module in (charts, standing_plots):
        monkeypatch.setattr(module, "MAX_WRITTEN_COLUMNS", 4)
    board = jr.leaderboard(rated(), top=20).player.tolist()
    values, specification = rows(plots.matchups(rated(), backend="altair"), "percent")
    assert list(dict.fromkeys(row["row"] for row in values)) == board[:4] and all(row["text"] for row in values)
    assert f"{board[0]} favoured against the next 3" in title(specification)
    assert f"the first 4 of {len(board)}" in specification["title"]["subtitle"][0]


def test_calibration_has_a_point_for_each_bin(ax):
    """Without markers and dashes two curves differed in colour alone."""
    p, score = np.array([0.1, 0.15, 0.6, 0.9]), np.array([0, 1, 1, 1])
    plots.calibration({"one": p}, score, bins=5, ax=ax)
    values, specification = rows(plots.calibration({"one": p}, score, bins=5, backend="altair"), "number")
    np.testing.assert_allclose([row["y"] for row in values], drawn(ax, "layer").get_ydata(), atol=1e-4)
    np.testing.assert_allclose([row["number"] for row in values], [2, 1, 1])
    axes = [layer["encoding"][axis]["axis"]["values"] for layer in specification["layer"] for axis in "xy"]
    assert set(map(tuple, axes)) == {(0, 20, 40, 60, 80, 100)}
    two = plots.calibration({"one": p, "two": p}, score, bins=5, backend="altair").to_dict()["layer"]
    assert {x["mark"]["shape"] for x in two if "shape" in x["mark"]} == {"circle", "square"}
    (*_, dashes) = [x["encoding"]["strokeDash"]["scale"]["range"] for x in two if "strokeDash" in x["encoding"]]
    assert len({*map(tuple, dashes)}) == 2


def test_ranks_of_three_players_have_panels_of_one_size():
    """Altair drew three lines over each other, where Matplotlib had a panel of each."""
    chart = plots.ranks(rated(), ["P7", "P5", "P3"], step=30.0, backend="altair").to_dict()
    assert [panel["title"]["text"] for panel in chart["concat"]] == ["P7", "P5", "P3"]
    y = {str(panel["layer"][-1]["encoding"]["y"]["scale"]) for panel in chart["concat"]}
    colours = [panel["layer"][1]["encoding"]["color"]["scale"]["range"] for panel in chart["concat"]]
    assert len(y) == 1 and colours == [[x] for x in plots.COLOURS[:3]]


def test_nothing_is_cut_at_the_edges():
    """The dots of peaks were, and thick lines had spikes; the axis began and ended between its ticks."""
    layers = plots.careers(rated(), ["P7", "P5"], backend="altair").to_dict()["layer"]
    for y in [layer["encoding"]["y"] for layer in layers if "axis" in layer["encoding"].get("y", ())]:
        assert y["scale"]["domain"] == [y["axis"]["values"][0], y["axis"]["values"][-1]]
    lines = [layer for layer in layers if layer["mark"]["type"] == "line"]
    begin, end = lines[0]["encoding"]["x"]["scale"]["domain"]
    times = np.array([row["x"] for row in lines[0]["data"]["values"]], "datetime64[ms]").astype(float)
    assert begin < times[0] and times[-1] < end and lines[0]["mark"]["strokeJoin"] == "round"


def fits():
    """A fit of two hyperparameters, its events, and the profile of one."""
    matches = jr.data.simulate.league(12, 200, seed=3, side_advantage=60).matches
    values, losses = np.geomspace(8.0, 100.0, 9), 0.6 + np.arange(-4, 5) ** 2 / 4000
    fit = jr.fit(jr.elo(side_advantage=30), matches, free=("k", "side_advantage"))
    return fit, matches, jr.fitting.LossProfile(values, losses, None, jr.glicko(), "c", 1000)


def odds():
    return jr.forecasts.simulate_tournament(rated(), {"knockout": ["P1", "P2", "P3", "P4"]}, samples=100)


STYLE = "COLOURS", "PAPER", "darken", "make_axes"
DRAWN = {
    "belief": lambda **look: plots.belief(jr.blat_mmr(size=101, kernel_width=0.3), games(), "P7", **look),
    "calibration": lambda **look: plots.calibration(past("elo").events["prediction"], games(), **look),
    "careers": lambda **look: plots.careers(rated(), ["P7", "P5"], others=["P1"], **look),
    "comparison": lambda **look: plots.comparison(jr.compare(games(), {"a_b": jr.elo(k=8), "elo": {}}), **look),
    "distribution": lambda **look: plots.distribution(rated(), ["P7"], **look),
    "intervals": lambda **look: plots.intervals(strengths(), **look),
    "leaderboard": lambda **look: plots.leaderboard(rated(), **look),
    "loss_by_difference": lambda **look: plots.loss_by_difference({"a": past("elo"), "b": past("glicko")}, **look),
    "loss_surface": lambda **look: plots.loss_surface(*fits()[:2], points=5, **look),
    "matchups": lambda **look: plots.matchups(rated(), **look),
    "odds": lambda **look: plots.odds(odds(), **look),
    "profile": lambda **look: plots.profile(fits()[2], **look),
    "rank_sets": lambda **look: plots.rank_sets(jr.arena.rank_sets(strengths()), **look),
    "ranks": lambda **look: plots.ranks(rated(), ["P7", "P5", "P3"], step=30.0, **look),
    "residuals": lambda **look: plots.residuals(past("elo").events["prediction"], games(), **look),
    "scorelines": lambda **look: plots.scorelines(forecast(), **look),
    "trajectory": lambda **look: plots.trajectory(rated(), ["P7", "P5"], **look),
    "win_matrix": lambda **look: plots.win_matrix(strengths(), **look),
}


@pytest.mark.parametrize("name", [name for name in plots.__all__ if name not in STYLE])
def test_every_plot_is_drawn_by_both(name):
    """Half of them refused Altair by a TypeError. For dark pages both have other colours."""
    figure, chart = DRAWN[name]().figure, DRAWN[name](backend="altair").to_dict()
    assert title(chart) == " ".join(figure.get_suptitle().split())
    source, said = figure.get_supxlabel(), subtitle(figure)
    assert " ".join(chart["title"]["subtitle"]) in (said, f"{said} {source}") and source in str(chart)
    light = plots.plot_style.DARK_COLOURS
    dark = plots.darken(DRAWN[name](backend="altair")).to_dict()
    assert dark["background"] == light[plots.PAPER] and not any(colour in str(dark).lower() for colour in light)
    assert plots.darken(figure) is figure and to_hex(figure.get_facecolor()) == light[plots.PAPER]
    texts = figure.findobj(lambda artist: hasattr(artist, "get_color") and hasattr(artist, "get_text"))
    assert not {text.get_color() for text in texts} & light.keys()
    pyplot.close(figure)
