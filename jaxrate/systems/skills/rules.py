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
of a likelihood does, and those of a rating period add up, see belief_updates.py.

A prediction by parts: the parts of a player are those of x^T theta, their experience, covariates and the side. Skills
count from a newcomer's, so that the common part of all sides is left out: differences of the sums of two sides are
those that predictions use.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import BoundFunction, bind
from jaxrate.core.pairwise_rules import rating_period_length, seasons_applied_until
from jaxrate.core.rules import Params, RatedEvent, RuleByKind, Rules
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities, unwrap_predictions
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    sum_by_team,
    teams_with_result_hidden,
)
from jaxrate.systems.skills.belief_updates import (
    Inference,
    advance,
    apply_clock_seasons,
    learn_from_messages,
    rows_before_games,
)
from jaxrate.systems.skills.goal_likelihoods import (
    GoalRateFactors,
    goal_outcomes,
    goal_rate_factors,
    goal_score,
    infer_from_goals,
    make_log_rate_belief,
    scoreline_probabilities,
)
from jaxrate.systems.skills.linear_predictors import (
    PredictorMoments,
    predict_participants,
    side_advantage_at_event_time,
)
from jaxrate.systems.skills.outcome_likelihoods import (
    infer_from_logistic,
    infer_from_margin,
    infer_from_points,
    infer_from_win,
    infer_strengths,
    logistic_expected_score,
    probit_expected_score,
    probit_outcomes,
    total_of_paces,
)
from jaxrate.systems.skills.parts import (
    STRENGTH,
    Constants,
    State,
    experience_points,
    indices_of_part,
    model_parts,
    participant_loadings,
    prepare,
    squeeze_single_number_rows,
)
from jaxrate.systems.skills.settings import ModelSettings, OwnObservation
from jaxrate.systems.skills.team_results import (
    contest_outcome_probabilities,
    contest_scores,
    infer_from_contest,
    infer_from_standing,
    infer_from_team_points,
    is_contested,
    member_shares,
)
from jaxrate.systems.skills.user_observations import (
    infer_from_own_observation,
    own_observation_outcomes,
    own_observation_score,
)


def both_have_opponents(_event: Matches | Periods) -> None:
    """Whether anything is learnt of a match: always."""
    return None


def return_match_loss(loss: Array, _event: Matches | Periods) -> Array:
    """[...] the loss of each match as it is."""
    return loss


def divide_among_participants(loss: Array, event: Rounds) -> Array:
    """[P] the loss of a contest in equal parts, 0 for padding."""
    count = jnp.sum(teams_with_result_hidden(event).size)
    return jnp.where(event.weight > 0, loss / jnp.maximum(count, 1).astype(loss.dtype), 0.0)


class Observation(NamedTuple):
    """How an event is observed, by functions of the model, the constants, the predictors of participants and the event.

    The same serve a filter, from what was known before the event, and hindsight, from what all other events say.
    """

    infer: Callable[[ModelSettings, Constants, PredictorMoments, Any], Inference]  # what it says, and how likely it was
    expected_score: Callable[[ModelSettings, Constants, PredictorMoments, Any], Array]  # see `predict`
    outcomes: Callable[[ModelSettings, Constants, PredictorMoments, Any], OutcomeProbabilities] = probit_outcomes
    is_contested: Callable[[Any], Array | None] = both_have_opponents  # [] whether there are opponents; None: always
    divide_loss: Callable[[Array, Any], Array] = return_match_loss  # minus a log likelihood among the rows of the event


OF_MATCHES = {
    "win": Observation(bind(infer_strengths, infer_from_win), probit_expected_score),
    "logistic": Observation(infer_from_logistic, logistic_expected_score),
    "margin": Observation(bind(infer_strengths, infer_from_margin), probit_expected_score),
    "points": Observation(infer_from_points, probit_expected_score),
    "goals": Observation(infer_from_goals, goal_score, goal_outcomes),
}
OF_CONTESTS = {
    name: Observation(
        bind(infer_from_contest, infer),
        contest_scores,
        contest_outcome_probabilities,
        is_contested,
        divide_among_participants,
    )
    for name, infer in (("win", infer_from_standing), ("margin", infer_from_team_points))
}
OBSERVATIONS_BY_EVENT = {Matches: OF_MATCHES, Periods: OF_MATCHES, Rounds: OF_CONTESTS}


def choose_observation(model: ModelSettings, event: Matches | Periods | Rounds) -> Observation:
    """How these events are observed; by an observation of a user's own without chances of its own those of results."""
    own = model.outcome
    if not isinstance(own, OwnObservation):
        return OBSERVATIONS_BY_EVENT[type(event)][own]
    infer = bind(infer_strengths, bind(infer_from_own_observation, own))
    if own.outcomes is None:
        return Observation(infer, probit_expected_score)
    return Observation(infer, bind(own_observation_score, own), bind(own_observation_outcomes, own))


def upcoming_predictors(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds
) -> PredictorMoments:
    """What is believed of the participants before an event."""
    return predict_participants(model, constants, rows_before_games(model, constants, rows, event), event)


def predict(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds) -> Array:
    """Expected score of the first player; of a contest the share [P] of the other teams that one's own should beat."""
    predictors = upcoming_predictors(model, constants, rows, event)
    return choose_observation(model, event).expected_score(model, constants, predictors, event)


def predict_outcome_probabilities(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds
) -> OutcomeProbabilities:
    """The chances of win, draw and loss."""
    predictors = upcoming_predictors(model, constants, rows, event)
    return choose_observation(model, event).outcomes(model, constants, predictors, event)


def update(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds) -> State:
    """Learn from the games, at ratings before them; in several teams of a contest performances are independent."""
    return update_and_infer(model, constants, rows, event)[0]


def update_and_infer(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds
) -> tuple[State, Inference]:
    """The rows after `update`, and what it infers from the event, where a match counts by its weight."""
    before, observation = rows_before_games(model, constants, rows, event), choose_observation(model, event)
    is_learnt_from, weight = observation.is_contested(event), event.context.weight
    of_match = 1.0 if weight is None else weight
    count: Any = of_match if is_learnt_from is None else is_learnt_from.astype(rows.time.dtype)
    predictors = predict_participants(model, constants, before, event, count)
    inference = observation.infer(model, constants, predictors, event)
    count = jnp.broadcast_to(count, predictors.mean.shape[:-1])
    games = event.combine_by_player(count) if is_learnt_from is None else count  # a contest is one, whatever the teams
    loadings = participant_loadings(model, event)
    after = learn_from_messages(model, constants, before, event, loadings, inference.message, count, games)
    end, length = event.time, rating_period_length(constants, event)
    if length is not None:
        end = end + length
        after = apply_clock_seasons(model, constants, after, seasons_applied_until(event, rows.time), end)
    end = jnp.full_like(rows.time, end)
    if is_learnt_from is not None:
        end = jnp.where(is_learnt_from | jnp.isfinite(rows.time), end, jnp.inf)
    return squeeze_single_number_rows(after)._replace(time=end), inference


def predict_scorelines(
    model: ModelSettings, most_goals: int, constants: Constants, rows: State, event: Matches | Periods
) -> Array:
    """[..., most_goals + 1, most_goals + 1] the chances of scorelines, of skills that learn from goals."""
    belief = make_log_rate_belief(constants, upcoming_predictors(model, constants, rows, event))
    return scoreline_probabilities(belief, constants.params.low_score_dependence, most_goals)


class PredictedPoints(NamedTuple):
    """The points that both sides should score; margin and total are normal, the margin once compressed."""

    lead: Array  # [...] the mean of the margin, in rating points
    lead_deviation: Array  # [...] in rating points
    total: Array  # [...] the mean of the points of both sides together
    total_deviation: Array  # [...]


def predict_points(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> PredictedPoints:
    """Margin and total before each match, of skills that learn from points."""
    two, params = upcoming_predictors(model, constants, rows, event), constants.params
    lead_deviation = jnp.sqrt(constants.noise + two.variances[0] + two.variances[1])
    (mean, variance), scale = total_of_paces(two), 1.0 / params.margin_scale
    total_deviation = scale * jnp.sqrt(params.total_noise**2 + variance)
    return PredictedPoints(two.lead, lead_deviation, 2.0 * params.point_rate + scale * mean, total_deviation)


def predict_goal_rate_factors(
    model: ModelSettings, constants: Constants, rows: State, event: Matches
) -> GoalRateFactors:
    """The logs of the rates of goals, by what both teams bring, of skills that learn from goals."""
    before = rows_before_games(model, constants, rows, event)
    predictors = predict_participants(model, constants, before, event)
    return goal_rate_factors(constants, predictors, participant_loadings(model, event), before.covariance)


def rated_event_loss(model: ModelSettings, rated: RatedEvent) -> Array:
    """Minus the log likelihood of all that was seen of an event, of each match or participant.

    Of margins and points it is of densities, of goals of the probabilities of scorelines. Expected goals lose nothing:
    what they say of later goals tells how noisy they are.
    """
    constants, event, observation = rated.constants, rated.event, choose_observation(model, rated.event)
    inference: Inference | None = rated.inferred
    if inference is None or model.expected_goals or event.context.weight is not None:
        model = model._replace(expected_goals=())
        predictors = upcoming_predictors(model, constants, rated.before, event)
        inference = observation.infer(model, constants, predictors, event)
    return observation.divide_loss(-inference.log_likelihood(), event)


def find_smoothing_model(system: RatingSystem) -> ModelSettings | None:
    """The model behind a system of skills, whatever it predicts; None of other systems."""
    rule: Any = unwrap_predictions(system).rules.update
    if not isinstance(rule, BoundFunction) or rule.function is not update:
        return None
    model: ModelSettings = rule.bound_args[0]
    return model


def make_rules(model: ModelSettings, params: Params) -> Rules:
    """The rules; with chances of draws of their own, if a margin or goals tell them."""
    rules = Rules(*(bind(rule, model) for rule in (prepare, advance, predict, update)))
    has_own_chances = isinstance(model.outcome, OwnObservation) and model.outcome.outcomes is not None
    if params.draw_margin is None and params.goal_rate is None and not has_own_chances:
        return rules
    return rules._replace(outcomes=bind(predict_outcome_probabilities, model))


class PredictionParts(NamedTuple):
    """The parts of the points of players [2] of a match, or of participants [P] of a contest."""

    own: dict[str, Array]  # by the name of the part
    covariates: dict[str, Array]  # by the name of the covariate
    weight: Array  # the share of a player in their side, which all parts contain


def find_prediction_parts_rule(system: RatingSystem) -> tuple[RatingSystem, RuleByKind | None]:
    """The system without what remakes its predictions, and the rule for `PredictionParts`; None without skills."""
    inner, model = unwrap_predictions(system), find_smoothing_model(system)
    if model is None:
        return inner, None
    return inner, RuleByKind(bind(match_prediction_parts, model), rounds=bind(contest_prediction_parts, model))


def match_prediction_parts(model: ModelSettings, constants: Constants, rows: State, event: Matches) -> PredictionParts:
    """The parts of both players' points, whose sums differ by the lead; covariates are the first one's."""
    parts, covariates = skill_parts(model, constants, rows, event), covariate_parts(model, constants, event)
    if event.context.side is not None:
        lead = side_advantage_at_event_time(model, constants.params, event) * event.context.side
        first = event.context.side > 0
        parts["side_advantage"] = jnp.stack([jnp.where(first, lead, 0.0), jnp.where(first, 0.0, -lead)])
    covariates = {name: jnp.stack([x, jnp.zeros_like(x)]) for name, x in covariates.items()}
    return PredictionParts(parts, covariates, jnp.ones_like(parts["skill"]))


def contest_prediction_parts(model: ModelSettings, constants: Constants, rows: State, event: Rounds) -> PredictionParts:
    """The parts of the points of participants, which count by their share in their team."""
    parts, covariates = skill_parts(model, constants, rows, event), covariate_parts(model, constants, event)
    teams = teams_with_result_hidden(event)
    share = member_shares(model, event, teams)
    own, covariates = ({name: share * x for name, x in shown.items()} for shown in (parts, covariates))
    own["numbers"] = team_size_part(constants, share, event, teams)
    return PredictionParts(own, covariates, share)


def covariate_parts(model: ModelSettings, constants: Constants, event: Matches | Rounds) -> dict[str, Array]:
    """[...] what each covariate is worth, of matches to the first player."""
    columns = event.context.columns or {}
    return {name: getattr(constants.params, name) * columns[name] for name in model.covariates}


def skill_parts(model: ModelSettings, constants: Constants, rows: State, event: Matches | Rounds) -> dict[str, Array]:
    """[...] of participants what each part brings to their strength, above a newcomer's, and experience."""
    rows = rows_before_games(model, constants, rows, event)
    brought = participant_loadings(model, event)[..., STRENGTH, :] * (
        rows.mean - jnp.broadcast_to(constants.newcomer, rows.mean.shape)
    )
    parts = {
        part.name: jnp.sum(brought[..., np.array(indices_of_part(model, part.name))], axis=-1)
        for part in model_parts(model)
        if part.predictor == STRENGTH
    }
    points = experience_points(constants, rows.kind, rows.games)
    return parts if points is None else parts | {"experience": points}


def team_size_part(constants: Constants, share: Array, event: Rounds, teams: Teams) -> Array:
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
