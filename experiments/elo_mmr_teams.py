"""Elo-MMX of teams (section 7 of Ebtekar and Liu 2021), beside whole teams, single players and TrueSkill's teams.

    python experiments/elo_mmr_teams.py           # minutes; writes JSON to experiments/results
    python experiments/elo_mmr_teams.py --quick   # seconds, a part of it; writes nothing unless --out is given

Elo-MMX and Elo-MMR of whole teams, by club or by the five who play; Elo-MMX of each player alone, all of a team with
its rank; Elo-MMX of teams, shared among their members; and TrueSkill's teams. Two hyperparameters, on a grid, and a
factor of the logit are chosen by the log loss on the first half; scored is the second, one step ahead. On three
simulated leagues whose teams perform as the sum of their members' performances, and on professional League of Legends.
"""

from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from common import circumstances, declare, find, parse, show, write
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, logit, ndtr

import jaxrate as jr

TRUESKILL = partial(jr.trueskill, initial_rating=1500, initial_deviation=350, draw_probability=1e-4)


class League(NamedTuple):
    """Games of two teams of five."""

    club: np.ndarray  # [n, 2]
    member: np.ndarray  # [n, 2, 5]
    won: np.ndarray  # [n] by the first: 1 or 0
    truth: np.ndarray | None  # [n] how likely that was, if known


def simulated(teams, games, seed=0):
    """12 clubs of five; "kept", "exchanged" (before every fifth game two players of two clubs) or "drawn" each time."""
    random = np.random.default_rng(seed)
    skill, squad = random.normal(0.0, 200.0, 60), random.permutation(60).reshape(12, 5)
    club, member = np.empty((games, 2), int), np.empty((games, 2, 5), int)
    for game in range(games):
        club[game] = pair = random.choice(12, 2, replace=False)
        if teams == "drawn":
            squad = random.permutation(60).reshape(12, 5)
        elif teams == "exchanged" and game % 5 == 0:
            (a, b), seat = pair, random.integers(5, size=2)
            squad[a, seat[0]], squad[b, seat[1]] = squad[b, seat[1]], squad[a, seat[0]]
        member[game] = squad[pair]
    lead = skill[member].sum(axis=2) @ [1.0, -1.0]
    truth = ndtr(lead / (200.0 * np.sqrt(10.0)))
    return League(club, member, (random.random(games) < truth).astype(float), truth)


def professional(path):
    table = pq.read_table(path)
    member = np.stack([[table[f"p{side}{seat}"].to_numpy() for seat in range(5)] for side in "ab"])
    club = np.stack([table["a"].to_numpy(), table["b"].to_numpy()], axis=1)
    return League(club, member.transpose(2, 0, 1), table["score"].to_numpy().astype(float), None)


ELO_MMX = {"weight": (0.01, 0.03, 0.1, 0.3, 1.0), "limit_deviation": (20.0, 40.0, 80.0, 160.0, 320.0)}
BETA, DRIFT = (100.0, 200.0, 400.0, 800.0, 1600.0), (1.0, 4.0, 15.0, 60.0)
METHODS = {
    "Elo-MMX, clubs": (jr.elo_mmx, "club", ELO_MMX),
    "Elo-MMR(1), clubs": (jr.elo_mmr, "club", ELO_MMX),
    "Elo-MMX, fives": (jr.elo_mmx, "five", ELO_MMX),
    "Elo-MMX, players": (jr.elo_mmx, "player", ELO_MMX),
    "Elo-MMX, teams": (partial(jr.elo_mmx, beta=200, gamma=35), "team", {"beta": BETA, "gamma": DRIFT}),
    "TrueSkill, teams": (TRUESKILL, "team", {"beta": BETA, "tau": DRIFT}),
}


def rounds_of(league, unit):
    """The games as rounds of clubs, of the fives who play, of ten players, or of teams."""
    games, rank = len(league.won), np.stack([1.0 - league.won, league.won], axis=1)
    if unit in ("club", "five"):
        fives = np.unique(np.sort(league.member, axis=2).reshape(-1, 5), axis=0, return_inverse=True)[1]
        player = league.club if unit == "club" else fives.reshape(games, 2)
        return jr.rounds(np.arange(games).repeat(2), player.ravel(), rank.ravel())
    team = np.tile(np.arange(2).repeat(5), games) if unit == "team" else None
    return jr.rounds(np.arange(games).repeat(10), league.member.ravel(), rank.ravel().repeat(5), team=team)


def chance(system, rounds, unit, params, schedule):
    """[n] that the first team wins.

    Of players who are rated each alone: as if the team performed as the sum of its members.
    """
    if unit != "player":
        p = np.asarray(jr.run(system, rounds, params=params, schedule=schedule).prediction, float)
        return p.reshape(len(rounds.player_start) - 1, -1)[:, 0]
    before = jr.history.rating_history(system, rounds, params=params, schedule=schedule).before
    mean, deviation = (np.asarray(x, float).reshape(-1, 10) for x in before)
    spread = (1.0 + params.weight + 1.0 / params.weight) * params.limit_deviation**2
    return ndtr(mean @ np.repeat([1.0, -1.0], 5) / np.sqrt((deviation**2 + spread).sum(axis=1)))


def losses(p, won, factor=1.0):
    x = factor * logit(np.clip(p, 1e-6, 1.0 - 1e-6))
    return -won * log_expit(x) - (1.0 - won) * log_expit(-x)


def teams(name, league, quick):
    """Rows with the log losses on the last half, and how far they are above TrueSkill's, with standard errors."""
    half, found = len(league.won) // 2, {}
    for label, (factory, unit, grid) in METHODS.items():
        if quick and label not in ("Elo-MMX, teams", "TrueSkill, teams"):
            continue
        system, rounds = factory(), rounds_of(league, unit)
        schedule, best = jr.extend.schedule_by_level(rounds), (np.inf,)
        for values in product(*(x[1:2] if quick else x for x in grid.values())):
            chosen = dict(zip(grid, values, strict=True))
            p = chance(system, rounds, unit, system.params._replace(**chosen), schedule)
            search = minimize_scalar(lambda x, p=p: losses(p, league.won, x)[:half].mean(), bounds=(0.1, 20.0))
            if search.fun < best[0]:
                best = search.fun, chosen | {"factor": float(search.x)}, losses(p, league.won, search.x)[half:]
        found[label] = best[1:]
    if league.truth is not None:
        found["the truth"] = {}, losses(league.truth, league.won)[half:]
    found["nothing"] = {}, np.full(len(league.won) - half, np.log(2.0))
    rows, base = [], found["TrueSkill, teams"][1]
    for label, (chosen, loss) in found.items():
        above = loss - base
        row = {"league": name, "games": len(league.won), "system": label, "log_loss": loss.mean()}
        row |= {"above_trueskill": above.mean(), "error": above.std(ddof=1) / np.sqrt(len(above))}
        rows.append(row | chosen)
    return rows


def main():
    options = parse(declare(__doc__, "two systems and few games", "lol_pro.parquet"), __file__)
    rows = []
    for kind in ("kept",) if options.quick else ("kept", "exchanged", "drawn"):
        rows += teams(f"simulated, {kind}", simulated(kind, 200 if options.quick else 4000), options.quick)
        show({"teams": rows})
    if not options.quick and (path := find(options, "lol_pro.parquet")):
        rows += teams("League of Legends", professional(path), options.quick)
        show({"teams": rows})
    write(options.out, circumstances(), {"teams": rows})


if __name__ == "__main__":
    main()
