"""Ratings that are kept up to date as results come in, one by one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from jaxrate.core.argument_checks import is_whole_number
from jaxrate.core.rules import Rating
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_count
from jaxrate.data.lookalike_names import similar_names_hint
from jaxrate.events import Matches, Rounds
from jaxrate.history.history import History, format_time
from jaxrate.live.compiled_event_programs import pack_event, pad_round_to_power_of_two
from jaxrate.live.event_packing import (
    LiveState,
    PackedEvent,
    build_contest,
    check_and_convert_event_time,
    check_and_pack_match,
    check_event_kind,
    check_number,
    contest_team_ranks,
    contest_to_build_contest_arguments,
    convert_event_time,
    find_or_assign_player_ids,
    match_context_to_arguments,
    required_match_columns,
    resolve_prediction_time,
    to_teams,
    warn_newcomers_like_players,
    warn_similar_newcomers,
)
from jaxrate.live.live_history import LiveHistory
from jaxrate.replay.checked_replay import check_system_takes_events


class Live:
    """Ratings that are updated in place: each result is predicted, then rated. `start_history` makes them.

    The numbers are those of one run over the same events. A method that raises an error changes nothing. Several
    threads may use it; they take turns.
    """

    def __init__(self, history: LiveHistory) -> None:
        self._history, self._requirements = history, required_match_columns(history.system)
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
        history = self._history

        def rate_match(current: LiveState) -> Any:
            check_event_kind(history.system, current, Matches)
            event, newcomers = self._build_next_match(current, a, b, score, time, context)
            if newcomers:
                warn_newcomers_like_players(newcomers, current, self._names_by_key, stacklevel=5)
            return history.rate_event(current, event, newcomers, time)

        return history.run_exclusively(rate_match)

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
        history = self._history

        def insert_in_order(current: LiveState) -> Any:
            check_event_kind(history.system, current, Matches)
            index = history.position_at_time(current, convert_event_time(current, time))
            earlier = history.truncate(current, index) if index < current.number else current
            event, newcomers = self._build_next_match(earlier, a, b, score, time, context)
            warn_newcomers_like_players(newcomers, current, self._names_by_key, stacklevel=5)
            if earlier is current:
                return history.rate_event(current, event, newcomers, time)
            return history.insert_match(current, index, event, newcomers)

        return history.run_exclusively(insert_in_order)

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
            warn_similar_newcomers(newcomers, current.names[: current.players], stacklevel=5)
            event_time, columns = resolve_prediction_time(history.system, current, time), context.get("columns")
            if self._requirements.results and isinstance(columns, Mapping | None):
                context["columns"] = dict.fromkeys(self._requirements.results, 0.0) | dict(columns or {})
            return history.predict_event(current, self._build_match(a, ids, 0.5, event_time, context), newcomers)

        return history.run_exclusively(predict_match)

    def _build_next_match(
        self, current: LiveState, a: Any, b: Any, score: float, time: Any, context: dict[str, Any]
    ) -> tuple[PackedEvent, list[Any]]:
        """The match that follows a history, checked and packed, and the names of newcomers."""
        ids, newcomers = find_or_assign_player_ids(current, (a, b))
        result = check_number("score", score, 0.0, 1.0)
        event_time = check_and_convert_event_time(self.system, current, time)
        return self._build_match(a, ids, result, event_time, context), newcomers

    def _build_match(self, a: Any, ids: list[int], score: float, time: float, context: dict[str, Any]) -> PackedEvent:
        return check_and_pack_match(self._requirements, a, ids, score, time, context, self._history.categories)

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
            event, newcomers, size = self._build_contest(current, players, rank, time, context)
            warn_newcomers_like_players(newcomers, current, self._names_by_key, stacklevel=5)
            return history.rate_event(current, event, newcomers, time, size)

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
            columns, results = context.get("columns"), self._requirements.results
            if results and isinstance(columns, Mapping | None):
                context["columns"] = dict.fromkeys(results, 0.0) | dict(columns or {})
            return history.predict_event(
                current, *self._build_contest(current, players, None, time, context, is_prediction=True)
            )

        return history.run_exclusively(predict_contest)

    def _build_contest(
        self,
        current: LiveState,
        players: Any,
        rank: Any,
        time: Any,
        context: Mapping[str, Any],
        is_prediction: bool = False,
    ) -> tuple[PackedEvent, list[Any], int]:
        """A contest, checked and packed; the names of newcomers; and the number of participants."""
        history = self._history
        event_time = (
            resolve_prediction_time(history.system, current, time)
            if is_prediction
            else check_and_convert_event_time(history.system, current, time)
        )
        teams = to_teams(players)
        ids, newcomers = find_or_assign_player_ids(current, [name for team in teams for name in team])
        if is_prediction:
            warn_similar_newcomers(newcomers, current.names[: current.players], stacklevel=6)
        sizes = [*map(len, teams)]
        contest = build_contest(
            ids,
            sizes,
            rank,
            event_time,
            context,
            history.categories,
            lambda i: [*current.names[: current.players], *newcomers][i],
        )
        check_system_takes_events(self.system, contest, history.key)
        return PackedEvent(Rounds, *pack_event(pad_round_to_power_of_two(contest))), newcomers, len(ids)

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
            self._history.undo(current, n)

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
            old = history.event_at(current, position := index % current.number)
            if old.kind is Matches:
                if rank is not None or (score is None and not context):
                    raise ValueError(
                        "a match has a score; give score=, side=, weight=, category= or columns=, and not rank="
                    )
                known_context = match_context_to_arguments(old.event, history.categories) | context
                result = old.floats[0] if score is None else check_number("score", score, 0.0, 1.0)
                event = self._build_match(
                    current.names[old.integers[0]], old.integers[:2], result, old.time, known_context
                )
            else:
                if score is not None or (rank is None and not context):
                    raise ValueError(
                        "a contest has ranks; give rank=, category=, columns=, weight=, ceiling= or noise="
                    )
                ids, sizes, event_time, known = contest_to_build_contest_arguments(old.event, history.categories)
                rank_of_teams = contest_team_ranks(old.event) if rank is None else rank
                contest = build_contest(
                    ids, sizes, rank_of_teams, event_time, known | context, history.categories,
                    lambda i: current.names[i],
                )  # fmt: skip
                check_system_takes_events(self.system, contest, history.key)
                event = PackedEvent(Rounds, *pack_event(pad_round_to_power_of_two(contest)))
            history.correct(current, position, event)

        history.run_exclusively(replace_result)

    # --- Results. ---

    @property
    def players(self) -> list[Any]:
        """The names of the players in order of id."""
        return list(self._history.run_exclusively(lambda current: current.names[: current.players]))

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
                "player": current.names[:count],
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
