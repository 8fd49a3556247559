"""Rounds of teams from nested lists, as small scripts have them, and rounds without their teams."""

import warnings
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import is_iterable
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import is_usable_as_name, to_float_or_none
from jaxrate.events import Rounds, build_rounds, doubts_about_single_participants, has_teammates
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
    rounds = _check_list_of_length("", "rounds", rounds)
    if not rounds:
        raise ValueError("no rounds")
    ids = _ids_of_existing_names(players)
    days = _list_or_default("", "time", time, len(rounds), "rounds", 0.0)
    ranks_of_rounds = _list_or_default("", "ranks", ranks, len(rounds), "rounds", None)
    weights_of_rounds = _list_or_default("", "weights", weights, len(rounds), "rounds", None)
    rows: list[tuple[Any, ...]] = []
    for i, teams in enumerate(rounds):
        location = f"round {i} (counting from 0): "
        round_day = _check_finite_number(location, "time", days[i])
        for subject, given, values in (("ranks", ranks, ranks_of_rounds), ("weights", weights, weights_of_rounds)):
            if given is not None:
                _check_list_of_length(location, subject, values[i])
        for name, *values in _round_participants(i, teams, ranks_of_rounds[i], weights_of_rounds[i]):
            rows.append((i, ids.setdefault(name, len(ids)), *values, round_day))
    contest, player, rank, team, weight, day = (np.array(column) for column in zip(*rows, strict=True))
    events = build_rounds(contest, player, rank, team=team, weight=weight, time=day)
    for doubt in doubts_about_single_participants(events, np.arange(len(rounds))):
        warnings.warn(doubt, UserWarning, stacklevel=2)
    names = np.fromiter(ids, dtype=object, count=len(ids))
    clock = None if time is None else "numbers"
    return Dataset(events, names, np.arange(len(rows)), clock=clock, contests=np.arange(len(rounds)))


def _ids_of_existing_names(players: Any) -> dict[Any, int]:
    names = [] if players is None else _check_list_of_length("", "players", players)
    if not all(isinstance(name, Hashable) for name in names):
        raise ValueError("players must be names, which lists and arrays are not")
    ids = {name: i for i, name in enumerate(names)}
    if len(ids) < len(names):
        raise ValueError("players names somebody twice")
    return ids


def _round_participants(i: int, teams: Any, ranks: Any, weights: Any) -> Iterator[tuple[Any, float, int, float]]:
    """Name, rank, number of the team, and weight of every player of a round; without ranks the best team is first."""
    location = f"round {i} (counting from 0): "
    teams = _check_list_of_length(location, "teams", teams)
    if not teams:
        raise ValueError(f"{location}no teams")
    ranks = _list_or_default(
        location, "ranks", range(len(teams)) if ranks is None else ranks, len(teams), "teams", None
    )
    weights = _list_or_default(location, "weights", weights, len(teams), "teams", None)
    last_team: dict[Any, int] = {}  # the last team of each
    single_team: dict[Any, int] = {}
    for k, team in enumerate(teams):
        location = f"round {i}, team {k} (counting from 0): "
        players = _team_players(location, team, weights[k])
        rank = _check_finite_number(location, "rank", ranks[k])
        for name, weight in players:
            earlier_team = k if last_team.get(name) == k else single_team.get(name) if len(players) == 1 else None
            if earlier_team is not None:
                raise ValueError(f"{location}player {name!r} is in team {earlier_team} already")
            last_team[name] = k
            single_team |= {name: k} if len(players) == 1 else {}
            yield name, rank, k, weight


def _team_players(location: str, team: Any, weights: Any) -> list[tuple[Any, float]]:
    """The names and weights of the players of a team."""
    players = _check_list_of_length(location, "players", team)
    if not players:
        raise ValueError(f"{location}no players")
    weights = _list_or_default(location, "weights", weights, len(players), "players", 1.0)
    for name, weight in zip(players, weights, strict=True):
        if not is_usable_as_name(name):
            raise ValueError(f"{location}{format_value_for_error(name)} cannot be the name of a player")
        if _check_finite_number(location, "weight", weight) <= 0:
            raise ValueError(f"{location}weight {float(weight)} of player {name!r} is not above 0; leave them out")
    return [(name, float(weight)) for name, weight in zip(players, weights, strict=True)]


def _list_or_default(location: str, subject: str, values: Any, count: int, unit: str, default: Any) -> list[Any]:
    """`values` as a list of one for each `unit`; None is a list of the default."""
    return [default] * count if values is None else _check_list_of_length(location, subject, values, count, unit)


def _check_list_of_length(
    location: str, subject: str, values: Any, count: int | None = None, unit: str = ""
) -> list[Any]:
    """`values` as a list of `count` values, one for each `unit`."""
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise ValueError(f"{location}{subject} must be a list, got {values!r}")
    items = list(values)
    if count is not None and len(items) != count:
        raise ValueError(f"{location}{subject} of {len(items)} {unit}, but there are {count}")
    return items


def _check_finite_number(location: str, subject: str, value: Any) -> float:
    number = to_float_or_none(value)
    if number is None or not np.isfinite(number):
        raise ValueError(f"{location}{subject} is {format_value_for_error(value)}, not a finite number")
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
