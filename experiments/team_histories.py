"""Histories of teams for `team_skills.py`: ATP doubles with singles, and professional League of Legends."""

import numpy as np
from common import find

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
    import pyarrow.parquet as pq

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
