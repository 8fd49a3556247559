"""Plots of predictions against results: overall, by rating difference, by player, and by system."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import enforce_argument_annotations, format_value_or_type, to_floats
from jaxrate.array_types import HostArray
from jaxrate.events import Matches, Ragged, Rounds, fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.losses import cross_entropy
from jaxrate.league.comparison_table import Comparison, system_result_label
from jaxrate.league.evaluation import observed_share_of_sides_beaten
from jaxrate.league.ratings_before_and_after_events import History
from jaxrate.metrics import checked_match_metrics, prediction_metrics
from jaxrate.plots.altair_charts import ChartText, calibration_chart
from jaxrate.plots.finding_titles import calibration_title, comparison_title, loss_title, surprise_title
from jaxrate.plots.name_labels import format_plot_name, player_label
from jaxrate.plots.player_rows import MAX_ROWS, draw_intervals, draw_player_rows, figure_size_for_rows
from jaxrate.plots.plotted_data_and_checks import (
    MAX_SYSTEMS,
    Z_95,
    check_drawable_count,
    count_lines,
    describe_source,
    is_altair_backend,
    recent_player_mask,
    unpack_events_names_and_clock,
    unpack_matches_and_names,
)
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    GREY,
    MARKERS,
    SMALL_FONT,
    add_legend,
    line_style,
    make_axes,
    points_per_pixel,
    style_axes,
)
from jaxrate.systems.outcome_prediction_forms import expected_score_from_prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COUNT_AXES_BOX = 0.0, 1.03, 1.0, 0.15  # position of the counts, in shares of the axes: left, bottom, width, height


@enforce_argument_annotations
def calibration(
    prediction: Any,
    score: Any,
    *,
    bins: int = 10,
    weight: Any = None,
    mask: Any = None,
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
) -> Any:
    """Plot mean score against mean prediction in bins of equal width, with 95 % intervals; the diagonal is perfect.

        jr.plots.calibration({"Glicko": jr.run(jr.glicko(), data).prediction}, data)

    Above are the numbers of predictions in each bin. The intervals are Wilson's for a binomial share (draws, and shares
    of many opponents, vary less). The legend has the calibration error. If the first player won every match, as in
    tables of winners and losers, each match counts half from either side.

    Args:
      prediction: [n] predictions for player 0, or those of several systems by name; for rounds, [sum P] of each
        participant.
      score: [n] scores of player 0; or the `Dataset`, its matches or its rounds. The score in a round is the share of
        the others whom the participant beat.
      bins, weight, mask: as for `jr.metrics.calibration`.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: as for `jr.metrics.calibration`.
    """
    is_interactive = is_altair_backend(backend, ax)
    source = describe_source(score)
    score, mask, is_share = _unpack_scores_and_mask(score, mask)
    predictions = _values_by_system(prediction)
    calibrations = {
        name: _calibration_mirrored_if_winner_first(p, score, bins, weight, mask) for name, p in predictions.items()
    }
    intervals = {
        f"{format_plot_name(name)}{', ' if name else ''}{one.error:.3f}": _bin_intervals(one)
        for name, one in calibrations.items()
    }
    axis_quantity = "share of the others" if is_share else "score"
    text = ChartText(calibration_title({format_plot_name(name): one for name, one in calibrations.items()}),
                     "Bars are 95 % intervals, and right predictions lie on the diagonal",
                     f"predicted {axis_quantity}", f"observed {axis_quantity}", source)  # fmt: skip
    if is_interactive:
        return calibration_chart(intervals, text)
    ax = make_axes(ax, (5.6, 6.6), text.title, text.subtitle, source=source, grid="both")
    if not count_lines(ax, "calibration"):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for (label, bin_values), one in zip(intervals.items(), calibrations.values(), strict=True):
        predicted, observed, low, high, _ = bin_values
        number = count_lines(ax, "calibration")
        line = ax.errorbar(
            predicted, observed, [observed - low, high - observed], marker=MARKERS[number % len(MARKERS)],
            markersize=5, markeredgecolor="white", markeredgewidth=0.6, elinewidth=1.0, linewidth=1.4,
            **line_style(number), label=label,
        )  # fmt: skip
        line[0].set_gid("calibration")
        _draw_bin_counts(ax, one.weight, line_style(number))
    ax.set(xlabel=text.x, ylabel=text.y, aspect="equal")
    add_legend(ax, "calibration error", above=COUNT_AXES_BOX[1] + COUNT_AXES_BOX[3])
    return ax


def _bin_intervals(one: checked_match_metrics.Calibration) -> tuple[HostArray, ...]:
    """Mean prediction and mean score of each bin that is not empty, Wilson's 95 % interval, and its count."""
    filled = one.weight > 0
    predicted, observed, count = (np.asarray(x)[filled] for x in (one.predicted, one.observed, one.weight))
    return predicted, observed, *checked_match_metrics.wilson_interval(observed, count), count


def _unpack_scores_and_mask(score: Any, mask: Any) -> tuple[Any, Any, bool]:
    """Scores [n], from events if these are given; the mask; and whether scores are shares of several others."""
    if not isinstance(score, (Dataset, Matches, Ragged)):
        return score, mask, False
    events = unpack_events_names_and_clock(score)[0]
    if isinstance(events, Matches):
        return np.asarray(events.score), mask, False
    if not isinstance(events.events, Rounds):
        raise ValueError("for rating periods, give the matches")
    share = observed_share_of_sides_beaten(events)
    has_share = ~np.isnan(share)
    return np.where(has_share, share, 0.5), has_share if mask is None else has_share & np.asarray(mask), True


def _calibration_mirrored_if_winner_first(
    prediction: Any, score: Any, bins: int, weight: Any, mask: Any
) -> checked_match_metrics.Calibration:
    """The calibration, from either side if the first player won every match that counts."""
    one_sided = prediction_metrics.calibration(prediction, score, bins=bins, weight=weight, mask=mask)
    keep = slice(None) if mask is None else np.asarray(mask)
    p, s = np.asarray(expected_score_from_prediction(prediction), float)[keep], np.asarray(score, float)[keep]
    if not (s == 1).all():
        return one_sided
    p, s, w = prediction_metrics.mirror_winner_first(p, s, None if weight is None else np.asarray(weight, float)[keep])
    return prediction_metrics.calibration(p, s, bins=bins, weight=0.5 * w)


def _draw_bin_counts(ax: "Axes", count: HostArray, bin_line_style: dict[str, Any]) -> None:
    """Draw the number of predictions in each bin above the axes; for one system also as text, if there is room."""
    count_axes: Any = next((x for x in ax.child_axes if x.get_label() == "counts"), None)
    if is_first := count_axes is None:
        count_axes = ax.inset_axes(COUNT_AXES_BOX, label="counts")
        style_axes(count_axes, "none")
        count_axes.set(xlim=ax.get_xlim(), xticks=[], ylabel="number")
    count_axes.stairs(
        count,
        np.linspace(0.0, 1.0, len(count) + 1),
        color=bin_line_style["color"],
        linestyle=bin_line_style["linestyle"],
    )
    top = max(count_axes.get_ylim()[1] if not is_first else 0.0, 1.4 * count.max())
    count_axes.set(ylim=(0.0, top), yticks=[0.0, top / 1.4], yticklabels=["0", _format_short_count(top / 1.4)])
    count_axes.tick_params(labelsize="x-small")
    for text in list(count_axes.texts):
        text.remove()
    if is_first and ax.bbox.width * points_per_pixel(ax) / len(count) > 3.0 * SMALL_FONT:
        for middle, number in zip((np.arange(len(count)) + 0.5) / len(count), count, strict=True):
            count_axes.text(
                middle,
                number,
                _format_short_count(number),
                ha="center",
                va="bottom",
                color=GREY,
                fontsize=SMALL_FONT - 2.0,
            )


def _format_short_count(count: float) -> str:
    """A count in at most four characters."""
    for size, sign in ((1e6, "m"), (1e3, "k")):
        if count >= 0.9995 * size:
            return f"{count / size:.{int(count < 9.95 * size)}f}{sign}"
    return f"{count:.0f}"


@enforce_argument_annotations
def loss_by_difference(history: Any, score: Any, *, bins: int = 15, ax: "Axes | None" = None) -> "Axes":
    """Plot mean log loss by rating difference before the match, and dotted the loss if predictions were right.

        jr.plots.loss_by_difference(jr.league.rating_history(system, data), data.matches.score)

    Bins hold about equally many matches, by the difference without side advantages. Bars are 95 % intervals. Above the
    dotted line of the same colour predictions are overconfident, below it underconfident.

    Args:
      history: a history from `jr.league.rating_history` of matches, or those of several systems by name.
      score: [n] scores of player 0.
      bins: greatest number of bins; equal differences are in one bin.

    Raises:
      ValueError: for scores or predictions outside [0, 1], differences that are not finite, or of other shapes.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    rows = {name: _bin_loss_by_rating_difference(one, score, bins) for name, one in _values_by_system(history).items()}
    subtitle = "Mean log loss by rating difference, with 95 % intervals; dotted: if predictions were right"
    title = loss_title({format_plot_name(name): one for name, one in rows.items()})
    ax = make_axes(ax, (6.8, 4.6), title, subtitle, source=f"Source: {np.size(score):,} matches")
    for name, (difference, loss, error, expected, _) in rows.items():
        number = count_lines(ax, "loss")
        marker = MARKERS[number % len(MARKERS)]
        line = ax.errorbar(
            difference, loss, Z_95 * error, marker=marker, markersize=4, capsize=2, elinewidth=0.8, linewidth=1.0,
            label=format_plot_name(name) if name else "observed", **line_style(number),
        )  # fmt: skip
        line[0].set_gid("loss")
        if not number:  # the key to the dotted lines of all systems
            ax.plot([], [], ":", color=GREY, linewidth=1.2, label="if predictions were right")
        colour = line_style(number)["color"]
        ax.plot(difference, expected, ":", color=colour, linewidth=1.2, zorder=1, gid="right predictions")
    ax.set(xlabel="rating difference", ylabel="log loss (nats)")
    ax.set_ylim(bottom=0.0)
    add_legend(ax)
    return ax


def _bin_loss_by_rating_difference(history: History, score: Any, bins: int) -> tuple[HostArray, ...]:
    """For each bin: mean difference, mean loss, its standard error, and the expected mean loss; and the number."""
    if not isinstance(history, History):
        raise ValueError(
            "expected a history, as from jr.league.rating_history, or several by name, "
            f"got {format_value_or_type(history)}"
        )
    p, s = to_floats("prediction", expected_score_from_prediction(history.prediction)), to_floats("score", score)
    before = np.asarray(history.before.mean, float)
    prediction_metrics.log_loss(p, s)  # for its checks
    if before.shape != (len(p), 2):
        raise ValueError(f"ratings before must be of both players of every match, got {before.shape}")
    difference = np.abs(before[:, 0] - before[:, 1])
    fail_where(~np.isfinite(difference), lambda row: "ratings are not finite")
    predictions = jnp.asarray(p)
    loss, expected = (np.asarray(cross_entropy(predictions, jnp.asarray(x, predictions.dtype)), float) for x in (s, p))
    edges = np.unique(np.quantile(difference, np.linspace(0.0, 1.0, bins + 1), method="lower"))
    bin_index = np.clip(np.searchsorted(edges, difference, side="right") - 1, 0, max(len(edges) - 2, 0))
    count = np.bincount(bin_index)
    means = [np.bincount(bin_index, x) / count for x in (difference, loss, loss**2, expected)]
    error = np.sqrt(np.maximum(means[2] - means[1] ** 2, 0.0) / np.maximum(count - 1, 1))
    return means[0], means[1], error, means[3], count


@enforce_argument_annotations
def residuals(
    prediction: Any, data: Any, *, top: int = 20, min_games: int = 10, active: Any = None, ax: "Axes | None" = None
) -> "Axes":
    """Plot the players with the most surprising scores, as mean observed less expected, with 95 % intervals.

        jr.plots.residuals(jr.run(jr.glicko(), data).prediction, data, top=10)

    The surprise z is the sum over its standard error sqrt(sum p (1 - p)), which holds if predictions are right (draws
    vary less). Rows are in the order of z, which stands at the right; brackets have the number of matches. Every match
    counts once.

    Args:
      prediction: [n] predictions for player 0, as from `jr.run`.
      data: the `Dataset`, or its matches.
      top: number of players, at most 10,000.
      min_games: the least number of matches, as one surprise says little; if nobody has so many, those with the most
        matches are shown.
      active: only those who played in so many days, or in the unit of time, up to the last match. "all": everybody.
        None: 365 days if the data has dates, otherwise everybody.

    Raises:
      ValueError: for rounds, predictions outside [0, 1] or of another number of matches, or none; if `active` is no
        number above 0.
    """
    matches, names = unpack_matches_and_names(data)
    _, _, clock = unpack_events_names_and_clock(data)
    is_current, days = recent_player_mask(matches, clock, active)
    check_drawable_count("players", top, 1, MAX_ROWS)
    p, score = (
        to_floats("prediction", expected_score_from_prediction(prediction)),
        np.asarray(matches.score, np.float64),
    )
    prediction_metrics.brier_score(p, score)  # for its checks
    player = np.asarray(matches.player).T.ravel()
    games, total = np.bincount(player), np.bincount(player, np.concatenate([score - p, p - score]))
    enough = is_current & (games >= max(min(min_games, games[is_current].max()), 1))
    error = np.sqrt(np.bincount(player, np.tile(p * (1.0 - p), 2)))
    surprise = np.divide(total, error, out=np.zeros_like(total), where=error > 0)
    chosen = np.argsort(-np.where(enough, np.abs(surprise), -1.0), kind="stable")[: min(top, enough.sum())]
    chosen = chosen[np.argsort(-surprise[chosen], kind="stable")]
    labels = [player_label(int(i), names) for i in chosen]
    mean, half_width = (x[chosen] / games[chosen] for x in (total, Z_95 * error))
    most = int(np.argmax(np.abs(surprise[chosen])))
    largest = float(surprise[chosen][most])
    title = surprise_title(labels[most], float(mean[most]), largest, int(enough.sum()), surprise[chosen])
    subtitle = "Score above expected, with 95 % intervals; z is in standard errors"
    subtitle += f"; players of the last {days:g} {'days' if clock == 'dates' else 'units of time'}" if days else ""
    ax = make_axes(ax, figure_size_for_rows(labels), title, subtitle, source=describe_source(data), grid="x")
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    draw_intervals(ax, mean, half_width, COLOURS[0])
    values = [f"{surprise[i]:+.1f} ({games[i]:,})".replace("-", "\N{MINUS SIGN}") for i in chosen]
    about = draw_player_rows(ax, labels, values, head="z (matches)")
    ax.set_xlabel("score above expected, a match" + about)
    return ax


def _values_by_system(values: Any) -> dict[Any, Any]:
    """Values of several systems by name, or those of one system under an empty name."""
    by_name = dict(values) if isinstance(values, Mapping) else {"": values}
    check_drawable_count("systems", len(by_name), 1, MAX_SYSTEMS)
    return by_name


@enforce_argument_annotations
def comparison(compared_systems: Comparison, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the log loss of each system above that of the best, with 95 % intervals; the best first.

        plots.comparison(jr.compare(data, ["elo", "glicko", "trueskill"]))

    Intervals are for differences match by match: a difference whose interval includes 0 may be luck.

    Args:
      compared_systems: a comparison from `jr.compare`, of matches.

    Raises:
      ValueError: for a comparison on contests of many, which have no log loss.
    """
    results = [result for result in compared_systems.results if result.log_loss_difference is not None]
    if not results:
        raise ValueError("contests of many have no log loss to compare; print the comparison")
    check_drawable_count("systems", len(results), 1, MAX_ROWS)
    labels = [format_plot_name(system_result_label(result)) for result in results]
    subtitle = f"Log loss above that of {labels[0]}, match by match, with 95 % intervals; less is better"
    loss_behind = np.array([result.log_loss_difference for result in results])
    half_width = np.nan_to_num(Z_95 * loss_behind[:, 1])
    title = comparison_title(labels, loss_behind[:, 0], half_width)
    source = f"Source: {compared_systems.scored:,} matches"
    ax = make_axes(ax, figure_size_for_rows(labels), title, subtitle, source=source, grid="x")
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    draw_intervals(ax, loss_behind[:, 0], half_width, COLOURS[0])
    values = [f"{x:+.4f} ± {y:.4f}" if y else "" for x, y in zip(loss_behind[:, 0], half_width, strict=True)]
    draw_player_rows(ax, labels, values, head="behind")
    ax.set_xlabel(f"log loss behind {labels[0]} ({results[0].quality['log loss']:.4f})")
    return ax
