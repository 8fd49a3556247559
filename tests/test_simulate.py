"""Simulated leagues follow the laws they state, within sampling error."""

import math
import re

import jax
import numpy as np
import pytest

from jaxrate.simulate import league


def expected(a, b):
    return 1 / (1 + 10 ** (-(a - b) / 400))


def test_the_same_seed_gives_the_same_league_and_another_one_another():
    options = {"draws": 0.3, "drift": 50.0, "activity": 0.5, "side_advantage": 30.0}
    one, same, other = (league(20, 300, seed=seed, **options) for seed in (5, 5, 6))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in ((one.strength, other.strength), (one.matches.score, other.matches.score)):
        assert (a != b).any()


def test_matches_are_spread_evenly_over_the_days():
    np.testing.assert_allclose(league(5, 11, days=100.0).matches.time, np.arange(11) * 10.0)
    assert league(5, 1).matches.time.tolist() == [0.0]


def test_games_count_the_matches_of_each_player():
    one = league(7, 100)
    assert one.games.tolist() == [int((one.matches.player == p).sum()) for p in range(7)]
    assert one.strength.shape == (7,) and one.games.sum() == 200


def test_nobody_meets_himself_even_among_two():
    player = league(2, 500).matches.player
    assert (player.sum(axis=1) == 1).all()
    assert {*player[:, 0].tolist()} == {0, 1}


def test_uniform_activity_lets_everybody_play_alike():
    games = league(50, 20_000, activity=0.0).games
    assert np.abs(games - 800).max() < 5 * math.sqrt(800)


def test_activity_skews_towards_the_first_players():
    n = 400_000
    games = league(4, n, activity=1.0).games
    share = np.array([12, 6, 4, 3]) / 25
    # Both players are drawn by share; the second again until he differs.
    wanted = share + share * ((share / (1 - share)).sum() - share / (1 - share))
    assert np.abs(games - n * wanted).max() < 5 * 0.5 * math.sqrt(n)
    assert (np.diff(games) < 0).all()


def test_activity_does_not_depend_on_strength():
    strength = np.concatenate([league(100, 1, seed=s, activity=2.0).strength[:5] for s in range(40)])
    assert abs(strength.mean()) < 5 * 300 / math.sqrt(200)


def test_strengths_have_the_given_spread():
    strength = league(5000, 1, spread=120.0).strength
    assert abs(strength.mean()) < 5 * 120 / math.sqrt(5000)
    assert strength.std() == pytest.approx(120, rel=0.05)
    assert (league(10, 1, spread=0.0).strength == 0).all()


@pytest.mark.parametrize("draws", [0.0, 0.3, 0.5])
def test_scores_follow_the_logistic_law_of_the_difference(draws):
    one = league(200, 60_000, spread=250.0, draws=draws)
    difference = one.strength[one.matches.player[:, 0]] - one.strength[one.matches.player[:, 1]]
    wanted = expected(difference, 0)
    for low in range(-700, 700, 100):
        chosen = (difference >= low) & (difference < low + 100)
        error = one.matches.score[chosen].mean() - wanted[chosen].mean()
        assert abs(error) < 4.5 * 0.5 / math.sqrt(chosen.sum())


@pytest.mark.parametrize("draws", [0.0, 0.2, 0.5])
def test_draws_have_the_given_share_between_equals(draws):
    score = league(10, 20_000, spread=0.0, draws=draws).matches.score
    assert {*score.tolist()} == ({0.0, 1.0} if draws == 0 else {0.0, 0.5, 1.0})
    assert abs((score == 0.5).mean() - draws) <= 4.5 * math.sqrt(draws * (1 - draws) / 20_000)


def test_draws_grow_rarer_with_the_difference():
    one = league(200, 60_000, draws=0.4)
    a, b = one.strength[one.matches.player].T
    e, drawn = expected(a, b), one.matches.score == 0.5
    for low in np.arange(0, 1, 0.1):
        chosen = (e >= low) & (e < low + 0.1)
        wanted = (0.4 * 4 * e * (1 - e))[chosen].mean()
        assert abs(drawn[chosen].mean() - wanted) < 4.5 * 0.5 / math.sqrt(chosen.sum())


def test_the_first_player_has_the_side_advantage():
    plain, white = league(10, 20_000, spread=0.0), league(10, 20_000, spread=0.0, side_advantage=100.0)
    assert plain.matches.context.side is None
    assert (white.matches.context.side == 1).all()
    assert abs(plain.matches.score.mean() - 0.5) < 4.5 * 0.5 / math.sqrt(20_000)
    assert abs(white.matches.score.mean() - expected(100, 0)) < 4.5 * 0.5 / math.sqrt(20_000)


@pytest.mark.parametrize("days", [365.0, 4 * 365.0])
def test_strengths_drift_with_the_root_of_time(days):
    still, moved = (league(4000, 200, days=days, drift=drift).strength for drift in (0.0, 40.0))
    assert (moved - still).std() == pytest.approx(40 * math.sqrt(days / 365), rel=0.06)


def test_results_follow_the_strengths_of_their_time():
    """Without spread at the start, only the end of a drifting league is decided by the strengths at the end."""
    one = league(50, 40_000, spread=0.0, drift=400.0, days=365.0)
    a, b = one.strength[one.matches.player].T
    error = (one.matches.score - expected(a, b)) ** 2
    assert error[-4000:].mean() < error[:4000].mean() - 0.05


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_players": 1}, "num_players must be at least 2, got 1"),
        ({"num_matches": 0}, "num_matches must be at least 1, got 0"),
        ({"days": -1.0}, "days must be at least 0, got -1.0"),
        ({"days": math.inf}, "days must be at least 0, got inf"),
        ({"spread": -1.0}, "spread must be at least 0, got -1.0"),
        ({"spread": math.nan}, "spread must be at least 0, got nan"),
        ({"drift": -1.0}, "drift must be at least 0, got -1.0"),
        ({"activity": -0.5}, "activity must be at least 0, got -0.5"),
        ({"draws": -0.1}, "draws must be at least 0, got -0.1"),
        ({"draws": 0.51}, "draws must be at most 0.5, got 0.51"),
    ],
)
def test_arguments_out_of_range_are_refused(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        league(**{"num_players": 5, "num_matches": 10, **change})


@pytest.mark.parametrize("points", [math.nan, math.inf, -math.inf])
def test_a_side_advantage_without_an_end_is_refused(points):
    with pytest.raises(ValueError, match=f"side_advantage must be finite, got {points}"):
        league(5, 10, side_advantage=points)
