"""The events of a history in columns of NumPy, and as a table for people.

An event has as many rows as it has lines in its source: a match one, a contest one for each participant. A row has
seats: two of a match, one of a contest. What is told of each seat, as players and ratings, is [n, seats]; what is told
of a row, as scores and predictions, is [n]. A kind of history that knows less has fewer columns.

    event       the number of the match or contest, from 0
    row         where it stands in its source
    time        on the clock of the history; NaN without one
    player      [n, seats] ids
    score       of matches, of player 0;   contest, rank, participants, teams, team: of contests
    prediction  the expected score, or the share of the others to be beaten; win, draw, loss, quality of outcomes
    rating, deviation              [n, seats] before the event; not with hindsight
    rating_after, deviation_after  [n, seats] after it, where that is not what the next event found
    side, points, venue, category, performance, rank_needed   as far as they are known
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import HostArray
from jaxrate.data.lookalike_names import unstorable_reason, unstorable_reasons_by_position
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.events import Ragged, count_teams, event_numbers, team_ranks
from jaxrate.events.dataset import Dataset
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities, expected_score_from_prediction

PROBABILITY_PREFIX = "probability_"  # and the score, of more than three
OUTCOME_COLUMNS = re.compile(f"win|draw|loss|quality|{PROBABILITY_PREFIX}.*")


def match_prediction_columns(prediction: Any) -> dict[str, HostArray]:
    """The expected score [n] of player 0 as "prediction", and the probabilities of results, if predicted."""
    probabilities: Any = jax.tree.map(np.asarray, prediction)
    columns = {"prediction": expected_score_from_prediction(probabilities)}
    if isinstance(probabilities, OutcomeProbabilities):
        win, draw, quality = probabilities.win, probabilities.draw, probabilities.quality
        return columns | {"win": win[:, 0], "draw": draw[:, 0], "loss": win[:, 1], "quality": quality[:, 0]}
    if probabilities.ndim == 1:
        return columns
    last = probabilities.shape[1] - 1
    names_by_score = [f"{PROBABILITY_PREFIX}{k / last:.3g}" for k in range(last + 1)]
    names = {1: ["loss", "win"], 2: ["loss", "draw", "win"]}.get(last, names_by_score)
    return columns | dict(reversed([*zip(names, probabilities.T, strict=True)]))


def contest_prediction_columns(prediction: Any, rounds: Ragged) -> dict[str, HostArray]:
    """The share [sum P] of the others to be beaten as "prediction", and the probabilities to win or draw, if any."""
    if not isinstance(prediction, OutcomeProbabilities):
        return {"prediction": np.asarray(prediction)}
    others = np.repeat(count_teams(rounds) - 1, np.diff(rounds.player_start))
    win, draw, rank, quality = (np.asarray(x) for x in prediction)
    share = np.clip(1.0 - (rank - 1.0) / np.maximum(others, 1).astype(rank.dtype), 0.0, 1.0)
    share = np.where(others > 0, share, np.asarray(0.5, share.dtype))
    return {"prediction": share, "win": win, "draw": draw, "quality": quality}


def event_prediction_columns(prediction: Any, data: Dataset) -> dict[str, HostArray]:
    """The predictions of matches or of contests, as the two functions above have them."""
    if data.of_matches:
        return match_prediction_columns(prediction)
    return contest_prediction_columns(prediction, data.rounds)


def outcome_columns(names: Iterable[str]) -> list[str]:
    """The columns with the probabilities of outcomes, and the quality, in their order."""
    return [*filter(OUTCOME_COLUMNS.fullmatch, names)]


def mirrored_column(name: str, names: Iterable[str]) -> str | None:
    """The column of a match that tells of player 1 what this one tells of player 0; None: none does."""
    scores = [x for x in names if x.startswith(PROBABILITY_PREFIX)]
    mirrors = {"win": "loss", "loss": "win"} | dict(zip(scores, reversed(scores), strict=True))
    return mirrors.get(name)


SIDES = "a", "b"  # ends of the names of columns of matches that tell of one seat
EventColumns = dict[str, HostArray]


def make_event_columns(
    data: Dataset, prediction: Any, found: Mapping[str, Any], num_contests_before: int = 0, in_teams: bool = False
) -> EventColumns:
    """The columns of events that were predicted.

    `found` has ratings and deviations [n, 2] or [sum P], and performances, by column; what is None is left out.
    Contests without names are numbered from `num_contests_before`; `in_teams`: they have the columns of teams though
    nobody has team-mates.
    """
    columns: dict[str, Any] = {"row": data.rows, "event": event_numbers(data.events)}
    if data.of_matches:
        columns |= {name: getattr(data.matches, name) for name in ("time", "player", "score")}
    else:
        columns |= _contest_columns(data, num_contests_before, in_teams)
    seats = columns["player"].shape
    columns |= event_prediction_columns(prediction, data) | dict(found)
    columns |= _side_point_and_venue_columns(data) if data.of_matches else {}
    columns["category"] = _category_names(data, seats)
    arrays = {name: np.asarray(x) for name, x in columns.items() if x is not None}
    return arrays | {name: x.reshape(seats) for name, x in arrays.items() if name.startswith(("rating", "deviation"))}


def _contest_columns(data: Dataset, num_contests_before: int, in_teams: bool) -> EventColumns:
    flat: Any = data.rounds.flat
    event, size, teams = event_numbers(data.rounds), np.diff(data.rounds.start), count_teams(data.rounds)
    labels = data.contests
    if labels is None or not are_plain_names(labels):
        labels = np.arange(num_contests_before, num_contests_before + len(size))
    time = np.asarray(flat.time)[event] if data.clock else np.full(len(event), np.nan)
    columns = {"contest": labels[event], "time": time, "player": np.asarray(flat.player)[:, None]}
    columns |= {"rank": team_ranks(data.rounds) + 1, "participants": size[event].astype(np.int32)}
    if in_teams or (teams < size).any():
        columns |= {"teams": teams[event], "team": np.asarray(flat.team).astype(np.int32) + 1}
    return columns


def _side_point_and_venue_columns(data: Dataset) -> dict[str, Any]:
    """Who of a match has the side, the points of both, and the ground; None where they are not known."""
    context: Any = data.matches.context
    points = data.margin if len(data.margin) == len(SIDES) and context.columns else ()
    return {
        "venue": data.venues,
        "side": jax.tree.map(np.float32, context.side),
        "points": np.stack([context.columns[name] for name in points], axis=1) if points else None,
    }


def _category_names(data: Dataset, seats: tuple[int, ...]) -> HostArray | None:
    """The names of the categories of seats; None if they are not known, or are shares of several."""
    category, names = data.events.flat.context.category, data.categories
    if names is None or category is None or np.size(category) != np.prod(seats) or not are_plain_names(names):
        return None
    return np.asarray(names)[np.asarray(category).reshape(seats)]


def concatenate_event_columns(first: EventColumns, second: EventColumns) -> EventColumns:
    """The rows of both. A missing column has NaN, None or 0; missing teams are players alone, or 0 where unknown."""
    sizes = len(first["row"]), len(second["row"])
    second = second | {"event": second["event"] + (first["event"][-1] + 1 if sizes[0] else 0)}
    if "teams" in first or "teams" in second:
        first, second = map(_add_team_column, (first, second))
    if "contest" in first:
        first, second = _unify_contest_labels(first, second)
    longer: EventColumns = max(second, first, key=len)
    known = {**longer, **first, **second}
    return {
        name: np.concatenate(
            [columns.get(name, _missing_values(x, size)) for columns, size in zip((first, second), sizes, strict=True)]
        )
        for name, x in known.items()
    }


def _missing_values(known: HostArray, count: int) -> HostArray:
    value = {"f": np.nan, "O": None}.get(known.dtype.kind, 0)
    return np.full((count, *known.shape[1:]), value, known.dtype)


def _add_team_column(columns: EventColumns) -> EventColumns:
    """Columns with those of teams: everybody is alone where there were none, and 0 where they are not known."""
    if "teams" in columns:
        return columns | {"team": columns.get("team", np.zeros(len(columns["teams"]), np.int32))}
    first_row = np.searchsorted(columns["event"], columns["event"])
    place = np.arange(1, len(first_row) + 1, dtype=np.int32) - first_row.astype(np.int32)
    end = [*columns].index("participants") + 1
    items = [*columns.items()]
    return dict([*items[:end], ("teams", columns["participants"]), ("team", place), *items[end:]])


def _unify_contest_labels(*tables: EventColumns) -> list[EventColumns]:
    """Columns in which contests are called by text, if not all are called by numbers."""
    if all(columns["contest"].dtype.kind in "iu" for columns in tables):
        return [*tables]
    return [x | {"contest": np.array([*map(str, x["contest"].tolist())], object)} for x in tables]


def empty_event_columns(of_contests: bool) -> EventColumns:
    """Columns without rows."""
    numbers, floats, seats = np.zeros(0, np.int64), np.zeros(0), (0, 1 if of_contests else 2)
    columns = {"row": numbers, "event": numbers, "time": floats, "player": np.zeros(seats, np.int64)}
    columns |= dict.fromkeys(("contest", "rank", "participants"), numbers) if of_contests else {"score": floats}
    return columns | {"prediction": floats, "rating": np.zeros(seats)}


def are_plain_names(values: HostArray) -> bool:
    """Whether names are all text, all bytes, or all numbers, so that a table can hold them."""
    if values.dtype.kind != "O":
        return True
    names = values.tolist()
    is_of_one_type = any(all(isinstance(x, kind) for x in names) for kind in (str, bytes, (int, float)))
    too_large = (isinstance(x, int) and unstorable_reason(x) is not None for x in names)
    return is_of_one_type and not unstorable_reasons_by_position(values) and not any(too_large)


def to_table_columns(events: EventColumns, names: Any, clock: str | None) -> dict[str, Any]:
    """The columns for people: names, dates, and for what is told of both seats of a match a column each."""
    columns: dict[str, Any] = {}
    for name, values in events.items():
        if name == "time" and clock == "dates":
            values = days_to_dates(values)
        seats = [values] if values.ndim == 1 else [*values.T]
        if name == "player":
            seats = [names.take(ids) for ids in seats]
        if len(seats) == 1:
            columns[name] = seats[0]
        else:
            columns |= {side if name == "player" else f"{name}_{side}": x for side, x in zip(SIDES, seats, strict=True)}
    del columns["event"]
    return columns


def from_table_columns(table: Any, players: HostArray) -> EventColumns:
    """The columns of events from a table as `to_table_columns` makes it, of Arrow or of NumPy.

    Raises:
      ValueError: if it has a name that no player has, or a contest of less than one participant.
    """
    found = {name: np.asarray(table[name]) for name in getattr(table, "column_names", table)}
    is_of_matches = "participants" not in found
    sides: tuple[str, ...] = SIDES if is_of_matches else ("player",)
    ends: tuple[str, ...] = ("_a", "_b") if is_of_matches else ("",)
    of_seats = ends if is_of_matches else ("rating", "deviation", "_after", "category")
    ids = np.stack([lookup_ids(name, table[name], players) for name in sides], axis=1)
    events: EventColumns = {}
    for name, values in found.items():
        if name in sides:
            events["player"] = ids
        elif name.endswith(of_seats):
            base = name[: len(name) - len(ends[0])]
            events[base] = np.stack([found[f"{base}{end}"] for end in ends], axis=1)
        else:
            events[name] = FROM_TABLE.get(name, np.asarray)(values)
    number = np.arange(len(ids)) if is_of_matches else contest_numbers(found["participants"])
    return events | {"event": number}


def contest_numbers(participants: HostArray) -> HostArray:
    """[n] the number of each participant's contest, from 0, from the size of each one's contest."""
    check_that(not (participants < 1).any(), "a contest has less than one participant")
    starts = [0]
    while starts[-1] < len(participants):
        starts.append(starts[-1] + int(participants[starts[-1]]))
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))[: len(participants)]


def lookup_ids(column: str, names: Any, players: HostArray) -> HostArray:
    """[n] the ids of the names in a column, of NumPy or of Arrow; ValueError for a name that no player has."""
    if isinstance(names, np.ndarray):
        id_by_name = {name: i for i, name in enumerate(players.tolist())}
        ids = np.array([id_by_name.get(name, np.nan) for name in names.tolist()], float)
    else:
        arrow = import_pyarrow()
        ids = arrow.compute.index_in(names, value_set=arrow.array(players).cast(names.type)).to_numpy()
    check_that(not np.isnan(ids).any(), f"{column} holds a name that no player has")
    return ids.astype(np.int32)


def days_to_dates(days: HostArray) -> HostArray:
    """Days since 1970-01-01 as dates, or as timestamps where some have a time of day."""
    return days_to_datetime64(days, are_whole_days(days))


def are_whole_days(days: HostArray) -> bool:
    """Whether no day has a time of day."""
    return bool((np.isnan(days) | (np.floor(days) == days)).all())


def days_to_datetime64(days: HostArray, whole_days: bool) -> HostArray:
    """Days since 1970-01-01 as dates if `whole_days`, else as timestamps."""
    return days.astype("datetime64[D]") if whole_days else np.round(days * 86_400_000_000).astype("datetime64[us]")


def times_to_event_clock(times: HostArray) -> HostArray:
    """Times of a table, dates or numbers, on the clock of the events; NaN where there is none."""
    times = np.asarray(times)
    if times.dtype.kind != "M":
        return times.astype(np.float64)
    return np.where(np.isnat(times), np.nan, (times - np.datetime64(0, "D")) / np.timedelta64(1, "D"))


# what columns of tables are converted by
FROM_TABLE: dict[str, Any] = {
    "time": times_to_event_clock,
    "rank_needed": lambda x: np.nan_to_num(x.astype(float)).astype(np.int32),  # from 1; 0 for what is missing
}
