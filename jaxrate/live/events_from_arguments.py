"""Single events from a caller's arguments: checked as columns are, and turned back into arguments."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import check_not_traced, is_sized
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error, join_names
from jaxrate.data.column_conversion import is_usable_as_name
from jaxrate.data.lookalike_names import accentless_key, similar_names_hint, unstorable_reason, warn_new_names
from jaxrate.events import LAST_ID, Context, Matches, NameFormatters, Ragged, Rounds, build_rounds, matches
from jaxrate.live.compiled_event_programs import pack_event
from jaxrate.live.live_state import LiveState

MAX_COMPARED_NAMES = 10_000  # names with which a newcomer's is compared
EVENT_NAMES = {Matches: "matches", Rounds: "contests"}
NAME_TYPES: tuple[Any, ...] = (
    str,
    bytes,
    (int, float, np.integer, np.floating),
)  # types of names; a table needs names of one type

CONTEST_FIELDS = "weight", "ceiling", "noise", "category", "columns"
EMPTY_MATCH = Matches(np.zeros(2, np.int32), np.zeros(()), np.zeros(()))
OPTIONAL_LEAVES = None, np.zeros(())
MATCH_FORMS = {  # structures of matches without and with a side and a weight
    (i, j): pack_event(EMPTY_MATCH._replace(context=Context(OPTIONAL_LEAVES[i], OPTIONAL_LEAVES[j])))[0]
    for i in (False, True)
    for j in (False, True)
}


def check_number(name: str, value: Any, low: float, high: float, exclusive_low: bool = False) -> float:
    """A number from `low` to `high`; with `exclusive_low` above `low`. ValueError for anything else."""
    if type(value) is not float:
        check_not_traced(name, value, "jr.scan rates what is traced")
        array = np.asarray(value)
        if array.shape != () or array.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be a number, got {format_value_for_error(value)}")
        value = float(array)
    if not (low <= value <= high) or (exclusive_low and value <= low) or value == np.inf:
        bounds = f"a finite number above {low:g}" if exclusive_low else f"from {low:g} to {high:g}"
        raise ValueError(f"{name} must be {bounds}, got {value}")
    return value


def check_player_name_storable(name: Any, others: Sequence[Any]) -> None:
    """ValueError unless a table can hold the name together with others."""
    kind = next((kind for kind in NAME_TYPES if isinstance(name, kind)), None)
    if kind is None or isinstance(name, bool) or not is_usable_as_name(name):
        raise ValueError(f"{format_value_for_error(name)} cannot be the name of a player")
    if isinstance(name, str) and not name.strip():
        raise ValueError(f"a player needs a name, got {name!r}")
    if reason := unstorable_reason(name):
        raise ValueError(f"player {format_value_for_error(name)} {reason}")
    if others and not isinstance(others[0], kind):
        raise ValueError(
            f"player {format_value_for_error(name)} is of another type than "
            f"{format_value_for_error(others[0])}; a table needs names of one"
        )


def warn_similar_newcomers(newcomers: Sequence[Any], names: Sequence[Any], stacklevel: int) -> None:
    """UserWarning where text names somebody who has not played, and looks like one of these names."""
    for name in newcomers if len(names) <= MAX_COMPARED_NAMES else ():
        if isinstance(name, str) and (similar := similar_names_hint(name, names)):
            text = f"{format_value_for_error(name)} has not played, and is predicted as a newcomer{similar}"
            warnings.warn(text, UserWarning, stacklevel=stacklevel)


def warn_newcomers_like_players(
    newcomers: Sequence[Any], current: LiveState, names_by_key: dict[str, str], stacklevel: int
) -> None:
    """UserWarning where a newcomer's name differs from a player's only by blanks, letter case or accents.

    Args:
      newcomers: names.
      current: the state of the history.
      names_by_key: names by `accentless_key`, of all that the history had since it began; changed in place.
      stacklevel: as of `warnings.warn`.
    """
    if not names_by_key:
        if current.players > MAX_COMPARED_NAMES:
            return
        names = filter(lambda name: isinstance(name, str), current.names[: current.players])
        names_by_key.update((accentless_key(name), name) for name in names)
    pairs = []
    for name in filter(lambda name: isinstance(name, str), newcomers):
        known = names_by_key.setdefault(accentless_key(name), name)
        if known not in current.ids:  # which was undone, or is this one
            names_by_key[accentless_key(name)] = name
        elif known != name:
            pairs.append((name, known))
    warn_new_names(pairs, "blanks, letter case or accents", stacklevel + 1)


def check_player_names(players: Sequence[Any] | None) -> list[Any]:
    """The names of players; ValueError for one that a table cannot hold with the others, or that is repeated."""
    names: list[Any] = np.asarray([] if players is None else players, object).tolist()
    for name in names:
        check_player_name_storable(name, names[:1])
    if len(set(names)) < len(names):
        raise ValueError("players names somebody twice")
    return names


def build_match(ids: list[int], score: float, time: float, context: Mapping[str, Any], categories: Any) -> Matches:
    """One checked match as `Matches`; categories are names if the history has names, or numbers."""
    match_columns: dict[str, Any] = {}
    for name, value in context.items():
        if name in ("side", "weight"):
            match_columns[name] = [value]
        elif name == "columns":
            match_columns[name] = {key: [x] for key, x in value.items()} if isinstance(value, Mapping) else value
        elif name == "category":
            pair = [value] * 2 if np.ndim(value) == 0 else list(value)
            match_columns[name] = [[_category_index(x, categories) for x in pair]]
        else:
            hint = f"; give {name} as columns={{{name!r}: {value!r}}}" if isinstance(value, (int, float)) else ""
            raise ValueError(f"a match has no {name!r}; it has side, weight, category and columns{hint}")
    return matches([ids], [score], [time], **match_columns)


def _category_index(value: Any, categories: Any) -> Any:
    if categories is None or np.ndim(value):
        return value
    category_names = categories.tolist()
    if value not in category_names:
        raise ValueError(f"no category {value!r}; there are {', '.join(map(str, category_names))}")
    return category_names.index(value)


def to_teams(players: Any) -> list[list[Any]]:
    """Teams as lists of names; a name outside a list is a team of one."""
    if not isinstance(players, (list, tuple, np.ndarray)) or not is_sized(players) or not len(players):
        raise ValueError(
            f"players must be a list of names, or of lists of names, got {format_value_for_error(players)}"
        )
    teams = [list(x) if isinstance(x, (list, tuple, np.ndarray)) else [x] for x in players]
    if not all(teams):
        raise ValueError(f"team {teams.index([])} (counting from 0) has no players")
    return teams


def build_contest(
    ids: list[int],
    sizes: list[int],
    rank: Any,
    time: float,
    context: Mapping[str, Any],
    categories: Any,
    name_of_index: Callable[[int], Any],
) -> Ragged:
    """One checked contest, as rounds, of teams of these sizes; categories as in `build_match`."""
    rank = np.arange(len(sizes)) if rank is None else np.asarray(rank)
    if rank.shape != (len(sizes),):
        raise ValueError(
            f"rank must have {len(sizes)} numbers, one for each player or team, got "
            f"{format_value_for_error(rank.tolist())}"
        )
    team, count = np.repeat(np.arange(len(sizes)), sizes), len(ids)
    round_columns: dict[str, Any] = {}
    for name, value in context.items():
        if name not in CONTEST_FIELDS:
            hint = f"; give {name} as columns={{{name!r}: {value!r}}}" if isinstance(value, (int, float)) else ""
            raise ValueError(f"a contest has no {name!r}; it has {join_names(CONTEST_FIELDS)}{hint}")
        if value is None:
            continue
        if name == "columns" and isinstance(value, Mapping):
            round_columns[name] = {key: _value_per_player(x, count) for key, x in value.items()}
        elif name == "category":
            each = value if np.ndim(value) else [value] * count
            round_columns[name] = [_category_index(x, categories) for x in each]
        else:
            round_columns[name] = value if name == "columns" else _value_per_player(value, count)
    formatters = NameFormatters(player=lambda i: repr(name_of_index(i)))
    return build_rounds(
        np.zeros(count, int),
        ids,
        rank[team],
        team=team,
        time=np.full(count, time),
        formatters=formatters,
        **round_columns,
    )


def _value_per_player(value: Any, count: int) -> Any:
    """[count] values: one for every player as they are, a single one for all."""
    if isinstance(value, (list, tuple)) and all(isinstance(x, (list, tuple, np.ndarray)) for x in value):
        value = [x for team in value for x in team]  # nested as the teams
    return value if np.ndim(value) else np.full(count, value)


def match_context_to_arguments(match: Matches, categories: Any) -> dict[str, Any]:
    """The context of a match, as arguments of `build_match`."""
    context = match.context
    match_columns: dict[str, Any] = {"side": context.side, "weight": context.weight, "category": context.category}
    match_columns = {name: x.tolist() for name, x in match_columns.items() if x is not None}
    if categories is not None and context.category is not None and np.ndim(context.category) == 1:
        match_columns["category"] = [categories.tolist()[i] for i in match_columns["category"]]
    if context.columns:
        match_columns["columns"] = {name: float(x) for name, x in context.columns.items()}
    return match_columns


def contest_to_build_contest_arguments(
    contest: Rounds, categories: Any
) -> tuple[list[int], list[int], float, dict[str, Any]]:
    """The arguments of `build_contest` of a padded contest: ids, sizes of teams, time, and context."""
    is_participant = contest.rank != LAST_ID
    sizes = np.unique(contest.team[is_participant], return_counts=True)[1]
    context: dict[str, Any] = {"weight": contest.weight[is_participant]}
    context |= {"ceiling": contest.ceiling, "noise": contest.noise}
    if contest.category is not None:
        category = np.asarray(contest.category)[is_participant].tolist()
        is_named = categories is not None and np.ndim(contest.category) == 1
        context["category"] = categories[category].tolist() if is_named else category
    if contest.columns:
        context["columns"] = {name: np.asarray(x)[is_participant] for name, x in contest.columns.items()}
    return contest.player[is_participant].tolist(), sizes.tolist(), float(contest.time), context


def contest_team_ranks(contest: Rounds) -> HostArray:
    """[teams] the ranks of the teams of a padded contest."""
    is_participant = contest.rank != LAST_ID
    return np.asarray(contest.rank[is_participant][np.unique(contest.team[is_participant], return_index=True)[1]])


def to_host_prediction(prediction: Any) -> Any:
    """A prediction on the host; a single number as a float."""
    return float(prediction) if getattr(prediction, "shape", None) == () else prediction
