"""Records of players: careers, ratings at a time, heads to heads, upsets, best wins, form, attack and defence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxrate.core.argument_checks import PositiveCount, check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Rating
from jaxrate.history.column_table import ColumnTable, PrintedResult
from jaxrate.history.event_columns import lookup_ids, outcome_columns
from jaxrate.history.history import History, find_player_id
from jaxrate.history.leaderboards import leaderboard
from jaxrate.history.participations import Participations
from jaxrate.history.ratings_at_times import (
    advance_state_to_time,
    has_modifiers,
    modifiers,
    parse_query_time,
    parse_time_after_last_events,
    ratings,
)
from jaxrate.replay.padded_arrays import leaves_by_name
from jaxrate.systems.prediction_wrapping import unwrap_predictions
from jaxrate.systems.skills.parts import indices_counted_in_rating, indices_of_part
from jaxrate.systems.skills.rules import find_smoothing_model

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
    columns |= rows.known_columns(RESULT_COLUMNS)
    if "points" in rows.events:
        columns |= {"points": rows.column("points"), "opponents_points": rows.column("points", of_opponent=True)}
    expected, outcomes = rows.column("prediction"), rows.known_columns(outcome_columns(rows.events))
    if rows.opponent is None:
        teams = columns.get("teams", columns["participants"])
        columns |= outcomes | {"expected_rank": 1.0 + (1.0 - expected.astype(float)) * (teams - 1)}
    else:
        columns |= {"probability": expected} | outcomes
    change = None if rows.has_hindsight else rows.after.mean - rows.before.mean
    columns |= ColumnTable({"rating": rows.before.mean, "deviation": rows.before.deviation, "change": change})
    if "performance" in rows.events:
        needed = rows.column("rank_needed")
        columns |= {"performance": rows.column("performance"), "rank_needed": np.where(needed > 0, needed, np.nan)}
    return columns


@enforce_argument_annotations
def rating_at(rated: History, player: Any, date: Any) -> Rating:
    """The rating and deviation that a player had at a time of a history.

        jr.history.rating_at(rated, "Ada", "2024-06-30").mean

    It is the rating after the last of their events by then, an event at that very time included; a rating period
    counts once it has ended. Before their first event a player has the rating of a newcomer. Between two events it is
    the one before the next event, for which all the time between has passed, but not before a season that begins
    between; after the last one, time has passed until the moment. With hindsight it is what all events tell of the
    moment, and NaN before the first. It is that of `jr.ratings(rated, time=date)`.

    Args:
      rated: a history with times, as from `rate` or `smooth`.
      player: the player, as in `career`.
      date: a moment, as `time` of `ratings`. A date is its midnight in UTC, as in the data; `"2026-05-31T18:30"` is the
        moment itself.

    Raises:
      ValueError: if there is no such player, if the history, or an event of it, has no times, or if the date is no
        moment.
    """
    if rated.clock is None:
        raise ValueError("the history has no times; name the column of time when it is read")
    query_time, player_id = parse_query_time(rated, date), find_player_id(rated.players, player)
    if query_time is None:
        raise ValueError("date must be a number or a date, got None")
    if np.isnan(rated.events["time"]).any():
        raise ValueError("some events of the history have no time, so that no rating can be as of one")
    return jax.tree.map(lambda x: float(x[player_id]), ratings(rated, time=query_time))


@enforce_argument_annotations
def rating_table(rated: History, time: Any = None) -> dict[str, HostArray]:
    """Columns of the ratings, best first: the mean, the deviation if any, games, and further leaves of the state.

        jr.data.write(jr.history.rating_table(rated), "ratings.parquet")

    `time` is as in `ratings`.
    """
    query_time = parse_time_after_last_events(rated, rated.state, time)
    state = advance_state_to_time(rated.system, rated.state, query_time, rated.system.params)
    rating = ratings(rated.system, state)
    values = jax.tree.map(np.asarray, rating)
    columns = ColumnTable(
        {
            "id": np.arange(len(rated.players)),
            "player": rated.players,
            "rating": values.mean,
            "deviation": values.deviation,
            "games": rated.games,
        }
    )
    excluded = {"variance", "time", *columns}
    leaves = {name: np.asarray(x) for name, x in leaves_by_name(state).items() if name not in excluded}
    columns |= {name: x for name, x in leaves.items() if x.ndim == 1 and "." not in name}
    if rated.categories is not None and has_modifiers(rated.system, state):
        mean, deviation = (np.asarray(x).T for x in modifiers(rated.system, state))
        for name, *values in zip(rated.categories, mean, deviation, strict=True):
            columns |= dict(zip((f"modifier {name}", f"deviation {name}"), values, strict=True))
    order = np.argsort(-columns["rating"], kind="stable")
    return {name: values[order] for name, values in columns.items()}


PRINTED_MATCHES = 20  # matches of a head to head, the latest, that are printed
RESULT_LETTERS = {1.0: "W", 0.5: "D", 0.0: "L"}


@dataclass(frozen=True, eq=False, repr=False)
class HeadToHead(PrintedResult):
    """Two players against each other. `print` says how it stands, and lists the latest matches, the last first."""

    player: Any
    opponent: Any
    won: int
    drawn: int
    lost: int
    expected: float  # score of the player, of so many matches
    matches: ColumnTable  # time, the player's score, its expectation, both ratings before
    max_printed_rows = PRINTED_MATCHES

    def columns(self) -> ColumnTable:
        """The matches, the last first."""
        return self.matches

    @property
    def summary(self) -> str:
        """How it stands between the two, in a line."""
        n = len(self.matches["score"])
        if not n:
            return f"{self.player} and {self.opponent} have not met"
        drawn = f"{self.drawn:,} drawn, " if self.drawn else ""
        record = f"{self.won:,} won, {drawn}{self.lost:,} lost; expected {self.expected:.1f} of {n:,}"
        return f"{self.player} against {self.opponent}: {record}"

    def summary_lines(self) -> list[str]:
        """How it stands between the two."""
        return [self.summary, ""]

    def closing_lines(self) -> list[str]:
        """How many matches are not shown."""
        num_hidden = len(self.matches["score"]) - PRINTED_MATCHES
        return [f"and {num_hidden:,} before"] if num_hidden > 0 else []

    def __repr__(self) -> str:
        return super().__repr__() if len(self.matches["score"]) else self.summary


@enforce_argument_annotations
def head_to_head(rated: History, player: Any, opponent: Any) -> HeadToHead:
    """All matches of two players, from the predictions of a rated history.

        print(jr.history.head_to_head(rated, "Green Bay Packers", "Chicago Bears"))

    What is neither a win nor a loss counts as drawn.

    Raises:
      ValueError: if there is no such player, if both are the same, or for contests.
    """
    one, other = (find_player_id(rated.players, x) for x in (player, opponent))
    check_that(one != other, "head to head takes two different players")
    rows = _participations_in_matches(rated, one)
    met = np.flatnonzero(rows.opponent == other)[::-1]
    columns = {"time": rated.time_column(rows.column("time")[met])}
    score, probability = (rows.column(name)[met] for name in ("score", "prediction"))
    ratings = {"rating": rows.before.mean[met], "opponents_rating": rows.column("rating", of_opponent=True)[met]}
    matches = ColumnTable(columns | {"score": score, "probability": probability} | ratings)
    won, lost = int((score == 1).sum()), int((score == 0).sum())
    names, drawn = rated.players, len(score) - won - lost
    return HeadToHead(names[one], names[other], won, drawn, lost, float(probability.sum()), matches)


@enforce_argument_annotations
def upsets(rated: History, *, player: Any = None, top: PositiveCount = 20) -> ColumnTable:
    """The least expected wins: time, winner, loser, the probability of the win, both ratings.

        print(jr.history.upsets(rated, top=5))
        print(jr.history.upsets(rated, player="Green Bay Packers"))  # of theirs

    Raises:
      ValueError: if there is no such player, `top` is below 1, or for contests.
    """
    wins = _winning_participations(rated, player)
    return _tabulate_wins(rated, wins, np.lexsort((wins.row, wins.column("prediction")))[:top])


@enforce_argument_annotations
def best_wins(rated: History, player: Any, *, top: PositiveCount = 20) -> ColumnTable:
    """A player's wins against the highest rated opponents, in columns like those of `upsets`.

        print(jr.history.best_wins(rated, "Ada", top=5))

    Raises:
      ValueError: as `upsets`.
    """
    wins = _winning_participations(rated, player)
    return _tabulate_wins(rated, wins, np.lexsort((wins.row, -wins.column("rating", of_opponent=True)))[:top])


def _winning_participations(rated: History, player: Any) -> Participations:
    """The participations of winners in matches that were won outright, or of this player."""
    rows = _participations_in_matches(rated, None if player is None else find_player_id(rated.players, player))
    return rows.select(np.flatnonzero(rows.column("score") == 1))


def _tabulate_wins(rated: History, wins: Participations, order: HostArray) -> ColumnTable:
    columns = {"time": rated.time_column(wins.column("time")[order])}
    sides = {"winner": wins.player, "loser": wins.opponent}
    columns |= {name: rated.players[np.asarray(ids)[order]] for name, ids in sides.items()}
    ratings = wins.before.mean, wins.column("rating", of_opponent=True), wins.column("prediction")
    names = "winners_rating", "losers_rating", "probability"
    return ColumnTable(columns | {name: x[order] for name, x in zip(names, ratings, strict=True)})


@enforce_argument_annotations
def recent_form(rated: History, players: Iterable[Any] | None = None, *, last: PositiveCount = 10) -> ColumnTable:
    """How players did in their last matches: results from the latest to the earliest, score, expected score, change.

        print(jr.history.recent_form(rated, ["Green Bay Packers", "Chicago Bears"], last=5))

    A result is W, D or L, or of other scores a number. `change` is of the rating, over these matches.

    Args:
      rated: as from `rate` or `load`, of matches.
      players: names or ids. None: the first 20 of the leaderboard.
      last: the number of matches of each player.

    Raises:
      ValueError: if there is no such player, `last` is below 1, or for contests.
    """
    rows = _participations_in_matches(rated)
    chosen = leaderboard(rated).player if players is None else [players] if isinstance(players, str) else players
    form = []
    for player in (find_player_id(rated.players, x) for x in chosen):
        begin, end = rows.start[player : player + 2]
        recent = rows.select(np.arange(max(begin, end - last), end))
        score, change = recent.column("score")[::-1], recent.after.mean - recent.before.mean
        letters = [RESULT_LETTERS.get(float(x), f"{x:g}") for x in score]
        results = ("" if all(len(x) == 1 for x in letters) else " ").join(letters)
        form.append(
            (rated.players[player], len(score), results, score.sum(), recent.column("prediction").sum(), change.sum())
        )
    heads = "player", "games", "result", "score", "expected_score", "change"
    return ColumnTable({head: np.array([row[i] for row in form]) for i, head in enumerate(heads)})


def _participations_in_matches(rated: History, player: int | None = None) -> Participations:
    """The participations of all or of one; ValueError unless they are of matches of two."""
    rated.check_has_events()
    if rated.hindsight is not None:
        raise ValueError("this is of ratings at the time, and the history is one with hindsight; take that of jr.rate")
    rated.check_of_matches("this")
    return rated.rows if player is None else rated.rows.of_player(player)


POINTS_FOR_TENFOLD = 400.0  # of an attack above a defence, for ten times as many goals


@enforce_argument_annotations
def attack_and_defence(rated: History, *, active: Any = None, min_games: int | None = None) -> ColumnTable:
    """A table of teams by rating: their attack and defence, and the goals or points for and against in the mean.

        print(jr.history.attack_and_defence(rated))

    Attack and defence are in points: half of strength plus pace, and half of strength less pace, above those of a
    newcomer. 400 points of an attack above the other's defence are ten times as many goals; of points of the
    score they are 400 / `margin_scale` more. Experience and form count
    half in both, sides and categories do not. `scored` and `conceded` are the mean of goals against a team that has the
    mean attack and defence of all listed, on neutral ground.

    Args:
      rated: as from `rate`, of skills that observe `goals` or `points`.
      active: who is listed by their last game, as in `jr.leaderboard`.
      min_games: who is listed by their number of games, as in `jr.leaderboard`.

    Raises:
      ValueError: for a system that does not learn from goals or points, or as `jr.leaderboard`.
    """
    system = unwrap_predictions(rated.system)
    model = find_smoothing_model(system)
    if model is None or not model.pace:
        raise ValueError(f"{system.name} knows no attack and no defence; take jr.skills(observe=jr.parts.goals(...))")
    listed = leaderboard(rated, top=len(rated.players), active=active, min_games=min_games)
    ids = lookup_ids("player", listed.player, rated.players)
    params: Any = system.params
    state: Any = advance_state_to_time(system, rated.state, None, params)
    rating = system.summary(params, state)
    strength, spread = (np.asarray(x, np.float64)[ids] for x in (rating.mean, rating.deviation))
    strength = strength - params.initial_rating
    (number,), rated_parts = indices_of_part(model, "pace"), indices_counted_in_rating(model)
    pace = np.asarray(state.mean, np.float64)[ids, number]
    covariance = np.asarray(state.covariance, np.float64)[ids]
    pace_variance, common = covariance[:, number, number], covariance[:, rated_parts, number].sum(axis=1)
    attack, defence = 0.5 * (strength + pace), 0.5 * (strength - pace)
    attack_deviation, defence_deviation = (
        0.5 * np.sqrt(np.maximum(spread**2 + pace_variance + sign * 2.0 * common, 0.0)) for sign in (1.0, -1.0)
    )
    leads = attack - defence.mean(), attack.mean() - defence
    if model.outcome == "points":
        scored, conceded = (params.point_rate + lead / params.margin_scale for lead in leads)
    else:
        scored, conceded = (params.goal_rate * 10.0 ** (lead / POINTS_FOR_TENFOLD) for lead in leads)
    points = {"attack": attack, "attack_deviation": attack_deviation}
    points |= {"defence": defence, "defence_deviation": defence_deviation}
    columns = {name: np.round(x, 1) for name, x in points.items()}
    columns |= {"scored": np.round(scored, 3), "conceded": np.round(conceded, 3)}
    return ColumnTable({"player": listed.player} | columns)
