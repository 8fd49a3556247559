"""The output of `jaxrate rate --smooth`: the greatest players, and every match or contest with hindsight."""

from __future__ import annotations

from typing import Any

import jaxrate as jr
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.progress import ProgressReport
from jaxrate.cli.system_selection import RatingTask
from jaxrate.cli.terminal_tables import TextTable, to_text_table


def check_smooth_has_whole_history(state: Any, file: str | None) -> None:
    """ValueError unless the history is whole."""
    if state is not None or file is None:
        raise ValueError("--smooth needs a whole history: rate its FILE without --state")


def smooth_task(report: ProgressReport, task: RatingTask) -> jr.league.Smoothed:
    """The history with hindsight; ValueError for a system that has none."""
    if task.system.name != "skills":  # of its forms `smooth` says which it lacks
        raise ValueError(f"--smooth needs --system skills: {task.system.name} has no hindsight")

    kind = "matches" if isinstance(task.data.events, jr.Matches) else "participations"
    with report.stage(f"smoothing {len(task.data.rows):,} {kind}"):
        return jr.smooth(task.system, task.data)


def peak_rating_sections(smoothed: jr.league.Smoothed, top: int) -> list[str | TextTable]:
    """Everybody at their best, with hindsight."""
    details = f"log likelihood {smoothed.evidence:,.1f}, {smoothed.sweeps} sweeps"
    peaks = to_text_table(jr.league.peak_ratings(smoothed, top=top))
    return [f"peak ratings in hindsight ({details})", peaks]


def smoothed_career_columns(smoothed: jr.league.Smoothed, player: str) -> dict[str, Any]:
    """Two more columns of a career: rating and deviation after each event, with hindsight."""
    smoothed_career = jr.career(smoothed, player)
    return {"hindsight": smoothed_career["rating"], "its_deviation": smoothed_career["deviation"]}


def smoothed_event_columns(smoothed: jr.league.Smoothed, data: jr.data.Dataset) -> dict[str, Any]:
    """Columns of matches, or of participations in contests: ratings after each, and predictions from all others."""
    from jaxrate.league.rated_history import days_to_dates

    names, time = np.asarray(data.players), smoothed.time
    columns: dict[str, Any] = {"row": data.rows}
    is_of_matches = isinstance(smoothed.events, jr.Matches)
    if data.clock is not None:
        time = time if is_of_matches else np.repeat(time, np.diff(smoothed.rounds.player_start))
        columns["time"] = days_to_dates(time) if data.clock == "dates" else time
    if not is_of_matches:
        return columns | _smoothed_participation_columns(smoothed, names)
    matches = smoothed.matches
    columns |= {side: names[np.asarray(matches.player)[:, i]] for i, side in enumerate("ab")}
    columns |= {"score": matches.score, "prediction": np.asarray(smoothed.prediction)}
    for i, side in enumerate("ab"):
        columns |= {
            f"rating_{side}": np.asarray(smoothed.rating.mean)[:, i],
            f"deviation_{side}": np.asarray(smoothed.rating.deviation)[:, i],
        }
    return columns


def _smoothed_participation_columns(smoothed: jr.league.Smoothed, names: Any) -> dict[str, Any]:
    from jaxrate.events import team_ranks

    rounds: Any = smoothed.rounds
    contest = np.repeat(np.arange(len(smoothed.time)), np.diff(rounds.player_start))
    return {
        "contest": contest if smoothed.contests is None else np.asarray(smoothed.contests)[contest],
        "player": names[np.asarray(rounds.events.player)],
        "rank": team_ranks(rounds) + 1,
        "prediction": np.asarray(smoothed.prediction),
        "rating": np.asarray(smoothed.rating.mean),
        "deviation": np.asarray(smoothed.rating.deviation),
    }
