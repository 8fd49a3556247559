"""What tells others of a site: the map of its pages, the feed of changes, addresses."""

import re
from html import escape
from typing import Any
from urllib.parse import quote

MAX_MAP_PAGES = 50_000  # pages of one map, as sitemaps.org allows
MAX_FEED_ENTRIES = 20


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
    files = {
        name: _site_map("urlset", "url", [page_address(address, x) for x in part], day)
        for name, part in zip(names, parts, strict=True)
    }
    return files | {"sitemap.xml": _site_map("sitemapindex", "sitemap", [address + x for x in names], day)}


def _site_map(kind: str, item: str, addresses: list[str], day: str) -> str:
    rows = "".join(f"<{item}><loc>{escape(x)}</loc><lastmod>{day}</lastmod></{item}>\n" for x in addresses)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</{kind}>\n'
    )


def add_feed_entry(entries: list[dict[str, str]], entry: dict[str, str]) -> list[dict[str, str]]:
    """The entries of a feed, the latest first; a build of the same results replaces its entry."""
    kept = [x for x in entries if x["id"] != entry["id"]]
    same = next((x for x in entries if x["id"] == entry["id"]), None)
    unchanged = same is not None and all(same[x] == entry[x] for x in ("title", "summary"))
    return [entry | {"updated": same["updated"]} if same and unchanged else entry, *kept][:MAX_FEED_ENTRIES]


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
    keys = {"id", "title", "summary", "updated"}
    return [
        x for x in entries if isinstance(x, dict) and keys <= set(x) and all(isinstance(y, str) for y in x.values())
    ]
