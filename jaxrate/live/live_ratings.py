"""Ratings that are kept up to date as results come in, one by one; they begin at a system or at a rated history."""

import json
from collections.abc import Sequence
from typing import Any, cast

import jax
import numpy as np

from jaxrate.core.argument_checks import Key, check_concrete, enforce_argument_annotations, is_whole_number
from jaxrate.core.rules import Rating, State
from jaxrate.core.system import RatingSystem, random_draw_rule
from jaxrate.core.text_format import format_count
from jaxrate.data.lookalike_names import similar_names_hint
from jaxrate.events import Matches, Rounds, is_date
from jaxrate.history.history import History, format_time, resolve_system_state_and_players
from jaxrate.live.event_checks import (
    LiveEvent,
    LiveState,
    check_event_kind,
    check_player_names,
    check_time_order,
    convert_event_time,
    find_or_assign_player_ids,
    make_contest,
    make_match,
    number_categories,
    resolve_prediction_time,
    time_of_next_event,
    to_teams,
    warn_newcomers_like_players,
    warn_similar_newcomers,
    with_results_to_come,
)
from jaxrate.live.live_history import LiveHistory, position_at_time, read_event
from jaxrate.replay.padded_states_and_columns import leaves_by_name
from jaxrate.replay.scan_programs import is_random_numbers
from jaxrate.storage.npz_tables import restore_state


class Live:
    """Ratings that are updated in place: each result is predicted, then rated. `start_history` makes them.

    The numbers are those of one run over the same events. A method that raises an error changes nothing. Several
    threads may use it; they take turns.
    """

    def __init__(self, history: LiveHistory) -> None:
        self._history = history
        self._names_by_key: dict[str, str] = {}  # for `warn_newcomers_like_players`

    @property
    def system(self) -> RatingSystem:
        """The system that rates."""
        return self._history.system

    def __repr__(self) -> str:
        def describe(current: LiveState) -> str:
            last = "" if current.last is None else f", the last at {format_time(current.last, current.clock)}"
            counts = f"{format_count(current.players, 'player')}, {format_count(current.number, 'new event')}"
            return f"Live: {self.system!r}, {counts}{last}"

        return str(self._history.run_exclusively(describe))

    # --- Matches. ---

    def update(self, a: Any, b: Any, score: float, *, time: Any = None, **context: Any) -> Any:
        """Rate a match of two players; newcomers join.

        Args:
          a, b: names.
          score: score of `a` in [0, 1]; a draw is 0.5.
          time: a number or a date, not before the last event. None: the history has no times.
          context: `side`, `weight`, `category` and `columns`, as for one match in `jr.matches`; also side="a" or "b",
            and categories by name if the history has names for them.

        Returns:
          The prediction before the match: the expected score of `a`, or another prediction of the system.

        Raises:
          ValueError: for the same player twice, an invalid name, a score outside [0, 1], a time before the last event,
            a date where times are numbers, and all that `jr.matches` and the system refuse. Nothing has changed then.

        Warns:
          UserWarning: of a newcomer whose name differs from a player's only by blanks, letter case or accents.
        """
        return self._rate_match(a, b, score, time, context, is_late=False)

    def insert(self, a: Any, b: Any, score: float, *, time: Any, **context: Any) -> Any:
        """Rate a match where it belongs in time, behind the matches that are not later, and rate the later ones again.

            live.insert("Ada", "Bo", 1.0, time="2026-05-30")

        The ratings, and the predictions of `to_rated`, equal to the bit those of a history in this order. A match that
        is not late takes as long as by `update`. A late one takes as long as the later ones together, or as those since
        an earlier checkpoint.

        Args:
          a, b, score, context: as for `update`.
          time: a number or a date, not before the last event that was rated before `start_history`.

        Returns:
          The prediction, from what was known before its time.

        Raises:
          ValueError: as `update`, but for times.

        Warns:
          UserWarning: as `update`.
        """
        return self._rate_match(a, b, score, time, context, is_late=True)

    def _rate_match(self, a: Any, b: Any, score: float, time: Any, context: dict[str, Any], is_late: bool) -> Any:
        """The prediction of a match, which is rated behind all others, or where it belongs in time."""
        history = self._history

        def rate_match(current: LiveState) -> Any:
            check_event_kind(history.system, current, Matches)
            ids, newcomers = find_or_assign_player_ids(current, (a, b))
            event_time = convert_event_time(current, time)
            check_time_order(history.system, current, event_time, (history.initial if is_late else current).last)
            event = self._match(a, ids, score, event_time, context)
            if newcomers:
                warn_newcomers_like_players(newcomers, current, self._names_by_key, stacklevel=6)
            position = position_at_time(current, event_time) if is_late else current.number
            if position == current.number:
                return history.append_event(current, event, newcomers, _clock_of(time))
            later = map(read_event, current.log[position : current.number])
            return history.replace_events(current, position, [event, *later], newcomers)[0]

        return history.run_exclusively(rate_match)

    def predict(self, a: Any, b: Any, *, time: Any = None, **context: Any) -> Any:
        """The prediction that `update` would return, without rating. None as time: the time of the last event.

        Margins and statistics are not needed: they are not known before a match. Somebody who has not played is
        predicted as a newcomer.

        Raises:
          ValueError: as `update`.

        Warns:
          UserWarning: of somebody who has not played, but whose name looks like one of a player.
        """
        history = self._history

        def predict_match(current: LiveState) -> Any:
            ids, newcomers = find_or_assign_player_ids(current, (a, b))
            warn_similar_newcomers(newcomers, current, stacklevel=5)
            event_time = resolve_prediction_time(history.system, current, time)
            event = self._match(a, ids, 0.5, event_time, with_results_to_come(self._history.requirements, context))
            return history.predict_event(current, event, newcomers)

        return history.run_exclusively(predict_match)

    def _match(self, first_name: Any, ids: list[int], score: Any, time: float, context: dict[str, Any]) -> LiveEvent:
        """A match of two players."""
        if ids[0] == ids[1]:
            raise ValueError(f"player {first_name!r} is on both sides")
        return make_match(ids, score, time, number_categories(context, self._history.categories))

    # --- Contests. ---

    def update_round(self, players: Sequence[Any], rank: Any = None, *, time: Any = None, **context: Any) -> Any:
        """Rate a contest of any number of players or teams; newcomers join.

            live.update_round(["Ada", "Bo", "Cy"], time="2026-05-31")
            live.update_round([["Ada", "Bo"], ["Cy", "Di"]], rank=[1, 1])
            live.update_round([["Ada", "Bo"], ["Cy", "Di"]], category="duo", columns={"kills": [3, 0, -1, -2]})

        Args:
          players: names; a list of names in place of one is a team.
          rank: [players or teams] lower is better, equal is a tie. None: in the order of `players`, without ties.
          time: as for `update`.
          context: `weight`, `category` and `columns` (by name), each a value for all or one for every player in
            order, and `ceiling` and `noise`; as for `jr.rounds`, categories by name if the history has names for them.

        Returns:
          The prediction before the contest, for every player in order: the share of the others whom they are expected
          to beat, or another prediction of the system.

        Raises:
          ValueError: as `update`, and as `jr.rounds` does, with the player's place in the list as the row.
        """
        history = self._history

        def rate_contest(current: LiveState) -> Any:
            check_event_kind(history.system, current, Rounds)
            event_time = time_of_next_event(history.system, current, time)
            event, newcomers = self._contest(current, players, rank, event_time, context)
            warn_newcomers_like_players(newcomers, current, self._names_by_key, stacklevel=5)
            return history.append_event(current, event, newcomers, _clock_of(time))

        return history.run_exclusively(rate_contest)

    def predict_round(self, players: Sequence[Any], *, time: Any = None, **context: Any) -> Any:
        """The prediction that `update_round` would return, without rating. None as time: that of the last event.

        Margins, statistics and quits are not needed.

        Raises:
          ValueError: as `update_round`.

        Warns:
          UserWarning: as `predict`.
        """
        history = self._history

        def predict_contest(current: LiveState) -> Any:
            event_time = resolve_prediction_time(history.system, current, time)
            event, newcomers = self._contest(
                current, players, None, event_time, with_results_to_come(self._history.requirements, context)
            )
            warn_similar_newcomers(newcomers, current, stacklevel=5)
            return history.predict_event(current, event, newcomers)

        return history.run_exclusively(predict_contest)

    def _contest(
        self, current: LiveState, players: Any, rank: Any, time: float, context: dict[str, Any]
    ) -> tuple[LiveEvent, list[Any]]:
        """A contest, and the names of newcomers."""
        teams = to_teams(players)
        ids, newcomers = find_or_assign_player_ids(current, [name for team in teams for name in team])
        context = number_categories(context, self._history.categories)
        return make_contest(ids, [*map(len, teams)], rank, time, context), newcomers

    # --- Corrections. ---

    def undo(self, n: int = 1) -> None:
        """Remove the last results, and newcomers who first played in them.

            live.undo()

        The ratings equal to the bit those of a history without these results: the other events are rated again from the
        last checkpoint.

        Args:
          n: number of results, matches or contests, of those that were rated live since `start_history`.

        Raises:
          ValueError: if fewer results were rated live.
        """

        def undo_results(current: LiveState) -> None:
            if not current.number and n:
                raise ValueError("nothing to undo: no result since start_history")
            if not is_whole_number(n) or not 0 <= n <= current.number:
                raise ValueError(
                    f"n must be a whole number from 0 to {current.number}, the results rated live, got {n!r}"
                )
            self._history.replace_events(current, current.number - n)

        self._history.run_exclusively(undo_results)

    def correct(self, index: int, score: float | None = None, *, rank: Any = None, **context: Any) -> None:
        """Replace a result by another, and rate all later events again.

            live.correct(-1, score=0.5)
            live.correct(-1, rank=[2, 1, 3])

        The ratings, and the predictions of `to_rated`, equal to the bit those of a history with that result from the
        start. Players and time stay; if those were wrong, use `undo`.

        Args:
          index: index of the match or contest among those that were rated live, from 0; -1 is the last.
          score: new score of a match, as in `update`. None: unchanged.
          rank: new ranks of a contest, as in `update_round`.
          context: new `side`, `weight`, `category` or `columns` of a match, as in `update`, or of a contest, as in
            `update_round`.

        Raises:
          ValueError: if there is no such result, and as for `update` and `update_round`. Nothing has changed then.
        """
        history = self._history

        def replace_result(current: LiveState) -> None:
            if not current.number:
                raise ValueError("nothing to correct: no result since start_history")
            if not is_whole_number(index) or not -current.number <= index < current.number:
                rule = "results were rated live, counted from 0; -1 is the last"
                raise ValueError(f"no result {index!r}: {current.number} {rule}")
            old, *later = map(read_event, current.log[index % current.number : current.number])
            event = self._replaced_result(old, score, rank, context)
            history.replace_events(current, index % current.number, [event, *later])

        history.run_exclusively(replace_result)

    def _replaced_result(self, old: LiveEvent, score: Any, rank: Any, context: dict[str, Any]) -> LiveEvent:
        """An event with another result or context."""
        known, is_match = old.context | number_categories(context, self._history.categories), old.kind is Matches
        given, other = (score, rank) if is_match else (rank, score)
        if other is not None or (given is None and not context):
            fields = "a match has a score; give score=, side=, weight=, category= or columns=, and not rank="
            if not is_match:
                fields = "a contest has ranks; give rank=, category=, columns=, weight=, ceiling= or noise="
            raise ValueError(fields)
        result = old.result if given is None else given
        if is_match:
            return make_match(old.ids, result, old.time, known)
        return make_contest(old.ids, old.sizes, result, old.time, known)

    # --- Results. ---

    @property
    def players(self) -> list[Any]:
        """The names of the players in order of id."""
        return list(self._history.run_exclusively(lambda current: current.names))

    def rating(self, player: Any, *, time: Any = None) -> Rating:
        """A player's rating and deviation after their last event, or at a time that is not before the last event.

        Raises:
          ValueError: if there is no such player, or for a time before the last event.
        """
        history = self._history

        def read_rating(current: LiveState) -> Rating:
            ids, newcomers = find_or_assign_player_ids(current, (player,))
            if newcomers:
                raise ValueError(f"no player {player!r}{similar_names_hint(player, current.names)}")
            mean, deviation = history.player_ratings(
                current, ids, None if time is None else resolve_prediction_time(history.system, current, time)
            )
            return Rating(float(mean[0]), None if deviation is None else float(deviation[0]))

        return cast("Rating", history.run_exclusively(read_rating))

    def to_json(self) -> str:
        """The ratings in JSON: `last`, the time of the last event, and lists of `player`, `rating` and `deviation`."""

        def ratings_table(current: LiveState) -> dict[str, Any]:
            summary = self._history.player_ratings(current, range(current.capacity), None)
            last, count = current.last, current.players
            table = {
                "system": self.system.name,
                "last": format_time(last, "dates") if last is not None and current.clock == "dates" else last,
                "player": current.names,
                "rating": summary.mean[:count].tolist(),
            }
            deviations = {} if summary.deviation is None else {"deviation": summary.deviation[:count].tolist()}
            return table | deviations

        return json.dumps(self._history.run_exclusively(ratings_table))

    def to_rated(self) -> History:
        """The history so far as `rate` would have returned it. Later updates do not change it.

        Raises:
          ValueError: if nothing has been rated.
        """
        result: History = self._history.run_exclusively(self._history.to_rated)
        return result


def _clock_of(time: Any) -> str | None:
    """The clock that a time belongs to."""
    return None if time is None else "dates" if is_date(time) else "numbers"


@enforce_argument_annotations
def start_history(
    rated: History | RatingSystem,
    players: Sequence[Any] | None = None,
    state: State = None,
    *,
    key: Key | None = None,
) -> Live:
    """Live ratings, which take one result at a time, in some tens of microseconds a match.

        live = jr.live.start_history(jr.load("season"))  # or jr.live.start_history(jr.glicko())
        live.update("Ada", "Bo", 1.0, time="2026-06-01")
        live.predict("Bo", "Cy")
        jr.save("season", live)

    The numbers are those of `run` over the same events: to the last bit on a CPU for matches of Elo, Glicko and
    Glicko-2, otherwise to rounding. A program is compiled for the first event of each kind, and again whenever the
    number of rows for players has doubled. Every result is kept, in about 100 bytes a match; `to_rated` replays them,
    millions in a second. Seasons are those in the system's settings; no others begin.

    Args:
      rated: a rated history to continue, as from `rate` or `load`; or a system of matches, of contests or
        of both.
      players: with a system, the names of players, all text or all numbers. Others join when they first play.
      state: with a system, the state of these players, as from `run` or `initial_state`. None: all are newcomers.
      key: a PRNG key for systems that draw random numbers, as for `run`. None: a key that depends on the number of
        events before, as for `rate`.

    Raises:
      ValueError: for a system of rating periods only, a history in periods, names that repeat or that one table cannot
        hold, or a state of other players or of another system.
    """
    base = rated if isinstance(rated, History) else None
    if base is not None and players is not None:
        raise ValueError("a rated history has players of its own")
    system, state, players = resolve_system_state_and_players(rated, state, players, needs_state=False)
    check_concrete("live ratings are kept", (state, key), "; jr.scan goes on from a traced state")
    if not {Matches, Rounds} & {*system.events} or (base is not None and base.period is not None):
        raise ValueError(
            f"live ratings are of matches and contests; rate the periods of {system.name} by jr.rate(..., onto=...)"
        )
    if is_random_numbers(key):
        raise ValueError("key must be a PRNG key, such as jax.random.key(0)")
    names = check_player_names(players)
    if state is not None:
        state = restore_state(system, len(names), {name: np.asarray(x) for name, x in leaves_by_name(state).items()})
    return Live(LiveHistory(system, state, names, base, _default_key(system, base) if key is None else key))


def _default_key(system: RatingSystem, base: History | None) -> Key | None:
    """The key of a system that draws random numbers, which depends on the number of events before."""
    if random_draw_rule(system.rules) is None:
        return None
    return jax.random.fold_in(jax.random.key(0), 0 if base is None else base.num_rows)
