"""Which events may be rated at the same time: the host side of exact parallel replay.

Two events without a common player commute. So each event goes to the earliest step that comes after the steps of the
previous events of all its players and still has room; the events of a step are rated together, and the result is that
of rating them one by one.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import (
    CHECKED_BY_FUNCTION,
    check_concrete,
    enforce_argument_annotations,
    is_traced,
    is_whole_number,
)
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.events import LAST_ID, Context, Matches, Ragged
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.events.event_builders import check_matches
from jaxrate.replay.blocks import BlockPlan, arrange_blocks, check_column, pad_to_size, replace_columns
from jaxrate.replay.padded_states_and_columns import (
    allocate_aligned,
    max_step_matches_in_cache,
    pad_column,
    pad_matches_on_device,
    padded_size,
    register_pytree_with_static_fields,
    state_shapes,
)
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from jaxrate.replay.step_assignment import (
    SlotAssignment,
    assign_slots_if_wide_enough,
    build_slot_assignment,
    step_width_range,
)

TRACED_HINT = "; arrange them outside, then give the plan to jr.scan, with what is traced by plan.but(score=...)"


FILL_BLOCK = 1 << 17  # slots that are filled at a time: what is read and written stays in the cache


CHANGEABLE_COLUMNS = ("score", "time", *Context._fields)


@register_pytree_with_static_fields("size")
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

        def arrange_column(name: str, values: Any) -> Array:
            column = check_column(name, values, self.num_matches)
            if self.number is None:
                return pad_to_size(column, self.size, "edge")
            fill = None if name == "columns" else 0.5 if name == "score" else 0
            return _gather_into_slots(as_device_arrays(column), self.number, self.number < self.size, fill)

        return self._replace(events=replace_columns(self.events, CHANGEABLE_COLUMNS, arrange_column, columns))


@enforce_argument_annotations
@jax.ensure_compile_time_eval()
def schedule_by_level(
    events: Matches | Ragged | Dataset, width: Annotated[int | None, CHECKED_BY_FUNCTION] = None
) -> Plan | BlockPlan:
    """Arrange events so that those without a common player are rated at once, in the order of each player's events.

        jr.extend.schedule_by_level(data.matches).fill

    Args:
      events: concrete `Matches` (checked again here), or `Ragged` periods or rounds, or a `Dataset`.
      width: the slots of a step of matches. None: the power of two next to the mean width of an unlimited schedule,
        from 8 to 256 on a CPU and from 64 to 65,536 elsewhere.

    Returns:
      A `Plan` of matches, or a `BlockPlan` of periods or rounds: what `run(..., schedule=...)` and `scan` take. The
      `fill` of a `Plan` is the share of slots in use.

    Raises:
      ValueError: for bad matches (names the row), a width below 1, or events that are traced.
    """
    history, _ = resolve_events_and_num_players(events)
    check_concrete("schedule_by_level arranges events", history, TRACED_HINT)
    if isinstance(history, Ragged):
        return arrange_blocks(history)
    if width is not None and not (is_whole_number(width) and width >= 1):
        raise ValueError(f"width must be a whole number from 1, got {width!r}")
    if width is None:
        return make_plan(history, "levels")
    matches = check_matches(history)
    return _make_levels_plan(matches, build_slot_assignment(np.asarray(matches.player), width))


@jax.ensure_compile_time_eval()
def make_plan(
    matches: Matches, schedule: str | Plan | BlockPlan = "auto", min_mean_width: float = 2.0, max_width: int = LAST_ID
) -> Plan:
    """The arrangement that `run` uses. "auto": levels if a step holds `min_mean_width` matches or more, else a stream.

    A step gets the width of `schedule_by_level`, but no more slots than `max_width`.
    """
    if isinstance(schedule, Plan):
        if schedule.num_matches != len(matches.score):
            raise ValueError(f"the schedule is of {schedule.num_matches} matches, not of these {len(matches.score)}")
        return schedule
    if schedule not in ("auto", "stream", "levels"):
        raise ValueError(
            f'schedule must be "auto", "stream", "levels" or a plan from schedule_by_level, got {schedule!r}'
        )
    matches = check_matches(matches)
    n, player = len(matches.score), np.asarray(matches.player)
    if schedule == "auto":  # there are no fewer steps than the busiest player has matches
        busiest = np.bincount(player.ravel()).max(initial=0)
        schedule = "auto" if n >= min_mean_width * busiest else "stream"
    if schedule != "stream":
        suited = assign_slots_if_wide_enough(player, max_width, min_mean_width if schedule == "auto" else 0.0)
        if suited is not None:
            return _make_levels_plan(matches, suited)
    return make_sequential_plan(matches)


class PlanShape(NamedTuple):
    """The shape of a plan for which a program of matches is compiled."""

    width: int  # of a step; 0: a stream
    size: int = 0  # predictions for which there is room
    steps: int = 0

    @staticmethod
    def of(plan: Plan) -> "PlanShape":
        steps, width = (0, 0) if plan.number is None else plan.number.shape
        return PlanShape(width, plan.size, steps)


@jax.ensure_compile_time_eval()
def make_plan_of_shape(matches: Matches, plan_shape: PlanShape) -> Plan:
    """Checked matches arranged for the same program as others before them, unless they need more room."""
    if plan_shape.width == 0:
        return make_sequential_plan(matches, plan_shape.size)
    return _make_levels_plan(matches, build_slot_assignment(np.asarray(matches.player), *plan_shape))


@jax.ensure_compile_time_eval()
def make_sequential_plan(matches: Matches, min_size: int = 0) -> Plan:
    """Matches that are checked, one by one, with room for so many at the least."""
    n = len(matches.score)
    size = max(padded_size(n) if n else 0, min_size)
    return Plan(pad_matches_on_device(matches, size), None, _num_players(matches), n, n, size)


def get_or_make_levels_plan(
    system: RatingSystem, events: Matches | Ragged, plans_by_width: dict[int, Any]
) -> Plan | BlockPlan:
    """The levels in which `run` rates these events, kept in `plans_by_width`: narrow if players have much state."""
    room = (
        min(max_step_matches_in_cache(state_shapes(system, 2)), step_width_range()[1])
        if isinstance(events, Matches)
        else 0
    )
    if room not in plans_by_width:
        plans_by_width[room] = (
            make_plan(events, "levels", max_width=room) if isinstance(events, Matches) else schedule_by_level(events)
        )
    return plans_by_width[room]


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
    events, placed = jax.device_put((_fill_slots_with_matches(matches, number, fill), number))
    return Plan(events, placed, _num_players(matches), len(matches.score), num_steps, size)


def _fill_slots_with_matches(matches: Matches, match_index: HostArray, fill: Matches) -> Matches:
    """Columns [n, ...] in slots, [steps, ..., width], floats in the default precision and ids as int32."""
    leaves, tree = jax.tree.flatten(matches)
    n, (steps, width) = len(matches.score), match_index.shape
    given = [pad_column(np.ascontiguousarray(x), max(n, 1), 0) for x in leaves]  # of no matches nothing can be taken
    kinds = [np.int32 if x.dtype.kind in "iu" else jnp.result_type(float) for x in given]
    made = [allocate_aligned((steps, *x.shape[1:], width), kind) for x, kind in zip(given, kinds, strict=True)]
    rows = max(1, FILL_BLOCK // width)
    for low in range(0, steps, rows):
        index = match_index[low : low + rows].astype(np.intp)
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


def check_and_make_sequential_plan(events: Matches) -> tuple[Plan, bool]:
    """Matches one by one, and whether their ids are known; ValueError for what is seen to be wrong with them."""
    if not is_traced(events):
        return make_sequential_plan(check_matches(events)), True
    right = check_matches(jax.tree_util.tree_map_with_path(_placeholder_if_traced, events))

    def keep_known(x: Any, y: Any) -> Any:
        if x.shape != y.shape:
            raise ValueError(f"a traced column has shape {x.shape}, expected {y.shape}")
        return x if is_traced(x) else y

    n, ids = len(right.score), not is_traced(events.player)
    num_players = _num_players(right) if ids else 0
    return Plan(as_device_arrays(jax.tree.map(keep_known, events, right)), None, num_players, n, n, n), ids


def _placeholder_if_traced(path: Any, column: Any) -> Any:
    """A traced column of matches as right values of its shape and kind; any other as it is."""
    if not is_traced(column):
        return column
    name, kind = jax.tree_util.keystr(path, simple=True, separator="."), column.dtype.kind
    fills: dict[str, Any] = {"score": 0.5, "context.weight": 1.0}
    fills["player"] = [0, 1] if column.shape[-1:] == (2,) else 0  # which is refused
    fills["context.category"] = 1.0 / column.shape[-1] if column.ndim == 3 else 0
    return np.broadcast_to(np.asarray(fills.get(name, 0), np.int32 if kind in "iu" else np.float64), column.shape)


def flat_events_for_check(events: Matches | Plan | BlockPlan) -> Any:
    """Events for a system's check. Where anything is traced there are none, but with their columns."""
    if isinstance(events, BlockPlan):
        begins: Any = [
            x if x is None else np.zeros(1, int) if is_traced(events) else np.asarray(x) for x in events.starts
        ]
        return Ragged(_host_events_or_empty(events.events), *begins)
    if not isinstance(events, Plan) or events.number is None:
        return _host_events_or_empty(events.events if isinstance(events, Plan) else events)
    if is_traced(events):
        return jax.tree.map(lambda x: np.zeros((0, *x.shape[1:-1]), x.dtype), events.events)
    order = np.argsort(np.asarray(events.number), axis=None)[: int(events.num_matches)]

    def sort_rows(x: Any) -> Any:
        rows = np.moveaxis(np.asarray(x), -1, 1)
        return rows.reshape(-1, *rows.shape[2:])[order]

    return jax.tree.map(sort_rows, events.events)


def _host_events_or_empty(events: Any) -> Any:
    """Flat events of NumPy; none if any are traced."""
    return jax.tree.map(lambda x: np.zeros((0, *x.shape[1:]), x.dtype) if is_traced(events) else np.asarray(x), events)
