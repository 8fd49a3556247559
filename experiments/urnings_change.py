"""Who has changed? The test that the Urnings paper asks for (Bolsinova and others 2022, section 1), on urns at play.

    python experiments/urnings_change.py          # minutes: 1e8 games; writes JSON
    python experiments/urnings_change.py --quick  # seconds, 100 players; writes nothing unless --out is given

A thousand players as in the paper's section 3.1: logits are quantiles of the standard normal distribution, urns of 100
balls, matched by likeness of their urns (lambda = 2). Then a tenth of them change, half of these up and half down by so
many logits, and `changed_skills` compares the urns with those some games per ball later. Also where it says that it
does not hold: with first urns that have not forgotten their start, and without the correction for the matchmaking.
"""

import jax
import numpy as np
from common import circumstances, declare, parse, show, write
from scipy.stats import norm

import jaxrate as jr
from jaxrate.urns import matchmakers

RATE = 0.05
STEPS = 0.5, 1, 3, 10  # games per ball between the two times
CHANGES = 0.0, 0.5, 1.0, 1.5  # logits


class World:
    """Urns at play."""

    def __init__(self, players, size, corrected, seed):
        self.logit = norm.ppf((np.arange(players) + 0.5) / players)
        self.size, self.corrected, self.key = size, corrected, jax.random.key(seed)
        self.system, self.matchmaker = jr.urnings(size), matchmakers.similarity_matchmaker(2.0)
        self.state = jr.urns.make_urns(np.full(players, size))

    def play(self, logit, per_ball=10):
        """States after `STEPS` games per ball, of those up to `per_ball`."""
        half = len(logit) * self.size // 4  # half a game per ball
        self.key, key = jax.random.split(self.key)
        options = dict(matchmaker=self.matchmaker, corrected=self.corrected, record_every=half, state=self.state)
        played = jr.urns.simulate_world(self.system, 1 / (1 + np.exp(-logit)), int(2 * per_ball) * half, key, **options)
        self.state = played.state
        return [self.state._replace(green=played.green[int(2 * x) - 1]) for x in STEPS if x <= per_ball]


def row(name, change, per_ball, results, moved):
    """Of the results of each try."""
    false = [x.changed & ~moved for x in results]
    found = [x.changed & moved for x in results]
    return {
        "urns": name,
        "change": change,
        "games_per_ball": per_ball,
        "p_up_to_5_percent_of_the_same": np.mean([(x.p <= RATE)[~moved].mean() for x in results]),
        "tries_with_a_false_one": np.mean([x.any() for x in false]),
        "false_of_the_called": np.mean(
            [x.sum() / max(y.changed.sum(), 1) for x, y in zip(false, results, strict=True)]
        ),
        "found_of_the_changed": np.mean([x.sum() / max(moved.sum(), 1) for x in found]) if moved.any() else None,
    }


def changes(players, size, tries):
    world, rows = World(players, size, True, 0), []
    world.play(world.logit)
    chosen = np.random.default_rng(0).permutation(players // 2)[: players // 20]
    moved = np.isin(np.arange(players), [chosen, players - 1 - chosen])
    for change in CHANGES:
        new, results = world.logit.copy(), []
        up = np.random.default_rng(1).choice([-change, change], len(chosen))
        new[chosen] += up
        new[players - 1 - chosen] -= up  # the mean proportion stays one half
        for _ in range(tries):
            before = world.state
            results.append(
                [jr.urns.find_changed_skills(before, after, false_discovery_rate=RATE) for after in world.play(new)]
            )
            world.play(world.logit)
        who = moved & (change > 0)
        rows += [row("at their law", change, *x, who) for x in zip(STEPS, zip(*results, strict=True), strict=True)]
    return rows


def pitfalls(players, size, tries):
    """False alarms by first urns on the way, and by matchmaking without correction; nobody changes."""
    rows, nobody = [], np.zeros(players, bool)
    starts = {step: [] for step in STEPS}
    for seed in range(tries):
        world = World(players, size, True, 1000 + seed)
        first = world.play(world.logit)
        later = world.play(world.logit)[-1]
        for step, before in zip(STEPS, first, strict=True):
            starts[step].append(jr.urns.find_changed_skills(before, later, false_discovery_rate=RATE))
    rows += [row(f"{x:g} games per ball after the start", 0.0, 20 - x, y, nobody) for x, y in starts.items()]
    world, results = World(players, size, False, 1), []
    world.play(world.logit)
    for _ in range(tries):
        before = world.state
        results.append(jr.urns.find_changed_skills(before, world.play(world.logit)[-1], false_discovery_rate=RATE))
    return [*rows, row("matchmaking not corrected", 0.0, STEPS[-1], results, nobody)]


def main():
    options = parse(declare(__doc__, "100 players and few games"), __file__)
    sizes = (100, 20, 2) if options.quick else (1000, 100, 20)
    report = circumstances() | dict(zip(("players", "size", "tries"), sizes, strict=True)) | {"rate": RATE}
    results = {"changes": changes(*sizes), "where it does not hold": pitfalls(*sizes)}
    show(results)
    write(options.out, report, results)


if __name__ == "__main__":
    main()
