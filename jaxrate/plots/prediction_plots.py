"""Pictures of predictions beside what came: overall, by the difference of ratings, and by player."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import check_arguments, format_value, to_floats
from jaxrate.events import Matches, Ragged, Rounds, fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.losses import cross_entropy
from jaxrate.league.comparison_table import Comparison, result_label
from jaxrate.league.evaluation import share_of_sides_beaten
from jaxrate.league.event_ratings import History
from jaxrate.metrics import prediction_metrics
from jaxrate.plots.plot_helpers import (
    COLOURS,
    GREY,
    MARKERS,
    MAX_ROWS,
    MAX_SYSTEMS,
    SMALL_FONT,
    Z_95,
    add_legend,
    check_count,
    count_lines,
    escape_name,
    events_names_clock,
    figure_size_for_rows,
    line_style,
    list_players,
    make_axes,
    matches_and_names,
    player_label,
    points_per_pixel,
)
from jaxrate.systems.outcome_probabilities import expected_score
from jaxrate.types import HostArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COUNT_AXES_BOX = 0.0, 1.03, 1.0, 0.15  # where counts stand, in shares of the axes: left, bottom, width, height


@check_arguments
def calibration(
    prediction: Any, score: Any, *, bins: int = 10, weight: Any = None, mask: Any = None, ax: "Axes | None" = None
) -> "Axes":
    """Mean score against mean prediction in bins of equal width, with 95 % intervals; the diagonal is perfect.

        jr.plots.calibration({"Glicko": jr.run(jr.glicko(), data).prediction}, data)

    Above it stands how many predictions each bin has. The intervals are Wilson's of a binomial share (draws, and shares
    of many opponents, vary less). The legend tells the calibration error. If the first player won every match, as in
    tables of winners and losers, each match counts from either side by half.

    Args:
      prediction: [n] of player 0, or several systems' by name; of rounds, [sum P] of each participant.
      score: [n] of player 0; or the `Dataset`, its matches or its rounds. The score in a round is the share of the
        others who were left behind.
      bins, weight, mask: as for `prediction_metrics.calibration`.

    Raises:
      ValueError: as `prediction_metrics.calibration`.
    """
    score, mask, many = _scores_and_mask(score, mask)
    several = _systems_by_name(prediction)
    found = {name: _two_sided_calibration(p, score, bins, weight, mask) for name, p in several.items()}
    ax = make_axes(ax, (4.8, 6.0), "Calibration")
    if not count_lines(ax, "calibration"):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
    for name, one in found.items():
        filled = one.weight > 0
        predicted, observed, count = (x[filled] for x in (one.predicted, one.observed, one.weight))
        share = Z_95**2 / count
        middle = (observed + 0.5 * share) / (1.0 + share)
        half = np.sqrt(share * observed * (1.0 - observed) + 0.25 * share**2) / (1.0 + share)
        number = count_lines(ax, "calibration")
        line = ax.errorbar(
            predicted, observed, np.maximum([observed - middle + half, middle + half - observed], 0.0),
            marker=MARKERS[number % len(MARKERS)], markersize=4, capsize=2, elinewidth=0.8, linewidth=1.0,
            **line_style(number), label=f"{escape_name(name)}{', ' if name else ''}{one.error:.3f}",
        )  # fmt: skip
        line[0].set_gid("calibration")
        _draw_counts(ax, one.weight, line_style(number))
    what = "share of the others" if many else "score"
    ax.set(xlabel=f"predicted {what}", ylabel=f"observed {what}", aspect="equal")
    add_legend(ax, "calibration error", above=COUNT_AXES_BOX[1] + COUNT_AXES_BOX[3])
    return ax


def _scores_and_mask(score: Any, mask: Any) -> tuple[Any, Any, bool]:
    """Scores [n], of events if these are given; which of them count; and whether they are shares of many."""
    if not isinstance(score, (Dataset, Matches, Ragged)):
        return score, mask, False
    events = events_names_clock(score)[0]
    if isinstance(events, Matches):
        return np.asarray(events.score), mask, False
    if not isinstance(events.events, Rounds):
        raise ValueError("of rating periods, give the matches")
    share = share_of_sides_beaten(events)
    there = ~np.isnan(share)
    return np.where(there, share, 0.5), there if mask is None else there & np.asarray(mask), True


def _two_sided_calibration(
    prediction: Any, score: Any, bins: int, weight: Any, mask: Any
) -> prediction_metrics.Calibration:
    """That of the metrics, from either side if the first player won every match that counts."""
    found = prediction_metrics.calibration(prediction, score, bins=bins, weight=weight, mask=mask)
    keep = slice(None) if mask is None else np.asarray(mask)
    p, s = np.asarray(expected_score(prediction), float)[keep], np.asarray(score, float)[keep]
    if not (s == 1).all():
        return found
    p, s, w = prediction_metrics.mirror_winner_first(p, s, None if weight is None else np.asarray(weight, float)[keep])
    return prediction_metrics.calibration(p, s, bins=bins, weight=0.5 * w)


def _draw_counts(ax: "Axes", count: HostArray, look: dict[str, Any]) -> None:
    """How many predictions each bin has, above the axes; of one system in numbers, too, where there is room."""
    above: Any = next((x for x in ax.child_axes if x.get_label() == "counts"), None)
    if alone := above is None:
        above = ax.inset_axes(COUNT_AXES_BOX, label="counts")
        above.set(xlim=ax.get_xlim(), xticks=[], ylabel="number")
        above.spines[["top", "right"]].set_visible(False)
        above.yaxis.label.set_fontsize("small")
    above.stairs(count, np.linspace(0.0, 1.0, len(count) + 1), color=look["color"], linestyle=look["linestyle"])
    top = max(above.get_ylim()[1] if not alone else 0.0, 1.4 * count.max())
    above.set(ylim=(0.0, top), yticks=[0.0, top / 1.4], yticklabels=["0", _format_count(top / 1.4)])
    above.tick_params(labelsize="x-small")
    for text in list(above.texts):
        text.remove()
    if alone and ax.bbox.width * points_per_pixel(ax) / len(count) > 3.0 * SMALL_FONT:
        for middle, number in zip((np.arange(len(count)) + 0.5) / len(count), count, strict=True):
            above.text(middle, number, _format_count(number), ha="center", va="bottom", fontsize=SMALL_FONT - 2.0)


def _format_count(count: float) -> str:
    """A count in at most four signs."""
    for size, sign in ((1e6, "m"), (1e3, "k")):
        if count >= 0.9995 * size:
            return f"{count / size:.{int(count < 9.95 * size)}f}{sign}"
    return f"{count:.0f}"


@check_arguments
def loss_by_difference(history: Any, score: Any, *, bins: int = 15, ax: "Axes | None" = None) -> "Axes":
    """Mean log loss by the difference of the ratings before, and in grey what it would be if predictions were right.

        jr.plots.loss_by_difference(jr.league.rating_history(system, data), data.matches.score)

    Bins hold about equally many matches, by the difference without side advantages. Bars are 95 % intervals. Where the
    loss lies above the grey line, predictions are too sure of themselves; below it, not sure enough.

    Args:
      history: as from `jr.league.rating_history` of matches, or several systems' by name.
      score: [n] of player 0.
      bins: at most so many; equal differences stay together.

    Raises:
      ValueError: for scores or predictions outside [0, 1], differences that are not finite, or of other shapes.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    rows = {name: _loss_by_difference_bin(one, score, bins) for name, one in _systems_by_name(history).items()}
    ax = make_axes(ax, None, "Where the loss is")
    for name, (difference, loss, error, expected) in rows.items():
        number = count_lines(ax, "loss")
        marker = MARKERS[number % len(MARKERS)]
        line = ax.errorbar(
            difference, loss, Z_95 * error, marker=marker, markersize=4, capsize=2, elinewidth=0.8, linewidth=1.0,
            label=escape_name(name) if name else "observed", **line_style(number),
        )  # fmt: skip
        line[0].set_gid("loss")
        hint = None if number else "if predictions were right"
        ax.plot(difference, expected, color=GREY, linewidth=0.8, marker=marker, markersize=3, label=hint, zorder=1)
    ax.set(xlabel="rating difference (rating units)", ylabel="log loss (nats)")
    add_legend(ax)
    return ax


def _loss_by_difference_bin(history: History, score: Any, bins: int) -> tuple[HostArray, ...]:
    """By bin: mean difference, mean loss, its standard error, and the mean that is expected."""
    if not isinstance(history, History):
        raise ValueError(
            f"expected a history, as of jr.league.rating_history, or several by name, got {format_value(history)}"
        )
    p, s = to_floats("prediction", expected_score(history.prediction)), to_floats("score", score)
    before = np.asarray(history.before.mean, float)
    prediction_metrics.log_loss(p, s)  # for its checks
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


@check_arguments
def residuals(prediction: Any, data: Any, *, top: int = 20, min_games: int = 10, ax: "Axes | None" = None) -> "Axes":
    """The players whose scores surprised most, by the mean of observed less expected, with 95 % intervals.

        jr.plots.residuals(jr.run(jr.glicko(), data).prediction, data, top=10)

    How surprising is the sum over its standard error sqrt(sum p (1 - p)), which is that of results that are as
    predicted (draws vary less). Best first; in brackets how many matches each has. Every match counts once. An interval
    ends where scores do: nobody scores below 0 or above 1 in a match.

    Args:
      prediction: [n] of player 0, as from `jr.run`.
      data: the `Dataset`, or its matches.
      top: how many, at most 100.
      min_games: only players of so many matches, as one surprise says little; if nobody has so many, those who have
        the most.

    Raises:
      ValueError: for rounds, predictions outside [0, 1] or of another number of matches, or none.
    """
    matches, names = matches_and_names(data)
    check_count("players", top, 1, MAX_ROWS)
    p, score = to_floats("prediction", expected_score(prediction)), np.asarray(matches.score, np.float64)
    prediction_metrics.brier(p, score)  # for its checks
    player, both = np.asarray(matches.player).T.ravel(), np.concatenate([p, 1.0 - p])
    games, total = np.bincount(player), np.bincount(player, np.concatenate([score - p, p - score]))
    enough = games >= max(min(min_games, games.max()), 1)
    error, expected = np.sqrt(np.bincount(player, np.tile(p * (1.0 - p), 2))), np.bincount(player, both)
    surprise = np.divide(total, error, out=np.zeros_like(total), where=error > 0)
    most = np.argsort(-np.where(enough, np.abs(surprise), -1.0), kind="stable")[: min(top, enough.sum())]
    most = most[np.argsort(-surprise[most], kind="stable")]
    ax = make_axes(ax, figure_size_for_rows(len(most)), "Whose scores surprised most")
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    mean, wide, share = (x[most] / games[most] for x in (total, Z_95 * error, expected))
    room = np.minimum(wide, np.maximum([mean + share, 1.0 - share - mean], 0.0))
    ax.errorbar(mean, np.arange(len(most)), xerr=room, fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    list_players(ax, [f"{player_label(int(i), names)} ({games[i]:,})" for i in most], [f"{x:+.2f}" for x in mean])
    ax.set_xlabel("score above expected")
    return ax


def _systems_by_name(x: Any) -> dict[Any, Any]:
    """Several systems' by name, or one's without."""
    several = dict(x) if isinstance(x, Mapping) else {"": x}
    check_count("systems", len(several), 1, MAX_SYSTEMS)
    return several


@check_arguments
def comparison(compared_systems: Comparison, *, ax: "Axes | None" = None) -> "Axes":
    """By how much the log loss of each system lies behind that of the best, with 95 % intervals; the best first.

        plots.comparison(jr.compare(data, ["elo", "glicko", "trueskill"]))

    Intervals are of differences match by match: one that holds 0 may be luck.

    Args:
      found: as from `jr.compare`, of matches.

    Raises:
      ValueError: for a comparison of contests of many, which have no log loss, or of more than 100 forms.
    """
    results = [result for result in compared_systems.results if result.log_loss_difference is not None]
    if not results:
        raise ValueError("contests of many have no log loss to compare; print the comparison")
    check_count("systems", len(results), 1, MAX_ROWS)
    ax = make_axes(ax, figure_size_for_rows(len(results)), "Systems compared, match by match")
    behind = np.array([result.log_loss_difference for result in results])
    wide = np.nan_to_num(Z_95 * behind[:, 1])
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    ax.errorbar(behind[:, 0], np.arange(len(results)), xerr=wide, fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    said = (f"{x:+.4f} ± {y:.4f}" if y else "" for x, y in zip(behind[:, 0], wide, strict=True))
    list_players(ax, [escape_name(result_label(result)) for result in results], said)
    ax.set_xlabel(f"log loss behind {escape_name(result_label(results[0]))} ({results[0].quality['log loss']:.4f})")
    return ax
