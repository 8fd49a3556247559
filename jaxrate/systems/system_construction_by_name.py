"""Systems by name, adapted to data.

A side is worth as many points as the mean score of players with the side implies. Of two equal players the one with the
side is expected to score p. On a logistic scale that is a lead of scale log10(p / (1 - p)), on a normal one of
deviation Phi^-1(p). Without past matches, p is that of 50 points of Elo; past matches are averaged with `PRIOR_MATCHES`
of these.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import did_you_mean_or_list
from jaxrate.data.match_margins import estimate_measurement_noise, first_player_lead
from jaxrate.data.rounds_from_nested_teams import dataset_has_teams, make_teammates_opponents
from jaxrate.events import Matches, Periods, Ragged, Rounds, count_teams, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.systems import ALL_SYSTEMS, DEFAULT_SYSTEMS
from jaxrate.systems.prediction_wrapping import PREDICTION_WRAPPERS, make_wrapped_system, wrapper_param_names
from jaxrate.systems.skills.part_declarations import DEFAULT_NOISE, MAX_CATEGORIES
from jaxrate.systems.skills.settings import YEAR, statistic_noise_name, statistic_scale_name
from jaxrate.systems.skills.system import OUTCOME_PARTS

DEFAULT_SIDE_LEAD = 50.0  # points of Elo
DEFAULT_SIDE_SCORE = 1.0 / (1.0 + 10.0 ** (-DEFAULT_SIDE_LEAD / 400.0))
PRIOR_MATCHES = 100.0  # weight of the default: a standard error of 0.05, as mean scores differ between leagues
MIN_SCORE, MAX_SCORE = 0.05, 0.95  # bounds of the expected score of an equal

DEFAULT_EXPERIENCE = 20.0  # points per unit of log(1 + matches played)
DEFAULT_REVERSION = 3000.0  # days
MEAN_MARGIN_POINTS = 600.0  # points that a mean margin is worth before it is compressed: twice the usual noise
MIN_YEARS_OF_TREND = 10.0  # that matches span from which the change of the side advantage is fitted
MIN_MATCHES_OF_FORM = 10_000  # from which form is fitted
INITIAL_FORM_DEVIATION = 40.0  # points, from which its fit starts


def skills_evidence_settings(
    data: Dataset, explicit_settings: Mapping[str, Any], past_events: Matches | Ragged | None
) -> dict[str, Any]:
    """The settings for all evidence that the data have, with values that a fit can start from."""
    outcome = explicit_settings.get("outcome", "margin")
    measures = EvidenceMeasures() if past_events is None else measure_evidence(data, past_events)
    options: dict[str, Any] = {"experience": DEFAULT_EXPERIENCE, "own_side": has_sides(data)}
    options["reversion"] = None if data.league_season or data.seasons else DEFAULT_REVERSION
    if data.categories is not None and len(data.categories) > MAX_CATEGORIES:
        options["categories"] = 1
    options |= margin_settings_of_skills(outcome, data, measures)
    if outcome not in ("goals", "logistic") and "statistics" not in explicit_settings:
        options |= statistic_settings(data, measures)
    return {name: value for name, value in options.items() if value}


def margin_settings_of_skills(outcome: str, data: Dataset, measures: "EvidenceMeasures") -> dict[str, Any]:
    """The settings for the margin, the points or the goals of both sides that the data have."""
    if outcome == "goals":
        return {"margin": data.margin if len(data.margin) == 2 else (), "expected_goals": data.expected_goals}
    if outcome not in ("margin", "points") or not data.margin:
        return {}
    size, rate = measures.margin_size, measures.side_points if outcome == "points" else None
    scales = {"margin_scale": MEAN_MARGIN_POINTS / size, "compression": size} if size > 0 else {}
    return {"outcome": outcome, "margin": data.margin, "point_rate": rate, **scales}


def statistic_settings(data: Dataset, measures: "EvidenceMeasures") -> dict[str, Any]:
    """The statistics of the data; what varies of them about strengths is worth the noise of performances at first."""
    options: dict[str, Any] = {"statistics": data.statistics}
    for name, noise in zip(data.statistics, measures.statistic_noise, strict=False):
        if noise > 0:
            options |= {statistic_scale_name(name): DEFAULT_NOISE / noise, statistic_noise_name(name): DEFAULT_NOISE}
    return options


def outcome_count_settings(data: Dataset, explicit_settings: Mapping[str, Any], _past_events: Any) -> dict[str, Any]:
    """The number of outcomes, as many as scores at equal distances, up to ten, unless weights are given."""
    if not data.of_matches or "weights" in explicit_settings:
        return {}
    score = np.asarray(data.matches.score, np.float64)
    fits = (m for m in range(1, 11) if np.allclose(score * m, np.rint(score * m), rtol=0.0, atol=1e-4))
    return {"outcomes": next(fits, 1) + 1}


def margin_column_setting(data: Dataset, _explicit_settings: Any, _past_events: Any) -> dict[str, Any]:
    """The columns of the margin, if the data have them, for rules that say nothing else of them."""
    return {"margin": data.margin} if data.margin else {}


SETTINGS_DERIVED_FROM_DATA: dict[str, Callable[..., dict[str, Any]]] = {
    "skills": skills_evidence_settings,
    "urnings": outcome_count_settings,
    **dict.fromkeys(("nfl_elo", "nba_elo", "world_rugby"), margin_column_setting),
}


def settings_for_data(
    name: str, data: Dataset, explicit_settings: Mapping[str, Any], period: float | None, past_events: Any
) -> dict[str, Any]:
    """The arguments of a system's factory for data: those that are given, and others as the data ask for."""
    usual = ALL_SYSTEMS[name]()
    facts = {
        "covariates": data.covariates,
        "seasons": tuple((data.seasons or {}).values()),
        "categories": None if data.categories is None else len(data.categories),
        "league_season": data.league_season,
        "period": period,
    }
    takes = {*usual.settings, *usual.params._fields}
    settings = {field: value for field, value in facts.items() if field in takes and value not in (None, ())}
    if name in SETTINGS_DERIVED_FROM_DATA:
        settings |= SETTINGS_DERIVED_FROM_DATA[name](data, explicit_settings, past_events)
    return settings | dict(explicit_settings)


def logistic_lead_for_score(score: float, scale: float = 400.0) -> float:
    """The lead with this expected score, where a lead of `scale` points means odds of 10 to 1."""
    score = min(max(score, MIN_SCORE), MAX_SCORE)
    return scale * math.log10(score / (1.0 - score))


def normal_lead_for_score(score: float, deviation: float) -> float:
    """The lead with this expected score, where the difference of two performances has this deviation."""
    return deviation * NormalDist().inv_cdf(min(max(score, MIN_SCORE), MAX_SCORE))


def smoothed_mean_side_score(matches: Matches, match_count: int) -> float:
    """The mean score of players with the side in the first `match_count` matches and in the prior ones."""
    if matches.context.side is None:
        return DEFAULT_SIDE_SCORE
    side = np.asarray(matches.context.side[:match_count], np.float64)
    score, weight = np.asarray(matches.score[:match_count], np.float64), matches.context.weight
    match_weight = np.ones(len(side)) if weight is None else np.asarray(weight[:match_count], np.float64)
    lead = PRIOR_MATCHES * (DEFAULT_SIDE_SCORE - 0.5) + np.sum(match_weight * side * (score - 0.5))
    return float(0.5 + lead / (PRIOR_MATCHES + np.sum(match_weight * np.abs(side))))


def blat_mmr_rating_lead_for_score(params: Any, expected_score: float) -> float:
    """A share `beta` of the result is not luck. (So where luck functions are logistic, and about so elsewhere.)"""
    skill = 0.5 + (expected_score - 0.5) / max(float(params.beta), 0.1)
    return float(params.temperature) * logistic_lead_for_score(skill)


def skills_rating_lead_for_score(params: Any, expected_score: float) -> float:
    """The rating lead for an expected score; with goals the difference of two Poissons counts as normal."""
    if hasattr(params, "goal_rate"):
        goals = normal_lead_for_score(expected_score, math.sqrt(2.0 * float(params.goal_rate)))
        return 800.0 / math.log(10.0) * math.asinh(goals / (2.0 * float(params.goal_rate)))
    if hasattr(params, "noise"):
        return normal_lead_for_score(expected_score, float(params.noise))
    return logistic_lead_for_score(expected_score)


def weng_lin_rating_lead_for_score(params: Any, expected_score: float) -> float:
    noise = math.sqrt(2.0) * float(params.beta)
    if params.epsilon is None:
        return logistic_lead_for_score(expected_score, noise * math.log(10.0))
    return normal_lead_for_score(expected_score, noise)


# By system: the points by which one leads who is expected to score so much, of two whose strengths are certain.
SIDE_LEADS: dict[str, Callable[[Any, float], float]] = {
    "elo": lambda params, score: logistic_lead_for_score(score, float(params.scale)),
    "glicko": lambda params, score: logistic_lead_for_score(score),
    "glicko2": lambda params, score: logistic_lead_for_score(score),
    "category_glicko": lambda params, score: normal_lead_for_score(score, float(params.scale)),
    "skills": skills_rating_lead_for_score,
    "blat_mmr": blat_mmr_rating_lead_for_score,
    "trueskill": lambda params, score: normal_lead_for_score(score, math.sqrt(2.0) * float(params.beta)),
    "weng_lin": weng_lin_rating_lead_for_score,
}


CONTEST_SYSTEMS = "elo_mmr", "elo_mmx", "codeforces", "topcoder"  # they rate a match as a contest of two
PAST_SHARE = 0.2  # of the matches, that nothing is scored in


def default_system_name(data: Dataset) -> str:
    """The system of those who name none: skills where matches or teams have more than results, sides and seasons."""
    has_teams = dataset_has_teams(data)
    if data.margin or data.categories is not None or data.covariates or data.statistics:
        return "skills" if data.of_matches or has_teams else DEFAULT_SYSTEMS["contests"]
    return DEFAULT_SYSTEMS["matches" if data.of_matches else "teams" if has_teams else "contests"]


def make_system(name: str, explicit_settings: Mapping[str, Any]) -> RatingSystem:
    """The system of this name with these hyperparameters and settings.

    A number may stand for a setting of several. With hyperparameters of a calibration, or of draws, the system is
    wrapped by `calibrate`, or by `add_outcomes`.
    """
    options = settings_with_tuples(name, explicit_settings)
    return make_wrapped_system(requested_wrappers(name, options), ALL_SYSTEMS[name], options)


def settings_with_tuples(name: str, explicit_settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with numbers that stand for several in tuples; ValueError if there is no such system."""
    if name not in ALL_SYSTEMS:
        raise ValueError(f"unknown system {name!r}{did_you_mean_or_list(name, ALL_SYSTEMS)}")
    several = {key for key, value in ALL_SYSTEMS[name]().settings.items() if isinstance(value, tuple)}
    return {key: (x,) if key in several and isinstance(x, (int, float)) else x for key, x in explicit_settings.items()}


def requested_wrappers(name: str, options: Mapping[str, Any]) -> list[str]:
    """The names of the wrappers whose hyperparameters are among the options, and are not the system's own."""
    usual = ALL_SYSTEMS[name]()
    lacking = options.keys() - {*usual.params._fields, *usual.settings}
    return [wrapper for wrapper in PREDICTION_WRAPPERS if not lacking.isdisjoint(wrapper_param_names(wrapper))]


def make_system_for_data(
    name: str,
    explicit_settings: Mapping[str, Any],
    period: float | None,
    data: Dataset,
    past_share: float = PAST_SHARE,
    unscored_count: int = 0,
) -> RatingSystem:
    """The system of this name for these data, in rating periods of this length or, if None, event by event.

    The size of margins and the noise of statistics are those of the first `past_share` of the matches, at most of a
    fifth: what comes later may be scored. The side is worth what it was in the first `unscored_count` matches, and as
    much as usual if that is 0.
    """
    explicit = settings_with_tuples(name, explicit_settings)
    wrappers, count = requested_wrappers(name, explicit), len(data.events.flat.time)
    past = slice_events(data.events, 0, max(round(count * min(past_share, PAST_SHARE)), 1)) if count else None
    if name == "skills" and explicit.get("outcome", "margin") == "margin" and "relative_margin" in (data.derived or {}):
        data = data._replace(margin=("relative_margin",))
    options = settings_for_data(name, data, explicit, period, past)
    system = make_wrapped_system(wrappers, ALL_SYSTEMS[name], options)
    side_lead = SIDE_LEADS.get(name)
    if side_lead is None or not has_sides(data) or "side_advantage" in options:
        return system
    side_score = smoothed_mean_side_score(data.matches, unscored_count)
    worth = float(f"{side_lead(system.params, side_score):.3g}")
    return make_wrapped_system(wrappers, ALL_SYSTEMS[name], options | {"side_advantage": worth})


@enforce_argument_annotations
def skills_for_data(
    data: Dataset, *, observe: Literal["result", "logistic", "margin", "points", "goals"] = "margin"
) -> RatingSystem:
    """Skills with a part for all that the data have, as `jaxrate rate` takes them by itself; it prints as the call.

        data = jr.data.datasets.nfl()
        system = jr.skills_for_data(data)
        print(system)  # skills(parts.own_side(), parts.seasons(...), ..., observe=parts.margin(...))

    Margins and statistics have the size that they have in the first fifth of the events.

    Args:
      data: as from `read`.
      observe: what is learnt from, as a part of `jr.parts` of this name: "margin" is the result where there is none.

    Raises:
      ValueError: if the data lack the goals or points of both sides that are to be observed.
    """
    outcome = OUTCOME_PARTS[observe]
    return make_system_for_data("skills", {} if outcome == "margin" else {"outcome": outcome}, None, data)


class EvidenceMeasures(NamedTuple):
    """The sizes of further evidence in events before the scored ones."""

    margin_size: float = 0.0  # the mean size of the margin; in contests, between neighbours
    side_points: float = 0.0  # the mean points of a side, where columns have those of both
    statistic_noise: tuple[float, ...] = ()  # the deviation of each about strengths, in its own units; 0: unknown


def measure_evidence(data: Dataset, past_events: Matches | Ragged) -> EvidenceMeasures:
    """The sizes of the margins and statistics of the data in these of its events."""
    flat, columns = past_events.flat, past_events.columns
    margins = [np.asarray(columns[name], float) for name in data.margin]
    statistics = [np.asarray(columns[name], float) for name in data.statistics]
    if not data.of_matches:
        noise = (float(np.std(x[~np.isnan(x)])) if (~np.isnan(x)).any() else 0.0 for x in statistics)
        first, gap = past_events.start[:-1], 0.0
        if margins:  # between teams that follow each other in the standings
            most, least = (ends.reduceat(margins[0], first) for ends in (np.maximum, np.minimum))
            gap = float(np.mean((most - least) / np.maximum(count_teams(past_events) - 1, 1)))
        return EvidenceMeasures(gap, 0.0, tuple(noise))
    player, side = np.asarray(flat.player), flat.context.side
    return EvidenceMeasures(
        float(np.mean(np.abs(first_player_lead(margins)))) if margins else 0.0,
        float(np.mean(margins)) if len(margins) == 2 else 0.0,
        tuple(estimate_measurement_noise(values, player, side) for values in statistics),
    )


def add_parts_to_fit(
    system: RatingSystem, explicit_settings: Mapping[str, Any], data: Dataset, num_fitted: int
) -> RatingSystem:
    """The system to fit to the first matches: skills with what only fits of long histories find the size of.

    Where dates span many years, the side may be worth more or less each year, from their middle on. Where many results
    and no margins are learnt from, players have a form. What the user's settings name stays as it is.
    """
    if system.name != "skills" or not data.of_matches or data.clock != "dates" or not num_fitted:
        return system
    begin, end = data.matches.time[0], data.matches.time[num_fitted - 1]
    parts: dict[str, float] = {}
    if end - begin >= MIN_YEARS_OF_TREND * YEAR and has_sides(data) and uses_side(system):
        parts["side_since"] = float(np.rint(0.5 * (begin + end)))
    if num_fitted >= MIN_MATCHES_OF_FORM and system.settings["outcome"] == "win":
        parts["form_deviation"] = INITIAL_FORM_DEVIATION
    parts = {name: value for name, value in parts.items() if name not in explicit_settings}
    return system.make(**system.params._asdict() | parts)


def extend_system_seasons(system: RatingSystem, starts: Iterable[float]) -> RatingSystem:
    """The system, knowing further seasons: those that begin after its last one. The same if it knows none."""
    known = system.settings.get("seasons") or ()
    new = sorted(x for x in starts if known and x > known[-1])
    if not new or system.factory is None:
        return system
    return system.make(seasons=(*known, *new), **system.params._asdict())


def can_rate_dataset(system: RatingSystem, data: Dataset) -> bool:
    """Whether it rates such events, be it in rating periods."""
    kinds = (Matches, Periods) if data.of_matches else (Rounds,)
    return any(kind in system.events for kind in kinds)


def split_unsupported_teams(system: RatingSystem, data: Dataset) -> Dataset:
    """The data, everyone on their own if the system knows no teams."""
    return make_teammates_opponents(data) if dataset_has_teams(data) and "teams" not in system.features else data


def has_sides(data: Dataset) -> bool:
    """Whether the data record who had the side."""
    return data.of_matches and data.matches.context.side is not None


def uses_side(system: RatingSystem) -> bool:
    """Whether the system uses the side."""
    points = (getattr(system.params, name, None) for name in ("side_advantage", "side_trend"))
    return any(points) or bool(system.settings.get("own_side"))
