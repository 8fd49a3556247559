"""Hyperparameters drawn from their posterior by NumPyro's and BlackJAX's NUTS, beside the fit and its standard errors.

    python experiments/samplers.py           # minutes; writes experiments/results/samplers.json
    python experiments/samplers.py --quick   # seconds, few draws of few matches; writes nothing without --out

Both samplers take `jr.fitting.log_likelihood` as it is: of Glicko's c, initial deviation and side advantage on the last
ten seasons of the NFL that ship. c and the deviation are positive, so their logarithms are drawn. Priors are wide: a
factor of e for these two, and 100 points for the side.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from common import measure, timed

import jaxrate as jr
from jaxrate.events import slice_events

CENTRE = {"c": np.log(15.0), "initial_deviation": np.log(150.0), "side_advantage": 0.0}  # of the priors
SPREAD = {"c": 1.0, "initial_deviation": 1.0, "side_advantage": 100.0}
MATCHES = 2670  # of the last ten seasons


def log_posterior(system, matches):
    """The log density of the three numbers, logarithms of the first two, up to a constant."""

    def density(x):
        prior = sum(-0.5 * ((x[name] - CENTRE[name]) / SPREAD[name]) ** 2 for name in CENTRE)
        params = system.params._replace(
            c=jnp.exp(x["c"]), initial_deviation=jnp.exp(x["initial_deviation"]), side_advantage=x["side_advantage"]
        )
        return prior + jr.fitting.log_likelihood(system, matches, params)

    return density


def sample_with_numpyro(density, key, warmup, draws):
    from numpyro.infer import MCMC, NUTS

    sampler = MCMC(NUTS(potential_fn=lambda x: -density(x)), num_warmup=warmup, num_samples=draws, progress_bar=False)
    sampler.run(key, init_params=jax.tree.map(jnp.asarray, CENTRE))
    return sampler.get_samples()


def sample_with_blackjax(density, key, warmup, draws):
    import blackjax

    start = jax.tree.map(jnp.asarray, CENTRE)
    warmup_key, key = jax.random.split(key)
    (state, tuned), _ = blackjax.window_adaptation(blackjax.nuts, density).run(warmup_key, start, num_steps=warmup)
    sampler = blackjax.nuts(density, **tuned)

    def step(state, key):
        state, _ = sampler.step(key, state)
        return state, state.position

    return jax.jit(lambda keys: jax.lax.scan(step, state, keys)[1])(jax.random.split(key, draws))


def summarise(way, draws, seconds):
    """A row: mean and standard deviation of each number in its own unit."""
    draws = {name: np.asarray(x, float) for name, x in draws.items()}
    points = draws | {name: np.exp(draws[name]) for name in ("c", "initial_deviation")}
    numbers = {f"{name} {of}": float(f(x)) for name, x in points.items() for of, f in (("", np.mean), ("sd", np.std))}
    return {"way": way} | {name.strip(): x for name, x in numbers.items()} | {"seconds": seconds}


def part_draws(options):
    """A row of the fit, and one of each sampler."""
    matches = jr.data.datasets.nfl().matches
    matches = slice_events(matches, len(matches.score) - (200 if options.quick else MATCHES), len(matches.score))
    warmup, draws = (5, 5) if options.quick else (300, 500)
    system = jr.glicko(side_advantage=50.0, deviation_max=None)
    density = log_posterior(system, matches)
    fit = jr.fit(system, matches, free=list(CENTRE), steps=1 if options.quick else 100)
    table = [{"way": "jr.fit"}]
    for name in CENTRE:
        table[0] |= {name: float(getattr(fit.params, name)), f"{name} sd": fit.standard_error[name]}
    for way, sample in {"numpyro": sample_with_numpyro, "blackjax": sample_with_blackjax}.items():
        if getattr(options, way):
            positions, took = timed(partial(sample, density, jax.random.key(0), warmup, draws))
            table.append(summarise(way, positions, took["seconds"]))
    return {f"{len(matches.score)} matches, {draws} draws after {warmup}": table}


if __name__ == "__main__":
    measure({"draws": part_draws}, "few draws of few matches", packages=("numpyro", "blackjax"))
