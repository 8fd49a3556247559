"""Events in Parquet files, more than fit into memory: rated by chunks into a folder, from which a run goes on."""

import errno
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.argument_checks import Key, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.system import RatingSystem, check_event_kind, random_draw_rule, set_default_period
from jaxrate.data.column_role_definitions import document_roles, roles_taken_by, select_role_arguments
from jaxrate.data.parquet_table import ParquetTable, find_parquet_table
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_writing import write
from jaxrate.events import Matches, Periods, Rounds, period_number
from jaxrate.history.event_columns import no_events
from jaxrate.history.history import History
from jaxrate.history.online_calibration import calibrated_by_end, initial_slope
from jaxrate.history.out_of_core.checkpoints import (
    GAMES_KEY,
    NAMES_KEY,
    RANKED_KEY,
    ResumedRun,
    add_resume_hint_to_errors,
    file_fingerprints,
    progress_metadata,
    read_checkpoint,
    read_run_to_resume,
    remove_leftover_run_files,
    settings_that_must_match,
    write_checkpoint,
)
from jaxrate.history.out_of_core.chunk_pipeline import (
    PREDICTIONS_FOLDER,
    ChunkedRunSpec,
    RunProgress,
    catch_stop_signals,
    rate_chunks,
)
from jaxrate.history.out_of_core.event_chunks import OpenedTable, open_table_sorted_if_needed, resolve_event_roles
from jaxrate.history.player_records import rating_table
from jaxrate.history.saved_runs import make_run_metadata
from jaxrate.metrics.calibration_slopes import OnlineSlope
from jaxrate.metrics.running_metrics import ContestMetricSums, MetricSums, metrics_from_sums
from jaxrate.replay.padded_states_and_columns import leaves_by_name
from jaxrate.storage.atomic_folder import lock_folder
from jaxrate.systems.prediction_wrapping import unwrap_predictions, wrapper_names

LOG = logging.getLogger(__name__)
CHUNK_MATCHES = 1 << 20  # matches, or participations
DUCKDB_MEMORY = "2GB"
CHECKPOINT_SECONDS = 60.0  # seconds between checkpoints
CHECKPOINT_WORK_RATIO = 20.0  # so many times as long as writing one takes, at the least, is worked before the next
ORDERED_FOLDER = ".ordered"
WORK_KINDS = ("ordering", "reading", "scheduling", "rating", "writing")  # of work


@dataclass(frozen=True, eq=False, repr=False)
class RatedFiles(History):
    """The history that `rate_files` returns: its events stay in the files of the folder."""

    quality: dict[str, Any] = field(default_factory=dict)  # the measures of `match_metrics` or `ranking_metrics`
    seconds: dict[str, float] = field(default_factory=dict)  # of each kind of work, which overlap, and "all"
    folder: Path = Path()
    num_in_files: tuple[int, int | None] = 0, None  # matches or participations; and contests, None of matches

    @property
    def num_rows(self) -> int:
        """The number of rated matches or participations."""
        return self.num_in_files[0]

    @property
    def contests(self) -> int | None:
        """The number of contests; None if these are matches."""
        return self.num_in_files[1]

    def __repr__(self) -> str:
        measure, value = next(iter(self.quality.items()))
        return f"{History.__repr__(self)}\n  files    {self.folder}, {measure} {value:.4f}"


@enforce_argument_annotations
@document_roles(roles_taken_by("rate_files"), details=False)
def rate_files(
    system: RatingSystem, source: Any, out: str | os.PathLike[str], *, a: str | None = None, b: str | None = None,
    score: str | None = None, winner: str | None = None, loser: str | None = None, contest: str | None = None,
    participant: str | None = None, rank: str | None = None, team: str | None = None, ceiling: str | None = None,
    noise: str | None = None, time: str | None = None, side: str | None = None, neutral: str | None = None,
    weight: str | None = None, margin: str | Sequence[str] = (),
    statistics: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    shares: Mapping[str, Sequence[str]] | None = None, expected_goals: str | Sequence[str] = (),
    covariates: str | Sequence[str] = (),
    columns: str | Sequence[str] = (), period: float | None = None, chunk: int = CHUNK_MATCHES, brief: bool = False,
    resume: bool = False, key: Key | None = None, memory: str = DUCKDB_MEMORY,
    progress: Callable[[int], Any] | None = None, calibrate: bool | None = None,
) -> RatedFiles:  # fmt: skip
    """Rate matches or contests in Parquet files of any size, a chunk at a time: predict each, then learn from it.

        result = jr.history.rate_files(jr.glicko2(), "matches/", "rated")
        jr.leaderboard(result)
        live = jr.live.start_history(result)  # or, later, jr.live.start_history(jr.load("rated"))

    The state, some chunks and DuckDB take memory. DuckDB puts the rows in order of time where times decrease and makes
    ids of names that are text (`pip install "jaxrate[large]"`). A chunk has whole contests, whose rows DuckDB brings
    together where contests are not numbered in the order in which they stand. The numbers are those of `rate` on the
    whole table, sorted by time: on a CPU to the last bit; with BlatMMR, TrueSkill, skills, mean reversion and contests
    to rounding; with Urnings by chance. When seasons begin, the system has to know: `skills(seasons=...)`.

    The folder gets predictions/part-000000.parquet and so on, one for each chunk, with the columns of `rate`, where
    `row` counts through all files; ratings.parquet, one row per player, best first; and a checkpoint, which is renewed
    every minute and when the process is asked to end, by SIGTERM or Ctrl-C. With `resume` a run goes on from its
    checkpoint, and ends with the same files as if it had never been interrupted, or with contests with the same to
    rounding. One that had ended goes on with files that were added since, if they do not begin before its end, and if
    DuckDB was not needed.

    Args:
      system: as from `elo()`, `glicko()`, ...
      source: a folder of Parquet files, which are one table in the order of their names; a pattern as "2*/*.parquet"; a
        list of files; or one file. In a folder or pattern, files whose names begin with "." or "_" or end in
        ".truth.parquet" do not count. Names are text or whole numbers, times dates, timestamps or numbers.
      out: the folder for the results.
      COLUMNS: roles of `data.column_roles.COLUMN_ROLES`, each the name of a column; `read` says more of them.
      period: the length of rating periods, as in `rate`. A chunk then ends where a period does, and has at least one.
      chunk: matches, or participations, that are rated at a time.
      brief: predictions have the row and the prediction only, which takes a tenth of the room.
      resume: go on with the run in the folder, if there is one.
      key: a PRNG key for systems that draw random numbers; chunk i gets `fold_in(key, i)`.
      memory: what DuckDB may take, as "2GB".
      progress: is called after each chunk with the number of matches, or participations, that are rated.
      calibrate: as in `rate`.

    Raises:
      ValueError: if a file cannot be read, if its columns differ from those before, or if rows are bad (names file and
        row); if there is a run in the folder and `resume` is not given; if its checkpoint is damaged or of another
        system, other hyperparameters, other columns or other data; or as `rate` does.
      OSError: if the disk is full. What had been rated by the last checkpoint is kept.
      KeyboardInterrupt: after Ctrl-C, once all that was rated is kept; at once if it is pressed again.
      ImportError: if pyarrow is not installed, or DuckDB where it is needed.
    """
    arguments = select_role_arguments(locals())
    system = set_default_period(system, period)
    if chunk < 1:
        raise ValueError(f"chunk must be a whole number from 1, got {chunk!r}")
    if random_draw_rule(system.rules) is not None and key is None:
        key = jax.random.key(0)
    folder, parquet_table = Path(out), find_parquet_table(source)
    roles = resolve_event_roles(parquet_table, arguments, stacklevel=4)
    named = {role: x for role, x in arguments.items() if x not in (None, ())}
    options = {"columns": named} | ({"sided": True} if roles.side or roles.constant_side else {})
    _check_period(system, roles, period)
    _check_folder_is_apart(folder, parquet_table)
    if resume and _is_run_calibrated(system, folder):  # the system is that of the run's own result
        system, calibrate = unwrap_predictions(system), True
    is_calibrated = initial_slope(system, calibrate) is not None
    settings = settings_that_must_match(system, roles, period, chunk, brief, key, is_calibrated)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        resumed_run = read_run_to_resume(system, folder, parquet_table, roles, settings, resume)
        run = FileRun(system, folder, parquet_table, roles, settings, options)
        return _rate_and_write(run, resumed_run, key, memory, progress or (lambda rows: None))


def _check_period(system: RatingSystem, roles: ColumnRoles, period: float | None) -> None:
    """ValueError unless the system rates these events, in such periods."""
    has_contests = roles.layout.contest is not None
    check_event_kind(system.name, system.events, Rounds if has_contests else Matches if period is None else Periods)
    if period is None:
        return
    if has_contests:
        raise ValueError("contests are rated one by one; leave out period")
    period_number(0.0, period)  # which refuses what is no length
    if roles.time is None:
        raise ValueError("rating periods need times; name the column of time")


def _check_folder_is_apart(folder: Path, parquet_table: ParquetTable) -> None:
    """ValueError if the results would lie among the files that are rated."""
    result_folders = folder.resolve(), (folder / PREDICTIONS_FOLDER).resolve()
    if any(file.path.resolve().parent in result_folders for file in parquet_table.files):
        raise ValueError(f"{folder} has the files that are to be rated; name another folder for the results")


def _is_run_calibrated(system: RatingSystem, folder: Path) -> bool:
    """Whether the run in a folder calibrates its predictions, as this system, perhaps of its result, does."""
    checkpoint = read_checkpoint(folder) if wrapper_names(system) else None
    return checkpoint is not None and bool(checkpoint[0].get("slope"))


class FileRun(NamedTuple):
    """What is rated, how, and where the results go."""

    system: RatingSystem
    folder: Path
    parquet_table: ParquetTable
    roles: ColumnRoles
    settings: dict[str, Any]  # that must match where a run goes on
    options: dict[str, Any]  # of the history

    @property
    def has_contests(self) -> bool:
        """Whether these are contests."""
        return self.roles.layout.contest is not None

    @property
    def nouns(self) -> str:
        """What rows are called."""
        return "participations" if self.has_contests else "matches"

    def beginning(self) -> ResumedRun:
        """How far a run has come that begins."""
        slope = OnlineSlope() if self.settings["calibrated"] else None
        progress = RunProgress(0, 0, 0, None, np.zeros(0, np.int64), MetricSums(), None, None, slope=slope)
        if self.has_contests:
            progress = progress._replace(sums=ContestMetricSums(), contests=0)
        return ResumedRun(progress, None, self.parquet_table.row_count)

    def history(self, opened: OpenedTable, progress: RunProgress, players: HostArray) -> History:
        """The history so far, without its events."""
        system, slope_options = calibrated_by_end(self.system, progress.slope)
        times = self.settings["period"], progress.last, opened.clock
        options = self.options | slope_options
        return History(system, progress.state, players, progress.games, *times, no_events(self.has_contests), options)


def _rate_and_write(
    run: FileRun, resumed_run: ResumedRun | None, key: Array | None, memory: str, report_progress: Callable[[int], Any]
) -> RatedFiles:
    """The result of `rate_files`, once all is rated and written."""
    start, seconds = time.perf_counter(), dict.fromkeys(WORK_KINDS, 0.0)
    folder, settings, noun = run.folder, run.settings, run.nouns
    done, names, initial_rows = resumed_run or run.beginning()
    opened = open_table_sorted_if_needed(
        run.parquet_table, run.roles, folder / ORDERED_FOLDER, settings["chunk"], memory, names
    )
    seconds["ordering"] = time.perf_counter() - start
    how = settings["chunk"], settings["brief"], settings["period"], key
    row_count = opened.table.row_count
    metadata = {"how": settings, "files": file_fingerprints(run.parquet_table), "ordered": opened.is_sorted_copy}
    metadata |= {"at_first": initial_rows, "whole": row_count}
    next_time = time.monotonic() + CHECKPOINT_SECONDS

    def save_checkpoint(progress: RunProgress) -> None:
        nonlocal done, next_time
        begin = time.monotonic()
        arrays = leaves_by_name(progress.state) | {GAMES_KEY: progress.games}
        arrays |= {} if progress.ranked is None else {RANKED_KEY: progress.ranked}
        arrays |= {} if opened.is_sorted_copy else {NAMES_KEY: opened.names[: progress.num_players]}
        run_metadata = {"run": _run_metadata_without_players(run, opened, progress)}
        write_checkpoint(folder, metadata | run_metadata | progress_metadata(progress), arrays)
        LOG.info("%d of %d %s are rated, and saved in %s", progress.rows, row_count, noun, folder)
        done, end = progress, time.monotonic()
        next_time = end + max(CHECKPOINT_SECONDS, CHECKPOINT_WORK_RATIO * (end - begin))

    (folder / PREDICTIONS_FOLDER).mkdir(exist_ok=True)
    remove_leftover_run_files(folder, done.parts)
    try:
        with catch_stop_signals() as stop:
            if done.rows < row_count:
                with add_resume_hint_to_errors(folder):
                    poll_requests = lambda: (time.monotonic() > next_time, stop.is_set())  # noqa: E731
                    chunked_run = ChunkedRunSpec(run.system, opened, folder, *how)
                    rate_chunks(chunked_run, done, seconds, save_checkpoint, poll_requests, report_progress)
    except KeyboardInterrupt:
        saved = f"{done.rows:,} of {row_count:,} {noun} are rated and kept in {folder}"
        raise KeyboardInterrupt(f"{saved}; go on with resume") from None
    if done.rows < row_count:  # a handler of SIGTERM let the process live
        raise InterruptedError(errno.EINTR, "asked to end, before all was rated; go on with resume", str(folder))
    players = opened.names.to_numpy() if opened.ids is None else opened.names[: done.num_players]
    rated = run.history(opened, done, np.asarray(players))
    write(rating_table(rated), folder / "ratings.parquet")
    shutil.rmtree(folder / ORDERED_FOLDER, ignore_errors=True)
    seconds["all"] = time.perf_counter() - start
    known: dict[str, Any] = {x.name: getattr(rated, x.name) for x in fields(rated)}
    quality, counts = metrics_from_sums(done.sums), (done.rows, done.contests)
    return RatedFiles(**known, quality=quality, seconds=seconds, folder=folder, num_in_files=counts)


def _run_metadata_without_players(run: FileRun, opened: OpenedTable, progress: RunProgress) -> dict[str, Any] | None:
    """The contents of run.json, but for players and the last time; None if the system cannot be saved."""
    nobody = np.zeros(0, np.int64)
    with suppress(ValueError):
        return make_run_metadata(run.history(opened, progress._replace(state=None, games=nobody, last=None), nobody))
    return None
