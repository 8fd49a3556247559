"""A plot of ranks through time: lines with names, or of several players a panel for each."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.history import History, format_time
from jaxrate.history.leaderboards import PEAK_MIN_EVENTS, ListRules, ranks_over_time
from jaxrate.history.participations import Participations
from jaxrate.plots.finding_titles import ranks_title
from jaxrate.plots.line_drawing import show_lines
from jaxrate.plots.name_labels import player_labels_by_id
from jaxrate.plots.pictures import (
    MAX_GREY_LINES,
    Line,
    LinePicture,
    PictureText,
    UnnamedPlayers,
    quantile_bands,
    unnamed_lines,
)
from jaxrate.plots.plot_inputs import (
    MAX_NAMED_LINES,
    check_backend,
    check_drawable_count,
    check_step,
    describe_source,
)
from jaxrate.plots.rating_lines import describe_begin, time_axis_label
from jaxrate.plots.scoreboard_style import is_isolated
from jaxrate.plots.time_steps import TimeSteps, abbreviate_dates, default_step_length
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@enforce_argument_annotations
def ranks(
    rated: History,
    players: Any,
    *,
    step: float | None = None,
    others: Iterable[Any] = (),
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
    **rules: Unpack[ListRules],
) -> Any:
    """Plot ranks through a history; the scale is logarithmic, the best on top. Three players or more have a panel each.

        jr.plots.ranks(rated, ["Ada", "Bo"], min_games=10)

    A rank is that on `jr.leaderboard(rated, as_of=...)` at the end of each step, on all dates by the rule of the last
    one. The plot begins when half of those who play are listed, or half as many as usual. Without `min_games` it begins
    when half of those listed have played ten times, and a line with the player's tenth event, since first ratings jump;
    with hindsight with the first. A line is interrupted while the player is not listed, for example because they have
    not played for long. A note says how often each was first, or their best rank; the others stand in grey in each
    panel.

    Args:
      rated: a history from `jr.rate` or `jr.smooth`, with times.
      players: one or several players, at most eight.
      step: the length of the steps in days, or in units of time, counted back from the end of the history; those of
        365.25 days, or a multiple, are calendar years, of which one that is not over yet is drawn, but not counted.
        None: a hundredth of the time since the first match of these players, or calendar years if it is long.
      active, min_games, cautious: who is ranked, and how, as in `jr.leaderboard`.
      others: further players, in grey and without names; of more than 200 the median, and bands of 50% and 90% of
        them.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for players who are unknown, or not listed since the plot begins, for a history without times, for a
        step that is not above 0, or as for `jr.leaderboard`.
    """
    check_backend(backend, ax)
    rated.check_has_events()
    rows, names = rated.rows.once_per_event(), rated.players
    labels = player_labels_by_id(players, names, len(names))
    check_drawable_count("players", len(labels), 1, MAX_NAMED_LINES)
    if rated.clock is None or np.isnan(rows.time).any():
        raise ValueError("ranks through time need times, and this history has none, or not for all events")
    check_step(step)
    steps, moments = _steps_and_ends(rated, rows, labels, step)
    table = _rank_table(rated, rows, moments, labels, rules)
    num_counted = len(table.moments) - (
        steps.is_cut and len(table.moments) > 1
    )  # a year that goes on counts for nobody
    at = days_to_dates(np.floor(table.moments)) if rated.clock == "dates" else table.moments
    lines = [_rank_line(name, at, table.ranks[:, i], num_counted) for i, name in labels.items()]
    others = [i for i in player_labels_by_id(list(others), names, len(names)) if i not in labels]
    unnamed = _unnamed_ranks(at, table.ranks[:, others].T)
    until = "" if steps.years else f", back from {abbreviate_dates(format_time(steps.last, rated.clock))}"
    begin = describe_begin(rated, 0 if table.is_settled else PEAK_MIN_EVENTS - 1)
    text = PictureText(
        _title(table.ranks[:num_counted], labels, steps.years == 1),
        f"Ranks by {system_title(rated.system.name)} {steps.describe()}{until}{begin}{unnamed.description}",
        time_axis_label(rated), "rank", describe_source(rated),
    )  # fmt: skip
    return show_lines(LinePicture(text, lines, unnamed, is_rank=True), ax, backend)


class RankTable(NamedTuple):
    """Ranks through time of all players; NaN where they are not listed."""

    moments: HostArray  # [m]
    ranks: HostArray  # [m, N]
    is_settled: bool  # whether no rank of those with names was left out, as it came too early

    def begin_at(self, number: int) -> "RankTable":
        """The table from this moment on."""
        return self._replace(moments=self.moments[number:], ranks=self.ranks[number:])


def _steps_and_ends(
    rated: History, rows: Participations, labels: Mapping[int, str], length: float | None
) -> tuple[TimeSteps, HostArray]:
    """The steps, and their ends since the first event of these players."""
    times = rows.time[np.isin(rows.player, [*labels])]
    if not len(times):
        raise ValueError(f"none of {', '.join(labels.values())} has played")
    begin, last = float(times.min()), float(rows.time.max())
    is_dated = rated.clock == "dates"
    steps = TimeSteps(last, length or default_step_length(max(last - begin, 1.0), is_dated), is_dated)
    return steps, steps.ends(begin)


def _rank_table(
    rated: History, rows: Participations, moments: HostArray, labels: Mapping[int, str], rules: ListRules
) -> RankTable:
    """The ranks at these moments, begun when enough players are listed, and have settled ratings."""
    table = RankTable(moments, ranks_over_time(rated, moments, **rules), is_settled=True)
    if rules.get("min_games") is None and rated.hindsight is None:
        table = _without_first_ratings(table, rows, [*labels])
    if rules.get("min_games") == 0:
        return table
    return _begin_when_many_are_listed(rated, table, labels, rules)


def _without_first_ratings(table: RankTable, rows: Participations, named: list[int]) -> RankTable:
    """The table without ranks before a player's tenth event, begun when half of those listed have had ten.

    Whoever has fewer events at the end has no settled rating to wait for.
    """
    num_moments, num_players = table.ranks.shape
    moment = np.searchsorted(table.moments, rows.end)
    count = np.bincount(moment * num_players + rows.player, minlength=(num_moments + 1) * num_players)
    played = count.reshape(num_moments + 1, num_players)[:num_moments].cumsum(axis=0)
    is_settled, is_listed = played >= PEAK_MIN_EVENTS, ~np.isnan(table.ranks)
    listed, settled = is_listed.sum(axis=1), (is_listed & is_settled).sum(axis=1)
    begin = int(np.argmax((settled > 0) & (2 * settled >= listed)))
    is_settled |= ~is_settled[-1]
    ranks = np.where(is_settled, table.ranks, np.nan)
    return RankTable(table.moments, ranks, bool(is_settled[begin:, named].all())).begin_at(begin)


def _begin_when_many_are_listed(
    rated: History, table: RankTable, labels: Mapping[int, str], rules: ListRules
) -> RankTable:
    """The table from when half of those who play are listed, or half as many as usual."""
    of_any_games: ListRules = {**rules, "min_games": 0}
    played = ranks_over_time(rated, table.moments, **of_any_games)
    listed, playing = (np.sum(~np.isnan(x), axis=1) for x in (table.ranks, played))
    begin = int(np.argmax((listed > 0) & ((2 * listed >= playing) | (2 * listed >= np.median(listed)))))
    for i, name in labels.items():
        if not np.isnan(table.ranks[:begin, i]).all() and np.isnan(table.ranks[begin:, i]).all():
            when = format_time(float(table.moments[begin]), rated.clock)
            raise ValueError(f"{name} is only listed before {when}, when few are; min_games=0 lists more")
    return table.begin_at(begin)


def _rank_line(name: str, at: HostArray, rank: HostArray, num_counted: int) -> Line:
    """The line of ranks [m] from the first to the last, with a note of those that count."""
    listed = np.flatnonzero(~np.isnan(rank))
    if not len(listed):
        raise ValueError(f"{name} is never listed; see active and min_games")
    drawn = slice(listed[0], listed[-1] + 1)
    return Line(name, at[drawn], rank[drawn], note=_describe_ranks(rank, num_counted))


def _unnamed_ranks(at: HostArray, ranks: HostArray) -> UnnamedPlayers:
    """The lines of ranks [n, m], or of very many their bands."""
    if len(ranks) > MAX_GREY_LINES:
        return quantile_bands(at, ranks)
    seen = np.where(is_isolated(ranks), np.nan, ranks)  # a line through one point is invisible
    return unnamed_lines(Line("", at, rank) for rank in seen)


def _title(ranks: HostArray, labels: Mapping[int, str], is_yearly: bool) -> str:
    """The finding of ranks [m, N] that count."""
    others_firsts = int((np.delete(ranks, [*labels], axis=1) == 1).sum(axis=0).max(initial=0))
    return ranks_title({name: ranks[:, i] for i, name in labels.items()}, len(ranks), others_firsts, is_yearly)


def _describe_ranks(rank: HostArray, num_counted: int) -> str:
    """How often a player was first, or their best rank, and the last one; of ranks [m], NaN where they have none.

    Only the first `num_counted` count.
    """
    firsts, best = int((rank[:num_counted] == 1).sum()), int(np.nanmin(rank))
    times = {1: "once", 2: "twice"}.get(firsts, f"{firsts:,} times")
    often = f"first {times}" if firsts else f"best {best:,}"
    return often if np.isnan(rank[-1]) else f"{often}, now {int(rank[-1]):,}"
