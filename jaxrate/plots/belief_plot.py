"""A plot of BlatMMR's belief about a player's strength through a history."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.history.blat_mmr_beliefs import belief_grid
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.history import find_player_id
from jaxrate.history.recorded_runs import rating_history as record
from jaxrate.plots.finding_titles import format_amount
from jaxrate.plots.name_labels import player_label
from jaxrate.plots.plot_inputs import (
    check_ratings_finite,
    describe_source,
    evenly_spaced_indices,
    rating_axis_label,
    rating_unit,
    to_dataset,
)
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    add_colour_bar,
    add_legend,
    group_thousands,
    label_time_axis,
    make_axes,
    sequential_map,
)
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MATCHES_PER_CHUNK = 1 << 16  # matches whose beliefs are in memory at once: half a gigabyte for 1001 points
MAX_COLUMNS = 400  # columns of a heat map


@enforce_argument_annotations
def belief(system: RatingSystem, data: Any, player: Any, *, params: Params = None, ax: "Axes | None" = None) -> "Axes":
    """Plot BlatMMR's belief about a player's strength through a history: a heat map, its mean and its 95% interval.

        jr.plots.belief(jr.blat_mmr(), data, "Ada")

    Each column is the belief before the player's next match, from the match before on; the last column is the belief
    after the last match, up to the end of the history. At most 400 columns are drawn. The history is rated again.

    Args:
      system: a system from `blat_mmr` with a grid.
      data: the `Dataset`, or its matches.
      player: the player, by name or id.
      params: hyperparameters, by default `system.params`.

    Raises:
      ValueError: for a system without a grid, for rounds, or for a player who is unknown or plays only at the end of
        the history.
    """
    rating = belief_grid(system)
    data = to_dataset(data)
    matches, names = data.matches, data.players
    end, clock = _match_times(data)
    participants = np.asarray(matches.player)
    number = find_player_id(names, player, max(int(participants.max()) + 1, 0 if names is None else len(names)))
    edge = np.append(end[(participants == number).any(axis=1)], end[-1])
    last = np.flatnonzero(edge[1:] > edge[:-1])  # the last of several matches at one time
    if not len(last):
        raise ValueError(
            f"{player_label(number, names)} has no match before the end of the history: there is nothing to draw"
        )
    last = last[evenly_spaced_indices(len(last), MAX_COLUMNS)]
    edge, beliefs = np.append(edge[last], edge[-1]), _beliefs_after_matches(system, matches, number, params)[last]
    check_ratings_finite(player_label(number, names), beliefs)
    mass = np.cumsum(beliefs, axis=1)
    low, high = (rating[np.argmax(mass >= share, axis=1)] for share in (0.025, 0.975))
    rating_range = rating[[np.argmax(mass >= 0.001, axis=1).min(), np.argmax(mass >= 0.999, axis=1).max()]]
    is_shown = (rating >= rating_range[0]) & (rating <= rating_range[1])
    step = rating[1] - rating[0]
    density = 100.0 * beliefs[:, is_shown].T / step
    subtitle = f"By {system_title(system.name)}: the stronger the colour, the likelier the strength; before each match"
    ends, unit = (format_amount(x[-1], "", 0) for x in (low, high)), rating_unit(system)
    title = f"{player_label(number, names)} ended between {' and '.join(ends)} {unit}, with 95% probability"
    ax = make_axes(ax, (8.0, 4.8), title, subtitle, source=describe_source(data))
    y = np.append(rating[is_shown] - 0.5 * step, rating_range[1] + 0.5 * step)
    top = np.quantile(density.max(axis=0), 0.9)
    heat = ax.pcolormesh(edge, y, density, cmap=sequential_map(), vmin=0.0, vmax=top, rasterized=True)
    for line, kind, name in (
        (beliefs @ rating, "-", "mean"),
        (low, ":", "95% interval"),
        (high, ":", None),
    ):
        steps = np.append(line, line[-1])
        ax.step(edge, steps, kind, color=COLOURS[1], linewidth=1.0, where="post", label=name)
    add_colour_bar(ax, heat, "density per 100 points", extend="max")
    ax.set_ylabel(rating_axis_label(system))
    group_thousands(ax, "y")
    label_time_axis(ax, clock)
    add_legend(ax, player_label(number, names))
    return ax


def _match_times(data: Dataset) -> tuple[HostArray, str]:
    """[m] the times of matches, or their numbers if no time passes; and the label of the axis."""
    time = np.asarray(data.matches.time)
    if data.clock is None or np.ptp(time) == 0:
        return np.arange(1, len(time) + 1), "matches before"
    return (days_to_dates(time), "date") if data.clock == "dates" else (time, "time")


def _beliefs_after_matches(system: RatingSystem, matches: Matches, player_id: int, params: Params) -> HostArray:
    """[m, n] the beliefs about a player after each of their m matches."""
    recording_system, count = system._replace(summary=belief_of_rows), int(np.max(matches.player)) + 1
    chunks: list[HostArray] = []
    state: Any = None
    for low in range(0, len(matches.score), MATCHES_PER_CHUNK):
        chunk = slice_events(matches, low, low + MATCHES_PER_CHUNK)
        state, _, before, _ = record(recording_system, chunk, params=params, state=state, num_players=count)
        chunks.append(np.asarray(before)[np.asarray(chunk.player) == player_id])
    return np.concatenate([*chunks, np.asarray(state.belief)[None, player_id]])[1:]


def belief_of_rows(params: Params, rows: State) -> Array:
    del params
    return rows.belief
