"""Urns of Urnings: simulated worlds, the exact law of urns, tests of skills, matchmakers.

urn_games.py        urnings with matchmaking by the urns
exact_urn_law.py    the exact law of urns (Theorems 4 and 5 of Bolsinova and others 2022)
matchmakers.py      matchmakers for Urnings: how pairs are picked, and with which probability
skill_inference.py  inference about skills from urns
"""

from jaxrate.systems.urnings import make_urns
from jaxrate.urns import matchmakers
from jaxrate.urns.exact_urn_law import UrnLaw, urn_law, urn_marginals
from jaxrate.urns.skill_inference import (
    ChangedSkills,
    SameSkill,
    compare_skill,
    confidence_band,
    find_changed_skills,
    split_by_side,
)
from jaxrate.urns.urn_games import World, replay_history, simulate_world

__all__ = [
    "ChangedSkills",
    "SameSkill",
    "UrnLaw",
    "World",
    "compare_skill",
    "confidence_band",
    "find_changed_skills",
    "make_urns",
    "matchmakers",
    "replay_history",
    "simulate_world",
    "split_by_side",
    "urn_law",
    "urn_marginals",
]


def __dir__() -> list[str]:
    return __all__
