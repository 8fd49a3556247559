"""Whether the intervals of `jr.fit` hold what they say: parameters found again from results of known parameters.

    python experiments/fit_recovery.py          # minutes; writes experiments/results/fit_recovery.json
    python experiments/fit_recovery.py --quick  # seconds, few replications; writes nothing unless --out is given

Who meets whom and when is fixed. In a replication the results are drawn one event after the other from what the system
predicts, at known parameters, by rules whose `update` does so: scores of matches and of the pairs of a period by their
probabilities, independently; the standing of a round by performances about the ratings. (In float64, so that a plain
run over these results predicts the same.) That is not yet the world which a system approximates: in "latent" cases
players have skills, which drift, and contests are ranked by performances about these. The parameters are then fitted as
anybody would, from a start elsewhere, and an interval is the estimate +- 1.96 standard errors: of the parameter itself,
and of its logarithm or logit ("free").
"""

import time
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from common import fit_options, measure

import jaxrate as jr
from jaxrate.core.rules import Rating
from jaxrate.events import Rounds
from jaxrate.replay.scan_programs import draw_random_numbers_for_events
from jaxrate.systems.elo_mmr import drift_and_noise
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.rounds import cdf_sums

REPLICATIONS = 100
SPACES = {  # of `fit`, and slopes there
    "positive": (np.log, lambda x: 1.0 / x),
    "unit": (lambda x: np.log(x / (1.0 - x)), lambda x: 1.0 / (x * (1.0 - x))),
    "real": (lambda x: x, np.ones_like),
}


class Case(NamedTuple):
    """A system, and events without results."""

    start: Any  # the system with the parameters from which fits start
    truth: dict[str, float]  # the parameters that are fitted
    events: Any
    size: tuple[int, ...] = ()  # of the pairs or participants of each event
    latent: bool = False  # whether results are drawn from skills, and not from what the system believes of them


class Performance(NamedTuple):
    """Of participants: where they are believed to be, how widely, and the noise of a day, all in points."""

    mean: jax.Array
    skill: jax.Array
    noise: jax.Array


def pairs(players, matches):
    random = np.random.default_rng(0)
    first = random.integers(0, players, matches)
    return np.stack([first, (first + random.integers(1, players, matches)) % players], axis=1)


def matches(players, number, days=2000.0, side=False):
    """Spread over the days."""
    time, whose = np.linspace(0, days, number), np.ones(number) if side else None
    return jr.matches(pairs(players, number), np.zeros(number), time, side=whose)


def periods(players, number, size):
    """Weeks of equally many matches."""
    player, week = pairs(players, number * size), np.repeat(np.arange(number), size)
    return jr.periods(jr.matches(player, np.zeros(number * size), 7.0 * week), 7.0)


def rounds(players, number, size):
    random = np.random.default_rng(0)
    player = np.concatenate([random.choice(players, size, replace=False) for _ in range(number)])
    return jr.rounds(np.repeat(np.arange(number), size), player, np.tile(np.arange(size), number))


def contests(players, number):
    """Of Elo-MMR with logistic performances; rho is left alone, for contests say next to nothing of it."""
    start = jr.elo_mmr(beta=150.0, gamma=30.0, initial_deviation=300.0, history=20)
    return Case(start, {"beta": 200.0, "gamma": 40.0}, rounds(players, number, 16), (16,))


def latent(make, players, number):
    """Of skills that exist, with the initial deviation given: ranks determine no more than ratios to it."""
    start = make(beta=150.0, gamma=30.0, initial_deviation=300.0)
    return Case(start, {"beta": 180.0, "gamma": 22.0}, rounds(players, number, 16), (16,), latent=True)


def cases(quick):
    """By name."""
    elo, glicko = jr.elo(k=20), jr.glicko(c=20, initial_deviation=200, deviation_max=None)
    first = Case(elo, {"k": 30.0, "side_advantage": 50.0}, matches(200, 500 if quick else 20_000, side=True))
    if quick:
        return {"elo": first, "elo_mmr, latent": latent(jr.elo_mmr, 20, 30)}
    skill = jr.forecasts.add_outcomes(jr.trueskill(tau=0.3, draw_probability=0.2))
    return {
        "elo": first,
        "glicko": Case(glicko, {"c": 30.0, "initial_deviation": 150.0}, matches(400, 20_000)),
        "glicko in periods": Case(glicko, {"c": 40.0, "initial_deviation": 150.0}, periods(400, 100, 256), (256,)),
        "elo_mmx in rounds": Case(
            jr.elo_mmx(weight=0.3), {"weight": 0.2, "limit_deviation": 100.0}, rounds(200, 800, 16), (16,)
        ),
        "blat_mmr": Case(
            jr.blat_mmr(size=101, half_width=4.0, beta=0.7, kernel_width=0.4),
            {"beta": 0.85, "kernel_width": 0.3},
            matches(60, 6000),
        ),
        "elo_mmr in rounds": contests(60, 250),
        "elo_mmr, latent": latent(jr.elo_mmr, 60, 250),
        "elo_mmx, latent": latent(jr.elo_mmx, 60, 250),
        "trueskill": Case(
            skill, {"tau": 0.5, "draw_probability": 0.15, "initial_deviation": 7.0}, matches(400, 20_000)
        ),
    }


def outcome(law, random):
    """Scores by their probabilities, or ranks by performances, of events [..., size]."""
    if isinstance(law, OutcomeProbabilities):
        win, draw = law.win[..., 0], law.draw[..., 0]
        return 0.5 * (random < win) + 0.5 * (random < win + draw)
    if isinstance(law, Performance):
        normal, logistic = random
        performance = law.mean + law.skill * normal + law.noise * (jnp.sqrt(3.0) / jnp.pi) * logistic
        return jnp.sum(performance[..., None, :] > performance[..., :, None], axis=-1, dtype=jnp.int32)
    if isinstance(law, Rating):
        performance = law.mean + law.deviation * random
        return jnp.sum(performance[..., None, :] > performance[..., :, None], axis=-1, dtype=jnp.int32)
    return (random < law).astype(float)


@lru_cache
def drawing(rules, name, size):
    """Rules that draw the results they learn from, and predict with each event the law of its result."""

    def draw(key):
        if name == "elo_mmr":
            return jax.random.normal(key, size), jax.random.logistic(jax.random.fold_in(key, 1), size)
        return jax.random.normal(key, size) if name == "elo_mmx" else jax.random.uniform(key, size)

    def law(constants, rows, event):
        if not isinstance(event, Rounds):
            return rules.predict(constants, rows, event)
        spread = drift_and_noise(constants, rows, cdf_sums.participant_weights(event), event.noise)
        if name == "elo_mmr":
            return Performance(rows.rating, jnp.sqrt(rows.variance + spread[0]), jnp.sqrt(spread[1]))
        return Rating(rows.rating, jnp.sqrt(rows.variance + sum(spread)))

    def predict(constants, rows, event):
        return rules.predict(constants, rows, event), law(constants, rows, event)

    def update(constants, rows, event, random):
        return rules.update(constants, rows, replaced(event, outcome(law(constants, rows, event), random)))

    return rules._replace(predict=predict, update=update, draw=draw)


def replaced(event, result):
    return event._replace(rank=result) if isinstance(event, Rounds) else event._replace(score=result)


def simulate_latent(case, key):
    """Contests ranked by performances about skills, which drift by gamma with each contest of a player."""
    random, params = np.random.default_rng(np.asarray(jax.random.key_data(key))), case.start.params
    beta, gamma, flat = case.truth["beta"], case.truth["gamma"], case.events.events
    player = flat.player.reshape(-1, *case.size)
    skill, rank = random.normal(0.0, params.initial_deviation, player.max() + 1), np.empty_like(player)
    for number, those in enumerate(player):
        skill[those] += random.normal(0.0, gamma, len(those))
        logistic = case.start.name == "elo_mmr"
        draw, scale = (random.logistic, beta * np.sqrt(3.0) / np.pi) if logistic else (random.normal, beta)
        noise = draw(0.0, scale, len(those))
        rank[number] = np.argsort(np.argsort(-(skill[those] + noise)))
    return case.events._replace(events=replaced(flat, rank.ravel().astype(np.int32))), 0.0


def simulate(case, key):
    """The events with results, and by how much a plain run over them predicts otherwise."""
    truth, ragged = case.start._replace(params=case.start.params._replace(**case.truth)), bool(case.size)
    flat = case.events.events if ragged else case.events
    with jax.enable_x64(True):
        system = truth._replace(rules=drawing(truth.rules, truth.name, case.size))
        guess, law = jr.run(system, case.events, key=key, schedule="levels").prediction
        random = draw_random_numbers_for_events(system.rules, key, jnp.arange(len(flat.time)))
        law = jax.tree.map(lambda x: x.reshape(len(flat.time), *case.size, *x.shape[1:]), law)
        flat = replaced(flat, np.asarray(outcome(law, random)).ravel())
        events = case.events._replace(events=flat) if ragged else flat
        again = jr.run(truth, events, schedule="levels").prediction
        off = jax.tree.map(lambda x, y: float(jnp.max(jnp.abs(x - y))), guess, again)
    return events, max(jax.tree.leaves(off))


def recover(name, case, options):
    """A row for each parameter."""
    replications, search = 2 if options.quick else REPLICATIONS, fit_options(options.quick)
    names, begin, off, converged, found, error = list(case.truth), time.perf_counter(), 0.0, [], [], []
    for number in range(replications):
        events, apart = (simulate_latent if case.latent else simulate)(case, jax.random.key(number))
        fit = jr.fit(case.start, events, free=names, **search)
        off, converged = max(off, apart), [*converged, fit.converged]
        found.append([getattr(fit.params, x) for x in names])
        error.append([fit.standard_error[x] for x in names])
    rows = []
    for (x, truth), value, width in zip(case.truth.items(), np.transpose(found), np.transpose(error), strict=True):
        sure = np.isfinite(width)
        value, width = value[sure], width[sure]
        into, slope = SPACES[getattr(case.start.space, x).space]
        row = {"system": name, "parameter": x, "truth": truth, "mean": value.mean(), "median": np.median(value)}
        row |= {"deviation": value.std(ddof=1), "mean_error": width.mean(), "median_error": np.median(width)}
        row["covered"] = np.sum(np.abs(value - truth) <= 1.96 * width) / replications
        row["covered_free"] = np.sum(np.abs(into(value) - into(truth)) <= 1.96 * width * slope(value)) / replications
        rows.append(row | {"with_errors": sure.mean(), "converged": np.mean(converged)})
    rows[0] |= {"replications": replications, "off": off, "seconds": time.perf_counter() - begin}
    return {"recovery": rows}


def parts_of(cases):
    return {name: partial(recover, name, case) for name, case in cases.items()}


if __name__ == "__main__":
    measure(parts_of(cases(False)), "few replications of Elo, seconds in all", in_quick=parts_of(cases(True)))
