"""Skills for given data: all the evidence that there is, with values that a fit can start from."""

from collections.abc import Mapping
from typing import Any

from jaxrate.system import DataFacts, adapt_period
from jaxrate.systems.skills.model import statistic_noise_name, statistic_scale_name

DEFAULT_EXPERIENCE = 20.0  # points per unit of log(1 + matches played)
DEFAULT_REVERSION = 3000.0  # days
DEFAULT_NOISE = 300.0  # points, of the difference of two performances
MEAN_MARGIN_POINTS = 600.0  # points that a mean margin is worth before it is compressed: twice the usual noise
DEFAULT_FORM_REVERSION = 30.0  # days


def adapt_to_data(facts: DataFacts, changes: Mapping[str, Any]) -> dict[str, Any]:
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
    if facts.margin and changes.get("outcome", "margin") == "margin":
        options |= {"outcome": "margin", "margin": facts.margin}
        if facts.margin_size > 0:
            options |= {"margin_scale": MEAN_MARGIN_POINTS / facts.margin_size, "compression": facts.margin_size}
    if facts.statistics and changes.get("outcome") != "logistic":
        options["statistics"] = facts.statistics
        for name, noise in zip(facts.statistics, facts.statistic_noise, strict=False):
            options |= (
                {statistic_scale_name(name): DEFAULT_NOISE / noise, statistic_noise_name(name): DEFAULT_NOISE}
                if noise > 0
                else {}
            )
    return options | adapt_period(facts, changes)
