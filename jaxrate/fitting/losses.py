"""What `fit` minimises: how much the predictions of a history lose, match by match or participant by participant.

`log_loss`: minus the logarithm of the probability that was given to the result. Of an expected score p against a score
s it is -s log p - (1 - s) log(1 - p); a system that gives every score a probability, [n, K] of 0, 1/(K-1), ..., 1 (an
`Outlook` of matches says the same of a loss, a draw and a win), gets that of the score there was. A participant of a
round has as score the share of the others whom he beat, a tie being half.

`brier`: (p - s)^2, of the mean where there are probabilities.

`pairwise`, of rounds: a participant's mean of -log P(the one who was ahead does better) over opponents, a tie being
half of each, with P what the system says of a match of the two (a composite likelihood of the ranking; Varin, Reid and
Firth 2011). His opponents are all others in rounds of up to 2 OPPONENTS + 1, elsewhere OPPONENTS to either side of him
in a circle that shuffles the ids: were they chosen by the standing, neighbours would be near in performance, and the
better player's odds would seem too small.
"""

import math
from collections.abc import Iterator
from contextlib import nullcontext
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import (
    LAST_ID,
    Array,
    Context,
    Matches,
    Periods,
    Ragged,
    Rounds,
    count_better,
    count_teams,
    fail_where,
)  # fmt: skip
from jaxrate.records.metrics import NumPy, seen
from jaxrate.replay.blocks import Block
from jaxrate.replay.compiling import blank, outermost
from jaxrate.replay.rows import on_device
from jaxrate.replay.run import run
from jaxrate.replay.schedule import Plan, by_level
from jaxrate.system import Constants, Params, RatingSystem, Rules, State
from jaxrate.systems.outlook import Outlook
from jaxrate.systems.rounds import field

LOSSES = "log_loss", "brier", "pairwise"
OPPONENTS = 32  # to either side
_SHUFFLE = 2654435761  # 2^32 over the golden ratio: its multiples, modulo 2^32, lie evenly and in no order of the ids


class Task(NamedTuple):
    """A history to predict, and what the predictions lose."""

    system: RatingSystem  # whose prediction the loss takes
    loss: str
    events: Matches | Ragged
    schedule: Plan | list[Block]
    score: Array  # [n] what was to be predicted
    weight: NumPy  # [n] what each prediction counts; 0: not at all
    event: NumPy  # [n] the number of its event
    key: Array | None
    state: State  # to carry on from, or None
    num_players: int


def task(
    system: RatingSystem, events: Any, loss: str, warm_up: int, weight: Any, key: Array | None, state: State
) -> Task:
    """See `fit` for the arguments and errors."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    flat = events.events if isinstance(events, Ragged) else events
    if isinstance(flat, Rounds):
        score, counts, event = _shares(events)
        if loss == "pairwise":
            if len(flat.team) and (count_teams(events) < np.diff(events.player_start)).any():
                raise ValueError("the pairwise loss compares players, but there are teams; take log_loss")
            system = system._replace(rules=_pairwise(system.rules))
    elif loss == "pairwise":
        raise ValueError("the pairwise loss is of rounds; take log_loss")
    else:
        score = np.asarray(flat.score)
        counts, event = np.ones(len(score), bool), np.arange(len(score))
        if isinstance(flat, Periods):
            assert events.pair_start is not None
            event = np.repeat(np.arange(len(flat.time)), np.diff(events.pair_start))
        else:
            _check_levels(system, flat)
    n, what = len(score), "participants" if isinstance(flat, Rounds) else "matches"
    if n == 0:
        raise ValueError("there are no events to fit")
    each = np.ones(n) if weight is None else np.asarray(weight, np.float64)
    if each.shape != (n,):
        raise ValueError(f"weight must be [{n}], one for each of the {what}, got {each.shape}")
    fail_where(~((each >= 0) & (each < np.inf)), lambda row: f"weight is {each[row]}; it must be from 0, and finite")
    each = np.where(counts, each, 0.0)
    if not each.any():
        raise ValueError("no contest ranks anybody" if not counts.any() else f"the weights leave no {what} to score")
    if warm_up:
        each = np.where(_seen(events, warm_up), each, 0.0)
    if not each.any():
        raise ValueError(f"warm_up={warm_up} games of every player leave no {what} to score; take fewer")
    scored = score[each > 0]
    if loss != "pairwise" and np.ptp(scored) == 0:
        hint = "; where the winner comes first, swap half of the rows at random" if scored[0] == 1 else ""
        raise ValueError(f"every score is {scored[0]:g}: such scores hold no information{hint}")
    known = int(np.max(flat.player)) + 1
    num_players = known if state is None else max(known, len(jax.tree.leaves(state)[0]))
    return Task(system, loss, events, by_level(events), on_device(score), each, event, key, state, num_players)


def _seen(events: Any, games: int) -> NumPy:
    """[n] whether all players of a match, or the participant, have played so many games before."""
    if isinstance(events, Ragged) and events.pair_start is not None:
        flat: Any = events.events
        first = np.repeat(events.player_start[:-1], np.diff(events.pair_start))
        events = Matches(np.asarray(flat.player)[first[:, None] + flat.pair], flat.score, flat.time)
    return seen(events, games)


def _shares(rounds: Ragged) -> tuple[NumPy, NumPy, NumPy]:
    """[n] the share of the other teams that each participant's beat; whether his contest ranks any; its number."""
    flat: Any = rounds.events
    event = np.repeat(np.arange(len(flat.time)), np.diff(rounds.player_start))
    own = rounds.player_start[event] + flat.team
    first, member = np.unique(own, return_index=True, return_inverse=True)[1:]  # one player of each team, in order
    which, rank = event[first], np.asarray(flat.rank)[first]
    ahead, behind = count_better(which, rank), count_better(which, -rank)
    others = np.bincount(which, minlength=len(flat.time))[which] - 1
    share = (behind + 0.5 * (others - ahead - behind)) / np.maximum(others, 1)
    ranks = np.bincount(which, ahead, minlength=len(flat.time)) > 0
    return share[member], ranks[event], event


def _check_levels(system: RatingSystem, matches: Matches) -> None:
    """ValueError if a system that gives every score a probability would give none to a score."""

    def predict(params: Params, event: Matches) -> Any:
        return system.rules.predict(system.rules.prepare(params), system.init(params, 2), event)

    if len(matches.score):
        event = jax.tree.map(lambda x: x[0], on_device(jax.tree.map(lambda x: np.asarray(x)[:1], matches)))
        guess = _plain(jax.eval_shape(predict, system.params, event), jax.eval_shape)
        if guess.ndim:
            last, score = guess.shape[-1] - 1, np.asarray(matches.score, np.float64)
            off = np.abs(score * last - np.rint(score * last)) > 1e-4
            fail_where(off, lambda row: f"{system.name} predicts the scores 0, 1/{last}, ..., 1, not {score[row]}")


def _plain(guess: Any, call: Any = lambda f, *x: f(*x)) -> Any:
    """Expected scores [...], or probabilities [..., K]; of an `Outlook` of matches, of a loss, a draw and a win."""
    if not isinstance(guess, Outlook):
        return guess
    return call(lambda x: jnp.stack([x.win[..., 1], x.draw[..., 0], x.win[..., 0]], axis=-1), guess)


def cross_entropy(p: Array, score: Array) -> Array:
    """-s log p - (1 - s) log(1 - p), with p kept 1e-15 away from 0 and 1 (float32: 6e-8)."""
    margin = 1e-15 if p.dtype == np.float64 else 2.0**-24
    p = jnp.clip(p, margin, 1.0 - margin)
    return -score * jnp.log(p) - (1.0 - score) * jnp.log1p(-p)


@partial(jax.jit, static_argnums=0)
def _lost(loss: str, guess: Any, score: Array, weight: Array) -> Array:
    """[n] of predictions and scores [n]; 0 where the weights [2, n] are."""
    if isinstance(guess, Outlook) and guess.win.ndim == 1:
        raise ValueError("there is no loss of an outlook of rounds; fit the system itself")
    return jnp.where(jnp.any(weight > 0, axis=0), _each(loss, _plain(guess), score), 0.0)


def _each(loss: str, guess: Any, score: Array) -> Array:
    if loss == "pairwise":
        return guess
    if guess.ndim > 1:
        last = guess.shape[1] - 1
        if loss == "brier":
            return (guess @ jnp.linspace(0.0, 1.0, last + 1) - score) ** 2
        level = jnp.round(score * last).astype(jnp.int32)
        p = jnp.take_along_axis(guess, level[:, None], axis=1)[:, 0]
        return cross_entropy(p, jnp.ones_like(p))
    return (guess - score) ** 2 if loss == "brier" else cross_entropy(guess, score)


# The pairwise loss


@lru_cache
def _pairwise(rules: Rules) -> Rules:
    return rules._replace(predict=partial(_against_opponents, rules))


def _against_opponents(rules: Rules, constants: Constants, rows: State, event: Rounds) -> Array:
    """[P] what each loses, of the rows before the round."""
    there = field.real(event)
    count, size = jnp.sum(there, dtype=jnp.int32), len(event.rank)
    mixed = (event.player.astype(jnp.uint32) * jnp.uint32(_SHUFFLE)) >> 1
    order = jnp.argsort(jnp.where(there, mixed.astype(jnp.int32), LAST_ID))
    one = jax.tree.map(lambda x: x[order], (rows, event.rank, field.weight(event)))
    place = jnp.arange(size, dtype=jnp.int32)

    def pair(one: tuple[State, Array, Array], two: tuple[State, Array, Array]) -> Array:
        """What the system says of the two."""
        both, _, weight = jax.tree.map(lambda x, y: jnp.stack([x, y]), one, two)
        match = Matches(jnp.arange(2, dtype=jnp.int32), jnp.full((), 0.5), event.time, Context(weight=weight.mean()))
        return rules.predict(constants, both, match)

    def behind(step: Array) -> Array:
        """[P] the losses against those so many places further on, and before, in the circle; twice if it is them."""
        on, back = ((place + x) % jnp.maximum(count, 1) for x in (step, -step))
        two = jax.tree.map(lambda x: x[on], one)
        score = 0.5 + 0.5 * jnp.sign(two[1] - one[1]).astype(jnp.result_type(float))
        value = cross_entropy(jax.vmap(pair)(one, two), score)
        value = jnp.where(2 * step == count, 0.5, 1.0) * (value + value[back])
        return jnp.where((place < count) & (2 * step <= count), value, 0.0)

    total = jnp.sum(lax.map(behind, jnp.arange(1, min(size // 2, OPPONENTS) + 1, dtype=jnp.int32)), axis=0)
    met = jnp.clip(count - 1, 1, 2 * OPPONENTS).astype(total.dtype)
    return jnp.zeros_like(total).at[order].set(total / met, unique_indices=True)


# The losses of a history as functions of hyperparameters, and their derivatives

MEMORY = 1 << 29  # bytes that settings computed at once may take
ROW = 1024  # losses are summed so many at a time in the default precision, and these sums on the host in float64


class Free(NamedTuple):
    """How free parameters, which may be any number, become those of the system."""

    names: tuple[str, ...]
    spaces: tuple[str, ...]  # "real" | "positive" | "unit" of each, or "above" | "below" its anchors
    anchors: tuple[tuple[str | float, ...], ...]  # what each bound, or what has a least value, lies above or below
    kept: tuple[tuple[str, str, str], ...]  # (bound, parameter, "moves" | "max" | "min"): how bounds not freed give way


def constrain(free: Free, x: Array, unit: Array, params: Params) -> Params:
    """The hyperparameters of x [k]: `unit` x, exp x, or 1 / (1 + exp -x); or exp(+-exp x) times an anchor."""
    space: dict[str, Any] = {"real": lambda x: x, "positive": jnp.exp, "unit": jax.nn.sigmoid}
    for i, (name, kind) in enumerate(zip(free.names, free.spaces, strict=True)):
        if kind in space:
            params = params._replace(**{name: space[kind](x[i]) * unit[i]})
    for i, (name, kind) in enumerate(zip(free.names, free.spaces, strict=True)):
        if kind not in space:
            ends = (getattr(params, y) if isinstance(y, str) else jnp.asarray(y, float) for y in free.anchors[i])
            anchor = reduce(jnp.maximum if kind == "above" else jnp.minimum, ends)
            params = params._replace(**{name: anchor * jnp.exp((1.0 if kind == "above" else -1.0) * jnp.exp(x[i]))})
    keep: dict[str, Any] = {"moves": lambda bound, value: value, "max": jnp.maximum, "min": jnp.minimum}
    for bound, name, how in free.kept:
        params = params._replace(**{bound: keep[how](getattr(params, bound), getattr(params, name))})
    return params


@jax.jit
def _sums(weight: Array, x: Array) -> Array:
    """[..., rows] of weight x [..., n], ROW at a time."""
    x = weight * x
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % ROW)])
    return jnp.sum(padded.reshape(*x.shape[:-1], -1, ROW), axis=-1)


def _values(losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """[2, rows] sums of the losses by each of two weights [2, n]."""
    del event
    return _sums(weight, losses(x)[None])


def _forward(losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """The same; the slopes [k, rows] of the first; and [k, k] the sum, over events, of products of its slopes."""

    def push(tangent: Array) -> Any:
        return jax.jvp(losses, (x,), (tangent,))

    value, slope = jax.vmap(push, out_axes=(None, 0))(jnp.eye(len(x)))
    return _sums(weight, value[None]), _sums(weight[:1], slope), _products(weight[0], slope, event)


@jax.jit
def _products(weight: Array, slope: Array, event: Array | None) -> Array:
    """[k, k] the sum, over events, of products of weighted slopes [k, n] that are summed over each."""
    whole = weight[None] * slope
    if event is not None:
        whole = jnp.zeros_like(whole).at[:, event].add(whole)
    return jnp.einsum("in,jn->ij", whole, whole, precision="highest")


def _reverse(losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """Sums and slopes as `_forward` gives them, without the products."""
    del event

    def total(x: Array) -> Any:
        value = losses(x)
        return jnp.sum(weight[0] * value), _sums(weight, value[None])

    slope, value = jax.grad(total, has_aux=True)(x)
    return value, slope[:, None], jnp.zeros((len(x), len(x)))


def _bends(along: tuple[Array, Array], losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """[pairs, rows] of the sums by the first weight: the second slopes along pairs of axes [pairs, k]."""
    del event

    def slope(x: Array, along: Array) -> Array:
        return jax.jvp(lambda x: _sums(weight[0], losses(x)), (x,), (along,))[1]

    def bend(one: Array, two: Array) -> Array:
        return jax.jvp(partial(slope, along=one), (x,), (two,))[1]

    return jax.vmap(bend)(*along)


_WHAT: dict[str, Any] = {"values": _values, "forward": _forward, "reverse": _reverse}


def at_once(what: Task, count: int, copies: int) -> int:
    """How many settings are computed at once, of `count`, each with so many numbers for one."""
    state = blank(what.system, what.num_players)
    numbers = 6 * len(what.weight) + 2 * sum(math.prod(x.shape) for x in jax.tree.leaves(state))
    most = max(MEMORY // (copies * numbers * jnp.dtype(float).itemsize), 1)
    return -(-count // -(-count // most))


def chunks(count: int, size: int) -> Iterator[NumPy]:
    """Indices, always `size` at a time: the last one may be repeated."""
    for low in range(0, count, size):
        yield np.minimum(np.arange(low, low + size), count - 1)


def calculate(what: str, task: Task, free: Free, x: NumPy, unit: NumPy, params: Params, weight: NumPy) -> Any:
    """A function of `_WHAT`, or the "hessian", for many settings at once; in float64, each sum complete.

    Args:
      x: [S, k] the free parameters of each setting.
      unit: [k].
      params: leaves [S], the others.
      weight: [2, n] of training and of validation.

    Returns:
      Leaves [S, 2], [S, k] or [S, k, k].
    """
    x, unit, params, weight = jax.tree.map(lambda y: jnp.asarray(y, float), (x, unit, params, weight))
    event = None if isinstance(task.events, Matches) else jnp.asarray(task.event, jnp.int32)

    def one(function: Any, x: Array, params: Params) -> Any:
        def losses(x: Array) -> Array:
            now = constrain(free, x, unit, params)
            options = dict(state=task.state, num_players=task.num_players, key=task.key, schedule=task.schedule)
            guess = run(task.system, task.events, params=now, **options).prediction
            return _lost(task.loss, guess, task.score, weight)

        return function(losses, x, weight, event)

    def each(function: Any) -> Any:
        with nullcontext() if what == "reverse" else outermost():
            return jax.vmap(partial(one, function))(x, params)

    if what == "hessian":
        (i, j), axes, whole = np.triu_indices(x.shape[1]), jnp.eye(x.shape[1]), np.empty((*x.shape, x.shape[1]))
        for at in chunks(len(i), at_once(task, len(i), len(x))):
            bends = np.asarray(each(partial(_bends, (axes[i[at]], axes[j[at]]))), np.float64).sum(axis=-1)
            whole[:, i[at], j[at]] = whole[:, j[at], i[at]] = bends
        return whole
    result = each(_WHAT[what])
    value, *slopes = result if isinstance(result, tuple) else (result,)
    totals = [np.asarray(y, np.float64).sum(axis=-1) for y in (value, *slopes[:1])]
    return (*totals, np.asarray(slopes[1], np.float64)) if slopes else totals[0]
