"""Covariates that are computed from a history: rest, form and age, each the first player's less the second's.

What they are at a match follows from the matches above it. Rest is the days since a player's last match, at most as
many as are asked for; newcomers are rested. Form is the sum of a player's surprises, the score less what Elo expected,
which fades by a time constant tau:

    form <- exp(-days / tau) form + (score - expected),   expected = 1 / (1 + 10^((R_b - R_a) / 400)),
    R_a <- R_a + K (score - expected)                      (Elo 1978), R of newcomers 0
"""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_value_for_error
from jaxrate.data.column_conversion import missing_mask, to_column, to_days, to_ids, to_numbers
from jaxrate.data.faulty_rows import warn_caller
from jaxrate.data.table_sources import Column
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

ELO_K = 24.0  # points
DAYS_PER_YEAR = 365.25  # days
MAX_DAYS = 1e9
MAX_AGE = 120.0  # years; of more, as of a birth on the first day of 1900, none is known


class PlayedMatches(NamedTuple):
    """Matches in order of time, by the names of their players."""

    players: HostArray  # [n, 2]
    score: HostArray  # [n] of the first player; NaN: to come
    time: HostArray  # [n]


class RestAndFormState(NamedTuple):
    """The state of rest and form after earlier matches, by player."""

    time: dict[Any, float]  # of the last match
    rating: dict[Any, float]
    form: dict[Any, float]  # as of the last match


def rest_and_form_differences(
    played: PlayedMatches, max_rest_days: float, form_time_constant: float, history: RestAndFormState
) -> tuple[HostArray, HostArray]:
    """[n] the differences of rest and of form before each match; updates the history by them.

    Args:
      played: the matches; one that is to come counts for the rest of later ones.
      max_rest_days: days that longer rests count as.
      form_time_constant: time constant by which form fades, in days.
      history: what came before.
    """
    last, rating, form_so_far = history
    rests, forms = np.zeros(len(played.score)), np.zeros(len(played.score))
    rows = zip(played.players.tolist(), played.score.tolist(), played.time.tolist(), strict=True)
    for i, ((a, b), score, match_time) in enumerate(rows):
        passed_a, passed_b = match_time - last.get(a, -math.inf), match_time - last.get(b, -math.inf)
        form_a = form_so_far.get(a, 0.0) * math.exp(-passed_a / form_time_constant)
        form_b = form_so_far.get(b, 0.0) * math.exp(-passed_b / form_time_constant)
        rests[i], forms[i] = min(passed_a, max_rest_days) - min(passed_b, max_rest_days), form_a - form_b
        rating_a, rating_b = rating.get(a, 0.0), rating.get(b, 0.0)
        surprise = 0.0 if math.isnan(score) else score - 1.0 / (1.0 + 10.0 ** ((rating_b - rating_a) / 400.0))
        rating[a], rating[b] = rating_a + ELO_K * surprise, rating_b - ELO_K * surprise
        form_so_far[a], form_so_far[b] = form_a + surprise, form_b - surprise
        last[a] = last[b] = match_time
    return rests, forms


@enforce_argument_annotations
def add_rest(data: Dataset, cap: float = 14.0, history: Any = None) -> Dataset:
    """The matches with a covariate `rest`: the days since each player's last match, those of a less those of b.

        data = jr.data.add_rest(jr.read("games.csv"), cap=10)
        rated = jr.rate(jr.skills(covariates="rest", rest=3), data)

    Args:
      data: matches with times, as from `read`; their `fixtures` follow them.
      cap: days that longer rests count as; newcomers have had the longest.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times, or with a column that is called so.
    """
    return _add_covariates(data, {"rest": cap}, () if history is None else (history,))


@enforce_argument_annotations
def add_form(data: Dataset, fade: float = 30.0, history: Any = None) -> Dataset:
    """The matches with a covariate `form`: the results of late against those that Elo expected, a's less b's.

        data = jr.data.add_form(jr.read("games.csv"), fade=20)
        rated = jr.rate(jr.skills(covariates="form", form=40), data)

    Args:
      data: matches with times, as from `read`; their `fixtures` follow them.
      fade: days in which form fades to 1 / e.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times, or with a column that is called so.
    """
    return _add_covariates(data, {"form": fade}, () if history is None else (history,))


def _add_covariates(data: Dataset, days: Mapping[str, float], earlier: Sequence[Any]) -> Dataset:
    """The matches with these covariates, which follow from earlier histories."""
    if not data.of_matches:
        raise ValueError(f"{', '.join(days)} is of matches of two players, and these are contests")
    matches = data.matches
    for name, value in days.items():
        if not 0 < value < MAX_DAYS:
            raise ValueError(f"{name} must be a number of days above 0, got {format_value_for_error(value)}")
        if data.clock is None:
            raise ValueError(f"{name} needs a column of time")
        if name in (matches.context.columns or {}):
            raise ValueError(
                f"{name} is computed from the history, and there is a column {name!r} among the others: rename it"
            )
    fixtures = data.fixtures
    if fixtures is not None:
        fixtures = _add_covariates(fixtures, days, (*earlier, data))
    columns: Any = (matches.context.columns or {}) | rest_and_form_columns(data, days, earlier)
    return data._replace(
        events=matches._replace(context=matches.context._replace(columns=columns)),
        covariates=(*data.covariates, *days),
        derived={**(data.derived or {}), **days},
        fixtures=fixtures,
    )


def rest_and_form_columns(data: Dataset, days: Mapping[str, float], earlier: Sequence[Any]) -> dict[str, HostArray]:
    """[n] rest and form before each match, those that `days` have a number for, after these histories."""
    state, lengths = RestAndFormState({}, {}, {}), (days.get("rest", 1.0), days.get("form", 1.0))
    for history in earlier:
        rest_and_form_differences(_played_matches(history), *lengths, state)
    rest, form = rest_and_form_differences(_played_matches(data), *lengths, state)
    return {name: values for name, values in (("rest", rest), ("form", form)) if name in days}


def _played_matches(history: Any) -> PlayedMatches:
    """The matches of a dataset, or of a rated history."""
    if isinstance(history, Dataset):
        matches = history.matches
        score = np.full(len(matches.score), np.nan) if history.upcoming else np.asarray(matches.score, np.float64)
        return PlayedMatches(history.players[np.asarray(matches.player)], score, np.asarray(matches.time, np.float64))
    table = getattr(history, "predictions", None)
    if table is None or not {"time", "a", "b", "score"} <= {*table.column_names}:
        raise ValueError("history must be an earlier Dataset or a History, of matches with times")
    time = table["time"].to_numpy()
    days = (time - np.datetime64(0, "D")) / np.timedelta64(1, "D") if time.dtype.kind == "M" else time
    players = np.array([table[name].to_pylist() for name in "ab"], object).T
    return PlayedMatches(players, table["score"].to_numpy().astype(np.float64), days.astype(np.float64))


def age_differences(names: Sequence[str], columns: Mapping[str, Column], time: HostArray | None) -> HostArray:
    """[n] by how many years the first player is older, from two columns of ages or births; 0 where either has none.

    `time` [n] are the dates of the matches; None if there are none.
    """
    first, second = (_age_in_years(name, columns[name], time) for name in names)
    return np.where(np.isnan(first) | np.isnan(second), 0.0, first - second)


def _age_in_years(name: str, column: Column, time: HostArray | None) -> HostArray:
    """[n] years, from ages as they are or from days of birth; NaN where there is none."""
    absent = missing_mask(column, nan_is_missing=True)
    if absent.all():
        return np.full(len(absent), np.nan)
    present, values = (
        column.filter(~absent) if hasattr(column, "filter") else column[~absent],
        np.full(len(absent), np.nan),
    )
    with suppress(ValueError):  # text of a format, which may be numbers
        present = to_column(name, to_numbers(name, present))
    days, are_births = to_days(name, present)
    if not are_births:
        days = to_numbers(name, present)
    elif time is None:
        raise ValueError(f"column {name!r} has dates of birth, which need matches with dates; give ages")
    values[~absent] = days
    age = (time - values) / DAYS_PER_YEAR if are_births and time is not None else values
    impossible = ~((age >= 0) & (age <= MAX_AGE)) & ~absent
    if impossible.any():
        count = format_count(int(np.count_nonzero(impossible)), "age")
        warn_caller(
            f"{count} of column {name!r} cannot be, as {age[np.argmax(impossible)]:g} years, and count as missing"
        )
    return np.where(impossible, np.nan, age)


def parse_season_start_years(name: str, columns: dict[str, Column]) -> HostArray:
    """[n] the years in which seasons begin, from names such as 2021, 2020-21 or "Premier League 2020/21".

    Raises:
      RowError: for a name without a year.
    """
    code, labels = to_ids([name], columns)
    years = [
        re.search(r"(?<!\d)[12]\d{3}(?!\d)", str(int(x) if isinstance(x, float) and x.is_integer() else x))
        for x in labels.tolist()
    ]
    number = np.array([np.nan if year is None else float(year[0]) for year in years])[code[:, 0]]
    fail_where(
        np.isnan(number),
        lambda row: (
            f"column {name!r} is {format_value_for_error(labels[code[row, 0]])}, which has no year; "
            "league_season needs names "
            "as 2020-21"
        ),
    )
    return number
