"""Fuzz live histories: after any updates, undone and corrected, all is to the bit as if fed with what is left.

    python -m tests.fuzz.live --minutes 60 --seed 1

Results, hostile or late ones among them, are rated one by one. What is refused is a ValueError, and changes nothing.
"""

import jax
import numpy as np

import jaxrate as jr
from tests.fuzz.driver import by_hand

SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills", "elo_mmr"
NAMES = [*"ABCDE", "", " ", 1, 1.5, None, float("nan"), "\ud800", 2**70, True, b"x", ["A"], "A" * 5000]
SCORES = 0, 0.5, 1, 0.25, -1, 2, float("nan"), float("inf"), "1", None, 10**400, True
STEPS = 25
ROUNDING = 4 * float(np.finfo(np.float32).eps)  # of probabilities


def pick(random, values, plain):
    """One of the values, of which the first so many are plain; rarely another one."""
    return values[int(random.integers(plain if random.random() < 0.95 else len(values)))]


def fuzz(random):
    """A history of some changes; how many there were."""
    system = jr.extend.SYSTEMS[SYSTEMS[int(random.integers(len(SYSTEMS)))]]()
    live, results, now = jr.live.start_history(system), [], 0.0
    for _ in range(STEPS):
        kind = random.random()
        before = live.to_json()
        try:
            if kind < 0.15:
                late = now - float(random.choice([0.0, 0.5, 1.0, 1e6]))
                one = pick(random, NAMES, 5), pick(random, NAMES, 5), pick(random, SCORES, 3), late
                live.insert(*one[:3], time=late)
                results.insert(sum(x[3] <= late for x in results), one)
            elif kind < 0.7 or not results:
                now += float(random.choice([0.0, 1.0, 1e6, -5.0], p=[0.45, 0.45, 0.05, 0.05]))
                one = pick(random, NAMES, 5), pick(random, NAMES, 5), pick(random, SCORES, 3), now
                guess = live.predict(*one[:2], time=now)
                learnt = live.update(*one[:3], time=now)  # by another program, which may round otherwise
                assert abs(guess - learnt) <= ROUNDING, "predict says something else than update"
                results.append(one)
            elif kind < 0.85:
                count = int(random.integers(0, len(results) + 2))
                live.undo(count)
                del results[len(results) - count :]
            else:
                place, score = int(random.integers(-len(results) - 1, len(results) + 1)), pick(random, SCORES, 3)
                live.correct(place, score=score)
                results[place] = (*results[place][:2], score, results[place][3])
        except ValueError:
            assert live.to_json() == before, "what is refused has changed something"
        now = results[-1][3] if results else 0.0
    again = jr.live.start_history(system)
    for a, b, score, time in results:
        again.update(a, b, score, time=time)
    assert again.players == live.players and again.to_json() == live.to_json(), "the names or ratings are others"
    if results:
        one, two = live.to_rated(), again.to_rated()
        assert one.predictions.equals(two.predictions) and (one.games == two.games).all(), "the log is another"
        jax.tree.map(np.testing.assert_array_equal, one.state, two.state)
    return STEPS


if __name__ == "__main__":
    by_hand(fuzz, __doc__)
