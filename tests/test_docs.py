"""The documentation: every guide and public name has a page, searches find guides, and every plot has a script."""

import ast
import json
import os
import re
from pathlib import Path

import pytest

import jaxrate as jr
from jaxrate.docs.docstrings import PUBLIC, add_fields, to_restructured
from jaxrate.docs.page_sources import PICTURE_MARK, show_gallery, write_sources
from tests.browser import narrowed, texts, violations, wait_for
from tests.test_readme import PAGES

ROOT = Path(__file__).parents[1]
UNNAMED = """return [...document.querySelectorAll("summary, button")].filter(x => {
  const label = x.getAttribute("aria-label"), shown = x.innerText.trim().split(/\\s/)[0];
  return label === null ? !x.textContent.trim() : !label.includes(shown);
}).map(x => x.outerHTML)"""  # buttons without a name, or whose name is not what they show
FIRST_FOUND = {  # by words of a search, besides gallery and notebooks
    "elo": "elo",
    "leaderboard": "leaderboard",
    "rate": "rate",
    "best_of": "forecasts.best_of",
    "calibration": "Predictions, seasons, tournaments > Calibration",
    "hindsight": "Fitting > Hindsight",
    "standard errors": "Fitting > Standard errors and intervals",
    "csv": "Reading a file",
    "install": "Start here > Install",
    "export": "The command line",
}


@pytest.fixture(scope="module")
def folder():
    """The pages that `.ci/run` has built in the folder JAXRATE_DOCS."""
    if "JAXRATE_DOCS" not in os.environ:
        pytest.skip("JAXRATE_DOCS names no folder of built pages")
    return Path(os.environ["JAXRATE_DOCS"])


@pytest.mark.full
def test_pages_say_what_everything_means_and_lead_somewhere(folder):
    pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    reference = {path.stem.removeprefix("jaxrate."): x for path, x in pages.items() if path.parent.name == "reference"}
    assert not PUBLIC - reference.keys()
    assert {path.stem for path in pages if path.parent.name == "guides"} == PAGES.keys() - {"README"}
    assert "growth of the deviation of an idle player (points per sqrt(period), &gt;= 0)." in reference["glicko"]
    assert "ArgumentRequirement" not in "".join(reference.values()) and "y: Any" not in reference["metrics.log_loss"]
    assert 'href="../reference/jaxrate.rate.html' in pages[folder / "guides" / "start.html"]
    assert 'href="jaxrate.forecasts.add_outcomes.html' in reference["forecasts.pair_players"]
    assert "1 + 3 q^2 RD^2 / pi^2" in reference["glicko"] and "RD^2, as of" in reference["glicko"]
    assert "the length of the rating periods; None: event by event" in reference["History"]
    assert 'href="jaxrate.extend.RatingSystem.html' in reference["rate"]
    assert not [name for name, x in reference.items() if re.search("Alias for field|ArgumentKind", x)]
    assert not [path for path, x in pages.items() if len(x) > 1e6 or re.search(r'(?:src=|stylesheet" href=)"http', x)]
    linked = 0
    for path, text in pages.items():
        for target, anchor in set(re.findall(r'href="([^"#:?]+\.html)(?:#([\w.-]+))?"', text)):
            found = Path(os.path.normpath(path.parent / target))
            assert found in pages, (path.name, target)
            assert not anchor or f'id="{anchor}"' in pages[found], (path.name, target, anchor)
            linked += 1
    assert linked > 1000


@pytest.mark.full
def test_searches_find_names_and_headings_first_and_pages_are_accessible(folder, chromium):
    """An exact name came below a dozen guides, and each function was listed twice."""
    browser = chromium  # the theme's pages may write into its log
    for words, first in FIRST_FOUND.items():
        browser.get(f"file://{folder}/search.html?q={words}")
        wait_for(browser, lambda: texts(browser, "ul.search li .result-kind"))
        shown = texts(browser, "ul.search li :is(a:has(+ .result-kind), .result-kind)")  # a title, then its kind
        own = [x for x in zip(shown[::2], shown[1::2], strict=True) if x[1] in ("reference", "guide")]
        assert own[0] == (first, "reference" if first.lower() == first else "guide"), words
        pages = browser.execute_script("return [...document.querySelectorAll('ul.search li a')].map(x => x.pathname)")
        assert len(pages) == len(set(pages)), words
    for width, scheme in ((1280, "dark"), (360, "light")):
        narrowed(browser, width, scheme)
        for page in ("index", "guides/systems", "reference/jaxrate.glicko"):
            browser.get(f"file://{folder}/{page}.html")
            wait_for(browser, lambda: browser.execute_script("return !document.getAnimations().length"))
            assert violations(browser) == {}, page
            assert browser.execute_script(UNNAMED) == [], page
    narrowed(browser, 1280, "light")
    browser.get(f"file://{folder}/guides/start.html")  # whose first leaderboard was clipped
    clipped = "[...document.querySelectorAll('pre')].slice(0, 2).filter(x => x.scrollWidth > x.clientWidth).length"
    assert browser.execute_script(f"return {clipped}") == 0


def test_every_page_installs_the_same_way():
    """The front page asked an index of packages for jaxrate, which has none."""
    front = (ROOT / "jaxrate" / "docs" / "templates" / "front_page.md").read_text(encoding="utf-8")
    for text in (front, PAGES["README"], PAGES["start"]):
        assert re.search(r"clone.{,400}pip install (-q )?'\.\[report\]'", text, re.DOTALL | re.IGNORECASE)


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxrate.docs.page_sources.PACKAGE", tmp_path / "jaxrate")
    with pytest.raises(ValueError, match="build the documentation in a clone of the source"):
        write_sources(tmp_path / "sources")


def test_every_plot_has_a_script_that_draws_it():
    paths = (ROOT / "notebooks" / "gallery").rglob("plot_*.py")
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    style = {"COLOURS", "PAPER", "darken", "make_axes"}
    assert {f"plot_{name}" for name in jr.plots.__all__ if name not in style} == scripts.keys()
    for name, text in scripts.items():
        assert f"plots.{name.removeprefix('plot_')}(" in text
        title, rule, _, summary = (ast.get_docstring(ast.parse(text)) or "").split("\n", 3)
        assert len(title) == len(rule) and summary.endswith(".")
        for call in re.findall(r"\b(?:jr|plots)(?:\.\w+)+", text):
            value = jr if call.startswith("jr") else jr.plots
            for part in call.split(".")[1:]:
                value = getattr(value, part)


@pytest.mark.parametrize(
    ("docstring", "outputs", "lines"),
    [
        ("As `jr.rate`, `a_\nb`s and *x_:\n- one", {}, [r"As ``jr.rate``\ , ``a_ b``\ s and \*x\_:", "- one"]),
        ("Two.\n\n    jr.two()\n\nMore.", {"jr.two()": "2"}, ["Two.", ".. code-block:: python", "   jr.two()",
         ".. code-block:: text", "   2", "More."]),
        ("A box:\n\n    x = 1\n", {}, ["A box:", ".. code-block:: text", "   x = 1"]),
        ("One.\n\nArgs:\n  x: `y`.\n\n    jr.x", {}, ["One.", "Args:", r"  x: ``y``\ .", "    jr.x"]),
        ("Files.\n\na.py  of a\nb/    of b\n", {}, ["Files."]),
    ],
)  # fmt: skip
def test_docstrings_become_restructured_text(docstring, outputs, lines):
    assert [x for x in to_restructured(docstring, outputs).split("\n") if x] == lines


def test_classes_list_their_fields():
    assert "\n\nFields:\n" in add_fields(jr.History, "A rated history.")
    assert "  clock: of the times, as in `Dataset`\n" in add_fields(jr.History, "A rated history.")
    assert add_fields(jr.extend.Rating, "Rating(mean, deviation)").startswith("\n\nFields:\n  mean: ")


def test_guides_show_pictures_of_the_gallery():
    marks = [mark for page in PAGES.values() for mark in PICTURE_MARK.findall(page)]
    assert len(marks) >= 5
    for folder, script, _, caption in marks:
        assert (ROOT / "notebooks" / "gallery" / folder / f"{script}.py").exists() and caption.endswith(".")
    shown = show_gallery(PAGES["arena"])
    assert "{figure} /gallery/arena/images/sphx_glr_plot_rank_sets_001.png\n:alt: The ranks" in shown
    assert "minigallery" in show_gallery(PAGES["pictures"])


WITH_HYPERPARAMETERS = [
    *(make for name, make in jr.extend.SYSTEMS.items() if name != "skills"),
    *(getattr(jr.parts, name) for name in jr.parts.__all__ if name != "logistic"),
]


@pytest.mark.parametrize("make", WITH_HYPERPARAMETERS, ids=[make.__name__ for make in WITH_HYPERPARAMETERS])
def test_hyperparameters_stand_among_the_arguments(make):
    arguments = re.search(r"\nArgs:((?:\n  .*)*)", make.__doc__)[1]
    assert not [name for name in vars(make)["hyperparameters"]._fields if f"\n  {name}: " not in arguments]


# The notebooks as they are kept: executed from top to bottom, small, and without a trace of a machine.

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"), key=lambda path: int(path.stem.partition("_")[0]))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
MACHINE = r"(?<![\w.])(/(home|root|tmp|work|var|opt|usr|mnt|Users)\b|[A-Z]:\\)"


def test_readme_lists_them():
    listed = re.findall(r"\]\((notebooks/\w+\.ipynb)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert listed == [f"notebooks/{path.name}" for path in NOTEBOOKS] and len(listed) == 8


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_executed_and_listed_with_their_finding(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    pytest.importorskip("nbformat").validate(notebook)
    assert notebook["metadata"] == METADATA and path.stat().st_size < 400_000
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    (kind, head), prose = cells[0], "".join(source for kind, source in cells if kind == "markdown")
    title, finding = head.partition("\n")[0].partition(":")[0], head.partition("**Finding.** ")[2].partition("\n\n")[0]
    listed = rf"\[{re.escape(title.removeprefix('# '))}\]\({path.name}\)\.? {re.escape(' '.join(finding.split()))}"
    assert kind == "markdown" and re.search(listed, " ".join((path.parent / "README.md").read_text("utf-8").split()))
    assert all((path.parent / link).exists() for link in re.findall(r"\]\(([^):]+)\)", prose))
    assert max(len(line) for kind, source in cells if kind == "code" for line in source.splitlines()) <= 80

    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert "image/png" in outputs[0]["data"]  # listings of data stood before what the notebook finds
    for output in outputs:
        assert output.get("name", "stdout") == "stdout" and output["output_type"] != "error"
        said = "".join(output["text"] if "text" in output else output["data"].get("text/plain", ""))
        drawn = "".join(output.get("data", {}).get("text/html", "")) + said
        assert not re.search(MACHINE, said), said
        assert not re.search(r"<td[^>]*>\d{4,}\.\d</td>|^ *\d+  \D.*  \d{4,}\.\d  ", drawn, re.MULTILINE), drawn
