"""Pages of HTML: a site of a rated history, its report, and the page of an arena."""

from jaxrate.site.arena_page import write_arena_page
from jaxrate.site.report_page import write_report
from jaxrate.site.site_writer import write_site

__all__ = [
    "write_arena_page",
    "write_report",
    "write_site",
]
