"""Skills for given data: all the evidence that there is, with values that a fit can start from."""

from collections.abc import Mapping
from typing import Any

from jaxrate.system import Facts, by_period
from jaxrate.systems.skills.model import statistic_noise_name, statistic_scale_name

EXPERIENCE = 20.0  # points per unit of log(1 + matches played)
REVERSION = 3000.0  # days
DEFAULT_NOISE = 300.0  # points, of the difference of two performances
MEAN_MARGIN = 600.0  # points that a mean margin is worth before it is compressed: twice the usual noise
DEFAULT_FORM_REVERSION = 30.0  # days


def adapt(facts: Facts, changes: Mapping[str, Any]) -> dict[str, Any]:
    """All evidence that the data have, with values that a fit can start from, and the period that they are rated in.

    Who falls back between seasons does not fall back by the clock as well: histories cannot tell the two apart. What
    varies of statistics about the strengths of players is worth the noise of performances at first.
    """
    given: dict[str, Any] = {"covariates": facts.covariates, "seasons": facts.seasons, "experience": EXPERIENCE}
    if facts.categories is not None:
        given["categories"] = facts.categories
    if facts.side:
        given["own_side"] = True
    if facts.league_season is not None:
        given["league_season"] = facts.league_season
    elif not facts.seasons:
        given["reversion"] = REVERSION
    if facts.margin and changes.get("outcome", "margin") == "margin":
        given |= {"outcome": "margin", "margin": facts.margin}
        if facts.margin_size > 0:
            given |= {"margin_scale": MEAN_MARGIN / facts.margin_size, "compression": facts.margin_size}
    if facts.statistics and changes.get("outcome") != "logistic":
        given["statistics"] = facts.statistics
        for name, noise in zip(facts.statistics, facts.statistic_noise, strict=False):
            given |= (
                {statistic_scale_name(name): DEFAULT_NOISE / noise, statistic_noise_name(name): DEFAULT_NOISE}
                if noise > 0
                else {}
            )
    return given | by_period(facts, changes)
