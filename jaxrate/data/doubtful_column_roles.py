"""Hints about columns whose roles are doubtful, and about columns that seem to have one and do not."""

import numpy as np

from jaxrate.data.column_recognition import RecognisedColumnRoles


def doubtful_roles_hint(recognised: RecognisedColumnRoles) -> str:
    """What is doubtful about the roles that arguments give to columns, and what to say instead; or nothing."""
    a, b, score = (recognised.arguments[role] for role in ("a", "b", "score"))
    if recognised.has_rank_as_score:
        hint = f"say rank={score!r}"
        return f"{score} looks like a rank, of which lower is better, but of a score higher is better; {hint}"
    if (team := recognised.unused_team) is not None and _do_teams_share_ranks(recognised):
        hint = f"say team={team!r}"
        return f"the column {team} is not used; if those of a team share a rank, {hint}"
    if (neutral := recognised.unused_neutral) is not None:
        hint = f"say side='a', neutral={neutral!r}"
        return f"the column {neutral} is not used, as nobody has the home advantage; if {a or 'a'} is at home, {hint}"
    if not recognised.has_unused_home:
        return ""
    hint = "if the first has it, say side='a'"
    return f"{a} and {b} look like home and away, but nobody has the home advantage; {hint}"


def _do_teams_share_ranks(recognised: RecognisedColumnRoles) -> bool:
    """Whether, of teams with several members in a contest, most have one rank; drivers of a team have their own."""
    names = [*(recognised.arguments[role] or role for role in ("contest", "rank")), recognised.unused_team]
    if not {*names} <= {*recognised.table.names}:
        return True
    loaded = recognised.table.load(names, names, ())
    contest, rank, team = (np.unique(np.asarray(loaded[x]).astype(str), return_inverse=True)[1] for x in names)
    _, number, members = np.unique(np.stack([contest, team]), axis=1, return_inverse=True, return_counts=True)
    ranks = np.bincount(np.unique(np.stack([number.ravel(), rank]), axis=1)[0], minlength=len(members))
    several = members > 1
    return not several.any() or bool((ranks[several] == 1).mean() > 0.5)
