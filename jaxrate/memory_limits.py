"""How much memory there is: what would take more is refused before it is made."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

CGROUP_LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")  # of a container


def machine_memory() -> float | None:
    """Bytes of the machine, or of the container if those are fewer; None if it does not say."""
    try:
        have = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None
    with suppress(OSError, ValueError):
        have = min(have, float(CGROUP_LIMIT_FILE.read_text()))
    return have


def device_memory(device: Any) -> float | None:
    """Bytes of the device, or of the machine if that is the processor; None if it does not say."""
    stats = device.memory_stats()
    return float(stats["bytes_limit"]) if stats and "bytes_limit" in stats else machine_memory()


def check_memory_fits(purpose: str, bytes_needed: float, bytes_available: float | None = None, hint: str = "") -> None:
    """ValueError if `what` takes more bytes than there are; None: than the machine has, if it says."""
    bytes_available = machine_memory() if bytes_available is None else bytes_available
    if bytes_available is not None and bytes_needed > bytes_available:
        raise ValueError(
            f"{purpose} would take {format_bytes(bytes_needed)}, and there are {format_bytes(bytes_available)}{hint}"
        )


def format_bytes(amount: float) -> str:
    """Bytes for people to read."""
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if amount >= size:
            return f"{amount / size:,.1f} {unit}"
    return f"{amount / 1e6:,.1f} MB"
