"""The histories of `urnings_data.py` and `urnings_estimates.py`, and what their urns held around each game.

In quick mode they are simulated.
"""

from typing import NamedTuple

import jax
import numpy as np
from pyarrow import parquet

import jaxrate as jr

BALLS = 50  # of a chess program's urn
MOVIE, USER, EXERCISE, LEARNER = 20, 10, 200, 20
TRIALS = "Test", "Calibration", "Odds"  # in the names of events that are no tournaments


class Replay(NamedTuple):
    """What the urns of both players held around each of n games, and how many games each had played before."""

    prediction: np.ndarray  # [n, ...]
    before: np.ndarray  # [n, 2] green balls
    after: np.ndarray  # [n, 2]
    size: np.ndarray  # [n, 2]
    games: np.ndarray  # [n, 2]
    state: object

    @property
    def settled(self):
        """Who has played 3 games per ball."""
        return (self.games >= 3 * self.size).all(axis=1)


def replay(system, matches, state, seed=0):
    history = jr.history.rating_history(system, matches, state=state, key=jax.random.key(seed))
    player, all_sizes = np.asarray(matches.player), np.asarray(history.state.size)
    size = all_sizes[player]
    before = np.rint(np.asarray(history.before.mean, np.float64) * size).astype(int)
    flat = player.ravel()
    order = np.argsort(flat, kind="stable")
    first = np.diff(flat[order], prepend=-1) != 0
    games, after = np.empty(len(flat), int), np.asarray(history.state.green)[flat]
    games[order] = np.arange(len(flat)) - np.maximum.accumulate(np.where(first, np.arange(len(flat)), 0))
    after[order[:-1]] = np.where(first[1:], after[order[:-1]], before.ravel()[order[1:]])
    prediction = np.asarray(history.prediction, np.float64)
    return Replay(prediction, before, after.reshape(-1, 2), size, games.reshape(-1, 2), history.state)


def chess(data, quick):
    """Games of two families, and their names."""
    if quick:
        random = np.random.default_rng(0)
        players, games, strength = 20, 20_000, random.normal(0, 0.4, 20)
        first = random.integers(0, players, games)
        player = np.stack([first, (first + random.integers(1, players, games)) % players], axis=1)
        lead = strength[player[:, 0]] - strength[player[:, 1]] + 0.1
        chance = np.stack([np.exp(-lead), np.full(games, 4.0), np.exp(lead)], axis=1)
        chance /= chance.sum(axis=1, keepdims=True)
        score = (random.random((games, 1)) > chance.cumsum(axis=1)[:, :2]).sum(axis=1) / 2
        return jr.matches(player, score, np.arange(games) // 50), [f"P{k}" for k in range(players)]
    table, who = (read_columns(data / f"chess_tcec{part}.parquet") for part in ("", "_players"))
    names, number = np.unique(np.asarray(who["family"], str), return_inverse=True)
    family = np.empty(int(who["id"].max()) + 1, int)
    family[who["id"]] = number
    player = family[np.stack([table["a"], table["b"]], axis=1)]
    trial = [any(word in event for word in TRIALS) for event in table["event"]]
    real = (player[:, 0] != player[:, 1]) & ~np.array(trial)
    return jr.matches(player[real], table["score"][real], table["t"][real]), names.tolist()


def read_columns(path):
    table = parquet.read_table(path)
    return {name: np.asarray(table[name]) for name in table.column_names}


def answers(data, name, quick, first, second, games):
    """Matches, the number of the first kind, and the names of all."""
    if not quick:
        table = read_columns(data / f"{name}.parquet")
        who = read_columns(data / f"{name}_players.parquet")
        time = table["t"] if "t" in table else table["step"]
        labels = who.get("name", np.char.add("exercise ", who["source_id"].astype(str)))
        matches = jr.matches(np.stack([table["a"], table["b"]], axis=1), table["score"], time)
        return matches, int((who["kind"] == who["kind"][0]).sum()), labels
    random = np.random.default_rng(1)
    skill = random.normal(0, 1, first + second)
    player = np.stack([random.integers(0, first, games), first + random.integers(0, second, games)], axis=1)
    won = random.random(games) < 1 / (1 + np.exp(-skill[player[:, 0]] + skill[player[:, 1]]))
    return jr.matches(player, won, np.arange(games) // 50), first, [f"P{k}" for k in range(first + second)]


def at_random(sizes, seed=0):
    """Urns that start anywhere, as in the paper."""
    return jr.urns.make_urns(sizes, np.random.default_rng(seed).integers(0, sizes + 1) / sizes)
