"""What the commands share: options, reading, making systems, progress."""

from __future__ import annotations

import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.events import count_teams
from jaxrate.text import near

PATIENCE = 2.0  # seconds before progress is shown


class Report:
    """What a command says beside its result, on standard error: progress and hints, or with --verbose timings."""

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.quiet, self.verbose = quiet, verbose

    def note(self, text: str) -> None:
        """A hint."""
        if not self.quiet:
            click.echo(f"jaxrate: {text}", err=True)

    @contextmanager
    def stage(self, text: str, total: float | None = None) -> Iterator[Callable[..., None]]:
        """Some work: what is yielded takes how much of the total is done, and perhaps how it goes.

        A terminal sees a bar if it takes long.
        """
        start, done, title = time.perf_counter(), 0.0, text
        bar: Any = None
        ended = threading.Event()

        def show() -> None:
            nonlocal bar
            if ended.wait(PATIENCE):
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
            if total is not None:
                columns += [TextColumn("left"), TimeRemainingColumn()]
            with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
                bar.add_task(title, total=total, completed=done)
                ended.wait()

        def update(amount: float, how: str = "") -> None:
            nonlocal done, title
            done, title = amount, f"{text}, {how}" if how else text
            if bar is not None and bar.tasks:
                bar.update(bar.tasks[0].id, completed=done, description=title)

        thread = threading.Thread(target=show, daemon=True)
        if sys.stderr.isatty() and not self.quiet:
            thread.start()
        try:
            yield update
        finally:
            ended.set()
            if thread.ident:
                thread.join()
        if self.verbose:
            click.echo(f"jaxrate: {text}: {time.perf_counter() - start:.2f} s", err=True)


def reporting(command: Callable[..., None]) -> Callable[..., None]:
    """Options --quiet and --verbose; the command gets a `report`."""

    @click.option("-q", "--quiet", is_flag=True, help="No progress and no hints.")
    @click.option("-v", "--verbose", is_flag=True, help="Say how long each part takes; show where an error comes from.")
    @wraps(command)
    def wrapped(*args: Any, quiet: bool, verbose: bool, **options: Any) -> None:
        command(*args, report=Report(quiet, verbose), **options)

    return wrapped


def complete_systems(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in jr.SYSTEMS if name.startswith(incomplete)]


def complete_formats(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in jr.formats.FORMATS if name.startswith(incomplete)]


def system_option(**options: Any) -> Callable[[Any], Any]:
    """--system, completed by the shell."""
    return click.option("--system", "name", shell_complete=complete_systems, metavar="NAME", **options)


def period_option(**options: Any) -> Callable[[Any], Any]:
    """--period, checked."""

    def check(context: Any, parameter: Any, value: float | None) -> float | None:
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(f"--period must be above 0, got {value:g}")
        return value

    return click.option("--period", type=float, metavar="DAYS", callback=check, **options)


def param_options(command: Callable[..., None]) -> Callable[..., None]:
    """--param as `params`, and --params as `fit`."""
    about = "Take system and hyperparameters from there, as `jaxrate fit --save` wrote them."
    file = click.option("--params", "fit", type=click.Path(path_type=Path), metavar="FILE.toml", help=about)
    about = "A hyperparameter; may be repeated."
    return click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help=about)(file(command))


COLUMNS: dict[str, dict[str, Any]] = {
    "format": {
        "help": f"A public format, which knows its own columns: {', '.join(jr.formats.FORMATS)}.",
        "metavar": "NAME",
        "shell_complete": complete_formats,
    },
    "a": {"help": "Column of the first player.  [default: a]"},
    "b": {"help": "Column of the second player.  [default: b]"},
    "score": {"help": "Column of the first player's score in [0, 1].  [default: score]"},
    "winner": {"help": "Column of the winner, instead of a, b and score.  [default: winner]"},
    "loser": {"help": "Column of the loser.  [default: loser]"},
    "contest": {"help": "Column of ranked contests of many, a row per participant.  [default: contest]"},
    "participant": {"help": "Of contests: column of the player.  [default: player]"},
    "rank": {"help": "Of contests: column of the rank, lower is better; or give --score.  [default: rank]"},
    "team": {"help": "Of contests: column of the team; who has the same plays together and shares the rank."},
    "last-rank": {"help": "Of contests: column of the last place of a tie, to be checked."},
    "ceiling": {"help": "Of contests: column of what the better performances count as."},
    "time": {"help": "Column of dates, or numbers of days.  [default: time, date or t]"},
    "side": {"help": 'Column: 1 if the first player has home or white, -1 if the second; or "a", always.'},
    "neutral": {"help": "Column: true where nobody has the side."},
    "weight": {"help": "Column: a match of weight w counts as w matches. Of contests: weight, or partial play."},
    "category": {
        "help": "Column of the category of both players, as a surface; or the two of each player's, as races.",
        "metavar": "COLUMN [COLUMN]",
        "multiple": True,
    },
    "mixture": {
        "help": "A category that stands for all others in equal parts, or as in Random=Zerg:0.5,Terran:0.5; may be "
        "repeated.",
        "metavar": "NAME[=PARTS]",
        "multiple": True,
    },
    "drop": {"help": "Leave out rows where this column is true; may be repeated.", "multiple": True},
    "sort": {"help": "Sort by time first.", "is_flag": True},
}
ARGUMENTS = {
    "participant": "player",
    "last-rank": "last",
    "mixture": "mixtures",
}  # of `jaxrate.read`, where options have other names


class Reading(click.Command):
    """A command that reads a file: --category takes one column or two, as long as another word is left for FILE."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        split: list[str] = []
        for arg in args:
            split += arg.split("=", 1) if arg.startswith("--category=") else [arg]
            if split[-3:-2] == ["--category"] != split[-5:-4] and not arg.startswith("-"):
                split.insert(-1, "--category")
        with suppress(click.UsageError):
            if isinstance(self.make_parser(context).parse_args(list(split))[0].get("file"), str):
                args = split
        return super().parse_args(context, args)


def columns(command: Callable[..., None]) -> Callable[..., None]:
    """Options that say how to read a file; the command, a `Reading`, gets those that were given as `options`."""

    @wraps(command)
    def wrapped(*args: Any, **options: Any) -> None:
        given = {name: options.pop(name.replace("-", "_")) for name in COLUMNS}
        given = {ARGUMENTS.get(name, name): x for name, x in given.items() if x not in (None, (), False)}
        if "category" in given:
            given["category"] = given["category"][0] if len(given["category"]) == 1 else list(given["category"])
        if "mixtures" in given:
            found = list(map(_mixture, given["mixtures"]))
            given["mixtures"] = dict(found)
            if len(given["mixtures"]) < len(found):
                raise ValueError("--mixture names one twice")
        command(*args, options=given, **options)

    for name, about in reversed(COLUMNS.items()):
        about = about if "is_flag" in about else {"metavar": "COLUMN"} | about
        wrapped = click.option(f"--{name}", **about)(wrapped)
    return wrapped


def _mixture(text: str) -> tuple[str, Any]:
    """NAME, NAME=A,B or NAME=A:0.3,B:0.7."""
    name, found, parts = text.partition("=")
    if not found:
        return name, None
    shares = [part.rpartition(":") if ":" in part else (part, "", "") for part in parts.split(",")]
    if not any(share for *_, share in shares):
        return name, [part for part, *_ in shares]
    try:
        given = {part: float(share) for part, _, share in shares}
        if len(given) < len(shares):
            raise ValueError
        return name, given
    except ValueError:
        raise ValueError(
            f"--mixture {text}: write as in Random, Random=Zerg,Terran or Random=Zerg:0.3,Terran:0.7"
        ) from None


@contextmanager
def noting(report: Report) -> Iterator[None]:
    """Warnings become notes."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in told:
        report.note(str(warning.message))


def read(report: Report, file: str, options: dict[str, Any], **more: Any) -> jr.Dataset:
    """The events of a file, as the options of `columns` say."""
    options = dict(options)
    chess = re.search(r"\.pgn(\.\w+)?$", file.lower()) and not more.get("upcoming")
    form = options.pop("format", "pgn" if chess else None)
    with report.stage(f"reading {Path(file).name}"), noting(report):
        if form is None:
            if Path(file).is_dir():
                raise ValueError(
                    f"{file} is a folder; say what it holds with --format ({', '.join(jr.formats.FORMATS)})"
                )
            return jr.read(file, **options, **more)
        if form not in jr.formats.FORMATS:
            known = ", ".join(jr.formats.FORMATS)
            raise ValueError(f"unknown format {form!r}{near(form, jr.formats.FORMATS)} (there are {known})")
        load = jr.formats.FORMATS[form]
        foreign = [name for name in (*options, *more) if name not in signature(load).parameters]
        if foreign:
            option = {argument: option for option, argument in ARGUMENTS.items()}.get(foreign[0], foreign[0])
            raise ValueError(f"--{option} does not go with --format {form}, which knows its own columns")
        return load(file, **options, **more)


def make(name: str, params: dict[str, Any], period: float | None = None) -> jr.RatingSystem:
    """The system of this name. If it ages by periods, their length is that of the rating periods, unless given."""
    if name not in jr.SYSTEMS:
        raise ValueError(f"unknown system {name!r}{near(name, jr.SYSTEMS)} (there are {', '.join(jr.SYSTEMS)})")
    new = jr.SYSTEMS[name]
    default = new()
    several = {key for key, value in default.settings.items() if isinstance(value, tuple)}
    params = {key: (x,) if key in several and isinstance(x, (int, float)) else x for key, x in params.items()}
    return new(**({"period": period} if period is not None and "period" in default.params._fields else {}) | params)


def fitted(name: str, changes: dict[str, Any], period: float | None, data: jr.Dataset) -> jr.RatingSystem:
    """The system of this name for these data: as many categories or outcomes as they have, unless it was told."""
    default = make(name, {})
    if "categories" in default.settings and data.categories is not None:
        changes = {"categories": len(data.categories)} | changes
    if isinstance(data.events, jr.Matches):
        changes = ({} if "weights" in changes else outcomes_of(default, data.events)) | changes
    return make(name, changes, period)


def default_for(data: jr.Dataset, options: dict[str, Any]) -> str:
    """The system of those who name none."""
    of_contests = "trueskill" if "team" in options else "elo_mmr"
    return "glicko" if isinstance(data.events, jr.Matches) else of_contests


def check_form(
    report: Report, system: jr.RatingSystem, data: jr.Dataset, period: float | None, file: str
) -> float | None:
    """The length of the periods to rate in, if any; ValueError if the system cannot rate these events so."""
    if system.events == (jr.Periods,) and period is None:
        period = system.params.period
        report.note(f"{system.name} rates rating periods, here of {period:g}; choose others with --period")
    check_fits(system, data, period)
    check_times(system, data, file)
    return period


def outcomes_of(system: jr.RatingSystem, matches: jr.Matches) -> dict[str, Any]:
    """How many scores at equal distances there are in these matches, if the system asks."""
    if "outcomes" not in system.settings:
        return {}
    score = np.asarray(matches.score)
    fits = (m for m in range(1, 11) if np.allclose(score * m, np.rint(score * m), rtol=0.0, atol=1e-4))
    return {"outcomes": next(fits, 1) + 1}


def key_of(system: jr.RatingSystem) -> Any:
    """The PRNG key of a command, if the system draws random numbers: the same every time."""
    import jax

    return None if system.rules.draw is None else jax.random.key(0)


def check_period(data: jr.Dataset, period: float | None) -> None:
    """ValueError if these events cannot be rated in periods."""
    if period is not None and not isinstance(data.events, jr.Matches):
        raise ValueError("rating periods are of matches of two, not of contests; leave out --period")
    if period is not None and data.clock is None:
        raise ValueError("rating periods need times; name the column of time with --time")


def check_times(system: jr.RatingSystem, data: jr.Dataset, file: str) -> None:
    """ValueError if the times of contests decrease, and the system takes notice."""
    from jaxrate.records.rated import check_times

    try:
        check_times(system, data)
    except ValueError as error:
        raise ValueError(f"{Path(file).name}: {error}, or use --sort") from None


def check_fits(system: jr.RatingSystem, data: jr.Dataset, period: float | None) -> None:
    """ValueError if the system does not rate these events, or if these have no rating periods."""
    check_period(data, period)
    of_matches = isinstance(data.events, jr.Matches)
    words = "matches of two" if of_matches else "contests of many players"
    if not rates(system, data):
        fitting = [key for key in jr.SYSTEMS if rates(make(key, {}), data)]
        hint = f"; try {' or '.join(fitting)}" if fitting else ""
        raise ValueError(f"{system.name} does not rate {words}{hint}")


def rates(system: jr.RatingSystem, data: jr.Dataset) -> bool:
    """Whether it rates such events, be it in rating periods."""
    kinds = (jr.Matches, jr.Periods) if isinstance(data.events, jr.Matches) else (jr.Rounds,)
    return any(kind in system.events for kind in kinds)


TEAMS = ("trueskill", "weng_lin")  # systems to which a team is one


def as_known(system: jr.RatingSystem, data: jr.Dataset) -> jr.Dataset:
    """The data, everyone for himself if the system knows no teams."""
    if system.name in TEAMS or not in_teams(data):
        return data
    rounds, flat = data.rounds, data.rounds.events
    number = np.arange(len(data.rows)) - np.repeat(rounds.player_start[:-1], np.diff(rounds.player_start))
    assert isinstance(flat, jr.Rounds)
    return data._replace(events=rounds._replace(events=flat._replace(team=number.astype(np.int32))))


def in_teams(data: jr.Dataset) -> bool:
    """Whether some play together in contests."""
    if isinstance(data.events, jr.Matches):
        return False
    return bool((count_teams(data.rounds) < np.diff(data.rounds.player_start)).any())


def schedule(system: jr.RatingSystem, events: Any, made: dict[int, Any]) -> Any:
    """The levels in which `run` rates these events, by width in `made`: narrow ones if players have much state."""
    from jaxrate.replay.compiling import blank, most
    from jaxrate.replay.schedule import plan, widths

    room = min(most(blank(system, 2)), widths()[1]) if isinstance(events, jr.Matches) else 0
    if room not in made:
        made[room] = plan(events, "levels", most=room) if room else jr.by_level(events)
    return made[room]


def parse(params: tuple[str, ...]) -> dict[str, Any]:
    """The values of --param NAME=VALUE: see `_value`."""
    values: dict[str, Any] = {}
    for text in params:
        field, found, value = (part.strip() for part in text.partition("="))
        if not found or not value:
            raise ValueError(f"--param {text}: write name=value, as in k=20")
        values[field] = tuple(map(_value, value.strip(",").split(","))) if "," in value else _value(value)
    return values


def _value(text: str) -> Any:
    """A number, none, true, false, or a name such as that of a luck function."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


def hint_side(report: Report, data: jr.Dataset, systems: list[jr.RatingSystem]) -> None:
    if not isinstance(data.events, jr.Matches):
        return
    sided = data.matches.context.side is not None
    counts = any(getattr(system.params, "side_advantage", 0.0) for system in systems)
    if sided and not counts and any("side_advantage" in system.params._fields for system in systems):
        report.note("side_advantage is 0, so the side changes nothing; try --param side_advantage=50")
    if counts and not sided:
        report.note("nobody has the side, so side_advantage changes nothing; say who by --side")


def hint_categories(report: Report, system: jr.RatingSystem, options: dict[str, Any]) -> bool:
    """Whether categories were named that the system takes no notice of."""
    idle = "category" in options and "categories" not in system.settings
    if idle:
        report.note(f"{system.name} takes no notice of categories; category_glicko does")
    return idle


def matched(data: jr.Dataset, prediction: Any) -> tuple[Any, Any, Any] | None:
    """Predictions, scores and weights, of matches and of contests of two sides; None of other contests."""
    if isinstance(data.events, jr.Matches):
        return prediction, data.matches.score, data.matches.context.weight
    sides = duels(data.rounds)
    return sides and (prediction[sides[0]], sides[1], None)


def quality_of(data: jr.Dataset, rated: jr.Rated) -> dict[str, str]:
    """How well these events were predicted, which were the last to be rated, for people to read."""
    last = rated.predictions.slice(len(rated.predictions) - len(data.rows))
    if found := matched(data, last["prediction"].to_numpy()):
        return {label: f"{value:.4f}" for label, value in scores(*found).items()}
    flat: Any = data.rounds.events
    played = rated.games - np.bincount(flat.player, minlength=len(rated.games))
    quality = standings(data.rounds, last["rating"].to_numpy(), played=played)
    return {label: percent(value) for label, value in quality.items()}


def scores(prediction: Any, score: Any, weight: Any = None) -> dict[str, float]:
    """How good predictions were."""
    p, s, w = (np.asarray(x) for x in (prediction, score, np.ones(len(score)) if weight is None else weight))
    return {
        "log loss": jr.metrics.log_loss(p, s, weight=w),
        "Brier score": jr.metrics.brier(p, s, weight=w),
        "accuracy": jr.metrics.accuracy(p, s, weight=w),
        "calibration error": calibration(p, s, w).error,
    }


def calibration(prediction: Any, score: Any, weight: Any = None) -> Any:
    """`jr.metrics.calibration`, of both sides where the first player always won (winner and loser)."""
    p, s, w = (np.asarray(x) for x in (prediction, score, np.ones(len(score)) if weight is None else weight))
    if (s == 1).all():
        p, s, w = np.concatenate([p, 1 - p]), np.concatenate([s, 1 - s]), np.tile(w, 2)
    return jr.metrics.calibration(p, s, weight=w)


def duels(rounds: jr.Ragged) -> tuple[Any, Any] | None:
    """If all contests are of two sides, the row [E] of one participant of each, and the score [E] of his side."""
    events: Any = rounds.events
    if (count_teams(rounds) != 2).any():
        return None
    first = rounds.player_start[:-1]
    won = np.where(np.maximum.reduceat(events.rank, first) > 0, 1.0, 0.5)
    return first, np.where(events.rank[first] > 0, 0.0, won)


def standings(rounds: jr.Ragged, rating: Any, *, scored: Any = None, played: Any = None) -> dict[str, float]:
    """How well ratings [sum P] before contests told who would be ahead of whom, in shares; NaN if there is no telling.

    Of all who have played before, and of those who have played in at least 5 contests. `scored` [sum P] is a mask, and
    `played` [num_players] the number of contests before these.
    """
    events: Any = rounds.events
    size, ranked = np.diff(rounds.player_start), np.maximum.reduceat(events.rank, rounds.player_start[:-1]) > 0
    which, there = np.repeat(np.arange(len(size)), size), np.repeat(ranked, size) & (True if scored is None else scored)
    before = 0 if played is None else played[events.player]
    quality = {}
    for least, who in ((1, ""), (5, ", 5plus")):
        lacking = np.broadcast_to(np.maximum(least - before, 0), which.shape)
        mask = there & np.any([(lacking == k) & jr.metrics.seen(rounds, k) for k in np.unique(lacking)], axis=0)
        some = np.bincount(which[mask]).max(initial=0) > 1
        for metric in (jr.metrics.pair_inversion, jr.metrics.rank_deviation):
            name = metric.__name__.replace("_", " ") + who
            quality[name] = metric(rounds, rating, mask=mask) if some else float("nan")
    return quality


def percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.2%}"
