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

import json
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from common import add_only, circumstances, declare, find, parse, results_in, rounded, write

import jaxrate as jr
from jaxrate.events import slice_events

FIT_SECONDS = 600.0
CLIPPED_AT = 0.005  # FiveThirtyEight's football: some draws have no chance there
KDD = "Maystre and others, KDD 2019"
KDD_FIRST, KDD_CUT, KDD_LAST = "1991-01-01", "2011-08-28", "2017-12-31"
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
    columns = {"time": "t", "side": "a", "neutral": "neutral", "margin": ["points_a", "points_b"], "season": "season"}
    data, table = read(options, "nba.parquet", columns=["playoff"], **columns)
    if data is None:
        return None
    forecasts = {"FiveThirtyEight, Elo": table["p538_elo"], "FiveThirtyEight, with players": table["p538_players"]}
    return Protocol("NBA, last fifth", data, {"last": 0.2}, forecasts, ["playoff"])


def leagues(last, title, options):
    columns = {"time": "t", "side": "a", "margin": ["points_a", "points_b"], "league_season": "season"}
    data, table = read(options, "spi_football.parquet", statistics={"xg": ["xg1", "xg2"]}, **columns)
    if data is None:
        return None
    p = np.stack([table[name] for name in ("prob1", "probtie", "prob2")], axis=1).clip(CLIPPED_AT)
    forecasts = {"FiveThirtyEight": p / p.sum(axis=1, keepdims=True)}
    importance = np.stack([table["importance1"], table["importance2"]], axis=1)
    return Protocol(title, data, {"last": last, "outcomes": 3}, forecasts, {"importance": importance})


def football(last, outcomes, title, options):
    columns = {"time": "t", "side": "a", "neutral": "neutral", "margin": ["goals_a", "goals_b"]}
    data, _ = read(options, "intl_football.parquet", **columns)
    if data is None:
        return None
    peers = (("riix, Glicko-2, which knows no side", 0.5580, "fit_data.py"),) if outcomes == 2 else ()
    return Protocol(title, data, {"last": last, "outcomes": outcomes}, published=peers)


def basketball(options):
    columns = {"time": "t", "side": "a", "neutral": "neutral", "margin": "margin", "season": "season"}
    data, _ = read(options, "ncaa_basketball.parquet", **columns)
    return data and Protocol("NCAA basketball, last fifth", data, {"last": 0.2})


def tennis(with_games, title, options):
    """All of ATP tennis; with the games that both won, learnt from after each match, trees see ranks and ages, too."""
    from pyarrow import parquet

    path, of_games = find(options, "atp.parquet"), find(options, "atp_games.parquet")
    if not path or (with_games and not of_games):
        return None
    table, roles = parquet.read_table(path), {}
    if with_games:
        games = parquet.read_table(of_games)
        for name in ("games_a", "games_b"):
            table = table.append_column(name, games[name])
        roles["shares"] = {"games": ("games_a", "games_b")}
    known = ["round", "best_of"]
    data = jr.read(table, time="t", drop="walkover", category="surface", columns=known, sort=False, **roles)
    column = data.matches.context.columns
    stack = {"stage of the tournament": column["round"], "best of": column["best_of"]}
    if with_games:  # of ranks some are missing
        sides = {name: [games[f"{name}_{x}"].to_numpy()[data.rows] for x in "ab"] for name in ("rank", "age")}
        stack |= {name: np.stack(both, axis=1) for name, both in sides.items()}
    peers = (("riix, Glicko-2, on results", 0.5936, "fit_data.py"),)
    return Protocol(title, data, {"last": 0.2}, stack=stack, published=peers)


def doubles(options):
    """ATP doubles: contests of two teams, of which no trees are grown."""
    columns = {"a": ["a1", "a2"], "b": ["b1", "b2"], "time": "t", "drop": "walkover"}
    path = find(options, "atp_doubles.parquet")
    data = path and jr.read(path, margin="margin", category="surface", sort=False, **columns)
    systems = ("trueskill", "weng_lin", "skills")
    return data and Protocol("ATP doubles, last fifth", data, {"last": 0.2}, stack=False, systems=systems)


def engines(options):
    data, table = read(options, "chess_tcec.parquet", time="t", side="a")
    scored = {"last": 0.2, "outcomes": 3}
    title = "Chess of computers, win, draw or loss, last fifth"
    return data and Protocol(title, data, scored, stack={"Fischer random": table["frc"]})


def lichess(options):
    """Games of Lichess, whose own ratings know far more games of each account."""
    data, table = read(options, "chess_lichess20k.parquet", time="t", side="a")
    if data is None:
        return None
    p = 1.0 / (1.0 + 10.0 ** ((table["elo_b"] - table["elo_a"]) / 400.0))
    scored, forecasts = {"last": 0.2, "outcomes": 2}, {"Lichess's ratings by Elo's curve": p}
    return Protocol("Chess on Lichess, last fifth", data, scored, forecasts, {"rated": table["rated"]})


def tennis_kdd(options):
    from pyarrow import compute, parquet

    path = find(options, "atp.parquet")
    if not path:
        return None
    table = parquet.read_table(path)
    days = [(np.datetime64(x) - np.datetime64("1970-01-01")).astype(int) for x in (KDD_FIRST, KDD_CUT, KDD_LAST)]
    t, source = compute.cast(table["t"], "int32"), compute.cast(table["source"], "string")
    inside = compute.and_(compute.greater_equal(t, int(days[0])), compute.less_equal(t, int(days[2])))
    table = table.filter(compute.and_(inside, compute.not_equal(source, "amateur")))
    known = ["round", "best_of"]
    data = jr.read(table, time="t", drop="walkover", category="surface", columns=known, sort=False)
    column = data.matches.context.columns
    stack = {"stage of the tournament": column["round"], "best of": column["best_of"]}
    published = (
        ("constant skills", 0.581, KDD),
        ("Elo", 0.563, KDD),
        ("TrueSkill through time", 0.554, KDD),
        ("kickscore", 0.552, KDD),
    )
    since = KDD_CUT if data.clock == "dates" else float(days[1])
    return Protocol("ATP tennis, August 2011 to 2017", data, {"since": since}, stack=stack, published=published)


def read(options, name, **roles):
    """The dataset of a file, and its columns of numbers in the order of the matches; None and none without it."""
    from pyarrow import parquet

    path = find(options, name)
    if not path:
        return None, {}
    data, table = jr.read(path, sort=False, **roles), parquet.read_table(path)
    kinds = {field.name: field.type for field in table.schema}
    numbers = [name for name, kind in kinds.items() if str(kind) in ("float", "double", "int16", "int32", "bool")]
    return data, {name: np.asarray(table[name].to_pandas(), np.float64)[data.rows] for name in numbers}


# --- Tables. ---


def benchmark(name, load, options, pages):
    """The tables of one history; None if it is not there. `pages` gets what the page shows, by title."""
    protocol = load(options)
    if protocol is None:
        return None
    limits = {"fit_seconds": 5.0 if options.quick else FIT_SECONDS}
    result = jr.evaluation.benchmark_systems(
        protocol.data,
        ["elo", "glicko"] if options.quick else protocol.systems,
        forecasts=protocol.forecasts,
        stack=protocol.stack,
        **protocol.scored,
        **limits,
    )
    print(f"\n{protocol.title}\n{result}", flush=True)
    pages[protocol.title] = result
    published = [{"who": who, "log_loss": loss, "source": source} for who, loss, source in protocol.published]
    return {"title": protocol.title} | result.to_record() | ({"published": published} if published else {})


HISTORIES = {
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
    "tennis": partial(tennis, False, "ATP tennis, last fifth"),
    "tennis, games": partial(tennis, True, "ATP tennis with games, ranks and ages, last fifth"),
    "tennis, KDD 2019": tennis_kdd,
}


def main():
    quick = "the NFL's first years, seconds"
    parser = declare(__doc__, quick, "the histories", "the JSON file; what is not run is kept")
    add_only(parser, HISTORIES, "NAME")
    options = parse(parser, __file__)
    names = ["nfl"] if options.quick else options.only
    report, pages = circumstances("scikit-learn"), {}
    results = results_in(options.out) if names != list(HISTORIES) else {}
    for name in names:
        if record := benchmark(name, HISTORIES[name], options, pages):
            results[name] = json.loads(json.dumps(rounded(record)))
            write(options.out, report, results)
    if pages and options.out and not options.quick:
        page = jr.site.benchmark_page_html(pages, title="Benchmarks of jaxrate")
        options.out.with_suffix(".html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
