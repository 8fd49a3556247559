"""Tournament simulation: groups and a knockout played many times, with strengths drawn once each time.

Strengths and probabilities are those of `season_simulation`. Of skills that learn from goals, goals are drawn.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import MAX_SAMPLES, FilePath, Key, check_count, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.forecasts.scorelines import predicts_goals
from jaxrate.forecasts.season_simulation import (
    GOAL_TIE_BREAKS,
    TIE_BREAKS,
    SimulationMatches,
    Standings,
    build_simulation_matches,
    check_tie_breaks,
    rank_by_points,
)
from jaxrate.forecasts.series_and_knockout_brackets import CHUNK_NUMBERS, play_knockout, sum_over_samples
from jaxrate.forecasts.upcoming_events import FixtureOptions, read_upcoming_events
from jaxrate.history.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.history.history import History
from jaxrate.replay.execution import jit_for_short_runs

PLAN_KEYS = "groups", "rounds", "points", "ties", "best", "knockout"
ROUND_NAMES = {1: "win", 2: "final", 4: "semi_final", 8: "quarter_final"}


class TournamentForecast(NamedTuple):
    """Probabilities of places in groups and of rounds reached. `print` shows a table, the likeliest winners first."""

    player: HostArray  # [N]
    group: HostArray | None  # [N] their groups; None if there are none
    place: HostArray | None  # [N, P] the probability of each place in the group
    reach: HostArray  # [N, R + 1] to be in the knock-out, and to win its first 1, 2, ..., R rounds
    samples: int

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table: the chances to win the group, to reach each round, and to win."""
        columns: dict[str, Any] = {"player": self.player}
        if self.group is not None and self.place is not None:
            columns |= {"group": self.group, "win_group": self.place[:, 0]}
        rounds = self.reach.shape[1] - 1
        for r in range(rounds + 1):
            num_left = 1 << (rounds - r)
            name = ROUND_NAMES.get(num_left, f"last_{num_left}")
            if r or self.group is not None:
                columns[name] = self.reach[:, r]
        return ColumnTable(columns)

    def __str__(self) -> str:
        return f"{self.columns()}\n{self.samples:,} tournaments"

    def _repr_html_(self) -> str:
        return f"{self.columns()._repr_html_()}<p>{self.samples:,} tournaments</p>"


class _TournamentRules(NamedTuple):
    """What of a plan is fixed when its simulation is compiled."""

    group_sizes: tuple[int, ...]
    rounds: int
    points: tuple[float, ...]
    ties: tuple[str, ...]
    best: tuple[int, int]  # the place in a group, and how many of these go on
    slots: tuple[int, ...]  # of the knock-out: indices into places of groups, the best, players, and a bye


@enforce_argument_annotations
def simulate_tournament(
    rated: History,
    plan: Mapping[str, Any] | FilePath,
    *,
    samples: int = 10_000,
    time: Any = None,
    key: Key | None = None,
    newcomers: bool = False,
) -> TournamentForecast:
    """How a tournament may end: groups, if there are some, and a knock-out, played many times.

        plan = {"groups": {"A": ["Ada", "Bo", "Cy"], "B": ["Di", "Eve", "Flo"]}, "knockout": ["A1", "B2", "B1", "A2"]}
        jr.forecasts.simulate_tournament(rated, plan)

    In each simulated tournament everybody has a strength drawn from their rating and its deviation, and keeps it in all
    matches. Nobody has the side. A drawn knock-out match is won by either side with probability one half. With skills
    that learn from goals, each match has a score, and teams have a pace as well.

    Args:
      rated: as from `rate` or `load`, of matches.
      plan: the tournament, or a TOML file that holds it. "groups": lists of players by the groups' names; in each of
        them everybody meets everybody else "rounds" times (1). "points" for a win, a draw and a loss ([3, 1, 0]) and
        "ties" are as in `simulate_season`. "knockout": who meets whom, from top to bottom, two, four, eight, ...: "A1"
        is the winner of group A, other names are players, and "" is a bye. "best": [place, number], as [3, 8], lets the
        best 8 of the third places go on, as "best1" to "best8". They are ranked by points; if goals are known, by goal
        difference and goals; by wins; and by lot.
      samples: the number of simulated tournaments.
      time: the time of the tournament, as in `predict_fixtures`.
      key: a PRNG key. None: always the same one.
      newcomers: what to do with unknown names, as in `predict_fixtures`.

    Raises:
      ValueError: for a plan that cannot be (says where), players whom the history does not have, or contests.
    """
    if rated.contests is not None:
        raise ValueError("a tournament is of matches of two, and this history is of contests")
    check_count("samples", samples, 1, MAX_SAMPLES)
    labels, names, rules = _load_and_check_plan(plan, predicts_goals(rated.system))
    n, in_groups = len(names), sum(rules.group_sizes)
    pairs = np.array([*combinations(range(n), 2)], np.int32)
    pair_names = [*combinations(names, 2)]
    options: FixtureOptions = {"time": time, "side": None, "newcomers": newcomers}
    games = build_simulation_matches(rated, *read_upcoming_events(rated, pair_names, options), names, pairs)
    key = jax.random.key(0) if key is None else key
    sums = _simulate_tournaments(key, games, n, rules, samples, CHUNK_NUMBERS // max(n * n, len(pairs)))
    place, reach = (np.asarray(x, np.float64) / samples for x in sums)
    order = np.lexsort([*(-reach.T)])
    group = np.append(np.repeat(labels, rules.group_sizes), np.full(n - in_groups, "", object)).astype(str)
    return TournamentForecast(
        np.array(names, rated.players.dtype)[order],
        group[order] if labels else None,
        place[order, : max(rules.group_sizes)] if labels else None,
        reach[order],
        samples,
    )


def _load_and_check_plan(plan: Any, has_goals: bool) -> tuple[list[str], list[Any], _TournamentRules]:
    """The names of groups, those of players, group by group, and the rules; ValueError if it is no plan."""
    plan = dict(plan) if isinstance(plan, Mapping) else _load_plan(Path(plan))
    if unknown := [name for name in plan if name not in PLAN_KEYS]:
        raise ValueError(f"a plan has no {unknown[0]!r}; it has {', '.join(PLAN_KEYS)}")
    groups = {str(name): list(members) for name, members in plan.get("groups", {}).items()}
    rounds, points, slots = plan.get("rounds", 1), tuple(plan.get("points", (3, 1, 0))), list(plan.get("knockout", ()))
    ties, best = tuple(plan.get("ties", GOAL_TIE_BREAKS if has_goals else TIE_BREAKS)), tuple(plan.get("best", (1, 0)))
    check_tie_breaks(ties, has_goals)
    if len(points) != 3 or rounds < 1:
        raise ValueError("points must be three numbers, and rounds at least 1")
    _check_best_places(best, groups)
    names, slot_numbers = _number_slots(groups, best[1], slots)
    sizes = tuple(map(len, groups.values()))
    return [*groups], names, _TournamentRules(sizes, rounds, tuple(map(float, points)), ties, best, slot_numbers)


def _load_plan(path: Path) -> dict[str, Any]:
    """The plan in a file."""
    with path.open("rb") as file:
        try:
            return tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path.name}: {error}") from None


def _check_best_places(best: tuple[int, int], groups: Mapping[str, list[Any]]) -> None:
    """ValueError unless all groups have the place of which so many go on, and there are so many groups."""
    place, number = best
    if number and not (0 < number <= len(groups) and all(0 < place <= len(x) for x in groups.values())):
        raise ValueError(f"best must be [place, number], of {len(groups)} groups, got [{place}, {number}]")


def _number_slots(
    groups: Mapping[str, list[Any]], num_best: int, slots: list[Any]
) -> tuple[list[Any], tuple[int, ...]]:
    """The names of all players, those in groups first, and what the slots of the knock-out mean.

    Numbers are those of places in groups, then of the best, of all players, and last of a bye. ValueError for a name
    that is in the plan more than once, or another number of slots than two, four, eight ...
    """
    if len(slots) < 2 or len(slots).bit_count() != 1:
        raise ValueError(f"knockout must list two, four, eight, ... places, got {len(slots)}")
    places = [f"{name}{i + 1}" for name, group in groups.items() for i in range(len(group))]
    places += [f"best{i + 1}" for i in range(num_best)]
    named = [*filter(None, slots)]
    names = [*chain(*groups.values()), *(x for x in named if x not in {*places})]
    for name, count in (*Counter(names).items(), *Counter(named).items()):
        if count > 1:
            raise ValueError(f"{name!r} is in the plan more than once")
    number = dict(zip(names, range(len(places), len(places) + len(names)), strict=True))
    number |= dict(zip(places, range(len(places)), strict=True)) | {"": len(places) + len(names)}
    return names, tuple(number[x] for x in slots)


@jit_for_short_runs(2, 3, 4, 5)
def _simulate_tournaments(
    key: Array, games: SimulationMatches, num_players: int, rules: _TournamentRules, samples: int, size: int
) -> tuple[Array, Array]:
    """Sums over all tournaments of places in groups [N, N] and rounds reached [N, R + 1]."""
    n, group_sizes, best, dtype = num_players, rules.group_sizes, rules.best, games.dtype
    in_groups, bracket = sum(group_sizes), np.array(rules.slots, np.int32)
    place_in_group = np.array([i for width in group_sizes for i in range(width)], np.int32)
    group = np.append(np.repeat(np.arange(len(group_sizes)), group_sizes), np.full(n - in_groups, n)).astype(np.int32)
    first, second = np.triu_indices(n, 1)
    number = np.zeros((n, n), np.int32)  # of the match of two players
    number[first, second] = number[second, first] = np.arange(len(first))
    group_matches = games.select(
        np.repeat(np.flatnonzero((group[first] == group[second]) & (group[first] < n)), rules.rounds)
    )

    def simulate_one(tournament_index: Array) -> tuple[Array, Array]:
        drawing, playing, lots, fighting = jax.random.split(jax.random.fold_in(key, tournament_index), 4)
        strengths = games.draw_strengths(drawing, n)
        standings = Standings.empty(n, dtype).add(group_matches.player, *group_matches.play(playing, strengths))
        order, total = rank_by_points(lots, standings, rules.points, rules.ties, group)
        order = order[:in_groups].astype(jnp.int32)
        slot_players = [order]
        if best[1]:
            placed = order[np.cumsum([0, *group_sizes])[:-1] + best[0] - 1]
            uniforms = jax.random.uniform(jax.random.fold_in(lots, 1), placed.shape, dtype)
            scored, conceded = standings.goals.T
            criteria = standings.won.sum(axis=1), scored, scored - conceded, total  # the last one counts first
            slot_players.append(placed[jnp.lexsort([uniforms, *(-x[placed] for x in criteria)])[: best[1]]])
        all_slots = jnp.concatenate([*slot_players, jnp.arange(n + 1, dtype=jnp.int32)])  # number n is a bye

        def win_probability(upper: Array, lower: Array) -> Array:
            i, j = jnp.minimum(upper, n - 1), jnp.minimum(lower, n - 1)
            chance = games.select(jnp.asarray(number)[i, j]).decide(
                jax.random.fold_in(fighting, 2 * len(upper)), strengths
            )
            chance = jnp.where(i < j, chance, 1.0 - chance)
            return jnp.where(lower == n, 1.0, jnp.where(upper == n, 0.0, chance))

        uniforms = jax.random.uniform(fighting, (len(bracket),), dtype)
        remaining = play_knockout(all_slots[bracket], uniforms, win_probability)
        reached = jnp.stack([jnp.zeros(n + 1, dtype).at[x].set(1.0) for x in remaining], axis=1)
        return jnp.zeros((n, n), dtype).at[order, place_in_group].set(1.0), reached[:n]

    return sum_over_samples(simulate_one, samples, size)
