"""Who played with whom in contests of teams, and what each player brought to their team."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.league.rated_history import Rated
from jaxrate.storage.npz_tables import places_in_contests

TEAM_MATES, TEAM_SHARE = "with", "of the team, %"  # headings


def line_up_columns(rated: Rated, names: Sequence[str]) -> dict[str, HostArray]:
    """Columns of participants [n] by heading: their team-mates, and the share of the team's rating that is theirs.

    The strength of a team is the sum of its members' ratings. Who played alone has neither, and no share is told of a
    team in which a rating is not above 0. A history without teams has no such columns.

    Args:
      rated: the history.
      names: [num_players] display names.
    """
    table = rated.predictions
    if "team" not in table.column_names:
        return {}
    team, rating, size = (table[name].to_numpy() for name in ("team", "rating", "participants"))
    id_of_name = {name: i for i, name in enumerate(rated.players.tolist())}
    player = np.array([id_of_name[name] for name in table["player"].to_pylist()], int)
    count = len(team)
    mates, share = np.full(count, None, object), np.full(count, np.nan)
    for members in teams_of_several(team.astype(np.int64), size):
        texts = [names[i] for i in player[members].tolist()]
        for place, row in enumerate(members.tolist()):
            mates[row] = ", ".join(texts[:place] + texts[place + 1 :])
        if (rating[members] > 0).all():
            share[members] = np.round(100.0 * rating[members] / rating[members].sum())
    return {TEAM_MATES: mates, TEAM_SHARE: share}


def teams_of_several(team: HostArray, size: HostArray) -> list[Any]:
    """The rows of each team of two or more; `team` [n] is its number in a contest of `size` [n] rows, or 0: unknown."""
    contest = np.arange(len(team)) - places_in_contests(size)
    known = np.flatnonzero(team > 0)
    key = contest[known] * (team.max(initial=0) + 1) + team[known]
    order = np.argsort(key, kind="stable")
    groups = np.split(known[order], np.flatnonzero(np.diff(key[order])) + 1)
    return [rows for rows in groups if len(rows) > 1]
