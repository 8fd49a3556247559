"""The command `python -m jaxrate.docs FOLDER`, which builds the documentation with Sphinx."""

import argparse
import gc
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from jaxrate.core.optional_imports import import_optional
from jaxrate.docs.page_sources import write_sources


def write_docs(folder: Path) -> None:
    """Write the documentation of this version into a new folder or over an earlier build; RuntimeError if Sphinx warns.

    Its pages load nothing from a network.
    """
    build_main = import_optional("sphinx.cmd.build").build_main
    # Examples and scripts of the gallery run once, so quick compilation saves time.
    os.environ["JAXRATE_COMPILE"] = "quick"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=0"
    with TemporaryDirectory() as scratch:
        write_sources(Path(scratch, "sources"))
        settings = ["-W", "-c", str(Path(__file__).parent), "-d", f"{scratch}/doctrees"]
        if build_main([*settings, f"{scratch}/sources", str(folder)]):
            raise RuntimeError("Sphinx warns of what stands above")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m jaxrate.docs", description="Write the documentation as HTML.")
    parser.add_argument("folder", type=Path, help="will hold the pages")
    gc.disable()  # pages and programs live long; looking through them took a fifth of the time
    try:
        write_docs(parser.parse_args().folder)
    except (ImportError, ValueError, RuntimeError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
