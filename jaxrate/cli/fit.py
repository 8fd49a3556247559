"""`jaxrate fit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.choosing import check_asked, choose
from jaxrate.cli.hyperparameters import write
from jaxrate.cli.options import Asked, asking
from jaxrate.cli.progress import Report, reporting
from jaxrate.cli.reading import Reading, read
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
        names = {field for make in jr.SYSTEMS.values() for field in make().params._fields}
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
@click.option("--free", multiple=True, metavar="NAME ...",
              help="The hyperparameters to fit.  [default: all that change smoothly and matter here]")  # fmt: skip
@asking("Where to start, or what to leave a hyperparameter at; may be repeated.", files=False)
@click.option("--loss", metavar="NAME", default="log_loss", show_default=True, shell_complete=complete_losses,
              help="What to make small: log_loss, brier or, of contests, pairwise.")  # fmt: skip
@click.option("--outlook", is_flag=True,
              help="Score what a system says in full, of win, draw and loss, or of every score.")  # fmt: skip
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
    free: tuple[str, ...],
    asked: Asked,
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
    from jaxrate.records.comparison import fixed_key

    named(loss)
    if save is not None and save.is_dir():
        raise ValueError(f"--save {save} is a folder; name a file, as fitted.toml")
    check_asked(asked)
    data = read(report, file, asked.columns)
    fitting = not free or "side_advantage" in free
    system, data, period = choose(report, asked, data, file, fitting=fitting)
    contests = not isinstance(data.events, jr.Matches)
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
            key=jax.random.key(0) if starts > 1 else fixed_key(system),
            watch=lambda step, value: done(step, f"{loss} {value:.5f}"),
        )
    if save is not None:
        write(save, found, system, period, f"jaxrate fit {Path(file).name}: {loss} {found.loss:.6g}")
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
