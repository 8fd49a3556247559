"""The systems that can be compared on a dataset: as given, or by name with changes of hyperparameters."""

from collections.abc import Iterable, Mapping
from typing import Any

from jaxrate.core.argument_checks import format_value_or_type
from jaxrate.core.system import RatingSystem, set_default_period
from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
from jaxrate.evaluation.margin_scale_selection import system_with_best_margin_scale
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.events.dataset import Dataset
from jaxrate.history.dataset_rating import check_contests_in_time_order
from jaxrate.systems import systems_with_feature
from jaxrate.systems.system_construction_by_name import CONTEST_SYSTEMS, can_rate_dataset, make_system_for_data

BASELINES = "elo", "glicko", "glicko2", "elo_mmr", "codeforces", "trueskill"  # what reports compare with
TEAM_BASELINES = "trueskill", "weng_lin", "skills"  # of teams


def system_choices_by_name(systems: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Systems, or changes of hyperparameters of systems given by name, by the name to show."""
    if isinstance(systems, Mapping):
        return dict(systems)
    listed_systems = [systems] if isinstance(systems, (str, RatingSystem)) else list(systems)
    by_name: dict[str, Any] = {}
    for system in listed_systems:
        name = system.name if isinstance(system, RatingSystem) else system
        if not isinstance(name, str):
            raise ValueError(f"compare takes systems, or their names, got {format_value_or_type(system)}")
        if name in by_name:
            raise ValueError(f"two systems have the name {name}; give each its own, as in {{'fast': {name}(...), ...}}")
        by_name[name] = system if isinstance(system, RatingSystem) else {}
    return by_name


def resolve_system(
    name: str, system_or_changes: Any, period: float | None, data: Dataset, num_past: int = 0
) -> RatingSystem:
    """The given system, or the system of this name adapted to the data with these changes.

    The first `num_past` matches are not scored.
    """
    if isinstance(system_or_changes, RatingSystem):
        return set_default_period(system_or_changes, period)
    return system_with_best_margin_scale(
        make_system_for_data(name, system_or_changes, period, data, unscored_count=num_past),
        system_or_changes,
        data,
        period,
        num_past,
    )


def select_candidates(
    data: Dataset, systems: Mapping[str, Any], *, is_named: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """The systems, or changes by name, that rate the data; and why others are left out, by name.

    Unless the user named them, systems are left out whose requirements the data do not meet.

    Raises:
      ValueError: if none is left, or if contests are not in order of time and a system takes notice.
    """
    of_matches = isinstance(data.events, Matches)
    candidates = {name: resolve_system(name, given, None, data) for name, given in systems.items()}
    candidate_names = [name for name, system in candidates.items() if can_rate_dataset(system, data)]
    if not is_named and of_matches:
        candidate_names = [name for name in candidate_names if candidates[name].name not in CONTEST_SYSTEMS]
    if not is_named and of_matches and (data.categories is None or data.clock is None):
        candidate_names = [name for name in candidate_names if Matches in candidates[name].events]
    if not candidate_names:
        kind = "matches" if of_matches else "rounds"
        raise ValueError(f"none of these systems rates {kind}: {', '.join(candidates)}")
    left_out: dict[str, str] = {}
    flat: Any = None if of_matches else data.rounds.events
    for is_needed, feature, reason, refusal in (
        (dataset_has_teams(data), "teams", "team-mates would be opponents", "systems rates teams"),
        (
            flat is not None and flat.seat is not None,
            "seats",
            "it rates nobody in several teams",
            "rates players in several teams",
        ),
        (
            flat is not None and flat.noise is not None,
            "noise",
            "it knows no noise of contests",
            "systems knows the noise of contests",
        ),
    ):
        if is_needed:
            left_out |= {name: reason for name in candidate_names if feature not in candidates[name].features}
            if len(left_out) == len(candidate_names):
                supporting_systems = " or ".join(systems_with_feature(feature))
                raise ValueError(f"none of these {refusal}: {', '.join(left_out)}; try {supporting_systems}")
    for name in candidate_names:
        if of_matches and not is_named:
            try:
                resolve_system(name, systems[name], None, data).check(data.events)
            except ValueError as error:
                left_out[name] = str(error)
        elif not of_matches and name not in left_out:
            check_contests_in_time_order(candidates[name], data)
    return {name: systems[name] for name in candidate_names if name not in left_out}, left_out


def rated_event_type(data: Dataset, period: float | None) -> type:
    """The type of events to rate."""
    whole = Matches if isinstance(data.events, Matches) else Rounds
    return whole if period is None else Periods
