"""Hindsight for contests of teams: what drivers and cars of Formula 1 are worth, and how fast it is.

    python experiments/team_hindsight.py           # minutes; writes experiments/results/team_hindsight.json, a picture
    python experiments/team_hindsight.py --quick   # a minute, on small leagues; writes nothing unless --out is given

Formula 1: a driver, the car of the year and its constructor are a team, of all races without sprints, in the official
order. Hyperparameters are fitted by the evidence. A driver is worth what they bring beyond the mean of the starters of
a race; a car what it and its constructor bring beyond theirs; means of a season. What sets a driver apart from their
car is known from those who drove other cars, and from team-mates.

Speeds are the best of a few calls, on contests whose results are drawn from the model; contests of two against two
stand beside trueskillthroughtime.
"""

import time
from functools import partial

import numpy as np
from common import add_only, declare, find, keep, look_for, parse
from scipy.special import ndtr
from team_histories import race_table, races_rounds
from team_skills import FORMS, QUICK_FORMS, random_contests

import jaxrate as jr
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.system import skills_by_name

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
    start = time.perf_counter()
    system = skills_by_name(**START)
    if steps:
        system = jr.fit(system, rounds, free=free, objective=jr.fitting.evidence(), steps=steps).system
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    found = smooth_events(system, rounds)
    row = {"members": ", ".join(members), "races": len(rounds.start) - 1, "log_evidence": found.evidence}
    row |= {"sweeps": found.sweeps, "seconds": time.perf_counter() - start, "fit_seconds": seconds}
    return row | {name: float(getattr(system.params, name)) for name in FREE}, found


def seasons_of(owner, year, race, values, variances):
    """By owner and year: means of values [n] above those of all starters of the race, and deviations."""
    above = values - (np.bincount(race, values) / np.bincount(race))[race]
    key, number, count = np.unique(np.stack([owner, year]), axis=1, return_inverse=True, return_counts=True)
    mean, variance = (np.bincount(number, x) / count for x in (above, variances))
    kept = count >= MIN_RACES
    return {
        "owner": key[0][kept], "year": key[1][kept], "worth": mean[kept], "deviation": np.sqrt(variance[kept]),
    }  # fmt: skip


def season_maxima(seasons, name_of, top):
    """The owners with the best seasons, each with their best."""
    rows = []
    for i in np.argsort(-seasons["worth"]):
        name = name_of(seasons["owner"][i])
        if name is not None and name not in {row["name"] for row in rows}:
            worth, deviation = seasons["worth"][i], seasons["deviation"][i]
            chance = float(ndtr(worth / NOISE))
            rows.append({"name": name, "year": int(seasons["year"][i]), "points_above_the_field": float(worth),
                         "deviation": float(deviation), "chance_against_the_mean": chance})  # fmt: skip
    return rows[:top]


def races(options):
    """What drivers and cars are worth, with hindsight."""
    if options.quick:
        table = quick_races()
        names = {i: f"driver {i}" for i in range(20)}
    else:
        path, players = find(options, "f1.parquet"), find(options, "f1_players.parquet")
        if path is None or players is None:
            return None
        import pyarrow.parquet as pq

        table, columns = race_table(path), pq.read_table(players)
        names = dict(zip(columns["id"].to_pylist(), columns["name"].to_pylist(), strict=True))
    rows = []
    for members in TEAMS[-1:] if options.quick else TEAMS:
        row, found = smooth_races(table, members, 0 if options.quick else 40)
        rows.append(row)
        print(row, flush=True)
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
        figure.savefig(options.out.with_name("formula_1_drivers_and_cars.png"), dpi=110)
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
    import matplotlib.pyplot as plt

    from jaxrate.plots import plot_style as style

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
    figure.suptitle(
        "In Formula 1 the car has come to count more than the driver",
        x=0.01,
        ha="left",
        fontsize=14,
        fontweight="bold",
        color=style.INK,
    )
    panels[0].set_ylabel("points above the other starters", color=style.GREY)
    figure.text(
        0.01, 0.01, "Formula 1, all races from 1950. Seasons with hindsight; bands are 95% intervals. "
        f"Who is 100 points better wins {100 * ndtr(100 / NOISE):.0f} of 100 duels.", color=style.GREY, fontsize=8.5,
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    return figure


def drawn_contests(rng, contests, players, teams, size, days):
    """Contests at random times, of skills drawn from the model."""
    rounds = random_contests(rng, contests, players, teams, size)
    skill = rng.normal(0.0, 150.0, players)[rounds.events.player]
    performance = (skill + rng.normal(0.0, 300.0 / 2.0**0.5, len(skill))).reshape(contests, teams, size).sum(axis=2)
    rank = size * np.argsort(np.argsort(-performance, axis=1), axis=1)
    ranks = np.repeat(rank, size, axis=1).ravel().astype(np.int32)
    return rounds._replace(events=rounds.events._replace(rank=ranks, time=np.floor(np.linspace(0, days, contests))))


def timed(call, turns):
    """The best seconds after the first call, those of the first, and what comes out."""
    seconds = []
    for _ in range(turns + 1):
        start = time.perf_counter()
        found = call()
        np.asarray(found.rating.mean)
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds[1:]), "first_seconds": seconds[0]}, found


def speed(options):
    rng, rows = np.random.default_rng(0), []
    for form, (contests, teams, size) in (QUICK_FORMS if options.quick else FORMS).items():
        rounds = drawn_contests(rng, contests, 200 if options.quick else 50_000, teams, size, 1000)
        ways = {
            "skills": jr.skills(jr.parts.skill(match_growth=5.0)),
            "skills, experience": jr.skills(jr.parts.skill(match_growth=5.0), jr.parts.experience(20.0)),
            "skills, two modes": jr.skills(jr.parts.skill(match_growth=5.0), jr.parts.modifier(2)),
        }
        for way, system in [*ways.items()][-1:] if options.quick else ways.items():
            row, found = timed(partial(smooth_events, system, rounds), 1 if options.quick else 2)
            row = {"form": form, "way": way, "contests": contests} | row | {"sweeps": found.sweeps}
            rows.append(row | {"microseconds_a_participation": 1e6 * row["seconds"] / (contests * teams * size)})
            print(rows[-1], flush=True)
    return {"contests": rows}


def line_ups(rounds, teams, size):
    """[contests, teams, size] of players, [contests, teams] of ranks, and [contests] of days, as lists."""
    flat = rounds.events
    player = np.reshape(flat.player, (-1, teams, size)).tolist()
    rank = np.reshape(flat.rank, (-1, teams, size))[..., 0].tolist()
    return player, rank, flat.time.astype(int).tolist()


def make_history_through_time(player, rank, day):
    import trueskillthroughtime as ttt

    names = [[[str(x) for x in team] for team in teams] for teams in player]
    results = [[-float(x) for x in ranks] for ranks in rank]
    return ttt.History(names, results, day, sigma=SIGMA, gamma=GAMMA, beta=1.0, p_draw=0.0)


def peers(options):
    """Two against two by trueskillthroughtime: the same model, to about the same change."""
    n = 100 if options.quick else 2_000
    rounds = drawn_contests(np.random.default_rng(1), n, n // 20, 2, 2, 1000)
    system = jr.skills(
        jr.parts.skill(initial_rating=0, initial_deviation=SIGMA, growth=GAMMA, deviation_max=1e4),
        observe=jr.parts.result(noise=2.0**0.5),
        period=1.0,
    )
    row, found = timed(partial(smooth_events, system, rounds), 2)
    rows = [{"package": "jaxrate", "contests": n, "sweeps": found.sweeps} | row]
    if options.trueskillthroughtime:
        players, ranks, days = line_ups(rounds, 2, 2)
        start = time.perf_counter()
        history = make_history_through_time(players, ranks, days)
        _, sweeps = history.convergence(epsilon=1e-3, iterations=100, verbose=False)
        seconds = time.perf_counter() - start
        curves = {name: dict(curve) for name, curve in history.learning_curves().items()}
        wanted = [[curves[str(x)][day].mu for x in np.ravel(one)] for one, day in zip(players, days, strict=True)]
        off = (np.ravel(wanted) - np.asarray(found.rating.mean)) / np.asarray(found.rating.deviation)
        row = {"package": "trueskillthroughtime", "contests": n, "sweeps": int(sweeps), "seconds": seconds}
        row["times_jaxrate"] = seconds / rows[0]["seconds"]
        rows.append(row | {"greatest_difference_in_deviations": float(np.abs(off).max())})
    return {"beside others": rows}


PARTS = {"races": races, "speed": speed, "peers": peers}


if __name__ == "__main__":
    parser = declare(__doc__, "on small leagues", "f1.parquet and f1_players.parquet")
    add_only(parser, PARTS, "PART")
    options = parse(parser, __file__)
    look_for(options, "trueskillthroughtime")
    keep(PARTS, options)
