"""Advice for the maker of a page: what would improve the ratings, and the commands that do it."""

from typing import NamedTuple


class Advice(NamedTuple):
    """What a maker may do; pages fold it away, since their readers cannot."""

    purpose: str  # a sentence
    commands: tuple[str, ...]
