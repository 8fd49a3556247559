"""`jaxrate simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.help_pages import HelpCommand
from jaxrate.cli.output_path_checks import NonEmptyPath, check_output_file, check_output_folder
from jaxrate.cli.shared_options import parse_whole_number
from jaxrate.cli.terminal_tables import ProgressReport, report_options


@click.command(
    cls=HelpCommand,
    groups={
        "History": ("players", "matches", "rounds", "days", "seed"),
        "Strengths": ("spread", "drift", "activity"),
        "Matches": ("draws", "side-advantage", "luck"),
        "Contests": ("size", "noise", "grid"),
    },
    examples=(
        "jaxrate simulate league.parquet --players 1000 --matches 200000",
        "jaxrate simulate league.parquet --activity 0.8 --drift 60 --draws 0.25",
        "jaxrate simulate contests.parquet --rounds 300 --size 20-500",
    ),
)
@click.argument("file", metavar="FILE", type=NonEmptyPath(path_type=Path))
@click.option("--players", type=parse_whole_number, metavar="NUMBER", default=1000, show_default=True,
              help="Number of players.")  # fmt: skip
@click.option("--matches", type=parse_whole_number, metavar="NUMBER", help="Number of matches.  [default: 100000]")
@click.option("--rounds", type=parse_whole_number, metavar="NUMBER",
              help="Number of contests of many players, instead of matches.")  # fmt: skip
@click.option("--size", metavar="N or LOW-HIGH", help="Participants of a contest, log-uniform.  [default: 10]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="NUMBER", help="Random seed.")
@click.option("--days", type=float, default=1000.0, metavar="DAYS", help="Length of the history.  [default: 1000]")
@click.option("--spread", type=float, default=300.0, metavar="POINTS",
              help="Standard deviation of strengths.  [default: 300]")  # fmt: skip
@click.option("--drift", type=float, default=0.0, metavar="POINTS",
              help="Change of strengths, in points per sqrt(year).  [default: 0]")  # fmt: skip
@click.option("--activity", type=float, default=0.0, metavar="EXPONENT",
              help="Player k plays in proportion to (k + 1)^-EXPONENT.  [default: 0]")  # fmt: skip
@click.option("--draws", type=float, metavar="SHARE", help="Share of draws between equals.  [default: 0]")
@click.option("--side-advantage", type=float, metavar="POINTS", help="Advantage of the first player.  [default: 0]")
@click.option("--luck", type=float, metavar="SHARE", help="Share of skill: 1 is no luck, 0 a coin.  [default: 1]")
@click.option("--noise", type=float, metavar="POINTS", help="Standard deviation of performances.  [default: 200]")
@click.option("--grid", type=float, metavar="POINTS", help="Round performances to this, for ties.  [default: 0]")
@report_options
def simulate(
    report: ProgressReport,
    file: Path,
    players: int,
    matches: int | None,
    rounds: int | None,
    size: str | None,
    draws: float | None,
    side_advantage: float | None,
    luck: float | None,
    noise: float | None,
    grid: float | None,
    **world: Any,
) -> None:
    """Simulate players of known strengths, and write their matches or contests to FILE (Parquet), of any size.

    The true strengths go to a second file: league.truth.parquet for league.parquet.
    """
    match_settings: dict[str, Any] = {
        "matches": matches,
        "draws": draws,
        "side_advantage": side_advantage,
        "luck": luck,
    }
    round_settings: dict[str, Any] = {"rounds": rounds, "size": size, "noise": noise, "grid": grid}
    kind, used, unused = "rounds", round_settings, match_settings
    if rounds is None:
        kind, used, unused = "matches", match_settings, round_settings
    for option, value in unused.items():
        if value is not None:
            raise ValueError(f"--{option.replace('_', '-')} cannot be combined with --{kind}")
    world |= {option: value for option, value in used.items() if value is not None and option != kind}
    if rounds is None:
        count = 100_000 if matches is None else matches
        stream = jr.data.simulate.stream_league(players, count, **world)
    else:
        count, world["size"] = rounds, _parse_size_range(size or "10")
        stream = jr.data.simulate.stream_contests(players, count, **world)
    if file.suffix.lower() != ".parquet":
        raise ValueError(f"{file}: the name must end in .parquet")
    check_output_folder("FILE in", file.parent)
    file.parent.mkdir(parents=True, exist_ok=True)
    check_output_file("FILE", file, "league.parquet")
    with report.stage(f"simulating {count:,} {kind}", count, is_even=True) as update_progress:
        jr.data.simulate.write(stream, file, update_progress)
    truth = file.with_suffix(".truth.parquet")
    report.note(f"wrote {count:,} {kind} of {players:,} players to {file}, and the truth to {truth}")


def _parse_size_range(text: str) -> tuple[int, int]:
    """10 or 20-500."""
    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise ValueError(f"--size {text}: write a whole number, as 10, or a range, as 20-500") from None
