"""`jaxrate compare`."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import jaxrate as jr
from jaxrate.cli.choosing import check_period, foreseen, hint_no_side, in_seasons_of, naming, warn_worse
from jaxrate.cli.hyperparameters import Fitted, hint_seen, load, parse
from jaxrate.cli.options import period_option, share_option, system_option
from jaxrate.cli.paths import PathName
from jaxrate.cli.progress import Report, reporting
from jaxrate.cli.reading import Reading, columns, first_option, read
from jaxrate.cli.terminal import say
from jaxrate.text import near, number

if TYPE_CHECKING:
    from jaxrate.records.comparison_table import Comparison
    from jaxrate.system import Facts


@click.command(
    cls=Reading,
    short_help="Rate a file with every system: which predicts best?",
    epilog="Example: jaxrate compare games.csv --last 0.2 --params fitted.toml --param elo.k=20",
)
@click.argument("file", metavar="FILE", type=PathName())
@system_option(multiple=True, help="Only this one; may be repeated.  [default: all that fit]")
@click.option("--param", "params", multiple=True, metavar="[SYSTEM.]NAME=VALUE",
              help="A hyperparameter of one system, or of all that have it; may be repeated.")  # fmt: skip
@click.option("--params", "files", multiple=True, type=PathName(path_type=Path), metavar="FILE.toml",
              help="Those of one system, as `jaxrate fit --save` wrote them; may be repeated.")  # fmt: skip
@period_option(help="Length of rating periods.  [default: that of --params, or 7]")
@columns
@first_option
@share_option(
    "--last", default=1.0, help="Score this last share of the matches or contests only, as 0.2.  [default: all]"
)
@click.option("--fit", "fitting", is_flag=True,
              help="Fit each system to what comes before --last, in a minute or so; what is given stays.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reporting
def compare(
    report: Report,
    file: str,
    name: tuple[str, ...],
    params: tuple[str, ...],
    files: tuple[Path, ...],
    period: float | None,
    options: dict[str, Any],
    last: float,
    fitting: bool,
    as_json: bool,
    first: int | None,
) -> None:
    """Rate FILE with every system, matches also in rating periods, and say which predicted best.

    Each predicts every match before it learns from it. The ratings before a contest say who will be ahead of whom (pair
    inversion, the higher the better), and where everybody will come (rank deviation, the lower the better). Both are
    given for all who have played before, and for those who have played in at least 5 contests. Contests of two sides
    are scored as matches. Times are those of a second replay, compilation and schedule apart.

    What the side and margins are worth is taken from the matches before --last; where all are scored it is as much as
    usual. Beneath the table stand the hyperparameters, and what FILE says and a system does not know.
    """
    if fitting and last == 1:
        raise ValueError("--fit needs matches that are not scored; score the last ones only, as by --last 0.2")
    fits = [load(path) for path in files]
    changes = _changes(name or tuple(jr.SYSTEMS), parse(params), _by_system(fits), foreseen(options))
    period = _length(fits) if period is None else period
    data = read(report, file, options, first=first)
    lengths: tuple[float | None, ...] = (None,)
    if not isinstance(data.events, jr.Matches):
        check_period(data, period)
    elif data.clock is None:
        report.note("no column of time, so no rating periods; name one with --time")
    else:
        lengths = None, 7.0 if period is None else period
    for fit in fits:
        changes[fit.system] = in_seasons_of(data, fit, changes[fit.system])
    found = compared(report, file, data, changes, named=bool(name), lengths=lengths, last=last, timed=True, fit=fitting)
    best = {result.name: result for result in reversed(found.results)}  # of its forms
    hint_no_side(report, data, [result.system for result in best.values()])
    for of, result in best.items():
        warn_worse(report, data, of, changes[of], result.quality, result.period, last)
    hint_seen(report, fits, file, last)
    if as_json:
        say(json.dumps(_plain(found, file), indent=2))
        return
    said = ", ".join(f"{count:,} {what}" for what, count in found.counts.items())
    counted = "" if last == 1 else f", the last {found.scored:,} scored"
    say(f"{said} of {found.players:,} players{counted}\n\n{found}")


def _by_system(fits: list[Fitted]) -> dict[str, Fitted]:
    """What each system is to be given; ValueError if a system is given two."""
    found: dict[str, Fitted] = {}
    for fit in fits:
        if fit.system in found:
            raise ValueError(f"{found[fit.system].path} and {fit.path} are both of {fit.system}; compare one at a time")
        found[fit.system] = fit
    return found


def _length(fits: list[Fitted]) -> float | None:
    """The length of the rating periods in which these were fitted, if any was; ValueError if they differ."""
    lengths = sorted({fit.period for fit in fits if fit.period is not None})
    if len(lengths) > 1:
        raise ValueError(f"--params were fitted in periods of {' and '.join(map(number, lengths))}; choose by --period")
    return lengths[0] if lengths else None


def _changes(
    names: tuple[str, ...], given: dict[str, Any], fits: dict[str, Fitted], facts: Facts
) -> dict[str, dict[str, Any]]:
    """The hyperparameters to change of each system for such data, by its name."""
    from jaxrate.systems.choosing import further, make

    chosen = {name: make(name, {}, facts) for name in names}
    for name, fit in fits.items():
        if name not in chosen:
            raise ValueError(f"{fit.path} is of {name}, which --system leaves out; add --system {name}")
    known = {name: {*system.params._fields, *system.settings, *further(system)} for name, system in chosen.items()}
    changes = {name: dict(fits[name].values) if name in fits else {} for name in chosen}
    for field in sorted(given, key=lambda field: "." in field):  # those of one system last: they win
        only, dot, short = field.rpartition(".")
        named = [name for name in chosen if name == only or not dot]
        fitting = [name for name in named if short in known[name]]
        if not named:
            raise ValueError(f"--param {field}: no system {only!r} here{near(only, chosen)}")
        if not fitting:
            everything = set().union(*(known[name] for name in named))
            raise ValueError(f"{' and '.join(named)}: no parameter {short!r}{near(short, everything)}")
        for name in fitting:
            changes[name][short] = given[field]
    for name in chosen:
        make(name, changes[name], facts)  # better say now what is wrong
    return changes


def compared(
    report: Report,
    file: str,
    data: jr.Dataset,
    changes: dict[str, dict[str, Any]],
    *,
    named: bool,
    lengths: tuple[float | None, ...],
    last: float,
    timed: bool,
    fit: bool = False,
) -> Comparison:
    """`jr.compare` by systems with these changes, and notes of those that are left out unless they are `named`."""
    from jaxrate.records.comparison import candidates

    with naming(file):
        fitting, left_out = candidates(data, changes, named=named)
    for why in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name in left_out if left_out[name] == why)
        report.note(f"left out, since {why}: {names}")
    options: dict[str, Any] = dict(lengths=lengths, last=last, timed=timed, fit=fit)
    stage = report.stage(f"{'fitting and ' * fit}comparing {len(fitting)} systems", 1.0)
    with stage as done, ThreadPoolExecutor(os.cpu_count()) as workers:
        return jr.compare(data, fitting, **options, watch=done, executor=workers if fit else None)


def _plain(found: Comparison, file: str) -> dict[str, Any]:
    """What JSON can say; None is what is not finite."""
    unit = f"{[*found.counts][-1]}/s"
    results = [
        {
            "system": result.name,
            "period": result.period,
            "params": result.system.params._asdict() | dict(result.system.settings),
            **{name: None if x != x else x for name, x in result.quality.items()},
            **(
                {}
                if result.behind is None
                else {"behind": result.behind.difference, "behind_error": result.behind.error}
            ),
            unit: result.speed,
        }
        for result in found.results
    ]
    top = {"file": file, **found.counts, "players": found.players, "scored": found.scored}
    top["notes"] = found.notes
    return top | {"results": results} | ({} if found.blend is None else {"blend": found.blend._asdict()})
