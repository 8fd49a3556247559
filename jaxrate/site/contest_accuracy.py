"""The accuracy of predictions of contests of many, in words and in bins."""

from typing import Any

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.events import rounds
from jaxrate.league.comparison_table import INTERVAL_ERRORS
from jaxrate.league.evaluation import observed_share_of_sides_beaten
from jaxrate.metrics.pair_order import PairOrder, count_pairs_in_order
from jaxrate.metrics.prediction_metrics import experience_mask, ranking_metrics
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


def summarise_fields(table: Any, contest: HostArray, noun: PlayerOrTeamNoun) -> AccuracySummary:
    """Summarise contests, of which some have more than two sides: who was ahead of whom, and how far ahead.

    A team counts as one participant, by its prediction.

    Args:
      table: the predictions of participants.
      contest: [n] the numbers of their contests, in ascending order.
      noun: what those who are rated are called.
    """
    in_teams = "teams" in table.column_names
    rank, share = table["rank"].to_numpy(), table["prediction"].to_numpy().astype(float)
    rating = share if in_teams else table["rating"].to_numpy().astype(float)
    _, player = np.unique(table["player"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    if in_teams:
        first = np.sort(np.unique(np.stack([contest, table["team"].to_numpy()]), axis=1, return_index=True)[1])
        rank, share, rating, player, contest = (x[first] for x in (rank, share, rating, player, contest))
    _, number = np.unique(contest, return_inverse=True)
    contests: Any = rounds(number, player, rank, time=np.zeros(len(rank)))
    one, favoured = ("team", "favoured") if in_teams else (noun.one, "higher-rated")
    many = "teams" if in_teams else noun.many
    groups = {}
    for least in (0,) if in_teams else (1, EXPERIENCED):
        is_in = experience_mask(contests, least)
        if is_in.any():
            groups[least] = count_pairs_in_order(number[is_in], rank[is_in], rating[is_in])
    groups = {least: pairs for least, pairs in groups.items() if pairs.pairs.sum() > 0}
    if not groups:
        return AccuracySummary("", [NO_DATA_TEXT], [])
    (least, pairs), *more = groups.items()
    who = f"Of two {many}{' who had been in a contest before' if least else ''}, the {favoured} one finished ahead"
    text = f"{who} in {_format_share(pairs)} of {pairs.pairs.sum():,.0f} pairs; ties are left out, so that chance"
    texts = [f"{text} alone gives 50%."]
    texts += [f"Of those with at least five contests before, in {_format_share(x)}." for _, x in more]
    played = np.ones(int(player.max()) + 1) if in_teams else None  # no team counts as a newcomer
    off = ranking_metrics(contests, rating, played=played)["rank deviation"]
    places = "" if off is None else f" Places were off by {off:.1%} of the field, on average."
    texts[-1] += places
    title = f"The {favoured} {one} finished ahead in {pairs.share:.0%} of pairs"
    if number[-1] + 1 < MIN_CONTESTS:
        return AccuracySummary(title, texts, [], FIELD_WORDS)
    behind = observed_share_of_sides_beaten(contests)
    bins = bin_predictions(share, behind, FIELD_BINS, number)
    lean = find_miscalibration(bins, share, behind, number)
    texts.append(_describe_bins(bins, lean))
    return AccuracySummary(title, texts, bins, FIELD_WORDS, lean=lean)


def _format_share(pairs: PairOrder) -> str:
    """The share of pairs in order, with its 95% interval by contest."""
    share = f"{pairs.share:.1%}"
    if pairs.error is None:
        return share
    half = INTERVAL_ERRORS * pairs.error
    return f"{share} (95% interval {pairs.share - half:.1%} to {pairs.share + half:.1%})"


def _describe_bins(bins: list[CalibrationBin], direction: int) -> str:
    """How far expected shares of the field were off, and to which side."""
    off = 100 * float(np.average([abs(x.observed - x.predicted) for x in bins], weights=[x.events for x in bins]))
    text = f"Expected shares of the field were off by {off:.1f} percentage points, on average"
    if not direction:
        return f"{text}."
    nearer, bold = ("nearer to", "bold") if direction < 0 else ("farther from", "timid")
    return f"{text}, and results were {nearer} the middle of the field than expected: the expectations are too {bold}."
