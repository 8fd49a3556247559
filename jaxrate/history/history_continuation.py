"""Events that follow a rated history: how their table is read, whether they can follow, and what is doubtful."""

import warnings
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.data.faulty_rows import describe_example_rows
from jaxrate.events import period_number
from jaxrate.events.dataset import Dataset
from jaxrate.history.history import History, format_time, system_with_extended_seasons
from jaxrate.replay.contest_checks import depends_on_time
from jaxrate.systems.system_construction_by_name import has_sides, uses_side

MAX_COMPARED_ROWS = 100_000  # last rows of a history, in which repeated matches are sought


def reading_options_of_history(onto: History | None) -> dict[str, Any]:
    """Options of `read` for a table that carries on a history."""
    if onto is None:
        return {}
    category_options = {"categories": onto.categories, "seasons": onto.seasons}
    columns = {} if "format" in onto.options.get("columns", {}) else onto.options.get("columns", {})
    dates = {} if onto.options.get("dates") is None else {"dates": onto.options["dates"]}
    return (
        dates | columns | {"players": onto.players} | {name: x for name, x in category_options.items() if x is not None}
    )


def check_data_can_continue_history(system: RatingSystem, data: Dataset, period: float | None, onto: History) -> None:
    """ValueError unless the events can follow a rated history by this system, in periods of this length."""
    if onto.seasons and data.seasons and not onto.seasons.items() <= data.seasons.items():
        raise ValueError("the seasons differ from the saved run's; read the matches with seasons=...")
    continued_system = system_with_extended_seasons(onto, system.settings.get("seasons") or ())
    if (system.rules, system.params) != (continued_system.rules, continued_system.params):
        raise ValueError(
            f"the saved run is of {onto.system.name} with its own parameters; carry on with those, "
            f"as jr.rate(saved.system, data, onto=saved) does, or rate all matches again by {system.name}"
        )
    if period != onto.period:
        previous_form = "match by match" if onto.period is None else f"in periods of {onto.period:g}"
        raise ValueError(f"the saved run was rated {previous_form}; carry on the same way")
    if not np.array_equal(data.players[: len(onto.players)], onto.players):
        raise ValueError(
            "the players have other ids than in the saved run; read the events with players=saved.players, of the run "
            "that is given as onto"
        )
    if onto.categories is not None and not (
        data.categories is not None and data.categories.tolist() == onto.categories.tolist()
    ):
        raise ValueError("the categories differ from the saved run's; read the matches with categories=...")
    of_matches = data.of_matches
    if of_matches != (onto.contests is None):
        kinds = ("contests", "matches") if of_matches else ("matches", "contests")
        raise ValueError("the saved run is of {}, these are {}".format(*kinds))
    if data.clock != onto.clock and (of_matches or (data.clock and onto.clock)):
        clocks = {None: "no times", "dates": "dates", "numbers": "numbers for times"}
        new = "matches" if of_matches else "contests"
        raise ValueError(f"the saved run has {clocks[onto.clock]}, the new {new} have {clocks[data.clock]}")
    if onto.last is None or data.clock is None or not len(data.rows):
        return
    time = data.matches.time if of_matches else data.rounds.events.time
    event, last = "match" if of_matches else "contest", format_time(onto.last, onto.clock)
    first = f"row {data.rows[0]} (counting from 0): time {format_time(time[0], onto.clock)}"
    if time[0] < onto.last and (of_matches or depends_on_time(system, system.params)):
        raise ValueError(
            f"{first} is earlier than the last {event} of the saved run, {last}; leave out "
            f"what is rated already, which is all before that"
        )
    if period is not None and period_number(time[0], period) == period_number(onto.last, period):
        raise ValueError(
            f"{first} is in the same rating period as the last match of the saved run, {last}; a period is "
            "rated as a whole, so carry on only where one has ended"
        )


def warn_doubtful_continuation(system: RatingSystem, data: Dataset, onto: History, stacklevel: int) -> None:
    """UserWarning if new matches lack the side that the system counts, or are as the last ones of the history."""
    if not data.of_matches:
        return
    if uses_side(system) and not has_sides(data):
        text = f"{system.name} counts the side, and the new matches do not say who has it, so nobody does; name "
        warnings.warn(f"{text}its column, as side='home'", UserWarning, stacklevel=stacklevel)
    if onto.last is None or data.clock is None:
        return
    at_end = np.flatnonzero(np.asarray(data.matches.time) == onto.last)
    if not len(at_end):
        return
    last, total = format_time(onto.last, onto.clock), f"{len(data.rows):,} new matches"
    if not len(onto.events["row"]):
        text = f"{len(at_end):,} of {total} are at the end of the history, {last}, whose matches are in other files: "
        warnings.warn(f"{text}they count as further matches", UserWarning, stacklevel=stacklevel)
    elif (repeated := _is_repeated(data, at_end, onto)).any():
        text = f"{np.count_nonzero(repeated):,} of {total} repeat matches that the history has at its end, {last}: "
        text += f"{describe_example_rows(data.rows[at_end[repeated]])}; they count again, so remove them if they were "
        warnings.warn(f"{text}played once", UserWarning, stacklevel=stacklevel)


def _is_repeated(data: Dataset, indices: HostArray, onto: History) -> HostArray:
    """[indices] whether the history has a match of the same players with the same score at its last time."""
    events = onto.events
    latest = slice(max(len(events["row"]) - MAX_COMPARED_ROWS, 0), None)
    at_end = events["time"][latest] == events["time"][-1]
    known = {*zip(*events["player"][latest][at_end].T.tolist(), events["score"][latest][at_end].tolist(), strict=True)}
    a, b = data.matches.player[indices].T.tolist()
    score = np.asarray(data.matches.score)[indices].tolist()
    return np.array([match in known for match in zip(a, b, score, strict=True)])
