"""The rankings of categories and of what columns tell players apart by, and who won how often against whom."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.forecasts.pairwise_probabilities import MAX_CATEGORIES
from jaxrate.history.event_columns import lookup_ids
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import category_ratings, has_modifiers
from jaxrate.site.html_tables import Column, link_player, make_column, render_table, table_head, table_rows
from jaxrate.site.page_templates import assign_slugs
from jaxrate.site.page_texts import stale_clause
from jaxrate.site.site_data import SiteData, sort_categories
from jaxrate.site.table_rows import SitePage, count_results, ranked_columns, split_ranking
from jaxrate.views.charts import half_widths
from jaxrate.views.findings import Finding, add_place, find_favourite, find_lead
from jaxrate.views.wording import (
    SURFACES,
    UNKNOWN,
    category_noun,
    category_phrase,
    format_category,
    pluralise,
    rating_unit,
)

MIN_EVENTS, MIN_PLAYERS = 10, 20  # a ranking is of those with so many events in the category, if so many have them


class CategoryStrengths(NamedTuple):
    """The strengths of all players in a category, by id."""

    category: object  # its name in the history
    name: str  # as it is shown
    place: str  # as "on clay"
    path: str  # of the page of its ranking; empty where there is none
    mean: HostArray  # [num_players] points
    deviation: HostArray  # [num_players] points; 0 of systems without deviations
    listed: HostArray  # ids of its ranking, the best first
    min_events: int = 0  # in it, with which a current player is listed
    games: HostArray = np.zeros(0)  # [num_players] events in it; [0] if the history does not keep them
    results: Mapping[str, HostArray] = {}  # how many of them ended how; nothing then
    is_by_column: bool = False  # whether it is the overall ranking of those with one value in a column


def build_category_strengths(data: SiteData) -> list[CategoryStrengths]:
    """Strengths in each category with a name; none where they are the same in all, or for many categories."""
    rated, noun = data.rated, category_noun(data.rated)
    if rated.categories is None or not has_modifiers(rated.system, rated.state):
        return []
    names = rated.categories.tolist()
    if not 1 < len(names) <= MAX_CATEGORIES:
        return []
    ordered = [x for x in sort_categories(rated, dict.fromkeys(names)) if format_category(x) != UNKNOWN]
    slugs = assign_slugs(ordered, [f"{noun} {format_category(x)}" for x in ordered], {})
    groups = data.group
    met, strengths = _opponent_category_by_career_row(data), []
    for category, slug in zip(ordered, slugs, strict=True):
        mean, deviation = (np.asarray(x, float) for x in category_ratings(rated, category)[:2])
        if np.all(np.abs(mean - data.rating) < 0.5 * 10.0**-data.digits):
            continue  # nobody has played in it
        listed, played = data.listed, CategoryStrengths._field_defaults
        if met is not None:
            is_met = met == names.index(category)
            games = np.bincount(data.careers.player[is_met], minlength=len(data.names))
            listed, min_events = _list_current_players(data, games[listed], is_met)
            played = {"min_events": min_events, "games": games, "results": count_results(data, is_met)}
        listed = listed[groups[listed] == groups[data.listed[:1]]]
        listed = listed[np.argsort(-mean[listed], kind="stable")]
        name, place = format_category(category), _opponents_or_category_phrase(data, category)
        path = f"{slug}.html" * (len(listed) > 1)
        strengths.append(CategoryStrengths(category, name, place, path, mean, deviation, listed, **played))
    return strengths


MAX_VALUES = 60  # values of a column up to which each has a ranking
RECENT_EVENTS = 20  # of a player, the last ones, whose commonest value is the player's
MAX_CODE_LENGTH = 3  # letters or digits of a value that is no name: its column says what it is, as in "division 2"
MIN_OWN_SHARE = 0.8  # of events with the player's value, from which on a column tells players apart, as leagues do


def build_rankings_by_column(data: SiteData) -> dict[str, list[CategoryStrengths]]:
    """The overall ranking of the players of each league, country, division or class, by the column that has these."""
    columns = {name: values for name, values in data.columns.items() if name != category_noun(data.rated)}
    rankings = {name: _build_rankings_of_column(data, name, values) for name, values in columns.items()}
    return {name: those for name, those in rankings.items() if len(those) > 1}


def _build_rankings_of_column(data: SiteData, name: str, values: HostArray) -> list[CategoryStrengths]:
    """The rankings of two or more players with the same text in a column; none of a column of other things."""
    if values.dtype.kind in "biuf":
        return []
    names, own, share = _commonest_recent_values(data, data.careers.gather(values))
    if not 1 < len(names) <= MAX_VALUES or share < MIN_OWN_SHARE:
        return []
    rankings = []
    for value, slug in zip(names, assign_slugs(names, [f"{name} {x}" for x in names], {}), strict=True):
        listed = data.listed[own == value]
        listed = listed[data.group[listed] == data.group[listed[:1]]]
        if len(listed) > 1 and value != UNKNOWN:
            place = f"in {value}" if len(value) > MAX_CODE_LENGTH else f"in {name} {value}"
            about = value, value, place, f"{slug}.html"
            rankings.append(CategoryStrengths(*about, data.rating, data.deviation, listed, is_by_column=True))
    return rankings


def _commonest_recent_values(data: SiteData, values: HostArray) -> tuple[list[str], HostArray, float]:
    """All values [M] in the last events of those listed, the commonest one of each, and the share of these events."""
    start = data.careers.start
    recent = [values[max(start[i], start[i + 1] - RECENT_EVENTS) : start[i + 1]].tolist() for i in data.listed]
    counts = [Counter(map(format_category, x or [UNKNOWN])) for x in recent]
    own = [max(sorted(x), key=x.__getitem__) for x in counts]
    share = sum(x[value] for x, value in zip(counts, own, strict=True)) / sum(x.total() for x in counts)
    return sorted(set().union(*counts)), np.array(own), share


def shared_category_column(rated: History) -> dict[str, Any]:
    """[n] the categories of the rows of the predictions, by their heading, where both players have the same."""
    numbers = _category_numbers_of_seats(rated)
    if numbers is None or rated.categories is None or (numbers != numbers[:, :1]).any():
        return {}
    names = np.array([format_category(x) for x in rated.categories.tolist()], object)
    return {category_noun(rated): names[numbers[:, 0]]}


def _category_numbers_of_seats(rated: History) -> HostArray | None:
    """[n, seats] the numbers of the categories of players; None if the history does not keep them all."""
    names = rated.events.get("category")
    if rated.categories is None or names is None or None in names:
        return None
    return lookup_ids("category", names.ravel(), rated.categories).reshape(names.shape)


def _opponent_category_by_career_row(data: SiteData) -> HostArray | None:
    """[M] the number of the category that the player of each row of the careers met; None if it is not kept."""
    careers, numbers = data.careers, _category_numbers_of_seats(data.rated)
    return None if numbers is None else numbers[careers.row, careers.side ^ (numbers.shape[1] == 2)]


def _list_current_players(data: SiteData, games: HostArray, is_met: HostArray) -> tuple[HostArray, int]:
    """Current players with enough `games` in a category, and their number; nobody if it is out of use."""
    time = data.careers.time
    ends = data.careers.start[data.listed + 1] - 1
    if not is_met.any() or (len(ends) and time[is_met].max() < time[ends].min()):
        return data.listed[:0], 0
    least = MIN_EVENTS if (games >= MIN_EVENTS).sum() >= MIN_PLAYERS else 1
    return data.listed[games >= least], least


def render_player_category_tables(data: SiteData, strengths: list[CategoryStrengths]) -> list[str]:
    """A table for each player, by id, in HTML: their rating, rank and results in each category that they have met."""
    rows, head, noun = np.full(len(data.names), "", object), "", escape(category_noun(data.rated))
    for one in strengths:
        played = np.flatnonzero(one.games) if one.results else np.arange(len(rows))
        columns = _category_columns(data, one, played)
        head = table_head(columns)
        rows[played] += np.array(table_rows(columns), object)
    caption = f"<caption class=hidden>By {noun}</caption>"
    head = f'<table class="rows static narrow by-category">{caption}<thead><tr>{head}</tr></thead><tbody>'
    return [f"{head}{text}</tbody></table>" * bool(text) for text in rows.tolist()]


def _category_columns(data: SiteData, strengths: CategoryStrengths, played: HostArray) -> list[Column]:
    """The columns of those who played in a category."""
    rank, noun = np.zeros(len(data.names), int), escape(category_noun(data.rated))
    rank[strengths.listed] = np.arange(1, len(strengths.listed) + 1)
    name = f'<a href="../{strengths.path}">{escape(strengths.name)}</a>' if strengths.path else escape(strengths.name)
    ratings = zip(strengths.mean[played].tolist(), half_widths(strengths.deviation[played]).tolist(), strict=True)
    columns = [
        Column("words", noun, [name] * len(played)),
        Column("figure", "rating", [f"{data.format_rating(x)} ± {y:,.{data.digits}f}" for x, y in ratings]),
        make_column("figure", "rank", rank[played].tolist(), lambda x: f"{x:,}" * bool(x)),
    ]
    if strengths.results:
        records = zip(*(x[played].tolist() for x in strengths.results.values()), strict=True)
        count = "\N{EN DASH}".join(["{:,}"] * len(strengths.results)).format
        columns.append(make_column("figure", "\N{EN DASH}".join(strengths.results), records, lambda row: count(*row)))
    return columns


def describe_overall_rating(data: SiteData) -> str:
    """What the rating over all categories is, as a sentence.

    In skills it is the common skill: the strength in a category whose modifier is zero in the mean, as that of a new
    one is. Before evidence all modifiers are alike. In category Glicko the modifiers sum to zero.
    """
    noun, who = category_noun(data.rated), data.noun.one
    events = data.events
    meaning = f"what to expect of a {who} on a {noun} that is new to them"
    if data.rated.system.name == "category_glicko":
        meaning = f"the average of a {who}\N{RIGHT SINGLE QUOTATION MARK}s ratings in all of them"
    return (
        f"The rating over all {pluralise(noun)} is {meaning}: every {noun} counts the same in it, "
        f"however many {events} there were."
    )


def _opponents_or_category_phrase(data: SiteData, category: object) -> str:
    """What a player meets, as "on clay", "in mode duo" or, in category Glicko, "against Zerg"."""
    name = format_category(category)
    if data.rated.system.name == "category_glicko" and name.casefold() not in SURFACES:
        return f"against {name}"
    return category_phrase(category_noun(data.rated), name)


TOP_GAINERS = 50  # ranks among which who gains most from the category is sought


def ranking_links_with_leaders(data: SiteData, strengths: list[CategoryStrengths]) -> list[dict[str, str]]:
    """The rankings to choose from: over all categories, and of each that has a page; nothing without any such."""
    ranked = [x for x in strengths if x.path]
    if not ranked:
        return []

    def format_leader(ids: Any, rating: Any) -> str:
        return f"{data.names[int(ids[0])]} {data.format_rating(float(rating))}"

    links = [{"path": x.path, "name": x.name, "leader": format_leader(x.listed, x.mean[x.listed[0]])} for x in ranked]
    if ranked[0].is_by_column:
        return links
    everything = f"All {pluralise(category_noun(data.rated))}"
    leader = format_leader(data.listed, data.rating[data.listed[0]])
    return [{"path": "index.html", "name": everything, "leader": leader}, *links]


def category_pages(data: SiteData, strengths: list[CategoryStrengths]) -> Iterator[SitePage]:
    """The pages of all rankings by category; all pages link the first of those that are no columns'."""
    nouns = pluralise(category_noun(data.rated))
    links = iter([nouns.capitalize()])
    for one in strengths:
        if not one.path:
            continue
        title, sentence = _write_finding(data, one)
        about = {"current": one.path, "place": one.place, "is_by_column": one.is_by_column, "nouns": nouns}
        for part in split_ranking(one.path, one.path.removesuffix(".html"), len(one.listed)):
            heading, told, summary, link = f"Ranks {part['begin']:,} to {part['end']:,} {one.place}", "", "", ""
            if part["earlier"] is None:
                heading, told, summary = title, sentence, f"{title}. {sentence}"
                link = "" if one.is_by_column else next(links, "")
            table = _render_category_ranking(data, one, part["begin"] - 1, part["end"])
            variables = about | part | {"ranking": table, "sentence": told}
            yield SitePage(part["path"], "category", heading, variables, summary, link)


def _write_finding(data: SiteData, one: CategoryStrengths) -> tuple[str, str]:
    """Who leads in the category, as a headline, and a sentence: who is listed, and whom it suits most."""
    names, unit = [data.names[i] for i in one.listed], rating_unit(data.rated.system)
    lead = find_lead(names, one.mean[one.listed], one.deviation[one.listed], unit)
    count, events = len(names), data.event if one.min_events == 1 else data.events
    condition = f" with {one.min_events} {events} or more" * bool(one.min_events)
    condition += f" {one.place}" * bool(one.min_events or one.is_by_column)
    current = "current " * (len(data.listed) < len(data.names))
    group = f" of group {data.group[data.listed[0]]}" * data.is_grouped
    as_of = stale_clause(data)
    sentence = (
        f"{as_of + ', the' if as_of else 'The'} list has the {count:,} {current}{data.noun.many}{group}{condition}."
    )
    gain = (one.mean - data.rating)[one.listed[:TOP_GAINERS]]
    best = int(np.argmax(gain))
    if round(float(gain[best]), data.digits) > 0:
        among = f"{one.place}{f' among the top {TOP_GAINERS}' * (count > TOP_GAINERS)}"
        sentence += f" {Finding('gained', '', names[best], amount=float(gain[best]), unit=unit, since=among)}"
    return add_place(lead, one.place), sentence


def _render_category_ranking(data: SiteData, one: CategoryStrengths, begin: int, end: int) -> Any:
    """The table of ranks `begin` to `end`, from 0."""
    ids, ranks = one.listed[begin:end], range(begin + 1, end + 1)
    half = half_widths(one.deviation[ids])
    axis, columns = ranked_columns(data, ids.tolist(), ranks, one.mean[ids], half, data.link_to_page)
    signed = partial(data.format_rating, signed=True)
    if not one.is_by_column:
        columns.append(make_column("figure change", "vs overall", (one.mean - data.rating)[ids].tolist(), signed))
    columns.append(make_column("figure overall", "overall rank", data.rank[ids], "{:,}".format))
    if one.results:
        count = f"{{:,}}<small> {data.events}</small>".format
        columns.append(make_column("figure count", data.events, one.games[ids], count))
        columns.append(make_column("figure share", "won", one.results["won"][ids] / one.games[ids], "{:.0%}".format))
    return render_table(f"Ranking {one.place}", columns, "rows ranking by-category", style=axis.grid)


MATRIX_PLAYERS = 12  # the best, against each other


def build_matrix_views(
    data: SiteData, matchups: Mapping[Any, Any], strengths: Sequence[CategoryStrengths]
) -> list[dict[str, Any]]:
    """The matrix of each category with its place, its finding, and the path of the ranking whose first it shows."""
    by_category = {x.category: (x.listed, x.path) for x in strengths if len(x.listed)}
    views = []
    for category, tables in matchups.items():
        ranked, path = by_category.get(category, (data.listed, ""))
        (ids, chances), place, finding = _win_matrix(data, tables, ranked), "", ""
        names = [data.names[i] for i in ids]
        if category is not None:
            place = category_phrase(category_noun(data.rated), format_category(category))
        if len(ids) > 1:
            favourite = find_favourite(names, chances, len(ranked) > len(ids))
            finding = add_place(favourite._replace(noun="an expected score of " * data.has_draws), place)
        rows = np.where(np.isnan(chances), np.array(None), chances).tolist()
        linked = [link_player("", {"": (data.slugs[i], name)}) for i, name in zip(ids, names, strict=True)]
        matrix = [*zip(linked, rows, strict=True)]
        views.append({"matrix": matrix, "place": place, "finding": finding, "path": path})
    return views


def _win_matrix(data: SiteData, tables: Any, ranked: HostArray) -> tuple[HostArray, HostArray]:
    """[m] the first of these ids, and their chances [m, m] in percent against each other; NaN of each alone."""
    places = data.place[ranked[data.group[ranked] == data.group[ranked[:1]]]]
    places = places[places < tables.even.left.shape[1]][:MATRIX_PLAYERS]
    pairs = np.repeat(places, len(places)), np.tile(places, len(places))
    chances = np.clip(100.0 * tables.even.probability(*pairs), 0.0, 100.0).reshape(len(places), -1)
    np.fill_diagonal(chances, np.nan)
    return data.leaderboard_ids[places], chances
