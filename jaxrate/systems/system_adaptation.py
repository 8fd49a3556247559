"""How systems are adapted to data: the settings of their factories, and what the better side is worth at first.

What stands in neither table is the same for all data.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jaxrate.core.default_side_advantage import DEFAULT_SIDE_SCORE, logistic_lead_for_score, normal_lead_for_score
from jaxrate.systems.skills.settings_and_event_checks import DEFAULT_NOISE
from jaxrate.systems.skills.settings_and_state import statistic_noise_name, statistic_scale_name

DEFAULT_EXPERIENCE = 20.0  # points per unit of log(1 + matches played)
DEFAULT_REVERSION = 3000.0  # days
MEAN_MARGIN_POINTS = 600.0  # points that a mean margin is worth before it is compressed: twice the usual noise


class DataFacts(NamedTuple):
    """What is known of data that a system may be adapted to."""

    score: Any = None  # [n] of the matches; None: there are none
    categories: int | None = None  # how many there are; None: there are none
    period: float | None = None  # the length of the rating periods; None: event by event
    side: bool = False  # whether matches have sides
    margin: tuple[str, ...] = ()  # the column of the margin, or those of each side's points
    covariates: tuple[str, ...] = ()  # columns of what is known before a match
    seasons: tuple[float, ...] = ()  # when each begins, increasing
    margin_size: float = 0.0  # the mean size of the margin in the first fifth, since what follows may be scored
    side_points: float = 0.0  # the mean points of a side there, where columns have those of both
    side_score: float = DEFAULT_SIDE_SCORE  # the mean score of those who have the side, as far as it may be known
    league_season: str | None = None  # the column of the number of the season of a match
    statistics: tuple[str, ...] = ()  # columns of what was counted beside the result
    expected_goals: tuple[str, ...] = ()  # columns of both sides' expected goals
    statistic_noise: tuple[float, ...] = ()  # the deviation of each about strengths, in its own units; 0: unknown


def set_period_from_data(facts: DataFacts, explicit_settings: Mapping[str, Any]) -> dict[str, Any]:
    """A system that ages by periods: their length is that of the rating periods, unless it is given."""
    return ({} if facts.period is None else {"period": facts.period}) | dict(explicit_settings)


def set_seasons_from_data(facts: DataFacts, explicit_settings: Mapping[str, Any]) -> dict[str, Any]:
    """A system that knows seasons: those that the data name, unless they are given."""
    return ({"seasons": facts.seasons} if facts.seasons else {}) | dict(explicit_settings)


def set_seasons_and_period_from_data(facts: DataFacts, explicit_settings: Mapping[str, Any]) -> dict[str, Any]:
    """A system that knows seasons and ages by periods."""
    return set_seasons_from_data(facts, set_period_from_data(facts, explicit_settings))


def set_categories_and_period_from_data(facts: DataFacts, explicit_settings: Mapping[str, Any]) -> dict[str, Any]:
    """As many categories as the data have, and the period that they are rated in."""
    return ({} if facts.categories is None else {"categories": facts.categories}) | set_period_from_data(
        facts, explicit_settings
    )


def set_outcome_count_from_data(facts: DataFacts, explicit_settings: Mapping[str, Any]) -> dict[str, Any]:
    """As many outcomes as there are scores at equal distances, up to ten, unless their weights are given."""
    if facts.score is None or "weights" in explicit_settings:
        return dict(explicit_settings)
    score = np.asarray(facts.score, np.float64)
    fits = (m for m in range(1, 11) if np.allclose(score * m, np.rint(score * m), rtol=0.0, atol=1e-4))
    return {"outcomes": next(fits, 1) + 1} | dict(explicit_settings)


def set_skills_evidence_from_data(facts: DataFacts, explicit_settings: Mapping[str, Any]) -> dict[str, Any]:
    """All evidence that the data have, with values that a fit can start from, and the period that they are rated in.

    Who falls back between seasons does not fall back by the clock as well: histories cannot tell the two apart. What
    varies of statistics about the strengths of players is worth the noise of performances at first.
    """
    options: dict[str, Any] = {
        "covariates": facts.covariates,
        "seasons": facts.seasons,
        "experience": DEFAULT_EXPERIENCE,
    }
    if facts.categories is not None:
        options["categories"] = facts.categories
    if facts.side:
        options["own_side"] = True
    if facts.league_season is not None:
        options["league_season"] = facts.league_season
    elif not facts.seasons:
        options["reversion"] = DEFAULT_REVERSION
    outcome = explicit_settings.get("outcome", "margin")
    goals = outcome == "goals"
    if goals:
        options |= {"margin": facts.margin} if len(facts.margin) == 2 else {}
        options |= {"expected_goals": facts.expected_goals} if facts.expected_goals else {}
    if facts.margin and outcome in ("margin", "points"):
        options |= {"outcome": outcome, "margin": facts.margin}
        options |= {"point_rate": facts.side_points} if outcome == "points" and facts.side_points > 0 else {}
        if facts.margin_size > 0:
            options |= {"margin_scale": MEAN_MARGIN_POINTS / facts.margin_size, "compression": facts.margin_size}
    if facts.statistics and not goals and explicit_settings.get("outcome") != "logistic":
        options["statistics"] = facts.statistics
        for name, noise in zip(facts.statistics, facts.statistic_noise, strict=False):
            options |= (
                {statistic_scale_name(name): DEFAULT_NOISE / noise, statistic_noise_name(name): DEFAULT_NOISE}
                if noise > 0
                else {}
            )
    return options | set_period_from_data(facts, explicit_settings)


FactoryAdaptation: TypeAlias = Callable[[DataFacts, Mapping[str, Any]], dict[str, Any]]
ADAPTATIONS: dict[str, FactoryAdaptation] = {  # by system: the arguments of its factory for data and changes
    "elo": set_seasons_from_data,
    "glicko": set_seasons_and_period_from_data,
    "glicko2": set_seasons_and_period_from_data,
    "category_glicko": set_categories_and_period_from_data,
    "skills": set_skills_evidence_from_data,
    "trueskill": set_seasons_from_data,
    "urnings": set_outcome_count_from_data,
}


def blat_mmr_rating_lead_for_score(params: Any, expected_score: float) -> float:
    """A share `beta` of the result is not luck. (So where luck functions are logistic, and about so elsewhere.)"""
    skill = 0.5 + (expected_score - 0.5) / max(float(params.beta), 0.1)
    return float(params.temperature) * logistic_lead_for_score(skill)


def skills_rating_lead_for_score(params: Any, expected_score: float) -> float:
    """With goals: the difference of two Poisson's numbers is about normal."""
    if params.goal_rate is not None:
        goals = normal_lead_for_score(expected_score, math.sqrt(2.0 * float(params.goal_rate)))
        return 800.0 / math.log(10.0) * math.asinh(goals / (2.0 * float(params.goal_rate)))
    return (
        logistic_lead_for_score(expected_score)
        if params.noise is None
        else normal_lead_for_score(expected_score, float(params.noise))
    )


def weng_lin_rating_lead_for_score(params: Any, expected_score: float) -> float:
    noise = math.sqrt(2.0) * float(params.beta)
    return (
        logistic_lead_for_score(expected_score, noise * math.log(10.0))
        if params.epsilon is None
        else normal_lead_for_score(expected_score, noise)
    )


# By system: the points by which one leads who is expected to score so much, of two whose strengths are certain.
SIDE_LEADS: dict[str, Callable[[Any, float], float]] = {
    "elo": lambda params, score: logistic_lead_for_score(score, float(params.scale)),
    "glicko": lambda params, score: logistic_lead_for_score(score),
    "glicko2": lambda params, score: logistic_lead_for_score(score),
    "category_glicko": lambda params, score: normal_lead_for_score(score, float(params.scale)),
    "skills": skills_rating_lead_for_score,
    "blat_mmr": blat_mmr_rating_lead_for_score,
    "trueskill": lambda params, score: normal_lead_for_score(score, math.sqrt(2.0) * float(params.beta)),
    "weng_lin": weng_lin_rating_lead_for_score,
}
