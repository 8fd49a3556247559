"""Skills of teams beside TrueSkill: doubles, League of Legends, Formula 1; statistics, quits, and speed.

    python experiments/team_skills.py           # an hour; writes experiments/results/team_skills.json
    python experiments/team_skills.py --quick   # a minute, on small leagues; writes nothing unless --out is given

Doubles without walkovers: all is fitted to the first four fifths, and the last fifth is scored. With singles, those of
the ten years before the first doubles and all later ones stand in the same history, as contests of two players. They
are rated, and neither fitted nor scored: the modes of a player are the categories. Those of a date count after doubles
of that date, which they cannot tell of. Experience is of all matches, and then also of doubles alone, as a covariate.
Of League of Legends and of Formula 1 the first half is fitted, and the last scored; the order within a split is that of
the file. Leagues drawn from the model say what statistics and quits are worth. Speeds are the best of a few calls that
take turns, on contests of players drawn at random; replays start from a fresh state, store every prediction, and have
their schedules made before.
"""

import time
from functools import partial

import numpy as np
from common import add_only, declare, find, keep, parse, race
from team_histories import CATEGORIES, legends_rounds, make_rounds, race_table, races_rounds, tennis_tables

import jaxrate as jr
from jaxrate import parts
from jaxrate.systems.skills.system import skills_by_name

SKILLS = {"growth": 6.0, "initial_deviation": 95.0, "noise": 300.0, "match_growth": 2.0}
TRUESKILL = partial(jr.trueskill, initial_rating=1500.0, initial_deviation=130.0, beta=212.0, draw_probability=0.0)
FREE = "growth", "initial_deviation", "match_growth"
EXPERIENCE = {"experience": 38.0}
REVERSION = {"reversion": 3500.0}
MODIFIERS = {"modifier_growth": 3.0, "initial_modifier_deviation": 40.0}
MARGINS = {"margin_scale": 110.0, "compression": 15.0}
MODES = {
    "modifier_growth": 12.0, "initial_modifier_deviation": 150.0, "team_noise": 600.0, "experience": 20.0,
    "doubles_played": 70.0, "reversion": 3500.0,
}  # fmt: skip
OF_MARGINS = {"outcome": "margin", "margin": "points"}
OF_MODES = {"covariates": ("doubles_played",)}
WAYS = {  # whether singles are rated with doubles, categories, settings, and what is fitted besides, at first
    "teams": (False, "none", {}, {}),
    "experience": (False, "none", {}, EXPERIENCE),
    "experience, reversion": (False, "none", {}, EXPERIENCE | REVERSION),
    "experience, reversion, surfaces": (False, "surfaces", {}, EXPERIENCE | REVERSION | MODIFIERS),
    "experience, reversion, margins": (False, "none", OF_MARGINS, EXPERIENCE | REVERSION | MARGINS),
    "experience, reversion, surfaces, margins": (
        False, "surfaces", OF_MARGINS, EXPERIENCE | REVERSION | MODIFIERS | MARGINS,
    ),
    "singles, experience, reversion": (True, "modes", OF_MODES, MODES),
    "singles, experience, reversion, margins": (True, "modes", OF_MODES | OF_MARGINS, MODES | MARGINS),
}  # fmt: skip


def log_loss(prediction, rounds, number, scored):
    """The mean over doubles [n] that are scored, and its standard error; one row of a winner says it."""
    rows = np.flatnonzero((number >= 0) & (rounds.events.rank == 0))
    rows = rows[np.unique(number[rows], return_index=True)[1]]
    loss = -np.log(prediction[rows])[scored]
    return mean_and_error(loss)


def mean_and_error(values):
    """The mean [n], and its standard error."""
    return float(np.mean(values)), float(np.std(values) / len(values) ** 0.5)


def fit_and_predict(system, free, rounds, weight, steps):
    """The predictions [P] of the system fitted to participations [P], the values fitted, and the seconds of the fit."""
    start = time.perf_counter()
    fit = jr.fit(
        system, rounds, free=list(free), steps=steps, objective=jr.fitting.ahead(weight=weight, errors="products")
    )
    seconds = time.perf_counter() - start
    values = {name: float(getattr(fit.params, name)) for name in free}
    return np.asarray(jr.run(fit.system, rounds).prediction, float), values, seconds


def fit_and_score(system, free, rounds, number, count, steps):
    """A row of doubles."""
    cut = round(0.8 * count)
    weight = ((number >= 0) & (number < cut)) * 1.0
    prediction, values, seconds = fit_and_predict(system, free, rounds, weight, steps)
    loss, error = log_loss(prediction, rounds, number, np.arange(count) >= cut)
    return {"log_loss": loss, "standard_error": error, "fit_seconds": seconds, **values}


def doubles(options):
    tables = tennis_tables(options)
    if tables is None:
        return None
    matches, singles = tables
    count, steps = len(matches["score"]), 1 if options.quick else 60
    plain, number = make_rounds(matches, None, "none")
    rows = [
        {"way": "trueskill", "doubles": count, "contests": count}
        | fit_and_score(TRUESKILL(tau=5.0), ("initial_deviation", "tau"), plain, number, count, steps)
    ]
    for way in ("singles, experience, reversion, margins",) if options.quick else options.ways:
        with_singles, categories, settings, fitted = WAYS[way]
        rounds, number = make_rounds(matches, singles if with_singles else None, categories)
        system = skills_by_name(categories=CATEGORIES[categories], **settings, **SKILLS, **fitted)
        rows.append(
            {"way": f"skills, {way}", "doubles": count, "contests": len(rounds.events.time)}
            | fit_and_score(system, (*FREE, *fitted), rounds, number, count, steps)
        )
        print(rows[-1], flush=True)
    return {"log loss of the last fifth": rows}


def legends(options):
    """League of Legends: fitted to the first half of the games, and scored on the last."""
    import pyarrow.parquet as pq

    path = find(options, "lol_pro.parquet")
    if path is None or options.quick:
        return None
    table = pq.read_table(path)
    table = {name: table[name].to_numpy() for name in table.column_names if name not in ("league", "gamelength")}
    order = np.argsort(table["period"], kind="stable")
    table = {name: x[order] for name, x in table.items()}
    count, rows, before = len(order), [], None
    usual = {"growth": 10.0, "initial_deviation": 120.0, "match_growth": 8.0, "blue": 50.0}
    aging = {"experience": 20.0, "reversion": 1500.0}
    skills = partial(jr.skills, covariates="blue", size_advantage=0.0, period=365.0)
    ways = {
        "trueskill": (TRUESKILL, False, {"initial_deviation": 130.0, "tau": 10.0}),
        "skills": (skills, False, usual),
        "skills, experience, reversion": (skills, False, usual | aging),
        "skills, experience, reversion, clubs": (skills, True, usual | aging),
    }
    for way, (factory, with_clubs, fitted) in ways.items():
        rounds = legends_rounds(table, with_clubs)
        contest = np.repeat(np.arange(count), np.diff(rounds.player_start))
        weight, first = (contest < count // 2) * 1.0, rounds.player_start[:-1]
        prediction, values, _ = fit_and_predict(factory(**fitted), fitted, rounds, weight, 60)
        p = np.where(rounds.events.rank[first] == 0, prediction[first], 1.0 - prediction[first])[count // 2 :]
        loss = -np.log(p)
        before = loss if before is None else before
        gain, error = mean_and_error(loss - before)
        rows.append(
            {"way": way, "games": count, "log_loss": float(loss.mean())}
            | {"beside_trueskill": gain, "standard_error": error, **values}
        )
        print(rows[-1], flush=True)
    return {"log loss of the last half": rows}


def races(options):
    """Formula 1: fitted to the first half of the races, and scored on the last; errors are of means of races."""
    path = None if options.quick else find(options, "f1.parquet")
    if path is None:
        return None
    table = race_table(path)
    event, rows, before = table["event"], [], None
    late = event > event.max() // 2
    usual = {"growth": 10.0, "initial_deviation": 120.0, "match_growth": 5.0, "experience": 20.0, "reversion": 2000.0}
    trueskill, drivers = TRUESKILL(tau=10.0), races_rounds(table, ("driver",))[0]
    for way, system, free, members in (
        ("trueskill", trueskill, ("initial_deviation", "tau"), ("driver",)),
        ("trueskill", trueskill, ("initial_deviation", "tau"), ("driver", "car")),
        ("skills", skills_by_name(**usual), usual, ("driver",)),
        ("skills", skills_by_name(**usual), usual, ("driver", "car")),
        ("skills", skills_by_name(**usual), usual, ("driver", "car", "constructor")),
    ):
        rounds, behind = races_rounds(table, members)
        weight = np.repeat(~late, len(members)) * 1.0
        prediction, values, _ = fit_and_predict(system, free, rounds, weight, 25)
        p = prediction[:: len(members)]
        loss = (behind - 1.0) * np.log(p) - behind * np.log1p(-p)
        loss = (np.bincount(event, loss) / np.bincount(event))[event.max() // 2 + 1 :]
        before = loss if before is None else before
        gain, error = mean_and_error(loss - before)
        rows.append(
            {"way": way, "members": ", ".join(members), "races": len(loss), "log_loss": float(loss.mean())}
            | {"beside_the_first": gain, "standard_error": error}
            | {"pairs_right": jr.metrics.pairwise_accuracy(drivers, p, mask=late)}
            | {"rank_deviation": jr.metrics.rank_deviation(drivers, p, mask=late), **values}
        )
        print(rows[-1], flush=True)
    return {"log loss of the last half": rows}


def random_contests(rng, contests, players, teams, size):
    player = np.array([rng.permutation(players)[: teams * size] for _ in range(contests)]) if players < 5000 else None
    if player is None:  # of many, by drawing again those who are drawn twice
        player = rng.integers(0, players, (contests, teams * size))
        while (twice := (np.diff(np.sort(player, axis=1), axis=1) == 0).any(axis=1)).any():
            player[twice] = rng.integers(0, players, (int(twice.sum()), teams * size))
    rank = np.argsort(rng.random((contests, teams)), axis=1)
    return jr.rounds(
        np.repeat(np.arange(contests), teams * size), player.ravel(), np.repeat(rank, size, axis=1).ravel(),
        team=np.tile(np.repeat(np.arange(teams), size), contests),
        columns={"points": np.repeat(-1.0 * rank, size, axis=1).ravel()},
        category=np.repeat(rng.integers(0, 2, contests), teams * size),
    )  # fmt: skip


FORMS = {"2 against 2": (1_000_000, 2, 2), "5 against 5": (200_000, 2, 5), "teams of four, 20 players": (50_000, 5, 4)}
QUICK_FORMS = {"teams of four, 20 players": (100, 5, 4)}
QUICK_WAYS = "trueskill", "skills, margins"


def speed(options):
    rng, rows = np.random.default_rng(0), []
    for form, (contests, teams, size) in (QUICK_FORMS if options.quick else FORMS).items():
        rounds = random_contests(rng, contests, 200 if options.quick else 50_000, teams, size)
        schedule = jr.extend.schedule_by_level(rounds)
        systems = {
            "trueskill": jr.trueskill(),
            "skills": jr.skills(parts.skill(match_growth=5.0)),
            "skills, experience": jr.skills(parts.skill(match_growth=5.0), parts.experience(20.0)),
            "skills, margins": jr.skills(parts.skill(match_growth=5.0), observe=parts.margin("points")),
            "skills, two modes": jr.skills(parts.skill(match_growth=5.0), parts.modifier(2)),
        }
        ways = QUICK_WAYS if options.quick else systems
        calls = {way: partial(jr.run, systems[way], rounds, schedule=schedule) for way in ways}
        for row in race(calls, contests, 1 if options.quick else 4).values():
            a_second = row["million_per_second"] * 1e6
            rows.append({"form": form, **row, "participations_a_second": a_second * teams * size})
            print(rows[-1], flush=True)
    return {"contests": rows}


def draw_league(rng, players, contests, teams, size, statistics):
    """Skills, and rounds of teams drawn from the model: two statistics as noisy as performances, and who quit."""
    skill = rng.normal(1500.0, 150.0, players)
    player = np.array([rng.permutation(players)[: teams * size] for _ in range(contests)])
    own = skill[player]
    performance = own + rng.normal(0.0, 300.0 / 2.0**0.5, own.shape)
    rank = np.argsort(np.argsort(-performance.reshape(contests, teams, size).sum(axis=2), axis=1), axis=1)
    team = np.repeat(np.arange(teams), size)
    other = team[:, None] != team[None, :]
    lead = own - own @ (other / other.sum(axis=1, keepdims=True)).T
    columns = {f"s{k}": ((lead + rng.normal(0.0, 300.0, own.shape)) / 25.0).ravel() for k in range(statistics)}
    columns["quit"] = (performance < 1100.0).ravel() * 1.0
    contest = np.repeat(np.arange(contests), teams * size)
    ranks = np.repeat(rank, size, axis=1).ravel()
    return skill, jr.rounds(contest, player.ravel(), ranks, team=np.tile(team, contests), columns=columns)


def rating_errors_by_evidence(options):
    """How far ratings are off the skills that leagues were drawn from, with the model's own hyperparameters."""
    rows, leagues = [], 1 if options.quick else 20
    ways = {
        "results": {},
        "and quits": {"quit": "quit", "quit_threshold": 1100.0},
        "and one statistic": {"statistics": ("s0",)},
        "and two statistics": {"statistics": ("s0", "s1")},
        "and both": {"statistics": ("s0", "s1"), "quit": "quit", "quit_threshold": 1100.0},
    }
    if options.quick:
        ways = {way: ways[way] for way in ("results", "and both")}
    for form, (_, teams, size) in (QUICK_FORMS if options.quick else FORMS).items():
        off = {way: [] for way in ways}
        for seed in range(leagues):
            skill, rounds = draw_league(np.random.default_rng(seed), 200, 2000 // size // teams, teams, size, 2)
            for way, on in ways.items():
                system = skills_by_name(growth=0.0, **on)
                rating = jr.ratings(system, jr.run(system, rounds, num_players=200).state)
                z = (np.asarray(rating.mean) - skill) / np.asarray(rating.deviation)
                error = np.mean((np.asarray(rating.mean) - skill) ** 2) ** 0.5
                off[way].append((error, np.mean(np.abs(z) < 1.96)))
        for way, pairs in off.items():
            error, covered = np.mean(pairs, axis=0)
            less = 1.0 - error / np.mean(off["results"], axis=0)[0]
            rows.append({"form": form, "learnt from": way, "error": error, "less": less, "in_95_percent": covered})
    return {"ten contests a player": rows}


PARTS = {"doubles": doubles, "legends": legends, "races": races, "speed": speed, "evidence": rating_errors_by_evidence}


if __name__ == "__main__":
    parser = declare(
        __doc__,
        "on small leagues",
        "atp_doubles.parquet, atp.parquet, atp_games.parquet, lol_pro.parquet and f1.parquet",
    )
    add_only(parser, PARTS, "PART")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), metavar="WAY", help=", ".join(WAYS))
    keep(PARTS, parse(parser, __file__))
