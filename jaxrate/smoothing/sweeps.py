"""Sweeps: all timelines are passed over with the sites that there are, then all sites are made anew at once."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array
from jaxrate.numerics import solve_definite
from jaxrate.replay.compiling import side_by_side
from jaxrate.smoothing.passes import Course, Seen, Site, at_nodes, backwards, course, forwards
from jaxrate.smoothing.passes import told as after
from jaxrate.smoothing.sites import integral, log_chance, met, told
from jaxrate.smoothing.timelines import Moment, Timelines
from jaxrate.system import Rating
from jaxrate.systems.skills.model import Constants, Model, State, init, prepare
from jaxrate.systems.skills.observations import expected_score
from jaxrate.systems.skills.strengths import Strength, ahead, picks

KEPT = 5  # sweeps that are mixed
FREE = 3  # first sweeps that are not, as they go far
WIDE = 1024  # sums side by side
COARSER = 0.1  # what a change of a variance counts, relative to itself: rounding moves it more than means


class Swept(NamedTuple):
    """What the sweeps leave."""

    site: Site  # [2, size]
    cavity: Strength  # [2, size] of x^T theta, given all but the match, ahead of a newcomer
    sweeps: Array  # how many there were
    change: Array  # the greatest in the last, of a mean in units of its deviation, or a tenth of that of a variance


class Known(NamedTuple):
    """What is known in the end."""

    rating: Rating  # [2, size] of both players of each match, as it left them
    parts: Rating  # [2, size, D]
    state: State  # [num_players, ...] after the last match of each
    prediction: Array  # [size] expected scores, given all but the match
    evidence: Array  # [size] its share of each match


class Problem(NamedTuple):
    constants: Constants
    way: Course
    offset: Array  # [size] d where the players are equal


def problem(model: Model, params: Any, lines: Timelines) -> Problem:
    constants = prepare(model, params)
    constants = constants._replace(newcomer=jax.tree.map(jnp.zeros_like, constants.newcomer))
    games = None if params.experience is None else (lines.games[0], lines.games[1])
    offset = ahead(model, constants, jnp.zeros_like(lines.events.score), games, lines.events)
    return Problem(constants, course(model, constants, lines, picks(model, lines.events)), offset)


def at_players(values: Array, lines: Timelines) -> Array:
    """[2, size, ...] of both players of each match, of values [steps, ..., lanes]."""
    flat = jnp.moveaxis(values, -1, 1).reshape(-1, *values.shape[1:-1])
    return flat[lines.place]


class Past(NamedTuple):
    """The last sweeps: by how much each differs from the one before it."""

    image: Site  # [KEPT, 2, size] of the sites that a sweep makes
    residual: Array  # [KEPT, 2, size] of by how much it changes them, in deviations
    products: Array  # [KEPT, KEPT] of the residuals
    known: Array  # how many there have been since the past was forgotten


class Progress(NamedTuple):
    swept: Swept
    image: Site  # [2, size] that the last sweep made
    residual: Array  # [2, size]
    past: Past


@side_by_side
def sweep(
    model: Model, params: Any, lines: Timelines, tolerance: Array, most: Array, site: Site | None = None
) -> Swept:
    """Until no mean moves by more than `tolerance` deviations, nor a variance by ten times that, or `most` times.

    It begins with these sites, or with none. Matches that are not `real` say nothing.
    """
    made = problem(model, params, lines)
    zero = jnp.zeros(lines.place.shape, lines.passed.dtype)
    real = jnp.broadcast_to(lines.real, zero.shape)

    def again(progress: Progress) -> Progress:
        (site, before, count, _), *last = progress
        nodes = Site(*(at_nodes(x, lines) for x in site))
        cavity, _ = backwards(made.way, forwards(model, made.constants, made.way, nodes)[0], nodes)
        here = Strength(None, *(at_players(x, lines) for x in cavity[1:]))
        moved = jnp.abs(here.mean - before.mean) * lax.rsqrt(here.variance)
        moved = jnp.maximum(moved, COARSER * jnp.abs(before.variance / here.variance - 1.0))
        change = jnp.max(jnp.where(real, moved, 0.0))
        image = told(model, made.constants, met(here, made.offset), lines.events)
        image = jax.tree.map(lambda x: jnp.where(real, x, 0.0), image)
        scale = jnp.where(real, jnp.sqrt(here.variance), 0.0)
        site, *last = accelerated(site, image, scale, count, *last)
        return Progress(Swept(site, here, count + 1, change), *last)

    none = jnp.zeros((KEPT, *zero.shape), zero.dtype)
    start = Swept(site or Site(zero, zero), Strength(None, zero, zero + jnp.inf), jnp.int32(0), zero[0, 0] + jnp.inf)
    progress = Progress(
        start, Site(zero, zero), zero, Past(Site(none, none), none, jnp.zeros((KEPT, KEPT), zero.dtype), jnp.int32(0))
    )

    def unsettled(progress: Progress) -> Array:
        return (progress.swept.sweeps < most) & ~(progress.swept.change <= tolerance)

    return lax.while_loop(unsettled, again, progress).swept


def accelerated(
    site: Site, image: Site, scale: Array, count: Array, last: Site, residual: Array, past: Past
) -> tuple[Site, Site, Array, Past]:
    """The sites of the next sweep (Anderson 1965, "Iterative procedures for nonlinear integral equations").

    Of all mixtures of the last sweeps it takes the one that would have changed sites least. Where a sweep changes more
    than the one before it the past is forgotten, and it counts half.
    """
    new = (image.pull - site.pull) * scale
    worse = (count > 0) & (_product(new, new) > _product(residual, residual))
    known = jnp.where(worse | (count < FREE), 0, past.known + 1)
    slot = jnp.maximum(known - 1, 0) % KEPT
    images = jax.tree.map(lambda old, x, y: old.at[slot].set(x - y), past.image, image, last)
    change = new - residual
    residuals = past.residual.at[slot].set(change)
    row = jnp.stack([_product(x, change) for x in residuals])
    products = past.products.at[slot].set(row).at[:, slot].set(row)
    use = jnp.arange(KEPT, dtype=known.dtype) < known
    size = jnp.where(use, jnp.maximum(jnp.sqrt(jnp.diagonal(products)), float(np.finfo(new.dtype).tiny)), jnp.inf)
    gram = products / (size[None] * size[:, None]) + jnp.diag(
        jnp.where(use, 10.0 * float(np.finfo(new.dtype).eps), 1.0)
    )
    wanted = jnp.stack([_product(x, new) for x in residuals]) / size
    share = solve_definite(gram[None], wanted[None])[0] / size
    step = jnp.where(worse, 0.5, 1.0)

    def mixed(old: Array, now: Array, changes: Array) -> Array:
        return old + step * (now - old) - sum(share[i] * changes[i] for i in range(KEPT))

    precision, pull = jax.tree.map(mixed, site, image, images)
    return Site(jnp.maximum(precision, 0.0), pull), image, new, Past(images, residuals, products, known)


def _product(x: Array, y: Array) -> Array:
    """The sum of products, many sums side by side: fast, and of little rounding."""
    whole = (x * y).reshape(-1)
    wide = jnp.pad(whole, (0, -len(whole) % WIDE)).reshape(-1, WIDE)
    return jnp.sum(jnp.sum(wide, axis=0))


@side_by_side
def conclude(model: Model, params: Any, lines: Timelines, site: Site) -> Known:
    """What is known with these sites."""
    made = problem(model, params, lines)
    nodes = Site(*(at_nodes(x, lines) for x in site))
    seen, belief = forwards(model, made.constants, made.way, nodes)
    cavity, hindsight = backwards(made.way, seen, nodes, belief)
    newcomer = jnp.asarray(prepare(model, params).newcomer, site.pull.dtype).reshape(-1)
    mean, variance = (at_players(x, lines) for x in hindsight or ())
    mean = mean + jnp.broadcast_to(newcomer, mean.shape)
    here = Strength(None, *(at_players(x, lines) for x in cavity[1:]))
    pair = met(here, made.offset)
    weight = lines.events.context.weight
    games = lines.games + (1.0 if weight is None else weight[None])
    rating = mean[..., 0] if params.experience is None else mean[..., 0] + params.experience * jnp.log1p(games)
    return Known(
        Rating(rating, jnp.sqrt(variance[..., 0])),
        Rating(mean, jnp.sqrt(variance)),
        _state(model, params, lines, made, (nodes, seen, belief), games),
        expected_score(model, made.constants, pair),
        _shares(model, made, lines, site, (seen, here)),
    )


def shares(model: Model, params: Any, lines: Timelines, site: Site) -> Array:
    """[size] of the evidence, with these sites."""
    made = problem(model, params, lines)
    nodes = Site(*(at_nodes(x, lines) for x in site))
    seen = forwards(model, made.constants, made.way, nodes)[0]
    cavity = backwards(made.way, seen, nodes)[0]
    return _shares(model, made, lines, site, (seen, Strength(None, *(at_players(x, lines) for x in cavity[1:]))))


def _shares(model: Model, made: Problem, lines: Timelines, site: Site, known: tuple[Seen, Strength]) -> Array:
    """Of each match what its result says, in place of what its sites say, of its players; and what time adds."""
    seen, here = known
    before = Strength(None, *(at_players(x, lines) for x in seen[:2]))
    weight = lines.events.context.weight
    chance = log_chance(model, made.constants, met(here, made.offset), lines.events)
    said = jnp.sum(integral(before, site) - integral(here, site), axis=0)
    return jnp.where(lines.real, (chance if weight is None else weight * chance) + said, 0.0)


@side_by_side
def look(model: Model, params: Any, lines: Timelines, moment: Moment, site: Site) -> Rating:
    """[some] the ratings of all who have begun by a moment."""
    made = problem(model, params, lines)
    nodes = Site(*(at_nodes(x, lines) for x in site))
    seen, belief = forwards(model, made.constants, made.way, nodes)
    hindsight: Any = backwards(made.way, seen, nodes, belief)[1]
    mean, variance = (x[:, 0].reshape(-1)[moment.place] for x in hindsight)
    mean = mean + params.initial_rating
    if params.experience is not None:
        mean = mean + params.experience * jnp.log1p(moment.games)
    return Rating(mean, jnp.sqrt(variance))


@side_by_side
def left(model: Model, params: Any, lines: Timelines, site: Site) -> State:
    """The state in which their last matches, by `lines.last`, leave the players, given what all before them say."""
    made = problem(model, params, lines)
    nodes, weight = Site(*(at_nodes(x, lines) for x in site)), lines.events.context.weight
    forward = (nodes, *forwards(model, made.constants, made.way, nodes))
    return _state(model, params, lines, made, forward, lines.games + (1.0 if weight is None else weight[None]))


def _state(model: Model, params: Any, lines: Timelines, made: Problem, forward: Any, games: Array) -> State:
    """The rows of all players after their last matches; those without any are newcomers."""

    def at_last(x: Array) -> Array:
        """[..., num_players] of [steps, ..., lanes]."""
        step, lane = lines.last // x.shape[-1], lines.last % x.shape[-1]
        return jnp.moveaxis(x.at[step, ..., lane].get(mode="clip"), 0, -1)

    nodes, seen, belief = jax.tree.map(at_last, forward)
    learnt = jax.vmap(after, -1, 0)(belief, at_last(made.way.picked), seen, nodes)
    fresh = init(model, params, len(lines.last))
    match = at_last(lines.node)
    side, match = match // lines.real.shape[0], match % lines.real.shape[0]

    def put(old: Array, new: Array) -> Array:
        new = new.reshape(old.shape)
        played = (lines.last < lines.node.size).reshape(-1, *(1 for _ in old.shape[1:]))
        return jnp.where(jnp.broadcast_to(played, old.shape), new, old)

    mean = put(fresh.mean, fresh.mean + learnt.mean.reshape(fresh.mean.shape))
    counted = None if fresh.games is None else put(fresh.games, games.at[side, match].get(mode="clip"))
    time = put(fresh.time, lines.events.time.at[match].get(mode="clip"))
    return State(mean, put(fresh.covariance, learnt.covariance), counted, time)
