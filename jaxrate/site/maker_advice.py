"""Advice for the maker of a page: what would improve the ratings, and the commands that do it."""

from typing import NamedTuple


class Advice(NamedTuple):
    """What a maker may do; the commands that write pages print it, and pages, whose readers cannot, do not show it."""

    purpose: str  # what the commands are for, in a clause
    commands: tuple[str, ...]  # in which FILE stands for the rated file

    def to_text(self, file: str | None = None) -> str:
        """The advice in a line, with the name of the rated file."""
        text = f"{self.purpose}: {'; '.join(self.commands)}"
        return text if file is None else text.replace("FILE", file)
