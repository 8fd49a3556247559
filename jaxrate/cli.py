"""The `jaxrate` command."""

import sys
import time
from pathlib import Path
from typing import Any

import click
import jax
import numpy as np

import jaxrate as jr
from jaxrate import metrics, simulate
from jaxrate.leaderboard import interval, table
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="jaxrate")
def cli() -> None:
    """Rate players from a file of results."""


@cli.command(epilog="Example: jaxrate rate games.csv --system glicko2 --param tau=0.3 --side home --out ratings")
@click.argument("file", metavar="FILE")
@click.option("--system", "name", default="glicko", show_default=True, help=f"One of {', '.join(SYSTEMS)}.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A hyperparameter; may be repeated.")
@click.option("--period", type=float, help="Rate in periods of this length (days) instead of match by match.")
@click.option("--a", help="Column of the first player.  [default: a]")
@click.option("--b", help="Column of the second player.  [default: b]")
@click.option("--score", help="Column of the first player's score in [0, 1].  [default: score]")
@click.option("--winner", help="Column of the winner, instead of a, b and score.  [default: winner]")
@click.option("--loser", help="Column of the loser.  [default: loser]")
@click.option("--time", "time_column", help="Column of dates, or numbers of days.  [default: time, date or t]")
@click.option("--side", help='Column: 1 if the first player has home or white, -1 if the second; or "a", always.')
@click.option("--neutral", help="Column: true where nobody has the side.")
@click.option("--weight", help="Column: a match of weight w counts as w matches.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave out rows where it is true; may be repeated.")
@click.option("--sort", is_flag=True, help="Sort by time first.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write ratings and predictions there.")
@click.option("--format", "suffix", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True)
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="Length of the leaderboard.")
def rate(
    file: str,
    name: str,
    params: tuple[str, ...],
    period: float | None,
    out: Path | None,
    suffix: str,
    top: int,
    time_column: str | None,
    **columns: Any,
) -> None:
    """Rate the matches of FILE (Parquet or CSV), one step ahead: predict each match, then learn from it.

    Prints the leaderboard and how good the predictions were. With --out, writes DIR/ratings (one row per player, best
    first) and DIR/predictions (one row per match: its row in FILE, its time in days, the probability the first player
    had).
    """
    if period is not None and not 0 < period < float("inf"):
        raise ValueError(f"--period must be above 0, got {period:g}")
    system = _system(name, params)
    if period is not None and "period" in system.params._fields and not any(x.startswith("period=") for x in params):
        system = _system(name, (*params, f"period={period}"))
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; name a folder")
    data = jr.read(file, time=time_column, **columns)
    matches = data.matches
    if matches.context.side is not None and system.params.side_advantage == 0:
        click.echo("jaxrate: side_advantage is 0, so the side changes nothing; try --param side_advantage=50", err=True)
    if not matches.time.any():
        if period is not None:
            raise ValueError("--period needs a column of time; name it with --time")
        if "period" in system.params._fields:
            click.echo("jaxrate: no column of time, so deviations do not grow; name one with --time", err=True)
    start = time.perf_counter()
    result = jax.block_until_ready(jr.run(system, matches if period is None else jr.periods(matches, period)))
    seconds = time.perf_counter() - start
    form = "" if period is None else f" in periods of {period:g}"
    click.echo(
        f"{system.name}: {len(matches.score):,} matches of {len(data.players):,} players{form}, {seconds:.2f} s "
        "(compilation included)\n"
    )
    click.echo(f"{jr.leaderboard(system, result.state, data.players, top=top)}\n")
    scores = _scores(result.prediction, matches.score, matches.context.weight)
    click.echo("\n".join(f"{label:<18}{value:.4f}" for label, value in scores.items()))
    if out is not None:
        rating = jr.ratings(system, result.state)
        games = np.bincount(matches.player.ravel(), minlength=len(data.players))
        best = np.argsort(-np.asarray(rating.mean), kind="stable")
        ratings = {"player": data.players[best], "rating": np.asarray(rating.mean)[best], "games": games[best]}
        if rating.deviation is not None:
            ratings["deviation"] = np.asarray(rating.deviation)[best]
        names = {"row": data.rows} | {side: data.players[matches.player[:, i]] for i, side in enumerate("ab")}
        guess = {"time": matches.time, "score": matches.score, "prediction": np.asarray(result.prediction)}
        out.mkdir(parents=True, exist_ok=True)
        for title, columns in (("ratings", ratings), ("predictions", names | guess)):
            jr.write(columns, out / f"{title}.{suffix}")
            click.echo(f"wrote {out / f'{title}.{suffix}'}")


@cli.command(epilog="Example: jaxrate demo --players 1000 --matches 50000")
@click.option("--players", type=click.IntRange(min=2), default=5000, show_default=True)
@click.option("--matches", type=click.IntRange(min=1), default=200_000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def demo(players: int, matches: int, seed: int) -> None:
    """Simulate a league with known strengths, rate it with every system, and compare with the truth.

    Some players play far more than others, strengths drift, and matches between equals are drawn a quarter of the time.
    """
    league = simulate.league(players, matches, seed=seed, activity=0.8, drift=60.0, draws=0.25)
    click.echo(f"A league of {players:,} players and {matches:,} matches over 1,000 days (seed {seed})\n")
    played, plan = league.games > 0, jr.by_level(league.matches)
    rows: list[Any] = []
    best: tuple[float, Any] = float("inf"), None
    for make in SYSTEMS.values():
        system = make()
        result, seconds = _timed(system, league.matches, plan)
        scores = _scores(result.prediction, league.matches.score)
        mean = np.asarray(jr.ratings(system, result.state).mean)
        truth = np.corrcoef(mean[played], league.strength[played])[0, 1]
        speed = f"{matches / seconds / 1e6:.1f} million"
        rows.append((system.name, f"{scores['log loss']:.4f}", f"{scores['accuracy']:.4f}", f"{truth:.3f}", speed))
        board = jr.leaderboard(system, result.state, top=10)
        if board.deviation is not None and scores["log loss"] < best[0]:
            best = scores["log loss"], (system.name, board)
    click.echo(table(["system", "log loss", "accuracy", "correlation with truth", "matches/s"], rows))
    name, board = best[1]
    true_rank = np.empty(players, int)
    true_rank[np.argsort(-league.strength)] = np.arange(1, players + 1)
    lines = [
        (rank, f"player {i}", f"{mean:.0f}", interval(mean, spread), f"{1500 + league.strength[i]:.0f}", true_rank[i])
        for rank, i, mean, spread in zip(*board, strict=True)
    ]
    click.echo(f"\nThe best of {players:,} by {name}, beside the truth:\n")
    click.echo(table(["rank", "player", "rating", "95 % interval", "true strength", "true rank"], lines))


def _system(name: str, params: tuple[str, ...]) -> RatingSystem:
    """The system with `name=value` overrides."""
    if name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}; there are {', '.join(SYSTEMS)}")
    changes: dict[str, float | None] = {}
    for text in params:
        field, equals, value = text.partition("=")
        try:
            changes[field] = None if value.lower() == "none" else float(value)
        except ValueError:
            raise ValueError(f"--param {text}: write name=value with a number, as in k=20") from None
        if not equals:
            raise ValueError(f"--param {text}: write name=value with a number, as in k=20")
    return SYSTEMS[name](**changes)


def _timed(system: RatingSystem, matches: Any, plan: Any) -> tuple[Any, float]:
    """A run, and the seconds of the best of three further ones (compiled, and with the schedule made)."""
    result, seconds = jax.block_until_ready(jr.run(system, matches, schedule=plan)), float("inf")
    for _ in range(3):
        start = time.perf_counter()
        jax.block_until_ready(jr.run(system, matches, schedule=plan))
        seconds = min(seconds, time.perf_counter() - start)
    return result, seconds


def _scores(prediction: Any, score: Any, weight: Any = None) -> dict[str, float]:
    return {
        "log loss": metrics.log_loss(prediction, score, weight=weight),
        "Brier score": metrics.brier(prediction, score, weight=weight),
        "accuracy": metrics.accuracy(prediction, score, weight=weight),
        "calibration error": metrics.calibration(prediction, score, weight=weight).error,
    }


def main() -> None:
    """Run the command: a mistake of the user's is one line on standard error and exit code 2."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message())
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except (click.ClickException, ValueError, ImportError, OSError) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo(f"jaxrate: {message.replace('sort=True', '--sort')}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
