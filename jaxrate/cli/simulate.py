"""`jaxrate simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.command_framework import command
from jaxrate.cli.options import OutputFile, argument, option
from jaxrate.cli.terminal_tables import ProgressReport

MATCH_OPTIONS, CONTEST_OPTIONS = ("draws", "side_advantage", "luck"), ("size", "noise", "grid")


@command(
    argument("file", "FILE", type=OutputFile(".parquet")),
    "History",
    option("players", "NUMBER", "Number of players.", default=1000),
    option("matches", "NUMBER", "Number of matches.", default=100_000, excludes=("--rounds",)),
    option("rounds", "NUMBER", "Number of contests of many players, instead of matches."),
    option("days", "DAYS", "Length of the history.", default=1000.0),
    option("seed", "NUMBER", "Random seed.", default=0),
    "Strengths",
    option("spread", "POINTS", "Standard deviation of the strengths; 400 points are odds of 10 to 1.", default=300.0),
    option("drift", "POINTS", "Standard deviation of the change of a strength in a year of 365 days.", default=0.0),
    option("activity", "EXPONENT", "Player k plays in proportion to (k + 1)^-EXPONENT.", default=0.0),
    "Matches",
    option("draws", "SHARE", "Share of draws between equals.", default=0.0, excludes=("--rounds",)),
    option("side-advantage", "POINTS", "Advantage of the first player.", default=0.0, excludes=("--rounds",)),
    option("luck", "SHARE", "Share of skill: 1 is no luck, 0 a coin.", default=1.0, excludes=("--rounds",)),
    "Contests",
    option("size", "N or LOW-HIGH", "Participants of a contest, log-uniform.", default="10", needs="--rounds"),
    option(
        "noise", "POINTS", "Standard deviation of a performance about the strength.", default=200.0, needs="--rounds"
    ),
    option(
        "grid", "POINTS", "Performances are rounded to multiples of this; 0: no ties.", default=0.0, needs="--rounds"
    ),
    json=False,
    usual=("players", "matches", "rounds", "size", "days", "seed", "drift", "draws", "side-advantage", "luck"),
    examples=(
        "jaxrate simulate league.parquet --players 1000 --matches 200000",
        "jaxrate simulate league.parquet --activity 0.8 --drift 60 --draws 0.25",
        "jaxrate simulate contests.parquet --rounds 300 --size 20-500",
    ),
)
def simulate(
    report: ProgressReport, file: Path, players: int, matches: int, rounds: int | None, size: str,
    **world: Any,
) -> None:  # fmt: skip
    """Simulate players of known strengths, and write their matches or contests to FILE (Parquet), of any size.

    The true strengths go to a second file: league.truth.parquet for league.parquet.
    """
    unused = CONTEST_OPTIONS if rounds is None else MATCH_OPTIONS
    world = {name: x for name, x in world.items() if name not in unused}
    if rounds is None:
        kind, count = "matches", matches
        stream = jr.data.simulate.stream_league(players, count, **world)
    else:
        kind, count = "rounds", rounds
        stream = jr.data.simulate.stream_contests(players, count, size=_parse_size_range(size), **world)
    with report.stage(f"simulating {count:,} {kind}", count, is_even=True) as update_progress:
        jr.data.simulate.write(stream, file, update_progress)
    truth = file.with_suffix(".truth.parquet")
    report.note(f"wrote {count:,} {kind} of {players:,} players to {file}, and the truth to {truth}")


def _parse_size_range(text: str) -> tuple[int, int]:
    """The least and the greatest size that a text such as 10 or 20-500 says."""
    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise ValueError(f"--size {text}: write a whole number, as 10, or a range, as 20-500") from None
