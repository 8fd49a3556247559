"""What each kind of evidence is worth to skills, on public histories; `benchmarks.py` has the ceilings beside them.

    python experiments/evidence.py              # hours; writes experiments/results/evidence.json, part by part
    python experiments/evidence.py --only nfl   # a minute; the league ships, the rest looks for --data
    python experiments/evidence.py --quick      # seconds, on the first years of the NFL; writes nothing without --out

A loss is the mean log loss of predictions one step ahead, and hyperparameters see nothing of what is scored. They are
fitted by slopes to what came before: to the first four fifths of tennis, basketball and football, to the seasons until
1989 of the NFL, to 2000 until August 2011 of the tennis of Maystre, Kristof and Grossglauser (KDD 2019), and to the
first half of football with three outcomes. Ratings go on learning where predictions are scored.

`skills` is what `jaxrate fit --system skills` makes of a file, by one rule for all: what the history has is on. Margins
are observed, compressed, with the mean margin of what is fitted for a start; so are statistics, as the share of games,
of which what varies about the strengths of players is worth 300 points at the start. Seasons step, or the clock reverts
where there are none; players have sides of their own where there are sides, and modifiers where there are surfaces; and
experience counts. No hyperparameter sees what is scored. The rule is less pure: variants of it were compared once on
each history, with the losses of the past and of the scored part both in view; the losses of the past support what was
chosen. The 600 points that a mean margin is worth at the start were picked among 200, 300, 450 and 600 on whole
histories. Form, which players have beside their skill and lose within weeks, and a change of the side, which fits of
long histories add, are no part of the rule: one row of tennis has form, and was chosen so. "Without" rows are fitted
anew without one kind of evidence; the difference is that row's loss less the loss with all, with its standard error
over matches. Parts that begin with "further" do the same with one kind of evidence more, on four fifths of a history.

Sources: Maystre, Kristof and Grossglauser, "Pairwise comparisons with flexible time-dynamics", KDD 2019, tables 2 and
3 (batch methods refitted at each date); FiveThirtyEight's probabilities as published before each match; riix, elote,
openskill and trueskill as `fit_data.py` searched their settings.
"""

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from common import add_only, declare, find, fit_options, keep, parse
from fit_peers import cross_entropy

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.systems.system_construction_by_name import make_system_for_data

FIRST_YEAR, LAST_YEAR = np.datetime64("1991-01-01"), np.datetime64("2017-12-31")
KDD_FIT, KDD_CUT = np.datetime64("2000-01-01"), np.datetime64("2011-08-28")
NFL_CUT = np.datetime64("1990-03-01")
LONG = 300_000  # matches from which fits take at most so many steps
STEPS = 20


class History(NamedTuple):
    """Matches, of which those before `cut` are fitted, from `begin` on, and the others are scored."""

    matches: Any
    cut: int
    begin: int = 0
    learnt: Any = None  # the dataset that is fitted, to which `skills` is adapted
    published: Any = ()  # (who, log loss, accuracy or None, source)
    forecast: Any = None  # [n] published probabilities
    outcomes: int = 2  # 3: wins, draws and losses are predicted


class Told(NamedTuple):
    """How a fitted system predicts."""

    row: dict
    loss: np.ndarray  # [scored]


# --- Histories. ---


def day(date):
    return (date - np.datetime64("1970-01-01")).astype(int)


def begins(column, matches):
    """The first time of each season."""
    season, moment = np.asarray(column), np.asarray(matches.time)
    return moment[np.diff(season, prepend=season[0] - 1) > 0]


def dataset(matches, cut, margin=(), seasons=(), statistics=()):
    """What is fitted of these matches, with what they have."""
    players, categories = np.arange(int(matches.player.max()) + 1), matches.context.category
    return jr.data.Dataset(
        slice_events(matches, 0, cut),
        players,
        np.arange(cut),
        None if categories is None else np.arange(int(np.max(categories)) + 1),
        margin=tuple(margin),
        seasons={str(start): float(start) for start in seasons},
        statistics=tuple(statistics),
    )


def tennis(options):
    path = find(options, "atp.parquet")
    if not path:
        return None
    matches = jr.read(path, time="t", drop="walkover", category="surface", sort=False).matches
    cut = len(matches.score) * 4 // 5
    peers = (("riix, Glicko-2", 0.5936, None, "fit_data.py"),)
    return History(matches, cut, 0, dataset(matches, cut), peers)


def tennis_games(options):
    """The same matches, of which the share of games is known once they are played."""
    from pyarrow import parquet

    path, games = find(options, "atp.parquet"), find(options, "atp_games.parquet")
    if not path or not games:
        return None
    table, games = parquet.read_table(path), parquet.read_table(games)
    for name in ("games_a", "games_b"):
        table = table.append_column(name, games[name])
    shares = {"games": ("games_a", "games_b")}
    matches = jr.read(table, time="t", drop="walkover", category="surface", shares=shares, sort=False).matches
    cut = len(matches.score) * 4 // 5
    return History(matches, cut, 0, dataset(matches, cut, statistics=["games"]))


def tennis_kdd(walkovers, options):
    from pyarrow import compute, parquet

    path = find(options, "atp.parquet")
    if not path:
        return None
    table = parquet.read_table(path)
    t, source = compute.cast(table["t"], "int32"), compute.cast(table["source"], "string")
    inside = compute.and_(compute.greater_equal(t, int(day(FIRST_YEAR))), compute.less_equal(t, int(day(LAST_YEAR))))
    table = table.filter(compute.and_(inside, compute.not_equal(source, "amateur")))
    matches = jr.read(table, time="t", drop=() if walkovers else "walkover", category="surface", sort=False).matches
    begin, cut = (int(np.searchsorted(matches.time, day(date))) for date in (KDD_FIT, KDD_CUT))
    kdd = "Maystre and others, KDD 2019"
    published = (
        ("constant skills", 0.581, None, kdd),
        ("Elo", 0.563, 0.705, kdd),
        ("TrueSkill", 0.563, 0.705, kdd),
        ("TrueSkill through time", 0.554, 0.712, kdd),
        ("kickscore", 0.552, 0.714, kdd),
    )
    return History(matches, cut, begin, dataset(matches, cut), published)


def nfl(options):
    matches = jr.data.datasets.nfl().matches
    cut = int(np.searchsorted(matches.time, day(NFL_CUT)))
    seasons = begins(matches.context.columns["season"], matches)
    learnt = dataset(matches, cut, ("home_points", "away_points"), seasons)
    forecast = np.asarray(jr.data.datasets.nfl_forecast(), np.float64)
    if options.quick:
        few = 400
        return History(slice_events(matches, 0, few), few * 4 // 5, 0, learnt, (), forecast[:few])
    return History(matches, cut, 0, learnt, (), forecast)


def basketball(options):
    path = find(options, "ncaa_basketball.parquet")
    if not path:
        return None
    columns = ["margin", "season"]
    matches = jr.read(path, time="t", side="a", neutral="neutral", columns=columns, sort=False).matches
    cut, seasons = len(matches.score) * 4 // 5, begins(matches.context.columns["season"], matches)
    return History(matches, cut, 0, dataset(matches, cut, ("margin",), seasons))


def football(share, outcomes, options):
    path = find(options, "intl_football.parquet")
    if not path:
        return None
    columns = ["goals_a", "goals_b"]
    matches = jr.read(path, time="t", side="a", neutral="neutral", columns=columns, sort=False).matches
    cut = int(len(matches.score) * share)
    learnt = dataset(matches, cut, columns)
    if outcomes == 2:
        peers = (("riix, Glicko-2, which knows no side", 0.5580, None, "fit_data.py"),)
        return History(matches, cut, 0, learnt, peers)
    result = np.rint(2.0 * np.asarray(matches.score)).astype(int)
    share_of = np.bincount(result[:cut]) / cut
    frequencies = float(-np.log(share_of[result[cut:]]).mean())
    return History(matches, cut, 0, learnt, (("their frequencies until then", frequencies, None, "here"),), None, 3)


# --- Systems. ---


WITHOUT = {  # each kind of evidence: what the dataset and the settings are without it
    "margin": ({"margin": ()}, {}),
    "compression": ({}, {"compression": None}),
    "surfaces": ({"categories": None}, {}),
    "seasons": ({"seasons": None}, {"reversion": None}),
    "reversion": ({}, {"reversion": None}),
    "sides": ({}, {"own_side": False, "side_advantage": 0.0}),
    "own sides": ({}, {"own_side": False}),
    "experience": ({}, {"experience": None}),
}


def kinds(learnt):
    """The kinds of evidence that there are."""
    side, categories = learnt.matches.context.side is not None, learnt.categories is not None
    there = {"margin": learnt.margin, "compression": learnt.margin, "surfaces": categories, "experience": True}
    there |= {"seasons": learnt.seasons, "reversion": not learnt.seasons, "sides": side, "own sides": side}
    return [name for name in WITHOUT if there[name]]


def skills(learnt, without=()):
    """Skills with all kinds of evidence, without some."""
    fewer, changes = {}, {}
    for name in without:
        fewer, changes = fewer | WITHOUT[name][0], changes | WITHOUT[name][1]
    learnt = learnt._replace(**fewer)
    if not learnt.margin:
        changes.pop("compression", None)
    return make_system_for_data("skills", changes, None, learnt)


def lacking(history, without):
    """The history, whose sides are not known if they are among what it is to be without."""
    context = history.matches.context
    if "sides" not in without or context.side is None:
        return history
    return history._replace(matches=history.matches._replace(context=context._replace(side=None)))


def usual(matches, outcomes):
    """Systems that know results and sides alone."""
    side = {"side_advantage": 50.0} if matches.context.side is not None else {}
    systems = {"elo": jr.elo(**side), "glicko": jr.glicko(**side), "glicko2": jr.glicko2(**side)}
    return systems if outcomes == 2 else systems | {"trueskill": jr.trueskill()}


def losses(guess, score):
    """[n] the loss of each prediction, and [n] whether it has the winner right; NaN where nobody won."""
    score = np.asarray(score, np.float64)
    if isinstance(guess, jr.forecasts.OutcomeProbabilities):
        chance = np.stack([np.asarray(x, np.float64) for x in (guess.win[:, 1], guess.draw[:, 0], guess.win[:, 0])])
        loss = -np.log(np.maximum(chance, 2.0**-24))[np.rint(2.0 * score).astype(int), np.arange(len(score))]
        ahead = chance[2] > chance[0]
    else:
        loss, ahead = cross_entropy(guess, score), np.asarray(guess) > 0.5
    return loss, np.where(score == 0.5, np.nan, ahead == (score > 0.5))


def fitted(label, system, history, options):
    """A row of the table, and the losses of what is scored."""
    matches, cut, began = history.matches, history.cut, time.process_time()
    learnt = slice_events(matches, 0, cut)
    system = jr.forecasts.add_outcomes(system) if history.outcomes == 3 else system
    weight, steps = np.arange(cut) >= history.begin, STEPS if cut > LONG else 100
    found = jr.fit(system, learnt, **fit_options(options.quick, steps, weight=weight))
    loss, right = losses(jr.run(found.system, matches).prediction, matches.score)
    late = loss[cut:]
    row = {
        "system": label,
        "log_loss": late.mean(),
        "accuracy": np.nanmean(right[cut:]),
        "fitted_log_loss": loss[history.begin : cut].mean(),
        "fitted": {name: getattr(found.params, name) for name in found.free},
        "steps": len(found.loss_history) - 1,
        "reason": found.reason,
        "open": found.open,
        "seconds": found.seconds,
        "cpu_seconds": time.process_time() - began,
    }
    print(f"{label}: {row['log_loss']:.5f} ({found.reason}, {found.seconds:.0f} s)", flush=True)
    return Told(row, late)


def above(one, other):
    """Mean loss of one less that of the other, and its standard error over matches."""
    difference = one - other
    return {"difference": difference.mean(), "error": difference.std(ddof=1) / np.sqrt(len(difference))}


def alone(load, options, **changes):
    """The table of one history: skills by the rule, with some further hyperparameters, and nothing else."""
    history = load(options)
    if history is None:
        return None
    n, cut = len(history.matches.score), history.cut
    system = make_system_for_data("skills", changes, None, history.learnt)
    label = ", ".join(["skills", *(f"{name} at first {x:g}" for name, x in changes.items())])
    row = fitted(label, system, history, options).row
    return {"history": [{"matches": n, "fitted": cut - history.begin, "scored": n - cut}], "systems": [row]}


def benchmark(load, options, evidence=True):
    """The tables of one benchmark, and of what its evidence is worth; None if its history is not there."""
    history = load(options)
    if history is None:
        return None
    matches, cut, learnt = history.matches, history.cut, history.learnt
    n = len(matches.score)
    tables = {"history": [{"matches": n, "fitted": cut - history.begin, "scored": n - cut}]}
    best = fitted("skills", skills(learnt), history, options)
    rows, others = [best.row], usual(matches, history.outcomes)
    for label, system in list(others.items())[: 1 if options.quick else None]:
        told = fitted(label, system, history, options)
        rows.append(told.row | above(told.loss, best.loss))
    tables["systems"] = rows
    published = [
        {"who": who, "log_loss": loss, "accuracy": share, "source": source}
        for who, loss, share, source in history.published
    ]
    if history.forecast is not None:
        theirs = cross_entropy(history.forecast, np.asarray(matches.score, np.float64))[cut:]
        published.append(
            {"who": "FiveThirtyEight", "log_loss": theirs.mean(), "source": "before each match"}
            | above(theirs, best.loss)
        )
    if published:
        tables["published"] = published
    if not evidence:
        return tables
    there = kinds(learnt)
    without = {name: [name] for name in there} | {"all but sides": [name for name in there if name != "sides"]}
    rows = []
    for label, some in list(without.items())[: 1 if options.quick else None]:
        told = fitted(f"skills without {label}", skills(learnt, some), lacking(history, some), options)
        rows.append({"without": label} | told.row | above(told.loss, best.loss))
    return tables | {"without one kind of evidence": rows}


# --- Evidence that is computed from the history itself. ---


def read_with_points(file, points, options, **roles):
    """Matches of teams, of which the first is at home, in order of time."""
    path = find(options, file)
    return path and jr.read(path, side="a", margin=points, sort=True, **roles)


def read_players(file, options, *, time="t", most=None, **roles):
    """Matches of individuals in order of time, the first ones at most."""
    path = find(options, file)
    data = path and jr.read(path, time=time, sort=True, **roles)
    return data and data._replace(events=slice_events(data.matches, 0, most or len(data.rows)), rows=data.rows[:most])


DATASETS = {  # whole histories
    "nfl": lambda options: jr.data.datasets.nfl(),
    "nba": partial(
        read_with_points, "nba.parquet", ["points_a", "points_b"], time="t", neutral="neutral", season="season"
    ),
    "basketball": partial(
        read_with_points, "ncaa_basketball.parquet", "margin", time="t", neutral="neutral", season="season"
    ),
    "football": partial(  # of github.com/martj42/international_results
        read_with_points, "results.csv", ["home_score", "away_score"], time="date", neutral="neutral", venue="city"
    ),
    "australian football": partial(  # of github.com/akareen/AFL-Data-Analysis, the points of goals and behinds added up
        read_with_points, "afl.csv", ["home_points", "away_points"], season="season", venue="venue"
    ),
    "rugby league": partial(  # of github.com/uselessnrlstats/uselessnrlstats
        read_with_points, "nrl.csv", ["home_points", "away_points"], season="season", venue="venue"
    ),
    "clubs": partial(
        read_with_points, "spi_football.parquet", ["points_a", "points_b"], time="t", league_season="season"
    ),
    "tennis": partial(read_players, "atp.parquet", drop="walkover", category="surface"),
    "go": partial(read_players, "go_tygem.parquet", side="a", most=100_000),
    "starcraft": partial(read_players, "sc2_tlpd_korean.parquet", time="time", category=["race_a", "race_b"]),
    "chess": partial(read_players, "chess_lichess20k.parquet", side="a"),
    "engines": partial(read_players, "chess_tcec.parquet", side="a"),
}


def middle_of_past(data, cut):
    """The time half-way between the first match and the last one that is fitted."""
    return 0.5 * float(data.matches.time[0] + data.matches.time[cut - 1])


FURTHER = {  # the dataset, and changes of the system, with each kind of evidence; `cut` matches are fitted
    "rest": lambda data, cut: (jr.data.add_rest(data), {}),
    "layoff": lambda data, cut: (jr.data.add_layoff(data), {}),
    "ground": lambda data, cut: (jr.data.add_ground(data), {}),
    "relative margins": lambda data, cut: (jr.data.add_relative_margin(data), {}),
    "a side that changes": lambda data, cut: (data, {"side_since": middle_of_past(data, cut)}),
    "form": lambda data, cut: (data, {"form_deviation": 40.0}),
}


def has_evidence(data, name):
    """Whether the history can have this kind of evidence."""
    needs = {
        "ground": data.venues is not None,
        "relative margins": len(data.margin) == 2,
        "a side that changes": data.matches.context.side is not None,
    }
    return needs.get(name, True)


def further(load, options):
    """What each kind of further evidence adds to skills by the rule; None without the data."""
    data = load(options)
    if data is None:
        return None
    if options.quick:
        data = data._replace(events=slice_events(data.matches, 0, 400), rows=data.rows[:400])
    n = len(data.matches.score)
    cut = n * 4 // 5

    def fit_with(label, data, changes):
        system = make_system_for_data("skills", changes, None, data, 0.8, cut)
        return fitted(label, system, History(data.matches, cut), options)

    base, rows = fit_with("skills", data, {}), []
    for name in [name for name in FURTHER if has_evidence(data, name)][: 1 if options.quick else None]:
        told = fit_with(f"skills with {name}", *FURTHER[name](data, cut))
        rows.append({"with": name} | told.row | above(told.loss, base.loss))
    history = [{"matches": n, "fitted": cut, "scored": n - cut}]
    return {"history": history, "systems": [base.row], "with one kind of evidence more": rows}


PARTS = {
    "nfl": partial(benchmark, nfl),
    "basketball": partial(benchmark, basketball),
    "football": partial(benchmark, partial(football, 0.8, 2)),
    "football, three outcomes": partial(benchmark, partial(football, 0.5, 3)),
    "tennis": partial(benchmark, tennis),
    "tennis, games and form": partial(alone, tennis_games, form_deviation=40.0),
    "tennis, games": partial(alone, tennis_games),
    "tennis, KDD 2019": partial(benchmark, partial(tennis_kdd, False), evidence=False),
    "tennis, KDD 2019, with walkovers": partial(benchmark, partial(tennis_kdd, True), evidence=False),
    **{f"further, {name}": partial(further, load) for name, load in DATASETS.items()},
}


def run(doc, parts, script):
    """Those parts that are asked for on the command line; with --quick the NFL."""
    parser = declare(doc, "the NFL's first years, seconds", "the histories", "the JSON file; what is not run is kept")
    add_only(parser, parts, "NAME")
    options = parse(parser, script)
    if options.quick:
        options.only = [name for name in ("nfl", "further, nfl") if name in parts]
    keep(parts, options)


if __name__ == "__main__":
    run(__doc__, PARTS, __file__)
