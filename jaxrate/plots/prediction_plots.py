"""Plots of predictions against results: by rating difference, by player, and by system."""

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations, format_value_or_type, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.evaluation.comparison_table import Comparison, system_result_label
from jaxrate.events import fail_where
from jaxrate.fitting.losses import cross_entropy
from jaxrate.history.dataset_rating import RecordedRun
from jaxrate.metrics import prediction_metrics
from jaxrate.plots.finding_titles import (
    LossBins,
    comparison_limit,
    comparison_title,
    loss_title,
    surprise_limit,
    surprise_title,
)
from jaxrate.plots.name_labels import describe_name_step, format_plot_name, player_label
from jaxrate.plots.player_rows import MAX_ROWS, draw_intervals, draw_player_rows, figure_size_for_rows, row_name_step
from jaxrate.plots.plotted_data_and_checks import (
    Z_95,
    check_drawable_count,
    count_lines,
    describe_counted_data,
    describe_source,
    recent_player_mask,
    unpack_events_names_and_clock,
    unpack_matches_and_names,
    values_by_system,
)
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    GREY,
    MARKERS,
    add_legend,
    line_style,
    make_axes,
)
from jaxrate.systems.outcome_prediction_forms import expected_score_from_prediction
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@enforce_argument_annotations
def loss_by_difference(history: Any, score: Any, *, bins: int = 15, ax: "Axes | None" = None) -> "Axes":
    """Plot mean log loss by rating difference before the match, and dotted the loss if predictions were right.

        jr.plots.loss_by_difference(jr.history.rating_history(system, data), data.matches.score)

    Bins hold about equally many matches, by the difference without side advantages. Bars are 95% intervals. Above the
    dotted line of the same colour predictions are overconfident, below it underconfident. The legend of several systems
    has their mean losses.

    Args:
      history: a history from `jr.history.rating_history` of matches, or those of several systems by name.
      score: [n] the scores of player 0.
      bins: greatest number of bins; equal differences are in one bin.

    Raises:
      ValueError: for scores or predictions outside [0, 1], differences that are not finite, or of other shapes.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    rows = {name: _bin_loss_by_rating_difference(one, score, bins) for name, one in values_by_system(history).items()}
    subtitle = "Mean log loss by rating difference, with 95% intervals; dotted: if predictions were right"
    title = loss_title({format_plot_name(name): one for name, one in rows.items()})
    ax = make_axes(ax, (6.8, 5.2), title, subtitle, source=describe_counted_data(f"{np.size(score):,} matches"))
    for name, (difference, loss, error, expected, _, match_loss) in rows.items():
        number = count_lines(ax, "loss")
        marker = MARKERS[number % len(MARKERS)]
        line = ax.errorbar(
            difference, loss, Z_95 * error, marker=marker, markersize=4, capsize=2, elinewidth=0.8, linewidth=1.0,
            label=f"{format_plot_name(name)}, {match_loss.mean():.3f}" if name else "observed", **line_style(number),
        )  # fmt: skip
        line[0].set_gid("loss")
        if not number:  # the key to the dotted lines of all systems
            ax.plot([], [], ":", color=GREY, linewidth=1.2, label="if predictions were right")
        colour = line_style(number)["color"]
        ax.plot(difference, expected, ":", color=colour, linewidth=1.2, zorder=1, gid="right predictions")
    ax.set(xlabel="rating difference", ylabel="log loss (nats)")
    ax.set_ylim(bottom=0.0)
    add_legend(ax, "mean over all matches" if all(rows) else "")
    return ax


def _bin_loss_by_rating_difference(history: RecordedRun, score: Any, bins: int) -> LossBins:
    if not isinstance(history, RecordedRun):
        raise ValueError(
            "expected a history, as from jr.history.rating_history, or several by name, "
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
    return LossBins(means[0], means[1], error, means[3], count, loss)


@enforce_argument_annotations
def residuals(
    prediction: Any, data: Any, *, top: int = 20, min_games: int = 10, active: Any = None, ax: "Axes | None" = None
) -> "Axes":
    """Plot the players with the most surprising scores, as mean observed less expected, with 95% intervals.

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
    num_players, z_of_all = int(enough.sum()), _surprise_of_all(matches.player, score - p, p, enough)
    title = surprise_title(labels[most], float(mean[most]), largest, num_players, z_of_all)
    shown = "all" if len(chosen) == enough.sum() else f"the {len(chosen):,} most surprising of"
    current = f" who played in the last {days:g} {'days' if clock == 'dates' else 'units of time'}" if days else ""
    scope = f"{shown} {num_players:,}{current}"
    rule = f"z in standard errors, and beyond ±{surprise_limit(num_players):.1f} it is more than chance"
    subtitle = f"Score above expected of {scope}, with 95% intervals; {rule}"
    step = row_name_step(labels, ax)
    subtitle += describe_name_step(step)
    ax = make_axes(ax, figure_size_for_rows(labels), title, subtitle, source=describe_source(data), grid="x")
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    draw_intervals(ax, mean, half_width, COLOURS[0])
    values = [f"{surprise[i]:+.1f} ({games[i]:,})".replace("-", "\N{MINUS SIGN}") for i in chosen]
    draw_player_rows(ax, labels, values, head="z (matches)", step=step)
    ax.set_xlabel("score above expected, a match")
    return ax


def _surprise_of_all(player: Any, excess: HostArray, p: HostArray, chosen: HostArray) -> float:
    """The surprise of the scores of all chosen players together, in standard errors; 0 if they only met each other.

    `player` [n, 2] are both players of each match, `excess` [n] is the score of player 0 above the expected `p`.
    """
    is_chosen = chosen[np.asarray(player)].astype(float)
    sign = is_chosen[:, 0] - is_chosen[:, 1]  # what one of two chosen players scores more, the other scores less
    error = float(np.sqrt((sign**2 * p * (1.0 - p)).sum()))
    return float((sign * excess).sum()) / error if error > 0.0 else 0.0


@enforce_argument_annotations
def comparison(compared_systems: Comparison, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the log loss of each system above that of the best, with 95% intervals; the best first.

        plots.comparison(jr.compare(data, ["elo", "glicko", "trueskill"]))

    Intervals are for differences match by match: a difference whose interval includes 0 may be luck. The title
    calls a system the best if it is ahead of each other one by more than chance, all pairs allowed for (Bonferroni).

    Args:
      compared_systems: a comparison from `jr.compare`, of matches.

    Raises:
      ValueError: for a comparison on contests of many, which have no log loss.
    """
    results = [result for result in compared_systems.results if result.log_loss_difference is not None]
    if not results:
        raise ValueError("contests of many have no log loss to compare; print the comparison")
    check_drawable_count("systems", len(results), 1, MAX_ROWS)
    labels = [
        format_plot_name(system_result_label(result._replace(name=system_title(result.name)))) for result in results
    ]
    subtitle = f"Log loss above that of {labels[0]}, match by match, with 95% intervals; less is better"
    loss_behind = np.array([result.log_loss_difference for result in results], float)
    half_width = np.nan_to_num(Z_95 * loss_behind[:, 1])
    title = comparison_title(labels, loss_behind[:, 0], np.nan_to_num(loss_behind[:, 1]))
    if len(labels) > 2:
        subtitle += f"; beyond {comparison_limit(len(labels)):.1f} standard errors a lead is more than chance"
    source = describe_counted_data(f"{compared_systems.scored:,} matches")
    ax = make_axes(ax, figure_size_for_rows(labels), title, subtitle, source=source, grid="x")
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    draw_intervals(ax, loss_behind[:, 0], half_width, COLOURS[0])
    values = [f"{x:+.4f} ± {y:.4f}" if y else "" for x, y in zip(loss_behind[:, 0], half_width, strict=True)]
    draw_player_rows(ax, labels, values, head="behind")
    ax.set_xlabel(f"log loss behind {labels[0]} ({results[0].quality['log loss']:.4f})")
    return ax
