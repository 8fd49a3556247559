"""What votes make certain about strengths, in sentences."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.arena.first_place import first_place_finding
from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_estimates import Strengths
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import join_names
from jaxrate.site.wording import PLAYERS, PlayerOrTeamNoun

MAX_LISTED_NAMES = 4  # names in a sentence; of more players, their number
ORDINALS = "first", "second", "third", "fourth"
TOP_SIZES = 3, 5, 10, 20, 50  # numbers of first ranks


def headline(
    names: Sequence[str], strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun = PLAYERS
) -> str:
    """Who is the best, and whether others may be: the finding at the top of the page."""
    rated = _rated_ids(strengths)
    if not len(rated):
        return "Nobody can be ranked yet"
    first = names[rated[0]]
    if len(rated) > 1 and ranks is None and strengths.covariance is not None and strengths.converged:
        points, error = strengths.difference(*strengths.players[rated[:2]])
        if points < strengths.errors_to_either_side * error:
            return f"The leading {noun.one} is {first}, but {names[rated[1]]} is within the margin of error"
    if len(rated) == 1 or ranks is None:
        return f"The leading {noun.one} is {first}"
    others = [i for i in ranks.possible_leaders if i != rated[0]]
    return first_place_finding([first, *(names[i] for i in others)], ranks.level, noun.one)


class LeadFinding(NamedTuple):
    """The lead of the first over the second, in a sentence."""

    sentence: str
    is_certain: bool


def lead_finding(
    names: Sequence[str], strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun = PLAYERS
) -> LeadFinding | None:
    """The lead, its margin of error, and whether it is certain; None without a margin.

    With ranks a lead is certain if it is so jointly with all other orders, otherwise by itself.
    """
    rated = _rated_ids(strengths)
    if len(rated) < 2 or strengths.covariance is None or not strengths.converged:
        return None
    first, second = rated[:2]
    points, error = strengths.difference(strengths.players[first], strengths.players[second])
    margin = strengths.errors_to_either_side * error
    lead = f"{names[first]} {'lead' if noun.is_collective else 'leads'} {names[second]} by {points:.0f} points"
    if points <= margin:
        return LeadFinding(f"{lead}, within the margin of error of {margin:.0f}.", False)
    if ranks is not None and not ranks.surely_better[first, second]:
        doubt = f"but with {noun.quantify(len(names))} compared at once that is not enough to be sure"
        return LeadFinding(f"{lead}, with a margin of error of {margin:.0f}, {doubt}.", False)
    return LeadFinding(f"{lead}; the margin of error is {margin:.0f}.", True)


def certain_findings(
    names: Sequence[str], strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun = PLAYERS
) -> list[str]:
    """Sentences about a certain lead, the first place, the first ranks, and how many pairs have a certain order."""
    rated, findings = _rated_ids(strengths), []
    if len(rated) < 2:
        return []
    lead = lead_finding(names, strengths, ranks, noun)
    if lead is not None and lead.is_certain:
        findings.append(lead.sentence)
    if ranks is not None:
        leaders = ranks.possible_leaders
        if 1 < len(leaders) <= MAX_LISTED_NAMES:
            findings.append(f"The best is one of {join_names([names[i] for i in leaders], 'or')}.")
        elif len(leaders) > 1:
            findings.append(f"The best is one of {noun.quantify(len(leaders))}.")
        findings += _players_surely_on_top_finding(names, strengths, ranks)
        pairs = len(rated) * (len(rated) - 1) // 2
        ordered = int(ranks.surely_better[np.ix_(rated, rated)].sum())
        share = f"{ordered:,} of {pairs:,} pairs" if ordered < pairs else f"all {pairs:,} pairs"
        findings.append(f"The votes tell who is better in {share}.")
    return findings


def lead_worth(names: Sequence[str], strengths: Strengths) -> str:
    """What the lead of the first means in votes against the second, in a sentence; empty without two ratings."""
    rated = _rated_ids(strengths)
    if len(rated) < 2:
        return ""
    first, second = rated[:2]
    win, tie, _ = strengths.probability(strengths.players[first], strengths.players[second])
    half = "" if strengths.tie is None else ", a tie as half"
    return f"{names[first]} would win {100 * (win + 0.5 * tie):.0f} of 100 votes against {names[second]}{half}."


def confidence_assumption(strengths: Strengths, clusters: Sequence[str] = ()) -> str:
    """What the model takes for granted about dependence, in a sentence."""
    if clusters:
        named = (
            f"votes of the same {' or the same '.join(clusters)}"
            if len(clusters) > 1
            else (f"votes of the same {clusters[0]}")
        )
        return f"The model treats {named} as dependent, and all others as independent."
    if strengths.model == "plackett_luce":
        return "The model treats all contests as independent."
    return "The model treats all votes as independent, even several by one voter."


def _players_surely_on_top_finding(names: Sequence[str], strengths: Strengths, ranks: RankSets) -> list[str]:
    """Who surely has one of the first ranks: the least number of ranks that somebody surely keeps to."""
    order, least = strengths.order, 2 if len(ranks.possible_leaders) == 1 else 1
    for size in TOP_SIZES:
        if size >= len(order):
            break
        inside = [i for i in order.tolist() if ranks.greatest[i] <= size]
        if len(inside) > MAX_LISTED_NAMES:
            break
        if not inside:
            continue
        who, sure = join_names([names[i] for i in inside]), f"at {100 * ranks.level:g}% confidence"
        is_ordered = all(ranks.least[i] == ranks.greatest[i] == rank for rank, i in enumerate(inside, 1))
        if is_ordered and 2 <= len(inside) <= len(ORDINALS):
            return [f"{who} are {join_names(ORDINALS[: len(inside)])}, {sure}."]
        if len(inside) >= least:
            return [f"{who} {'is' if len(inside) == 1 else 'are'} among the first {size}, {sure}."]
    return []


def _rated_ids(strengths: Strengths) -> HostArray:
    """[R] ids with a finite rating, the best first."""
    return strengths.order[np.isfinite(strengths.rating[strengths.order])]
