"""Plots of standings: leaderboards, fitted strengths, matrices of chances, distributions and odds."""

from typing import Any, Unpack

import numpy as np

from jaxrate.arena.rank_inference import MAX_RANKED, RankSets
from jaxrate.arena.rank_inference import rank_sets as find_rank_sets
from jaxrate.arena.strength_fit import Strengths
from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, rating_decimals
from jaxrate.forecasts.knockout_forecasts import matchup_matrix
from jaxrate.forecasts.season_simulation import SeasonForecast, TournamentForecast
from jaxrate.history.history import History, player_groups
from jaxrate.history.leaderboards import LeaderboardRules
from jaxrate.history.leaderboards import leaderboard as list_leaders
from jaxrate.history.ratings_at_times import ratings
from jaxrate.plots import plot_style as style
from jaxrate.plots.matplotlib_charts import show
from jaxrate.plots.plot_style import COLOURS, Backend, Canvas, format_plot_name, player_label, player_labels_by_id
from jaxrate.systems.system_titles import system_title
from jaxrate.views import findings
from jaxrate.views.charts import (
    MAX_WRITTEN_COLUMNS,
    Layer,
    LayerView,
    MatrixView,
    PictureText,
    RowView,
    Scale,
    half_widths,
    round_ticks,
    tight_scale,
)
from jaxrate.views.wording import PlayerOrTeamNoun, format_with_unit, rating_unit, spell_dates

DEFAULT_BINS = 60
MAX_MATRIX_PLAYERS = 200
CONTENDERS = PlayerOrTeamNoun("contender", "contenders")
FAVOURED_COLOURS = "blue: favoured, orange: not"
NAME_SHARE = 0.014  # of the width of a distribution, that a character of a name takes
NAME_LINE = 0.08  # of the height of the bars, from one line of names above them to the next


@enforce_argument_annotations
def leaderboard(rated: History, *, ax: Any = None, backend: Backend = "matplotlib", **options: Any) -> Any:
    """Plot the best players by rank and rating with 95% intervals; the line below the title tells who is listed.

        jr.plots.leaderboard(rated, top=10, min_games=20)

    Of groups that no chain of events joins, the first is drawn.

    Args:
      rated: a history, such as `jr.rate` and `jr.smooth` return.
      options: as for `jr.leaderboard`; at most 150 are drawn.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: as for `jr.leaderboard`, for more than 150 players, or for ratings that are not finite.
    """
    board = list_leaders(rated, **options)
    apart = "; players whom no chain of events joins to these are left out" * ("group" in board)
    board = board.first_group()
    style.check_drawable_count("players", len(board.player), 1, style.MAX_ROWS)
    labels = [format_plot_name(player) for player in board.player]
    for name, rating in zip(labels, board.rating, strict=True):
        style.check_ratings_finite(name, rating)
    deviation = board.get("deviation", np.zeros(len(labels)))
    half_width, interval = half_widths(deviation), ", with 95% intervals" * ("deviation" in board)
    named = labels[: 1 if options.get("cautious") else None]  # no lead of ratings whose certainty they contain
    cut = f" of the first {len(board.rank):,} of {board.num_listed:,}" * bool(len(board.rank) < board.num_listed)
    text = PictureText(
        findings.find_lead(named, board.rating, deviation, rating_unit(rated.system)),
        f"Ratings{cut} by {system_title(rated.system.name)}{interval}{_describe_listed_players(board.scope)}{apart}",
        style.rating_axis_label(rated.system), source=style.describe_source(rated),
    )  # fmt: skip
    values = format_ratings(board.rating, half_width)
    ends = board.rating - half_width, board.rating + half_width
    return show(RowView(text, labels, board.rating, *ends, values, board.rank.tolist()), ax=ax, backend=backend)


def format_ratings(values: HostArray, half_widths: HostArray) -> list[str]:
    """Ratings as text, with half the widths of their intervals if any of these is above 0."""
    digits, has_intervals = rating_decimals(values), bool(half_widths.any())
    pairs = zip(values, half_widths, strict=True)
    return [f"{format_decimals(x, digits)}{f' ± {half:,.{digits}f}' * has_intervals}" for x, half in pairs]


def _describe_listed_players(scope: str) -> str:
    """The end of a subtitle: who is on a leaderboard of this scope, if not everybody is."""
    listed = scope.partition("\n")[0].partition(" (")[0].replace(" players, who ", " who ")
    return f"; {spell_dates(listed)}" * (" who " in listed)


@enforce_argument_annotations
def matchups(
    rated: History,
    players: Any = None,
    *,
    time: Any = None,
    category: Any = None,
    ax: Any = None,
    backend: Backend = "matplotlib",
    **rules: Unpack[LeaderboardRules],
) -> Any:
    """Plot the expected score of each player, in rows, against each other one, in percent (a draw is half a win).

        jr.plots.matchups(rated, ["Ada", "Bo", "Cy"])

    A score of one half has no colour, and colours reach from 0 to 100. Nobody has a side advantage. Rows are in the
    order of the ratings. Pairs whom no chain of events joins are grey.

    Args:
      rated: a history, such as `jr.rate` returns.
      players: 2 to 200 players. For up to 20, numbers are written into the cells if they fit. None: the first 20 of
        `jr.leaderboard`.
      time: as of when, as for `forecasts.matchup_matrix`.
      category: what all meet, as for `forecasts.matchup_matrix`.
      ax: axes to draw into. None: those of a new figure.
      active, min_games, cautious: as for `jr.leaderboard`, if no players are given.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: as for `forecasts.matchup_matrix` and `jr.leaderboard`, for unknown players, or for rules of the
        list with players.
    """
    scope, count = "", 0
    if players is None:
        board = list_leaders(rated, top=len(rated.players), **rules).first_group()
        players, scope = board.player[:MAX_WRITTEN_COLUMNS], _describe_listed_players(board.scope)
        count = len(board.player)
    elif rules:
        raise ValueError(f"{', '.join(rules)}: players are given, and need no rules of a list")
    labels = player_labels_by_id(players, rated.players)
    style.check_drawable_count("players", len(labels), 2, MAX_MATRIX_PLAYERS)
    ids = np.array([*labels])
    order = np.argsort(-np.asarray(ratings(rated).mean)[ids], kind="stable")
    if category is not None and np.shape(category)[:1] == order.shape:
        category = np.asarray(category)[order]
    ids, groups = ids[order], player_groups(rated)
    percent = 100.0 * np.asarray(matchup_matrix(rated, players=ids, time=time, category=category), np.float64)
    np.fill_diagonal(percent, np.nan)
    percent[groups[ids][:, None] != groups[ids]] = np.nan
    has_side = bool(np.any(getattr(rated.system.params, "side_advantage", 0.0)))
    about = f", by {system_title(rated.system.name)}{', on neutral ground' * has_side}; {FAVOURED_COLOURS}{scope}"
    names, source = [labels[int(i)] for i in ids], style.describe_source(rated)
    return show(_expected_scores_view(names, percent, count or len(ids), about, source), ax=ax, backend=backend)


@enforce_argument_annotations
def distribution(
    rated: History,
    players: Any = (),
    *,
    bins: int | None = None,
    ax: Any = None,
    backend: Backend = "matplotlib",
    **options: Any,
) -> Any:
    """Plot the distribution of all players' ratings, with the median; chosen players are lines with their names.

        jr.plots.distribution(rated, ["Ada", "Bo"], min_games=10)

    Args:
      rated: a history, such as `jr.rate` and `jr.smooth` return.
      players: up to eight players, by name or by id.
      bins: number of bins of equal width. None: the finer of the rules of Sturges and of Freedman and Diaconis, numpy's
        "auto", and at most 60.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.
      options: as for `jr.leaderboard`; players who are listed there are counted.

    Raises:
      ValueError: as for `jr.leaderboard`, for players who are unknown or not listed, if nobody is listed, or if `bins`
        is below 1.
    """
    if bins is not None and bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    num_players = len(rated.players)
    board = list_leaders(rated, **options, top=num_players)
    style.check_drawable_count("players who are listed", len(board.rating), 1, num_players)
    labels = player_labels_by_id(players, rated.players)
    style.check_drawable_count("players with names", len(labels), 0, style.MAX_NAMED_LINES)
    rating_of = dict(zip(board.player.tolist(), board.rating.tolist(), strict=True))
    marked_ratings = {}
    for number, name in labels.items():
        if rated.players[number] not in rating_of:
            raise ValueError(f"{name} is not among the {len(rating_of):,} who are listed; see active and min_games")
        marked_ratings[name] = rating_of[rated.players[number]]
    low, high = np.quantile(board.rating, (0.25, 0.75)).tolist()
    ends = f"{format_with_unit(low, '')} and {format_with_unit(high, rating_unit(rated.system))}"
    text = PictureText(
        f"Half of {len(rating_of):,} ratings between {ends}",
        f"Bars: how many have a rating in each step, by {system_title(rated.system.name)}",
        style.rating_axis_label(rated.system), "number listed", style.describe_source(rated),
    )  # fmt: skip
    if bins is None:
        bins = min(len(np.histogram_bin_edges(board.rating, "auto")) - 1, DEFAULT_BINS)
    count, edges = np.histogram(board.rating, bins)
    bars = Layer(
        "boxes", edges[:-1], np.zeros(len(count)), edges[1:], count.astype(float), colour=COLOURS[4], opacity=0.6
    )
    marks = _marked_ratings(marked_ratings, float(np.median(board.rating)), edges, float(count.max()))
    ticks = [tick for tick in round_ticks(0.0, float(count.max()), 8) if tick == round(tick)]
    y = Scale(0.0, max(ticks[-1], *(float(np.max(mark.y)) for mark in marks)), ticks)
    return show(LayerView(text, [bars, *marks], tight_scale(edges), y, (7.0, 4.2)), ax=ax, backend=backend)


def _marked_ratings(rating_by_name: dict[str, float], median: float, edges: HostArray, height: float) -> list[Layer]:
    """A line for each player's rating and the median up to its name, which stands higher than those it would cross."""
    colours = zip(rating_by_name.items(), (*COLOURS, style.INK), strict=False)
    marks = [(x, name, colour, "-") for (name, x), colour in colours]
    taken: list[tuple[float, int]] = []  # where names begin, and their lines of text
    layers = []
    for value, name, colour, dash in sorted([(median, "median", style.GREY, ":"), *marks], reverse=True):
        end = value + NAME_SHARE * len(name) * float(edges[-1] - edges[0])
        line = max((number for begin, number in taken if begin <= end), default=-1) + 1
        taken.append((value, line))
        x, y = np.full(2, value), np.array([0.0, height * (1.05 + NAME_LINE * line)])
        layers += [Layer("line", x, y, colour=colour, width=1.2, dash=dash)]
        layers += [Layer("texts", x[1:], y[1:], values=[name], colour=colour)]
    return layers


@enforce_argument_annotations
def odds(simulation: TournamentForecast | SeasonForecast, *, top: int = 32, **canvas: Unpack[Canvas]) -> Any:
    """Plot how far each player may come in a tournament, or where each may end a season, in percent; the best first.

        jr.plots.odds(jr.forecasts.simulate_tournament(rated, {"knockout": ["Ada", "Bo", "Cy", "Di"]}))

    Args:
      simulation: a result of `jr.forecasts.simulate_tournament` or `jr.forecasts.simulate_season`.
      top: number of players, at most 150.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for another kind of result, or more than 150 players.
    """
    if isinstance(simulation, TournamentForecast):
        chances: dict[str, Any] = simulation.columns().drop_columns("player", "group")
        groups = [""] * len(simulation.player) if simulation.group is None else [f" ({x})" for x in simulation.group]
        quantity, last = "probability (%)", simulation.reach[:, -1]
        subtitle = "Percent of simulated tournaments in which each reaches the round"
    else:
        chances, groups = {str(i + 1): x for i, x in enumerate(simulation.place.T)}, [""] * len(simulation.player)
        quantity, last = "probability of the place (%)", simulation.place[:, 0]
        subtitle = "Percent of simulated seasons in which each ends at the place"
    labels = [f"{format_plot_name(name)}{group}" for name, group in zip(simulation.player, groups, strict=True)][:top]
    style.check_drawable_count("players", len(labels), 1, style.MAX_ROWS)
    percent = 100.0 * np.stack([*chances.values()], axis=1)[:top]
    is_decided = isinstance(simulation, SeasonForecast) and simulation.champion is not None
    title = findings.find_first_in_the_end([*map(format_plot_name, simulation.player)], last, is_decided=is_decided)
    text = PictureText(title, subtitle, source=f"{simulation.samples:,} simulations")
    return show(MatrixView(text, labels, [name.replace("_", " ") for name in chances], percent, quantity), **canvas)


@enforce_argument_annotations
def intervals(strengths: Strengths, *, top: int = style.MAX_ROWS, **canvas: Unpack[Canvas]) -> Any:
    """Plot the best players with 95% intervals of their ratings; anchors have none.

        plots.intervals(jr.arena.fit_strengths(votes))

    Players without a finite rating are left out.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      top: number of players, at most 150.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for more than 150 players, or if nobody has a finite rating.
    """
    order = findings.rated_ids(strengths)[:top]
    style.check_drawable_count("players with a finite rating", len(order), 1, style.MAX_ROWS)
    labels = [player_label(i, strengths.players) for i in order]
    rating = strengths.rating[order]
    half_width = np.nan_to_num(strengths.half_width[order])
    count, model = len(strengths.players), strengths.model.replace("_", "-").title()
    scope = "Ratings" if len(order) == count else f"The first {len(order):,} of {count:,}; ratings"
    title, rule = findings.find_lead(labels, rating, strengths.standard_error[order], "points"), ""
    if strengths.converged and strengths.covariance is not None and 1 < len(labels) <= count <= MAX_RANKED:
        title = _find_first_place(find_rank_sets(strengths))
        rule = "; who may be first: by rank sets, jointly at 95%"
    held = "; those without are held" * bool(strengths.is_anchor[order].any())
    subtitle = f"{scope} with 95% intervals, each by itself, by {model}{held}{rule}"
    text = PictureText(title, subtitle, "rating (points)", source=_describe_results(strengths))
    values = format_ratings(rating, half_width)
    return show(RowView(text, labels, rating, rating - half_width, rating + half_width, values), **canvas)


@enforce_argument_annotations
def rank_sets(ranks: RankSets, *, top: int = style.MAX_ROWS, **canvas: Unpack[Canvas]) -> Any:
    """Plot the ranks that each player may have as bars, which hold simultaneously; dots are the estimated ranks.

        plots.rank_sets(jr.arena.rank_sets(jr.arena.fit_strengths(votes)))

    Args:
      ranks: rank sets from `jr.arena.rank_sets`.
      top: number of the best players, at most 150. Players without a finite rating, who come last, may have any rank,
        and have no dot.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for more than 150 players.
    """
    order = _order_by_finite_rating(ranks)[:top]
    style.check_drawable_count("players", len(order), 1, style.MAX_ROWS)
    labels = [player_label(i, ranks.players) for i in order]
    least, greatest = ranks.least[order], ranks.greatest[order]
    text = PictureText(
        _find_first_place(ranks),
        f"All of these bars hold together with {100 * ranks.level:g}% confidence; dots are the estimated ranks",
        f"rank (simultaneous at {100 * ranks.level:g}%)", source=_describe_results(ranks),
    )  # fmt: skip
    rank = np.where(np.isfinite(ranks.rating[order]), np.arange(1.0, len(order) + 1.0), np.nan)
    values = [f"{x} to {y}" if x < y else f"{x}" for x, y in zip(least, greatest, strict=True)]
    return show(RowView(text, labels, rank, least, greatest, values, are_ranks=True), **canvas)


@enforce_argument_annotations
def win_matrix(strengths: Strengths, players: Any = None, **canvas: Unpack[Canvas]) -> Any:
    """Plot the expected score of each player, in rows, against each other one, in percent; a tie is half a win.

        plots.win_matrix(strengths, ["Ada", "Bo", "Cy"])

    An expected score of one half has no colour, and colours reach from 0 to 100. Rows are in the order of
    the ratings. Two players who cannot be compared have no number.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      players: 2 to 200 players, by name or by id. For up to 20, numbers are written into the cells if they fit. None:
        the first 20 who have a finite rating.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for unknown players, or fewer than two.
    """
    if players is None:
        rated = findings.rated_ids(strengths)
        labels_by_id = {int(i): player_label(i, strengths.players) for i in rated[:MAX_WRITTEN_COLUMNS]}
        count = len(rated)
    else:
        labels_by_id = player_labels_by_id(players, strengths.players)
        count = len(labels_by_id)
    style.check_drawable_count("players", len(labels_by_id), 2, MAX_MATRIX_PLAYERS)
    chosen = strengths.order[np.isin(strengths.order, [*labels_by_id])]
    labels, percent = [labels_by_id[int(i)] for i in chosen], strengths.expected_percentages(chosen)
    ties = "" if strengths.tie is None or strengths.model == "bradley_terry" else ", a tie as half a win"
    rules, source = f"{ties}; {FAVOURED_COLOURS}", _describe_results(strengths)
    return show(_expected_scores_view(labels, percent, count, rules, source), **canvas)


def _expected_scores_view(labels: list[str], percent: HostArray, count: int, rules: str, source: str) -> MatrixView:
    """The expected scores [n, n] of the first of `count` players; rules follow in the subtitle."""
    players = "each" if len(labels) == count else f"the first {len(labels):,} of {count:,}"
    title = findings.find_favourite(labels, percent, len(labels) < count)
    subtitle = f"Expected score in percent of {players}, in rows{rules}"
    text = PictureText(title, subtitle, "against", source=source)
    return MatrixView(text, labels, labels, percent, "expected score (%)", is_diverging=True)


def _find_first_place(ranks: RankSets) -> findings.Finding:
    """Who may be the first, by the labels of a picture."""
    leaders = [player_label(i, ranks.players) for i in _order_by_finite_rating(ranks) if ranks.least[i] == 1]
    return findings.find_leader_among(leaders, ranks.level, CONTENDERS)


def _order_by_finite_rating(ranks: RankSets) -> HostArray:
    """[N] ids, the best first; those without a finite rating last, as one who won once and never lost."""
    return np.argsort(-np.where(np.isfinite(ranks.rating), ranks.rating, -np.inf), kind="stable")


def _describe_results(result: Strengths | RankSets) -> str:
    return style.describe_counted_data(f"{result.votes:,.15g} results of {len(result.players):,} contenders")
