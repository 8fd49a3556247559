"""The output of `jaxrate rate --smooth`: the greatest players, and every match or contest with hindsight."""

from __future__ import annotations

from typing import Any

import jaxrate as jr
from jaxrate.cli.progress import ProgressReport
from jaxrate.cli.system_selection import RatingTask
from jaxrate.cli.terminal_tables import TextTable, to_text_table


def check_smooth_has_whole_history(state: Any, file: str | None) -> None:
    """ValueError unless the history is whole."""
    if state is not None or file is None:
        raise ValueError("--smooth needs a whole history: rate its FILE without --state")


def smooth_task(report: ProgressReport, task: RatingTask) -> jr.History:
    """The history with hindsight; ValueError for a system that has none."""
    if task.system.name != "skills":  # of its forms `smooth` says which it lacks
        raise ValueError(f"--smooth needs --system skills: {task.system.name} has no hindsight")

    kind = "matches" if task.data.of_matches else "participations"
    with report.stage(f"smoothing {len(task.data.rows):,} {kind}"):
        return jr.smooth(task.system, task.data)


def peak_rating_sections(smoothed: jr.History, top: int) -> list[str | TextTable]:
    """Everybody at their best, with hindsight."""
    assert smoothed.hindsight is not None
    details = f"log likelihood {smoothed.hindsight.evidence:,.1f}, {smoothed.hindsight.sweeps} sweeps"
    peaks = to_text_table(jr.history.peak_ratings(smoothed, top=top))
    return [f"peak ratings in hindsight ({details})", peaks]


def smoothed_career_columns(smoothed: jr.History, player: str) -> dict[str, Any]:
    """Two more columns of a career: rating and deviation after each event, with hindsight."""
    smoothed_career = jr.career(smoothed, player)
    return {"hindsight": smoothed_career["rating"], "its_deviation": smoothed_career["deviation"]}


def smoothed_event_columns(smoothed: jr.History, data: jr.data.Dataset) -> dict[str, Any]:
    """Columns of matches, or of participations in contests: ratings after each, and predictions from all others."""
    hidden = {"participants", "teams", "team", *(["time"] if data.clock is None else [])}
    return {name.replace("_after", ""): x for name, x in smoothed.columns().items() if name not in hidden}
