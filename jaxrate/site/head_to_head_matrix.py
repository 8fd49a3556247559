"""The chances of the best players against each other, as a table and as a finding, in each category."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.site.category_rankings import CategoryStrengths
from jaxrate.site.forecast_tables import write_matrix_finding
from jaxrate.site.site_data import SiteData, groups_by_id
from jaxrate.site.wording import category_noun, category_phrase, format_category

MATRIX_PLAYERS = 12  # the best, against each other


def build_matrix_views(
    data: SiteData, matchups: Mapping[Any, Any], strengths: Sequence[CategoryStrengths], *, has_draws: bool
) -> list[dict[str, Any]]:
    """The matrix of each category with its place, its finding, and the path of the ranking whose first it shows.

    Without categories it shows the first of the ranking.
    """
    by_category = {x.category: x for x in strengths}
    views = []
    for category, tables in matchups.items():
        strength = by_category.get(category)
        ranked = data.listed if strength is None or not len(strength.listed) else strength.listed
        matrix = _win_matrix(data, tables, ranked)
        finding, place = write_matrix_finding(matrix, data.noun.one, has_draws), ""
        if category is not None:
            place = category_phrase(category_noun(data.rated), format_category(category))
        if finding and place:
            rest = finding if not finding.startswith("No ") else f"no{finding[2:]}"
            finding = f"{place[:1].upper()}{place[1:]}, {rest}"
        path = strength.path if strength is not None and ranked is strength.listed else ""
        views.append({"matrix": matrix, "place": place, "finding": finding, "path": path})
    return views


def _win_matrix(data: SiteData, tables: Any, ranked: HostArray) -> list[tuple[str, str, list[float | None]]]:
    """The first of these ids, each with their slug, their name and their chances in percent against each other."""
    groups = groups_by_id(data)[ranked]
    places = np.argsort(data.leaderboard_ids)[ranked[groups == groups[:1]]]
    places = places[places < tables.even.left.shape[1]][:MATRIX_PLAYERS]
    pairs = np.repeat(places, len(places)), np.tile(places, len(places))
    chance = np.clip(100 * tables.even.probability(*pairs), 0.0, 100.0).reshape(len(places), -1)
    return [
        (data.slugs[i], data.names[i], [None if x == y else float(chance[x, y]) for y in range(len(places))])
        for x, i in enumerate(data.leaderboard_ids[places].tolist())
    ]
