"""What skills expect before an event, and learn after it.

Contests. A participant performs at p = x^T theta + experience log(1 + games) + (covariates) + noise of variance
noise^2 / 2, so that two who play alone are a match. x picks the common skill, the modifier of the category that they
meet, their own side, and form. A team k performs

    t_k = sum_i w_i p_i + size_advantage log(sum_i w_i) + noise of variance team_noise^2, if they are several

with the weights w of partial play, which sum to 1 if `team_performance` is "mean". With a `size_advantage` points count
from a newcomer's rating; without one a team's mean is that of its members' whole ratings, as in TrueSkill.

win: a team beats the next one in the standing, or ties with it within a margin of draw_margin sqrt((n_1 + n_2) / 2),
with the numbers n of their members (1 / n of means): expectation propagation, as in TrueSkill (Herbrich, Minka and
Graepel 2006). Without a draw margin a tie of two teams alone is half a win and half a loss, and teams that tie among
others share a level, see team_results.py.
margin: the points of a team are a level of the contest, of which nothing is known, and t_k: a Kalman update of all.

Statistics come first, quits second, and the result last; then each member has one message about x^T theta. (After
Minka, Cleven and Zaykov 2018, "TrueSkill 2: an improved Bayesian skill rating system".)

Goals. A match says of lead and pace together a Gaussian likelihood of precision L and pull h, see goal_likelihoods.py.
Of one team, whose strength and pace have the covariance C, it says M = (1 + L R)^-1 L and g = (1 + L R)^-1 h, with R
the covariance of the other team and of what is the match's own. A match of weight w says w M and w g, as the w-th power
of a likelihood does, and those of a rating period add up. Then

    m' = m + K (1 + M C)^-1 g,   P' = P - K (1 + M C)^-1 M K^T,   K = P [x, y]

with x what picks the strength and y the pace.

A prediction by parts: the parts of a player are those of x^T theta, their experience, covariates and the side. Skills
count from a newcomer's, so that the common part of all sides is left out: differences of the sums of two sides are
those that predictions use.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import BoundFunction, bind, look_up_replacement_function
from jaxrate.core.pairwise import seasons_applied_until, split_sides
from jaxrate.core.rules import Params, PredictRule, RatedEvent, Rules
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities, unwrap_predictions
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    scale_performance_noise,
    sum_by_team,
    teams_by_standing,
    teams_with_result_hidden,
)
from jaxrate.systems.skills.belief_updates import (
    add_match_growth,
    advance,
    apply_clock_seasons,
    assign_kinds_and_age_for_games,
    learn_from_information,
    learn_from_member_messages,
    learn_from_messages,
    message_rounding_tolerance,
)
from jaxrate.systems.skills.goal_likelihoods import (
    HALF_Q,
    GoalObservation,
    GoalRateFactors,
    TeamGoalBelief,
    expected_goal_score,
    goal_outcome_probabilities,
    goal_rate_factors,
    goal_scatter,
    infer_from_goals,
    make_goal_belief,
    scoreline_probabilities,
)
from jaxrate.systems.skills.match_strengths import (
    MatchStrengths,
    PredictedPoints,
    extra_match_columns,
    learn_totals,
    make_match_strengths,
    make_skill_loadings,
    predict_total,
    side_advantage_at_event_time,
    total_negative_log_density,
)
from jaxrate.systems.skills.outcome_likelihoods import (
    expected_score,
    game_messages,
    margin_negative_log_density,
    outcome_probabilities,
)
from jaxrate.systems.skills.settings import Constants, ModelSettings, State, prepare, select_by_player_kind
from jaxrate.systems.skills.team_results import (
    MemberStrengths,
    TeamPerformances,
    contest_log_likelihood,
    contest_messages,
    further_columns,
    is_contested,
    make_member_loadings,
    make_member_strengths,
    make_team_performances,
    member_performances,
)
from jaxrate.systems.trueskill import (
    expected_share_of_teams_beaten,
    match_quality,
    round_outcome_probabilities,
    win_probabilities,
)


def unit_draw_margin(constants: Constants) -> Array | None:
    """The draw margin of two teams is this times the root of the sum of their `margin_square`."""
    margin = constants.params.draw_margin
    return None if margin is None else 0.5**0.5 * margin


def upcoming_performances(
    model: ModelSettings, constants: Constants, rows: State, event: Rounds
) -> tuple[Teams, MemberStrengths, TeamPerformances]:
    """The teams in the order of their numbers, which does not tell the result, their members and performances."""
    rows, teams = assign_kinds_and_age_for_games(model, constants, rows, event), teams_with_result_hidden(event)
    members = make_member_strengths(model, constants, rows, event, teams)
    return teams, members, upcoming_team_performances(model, constants, members, event, teams)


def upcoming_team_performances(
    model: ModelSettings, constants: Constants, members: MemberStrengths, event: Rounds, teams: Teams
) -> TeamPerformances:
    """The performances that these members should give their teams."""
    performances = member_performances(scale_performance_noise(constants, event), members)
    return make_team_performances(model, constants, members.share, performances, event, teams)


def predict_contest(model: ModelSettings, constants: Constants, rows: State, event: Rounds) -> Array:
    """[P] the share of the other teams that one's own should beat; a draw is half a win."""
    teams, _, performances = upcoming_performances(model, constants, rows, event)
    return expected_shares(constants, teams, performances)


def expected_shares(constants: Constants, teams: Teams, performances: TeamPerformances) -> Array:
    """[P] the same, from the performances of teams."""
    return expected_share_of_teams_beaten(
        teams, performances.mean, performances.variance, unit_draw_margin(constants), performances.margin_square
    )


def predict_contest_outcomes(
    model: ModelSettings, constants: Constants, rows: State, event: Rounds
) -> OutcomeProbabilities:
    """[P] who wins and whether nobody does, of participants by their teams."""
    teams, members, (mean, variance, square) = upcoming_performances(model, constants, rows, event)
    margin = unit_draw_margin(constants)
    win = win_probabilities(teams, mean, variance, margin, square)
    share = expected_share_of_teams_beaten(teams, mean, variance, margin, square)
    skill = sum_by_team(teams, members.share**2 * members.belief.variance)
    quality = match_quality(variance - skill, mean, variance, teams.size > 0)
    return round_outcome_probabilities(teams, win, share, quality)


def contest_loss_by_participant(model: ModelSettings, constants: Constants, rows: State, event: Rounds) -> Array:
    """[P] minus the log likelihood of a contest, in equal parts; 0 for padding."""
    rows, teams = assign_kinds_and_age_for_games(model, constants, rows, event), teams_by_standing(event)
    members = make_member_strengths(model, constants, rows, event, teams)
    loss, count = -contest_log_likelihood(model, constants, members, event, teams), jnp.sum(teams.size)
    return jnp.where(event.weight > 0, loss / jnp.maximum(count, 1).astype(loss.dtype), 0.0)


def learn_contest(model: ModelSettings, constants: Constants, rows: State, event: Rounds) -> State:
    """The rows after statistics and quits, and then the result, of the teams at the beliefs before it.

    Who is in several teams has an independent performance in each, as if the others were those of somebody like them.
    """
    rows, teams = assign_kinds_and_age_for_games(model, constants, rows, event), teams_by_standing(event)
    before = make_member_strengths(model, constants, rows, event, teams)
    message, contested = contest_messages(model, constants, before, event, teams), is_contested(teams)
    count = jnp.broadcast_to(contested.astype(before.points.dtype), before.points.shape)
    learnt = learn_from_member_messages(model, constants, rows, event, before.belief.picked, message, count)
    return learnt._replace(time=jnp.where(contested | jnp.isfinite(rows.time), event.time, jnp.inf))


ROUNDINGS = 8.0  # by which what a match takes from a covariance may be off, in units of the usual tolerance


class TeamMessage(NamedTuple):
    """The message of goals about a team, in points."""

    strength: Array  # [...] the pull of the strength
    pace: Array  # [...] and of the pace
    strength_precision: Array  # [...]
    cross_precision: Array  # [...]
    pace_precision: Array  # [...]


def expected_score_from_goals(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> Array:
    """[...] the expected score of the first team; a draw is half a win."""
    belief = make_goal_belief(model, constants, rows, event, None).rates
    return expected_goal_score(belief, constants.params.low_score_dependence)


def win_and_draw_from_goals(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> OutcomeProbabilities:
    """[..., 2] the chances of win and draw."""
    belief = make_goal_belief(model, constants, rows, event, None).rates
    return goal_outcome_probabilities(belief, constants.params.low_score_dependence)


def goal_losses(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """[...] minus the log likelihoods of goals, from what was known before the match.

    Expected goals lose nothing: what they say of later goals tells how noisy they are.
    """
    belief = make_goal_belief(model, constants, rows, event, None).rates
    goals_alone = goal_observation(model, constants, event)._replace(expected=None)
    return -infer_from_goals(belief, goals_alone).log_likelihood


def goal_observation(model: ModelSettings, constants: Constants, event: Matches | Periods) -> GoalObservation:
    """The goals and expected goals in the columns of matches."""
    params, columns = constants.params, extra_match_columns(event)
    first, second = (columns[name] for name in model.margin)
    expected = None
    if model.expected_goals:
        expected = columns[model.expected_goals[0]], columns[model.expected_goals[1]]
    noise, scale = params.expected_goals_noise, params.expected_goals_scale
    return GoalObservation((first, second), expected, params.low_score_dependence, noise, scale)


def learn_goals(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods) -> State:
    """The rows after the goals of matches, as of `rows.time`."""
    weight = event.context.weight
    belief = make_goal_belief(model, constants, rows, event, weight)
    inference = infer_from_goals(belief.rates, goal_observation(model, constants, event))
    gap, level = HALF_Q * inference.gap, HALF_Q * inference.level
    precisions = inference.gap_precision, inference.cross_precision, inference.level_precision
    own, cross, both = (HALF_Q**2 * x for x in precisions)
    teams, scatter = (belief.first, belief.second), goal_scatter(constants)
    sides = TeamMessage(gap, level, own, cross, both), TeamMessage(-gap, level, own, -cross, both)
    messages = [
        _attenuate(message, other.strength_variance + scatter, -other.covariance, other.pace_variance + scatter)
        for message, other in zip(sides, teams[::-1], strict=True)
    ]
    if weight is not None:
        messages = [TeamMessage(*(weight * x for x in message)) for message in messages]
    if isinstance(event, Periods):
        return _learn_period(model, constants, rows, event, teams, messages)
    count = jnp.ones_like(event.score) if weight is None else weight
    after = [
        _learn_match(model, constants, row, team, message, count)
        for row, team, message in zip(split_sides(rows, event), teams, messages, strict=True)
    ]
    return jax.tree.map(lambda *x: jnp.stack(x), *after)


def _attenuate(message: TeamMessage, s: Array, t: Array, u: Array) -> TeamMessage:
    """(1 + M C)^-1 of a message of precision M and its pull, with the covariance C = [[s, t], [t, u]]."""
    v, o, a, b, c = message
    own = jnp.maximum(a * c - b * b, 0.0)
    first, second, third, fourth = a * s + b * t, a * t + b * u, b * s + c * t, b * t + c * u
    trace = jnp.maximum(first + fourth, 0.0)
    inverse = 1.0 / (1.0 + trace + own * jnp.maximum(s * u - t * t, 0.0))
    return TeamMessage(
        ((1.0 + fourth) * v - second * o) * inverse,
        ((1.0 + first) * o - third * v) * inverse,
        (a + own * u) * inverse,
        (b - own * t) * inverse,
        (c + own * s) * inverse,
    )


def _learn_match(
    model: ModelSettings, constants: Constants, row: State, team: TeamGoalBelief, message: TeamMessage, count: Array
) -> State:
    row = add_match_growth(model, constants, row, count)
    x, y = team.with_strength, team.with_pace
    attenuated = _attenuate(message, team.strength_variance, team.covariance, team.pace_variance)
    v, o, a, b, c = (part[..., None] for part in attenuated)
    loss = (a * x + b * y)[..., :, None] * x[..., None, :] + (b * x + c * y)[..., :, None] * y[..., None, :]
    tolerance = message_rounding_tolerance(model.size, row.covariance.dtype)
    slack = tolerance * jnp.broadcast_to(jnp.eye(model.size, dtype=loss.dtype), loss.shape)
    covariance = row.covariance + slack * row.covariance - (loss - ROUNDINGS * slack * loss)
    return row._replace(mean=row.mean + v * x + o * y, covariance=covariance)


def _learn_period(
    model: ModelSettings,
    constants: Constants,
    rows: State,
    event: Periods,
    teams: tuple[TeamGoalBelief, TeamGoalBelief],
    messages: list[TeamMessage],
) -> State:
    """The likelihoods of all games of a team multiply: their precisions, [D, D], and their pulls, [D], add up."""
    weight: Any = event.context.weight
    count, size, dtype = event.player.shape[0], model.size, event.score.dtype
    total = [jnp.zeros((count, *shape), dtype) for shape in ((size, size), (size,), ())]
    y = jnp.broadcast_to(jnp.asarray(np.eye(size)[model.pace_index], dtype), teams[0].loading.shape)
    for side, (team, message) in enumerate(zip(teams, messages, strict=True)):
        v, o, a, b, c = (part[..., None] for part in message)
        x = team.loading
        matrix = (a * x + b * y)[..., :, None] * x[..., None, :] + (b * x + c * y)[..., :, None] * y[..., None, :]
        terms = matrix, v * x + o * y, weight
        total = [sums.at[event.pair[:, side]].add(term) for sums, term in zip(total, terms, strict=True)]
    return learn_from_information(model, constants, rows, *total)


def predict(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds) -> Array:
    """Expected score of the first player; of a contest the share [P] of the other teams that one's own should beat."""
    if isinstance(event, Rounds):
        return predict_contest(model, constants, rows, event)
    if model.outcome == "goals":
        return expected_score_from_goals(
            model, constants, assign_kinds_and_age_for_games(model, constants, rows, event), event
        )
    return expected_score(model, constants, upcoming_match_strengths(model, constants, rows, event))


def predict_outcome_probabilities(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds
) -> OutcomeProbabilities:
    if isinstance(event, Rounds):
        return predict_contest_outcomes(model, constants, rows, event)
    if model.outcome == "goals":
        rows = assign_kinds_and_age_for_games(model, constants, rows, event)
        return win_and_draw_from_goals(model, constants, rows, event)
    return outcome_probabilities(constants, upcoming_match_strengths(model, constants, rows, event))


def predict_scorelines(
    model: ModelSettings, most_goals: int, constants: Constants, rows: State, event: Matches | Periods
) -> Array:
    """[..., most_goals + 1, most_goals + 1] the chances of scorelines, of skills that learn from goals."""
    rows = assign_kinds_and_age_for_games(model, constants, rows, event)
    belief = make_goal_belief(model, constants, rows, event, None).rates
    return scoreline_probabilities(belief, constants.params.low_score_dependence, most_goals)


def predict_points(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> PredictedPoints:
    """Margin and total before each match, of skills that learn from points."""
    meeting = upcoming_match_strengths(model, constants, rows, event)
    spread = jnp.sqrt(constants.noise + meeting.first.variance + meeting.second.variance)
    rows = assign_kinds_and_age_for_games(model, constants, rows, event)
    return PredictedPoints(meeting.lead, spread, *predict_total(model, constants, rows, event))


def predict_goal_rate_factors(
    model: ModelSettings, constants: Constants, rows: State, event: Matches
) -> GoalRateFactors:
    """The logs of the rates of goals, by what both teams bring, of skills that learn from goals."""
    rows = assign_kinds_and_age_for_games(model, constants, rows, event)
    return goal_rate_factors(model, make_goal_belief(model, constants, rows, event, None), rows, event)


def rated_event_margin_loss(model: ModelSettings, rated: RatedEvent) -> Array:
    """The loss of the margins, minus the logarithms of their densities; of a contest [P], in equal parts.

    Of goals, minus the logarithms of the probabilities of the scorelines; of points, of the totals, too.
    """
    if isinstance(rated.event, Rounds):
        return rated_contest_loss(model, rated)
    if model.outcome == "goals":
        rows = assign_kinds_and_age_for_games(model, rated.constants, rated.before, rated.event)
        return goal_losses(model, rated.constants, rows, rated.event)
    meeting = upcoming_match_strengths(model, rated.constants, rated.before, rated.event)
    loss = margin_negative_log_density(model, rated.constants, meeting, rated.event)
    if model.outcome == "points":
        rows = assign_kinds_and_age_for_games(model, rated.constants, rated.before, rated.event)
        loss = loss + total_negative_log_density(model, rated.constants, rows, rated.event)
    return loss


def rated_contest_loss(model: ModelSettings, rated: RatedEvent) -> Array:
    """[P] minus the log likelihood of all that was seen of a contest, in equal parts."""
    return contest_loss_by_participant(model, rated.constants, rated.before, rated.event)


def upcoming_match_strengths(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> MatchStrengths:
    rows = assign_kinds_and_age_for_games(model, constants, rows, event)
    return make_match_strengths(model, constants, rows, event, None)


def update(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds) -> State:
    """Learn from the games, at the ratings before them; seasons that begin within a rating period follow its games."""
    if isinstance(event, Rounds):
        return learn_contest(model, constants, rows, event)
    rows, end = assign_kinds_and_age_for_games(model, constants, rows, event), event.time
    if model.outcome == "goals":
        after = learn_goals(model, constants, rows, event)
    else:
        pair = make_match_strengths(model, constants, rows, event, event.context.weight)
        after = learn_from_messages(model, constants, rows, event, pair, game_messages(model, constants, pair, event))
        if model.outcome == "points":
            after = learn_totals(model, constants, rows, event, after)
    if isinstance(event, Periods):
        end = end + constants.params.period
        after = apply_clock_seasons(model, constants, after, seasons_applied_until(event, rows.time), end)
    return after._replace(time=jnp.full_like(rows.time, end))


def find_smoothing_model(system: RatingSystem) -> ModelSettings | None:
    """The model behind a system of skills, whatever it predicts, if hindsight is known of it."""
    rule: Any = unwrap_predictions(system).rules.update
    if not isinstance(rule, BoundFunction) or rule.function is not update:
        return None
    model: ModelSettings = rule.bound_args[0]
    return None if model.kinds else model


def make_rules(model: ModelSettings, params: Params) -> Rules:
    """The rules; with chances of draws of their own, if a margin or goals tell them."""
    rules = Rules(*(bind(rule, model) for rule in (prepare, advance, predict, update)))
    if params.draw_margin is None and params.goal_rate is None:
        return rules
    return rules._replace(outcomes=bind(predict_outcome_probabilities, model))


class PredictionParts(NamedTuple):
    """The parts of the points of players [2] of a match, or of participants [P] of a contest."""

    own: dict[str, Array]  # by the name of the part
    covariates: dict[str, Array]  # by the name of the covariate
    weight: Array  # the share of a player in their side, which all parts contain


def find_parts_rule(system: RatingSystem) -> tuple[RatingSystem, PredictRule | None]:
    """The system without what remakes its predictions, and the rule for `PredictionParts`; None without skills."""
    inner = unwrap_predictions(system)
    return inner, look_up_replacement_function(inner.rules.predict, {predict: prediction_parts})


def prediction_parts(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Rounds
) -> PredictionParts:
    """The parts of each player's points; the sums of both sides differ by the lead that the prediction uses."""
    rows = assign_kinds_and_age_for_games(model, constants, rows, event)
    if isinstance(event, Rounds):
        return contest_parts(model, constants, rows, event)
    return match_parts(model, constants, rows, event)


def match_parts(model: ModelSettings, constants: Constants, rows: State, event: Matches) -> PredictionParts:
    """[2] of both players; covariates speak for the first, and the side advantage for who has it."""
    one, two = split_sides(rows, event)
    pairs = zip((one, two), make_skill_loadings(model, event), strict=True)
    each = [skill_parts(model, constants, row, loading) for row, loading in pairs]
    parts = {name: jnp.stack([x[name] for x in each]) for name in each[0]}
    columns = {name: extra_match_columns(event)[name] for name in model.covariates}
    speaks = {name: jnp.stack([z, jnp.zeros_like(z)]) for name, z in columns.items()}
    if event.context.side is not None:
        lead = side_advantage_at_event_time(model, constants.params, event) * event.context.side
        first = event.context.side > 0
        parts["side_advantage"] = jnp.stack([jnp.where(first, lead, 0.0), jnp.where(first, 0.0, -lead)])
    covariates = {name: getattr(constants.params, name) * z for name, z in speaks.items()}
    return PredictionParts(parts, covariates, jnp.ones_like(parts["skill"]))


def contest_parts(model: ModelSettings, constants: Constants, rows: State, event: Rounds) -> PredictionParts:
    """[P] of the participants, each times their share in their team."""
    teams = teams_with_result_hidden(event)
    share = make_member_strengths(model, constants, rows, event, teams).share
    parts = skill_parts(model, constants, rows, make_member_loadings(model, event))
    parts = {name: share * x for name, x in parts.items()}
    parts["numbers"] = numbers_part(constants, share, event, teams)
    covariates = {
        name: share * (getattr(constants.params, name) * further_columns(event)[name]) for name in model.covariates
    }
    return PredictionParts(parts, covariates, share)


def skill_parts(model: ModelSettings, constants: Constants, rows: State, loading: Array | None) -> dict[str, Array]:
    """[...] of rows: the common skill above a newcomer's, the modifier, the own side, form and experience."""
    params: Any = constants.params
    if loading is None:
        parts = {"skill": rows.mean - params.initial_rating}
    else:
        brought, end = loading * rows.mean, 1 + model.modifiers
        parts = {"skill": brought[..., 0] - params.initial_rating}
        if model.modifiers:
            parts["modifier"] = jnp.sum(brought[..., 1:end], axis=-1)
        if model.own_side:
            parts["own_side"] = brought[..., end]
        if model.form:
            parts["current_form"] = brought[..., -1]
    if rows.games is not None:
        second = None if constants.second is None else constants.second.experience
        parts["experience"] = select_by_player_kind(rows.kind, params.experience, second) * jnp.log1p(rows.games)
    return parts


def numbers_part(constants: Constants, share: Array, event: Rounds, teams: Teams) -> Array:
    """[P] what the numbers of teams are worth beyond that of the smallest, divided among members by their shares."""
    params: Any = constants.params
    real, whole = teams.size > 0, sum_by_team(teams, share)
    if params.size_advantage is None:
        worth = params.initial_rating * whole
    else:
        worth = params.size_advantage * jnp.log(jnp.where(real, sum_by_team(teams, event.weight), 1.0))
    worth = worth - jnp.min(jnp.where(real, worth, jnp.inf))
    each = jnp.where(real, worth / jnp.where(real, whole, 1.0), 0.0)
    return share * gather_team_values_to_members(teams, each)
