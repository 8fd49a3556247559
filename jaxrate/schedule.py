"""Which events may be rated at the same time: the host side of exact parallel replay.

Two events without a common player commute. So each event goes to the earliest step that comes after the steps of the
previous events of all its players and still has room; the events of a step are rated together, and the result is that
of rating them one by one. (Room matters: capping a step while filling holes in later ones needs 19,287 steps of 64 for
936,248 tennis matches; splitting wide levels afterwards needs 23,404.)
"""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import LAST_ID, Array, Context, Matches, Periods, Ragged, Rounds, count_teams, matches

NumPy = np.ndarray[Any, Any]
Result = TypeVar("Result")
_CHUNKS = 1 << 13, 1 << 16, 1 << 18, 1 << 20  # entries per call of the scheduling scan: few sizes, few compilations


def _at_once(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compute it now, on concrete events, also where the caller is being traced."""

    @wraps(function)
    def eager(*args: Any, **options: Any) -> Result:
        with jax.ensure_compile_time_eval():
            return function(*args, **options)

    return eager


class Plan(NamedTuple):
    """Matches arranged for the runner: as a stream, or in steps of disjoint matches (levels)."""

    events: Matches  # stream: leaves [n, ...]; levels: `player` [steps, 2, width], the rest [steps, ..., width]
    number: Array | None  # levels: [steps, width] which match stands in a slot; n or more: padding. None: a stream
    num_players: int
    num_matches: int

    @property
    def fill(self) -> float:
        """The share of slots that hold a match."""
        return 1.0 if self.number is None else self.num_matches / max(self.number.size, 1)


class Block(NamedTuple):
    """Some steps of ragged events, all padded to one size."""

    number: NumPy  # [steps, batch] which event stands in a slot; E or more: padding
    size: tuple[int, int]  # players, and pairs or teams, an event is padded to


@partial(jax.jit, donate_argnums=0)
def _assign(carry: tuple[Array, ...], player: Array, kind: Array, width: Array) -> tuple[tuple[Array, ...], Array]:
    """A scan over the participants of events, each event's listed twice: to read, then to write.

    `kind` is 0 for a read, 1 for an event's last read, where its step is chosen, 2 for a write. The carry is
    last [players]: the step after a player's last event; used [steps]; after [steps]: a later step that may have room
    (shortened as it is walked); the step from which the event is ready; its step; `last` of the current player.
    """

    def read(x: Array, i: Array) -> Array:
        return lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)

    def write(x: Array, value: Array, i: Array) -> Array:
        return lax.dynamic_update_index_in_dim(x, value, i, 0, allow_negative_indices=False)

    def body(carry: tuple[Array, ...], entry: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
        last, used, after, ready, step, seen = carry
        player, kind, next_player = entry
        ready = jnp.maximum(ready, seen)
        choose, spare = kind == 1, after.shape[0] - 1
        found = lax.while_loop(lambda s: choose & (read(used, s) >= width), lambda s: read(after, s), ready)
        after = write(after, jnp.maximum(found, ready + 1), jnp.where(choose, ready, spare))
        used = write(used, read(used, found) + 1, jnp.where(choose, found, spare))
        step = jnp.where(choose, found, step)
        last = write(last, jnp.where(kind == 2, step + 1, seen), player)
        return (last, used, after, jnp.where(kind == 2, 0, ready), step, read(last, next_player)), step

    carry = (*carry[:-1], read(carry[0], player[0]))
    return lax.scan(body, carry, (player, kind, jnp.append(player[1:], player[-1:])))


@_at_once
def assign_steps(player: NumPy, start: NumPy, width: int) -> NumPy:
    """The step of each event, when at most `width` share one: [E] int32.

    Args:
      player: [sum of sizes] ids of the participants, the events end to end in order of time.
      start: [E + 1] where each event's participants begin; no event is empty.
      width: the room of a step.
    """
    size = np.diff(start)
    num_events, cap = len(size), 1 << (len(size) + 2).bit_length()
    players = 1 << (int(player.max(initial=0)) + 2).bit_length()
    # On a GPU this scan would crawl, and without jit it would not end.
    with jax.default_device(_host()), jax.disable_jit(False):
        carry: tuple[Any, ...] = (jnp.zeros(players, jnp.int32), jnp.zeros(cap, jnp.int32))
        carry += (jnp.arange(1, cap + 1, dtype=jnp.int32), *(jnp.zeros(3, jnp.int32)))
        result = np.empty(num_events, np.int32)
        per_chunk = max(1, _CHUNKS[-1] // (2 * int(size.max(initial=1))))
        for low in range(0, num_events, per_chunk):
            high = min(low + per_chunk, num_events)
            entries, kind = _twice(player[start[low] : start[high]], size[low:high])
            longest = 1 << (len(entries) - 1).bit_length()  # an event may be larger than a chunk
            pad = next((c for c in _CHUNKS if c >= longest), longest) - len(entries)
            entries = np.pad(entries, (0, pad), constant_values=players - 1)
            carry, step = _assign(carry, entries, np.pad(kind, (0, pad)), np.int32(width))
            result[low:high] = np.asarray(step)[2 * np.cumsum(size[low:high]) - 1]
    return result


def _host() -> Any:
    """The CPU, or None (the default device) where JAX_PLATFORMS hides it."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


def _twice(player: NumPy, size: NumPy) -> tuple[NumPy, NumPy]:
    """Each event's participants listed twice in a row, and the `kind` of each entry (see `_assign`)."""
    if (size == size[0]).all():
        kind = np.zeros((2, size[0]), np.int8)
        kind[0, -1], kind[1] = 1, 2
        listed = np.broadcast_to(player.reshape(len(size), 1, size[0]), (len(size), *kind.shape))
        return listed.ravel(), np.broadcast_to(kind, listed.shape).ravel()
    first, own = np.repeat(np.cumsum(size) - size, 2 * size), np.repeat(size, 2 * size)
    entry = np.arange(len(own)) - 2 * first
    return player[first + entry % own], np.where(entry >= own, 2, entry == own - 1).astype(np.int8)


@_at_once
def by_level(events: Matches | Ragged, width: int | None = None) -> Plan | list[Block]:
    """Arrange events so that those without a common player are rated at once, in the order of each player's events.

    Args:
      events: concrete `Matches` (checked again here), or `Ragged` periods or rounds.
      width: of matches, the slots of a step. None: the power of two next to the mean width of an unlimited schedule,
        from 8 to 256 on a CPU and from 64 to 65,536 elsewhere.

    Returns:
      What `run(..., schedule=...)` takes. Of a `Plan`, `fill` is the share of slots in use.

    Raises:
      ValueError: for bad matches (names the row) or a width below 1.
    """
    if isinstance(events, Ragged):
        return list(blocks(events))
    if width is not None and not (isinstance(width, int) and width >= 1):
        raise ValueError(f"width must be a whole number from 1, got {width!r}")
    matches = check(events)
    if width is None:
        width = _width(_mean(matches))
    return _levels(matches, width)


@_at_once
def plan(
    matches: Matches, schedule: str | Plan | list[Block] = "auto", worth: float = 2.0, most: int = LAST_ID
) -> Plan:
    """The arrangement that `run` uses. "auto" is levels if a step holds at least `worth` matches, else a stream.

    A step gets the width of `by_level`, but no more slots than `most`.
    """
    if isinstance(schedule, Plan):
        if schedule.num_matches != len(matches.score):
            raise ValueError(f"the schedule is of {schedule.num_matches} matches, not of these {len(matches.score)}")
        return schedule
    if schedule not in ("auto", "stream", "levels"):
        raise ValueError(f'schedule must be "auto", "stream", "levels" or a plan from by_level, got {schedule!r}')
    matches = check(matches)
    n = len(matches.score)
    if schedule == "auto":  # there are no fewer steps than the busiest player has matches
        busiest = np.bincount(np.asarray(matches.player).ravel()).max(initial=0)
        schedule = "auto" if n >= worth * busiest else "stream"
    if schedule != "stream":
        mean = _mean(matches)
        if schedule == "levels" or mean >= worth:
            return _levels(matches, _width(mean, most))
    return Plan(on_device(matches), None, _num_players(matches), n)


def _width(mean: float, most: int = LAST_ID) -> int:
    return min(int(np.clip(2 ** np.round(np.log2(max(mean, 1))), *widths())), 1 << most.bit_length() - 1)


def widths() -> tuple[int, int]:
    """The narrowest and the widest step that is chosen by itself."""
    return (8, 256) if jax.default_backend() == "cpu" else (64, 65536)


def _assign_matches(matches: Matches, width: int) -> NumPy:
    player = np.asarray(matches.player)
    return assign_steps(player.ravel(), 2 * np.arange(len(player) + 1), width)


def _mean(matches: Matches) -> float:
    """Matches per step of an unlimited schedule."""
    return len(matches.score) / max(_count(_assign_matches(matches, LAST_ID)), 1)


def _count(step: NumPy) -> int:
    return int(step.max(initial=-1)) + 1


def check(raw: Matches) -> Matches:
    """`matches` on the columns of an existing container."""
    context = raw.context
    return matches(raw.player, raw.score, raw.time, side=context.side, weight=context.weight, category=context.category)


def _num_players(matches: Matches) -> int:
    return int(np.max(matches.player, initial=-1)) + 1


def on_device(events: Any) -> Any:
    """Floats in the default precision, ids as int32."""

    def cast(x: Any) -> Array:
        return jnp.array(x, dtype=jnp.int32 if x.dtype.kind == "i" else float)  # a copy: NumPy's may change

    return jax.tree.map(cast, events)


def _levels(matches: Matches, width: int) -> Plan:
    n, step = len(matches.score), _assign_matches(matches, width)
    order = np.argsort(step, kind="stable")
    num_steps = _count(step)
    begin = np.searchsorted(step[order], np.arange(num_steps))
    slot = np.arange(n) - begin[step[order]]
    index = n + np.arange(num_steps * width, dtype=np.int32).reshape(num_steps, width)
    index[step[order], slot] = order
    return Plan(_arrange(on_device(matches), index), jnp.asarray(index), _num_players(matches), n)


@jax.jit
def _arrange(events: Matches, index: Array) -> Matches:
    """Gather matches into slots, the slots last; padding is a draw between distinct players past the end."""
    width = index.shape[1]
    past = LAST_ID - 2 * jnp.arange(width, dtype=jnp.int32)
    real = index < events.score.shape[0]

    def gather(x: Array, fill: Any) -> Array:
        taken = jnp.moveaxis(x.at[index].get(mode="clip"), 1, -1)
        mask = real.reshape(len(index), *(1,) * (taken.ndim - 2), width)
        return jnp.where(mask, taken, jnp.broadcast_to(jnp.asarray(fill, x.dtype), taken.shape))

    return Matches(
        gather(events.player, jnp.stack([past - 1, past])),
        gather(events.score, 0.5),
        gather(events.time, 0.0),
        Context(*(None if x is None else gather(x, 0) for x in events.context)),
    )


# --- Periods and rounds: events of differing sizes. ---

WINDOW = 32  # steps that one call scans over, where their sizes are alike
_CANDIDATES = 128  # sizes considered
SIZES = 8  # padded sizes at most: each costs a compilation
SMALL = 64  # players and pairs below which padding costs nothing
CALL = 1000  # players and pairs that cost about as much as one more call
COMPILE = {Periods: 1_000_000, Rounds: 300_000}  # and that one more compilation must save


def blocks(ragged: Ragged) -> Iterator[Block]:
    """Cut a ragged history into blocks of equal padded size, in an order that is exact.

    Events are padded to one of at most `SIZES` sizes, those that add least. Disjoint events of a level and size are
    batched; `WINDOW` steps in a row become one block where that saves more calls than it costs.
    """
    players, others = sizes(ragged).T
    if len(players) == 0:
        return
    work = players if ragged.pair_start is None else players + others
    level = assign_steps(np.asarray(ragged.events.player), ragged.player_start, LAST_ID)
    price = COMPILE[type(ragged.events)]
    bound = _bounds(work, price)
    bucket = np.searchsorted(bound, work)
    size = [
        (int(players[bucket <= b].max(initial=1)), int(others[bucket <= b].max(initial=0))) for b in range(len(bound))
    ]
    cost = [one if ragged.pair_start is None else one + other for one, other in size]

    order = np.lexsort((np.arange(len(level)), bucket, level))
    cut = np.flatnonzero((np.diff(level[order]) != 0) | (np.diff(bucket[order]) != 0)) + 1
    groups = np.split(order, cut)
    batch = [_batch([len(g) for g in groups if bucket[g[0]] == b], cost[b]) for b in range(len(bound))]
    steps = [(int(bucket[g[0]]), part) for g in groups for part in _parts(g, batch[bucket[g[0]]])]
    alone = len(bound) == 1  # then either all are windows, as even as can be, or none
    length = -(-len(steps) // -(-len(steps) // WINDOW)) if alone else WINDOW
    windows = [steps[low : low + length] for low in range(0, len(steps), length)]
    kinds = [(max(b for b, _ in window), max(batch[b] for b, _ in window)) for window in windows]
    saved = [
        sum(CALL + batch[b] * cost[b] for b, _ in window) - CALL - length * width * cost[top]
        for window, (top, width) in zip(windows, kinds, strict=True)
    ]
    gain: dict[tuple[int, int], int] = {}  # by kind, of having its windows compiled as well
    for kind, saving in zip(kinds, saved, strict=True):
        gain[kind] = gain.get(kind, 0) + max(saving, 0)
    for window, kind, saving in zip(windows, kinds, saved, strict=True):
        if sum(saved) > 0 if alone else (saving > 0 and gain[kind] > price):
            top, width = kind
            yield Block(_pad([part for _, part in window], length, width, len(level)), size[top])
        else:
            for b, part in window:
                yield Block(_pad([part], 1, batch[b], len(level)), size[b])


def sizes(ragged: Ragged) -> NumPy:
    """[E, 2] players, and pairs or teams, of each event."""
    players = np.diff(ragged.player_start)
    if ragged.pair_start is not None:
        return np.stack([players, np.diff(ragged.pair_start)], axis=-1)
    return np.stack([players, count_teams(ragged)], axis=-1)


def _bounds(work: NumPy, price: int) -> NumPy:
    """The sizes, increasing, at most `SIZES`, to which these are padded at the least cost."""
    top = max(int(work.max()), SMALL)
    at = np.unique(np.ceil(np.geomspace(SMALL, top, _CANDIDATES))).astype(np.int64)
    count = np.cumsum(np.bincount(np.searchsorted(at, work), minlength=len(at)))
    count = np.concatenate([[0], count])
    # cost[i, j]: of padding what is above candidate i - 1 and at most candidate j to candidate j
    cost = np.where(np.arange(len(at))[:, None] <= np.arange(len(at)), (count[1:] - count[:-1, None]) * at, np.inf)
    best, last = cost[0], []
    for _ in range(SIZES - 1):  # best[j]: of padding all that is at most candidate j, with so many sizes
        total = np.concatenate([[np.inf], best[:-1]])[:, None] + cost
        better = np.min(total, axis=0)
        if better[-1] > best[-1] - price:
            break
        last.append(np.argmin(total, axis=0))
        best = better
    chosen = [len(at) - 1]
    for previous in reversed(last):
        chosen.append(int(previous[chosen[-1]]) - 1)
    return at[chosen[::-1]]


def _batch(lengths: list[int], cost: int) -> int:
    """How many disjoint events of one size share a step: the power of two that costs least."""

    def total(batch: int) -> int:
        return sum(-(-n // batch) for n in lengths) * (CALL + batch * cost)

    return min((1 << k for k in range(max(lengths, default=1).bit_length())), key=total)


def _parts(group: NumPy, batch: int) -> list[NumPy]:
    return [group[i : i + batch] for i in range(0, len(group), batch)]


def _pad(parts: list[NumPy], steps: int, batch: int, num_events: int) -> NumPy:
    index = np.full((steps, batch), num_events, np.int32)
    for row, part in zip(index, parts, strict=False):
        row[: len(part)] = part
    return index


def gather_events(ragged: Periods | Rounds, starts: tuple[Array, Array | None], index: Array, size: tuple[int, int]):  # type: ignore[no-untyped-def]
    """Padded events [*index.shape, ...] out of a flat history, and the flat position of each entry of a prediction.

    Padding: ids past the end, each once; weight 0; pairs of position 0 with itself; ranks behind everyone; teams of
    their own.
    """
    num_events = starts[0].shape[0] - 1
    real = index < num_events
    event = jnp.minimum(index, num_events - 1)

    def positions(start: Array, cap: int) -> tuple[Array, Array]:
        offset = jnp.broadcast_to(jnp.arange(cap, dtype=jnp.int32), (*index.shape, cap))
        count = jnp.where(real, start[event + 1] - start[event], 0)
        return start[event][..., None] + offset, offset < count[..., None]

    def get(x: Array, where: Array, inside: Array, fill: Any) -> Array:
        taken = x.at[where].get(mode="clip")
        mask = inside.reshape(*inside.shape, *(1,) * (taken.ndim - inside.ndim))
        return jnp.where(mask, taken, jnp.broadcast_to(jnp.asarray(fill, x.dtype), taken.shape))

    def drop(at: Array, inside: Array) -> Array:
        return jnp.where(inside, at, LAST_ID - jnp.arange(at.size, dtype=jnp.int32).reshape(at.shape))

    at, inside = positions(starts[0], size[0])
    past = LAST_ID - jnp.arange(at[0].size, dtype=jnp.int32).reshape(at[0].shape)
    player = get(ragged.player, at, inside, past)
    time = jnp.where(real, ragged.time[event], 0.0)
    if isinstance(ragged, Rounds):
        own = jnp.broadcast_to(jnp.arange(size[0], dtype=jnp.int32), at.shape)
        rank, team = get(ragged.rank, at, inside, LAST_ID), get(ragged.team, at, inside, own)
        ceiling = None if ragged.ceiling is None else ragged.ceiling[event]
        teams = None if size[1] == size[0] else jnp.zeros((*index.shape, size[1]), bool)
        weight = get(ragged.weight, at, inside, 0.0)
        strict = None if ragged.strict is None else ragged.strict[event]
        return Rounds(player, rank, team, weight, time, ceiling, teams, strict), drop(at, inside)
    assert starts[1] is not None
    at, inside = positions(starts[1], size[1])
    context = Context(*(None if x is None else get(x, at, inside, 0) for x in ragged.context))
    pair, score = get(ragged.pair, at, inside, 0), get(ragged.score, at, inside, 0.5)
    return Periods(player, pair, score, time, context), drop(at, inside)
