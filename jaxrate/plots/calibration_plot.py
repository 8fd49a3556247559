"""A plot of calibration: mean scores by predicted ones, and the numbers of predictions."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_short_count
from jaxrate.events import Matches, Ragged, Rounds
from jaxrate.events.dataset import Dataset
from jaxrate.metrics import checked_match_metrics, prediction_metrics
from jaxrate.metrics.prediction_metrics import observed_share_of_sides_beaten
from jaxrate.plots.altair_charts import ChartText, calibration_chart
from jaxrate.plots.finding_titles import calibration_title
from jaxrate.plots.name_labels import format_plot_name
from jaxrate.plots.plotted_data_and_checks import (
    count_lines,
    describe_source,
    is_altair_backend,
    unpack_events_names_and_clock,
    values_by_system,
)
from jaxrate.plots.scoreboard_style import (
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
    """Plot mean scores against mean predictions, in percent and in bins of equal width; the diagonal is perfect.

        jr.plots.calibration({"Glicko": jr.run(jr.glicko(), data).prediction}, data)

    Above are the numbers of predictions in each bin. The 95% intervals are Wilson's for a binomial share (draws,
    and shares of many opponents, vary less). The legend has the calibration error. If the first player won every match,
    as in tables of winners and losers, each match counts half from either side.

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
    predictions = values_by_system(prediction)
    calibrations = {
        name: _calibration_mirrored_if_winner_first(p, score, bins, weight, mask) for name, p in predictions.items()
    }
    intervals = {
        f"{format_plot_name(name)}{', ' if name else ''}{100.0 * one.error:.1f}": _bin_intervals(one)
        for name, one in calibrations.items()
    }
    axis_quantity = "share of the others beaten (%)" if is_share else "score (%)"
    text = ChartText(calibration_title({format_plot_name(name): one for name, one in calibrations.items()}),
                     "Bars are 95% intervals, and right predictions lie on the diagonal",
                     f"predicted {axis_quantity}", f"observed {axis_quantity}", source)  # fmt: skip
    if is_interactive:
        return calibration_chart(intervals, text)
    ax = make_axes(ax, (5.6, 6.6), text.title, text.subtitle, source=source, grid="both")
    if not count_lines(ax, "calibration"):
        ax.plot([0, 100], [0, 100], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
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
    add_legend(ax, "calibration error (%)", above=COUNT_AXES_BOX[1] + COUNT_AXES_BOX[3])
    return ax


def _bin_intervals(one: checked_match_metrics.Calibration) -> tuple[HostArray, ...]:
    """Mean prediction and mean score of each bin that is not empty, Wilson's interval, all in percent; its count."""
    filled = one.weight > 0
    predicted, observed, count = (np.asarray(x)[filled] for x in (one.predicted, one.observed, one.weight))
    low, high = checked_match_metrics.wilson_interval(observed, count)
    return 100.0 * predicted, 100.0 * observed, 100.0 * low, 100.0 * high, count


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
        np.linspace(0.0, 100.0, len(count) + 1),
        color=bin_line_style["color"],
        linestyle=bin_line_style["linestyle"],
    )
    top = max(count_axes.get_ylim()[1] if not is_first else 0.0, 1.4 * count.max())
    count_axes.set(ylim=(0.0, top), yticks=[0.0, top / 1.4], yticklabels=["0", format_short_count(top / 1.4)])
    count_axes.tick_params(labelsize="x-small")
    for text in list(count_axes.texts):
        text.remove()
    if is_first and ax.bbox.width * points_per_pixel(ax) / len(count) > 3.0 * SMALL_FONT:
        for middle, number in zip(100.0 * (np.arange(len(count)) + 0.5) / len(count), count, strict=True):
            count_axes.text(
                middle,
                number,
                format_short_count(number),
                ha="center",
                va="bottom",
                color=GREY,
                fontsize=SMALL_FONT - 2.0,
            )
