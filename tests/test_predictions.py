"""Series, matrices of matches and brackets against enumeration, plain recursions and each other."""

import json
from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product
from math import comb

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.evaluation.scored_predictions import evaluate_predictions
from jaxrate.forecasts.draw_probabilities import add_fitted_outcomes
from jaxrate.forecasts.knockout_forecasts import best_of, bracket_probabilities, matchup_matrix, simulate_bracket
from jaxrate.forecasts.pairwise_probabilities import build_matchup_tables
from jaxrate.history.history import find_player_id
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, quick, refused

KEY = jax.random.key(0)


def rounding(x64, size=1.0):
    return size * (1e-14 if x64 else 3e-6)


def matrix(players, seed, rounds=None):
    """Probabilities that no strengths explain, and a diagonal that nobody may read."""
    shape = (players, players) if rounds is None else (rounds, players, players)
    p = np.triu(np.random.default_rng(seed).uniform(0.1, 0.9, shape), 1)
    return p + np.tril(1.0 - np.swapaxes(p, -1, -2), -1) + np.diag(np.full(players, np.nan))


@lru_cache
def all_sequences(p, games, score):
    """How often each end comes out of all sequences of games; those played after it change nothing."""
    need, left = (games + 1) // 2, games - sum(score)
    won, lost = [0] * need, [0] * need
    for sequence in product([0, 1], repeat=left):
        mine, others = score
        for game in sequence:
            if max(mine, others) < need:
                mine, others = mine + game, others + 1 - game
        chance = p ** sum(sequence) * (1 - p) ** (left - sum(sequence))
        (won if mine == need else lost)[others if mine == need else mine] += chance
    return won, lost


@MOSTLY_DOUBLE
@pytest.mark.parametrize("games", [1, 3, 5, 7, 9])
def test_a_series_equals_all_sequences_of_games(x64, games):
    probability, need = [Fraction(3, 8), Fraction(63, 64), Fraction(0), Fraction(1)], (games + 1) // 2
    for score in set(product(range(need + 1), repeat=2)) - {(need, need)}:
        result = jax.tree.map(np.asarray, best_of([float(p) for p in probability], games, score))
        assert result.win.dtype == (jnp.float64 if x64 else jnp.float32)
        for i, p in enumerate(probability):
            won, lost = all_sequences(p, games, score)
            for got, wanted in ((result.final_won[i], won), (result.final_lost[i], lost), (result.win[i], sum(won))):
                np.testing.assert_allclose(got, np.array(wanted, float), rtol=0.0 if p in (0, 1) else rounding(x64))


def test_a_long_series_neither_overflows_nor_drifts(x64):
    result = jax.tree.map(np.asarray, best_of(np.full((2, 1), 0.5), 999))
    np.testing.assert_allclose(result.win, [[0.5], [0.5]], rtol=rounding(x64))
    np.testing.assert_allclose(result.final_won[0, 0, 499], comb(998, 499) / 2**999, rtol=rounding(x64, 20))


def test_what_is_no_series_is_refused():
    for arguments, message in (
        ((0.5, 4), "games must be an odd number from 1, got 4"),
        ((0.5, 3, (2, 2)), "no series of first to 2 stands at 2:2"),
        ((1.5, 3), "probability is 1.5, not in [0, 1]"),
        (([[0.5, 1.0], [0.5, np.nan]], 3), "probability[1, 1] is nan, not in [0, 1]"),
    ):
        with refused(message):
            best_of(*arguments)


@MOSTLY_DOUBLE
@pytest.mark.parametrize(("name", "options"), [("elo", {}), ("glicko", {"c": 40}), ("trueskill", {"drift": 0.5})])
def test_matchups_are_the_predictions_of_every_pair(x64, name, options):
    system, random, players = jr.extend.SYSTEMS[name](**options), np.random.default_rng(0), [4, 0, 2]
    played = [random.choice(6, 2, replace=False) for _ in range(60)]
    state = jr.run(system, jr.matches(played, random.integers(0, 3, 60) / 2, np.arange(-70, -10))).state
    found = {time: matchup_matrix(system, state, players, time=time) for time in (None, 500.0)}
    for (time, got), (i, j) in product(found.items(), permutations(range(3), 2)):
        match = jr.matches([[players[i], players[j]]], [1.0], [-70.0 if time is None else time])  # the first was at -70
        assert got[i, j] == pytest.approx(float(jr.predict(system, state, match)[0]), abs=rounding(x64))
    assert np.array_equal(found[None], found[500.0]) == (name == "elo")
    assert np.diag(got).tolist() == [0.5] * 3


def test_matchups_know_categories_and_hyperparameters():
    def by_category(constants, rows, event):
        return constants.params.k * (event.context.category * jnp.array([1, -1])).sum().astype(float)

    elo = jr.elo()
    system, params = elo._replace(rules=elo.rules._replace(predict=by_category)), elo.params._replace(k=0.125)
    got = matchup_matrix(system, elo.init(elo.params, 4), [3, 1, 2], category=[0, 4, 6], params=params)
    assert np.triu(got, 1).tolist() == [[0, -0.5, -0.75], [0, 0, -0.25], [0, 0, 0]]
    assert matchup_matrix(elo, elo.init(elo.params, 4), [3]).tolist() == [[0.5]]


def test_what_are_no_matchups_is_refused():
    elo = jr.elo()
    odd = elo._replace(rules=elo.rules._replace(predict=lambda constants, rows, event: jnp.zeros((2, 2))))
    for system, players, category, message in (
        (jr.elo(), [1, 2, 1], None, "players must be [N] distinct ids"),
        (jr.elo(), [1, 2], [0, 1, 2], "category has shape (3,), expected (2,)"),
        (jr.elo(), [1, 6], None, "there are only 6 players"),
        (odd, [1, 2], None, "elo predicts no expected scores of matches"),
    ):
        with refused(message):
            matchup_matrix(system, system.init(system.params, 6), players, category=category)


def all_outcomes(win, order, players):
    """The whole table, from each outcome of all matches at once; `win` of each round."""
    table = np.zeros((players, len(win) + 1))
    for outcome in product([1, -1], repeat=len(order) - 1):
        results, there, chance = iter(outcome), [list(order)], 1.0
        for one in win:
            games = [pair[:: next(results)] for pair in zip(there[-1][::2], there[-1][1::2], strict=True)]
            chance *= np.prod([one[game] for game in games])
            there.append([winner for winner, _ in games])
        for number, left in enumerate(there):
            table[left, number] += chance
    return table


@MOSTLY_DOUBLE
@pytest.mark.parametrize(("rounds", "each"), [(0, False), (1, True), (2, False), (3, True), (3, False)])
def test_a_bracket_equals_all_outcomes(x64, rounds, each):
    n = 2**rounds + 2
    win, order = matrix(n, rounds, rounds if each else None), np.random.default_rng(rounds).permutation(n)[:-2]
    wanted = all_outcomes(list(win) if each else [win] * rounds, order.tolist(), n)
    got = bracket_probabilities(win, order)
    assert got.dtype == (jnp.float64 if x64 else jnp.float32)
    np.testing.assert_allclose(got, wanted, rtol=rounding(x64))  # exact zeros for the two who are not in it
    if each and rounds == 3:  # without an order they stand as they are numbered
        assert np.array_equal(bracket_probabilities(win[:, order][:, :, order]), got[order])


@pytest.mark.parametrize("order", [[0, -1, 3, 1, -1, -1, 4, 2], [-1, 2, -1, -1, -1, -1, -1, -1]])
def test_a_bye_is_a_player_who_loses_to_everybody(order):
    win = np.full((12, 12), 0.5)
    win[:5, :5], win[:5, 5:], win[5:, :5] = matrix(5, 3), 1.0, 0.0
    spare = iter(range(5, 12))
    wanted = bracket_probabilities(win, [next(spare) if player < 0 else player for player in order])[:5]
    np.testing.assert_allclose(bracket_probabilities(win[:5, :5], order), wanted, rtol=1e-6)
    samples = quick(lambda: simulate_bracket(KEY, win[:5, :5], 1000, order))()
    assert within_errors(samples, wanted, 1000).all() and samples[:, 3].sum() == pytest.approx(1.0)


def test_the_slope_of_a_bracket_is_that_of_finite_differences():
    with jax.enable_x64(True):
        random, win, order = np.random.default_rng(5), matrix(6, 5, 3), [5, 0, -1, 2, 3, 1, 4, -1]
        weight, way = random.normal(size=(6, 4)), np.where(np.isnan(win), 0.0, random.normal(size=(3, 6, 6)))
        value = jax.jit(lambda win: (bracket_probabilities(win, order) * weight).sum())
        wanted = (value(win + 1e-4 * way) - value(win - 1e-4 * way)) / 2e-4
        assert (jax.jit(jax.grad(value))(win) * way).sum() == pytest.approx(float(wanted), rel=1e-6)


def within_errors(frequency, wanted, samples):
    frequency, wanted = np.asarray(frequency), np.asarray(wanted)
    return np.abs(frequency - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / samples) + 1e-6


@MOSTLY_SINGLE
def test_samples_agree_with_the_exact_bracket(x64):
    rounds = 6 if x64 else 4
    win, order = matrix(2**rounds, 6, rounds), np.random.default_rng(0).permutation(2**rounds)
    got, wanted = quick(lambda: simulate_bracket(KEY, win, 20_000, order))(), bracket_probabilities(win, order)
    assert got.dtype == wanted.dtype and within_errors(got, wanted, 20_000).all()
    assert not within_errors(got, bracket_probabilities(win[::-1], order), 20_000).all()
    np.testing.assert_allclose(got.sum(0), 2.0 ** np.arange(rounds, -1, -1), rtol=1e-5)


def test_chunks_functions_and_jit_change_no_tournament(monkeypatch):
    win = jnp.nan_to_num(matrix(4, 7), nan=0.5)
    wanted = simulate_bracket(KEY, win, 100)
    monkeypatch.setattr("jaxrate.forecasts.knockout_forecasts.CHUNK_NUMBERS", 4 * 4 * 2 * 7)
    assert np.array_equal(quick(lambda key, win: simulate_bracket(key, win, 100))(KEY, win), wanted)
    assert np.array_equal(quick(lambda: simulate_bracket(KEY, lambda _: jnp.stack([win] * 2), 100))(), wanted)


def test_a_drawn_matrix_holds_for_a_whole_tournament():
    both = np.full((2, 4, 4), 0.5, np.float32)  # player 0 wins 95% of his games, or 5%, nobody knows which
    both[:, 0], both[:, 1:, 0] = [[0.95], [0.05]], [[0.05], [0.95]]
    exact, either = [bracket_probabilities(win) for win in both], [0, 1]

    def draw(key):
        return jnp.where(jax.random.bernoulli(key), *both[either])

    got = simulate_bracket(KEY, draw, 10_000)
    assert within_errors(got, (exact[0] + exact[1]) / 2, 10_000).all()
    assert not within_errors(got, bracket_probabilities(both.mean(0)), 10_000)[0, 2:].any()
    either = [1, 1]  # the same function says another thing now
    assert within_errors(simulate_bracket(KEY, draw, 10_000), exact[1], 10_000).all()


def test_what_is_no_bracket_is_refused():
    for win, order, message in (
        (matrix(3, 0), None, "the order must be [2^R] ids, filled up with byes, -1; got int64 (3,)"),
        (matrix(2, 0), [0.0, 1.0], "the order must be [2^R] ids, filled up with byes, -1; got float64 (2,)"),
        (matrix(3, 0), [0, 3], "row 1 (counting from 0): player 3 in the order is not in win"),
        (matrix(3, 0), [0, 2, -1, 2], "player 2 is in the order more than once"),
        (matrix(4, 0, 3), None, "a bracket of 4 has 2 rounds, but win has 3"),
        (np.zeros((2, 3)), None, "win must be [N, N] or [R, N, N], got (2, 3)"),
        ([[[0.5, 0.7], [0.4, 0.5]]], None, "win[0, 0, 1] is 0.7, of the other 0.4: not 1 together"),
    ):
        with refused(message):
            bracket_probabilities(win, order)
        with refused(message):
            simulate_bracket(KEY, win, 10, order)
    with refused("a bracket of 4 has 2 rounds, but win has 1"):
        simulate_bracket(KEY, lambda key: jnp.full((1, 4, 4), 0.5), 10)


GAMES = {"a": [*"abcabcbcaa"], "b": [*"bcacabaabb"], "score": [1, 0.5, 0, 1, 0.5, 1, 0, 1, 0, 0.5], "t": [*range(10)]}
SYSTEMS = {"trueskill": jr.trueskill, "urnings": lambda: jr.urnings(outcomes=3), "levels": lambda: jr.urnings(20, 5)}
CHANCES = {"trueskill": ["win", "draw", "loss", "quality"], "urnings": ["win", "draw", "loss"]}
CHANCES["levels"] = [f"probability_{x:g}" for x in (1, 0.75, 0.5, 0.25, 0)]


def columns(rated):
    return {name: rated.predictions[name].to_numpy() for name in rated.predictions.column_names}


@pytest.mark.parametrize("name", mark_full(SYSTEMS, "levels"))
def test_rated_matches_keep_the_chances(name, tmp_path):
    plain, data = SYSTEMS[name](), jr.read(GAMES, time="t")
    system = jr.forecasts.add_outcomes(plain)
    rated, expected = jr.rate(system, data), jr.rate(plain, data, calibrate=False)
    got, wanted = columns(rated), columns(expected)
    assert [*got][5:-4] == ["prediction", *CHANCES[name]]
    np.testing.assert_allclose(got["prediction"], wanted["prediction"], rtol=1e-5)
    np.testing.assert_array_equal(got["rating_a"], wanted["rating_a"])
    every = [x for x in CHANCES[name] if x != "quality"]
    np.testing.assert_allclose(sum(got[x] for x in every), 1.0, rtol=1e-5)
    worth = np.linspace(1.0, 0.0, len(every))
    np.testing.assert_allclose(sum(w * got[x] for w, x in zip(worth, every, strict=True)), got["prediction"], rtol=1e-5)
    jr.save(tmp_path, rated)
    again = jr.load(tmp_path)
    assert again.system == system and again.predictions.equals(rated.predictions)

    career = jr.career(rated, "b")
    first = np.array(GAMES["a"]) == "b"
    mine = first | (np.array(GAMES["b"]) == "b")
    best, worst = every[0], every[-1]
    np.testing.assert_array_equal(career[best], np.where(first, got[best], got[worst])[mine])
    assert evaluate_predictions(rated, data) == pytest.approx(evaluate_predictions(expected, data), rel=1e-4)
    np.testing.assert_allclose(matchup_matrix(rated), matchup_matrix(expected), rtol=1e-5)
    jr.site.report_html(rated)
    run = jr.run(system, data, key=jax.random.key(0)).prediction
    jr.plots.calibration(run, data.matches.score), jr.plots.residuals(run, data), jr.plots.loss_by_difference(rated)
    plt.close("all")


def test_all_commands_give_the_same_chances_of_draws(tmp_path, jaxrate, league):
    """`rate --outlook` did not fit the odds of draws, and reports did, so that they gave a pair different chances."""
    games, coming = tmp_path / "games.csv", tmp_path / "coming.csv"
    score = np.asarray(league.score) + 0.0
    score[::2] = np.where(score[::2] == 0.5, 1.0, score[::2])  # rarer draws than the odds of 1 give
    rows = zip(league.player[:, 0], league.player[:, 1], score, league.time, strict=True)
    games.write_text("a,b,score,t\n" + "".join(f"P{a},P{b},{s},{t}\n" for a, b, s, t in rows))
    coming.write_text(f"a,b,t\nP0,P1,{league.time[-1]}\n")
    found = {}
    for name, options in {"plain": (), "outlook": ("--outlook",)}.items():
        run = tmp_path / name
        assert jaxrate("rate", games, "--system", "glicko", "--time", "t", *options, "--out", run)[0] == 0
        code, said, error = jaxrate("predict", run, coming, "--time", "t", "--json")
        assert code == 0, error
        (row,), rated = json.loads(said), jr.load(run)
        found[name] = [row[x] for x in ("win", "draw", "loss")]
        tables = build_matchup_tables(rated, np.array([find_player_id(rated.players, x) for x in ("P0", "P1")]))
        drawn = tables.draw.scale * tables.draw.left[:, 0] @ tables.draw.right[:, 1]
        found[f"pages of {name}"] = [float(tables.even.probability(0, 1)), float(drawn)]
    np.testing.assert_allclose(found["plain"], found["outlook"], rtol=1e-5)
    np.testing.assert_allclose(found["pages of plain"], found["pages of outlook"], rtol=1e-12)
    win, draw, _ = found["plain"]
    np.testing.assert_allclose(found["pages of plain"], [win + draw / 2, draw], atol=1e-3)


def test_chances_of_draws_are_fitted_to_the_matches_before():
    """Those of a match do not depend on its result, nor on later ones."""
    random = np.random.default_rng(2)
    score = random.choice([0.0, 0.5, 1.0], 500, p=[0.45, 0.1, 0.45])
    player = np.array([random.choice(8, 2, replace=False) for _ in range(500)])
    names = np.array([f"P{i}" for i in range(8)], object)

    def draws(score):
        data = jr.data.Dataset(jr.matches(player, score, np.arange(500.0)), names, np.arange(500))
        return columns(add_fitted_outcomes(jr.rate(jr.glicko(), data)))["draw"]

    known = draws(score)
    assert abs(known[200:].mean() - 0.1) < 0.03 and known[:100].mean() > 0.25
    np.testing.assert_array_equal(known[:401], draws(np.where(np.arange(500) >= 400, 0.5, score))[:401])
