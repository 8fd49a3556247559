"""Strengths that were found, and how they read."""

import html
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.paired_comparison import outcome_probabilities
from jaxrate.league.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.league.rated_history import find_player
from jaxrate.text_format import format_number, format_table, html_table
from jaxrate.types import HostArray

POINTS_PER_LOG_STRENGTH = 400.0 / np.log(10.0)  # rating points of a unit of log strength
MEAN_RATING = 1500.0  # the mean of the ratings, unless somebody is held or there is a prior about it
WIDE = 1.96  # deviations to either side: 95 %
PRINTED_PLAYERS = 12  # players that are printed


class Strengths(NamedTuple):
    """Ratings of players whose strength does not move, on Elo's scale, and how sure they are."""

    players: HostArray  # [N] names, or ids if there are none
    rating: HostArray  # [N] points; inf: never lost to those compared, -inf: never won, NaN: never met them
    standard_error: HostArray  # [N] points: of the rating less the mean, or of the rating if somebody is held
    covariance: HostArray | None  # [N, N] points^2, NaN without a finite rating; None if there are too many players
    errors: str  # what the errors are from: "curvature" | "sandwich" | "bootstrap" | "curvature, others held"
    games: HostArray  # [N] votes on each
    score: HostArray  # [N] the share that each won, a tie half a win
    component: HostArray  # [N] from 0: the groups that never met, the largest first; -1 of who never played
    held: HostArray  # [N] whether they are anchors
    model: str  # "bradley_terry" | "davidson" | "rao_kupper" | "plackett_luce"
    tie: float | None  # nu of Davidson, theta of Rao and Kupper: 0 and 1 if nobody ever ties
    tie_error: float | None
    coefficient: dict[str, float]  # of each covariate, points for each unit in favour of player 0
    coefficient_error: dict[str, float]
    log_likelihood: float  # at the maximum, the prior left out; of who have no finite rating, its limit
    votes: float  # how many results it is of
    converged: bool
    reason: str  # "maximum" | "steps" | "no further gain" | "no maximum"
    steps: int
    notes: tuple[str, ...]  # what a reader must know: who cannot be compared, and what to do about it
    samples: HostArray | None  # [B, N] ratings of the replicates of a bootstrap

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table as columns, the best first."""
        wide = WIDE * self.standard_error
        columns = {
            "player": self.players,
            "rating": self.rating,
            "standard_error": self.standard_error,
            "low": self.rating - wide,
            "high": self.rating + wide,
            "games": self.games,
            "score": self.score,
        }
        return ColumnTable({name: np.asarray(values)[self.order] for name, values in columns.items()})

    @property
    def order(self) -> HostArray:
        """[N] ids, the best first; those without a rating last."""
        return np.argsort(-np.where(np.isnan(self.rating), -np.inf, self.rating), kind="stable")

    @property
    def kappa(self) -> float:
        """The logarithm of nu or theta; 0 where there is none."""
        return 0.0 if self.tie is None else float(np.log(self.tie))

    def check_converged(self) -> None:
        """ValueError if the search did not reach a maximum: then nothing says how sure the ratings are."""
        if not self.converged:
            raise ValueError(f"these strengths did not converge ({self.reason}); a prior, as prior=350, helps")

    def difference(self, a: Any, b: Any) -> tuple[float, float]:
        """By how many points a is above b, and its standard error.

        Raises:
          ValueError: for a player that there is not or who has no finite rating, if there is no covariance, or if the
            search did not converge.
        """
        self.check_converged()
        one, two = (find_player(self.players, player) for player in (a, b))
        if self.covariance is None:
            raise ValueError("strengths of so many players have no covariance, which this needs")
        for i in (one, two):
            if not np.isfinite(self.rating[i]):
                raise ValueError(f"{self.players[i]} has no finite rating: {'; '.join(self.notes)}")
        v = self.covariance
        square = v[one, one] + v[two, two] - 2.0 * v[one, two]
        return float(self.rating[one] - self.rating[two]), float(np.sqrt(max(square, 0.0)))

    def better(self, a: Any, b: Any) -> float:
        """The probability that a is better than b: that a normal difference with its standard error is above 0.

        Raises:
          ValueError: as `difference`.
        """
        points, error = self.difference(a, b)
        return NormalDist().cdf(points / error) if error else 0.5 + 0.5 * float(np.sign(points))

    def probability(self, a: Any, b: Any, **covariates: float) -> tuple[float, float, float]:
        """The probabilities that a beats b, that they tie, and that b beats a.

            found.probability("Ada", "Bo", side=1)

        Args:
          a, b: players, by name or by id.
          covariates: values in favour of a; 0 unless given.

        Raises:
          ValueError: for a player or a covariate that there is not, or two who cannot be compared.
        """
        one, two = (find_player(self.players, player) for player in (a, b))
        for name in covariates:
            if name not in self.coefficient:
                raise ValueError(f"there is no covariate {name!r} (there are {', '.join(self.coefficient) or 'none'})")
        with np.errstate(invalid="ignore"):
            eta = (self.rating[one] - self.rating[two]) / POINTS_PER_LOG_STRENGTH
        eta += sum(self.coefficient[name] * value for name, value in covariates.items()) / POINTS_PER_LOG_STRENGTH
        if np.isnan(eta):
            raise ValueError(f"{a} and {b} cannot be compared: {'; '.join(self.notes)}")
        win, tie, loss = outcome_probabilities(
            "bradley_terry" if self.model == "plackett_luce" else self.model, eta, self.kappa
        )
        return float(win), float(tie), float(loss)

    def table(self, top: int | None = None) -> str:
        """The best first, each with their 95 % interval, games and score."""
        return format_table(*self._columns(top))

    def __repr__(self) -> str:
        return "\n".join([*self._summary_lines(), self.table(PRINTED_PLAYERS)])

    def _repr_html_(self) -> str:
        said = "<br>".join(html.escape(line) for line in self._summary_lines())
        return f"<p>{said}</p>{html_table(*self._columns(PRINTED_PLAYERS))}"

    def _summary_lines(self) -> list[str]:
        what = self.model.replace("_", "-").title()
        lines = [f"{what}: {len(self.players):,} players, {self.votes:,.15g} votes; errors by {self.errors}"]
        if self.votes:
            lines[0] += f"; log likelihood {self.log_likelihood / self.votes:.4f} a vote"
        if not self.converged:
            lines.append(f"not converged: {self.reason} after {self.steps} steps")
        if self.tie is not None:
            name = "nu" if self.model == "davidson" else "theta"
            lines.append(f"ties: {name} {value_and_error(self.tie, self.tie_error, 4)}")
        for name, value in self.coefficient.items():
            lines.append(f"{name}: {value_and_error(value, self.coefficient_error[name], 2)} points")
        return [*lines, *self.notes]

    def _columns(self, top: int | None) -> tuple[list[str], list[Any]]:
        head = ["rank", "player", "rating", "95 % interval", "games", "score"]
        rows: list[Sequence[Any]] = []
        for rank, i in enumerate(self.order[:top], 1):
            rating, error = self.rating[i], self.standard_error[i]
            low, high = rating - 1.96 * error, rating + 1.96 * error
            between = f"{low:.0f} to {high:.0f}" if np.isfinite(low + high) else ""
            shown = f"{rating:.1f}" if not np.isnan(rating) else ""
            score = f"{self.score[i]:.3f}" if self.games[i] else ""
            known = "" if np.isnan(rating) else rank
            rows.append((known, self.players[i], shown, between, format_number(self.games[i]), score))
        return head, rows


def without_errors(found: Strengths) -> Strengths:
    """Strengths without errors, for a search that did not converge: they would be those of a maximum."""
    unknown = None if found.covariance is None else np.full_like(found.covariance, np.nan)
    return found._replace(
        standard_error=np.full_like(found.standard_error, np.nan),
        covariance=unknown,
        tie_error=None if found.tie is None else float("nan"),
        coefficient_error=dict.fromkeys(found.coefficient, float("nan")),
        samples=None,
    )


def value_and_error(value: float, error: float | None, digits: int) -> str:
    shown = f"{value:.{digits}f}"
    return shown if error is None or not np.isfinite(error) else f"{shown} ± {error:.{digits}f}"
