"""`jaxrate arena`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.options import finite
from jaxrate.cli.outputs import check_file
from jaxrate.cli.progress import Report, reporting
from jaxrate.cli.reading import Reading, columns_of, is_shipped, read
from jaxrate.cli.terminal import say
from jaxrate.text import near, number, table

if TYPE_CHECKING:
    from jaxrate.data.tables import Source
    from jaxrate.strengths.certain import RankSets
    from jaxrate.strengths.found import Strengths

WHY = {
    "steps": "all steps are used up",
    "no further gain": "no step leads to likelier ratings",
    "no maximum": "ratings or coefficients grow without end",
}
TIES = "davidson", "rao_kupper", "half", "none"
ERRORS = "curvature", "sandwich", "bootstrap"
WIDE = 1.96  # deviations to either side: 95 %
RANKED = 500  # players up to whom ranks are found: all pairs of them are compared
COUNTED = ("wins", "losses"), ("wins_a", "wins_b")  # how files name them
TIMES = "time", "date", "t"
COLUMNS = (
    *("format", "a", "b", "score", "winner", "loser", "contest", "participant", "rank", "side", "neutral", "weight"),
    *("covariate", "drop", "skip-incomplete", "normalise-names"),
)

EXAMPLES = """\b
Examples:
  jaxrate arena votes.csv --cluster voter --covariate length --anchor gpt-4=1200
  jaxrate arena counts.csv --wins wins --losses losses --tied ties --out table.csv"""


@click.command(cls=Reading, short_help="Rank players who do not change: who is better, and is that sure?",
               epilog=EXAMPLES)  # fmt: skip
@click.argument("file", metavar="FILE", type=click.Path())
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
@click.option("--top", type=click.IntRange(min=1), help="Length of the table.  [default: everybody]")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the table there, .csv or .parquet.")
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
    top: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Rank the players of FILE, who do not change: votes (a, b, score, or winner, loser), or counts of them by pair.

    The order of the votes does not count. Ratings are on Elo's scale: 400 points are odds of 10 to 1. Each has a 95 %
    interval, and the best and the worst rank that the player may have; all these ranks hold together at 95 %. Votes
    that go together, as those of one voter, need --cluster: without it intervals are too short. --covariate and --side
    have coefficients of their own. Contests are ranked by Plackett-Luce.

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
    votes = _votes(report, file, options, (wins, losses, tied), clusters)
    with report.stage("finding strengths"), _naming(votes.source, votes.rows):
        more: dict[str, Any] = {"prior": prior, "cluster": votes.clusters or None, "errors": errors}
        found = jr.static(votes.data, ties=ties, covariates=votes.covariates, anchors=held, **more)
    for note in found.notes:
        report.note(_as_options(note))
    ranks = _ranks(report, found)
    if not found.converged:
        hint = "; leave out a covariate that tells the results, if there is one" if found.coefficient else ""
        report.note(f"not converged after {found.steps} steps: {WHY[found.reason]}{hint}")
    if out is not None:
        jr.write(_columns(found, ranks), out)
        report.note(f"saved the table to {out}")
    if as_json:
        say(json.dumps(_plain(file, found, ranks), indent=2))
    else:
        say("\n".join([*_said(found), "", _table(found, ranks, top)]))
    if not found.converged:
        sys.exit(1)


class Votes(NamedTuple):
    """What was read of a file."""

    data: Any  # a `Dataset` or counts
    covariates: tuple[str, ...]
    clusters: list[Any]  # [n] numbers of them, for each way of clustering
    source: Source  # the file
    rows: Any  # [n] where each vote, or count, stands there


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


def _votes(
    report: Report,
    file: str,
    options: dict[str, Any],
    counted: tuple[str | None, str | None, tuple[str, ...]],
    clusters: tuple[str, ...],
) -> Votes:
    """The votes, counts or contests of a file."""
    from jaxrate.data.tables import Source, find_name, open_source

    if "format" in options or re.search(r"\.pgn(\.\w+)?$", file.lower()):
        if any(counted) or clusters:
            raise ValueError("--cluster, --wins, --losses and --tied name columns, and not those of a public format")
        title = f"{Path(file).name}: "
        source = Source(title, [], lambda *wanted: {}, lambda row: f"{title}row {row} (counting from 0)")
        data = read(report, file, options)
        return Votes(data, _covariates(data), [], source, data.rows)
    table = open_source(jr.datasets.nfl_columns() if is_shipped(file) else file)
    used = {x for given in options.values() for x in (given if isinstance(given, (list, tuple)) else [given])}
    unused = {find_name(table.names, time) for time in TIMES} - used  # the order of votes does not count
    source = table._replace(names=[name for name in table.names if name not in unused], noted=False)
    with _naming(table, ()):
        columns = _counted(source.names, options, *counted)
    if columns is None:
        data = read(report, file, options, source=source)
        return Votes(data, _covariates(data), _codes(table, clusters, data.rows), table, data.rows)
    first, second, neither = columns
    data = read(report, file, options | {"columns": [first, second, *neither]}, source=source, upcoming=True)
    known = dict(data.matches.context.columns or {})
    if data.matches.context.side is not None:
        known["side"] = data.matches.context.side
    a, b = np.asarray(data.matches.player).T
    ties = sum(known[name] for name in neither) if neither else None
    with _naming(table, data.rows):
        found = jr.counts(a, b, known[first], known[second], ties, columns=known)._replace(players=data.players)
    return Votes(found, _covariates(data), _codes(table, clusters, data.rows), table, data.rows)


def _counted(
    names: list[str], options: dict[str, Any], wins: str | None, losses: str | None, tied: tuple[str, ...]
) -> tuple[str, str, list[str]] | None:
    """The columns of wins, losses and ties, given or known by their names; None if these are no counts."""
    from jaxrate.data.tables import check_names, find_name

    pairs = [(find_name(names, one), find_name(names, two)) for one, two in COUNTED]
    known = next((pair for pair in pairs if all(pair)), (None, None))
    votes = sorted({"score", "winner", "loser", "contest", "participant", "player", "rank"} & options.keys())
    asked = wins is not None or losses is not None or bool(tied)
    if not asked and (votes or known[0] is None or find_name(names, "score") is not None):
        return None
    if votes or "weight" in options:
        option = {"player": "participant"}.get(votes[0], votes[0]) if votes else "weight"
        raise ValueError(f"--{option} is of votes; counts have --wins, --losses and --tied")
    first, second = wins or known[0], losses or known[1]
    if first is None or second is None:
        missing = "--wins" if first is None else "--losses"
        raise ValueError(f"counts need columns of wins and of losses; name one with {missing}")
    tie = find_name(names, "ties")
    neither = [*tied] or ([tie] if tie is not None else [])
    chosen = [first, second, *neither]
    check_names(names, chosen)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(chosen)}")
    return first, second, neither


def _covariates(data: jr.Dataset) -> tuple[str, ...]:
    """Whatever is known of the matches and speaks for one player."""
    if not isinstance(data.events, jr.Matches):
        return ()
    return (*data.covariates, *(() if data.matches.context.side is None else ("side",)))


def _codes(source: Source, clusters: tuple[str, ...], rows: Any) -> list[Any]:
    """[n] numbers of the clusters in each column, of these rows of the source."""
    from jaxrate.data.columns import keep_rows, to_column, to_ids

    found: list[Any] = []
    for name in clusters:
        with _naming(source, kept := np.sort(rows)):
            if name not in source.names:
                known = ", ".join(source.names)
                raise ValueError(f"no column {name!r} for --cluster{near(name, source.names)} (there are: {known})")
            column = to_column(name, source.load([name], [name], [])[name])
            keep = np.isin(np.arange(len(column)), kept)
            codes = to_ids([name], {name: keep_rows(name, column, keep)}, what="clusters")[0][:, 0]
            found.append(codes[np.searchsorted(kept, rows)])
    return found


def _as_options(text: str) -> str:
    """Arguments of `jr.static` in a message, as options."""
    text = re.sub(r"\b(ties|prior|errors)='?(\w+)'?", r"--\1 \2", text)
    return text.replace("without a prior", "without a --prior")


@contextmanager
def _naming(source: Source, rows: Any) -> Iterator[None]:
    """A ValueError names the file, and of these rows of it the bad ones, and options."""
    from jaxrate.data.tables import located

    try:
        with located(source.title, lambda row: source.where(int(rows[row]))):
            yield
    except ValueError as error:
        raise ValueError(_as_options(str(error))) from None


def _ranks(report: Report, found: Strengths) -> RankSets | None:
    """The ranks that hold together, unless there are too many players."""
    if found.covariance is None or len(found.players) > RANKED:
        report.note(f"no ranks: they are found of at most {RANKED:,} players")
        return None
    with report.stage("finding ranks"):
        return jr.rank_sets(found)


def _said(found: Strengths) -> list[str]:
    """What was found beside the table."""
    lines = [f"{found.model.replace('_', '-').title()}: {found.votes:,.15g} votes, {len(found.players):,} players"]
    lines[0] += f"; log likelihood {found.log_likelihood / found.votes:.4f} a vote"
    lines.append(f"intervals by {found.errors}")
    if found.tie is not None:
        lines.append(f"ties: {'nu' if found.model == 'davidson' else 'theta'} {found.tie:.4f} ± {found.tie_error:.4f}")
    for name, value in found.coefficient.items():
        lines.append(f"{name}: {value:+.2f} ± {found.coefficient_error[name]:.2f} points for each unit")
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


def _plain(file: str, found: Strengths, ranks: RankSets | None) -> dict[str, Any]:
    """What JSON can say; None is what is not finite."""

    def finite_or_none(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        return None if isinstance(value, float) and not np.isfinite(value) else value

    columns = _columns(found, ranks)
    rows = [
        {name: finite_or_none(x) for name, x in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]
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
        "notes": [_as_options(note) for note in found.notes],
        "players": rows,
    }
