"""HTML pages: a site and a report of a rated history, and a page of fitted strengths.

arena_page.py         the page of an arena, and what it finds
benchmark_page.py     benchmarks as a page, with bars of systems
player_pages.py       the page of every player: a summary, and the career as data for the scripts of the site
report_page.py        a rated history as one HTML page: leaderboard, players, predictions for pairs, and accuracy
site_data.py          what all pages of a site are made of, also as JSON and in files
site_writer.py        a rated history as a site of static files
forecast_tables.py    tables of forecasts: chances, scorelines, and what they are made of
category_rankings.py  the rankings of categories, and who won how often against whom
drawings.py           pictures that pages are shared with
front_page.py         what stands above a ranking: how sure the lead is, who moved most, and what comes next
html_tables.py        tables as HTML: one printer of columns for all pages
table_rows.py         rows of tables: events, seasons and rankings
page_texts.py         what the site and the report show: headline, notes, the method with its settings, and fixtures
page_templates.py     templates of pages, one way to draw a page that is a file, addresses, sitemap and feed
"""

from jaxrate.site.arena_page import arena_page_html
from jaxrate.site.benchmark_page import benchmark_page_html
from jaxrate.site.report_page import report_html
from jaxrate.site.site_writer import write_site

__all__ = [
    "arena_page_html",
    "benchmark_page_html",
    "report_html",
    "write_site",
]


def __dir__() -> list[str]:
    return __all__
