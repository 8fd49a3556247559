"""The settings of Sphinx. Paths are relative to the folder of sources that `page_sources.write_sources` makes."""

import builtins
import inspect
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

from docutils import nodes  # type: ignore[import-untyped]
from pygments.lexers.special import TextLexer  # type: ignore[import-untyped]
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import jaxrate
from jaxrate.docs.example_outputs import example_outputs, functions_with_examples
from jaxrate.docs.page_sources import guides_that_call
from jaxrate.docs.reference import add_fields, list_sections, system_modules_and_states, to_restructured

# Examples and scripts of the gallery run once, so quick compilation saves time.
os.environ["JAXRATE_COMPILE"] = "quick"
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), "--xla_backend_optimization_level=0"])
HERE = Path(__file__).parent
LOGO = str(HERE / "static" / "bars.svg")
SECTIONS = list_sections()
OUTPUTS: dict[str, str] = {}  # of examples, by their code
PUBLIC = {name for section in SECTIONS for name in section.pages}
LINKED_CODE = re.compile(r"(?P<prefix>jr\.)?(?P<name>[\w.]*\w)(?:\(\)$|(?P<arguments>.+))?", re.DOTALL)
for section in SECTIONS:  # public names of modules are no paths of files; Sphinx imports them
    sys.modules |= {f"jaxrate.{space.name}": space.module for space in section.namespaces}

project = "jaxrate"
version = release = jaxrate.__version__
project_copyright = "the authors of jaxrate. Apache-2.0"
html_title = f"jaxrate {version}"
html_short_title = "jaxrate"
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = [str(HERE / "templates")]  # autosummary looks beside the sources otherwise
html_static_path = ["static"]
html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_css_files = ["identity.css"]
html_favicon = LOGO
html_search_scorer = str(HERE / "static" / "search_order.js")
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": [], "search": []}
html_theme_options = {
    "logo": {"image_light": LOGO, "image_dark": LOGO, "text": "jaxrate", "alt_text": ""},
    "navbar_end": ["versions", "theme-switcher"],
    "navbar_persistent": ["search_box"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": False,
}

nb_execution_mode = "off"  # the outputs that are kept are shown
nb_merge_streams = True
nb_code_prompt_show = "Show the code that prepares this"
nb_code_prompt_hide = "Hide the code"
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4

autosummary_generate = True
autosummary_context = {
    "systems": system_modules_and_states(),
    "guides": {f"jaxrate.{name}": guides_that_call(name) for name in PUBLIC},
}
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Fields", "params_style")]
add_module_names = True
toc_object_entries = False
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True


class LinkNames(SphinxTransform):
    """Code in a text that is a public name, or a call of one, leads to its page."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Link the names on one page: those of guides have a prefix, those of docstrings may be of their namespace."""
        page = self.env.docname.removeprefix("reference/jaxrate.")
        namespace, is_reference = page.rpartition(".")[0], self.env.docname.startswith("reference/")
        for code in [*self.document.findall(nodes.literal)]:
            parts = LINKED_CODE.match(code.astext())
            if not parts or isinstance(code.parent, (nodes.reference, nodes.title, addnodes.pending_xref)):
                continue
            prefix, name, arguments = parts["prefix"], parts["name"], parts["arguments"]
            is_name = prefix or (not arguments if is_reference else name.startswith("plots."))
            found = next((x for x in (f"{namespace}.{name}", name) if x in PUBLIC), None)
            if is_name and found:
                names = {"refdomain": "py", "reftype": "obj", "refdoc": self.env.docname, "refexplicit": True}
                code.replace_self(addnodes.pending_xref("", code.deepcopy(), reftarget=f"jaxrate.{found}", **names))


def convert_docstring(app: Any, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Before napoleon reads a docstring, make it reStructuredText."""
    text = "\n".join(lines)
    lines[:] = to_restructured(add_fields(value, text) if kind == "class" else text, OUTPUTS).split("\n")


def skip_field(app: Any, kind: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Fields of NamedTuples have a section of the docstring, and what Python makes is not shown."""
    return True if type(value).__name__ == "_tuplegetter" or name in ("count", "index") else None


def simplify_signature(app: Any, value: Any, is_bound: bool) -> None:
    """Before a signature is printed, leave out what checks read, and `Any`, which says less than the docstring."""
    for function in filter(inspect.isfunction, (value, value.__new__, value.__init__)):
        signature = inspect.signature(function)
        plain = partial(plain_type, vars(sys.modules.get(function.__module__, builtins)))
        parameters = [x.replace(annotation=plain(x.annotation)) for x in signature.parameters.values()]
        result = plain(signature.return_annotation)
        vars(function)["__signature__"] = signature.replace(parameters=parameters, return_annotation=result)
        function.__annotations__ = {}  # which Sphinx would prefer


def plain_type(names: Mapping[str, Any], annotation: Any) -> Any:
    """An annotation without what only checks read; none in place of `Any`, which says less than the docstring."""
    try:
        hint = get_type_hints(SimpleNamespace(__annotations__={"x": annotation}), dict(names))["x"]
    except NameError:  # of a type that only checkers know
        return annotation
    return inspect.Parameter.empty if hint is Any else hint


def mend_page(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Mend what axe-core and links would stumble over.

    Parameters are no definitions without terms. The gallery has several empty lists of tags. Links from the source back
    to the reference take names of the code for public names.
    """
    body = context.get("body", "").replace("<dl>\n<dd><em", '<dl role="presentation">\n<dd><em')
    body = re.sub(r'<a class="viewcode-back".*?</a>', "", body)
    context["body"] = body.replace("<div id='sg-tag-list' class='sphx-glr-tag-list'></div>", "")
    if make_toctree := context.get("generate_toctree_html"):
        context["generate_toctree_html"] = lambda *args, **options: name_summaries(make_toctree(*args, **options))


def name_summaries(toctree: Any) -> str:
    """A list of pages whose buttons, which show the pages below a page, have names. Code breaks between its words."""
    named = re.sub(
        r"(<a [^>]*>([^<]*)</a>\s*<details[^>]*>\s*<summary)", r'\1 aria-label="Pages below \2"', str(toctree)
    )
    return re.sub(r">\w+(?:[._]\w+)+</a>", lambda x: re.sub(r"([._])", r"\1<wbr>", x[0]), named)


def setup(app: Any) -> None:
    """Connect the changes of docstrings, signatures and pages, and add the gallery if there are scripts for it."""
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-process-docstring", convert_docstring, priority=400)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("autodoc-before-process-signature", simplify_signature)
    app.add_transform(LinkNames)
    app.connect("html-page-context", mend_page, priority=900)  # after the theme, which makes lists of pages
    if Path(app.srcdir, "scripts").exists():
        app.setup_extension("sphinx_gallery.gen_gallery")
        app.config.autosummary_context["has_gallery"] = True
        OUTPUTS.update(example_outputs(functions_with_examples()))


sphinx_gallery_conf = {
    "examples_dirs": "scripts",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": ["scripts/ratings", "scripts/predictions", "scripts/fitting", "scripts/arena"],
    "backreferences_dir": "gallery_backreferences",
    "exclude_implicit_doc": {r"jaxrate\.(rate|glicko|data\..*)$"},
    "doc_module": ("jaxrate",),
    "prefer_full_module": {r"jaxrate\.plots\..*"},
    "plot_gallery": "True",
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e6,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "jaxrate.docs.example_outputs.skip_older_objects_in_garbage_search"),
    "remove_config_comments": True,
}
exclude_patterns = [
    "scripts",
    "gallery_backreferences",
    "gallery/**/*.ipynb",  # to be downloaded; the pages are made of other files
    "**/GALLERY_HEADER.rst",
    "**sg_execution_times.rst",
]
