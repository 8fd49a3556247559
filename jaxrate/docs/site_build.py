"""Builds the documentation with Sphinx, one folder for each version."""

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import jaxrate
from jaxrate.docs.page_sources import write_sources

LIBRARIES = "sphinx", "pydata_sphinx_theme", "sphinx_gallery", "myst_nb", "sphinx_copybutton", "sphinx_design"
VERSION = re.compile(r"\d+(?:\.\d+)+")
FIRST_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>jaxrate</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<link rel="canonical" href="{version}/index.html"><a href="{version}/index.html">jaxrate {version}</a></html>
"""


def write_docs(folder: Path, examples: bool = True) -> None:
    """Write the documentation of this version into the subfolder of its name.

    `index.html` leads to the newest version in the folder. `versions.js` lists all, and the pages of all versions read
    it. Nothing is loaded from a network.

    Args:
      folder: may hold other versions. Pages of this version are written anew.
      examples: whether to run the gallery, and to show the notebooks.

    Raises:
      ImportError: without Sphinx or one of its extensions.
      ValueError: if the package is installed without its source, and examples are wanted.
      RuntimeError: if Sphinx warns of anything.
    """
    for name in LIBRARIES:
        if find_spec(name) is None:
            raise ImportError(f'the documentation needs {name}: pip install "jaxrate[docs]"')
    from sphinx.application import Sphinx

    with TemporaryDirectory() as scratch:
        sources, pages = Path(scratch, "sources"), Path(scratch, "build", "html")
        write_sources(sources, examples)
        app = Sphinx(
            srcdir=sources,
            confdir=Path(__file__).parent,
            outdir=pages,
            doctreedir=Path(scratch, "doctrees"),
            buildername="html",
            warningiserror=True,
        )
        app.build()
        if app.statuscode:
            raise RuntimeError("Sphinx warns of what stands above")
        target = folder / jaxrate.__version__
        if (target / "objects.inv").exists():  # what an earlier build left
            shutil.rmtree(target)
        shutil.copytree(pages, target, dirs_exist_ok=True)
    write_versions(folder)


def write_versions(folder: Path) -> None:
    """List the versions in a folder, the newest first, and let its first page lead to the newest."""
    names = [x.parent.name for x in folder.glob("*/index.html") if VERSION.fullmatch(x.parent.name)]
    versions = sorted(names, key=lambda name: [int(x) for x in name.split(".")], reverse=True)
    (folder / "versions.js").write_text(f"var VERSIONS = {json.dumps(versions)};\n", encoding="utf-8")
    (folder / "index.html").write_text(FIRST_PAGE.format(version=versions[0]), encoding="utf-8")
