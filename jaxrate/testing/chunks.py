"""Histories in chunks of one shape, as `jr.scan` takes them."""

from itertools import pairwise
from typing import Any

import jax
import numpy as np

from jaxrate.events import Matches, Ragged, part, periods
from jaxrate.replay.blocks import Block, Blocks, arranged
from jaxrate.replay.rows import on_device
from jaxrate.replay.schedule import by_level
from jaxrate.testing.cases import Case
from jaxrate.testing.histories import LENGTH, MATCHES, SLOTS, steps

WIDTH = 8  # of levels
PERIOD = 18, 16  # players and matches to which periods are padded
CUT = {"stream": MATCHES // 2, "levels": MATCHES // 2, "periods": 5, "rounds": 4}  # where the second chunk begins


def chunks(case: Case, events: Any) -> list[Any]:
    """A season in two halves; in one piece if each further run would draw other random numbers."""
    history = periods(events, LENGTH) if case.form == "periods" else events
    count = len(history.player_start) - 1 if isinstance(history, Ragged) else len(history.score)
    ends = [0, count] if case.system.rules.draw is not None else [0, CUT[case.form], count]
    return [as_scanned(case.form, part(history, low, high), low) for low, high in pairwise(ends)]


def as_scanned(form: str, events: Any, begin: int) -> Any:
    """Events of a season from number `begin` on, as `scan` takes them."""
    if form == "stream":
        return on_device(events)
    if form == "levels":
        return by_level(events, WIDTH)
    count = len(events.player_start) - 1
    if form == "periods":
        return arranged(events, [Block(np.arange(count, dtype=np.int32)[:, None], PERIOD)])
    return arranged(events, [Block(steps(begin, begin + count), (SLOTS, SLOTS))])


def stacked(several: list[Any]) -> Any:
    """Trees of equal shapes as one, of NumPy, leaves [several, ...]."""
    return jax.tree.map(lambda *x: np.stack([np.asarray(y) for y in x]), *several)


def counts(several: list[Any]) -> list[int]:
    """How many predictions each chunk has."""
    return [_count(one) for one in several]


def _count(one: Any) -> int:
    if isinstance(one, Matches):
        return len(one.score)
    return int(one.num_rows if isinstance(one, Blocks) else one.num_matches)
