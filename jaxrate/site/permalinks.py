"""Permanent addresses of players: file names that keep to their first build, whatever names join later."""

import json
import re
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

PERMALINKS_FILE = "permalinks.json"  # slugs by the players' names in the history
LETTER_SPELLINGS = str.maketrans(
    dict(zip("łøđðþßæœ\u0131", ["l", "o", "d", "d", "th", "ss", "ae", "oe", "i"], strict=True))
)
WINDOWS_RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)\d)")  # names that Windows reserves
MAX_SLUG_BYTES = 180  # file systems take names of 255


def load_permalinks(folder: Path) -> dict[str, str]:
    """The addresses that earlier builds gave, by the players' names in the history.

    Raises:
      ValueError: if the file is damaged.
    """
    path = folder / PERMALINKS_FILE
    if not path.exists():
        return {}
    try:
        links = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(links, dict) and all(isinstance(x, str) and x == spell_slug(x) for x in links.values()):
            return links
    except ValueError:
        pass
    raise ValueError(f"{path} is damaged; restore it, or remove it, which changes addresses of players")


def assign_slugs(players: Any, names: list[str], permalinks: Mapping[str, str]) -> list[str]:
    """A unique file name for each player.

    Args:
      players: [num_players] names in the history, which are the keys of `permalinks`.
      names: names that are shown, from which new addresses are made.
      permalinks: addresses that stay, also those of players who are gone.
    """
    used_slugs = set(permalinks.values())
    slugs = []
    for player, name in zip(map(str, players), names, strict=True):
        slug = permalinks.get(player)
        if slug is None:
            slug = stem = spell_slug(name)
            number = 1
            while slug in used_slugs:
                number += 1
                slug = f"{stem}-{number}"
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
