"""How far systems are behind the best, as bars on one axis."""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from jaxrate.league.comparison_table import INTERVAL_ERRORS, Comparison, SystemResult, system_result_label
from jaxrate.league.evaluation import format_metric
from jaxrate.metrics.pair_order import PairOrderDifference
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.site.drawings import Axis, interval_bar, make_axis
from jaxrate.site.maker_advice import Advice
from jaxrate.systems.system_titles import system_title
from jaxrate.text_format import format_decimals, format_number, join_names, use_minus_sign

BLEND_TITLE = "All blended"


class Measure(NamedTuple):
    """What systems are compared by: a metric, and the unit of differences of it."""

    metric: str
    heading: str
    unit: str  # of a difference in a sentence
    scale: float  # of differences
    digits: int
    explanation: str  # of the bars


LOG_LOSS = Measure(
    "log loss",
    "log loss",
    " of log loss",
    1.0,
    4,
    "log loss, with 95% intervals; less is better{beaten}. Even chances for everybody have log loss 0.6931.",
)
PAIR_ORDER = Measure(
    "pair inversion",
    "pairs in order",
    " percentage points of pairs in order",
    100.0,
    2,
    "the share of pairs of opponents that finished in the predicted order, in percentage points, with 95% intervals. "
    "Here ties count as in order.",
)


class SystemRow(NamedTuple):
    """A forecaster, with its difference from the best system."""

    name: str
    value: str  # of the measure
    bar: str  # as HTML
    text: str


class SystemBars(NamedTuple):
    measure: Measure
    axis: Axis
    rows: list[SystemRow]
    others: list[SystemRow]  # a blend of the systems, and forecasts that were published
    explanation: str


def is_comparison(comparison: Comparison | None) -> bool:
    """Whether there are two or more forecasters to compare."""
    return comparison is not None and len(comparison.results) + len(comparison.published) > 1


def draw_system_bars(comparison: Comparison | None) -> SystemBars | None:
    """The bars of a comparison; None without differences."""
    if comparison is None or not _has_differences(comparison):
        return None
    measure = _measure(comparison)
    systems = [(_label(x), x.quality, gap_and_half_width(_difference(x), measure)) for x in comparison.results]
    blend = comparison.blend
    others: list[tuple[str, dict[str, float], tuple[float, float | None]]] = []
    if blend is not None:
        others.append((BLEND_TITLE, blend.quality, gap_and_half_width(blend.log_loss_difference)))
    others += [(x.name, x.quality, gap_and_half_width(x.log_loss_difference)) for x in comparison.published]
    gaps = [(0.0, None), *(gap for *_, gap in [*systems[1:], *others])]
    low, high = (choose(gap + sign * (half or 0.0) for gap, half in gaps) for choose, sign in ((min, -1), (max, 1)))
    axis = make_axis(low, high)
    rows = [
        SystemRow(
            name,
            format_metric(measure.metric, quality[measure.metric]),
            interval_bar(axis, *gap),
            describe_gap(*gap, measure),
        )
        for (name, quality, _), gap in zip([*systems, *others], gaps, strict=True)
    ]
    rows[0] = rows[0]._replace(text="best")
    beaten = ", and less than 0 is better than the best" if any(gap < 0 for gap, _ in gaps) else ""
    told = measure.explanation.format(beaten=beaten)
    return SystemBars(measure, axis, rows[: len(systems)], rows[len(systems) :], told)


def _has_differences(comparison: Comparison) -> bool:
    return len(comparison.results) > 1 and _difference(comparison.results[0]) is not None


def _measure(comparison: Comparison) -> Measure:
    return PAIR_ORDER if comparison.results[0].log_loss_difference is None else LOG_LOSS


def _difference(result: SystemResult) -> LogLossDifference | PairOrderDifference | None:
    """How far a system is behind the best, by the measure of its comparison."""
    return result.pair_order_difference if result.log_loss_difference is None else result.log_loss_difference


def gap_and_half_width(
    gap: LogLossDifference | PairOrderDifference | None, measure: Measure = LOG_LOSS
) -> tuple[float, float | None]:
    """A difference in the unit of the measure, and half of its 95% interval, None if that is not known."""
    if gap is None:
        return 0.0, None
    half = INTERVAL_ERRORS * gap.error * measure.scale
    return measure.scale * gap.difference, half if math.isfinite(half) else None


def describe_gap(gap: float, half: float | None, measure: Measure = LOG_LOSS) -> str:
    """How far behind the best system, as "+0.0041 ± 0.0012"; less than 0 is ahead of it."""
    text = use_minus_sign(format_decimals(gap, measure.digits, signed=True))
    return text if half is None else f"{text} ± {half:.{measure.digits}f}"


def write_comparison_title(comparison: Comparison | None, name: str) -> str:
    """What readers of the ratings of this system learn from others, as a finding; "Other systems" without differences.

    That it predicts best and how far ahead of the next, or how often it is right, beside the one that predicts best.
    """
    if comparison is None or not _has_differences(comparison):
        return "Other systems"
    first, second = comparison.results[:2]
    measure = _measure(comparison)
    place = _place_behind_best(comparison, name)
    if place is not None:
        metric = "accuracy" if measure is LOG_LOSS else measure.metric
        shown, best = (format_metric(metric, x.quality[metric]) for x in (comparison.results[place - 1], first))
        those = f"{_label(first)}, the best of {len(comparison.results)} systems"
        if measure is LOG_LOSS:
            return f"Favourites score {shown} by {system_title(name)}, and {best} by {those}"
        return f"{system_title(name)} has {shown} of pairs in order; {those}, {best}"
    gap, half = gap_and_half_width(_difference(second), measure)
    if not gap > (math.inf if half is None else half):
        return f"{_label(first)} and {_label(second)} predict about equally well"
    ahead = f"{gap:.{measure.digits}f}{measure.unit}"
    return f"Of these systems {_label(first)} predicts best, {ahead} ahead of {_label(second)}"


def describe_comparison(comparison: Comparison | None, name: str) -> list[str]:
    """Sentences that qualify the title: who alone learns from margins, how others compare, and who is better.

    `name` is that of the system whose ratings are shown.
    """
    if comparison is None or not _has_differences(comparison):
        return []
    best, results = comparison.results[0], comparison.results
    learners = {x.name for x in results if x.system.settings.get("outcome") == "margin"}
    texts = []
    if len(learners) == 1 and len({x.name for x in results}) > 1:
        texts.append(f"Of these systems only {system_title(*learners)} learns from points.")
    others = [(f"The model of {x.name}", x.log_loss_difference) for x in comparison.published]
    if comparison.blend is not None:
        others.append(("The blend of all systems", comparison.blend.log_loss_difference))
    texts += [f"{other} {compare_in_words(gap, _label(best))}." for other, gap in others]
    better = describe_better_systems(comparison, name)
    return [*filter(None, [" ".join(texts), better])]


def compare_in_words(gap: LogLossDifference | None, best: str) -> str:
    """How a forecaster compares with the best system, as "is level with Skills"."""
    difference, half = gap_and_half_width(gap)
    if half is None or abs(difference) <= half:
        return f"is level with {best}, within the 95% interval"
    return f"predicts {'better' if difference < 0 else 'worse'} than {best}, by {abs(difference):.4f} of log loss"


def advise_best_system(comparison: Comparison | None, name: str, *, is_fitted: bool = False) -> tuple[Advice, ...]:
    """How to rate better, if the system of this name is behind the one that predicted best by more than chance.

    `is_fitted`: whether its hyperparameters were fitted, which is then no advice.
    """
    place = _place_behind_best(comparison, name)
    if comparison is None or place is None:
        return ()
    best = comparison.results[0]
    option = f"--system {best.name}" + ("" if best.period is None else f" --period {format_number(best.period)}")
    rank = f"{name} was number {place} of {len(comparison.results)} systems by its predictions"
    fit = "jaxrate fit FILE --data-share 0.8 --save fitted.toml", "jaxrate report FILE --params fitted.toml"
    advice = [] if is_fitted else [Advice(f"{rank}; to fit it to earlier results", fit)]
    purpose = f"to rate by {best.name}, which predicted best"
    return (*advice, Advice(purpose if advice else f"{rank}; {purpose}", (f"jaxrate report FILE {option}",)))


def _place_behind_best(comparison: Comparison | None, name: str) -> int | None:
    """The place of a system that is behind the best by more than chance; None of others."""
    results = [] if comparison is None or not _has_differences(comparison) else comparison.results
    place = next((i for i, x in enumerate(results) if x.name == name), 0)
    if comparison is None or not place:
        return None
    gap, half = gap_and_half_width(_difference(results[place]), _measure(comparison))
    return None if half is None or gap <= half else place + 1


def name_systems_in_print(text: str, names: Iterable[str]) -> str:
    """A text about systems of these names, with their names in print."""
    for name in {*names}:
        text = re.sub(rf"\b{re.escape(name)}\b", system_title(name), text)
    return text


def describe_better_systems(comparison: Comparison | None, name: str) -> str:
    """Which systems predicted better than the one of this name, whose ratings are shown; nothing if none did."""
    names = [] if comparison is None else [result.name for result in comparison.results]
    if name not in names or comparison is None:
        return ""
    better = list(dict.fromkeys(_label(x) for x in comparison.results[: names.index(name)]))
    if not better:
        return ""
    return f"{join_names(better)} predicted better than {system_title(name)}, whose ratings are shown here."


def _label(result: SystemResult) -> str:
    return system_result_label(result._replace(name=system_title(result.name)))
