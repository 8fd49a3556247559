"""The settings of Sphinx. Paths are relative to the folder of sources that `page_sources.write_sources` makes."""

from pathlib import Path

import jaxrate
from jaxrate.docs import docstrings
from jaxrate.docs.page_sources import guides_that_call
from jaxrate.systems import ALL_SYSTEMS

HERE = Path(__file__).parent
LOGO = str(HERE / "static" / "bars.svg")
setup = docstrings.register_sphinx_hooks

project = "jaxrate"
version = release = jaxrate.__version__
project_copyright = "the authors of jaxrate. Apache-2.0"
html_title = f"jaxrate {release}"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = [str(HERE / "templates")]  # autosummary looks beside the sources otherwise
html_static_path = ["static"]
html_theme = "pydata_sphinx_theme"
html_css_files = ["identity.css"]
html_favicon = LOGO
html_search_scorer = str(HERE / "static" / "search_order.js")
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": [], "search": []}
html_theme_options = {
    "logo": {"image_light": LOGO, "image_dark": LOGO, "text": html_title, "alt_text": ""},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search_box"],
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "back_to_top_button": False,
}

nb_execution_mode = "off"  # the outputs that are kept are shown
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4

systems = {name: make() for name, make in ALL_SYSTEMS.items()}
states = {name: type(system.init(system.params, 1)) for name, system in systems.items()}
autosummary_context = {
    "formulas": {f"jaxrate.{name}": make.__module__ for name, make in ALL_SYSTEMS.items()},
    "states": {f"jaxrate.{name}": f"{state.__module__}.{state.__name__}" for name, state in states.items()},
    "guides": {f"jaxrate.{name}": guides_that_call(name) for name in docstrings.PUBLIC},
}
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Fields", "params_style")]
toc_object_entries = False
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "scripts",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": ["scripts/ratings", "scripts/predictions", "scripts/fitting", "scripts/arena"],
    "backreferences_dir": "gallery_backreferences",
    "exclude_implicit_doc": {r"jaxrate\.(rate|glicko|data\..*)$"},
    "doc_module": ("jaxrate",),
    "prefer_full_module": {r"jaxrate\.plots\..*"},
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1e6,
    "show_signature": False,
    "remove_config_comments": True,
}
exclude_patterns = [
    "scripts",
    "gallery_backreferences",
    "gallery/**/*.ipynb",  # to be downloaded; the pages are made of other files
    "**/GALLERY_HEADER.rst",
    "**sg_execution_times.rst",
]
