"""Systems by name: made, adapted to data, and the one of those who name none."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxrate.core.default_side_advantage import smoothed_mean_side_score
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.data.measurement_noise_estimation import estimate_measurement_noise
from jaxrate.data.rounds_from_nested_teams import dataset_has_teams, make_teammates_opponents
from jaxrate.data.seasons_and_margins import first_player_lead
from jaxrate.events import Matches, Periods, Ragged, Rounds, count_teams, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.systems import DEFAULT_SYSTEMS, SYSTEMS
from jaxrate.systems.calibration import CalibrationParams, calibrate
from jaxrate.systems.draw_probability_wrapper import DrawParams, add_outcomes, find_own_draw_predict_rule
from jaxrate.systems.prediction_wrapping import SystemWrapper
from jaxrate.systems.system_adaptation import ADAPTATIONS, SIDE_LEADS, DataFacts

NO_FACTS = DataFacts()
CONTEST_SYSTEMS = "elo_mmr", "elo_mmx", "codeforces", "topcoder"  # they rate a match as a contest of two
PAST_SHARE = 0.2  # of the matches, that nothing is scored in
PREDICTION_WRAPPERS: dict[
    str, tuple[SystemWrapper, tuple[str, ...]]
] = {  # to remake predictions, in order, and their hyperparameters
    "calibrated": (calibrate, CalibrationParams._fields),
    "outlook": (add_outcomes, DrawParams._fields),
}


def default_system_name(data: Dataset) -> str:
    """The system of those who name none."""
    kind = "matches" if data.of_matches else "teams" if dataset_has_teams(data) else "contests"
    return DEFAULT_SYSTEMS[kind]


def make_system(name: str, explicit_settings: Mapping[str, Any], facts: DataFacts = NO_FACTS) -> RatingSystem:
    """The system of this name with these hyperparameters and settings, else as these facts ask for.

    A number may stand for a setting of several. With hyperparameters of a calibration, or of draws, the system is
    wrapped by `calibrate`, or by `add_outcomes`.

    Raises:
      ValueError: if there is no such system, or as its factory does.
    """
    if name not in SYSTEMS:
        raise ValueError(
            f"unknown system {name!r}{did_you_mean_suffix(name, SYSTEMS)} (there are {', '.join(SYSTEMS)})"
        )
    default = SYSTEMS[name]()
    several = {key for key, value in default.settings.items() if isinstance(value, tuple)}
    options = {
        key: (x,) if key in several and isinstance(x, (int, float)) else x for key, x in explicit_settings.items()
    }
    lacking = options.keys() - {*default.params._fields, *default.settings}
    asked = [way for way, (_, fields) in PREDICTION_WRAPPERS.items() if not lacking.isdisjoint(fields)]
    options = ADAPTATIONS[name](facts, options) if name in ADAPTATIONS else options
    system = make_wrapped_system(asked, SYSTEMS[name], options)
    if not facts.side or name not in SIDE_LEADS or "side_advantage" in options:
        return system
    worth = float(f"{SIDE_LEADS[name](system.params, facts.side_score):.3g}")
    return make_wrapped_system(asked, SYSTEMS[name], options | {"side_advantage": worth})


def make_wrapped_system(
    wrappers: Sequence[str], make: Callable[..., RatingSystem], options: Mapping[str, Any]
) -> RatingSystem:
    """The system that a factory makes of its own options, wrapped by `PREDICTION_WRAPPERS` with the others."""
    other = {field for way in wrappers for field in PREDICTION_WRAPPERS[way][1]}
    system = make(**{field: value for field, value in options.items() if field not in other})
    for way in wrappers:
        change, fields = PREDICTION_WRAPPERS[way]
        system = change(system, **{field: options[field] for field in fields if field in options})
    return system


def addable_wrapper_param_names(system: RatingSystem) -> tuple[str, ...]:
    """The hyperparameters that the ways of `PREDICTION_WRAPPERS` would add to it."""
    if Matches not in system.events and Periods not in system.events:
        return ()
    return (
        CalibrationParams._fields
        if find_own_draw_predict_rule(system)
        else CalibrationParams._fields + DrawParams._fields
    )


def make_system_for_data(
    name: str,
    explicit_settings: Mapping[str, Any],
    period: float | None,
    data: Dataset,
    past_share: float = PAST_SHARE,
    unscored_count: int = 0,
) -> RatingSystem:
    """The system of this name for these data, in rating periods of this length or, if None, event by event.

    The size of margins and the noise of statistics are those of the first share `past` of the matches, or of a fifth:
    what comes later may be scored. The side is worth what it was in the first matches that are `unscored`, so many, and
    as much as usual without any.
    """
    seasons = tuple((data.seasons or {}).values())
    facts = DataFacts(None, None, period, False, data.margin, data.covariates, seasons)
    facts = facts._replace(league_season=data.league_season, statistics=data.statistics)
    facts = facts._replace(expected_goals=data.expected_goals)
    if data.categories is not None:
        facts = facts._replace(categories=len(data.categories))
    if data.of_matches:
        score, side = data.matches.score, data.matches.context.side is not None
        facts = facts._replace(
            score=score, side=side, side_score=smoothed_mean_side_score(data.matches, unscored_count)
        )
        if len(score):
            facts = fill_margin_size_and_statistic_noise(
                facts, slice_events(data.events, 0, max(round(len(score) * min(past_share, PAST_SHARE)), 1))
            )
    elif data.events.nouns == "contests" and len(data.events.flat.time):
        count = max(round(len(data.events.flat.time) * min(past_share, PAST_SHARE)), 1)
        facts = fill_contest_margin_size_and_statistic_noise(facts, slice_events(data.events, 0, count))
    return make_system(name, explicit_settings, facts)


def fill_contest_margin_size_and_statistic_noise(facts: DataFacts, contests: Ragged) -> DataFacts:
    """With the size of margins of neighbours, and the deviation of statistics, as these contests have them."""
    flat: Any = contests.events
    if facts.margin:
        points, first = np.asarray(flat.columns[facts.margin[0]], float), contests.player_start[:-1]
        gaps = np.maximum(count_teams(contests) - 1, 1)
        between = (np.maximum.reduceat(points, first) - np.minimum.reduceat(points, first)) / gaps
        facts = facts._replace(margin_size=float(np.mean(between)))
    values = (np.asarray(flat.columns[name], float) for name in facts.statistics)
    noise = (float(np.std(x[~np.isnan(x)])) if (~np.isnan(x)).any() else 0.0 for x in values)
    return facts._replace(statistic_noise=tuple(noise))


def fill_margin_size_and_statistic_noise(facts: DataFacts, matches: Matches) -> DataFacts:
    """With the size of margins, and the noise of statistics, as these matches have them."""
    columns: Any = matches.context.columns
    player, side = np.asarray(matches.player), matches.context.side
    if facts.margin:
        points = [np.asarray(columns[name], float) for name in facts.margin]
        facts = facts._replace(margin_size=float(np.mean(np.abs(first_player_lead(points)))))
        facts = facts._replace(side_points=float(np.mean(points)) if len(points) == 2 else 0.0)
    noise = (estimate_measurement_noise(np.asarray(columns[name], float), player, side) for name in facts.statistics)
    return facts._replace(statistic_noise=tuple(noise))


def extend_system_seasons(system: RatingSystem, starts: Iterable[float]) -> RatingSystem:
    """The system, knowing further seasons: those that begin after its last one. The same if it knows none."""
    known = system.settings.get("seasons") or ()
    new = sorted(x for x in starts if known and x > known[-1])
    if not new or system.make is None:
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
    return bool(getattr(system.params, "side_advantage", 0.0)) or bool(system.settings.get("own_side"))
