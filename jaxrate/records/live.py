"""Ratings that are kept up to date as results come in, one by one."""

import json
import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxrate.events import Array, Matches, Ragged, Rounds
from jaxrate.records.careers import leaves
from jaxrate.records.contents import as_state
from jaxrate.records.ongoing import Ongoing
from jaxrate.records.rated import Rated, opened, show_time
from jaxrate.records.single import FORMS, as_teams, check_name, one_contest, one_match, within
from jaxrate.replay import online
from jaxrate.replay.rows import are_numbers, check_concrete
from jaxrate.replay.state import check_events
from jaxrate.system import Rating, RatingSystem, State, check_system, fits


class Live:
    """Ratings in place: each result is predicted, then learnt. `live` makes it, and says what its methods take.

    Its numbers are those of one run over the same events. Whatever raises an error has changed nothing. Several threads
    may use it at a time; they take turns.
    """

    def __init__(self, history: Ongoing) -> None:
        self._history, self._lock = history, threading.RLock()

    @property
    def system(self) -> RatingSystem:
        """The system that rates."""
        return self._history.system

    def __repr__(self) -> str:
        with self._lock:
            history = self._history
            last = "" if history.last is None else f", the last at {show_time(history.last, history.clock)}"
            return f"Live: {self.system!r}, {len(history.names):,} players, {history.number:,} new events{last}"

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
        with self._lock:
            self._history.check_kind(Matches)
            ids, new = self._history.find((a, b))
            score, when = within("score", score, 0.0, 1.0), self._history.moment(time)
            form, whole, real = self._match(a, ids, score, when, context)
            shown = self._history.learn(Matches, form, whole, real, new)
            self._history.log.player.extend(ids)
            self._history.log.told.extend((score, when))
            self._history.keep(Matches, shown, time, when, new)
            return self._history.guess(Matches, shown)

    def predict(self, a: Any, b: Any, *, time: Any = None, **context: Any) -> Any:
        """What `update` would return; nothing is learnt, and nobody joins. None as time: that of the last event.

        A margin, which is to come, is 0 in `columns`.

        Raises:
          ValueError: as `update`.
        """
        with self._lock:
            ids, new = self._history.find((a, b))
            form, whole, real = self._match(a, ids, 0.5, self._history.now(time), context)
            return self._history.foresee(Matches, form, whole, real, new)

    def _match(
        self, a: Any, ids: list[int], score: float, time: float, context: dict[str, Any]
    ) -> tuple[online.Form, list[int], list[float]]:
        """A match, checked and packed."""
        if ids[0] == ids[1]:
            raise ValueError(f"player {a!r} is on both sides")
        given = {name: x for name, x in context.items() if x is not None}
        side, weight = given.get("side"), given.get("weight")
        form, real = FORMS[side is not None, weight is not None], [score, time]
        if side is not None:
            real.append(within("side", side, -1.0, 1.0))
        if weight is not None:
            real.append(within("weight", weight, 0.0, np.inf, above=True))
        plain = len(given) == len(real) - 2
        if plain and self.system.check is fits:
            return form, ids, real
        event = one_match(ids, score, time, given, self._history.categories)
        self.system.check(event)
        return (form, ids, real) if plain else online.packed(jax.tree.map(lambda x: x[0], event))

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
        with self._lock:
            self._history.check_kind(Rounds)
            ids, new, contest = self._contest(players, rank, self._history.moment(time), weight, ceiling, noise)
            flat: Any = contest.events
            shown = self._history.learn(Rounds, *online.packed(online.padded(contest)), new)[: len(ids)]
            self._history.log.player.extend(ids)
            self._history.log.place.extend(np.stack([flat.rank, flat.team], axis=1).ravel().tolist())
            self._history.log.size.append(len(ids))
            self._history.log.told.append(flat.time[0])
            self._history.keep(Rounds, shown, time, float(flat.time[0]), new)
            return self._history.guess(Rounds, shown)

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
        with self._lock:
            ids, new, contest = self._contest(players, None, self._history.now(time), weight, ceiling, noise)
            found = self._history.foresee(Rounds, *online.packed(online.padded(contest)), new)
            return jax.tree.map(lambda x: x[: len(ids)], found)

    def _contest(self, players: Any, rank: Any, time: float, *more: Any) -> tuple[list[int], list[Any], Ragged]:
        """Ids and newcomers, and the contest, checked."""
        teams = as_teams(players)
        ids, new = self._history.find([name for team in teams for name in team])
        contest = one_contest(ids, [*map(len, teams)], rank, time, more, lambda i: [*self._history.names, *new][i])
        check_events(self.system, contest, self._history.key)
        return ids, new, contest

    # --- What is known. ---

    @property
    def players(self) -> list[Any]:
        """The names of the players in order of id."""
        with self._lock:
            return list(self._history.names)

    def rating(self, player: Any, *, time: Any = None) -> Rating:
        """A player's rating and deviation, as their last event left them, or as of a time, not before the last event.

        Raises:
          ValueError: if there is no such player, or for such a time.
        """
        with self._lock:
            ids, new = self._history.find((player,))
            if new:
                raise ValueError(f"no player {player!r}")
            mean, deviation = self._history.ratings(ids, None if time is None else self._history.now(time))
            return Rating(float(mean[0]), None if deviation is None else float(deviation[0]))

    def to_json(self) -> str:
        """The ratings in JSON: `last`, the time of the last event, and lists of `player`, `rating` and `deviation`."""
        with self._lock:
            history, count = self._history, len(self._history.names)
            found, last = history.ratings(range(history.room), None), history.last
            told = {
                "system": self.system.name,
                "last": show_time(last, "dates") if last is not None and history.clock == "dates" else last,
                "player": history.names,
                "rating": found.mean[:count].tolist(),
            }
            more = {} if found.deviation is None else {"deviation": found.deviation[:count].tolist()}
            return json.dumps(told | more)

    def rated(self) -> Rated:
        """The history as `rate` would have returned it, to be saved, shown and carried on; it stays what it is.

        Raises:
          ValueError: if nothing has been rated.
        """
        with self._lock:
            return self._history.rated()


def live(
    rated: Rated | RatingSystem, players: Sequence[Any] | None = None, state: State = None, *, key: Array | None = None
) -> Live:
    """Ratings that learn each result as it comes, in some tens of microseconds a match.

        live = jr.live(jr.load("season"))  # or jr.live(jr.glicko())
        live.update("Ada", "Bo", 1.0, time="2026-06-01")
        live.predict("Bo", "Cy")
        jr.save("season", live.rated())

    The numbers are those of `run` over the same events: to the last bit on a CPU for matches of Elo, Glicko and
    Glicko-2, otherwise to rounding. The first event of each form is compiled, as is the first after the room for
    players has doubled. Every prediction is kept for `rated`, in about 100 bytes a match. Seasons are those that the
    system knows; no others begin.

    Args:
      rated: a rated history to carry on, or a system: of matches, of contests, or of both, as TrueSkill.
      players: of a system: the names of players, all text or all numbers. Others join when they first play.
      state: of a system: the state of these players, as `run` or `start` made it. None: all are newcomers.
      key: a PRNG key for systems that draw random numbers, as of `run`. None: one that follows from how much was rated
        before, as of `rate`.

    Raises:
      ValueError: for a system of rating periods alone, a history in periods, names that repeat or that a table cannot
        hold together, or a state of other players or another system.
    """
    base = rated if isinstance(rated, Rated) else None
    if base is not None and players is not None:
        raise ValueError("a rated history has players of its own")
    system, state, players = opened(rated, state, players)
    check_system(system)
    check_concrete("live ratings are kept", (state, key), "; jr.scan goes on from a traced state")
    if not {Matches, Rounds} & {*system.events} or (base is not None and base.period is not None):
        raise ValueError(
            f"live ratings are of matches and contests; rate the periods of {system.name} by jr.rate(..., onto=...)"
        )
    if are_numbers(key):
        raise ValueError("key must be a PRNG key, such as jax.random.key(0)")
    names = np.asarray([] if players is None else players, object).tolist()
    for name in names:
        check_name(name, names[:1])
    if len(set(names)) < len(names):
        raise ValueError("players names somebody twice")
    if state is not None:
        state = as_state(system, len(names), {name: np.asarray(x) for name, x in leaves(state).items()})
    if system.rules.draw is not None and key is None:
        key = jax.random.fold_in(jax.random.key(0), 0 if base is None else len(base.predictions))
    return Live(Ongoing(system, state, names, base, key))
