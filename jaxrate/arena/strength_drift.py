"""Whether strengths moved: of all players by predictions, of each by how their results scatter over time.

Predictions. Glicko with growth c > 0 drifts; with c = 0 it is a filter of strengths that rest, whose deviations only
shrink. Both predict each vote from those before it. Initial deviations, and growths of the one, are not chosen but
mixed: each predicts with the weight that its predictions of earlier votes earned (a Bayesian mixture; Dawid 1984, "The
prequential approach"). Nothing is fitted to what is predicted, and the summed difference of log loss is a Bayes factor.

Each player is tested as in fluctuation.py. Who moved takes part in the votes of others: so the player with the least p
is called moved if p times the number of players is at most the level (Holm 1979), their votes are taken away, and the
others are tested anew, until nobody is.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.arena.fluctuation_tests import fluctuation_by_player
from jaxrate.arena.rank_inference import check_open_fraction
from jaxrate.arena.strength_estimates import MEAN_RATING, Strengths
from jaxrate.arena.strength_fit import fit_strengths
from jaxrate.arena.votes import Votes, read_votes
from jaxrate.argument_checks import check_arguments
from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset
from jaxrate.league.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.replay.checked_replay import scan
from jaxrate.replay.schedule import schedule_by_level
from jaxrate.systems.glicko import glicko
from jaxrate.text_format import format_number, format_table, html_table
from jaxrate.types import Array, HostArray

INITIAL_DEVIATIONS = 75.0, 150.0, 300.0  # points, before the first vote
GROWTH_RATES = 25.0, 50.0, 100.0, 200.0, 400.0  # points from the first vote to the last
CHUNK = 1 << 18  # votes that are mixed at once
MIN_PROBABILITY = 1e-15  # of a probability


class StrengthDrift(NamedTuple):
    """Whether strengths moved, and whose. Log losses are nats a vote; gains are static less drifting."""

    players: HostArray  # [N] names, or ids
    games: HostArray  # [N] votes on each
    change: HostArray  # [N] points, about: the later half of a player's votes less the earlier; NaN: cannot be compared
    change_error: HostArray  # [N] its standard error
    gain: HostArray  # [N] mean over a player's votes of the log loss that drifting saves
    gain_error: HostArray  # [N] its standard error
    p: HostArray  # [N] of the test of each
    adjusted: HostArray  # [N] the least level at which the player is among the moved
    moved: HostArray  # [N] bool
    level: float  # the chance, if nobody moved, that anybody is among them
    votes: float
    static_loss: float  # log loss of strengths that rest
    drifting_loss: float
    gain_of_all: float  # the mean of their difference
    gain_of_all_error: float
    log_bayes_factor: float  # the summed difference: positive for drift
    drift: float  # points from the first vote to the last, the mean of the growths by what they earned

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table as columns, the likeliest to have moved first."""
        each = {name: np.asarray(x)[self.order] for name, x in self._asdict().items() if np.ndim(x) == 1}
        return ColumnTable({"player": each.pop("players"), **each})

    @property
    def order(self) -> HostArray:
        """[N] ids, the least p first; those without one last."""
        return np.lexsort([self.p, self.adjusted])

    def table(self, top: int | None = None) -> str:
        """The likeliest to have moved first."""
        return format_table(*self.shown(top))

    def __repr__(self) -> str:
        return "\n".join([*self.summary_lines(), self.table(12)])

    def _repr_html_(self) -> str:
        return f"<p>{'<br>'.join(self.summary_lines())}</p>{html_table(*self.shown(12))}"

    def summary_lines(self) -> list[str]:
        """What was found, in sentences."""
        count = int(self.moved.sum())
        who = f"{count} of {len(self.players):,} players moved" if count else "nobody surely moved"
        saved = f"{self.gain_of_all:+.4f} ± {self.gain_of_all_error:.4f} saved"
        return [
            f"{who} (at {self.level:.0%}, all players together)",
            f"log loss {self.static_loss:.4f} at rest, {self.drifting_loss:.4f} with a drift of {self.drift:.0f} points"
            f" in all: {saved}, log Bayes factor {self.log_bayes_factor:+.1f}",
        ]

    def shown(self, top: int | None) -> tuple[list[str], list[Any]]:
        """Heads and rows of the table."""
        head = ["player", "moved", "change", "p", "adjusted p", "log loss saved", "votes"]
        rows = []
        for i in self.order[:top].tolist():
            known = not np.isnan(self.p[i])
            change = f"{round(self.change[i]) + 0:+d} ± {self.change_error[i]:.0f}" if known else ""
            chances = [f"{x[i]:.2g}" if known else "" for x in (self.p, self.adjusted)]
            gain = f"{self.gain[i]:+.4f} ± {self.gain_error[i]:.4f}" if self.games[i] > 1 else ""
            rows.append(
                (self.players[i], "yes" if self.moved[i] else "", change, *chances, gain, format_number(self.games[i]))
            )
        return head, rows


@check_arguments
def detect_drift(
    data: Any, *, ties: str | None = None, covariates: Sequence[str] = (), cluster: Any = None, level: float = 0.05
) -> StrengthDrift:
    """Whether strengths stayed as they were, by static against drifting ones, and who moved.

        moved = jr.arena.detect_drift(votes)
        moved.players[moved.moved]

    Strength is relative: if everybody gains alike, nobody moved, and of two who only met each other both are named.

    Args:
      data: matches with times, or a `Dataset` of them. Their weights count.
      ties, covariates: as of `static`. Predictions take ties as half a win, and of covariates "side" alone.
      cluster: votes of a cluster go together, as in `static`: the name of a column, or an array [n]. Without it votes
        that one person gave in one sitting raise false alarms.
      level: the chance, if nobody moved, that anybody is said to have; above 0 and below 1.

    Returns:
      `Moved`. Few votes do not tell: then nobody is among the moved.

    Raises:
      ValueError: for what has no order in time, such as counts; a level out of range; and as `static`.
    """
    check_open_fraction("level", level)
    matches = data.events if isinstance(data, Dataset) else data
    if not isinstance(matches, Matches):
        raise ValueError(f"moved takes matches or a Dataset of them, and not {type(matches).__name__}: it needs times")
    time = np.asarray(matches.time, np.float64)
    if len(time) and time[0] == time[-1]:
        raise ValueError("all matches have one time, so that nothing can move; give their times")
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    votes = read_votes(data, ties or "davidson", names, cluster)
    if len(votes.clusters) > 1:
        raise ValueError("moved clusters by one column, and not by two")
    strengths = fit_strengths(data, ties=ties, covariates=names)
    tests = _test_players(data, matches, votes, strengths, {"ties": ties, "covariates": names}, level)
    return _build_drift_result(
        strengths, votes, *tests, level, *_mixture_losses(matches, votes, strengths.coefficient.get("side", 0.0))
    )


def _test_players(
    data: Any, matches: Matches, votes: Votes, strengths: Strengths, static_options: dict[str, Any], level: float
) -> tuple[HostArray, HostArray, HostArray, HostArray, HostArray]:
    """[N] change, its error, p, adjusted p, and who moved: one after the other, each without the votes of the last."""
    group, time = votes.clusters[0] if votes.clusters else None, np.asarray(matches.time, np.float64)
    kept, out = np.ones(len(time), bool), np.zeros(len(strengths.players), bool)
    values = np.full((4, len(out)), np.nan)  # change, its error, p, adjusted p
    least = 0.0
    while True:
        tested = fluctuation_by_player(strengths, votes, kept, group, time)
        values[:3, ~out] = np.stack(tested)[:, ~out]
        p = np.where(out | np.isnan(values[2]), np.inf, values[2])
        some = int(np.isfinite(p).sum())
        values[3] = np.where(np.isfinite(p), np.maximum(np.minimum(p * some, 1.0), least), values[3])
        best = np.isfinite(p) & (p <= p.min(initial=np.inf) * (1.0 + 1e-9))
        if not some or values[3, best][0] > level:
            return *values, out
        least, out = values[3, best][0], out | best
        kept &= ~out[votes.player].any(axis=1)
        try:
            strengths = fit_strengths(_mask_weights(data, matches, kept), **static_options)
        except ValueError:  # the others did not meet
            values[2:, ~out] = np.nan
            return *values, out


def _mask_weights(data: Any, matches: Matches, mask: HostArray) -> Any:
    """The same with a weight of 0 for what is not kept, so that nothing changes its shape."""
    weight = matches.context.weight
    weight = mask.astype(float) if weight is None else np.where(mask, weight, 0.0)
    after = matches._replace(context=matches.context._replace(weight=weight))
    return data._replace(events=after) if isinstance(data, Dataset) else after


def _mixture_losses(matches: Matches, votes: Votes, side: float) -> tuple[HostArray, HostArray, HostArray, float]:
    """[n] log losses of the static and of the drifting mixture, the weights, and by how much strengths drift."""
    plan, span = schedule_by_level(matches), float(matches.time[-1]) - float(matches.time[0])
    score, weight = np.asarray(matches.score, np.float64), np.sum(votes.outcome, axis=0)
    losses, drift = [], 0.0
    for growths in ((0.0,), GROWTH_RATES):
        guesses = []
        for growth in growths:
            for deviation in INITIAL_DEVIATIONS:
                plain = glicko(c=growth, period=span, initial_deviation=deviation, deviation_max=None)
                params = plain.params._replace(initial_rating=MEAN_RATING, side_advantage=side)
                guesses.append(np.asarray(_glicko_predictions(params, plan, votes.num_players))[: len(score)])
        loss, earned = mix_predictions(guesses, score, weight)
        losses.append(loss)
        drift = float(np.repeat(growths, len(INITIAL_DEVIATIONS)) @ earned)
    return losses[0], losses[1], weight, drift


@partial(jax.jit, static_argnums=2)
def _glicko_predictions(params: Any, plan: Any, num_players: int) -> Array:
    """[plan.size] what Glicko predicts."""
    system = glicko(deviation_max=None)
    return scan(system, params, system.init(params, num_players), plan).prediction


def mix_predictions(
    predictions: Sequence[HostArray], score: HostArray, weight: HostArray
) -> tuple[HostArray, HostArray]:
    """[n] log loss of the mixture of predictions [n], and the share that each has earned in the end."""
    log_share, loss = np.full((len(predictions), 1), -np.log(len(predictions))), np.empty(len(score))
    for low in range(0, len(score), CHUNK):
        part = slice(low, low + CHUNK)
        p = np.clip(
            np.stack([np.asarray(guess[part], np.float64) for guess in predictions]),
            MIN_PROBABILITY,
            1.0 - MIN_PROBABILITY,
        )
        s = score[part]
        earned = np.cumsum(weight[part] * (s * np.log(p) + (1.0 - s) * np.log1p(-p)), axis=1)
        before = log_share + np.append(np.zeros((len(p), 1)), earned[:, :-1], axis=1)
        share = np.exp(before - before.max(axis=0))
        guess = (share * p).sum(axis=0) / share.sum(axis=0)
        loss[part] = -s * np.log(guess) - (1.0 - s) * np.log1p(-guess)
        log_share = log_share + earned[:, -1:]
        log_share -= log_share.max()
    share = np.exp(log_share[:, 0])
    return loss, share / share.sum()


def _build_drift_result(
    strengths: Strengths,
    votes: Votes,
    change: HostArray,
    change_error: HostArray,
    p: HostArray,
    adjusted: HostArray,
    is_moved: HostArray,
    level: float,
    static_loss: HostArray,
    drifting_loss: HostArray,
    weight: HostArray,
    drift: float,
) -> StrengthDrift:
    """The answer, with what drift saves of each and of all."""
    gain, each, n = static_loss - drifting_loss, np.tile(weight, 2), len(strengths.players)
    player = votes.player.T.ravel()
    total = np.bincount(player, each, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(player, each * np.tile(gain, 2), n) / total
        square = np.bincount(player, each * (np.tile(gain, 2) - mean[player]) ** 2, n)
        error = np.sqrt(square / total / np.maximum(total - 1.0, 0.0))
    count = float(weight.sum())
    of_all = float(weight @ gain) / count
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
        of_all,
        float(np.sqrt(weight @ (gain - of_all) ** 2 / count / max(count - 1.0, 1.0))),
        float(weight @ gain),
        drift,
    )
