"""Fuzz the readers and builders of events with hostile tables and arguments.

    python -m tests.fuzz.readers --minutes 60 --seed 1

A case gives hostile data to one door. It must give valid events, or a ValueError that names a row, a column or an
argument; nothing else, nothing that takes long, and nothing that takes memory out of proportion.
"""

import json
import re
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

import jaxrate as jr
from jaxrate.data import formats
from jaxrate.data.dataset_from_table import read_by_cli_options
from tests.fuzz.driver import by_hand
from tests.fuzz.tables import NASTY, NUMBERS, ODD, as_source, broken, drawn_table, pick

PLACE = re.compile(
    r"row|line|column|contest|player|round|team|entry|standings|score|time|side|weight|categor|mixture|period|file|folder"
    r"|name|option|argument|rank|ceiling|length|shape|header|must|give|the source|\.parquet|\.csv|\.json|\.pgn|Arrow"
)
SECONDS, MEMORY = 10.0, 1 << 27  # of a case, whose data have some kilobytes


def fuzz_read(random, folder):
    table, arguments = drawn_table(random)
    source = as_source(random, table, folder)
    return None if source is None else read_by_cli_options(source, arguments, arguments.pop("history", None))


def array(random, shape):
    """An array of a shape; mostly numbers that fit."""
    made = pick(random, [np.zeros, np.ones])(shape) * pick(random, [0, 1, 0.5, 1e300, np.nan, np.inf, -1, 2**40])
    if random.random() < 0.6:
        made = random.integers(0, 3, shape)
    if random.random() < 0.15 and made.size:
        made = made.astype(float)
        made.flat[random.integers(made.size)] = pick(random, [np.nan, np.inf, -np.inf, -1, 1e300, 5e-324, 2.0**62])
    kind = pick(random, [None] * 5 + [bool, np.int8, np.uint64, np.float16, object, str, "M8[D]", complex])
    return made if kind is None else made.astype(kind)


def optional(random, shape):
    return None if random.random() < 0.6 else array(random, shape) if random.random() < 0.85 else array(random, (3, 1))


def hostile_matches(random, n):
    player = np.stack([random.integers(0, 4, n), random.integers(4, 9, n)], axis=1)
    return jr.matches(
        player if random.random() < 0.7 else array(random, (n, 2)),
        array(random, n) if random.random() < 0.4 else random.integers(0, 3, n) / 2,
        np.sort(random.normal(size=n)) if random.random() < 0.3 else optional(random, n),
        side=optional(random, n),
        weight=optional(random, n),
        category=pick(random, [optional(random, n), optional(random, (n, 2)), optional(random, (n, 2, 3))]),
        columns=pick(random, [None, None, {"x": array(random, n)}, {1: array(random, n)}, [], 3]),
    )


def fuzz_matches(random, folder):
    return hostile_matches(random, int(pick(random, [0, 1, 5, 30])))


def fuzz_periods(random, folder):
    n = int(pick(random, [0, 1, 5, 30]))
    time_ = np.sort(random.normal(size=n) * 10.0 ** random.integers(-10, 11))
    player = np.stack([random.integers(0, 4, n), random.integers(4, pick(random, [9, 2**31 - 1]), n)], axis=1)
    made = jr.matches(player, np.ones(n), time_)
    lengths = [1, 7.0, 0, -1, np.nan, np.inf, 5e-324, 1e300, 1e-300, "7", None, True, np.array([1, 2]), 10**400]
    length = pick(random, lengths)
    return jr.periods(made, length, period=optional(random, n) if random.random() < 0.3 else None)


def fuzz_rounds(random, folder):
    n = int(pick(random, [0, 1, 5, 30]))
    contest = np.sort(random.integers(0, 4, n)) if random.random() < 0.8 else array(random, n)
    player = np.arange(n) if random.random() < 0.7 else array(random, n)
    rank = random.integers(0, 5, n) if random.random() < 0.7 else array(random, n)
    kinds = {name: optional(random, n) for name in ("team", "weight", "time", "ceiling")}
    return jr.rounds(contest, player, rank, **kinds)


def fuzz_teams(random, folder):
    def team():
        odd = ODD if random.random() < 0.1 else []
        return [pick(random, ["p1", "p2", "p3", "p4", "p5", *odd]) for _ in range(random.integers(1, 3))]

    def one():
        return pick(random, [*NUMBERS, *ODD]) if random.random() < 0.1 else int(random.integers(4))

    if random.random() < 0.2:
        return jr.data.from_teams(pick(random, [3, None, "abc", [3], [["a"], 3], [[]], {}, np.zeros((2, 2, 2))]))
    rounds = [[team() for _ in range(random.integers(0, 4))] for _ in range(random.integers(0, 4))]
    ranks = [[one() for _ in teams] for teams in rounds] if random.random() < 0.6 else None
    weights = [[[one() for _ in names] for names in teams] for teams in rounds] if random.random() < 0.3 else None
    time = list(range(len(rounds))) if random.random() < 0.3 else None
    return jr.data.from_teams(rounds, ranks, weights=weights, time=time)


TENNIS = "tourney_date,winner_id,winner_name,loser_id,loser_name,score,round\n"
FOOTBALL = "date,home_team,away_team,home_score,away_score,neutral\n"
PGN = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n[Date "2020.01.01"]\n\n1. e4\n\n'
SAMPLES = {
    "tennis": ("atp_matches_1.csv", TENNIS + "20200101,1,A,2,B,6-0,F\n20200202,2,B,3,C,W/O,QF\n"),
    "football": ("results.csv", FOOTBALL + "2020-01-01,A,B,1,0,TRUE\n2020-01-02,B,C,NA,NA,FALSE\n"),
    "pgn": ("x.pgn", PGN + PGN.replace('"1-0"', '"1/2-1/2"').replace("Date", "UTCDate").replace("01.01", "??.??")),
    "lichess": ("games.csv", "id,created_at,winner,white_id,black_id\nx,1.5E+12,white,A,B\ny,1500000000000,draw,B,C\n"),
    "movielens": ("ratings.csv", "userId,movieId,rating,timestamp\n1,2,4.0,964982703\n1,3,2.5,964981247\n"),
    "ergast": ("results.csv", "resultId,raceId,driverId,position,positionText\n1,5,1,1,1\n2,5,2,2,2\n3,5,3,R,R\n"),
    "contests": ("0.json", ""),
}
BESIDE = {
    "races.csv": "raceId,year,round,date\n5,2021,2,2021-03-28\n",
    "drivers.csv": "driverId,forename,surname\n1,K,R\n2,A,L\n3,B,E\n",
}


def fuzz_formats(random, folder):
    name = pick(random, list(SAMPLES))
    file, text = SAMPLES[name]
    if name == "contests":
        entries = [[f"p{i}", i, i] for i in range(4)]
        odd = [*(x for x in NUMBERS if x is None or abs(x) < 1e300), "x"]
        entries[random.integers(4)][random.integers(3)] = pick(random, odd)
        found = {"time_seconds": pick(random, [1, 0, -1, 10**30, 1.5, None]), "standings": entries}
        found |= pick(random, [{}, {"weight": pick(random, NUMBERS)}, {"perf_ceiling": pick(random, NUMBERS)}])
        text = json.dumps(found)
    for other, plain in BESIDE.items() if name == "ergast" else ():
        (folder / other).write_bytes(broken(random, plain.encode()))
    if name != "contests" and random.random() < 0.5:  # a cell becomes a nasty one
        cells = re.split(r"([,\n\"])", text)
        cells[int(random.integers(len(cells)))] = pick(random, [x for x in NASTY if len(x) < 500])
        text = "".join(cells)
    (folder / file).write_bytes(broken(random, text.encode("utf-8", "surrogatepass")))
    return formats.FORMATS[name](folder if name in ("contests", "ergast") else folder / file)


DOORS = [fuzz_read] * 4 + [fuzz_matches, fuzz_periods, fuzz_rounds, fuzz_teams, fuzz_formats, fuzz_formats]


def check(found):
    """AssertionError unless events are valid: finite, ids in range, in order."""
    events, count = (found.events, len(found.players)) if isinstance(found, jr.data.Dataset) else (found, None)
    flat = events.events if isinstance(events, jr.extend.Ragged) else events
    context = getattr(flat, "context", None) or jr.extend.Context()
    leaves = flat.player, flat.time, *(getattr(flat, name, None) for name in ("score", "rank", "weight")), *context[:3]
    assert all(np.isfinite(leaf).all() for leaf in leaves if leaf is not None), "not finite"
    columns = context.columns or {}
    lacking = columns if count is None else found.statistics  # of what was counted some may be missing
    assert not any(np.isinf(x).any() or (name not in lacking and np.isnan(x).any()) for name, x in columns.items())
    player = np.asarray(flat.player)
    assert player.dtype == np.int32 and (player >= 0).all(), "ids"
    if count is not None:
        assert player.max(initial=-1) < count and len(set(found.players.tolist())) == count, "names"
        first = player[:, 0] if player.ndim == 2 else player
        seats = {*zip(found.rows.tolist(), first.tolist(), strict=True)}  # a line-up stands in one row
        assert len(found.rows) == len(player) == len(seats), "rows"
    if isinstance(flat, jr.Rounds):
        assert (np.asarray(flat.rank) >= 0).all() and (np.asarray(flat.weight) > 0).all()
        assert flat.ceiling is None or not np.isnan(flat.ceiling).any()
    else:
        assert (np.diff(flat.time) >= 0).all(), "order"
        score = np.asarray(flat.score)
        assert ((score >= 0) & (score <= 1)).all(), "score"
        if isinstance(flat, jr.Matches):
            assert (player[:, 0] != player[:, 1]).all(), "both sides"
    return len(player)


def fuzz(random):
    """One case: a door and what it is given. How many calls were made."""
    door = pick(random, DOORS)
    tracemalloc.start()  # and never stopped: in Python 3.11 a native thread that allocates meanwhile would crash
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        begin = time.process_time()  # whatever else the machine does
        try:
            found = door(random, Path(folder))
        except ValueError as error:
            said = str(error)
            assert said and PLACE.search(said), f"{door.__name__} names no place: {said!r}"
            assert len(said) < 20_000, f"{door.__name__}: a message of {len(said):,} characters"
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said), f"{door.__name__}: {said!r}"
            found = None
        except Exception as error:
            raise RuntimeError(f"{door.__name__} raised {type(error).__name__}: {str(error)[:200]}") from error
        finally:
            peak = tracemalloc.get_traced_memory()[1] - held
        took = time.process_time() - begin
        assert took < SECONDS, f"{door.__name__} took {took:.1f} s"
        assert peak < MEMORY, f"{door.__name__} took {peak / 1e6:.0f} MB"
        if found is not None:
            check(found)
    return 1


if __name__ == "__main__":
    by_hand(fuzz, __doc__)
