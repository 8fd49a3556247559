"""`jaxrate fit`, and the files of hyperparameters that it writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.common import (
    Reading,
    Report,
    as_known,
    check_form,
    columns,
    default_for,
    fitted,
    hint_side,
    key_of,
    make,
    parse,
    period_option,
    read,
    reporting,
    system_option,
)
from jaxrate.text import table

WHY = {
    "gradient": "no step would lower it by more than rounding does",
    "no further decrease": "no step lowers it further",
    "flat": "the matches leave some of them open; free fewer",
    "validation": "the validation part got no better",
    "steps": "all steps are used up; it may fall further with more --steps",
    "diverged": "steps led away, and this is the best point seen; start elsewhere, by --param",
}


def complete_losses(context: Any, parameter: Any, incomplete: str) -> list[str]:
    from jaxrate.fitting.losses import LOSSES

    return [name for name in LOSSES if name.startswith(incomplete)]


class Fitting(Reading):
    """--free takes one name or several, as long as another word is left for FILE."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        names = {field for key in jr.SYSTEMS for field in make(key, {}).params._fields}
        split: list[str] = []
        for arg in args:
            if split[-2:-1] == ["--free"] and arg in names:
                split.append("--free")
            split += arg.split("=", 1) if arg.startswith("--free=") else [arg]
        return super().parse_args(context, split)


@click.command(
    cls=Fitting,
    short_help="Find the hyperparameters that predict a file best.",
    epilog="Example: jaxrate fit games.csv --system glicko --free c initial_deviation --save fitted.toml",
)
@click.argument("file", metavar="FILE", type=click.Path())
@system_option(help="One of `jaxrate systems`.  [default: glicko; of contests elo_mmr, of teams trueskill]")
@click.option("--free", multiple=True, metavar="NAME ...",
              help="The hyperparameters to fit.  [default: all that change smoothly and matter here]")  # fmt: skip
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE",
              help="Where to start, or what to leave a hyperparameter at; may be repeated.")  # fmt: skip
@period_option(help="Rate in periods of this length instead of match by match.")
@columns
@click.option("--loss", metavar="NAME", default="log_loss", show_default=True, shell_complete=complete_losses,
              help="What to make small: log_loss, brier or, of contests, pairwise.")  # fmt: skip
@click.option("--outlook", is_flag=True,
              help="Score what is said of win, draw and loss (trueskill), or of every score (urnings).")  # fmt: skip
@click.option("--warm-up", type=click.IntRange(min=0), default=0, metavar="GAMES",
              help="Do not score each player's first so many.")  # fmt: skip
@click.option("--validation", type=float, default=0.0, metavar="SHARE",
              help="Leave this last share out of the fit, as 0.2: it decides when to stop.")  # fmt: skip
@click.option("--starts", type=click.IntRange(min=1), default=1, show_default=True,
              help="Search from so many places, all but one at random.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@click.option("--errors", type=click.Choice(["information", "sandwich"]),
              help="Standard errors from the curvature, or also from how slopes vary.  [default: information; of "
              "contests and other losses sandwich]")  # fmt: skip
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE.toml",
              help="Write them there, for `jaxrate rate --params`.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reporting
def fit(
    report: Report,
    file: str,
    name: str | None,
    free: tuple[str, ...],
    params: tuple[str, ...],
    period: float | None,
    options: dict[str, Any],
    loss: str,
    outlook: bool,
    warm_up: int,
    validation: float,
    starts: int,
    steps: int,
    errors: str | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Find the hyperparameters with which a system predicts the matches or contests of FILE best, by their slopes.

    Every prediction is made before its result is known; the mean loss of them all is made small. Standard errors say
    how sure the hyperparameters are.
    """
    import jax

    from jaxrate.fitting.losses import named

    changes = parse(params)
    named(loss)
    if name is not None:
        make(name, changes, period)  # better say now what is wrong
    if save is not None and save.is_dir():
        raise ValueError(f"--save {save} is a folder; name a file, as fitted.toml")
    data = read(report, file, options)
    contests = not isinstance(data.events, jr.Matches)
    system = fitted(name or default_for(data, options), changes, period, data)
    period = check_form(report, system, data, period, file)
    if free and "side_advantage" not in free:
        hint_side(report, data, [system])
    data = as_known(system, data)
    events = data.events if period is None else jr.periods(data.matches, period)
    target = jr.outlook(system) if outlook else system
    with report.stage(f"fitting {system.name}", steps) as done:
        found = jr.fit(
            target,
            events,
            free=free or None,
            loss=loss,
            warm_up=warm_up,
            validation=validation,
            starts=starts,
            steps=steps,
            errors=errors,
            key=jax.random.key(0) if starts > 1 else key_of(system),
            watch=lambda step, value: done(step, f"{loss} {value:.5f}"),
        )
    if save is not None:
        _write(save, found, system, period, f"jaxrate fit {Path(file).name}: {loss} {found.loss:.6g}")
        report.note(f"saved the hyperparameters to {save}")
    if found.idle:
        report.note(f"of no effect here, and left as they are: {', '.join(found.idle)}")
    if as_json:
        click.echo(json.dumps(_plain(found, system, file, loss, period), indent=2))
        return
    count = f"{len(data.rows):,} {'participations' if contests else 'matches'} of {len(data.players):,} players"
    click.echo(f"{system.name}: {count}{'' if period is None else f' in periods of {period:g}'}\n")
    head = ["hyperparameter", "start", "fitted", "standard error", "unit"]
    rows = [
        (
            key,
            f"{getattr(system.params, key):.5g}",
            f"{getattr(found.params, key):.5g}",
            f"{found.standard_error[key]:.2g}" if key in found.free else "moved along",
            getattr(system.space, key).unit,
        )
        for key in system.params._fields
        if key in found.free or getattr(found.params, key) != getattr(system.params, key)
    ]
    click.echo(table(head, rows, left=("hyperparameter", "unit")))
    words = loss.replace("_", " ")
    click.echo(f"\n{words} {found.loss_history[0]:.5f} at the start, {found.loss:.5f} now: {WHY[found.reason]}")
    if found.validation_history is not None:
        best = int(np.argmin(found.validation_history))
        first = found.validation_history[0]
        click.echo(f"of the validation part {first:.5f} at the start, {found.validation_history[best]:.5f} now")
    click.echo(f"({len(found.loss_history) - 1} steps in {found.seconds:.1f} s, compilation included)")


def _plain(found: Any, system: jr.RatingSystem, file: str, loss: str, period: float | None) -> dict[str, Any]:
    """What JSON can say; None is what is not finite."""

    def number(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    validation = None if found.validation_history is None else [number(x) for x in found.validation_history]
    return {
        "file": file,
        "system": system.name,
        "settings": dict(system.settings),
        "period": period,
        "params": found.params._asdict(),
        "start": system.params._asdict(),
        "free": found.free,
        "idle": found.idle,
        "standard_error": {key: number(x) for key, x in found.standard_error.items()},
        "loss": loss,
        "loss_history": [number(x) for x in found.loss_history],
        "validation_history": validation,
        "converged": found.converged,
        "reason": found.reason,
        "seconds": found.seconds,
    }


# Files of hyperparameters, in TOML: those switched off, and settings that are None, are the word "none".


def _write(path: Path, found: Any, system: jr.RatingSystem, period: float | None, comment: str) -> None:
    def text(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, float):
            return repr(value)
        return json.dumps("none" if value is None else value)  # of words, whole numbers and truth the same as in TOML

    head = {"system": system.name} | ({} if period is None else {"period": period})
    parts = {"": head, "[params]": found.params._asdict(), "[settings]": dict(system.settings)}
    lines = [f"# {comment}"]
    for title, values in parts.items():
        lines += [*(["", title] if title else []), *(f"{key} = {text(value)}" for key, value in values.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_fitted(
    path: Path, name: str | None, changes: dict[str, Any], period: float | None
) -> tuple[str, dict[str, Any], float | None]:
    """System, hyperparameters and period of such a file, where they were not given."""
    of, values, length = load_params(path)
    if name not in (None, of):
        raise ValueError(f"{path} is of {of}, not {name}")
    return of, values | changes, length if period is None else period


def load_params(path: Path) -> tuple[str, dict[str, Any], float | None]:
    """The system, its hyperparameters and settings, and the length of periods; ValueError if it is no such file."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} is no TOML file: {error}") from None
    parts = [found.get(key, {}) for key in ("params", "settings")]
    if not isinstance(found.get("system"), str) or not all(isinstance(part, dict) for part in parts):
        raise ValueError(f'{path} must say system = "...", and [params], as `jaxrate fit --save` writes them')
    values = {
        key: None if x == "none" else tuple(x) if isinstance(x, list) else x for y in parts for key, x in y.items()
    }
    return found["system"], values, found.get("period")
