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
somebody like them, and what the teams say is multiplied (`rounds/players_in_several_teams.py`). The skill drifts once.

With `reversion` or seasons leads fade, as `systems/mean_reversion.py` says.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.factory_hyperparameters import collect_params
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import (
    CLOCK_DRIFT,
    DEVIATION,
    PERFORMANCE_NOISE,
    RATING,
    SIDE_ADVANTAGE,
    SKILL_DRIFT,
    HyperparameterRange,
    Parameter,
    check_whole_number,
)
from jaxrate.core.rules import Rules
from jaxrate.core.system import EventCheck, FactoryCall, RatingSystem, system_factory
from jaxrate.events import Matches, Rounds
from jaxrate.numerics.special_functions import truncated_normal_moments
from jaxrate.systems import mean_reversion as fading
from jaxrate.systems.rounds import players_in_several_teams
from jaxrate.systems.rounds.round_teams import Teams, gather_team_values_to_members, teams_by_standing
from jaxrate.systems.trueskill.propagation import (
    link_moments_with_draw_margin,
    propagate_standing,
    standing_to_team_messages,
)
from jaxrate.systems.trueskill.state_and_prediction import (
    Constants,
    State,
    advance,
    init,
    match_lead_deviation_and_margin,
    predict,
    prepare,
    scale_noise_and_margin,
    summary,
    team_performance_moments,
)


def update(sweeps: int | None, constants: Constants, rows: State, event: Matches | Rounds, key: Array | None) -> State:
    """Let skills drift, and learn from who beat whom."""
    del key
    constants = scale_noise_and_margin(constants, event)
    variance, contested = rows.variance + constants.growth, True
    if isinstance(event, Matches):
        ahead, spread, margin = match_lead_deviation_and_margin(constants, rows, event)
        sign = jnp.where(event.score < 0.5, -1.0, 1.0)
        v, w, left, _ = truncated_normal_moments(sign * ahead / spread, margin / spread, event.score == 0.5)
        push, information = sign * v / spread, w / spread**2
        push = jnp.stack([push, -push])
        others = variance[::-1] + 2.0 * constants.noise
        kept = (others + variance * left) / spread**2  # 1 - variance * information, which would vanish
        if event.context.weight is not None:  # so many times the message about the skill
            whole = kept + event.context.weight * variance * information
            push, kept = event.context.weight * push / whole, kept / whole
        rating, variance = rows.rating + variance * push, variance * kept
    else:
        teams = teams_by_standing(event)
        contested = teams.size[min(1, len(teams.size) - 1)] > 0  # by two teams, or more
        pull, information = (
            gather_team_values_to_members(teams, x)
            for x in standing_to_team_evidence(sweeps, constants, rows, event, teams)
        )
        square = event.weight * variance
        least = constants.noise / (variance + constants.noise)  # if the performance were known
        kept = jnp.maximum(1.0 - event.weight * square * information, least)
        change, kept = players_in_several_teams.merge_multi_team_evidence(event, square * pull, kept)
        rating = jnp.where(contested, rows.rating + change, rows.rating)
        variance = jnp.where(contested, variance * kept, rows.variance)
    if rows.time is None:
        return State(rating, variance, None)
    return State(rating, variance, jnp.where(contested | jnp.isfinite(rows.time), event.time, jnp.inf))


def standing_to_team_evidence(
    sweeps: int | None, constants: Constants, rows: State, event: Rounds, teams: Teams
) -> tuple[Array, Array]:
    """What a round says about the teams' performances: (m - M) / V and (V - s) / V^2 [T], of the mean m and variance s.

    That is how far a member of weight w moves, in units of w sigma^2, and how much variance they lose, in units of
    w^2 sigma^4.
    """
    mean, variance = team_performance_moments(constants, rows, event, teams)
    size = teams.size.astype(mean.dtype)
    margin = constants.margin * jnp.sqrt(size[:-1] + size[1:])
    standing = propagate_standing(sweeps, link_moments_with_draw_margin(event), mean, variance, margin, teams)
    precision, pull = standing_to_team_messages(standing, mean)
    return pull / (1.0 + precision * variance), precision / (1.0 + precision * variance)


@system_factory
def trueskill(
    sweeps: int | None = None,
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    beta: Annotated[float, PERFORMANCE_NOISE] = 25.0 / 6.0,
    tau: Annotated[float, SKILL_DRIFT] = 25.0 / 300.0,
    draw_probability: Annotated[
        float,
        Parameter(
            HyperparameterRange("0 to 1, without 1", 0.0, 1.0, below=True),
            "1",
            "share of draws between equals, which sets the margin",
            concerns_draws=True,
        ),
    ] = 0.1,
    drift: Annotated[float | None, CLOCK_DRIFT] = None,
    initial_rating: Annotated[float, RATING] = 25.0,
    initial_deviation: Annotated[float, DEVIATION] = 25.0 / 3.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 0.0,
    reversion: Annotated[float | None, fading.REVERSION] = None,
    season_keep: Annotated[float | None, fading.SEASON_KEEP] = None,
    season_growth: Annotated[float | None, fading.SEASON_GROWTH._replace(if_none="beta / 7, with seasons")] = None,
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
        check_whole_number("trueskill", "sweeps", sweeps, 1, 10_000)
    begin = fading.parse_season_starts("trueskill", seasons)
    params, space = collect_params(trueskill, locals())
    season = {"season_keep": fading.DEFAULT_SEASON_KEEP, "season_growth": params.beta / 7.0}
    return RatingSystem(
        "trueskill",
        fading.fill_season_defaults("trueskill", begin, params, **season),
        space,
        (Matches, Rounds),
        init,
        Rules(prepare, bind(advance, begin), predict, bind(update, sweeps)),
        summary,
        EventCheck(("teams", "seats", "noise")),
        FactoryCall(trueskill, (("sweeps", sweeps), ("seasons", begin))),
    )
