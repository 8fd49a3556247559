"""The parts and observations of `jr.skills`: values that print as the calls that make them.

    system = jr.skills(jr.parts.own_side(), jr.parts.experience(20), observe=jr.parts.margin("points"))

The guide "Skills" builds models of them.
"""

from jaxrate.systems.skills.part_declarations import (
    covariate,
    expected_goals,
    experience,
    form,
    goals,
    kinds,
    league_seasons,
    logistic,
    margin,
    modifier,
    own,
    own_observation,
    own_side,
    points,
    quits,
    result,
    seasons,
    side,
    side_trend,
    skill,
    statistic,
    team,
)

__all__ = [
    "covariate",
    "expected_goals",
    "experience",
    "form",
    "goals",
    "kinds",
    "league_seasons",
    "logistic",
    "margin",
    "modifier",
    "own",
    "own_observation",
    "own_side",
    "points",
    "quits",
    "result",
    "seasons",
    "side",
    "side_trend",
    "skill",
    "statistic",
    "team",
]
