"""Systems with draws of their own: what predicts in full, by the rule that predicts expected scores."""

from typing import Any

from jaxrate.hashable_values import rebind
from jaxrate.rules import Predict
from jaxrate.system import RatingSystem
from jaxrate.systems.skills import rules as skills
from jaxrate.systems.trueskill import model as trueskill
from jaxrate.systems.trueskill import win_draw_probabilities
from jaxrate.systems.urnings import model as urnings

OWN_OUTCOMES: dict[Any, Any] = {
    skills.predict: skills.predict_outcome_probabilities,
    trueskill.predict: win_draw_probabilities.predict_outcome_probabilities,
    urnings.predict: urnings.predict_score_probabilities,
}


def own_draw_predict_rule(system: RatingSystem) -> Predict | None:
    """What predicts the outcomes of a system in full by its own draws; None if it has none."""
    if getattr(system.params, "draw_margin", 0.0) is None:
        return None
    rule: Predict | None = rebind(system.rules.predict, OWN_OUTCOMES)
    return rule
