"""How near ratings come to ceilings: published forecasts, odds, and boosted trees, on every public history.

    python experiments/benchmarks.py                # an hour; writes results/benchmarks.json and a page beside it
    python experiments/benchmarks.py --only nfl     # two minutes; the NFL ships, the rest looks for --data
    python experiments/benchmarks.py --quick        # seconds, on the NFL's first years; writes only to --out

What `jaxrate benchmark` and `jr.evaluation.benchmark_systems` do with one's own file is done here with the histories at
hand, each by its protocol: which matches are fitted and which are scored, and which forecasts stand beside. Every
system is fitted to all matches before those that are scored, for at most ten minutes, and no hyperparameter sees what
is scored. Boosted trees see the ratings, rest, form, the round, and the columns that the protocol names.

Sources: FiveThirtyEight's probabilities as published before each match; Maystre, Kristof and Grossglauser, "Pairwise
comparisons with flexible time-dynamics", KDD 2019, tables 2 and 3 (batch methods refitted at each date); riix as
`fit_data.py` searched its settings. What each kind of evidence is worth is measured by `evidence.py`.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from common import find, measure
from histories import (
    HISTORIES,
    KDD,
    KDD_CUT,
    KDD_LOSSES,
    RIIX_FOOTBALL,
    RIIX_TENNIS,
    days,
    read_history,
    read_tennis_of_kdd,
    read_tennis_with_games,
)
from pyarrow import parquet

import jaxrate as jr
from jaxrate.events import slice_events

FIT_SECONDS = 600.0
CLIPPED_AT = 0.005  # FiveThirtyEight's football: some draws have no chance there
SYSTEMS = "elo", "glicko", "glicko2", "skills"


class Protocol(NamedTuple):
    """A history, what of it is scored, and what stands beside the systems."""

    title: str
    data: Any
    scored: dict[str, Any]  # `last` or `since`, and `outcomes`
    forecasts: Any = None  # by the name of their row
    stack: Any = True  # further columns that trees see
    systems: Any = SYSTEMS
    published: tuple[tuple[str, float, str], ...] = ()  # who, log loss, source: of others' own scoring


# --- Histories and their protocols. ---


def nfl(options):
    data, forecast = jr.data.datasets.nfl(), jr.data.datasets.nfl_forecast()
    scored = {"since": "1990-03-01", "outcomes": 2}
    if options.quick:
        few = 400
        events = slice_events(data.matches, 0, few)
        data, forecast, scored = data._replace(events=events, rows=data.rows[:few]), forecast[:few], {"last": 0.2}
    return Protocol("NFL from 1990, fitted to 1989", data, scored, {"FiveThirtyEight": forecast}, ["playoff"])


def nba(options):
    data, table = read(options, "nba", columns=["playoff"], season="season")
    if data is None:
        return None
    forecasts = {"FiveThirtyEight, Elo": table["p538_elo"], "FiveThirtyEight, with players": table["p538_players"]}
    return Protocol("NBA, last fifth", data, {"last": 0.2}, forecasts, ["playoff"])


def leagues(last, title, options):
    data, table = read(options, "leagues", statistics={"xg": ["xg1", "xg2"]}, league_season="season")
    if data is None:
        return None
    p = np.stack([table[name] for name in ("prob1", "probtie", "prob2")], axis=1).clip(CLIPPED_AT)
    forecasts = {"FiveThirtyEight": p / p.sum(axis=1, keepdims=True)}
    importance = np.stack([table["importance1"], table["importance2"]], axis=1)
    return Protocol(title, data, {"last": last, "outcomes": 3}, forecasts, {"importance": importance})


def football(last, outcomes, title, options):
    data = read_history(options, "football", margin=["goals_a", "goals_b"])
    peers = (("riix, Glicko-2, which knows no side", RIIX_FOOTBALL, "fit_data.py"),) if outcomes == 2 else ()
    return data and Protocol(title, data, {"last": last, "outcomes": outcomes}, published=peers)


def basketball(options):
    data = read_history(options, "basketball", margin="margin", season="season")
    return data and Protocol("NCAA basketball, last fifth", data, {"last": 0.2})


KNOWN = {"columns": ["round", "best_of"]}  # before a match of tennis


def of_tennis(data, title, scored, published, stack=None):
    """The protocol of a history of tennis, whose trees also see its stage and the best of how many sets it is."""
    column = data.matches.context.columns
    stack = (stack or {}) | {"stage of the tournament": column["round"], "best of": column["best_of"]}
    return Protocol(title, data, scored, stack=stack, published=published)


RIIX = (("riix, Glicko-2, on results", RIIX_TENNIS, "fit_data.py"),)


def tennis(options):
    data = read_history(options, "tennis", category="surface", **KNOWN)
    return data and of_tennis(data, "ATP tennis, last fifth", {"last": 0.2}, RIIX)


def tennis_games(options):
    """With the games that both won, learnt from after each match, trees see ranks and ages, too; some are missing."""
    data, games = read_tennis_with_games(options, **KNOWN)
    if data is None:
        return None
    sides = {name: [games[f"{name}_{x}"].to_numpy()[data.rows] for x in "ab"] for name in ("rank", "age")}
    stack = {name: np.stack(both, axis=1) for name, both in sides.items()}
    return of_tennis(data, "ATP tennis with games, ranks and ages, last fifth", {"last": 0.2}, RIIX, stack)


def doubles(options):
    """ATP doubles: contests of two teams, of which no trees are grown."""
    data = read_history(options, "doubles", margin="margin", category="surface")
    systems = ("trueskill", "weng_lin", "skills")
    return data and Protocol("ATP doubles, last fifth", data, {"last": 0.2}, stack=False, systems=systems)


def engines(options):
    data, table = read(options, "computer chess")
    scored = {"last": 0.2, "outcomes": 3}
    title = "Chess of computers, win, draw or loss, last fifth"
    return data and Protocol(title, data, scored, stack={"Fischer random": table["frc"]})


def lichess(options):
    """Games of Lichess, whose own ratings know far more games of each account."""
    data, table = read(options, "lichess")
    if data is None:
        return None
    p = 1.0 / (1.0 + 10.0 ** ((table["elo_b"] - table["elo_a"]) / 400.0))
    scored, forecasts = {"last": 0.2, "outcomes": 2}, {"Lichess's ratings by Elo's curve": p}
    return Protocol("Chess on Lichess, last fifth", data, scored, forecasts, {"rated": table["rated"]})


def tennis_kdd(options):
    data = read_tennis_of_kdd(options, **KNOWN)
    if data is None:
        return None
    since = KDD_CUT if data.clock == "dates" else float(days(KDD_CUT)[0])
    published = tuple((who, loss, KDD) for who, loss in KDD_LOSSES.items() if who != "TrueSkill")
    return of_tennis(data, "ATP tennis, August 2011 to 2017", {"since": since}, published)


def read(options, name, **roles):
    """The dataset of a file, and its columns of numbers in the order of the matches; None and none without it."""
    if (data := read_history(options, name, **roles)) is None:
        return None, {}
    table = parquet.read_table(find(options, HISTORIES[name][0]))
    kinds = {field.name: field.type for field in table.schema}
    numbers = [name for name, kind in kinds.items() if str(kind) in ("float", "double", "int16", "int32", "bool")]
    return data, {name: np.asarray(table[name].to_pandas(), np.float64)[data.rows] for name in numbers}


# --- Tables. ---


def benchmark(load, options):
    """The record of one history, and its page beside the others; None if it is not there."""
    protocol = load(options)
    if protocol is None:
        return None
    result = jr.evaluation.benchmark_systems(
        protocol.data,
        ["elo", "glicko"] if options.quick else protocol.systems,
        forecasts=protocol.forecasts,
        stack=protocol.stack,
        fit_seconds=5.0 if options.quick else FIT_SECONDS,
        **protocol.scored,
    )
    print(f"\n{protocol.title}\n{result}", flush=True)
    PAGES[protocol.title] = result
    if options.out and not options.quick:
        page = jr.site.benchmark_page_html(PAGES, title="Benchmarks of jaxrate")
        options.out.with_suffix(".html").write_text(page, encoding="utf-8")
    published = [{"who": who, "log_loss": loss, "source": source} for who, loss, source in protocol.published]
    return {"title": protocol.title} | result.to_record() | ({"published": published} if published else {})


PAGES: dict[str, Any] = {}  # what the page shows, by title
BENCHMARKS = {
    "nfl": nfl,
    "nba": nba,
    "leagues": partial(leagues, 0.2, "Football, 37 leagues, last fifth"),
    "leagues, second half": partial(leagues, 0.5, "Football, 37 leagues, second half"),
    "football": partial(football, 0.2, 2, "International football, last fifth"),
    "football, three outcomes": partial(football, 0.5, 3, "International football, win, draw or loss, last half"),
    "basketball": basketball,
    "chess": engines,
    "lichess": lichess,
    "doubles": doubles,
    "tennis": tennis,
    "tennis, games": tennis_games,
    "tennis, KDD 2019": tennis_kdd,
}


PARTS = {name: partial(benchmark, load) for name, load in BENCHMARKS.items()}

if __name__ == "__main__":
    measure(PARTS, "the NFL's first years, seconds", "the histories", in_quick={"nfl": PARTS["nfl"]})
