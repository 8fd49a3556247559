"""What tests of pages do with their text, and in a browser."""

import base64
import gzip
import importlib
import json
import re

import pytest

import jaxrate as jr


def inside(page, name):
    """The JSON in a page, by the id of its element; that of reports is compressed."""
    (text,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    values = json.loads(text)
    return json.loads(gzip.decompress(base64.b64decode(values))) if isinstance(values, str) else values


def text_of(path):
    return path.read_text(encoding="utf-8")


def write_report(folder, rated, **options):
    """Write the report of a history into a folder; returns its path."""
    path = folder / "report.html"
    path.write_text(jr.site.report_html(rated, **options), encoding="utf-8")
    return path


def shown_chances(browser):
    """The chances that a page gives the two who are chosen."""
    return [float(re.search(r"([\d.]+)%$", text)[1]) / 100 for text in texts(browser, "#answer p")]


def wait_for(browser, condition):
    importlib.import_module("selenium.webdriver.support.wait").WebDriverWait(browser, 20).until(lambda _: condition())


def open_page(browser, path):
    """Open a file and wait for its scripts."""
    browser.get("about:blank")
    browser.get(path if isinstance(path, str) else path.as_uri())
    wait_for(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready") == "")


def check_that_nothing_was_loaded(browser):
    """No page wrote into the log or asked the network for anything."""
    assert browser.get_log("browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [x["params"]["request"]["url"] for x in sent if x["method"] == "Network.requestWillBeSent"]
    assert all(re.match(r"(file|blob|data|about|http://127.0.0.1):", url) for url in sent)


def texts(browser, selector):
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((x) => x.textContent)", selector
    )


def narrowed(browser, width, scheme):
    """A screen of this width, in a light or in a dark scheme."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def findings(browser):
    """What axe-core finds wrong with the page, in both schemes and on a phone, by rule; and where it is too wide."""
    wrong, wide = {}, "return document.documentElement.scrollWidth > innerWidth"
    for width, scheme in ((1280, "light"), (1280, "dark"), (960, None), (360, "dark")):
        narrowed(browser, width, scheme or "light")
        wrong |= {f"scrolls sideways at {width}": []} if browser.execute_script(wide) else {}
        wrong |= violations(browser) if scheme else {}
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    return wrong


def violations(browser):
    """What axe-core finds wrong with the page as it is, by rule."""
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    return {x["id"]: [node["html"] for node in x["nodes"]] for x in axe.run(browser)["violations"]}


def pointed(browser):
    """The lines of what a chart says at its right end."""
    browser.execute_script(
        "const chart = document.querySelector('.chart'), box = chart.getBoundingClientRect();"
        "chart.dispatchEvent(new PointerEvent('pointermove', { clientX: box.right, bubbles: true }))"
    )
    return texts(browser, ".tip span")


def downloaded(browser, table):
    """What the button CSV of a table saves."""
    browser.execute_script("URL.createObjectURL = (blob) => ((window.kept = blob), '#')")
    browser.find_element("css selector", f"{table} ~ .below .quiet").click()
    return browser.execute_async_script("window.kept.text().then(arguments[0])")
