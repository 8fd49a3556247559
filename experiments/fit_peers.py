"""The libraries with which `fit_data.py` compares: how each plays matches, and the search of its best settings.

The function of a peer gets matches [n] and settings, and returns predictions [n], each from the matches before it. They
are called in processes of their own.

riix is under a non-commercial licence: it is called here, nothing of it is copied.
"""

import importlib
import math
import time
from functools import partial
from statistics import NormalDist

import numpy as np
from common import log_losses

PEER_STRETCH = 40_000  # matches before the cut on which settings are searched
SETTINGS = 12  # that are tried
WEEK = 7.0


def numbered(player):
    """The same players with numbers from 0 in order of first appearance."""
    _, first, which = np.unique(player, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which].reshape(-1, 2).astype(np.int32)


def riix_play(name, player, score, day, **settings):
    names = [str(i) for i in range(int(player.max()) + 1)]
    model = getattr(importlib.import_module(f"riix.models.{name}"), name.capitalize())(names, **settings)
    one = partial(model.fit_batch, return_pre_match_probs=True)
    return np.array([one(player[i : i + 1], score[i : i + 1], time_step=day[i])[0] for i in range(len(score))])


def elote_play(player, score, day, k_factor):
    kind = importlib.import_module("elote").EloCompetitor
    who = [kind(k_factor=k_factor) for _ in range(int(player.max()) + 1)]
    p = np.empty(len(score))
    for i, (a, b) in enumerate(player.tolist()):
        first, second = who[a], who[b]
        p[i] = first.expected_score(second)
        (first.beat if score[i] == 1 else first.lost_to if score[i] == 0 else first.tied)(second)
    return p


def openskill_play(player, score, day, **settings):
    model = importlib.import_module("openskill.models").PlackettLuce(**settings)
    who = [model.rating() for _ in range(int(player.max()) + 1)]
    p = np.empty(len(score))
    for i, (a, b) in enumerate(player.tolist()):
        teams = [[who[a]], [who[b]]]
        p[i] = model.predict_win(teams)[0]
        [[who[a]], [who[b]]] = model.rate(teams, ranks=[1.0 - score[i], score[i]])
    return p


def trueskill_play(player, score, day, draw_probability, **settings):
    world = importlib.import_module("trueskill").TrueSkill(draw_probability=draw_probability, **settings)
    normal, who = NormalDist(), [world.create_rating() for _ in range(int(player.max()) + 1)]
    margin = normal.inv_cdf((draw_probability + 1.0) / 2.0) * math.sqrt(2.0) * world.beta
    p = np.empty(len(score))
    for i, (a, b) in enumerate(player.tolist()):
        one, two = who[a], who[b]
        spread = math.sqrt(2.0 * world.beta**2 + one.sigma**2 + two.sigma**2)
        lead = one.mu - two.mu
        p[i] = 0.5 * (normal.cdf((lead - margin) / spread) + normal.cdf((lead + margin) / spread))
        if score[i] == 0:
            who[b], who[a] = world.rate_1vs1(two, one)
        else:
            who[a], who[b] = world.rate_1vs1(one, two, drawn=score[i] == 0.5)
    return p


PEERS = {  # how each plays, and the settings that are searched, from where
    "trueskill": (trueskill_play, {"sigma": 25 / 3, "tau": 25 / 300}),
    "riix glicko2": (
        partial(riix_play, "glicko2"),
        {"initial_rd": 350.0, "initial_sigma": 0.06 / math.sqrt(WEEK), "tau": 0.5},
    ),
    "riix glicko": (partial(riix_play, "glicko"), {"initial_rating_dev": 350.0, "c": 15.0 / math.sqrt(WEEK)}),
    "openskill": (openskill_play, {"sigma": 25 / 3, "tau": 25 / 300}),
    "riix elo": (partial(riix_play, "elo"), {"k": 32.0}),
    "elote elo": (elote_play, {"k_factor": 32.0}),
}


def climb(loss, now):
    """The settings whose neighbours are no better, by factors of 2 and then of its root, and how many were tried."""
    least, tried = loss(now), 1
    for step in (2.0, math.sqrt(2.0)):
        better = True
        while better and tried < SETTINGS:
            better = False
            for name in now:
                for factor in (step, 1.0 / step):
                    while tried < SETTINGS:
                        trial = now | {name: now[name] * factor}
                        value, tried = loss(trial), tried + 1
                        if not value < least - 1e-6:
                            break
                        now, least, better = trial, value, True
    return now, tried


def tune_peer(name, player, score, day, cut):
    """The best settings, how many were tried, all predictions, and seconds."""
    began = time.perf_counter()
    play, start = PEERS[name]
    if name == "trueskill":
        play = partial(play, draw_probability=float((score[:cut] == 0.5).mean()))
    some = slice(max(cut - PEER_STRETCH, 0), cut)
    mine, learnt, days = numbered(player[some]), score[some], day[some]
    counts = np.arange(len(learnt)) >= (PEER_STRETCH // 2 if some.start else 0)

    def loss(settings):
        return log_losses(play(mine, learnt, days, **settings), learnt)[counts].mean()

    settings, tried = climb(loss, start)
    return settings, tried, play(player, score, day, **settings), time.perf_counter() - began
