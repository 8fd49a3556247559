"""What those who are rated, their ratings, dates and categories are called on all surfaces."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_decimals, join_names, replace_dates, use_minus_sign
from jaxrate.history.history import History, format_time

COLLECTIVES = {"team", "club", "side", "squad", "nation", "country", "pair", "crew", "franchise"}
SURFACES = {"hard": "on hard courts"} | {x: f"on {x}" for x in ("clay", "grass", "carpet")}  # where matches are played
UNKNOWN = "unknown"  # of a category without a name
MAX_LISTED_NAMES = 4  # in a sentence; of more, the first and their number


class PlayerOrTeamNoun(NamedTuple):
    """What those who are rated are called."""

    one: str
    many: str

    @property
    def is_collective(self) -> bool:
        """Whether one of them takes a plural verb, as "Kansas City Chiefs win"."""
        return self.one in COLLECTIVES

    def quantify(self, number: int) -> str:
        """A number of them, as "1 team" or "1,200 teams"."""
        return f"{number:,} {self.one if number == 1 else self.many}"


PLAYERS = PlayerOrTeamNoun("player", "players")
TEAMS = PlayerOrTeamNoun("team", "teams")
MODELS = PlayerOrTeamNoun("model", "models")


def name_rated(options: Mapping[str, Any], noun: Any = None) -> PlayerOrTeamNoun:
    """The noun that is given, or else what the options of a history say that each player is, or players."""
    earlier = "team" if options.get("teams") else "player"  # what runs of earlier versions say
    one = str(options.get("noun") or earlier)
    return make_noun(noun, PlayerOrTeamNoun(one, pluralise(one)))


def make_noun(noun: Any, default: PlayerOrTeamNoun = PLAYERS) -> PlayerOrTeamNoun:
    """The noun of two words that are given; the default for None."""
    if noun is None:
        return default
    words = [x.strip() for x in noun if isinstance(x, str)] if isinstance(noun, (tuple, list)) else []
    if len(words) != 2 or not all(words):
        raise ValueError(f'noun must be two words, for one and for many, as ("team", "teams"), got {noun!r}')
    return PlayerOrTeamNoun(*words)


def list_names(names: Sequence[str]) -> str:
    """Names for a sentence, as "Ada, Bo and Cy"; of more than four "Ada and 4 others"."""
    return f"{names[0]} and {len(names) - 1:,} others" if len(names) > MAX_LISTED_NAMES else join_names(names)


def rating_unit(system: RatingSystem) -> str:
    """The unit of the ratings of a system."""
    about = getattr(system.space, "initial_proportion", None)
    return "points" if about is None else about.unit


def format_with_unit(value: float, unit: str, digits: int | None = None) -> str:
    """A number with its unit, as "1,512 points"; other units than points are not written."""
    if digits is None:
        digits = next(i for i, least in enumerate((10.0, 1.0, 0.0)) if round(abs(value), i) >= least)
    number = use_minus_sign(f"{value:,.{digits}f}".removesuffix(".0"))
    number = f"less than {0.1**digits:.{digits}f}" if digits and not round(value, digits) else number
    return f"{number} point{'' if number == '1' else 's'}" if unit == "points" else number


def format_rating(x: float, digits: int, *, signed: bool = False) -> str:
    """A rating, or a difference of ratings with its sign, as text; nothing for NaN."""
    return "" if x != x else use_minus_sign(format_decimals(x, digits, signed=signed))


def spell_moment(time: float, clock: str | None) -> str:
    """A time as text: a day, a time to the second, or a number."""
    if clock != "dates":
        return format_time(round(time, 2), clock)
    return format_time(time, clock).partition(".")[0].replace("T", " ")


def spell_dates(text: str) -> str:
    """A text with its ISO dates as "Feb 7, 2021", for those who read it outside of pages, which have their own form."""
    return replace_dates(text, lambda day: f"{day:%b} {day.day}, {day.year}")


def spell_day(days: float) -> str:
    """The date so many days after 1970-01-01, as "Feb 7, 2021"."""
    return spell_dates(spell_moment(math.floor(days), "dates"))


def category_noun(rated: History) -> str:
    """What categories are called: as their column in the file, where `jaxrate rate` saved it, as "surface"."""
    column = rated.options.get("columns", {}).get("category")
    return " ".join(column.replace("_", " ").split()) if isinstance(column, str) and column.strip() else "category"


def format_category(category: Any) -> str:
    """The name of a category; "unknown" for one without letters and digits, as "?"."""
    text = " ".join(str(category).split())
    return text if any(x.isalnum() for x in text) else UNKNOWN


def category_phrase(noun: str, name: str) -> str:
    """The place of a match of a category in words, as "on clay", "in mode duo", "where no mode is known"."""
    if name == UNKNOWN:
        return f"where no {noun} is known"
    return SURFACES.get(name.casefold(), f"in {noun} {name}")


def pluralise(noun: str) -> str:
    """Many of a noun, as "surfaces" or "categories"."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
