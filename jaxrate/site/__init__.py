"""HTML pages: a site and a report of a rated history, and a page of fitted strengths.

accuracy_summary.py  the accuracy of predictions in words, for people who do not know metrics
arena_page.py        fitted strengths as one HTML page that needs no network: table, intervals, ranks, wins, drift
benchmark_page.py    benchmarks as one HTML page: how near the best rating of each history comes to ceilings
player_pages.py      the page of every player: a summary, and the career as data for the scripts of the site
report_page.py       a rated history as one HTML page: leaderboard, players, predictions for pairs, and accuracy
site_data.py         data of all pages of a site: careers, names, and texts
json_columns.py      numbers of a site in JSON: ratings, chances and times, and the leaderboard in columns
site_writer.py       a rated history as a site of static files
explanation_tables.py  why forecasts are as they are: what each side contributes
data_files.py        JSON of scripts, and tables for downloads
forecast_tables.py   tables of forecasts: future events with their predictions, and the end of a season
wording.py           texts about a rated history for pages
sitemap_and_feed.py  what tells others of a site: the map of its pages, the feed of changes, addresses
arena_findings.py    what votes make certain about strengths, in sentences
calibration_summary.py  bins of predictions with what came true and its interval, and what they show, in words
contest_accuracy.py  the accuracy of predictions of contests of many
contest_sides.py     the sides of contests: how many there are, and who of two won
category_rankings.py  the pages of the ranking of each category, as of each surface
category_strengths.py  the strengths and results of players in each category, and who is ranked in it
career_charts.py     the charts of all careers, drawn at once
drawings.py          drawings of one line each as SVG
scoreline_cards.py   scorelines of matches to come, with heat maps
event_rows.py        rows of the tables of all careers as HTML: matches or contests, opponents, and the biggest upsets
head_to_head_matrix.py  chances of the best players against each other, in each category
headline.py          the headline of a site
home_sides.py        who was at home in each match
line_ups.py          who played with whom in contests of teams, and their shares of the team's rating
hindsight_level.py   ratings in hindsight, at the level and spread of the ratings at the time
system_bars.py       how far systems are behind the best, as bars on one axis
maker_advice.py      what the maker of a page may do to improve the ratings
method_texts.py      the page of the method: settings in words, what points are worth
page_templates.py    the templates of pages
pair_fields.py       the form that predicts any two, in the category that is chosen
percent_heat_map.py  a heat map of percentages as a small PNG, in the colours of light and of dark pages
permalinks.py        permanent addresses of players
ranking_rows.py      rows of the ranking as HTML
reliability_plot.py  the diagram of predicted chances and how often they came true
palette_png.py       images with a palette as PNG
preview_image.py     the image of previews
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
