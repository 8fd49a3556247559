"""The history of players: careers, the rating at a time, and the table of all ratings."""

from typing import Any

import jax
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Rating
from jaxrate.history.history import History, find_player_id
from jaxrate.history.prediction_columns import outcome_columns
from jaxrate.history.query_time import parse_query_time, parse_time_after_last_events
from jaxrate.history.ratings_at_times import advance_state_to_time, has_modifiers, modifiers, ratings
from jaxrate.history.trajectories import build_trajectories
from jaxrate.replay.padded_states_and_columns import leaves_by_name

RESULT_COLUMNS = "contest", "participants", "teams", "rank", "score"  # as far as a history has them


@enforce_argument_annotations
def career(rated: History, player: Any) -> dict[str, HostArray]:
    """The career of a player, one row per match or contest.

        jr.career(rated, "Green Bay Packers")
        jr.career(jr.smooth(system, data), "Green Bay Packers")  # as it is known now

    A row of a match has time, opponent, the player's score, the points of both (if the history has them), the expected
    score (`probability`), the rating before, its deviation (if the system has one), and the change by the match. A row
    of a contest has time, contest, participants, the player's rank, the expected rank, the rating before, its
    deviation, and the change; and the number of teams, if there are any. The player's last match of a rating period has
    the whole change of the period. A player in several teams of a contest has the whole change in the last of their
    rows. A change does not contain what a lead loses by a new season, or by the time between two matches: the rating
    before the second match has lost it already. Systems that infer performances add the performance and the rank needed
    (see `performance_ratings`); NaN where there is none.

    With hindsight a row of a match has time, opponent, score, the score expected from all other matches, and the rating
    after the match, with its deviation, given the whole history. A row of a contest has time, contest, participants,
    teams, rank, the rank expected from all other contests, and the same rating and deviation.

    Args:
      rated: a rated history, or one with hindsight, as from `smooth`.
      player: the name, as in `rated.players` or as text; or the id, unless names are numbers.

    Raises:
      ValueError: if there is no such player.
    """
    rated.check_has_events()
    names = rated.players
    rows = rated.rows.of_player(find_player_id(names, player))
    columns = {"time": rated.display_times(rows.column("time"))}
    if rows.opponent is not None:
        columns["opponent"] = names[rows.opponent]
    columns |= {name: rows.column(name) for name in RESULT_COLUMNS if name in rows.events}
    if "points" in rows.events:
        columns |= {"points": rows.column("points"), "opponents_points": rows.column("points", of_opponent=True)}
    expected, outcomes = rows.column("prediction"), {x: rows.column(x) for x in outcome_columns(rows.events)}
    if rows.opponent is None:
        teams = columns.get("teams", columns["participants"])
        columns |= outcomes | {"expected_rank": 1.0 + (1.0 - expected.astype(float)) * (teams - 1)}
    else:
        columns |= {"probability": expected} | outcomes
    shown = rows.after if rows.before.mean is None else rows.before
    columns |= {name: x for name, x in zip(("rating", "deviation"), shown, strict=True) if x is not None}
    if rows.before.mean is not None:
        columns["change"] = rows.after.mean - rows.before.mean
    if "performance" in rows.events:
        needed = rows.column("rank_needed")
        columns |= {"performance": rows.column("performance"), "rank_needed": np.where(needed > 0, needed, np.nan)}
    return columns


@enforce_argument_annotations
def rating_at(rated: History, player: Any, date: Any) -> Rating:
    """The rating and deviation that a player had at a time of a rated history, from its predictions.

        jr.history.rating_at(rated, "Ada", "2024-06-30").mean

    It is the rating after the last of their events by then, an event at that very time included; a rating period
    counts once it has ended. Before their first event a player has the rating of a newcomer. Between two events it is
    the one before the next event, for which all the time between has passed, but not before a season that begins
    between; after the last one, time has passed until the moment, as in `ratings`.

    Args:
      rated: a rated history with times.
      player: the player, as in `career`.
      date: a moment, as `time` of `ratings`. A date is its midnight in UTC, as in the data; `"2026-05-31T18:30"` is the
        moment itself.

    Raises:
      ValueError: if there is no such player, if the history has no times, or if the date is no moment.
    """
    if rated.clock is None:
        raise ValueError("the history has no times; name the column of time when it is read")
    query_time, player_id = parse_query_time(rated, date), find_player_id(rated.players, player)
    if query_time is None:
        raise ValueError("date must be a number or a date, got None")
    trajectories = build_trajectories(rated)
    if np.isnan(trajectories.time[trajectories.start[player_id] + 1 : trajectories.start[player_id + 1]]).any():
        raise ValueError(f"some events of {player!r} have no time, so that no rating can be as of one")
    points, system = trajectories.points_at(query_time), rated.system
    if points[player_id] < trajectories.start[player_id + 1] - 1:
        mean, deviation = trajectories.ratings_at(points, query_time, system.settings.get("seasons") or ())
        return Rating(float(mean[player_id]), None if deviation is None else float(deviation[player_id]))
    row = jax.tree.map(lambda x: x[player_id : player_id + 1], rated.state)
    mean, deviation = system.summary(system.params, advance_state_to_time(system, row, query_time, system.params))
    return Rating(float(mean[0]), None if deviation is None else float(deviation[0]))


@enforce_argument_annotations
def rating_table(rated: History, time: Any = None) -> dict[str, HostArray]:
    """Columns of the ratings, best first: the mean, the deviation if any, games, and further leaves of the state.

        jr.data.write(jr.history.rating_table(rated), "ratings.parquet")

    `time` is as in `ratings`.
    """
    query_time = parse_time_after_last_events(rated, rated.state, time, rated.players)
    state = advance_state_to_time(rated.system, rated.state, query_time, rated.system.params)
    rating = ratings(rated.system, state)
    columns = {"id": np.arange(len(rated.players)), "player": rated.players, "rating": np.asarray(rating.mean)}
    if rating.deviation is not None:
        columns["deviation"] = np.asarray(rating.deviation)
    columns["games"] = rated.games
    excluded = {"variance", "time", *columns}
    state_columns = {name: np.asarray(x) for name, x in leaves_by_name(state).items()}
    columns |= {
        name: x for name, x in state_columns.items() if x.ndim == 1 and name not in excluded and "." not in name
    }
    if rated.categories is not None and has_modifiers(rated.system, state):
        mean, deviation = map(np.asarray, modifiers(rated.system, state))
        for i, name in enumerate(rated.categories):
            columns[f"modifier {name}"] = mean[:, i]
            columns[f"deviation {name}"] = deviation[:, i]
    order = np.argsort(-columns["rating"], kind="stable")
    return {name: values[order] for name, values in columns.items()}
