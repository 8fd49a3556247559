"""Matches in Parquet files, more than fit into memory: rated by chunks into a folder, from which a run goes on."""

import errno
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import Key, check_arguments
from jaxrate.data.column_roles import Roles
from jaxrate.data.parquet_table import ParquetTable, find_parquet_table
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.data.table_writing import write
from jaxrate.events import Matches, Periods, period_number
from jaxrate.league.out_of_core.checkpoints import CHECKPOINT_FILE, read_checkpoint, write_checkpoint
from jaxrate.league.out_of_core.chunk_pipeline import (
    PREDICTIONS_FOLDER,
    ChunkedRun,
    RunProgress,
    part_file_name,
    rate_chunks,
)
from jaxrate.league.out_of_core.match_chunks import open_matches, resolve_match_roles
from jaxrate.league.out_of_core.stop_signals import catch_stop_signals
from jaxrate.league.player_history import rating_table
from jaxrate.league.rated_history import Rated
from jaxrate.league.run_description import describe_run
from jaxrate.metrics.running_metrics import MetricSums, metrics_from_sums
from jaxrate.replay.state import check_kind, leaves_by_name
from jaxrate.storage.atomic_folder import lock_folder
from jaxrate.storage.run_validation import restore_state
from jaxrate.system import RatingSystem, State, check_system
from jaxrate.types import Array, HostArray

LOG = logging.getLogger(__name__)
CHUNK_MATCHES = 1 << 20  # matches
DUCKDB_MEMORY = "2GB"
CHECKPOINT_SECONDS = 60.0  # seconds between checkpoints
CHECKPOINT_WORK_RATIO = 20.0  # so many times as long as writing one takes, at the least, is worked before the next
ORDERED_FOLDER = ".ordered"
LEFTOVER_PATTERN = re.compile(
    r"\.(checkpoint|ratings\.parquet|part-\d+\.parquet)\.\d+\.tmp"
)  # what a process that was killed left
GAMES_KEY, NAMES_KEY = "players.games", "players.names"  # in a checkpoint, beside leaves of the state
WORK_KINDS = ("ordering", "reading", "scheduling", "rating", "writing")  # of work


class RatedFiles(NamedTuple):
    """What `rate_files` leaves behind. The predictions are in the folder."""

    system: RatingSystem
    state: State  # leaves [num_players, ...]
    players: HostArray  # [num_players] names in order of id
    games: HostArray  # [num_players] matches played
    matches: int
    last: float | None  # the time of the last match; None if there are no times
    clock: str | None  # of the times, as in `Dataset`
    period: float | None  # the length of the rating periods; None: match by match
    quality: dict[str, float]  # the measures of `metrics.scores` by name
    seconds: dict[str, float]  # of each kind of work in this call, which overlap, and "all"
    folder: Path

    def __repr__(self) -> str:
        counted = f"{self.matches:,} matches of {len(self.players):,} players"
        return f"RatedFiles: {counted} in {self.folder}, log loss {self.quality['log loss']:.4f}"


@check_arguments
def rate_files(
    system: RatingSystem,
    source: Any,
    out: str | os.PathLike[str],
    *,
    a: str | None = None,
    b: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    score: str | None = None,
    time: str | None = None,
    side: str | None = None,
    neutral: str | None = None,
    weight: str | None = None,
    margin: str | Sequence[str] = (),
    covariates: str | Sequence[str] = (),
    statistics: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    shares: Mapping[str, Sequence[str]] | None = None,
    columns: str | Sequence[str] = (),
    period: float | None = None,
    chunk: int = CHUNK_MATCHES,
    brief: bool = False,
    resume: bool = False,
    key: Key | None = None,
    memory: str = DUCKDB_MEMORY,
    progress: Callable[[int], Any] | None = None,
) -> RatedFiles:
    """Rate matches in Parquet files of any size, a chunk at a time: predict each, then learn from it.

        found = jr.league.rate_files(jr.glicko2(), "matches/", "rated")
        jr.leaderboard(found.system, found.state, found.players)
        live = jr.live.start_history(found)  # or, later, jr.live.start_history(jr.load("rated"))

    Memory is taken by the state, some chunks, and what may be given to DuckDB, which puts the rows in order of time
    where times decrease and makes ids of names that are text (`pip install "jaxrate[large]"`). The numbers are those of
    `rate` on the whole table, sorted by time: on a CPU to the last bit; with BlatMMR, TrueSkill, skills and mean
    reversion to rounding; with Urnings by chance. When seasons begin, the system has to know: `skills(seasons=...)`.

    The folder gets predictions/part-000000.parquet and so on, one for each chunk, with the columns of `rate`, where
    `row` counts through all files; ratings.parquet, one row per player, best first; and a checkpoint, which is renewed
    every minute and when the process is asked to end, by SIGTERM or Ctrl-C. With `resume` a run goes on from its
    checkpoint, and ends with the same files as if it had never been interrupted. One that had ended goes on with files
    that were added since, if they do not begin before its end, and if DuckDB was not needed.

    Args:
      system: as from `elo()`, `glicko()`, ...
      source: a folder of Parquet files, which are one table in the order of their names; a pattern as "2*/*.parquet"; a
        list of files; or one file. In a folder or pattern, files whose names begin with "." or "_" or end in
        ".truth.parquet" do not count.
      out: the folder for what is rated.
      a, b, winner, loser, score, time, side, neutral, weight, margin, covariates, statistics, shares, columns: as in
        `read`. Names are text or whole numbers, times dates, timestamps or numbers (dates if all are as 20240131).
      period: the length of rating periods, as in `rate`. A chunk then ends where a period does, and has at least one.
      chunk: matches that are rated at a time.
      brief: predictions have the row and the prediction only, which takes a tenth of the room.
      resume: go on with the run in the folder, if there is one.
      key: a PRNG key for systems that draw random numbers; chunk i gets `fold_in(key, i)`.
      memory: what DuckDB may take, as "2GB".
      progress: is called after each chunk with the number of matches that are rated.

    Raises:
      ValueError: if a file cannot be read, if its columns differ from those before, or if rows are bad (names file and
        row); if there is a run in the folder and `resume` is not given; if its checkpoint is damaged or of another
        system, other hyperparameters, other columns or other data; or as `rate` does.
      OSError: if the disk is full. What had been rated by the last checkpoint is kept.
      KeyboardInterrupt: after Ctrl-C, once all that was rated is kept; at once if it is pressed again.
      ImportError: if pyarrow is not installed, or DuckDB where it is needed.
    """
    check_system(system)
    check_kind(system, Matches if period is None else Periods)
    if not (isinstance(chunk, int) and chunk >= 1):
        raise ValueError(f"chunk must be a whole number from 1, got {chunk!r}")
    if system.rules.draw is not None and key is None:
        key = jax.random.key(0)
    column_roles = {"a": a, "b": b, "winner": winner, "loser": loser, "score": score, "time": time, "side": side}
    folder, parts = Path(out), find_parquet_table(source)
    more = {"neutral": neutral, "weight": weight, "margin": margin, "covariates": covariates, "columns": columns}
    roles = resolve_match_roles(parts, {**column_roles, **more, "statistics": statistics, "shares": shares})
    if period is not None:
        period_number(0.0, period)  # which refuses what is no length
        if roles.time is None:
            raise ValueError("rating periods need times; name the column of time")
    if any(
        part.path.resolve().parent in (folder.resolve(), (folder / PREDICTIONS_FOLDER).resolve())
        for part in parts.files
    ):
        raise ValueError(f"{folder} has the files that are to be rated; name another folder for what comes of them")
    settings = _run_settings(system, roles, period, chunk, brief, key)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        resumed_run = _resume_run(system, folder, parts, roles, settings, resume)
        return _rate_and_write(
            system, folder, parts, roles, settings, resumed_run, key, memory, progress or (lambda rows: None)
        )


def _run_settings(
    system: RatingSystem, roles: Roles, period: float | None, chunk: int, brief: bool, key: Array | None
) -> dict[str, Any]:
    """What a run must have in common with one that it goes on with."""
    return {
        "version": version("jaxrate"),
        "system": system.name,
        "settings": {name: str(getattr(x, "name", x)) for name, x in system.settings.items() if name != "seasons"},
        "seasons": [*(system.settings.get("seasons") or ())],
        "hyperparameters": {name: None if x is None else float(x) for name, x in system.params._asdict().items()},
        "precision": str(jnp.result_type(float)),
        "columns": [str(x) for x in (*roles.form.who, roles.form.result, *roles[1:6], *roles.margin, *roles.known)]
        + [str(x) for one in roles.statistics for x in one],
        "period": None if period is None else float(period),
        "chunk": chunk,
        "brief": brief,
        "key": None if key is None else np.asarray(jax.random.key_data(key)).tolist(),
    }


class ResumedRun(NamedTuple):
    """How far a run has come."""

    progress: RunProgress
    names: HostArray | None  # of those who have an id; None if the table was put in order
    initial_rows: int  # rows of the table when the run began


def _resume_run(
    system: RatingSystem, folder: Path, parts: ParquetTable, roles: Roles, settings: dict[str, Any], resume: bool
) -> ResumedRun | None:
    """How far the run in the folder has come; None if there is none. ValueError if it is another, or not to go on."""
    checkpoint = read_checkpoint(folder)
    if not resume and (checkpoint is not None or (folder / PREDICTIONS_FOLDER).exists()):
        raise ValueError(f"there is a run in {folder}; go on with it by resume, or name another folder")
    if checkpoint is None:
        return None
    about, arrays = checkpoint
    for name, mine in settings.items():
        theirs = about["how"].get(name)
        if name == "seasons" and about["last"] is not None:  # those to come may be others
            theirs, mine = ([x for x in starts if x <= about["last"]] for starts in (theirs or (), mine))
        if theirs != mine:
            if isinstance(mine, dict) and isinstance(theirs, dict):
                theirs, mine = ({key: x[key] for key in x if theirs.get(key) != mine.get(key)} for x in (theirs, mine))
            was = f"the run in {folder} has {name} {theirs}, this one {mine}"
            raise ValueError(f"{was}; go on as it began, or name another folder")
    _check_same_files(folder, about, parts, roles)
    for number in range(about["parts"]):
        if not (folder / PREDICTIONS_FOLDER / part_file_name(number)).is_file():
            gone = f"{PREDICTIONS_FOLDER}/{part_file_name(number)} is missing in {folder}"
            raise ValueError(f"{gone}; put it back, or rate all matches anew, in another folder")
    names, games = arrays.pop(NAMES_KEY, None), arrays.pop(GAMES_KEY)
    state = restore_state(system, about["known"], arrays)
    weight, losses, above, other = about["sums"]
    sums = MetricSums(weight, tuple(losses), tuple(above), None if other is None else tuple(other))
    rows, number, known = about["rows"], about["parts"], about["known"]
    done = RunProgress(rows, number, known, state, games, sums, about["last"], about["width"])
    return ResumedRun(done, names, about["at_first"])


def read_initial_row_count(folder: Path) -> int | None:
    """Rows of the table when the run in the folder began; None if there is none."""
    checkpoint = read_checkpoint(folder)
    return None if checkpoint is None else checkpoint[0]["at_first"]


def _check_same_files(folder: Path, checkpoint: dict[str, Any], parts: ParquetTable, roles: Roles) -> None:
    """ValueError unless the files are those that were rated; others may follow, if nothing was put in order."""
    before = [x for x in checkpoint["files"] if checkpoint["ordered"] or x[1] < checkpoint["rows"]]
    now = _file_fingerprints(parts)[: None if checkpoint["ordered"] else len(before)]
    if before != now:
        changed = next((x[0] for x, y in zip(before, now, strict=False) if x != y), "the number of files")
        other = f"the run in {folder} is of other data ({changed} has changed)"
        raise ValueError(f"{other}; go on with those files, or rate all in another folder")


def _file_fingerprints(parts: ParquetTable) -> list[Any]:
    return [[part.path.name, part.first, part.digest] for part in parts.files]


def _rate_and_write(
    system: RatingSystem, folder: Path, parts: ParquetTable, roles: Roles, settings: dict[str, Any],
    resumed_run: ResumedRun | None, key: Array | None, memory: str, report_progress: Callable[[int], Any],
) -> RatedFiles:  # fmt: skip
    """What `rate_files` returns, once all is rated and written."""
    start, seconds = time.perf_counter(), dict.fromkeys(WORK_KINDS, 0.0)
    nothing = RunProgress(0, 0, 0, None, np.zeros(0, np.int64), MetricSums(), None, None)
    done, names, at_first = resumed_run or ResumedRun(nothing, None, parts.rows)
    opened = open_matches(parts, roles, folder / ORDERED_FOLDER, settings["chunk"], memory, names)
    seconds["ordering"] = time.perf_counter() - start
    work = ChunkedRun(system, opened, folder, settings["chunk"], settings["brief"], settings["period"], key)
    metadata = {"how": settings, "files": _file_fingerprints(parts), "ordered": opened.ordered, "at_first": at_first}
    metadata |= {"whole": opened.table.rows, "run": _describe_run(system, settings["period"], opened.clock)}
    next_time = time.monotonic() + CHECKPOINT_SECONDS

    def keep(now: RunProgress) -> None:
        nonlocal done, next_time
        begin = time.monotonic()
        about = metadata | now._asdict() | {"state": None, "games": None}
        arrays = leaves_by_name(now.state) | {GAMES_KEY: now.games}
        arrays |= {} if opened.ordered else {NAMES_KEY: opened.names[: now.known]}
        write_checkpoint(folder, about, arrays)
        LOG.info("%d of %d matches are rated, and kept in %s", now.rows, opened.table.rows, folder)
        done, end = now, time.monotonic()
        next_time = end + max(CHECKPOINT_SECONDS, CHECKPOINT_WORK_RATIO * (end - begin))

    (folder / PREDICTIONS_FOLDER).mkdir(exist_ok=True)
    _remove_leftovers(folder, done.parts)
    try:
        with catch_stop_signals() as stop:
            if done.rows < opened.table.rows:
                with _add_resume_hint(folder):
                    rate_chunks(
                        work,
                        done,
                        seconds,
                        keep,
                        lambda: (time.monotonic() > next_time, stop.is_set()),
                        report_progress,
                    )
    except KeyboardInterrupt:
        kept = f"{done.rows:,} of {opened.table.rows:,} matches are rated and kept in {folder}"
        raise KeyboardInterrupt(f"{kept}; go on with resume") from None
    if done.rows < opened.table.rows:  # whoever hears SIGTERM let the process live
        raise InterruptedError(errno.EINTR, "asked to end, before all was rated; go on with resume", str(folder))
    players = opened.names if opened.ids is None else opened.names[: done.known]
    players = np.asarray(players.to_numpy() if opened.ids is None else players)
    rated = Rated(
        system,
        done.state,
        players,
        done.games,
        settings["period"],
        done.last,
        opened.clock,
        import_pyarrow().table({}),
        {},
    )
    write(rating_table(rated), folder / "ratings.parquet")
    shutil.rmtree(folder / ORDERED_FOLDER, ignore_errors=True)
    seconds["all"] = time.perf_counter() - start
    matches, last, clock, period = done.rows, done.last, opened.clock, settings["period"]
    return RatedFiles(
        system,
        done.state,
        players,
        done.games,
        matches,
        last,
        clock,
        period,
        metrics_from_sums(done.sums),
        seconds,
        folder,
    )


def _describe_run(system: RatingSystem, period: float | None, clock: str | None) -> dict[str, Any] | None:
    """What run.json would tell of the run, but for players and the last time; None if that cannot be kept."""
    nothing = np.zeros(0, np.int64)
    with suppress(ValueError):
        return describe_run(Rated(system, None, nothing, nothing, period, None, clock, import_pyarrow().table({}), {}))
    return None


def _remove_leftovers(folder: Path, parts: int) -> None:
    """Remove what an interrupted run left after so many parts; files of other names stay."""
    for path in (*folder.iterdir(), *(folder / PREDICTIONS_FOLDER).iterdir()):
        number = re.fullmatch(r"part-(\d+)\.parquet", path.name)
        if LEFTOVER_PATTERN.fullmatch(path.name) or (number and path.parent != folder and int(number[1]) >= parts):
            path.unlink()


@contextmanager
def _add_resume_hint(folder: Path) -> Iterator[None]:
    """Errors say how to go on."""
    try:
        yield
    except (ValueError, OSError) as error:
        if not (folder / CHECKPOINT_FILE).exists():
            raise
        hint = f"what was rated by the last checkpoint is kept in {folder}: once this is mended, go on with resume"
        if isinstance(error, OSError):
            said = f"{error.strerror or error}; {hint}"
            raise (OSError(said) if error.errno is None else OSError(error.errno, said, error.filename)) from error
        raise ValueError(f"{error}; {hint}") from error
