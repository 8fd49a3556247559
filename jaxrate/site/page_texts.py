"""The texts of all pages about a history: its headline, what its events, lists and tables are, and its method."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_count, format_number, join_names
from jaxrate.forecasts.pairwise_probabilities import (
    EqualPartners,
    MatchupTables,
    build_matchup_tables_by_category,
    typical_team_size,
)
from jaxrate.forecasts.prediction_explanations import Explanation
from jaxrate.forecasts.scorelines import Scorelines
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.history import History
from jaxrate.history.leaderboards import describe_unconnected_groups, lead_start
from jaxrate.history.ratings_at_times import category_ratings, has_modifiers
from jaxrate.history.recorded_runs import do_leads_fade
from jaxrate.site import forecast_tables, site_data
from jaxrate.site.drawings import reliability_dot_plot
from jaxrate.site.html_tables import Column, head_columns
from jaxrate.site.table_rows import CareerLines, build_career_lines, result_masks
from jaxrate.systems.system_titles import describe_system
from jaxrate.views import wording
from jaxrate.views.accuracy import AccuracySummary, summarise_accuracy
from jaxrate.views.findings import Finding, date_lead_finding, find_first_in_the_end, find_lead, is_new_lead
from jaxrate.views.line_ups import has_teammates, side_words


def page_template_context(data: site_data.SiteData, title: str | None) -> dict[str, Any]:
    """Variables and texts of all pages. Without a title, it is that of the file, if `jaxrate rate` saved it."""
    rated, event, last = data.rated, data.event, data.last_moment
    in_teams, partners = has_teammates(rated), equal_partners(rated, data.listed)
    return {
        "title": title or str(rated.options.get("title") or "Ratings"),
        "pair_title": "Predict a match" if event == "match" and not in_teams else "Compare two",
        "in_teams": in_teams,
        "partners": partners,
        "team_size": 1 if partners is None else 1 + partners.number,
        "searched": data.noun.many if in_teams else "opponents" if event == "match" else "contests",
        "made": data.made.date().isoformat(),
        "moment": data.made.isoformat(timespec="seconds"),
        "event": event,
        "events": data.events,
        "noun": data.noun.one,
        "sides": side_words(rated),
        "nouns": data.noun.many,
        "summary": _summarise_history(data),
        "last": last,
        "last_day": data.last_day,
        "now_text": f"as of {last}" if last else f"after the last {event}",
        "some_current": len(data.listed) < len(data.leaderboard_ids),
        "current_text": _describe_current_players(data),
        "change_period": data.change_period,
        "settled_events": site_data.SETTLED_EVENTS,
        "min_met": site_data.MIN_MET * (data.careers.opponent is not None),
        "dated": data.is_dated,
        "timed": rated.clock is not None,
        "draws": data.has_draws,
        "ways": [*result_masks(data, slice(0))],
        "hindsight": data.hindsight is not None,
        "peak": data.peak_definition() * data.has_peaks,
        "groups": _describe_player_groups(data),
        "grouped": data.is_grouped,
        "evidence": _describe_learned_columns(data),
        "margins": _learns_from_margins(rated),
        "table_text": _explain_table_columns(data),
    }


def script_settings(data: site_data.SiteData, context: Mapping[str, Any], course: str) -> dict[str, Any]:
    """The settings of the scripts of all pages, as values for JSON: nouns, switches and limits."""
    settings = {name: context[name] for name in ("dated", "event", "events", "noun", "nouns", "peak", "ways")}
    return settings | {
        "halves": data.is_draw_half,
        "digits": data.digits,
        "leads": data.drifts,
        "since": data.change_period or None,
        "course": course,
        "category": wording.category_noun(data.rated),
        "sides": {"head": context["sides"].head, "names": context["sides"].names},
        "firstEvents": site_data.FIRST_EVENTS,
    }


def equal_partners(rated: History, listed: HostArray) -> EqualPartners | None:
    """The partners that any two have in forecasts of teams: the middle one of `listed`, best first; None: no teams."""
    size = typical_team_size(rated)
    return None if size < 2 or not len(listed) else EqualPartners(size - 1, int(listed[len(listed) // 2]))


def pair_form_variables(rated: History, matchups: Mapping[Any, MatchupTables]) -> dict[str, Any]:
    """The variables of the fields that choose a pair, from the tables by category."""
    tables, num_players = [*matchups.values()][:1], len(rated.players)  # which are alike by category
    count = min([x.even.left.shape[1] for x in matchups.values()], default=num_players)
    categories = [wording.format_category(name) for name in matchups if name is not None]
    return {
        "few": count if count < num_players else 0,
        "sided": any(x.home is not None for x in tables),
        "drawn": any(x.draw is not None for x in tables),
        "categories": categories,
        "category_noun": wording.category_noun(rated),
        "in_series": not any(x.casefold() in wording.SURFACES for x in categories),  # tennis has none
    }


# What the history holds.


def _summarise_history(data: site_data.SiteData) -> str:
    """How many events of how many players there are, from when to when."""
    rated, span = data.rated, ""
    if rated.clock is not None:
        times = rated.events["time"]
        moments = [wording.spell_moment(float(x), rated.clock) for x in (times.min(), times.max())]
        ends = [x[: 10 if data.is_dated else None] for x in moments]
        span = f", {'times ' * (not data.is_dated)}{' to '.join(dict.fromkeys(ends))}"
    return f"{format_count(rated.num_events, data.event)} of {data.noun.quantify(len(data.names))}{span}."


def _describe_current_players(data: site_data.SiteData) -> str:
    """The definition of current players, as "played in the 365 days to 2026-07-19"."""
    return data.scope.partition("\n")[0].partition(" (")[0].partition(", who ")[2]


def _describe_player_groups(data: site_data.SiteData) -> str:
    """The groups of current players, whose ratings cannot be compared, or else of all; nothing if there is one."""
    ids = data.listed if data.is_grouped else data.leaderboard_ids
    numbers, first, sizes = np.unique(data.group[ids], return_index=True, return_counts=True)
    names = np.array([data.names[i] for i in ids[first]], object)
    text = describe_unconnected_groups(numbers, names, sizes, data.events)
    return f"{text[:1].upper()}{text[1:]}. Ratings of different groups cannot be compared." * bool(text)


def _explain_table_columns(data: site_data.SiteData) -> str:
    """The meaning of each column of the tables of events, in words."""
    rated, of_team = data.rated, "of the team " * data.line_ups.in_teams
    when = "Between seasons" if rated.system.settings.get("seasons") else "With time"
    is_match, after = data.event == "match", "The rating is the one after it."
    score = f"Expected: the score {of_team}in percent, as it was before the match; a draw counts as half. {after}"
    sentences = {
        f"Expected is the place before the contest. {after}": not is_match,
        f"Chance: {of_team}to win, as it was before the match. {after}": is_match and not data.is_draw_half,
        score: is_match and data.is_draw_half,
        "Margins count too, so a win by less than expected lowers the rating.": _learns_from_margins(rated),
        f"Ratings move at the end of each period, with the last {data.event} in it.": rated.period,
        f"{when}, leads also shrink; the change by a {data.event} does not count that.": do_leads_fade(rated.system),
    }
    return " ".join(compress(sentences, sentences.values()))


def _learns_from_margins(rated: History) -> bool:
    """Whether the system learns by how much a match was won."""
    return rated.system.settings.get("outcome") in ("margin", "points", "goals")


def _describe_learned_columns(data: site_data.SiteData) -> str:
    """What ratings are learned from, as "results, winning margins and who is at home"."""
    rated = data.rated
    settings, params = rated.system.settings, rated.system.params._asdict()
    is_sided = bool(rated.options.get("sided")) and any(params.get(name) for name in ("side_advantage", "home"))
    of_each = f"the {wording.category_noun(rated)} of each {data.event}"
    evidence = {
        "goals": settings.get("outcome") == "goals",
        "winning margins": settings.get("outcome") == "margin",
        "points": settings.get("outcome") == "points",
        "expected goals": settings.get("expected_goals"),
        "who has White" if rated.options.get("colours") else "who is at home": is_sided,
        "the breaks between seasons": rated.seasons or settings.get("seasons"),
        of_each: rated.categories is not None,
        "other columns of the file": settings.get("covariates") or settings.get("own_parts"),
    }
    found = [*compress(evidence, evidence.values())]
    return join_names(["results", *found]) + " alone" * (not found)


# The method.

SCALE_LOGIT = 0.28  # of the least difference in the table of what points are worth: a chance of about 57%
SCALE_STEPS = 4  # differences in it, each twice the one before
SCALE_PLAYERS = 200  # the best, whose pairs tell what points are worth
NEAR_RATIO = 1.5  # of the differences of pairs that tell what a difference is worth
MIN_CHANCE = 0.001  # below which, and above whose complement, a pair tells nothing


class RatingScale(NamedTuple):
    """What rating points are worth among the current players."""

    columns: list[Column]  # differences in points, and the chance of the better one in percent, or the expected score
    side: tuple[str, str] | None  # what the side is worth in points, and the chance with it against an equal
    place: str = ""  # where points are worth so much, as "on clay", if chances are those of a category


def describe_settings(rated: History) -> list[tuple[str, str]]:
    """The system's hyperparameters and settings: names, and values in words with their units and meanings."""
    system, settings = rated.system, rated.system.settings
    hyperparameters = {name: x for name, x in system.params._asdict().items() if x is not None}
    is_dated, is_of_matches = rated.clock == "dates", rated.contests is None
    texts = {name: _format_hyperparameter(system, name, x, is_dated) for name, x in hyperparameters.items()}
    is_hidden = {"team_performance": is_of_matches, "quit": is_of_matches, "categories": rated.categories is None}
    is_hidden["margin"] = not _learns_from_margins(rated)
    texts |= {name: _format_setting(name, x, rated) for name, x in settings.items() if x and not is_hidden.get(name)}
    return [(name.replace("_", " "), text) for name, text in texts.items()]


def _format_hyperparameter(system: RatingSystem, name: str, value: Any, is_dated: bool) -> str:
    about = getattr(system.space, name, None)
    if about is None:  # of a system of your own
        return _format_value(value)
    unit = about.unit_in_print.replace("days, or the unit of time", "days" if is_dated else "units of time")
    for time in ("period", "event"):
        unit = unit.replace(f"per sqrt({time})", f"in one {time}, and twice that in four")
    unit = " " * bool(unit) + "\u00d7 " * unit[:1].isdigit() + unit
    return f"{_format_value(value)}{unit} \u2013 {about.meaning}"


def _format_setting(name: str, value: Any, rated: History) -> str:
    """A setting in words: seasons by their number and the first one, columns by their names."""
    if name == "seasons":
        begin = next(iter(rated.seasons or ()), "") or wording.spell_moment(value[0], rated.clock)
        return f"{len(value):,}, from {begin}"
    if name == "side_since":
        return wording.spell_moment(value, rated.clock)
    return {"True": "yes", "False": "no"}.get(str(value), _format_value(value).replace("_", " "))


def _format_value(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else ", ".join(map(str, np.atleast_1d(value).tolist()))


def rating_scale(data: site_data.SiteData, tables: MatchupTables | None, category: Any = None) -> RatingScale:
    """What points are worth, by the predictions for pairs of current players; nothing without any."""
    places = data.place[data.listed]
    if tables is not None:
        places = places[places < tables.even.left.shape[1]][:SCALE_PLAYERS]
    if tables is None or len(places) < 2:
        return RatingScale([], None)
    first, second = (places[i] for i in np.triu_indices(len(places), 1))
    rating, place = data.rating[data.leaderboard_ids], ""
    if category is not None:
        place = wording.category_phrase(wording.category_noun(data.rated), wording.format_category(category))
        if has_modifiers(data.rated.system, data.rated.state):
            rating = np.asarray(category_ratings(data.rated, category).mean, float)[data.leaderboard_ids]
    lead, even = rating[first] - rating[second], _log_odds(tables.even.probability(first, second))
    is_known = (np.abs(lead) > 1e-9) & np.isfinite(even) & (lead * even > 0)
    lead, odds = np.abs(lead[is_known]), np.abs(even[is_known])
    if not len(lead):
        return RatingScale([], None)
    points_per_logit = float(np.median(lead / odds))
    differences = _scale_differences(SCALE_LOGIT * points_per_logit)
    near = {x: (odds / lead)[(lead > x / NEAR_RATIO) & (lead < x * NEAR_RATIO)] for x in differences}
    rows = [(format_number(x), _format_chance(x * float(np.median(y)))) for x, y in near.items() if len(y)]
    columns = head_columns(("points ahead", "expected" if data.has_draws else "chance"), rows)
    return RatingScale(columns, _side_advantage_texts(tables, first, second, even, points_per_logit), place)


def _side_advantage_texts(
    tables: MatchupTables, first: HostArray, second: HostArray, even: HostArray, points_per_logit: float
) -> tuple[str, str] | None:
    if tables.home is None:
        return None
    gains = _log_odds(tables.home.ordered_value(first, second)) - even
    gains = gains[np.isfinite(gains)]
    if not len(gains) or np.median(gains) <= 0:
        return None
    gain = float(np.median(gains))
    points = gain * points_per_logit
    return f"{points:.2g}" if points < 10 else f"{points:.0f}", _format_chance(gain)


def _log_odds(probability: HostArray) -> HostArray:
    """Log-odds; NaN of probabilities that are nearly 0 or 1."""
    p = np.asarray(probability, float)
    p = np.where((p > MIN_CHANCE) & (p < 1 - MIN_CHANCE), p, np.nan)
    return np.asarray(np.log(p / (1 - p)))


def _scale_differences(least: float) -> list[float]:
    """Differences from the nearest of 1, 2 and 5 times a power of ten to this one, each twice the one before."""
    size = 10.0 ** math.floor(math.log10(least))
    first = min((digit * size for digit in (1, 2, 5, 10)), key=lambda x: abs(math.log(x / least)))
    return [first * 2.0**i for i in range(SCALE_STEPS)]


def _format_chance(logit: float) -> str:
    return f"{100 / (1 + math.exp(-logit)):.0f}%"


def _describe_method(data: site_data.SiteData) -> dict[str, str]:
    """Sentences on the method by the names of their variables, empty where they do not hold."""
    rated, settings = data.rated, data.rated.system.settings
    parts = {
        "how strong they are": True,
        f"what they gain or lose by the {wording.category_noun(rated)}": rated.categories is not None,
        f"what it is worth to them to {side_words(rated).having}": settings.get("own_side"),
        "how sure all this is": True,
    }
    estimated = join_names(compress(parts, parts.values()))
    model = f"Skills is a statistical model. For every {data.noun.one} it estimates {estimated}."
    formed = "mean" if settings.get("team_performance") == "mean" else "sum"
    teams = (
        f"The strength of a team is the {formed} of the strengths of its members. Its result changes the ratings of "
        "all of them, and most those of whom least is known."
    )
    share = rated.options.get("fitted_share") or 0.0
    extent = "all" if share >= 1 else f"the first {100 * share:g}% of the"
    fit = f"The settings of the system, though, were fitted to {extent} {data.events}."
    return {
        "model_text": model * (rated.system.name == "skills"),
        "team_text": teams * has_teammates(rated),
        "fit_text": fit * bool(share),
    }


# The headline: the finding about who leads, and one sentence: as of when, since when, and by how much.

STALE_DAYS = 30  # from the last result to the build, above which the headline says as of when it speaks


class Headline(NamedTuple):
    """A finding, and a sentence about it."""

    title: str
    sentence: str = ""

    @property
    def finding(self) -> str:
        """Both in one text."""
        return f"{self.title}. {self.sentence}".strip()


def write_headline(data: site_data.SiteData) -> Headline:
    """The finding about who leads, and a sentence: as of when, since when, and by how much."""
    ids, unit = data.first_group, wording.rating_unit(data.rated.system)
    names = [data.names[i] for i in ids]
    lead = find_lead(names, data.rating[ids], data.deviation[ids], unit)
    if len(names) < 2:
        return Headline(str(lead))
    since = lead_start(data.rated, **data.leaderboard_options) if data.is_dated else None
    held = math.nan if since is None else float(data.careers.time.max()) - since
    days = np.floor(data.careers.of_player(int(ids[0])).time)  # on which the leader played
    is_taken = is_new_lead(held) and math.floor(since or 0.0) in days  # or else others lost the lead
    title = str(date_lead_finding(lead, held, is_taken, data.noun))
    told = ": ".join(filter(None, [stale_clause(data), _describe_lead_duration(lead, since, is_taken, title)]))
    return Headline(title, f"{told}." * bool(told))


def stale_clause(data: site_data.SiteData) -> str:
    """The day of the last result, as "As of 2024-12-18", where it is long before the build; else nothing."""
    if not data.last_day or (data.made.date() - date.fromisoformat(data.last_day)).days <= STALE_DAYS:
        return ""
    return f"As of {data.last_day}"


def _describe_lead_duration(lead: Finding, since: float | None, is_taken: bool, title: str) -> str:
    """Since when the leader leads, and by how much, as far as the title does not say it; nothing of who is level."""
    if lead.certainty == "level":
        return ""
    day = "" if since is None else wording.spell_moment(since, "dates")[:10]
    hold = Finding("held", "taken" if is_taken else "kept", lead.subject, since=day)
    gap = lead._replace(relation="held", certainty="by")
    is_told = wording.format_with_unit(float(lead.amount), lead.unit) in title
    return ", ".join(map(str, compress([hold, gap], [day, not is_told])))


# What the site and the report both show.


class PageViews(NamedTuple):
    """Facts about a history, and the variables of templates that tell them."""

    data: site_data.SiteData
    site: dict[str, Any]  # texts of all pages
    shared: dict[str, Any]  # what scripts need to know
    variables: dict[str, Any]  # of pairs, accuracy and method
    headline: Headline
    lines: CareerLines
    board: dict[str, Any]  # columns of all players, the best first
    matchups: dict[Any, MatchupTables]  # by category


def build_page_views(data: site_data.SiteData, title: str | None) -> PageViews:
    """The views of a history."""
    rated, lines, board = data.rated, build_career_lines(data), site_data.leaderboard_columns(data)
    site = page_template_context(data, title)
    course = dict(zip(data.listed.tolist(), lines.levels, strict=True))
    board["course"] = [course.get(i, "") for i in data.leaderboard_ids.tolist()]
    tables = build_matchup_tables_by_category(rated, data.leaderboard_ids, site["partners"])
    matchups = site_data.sort_categories(rated, tables)
    site |= {"paired": bool(matchups), "overall_text": "", "lists": [], "rankings_by_column": {}}
    accuracy, category = summarise_accuracy(rated, data.noun), next(iter(matchups), None)
    variables = {
        "accuracy": accuracy,
        "reliability": None if accuracy.bins is None else reliability_dot_plot(accuracy.bins),
        "calibration": _calibration_columns(accuracy),
        "scale": rating_scale(data, matchups.get(category), category),
        "spread": data.has_intervals,
        **pair_form_variables(rated, matchups),
        "system": describe_system(rated.system.name),
        "period": "" if rated.period is None else f" in periods of {rated.period:g}{' days' * data.is_dated}",
        "params": describe_settings(rated),
        "source": str(rated.options.get("source") or ""),  # if `jaxrate rate` saved it
        **_describe_method(data),
    }
    shared = script_settings(data, site, lines.heading)
    return PageViews(data, site, shared, variables, write_headline(data), lines, board, matchups)


def _calibration_columns(accuracy: AccuracySummary) -> list[Column]:
    """The expected and observed percentages, 95% intervals and events of calibration bins; empty without bins."""
    if accuracy.bins is None:
        return []
    words, rows = accuracy.words, accuracy.bins.rows()
    texts = [(f"{x:.1f}%", f"{y:.1f}%", f"{low:.1f} to {high:.1f}", f"{n:,.0f}") for x, y, low, high, n in rows]
    return head_columns((words.expected, words.observed, "95% interval", words.events), texts)


class Fixtures(NamedTuple):
    """Forecasts of a season and of matches to come, as variables of their page."""

    tables: list[forecast_tables.ForecastTable]
    places: dict[str, tuple[str, str]]  # of players in the history: the names of their pages, and those they have there
    finding: str  # about the season; empty without any
    scorelines: list[forecast_tables.ScorelineCard]
    next_cards: list[forecast_tables.ScorelineCard]  # of matches that are not past
    explained: list[forecast_tables.ExplanationTable]

    @property
    def matches(self) -> list[forecast_tables.MatchForecast]:
        """The matches to come."""
        return [x for table in self.tables for x in table.matches]


def build_fixtures(
    views: PageViews,
    coming: ColumnTable | None,
    explanations: Sequence[Explanation],
    scorelines: Scorelines | None,
    season: SeasonForecast | None,
) -> Fixtures:
    """The fixtures of a history; without tables if nothing is forecast."""
    data, site = views.data, views.site
    places = dict(zip(data.shown_names, zip(data.slugs, data.names, strict=True), strict=True))
    tables = forecast_tables.build_forecast_tables(
        forecast_tables.add_scoreline_columns(coming, scorelines), season, data.noun, places, data.is_past
    )
    finding = ""
    if season is not None:
        leader = [data.shown_names.get(str(x), str(x)) for x in season.player]
        finding = str(find_first_in_the_end(leader, season.place[:, 0], is_decided=season.champion is not None))
    fixtures = Fixtures(tables, places, finding, [], [], [])
    if coming is None:
        return fixtures
    matches = fixtures.matches
    cards = forecast_tables.build_scoreline_cards(scorelines, matches)
    expected = "expected score, draws as half" if site["draws"] else "chance"
    texts = forecast_tables.ExplanationFormat(places, data.digits, expected, site["sides"])
    explained = forecast_tables.build_explanation_tables(explanations, matches, texts)
    next_cards = [*compress(cards, [not x.is_past for x in matches])]
    return fixtures._replace(scorelines=cards, next_cards=next_cards, explained=explained)
