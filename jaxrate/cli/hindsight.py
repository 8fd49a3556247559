"""What `jaxrate rate --smooth` adds: who was the greatest, and every match as it is known now."""

from __future__ import annotations

from typing import Any

import numpy as np

import jaxrate as jr
from jaxrate.cli.choosing import Chosen
from jaxrate.cli.progress import Report


def check_smooth(state: Any, file: str | None) -> None:
    """ValueError unless there is a whole history."""
    if state is not None or file is None:
        raise ValueError("--smooth takes a whole history: rate its FILE, without --state")


def smoothed_of(report: Report, chosen: Chosen) -> jr.Smoothed:
    """The history with hindsight, match by match; ValueError for a system that has none."""
    if chosen.system.traits.smoothed is None:
        raise ValueError(f"--smooth goes with --system skills: {chosen.system.name} has no hindsight")
    with report.stage(f"smoothing {len(chosen.data.rows):,} matches"):
        return jr.smooth(chosen.system, chosen.data)


def greatest(smoothed: jr.Smoothed, top: int) -> str:
    how = f"log likelihood {smoothed.evidence:,.1f}, {smoothed.sweeps} sweeps"
    return f"with hindsight, each at their best ({how})\n\n{jr.peaks(smoothed, top=top)}"


def beside_career(smoothed: jr.Smoothed, player: str) -> dict[str, Any]:
    """Two more columns of a career: what each match left, as it is known now."""
    found = jr.career(smoothed, player)
    return {"hindsight": found["rating"], "its_deviation": found["deviation"]}


def by_match(smoothed: jr.Smoothed, data: jr.Dataset) -> dict[str, Any]:
    """Columns of all matches: what each left of both players, and what all others let expect of it."""
    from jaxrate.records.rated import to_dates

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
