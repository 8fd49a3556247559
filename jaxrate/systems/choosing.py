"""Systems by name: made, adapted to data, and the one of those who name none."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.data.evidence import ahead_by
from jaxrate.data.noise import measurement_noise
from jaxrate.data.teams import alone, in_teams
from jaxrate.events import Matches, Periods, Rounds, part
from jaxrate.side_worth import mean_side_score
from jaxrate.system import Facts, RatingSystem
from jaxrate.systems import DEFAULTS, SYSTEMS
from jaxrate.systems.calibration import Map, calibrated
from jaxrate.systems.outlook import Draws, outlook
from jaxrate.systems.remaking import Remake
from jaxrate.text import near

NOTHING = Facts()
PAST = 0.2  # of the matches, that nothing is scored in
WAYS: dict[str, tuple[Remake, tuple[str, ...]]] = {  # to remake predictions, in order, and their hyperparameters
    "calibrated": (calibrated, Map._fields),
    "outlook": (outlook, Draws._fields),
}


def default_name(data: Dataset) -> str:
    """The system of those who name none."""
    kind = "matches" if isinstance(data.events, Matches) else "teams" if in_teams(data) else "contests"
    return DEFAULTS[kind]


def make(name: str, changes: Mapping[str, Any], facts: Facts = NOTHING) -> RatingSystem:
    """The system of this name with these hyperparameters and settings, else as these facts ask for.

    A number may stand for a setting of several. With hyperparameters of a calibration, or of draws, the system is
    `calibrated`, or its `outlook` is taken.

    Raises:
      ValueError: if there is no such system, or as its factory does.
    """
    if name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}{near(name, SYSTEMS)} (there are {', '.join(SYSTEMS)})")
    default = SYSTEMS[name]()
    several = {key for key, value in default.settings.items() if isinstance(value, tuple)}
    given = {key: (x,) if key in several and isinstance(x, (int, float)) else x for key, x in changes.items()}
    lacking = given.keys() - {*default.params._fields, *default.settings}
    asked = [way for way, (_, fields) in WAYS.items() if not lacking.isdisjoint(fields)]
    given = default.traits.adapt(facts, given)
    system = remade_by(asked, SYSTEMS[name], given)
    if not facts.side or system.traits.lead is None or "side_advantage" in given:
        return system
    worth = float(f"{system.traits.lead(system.params, facts.side_score):.3g}")
    return remade_by(asked, SYSTEMS[name], given | {"side_advantage": worth})


def remade_by(ways: Sequence[str], make: Callable[..., RatingSystem], given: Mapping[str, Any]) -> RatingSystem:
    """What a factory makes of some of these hyperparameters and settings, remade by ways of `WAYS` with the others."""
    other = {field for way in ways for field in WAYS[way][1]}
    system = make(**{field: value for field, value in given.items() if field not in other})
    for way in ways:
        change, fields = WAYS[way]
        system = change(system, **{field: given[field] for field in fields if field in given})
    return system


def further(system: RatingSystem) -> tuple[str, ...]:
    """The hyperparameters that the ways of `WAYS` would add to it."""
    if Matches not in system.events and Periods not in system.events:
        return ()
    return Map._fields if system.traits.outlook else Map._fields + Draws._fields


def adapted(
    name: str,
    changes: Mapping[str, Any],
    period: float | None,
    data: Dataset,
    past: float = PAST,
    unscored: int = 0,
) -> RatingSystem:
    """The system of this name for these data, in rating periods of this length or, if None, event by event.

    The size of margins and the noise of statistics are those of the first share `past` of the matches, or of a fifth:
    what comes later may be scored. The side is worth what it was in the first matches that are `unscored`, so many, and
    as much as usual without any.
    """
    seasons = tuple((data.seasons or {}).values())
    facts = Facts(None, None, period, False, data.margin, data.covariates, seasons)
    facts = facts._replace(league_season=data.league_season, statistics=data.statistics)
    if data.categories is not None:
        facts = facts._replace(categories=len(data.categories))
    if isinstance(data.events, Matches):
        score, side = data.events.score, data.events.context.side is not None
        facts = facts._replace(score=score, side=side, side_score=mean_side_score(data.events, unscored))
        if len(score):
            facts = measured(facts, part(data.events, 0, max(round(len(score) * min(past, PAST)), 1)))
    return make(name, changes, facts)


def measured(facts: Facts, matches: Matches) -> Facts:
    """With the size of margins, and the noise of statistics, as these matches have them."""
    columns: Any = matches.context.columns
    player, side = np.asarray(matches.player), matches.context.side
    if facts.margin:
        ahead = ahead_by([np.asarray(columns[name], float) for name in facts.margin])
        facts = facts._replace(margin_size=float(np.mean(np.abs(ahead))))
    noise = (measurement_noise(np.asarray(columns[name], float), player, side) for name in facts.statistics)
    return facts._replace(statistic_noise=tuple(noise))


def in_seasons(system: RatingSystem, starts: Iterable[float]) -> RatingSystem:
    """The system, knowing further seasons: those that begin after its last one. The same if it knows none."""
    known = system.settings.get("seasons") or ()
    new = sorted(x for x in starts if known and x > known[-1])
    if not new or system.make is None:
        return system
    return system.make(**system.settings | {"seasons": (*known, *new)}, **system.params._asdict())


def rates(system: RatingSystem, data: Dataset) -> bool:
    """Whether it rates such events, be it in rating periods."""
    kinds = (Matches, Periods) if isinstance(data.events, Matches) else (Rounds,)
    return any(kind in system.events for kind in kinds)


def those_with(trait: str) -> list[str]:
    """The names of the systems that have this one of their `Traits`."""
    return [name for name, new in SYSTEMS.items() if getattr(new().traits, trait)]


def as_known(system: RatingSystem, data: Dataset) -> Dataset:
    """The data, everyone on their own if the system knows no teams."""
    return alone(data) if in_teams(data) and not system.traits.teams else data
