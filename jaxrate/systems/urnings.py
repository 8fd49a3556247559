"""Urnings (Bolsinova, Maris, Hofman, van der Maas and Brinkhuis 2022).

Player k has an urn of n_k balls, r_k of them green; r_k / n_k estimates their pi_k. The scores x = 0..m of player i
against player j have weights w_x, and

    P(x) ~ w_x (pi_i (1 - pi_j))^x (pi_j (1 - pi_i))^(m - x)

Two outcomes: m = 1, w = (1, 1). Draws: m = 2, w = (1, d, 1), where d = 2 if a draw is a win and a loss of two games
(A24 to A26), and 2.5 for the paper's chess. Stakes of m balls: w = (1, 0, ..., 0, 1). A game that ends
X is played once more, with balls drawn from the urns and not put back. From N_i balls, g_i of them green, and N_j, g_j,
the score X* = x has a probability proportional to

    s_x = w_x (g_i)_x (N_i - g_i)_(m-x) (g_j)_(m-x) (N_j - g_j)_x,   (z)_k = z (z - 1) ... (z - k + 1),   Z = sum s_x

and the balls of the real game replace those of the mock one, r_i + X - X* and r_j - X + X*, with probability
min(1, A Q), equation (11). U1 (the paper): N = n, g = r, A = Z before / Z after, equation (7) where m = 1; if Z = 0, as
when both urns are full, nothing moves (an urn of fewer than m balls never does).
accept_all (Theorem 1): as U1, but A = 1 wherever balls can be drawn. Then two urns that play nobody else have the law
of U1 times Z, (5) where m = 1: they lie further apart than the binomials. The law of more urns has no such form.
U2 (the same authors, later): the real balls are put in first, N = n + m, g_i = r_i + X, g_j = r_j + m - X, and A = 1.
Q is the probability that these two were matched, after over before: 1 if it does not depend on the urns, as `run` takes
it.

While skills stand still, the r_k are binomial, independent but for their sum, which never changes (Theorems 2 to 5):
the standard error of p = r / n is sqrt(p (1 - p) / n). Whatever the sum, the odds ratios are the same. (With stakes the
r_k keep their remainders by m as well.) From anywhere each game brings them nearer to that law, by the Kullback-Leibler
distance (Theorem 6).

The rating is r / n, the paper's estimate. The prediction takes pi = (r + 1) / (n + 2), the mean of what r of n say of a
pi that may be anything: nothing is certain because an urn is empty. With `estimate="share"` it takes r / n too.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.argument_checks import check_count, check_that, to_floats
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.pairwise_rules import split_sides
from jaxrate.core.rules import Params, Rating, Rules, keep_rows
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.events import Matches, fail_where

MAX_URN_SIZE = 1 << 23  # balls in an urn: in float32 they are still counted exactly
INFINITE_LEAD = 1e4  # difference of logits of which nothing but 0 or 1 comes


class Constants(NamedTuple):
    weights: tuple[float | Array, ...]  # [m + 1]


class State(NamedTuple):
    green: Array  # [num_players] int32 balls
    size: Array  # [num_players] int32 balls in the urn


def init(params: Params, num_players: int) -> State:
    balls, dtype = (params.size * params.initial_proportion, params.size), jnp.result_type(float)
    whole = (jnp.round(x) if isinstance(x, jax.Array) else np.round(np.asarray(x, dtype)) for x in balls)
    return State(*(full_leaf(num_players, x, jnp.int32) for x in whole))


def prepare(weights: tuple[float, ...], params: Params) -> Constants:
    first, *between, last = weights
    return Constants((first, *(params.draw_weight * w for w in between), last))


def urn_logit(green: Array, size: Array) -> Array:
    """ln((r + 1) / (n - r + 1)), finite for empty and full urns."""
    dtype = jnp.result_type(float)
    return jnp.log((green + 1).astype(dtype) / (size - green + 1).astype(dtype))


def score_probabilities(constants: Constants, logit_lead: Array) -> list[Array]:
    """P(x) for x = 0..m, of a difference of logits."""
    m = len(constants.weights) - 1
    parts = [w * jnp.exp(x * logit_lead - jnp.maximum(m * logit_lead, 0.0)) for x, w in enumerate(constants.weights)]
    total = sum(parts)
    return [part / total for part in parts]


def posterior_mean_logit_difference(one: State, two: State) -> Array:
    """The difference of the logits of (r + 1) / (n + 2)."""
    return urn_logit(*one) - urn_logit(*two)


def green_share_logit_difference(one: State, two: State) -> Array:
    """The difference of the logits of r / n: 0 of two empty or full urns, else `INFINITE_LEAD` where it is infinite."""
    dtype = jnp.result_type(float)
    up, down = (x.green.astype(dtype) * (y.size - y.green).astype(dtype) for x, y in ((one, two), (two, one)))
    finite = (up > 0) & (down > 0)
    ratio = jnp.where(finite, up, 1.0) / jnp.where(finite, down, 1.0)
    return jnp.where(finite, jnp.log(ratio), INFINITE_LEAD * (jnp.sign(up) - jnp.sign(down)))


ESTIMATES = {"mean": posterior_mean_logit_difference, "share": green_share_logit_difference}


def predict(estimate: str, constants: Constants, rows: State, event: Matches) -> Array:
    """Expected score of the first player."""
    m, lead = len(constants.weights) - 1, ESTIMATES[estimate](*split_sides(rows, event))
    expected: Any = sum(x / m * p for x, p in enumerate(score_probabilities(constants, lead)))
    return expected


def predict_score_probabilities(estimate: str, constants: Constants, rows: State, event: Matches) -> Array:
    """[m + 1] P(x), the probability of each score x of a match."""
    return jnp.stack(score_probabilities(constants, ESTIMATES[estimate](*split_sides(rows, event))))


MAX_OUTCOMES = 101  # outcomes: those of hundredths
MAX_WEIGHT = 1e9  # weight of a score: up to it, and from its inverse, no product leaves the range of float32
MAX_SAFE_STAKE = 2  # up to this m no product leaves the range of float32


def ball_pair_factors(constants: Constants, one: State, two: State) -> tuple[list[Array], list[Array]]:
    """(g_i - k)(N_j - g_j - k) and (N_i - g_i - k)(g_j - k) for k < m, of two urns, each leaf []."""
    m, dtype = len(constants.weights) - 1, jnp.result_type(float)

    def products(mine: Array, other: Array) -> list[Array]:
        return [jnp.maximum(mine - k, 0.0) * jnp.maximum(other - k, 0.0) for k in range(m)]

    green = [urn.green.astype(dtype) for urn in (one, two)]
    red = [(urn.size - urn.green).astype(dtype) for urn in (one, two)]
    return products(green[0], red[1]), products(red[0], green[1])


def unnormalised_score_probabilities(
    factors: tuple[list[Array], list[Array]], constants: Constants, unit: Array | float
) -> list[Array]:
    """s_x / unit^m for x = 0..m: w_x times x of the first factors and m - x of the second."""
    up, down = ([jnp.ones_like(some[0]), *accumulate((x / unit for x in some), operator.mul)] for some in factors)
    return [w * a * b for w, a, b in zip(constants.weights, up, reversed(down), strict=True)]


def overflow_preventing_divisor(factors: tuple[list[Array], list[Array]], constants: Constants) -> Array | float:
    """A number by which to divide all factors, so that the largest s_x is about 1; 1 if no product can overflow."""
    m = len(constants.weights) - 1
    if m <= MAX_SAFE_STAKE:
        return 1.0
    up, down = ([jnp.zeros_like(some[0]), *accumulate(jnp.log(x) for x in some)] for some in factors)
    logs = [jnp.where(w > 0, a + b, -jnp.inf) for w, a, b in zip(constants.weights, up, reversed(down), strict=True)]
    top = reduce(jnp.maximum, logs)
    return jnp.where(top >= 0.0, jnp.exp(top / m), jnp.maximum(jnp.maximum(factors[0][0], factors[1][0]), 1.0))


def unnormalised_simulated_score_probabilities(
    variant: str, constants: Constants, one: State, two: State, score: Array
) -> list[Array]:
    """[m + 1] numbers proportional to the probabilities of X*, after the score X."""
    if variant == "U2":
        m = len(constants.weights) - 1
        one, two = (State(urn.green + x, urn.size + m) for urn, x in ((one, score), (two, m - score)))
    factors = ball_pair_factors(constants, one, two)
    return unnormalised_score_probabilities(factors, constants, overflow_preventing_divisor(factors, constants))


def draw_mock_score(score_terms: list[Array], uniform: Array) -> Array:
    """X*, the smallest k for which uniform Z < s_0 + ... + s_k."""
    *below, total = accumulate(score_terms)
    return sum((uniform * total >= x).astype(jnp.int32) for x in below)


def acceptance_correction(variant: str, constants: Constants, one: State, two: State, gain: Array) -> Array | float:
    """A, if the first urn gains so many green balls from the second; 0 if Z is."""
    if variant == "U2":
        return 1.0
    if variant == "accept_all":
        return jnp.where(sum(unnormalised_simulated_score_probabilities("U1", constants, one, two, gain)) > 0, 1.0, 0.0)
    before, after = ball_pair_factors(constants, one, two), ball_pair_factors(constants, *move_balls(one, two, gain))
    unit = overflow_preventing_divisor(before, constants)
    old, new = (sum(unnormalised_score_probabilities(factors, constants, unit)) for factors in (before, after))
    return jnp.where((old > 0) & (new > 0), old / jnp.where(new > 0, new, 1.0), 0.0)


def move_balls(one: State, two: State, gain: Array) -> tuple[State, State]:
    return one._replace(green=one.green + gain), two._replace(green=two.green - gain)


def green_gain_from_game(
    variant: str,
    constants: Constants,
    one: State,
    two: State,
    score: Array,
    uniforms: Array,
    ratio: Callable[[Array], Array] | None = None,
) -> Array:
    """How many green balls the first urn gains; `uniforms` [2] are for X* and acceptance, `ratio` is Q, or 1."""
    terms = unnormalised_simulated_score_probabilities(variant, constants, one, two, score)
    gain = score - draw_mock_score(terms, uniforms[0])
    chance = acceptance_correction(variant, constants, one, two, gain)
    if ratio is not None:
        chance = chance * ratio(gain)
    return jnp.where(uniforms[1] < chance, gain, 0)


def score_level(constants: Constants, event: Matches) -> Array:
    """X of a match: its score as one of the levels 0 to m."""
    return jnp.round(event.score * (len(constants.weights) - 1)).astype(jnp.int32)


def update(variant: str, constants: Constants, rows: State, event: Matches, uniforms: Array) -> State:
    one, two = split_sides(rows, event)
    gain = green_gain_from_game(variant, constants, one, two, score_level(constants, event), uniforms)
    return jax.tree.map(lambda *x: jnp.stack(x), *move_balls(one, two, gain))


def draw_game_uniforms(key: Array) -> Array:
    """The two uniform numbers of a game."""
    return jax.random.uniform(key, (2,))


def check_game_uniforms(uniforms: Any) -> None:
    """ValueError if numbers [n, 2] are not uniform ones."""
    bad = ~((uniforms >= 0) & (uniforms < 1)).all(axis=1)
    fail_where(bad, lambda row: f"the numbers {uniforms[row]} are not from 0, below 1")


def summary(_params: Params, rows: State) -> Rating:
    """The share of green balls and its standard error."""
    return _summarise_in_one_program(rows)


@jax.jit
def _summarise_in_one_program(rows: State) -> Rating:
    size = rows.size.astype(jnp.result_type(float))
    mean = rows.green.astype(size.dtype) / size
    return Rating(mean, jnp.sqrt(mean * (1.0 - mean) / size))


def check_scores(weights: tuple[float, ...], events: Matches) -> None:
    """ValueError if a score is no level, or one of weight 0, or if a match counts as anything but one."""
    m, weight = len(weights) - 1, events.context.weight
    score = np.asarray(events.score, np.float64)
    level = np.rint(score * m).astype(np.int64)
    near = np.abs(score * m - level) < 1e-4
    fail_where(~near, lambda row: f"score {score[row]} is none of 0, 1/{m}, ..., 1; make urnings with other outcomes")
    absent = np.asarray(weights)[level] == 0
    fail_where(absent, lambda row: f"score {score[row]} has the weight 0, as if it could not happen")
    if weight is not None:
        fail_where(np.asarray(weight) != 1, lambda row: f"weight {weight[row]}; urnings takes matches of weight 1 only")


def _check_score_weights(outcomes: int | None, weights: Sequence[float] | None) -> tuple[float, ...]:
    """[outcomes] the weights of scores, or as many ones, or two; ValueError for wrong ones."""
    if outcomes is None:
        outcomes = 2 if weights is None else len(weights)
    check_count("urnings: outcomes", outcomes, 2, MAX_OUTCOMES)
    found = (1.0,) * outcomes if weights is None else tuple(to_floats("urnings: weights", weights).tolist())
    check_that(len(found) == outcomes, f"urnings: there are {outcomes} outcomes, but {len(found)} weights")
    are_weights = all(0.0 <= w < np.inf for w in found) and found[0] and found[-1]
    check_that(are_weights, f"urnings: weights must be finite, from 0, and above 0 of the scores 0 and 1, got {found}")
    return found


@system_factory
def urnings(
    size: Annotated[
        float,
        hyper.Parameter(
            hyper.HyperparameterRange(f"whole, from 1 to {MAX_URN_SIZE}", 1.0, MAX_URN_SIZE, whole=True),
            "balls",
            "size of a newcomer's urn",
            fitted=False,
        ),
    ] = 100.0,
    outcomes: int | None = None,
    weights: Sequence[float] | None = None,
    variant: Literal["U2", "U1", "accept_all"] = "U2",
    estimate: Literal["mean", "share"] = "mean",
    *,
    initial_proportion: Annotated[
        float, hyper.Parameter(hyper.OPEN_UNIT_INTERVAL, "share", "green balls in the urn of a newcomer", fitted=False)
    ] = 0.5,
    draw_weight: Annotated[
        float | None,
        hyper.Parameter(
            hyper.POSITIVE,
            "factor",
            "of the weights of scores between 0 and 1",
            concerns_draws=True,
            if_none="2 with three outcomes and no weights, so that they are (1, 2, 1), the paper's; else 1",
        ),
    ] = None,
) -> RatingSystem:
    """Urnings, match by match; `run` needs a `key`.

        jr.run(jr.urnings(20, outcomes=3), data, key=jax.random.key(0))

    After 3 to 10 games per ball the start is forgotten. Urns of several sizes are made by `jr.urns.make_urns`. The
    paper's `draw_weight` for chess is 2.5. Balls do not change smoothly: a derivative by it is that of the predictions
    from the urns as they are.

    Args:
      outcomes: m + 1, how many scores there are: 0, 1/m, ..., 1. None: as many as weights, or 2.
      weights: [m + 1] of the scores: 0, or 1e-9 to 1e9 as those of 0 and 1 must be. None: ones, times `draw_weight`.
      variant: "U2"; "U1", the paper's; or "accept_all", which accepts every proposal (Theorem 1): two urns alone have
        then the law of U1 times Z, [r_1 (n_2 - r_2) + (n_1 - r_1) r_2] of two outcomes. It is there to show the bias
        that U1 mends.
      estimate: of pi in predictions, "mean" is (r + 1) / (n + 2), and "share" the paper's r / n: an empty urn then has
        no chance against one that is not, and a full one is certain to win. (Two of the same kind are equals.) Ratings
        are r / n either way.

    Raises:
      ValueError: for an unknown name or a value out of range, or a newcomer's urn that is empty, full or too small.
    """
    score_weighting = _check_score_weights(outcomes, weights)
    outcomes = len(score_weighting)
    if draw_weight is None:
        draw_weight = 2.0 if outcomes == 3 and weights is None else 1.0
    params, space = hyper.collect_params(urnings, locals())
    heavy = [*score_weighting, *(params.draw_weight * w for w in score_weighting[1:-1])]
    in_range = all(not w or 1.0 / MAX_WEIGHT <= w <= MAX_WEIGHT for w in heavy)
    check_that(in_range, f"urnings: weights, also times draw_weight, must be 0 or 1e-9 to 1e9, got {tuple(heavy)}")
    check_that(
        variant == "U2" or params.size >= outcomes - 1,
        f"urnings: {variant} draws {outcomes - 1} balls at once, and an urn has only {params.size:g}; take U2",
    )
    check_that(
        0 < np.rint(params.size * params.initial_proportion) < params.size,
        f"urnings: {params.initial_proportion:g} of {params.size:g} balls, rounded, is none or all of them; "
        "take more balls, or another initial_proportion",
    )
    rules = Rules(bind(prepare, score_weighting), keep_rows, bind(predict, estimate), bind(update, variant))
    return RatingSystem(
        init,
        rules._replace(
            outcomes=bind(predict_score_probabilities, estimate),
            draw=draw_game_uniforms,
            check_drawn=check_game_uniforms,
        ),
        (Matches,),
        summary,
        bind(check_scores, score_weighting),
        params=params,
        space=space,
        settings={"outcomes": outcomes, "weights": score_weighting},
    )


def make_urns(size: Any, proportion: Any = 0.5) -> State:
    """A state to start from, for `run(..., state=urns(...))`, where not all urns are alike.

        jr.urns.make_urns([20, 100], 0.5)  # player 1 moves a fifth as fast

    `urns(np.where(is_movie, 100, 10))` are large urns of movies and small ones of users; only differences of logits
    count, so that the proportions may be half everywhere, or random.

    Args:
      size: [num_players] balls in each urn, whole, from 1.
      proportion: [] or [num_players] share of green balls, in [0, 1], rounded to balls.

    Raises:
      ValueError: for a value out of range, or if no ball at all is green, or every one: then none could ever move.
    """
    sizes = np.asarray(size)
    are_counts = sizes.ndim == 1 and sizes.dtype.kind in "iu"
    check_that(are_counts, f"size must be integers [num_players], got {sizes.dtype} of shape {sizes.shape}")
    fail_where(
        (sizes < 1) | (sizes > MAX_URN_SIZE), lambda row: f"an urn has 1 to {MAX_URN_SIZE} balls, not {sizes[row]}"
    )
    shares = to_floats("proportion", proportion)
    fits = shares.shape in ((), sizes.shape)
    check_that(fits, f"proportion has shape {shares.shape}, expected () or {sizes.shape}")
    shares = np.broadcast_to(shares, sizes.shape)
    fail_where(~((shares >= 0) & (shares <= 1)), lambda row: f"proportion {shares[row]} is outside [0, 1]")
    green = np.rint(sizes * shares)
    can_move = 0 < green.sum() < sizes.sum()
    check_that(can_move, f"{green.sum():g} of {sizes.sum()} balls are green: none could ever move")
    return State(*(jax.device_put(x.astype(np.int32)) for x in (green, sizes)))
