"""Forecasts of others for the matches of a dataset: published probabilities, and the odds of bookmakers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import format_value_or_type, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_count
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.events import Matches, RowError, fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.metrics.bookmaker_odds import check_decimal_odds, probabilities_from_odds

MIN_PERCENT = 10.0  # the median probability of a win from which all are in percent
MIN_BOOKSUM = 0.9  # of the median match; less is no margin: the odds of an outcome are missing
MAX_SUM_ERROR = 0.02  # by which published probabilities may miss 1, as rounded ones do


class ExternalForecast(NamedTuple):
    """Probabilities of the results of matches that somebody else has published."""

    name: str
    kind: str  # "forecast" or "odds"
    probabilities: HostArray  # [n, 2] of loss and win, or [n, 3] of loss, draw and win; NaN where there are none
    is_percent: bool = False  # whether they came in percent
    num_infinite: int = 0  # matches with infinite odds, which are missing

    @property
    def has_draws(self) -> bool:
        """Whether draws have probabilities of their own."""
        return self.probabilities.shape[1] == 3

    @property
    def notes(self) -> list[str]:
        """Sentences on values that were left out."""
        count = format_count(self.num_infinite, "match")
        return [f"{self.name}: the odds of {count} are infinite and left out."] if self.num_infinite else []


def resolve_external_forecasts(
    data: Dataset, forecasts: Mapping[str, Any], odds: Mapping[str, Any], odds_method: str
) -> list[ExternalForecast]:
    """The forecasts of others by their arguments in `benchmark_systems`; ValueError for what is none."""
    external = []
    for name, source in forecasts.items():
        with _prefix_errors(f"forecast {name!r}"), map_row_errors(_source_rows(data)):
            external.append(_published_forecast(name, source, data))
    for name, source in odds.items():
        if name in forecasts:
            raise ValueError(f"a forecast and odds are both called {name!r}; give each its own name")
        with _prefix_errors(f"odds {name!r}"), map_row_errors(_source_rows(data)):
            external.append(_odds_forecast(name, source, data, odds_method))
    return external


@contextmanager
def _prefix_errors(subject: str) -> Iterator[None]:
    """Errors begin with what they are about."""
    try:
        yield
    except RowError as error:
        raise error.map_rows(lambda row, message: (row, f"{subject}: {message}")) from None
    except ValueError as error:
        raise ValueError(f"{subject}: {error}") from None


def _source_rows(data: Dataset) -> HostArray:
    """[n] where each match stands in the source; of contests their numbers."""
    return data.rows if isinstance(data.events, Matches) else np.arange(match_count(data))


def _published_forecast(name: str, source: Any, data: Dataset) -> ExternalForecast:
    values = numbers_of_matches(source, data)
    is_percent = is_in_percent(values)
    values = values / 100.0 if is_percent else values
    if values.ndim == 1:
        bad_win = ~((values >= 0.0) & (values <= 1.0)) & ~np.isnan(values)
        fail_where(bad_win, lambda row: f"the probability is {values[row]:g}, which is not from 0 to 1")
        values = np.stack([values, 1.0 - values], axis=1)
    if values.shape[1] not in (2, 3):
        raise ValueError(
            "give the probability of the first player's win, or those of win and loss, or of win, draw and loss; "
            f"got {values.shape[1]} columns"
        )
    is_missing = np.isnan(values).any(axis=1)
    bad = ~((values >= 0.0) & (values <= 1.0)).all(axis=1) & ~is_missing
    fail_where(bad, lambda row: f"probabilities are {values[row].tolist()}, which are not from 0 to 1")
    total = values.sum(axis=1)
    fail_where(
        (np.abs(total - 1.0) > MAX_SUM_ERROR) & ~is_missing,
        lambda row: f"probabilities sum to {total[row]:.4f}; if these are odds, say so by `odds`",
    )
    return ExternalForecast(name, "forecast", (values / total[:, None])[:, ::-1], is_percent)


def is_in_percent(values: HostArray) -> bool:
    """Whether probabilities [n] or [n, K], NaN where there are none, are in percent.

    Those of all results sum to 100; those of a win alone are mostly above 10.
    """
    total = values if values.ndim == 1 else values.sum(axis=1)
    if np.isnan(total).all():
        return False
    middle = float(np.nanmedian(total))
    return middle > MIN_PERCENT if values.ndim == 1 else abs(middle - 100.0) <= 100.0 * MAX_SUM_ERROR


def _odds_forecast(name: str, source: Any, data: Dataset, method: str) -> ExternalForecast:
    values = numbers_of_matches(source, data)
    if values.ndim == 1 or values.shape[1] not in (2, 3):
        count = 1 if values.ndim == 1 else values.shape[1]
        raise ValueError(f"give the odds of win and loss, or of win, draw and loss; got {count} of them")
    is_infinite = np.isposinf(values)
    values = np.where(is_infinite, np.nan, values)
    check_decimal_odds(values)
    booksum = np.sum(1.0 / values, axis=1)
    middle = float(np.median(booksum[~np.isnan(booksum)])) if np.isfinite(booksum).any() else 1.0
    if middle < MIN_BOOKSUM:
        hint = "name those of the draw, too" if values.shape[1] == 2 else "are these odds of one market?"
        raise ValueError(f"the inverse odds of most matches sum to about {middle:.2f}, far below 1; {hint}")
    probabilities = probabilities_from_odds(values, method=method)[:, ::-1]
    return ExternalForecast(name, "odds", probabilities, num_infinite=int(is_infinite.any(axis=1).sum()))


def numbers_of_matches(source: Any, data: Dataset) -> HostArray:
    """[n] or [n, K] numbers of the matches: an array of them, or columns of the dataset by name.

    Raises:
      ValueError: for a column that there is not, and for another number of matches.
    """
    if isinstance(source, str):
        return _named_column(source, data)
    if isinstance(source, (list, tuple)) and source and all(isinstance(name, str) for name in source):
        return np.stack([_named_column(name, data) for name in source], axis=1)
    values = to_floats("values", source)
    count = match_count(data)
    if values.ndim not in (1, 2) or len(values) != count:
        raise ValueError(
            f"give {count:,} values, one for each match, or names of columns; got the shape {values.shape}"
        )
    return values


def _named_column(name: str, data: Dataset) -> HostArray:
    columns = (data.matches.context.columns or {}) if isinstance(data.events, Matches) else {}
    if name not in columns:
        raise ValueError(
            f"the data have no column {format_value_or_type(name)}{did_you_mean_suffix(name, columns)}; read it as "
            "one of `columns`, or give an array"
        )
    return np.asarray(columns[name], np.float64)


def match_count(data: Dataset) -> int:
    """How many matches, or contests, there are."""
    return len(data.rows) if isinstance(data.events, Matches) else len(data.rounds.player_start) - 1


def describe_impossible_results(name: str, probability: HostArray, score: HostArray) -> list[str]:
    """A sentence if results came true that a forecast gave no chance, which cost it a lot of log loss.

    Args:
      name: of the forecast.
      probability: [n, K] of each result, NaN where there is none.
      score: [n] of the first players.
    """
    level = score * (probability.shape[1] - 1)
    is_result = level == np.rint(level)
    of_result = probability[np.arange(len(score)), np.rint(level).astype(int)]
    count = int(np.sum(is_result & (of_result == 0.0)))
    return [f"{name} gave no chance to {format_count(count, 'result')} that came true."] if count else []


def past_frequencies(score: HostArray, side: HostArray | None, num_past: int, num_outcomes: int) -> HostArray:
    """[n, 2 or 3] probabilities of loss, (draw) and win as often as they were in the first matches, by the side.

    Args:
      score: [n] of the first players.
      side: [n], 1 where the first player has the side, -1 where the second; None: nobody has.
      num_past: matches that count.
      num_outcomes: 2 or 3.
    """
    sides = np.zeros(len(score)) if side is None else np.asarray(side, np.float64)
    past_score, past_side = score[:num_past], sides[:num_past]
    own_score = np.where(past_side < 0, 1.0 - past_score, past_score)  # of who has the side
    is_sided = np.abs(past_side) > 0.5

    def frequencies(scores: HostArray) -> HostArray:
        """Of each result, with one of each added, so that nothing is impossible."""
        if num_outcomes == 3:
            counts = np.bincount(np.rint(2.0 * scores).astype(int), minlength=3) + 1.0
        else:
            counts = np.array([np.sum(1.0 - scores), np.sum(scores)]) + 1.0
        return counts / counts.sum()

    even = frequencies(np.concatenate([past_score, 1.0 - past_score]))
    sided = frequencies(own_score[is_sided]) if is_sided.any() else even
    choices = np.stack([sided[::-1], even, sided])
    return choices[np.rint(np.clip(sides, -1.0, 1.0)).astype(int) + 1]
