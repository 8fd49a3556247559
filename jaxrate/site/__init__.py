"""HTML pages: a site and a report of a rated history, and a page of fitted strengths."""

from jaxrate.site.arena_page import arena_page_html
from jaxrate.site.report_page import report_html
from jaxrate.site.site_writer import write_site

__all__ = [
    "arena_page_html",
    "report_html",
    "write_site",
]


def __dir__() -> list[str]:
    return __all__
