"""The source files of all pages: front page, guides, notebooks, and lists of public names."""

import inspect
import re
import shutil
from inspect import get_annotations
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import jaxrate

PACKAGE = Path(__file__).parents[1]
GUIDES = PACKAGE / "guides"
GALLERY_MARK = "<!-- gallery -->"  # where a guide shows the plots of the gallery
ALL_PLOTS = "```{eval-rst}\n.. minigallery:: scripts/*/plot_*.py\n```"
PICTURE_MARK = re.compile(r"<!-- picture: (\w+)/(\w+)_(\d+): (.+?) -->")  # where it shows one: script, number, caption
PICTURE = r"""```{figure} /gallery/\1/images/sphx_glr_\2_\3.png
:alt: \4
:target: ../gallery/\1/\2.html

\4 [The code](/gallery/\1/\2.rst)
```"""
NOTEBOOKS = "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
LISTS_OF_NAMES = "changes", "contributing", "questions", "start"  # guides that name much
MAX_GUIDES = 4  # to which the page of a function leads


def write_sources(folder: Path) -> None:
    """Write the source files of the pages.

    Args:
      folder: the new folder for them.

    Raises:
      ValueError: if the package is installed without its source.
    """
    notebooks, pictures = PACKAGE.parent / "notebooks", PACKAGE.parent / "experiments" / "results"
    if not (notebooks / "gallery").is_dir():
        raise ValueError("gallery and notebooks are not here: build the documentation in a clone of the source")
    (folder / "guides").mkdir(parents=True)
    for path in GUIDES.glob("*.md"):
        text = show_gallery(path.read_text(encoding="utf-8")) + (list_guides() if path.stem == "start" else "")
        (folder / "guides" / path.name).write_text(text, encoding="utf-8")
    shutil.copy(Path(__file__).parent / "templates" / "front_page.md", folder / "index.md")
    for picture in pictures.glob("nfl*.png"):
        shutil.copy(picture, folder)
    write_reference(folder / "reference")
    (folder / "notebooks").mkdir()
    for path in (notebooks / "README.md", *notebooks.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8").replace("](../jaxrate/guides/", "](../guides/")
        (folder / "notebooks" / path.name).write_text(text + NOTEBOOKS * (path.suffix == ".md"), encoding="utf-8")
    shutil.copytree(notebooks / "gallery", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))


def list_guides() -> str:
    """The guides in the order of `start.md`, below its headings; the changes stand in the head of all pages."""
    headings = re.findall(
        r"^### (.+)\n\n((?:- .+\n)+)", (GUIDES / "start.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    links = {task: re.findall(r"^- \[.+?\]\((?!changes)(\w+)\.md\)", text, re.MULTILINE) for task, text in headings}
    trees = ("\n".join(["```{toctree}", ":hidden:", f":caption: {task}", *x, "```"]) for task, x in links.items() if x)
    return "\n" + "\n\n".join(trees) + "\n"


def show_gallery(text: str) -> str:
    """A guide in Markdown with pictures of the gallery in place of its marks."""
    return PICTURE_MARK.sub(PICTURE, text.replace(GALLERY_MARK, ALL_PLOTS))


def guides_that_call(name: str) -> list[str]:
    """The first four guides whose text or code calls a public function or class, named as after `jaxrate.`."""
    call = re.compile(rf"\b(?:jr\.)?{re.escape(name)}\b" if "." in name else rf"\bjr\.{name}\b(?!\.)")
    paths = [path for path in sorted(GUIDES.glob("*.md")) if path.stem not in LISTS_OF_NAMES]
    return [path.stem for path in paths if call.search(path.read_text(encoding="utf-8"))][:MAX_GUIDES]


SECTIONS = {  # of the reference, by title: what it is for, and the folders of the package that it shows
    "Data": ("Tables and public formats become events; simulated leagues; the league that ships.", "data"),
    "Events": ("Matches, rating periods and rounds, as arrays.", "events"),
    "Rating systems": ("The fifteen systems, each with its hyperparameters and formulas.", "systems", "parts"),
    "Official ratings": ("The rules of federations, as systems.", "federations"),
    "Rating": ("A system goes through a history, or learns one result at a time; runs are saved.", "replay", "live"),
    "Leaderboards and careers": ("Ratings by name and date, records of players, saved runs.", "history"),
    "Comparisons": ("How well systems predict, beside each other and beside ceilings.", "evaluation"),
    "Predictions": (
        "Matches, seasons and tournaments to come, and how good predictions were.",
        "forecasts",
        "metrics",
    ),
    "Fitting": ("Hyperparameters by gradient, with standard errors and intervals.", "fitting"),
    "Fixed strengths": ("Players who do not change: strengths, certain ranks, tests of drift.", "arena"),
    "Plots and pages": ("Pictures, reports and sites.", "plots", "site"),
    "Parts of systems": ("What a system of your own needs.", "extend"),
    "Worlds of Urnings": ("Matchmakers, tests and simulated worlds of urns.", "urns"),
    "Testing a system": ("The contract that every system satisfies.", "testing"),
}
SECTION_PAGE = """{}
{}

{}

.. currentmodule:: jaxrate

.. autosummary::
   :toctree: .
   :nosignatures:

{}"""
REFERENCE_PAGE = """Reference
=========

Every public function and class has a page, by section.

{}
.. toctree::
   :hidden:

{}"""


def get_public(name: str) -> Any:
    """The object of a name as after `jaxrate.`."""
    return attrgetter(name)(jaxrate)


def list_sections() -> dict[str, list[str]]:
    """All public functions and classes, as after `jaxrate.`, by the title of their section."""
    sections: dict[str, list[str]] = {title: [] for title in SECTIONS}
    title_of_folder = {folder: title for title, (_, *folders) in SECTIONS.items() for folder in folders}
    for name in sorted(dir(jaxrate), key=lambda name: (inspect.ismodule(get_public(name)), name)):
        value = get_public(name)
        folder = getattr(value, "__module__", value.__name__).split(".")[1]
        sections[title_of_folder[folder]] += _list_members(name, value) if inspect.ismodule(value) else [name]
    return sections


def _list_members(name: str, module: ModuleType) -> list[str]:
    """The functions and classes of a module, and of the modules among its public names."""
    members = []
    defined = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__ and n[0] != "_"]
    for member in sorted(getattr(module, "__all__", defined)):
        value, path = getattr(module, member), f"{name}.{member}"
        if inspect.ismodule(value):
            members += _list_members(path, value)
        elif callable(value) and getattr(jaxrate, member, None) is not value:
            members.append(path)
    return members


def list_result_types(names: list[str]) -> list[str]:
    """The classes of the package that these functions return and that are none of their names."""
    public = [get_public(name) for name in names]
    hints = [get_annotations(inspect.unwrap(value)).get("return") for value in public]
    kinds = {x for hint in hints for x in (hint, *getattr(hint, "__args__", ())) if inspect.isclass(x)} - {*public}
    own = [x for x in kinds if x.__module__.startswith("jaxrate.") and x.__name__[0] != "_"]
    return sorted(f"~{x.__module__}.{x.__name__}".replace("jaxrate.", "") for x in own)


def write_reference(folder: Path) -> None:
    """Write a page for each section, and their list; autosummary makes the pages of functions and classes."""
    folder.mkdir()
    sections, items, stems = list_sections(), "", ""
    sections["Types of results"] = list_result_types([name for names in sections.values() for name in names])
    for title, names in sections.items():
        purpose, stem = SECTIONS.get(title, ("What functions return.",))[0], title.lower().replace(" ", "_")
        rows = "".join(f"   {name}\n" for name in names)
        (folder / f"{stem}.rst").write_text(
            SECTION_PAGE.format(title, "=" * len(title), purpose, rows), encoding="utf-8"
        )
        items, stems = f"{items}* :doc:`{title} <{stem}>`: {purpose}\n", f"{stems}   {stem}\n"
    (folder / "index.rst").write_text(REFERENCE_PAGE.format(items, stems), encoding="utf-8")
