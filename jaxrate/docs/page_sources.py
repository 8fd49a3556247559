"""The source files of all pages: front page, guides, and lists of public names."""

import re
import shutil
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from jaxrate.docs.notebook_pages import write_notebooks
from jaxrate.docs.public_names import PURPOSES, Namespace, Section, list_pages, list_sections, to_restructured

PACKAGE = Path(__file__).parents[1]
GUIDES = PACKAGE / "guides"
GALLERY_MARK = "<!-- gallery -->"  # where a guide shows the plots of the gallery
PICTURE_MARK = re.compile(r"<!-- picture: (\w+)/(\w+)_(\d+): (.+?) -->")  # where it shows one: script, number, caption

LISTS_OF_NAMES = "changes", "code_glossary", "contributing", "coming_from", "start"  # guides that name much
MAX_GUIDES = 4  # to which the page of a function leads


def guide_titles() -> dict[str, dict[str, str]]:
    """The titles of the guides by file name, grouped by task as in `start.md`."""
    sections = re.split(r"^### ", (GUIDES / "start.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    link = re.compile(r"^- \[(?P<title>.+?)\]\((?P<name>\w+)\.md\)", re.MULTILINE)
    titles = {part.partition("\n")[0]: {x["name"]: x["title"] for x in link.finditer(part)} for part in sections}
    return {task: guides for task, guides in titles.items() if guides}


def write_sources(folder: Path, examples: bool = True) -> None:
    """Write the source files of the pages.

    Args:
      folder: the new folder for them.
      examples: whether there are a gallery and notebooks, which lie beside the package in its source.

    Raises:
      ValueError: if the package is installed without its source, and examples are wanted.
    """
    root = PACKAGE.parent
    if examples and not (root / "notebooks" / "gallery").is_dir():
        raise ValueError("gallery and notebooks are not here: build the documentation in a clone of the source")
    sections = list_sections()
    (folder / "guides").mkdir(parents=True)
    public = [name for section in sections for name in list_pages(section)]
    for path in GUIDES.glob("*.md"):
        _write(folder / "guides" / path.name, link_public_names(path.read_text(encoding="utf-8"), public, examples))
    with (folder / "guides" / "start.md").open("a", encoding="utf-8") as start:
        start.write("".join(_toctree(guides, task) for task, guides in guide_titles().items()))
    _write(folder / "index.md", _front_page(examples))
    _write_reference(folder / "reference", sections)
    if examples:
        shutil.copytree(
            root / "notebooks" / "gallery", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__")
        )
        for picture in ("nfl.png", "nfl_dark.png", "nfl_phone.png"):
            shutil.copy(root / "experiments" / "results" / picture, folder)
        write_notebooks(root / "notebooks", folder / "notebooks")


def link_public_names(text: str, public: list[str], examples: bool) -> str:
    """A guide whose inline code `jr.NAME` leads to the page of that name, with pictures of the gallery if there is one.

    Args:
      text: of the guide, in Markdown.
      public: names with pages, as after `jaxrate.`.
      examples: whether there is a gallery.
    """
    names = "|".join(re.escape(name) for name in sorted(public, key=len, reverse=True))
    call = re.compile(rf"(?<!\[)`(?:jr\.({names})|(plots\.\w+))\b[^`\n]*`")
    lines, in_code = [], False
    for line in text.split("\n"):
        in_code ^= line.startswith("```")
        is_text = not in_code and not line.startswith("#")
        lines.append(_link_names(call, line) if is_text else line)
    plots = "```{eval-rst}\n.. minigallery:: scripts/*/plot_*.py\n```" if examples else ""
    linked = "\n".join(lines).replace(GALLERY_MARK, plots)
    return PICTURE_MARK.sub(_gallery_picture if examples else "", linked)


def _gallery_picture(mark: re.Match[str]) -> str:
    """A picture of the gallery with its caption, which leads to its code."""
    folder, script, number, caption = mark.groups()
    lines = [
        f"```{{figure}} /gallery/{folder}/images/sphx_glr_{script}_{number}.png",
        f":alt: {caption}",
        f":target: ../gallery/{folder}/{script}.html",
        "",
        f"{caption} [The code](/gallery/{folder}/{script}.rst)",
        "```",
    ]
    return "\n".join(lines)


def guides_that_call(public: Iterable[str]) -> dict[str, list[str]]:
    """For the full name of each public function or class, the guides whose text or code calls it, the first four."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(GUIDES.glob("*.md"))}
    result = {}
    for name in public:
        call = re.compile(rf"\b(?:jr\.)?{re.escape(name)}\b" if "." in name else rf"\bjr\.{name}\b(?!\.)")
        found = [guide for guide, text in texts.items() if guide not in LISTS_OF_NAMES and call.search(text)]
        result[f"jaxrate.{name}"] = found[:MAX_GUIDES]
    return result


def _link_names(call: re.Pattern[str], line: str) -> str:
    """A line of text with links to the pages of the names that it calls."""
    return call.sub(lambda x: f"[{x[0]}](../reference/jaxrate.{x[1] or x[2]}.rst)", line)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _toctree(guides: dict[str, str], caption: str) -> str:
    """A hidden list of guides for the side of the page; the changes stand in the head of all pages."""
    return "\n".join(
        ["", "```{toctree}", ":hidden:", f":caption: {caption}", *(x for x in guides if x != "changes"), "```", ""]
    )


def _front_page(examples: bool) -> str:
    """The front page, with the first example of the first guide."""
    start = (GUIDES / "start.md").read_text(encoding="utf-8")
    code, output = re.findall(r"^```(?:python|text)\n.*?^```$", start, re.MULTILINE | re.DOTALL)[:2]
    page = (Path(__file__).parent / "templates" / "front_page.md").read_text(encoding="utf-8")
    pages = ["Guides <guides/start>", "Reference <reference/index>", "Changes <guides/changes>"]
    if examples:
        pages[1:1] = ["Gallery <gallery/index>", "Notebooks <notebooks/index>"]
    else:
        page = re.sub(r"^<!-- examples -->$.*?^<!-- end -->$", "", page, flags=re.MULTILINE | re.DOTALL)
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])
    return page.replace("<!-- example -->", f"{code}\n\n{output}").replace("<!-- pages -->", toctree)


def _write_reference(folder: Path, sections: list[Section]) -> None:
    """A page for each section; autosummary makes those of functions and classes."""
    folder.mkdir()
    stems = {x.title: x.title.lower().replace(" ", "_") for x in sections}
    lines = [*_heading("Reference", "="), "Every public function and class has a page, by section.", ""]
    lines += _table([f":doc:`{title} <{stem}>`", PURPOSES[title]] for title, stem in stems.items())
    lines += [".. toctree::", "   :hidden:", "", *(f"   {stem}" for stem in stems.values()), ""]
    for section in sections:
        lines += [
            *_heading(section.title, "-"),
            ".. currentmodule:: jaxrate",
            "",
            *_summary(section.names, has_pages=False),
        ]
        spaces = [(space.name, (space.module.__doc__ or "").partition("\n\n")[0]) for space in section.namespaces]
        lines += _table([f":doc:`jr.{name} <{stems[section.title]}>`", _first_sentence(doc)] for name, doc in spaces)
    _write(folder / "index.rst", "\n".join(lines))
    for section in sections:
        lines = [*_heading(section.title, "="), ".. currentmodule:: jaxrate", "", *_summary(section.names)]
        for namespace in section.namespaces:
            lines += _namespace_lines(namespace)
        if section.result_types:
            lines += [*_heading("Types of results", "-"), *_summary([f"~{x}" for x in section.result_types])]
        _write(folder / f"{stems[section.title]}.rst", "\n".join(lines))


def _namespace_lines(namespace: Namespace) -> list[str]:
    """A namespace on the page of its section: what it is, its functions, its classes, its constants."""
    head = _heading(f"jr.{namespace.name}", "-")
    lines = [*head, f".. automodule:: {namespace.module.__name__}", "   :no-index:", ""]
    lines += [".. currentmodule:: jaxrate", ""]
    for _, members in groupby(namespace.members, key=lambda x: x.rpartition(".")[2][0].isupper()):
        lines += _summary([*members])
    if namespace.constants:
        lines += ["Constants: " + ", ".join(f"``{name}``" for name in namespace.constants) + ".", ""]
    return lines


def _heading(title: str, sign: str) -> list[str]:
    return [title, sign * len(title), ""]


def _summary(names: list[str], has_pages: bool = True) -> list[str]:
    """A table of names with the first sentences of their docstrings; with `has_pages` autosummary makes their pages."""
    if not names:
        return []
    options = [*["   :toctree: ."] * has_pages, "   :nosignatures:"]
    return [".. autosummary::", *options, "", *(f"   {name}" for name in names), ""]


def _table(rows: Iterable[list[str]]) -> list[str]:
    """A table without a head, of rows of cells in reStructuredText."""
    lines = [f"   {sign} {cell}" for row in rows for sign, cell in zip(["* -", *["  -"] * len(row)], row, strict=False)]
    return [".. list-table::", "   :widths: 30 70", "", *lines, ""] if lines else []


def _first_sentence(text: str) -> str:
    """The first sentence of a docstring, in reStructuredText."""
    sentence = re.split(r"(?<=\.)\s", " ".join(text.split()))[0]
    return " ".join(to_restructured([sentence], ()))
