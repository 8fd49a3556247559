"""The strengths of players in each category, as on each surface, for rankings by category and pages of players."""

from html import escape
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import use_minus_sign
from jaxrate.forecasts.matchup_tables import MAX_CATEGORIES
from jaxrate.history.event_columns import lookup_ids
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import category_ratings, has_modifiers
from jaxrate.site.pair_fields import sort_categories
from jaxrate.site.permalinks import assign_slugs
from jaxrate.site.site_data import SiteData, event_nouns, groups_by_id, has_draws
from jaxrate.site.wording import SURFACES, UNKNOWN, category_noun, category_phrase, format_category, pluralise

MIN_EVENTS, MIN_PLAYERS = 10, 20  # a ranking is of those with so many events in the category, if so many have them


class CategoryStrengths(NamedTuple):
    """The strengths of all players in a category, by id."""

    category: object  # its name in the history
    name: str  # as it is shown
    place: str  # as "on clay"
    path: str  # of the page of its ranking; empty where there is none
    mean: HostArray  # [num_players] points
    deviation: HostArray  # [num_players] points
    results: HostArray | None  # [num_players, 3] wins, draws and losses in it; None if the history does not keep them
    listed: HostArray  # ids of its ranking, the best first
    min_events: int  # in it, with which a current player is listed


def build_category_strengths(data: SiteData) -> list[CategoryStrengths]:
    """Those of each category with a name; empty where strengths are the same in all, or for many categories."""
    rated, board, noun = data.rated, data.full_leaderboard, category_noun(data.rated)
    names = [] if rated.categories is None else rated.categories.tolist()
    if not 1 < len(names) <= MAX_CATEGORIES or not has_modifiers(rated.system, rated.state):
        return []
    ordered = [x for x in sort_categories(rated, dict.fromkeys(names)) if format_category(x) != UNKNOWN]
    slugs = assign_slugs(ordered, [f"{noun} {format_category(x)}" for x in ordered], {})
    groups = groups_by_id(data)
    met, strengths = _opponent_category_by_career_row(data), []
    for category, slug in zip(ordered, slugs, strict=True):
        mean, deviation = (np.asarray(x, float) for x in category_ratings(rated, category)[:2])
        if np.all(np.abs(mean[data.leaderboard_ids] - board.rating) < 0.5 * 10.0**-data.digits):
            continue  # nobody has played in it
        results, listed, min_events = None, data.listed, 0
        if met is not None:
            is_met = met == names.index(category)
            results = _count_results(data, is_met)
            listed, min_events = _list_current_players(data, results, is_met)
        listed = listed[groups[listed] == groups[data.listed[:1]]]
        listed = listed[np.argsort(-mean[listed], kind="stable")]
        name, place = format_category(category), _opponents_or_category_phrase(data, category)
        path = f"{slug}.html" if len(listed) > 1 else ""
        strengths.append(CategoryStrengths(category, name, place, path, mean, deviation, results, listed, min_events))
    return strengths


def shared_category_column(rated: History) -> dict[str, Any]:
    """By its heading, [n] the categories of the rows of the predictions, where both players have the same."""
    numbers = _category_numbers(rated)
    if numbers is None or rated.categories is None or (numbers != numbers[:, :1]).any():
        return {}
    names = np.array([format_category(x) for x in rated.categories.tolist()], object)
    return {category_noun(rated): names[numbers[:, 0]]}


def _category_numbers(rated: History) -> HostArray | None:
    """[n, seats] the numbers of the categories of players; None if the history does not keep them all."""
    names = rated.events.get("category")
    if rated.categories is None or names is None or None in names:
        return None
    return lookup_ids(names.ravel(), rated.categories).reshape(names.shape)


def _opponent_category_by_career_row(data: SiteData) -> HostArray | None:
    """[M] the number of the category that the player of each row of the careers met; None if it is not kept."""
    careers, numbers = data.careers, _category_numbers(data.rated)
    return None if numbers is None else numbers[careers.row, careers.side ^ (numbers.shape[1] == 2)]


def _count_results(data: SiteData, is_met: HostArray) -> HostArray:
    """[num_players, 3] wins, draws and losses in these rows [M] of the careers; of contests all count as draws."""
    count, score = len(data.names), data.line_ups.score
    player = data.careers.player[is_met]
    score = np.full(len(player), 0.5) if score is None else np.asarray(score)[is_met]
    result = np.where(score == 1.0, 0, np.where(score == 0.0, 2, 1))
    return np.bincount(player * 3 + result, minlength=3 * count).reshape(-1, 3)


def _list_current_players(data: SiteData, results: HostArray, is_met: HostArray) -> tuple[HostArray, int]:
    """The current players with enough events in a category, and how many these are; nobody if it is out of use.

    It is out of use if its last event is earlier than the last event of every current player.
    """
    games, time = results.sum(axis=1)[data.listed], data.careers.time
    ends = data.careers.start[data.listed + 1] - 1
    if not is_met.any() or (len(ends) and time[is_met].max() < time[ends].min()):
        return data.listed[:0], 0
    least = MIN_EVENTS if (games >= MIN_EVENTS).sum() >= MIN_PLAYERS else 1
    return data.listed[games >= least], least


def draw_player_tables(data: SiteData, strengths: list[CategoryStrengths]) -> list[str]:
    """A table for each player, by id, in HTML: their rating, rank and results in each category that they have met."""
    texts = [""] * len(data.names)
    if not strengths:
        return texts
    with_results = strengths[0].results is not None and data.line_ups.score is not None
    with_draws = with_results and has_draws(data.rated)
    heads = [("words", category_noun(data.rated)), ("figure", "rating"), ("figure", "rank")]
    ways = "won\N{EN DASH}drawn\N{EN DASH}lost" if with_draws else "won\N{EN DASH}lost"
    heads += [("figure", ways)] * with_results
    row = "".join(f'<th scope="col" class="{kind}">{escape(text)}' for kind, text in heads)
    caption = f"<caption class=hidden>By {escape(category_noun(data.rated))}</caption>"
    head = f'<table class="rows static narrow by-category">{caption}<thead><tr>{row}</thead><tbody>'
    for one in strengths:
        rank = np.zeros(len(texts), int)
        rank[one.listed] = np.arange(1, len(one.listed) + 1)
        name = f'<a href="../{one.path}">{escape(one.name)}</a>' if one.path else escape(one.name)
        played = np.arange(len(texts)) if one.results is None else np.flatnonzero(one.results.sum(axis=1))
        results = np.zeros((len(texts), 3), int) if one.results is None else one.results
        columns = (x[played].tolist() for x in (one.mean, 1.96 * one.deviation, rank, results))
        for i, mean, half, place, record in zip(played.tolist(), *columns, strict=True):
            rating = use_minus_sign(f"{mean:,.{data.digits}f} ± {half:,.{data.digits}f}")
            figures = [rating, f"{place:,}" if place else ""]
            if with_results:
                won, drawn, lost = (f"{x:,}" for x in record)
                figures.append("\N{EN DASH}".join([won, drawn, lost] if with_draws else [won, lost]))
            texts[i] += f"<tr><td>{name}{''.join(f'<td class=figure>{x}' for x in figures)}"
    return [f"{head}{text}</tbody></table>" if text else "" for text in texts]


def describe_overall_rating(data: SiteData) -> str:
    """What the rating over all categories is, as a sentence.

    In skills it is the common skill: the strength in a category whose modifier is zero in the mean, as that of a new
    one is. Before evidence all modifiers are alike. In category Glicko the modifiers sum to zero.
    """
    noun, who = category_noun(data.rated), data.noun.one
    events = event_nouns(data.rated)[1]
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
