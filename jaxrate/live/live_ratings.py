"""Ratings that are kept up to date as results come in, one by one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import jax
import numpy as np

from jaxrate.argument_checks import Key, check_arguments, check_concrete, is_whole
from jaxrate.events import Matches, Rounds
from jaxrate.league.out_of_core.parquet_rating import RatedFiles
from jaxrate.league.out_of_core.stored_file_runs import rated_from_files
from jaxrate.league.rated_history import Rated, count_rows, format_time, unpack_rated
from jaxrate.live.event_log import PackedEvent
from jaxrate.live.event_programs import pack_event, pad_round
from jaxrate.live.live_history import LiveHistory
from jaxrate.live.live_matches import needs_of, pack_match
from jaxrate.live.live_state import LiveState
from jaxrate.live.single_events import (
    as_teams,
    build_contest,
    check_names,
    check_number,
    contest_arguments,
    match_context,
)
from jaxrate.replay.checked_replay import check_events
from jaxrate.replay.padded_arrays import leaves_by_name
from jaxrate.replay.scan_programs import is_random_numbers
from jaxrate.storage.run_validation import restore_state
from jaxrate.system import Rating, RatingSystem, State, check_system


class Live:
    """Ratings in place: each result is predicted, then learnt. `live` makes it, and says what its methods take.

    Its numbers are those of one run over the same events. Whatever raises an error has changed nothing. Several threads
    may use it at a time; they take turns.
    """

    def __init__(self, history: LiveHistory) -> None:
        self._history, self._needs = history, needs_of(history.system)

    @property
    def system(self) -> RatingSystem:
        """The system that rates."""
        return self._history.system

    def __repr__(self) -> str:
        def tell(now: LiveState) -> str:
            last = "" if now.last is None else f", the last at {format_time(now.last, now.clock)}"
            return f"Live: {self.system!r}, {now.players:,} players, {now.number:,} new events{last}"

        return str(self._history.run_exclusively(tell))

    # --- Matches. ---

    def update(self, a: Any, b: Any, score: float, *, time: Any = None, **context: Any) -> Any:
        """Rate a match of two players; newcomers join.

        Args:
          a, b: names.
          score: of `a` in [0, 1]; a draw is 0.5.
          time: a number or a date, not before the last event. None: there are no times at all.
          context: what else is known: `side`, `weight`, `category` and `columns`, as of one match in `jr.matches`;
            categories by name if the history has names for them.

        Returns:
          What was expected before: the expected score of `a`, or what else the system predicts.

        Raises:
          ValueError: for the same player twice, what is no name, a score outside [0, 1], a time before the last event,
            a date where times are numbers, and whatever `jr.matches` and the system refuse. Nothing has changed then.
        """
        history = self._history

        def learn(now: LiveState) -> Any:
            history.check_kind(now, Matches)
            ids, new = history.find(now, (a, b))
            result, when = check_number("score", score, 0.0, 1.0), history.check_event_time(now, time)
            return history.learn(now, self._build_match(a, ids, result, when, context), new, time)

        return history.run_exclusively(learn)

    def predict(self, a: Any, b: Any, *, time: Any = None, **context: Any) -> Any:
        """What `update` would return; nothing is learnt, and nobody joins. None as time: that of the last event.

        A margin is not asked for: it is to come.

        Raises:
          ValueError: as `update`.
        """
        history = self._history

        def foresee(now: LiveState) -> Any:
            ids, new = history.find(now, (a, b))
            when, columns = history.check_prediction_time(now, time), context.get("columns")
            if self._needs.margins and isinstance(columns, Mapping | None):
                context["columns"] = dict.fromkeys(self._needs.margins, 0.0) | dict(columns or {})
            return history.predict_event(now, self._build_match(a, ids, 0.5, when, context), new)

        return history.run_exclusively(foresee)

    def _build_match(self, a: Any, ids: list[int], score: float, time: float, context: dict[str, Any]) -> PackedEvent:
        return pack_match(self._needs, a, ids, score, time, context, self._history.categories)

    # --- Contests. ---

    def update_round(
        self,
        players: Sequence[Any],
        rank: Any = None,
        *,
        time: Any = None,
        weight: Any = None,
        ceiling: float | None = None,
        noise: float | None = None,
    ) -> Any:
        """Rate a contest of any number of players or teams; newcomers join.

            live.update_round(["Ada", "Bo", "Cy"], time="2026-05-31")
            live.update_round([["Ada", "Bo"], ["Cy", "Di"]], rank=[1, 1])

        Args:
          players: names; a list of names in place of one is a team.
          rank: [players or teams] lower is better, equal is a tie. None: they stand in their order, and nobody ties.
          time: as of `update`.
          weight: a number, or one for every player in order; as of `jr.rounds`.
          ceiling, noise: as of `jr.rounds`.

        Returns:
          What was expected before, of every player in order: the share of the others to be left behind, or what else
          the system predicts.

        Raises:
          ValueError: as `update`, and as `jr.rounds` does, with the player's place in the list as the row.
        """
        history = self._history

        def learn(now: LiveState) -> Any:
            history.check_kind(now, Rounds)
            event, new, size = self._build_contest(now, players, rank, time, (weight, ceiling, noise))
            return history.learn(now, event, new, time, size)

        return history.run_exclusively(learn)

    def predict_round(
        self,
        players: Sequence[Any],
        *,
        time: Any = None,
        weight: Any = None,
        ceiling: float | None = None,
        noise: float | None = None,
    ) -> Any:
        """What `update_round` would return; nothing is learnt, and nobody joins. None as time: that of the last event.

        Raises:
          ValueError: as `update_round`.
        """
        history = self._history

        def foresee(now: LiveState) -> Any:
            return history.predict_event(
                now, *self._build_contest(now, players, None, time, (weight, ceiling, noise), is_prediction=True)
            )

        return history.run_exclusively(foresee)

    def _build_contest(
        self,
        now: LiveState,
        players: Any,
        rank: Any,
        time: Any,
        weight_ceiling_noise: Sequence[Any],
        is_prediction: bool = False,
    ) -> tuple[PackedEvent, list[Any], int]:
        """A contest, checked and packed; the names of newcomers; and how many take part."""
        history = self._history
        when = history.check_prediction_time(now, time) if is_prediction else history.check_event_time(now, time)
        teams = as_teams(players)
        ids, new = history.find(now, [name for team in teams for name in team])
        sizes = [*map(len, teams)]
        contest = build_contest(
            ids, sizes, rank, when, weight_ceiling_noise, lambda i: [*now.names[: now.players], *new][i]
        )
        check_events(self.system, contest, history.key)
        return PackedEvent(Rounds, *pack_event(pad_round(contest))), new, len(ids)

    # --- What was wrong. ---

    def undo(self, n: int = 1) -> None:
        """Forget the last results; newcomers who first played in them go with them.

            live.undo()

        The ratings are to the bit those of a history without them: what is left is rated again, from the last of the
        states that are kept in between.

        Args:
          n: how many results, matches or contests, of those that were rated live.

        Raises:
          ValueError: if fewer were rated since `live` began.
        """

        def undo(now: LiveState) -> None:
            if not is_whole(n) or not 0 <= n <= now.number:
                raise ValueError(f"n must be a whole number from 0 to {now.number}, the results rated live, got {n!r}")
            self._history.undo(now, n)

        self._history.run_exclusively(undo)

    def correct(self, index: int, score: float | None = None, *, rank: Any = None, **context: Any) -> None:
        """Put another result in place of one, and rate all that follow again.

            live.correct(-1, score=0.5)
            live.correct(-1, rank=[2, 1, 3])

        The ratings, and the predictions in `rated`, are to the bit those of a history with that result from the start.
        Players and time stay; where those were wrong, `undo` it.

        Args:
          index: of the match or contest among those that were rated live, from 0; -1 is the last, -2 the one before.
          score: of a match, as in `update`. None: as it was.
          rank: of a contest, as in `update_round`.
          context: what else was wrong of a match: `side`, `weight`, `category` or `columns`, as in `update`.

        Raises:
          ValueError: if there is no such result, or as `update` and `update_round`. Nothing has changed then.
        """
        history = self._history

        def correct(now: LiveState) -> None:
            if not is_whole(index) or not -now.number <= index < now.number:
                rule = "results were rated live, counted from 0; -1 is the last"
                raise ValueError(f"no result {index!r}: {now.number} {rule}")
            old = history.event(now, place := index % now.number)
            if old.kind is Matches:
                if rank is not None or (score is None and not context):
                    raise ValueError("a match has a score; give score=, or what else was wrong, and not rank=")
                told = match_context(old.tree, history.categories) | context
                result = old.real[0] if score is None else check_number("score", score, 0.0, 1.0)
                event = self._build_match(now.names[old.whole[0]], old.whole[:2], result, old.time, told)
            else:
                if score is not None or context or rank is None:
                    raise ValueError("a contest has ranks; give rank=, and nothing else")
                ids, sizes, when, more = contest_arguments(old.tree)
                contest = build_contest(ids, sizes, rank, when, more, lambda i: now.names[i])
                check_events(self.system, contest, history.key)
                event = PackedEvent(Rounds, *pack_event(pad_round(contest)))
            history.correct(now, place, event)

        history.run_exclusively(correct)

    # --- What is known. ---

    @property
    def players(self) -> list[Any]:
        """The names of the players in order of id."""
        return list(self._history.run_exclusively(lambda now: now.names[: now.players]))

    def rating(self, player: Any, *, time: Any = None) -> Rating:
        """A player's rating and deviation, as their last event left them, or as of a time, not before the last event.

        Raises:
          ValueError: if there is no such player, or for such a time.
        """
        history = self._history

        def look(now: LiveState) -> Rating:
            ids, new = history.find(now, (player,))
            if new:
                raise ValueError(f"no player {player!r}")
            mean, deviation = history.ratings(
                now, ids, None if time is None else history.check_prediction_time(now, time)
            )
            return Rating(float(mean[0]), None if deviation is None else float(deviation[0]))

        return cast(Rating, history.run_exclusively(look))

    def to_json(self) -> str:
        """The ratings in JSON: `last`, the time of the last event, and lists of `player`, `rating` and `deviation`."""

        def tell(now: LiveState) -> dict[str, Any]:
            found, last, count = self._history.ratings(now, range(now.room), None), now.last, now.players
            told = {
                "system": self.system.name,
                "last": format_time(last, "dates") if last is not None and now.clock == "dates" else last,
                "player": now.names[:count],
                "rating": found.mean[:count].tolist(),
            }
            more = {} if found.deviation is None else {"deviation": found.deviation[:count].tolist()}
            return told | more

        return json.dumps(self._history.run_exclusively(tell))

    def rated(self) -> Rated:
        """The history as `rate` would have returned it, to be saved, shown and carried on; it stays what it is.

        Raises:
          ValueError: if nothing has been rated.
        """
        found: Rated = self._history.run_exclusively(self._history.rated)
        return found


@check_arguments
def start_history(
    rated: Rated | RatedFiles | RatingSystem,
    players: Sequence[Any] | None = None,
    state: State = None,
    *,
    key: Key | None = None,
) -> Live:
    """Ratings that learn each result as it comes, in some tens of microseconds a match.

        live = jr.live.start_history(jr.load("season"))  # or jr.live.start_history(jr.glicko())
        live.update("Ada", "Bo", 1.0, time="2026-06-01")
        live.predict("Bo", "Cy")
        jr.save("season", live)

    The numbers are those of `run` over the same events: to the last bit on a CPU for matches of Elo, Glicko and
    Glicko-2, otherwise to rounding. The first event of each form is compiled, as is the first after the room for
    players has doubled. Every prediction is kept for `rated`, in about 100 bytes a match. Seasons are those that the
    system knows; no others begin.

    Args:
      rated: a rated history to carry on, as from `rate`, `rate_files` or `load`; or a system of matches, of contests,
        or of both, as TrueSkill.
      players: of a system: the names of players, all text or all numbers. Others join when they first play.
      state: of a system: the state of these players, as `run` or `start` made it. None: all are newcomers.
      key: a PRNG key for systems that draw random numbers, as of `run`. None: one that follows from how much was rated
        before, as of `rate`.

    Raises:
      ValueError: for a system of rating periods alone, a history in periods, names that repeat or that a table cannot
        hold together, or a state of other players or another system.
    """
    base: Any = (
        rated_from_files(rated) if isinstance(rated, RatedFiles) else rated if isinstance(rated, Rated) else None
    )
    if base is not None and players is not None:
        raise ValueError("a rated history has players of its own")
    system, state, players = unpack_rated(rated if base is None else base, state, players, needs_state=False)
    check_system(system)
    check_concrete("live ratings are kept", (state, key), "; jr.scan goes on from a traced state")
    if not {Matches, Rounds} & {*system.events} or (base is not None and base.period is not None):
        raise ValueError(
            f"live ratings are of matches and contests; rate the periods of {system.name} by jr.rate(..., onto=...)"
        )
    if is_random_numbers(key):
        raise ValueError("key must be a PRNG key, such as jax.random.key(0)")
    names = check_names(players)
    if state is not None:
        state = restore_state(system, len(names), {name: np.asarray(x) for name, x in leaves_by_name(state).items()})
    if system.rules.draw is not None and key is None:
        key = jax.random.fold_in(jax.random.key(0), 0 if base is None else count_rows(base))
    return Live(LiveHistory(system, state, names, base, key))
