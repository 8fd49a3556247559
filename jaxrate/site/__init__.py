"""HTML pages: a site and a report of a rated history, and a page of fitted strengths."""

from jaxrate.site.arena_page import write_arena_page
from jaxrate.site.report_page import write_report
from jaxrate.site.site_writer import write_site

__all__ = [
    "write_arena_page",
    "write_report",
    "write_site",
]
