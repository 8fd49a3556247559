"""The libraries with which `arena.py` compares fits, where they are installed."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from jaxrate.arena.strength_fit import POINTS_PER_LOG_STRENGTH


def peers(a, b, won, n):
    """The same fit by evalica and by choix, where they are installed."""
    calls = {}
    with suppress(ImportError):
        import evalica

        winners = [evalica.Winner.X if x else evalica.Winner.Y for x in won]
        left, right = [f"m{i:03}" for i in a], [f"m{i:03}" for i in b]

        def by_evalica():
            found = evalica.bradley_terry(left, right, winners).scores
            return POINTS_PER_LOG_STRENGTH * np.log(found.sort_index().to_numpy())

        calls["evalica, votes"] = by_evalica
    with suppress(ImportError):
        import choix

        wins = np.zeros((n, n))
        np.add.at(wins, (np.where(won, a, b), np.where(won, b, a)), 1.0)
        calls["choix, counts (ilsr)"] = lambda: POINTS_PER_LOG_STRENGTH * choix.ilsr_pairwise_dense(wins)
    return calls


ARENA_RANK = """
import json, sys, time
import numpy as np, pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

def main():
    data = np.load(sys.argv[1])
    name = np.array([f"m{i:03}" for i in range(200)])
    won = np.where(data["won"], "model_a", "model_b")
    table = pd.DataFrame({"model_a": name[data["a"]], "model_b": name[data["b"]], "winner": won})
    made = PairDataset.from_pandas(table)
    for way, make in {"votes": lambda: PairDataset.from_pandas(table), "counts": lambda: made}.items():
        turns = []
        for _ in range(4):
            start, before = time.perf_counter(), time.process_time()
            rating = np.asarray(BradleyTerry(200).compute_ratings_and_cis(make())["ratings"])
            turns.append((time.perf_counter() - start, time.process_time() - before))
        seconds, cpu = np.min(turns[1:], axis=0)
        way = f"arena-rank, {way}"
        print(json.dumps({"way": way, "seconds": seconds, "CPU seconds": cpu, "rating": rating.tolist()}))

if __name__ == "__main__":
    main()
"""


def arena_rank(options, a, b, won):
    """The rows of arena-rank, with its ratings, by the other Python."""
    with TemporaryDirectory() as folder:
        votes, script = Path(folder) / "votes.npz", Path(folder) / "peer.py"
        np.savez(votes, a=a, b=b, won=won)
        script.write_text(ARENA_RANK)
        done = subprocess.run([options.arena_rank, script, votes], capture_output=True, text=True)
    if done.returncode:
        print(f"arena-rank failed: {done.stderr.strip().splitlines()[-1]}: skipped")
    return [json.loads(line) for line in done.stdout.splitlines()]
