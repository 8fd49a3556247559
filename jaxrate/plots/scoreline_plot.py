"""A plot of the scorelines of a match to come."""

from typing import TYPE_CHECKING

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.hyperparameter_definitions import check_whole_number
from jaxrate.core.text_format import format_number, format_percentage, format_percentages
from jaxrate.forecasts.scorelines import Scorelines, check_scorelines, goal_difference_probabilities
from jaxrate.plots.name_labels import format_plot_name, set_name_ticks
from jaxrate.plots.percent_matrix import CELL_SIDE, draw_percent_cells
from jaxrate.plots.scoreboard_style import INK, make_axes
from jaxrate.plots.time_steps import spell_date

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_SHOWN_GOALS, MAX_SHOWN_GOALS = 4, 20
FRAME_INSET = 0.03  # of a cell, by which the frame of a draw stays within it
LEFT_OUT = 0.01  # of all scorelines, at most, by default


@enforce_argument_annotations
def scorelines(
    forecast: Scorelines, match: int = 0, *, most_goals: int | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Plot how likely each scoreline of a match to come is, in percent; draws have a frame.

        forecast = jr.forecasts.predict_scorelines(rated, [("Ada", "Bo")])
        jr.plots.scorelines(forecast)

    Rows are goals of the first side, columns those of the second. The line below the title has the chances of the
    results, and what is left out.

    Args:
      forecast: as from `jr.forecasts.predict_scorelines`.
      match: which of its matches, from 0.
      most_goals: of a side, from 1 to 20. None: so many that 1% is left out at most, from 4 on.

    Raises:
      ValueError: if there is no such match, if the forecast has fewer goals, or for chances that are none.
    """
    count = len(forecast.a)
    if not 0 <= match < count:
        raise ValueError(f"match must be from 0 to {count - 1}, got {match}")
    probability = check_scorelines(forecast.probability)[match]
    lead = goal_difference_probabilities(probability, 0.0)
    largest = min(len(probability) - 1, MAX_SHOWN_GOALS)
    if most_goals is None:
        most_goals = _goals_to_show(probability, largest)
    elif check_whole_number("scorelines", "most_goals", most_goals, 1, MAX_SHOWN_GOALS) > largest:
        raise ValueError(
            f"the forecast has up to {largest} goals of a side; predict_scorelines(most_goals=...) has more"
        )
    shown = probability[: most_goals + 1, : most_goals + 1]
    first, second = (format_plot_name(names[match]) for names in (forecast.a, forecast.b))
    goals = np.unravel_index(int(np.argmax(probability)), probability.shape)
    percent = [
        format_percentage(probability.max()),
        *format_percentages([*map(float, lead)]),
        format_percentage(1.0 - shown.sum()),
    ]
    title = f"{goals[0]}:{goals[1]} is likeliest, with {percent[0]}"
    subtitle = f"{first} {percent[1]}, draw {percent[2]}, {second} {percent[3]}"
    subtitle += f"; more goals {percent[4]}" if 1.0 - shown.sum() >= 5e-4 else ""
    subtitle += ". Framed: draws"
    side = 1.8 + 1.3 * CELL_SIDE * len(shown)
    ax = make_axes(ax, (side + 0.6, side), title, subtitle, source=_describe_forecast(forecast, match), grid="none")
    draw_percent_cells(ax, 100.0 * shown, "probability (%)", is_diverging=False)
    _frame_draws(ax, len(shown))
    labels = [str(number) for number in range(len(shown))]
    set_name_ticks(ax, "x", labels, color=INK)
    set_name_ticks(ax, "y", labels, color=INK)
    ax.set(xlabel=f"goals of {second}", ylabel=f"goals of {first}")
    return ax


def _describe_forecast(forecast: Scorelines, match: int) -> str:
    """The line below the picture: what its numbers are a forecast of, and for when."""
    goals = f"Forecast of scorelines up to {forecast.probability.shape[-1] - 1} goals of a side"
    if forecast.time is None:
        return goals
    at = np.asarray(forecast.time)[match]
    is_dated = isinstance(at, np.datetime64)
    when = spell_date(float(at.astype("datetime64[D]").astype(float))) if is_dated else format_number(float(at))
    return f"{goals}, for {when if is_dated else f'time {when}'}"


def _goals_to_show(probability: HostArray, largest: int) -> int:
    """The goals of a side up to which all scorelines but a few are."""
    inside = np.array([probability[: i + 1, : i + 1].sum() for i in range(largest + 1)])
    enough = int(np.argmax(inside >= (1.0 - LEFT_OUT) * probability.sum())) if len(inside) else largest
    enough = enough if inside[enough] >= (1.0 - LEFT_OUT) * probability.sum() else largest
    return max(enough, min(MIN_SHOWN_GOALS, largest))


def _frame_draws(ax: "Axes", count: int) -> None:
    from matplotlib.patches import Rectangle

    for i in range(count):
        corner = i - 0.5 + FRAME_INSET
        size = 1.0 - 2.0 * FRAME_INSET
        frame = Rectangle((corner, corner), size, size, fill=False, edgecolor=INK, linewidth=0.8, zorder=3, gid="draw")
        ax.add_patch(frame)
