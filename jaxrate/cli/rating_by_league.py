"""`jaxrate rate --by`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import Output, prefix_errors_with_file
from jaxrate.cli.input_options import is_about_teams, is_parquet_folder_or_pattern, load_columns, open_file_table
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.rate_output import SHOWN_PLAYERS, json_summary, leaderboard_table, summary_line
from jaxrate.cli.rating import RateOptions
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import choose_system, read_events_with_evidence
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, warnings_as_notes

MAX_FOLDER_LENGTH = 100  # bytes of the name of a folder
RESERVED_NAMES = re.compile(r"con|prn|aux|nul|(com|lpt)\d", re.IGNORECASE)  # names that Windows keeps for devices


def rate_leagues(report: ProgressReport, request: RatingRequest, by: str, asked: RateOptions) -> Output:
    """Rate each league of a file alone, and save and show them one by one."""
    if unknown := [rule for rule in ("category", "since") if rule in asked.rules]:
        raise ValueError(f"--list {unknown[0]} cannot be combined with --by")
    data, request = read_events_with_evidence(report, request)
    league = _league_column(request.file, by)
    task = choose_system(report, request, data)
    calibrate = task.calibrate and not asked.no_calibrate
    with report.stage("rating leagues"), prefix_errors_with_file(request.file):
        leagues = jr.history.rate_leagues(task.system, task.data, league, period=task.period, calibrate=calibrate)
    facts = {"columns": request.columns, "teams": is_about_teams(request.file, request.columns)}
    for name, rated in leagues.items():
        leagues[name] = rated._replace(options=rated.options | facts | {"title": str(name)})
    if asked.out is not None:
        with report.stage(f"writing {asked.out}"), warnings_as_notes(report):
            _save_leagues(asked.out, by, leagues)
        report.note(f"saved {len(leagues):,} runs to {asked.out}")
    sections: list[str | TextTable] = [task.system.name]
    records = []
    for name, rated in leagues.items():
        board = jr.leaderboard(rated, top=asked.top or SHOWN_PLAYERS, **asked.rules)
        sections += [f"{name}: {summary_line(rated).partition(': ')[2]}", leaderboard_table(board, rated)]
        summary = {key: x for key, x in json_summary(rated).items() if key not in ("params", "period")}
        records.append({by: str(name)} | summary | {"leaderboard": board.to_records()})
    return Output(sections, records)


def _save_leagues(out: Path, by: str, leagues: dict[Any, jr.History]) -> None:
    """Save a run for each league, and the ratings of all in a table with a column of the league."""
    for rated, folder in zip(leagues.values(), league_folders(leagues), strict=True):
        (out / folder).mkdir(parents=True, exist_ok=True)
        jr.save(out / folder, rated)
    tables = [jr.history.rating_table(rated) for rated in leagues.values()]
    column = np.repeat([*map(str, leagues)], [len(rated.players) for rated in leagues.values()])
    ratings = {name: np.concatenate([table[name] for table in tables]) for name in tables[0] if name != by}
    jr.data.write({by: column} | ratings, out / "leagues.parquet")


def _league_column(file: str, by: str) -> Any:
    """[N] the values of a column of the file."""
    from jaxrate.data.table_files import join_files

    source: Any = join_files(file) if is_parquet_folder_or_pattern(file) else open_file_table(file)
    values = load_columns(source, [by], "--by: ", as_texts=True)[by]
    return values.to_pylist() if hasattr(values, "to_pylist") else values


def league_folders(names: Iterable[Any]) -> list[str]:
    """A folder for each league, of letters, digits and dashes; those alike are numbered, long ones cut."""
    folders: dict[str, str] = {}  # by what of the name counts where case does not
    for name in map(str, names):
        text = re.sub(r"[^\w-]+", "_", name).strip("_").encode()[:MAX_FOLDER_LENGTH].decode(errors="ignore")
        text = folder = f"{text}_" if RESERVED_NAMES.fullmatch(text) else text or "league"
        while folder.lower() in folders:
            folder = f"{text}_{len(folders) + 1}"
        folders[folder.lower()] = folder
    return [*folders.values()]
