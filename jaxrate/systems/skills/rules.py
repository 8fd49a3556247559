"""What skills expect before an event, and learn after it."""

from typing import Any

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import BoundFunction, bind
from jaxrate.core.pairwise import seasons_applied_until
from jaxrate.core.rules import RatedEvent, Rules
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.aging import advance, apply_clock_seasons, assign_kinds_and_age_for_games
from jaxrate.systems.skills.goal_likelihoods import (
    GoalRateFactors,
    goal_rate_factors,
    make_goal_belief,
    scoreline_probabilities,
)
from jaxrate.systems.skills.goal_rules import (
    expected_score_from_goals,
    goal_losses,
    learn_goals,
    win_and_draw_from_goals,
)
from jaxrate.systems.skills.match_strengths import (
    MatchStrengths,
    PredictedPoints,
    learn_totals,
    make_match_strengths,
    predict_total,
    total_negative_log_density,
)
from jaxrate.systems.skills.outcome_likelihoods import (
    expected_score,
    game_messages,
    margin_negative_log_density,
    outcome_probabilities,
)
from jaxrate.systems.skills.posterior import learn_from_messages
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State, prepare
from jaxrate.systems.skills.team_rules import (
    contest_loss_by_participant,
    learn_contest,
    predict_contest,
    predict_contest_outcomes,
)


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
    rule: Any = system.rules.update
    while isinstance(rule, BoundFunction) and rule.function is not update:  # of predictions that are wrapped
        rule = next(iter(rule.bound_args), None)
    if not isinstance(rule, BoundFunction):
        return None
    model: ModelSettings = rule.bound_args[0]
    return None if model.kinds else model


def make_rules(model: ModelSettings) -> Rules:
    return Rules(*(bind(rule, model) for rule in (prepare, advance, predict, update)))
