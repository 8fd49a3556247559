"""How well systems predict: comparisons, benchmarks against ceilings, blends.

comparison.py          compare: systems on the same events, fitted to the past, and how the table prints
benchmark.py           benchmark_systems: how near systems come to ceilings, and how that prints
ceilings.py            ceilings: forecasts of others, and gradient boosting on all that is known before
scored_predictions.py  metrics of the predictions of a history
blending.py            blend_systems: several systems as one forecaster
"""

from jaxrate.evaluation.benchmark import Benchmark, benchmark_systems
from jaxrate.evaluation.blending import Blend, blend_systems
from jaxrate.evaluation.comparison import Comparison

__all__ = ["Benchmark", "Blend", "Comparison", "benchmark_systems", "blend_systems"]


def __dir__() -> list[str]:
    return __all__
