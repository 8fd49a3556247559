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

from jaxrate.arguments import check_arguments
from jaxrate.data.dataset import Dataset
from jaxrate.events import Array, Matches
from jaxrate.records.shown import Columns, table_to_json, table_to_pandas
from jaxrate.replay.pure import scan
from jaxrate.replay.schedule import by_level
from jaxrate.strengths.certain import check_share
from jaxrate.strengths.fluctuation import fluctuation
from jaxrate.strengths.found import CENTRE, Strengths
from jaxrate.strengths.static import static
from jaxrate.strengths.votes import Votes, votes_of
from jaxrate.systems.glicko import glicko
from jaxrate.text import html_table, number, table

NumPy = np.ndarray[Any, Any]
DEVIATIONS = 75.0, 150.0, 300.0  # points, before the first vote
GROWTHS = 25.0, 50.0, 100.0, 200.0, 400.0  # points from the first vote to the last
CHUNK = 1 << 18  # votes that are mixed at once
LEAST = 1e-15  # of a probability


class Moved(NamedTuple):
    """Whether strengths moved, and whose. Log losses are nats a vote; gains are static less drifting."""

    players: NumPy  # [N] names, or ids
    games: NumPy  # [N] votes on each
    change: NumPy  # [N] points, about: the later half of a player's votes less the earlier; NaN: cannot be compared
    change_error: NumPy  # [N] its standard error
    gain: NumPy  # [N] mean over a player's votes of the log loss that drifting saves
    gain_error: NumPy  # [N] its standard error
    p: NumPy  # [N] of the test of each
    adjusted: NumPy  # [N] the least level at which the player is among the moved
    moved: NumPy  # [N] bool
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

    def columns(self) -> Columns:
        """The table as columns, the likeliest to have moved first."""
        each = {name: np.asarray(x)[self.order] for name, x in self._asdict().items() if np.ndim(x) == 1}
        return Columns({"player": each.pop("players"), **each})

    @property
    def order(self) -> NumPy:
        """[N] ids, the least p first; those without one last."""
        return np.lexsort([self.p, self.adjusted])

    def table(self, top: int | None = None) -> str:
        """The likeliest to have moved first."""
        return table(*self.shown(top))

    def __repr__(self) -> str:
        return "\n".join([*self.said(), self.table(12)])

    def _repr_html_(self) -> str:
        return f"<p>{'<br>'.join(self.said())}</p>{html_table(*self.shown(12))}"

    def said(self) -> list[str]:
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
                (self.players[i], "yes" if self.moved[i] else "", change, *chances, gain, number(self.games[i]))
            )
        return head, rows


@check_arguments
def moved(
    data: Any, *, ties: str | None = None, covariates: Sequence[str] = (), cluster: Any = None, level: float = 0.05
) -> Moved:
    """Whether strengths stayed as they were, by static against drifting ones, and who moved.

        moved = jr.moved(votes)
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
    check_share("level", level)
    matches = data.events if isinstance(data, Dataset) else data
    if not isinstance(matches, Matches):
        raise ValueError(f"moved takes matches or a Dataset of them, and not {type(matches).__name__}: it needs times")
    time = np.asarray(matches.time, np.float64)
    if len(time) and time[0] == time[-1]:
        raise ValueError("all matches have one time, so that nothing can move; give their times")
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    votes = votes_of(data, ties or "davidson", names, cluster)
    if len(votes.clusters) > 1:
        raise ValueError("moved clusters by one column, and not by two")
    found = static(data, ties=ties, covariates=names)
    tests = _tests(data, matches, votes, found, {"ties": ties, "covariates": names}, level)
    return _moved(found, votes, *tests, level, *_predicted(matches, votes, found.coefficient.get("side", 0.0)))


def _tests(
    data: Any, matches: Matches, votes: Votes, found: Strengths, given: dict[str, Any], level: float
) -> tuple[NumPy, NumPy, NumPy, NumPy, NumPy]:
    """[N] change, its error, p, adjusted p, and who moved: one after the other, each without the votes of the last."""
    group, time = votes.clusters[0] if votes.clusters else None, np.asarray(matches.time, np.float64)
    kept, out = np.ones(len(time), bool), np.zeros(len(found.players), bool)
    values = np.full((4, len(out)), np.nan)  # change, its error, p, adjusted p
    least = 0.0
    while True:
        tested = fluctuation(found, votes, kept, group, time)
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
            found = static(_weighed(data, matches, kept), **given)
        except ValueError:  # the others did not meet
            values[2:, ~out] = np.nan
            return *values, out


def _weighed(data: Any, matches: Matches, kept: NumPy) -> Any:
    """The same with a weight of 0 for what is not kept, so that nothing changes its shape."""
    weight = matches.context.weight
    weight = kept.astype(float) if weight is None else np.where(kept, weight, 0.0)
    after = matches._replace(context=matches.context._replace(weight=weight))
    return data._replace(events=after) if isinstance(data, Dataset) else after


def _predicted(matches: Matches, votes: Votes, side: float) -> tuple[NumPy, NumPy, NumPy, float]:
    """[n] log losses of the static and of the drifting mixture, the weights, and by how much strengths drift."""
    plan, span = by_level(matches), float(matches.time[-1]) - float(matches.time[0])
    score, weight = np.asarray(matches.score, np.float64), np.sum(votes.outcome, axis=0)
    losses, drift = [], 0.0
    for growths in ((0.0,), GROWTHS):
        guesses = []
        for growth in growths:
            for deviation in DEVIATIONS:
                plain = glicko(c=growth, period=span, initial_deviation=deviation, deviation_max=None)
                params = plain.params._replace(initial_rating=CENTRE, side_advantage=side)
                guesses.append(np.asarray(_replayed(params, plan, votes.num_players))[: len(score)])
        loss, earned = mixed(guesses, score, weight)
        losses.append(loss)
        drift = float(np.repeat(growths, len(DEVIATIONS)) @ earned)
    return losses[0], losses[1], weight, drift


@partial(jax.jit, static_argnums=2)
def _replayed(params: Any, plan: Any, num_players: int) -> Array:
    """[plan.size] what Glicko predicts."""
    system = glicko(deviation_max=None)
    return scan(system, params, system.init(params, num_players), plan).prediction


def mixed(guesses: Sequence[NumPy], score: NumPy, weight: NumPy) -> tuple[NumPy, NumPy]:
    """[n] log loss of the mixture of predictions [n], and the share that each has earned in the end."""
    log_share, loss = np.full((len(guesses), 1), -np.log(len(guesses))), np.empty(len(score))
    for low in range(0, len(score), CHUNK):
        part = slice(low, low + CHUNK)
        p = np.clip(np.stack([np.asarray(guess[part], np.float64) for guess in guesses]), LEAST, 1.0 - LEAST)
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


def _moved(
    found: Strengths,
    votes: Votes,
    change: NumPy,
    change_error: NumPy,
    p: NumPy,
    adjusted: NumPy,
    out: NumPy,
    level: float,
    rest: NumPy,
    drifting: NumPy,
    weight: NumPy,
    drift: float,
) -> Moved:
    """The answer, with what drift saves of each and of all."""
    gain, each, n = rest - drifting, np.tile(weight, 2), len(found.players)
    player = votes.player.T.ravel()
    total = np.bincount(player, each, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(player, each * np.tile(gain, 2), n) / total
        square = np.bincount(player, each * (np.tile(gain, 2) - mean[player]) ** 2, n)
        error = np.sqrt(square / total / np.maximum(total - 1.0, 0.0))
    count = float(weight.sum())
    of_all = float(weight @ gain) / count
    return Moved(
        found.players,
        total,
        change,
        change_error,
        mean,
        error,
        p,
        adjusted,
        out,
        level,
        count,
        float(weight @ rest) / count,
        float(weight @ drifting) / count,
        of_all,
        float(np.sqrt(weight @ (gain - of_all) ** 2 / count / max(count - 1.0, 1.0))),
        float(weight @ gain),
        drift,
    )
