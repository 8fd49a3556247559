"""Players drawn at random, some more often than others, with and without replacement."""

import numpy as np

from jaxrate.types import HostArray

CHUNK = 1 << 20  # draws made at a time, about


class PlayerSampler:
    """Players drawn in proportion to (k + 1)^-activity."""

    def __init__(self, random: np.random.Generator, num_players: int, activity: float):
        self.random, self.num_players, self.activity = random, num_players, activity
        self.table = None
        self.crowd = num_players * -np.expm1(-0.25)  # how many are distinct among num_players / 4 draws
        if activity:
            weight = np.arange(1.0, num_players + 1) ** -activity
            weight *= num_players / weight.sum()
            if weight[0] > 0.9 * num_players:
                raise ValueError(f"activity {activity} is too large: one player would be drawn nearly every time")
            self.crowd = -np.expm1(-0.25 * weight).sum()
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
        crowded = size > self.crowd
        for rows, draw in ((crowded, self._race), (~crowded, self._first)):
            player[np.repeat(rows, size)] = draw(size[rows])
        return player

    def _race(self, size: HostArray) -> HostArray:
        """The first to arrive at exponential times, of everybody: it costs num_players a set."""
        sets = [np.empty(0, np.int32)]
        for some in np.array_split(size, -(-len(size) * self.num_players // CHUNK) or 1):
            arrival = self.random.standard_exponential((len(some), self.num_players))
            arrival *= np.arange(1.0, self.num_players + 1) ** self.activity
            sets.append(np.argsort(arrival, axis=1).astype(np.int32)[np.arange(self.num_players) < some[:, None]])
        return np.concatenate(sets)

    def _first(self, size: HostArray) -> HostArray:
        """The first that differ, of as many draws with replacement as it takes."""
        which = np.repeat(np.arange(len(size)), size)
        key = which * self.num_players + self(len(which))
        more = 1
        while True:
            new = np.zeros(len(key), bool)
            new[np.unique(key, return_index=True)[1]] = True
            key = key[new]
            short = np.flatnonzero(np.bincount(key // self.num_players, minlength=len(size)) < size)
            if not short.size:
                break
            more = max(1, min(2 * more, CHUNK // size[short].sum()))
            again = np.repeat(short, more * size[short])
            key = np.concatenate([key, again * self.num_players + self(len(again))])
        key = key[np.argsort(key // self.num_players, kind="stable")]
        which = key // self.num_players
        place = np.arange(len(key)) - np.searchsorted(which, np.arange(len(size)))[which]
        return (key % self.num_players)[place < size[which]].astype(np.int32)


def _alias_table(weight: HostArray) -> tuple[HostArray, HostArray]:
    """Walker's table of a law: of slots drawn alike, i stands for itself below its threshold and for its alias above.

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
