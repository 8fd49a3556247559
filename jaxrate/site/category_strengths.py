"""The strengths of players in each category, as on each surface, in a sentence for their pages."""

import numpy as np

from jaxrate.forecasts.matchup_tables import MAX_CATEGORIES
from jaxrate.league.ratings_at_times import category_ratings, has_modifiers
from jaxrate.site.page_templates import mark_figures
from jaxrate.site.pair_fields import sort_categories
from jaxrate.site.site_data import SiteData
from jaxrate.site.wording import SURFACES, UNKNOWN, category_noun, category_phrase, format_category
from jaxrate.text_format import use_minus_sign


def describe_player_strengths_by_category(data: SiteData) -> list[str]:
    """A paragraph about each player, by id, in HTML; empty where strengths are the same in all categories."""
    rated, board, digits = data.rated, data.full_leaderboard, data.digits
    texts = [""] * len(data.names)
    names = [] if rated.categories is None else rated.categories.tolist()
    if not 1 < len(names) <= MAX_CATEGORIES or not has_modifiers(rated.system, rated.state):
        return texts
    strengths = {}
    for name in sort_categories(rated, dict.fromkeys(names)):
        mean, deviation = (np.asarray(x, float)[data.leaderboard_ids] for x in category_ratings(rated, name)[:2])
        if format_category(name) != UNKNOWN and np.any(np.abs(mean - board.rating) >= 0.5 * 10.0**-digits):
            strengths[_opponents_or_category_phrase(data, name)] = mean, deviation
    for at, i in enumerate(data.leaderboard_ids.tolist()):
        parts = [
            f"{place} {use_minus_sign(f'{mean[at]:,.{digits}f}')}\u00a0±\u00a0{1.96 * deviation[at]:,.{digits}f}"
            for place, (mean, deviation) in strengths.items()
        ]
        texts[i] = f'<p class="by-category">{mark_figures("Rating " + ", ".join(parts))}.</p>' if parts else ""
    return texts


def _opponents_or_category_phrase(data: SiteData, category: object) -> str:
    """What a player meets, as "on clay", "in mode duo" or, in category Glicko, "against Zerg"."""
    name = format_category(category)
    if data.rated.system.name == "category_glicko" and name.casefold() not in SURFACES:
        return f"against {name}"
    return category_phrase(category_noun(data.rated), name)
