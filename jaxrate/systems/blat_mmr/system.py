"""BlatMMR: Bayes on a grid of strengths, for games of luck.

Model 2.1. Player A of strength x beats B of strength y with the chance L(x, y); with luck in the game,

    L(x, y) = (1 - beta)/2 + beta F(x, y)

Model 2.11, match processing. What is known of A is a belief p over strengths (the paper's rho_A), of B a belief q.
After A scored theta, both from before, equations (1) and (7) say

    p(x) <- p(x) sum_y q(y) L(x, y)^theta L(y, x)^(1 - theta),  normalised;   q likewise

Model 2.16, kernel processing. Then, since strengths change, a kernel (its kappa) spreads both, equations (6) and (8):

    p(x) <- sum_k p(x_k) K(x - x_k),  normalised

The prediction is the expected score sum p(x) q(y) L(x, y). Strengths are in natural units; ratings are shown as
1500 + 400/ln 10 x, equation (3). By how much a win over a known strength moves the mean of a normal belief is (4).

The paper's numbers: its grid of n + 1 points from -M to M is `size` and `half_width`; sigma_0 is `prior_deviation`,
sigma_kappa is `kernel_width`, and its Lambda is L here.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, check_that, is_traced
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.hashable_values import HashableArray, bind, display_name, hashable_array
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.rules import Params, Rating, Rules
from jaxrate.core.system import RatingSystem, check_param_names, full_leaf, system_factory
from jaxrate.events import Matches, fail_where
from jaxrate.numerics.fourier_convolution import grid_differences_in_fft_order
from jaxrate.systems.blat_mmr import kernels, opponent_sum_algorithms, settings
from jaxrate.systems.blat_mmr import luck as lucks
from jaxrate.systems.blat_mmr.kernels import (
    NO_ARGUMENTS,
    FunctionArguments,
    Kernel,
    choose_edge_normalisation,
    function_params,
    inspect_arguments,
)
from jaxrate.systems.blat_mmr.luck import Luck
from jaxrate.systems.blat_mmr.opponent_sum_algorithms import Grid, ResultLikelihood, grid_step
from jaxrate.systems.blat_mmr.settings import Constants, Model, SizedAlgorithms, State


def win_chances_at_strengths(
    model: Model, params: Params, x: Array, y: Array, side: Array | float
) -> tuple[Array, Array]:
    """L(x, y) and L(y, x), where `side` is that of x."""
    lead = side * params.side_advantage / model.luck.unit
    first, second = (x + lead) / params.temperature, y / params.temperature

    def mix_with_luck(chance: Array) -> Array:
        return (1.0 - params.beta) / 2.0 + params.beta * chance

    return mix_with_luck(model.luck.first(first, second, side)), mix_with_luck(model.luck.first(second, first, -side))


def average_over_both_beliefs(
    model: Model, constants: Constants, rows: State, event: Matches, likelihood: ResultLikelihood
) -> Array:
    """sum p(x) q(y) W(x, y) for W = power(log L(x, y), log L(y, x))."""
    if _is_low_rank(model, constants, event):
        _, weights, _ = _interpolation_nodes_and_weights(model, constants.form)
        at = jnp.matmul(rows.belief, weights, precision=opponent_sum_algorithms.EXACT)
        w = likelihood(*_log_chance_table_for_match(model, constants, event))
        terms = at[0] * jnp.matmul(w, at[1], precision=opponent_sum_algorithms.EXACT)
        return jnp.maximum(jnp.sum(terms), opponent_sum_algorithms.rounding_of_sums(terms) * jnp.max(terms))
    return jnp.sum(rows.belief[0] * average_likelihood_over_opponent(model, constants, rows, event, likelihood)[0])


def _is_low_rank(model: Model, constants: Constants, event: Matches) -> bool:
    """Whether sums are over nodes: powers of chances may not be of one size in their panels."""
    powers = model.draws == "inside" and event.context.weight is not None
    nodes = constants.form.nodes
    return nodes is not None and constants.form.summing == "low_rank" and not (powers and nodes.panels > 1)


def grid_points(model: Model) -> Array:
    assert model.grid is not None
    return jax.device_put(np.asarray(model.grid.points, jnp.result_type(float)))


def _interpolation_nodes_and_weights(model: Model, algorithms: SizedAlgorithms) -> tuple[Array, Array, HostArray]:
    """Nodes [r], weights [n, r] and panels [n]."""
    assert model.grid is not None and algorithms.nodes is not None
    nodes, weights, panel = opponent_sum_algorithms.barycentric_nodes_and_weights(model.grid, algorithms.nodes)
    return jnp.asarray(nodes, float), jnp.asarray(weights, float), panel


def log_chance_table(model: Model, algorithms: SizedAlgorithms, params: Params, side: Array | float) -> Any:
    """Logarithms of the chances between nodes [r, r], or by difference [2 n - 1]."""
    if algorithms.summing == "low_rank":
        nodes, _, _ = _interpolation_nodes_and_weights(model, algorithms)
        strengths = nodes[:, None], nodes[None]
    elif algorithms.summing in ("fft", "naive") and model.grid is not None and model.luck.difference:
        difference = model.grid.step * grid_differences_in_fft_order(model.grid.size)
        strengths = difference, jnp.zeros_like(difference)
    else:
        return None
    return opponent_sum_algorithms.log_chances(win_chances_at_strengths(model, params, *strengths, side))


def _log_chance_table_for_match(model: Model, constants: Constants, event: Matches) -> Any:
    """The table of a match."""
    side = event.context.side
    return constants.table if side is None else log_chance_table(model, constants.form, constants.params, side)


def _player_supports(model: Model, rows: State) -> Array:
    """The supports of both players, [2, ...]."""
    return jnp.stack([grid_points(model)] * 2) if rows.support is None else rows.support


def average_likelihood_over_opponent(
    model: Model, constants: Constants, rows: State, event: Matches, likelihood: ResultLikelihood
) -> Array:
    """[2, n] of what `sums` describes."""
    form, table = constants.form, _log_chance_table_for_match(model, constants, event)
    if _is_low_rank(model, constants, event):
        _, weights, panel = _interpolation_nodes_and_weights(model, form)
        return opponent_sum_algorithms.low_rank_opponent_sums(weights, panel, table, rows.belief, likelihood)
    if form.summing == "fft":
        return opponent_sum_algorithms.fft_opponent_sums(table, rows.belief, likelihood)
    if table is not None and form.summing != "low_rank":
        w = opponent_sum_algorithms.matrix_from_differences(likelihood(*table))
        return opponent_sum_algorithms.naive_opponent_sums(w, rows.belief)
    x, y = _player_supports(model, rows)
    side = 0.0 if event.context.side is None else event.context.side
    if rows.inner is None:  # [n, n] of every two strengths, or of every two distributions (Example 2.15)
        chances = win_chances_at_strengths(model, constants.params, x[:, None], y[None], side)
    else:
        one, two = win_chances_at_strengths(model, constants.params, x[:, None, :, None], y[None, :, None, :], side)
        mix = partial(jnp.einsum, "ik,ijkl,jl->ij", precision=opponent_sum_algorithms.EXACT)
        chances = mix(rows.inner[0], one, rows.inner[1]), mix(rows.inner[0], two, rows.inner[1])
    w = likelihood(*opponent_sum_algorithms.log_chances(chances))
    return opponent_sum_algorithms.naive_opponent_sums(w, rows.belief)


def average_win_loss_over_opponent(
    model: Model, constants: Constants, rows: State, event: Matches
) -> tuple[Array, Array]:
    """The sums [2, n] of L(x, y) and of L(y, x)."""
    if constants.form.summing != "laplace":
        average = partial(average_likelihood_over_opponent, model, constants, rows, event)
        return average(opponent_sum_algorithms.win_chance), average(opponent_sum_algorithms.loss_chance)
    params = constants.params
    lead = 0.0 if event.context.side is None else event.context.side * params.side_advantage / model.luck.unit
    both = opponent_sum_algorithms.laplace_win_loss_sums(
        model.luck.laplace, _player_supports(model, rows), rows.belief, jnp.asarray(lead, float), params.temperature
    )
    mass = jnp.sum(rows.belief, axis=-1)[::-1, None]
    wins, losses = ((1.0 - params.beta) / 2.0 * mass + params.beta * x for x in both)
    return wins, losses


CENTRE_RATING = 1500.0  # rating of strength 0
LIKELIHOOD_SCALE = {"float32": 1e18, "float64": 1e150}  # of a posterior: its square is still within the precision
PLAYERS_PER_BATCH = 256  # players whose beliefs are spread at once, as of a time


def prepare(model: Model, algorithms: SizedAlgorithms | None, params: Params) -> Constants:
    """The constants of a run with these algorithms, or, if None, with those that suit the hyperparameters."""
    algorithms = settings.resolve_algorithm_sizes(model, params) if algorithms is None else algorithms
    params = jax.tree.map(lambda x: jnp.asarray(x, float), params)
    parts, kernel = None, model.kernel
    if algorithms.spreading == "low_rank":
        parts = kernels.low_rank_component(*(settings.low_rank_kernel_factors(model) or ()))
    elif settings.is_player_and_time_independent_kernel(kernel):
        if model.grid is not None:
            parts = _prepare_kernel_components(model, algorithms, params, params.kernel_width, grid_points(model))
        elif isinstance(kernel.shape, HashableArray):  # whatever the supports
            points = jnp.zeros(kernel.shape.shape[:1])
            parts = _prepare_kernel_components(model, algorithms, params, params.kernel_width, points)
    return Constants(params, algorithms, log_chance_table(model, algorithms, params, 0.0), parts)


def advance(model: Model, constants: Constants, rows: State, time: Array) -> State:
    """A kernel by time is applied once for the time since it last was, as soon as it is wider than a step of the grid.

    (Narrower ones would be the identity on it, and the variance be lost.)
    """
    if rows.time is None:
        return rows
    gap = elapsed_time(time, rows.time)
    width = constants.params.kernel_width * jnp.sqrt(jnp.where(gap > 0, gap, 1.0))
    if rows.width is not None:
        width = width * rows.width
    least = 0.0 if model.grid is None else model.grid.step / min(model.kernel.widths)
    ripe = (gap > 0) & (width > least)
    belief = jnp.where(ripe[..., None], _spread_beliefs(model, constants, rows, width, rows.belief), rows.belief)
    return rows._replace(belief=belief, time=jnp.where(ripe | jnp.isinf(rows.time), time, rows.time))


def predict(model: Model, constants: Constants, rows: State, event: Matches) -> Array:
    """Expected score of the first player."""
    if constants.form.summing == "laplace":
        wins, _ = average_win_loss_over_opponent(model, constants, rows, event)
        return jnp.sum(rows.belief[0] * wins[0])
    chance = average_over_both_beliefs(model, constants, rows, event, opponent_sum_algorithms.win_chance)
    return jnp.clip(chance, 0.0, 1.0)


def update(model: Model, constants: Constants, rows: State, event: Matches) -> State:
    """Models 2.11 and 2.16.

    What is less likely than the precision holds (1e-36, 1e-300; with "fft" than its rounding) counts as that likely: a
    belief that would lose all its mass keeps its prior.
    """
    power = opponent_sum_algorithms.make_result_likelihood(event.score, event.context.weight)
    if model.draws == "inside":
        likelihood = average_likelihood_over_opponent(model, constants, rows, event, power)
    else:
        sums = average_win_loss_over_opponent(model, constants, rows, event)
        likelihood = power(*opponent_sum_algorithms.log_chances(sums))
    scale = LIKELIHOOD_SCALE[likelihood.dtype.name]
    posterior, kernel = rows.belief * jnp.maximum(scale * likelihood, 1.0 / scale), model.kernel
    if kernel.clock != "match":
        belief = posterior / jnp.sum(posterior, axis=-1, keepdims=True)
    elif constants.parts is not None:
        belief = kernels.apply_kernel(kernel, constants.form.spreading, constants.parts, posterior)
    else:
        factor = jnp.ones(2, posterior.dtype) if rows.width is None else rows.width
        belief = _spread_beliefs(model, constants, rows, constants.params.kernel_width * factor, posterior)
    return rows._replace(belief=belief)


def summary(model: Model, _params: Params, rows: State) -> Rating:
    """Mean and deviation in points; of strengths in R^d their average is rated, of distributions their mean."""
    value = support_point_strengths(model, rows)
    mass = jnp.sum(rows.belief, axis=-1)
    mean = jnp.sum(rows.belief * value, axis=-1) / mass
    variance = jnp.sum(rows.belief * (value - mean[..., None]) ** 2, axis=-1) / mass
    deviation = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1.0)), 0.0)
    return Rating(CENTRE_RATING + model.luck.unit * mean, model.luck.unit * deviation)


def support_point_strengths(model: Model, rows: State) -> Array:
    """The strength that each probability of a belief belongs to, as one number: [..., n]."""
    if rows.support is None:
        return jnp.broadcast_to(grid_points(model), rows.belief.shape)
    support = rows.support if model.luck.dimension == 1 else jnp.mean(rows.support, axis=-1)
    return support if rows.inner is None else jnp.sum(rows.inner * support, axis=-1)


def _prepare_kernel_components(
    model: Model, algorithms: SizedAlgorithms, params: Params, width: Array, points: Array
) -> list[kernels.PreparedKernelComponent]:
    step, values = grid_step(model.grid), kernels.shape_function_arguments(model.kernel).select_params(params)
    return kernels.prepare_components(model.kernel, algorithms.spreading, width, points, step, algorithms.reach, values)


def _spread_beliefs(model: Model, constants: Constants, rows: State, width: Array, belief: Array) -> Array:
    """Beliefs [..., n] spread by the widths [...], normalised; a width of 0 spreads nothing."""
    kernel, form = model.kernel, constants.form

    def one(width: Array, p: Array, points: Array | None = None) -> Array:
        points = grid_points(model) if points is None else points
        parts = _prepare_kernel_components(model, form, constants.params, jnp.where(width > 0, width, 1.0), points)
        after = kernels.apply_kernel(kernel, form.spreading, parts, p)
        return jnp.where(width > 0, after, p / jnp.sum(p))

    args: tuple[Array, ...] = width, belief
    if rows.support is not None:
        args += (settings.mean_strengths_of_support_points(rows.support, rows.inner),)
    if belief.ndim == 1:  # one player, as `advance` sees a match
        return one(*args)
    return jax.lax.map(lambda x: one(*x), args, batch_size=PLAYERS_PER_BATCH)


Prior = HashableArray | Callable[..., Any] | None  # None: normal on strengths, uniform on distributions
MIN_DEVIATION_RATIO = 1e-15  # of the way from the prior's mean to the furthest strength that its deviation must be


def parse_prior(prior: Any, count: int, strengths: Any) -> Prior:
    """A checked prior for `count` strengths (or distributions); one with a `pdf` gives that of `strengths`."""
    if prior is None:
        return None
    if callable(getattr(prior, "pdf", None)):
        prior = prior.pdf(np.asarray(strengths, np.float64))
    elif callable(prior):
        if inspect_arguments(prior).num_required != 1:
            raise ValueError(
                f"blat_mmr: prior {display_name(prior)} must take a strength, and nothing else that has no default"
            )
        return prior
    try:
        probabilities = np.asarray(prior, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"blat_mmr: prior is probabilities [n], a function of the strength, or a distribution with a pdf, "
            f"got {prior!r}"
        ) from None
    _check_probabilities("prior", probabilities, count, np.asarray(strengths))
    return hashable_array(probabilities / probabilities.sum())


def prior_function_arguments(prior: Prior) -> FunctionArguments:
    """The arguments of a prior that is a function; none for others."""
    return inspect_arguments(prior) if callable(prior) and not callable(getattr(prior, "pdf", None)) else NO_ARGUMENTS


def prior_belief(prior: Prior, points: Array, mean: Array, deviation: Array, values: Mapping[str, Array]) -> Array:
    """[n] on strengths [n] or [n, d]."""
    if isinstance(prior, HashableArray):
        return jnp.asarray(prior, points.dtype)
    numpy: Any = jnp
    if prior is None:  # if nothing is traced, nothing is compiled
        numpy = jnp if is_traced((points, mean, deviation)) else np
        square = ((numpy.asarray(points) - mean) / deviation) ** 2
        square = square if points.ndim == 1 else numpy.sum(square, axis=-1)
        density = numpy.exp(-0.5 * (square - numpy.min(square))).astype(points.dtype)
    else:
        density = jnp.maximum(jnp.asarray(prior(points, **values)).astype(points.dtype), 0.0)
    probabilities: Array = density / numpy.sum(density)
    return probabilities


def check_prior(prior: Prior, strengths: Any, params: Any, grid: Grid | None) -> None:
    """ValueError if there is no such belief with these hyperparameters, which are numbers."""
    points = np.asarray(strengths, np.float64)
    if prior is None and grid is not None:
        check_that(
            abs(params.prior_mean) < grid.half_width,
            f"blat_mmr: prior_mean {params.prior_mean:g} is beyond the grid's half_width {grid.half_width:g}",
        )
        check_that(
            params.prior_deviation >= grid.step * (1.0 - hyper.RELATIVE_TOLERANCE),
            f"blat_mmr: the grid is too coarse for the prior: its deviation is {params.prior_deviation:g}, less "
            f"than a step of {grid.step:g}; take a finer grid, or give the probabilities (prior)",
        )
    elif prior is None:
        away = np.abs(points - params.prior_mean).max()
        check_that(
            params.prior_deviation >= MIN_DEVIATION_RATIO * away,
            f"blat_mmr: prior_deviation {params.prior_deviation:g} is too small for strengths {away:g} away from "
            "prior_mean; give the probabilities (prior)",
        )
    elif callable(prior):
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            values = prior_function_arguments(prior).select_params(params)
            values = jax.tree.map(lambda x: jnp.asarray(float(x), float), values)
            probabilities = np.asarray(prior(jnp.asarray(points, float), **values), np.float64)
        _check_probabilities(f"prior {display_name(prior)}", probabilities, len(points), points)


def _check_probabilities(name: str, probabilities: Any, count: int, strengths: Any) -> None:
    expected = f"blat_mmr: {name} must be [{count}], a probability for each strength, got {probabilities.shape}"
    check_that(probabilities.shape == (count,), expected)
    (bad,) = np.nonzero(~((probabilities >= 0.0) & (probabilities < np.inf)))
    if len(bad):
        raise ValueError(
            f"blat_mmr: {name} is {probabilities[bad[0]]} at strength {strengths[bad[0]]} (place {bad[0]})"
        )
    total = probabilities.sum()
    check_that(0.0 < total < np.inf, f"blat_mmr: {name} has no mass, or too much: its sum is {total}")


MAX_WEIGHTS = {"float32": 10.0, "float64": 100.0}  # of matches inside sums by transforms or interpolation


class InitialBelief(NamedTuple):
    """The belief with which every player begins."""

    support: Any  # None: the grid
    inner: Any
    prior: Prior

    def as_value(self) -> "InitialBelief":
        """The belief as it may stand in rules."""
        support, inner = (None if x is None else hashable_array(x) for x in (self.support, self.inner))
        return InitialBelief(support, inner, self.prior)


def init(model: Model, initial: InitialBelief, params: Params, num_players: int) -> State:
    """Everyone's prior: normal on the support, and over distributions all of them alike, or what was given."""
    support, inner = (None if x is None else jnp.asarray(x, float) for x in (initial.support, initial.inner))
    points = grid_points(model) if support is None else settings.mean_strengths_of_support_points(support, inner)
    if inner is not None and initial.prior is None:
        belief = jnp.full(len(inner), 1.0 / len(inner))
    else:
        values = prior_function_arguments(initial.prior).select_params(params)
        belief = prior_belief(initial.prior, points, params.prior_mean, params.prior_deviation, values)
    kernel = model.kernel

    def repeat_for_players(x: Array | None) -> Array | None:
        return None if x is None else full_leaf((num_players, *x.shape), x)

    return State(
        repeat_for_players(belief),
        full_leaf(num_players, jnp.inf) if kernel.clock == "time" else None,
        full_leaf(num_players, 1.0) if kernel.own else None,
        repeat_for_players(support),
        repeat_for_players(inner),
    )


def check_kernel_and_prior(model: Model, initial: InitialBelief, params: Any) -> None:
    """ValueError if the kernel or the prior is none with these hyperparameters, which are numbers."""
    support, inner = (None if x is None else np.asarray(x) for x in (initial.support, initial.inner))
    strengths = settings.mean_strengths_of_support_points(support, inner) if model.grid is None else model.grid.points
    if kernels.has_custom_shape(model.kernel):
        values = tuple(map(float, settings.kernel_shape_argument_values(model.kernel, params)))
        given = hashable_array(strengths), grid_step(model.grid), float(params.kernel_width), values
        kernels.checked_custom_kernel_matrix(model.kernel, *given)
    if inner is None or initial.prior is not None:
        check_prior(initial.prior, strengths, params, model.grid)


@system_factory
def blat_mmr(
    luck: str | Luck = "bradley_terry",
    size: int = 1001,
    half_width: float | None = None,
    kernel: Annotated[str | Kernel | None, CHECKED_BY_FUNCTION] = "gaussian",
    algorithm: Literal["auto", "naive", "fft", "laplace", "low_rank"] = "auto",
    draws: Literal["inside", "outside"] = "inside",
    support: Any = None,
    inner: Any = None,
    prior: Any = None,
    *,
    beta: Annotated[float, hyper.Parameter(hyper.UNIT_INTERVAL, "share", "share of the result that is not luck")] = 0.8,
    prior_mean: Annotated[float, hyper.Parameter(hyper.ANY, "strength", "mean of a newcomer's belief")] = 0.0,
    prior_deviation: Annotated[
        float | None,
        hyper.Parameter(hyper.POSITIVE, "strength", "deviation of a newcomer's belief", if_none="0.7 natural units"),
    ] = None,
    kernel_width: Annotated[
        float | None,
        hyper.Parameter(
            hyper.POSITIVE,
            "strength",
            "how far a belief spreads per match (or sqrt of unit time)",
            if_none="0.03 natural units, or by time 0.03 in a week",
        ),
    ] = None,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
    temperature: Annotated[
        float, hyper.Parameter(hyper.POSITIVE, "factor", "scale of the luck function: F(x / temperature, ...)")
    ] = 1.0,
    **more: float,
) -> RatingSystem:
    """BlatMMR, of matches.

        jr.rate(jr.blat_mmr(), data)

    Args:
      luck: a luck function by name, as in `jr.extend.luck.LUCK`, with a number where it takes one: "trueskill(0.1)"; or
        a `jr.extend.luck.Luck`, also of two sides or of your own making.
      size: the number of points of the grid.
      half_width: the grid reaches from minus this to this strength. None: 7 natural units, 1216 points.
      kernel: "gaussian", "laplace", "gaussian_by_time", "laplace_by_time", "none", or a `jr.extend.kernels.Kernel`,
        also of a function or matrix of your own.
      algorithm: "naive", "fft", "laplace", "low_rank", or the fastest that is exact here ("auto"). They agree to
        1e-6 in float32 ("fft": 2e-5), but chances below rounding want "naive". So do weights of
        matches above 10, in float64 above 100: other algorithms on a grid refuse them, if draws stand inside.
      draws: where theta stands in equation (1): "inside" the sum over the opponent's strengths, as in the paper, or
        "outside", as the power of the sum, as in its author's program.
      support: [n] increasing strengths, or [n, d], instead of the grid: everyone's at first; a state may hold others.
      inner: [n, k] probabilities: beliefs are then over n distributions, each on the k strengths support [n, k]
        (Example 2.15). The prior is uniform and the kernel "none", unless they are given.
      prior: what is believed of every newcomer, now and later (nu_0 of section 3.2): probabilities [n]; a function of
        the strengths [n] or [n, d], or of the means of distributions, up to a factor; or a distribution that has a
        `pdf`. A function's arguments that have numbers for defaults become hyperparameters, as a kernel's do. None:
        normal, by prior_mean and prior_deviation, which do nothing beside another prior.
      more: hyperparameters of functions of one's own, by their names there.

    With luck functions on the scale of rating points ("bradley_terry_400", "fide") strengths are points, and the
    defaults of the grid, the prior and the kernel with them.

    Sums over the opponent's strengths are "low_rank" if the luck function is smooth: a few dozen nodes hold it, and the
    two interpolations are small products of matrices, which processors are best at. They are "fft" (section 4.2) if it
    has a jump or a kink but depends on the difference alone, and "naive" elsewhere. Off a grid they are "laplace"
    (section 4.3) wherever that holds, which is a mixture of Laplace distributions with draws="outside": linear in the
    points, and faster than "naive" from a dozen on. On a grid "laplace" is taken if it is named.
    The Fourier route is the paper's own, of order n log n, but takes five transforms of twice the grid for a match.
    With next to no luck (beta above 0.98) far upsets hang on chances of 1e-10 and less. Then the nodes of "low_rank"
    lie in panels, 80 of them in place of 32, which hold the least chances too; and where transforms would lose them, or
    matches have weights, "auto" is "naive": a hundred times the time. Of "fft", where it is named or a traced
    `temperature` makes it needed, what it cannot hold is lost.
    A kernel of the distance is a sum of shifted beliefs ("band") up to 100 steps of the grid, beyond them a Fourier
    transform, and "laplace" two walks. One between strengths is a band too if it is narrow, two small products of
    matrices if its rank is low, and else one with the whole matrix. A GPU multiplies by the whole matrix instead of
    transforming a kernel; `settings.py` says what is taken on which kind of device.

    The nodes of "low_rank" and the taps of the kernel are as many as the values in use need, also those of `params=`.
    Values that are traced, by `jax.grad` or `jax.vmap`, may be any. A traced `temperature` then makes "low_rank" an
    "fft" (or "naive"), and a traced `kernel_width` makes the kernel a Fourier transform. These hold for all, but take
    longer: leave what is not learnt a number. So it is with the hyperparameters of a kernel's function, where other
    numbers than the system's own are enough.

    Raises:
      ValueError: for an unknown name or a value out of range; for a luck function that is not 1 - itself with the
        players swapped, or whose two sides are not 1 together, unless it has zero_sum=False; for one that is not what
        else it says of itself; for a grid too coarse for the kernel or the prior; for a kernel or prior that is
        negative or not finite, or leaves a strength or all of them without mass (names it); for an algorithm that does
        not fit the rest.
    """
    game = lucks.parse(luck)
    spec = kernels.parse("none" if inner is not None and kernel == "gaussian" else kernel)
    usual_deviation, usual_width = settings.default_deviations(game, spec)
    prior_deviation = usual_deviation if prior_deviation is None else prior_deviation
    kernel_width = usual_width if kernel_width is None else kernel_width
    functions = kernels.shape_function_arguments(spec), prior_function_arguments(prior)
    argument_names = [*signature(blat_mmr).parameters][:-1]
    extra = function_params(functions, more, argument_names)
    check_param_names("blat_mmr", more, [*argument_names, *extra])
    params, space = hyper.collect_params(blat_mmr, locals(), extra)
    grid, given_points = None, settings.check_support(support, game, inner is not None)
    points = given_points
    if points is None:
        grid = settings.make_grid(size, half_width, game, spec, params)
        points, space = grid.points, bound_by_grid(space, grid, spec, prior)
    given_inner = None if inner is None else settings.check_inner_distributions(inner, points)
    lucks.check_luck(game, hashable_array(points.reshape(-1, game.dimension) if game.dimension > 1 else points.ravel()))
    at = settings.mean_strengths_of_support_points(points, given_inner)
    if spec.edges is None:
        given = hashable_array(at), grid_step(grid), params.kernel_width
        spec = spec._replace(edges=choose_edge_normalisation(spec, *given))
    given_values = params.beta, params.temperature, params.kernel_width
    own_values = settings.kernel_shape_argument_values(spec, params)
    model = Model(game, grid, spec, draws, algorithm, *given_values, own_values)
    initial = InitialBelief(given_points, given_inner, parse_prior(prior, len(at), at)).as_value()
    check_kernel_and_prior(model, initial, params)
    model = settings.resolve_algorithms(model, inner is not None)
    rules = Rules(bind(prepare, model, None), *(bind(rule, model) for rule in (advance, predict, update)))
    return RatingSystem(
        bind(init, model, initial),
        rules._replace(prepare_for=bind(make_sized_prepare, model, initial)),
        (Matches,),
        bind(summary, model),
        bind(check_match_weights, model),
        params=params,
        space=space,
        settings={"kernel": kernel if isinstance(kernel, str | None) else spec} | initial._asdict(),
    )


def bound_by_grid(space: Any, grid: Grid, kernel: Kernel, prior: Any) -> Any:
    """The space of hyperparameters without widths that the grid does not resolve."""
    space = space._replace(kernel_width=space.kernel_width._replace(least=settings.min_kernel_width(grid, kernel)))
    if prior is None:
        space = space._replace(prior_deviation=space.prior_deviation._replace(least=grid.step))
    return space


def check_match_weights(model: Model, events: Matches) -> None:
    """ValueError for a weight whose power of the luck function is sharper than the algorithm can follow."""
    weight, precision = events.context.weight, jnp.result_type(float).name
    if weight is None or model.draws != "inside" or model.summing not in ("fft", "low_rank"):
        return
    most = MAX_WEIGHTS[precision]
    fail_where(
        np.asarray(weight) > most,
        lambda row: (
            f"weight {weight[row]:g} is above {most:g}, up to which the algorithm {model.summing} is right in "
            f'{precision}; use blat_mmr(algorithm="naive")'
        ),
    )


def make_sized_prepare(model: Model, initial: InitialBelief, params: Params) -> Any:
    """`prepare` in the form that holds for these hyperparameters; ValueError if they make no kernel or no prior."""
    if not any(isinstance(x, jax.core.Tracer) or np.ndim(x) for x in params):
        check_kernel_and_prior(model, initial, params)
    return bind(prepare, model, settings.resolve_algorithm_sizes(model, params))
