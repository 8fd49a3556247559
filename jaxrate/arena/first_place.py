"""Who may be first, in a sentence: the finding above pages and plots of strengths."""

from collections.abc import Sequence

from jaxrate.core.text_format import join_names

MAX_RIVALS = 2  # names of others in the sentence; of more, their number


def first_place_finding(leaders: Sequence[str], level: float, noun: str = "") -> str:
    """Who is the best and how surely, from the names of all who may have rank 1, the best first.

    The verb is that of the place, not of a name, which may be of one player or of a team. `level` is the probability
    that all sets of ranks hold, `noun` what one of them is called.
    """
    first, *others = leaders
    if not others:
        return f"The best {noun}".rstrip() + f" is {first}, with {100 * level:g}% confidence"
    leader = f"leading {noun}" if noun else "leader"
    if len(others) > MAX_RIVALS:
        return f"The {leader} is {first}, but any of {len(others):,} others may be the best"
    return f"The {leader} is {first}, but {join_names(others, 'or')} may be better"
