"""Single events from what a caller tells of them: checked as columns are, and put end to end again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxrate.argument_checks import check_not_traced
from jaxrate.data.column_conversion import is_name
from jaxrate.data.lookalike_names import unstorable_reason
from jaxrate.events import LAST_ID, Context, Matches, NameFormatters, Ragged, Rounds, build_rounds, matches
from jaxrate.live.event_programs import pack_event
from jaxrate.text_format import format_cell

EVENT_NAMES = {Matches: "matches", Rounds: "contests"}
NAME_TYPES: tuple[Any, ...] = (
    str,
    bytes,
    (int, float, np.integer, np.floating),
)  # of names, which a table can hold if all are of one

EMPTY_MATCH = Matches(np.zeros(2, np.int32), np.zeros(()), np.zeros(()))
OPTIONAL_LEAVES = None, np.zeros(())
MATCH_FORMS = {  # of matches, by whether a side and a weight are given
    (i, j): pack_event(EMPTY_MATCH._replace(context=Context(OPTIONAL_LEAVES[i], OPTIONAL_LEAVES[j])))[0]
    for i in (False, True)
    for j in (False, True)
}


def check_number(name: str, value: Any, low: float, high: float, exclusive_low: bool = False) -> float:
    """A number from `low` to `high`, or `above` the former; ValueError for anything else."""
    if type(value) is not float:
        check_not_traced(name, value, "jr.scan rates what is traced")
        array = np.asarray(value)
        if array.shape != () or array.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be a number, got {format_cell(value)}")
        value = float(array)
    if not (low <= value <= high) or (exclusive_low and value <= low) or value == np.inf:
        bounds = f"a finite number above {low:g}" if exclusive_low else f"from {low:g} to {high:g}"
        raise ValueError(f"{name} must be {bounds}, got {value}")
    return value


def check_name(name: Any, others: Sequence[Any]) -> None:
    """ValueError unless it can be a name beside others."""
    kind = next((kind for kind in NAME_TYPES if isinstance(name, kind)), None)
    if kind is None or isinstance(name, bool) or not is_name(name):
        raise ValueError(f"{format_cell(name)} cannot be the name of a player")
    if reason := unstorable_reason(name):
        raise ValueError(f"player {format_cell(name)} {reason}")
    if others and not isinstance(others[0], kind):
        raise ValueError(
            f"player {format_cell(name)} is of another type than {format_cell(others[0])}; a table needs names of one"
        )


def check_names(players: Sequence[Any] | None) -> list[Any]:
    """The names of players; ValueError for one that a table cannot hold beside the others, or that stands twice."""
    names: list[Any] = np.asarray([] if players is None else players, object).tolist()
    for name in names:
        check_name(name, names[:1])
    if len(set(names)) < len(names):
        raise ValueError("players names somebody twice")
    return names


def build_match(ids: list[int], score: float, time: float, context: Mapping[str, Any], categories: Any) -> Matches:
    """Checked `Matches`, one of them; categories by name, where there are names, or by number."""
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
            raise ValueError(f"a match has no {name!r}; it has side, weight, category and columns")
    return matches([ids], [score], [time], **match_columns)


def _category_index(value: Any, categories: Any) -> Any:
    if categories is None or np.ndim(value):
        return value
    known = categories.tolist()
    if value not in known:
        raise ValueError(f"no category {value!r}; there are {', '.join(map(str, known))}")
    return known.index(value)


def as_teams(players: Any) -> list[list[Any]]:
    """Names of teams; a name that is in no list is a team of one."""
    if not isinstance(players, (list, tuple, np.ndarray)) or not len(players):
        raise ValueError(f"players must be a list of names, or of lists of names, got {format_cell(players)}")
    teams = [list(x) if isinstance(x, (list, tuple, np.ndarray)) else [x] for x in players]
    if not all(teams):
        raise ValueError(f"team {teams.index([])} (counting from 0) has no players")
    return teams


def build_contest(
    ids: list[int],
    sizes: list[int],
    rank: Any,
    time: float,
    weight_ceiling_noise: Sequence[Any],
    name_of_index: Callable[[int], Any],
) -> Ragged:
    """Checked rounds, one of them, of teams of these sizes; `more` is weight, ceiling and noise."""
    rank = np.arange(len(sizes)) if rank is None else np.asarray(rank)
    if rank.shape != (len(sizes),):
        raise ValueError(
            f"rank must have {len(sizes)} numbers, one for each player or team, got {format_cell(rank.tolist())}"
        )
    team, count = np.repeat(np.arange(len(sizes)), sizes), len(ids)
    round_columns = {
        key: x if np.ndim(x) else np.full(count, x)
        for key, x in zip(("weight", "ceiling", "noise"), weight_ceiling_noise, strict=True)
        if x is not None
    }
    shown = NameFormatters(player=lambda i: repr(name_of_index(i)))
    return build_rounds(
        np.zeros(count, int), ids, rank[team], team=team, time=np.full(count, time), formatters=shown, **round_columns
    )


def match_context(match: Matches, categories: Any) -> dict[str, Any]:
    """What `one_match` was told of a match beside players, score and time."""
    context = match.context
    match_columns: dict[str, Any] = {"side": context.side, "weight": context.weight, "category": context.category}
    match_columns = {name: x.tolist() for name, x in match_columns.items() if x is not None}
    if categories is not None and context.category is not None and np.ndim(context.category) == 1:
        match_columns["category"] = [categories.tolist()[i] for i in match_columns["category"]]
    if context.columns:
        match_columns["columns"] = {name: float(x) for name, x in context.columns.items()}
    return match_columns


def contest_arguments(contest: Rounds) -> tuple[list[int], list[int], float, tuple[Any, ...]]:
    """The ids, sizes of teams, time, and further arguments that `one_contest` made a padded contest of."""
    there = contest.rank != LAST_ID
    sizes = np.unique(contest.team[there], return_counts=True)[1]
    more = contest.weight[there], contest.ceiling, contest.noise
    return contest.player[there].tolist(), sizes.tolist(), float(contest.time), more


def to_host_prediction(prediction: Any) -> Any:
    """A prediction on the host; a number alone as a float."""
    return float(prediction) if getattr(prediction, "shape", None) == () else prediction
