"""Seasons that are simulated: goals, standings and places.

A system predicts the score p of a match over all strengths that its players may have. In one season they have one
strength each. Let d be the difference of both from their means, in points, of variance s^2 = deviation_a^2 +
deviation_b^2, and c the points that make the odds e times as great. A match is then won with the chance
sigma(m + d / c), and

    sigma(kappa m) = p,    kappa = (1 + pi s^2 / (8 c^2))^(-1/2)

chooses m so that the mean over d is p (MacKay 1992, "The evidence framework applied to classification networks",
equation 10). The same equation, read of matches between the players, tells c. Draws divide it by Davidson's model, with
the odds of each match's own prediction, see `add_outcomes`. Of skills that learn from goals, the goals
themselves are drawn.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import MAX_SAMPLES, Key, check_count, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import join_names
from jaxrate.data.column_role_definitions import suggest_role_on_unknown_argument
from jaxrate.data.table_files import open_table_source
from jaxrate.events import matches
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.pairwise_probabilities import neutral_match_arguments
from jaxrate.forecasts.scorelines import replace_goal_prediction
from jaxrate.forecasts.upcoming_events import (
    FixtureOptions,
    PlayedResults,
    is_table,
    predict_fixtures,
    read_played_results,
    read_results_beside_fixtures,
    read_upcoming_events,
)
from jaxrate.history.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.history.event_columns import times_to_event_clock
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import advance_state_to_time, ratings
from jaxrate.replay.checked_replay import predict
from jaxrate.replay.execution import jit_for_short_runs
from jaxrate.systems.prediction_wrapping import (
    davidson_outcome_probabilities,
    expected_score_from_prediction,
    wrapper_names,
)
from jaxrate.systems.skills.goal_likelihoods import HALF_Q, GoalRateFactors, low_score_factor, rates_of_sides
from jaxrate.systems.skills.rules import predict_goal_rate_factors

MANY_GOALS = 60.0  # a rate from which on quantiles are those of an expansion
NEGLIGIBLE = 1e-9  # a chance below which no more goals are counted


class GoalSimulationMatches(NamedTuple):
    """Matches to be played in a simulation, between N teams with D numbers each."""

    player: Array  # [F, 2]
    factors: GoalRateFactors  # leaves [F], [F, 2, D]
    dispersion: Array | None  # deviation of the log of each rate that is the match's own; None: 0
    dependence: Array | None  # Dixon and Coles' rho; None: 0


def predicts_goals(system: RatingSystem) -> bool:
    """Whether predictions are those of goals: calibrated ones are no longer."""
    is_of_goals = replace_goal_prediction(system, predict_goal_rate_factors) is not None
    return is_of_goals and "calibrated" not in wrapper_names(system)


def build_goal_simulation_matches(
    system: RatingSystem, state: State, data: Dataset, player: HostArray
) -> GoalSimulationMatches:
    """The matches to simulate, at their times, between players who have the numbers [F, 2]."""
    inner: Any = replace_goal_prediction(system, predict_goal_rate_factors)
    factors: Any = predict(inner, state, data.matches, num_players=len(data.players))
    params, dtype = inner.params, factors.gap.dtype
    dispersion = None if params.goal_dispersion is None else jnp.asarray(2.0 * HALF_Q * params.goal_dispersion, dtype)
    dependence = None if params.low_score_dependence is None else jnp.asarray(params.low_score_dependence, dtype)
    return GoalSimulationMatches(jnp.asarray(np.asarray(player, np.int32)), factors, dispersion, dependence)


def choose_goal_matches(games: GoalSimulationMatches, index: Array) -> GoalSimulationMatches:
    """The matches with these numbers, each as often as it is listed."""
    return games._replace(player=games.player[index], factors=jax.tree.map(lambda x: x[index], games.factors))


def simulate_match_goals(key: Array, games: GoalSimulationMatches, num_players: int) -> Array:
    """[F, 2] goals of both sides in each match, between strengths and paces that are drawn once."""
    drawing, playing = jax.random.split(key)
    return simulate_goals(playing, games, sample_team_numbers(drawing, games, num_players))


def sample_team_numbers(key: Array, games: GoalSimulationMatches, num_players: int) -> Array:
    """[N, D] how far strengths and paces are from what is believed, in deviations."""
    return jax.random.normal(key, (num_players, games.factors.gap_weights.shape[-1]), games.factors.gap.dtype)


def simulate_goals(key: Array, games: GoalSimulationMatches, team_numbers: Array) -> Array:
    """[F, 2] goals of both sides in each match, between teams with these numbers [N, D].

    Poisson's goals become Dixon and Coles' where a scoreline is likelier than it should be: as often as the difference
    asks, the first side then has one goal in place of none, or none in place of one.
    """
    scattering, scoring, lowering = jax.random.split(key, 3)
    factors, normal = games.factors, team_numbers[games.player]
    gap, level = (
        mean + jnp.sum(weights * normal, axis=(-2, -1))
        for mean, weights in ((factors.gap, factors.gap_weights), (factors.level, factors.level_weights))
    )
    if games.dispersion is not None:
        first, second = games.dispersion * jax.random.normal(scattering, (2, *gap.shape), gap.dtype)
        gap, level = gap + 0.5 * (first - second), level + 0.5 * (first + second)
    rates = jnp.stack(rates_of_sides(gap, level))
    goals = poisson_quantile(jax.random.uniform(scoring, rates.shape, rates.dtype), rates)
    if games.dependence is not None:
        factor = low_score_factor(games.dependence, (goals[0], goals[1]), (rates[0], rates[1]))
        is_changed = jax.random.uniform(lowering, factor.shape, factor.dtype) < 1.0 - factor
        goals = goals.at[0].set(jnp.where(is_changed, 1.0 - goals[0], goals[0]))
    return goals.T


def poisson_quantile(probability: Array, rate: Array) -> Array:
    """[...] the least count with so high a cumulative probability (0 to 1), of Poisson's law of these rates.

    Chances are added up from 0 on, for all at once: `jax.random.poisson` takes several times as long. Of high rates it
    is Cornish and Fisher's expansion (1938), whose chances are right to about 0.001.
    """

    def is_below(carry: tuple[Array, Array, Array]) -> Array:
        count, chance, below = carry
        return (below < probability) & ((chance > NEGLIGIBLE) | (count < rate)) & (rate < MANY_GOALS)

    def count_one_more(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        going, (count, chance, below) = is_below(carry), carry
        next_chance = chance * rate / (count + 1.0)
        return (
            jnp.where(going, count + 1.0, count),
            jnp.where(going, next_chance, chance),
            jnp.where(going, below + next_chance, below),
        )

    none = jnp.exp(-rate)
    few = jax.lax.while_loop(lambda x: jnp.any(is_below(x)), count_one_more, (jnp.zeros_like(rate), none, none))[0]
    z = jax.scipy.special.ndtri(jnp.clip(probability, 1e-7, 1.0 - 1e-7))
    many = jnp.maximum(jnp.floor(rate + jnp.sqrt(rate) * z + (z * z - 1.0) / 6.0 + 0.5), 0.0)
    return jnp.where(rate < MANY_GOALS, few, many)


TIE_BREAKS = "wins", "head_to_head"
GOAL_TIE_BREAKS = "goal_difference", "goals", "head_to_head"


def check_tie_breaks(ties: tuple[str, ...], has_goals: bool) -> None:
    """ValueError for a tie-break that there is not, or that needs goals."""
    tie_breaks = (*TIE_BREAKS, *(x for x in GOAL_TIE_BREAKS if x not in TIE_BREAKS))
    for name in ties:
        if name not in tie_breaks:
            raise ValueError(f"no tie-break {name!r}; there are {join_names(tie_breaks)}")
        if name not in TIE_BREAKS and not has_goals:
            raise ValueError(f"the tie-break {name!r} needs goals: rate with jr.skills('goals', margin=...)")


class PlayedTables(NamedTuple):
    """The wins, draws and goals of N players so far."""

    won: Any  # [N, N] against each other player
    drawn: Any  # [N, N]
    goals: Any  # [N, 2] scored and conceded; 0 where goals are not known


def tabulate_results(past: PlayedResults, index_of_name: Mapping[Any, int]) -> PlayedTables:
    """The tables of these matches."""
    n = len(index_of_name)
    won, drawn, goals = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, 2))
    a, b = name_indices(index_of_name, past.names).T
    np.add.at(won, (a, b), past.score == 1.0)
    np.add.at(won, (b, a), past.score == 0.0)
    np.add.at(drawn, (a, b), past.score == 0.5)
    np.add.at(drawn, (b, a), past.score == 0.5)
    if past.goals is not None:
        np.add.at(goals, a, past.goals)
        np.add.at(goals, b, past.goals[:, ::-1])
    return PlayedTables(won, drawn, goals)


def name_indices(index_of_name: Mapping[Any, int], names: HostArray) -> HostArray:
    """[n, 2] the numbers of names [n, 2]."""
    return np.array([[index_of_name[x] for x in pair] for pair in names.tolist()], np.int32).reshape(-1, 2)


def rank_by_points(
    key: Array,
    won: Array,
    drawn: Array,
    points: tuple[float, ...],
    ties: tuple[str, ...],
    group: Array | None = None,
    goals: Array | None = None,
) -> tuple[Array, Array]:
    """The order [N], best first, and the points [N], from wins and draws [N, N] against each other player.

    With groups [N], players of the first group come first, and so on. Goals are those scored and conceded, [N, 2].
    """
    win, draw, loss = points
    points_by_pair = win * won + draw * drawn + loss * won.T
    total = points_by_pair.sum(axis=1)
    lots = jax.random.uniform(key, total.shape, total.dtype)
    keys = [total] if group is None else [-group.astype(total.dtype), total]
    for tie in ties:
        if tie == "wins":
            keys.append(won.sum(axis=1))
        elif tie == "head_to_head":
            is_tied = jnp.all(jnp.stack([x[:, None] == x[None, :] for x in keys]), axis=0)
            keys.append(jnp.where(is_tied, points_by_pair, 0.0).sum(axis=1))
        elif goals is not None:
            keys.append(goals[:, 0] - goals[:, 1] if tie == "goal_difference" else goals[:, 0])
    return jnp.lexsort([-lots, *(-x for x in reversed(keys))]), total


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


@suggest_role_on_unknown_argument
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
    **options: Unpack[FixtureOptions],
) -> SeasonForecast:
    """How a season may end: its remaining matches, played many times.

        jr.forecasts.simulate_season(rated, "to_come.csv", results="so_far.csv", relegated=3)

    In each simulated season everybody has a strength drawn from their rating and its deviation, and keeps it in all
    matches. In systems without deviations the strength is the rating. Over all seasons the chances of each match are
    those of `predict_fixtures`. With skills that learn from goals, each match has a score, and teams have a pace as
    well.

    Args:
      rated: as from `rate` or `load`, up to now.
      coming, options, newcomers: the matches to come, as in `predict_fixtures`.
      results: the matches of this season that have been played, with scores, as `read` takes them. None: those of the
        table of matches to come that have a result, and of the same season where a column names seasons.
      points: points for a win, a draw and a loss.
      ties: what decides among equals on points: wins, head_to_head, goal_difference or goals. "head_to_head" has the
        points from matches among those who are equal so far; "goal_difference" and "goals", those scored, need goals.
        The lot decides what is left. None: wins, then head_to_head; if goals are known goal_difference, goals,
        head_to_head.
      relegated: number relegated, at the end of the table.
      samples: number of simulations. A probability p has the standard error sqrt(p (1 - p) / samples).
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
    system, data = read_upcoming_events(rated, coming, newcomers, options)
    pair_names = data.players[data.matches.player]
    if results is None:
        past = read_results_beside_fixtures(rated, coming, data, newcomers, options, has_goals)
    else:
        past = read_played_results(rated, results, newcomers, options, has_goals)
    names = list(dict.fromkeys([*past.names.ravel(), *pair_names.T.ravel()]))
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
    tables = jax.tree.map(lambda x: jnp.asarray(x, float), played)
    sums = _simulate_seasons(key, games, tables, tuple(map(float, points)), ties, samples, size)
    total, place, goals = (np.asarray(x, np.float64) / samples for x in sums)
    goal_difference = goals[:, 0] - goals[:, 1]
    win, draw, loss = points
    points_so_far = win * played.won.sum(axis=1) + draw * played.drawn.sum(axis=1) + loss * played.won.sum(axis=0)
    best = np.lexsort([-goal_difference, -total])
    games_so_far = (played.won + played.drawn + played.won.T).sum(axis=1).astype(int)
    return SeasonForecast(
        np.array(names, rated.players.dtype)[best],
        games_so_far[best],
        points_so_far[best],
        total[best],
        place[best],
        samples,
        relegated,
        goal_difference[best] if has_goals else None,
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
