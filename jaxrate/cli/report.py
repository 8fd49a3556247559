"""`jaxrate report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.common import (
    Reading,
    Report,
    as_known,
    calibration,
    check_form,
    columns,
    complete_systems,
    default_for,
    fitted,
    hint_categories,
    make,
    matched,
    param_options,
    parse,
    period_option,
    quality_of,
    read,
    reporting,
    system_option,
)
from jaxrate.cli.compare import candidates, check_last, compared
from jaxrate.cli.fit import as_fitted
from jaxrate.cli.rate import rate_data

FEW = ("elo", "glicko", "glicko2", "trueskill", "elo_mmr", "codeforces")  # to compare with, if they rate the events
OTHERS = f"A system to compare with; may be repeated.  [default: those of {', '.join(FEW)} that fit]"


@click.command(
    cls=Reading,
    short_help="Write a page about a file: leaderboard, players, pairs.",
    epilog="Example: jaxrate report games.csv --system glicko2 --out report.html --player Ada",
)
@click.argument("file", metavar="FILE", type=click.Path())
@system_option(help="One of `jaxrate systems`.  [default: glicko; of contests elo_mmr, of teams trueskill]")
@param_options
@period_option(help="Rate in periods of this length instead of match by match.")
@columns
@click.option("--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True,
              metavar="FILE.html", help="Write the page there.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=0), default=50, show_default=True,
              help="So many of the best players have pages of their own.")  # fmt: skip
@click.option("--player", "players", multiple=True, metavar="NAME", help="Another who has one; may be repeated.")
@click.option("--compare", "others", multiple=True, shell_complete=complete_systems, metavar="NAME", help=OTHERS)
@click.option("--last", type=float, default=0.2, show_default=True, metavar="SHARE",
              help="Compare by this last share of the matches or contests.")  # fmt: skip
@reporting
def report(
    report: Report,
    file: str,
    name: str | None,
    params: tuple[str, ...],
    fit: Path | None,
    period: float | None,
    options: dict[str, Any],
    out: Path,
    top: int,
    players: tuple[str, ...],
    others: tuple[str, ...],
    last: float,
) -> None:
    """Rate the matches or contests of FILE as `jaxrate rate` does, and write what came of it as one page of HTML.

    The page is a single file that needs no network: a leaderboard to search and sort, trajectories and matches of the
    best players, what is predicted of any two, calibration, and how other systems do.
    """
    from jaxrate.records.rated import find
    from jaxrate.records.report import Comparison, installed

    if out.is_dir():
        raise ValueError(f"--out {out} is a folder; name a file, as report.html")
    if not out.parent.is_dir():
        raise ValueError(f"--out {out}: there is no folder {out.parent}")
    check_last(last)
    installed()
    changes = parse(params)
    if fit is not None:
        name, changes, period = as_fitted(fit, name, changes, period)
    if name is not None:
        make(name, changes, period)  # better say now what is wrong
    for key in others:
        make(key, {})
    data = read(report, file, options)
    for player in players:
        find(data.players, player)
    name = name or default_for(data, options)
    system = fitted(name, changes, period, data)
    period = check_form(report, system, data, period, file)
    hint_categories(report, system, options)
    rated, _ = rate_data(report, file, data, system, period)
    data = as_known(system, data)
    versus: dict[str, dict[str, Any]] = {key: {} for key in others or FEW} | {name: changes}
    fitting = candidates(report, file, data, versus, told=bool(others))
    task, results = compared(report, data, {key: versus[key] for key in fitting}, (period,), last)
    what, count = next(iter(task.counts.items()))
    form = "" if period is None else f" Rated in periods of {period:g}."
    given = f", except those of {name}" if changes else ""
    comparison = Comparison(
        f"Scored on the last {task.scored:,} of {count:,} {what}.{form} Hyperparameters are the default ones{given}.",
        ["system", *results[0].quality],
        [[result.about["system"], *map(task.show, result.quality.values())] for result in results],
    )
    found = matched(data, rated.predictions["prediction"].to_numpy())
    with report.stage("making the page"):
        page = jr.report(
            rated,
            title=Path(file).name,
            top=top,
            players=players,
            quality=quality_of(data, rated),
            calibration=None if found is None else calibration(*found),
            comparison=comparison,
        )
    out.write_text(page, encoding="utf-8")
    click.echo(f"{out}: {len(rated.players):,} players, {out.stat().st_size / 1e6:.1f} MB; open it in a browser")
