"""Pictures of standings by their data: spread, ranks and chances against the tables that they show."""

import sys
from functools import lru_cache

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")
from matplotlib import pyplot
from matplotlib.text import Text

import jaxrate as jr
from jaxrate import plots
from jaxrate.events.dataset import Dataset
from jaxrate.plots.altair_charts import ChartLine
from jaxrate.plots.rank_plots import _draw_panels, _set_rank_axis
from jaxrate.plots.unnamed_players import UnnamedPlayers
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
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "player"]
    assert marks == [of[name] for name in two] and named(ax) == two
    missing = next(f"P{i}" for i in range(20) if f"P{i}" not in of)
    for options, message in (
        ({"players": missing}, f"{missing} is not among the {len(of)} who are listed"),
        ({"players": "Q"}, "no player 'Q'"),
        ({"bins": 0}, "bins must be at least 1"),
        ({"players": range(9)}, "0 to 8 players with names, not 9"),
    ):
        with refused(message):
            plots.distribution(rated(), **({"min_games": 55} | options), ax=ax)


def test_plots_of_teams_and_models_call_nobody_players():
    """Data do not say what those who are rated are called."""
    strengths = jr.arena.fit_strengths(jr.arena.count_votes([0, 1], [1, 0], [1, 1], [1, 1]))
    odds = jr.forecasts.simulate_tournament(rated(), {"knockout": ["P1", "P2", "P3", "P4"]}, samples=100)
    for ax in (
        plots.distribution(rated()),
        plots.odds(odds),
        plots.intervals(strengths),
        plots.residuals(np.full(60, 0.5), jr.data.simulate.league(6, 60, seed=1).matches),
    ):
        texts = [ax.get_ylabel(), ax.get_xlabel(), ax.figure.get_suptitle(), ax.figure.get_supxlabel()]
        texts += [note.get_text() for note in ax.figure.artists]
        assert "players" not in " ".join(texts)
        pyplot.close(ax.figure)


def test_names_above_a_distribution_stand_apart():
    board = jr.leaderboard(rated(), top=20, min_games=1)
    figure = plots.distribution(rated(), players=board.player[6:14].tolist(), min_games=1).figure
    (ax,) = figure.axes
    figure.canvas.draw()
    names = [text for text in ax.texts if text.get_gid() in ("name", "median")]
    boxes = [Text.get_window_extent(text) for text in names]  # without the lines to them
    assert len(names) == 9 and not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[:i])
    for text, one in zip(names, boxes, strict=True):
        at = ax.transData.transform((text.xy[0], 0.0))[0]
        assert not any(two.x0 + 0.5 < at < two.x1 and two.y1 <= one.y0 for two in boxes)  # no line crosses a name
    pyplot.close(figure)


def test_a_distribution_has_bins_for_its_players(ax):
    def bins(ratings):
        system = jr.elo()
        state = system.init(system.params, len(ratings))._replace(rating=np.asarray(ratings, np.float32))
        return len(plots.distribution(system, state, ax=ax).containers[-1])

    normal = np.random.default_rng(0).normal(1500, 200, 5000)
    assert [bins(normal[:n]) for n in (1, 5, 50)] == [1, 4, 7] and bins([1500, 1500]) == 1
    assert bins(normal[:500]) == len(np.histogram_bin_edges(normal[:500].astype("f"), "auto")) - 1 > 15
    assert bins(np.append(normal, 9000)) == 60
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
    for options, message in (
        ({"step": 0.0}, "step must be above 0, got 0.0"),
        ({"min_games": 1000}, "P7 is never listed"),
        ({"active": -1}, "active must be a number of days above 0"),
    ):
        with refused(message):
            plots.ranks(rated(), "P7", **options, ax=ax)
    with refused("ranks through time need times"):
        plots.ranks(rated(None), "P7", ax=ax)
    with refused("1 to 8 players, not 9"):
        plots.ranks(rated(), range(9), ax=ax)


def test_ranks_begin_while_most_players_never_are_listed(ax):
    """Of many who play once the champion of the first years was "never listed": never half of all were."""
    random, times, rows = np.random.default_rng(0), np.arange(3000.0), []
    for time in times:
        first = "Champion" if time < 600 else "A"
        rows.append((first, random.choice([*"BCD"]), 1.0, time))
        rows.append((f"guest {time}", f"guest {time}, too", 1.0, time))
    table = dict(zip(("a", "b", "score", "time"), map(list, zip(*rows, strict=True)), strict=True))
    rated = jr.rate(jr.elo(), jr.read(table))
    plots.ranks(rated, "Champion", step=100.0, active=150.0, min_games=10, ax=ax)
    assert ax.lines[0].get_xdata()[0] < 300.0 and np.nanmin(ax.lines[0].get_ydata()) == 1.0


def test_ranks_say_who_is_listed_too_early(ax):
    """Two who play often beside guests are few; the plot begins with the twelve who play often later."""
    rows = [(f"guest {time}", f"guest {time}, too", 1.0, time) for time in np.arange(100.0)]
    rows[:30] = [row for guests in rows[:30] for row in (guests, ("Early", "Other", 1.0, guests[3]))]
    rows += [(f"P{i}", f"P{i + 6}", 1.0, time) for time in 100.0 + np.arange(200.0) for i in range(6)]
    table = dict(zip(("a", "b", "score", "time"), map(list, zip(*rows, strict=True)), strict=True))
    rated = jr.rate(jr.elo(), jr.read(table))
    with refused("Early is only listed before 1"):
        plots.ranks(rated, ["Early", "P1"], step=10.0, active=30.0, min_games=10, ax=ax)


def test_ranks_begin_when_ratings_are_settled():
    """The finding was that somebody reached rank 2 by the first of all matches, when hardly anybody had a rating."""
    league = jr.data.simulate.league(40, 1200, seed=4)
    rated = jr.rate(jr.glicko(), jr.read({"a": [f"P{i}" for i in league.matches.player[:, 0]],
                                          "b": [f"P{i}" for i in league.matches.player[:, 1]],
                                          "score": league.matches.score, "time": np.arange(1200.0)}))  # fmt: skip
    figure = plots.ranks(rated, ["P1", "P2", "P3"], step=10.0).figure
    played = {x: jr.career(rated, x)["time"][9] for x in ("P1", "P2", "P3")}
    for panel in figure.axes[0].child_axes:
        (line,) = [line for line in panel.lines if line.get_gid() == "rank"]
        tenth = played[line.get_label()]
        assert tenth <= line.get_xdata()[~np.isnan(line.get_ydata())][0] <= max(tenth + 10.0, 250.0)
    assert "from the tenth match on" in "".join(x.get_text() for x in figure.artists)
    every = plots.ranks(rated, ["P1", "P2", "P3"], step=10.0, min_games=0).figure
    assert every.axes[0].child_axes[0].lines[-1].get_xdata()[0] < 100.0
    pyplot.close(figure)
    pyplot.close(every)


def test_ranks_at_ticks_do_not_lie_on_the_panel_beside():
    rank = {f"P{i}": np.array([1.0, 12345.0]) for i in range(4)}
    lines = [ChartLine(name, np.arange(2.0), y) for name, y in rank.items()]
    ax = plots.make_axes(size=(8.5, 4.0), title="x")
    _draw_panels(ax, lines, UnnamedPlayers(), "time")
    ax.figure.draw_without_rendering()
    left, right = ax.child_axes[:2]
    assert min(x.get_window_extent().x0 for x in right.get_yticklabels()) > left.bbox.x1
    pyplot.close(ax.figure)


@pytest.mark.parametrize(("count", "columns"), [(3, 1), (4, 2), (5, 1)])
def test_no_place_for_a_panel_is_empty(ax, count, columns):
    """The last of an odd number stood beside an empty place, and years at two heights."""
    lines = [ChartLine(f"P{i}", np.arange(2.0), np.array([1.0, 9.0])) for i in range(count)]
    _draw_panels(ax, lines, UnnamedPlayers(), "time")
    ax.figure.draw_without_rendering()
    left, bottom = (np.unique(np.round([getattr(x.bbox, side) for x in ax.child_axes], 3)) for side in ("x0", "y0"))
    assert (len(left), len(left) * len(bottom)) == (columns, count)
    dated = [x for x in ax.child_axes if x.get_xlabel()]
    assert len(dated) == columns and all(abs(x.bbox.y0 - bottom[0]) < 0.01 for x in dated)


def test_ranks_of_three_or_more_have_a_panel_each(ax):
    """With the others in grey, and a note that says how often each was first; all have the same axes."""
    board = jr.leaderboard(rated(), top=20)
    players = board.player[[0, 3, 6]].tolist()
    assert plots.ranks(rated(), players, step=30.0, ax=ax) is ax
    for name, rank, panel in zip(players, board.rank[[0, 3, 6]], ax.child_axes, strict=True):
        (mine,) = [line for line in panel.lines if line.get_gid() == "rank"]
        assert named(panel) == [name] and mine.get_label() == name and len(panel.lines) == 3
        (note,) = [text.get_text() for text in panel.texts if text.get_gid() == "note"]
        firsts = int((mine.get_ydata() == 1).sum())
        best = {0: f"best {np.nanmin(mine.get_ydata()):.0f}", 1: "first once", 2: "first twice"}.get(
            firsts, f"first {firsts} times"
        )
        assert note == f"{best}, now {rank}"
        assert (panel.get_xlim(), panel.get_ylim()) == (ax.child_axes[0].get_xlim(), ax.child_axes[0].get_ylim())


@pytest.mark.parametrize(("ranks", "ticks"), [
    ((1, 30), [1, 2, 3, 5, 10, 20, 30]), ((12, 80), [12, 20, 30, 50]), ((211, 243), [211, 220, 230, 240]),
    ((7, 9), [7, 8, 9]), ((98, 3000), [98, 200, 300, 500, 1000, 2000, 3000]),
])  # fmt: skip
def test_the_best_rank_that_is_shown_is_on_top(ax, ranks, ticks):
    ax.plot([0, 1], ranks)
    ax.set_yscale("log")
    _set_rank_axis(ax)
    worst, best = ax.get_ylim()
    assert 0.8 * ranks[0] <= best < ranks[0] and ranks[1] < worst
    assert [int(label.get_text().replace(",", "")) for label in ax.get_yticklabels()] == ticks


def test_ranks_of_very_many_others_are_bands(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxrate.plots.rank_plots"], "MAX_GREY_LINES", 17)
    monkeypatch.setattr(sys.modules["jaxrate.plots.unnamed_players"], "MIN_BAND_PLAYERS", 2)
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


def test_a_rank_that_stands_alone_is_seen(ax):
    plots.ranks(rated(), "P7", step=1e6, ax=ax)
    line = ax.lines[0]
    assert len(line.get_xdata()) == 1 and line.get_marker() not in ("", "None")


def test_ranks_of_one_step_are_no_marks(ax):
    """Dots of years between years without a rank were as large as the dot that marks the last rank."""
    days = np.concatenate([np.arange(10.0), [1000.0], 2000.0 + np.arange(400.0)])
    rows = len(days)
    table = {"a": ["x"] * rows, "b": ["y"] * rows, "score": [1, 0, 1] * (rows // 3), "time": days}
    plots.ranks(jr.rate(jr.elo(), jr.read(table)), "x", step=100.0, active=100.0, min_games=0, ax=ax)
    line, dots = ax.lines
    assert line.get_markevery() == [len(line.get_xdata()) - 1]
    assert dots.get_gid() == "isolated" and len(dots.get_xdata()) == 2
    assert dots.get_markersize() < 0.8 * line.get_markersize()


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
    with refused(
        "odds: simulation must be a TournamentForecast (as of jr.forecasts.simulate_tournament) or a SeasonForecast "
        "(as of jr.forecasts.simulate_season), got one of type History"
    ):
        plots.odds(rated(), ax=ax)


def test_odds_of_a_season(ax):
    coming = [("P1", "P2"), ("P2", "P3"), ("P3", "P1")]
    found = jr.forecasts.simulate_season(rated(), coming, samples=100)
    plots.odds(found, top=2, ax=ax)
    np.testing.assert_allclose(ax.images[0].get_array(), 100 * found.place[:2])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]


def test_ranks_follow_one_rule_and_begin_when_half_are_listed(ax):
    matches = jr.data.simulate.league(40, 900, seed=3).matches
    names = np.array([f"P{i}" for i in range(40)], object)
    time = np.floor(np.arange(900) / 3.0)
    data = jr.rate(jr.glicko(), Dataset(matches._replace(time=time), names, np.arange(900), clock="dates"))
    assert "had played 10 times" in jr.leaderboard(data).scope or jr.leaderboard(data, top=40).games.min() >= 10
    plots.ranks(data, ["P7", "P3"], step=10.0, min_games=10, ax=ax)
    first = min(line.get_xdata(orig=True)[0] for line in ax.lines)
    listed = [len(jr.leaderboard(data, top=40, as_of=first, min_games=x).player) for x in (0, 10)]
    assert 2 * listed[1] >= listed[0] == 40


def test_ranks_of_years_are_those_at_their_ends():
    """The title counted years back from the last event, and a year that is not over yet."""
    days = [f"{year}-{day}" for year in range(2000, 2004) for day in ("02-01", "11-01")] + ["2004-03-01"]
    won = [0, 0, 1, 1, 1, 1, 1, 1, 1]
    table = {"a": ["x"] * 9, "b": ["y"] * 9, "score": won, "time": np.array(days, "datetime64[D]")}
    rated = jr.rate(jr.elo(), jr.read(table))
    figure = plots.ranks(rated, ["x", "y"], step=365.25, min_games=0).figure
    ends = [*(f"{year}-12-31" for year in range(2000, 2004)), "2004-03-01"]
    first = [jr.leaderboard(rated, as_of=end, top=1, min_games=0).player[0] for end in ends]
    lines = {line.get_label(): line for line in figure.axes[0].lines if line.get_gid() == "rank"}
    assert lines["x"].get_xdata(orig=True).astype(str).tolist() == ends
    assert [name == "x" for name in first] == (lines["x"].get_ydata() == 1).tolist()
    counts = {name: first[:4].count(name) for name in "xy"}
    most = max(counts, key=counts.get)
    assert counts["x"] != counts["y"] and figure.get_suptitle().replace("\n", " ").startswith(
        f"{most} ranked first more often than {'xy'.replace(most, '')}, at the end of {counts[most]} of 4 years"
    )
    assert "at the end of each year and on Mar 1, 2004" in figure.artists[0].get_text()
    pyplot.close(figure)


def test_who_is_not_drawn_may_have_been_first_more_often():
    """Spain was "first most often" of three who were drawn, and Brazil, who was not, more often."""
    table = {"a": [*"xx", *"z" * 20], "b": [*"yw", *"x" * 20], "score": [1] * 22, "time": np.arange(22.0)}
    rated = jr.rate(jr.elo(), jr.read(table))
    figure = plots.ranks(rated, ["x", "y", "w"], step=1.0, min_games=0).figure
    assert "first most often of these 3, on" in figure.get_suptitle().replace("\n", " ")
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
