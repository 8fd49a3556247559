"""Balanced teams and fair pairings from a pool, exactly, by HiGHS (Huangfu and Hall 2018) in SciPy's `milp`.

Teams: player p is in team t or not, x[p, t] in {0, 1}; each player is in one team, sizes differ by one at most, and the
strongest and the weakest team are as near as can be.

Pairs: players i and j meet or not, x[i, j] in {0, 1}; each player has at most one match, as many as can be have one,
and the sum of the costs of all pairs is least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]  # imports its modules at their first use

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.events import Rounds
from jaxrate.forecasts.pairwise_probabilities import predict_shares_of_teams
from jaxrate.forecasts.upcoming_events import predict_fixtures
from jaxrate.history.column_table import ColumnTable, PrintedResult
from jaxrate.history.history import History, find_player_id
from jaxrate.history.ratings_at_times import category_ratings, ratings, resolve_category

EXACT_POOL_LIMIT = 64  # players up to which all pairs are considered
NEIGHBOUR_LIMIT = 8  # in larger pools, candidates next in strength for each player
EQUALITY_DIVISOR = 200.0  # teams are equal if they differ by less than the pool's standard deviation over this


@dataclass(frozen=True, eq=False, repr=False)
class BalancedTeams(PrintedResult):
    """Teams whose sizes differ by one player at most. `print` lists them."""

    teams: list[list[Any]]  # names, the strongest team first
    strength: HostArray  # [teams] sums of ratings, or what the system expects of teams whose sizes differ
    share: HostArray | None  # [teams] expected share of the other teams to be beaten; None without contests
    optimal: bool  # whether no teams are closer; False if the time ran out

    def closing_lines(self) -> list[str]:
        """Whether no teams are closer."""
        return [_optimality_note(self.optimal)]

    def columns(self) -> ColumnTable:
        """A row for each team."""
        players = np.array([", ".join(map(str, team)) for team in self.teams])
        number = np.arange(1, len(self.teams) + 1)
        return ColumnTable({"team": number, "rating": self.strength, "share": self.share, "player": players})


@dataclass(frozen=True, eq=False, repr=False)
class Pairings(PrintedResult):
    """Pairings of a pool. `print` lists them, the fairest first."""

    matches: ColumnTable  # as from `predict_fixtures`
    unpaired: list[Any]  # players without a match
    optimal: bool  # whether no pairing is fairer; False if the time ran out, or the pool is too large for all pairs

    def columns(self) -> ColumnTable:
        """A row for each match."""
        return self.matches

    def closing_lines(self) -> list[str]:
        """Whether no pairing is fairer, and who has no match."""
        out = f"; without a match: {', '.join(map(str, self.unpaired))}" if self.unpaired else ""
        return [f"{_optimality_note(self.optimal)}{out}"]


def _optimality_note(optimal: bool) -> str:
    return "none are fairer" if optimal else "perhaps others are fairer"


@enforce_argument_annotations
def balance_teams(
    rated: History, players: Sequence[Any], *, teams: int = 2, category: Any = None, time_limit: float = 2.0
) -> BalancedTeams:
    """Teams of nearly equal strength, whose sizes differ by one player at most.

        print(jr.forecasts.balance_teams(rated, ["Ada", "Bo", "Cy", "Di"]))

    The strength of a team is the sum of its members' ratings. Two teams of equal sums have the same chance, and no
    other split has a better match quality in TrueSkill. If sizes differ, strength is what the system expects of a team:
    the sum, or the mean if `team_performance` is "mean", and with a `size_advantage` what it says of sizes. Systems
    that rate no teams compare means. Strengths that differ by less than 1/200 of the standard deviation of the pool's
    ratings count as equal.

    Args:
      rated: the history, as from `rate` or `load`.
      players: the pool, by name or id, one for each team at least.
      teams: the number of teams.
      category: what everybody will meet, as the mode; of a history that has categories. None: ratings are those of
        neutral ground.
      time_limit: seconds to search; then the best teams so far are taken.

    Raises:
      ValueError: for players or a category that are unknown, players named twice, fewer than two teams, more teams than
        players, or a time limit that is not above 0.
    """
    ids = _check_pool_players(rated, players, time_limit)
    n = len(ids)
    check_that(2 <= teams <= n, f"{n} players cannot be divided into {teams} teams")
    rating = ratings(rated) if category is None else category_ratings(rated, category)
    mean = np.asarray(rating.mean, np.float64)[ids]
    sizes = n // teams + (np.arange(teams) < n % teams)
    scale, offset = _team_strength_of_sizes(rated.system, sizes)
    unit, center = float(np.std(mean)) or 1.0, mean.mean()
    score, offset = (mean - center) / unit, (offset + scale * sizes * center) / unit
    size = n * teams  # then come the greatest and the least strength
    one_team_per_player = np.hstack([np.kron(np.eye(n), np.ones(teams)), np.zeros((n, 2))])
    full_teams = np.hstack([np.kron(np.ones(n), np.eye(teams)), np.zeros((teams, 2))])
    strengths = np.kron(score, np.diag(scale))
    strength_bounds = np.zeros((2 * teams + 1, size + 2))
    strength_bounds[:teams, :size], strength_bounds[:teams, size] = -strengths, 1.0
    strength_bounds[teams:-1, :size], strength_bounds[teams:-1, size + 1] = strengths, -1.0
    strength_bounds[-1, size:] = 1.0, -1.0
    least = np.concatenate([offset, -offset, [float(np.std(score)) / EQUALITY_DIVISOR]])
    limits = [(one_team_per_player, 1, 1), (full_teams, sizes, sizes), (strength_bounds, least, np.inf)]
    lower, upper = np.zeros(size + 2), np.ones(size + 2)
    lower[size:], upper[size:] = -np.inf, np.inf
    if sizes[0] == sizes[-1]:
        lower[np.argmax(score) * teams] = 1.0  # the best is in the first team: all orders of teams are alike
    cost = np.append(np.zeros(size), [1.0, -1.0])
    kinds = np.append(np.ones(size), [0.0, 0.0])
    solution = _solve_integer_program(cost, kinds, (lower, upper), limits, time_limit)
    if solution.x is None:
        there_and_back = np.tile(np.append(np.arange(teams), np.arange(teams)[::-1]), n)[: n - n % teams]
        team_of_player = np.empty(n, int)
        team_of_player[np.argsort(-score, kind="stable")] = np.append(there_and_back, np.arange(n % teams))
    else:
        team_of_player = np.argmax(solution.x[:size].reshape(n, teams), axis=1)
    strength = (offset + scale * np.bincount(team_of_player, score, teams)) * unit
    best = np.argsort(-strength, kind="stable")
    members = [ids[team_of_player == t][np.argsort(-mean[team_of_player == t], kind="stable")] for t in best]
    names = [list(rated.players[team]) for team in members]
    share = _expected_share_of_teams_beaten(rated, members, category)
    return BalancedTeams(names, strength[best], share, solution.status == 0)


def _team_strength_of_sizes(system: RatingSystem, sizes: HostArray) -> tuple[HostArray, HostArray]:
    """[teams] the strength of a team of a size is its first number times the sum of ratings, plus its second.

    It is what the system expects of a team. A system without teams has no rule for sizes: means are compared then.
    """
    advantage, zeros = getattr(system.params, "size_advantage", None), np.zeros(len(sizes))
    counts_means = system.settings.get("team_performance") == "mean" or "teams" not in system.features
    scale = 1.0 / sizes if counts_means and len(set(sizes.tolist())) > 1 else zeros + 1.0
    if advantage is None:
        return scale, zeros
    newcomer = float(system.params.initial_rating)
    return scale, float(advantage) * np.log(sizes) - scale * sizes * newcomer


def _expected_share_of_teams_beaten(rated: History, members: list[HostArray], category: Any) -> HostArray | None:
    """[teams] the expected share of the other teams to be beaten; None for a system without teams, or no category."""
    system, lacks_category = rated.system, rated.categories is not None and category is None
    if Rounds not in system.events or "teams" not in system.features or lacks_category:
        return None
    team = np.repeat(np.arange(len(members)), [len(x) for x in members])
    number = resolve_category(rated, category)
    players = np.concatenate(members)[None]
    share = predict_shares_of_teams(system, rated.state, players, team, rated.last or 0.0, number)[0]
    return share[np.unique(team, return_index=True)[1]]


@enforce_argument_annotations
def pair_players(
    rated: History,
    players: Sequence[Any],
    *,
    apart: Sequence[tuple[Any, Any]] = (),
    time_limit: float = 2.0,
) -> Pairings:
    """Pair the players of a pool so that matches are as fair as can be; of an odd number one has no match.

    The sum of the distances of expected scores from 1/2 is least.

        print(jr.forecasts.pair_players(rated, ["Ada", "Bo", "Cy", "Di"], apart=[("Ada", "Bo")]))

    Args:
      rated: as from `rate` or `load`, of matches.
      players: the pool of players, by name or id.
      apart: pairs who shall not meet, as those who have met.
      time_limit: seconds to search; then the best pairing so far is taken. In pools of more than 64, players meet only
        some of those who are next in strength.

    Raises:
      ValueError: for players who are unknown or named twice, fewer than two, contests, a time limit that is not above
        0, or if so many cannot be kept apart.
    """
    ids = _check_pool_players(rated, players, time_limit)
    n = len(ids)
    rated.check_of_matches("a pairing")
    check_that(n >= 2, f"pairs need a pool of at least two players, got {n}")
    mean = np.asarray(ratings(rated).mean, np.float64)[ids]
    ids = ids[np.argsort(-mean, kind="stable")]
    names = rated.players[ids]
    first, second = _candidate_pairs(rated, ids, apart)
    check_that(len(first), "so many cannot be kept apart")
    forecasts = predict_fixtures(rated, [*zip(names[first], names[second], strict=True)], side=None)
    cost = np.abs(forecasts["expected"] - 0.5)
    edges, is_optimal = _cheapest_matching(n, first, second, np.asarray(cost, np.float64), time_limit)
    edges = edges[np.argsort(cost[edges], kind="stable")]
    paired = {*first[edges].tolist(), *second[edges].tolist()}
    matches = ColumnTable({name: values[edges] for name, values in forecasts.items()})
    unpaired = [names[i] for i in range(n) if i not in paired]
    return Pairings(matches, unpaired, is_optimal and n <= EXACT_POOL_LIMIT)


def _candidate_pairs(rated: History, ids: HostArray, apart: Sequence[tuple[Any, Any]]) -> tuple[HostArray, HostArray]:
    """[edges] both places in a pool, in order of strength, of all pairs that may meet."""
    n, place = len(ids), {int(x): i for i, x in enumerate(ids)}
    first, second = np.triu_indices(n, 1)
    is_allowed = second - first <= (NEIGHBOUR_LIMIT if n > EXACT_POOL_LIMIT else n)
    for pair in apart:
        one, other = (place.get(find_player_id(rated.players, x), -1) for x in pair)
        is_allowed &= (first != min(one, other)) | (second != max(one, other))
    return first[is_allowed], second[is_allowed]


def _cheapest_matching(
    n: int, first: HostArray, second: HostArray, cost: HostArray, time_limit: float
) -> tuple[HostArray, bool]:
    """Edges of least total cost that pair n players, or n - 1; and whether none are cheaper."""
    edge_index = np.arange(len(first))
    ends = np.append(first, second), np.append(edge_index, edge_index)
    incidence = scipy.sparse.csr_matrix((np.ones(2 * len(edge_index)), ends), (n, len(edge_index)))
    limits = [(incidence, 0, 1), (np.ones((1, len(edge_index))), n // 2, n // 2)]
    solution = _solve_integer_program(cost, np.ones(len(edge_index)), (0, 1), limits, time_limit)
    found = [] if solution.x is None else [np.flatnonzero(solution.x > 0.5)]
    found += _pair_adjacent_players(n, first, second, cost)
    if not found:
        message = "so many cannot be kept apart" if solution.status == 2 else "no pairing was found in time; give more"
        raise ValueError(message)
    return min(found, key=lambda edges: float(cost[edges].sum())), solution.status == 0


def _pair_adjacent_players(n: int, first: HostArray, second: HostArray, cost: HostArray) -> list[HostArray]:
    """Edges that pair neighbours in strength, if there are; of an odd number the best one to omit is left out."""
    edge_to_next = np.full(n - 1, -1)
    neighbour_edges = np.flatnonzero(second - first == 1)
    edge_to_next[first[neighbour_edges]] = neighbour_edges
    edge_costs = np.where(edge_to_next < 0, np.inf, cost[edge_to_next])
    if n % 2 == 0:
        pairs = edge_to_next[::2]
    else:
        cost_before = np.append(0.0, np.cumsum(edge_costs[::2]))
        cost_after = np.append(np.cumsum(edge_costs[1::2][::-1])[::-1], 0.0)
        left_out = int(np.argmin(cost_before + cost_after))
        pairs = np.append(edge_to_next[: 2 * left_out : 2], edge_to_next[2 * left_out + 1 :: 2])
    return [pairs] * bool((pairs >= 0).all())


def _check_pool_players(rated: History, players: Sequence[Any], search_seconds: float) -> HostArray:
    """[n] the ids of the pool; ValueError for repeated players or a bad time limit."""
    ids = np.array([find_player_id(rated.players, x) for x in players], int)
    check_that(len(set(ids.tolist())) >= len(ids), "somebody is in the pool twice")
    check_that(search_seconds > 0, f"time_limit must be above 0, got {search_seconds}")
    return ids


def _solve_integer_program(
    cost: HostArray, kinds: HostArray, bounds: tuple[Any, Any], limits: list[tuple[Any, Any, Any]], time_limit: float
) -> Any:
    """SciPy's result, whose x has the least cost within its bounds and with low <= matrix @ x <= high for each of the
    limits (matrix, low, high); x is whole where its kind is 1, and None if none is found in the time limit, in seconds.
    """
    rows = [scipy.optimize.LinearConstraint(scipy.sparse.csr_matrix(matrix), *ends) for matrix, *ends in limits]
    options = {"time_limit": time_limit}
    within = scipy.optimize.Bounds(*bounds)
    return scipy.optimize.milp(cost, integrality=kinds, bounds=within, constraints=rows, options=options)
