"""TrueSkill on real histories; and its probabilities of win, draw and loss.

    python experiments/trueskill_data.py             # minutes; writes experiments/results/trueskill_data.json
    python experiments/trueskill_data.py --quick     # seconds, on simulated ones; writes nothing unless --out is given

Two players: ATP tennis without walkovers. Teams: professional League of Legends, five against five, whose wide rows
become one row per player. Free for all: Formula 1; the classified rank by place, the retired, not classified,
disqualified and excluded tie behind them, the withdrawn and not qualified are left out, and of a driver's two cars the
better counts. All three are rated by the defaults.

The probabilities of win, draw and loss are scored on football and chess by the mean log loss of what happened, one step
ahead, on the last half, with hyperparameters fitted by slopes to the first half; beside them the frequencies of the
first half.
"""

from functools import partial

import numpy as np
import pyarrow.parquet as pq
from common import find, fit_options, measure, timed
from histories import five_a_side, read_history

import jaxrate as jr
from jaxrate.data.simulate import league

FITTED = "beta", "tau", "draw_probability", "side_advantage"
FINISHED = "classified", "retired", "not_classified", "disqualified", "excluded"


def free_for_all(path):
    """A row for each driver of each race."""
    table = pq.read_table(path)
    event, player, rank, t = (table[name].to_numpy() for name in ("event", "player", "rank", "t"))
    kind = np.asarray(table["kind"].to_pylist())
    place = np.where(kind == "classified", rank, 1000)
    keep = np.isin(kind, FINISHED)
    order = np.lexsort((place, player, event))
    first = np.append(True, (np.diff(event[order]) != 0) | (np.diff(player[order]) != 0))
    order = order[first & keep[order]]
    order = order[np.lexsort((place[order], event[order]))]
    return {"race": event[order], "driver": player[order], "place": place[order], "t": t[order]}


def simulated():
    """The same tables, small and made up."""
    rng = np.random.default_rng(0)
    games, skill = 400, rng.normal(size=60)
    player = np.stack([rng.choice(60, 10, replace=False) for _ in range(games)])
    lead = skill[player[:, :5]].sum(axis=1) - skill[player[:, 5:]].sum(axis=1) + 3.0 * rng.normal(size=games)
    score = np.where(np.arange(10) < 5, (lead > 0)[:, None], (lead < 0)[:, None]).astype(float)
    side = np.tile(np.where(np.arange(10) < 5, "a", "b"), games)
    game = np.repeat(np.arange(games), 10)
    teams = {"game": game, "player": player.ravel(), "side": side, "score": score.ravel(), "period": game}
    place = np.argsort(np.argsort(-(skill[player] + rng.normal(size=player.shape)), axis=1), axis=1)
    races = {"race": game, "driver": player.ravel(), "place": place.ravel(), "t": game}
    return teams, races


def part_defaults(options):
    """What the defaults make of each history: seconds, and how good predictions were."""
    tables = dict(zip(("lol_pro", "f1"), simulated(), strict=True))
    if not options.quick:
        readers = {"lol_pro": five_a_side, "f1": free_for_all}
        paths = {name: find(options, f"{name}.parquet") for name in readers}
        tables = {name: readers[name](path) for name, path in paths.items() if path}
    data = {} if options.quick else {"two players": read_history(options, "tennis")}
    roles = {"contest": "game", "participant": "player", "score": "score", "team": "side", "time": "period"}
    if "lol_pro" in tables:
        data["five against five"] = jr.read(tables["lol_pro"], **roles)
    if "f1" in tables:
        data["free for all"] = jr.read(tables["f1"], contest="race", participant="driver", rank="place", time="t")
    rows = []
    for title, some in data.items():
        if some:
            found, took = timed(partial(jr.compare, some, ["trueskill"]))
            rows.append({"history": title} | took | found.to_pandas().iloc[0].to_dict())
    return {"defaults": rows}


def part_outcomes(options):
    """Log losses of win, draw and loss on the last half, fitted to the first."""
    if options.quick:
        histories = {"league": league(100, 500, draws=0.25, side_advantage=60.0, seed=3).matches}
    else:
        data = {name: read_history(options, name) for name in ("football", "computer chess", "lichess")}
        histories = {name: some.matches for name, some in data.items() if some}
    rows = []
    for name, matches in histories.items():
        half = len(matches.score) // 2
        outcome = np.round(2.0 * (1.0 - matches.score)).astype(int)  # 0: won, 1: drawn, 2: lost
        frequency = np.bincount(outcome[:half], minlength=3) / half
        plain = jr.forecasts.add_outcomes(jr.trueskill(draw_probability=float(frequency[1])))
        first = np.arange(len(outcome)) < half
        fit = jr.fit(plain, matches, free=FITTED, **fit_options(options.quick, weight=first * 1.0))
        row = {"history": name, "matches": len(outcome), "draws": float((outcome == 1).mean())}
        row["frequencies"] = float(-np.log(frequency[outcome[half:]]).mean())
        for way, system in (("defaults", plain), ("fitted", fit.system)):
            guess = jr.run(system, matches).prediction
            p = np.stack([np.asarray(x, np.float64) for x in (guess.win[:, 0], guess.draw[:, 0], guess.win[:, 1])])
            row[way] = float(-np.log(p[outcome, np.arange(len(outcome))])[half:].mean())
        rows.append(row | {key: float(getattr(fit.params, key)) for key in FITTED})
    return {"win, draw, loss": rows}


if __name__ == "__main__":
    parts = {"defaults": part_defaults, "outcomes": part_outcomes}
    measure(parts, "simulated histories, seconds in all", "the histories", digits=6)
