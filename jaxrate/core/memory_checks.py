"""Limits of memory: arrays that would not fit are refused before they are made."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

CGROUP_LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")  # the limit of a container


def machine_memory_bytes() -> float | None:
    """Memory of the machine, or of the container if that is less (bytes); None if unknown."""
    try:
        size = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None
    with suppress(OSError, ValueError):
        size = min(size, float(CGROUP_LIMIT_FILE.read_text()))
    return size


def device_memory_bytes(device: Any) -> float | None:
    """Memory of the device, or of the machine if the device is a CPU (bytes); None if unknown."""
    stats = device.memory_stats()
    return float(stats["bytes_limit"]) if stats and "bytes_limit" in stats else machine_memory_bytes()


def reset_peak_memory() -> None:
    """Let the peak of the memory of this process begin anew, where the system can do that (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory_bytes() -> float | None:
    """The most memory that this process held since the peak was reset, or since it began (bytes); None if unknown."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024.0 * float(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
    return None


def check_memory_fits(purpose: str, bytes_needed: float, bytes_available: float | None = None, hint: str = "") -> None:
    """ValueError if something needs more bytes than are available; None: than the machine has, if that is known."""
    bytes_available = machine_memory_bytes() if bytes_available is None else bytes_available
    if bytes_available is not None and bytes_needed > bytes_available:
        raise ValueError(
            f"{purpose} would take {format_bytes(bytes_needed)}, and there are {format_bytes(bytes_available)}{hint}"
        )


def format_bytes(amount: float) -> str:
    """A number of bytes in MB, GB or TB."""
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if amount >= size:
            return f"{amount / size:,.1f} {unit}"
    return f"{amount / 1e6:,.1f} MB"
