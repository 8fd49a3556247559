"""Compiled programs in a folder, so that the next process need not compile them again."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from contextlib import suppress
from pathlib import Path

MAX_CACHE_BYTES = 1 << 26  # bytes; the oldest programs are removed first
FOLDER_VARIABLE = "JAX_COMPILATION_CACHE_DIR"


def cache_programs(folder: str | os.PathLike[str] | None = None) -> Path:
    """Keep the programs that JAX compiles from now on, in this process, for later ones; the folder.

        jr.extend.cache_programs()  # before the first `run`

    A later process that calls it takes about half the time over the first call of a system. No number changes. At most
    64 MB are kept: the older half goes when there are more. It is JAX's persistent cache, which keeps programs of yours
    as well.

    Args:
      folder: where. None: that of `JAX_COMPILATION_CACHE_DIR` in the environment, or else that of the command line.

    Raises:
      ValueError: for a folder in which nothing can be written.
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    folder = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    try:
        path = make_cache_folder(folder)
    except OSError as error:
        raise ValueError(f"cache_programs: nothing can be written in the folder {str(folder)!r}: {error}") from error
    for name, value in cache_settings(path).items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()  # JAX looks for a folder once, when it compiles first
    return path


def make_cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder of programs, this user's and processor's by default, kept small; OSError if not writable."""
    path = user_cache_folder() / "jaxrate" / processor_cache_key() if folder is None else Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write in {path}")
    _halve_cache_if_too_large(path)
    return path


def cache_settings(folder: Path) -> dict[str, str | int]:
    """What JAX is told: the names of its settings, which in the environment are in capitals."""
    return {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }


def user_cache_folder() -> Path:
    """The folder of caches of this user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    configured = os.environ.get("XDG_CACHE_HOME", "")
    return Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"


def processor_cache_key() -> str:
    """A name for the processor: several machines may share a home, and a program may not run on another one."""
    description = platform.machine() + platform.processor()
    with suppress(OSError):
        description += "".join(
            re.findall(r"^(?:flags|Features)\s*:.*$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[:1]
        )
    return hashlib.sha256(description.encode()).hexdigest()[:16]


def _halve_cache_if_too_large(folder: Path) -> None:
    """Remove the older half of the programs if they are too large; folders, which JAX makes for GPUs, stay."""
    files = sorted((x.stat().st_mtime, x.stat().st_size, x) for x in folder.iterdir() if x.is_file())
    if sum(size for _, size, _ in files) > MAX_CACHE_BYTES:
        for _, _, file in files[: len(files) // 2]:
            file.unlink(missing_ok=True)
