"""What the site and the report of a history both show, and one way to draw a page that is a file."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.metadata import version
from itertools import compress
from typing import Any, NamedTuple

from jaxrate.forecasts.pairwise_probabilities import MatchupTables, build_matchup_tables_by_category
from jaxrate.forecasts.prediction_explanations import Explanation
from jaxrate.forecasts.scorelines import Scorelines
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.column_table import ColumnTable
from jaxrate.site import forecast_tables, page_templates
from jaxrate.site.accuracy_summary import reliability_dot_plot, summarise_accuracy
from jaxrate.site.page_texts import (
    Headline,
    method_view,
    page_template_context,
    pair_fields,
    rating_scale,
    script_settings,
    write_headline,
)
from jaxrate.site.site_data import SiteData, leaderboard_columns, sort_categories
from jaxrate.site.table_rows import CareerLines, build_career_lines
from jaxrate.views.findings import find_first_in_the_end


class PageViews(NamedTuple):
    """Facts about a history, and the variables of templates that tell them."""

    data: SiteData
    site: dict[str, Any]  # texts of all pages
    shared: dict[str, Any]  # what scripts need to know
    variables: dict[str, Any]  # of pairs, accuracy and method
    headline: Headline
    lines: CareerLines
    board: dict[str, Any]  # columns of all players, the best first
    matchups: dict[Any, MatchupTables]  # by category


def build_page_views(data: SiteData, title: str | None, coming: ColumnTable | None = None) -> PageViews:
    """The views of a history, of which some matches to come are known."""
    rated, lines, board = data.rated, build_career_lines(data), leaderboard_columns(data)
    site = page_template_context(data, title)
    course = dict(zip(data.listed.tolist(), lines.levels, strict=True))
    board["course"] = [course.get(i, "") for i in data.leaderboard_ids.tolist()]
    tables = build_matchup_tables_by_category(rated, data.leaderboard_ids, site["partners"])
    matchups = sort_categories(rated, tables)
    site |= {"paired": bool(matchups), "overall_text": "", "lists": []}
    accuracy, category = summarise_accuracy(rated, data.noun), next(iter(matchups), None)
    variables = {
        "accuracy": accuracy,
        "reliability": None if accuracy.bins is None else reliability_dot_plot(accuracy.bins),
        "scale": rating_scale(data, matchups.get(category), category),
        "spread": data.careers.after.deviation is not None,
        **pair_fields(rated, matchups),
        **method_view(data),
    }
    shared = script_settings(data, site, lines.heading)
    return PageViews(data, site, shared, variables, write_headline(data, coming), lines, board, matchups)


class Fixtures(NamedTuple):
    """Forecasts of a season and of matches to come, as variables of their page."""

    tables: list[forecast_tables.ForecastTable]
    places: dict[str, tuple[str, str]]  # of players in the history: the names of their pages, and those they have there
    finding: str  # about the season; empty without any
    scorelines: list[forecast_tables.ScorelineCard]
    next_cards: list[forecast_tables.ScorelineCard]  # of matches that are not past
    explained: list[forecast_tables.ExplanationTable]
    more_explained: int  # forecasts whose explanations have no room


def build_fixtures(
    views: PageViews,
    coming: ColumnTable | None,
    explanations: Sequence[Explanation],
    scorelines: Scorelines | None,
    season: SeasonForecast | None,
) -> Fixtures | None:
    """The fixtures of a history; None if nothing is forecast."""
    data, site = views.data, views.site
    places = dict(zip(data.shown_names, zip(data.slugs, data.names, strict=True), strict=True))
    tables = forecast_tables.build_forecast_tables(
        forecast_tables.add_scoreline_columns(coming, scorelines), season, data.noun, places, data.is_past
    )
    if not tables:
        return None
    matches = tables[-1].matches
    cards = forecast_tables.build_scoreline_cards(None if coming is None else scorelines, matches)
    ahead = [not data.is_past(x.day) for x in matches]
    finding = ""
    if season is not None:
        leader = [places.get(str(x), ("", str(x)))[1] for x in season.player]
        finding = str(find_first_in_the_end(leader, season.place[:, 0], is_decided=season.champion is not None))
    expected = "expected score, draws as half" if site["draws"] else "chance"
    texts = forecast_tables.ExplanationTexts(places, data.digits, expected, site["sides"])
    explained, more = forecast_tables.build_explanation_tables(explanations, matches, texts)
    return Fixtures(tables, places, finding, cards, [*compress(cards, ahead)], explained, more)


def render_page(
    template: str, scripts: Iterable[str], styles: Iterable[str] = page_templates.STYLE_FILES, **variables: Any
) -> str:
    """The HTML of a page that is one file, with its style and scripts in it; ImportError without jinja2."""
    script = page_templates.concatenate_page_files(scripts)
    return str(
        page_templates.make_template_environment()
        .get_template(template)
        .render(
            version=version("jaxrate"),
            style=page_templates.concatenate_page_files(styles),
            script=script,
            hash=b64encode(sha256(script.encode()).digest()).decode(),
            **variables,
        )
    )
