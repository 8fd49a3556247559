"""The notes beneath the table of a comparison: hyperparameters, and data that systems do not use."""

from collections.abc import Iterable, Mapping
from typing import Any

from jaxrate.core.default_side_advantage import DEFAULT_SIDE_SCORE, smoothed_mean_side_score
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import join_names
from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset
from jaxrate.systems import SYSTEMS
from jaxrate.systems.system_construction_by_name import has_sides, uses_side


def unused_data_features(system: RatingSystem, data: Dataset) -> tuple[str, ...]:
    """The data that the system ignores: the side, margins, covariates, categories, seasons.

    Empty for systems of your own, whose use of data is unknown.
    """
    if system.make is None or system.name not in SYSTEMS:
        return ()
    settings = system.settings
    kinds: dict[str, tuple[bool, bool]] = {  # whether the data have it, and whether the system uses it
        "the side": (has_sides(data), uses_side(system)),
        "margins": (bool(data.margin), settings.get("outcome") in ("margin", "points", "goals")),
        "categories": (
            data.categories is not None,
            "categories" in system.features and settings.get("categories", 2) > 1,
        ),
        "seasons": (bool(data.seasons), bool(settings.get("seasons"))),
    }
    unused = [kind for kind, (there, counts) in kinds.items() if there and not counts]
    return *unused, *(name for name in data.covariates if name not in settings.get("covariates", ()))


def describe_default_hyperparameters(changed_systems: Iterable[str]) -> str:
    """The sentence on hyperparameters where nothing was fitted; `changed_systems` names systems with other ones."""
    changed_systems = [*changed_systems]
    exceptions = f", except those of {join_names(changed_systems)}" if changed_systems else ""
    return f"Hyperparameters are the default ones{exceptions}."


def describe_fits(reasons: Mapping[str, str], changed: Iterable[str], num_past: int, event_noun: str) -> list[str]:
    """The sentences on fitted hyperparameters, and on systems that were not fitted.

    Args:
      reasons: why each system named was not fitted, by name; "" if it was.
      changed: names of systems with given hyperparameters, which stay as they are.
      num_past: events before the scored ones.
      event_noun: "matches" or "contests".
    """
    changed = [*changed]
    fitted = [name for name, reason in reasons.items() if not reason]
    sentences = (
        [f"Hyperparameters of {join_names(fitted)} are fitted to the {num_past:,} {event_noun} before."]
        if fitted
        else []
    )
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names_by_reason.setdefault(reason, []).append(name)
    sentences += [f"Not fitted: {join_names(names)} ({reason})." for reason, names in names_by_reason.items() if reason]
    return sentences + ([f"As given, where anything is: {join_names(changed)}."] if changed else [])


def describe_side(data: Dataset, systems: Mapping[str, RatingSystem], num_past: int) -> list[str]:
    """The sentence on the worth of the side in systems, by name, without a given one: on the scale of each."""
    names_by_worth: dict[str, list[str]] = {}
    for name, system in systems.items():
        if points := getattr(system.params, "side_advantage", 0.0):
            names_by_worth.setdefault(format_side_advantage(points), []).append(name)
    if not names_by_worth:
        return []
    worths = [f"{points} for {join_names(names)}" for points, names in names_by_worth.items()]
    worths[0] = worths[0].replace(" ", " points ", 1)
    is_default = smoothed_mean_side_score(data.matches, num_past) == DEFAULT_SIDE_SCORE
    source = "by default" if is_default else f"from the {num_past:,} matches before"
    return [f"The side advantage is {', '.join([*worths, source])}."]


def format_side_advantage(points: float) -> str:
    """A side advantage in points of the system."""
    return f"{points:.0f}" if points >= 10.0 else f"{points:.3g}"


def describe_margin_scale(names: list[str], num_past: int) -> list[str]:
    """The sentence on the scale of margins in systems without a given one."""
    return [f"The weight of margins in {join_names(names)} is from the {num_past:,} matches before."] if names else []


def describe_ignored_data(unused: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A sentence for each group of systems that ignore the same data; `unused` is by name of the system."""
    names_by_kinds: dict[tuple[str, ...], list[str]] = {}
    for name, kinds in unused.items():
        names_by_kinds.setdefault(kinds, []).append(name)
    return [f"Not used by {join_names(names)}: {', '.join(kinds)}." for kinds, names in names_by_kinds.items() if kinds]


def compose_notes(
    data: Dataset, systems: Mapping[str, RatingSystem], system_choices: Mapping[str, Any], num_past: int,
    reasons: Mapping[str, str] | None,
) -> list[str]:  # fmt: skip
    """The notes beneath the table; `reasons` why systems by name were not fitted, None if there was no fit."""
    changed = [name for name, given in system_choices.items() if given]
    event_noun = "matches" if isinstance(data.events, Matches) else "contests"
    sentences = (
        [describe_default_hyperparameters(changed)]
        if reasons is None
        else describe_fits(reasons, changed, num_past, event_noun)
    )
    if num_past and data.margin:
        sentences += describe_margin_scale(
            [
                name
                for name, system in systems.items()
                if not isinstance(system_choices[name], RatingSystem) and "margin_scale" not in system_choices[name]
                if system.settings.get("outcome") == "margin" and (reasons or {}).get(name, " ")
            ],
            num_past,
        )
    if has_sides(data):
        by_default = {
            name: system
            for name, system in systems.items()
            if not isinstance(system_choices[name], RatingSystem) and "side_advantage" not in system_choices[name]
            if uses_side(system) and (reasons or {}).get(name, " ")
        }
        sentences += describe_side(data, by_default, num_past)
    return sentences + describe_ignored_data(
        {name: unused_data_features(system, data) for name, system in systems.items()}
    )
