"""How far systems are behind the best, as bars on one axis."""

import math
from typing import NamedTuple

from jaxrate.league.comparison_table import INTERVAL_ERRORS, Comparison, SystemResult, system_result_label
from jaxrate.site.drawings import Axis, interval_bar, make_axis
from jaxrate.site.method_texts import system_title
from jaxrate.text_format import join_names, use_minus_sign


class SystemRow(NamedTuple):
    """A system, with its difference from the best one."""

    name: str
    log_loss: str
    bar: str  # as HTML
    text: str


class SystemBars(NamedTuple):
    axis: Axis
    rows: list[SystemRow]


def draw_system_bars(comparison: Comparison | None) -> SystemBars | None:
    """The bars of a comparison; None without differences of the log loss."""
    if comparison is None or not comparison.has_differences:
        return None
    best = comparison.results[0].quality["log loss"]
    found = []
    for result in comparison.results:
        difference, half = result.log_loss_difference, None
        if result is not comparison.results[0] and difference is not None and math.isfinite(difference.error):
            half = INTERVAL_ERRORS * difference.error
        found.append((_label(result), result.quality["log loss"], half))
    if comparison.blend is not None:
        found.append(("All blended", comparison.blend.quality["log loss"], None))
    low, high = (
        choose(loss - best + sign * (half or 0.0) for _, loss, half in found) for choose, sign in ((min, -1), (max, 1))
    )
    axis = make_axis(low, high)
    return SystemBars(
        axis,
        [
            SystemRow(
                name,
                f"{loss:.4f}",
                interval_bar(axis, loss - best, half),
                "" if loss == best else use_minus_sign(f"{loss - best:+.4f}{'' if half is None else f' ± {half:.4f}'}"),
            )
            for name, loss, half in found
        ],
    )


def write_comparison_title(comparison: Comparison | None) -> str:
    """Which system predicted best and how far ahead of the next, as a finding; "Other systems" without differences."""
    if comparison is None or not comparison.has_differences:
        return "Other systems"
    first, second = comparison.results[:2]
    gap = second.log_loss_difference
    if gap is None or not gap.difference > INTERVAL_ERRORS * gap.error:
        return f"{_label(first)} and {_label(second)} predict about equally well"
    return f"Of these systems {_label(first)} predicts best, {gap.difference:.4f} ahead of {_label(second)}"


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
