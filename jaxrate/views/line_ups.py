"""Sides: who had one, who played with whom and against whom, and who of two won."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.event_columns import EventColumns
from jaxrate.history.history import History
from jaxrate.history.participations import Participations


def count_sides(table: EventColumns) -> HostArray:
    """[n] how many sides the contest of each participant has; who plays alone is one."""
    return np.asarray(table.get("teams", table["participants"]))


def has_two_sides(rated: History) -> bool:
    """Whether all events are between two: matches, or contests of two sides each, of which the members are known."""
    table = rated.events
    if rated.contests is None:
        return True
    is_known = "team" not in table or bool((table["team"] > 0).all())
    return len(table["row"]) > 0 and is_known and bool((count_sides(table) == 2).all())


def has_teammates(rated: History) -> bool:
    """Whether some play in teams, as the contests of the history have them."""
    table = rated.events
    if rated.contests is None or "team" not in table:
        return False
    return bool((table["teams"] < table["participants"]).any())


def side_score_by_participant(table: EventColumns) -> HostArray:
    """[n] the score of each participant's side in contests of two sides: 1, 0, or one half if they tie."""
    rank, first = table["rank"], np.flatnonzero(np.diff(table["event"], prepend=-1))
    size = np.diff(np.append(first, len(rank)))
    best, worst = (np.repeat(choose.reduceat(rank, first), size) for choose in (np.minimum, np.maximum))
    return np.where(best == worst, 0.5, np.where(rank == best, 1.0, 0.0))


class SideWords(NamedTuple):
    """What the side that somebody has in a match is called."""

    head: str  # of a column
    names: tuple[str, str, str]  # of a player's side 0, 1 and -1
    holder: str  # who has it
    known: str  # of matches in which somebody has it
    label: str  # of a choice
    nobody: str  # in this choice
    absence: str  # of matches in which nobody has it
    having: str  # it
    with_and_without: str  # it


HOME = SideWords(
    "ground",
    ("neutral", "home", "away"),
    "the home side",
    "that were not on neutral ground",
    "Home",
    "neutral ground",
    "on neutral ground",
    "be at home",
    "at home and away",
)
COLOURS = SideWords(
    "colour",
    ("none", "White", "Black"),
    "White",
    "in which colours are known",
    "White",
    "no colours",
    "without colours",
    "have White",
    "with White and with Black",
)


def side_words(rated: History) -> SideWords:
    """Words for sides: of chess where `jaxrate rate` found colours in the file, else of home and away."""
    return COLOURS if rated.options.get("colours") else HOME


def home_sides(rated: History) -> HostArray | None:
    """[n] 1 where the first player was at home, -1 the second, 0 neutral; None if unknown, or nobody ever was."""
    if rated.contests is not None or "side" not in rated.events:
        return None
    side = np.sign(np.nan_to_num(rated.events["side"])).astype(int)
    return side if side.any() else None


def sides_of_career_events(rated: History, careers: Participations) -> HostArray | None:
    """[M] of each event of a career the side of its player, as an index of `SideWords.names`; None if it is unknown."""
    side = home_sides(rated)
    return None if side is None else np.stack([side, -side], axis=1)[careers.row, careers.side] % 3


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


NO_LISTS = PlayerLists(np.zeros(1, np.int64), np.zeros(0, np.int64))


class LineUps(NamedTuple):
    """What is known of the M events of careers, besides their ratings."""

    mates: PlayerLists = NO_LISTS  # M lists; none where nobody plays in teams
    opponents: PlayerLists = NO_LISTS  # M lists; none of contests, of which some have more than two sides
    score: HostArray = np.zeros(0)  # [M] from 0 to 1; [0] of these as well

    @property
    def in_teams(self) -> bool:
        """Whether some play in teams."""
        return len(self.mates.player) > 0

    @property
    def in_two(self) -> bool:
        """Whether all events are between two sides."""
        return len(self.opponents.player) > 0

    @property
    def names_per_event(self) -> float:
        """How many others are named beside an event, on average."""
        return sum(len(x.player) / max(len(x.start) - 1, 1) for x in (self.mates, self.opponents))

    @property
    def are_alone(self) -> bool:
        """Whether all events are between one player and another."""
        return self.in_two and not self.in_teams


def build_line_ups(rated: History, careers: Participations) -> LineUps:
    """The line-ups of all careers."""
    table = rated.events
    if careers.opponent is not None:
        single = PlayerLists(np.arange(len(careers.opponent) + 1), careers.opponent)
        return LineUps(NO_LISTS, single, careers.column("score"))
    in_teams, in_two = has_teammates(rated), has_two_sides(rated)
    if not (in_teams or in_two):
        return LineUps()
    player, contest = table["player"][:, 0], table["event"]
    team = table["team"].astype(np.int64) if "team" in table else np.arange(1, len(player) + 1)
    order = np.lexsort((team, contest))
    begin = np.flatnonzero((np.diff(contest[order], prepend=-1) != 0) | (np.diff(team[order], prepend=-1) != 0))
    end, side = np.append(begin[1:], len(order)), np.empty(len(order), np.int64)
    side[order] = np.repeat(np.arange(len(begin)), end - begin)
    row = careers.row
    members = _ranges_to_lists(begin[side[row]], end[side[row]])
    mates = NO_LISTS
    if in_teams:
        is_mate = (order[members.player] != row[members.holders]) & (team[row] > 0)[members.holders]
        counts = np.bincount(members.holders[is_mate], minlength=len(row))
        mates = PlayerLists(np.append(0, np.cumsum(counts)), player[order[members.player[is_mate]]])
    if not in_two:
        return LineUps(mates)
    other = side[row] ^ 1  # the sides of a contest follow each other
    across = _ranges_to_lists(begin[other], end[other])
    return LineUps(
        mates, PlayerLists(across.start, player[order[across.player]]), side_score_by_participant(table)[row]
    )


def _ranges_to_lists(begin: HostArray, end: HostArray) -> PlayerLists:
    """The numbers from each beginning up to, but without, each end, as lists."""
    count = end - begin
    start = np.append(0, np.cumsum(count))
    shift = np.repeat(begin - start[:-1], count)
    return PlayerLists(start, np.arange(start[-1]) + shift)


def contest_name_column(rated: History) -> dict[str, Any]:
    """[n] the contests of participants, by their heading, where contests of two sides have names, not only numbers."""
    if rated.contests is None or not has_two_sides(rated):
        return {}
    texts = [str(x) for x in rated.events["contest"].tolist()]
    return {"contest": np.array(texts, object)} if any(map(str.isalpha, "".join(texts))) else {}
