"""`jaxrate rate`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.common import (
    Report,
    columns,
    hint_side,
    make,
    parse,
    period_option,
    read,
    reporting,
    scores,
    system_option,
)
from jaxrate.events import part
from jaxrate.text import number, table

EXAMPLES = """\b
Examples:
  jaxrate rate games.csv --system glicko2 --param tau=0.3 --side home --param side_advantage=60 --out season
  jaxrate rate may.csv --state season --out season
  jaxrate rate --state season --as-of 2026-06-01 --player Ada --predict june.csv"""


@click.command(short_help="Rate a file of matches, or carry on from a saved run.", epilog=EXAMPLES)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path())
@system_option(help="A rating system, as `jaxrate systems` lists them.  [default: glicko]")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A hyperparameter; may be repeated.")
@period_option(help="Rate in periods of this length instead of match by match.")
@columns
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Carry on from the run saved there.")
@click.option("--as-of", metavar="DATE", help="Leave out the matches after it, and show the ratings as of then.")
@click.option("--player", metavar="NAME", help="Print a player's matches: probability and change of rating in each.")
@click.option(
    "--predict",
    metavar="FILE",
    type=click.Path(),
    help="Matches to come (columns as in FILE, no score): print probabilities.",
)
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
    per player, best first), predictions (one row per match: its row in its file, the probability of the first player,
    both ratings before), run.json (system and parameters), and the state that --state carries on from.
    """
    if file is None and state is None:
        raise ValueError("name a FILE of matches, or a saved run with --state")
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; name a folder")
    if csv and out is None:
        raise ValueError("--csv goes with --out")
    saved = None if state is None else jr.load(state)
    system, period, options = _settings(saved, name, params, period, options)
    said: list[str] = []
    if file is None:
        assert saved is not None
        rated = saved._replace(options=saved.options | {"columns": options})
        until = _until(as_of, saved.clock)
        if until is not None and saved.last is not None and until < saved.last:
            raise ValueError(f"the run in {state} goes beyond --as-of {as_of}; rate its matches again with --as-of")
    else:
        data = read(report, file, options, **({} if saved is None else {"players": saved.players}))
        until = _until(as_of, data.clock)
        if until is not None:
            data = _up_to(data, until, 0 if saved is None else len(saved.players))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)  # better now than after rating
        rated, said = _rate(report, file, data, system, period, saved)
        sided = data.matches.context.side is not None
        rated = rated._replace(options={"columns": options, "sided": sided})
    count = f"{len(rated.predictions):,} matches of {len(rated.players):,} players"
    board = jr.leaderboard(system, rated.state, rated.players, top=top, time=until)
    parts = [f"{system.name}: {count}{'' if period is None else f' in periods of {period:g}'}", str(board), *said]
    coming: dict[str, Any] | None = None
    if player is not None:
        parts += _career(rated, player)
    if predict is not None:
        text, coming = _predict(report, predict, rated, until)
        parts += text
    if out is not None:  # all arguments have proved right, and nothing was printed yet that could fail
        with report.stage(f"writing {out}"):
            _save(out, rated, coming, csv)
        report.note(f"saved the run to {out}")
    click.echo("\n\n".join(parts))


def _save(out: Path, rated: jr.Rated, coming: dict[str, Any] | None, csv: bool) -> None:
    """The run, and the tables beside it: those of an earlier run go."""
    jr.save(out, rated)
    for stale in ("ratings.csv", "predictions.csv", "upcoming.csv", "upcoming.parquet"):
        (out / stale).unlink(missing_ok=True)
    if csv:
        jr.write(jr.rating_table(rated), out / "ratings.csv")
        jr.write(rated.predictions, out / "predictions.csv")
    if coming is not None:
        jr.write(coming, out / ("upcoming.csv" if csv else "upcoming.parquet"))


def _until(text: str | None, clock: str | None) -> float | None:
    """The end of a day or a moment, if the matches have dates; else a number on their clock."""
    if text is None:
        return None
    if clock is None:
        raise ValueError("--as-of needs times; name the column of time with --time")
    try:
        if clock == "numbers":
            moment = float(text)
            if not np.isfinite(moment):
                raise ValueError
            return moment
        when = datetime.fromisoformat(text)
    except ValueError:
        kind = "a number, as the times are" if clock == "numbers" else "a date, as in 2026-05-31"
        raise ValueError(f"--as-of {text}: write {kind}") from None
    days = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() / 86_400
    return float(np.nextafter(days + 1, 0)) if len(text) <= len("2026-05-31") else days


FORM = {"format", "a", "b", "score", "winner", "loser"}  # options of which new ones take the place of all


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
    before = dict(saved.system.settings) | saved.system.params._asdict()
    wanted = make(now.name, before | changes)
    if (wanted.params, wanted.rules) != (saved.system.params, saved.system.rules):
        kept = ", ".join(f"{key}={before[key]}" for key in changes)
        raise ValueError(f"the saved run has {kept}; carry on without --param, or rate its matches again")
    if period not in (None, saved.period):
        was = "match by match" if saved.period is None else f"in periods of {saved.period:g}"
        raise ValueError(f"the saved run was rated {was}; carry on without --period, or rate its matches again")
    then = saved.options.get("columns", {})
    stays = {key: x for key, x in then.items() if not (key in FORM and options.keys() & FORM)}
    return saved.system, saved.period, stays | options


def _rate(
    report: Report, file: str, data: jr.Dataset, system: jr.RatingSystem, period: float | None, saved: jr.Rated | None
) -> tuple[jr.Rated, list[str]]:
    """Rate what was read, and say how it went."""
    matches = data.matches
    hint_side(report, data, [system])
    if data.clock is None and period is None and "period" in system.params._fields:
        report.note("no column of time, so deviations do not grow; name one with --time")
    with report.stage(f"rating {len(matches.score):,} matches"):
        start = time.perf_counter()
        try:
            rated = jr.rate(system, data, period=period, onto=saved)
        except ValueError as error:
            raise ValueError(f"{Path(file).name}: {error}") from None
        seconds = time.perf_counter() - start
    probability = rated.predictions["prediction"].to_numpy()[-len(matches.score) :]
    quality = scores(probability, matches.score, matches.context.weight)
    new = "" if saved is None else " new"
    lines = [f"{len(matches.score):,}{new} matches in {seconds:.2f} s, compilation included"]
    lines += [f"{label:<18}{value:.4f}" for label, value in quality.items()]
    return rated, ["\n".join(lines)]


def _up_to(data: jr.Dataset, until: float, known: int) -> jr.Dataset:
    """The matches until then, and their players; the first `known` stay anyway."""
    matches = data.matches
    keep = int(np.searchsorted(matches.time, until, "right"))
    if keep == 0:
        raise ValueError("no matches are left up to --as-of")
    some = part(matches, 0, keep)
    stays = np.arange(len(data.players)) < known
    stays[some.player] = True
    player = (np.cumsum(stays, dtype=np.int32) - 1)[some.player]
    return data._replace(events=some._replace(player=player), players=data.players[stays], rows=data.rows[:keep])


def _career(rated: jr.Rated, name: str) -> list[str]:
    """A player's matches, in words."""
    games = jr.career(rated, name)
    rows = [
        (
            when if rated.clock == "dates" else number(when),
            opponent,
            f"{score:g}",
            f"{guess:.3f}",
            f"{rating:.1f}",
            f"{change:+.1f}",
        )
        for when, opponent, score, guess, rating, change in zip(*games.values(), strict=True)
    ]
    head = ["time", "opponent", "score", "probability", "rating", "change"]
    return [f"{name}: {len(rows):,} matches", table(head, rows, left=("time", "opponent"))]


SHOWN = 30


def _predict(report: Report, file: str, rated: jr.Rated, until: float | None) -> tuple[list[str], dict[str, Any]]:
    """What is expected of matches to come, in words and as columns."""
    given: dict[str, Any] = {"side": "a"} if rated.options.get("sided") else {}  # by the format, or by the columns
    given |= rated.options.get("columns", {})
    options: dict[str, Any] = {key: given[key] for key in ("a", "b", "time", "side", "neutral") if key in given}
    data = read(report, file, options, players=rated.players, upcoming=True)
    matches = data.matches
    hint_side(report, data, [rated.system])
    if data.clock is None:
        now = max((x for x in (until, rated.last) if x is not None), default=0.0)
        matches = matches._replace(time=np.full(len(matches.score), now))
    elif data.clock != rated.clock:
        raise ValueError(f"{Path(file).name}: the times must be {rated.clock or 'left out'}, as in the run")
    guess = jr.predict(rated.system, rated.state, matches, num_players=len(data.players))
    a, b = data.players[matches.player].T
    guesses = {"row": data.rows, "a": a, "b": b, "prediction": np.asarray(guess)}
    rows = [(x, y, f"{p:.3f}") for x, y, p in zip(a, b, guesses["prediction"], strict=True)]
    shown = table(["a", "b", "probability"], rows[:SHOWN], left=("a", "b"))
    if len(rows) > SHOWN:
        shown += f"\n... and {len(rows) - SHOWN:,} more; --out writes them all"
    new = len(data.players) - len(rated.players)
    if new:
        report.note(f"{new} of these players have not played yet: {', '.join(map(str, data.players[-new:][:3]))}")
    return ["To come, with the probability (expected score) of a:", shown], guesses
