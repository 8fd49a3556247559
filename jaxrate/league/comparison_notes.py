"""What a comparison says beneath its table: by which hyperparameters, and what was not known to whom."""

from collections.abc import Iterable, Mapping
from typing import Any

from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset
from jaxrate.side_advantage import DEFAULT_SIDE_SCORE, logistic_lead, mean_side_score
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS


def unused_data_features(system: RatingSystem, data: Dataset) -> tuple[str, ...]:
    """What the data have and the system takes no notice of: the side, margins, covariates, categories, seasons.

    Of systems of one's own nobody can tell: nothing.
    """
    if system.make is None or system.name not in SYSTEMS:
        return ()
    settings = system.settings
    kinds: dict[str, tuple[bool, bool]] = {  # of each whether there is any, and whether it counts
        "the side": (has_sides(data), uses_side(system)),
        "margins": (bool(data.margin), settings.get("outcome") == "margin"),
        "categories": (data.categories is not None, system.traits.categories and settings.get("categories", 2) > 1),
        "seasons": (bool(data.seasons), bool(settings.get("seasons"))),
    }
    unused = [kind for kind, (there, counts) in kinds.items() if there and not counts]
    return *unused, *(name for name in data.covariates if name not in settings.get("covariates", ()))


def has_sides(data: Dataset) -> bool:
    """Whether the data say who had the side."""
    return isinstance(data.events, Matches) and data.events.context.side is not None


def uses_side(system: RatingSystem) -> bool:
    """Whether it matters to the system who has the side."""
    return bool(getattr(system.params, "side_advantage", 0.0)) or bool(system.settings.get("own_side"))


def describe_hyperparameters(changed: Iterable[str]) -> str:
    """The sentence where nothing was fitted here; those of some systems were `changed`."""
    changed = [*changed]
    return f"Hyperparameters are the default ones{f', except those of {join_names(changed)}' if changed else ''}."


def describe_fits(reasons: Mapping[str, str], changed: Iterable[str], num_past: int, event_noun: str) -> list[str]:
    """The sentences where systems were fitted: why some were not, by the name of each, "" if it was.

    Args:
      reasons: of those by name.
      changed: those whose hyperparameters were given, of which what is given stays.
      past, what: how many events come before what is scored, and what they are.
    """
    changed = [*changed]
    done = [name for name, reason in reasons.items() if not reason]
    sentences = (
        [f"Hyperparameters of {join_names(done)} are fitted to the {num_past:,} {event_noun} before."] if done else []
    )
    other: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        other.setdefault(reason, []).append(name)
    sentences += [f"Not fitted: {join_names(names)} ({reason})." for reason, names in other.items() if reason]
    return sentences + ([f"As given, where anything is: {join_names(changed)}."] if changed else [])


def describe_side(data: Dataset, names: list[str], num_past: int) -> list[str]:
    """The sentence of what the side is worth to systems that were told nothing else."""
    if not names:
        return []
    score = mean_side_score(data.matches, num_past)
    source = "as usual" if score == DEFAULT_SIDE_SCORE else f"by the {num_past:,} matches before"
    return [f"The side is worth as much as {logistic_lead(score):.0f} points of Elo to {join_names(names)}, {source}."]


def describe_margin(names: list[str], past: int) -> list[str]:
    """The sentence of what margins are worth to systems that were told nothing else."""
    return [f"What margins are worth to {join_names(names)} is by the {past:,} matches before."] if names else []


def describe_unused(unused: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A sentence for all systems to which the same is unknown; `unused` by the name of each."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, kinds in unused.items():
        alike.setdefault(kinds, []).append(name)
    return [f"Not known to {join_names(names)}: {', '.join(kinds)}." for kinds, names in alike.items() if kinds]


def join_names(names: Iterable[Any]) -> str:
    """Names as a sentence has them."""
    *most, last = map(str, names)
    return f"{', '.join(most)} and {last}" if most else last
