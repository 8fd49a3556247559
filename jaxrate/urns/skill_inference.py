"""Inference about skills from urns: confidence bands, urns for each side, tests whether two urns of each player have
the same skill, and tests which players changed.

While skills are constant, r green balls of n are binomial with the proportion pi (Theorem 4 of Bolsinova and others
2022; standard errors are a little smaller, as the total is known), and bands have their nominal coverage. While skills
change, urns lag behind, and bands are too narrow.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import scipy  # type: ignore[import-untyped]  # imports its modules at their first use

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events import Context, Matches, fail_where
from jaxrate.metrics.prediction_metrics import wilson_interval
from jaxrate.systems.urnings import State


class SameSkill(NamedTuple):
    """A comparison of two urns of each player with random divisions of their balls."""

    correlation: float  # of r / n in the first and in the second urns
    difference: float  # mean of the first r / n less the second
    correlations: HostArray  # [samples] correlations after random division of the balls
    differences: HostArray  # [samples]
    correlation_p: float  # probability of a correlation as low, if each player has one skill
    difference_p: float  # probability of a difference as far from 0


class ChangedSkills(NamedTuple):
    """Tests whether each player's skill changed between two times."""

    difference: HostArray  # [num_players] the later r / n less the earlier
    p: HostArray  # [num_players] probability of urns as unlikely as these, if the skill is the same
    adjusted: HostArray  # [num_players] the least false discovery rate at which the player has changed
    changed: HostArray  # [num_players] bool


@enforce_argument_annotations
def confidence_band(state: State, level: float = 0.95) -> tuple[HostArray, HostArray]:
    """[num_players] lower and upper ends of pi (Wilson 1927): where |r / n - pi| <= z sqrt(pi (1 - pi) / n).

        low, high = jr.urns.confidence_band(jr.urns.make_urns([10, 10, 20], [0.2, 0.5, 0.9]))

    Raises:
      ValueError: unless 0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {format_value_for_error(level)}")
    green, size = (np.asarray(x, np.float64) for x in state)
    low, high = wilson_interval(green / size, size, NormalDist().inv_cdf((1 + level) / 2))
    return low, high


@enforce_argument_annotations
def split_by_side(matches: Matches) -> Matches:
    """The matches with the id 2 k for player k where they come first, and 2 k + 1 where they come second.

        jr.urns.split_by_side(data.matches)

    A player then has one rating for white and one for black, or for home and away. The ids tell the sides, and `side`
    is removed.
    """
    context: Context = matches.context._replace(side=None)
    return matches._replace(player=2 * np.asarray(matches.player) + np.arange(2), context=context)


@enforce_argument_annotations
def compare_skill(first_urns: State, second_urns: State, *, samples: int = 1000, seed: int = 0) -> SameSkill:
    """Test whether two urns of each player have the same skill (section 3.2 of Bolsinova and others 2022).

        one, two = (jr.urns.make_urns([10] * 3, share) for share in ([0.2, 0.5, 0.6], [0.3, 0.5, 0.5]))
        jr.urns.compare_skill(one, two, samples=100)

    With one skill, the green balls of a player are divided between the two urns at random (hypergeometric, whatever the
    skill). So all balls of the player are put together and divided again, `samples` times. An advantage that all
    players have in the first urn shows in the difference, and hardly in the correlation.

    Args:
      first_urns: leaves [num_players] of one urn of each player; leave out players with fewer than about 3 games per
        ball in either urn. After `split_by_side` they are `jax.tree.map(lambda x: x[0::2], state)`.
      second_urns: the other urns of the same players; after `split_by_side` with `x[1::2]`.
      samples: number of random divisions; the least p value is 1 / (samples + 1).
      seed: the same seed gives the same samples.

    Raises:
      ValueError: for urns of different numbers of players, fewer than 3 players, samples below 1, or urns that are all
        alike, which have no correlation.
    """
    (r1, n1), (r2, n2) = ((np.asarray(x, np.int64) for x in urns) for urns in (first_urns, second_urns))
    if r1.shape != r2.shape or r1.ndim != 1 or len(r1) < 3:
        raise ValueError(f"there must be two urns of each of at least 3 players, got {r1.shape} and {r2.shape}")
    check_that(samples >= 1, f"samples must be at least 1, got {samples}")
    for green, size in ((r1, n1), (r2, n2)):
        if (share := green / size).min() == share.max():
            raise ValueError("all urns have the same share of green balls: they have no correlation")
    random = np.random.default_rng(seed)
    green_samples = random.hypergeometric(r1 + r2, n1 + n2 - r1 - r2, n1, (samples, len(r1)))
    first, second = green_samples / n1, (r1 + r2 - green_samples) / n2
    with np.errstate(invalid="ignore"):  # of equal shares
        correlations = np.nan_to_num(_correlation(first, second))
    differences = (first - second).mean(axis=-1)
    correlation, difference = float(_correlation(r1 / n1, r2 / n2)), float((r1 / n1 - r2 / n2).mean())
    as_far = np.array([correlations <= correlation + 1e-12, np.abs(differences) >= abs(difference) - 1e-12])
    p = (as_far.sum(axis=1) + 1) / (samples + 1)
    return SameSkill(correlation, difference, correlations, differences, float(p[0]), float(p[1]))


@enforce_argument_annotations
def find_changed_skills(before: State, after: State, *, false_discovery_rate: float = 0.05) -> ChangedSkills:
    """Test which players' skill changed between two times, with a false discovery rate over all players.

    An urn that has forgotten its start is binomial, of the player's proportion pi (Theorem 4 of Bolsinova and others
    2022), and so is a later one that has forgotten the earlier: after about 3 games per ball. If pi is the same, the
    green balls are divided between both at random (hypergeometric), and p is that of the exact two-sided test (Fisher
    1935): the probability of all divisions that are no more likely than this one. Of the players who are said to have
    changed, at most the share `false_discovery_rate` is expected to be unchanged (Benjamini and Hochberg 1995).

        changed = jr.urns.find_changed_skills(before, after)
        np.flatnonzero(changed.changed & (changed.difference > 0))  # players who improved

    If urns have not forgotten their start:

    - Fewer games between the times leave the urns alike: false alarms get rarer, and changes are missed.
    - A first urn that still depends on a newcomer's start raises false alarms: leave out players with few games per
      ball before it. On the simulated players of the paper's section 3.1, 3 were too few, and 10 enough.
    - Matchmaking by the urns without its correction (`replay_history`) also raises false alarms, as urns then spread
      too far.
    - A skill is relative to the others', as the number of green balls never changes: if many improve, the urns of the
      others lose balls.

    Args:
      before: leaves [num_players] of the players' urns at the first time.
      after: the urns of the same players at the second time; the sizes may differ.
      false_discovery_rate: expected share of unchanged players among those who are said to have changed.

    Raises:
      ValueError: for urns of different numbers of players, or of none, with other than 0 to n green balls (names the
        row), or unless 0 < false_discovery_rate < 1.
    """
    (r1, n1), (r2, n2) = ((np.asarray(x, np.int64) for x in urns) for urns in (before, after))
    if r1.shape != r2.shape or r1.ndim != 1 or not len(r1):
        raise ValueError(f"there must be two urns of each player, got {r1.shape} and {r2.shape}")
    if not 0 < false_discovery_rate < 1:
        raise ValueError(f"false_discovery_rate must be above 0 and below 1, got {false_discovery_rate}")
    for green, size in ((r1, n1), (r2, n2)):
        is_invalid = (green < 0) | (green > size)
        fail_where(is_invalid, lambda row: f"an urn of {size[row]} balls cannot hold {green[row]} green ones")  # noqa: B023
    kinds, kind_index = np.unique(np.stack([r1, n1, r2, n2]), axis=1, return_inverse=True)
    p_values = [scipy.stats.fisher_exact([[a, n - a], [b, m - b]])[1] for a, n, b, m in kinds.T.tolist()]
    p = np.array(p_values)[kind_index.ravel()]
    adjusted = scipy.stats.false_discovery_control(p)
    return ChangedSkills(r2 / n2 - r1 / n1, p, adjusted, adjusted <= false_discovery_rate)


def _correlation(x: HostArray, y: HostArray) -> HostArray:
    """[...] correlations of [..., num_players]."""
    x, y = (a - a.mean(axis=-1, keepdims=True) for a in (x, y))
    return np.asarray((x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1)))
