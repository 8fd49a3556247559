"""The notebooks as pages, and their list: number, title, first picture and finding, by subject."""

import base64
import json
import re
from pathlib import Path
from typing import Any

SUBJECTS = {  # numbers of notebooks
    "First steps": (1, 2),
    "Questions about a league": (12, 13, 14, 16, 11, 15),
    "Systems": (5, 6, 7, 8, 9),
    "Fitting and speed": (3, 17, 10, 4),
}
FINDING_MARK = "**Finding.** "  # begins the paragraph of the first cell that says what comes out
CARD = """:::{{grid-item-card}} {number}. {title}
:link: {path.stem}
:link-type: doc
:img-top: {number}.png
:img-alt: the first picture of the notebook

{finding}
:::
"""


def write_notebooks(source: Path, folder: Path) -> None:
    """Copy the notebooks, with links to guides as these pages have them, and list them by subject."""
    folder.mkdir()
    paths = {int(path.stem.partition("_")[0]): path for path in source.glob("*.ipynb")}
    index = "# Notebooks\n\nWorked examples with their outputs, and what each of them finds.\n\n"
    entries = {}
    for subject, numbers in SUBJECTS.items():
        index += f"## {subject}\n\n::::{{grid}} 1 2 2 3\n:gutter: 3\n\n"
        for number in numbers:
            path = paths[number]
            text = path.read_text(encoding="utf-8").replace("](../jaxrate/guides/", "](../guides/")
            (folder / path.name).write_text(text, encoding="utf-8")
            notebook = json.loads(text)
            (folder / f"{number}.png").write_bytes(first_picture(notebook))
            title, finding = title_and_finding(notebook)
            index += CARD.format(number=number, title=title, path=path, finding=finding)
            entries[number] = f"{number}. {title} <{path.stem}>\n"
        index += "::::\n\n"
    index += "```{toctree}\n:hidden:\n\n" + "".join(entry for _, entry in sorted(entries.items())) + "```\n"
    (folder / "index.md").write_text(index, encoding="utf-8")


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
