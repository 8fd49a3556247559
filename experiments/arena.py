"""Strengths at rest: likelihoods of the arena of language models, coverage of intervals, who moved, speed beside peers.

    python experiments/arena.py           # half an hour; writes experiments/results/arena.json
    python experiments/arena.py --quick   # seconds, on few simulated sets; writes nothing unless --out is given
    python experiments/arena.py --only speed --arena-rank PYTHON   # that has arena-rank, and an old JAX

Intervals are those of 95%. Coverage is that of the truth of simulated sets: of all ratings less their mean, and of all
ranks of a set together. In sets with clusters each voter has a taste of their own for some of the players, so that
votes of one voter go together; strengths are then what all votes together would give, found from very many of them.
"""

import json
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from common import find, forget_peak, measure, resident, timed

import jaxrate as jr
from jaxrate.arena.strength_fit import POINTS_PER_LOG_STRENGTH

TIES = "davidson", "rao_kupper", "half", "none"


def chance(x):
    return 1.0 / (1.0 + np.exp(-x))


def arena(options):
    """Log likelihood of the arena's votes, and a Bradley-Terry of NumPy beside that of static."""
    path = None if options.quick else find(options, "arena.parquet")
    if path is None:
        return None
    import pyarrow.parquet as pq

    table = pq.read_table(path).to_pydict()
    votes = jr.arena.count_votes(*(table[name] for name in ("a", "b", "wins_a", "wins_b", "ties")))
    rows = []
    for ties in TIES:
        found = jr.arena.fit_strengths(votes, ties=ties)
        rows.append({"ties": ties, "votes": found.votes, "nats a vote": -found.log_likelihood / found.votes})
        rows[-1] |= {"tie parameter": found.tie, "steps": found.steps}
        if ties == "half":
            rows[-1]["off NumPy"] = float(
                np.abs((found.rating - 1500.0) / POINTS_PER_LOG_STRENGTH - plain(votes)).max()
            )
    found = jr.arena.fit_strengths(votes)
    ranks = jr.arena.rank_sets(found)
    sets = [
        {"player": str(found.players[i]), "rating": float(found.rating[i]), "error": float(found.standard_error[i])}
        | {"least": int(ranks.least[i]), "greatest": int(ranks.greatest[i])}
        for i in found.order[:10]
    ]
    return {"likelihood": rows, "the first ten": sets}


def plain(votes):
    """Log strengths of mean zero by Newton's method, ties as half wins."""
    n = len(votes.players)
    wins, (a, b) = np.zeros((n, n)), votes.player.T
    wins[a, b], wins[b, a] = votes.wins + votes.ties / 2, votes.losses + votes.ties / 2
    games, x = wins + wins.T, np.zeros(n)
    for _ in range(30):
        p = chance(x[:, None] - x[None, :])
        weight = games * p * (1.0 - p)
        x = x + np.linalg.solve(np.diag(weight.sum(axis=1)) - weight + 1.0, (wins - games * p).sum(axis=1))
    return x - x.mean()


PLAYERS = 12


def drawn(random, truth, votes, nu=0.5):
    """Independent votes by Davidson's model."""
    a = random.integers(0, len(truth), votes)
    b = (a + random.integers(1, len(truth), votes)) % len(truth)
    eta = truth[a] - truth[b]
    weight = np.stack([np.exp(-eta / 2), np.full(votes, nu), np.exp(eta / 2)])
    result = (random.random(votes) > np.cumsum(weight / weight.sum(axis=0), axis=0)).sum(axis=0)
    return jr.matches(np.stack([a, b], axis=1), result / 2.0)


def by_voters(random, truth, voters, each, taste, prompts=None):
    """Votes that go together: by voters with tastes of their own, and by prompts that favour some."""
    n = len(truth)
    voter = np.repeat(np.arange(voters), each)
    own = taste * random.standard_normal((voters, n))
    prompt = random.integers(0, prompts or 1, len(voter))
    theirs = (taste if prompts else 0.0) * random.standard_normal((prompts or 1, n))
    a = random.integers(0, n, len(voter))
    b = (a + random.integers(1, n, len(voter))) % n
    who = truth + own[voter] + theirs[prompt]
    at = np.arange(len(voter))
    score = (random.random(len(voter)) < chance(who[at, a] - who[at, b])).astype(float)
    return jr.matches(np.stack([a, b], axis=1), score, columns={"voter": voter, "prompt": prompt})


def centre(truth, taste):
    """The strengths to which votes by tastes lead: the likeliest of the mean probabilities."""
    node, weight = np.polynomial.hermite_e.hermegauss(80)
    scale = np.sqrt(2.0) * taste
    p = (chance(truth[:, None, None] - truth[None, :, None] + scale * node) * weight).sum(axis=2) / weight.sum()
    a, b = np.triu_indices(len(truth), 1)
    found = jr.arena.fit_strengths(jr.arena.count_votes(a, b, p[a, b], p[b, a]))
    return (found.rating - 1500.0) / POINTS_PER_LOG_STRENGTH


def coverage(options):
    """The share of intervals that hold the truth, and of sets all of whose ranks do."""
    sets, samples, rows = *((2, 20) if options.quick else (500, 200)), []
    spread = np.linspace(0.6, -0.6, PLAYERS)
    taste = 0.7
    one, two = centre(spread, taste), centre(spread, taste * np.sqrt(2.0))
    cases = {
        "independent votes, with ties": (
            lambda random: drawn(random, spread, 1200),
            spread,
            {
                "curvature": {},
                "sandwich": {"errors": "sandwich"},
                "bootstrap": {"errors": "bootstrap", "samples": samples},
            },
        ),
        "60 voters of 40 votes": (
            lambda random: by_voters(random, spread, 60, 40, taste),
            one,
            {"naive": {}, "cluster": {"cluster": "voter"}},
        ),
        "60 voters, 60 prompts": (
            lambda random: by_voters(random, spread, 60, 40, taste, 60),
            two,
            {"naive": {}, "voters alone": {"cluster": "voter"}, "both": {"cluster": ("voter", "prompt")}},
        ),
    }
    for case, (make, truth, ways) in cases.items():
        goal = truth - truth.mean()
        place = 1 + (goal[None, :] > goal[:, None]).sum(axis=1)
        inside = {way: [] for way in ways}
        held = {way: [] for way in ways}
        width = {way: [] for way in ways}
        for seed in range(sets):
            votes = make(np.random.default_rng(seed))
            for way, given in ways.items():
                found = jr.arena.fit_strengths(votes, **given)
                off = (found.rating - 1500.0) - goal * POINTS_PER_LOG_STRENGTH
                inside[way].append(np.abs(off) < 1.959964 * found.standard_error)
                ranks = jr.arena.rank_sets(found, samples=1000)
                held[way].append(((ranks.least <= place) & (place <= ranks.greatest)).all())
                width[way].append((ranks.greatest - ranks.least + 1).mean())
        for way in ways:
            rows.append({"sets": case, "errors": way, "coverage": float(np.mean(inside[way]))})
            rows[-1] |= {"all ranks": float(np.mean(held[way])), "mean size of rank sets": float(np.mean(width[way]))}
    return {f"{sets} sets of {PLAYERS} players": rows}


def sequential(options):
    """How often the sequential test errs, and how long it goes on: engine pairs, pentanomial and normalised Elo."""
    tests, rows = (2 if options.quick else 300), []
    shape = np.array([0.02, 0.21, 0.5, 0.24, 0.03])
    points = np.linspace(0.0, 1.0, 5)
    from jaxrate.arena.sequential_testing import NORMALISED_ELO_UNIT, likeliest_distribution_with_mean_over_deviation

    for strength in (0.0, 2.5, 5.0):
        p = likeliest_distribution_with_mean_over_deviation(
            points, shape, strength / NORMALISED_ELO_UNIT * np.sqrt(2.0)
        )
        random, ends, games = np.random.default_rng(0), [], []
        for _ in range(tests):
            counts = np.zeros(5)
            while True:
                counts += random.multinomial(2000, p)
                found = jr.arena.sprt(counts, 0.0, 5.0)
                if found.decision != "continue":
                    break
            ends.append(found.decision == "H1")
            games.append(found.games)
        rows.append({"normalised Elo": strength, "H1 accepted": float(np.mean(ends)), "mean games": np.mean(games)})
    return {f"{tests} tests of 0 against 5": rows}


def speed(options):
    """Seconds of fits and bootstraps, warm: the best of three."""
    random = np.random.default_rng(0)
    n, many, most = (40, 4_000, 2) if options.quick else (200, 1_000_000, 4)
    strength = random.normal(size=n)
    a = random.integers(0, n, many)
    b = (a + random.integers(1, n, many)) % n
    won = random.random(many) < chance(strength[a] - strength[b])
    votes = jr.matches(np.stack([a, b], axis=1), won.astype(float))
    samples = 8 if options.quick else 1000
    table = counted(a, b, won, n)
    calls = {
        "static, votes": lambda: jr.arena.fit_strengths(votes).rating,
        "static, counts": lambda: jr.arena.fit_strengths(table).rating,
        f"static, counts, {samples} replicates": lambda: (
            jr.arena.fit_strengths(table, errors="bootstrap", samples=samples).rating
        ),
        **(peers(a, b, won, n) if not options.quick else {}),
    }
    rows, first = [], None
    for way, call in calls.items():
        turns = [timed(call) for _ in range(most)]
        found, took = turns[0][0], {key: min(x[key] for _, x in turns[1:]) for key in turns[0][1]}
        first = found if first is None else first
        rows.append({"way": way, "votes": many} | took | {"off": off(found, first)})
    if options.arena_rank:
        rows += [row | {"votes": many, "off": off(row.pop("rating"), first)} for row in arena_rank(options, a, b, won)]
    return {f"{n} players": rows}


def counted(a, b, won, n):
    """The votes as counts by pair."""
    wins = np.bincount(a * n + b, won, n * n) + np.bincount(b * n + a, ~won, n * n)
    wins = wins.reshape(n, n)
    one, two = np.triu_indices(n, 1)
    return jr.arena.count_votes(one, two, wins[one, two], wins[two, one])


def off(rating, first):
    """The largest difference of ratings in points, each less their mean."""
    return float(np.abs(rating - np.mean(rating) - first + np.mean(first)).max())


def large(options):
    """A hundred thousand players and ten million matches, by conjugate gradients."""
    n, many = (4_000, 40_000) if options.quick else (100_000, 10_000_000)
    random = np.random.default_rng(0)
    strength = random.normal(size=n)
    a = random.integers(0, n, many, np.int32)
    b = (a + random.integers(1, n, many, np.int32)) % np.int32(n)
    score = (random.random(many) < chance(strength[a] - strength[b])).astype(float)
    votes = jr.Matches(np.stack([a, b], axis=1), score, np.zeros(many))
    del a, b, score
    rows = []
    for turn in ("first", "again"):
        forget_peak()
        found, took = timed(lambda: jr.arena.fit_strengths(votes))
        known = np.isfinite(found.rating)
        rows.append({"turn": turn} | took | {"peak MB": resident("VmHWM")})
        rows[-1] |= {"steps": found.steps, "converged": found.converged, "rated": int(known.sum())}
        rows[-1]["correlation"] = float(np.corrcoef(found.rating[known], strength[known])[0, 1])
    return {f"{n} players, {many} matches": rows}


def moved(options):
    """How often somebody is said to have moved of twelve, where nobody did and where one gained 200 points."""
    sets, rows = (1 if options.quick else 40), []
    n, voters, each = PLAYERS, 20 if options.quick else 100, 40
    votes, spread = voters * each, np.linspace(150.0, -150.0, n)
    cases = {"independent": 0.0, "voters who come and go": 120.0, "voters, one after the other": 120.0}

    def make(seed, taste, gain, sittings):
        random = np.random.default_rng(seed)
        voter = np.repeat(np.arange(voters), each)
        voter = voter if sittings else random.permutation(voter)
        a = random.integers(0, n, votes)
        b = (a + random.integers(1, n, votes)) % n
        who = spread + taste * random.normal(size=(voters, n))[voter]
        who[votes // 2 :, 5] += gain
        at = np.arange(votes)
        score = random.random(votes) < chance((who[at, a] - who[at, b]) / POINTS_PER_LOG_STRENGTH)
        players = np.stack([a, b], axis=1)
        return jr.matches(players, score.astype(float), time=at.astype(float), columns={"voter": voter})

    for case, taste in cases.items():
        for gain in 0.0, 200.0:
            for cluster in [None, "voter"][: 1 + (taste > 0)]:
                found = [
                    jr.arena.detect_drift(make(seed, taste, gain, "after" in case), cluster=cluster)
                    for seed in range(sets)
                ]
                named = np.stack([one.moved for one in found])
                rows.append({"votes": case, "gain": gain, "cluster": cluster})
                others = np.delete(named, 5, axis=1) if gain else named
                rows[-1] |= {"somebody else named": float(others.any(axis=1).mean())}
                rows[-1] |= {"found": float(named[:, 5].mean()) if gain else None}
                rows[-1] |= {"log Bayes factor": float(np.median([one.log_bayes_factor for one in found]))}
    return {f"{sets} sets of {n} players, {votes} votes": rows}


# --- Other packages, where they are installed. ---


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
        print(json.dumps({"way": way, "seconds": seconds, "cpu_seconds": cpu, "rating": rating.tolist()}))

if __name__ == "__main__":
    main()
"""


def arena_rank(options, a, b, won):
    """The rows of arena-rank, with its ratings, by the other Python."""
    with tempfile.TemporaryDirectory() as folder:
        votes, script = Path(folder) / "votes.npz", Path(folder) / "peer.py"
        np.savez(votes, a=a, b=b, won=won)
        script.write_text(ARENA_RANK)
        done = subprocess.run([options.arena_rank, script, votes], capture_output=True, text=True)
    if done.returncode:
        print(f"arena-rank failed: {done.stderr.strip().splitlines()[-1]}: skipped")
    return [json.loads(line) for line in done.stdout.splitlines()]


PARTS = {"arena": arena, "coverage": coverage, "sequential": sequential}
PARTS |= {"moved": moved, "speed": speed, "large": large}

if __name__ == "__main__":
    other = {"metavar": "PYTHON", "help": "a Python with arena-rank, which is compared too"}
    measure(PARTS, "few small sets", "arena.parquet", ("evalica", "choix"), {"arena-rank": other})
