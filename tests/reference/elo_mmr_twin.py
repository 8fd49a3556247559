"""Elo-MMR, Elo-MMX (chi), Codeforces and TopCoder, slow and obviously right: sums over all opponents, bracketed roots.

Equation, lemma and theorem numbers are those of Ebtekar and Liu, "An Elo-like system for massive multiplayer
competitions" (2021). Performances are those of `performance_twin`. `golden` reads the reference numbers beside this
file, `translate` their settings.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

from tests.reference.performance_twin import LOGISTIC, performances, team_performances, zero

DAY = 86400.0


class Round(NamedTuple):
    """A contest. `rank` counts the participants strictly better."""

    players: Any  # [P] ids
    rank: Any  # [P]
    weight: Any = 1.0  # of the contest, or [P] of each participation
    time: float = 0.0  # days
    ceiling: float = math.inf  # of performances
    team: Any = None  # [P] numbers, of Elo-MMX; None: everyone plays alone
    noise: float = 1.0  # a factor of beta


class Trace(NamedTuple):
    """Ratings at the end, and after each round those of its participants. A skipped round has no performances: nan."""

    rating: np.ndarray  # [n]
    deviation: np.ndarray  # [n]
    performance: list  # of [P], below the ceiling
    ratings: list  # of [P]
    deviations: list  # of [P]
    beliefs: tuple = ()  # [n] at the end, where a system has any
    again: Any = ()  # of functions: the performances [P], had the ranks been these; None for a skipped round


# Beliefs


class Factor(NamedTuple):
    """A logistic factor of a belief."""

    performance: float
    weight: float  # 1/beta^2 at birth, times its multiplicity later
    beta: float


class Belief(NamedTuple):
    """A Gaussian factor, logistic factors from the oldest on, and the mode of their product."""

    rating: float
    mean: float
    weight: float
    factors: tuple = ()


def newcomer_belief(rating, deviation):
    return Belief(rating, rating, deviation**-2)


def slope(belief, x):
    """L'(x) of equation 6 with multiplicities; its zero is the rating."""
    logistic = (w * b * LOGISTIC * math.tanh(0.5 * LOGISTIC * (x - p) / b) for p, w, b in belief.factors)
    return belief.weight * (x - belief.mean) + sum(logistic)


def mode(belief):
    return zero(lambda x: -slope(belief, x))


def diffuse(belief, variance, gamma2, rho):
    """Algorithm 2: the belief and its variance after a pseudodiffusion. With rho = inf a Gaussian is left."""
    kappa = variance / (variance + gamma2)
    keep = 0.0 if math.isinf(rho) else kappa**rho
    total = belief.weight + sum(f.weight for f in belief.factors)
    own, moved = keep * belief.weight, (1.0 - keep) * total
    factors = tuple(f._replace(weight=kappa * keep * f.weight) for f in belief.factors if keep > 0.0)
    mean = (own * belief.mean + moved * belief.rating) / (own + moved)
    return Belief(belief.rating, mean, kappa * (own + moved), factors), variance + gamma2


def shorten(belief, history):
    """Room for one more factor: the oldest ones become Gaussian with their weight, one by one."""
    while history is not None and len(belief.factors) >= history:
        p, w, _ = belief.factors[0]
        mean = (belief.weight * belief.mean + w * p) / (belief.weight + w)
        belief = belief._replace(mean=mean, weight=belief.weight + w, factors=belief.factors[1:])
    return belief


def learn(belief, performance, beta, history=None, gaussian=False):
    """The belief after a performance of deviation beta, as at the end of Algorithm 3."""
    if gaussian:
        weight = belief.weight + beta**-2
        rating = (belief.weight * belief.mean + performance / beta**2) / weight
        return Belief(rating, rating, weight)
    belief = shorten(belief, history)
    belief = belief._replace(factors=(*belief.factors, Factor(performance, beta**-2, beta)))
    return belief._replace(rating=mode(belief))


# Systems


def replay(rounds, num_players, rate, initial_rating, initial_deviation, skip_ties):
    """Each round by `rate(round, rating, deviation)` -> the same of its participants; performances by rank."""
    rating, deviation = np.full(num_players, float(initial_rating)), np.full(num_players, float(initial_deviation))
    performance, ratings, deviations, again = [], [], [], []
    for contest in rounds:
        players, rank = np.asarray(contest.players, int), np.asarray(contest.rank)
        weight = np.broadcast_to(np.asarray(contest.weight, float), players.shape)
        performance.append(np.full(players.shape, np.nan))
        sides = players if contest.team is None else contest.team
        counts = len(np.unique(rank if skip_ties else sides)) > 1
        if counts:
            contest = contest._replace(players=players, rank=rank, weight=weight)
            rating[players], deviation[players], perform = rate(contest, rating[players], deviation[players])
            performance[-1] = perform(rank)
        again.append(perform if counts else None)
        ratings.append(rating[players])
        deviations.append(deviation[players])
    return Trace(rating, deviation, performance, ratings, deviations, (), again)


def mmr(
    rounds,
    num_players,
    gaussian,
    rho,
    history,
    *,
    weight=0.2,
    limit_deviation=80.0,
    drift=0.0,
    split_ties=False,
    newcomer=(),
    team_performance="sum",
    initial_rating=1500.0,
    initial_deviation=350.0,
    skip_ties=False,
    density=None,
):
    """Algorithm 1. `drift` per day; `newcomer` are factors of the first contests' weight.

    Performances are logistic or `gaussian`, or have a density of `density_twin`.
    """
    beliefs = [newcomer_belief(initial_rating, initial_deviation)] * num_players
    played, last = [0] * num_players, [None] * num_players

    def spread(i, own, time):
        """(beta, gamma^2) of a participant; his weight enters both."""
        w = weight * own * (newcomer[played[i]] if played[i] < len(newcomer) else 1.0)
        days = 0.0 if last[i] is None else time - last[i]
        beta2 = (1.0 + 1.0 / w) * limit_deviation**2 + drift / w
        return math.sqrt(beta2), w * limit_deviation**2 + drift * days

    def rate(contest, rating, deviation):
        beta = np.empty(len(rating))
        for at, i in enumerate(contest.players):
            beta[at], gamma2 = spread(i, contest.weight[at], contest.time)
            beta[at] *= contest.noise
            beliefs[i], variance = diffuse(beliefs[i], deviation[at] ** 2, gamma2, rho)
            deviation[at] = math.sqrt(variance)
            played[i], last[i] = played[i] + 1, contest.time
        if contest.team is not None:
            kind = split_ties, team_performance == "mean"
            before = rating, deviation**2, beta**2
            _, new, variance = team_performances(*before, contest, *kind)
            for i, x, y in zip(contest.players, new, variance, strict=True):
                beliefs[i] = newcomer_belief(x, math.sqrt(y))
            return new, np.sqrt(variance), lambda x: team_performances(*before, contest._replace(rank=x), *kind)[0]

        delta = np.hypot(deviation, beta)
        infer, model = (performances, (gaussian,)) if density is None else (density.performances, ())

        def perform(rank):
            performance = infer(rating, delta, rank, split_ties, *model)
            return performance if gaussian else np.minimum(performance, contest.ceiling)

        performance = perform(contest.rank)
        for at, i in enumerate(contest.players):
            add = learn if density is None else density.learn
            beliefs[i] = add(beliefs[i], performance[at], beta[at], history, *model)
        return [beliefs[i].rating for i in contest.players], (deviation**-2 + beta**-2) ** -0.5, perform

    return replay(rounds, num_players, rate, initial_rating, initial_deviation, skip_ties)._replace(
        beliefs=tuple(beliefs)
    )


def elo_mmr(rounds, num_players, *, rho=1.0, history=None, **settings):
    """Elo-MMR(rho) with at most `history` logistic factors a player; the settings are those of `mmr`."""
    return mmr(rounds, num_players, False, rho, history, **settings)


def elo_mmx(rounds, num_players, **settings):
    """Elo-MMX, which knows ceilings of teams only."""
    return mmr(rounds, num_players, True, math.inf, None, **settings)


def ties(rank):
    """The mean number of participants ahead, [P]: halfway through the range of a tie."""
    return rank + 0.5 * ((rank[:, None] == rank).sum(axis=1) - 1)


def codeforces(
    rounds,
    num_players,
    *,
    beta=315.08922206661885,
    weight=1.0,
    initial_rating=1500.0,
    initial_deviation=350.0,
    skip_ties=False,
):
    """Codeforces in the paper's form, without rounding or a correction of inflation."""

    def rate(contest, rating, deviation):
        scale = LOGISTIC * np.sqrt(contest.weight) / beta  # [P] of the opponent

        def expected(x):  # the rank of a player at x
            return 0.5 + expit(scale * (rating - x)).sum()

        def perform(rank):
            wanted = np.sqrt((1.0 + ties(rank)) * [expected(x) for x in rating])
            performance = np.array([zero(lambda x, w=w: expected(x) - w) for w in wanted])
            return np.minimum(performance, contest.ceiling)

        step = weight * contest.weight
        return (rating + step * perform(contest.rank)) / (1.0 + step), deviation, perform

    return replay(rounds, num_players, rate, initial_rating, initial_deviation, skip_ties)


def topcoder(
    rounds,
    num_players,
    *,
    weight_new=0.6,
    weight_limit=0.18,
    initial_rating=1500.0,
    initial_deviation=350.0,
    skip_ties=False,
):
    """TopCoder; the deviation is what it calls volatility."""
    played = np.zeros(num_players)

    def rate(contest, rating, deviation):
        played[contest.players] += 1
        n, count, w = len(rating), played[contest.players], contest.weight
        c = math.sqrt((deviation**2).mean() + rating.var(ddof=1))
        lead = (rating - rating[:, None]) / np.hypot(deviation, deviation[:, None])  # [i, j] of j before i
        expected = ndtr(np.sqrt(w)[:, None] * lead).sum(axis=1)

        def perform(rank):
            actual = 0.5 + ties(rank)
            return np.minimum(rating + c * (ndtri(expected / n) - ndtri(actual / n)), contest.ceiling)

        performance = perform(contest.rank)
        q = weight_limit + (weight_new - weight_limit) / count
        step = w * q / (1.0 - q) * np.where(rating >= 2500.0, 0.8, np.where(rating >= 2000.0, 0.9, 1.0))
        cap = (150.0 + 1500.0 / (count + 1.0)) * np.sqrt(w) * q / (0.18 + 0.42 / count)
        target = (rating + step * performance) / (1.0 + step)
        volatility = np.sqrt((target - rating) ** 2 / step + deviation**2 / (1.0 + step))
        return np.clip(target, rating - cap, rating + cap), volatility, perform

    return replay(rounds, num_players, rate, initial_rating, initial_deviation, skip_ties)


# Reference numbers


def golden():
    """{history: its contests and runs}, made with the authors' program."""
    return json.loads((Path(__file__).parent / "elo_mmr.json").read_text())["histories"]


def contests(history):
    """The `Round`s of a golden history; player "a" is 0."""
    return [
        Round(
            [ord(p) - ord("a") for p in c["players"]],
            c["lo"],
            c["weight"],
            c["time"] / DAY,
            c["perf_ceiling"] or math.inf,
        )
        for c in history["contests"]
    ]


def translate(run):
    """(factory, keywords) of a golden run, which skips ties of all. What is off (drift, a bound) is left out."""
    x = [float(number) for number in run["params"].split(",")]
    first = {"initial_rating": float(run["mu0"]), "initial_deviation": float(run["sig0"])}
    first["skip_ties"] = True
    if run["system"] == "cfsys":
        return "codeforces", {
            "beta": x[0],
            "weight": x[1],
            **{key: first[key] for key in ("initial_rating", "skip_ties")},
        }
    if run["system"] == "tcsys":
        return "topcoder", {"weight_new": x[0], "weight_limit": x[1], **first}
    settings = {"weight": x[0], "limit_deviation": x[1], "split_ties": x[3] == 1.0, **first}
    settings |= {"drift": x[2]} if x[2] else {}
    if run["system"] == "mmx":
        return "elo_mmx", {**settings, "newcomer": tuple(x[6:])}
    if run["system"] == "mmr-simple":
        settings |= {"history": int(x[4])} if math.isfinite(x[4]) else {}
        return "elo_mmr", {**settings, "rho": x[5], "newcomer": tuple(x[6:])}
    assert run["system"] == "mmr" and math.isinf(x[4])  # no subsample: all opponents, all contests
    return "elo_mmr", {**settings, "rho": x[6], "newcomer": tuple(x[7:])}
