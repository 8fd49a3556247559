"""Whether a command keeps compiled programs, so that the next one need not compile them again."""

import os
import warnings

from jaxrate.core import compiled_program_cache

CACHE_VARIABLE = "JAXRATE_CACHE"  # "off" keeps nothing


def enable_compilation_cache() -> None:
    """Name the folder to JAX, which is not loaded yet; unless it has one already, or nothing can be written there."""
    if os.environ.get(CACHE_VARIABLE, "").lower() == "off" or compiled_program_cache.FOLDER_VARIABLE in os.environ:
        return
    try:
        folder = compiled_program_cache.make_cache_folder()
    except OSError:
        return
    for name, value in compiled_program_cache.cache_settings(folder).items():
        os.environ.setdefault(name.upper(), str(value))
    warnings.filterwarnings("ignore", message=".*persistent compilation cache", category=UserWarning)  # a full disk
