"""How far systems are behind the best, as bars on one axis."""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from jaxrate.league.comparison_table import INTERVAL_ERRORS, Comparison, SystemResult, system_result_label
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.site.drawings import Axis, interval_bar, make_axis
from jaxrate.site.maker_advice import Advice
from jaxrate.systems.system_titles import system_title
from jaxrate.text_format import format_decimals, format_number, join_names, use_minus_sign

BLEND_TITLE = "All blended"


class SystemRow(NamedTuple):
    """A forecaster, with its difference from the best system."""

    name: str
    log_loss: str
    bar: str  # as HTML
    text: str


class SystemBars(NamedTuple):
    axis: Axis
    rows: list[SystemRow]
    others: list[SystemRow]  # a blend of the systems, and forecasts that were published
    is_beaten: bool  # whether one of the others is better than the best system


def draw_system_bars(comparison: Comparison | None) -> SystemBars | None:
    """The bars of a comparison; None without differences of the log loss."""
    if comparison is None or not comparison.has_differences:
        return None
    systems = [(_label(x), x.quality, x.log_loss_difference) for x in comparison.results]
    blend = comparison.blend
    others: list[tuple[str, dict[str, float], LogLossDifference | None]] = []
    if blend is not None:
        others.append((BLEND_TITLE, blend.quality, blend.log_loss_difference))
    others += [(x.name, x.quality, x.log_loss_difference) for x in comparison.published]
    gaps = [(0.0, None), *(gap_and_half_width(gap) for *_, gap in [*systems[1:], *others])]
    low, high = (choose(gap + sign * (half or 0.0) for gap, half in gaps) for choose, sign in ((min, -1), (max, 1)))
    axis = make_axis(low, high)
    rows = [
        SystemRow(name, f"{quality['log loss']:.4f}", interval_bar(axis, *gap), describe_gap(*gap))
        for (name, quality, _), gap in zip([*systems, *others], gaps, strict=True)
    ]
    rows[0] = rows[0]._replace(text="best")
    is_beaten = any(gap < 0 for gap, _ in gaps)
    return SystemBars(axis, rows[: len(systems)], rows[len(systems) :], is_beaten)


def gap_and_half_width(gap: LogLossDifference | None) -> tuple[float, float | None]:
    """A difference, and half of its 95% interval, None if that is not known."""
    if gap is None:
        return 0.0, None
    return gap.difference, INTERVAL_ERRORS * gap.error if math.isfinite(gap.error) else None


def describe_gap(gap: float, half: float | None) -> str:
    """How far behind the best system, as "+0.0041 ± 0.0012"; less than 0 is ahead of it."""
    text = use_minus_sign(format_decimals(gap, 4, signed=True))
    return text if half is None else f"{text} ± {half:.4f}"


def write_comparison_title(comparison: Comparison | None) -> str:
    """Which system predicted best and how far ahead of the next, as a finding; "Other systems" without differences."""
    if comparison is None or not comparison.has_differences:
        return "Other systems"
    first, second = comparison.results[:2]
    gap = second.log_loss_difference
    if gap is None or not gap.difference > INTERVAL_ERRORS * gap.error:
        return f"{_label(first)} and {_label(second)} predict about equally well"
    return f"Of these systems {_label(first)} predicts best, {gap.difference:.4f} of log loss ahead of {_label(second)}"


def describe_comparison(comparison: Comparison | None, name: str) -> list[str]:
    """Sentences that qualify the title: who alone learns from margins, how others compare, and who is better.

    `name` is that of the system whose ratings are shown.
    """
    if comparison is None or not comparison.has_differences:
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


def describe_place_of_system(comparison: Comparison | None, name: str) -> str:
    """The place of the system of this name, if it is behind the best by more than chance."""
    place = _place_behind_best(comparison, name)
    if comparison is None or place is None:
        return ""
    rank = f"number {place} of {len(comparison.results)} systems by its predictions"
    return f"These are the ratings of {system_title(name)}, {rank}."


def advise_best_system(comparison: Comparison | None, name: str) -> tuple[Advice, ...]:
    """How to rate by the system that predicted best, if the one of this name is behind it by more than chance."""
    if comparison is None or _place_behind_best(comparison, name) is None:
        return ()
    best = comparison.results[0]
    command = f"--system {best.name}" + ("" if best.period is None else f" --period {format_number(best.period)}")
    return (Advice(f"To rate by {_label(best)}, which predicted best:", (f"jaxrate report FILE {command}",)),)


def _place_behind_best(comparison: Comparison | None, name: str) -> int | None:
    """The place of a system that is behind the best by more than chance; None of others."""
    results = [] if comparison is None or not comparison.has_differences else comparison.results
    place = next((i for i, x in enumerate(results) if x.name == name), 0)
    gap, half = gap_and_half_width(results[place].log_loss_difference) if place else (0.0, None)
    return None if half is None or gap <= half or results[0].name == name else place + 1


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
