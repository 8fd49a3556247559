"""Players drawn at random, with unequal probabilities, with and without replacement."""

import numpy as np

from jaxrate.core.array_types import HostArray

CHUNK = 1 << 20  # draws made at a time, about


class PlayerSampler:
    """Players drawn in proportion to (k + 1)^-activity."""

    def __init__(self, random: "np.random.Generator", num_players: int, activity: float):
        self.random, self.num_players, self.activity = random, num_players, activity
        self.table = None
        self.max_repeated_size = num_players * -np.expm1(-0.25)  # distinct players among num_players / 4 draws
        if activity:
            weight = np.arange(1.0, num_players + 1) ** -activity
            weight *= num_players / weight.sum()
            if weight[0] > 0.9 * num_players:
                raise ValueError(f"activity {activity} is too large: one player would be drawn nearly every time")
            self.max_repeated_size = -np.expm1(-0.25 * weight).sum()
            self.table = _alias_table(weight)

    def __call__(self, count: int) -> HostArray:
        """[count] int32 with replacement."""
        slot = self.random.integers(self.num_players, size=count, dtype=np.int32)
        if self.table is None:
            return slot
        threshold, alias = self.table
        return np.where(self.random.random(count) < threshold[slot], slot, alias[slot])

    def distinct(self, size: HostArray) -> HostArray:
        """[sum(size)] int32, end to end: sets drawn one after the other without replacement, in no special order."""
        player = np.empty(size.sum(), np.int32)
        is_large = size > self.max_repeated_size
        for rows, draw in ((is_large, self._draw_by_arrival), (~is_large, self._draw_until_distinct)):
            player[np.repeat(rows, size)] = draw(size[rows])
        return player

    def _draw_by_arrival(self, size: HostArray) -> HostArray:
        """The first of all players to arrive at exponential times: the cost of a set is num_players."""
        sets = [np.empty(0, np.int32)]
        for sizes in np.array_split(size, -(-len(size) * self.num_players // CHUNK) or 1):
            arrival = self.random.standard_exponential((len(sizes), self.num_players))
            arrival *= np.arange(1.0, self.num_players + 1) ** self.activity
            sets.append(np.argsort(arrival, axis=1).astype(np.int32)[np.arange(self.num_players) < sizes[:, None]])
        return np.concatenate(sets)

    def _draw_until_distinct(self, size: HostArray) -> HostArray:
        """The first distinct players of draws with replacement, repeated until there are enough."""
        set_of_draw = np.repeat(np.arange(len(size)), size)
        key = set_of_draw * self.num_players + self(len(set_of_draw))
        factor = 1
        while True:
            new = np.zeros(len(key), bool)
            new[np.unique(key, return_index=True)[1]] = True
            key = key[new]
            incomplete = np.flatnonzero(np.bincount(key // self.num_players, minlength=len(size)) < size)
            if not incomplete.size:
                break
            factor = max(1, min(2 * factor, CHUNK // size[incomplete].sum()))
            set_of_new_draw = np.repeat(incomplete, factor * size[incomplete])
            key = np.concatenate([key, set_of_new_draw * self.num_players + self(len(set_of_new_draw))])
        key = key[np.argsort(key // self.num_players, kind="stable")]
        set_of_draw = key // self.num_players
        position = np.arange(len(key)) - np.searchsorted(set_of_draw, np.arange(len(size)))[set_of_draw]
        return (key % self.num_players)[position < size[set_of_draw]].astype(np.int32)


def _alias_table(weight: HostArray) -> tuple[HostArray, HostArray]:
    """Walker's table of a distribution: slots are drawn uniformly; i is itself below its threshold, else its alias.

    The heavy (above 1) fill up the light in order. Running sums find both without a loop, as in Huebschle-Schneider and
    Sanders, "Parallel Weighted Random Sampling" (2019).

    Args:
      weight: [n] of mean 1, not increasing.

    Returns:
      ([n] threshold in [0, 1], [n] alias)
    """
    n = len(weight)
    heavy = int(np.clip(np.count_nonzero(weight > 1.0), 1, n - 1))
    excess, lack = np.cumsum(weight[:heavy] - 1.0), np.cumsum(1.0 - weight[heavy:])
    full = np.minimum(np.searchsorted(lack, excess), n - heavy - 1)  # the light one at which a heavy one runs out
    threshold = weight.astype(np.float32)
    threshold[:heavy] = np.clip(1.0 + excess - lack[full], 0.0, 1.0)
    alias = np.zeros(n, np.int32)
    alias[:heavy] = np.arange(1, heavy + 1)
    alias[heavy + 1 :] = np.searchsorted(excess, lack[:-1], side="right")
    return threshold, np.minimum(alias, heavy - 1, out=alias)
