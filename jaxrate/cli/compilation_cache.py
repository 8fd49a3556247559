"""Compiled programs in the user's cache folder, so that the next command need not compile them again."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import warnings
from contextlib import suppress
from pathlib import Path

CACHE_VARIABLE = "JAXRATE_CACHE"  # "off" keeps nothing
MAX_CACHE_BYTES = 1 << 26  # bytes; the oldest programs are removed first
JAX_SETTINGS = {
    "JAX_COMPILATION_CACHE_DIR": "",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def enable_compilation_cache() -> None:
    """Name the folder to JAX, which is not loaded yet; unless it has one already, or nothing can be written there."""
    if os.environ.get(CACHE_VARIABLE, "").lower() == "off" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = user_cache_folder() / "jaxrate" / processor_name()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return
        _remove_oldest_programs(folder)
    except OSError:
        return
    for name, value in JAX_SETTINGS.items():
        os.environ.setdefault(name, value or str(folder))
    warnings.filterwarnings("ignore", message=".*persistent compilation cache", category=UserWarning)  # a full disk


def user_cache_folder() -> Path:
    """The folder of caches of this user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    configured = os.environ.get("XDG_CACHE_HOME", "")
    return Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"


def processor_name() -> str:
    """A name for the processor: several machines may share a home, and a program may not run on another one."""
    description = platform.machine() + platform.processor()
    with suppress(OSError):
        description += "".join(
            re.findall(r"^(?:flags|Features)\s*:.*$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[:1]
        )
    return hashlib.sha256(description.encode()).hexdigest()[:16]


def _remove_oldest_programs(folder: Path) -> None:
    """Remove the older half of the programs if they are too large; folders, which JAX makes for GPUs, stay."""
    files = sorted((x.stat().st_mtime, x.stat().st_size, x) for x in folder.iterdir() if x.is_file())
    if sum(size for _, size, _ in files) > MAX_CACHE_BYTES:
        for _, _, file in files[: len(files) // 2]:
            file.unlink(missing_ok=True)
