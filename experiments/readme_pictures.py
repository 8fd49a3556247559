"""The pictures of the README: a site, a terminal and an arena page, as a browser shows them, and speeds.

    python experiments/readme_pictures.py           # two minutes; needs Chromium; writes PNG to experiments/results
    python experiments/readme_pictures.py --quick   # seconds; draws the speeds alone, and writes nothing

Each is there for light and for dark pages, and narrow, so that its letters can be read in a thumbnail. The speeds are
the figures of experiments/README.md.
"""

import csv
import io
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from contextlib import suppress
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
from common import declare, find, parse
from figures import plt
from PIL import Image
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI
from rich.text import Text
from selenium import webdriver

HERE = Path(__file__).parent
WIDTH, HEIGHT, COLUMNS = 700, 560, 80  # of a window in pixels, and of a terminal in letters
SCHEMES = {"": "light", "_dark": "dark"}
INK = {"": "#1b1b1b", "_dark": "#e8e8e8"}
ACCENT, MUTED = "#2f7fc1", "#9aa5b1"
TERMINAL = "<pre>{code}</pre>"
ROWS = (  # of the tables of experiments/README.md: what is shown, the row, and the column of the peer with its name
    ("Elo, tennis", "| Elo |", 3, "riix", 1.0),
    ("Glicko-2, tennis", "| Glicko-2, volatility", 3, "riix", 1.0),
    ("TrueSkill, tennis", "| TrueSkill, ATP tennis |", 2, "trueskill", 1e-6),
    ("Plackett-Luce, rounds of 8", "| Plackett-Luce, 10,000 rounds of 8", 2, "openskill", 1e-6),
)


def main():
    options = parse(declare("draw the speeds alone", "llmfao.parquet"))
    figures = {suffix: draw_speeds(suffix) for suffix in SCHEMES}
    if options.quick:
        return
    folder = options.out.parent
    for suffix, figure in figures.items():
        figure.savefig(folder / f"readme_speed{suffix}.png", transparent=True)
    with tempfile.TemporaryDirectory() as name:
        photograph(write_pages(options, Path(name)), folder)


def speed_rows():
    """What is rated, in millions a second by jaxrate and by the peer, and the name of the peer."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    lines = text[text.index("## How fast systems are") :].splitlines()
    for title, begin, column, peer, scale in ROWS:
        cells = next(line for line in lines if line.startswith(begin)).strip("| ").split("|")
        ours, theirs = (float(re.search(r"[\d,.]+", cells[i])[0].replace(",", "")) * scale for i in (1, column))
        yield title, ours, theirs, peer


def draw_speeds(suffix):
    """Two dots for each system, as bars have no begin on a logarithmic axis, and how many times as fast jaxrate is."""
    rows = [*speed_rows()][::-1]
    with plt.rc_context({"text.color": INK[suffix], "xtick.color": INK[suffix], "ytick.color": INK[suffix]}):
        figure, axes = plt.subplots(figsize=(8, 2.2))
        for y, (_, ours, theirs, peer) in enumerate(rows):
            axes.plot([theirs, ours], [y, y], color=MUTED, linewidth=3, zorder=1)
            axes.scatter([theirs, ours], [y, y], 70, [MUTED, ACCENT], zorder=2)
            axes.text(ours * 1.6, y, f"jaxrate, {ours / theirs:,.0f} times as fast", va="center", fontsize=9)
            axes.text(theirs / 1.6, y, peer, va="center", ha="right", fontsize=9)
        axes.set(xscale="log", xlim=(2e-4, 3e4), ylim=(-0.6, len(rows) - 0.4))
        axes.set_xticks([1e-2, 1, 100], ["0.01", "1", "100 million a second"])
        axes.minorticks_off()
        axes.set_yticks(range(len(rows)), [title for title, *_ in rows])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


def write_pages(options, folder):
    """The pages of which pictures are taken, by the name of the picture."""
    run_command("rate", "nfl", "--out", folder / "run")
    run_command("site", folder / "run", "--out", folder / "site")
    write_terminal_page(run_command("rate", "nfl"), folder / "terminal.html")
    pages = {"site": folder / "site" / "index.html", "terminal": folder / "terminal.html"}
    files = [find(options, f"llmfao{end}.parquet", "no picture of an arena") for end in ("", "_players")]
    if None not in files:
        pages["arena"] = folder / "arena.html"
        write_votes(*files, folder / "votes.csv")
        about = "--title", "LLMFAO", "--source", "LLMFAO, crowd votes on answers of 59 language models, CC BY 4.0"
        run_command("arena", folder / "votes.csv", "--cluster", "worker", "--report", pages["arena"], *about)
    return pages


def run_command(*arguments):
    """What a command of jaxrate prints into a terminal with colours."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, COLUMNS))
    command = [sys.executable, "-m", "jaxrate", *map(str, arguments)]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # at the end of what is printed
            while block := os.read(ours, 65536):
                printed += block
    os.close(ours)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return printed.decode().replace("\r\n", "\n")


def write_votes(votes, names, path):
    """The votes on language models of LLMFAO with the names of the models."""
    name_by_id = dict(zip(*pq.read_table(names).to_pydict().values(), strict=True))
    columns = pq.read_table(votes).to_pydict()
    columns |= {side: [name_by_id[x] for x in columns[side]] for side in ("a", "b")}
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])


def write_terminal_page(printed, path):
    """A page with the command and what it printed, in the colours of a light or a dark terminal."""
    styles = []
    for scheme, theme in (("light", DEFAULT_TERMINAL_THEME), ("dark", DIMMED_MONOKAI)):
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
        console.print("$ jaxrate rate nfl\n\n", Text.from_ansi(printed), sep="")
        html = console.export_html(theme=theme, inline_styles=True, code_format=TERMINAL)
        colours = f"color: {theme.foreground_color.hex}; background: {theme.background_color.hex}"
        styles.append(
            f"<style>@media (prefers-color-scheme: {scheme}) {{ .{scheme} {{ display: block; {colours} }} }}</style>"
        )
        styles.append(f'<div class="{scheme}">{html}</div>')
    page = "<!doctype html><meta charset=utf-8><style>body { margin: 0 } div { display: none; padding: 16px }"
    path.write_text(
        f"{page} pre {{ font: 13.5px/1.3 monospace; margin: 0 }}</style>{''.join(styles)}", encoding="utf-8"
    )


def photograph(pages, folder):
    """Pictures of the top of each page, in a light and in a dark scheme, at two pixels for each."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options) as browser:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 2, "mobile": False}
        for (title, page), (suffix, scheme) in product(pages.items(), SCHEMES.items()):
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            browser.get(page.as_uri())
            picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
            shown = min(2 * browser.execute_script("return document.body.offsetHeight"), picture.height)
            picture = picture.crop((0, 0, picture.width, shown)).quantize(64)
            picture.save(folder / f"readme_{title}{suffix}.png", optimize=True)


if __name__ == "__main__":
    main()
