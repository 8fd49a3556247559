"""What a page says of the method: the settings of the system in words, and what points are worth."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_number, join_names
from jaxrate.forecasts.matchup_tables import MatchupTables
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import category_ratings, has_modifiers
from jaxrate.site.line_ups import SideWords, has_teammates
from jaxrate.site.site_data import SiteData
from jaxrate.site.wording import (
    PlayerOrTeamNoun,
    category_noun,
    category_phrase,
    describe_period,
    format_category,
    format_times,
    learns_from_margins,
)
from jaxrate.systems.system_titles import describe_system

CONTEST_SETTINGS = "team_performance", "quit"  # which say nothing of matches
SCALE_LOGIT = 0.28  # of the least difference in the table of what points are worth: a chance of about 57%
SCALE_STEPS = 4  # differences in it, each twice the one before
SCALE_PLAYERS = 200  # the best, whose pairs tell what points are worth
NEAR_RATIO = 1.5  # of the differences of pairs that tell what a difference is worth
SHARED_DATES = 0.2  # of results, on the date of the same player's result before, from which on dates are explained
MIN_CHANCE = 0.001  # below which, and above whose complement, a pair tells nothing


class RatingScale(NamedTuple):
    """What rating points are worth among the current players."""

    rows: list[tuple[str, str]]  # a difference in points, and the chance of the better one in percent
    side: tuple[str, str] | None  # what the side is worth in points, and the chance with it against an equal
    general_side: str = ""  # the points of the settings, where the system learns each player's own besides
    place: str = ""  # where points are worth so much, as "on clay", if chances are those of a category


def describe_settings(rated: History) -> list[tuple[str, str]]:
    """The system's hyperparameters and settings: names, and values in words with their units and meanings."""
    system, settings = rated.system, dict(rated.system.settings)
    is_hidden = dict.fromkeys(CONTEST_SETTINGS, rated.contests is None) | {
        "own_side": not settings.get("own_side"),
        "categories": rated.categories is None,
        "margin": not learns_from_margins(rated),
    }
    hidden = {name for name in is_hidden if is_hidden[name]}
    margin = "goals" if settings.get("outcome") == "goals" else "margin"
    texts = {
        name: _format_hyperparameter(system, name, x, rated.clock == "dates")
        for name, x in system.params._asdict().items()
        if x is not None
    }
    for name in (x for x in settings if x not in hidden and settings[x] not in (None, (), "")):
        texts[{"margin": margin}.get(name, name)] = _format_setting(name, settings[name], rated)
    return [(name.replace("_", " "), text) for name, text in texts.items()]


def _format_hyperparameter(system: RatingSystem, name: str, value: Any, is_dated: bool) -> str:
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    about = getattr(system.space, name, None)  # none of systems of your own
    if about is None:
        return text
    unit = about.unit.replace("days, or the unit of time", "days" if is_dated else "units of time")
    for time in ("period", "event"):
        unit = unit.replace(f"per sqrt({time})", f"in one {time}, and twice that in four")
    unit = "" if unit == "1" else f"\u00d7 {unit}" if unit[:1].isdigit() else unit
    return f"{text}{f' {unit}' if unit else ''} \u2013 {about.meaning}"


def _format_setting(name: str, value: Any, rated: History) -> str:
    """A setting in words: columns by their names, seasons by their number and the first one."""
    dated = rated.clock == "dates"
    if name == "seasons":
        begin = next(iter(rated.seasons or ()), "") or format_times(np.array([value[0]]), dates=dated)[0]
        return f"{len(value):,}, from {begin}"
    if name == "side_since" and dated:
        return str(format_times(np.array([value]), dates=True)[0])
    if name == "own_side":
        return "what it is worth is learned for each"
    if isinstance(value, tuple):
        is_difference = name == "margin" and len(value) == 2 and rated.system.settings.get("outcome") == "margin"
        return (" less " if is_difference else ", ").join(map(_name_column, map(str, value)))
    if isinstance(value, float):
        return f"{value:,.6g}"
    return {"True": "yes", "False": "no"}.get(str(value), str(value).replace("_", " "))


def _name_column(column: str) -> str:
    """A column in words: "goals of the first" for goals_a."""
    stem, _, end = column.rpartition("_")
    whose = {"a": " of the first", "b": " of the second"}.get(end) if stem else None
    return (column if whose is None else f"{stem}{whose}").replace("_", " ")


def rating_scale(data: SiteData, tables: MatchupTables | None, category: Any = None) -> RatingScale:
    """What points are worth, by the predictions for pairs of current players; nothing without any.

    Where the tables are those of a category, points are those of the strengths in it.
    """
    places = np.argsort(data.leaderboard_ids)[data.listed]
    if tables is not None:
        places = places[places < tables.even.left.shape[1]][:SCALE_PLAYERS]
    if tables is None or len(places) < 2:
        return RatingScale([], None)
    first, second = (places[i] for i in np.triu_indices(len(places), 1))
    rating, place = np.asarray(data.full_leaderboard.rating, float), ""
    if category is not None:
        place = category_phrase(category_noun(data.rated), format_category(category))
        if has_modifiers(data.rated.system, data.rated.state):
            rating = np.asarray(category_ratings(data.rated, category).mean, float)[data.leaderboard_ids]
    lead, even = rating[first] - rating[second], _log_odds(tables.even.probability(first, second))
    is_known = (np.abs(lead) > 1e-9) & np.isfinite(even) & (lead * even > 0)
    lead, odds = np.abs(lead[is_known]), np.abs(even[is_known])
    if not len(lead):
        return RatingScale([], None)
    points_per_logit = float(np.median(lead / odds))
    rows = []
    for points in _scale_differences(SCALE_LOGIT * points_per_logit):
        is_near = (lead > points / NEAR_RATIO) & (lead < points * NEAR_RATIO)
        if is_near.any():
            logit = points * float(np.median(odds[is_near] / lead[is_near]))
            rows.append((format_number(points), _format_chance(logit)))
    system = data.rated.system
    general = _format_points(system.params.side_advantage) if system.settings.get("own_side") else ""
    return RatingScale(rows, _side_worth(tables, first, second, even, points_per_logit), general, place)


def _side_worth(
    tables: MatchupTables, first: HostArray, second: HostArray, even: HostArray, points_per_logit: float
) -> tuple[str, str] | None:
    if tables.home is None:
        return None
    gains = _log_odds(tables.home.ordered_value(first, second)) - even
    gains = gains[np.isfinite(gains)]
    if not len(gains) or np.median(gains) <= 0:
        return None
    gain = float(np.median(gains))
    return _format_points(gain * points_per_logit), _format_chance(gain)


def _format_points(points: float) -> str:
    return f"{points:.2g}" if points < 10 else f"{points:.0f}"


def _log_odds(probability: HostArray) -> HostArray:
    """Log-odds; NaN of probabilities that are nearly 0 or 1."""
    p = np.asarray(probability, float)
    p = np.where((p > MIN_CHANCE) & (p < 1 - MIN_CHANCE), p, np.nan)
    return np.asarray(np.log(p / (1 - p)))


def _scale_differences(least: float) -> list[float]:
    """Differences from the nearest of 1, 2 and 5 times a power of ten to this one, each twice the one before."""
    size = 10.0 ** math.floor(math.log10(least))
    first = min((digit * size for digit in (1, 2, 5, 10)), key=lambda x: abs(math.log(x / least)))
    return [first * 2.0**i for i in range(SCALE_STEPS)]


def _format_chance(logit: float) -> str:
    return f"{100 / (1 + math.exp(-logit)):.0f}%"


def describe_teams(rated: History) -> str:
    """How the strength of a team follows from its members', and what these learn; nothing without teams."""
    if not has_teammates(rated):
        return ""
    formed = "mean" if rated.system.settings.get("team_performance") == "mean" else "sum"
    return (
        f"The strength of a team is the {formed} of the strengths of its members. Its result changes the ratings of "
        "all of them, and most those of whom least is known."
    )


def describe_model(rated: History, noun: PlayerOrTeamNoun, sides: SideWords) -> str:
    """What skills holds of everybody, as a sentence; nothing of other systems."""
    if rated.system.name != "skills":
        return ""
    gains = [f"what they gain or lose by the {category_noun(rated)}"] if rated.categories is not None else []
    gains += [f"what it is worth to them to {sides.having}"] if rated.system.settings.get("own_side") else []
    parts = ["how strong they are", *gains, "how sure all this is"]
    return f"Skills is a statistical model. For every {noun.one} it estimates {join_names(parts)}."


def describe_fit(rated: History, events: str) -> str:
    """To which of the events the settings were fitted, if `jaxrate rate` saved it; else nothing."""
    share = rated.options.get("fitted_share")
    if not share:
        return ""
    extent = "all" if share >= 1 else f"the first {100 * share:g}% of the"
    return f"The settings of the system, though, were fitted to {extent} {events}."


def describe_dates(data: SiteData) -> str:
    """That dates may be first days of events, where players often have several results on one date; else nothing."""
    careers = data.careers
    if data.rated.clock != "dates" or len(careers.time) < 2:
        return ""
    is_same = np.diff(careers.time) == 0
    first = careers.start[(careers.start > 0) & (careers.start < len(careers.time))]
    is_same[first - 1] = False  # the last of one player and the first of the next
    if is_same.mean() < SHARED_DATES:
        return ""
    return "Dates are those in the file. Where many results share one, it may be the first day of an event."


def method_view(data: SiteData, site: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of what pages say of the method, from those of all pages."""
    rated = data.rated
    return {
        "system": describe_system(rated.system.name),
        "period": describe_period(rated),
        "model_text": describe_model(rated, data.noun, site["sides"]),
        "params": describe_settings(rated),
        "source": str(rated.options.get("source") or ""),  # if `jaxrate rate` saved it
        "team_text": describe_teams(rated),
        "dates_text": describe_dates(data),
        "fit_text": describe_fit(rated, site["events"]),
    }
