"""Titles of plots: the finding, where the data decide it, in words that fit one player as well as a team."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, join_names
from jaxrate.history.leaderboards import EVEN_PERCENT, classify_first_place, classify_lead
from jaxrate.plots.history_lines import format_peak_time, times_span
from jaxrate.plots.views import Z_95, Curve, Line

MAX_TITLE_NAMES = 4
SHARED_END = 0.05  # share of the time of all lines in which they end, if their ends are compared
SURPRISE_LEVEL = 0.05  # probability of naming somebody if nobody's scores are more than chance
CLEAR_DEVIATIONS = 2.0  # standard errors from which on predictions are too bold or too cautious
DIRECTIONS = {1: "higher", -1: "lower"}
CLEAR_STRETCH = 0.03  # and by which share they then are at least


def format_amount(value: float, unit: str, digits: int | None = None) -> str:
    """A rating or a difference with its unit, as "1,512 points"; other units than points are not written."""
    digits = (0 if abs(value) >= 10.0 else 1 if abs(value) >= 1.0 else 2) if digits is None else digits
    number = f"{value:,.{digits}f}".removesuffix(".0").replace("-", "\N{MINUS SIGN}")
    return f"{number} point{'' if number == '1' else 's'}" if unit == "points" else number


def list_names(names: Sequence[str]) -> str:
    """Names for a title, as "Ada, Bo and Cy"; of more than four "Ada and 4 others"."""
    return f"{names[0]} and {len(names) - 1:,} others" if len(names) > MAX_TITLE_NAMES else join_names(names)


def leader_title(names: Sequence[str], values: HostArray, deviations: HostArray | None, unit: str) -> str:
    """Who is on top of a list, the best first, and by how much."""
    gap = float(values[0] - values[1]) if len(names) > 1 else -1.0
    if gap < 0.0:  # one row, or an order by another value
        return f"{names[0]} on top"
    amount = format_amount(gap, unit)
    place = classify_first_place(values.tolist(), None if deviations is None else deviations.tolist())
    if place == "level":
        return f"{names[0]} and {names[1]} almost level on top"
    if place == "probably ahead":
        return f"{names[0]} on top by {amount}, probably ahead of {names[1]}"
    best = "best" if len(names) > 2 else "better"
    on_top = f"probably the {best}" if place == "probably best" else "on top"
    return f"{names[0]} {on_top}, {amount} ahead of {names[1]}"


def ratings_title(
    lines: Sequence[Line],
    clock: str,
    unit: str,
    num_early: int = 0,
    *,
    others_peak: float = -math.inf,
    prefers_peaks: bool = False,
) -> str:
    """Who of several is ahead at the end; of one, or if lines end at other times, the highest rating.

    Args:
      lines: ratings after events; the first `num_early` points are no peaks.
      clock, unit: of the axes.
      others_peak: the highest rating of players without names.
      prefers_peaks: the highest rating also if lines end together.
    """
    settled = [line.select(slice(num_early, None)) for line in lines if len(line.y) > num_early]
    if len(lines) > 1 and _end_together(lines, clock) and not (prefers_peaks and settled):
        return _lead_title(lines, unit)
    highest = " highest" * (len(lines) > 1)
    if not settled:
        last = max(lines, key=lambda line: float(line.y[-1]))
        return f"{last.name} ended{highest} at {format_amount(float(last.y[-1]), unit, 0)}"
    line = max(settled, key=lambda line: float(np.nanmax(line.y)))
    peak = int(np.nanargmax(line.y))
    among = f" of these {len(lines)}" if line.y[peak] < others_peak else ""
    place = f"{highest}{among}," if highest else ""
    when = _peak_time(line.x[peak], clock, times_span(lines))
    return f"{line.name} peaked{place} at {format_amount(float(line.y[peak]), unit)} {when}"


def _end_together(lines: Sequence[Line], clock: str) -> bool:
    """Whether lines end at about one time, or go by numbers of events."""
    ends = [float(line.x_numbers()[-1]) for line in lines]
    return clock not in ("date", "time") or max(ends) - min(ends) <= SHARED_END * times_span(lines)


def _peak_time(at: Any, clock: str, span: float) -> str:
    """When a rating was the highest, in a plot of such a span."""
    if clock in ("date", "time"):
        return f"{'in' if clock == 'date' else 'at time'} {format_peak_time(at, span)}"
    return f"after {format_count(int(at), 'contest' if clock == 'contests' else 'match')}"


def _lead_title(lines: Sequence[Line], unit: str) -> str:
    """Who of several is ahead at the end."""
    first, second = sorted(lines, key=lambda line: -float(line.y[-1]))[:2]
    gap = float(first.y[-1] - second.y[-1])
    deviations = [float(line.deviation[-1]) for line in (first, second) if line.deviation is not None]
    lead = classify_lead(gap, deviations or None)
    if lead == "level":
        return f"{first.name} and {second.name} ended almost level"
    if lead == "probable":
        return f"{first.name} probably ahead of {second.name} at the end, by {format_amount(gap, unit)}"
    return f"{first.name} ended {format_amount(gap, unit)} ahead of {second.name}"


def ranks_title(ranks: HostArray, labels: Mapping[int, str], is_yearly: bool = False) -> str:
    """Who was first most often, from ranks [m, N] of all players, NaN where they are not listed, and names by id.

    If somebody else was first as often, it is said of the named ones alone.
    """
    firsts = (ranks == 1).sum(axis=0)
    most = int(firsts[[*labels]].max())
    if not most:
        return _best_ranks_title({name: ranks[:, i] for i, name in labels.items()})
    names = [name for i, name in labels.items() if firsts[i] == most]
    is_limited = bool(np.delete(firsts, [*labels]).max(initial=0) >= most)
    often = f" most often{f' of these {len(labels)}' * is_limited}," if len(labels) > 1 else ""
    each, moments = "each " * (len(names) > 1), len(ranks)
    when = f"at the end of {most:,} of {moments:,} years" if is_yearly else f"on {most:,} of {moments:,} dates"
    return f"{list_names(names)} ranked first{often} {each}{when}"


def _best_ranks_title(ranks: Mapping[str, HostArray]) -> str:
    """Who had the best rank, if nobody was first."""
    best = {name: int(np.nanmin(rank)) for name, rank in ranks.items() if not np.isnan(rank).all()}
    if not best:
        return f"{list_names([*ranks])} ranked only of late"
    rank = min(best.values())
    names = [name for name, x in best.items() if x == rank]
    among = f", the best of these {len(ranks)}" if len(names) < len(ranks) else " at best"
    return f"{list_names(names)} {'both ' * (len(names) == 2)}reached rank {rank:,}{among}"


def favourite_title(names: Sequence[str], percent: HostArray, is_cut: bool = False) -> str:
    """Who is favoured against the others, from expected scores [n, n] in percent; NaN where there is none.

    The names are in the order of the ratings. `is_cut`: further players come after them.
    """
    compared = np.where(np.eye(len(names), dtype=bool), np.inf, percent)
    least = compared.min(axis=1)  # NaN of who cannot be compared with somebody
    if np.isnan(least).all():
        return f"Expected scores of {list_names(names)}"
    best = int(np.nanargmax(least))
    rival = int(np.argmin(compared[best]))
    if least[best] > EVEN_PERCENT:
        others = names[rival] if len(names) == 2 else f"the {'next' if is_cut else 'other'} {len(names) - 1:,}"
        return f"{names[best]} favoured against {others}, at {least[best]:.0f}%{' or more' * (len(names) > 2)}"
    if abs(least[best] - 50.0) <= EVEN_PERCENT - 50.0:
        pair = f"{names[min(best, rival)]} and {names[max(best, rival)]}"
        further = np.delete(compared[[best, rival]], [best, rival], axis=1)
        is_ahead = further.size > 0 and bool((further > EVEN_PERCENT).all())
        rest = f"the {'next' if is_cut else 'other'} {len(names) - 2:,}"
        if len(names) == 3:
            rest = names[3 - best - rival]
        return f"{pair} even, favoured against {rest}" if is_ahead else f"{pair} even"
    return f"Nobody favoured against {'both' if len(names) == 3 else f'all of the {len(names) - 1:,}'} others"


def calibration_title(calibrations: Mapping[str, Any]) -> str:
    """Whose predictions come true best; of one system, whether they are too bold or too cautious."""
    if len(calibrations) == 1:
        (one,) = calibrations.values()
        filled = one.weight > 0
        return _lean_title(*(np.asarray(x)[filled] for x in (one.predicted, one.observed, one.weight)))
    best = min(calibrations, key=lambda name: calibrations[name].error)
    return f"{best} is calibrated best, off by {100.0 * calibrations[best].error:.1f} percentage points on average"


def _lean_title(predicted: HostArray, observed: HostArray, weight: HostArray) -> str:
    """Whether predictions in bins are too bold or too cautious, or scores higher or lower than predicted."""
    (low, low_is_clear), (high, high_is_clear) = (
        _misprediction(predicted[half], observed[half], weight[half]) for half in (predicted < 0.5, predicted >= 0.5)
    )
    if low_is_clear and high_is_clear and low == high:
        return f"Scores {DIRECTIONS[low]} than predicted, of underdogs and of favourites"
    if low_is_clear != high_is_clear:
        sign, place = (low, "below") if low_is_clear else (high, "above")
        return f"Scores {DIRECTIONS[sign]} than predicted where that is {place} 50%"
    favourites = np.maximum(predicted, 1.0 - predicted), np.where(predicted < 0.5, 1.0 - observed, observed)
    if low == high or not (low_is_clear or _misprediction(*favourites, weight)[1]):
        return "Predictions came true, within chance"
    if high < 0:
        return "Predictions too bold: favourites scored less than predicted"
    return "Predictions too cautious: favourites scored more than predicted"


def _misprediction(predicted: HostArray, observed: HostArray, weight: HostArray) -> tuple[int, bool]:
    """1 or -1 if scores in bins at one side of 0.5 are more or less than predicted, and whether that is clear."""
    lean = np.abs(predicted - 0.5)
    excess, possible = float((weight * lean * (observed - predicted)).sum()), float((weight * lean**2).sum())
    error = math.sqrt((weight * lean**2 * predicted * (1.0 - predicted)).sum())
    return int(np.sign(excess)), abs(excess) > max(CLEAR_DEVIATIONS * error, CLEAR_STRETCH * possible)


def loss_title(curves: Mapping[str, Curve], match_losses: Mapping[str, HostArray]) -> str:
    """Which system loses least; of one, at which differences its predictions are too bold or too cautious.

    The mean over all matches decides. Curves of several systems are not compared at a difference, as the points of one
    are not those of another.

    Args:
      curves: mean losses by difference, beside those that are expected if predictions are right, by system.
      match_losses: [n] of each match.
    """
    if len(curves) > 1:
        names = sorted(curves, key=lambda name: float(match_losses[name].mean()))
        behind = [match_losses[name] - match_losses[names[0]] for name in names]
        errors = [x.std() / math.sqrt(len(x)) for x in behind]
        return comparison_title(names, np.array([x.mean() for x in behind]), np.array(errors))
    (curve,) = curves.values()
    error, excess = (curve.high - curve.y) / Z_95, curve.y - curve.expected
    z = np.divide(excess, error, out=np.zeros(len(error)), where=error > 0)
    worst = int(np.argmax(np.abs(z)))
    if abs(z[worst]) < surprise_limit(len(z)):
        return "Predictions right at every difference, within chance"
    manner = "bold" if z[worst] > 0 else "cautious"
    return f"Predictions too {manner}, most clearly at a difference of {format_amount(float(curve.x[worst]), '')}"


def surprise_limit(count: int) -> float:
    """The standard errors beyond which the largest of so many surprises is more than chance."""
    return NormalDist().inv_cdf(1.0 - 0.5 * SURPRISE_LEVEL / count)


def surprise_title(name: str, mean: float, z: float, count: int, z_of_all: float) -> str:
    """Who scored otherwise than expected, if that is more than chance among so many players.

    It is said if the scores of all together, whose surprise is `z_of_all`, are so beyond chance.
    """
    if abs(z) >= surprise_limit(count):
        return f"{name} scored {'more' if mean > 0 else 'less'} than expected, by {abs(mean):.2f} a match"
    if count == 1:
        return f"{name} scored as expected, within chance"
    if abs(z_of_all) >= surprise_limit(1):
        manner = "more" if z_of_all > 0 else "less"
        return f"None of {count:,} stands out alone, but together they scored {manner} than expected"
    return f"None of {count:,} stands out"


def comparison_limit(count: int) -> float:
    """The standard errors beyond which the best of so many systems is ahead of another by more than chance.

    The best was chosen by the same data, so all pairs are allowed for (Bonferroni).
    """
    return surprise_limit(max(count * (count - 1) // 2, 1))


def comparison_title(names: Sequence[str], loss_behind: HostArray, errors: HostArray) -> str:
    """Which system predicts best, and whether that is more than chance among all pairs; the first is the best."""
    if len(names) < 2:
        return f"Log loss of {names[0]}"
    limit = comparison_limit(len(names))
    level = [name for name, x, error in zip(names, loss_behind, errors, strict=True) if not x > limit * error]
    if len(level) > 1:
        return f"{list_names(level)} predict about equally well"
    return f"{names[0]} predicts {f'better than {names[1]}' if len(names) == 2 else 'best'}, beyond chance"
