"""Templates of pages, their addresses, sitemap and feed."""

import json
import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jaxrate.core.optional_imports import import_optional
from jaxrate.site.html_tables import link_player, mark_dates_and_addresses, mark_html_safe, render_table

PAGE_FOLDER = Path(__file__).with_name("page")
STYLE_FILES = "page.css", "site.css", "print.css"
SHARED_SCRIPTS = "words.js", "drawings.js", "table.js", "ranking.js", "picker.js", "chart.js", "careers.js", "pair.js"
MARK_COLOURS, NAVY = ("#f2a900", "#ffffff", "#7cb7f5"), "#14213d"
SVG, PATH = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}"{}>{}</svg>', '<path fill="{}" d="{}"/>'
SITE_MARK = SVG.format(  # three stacked bars
    10, 18, ' aria-hidden="true"', "".join(PATH.format(x, f"M0 {7 * i}h10v4H0z") for i, x in enumerate(MARK_COLOURS))
)
_BARS = "".join(PATH.format(x, f"M9 {7 + 7 * i}h14v4H9z") for i, x in enumerate(MARK_COLOURS))
SITE_ICON = SVG.format(32, 32, "", PATH.format(NAVY, "M0 0h32v32H0z") + _BARS)  # the same on navy


@cache  # which keeps the templates that it compiles
def make_template_environment() -> Any:
    """The environment of the templates; ImportError if jinja2 is not installed."""
    jinja2 = import_optional("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE_FOLDER), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["figures"] = lambda text: mark_html_safe(mark_dates_and_addresses(str(text)))
    environment.globals |= {"table": render_table, "player": link_player, "mark": SITE_MARK, "icon": SITE_ICON}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False, "ensure_ascii": False}
    return environment


def concatenate_page_files(names: Iterable[str]) -> str:
    """The contents of files of the folder `page`, one after the other."""
    return "\n".join((PAGE_FOLDER / name).read_text(encoding="utf-8") for name in names)


def render_page(template: str, scripts: Iterable[str], styles: Iterable[str] = STYLE_FILES, **variables: Any) -> str:
    """The HTML of a page that is one file, with its style and scripts in it; ImportError without jinja2."""
    script = concatenate_page_files(scripts)
    return str(
        make_template_environment()
        .get_template(template)
        .render(
            version=version("jaxrate"),
            made=datetime.now(UTC).date().isoformat(),
            style=concatenate_page_files(styles),
            script=script,
            hash=b64encode(sha256(script.encode()).digest()).decode(),
            **variables,
        )
    )


PERMALINKS_FILE = "permalinks.json"  # slugs by the players' names in the history
LETTER_SPELLINGS = str.maketrans(
    dict(zip("łøđðþßæœ\u0131", ["l", "o", "d", "d", "th", "ss", "ae", "oe", "i"], strict=True))
)
WINDOWS_RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)\d)")  # names that Windows reserves
MAX_SLUG_BYTES = 180  # file systems take names of 255


def load_permalinks(folder: Path) -> dict[str, str]:
    """The addresses that earlier builds gave, by the players' names in the history."""
    path = folder / PERMALINKS_FILE
    links = load_json(path) if path.exists() else {}
    if isinstance(links, dict) and all(isinstance(x, str) and x == spell_slug(x) for x in links.values()):
        return links
    raise ValueError(f"{path} is damaged; restore it, or remove it, which changes addresses of players")


def load_json(path: Path) -> Any:
    """What an earlier build wrote; None if that is not readable."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def assign_slugs(players: Any, names: list[str], permalinks: Mapping[str, str]) -> list[str]:
    """A unique file name for each player, from the name shown, unless permalinks have one."""
    used_slugs = set(permalinks.values())
    slugs = []
    for player, name in zip(map(str, players), names, strict=True):
        slug = permalinks.get(player)
        if slug is None:
            stem = spell_slug(name)
            numbered = (f"{stem}-{number}" for number in count(2))
            slug = next(x for x in chain([stem], numbered) if x not in used_slugs)
            used_slugs.add(slug)
        slugs.append(slug)
    return slugs


def spell_slug(name: str) -> str:
    """Lower-case letters, digits and hyphens: Latin letters without accents, those of other scripts as they are."""
    spelt = unicodedata.normalize("NFKC", name.lower().translate(LETTER_SPELLINGS)).lower()
    slug = re.sub(r"[^a-z0-9]+", "-", spelt) if spelt.isascii() else _strip_accents_and_dash_symbols(spelt)
    slug = slug.encode()[:MAX_SLUG_BYTES].decode(errors="ignore").strip("-")
    slug = slug or f"player-{sha256(name.encode()).hexdigest()[:8]}"
    return f"{slug}-player" if WINDOWS_RESERVED.fullmatch(slug) else slug


def _strip_accents_and_dash_symbols(text: str) -> str:
    letters = []
    for letter in text:
        plain = "".join(x for x in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(x))
        kept = plain if plain.isascii() else letter
        letters.append(kept if kept and unicodedata.category(letter)[0] in "LMN" else "-")
    return re.sub(r"-+", "-", unicodedata.normalize("NFC", "".join(letters)))


MAX_MAP_PAGES = 50_000  # pages of one map, as sitemaps.org allows
MAX_FEED_ENTRIES, FEED_KEYS = 20, {"id", "title", "summary", "updated"}


def check_address(address: str | None) -> str | None:
    """The base address of a site with a slash at its end; ValueError if it is no address."""
    if address is None:
        return None
    if not re.fullmatch(r"https?://[^\s/?#\"'<>]+(/[^\s?#\"'<>]*)?", address):
        raise ValueError(f"address must begin with https:// and name the folder of the site, got {address!r}")
    return address if address.endswith("/") else f"{address}/"


def page_address(address: str, path: str) -> str:
    """The absolute address of a page."""
    return address + ("" if path == "index.html" else quote(path))


def site_map_files(address: str, paths: list[str], day: str) -> dict[str, str]:
    """The map of all pages as files by name; above the most that one may hold, a map of maps."""
    parts = [paths[i : i + MAX_MAP_PAGES] for i in range(0, len(paths), MAX_MAP_PAGES)]
    if len(parts) == 1:
        return {"sitemap.xml": _site_map("urlset", "url", [page_address(address, x) for x in paths], day)}
    names = [f"sitemap-{i}.xml" for i in range(1, len(parts) + 1)]
    maps = [_site_map("urlset", "url", [page_address(address, x) for x in part], day) for part in parts]
    index = _site_map("sitemapindex", "sitemap", [address + x for x in names], day)
    return dict(zip(names, maps, strict=True)) | {"sitemap.xml": index}


def _site_map(kind: str, item: str, addresses: list[str], day: str) -> str:
    rows = "".join(f"<{item}><loc>{escape(x)}</loc><lastmod>{day}</lastmod></{item}>\n" for x in addresses)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</{kind}>\n'
    )


def add_feed_entry(entries: list[dict[str, str]], entry: dict[str, str]) -> list[dict[str, str]]:
    """The latest `MAX_FEED_ENTRIES` entries of a feed; one of the same id is replaced, and if equal keeps its time."""
    unchanged = next((x for x in entries if x == entry | {"updated": x["updated"]}), entry)
    return [unchanged, *(x for x in entries if x["id"] != entry["id"])][:MAX_FEED_ENTRIES]


def feed_text(address: str, title: str, entries: list[dict[str, str]]) -> str:
    """The feed of changes, in Atom."""
    items = "".join(
        f"<entry><id>{escape(x['id'])}</id><title>{escape(x['title'])}</title><updated>{x['updated']}</updated>"
        f'<link href="{escape(address)}"/><summary>{escape(x["summary"])}</summary></entry>\n'
        for x in entries
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<id>{escape(address)}</id><title>{escape(title)}</title><updated>{entries[0]['updated']}</updated>\n"
        f'<author><name>{escape(title)}</name></author><link href="{escape(address)}"/>'
        f'<link rel="self" href="{escape(address)}feed.xml"/>\n{items}</feed>\n'
    )


def saved_feed_entries(marker_content: Any) -> list[dict[str, str]]:
    """The entries that an earlier build saved in its marker file; none if it has none."""
    entries = marker_content.get("feed", []) if isinstance(marker_content, dict) else []
    return [x for x in entries if isinstance(x, dict) and set(x) == FEED_KEYS]
