"""Who was at home, or had White, in each match, and what that is called."""

from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.history import History
from jaxrate.history.participations import Participations


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
    """Those of chess where `jaxrate rate` found colours in the file, else those of home and away."""
    return COLOURS if rated.options.get("colours") else HOME


def home_sides(rated: History) -> HostArray | None:
    """[n] 1 where the first player of a match was at home, -1 where the second was, 0 on neutral ground.

    None if the predictions do not say it, or if nobody ever was at home.
    """
    if rated.contests is not None or "side" not in rated.events:
        return None
    side = np.sign(np.nan_to_num(rated.events["side"])).astype(int)
    return side if side.any() else None


def grounds_of_careers(rated: History, careers: Participations) -> HostArray | None:
    """[M] of each event of a career the side of its player, as an index of `SideWords.names`; None if it is unknown."""
    side = home_sides(rated)
    return None if side is None else np.stack([side, -side], axis=1)[careers.row, careers.side] % 3
