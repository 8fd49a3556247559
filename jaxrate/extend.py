"""What a system of one's own needs: what a system is, hyperparameters, events, and the exchangeable parts of systems.

The guide "A system of your own" has an example. `jaxrate.testing.check` says whether a system keeps its promises.
"""

from jaxrate.core.compiled_program_cache import cache_programs
from jaxrate.core.hyperparameter_definitions import (
    ANY,
    MAYBE_ANY,
    MAYBE_NOT_NEGATIVE,
    MAYBE_POSITIVE,
    NOT_NEGATIVE,
    OPEN_UNIT_INTERVAL,
    POSITIVE,
    SIDE_ADVANTAGE,
    UNIT_INTERVAL,
    Parameter,
    collect_params,
)
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.pairwise_rules import PairwiseRules, signed_side_advantage, split_sides
from jaxrate.core.rules import RatedEvent, Rating, RuleByKind, Rules, keep_rows, prepare_params
from jaxrate.core.system import RatingSystem, Settings, clip_optional, full_leaf, system_factory
from jaxrate.events import Context, Ragged
from jaxrate.replay.execution import CompilePolicy
from jaxrate.replay.schedule import schedule_by_level
from jaxrate.systems import ALL_SYSTEMS, SYSTEMS
from jaxrate.systems.blat_mmr import kernels, luck
from jaxrate.systems.rounds import hazard_tables as densities

__all__ = [
    "ALL_SYSTEMS",
    "ANY",
    "MAYBE_ANY",
    "MAYBE_NOT_NEGATIVE",
    "MAYBE_POSITIVE",
    "NOT_NEGATIVE",
    "OPEN_UNIT_INTERVAL",
    "POSITIVE",
    "SIDE_ADVANTAGE",
    "SYSTEMS",
    "UNIT_INTERVAL",
    "CompilePolicy",
    "Context",
    "PairwiseRules",
    "Parameter",
    "Ragged",
    "RatedEvent",
    "Rating",
    "RatingSystem",
    "RuleByKind",
    "Rules",
    "Settings",
    "cache_programs",
    "clip_optional",
    "collect_params",
    "densities",
    "elapsed_time",
    "full_leaf",
    "keep_rows",
    "kernels",
    "luck",
    "prepare_params",
    "schedule_by_level",
    "signed_side_advantage",
    "split_sides",
    "system_factory",
]


def __dir__() -> list[str]:
    return __all__
