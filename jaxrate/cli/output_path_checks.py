"""Paths of the command line: their type, and whether they can be written."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

ABBREVIATION = re.compile("[b-df-hj-np-tv-xz]{2,4}|atp|wta|nba|wnba|ncaa|epl|ufc|mma|afl|ipl|uefa|fifa|fide")


def title_from_file(file: str) -> str:
    """A title from the name of a file, as "Our league" from our_league.csv, or "NFL" from nfl."""
    words = re.sub(r"[\s_-]+", " ", Path(file).name.partition(".")[0]).split()
    words = [x.upper() if ABBREVIATION.fullmatch(x) else x for x in words]
    return " ".join(x[:1].upper() + x[1:] if i == 0 else x for i, x in enumerate(words)) or "Ratings"


def check_output_file(option: str, path: Path | None, example: str) -> None:
    """ValueError if no file of this name can be written, if there is one; `example` is the name of one."""
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file, as {example}")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")
    try:
        if path.exists():
            path.open("ab").close()
        else:
            _check_writable(path.parent)
    except OSError as error:
        raise ValueError(f"{option} {path} cannot be written: {_format_error(error)}") from None


def check_table_file(option: str, path: Path | None, example: str) -> None:
    """ValueError as of `check_output_file`, and for a name that is none of a table."""
    if path is not None and path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"{option} {path}: the name must end in .csv or .parquet")
    check_output_file(option, path, example)


def check_page_file(option: str, path: Path | None, example: str) -> None:
    """ValueError as of `check_output_file`, for a name that browsers do not open as a page, and without jinja2."""
    if path is None:
        return
    from jaxrate.site.page_templates import make_template_environment

    make_template_environment()
    if path.suffix.lower() not in (".html", ".htm") and not path.is_dir():
        raise ValueError(f"{option} {path}: a page is HTML; name a file, as {example}")
    check_output_file(option, path, example)


def check_output_folder(option: str, path: Path | None) -> None:
    """ValueError if no folder of this name can be made with those above it, or if nothing can be written in it."""
    if path is None:
        return
    existing = next(x for x in (path, *path.absolute().parents) if x.exists())
    if not existing.is_dir():
        where = "" if existing == path else f": {existing}"
        raise ValueError(f"{option} {path}{where} is a file; name a folder")
    try:
        _check_writable(existing)
    except OSError as error:
        raise ValueError(f"{option} {path} cannot be written: {_format_error(error)}") from None


def _check_writable(path: Path) -> None:
    with TemporaryFile(dir=path):
        pass


def _format_error(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


class NonEmptyPath(click.Path):
    """A path; an empty one would be the folder where one is, and is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("name a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)
