"""Pictures of standings by their data: spread, ranks and chances against the tables that they show."""

import sys
from functools import lru_cache

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")
from matplotlib import pyplot

import jaxrate as jr
from jaxrate import plots
from jaxrate.events.dataset import Dataset
from tests.conftest import refused
from tests.test_plots import rate_and_smooth_games


@lru_cache
def rated(clock="dates"):
    matches = jr.data.simulate.league(20, 600, seed=2, draws=0.2).matches
    names = np.array([f"P{i}" for i in range(20)], object)
    data = Dataset(matches._replace(time=np.floor(matches.time)), names, np.arange(600), clock=clock)
    return jr.rate(jr.glicko(), data)


def named(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() == "name"]


def test_a_distribution_counts_who_is_listed(ax):
    board = jr.leaderboard(rated(), top=20, min_games=55)
    two = board.player[[5, 1]].tolist()
    assert plots.distribution(rated(), players=two, bins=6, min_games=55, ax=ax) is ax
    assert 2 < len(board.rating) < 20
    bars = ax.containers[0]
    np.testing.assert_array_equal([bar.get_height() for bar in bars], np.histogram(board.rating, 6)[0])
    of = dict(zip(board.player, board.rating, strict=True))
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "line of name"]
    best_first = sorted(two, key=lambda name: -of[name])
    assert marks == [of[name] for name in best_first] and named(ax) == best_first
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
    assert [name.split("\n")[0] for name in named(ax)] == players
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
    league = jr.data.simulate.league(40, 1200, seed=4)
    rated = jr.rate(jr.glicko(), jr.read({"a": [f"P{i}" for i in league.matches.player[:, 0]],
                                          "b": [f"P{i}" for i in league.matches.player[:, 1]],
                                          "score": league.matches.score, "time": np.arange(1200.0)}))  # fmt: skip
    figure = plots.ranks(rated, ["P1", "P2", "P3"], step=10.0).figure
    played = {x: jr.career(rated, x)["time"][9] for x in ("P1", "P2", "P3")}
    for panel in figure.axes[0].child_axes:
        (line,) = [line for line in panel.lines if line.get_gid() == "line"]
        tenth = played[line.get_label()]
        assert tenth <= line.get_xdata()[~np.isnan(line.get_ydata())][0] <= max(tenth + 10.0, 250.0)
    assert "from the tenth match on" in "".join(x.get_text() for x in figure.artists)
    every = plots.ranks(rated, ["P1", "P2", "P3"], step=10.0, min_games=0).figure
    assert every.axes[0].child_axes[0].lines[-1].get_xdata()[0] < 100.0
    pyplot.close(figure)
    pyplot.close(every)


def test_ranks_of_very_many_others_are_bands(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxrate.views.charts"], "MAX_GREY_LINES", 17)
    monkeypatch.setattr(sys.modules["jaxrate.views.charts"], "MIN_BAND_PLAYERS", 2)
    others = [f"P{i}" for i in range(18)]
    figure = plots.ranks(rated(), "P19", step=30.0, others=others).figure
    (ax,) = figure.axes
    assert len(ax.collections) == 2
    assert "In grey: the median, 50% and 90% of 18 others" in figure.artists[0].get_text().replace("\n", " ")
    (median,) = [line for line in ax.lines if line.get_gid() == "other"]
    board = jr.leaderboard(rated(), top=20)
    last = [rank for rank, name in zip(board.rank, board.player, strict=True) if name in others]
    assert median.get_ydata()[-1] == np.median(last)
    pyplot.close(figure)
    chart = plots.ranks(rated(), "P19", step=30.0, others=others, backend="altair").to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"][:3]] == ["area", "area", "line"]


def test_ranks_in_hindsight(ax):
    _, smoothed = rate_and_smooth_games()
    plots.ranks(smoothed, ["P7"], step=200.0, ax=ax)
    (line,) = ax.lines
    at, rank = line.get_xydata()[-2]
    board = jr.leaderboard(smoothed, top=20, as_of=float(at))
    assert board.rank[board.player == "P7"].tolist() == [rank]


def test_odds_are_those_of_the_tournament(ax):
    found = jr.forecasts.simulate_tournament(rated(), {"knockout": ["P1", "P2", "P3", "P4"]}, samples=100)
    assert plots.odds(found, ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), 100 * found.reach[:, 1:])
    assert [label.get_text() for label in ax.get_yticklabels()] == found.player.tolist()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["final", "win"]


def test_odds_of_a_season(ax):
    coming = [("P1", "P2"), ("P2", "P3"), ("P3", "P1")]
    found = jr.forecasts.simulate_season(rated(), coming, samples=100)
    plots.odds(found, top=2, ax=ax)
    np.testing.assert_allclose(ax.images[0].get_array(), 100 * found.place[:2])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]


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
    counts = {name: first[:4].count(name) for name in "xy"}
    most = max(counts, key=counts.get)
    assert counts["x"] != counts["y"] and figure.get_suptitle().replace("\n", " ").startswith(
        f"{most} ranked first most often, at the end of {counts[most]} of 4 years"
    )
    assert "at the end of each year and on Mar 1, 2004" in figure.artists[0].get_text()
    pyplot.close(figure)


def test_expected_scores_of_systems_with_a_side_are_those_without_it():
    """The title did not say where they play, and the system had its name in code."""
    table = {"a": [*"xyzx"], "b": [*"yzxz"], "score": [1, 0, 1, 1], "time": np.arange(4.0)}
    data = jr.read(table, side="a")
    for system, said in ((jr.glicko2(side_advantage=60), ", on neutral ground"), (jr.glicko2(), "")):
        figure = plots.matchups(jr.rate(system, data), players=[*"xyz"]).figure
        note = figure.artists[0].get_text().replace("\n", " ")
        assert note.endswith(f"by Glicko-2{said}; blue: favoured, orange: not")
        pyplot.close(figure)
