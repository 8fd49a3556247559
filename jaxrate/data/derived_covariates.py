"""Covariates that are computed from a history: rest, form and age, each the first player's less the second's.

What they are at a match follows from the matches above it. Rest is the days since a player's last match, at most as
many as are asked for; newcomers are rested. Form is the sum of a player's surprises, the score less what Elo expected,
which fades by a time constant tau:

    form <- exp(-days / tau) form + (score - expected),   expected = 1 / (1 + 10^((R_b - R_a) / 400)),
    R_a <- R_a + K (score - expected)                      (Elo 1978), R of newcomers 0
"""

import math
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_value_for_error
from jaxrate.data.column_conversion import missing_mask, to_column, to_days, to_ids, to_numbers
from jaxrate.data.column_role_definitions import DERIVED_COVARIATES
from jaxrate.data.faulty_rows import stacklevel_outside_package
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column
from jaxrate.events import Matches, fail_where
from jaxrate.events.dataset import Dataset

ELO_K = 24.0  # points
DAYS_PER_YEAR = 365.25  # days
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


def upcoming_rest_and_form(
    history: Any, rest: float | None, form: float | None, players: HostArray, matches: Matches
) -> dict[str, HostArray]:
    """[n] rest and form, unless None, of matches to come in order of time; `history` as of `read`."""
    nobody = np.full(len(matches.score), np.nan)
    played = PlayedMatches(players[np.asarray(matches.player)], nobody, np.asarray(matches.time, np.float64))
    return _rest_and_form_after_history(played, rest, form, history)


def _rest_and_form_after_history(
    played: PlayedMatches, rest: float | None, form: float | None, history: Any
) -> dict[str, HostArray]:
    player_history, lengths = RestAndFormState({}, {}, {}), (rest or 1.0, form or 1.0)
    for earlier in history if isinstance(history, tuple) else (history,):
        if earlier is not None:
            rest_and_form_differences(_history_to_played_matches(earlier), *lengths, player_history)
    differences = zip(
        DERIVED_COVARIATES, (rest, form), rest_and_form_differences(played, *lengths, player_history), strict=False
    )
    return {name: values for name, wanted, values in differences if wanted is not None}


def derived_columns(
    roles: ColumnRoles,
    columns: Mapping[str, Column],
    players: HostArray,
    score: HostArray,
    time: HostArray | None,
    dated: bool,
    history: Any,
) -> dict[str, HostArray]:
    """[n] of each derived covariate, by its name.

    Args:
      roles: with the settings of the derived covariates.
      columns: those of the source.
      players: [n, 2] names.
      score: [n] of the first player.
      time: [n] of the matches, in any order; None: there is none.
      dated: whether the times are dates.
      history: the matches so far, a dataset or a table as `predictions` of a rated history, or several in a tuple.
        None: there were none.

    Raises:
      ValueError: where there are no times, or a history without the columns time, a, b and score.
    """
    if time is None and (roles.rest or roles.form):
        raise ValueError("rest and form need a column of time")
    result = dict[str, HostArray]()
    if time is not None and (roles.rest or roles.form):
        order = np.argsort(time, kind="stable")
        score = np.full(len(score), np.nan) if roles.upcoming else score
        played = PlayedMatches(players[order], score[order], time[order])
        differences = _rest_and_form_after_history(played, roles.rest, roles.form, history)
        result = {name: values[np.argsort(order)] for name, values in differences.items()}
    if roles.age:
        first, second = (_age_in_years(name, columns[name], time, dated) for name in roles.age)
        result["age"] = np.where(np.isnan(first) | np.isnan(second), 0.0, first - second)
    return result


def _history_to_played_matches(history: Any) -> PlayedMatches:
    """The matches of a table of predictions, or of a dataset."""
    if isinstance(history, Dataset):
        matches = history.matches
        return PlayedMatches(history.players[matches.player], matches.score, matches.time)
    names = getattr(history, "column_names", ())
    if not {"time", "a", "b", "score"} <= {*names}:
        raise ValueError("history must be a table with time, a, b and score, as predictions of a rated history")
    time = history["time"].to_numpy()
    days = (time - np.datetime64(0, "D")) / np.timedelta64(1, "D") if time.dtype.kind == "M" else time
    players = np.array([history[name].to_pylist() for name in "ab"], object).T
    return PlayedMatches(players, history["score"].to_numpy().astype(np.float64), days.astype(np.float64))


def _age_in_years(name: str, column: Column, time: HostArray | None, dated: bool) -> HostArray:
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
    elif time is None or not dated:
        raise ValueError(f"column {name!r} has dates of birth, which need matches with dates; give ages")
    values[~absent] = days
    age = (time - values) / DAYS_PER_YEAR if are_births and time is not None else values
    impossible = ~((age >= 0) & (age <= MAX_AGE)) & ~absent
    if impossible.any():
        count = format_count(int(np.count_nonzero(impossible)), "age")
        warnings.warn(
            f"{count} of column {name!r} cannot be, as {age[np.argmax(impossible)]:g} years, and count as missing",
            UserWarning,
            stacklevel=stacklevel_outside_package() - 1,
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
