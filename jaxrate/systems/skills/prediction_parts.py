"""What each player brings to a prediction, part by part, in rating points.

The parts of a player are those of x^T theta, their experience, covariates and the side. Skills count from a newcomer's,
so that the common part of all sides is left out: differences of the sums of two sides are those that predictions use.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import look_up_replacement_function
from jaxrate.core.pairwise import split_sides
from jaxrate.core.rules import PredictRuleProtocol
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Rounds
from jaxrate.systems.prediction_wrapping import unwrap_predictions
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    sum_by_team,
    teams_with_result_hidden,
)
from jaxrate.systems.skills import rules
from jaxrate.systems.skills.belief_updates import assign_kinds_and_age_for_games
from jaxrate.systems.skills.match_strengths import (
    extra_match_columns,
    make_skill_loadings,
    side_advantage_at_event_time,
)
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State, select_by_player_kind
from jaxrate.systems.skills.team_results import further_columns, make_member_loadings, make_member_strengths


class PredictionParts(NamedTuple):
    """The parts of the points of players [2] of a match, or of participants [P] of a contest."""

    own: dict[str, Array]  # by the name of the part
    covariates: dict[str, Array]  # by the name of the covariate
    weight: Array  # the share of a player in their side, which all parts contain


def find_parts_rule(system: RatingSystem) -> tuple[RatingSystem, PredictRuleProtocol | None]:
    """The system without what remakes its predictions, and the rule for `PredictionParts`; None without skills."""
    inner = unwrap_predictions(system)
    of_rules = dict.fromkeys((rules.predict, rules.predict_outcome_probabilities), prediction_parts)
    rule: PredictRuleProtocol | None = look_up_replacement_function(inner.rules.predict, of_rules)
    return inner, rule


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
