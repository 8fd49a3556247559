"""Calibration for pages: bins of predictions with what came true and its interval, and what they show, in words."""

import math
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import join_names
from jaxrate.evaluation.comparison_table import INTERVAL_ERRORS
from jaxrate.metrics.checked_match_metrics import wilson_interval
from jaxrate.metrics.pair_order import ratio_error
from jaxrate.site.maker_advice import Advice

MIN_BIN_EVENTS = 30  # in a bin; fewer say little
CLEAR_LEAN = 0.05  # from even chances, from which on bins tell whether chances are too bold
MAX_MISSED_SHARE = 0.2  # of the bins, up to which predictions are said to be right
MIN_BIAS = 1.0  # percentage points by which results differ from predictions on one side, to be said
MAX_NAMED_MISSES = 3  # bins off the line, which are named


class CalibrationWords(NamedTuple):
    """What the diagram and its table say of predictions and of what came true."""

    rule: str  # what should be, of 70%
    caption: str
    label: str  # of the diagram
    across: str  # its axes
    up: str
    across_text: str
    up_text: str
    expected: str  # heads of columns
    observed: str
    events: str
    findings: tuple[str, str, str]  # where chances were right, too timid, and too bold


CHANCE_WORDS = CalibrationWords(
    "Of all favourites who were given 70%, seven in ten should win",
    "Predicted chances of favourites and how many won",
    "Share of wins of favourites by their predicted chance",
    "predicted chance",
    "share won",
    "the favourite\N{RIGHT SINGLE QUOTATION MARK}s predicted chance",
    "the share of these favourites who won",
    "predicted",
    "won",
    "matches",
    (
        "Favourites won about as often as predicted",
        "Favourites won more often than predicted",
        "Favourites won less often than predicted",
    ),
)
SCORE_WORDS = CalibrationWords(
    "Favourites with an expected score of 70% should score 70%, where a draw counts as half",
    "Expected scores of favourites and their mean scores",
    "Mean score of favourites by their expected score",
    "expected score",
    "mean score",
    "the favourite\N{RIGHT SINGLE QUOTATION MARK}s expected score",
    "the mean score of these favourites, where a draw counts as half a win",
    "expected",
    "score",
    "matches",
    (
        "Favourites scored about as expected",
        "Favourites scored more than expected",
        "Favourites scored less than expected",
    ),
)
FIELD_WORDS = CalibrationWords(
    "Those expected to finish ahead of 70% of the others should finish ahead of 70% of them",
    "Shares of the field that were expected to be behind, and that were behind",
    "Share of the field that was behind by the share that was expected to be",
    "expected share",
    "share behind",
    "the share of the others who were expected to finish behind",
    "the share who did, where a tie counts as half",
    "expected",
    "behind",
    "results",
    (
        "Favourites finished about where expected",
        "Favourites finished higher than expected",
        "Favourites finished lower than expected",
    ),
)


class CalibrationBin(NamedTuple):
    """Predictions of about the same value, and what came true."""

    predicted: float  # mean prediction
    observed: float  # mean score
    events: float
    low: float  # ends of the 95% interval of `observed`
    high: float

    @property
    def agrees(self) -> bool:
        """Whether the interval has the mean prediction in it."""
        return self.low <= self.predicted <= self.high


class AccuracySummary(NamedTuple):
    title: str  # the finding; empty without events
    texts: list[str]  # sentences
    bins: list[CalibrationBin]
    words: CalibrationWords = CHANCE_WORDS
    advice: tuple[Advice, ...] = ()
    lean: int = 0  # -1 if predictions were too bold, 1 if too timid, as `find_miscalibration` says

    @property
    def caveat(self) -> str:
        """What to say beside chances of the same kind, if they have been too bold or too timid."""
        if not self.lean:
            return ""
        bold, worse = ("bold", "worse") if self.lean < 0 else ("timid", "better")
        return f"Chances have been too {bold} so far: favourites did {worse} than predicted."

    @property
    def calibration_title(self) -> str:
        """Whether favourites did as predicted, as a finding; the subject alone where some did better, others worse."""
        missed = sum(not x.agrees for x in self.bins)
        if self.lean or missed <= MAX_MISSED_SHARE * len(self.bins):
            return self.words.findings[self.lean]
        return "Calibration"

    @property
    def verdict(self) -> str:
        """How many of the bins are where they should be, as a sentence."""
        return describe_agreement(self.bins)


def merge_small_bins(count: HostArray) -> HostArray:
    """[B] the numbers of larger bins, from 0, of which each has enough of the events [B] in it, or all are one.

    A bin with fewer joins the smaller one of its neighbours.
    """
    totals, sizes = np.asarray(count, float).tolist(), [1] * len(count)
    while len(totals) > 1:
        i = min(range(len(totals)), key=lambda k: totals[k])
        if totals[i] >= MIN_BIN_EVENTS:
            break
        k = min((k for k in (i - 1, i + 1) if 0 <= k < len(totals)), key=lambda k: totals[k])
        for values in (totals, sizes):
            values[min(i, k) : max(i, k) + 1] = [values[i] + values[k]]
    return np.repeat(np.arange(len(sizes)), sizes)


def bin_predictions(
    predicted: HostArray, observed: HostArray, num_bins: int, contest: HostArray | None = None
) -> list[CalibrationBin]:
    """Bins of equal width in [0, 1], where small ones are merged, from predictions [n] and what came true [n].

    Intervals are Wilson's; with the `contest` [n] of each, whose results depend on each other, they are those of
    contests that are drawn independently.
    """
    number = np.minimum((predicted * num_bins).astype(int), num_bins - 1)
    number = merge_small_bins(np.bincount(number, minlength=num_bins))[number]
    bins = []
    for k in range(int(number.max(initial=-1)) + 1):
        is_in = number == k
        count, mean, share = int(is_in.sum()), float(predicted[is_in].mean()), float(observed[is_in].mean())
        if contest is None:
            low, high = (float(x) for x in wilson_interval(share, count))
        else:
            error = ratio_error(np.bincount(contest[is_in], observed[is_in]), np.bincount(contest[is_in]))
            half = 1.0 if error is None else INTERVAL_ERRORS * error
            low, high = max(share - half, 0.0), min(share + half, 1.0)
        bins.append(CalibrationBin(mean, share, count, low, high))
    return bins


def find_miscalibration(
    bins: list[CalibrationBin], predicted: HostArray, observed: HostArray, contest: HostArray | None = None
) -> int:
    """Whether chances [n] are too bold, -1, or too timid, 1, beyond chance and in all that miss; 0 if neither.

    The test is that of the slope: the misses, weighted by how far the predictions are from one half, add up to nothing
    if the predictions are right. Events, or the `contest` [n] of each, count as drawn independently.
    """
    terms = (predicted - 0.5) * (observed - predicted)
    terms = terms if contest is None else np.bincount(contest, terms)
    total, error = float(terms.sum()), math.sqrt(float((terms**2).sum()))
    clear = [x for x in bins if abs(x.predicted - 0.5) >= CLEAR_LEAN]
    if abs(total) <= INTERVAL_ERRORS * error or not clear:
        return 0
    direction = 1 if total > 0 else -1
    misses = [direction * math.copysign(1.0, x.predicted - 0.5) * (x.observed - x.predicted) for x in clear]
    if any(miss < 0 and not x.agrees for miss, x in zip(misses, clear, strict=True)):
        return 0
    bias = 100 * float(np.average(misses, weights=[x.events for x in clear]))
    return direction if bias >= MIN_BIAS else 0


def describe_agreement(bins: list[CalibrationBin]) -> str:
    """How many of the bins have their predictions in their intervals, and which do not."""
    missed = [f"{x.predicted:.1%}" for x in bins if not x.agrees]
    if len(bins) < 2:
        return "It does not." if missed else "It does."
    if not missed:
        return f"All {len(bins)} do."
    held = len(bins) - len(missed)
    did = f"{held} of {len(bins)} {'does' if held == 1 else 'do'}" if held else f"None of the {len(bins)} does"
    if not held or len(missed) > MAX_NAMED_MISSES:
        return f"{did}."
    those = f"that at {missed[0]} does" if len(missed) == 1 else f"those at {join_names(missed)} do"
    return f"{did}; {those} not."
