"""Pictures of strengths at rest by their data: intervals, bars and numbers against what was found."""

from itertools import pairwise

import numpy as np
import pytest
import scipy
from matplotlib import pyplot

import jaxrate as jr
from jaxrate import plots
from jaxrate.metrics.prediction_metrics import observed_share_of_sides_beaten
from jaxrate.plots.plot_style import fit_names, format_plot_name
from tests.test_plots import games, interval_ends, past, texts

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb

from jaxrate.plots.plot_style import SEQUENTIAL_COLOURS, cell_text_colour
from jaxrate.plots.standing_plots import CONTENDERS
from jaxrate.views.charts import DIVERGING_COLOURS, mix_colours
from jaxrate.views.findings import find_first_place


@pytest.fixture(scope="module")
def found():
    """Five who beat each other, Eve who is held, and Low who only lost; ties among them."""
    a, b = ["Ada", "Ada", "Bo", "$Cy$", "Di", "Ada"], ["Bo", "$Cy$", "$Cy$", "Di", "Eve", "Low"]
    votes = jr.arena.count_votes(a, b, wins=[7, 6, 5, 9, 4, 3], losses=[5, 3, 4, 4, 3, 0], ties=[2, 1, 3, 1, 2, 0])
    return jr.arena.fit_strengths(votes, anchors={"Eve": 1400.0})


def rows(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_intervals_are_those_of_the_table(ax, found):
    assert plots.intervals(found, ax=ax) is ax
    order = [i for i in found.order if np.isfinite(found.rating[i])]
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in order] and "Low" not in rows(ax)
    free = [i for i in order if not found.is_anchor[i]]
    (bars,) = ax.containers[0][2]
    ends = np.array(bars.get_segments())[~found.is_anchor[order], :, 0]
    wide = scipy.stats.norm.ppf(0.975) * found.standard_error[free]
    np.testing.assert_allclose(ends, np.stack([found.rating[free] - wide, found.rating[free] + wide], axis=1))
    np.testing.assert_allclose(ax.containers[0][0].get_xdata(), found.rating[order])


def test_intervals_of_the_best(ax, found):
    plots.intervals(found, top=2, ax=ax)
    assert len(rows(ax)) == 2


def test_rank_sets_are_bars_from_the_least_to_the_greatest_rank(ax, found):
    ranks = jr.arena.rank_sets(found, level=0.5)
    assert (ranks.least[:-1] > 1).any()
    assert plots.rank_sets(ranks, ax=ax) is ax
    bars = np.array([(bar.get_x() + 0.4, bar.get_x() + bar.get_width() - 0.4) for bar in ax.patches])
    order = found.order
    np.testing.assert_allclose(bars, np.stack([ranks.least, ranks.greatest], axis=1)[order])
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in order]
    assert ax.lines[0].get_xdata()[:5].tolist() == [1, 2, 3, 4, 5] and ax.get_xlabel() == "rank (simultaneous at 50%)"


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
        pyplot.close(ax.figure)


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


# Pictures of predictions.

pytest.importorskip("pyarrow")


# Predictions


def test_calibration_is_that_of_the_metrics(ax):
    score = games().matches.score
    several = {name: past(name).events["prediction"] for name in ("elo", "glicko")}
    assert plots.calibration(several, score, bins=8, ax=ax) is ax
    for container, (name, p), said in zip(ax.containers, several.items(), texts(ax), strict=True):
        found = jr.metrics.calibration(p, score, bins=8)
        filled = found.weight > 0
        np.testing.assert_array_equal(
            container[0].get_xydata().T, [100.0 * found.predicted[filled], 100.0 * found.observed[filled]]
        )
        assert said == f"{name}, {100 * found.error:.1f}"
        ends = interval_ends(container)[:, :, 1] / 100.0
        for (low, high), share, count in zip(ends, found.observed[filled], found.weight[filled], strict=True):
            for end in (low, high):  # Wilson: where the share is 1.96 standard errors of a binomial off
                assert np.isclose((share - end) ** 2, 1.96**2 * end * (1 - end) / count, atol=1e-6)
    assert len({c[0].get_marker() for c in ax.containers}) == 2


def test_calibration_of_winners_is_from_either_side(ax):
    p = np.array([0.9, 0.8, 0.6, 0.3])
    plots.calibration(p, np.ones(4), bins=5, ax=ax)
    found = jr.metrics.calibration(np.append(p, 1 - p), [1] * 4 + [0] * 4, bins=5)
    np.testing.assert_allclose(ax.containers[0][0].get_ydata(), 100.0 * found.observed[found.weight > 0])


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
    np.testing.assert_allclose(ax.containers[0][0].get_xydata().T, [100.0 * prediction[there], 100.0 * share[there]])
    assert ax.get_ylabel() == "observed share of the others beaten (%)"


def test_loss_by_difference(ax):
    elo, glicko = past("elo"), past("glicko")
    score = np.asarray(games().matches.score, float)
    assert plots.loss_by_difference({"Elo": elo, "Glicko": glicko}, bins=6, ax=ax) is ax
    means = [float(jr.metrics.log_loss(rated.events["prediction"], score)) for rated in (elo, glicko)]
    assert texts(ax) == ["if predictions were right", f"Elo, {means[0]:.3f}", f"Glicko, {means[1]:.3f}"]
    assert ax.get_legend().get_title().get_text() == "mean over all matches"
    expected = [line for line in ax.lines if line.get_gid() == "right predictions"]
    assert [line.get_color() for line in expected] == [one[0].get_color() for one in ax.containers]
    for container, grey, rated in zip(ax.containers, expected, (elo, glicko), strict=True):
        p = np.asarray(rated.events["prediction"], float)
        difference = np.abs(np.diff(np.asarray(rated.events["rating"], float), axis=1))[:, 0]
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
    one = jr.rate(jr.elo(), [{"a": "x", "b": "y", "score": 1.0}])
    plots.loss_by_difference(one, ax=ax)
    np.testing.assert_allclose(ax.containers[0][0].get_xydata(), [[0.0, np.log(2)]], rtol=1e-6)
    few = {"a": [*"xxxy"], "b": [*"yyzz"], "score": [1.0, 1.0, 0.0, 0.5]}
    plots.loss_by_difference(jr.rate(jr.elo(), few), ax=ax)
    assert 1 < len(ax.containers[1][0].get_xydata()) < 4


def test_residuals(ax):
    prediction = np.asarray(past("elo").events["prediction"], float)
    assert plots.residuals(prediction, games(), top=5, ax=ax) is ax
    score, player = games().matches.score, games().matches.player
    rows = []
    for i, name in enumerate(games().players):
        first, second = player[:, 0] == i, player[:, 1] == i
        off = np.concatenate([(score - prediction)[first], (prediction - score)[second]])
        p = prediction[first | second]
        error = np.sqrt((p * (1 - p)).sum())
        rows.append((off.sum() / error, off.mean(), error / len(off), name))
    most = sorted(sorted(rows, key=lambda row: -abs(row[0]))[:5], reverse=True)
    (container,) = ax.containers
    np.testing.assert_allclose(container[0].get_xdata(), [row[1] for row in most])
    ends = [[x - 1.96 * e, x + 1.96 * e] for _, x, e, _ in most]  # as far to either side, also at the largest score
    np.testing.assert_allclose(interval_ends(container)[:, :, 0], ends)
    games_of = [np.sum(player == list(games().players).index(row[3])) for row in most]
    assert [label.get_text() for label in ax.get_yticklabels()] == fit_names([format_plot_name(x[3]) for x in most], ax)
    values = [f"{x[0]:+.1f} ({n})".replace("-", "\N{MINUS SIGN}") for x, n in zip(most, games_of, strict=True)]
    assert [text.get_text() for text in ax.texts] == [*values, "z (matches)"]


def test_residuals_are_of_who_still_plays(ax):
    """Gone has played more than a year before the end, and surprised most."""
    a, b = ["Gone"] * 12 + ["Ada"] * 12, ["Bo"] * 24
    days = np.datetime64("2020-01-01") + np.append(np.arange(12), 500 + np.arange(12))
    data = jr.read({"a": a, "b": b, "score": [1] * 12 + [1, 0] * 6, "date": days})
    plots.residuals(np.full(24, 0.5), data, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Ada", "Bo"]
    ax.clear()
    plots.residuals(np.full(24, 0.5), data, active="all", ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Gone", "Ada", "Bo"]
    figure = plots.residuals(np.full(24, 0.5), data, top=1).figure
    said = " ".join(figure.artists[0].get_text().split())
    assert "of the 1 most surprising of 2 who played in the last 365 days" in said
    assert "beyond ±2.2 it is more than chance" in said
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
    pyplot.close(figure)


def test_residuals_of_many(ax):
    random = np.random.default_rng(0)
    matches = jr.matches(np.arange(100_000).reshape(-1, 2), random.integers(0, 2, 50_000))
    plots.residuals(np.full(50_000, 0.5), matches, ax=ax)
    assert len(ax.get_yticklabels()) == 20
    assert np.abs(interval_ends(ax.containers[0])[:, :, 0]).max() == pytest.approx(0.5 + 1.96 * 0.5)  # of one match
    often = jr.matches([[0, 1], [0, 2], [0, 3]], [1, 1, 1])
    ax.clear()
    plots.residuals([0.5, 0.6, 0.7], often, min_games=2, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["player 0"] and ax.texts[0].get_text().endswith(
        " (3)"
    )


def test_a_comparison_is_of_differences(ax):
    found = jr.compare(games(), {"a_b": jr.elo(k=8), "elo": {}})
    assert plots.comparison(found, ax=ax) is ax
    behind = np.array([result.log_loss_difference for result in found.results])
    (container,) = ax.containers
    np.testing.assert_allclose(container[0].get_xdata(), behind[:, 0])
    ends = behind[:, :1] + 1.96 * np.array([-1.0, 1.0]) * behind[:, 1:]
    np.testing.assert_allclose(interval_ends(container)[:, :, 0], ends)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["Elo" if result.name == "elo" else result.name for result in found.results] and behind[
        0
    ].tolist() == [0.0, 0.0]
