"""Elo, Glicko and Glicko-2 against worked examples, other people's programs and the slow twins."""

import json
import math
import sys
from functools import partial
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.replay.execution import min_mean_width_for_levels
from jaxrate.systems.category_glicko import (
    OUTCOME_DISTRIBUTIONS,
    PeriodGames,
    log_likelihood_derivatives,
    maximize_posterior,
)
from jaxrate.systems.category_glicko import State as CategoryState
from jaxrate.systems.glicko2 import State, game_terms, new_volatility, prepare, update_from_total
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.system_construction_by_name import make_system_for_data
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, draw_pairs, mark_full, quick
from tests.reference import twins
from tests.reference.twins import Fading

GOLDEN = json.loads((Path(__file__).parent / "reference" / "elo_glicko.json").read_text())
GAMES = np.array(GOLDEN["games"]["rows"])
MATCHES = jr.matches(GAMES[:, 2:4].astype(int), GAMES[:, 4])
PERIOD = {"period100": GAMES[:, 0].astype(int), "period20": GAMES[:, 1].astype(int)}


def close(x64, got, wanted):
    """1e-9 relative in float64, 1e-4 in float32."""
    np.testing.assert_allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=1e-9 if x64 else 1e-4)


def ratings_of_others():
    """The period, the system, whether its ratings are as of the end of the last period, and what others rate."""
    yield None, jr.elo(), False, GOLDEN["elo_per_match"]
    yield None, jr.glicko(c=0), False, GOLDEN["glicko_per_match"]
    yield None, jr.glicko2(match_periods=1), False, GOLDEN["glicko2_per_match"]
    for period in PERIOD:
        yield period, jr.elo(), False, GOLDEN[f"elo_{period}"]
        yield period, jr.glicko(c=15, period=1), False, GOLDEN["glicko_as_last_played"][period]
        yield period, jr.glicko(c=15, period=1), True, GOLDEN["glicko_as_of_last_period"][period]
        yield period, jr.glicko2(period=1), True, GOLDEN["glicko2"][period]


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("period", "system", "at_end", "wanted"),
    [pytest.param(*x, marks=pytest.mark.full if x[0] == "period100" else ()) for x in ratings_of_others()],
)
def test_matches_and_periods_are_rated_as_others_do(x64, period, system, at_end, wanted):
    events = MATCHES if period is None else jr.periods(MATCHES, period=PERIOD[period])
    state = jr.run(system, events).state
    rating = jr.ratings(system, state, time=PERIOD[period][-1] + 1 if at_end else None)
    found = {"rating": rating.mean, "rd": rating.deviation, "sigma": getattr(state, "volatility", None)}
    assert wanted.keys() >= {name for name, x in found.items() if x is not None}
    for name in found.keys() & wanted.keys():
        close(x64, found[name], wanted[name])


@MOSTLY_DOUBLE
def test_glicko2_as_lichess_rates_a_game(x64):
    """The numbers that its calculator is tested with: of newcomers, white wins."""
    bounds = dict(volatility_max=0.1, deviation_min=45, deviation_max=500)
    system = jr.glicko2(tau=0.75, initial_deviation=500, initial_volatility=0.09, period=4.665, **bounds)
    state = jr.run(system, jr.matches([[0, 1]], [1.0])).state
    np.testing.assert_allclose(state.rating, [1741.0, 1258.0], atol=1.0)
    np.testing.assert_allclose(np.sqrt(state.variance), 396.0, atol=1.0)
    np.testing.assert_allclose(state.volatility, 0.0899983, atol=1e-7)


EXAMPLE = {"rating": [1500.0, 1400.0, 1550.0, 1700.0], "deviation": [200.0, 30.0, 100.0, 300.0]}


def example():
    """Glickman's example: player 0 meets 1, 2 and 3 in one period."""
    return jr.periods(jr.matches([[0, 1], [0, 2], [0, 3]], [1, 0, 0]), 1.0)


def example_state(system):
    state = system.init(system.params, 4)
    return state._replace(rating=jnp.array(EXAMPLE["rating"]), variance=jnp.array(EXAMPLE["deviation"]) ** 2)


@MOSTLY_DOUBLE
def test_glicko_worked_example(x64):
    system = jr.glicko(c=0, period=1)
    state = example_state(system)
    result = jr.run(system, example(), state=state)
    close(x64, result.state.rating[0], GOLDEN["glickman"]["glicko"]["r"])
    close(x64, jnp.sqrt(result.state.variance[0]), GOLDEN["glickman"]["glicko"]["RD"])
    pair = state._replace(
        rating=jnp.array([1400.0, 1500.0]), variance=jnp.array([80.0, 150.0]) ** 2, time=state.time[:2]
    )
    guess = jr.predict(system, pair, jr.matches([[0, 1]], [0.5]))
    close(x64, guess, [GOLDEN["glickman"]["glicko_predict_1400_80_vs_1500_150"]])


def agrees_with_glickman(x64, state, wanted):
    """The rating, deviation and volatility of the first player."""
    found = [state.rating[0], jnp.sqrt(state.variance[0]), state.volatility[0]]
    close(x64, found, [wanted[k] for k in ("r", "RD", "vol")])


@MOSTLY_DOUBLE
@pytest.mark.parametrize("tau", ["0.5", "0.2", "0.3", "0.75", "1.0", "1.2"])
def test_glicko2_worked_example(x64, tau):
    wanted = GOLDEN["glickman"]["glicko2"] if tau == "0.5" else GOLDEN["glickman"]["glicko2_tau"][tau]
    system = jr.glicko2(tau=float(tau), period=1)
    agrees_with_glickman(x64, jr.run(system, example(), state=example_state(system)).state, wanted)


@MOSTLY_DOUBLE
def test_glicko2_big_upset(x64):
    wanted = GOLDEN["glickman"]["glicko2_big_upset_1500_40_beats_2100_40_six_times"]
    system = jr.glicko2(period=1)
    state = system.init(system.params, 7)
    state = state._replace(rating=state.rating.at[1:].set(2100.0), variance=jnp.full_like(state.variance, 1600.0))
    events = jr.periods(jr.matches([[0, i] for i in range(1, 7)], np.ones(6)), 1.0)
    state = jr.run(system, events, state=state).state
    agrees_with_glickman(x64, state, wanted)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("periods", GOLDEN["glickman"]["glicko2_elapsed_periods"])
def test_glicko2_fractional_periods(x64, periods):
    """Step 6 over t periods at the new volatility."""
    wanted = GOLDEN["glickman"]["glicko2_elapsed_periods"][periods]
    system = jr.glicko2()
    state = example_state(system)

    @quick
    def rate(state, score, periods):
        me, others = jax.tree.map(lambda x: x[:1], state), jax.tree.map(lambda x: x[1:], state)
        total = tuple(jnp.sum(x, keepdims=True) for x in game_terms(me.rating - others.rating, others.variance, score))
        return update_from_total(prepare(system.params), me, total, periods)

    agrees_with_glickman(x64, rate(state, jnp.array([1.0, 0.0, 0.0]), jnp.asarray(float(periods))), wanted)
    idle = jr.ratings(system, state._replace(time=jnp.zeros(4)), time=7.0 * float(periods))
    close(x64, idle.deviation[0], wanted["idle_RD"])


def history(matches, events):
    """The twins' form of a history: one entry per match, or per period."""
    context = matches.context
    rows = [
        (int(a), int(b), float(s), float(h), float(w))
        for (a, b), s, h, w in zip(matches.player, matches.score, context.side, context.weight, strict=True)
    ]
    if events is matches:
        return [(float(t), [row]) for t, row in zip(matches.time, rows, strict=True)]
    start = events.pair_start
    return [(float(t), rows[start[i] : start[i + 1]]) for i, t in enumerate(events.events.time)]


def league(seed=3, n=600, players=25):
    random = np.random.default_rng(seed)
    player = draw_pairs(random, players, n)
    time = np.sort(random.uniform(0, 200, n))
    return jr.matches(
        player,
        random.integers(0, 3, n) / 2,
        time,
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0, 2.0], n),
    )


SEASONS = (-5.0, 40.0, 73.5, 74.0, 75.25, 150.0, 900.0)  # three within one rating period
CLOCK, SEASON = {"reversion": 150.0}, {"seasons": SEASONS, "season_keep": 0.7}
CASES = {
    "elo": (dict(k=20, side_advantage=30, scale=300), dict(k=20, side_advantage=30, scale=300)),
    "elo fide": (dict(k_new=40, new_games=10, limit=80), dict(k_new=40, new_games=10, limit=80)),
    "glicko": (
        dict(c=40, side_advantage=25, deviation_min=60, deviation_max=300, initial_deviation=290),
        dict(c=40, side_advantage=25, minimum=60, maximum=300, initial=(1500.0, 290.0)),
    ),
    "glicko2": (dict(tau=0.9, side_advantage=25), dict(tau=0.9, side_advantage=25)),
    "glicko2 bounds": (
        dict(
            deviation_min=70, deviation_max=250, volatility_min=0.059998, volatility_max=0.06001, initial_deviation=240
        ),
        dict(rd_range=(70, 250), volatility_range=(0.059998, 0.06001), initial=(1500.0, 240.0, 0.06)),
    ),
    "elo fading": (dict(**CLOCK, **SEASON), dict(fading=Fading(150.0, SEASONS, 0.7))),
    "glicko fading": (
        dict(c=40, deviation_min=60, deviation_max=300, initial_deviation=290, season_growth=55, **CLOCK, **SEASON),
        dict(c=40, minimum=60, maximum=300, initial=(1500.0, 290.0), fading=Fading(150.0, SEASONS, 0.7, 55.0)),
    ),
    "glicko2 fading": (
        dict(tau=0.9, initial_rating=1400, deviation_max=360, season_growth=55, **CLOCK, **SEASON),
        dict(tau=0.9, rd_range=(0, 360), initial=(1400.0, 350.0, 0.06), fading=Fading(150.0, SEASONS, 0.7, 55.0)),
    ),
}


FORMS = [*product(["matches", "periods"], CASES)]
ALIKE = (
    ("matches", "glicko2 bounds"),
    ("matches", "glicko fading"),
    ("matches", "glicko2 fading"),
    ("periods", "glicko"),
    ("periods", "elo fading"),
)  # what differs is tested in the other form


@MOSTLY_DOUBLE
@pytest.mark.parametrize(("form", "case"), mark_full(FORMS, *(x for x in FORMS if x not in ALIKE)))
def test_against_the_twin(x64, case, form):
    name, (ours, theirs) = case.split()[0], CASES[case]
    system, matches = getattr(jr, name)(**ours), league(n=300)
    events = matches if form == "matches" else jr.periods(matches, 7.0)
    if name == "glicko2" and form == "matches":
        theirs = {**theirs, "step": 0.0}
    if name == "glicko" and form == "periods":
        theirs = {**theirs, "duration": 7.0}
    wanted, predictions = getattr(twins, name)(history(matches, events), **theirs)
    result = jr.run(system, events)
    rating = jr.ratings(system, result.state)
    got = [rating.mean] if rating.deviation is None else [rating.mean, rating.deviation]
    got += [result.state.volatility] if name == "glicko2" else []
    table = np.array([np.atleast_1d(wanted[i]) for i in range(len(wanted))])
    tolerance = dict(rtol=1e-11 if x64 else 1e-4)
    np.testing.assert_allclose(np.stack(got, 1), table, **tolerance)
    np.testing.assert_allclose(result.prediction, predictions, **tolerance)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("make", mark_full([jr.elo, jr.glicko, jr.glicko2, jr.trueskill], jr.glicko, jr.trueskill))
def test_nobody_leads_after_long_idleness(x64, make):
    """However long a gap is; a deviation becomes that of the stationary process, or next to none if nothing grows."""
    fades = make(reversion=3.0)
    newcomer = fades.params.initial_rating
    state = jr.run(fades, jr.matches([[0, 1]] * 3, [1.0] * 3, [0.0, 1.0, 2.0])).state
    for gap, left in ((3.0, math.exp(-1.0)), (6e6, 0.0)):
        later, now = jr.ratings(fades, state, time=2.0 + gap), jr.ratings(fades, state)
        np.testing.assert_allclose(later.mean - newcomer, left * (now.mean - newcomer), rtol=1e-4, atol=1e-4)
    if make is jr.glicko:
        np.testing.assert_allclose(later.deviation, math.sqrt(15.0**2 / 7.0 * 3.0 / 2.0), rtol=1e-5)
    if make is jr.trueskill:  # nothing grows
        assert (later.deviation > 0).all() and (later.deviation < 1e-5).all()


@pytest.mark.parametrize("make", [jr.elo, jr.glicko, jr.glicko2, jr.trueskill])
def test_seasons_are_told_to_systems_that_have_their_hyperparameters(make):
    system = make(seasons=["2020-09-01", "2021-09-01"])
    assert system.settings["seasons"] == (18506.0, 18871.0) and system.params.season_keep == 0.8
    assert make().params.season_keep is None and "seasons" not in repr(make())
    nfl = jr.data.datasets.nfl()
    told, length = (
        make_system_for_data(system.name, {"season_keep": 0.6}, 7.0, nfl),
        {} if make in (jr.elo, jr.trueskill) else {"period": 7},
    )
    side = {"side_advantage": 1.06 if make is jr.trueskill else 50}
    assert told == make(seasons=nfl.seasons, season_keep=0.6, **length, **side) and len(told.settings["seasons"]) == 101
    assert make(seasons=None) == make() and make(**side) == make_system_for_data(
        system.name, {}, None, nfl._replace(seasons=None)
    )
    with pytest.raises(ValueError, match=f"{system.name}: season_keep needs seasons"):
        make(season_keep=0.5)
    with pytest.raises(ValueError, match=f"{system.name}: seasons must increase"):
        make(seasons=(3, 2))


@MOSTLY_DOUBLE
@pytest.mark.parametrize("tau", [0.2, 0.5, 1.2, 3.0, 10.0])
def test_volatility_solves_its_equation_wherever_the_games_lead(x64, tau):
    """From a hopeless loss to a thousand wins against equals in one period, and with no information at all."""
    random = np.random.default_rng(0)
    n = 2000
    phi, sigma = 10 ** random.uniform(-2, 0.5, n), 10 ** random.uniform(-2.5, 0, n)
    games, expected = 10 ** random.uniform(0, 3, n), random.beta(0.3, 0.3, n).clip(1e-6, 1 - 1e-6)
    w, surprise = games * expected * (1 - expected), games * random.choice([0, 0.1, 1], n) * (1 - expected)
    state = State(jnp.zeros(n), jnp.array((phi * 173.7178) ** 2), jnp.array(sigma), jnp.zeros(n))
    constants = prepare(jr.glicko2(tau=tau).params)
    solve = quick(new_volatility)
    got = np.asarray(solve(constants, state, jnp.array(w), jnp.array(surprise)), float)

    def f(volatility):
        y, d = volatility**2, phi**2 + 1 / w
        return y * ((surprise / w) ** 2 - d - y) / (2 * (d + y) ** 2) - np.log(y / sigma**2) / tau**2

    margin = 1e-9 if x64 else 1e-4
    assert (f(got * (1 - margin)) > 0).all() and (f(got * (1 + margin)) < 0).all()
    nothing = solve(constants, state, jnp.zeros(n), jnp.zeros(n))
    np.testing.assert_allclose(nothing, sigma, rtol=1e-6)


def test_ratings_stay_finite_however_large_tau_is():
    """Volatilities grew beyond all numbers, and predictions were NaN."""
    matches = jr.data.simulate.league(50, 3000, seed=1, drift=100.0).matches
    result = jr.run(jr.glicko2(tau=30), matches._replace(time=30 * matches.time))
    assert all(np.isfinite(x).all() for x in (result.prediction, result.state.rating, result.state.variance))


def test_elo_carries_on_from_a_state_that_counted_games():
    counted = jr.run(jr.elo(k_new=40, new_games=5), league()).state
    with pytest.raises(ValueError, match="newcomers do not fit the state: it is of elo with other rules switched on"):
        jr.run(jr.elo(), league(), state=counted, num_players=len(counted.rating) + 1)
    after = jr.run(jr.elo(), league(), state=counted).state
    assert float(after.games.sum()) > float(counted.games.sum())


NO_SHARES = 0.0, 2.5, None, "half", (1.1, 1.0)  # all silently were True or False
REFUSED = [
    (jr.elo, {"K": 3}, "elo has no parameter 'K'; did you mean 'k'"),
    (jr.elo, {"k_new": 40}, "k_new and new_games belong together"),
    (jr.glicko, {"deviation_min": 400}, "deviation_min, initial_deviation and deviation_max must not decrease"),
    (jr.glicko2, {"volatility_max": 0.01}, "volatility_max must not decrease"),
    (jr.category_glicko, {"deviation_max": 100}, "deviation_min, initial_deviation and deviation_max must not"),
    (jr.category_glicko, {"modifier_deviation_max": 100}, "initial_modifier_deviation and modifier_deviation_max must"),
    (jr.trueskill, {"draw_probability": 1.0}, "draw_probability must be 0 to 1, without 1, got 1.0"),
    (jr.weng_lin, {"model": "plackett_luse"}, "got 'plackett_luse'; did you mean 'plackett_luce'"),
    (jr.weng_lin, {"model": "plackett_luce", "epsilon": 0.2}, "weng_lin: plackett_luce has no epsilon"),
    (jr.elo_mmx, {"newcomer": (0.5, math.inf)}, "elo_mmx: factors for newcomers must be above 0"),
    (jr.elo_mmr, {"weight": 0.2, "beta": 200.0, "gamma": 30.0}, "not both"),
    (jr.elo_mmx, {"gamma": 30.0}, "beta and gamma go together"),
    (jr.elo_mmr, {"limit_deviation": 0.0}, "elo_mmr: a limit_deviation of 0 leaves .* give a drift"),
    *((make, {"split_ties": x}, "split_ties must be True") for make in (jr.elo_mmr, jr.elo_mmx) for x in NO_SHARES),
]


@pytest.mark.parametrize(("make", "settings", "message"), REFUSED)
def test_settings_that_systems_refuse(make, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


@MOSTLY_SINGLE
def test_extreme_rows_stay_finite(x64):
    """Ratings a million points apart: probability zero and one, no information, and no NaN in value or slope."""
    matches = jax.tree.map(jnp.asarray, jr.matches([[0, 1]] * 3, [1.0, 0.0, 0.5]))
    for make in (jr.elo, jr.glicko, jr.glicko2):
        system = make()

        def loss(params, system=system):
            state, constants = system.init(params, 2), system.rules.prepare(params)
            state = state._replace(rating=state.rating + jnp.array([-5e5, 5e5]))

            def rate(match):
                rows = system.rules.advance(constants, state, match.time)
                after = system.rules.update(constants, rows, match)
                return jnp.sum(after.rating) + system.rules.predict(constants, rows, match)

            return jnp.sum(jax.vmap(rate)(matches))

        value, slope = quick(jax.value_and_grad(loss))(jax.tree.map(jnp.asarray, system.params))
        assert all(bool(jnp.isfinite(x)) for x in (value, *jax.tree.leaves(slope)))


# Slopes, bounds, ends of ranges and points of tables that hardly any result shows: each found by `mutations.py`.


def test_newton_has_the_slope_of_the_function_of_the_volatility(monkeypatch):
    """A wrong one finds the same root, by more steps."""
    random, n, found = np.random.default_rng(0), 200, []

    def look(function, guess, lower, upper, num_steps):
        x = lower + (upper - lower) * jnp.asarray(random.uniform(0, 1, n))
        found.append((function(x)[1], jax.jvp(lambda x: function(x)[0], (x,), (jnp.ones(n),))[1]))
        return guess

    monkeypatch.setattr(sys.modules[new_volatility.__module__], "decreasing_root", look)
    with jax.enable_x64(True):
        variance, volatility, w = (10 ** random.uniform(*ends, n) for ends in ((3, 5), (-2, 0), (-1, 2)))
        surprise = w * random.uniform(0, 3, n)

        def find(variance, volatility, w, surprise):
            state = State(jnp.zeros(n), variance, volatility, jnp.zeros(n))
            new_volatility(prepare(jr.glicko2(tau=3.0).params), state, w, surprise)
            return found.pop()

        slope, wanted = quick(find)(variance, volatility, w, surprise)
        np.testing.assert_allclose(slope, wanted, rtol=1e-9)


@pytest.mark.parametrize("deviation", [25.0, 49.0, 98.0, 195.0])
def test_tables_have_points_enough_for_rounds_as_wide_as_ratings(deviation):
    """Among newcomers in a round 8,000 points wide, what is read from a table is right to 0.01 rating points."""
    with jax.enable_x64(True):
        function, points = cdf_sums.logistic_cdf_and_density, cdf_sums.count_table_points(deviation)
        precision = np.full(100, cdf_sums.LOGISTIC.deviation / deviation)

        def in_both_ways(x):
            everyone = cdf_sums.Participants(
                *map(jnp.asarray, (np.full(100, 1500.0), precision, np.ones(100))), -2000.0, 6000.0, deviation
            )
            table = cdf_sums.make_cdf_sum_functions(function, everyone, points)[0](x, True)[0]
            return table, cdf_sums.direct_cdf_sums(function, everyone, x, True)

        x = np.linspace(1500.0 - 3 * deviation, 1500.0 + 3 * deviation, 3000)
        got, (wanted, slope) = jax.tree.map(np.asarray, quick(in_both_ways)(x))
    assert np.max(np.abs(got - wanted) / slope) < 0.01


def test_the_least_deviation_of_glicko_holds():
    matches = jr.matches([[0, 1], [0, 2], [1, 2]] * 20, [1.0, 0.0, 0.5] * 20, np.arange(60) / 60)
    deviation = jr.ratings(system := jr.glicko(deviation_min=150), jr.run(system, matches).state).deviation
    np.testing.assert_allclose(deviation, 150.0, rtol=1e-6)


def test_the_likeliest_strength_is_found_far_beyond_every_opponent():
    """Of 399 wins and one loss: the slope of the likelihood there is zero."""
    with jax.enable_x64(True):
        games = PeriodGames(np.array([0]), *(np.array([x]) for x in (0.0, 1.0, 399.0, 1.0)))

        def find(distribution, games):
            one, there, guess = jnp.ones((1, 1)), jnp.array([[True]]), jnp.zeros((1, 1))
            rows = CategoryState(one[0], one, one[0], one, one[0])
            best = maximize_posterior(distribution, rows, games, there, guess, ~there[0], there[0])
            return best, log_likelihood_derivatives(distribution, games, best)[0]

        for name, wanted in (("logistic", np.log(399) * np.sqrt(3) / np.pi), ("probit", 2.8070337683)):
            best, slope = quick(partial(find, OUTCOME_DISTRIBUTIONS[name]))(games)
            np.testing.assert_allclose(best, [[wanted]], rtol=1e-6)
            np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_streams_are_worth_it_for_simple_rules_in_float32():
    def worth(system):
        return min_mean_width_for_levels(system, system.params, jr.matches([[0, 1]], [1.0]))

    with jax.enable_x64(False):
        simple = np.inf if jax.default_backend() == "cpu" else 2.0
        assert worth(jr.elo()) == worth(jr.skills()) == simple
        assert worth(jr.blat_mmr()) == worth(jr.trueskill()) == worth(jr.glicko2()) == 2.0
    with jax.enable_x64(True):
        assert worth(jr.elo()) == 2.0
