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
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_value_for_error
from jaxrate.data.column_conversion import (
    cell_number,
    distinct_cells,
    fail_at_cells,
    is_text,
    missing_mask,
    to_column,
    to_ids,
    to_numbers,
    value_text,
)
from jaxrate.data.date_parsing import parse_times
from jaxrate.data.faulty_rows import warn_caller
from jaxrate.data.table_sources import Column
from jaxrate.events.dataset import Dataset

ELO_K = 24.0  # points
DAYS_PER_YEAR = 365.25  # days
MAX_DAYS = 1e9
MAX_AGE = 120.0  # years; of more, as of a birth on the first day of 1900, none is known


class PlayerForm(NamedTuple):
    """What rest and form need to know of a player after the last match."""

    time: float = -math.inf  # of the last match
    rating: float = 0.0
    form: float = 0.0  # as of the last match


def _update_forms(
    history: Any, forms: dict[Any, PlayerForm], max_rest_days: float, form_time_constant: float
) -> tuple[HostArray, HostArray]:
    """[n] the differences of rest and of form before each match; updates the forms by player.

    Args:
      history: an earlier dataset or a rated history; a match that is to come counts for the rest of later ones.
      forms: what came before.
      max_rest_days: days that longer rests count as.
      form_time_constant: time constant by which form fades, in days.
    """
    players, scores, times = _played_matches(history)
    rests, form_leads = np.zeros(len(scores)), np.zeros(len(scores))
    for i, ((a, b), score, time) in enumerate(zip(players.tolist(), scores.tolist(), times.tolist(), strict=True)):
        before = [forms.get(player, PlayerForm()) for player in (a, b)]
        passed = [time - form.time for form in before]
        form_a, form_b = (
            form.form * math.exp(-days / form_time_constant) for form, days in zip(before, passed, strict=True)
        )
        rests[i] = min(passed[0], max_rest_days) - min(passed[1], max_rest_days)
        form_leads[i] = form_a - form_b
        expected = 1.0 / (1.0 + 10.0 ** ((before[1].rating - before[0].rating) / 400.0))
        surprise = 0.0 if math.isnan(score) else score - expected
        forms[a] = PlayerForm(time, before[0].rating + ELO_K * surprise, form_a + surprise)
        forms[b] = PlayerForm(time, before[1].rating - ELO_K * surprise, form_b - surprise)
    return rests, form_leads


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
    return _add_covariate(data, "rest", cap, () if history is None else (history,))


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
    return _add_covariate(data, "form", fade, () if history is None else (history,))


def _add_covariate(data: Dataset, name: str, days: float, earlier: Sequence[Any]) -> Dataset:
    """The matches with rest or form, which follow from earlier histories."""
    if not data.of_matches:
        raise ValueError(f"{name} is of matches of two players, and these are contests")
    matches, fixtures = data.matches, data.fixtures
    if not 0 < days < MAX_DAYS:
        raise ValueError(f"{name} must be a number of days above 0, got {format_value_for_error(days)}")
    if data.clock is None:
        raise ValueError(f"{name} needs a column of time")
    columns: Any = matches.context.columns or {}
    if name in columns:
        raise ValueError(
            f"{name} is computed from the history, and there is a column {name!r} among the others: rename it"
        )
    columns = columns | rest_and_form_columns(data, {name: days}, earlier)
    return data._replace(
        events=matches._replace(context=matches.context._replace(columns=columns)),
        covariates=(*data.covariates, name),
        derived=(data.derived or {}) | {name: days},
        fixtures=None if fixtures is None else _add_covariate(fixtures, name, days, (*earlier, data)),
    )


def rest_and_form_columns(data: Dataset, days: Mapping[str, float], earlier: Sequence[Any]) -> dict[str, HostArray]:
    """[n] rest and form before each match, those that `days` have a number for, after these histories."""
    forms = dict[Any, PlayerForm]()
    for history in (*earlier, data):
        rest, form = _update_forms(history, forms, days.get("rest", 1.0), days.get("form", 1.0))
    return {name: values for name, values in (("rest", rest), ("form", form)) if name in days}


def _played_matches(history: Any) -> tuple[HostArray, HostArray, HostArray]:
    """The names of the players [n, 2], scores [n], NaN to come, and times [n] of a dataset, or of a rated history."""
    if isinstance(history, Dataset):
        matches = history.matches
        score = np.full(len(matches.score), np.nan) if history.upcoming else np.asarray(matches.score, np.float64)
        return history.players[np.asarray(matches.player)], score, np.asarray(matches.time, np.float64)
    table = getattr(history, "predictions", None)
    if table is None or not {"time", "a", "b", "score"} <= {*table.column_names}:
        raise ValueError("history must be an earlier Dataset or a History, of matches with times")
    time = table["time"].to_numpy()
    days = (time - np.datetime64(0, "D")) / np.timedelta64(1, "D") if time.dtype.kind == "M" else time
    players = np.array([table[name].to_pylist() for name in "ab"], object).T
    return players, table["score"].to_numpy().astype(np.float64), days.astype(np.float64)


def age_differences(names: Sequence[str], columns: Mapping[str, Column], time: HostArray | None) -> HostArray:
    """[n] by how many years the first player is older, from two columns of ages or births; 0 where either has none.

    `time` [n] are the dates of the matches; None if there are none.
    """
    first, second = (_age_in_years(name, columns[name], time) for name in names)
    return np.where(np.isnan(first) | np.isnan(second), 0.0, first - second)


def _age_in_years(name: str, column: Column, time: HostArray | None) -> HostArray:
    """[n] years, from ages as they are or from days of birth; NaN where there is none."""
    if is_text(column) and distinct_cells(column).map(_is_age, False).any():
        column = to_column(name, to_numbers(name, column, np.nan))
    births = parse_times(name, column)
    if births.clock == "dates" and time is None:
        raise ValueError(f"column {name!r} has dates of birth, which need matches with dates; give ages")
    age = (time - births.values) / DAYS_PER_YEAR if births.clock == "dates" and time is not None else births.values
    impossible = ~missing_mask(column) & ~((age >= 0) & (age <= MAX_AGE))
    if impossible.any():
        count = format_count(int(np.count_nonzero(impossible)), "age")
        warn_caller(
            f"{count} of column {name!r} cannot be, as {age[np.argmax(impossible)]:g} years, and count as missing"
        )
    return np.where(impossible, np.nan, age)


def _is_age(text: str) -> bool:
    """Whether the text of a cell is an age in years."""
    number = cell_number(text)
    return number is not None and 0 <= number <= MAX_AGE


def parse_season_start_years(name: str, columns: dict[str, Column]) -> HostArray:
    """[n] the years in which seasons begin, from names such as 2021, 2020-21 or "Premier League 2020/21".

    Raises:
      RowError: for a name without a year.
    """
    code, labels = to_ids([name], columns)
    matches = [re.search(r"(?<!\d)[12]\d{3}(?!\d)", value_text(label)) for label in labels.tolist()]
    years = np.array([np.nan if match is None else float(match[0]) for match in matches])[code[:, 0]]
    fail_at_cells(np.isnan(years), name, columns[name], "which has no year; league_season needs names as 2020-21")
    return years
