"""TrueSkill (Herbrich, Minka and Graepel 2006, "TrueSkill: a Bayesian skill rating system").

Before an event every skill drifts: sigma^2 <- sigma^2 + tau^2. A participant performs at their skill plus noise of
variance beta^2, and a team t at the sum of its members' performances times their weights (partial play), which has mean

    M_t = sum w mu   and variance   V_t = sum w^2 (sigma^2 + beta^2)

A team beats the next one in the standing if it performs better by more than the draw margin, and ties if the difference
is within it. Where a share p of matches between equals is drawn, the margin of teams of n_1 and n_2 players is

    epsilon = Phi^-1((p + 1) / 2) sqrt(n_1 + n_2) beta

Two sides have c^2 = V_1 + V_2, t = (M_1 - M_2) / c and e = epsilon / c. After a win (a draw) their difference has the
mean and variance of N(t, 1) above e (inside [-e, e]), and v and w are the change of the mean and the loss of variance:

    mu <- mu +- w_i sigma^2 / c v,   sigma^2 <- sigma^2 (1 - w_i^2 sigma^2 / c^2 w)

Longer standings are chains of such differences, solved by expectation propagation. Each link k has an approximate
message about its difference, of mean d_k and variance r_k. Between the messages everything is Gaussian, and what comes
down the chain to a team, or up to it, has variance s and mean m:

    s' = V s+ / (V + s+),   m' = M + V / (V + s+) (m + d - M),   s+ = s + r

All messages are then made anew from the teams above and below each link, which is a sweep. For T teams there are
8 + log2 T of them, after which eight newcomers are within 1e-9 of their ratings of about 25, and random teams with
ties, partial play and wide margins within 1e-4; two sides need one. (Making messages one by one down the chain and up
again, as is usual, takes half as many sweeps, but cannot be done for all at once.)

A player in several teams of a round, as a constructor with two cars, learns from each as if the others were those of
somebody like them, and what the teams say is multiplied (`rounds/round_teams.py`). The skill drifts once.

With `reversion` or seasons leads fade, as `core/mean_reversion.py` says.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import erfc, erfinv, log_ndtr, ndtr

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core import mean_reversion
from jaxrate.core.argument_checks import check_count
from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead, stack_pair
from jaxrate.core.hashable_values import bind
from jaxrate.core.pairwise_rules import pass_time, signed_side_advantage
from jaxrate.core.rules import Params, RuleByKind, Rules
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.events import Matches, Rounds
from jaxrate.numerics.special_functions import normal_moments_above_margin, truncated_normal_moments
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.rounds import cdf_sums, expected_wins
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    merge_multi_team_evidence,
    scale_performance_noise,
    sum_by_team,
    teams_by_standing,
    teams_with_result_hidden,
)

TABLE_POINTS = 128  # of the tables that predictions of large rounds are read from, in float32


class Constants(NamedTuple):
    params: Params
    noise: float | Array  # beta^2
    growth: float | Array  # tau^2
    margin: float | Array  # of two teams with one player between them


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] sigma^2
    time: Array | None  # [num_players] of the last event; inf before the first. None: time does not count


def init(params: Params, num_players: int) -> State:
    rating, variance = (full_leaf(num_players, x) for x in (params.initial_rating, params.initial_deviation**2))
    is_timed = any(getattr(params, name, None) is not None for name in ("drift", "reversion", "season_keep"))
    return State(rating, variance, full_leaf(num_players, jnp.inf) if is_timed else None)


def prepare(params: Params) -> Constants:
    deviate = 2.0**0.5 * erfinv(jnp.asarray(params.draw_probability, float))  # Phi^-1((p + 1) / 2)
    return Constants(params, params.beta**2, params.tau**2, deviate * params.beta)


def age(constants: Constants, rows: State, duration: Array) -> State:
    """The drift by elapsed time."""
    drift = constants.params.drift
    return rows if drift is None else rows._replace(variance=rows.variance + drift * duration)


def match_lead_deviation_and_margin(constants: Constants, rows: State, event: Matches) -> tuple[Array, Array, Array]:
    """The expected lead of player 0's performance, its deviation c, and the draw margin."""
    spread = jnp.sqrt(jnp.sum(rows.variance) + 2.0 * (constants.growth + constants.noise))
    ahead = rows.rating[0] - rows.rating[1] + signed_side_advantage(event, constants.params.side_advantage)
    return ahead, spread, 2.0**0.5 * jnp.asarray(constants.margin, spread.dtype)


def scale_noise_and_margin(constants: Constants, event: Matches | Rounds) -> Constants:
    """The constants of an event: in a noisy contest equals draw as often as in others, so that its margin grows."""
    factor = getattr(event, "noise", None)
    scaled = scale_performance_noise(constants, event)
    return scaled if factor is None else scaled._replace(margin=constants.margin * factor)


def predict_match(constants: Constants, rows: State, match: Matches) -> Array:
    """Expected score of player 0; a draw is half a win."""
    return expected_score(*match_lead_deviation_and_margin(constants, rows, match))


def predict_round(constants: Constants, rows: State, event: Rounds) -> Array:
    """The share [P] of the other teams that one's own should beat; a draw is half a win."""
    constants, teams = scale_noise_and_margin(constants, event), teams_with_result_hidden(event)
    mean, variance = team_performance_moments(constants, rows, event, teams)
    return expected_share_of_teams_beaten(teams, mean, variance, constants.margin, teams.size.astype(mean.dtype))


def expected_share_of_teams_beaten(
    teams: Teams, mean: Array, variance: Array, unit_margin: float | Array | None, margin_square: Array
) -> Array:
    """[P] the share of the other teams that one's own should beat; a draw is half a win."""
    mask, deviation = teams.size > 0, jnp.sqrt(variance)
    if len(teams.of) <= cdf_sums.DIRECT_LIMIT:
        pair_square = margin_square[:, None] + margin_square[None, :]
        margin = None if unit_margin is None else unit_margin * jnp.sqrt(pair_square)
        spread = jnp.sqrt(variance[:, None] + variance[None, :])
        lead = mean[:, None] - mean[None, :]
        # XLA on a CPU makes code up to four times as fast of arrays [1, teams, teams].
        p = expected_score(lead[None], spread[None], None if margin is None else margin[None])[0]
        others = mask[None, :] & ~jnp.eye(len(mask), dtype=bool)
        count = jnp.sum(mask.astype(mean.dtype)) - 1.0
        share = jnp.sum(jnp.where(others, p, 0.0), axis=1) / jnp.maximum(count, 1.0)
        return gather_team_values_to_members(teams, jnp.where(count > 0, share, 0.5))
    margin = (0.0 if unit_margin is None else unit_margin) * jnp.sqrt(2.0 * margin_square)
    below, _ = expected_wins.expected_normal_wins_and_losses(mean, deviation, mask, TABLE_POINTS, margin)
    return gather_team_values_to_members(teams, expected_wins.expected_win_share(below, mask))


def expected_score(mean_lead: Array, deviation: Array, draw_margin: Array | None) -> Array:
    """Expected score, a draw half a win, of who should perform better by so much. Without a margin nobody draws."""
    if draw_margin is None:
        return 0.5 * erfc((-(0.5**0.5)) * mean_lead / deviation)
    low, high = (0.5 * erfc((0.5**0.5) * (x - mean_lead) / deviation) for x in (draw_margin, -draw_margin))
    return 0.5 * (low + high)


def team_performance_moments(constants: Constants, rows: State, event: Rounds, teams: Teams) -> tuple[Array, Array]:
    """M and V [T] of the teams, after the drift; 0 and 1 for padding."""
    square = event.weight**2 * (rows.variance + (constants.growth + constants.noise))
    return sum_by_team(teams, event.weight * rows.rating), jnp.where(teams.size > 0, sum_by_team(teams, square), 1.0)


def predict_match_outcomes(constants: Constants, rows: State, match: Matches) -> OutcomeProbabilities:
    """[2] each player's chances of win and draw, their expected rank, and the quality of the match."""
    ahead, spread, margin = match_lead_deviation_and_margin(constants, rows, match)
    win = ndtr((jnp.stack([ahead, -ahead]) - margin) / spread)
    behind = -jnp.abs(ahead)  # where the tails keep their digits
    draw = jnp.maximum(ndtr((behind + margin) / spread) - ndtr((behind - margin) / spread), 0.0)
    draw = jnp.broadcast_to(draw, (2,))
    mean, ones = 0.5 * jnp.stack([ahead, -ahead]), jnp.ones_like(rows.rating)
    quality = match_quality(constants.noise * ones, mean, rows.variance + constants.noise, ones > 0)
    return OutcomeProbabilities(win, draw, 2.0 - win - 0.5 * draw, jnp.broadcast_to(quality, (2,)))


def predict_round_outcomes(constants: Constants, rows: State, event: Rounds) -> OutcomeProbabilities:
    """[P] who wins a round, for participants by their teams."""
    share, constants = predict_round(constants, rows, event), scale_noise_and_margin(constants, event)
    teams = teams_with_result_hidden(event)
    mean, variance = team_performance_moments(constants, rows, event, teams)
    square, size = sum_by_team(teams, event.weight**2), teams.size.astype(mean.dtype)
    now = sum_by_team(teams, event.weight**2 * (rows.variance + constants.noise))
    quality = match_quality(constants.noise * square, mean, jnp.where(teams.size > 0, now, 1.0), teams.size > 0)
    win = win_probabilities(teams, mean, variance, constants.margin, size)
    return round_outcome_probabilities(teams, win, share, quality)


def round_outcome_probabilities(teams: Teams, win: Array, share: Array, quality: Array) -> OutcomeProbabilities:
    """[P] of participants, from what their teams [T] expect to win, the shares [P] that they beat, and the quality."""
    mask = teams.size > 0
    draw = jnp.maximum(1.0 - jnp.sum(jnp.where(mask, win, 0.0)), 0.0)
    others, every = jnp.sum(mask.astype(win.dtype)) - 1.0, jnp.ones_like(share)
    return OutcomeProbabilities(win[teams.of], draw * every, 1.0 + (1.0 - share) * others, quality * every)


def win_probabilities(
    teams: Teams, mean: Array, variance: Array, unit_margin: float | Array, margin_square: Array
) -> Array:
    """[T] the probability that a team performs better than every other one by more than their margin."""
    deviation, mask = jnp.sqrt(variance), teams.size > 0
    nodes, weights = (jnp.asarray(x, mean.dtype) for x in (cdf_sums.NORMAL_FINE.nodes, cdf_sums.NORMAL_FINE.weights))
    number = jnp.arange(len(mean), dtype=jnp.int32)

    def one(k: Array) -> Array:
        at = mean[k] + deviation[k] * nodes
        margin = unit_margin * jnp.sqrt(margin_square + margin_square[k])
        behind = log_ndtr((at[:, None] - (mean + margin)[None, :]) / deviation[None, :])
        behind = jnp.where((mask & (number != k))[None, :], behind, 0.0)
        return jnp.matmul(jnp.exp(jnp.sum(behind, axis=1)), weights, precision=lax.Precision.HIGHEST)

    return lax.map(one, number)


def match_quality(noise: Array, mean: Array, variance: Array, mask: Array) -> Array:
    """Match quality, of the noise of the teams' performances, their M, and V without tau.

    It is sqrt(det N / det C) exp(-g' C^-1 g / 2), where the differences of neighbours have covariances C (N if skills
    are known) and means g. Here det C = prod V sum 1 / V, and g' C^-1 g = sum (M - m)^2 / V about the mean m of M
    weighted by 1 / V, so that the order of the teams does not matter.
    """

    def log_det(x: Array) -> Array:
        x = jnp.where(mask, x, 1.0)
        return jnp.sum(jnp.log(x)) + jnp.log(jnp.sum(jnp.where(mask, 1.0 / x, 0.0)))

    precision = jnp.where(mask, 1.0 / variance, 0.0)
    centre = jnp.sum(precision * mean) / jnp.where(jnp.any(mask), jnp.sum(precision), 1.0)
    gap = jnp.sum(precision * (mean - centre) ** 2)
    return jnp.exp(0.5 * (log_det(noise) - log_det(variance) - gap))


EXTRA_SWEEPS = 8  # sweeps beyond the logarithm of the number of teams
STEPS_PER_PRODUCT = 16  # steps of a chain that are multiplied in one turn
IDENTITY_STEP = 0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 1.0  # of no step
UNINFORMATIVE_VARIANCE = 1e15  # variance of a message that says nothing, of a link whose teams have variance 1


class NeighbourDifferenceMessage(NamedTuple):
    """The message about a difference [T - 1] of neighbours."""

    mean: Array  # d
    variance: Array  # r


class PropagatedStanding(NamedTuple):
    """The messages of all links, and what comes to each team from the others."""

    link: NeighbourDifferenceMessage
    variance_from_above: Array  # [T] of each team's performance by itself and the links above it
    mean_from_above: Array  # [T] by how much the mean of that is ahead of M
    variance_from_below: Array  # [T]
    mean_from_below: Array  # [T]


LinkMoments: TypeAlias = Callable[[Array, Array, Array], tuple[Array, Array, Array, Array]]


def link_moments_with_draw_margin(event: Rounds) -> LinkMoments:
    """The moments of a difference beyond the margin, or within it where teams tie, as `truncated_normal_moments`."""
    if event.strict is None:
        return truncated_normal_moments
    return lambda lead, margin, tied: normal_moments_above_margin(lead, margin)


def propagate_standing(
    sweeps: int | None, link_moments: LinkMoments, mean: Array, variance: Array, margin: Array, teams: Teams
) -> PropagatedStanding:
    """Expectation propagation along a standing.

    Args:
      sweeps: of expectation propagation; None: as many as it takes.
      link_moments: of a difference N(lead, 1), of the lead, the margin and whether the two tie: what
        `truncated_normal_moments` returns.
      mean: [T] M of the teams; 0 for padding.
      variance: [T] V of the teams; 1 for padding.
      margin: [T - 1] of neighbours.
      teams: in the order of the standing.
    """
    tied, mask = teams.rank[:-1] == teams.rank[1:], teams.size[1:] > 0
    gap, free = mean[:-1] - mean[1:], UNINFORMATIVE_VARIANCE * (variance[:-1] + variance[1:])
    pass_chain = chain_marginals_parallel if has_launch_overhead() else chain_marginals

    def message(s: Array, m: Array) -> NeighbourDifferenceMessage:
        """The message of a link, from each team's variance and distance from M without the link's own message."""
        square = s[0, :-1] + s[1, -2::-1]
        spread, ahead = jnp.sqrt(square), gap + (m[0, :-1] - m[1, -2::-1])
        _, w, left, centre = link_moments(ahead / spread, margin / spread, tied)
        w = jnp.maximum(w, 1.0 / UNINFORMATIVE_VARIANCE)
        return NeighbourDifferenceMessage(
            jnp.where(mask, spread * centre / w, 0.0), jnp.where(mask, square * left / w, free)
        )

    def pass_messages(link: NeighbourDifferenceMessage) -> tuple[Array, Array]:
        """[2, T] s and m - M: what comes to each team from those above it; and, from the last team on, from below."""
        ways = stack_pair(link.variance, link.variance[::-1]), stack_pair(gap - link.mean, (link.mean - gap)[::-1])
        return pass_chain(both, *ways)

    # One more for each doubling of the teams, whatever the padding.
    enough = sweeps or EXTRA_SWEEPS + 32 - lax.clz(jnp.sum(teams.size > 0).astype(jnp.int32) - 1)

    def sweep(carry: tuple[Any, ...], number: Array) -> tuple[tuple[Any, ...], None]:
        link = message(*carry[1:])
        return jax.tree.map(partial(jnp.where, number < enough), (link, *pass_messages(link)), carry), None

    both = stack_pair(variance, variance[::-1])
    most = sweeps or (1 if len(mean) <= 2 else EXTRA_SWEEPS + (len(mean) - 1).bit_length())
    begin = NeighbourDifferenceMessage(gap, gap), both, jnp.zeros_like(both)
    (link, s, m), _ = lax.scan(sweep, begin, jnp.arange(most, dtype=jnp.int32))
    return PropagatedStanding(link, s[0], m[0], s[1, ::-1], m[1, ::-1])


def standing_to_team_messages(standing: PropagatedStanding, mean: Array) -> tuple[Array, Array]:
    """The message of a standing to each team's performance: its precision [T], and that times the mean's distance."""
    link, s, m, t, n = standing
    gap, zero = mean[:-1] - mean[1:], jnp.zeros(1, mean.dtype)
    from_above = jnp.append(zero, 1.0 / (s[:-1] + link.variance)), jnp.append(zero, m[:-1] + gap - link.mean)
    from_below = jnp.append(1.0 / (t[1:] + link.variance), zero), jnp.append(n[1:] - gap + link.mean, zero)
    precision = from_above[0] + from_below[0]
    return precision, from_above[0] * from_above[1] + from_below[0] * from_below[1]


def chain_marginals(variance: Array, message_variance: Array, step: Array) -> tuple[Array, Array]:
    """s and m - M [..., T] of the module's docstring, team after team; of V [..., T], r and step d [..., T - 1]."""

    def one(carry: tuple[Array, Array], entry: tuple[Array, ...]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        (s, m), (v, r, d) = carry, entry
        s = s + r
        share = v / (v + s)
        carry = s * share, share * (m + d)
        return carry, carry

    v, r, d = (jnp.moveaxis(x, -1, 0) for x in (variance, message_variance, step))
    # Of few teams there are many rounds at once, and more is done in a step than it takes to start it.
    _, (s, m) = lax.scan(one, (v[0], jnp.zeros_like(v[0])), (v[1:], r, d), unroll=len(r) < 16)
    s, m = jnp.concatenate([v[:1], s]), jnp.concatenate([jnp.zeros_like(v[:1]), m])
    return jnp.moveaxis(s, 0, -1), jnp.moveaxis(m, 0, -1)


def chain_marginals_parallel(variance: Array, message_variance: Array, step: Array) -> tuple[Array, Array]:
    """The marginals of a chain of teams, in a logarithmic number of operations.

    With s = A / B and m - M = N / B a step is linear: A' = V (A + r B), B' = A + (V + r) B, N' = V (N + d B). Steps in
    a row are products of such matrices, scaled so that the sum of those of A and B is 1. Each turn multiplies
    `STEPS_PER_PRODUCT` of them, in one kernel: those of so many teams in a row, then products of these. The first
    team's step forgets.
    """
    number = jnp.arange(variance.shape[-1], dtype=jnp.int32)
    r, d = (jnp.pad(x, [*[(0, 0)] * (x.ndim - 1), (1, 0)]) for x in (message_variance, step))
    size, one, none = variance + (variance + r + variance * r + 1.0), jnp.ones_like(variance), jnp.zeros_like(variance)
    steps = variance, variance * r, one, variance + r, none, variance * d, variance
    first = none, variance, none, one, none, none, none
    size = jnp.where(number == 0, variance + 1.0, size)
    product = tuple(jnp.where(number == 0, x, y) / size for x, y in zip(first, steps, strict=True))
    stride = 1
    while stride < len(number):
        before = product
        for i in range(1, STEPS_PER_PRODUCT):
            places = min(i * stride, len(number))
            shift = [*[(0, 0)] * (variance.ndim - 1), (places, 0)]
            kept = [x[..., : len(number) - places] for x in before]
            earlier = [jnp.pad(x, shift, constant_values=y) for x, y in zip(kept, IDENTITY_STEP, strict=True)]
            product = _compose_chain_steps(earlier, product)
        stride *= STEPS_PER_PRODUCT
    _, s, _, below, _, m, _ = product
    return s / below, m / below


def _compose_chain_steps(earlier: Sequence[Array], later: Sequence[Array]) -> tuple[Array, ...]:
    """The steps `later` after the steps `earlier`."""
    (a, b, c, d, e, f, g), (h, i, j, k, p, q, u) = earlier, later
    product = h * a + i * c, h * b + i * d, j * a + k * c, j * b + k * d
    size = sum(product)
    return tuple(x / size for x in (*product, p * a + q * c + u * e, p * b + q * d + u * f, u * g))


def update_from_match(constants: Constants, rows: State, match: Matches) -> State:
    """Let skills drift, and learn from who beat whom."""
    variance, weight = rows.variance + constants.growth, match.context.weight
    ahead, spread, margin = match_lead_deviation_and_margin(constants, rows, match)
    sign = jnp.where(match.score < 0.5, -1.0, 1.0)
    v, w, left, _ = truncated_normal_moments(sign * ahead / spread, margin / spread, match.score == 0.5)
    push, information = sign * v / spread, w / spread**2
    push = jnp.stack([push, -push])
    others = variance[::-1] + 2.0 * constants.noise
    kept = (others + variance * left) / spread**2  # 1 - variance * information, which would vanish
    if weight is not None:  # so many times the message about the skill
        whole = kept + weight * variance * information
        push, kept = weight * push / whole, kept / whole
    time = None if rows.time is None else jnp.full_like(rows.time, match.time)
    return State(rows.rating + variance * push, variance * kept, time)


def update_from_round(sweeps: int | None, constants: Constants, rows: State, event: Rounds) -> State:
    """Let skills drift, and learn from the standing of teams. A team alone learns nothing."""
    constants, teams = scale_noise_and_margin(constants, event), teams_by_standing(event)
    contested = teams.size[min(1, len(teams.size) - 1)] > 0  # by two teams, or more
    mean, team_variance = team_performance_moments(constants, rows, event, teams)
    size = teams.size.astype(mean.dtype)
    margin = constants.margin * jnp.sqrt(size[:-1] + size[1:])
    standing = propagate_standing(sweeps, link_moments_with_draw_margin(event), mean, team_variance, margin, teams)
    precision, pull = standing_to_team_messages(standing, mean)
    # The team's mean and variance are m and s after the round: (m - M) / V and (V - s) / V^2.
    evidence = (x / (1.0 + precision * team_variance) for x in (pull, precision))
    pull, information = (gather_team_values_to_members(teams, x) for x in evidence)
    variance = rows.variance + constants.growth
    square = event.weight * variance
    least = constants.noise / (variance + constants.noise)  # if the performance were known
    kept = jnp.maximum(1.0 - event.weight * square * information, least)
    change, kept = merge_multi_team_evidence(event, square * pull, kept)
    rating = jnp.where(contested, rows.rating + change, rows.rating)
    variance = jnp.where(contested, variance * kept, rows.variance)
    if rows.time is None:
        return State(rating, variance, None)
    return State(rating, variance, jnp.where(contested | jnp.isfinite(rows.time), event.time, jnp.inf))


@system_factory
def trueskill(
    sweeps: int | None = None,
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    beta: Annotated[float, hyper.PERFORMANCE_NOISE] = 25.0 / 6.0,
    tau: Annotated[float, hyper.SKILL_DRIFT] = 25.0 / 300.0,
    draw_probability: Annotated[
        float,
        hyper.Parameter(
            hyper.HyperparameterRange("0 to 1, without 1", 0.0, 1.0, below=True),
            "1",
            "share of draws between equals, which sets the margin",
            concerns_draws=True,
        ),
    ] = 0.1,
    drift: Annotated[float | None, hyper.CLOCK_DRIFT] = None,
    initial_rating: Annotated[float, hyper.RATING] = 25.0,
    initial_deviation: Annotated[float, hyper.DEVIATION] = 25.0 / 3.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
    reversion: Annotated[float | None, mean_reversion.REVERSION] = None,
    season_keep: Annotated[float | None, mean_reversion.SEASON_KEEP] = None,
    season_growth: Annotated[
        float | None, mean_reversion.SEASON_GROWTH._replace(if_none="beta / 7, with seasons")
    ] = None,
) -> RatingSystem:
    """TrueSkill, of matches and of rounds: of many players, of teams, with ties and with partial play.

        jr.run(jr.trueskill(), rounds)

    A score above one half is a win of player 0, one half a draw. A match of weight w counts as w matches; in rounds
    weights are those of partial play. Those who tie are chained in the order of the numbers of their teams, without
    teams in that of the rows: among three or more that makes a difference. A player may be in several teams of a round,
    with a row in each (see `rounds`). What their teams say is then combined, without regard to what the teams share.
    The defaults are those of a rating of 25.
    `trueskill(initial_rating=1500, initial_deviation=500, beta=250, tau=5)` rates about 1500.

    Args:
      sweeps: of expectation propagation, from 1. None: as many as it takes, see the module's docstring.
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.

    Raises:
      ValueError: for an unknown name, a value out of range, or seasons that do not increase.
    """
    if sweeps is not None:
        check_count("trueskill: sweeps", sweeps, 1, 10_000)
    params, space = hyper.collect_params(trueskill, locals())
    params = mean_reversion.fill_season_defaults("trueskill", bool(seasons), params, season_growth=params.beta / 7.0)
    rules = Rules(
        prepare,
        bind(pass_time, age, seasons),
        RuleByKind(predict_match, rounds=predict_round),
        RuleByKind(update_from_match, rounds=bind(update_from_round, sweeps)),
        outcomes=RuleByKind(predict_match_outcomes, rounds=predict_round_outcomes),
    )
    features = "teams", "seats", "noise"
    return RatingSystem(init, rules, (Matches, Rounds), features=features, params=params, space=space)
