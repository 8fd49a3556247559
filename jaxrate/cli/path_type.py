"""Paths on the command line."""

from __future__ import annotations

from typing import Any

import click


class NonEmptyPath(click.Path):
    """A path; an empty one would be the folder where one is, and is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("name a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)
