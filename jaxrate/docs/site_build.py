"""Builds the documentation with Sphinx."""

import os
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from jaxrate.docs.page_sources import write_sources

LIBRARIES = "sphinx", "pydata_sphinx_theme", "sphinx_gallery", "myst_nb", "sphinx_copybutton", "sphinx_design"


def write_docs(folder: Path) -> None:
    """Write the documentation of this version into a folder, whose pages load nothing from a network.

    Args:
      folder: new, or with an earlier build, whose files are written anew.

    Raises:
      ImportError: without Sphinx or one of its extensions.
      ValueError: if the package is installed without its source.
      RuntimeError: if Sphinx warns of anything.
    """
    for name in LIBRARIES:
        if find_spec(name) is None:
            raise ImportError(f'the documentation needs {name}: pip install "jaxrate[docs]"')
    from sphinx.cmd.build import build_main

    # Examples and scripts of the gallery run once, so quick compilation saves time.
    os.environ["JAXRATE_COMPILE"] = "quick"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=0"
    with TemporaryDirectory() as scratch:
        sources = Path(scratch, "sources")
        write_sources(sources)
        settings = ["-W", "-c", str(Path(__file__).parent), "-d", str(Path(scratch, "doctrees"))]
        if build_main([*settings, str(sources), str(folder)]):
            raise RuntimeError("Sphinx warns of what stands above")
