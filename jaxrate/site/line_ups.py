"""Who played with whom and against whom in the events of all careers, and how those of two sides ended."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.history import History
from jaxrate.history.participations import Participations
from jaxrate.site.contest_sides import has_teammates, has_two_sides, side_score_by_participant

TEAM_SHARE = "% of team"  # heading
EVEN_SHARE_PERCENT = 5  # from one half; shares of pairs that are nearer say nothing
EVEN_FRACTION = 0.99  # of all shares, from which on there is no column of them


class PlayerLists(NamedTuple):
    """Lists of players by id, one after the other: list i is `player[start[i] : start[i + 1]]`."""

    start: HostArray  # [N + 1]
    player: HostArray  # [sum of lengths]

    @property
    def holders(self) -> HostArray:
        """[sum of lengths] the numbers of the lists."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def to_tuples(self) -> list[tuple[int, ...]]:
        """The lists, each as a tuple."""
        player, start = self.player.tolist(), self.start.tolist()
        return [tuple(player[a:b]) for a, b in pairwise(start)]


class LineUps(NamedTuple):
    """What is known of the M events of careers, besides their ratings."""

    mates: PlayerLists | None  # M lists; None where nobody plays in teams
    opponents: PlayerLists | None  # M lists; None of contests, of which some have more than two sides
    score: HostArray | None  # [M] from 0 to 1; None of these as well

    @property
    def names_per_event(self) -> float:
        """How many others are named beside an event, on average."""
        lists = [x for x in (self.mates, self.opponents) if x is not None]
        return sum(len(x.player) / max(len(x.start) - 1, 1) for x in lists)

    @property
    def are_alone(self) -> bool:
        """Whether all events are between one player and another."""
        return self.mates is None and self.opponents is not None


def build_line_ups(rated: History, careers: Participations) -> LineUps:
    """The line-ups of all careers."""
    table = rated.events
    if careers.opponent is not None:
        single = PlayerLists(np.arange(len(careers.opponent) + 1), careers.opponent)
        return LineUps(None, single, careers.column("score"))
    in_teams, in_two = has_teammates(rated), has_two_sides(rated)
    if not (in_teams or in_two):
        return LineUps(None, None, None)
    player, contest = table["player"][:, 0], table["event"]
    team = table["team"].astype(np.int64) if "team" in table else np.arange(1, len(player) + 1)
    order = np.lexsort((team, contest))
    begin = np.flatnonzero((np.diff(contest[order], prepend=-1) != 0) | (np.diff(team[order], prepend=-1) != 0))
    end, side = np.append(begin[1:], len(order)), np.empty(len(order), np.int64)
    side[order] = np.repeat(np.arange(len(begin)), end - begin)
    row = careers.row
    members = _list_ranges(begin[side[row]], end[side[row]])
    mates: PlayerLists | None = None
    opponents: PlayerLists | None = None
    score: HostArray | None = None
    if in_teams:
        is_mate = (order[members.player] != row[members.holders]) & (team[row] > 0)[members.holders]
        counts = np.bincount(members.holders[is_mate], minlength=len(row))
        mates = PlayerLists(np.append(0, np.cumsum(counts)), player[order[members.player[is_mate]]])
    if in_two:
        other = side[row] ^ 1  # the sides of a contest follow each other
        across = _list_ranges(begin[other], end[other])
        opponents = PlayerLists(across.start, player[order[across.player]])
        score = side_score_by_participant(table)[row]
    return LineUps(mates, opponents, score)


def _list_ranges(begin: HostArray, end: HostArray) -> PlayerLists:
    """The numbers from each beginning up to, but without, each end, as lists."""
    count = end - begin
    start = np.append(0, np.cumsum(count))
    shift = np.repeat(begin - start[:-1], count)
    return PlayerLists(start, np.arange(start[-1]) + shift)


def team_rating_share_column(rated: History) -> dict[str, HostArray]:
    """By its heading, [n] the share of the team's rating that is each participant's, in whole percents.

    Who played alone has none, and none is told of a team in which a rating is not above 0, or whose strength is not the
    sum of its members' ratings. A history without teams has no such column, nor has one of pairs of about equals.
    """
    if not has_teammates(rated) or rated.system.settings.get("team_performance") == "mean":
        return {}
    table = rated.events
    team, rating = table["team"].astype(np.int64), table["rating"][:, 0].astype(float)
    _, side = np.unique(np.stack([table["event"], team]), axis=1, return_inverse=True)
    side = side.ravel()
    count, total = np.bincount(side), np.bincount(side, rating)
    least = np.full(len(count), np.inf)
    np.minimum.at(least, side, rating)
    is_told = (count > 1) & (least > 0)
    share = np.full(len(team), np.nan)
    known = is_told[side] & (team > 0)
    share[known] = np.round(100.0 * rating[known] / total[side[known]])
    is_even = (count[side[known]] == 2) & (np.abs(share[known] - 50) <= EVEN_SHARE_PERCENT)
    return {TEAM_SHARE: share} if is_even.sum() < EVEN_FRACTION * len(is_even) else {}


def contest_label_column(rated: History) -> dict[str, Any]:
    """By its heading, [n] the contests of participants, where contests of two sides have names and not only numbers."""
    if rated.contests is None or not has_two_sides(rated):
        return {}
    labels = rated.events["contest"]
    texts = [str(x) for x in labels.tolist()]
    return {} if all(not any(c.isalpha() for c in x) for x in texts) else {"contest": np.array(texts, object)}
