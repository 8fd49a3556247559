"""`jaxrate arena`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.options import finite
from jaxrate.cli.outputs import check_file, check_page, titled
from jaxrate.cli.paths import PathName
from jaxrate.cli.progress import Report, reporting
from jaxrate.cli.reading import Reading, columns_of
from jaxrate.cli.terminal import say
from jaxrate.cli.votes import as_options, naming, votes_of
from jaxrate.text import number, table

if TYPE_CHECKING:
    from jaxrate.strengths.certain import RankSets
    from jaxrate.strengths.found import Strengths
    from jaxrate.strengths.moved import Moved

WHY = {
    "steps": "all steps are used up",
    "no further gain": "no step leads to likelier ratings",
    "no maximum": "ratings or coefficients grow without end",
}
TIES = "davidson", "rao_kupper", "half", "none"
ERRORS = "curvature", "sandwich", "bootstrap"
WIDE = 1.96  # deviations to either side: 95 %
RANKED = 500  # players up to whom ranks are found: all pairs of them are compared
COLUMNS = (
    *("format", "a", "b", "score", "winner", "loser", "contest", "participant", "rank", "time", "side", "neutral"),
    *("weight", "covariates", "dates", "na-values", "drop", "skip-incomplete", "normalise-names"),
)

EXAMPLES = """\b
Examples:
  jaxrate arena votes.csv --cluster voter --covariates length --anchor gpt-4=1200
  jaxrate arena votes.csv --cluster voter --moved --report page.html
  jaxrate arena counts.csv --wins wins --losses losses --tied ties --out table.csv"""


@click.command(cls=Reading, short_help="Rank players who do not change: who is better, and is that sure?",
               epilog=EXAMPLES)  # fmt: skip
@click.argument("file", metavar="FILE", type=PathName())
@click.option("--ties", type=click.Choice(TIES), help="How ties are taken: by a model of them, as half a win, or left "
              "out.  [default: davidson]")  # fmt: skip
@click.option("--cluster", "clusters", multiple=True, metavar="COLUMN",
              help="Column of what goes together, as the voter or the prompt; may be given twice.")  # fmt: skip
@click.option("--anchor", "anchors", multiple=True, metavar="NAME=RATING",
              help="A rating that is known; may be repeated.  [default: the mean is 1500]")  # fmt: skip
@click.option("--prior", type=float, callback=finite, metavar="POINTS",
              help="Deviation of a prior about 1500; with it everybody has a rating.  [default: none]")  # fmt: skip
@click.option("--errors", type=click.Choice(ERRORS), help="What intervals are from.  [default: curvature; of clusters "
              "sandwich]")  # fmt: skip
@click.option("--wins", metavar="COLUMN", help="Counts: column of how often a won.  [default: wins or wins_a]")
@click.option("--losses", metavar="COLUMN", help="Counts: column of how often b won.  [default: losses or wins_b]")
@click.option("--tied", multiple=True, metavar="COLUMN",
              help="Counts: column of ties; may be repeated, and they are added up.  [default: ties]")  # fmt: skip
@columns_of(COLUMNS)
@click.option("--moved", is_flag=True, help="Whether anybody did change, by the times of votes, and who.")
@click.option("--top", type=click.IntRange(min=1), help="Length of the table.  [default: everybody]")
@click.option("--out", type=PathName(path_type=Path), metavar="FILE", help="Write the table there, .csv or .parquet.")
@click.option("--report", "page", type=PathName(path_type=Path), metavar="FILE.html", help="Write a page there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reporting
def arena(
    report: Report,
    file: str,
    ties: str | None,
    clusters: tuple[str, ...],
    anchors: tuple[str, ...],
    prior: float | None,
    errors: str | None,
    wins: str | None,
    losses: str | None,
    tied: tuple[str, ...],
    options: dict[str, Any],
    moved: bool,
    top: int | None,
    out: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Rank the players of FILE, who do not change: votes (a, b, score, or winner, loser), or counts of them by pair.

    The order of the votes does not count. Ratings are on Elo's scale: 400 points are odds of 10 to 1. Each has a 95 %
    interval, and the best and the worst rank that the player may have; all these ranks hold together at 95 %. Votes
    that go together, as those of one voter, need --cluster: without it intervals are too short. --covariates and --side
    have coefficients of their own. Contests are ranked by Plackett-Luce. --moved asks whether strengths stayed as they
    were, all players together at 5 %, and whether a rating that drifts predicts better than one that does not.

    Exit code 1 says that the search for the likeliest ratings did not converge.
    """
    held = _anchors(anchors)
    if prior is not None and prior <= 0:
        raise ValueError(f"--prior must be above 0, got {prior:g}")
    if len(clusters) > 2:
        raise ValueError(f"--cluster takes one column or two, got {len(clusters)}")
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"--out {out}: the name must end in .csv or .parquet")
        check_file("--out", out, "table.csv")
    if page is not None:
        from jaxrate.records.report import installed

        check_page("--report", page, "page.html")
        installed()
    votes = votes_of(report, file, options, (wins, losses, tied), clusters, moved)
    with report.stage("finding strengths"), naming(votes.source, votes.rows):
        more: dict[str, Any] = {"prior": prior, "cluster": votes.clusters or None, "errors": errors}
        found = jr.static(votes.data, ties=ties, covariates=votes.covariates, anchors=held, **more)
    for note in found.notes:
        report.note(as_options(note))
    ranks = _ranks(report, found)
    change = None
    if moved:
        with report.stage("asking who moved"), naming(votes.source, votes.rows):
            one = votes.clusters[0] if len(votes.clusters) == 1 else votes.clusters or None
            change = jr.moved(votes.data, ties=ties, covariates=votes.covariates, cluster=one)
    if not found.converged:
        hint = "; leave out a covariate that tells the results, if there is one" if found.coefficient else ""
        report.note(f"not converged after {found.steps} steps: {WHY[found.reason]}{hint}")
    if out is not None:
        jr.write(_columns(found, ranks), out)
        report.note(f"saved the table to {out}")
    if page is not None:
        with report.stage("making the page"):
            page.write_text(jr.arena_report(found, ranks=ranks, moved=change, title=titled(file)), encoding="utf-8")
        report.note(f"saved the page to {page}")
    if as_json:
        say(json.dumps(_plain(file, found, ranks, change), indent=2))
    else:
        shown = [] if change is None else ["", *change.said(), "", change.table(top)]
        say("\n".join([*_said(found), "", _table(found, ranks, top), *shown]))
    if not found.converged:
        sys.exit(1)


def _anchors(texts: tuple[str, ...]) -> dict[str, float]:
    """The values of --anchor NAME=RATING; a name may hold an equals sign."""
    held: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            rating = float(value)
        except ValueError:
            rating = float("nan")
        if not name or not np.isfinite(rating):
            raise ValueError(f"--anchor {text}: write NAME=RATING, as in Ada=1500")
        if name in held:
            raise ValueError(f"--anchor names {name} twice")
        held[name] = rating
    return held


def _ranks(report: Report, found: Strengths) -> RankSets | None:
    """The ranks that hold together, unless there are too many players."""
    if not found.converged:
        return None
    if found.covariance is None or len(found.players) > RANKED:
        report.note(f"no ranks: they are found of at most {RANKED:,} players")
        return None
    with report.stage("finding ranks"):
        return jr.rank_sets(found)


def _said(found: Strengths) -> list[str]:
    """What was found beside the table."""
    from jaxrate.strengths.found import value_and_error

    lines = [f"{found.model.replace('_', '-').title()}: {found.votes:,.15g} votes, {len(found.players):,} players"]
    lines[0] += f"; log likelihood {found.log_likelihood / found.votes:.4f} a vote"
    lines.append(f"intervals by {found.errors}" if found.converged else "no intervals: the search did not converge")
    if found.tie is not None:
        name = "nu" if found.model == "davidson" else "theta"
        lines.append(f"ties: {name} {value_and_error(found.tie, found.tie_error, 4)}")
    for name, value in found.coefficient.items():
        sign, error = "+" * (value >= 0), found.coefficient_error[name]
        lines.append(f"{name}: {sign}{value_and_error(value, error, 2)} points for each unit")
    return lines


HEAD = ["ranks", "player", "rating", "95 % interval", "votes", "score"]


def _table(found: Strengths, ranks: RankSets | None, top: int | None) -> str:
    """The best first, each with the ranks that they may have."""
    rows: list[tuple[Any, ...]] = []
    for i in found.order[:top].tolist():
        rating, error = found.rating[i], found.standard_error[i]
        known = np.isfinite(rating) and np.isfinite(error)
        between = f"{rating - WIDE * error:.0f} to {rating + WIDE * error:.0f}" if known else ""
        between = "anchor" if found.held[i] else between
        shown = "" if np.isnan(rating) else f"{rating:.1f}"
        score = f"{found.score[i]:.3f}" if found.games[i] else ""
        both = [] if ranks is None else [f"{ranks.least[i]} to {ranks.greatest[i]}"]
        rows.append((*both, found.players[i], shown, between, number(found.games[i]), score))
    return table(HEAD if ranks is not None else HEAD[1:], rows)


def _columns(found: Strengths, ranks: RankSets | None) -> dict[str, Any]:
    """The table as columns, the best first."""
    wide = WIDE * found.standard_error
    columns = {
        "player": found.players,
        "rating": found.rating,
        "standard_error": found.standard_error,
        "low": found.rating - wide,
        "high": found.rating + wide,
        "votes": found.games,
        "score": found.score,
    }
    if ranks is not None:
        columns |= {"least_rank": ranks.least, "greatest_rank": ranks.greatest}
    return {name: np.asarray(values)[found.order] for name, values in columns.items()}


def _plain(file: str, found: Strengths, ranks: RankSets | None, moved: Moved | None) -> dict[str, Any]:
    """What JSON can say; None is what is not finite."""

    def finite_or_none(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        return None if isinstance(value, float) and not np.isfinite(value) else value

    def rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
        listed = zip(*columns.values(), strict=True)
        return [{name: finite_or_none(x) for name, x in zip(columns, row, strict=True)} for row in listed]

    change = {}
    if moved is not None:
        each = {name: x[moved.order] for name, x in moved._asdict().items() if np.ndim(x) == 1}
        change = {name: finite_or_none(x) for name, x in moved._asdict().items() if np.ndim(x) == 0}
        change = {"moved": change | {"players": rows({"player": each.pop("players"), **each})}}
    return {
        "file": file,
        "model": found.model,
        "errors": found.errors,
        "votes": found.votes,
        "log_likelihood": finite_or_none(found.log_likelihood),
        "converged": found.converged,
        "reason": found.reason,
        "tie": found.tie,
        "tie_error": finite_or_none(found.tie_error),
        "coefficient": {name: finite_or_none(x) for name, x in found.coefficient.items()},
        "coefficient_error": {name: finite_or_none(x) for name, x in found.coefficient_error.items()},
        "notes": [as_options(note) for note in found.notes],
        "players": rows(_columns(found, ranks)),
        **change,
    }
