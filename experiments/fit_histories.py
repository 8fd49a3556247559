"""The histories of `fit_data.py`: how each is read, where it is cut, and the systems that rate it.

A loader gets the data folder, and returns a `History`, or None if that is not there.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from fit_peers import PEERS, WEEK, numbered
from pyarrow import parquet
from trueskill_data import five_a_side

import jaxrate as jr
from jaxrate.data.simulate import league

SHARE = 0.8  # of the events are fitted
STRETCH = 100_000  # matches to which category Glicko is fitted at most
SHORT = 10_000  # the same of BlatMMR


class Contender(NamedTuple):
    """What is rated, and where its fit starts."""

    label: str
    plain: Any
    start: Any
    build: Any = lambda matches: matches  # events of matches
    most: int | None = None  # matches that it is fitted to at most


class History(NamedTuple):
    """Matches or rounds, of which the first `cut` are fitted."""

    events: Any
    cut: int
    contenders: list[Contender]
    peers: tuple[str, ...]


# --- Systems. ---


def urns_of(matches):
    return matches if matches.context.side is None else jr.urns.split_by_side(matches)


def weekly(matches):
    return jr.periods(matches, WEEK)


def of_matches(matches):
    """Every system that rates matches, or periods of them; with categories also by weeks."""
    draws = bool(np.any(matches.score == 0.5))
    category = matches.context.category
    games = jr.trueskill if draws else partial(jr.trueskill, draw_probability=0.0)
    urns = jr.urnings(outcomes=3 if draws else 2, draw_weight=1.0)
    races = partial(jr.category_glicko, 1 if category is None else int(np.max(category)) + 1, period=WEEK)
    wide = {"initial_deviation": 1000.0, "deviation_max": 1000.0}
    wide |= {"initial_modifier_deviation": 300.0, "modifier_deviation_max": 300.0, "match_weight": 0.5}
    systems = [
        Contender("elo", jr.elo(), jr.elo()),
        Contender("elo, K of newcomers", jr.elo(), jr.elo(k_new=64.0, new_games=20.0)),
        Contender("glicko", jr.glicko(), jr.glicko()),
        Contender("glicko2", jr.glicko2(), jr.glicko2()),
        Contender("weng_lin, Bradley-Terry", jr.weng_lin(), jr.weng_lin()),
        Contender("trueskill", jr.trueskill(), games()),
        Contender("trueskill, by the clock", jr.trueskill(), games(drift=0.01)),
        Contender("urnings", urns, urns, urns_of),
    ]
    if category is not None:
        systems += [
            Contender("glicko, weekly", jr.glicko(), jr.glicko(), weekly),
            Contender("glicko2, weekly", jr.glicko2(), jr.glicko2(), weekly),
            Contender("category_glicko, weekly", races(), races(**wide), weekly, STRETCH),
        ]
    return [*systems, Contender("blat_mmr", jr.blat_mmr(), jr.blat_mmr(), most=SHORT)]


def of_teams():
    models = "plackett_luce", "bradley_terry_full"
    systems = {"trueskill": jr.trueskill()} | {f"weng_lin, {model}": jr.weng_lin(model) for model in models}
    return [Contender(label, system, system) for label, system in systems.items()]


def of_rounds():
    """Every system that rates rounds."""
    systems = jr.elo_mmr(), jr.elo_mmx(), jr.codeforces(), jr.topcoder()
    return [Contender(system.name, system, system) for system in systems] + of_teams()


# --- Histories. ---


def between_weeks(day):
    """The first match of the first week after 80% of the matches."""
    week = np.floor(np.asarray(day) / WEEK)
    return int(np.searchsorted(week, week[int(SHARE * len(week))]))


def from_matches(name, peers=tuple(PEERS), **columns):
    def load(data):
        path = data / f"{name}.parquet"
        if not path.exists():
            return None
        matches = jr.read(path, sort=False, **columns).matches
        matches = matches._replace(player=numbered(matches.player))
        return History(matches, between_weeks(matches.time), of_matches(matches), peers)

    return load


def from_rounds(name):
    def load(data):
        path = data / f"{name}.parquet"
        if not path.exists():
            return None
        contest, player, rank = parquet.read_table(path, columns=["contest", "player", "rank_lo"])
        events = jr.rounds(*(column.to_numpy() for column in (contest, player, rank)))
        return History(events, int(SHARE * (len(events.player_start) - 1)), of_rounds(), ())

    return load


def from_teams(data):
    if not (data / "lol_pro.parquet").exists():
        return None
    rows = five_a_side(data)
    team, player = (rows["side"] == "b").astype(int), rows["player"] - rows["player"].min()
    events = jr.rounds(rows["game"], player, 1.0 - rows["score"], team=team)
    return History(events, int(SHARE * (len(events.player_start) - 1)), of_teams(), ())


def small_matches(data):
    matches = league(100, 2_000, draws=0.2, side_advantage=60.0, seed=3).matches
    some = [contender for contender in of_matches(matches) if contender.label == "elo"]
    return History(matches, between_weeks(matches.time), some, ("riix elo", "elote elo"))


SETS = {
    "reddit": from_rounds("reddit"),
    "formula 1": from_rounds("f1_rounds"),
    "league of legends": from_teams,
    "starcraft": from_matches("sc2_tlpd_korean", category=("race_a", "race_b")),
    "chess": from_matches("chess_tcec", time="t", side="a"),
    "football": from_matches("intl_football", time="t", side="a", neutral="neutral"),
    "tennis": from_matches("atp", time="t", drop="walkover", category="surface"),
}
QUICK = {"league": small_matches}
