"""Season simulation: the remaining matches played many times, with strengths drawn once each time.

A system predicts the score p of a match over all strengths that its players may have. In one season they have one
strength each. Let d be the difference of both from their means, in points, of variance s^2 = deviation_a^2 +
deviation_b^2, and c the points that make the odds e times as great. A match is then won with the chance
sigma(m + d / c), and

    sigma(kappa m) = p,    kappa = (1 + pi s^2 / (8 c^2))^(-1/2)

chooses m so that the mean over d is p (MacKay 1992, "The evidence framework applied to classification networks",
equation 10). The same equation, read of matches between the players, tells c. Draws divide it by Davidson's model, with
the odds of each match's own prediction, see `add_outcomes`. Of skills that learn from goals, the goals themselves are
drawn, see goal_simulation.py.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import MAX_SAMPLES, Key, check_count, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.data.source_opening import open_table_source
from jaxrate.events import matches
from jaxrate.forecasts.goal_simulation import (
    GoalSimulationMatches,
    build_goal_simulation_matches,
    predicts_goals,
    simulate_match_goals,
)
from jaxrate.forecasts.pairwise_probabilities import neutral_match_arguments
from jaxrate.forecasts.season_standings import (
    GOAL_TIE_BREAKS,
    TIE_BREAKS,
    PlayedTables,
    check_tie_breaks,
    name_indices,
    rank_by_points,
    tabulate_results,
)
from jaxrate.forecasts.upcoming_event_reading import (
    is_table,
    read_played_results,
    read_results_beside_fixtures,
    read_upcoming_events,
)
from jaxrate.forecasts.upcoming_events import predict_fixtures
from jaxrate.history.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.history.event_columns import times_to_event_clock
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import advance_state_to_time, ratings
from jaxrate.replay.event_prediction import predict
from jaxrate.replay.execution import jit_for_short_runs
from jaxrate.systems.outcome_prediction_forms import davidson_outcome_probabilities, expected_score_from_prediction

PROBE_PAIRS = 2_000  # pairs of players from which the worth of a point is estimated
CHUNK_NUMBERS = 1 << 22  # numbers, about, of the seasons simulated together
MIN_PROBABILITY = 1e-6  # least probability


class SimulationMatches(NamedTuple):
    """Matches to be played in a simulation, between N players."""

    player: Array  # [F, 2]
    logit: Array  # [F] of the first to win, a draw half a win, between the mean strengths
    odds: Array  # [F] of a draw between equals
    strength_deviation: Array  # [N] deviations of strengths, in log-odds


class SeasonForecast(NamedTuple):
    """Expected points and probabilities of places. `print` shows a table, the best first."""

    player: HostArray  # [N] best first, by expected points
    played: HostArray  # [N] matches so far
    points: HostArray  # [N] so far
    expected: HostArray  # [N] points in the end, on average
    place: HostArray  # [N, N] the probability of each place, the first to the last
    samples: int
    relegated: int
    goal_difference: HostArray | None = None  # [N] in the end, on average; None: goals are not known
    champion: HostArray | None = None  # [N] who has more points than all others can get; None: nobody yet

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table, with the probabilities to win, to be among the first four, and to be relegated."""
        n = len(self.player)
        columns: dict[str, Any] = {"player": self.player, "played": self.played, "points": self.points}
        columns |= {"expected_points": self.expected}
        if self.goal_difference is not None:
            columns["goal_difference"] = self.goal_difference
        columns["win"] = self.place[:, 0]
        if self.champion is not None:
            columns["champion"] = self.champion
        if n > 8:
            columns["top_4"] = self.place[:, :4].sum(axis=1)
        if self.relegated:
            columns["relegated"] = self.place[:, n - self.relegated :].sum(axis=1)
        return ColumnTable(columns)

    def __str__(self) -> str:
        return f"{self.columns()}\n{self.samples:,} seasons"

    def _repr_html_(self) -> str:
        return f"{self.columns()._repr_html_()}<p>{self.samples:,} seasons</p>"


@enforce_argument_annotations
def simulate_season(
    rated: History,
    coming: Any,
    *,
    results: Any = None,
    points: tuple[float, float, float] = (3.0, 1.0, 0.0),
    ties: tuple[str, ...] | None = None,
    relegated: int = 0,
    samples: int = 10_000,
    key: Key | None = None,
    newcomers: bool = False,
    **columns: Any,
) -> SeasonForecast:
    """How a season may end: its remaining matches, played many times.

        jr.forecasts.simulate_season(rated, "to_come.csv", results="so_far.csv", relegated=3)

    In each simulated season everybody has a strength drawn from their rating and its deviation, and keeps it in all
    matches. In systems without deviations the strength is the rating. Over all seasons the chances of each match are
    those of `predict_fixtures`. With skills that learn from goals, each match has a score, and teams have a pace as
    well.

    Args:
      rated: as from `rate` or `load`, up to now.
      coming, columns, newcomers: the matches to come, as in `predict_fixtures`.
      results: the matches of this season that have been played, with scores, as `read` takes them. None: those of the
        table of matches to come that have a result, and of the same season where a column names seasons.
      points: for a win, a draw and a loss.
      ties: what decides among equals on points, in this order: "wins"; "head_to_head", the points from matches among
        those who are equal so far; and, if goals are known, "goal_difference" and "goals", those scored. The lot
        decides what is left. None: wins and head to head; if goals are known, goal difference, goals and head to head.
      relegated: the number of players at the end of the table who go down.
      samples: the number of simulated seasons. A probability p has the standard error sqrt(p (1 - p) / samples).
      key: a PRNG key. None: always the same one.

    Raises:
      ValueError: if there is nothing to play, for contests, a tie-break that there is not, more to be relegated than
        there are players, or as `predict_fixtures`.
    """
    if rated.contests is not None:
        raise ValueError("a season is of matches of two, and this history is of contests")
    has_goals = predicts_goals(rated.system)
    ties = (GOAL_TIE_BREAKS if has_goals else TIE_BREAKS) if ties is None else ties
    check_tie_breaks(ties, has_goals)
    check_count("samples", samples, 1, MAX_SAMPLES)
    if is_table(coming):
        coming = open_table_source(coming)
    system, data = read_upcoming_events(rated, coming, newcomers, columns.pop("time", None), columns)
    pair_names = data.players[data.matches.player]
    if results is None:
        past = read_results_beside_fixtures(rated, coming, data, newcomers, columns, has_goals)
    else:
        past = read_played_results(rated, results, newcomers, columns, has_goals)
    names = list(dict.fromkeys([*([] if past is None else past.names.ravel()), *pair_names.T.ravel()]))
    if not 0 <= relegated < len(names):
        raise ValueError(f"relegated must be from 0 to {len(names) - 1}, got {relegated}")
    index_of_name = {name: i for i, name in enumerate(names)}
    player = name_indices(index_of_name, pair_names)
    games: Any = (
        build_goal_simulation_matches(system, rated.state, data, player)
        if has_goals
        else build_simulation_matches(rated, names, player, predict_fixtures(rated, data, newcomers=newcomers))
    )
    played = tabulate_results(past, index_of_name)
    key = jax.random.key(0) if key is None else key
    size = max(1, min(samples, CHUNK_NUMBERS // (len(names) ** 2 + len(player))))
    sums = _simulate_seasons(
        key,
        games,
        jax.tree.map(lambda x: jnp.asarray(x, float), played),
        tuple(map(float, points)),
        ties,
        samples,
        size,
    )
    total, place, goals = (np.asarray(x, np.float64) / samples for x in sums)
    win, draw, loss = points
    points_so_far = win * played.won.sum(axis=1) + draw * played.drawn.sum(axis=1) + loss * played.won.sum(axis=0)
    best = np.lexsort([-(goals[:, 0] - goals[:, 1]), -total]) if has_goals else np.argsort(-total, kind="stable")
    games_so_far = (played.won + played.drawn + played.won.T).sum(axis=1).astype(int)
    return SeasonForecast(
        np.array(names, rated.players.dtype)[best],
        games_so_far[best],
        points_so_far[best],
        total[best],
        place[best],
        samples,
        relegated,
        (goals[:, 0] - goals[:, 1])[best] if has_goals else None,
        _certain_champion(points_so_far[best], np.bincount(player.ravel(), minlength=len(names))[best], points),
    )


def _certain_champion(points_so_far: HostArray, remaining: HostArray, points: tuple[float, ...]) -> HostArray | None:
    """[N] who has more points, whatever happens in the remaining matches [N] of each, than all others; None: nobody."""
    least, most = points_so_far + min(points) * remaining, points_so_far + max(points) * remaining
    leader = int(np.argmax(least))
    if len(most) < 2 or least[leader] <= np.delete(most, leader).max():
        return None
    return np.arange(len(most)) == leader


def build_simulation_matches(rated: History, names: list[Any], player: HostArray, forecasts: Any) -> SimulationMatches:
    """The matches to simulate, from forecasts of fixtures between players of these names."""
    id_of_name = {name: i for i, name in enumerate(rated.players.tolist())}
    ids = np.array([id_of_name.get(name, -1) for name in names])
    last_time = float(times_to_event_clock(forecasts["time"]).max()) if "time" in forecasts else None
    params = rated.system.params
    ratings_then = rated.system.summary(params, advance_state_to_time(rated.system, rated.state, last_time, params))
    newcomer_ratings = rated.system.summary(params, rated.system.init(params, 1))
    deviation = np.zeros(len(names))
    if ratings_then.deviation is not None and newcomer_ratings.deviation is not None:
        deviation = np.where(
            ids < 0, float(np.asarray(newcomer_ratings.deviation)[0]), np.asarray(ratings_then.deviation)[ids]
        )
    point = rating_points_per_logit(rated, ids[ids >= 0])
    spread = deviation / point
    expected = np.clip(np.asarray(forecasts["expected"], np.float64), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    pair_variance = (spread[player] ** 2).sum(axis=1)
    logit = np.log(expected / (1 - expected)) * np.sqrt(1 + np.pi * pair_variance / 8)
    odds = np.full(len(player), 1e-9)
    if "draw" in forecasts:
        win, draw, loss = (
            np.clip(np.asarray(forecasts[x], np.float64), MIN_PROBABILITY, 1.0) for x in ("win", "draw", "loss")
        )
        odds = draw / np.sqrt(win * loss)
    return SimulationMatches(jnp.asarray(player), *(jnp.asarray(x, float) for x in (logit, odds, spread)))


def rating_points_per_logit(rated: History, ids: HostArray) -> float:
    """The rating points that make the odds e times as great, by predictions of matches among these players."""
    current_ratings, random = ratings(rated), np.random.default_rng(0)
    mean = np.asarray(current_ratings.mean, np.float64)
    ids = ids if len(np.unique(mean[ids])) > 1 else np.arange(len(mean))
    pair = ids[random.integers(0, len(ids), (PROBE_PAIRS, 2))]
    pair_means = mean[pair]
    pair = pair[pair_means[:, 0] != pair_means[:, 1]]
    if not len(pair):
        return 400.0 / np.log(10.0)
    last = 0.0 if rated.last is None else rated.last
    category = None if rated.categories is None else np.zeros((len(pair), 2), int)
    neutral = neutral_match_arguments(rated.system, len(pair))
    events = matches(pair, np.full(len(pair), 0.5), np.full(len(pair), last), category=category, **neutral)
    probability = np.clip(
        np.asarray(expected_score_from_prediction(predict(rated.system, rated.state, events)), np.float64),
        MIN_PROBABILITY,
        1 - MIN_PROBABILITY,
    )
    logit, rating_difference = np.log(probability / (1 - probability)), mean[pair[:, 0]] - mean[pair[:, 1]]
    squared_points = (np.abs(rating_difference) / np.maximum(np.abs(logit), 1e-9)) ** 2
    if current_ratings.deviation is not None:
        deviation = np.asarray(current_ratings.deviation, np.float64)
        squared_points = squared_points - np.pi / 8 * (deviation[pair] ** 2).sum(axis=1)
    weight = np.abs(logit)  # those far apart tell most
    order = np.argsort(squared_points)
    median_index = order[np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]
    return float(np.sqrt(max(squared_points[median_index], (0.1 * np.std(rating_difference)) ** 2)))


def simulate_season_scores(key: Array, games: SimulationMatches) -> Array:
    """[F] scores 1, 1/2 or 0 of each match, between strengths that are drawn once."""
    drawing, playing = jax.random.split(key)
    return simulate_match_scores(playing, games, sample_strength_errors(drawing, games.strength_deviation))


def sample_strength_errors(key: Array, deviation: Array) -> Array:
    """[N] random differences of strengths from their means, in log-odds."""
    return deviation * jax.random.normal(key, deviation.shape, deviation.dtype)


def simulate_match_scores(key: Array, games: SimulationMatches, strength: Array) -> Array:
    """[F] random scores 1, 1/2 or 0 of each match between players of these strengths."""
    first_strength, second_strength = strength[games.player].T
    outcome = davidson_outcome_probabilities(jax.nn.sigmoid(games.logit + first_strength - second_strength), games.odds)
    uniforms = jax.random.uniform(key, games.logit.shape, games.logit.dtype)
    win, draw = outcome.win[:, 0], outcome.draw[:, 0]
    return jnp.where(uniforms < win, 1.0, jnp.where(uniforms < win + draw, 0.5, 0.0))


@jit_for_short_runs(3, 4, 5, 6)
def _simulate_seasons(
    key: Array, games: SimulationMatches | GoalSimulationMatches, played: PlayedTables, points: Any, ties: Any,
    samples: int, size: int,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Sums over all seasons of points [N], of places [N, N] and of goals scored and conceded [N, 2]."""
    a, b = games.player.T
    n, dtype = len(played.won), played.won.dtype

    def simulate_one(season_index: Array) -> tuple[Array, Array, Array]:
        playing, drawing = jax.random.split(jax.random.fold_in(key, season_index))
        goals = played.goals
        if isinstance(games, GoalSimulationMatches):
            scored = simulate_match_goals(playing, games, n).astype(dtype)
            goals = goals.at[a].add(scored).at[b].add(scored[:, ::-1])
            score = 0.5 + 0.5 * jnp.sign(scored[:, 0] - scored[:, 1])
        else:
            score = simulate_season_scores(playing, games)
        first, second, is_drawn = (jnp.where(score == x, 1.0, 0.0).astype(dtype) for x in (1.0, 0.0, 0.5))
        won_then = played.won.at[a, b].add(first).at[b, a].add(second)
        drawn_then = played.drawn.at[a, b].add(is_drawn).at[b, a].add(is_drawn)
        order, total = rank_by_points(drawing, won_then, drawn_then, points, ties, goals=goals)
        is_counted = (season_index < samples).astype(dtype)
        return is_counted * total, is_counted * jax.nn.one_hot(order, n, dtype=dtype).T, is_counted * goals

    def add_chunk(carry: Any, first_index: Array) -> tuple[Any, None]:
        chunk = jax.vmap(simulate_one)(first_index + jnp.arange(size, dtype=jnp.int32))
        return jax.tree.map(lambda x, y: x + y.sum(axis=0), carry, chunk), None

    zeros = jnp.zeros(n, dtype), jnp.zeros((n, n), dtype), jnp.zeros((n, 2), dtype)
    return jax.lax.scan(add_chunk, zeros, jnp.arange(0, samples, size, dtype=jnp.int32))[0]
