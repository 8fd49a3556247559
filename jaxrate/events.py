"""The three kinds of event, their host-side builders and the checks at the door.

Rules (see `system.py`) see one event; these containers hold one event or any batch of them, written `[...]`.
Histories whose events differ in size are `Ragged`: the same container with the events end to end.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = Any  # jax.Array, a tracer of one, or numpy.ndarray

LAST_ID = np.iinfo(np.int32).max
FAR = 1e12  # times beyond it are taken for a mistake, such as milliseconds


class Context(NamedTuple):
    """What else is known of a match. A field that the data lack is None and costs nothing."""

    side: Array | None = None  # [...] 1 if player 0 has the side advantage, -1 if player 1 has, 0 if neither
    weight: Array | None = None  # [...] a match of weight w counts as w matches
    category: Array | None = None  # [..., 2] each player's category, from 0; or [..., 2, C] their shares of C of them
    columns: dict[str, Array] | None = None  # [...] any further numbers, by name; in padding those of another match


class Matches(NamedTuple):
    """Games of two players."""

    player: Array  # [..., 2] which rows of the state
    score: Array  # [...] of player 0, in [0, 1]; a draw is one half
    time: Array  # [...] not decreasing; days, or any unit of one's own
    context: Context = Context()


class Periods(NamedTuple):
    """Rating periods: all games of a period are rated together, at the ratings before it."""

    player: Array  # [..., A] the active players
    pair: Array  # [..., M, 2] positions in `player`
    score: Array  # [..., M] of the pair's first player, in [0, 1]
    time: Array  # [...] the start of the period, on the clock of the matches
    context: Context = Context()  # leaves [..., M]; `weight` is never None: 0 marks padding


class Rounds(NamedTuple):
    """Contests of many players or teams, ranked."""

    player: Array  # [..., P] the participants
    rank: Array  # [..., P] from 0, lower is better, equal is a tie: the number of participants strictly better
    team: Array  # [..., P] from 0; equal numbers play together
    weight: Array  # [..., P] of the contest, or partial play, above 0; 0 marks padding
    time: Array  # [...] contests count in their order; where time matters it must not decrease
    ceiling: Array | None = None  # [...] performances above it count as it; inf: none
    teams: Array | None = None  # [..., T] of any values: there are at most T teams. None: as many as participants
    strict: Array | None = None  # [...] of any value: no teams tie. None: some may. (The runner fills these two in.)


class Ragged(NamedTuple):
    """A history of periods or rounds of differing sizes, end to end: every leaf is flat."""

    events: Periods | Rounds  # `time` [E]; leaves of players [sum A]; leaves of pairs [sum M]
    player_start: np.ndarray[Any, Any]  # [E + 1] where each event's players begin
    pair_start: np.ndarray[Any, Any] | None  # [E + 1] where each period's pairs begin; None for rounds


def fail_where(bad: Any, say: Callable[[int], str]) -> None:
    """ValueError about the first row where `bad`; `say(row)` is the message."""
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row} (counting from 0): {say(row)}")


@contextmanager
def in_contest(label: Callable[[int], str]) -> Iterator[None]:
    """Errors about a row also say what `label(row)` does, its contest, if there is one and they do not yet."""
    try:
        yield
    except ValueError as error:
        row = re.match(r"row (\d+) \(counting from 0\)", str(error))
        contest = label(int(row[1])) if row else ""
        if contest in str(error):
            raise
        raise ValueError(f"{error} ({contest})") from None


def _column(name: str, values: Any, shape: tuple[int, ...], endless: bool = False) -> np.ndarray[Any, Any]:
    """`values` as finite numbers of this shape; `endless` allows inf."""
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers, got {array.dtype}")
    absent = ~np.isfinite(array) & ~(endless & (array == np.inf))
    fail_where(absent, lambda row: f"{name} is {array[row]}, not a finite number")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _labels(name: str, values: Any, n: int) -> np.ndarray[Any, Any]:
    """Numbers that only need to be told apart: integers stay integers, since floats would merge large ones."""
    array = np.asarray(values)
    return array if array.shape == (n,) and array.dtype.kind in "iu" else _column(name, values, (n,))


def _ids(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integer ids from 0, got {array.dtype}; `read` turns names into ids")
    if array.size and (array.min() < 0 or array.max() >= LAST_ID):
        fail_where(
            ((array < 0) | (array >= LAST_ID)).reshape(len(array), array.size // len(array)).any(axis=1),
            lambda row: f"{name} is {array[row]}; ids run from 0 to {LAST_ID - 1}",
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def _times(values: Any, n: int) -> np.ndarray[Any, Any]:
    time = _column("time", values, (n,))
    far = "is too far from 0; count in days, or in another unit that keeps numbers small"
    fail_where(np.abs(time) > FAR, lambda row: f"time {time[row]} {far}")
    return time


def _sorted(name: str, time: np.ndarray[Any, Any], advice: str) -> None:
    fail_where(
        np.concatenate([np.zeros(min(1, len(time)), bool), time[1:] < time[:-1]]),
        lambda row: f"{name} {time[row]} is earlier than {time[row - 1]} in the row before; {advice}",
    )


def matches(
    player: Any,
    score: Any,
    time: Any = None,
    *,
    side: Any = None,
    weight: Any = None,
    category: Any = None,
    columns: Mapping[str, Any] | None = None,
) -> Matches:
    """Checked `Matches` from columns.

    Args:
      player: [n, 2] integer ids from 0 (`jaxrate.read` makes them from names).
      score: [n] of player 0 in [0, 1]; a draw is 0.5. Unbounded scores, as in poker, are out of scope.
      time: [n] finite, not decreasing, in days or any unit of one's own. None: 0 for all, so no time passes. In float32
        a time is kept to 1 part in 10^7; if minutes matter in a history of decades, run in float64.
      side: [n] in [-1, 1]; 1 if player 0 has the side advantage (home, white), -1 if player 1 has. None: nobody.
      weight: [n] above 0; a match of weight w counts as w matches. None: 1.
      category: [n] or [n, 2] integers from 0: of the match or of each player in it; or [n, 2, C] shares of C categories
        that each player mixes, as a random race does, which sum to one.
      columns: by name, [n] finite numbers: whatever else a system of one's own may read of a match, as a margin. They
        travel with the matches; the systems that come with the package read none.

    Raises:
      ValueError: names the first bad row, counting from 0, and what is wrong with it.
    """
    n = np.size(score)
    player = _ids("player", player, (n, 2))
    fail_where(player[:, 0] == player[:, 1], lambda row: f"player {player[row, 0]} meets himself; remove the row")
    score = _column("score", score, (n,))
    fail_where(
        (score < 0) | (score > 1),
        lambda row: f"score {score[row]} is outside [0, 1]; rescale it, or make it win, draw, loss",
    )
    time = np.zeros(n) if time is None else _times(time, n)
    _sorted("time", time, "sort the matches by time")
    if side is not None:
        side = _column("side", side, (n,))
        fail_where(np.abs(side) > 1, lambda row: f"side {side[row]} is outside [-1, 1]")
    if weight is not None:
        weight = _column("weight", weight, (n,))
        fail_where(weight <= 0, lambda row: f"weight {weight[row]} is not above 0; remove the row")
    if category is not None:
        category = _categories(category, n)
    return Matches(player, score, time, Context(side, weight, category, _further(columns, n)))


def _further(columns: Mapping[str, Any] | None, n: int) -> dict[str, Array] | None:
    """Checked further columns of matches; None if there are none."""
    if columns is not None and not isinstance(columns, Mapping):
        raise ValueError(f"columns must be a dict of arrays by name, got {columns!r}")
    for name in columns or ():
        if not isinstance(name, str):
            raise ValueError(f"the name of a column must be text, got {name!r}")
        if name in Context._fields:
            raise ValueError(f"a column must not be called {name!r}, as a part of the context is; rename it")
    return {name: _column(f"column {name!r}", values, (n,)) for name, values in (columns or {}).items()} or None


def _categories(values: Any, n: int) -> np.ndarray[Any, Any]:
    """Ids [n, 2], or shares [n, 2, C]."""
    array = np.asarray(values)
    if array.ndim != 3:
        return _ids("category", np.stack([array] * 2, axis=-1) if array.ndim == 1 else array, (n, 2))
    if array.shape[:2] != (n, 2) or array.dtype.kind not in "biuf":
        want = f"({n}, 2) ids or ({n}, 2, number of categories) shares"
        raise ValueError(f"category has shape {array.shape} and type {array.dtype}, expected {want}")
    share = array.astype(np.float64)
    off = ~((share >= 0).all(axis=-1) & (abs(share.sum(axis=-1) - 1.0) <= 1e-6))

    def say(row: int) -> str:
        which = int(np.argmax(off[row]))
        return (
            f"the shares of categories of player {which} are {share[row, which].tolist()}; they are from 0 and sum to 1"
        )

    fail_where(off.any(axis=1), say)
    return share


def periods(matches: Matches, length: float | None = None, *, period: Any = None) -> Ragged:
    """Group matches into rating periods.

    Args:
      matches: as from `matches` or `read`.
      length: of a period, in the unit of `matches.time`. Period k covers [k length, (k + 1) length).
      period: [n] period numbers that do not decrease, instead of a length; they become the time. Systems that age need
        to know how long a period is: `period=1` goes with numbers, `period=length` with a length.

    Returns:
      `Ragged` periods, pairs in the order of the matches; periods without a match are not stored: players age by the
      clock when they are next touched, or when ratings "as of" a later time are asked for.

    Raises:
      ValueError: if not exactly one of length and period is given, if the length is not a positive number, or if the
        period numbers decrease (names the row).
    """
    n = len(matches.score)
    if (length is None) == (period is None):
        raise ValueError("give either the length of a period or the period of each match")
    if length is not None:
        if not (np.isfinite(length) and length > 0):
            raise ValueError(f"the length of a period must be above 0, got {length}")
        number = period_number(matches.time, length)
        start = number * length
    else:
        number = start = _column("period", period, (n,)).astype(np.float64)
        _sorted("period", number, "sort the matches by period")
    first = np.flatnonzero(np.diff(number, prepend=np.nan))  # the first match of each period
    which = np.cumsum(np.diff(number, prepend=number[:1]) != 0)
    player = np.asarray(matches.player, np.int64)
    width = int(player.max(initial=0)) + 1
    key, local = np.unique((which[:, None] * width + player).ravel(), return_inverse=True)
    player_start = np.searchsorted(key // width, np.arange(len(first) + 1)).astype(np.int64)
    pair = (local.reshape(n, 2) - player_start[which][:, None]).astype(np.int32)
    context = matches.context
    context = context._replace(weight=np.ones(n) if context.weight is None else context.weight)
    return Ragged(
        Periods((key % width).astype(np.int32), pair, matches.score, start[first], context),
        player_start,
        np.append(first, n).astype(np.int64),
    )


def period_number(time: Any, length: float) -> np.ndarray[Any, Any]:
    """Which period each time lies in."""
    return np.floor(np.asarray(time, np.float64) / length)


def rounds(
    contest: Any,
    player: Any,
    rank: Any,
    *,
    team: Any = None,
    weight: Any = None,
    time: Any = None,
    ceiling: Any = None,
) -> Ragged:
    """`Ragged` rounds from a long table, one row per participant, the rows of a contest together.

    The contests count in this order. Their times matter only to systems in which time passes, and only then must not
    decrease: `run` sees to it.

    Args:
      contest: [n] any integers; a change of number begins a new contest.
      player: [n] integer ids from 0, no player twice in a contest.
      rank: [n] finite, lower is better, equal is a tie. (Negate a score that is better when higher.)
      team: [n] integers; participants of a contest with the same number play together and must share their rank.
        None: everyone for himself.
      weight: [n] of the contest, or partial play, above 0. None: 1.
      time: [n] the same within a contest. None: no time passes.
      ceiling: [n] the same within a contest: performances above it count as it; inf: none. None: none anywhere.

    Raises:
      ValueError: names the first bad row, counting from 0, its contest, and what is wrong with it.

    Warns:
      UserWarning: if contests have a single participant; systems of ranks learn nothing from them.
    """
    ragged = build_rounds(contest, player, rank, team=team, weight=weight, time=time, ceiling=ceiling)
    warn_alone(ragged, lambda row: str(np.asarray(contest)[row]), stacklevel=3)
    return ragged


def warn_alone(ragged: Ragged, label: Callable[[int], str], stacklevel: int) -> None:
    """UserWarning if contests have one participant; `label(row)` names the contest of a row."""
    alone = np.flatnonzero(np.diff(ragged.player_start) == 1)
    if len(alone):
        first = label(int(ragged.player_start[alone[0]]))
        count = f"contest {first} has" if len(alone) == 1 else f"{len(alone):,} contests, {first} the first, have"
        warnings.warn(
            f"{count} one participant; that changes nothing in systems of ranks", UserWarning, stacklevel=stacklevel
        )


def count_teams(ragged: Ragged) -> np.ndarray[Any, Any]:
    """[E] how many teams each contest has; who plays for himself is one."""
    rounds: Any = ragged.events
    first = ragged.player_start[:-1]
    return np.maximum.reduceat(rounds.team, first) + 1 if len(first) else np.zeros(0, np.int32)


def teams_tie(ragged: Ragged) -> bool:
    """Whether two teams of a contest have the same rank."""
    rounds: Any = ragged.events
    first = np.repeat(ragged.player_start[:-1], np.diff(ragged.player_start))
    ranks = np.count_nonzero(np.bincount(first + rounds.rank))
    return bool(ranks < count_teams(ragged).sum())


def check_order(ragged: Ragged, show: Callable[[Any], str] = str) -> None:
    """ValueError if the times of the contests decrease; names the first row of the contest. `show` says a time."""
    time, start = np.asarray(ragged.events.time), ragged.player_start
    early = np.flatnonzero(time[1:] < time[:-1]) + 1
    if len(early):
        now, before = (show(time[i]) for i in (early[0], early[0] - 1))
        late = f"time {now} is earlier than {before} in the row before"
        raise ValueError(f"row {start[early[0]]} (counting from 0): {late}; sort the contests by time")


def build_rounds(
    contest: Any, player: Any, rank: Any, *, team: Any = None, weight: Any = None, time: Any = None, ceiling: Any = None
) -> Ragged:
    """`rounds` without the warning."""
    n = np.size(contest)
    contest = _labels("contest", contest, n)
    with in_contest(lambda row: f"contest {contest[row]}"):
        player = _ids("player", player, (n,))
        rank = _column("rank", rank, (n,)).astype(np.float64)
        weight = np.ones(n) if weight is None else _column("weight", weight, (n,))
        fail_where(weight <= 0, lambda row: f"weight {weight[row]} is not above 0; remove the row")
        time = np.zeros(n) if time is None else _times(time, n)
        ceiling = None if ceiling is None else _column("ceiling", ceiling, (n,), endless=True)
        team = None if team is None else _labels("team", team, n)
    new = np.concatenate([np.ones(min(1, n), bool), contest[1:] != contest[:-1]])
    first = np.flatnonzero(new)
    which = np.cumsum(new) - 1
    once = np.unique(contest[first], return_index=True)[1]
    again = np.ones(n, bool)
    again[~new] = False
    again[first[once]] = False
    fail_where(again, lambda row: f"contest {contest[row]} begins a second time; put the rows of a contest together")
    _constant("time", time, contest, first[which])
    if ceiling is not None:
        _constant("ceiling", ceiling, contest, first[which])
    fail_where(_repeats(which, player), lambda row: f"player {player[row]} is in contest {contest[row]} twice")
    if team is None:
        team = np.arange(n) - first[which]
    else:
        order = np.lexsort((np.arange(n), team, which))
        head = np.concatenate([[True], (np.diff(which[order]) != 0) | (np.diff(team[order]) != 0)])[:n]
        label = np.cumsum(head) - 1
        local = np.empty(n, np.int64)
        local[order] = label - label[first][which]
        captain = np.empty(n, np.int64)
        captain[order] = order[np.flatnonzero(head)][label]
        team = local
        fail_where(
            rank != rank[captain],
            lambda row: (
                f"rank {rank[row]} differs from {rank[captain[row]]} of the same team in row {captain[row]} "
                f"(contest {contest[row]})"
            ),
        )
    return Ragged(
        Rounds(
            player,
            count_better(which, rank),
            team.astype(np.int32),
            weight,
            time[first],
            None if ceiling is None else ceiling[first],
        ),
        np.append(first, n).astype(np.int64),
        None,
    )


def count_better(which: Any, rank: Any) -> np.ndarray[Any, Any]:
    """[n] how many have a strictly lower rank in the same contest; `which` numbers the contests, 0, 0, 1, ..."""
    n, first = len(rank), np.flatnonzero(np.diff(which, prepend=-1))
    order = np.lexsort((rank, which))
    head = np.concatenate([[True], (np.diff(which[order]) != 0) | (np.diff(rank[order]) != 0)])[:n]
    better = np.empty(n, np.int32)
    better[order] = np.maximum.accumulate(np.where(head, np.arange(n), 0)) - first[which]
    return better


def _constant(name: str, values: Any, contest: Any, first: Any) -> None:
    differs = values != values[first]
    fail_where(differs, lambda row: f"{name} {values[row]} differs within contest {contest[row]}")


def _repeats(which: np.ndarray[Any, Any], player: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """[n] whether the player stands in an earlier row of the same event."""
    repeats = np.zeros(len(player), bool)
    key = which * (player.max(initial=0) + np.int64(1)) + player
    if (np.diff(np.sort(key)) == 0).any():
        order = np.argsort(key, kind="stable")
        repeats[order[1:][np.diff(key[order]) == 0]] = True
    return repeats


def part(events: Any, low: int, high: int) -> Any:
    """Events number `low` up to, but without, `high` of `Matches` or `Ragged`."""

    def context(values: Context, cut: slice) -> Context:
        columns = values.columns and {name: x[cut] for name, x in values.columns.items()}
        side, weight, category = (None if x is None else x[cut] for x in values[:3])
        return Context(side, weight, category, columns)

    number = slice(low, high)
    if isinstance(events, Matches):
        one = events.player[number], events.score[number], events.time[number]
        return Matches(*one, context(events.context, number))
    flat, starts = events.events, events.player_start[low : high + 1]
    players = slice(starts[0], starts[-1])
    if isinstance(flat, Rounds):
        player, rank, team, weight = (x[players] for x in flat[:4])
        ceiling = None if flat.ceiling is None else flat.ceiling[number]
        return Ragged(Rounds(player, rank, team, weight, flat.time[number], ceiling), starts - starts[0], None)
    begin = events.pair_start[low : high + 1]
    pairs = slice(begin[0], begin[-1])
    rest = flat.pair[pairs], flat.score[pairs], flat.time[number], context(flat.context, pairs)
    return Ragged(Periods(flat.player[players], *rest), starts - starts[0], begin - begin[0])
