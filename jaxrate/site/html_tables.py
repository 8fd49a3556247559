"""Tables as HTML: one printer of columns for all pages."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.optional_imports import import_optional

ADDRESS_PATTERN = re.compile(r"(https?://[^\s<>()]+[^\s<>().,;])")
DATE_PATTERN = re.compile(r"(?<![\w-])\d{4,}-\d\d(?:-\d\d)?(?: \d\d:\d\d:\d\d)?\b(?!-)")


class Column(NamedTuple):
    """A column of a table, whose heads and cells are HTML."""

    kind: str  # class of its cells
    head: str
    cells: Sequence[str]
    label: str = ""  # of its cells, where a phone shows no heads
    title: str = ""
    marks: Sequence[str] = ()  # further classes of its cells
    names_rows: bool = False  # whether its cells are heads of the rows


def make_column(
    kind: str, head: str, values: Iterable[Any], show: Callable[[Any], str] = escape, **looks: Any
) -> Column:
    """A column of values, of which `show` makes HTML; its looks are as those of a `Column`."""
    return Column(kind, head, [*map(show, values)], **looks)


def table_head(columns: Sequence[Column]) -> str:
    """The heads of columns, as HTML."""
    titles = (f' title="{escape(x.title)}"' * bool(x.title) for x in columns)
    return "".join(f'<th scope="col" class="{x.kind}"{y}>{x.head}</th>' for x, y in zip(columns, titles, strict=True))


def join_by_player(rows: Sequence[str], player: HostArray, num_players: int) -> list[str]:
    """The rows of each player by id, as HTML; they are in order of their players [n]."""
    bounds = np.searchsorted(player, np.arange(num_players + 1)).tolist()
    return ["".join(rows[begin:end]) for begin, end in pairwise(bounds)]


def table_rows(columns: Iterable[Column]) -> list[str]:
    """The rows of columns, as HTML."""
    cells = []
    for x in columns:
        label, shown = f' data-name="{x.label}"' * bool(x.label), zip(x.cells, x.marks or repeat(""), strict=False)
        begin, end = ('<th scope="row"', "</th>") if x.names_rows else ("<td", "</td>")
        cells.append([f'{begin} class="{x.kind}{mark and f" {mark}"}"{label}>{text}{end}' for text, mark in shown])
    return [f"<tr>{''.join(row)}" for row in zip(*cells, strict=True)]


def render_table(
    caption: str,
    columns: Sequence[Column],
    kind: str = "rows",
    *,
    element: str = "",
    style: str = "",
    row_kinds: Mapping[int, str] | None = None,
    box: bool = False,
) -> Any:
    """A table of columns as markup; its caption is for those who do not see it, a `box` lets it scroll sideways."""
    rows = table_rows(columns)
    for number, row_kind in (row_kinds or {}).items():
        rows[number] = rows[number].replace("<tr", f'<tr class="{row_kind}"', 1)
    attributes = "".join(
        f' {name}="{escape(x)}"' for name, x in (("id", element), ("class", kind), ("style", style)) if x
    )
    text = f'<table{attributes}>\n<caption class="hidden">{escape(caption)}</caption>\n<thead><tr>{table_head(columns)}'
    text += f"</tr></thead>\n<tbody>\n{chr(10).join(rows)}</tbody></table>"
    if box:
        text = f'<div class="box" tabindex="0" role="region" aria-label="{escape(caption)}, as a table">{text}</div>'
    return mark_html_safe(text)


def text_columns(heads: Sequence[str], rows: Sequence[Sequence[object]], num_words: int = 1) -> list[Column]:
    """The columns of rows of plain texts, of which the first ones are words, and the very first names its row."""
    first, *others = zip(*rows, strict=True)
    columns = [make_column("words", escape(heads[0]), first, name_to_html, names_rows=True)]
    for number, (head, cells) in enumerate(zip(heads[1:], others, strict=True), 1):
        kind = "words" if number < num_words else "figure"
        columns.append(make_column(kind, escape(head), map(str, cells), label=escape(head)))
    return columns


def head_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Column]:
    """Columns of figures, whose heads phones show beside the cells; none without rows."""
    cells = zip(*rows, strict=True)
    return [Column("figure", head, x, head) for head, x in zip(heads, cells, strict=bool(rows))]


def name_to_html(name: object) -> Any:
    """A name as HTML, in which no line ends within figures."""
    return mark_html_safe(f"<bdi>{escape(join_figures(str(name)))}</bdi>")


def mark_html_safe(text: str) -> Any:
    """A text of HTML, which templates do not escape."""
    return import_optional("markupsafe").Markup(text)


def mark_dates(text: str) -> str:
    """Text as HTML, with elements around dates."""
    return DATE_PATTERN.sub(lambda match: f"<time>{match[0]}</time>", escape(text))


def mark_dates_and_addresses(text: str) -> str:
    """Text as HTML, with elements around dates, and addresses of pages as links."""
    parts = enumerate(ADDRESS_PATTERN.split(text))
    return "".join(f'<a href="{escape(x)}">{escape(x)}</a>' if i % 2 else mark_dates(x) for i, x in parts)


def join_figures(name: str) -> str:
    """A name in which no line ends within figures, as those of a date."""
    return re.sub(r"(?<=\d)-(?=\d)", "\u2011", name)


def link_player(key: str, places: Mapping[str, tuple[str, str]], root: str = "") -> Any:
    """The name of a player as HTML, linked if they have a page."""
    slug, name = places.get(key, ("", key))
    shown = f"<bdi>{escape(name)}</bdi>"
    return mark_html_safe(f'<a href="{root}players/{slug}.html">{shown}</a>' if slug else shown)
