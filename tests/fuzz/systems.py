"""Fuzz every rating system with hostile hyperparameters, states and histories.

    python -m tests.fuzz.systems --minutes 60 --seed 1

A case is a system in one form and one precision, with many settings and states at once. Results must be finite,
predictions probabilities, deviations within bounds, and slopes finite. (What must change nothing is in the contract of
`jaxrate.testing`: rounding of such numbers would move it by any amount.)
"""

import warnings
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.replay.execution import CompilePolicy
from jaxrate.replay.plan import Block
from jaxrate.replay.schedule import arrange_blocks
from jaxrate.systems.prediction_wrapping import find_own_draw_predict_rule, has_outcome_wrapper
from jaxrate.testing.cases import jit_quickly, strict_precision
from tests.fuzz import draws
from tests.fuzz.driver import by_hand

FORMS = {"stream": jr.Matches, "levels": jr.Matches, "periods": jr.Periods, "rounds": jr.Rounds}
DAVIDSON = ("glicko",)  # whose outlooks are fuzzed, for all that have no draws of their own
MATCHES, PERIOD, BATCH = 16, 4, 24


class Case(NamedTuple):
    """A system with many settings in one form and one precision."""

    systems: Any  # alike but for their hyperparameters
    form: str
    full: bool  # it predicts in full, see `outlook`
    double: bool  # in float64


def kinds():
    """The name and form of all that can be fuzzed, and whether it is an outlook."""
    for name, make in jr.extend.SYSTEMS.items():
        for form, kind in FORMS.items():
            if kind in make().events:
                full = find_own_draw_predict_rule(make()) is not None or (name in DAVIDSON and kind is not jr.Rounds)
                yield from ((name, form, x) for x in {False, full})


def draw(random, kind, double, batch):
    """A case of this kind."""
    name, form, full = kind
    static = [x for x in draws.STATIC.get(name, ({},)) if FORMS[form] in jr.extend.SYSTEMS[name](**x).events]
    base = jr.extend.SYSTEMS[name](**static[random.integers(len(static))])
    if full and find_own_draw_predict_rule(base) is None:
        base = jr.forecasts.add_outcomes(jr.forecasts.calibrate(base))
    for _ in range(50):
        off = draws.switched_off(random, base)
        systems = [draws.settings(random, base, off) for _ in range(batch)]
        if None not in systems:
            return Case(systems, form, full, double)
    raise AssertionError(f"no setting of {base} was accepted")


def schedule_of(case, events):
    """Periods are padded to one size, and so need one program, whoever meets."""
    if case.form == "periods":
        number = np.arange(len(events.player_start) - 1, dtype=np.int32)[:, None]
        return arrange_blocks(events, [Block(number, (2 * PERIOD, PERIOD))])
    return case.form if case.form in ("stream", "levels") else "auto"


def rate(case, params, states, events):
    """What `run` makes of the events with every setting, as arrays of NumPy."""
    system = case.systems[0]
    system = jr.forecasts.add_outcomes(system) if case.full and not has_outcome_wrapper(system) else system
    schedule = schedule_of(case, events)
    key = None if system.rules.draw is None else jax.random.key(0)

    def one(params, state):
        options = {"params": params, "state": state, "key": key, "schedule": schedule}
        return jr.run(system, events, policy=CompilePolicy(quick=True, outermost=True), **options)

    if case.form != "rounds":
        return jax.tree.map(np.asarray, jax.vmap(one)(params, states))
    # Of contests one setting at a time: side by side all ways to sum them up are taken.
    runs = [one(*jax.tree.map(lambda x, i=i: x[i], (params, states))) for i in range(len(case.systems))]
    return jax.tree.map(lambda *x: np.stack(x), *runs)


def claim(case, holds, message):
    """AssertionError unless all [batch, ...] hold; names the first setting for which it does not."""
    bad = ~np.asarray(holds).reshape(len(case.systems), -1).all(axis=1)
    if bad.any():
        i = int(np.argmax(bad))
        where = f"{case.form}{', outlook' * case.full}, {'float64' if case.double else 'float32'}"
        raise AssertionError(f"{message} ({bad.sum()} of {len(bad)}, number {i}: {case.systems[i]!r}, {where})")


def check_result(case, run, params, events):
    """Finite states, probabilities, deviations within bounds."""
    for name, leaf in run.state._asdict().items():
        for x in jax.tree.leaves(leaf):
            claim(case, np.isfinite(x) | ((name == "time") & (x == np.inf)), f"{name} is not finite")
    rating = jax.vmap(case.systems[0].summary)(params, run.state)
    mean, deviation = (None if x is None else np.asarray(x) for x in rating)
    claim(case, np.isfinite(mean), "a rating is not finite")
    if deviation is not None:
        certain = case.systems[0].name in ("urnings", "blat_mmr")  # an empty urn is, or a belief in one strength
        claim(case, np.isfinite(deviation) & ((deviation > 0) | certain), "a deviation is not finite and above 0")
        if (most := getattr(params, "deviation_max", None)) is not None:
            form, grown = (getattr(params, name, None) for name in ("form_deviation", "match_growth"))
            most = np.asarray(most) + (0.0 if form is None else np.asarray(form))  # of skill and form
            most = np.broadcast_to(most[:, None], deviation.shape)
            if grown is not None:  # by matches, not by time; a match of weight 1e6 is so many
                most = most + np.asarray(grown)[:, None] * played(events, deviation.shape[1]) ** 0.5
            claim(case, deviation <= most * (1 + 1e-5), "a deviation is above its maximum")
    (check_outlook if case.full else check_prediction)(case, run.prediction)


def played(events, n):
    """[n] how many matches each has played, by weight, or how many contests."""
    flat, count = getattr(events, "events", events), np.zeros(n)
    weight = 1.0 if isinstance(flat, jr.Rounds) else flat.context.weight[:, None]
    np.add.at(count, np.asarray(flat.player), np.asarray(weight, float))
    return count


def check_prediction(case, guess):
    claim(case, (guess >= 0) & (guess <= 1), "a prediction is not within [0, 1]")


def check_outlook(case, guess):
    close = 1e-9 if case.double else 1e-4
    for x in jax.tree.leaves(guess):
        claim(case, np.isfinite(x) & (x >= 0), "an outlook is not finite and at least 0")
    if not hasattr(guess, "win"):
        claim(case, abs(guess.sum(axis=-1) - 1) < close, "probabilities of scores do not sum to 1")
        return
    claim(case, (guess.win <= 1) & (guess.draw <= 1), "a probability is above 1")
    if guess.win.ndim == 3:
        total = guess.win.sum(axis=-1) + guess.draw[..., 0]
        claim(case, abs(total - 1) < close, "win, draw and loss do not sum to 1")


def fuzz(random, kind=None, double=None, batch=BATCH, deep=True):
    """Check one case, drawn as far as it is not given; how many settings and states it had.

    Args:
      deep: with slopes, which are more to compile.
    """
    every = list(kinds())
    kind = every[random.integers(len(every))] if kind is None else kind
    case = draw(random, kind, bool(random.integers(2)) if double is None else double, batch)
    with strict_precision(case.double), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # contests of one
        if case.form == "rounds":
            events = draws.contests(random, case.systems[0])
        else:
            events = draws.league(random, case.systems[0], MATCHES)
        n, first = (draws.PLAYERS, events.events.time[0]) if case.form == "rounds" else (2 * MATCHES, events.time[0])
        params = stack([system.params for system in case.systems])
        states = stack([draws.state(random, system, n, first) for system in case.systems])
        whole = rate(case, params, states, as_form(case, events))
        check_result(case, whole, params, events)
        if deep:
            slopes(case, events, params, states)
    return batch


def as_form(case, events):
    """Matches in the form of the case: those of a period are rated together."""
    return jr.periods(events, period=np.arange(len(events.score)) // PERIOD) if case.form == "periods" else events


def stack(trees):
    """Settings or states, in the precision of now."""
    return jax.tree.map(
        lambda *x: jnp.asarray(np.stack(x), float if np.result_type(*x).kind == "f" else jnp.int32), *trees
    )


def slopes(case, events, params, states):
    """Of the mean of the squares of the predictions, and of the final ratings."""
    events, system = as_form(case, events), case.systems[0]
    if case.form == "rounds":  # the small ones
        events = slice_events(events, 0, 3)
    schedule = schedule_of(case, events)
    if system.rules.draw is not None or case.full:
        return

    def loss(params, state):
        done = jr.run(system, events, params=params, state=state, schedule=schedule)
        return jnp.mean(done.prediction**2) + 1e-3 * jnp.mean(system.summary(params, done.state).mean)

    # As in `rate`; side by side all ways would also be kept for the way back.
    slope = jax.grad(loss)
    of_all = partial(jax.lax.map, lambda x: slope(*x)) if case.form == "rounds" else lambda x: jax.vmap(slope)(*x)
    found = jax.tree.map(np.asarray, jit_quickly(of_all)((params, states)))
    for name, slope in found._asdict().items():
        if slope is not None:
            claim(case, np.isfinite(slope), f"the slope in {name} is not finite")


if __name__ == "__main__":
    by_hand(fuzz, __doc__)
