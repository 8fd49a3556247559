"""Rounds of teams from nested lists, as small scripts have them, and rounds without their teams."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import is_iterable
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import is_usable_as_name, to_float_or_none
from jaxrate.events import (
    NameFormatters,
    Rounds,
    RowError,
    build_rounds,
    doubts_about_single_participants,
    has_teammates,
)
from jaxrate.events.dataset import Dataset


def from_teams(
    rounds: Any, ranks: Any = None, *, weights: Any = None, time: Any = None, players: Any = None
) -> Dataset:
    """Rounds from lists: each is a list of teams, each of them a list of names. Needs no pyarrow.

        data = jr.data.from_teams([[["Ada", "Bo"], ["Cy"]], [["Bo"], ["Cy"], ["Ada"]]], ranks=[[0, 1], [0, 0, 1]])
        rated = jr.run(jr.trueskill(), data.rounds)

    Args:
      rounds: in the order in which they count. Names are of any hashable type; a player alone is a team of one. Who is
        in several teams of a round, as a constructor with two cars, is in one row for each; see `rounds`.
      ranks: for each round a number for each team, lower is better, equal is a tie. None: the best team comes first,
        and nobody ties.
      weights: partial play, nested as the names: how much of the round each one played, above 0. None: all of it.
      time: for each round a number, of days or any unit of one's own. None: no time passes.
      players: names that have ids already, as in `players` of an earlier dataset: they keep them, new ones follow.

    Returns:
      A `Dataset` whose contests are the numbers of the rounds, from 0.

    Raises:
      ValueError: names the round and the team, counting from 0, and what is wrong with it.

    Warns:
      UserWarning: if rounds have a single player; systems of ranks learn nothing from them.
    """
    rounds = _nested_lists(("rounds", "teams", "players"), rounds)
    ids = _ids_of_existing_names(players)
    days = [0.0] * len(rounds) if time is None else _nested_lists(("time",), time, rounds)
    ranks = [range(len(teams)) for teams in rounds] if ranks is None else _nested_lists(("ranks",) * 2, ranks, rounds)
    if weights is None:
        weights = [[[1.0] * len(team) for team in teams] for teams in rounds]
    else:
        weights = _nested_lists(("weights",) * 3, weights, rounds)
    rows = _participants(rounds, ranks, weights, days, ids)
    contest, player, rank_of_row, team_of_row, weight, time_of_row = map(np.array, zip(*rows, strict=True))
    names = np.fromiter(ids, dtype=object, count=len(ids))
    formatters = NameFormatters(player=lambda i: format_value_for_error(names[i]))
    try:
        events = build_rounds(
            contest, player, rank_of_row, team=team_of_row, weight=weight, time=time_of_row, formatters=formatters
        )
    except RowError as error:
        raise ValueError(error.format_message(lambda row: _location(contest[row], team_of_row[row])[:-2])) from None
    for doubt in doubts_about_single_participants(events, np.arange(len(rounds))):
        warnings.warn(doubt, UserWarning, stacklevel=2)
    clock = None if time is None else "numbers"
    return Dataset(events, names, np.arange(len(rows)), clock=clock, contests=np.arange(len(rounds)))


def _ids_of_existing_names(players: Any) -> dict[Any, int]:
    """The ids of names that have some; ValueError unless they are names, each once."""
    names = [] if players is None else _as_list("players", players)
    if not all(isinstance(name, Hashable) for name in names):
        raise ValueError("players must be names, which lists and arrays are not")
    ids = {name: i for i, name in enumerate(names)}
    if len(ids) < len(names):
        raise ValueError("players names somebody twice")
    return ids


def _participants(rounds: Any, ranks: Any, weights: Any, days: Any, ids: dict[Any, int]) -> list[tuple[float, ...]]:
    """Round, id, rank, team, weight and time of every player of every round; adds new names to the ids."""
    rows: list[tuple[float, ...]] = []
    times = [_check_finite_number("time", day, i) for i, day in enumerate(days)]
    for i, k in ((i, k) for i, teams in enumerate(rounds) for k in range(len(teams))):
        rank = _check_finite_number("rank", ranks[i][k], i, k)
        for name, weight in zip(rounds[i][k], weights[i][k], strict=True):
            if not is_usable_as_name(name):
                raise ValueError(f"{_location(i, k)}{format_value_for_error(name)} cannot be the name of a player")
            number = _check_finite_number("weight", weight, i, k)
            if number <= 0:
                raise ValueError(f"{_location(i, k)}weight {number} of player {name!r} is not above 0; leave them out")
            rows.append((i, ids.setdefault(name, len(ids)), rank, k, number, times[i]))
    return rows


def _nested_lists(subjects: Sequence[str], values: Any, like: Any = None, *path: int) -> list[Any]:
    """Values in lists in lists, as many as in lists `like` them or, without, any number but none; ValueError otherwise.

    The subjects are what messages call the values at each level, and the path says in which round and team they are.
    """
    subject, *inner = subjects
    items = _as_list(subject, values, *path)
    if like is None and not items:
        raise ValueError(f"{_location(*path)}no {subject}")
    if like is not None and len(items) != len(like):
        unit = ("rounds", "teams", "players")[len(path)]
        raise ValueError(f"{_location(*path)}{subject} of {len(items)} {unit}, but there are {len(like)}")
    if not inner:
        return items
    return [_nested_lists(inner, x, None if like is None else like[i], *path, i) for i, x in enumerate(items)]


def _as_list(subject: str, values: Any, *path: int) -> list[Any]:
    """The values of a list; ValueError for text, and for what is none."""
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise ValueError(f"{_location(*path)}{subject} must be a list, got {values!r}")
    return list(values)


def _location(*path: int) -> str:
    """The beginning of a message about a round, or about a team in it."""
    numbers = [f"{unit} {number}" for unit, number in zip(("round", "team"), path, strict=False)]
    return f"{', '.join(numbers)} (counting from 0): " if numbers else ""


def _check_finite_number(subject: str, value: Any, *path: int) -> float:
    number = to_float_or_none(value)
    if number is None or not np.isfinite(number):
        raise ValueError(f"{_location(*path)}{subject} is {format_value_for_error(value)}, not a finite number")
    return number


def dataset_has_teams(data: Dataset) -> bool:
    """Whether players play together in contests."""
    return not data.of_matches and has_teammates(data.rounds)


def make_teammates_opponents(data: Dataset) -> Dataset:
    """The contests without teams: team-mates become opponents who tie."""
    rounds, flat = data.rounds, data.rounds.events
    assert isinstance(flat, Rounds)
    number = np.arange(len(flat.player)) - np.repeat(rounds.player_start[:-1], np.diff(rounds.player_start))
    return data._replace(events=rounds._replace(events=flat._replace(team=number.astype(np.int32))))
