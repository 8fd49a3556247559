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
    TEAMS,
    Reading,
    Report,
    as_known,
    check_form,
    columns,
    default_for,
    fitted,
    hint_categories,
    hint_side,
    in_teams,
    make,
    param_options,
    parse,
    period_option,
    quality_of,
    read,
    reporting,
    system_option,
)
from jaxrate.cli.fit import as_fitted
from jaxrate.events import count_teams, part
from jaxrate.text import decimals, number, table

EXAMPLES = """\b
Examples:
  jaxrate rate games.csv --system glicko2 --param tau=0.3 --side home --param side_advantage=60 --out season
  jaxrate rate may.csv --state season --out season
  jaxrate rate --state season --as-of 2026-06-01 --player Ada --predict june.csv
  jaxrate rate races.csv --contest race --participant driver --rank place
  jaxrate rate games.csv --contest game --team side --rank place --player Ada"""


@click.command(
    cls=Reading, short_help="Rate a file of matches or contests, or carry on from a saved run.", epilog=EXAMPLES
)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path())
@system_option(help="One of `jaxrate systems`.  [default: glicko; of contests elo_mmr, of teams trueskill]")
@param_options
@period_option(help="Rate in periods of this length instead of match by match.")
@columns
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Carry on from the run saved there.")
@click.option("--as-of", metavar="DATE", help="Leave out what came after it, and show the ratings as of then.")
@click.option(
    "--player",
    metavar="NAME",
    help="Print a player's matches or contests: what was expected, and the change of rating.",
)
@click.option(
    "--predict",
    metavar="FILE",
    type=click.Path(),
    help="Matches or contests to come (columns as in FILE, no score, no rank): print what is expected.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Save the run there.")
@click.option("--csv", is_flag=True, help="With --out: write the tables in CSV as well.")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="Length of the leaderboard.")
@click.option(
    "--cautious",
    type=click.FloatRange(min=0.0),
    default=0.0,
    metavar="NUMBER",
    help="Rank by the rating less so many deviations (of Elo-MMR above its limit), as 3.",
)
@reporting
def rate(
    report: Report,
    file: str | None,
    name: str | None,
    params: tuple[str, ...],
    fit: Path | None,
    period: float | None,
    options: dict[str, Any],
    state: Path | None,
    as_of: str | None,
    player: str | None,
    predict: str | None,
    out: Path | None,
    csv: bool,
    top: int,
    cautious: float,
) -> None:
    """Rate the matches or contests of FILE (Parquet, CSV or a public format): predict each, then learn from it.

    Prints the leaderboard and how good the predictions were. With --out the run is saved in a folder: ratings (one row
    per player, best first), predictions (one row per match or participation: its row in its file, the probability of
    the first player or the share of the others to be left behind, the ratings before), run.json (system and
    parameters), and the state that --state carries on from.
    """
    if file is None and state is None:
        raise ValueError("name a FILE of matches or contests, or a saved run with --state")
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; name a folder")
    if csv and out is None:
        raise ValueError("--csv goes with --out")
    saved = None if state is None else jr.load(state)
    said: list[str] = []
    changes = parse(params)
    if fit is not None:
        if saved is not None:
            raise ValueError("--params is of a new run; the one to carry on has its own")
        name, changes, period = as_fitted(fit, name, changes, period)
    system = None if saved is not None or name is None else make(name, changes, period)  # better say now what is wrong
    if saved is not None:
        system, period, options = _settings(saved, name, changes, period, options)
    if file is None:
        assert saved is not None
        rated = saved._replace(options=saved.options | {"columns": options})
        until = _until(as_of, saved.clock)
        if until is not None and saved.last is not None and until < saved.last:
            raise ValueError(f"the run in {state} goes beyond --as-of {as_of}; rate its file again with --as-of")
    else:
        data = read(report, file, options, **({} if saved is None else _names(saved)))
        until = _until(as_of, data.clock)
        if until is not None:
            data = _up_to(data, until, 0 if saved is None else len(saved.players))
        if saved is None or system is None:
            system = fitted(name or default_for(data, options), changes, period, data)
        period = check_form(report, system, data, period, file)
        if hint_categories(report, system, options):
            options = {key: x for key, x in options.items() if key not in ("category", "mixtures")}
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)  # better now than after rating
        rated, *said = rate_data(report, file, data, system, period, saved)
        sided = isinstance(data.events, jr.Matches) and data.matches.context.side is not None
        rated = rated._replace(options={"columns": options, "sided": sided})
    system, contests = rated.system, rated.contests
    n = len(rated.predictions)
    count = f"{n:,} matches" if contests is None else f"{contests:,} contests, {n:,} participations"
    count += f" of {len(rated.players):,} players"
    board = jr.leaderboard(system, rated.state, rated.players, top=top, time=until, cautious=cautious)
    parts = [f"{system.name}: {count}{'' if period is None else f' in periods of {period:g}'}", str(board)]
    parts += [_strengths(rated, board), *said]
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
    click.echo("\n\n".join(filter(None, parts)))


def _strengths(rated: jr.Rated, board: Any) -> str:
    """The strengths of the leaders against each category, if there are any."""
    if rated.categories is None:
        return ""
    columns = jr.rating_table(rated)
    row = {name: i for i, name in enumerate(columns["player"])}
    strength = columns["rating"][:, None] + np.stack([columns[f"modifier {x}"] for x in rated.categories], axis=1)
    rows = [(name, *(f"{x:.1f}" for x in strength[row[name]])) for name in board.player]
    return table(["strength against", *map(str, rated.categories)], rows, left=("strength against",))


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


# options of which new ones take the place of all
FORM = {"format", "a", "b", "score", "winner", "loser", "contest", "player", "rank", "last"}


def _names(saved: jr.Rated) -> dict[str, Any]:
    """What has ids already."""
    kinds = {} if saved.categories is None else {"categories": saved.categories}
    return {"players": saved.players} | kinds


def _settings(
    saved: jr.Rated, name: str | None, changes: dict[str, Any], period: float | None, options: dict[str, Any]
) -> tuple[jr.RatingSystem, float | None, dict[str, Any]]:
    """System, period and options of reading of the run to carry on; ValueError if others were given."""
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
    stays = {key: x for key, x in then.items() if not (key in {*FORM, "team"} and options.keys() & FORM)}
    return saved.system, saved.period, stays | options


def rate_data(
    report: Report,
    file: str,
    data: jr.Dataset,
    system: jr.RatingSystem,
    period: float | None,
    saved: jr.Rated | None = None,
) -> tuple[jr.Rated, str]:
    """Rate what was read, and say how it went."""
    hint_side(report, data, [system])
    if data.clock is None and period is None and "period" in system.params._fields:
        report.note("no column of time, so deviations do not grow; name one with --time")
    if in_teams(data) and system.name not in TEAMS:
        know = " and ".join(TEAMS)
        report.note(f"{system.name} knows no teams, so team-mates count as opponents who tie; {know} know them")
        data = as_known(system, data)
    n, contests = len(data.rows), None if isinstance(data.events, jr.Matches) else data.rounds
    new = "" if saved is None else " new"
    what = f"{n:,}{new} matches" if contests is None else f"{len(contests.player_start) - 1:,}{new} contests"
    with report.stage(f"rating {what}"):
        start = time.perf_counter()
        try:
            rated = jr.rate(system, data, period=period, onto=saved)
        except ValueError as error:
            raise ValueError(f"{Path(file).name}: {error}") from None
        seconds = time.perf_counter() - start
    if contests is not None:
        what += f", {n:,} participations"
    quality = quality_of(data, rated)
    width, digits = max(map(len, quality)) + 1, max(map(len, quality.values()))
    lines = [f"{label:<{width}}{value:>{digits}}" for label, value in quality.items()]
    return rated, "\n".join([f"{what} in {seconds:.2f} s, compilation included", *lines])


def _up_to(data: jr.Dataset, until: float, known: int) -> jr.Dataset:
    """The events before the first that is later, and their players; the first `known` stay anyway."""
    flat: Any = data.events.events if isinstance(data.events, jr.Ragged) else data.events
    keep = int(np.argmax(np.append(flat.time, np.inf) > until))
    if keep == 0:
        raise ValueError(f"no {'matches' if flat is data.events else 'contests'} are left up to --as-of")
    some = part(data.events, 0, keep)
    flat = some if isinstance(some, jr.Matches) else some.events
    stays = np.arange(len(data.players)) < known
    stays[flat.player] = True
    flat = flat._replace(player=(np.cumsum(stays, dtype=np.int32) - 1)[flat.player])
    return data._replace(
        events=flat if isinstance(some, jr.Matches) else some._replace(events=flat),
        players=data.players[stays],
        rows=data.rows[: len(flat.player)],
        contests=None if data.contests is None else data.contests[:keep],
    )


def _career(rated: jr.Rated, name: str) -> list[str]:
    """What a player went through, in words."""
    found: dict[str, Any] = jr.career(rated, name)
    times = found.pop("time")
    if rated.clock is not None:
        found = {"time": ["" if x != x else x if rated.clock == "dates" else number(x) for x in times]} | found
    digits = decimals(found["rating"])
    shown = {"score": "g", "probability": ".3f", "expected_rank": ".1f"}
    shown |= {"rating": f".{digits}f", "deviation": f".{digits}f", "change": f"+.{digits}f"}
    rows = [
        [format(x, shown[key]) if key in shown else x for key, x in zip(found, row, strict=True)]
        for row in zip(*found.values(), strict=True)
    ]
    head = [key.replace("_", " ") for key in found]
    what = "matches" if rated.contests is None else "contests"
    return [f"{name}: {len(rows):,} {what}", table(head, rows, left=("time", "opponent", "contest"))]


SHOWN = 30


def _predict(report: Report, file: str, rated: jr.Rated, until: float | None) -> tuple[list[str], dict[str, Any]]:
    """What is expected of matches or contests to come, in words and as columns."""
    given: dict[str, Any] = {"side": "a"} if rated.options.get("sided") else {}  # by the format, or by the columns
    given |= rated.options.get("columns", {})
    of_matches: tuple[str, ...] = ("a", "b", "side", "neutral", "category", "mixtures")
    of_contests: tuple[str, ...] = ("contest", "player", "team", "weight", "ceiling")
    needed = of_matches if rated.contests is None else of_contests
    options: dict[str, Any] = {key: given[key] for key in (*needed, "time") if key in given}
    data = read(report, file, options, **_names(rated), upcoming=True)
    if isinstance(data.events, jr.Matches) != (rated.contests is None):
        kinds = ("contests", "matches") if isinstance(data.events, jr.Matches) else ("matches", "contests")
        raise ValueError("{}: the run is of {}, these are {}".format(Path(file).name, *kinds))
    hint_side(report, data, [rated.system])
    data = as_known(rated.system, data)
    events: Any = data.events
    if data.clock is None:
        now = max((x for x in (until, rated.last) if x is not None), default=0.0)
        if rated.contests is None:
            events = events._replace(time=np.full_like(events.time, now))
        else:
            events = events._replace(events=events.events._replace(time=np.full_like(events.events.time, now)))
    elif data.clock != rated.clock:
        raise ValueError(f"{Path(file).name}: the times must be {rated.clock or 'left out'}, as in the run")
    guess = np.asarray(jr.predict(rated.system, rated.state, events, num_players=len(data.players)))
    guesses: dict[str, Any] = {"row": data.rows}
    if rated.contests is None:
        guesses |= dict(zip("ab", data.players[events.player].T, strict=True))
        title, head = "To come, with the probability (expected score) of a:", ["a", "b", "probability"]
        columns = [guesses["a"], guesses["b"]]
    else:
        size = np.diff(events.player_start)
        names = np.repeat(np.asarray(data.contests), size)
        guesses |= {"contest": names, "player": data.players[events.events.player]}
        guesses["expected_rank"] = 1 + (1 - guess.astype(float)) * np.repeat(count_teams(events) - 1, size)
        others = "other teams" if in_teams(data) else "others"
        title = f"To come, with the expected rank and the share of the {others} to be left behind:"
        head = ["contest", "player", "expected rank", "share"]
        columns = [guesses["contest"], guesses["player"], [f"{x:.1f}" for x in guesses["expected_rank"]]]
    rows = list(zip(*columns, [f"{p:.3f}" for p in guess], strict=True))
    shown = table(head, rows[:SHOWN], left=("a", "b", "contest", "player"))
    if len(rows) > SHOWN:
        shown += f"\n... and {len(rows) - SHOWN:,} more; --out writes them all"
    new = len(data.players) - len(rated.players)
    if new:
        report.note(f"{new} of these players have not played yet: {', '.join(map(str, data.players[-new:][:3]))}")
    return [title, shown], guesses | {"prediction": guess}
