"""Guides and reference: every page and every public name is there, with what its fields and hyperparameters mean."""

import re
import subprocess
import sys

import pytest

import jaxrate as jr
from tests.browser import texts, wait_for
from tests.test_readme import PAGES

pytest.importorskip("pdoc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    command = [sys.executable, "-m", "jaxrate.reference", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder


def test_the_reference_says_what_everything_means(folder):
    pages = {
        path.stem: path.read_text(encoding="utf-8") for path in folder.rglob("*.html") if "guides" not in path.parts
    }
    main = pages["jaxrate"]
    assert not [name for name in jr.__all__ if f'id="{name}"' not in main]
    assert {make.__module__.split(".")[-1] for make in jr.extend.SYSTEMS.values()} <= {*pages}
    assert not [name for name, page in pages.items() if "Alias for field" in page or "Create new instance" in page]
    assert "growth of the deviation of an idle player (points per sqrt(period), &gt;= 0)." in pages["glicko"]
    assert "length of a rating period (days, or the unit of time, &gt; 0). Not fitted." in pages["glicko"]
    assert "Annotated[<" not in main and "typing.Annotated" not in pages["glicko"]
    assert "mean over the matches (pairs, participants) scored for training" in pages["fitting"]


def test_guides_stand_beside_it(folder):
    start = (folder / "index.html").read_text(encoding="utf-8")
    assert "jaxrate/guides/start.html" in start
    assert {path.stem for path in (folder / "jaxrate" / "guides").iterdir()} == PAGES.keys() - {"README"}


def test_links_lead_somewhere(folder):
    pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    linked = 0
    for path, text in pages.items():
        for target, anchor in re.findall(r'href="([^"#:]+\.html)(?:#([\w.]+))?"', text):
            found = (path.parent / target).resolve()
            assert found in pages, (path.name, target)
            assert not anchor or f'id="{anchor}"' in pages[found], (path.name, target, anchor)
            linked += 1
    assert linked > 100


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("as of a date", "leaderboard"), ("carry on", "rate"), ("draw", "forecasts.OutcomeProbabilities.draw")],
)
def test_what_is_searched_for_is_found(folder, browser, words, wanted):
    browser.get(f"file://{folder}/jaxrate.html?search={words}")
    wait_for(browser, lambda: texts(browser, "section.search-result .name"))
    found = texts(browser, "section.search-result .name")
    assert f"jaxrate.{wanted}" in found  # the first ten
