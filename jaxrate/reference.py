"""Guides and API reference as pages of HTML: `python -m jaxrate.reference FOLDER`.

The guides are Markdown in the folder `guides`; their first page, `start.md`, lists them by task. The reference adds the
comments beside the fields of NamedTuples to the docstrings.
"""

import argparse
import ast
import inspect
import re
import textwrap
import tokenize
import warnings
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType

from jaxrate.systems import SYSTEMS

GUIDES = Path(__file__).parent / "guides"
SECTION_OF_PACKAGE = {  # headings of the reference, by folder of the package
    "data": "Results",
    "events": "Events",
    "systems": "Systems",
    "extend": "Systems",
    "urns": "Systems",
    "replay": "Rating",
    "live": "Rating",
    "saved_runs": "Rating",
    "league": "What ratings say",
    "forecasts": "What ratings say",
    "metrics": "What ratings say",
    "site": "What ratings say",
    "fitting": "Fitting",
    "smoothing": "Hindsight",
    "arena": "Strengths at rest",
    "plots": "Pictures",
    "testing": "Testing a system",
}


# Common words are not searched for, and public names come before internal ones.
SEARCH_SCRIPT = r"""
{
  const plain = window.pdocSearch, small = /\b(an?|and|as|at|by|for|from|in|is|of|on|or|the|to|with)\b/gi;
  const weight = (found) => found.score * (found.doc.modulename === "jaxrate" ? 4 : 1);
  window.pdocSearch = (words) =>
    plain(words.replace(small, " ").trim() || words).sort((one, other) => weight(other) - weight(one));
}
"""


def add_field_docstrings(module: ModuleType) -> None:
    """Make docstrings of the comments beside the fields of a module's NamedTuples."""
    for kind in vars(module).values():
        if not (inspect.isclass(kind) and hasattr(kind, "_fields") and kind.__module__ == module.__name__):
            continue
        kind.__new__.__doc__ = ""
        if (kind.__doc__ or "").startswith(f"{kind.__name__}("):
            kind.__doc__ = ""
        for name, comment in field_comments(kind).items():
            getattr(kind, name).__doc__ = comment


def field_comments(kind: type) -> dict[str, str]:
    """The comment beside each field of a NamedTuple, empty where there is none."""
    source = textwrap.dedent(inspect.getsource(kind))
    tokens = [x for x in tokenize.generate_tokens(StringIO(source).readline) if x.type == tokenize.COMMENT]
    comments = {x.start[0]: x.string.lstrip("# ") for x in tokens}
    (definition,) = ast.parse(source).body
    return {
        x.target.id: next((comments[i] for i in range(x.lineno, (x.end_lineno or 0) + 1) if i in comments), "")
        for x in getattr(definition, "body", [])
        if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name)
    }


def guide_titles() -> dict[str, dict[str, str]]:
    """The titles of the guides by file name, grouped by task as in `start.md`."""
    sections = re.split(r"^### ", (GUIDES / "start.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    link = re.compile(r"^- \[(?P<title>.+?)\]\((?P<name>\w+)\.md\)", re.MULTILINE)
    titles = {part.partition("\n")[0]: {x["name"]: x["title"] for x in link.finditer(part)} for part in sections}
    return {"": {"start": "Start here"}} | titles


def build_guide_module(name: str, addresses: dict[str, str]) -> ModuleType:
    """A guide as a module, which pdoc can render. Links lead to other guides, and public names to their `addresses`."""
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\((\w+)\.md(#[\w-]+)?\)", r"](\1.html\2)", text)
    text = re.sub(r"\[([^]]+)\]\((?:\.\./)+([\w./]+)\)", r"\1 (`\2`)", text)  # links to files outside the package
    prose = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    public_call = re.compile(rf"(?<!\[)`jr\.({'|'.join(addresses)})\b[^`]*`")
    prose[::2] = [public_call.sub(lambda x: f"[{x[0]}](../../{addresses[x[1]]})", part) for part in prose[::2]]
    module = ModuleType(f"jaxrate.guides.{name}", "".join(prose))
    vars(module)["__docformat__"] = "markdown"
    return module


def page_path(module: str) -> str:
    """The path of a module's page."""
    return f"{module.replace('.', '/')}.html"


def write_reference(folder: Path) -> None:
    """Write the pages of guides and reference. ImportError without pdoc."""
    try:
        import pdoc
    except ModuleNotFoundError:
        raise ImportError("the reference needs pdoc: pip install 'jaxrate[docs]'") from None
    package = import_module("jaxrate")
    public = {name: getattr(package, name) for name in package.__all__}
    modules = {name: x.__name__ for name, x in public.items() if inspect.ismodule(x)}
    homes = {name: modules.get(name) or getattr(x, "__module__", "jaxrate.systems") for name, x in public.items()}
    systems = sorted({make.__module__ for make in SYSTEMS.values()})
    others = sorted({"jaxrate.rules", "jaxrate.system", *modules.values()} - {*systems})
    members_of_modules = [x for name in modules for x in vars(public[name]).values() if inspect.isclass(x)]
    documented = {x.__module__ for x in members_of_modules if x.__module__.startswith("jaxrate.")}
    for name in {*homes.values(), *systems, *others, *documented}:
        add_field_docstrings(import_module(name))
    members: dict[str, list[str]] = {wing: [] for wing in SECTION_OF_PACKAGE.values()}
    for name, home in homes.items():
        members[SECTION_OF_PACKAGE[home.split(".")[1]]].append(name)
    addresses = {name: page_path(modules[name]) if name in modules else f"jaxrate.html#{name}" for name in public}
    sources = [build_guide_module(name, addresses) for titles in guide_titles().values() for name in titles]
    sources += [import_module(name) for name in ("jaxrate", *systems, *others)]
    pages = {source.__name__: pdoc.doc.Module(source) for source in sources}
    pdoc.render.configure(docformat="google", math=False, show_source=True, template_directory=GUIDES / "pages")
    modules_by_section = {"Systems": systems, "Modules": others}
    pdoc.render.env.globals |= {
        "tasks": guide_titles(),
        "members": members,
        "modules": modules_by_section,
        "addresses": addresses,
    }
    for name, module in pages.items():
        file = folder / page_path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():  # warnings about classes that name themselves
            warnings.filterwarnings("ignore", "Error parsing type annotation")
            file.write_text(pdoc.render.html_module(module, pages), encoding="utf-8")
    (folder / "index.html").write_text(pdoc.render.html_index(pages), encoding="utf-8")
    (folder / "search.js").write_text(pdoc.render.search_index(pages) + SEARCH_SCRIPT, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m jaxrate.reference", description="Write guides and API reference.")
    parser.add_argument("folder", type=Path)
    try:
        write_reference(parser.parse_args().folder)
    except ImportError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
