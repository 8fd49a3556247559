"""Elo-MMR's hyperparameters, what is static about it, and what its rules need of them."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import MAYBE_NOT_NEGATIVE, MAYBE_POSITIVE, Parameter
from jaxrate.systems.rounds.hazard_tables import Density, HazardTable
from jaxrate.systems.rounds.performance_inference import TieSplit

WEIGHT = Parameter(MAYBE_POSITIVE, "1", "w: what a contest counts, gamma^2 / limit_deviation^2")
LIMIT_DEVIATION = Parameter(MAYBE_NOT_NEGATIVE, "points", "L: where deviations settle")
BETA = Parameter(
    MAYBE_POSITIVE,
    "points",
    "noise of a performance; with gamma, in place of these two",
    caution="it predicts best, but is some 15% below the true noise of performances; its interval is too narrow",
)
GAMMA = Parameter(MAYBE_NOT_NEGATIVE, "points", "drift of a skill in every contest; goes with beta; 0: skills stay")
DRIFT = Parameter(MAYBE_NOT_NEGATIVE, "points^2 per day", "D: drift by the clock; None: none")


def check_split_ties(name: str, split_ties: Any) -> TieSplit:
    """The setting of this name; ValueError unless it is one."""
    if isinstance(split_ties, (bool, np.bool_)):
        return bool(split_ties)
    if isinstance(split_ties, (float, np.floating)) and 0.0 < split_ties < 1.0:
        return float(split_ties)
    if np.shape(split_ties) == (2,):
        of_loss, of_win = (float(x) for x in split_ties)
        if min(of_loss, of_win) > 0.0 and max(of_loss, of_win) <= 1.0:  # then they differ by less than 1
            return of_loss, of_win
    allowed = (
        "True, False, a number above 0 and below 1, or what a tie counts of a loss and of a win, above 0, at most 1"
    )
    raise ValueError(f"{name}: split_ties must be {allowed}, got {split_ties!r}")


class ModelSettings(NamedTuple):
    """What is static."""

    density: Density  # of the noise of a performance
    history: int | None  # performances kept; None: normal ones, which need not be
    split_ties: TieSplit
    skip_ties: bool  # contests in which all tie change nothing
    newcomer: tuple[float, ...]  # factors of the weight in the first contests
    points: int  # of tables, in float32
    teams: str | None = None  # what a team's performance is of its members', one of `TEAM_PERFORMANCES`; None: no teams


class Constants(NamedTuple):
    params: Any
    growth: float | Array  # gamma^2 of a contest of weight 1
    limit: float | Array  # L^2
    noise: float | Array  # beta^2 of a contest of weight 1, less L^2
    newcomer: Array  # the factors, and 1
    table: HazardTable | None  # of the density; None: it is the logistic or the normal one
