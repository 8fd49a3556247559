"""Pictures of players: ratings and beliefs through a history, and how they stand."""

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxrate.events import Array, Matches, Ragged, part
from jaxrate.plots.drawing import (
    COLOURS,
    KINDS,
    POINTS,
    ROWS,
    SHADES,
    WIDE,
    add_legend,
    check_count,
    check_finite,
    choose,
    find,
    full_height,
    label,
    label_time,
    list_players,
    make_axes,
    number_drawn,
    open_data,
    open_matches,
    plain,
    rating_label,
    style,
    thin,
    time_axis,
)
from jaxrate.records.history import History
from jaxrate.records.history import history as record
from jaxrate.records.leaderboard import leaderboard as best
from jaxrate.records.leaderboard import ratings
from jaxrate.records.metrics import NumPy
from jaxrate.records.predictions import matchups as win_probabilities
from jaxrate.system import Params, RatingSystem, State
from jaxrate.systems.blat_mmr.beliefs import grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHUNK = 1 << 16  # matches whose beliefs are kept at once: half a gigabyte for 1001 points
COLUMNS = 400  # of a heat map
WRITTEN = 12  # players up to which probabilities are written into a matrix


def trajectory(
    system: RatingSystem, history: History, data: Any, players: Any, *, params: Params = None, ax: "Axes | None" = None
) -> "Axes":
    """Ratings through a history, with the 95 % interval where the system has deviations.

    A line goes through what each event found, as in `history.before`, to the rating after the last one. The axis is
    time; if there is none, or it stands still, how many events of the history came before. Of long lines 2000 points
    are drawn. Several calls may share an axes.

    Args:
      system: as from `glicko()`.
      history: as from `jr.history(system, data.events)`, or of the rating periods of these matches.
      data: the `Dataset`, or its matches or rounds.
      players: one or several, at most 28.
      params: hyperparameters of the history, by default `system.params`.

    Raises:
      ValueError: for a player who is unknown or never plays, ratings that are not finite, or a history of other events.
    """
    events, names, _ = open_data(data)
    flat = events.events if isinstance(events, Ragged) else events
    took_part = np.asarray(flat.player).reshape(len(flat.player), -1)
    size = np.diff(events.player_start) if isinstance(events, Ragged) else np.ones(len(flat.time), int)
    before = [None if x is None else np.asarray(x).reshape(len(x), -1) for x in history.before]
    if before[0] is None or before[0].shape != took_part.shape:
        raise ValueError("the history is of other events than the data (of rating periods, give the matches)")
    final = [None if x is None else np.asarray(x) for x in ratings(system, history.state, params=params)]
    chosen = choose(players, names, len(jax.tree.leaves(history.state)[0]))
    check_count("players", len(chosen), 1, KINDS)
    event, (begin, end, clock) = np.repeat(np.arange(len(size)), size), time_axis(data)
    lines = []
    for number, name in chosen.items():
        row, side = np.nonzero(took_part == number)
        if not len(row):
            raise ValueError(f"{name} plays in none of these events")
        at = np.append(begin[event[row]], end[event[row[-1]]])
        mean, deviation = (
            None if b is None or f is None else np.append(b[row, side], f[number])
            for b, f in zip(before, final, strict=True)
        )
        assert mean is not None
        check_finite(name, mean, deviation)
        some = thin(len(at), POINTS)
        lines.append((name, at[some], mean[some], None if deviation is None else WIDE * deviation[some]))
    ax = make_axes(ax)
    for name, at, mean, wide in lines:
        look = style(number_drawn(ax, "trajectory"))
        ax.plot(at, mean, **look, label=name, gid="trajectory")
        if wide is not None:
            ax.fill_between(at, mean - wide, mean + wide, color=look["color"], alpha=0.2, linewidth=0)
    ax.set_ylabel(rating_label(system))
    label_time(ax, clock)
    add_legend(ax)
    return ax


def belief(system: RatingSystem, data: Any, player: Any, *, params: Params = None, ax: "Axes | None" = None) -> "Axes":
    """What BlatMMR believed of a player's strength through a history: a heat map, its mean and its 95 % interval.

    Each column is the belief that his next match finds, from the match before on; the last one that after his last
    match, up to the end of the history. At most 400 of them are drawn. The history is rated anew.

    Args:
      system: from `blat_mmr` with a grid.
      data: the `Dataset`, or its matches.
      player: by name or id.
      params: hyperparameters, by default `system.params`.

    Raises:
      ValueError: for a system without a grid, rounds, a player who is unknown or plays at the end of the history only.
    """
    rating = grid(system)
    matches, names = open_matches(data)
    _, end, clock = time_axis(data)
    took_part = np.asarray(matches.player)
    number = find(player, names, max(int(took_part.max()) + 1, 0 if names is None else len(names)))
    edge = np.append(end[(took_part == number).any(axis=1)], end[-1])
    last = np.flatnonzero(edge[1:] > edge[:-1])  # of several matches at one time
    if not len(last):
        raise ValueError(f"{label(number, names)} has no match before the end of the history: there is nothing to draw")
    last = last[thin(len(last), COLUMNS)]
    edge, believed = np.append(edge[last], edge[-1]), _beliefs(system, matches, number, params)[last]
    check_finite(label(number, names), believed)
    mass = np.cumsum(believed, axis=1)
    low, high = (rating[np.argmax(mass >= share, axis=1)] for share in (0.025, 0.975))
    far = rating[[np.argmax(mass >= 0.001, axis=1).min(), np.argmax(mass >= 0.999, axis=1).max()]]
    shown = (rating >= far[0]) & (rating <= far[1])
    step = rating[1] - rating[0]
    density = 100.0 * believed[:, shown].T / step
    ax = make_axes(ax)
    y = np.append(rating[shown] - 0.5 * step, far[1] + 0.5 * step)
    top = np.quantile(density.max(axis=0), 0.9)
    heat = ax.pcolormesh(edge, y, density, cmap=SHADES, vmin=0.0, vmax=top, rasterized=True)
    for line, kind, name in (
        (believed @ rating, "-", "mean"),
        (low, ":", "95 % interval"),
        (high, ":", None),
    ):
        steps = np.append(line, line[-1])
        ax.step(edge, steps, kind, color=COLOURS[1], linewidth=1.0, where="post", label=name)
    figure = ax.get_figure()
    assert figure is not None
    figure.colorbar(heat, ax=ax, label="density per 100 points", extend="max")
    ax.set_ylabel(rating_label(system))
    label_time(ax, clock)
    add_legend(ax, label(number, names))
    return ax


def _beliefs(system: RatingSystem, matches: Matches, number: int, params: Params) -> NumPy:
    """[m, n] the beliefs in a player from each of his m matches on."""
    seen, count = system._replace(summary=_belief), int(np.max(matches.player)) + 1
    found: list[NumPy] = []
    state: Any = None
    for low in range(0, len(matches.score), CHUNK):
        some = part(matches, low, low + CHUNK)
        state, _, before = record(seen, some, params=params, state=state, num_players=count)
        found.append(np.asarray(before)[np.asarray(some.player) == number])
    return np.concatenate([*found, np.asarray(state.belief)[None, number]])[1:]


def _belief(params: Params, rows: State) -> Array:
    del params
    return rows.belief


def leaderboard(
    system: RatingSystem, state: State, players: Any = None, *, ax: "Axes | None" = None, **options: Any
) -> "Axes":
    """The best players, each with the 95 % interval of his rating.

    Args:
      system, state, players, options: as for `jr.leaderboard`; at most 100 are drawn.

    Raises:
      ValueError: as `jr.leaderboard`, for more than 100, or for ratings that are not finite.
    """
    board = best(system, state, players, **options)
    check_count("players", len(board.player), 1, ROWS)
    labels = [label(player, None) if players is None else plain(player) for player in board.player]
    for name, *shown in zip(labels, board.rating, strict=True):
        check_finite(name, *shown)
    ax = make_axes(ax, full_height(len(labels)))
    wide = None if board.deviation is None else WIDE * board.deviation
    ax.errorbar(board.rating, np.arange(len(labels)), xerr=wide, fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    list_players(ax, labels)
    ax.set_xlabel(rating_label(system))
    return ax


def matchups(
    system: RatingSystem, state: State, players: Any, names: Any = None, *, ax: "Axes | None" = None, **options: Any
) -> "Axes":
    """The expected score of each chosen player, in rows, against each other one, in percent (a draw is half a win).

    Args:
      system, state, options: as for `predictions.matchups`.
      players: 2 to 100 of them. Up to 12 the numbers are written in.
      names: [num_players] of all, as in `Dataset`.

    Raises:
      ValueError: as `predictions.matchups`, or for players who are unknown.
    """
    chosen = choose(players, names, len(jax.tree.leaves(state)[0]))
    check_count("players", len(chosen), 2, ROWS)
    labels, count = list(chosen.values()), len(chosen)
    win = 100.0 * np.asarray(win_probabilities(system, state, list(chosen), **options), np.float64)
    win[np.diag_indices(count)] = np.nan
    side = 2.4 + 0.42 * min(count, 2 * WRITTEN)
    ax = make_axes(ax, (side, side))
    ax.set_facecolor("#dddddd")  # of the diagonal
    image = ax.imshow(win, cmap=SHADES, vmin=0.0, vmax=100.0, interpolation="nearest")
    ax.set_xticks(np.arange(count), labels, rotation=90)
    ax.set_yticks(np.arange(count), labels)
    ax.set(xlabel="against", ylabel="expected score (%)")
    if count <= WRITTEN:
        for i, j in np.argwhere(~np.eye(count, dtype=bool)):
            colour = "white" if win[i, j] > 60.0 else "black"
            ax.text(j, i, f"{win[i, j]:.0f}", ha="center", va="center", color=colour, fontsize="small")
    else:
        figure = ax.get_figure()
        assert figure is not None
        figure.colorbar(image, ax=ax, label="expected score (%)")
    return ax
