"""TrueSkill against the trueskill package's numbers, the slow twin, and integrals."""

import json
import math
from functools import lru_cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.replay.checked_replay import depends_on_time
from jaxrate.replay.plan import Block
from jaxrate.replay.schedule import arrange_blocks
from jaxrate.systems.trueskill import UNINFORMATIVE_VARIANCE, State, chain_marginals, chain_marginals_parallel
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, quick
from tests.reference import trueskill_twin as twin
from tests.reference.twins import Fading

FOLDER = Path(__file__).parent / "reference"
GOLDEN = json.loads((FOLDER / "trueskill.json").read_text())
GAMES = np.array(json.loads((FOLDER / "elo_glicko.json").read_text())["games"]["rows"])
MATCHES = jr.matches(GAMES[:, 2:4].astype(int), GAMES[:, 4])


def one_history(rounds, slots=None):
    """`Ragged` rounds of lists of teams of (mean, deviation), every player in one round, the state before them all,
    and the schedule in one block.
    """
    columns = [
        (i, mean, deviation, rank, number, weight)
        for i, (teams, ranks, weights) in enumerate(rounds)
        for number, (team, rank) in enumerate(zip(teams, ranks, strict=True))
        for (mean, deviation), weight in zip(team, weights[number] if weights else [1.0] * len(team), strict=True)
    ]
    contest, mean, deviation, rank, team, weight = np.array(columns, float).T
    player = np.arange(len(columns))
    events = jr.rounds(contest.astype(int), player, rank, team=team.astype(int), weight=weight)
    steps = [Block(np.arange(len(rounds), dtype=np.int32)[None], (slots or len(columns), slots or len(columns)))]
    return events, State(mean, deviation**2, None), arrange_blocks(events, steps)


def rated(system, rounds, slots=None):
    """Mean and deviation [P, 2] of everybody."""
    events, state, steps = one_history(rounds, slots)
    count = len(events.events.player)
    state = jax.tree.map(lambda x: np.pad(x, (0, max(128 - count, 0)), mode="edge"), state)  # of one size
    rating = jr.ratings(system, jr.run(system, events, state=state, schedule=steps).state)
    return np.stack([rating.mean, rating.deviation], axis=1)[:count]


def flat(rounds):
    return np.array([player for teams in rounds for team in teams for player in team])


ROUNDS = [(case["teams"], case["ranks"], case.get("weights")) for case in GOLDEN["rounds"]]


@MOSTLY_DOUBLE
@pytest.mark.parametrize("slots", mark_full([10, 80], 80))  # below `field.SMALL` and above
def test_rounds_of_the_trueskill_package(x64, slots):
    wanted = flat(case["out"] for case in GOLDEN["rounds"])
    np.testing.assert_allclose(rated(jr.trueskill(), ROUNDS, slots), wanted, rtol=1e-8 if x64 else 1e-5)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("share", GOLDEN["sequence"])
@pytest.mark.parametrize("form", ["matches", "rounds"])
def test_matches_of_the_trueskill_package(x64, share, form):
    events = MATCHES
    if form == "rounds":
        rank = np.stack([1.0 - MATCHES.score, MATCHES.score], axis=1)
        events = jr.rounds(np.repeat(np.arange(len(GAMES)), 2), MATCHES.player.ravel(), rank.ravel())
    system, wanted = jr.trueskill(draw_probability=float(share)), GOLDEN["sequence"][share]
    rating = jr.ratings(system, jr.run(system, events).state)
    np.testing.assert_allclose(rating.mean, wanted["mu"], rtol=1e-8 if x64 else 1e-5)
    np.testing.assert_allclose(rating.deviation, wanted["sigma"], rtol=1e-8 if x64 else 1e-5)


def test_the_twin_gives_the_numbers_of_the_trueskill_package():
    for case in GOLDEN["rounds"]:
        got = twin.rate(case["teams"], case["ranks"], case.get("weights"))
        np.testing.assert_allclose(flat([got]), flat([case["out"]]), rtol=1e-11)
        if "quality" in case:
            np.testing.assert_allclose(twin.quality(case["teams"]), case["quality"], rtol=1e-12)


def random_round(rng, num_teams, largest):
    """Teams of players who are known well and badly, some far apart, with ties and partial play."""
    sizes = rng.integers(1, largest + 1, num_teams)
    teams = [[(rng.normal(25.0, 8.0), rng.uniform(0.5, 9.0)) for _ in range(n)] for n in sizes]
    ranks = rng.integers(0, max(2, 2 * num_teams // 3), num_teams).tolist()
    return teams, ranks, [rng.choice([0.25, 0.5, 1.0], n).tolist() for n in sizes]


@lru_cache
def random_rounds(with_ties):
    """Rounds of few and many teams; without ties they take fewer operations."""
    rng = np.random.default_rng(1)
    sizes = [(2, 1), (2, 5), (3, 3), (9, 1), (20, 3), (40, 1)] if with_ties else [(n, 3) for n in (2, 5, 9, 3, 4)]
    rounds = [random_round(rng, *x) for x in sizes]
    return [(teams, ranks if with_ties else list(range(len(teams))), weights) for teams, ranks, weights in rounds]


HARD_DRAWS = {"draw_probability": 0.6, "beta": 2.0, "tau": 0.7}
RANDOM_CASES = [  # with ties, sweeps, hyperparameters, and how many digits agree
    *((True, *x, y) for x in ((30, 1e-9), (None, 1e-5)) for y in ({}, HARD_DRAWS, {"draw_probability": 0.001})),
    (False, None, 1e-6, {}),
]


@pytest.mark.parametrize(
    ("with_ties", "sweeps", "digits", "changes"), mark_full(RANDOM_CASES, *(x for x in RANDOM_CASES if x[2] < 1e-5))
)
def test_random_rounds_are_those_of_the_twin(with_ties, sweeps, digits, changes):
    rounds = random_rounds(with_ties)
    with jax.enable_x64(True):
        got = rated(jr.trueskill(**changes, sweeps=sweeps), rounds, 64)
    np.testing.assert_allclose(got, flat(twin.rate(*x, twin.Params(**changes)) for x in rounds), rtol=digits)


@lru_cache
def thousands(sweeps):
    """[P, 2] after a round of 1,000 ranks of equals, of whom every tenth is known well."""
    with jax.enable_x64(True):
        players = [[(25.0, 1.0 if i % 10 else 25.0 / 3.0)] for i in range(1000)]
        return rated(jr.trueskill(sweeps=sweeps, draw_probability=0.0), [(players, list(range(1000)), None)])


MEANS_BY_TWIN = [39.312312325, 25.298701695, 25.187229626, 25.105552636, 25.034384889,
                 24.966065261, 24.894936468, 24.81336753, 24.702237193, 24.22267279]  # fmt: skip
DEVIATIONS_BY_TWIN = [4.809632681, 0.975657796, 0.975633158, 0.975624939, 0.9756219,
                      0.975621891, 0.975624906, 0.975633074, 0.975657484, 0.978967349]  # fmt: skip


def test_thousands_of_ranks_have_converged():
    """Every 111th of them is as the twin says, which takes seconds."""
    found = thousands(None)
    assert (np.diff(found[:, 0]) < 0).sum() > 800 and np.isfinite(found).all()
    np.testing.assert_allclose(found[::111].T, [MEANS_BY_TWIN, DEVIATIONS_BY_TWIN], rtol=1e-8)


@MOSTLY_DOUBLE
def test_a_chain_is_the_same_one_by_one_and_at_once(x64):
    rng = np.random.default_rng(2)
    variance = np.exp(rng.normal(3.0, 2.0, (2, 100)))
    between, step = np.exp(rng.normal(3.0, 4.0, (2, 99))), rng.normal(0.0, 20.0, (2, 99))
    between[:, ::7], between[:, 5::11] = 0.0, UNINFORMATIVE_VARIANCE
    arguments = [jnp.asarray(x, float) for x in (variance, between, step)]
    for x, y in zip(
        jax.jit(chain_marginals)(*arguments),
        jax.jit(chain_marginals_parallel)(*arguments),
        strict=True,
    ):
        np.testing.assert_allclose(x, y, rtol=1e-10 if x64 else 1e-4, atol=1e-10 if x64 else 1e-4)


@MOSTLY_SINGLE
@pytest.mark.parametrize(
    ("form", "backwards"),
    mark_full([("matches", True), ("rounds", False), ("rounds", True)], ("matches", True), ("rounds", False)),
)
def test_extremes_are_finite_and_so_are_their_slopes(x64, form, backwards):
    """Certain wins, impossible upsets, draws of the unequal, margins of all and of nothing."""
    lead = np.array([0.0, 1.0, 30.0, 1000.0, 1e5])
    score = np.array([1.0, 0.5, 0.0])
    mean, points = (x.ravel() for x in np.meshgrid(lead, score))
    player = np.arange(2 * len(mean)).reshape(-1, 2)
    state = State(np.stack([mean, 0.0 * mean], axis=1).ravel(), np.full(2 * len(mean), 4.0), None)
    events, schedule = jr.matches(player, points), None
    if form == "rounds":
        number = np.repeat(np.arange(len(mean)), 2)
        events = jr.rounds(number, player.ravel(), np.stack([1.0 - points, points], axis=1).ravel())
    schedule = jr.extend.schedule_by_level(events)

    def after(params):
        rated = jr.run(jr.trueskill(), events, params=params, state=state, schedule=schedule).state
        return jnp.concatenate([rated.rating / 100.0, rated.variance])

    def value_and_slopes(params):
        if not backwards:
            return jax.jvp(after, (params,), (jax.tree.map(jnp.ones_like, params),))
        value, forward = jax.linearize(after, params)
        backward = jax.linear_transpose(forward, params)
        return value, forward(jax.tree.map(jnp.ones_like, params)), backward(jnp.ones_like(value))

    program = quick(value_and_slopes)
    for share in (0.0, 1e-6, 0.1, 0.999999):
        params = jax.tree.map(lambda x: jnp.asarray(x, float), jr.trueskill(draw_probability=share).params)
        value, *slopes = jax.tree.map(np.asarray, program(params))
        assert np.isfinite(value).all() and (value[len(value) // 2 :] > 0).all()
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(slopes))


@MOSTLY_SINGLE
def test_side_advantage_is_a_shift_of_the_rating(x64):
    player = np.array([[0, 1], [2, 3], [4, 5]])
    shifted, plain = (
        jr.run(jr.trueskill(side_advantage=x), jr.matches(player, [1.0, 0.5, 0.0], side=side), state=state)
        for x, side, state in (
            (3.0, [1, -1, 0.5], State(np.full(6, 25.0), np.full(6, 9.0), None)),
            (0.0, [0, 0, 0], State(np.array([28.0, 25, 25, 28, 26.5, 25]), np.full(6, 9.0), None)),
        )
    )
    np.testing.assert_allclose(shifted.prediction, plain.prediction, rtol=1e-6)
    np.testing.assert_allclose(shifted.state.variance, plain.state.variance, rtol=1e-6)
    moved = np.asarray(plain.state.rating) - [28.0, 25, 25, 28, 26.5, 25]
    np.testing.assert_allclose(np.asarray(shifted.state.rating) - 25.0, moved, atol=1e-5)


def test_a_match_of_weight_two_says_twice_as_much():
    """Twice the precision, and twice the precision times mean; of weight one it is a plain match."""
    with jax.enable_x64(True):
        system = jr.trueskill(tau=0.0)
        before = np.array([25.0, 25.0]), np.array([64.0, 9.0])
        after = [
            jax.tree.map(
                np.asarray,
                jr.run(system, jr.matches([[0, 1]], [1.0], weight=w), state=State(*before, None)).state,
            )
            for w in (None, [1.0], [2.0], [0.5])
        ]
    told = [(1 / x.variance - 1 / before[1], x.rating / x.variance - before[0] / before[1]) for x in after]
    for times, message in zip((1.0, 1.0, 2.0, 0.5), told, strict=True):
        np.testing.assert_allclose(message, times * np.array(told[0]), rtol=1e-9)


@MOSTLY_DOUBLE
def test_leads_fade_as_the_twin_says(x64):
    """By the clock, with a drift, and in seasons, of which some contests come long after."""
    rng, n = np.random.default_rng(8), 40
    player = np.array([rng.permutation(6)[:3] for _ in range(n)])
    rank, time = rng.integers(0, 3, (n, 3)), np.sort(rng.uniform(0, 400, n))
    fading = Fading(90.0, (-1.0, 100.0, 101.0, 250.0), 0.6, 1.5)
    belief, last = {}, {}
    for at, who, places in zip(time, player, rank, strict=True):
        teams = []
        for one in who:
            lead, variance = belief.get(one, (0.0, (25.0 / 3.0) ** 2))
            if one in last:
                lead, variance = fading.season(*fading.clock(lead, variance, at - last[one], 0.05), last[one], at)
            teams.append([(25.0 + lead, np.sqrt(variance))])
            last[one] = at
        for one, [(mean, deviation)] in zip(who, twin.rate(teams, places), strict=True):
            belief[one] = mean - 25.0, deviation**2
    given = {"drift": 0.05, "reversion": 90.0, "season_keep": 0.6, "season_growth": 1.5}
    system = jr.trueskill(seasons=fading.seasons, **given)
    for given, depends in (({}, False), ({"drift": 4.0}, True), ({"reversion": 9}, True)):
        other = jr.trueskill(**given)
        assert depends_on_time(other, other.params) == depends
    rounds = jr.rounds(np.repeat(np.arange(n), 3), player.ravel(), rank.ravel(), time=np.repeat(time, 3))
    state, wanted = jr.run(system, rounds).state, np.array([belief[i] for i in range(6)])
    np.testing.assert_allclose(state.rating, 25.0 + wanted[:, 0], rtol=1e-4)
    np.testing.assert_allclose(state.variance, wanted[:, 1], rtol=1e-3)


def test_predictions_are_those_of_the_twin(x64):
    rng = np.random.default_rng(3)
    mean, deviation = rng.normal(25.0, 8.0, 60), rng.uniform(0.5, 9.0, 60)
    side = rng.integers(-1, 2, 30)
    matches = jr.matches(np.arange(60).reshape(30, 2), np.full(30, 0.5), side=side)
    system = jr.trueskill(side_advantage=2.0, draw_probability=0.3)
    state = State(mean, deviation**2, None)
    params = twin.Params(draw_probability=0.3)
    players = list(zip(mean, deviation, strict=True))
    wanted = [twin.win_draw_loss(*players[2 * i : 2 * i + 2], params, 2.0 * side[i]) for i in range(30)]
    win, draw, loss = np.array(wanted).T
    full = jr.predict(jr.forecasts.add_outcomes(system), state, matches)
    np.testing.assert_allclose(full.win, np.stack([win, loss], axis=1), atol=1e-12 if x64 else 2e-6)
    np.testing.assert_allclose(full.draw, np.stack([draw, draw], axis=1), atol=1e-12 if x64 else 2e-6)
    np.testing.assert_allclose(jr.predict(system, state, matches), win + 0.5 * draw, atol=1e-12 if x64 else 2e-6)


def by_integrals(teams, weights):
    """(win, rank) of each team, by the densities of all performances on a grid."""
    params = twin.Params()
    x = np.linspace(-400.0, 500.0, 200_001)
    mean = [sum(w * m for w, (m, _) in zip(v, t, strict=True)) for t, v in zip(teams, weights, strict=True)]
    noise = params.tau**2 + params.beta**2
    spread = [
        math.sqrt(sum(w * w * (s * s + noise) for w, (_, s) in zip(v, t, strict=True)))
        for t, v in zip(teams, weights, strict=True)
    ]
    win, rank = [], []
    for k, team in enumerate(teams):
        density = np.exp(-0.5 * ((x - mean[k]) / spread[k]) ** 2) / spread[k] / math.sqrt(2.0 * math.pi)
        ahead, behind = 1.0, 0.0
        for j, other in enumerate(teams):
            if j != k:
                margin = twin.margin_of(params, len(team) + len(other))
                low, high = (twin.ndtr((x + y - mean[j]) / spread[j]) for y in (-margin, margin))
                ahead, behind = ahead * low, behind + 1.0 - 0.5 * (low + high)
        win.append(np.trapezoid(density * ahead, x))
        rank.append(1.0 + np.trapezoid(density * behind, x))
    return win, rank


@MOSTLY_DOUBLE
def test_an_outlook_on_rounds_is_that_by_integrals(x64):
    rng = np.random.default_rng(4)
    rounds = [random_round(rng, n, largest) for n, largest in [(2, 1), (2, 3), (4, 2), (8, 1)]]
    rounds = [(teams, [0] * len(teams), weights) for teams, _, weights in rounds]
    events, state, _ = one_history(rounds)
    got = jax.tree.map(np.asarray, jr.predict(jr.forecasts.add_outcomes(jr.trueskill()), state, events))
    team = 0
    for i, (teams, _, weights) in enumerate(rounds):
        captains = events.player_start[i] + np.cumsum([0, *map(len, teams[:-1])])
        win, rank = by_integrals(teams, weights)
        np.testing.assert_allclose(got.win[captains], win, atol=1e-5)
        np.testing.assert_allclose(got.rank[captains], rank, atol=1e-5)
        np.testing.assert_allclose(got.draw[captains], 1.0 - sum(win), atol=2e-5)
        np.testing.assert_allclose(got.quality[captains], twin.quality(teams, weights), rtol=1e-9 if x64 else 1e-4)
        team += len(teams)


def test_large_rounds_are_predicted_as_small_ones():
    """70 participants, of whom 61 have no chance: the table agrees with the direct sums."""
    rng = np.random.default_rng(5)
    mean, deviation = rng.normal(25.0, 8.0, 70), rng.uniform(0.5, 9.0, 70)
    state = State(mean, deviation**2, None)
    events = jr.rounds(np.zeros(70, int), np.arange(70), np.zeros(70))
    variance = deviation**2 + twin.Params().tau ** 2 + twin.Params().beta ** 2
    spread = np.sqrt(variance[:, None] + variance[None, :])
    margin, ahead = twin.margin_of(twin.Params(), 2), mean[:, None] - mean[None, :]
    share = 0.5 * (twin.ndtr((ahead - margin) / spread) + twin.ndtr((ahead + margin) / spread))
    share = (share.sum(axis=1) - 0.5) / 69
    np.testing.assert_allclose(jr.predict(jr.trueskill(), state, events), share, atol=2e-5)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jr.predict(jr.trueskill(), state, events), share, atol=1e-7)
