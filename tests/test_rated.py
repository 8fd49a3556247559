"""What takes a rated history or a dataset takes its parts, and both print as a few lines."""

import re

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.records.predictions import matchups
from jaxrate.records.rated import find

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("in_a_hurry")
NAMES = np.array([f"player {i:02}" for i in range(41)], object)


@pytest.fixture
def data(league):
    """Of 40 players, and one who has not played."""
    return jr.Dataset(league, NAMES, np.arange(600))


@pytest.fixture
def rated(data):
    return jr.rate(jr.glicko(), data)


def refused(message):
    return pytest.raises(ValueError, match=re.escape(message))


def same(one, two):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(x, y)


def test_records_take_a_rated_history(rated):
    system, state = rated.system, rated.state
    same(jr.ratings(rated, time=2000.0), jr.ratings(system, state, time=2000.0))
    same(jr.leaderboard(rated, top=3, cautious=3), jr.leaderboard(system, state, NAMES, top=3, cautious=3))
    best = np.argsort(-np.asarray(state.rating), kind="stable")
    same(jr.pairs(rated), jr.pairs(system, state, best, time=rated.last))
    named = matchups(rated, players=["player 03", "player 01", 7])
    same(named, matchups(system, state, [3, 1, 7]))
    assert matchups(rated).shape == (41, 41)
    for function in (jr.ratings, jr.leaderboard, jr.pairs, matchups):
        with refused("a rated history has a state of its own"):
            function(rated, state)


def test_a_leaderboard_among_some(rated):
    few = ["player 05", "player 30", "player 11", 2]
    board, whole = jr.leaderboard(rated, among=few), jr.leaderboard(rated, top=41)
    there = np.isin(whole.player, ["player 05", "player 30", "player 11", "player 02"])
    same(board[1:], [x[there] for x in whole[1:]])
    assert board.rank.tolist() == [1, 2, 3, 4] and len(jr.leaderboard(rated, among=few, top=2).player) == 2
    with refused("no player 'player 55'; did you mean"):
        jr.leaderboard(rated, among=["player 55"])


def test_replays_take_a_dataset(data):
    system, plain = jr.glicko(), data.matches
    result = jr.run(system, data)
    same(result, jr.run(system, plain, num_players=41))
    same(jr.history(system, data), jr.history(system, plain, num_players=41))
    same(jr.by_level(data), jr.by_level(plain))
    half = jr.run(system, data, state=result.state)
    same(half, jr.run(system, plain, state=result.state))
    assert jr.predict(system, jr.run(system, plain).state, data._replace(players=NAMES)).shape == (600,)
    few = jr.Dataset(plain, NAMES[:40], np.arange(600))
    assert len(jr.run(system, few, state=result.state).state.rating) == 41
    assert len(jr.run(system, data, num_players=50).state.rating) == 50
    assert jr.fit(jr.elo(), data, free=("k",), steps=2).loss == jr.fit(jr.elo(), plain, free=("k",), steps=2).loss


def test_metrics_take_a_dataset():
    rounds = jr.rounds([0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 0, 1])
    data, rating = jr.Dataset(rounds, np.array(["x", "y"], object), np.arange(4)), [2.0, 1.0, 1.0, 2.0]
    for metric in (jr.metrics.pair_inversion, jr.metrics.rank_deviation, jr.metrics.standings):
        assert metric(data, rating) == pytest.approx(metric(rounds, rating), nan_ok=True)
    same(jr.metrics.duels(data), jr.metrics.duels(rounds))
    same(jr.metrics.seen(data, 1), jr.metrics.seen(rounds, 1))


def test_they_print_as_a_few_lines(data, rated):
    first, second = np.argsort(-np.asarray(rated.state.rating))[:2]
    assert repr(rated).splitlines() == [
        "Rated: 600 matches of 41 players",
        f"  system   {jr.glicko()!r}",
        f"  last     {rated.last:.15g}",
        repr(rated).splitlines()[3],
    ]
    leaders = repr(rated).splitlines()[3]
    assert leaders.startswith(f"  leaders  {NAMES[first]} {rated.state.rating[first]:.1f}, {NAMES[second]} ")
    assert repr(jr.run(jr.elo(), data)) == "Run\n  state       rating [41]\n  prediction  [600]"
    lines = repr(jr.history(jr.glicko(), data)).splitlines()
    assert lines[-1] == "  before      mean [600, 2], deviation [600, 2]"
    contests = jr.from_teams([[["Ada"], ["Bo"]], [["Bo"], ["Cy"], ["Ada"]]])
    text = repr(jr.rate(jr.elo_mmr(), contests))
    assert text.startswith("Rated: 2 contests, 5 participations of 3 players\n") and "last" not in text
    assert "in periods of 50" in repr(jr.rate(jr.elo(), data, period=50.0))
    assert repr(jax.eval_shape(lambda: jr.run(jr.elo(), data))).startswith("Run\n")


def test_a_leaderboard_is_a_table_in_notebooks(rated):
    board = jr.leaderboard(rated._replace(players=np.array(["<b>", *NAMES[1:]], object)), top=41)
    page = board._repr_html_()
    assert page.count("<tr>") == 42 and "&lt;b&gt;" in page and "<b>" not in page
    for text in re.findall(r"\S+ to \S+", str(board)):
        assert text in page


def test_players_are_found_by_name_or_id():
    assert find(NAMES, "player 03") == find(NAMES, 3) == 3
    assert find(np.array([30, 10]), "10") == find(np.array([30, 10]), 10) == find(None, 1, 2) == 1
    for names, player, message in (
        (NAMES, 41, "no player 41: ids run from 0 to 40"),
        (np.array([30, 10]), 0, "no player 0"),
        (np.array(["x", "x"]), "x", "2 players have the name 'x'; give an id"),
    ):
        with refused(message):
            find(names, player)
