"""The source files of all pages: front page, guides, notebooks and lists of public names."""

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

from jaxrate.docs.reference import write_reference

FINDING_MARK = "**Finding.** "  # begins the paragraph of the first cell that says what comes out
NOTEBOOK_CARD = """:::{{grid-item-card}} {title}
:link: {stem}
:link-type: doc
:img-top: {stem}.png
:img-alt: the first picture of the notebook

{finding}
:::
"""
NOTEBOOKS_PAGE = """# Notebooks

Worked examples with their outputs, and what each of them finds.

::::{{grid}} 1 2 2 3
:gutter: 3

{cards}::::

```{{toctree}}
:hidden:

{entries}```
"""


def write_notebooks(source: Path, folder: Path) -> None:
    """Copy the notebooks, with links to guides as these pages have them, and list them with what they find."""
    folder.mkdir()
    cards, entries = "", ""
    for path in sorted(source.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8").replace("](../jaxrate/guides/", "](../guides/")
        (folder / path.name).write_text(text, encoding="utf-8")
        notebook = json.loads(text)
        (folder / f"{path.stem}.png").write_bytes(first_picture(notebook))
        title, finding = title_and_finding(notebook)
        title = f"{path.stem.partition('_')[0]}. {title}"
        cards += NOTEBOOK_CARD.format(title=title, stem=path.stem, finding=finding)
        entries += f"{title} <{path.stem}>\n"
    (folder / "index.md").write_text(NOTEBOOKS_PAGE.format(cards=cards, entries=entries), encoding="utf-8")


def title_and_finding(notebook: dict[str, Any]) -> tuple[str, str]:
    """The title, without what follows a colon, and the paragraph of the first cell that says what comes out."""
    head = "".join(notebook["cells"][0]["source"])
    title = head.partition("\n")[0].lstrip("# ").partition(":")[0]
    finding = head.partition(FINDING_MARK)[2].partition("\n\n")[0]
    return title, re.sub(r"\s+", " ", finding)


def first_picture(notebook: dict[str, Any]) -> bytes:
    """The first picture among the outputs, as PNG."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return base64.b64decode("".join(pictures[0]))


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
LISTS_OF_NAMES = "changes", "contributing", "questions", "start"  # guides that name much
MAX_GUIDES = 4  # to which the page of a function leads


def guides_by_task() -> dict[str, list[str]]:
    """The names of the guides by the headings below which `start.md` lists them."""
    _, *parts = re.split(r"^### (.+)$", (GUIDES / "start.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    links = (re.findall(r"^- \[.+?\]\((\w+)\.md\)", part, re.MULTILINE) for part in parts[1::2])
    return {task: guides for task, guides in zip(parts[::2], links, strict=True) if guides}


def write_sources(folder: Path) -> None:
    """Write the source files of the pages.

    Args:
      folder: the new folder for them.

    Raises:
      ValueError: if the package is installed without its source.
    """
    root = PACKAGE.parent
    if not (root / "notebooks" / "gallery").is_dir():
        raise ValueError("gallery and notebooks are not here: build the documentation in a clone of the source")
    (folder / "guides").mkdir(parents=True)
    for path in GUIDES.glob("*.md"):
        text = show_gallery(path.read_text(encoding="utf-8"))
        if path.stem == "start":  # the changes stand in the head of all pages
            for task, guides in guides_by_task().items():
                entries = "\n".join(x for x in guides if x != "changes")
                text += f"\n```{{toctree}}\n:hidden:\n:caption: {task}\n{entries}\n```\n"
        (folder / "guides" / path.name).write_text(text, encoding="utf-8")
    shutil.copy(Path(__file__).parent / "templates" / "front_page.md", folder / "index.md")
    for picture in (root / "experiments" / "results").glob("nfl*.png"):
        shutil.copy(picture, folder)
    write_reference(folder / "reference")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "notebooks" / "gallery", folder / "scripts", ignore=ignore)
    write_notebooks(root / "notebooks", folder / "notebooks")


def show_gallery(text: str) -> str:
    """A guide in Markdown with pictures of the gallery in place of its marks."""
    return PICTURE_MARK.sub(PICTURE, text.replace(GALLERY_MARK, ALL_PLOTS))


def guides_that_call(name: str) -> list[str]:
    """The first four guides whose text or code calls a public function or class, named as after `jaxrate.`."""
    call = re.compile(rf"\b(?:jr\.)?{re.escape(name)}\b" if "." in name else rf"\bjr\.{name}\b(?!\.)")
    paths = [path for path in sorted(GUIDES.glob("*.md")) if path.stem not in LISTS_OF_NAMES]
    return [path.stem for path in paths if call.search(path.read_text(encoding="utf-8"))][:MAX_GUIDES]
