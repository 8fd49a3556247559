"""What is known of jaxrate's own systems of rounds, beyond the contract: settings, ties, matches of two by hand."""

import math
from functools import partial

import jax
import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

import jaxrate as jr
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.rounds import cdf_sums
from jaxrate.testing import properties as replay_properties
from jaxrate.testing.cases import (
    ALL_TIE,
    SIZES,
    SLOTS,
    TIME_AFTER_EVENTS,
    SystemFormPrecision,
    assert_close_leaves,
    make_contests,
    schedule_for_form,
    split_seasons,
)
from tests.conftest import MOSTLY_DOUBLE, mark_full
from tests.test_contract import EVERY

SYSTEMS = {name: system for name, system in EVERY.items() if jr.Rounds in system.events}
OF_TEAMS = ("trueskill", "trueskill_fading", "weng_lin")  # they learn from ties, and rate matches too
NAMES = pytest.mark.parametrize("name", SYSTEMS)


def case(name):
    return SystemFormPrecision(SYSTEMS[name], "rounds", True)


# The history of the contract


def test_the_history_has_batches_padding_ties_weights_and_ceilings():
    history = make_contests()
    (block,), size, e = schedule_for_form("rounds", history).blocks, np.diff(history.player_start), history.events
    assert block.number.shape == (16, 2) and (block.number < len(size)).sum() == len(size) == 20
    assert (
        size.tolist() == [*SIZES[0], *SIZES[1]] and SLOTS > size.max() > cdf_sums.DIRECT_LIMIT > 28 and size.min() == 2
    )
    assert np.isfinite(e.ceiling).sum() == 7 and {*e.weight} == {0.5, 1.0, 2.0}
    ranks = np.split(e.rank, history.player_start[1:-1])
    assert [np.ptp(rank) > 0.0 for rank in ranks] == [n != ALL_TIE for n in size]
    assert all(len(np.unique(rank)) < len(rank) - 2 for rank in ranks if len(rank) > 5)
    assert sum(map(sum, SIZES)) == len(e.player) and len({sum(sizes) for sizes in SIZES}) == 1


def test_the_schedule_is_as_good_as_that_of_by_level():
    season = split_seasons(case("weng_lin"))[0]
    automatic = replay_properties.replay_case_events(case("weng_lin"), season, schedule="auto")
    assert_close_leaves("the run", automatic, replay_properties.replay_first_season(case("weng_lin")), 1e-9)


# Hyperparameters


@pytest.mark.parametrize(
    ("factory", "settings", "message"),
    [
        (jr.elo_mmr, {"rho": -1.0}, "elo_mmr: rho must be >= 0 or inf, got -1.0"),
        (jr.elo_mmr, {"rho": math.nan}, "rho must be"),
        (jr.elo_mmr, {"history": 0}, "elo_mmr: history must be a whole number from 1 to 10,000, got 0"),
        (jr.elo_mmr, {"history": 2.5}, "history must be a whole number"),
        (jr.elo_mmr, {"newcomer": (0,)}, "elo_mmr: factors for newcomers must be above 0"),
        (jr.elo_mmx, {"newcomer": (0.5, math.inf)}, "elo_mmx: factors for newcomers must be above 0"),
        (jr.elo_mmr, {"weight": 0.2, "beta": 200.0, "gamma": 30.0}, "not both"),
        (jr.elo_mmx, {"limit_deviation": 80.0, "beta": 200.0, "gamma": 30.0}, "not both"),
        (jr.elo_mmr, {"weight": 0.2, "beta": 200.0}, "not both"),
        (jr.elo_mmr, {"beta": 200.0}, "elo_mmr: beta and gamma go together; give both"),
        (jr.elo_mmx, {"gamma": 30.0}, "beta and gamma go together"),
        (jr.elo_mmx, {"weight": 0.0}, "weight must be > 0 or None"),
        (jr.elo_mmx, {"limit_deviation": -1.0}, "limit_deviation must be >= 0 or None"),
        (jr.elo_mmx, {"drift": -1.0}, "drift must be >= 0 or None"),
        (jr.elo_mmr, {"limit_deviation": 0.0}, "elo_mmr: a limit_deviation of 0 leaves .* give a drift"),
        (jr.elo_mmr, {"initial_rating": math.inf}, "elo_mmr: initial_rating must be any number, got inf"),
        (jr.elo_mmx, {"rho": 1.0}, "elo_mmx has no parameter 'rho'"),
        (jr.elo_mmr, {"initial_deviation": 0.0}, "initial_deviation must be > 0"),
        (jr.elo_mmr, {"limit_deviaton": 80.0}, "elo_mmr has no parameter 'limit_deviaton'.*limit_deviation"),
        (jr.codeforces, {"initial_deviation": 350.0}, "codeforces has no parameter 'initial_deviation'"),
        (jr.codeforces, {"beta": 0.0}, "codeforces: beta must be > 0"),
        (jr.codeforces, {"weight": math.inf}, "codeforces: weight must be > 0"),
        (jr.topcoder, {"weight": 1.0}, "topcoder has no parameter 'weight'"),
        (jr.topcoder, {"weight_new": 1.0}, "topcoder: weight_new must be above 0, below 1, got 1.0"),
        (jr.topcoder, {"weight_new": 1.5}, "topcoder: weight_new"),
        (jr.topcoder, {"weight_limit": 0.0}, "topcoder: weight_limit must be above 0, below 1, got 0.0"),
    ],
)
def test_bad_settings_are_refused(factory, settings, message):
    with pytest.raises(ValueError, match=message):
        factory(**settings)


# Other events


def test_rounds_are_refused_by_systems_of_matches():
    system = jr.glicko()
    with pytest.raises(ValueError, match="Periods, not Rounds; .*elo_mmr.* rate contests"):
        jr.run(system, make_contests())
    with pytest.raises(ValueError, match="glicko predicts Matches, not Rounds"):
        jr.predict(system, system.init(system.params, 130), make_contests())


@NAMES
def test_periods_are_not_predicted(name):
    system, periods = SYSTEMS[name], jr.periods(jr.matches([[0, 1]], [1.0]), 1.0)
    with pytest.raises(ValueError, match=f"{system.name} predicts Matches or Rounds, not Periods"):
        jr.predict(system, system.init(system.params, 2), periods)


def test_players_beyond_the_state_are_not_predicted():
    system, coming = SYSTEMS["codeforces"], jr.rounds([0, 0, 0], [4, 2, 7], [0, 1, 2])
    with pytest.raises(ValueError, match="the events name player 7, but there are only 5"):
        jr.predict(system, system.init(system.params, 5), coming)


NOISY = jr.rounds([0, 0, 0], [0, 1, 2], [0, 1, 2], noise=[2.0] * 3)


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if "noise" not in system.features])
def test_the_noise_of_a_contest_is_refused_by_systems_that_know_none(name):
    message = f"{SYSTEMS[name].name} knows no noise of contests; rate them by skills or elo_mmr or "
    with pytest.raises(ValueError, match=message):
        jr.run(SYSTEMS[name], NOISY)
    with pytest.raises(ValueError, match=message):
        jr.predict(SYSTEMS[name], SYSTEMS[name].init(SYSTEMS[name].params, 3), NOISY)


def test_noise_is_a_factor_of_beta_alone():
    plain = NOISY._replace(events=NOISY.events._replace(noise=None))
    rate = partial(jr.elo_mmx, gamma=40.0, initial_deviation=100.0)
    twice, usual = jr.run(rate(beta=400.0), plain), jr.run(rate(beta=200.0), NOISY)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5), usual, twice)
    assert usual.state.rating[0] > 1505.0


@pytest.mark.parametrize(
    ("factory", "beta", "more"),
    [
        (jr.trueskill, "beta", {}),
        (partial(jr.weng_lin, "plackett_luce"), "beta", {}),
        pytest.param(partial(jr.weng_lin, "thurstone_mosteller_full"), "beta", {}, marks=pytest.mark.full),
        pytest.param(jr.skills, "noise", {"draw_margin": 30.0}, marks=pytest.mark.full),
    ],
)
@MOSTLY_DOUBLE
def test_the_noise_of_a_contest_of_teams_is_a_factor_of_that_of_performances(factory, beta, more, x64):
    contest, team = [0] * 6 + [1] * 4, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]
    rounds = partial(jr.rounds, contest, [0, 1, 2, 3, 4, 5, 0, 2, 1, 3], [0, 0, 1, 1, 1, 1, 1, 1, 0, 0], team=team)
    usual = getattr(factory(**more).params, beta)
    twice, noisy = factory(**more, **{beta: 2.0 * usual}), factory(**more)
    one = jr.run(twice, rounds())
    two = jr.run(noisy, rounds(noise=[2.0] * 10))
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12 if x64 else 1e-5), one, two)
    if factory is jr.skills:
        past, noisy_past = (
            smooth_events(twice, rounds()),
            smooth_events(noisy, rounds(noise=[2.0] * 10)),
        )
        np.testing.assert_allclose(past.evidence, noisy_past.evidence, rtol=1e-12 if x64 else 1e-5)


# Matches of two


ROSTER = 9
PAIRS = np.array([(i, j) for i in range(ROSTER) for j in range(ROSTER) if i != j])
MATCHES = jr.matches(PAIRS, np.zeros(len(PAIRS)), np.full(len(PAIRS), TIME_AFTER_EVENTS))
CONTESTS = np.repeat(np.arange(len(PAIRS)), 2)
DUELS = jr.rounds(CONTESTS, PAIRS.ravel(), 0 * CONTESTS, time=np.full(len(CONTESTS), TIME_AFTER_EVENTS))


def as_table(prediction):
    table = np.full((ROSTER, ROSTER), np.nan)
    table[*PAIRS.T] = prediction
    return table


RATED = [name for name, system in SYSTEMS.items() if system.name != "skills"]  # whose means are of several skills


@pytest.mark.parametrize("name", mark_full(RATED, "trueskill", "elo_mmx", "topcoder"))
def test_matches_are_predicted_as_contests_of_two(name):
    system, spread = SYSTEMS[name], 350.0 if name not in OF_TEAMS else 25.0 / 3.0
    ladder = spread * np.linspace(-3.0, 3.0, ROSTER)
    with jax.enable_x64(True):
        alike = jax.tree.map(np.asarray, system.init(system.params, ROSTER))
        alike = alike._replace(rating=alike.rating + ladder)
        for some in (shuffle_ratings_and_experience(alike), alike):
            prediction = np.asarray(jr.predict(system, some, MATCHES))
            table = as_table(prediction)
            np.testing.assert_allclose((table + table.T)[*PAIRS.T], 1.0, rtol=1e-4)
            duels = np.asarray(jr.predict(system, some, DUELS)).reshape(-1, 2)
            np.testing.assert_allclose(duels[:, 0], prediction, atol=1e-6)
            np.testing.assert_allclose(duels.sum(axis=1), 1.0, rtol=1e-4)
            np.testing.assert_allclose(prediction, by_hand(name, some), atol=1e-4)
    assert all((np.diff(column[np.isfinite(column)]) > 0.0).all() for column in table.T)


def shuffle_ratings_and_experience(state):
    """The same ratings, shuffled, of players who have played before, more and less often."""
    random = np.random.default_rng(0)
    known = {"rating": random.permutation(state.rating)}
    if "variance" in state._fields:
        known["variance"] = state.variance * random.uniform(0.1, 1.0, ROSTER)
    if "games" in state._fields:
        known["games"] = np.arange(ROSTER, dtype=np.int32)
    if getattr(state, "time", None) is not None:
        known["time"] = TIME_AFTER_EVENTS - random.uniform(0.0, 30.0, ROSTER)
    return state._replace(**known)


def by_hand(name, state):
    """[n] the probability that player 0 of MATCHES does better."""
    rating, deviation = jax.tree.map(np.asarray, jr.ratings(SYSTEMS[name], state, time=TIME_AFTER_EVENTS))
    lead = rating[PAIRS[:, 0]] - rating[PAIRS[:, 1]]
    if name == "codeforces":
        return expit(math.pi / math.sqrt(3.0) * lead / 250.0)
    square = deviation**2
    if name == "topcoder":
        return ndtr(lead / np.sqrt(square[PAIRS].sum(axis=1)))
    if name in OF_TEAMS:
        return by_hand_of_teams(name, lead, square[PAIRS].sum(axis=1))
    if name == "elo_mmx":
        square = square + 200.0**2 + 40.0**2
        return ndtr(lead / np.sqrt(square[PAIRS].sum(axis=1)))
    square = square + noise_of_elo_mmr(name, np.asarray(state.games))
    win = gumbel_win if name == "elo_mmr_gumbel" else logistic_win
    return [win(*x) for x in zip(lead, *np.sqrt(square[PAIRS].T), strict=True)]


def by_hand_of_teams(name, lead, square):
    beta, tau = 25.0 / 6.0, 25.0 / 300.0
    if name == "weng_lin":
        return expit(lead / np.sqrt(square + 2.0 * beta**2))
    spread = np.sqrt(square + 2.0 * (tau**2 + beta**2))
    margin = ndtri(0.5 + 0.5 * SYSTEMS[name].params.draw_probability) * math.sqrt(2.0) * beta
    return 0.5 * (ndtr((lead - margin) / spread) + ndtr((lead + margin) / spread))


def noise_of_elo_mmr(name, games):
    """[n] gamma^2 + beta^2 of the next contest."""
    factors = np.array([*SYSTEMS[name].settings["newcomer"], 1.0])
    weight = 0.2 * factors[np.minimum(games, len(factors) - 1)]
    return (1.0 + 1.0 / weight + weight) * 80.0**2 + (SYSTEMS[name].params.drift or 0.0) / weight


def logistic_win(lead, one, other):
    """The probability that a logistic variable of mean `lead` and deviation `one` exceeds one of mean 0."""
    one, other = (x * math.sqrt(3.0) / math.pi for x in (one, other))
    z = np.linspace(-40.0, 40.0, 4001)
    return np.sum(expit(z) * expit(-z) * expit((lead + one * z) / other)) * (z[1] - z[0])


def gumbel_win(lead, one, other):
    """The same of Gumbel variables, whose cdf is exp(-exp(-x))."""
    one, other = (x * math.sqrt(6.0) / math.pi for x in (one, other))
    z = np.linspace(-5.0, 40.0, 4001)
    lead += (other - one) * np.euler_gamma  # of the modes, less that of the means
    beaten = np.exp(-np.exp(-(lead + one * z) / other))
    return np.sum(np.exp(-z - np.exp(-z)) * beaten) * (z[1] - z[0])
