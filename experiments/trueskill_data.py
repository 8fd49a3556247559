"""TrueSkill on real histories, by the command line; and its probabilities of win, draw and loss.

    python experiments/trueskill_data.py             # minutes; writes experiments/results/trueskill_data.json
    python experiments/trueskill_data.py --quick     # seconds, on simulated ones; writes nothing unless --out is given

Two players: ATP tennis without walkovers. Teams: professional League of Legends, five against five, whose wide rows
become one row per player. Free for all: Formula 1; the classified rank by place, the retired, not classified,
disqualified and excluded tie behind them, the withdrawn and not qualified are left out, and of a driver's two cars the
better counts. All three go through `jaxrate rate`.

The probabilities of win, draw and loss are scored on football and chess by the mean log loss of what happened, one step
ahead, on the last half, with hyperparameters fitted by slopes to the first half; beside them the frequencies of the
first half.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet as pq
from common import circumstances, declare, find, parse, show, write
from scipy.optimize import minimize

import jaxrate as jr
from jaxrate.data.simulate import league

FITTED = "beta", "tau", "draw_probability", "side_advantage"
FINISHED = "classified", "retired", "not_classified", "disqualified", "excluded"


def five_a_side(data):
    """A row for each player of each game."""
    table = pq.read_table(data / "lol_pro.parquet")
    got = {name: table[name].to_numpy() for name in table.column_names if name != "league"}
    rows = {name: [] for name in ("game", "player", "side", "score", "period")}
    for side, score in (("a", got["score"]), ("b", 1.0 - got["score"])):
        for seat in range(5):
            columns = np.arange(len(score)), got[f"p{side}{seat}"], np.full(len(score), side), score, got["period"]
            for values, column in zip(rows.values(), columns, strict=True):
                values.append(column)
    rows = {name: np.concatenate(values) for name, values in rows.items()}
    order = np.lexsort((rows["side"], rows["game"]))
    return {name: values[order] for name, values in rows.items()}


def free_for_all(data):
    """A row for each driver of each race."""
    table = pq.read_table(data / "f1.parquet")
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


def command_lines(options, folder):
    """What `jaxrate rate` says of each history, and the seconds of all of it."""
    tennis = Path(options.data) / "atp.parquet"
    if options.quick:
        tennis, (teams, races) = folder / "league.parquet", simulated()
        matches = league(100, 500, seed=2).matches
        columns = {"a": matches.player[:, 0], "b": matches.player[:, 1], "score": matches.score, "t": matches.time}
        jr.data.write(columns | {"walkover": np.zeros(len(matches.score), bool)}, tennis)
    else:
        teams, races = five_a_side(Path(options.data)), free_for_all(Path(options.data))
    jr.data.write(teams, folder / "teams.parquet")
    jr.data.write(races, folder / "races.parquet")
    commands = {
        "two players": [tennis, "--time", "t", "--column", "drop=walkover"],
        "five against five": [
            folder / "teams.parquet",
            *("--contest", "game", "--participant", "player", "--score", "score", "--team", "side", "--time", "period"),
        ],
        "free for all": [
            folder / "races.parquet",
            *("--contest", "race", "--participant", "driver", "--rank", "place", "--time", "t"),
        ],
    }
    rows = []
    for title, arguments in [*commands.items()][: 2 if options.quick else None]:
        start = time.perf_counter()
        command = [sys.executable, "-m", "jaxrate", "rate", *arguments, "--system", "trueskill", "--list", "cautious=3"]
        done = subprocess.run([*map(str, command), "--out", str(folder / "run")], capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"{title}: {done.stderr}")
        print(f"\n{title}\n{done.stdout}", flush=True)
        found = dict(
            re.findall(r"^(log loss|Brier score|accuracy|pair inversion|rank deviation) +([\d.]+)", done.stdout, re.M)
        )
        rows.append({"history": title, "seconds": seconds} | {key: float(value) for key, value in found.items()})
    return rows


def three_ways(name, matches):
    """Log losses of win, draw and loss on the last half, fitted on the first; and slopes against differences."""
    half = len(matches.score) // 2
    outcome = np.round(2.0 * (1.0 - matches.score)).astype(int)  # 0: won, 1: drawn, 2: lost
    system, schedule = jr.forecasts.add_outcomes(jr.trueskill()), jr.extend.schedule_by_level(matches)
    share = float((outcome[:half] == 1).mean())
    begin = np.array([np.log(25.0 / 6.0), np.log(25.0 / 300.0), np.log(share / (1.0 - share)), 0.0])

    def params(x):
        values = jnp.exp(x[0]), jnp.exp(x[1]), jax.nn.sigmoid(x[2]), x[3]
        return system.params._replace(**dict(zip(FITTED, values, strict=True)))

    def losses(x):
        full = jr.run(system, matches, params=params(x), schedule=schedule).prediction
        p = jnp.stack([full.win[:, 0], full.draw[:, 0], full.win[:, 1]], axis=1)
        return -jnp.log(jnp.take_along_axis(p, jnp.asarray(outcome)[:, None], axis=1)[:, 0])

    def both(x):
        slopes, value = jax.jacfwd(lambda y: (jnp.mean(losses(y)[:half]),) * 2, has_aux=True)(jnp.asarray(x))
        return float(value), np.asarray(slopes)

    with jax.enable_x64(True):
        _, slopes = both(begin)
        steps = 1e-4 * np.eye(len(begin))
        value = lambda x: float(jnp.mean(losses(jnp.asarray(x))[:half]))  # noqa: E731
        differences = [(value(begin + step) - value(begin - step)) / 2e-4 for step in steps]
        found = minimize(both, begin, jac=True, method="L-BFGS-B", options={"maxiter": 40})
        before, after = (float(np.mean(np.asarray(losses(jnp.asarray(x)))[half:])) for x in (begin, found.x))
        fitted = [float(getattr(params(jnp.asarray(found.x)), key)) for key in FITTED]
    frequency = np.bincount(outcome[:half], minlength=3) / half
    constant = float(-np.log(frequency[outcome[half:]]).mean())
    row = {"history": name, "matches": len(matches.score), "draws": float((outcome == 1).mean())}
    row |= {"frequencies": constant, "defaults": before, "fitted": after, "evaluations": found.nfev}
    table = [
        {"history": name, "parameter": key, "slope": float(slope), "difference": difference, "fitted": value}
        for key, slope, difference, value in zip(FITTED, slopes, differences, fitted, strict=True)
    ]
    return row, table


def main():
    options = parse(declare(__doc__, "simulated histories, seconds in all", "the histories"), __file__)
    if not options.quick and not find(options, "lol_pro.parquet", "nothing to do"):
        return
    report = circumstances()
    with tempfile.TemporaryDirectory() as folder:
        results = {
            "command lines": command_lines(options, Path(folder)),
            "win, draw, loss": [],
            "slopes of the loss": [],
        }
    if options.quick:
        histories = {"league": league(100, 500, draws=0.25, seed=3).matches}
    else:
        data = Path(options.data)
        histories = {
            "football": jr.read(data / "intl_football.parquet", time="t", side="a", neutral="neutral").matches,
            "computer chess": jr.read(data / "chess_tcec.parquet", time="t", side="a").matches,
            "online chess": jr.read(data / "chess_lichess20k.parquet", time="t", side="a").matches,
        }
    for name, matches in histories.items():
        row, table = three_ways(name, matches)
        results["win, draw, loss"].append(row)
        results["slopes of the loss"] += table
    show(results)
    write(options.out, report, results, 6)


if __name__ == "__main__":
    main()
