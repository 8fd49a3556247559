"""`jaxrate simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.output_checks import check_file, check_folder
from jaxrate.cli.paths import NonEmptyPath
from jaxrate.cli.progress import ProgressReport, report_options
from jaxrate.cli.shared_options import parse_whole_number

EXAMPLES = """\b
Examples:
  jaxrate simulate league.parquet --players 1000 --matches 200000 --activity 0.8 --drift 60 --draws 0.25
  jaxrate simulate contests.parquet --players 5000 --rounds 300 --size 20-500"""


@click.command(short_help="Write a league or contests of known strengths to a file.", epilog=EXAMPLES)
@click.argument("file", metavar="FILE", type=NonEmptyPath(path_type=Path))
@click.option("--players", type=parse_whole_number, metavar="INTEGER", default=1000, show_default=True)
@click.option(
    "--matches", type=parse_whole_number, metavar="INTEGER", help="Matches of two players.  [default: 100000]"
)
@click.option("--rounds", type=parse_whole_number, metavar="INTEGER", help="Ranked contests of many players instead.")
@click.option("--size", metavar="N or LOW-HIGH", help="Rounds: participants in each, log-uniform.  [default: 10]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same history.")
@click.option("--days", type=float, default=1000.0, show_default=True, help="From the first event to the last.")
@click.option("--spread", type=float, default=300.0, show_default=True, help="Deviation of strengths, in points.")
@click.option("--drift", type=float, default=0.0, show_default=True, help="Change of strength: points per sqrt(year).")
@click.option("--activity", type=float, default=0.0, show_default=True,
              help="Player k plays in proportion to (k + 1)^-activity.")  # fmt: skip
@click.option("--draws", type=float, help="Matches: share of draws between equals.  [default: 0]")
@click.option("--side-advantage", type=float, help="Matches: points for the first player.  [default: 0]")
@click.option("--luck", type=float, help="Matches: 1 is pure skill, 0 a coin (BlatMMR's beta).  [default: 1]")
@click.option("--noise", type=float, help="Rounds: deviation of a performance, in points.  [default: 200]")
@click.option("--grid", type=float, help="Rounds: performances are rounded to this, so that they tie.  [default: 0]")
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
    """Simulate players of known strength and write their matches or rounds to FILE (Parquet), of any size.

    The truth goes to a file beside it: FILE league.parquet has league.truth.parquet, one row per player.
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
            raise ValueError(f"--{option.replace('_', '-')} does not go with --{kind}")
    world |= {option: value for option, value in used.items() if value is not None and option != kind}
    if rounds is None:
        count = 100_000 if matches is None else matches
        stream = jr.data.simulate.stream_league(players, count, **world)
    else:
        count, world["size"] = rounds, _parse_size_range(size or "10")
        stream = jr.data.simulate.stream_contests(players, count, **world)
    if file.suffix.lower() != ".parquet":
        raise ValueError(f"{file}: the name must end in .parquet")
    check_folder("FILE in", file.parent)
    file.parent.mkdir(parents=True, exist_ok=True)
    check_file("FILE", file, "league.parquet")
    with report.stage(f"simulating {count:,} {kind}", count) as update_progress:
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
