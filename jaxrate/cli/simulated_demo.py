"""`jaxrate demo --simulated`: a league of known strengths, rated by every system."""

from __future__ import annotations

from typing import Any

import jaxrate as jr
from jaxrate.cli.escaped_terminal_output import print_escaped
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.progress import ProgressReport
from jaxrate.cli.terminal_tables import TextTable, print_sections
from jaxrate.core.text_format import format_credible_intervals

DEFAULT_PLAYERS = 5000
DEFAULT_MATCHES = 200_000


def rate_simulated_league(report: ProgressReport, players: int, matches: int, seed: int) -> None:
    """Some players play far more than others, strengths drift, and a quarter of the matches of equals are drawn."""
    from jaxrate.evaluation.contenders import time_replay
    from jaxrate.evaluation.scored_predictions import format_metric
    from jaxrate.systems.system_construction_by_name import CONTEST_SYSTEMS, make_system_for_data

    with report.stage("simulating"):
        league = jr.data.simulate.league(players, matches, seed=seed, activity=0.8, drift=60.0, draws=0.25)
    print_escaped(f"A league of {players:,} players and {matches:,} matches over 1,000 days (seed {seed})\n")
    data = jr.data.Dataset(league.matches, np.arange(players), np.arange(matches))
    played, schedule = league.games > 0, jr.extend.schedule_by_level(data)
    rows: list[Any] = []
    best: tuple[float, Any] = float("inf"), None
    for name in jr.extend.SYSTEMS:
        system = make_system_for_data(name, {}, None, data)
        if jr.Matches not in system.events or name in CONTEST_SYSTEMS:
            continue
        with report.stage(f"rating by {name}"):
            result, seconds = time_replay(jr.run, system, data, schedule)
        quality = jr.metrics.match_metrics(result.prediction, league.matches.score)
        mean = np.asarray(jr.ratings(system, result.state).mean)
        truth = np.corrcoef(mean[played], league.strength[played])[0, 1]
        speed = f"{matches / seconds / 1e6:.1f} million"
        rows.append((name, *(format_metric(x, quality[x]) for x in ("log loss", "accuracy")), f"{truth:.3f}", speed))
        board = jr.leaderboard(system, result.state, top=10)
        if board.deviation is not None and quality["log loss"] < best[0]:
            best = quality["log loss"], (name, board)
    name, board = best[1]
    true_rank = np.empty(players, int)
    true_rank[np.argsort(-league.strength)] = np.arange(1, players + 1)
    likely = format_credible_intervals(board.rating, board.deviation)
    lines = [
        (rank, f"player {i}", f"{mean:.0f}", interval, f"{1500 + league.strength[i]:.0f}", true_rank[i])
        for rank, i, mean, interval in zip(board.rank, board.player, board.rating, likely, strict=True)
    ]
    print_sections(
        TextTable(["system", "log loss", "accuracy", "correlation with truth", "matches/s"], rows),
        f"The best of {players:,} by {name}, beside the truth:",
        TextTable(["rank", "player", "rating", "95% interval", "true strength", "true rank"], lines),
    )
