"""Estimated strengths, and their tables."""

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

from jaxrate.arena.paired_comparison_likelihood import outcome_probabilities
from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, format_html_table, format_number, format_table
from jaxrate.history.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.history.history import find_player_id

POINTS_PER_LOG_STRENGTH = 400.0 / np.log(10.0)  # rating points of a unit of log strength
MEAN_RATING = 1500.0  # mean of the ratings without anchors; mean of the prior
PRINTED_PLAYERS = 12  # players that are printed


class Strengths(NamedTuple):
    """Ratings of players whose strength does not change, on Elo's scale, with their uncertainty."""

    players: HostArray  # [N] names, or ids if there are none
    rating: HostArray  # [N] points; inf: never lost to those compared, -inf: never won, NaN: never met them
    standard_error: HostArray  # [N] points: of the rating less the mean, or of the rating if there are anchors
    covariance: HostArray | None  # [N, N] points^2, NaN without a finite rating; None for too many players
    errors: str  # their source: "curvature" | "sandwich" | "bootstrap" | "curvature, others held"
    games: HostArray  # [N] votes on each
    score: HostArray  # [N] share of wins, with a tie as half a win
    component: HostArray  # [N] groups that never met, from 0, the largest first; -1: never played
    is_anchor: HostArray  # [N] whether they are anchors
    model: str  # "bradley_terry" | "davidson" | "rao_kupper" | "plackett_luce"
    tie: float | None  # nu of Davidson or theta of Rao and Kupper: 0 or 1 without ties
    tie_error: float | None
    coefficient: dict[str, float]  # points for a unit of each covariate in favour of player 0
    coefficient_error: dict[str, float]
    log_likelihood: float  # at the maximum, without the prior; the limit where ratings are infinite
    votes: float  # number of results
    converged: bool
    reason: str  # "maximum" | "steps" | "no further gain" | "no maximum"
    steps: int
    notes: tuple[str, ...]  # warnings: which players cannot be compared, and what to do about it
    samples: HostArray | None  # [B, N] ratings of bootstrap replicates
    met: HostArray | None = None  # [P, 2] ids of the pairs with votes; None of contests
    degrees_of_freedom: float = np.inf  # of the errors: those of clusters are less than their number by one

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table as columns, the best first."""
        columns = {
            "player": self.players,
            "rating": self.rating,
            "standard_error": self.standard_error,
            "low": self.rating - self.half_width,
            "high": self.rating + self.half_width,
            "games": self.games,
            "score": self.score,
        }
        return ColumnTable({name: np.asarray(values)[self.order] for name, values in columns.items()})

    @property
    def order(self) -> HostArray:
        """[N] ids, the best first; those without a rating last."""
        return np.argsort(-np.where(np.isnan(self.rating), -np.inf, self.rating), kind="stable")

    @property
    def half_width(self) -> HostArray:
        """[N] half the width (points) of the 95% intervals, which are Student's with the degrees of freedom."""
        return self.errors_to_either_side * self.standard_error

    @property
    def errors_to_either_side(self) -> float:
        """Standard errors to either side of an estimate in a 95% interval."""
        return float(stdtrit(self.degrees_of_freedom, 0.975))

    @property
    def kappa(self) -> float:
        """The logarithm of nu or theta; 0 for models without ties."""
        return 0.0 if self.tie is None else float(np.log(self.tie))

    def check_converged(self) -> None:
        """ValueError if the search did not reach a maximum: the ratings then have no errors."""
        if not self.converged:
            raise ValueError(f"these strengths did not converge ({self.reason}); a prior, as prior=350, helps")

    def difference(self, a: Any, b: Any) -> tuple[float, float]:
        """The rating of a less that of b, in points, and its standard error.

        Raises:
          ValueError: for an unknown player or one without a finite rating, if there is no covariance, or if the search
            did not converge.
        """
        self.check_converged()
        first, second = (find_player_id(self.players, player) for player in (a, b))
        if self.covariance is None:
            raise ValueError("this needs a covariance, which strengths of so many players do not have")
        for i in (first, second):
            if not np.isfinite(self.rating[i]):
                raise ValueError(f"{self.players[i]} has no finite rating: {'; '.join(self.notes)}")
        v = self.covariance
        square = v[first, first] + v[second, second] - 2.0 * v[first, second]
        return float(self.rating[first] - self.rating[second]), float(np.sqrt(max(square, 0.0)))

    def probability_better(self, a: Any, b: Any) -> float:
        """The probability that a is stronger than b: that a normal difference with this standard error is above 0.

        Raises:
          ValueError: as for `difference`.
        """
        points, error = self.difference(a, b)
        return float(stdtr(self.degrees_of_freedom, points / error)) if error else 0.5 + 0.5 * float(np.sign(points))

    def probability(self, a: Any, b: Any, **covariates: float) -> tuple[float, float, float]:
        """The probabilities that a beats b, that they tie, and that b beats a.

            strengths.probability("Ada", "Bo", side=1)

        Args:
          a, b: players, by name or by id.
          covariates: values in favour of a; by default 0.

        Raises:
          ValueError: for an unknown player or covariate, or two players who cannot be compared.
        """
        first, second = (find_player_id(self.players, player) for player in (a, b))
        for name in covariates:
            if name not in self.coefficient:
                raise ValueError(f"there is no covariate {name!r} (there are {', '.join(self.coefficient) or 'none'})")
        with np.errstate(invalid="ignore"):
            eta = (self.rating[first] - self.rating[second]) / POINTS_PER_LOG_STRENGTH
        eta += sum(self.coefficient[name] * value for name, value in covariates.items()) / POINTS_PER_LOG_STRENGTH
        if np.isnan(eta):
            raise ValueError(f"{a} and {b} cannot be compared: {'; '.join(self.notes)}")
        win, tie, loss = outcome_probabilities(
            "bradley_terry" if self.model == "plackett_luce" else self.model, eta, self.kappa
        )
        return float(win), float(tie), float(loss)

    @enforce_argument_annotations
    def table(self, top: int | None = None) -> str:
        """The table as text, the best first, with 95% intervals, games and scores."""
        return format_table(*self._table_rows(top))

    def __repr__(self) -> str:
        return "\n".join([*self._summary_lines(), self.table(PRINTED_PLAYERS)])

    def _repr_html_(self) -> str:
        summary = "<br>".join(html.escape(line) for line in self._summary_lines())
        return f"<p>{summary}</p>{format_html_table(*self._table_rows(PRINTED_PLAYERS))}"

    def _summary_lines(self) -> list[str]:
        model_name = self.model.replace("_", "-").title()
        lines = [f"{model_name}: {len(self.players):,} players, {self.votes:,.15g} votes; errors by {self.errors}"]
        if self.votes:
            lines[0] += f"; log likelihood {self.log_likelihood / self.votes:.4f} a vote"
        if not self.converged:
            lines.append(f"not converged: {self.reason} after {self.steps} steps")
        if self.tie is not None:
            name = "nu" if self.model == "davidson" else "theta"
            lines.append(f"ties: {name} {format_value_and_error(self.tie, self.tie_error, 4)}")
        for name, value in self.coefficient.items():
            lines.append(f"{name}: {format_value_and_error(value, self.coefficient_error[name], 2)} points")
        return [*lines, *self.notes]

    def _table_rows(self, top: int | None) -> tuple[list[str], list[Any]]:
        head = ["rank", "player", "rating", "95% interval", "games", "score"]
        rows: list[Sequence[Any]] = []
        half_width = self.half_width
        for rank, i in enumerate(self.order[:top], 1):
            rating, error = self.rating[i], half_width[i]
            low, high = rating - error, rating + error
            interval = f"{format_decimals(low, 0)} to {format_decimals(high, 0)}" if np.isfinite(low + high) else ""
            rating_text = format_decimals(rating, 1) if not np.isnan(rating) else ""
            score = f"{self.score[i]:.3f}" if self.games[i] else ""
            rank_text = "" if np.isnan(rating) else rank
            rows.append((rank_text, self.players[i], rating_text, interval, format_number(self.games[i]), score))
        return head, rows


def drop_standard_errors(strengths: Strengths) -> Strengths:
    """Strengths without errors, for a search that did not converge: errors are defined at a maximum only."""
    covariance = None if strengths.covariance is None else np.full_like(strengths.covariance, np.nan)
    return strengths._replace(
        standard_error=np.full_like(strengths.standard_error, np.nan),
        covariance=covariance,
        tie_error=None if strengths.tie is None else float("nan"),
        coefficient_error=dict.fromkeys(strengths.coefficient, float("nan")),
        samples=None,
    )


def format_value_and_error(value: float, error: float | None, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text if error is None or not np.isfinite(error) else f"{text} ± {error:.{digits}f}"
