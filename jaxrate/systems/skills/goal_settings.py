"""Hyperparameters of goals and points, their usual values, and matches whose goals are goals."""

from functools import partial
from typing import Any

import numpy as np

from jaxrate.core.hyperparameter_definitions import MAYBE_ANY, MAYBE_NOT_NEGATIVE, MAYBE_POSITIVE, Parameter
from jaxrate.events import fail_where
from jaxrate.systems.skills.settings_and_state import GROWTH_UNIT, ModelSettings

PACE_GROWTH = Parameter(
    MAYBE_NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviation of a pace", if_none="2, with goals; 10, with points"
)
PACE_DEVIATION = Parameter(
    MAYBE_POSITIVE, "points", "deviation of a newcomer's pace", if_none="30, with goals; 150, with points"
)
GOAL_RATE = Parameter(
    MAYBE_POSITIVE, "goals", "goals of each of two equals, without a side", if_none="1.35, with goals"
)
GOAL_DISPERSION = Parameter(
    MAYBE_NOT_NEGATIVE, "points", "deviation of the log of goals beyond Poisson's, where 400 are a factor of 10"
)
LOW_SCORE_DEPENDENCE = Parameter(
    MAYBE_ANY, "1", "Dixon and Coles' rho: below 0, 0:0 and 1:1 are more frequent, and 1:0 and 0:1 less"
)
EXPECTED_GOALS_NOISE = Parameter(
    MAYBE_POSITIVE, "goals^(1/2)", "deviation of the root of expected goals", if_none="0.5, with expected_goals"
)
EXPECTED_GOALS_SCALE = Parameter(
    MAYBE_POSITIVE, "1", "expected goals for each goal, in the mean", if_none="1, with expected_goals"
)
POINT_RATE = Parameter(
    MAYBE_POSITIVE, "points of the score", "points of each of two equals, without a side", if_none="100, with points"
)
TOTAL_NOISE = Parameter(
    MAYBE_POSITIVE,
    "points",
    "deviation of both sides' points together, given paces",
    if_none="450, with points",
)
MAX_GOALS = 100_000  # of a side, or expected of it: beyond it rates are cut
NEEDS_POINTS = "needs outcome='points'"
NEEDS_PACE = "needs outcome='points' or outcome='goals'"
NEEDS_GOALS = "needs outcome='goals'"
NEEDS_EXPECTED_GOALS = "needs expected_goals=..., the columns of both sides"
NOT_FOR_GOALS = "does not go with outcome='goals', where the goals of both sides make the result"


def goal_param_defaults(model: ModelSettings) -> dict[str, tuple[bool, float | None, str]]:
    """Of each hyperparameter of goals and points whether the model has it, its usual value, and what else it needs."""
    goals, points, expected = model.outcome == "goals", model.outcome == "points", bool(model.expected_goals)
    return {
        "pace_growth": (model.pace, 10.0 if points else 2.0, NEEDS_PACE),
        "initial_pace_deviation": (model.pace, 150.0 if points else 30.0, NEEDS_PACE),
        "point_rate": (points, 100.0, NEEDS_POINTS),
        "total_noise": (points, 450.0, NEEDS_POINTS),
        "goal_rate": (goals, 1.35, NEEDS_GOALS),
        "goal_dispersion": (goals, None, NEEDS_GOALS),
        "low_score_dependence": (goals, None, NEEDS_GOALS),
        "expected_goals_noise": (expected, 0.5, NEEDS_EXPECTED_GOALS),
        "expected_goals_scale": (expected, 1.0, NEEDS_EXPECTED_GOALS),
    }


def check_goal_settings(model: ModelSettings) -> None:
    """ValueError for settings that do not go with goals, or only with them."""
    if model.expected_goals and model.outcome != "goals":
        raise ValueError(f"skills: expected_goals {NEEDS_GOALS}")
    if not model.pace:
        return
    if len(model.margin) != 2:
        text = f"with outcome={model.outcome!r} margin must be two columns: the {model.outcome} of each side"
        raise ValueError(f"skills: {text}")
    if model.quit is not None or model.team_performance != "sum":
        raise ValueError(f"skills: quit and team_performance are of contests, and {model.outcome} of matches of two")
    if model.outcome == "points":
        return
    if len(model.expected_goals) not in (0, 2):
        raise ValueError("skills: expected_goals must be two columns, of the first and of the second player")
    if shared := [name for name in model.expected_goals if name in model.margin]:
        raise ValueError(f"skills: expected_goals names {shared[0]!r}, a column of the goals themselves")
    if model.statistics:
        raise ValueError(f"skills: statistics {NOT_FOR_GOALS}; take expected_goals")


def check_goals(model: ModelSettings, matches: Any) -> None:
    """ValueError unless goals are whole numbers that make the results, and expected goals not negative."""
    columns = matches.context.columns
    goals = [np.asarray(columns[name]) for name in model.margin]
    for name, values in zip(model.margin, goals, strict=True):
        is_count = (values >= 0) & (values <= MAX_GOALS) & (values == np.rint(values))
        fail_where(~is_count, partial(_invalid_goals_message, name, values))
    for name in model.expected_goals:
        values = np.asarray(columns[name])
        fail_where((values < 0) | (values > MAX_GOALS), partial(_invalid_expected_goals_message, name, values))
    lead, score = goals[0] - goals[1], np.asarray(matches.score)
    is_contradiction = (lead * (score - 0.5) < 0.0) | ((score == 0.5) & (lead != 0.0))
    fail_where(is_contradiction, partial(_contradiction_message, model.margin, goals, score))


def _invalid_goals_message(name: str, values: Any, row: int) -> str:
    return f"column {name!r} is {values[row]:g}; goals are whole numbers, from 0 to {MAX_GOALS:,}"


def _invalid_expected_goals_message(name: str, values: Any, row: int) -> str:
    return f"column {name!r} is {values[row]:g}; expected goals are numbers from 0 to {MAX_GOALS:,}, or NaN"


def _contradiction_message(names: tuple[str, ...], goals: list[Any], score: Any, row: int) -> str:
    result = "drew" if score[row] == 0.5 else "won" if score[row] > 0.5 else "lost"
    first, second = (f"{x[row]:g}" for x in goals)
    return (
        f"the first player {result} with {first} goals to {second}; margin is {names[0]}, their goals, and {names[1]}"
    )
