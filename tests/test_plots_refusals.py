"""What no picture can show is refused, and no axes are drawn into."""

from functools import lru_cache

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import plots
from tests.conftest import refused
from tests.test_plots import forecast, games, past, rated_games

NAN = np.nan


@lru_cache
def strengths():
    a, b = ["Ada", "Ada", "Bo", "Cy", "Di"], ["Bo", "Cy", "Cy", "Di", "Ada"]
    return jr.arena.fit_strengths(jr.arena.count_votes(a, b, wins=[7, 6, 5, 9, 4], losses=[5, 3, 4, 4, 3]))


def broken():
    """A history with a rating that is not finite, and the player who has it."""
    rated = past("elo")
    rating = rated.events["rating"].copy()
    rating[300] = NAN
    return rated._replace(events=rated.events | {"rating": rating}), int(rated.events["player"][300, 0])


def alone():
    return jr.rate(jr.elo(), games()._replace(players=np.append(games().players, "alone")))


def profile():
    loss = np.array([0.6, NAN, 0.7])
    return jr.fitting.LossProfile(np.array([1.0, 2.0, 3.0]), loss, None, jr.glicko(), "c", 10)


def one_match(prediction):
    one = jr.rate(jr.elo(), [{"a": "x", "b": "y", "score": 1.0}])
    return one._replace(events=one.events | {"prediction": np.full(1, prediction)})


def compared_contests():
    found = jr.compare(games(), {"a_b": jr.elo(k=8), "elo": {}})
    return found._replace(results=[found.results[0]._replace(log_loss_difference=None)])


CONTESTS = jr.data.from_teams([[["Ada"], ["Bo"], ["Cy"]]])


def trajectory(player):
    return lambda ax: plots.trajectory(past("elo"), player, ax=ax)


def ranks(players="P7", **options):
    return lambda ax: plots.ranks(rated_games(), players, **options, ax=ax)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (trajectory("P77"), "no player 'P77'; did you mean 'P7'?"),
        (trajectory([4, "P4"]), "player 'P4' is named twice"),
        (lambda ax: plots.trajectory(alone(), "alone", ax=ax), "alone plays in none"),
        (lambda ax: plots.trajectory(rated_games(), "P7", skip=1000, ax=ax), "skip must be from 0 to"),
        (lambda ax: plots.trajectory(*broken(), ax=ax), "are not finite"),
        (lambda ax: plots.careers(rated_games(None), ["P7"], ax=ax), "careers need times, and this history has none"),
        (ranks(min_games=1000), "P7 is never listed"),
        (lambda ax: plots.leaderboard(jr.rate(jr.elo(), {"a": range(200), "b": range(1, 201), "score": [1.0] * 200}),
                                      top=151, ax=ax), "1 to 150 players, not 151"),
        (lambda ax: plots.matchups(past("glicko"), "P8", ax=ax), "2 to 200 players, not 1"),
        (lambda ax: plots.matchups(rated_games(), ["P8", "P9"], active=5, ax=ax), "active: players are given, and n"),
        (lambda ax: plots.intervals(strengths(), backend="altair", ax=ax), "backend='altair' draws into none"),
        (lambda ax: plots.calibration([0.5, NAN], [1, 0], ax=ax), "row 1 (counting from 0): prediction is nan"),
        (lambda ax: plots.calibration([0.5], jr.periods(games().matches, 50.0), ax=ax), "for rating periods, give the"),
        (lambda ax: plots.loss_by_difference(one_match(NAN), ax=ax), "row 0 (counting from 0): predictions are not"),
        (lambda ax: plots.loss_by_difference(jr.rate(jr.elo_mmr(), CONTESTS), ax=ax), "needs matches, and predictions"),
        (lambda ax: plots.loss_by_difference({"one": one_match(0.5), "all": past("elo")}, ax=ax), "the same matches"),
        (lambda ax: plots.comparison(compared_contests(), ax=ax), "contests of many have no log loss"),
        (lambda ax: plots.belief(jr.blat_mmr(support=[-1.0, 0.0, 1.0], kernel="none"), games(), "P7", ax=ax),
         "on a support of their own"),
        (lambda ax: plots.belief(jr.blat_mmr(), jr.data.simulate.contests(12, 30, size=5, seed=1).rounds, 0, ax=ax),
         "and not matches of two"),
        (lambda ax: plots.belief(jr.blat_mmr(), jr.matches([[0, 1], [2, 3]], [1, 0], [0.0, 1.0]), 3, ax=ax),
         "no match before the end"),
        (lambda ax: plots.scorelines(forecast(), most_goals=16, ax=ax), "the forecast has up to 15 goals of a side"),
        (lambda ax: plots.profile(profile(), ax=ax), "three values with finite losses, got 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(ax, draw, message):
    with refused(message):
        draw(ax)
    assert not (ax.lines or ax.collections or ax.images)
