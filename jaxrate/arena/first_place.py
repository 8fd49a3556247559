"""Who may be first, in a sentence: the finding above pages and plots of strengths."""

from collections.abc import Sequence

from jaxrate.text_format import join_names

MAX_RIVALS = 2  # names of others in the sentence; of more, their number


def first_place_finding(leaders: Sequence[str], level: float) -> str:
    """Who is first, or leads while others may be first, from the names of all who may have rank 1, the best first.

    It has no verb of the leader's, whose name may be of one player or of a team. `level` is the probability that all
    sets of ranks hold.
    """
    first, *others = leaders
    if not others:
        return f"{first} in first place, at {100 * level:g}% confidence"
    rivals = join_names(others) if len(others) <= MAX_RIVALS else f"any of {len(others):,} others"
    return f"{first} in the lead, but {rivals} may be first"
