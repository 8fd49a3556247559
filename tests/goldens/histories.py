"""Histories of every kind, and the systems that rate them; random numbers are of a stream that NumPy keeps for good."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import jaxrate as jr
from jaxrate import parts
from jaxrate.systems.skills.system import skills_by_name

FULL, SHORT = "full", "short"  # every question, or those of ratings and predictions alone


class Case(NamedTuple):
    """A history, a system of it, and how much is asked of both."""

    history: str
    name: str
    make: Callable[[Any], Any]  # the system, given the data
    ask: str = SHORT
    period: float | None = None
    hindsight: bool = False

    @property
    def label(self) -> str:
        """The name of the case in files and messages."""
        return f"{self.history} {self.name}"


def nfl_table():
    """Three seasons of the National Football League, with the points of both."""
    table = jr.data.datasets.nfl_columns()
    return {name: values[(table["season"] >= 2010) & (table["season"] < 2013)] for name, values in table.items()}


def columns_by_name(names, rows):
    return {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def football_table():
    """Three leagues that never meet, of eight teams and two seasons each, with goals and expected goals."""
    random, teams, rows = np.random.RandomState(1), 8, []
    for number, league in enumerate(("East", "North", "West")):
        attack, defence = random.normal(0.0, 0.25, (2, teams))
        for season in (2021, 2022):
            pairs = [(i, j) for i in range(teams) for j in range(teams) if i != j]
            for day, k in enumerate(random.permutation(len(pairs))):
                home, away = pairs[k]
                rates = 1.35 * np.exp([attack[home] - defence[away] + 0.15, attack[away] - defence[home] - 0.15])
                goals = random.poisson(rates)
                date = np.datetime64(f"{season}-08-01") + np.timedelta64(4 * day + number, "D")
                names = [f"{league} {x + 1}" for x in (home, away)]
                shots = np.round(rates * random.uniform(0.8, 1.2, 2), 2)
                rows.append((date, f"{season}-{season - 1999}", league, *names, *goals, *shots))
            attack += random.normal(0.0, 0.1, teams)
    names = "date", "season", "league", "home", "away", "home_goals", "away_goals", "home_xg", "away_xg"
    return columns_by_name(names, sorted(rows, key=lambda row: (row[0], row[3])))


def races_table():
    """Matches of players of three races; draws are few."""
    random, count, n = np.random.RandomState(2), 16, 400
    strength, race = random.normal(0.0, 250.0, count), random.randint(0, 3, count)
    a, b = np.array([random.permutation(count)[:2] for _ in range(n)]).T
    luck = random.normal(0.0, 250.0, n) + strength[a] - strength[b] + 80.0 * (race[a] - race[b] == 1)
    names, races = np.array([f"Player {i:02}" for i in range(count)]), np.array(["Protoss", "Terran", "Zerg"])
    score, date = np.where(np.abs(luck) < 15.0, 0.5, luck > 0), np.cumsum(random.randint(0, 3, n))
    found = {"a": names[a], "b": names[b], "score": score, "date": np.datetime64("2019-03-01") + date}
    return found | {"race_a": races[race[a]], "race_b": races[race[b]]}


def contests_table():
    """Contests of single players with ties; some have a ceiling, some are noisy or count half."""
    random, count, rows = np.random.RandomState(3), 30, []
    strength = random.normal(0.0, 200.0, count)
    for contest in range(70):
        players = random.permutation(count)[: random.randint(3, 13)]
        result = np.round((strength[players] + random.normal(0.0, 200.0, len(players))) / 60.0)
        ceiling, noise = (1700.0 if contest % 5 == 0 else np.inf), (2.0 if contest % 7 == 0 else 1.0)
        weight = 0.5 if contest % 6 == 0 else 1.0
        date = np.datetime64("2020-01-03") + np.timedelta64(9 * contest, "D")
        for player, own in zip(players, result, strict=True):
            rank = 1 + (result > own).sum()
            rows.append((f"Cup {contest + 1}", f"Runner {player:02}", rank, date, ceiling, noise, weight))
    return columns_by_name(("contest", "player", "rank", "date", "ceiling", "noise", "weight"), rows)


def teams_table(twice=True):
    """Contests of teams of one to three, some of whose players are in two teams if `twice`, and who quit."""
    random, count, rows = np.random.RandomState(4), 18, []
    strength = random.normal(0.0, 150.0, count)
    for contest in range(60):
        order, start, teams = random.permutation(count), 0, []
        for size in random.randint(1, 4, random.randint(2, 5)):
            teams.append([*order[start : start + size]])
            start += size
        if twice and contest % 4 == 0:
            teams[0] = [*teams[0], order[-1]]
            teams[1] = [*teams[1], order[-1]]
        result = np.round([(strength[team].sum() + random.normal(0.0, 250.0)) / 80.0 for team in teams])
        for number, team in enumerate(teams):
            for driver in team:
                quits, mode = float(random.uniform() < 0.1), ("rain", "dry")[contest % 3 == 0]
                place = 1 + (result > result[number]).sum()
                date = np.datetime64("2021-05-01") + np.timedelta64(7 * contest, "D")
                rows.append((contest + 1, f"Driver {driver:02}", number, place, date, quits, mode))
    return columns_by_name(("contest", "player", "team", "rank", "date", "quit", "mode"), rows)


def doubles_table():
    """Matches of two against two, some against one, with line-ups in columns."""
    random, count, n = np.random.RandomState(5), 14, 220
    strength, rows = random.normal(0.0, 150.0, count), []
    for match in range(n):
        line_up = random.permutation(count)[:4]
        lead = strength[line_up[:2]].sum() - strength[line_up[2:]].sum() + random.normal(0.0, 300.0)
        names = [f"Player {x:02}" for x in line_up]
        names[3] = None if match % 11 == 0 else names[3]
        score = 0.5 if abs(lead) < 20.0 else float(lead > 0)
        rows.append((*names, score, np.datetime64("2022-02-01") + np.timedelta64(2 * match, "D")))
    return columns_by_name(("a1", "a2", "b1", "b2", "score", "date"), rows)


def votes_table():
    """Votes between eight models with ties and voters; the last became better halfway."""
    random, n = np.random.RandomState(6), 700
    strength = np.linspace(-150.0, 150.0, 8)
    a, b = np.array([random.permutation(8)[:2] for _ in range(n)]).T
    gain = 120.0 * (np.arange(n) > n // 2) * ((a == 7) * 1.0 - (b == 7))
    lead = strength[a] - strength[b] + gain + random.logistic(0.0, 400.0 / np.log(10.0), n)
    names = np.array([f"model {x}" for x in "abcdefgh"])
    score, date = np.where(np.abs(lead) < 60.0, 0.5, lead > 0), np.datetime64("2024-01-01") + np.arange(n) // 10
    return {"a": names[a], "b": names[b], "score": score, "date": date, "voter": random.randint(0, 60, n)}


TABLES = {
    "nfl": nfl_table,
    "football": football_table,
    "races": races_table,
    "contests": contests_table,
    "ranks": contests_table,
    "teams": teams_table,
    "quits": lambda: teams_table(twice=False),
    "doubles": doubles_table,
    "votes": votes_table,
}
QUITS = parts.quits("quit")
GOALS = {"margin": ("home_goals", "away_goals"), "expected_goals": ("home_xg", "away_xg")}
COLUMNS = {
    "nfl": {"a": "home", "b": "away", "side": "a", "neutral": "neutral", "season": "season", "time": "date"}
    | {"score": "score", "margin": ("home_points", "away_points")},
    "football": {"a": "home", "b": "away", "side": "a", "season": "season", "time": "date"} | GOALS,
    "races": {"category": ("race_a", "race_b"), "time": "date"},
    "contests": {"time": "date", "ceiling": "ceiling", "noise": "noise", "weight": "weight"},
    "ranks": {"time": "date"},
    "teams": {"team": "team", "time": "date"},
    "quits": {"team": "team", "time": "date", "columns": "quit", "category": "mode"},
    "doubles": {"time": "date"},
    "votes": {"time": "date"},
}


@cache
def read_history(name):
    """The data of a history."""
    return jr.read(TABLES[name](), **COLUMNS[name])


def skills_of(outcome, **settings):
    """How skills with seasons and a side are made of a history."""

    def make(data):
        columns = {"margin": {"margin": data.margin}, "goals": {name: getattr(data, name) for name in GOALS}}
        learnt = columns.get(outcome, {})
        return skills_by_name(outcome=outcome, seasons=data.seasons, side_advantage=50.0, **learnt, **settings)

    return make


CASES = [
    Case("nfl", "elo", lambda data: jr.elo(data.seasons, season_keep=0.7, side_advantage=50.0), FULL),
    Case("nfl", "glicko", lambda data: jr.glicko(), FULL),
    Case("nfl", "glicko in periods", lambda data: jr.glicko(period=28.0), FULL, period=28.0),
    Case("nfl", "glicko2", lambda data: jr.glicko2(), FULL),
    Case("nfl", "glicko2 in periods", lambda data: jr.glicko2(period=28.0), period=28.0),
    Case("nfl", "trueskill", lambda data: jr.trueskill()),
    Case("nfl", "blat_mmr", lambda data: jr.blat_mmr()),
    Case("nfl", "urnings", lambda data: jr.urnings(outcomes=3)),
    Case("nfl", "weng_lin", lambda data: jr.weng_lin()),
    Case("nfl", "skills of wins", skills_of("win"), hindsight=True),
    Case("nfl", "skills of margins", skills_of("margin", own_side=True, compression=10.0), FULL, hindsight=True),
    Case("nfl", "skills of points", lambda data: jr.skills(observe=parts.points(*data.margin, rate=22.0))),
    Case("football", "elo", lambda data: jr.elo(side_advantage=60.0), FULL),
    Case("football", "skills of goals", skills_of("goals"), FULL, hindsight=True),
    Case("races", "category_glicko", lambda data: jr.category_glicko(), FULL, period=14.0),
    Case("contests", "elo_mmr", lambda data: jr.elo_mmr(), FULL),
    Case("ranks", "codeforces", lambda data: jr.codeforces()),
    Case("ranks", "topcoder", lambda data: jr.topcoder()),
    Case("contests", "trueskill", lambda data: jr.trueskill()),
    Case("contests", "weng_lin", lambda data: jr.weng_lin()),
    Case("teams", "trueskill", lambda data: jr.trueskill(), FULL),
    Case("teams", "elo_mmx", lambda data: jr.elo_mmx()),
    Case("quits", "skills", lambda data: jr.skills(parts.modifier(2), observe=QUITS), FULL, hindsight=True),
    Case("doubles", "weng_lin", lambda data: jr.weng_lin()),
    Case("doubles", "skills", lambda data: jr.skills(), FULL, hindsight=True),
]
