"""What skills expect before a contest of teams, and learn after it.

A participant performs at p = x^T theta + experience log(1 + games) + (covariates) + noise of variance noise^2 / 2, so
that two who play alone are a match. x picks the common skill, the modifier of the category that they meet, their own
side, and form. A team k performs

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
"""

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.rounds.round_teams import (
    Teams,
    scale_performance_noise,
    sum_by_team,
    teams_by_standing,
    teams_with_result_hidden,
)
from jaxrate.systems.skills.aging import assign_kinds_and_age_for_games
from jaxrate.systems.skills.posterior import learn_from_member_messages
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State
from jaxrate.systems.skills.team_results import (
    MemberStrengths,
    TeamPerformances,
    contest_log_likelihood,
    contest_messages,
    is_contested,
    make_member_strengths,
    make_team_performances,
    member_performances,
)
from jaxrate.systems.trueskill.system import (
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
