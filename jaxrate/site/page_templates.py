"""The templates of pages, with dates and numbers marked so that scripts can show them in the reader's language."""

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from html import escape
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

PAGE_FOLDER = Path(__file__).with_name("page")
STYLE_FILES = "page.css", "site.css", "print.css"
SHARED_SCRIPTS = "words.js", "drawings.js", "table.js", "ranking.js", "picker.js", "chart.js", "careers.js", "pair.js"
FIGURE_PATTERN = re.compile(
    r"(?P<time>(?<![\w-])\d{4,}-\d\d(?:-\d\d)?(?: \d\d:\d\d:\d\d)?\b(?!-))"
    r"|(?P<number>(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,]))"
)


def mark_figures(text: str) -> str:
    """Text as HTML, with elements around dates and numbers of thousands."""

    def mark(match: re.Match[str]) -> str:
        if match["time"]:
            return f"<time>{match['time']}</time>"
        return f'<data value="{match["number"].replace(",", "")}">{match["number"]}</data>'

    return FIGURE_PATTERN.sub(mark, escape(text))


def join_figures(name: str) -> str:
    """A name in which no line ends within figures, as those of a date."""
    return re.sub(r"(?<=\d)-(?=\d)", "\u2011", name)


def make_template_environment() -> Any:
    """The environment of the templates; ImportError if jinja2 is not installed."""
    try:
        jinja2 = import_module("jinja2")
    except ImportError as error:
        raise ImportError("pages need jinja2: pip install 'jaxrate[report]'") from error
    return _configure_environment(jinja2)


@cache  # which keeps the templates that it compiles
def _configure_environment(jinja2: Any) -> Any:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE_FOLDER), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    markup = import_module("markupsafe").Markup
    environment.filters["figures"] = lambda text: markup(mark_figures(str(text)))
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False, "ensure_ascii": False}
    return environment


def load_template_and_assets(
    name: str, style_files: Iterable[str], script_files: Iterable[str]
) -> tuple[Any, dict[str, Any]]:
    """The template of a page that is one file, and variables for its style and script; ImportError without jinja2."""
    template, script = make_template_environment().get_template(name), concatenate_page_files(script_files)
    script_hash = b64encode(sha256(script.encode()).digest()).decode()
    return template, {
        "version": version("jaxrate"),
        "style": concatenate_page_files(style_files),
        "script": script,
        "hash": script_hash,
    }


def concatenate_page_files(names: Iterable[str]) -> str:
    """The contents of files of the folder `page`, one after the other."""
    return "\n".join((PAGE_FOLDER / name).read_text(encoding="utf-8") for name in names)
