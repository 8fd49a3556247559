"""Texts about a rated history for pages."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, format_number, join_names, replace_dates, use_minus_sign
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.history import History
from jaxrate.history.leaderboards import Leaderboard
from jaxrate.site.line_ups import has_two_sides

COLLECTIVES = {"team", "club", "side", "squad", "nation", "country", "pair", "crew", "franchise"}

SURFACES = {"hard": "on hard courts"} | {x: f"on {x}" for x in ("clay", "grass", "carpet")}  # where matches are played

UNKNOWN = "unknown"  # of a category without a name


class PlayerOrTeamNoun(NamedTuple):
    """What those who are rated are called."""

    one: str
    many: str

    @property
    def is_collective(self) -> bool:
        """Whether one of them takes a plural verb, as "Kansas City Chiefs lead"."""
        return self.one in COLLECTIVES

    def verb(self, singular: str) -> str:
        """A verb as one of them takes it, as "leads", or "lead" where it takes a plural verb."""
        plural = {"is": "are", "has": "have"}.get(singular, singular.removesuffix("s"))
        return plural if self.is_collective else singular

    def quantify(self, number: int) -> str:
        """A number of them, as "1 team" or "1,200 teams"."""
        return f"{number:,} {self.one if number == 1 else self.many}"


PLAYERS = PlayerOrTeamNoun("player", "players")
TEAMS = PlayerOrTeamNoun("team", "teams")
MODELS = PlayerOrTeamNoun("model", "models")


def choose_player_or_team_noun(rated: History, noun: Any) -> PlayerOrTeamNoun:
    """The noun that is given, or else teams if `jaxrate rate` found the file to be about teams, or else players."""
    return make_noun(noun, TEAMS if rated.options.get("teams") else PLAYERS)


def choose_title(rated: History, title: str | None) -> str:
    """The title that is given, or else the name of the file if `jaxrate rate` saved it, or else "Ratings"."""
    return title or str(rated.options.get("title") or "Ratings")


def make_noun(noun: Any, default: PlayerOrTeamNoun = PLAYERS) -> PlayerOrTeamNoun:
    """The noun of two words that are given; the default for None."""
    if noun is None:
        return default
    words = [x.strip() for x in noun if isinstance(x, str)] if isinstance(noun, (tuple, list)) else []
    if len(words) != 2 or not all(words):
        raise ValueError(f'noun must be two words, for one and for many, as ("team", "teams"), got {noun!r}')
    return PlayerOrTeamNoun(*words)


def format_rating(x: float, digits: int, *, signed: bool = False) -> str:
    """A rating, or a difference of ratings with its sign, as text; nothing for NaN."""
    return "" if x != x else use_minus_sign(format_decimals(x, digits, signed=signed))


def format_times(values: HostArray, *, dates: bool) -> HostArray:
    """Times as text: days, times to the second, or numbers."""
    if not dates:
        return np.array([format_number(round(x, 2)) for x in values.tolist()], object)
    days: Any = days_to_dates(values) if values.dtype.kind == "f" else values
    unit: Any = "D" if days.dtype == "datetime64[D]" else "s"
    texts = np.datetime_as_string(days, unit=unit, casting="unsafe").tolist()
    return np.array([text.replace("T", " ") for text in texts], object)


def spell_dates(text: str) -> str:
    """A text with its ISO dates in words, as "7 February 2021", for those who read it outside of the pages."""
    return replace_dates(text, lambda day: f"{day.day} {day:%B %Y}")


def describe_current_players(current: Leaderboard, event: str) -> str:
    """The definition of current players, as "played in the 365 days to 2026-07-19"; in contests they took part."""
    text = current.scope.partition("\n")[0].partition(" (")[0].partition(", who ")[2]
    if event == "match":
        return text
    return text.replace("had played", "had taken part").replace("played", "took part")


def format_time_span(rated: History) -> str:
    """First and last time of a history as text; one if they are equal."""
    if rated.clock is None:
        return ""
    times, dated = rated.events["time"], rated.clock == "dates"
    ends = np.array([times.min(), times.max()])
    if not dated:
        return " to ".join(dict.fromkeys(use_minus_sign(f"{round(x, 2):,}".removesuffix(".0")) for x in ends.tolist()))
    return " to ".join(dict.fromkeys(format_times(np.floor(ends).astype("datetime64[D]"), dates=True)))


def category_noun(rated: History) -> str:
    """What categories are called: as their column in the file, where `jaxrate rate` saved it, as "surface"."""
    column = rated.options.get("columns", {}).get("category")
    return " ".join(column.replace("_", " ").split()) if isinstance(column, str) and column.strip() else "category"


def format_category(category: Any) -> str:
    """The name of a category; "unknown" for one without letters and digits, as "?"."""
    text = " ".join(str(category).split())
    return text if any(x.isalnum() for x in text) else UNKNOWN


def category_phrase(noun: str, name: str) -> str:
    """Where a match of a category is played, as "on clay", "in mode duo", "where no mode is known"."""
    if name == UNKNOWN:
        return f"where no {noun} is known"
    return SURFACES.get(name.casefold(), f"in {noun} {name}")


def pluralise(noun: str) -> str:
    """Many of a noun, as "surfaces" or "categories"."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def learns_from_margins(rated: History) -> bool:
    """Whether the system learns by how much a match was won."""
    return dict(rated.system.settings).get("outcome") in ("margin", "points", "goals")


def describe_learned_columns(rated: History) -> str:
    """What ratings are learned from, as "results, winning margins and who is at home"."""
    settings, params = dict(rated.system.settings), rated.system.params._asdict()
    is_sided = bool(rated.options.get("sided")) and any(params.get(name) for name in ("side_advantage", "home"))
    evidence = {
        "goals": settings.get("outcome") == "goals",
        "winning margins": settings.get("outcome") == "margin",
        "points": settings.get("outcome") == "points",
        "expected goals": settings.get("expected_goals"),
        "who has White" if rated.options.get("colours") else "who is at home": is_sided,
        "the breaks between seasons": rated.seasons or settings.get("seasons"),
        f"the {category_noun(rated)} of each {'match' if has_two_sides(rated) else 'contest'}": rated.categories
        is not None,
        "other columns of the file": settings.get("covariates"),
    }
    found = ["results", *(name for name, value in evidence.items() if value)]
    return join_names(found) if len(found) > 1 else "results alone"


def describe_draw_chances(rated: History) -> str:
    """Where the chances of draws in matches to come are from, as pages of the same results may differ in them."""
    is_fitted = "draw" not in rated.events or rated.options.get("draws_fitted")
    if rated.contests is not None or is_fitted:
        return "Chances of draws are fitted to past results."
    chance, score = (rated.events[name] for name in ("draw", "score"))
    return (
        f"Chances of draws are those of the system\u2019s settings, by which draws had {chance.mean():.1%} "
        f"on average; {((score > 0) & (score < 1)).mean():.1%} of the matches were drawn."
    )


def describe_period(rated: History) -> str:
    """The length of rating periods as text; nothing without periods."""
    unit = " days" if rated.clock == "dates" else ""
    return "" if rated.period is None else f" in periods of {rated.period:g}{unit}"
