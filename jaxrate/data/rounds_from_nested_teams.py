"""Rounds of teams from nested lists, as small scripts have them, and rounds without their teams."""

import warnings
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import check_that, is_iterable
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import is_usable_as_name, to_float_or_none
from jaxrate.events import (
    NameFormatters,
    Rounds,
    RowError,
    build_rounds,
    doubts_about_single_participants,
    fail_where,
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
    rounds = _check_nested_lists(("rounds", "teams", "players"), rounds)
    ids = _ids_of_existing_names(players)
    ranks = _usual_ranks(rounds) if ranks is None else ranks
    ranks = _check_nested_lists(("ranks",) * 2, ranks, rounds)
    weights = _usual_weights(rounds) if weights is None else weights
    weights = _check_nested_lists(("weights",) * 3, weights, rounds)
    days = _check_nested_lists(("time",), [0.0] * len(rounds) if time is None else time, rounds)
    teams = [(i, k) for i, sides in enumerate(rounds) for k in range(len(sides))]
    contest, team = np.repeat(teams, [*map(len, chain(*rounds))], axis=0).T
    players_of_rows = [*chain(*chain(*rounds))]
    try:
        is_name = np.array([*map(is_usable_as_name, players_of_rows)])
        fail_where(
            ~is_name, lambda row: f"{format_value_for_error(players_of_rows[row])} cannot be the name of a player"
        )
        rank = _to_finite_numbers("rank", [ranks[i][k] for i, k in zip(contest, team, strict=True)])
        weight = _to_finite_numbers("weight", [*chain(*chain(*weights))])
        fail_where(
            weight <= 0,
            lambda row: f"weight {weight[row]} of player {players_of_rows[row]!r} is not above 0; leave them out",
        )
        day = _to_finite_numbers("time", [days[i] for i in contest])
        player = np.array([ids.setdefault(name, len(ids)) for name in players_of_rows])
        names = np.fromiter(ids, dtype=object, count=len(ids))
        formatters = NameFormatters(player=lambda i: format_value_for_error(names[i]))
        events = build_rounds(contest, player, rank, team=team, weight=weight, time=day, formatters=formatters)
    except RowError as error:
        raise ValueError(error.format_message(lambda row: _location_prefix(contest[row], team[row])[:-2])) from None
    for doubt in doubts_about_single_participants(events, np.arange(len(rounds))):
        warnings.warn(doubt, UserWarning, stacklevel=2)
    clock = None if time is None else "numbers"
    return Dataset(events, names, np.arange(len(player)), clock=clock, contests=np.arange(len(rounds)))


def _usual_ranks(rounds: Sequence[Sequence[Any]]) -> list[range]:
    """The ranks of teams of which the best comes first."""
    return [range(len(teams)) for teams in rounds]


def _usual_weights(rounds: Sequence[Sequence[Sequence[Any]]]) -> list[list[list[float]]]:
    """The weights of players who all played the whole of the round."""
    return [[[1.0] * len(team) for team in teams] for teams in rounds]


def _ids_of_existing_names(players: Any) -> dict[Any, int]:
    """The ids of names that have some; ValueError unless they are names, each once."""
    names = [] if players is None else _as_list("players", players)
    if not all(isinstance(name, Hashable) for name in names):
        raise ValueError("players must be names, which lists and arrays are not")
    ids = {name: i for i, name in enumerate(names)}
    check_that(len(ids) >= len(names), "players names somebody twice")
    return ids


def _to_finite_numbers(subject: str, values: Sequence[Any]) -> HostArray:
    """The values [n] as numbers; RowError where one is none, or not finite."""
    numbers = np.array([*map(to_float_or_none, values)], np.float64)
    fail_where(
        ~np.isfinite(numbers), lambda row: f"{subject} is {format_value_for_error(values[row])}, not a finite number"
    )
    return numbers


def _check_nested_lists(subjects: Sequence[str], values: Any, like: Any = None, *path: int) -> list[Any]:
    """Values in lists in lists, as many as in lists `like` them or, without, at least one; ValueError otherwise."""
    subject, *inner = subjects
    items = _as_list(subject, values, *path)
    if like is None and not items:
        raise ValueError(f"{_location_prefix(*path)}no {subject}")
    if like is not None and len(items) != len(like):
        unit = ("rounds", "teams", "players")[len(path)]
        raise ValueError(f"{_location_prefix(*path)}{subject} of {len(items)} {unit}, but there are {len(like)}")
    if not inner:
        return items
    return [_check_nested_lists(inner, x, None if like is None else like[i], *path, i) for i, x in enumerate(items)]


def _as_list(subject: str, values: Any, *path: int) -> list[Any]:
    """The values of a list; ValueError for text, and for what is none."""
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise ValueError(f"{_location_prefix(*path)}{subject} must be a list, got {values!r}")
    return list(values)


def _location_prefix(*path: int) -> str:
    """The beginning of a message about a round, or about a team in it."""
    numbers = [f"{unit} {number}" for unit, number in zip(("round", "team"), path, strict=False)]
    return f"{', '.join(numbers)} (counting from 0): " if numbers else ""


def dataset_has_teams(data: Dataset) -> bool:
    """Whether players play together in contests."""
    return not data.of_matches and has_teammates(data.rounds)


def make_teammates_opponents(data: Dataset) -> Dataset:
    """The contests without teams: team-mates become opponents who tie."""
    rounds, flat = data.rounds, data.rounds.events
    assert isinstance(flat, Rounds)
    number = np.arange(len(flat.player)) - np.repeat(rounds.player_start[:-1], np.diff(rounds.player_start))
    return data._replace(events=rounds._replace(events=flat._replace(team=number.astype(np.int32))))
