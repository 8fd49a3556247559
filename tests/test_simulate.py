"""Simulated leagues follow the laws they state, within sampling error."""

import itertools
import math
import re
import tracemalloc
from statistics import NormalDist

import jax
import numpy as np
import pytest
from pyarrow import parquet

import jaxrate as jr
from jaxrate import events
from jaxrate.data import simulate
from jaxrate.data.simulate import contests, league, stream_contests, stream_league, write

EVERY = {"draws": 0.3, "drift": 50.0, "activity": 0.5, "side_advantage": 30.0, "luck": 0.8}


def expected(a, b):
    return 1 / (1 + 10 ** (-(a - b) / 400))


def share(n, activity):
    weight = np.arange(1.0, n + 1) ** -activity
    return weight / weight.sum()


def check_counts(counts, law):
    """Pearson's chi-square within five standard deviations of its mean."""
    wanted = counts.sum() * law
    assert law.sum() == pytest.approx(1) and wanted.min() > 5
    free = len(law) - 1
    assert ((counts - wanted) ** 2 / wanted).sum() < free + 5 * math.sqrt(2 * free)


def equal(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(simulate, "CHUNK", 1000)


CONTESTS = {"size": (2, 30), "activity": 0.7, "days": 365.0, "drift": 40.0}


@pytest.mark.parametrize(("simulate_games", "options"), [(league, EVERY), (contests, CONTESTS)])
def test_the_same_seed_gives_the_same_history_and_another_one_another(simulate_games, options):
    one, same, other = (simulate_games(60, 300, seed=seed, **options) for seed in (5, 5, 6))
    equal(one, same)
    assert (one.strength != other.strength).any() and (one.games != other.games).any()


def test_matches_are_spread_evenly_and_counted():
    np.testing.assert_allclose(league(5, 11, days=100.0).matches.time, np.arange(11) * 10.0)
    assert league(5, 1).matches.time.tolist() == [0.0]
    one = league(7, 100)
    assert one.games.tolist() == [int((one.matches.player == p).sum()) for p in range(7)]
    assert one.strength.shape == (7,) and one.games.sum() == 200
    player = league(2, 500).matches.player  # nobody is on both sides, even among two
    assert (player.sum(axis=1) == 1).all() and {*player[:, 0].tolist()} == {0, 1}


@pytest.mark.parametrize("activity", [0.0, 0.8, 2.0])
def test_pairs_are_drawn_by_share_and_the_second_again_until_he_differs(activity):
    a, b = league(12, 400_000, activity=activity, seed=1).matches.player.T
    p = share(12, activity)
    law = p[:, None] * p / (1 - p[:, None])
    apart = ~np.eye(12, dtype=bool)
    check_counts(np.bincount(a * 12 + b, minlength=144).reshape(12, 12)[apart], law[apart])


LAWS_OF_SCORES = [(1, 0, 250, 0), (1, 0.3, 250, 0), (1, 0.5, 250, 0), (0, 0, 400, 0), (0.6, 0, 400, 0)]
LAWS_OF_SCORES += [(0.6, 0.5, 400, 0), (1, 0.5, 0, 0), (1, 0, 0, 100), (1, 0.2, 200, -50)]


@pytest.mark.parametrize(("luck", "draws", "spread", "side"), LAWS_OF_SCORES)
def test_scores_and_draws_follow_the_logistic_law_mixed_with_a_coin(luck, draws, spread, side):
    one = league(200, 60_000, luck=luck, draws=draws, spread=spread, side_advantage=side)
    a, b = one.strength[one.matches.player].T
    wanted, score = (1 - luck) / 2 + luck * expected(a + side, b), one.matches.score
    drawn = draws * 4 * wanted * (1 - wanted)
    assert {*score.tolist()} == ({0.0, 0.5, 1.0} if draws else {0.0, 1.0})
    assert one.matches.context.side is None if side == 0 else (one.matches.context.side == 1).all()
    for low in range(-1000, 1000, 200):
        chosen = (a - b >= low) & (a - b < low + 200)
        error = 4.5 * 0.5 / math.sqrt(max(chosen.sum(), 1))
        assert abs(np.sum((score - wanted)[chosen])) <= error * chosen.sum()
        assert abs(np.sum(((score == 0.5) - drawn)[chosen])) <= error * chosen.sum()


@pytest.mark.parametrize(
    ("simulate_games", "players", "count", "options", "wanted"),
    [
        (league, 4000, 200, {"days": 365.0}, 40.0),
        (league, 4000, 200, {"days": 4 * 365.0}, 80.0),
        (league, 4000, 250_000, {"days": 365.0}, 40.0),  # of many chunks
        (contests, 3000, 150, {"size": (2, 30), "activity": 0.7, "days": 365.0}, 40.0),
    ],
)
def test_strengths_drift_with_the_root_of_time(small_chunks, simulate_games, players, count, options, wanted):
    still, moved = (simulate_games(players, count, drift=drift, **options).strength for drift in (0.0, 40.0))
    assert (moved - still).std() == pytest.approx(wanted, rel=0.06)


def test_results_follow_the_strengths_of_their_time():
    """Without spread at the start, only the end of a drifting league is decided by the strengths at the end."""
    one = league(50, 40_000, spread=0.0, drift=400.0, days=365.0)
    a, b = one.strength[one.matches.player].T
    error = (one.matches.score - expected(a, b)) ** 2
    assert error[-4000:].mean() < error[:4000].mean() - 0.05


SIZES = 1, 6, (4, 3)
NUMBER = "must be from {} to {}, got "


@pytest.mark.parametrize(
    ("simulate_games", "change", "message"),
    [
        *((league, {x: -1.0}, f"{x} " + NUMBER.format(0, "1e+12")) for x in ("days", "spread", "drift", "activity")),
        *((league, {"draws": x}, "draws " + NUMBER.format(0, 0.5)) for x in (-0.1, 0.51)),
        (league, {"activity": 9.0}, "activity 9.0 is too large: one player would be drawn nearly every time"),
        *((contests, {"size": x}, f"size must be from 2 to num_players, 5, or such a pair, got {x}") for x in SIZES),
    ],
)
def test_arguments_out_of_range_are_refused(simulate_games, change, message):
    usual = {"num_matches": 10} if simulate_games is league else {"num_rounds": 10, "size": 3}
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate_games(**{"num_players": 5, **usual, **change})


LEAGUE = (stream_league, league, (20, 3500), {"seed": 9, **EVERY}, ["a", "b", "score", "time", "side"])
ROUNDS = (stream_contests, contests, (40, 400), {"size": (2, 30), "drift": 50.0, "grid": 40.0})
ROUNDS = *ROUNDS, ["contest", "player", "rank", "time"]


@pytest.mark.parametrize(
    ("stream", "whole", "counts", "options", "names"), [LEAGUE, ROUNDS], ids=["league", "contests"]
)
def test_what_is_written_is_the_history(stream, whole, counts, options, names, tmp_path, small_chunks):
    path, done = tmp_path / "games.parquet", []
    write(stream(*counts, **options), path, done.append)
    assert len(done) > 3 and done[-1] == counts[1] and done == sorted(set(done))
    one, table = whole(*counts, **options), parquet.read_table(path)
    assert table.column_names == names
    columns = {name: table[name].to_numpy() for name in names}
    truth = parquet.read_table(tmp_path / "games.truth.parquet").to_pydict()
    assert truth == {"player": [*range(counts[0])], "strength": one.strength.tolist(), "games": one.games.tolist()}
    assert {file.name for file in tmp_path.iterdir()} == {"games.parquet", "games.truth.parquet"}
    if whole is contests:
        equal(events.rounds(**columns), one.rounds)
        np.testing.assert_array_equal(columns["rank"], one.rounds.events.rank)
        return
    equal(events.matches(np.stack([columns.pop("a"), columns.pop("b")], axis=1), **columns), one.matches)
    data = jr.read(path, side="side")
    np.testing.assert_array_equal(data.players[data.matches.player], one.matches.player)
    equal(data.matches._replace(player=one.matches.player), one.matches)


def test_an_interrupted_history_leaves_everything_as_it_was(tmp_path, small_chunks):
    path = tmp_path / "games.parquet"

    def interrupt(done):
        if done > 2000:
            raise KeyboardInterrupt

    for before in ([], ["games.parquet", "games.truth.parquet"]):
        with pytest.raises(KeyboardInterrupt):
            write(stream_league(20, 3500), path, interrupt)
        assert sorted(file.name for file in tmp_path.iterdir()) == before
        if not before:
            write(stream_league(20, 50), path)
    assert parquet.read_metadata(path).num_rows == 50


def test_a_long_history_is_written_small_and_in_bounded_memory(tmp_path):
    path, n = tmp_path / "games.parquet", 5_000_000
    tracemalloc.start()
    try:
        write(stream_league(200_000, n, activity=0.8), path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 180e6  # at once it would take 120 MB for the columns and some 500 MB for what they are made of
    assert parquet.read_metadata(path).num_rows == n
    assert path.stat().st_size < 6 * n


def standings(one):
    """Of every contest: the players, and their ranks."""
    cuts = one.rounds.player_start[1:-1]
    return list(zip(np.split(one.rounds.events.player, cuts), np.split(one.rounds.events.rank, cuts), strict=True))


def test_contests_have_their_size_their_time_and_no_player_twice():
    one = contests(30, 101, size=7, days=50.0, activity=1.0)
    np.testing.assert_array_equal(np.diff(one.rounds.player_start), 7)
    np.testing.assert_allclose(one.rounds.events.time, np.arange(101) * 0.5)
    assert all(len({*player.tolist()}) == 7 for player, _ in standings(one))
    np.testing.assert_array_equal(one.games, np.bincount(one.rounds.events.player, minlength=30))
    assert (contests(9, 20, size=9, activity=2.0).games == 20).all()


def test_sizes_are_log_uniform():
    size = np.diff(contests(500, 20_000, size=(3, 40)).rounds.player_start)
    k = np.arange(3, 41)
    check_counts(np.bincount(size - 3, minlength=38), np.log((k + 1) / k) / math.log(41 / 3))


@pytest.mark.parametrize("activity", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("way", ["_draw_by_arrival", "_draw_until_distinct"])
def test_participants_are_drawn_one_after_the_other_without_replacement(way, activity):
    p, law = share(6, activity), np.zeros(64)
    for i, j, k in itertools.permutations(range(6), 3):
        law[2**i + 2**j + 2**k] += p[i] * p[j] / (1 - p[i]) * p[k] / (1 - p[i] - p[j])
    pick, size = simulate.PlayerSampler(np.random.default_rng(3), 6, activity), np.tile([3, 2], 60_000)
    ends = np.cumsum(size)[::2]
    trio = getattr(pick, way)(size)[ends[:, None] - [1, 2, 3]]
    check_counts(np.bincount((2**trio).sum(axis=1), minlength=64)[law > 0], law[law > 0])


def test_without_noise_the_stronger_is_ahead():
    one = contests(60, 200, size=(2, 60), noise=0.0)
    for player, rank in standings(one):
        assert (np.diff(one.strength[player]) < 0).all()
        np.testing.assert_array_equal(rank, np.arange(len(player)))


def test_performances_that_are_equal_on_the_grid_tie():
    one = contests(60, 200, size=(2, 60), noise=0.0, grid=150.0)
    ties = 0
    for player, rank in standings(one):
        step = np.round(one.strength[player] / 150)
        np.testing.assert_array_equal(rank, (step[:, None] < step).sum(axis=1))
        ties += len(player) - len({*rank.tolist()})
    assert ties > 1000
    assert (next(stream_contests(5, 10, size=5, noise=0.0, spread=0.0).chunks)["rank"] == 0).all()


def test_two_meet_by_the_probit_law_of_the_noise():
    one = contests(100, 60_000, size=2, noise=150.0)
    first, second = one.rounds.events.player.reshape(-1, 2).T
    swap = first > second  # the winner comes first: ask for the player of the smaller id
    gap = np.where(swap, -1, 1) * (one.strength[first] - one.strength[second])
    for low in range(-600, 600, 100):
        chosen = (gap >= low) & (gap < low + 100)
        wanted = np.mean([NormalDist(0, 150 * math.sqrt(2)).cdf(d) for d in gap[chosen]])
        assert abs((~swap[chosen]).mean() - wanted) < 4.5 * 0.5 / math.sqrt(chosen.sum())
