"""The notebooks as they are kept: executed from top to bottom, small, and without a trace of a machine."""

import json
import re
from pathlib import Path

import pytest

from jaxrate.docs.notebook_pages import SUBJECTS, title_and_finding

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"), key=lambda path: int(path.stem.partition("_")[0]))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
LARGEST = 400_000  # bytes
PICTURE_LATER = "4_a_million_matches", "10_training_loop"  # they draw what the notebook measures or trains
LONGEST_LINE = 80  # characters of code, which a page of the documentation shows
OLD_TITLES = "Do predictions come true?", "Careers of"
MACHINE = r"(?<![\w.])(/(home|root|tmp|work|var|opt|usr|mnt|Users)\b|[A-Z]:\\)"


def text(source):
    return source if isinstance(source, str) else "".join(source)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def notebook(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_readme_lists_them():
    listed = re.findall(r"\]\((notebooks/\w+\.ipynb)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert listed == [f"notebooks/{path.name}" for path in NOTEBOOKS] and len(listed) == 17


def test_each_has_a_subject():
    numbers = sorted(number for numbers in SUBJECTS.values() for number in numbers)
    assert numbers == [int(path.stem.partition("_")[0]) for path in NOTEBOOKS]


def test_format(path, notebook):
    assert path.stat().st_size < LARGEST
    assert (notebook["nbformat"], notebook["metadata"]) == (4, METADATA)
    pytest.importorskip("nbformat").validate(notebook)


def test_it_says_what_it_is(path, notebook):
    markdown = [text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    assert text(notebook["cells"][0]["source"]) == markdown[0] and markdown[0].startswith("# ")
    title, finding = title_and_finding(notebook)
    assert title and re.fullmatch(r"[A-Z].{60,400}\.", finding), finding
    links = re.findall(r"\]\(([^):]+)\)", "".join(markdown))
    assert all((path.parent / link).exists() for link in links)


def test_it_was_executed(notebook):
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(cell["metadata"] in ({}, {"tags": ["hide-input"]}) for cell in code)
    outputs = [output for cell in code for output in cell["outputs"]]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    for output in outputs:
        assert output["output_type"] in ("stream", "display_data", "execute_result")
        assert output.get("name", "stdout") == "stdout", text(output["text"])
        said = text(output["text"]) if "text" in output else text(output["data"].get("text/plain", ""))
        assert not re.search(MACHINE, said), said
        drawn = text(output.get("data", {}).get("text/html", "")) + said
        assert not any(title in drawn for title in OLD_TITLES)
        assert not re.search(r"<td[^>]*>\d{4,}\.\d</td>|^ *\d+  \D.*  \d{4,}\.\d  ", drawn, re.MULTILINE), drawn


def test_the_first_output_is_a_picture(path, notebook):
    """Listings of data and tables stood before what the notebook finds."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert "image/png" in outputs[0].get("data", {}) or path.stem in PICTURE_LATER


def test_lines_of_code_fit_the_page(notebook):
    code = [text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [line for source in code for line in source.splitlines() if len(line) > LONGEST_LINE] == []
