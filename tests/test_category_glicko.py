"""Category Glicko against other people's numbers, the slow twin and its invariants."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.category_glicko import (
    OUTCOME_DISTRIBUTIONS,
    PeriodGames,
    State,
    maximize_posterior,
    strengths_to_rating_and_modifiers,
)
from tests.conftest import MOSTLY_DOUBLE, mark_full, quick
from tests.reference import category_glicko_twin as twin

GOLDEN = json.loads((Path(__file__).parent / "reference" / "category_glicko.json").read_text())
UNITS = {"scale": 1.0, "initial_rating": 0.0, "deviation_min": None, "growth": 0.0}
FREE = UNITS | {"initial_deviation": 0.6, "initial_modifier_deviation": 0.6}
FREE |= {"deviation_max": 1.0, "modifier_deviation_max": 1.0}
SITE = UNITS | dict.fromkeys(("initial_deviation", "initial_modifier_deviation"), 0.16)
SITE |= dict.fromkeys(("deviation_max", "modifier_deviation_max"), 0.16)
WAYS = [(outcome, expansion) for outcome in ("probit", "logistic") for expansion in ("mode", "map")]


def updates(system, cases):
    """Rating and modifiers [cases, 4], and their deviations, of players whose games the cases list, in one period."""
    rows, rating, modifiers, variance, modifier_variance, me = [], [], [], [], [], []
    for case in cases.values():
        me.append(len(rating))
        rating.append(case["rating"][0])
        modifiers.append(case["rating"][1:])
        variance.append(case["deviation"][0] ** 2)
        modifier_variance.append(np.square(case["deviation"][1:]))
        for strength, deviation, category, won, lost in case["games"]:
            rows += [(me[-1], len(rating), s, int(category), w) for s, w in ((1, won), (0, lost)) if w > 0]
            rating.append(strength)
            modifiers.append(np.zeros(3))
            variance.append(0.5 * deviation**2)  # half of it is the modifier's
            modifier_variance.append(np.full(3, 0.5 * deviation**2))
    first, second, score, category, weight = np.array(rows).T
    player = np.stack([first, second], axis=1).astype(int)
    matches = jr.matches(player, score, weight=weight, category=np.stack([0 * first, category], axis=1).astype(int))
    columns = [jnp.array(np.array(x, float), float) for x in (rating, modifiers, variance, modifier_variance)]
    state = system.init(system.params, len(rating))
    state = jr.run(system, jr.periods(matches, period=0 * first), state=type(state)(*columns, state.time)).state
    rating, modifiers, variance, modifier_variance, _ = jax.tree.map(lambda x: np.asarray(x)[me], state)
    spread = np.concatenate([variance[:, None], modifier_variance], axis=1) ** 0.5
    return np.concatenate([rating[:, None], modifiers], axis=1), spread


@MOSTLY_DOUBLE
@pytest.mark.parametrize("whose", mark_full(["seed", "site"], "seed"))  # the twin has both
def test_updates_are_the_papers_or_the_sites(x64, whose):
    cases, exact = GOLDEN[whose].values(), {"atol": 1e-9 if x64 else 2e-6, "rtol": 0}
    system = jr.category_glicko(**FREE) if whose == "seed" else jr.category_glicko(3, "logistic", "map", **SITE)
    rating, deviation = updates(system, GOLDEN[whose])
    wanted = np.array([case["new_rating"] for case in cases])
    if whose == "seed":  # whose modifiers have a mean of their own
        wanted += wanted[:, 1:].mean(axis=1, keepdims=True) * np.array([1.0, -1.0, -1.0, -1.0])
    np.testing.assert_allclose(rating, wanted, **exact)
    np.testing.assert_allclose(deviation, [case["new_deviation"] for case in cases], **exact)


def league(seed=0, n=160, players=8, categories=3, mixed=False):
    random = np.random.default_rng(seed)
    first = random.integers(0, players, n)
    category = random.integers(0, categories, (n, 2))
    if mixed:
        shares = random.dirichlet([1] * categories, (n, 2))
        category = np.where(random.random((n, 2, 1)) < 0.2, shares, np.eye(categories)[category])
    return jr.matches(
        np.stack([first, (first + random.integers(1, players, n)) % players], 1),
        random.choice([0.0, 0.5, 1.0], n, p=[0.45, 0.1, 0.45]),
        np.sort(random.uniform(0, 100, n)),
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0, 1.5], n),
        category=category,
    )


def history(matches, events, categories):
    """The twin's form of a history."""
    context, start = matches.context, events.pair_start
    mixes = context.category if context.category.ndim == 3 else np.eye(categories)[context.category]
    rows = [
        (int(a), int(b), float(s), float(h), float(w), x, y)
        for (a, b), s, h, w, (x, y) in zip(
            matches.player, matches.score, context.side, context.weight, mixes, strict=True
        )
    ]
    return [(float(t), rows[start[i] : start[i + 1]]) for i, t in enumerate(events.events.time)]


WIDE = {
    "scale": 700, "initial_rating": 1500, "initial_deviation": 400, "deviation_min": 90, "deviation_max": 450,
    "initial_modifier_deviation": 300, "modifier_deviation_max": 320, "growth": 60, "period": 7, "side_advantage": 50,
    "match_weight": 1.3,
}  # fmt: skip


TWIN_CASES = [  # outcome, expansion, what grows, whether there are mixtures, and float64
    *((*way, "all", False, double) for way in WAYS for double in (True, False)),
    *((*way, "all", True, True) for way in WAYS),
    ("probit", "mode", "unplayed", False, True),
    ("logistic", "map", "unplayed", False, False),
]
USUAL = TWIN_CASES[0], ("logistic", "map", "all", False, True), ("probit", "mode", "all", True, True), TWIN_CASES[-2]


@pytest.mark.parametrize(("outcome", "expansion", "grows", "mixed", "double"), mark_full(TWIN_CASES, *USUAL))
def test_against_the_twin(outcome, expansion, grows, mixed, double):
    """If only what was not played grows, in many short periods with few games, some of them idle."""
    seed, games, length = (4, 40, 7.0) if grows == "unplayed" else (0, 90, 20.0)
    matches = league(seed, games, mixed=mixed)
    events = jr.periods(matches, length)._replace(length=None)  # the twin tells the two apart
    wanted, predictions = twin.category_glicko(
        history(matches, events, 3), 3, outcome, expansion, scale=700.0, growth=60.0, minimum=90.0,
        initial=(1500.0, 400.0, 300.0), maxima=(450.0, 320.0), side_advantage=50.0, match_weight=1.3, grows=grows,
    )  # fmt: skip
    with jax.enable_x64(double):
        state, prediction = jax.tree.map(
            np.asarray, jr.run(jr.category_glicko(3, outcome, expansion, grows, **WIDE), events)
        )
    got = np.concatenate([state.rating[:, None], state.modifiers, np.sqrt(state.variance)[:, None]], axis=1)
    got = np.concatenate([got, np.sqrt(state.modifier_variance)], axis=1)
    table = np.array([np.hstack(wanted[i]) for i in range(len(wanted))])
    np.testing.assert_allclose(got, table, atol=1e-7 if double else 0.2, rtol=0)
    np.testing.assert_allclose(prediction, predictions, atol=1e-10 if double else 1e-4, rtol=0)
    np.testing.assert_allclose(state.modifiers.sum(axis=1), 0.0, atol=1e-9 if double else 1e-3)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("outcome", ["probit", "logistic"])
def test_the_maximum_is_found_however_the_games_went(x64, outcome):
    """Hundreds of wins or losses against a category beside the opposite elsewhere, and beliefs of any width."""
    random, law, players = np.random.default_rng(1), OUTCOME_DISTRIBUTIONS[outcome], 40
    spread = random.uniform(0.05, 1.5, (players, 4)) ** 2
    rating, modifiers = random.normal(0, 1, players), random.normal(0, 0.3, (players, 3))
    rows = State(*(jnp.asarray(x, float) for x in (rating, modifiers, spread[:, 0], spread[:, 1:], np.zeros(players))))
    cell = random.permutation(3 * players)[: 2 * players].repeat(2)
    count = 10 ** random.uniform(0, 2.5, len(cell))
    won = np.round(count * random.choice([0.0, 1.0, 0.4], len(cell)))
    games = [random.normal(0, 3, len(cell)), random.uniform(1, 1.5, len(cell)), won, np.round(count) - won]
    column = PeriodGames(jnp.asarray(cell, jnp.int32), *(jnp.asarray(x, float) for x in games))
    played = np.isin(np.arange(3 * players), cell).reshape(players, 3)

    @quick
    def find(rows, column, played):
        guess, ready = rows.rating[:, None] + rows.modifiers, ~played.any(axis=1)
        best = maximize_posterior(law, rows, column, played, guess, ready)
        return strengths_to_rating_and_modifiers(rows, played, best)

    found = jax.tree.map(np.asarray, find(rows, column, jnp.asarray(played)))
    for i in range(players):
        met = {c: list(zip(*(x[cell == 3 * i + c] for x in games), strict=True)) for c in np.flatnonzero(played[i])}
        if met:
            best, parts, _ = twin.at_maximum(outcome, met, rating[i], modifiers[i], (spread[i, 0], spread[i, 1:]))
            wanted = [best, *parts.values()]
            got = [found[0][i], *(found[1][i, c] for c in parts)]
            np.testing.assert_allclose(got, wanted, atol=1e-9 if x64 else 1e-5, rtol=1e-9 if x64 else 1e-5)


@pytest.mark.parametrize("outcome", mark_full(["probit", "logistic"], "probit"))
def test_a_perfect_score_gets_the_maximum_with_the_prior(outcome):
    """In every number as by expansion="map"; who has lost a game as well gets the paper's update."""
    rows = [(0, 1, 1.0)] * 300 + [(2, 3, 1.0), (2, 3, 1.0), (2, 3, 0.0)]
    matches = jr.matches([row[:2] for row in rows], [row[2] for row in rows], category=[[0, 1]] * len(rows))
    events = jr.periods(matches, 14.0)
    mode, prior = (
        jax.tree.map(np.asarray, jr.run(jr.category_glicko(2, outcome, x), events).state) for x in ("mode", "map")
    )
    for x, y in zip(mode, prior, strict=True):
        np.testing.assert_array_equal(x[:2], y[:2])
    assert abs(mode.rating[2] - prior.rating[2]) > 0.01
    assert mode.rating[0] > 1300 and mode.rating[0] - 1000 == pytest.approx(1000 - mode.rating[1])


# Category Glicko at extremes, idle, and with mistakes.


@pytest.mark.parametrize(("outcome", "expansion"), mark_full(WAYS, ("probit", "mode")))
def test_extremes_are_finite(outcome, expansion):
    """Ratings a million points apart, weights of six digits on either side of 1, and nothing but upsets."""
    matches, random, system = league(n=200), np.random.default_rng(0), jr.category_glicko(3, outcome, expansion)
    context = matches.context._replace(weight=10 ** random.uniform(-6, 6, 200))
    matches = matches._replace(context=context, score=(matches.player[:, 0] > 3) * 1.0)
    state = system.init(system.params, 8)
    state = state._replace(rating=state.rating + np.linspace(5e5, -5e5, 8, dtype=np.float32))
    result = jax.tree.map(np.asarray, jr.run(system, jr.periods(matches, 14.0), state=state))
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(result))
    assert np.abs(result.state.rating).max() < 5e6 and np.abs(result.state.modifiers).max() < 5e6
    np.testing.assert_allclose(result.state.modifiers.sum(axis=1), 0, atol=4.0)


ODD = jr.matches([[0, 1], [1, 2]], [1.0, 0.0], category=[[0, 1], [2, 0]])
STATE_OF_TWO = jr.category_glicko(2).init(jr.category_glicko(2).params, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jr.run(jr.category_glicko(2), jr.periods(ODD, 14.0)),
            r"row 1 \(counting from 0\): category 2, counting from 0, but category_glicko has 2 of them",
        ),
        (lambda: jr.predict(jr.category_glicko(2), STATE_OF_TWO, ODD), "row 1 .* category 2"),
        (
            lambda: jr.run(jr.category_glicko(), jr.periods(jr.matches([[0, 1]], [1.0]), 14.0)),
            "needs the categories of both players of every match",
        ),
        (
            lambda: jr.run(jr.category_glicko(), jr.periods(league(categories=2, mixed=True), 14.0)),
            "shares of 2 categories, but category_glicko has 3",
        ),
        (
            lambda: jr.matches([[0, 1]] * 2, [1, 1], category=[[[0.5, 0.5]] * 2, [[0.5, 0.5], [0.5, 0.4]]]),
            r"row 1 .*the shares of categories of player 1 are \[0.5, 0.4\]",
        ),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# What grows in category Glicko while some do not play, and the modifiers as of a time.


def test_a_newcomers_modifiers_grow_in_their_first_period_where_they_were_not_played():
    """Note 3 of the paper, worked out: the root of 200^2 + 70^2."""
    system = jr.category_glicko(2, grows="unplayed", initial_modifier_deviation=200.0, growth=70.0,
                                deviation_max=1e5, modifier_deviation_max=1e5)  # fmt: skip
    events = jr.periods(jr.matches([[0, 1], [1, 0]], [1, 1], category=[[0, 0]] * 2), 14.0)
    deviation = jr.history.modifiers(system, jr.run(system, events).state).deviation
    np.testing.assert_allclose(deviation[:, 1], np.hypot(200.0, 70.0), rtol=1e-6)
    assert (deviation[:, 0] < 200.0).all()


def test_modifiers_are_given_with_their_deviations_as_of_a_time():
    system = jr.category_glicko(3)
    played = league(5, n=30)
    state = jr.run(system, jr.periods(played, 14.0)).state
    got = jr.history.modifiers(system, state)
    np.testing.assert_array_equal(got.mean, state.modifiers)
    np.testing.assert_allclose(got.deviation, np.sqrt(state.modifier_variance), rtol=1e-6)
    later = jr.history.modifiers(system, state, time=float(state.time.max()) + 28.0)
    aged = np.asarray(state.time.max() + 28.0 - state.time)[:, None] / 14.0 * 65.0**2
    wanted = np.minimum(np.sqrt(np.asarray(got.deviation) ** 2 + aged), 160.0)
    np.testing.assert_allclose(later.deviation, wanted, rtol=1e-5)
    assert (wanted > got.deviation).any() and (later.mean == got.mean).all()
    one = jr.category_glicko(1)
    alone = jr.history.modifiers(one, one.init(one.params, 2))
    assert not alone.mean.any() and not alone.deviation.any()
    with pytest.raises(ValueError, match="is before the last event of"):
        jr.history.modifiers(system, state, time=0.0)
    with pytest.raises(ValueError, match="elo has no modifiers; take category_glicko"):
        jr.history.modifiers(jr.elo(), jr.elo().init(jr.elo().params, 2))
