"""`jaxrate rate --by`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import Output, prefix_errors_with_file
from jaxrate.cli.input_options import is_about_teams, is_parquet_folder_or_pattern, load_columns, open_file_table
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.rate_output import SHOWN_PLAYERS
from jaxrate.cli.rating import RateOptions
from jaxrate.cli.shared_options import RatingRequest, leaderboard_table
from jaxrate.cli.system_selection import (
    choose_system,
    read_events_with_evidence,
)
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, warnings_as_notes
from jaxrate.core.text_format import format_count

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
    are_teams = is_about_teams(request.file, request.columns)
    facts = {"columns": request.columns, "teams": are_teams}
    if asked.out is not None:
        with report.stage(f"writing {asked.out}"), warnings_as_notes(report):
            _save_leagues(asked.out, by, leagues, facts)
        report.note(f"saved {len(leagues):,} runs to {asked.out}")
    top = asked.top or SHOWN_PLAYERS
    boards = {name: jr.leaderboard(rated, top=top, **asked.rules) for name, rated in leagues.items()}
    sections: list[str | TextTable] = [task.system.name]
    for name, rated in leagues.items():
        count = format_count(len(rated.players), "team" if are_teams else "player")
        sections += [f"{name}: {_format_count(rated)} of {count}", leaderboard_table(boards[name], are_teams=are_teams)]
    return Output(sections, [_json_league(by, name, leagues[name], board) for name, board in boards.items()])


def _save_leagues(out: Path, by: str, leagues: dict[Any, jr.History], facts: dict[str, Any]) -> None:
    """Save a run for each league, and the ratings of all."""
    for name, folder in _league_folders([*leagues]).items():
        (out / folder).mkdir(parents=True, exist_ok=True)
        rated = leagues[name]
        jr.save(out / folder, rated._replace(options=rated.options | facts | {"title": str(name)}))
    jr.data.write(_concatenate_ratings(by, leagues), out / "leagues.parquet")


def _league_column(file: str, by: str) -> Any:
    """[N] the values of a column of the file."""
    from jaxrate.data.table_files import join_files

    source: Any = join_files(file).to_source() if is_parquet_folder_or_pattern(file) else open_file_table(file)
    values = load_columns(source, [by], "--by", as_texts=True)[by]
    return values.to_pylist() if hasattr(values, "to_pylist") else values


def _league_folders(names: list[Any]) -> dict[Any, str]:
    """A folder for each league, of letters, digits and dashes; those alike are numbered, long ones cut."""
    folders: dict[Any, str] = {}
    used_names: set[str] = set()
    for name in names:
        base_name = (
            re.sub(r"[^\w-]+", "_", str(name)).strip("_").encode()[:MAX_FOLDER_LENGTH].decode(errors="ignore")
            or "league"
        )
        base_name = folder = f"{base_name}_" if RESERVED_NAMES.fullmatch(base_name) else base_name
        while folder.lower() in used_names:
            folder = f"{base_name}_{len(used_names) + 1}"
        used_names.add(folder.lower())
        folders[name] = folder
    return folders


def _concatenate_ratings(by: str, rated_by_league: dict[Any, jr.History]) -> dict[str, Any]:
    """The ratings of all leagues, with a column of the league."""
    tables = [jr.history.rating_table(rated) for rated in rated_by_league.values()]
    league = np.repeat(
        [str(name) for name in rated_by_league], [len(rated.players) for rated in rated_by_league.values()]
    )
    return {by: league} | {name: np.concatenate([table[name] for table in tables]) for name in tables[0] if name != by}


def _format_count(rated: jr.History) -> str:
    if rated.contests is None:
        return format_count(len(rated.events["row"]), "match")
    return format_count(rated.contests, "contest")


def _json_league(by: str, name: Any, rated: jr.History, board: Any) -> dict[str, Any]:
    """The result of a league for JSON."""
    rows = board.to_records()
    counts = {"matches": len(rated.events["row"])} if rated.contests is None else {"contests": rated.contests}
    return {by: str(name), "system": rated.system.name} | counts | {"players": len(rated.players), "leaderboard": rows}
