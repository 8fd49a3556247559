"""A picture of what BlatMMR believes of a player, through a history."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.events import Matches, slice_events
from jaxrate.league.blat_mmr_beliefs import belief_grid
from jaxrate.league.event_ratings import rating_history as record
from jaxrate.league.rated_history import find_player
from jaxrate.plots.plot_helpers import (
    COLOURS,
    SEQUENTIAL_MAP,
    add_legend,
    check_finite,
    evenly_spaced_indices,
    get_figure,
    label_time,
    make_axes,
    matches_and_names,
    player_label,
    rating_label,
    time_axis,
)
from jaxrate.system import Params, RatingSystem, State
from jaxrate.types import Array, HostArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MATCHES_PER_CHUNK = 1 << 16  # matches whose beliefs are kept at once: half a gigabyte for 1001 points
MAX_COLUMNS = 400  # of a heat map


@check_arguments
def belief(system: RatingSystem, data: Any, player: Any, *, params: Params = None, ax: "Axes | None" = None) -> "Axes":
    """What BlatMMR believed of a player's strength through a history: a heat map, its mean and its 95 % interval.

        jr.plots.belief(jr.blat_mmr(), data, "Ada")

    Each column is the belief that the player's next match finds, from the match before on; the last column is the
    belief after the last match, up to the end of the history. At most 400 of them are drawn. The history is rated anew.

    Args:
      system: from `blat_mmr` with a grid.
      data: the `Dataset`, or its matches.
      player: by name or id.
      params: hyperparameters, by default `system.params`.

    Raises:
      ValueError: for a system without a grid, rounds, a player who is unknown or plays at the end of the history only.
    """
    rating = belief_grid(system)
    matches, names = matches_and_names(data)
    _, end, clock = time_axis(data)
    took_part = np.asarray(matches.player)
    number = find_player(names, player, max(int(took_part.max()) + 1, 0 if names is None else len(names)))
    edge = np.append(end[(took_part == number).any(axis=1)], end[-1])
    last = np.flatnonzero(edge[1:] > edge[:-1])  # of several matches at one time
    if not len(last):
        raise ValueError(
            f"{player_label(number, names)} has no match before the end of the history: there is nothing to draw"
        )
    last = last[evenly_spaced_indices(len(last), MAX_COLUMNS)]
    edge, believed = np.append(edge[last], edge[-1]), _beliefs_after_matches(system, matches, number, params)[last]
    check_finite(player_label(number, names), believed)
    mass = np.cumsum(believed, axis=1)
    low, high = (rating[np.argmax(mass >= share, axis=1)] for share in (0.025, 0.975))
    far = rating[[np.argmax(mass >= 0.001, axis=1).min(), np.argmax(mass >= 0.999, axis=1).max()]]
    shown = (rating >= far[0]) & (rating <= far[1])
    step = rating[1] - rating[0]
    density = 100.0 * believed[:, shown].T / step
    ax = make_axes(ax, None, f"What {system.name} believed")
    y = np.append(rating[shown] - 0.5 * step, far[1] + 0.5 * step)
    top = np.quantile(density.max(axis=0), 0.9)
    heat = ax.pcolormesh(edge, y, density, cmap=SEQUENTIAL_MAP, vmin=0.0, vmax=top, rasterized=True)
    for line, kind, name in (
        (believed @ rating, "-", "mean"),
        (low, ":", "95 % interval"),
        (high, ":", None),
    ):
        steps = np.append(line, line[-1])
        ax.step(edge, steps, kind, color=COLOURS[1], linewidth=1.0, where="post", label=name)
    get_figure(ax).colorbar(heat, ax=ax, label="density per 100 points", extend="max")
    ax.set_ylabel(rating_label(system))
    label_time(ax, clock)
    add_legend(ax, player_label(number, names))
    return ax


def _beliefs_after_matches(system: RatingSystem, matches: Matches, number: int, params: Params) -> HostArray:
    """[m, n] the beliefs in a player from each of their m matches on."""
    seen, count = system._replace(summary=_raw_belief), int(np.max(matches.player)) + 1
    found: list[HostArray] = []
    state: Any = None
    for low in range(0, len(matches.score), MATCHES_PER_CHUNK):
        some = slice_events(matches, low, low + MATCHES_PER_CHUNK)
        state, _, before, _ = record(seen, some, params=params, state=state, num_players=count)
        found.append(np.asarray(before)[np.asarray(some.player) == number])
    return np.concatenate([*found, np.asarray(state.belief)[None, number]])[1:]


def _raw_belief(params: Params, rows: State) -> Array:
    del params
    return rows.belief
