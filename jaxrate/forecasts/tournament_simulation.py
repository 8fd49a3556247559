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
from jaxrate.forecasts.season_simulation import (
    CHUNK_NUMBERS,
    GOAL_TIE_BREAKS,
    TIE_BREAKS,
    GoalSimulationMatches,
    SimulationMatches,
    build_goal_simulation_matches,
    build_simulation_matches,
    check_tie_breaks,
    choose_goal_matches,
    predicts_goals,
    rank_by_points,
    sample_strength_errors,
    sample_team_numbers,
    simulate_goals,
    simulate_match_scores,
)
from jaxrate.forecasts.upcoming_events import predict_fixtures, read_upcoming_events
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


class _TournamentPlan(NamedTuple):
    """A plan with ids for names."""

    names: list[Any]
    groups: dict[str, list[int]]
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
    has_goals = predicts_goals(rated.system)
    parsed_plan = _load_and_check_plan(plan, has_goals)
    n = len(parsed_plan.names)
    pairs = np.array([*combinations(range(n), 2)], np.int32)
    pair_names = [(parsed_plan.names[i], parsed_plan.names[j]) for i, j in pairs]
    games: Any
    if has_goals:
        system, data = read_upcoming_events(rated, pair_names, newcomers, {"time": time, "side": None})
        games = build_goal_simulation_matches(system, rated.state, data, pairs)
    else:
        forecasts = predict_fixtures(rated, pair_names, newcomers=newcomers, time=time, side=None)
        games = build_simulation_matches(rated, parsed_plan.names, pairs, forecasts)
    group = np.full(n, -1, np.int32)
    for number, members in enumerate(parsed_plan.groups.values()):
        group[members] = number
    group_matches = np.repeat(
        np.flatnonzero((group[pairs[:, 0]] == group[pairs[:, 1]]) & (group[pairs[:, 0]] >= 0)), parsed_plan.rounds
    )
    key = jax.random.key(0) if key is None else key
    size = max(1, min(samples, CHUNK_NUMBERS // max(n * n, len(pairs))))
    widths = tuple(map(len, parsed_plan.groups.values()))
    rules = _TournamentRules(widths, parsed_plan.points, parsed_plan.ties, parsed_plan.best, parsed_plan.slots)
    place, reach = _simulate_tournaments(
        key, games, jnp.asarray(group_matches), jnp.asarray(group), rules, samples, size
    )
    place, reach = np.asarray(place, np.float64) / samples, np.asarray(reach, np.float64) / samples
    order = np.lexsort([*(-reach.T)])
    labels = np.array(["", *parsed_plan.groups])[group + 1]
    names = np.array(parsed_plan.names, rated.players.dtype)
    shown_places = place[:, : max(widths, default=0)]
    has_groups = bool(parsed_plan.groups)
    return TournamentForecast(
        names[order],
        labels[order] if has_groups else None,
        shown_places[order] if has_groups else None,
        reach[order],
        samples,
    )


def _load_and_check_plan(plan: Any, has_goals: bool) -> _TournamentPlan:
    """The plan, checked; ValueError if it is none."""
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
    ids = {x: i for i, x in enumerate(names)}
    group_ids = {name: [ids[x] for x in members] for name, members in groups.items()}
    return _TournamentPlan(names, group_ids, rounds, tuple(map(float, points)), ties, best, slot_numbers)


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


class _TournamentRules(NamedTuple):
    """What of a plan is fixed when its simulation is compiled."""

    group_sizes: tuple[int, ...]
    points: tuple[float, ...]
    ties: tuple[str, ...]
    best: tuple[int, int]
    slots: tuple[int, ...]


@jit_for_short_runs(4, 5, 6)
def _simulate_tournaments(
    key: Array,
    games: SimulationMatches | GoalSimulationMatches,
    group_matches: Array,
    group: Array,
    rules: _TournamentRules,
    samples: int,
    size: int,
) -> tuple[Array, Array]:
    """Sums over all tournaments of places in groups [N, N] and rounds reached [N, R + 1]."""
    n, pairs = len(group), games.player
    number = jnp.zeros((n, n), jnp.int32).at[*pairs.T].set(jnp.arange(len(pairs), dtype=jnp.int32))
    number = number + number.T  # of the match of two players
    a, b = pairs[group_matches].T
    dtype = (games.factors.gap if isinstance(games, GoalSimulationMatches) else games.logit).dtype

    def sample_strengths(key: Array) -> Array:
        if isinstance(games, GoalSimulationMatches):
            return sample_team_numbers(key, games, n)
        return sample_strength_errors(key, games.strength_deviation)

    def play_groups(key: Array, strength: Array) -> tuple[Array, Array | None]:
        """Scores of the matches of groups, and goals [N, 2], if there are goals."""
        if not isinstance(games, GoalSimulationMatches):
            player, logit, odds = (x[group_matches] for x in (pairs, games.logit, games.odds))
            chosen = games._replace(player=player, logit=logit, odds=odds)
            return simulate_match_scores(key, chosen, strength), None
        scored = simulate_goals(key, choose_goal_matches(games, group_matches), strength).astype(dtype)
        goals = jnp.zeros((n, 2), dtype).at[a].add(scored).at[b].add(scored[:, ::-1])
        return 0.5 + 0.5 * jnp.sign(scored[:, 0] - scored[:, 1]), goals

    def win_probability(key: Array, strength: Array, i: Array, j: Array) -> Array:
        """[F] of the first of two in the knock-out; where goals are drawn 1, 0, or one half of a draw."""
        match, sign = number[i, j], jnp.where(i < j, 1.0, -1.0).astype(dtype)
        if not isinstance(games, GoalSimulationMatches):
            return jax.nn.sigmoid(sign * games.logit[match] + strength[i] - strength[j])
        scored = simulate_goals(key, choose_goal_matches(games, match), strength).astype(dtype)
        return 0.5 + 0.5 * sign * jnp.sign(scored[:, 0] - scored[:, 1])

    group_sizes, points, ties, best, slots = rules
    group_start = np.cumsum([0, *group_sizes])[:-1]
    in_groups = sum(group_sizes)
    place_in_group = np.concatenate([np.arange(width) for width in group_sizes] or [np.zeros(0, int)]).astype(np.int32)
    bracket = np.array(slots, np.int32)

    def simulate_one(tournament_index: Array) -> tuple[Array, Array]:
        drawing, playing, lots, fighting = jax.random.split(jax.random.fold_in(key, tournament_index), 4)
        strength = sample_strengths(drawing)
        score, goals = play_groups(playing, strength)
        none = jnp.zeros((n, n), dtype)
        won = none.at[a, b].add((score == 1).astype(dtype)).at[b, a].add((score == 0).astype(dtype))
        drawn = none.at[a, b].add((score == 0.5).astype(dtype)).at[b, a].add((score == 0.5).astype(dtype))
        order, total = rank_by_points(lots, won, drawn, points, ties, jnp.where(group < 0, n, group), goals)
        order = order[:in_groups].astype(jnp.int32)
        place = none.at[order, place_in_group].set(1.0)
        slot_players = [order]
        if best[1]:
            best_placed = order[group_start + best[0] - 1]
            uniforms = jax.random.uniform(jax.random.fold_in(lots, 1), best_placed.shape, dtype)
            by_goals = [] if goals is None else [goals[:, 0], goals[:, 0] - goals[:, 1]]
            criteria = (won.sum(axis=1), *by_goals, total)  # the last one counts first
            rank = jnp.lexsort([uniforms, *(-x[best_placed] for x in criteria)])
            slot_players.append(best_placed[rank[: best[1]]])
        all_slots = jnp.concatenate([*slot_players, jnp.arange(n, dtype=jnp.int32), jnp.full(1, n, jnp.int32)])
        remaining = all_slots[bracket]
        reached = [jnp.zeros(n + 1, dtype).at[remaining].set(1.0)]
        uniforms = jax.random.uniform(fighting, (len(slots),), dtype)
        while len(remaining) > 1:
            upper, lower = remaining[::2], remaining[1::2]
            i, j = jnp.minimum(upper, n - 1), jnp.minimum(lower, n - 1)
            probability = win_probability(jax.random.fold_in(fighting, len(remaining)), strength, i, j)
            probability = jnp.where(lower == n, 1.0, jnp.where(upper == n, 0.0, probability))
            remaining, uniforms = jnp.where(uniforms[: len(upper)] < probability, upper, lower), uniforms[len(upper) :]
            reached.append(jnp.zeros(n + 1, dtype).at[remaining].set(1.0))
        is_counted = (tournament_index < samples).astype(dtype)
        return is_counted * place, is_counted * jnp.stack(reached, axis=1)[:n]

    def add_chunk(carry: Any, first_index: Array) -> tuple[Any, None]:
        chunk = jax.vmap(simulate_one)(first_index + jnp.arange(size, dtype=jnp.int32))
        return jax.tree.map(lambda x, y: x + y.sum(axis=0), carry, chunk), None

    zeros = jnp.zeros((n, n), dtype), jnp.zeros((n, len(slots).bit_length()), dtype)
    return jax.lax.scan(add_chunk, zeros, jnp.arange(0, samples, size, dtype=jnp.int32))[0]
