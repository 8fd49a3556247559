"""Whether strengths moved: tests of fluctuations, and players who drifted.

Tests whether the strength of each player changed, by how their results scatter over time.

At the likeliest static strengths the scores s of a player's votes, s = d log likelihood / d strength, sum
to 0. Summed in order of time, and divided by the root of their summed squares, they are a Brownian bridge in the limit
if strengths are constant (Hjort and Koning 2002; Zeileis and Hornik 2007, "Generalized M-fluctuation tests"), and then

    P(max over time |S| / sqrt(sum s^2) >= x) = 2 sum over k = 1, 2, ... of (-1)^(k - 1) exp(-2 k^2 x^2)

With clusters of votes, the covariance of S at GRID_TIMES times is the sum over clusters of the outer squares of their
walks. From each walk its effect on the fitted strength is subtracted: its end times the share of information until
then. The probability that a normal vector of this covariance is anywhere as far from 0 as S is simulated; if that is
too rare, it is bounded by the sum of the probabilities at each time (Bonferroni).

The strengths of the others are estimated too. This only narrows the bridge, so that the test is conservative (Anderson
1955).

Predictions. Glicko with growth c > 0 lets strengths drift; with c = 0 it is a filter of constant strengths, whose
deviations only shrink. Both predict each vote from the votes before it. Initial deviations, and growths, are not chosen
but mixed: each has the weight that its predictions of earlier votes earned (a Bayesian mixture; Dawid 1984, "The
prequential approach"). Nothing is fitted to the predicted votes, and the summed difference of log loss is a log Bayes
factor.

Each player is tested as above. A player who moved also affects the tests of their opponents. So the
player with the least p is said to have moved if p times the number of players is at most the level (Holm 1979), their
votes are removed, and the others are tested again, until nobody else has moved.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import numpy as np
from scipy.special import kolmogorov  # type: ignore[import-untyped]

from jaxrate.arena.newton import log_likelihood_and_derivatives
from jaxrate.arena.rank_inference import check_in_open_unit_interval
from jaxrate.arena.strength_fit import MEAN_RATING, POINTS_PER_LOG_STRENGTH, Strengths, TieModel, fit_strengths
from jaxrate.arena.votes import Votes, read_votes_if_source, votes_from_data
from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.text_format import format_number
from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset
from jaxrate.events.event_types import match_weights
from jaxrate.history.column_table import ColumnTable, PrintedResult
from jaxrate.replay.checked_replay import scan
from jaxrate.replay.plan import Plan
from jaxrate.replay.schedule import schedule_by_level
from jaxrate.systems.glicko import glicko

GRID_TIMES = 32  # times at which walks of clusters are compared
NORMAL_SAMPLES = 10_000  # normal vectors
MIN_EXCEEDANCES = 20  # fewer samples as far away do not give a p value


def strength_change_tests_by_player(
    strengths: Strengths, votes: Votes, mask: HostArray, cluster: HostArray | None, time: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """[N] change in points, its error, and p of each player, from votes under the mask; NaN without such votes."""
    n, (first, second) = len(strengths.players), votes.player.T
    rating = np.where(np.isfinite(strengths.rating), strengths.rating, np.nan)
    coefficient = np.array([*strengths.coefficient.values()])
    eta = (rating[first] - rating[second] + votes.covariates @ coefficient) / POINTS_PER_LOG_STRENGTH
    mask = mask & np.isfinite(eta)
    if not mask.any():
        return (np.full(n, np.nan),) * 3
    with jax.enable_x64(True):
        arguments = np.stack(votes.outcome), np.where(mask, eta, 0.0), np.float64(strengths.kappa)
        vote_terms = log_likelihood_and_derivatives(strengths.model, *arguments)
    score, weight = np.asarray(vote_terms.eta)[mask], np.asarray(vote_terms.eta_eta)[mask]
    player, time = np.concatenate([first[mask], second[mask]]), np.tile(time[mask], 2)
    score, weight = np.concatenate([score, -score]), np.tile(weight, 2)
    order = np.lexsort([time, player])
    player, time, score, weight = (x[order] for x in (player, time, score, weight))
    result, player_ids = np.full((3, n), np.nan), np.unique(player)
    columns = player, time, score, weight
    if cluster is None:
        result[:, player_ids] = _strength_change_tests_independent(*columns)
    else:
        result[:, player_ids] = _strength_change_tests_clustered(*columns, np.tile(cluster[mask], 2)[order])
    change, error, p = result
    return change, error, p


def _strength_change_tests_independent(
    player: HostArray, time: HostArray, score: HostArray, weight: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """Change, error and p of the players who have votes, from scores and information in order of player and time."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    player_index = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(player))))

    def sums_within_player(values: HostArray) -> HostArray:
        total = np.cumsum(values)
        return total - (total - values)[start][player_index]

    same_time_as_next = np.append((time[1:] == time[:-1]) & (player_index[1:] == player_index[:-1]), False)
    walk, (square, information) = sums_within_player(score), (np.add.reduceat(x, start) for x in (score**2, weight))
    furthest = np.maximum.reduceat(np.where(same_time_as_next, 0.0, np.abs(walk)), start)
    late = sums_within_player(weight) - weight >= 0.5 * information[player_index]
    change = variance = np.zeros(len(start))
    with np.errstate(divide="ignore", invalid="ignore"):
        for half, sign in ((~late, -1.0), (late, 1.0)):
            s, v, h = (np.add.reduceat(np.where(half, x, 0.0), start) for x in (score, score**2, weight))
            change, variance = change + sign * s / h, variance + v / h**2
        p = kolmogorov(furthest / np.sqrt(square))  # of a Brownian bridge
        return POINTS_PER_LOG_STRENGTH * change, POINTS_PER_LOG_STRENGTH * np.sqrt(variance), p


def _strength_change_tests_clustered(
    player: HostArray, time: HostArray, score: HostArray, weight: HostArray, cluster: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """The tests of changes of strength, with errors for clusters of votes."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    player_tests = []
    for low, high in zip(start, np.append(start[1:], len(player)), strict=True):
        rows = slice(low, high)
        total = np.cumsum(weight[rows])
        ends = np.quantile(time[rows], np.linspace(0.0, 1.0, GRID_TIMES + 1), method="inverted_cdf")
        middle = time[rows][np.searchsorted(total, 0.5 * total[-1])]
        ends = np.unique(np.append(ends, middle))
        time_bin = np.searchsorted(ends, time[rows])
        cluster_index = np.unique(cluster[rows], return_inverse=True)[1]
        shape = int(cluster_index.max()) + 1, len(ends)
        steps = np.bincount(cluster_index * len(ends) + time_bin, score[rows], shape[0] * shape[1]).reshape(shape)
        walks, information = np.cumsum(steps, axis=1), np.cumsum(np.bincount(time_bin, weight[rows], len(ends)))
        walks -= walks[:, -1:] * (information / information[-1])
        count = shape[0] / max(shape[0] - 1, 1)
        half = int(np.searchsorted(ends, middle))
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = POINTS_PER_LOG_STRENGTH * (1.0 / information[half] + 1.0 / (information[-1] - information[half]))
            change = -steps[:, : half + 1].sum() * scale
            error = np.sqrt(count * (walks[:, half] ** 2).sum()) * scale
        largest_walk = float(np.abs(steps.sum(axis=0).cumsum()).max())
        p = _normal_maximum_exceedance_probability(largest_walk, count * walks.T @ walks)
        player_tests.append((change, error, p))
    change, error, p = np.array(player_tests).T
    return change, error, p


def _normal_maximum_exceedance_probability(distance: float, covariance: HostArray) -> float:
    """The probability that an entry of a normal vector with this covariance [n, n] is at least `distance` from 0."""
    value, vector = np.linalg.eigh(covariance)
    is_positive = value > 1e-12 * value[-1]
    if not value[-1] > 0:
        return np.nan
    root = (vector[:, is_positive] * np.sqrt(value[is_positive])).astype(np.float32)
    samples = root @ _normal_samples()[: root.shape[1]]
    count = int((np.abs(samples).max(axis=0) >= distance).sum())
    if count >= MIN_EXCEEDANCES:
        return count / samples.shape[1]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    tails = sum(math.erfc(distance / (math.sqrt(2.0) * x)) for x in deviation.tolist() if x > 0)
    return min(tails, MIN_EXCEEDANCES / samples.shape[1])


@cache
def _normal_samples() -> HostArray:
    """[GRID_TIMES + 2, NORMAL_SAMPLES] normal numbers, the same for all players."""
    return np.random.default_rng(0).standard_normal((GRID_TIMES + 2, NORMAL_SAMPLES), np.float32)


INITIAL_DEVIATIONS = 75.0, 150.0, 300.0  # points, before the first vote
GROWTH_RATES = 25.0, 50.0, 100.0, 200.0, 400.0  # points from the first vote to the last
CHUNK_VOTES = 1 << 18  # votes whose predictions are mixed at once
MIN_PROBABILITY = 1e-15  # predictions are clipped so far from 0 and 1


@dataclass(frozen=True, eq=False, repr=False)
class StrengthDrift(PrintedResult):
    """Whether strengths changed, and of which players. Log losses are nats a vote; gains are static less drifting."""

    players: HostArray  # [N] names, or ids
    games: HostArray  # [N] votes on each
    change: HostArray  # [N] points, about: the later half of a player's votes less the earlier; NaN: cannot be compared
    change_error: HostArray  # [N] its standard error
    gain: HostArray  # [N] mean over a player's votes of static less drifting log loss
    gain_error: HostArray  # [N] its standard error
    p: HostArray  # [N] p value of each player's test
    adjusted: HostArray  # [N] p adjusted for all players: the least level at which the player has moved
    moved: HostArray  # [N] bool
    level: float  # probability that anybody is said to have moved, if nobody did
    votes: float
    static_loss: float  # log loss of constant strengths
    drifting_loss: float
    gain_of_all: float  # the mean of static less drifting loss
    gain_of_all_error: float
    log_bayes_factor: float  # the summed difference: positive for drift
    drift: float  # points from the first vote to the last: the mean of the growths by their weights
    max_printed_rows = 12

    def columns(self) -> ColumnTable:
        """The table as columns, the least p first."""
        columns = {name: np.asarray(x)[self.order] for name, x in vars(self).items() if np.ndim(x) == 1}
        return ColumnTable({"player": columns.pop("players"), **columns})

    @property
    def order(self) -> HostArray:
        """[N] ids, the least p first; those without one last."""
        return np.lexsort([self.p, self.adjusted])

    def summary_lines(self) -> list[str]:
        """The result of the test for drift in sentences."""
        count = int(self.moved.sum())
        verdict = f"{count} of {len(self.players):,} players moved" if count else "nobody surely moved"
        saving = f"{round(float(self.gain_of_all), 4) + 0.0:+.4f} ± {self.gain_of_all_error:.4f} saved"
        return [
            f"{verdict} (at {self.level:.0%}, all players together)",
            f"log loss {self.static_loss:.4f} at rest, {self.drifting_loss:.4f} with a drift of {self.drift:.0f} points"
            f" in all: {saving}, log Bayes factor {self.log_bayes_factor:+.1f}",
        ]

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows, as text for people."""
        has_moved = bool(self.moved.any())
        head = ["player", *(["moved"] if has_moved else []), "change", "p", "adjusted p", "log loss saved", "votes"]
        rows = []
        for i in self.order[:top].tolist():
            known = not np.isnan(self.p[i])
            change = f"{round(self.change[i]) + 0:+d} ± {self.change_error[i]:.0f}" if known else ""
            p_values = [x[i] if known else np.nan for x in (self.p, self.adjusted)]
            chances = ["" if p != p else "< 0.001" if p < 0.001 else f"{p:.2g}" for p in p_values]
            gain = f"{round(float(self.gain[i]), 4) + 0.0:+.4f} ± {self.gain_error[i]:.4f}" if self.games[i] > 1 else ""
            verdict = ["yes" if self.moved[i] else ""] if has_moved else []
            rows.append((self.players[i], *verdict, change, *chances, gain, format_number(self.games[i])))
        return head, rows


@enforce_argument_annotations
def detect_drift(
    data: Any, *, ties: TieModel | None = None, covariates: Sequence[str] = (), cluster: Any = None, level: float = 0.05
) -> StrengthDrift:
    """Test whether strengths changed, by static against drifting strengths, and which players moved.

        drift = jr.arena.detect_drift(votes)
        drift.players[drift.moved]

    Strength is relative: if all players gain alike, nobody moved, and of two who only met each other both are named.

    Args:
      data: matches with times, a `Dataset` of them, or a table or path as for `read`. Their weights count.
      ties: the model of ties, as for `fit_strengths`. Predictions count ties as half a win.
      covariates: as for `fit_strengths`. Predictions use only the covariate "side".
      cluster: clusters of votes that are not independent, as for `fit_strengths`: the name of a column, or an array
        [n]. Without it, votes that one person gave in one sitting raise false alarms.
      level: the probability, if nobody moved, that anybody is said to have moved; above 0 and below 1.

    Returns:
      `StrengthDrift`. With few votes nobody is said to have moved.

    Raises:
      ValueError: for data without times, such as counts; for a level out of range; and as for `fit_strengths`.
    """
    check_in_open_unit_interval("level", level)
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    data, cluster = read_votes_if_source(data, names, cluster, in_order=True)
    matches = data.events if isinstance(data, Dataset) else data
    if not isinstance(matches, Matches):
        kind = type(matches).__name__
        raise ValueError(f"drift is detected in matches or a Dataset of them, and not in {kind}: it needs times")
    time = np.asarray(matches.time, np.float64)
    if len(time) and time[0] == time[-1]:
        raise ValueError("all matches have the same time; give their times")
    votes = votes_from_data(data, ties or "davidson", names, cluster)
    check_that(len(votes.clusters) <= 1, "drift is tested with one column of clusters, and not with two")
    strengths = fit_strengths(data, ties=ties, covariates=names)
    tests = _test_players(data, matches, votes, strengths, {"ties": ties, "covariates": names}, level)
    losses = _static_and_drifting_losses(matches, votes, strengths.coefficient.get("side", 0.0))
    return _build_drift_result(strengths, votes, tests, losses, level)


def _test_players(
    data: Any, matches: Matches, votes: Votes, strengths: Strengths, fit_options: dict[str, Any], level: float
) -> tuple[HostArray, ...]:
    """[N] change, its error, p, adjusted p, and whether they moved: one by one, without the votes of those before."""
    cluster, time = votes.clusters[0] if votes.clusters else None, np.asarray(matches.time, np.float64)
    mask, has_moved = np.ones(len(time), bool), np.zeros(len(strengths.players), bool)
    values = np.full((4, len(has_moved)), np.nan)  # change, its error, p, adjusted p
    min_adjusted = 0.0
    while True:
        test_results = strength_change_tests_by_player(strengths, votes, mask, cluster, time)
        values[:3, ~has_moved] = np.stack(test_results)[:, ~has_moved]
        p = np.where(has_moved | np.isnan(values[2]), np.inf, values[2])
        num_tested = int(np.isfinite(p).sum())
        values[3] = np.where(np.isfinite(p), np.maximum(np.minimum(p * num_tested, 1.0), min_adjusted), values[3])
        best = np.isfinite(p) & (p <= p.min(initial=np.inf) * (1.0 + 1e-9))
        if not num_tested or values[3, best][0] > level:
            return *values, has_moved
        min_adjusted, has_moved = values[3, best][0], has_moved | best
        mask &= ~has_moved[votes.player].any(axis=1)
        try:
            strengths = fit_strengths(_zero_weights_outside_mask(data, matches, mask), **fit_options)
        except ValueError:  # the others did not meet
            values[2:, ~has_moved] = np.nan
            return *values, has_moved


def _zero_weights_outside_mask(data: Any, matches: Matches, mask: HostArray) -> Any:
    """The data with weight 0 outside the mask, so that no shape changes."""
    weight = np.where(mask, match_weights(matches), 0.0)
    masked_matches = matches._replace(context=matches.context._replace(weight=weight))
    return data._replace(events=masked_matches) if isinstance(data, Dataset) else masked_matches


def _static_and_drifting_losses(
    matches: Matches, votes: Votes, side: float
) -> tuple[HostArray, HostArray, HostArray, float]:
    """[n] log losses of the static and of the drifting mixture, the weights, and the drift in points."""
    plan, span = schedule_by_level(matches), float(matches.time[-1]) - float(matches.time[0])
    score, weight = np.asarray(matches.score, np.float64), np.sum(votes.outcome, axis=0)
    losses, drift = [], 0.0
    for growth_rates in ((0.0,), GROWTH_RATES):
        predictions = []
        for growth_rate in growth_rates:
            for deviation in INITIAL_DEVIATIONS:
                system = glicko(c=growth_rate, period=span, initial_deviation=deviation, deviation_max=None)
                params = system.params._replace(initial_rating=MEAN_RATING, side_advantage=side)
                predictions.append(np.asarray(_glicko_predictions(params, matches, plan, len(votes.players))))
        loss, mixture_weight = learn_mixture_log_losses_and_weights(predictions, score, weight)
        losses.append(loss)
        drift = float(np.repeat(growth_rates, len(INITIAL_DEVIATIONS)) @ mixture_weight)
    return losses[0], losses[1], weight, drift


@partial(jax.jit, static_argnums=3)
def _glicko_predictions(params: Any, matches: Matches, plan: Plan, num_players: int) -> Array:
    """[n] predictions of Glicko."""
    system = glicko(deviation_max=None)
    return scan(system, params, system.init(params, num_players), matches, plan).prediction


def learn_mixture_log_losses_and_weights(
    predictions: Sequence[HostArray], score: HostArray, weight: HostArray
) -> tuple[HostArray, HostArray]:
    """[n] log loss of the mixture of several predictions [n], and the weight of each at the end."""
    log_weight, loss = np.full((len(predictions), 1), -np.log(len(predictions))), np.empty(len(score))
    for low in range(0, len(score), CHUNK_VOTES):
        rows = slice(low, low + CHUNK_VOTES)
        p, s = np.stack([np.asarray(guess[rows], np.float64) for guess in predictions]), score[rows]
        p = np.clip(p, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
        log_likelihood = np.cumsum(weight[rows] * (s * np.log(p) + (1.0 - s) * np.log1p(-p)), axis=1)
        log_weight_before = log_weight + np.append(np.zeros((len(p), 1)), log_likelihood[:, :-1], axis=1)
        mixture_weight = np.exp(log_weight_before - log_weight_before.max(axis=0))
        mixture = (mixture_weight * p).sum(axis=0) / mixture_weight.sum(axis=0)
        loss[rows] = -s * np.log(mixture) - (1.0 - s) * np.log1p(-mixture)
        log_weight = log_weight + log_likelihood[:, -1:]
        log_weight -= log_weight.max()
    mixture_weight = np.exp(log_weight[:, 0])
    return loss, mixture_weight / mixture_weight.sum()


def _build_drift_result(
    strengths: Strengths,
    votes: Votes,
    tests: tuple[HostArray, ...],
    losses: tuple[HostArray, HostArray, HostArray, float],
    level: float,
) -> StrengthDrift:
    """The result, with the gain of drifting strengths for each player and for all."""
    static_loss, drifting_loss, weight, drift = losses
    gain, vote_weight, n = static_loss - drifting_loss, np.tile(weight, 2), len(strengths.players)
    player = votes.player.T.ravel()
    total = np.bincount(player, vote_weight, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(player, vote_weight * np.tile(gain, 2), n) / total
        square = np.bincount(player, vote_weight * (np.tile(gain, 2) - mean[player]) ** 2, n)
        error = np.sqrt(square / total / np.maximum(total - 1.0, 0.0))
    count = float(weight.sum())
    mean_gain = float(weight @ gain) / count
    change, change_error, p, adjusted, is_moved = tests
    return StrengthDrift(
        strengths.players,
        total,
        change,
        change_error,
        mean,
        error,
        p,
        adjusted,
        is_moved,
        level,
        count,
        float(weight @ static_loss) / count,
        float(weight @ drifting_loss) / count,
        mean_gain,
        float(np.sqrt(weight @ (gain - mean_gain) ** 2 / count / max(count - 1.0, 1.0))),
        float(weight @ gain),
        drift,
    )
