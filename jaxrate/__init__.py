"""Competitive rating systems on JAX.

    import jaxrate as jr

    data = jr.data.datasets.nfl()  # or jr.read("games.csv")
    rated = jr.rate(jr.glicko(side_advantage=60), data)
    print(jr.leaderboard(rated, top=10))
    print(jr.forecasts.predict_fixtures(rated, [("Green Bay Packers", "Chicago Bears")], side="a"))

The folder `guides` beside this file has the guides; `start.md` is the first.

Each name is imported when it is first used: neither `import jaxrate` alone nor the command line's help waits for JAX.
`__init__.pyi` tells editors and type checkers the same names. The package logs by `logging` under its own name, and
says nothing by itself.
"""

import logging
from importlib.metadata import version
from typing import Any

import lazy_loader

_NAMESPACES = {
    "arena",
    "data",
    "evaluation",
    "extend",
    "federations",
    "fitting",
    "forecasts",
    "history",
    "live",
    "metrics",
    "parts",
    "plots",
    "site",
    "testing",
    "urns",
}
_NAMES = {
    "events": ["Matches", "Periods", "Rounds", "matches", "periods", "rounds"],
    "data.dataset_from_table": ["read"],
    "history.dataset_rating": ["rate", "smooth"],
    "history.history": ["History"],
    "history.ratings_at_times": ["ratings"],
    "history.leaderboards": ["leaderboard"],
    "history.player_records": ["career"],
    "evaluation.comparison": ["compare"],
    "replay.checked_replay": ["predict", "run", "scan"],
    "fitting.hyperparameter_fit": ["fit"],
    "history.saved_runs": ["load", "save"],
    "systems.system_construction_by_name": ["skills_for_data"],
    "systems": [
        "blat_mmr",
        "category_glicko",
        "codeforces",
        "elo",
        "elo_mmr",
        "elo_mmx",
        "glicko",
        "glicko2",
        "glicko_boost",
        "skills",
        "stephenson",
        "topcoder",
        "trueskill",
        "urnings",
        "weng_lin",
    ],
}
_get_name, __dir__, __all__ = lazy_loader.attach(__name__, _NAMESPACES, _NAMES)
logging.getLogger("jaxrate").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("jaxrate")
    try:
        return _get_name(name)
    except AttributeError as error:
        from jaxrate.core.text_format import did_you_mean_suffix

        raise AttributeError(f"{error}{did_you_mean_suffix(name, __all__)}", name=name) from None
