"""HTML pages: a site and a report of a rated history, and a page of fitted strengths.

accuracy_summary.py     the accuracy of predictions, in words and pictures for people who do not know metrics
arena_page.py           the page of an arena, and what it finds
benchmark_page.py       benchmarks as one HTML page: how near the best rating of each history comes to ceilings
player_pages.py         the page of every player: a summary, and the career as data for the scripts of the site
report_page.py          a rated history as one HTML page: leaderboard, players, predictions for pairs, and accuracy
site_data.py            data of all pages of a site: careers, names, and texts
json_columns.py         numbers of a site in JSON: ratings, chances and times, and the leaderboard in columns
site_writer.py          a rated history as a site of static files
forecast_tables.py      tables of forecasts: chances, scorelines, and what they are made of
data_files.py           JSON of scripts, and tables for downloads
wording.py              texts about a rated history for pages
sitemap_and_feed.py     what tells others of a site: the map of its pages, the feed of changes, addresses
line_ups.py             sides: who had one, who played with whom and against whom, and who of two won
category_rankings.py    strengths by category, and their rankings
career_charts.py        the charts of all careers, drawn at once
drawings.py             pictures that pages are shared with
table_rows.py           rows of tables: events and rankings
head_to_head_matrix.py  chances of the best players against each other, in each category
headline.py             the headline of a site
hindsight_level.py      ratings in hindsight, at the level and spread of the ratings at the time
system_bars.py          how far systems are behind the best, as bars on one axis
method_texts.py         the page of the method: settings in words, what points are worth
page_templates.py       the templates of pages
pair_fields.py          the form that predicts any two, in the category that is chosen
permalinks.py           permanent addresses of players
reliability_plot.py     the diagram of predicted chances and how often they came true
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
