"""Ten thousand seasons, and balanced teams and pairings, by the ratings of the NFL: what they take.

python experiments/seasons.py            # under a minute; writes experiments/results/seasons.json
python experiments/seasons.py --quick    # seconds; writes nothing unless --out is given
"""

from functools import partial

import numpy as np
from common import measure, timed

import jaxrate as jr


def rated():
    return jr.rate(jr.glicko(side_advantage=60.0), jr.data.datasets.nfl())


def seasons(options):
    """A double round of so many teams, all still to be played: the first call, which compiles, and a later one."""
    history, rows, samples = rated(), [], 100 if options.quick else 10_000
    for teams in (4, 6) if options.quick else (10, 20, 32):
        some = jr.leaderboard(history, top=teams).player.tolist()
        coming = [(a, b) for a in some for b in some if a != b]
        play = partial(jr.forecasts.simulate_season, history, coming, samples=samples)
        first, again = (timed(play)[1]["seconds"] for _ in range(2))
        rows.append({"teams": teams, "matches": len(coming), "seasons": samples, "first": first, "later": again})
    return {"seconds": rows}


def balance(options):
    """Two teams, and pairs, of a pool; whether it is proved that none are fairer."""
    history, rows = rated(), []
    for pool in (4, 6) if options.quick else (8, 10, 16, 30):
        some = jr.leaderboard(history, top=pool).player.tolist()
        teams, divided = timed(partial(jr.forecasts.balance_teams, history, some))
        pairs, paired = timed(partial(jr.forecasts.pair_players, history, some))
        row = {
            "players": pool,
            "teams": divided["seconds"],
            "proved": bool(teams.optimal),
            "apart": float(np.ptp(teams.strength)),
        }
        rows.append(row | {"pairings": paired["seconds"], "pairings_proved": bool(pairs.optimal)})
    return {"seconds": rows}


PARTS = {"seasons": seasons, "balance": balance}

if __name__ == "__main__":
    measure(PARTS, "few teams, few seasons and small pools")
