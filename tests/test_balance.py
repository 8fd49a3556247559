"""Balanced teams and fair pairings: against all there are."""

import itertools

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.forecasts.knockout_forecasts import matchup_matrix
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused

pytest.importorskip("pyarrow")
NAMES = np.array([f"player {i:02}" for i in range(40)], object)
LEAGUE = jr.data.simulate.league(40, 600, seed=4, draws=0.2).matches, NAMES, np.arange(600)


@pytest.fixture(scope="module")
def rated():
    return jr.rate(jr.elo(), jr.data.Dataset(*LEAGUE))


@pytest.mark.parametrize(
    ("system", "strength"),
    [
        (jr.elo(), np.mean),
        (jr.trueskill(initial_rating=25.0), np.sum),
        (jr.skills(parts.team(performance="mean")), np.mean),
        (jr.skills(parts.team(size_advantage=80.0)), lambda x: np.sum(np.array(x) - 1500.0) + 80.0 * np.log(len(x))),
    ],
)
@pytest.mark.parametrize(("n", "teams"), mark_full([(8, 2), (6, 3), (4, 4), (7, 3)], (6, 3), (7, 3)))
@MOSTLY_DOUBLE
def test_no_teams_are_closer_and_sizes_differ_by_one_at_most(rated, system, strength, n, teams, x64):
    strength = np.sum if strength is np.mean and n % teams == 0 else strength  # of teams of one size
    history = rated if system == jr.elo() else jr.rate(system, jr.data.Dataset(*LEAGUE))
    pool = list(NAMES[3 : 3 + n])
    found = jr.forecasts.balance_teams(history, pool, teams=teams, time_limit=20)
    mean = dict(zip(NAMES, np.asarray(jr.ratings(history).mean, float), strict=True))
    strengths = [
        [strength([mean[x] for x in order[i::teams]]) for i in range(teams)] for order in itertools.permutations(pool)
    ]
    least = min(max(x) - min(x) for x in strengths)
    sizes = [len(team) for team in found.teams]
    assert found.optimal and sorted(x for team in found.teams for x in team) == pool
    assert max(sizes) - min(sizes) == (n % teams > 0) and "none are fairer" in str(found)
    assert "<th" in found._repr_html_() and len(jr.data.to_frame(found)) == teams
    np.testing.assert_allclose(found.strength, [strength([mean[x] for x in team]) for team in found.teams], rtol=1e-5)
    assert found.strength[0] - found.strength[-1] <= least + np.std([mean[x] for x in pool]) / 150
    assert (found.share is None) == (system == jr.elo())


@pytest.mark.parametrize("n", [6, 7])
def test_no_pairing_is_fairer(rated, n):
    pool = list(NAMES[10 : 10 + n])
    found = jr.forecasts.pair_players(rated, pool)
    cost = abs(np.asarray(matchup_matrix(rated, players=pool)) - 0.5)
    least = min(
        sum(cost[order[i], order[i + 1]] for i in range(0, n - 1, 2)) for order in itertools.permutations(range(n))
    )
    assert found.optimal and abs(found.matches["expected"] - 0.5).sum() == pytest.approx(least, abs=1e-5)
    assert len(jr.data.to_frame(found)) == n // 2
    assert len(found.unpaired) == n % 2 and all(f"{name}" in found._repr_html_() for name in pool)
    assert sorted([*found.matches["a"], *found.matches["b"], *found.unpaired]) == pool
    pair = found.matches["a"][0], found.matches["b"][0]
    other = jr.forecasts.pair_players(rated, pool, apart=[pair])
    assert set(pair) not in [{a, b} for a, b in zip(other.matches["a"], other.matches["b"], strict=True)]
    assert "none are fairer" in str(found) and ("without a match" in str(found)) == (n == 7)


@pytest.mark.parametrize("n", [6, 7])
def test_neighbours_are_paired_if_nothing_better_is_found_in_time(rated, n, monkeypatch):
    from jaxrate.forecasts import matchmaking

    pool = NAMES[:n]
    by_strength = jr.leaderboard(rated, among=pool).player
    nothing = type("Nothing", (), {"x": None, "status": 1})
    monkeypatch.setattr(matchmaking.scipy.optimize, "milp", lambda *given, **more: nothing)
    found = jr.forecasts.pair_players(rated, pool)
    place = {name: i for i, name in enumerate(by_strength)}
    assert not found.optimal and "perhaps others are fairer" in str(found)
    assert all(abs(place[a] - place[b]) == 1 for a, b in zip(found.matches["a"], found.matches["b"], strict=True))
    cost = abs(np.asarray(matchup_matrix(rated, players=by_strength)) - 0.5)
    if n % 2:
        sums = []
        for out in range(0, n, 2):
            rest = [i for i in range(n) if i != out]
            sums.append(sum(cost[rest[i], rest[i + 1]] for i in range(0, n - 1, 2)))
        assert abs(found.matches["expected"] - 0.5).sum() == pytest.approx(min(sums), abs=1e-5)
    teams = jr.forecasts.balance_teams(rated, NAMES[:n], teams=3)
    assert not teams.optimal and sorted(len(x) for x in teams.teams) == ([2, 2, 2] if n == 6 else [2, 2, 3])


def test_what_cannot_be_balanced(rated):
    contests = jr.rate(jr.weng_lin(), {"contest": [0, 0], "player": ["a", "b"], "rank": [1, 2]})
    balance, pair = jr.forecasts.balance_teams, jr.forecasts.pair_players
    for call, message in (
        (lambda: balance(rated, NAMES[:1]), "1 players cannot be divided into 2 teams"),
        (lambda: balance(rated, ["player 01", "player 01"]), "somebody is in the pool twice"),
        (lambda: balance(rated, NAMES[:4], time_limit=0), "time_limit must be above 0"),
        (lambda: pair(rated, ["player 01"]), "a pool of at least two players, got 1"),
        (lambda: pair(contests, ["a", "b"]), "a pairing is of matches of two"),
        (lambda: pair(rated, NAMES[:4], apart=[(NAMES[0], x) for x in NAMES[1:4]]), "cannot be kept apart"),
        (lambda: pair(rated, NAMES[:2], apart=[NAMES[:2]]), "cannot be kept apart"),  # it was "no rows"
    ):
        with refused(message):
            call()
