"""Advice for the maker of a page: what would improve the ratings, and the commands that do it."""

from typing import NamedTuple


class Advice(NamedTuple):
    """What a maker may do; the commands that write pages print it, and pages, whose readers cannot, do not show it."""

    purpose: str  # what the commands are for, in a clause
    commands: tuple[str, ...]  # in which FILE stands for the rated file, and RUN for a folder

    def to_text(self, file: str | None = None, run: str = "RUN", options: str = "") -> str:
        """The advice in a line; `file` with the `options` that read it, and `run`, are as a shell takes them."""
        source = "FILE" if file is None else f"{file} {options}".rstrip()
        commands = (x.replace("FILE", source).replace("RUN", run) for x in self.commands)
        return f"{self.purpose}: {'; '.join(commands)}"
