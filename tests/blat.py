"""What the tests of BlatMMR share: beliefs set by hand, and a league that the slow twin plays as well."""

from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from tests.conftest import draw_pairs, quick
from tests.reference import blat_twin as twin

REFERENCE = dict(np.load(Path(__file__).parent / "reference" / "blat_mmr.npz"))
GRID, POINTS, Kernel = twin.GRID, jr.extend.luck.POINTS_PER_NATURAL_UNIT, jr.extend.kernels.Kernel
ALGORITHMS = ("naive", "fft", "low_rank")

close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-13)
ratings = quick(jr.ratings, static_argnums=0)  # one program in place of ten


def start(system, belief, **leaves):
    """A state with these beliefs [players, n]."""
    leaves = {name: jnp.asarray(np.asarray(x), float) for name, x in (leaves | {"belief": belief}).items()}
    return system.init(system.params, len(belief))._replace(**leaves)


def match(system, belief, score=1.0, weight=None, **leaves):
    """The two beliefs after a match, and the prediction before it."""
    weight = None if weight is None else [weight]
    matches, state = jr.matches([[0, 1]], [score], weight=weight), start(system, belief, **leaves)
    result = jr.run(system, matches, state=state, schedule="stream")
    return np.asarray(result.state.belief), float(result.prediction[0])


def both(predict, evidence, *args):
    return predict(*args), evidence(*args)


def observed(system):
    """The same system, whose predictions are pairs: with the evidence."""
    functions = (x.rules.predict for x in (system, jr.history.blat_mmr_beliefs.make_evidence_predicting_system(system)))
    return system._replace(rules=system.rules._replace(predict=partial(both, *functions)))


def moments(system, state):
    """Means and variances in the units of strength, as `jr.ratings` has them."""
    rating = ratings(system, state)
    unit = jr.extend.luck.parse(system.settings["luck"]).unit if isinstance(system.settings["luck"], str) else POINTS
    return (np.asarray(rating.mean) - 1500.0) / unit, (np.asarray(rating.deviation) / unit) ** 2


PLAYERS = 6
SETTING = dict(beta=0.85, temperature=1.3, prior_mean=0.2, prior_deviation=0.9, side_advantage=40.0)
SIZE, WIDTH = 121, 4.9
STEP = 2 * WIDTH / (SIZE - 1)


def games(n=40, players=PLAYERS, seed=0):
    """A league in both forms, with sides, weights and any scores."""
    random = np.random.default_rng(seed)
    a, b = draw_pairs(random, players, n).T
    score, time = random.choice([0.0, 0.5, 1.0, 0.25], n), np.sort(random.uniform(0, 30, n))
    side, weight = random.integers(-1, 2, n), random.choice([0.5, 1.0, 2.0], n)
    rows = zip(*(x.tolist() for x in (time, a, b, score, side, weight)), strict=True)
    return jr.matches(np.stack([a, b], 1), score, time, side=side, weight=weight), [(t, [row]) for t, *row in rows]


MATCHES, HISTORY = games()


def lucks(function, unit=POINTS):
    """The twin's luck function of `SETTING`, and those of the two sides."""
    beta, temperature, lead = SETTING["beta"], SETTING["temperature"], SETTING["side_advantage"] / unit

    def shifted(lead):
        return twin.mixed(lambda x, y: function((x + lead) / temperature, y / temperature), beta)

    return dict(luck=shifted(0.0), sides=(shifted(lead), shifted(-lead)))


def agree(system, state=None, atol=1e-12, **theirs):
    """Beliefs, predictions and evidence are the twin's."""
    beliefs, rows = twin.league(HISTORY, **theirs)
    after, (prediction, evidence) = jr.run(observed(system), MATCHES, state=state)
    for player, (_, p) in beliefs.items():
        close(after.belief[player], p, atol=atol)
    close(prediction, [row.prediction for row in rows], atol=atol)
    close(evidence, [row.evidence[0] for row in rows], atol=atol)


def on_grid(scale=1.0):
    """The twin's grid and prior of `SETTING`."""
    return dict(
        x=scale * np.linspace(-WIDTH, WIDTH, SIZE), prior=partial(twin.normal, mean=0.2 * scale, sd=0.9 * scale)
    )
