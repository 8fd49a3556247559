"""Histories in chunks of equal shape, for `jr.scan`."""

from itertools import pairwise
from typing import Any

import jax
import numpy as np

from jaxrate.core.system import random_draw_rule
from jaxrate.events import Matches, periods, slice_events
from jaxrate.replay.blocks import Block, BlockPlan, arrange_blocks
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from jaxrate.replay.schedule import schedule_by_level
from jaxrate.testing.case_and_assertions import SystemFormPrecision
from jaxrate.testing.synthetic_histories import MATCHES, PERIOD_LENGTH, SLOTS, contest_indices_by_step

CHUNK_LEVELS = 8  # number of levels is a multiple of this
PADDED_PERIOD = 18, 16  # players and matches to which periods are padded
SECOND_CHUNK_START = {
    "stream": MATCHES // 2,
    "levels": MATCHES // 2,
    "periods": 5,
    "rounds": 4,
}  # where the second chunk begins


def split_in_chunks(case: SystemFormPrecision, events: Any) -> list[Any]:
    """A season in two chunks; in one if the system draws random numbers, which would differ."""
    history = periods(events, PERIOD_LENGTH)._replace(length=None) if case.form == "periods" else events
    count = len(history.flat.time)
    ends = [0, count] if random_draw_rule(case.system.rules) is not None else [0, SECOND_CHUNK_START[case.form], count]
    return [to_scan_events(case.form, slice_events(history, low, high), low) for low, high in pairwise(ends)]


def to_scan_events(form: str, events: Any, first_event: int) -> Any:
    """Events of a season, which begin at index `first_device_event`, as arguments of `scan`."""
    if form == "stream":
        return as_device_arrays(events)
    if form == "levels":
        return schedule_by_level(events, CHUNK_LEVELS)
    count = len(events.player_start) - 1
    if form == "periods":
        return arrange_blocks(events, [Block(np.arange(count, dtype=np.int32)[:, None], PADDED_PERIOD)])
    return arrange_blocks(events, [Block(contest_indices_by_step(first_event, first_event + count), (SLOTS, SLOTS))])


def stack_trees(trees: list[Any]) -> Any:
    """Trees of equal shapes as one with NumPy leaves [trees, ...]."""
    return jax.tree.map(lambda *x: np.stack([np.asarray(y) for y in x]), *trees)


def prediction_counts(event_chunks: list[Any]) -> list[int]:
    """The number of predictions of each chunk."""
    return [_prediction_count(one) for one in event_chunks]


def _prediction_count(chunk: Any) -> int:
    if isinstance(chunk, Matches):
        return len(chunk.score)
    return int(chunk.num_rows if isinstance(chunk, BlockPlan) else chunk.num_matches)
