"""Which system rates a file, and in which form: checks and hints before the work begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import jaxrate as jr
from jaxrate.cli.hyperparameters import Fitted
from jaxrate.cli.options import Asked
from jaxrate.cli.progress import Report

if TYPE_CHECKING:
    from jaxrate.system import Facts


class Chosen(NamedTuple):
    """What is to be rated, and how."""

    system: jr.RatingSystem
    data: jr.Dataset  # everyone on their own if the system knows no teams
    period: float | None  # the length of the rating periods


def check_asked(asked: Asked) -> None:
    """ValueError if no system can be made of what is asked for, which is better said before the file is read."""
    from jaxrate.systems.choosing import make

    if asked.name is not None:
        make(asked.name, asked.changes, foreseen(asked.columns))


def foreseen(columns: dict[str, Any]) -> Facts:
    """What the options of columns say of the data before they are read."""
    from jaxrate.system import Facts

    margin, covariates = columns.get("margin", ()), columns.get("covariates", ())
    derived = [name for name in ("rest", "form", "age") if name in columns]
    return Facts(
        categories=2 if "category" in columns else None,
        side="side" in columns,
        margin=(margin,) if isinstance(margin, str) else tuple(margin),
        covariates=(*covariates, *derived),
        seasons=(0.0,) if "season" in columns else (),
        league_season=columns.get("league_season"),
    )


def choose(
    report: Report, asked: Asked, data: jr.Dataset, file: str, *, fitting: bool = False, past: float = 1.0
) -> Chosen:
    """The system that is asked for, or that of those who name none; ValueError if it cannot rate these events so.

    Notes say what in the data changes nothing; if the side advantage is `fitting` itself, its start does not matter.
    What comes after this first share of the `past` is not looked at.
    """
    from jaxrate.systems.choosing import adapted, default_name

    changes = asked.changes if asked.fitted is None else in_seasons_of(data, asked.fitted, asked.changes)
    system = adapted(asked.name or default_name(data), changes, asked.period, data, past)
    if not fitting:
        hint_default_side(report, data, system, changes)
    return prepare(report, system, data, asked.period, file, asked.columns, fitting=fitting)


def in_seasons_of(data: jr.Dataset, fitted: Fitted, changes: dict[str, Any]) -> dict[str, Any]:
    """The changes that a file of hyperparameters asks for, without its seasons where the data have their own."""
    theirs = fitted.values.get("seasons", ())
    return {key: x for key, x in changes.items() if not (key == "seasons" and data.seasons and x == theirs)}


def prepare(
    report: Report,
    system: jr.RatingSystem,
    data: jr.Dataset,
    period: float | None,
    file: str,
    columns: dict[str, Any],
    *,
    fitting: bool = False,
) -> Chosen:
    """`choose` with a system that is made already."""
    from jaxrate.systems.choosing import as_known, those_with

    if system.events == (jr.Periods,) and period is None:
        period = system.params.period
        report.note(f"{system.name} rates rating periods, here of {period:g}; choose others with --period")
    check_fits(system, data, period)
    check_times(system, data, file)
    if idle_categories(system, columns):
        report.note(f"{system.name} takes no notice of categories; {' and '.join(those_with('categories'))} does")
    for option in idle_evidence(system, columns):
        know = " and ".join(name for name, new in jr.SYSTEMS.items() if EVIDENCE[option] in new().settings)
        report.note(f"{system.name} takes no notice of --{option.replace('_', '-')}; {know} does")
    if not fitting:
        hint_no_side(report, data, [system])
    if data.clock is None and period is None and "period" in system.params._fields:
        report.note("no column of time, so deviations do not grow; name one with --time")
    known = as_known(system, data)
    if known is not data:
        know = " and ".join(those_with("teams"))
        report.note(f"{system.name} knows no teams, so team-mates count as opponents who tie; {know} know them")
    return Chosen(system, known, period)


def check_period(data: jr.Dataset, period: float | None) -> None:
    """ValueError if these events cannot be rated in periods."""
    if period is not None and not isinstance(data.events, jr.Matches):
        raise ValueError("rating periods are of matches of two, not of contests; leave out --period")
    if period is not None and data.clock is None:
        raise ValueError("rating periods need times; name the column of time with --time")


def check_fits(system: jr.RatingSystem, data: jr.Dataset, period: float | None) -> None:
    """ValueError if the system does not rate these events, or if these have no rating periods."""
    from jaxrate.systems.choosing import make, rates

    check_period(data, period)
    if rates(system, data):
        return
    words = "matches of two" if isinstance(data.events, jr.Matches) else "contests of many players"
    fitting = [name for name in jr.SYSTEMS if rates(make(name, {}), data)]
    hint = f"; try {' or '.join(fitting)}" if fitting else ""
    raise ValueError(f"{system.name} does not rate {words}{hint}")


def check_times(system: jr.RatingSystem, data: jr.Dataset, file: str) -> None:
    """ValueError if the times of contests decrease, and the system takes notice."""
    from jaxrate.records import rating

    with naming(file):
        rating.check_times(system, data)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """A ValueError names the file, and the option that helps where events have to be sorted."""
    try:
        yield
    except ValueError as error:
        hint = ", or use --sort" if str(error).endswith("sort the contests by time") else ""
        raise ValueError(f"{Path(file).name}: {error}{hint}") from None


def idle_categories(system: jr.RatingSystem, columns: dict[str, Any]) -> bool:
    """Whether categories were named that the system takes no notice of."""
    return "category" in columns and not system.traits.categories


EVIDENCE = {  # options, and settings of systems
    "margin": "margin",
    "covariates": "covariates",
    **dict.fromkeys(("rest", "form", "age"), "covariates"),
    "season": "seasons",
    "league_season": "league_season",
}


def idle_evidence(system: jr.RatingSystem, columns: dict[str, Any]) -> list[str]:
    """The options of evidence that were given and that the system takes no notice of."""
    given = [option for option in EVIDENCE if option in columns]
    return [option for option in given if EVIDENCE[option] not in system.settings]


def hint_no_side(report: Report, data: jr.Dataset, systems: list[jr.RatingSystem]) -> None:
    """A note if nobody has the side, which is worth something to a system."""
    if not isinstance(data.events, jr.Matches) or data.matches.context.side is not None:
        return
    if any(getattr(system.params, "side_advantage", 0.0) for system in systems):
        report.note("nobody has the side, so side_advantage changes nothing; say who by --side")


def hint_default_side(report: Report, data: jr.Dataset, system: jr.RatingSystem, changes: dict[str, Any]) -> None:
    """A note of what the side is worth where nobody said, or that the system takes no notice of it."""
    from jaxrate.records.comparison_notes import has_sides

    if not has_sides(data) or "side_advantage" in changes:
        return
    points = getattr(system.params, "side_advantage", None)
    if points is None:
        know = ", ".join(name for name, new in jr.SYSTEMS.items() if "side_advantage" in new().params._fields)
        report.note(f"{system.name} takes no notice of the side; {know} do")
    else:
        fit = "jaxrate fit --free side_advantage"
        report.note(f"the side is worth {points:g} points, as usual; give --param side_advantage, or fit it: {fit}")


def warn_worse(
    report: Report, data: jr.Dataset, name: str, changes: dict[str, Any], found: dict[str, float],
    period: float | None = None, last: float = 1.0,
) -> None:  # fmt: skip
    """A note if the hyperparameters given make a system worse than equal forecasts; `found` is how well it did."""
    from jaxrate.records.quality import equal_loss

    if not changes:
        return
    measure = "log loss" if "log loss" in found else "pair inversion"
    constant = equal_loss(data, last) if measure == "log loss" else 0.5
    sign = 1.0 if measure == "log loss" else -1.0
    if np.isnan(found[measure]) or sign * found[measure] <= sign * constant:
        return
    without = jr.compare(data, [name], lengths=(period,), last=last).results[0].quality[measure]
    if sign * without < sign * found[measure]:
        given = ", ".join(f"{key}={value}" for key, value in changes.items()) if len(changes) < 4 else "what was given"
        report.note(
            f"with {given} {name} predicts worse ({measure} {found[measure]:.4f}) than without ({without:.4f}) and "
            f"than the same forecast for all ({constant:.4f}); `jaxrate systems {name}` tells units and ranges"
        )
