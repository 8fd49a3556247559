"""How long a site about tennis takes to build, how large it is, how soon its pages are ready; the report beside it."""

import gzip
import importlib
import re
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from common import find, measure, timed
from histories import tennis

import jaxrate as jr

ROUNDS = 5  # of which the median counts
LARGEST = 1000  # pages that are compressed


def history(options):
    """The rated history, with dates and names."""
    matches = tennis(options)
    if matches is None:
        return None, {}
    players = np.arange(matches.player.max() + 1)
    data = jr.data.Dataset(matches, players, np.arange(len(matches.score)), clock="dates")
    path = None if options.quick else find(options, "atp_players.parquet", "players have no names")
    names = {} if path is None else dict(zip(*_columns(path, "id", "name"), strict=True))
    return jr.rate(jr.glicko2(), data), names


def _columns(path, *names):
    table = importlib.import_module("pyarrow.parquet").read_table(path)
    return [table[name].to_pylist() for name in names]


def ready(folder, pages):
    """Seconds from asking for a page to its last table and chart, of a browser that has seen none of it."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        print("there is no Chromium, or no chromedriver: pages are not opened")
        return []
    webdriver = importlib.import_module("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    service = importlib.import_module("selenium.webdriver.chrome.service").Service(driver)
    rows = []
    with webdriver.Chrome(options=options, service=service) as browser:
        wait = importlib.import_module("selenium.webdriver.support.wait").WebDriverWait(browser, 60, 0.01)
        for page in pages:
            taken = []
            for _ in range(ROUNDS):
                browser.get("about:blank")
                browser.execute_cdp_cmd("Network.clearBrowserCache", {})
                start = time.perf_counter()
                browser.get((folder / page).as_uri())
                wait.until(lambda x: x.execute_script("return document.documentElement.dataset.ready") == "")
                taken.append(time.perf_counter() - start)
            rows.append({"page": page, "ready_seconds": float(np.median(taken)), "least": min(taken)})
    return rows


def part_tennis(options):
    """The site, the report, and how soon pages are ready."""
    rated, names = history(options)
    if rated is None:
        return {}
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path) / "site"
        _, took = timed(lambda: jr.site.write_site(rated, folder, title="Tennis", names=names))
        files = [file for file in folder.rglob("*") if file.is_file()]
        sizes = np.array([file.stat().st_size for file in folder.glob("players/*.html")])
        largest = sorted(folder.rglob("*.html"), key=lambda file: -file.stat().st_size)[:LARGEST]
        row = {
            "players": len(rated.players),
            "matches": len(rated.predictions),
            **took,
            "files": len(files),
            "megabytes": sum(file.stat().st_size for file in files) / 1e6,
            "player_kilobytes_median": float(np.median(sizes) / 1e3),
            "player_kilobytes_most": float(sizes.max() / 1e3),
            "compressed_kilobytes_most": max(len(gzip.compress(file.read_bytes())) for file in largest) / 1e3,
        }
        page, took = timed(lambda: jr.site.report_html(rated))
        one = {"players": len(rated.players), **took, "megabytes": len(page.encode()) / 1e6}
        best = re.search(r'href="?(players/[^">]*)', (folder / "index.html").read_text(encoding="utf-8"))[1]
        pages = ready(folder, ["index.html", best, "pairs.html", "quality.html"])
        return {"building": [row], "report": [one], "pages": pages}


if __name__ == "__main__":
    measure({"tennis": part_tennis}, "a small league, seconds", "atp.parquet and atp_players.parquet")
