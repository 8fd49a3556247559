"""How much memory there is: what would take more is refused before it is made."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


def of_machine() -> float | None:
    """Bytes of the machine, or of the container if those are fewer; None if it does not say."""
    try:
        have = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None
    with suppress(OSError, ValueError):
        have = min(have, float(LIMIT.read_text()))
    return have


def of_device(device: Any) -> float | None:
    """Bytes of the device, or of the machine if that is the processor; None if it does not say."""
    stats = device.memory_stats()
    return float(stats["bytes_limit"]) if stats and "bytes_limit" in stats else of_machine()


def check_room(what: str, need: float, have: float | None = None, hint: str = "") -> None:
    """ValueError if `what` takes more bytes than there are; None: than the machine has, if it says."""
    have = of_machine() if have is None else have
    if have is not None and need > have:
        raise ValueError(f"{what} would take {in_words(need)}, and there are {in_words(have)}{hint}")


def in_words(amount: float) -> str:
    """Bytes for people to read."""
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if amount >= size:
            return f"{amount / size:,.1f} {unit}"
    return f"{amount / 1e6:,.1f} MB"
