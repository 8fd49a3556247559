"""jaxrate demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import command, option
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.output_path_checks import check_output_file
from jaxrate.cli.shared_options import plain_option
from jaxrate.cli.system_selection import describe_evidence, drop_sides_margins_and_seasons
from jaxrate.cli.terminal_tables import (
    ProgressReport,
    TextTable,
    name_teams,
    print_escaped,
    print_sections,
    to_text_table,
)
from jaxrate.core.text_format import format_credible_intervals


def rate_simulated_league(report: ProgressReport, players: int, matches: int, seed: int) -> None:
    """Some players play far more than others, strengths drift, and a quarter of the matches of equals are drawn."""
    from jaxrate.evaluation.comparison import time_replay
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
        mean, deviation = jr.ratings(system, result.state)
        mean = np.asarray(mean)
        truth = np.corrcoef(mean[played], league.strength[played])[0, 1]
        speed = f"{matches / seconds / 1e6:.1f} million"
        rows.append((name, *(format_metric(x, quality[x]) for x in ("log loss", "accuracy")), f"{truth:.3f}", speed))
        if deviation is not None and quality["log loss"] < best[0]:
            best = quality["log loss"], (name, mean, np.asarray(deviation))
    name, mean, deviation = best[1]
    first = np.argsort(-mean, kind="stable")[:10]
    true_rank = np.empty(players, int)
    true_rank[np.argsort(-league.strength)] = np.arange(1, players + 1)
    likely = format_credible_intervals(mean[first], deviation[first])
    lines = [
        (rank, f"player {i}", f"{mean[i]:.0f}", interval, f"{1500 + league.strength[i]:.0f}", true_rank[i])
        for rank, (i, interval) in enumerate(zip(first, likely, strict=True), 1)
    ]
    print_sections(
        TextTable(["system", "log loss", "accuracy", "correlation with truth", "matches/s"], rows),
        f"The best of {players:,} by {name}, beside the truth:",
        TextTable(["rank", "player", "rating", "95% interval", "true strength", "true rank"], lines),
    )


TEAMS = ("Chicago Bears", "Green Bay Packers", "San Francisco 49ers", "New England Patriots", "Kansas City Chiefs")
SEASON_DAYS = 200.0  # days, about


@command(
    option("picture", "FILE.png", "Where to draw the careers of some teams.", default=Path("nfl.png")),
    plain_option,
    option("simulated", text="Rate a simulated league, and compare ratings with true strengths."),
    option("players", "NUMBER", "Number of players.", default=5000, least=2, needs="simulated"),
    option("matches", "NUMBER", "Number of matches.", default=200_000, least=1, needs="simulated"),
    option("seed", "NUMBER", "Random seed.", default=0, needs="simulated"),
    json=False,
    groups={"Demo": ("plain", "picture"), "Simulated league": ("simulated", "players", "matches", "seed")},
    examples=(
        "jaxrate demo",
        "jaxrate demo --picture teams.png",
        "jaxrate demo --simulated --players 1000 --matches 50000",
    ),
)
def demo(report: ProgressReport, picture: Path, plain: bool, simulated: bool, **league: int) -> None:
    """Rate every match of the National Football League, 1920 to 2021, by eight systems.

    Prints the accuracy of each system and the final table, and draws the careers of some teams.
    """
    if simulated:
        rate_simulated_league(report, **league)
    else:
        rate_football_league(report, picture, plain)


def rate_football_league(report: ProgressReport, picture: Path, plain: bool) -> None:
    """Print the accuracy of all systems and the table by the best, and draw some careers."""
    from jaxrate.data.table_sources import import_pyarrow

    if picture.suffix not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--picture {picture}: the name must end in .png, .pdf or .svg")
    check_output_file("--picture", picture, "nfl.png")
    import_pyarrow()  # raises its ImportError before rating
    data = drop_sides_margins_and_seasons(jr.data.datasets.nfl()) if plain else jr.data.datasets.nfl()
    best = _compare_systems(report, data)
    with report.stage(f"rating by {best.name}"):
        rated = jr.rate(best, data)
    last = float(data.matches.time[-1])
    playing = data.players[np.unique(data.matches.player[data.matches.time > last - SEASON_DAYS])]
    board = jr.leaderboard(rated, among=playing, top=len(playing))
    print_sections(
        f"\nThe {len(playing)} teams that still play, by {best.name}, as of {np.datetime64(int(last), 'D')}:",
        name_teams(to_text_table(board, board.scope)),
    )
    replaced = " (in place of the one there)" if picture.exists() else ""
    with report.stage("drawing"):
        was_drawn = _save_careers_plot_if_possible(rated, playing, picture)
    if was_drawn:
        print_escaped(f"\n{picture}{replaced} shows the {TEAMS[0]} and others through their seasons.")
    else:
        report.note("no picture without matplotlib: pip install 'jaxrate[plot]'")


def _compare_systems(report: ProgressReport, data: jr.data.Dataset) -> jr.extend.RatingSystem:
    """Print how well each system predicts the matches; return the best of those that have deviations."""
    from jaxrate.evaluation.comparison import select_candidates
    from jaxrate.evaluation.scored_predictions import format_metric

    fitting, _ = select_candidates(data, {key: {} for key in jr.extend.SYSTEMS}, is_named=False)
    with report.stage(f"rating by {len(fitting)} systems", 1.0) as update_progress:
        comparison = jr.compare(data, fitting, watch=update_progress)
    systems = (result.system for result in comparison.results)
    best = next(x for x in systems if jr.ratings(x, x.init(x.params, 1)).deviation is not None)
    evidence = describe_evidence(best, data)
    learning = f"{best.name} also learns from {evidence}; --plain turns this off." if evidence else ""
    published = jr.metrics.match_metrics(jr.data.datasets.nfl_forecast(), data.matches.score)
    qualities = [(result.name, result.quality) for result in comparison.results] + [("(FiveThirtyEight)", published)]
    rows = [(name, *(format_metric(x, quality[x]) for x in ("log loss", "accuracy"))) for name, quality in qualities]
    counts = f"{len(data.rows):,} matches of {len(data.players)} teams"
    print_sections(
        f"The NFL from 1920 to 2021: {counts}, predicted in advance.",
        TextTable(["system", "log loss", "accuracy"], rows),
        "Lower log loss is better; a coin has 0.6931. The last row is FiveThirtyEight's published model.",
        f"All systems have default settings. {learning}".rstrip(),
    )
    return best


def _save_careers_plot_if_possible(rated: jr.History, playing: Any, picture: Path) -> bool:
    """Whether there is matplotlib to do it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        return False
    figure = jr.plots.careers(rated, TEAMS, others=playing, step=365.25).figure
    figure.savefig(picture, dpi=150)
    pyplot.close(figure)
    return True
