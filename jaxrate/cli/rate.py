"""`jaxrate rate`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.common import Report, columns, hint_side, make, parse, read, reporting, scores, system_option
from jaxrate.events import part
from jaxrate.text import near, table

EXAMPLES = """\b
Examples:
  jaxrate rate games.csv --system glicko2 --param tau=0.3 --side home --param side_advantage=60 --out season
  jaxrate rate may.csv --state season --out season
  jaxrate rate --state season --as-of 2026-06-01 --player Ada --predict june.csv"""


@click.command(short_help="Rate a file of matches, or carry on from a saved run.", epilog=EXAMPLES)
@click.argument("file", metavar="[FILE]", required=False)
@system_option(help="A rating system, as `jaxrate systems` lists them.  [default: glicko]")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A hyperparameter; may be repeated.")
@click.option("--period", type=float, help="Rate in periods of this length (days) instead of match by match.")
@columns
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Carry on from the run saved there.")
@click.option("--as-of", metavar="DATE", help="Leave out the matches after it, and show the ratings as of then.")
@click.option("--player", metavar="NAME", help="Print a player's matches: probability and change of rating in each.")
@click.option("--predict", metavar="FILE", help="Matches to come (columns as in FILE, no score): print probabilities.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Save the run there.")
@click.option("--csv", is_flag=True, help="With --out: write the tables in CSV as well.")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="Length of the leaderboard.")
@reporting
def rate(
    report: Report,
    file: str | None,
    name: str | None,
    params: tuple[str, ...],
    period: float | None,
    options: dict[str, Any],
    state: Path | None,
    as_of: str | None,
    player: str | None,
    predict: str | None,
    out: Path | None,
    csv: bool,
    top: int,
) -> None:
    """Rate the matches of FILE (Parquet, CSV or a public format), one step ahead: predict each, then learn from it.

    Prints the leaderboard and how good the predictions were. With --out the run is saved in a folder: ratings (one row
    per player, best first), predictions (one row per match: its row in FILE, the probability that the first player had,
    both ratings before), run.json (system and parameters), and the state that --state carries on from.
    """
    if file is None and state is None:
        raise ValueError("name a FILE of matches, or a saved run with --state")
    if period is not None and not 0 < period < float("inf"):
        raise ValueError(f"--period must be above 0, got {period:g}")
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; name a folder")
    if csv and out is None:
        raise ValueError("--csv goes with --out")
    until = None if as_of is None else _day(as_of)
    saved = None if state is None else jr.load(state)
    system, period, options = _settings(saved, name, params, period, options)
    if saved is not None and until is not None and saved.last is not None and until < saved.last:
        raise ValueError(f"the run saved in {state} goes beyond --as-of {as_of}; rate its matches again with --as-of")
    if file is None:
        assert saved is not None
        rated = saved
        click.echo(f"{system.name}: {len(saved.predictions):,} matches of {len(saved.players):,} players\n")
        click.echo(jr.leaderboard(system, rated.state, rated.players, top=top, time=until))
    else:
        rated = _rate(report, file, system, period, options, saved, until, top)
    if out is not None:
        with report.stage(f"writing {out}"):
            jr.save(out, rated)
            if csv:
                jr.write(jr.rating_table(rated, until), out / "ratings.csv")
                jr.write(rated.predictions, out / "predictions.csv")
        report.note(f"saved the run to {out}")
    if player is not None:
        _print_career(rated, player)
    if predict is not None:
        coming = _predict(report, predict, rated, until)
        if out is not None:
            path = out / ("upcoming.csv" if csv else "upcoming.parquet")
            jr.write(coming, path)
            report.note(f"wrote {path}")


def _day(text: str) -> float:
    """The end of a day, a moment, or a number on the clock of the matches."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"--as-of {text}: write a date, as in 2026-05-31, or a number") from None
    days = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() / 86_400
    return float(np.nextafter(days + 1, 0)) if len(text) <= len("2026-05-31") else days


def _settings(
    saved: jr.Rated | None, name: str | None, params: tuple[str, ...], period: float | None, options: dict[str, Any]
) -> tuple[jr.RatingSystem, float | None, dict[str, Any]]:
    """System, period and options of reading: as given, or those of the run to carry on."""
    changes = parse(params)
    if saved is None:
        return make(name or "glicko", changes, period), period, options
    now = make(name or saved.system.name, {})
    if now.name != saved.system.name:
        raise ValueError(
            f"the saved run is of {saved.system.name}, not {now.name}; rate its matches again by {now.name}"
        )
    wanted = make(now.name, saved.system.params._asdict() | changes)
    if wanted.params != saved.system.params:
        kept = ", ".join(f"{key}={getattr(saved.system.params, key)}" for key in changes)
        raise ValueError(f"the saved run has {kept}; carry on without --param, or rate its matches again")
    if period not in (None, saved.period):
        was = "match by match" if saved.period is None else f"in periods of {saved.period:g}"
        raise ValueError(f"the saved run was rated {was}; carry on without --period, or rate its matches again")
    return saved.system, saved.period, saved.options | options


def _rate(
    report: Report,
    file: str,
    system: jr.RatingSystem,
    period: float | None,
    options: dict[str, Any],
    saved: jr.Rated | None,
    until: float | None,
    top: int,
) -> jr.Rated:
    """Rate a file and say how it went."""
    data = read(report, file, options, **({} if saved is None else {"players": saved.players}))
    if until is not None:
        data = _up_to(data, until)
    matches = data.matches
    hint_side(report, data, [system])
    if not matches.time.any() and period is None and "period" in system.params._fields:
        report.note("no column of time, so deviations do not grow; name one with --time")
    with report.stage(f"rating {len(matches.score):,} matches"):
        start = time.perf_counter()
        try:
            rated = jr.rate(system, data, period=period, onto=saved)
        except ValueError as error:
            raise ValueError(f"{Path(file).name}: {error}") from None
        seconds = time.perf_counter() - start
    rated = rated._replace(options=options)
    form = "" if period is None else f" in periods of {period:g}"
    after = "" if saved is None else f" after {len(saved.predictions):,} before"
    click.echo(
        f"{system.name}: {len(matches.score):,} matches{after}, {len(data.players):,} players{form}, {seconds:.2f} s "
        "(compilation included)\n"
    )
    click.echo(f"{jr.leaderboard(system, rated.state, rated.players, top=top, time=until)}\n")
    probability = rated.predictions["prediction"].to_numpy()[-len(matches.score) :]
    for label, value in scores(probability, matches.score, matches.context.weight).items():
        click.echo(f"{label:<18}{value:.4f}")
    return rated


def _up_to(data: jr.Dataset, until: float) -> jr.Dataset:
    """The matches until then."""
    time = data.matches.time
    if not time.any():
        raise ValueError("--as-of needs times; name the column of time with --time")
    keep = int(np.searchsorted(time, until, "right"))
    if keep == 0:
        raise ValueError("no matches are left up to --as-of")
    return data._replace(events=part(data.matches, 0, keep), rows=data.rows[:keep])


def _print_career(rated: jr.Rated, name: str) -> None:
    names = [str(x) for x in rated.players]
    found = [i for i, x in enumerate(names) if x == name] or [
        i for i, x in enumerate(names) if x.lower() == name.lower()
    ]
    if not found:
        raise ValueError(f"no player {name!r}{near(name, names)}")
    games = jr.career(rated, found[0])
    click.echo(f"\n{names[found[0]]}: {rated.games[found[0]]:,} matches\n")
    rows = (
        (
            when if rated.dated else f"{when:g}",
            opponent,
            f"{score:g}",
            f"{chance:.3f}",
            f"{rating:.1f}",
            f"{change:+.1f}",
        )
        for when, opponent, score, chance, rating, change in zip(*games.values(), strict=True)
    )
    click.echo(table(["time", "opponent", "score", "probability", "rating", "change"], rows, left=("time", "opponent")))


SHOWN = 30


def _predict(report: Report, file: str, rated: jr.Rated, until: float | None) -> dict[str, Any]:
    """Print what is expected of matches to come, and give it as columns."""
    kept = ("a", "b", "time", "side", "neutral")
    options: dict[str, Any] = {key: rated.options[key] for key in kept if key in rated.options}
    data = read(report, file, options, players=rated.players, upcoming=True)
    matches = data.matches
    if not matches.time.any():
        now = max(x for x in (until, rated.last, 0.0) if x is not None)
        matches = matches._replace(time=np.full(len(matches.score), now))
    guess = jr.predict(rated.system, rated.state, matches, num_players=len(data.players))
    a, b = data.players[matches.player].T
    columns = {"row": data.rows, "a": a, "b": b, "prediction": np.asarray(guess)}
    click.echo("\nTo come, with the probability (expected score) of a:\n")
    rows = [(x, y, f"{p:.3f}") for x, y, p in zip(a, b, columns["prediction"], strict=True)]
    click.echo(table(["a", "b", "probability"], rows[:SHOWN], left=("a", "b")))
    if len(rows) > SHOWN:
        click.echo(f"... and {len(rows) - SHOWN:,} more; --out writes them all")
    new = len(data.players) - len(rated.players)
    if new:
        report.note(f"{new} of these players have not played yet: {', '.join(map(str, data.players[-new:][:3]))}")
    return columns
