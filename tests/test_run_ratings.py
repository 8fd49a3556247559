"""Ratings and leaderboards of a run."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.text_format import format_credible_intervals
from jaxrate.replay.execution import CompilePolicy
from tests.conftest import MOSTLY_SINGLE, mark_full, refused
from tests.test_run import fresh, league, played


def test_elo_does_not_age():
    system = jr.elo()
    now, then = (jr.ratings(system, played(system), time=t) for t in (None, 1e4))
    np.testing.assert_array_equal(now.mean, [1516, 1484, 1500])
    np.testing.assert_array_equal(then.mean, now.mean)
    assert now.deviation is None and then.deviation is None


def test_glicko_ages_until_the_given_time(x64):
    system = jr.glicko(c=20.0, period=5.0)
    state = played(system)
    for time, idle in ((None, 0.0), (10.0, 0.0), (17.5, 1.5)):
        rating = jr.ratings(system, state, time=time)
        np.testing.assert_array_equal(rating.mean, state.rating)
        wanted = np.sqrt(np.asarray(state.variance) + np.array([1, 1, 0]) * idle * 400)
        np.testing.assert_allclose(rating.deviation, wanted, rtol=1e-12 if x64 else 1e-6)
    np.testing.assert_allclose(jr.ratings(system, state, time=1e6).deviation, 350.0, rtol=1e-6)
    assert float(state.time[0]) == 10.0 and float(state.variance[0]) < 350.0**2


@MOSTLY_SINGLE
def test_glicko2_ages_until_the_given_time(x64):
    system = jr.glicko2(initial_volatility=0.3, period=5.0)
    state = played(system)
    variance, volatility = np.asarray(state.variance), np.asarray(state.volatility)
    for time, idle in ((None, 0.0), (17.5, 1.5), (1010.0, 200.0)):
        rating = jr.ratings(system, state, time=time)
        wanted = np.sqrt(variance + np.array([1, 1, 0]) * idle * (173.7178 * volatility) ** 2)
        np.testing.assert_allclose(rating.deviation, wanted, rtol=1e-12 if x64 else 1e-6)
        np.testing.assert_array_equal(rating.mean, state.rating)


def test_ratings_use_the_given_parameters():
    system = jr.glicko()
    state = played(system)
    still = jr.ratings(system, state, time=500.0, params=system.params._replace(c=0.0))
    np.testing.assert_array_equal(still.deviation, jr.ratings(system, state).deviation)


# --- leaderboard ---


def board_state(system=None):
    system = system or jr.elo()
    state = fresh(system, 5)
    return state._replace(rating=jnp.array([1400.0, 1700.0, 1500.0, 1700.0, 1650.0]))


def test_the_best_come_first_and_ties_by_id():
    board = jr.leaderboard(jr.elo(), board_state())
    assert board.rank.tolist() == [1, 2, 3, 4, 5]
    assert board.player.tolist() == [1, 3, 4, 2, 0]
    assert board.rating.tolist() == [1700, 1700, 1650, 1500, 1400]
    assert board.deviation is None


@pytest.mark.parametrize("names", [list("abcde"), np.array(list("abcde")), list("abcdefg")])
def test_names_stand_for_ids(names):
    board = jr.leaderboard(jr.elo(), board_state(), names, top=3)
    assert board.player.tolist() == ["b", "d", "e"]
    assert board.rank.tolist() == [1, 2, 3]


def test_a_leaderboard_refuses_too_few_names_and_no_places():
    with refused("5 players are rated, but only 4 names were given"):
        jr.leaderboard(jr.elo(), board_state(), list("abcd"))
    for top in (0, -3):
        with refused(f"top must be at least 1, got {top}"):
            jr.leaderboard(jr.elo(), board_state(), top=top)


@pytest.mark.parametrize("factory", [jr.elo_mmr, jr.elo_mmx])
@pytest.mark.parametrize(
    ("settings", "limit"),
    [({"limit_deviation": 60.0}, 60.0), ({"beta": 60.0 * 6**0.5, "gamma": 60.0 * 0.2**0.5}, 60.0)],
)
def test_a_cautious_leaderboard_of_elo_mmr_counts_deviations_above_the_limit(factory, settings, limit):
    system = factory(**settings)
    rating, deviation = np.array([1900.0, 1800.0, 1700.0]), np.array([200.0, 60.0, 62.0])
    state = fresh(system, 3)._replace(rating=jnp.asarray(rating), variance=jnp.asarray(deviation) ** 2)
    board = jr.leaderboard(system, state, cautious=3.0)
    assert board.player.tolist() == [1, 2, 0] and board.deviation is None
    np.testing.assert_allclose(board.rating, (rating - 3.0 * (deviation - limit))[[1, 2, 0]], rtol=1e-5)


def test_cautious_leaderboards_need_deviations():
    board = jr.leaderboard(jr.glicko(), board_state(jr.glicko()), cautious=2.0, top=1)
    assert board.rating.tolist() == [1000.0]
    with refused("elo has no deviations to be cautious about"):
        jr.leaderboard(jr.elo(), board_state(), cautious=3.0)


@pytest.mark.parametrize("system", [jr.elo(), jr.glicko(), jr.glicko2()], ids=lambda s: s.name)
@pytest.mark.parametrize("top", [1, 4, 100])
def test_a_printed_leaderboard_has_a_header_and_a_line_per_player(system, top):
    names = ["Ann", "Bartholomew the Elder", "Cy", "Di", "Ed"]
    lines = str(jr.leaderboard(system, board_state(system), names, top=top)).splitlines()
    assert len(lines) == 1 + min(top, 5)
    assert lines[0].split()[:3] == ["rank", "player", "rating"]
    assert ("95% interval" in lines[0]) == (system.name != "elo")
    best = [(1, names[1], 1700), (2, "Di", 1700), (3, "Ed", 1650)]
    for line, (rank, name, rating) in zip(lines[1:], best, strict=False):
        assert re.match(rf"\s*{rank}\s+{name}\s+{rating:,}\.0\b", line)


def test_the_interval_is_two_deviations_wide_and_widens_with_time():
    system = jr.glicko(c=100.0, deviation_max=None)
    state = board_state(system)._replace(variance=jnp.full(5, 100.0**2), time=jnp.zeros(5))
    now, later = (jr.leaderboard(system, state, top=1, as_of=time) for time in (None, 21.0))
    np.testing.assert_allclose([now.deviation[0], later.deviation[0]], [100, 200], rtol=1e-6)
    assert format_credible_intervals([25.3, 31.5], [2, 1]) == [
        "21.4 to 29.2",
        "29.5 to 33.5",
    ]  # small ratings in tenths
    assert "1,504 to 1,896" in str(now) and "1,308 to 2,092" in str(later)


def test_a_leaderboard_is_columns_for_a_data_frame():
    columns = jr.leaderboard(jr.glicko(), board_state(jr.glicko()), top=2)
    columns = {name: x for name, x in columns.items() if np.ndim(x)}
    assert list(columns) == ["rank", "player", "rating", "deviation"]
    assert all(isinstance(x, np.ndarray) and x.shape == (2,) for x in columns.values())


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="options of the CPU")
@pytest.mark.parametrize(
    ("make", "schedule", "x64"),
    mark_full(
        [glicko := (jr.glicko, "levels", True), (jr.glicko2, "levels", True), (jr.trueskill, "stream", False)], glicko
    ),
    indirect=["x64"],
)
def test_short_histories_are_compiled_sooner_to_the_same_numbers(make, schedule, x64):
    del x64
    matches, found = league(2_000, 200), []
    for policy in (CompilePolicy(), CompilePolicy(short_history=0)):
        found.append(jr.run(make(), matches, schedule=schedule, policy=policy))
    jax.tree.map(np.testing.assert_array_equal, *found)
