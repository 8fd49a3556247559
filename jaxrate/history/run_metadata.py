"""The metadata of a saved run: the contents of run.json."""

from importlib.metadata import version
from typing import Any

import numpy as np

from jaxrate.core.system import RatingSystem
from jaxrate.history.history import History
from jaxrate.storage.atomic_folder import FORMAT_VERSION
from jaxrate.storage.npz_tables import COUNT_KEYS
from jaxrate.systems import SYSTEMS
from jaxrate.systems.prediction_wrapping import wrapper_names
from jaxrate.systems.rounds.hazard_tables import Density
from jaxrate.systems.system_construction_by_name import make_wrapped_system


def make_run_metadata(rated: History) -> dict[str, Any]:
    """The contents of run.json for a rated history; ValueError if JSON cannot hold them."""
    system = rated.system
    settings = {name: x.name if isinstance(x, Density) else x for name, x in system.settings.items()}
    for name, value in settings.items():
        if not _is_json_value(value):
            raise ValueError(f"{system.name} was made with {name} of its own, which a saved run cannot hold")
    params = {name: None if x is None else float(x) for name, x in system.params._asdict().items()}
    if system.name in SYSTEMS and not _is_packaged_system(system, params):
        raise ValueError(f"this {system.name} is not the one of jaxrate; give a system of your own a name of its own")
    return {
        "format": FORMAT_VERSION,
        "jaxrate": version("jaxrate"),
        "system": system.name,
        "settings": settings,
        "params": params,
        "period": None if rated.period is None else float(rated.period),
        COUNT_KEYS[rated.contests is not None]: len(rated.events["row"]),
        "players": len(rated.players),
        "last": rated.last,
        "clock": rated.clock,
        "options": rated.options,
        "categories": None if rated.categories is None else np.asarray(rated.categories).tolist(),
        "seasons": rated.seasons,
    } | dict.fromkeys(wrapper_names(system), True)


def _is_packaged_system(system: RatingSystem, params: dict[str, float | None]) -> bool:
    """Whether the system of that name in the package has these rules."""
    try:
        return (
            make_wrapped_system(wrapper_names(system), SYSTEMS[system.name], system.settings | params).rules
            == system.rules
        )
    except (TypeError, ValueError):
        return False


def _is_json_value(value: Any) -> bool:
    """Whether JSON can hold it."""
    if isinstance(value, tuple):
        return all(map(_is_json_value, value))
    return value is None or isinstance(value, (str, int, float))
