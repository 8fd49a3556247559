"""What `jaxrate rate --smooth` adds: who was the greatest, and every match as it is known now."""

from __future__ import annotations

from typing import Any

import numpy as np

import jaxrate as jr
from jaxrate.cli.progress import ProgressReport
from jaxrate.cli.system_selection import RatingTask


def check_smooth(state: Any, file: str | None) -> None:
    """ValueError unless there is a whole history."""
    if state is not None or file is None:
        raise ValueError("--smooth takes a whole history: rate its FILE, without --state")


def smooth_task(report: ProgressReport, task: RatingTask) -> jr.league.Smoothed:
    """The history with hindsight, match by match; ValueError for a system that has none."""
    if task.system.traits.smoothing_model is None:
        raise ValueError(f"--smooth goes with --system skills: {task.system.name} has no hindsight")
    with report.stage(f"smoothing {len(task.data.rows):,} matches"):
        return jr.smooth(task.system, task.data)


def format_greatest(smoothed: jr.league.Smoothed, top: int) -> str:
    how = f"log likelihood {smoothed.evidence:,.1f}, {smoothed.sweeps} sweeps"
    return f"with hindsight, each at their best ({how})\n\n{jr.league.peak_ratings(smoothed, top=top)}"


def smoothed_career_columns(smoothed: jr.league.Smoothed, player: str) -> dict[str, Any]:
    """Two more columns of a career: what each match left, as it is known now."""
    smoothed_career = jr.career(smoothed, player)
    return {"hindsight": smoothed_career["rating"], "its_deviation": smoothed_career["deviation"]}


def smoothed_match_columns(smoothed: jr.league.Smoothed, data: jr.data.Dataset) -> dict[str, Any]:
    """Columns of all matches: what each left of both players, and what all others let expect of it."""
    from jaxrate.league.rated_history import to_dates

    names, matches = np.asarray(data.players), smoothed.matches
    time = np.asarray(matches.time)
    columns: dict[str, Any] = {"row": data.rows}
    if data.clock is not None:
        columns["time"] = to_dates(time) if data.clock == "dates" else time
    columns |= {side: names[np.asarray(matches.player)[:, i]] for i, side in enumerate("ab")}
    columns |= {"score": matches.score, "prediction": np.asarray(smoothed.prediction)}
    for i, side in enumerate("ab"):
        columns |= {
            f"rating_{side}": np.asarray(smoothed.rating.mean)[:, i],
            f"deviation_{side}": np.asarray(smoothed.rating.deviation)[:, i],
        }
    return columns
