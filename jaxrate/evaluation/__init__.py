"""How well systems predict: comparisons, benchmarks against ceilings, blends.

system_comparison.py         compare: systems on the same events
comparison_candidates.py     the systems that can be compared on a dataset
contenders.py                systems that are compared: fitted to the past, and replayed against the clock
comparison_table.py          Comparison, and how it prints
comparison_notes.py          the notes beneath its table
system_benchmark.py          benchmark_systems: how near systems come to ceilings
benchmark_scoring.py         metrics of its forecasts, and their differences from the best system
benchmark_table.py           Benchmark, and how it prints
benchmark_findings.py        what a benchmark says, in sentences
external_forecasts.py        forecasts of others: published probabilities, odds
boosted_trees.py             a ceiling: gradient boosting on ratings and all else that is known before
scored_predictions.py        metrics of the predictions of a history
blending.py                  blend_systems: several systems as one forecaster
margin_scale_selection.py    the scale of margins that predicts best
"""

from jaxrate.evaluation.benchmark_table import Benchmark
from jaxrate.evaluation.blending import Blend, blend_systems
from jaxrate.evaluation.comparison_table import Comparison
from jaxrate.evaluation.system_benchmark import benchmark_systems

__all__ = ["Benchmark", "Blend", "Comparison", "benchmark_systems", "blend_systems"]


def __dir__() -> list[str]:
    return __all__
