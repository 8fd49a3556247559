"""Which events may be rated at the same time: the host side of exact parallel replay.

Two events without a common player commute. So each event goes to the earliest step that comes after the steps of the
previous events of all its players and still has room; the events of a step are rated together, and the result is that
of rating them one by one.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import OWN, check_arguments, is_whole
from jaxrate.device import has_launch_overhead
from jaxrate.events import LAST_ID, Context, Matches, Ragged, matches
from jaxrate.events.dataset import Dataset, resolve_events
from jaxrate.replay.blocks import Blocks, arrange_blocks
from jaxrate.replay.compile_options import matches_in_cache as room_of
from jaxrate.replay.compile_options import state_shapes
from jaxrate.replay.gather import as_device_arrays, check_concrete
from jaxrate.replay.padding import (
    COARSE,
    STEPS,
    allocate_aligned,
    pad_column,
    pad_matches_on_device,
    padded_size,
    register_pytree,
)
from jaxrate.replay.plan_columns import check_column, pad_to_size, replace_columns
from jaxrate.replay.step_assignment import CHUNK, SHORT, assign_slots, eager_under_tracing
from jaxrate.system import RatingSystem
from jaxrate.types import Array, HostArray

TRACED_HINT = "; arrange them outside, then give the plan to jr.scan, with what is traced by plan.but(score=...)"


FILL_BLOCK = 1 << 17  # slots that are filled at a time: what is read and written stays in the cache

SAMPLE_MATCHES = SHORT // 2  # matches in the middle of a history that tell whether it is wide

CHANGEABLE_COLUMNS = ("score", "time", *Context._fields)


@register_pytree("size")
class Plan(NamedTuple):
    """Matches arranged for the runner: as a stream, or in steps of disjoint matches (levels).

    It is a tree of arrays, which may be traced, stacked and mapped over. Its sizes are rounded up to a few, so that
    what is compiled for one history serves others; in the padding nobody plays.
    """

    events: Matches  # stream: leaves [size, ...]; levels: `player` [steps, 2, width], the rest [steps, ..., width]
    number: Array | None  # levels: [steps, width] which match stands in a slot; `size` or more: none. None: a stream
    num_players: int
    num_matches: int
    num_steps: int  # that hold matches; they come first
    size: int  # static: how many predictions are made, the first `num_matches` of matches

    @property
    def fill(self) -> float:
        """The share of slots that hold a match."""
        return 1.0 if self.number is None else self.num_matches / max(self.num_steps * self.number.shape[1], 1)

    @property
    def real(self) -> Array:
        """[size] whether a prediction is of a match, and not of padding."""
        return jnp.arange(self.size, dtype=jnp.int32) < self.num_matches

    def padded(self, values: Any) -> Array:
        """A column [num_matches, ...] made [size, ...], to stand beside the predictions: 0 in the padding."""
        return pad_to_size(check_column("the column", values, self.num_matches), self.size)

    def but(self, **columns: Any) -> "Plan":
        """The plan of the same matches with other columns, which may be traced and are not checked.

        Args:
          columns: `score`, `time`, `side`, `weight`, `category` [num_matches, ...], in the order of the input and as in
            `matches`, or `columns`, by name. Times must not decrease.

        Raises:
          ValueError: for a column of another name, or of another length.
        """

        def place(name: str, values: Any) -> Array:
            column = check_column(name, values, self.num_matches)
            if self.number is None:
                return pad_to_size(column, self.size, "edge")
            fill = None if name == "columns" else 0.5 if name == "score" else 0
            return _gather_into_slots(as_device_arrays(column), self.number, self.number < self.size, fill)

        return self._replace(events=replace_columns(self.events, CHANGEABLE_COLUMNS, place, columns))


@check_arguments
@eager_under_tracing
def schedule_by_level(events: Matches | Ragged | Dataset, width: Annotated[int | None, OWN] = None) -> Plan | Blocks:
    """Arrange events so that those without a common player are rated at once, in the order of each player's events.

        jr.extend.schedule_by_level(data.matches).fill

    Args:
      events: concrete `Matches` (checked again here), or `Ragged` periods or rounds, or a `Dataset`.
      width: the slots of a step of matches. None: the power of two next to the mean width of an unlimited schedule,
        from 8 to 256 on a CPU and from 64 to 65,536 elsewhere.

    Returns:
      A `Plan` of matches, or `Blocks` of periods or rounds: what `run(..., schedule=...)` and `scan` take. The `fill`
      of a `Plan` is the share of slots in use.

    Raises:
      ValueError: for bad matches (names the row), a width below 1, or events that are traced.
    """
    history, _ = resolve_events(events)
    check_concrete("by_level arranges events", history, TRACED_HINT)
    if isinstance(history, Ragged):
        return arrange_blocks(history)
    if width is not None and not (is_whole(width) and width >= 1):
        raise ValueError(f"width must be a whole number from 1, got {width!r}")
    if width is None:
        return make_plan(history, "levels")
    matches = check_matches(history)
    return _make_levels_plan(matches, _fill_slots(np.asarray(matches.player), width))


@eager_under_tracing
def make_plan(
    matches: Matches, schedule: str | Plan | Blocks = "auto", worth: float = 2.0, most: int = LAST_ID
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
    matches = check_matches(matches)
    n, player = len(matches.score), np.asarray(matches.player)
    if schedule == "auto":  # there are no fewer steps than the busiest player has matches
        busiest = np.bincount(player.ravel()).max(initial=0)
        schedule = "auto" if n >= worth * busiest else "stream"
    if schedule != "stream":
        suited = _suitable_slots(player, most, worth if schedule == "auto" else 0.0)
        if suited is not None:
            return _make_levels_plan(matches, suited)
    return make_stream_plan(matches)


class PlanShape(NamedTuple):
    """What a program of matches is compiled for."""

    width: int  # of a step; 0: a stream
    size: int = 0  # predictions for which there is room
    steps: int = 0

    @staticmethod
    def of(plan: Plan) -> "PlanShape":
        steps, width = (0, 0) if plan.number is None else plan.number.shape
        return PlanShape(width, plan.size, steps)


@eager_under_tracing
def arrange_in_shape(matches: Matches, form: PlanShape) -> Plan:
    """Checked matches arranged for the same program as others before them, unless they need more room."""
    if form.width == 0:
        return make_stream_plan(matches, form.size)
    return _make_levels_plan(matches, _fill_slots(np.asarray(matches.player), *form))


@eager_under_tracing
def make_stream_plan(matches: Matches, least: int = 0) -> Plan:
    """Matches that are checked, one by one, with room for so many at the least."""
    n = len(matches.score)
    size = max(padded_size(n) if n else 0, least)
    return Plan(pad_matches_on_device(matches, size), None, _num_players(matches), n, n, size)


def reuse_levels(system: RatingSystem, events: Matches | Ragged, made: dict[int, Any]) -> Plan | Blocks:
    """The levels in which `run` rates these events, kept in `made` by width: narrow if players have much state."""
    room = min(room_of(state_shapes(system, 2)), step_width_range()[1]) if isinstance(events, Matches) else 0
    if room not in made:
        made[room] = (
            make_plan(events, "levels", most=room) if isinstance(events, Matches) else schedule_by_level(events)
        )
    return made[room]


def _step_width(mean: float, most: int = LAST_ID) -> int:
    return _power_of_two_between(mean, step_width_range(), most)


def _power_of_two_between(mean: float, ends: tuple[int, int], most: int = LAST_ID) -> int:
    return min(int(np.clip(2 ** np.round(np.log2(max(mean, 1))), *ends)), 1 << most.bit_length() - 1)


GPU_WIDTHS = 64, 65536  # the narrowest and the widest step where kernels are launched


def step_width_range() -> tuple[int, int]:
    """The narrowest and the widest step that is chosen by itself."""
    return GPU_WIDTHS if has_launch_overhead() else (8, 256)


def gpu_step_width(player: HostArray) -> int:
    """The slots of a step of matches [n, 2] where kernels are launched, wherever this is asked."""
    return _power_of_two_between(_mean_step_width(player), GPU_WIDTHS)


class SlotAssignment(NamedTuple):
    """Where matches stand."""

    number: HostArray  # [steps, width] of the match in a slot; from `size` on, each once: none
    size: int
    num_steps: int  # that hold matches; they come first


def _suitable_slots(player: HostArray, most: int, worth: float) -> SlotAssignment | None:
    """The slots of matches [n, 2] in the width that suits them; None where the mean width is below `worth`.

    The mean is of the schedule without a limit. It has no more steps than one with a limit, so it need not be made
    where that is wide enough.
    """
    n = len(player)
    if n > CHUNK:
        widest = _step_width(np.inf, most)
        if _mean_step_width(player[n // 2 : n // 2 + SAMPLE_MATCHES]) >= 2 * widest:
            made = _fill_slots(player, widest)
            mean = n / made.num_steps
            if mean >= worth and _step_width(mean, most) == widest:
                return made
    mean = _mean_step_width(player)
    return _fill_slots(player, _step_width(mean, most)) if mean >= worth else None


@eager_under_tracing
def _mean_step_width(player: HostArray) -> float:
    """Matches per step of an unlimited schedule."""
    return len(player) / max([_count_steps(step) for step, _ in assign_slots(player, LAST_ID)] + [1])


def _count_steps(step: HostArray) -> int:
    return int(step.max(initial=-1)) + 1


def _fill_slots(player: HostArray, width: int, size: int = 0, steps: int = 0) -> SlotAssignment:
    """The slots of matches [n, 2], with room for so many predictions (`size`) and steps at the least."""
    n, low, num_steps = len(player), 0, 0
    size = max(padded_size(n) if n else 0, size)

    def enough(steps: int) -> int:
        return padded_size(steps, COARSE // width, STEPS)

    number = _extend_slots(np.empty((0, width), np.int32), size, steps)
    for step, slot in assign_slots(player, width):
        high, num_steps = low + len(step), max(_count_steps(step), num_steps)
        if enough(num_steps) > len(number):  # a guess: no slot stays empty, or there are half as many steps again
            number = _extend_slots(
                number, size, enough(num_steps if high == n else max(num_steps * 3 // 2, n // width))
            )
        number.reshape(-1)[step.astype(np.intp) * width + slot] = np.arange(low, high)
        low = high
    return SlotAssignment(number[: max(enough(num_steps) if n else 0, steps)], size, num_steps)


def _extend_slots(number: HostArray, size: int, steps: int) -> HostArray:
    """Numbers [., width] made [steps, width] by slots of no match."""
    width = number.shape[1]
    longer = allocate_aligned((steps, width), np.int32)
    start = np.arange(size, size + steps * width, width, dtype=np.int32)
    np.add(start[:, None], np.arange(width, dtype=np.int32), out=longer)
    longer[: len(number)] = number
    return longer


def check_matches(raw: Matches) -> Matches:
    """`matches` on the columns of an existing container."""
    return matches(raw.player, raw.score, raw.time, **raw.context._asdict())


def _num_players(matches: Matches) -> int:
    return int(np.max(matches.player, initial=-1)) + 1


def _make_levels_plan(matches: Matches, slots: SlotAssignment) -> Plan:
    """Matches in slots, the slots last; padding is a draw between distinct players past the end.

    In further columns it has the values of a match, since rules may not bear others.
    """
    number, size, num_steps = slots
    past = LAST_ID - 2 * np.arange(number.shape[1], dtype=np.int32)
    context = jax.tree.map(lambda x: 0, matches.context._replace(columns=None))
    columns = jax.tree.map(lambda x: np.asarray(x[-1:])[..., None], matches.context.columns)
    fill = Matches(np.stack([past - 1, past]), 0.5, 0.0, context._replace(columns=columns))
    events, placed = jax.device_put((_scatter_into_slots(matches, number, fill), number))
    return Plan(events, placed, _num_players(matches), len(matches.score), num_steps, size)


def _scatter_into_slots(matches: Matches, number: HostArray, fill: Matches) -> Matches:
    """Columns [n, ...] in slots, [steps, ..., width], floats in the default precision and ids as int32."""
    leaves, tree = jax.tree.flatten(matches)
    n, (steps, width) = len(matches.score), number.shape
    given = [pad_column(np.ascontiguousarray(x), max(n, 1), 0) for x in leaves]  # of no matches nothing can be taken
    kinds = [np.int32 if x.dtype.kind in "iu" else jnp.result_type(float) for x in given]
    made = [allocate_aligned((steps, *x.shape[1:], width), kind) for x, kind in zip(given, kinds, strict=True)]
    rows = max(1, FILL_BLOCK // width)
    for low in range(0, steps, rows):
        index = number[low : low + rows].astype(np.intp)
        spare = index >= n
        holes = spare.any()
        for x, out, value in zip(given, made, jax.tree.leaves(fill), strict=True):
            block = out[low : low + rows]
            block[:] = np.moveaxis(x.take(index, axis=0, mode="clip"), 1, -1)
            if holes:
                np.copyto(block, value, where=spare.reshape(len(block), *(1,) * (x.ndim - 1), width))
    return jax.tree.unflatten(tree, made)


def _gather_into_slots(x: Array, index: Array, real: Array, fill: Any) -> Array:
    """A column [n, ...] in slots, [steps, ..., width]; padding has this value, or with None that of another match."""
    taken = jnp.moveaxis(x.at[index].get(mode="clip"), 1, -1)
    if fill is None:
        return taken
    mask = real.reshape(len(index), *(1,) * (taken.ndim - 2), index.shape[1])
    return jnp.where(mask, taken, jnp.broadcast_to(jnp.asarray(fill, x.dtype), taken.shape))
