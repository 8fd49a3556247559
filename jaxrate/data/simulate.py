"""Histories with known truth, of any size: leagues of matches and ranked contests, in memory or to a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from shutil import disk_usage
from typing import Any, NamedTuple, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.random import Generator

from jaxrate.core.argument_checks import (
    INTEGER_LIMIT,
    FilePath,
    check_count,
    check_that,
    enforce_argument_annotations,
    to_floats,
)
from jaxrate.core.array_types import HostArray
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.data import table_sources
from jaxrate.data.table_writing import compact_parquet_options
from jaxrate.events import LAST_ID, MAX_ABS_TIME, Matches, Ragged, count_better, matches, rounds

DRAWS_AT_ONCE = 1 << 20  # draws made at a time, about


class PlayerSampler:
    """Players drawn in proportion to (k + 1)^-activity."""

    def __init__(self, random: Generator, num_players: int, activity: float):
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
        for sizes in np.array_split(size, -(-len(size) * self.num_players // DRAWS_AT_ONCE) or 1):
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
            factor = max(1, min(2 * factor, DRAWS_AT_ONCE // size[incomplete].sum()))
            set_of_new_draw = np.repeat(incomplete, factor * size[incomplete])
            key = np.concatenate([key, set_of_new_draw * self.num_players + self(len(set_of_new_draw))])
        key = key[np.argsort(key // self.num_players, kind="stable")]
        set_of_draw = key // self.num_players
        position = np.arange(len(key)) - np.searchsorted(set_of_draw, np.arange(len(size)))[set_of_draw]
        return (key % self.num_players)[position < size[set_of_draw]].astype(np.int32)


def _alias_table(weight: HostArray) -> tuple[HostArray, HostArray]:
    """[n] thresholds in [0, 1] and [n] aliases, by Walker, of weights [n] of mean 1 that do not increase.

    Slots are drawn uniformly; i is itself below its threshold, else its alias. The heavy (above 1) fill up the light in
    order. Running sums find both without a loop, as in Huebschle-Schneider and Sanders, "Parallel Weighted Random
    Sampling" (2019).
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


Columns: TypeAlias = dict[str, HostArray]

CHUNK = 1 << 20  # rows made at a time, about
SEASONS = 100  # a history with drift has at least so many steps of it
PLAYER_COLUMNS = {"a", "b", "player"}
BYTES_PER_ROW_IN_MEMORY = 60.0  # bytes that a row takes while it is made
BYTES_PER_PLAYER = 24.0  # bytes
BYTES_PER_ROW_IN_FILE = 1.5  # bytes that a row takes at least, compressed


class League(NamedTuple):
    """A simulated history of matches and the strengths that made it."""

    matches: Matches
    strength: HostArray  # [num_players] at the end, on the 400-point scale
    games: HostArray  # [num_players] matches played


class Contests(NamedTuple):
    """A simulated history of rounds and the strengths that made it."""

    rounds: Ragged
    strength: HostArray  # [num_players] at the end, in points
    games: HostArray  # [num_players] rounds played


class Stream(NamedTuple):
    """A history that is simulated chunk by chunk as it is read, once; each chunk follows from the seed alone."""

    chunks: Iterator[Columns]  # about a million rows each
    strength: HostArray  # [num_players] after the chunks taken so far
    games: HostArray  # [num_players] in the chunks taken so far
    rows: int  # in all, about


class SharedSimulationOptions(TypedDict, total=False):
    """What leagues and contests share: keywords of `league`, which says what they are, and of `contests`."""

    seed: int
    days: float
    spread: float
    drift: float
    activity: float


class LeagueOptions(SharedSimulationOptions, total=False):
    """Keywords of `league`, which says what they are."""

    draws: float
    side_advantage: float
    luck: float


class ContestOptions(SharedSimulationOptions, total=False):
    """Keywords of `contests`, which says what they are."""

    noise: float
    grid: float


class Option(NamedTuple):
    """The default and the range of an option."""

    default: float
    low: float = 0.0
    high: float = MAX_ABS_TIME


WORLD = {"days": Option(1000.0), "spread": Option(300.0), "drift": Option(0.0), "activity": Option(0.0)}
LEAGUE = {"draws": Option(0.0, 0.0, 0.5), "side_advantage": Option(0.0, -MAX_ABS_TIME), "luck": Option(1.0, 0.0, 1.0)}
CONTEST = {"noise": Option(200.0), "grid": Option(0.0)}


def _option_values(options: Mapping[str, Any], table: Mapping[str, Option]) -> list[float]:
    """The values of the options in a table; ValueError for one out of its range."""
    values = {name: options.get(name, option.default) for name, option in table.items()}
    for name, value in values.items():
        _, low, high = table[name]
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low:g} to {high:g}, got {value}")
    return [*values.values()]


@enforce_argument_annotations
def league(num_players: int, num_matches: int, **options: Unpack[LeagueOptions]) -> League:
    """Players of normal strength meet at random; the result follows the logistic law of their difference.

    Args:
      num_players: at least 2.
      num_matches: at least 1, evenly over the days.
      seed: the same seed gives the same league. By default 0.
      days: the time from the first match to the last. By default 1000.
      spread: standard deviation of the strengths, in points (400 points are odds of 10 to 1). By default 300.
      drift: standard deviation of the change of a strength in a year of 365 days, in points, in at least 100 equal
        steps, for everybody at once; 0, the default: strengths are fixed.
      activity: player k plays in proportion to (k + 1)^-activity, in random order of strength; by default 0, uniform.
      draws: share of draws between equals, by default 0. The expected score E is kept, as in chess models: the
        probability of a draw is draws x 4 E (1 - E), taken evenly from a win and from a loss.
      side_advantage: in points, for player 0, who then has the side in every match. By default 0.
      luck: in [0, 1], BlatMMR's beta: the expected score is (1 - luck) / 2 + luck x the logistic law. 1, the
        default: pure skill; 0: a coin.

    Raises:
      ValueError: for a value out of range.
    """
    _check_memory(num_matches)
    stream = stream_league(num_players, num_matches, **options)
    table = _concatenate_chunks(stream.chunks)
    player = np.stack([table["a"], table["b"]], axis=1)
    return League(matches(player, table["score"], table["time"], side=table.get("side")), stream.strength, stream.games)


@enforce_argument_annotations
def contests(
    num_players: int, num_rounds: int, *, size: int | tuple[int, int], **options: Unpack[ContestOptions]
) -> Contests:
    """Players of normal strength are ranked by their performances, strength plus normal noise, in rounds.

    Luck is `noise`: without it the stronger is always ahead, and two players meet by the probit law of noise x sqrt 2.

    Args:
      num_players: at least 2.
      num_rounds: at least 1, evenly over the days.
      size: of every round, or the pair (low, high), both within: log-uniform sizes. At least 2, at most num_players.
      seed, days, spread, drift: as for `league`.
      activity: the participants of a round are drawn one after the other without replacement, player k in proportion
        to (k + 1)^-activity, in random order of strength; by default 0, uniform.
      noise: standard deviation of a performance about the strength, in points. By default 200.
      grid: performances are rounded to multiples of this, in points, so that equal ones tie; 0, the default: no ties.

    Raises:
      ValueError: for a value out of range.
    """
    _check_memory(_expected_participations(num_rounds, *_size_range(size, num_players)))
    stream = stream_contests(num_players, num_rounds, size=size, **options)
    return Contests(rounds(**_concatenate_chunks(stream.chunks)), stream.strength, stream.games)


@enforce_argument_annotations
def stream_league(num_players: int, num_matches: int, **options: Unpack[LeagueOptions]) -> Stream:
    """The matches of the same `league`, in chunks of columns a, b, score, time, and side if there is an advantage."""
    draws, side_advantage, luck = _option_values(options, LEAGUE)
    check_count("num_matches", num_matches, 1, INTEGER_LIMIT)

    def play(pick: PlayerSampler, strength: HostArray, number: HostArray, time: HostArray) -> Columns:
        a, b = pick(len(number)), pick(len(number))
        while (same := np.flatnonzero(a == b)).size:
            b[same] = pick(same.size)
        difference = strength[a] - strength[b] + side_advantage
        skill = 1.0 / (1.0 + np.exp(np.minimum(-np.log(10.0) / 400.0 * difference, 700.0)))
        expected = 0.5 * (1.0 - luck) + luck * skill
        drawn = draws * 4.0 * expected * (1.0 - expected)
        win = expected - 0.5 * drawn
        uniform = pick.random.random(len(number))
        score = 0.5 * (uniform < win) + 0.5 * (uniform < win + drawn)
        side = {"side": np.ones(len(number), np.int8)} if side_advantage else {}
        return {"a": a, "b": b, "score": score, "time": time} | side

    return _build_stream(play, num_players, num_matches, num_matches, options)


@enforce_argument_annotations
def stream_contests(
    num_players: int, num_rounds: int, *, size: int | tuple[int, int], **options: Unpack[ContestOptions]
) -> Stream:
    """The rounds of the same `contests`, best first, in chunks of columns contest, player, rank, time."""
    noise, grid = _option_values(options, CONTEST)
    check_count("num_rounds", num_rounds, 1, LAST_ID - 1)
    low, high = _size_range(size, num_players)
    log_range = np.log((high + 1) / low)

    def play(pick: PlayerSampler, strength: HostArray, number: HostArray, time: HostArray) -> Columns:
        sizes = low * np.exp(log_range * pick.random.random(len(number)))
        sizes = np.minimum(sizes.astype(np.int64), high)
        player = pick.distinct(sizes)
        performance = strength[player] + pick.random.normal(0.0, noise, len(player))
        if grid:
            performance = np.round(performance / grid)
        which = np.repeat(np.arange(len(number)), sizes)
        apart = 2.0 * np.abs(performance).max(initial=0.0) + 1.0
        order = np.argsort(which * apart - performance, kind="stable")  # by round, then best first, to parts in 10^9
        rank = count_better(which, -performance[order])
        contest = number.astype(np.int32)[which]
        return {"contest": contest, "player": player[order], "rank": rank, "time": time[which]}

    num_rows = _expected_participations(num_rounds, low, high)
    return _build_stream(play, num_players, num_rounds, num_rows, options)


def _size_range(size: Any, num_players: int) -> tuple[int, int]:
    """The smallest and the largest round."""
    to_floats("size", size)  # which refuses what is no number
    low, high = np.broadcast_to(size, 2).tolist()
    if not 2 <= low <= high <= num_players:
        raise ValueError(f"size must be from 2 to num_players, {num_players}, or such a pair, got {size}")
    return low, high


def _expected_participations(num_rounds: int, low: int, high: int) -> int:
    """About how many participations there are."""
    return int(num_rounds * (high + 1 - low) / np.log((high + 1) / low))


def _check_memory(rows: int) -> None:
    check_memory_fits(
        f"a history of {rows:,} rows", BYTES_PER_ROW_IN_MEMORY * rows, hint="; `stream` and `write` need little"
    )


@enforce_argument_annotations
def write(stream: Stream, path: FilePath, progress: Callable[[int], Any] | None = None) -> None:
    """Write a history to a file, and its truth to another, completely or not at all, in bounded memory.

    Args:
      stream: of which no chunk was taken yet.
      path: NAME.parquet, with the columns of the stream's chunks; NAME.truth.parquet gets the columns player, strength
        (at the end) and games. They are replaced if they exist.
      progress: called after every chunk with the number of matches or rounds written so far.

    Raises:
      ValueError: if the path has another ending, if chunks of the stream were taken before, or if the disk has no
        room.
      ImportError: if pyarrow is not installed.
    """
    arrow, path = table_sources.import_pyarrow(), Path(path)
    if path.suffix.lower() != ".parquet":
        raise ValueError(f"{path.name}: the name must end in .parquet")
    check_that(not stream.games.any(), "chunks of this stream were taken before; make a new one")
    need = BYTES_PER_ROW_IN_FILE * stream.rows + 16.0 * len(stream.games)
    free = disk_usage(path.absolute().parent).free or np.inf  # some file systems do not say
    check_memory_fits(f"{stream.rows:,} rows", need, free, " on the disk")

    def history() -> Iterator[Columns]:
        done = 0
        for chunk in stream.chunks:
            yield chunk
            done = int(chunk["contest"][-1]) + 1 if "contest" in chunk else done + len(chunk["time"])
            if progress is not None:
                progress(done)

    players = _split_into_chunks(np.arange(len(stream.games), dtype=np.int32))
    truth = ({"player": x, "strength": stream.strength[x], "games": stream.games[x]} for x in players)
    # The history is put in its place last: where it is, its truth is.
    with table_sources.atomic_replacement(path, path.with_name(f"{path.stem}.truth.parquet")) as (one, other):
        _write_compact_parquet(arrow, one, history())
        _write_compact_parquet(arrow, other, truth)


def _write_compact_parquet(arrow: Any, path: Path, chunks: Iterable[Columns]) -> None:
    batches = map(arrow.table, chunks)
    first = next(batches)
    compression = {name: "none" if name in PLAYER_COLUMNS else "zstd" for name in first.schema.names}
    options = compact_parquet_options(first.schema) | {"compression": compression}
    with arrow.parquet.ParquetWriter(path, first.schema, **options) as writer:
        for batch in chain([first], batches):
            writer.write_table(batch)


def _concatenate_chunks(chunks: Iterable[Columns]) -> Columns:
    every = list(chunks)
    return {name: np.concatenate([chunk[name] for chunk in every]) for name in every[0]}


def _split_into_chunks(array: HostArray) -> list[HostArray]:
    """Views of bounded length, end to end."""
    return np.array_split(array, -(-len(array) // CHUNK))


def _build_stream(
    play: Callable[..., Columns], num_players: int, num_events: int, num_rows: int, options: SharedSimulationOptions
) -> Stream:
    """The history that `play(pick, strength, number, time)` makes of events while the strengths drift."""
    check_count("num_players", num_players, 2, LAST_ID - 1)
    check_memory_fits(f"{num_players:,} players", BYTES_PER_PLAYER * num_players)
    days, spread, drift, activity = _option_values(options, WORLD)
    random = np.random.default_rng(options.get("seed", 0))
    strength, games = random.normal(0.0, spread, num_players), np.zeros(num_players, np.int64)
    pick = PlayerSampler(random, num_players, activity)
    num_chunks = min(-(-num_rows // CHUNK), num_events)
    seasons = -(-SEASONS // num_chunks) if drift else 1  # of a chunk
    if num_events * num_chunks * seasons > np.iinfo(np.int64).max:
        raise ValueError(f"a history of {num_rows:,} rows is longer than can be counted")
    bounds = np.arange(num_chunks * seasons + 1) * num_events // (num_chunks * seasons)
    step = drift * np.sqrt(days / 365.0 / (num_chunks * seasons))
    unit = days / max(1, num_events - 1)

    def season(first: int, last: int) -> Columns:
        number = np.arange(first, last)
        columns = play(pick, strength, number, number * unit)
        for name in columns.keys() & PLAYER_COLUMNS:
            np.add.at(games, columns[name], 1)
        if drift:
            for piece in _split_into_chunks(strength):
                piece += random.normal(0.0, step, len(piece))
        return columns

    def chunks() -> Iterator[Columns]:
        for k in range(0, num_chunks * seasons, seasons):
            yield _concatenate_chunks(season(*bounds[j : j + 2]) for j in range(k, k + seasons))

    return Stream(chunks(), strength, games, num_rows)
