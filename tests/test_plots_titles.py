"""Titles of plots: findings where the data decide them."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")

from jaxrate.metrics.prediction_metrics import calibration
from jaxrate.plots import findings as titles
from jaxrate.plots.views import Curve, Line

YEARS = np.array(["1990-05-01", "1991-05-01", "1992-05-01"], "datetime64[D]")


def line(name, mean, deviation=None, times=YEARS):
    return Line(name, times, np.array(mean), None if deviation is None else np.full(len(mean), deviation))


def test_a_leader_is_ahead_or_level():
    values = np.array([1543.2, 1450.0])
    assert titles.leader_title(["Ada", "Bo"], values, None, "points") == "Ada on top, 93 points ahead of Bo"
    wide = np.array([400.0, 400.0])
    assert titles.leader_title(["Ada", "Bo"], values, wide, "points") == "Ada and Bo almost level on top"
    likely = titles.leader_title(["Ada", "Bo"], values, np.array([96.4, 85.2]), "points")  # at 77%
    assert likely == "Ada probably the better, 93 points ahead of Bo"
    three = (
        np.array([1543.2, 1450.0, 1445.0]),
        np.array([96.4, 85.2, 90.0]),
    )  # 77% against the second, 64% against both
    many = np.append(values, [1449.0] * 4), np.array([96.4, 85.2] + [90.0] * 4)
    names = [*"ABCDEF"]
    assert titles.leader_title(names, *three, "points") == "A probably the best, 93 points ahead of B"
    assert titles.leader_title(names, *many, "points") == "A on top by 93 points, probably ahead of B"
    narrow = np.array([40.0, 38.0])  # at 95.5%
    assert titles.leader_title(["Ada", "Bo"], values, narrow, "points") == "Ada on top, 93 points ahead of Bo"
    assert titles.leader_title(["Ada", "Bo"], np.array([0.62, 0.6]), None, "share") == "Ada on top, 0.02 ahead of Bo"
    assert titles.leader_title(["Ada", "Bo"], values[::-1], wide, "points") == "Ada on top"  # in a cautious order
    assert titles.leader_title(["Ada", "Bo"], values[[0, 0]], None, "points") == "Ada and Bo almost level on top"
    assert titles.leader_title(["Ada"], values[:1], None, "points") == "Ada on top"


def test_lines_end_or_peak():
    ada, bo = line("Ada", [1500.0, 1700.0, 1601.0]), line("Bo", [1500.0, 1550.0, 1600.0])
    assert titles.ratings_title([bo, ada], "date", "points") == "Ada ended 1 point ahead of Bo"
    unsure = [x._replace(deviation=np.full(3, 90.0)) for x in (ada, bo)]
    assert titles.ratings_title(unsure, "date", "points") == "Ada and Bo ended almost level"
    assert titles.ratings_title([x._replace(deviation=np.full(3, 1.0)) for x in (ada, bo)], "date", "points") == (
        "Ada probably ahead of Bo at the end, by 1 point"
    )
    assert titles.ratings_title([ada], "date", "points") == "Ada peaked at 1,700 points in May 1991"
    assert titles.ratings_title([ada], "date", "points", 2) == "Ada peaked at 1,601 points in May 1992"
    retired = line("Cy", [1400.0, 1450.0, 1400.0], times=YEARS - 4000)
    assert titles.ratings_title([ada, retired], "date", "points") == ("Ada peaked highest, at 1,700 points in 1991")
    away = line("Di", [1400.0, 1450.0, 1400.0], times=YEARS - 150)  # since a fifth of the time
    assert titles.ratings_title([ada, away], "date", "points").startswith("Ada peaked highest, at 1,700 points")
    three = titles.ratings_title([ada, bo, retired], "date", "points", prefers_peaks=True)
    assert three == "Ada peaked highest, at 1,700 points in 1991"
    among = titles.ratings_title([ada, bo, retired], "date", "points", others_peak=1800.0)
    assert among == "Ada peaked highest of these 3, at 1,700 points in 1991"
    together = titles.ratings_title([ada, bo], "date", "points", prefers_peaks=True)
    assert together == "Ada peaked highest, at 1,700 points in May 1991"
    counted = line("Ada", [1.0, 3.0, 2.0], times=np.arange(1, 4))
    assert titles.ratings_title([counted], "matches played", "points") == "Ada peaked at 3 points after 2 matches"


def ranks_title(ranks, others=(), **options):
    columns = np.stack([*ranks.values(), *others], axis=1)
    return titles.ranks_title(columns, dict(enumerate(ranks)), **options)


def test_ranks_count_the_firsts():
    ranks = {"Ada": np.array([np.nan, 1.0, 1.0]), "Bo": np.array([1.0, 2.0, 2.0])}
    assert ranks_title(ranks) == "Ada ranked first most often, on 2 of 3 dates"
    assert ranks_title(ranks, is_yearly=True) == "Ada ranked first most often, at the end of 2 of 3 years"
    assert ranks_title({"Ada": ranks["Ada"]}) == "Ada ranked first on 2 of 3 dates"
    ranks["Cy"] = np.full(3, 9.0)
    assert ranks_title(ranks) == "Ada ranked first most often, on 2 of 3 dates"
    assert ranks_title(ranks, [np.ones(3)]) == "Ada ranked first most often of these 3, on 2 of 3 dates"
    ranks["Ada"][2] = 3.0
    assert ranks_title(ranks) == "Ada and Bo ranked first most often, each on 1 of 3 dates"
    behind = {"Ada": np.array([5.0, 4.0]), "Bo": np.array([6.0, 7.0])}
    assert ranks_title(behind) == "Ada reached rank 4, the best of these 2"
    assert ranks_title(behind | {"Cy": behind["Bo"]}) == "Ada reached rank 4, the best of these 3"
    assert ranks_title({"Ada": behind["Ada"]}) == "Ada reached rank 4 at best"
    behind["Bo"][0] = 4.0
    assert ranks_title(behind) == "Ada and Bo both reached rank 4 at best"


def test_a_favourite_is_one_against_everybody():
    nan = np.nan
    percent = np.array([[nan, 60.0, 80.0], [40.0, nan, 70.0], [20.0, 30.0, nan]])
    assert titles.favourite_title("ABC", percent) == "A favoured against the other 2, at 60% or more"
    assert titles.favourite_title("ABC", percent, is_cut=True) == "A favoured against the next 2, at 60% or more"
    assert titles.favourite_title("AB", percent[:2, :2]) == "A favoured against B, at 60%"
    circle = np.array([[nan, 60.0, 40.0], [40.0, nan, 60.0], [60.0, 40.0, nan]])
    assert titles.favourite_title("ABC", circle) == "Nobody favoured against both others"
    even = np.array([[nan, 50.2, 70.0], [49.8, nan, 70.0], [30.0, 30.0, nan]])
    assert titles.favourite_title("ABC", even) == "A and B even, favoured against C"
    assert titles.favourite_title("AB", even[:2, :2]) == "A and B even"
    assert titles.favourite_title("ABCDE", np.full((5, 5), nan)) == "Expected scores of A and 4 others"


def test_predictions_are_bold_or_cautious_or_true():
    random = np.random.default_rng(0)
    p = random.uniform(0.1, 0.9, 4000)
    score = (random.random(4000) < p) * 1.0

    def title(prediction):
        return titles.calibration_title({"": calibration(prediction, score)})

    assert title(p) == "Predictions came true, within chance"
    assert title(0.5 + 1.2 * (p - 0.5)).startswith("Predictions too bold")
    assert title(0.5 + 0.6 * (p - 0.5)).startswith("Predictions too cautious")
    home = np.where(p < 0.5, 0.5 * p, p)  # only underdogs scored more than predicted
    assert title(home) == "Scores higher than predicted where that is below 50%"
    assert title(p - 0.08) == "Scores higher than predicted, of underdogs and of favourites"
    two = {"right": calibration(p, score), "half": calibration(0.5 + 0.5 * (p - 0.5), score)}
    error = f"{100.0 * two['right'].error:.1f}"
    assert titles.calibration_title(two) == f"right is calibrated best, off by {error} percentage points on average"
    for score, is_clear in ((0.63, False), (0.65, True)):  # 1.5 and 2.5 standard errors of 600 matches
        assert titles._misprediction(np.array([0.6]), np.array([score]), np.array([600.0])) == (1, is_clear)


def loss_bins(difference, loss, expected, count, match_loss, error=0.01):
    difference = np.array(difference, float)
    loss, expected = (np.broadcast_to(x, difference.shape).astype(float) for x in (loss, expected))
    error = np.full(len(difference), error)
    half = 1.96 * error
    curve = Curve("", difference, loss, loss - half, loss + half, np.array(count), expected)
    return curve, np.array(match_loss, float)


def loss_title(bins):
    return titles.loss_title({name: x for name, (x, _) in bins.items()}, {name: x for name, (_, x) in bins.items()})


def test_losses_of_several_systems_are_compared_over_all_matches():
    """A title compares no curves at a difference, whose points two systems do not share."""
    noise = np.tile([-0.1, 0.1], 200)
    low, high = 0.55 + noise, 0.60 - noise

    def bins(loss, match_loss):
        return loss_bins((10, 300), loss, 0.5, [200, 200], match_loss)

    two = {"A": bins([0.7, 0.5], high), "B": bins([0.6, 0.45], low)}
    assert loss_title(two) == "B predicts better than A, beyond chance"
    three = two | {"C": bins([0.7, 0.5], high + 0.1)}
    assert loss_title(three) == "B predicts best, beyond chance"
    late = two | {"B": bins([0.5, 0.6], low)}
    assert loss_title(late) == loss_title(two)
    even = two | {"A": bins([0.7, 0.5], 0.551 - noise)}
    assert loss_title(even) == "B and A predict about equally well"


def test_surprises_respect_chance():
    alone = titles.surprise_title("Ada", 0.2, 2.5, 100, 1.9)
    assert alone == "None of 100 stands out"  # the lean may be chance
    leaning = titles.surprise_title("Ada", 0.2, 2.5, 100, 2.1)
    assert leaning == "None of 100 stands out alone, but together they scored more than expected"
    less = titles.surprise_title("Ada", 0.2, 2.5, 100, -2.1)
    assert less == "None of 100 stands out alone, but together they scored less than expected"
    assert titles.surprise_title("Ada", -0.2, -4.2, 100, 0.0) == "Ada scored less than expected, by 0.20 a match"
    assert titles.surprise_title("Ada", 0.2, 1.95, 1, 1.95) == "Ada scored as expected, within chance"
    assert titles.surprise_title("Ada", 0.2, 1.97, 1, 1.97) == "Ada scored more than expected, by 0.20 a match"
    assert np.round(titles.surprise_limit(1), 2) == 1.96 and np.round(titles.surprise_limit(100), 2) == 3.48
