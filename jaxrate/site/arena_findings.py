"""What votes make certain about strengths, in sentences."""

from collections.abc import Sequence

import numpy as np

from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_estimates import Strengths
from jaxrate.array_types import HostArray
from jaxrate.site.wording import PLAYERS, PlayerOrTeamNoun
from jaxrate.text_format import join_names

MARGIN_ERRORS = 1.96  # standard errors: 95%
MAX_LISTED_NAMES = 4  # names in a sentence; of more players, their number
TOP_SIZES = 3, 5, 10, 20, 50  # numbers of first ranks


def headline(names: Sequence[str], strengths: Strengths, ranks: RankSets | None) -> str:
    """Who is first, and whether others may be: the finding at the top of the page."""
    rated = _rated_ids(strengths)
    if not len(rated):
        return "Nobody can be ranked yet"
    first = names[rated[0]]
    if len(rated) > 1 and ranks is None and strengths.covariance is not None and strengths.converged:
        points, error = strengths.difference(*strengths.players[rated[:2]])
        if points < MARGIN_ERRORS * error:
            return f"{first} leads {names[rated[1]]}, within the margin of error"
    if len(rated) == 1 or ranks is None:
        return f"{first} is first"
    others = [i for i in _possible_leaders(strengths, ranks) if i != rated[0]]
    if not others:
        return f"{first} is first, at {100 * ranks.level:g}% confidence"
    if len(others) <= MAX_LISTED_NAMES - 2:
        return f"{first} leads, but {join_names([names[i] for i in others])} may be better"
    return f"{first} leads, but any of {len(others):,} others may be better"


def certain_findings(
    names: Sequence[str], strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun = PLAYERS
) -> list[str]:
    """Sentences about the lead, the first place, the first ranks, and how many pairs have a certain order."""
    rated, findings = _rated_ids(strengths), []
    if len(rated) < 2:
        return []
    if strengths.covariance is not None and strengths.converged:
        points, error = strengths.difference(strengths.players[rated[0]], strengths.players[rated[1]])
        lead = f"{names[rated[0]]} leads {names[rated[1]]} by {points:.0f} points"
        findings.append(f"{lead}; the margin of error is {MARGIN_ERRORS * error:.0f}.")
    if ranks is not None:
        leaders = _possible_leaders(strengths, ranks)
        if 1 < len(leaders) <= MAX_LISTED_NAMES:
            findings.append(f"The best is one of {join_names([names[i] for i in leaders], 'or')}.")
        elif len(leaders) > 1:
            findings.append(f"The best is one of {noun.quantify(len(leaders))}.")
        findings += _players_surely_on_top_finding(names, strengths, ranks, noun)
        pairs = len(rated) * (len(rated) - 1) // 2
        ordered = int(ranks.surely_better[np.ix_(rated, rated)].sum())
        share = f"{ordered:,} of {pairs:,} pairs" if ordered < pairs else f"all {pairs:,} pairs"
        findings.append(f"The votes tell who is better in {share}.")
    return findings


def _players_surely_on_top_finding(
    names: Sequence[str], strengths: Strengths, ranks: RankSets, noun: PlayerOrTeamNoun
) -> list[str]:
    """Who surely has one of the first ranks: the least number of ranks that somebody surely keeps to."""
    order, least = strengths.order, 2 if len(_possible_leaders(strengths, ranks)) == 1 else 1
    for size in TOP_SIZES:
        if size >= len(order):
            break
        inside = [i for i in order.tolist() if ranks.greatest[i] <= size]
        if [(ranks.least[i], ranks.greatest[i]) for i in inside] == [(1, 1), (2, 2)]:
            return [f"{names[inside[0]]} and {names[inside[1]]} are surely first and second."]
        if len(inside) >= least:
            who = (
                join_names([names[i] for i in inside])
                if len(inside) <= MAX_LISTED_NAMES
                else noun.quantify(len(inside))
            )
            return [f"{who} {'is' if len(inside) == 1 else 'are'} surely among the first {size}."]
    return []


def _rated_ids(strengths: Strengths) -> HostArray:
    """[R] ids with a finite rating, the best first."""
    return strengths.order[np.isfinite(strengths.rating[strengths.order])]


def _possible_leaders(strengths: Strengths, ranks: RankSets) -> list[int]:
    """Ids of all who may have rank 1, the best first."""
    return [i for i in strengths.order.tolist() if ranks.least[i] == 1]
