"""Seasons and tournaments that are simulated: goals, standings, places, and knock-outs.

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

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, combinations, filterfalse
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import (
    MAX_SAMPLES,
    ArgumentRequirement,
    FilePath,
    Key,
    check_argument,
    check_count,
    check_that,
    enforce_argument_annotations,
    is_list,
)
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_value_for_error, join_names
from jaxrate.data.table_files import open_table_source
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.draw_probabilities import add_draw_probabilities_if_needed
from jaxrate.forecasts.knockout_forecasts import CHUNK_NUMBERS, play_knockout, sum_over_samples
from jaxrate.forecasts.pairwise_probabilities import predict_neutral_matches
from jaxrate.forecasts.scorelines import predicts_goals, replace_skills_prediction
from jaxrate.forecasts.upcoming_events import (
    FixtureOptions,
    forecast_matches,
    is_table,
    read_season_results,
    read_upcoming_events,
)
from jaxrate.history.column_table import ColumnTable, PrintedResult
from jaxrate.history.event_columns import times_to_event_clock
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import advance_state_to_time, ratings
from jaxrate.replay.checked_replay import predict
from jaxrate.replay.execution import jit_for_short_runs
from jaxrate.systems.prediction_wrapping import (
    davidson_outcome_probabilities,
    expected_score_from_prediction,
)
from jaxrate.systems.skills.goal_likelihoods import HALF_Q, GoalRateFactors, low_score_factor, rates_of_sides
from jaxrate.systems.skills.rules import predict_goal_rate_factors

MANY_GOALS = 60.0  # a rate from which on quantiles are those of an expansion
NEGLIGIBLE = 1e-9  # a chance below which no more goals are counted


class GoalSimulationMatches(NamedTuple):
    """Matches to be played in a simulation, between teams with D numbers each, of which goals are drawn."""

    player: Array  # [F, 2]
    factors: GoalRateFactors  # leaves [F], [F, 2, D]
    dispersion: Array | None  # deviation of the log of each rate that is the match's own; None: 0
    dependence: Array | None  # Dixon and Coles' rho; None: 0

    @property
    def dtype(self) -> Any:
        """The type of random numbers."""
        return self.factors.gap.dtype

    def select(self, index: Array) -> "GoalSimulationMatches":
        """The matches with these numbers, each as often as it is listed."""
        return self._replace(player=self.player[index], factors=jax.tree.map(lambda x: x[index], self.factors))

    def draw_strengths(self, key: Array, num_players: int) -> Array:
        """[N, D] how far strengths and paces are from what is believed, in deviations."""
        return jax.random.normal(key, (num_players, self.factors.gap_weights.shape[-1]), self.dtype)

    def play(self, key: Array, strengths: Array) -> tuple[Array, Array]:
        """[F] scores of each match, and [F, 2] goals of both sides, between teams with these numbers [N, D].

        Poisson's goals become Dixon and Coles' where a scoreline is likelier than it should be: as often as the
        difference asks, the first side then has one goal in place of none, or none in place of one.
        """
        scattering, scoring, lowering = jax.random.split(key, 3)
        factors, normal = self.factors, strengths[self.player]
        gap = factors.gap + jnp.sum(factors.gap_weights * normal, axis=(-2, -1))
        level = factors.level + jnp.sum(factors.level_weights * normal, axis=(-2, -1))
        if self.dispersion is not None:
            first, second = self.dispersion * jax.random.normal(scattering, (2, *gap.shape), gap.dtype)
            gap, level = gap + 0.5 * (first - second), level + 0.5 * (first + second)
        rates = jnp.stack(rates_of_sides(gap, level))
        goals = poisson_quantile(jax.random.uniform(scoring, rates.shape, rates.dtype), rates)
        if self.dependence is not None:
            factor = low_score_factor(self.dependence, (goals[0], goals[1]), (rates[0], rates[1]))
            is_changed = jax.random.uniform(lowering, factor.shape, factor.dtype) < 1.0 - factor
            goals = goals.at[0].set(jnp.where(is_changed, 1.0 - goals[0], goals[0]))
        return 0.5 + 0.5 * jnp.sign(goals[0] - goals[1]), goals.T

    def decide(self, key: Array, strengths: Array) -> Array:
        """[F] the chance of the first to go on, once the goals are drawn: 1, 0, or one half of a draw."""
        return self.play(key, strengths)[0]


class ScoreSimulationMatches(NamedTuple):
    """Matches to be played in a simulation, between N players, of which wins, draws and losses are drawn."""

    player: Array  # [F, 2]
    logit: Array  # [F] of the first to win, a draw half a win, between the mean strengths
    odds: Array  # [F] of a draw between equals
    strength_deviation: Array  # [N] deviations of strengths, in log-odds

    @property
    def dtype(self) -> Any:
        """The type of random numbers."""
        return self.logit.dtype

    def select(self, index: Array) -> "ScoreSimulationMatches":
        """The matches with these numbers, each as often as it is listed."""
        return self._replace(player=self.player[index], logit=self.logit[index], odds=self.odds[index])

    def draw_strengths(self, key: Array, num_players: int) -> Array:
        """[N] random differences of strengths from their means, in log-odds."""
        return self.strength_deviation * jax.random.normal(key, (num_players,), self.strength_deviation.dtype)

    def play(self, key: Array, strengths: Array) -> tuple[Array, Array]:
        """[F] random scores 1, 1/2 or 0 of each match between players of these strengths [N]; no goals [F, 2]."""
        outcome = davidson_outcome_probabilities(self.decide(key, strengths), self.odds)
        uniforms = jax.random.uniform(key, self.logit.shape, self.dtype)
        win, draw = outcome.win[:, 0], outcome.draw[:, 0]
        score = jnp.where(uniforms < win, 1.0, jnp.where(uniforms < win + draw, 0.5, 0.0))
        return score, jnp.zeros(self.player.shape, self.dtype)

    def decide(self, key: Array, strengths: Array) -> Array:
        """[F] the chance of the first to go on, between players of these strengths [N]."""
        del key
        first, second = strengths[self.player].T
        return jax.nn.sigmoid(self.logit + first - second)


SimulationMatches = GoalSimulationMatches | ScoreSimulationMatches


def build_simulation_matches(
    rated: History, system: RatingSystem, data: Dataset, names: list[Any], player: HostArray
) -> SimulationMatches:
    """The matches to simulate, of events to come between players who have these numbers [F, 2] among the names."""
    if not predicts_goals(rated.system):
        forecasts = forecast_matches(rated, add_draw_probabilities_if_needed(rated, system), data)
        return build_score_matches(rated, names, player, forecasts)
    inner: Any = replace_skills_prediction(system, "goals", predict_goal_rate_factors)
    factors: Any = predict(inner, rated.state, data.matches, num_players=len(data.players))
    params, dtype = inner.params, factors.gap.dtype
    dispersion = None if params.goal_dispersion is None else jnp.asarray(2.0 * HALF_Q * params.goal_dispersion, dtype)
    dependence = None if params.low_score_dependence is None else jnp.asarray(params.low_score_dependence, dtype)
    return GoalSimulationMatches(jnp.asarray(player), factors, dispersion, dependence)


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
        after = count + 1.0, next_chance, below + next_chance
        return jax.tree.map(lambda x, y: jnp.where(going, x, y), after, carry)

    none = jnp.exp(-rate)
    few = jax.lax.while_loop(lambda x: jnp.any(is_below(x)), count_one_more, (jnp.zeros_like(rate), none, none))[0]
    z = jax.scipy.special.ndtri(jnp.clip(probability, 1e-7, 1.0 - 1e-7))
    many = jnp.maximum(jnp.floor(rate + jnp.sqrt(rate) * z + (z * z - 1.0) / 6.0 + 0.5), 0.0)
    return jnp.where(rate < MANY_GOALS, few, many)


TIE_BREAKS = "wins", "head_to_head"
GOAL_TIE_BREAKS = "goal_difference", "goals", "head_to_head"


def check_standing_rules(points: tuple[float, ...], ties: tuple[str, ...], has_goals: bool) -> None:
    """ValueError for points that are not finite, or a tie-break that there is not, or that needs goals."""
    if not np.isfinite(points).all():
        raise ValueError(f"points must be finite numbers, got {format_value_for_error(points)}")
    tie_breaks = dict.fromkeys((*TIE_BREAKS, *GOAL_TIE_BREAKS))
    for name in filterfalse(TIE_BREAKS.__contains__, ties):
        if name not in tie_breaks:
            raise ValueError(f"no tie-break {name!r}; there are {join_names(tie_breaks)}")
        check_that(has_goals, f"the tie-break {name!r} needs goals: rate with jr.skills(observe=jr.parts.goals(...))")


class Standings(NamedTuple):
    """The wins, draws and goals of N players."""

    won: Any  # [N, N] against each other player
    drawn: Any  # [N, N]
    goals: Any  # [N, 2] scored and conceded; 0 where goals are not known

    @classmethod
    def empty(cls, num_players: int, dtype: Any) -> "Standings":
        """The standings before the first match."""
        square = jnp.zeros((num_players, num_players), dtype)
        return cls(square, square, square[:, :1].repeat(2, axis=1))

    def add(self, player: Any, score: Any, goals: Any) -> "Standings":
        """The standings after matches of players [F, 2], with scores [F] of the first and goals [F, 2] of both."""
        a, b = player.T
        win, draw, loss = ((score == x).astype(self.won.dtype) for x in (1.0, 0.5, 0.0))
        goals = goals.astype(self.won.dtype)
        return Standings(
            self.won.at[a, b].add(win).at[b, a].add(loss),
            self.drawn.at[a, b].add(draw).at[b, a].add(draw),
            self.goals.at[a].add(goals).at[b].add(goals[:, ::-1]),
        )

    def count_points(self, points: tuple[float, ...]) -> Any:
        """[N, N] points of each player against each other one, with these for a win, a draw and a loss."""
        win, draw, loss = points
        return win * self.won + draw * self.drawn + loss * self.won.T


def rank_by_points(
    key: Array, standings: Standings, points: tuple[float, ...], ties: tuple[str, ...], group: Array | None = None
) -> tuple[Array, Array]:
    """The order [N] by points, then by the criteria `ties`, then by lots of the key; and the points [N].

    With groups [N], players of the first group come first.
    """
    points_by_pair, goals = standings.count_points(points), standings.goals
    total = points_by_pair.sum(axis=1)
    lots = jax.random.uniform(key, total.shape, total.dtype)
    criteria = {"wins": standings.won.sum(axis=1), "goals": goals[:, 0], "goal_difference": goals[:, 0] - goals[:, 1]}
    keys = [total] if group is None else [-group.astype(total.dtype), total]
    for tie in ties:
        is_tied = jnp.all(jnp.stack([x[:, None] == x[None, :] for x in keys]), axis=0)
        head_to_head = jnp.where(is_tied, points_by_pair, 0.0).sum(axis=1)
        keys.append(head_to_head if tie == "head_to_head" else criteria[tie])
    return jnp.lexsort([-lots, *(-x for x in reversed(keys))]), total


PROBE_PAIRS = 2_000  # pairs of players from which the worth of a point is estimated
MIN_PROBABILITY = 1e-6  # least probability


@dataclass(frozen=True, eq=False, repr=False)
class SeasonForecast(PrintedResult):
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

    def columns(self) -> ColumnTable:
        """The table, with the probabilities to win, to be among the first four, and to be relegated."""
        n = len(self.player)
        columns: dict[str, Any] = {"player": self.player, "played": self.played, "points": self.points}
        columns |= {"expected_points": self.expected, "goal_difference": self.goal_difference}
        columns |= {"win": self.place[:, 0], "champion": self.champion}
        if n > 8:
            columns["top_4"] = self.place[:, :4].sum(axis=1)
        if self.relegated:
            columns["relegated"] = self.place[:, n - self.relegated :].sum(axis=1)
        return ColumnTable(columns)

    def closing_lines(self) -> list[str]:
        """How often the season was simulated."""
        return [f"{self.samples:,} seasons"]


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
      coming: the matches to come, as in `predict_fixtures`.
      results: the matches of this season that have been played, with scores, as `read` takes them; of the same season
        where a column names seasons. None: those of the table of matches to come that have a result, or of the
        history, if it knows the season.
      points: points for a win, a draw and a loss.
      ties: what decides among equals on points: wins, head_to_head, goal_difference or goals. "head_to_head" has the
        points from matches among those who are equal so far; "goal_difference" and "goals", those scored, need goals.
        The lot decides what is left. None: wins, then head_to_head; if goals are known goal_difference, goals,
        head_to_head.
      relegated: number relegated, at the end of the table.
      samples: number of simulations. A probability p has the standard error sqrt(p (1 - p) / samples).
      key: a PRNG key. None: always the same one.
      options: as in `predict_fixtures`.

    Raises:
      ValueError: if there is nothing to play, for contests, a tie-break that there is not, more to be relegated than
        there are players, or as `predict_fixtures`.
    """
    rated.check_of_matches("a season")
    has_goals = predicts_goals(rated.system)
    ties = (GOAL_TIE_BREAKS if has_goals else TIE_BREAKS) if ties is None else ties
    check_standing_rules(points, ties, has_goals)
    check_count("samples", samples, 1, MAX_SAMPLES)
    if is_table(coming):
        coming = open_table_source(coming)
    system, data = read_upcoming_events(rated, coming, options)
    pair_names = data.players[data.matches.player]
    past = read_season_results(rated, results, coming, data, options, has_goals)
    names = list(dict.fromkeys([*past.names.ravel(), *pair_names.T.ravel()]))
    if not 0 <= relegated < len(names):
        raise ValueError(f"relegated must be from 0 to {len(names) - 1}, got {relegated}")
    player, past_player = (_name_indices(names, x) for x in (pair_names, past.names))
    games = build_simulation_matches(rated, system, data, names, player)
    played = Standings.empty(len(names), float).add(past_player, past.score, past.goals)
    key = jax.random.key(0) if key is None else key
    size = CHUNK_NUMBERS // (len(names) ** 2 + len(player))
    sums = _simulate_seasons(key, games, played, tuple(map(float, points)), ties, samples, size)
    total, place, goals = (np.asarray(x, np.float64) / samples for x in sums)
    goal_difference = goals[:, 0] - goals[:, 1]
    past_games = np.bincount(past_player.ravel(), minlength=len(names))
    points_so_far = Standings(*(np.asarray(x, np.float64) for x in played)).count_points(points).sum(axis=1)
    best = np.lexsort([-goal_difference, -total])
    return SeasonForecast(
        np.array(names, rated.players.dtype)[best],
        past_games[best],
        points_so_far[best],
        total[best],
        place[best],
        samples,
        relegated,
        goal_difference[best] if has_goals else None,
        _certain_champion(points_so_far[best], np.bincount(player.ravel(), minlength=len(names))[best], points),
    )


def _name_indices(names: list[Any], pairs: HostArray) -> HostArray:
    """[n, 2] the numbers of pairs of names [n, 2]."""
    number = {name: i for i, name in enumerate(names)}
    return np.array([number[x] for x in pairs.ravel().tolist()], np.int32).reshape(-1, 2)


def _certain_champion(points_so_far: HostArray, remaining: HostArray, points: tuple[float, ...]) -> HostArray | None:
    """[N] who has more points, whatever happens in the remaining matches [N] of each, than all others; None: nobody."""
    least, most = points_so_far + min(points) * remaining, points_so_far + max(points) * remaining
    leader = int(np.argmax(least))
    if len(most) < 2 or least[leader] <= np.delete(most, leader).max():
        return None
    return np.arange(len(most)) == leader


def build_score_matches(
    rated: History, names: list[Any], player: HostArray, forecasts: ColumnTable
) -> ScoreSimulationMatches:
    """The matches to simulate, from forecasts of fixtures between players of these names."""
    id_of_name = {name: i for i, name in enumerate(rated.players.tolist())}
    ids = np.array([id_of_name.get(name, -1) for name in names])
    last_time = float(times_to_event_clock(forecasts["time"]).max()) if "time" in forecasts else None
    params = rated.system.params
    ratings_then = rated.system.summary(params, advance_state_to_time(rated.system, rated.state, last_time, params))
    newcomer_ratings = rated.system.summary(params, rated.system.init(params, 1))
    deviation: HostArray = np.zeros(len(names))
    if ratings_then.deviation is not None:
        deviation = np.where(ids < 0, np.asarray(newcomer_ratings.deviation), np.asarray(ratings_then.deviation)[ids])
    point = rating_points_per_logit(rated, ids[ids >= 0])
    spread = deviation / point
    expected = np.clip(np.asarray(forecasts["expected"], np.float64), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    pair_variance = (spread[player] ** 2).sum(axis=1)
    logit = np.log(expected / (1 - expected)) * np.sqrt(1 + np.pi * pair_variance / 8)
    odds = np.full(len(player), 1e-9)
    if "draw" in forecasts:
        chances = (np.asarray(forecasts[x], np.float64) for x in ("win", "draw", "loss"))
        win, draw, loss = (np.clip(x, MIN_PROBABILITY, 1.0) for x in chances)
        odds = draw / np.sqrt(win * loss)
    return ScoreSimulationMatches(jnp.asarray(player), *(jnp.asarray(x, float) for x in (logit, odds, spread)))


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
    category = None if rated.categories is None else 0
    prediction = predict_neutral_matches(rated.system, rated.state, pair, rated.last or 0.0, category)
    expected = np.asarray(expected_score_from_prediction(prediction), np.float64)
    probability = np.clip(expected, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    logit, rating_difference = np.log(probability / (1 - probability)), mean[pair[:, 0]] - mean[pair[:, 1]]
    squared_points = (np.abs(rating_difference) / np.maximum(np.abs(logit), 1e-9)) ** 2
    if current_ratings.deviation is not None:
        deviation = np.asarray(current_ratings.deviation, np.float64)
        squared_points = squared_points - np.pi / 8 * (deviation[pair] ** 2).sum(axis=1)
    weight = np.abs(logit)  # those far apart tell most
    order = np.argsort(squared_points)
    median_index = order[np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]
    return float(np.sqrt(max(squared_points[median_index], (0.1 * np.std(rating_difference)) ** 2)))


@jit_for_short_runs(3, 4, 5, 6)
def _simulate_seasons(
    key: Array, games: SimulationMatches, played: Standings, points: Any, ties: Any, samples: int, size: int
) -> tuple[Array, Array, Array]:
    """Sums over all seasons of points [N], of places [N, N] and of goals scored and conceded [N, 2]."""
    n = len(played.won)

    def simulate_one(season_index: Array) -> tuple[Array, Array, Array]:
        season, lots = jax.random.split(jax.random.fold_in(key, season_index))
        drawing, playing = jax.random.split(season)
        standings = played.add(games.player, *games.play(playing, games.draw_strengths(drawing, n)))
        order, total = rank_by_points(lots, standings, points, ties)
        return total, jax.nn.one_hot(order, n, dtype=total.dtype).T, standings.goals

    return sum_over_samples(simulate_one, samples, size)


MAX_ROUNDS = 1000  # how often two players of a group meet


Names = Annotated[Any, ArgumentRequirement("a list of names", is_list)]
Groups = Annotated[
    Any,
    ArgumentRequirement(
        "lists of names by the names of groups",
        lambda x: isinstance(x, Mapping) and all(is_list(members) and len(members) for members in x.values()),
    ),
]
PLAN: dict[str, tuple[Any, Any]] = {  # what a plan may say: the type, and what holds without it
    "groups": (Groups, {}),
    "rounds": (int, 1),
    "points": (tuple[float, float, float], (3, 1, 0)),
    "ties": (Names, ()),
    "best": (tuple[int, int], (1, 0)),
    "knockout": (Names, ()),
}
ROUND_NAMES = {1: "win", 2: "final", 4: "semi_final", 8: "quarter_final"}


@dataclass(frozen=True, eq=False, repr=False)
class TournamentForecast(PrintedResult):
    """Probabilities of places in groups and of rounds reached. `print` shows a table, the likeliest winners first."""

    player: HostArray  # [N]
    group: HostArray | None  # [N] their groups; None if there are none
    place: HostArray | None  # [N, P] the probability of each place in the group
    reach: HostArray  # [N, R + 1] to be in the knock-out, and to win its first 1, 2, ..., R rounds
    samples: int

    def columns(self) -> ColumnTable:
        """The table: the chances to win the group, to reach each round, and to win."""
        num_left = [1 << r for r in range(self.reach.shape[1])][::-1]
        reach = dict(zip([ROUND_NAMES.get(n, f"last_{n}") for n in num_left], self.reach.T, strict=True))
        if self.place is None:  # everybody is in the knock-out
            return ColumnTable({"player": self.player, **dict([*reach.items()][1:])})
        return ColumnTable({"player": self.player, "group": self.group, "win_group": self.place[:, 0], **reach})

    def closing_lines(self) -> list[str]:
        """How often the tournament was simulated."""
        return [f"{self.samples:,} tournaments"]


class _TournamentRules(NamedTuple):
    """What of a plan is fixed when its simulation is compiled."""

    group_sizes: tuple[int, ...]
    rounds: int
    points: tuple[float, ...]
    ties: tuple[str, ...]
    best: tuple[int, int]  # the place in a group, and how many of these go on
    slots: tuple[int, ...]  # of the knock-out: indices into places of groups, the best, players, and a bye


@enforce_argument_annotations
def simulate_tournament(
    rated: History,
    plan: Mapping[str, Any] | FilePath,
    *,
    samples: int = 10_000,
    time: Any = None,
    key: Key | None = None,
    newcomers: bool = False,
) -> TournamentForecast:
    """How a tournament may end: groups, if there are some, and a knock-out, played many times.

        plan = {"groups": {"A": ["Ada", "Bo", "Cy"], "B": ["Di", "Eve", "Flo"]}, "knockout": ["A1", "B2", "B1", "A2"]}
        jr.forecasts.simulate_tournament(rated, plan)

    In each simulated tournament everybody has a strength drawn from their rating and its deviation, and keeps it in all
    matches. Nobody has the side. A drawn knock-out match is won by either side with probability one half. With skills
    that learn from goals, each match has a score, and teams have a pace as well.

    Args:
      rated: as from `rate` or `load`, of matches.
      plan: the tournament, or a TOML file that holds it. "groups": lists of players by the groups' names; in each of
        them everybody meets everybody else "rounds" times (1). "points" for a win, a draw and a loss ([3, 1, 0]) and
        "ties" are as in `simulate_season`. "knockout": who meets whom, from top to bottom, two, four, eight, ...: "A1"
        is the winner of group A, other names are players, and "" is a bye. "best": [place, number], as [3, 8], lets the
        best 8 of the third places go on, as "best1" to "best8". They are ranked by points; if goals are known, by goal
        difference and goals; by wins; and by lot.
      samples: the number of simulated tournaments.
      time: the time of the tournament, as in `predict_fixtures`.
      key: a PRNG key. None: always the same one.
      newcomers: what to do with unknown names, as in `predict_fixtures`.

    Raises:
      ValueError: for a plan that cannot be (says where), players whom the history does not have, or contests.
    """
    rated.check_of_matches("a tournament")
    check_count("samples", samples, 1, MAX_SAMPLES)
    labels, names, rules = _load_and_check_plan(plan, predicts_goals(rated.system))
    n, in_groups = len(names), sum(rules.group_sizes)
    pairs = np.array([*combinations(range(n), 2)], np.int32)
    pair_names = [*combinations(names, 2)]
    options: FixtureOptions = {"time": time, "side": None, "newcomers": newcomers}
    games = build_simulation_matches(rated, *read_upcoming_events(rated, pair_names, options), names, pairs)
    key = jax.random.key(0) if key is None else key
    sums = _simulate_tournaments(key, games, n, rules, samples, CHUNK_NUMBERS // max(n * n, len(pairs)))
    place, reach = (np.asarray(x, np.float64) / samples for x in sums)
    order = np.lexsort([*(-reach.T)])
    group = np.append(np.repeat(labels, rules.group_sizes), np.full(n - in_groups, "", object)).astype(str)
    return TournamentForecast(
        np.array(names, rated.players.dtype)[order],
        group[order] if labels else None,
        place[order, : max(rules.group_sizes)] if labels else None,
        reach[order],
        samples,
    )


def _load_and_check_plan(plan: Any, has_goals: bool) -> tuple[list[str], list[Any], _TournamentRules]:
    """The names of groups, those of players, group by group, and the rules; ValueError if it is no plan."""
    given = dict(plan) if isinstance(plan, Mapping) else _load_plan(Path(plan))
    for name, value in given.items():
        if name not in PLAN:
            raise ValueError(f"a plan has no {name!r}; it has {', '.join(PLAN)}")
        check_argument("plan", name, PLAN[name][0], value)
    plan = {name: default for name, (_, default) in PLAN.items()} | given
    groups = {str(name): list(members) for name, members in plan["groups"].items()}
    ties = tuple(plan["ties"]) if "ties" in given else GOAL_TIE_BREAKS if has_goals else TIE_BREAKS
    best, points = tuple(plan["best"]), tuple(map(float, plan["points"]))
    check_standing_rules(points, ties, has_goals)
    check_count("rounds", plan["rounds"], 1, MAX_ROUNDS)
    _check_best_places(best, groups)
    names, slot_numbers = _resolve_bracket_slots(groups, best[1], list(plan["knockout"]))
    sizes = tuple(map(len, groups.values()))
    return [*groups], names, _TournamentRules(sizes, int(plan["rounds"]), points, ties, best, slot_numbers)


def _load_plan(path: Path) -> dict[str, Any]:
    """The plan in a file."""
    with path.open("rb") as file:
        try:
            return tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path.name}: {error}") from None


def _check_best_places(best: tuple[int, int], groups: Mapping[str, list[Any]]) -> None:
    """ValueError unless all groups have the place of which so many go on, and there are so many groups."""
    place, number = best
    if number and not (0 < number <= len(groups) and all(0 < place <= len(x) for x in groups.values())):
        raise ValueError(f"best must be [place, number], of {len(groups)} groups, got [{place}, {number}]")


def _resolve_bracket_slots(
    groups: Mapping[str, list[Any]], num_best: int, slots: list[Any]
) -> tuple[list[Any], tuple[int, ...]]:
    """The names of all players, those in groups first, and what the slots of the knock-out mean.

    Numbers are those of places in groups, then of the best, of all players, and last of a bye. ValueError for a name
    that is in the plan more than once, or another number of slots than two, four, eight ...
    """
    if len(slots) < 2 or len(slots).bit_count() != 1:
        raise ValueError(f"knockout must list two, four, eight, ... places, got {len(slots)}")
    places = [f"{name}{i + 1}" for name, group in groups.items() for i in range(len(group))]
    places += map("best{}".format, range(1, num_best + 1))
    named = [x for x in slots if x != ""]
    names = [*chain(*groups.values()), *(x for x in named if x not in {*places})]
    for name, count in (*Counter(names).items(), *Counter(named).items()):
        check_that(count <= 1, f"{name!r} is in the plan more than once")
    number = dict(zip(names, range(len(places), len(places) + len(names)), strict=True))
    number |= dict(zip(places, range(len(places)), strict=True)) | {"": len(places) + len(names)}
    return names, tuple(number[x] for x in slots)


@jit_for_short_runs(2, 3, 4, 5)
def _simulate_tournaments(
    key: Array, games: SimulationMatches, num_players: int, rules: _TournamentRules, samples: int, size: int
) -> tuple[Array, Array]:
    """Sums over all tournaments of places in groups [N, N] and rounds reached [N, R + 1]."""
    n, group_sizes, best, dtype = num_players, rules.group_sizes, rules.best, games.dtype
    in_groups, bracket = sum(group_sizes), np.array(rules.slots, np.int32)
    place_in_group = np.array([i for width in group_sizes for i in range(width)], np.int32)
    group = np.append(np.repeat(np.arange(len(group_sizes)), group_sizes), np.full(n - in_groups, n)).astype(np.int32)
    first, second = np.triu_indices(n, 1)
    number = np.zeros((n, n), np.int32)  # of the match of two players
    number[first, second] = number[second, first] = np.arange(len(first))
    is_in_group = (group[first] == group[second]) & (group[first] < n)
    group_matches = games.select(np.repeat(np.flatnonzero(is_in_group), rules.rounds))

    def simulate_one(tournament_index: Array) -> tuple[Array, Array]:
        drawing, playing, lots, fighting = jax.random.split(jax.random.fold_in(key, tournament_index), 4)
        strengths = games.draw_strengths(drawing, n)
        standings = Standings.empty(n, dtype).add(group_matches.player, *group_matches.play(playing, strengths))
        order, total = rank_by_points(lots, standings, rules.points, rules.ties, group)
        order = order[:in_groups].astype(jnp.int32)
        placed = order[np.cumsum([0, *group_sizes])[:-1] + best[0] - 1]
        uniforms = jax.random.uniform(jax.random.fold_in(lots, 1), placed.shape, dtype)
        scored, conceded = standings.goals.T
        criteria = standings.won.sum(axis=1), scored, scored - conceded, total  # the last one counts first
        best_placed = placed[jnp.lexsort([uniforms, *(-x[placed] for x in criteria)])[: best[1]]]
        all_slots = jnp.concatenate([order, best_placed, jnp.arange(n + 1, dtype=jnp.int32)])  # number n is a bye

        def win_probability(upper: Array, lower: Array) -> Array:
            i, j = jnp.minimum(upper, n - 1), jnp.minimum(lower, n - 1)
            drawing_goals = jax.random.fold_in(fighting, 2 * len(upper))
            chance = games.select(jnp.asarray(number)[i, j]).decide(drawing_goals, strengths)
            chance = jnp.where(i < j, chance, 1.0 - chance)
            return jnp.where(lower == n, 1.0, jnp.where(upper == n, 0.0, chance))

        uniforms = jax.random.uniform(fighting, (len(bracket),), dtype)
        remaining = play_knockout(all_slots[bracket], uniforms, win_probability)
        reached = jnp.stack([jnp.zeros(n + 1, dtype).at[x].set(1.0) for x in remaining], axis=1)
        return jnp.zeros((n, n), dtype).at[order, place_in_group].set(1.0), reached[:n]

    return sum_over_samples(simulate_one, samples, size)
