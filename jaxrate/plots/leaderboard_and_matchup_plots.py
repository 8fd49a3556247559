"""Plots of current ratings: the leaderboard, and expected scores of each player against each other."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.forecasts.series_and_knockout_brackets import matchup_matrix as win_probabilities
from jaxrate.history.history import History, player_groups, resolve_system_state_and_players
from jaxrate.history.leaderboards import leaderboard as best
from jaxrate.history.ratings_at_times import ratings
from jaxrate.plots.altair_charts import MAX_WRITTEN_COLUMNS, ChartText, interval_chart, matrix_chart
from jaxrate.plots.finding_titles import favourite_title, leader_title
from jaxrate.plots.name_labels import describe_name_step, format_plot_name, player_label, player_labels_by_id
from jaxrate.plots.percent_matrix import MAX_MATRIX_PLAYERS, describe_rows, draw_percent_matrix, matrix_name_step
from jaxrate.plots.player_rows import (
    MAX_ROWS,
    draw_intervals,
    draw_player_rows,
    figure_size_for_rows,
    format_ratings,
    row_name_step,
)
from jaxrate.plots.plotted_data_and_checks import (
    Z_95,
    check_drawable_count,
    check_ratings_finite,
    describe_source,
    is_altair_backend,
    rating_axis_label,
    rating_unit,
)
from jaxrate.plots.scoreboard_style import COLOURS, group_thousands, make_axes
from jaxrate.plots.time_steps import abbreviate_dates
from jaxrate.replay.padded_states_and_columns import count_players as count_of
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@enforce_argument_annotations
def leaderboard(
    system: RatingSystem | History,
    state: State = None,
    players: Any = None,
    *,
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
    **options: Any,
) -> Any:
    """Plot the best players by rank and rating with 95% intervals; the line below the title tells who is listed.

        jr.plots.leaderboard(rated, top=10, min_games=20)

    Where names of all players do not fit, some are left out, and no numbers are written. Of groups that no chain of
    events joins, the first is drawn.

    Args:
      system, state, players, options: as for `jr.leaderboard`; at most 10,000 are drawn.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: as for `jr.leaderboard`, for more than 10,000 players, or for ratings that are not finite.
    """
    is_interactive = is_altair_backend(backend, ax)
    board = best(system, state, players, **options)
    apart = "; players whom no chain of events joins to these are left out" if board.group is not None else ""
    board = board.first_group()
    source = describe_source(system)
    system, state, players = resolve_system_state_and_players(system, state, players)
    check_drawable_count("players", len(board.player), 1, MAX_ROWS)
    labels = [player_label(player, None) if players is None else format_plot_name(player) for player in board.player]
    for name, *shown in zip(labels, board.rating, strict=True):
        check_ratings_finite(name, *shown)
    half_width = None if board.deviation is None else Z_95 * board.deviation
    interval = "" if half_width is None else ", with 95% intervals"
    cut = f" of the first {len(board.rank):,} of {board.num_listed:,}" if len(board.rank) < board.num_listed else ""
    subtitle = f"Ratings{cut} by {system_title(system.name)}{interval}{_describe_listed_players(board.scope)}{apart}"
    step = row_name_step(labels, ax)
    subtitle += describe_name_step(step)
    title = leader_title(labels, board.rating, board.deviation, rating_unit(system))
    text = ChartText(title, subtitle, rating_axis_label(system), "", source)
    if is_interactive:
        values = format_ratings(board.rating, half_width)
        return interval_chart(labels, board.rating, half_width, text, values, board.rank.tolist(), step=step)
    ax = make_axes(ax, figure_size_for_rows(labels), text.title, text.subtitle, source=source, grid="x")
    draw_intervals(ax, board.rating, half_width, COLOURS[0])
    values = format_ratings(board.rating, half_width)
    draw_player_rows(ax, labels, values, board.rank.tolist(), step=step)
    ax.set_xlabel(text.x)
    group_thousands(ax, "x")
    return ax


def _describe_listed_players(scope: str) -> str:
    """The end of a subtitle: who is on a leaderboard of this scope, if not everybody is."""
    listed = scope.partition("\n")[0].partition(" (")[0].replace(" players, who ", " who ")
    return f"; {abbreviate_dates(listed)}" if " who " in listed else ""


@enforce_argument_annotations
def matchups(
    system: RatingSystem | History,
    state: State = None,
    players: Any = None,
    names: Any = None,
    *,
    active: Any = None,
    min_games: int | None = None,
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
    **options: Any,
) -> Any:
    """Plot the expected score of each player, in rows, against each other one, in percent (a draw is half a win).

        jr.plots.matchups(rated, players=["Ada", "Bo", "Cy"])

    A score of one half has no colour, and colours reach from 0 to 100. Nobody has a side advantage. Rows are in the
    order of the ratings. Pairs whom no chain of events joins are grey.

    Args:
      system, state, options: as for `forecasts.matchup_matrix`.
      players: 2 to 200 players. For up to 20, numbers are written into the cells if they fit. None: the first 20 of
        `jr.leaderboard`.
      names: [num_players] names of all players, as in `Dataset`. None: those of the rated history, if there is one.
      active, min_games: as for `jr.leaderboard`, if no players are given.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: as for `forecasts.matchup_matrix` and `jr.leaderboard`, for unknown players, or for `active` or
        `min_games` with players.
    """
    is_interactive, source = is_altair_backend(backend, ax), describe_source(system)
    scope, count, groups = "", 0, player_groups(system) if isinstance(system, History) else None
    if players is None:
        num_players = count_of(resolve_system_state_and_players(system, state, names)[1])
        listing: dict[str, Any] = {"active": active, "min_games": min_games, "params": options.get("params")}
        board = best(system, state, names, top=num_players, **listing).first_group()
        players, scope = board.player[:MAX_WRITTEN_COLUMNS], _describe_listed_players(board.scope)
        count = len(board.player)
    elif active is not None or min_games is not None:
        raise ValueError("active and min_games choose players, and these are given")
    system, state, names = resolve_system_state_and_players(system, state, names)
    ids = player_labels_by_id(players, names, count_of(state))
    check_drawable_count("players", len(ids), 2, MAX_MATRIX_PLAYERS)
    number, count = np.array([*ids]), count or len(ids)
    mean = np.asarray(ratings(system, state, params=options.get("params")).mean)[number]
    order = np.argsort(-mean, kind="stable")
    category = options.get("category")
    if category is not None and np.shape(category)[:1] == order.shape:
        options["category"] = np.asarray(category)[order]
    number = number[order]
    percent = 100.0 * np.asarray(win_probabilities(system, state, number, **options), np.float64)
    np.fill_diagonal(percent, np.nan)
    if groups is not None:
        percent[groups[number][:, None] != groups[number]] = np.nan
    labels = [ids[int(i)] for i in number]
    rows = describe_rows(len(ids), count)
    has_side = bool(np.any(getattr(options.get("params") or system.params, "side_advantage", 0.0)))
    neutral = ", on neutral ground" if has_side else ""
    subtitle = f"Expected score in percent of {rows}, in rows, by {system_title(system.name)}{neutral}"
    subtitle += f"; blue: favoured, orange: not{scope}"
    step = matrix_name_step(labels, ax)
    subtitle += describe_name_step(step)
    title = favourite_title(labels, percent, len(ids) < count)
    text = ChartText(title, subtitle, "against", "expected score (%)", source)
    if is_interactive:
        return matrix_chart(labels, percent, text, step)
    return draw_percent_matrix(ax, labels, percent, text, step)
