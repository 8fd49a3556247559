"""What a benchmark says, in sentences: how near the best system is to each ceiling, and where evidence is left."""

from collections.abc import Sequence
from statistics import NormalDist

from jaxrate.core.text_format import join_names
from jaxrate.evaluation.benchmark_table import TREES, TREES_ON_RATINGS, BenchmarkRow, FeatureWorth
from jaxrate.evaluation.comparison_table import INTERVAL_ERRORS
from jaxrate.metrics.prediction_metrics import LogLossDifference

SUSPECT_SHARE = 0.5  # of what ratings gain on frequencies: who adds more is perhaps a result
MIN_WORTH = 0.0003  # nats that a kind of evidence is worth at least to be named
MIN_SHARE_OF_WAY = 0.002  # nats between floor and ceiling from which a share of the way is told


def write_findings(rows: Sequence[BenchmarkRow], worth: Sequence[FeatureWorth], num_trained: int | None) -> list[str]:
    """The sentences of a benchmark.

    Args:
      rows: as in `Benchmark`: the best system first.
      worth: of what trees see beside the ratings.
      num_trained: matches that trees were trained on; None: there are no trees.
    """
    best, floor = rows[0], next(row for row in rows if row.kind == "frequencies")
    sentences = [_describe_best(best, floor)]
    for row in rows:
        if row.kind in ("forecast", "odds"):
            sentences.append(_describe_ceiling(row, best, floor))
    trees = {row.name: row for row in rows if row.kind == "trees"}
    if num_trained is not None:
        sentences += _describe_trees(trees[TREES], trees[TREES_ON_RATINGS], best, worth, num_trained)
        way = floor.quality["log loss"] - best.quality["log loss"]
        sentences += [_describe_doubt(x.name) for x in worth if x.loss.difference > SUSPECT_SHARE * max(way, 0.0)]
    return sentences


def is_clear(gap: LogLossDifference, count: int = 1) -> bool:
    """Whether a difference is further from 0 than chance takes 5% of so many differences, by Bonferroni's bound."""
    limit = NormalDist().inv_cdf(1.0 - 0.025 / count)
    return gap.error is not None and abs(gap.difference) > limit * gap.error


def _format_gap(gap: LogLossDifference) -> str:
    """The size of a difference with its 95% interval."""
    half = "" if gap.error is None else f" ± {INTERVAL_ERRORS * gap.error:.4f}"
    return f"{abs(gap.difference):.4f}{half}"


def _describe_best(best: BenchmarkRow, floor: BenchmarkRow) -> str:
    loss, base = best.quality["log loss"], floor.quality["log loss"]
    return f"The best rating is {best.name}, with log loss {loss:.4f}; past frequencies alone have {base:.4f}."


def _describe_ceiling(row: BenchmarkRow, best: BenchmarkRow, floor: BenchmarkRow) -> str:
    """How a forecast of others and the best system compare, and how much of the way from the floor that is."""
    gap = row.log_loss_difference
    if gap is None or gap.error is None:
        return f"{row.name} has too few matches to compare with."
    where = "" if row.scored == best.scored else f" on the {row.scored:,} matches that it has"
    if not is_clear(gap):
        return f"{best.name} and {row.name} predict about equally well{where}: they differ by {_format_gap(gap)}."
    if gap.difference > 0:
        return f"{best.name} is ahead of {row.name} by {_format_gap(gap)}{where}."
    sentence = f"{row.name} is ahead of {best.name} by {_format_gap(gap)}{where}"
    way = floor.quality["log loss"] - best.quality["log loss"]
    whole = way - gap.difference
    if where or way <= 0 or whole < MIN_SHARE_OF_WAY:
        return f"{sentence}."
    return f"{sentence}; {best.name} goes {100.0 * way / whole:.0f}% of the way to it from the frequencies."


def _describe_doubt(name: str) -> str:
    """A doubt about a column that says more than half as much as all ratings."""
    return (
        f"Mind that {name} adds more than half of what the ratings say. Is it really known before the match? If not, "
        "the trees are no ceiling."
    )


def _describe_trees(
    trees: BenchmarkRow,
    trees_on_ratings: BenchmarkRow,
    best: BenchmarkRow,
    worth: Sequence[FeatureWorth],
    num_trained: int,
) -> list[str]:
    """How much the ratings leave, and what has it; the second row is of trees on the ratings alone."""
    gap, gap_on_ratings = trees.log_loss_difference, trees_on_ratings.log_loss_difference
    assert gap is not None and gap_on_ratings is not None
    names = join_names(["the ratings", *(x.name for x in worth)])
    intro = f"Boosted trees on {names}, trained on {num_trained:,} earlier matches,"
    if is_clear(gap) and gap.difference < 0:
        first = f"{intro} are ahead of {best.name} by {_format_gap(gap)}: so much is still on the table."
    elif is_clear(gap):
        first = f"{intro} are behind {best.name} by {_format_gap(gap)}: they find no evidence that it leaves."
    else:
        first = f"{intro} differ from {best.name} by {_format_gap(gap)}: no evidence is clearly left on the table."
    clear = [x for x in worth if x.loss.difference >= MIN_WORTH and is_clear(x.loss, len(worth))]
    unclear = [x.name for x in worth if x not in clear]
    sentences = [first]
    if is_clear(gap_on_ratings) and gap_on_ratings.difference < 0:
        sentences.append(
            f"On the ratings alone they are ahead by {_format_gap(gap_on_ratings)}, since they blend and stretch them."
        )
    if clear:
        parts = join_names([f"{x.name} (without it they lose {_format_gap(x.loss)})" for x in clear])
        sentences.append(f"Beyond the ratings, evidence is in {parts}.")
    if unclear:
        sentences.append(f"They gain nothing clear from {join_names(unclear, 'or')}.")
    return sentences
