"""The accuracy of predictions of contests of many, in words and in bins."""

from typing import Any

import numpy as np

from jaxrate.evaluation.comparison_table import INTERVAL_ERRORS
from jaxrate.events import rounds
from jaxrate.history.event_columns import EventColumns
from jaxrate.metrics.pair_order import ratio_error
from jaxrate.metrics.prediction_metrics import (
    experience_mask,
    observed_share_of_sides_beaten,
    ranking_metrics,
    right_pair_shares,
)
from jaxrate.metrics.running_metrics import numbers_that_predict_order
from jaxrate.site.calibration_summary import (
    FIELD_WORDS,
    AccuracySummary,
    CalibrationBin,
    bin_predictions,
    find_miscalibration,
)
from jaxrate.site.wording import PlayerOrTeamNoun

FIELD_BINS = 10  # of all shares of a field
MIN_CONTESTS = 10  # from which on intervals, which are by contest, mean something
EXPERIENCED = 5  # contests before
NO_DATA_TEXT = "No predictions can be judged yet."


def summarise_fields(table: EventColumns, noun: PlayerOrTeamNoun) -> AccuracySummary:
    """Summarise contests, of which some have more than two sides: who was ahead of whom, and how far ahead.

    Shares of pairs are those of `ranking_metrics`, as in all tables. In bins a team counts as one participant, by its
    prediction.

    Args:
      table: the columns of the events.
      noun: what those who are rated are called.
    """
    contest, rank, share = table["event"], table["rank"], table["prediction"].astype(float)
    team = table["team"] if "teams" in table else None
    _, player = np.unique(table["player"][:, 0], return_inverse=True)
    contests = rounds(contest, player, rank, team=team, time=np.zeros(len(rank)))
    order = numbers_that_predict_order(contests, share, table["rating"][:, 0].astype(float))
    metrics = ranking_metrics(contests, order)
    in_order, off = metrics["pair inversion"], metrics["rank deviation"]
    if in_order is None or off is None:
        return AccuracySummary("", [NO_DATA_TEXT], [])
    orders = np.arange(len(rank)), -np.arange(len(rank))  # of each pair that does not tie, one of them is right
    chance = np.mean([ranking_metrics(contests, x.astype(float))["pair inversion"] or 0.0 for x in orders])
    text = f"Of the pairs of {noun.many} who had been in a contest before, {_format_pairs(contests, order)} were in the"
    texts = [f"{text} predicted order, each contest counted by its size; ties are in order: chance gives {chance:.1%}."]
    if metrics["pair inversion, 5plus"] is not None:
        texts.append(f"Of those with at least five contests before, {_format_pairs(contests, order, EXPERIENCED)}.")
    texts[-1] += f" Places were off by {off:.1%} of the field, on average."
    title = f"{in_order:.0%} of pairs were in the predicted order"
    if team is not None:
        first = np.sort(np.unique(np.stack([contest, team]), axis=1, return_index=True)[1])
        rank, share, player, contest = (x[first] for x in (rank, share, player, contest))
        contests = rounds(contest, player, rank, time=np.zeros(len(rank)))
    _, number = np.unique(contest, return_inverse=True)
    if number[-1] + 1 < MIN_CONTESTS:
        return AccuracySummary(title, texts, [], FIELD_WORDS)
    behind = observed_share_of_sides_beaten(contests)
    bins = bin_predictions(share, behind, FIELD_BINS, number)
    lean = find_miscalibration(bins, share, behind, number)
    texts.append(_describe_bins(bins, lean))
    return AccuracySummary(title, texts, bins, FIELD_WORDS, lean=lean)


def _format_pairs(contests: Any, order: Any, least: int = 1) -> str:
    """The share of pairs in order of those with so many contests before, as in tables, with its 95% interval."""
    right, count = right_pair_shares(contests, order, mask=experience_mask(contests, least))
    share, error = right.sum() / count.sum(), ratio_error(right, count)
    if error is None:
        return f"{share:.1%}"
    low, high = np.clip([share - INTERVAL_ERRORS * error, share + INTERVAL_ERRORS * error], 0.0, 1.0)
    return f"{share:.1%} (95% interval {low:.1%} to {high:.1%})"


def _describe_bins(bins: list[CalibrationBin], direction: int) -> str:
    """How far expected shares of the field were off, and to which side."""
    off = 100 * float(np.average([abs(x.observed - x.predicted) for x in bins], weights=[x.events for x in bins]))
    text = f"Expected shares of the field were off by {off:.1f} percentage points, on average"
    if not direction:
        return f"{text}."
    nearer, bold = ("nearer to", "bold") if direction < 0 else ("farther from", "timid")
    return f"{text}, and results were {nearer} the middle of the field than expected: the expectations are too {bold}."
