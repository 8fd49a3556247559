"""Skills of teams beside TrueSkill: doubles, League of Legends, Formula 1; what statistics and quits are worth.

    python experiments/team_skills.py           # an hour; writes a picture and JSON to experiments/results
    python experiments/team_skills.py --quick   # a minute, on small leagues; writes nothing unless --out is given

Doubles without walkovers: all is fitted to the first four fifths, and the last fifth is scored. With singles, those of
the ten years before the first doubles and all later ones stand in the same history, as contests of two players. They
are rated, and neither fitted nor scored: the modes of a player are the categories. Those of a date count after doubles
of that date, which they cannot tell of. Experience is of all matches, and then also of doubles alone, as a covariate.
Of League of Legends and of Formula 1 the first half is fitted, and the last scored; the order within a split is that of
the file. Leagues drawn from the model say what statistics and quits are worth.

hindsight: what drivers and cars of Formula 1 are worth. A driver, the car of the year and its constructor are a team,
of all races without sprints, in the official order; hyperparameters are fitted by the evidence. A driver is worth what
they bring beyond the mean of the starters of a race; a car what it and its constructor bring beyond theirs; means of a
season. What sets a driver apart from their car is known from those who drove other cars, and from team-mates.
"""

import time
from functools import partial

import numpy as np
import pyarrow.parquet as pq
from common import find, mean_and_error, measure
from figures import plt, save
from scipy.special import ndtr

import jaxrate as jr
from jaxrate.plots import plot_style as style
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.system import skills_by_name

# --- Histories. ---

USUAL_MARGIN = 4  # games
TEN_YEARS = 3653  # days before the first doubles
SOURCES = "main", "qual_chall"
SURFACES = "Hard", "Clay", "Grass"  # carpet counts as hard


def read_columns(path, names, games=None):
    """Columns of a parquet file without its walkovers, and the margins of a file of games; where it has none, usual."""
    table = pq.read_table(path, columns=[*names, "walkover"])
    played = ~table["walkover"].to_numpy(zero_copy_only=False)
    columns = {name: np.asarray(table[name].to_pylist()) for name in names}
    if games is not None:
        margin = pq.read_table(games, columns=["margin"])["margin"].to_numpy()
        columns["margin"] = np.where(margin == 0, USUAL_MARGIN, margin)
    return {name: x[played] for name, x in columns.items()}


def tennis_tables(options):
    """Doubles [n, 4] and singles [n, 2] with scores, days, surfaces and margins; None if a file is not there."""
    if options.quick:
        rng = np.random.default_rng(0)
        strength = rng.normal(0, 1, 60)

        def draw(n, size):
            player = np.array([rng.permutation(60)[:size] for _ in range(n)])
            sides = strength[player].reshape(n, 2, -1).sum(axis=2)
            lead = sides[:, 0] - sides[:, 1] + rng.normal(0, size**0.5, n)
            return {
                "player": player,
                "score": (lead > 0) * 1.0,
                "t": np.sort(rng.integers(0, 300, n)),
                "surface": rng.choice(SURFACES, n),
                "margin": np.round(3 * lead),
            }

        return draw(600, 4), draw(600, 2)
    paths = [find(options, name) for name in ("atp_doubles.parquet", "atp.parquet", "atp_games.parquet")]
    if None in paths:
        return None
    doubles = read_columns(paths[0], ["t", "a1", "a2", "b1", "b2", "score", "surface", "margin"])
    singles = read_columns(paths[1], ["t", "a", "b", "score", "surface", "source"], paths[2])
    doubles["player"] = np.stack([doubles[x] for x in ("a1", "a2", "b1", "b2")], axis=1)
    singles["player"] = np.stack([singles["a"], singles["b"]], axis=1)
    recent = (singles["t"] >= doubles["t"][0] - TEN_YEARS) & (singles["t"] <= doubles["t"][-1])
    recent &= np.isin(singles["source"], SOURCES)
    return doubles, {name: x[recent] for name, x in singles.items()}


def surface_numbers(surface):
    return np.array([SURFACES.index(x) if x in SURFACES else 0 for x in surface])


def make_rounds(doubles, singles, categories):
    """The history as rounds, and the number [sum P] of the doubles that a participant is in, or -1.

    Categories: "none", "modes", "surfaces", or "modes and surfaces", half each.
    """
    parts = []
    for mode, matches in (("doubles", doubles), ("singles", singles)):
        if matches is None:
            continue
        n, size = matches["player"].shape
        surface = surface_numbers(matches["surface"])
        team = np.repeat([0, 1], size // 2)
        parts.append(
            {
                "time": np.repeat(matches["t"], size).astype(float),
                "later": np.full(n * size, mode == "singles"),
                "match": np.repeat(np.arange(n), size),
                "player": matches["player"].ravel(),
                "rank": np.where(team[None] == 0, 1 - matches["score"][:, None], matches["score"][:, None]).ravel(),
                "team": np.tile(team, n),
                "mode": np.full(n * size, int(mode == "doubles")),
                "surface": np.repeat(surface, size),
                "points": ((team[None] == 0) * matches["margin"][:, None]).ravel(),
            }
        )
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort([columns["match"], columns["later"], columns["time"]])
    columns = {name: x[order] for name, x in columns.items()}
    key = columns["match"] * 2 + columns["later"]
    contest = np.cumsum(np.diff(key, prepend=key[0]) != 0)
    _, player = np.unique(columns["player"], return_inverse=True)
    share = {
        "none": None,
        "modes": columns["mode"],
        "surfaces": columns["surface"],
        "modes and surfaces": 0.5
        * np.concatenate([np.eye(2)[columns["mode"]], np.eye(len(SURFACES))[columns["surface"]]], axis=1),
    }[categories]
    rounds = jr.rounds(
        contest, player, columns["rank"], team=columns["team"], time=columns["time"], category=share,
        columns={"points": columns["points"], "doubles_played": earlier_doubles(player, ~columns["later"])},
    )  # fmt: skip
    return rounds, np.where(columns["later"], -1, columns["match"])


def earlier_doubles(player, is_doubles):
    """[n] log(1 + doubles that the player of each row played in rows before); 0 in singles."""
    order = np.lexsort([np.arange(len(player)), player])
    count = np.cumsum(is_doubles[order]) - is_doubles[order]
    first = np.diff(player[order], prepend=-1) != 0
    count = count - np.maximum.accumulate(np.where(first, count, 0))
    found = np.zeros(len(player))
    found[order] = np.log1p(count)
    return np.where(is_doubles, found, 0.0)


CATEGORIES = {"none": 1, "modes": 2, "surfaces": len(SURFACES), "modes and surfaces": 2 + len(SURFACES)}


def legends_rounds(table, with_clubs):
    """Games of League of Legends as rounds: the five of each side, and maybe the club as a sixth, of another category.

    The side is a covariate: 1 for blue, divided among its members. Splits begin every four months; a row without a name
    is left out.
    """
    games, sides = len(table["score"]), []
    for side, name in enumerate("ab"):
        members = np.stack([table[f"p{name}{seat}"] for seat in range(5)], axis=1)
        members = np.where(members < 0, -1, members)
        if with_clubs:
            members = np.concatenate([members, 10_000 + table[name][:, None]], axis=1)
        rank = np.where(side == 0, 1.0 - table["score"], table["score"])
        present = members >= 0
        blue = (side == 0) * present / present.sum(axis=1, keepdims=True)
        contest = np.broadcast_to(np.arange(games)[:, None], members.shape)
        side_columns = contest, members, np.full(members.shape, side), rank[:, None] + 0.0 * members, blue
        sides.append([x[present] for x in side_columns])
    contest, player, team, rank, blue = (np.concatenate(x) for x in zip(*sides, strict=True))
    order = np.lexsort([team, contest])
    contest, player, team, rank, blue = (x[order] for x in (contest, player, team, rank, blue))
    split = table["period"][contest]
    days = 365.0 * (split // 10 - split[0] // 10) + 120.0 * (split % 10)
    is_club = (player >= 10_000).astype(int)
    return jr.rounds(
        contest, np.unique(player, return_inverse=True)[1], rank, team=team, time=days, category=is_club,
        columns={"blue": blue},
    )  # fmt: skip


def race_table(path):
    """Columns of the races of Formula 1 without sprints, in the official order; of shared drives the best place."""
    table = pq.read_table(path)
    race = ~table["sprint"].to_numpy(zero_copy_only=False)
    columns = {name: table[name].to_numpy()[race] for name in ("t", "event", "player", "team", "order")}
    order = np.lexsort([columns["order"], columns["event"], columns["t"]])
    columns = {name: x[order] for name, x in columns.items()}
    first = np.sort(np.unique(columns["event"] * 100_000 + columns["player"], return_index=True)[1])
    columns = {name: x[first] for name, x in columns.items()}
    event = columns["event"]
    return columns | {"event": np.cumsum(np.diff(event, prepend=event[0]) != 0)}


def races_rounds(table, members):
    """Races as rounds of teams: a driver, and of their car and constructor those that are `members`.

    A car is a player of its own in each year. Both drivers of a constructor have it as a team-mate.
    """
    year = (1970 + table["t"] / 365.25).astype(int)
    ids = {"driver": table["player"], "car": table["team"] * 10_000 + year, "constructor": table["team"]}
    player = np.stack([10 * ids[name].astype(np.int64) + k for k, name in enumerate(members)], axis=1)
    count, size, event = len(table["t"]), len(members), table["event"]
    place = np.arange(count) - np.searchsorted(event, event)
    return jr.rounds(
        np.repeat(event, size), np.unique(player, return_inverse=True)[1].ravel(), np.repeat(place, size),
        team=np.repeat(place, size), time=np.repeat(table["t"], size).astype(float),
    ), place / (np.bincount(event) - 1)[event]  # fmt: skip


# --- Forecasts. ---

SKILLS = {"growth": 6.0, "initial_deviation": 95.0, "noise": 300.0, "match_growth": 2.0}
TRUESKILL = partial(jr.trueskill, initial_rating=1500.0, initial_deviation=130.0, beta=212.0, draw_probability=0.0)
DOUBLES_FREE = "growth", "initial_deviation", "match_growth"
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
    return float(np.mean(loss)), float(np.std(loss) / len(loss) ** 0.5)


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
    for way in ("singles, experience, reversion, margins",) if options.quick else WAYS:
        with_singles, categories, settings, fitted = WAYS[way]
        rounds, number = make_rounds(matches, singles if with_singles else None, categories)
        system = skills_by_name(categories=CATEGORIES[categories], **settings, **SKILLS, **fitted)
        rows.append(
            {"way": f"skills, {way}", "doubles": count, "contests": len(rounds.events.time)}
            | fit_and_score(system, (*DOUBLES_FREE, *fitted), rounds, number, count, steps)
        )
    return {"log loss of the last fifth": rows}


def legends(options):
    """League of Legends: fitted to the first half of the games, and scored on the last."""
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
    skills = partial(skills_by_name, covariates="blue", size_advantage=0.0, period=365.0)
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
        rows.append({"way": way, "games": count, "log_loss": loss.mean()} | mean_and_error(loss - before) | values)
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
        rows.append(
            {"way": way, "members": ", ".join(members), "races": len(loss), "log_loss": loss.mean()}
            | mean_and_error(loss - before)
            | {"pairs_right": jr.metrics.pairwise_accuracy(drivers, p, mask=late)}
            | {"rank_deviation": jr.metrics.rank_deviation(drivers, p, mask=late), **values}
        )
    return {"log loss of the last half": rows}


FORMS = {"2 against 2": (2, 2), "5 against 5": (2, 5), "teams of four, 20 players": (5, 4)}  # teams, players of each


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
    for form, (teams, size) in [*FORMS.items()][-1 if options.quick else 0 :]:
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


# --- Formula 1 with hindsight. ---

FREE = "growth", "initial_deviation", "match_growth", "experience", "reversion"
START = {"growth": 8.0, "initial_deviation": 100.0, "match_growth": 0.4, "experience": 53.0, "reversion": 2300.0}
TEAMS = ("driver",), ("driver", "car"), ("driver", "car", "constructor")
CONSTRUCTORS = {  # of whom they have no names in the file: a driver of theirs, and a year
    "Ferrari": ("Charles Leclerc", 2019),
    "McLaren": ("Ayrton Senna", 1990),
    "Williams": ("Nigel Mansell", 1992),
    "Mercedes": ("Lewis Hamilton", 2016),
    "Red Bull": ("Max Verstappen", 2022),
}
NOISE = 300.0 * len(TEAMS[-1]) ** 0.5  # points, of the difference of two teams
NAMED, MIN_RACES = 8, 5  # drivers with names in the picture; races of a season that counts
SIGMA, GAMMA = 1.0, 0.05  # units of beta, and per square root of a day


def smooth_races(table, members, steps):
    """A row for these members of teams, with values fitted by the evidence, and the smoothed history."""
    rounds, _ = races_rounds(table, members)
    free = FREE if steps else ()
    system, start = skills_by_name(**START), time.perf_counter()
    if steps:
        system = jr.fit(system, rounds, free=free, objective=jr.fitting.evidence(), steps=steps).system
    fitting = time.perf_counter() - start
    found, took = smooth_events(system, rounds), time.perf_counter() - start - fitting
    row = {"members": ", ".join(members), "races": len(rounds.start) - 1, "log_evidence": found.evidence}
    row |= {"sweeps": found.sweeps, "seconds": took, "fit_seconds": fitting}
    return row | {name: float(getattr(system.params, name)) for name in FREE}, found


def seasons_of(owner, year, race, values, variances):
    """By owner and year: means of values [n] above those of all starters of the race, and deviations."""
    above = values - (np.bincount(race, values) / np.bincount(race))[race]
    key, number, count = np.unique(np.stack([owner, year]), axis=1, return_inverse=True, return_counts=True)
    mean, variance = (np.bincount(number, x) / count for x in (above, variances))
    kept = count >= MIN_RACES
    return {"owner": key[0][kept], "year": key[1][kept], "worth": mean[kept], "deviation": np.sqrt(variance[kept])}


def season_maxima(seasons, name_of, top):
    """The owners with the best seasons, each with their best."""
    rows = []
    for i in np.argsort(-seasons["worth"]):
        name = name_of(seasons["owner"][i])
        if name is not None and name not in {row["name"] for row in rows}:
            row = {"name": name} | {key: seasons[key][i].item() for key in ("year", "worth", "deviation")}
            rows.append(row | {"chance_against_the_mean": float(ndtr(row["worth"] / NOISE))})
    return rows[:top]


def hindsight(options):
    """What drivers and cars are worth, with hindsight."""
    if options.quick:
        table = quick_races()
        names = {i: f"driver {i}" for i in range(20)}
    else:
        path, players = find(options, "f1.parquet"), find(options, "f1_players.parquet")
        if path is None or players is None:
            return None
        table, columns = race_table(path), pq.read_table(players)
        names = dict(zip(columns["id"].to_pylist(), columns["name"].to_pylist(), strict=True))
    rows = []
    for members in TEAMS[-1:] if options.quick else TEAMS:
        row, found = smooth_races(table, members, 0 if options.quick else 40)
        rows.append(row)
    mean, variance = (
        np.asarray(x, float).reshape(-1, len(TEAMS[-1])) for x in (found.rating.mean, found.rating[1] ** 2)
    )
    year, race = (1970 + table["t"] / 365.25).astype(int), table["event"]
    drivers = seasons_of(table["player"], year, race, mean[:, 0], variance[:, 0])
    cars = seasons_of(table["team"], year, race, mean[:, 1:].sum(axis=1), variance[:, 1:].sum(axis=1))
    team_of = {}
    for constructor, (driver, season) in CONSTRUCTORS.items():
        mine = (year == season) & np.array([names[x] == driver for x in table["player"].tolist()])
        team_of |= {int(x): constructor for x in table["team"][mine][:1]}
    best_drivers = season_maxima(drivers, names.get, 20)
    best_cars = season_maxima(cars, lambda team: team_of.get(int(team)), len(CONSTRUCTORS))
    shares = []
    for decade in range(1950, 2030, 10):
        chosen = (year >= decade) & (year < decade + 10)
        if chosen.any():
            of = np.unique(race[chosen], return_inverse=True)[1]
            count = np.bincount(of)[of]
            parts = [x - np.bincount(of, x)[of] / count for x in (mean[chosen, 0], mean[chosen, 1:].sum(axis=1))]
            deviations = [float(np.std(x)) for x in parts]
            share = deviations[1] ** 2 / (deviations[0] ** 2 + deviations[1] ** 2)
            shares.append({"decade": decade, "drivers": deviations[0], "cars": deviations[1], "share_of_cars": share})
    if options.out and not options.quick:
        named = [row["name"] for row in best_drivers[:NAMED]]
        figure = draw_worths(drivers, cars, names.get, lambda team: team_of.get(int(team)), named)
        save({"drivers_and_cars": figure}, options.out, "formula_1")
    return {
        "evidence": rows,
        "best seasons of drivers": best_drivers,
        "best seasons of constructors with names": best_cars,
        "deviations among the starters of a race, in points": shares,
    }


def quick_races():
    """A small league of races, two drivers a car."""
    rng, rows = np.random.default_rng(0), []
    for event in range(30):
        order = rng.permutation(20)
        rows += [(7 * event, event, driver, driver // 2, place) for place, driver in enumerate(order)]
    return dict(zip(("t", "event", "player", "team", "order"), np.array(rows).T, strict=True))


def line_with_gaps(seasons, mine):
    """Years, worths and half widths of 95% intervals of some seasons, with NaN where years are missing."""
    year = np.arange(seasons["year"][mine].min(), seasons["year"][mine].max() + 1)
    worth, wide = np.full((2, len(year)), np.nan)
    at = seasons["year"][mine] - year[0]
    worth[at], wide[at] = seasons["worth"][mine], 1.96 * seasons["deviation"][mine]
    return year, worth, wide


def draw_worths(drivers, cars, driver_name, constructor_name, named_drivers):
    """Two panels of seasons: drivers and cars, each above those of the other starters."""
    figure, panels = plt.subplots(1, 2, figsize=(11.0, 5.6), sharey=True, facecolor=jr.plots.PAPER)
    parts = (
        ("Drivers", drivers, driver_name, named_drivers),
        ("Cars, by constructor", cars, constructor_name, [*CONSTRUCTORS]),
    )
    for panel, (title, seasons, name_of, named) in zip(panels, parts, strict=True):
        jr.plots.make_axes(panel)
        labels = np.array([name_of(x) or "" for x in seasons["owner"].tolist()])
        places = []
        for owner in np.unique(seasons["owner"]):
            mine = seasons["owner"] == owner
            if labels[mine][0] not in named:
                panel.plot(*line_with_gaps(seasons, mine)[:2], color=style.GREY, linewidth=0.5, alpha=0.25)
        for i, name in enumerate(named):
            at, worth, wide = line_with_gaps(seasons, labels == name)
            colour = jr.plots.COLOURS[i % len(jr.plots.COLOURS)]
            panel.plot(at, worth, color=colour, linewidth=1.8)
            panel.fill_between(at, worth - wide, worth + wide, color=colour, alpha=0.08, linewidth=0)
            best = int(np.nanargmax(worth))
            places.append((at[best], worth[best], name, colour))
        height = {}  # of labels, each above those that it would cover
        for year, worth, name, colour in sorted(places, key=lambda place: place[1]):
            near = [y for (x, _), y in height.items() if abs(x - year) < 17]
            worth += 15.0
            while any(abs(y - worth) < 34.0 for y in near):
                worth += 8.0
            height[year, name] = worth
            place = min(max(year, 1957), 2017), worth
            panel.annotate(name, place, ha="center", fontsize=8.5, color=colour, fontweight="bold")
        panel.set_ylim(-420, 720)
        panel.set_title(title, loc="left", fontsize=11, fontweight="bold", color=style.INK)
        panel.axhline(0.0, color=style.GREY, linewidth=0.8)
    title = "In Formula 1 the car has come to count more than the driver"
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold", color=style.INK)
    panels[0].set_ylabel("points above the other starters", color=style.GREY)
    figure.text(
        0.01, 0.01, "Formula 1, all races from 1950. Seasons with hindsight; bands are 95% intervals. "
        f"Who is 100 points better wins {100 * ndtr(100 / NOISE):.0f} of 100 duels.", color=style.GREY, fontsize=8.5,
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    return figure


PARTS = {"doubles": doubles, "legends": legends, "races": races, "evidence": rating_errors_by_evidence}
PARTS |= {"hindsight": hindsight}

if __name__ == "__main__":
    data = "atp_doubles.parquet, atp.parquet, atp_games.parquet, lol_pro.parquet, f1.parquet and f1_players.parquet"
    measure(PARTS, "on small leagues", data)
