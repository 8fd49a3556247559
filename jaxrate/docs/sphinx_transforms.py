"""What is changed between docstrings and pages: links of names, signatures, and what browsers would stumble over."""

import builtins
import inspect
import re
import sys
from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, get_type_hints

from docutils import nodes  # type: ignore[import-untyped]
from pygments.lexers.special import TextLexer  # type: ignore[import-untyped]
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from jaxrate.docs.example_outputs import example_outputs, functions_with_examples
from jaxrate.docs.reference import add_fields, get_public, list_sections, to_restructured

OUTPUTS: dict[str, str] = {}  # of examples, by their code
SECTIONS = list_sections()
PUBLIC = {name for section in SECTIONS for name in section.pages}
LINKED_CODE = re.compile(r"(?P<prefix>jr\.)?(?P<name>[\w.]*\w)(?:\(\)$|(?P<arguments>.+))?", re.DOTALL)
for section in SECTIONS:  # public names of modules are no paths of files; Sphinx imports them
    sys.modules |= {f"jaxrate.{name}": get_public(name) for name in section.names_by_module if name}


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


def connect_changes(app: Any) -> None:
    """Connect the changes of docstrings, signatures and pages."""
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-process-docstring", convert_docstring, priority=400)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("autodoc-before-process-signature", simplify_signature)
    app.add_transform(LinkNames)
    app.connect("html-page-context", mend_page, priority=900)  # after the theme, which makes lists of pages
    OUTPUTS.update(example_outputs(functions_with_examples()))
