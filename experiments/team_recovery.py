"""Whether fits to contests of teams find hyperparameters again, and what statistics are worth to ratings then.

    python experiments/team_recovery.py          # half an hour; writes experiments/results/team_recovery.json
    python experiments/team_recovery.py --quick  # seconds, two leagues of one way; writes nothing unless --out is given

Leagues are drawn from the model: skills that drift, teams of one, two and four, parties among them, two statistics of
each player, performances below a threshold as quits, a noise of teams, and results: draws within a margin, or points.
Who meets whom, when, and in which party, is the same in all leagues; skills and all that follows are drawn anew. Fits
start elsewhere. An interval is the estimate +- 1.96 standard errors as `jr.fit` gives them by default, and that of
what is positive also of its logarithm ("covered_free"). A parameter that a fit calls open has no interval.

"joint" is fitted to how likely results, statistics and quits are, and "margins" to how likely points, statistics and
quits are. "ahead" and "evidence" know results and parties alone, and are fitted to predictions one step ahead and to
all results together, and "evidence of all" to results, statistics and quits together. In each league but those of two
ways the mean of all skills stays where it is: results and statistics tell differences only, so that the threshold of
quits is known relative to that mean.

Ratings at the end of a league are then compared with the truth, with and without the two statistics, each with the
hyperparameters that were fitted to that league.
"""

import time
from functools import partial

import numpy as np
from common import fit_options, measure

import jaxrate as jr
from jaxrate.systems.skills.system import skills_by_name

LEAGUES, PLAYERS, CONTESTS, DAYS = 120, 60, 600, 600.0
SIZES = (1, 2, 4)  # of teams
TRUTH = {
    "growth": 15.0, "initial_deviation": 150.0, "party": 60.0, "team_noise": 300.0, "draw_margin": 60.0,
    "s0_scale": 25.0, "s0_noise": 300.0, "s1_scale": 40.0, "s1_noise": 450.0, "quit_threshold": 1250.0,
    "margin_scale": 30.0,
}  # fmt: skip
START = {
    "growth": 25.0, "initial_deviation": 110.0, "party": 0.0, "team_noise": 150.0, "draw_margin": 40.0,
    "s0_scale": 18.0, "s0_noise": 200.0, "s1_scale": 30.0, "s1_noise": 300.0, "quit_threshold": 1200.0,
    "margin_scale": 20.0,
}  # fmt: skip
OF_STATISTICS = "s0_scale", "s0_noise", "s1_scale", "s1_noise"
OF_TEAMS = "growth", "initial_deviation", "party", "team_noise"
WITH_QUITS = {"quit": "quit"}
WITH_STATISTICS = WITH_QUITS | {"statistics": ("s0", "s1")}
WITH_POINTS = {"outcome": "margin", "margin": "points"}
OF_ALL = (*OF_TEAMS, "draw_margin", *OF_STATISTICS, "quit_threshold")
MEAN_DRIFTS = "joint, where the mean skill drifts", "evidence of all, where the mean skill drifts"
WAYS = {  # settings, what is fitted, and the objective of the fit
    "joint": (WITH_STATISTICS, OF_ALL, jr.fitting.ahead(loss="joint")),
    MEAN_DRIFTS[0]: (WITH_STATISTICS, OF_ALL, jr.fitting.ahead(loss="joint")),
    "ahead, with statistics and quits": (WITH_STATISTICS, OF_ALL, jr.fitting.ahead()),
    "margins": (
        WITH_STATISTICS | WITH_POINTS, (*OF_TEAMS, *OF_STATISTICS, "quit_threshold", "margin_scale"),
        jr.fitting.ahead(loss="margin"),
    ),
    "ahead": ({}, (*OF_TEAMS, "draw_margin"), jr.fitting.ahead()),
    "evidence": ({}, (*OF_TEAMS, "draw_margin"), jr.fitting.evidence()),
    "evidence of all": (WITH_STATISTICS, OF_ALL, jr.fitting.evidence()),
    MEAN_DRIFTS[1]: (WITH_STATISTICS, OF_ALL, jr.fitting.evidence()),
}  # fmt: skip


def draw_line_ups(rng, players, contests):
    """Of participants [P]: contest, player, team, logarithm of the size of the party, and the day of the contest."""
    rows = []
    for contest in range(contests):
        size = int(rng.choice(SIZES))
        player = rng.permutation(players)[: 2 * size]
        for team, members in enumerate(np.split(player, 2)):
            together = int(rng.integers(1, size + 1))  # the first so many are a party
            rows += [(contest, who, team, together if k < together else 1) for k, who in enumerate(members)]
    contest, player, team, party = np.array(rows).T
    return contest, player, team, np.log(party), DAYS * contest / (contests - 1)


def mean_of_opponents(contest, team, values):
    """[P] of participants the mean of the other team's."""
    number = 2 * contest + team
    mean = np.bincount(number, values) / np.bincount(number)
    return mean[2 * contest + 1 - team]


def draw_league(rng, line_ups, players, with_points, mean_drifts):
    """The skills at the end, and rounds."""
    contest, player, team, party, day = line_ups
    contests, truth = contest[-1] + 1, TRUTH
    step = truth["growth"] * (DAYS / (contests - 1) / 7.0) ** 0.5
    skill = np.cumsum(rng.normal(0.0, step, (contests, players)), axis=0)
    skill += rng.normal(1500.0, truth["initial_deviation"], players)
    if not mean_drifts:
        skill += 1500.0 - skill.mean(axis=1, keepdims=True)
    points = skill[contest, player] + truth["party"] * party
    performance = points + rng.normal(0.0, 300.0 / 2.0**0.5, len(points))
    lead = points - mean_of_opponents(contest, team, points)
    columns = {"party": party, "quit": (performance < truth["quit_threshold"]) * 1.0}
    for name in ("s0", "s1"):
        told = lead + rng.normal(0.0, truth[f"{name}_noise"], len(lead))
        columns[name] = told / truth[f"{name}_scale"]
    number = 2 * contest + team
    size = np.bincount(number)
    whole = np.bincount(number, performance) + (size > 1) * rng.normal(0.0, truth["team_noise"], len(size))
    lead = whole[2 * contest] - whole[2 * contest + 1]
    if with_points:
        columns["points"] = np.where(team == 0, lead / truth["margin_scale"], 0.0)
    else:
        lead = np.where(np.abs(lead) < truth["draw_margin"] * size[number] ** 0.5, 0.0, lead)
    rank = np.where(team == 0, lead < 0, lead > 0) * 1.0
    return skill[-1], jr.rounds(contest, player, rank, team=team, time=day, columns=columns)


def make_system(settings, names):
    hyperparameters = {name: START[name] for name in names}
    return skills_by_name(covariates="party", deviation_max=5000.0, **settings, **hyperparameters)


def coverage_rows(way, names, values, errors):
    """A row for each parameter of estimates [leagues, k] and their standard errors; inf are open."""
    rows = []
    for name, value, error in zip(names, values.T, errors.T, strict=True):
        truth, known = TRUTH[name], np.isfinite(error)
        covered = np.abs(value - truth)[known] <= 1.96 * error[known]
        free = covered if name in ("party", "quit_threshold") else (
            np.abs(np.log(value / truth))[known] <= 1.96 * (error / value)[known]
        )  # fmt: skip
        rows.append(
            {"way": way, "parameter": name, "truth": truth, "start": START[name], "median": np.median(value)}
            | {"deviation": value.std(ddof=1), "median_error": float(np.median(error[known])) if known.any() else None}
            | {"with_errors": known.mean(), "covered": covered.mean(), "covered_free": free.mean()}
            | {"standard_error": (covered.mean() * (1.0 - covered.mean()) / len(covered)) ** 0.5}
        )
    return rows


def pooled_coverage_row(rows, held):
    """All parameters together: the shares covered [leagues], each a mean over parameters, give the standard error."""
    each = held.mean(axis=1)
    return {"way": rows[0]["way"], "parameter": "all"} | {
        "covered": each.mean(), "standard_error": each.std(ddof=1) / len(each) ** 0.5, "leagues": len(each)
    }  # fmt: skip


def rating_error(system, rounds, skill):
    """The root mean square distance of ratings at the end from the skills, and the share in 95 % intervals."""
    rating = jr.ratings(system, jr.run(system, rounds, num_players=len(skill)).state)
    off = np.asarray(rating.mean) - skill
    return np.mean(off**2) ** 0.5, np.mean(np.abs(off) < 1.96 * np.asarray(rating.deviation))


def recover_hyperparameters(way, options):
    """Fits of one way to all leagues, and, where there are statistics, ratings without them beside those with them."""
    settings, names, objective = WAYS[way]
    search = fit_options(options.quick) | ({} if options.quick else {"objective": objective})
    leagues, contests = (2, 60) if options.quick else (LEAGUES, CONTESTS)
    line_ups = draw_line_ups(np.random.default_rng(0), PLAYERS, contests)
    system, begin, values, errors, off = make_system(settings, names), time.perf_counter(), [], [], []
    fewer = {name: x for name, x in settings.items() if name != "statistics"}
    fewer_names = [name for name in names if name not in OF_STATISTICS]
    for league in range(leagues):
        rng = np.random.default_rng([1, league])
        skill, rounds = draw_league(rng, line_ups, PLAYERS, "outcome" in settings, way in MEAN_DRIFTS)
        fit = jr.fit(system, rounds, free=list(names), **search)
        values.append([getattr(fit.params, name) for name in names])
        errors.append([fit.standard_error[name] for name in names])
        if names == OF_ALL:
            without = jr.fit(make_system(fewer, fewer_names), rounds, free=fewer_names, **search)
            off.append([rating_error(x.system, rounds, skill) for x in (without, fit)])
    values, errors = np.array(values), np.array(errors)
    rows = coverage_rows(way, names, values, errors)
    held = np.abs(values - [TRUTH[name] for name in names]) <= 1.96 * errors
    tables = {"coverage": [*rows, pooled_coverage_row(rows, held) | {"seconds": time.perf_counter() - begin}]}
    if off:
        error, inside = np.mean(off, axis=0).T
        tables["ratings at the end"] = [
            {"learnt from": "results and quits", "error": error[0], "in_95_percent": inside[0]},
            {"learnt from": "and two statistics", "error": error[1], "less": 1.0 - error[1] / error[0]}
            | {"in_95_percent": inside[1]},
        ]
    return tables


PARTS = {way: partial(recover_hyperparameters, way) for way in WAYS}


if __name__ == "__main__":
    measure(PARTS, "few leagues", in_quick={"joint": PARTS["joint"]})
