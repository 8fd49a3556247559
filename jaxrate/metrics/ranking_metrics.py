"""Participants in the order of their ranks and of their ratings, and how far these differ."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.events import Ragged, Rounds, event_numbers, fail_where, has_teammates
from jaxrate.events.dataset import resolve_events_and_num_players


def count_inversions_by_entry(places: HostArray, contest_start: HostArray) -> HostArray:
    """[n] numbers whose sum over a contest is the number of its pairs i < j with place i > place j.

    Bit by bit from the highest, the places of each contest are partitioned into those without and with the bit, both in
    their order. Inversions are zeros that follow a one which agrees with them in all higher bits. Since the places of a
    contest are 0, 1, ..., those that agree stand where the lowest of them belongs: no lists of groups are needed.

    Args:
      places: [n] a permutation of 0, 1, ... for each contest.
      contest_start: [n] index of the first participant of the contest.
    """
    kind = np.int32 if len(places) < 2**30 else np.int64  # half the bytes, half the time
    places, contest_start = places.astype(kind), contest_start.astype(kind)
    position = np.arange(len(places), dtype=kind)
    count = np.zeros(len(places), np.int64)
    for bit in reversed(range(int(places.max()).bit_length())):
        is_set, group = (places >> bit) & 1, contest_start + (places >> (bit + 1) << (bit + 1))
        ones: HostArray = np.cumsum(is_set, dtype=kind)
        ones -= is_set
        ones -= ones[group]
        count += ones * (1 - is_set)
        partitioned = np.empty_like(places)
        partitioned[np.where(is_set, group + (1 << bit) + ones, position - ones)] = places
        places = partitioned
    return count


def cast_to_smallest_dtype(number: HostArray) -> HostArray:
    """Non-negative integers in the smallest type: NumPy sorts 16 bits much faster than 64."""
    return number.astype(np.min_scalar_type(int(number.max(initial=0))))


def ratio_error(total: HostArray, count: HostArray) -> float | None:
    """The standard error of sum(total) / sum(count), of contests [E] that are drawn independently; None of one."""
    has_any = count > 0
    total, count, contests = total[has_any], count[has_any], int(has_any.sum())
    if contests < 2:
        return None
    rest = total - total.sum() / count.sum() * count
    return math.sqrt(float((rest**2).sum()) * contests / (contests - 1)) / float(count.sum())


class PairOrderDifference(NamedTuple):
    """The share of pairs in order by one forecaster less that by another, of the same contests."""

    difference: float
    error: float | None  # its standard error, where contests are drawn independently; None of one


def compare_pair_order(right: HostArray, other_right: HostArray, count: HostArray) -> PairOrderDifference:
    """Compare two forecasters contest by contest, by their sums [E] from `right_order_shares` and its counts [E]."""
    gap, total = right - other_right, float(count.sum())
    return PairOrderDifference(float(gap.sum()) / total if total else math.nan, ratio_error(gap, count))


def flatten_rounds(data: Any) -> tuple[Ragged, Rounds, HostArray]:
    """Rounds, their participants, and [sum P] the index of each participant's contest."""
    rounds, _ = resolve_events_and_num_players(data)
    if isinstance(rounds, Ragged) and rounds.nouns == "contests":
        flat: Any = rounds.flat
        return rounds, flat, event_numbers(rounds)
    kind = type(getattr(rounds, "events", rounds)).__name__
    raise ValueError(f"expected rounds of many players, as from `jaxrate.rounds`, got {kind}")


def has_untied_opponent(flat: Rounds, contest_index: HostArray) -> HostArray:
    """[sum P] whether the contest has somebody with whom the participant does not tie."""
    num_behind = np.bincount(contest_index, np.asarray(flat.rank) > 0)
    return np.asarray(num_behind[contest_index] > 0)


class ScoredRanking(NamedTuple):
    """The n participants to score, contest by contest, each from first to last."""

    event: HostArray  # [n] the number of the contest
    size: HostArray  # [E] participants scored
    low: HostArray  # [n] the first rank of the tie, from 0 and among those scored
    high: HostArray  # [n] the last one
    order: HostArray  # [n] participants by rating, contest by contest, highest first; equal ratings in order of rank
    opponents: HostArray  # [n] participants scored in other teams
    team: HostArray | None  # [n] the number of the team, of those of all contests; None if nobody has team-mates


def build_scored_ranking(data: Any, rating: Any, mask: Any) -> ScoredRanking:
    (rounds, flat, event), x = flatten_rounds(data), to_floats("rating", rating)
    rank = np.asarray(flat.rank)
    is_scored = np.ones(x.shape, bool) if mask is None else np.asarray(mask)
    if not x.shape == is_scored.shape == rank.shape:
        shapes = f"{rank.shape}, {x.shape} and {is_scored.shape}"
        raise ValueError(f"participants, rating and mask must be [sum P] alike, got {shapes}")
    check_that(is_scored.dtype == bool, f"mask must be boolean, got {is_scored.dtype}")
    fail_where(is_scored & ~np.isfinite(x), lambda row: f"rating is {x[row]}")
    opponents = count_opponents(rounds, event, is_scored & has_untied_opponent(flat, event))
    rows = np.flatnonzero(opponents)
    size = np.bincount(event[rows], minlength=len(rounds.player_start) - 1)
    team = _team_numbers(rounds, event)[rows] if has_teammates(rounds) else None
    check_that(rows.size, "no contests to score: none has two participants to be compared who did not all tie")
    event, rank = event[rows], rank[rows]
    standing = np.lexsort((cast_to_smallest_dtype(rank), cast_to_smallest_dtype(event)))
    rank, x = rank[standing], x[rows[standing]]
    head = np.flatnonzero((np.diff(event, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0))
    length = np.diff(head, append=len(rank))
    low = np.repeat(head, length) - _contest_start_by_participant(size, event)
    high = low + np.repeat(length, length) - 1
    order = np.lexsort((-x, cast_to_smallest_dtype(event)))
    team = None if team is None else team[standing]
    return ScoredRanking(event, size, low, high, order, opponents[rows[standing]], team)


def _team_numbers(rounds: Ragged, contest_index: HostArray) -> HostArray:
    """[sum P] the number of each participant's team, of those of all contests."""
    events: Any = rounds.events
    return np.asarray(rounds.player_start[contest_index] + events.team)


def count_opponents(rounds: Ragged, contest_index: HostArray, is_scored: HostArray) -> HostArray:
    """[sum P] how many of those scored are in other teams of the contest; 0 for those who are not scored."""
    groups = [contest_index, *([_team_numbers(rounds, contest_index)] if has_teammates(rounds) else [])]
    num_scored, *num_mates = (np.bincount(x[is_scored], minlength=len(x))[x] for x in groups)
    return np.asarray((num_scored - (num_mates[0] if num_mates else 1)) * is_scored)


def mean_share_of_pairs_in_order(ranking: ScoredRanking) -> float:
    wrong = wrong_order_shares(ranking)
    return float(1.0 - wrong.sum() / len(wrong))


def wrong_order_shares(ranking: ScoredRanking) -> HostArray:
    """[n] numbers whose sum over a contest is that of the shares of opponents in the wrong order, of all in it."""
    event, size, low, _, order, opponents, _ = ranking
    place, begin = np.empty(len(order), np.int64), _contest_start_by_participant(size, event)
    # places in the ranking, with ties broken by rating: a permutation of each contest
    place[np.lexsort((cast_to_smallest_dtype(low[order]), cast_to_smallest_dtype(event)))] = np.arange(len(order))
    mean_opponents = np.bincount(event, opponents)[event] / size[event]
    return np.asarray(2.0 * count_inversions_by_entry(place - begin, begin) / mean_opponents)


def mean_rank_deviation(ranking: ScoredRanking) -> float:
    event, size, low, high, order, opponents, team = ranking
    place, last = np.arange(len(order)) - _contest_start_by_participant(size, event), high[order]
    if team is not None:  # who are neither above nor beside their team-mates
        by_team = np.argsort(team[order], kind="stable")
        first = np.flatnonzero(np.diff(team[order][by_team], prepend=-1))
        num_mates = np.diff(first, append=len(order))
        place[by_team] -= np.arange(len(order)) - np.repeat(first, num_mates)
        last[by_team] -= np.repeat(num_mates, num_mates) - 1
    distance = np.maximum(np.maximum(low[order] - place, place - last), 0)
    return float((distance / opponents[order]).sum() / len(distance))


def _contest_start_by_participant(size: HostArray, contest_index: HostArray) -> HostArray:
    """[n] index of the first participant of each one's contest."""
    return np.asarray((np.cumsum(size) - size)[contest_index])
