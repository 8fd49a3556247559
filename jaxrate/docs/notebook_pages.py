"""The notebooks as pages, and their list: number, title, first picture and finding, by subject."""

import base64
import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

SUBJECTS = {  # numbers of notebooks
    "First steps": (1, 2),
    "Questions about a league": (12, 13, 14, 16, 11, 15),
    "Systems": (5, 6, 7, 8, 9),
    "Fitting and speed": (3, 17, 10, 4),
}
FINDING_MARK = "**Finding.** "  # begins the paragraph of the first cell that says what comes out
THUMBNAIL_SIZE = 640, 400  # pixels
THUMBNAIL_COLOURS = 64


def write_notebooks(source: Path, folder: Path) -> None:
    """Copy the notebooks, with links to guides as these pages have them, and list them by subject."""
    (folder / "thumbnails").mkdir(parents=True)
    cards, titles = {}, {}
    paths = {int(path.stem.partition("_")[0]): path for path in source.glob("*.ipynb")}
    for number, path in sorted(paths.items()):
        text = path.read_text(encoding="utf-8").replace("](../jaxrate/guides/", "](../guides/")
        (folder / path.name).write_text(text, encoding="utf-8")
        notebook = json.loads(text)
        (folder / "thumbnails" / f"{number}.png").write_bytes(_shrink_picture(first_picture(notebook)))
        titles[number], finding = title_and_finding(notebook)
        cards[number] = "\n".join(
            [
                f":::{{grid-item-card}} {number}. {titles[number]}",
                f":link: {path.stem}",
                ":link-type: doc",
                f":img-top: thumbnails/{number}.png",
                ":img-alt: the first picture of the notebook",
                f"\n{finding}",
                ":::",
            ]
        )
    lines = ["# Notebooks", "", "Worked examples with their outputs, and what each of them finds.", ""]
    for subject, numbers in SUBJECTS.items():
        lines += [f"## {subject}", "", "::::{grid} 1 2 2 3", ":gutter: 3", ""]
        lines += [*(cards[number] for number in numbers), "::::", ""]
    pages = [f"{number}. {titles[number]} <{paths[number].stem}>" for number in sorted(paths)]
    lines += ["```{toctree}", ":hidden:", "", *pages, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


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


def _shrink_picture(png: bytes) -> bytes:
    """A picture on paper, as wide as a card on a fine screen."""
    from PIL import Image, ImageOps

    from jaxrate.plots import PAPER

    picture = ImageOps.pad(Image.open(BytesIO(png)).convert("RGB"), THUMBNAIL_SIZE, color=PAPER)
    result = BytesIO()
    picture.quantize(THUMBNAIL_COLOURS).save(result, "PNG", optimize=True)
    return result.getvalue()
