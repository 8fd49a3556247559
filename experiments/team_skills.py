"""Doubles of the ATP by skills of teams, beside TrueSkill, and how fast teams are rated.

    python experiments/team_skills.py           # an hour; writes experiments/results/team_skills.json
    python experiments/team_skills.py --quick   # a minute, on small leagues; writes nothing unless --out is given

Doubles without walkovers: all is fitted to the first four fifths, and the last fifth is scored. With singles, those of
the ten years before the first doubles and all later ones stand in the same history, as contests of two players. They
are rated, and neither fitted nor scored: the modes of a player are the categories. Those of a date count after doubles
of that date, which they cannot tell of. Experience is of all matches, and then also of doubles alone, as a covariate.
Speeds are the best of a few calls that take turns, on contests of players drawn at random; replays start from a fresh
state, store every prediction, and have their schedules made before.
"""

import time
from functools import partial

import numpy as np
from common import add_only, declare, find, keep, parse, race

import jaxrate as jr

USUAL_MARGIN = 4  # games
TEN_YEARS = 3653  # days before the first doubles
SOURCES = "main", "qual_chall"
SURFACES = "Hard", "Clay", "Grass"  # carpet counts as hard


def read_columns(path, names, games=None):
    """Columns of a parquet file without its walkovers, and the margins of a file of games; where it has none, usual."""
    import pyarrow.parquet as pq

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


def make_rounds(doubles, singles, categories):
    """The history as rounds, and the number [sum P] of the doubles that a participant is in, or -1.

    Categories: "none", "modes", "surfaces", or "modes and surfaces", half each.
    """
    parts = []
    for mode, matches in (("doubles", doubles), ("singles", singles)):
        if matches is None:
            continue
        n, size = matches["player"].shape
        surface = np.array([max(0, SURFACES.index(x)) if x in SURFACES else 0 for x in matches["surface"]])
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
SKILLS = {"growth": 6.0, "initial_deviation": 95.0, "noise": 300.0, "match_growth": 2.0}
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
    loss = -np.log(np.asarray(prediction, float)[rows])[scored]
    return float(loss.mean()), float(loss.std() / len(loss) ** 0.5)


def fit_and_score(system, free, rounds, number, count, steps):
    cut = round(0.8 * count)
    weight = ((number >= 0) & (number < cut)) * 1.0
    start = time.perf_counter()
    fit = jr.fit(system, rounds, free=list(free), weight=weight, steps=steps, errors="products")
    seconds = time.perf_counter() - start
    prediction = jr.run(fit.system, rounds).prediction
    loss, error = log_loss(prediction, rounds, number, np.arange(count) >= cut)
    values = {name: float(getattr(fit.params, name)) for name in free}
    return {"log_loss": loss, "standard_error": error, "fit_seconds": seconds, **values}


def doubles(options):
    tables = tennis_tables(options)
    if tables is None:
        return None
    matches, singles = tables
    count, steps = len(matches["score"]), 3 if options.quick else 60
    plain, number = make_rounds(matches, None, "none")
    trueskill = jr.trueskill(initial_rating=1500.0, initial_deviation=130.0, beta=212.0, tau=5.0, draw_probability=0.0)
    rows = [
        {"way": "trueskill", "doubles": count, "contests": count}
        | fit_and_score(trueskill, ("initial_deviation", "tau"), plain, number, count, steps)
    ]
    for way in list(WAYS)[::7] if options.quick else options.ways:
        with_singles, categories, settings, fitted = WAYS[way]
        rounds, number = make_rounds(matches, singles if with_singles else None, categories)
        system = jr.skills(categories=CATEGORIES[categories], **settings, **SKILLS, **fitted)
        rows.append(
            {"way": f"skills, {way}", "doubles": count, "contests": len(rounds.events.time)}
            | fit_and_score(system, (*FREE, *fitted), rounds, number, count, steps)
        )
        print(rows[-1], flush=True)
    return {"log loss of the last fifth": rows}


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


def speed(options):
    rng, rows = np.random.default_rng(0), []
    for form, (contests, teams, size) in FORMS.items():
        contests = contests // 500 if options.quick else contests
        rounds = random_contests(rng, contests, 200 if options.quick else 50_000, teams, size)
        schedule = jr.extend.schedule_by_level(rounds)
        systems = {
            "trueskill": jr.trueskill(),
            "skills": jr.skills(match_growth=5.0),
            "skills, experience": jr.skills(match_growth=5.0, experience=20.0),
            "skills, margins": jr.skills("margin", margin="points", match_growth=5.0),
            "skills, two modes": jr.skills(categories=2, match_growth=5.0),
        }
        calls = {way: partial(jr.run, system, rounds, schedule=schedule) for way, system in systems.items()}
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


def evidence(options):
    """How far ratings are off the skills that leagues were drawn from, with the model's own hyperparameters."""
    rows, leagues = [], 2 if options.quick else 20
    ways = {
        "results": {},
        "and quits": {"quit": "quit", "quit_threshold": 1100.0},
        "and one statistic": {"statistics": ("s0",)},
        "and two statistics": {"statistics": ("s0", "s1")},
        "and both": {"statistics": ("s0", "s1"), "quit": "quit", "quit_threshold": 1100.0},
    }
    for form, (teams, size) in {
        "2 against 2": (2, 2),
        "5 against 5": (2, 5),
        "teams of four, 20 players": (5, 4),
    }.items():
        off = {way: [] for way in ways}
        for seed in range(leagues):
            skill, rounds = draw_league(np.random.default_rng(seed), 200, 2000 // size // teams, teams, size, 2)
            for way, on in ways.items():
                system = jr.skills(growth=0.0, **on)
                rating = jr.ratings(system, jr.run(system, rounds, num_players=200).state)
                z = (np.asarray(rating.mean) - skill) / np.asarray(rating.deviation)
                error = np.mean((np.asarray(rating.mean) - skill) ** 2) ** 0.5
                off[way].append((error, np.mean(np.abs(z) < 1.96)))
        for way, pairs in off.items():
            error, covered = np.mean(pairs, axis=0)
            less = 1.0 - error / np.mean(off["results"], axis=0)[0]
            rows.append({"form": form, "learnt from": way, "error": error, "less": less, "in_95_percent": covered})
    return {"ten contests a player": rows}


PARTS = {"doubles": doubles, "speed": speed, "evidence": evidence}


if __name__ == "__main__":
    parser = declare(__doc__, "on small leagues", "atp_doubles.parquet and atp.parquet")
    add_only(parser, PARTS, "PART")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), metavar="WAY", help=", ".join(WAYS))
    keep(PARTS, parse(parser, __file__))
