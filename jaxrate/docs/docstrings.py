"""Docstrings in Markdown and signatures, as autodoc and napoleon read them, and links of the names in all pages."""

import inspect
import re
import sys
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, get_type_hints

from docutils import nodes  # type: ignore[import-untyped]
from pygments.lexers.special import TextLexer  # type: ignore[import-untyped]
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from jaxrate.docs.example_outputs import example_outputs, split_examples
from jaxrate.docs.page_sources import get_public, list_sections

CODE_OR_SIGN = re.compile(r"`([^`]+)`|([*|\\]|(?<=\w)_(?!\w))")  # signs are those that reStructuredText would read
PYTHON_CODE = re.compile(r"\bjr\.|\bimport |\btesting\.")
FIELD = re.compile(r"^    (?!_)(\w+): (?:[^#\n]*(?:\n {8}[^#\n]*)*  # (.*)|.*$)", re.MULTILINE)
FILE_ROW = re.compile(r"^\w+(?:\.py|/) .*\n?", re.MULTILINE)  # of the files of a folder, for those who read its code
LINKED_CODE = re.compile(r"(?P<prefix>jr\.)?(?P<name>[\w.]*\w)(?:\(\)$|(?P<arguments>.+))?", re.DOTALL)
OUTPUTS: dict[str, str] = {}  # of examples, by their code
PUBLIC = {name for names in list_sections().values() for name in names}
for space in {name.rpartition(".")[0] for name in PUBLIC} - {""}:  # no paths of files; Sphinx imports them
    sys.modules[f"jaxrate.{space}"] = get_public(space)


def to_restructured(docstring: str, outputs: Mapping[str, str]) -> str:
    """A docstring as reStructuredText: code becomes literal, and indented blocks code, with outputs of examples."""
    parts, sections = split_examples(FILE_ROW.sub("", docstring))
    for i, code in enumerate(parts):
        if i % 2 == 0:
            parts[i] = _escape_text(code)
            continue
        code = textwrap.dedent(code).strip("\n")
        blocks = ("python" if PYTHON_CODE.search(code) else "text", code), ("text", outputs.get(code, ""))
        parts[i] = "".join(f".. code-block:: {x}\n\n{textwrap.indent(y, '   ')}\n\n" for x, y in blocks if y)
    return "".join([*parts, _escape_text(sections)])


def _escape_text(text: str) -> str:
    """Text with literals, each before a blank that is not shown, and without signs that would be read."""
    return CODE_OR_SIGN.sub(lambda x: rf"``{' '.join(x[1].split())}``\ " if x[1] else rf"\{x[2]}", text)


def add_fields(kind: type, docstring: str) -> str:
    """The docstring of a class, with its fields and the comments beside them; none that Python made."""
    text = "" if docstring.startswith(f"{kind.__name__}(") else docstring
    fields = FIELD.findall(inspect.getsource(kind)) if "__annotations__" in vars(kind) else []
    return text + "\n\nFields:\n" * bool(fields) + "".join(f"  {name}: {comment}\n" for name, comment in fields)


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


def simplify_annotations(app: Any, value: Any, is_bound: bool) -> None:
    """Before a signature is printed, leave out what only checks read."""
    for function in filter(inspect.isfunction, (value, value.__new__, value.__init__)):
        for name, annotation in [*function.__annotations__.items()]:
            with suppress(NameError):  # of types that only checkers know
                one = SimpleNamespace(__annotations__={name: annotation})
                function.__annotations__ |= get_type_hints(one, function.__globals__)


def omit_any(app: Any, kind: str, name: str, value: Any, options: Any, signature: str, result: str) -> Any:
    """A signature without `Any`, which says less than the docstring."""
    plain = re.sub(r": ~typing\.Any(?: (=) |(?=[,)]))", r"\1", signature or "")
    return signature and plain, "" if result == "~typing.Any" else result


def mend_accessibility(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Name unnamed buttons, drop empty lists of tags, lists without terms, and links back from code, in a page."""
    body = context.get("body", "").replace("<dl>\n<dd><em", '<dl role="presentation">\n<dd><em')
    body = re.sub(r'<a class="viewcode-back".*?</a>', "", body)
    context["body"] = body.replace("<div id='sg-tag-list' class='sphx-glr-tag-list'></div>", "")
    if make_toctree := context.get("generate_toctree_html"):
        context["generate_toctree_html"] = lambda *args, **options: label_list_buttons(
            str(make_toctree(*args, **options))
        )


def label_list_buttons(toctree: str) -> str:
    """A list of pages whose buttons, which show the pages below a page, have names. Code breaks between its words."""
    button, named = r"(<a [^>]*>([^<]*)</a>\s*<details[^>]*>\s*<summary)", r'\1 aria-label="Pages below \2"'
    toctree = re.sub(button, named, toctree)
    return re.sub(r">\w+(?:[._]\w+)+</a>", lambda x: re.sub(r"([._])", r"\1<wbr>", x[0]), toctree)


def register_sphinx_hooks(app: Any) -> None:
    """Connect the changes of docstrings, signatures and pages."""
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-process-docstring", convert_docstring, priority=400)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("autodoc-before-process-signature", simplify_annotations)
    app.connect("autodoc-process-signature", omit_any)
    app.add_transform(LinkNames)
    app.connect("html-page-context", mend_accessibility, priority=900)  # after the theme, which makes lists of pages
    OUTPUTS.update(example_outputs())
