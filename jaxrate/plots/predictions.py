"""Pictures of predictions beside what came: overall, by the difference of ratings, and by player."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from jaxrate.events import fail_where
from jaxrate.fitting.losses import cross_entropy
from jaxrate.plots.drawing import (
    COLOURS,
    GREY,
    KINDS,
    MARKERS,
    ROWS,
    WIDE,
    add_legend,
    check_count,
    full_height,
    label,
    list_players,
    make_axes,
    number_drawn,
    open_matches,
    plain,
    style,
)
from jaxrate.records import metrics
from jaxrate.records.comparison import Comparison, label_of
from jaxrate.records.history import History
from jaxrate.systems.outlook import expected_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def calibration(
    prediction: Any, score: Any, *, bins: int = 10, weight: Any = None, mask: Any = None, ax: "Axes | None" = None
) -> "Axes":
    """Mean score against mean prediction in bins of equal width, with 95 % intervals; the diagonal is perfect.

    The intervals are Wilson's of a binomial share (draws vary less). The legend tells the calibration error.

    Args:
      prediction: [n] of player 0, or several systems' by name.
      score, bins, weight, mask: as for `metrics.calibration`.

    Raises:
      ValueError: as `metrics.calibration`.
    """
    several = _by_name(prediction)
    found = {name: metrics.calibration(p, score, bins=bins, weight=weight, mask=mask) for name, p in several.items()}
    ax = make_axes(ax, (4.8, 5.4))
    if not number_drawn(ax, "calibration"):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
    for name, one in found.items():
        filled = one.weight > 0
        predicted, observed, count = (x[filled] for x in (one.predicted, one.observed, one.weight))
        share = WIDE**2 / count
        middle = (observed + 0.5 * share) / (1.0 + share)
        half = np.sqrt(share * observed * (1.0 - observed) + 0.25 * share**2) / (1.0 + share)
        number = number_drawn(ax, "calibration")
        line = ax.errorbar(
            predicted, observed, np.maximum([observed - middle + half, middle + half - observed], 0.0),
            marker=MARKERS[number % len(MARKERS)], markersize=4, capsize=2, elinewidth=0.8, linewidth=1.0,
            **style(number), label=f"{plain(name)}{', ' if name else ''}{one.error:.3f}",
        )  # fmt: skip
        line[0].set_gid("calibration")
    ax.set(xlabel="predicted score", ylabel="observed score", aspect="equal")
    add_legend(ax, "calibration error")
    return ax


def loss_by_difference(history: Any, score: Any, *, bins: int = 15, ax: "Axes | None" = None) -> "Axes":
    """Mean log loss by the difference of the ratings before, and in grey what it would be if predictions were right.

    Bins hold about equally many matches, by the difference without side advantages. Bars are 95 % intervals. Where the
    loss lies above the grey line, predictions are too sure of themselves; below it, not sure enough.

    Args:
      history: as from `jr.history` of matches, or several systems' by name.
      score: [n] of player 0.
      bins: at most so many; equal differences stay together.

    Raises:
      ValueError: for scores or predictions outside [0, 1], differences that are not finite, or of other shapes.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    rows = {name: _losses(one, score, bins) for name, one in _by_name(history).items()}
    ax = make_axes(ax)
    for name, (difference, loss, error, expected) in rows.items():
        number = number_drawn(ax, "loss")
        marker = MARKERS[number % len(MARKERS)]
        line = ax.errorbar(
            difference, loss, WIDE * error, marker=marker, markersize=4, capsize=2, elinewidth=0.8, linewidth=1.0,
            label=plain(name) if name else "observed", **style(number),
        )  # fmt: skip
        line[0].set_gid("loss")
        hint = None if number else "if predictions were right"
        ax.plot(difference, expected, color=GREY, linewidth=0.8, marker=marker, markersize=3, label=hint, zorder=1)
    ax.set(xlabel="rating difference (rating units)", ylabel="log loss (nats)")
    add_legend(ax)
    return ax


def _losses(history: History, score: Any, bins: int) -> tuple[metrics.NumPy, ...]:
    """By bin: mean difference, mean loss, its standard error, and the mean that is expected."""
    p, s = np.asarray(expected_score(history.prediction)), np.asarray(score, float)
    before = np.asarray(history.before.mean, float)
    metrics.log_loss(p, s)  # for its checks
    if before.shape != (len(p), 2):
        raise ValueError(f"ratings before must be of both players of every match, got {before.shape}")
    difference = np.abs(before[:, 0] - before[:, 1])
    fail_where(~np.isfinite(difference), lambda row: "ratings are not finite")
    guess = jnp.asarray(p)
    loss, expected = (np.asarray(cross_entropy(guess, jnp.asarray(x, guess.dtype)), float) for x in (s, p))
    edges = np.unique(np.quantile(difference, np.linspace(0.0, 1.0, bins + 1), method="lower"))
    which = np.clip(np.searchsorted(edges, difference, side="right") - 1, 0, max(len(edges) - 2, 0))
    count = np.bincount(which)
    means = [np.bincount(which, x) / count for x in (difference, loss, loss**2, expected)]
    error = np.sqrt(np.maximum(means[2] - means[1] ** 2, 0.0) / np.maximum(count - 1, 1))
    return means[0], means[1], error, means[3]


def residuals(prediction: Any, data: Any, *, top: int = 20, ax: "Axes | None" = None) -> "Axes":
    """The players whose scores surprised most, by the mean of observed less expected, with 95 % intervals.

    How surprising is the sum over its standard error sqrt(sum p (1 - p)), which is that of results that are as
    predicted (draws vary less). Best first; in brackets how many matches each has. Every match counts once.

    Args:
      prediction: [n] of player 0, as from `jr.run`.
      data: the `Dataset`, or its matches.
      top: how many, at most 100.

    Raises:
      ValueError: for rounds, predictions outside [0, 1] or of another number of matches, or none.
    """
    matches, names = open_matches(data)
    check_count("players", top, 1, ROWS)
    p, score = np.asarray(expected_score(prediction), np.float64), np.asarray(matches.score, np.float64)
    metrics.brier(p, score)  # for its checks
    player = np.asarray(matches.player).T.ravel()
    games, total = np.bincount(player), np.bincount(player, np.concatenate([score - p, p - score]))
    error = np.sqrt(np.bincount(player, np.tile(p * (1.0 - p), 2)))
    surprise = np.divide(total, error, out=np.zeros_like(total), where=error > 0)
    most = np.argsort(-np.abs(surprise), kind="stable")[:top]
    most = most[games[most] > 0]
    most = most[np.argsort(-surprise[most], kind="stable")]
    ax = make_axes(ax, full_height(len(most)))
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    mean, wide = total[most] / games[most], WIDE * error[most] / games[most]
    ax.errorbar(mean, np.arange(len(most)), xerr=wide, fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    list_players(ax, [f"{label(int(i), names)} ({games[i]:,})" for i in most])
    ax.set_xlabel("score above expected")
    return ax


def _by_name(x: Any) -> dict[Any, Any]:
    """Several systems' by name, or one's without."""
    several = dict(x) if isinstance(x, Mapping) else {"": x}
    check_count("systems", len(several), 1, KINDS)
    return several


def comparison(found: Comparison, *, ax: "Axes | None" = None) -> "Axes":
    """By how much the log loss of each system lies behind that of the best, with 95 % intervals; the best first.

        plots.comparison(jr.compare(data, ["elo", "glicko", "trueskill"]))

    Intervals are of differences match by match: one that holds 0 may be luck.

    Args:
      found: as from `jr.compare`, of matches.

    Raises:
      ValueError: for a comparison of contests of many, which have no log loss, or of more than 100 forms.
    """
    results = [result for result in found.results if result.behind is not None]
    if not results:
        raise ValueError("contests of many have no log loss to compare; print the comparison")
    check_count("systems", len(results), 1, ROWS)
    ax = make_axes(ax, full_height(len(results)))
    behind = np.array([result.behind for result in results])
    wide = np.nan_to_num(WIDE * behind[:, 1])
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    ax.errorbar(behind[:, 0], np.arange(len(results)), xerr=wide, fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    list_players(ax, [plain(label_of(result)) for result in results])
    ax.set_xlabel(f"log loss behind {plain(label_of(results[0]))} ({results[0].quality['log loss']:.4f})")
    return ax
