"""jaxrate arena."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli.input_options import (
    VariadicColumnOptionsCommand,
    is_pgn_file,
    is_shipped_dataset,
    read_events,
    reader_argument_names,
    reading_options,
)
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.output_path_checks import NonEmptyPath, check_html_output_file, check_output_file, title_from_file
from jaxrate.cli.shared_options import check_finite
from jaxrate.cli.site import parse_noun
from jaxrate.cli.terminal_tables import (
    ProgressReport,
    TextTable,
    first_rows_caption,
    print_escaped,
    print_sections,
    report_options,
)
from jaxrate.core.text_format import format_decimals, format_range
from jaxrate.data.column_role_definitions import RESULT_ROLES, roles_taken_by

if TYPE_CHECKING:
    from jaxrate.data.table_sources import TableSource

COUNT_COLUMNS = ("wins", "losses"), ("wins_a", "wins_b")  # how files name them


class VoteData(NamedTuple):
    """The votes, counts or contests of a file."""

    data: Any  # a `Dataset` or counts
    covariates: tuple[str, ...]
    clusters: list[Any]  # [n] numbers of them, for each way of clustering
    source: TableSource  # the file
    rows: Any  # [n] the row of each vote, or count, in the file
    left_out: str = ""  # which counts of ties are not used


def read_votes(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    count_columns: tuple[str | None, str | None, tuple[str, ...]],
    clusters: tuple[str, ...],
    sort_by_time: bool,
) -> VoteData:
    """The votes, counts or contests of a file, with times if `sort_by_time`."""
    from jaxrate.arena.votes import cluster_codes, drop_unused_times
    from jaxrate.data.column_recognition import time_columns
    from jaxrate.data.table_files import open_table_source
    from jaxrate.data.table_sources import TableSource

    if "format" in options or is_pgn_file(file):
        if any(count_columns) or clusters:
            raise ValueError("--cluster, --wins, --losses and --tied name columns, and not those of a public format")
        title = f"{Path(file).name}: "
        source = TableSource(title, [], lambda *names: {}, lambda row: f"{title}row {row} (counting from 0)")
        reader = jr.data.formats.FORMATS.get(options.get("format", "pgn"))
        sorts = reader is not None and "sort" in reader_argument_names(reader)
        data = read_events(report, file, options | ({"sort": True} if sorts else {}))
        return VoteData(data, _covariate_names(data), [], source, data.rows)
    table = open_table_source(jr.data.datasets.nfl_columns() if is_shipped_dataset(file) else file)
    named_columns = {x for given in options.values() for x in (given if isinstance(given, (list, tuple)) else [given])}
    if sort_by_time and not time_columns(table.names) and "time" not in options:
        raise ValueError(f"{table.title}--moved needs the times of votes; name their column with --time")
    source = (table if sort_by_time else drop_unused_times(table, named_columns))._replace(noted=False)
    with add_file_rows_to_errors(table, ()):
        columns = _choose_count_columns(source.names, options, *count_columns)
    if columns is None:
        order = {"sort": True} if sort_by_time or "time" in options else {}
        data = read_events(report, file, options | order, source=source)
        with add_file_rows_to_errors(table._replace(title=""), ()):
            codes = cluster_codes(table, clusters, data.rows)
        return VoteData(data, _covariate_names(data), codes, table, data.rows)
    if sort_by_time:
        raise ValueError(f"{table.title}--moved needs votes with times, and not counts of them")
    first, second, tie_columns = columns
    data = read_events(report, file, options | {"columns": [first, second, *tie_columns]}, source=source, upcoming=True)
    column_values = dict(data.matches.context.columns or {})
    if data.matches.context.side is not None:
        column_values["side"] = data.matches.context.side
    a, b = np.asarray(data.matches.player).T
    ties = sum(column_values[name] for name in tie_columns) if tie_columns else None
    with add_file_rows_to_errors(table, data.rows):
        vote_counts = jr.arena.count_votes(
            a, b, column_values[first], column_values[second], ties, columns=column_values
        )._replace(players=data.players)
    left_out = _describe_unused_ties(table, columns, data.rows)
    if left_out:
        named = " ".join(
            f"--tied {shlex.quote(name)}" for name in (*tie_columns, *_unused_tie_columns(table.names, columns))
        )
        report.note(f"{left_out}; {named} counts them as ties")
    with add_file_rows_to_errors(table._replace(title=""), ()):
        codes = cluster_codes(table, clusters, data.rows)
    return VoteData(vote_counts, _covariate_names(data), codes, table, data.rows, left_out)


def _unused_tie_columns(names: list[str], columns: tuple[str, str, list[str]]) -> list[str]:
    """Columns that begin as those of ties do, and are not among these."""
    used = {columns[0], columns[1], *columns[2]}
    return [name for name in names if re.match(r"(ties?|draws?)(_|$)", name.lower()) and name not in used]


def _describe_unused_ties(source: TableSource, columns: tuple[str, str, list[str]], rows: Any) -> str:
    """How many results in further columns of ties are left out, as "12 votes for neither are left out"."""
    from jaxrate.data.column_conversion import to_column, to_numbers

    found = []
    for name in _unused_tie_columns(source.names, columns):
        column = to_column(name, source.load([name], [name], [])[name])
        try:
            values = to_numbers(name, column, 0.0)[rows]
        except ValueError:  # a column of text counts nothing
            continue
        if values.sum() > 0:
            kind = "votes for neither" if "bad" in name.lower() else f"further ties, {name},"
            found.append(f"{values.sum():,.15g} {kind}")
    return f"{' and '.join(found)} are left out" if found else ""


def describe_vote_dates(votes: VoteData, dates: str | None) -> str:
    """The first and the last day of votes that have a column of dates; empty without one."""
    from jaxrate.data.column_conversion import to_column, to_days
    from jaxrate.data.column_recognition import time_columns
    from jaxrate.data.date_parsing import parse_dates
    from jaxrate.history.history import format_time

    for name in time_columns(votes.source.names):
        column = to_column(name, votes.source.load([name], [name], [])[name])
        try:
            days, is_dated = to_days(name, parse_dates(name, column, dates).column)
        except ValueError:  # votes do without times
            continue
        if is_dated and len(days):
            ends = (format_time(float(np.floor(day)), "dates") for day in (days.min(), days.max()))
            return " to ".join(dict.fromkeys(ends))
    return ""


def _choose_count_columns(
    names: list[str], options: dict[str, Any], wins: str | None, losses: str | None, tied: tuple[str, ...]
) -> tuple[str, str, list[str]] | None:
    """The columns of wins, losses and ties, as options or their names say; None if these are no counts."""
    from jaxrate.data.table_sources import check_columns_exist_and_unique, find_column_ignoring_case

    pairs = [
        (find_column_ignoring_case(names, one), find_column_ignoring_case(names, two)) for one, two in COUNT_COLUMNS
    ]
    default_pair = next((pair for pair in pairs if all(pair)), (None, None))
    vote_options = sorted({*RESULT_ROLES} & options.keys())
    is_named = wins is not None or losses is not None or bool(tied)
    if not is_named and (
        vote_options or default_pair[0] is None or find_column_ignoring_case(names, "score") is not None
    ):
        return None
    if vote_options or "weight" in options:
        raise ValueError(
            f"--{vote_options[0] if vote_options else 'weight'} is for votes; counts have --wins, --losses and --tied"
        )
    first, second = wins or default_pair[0], losses or default_pair[1]
    if first is None or second is None:
        missing = "--wins" if first is None else "--losses"
        raise ValueError(f"counts need columns of wins and of losses; name one with {missing}")
    tie = find_column_ignoring_case(names, "ties")
    tie_columns = [*tied] or ([tie] if tie is not None else [])
    columns = [first, second, *tie_columns]
    check_columns_exist_and_unique(names, columns)
    if len(set(columns)) < len(columns):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(columns)}")
    return first, second, tie_columns


def _covariate_names(data: jr.data.Dataset) -> tuple[str, ...]:
    """The covariates of the matches, and the side if there is one."""
    if not data.of_matches:
        return ()
    return (*data.covariates, *(() if data.matches.context.side is None else ("side",)))


def replace_argument_names_by_options(text: str) -> str:
    """A message about arguments of `jr.arena.fit_strengths`, with options in place of arguments."""
    text = re.sub(
        r"\b(ties|prior|errors)='?(\w+)'?", r"--\1 \2", re.sub(r"(?<!-)\bmoved (?=clusters|takes)", "--moved ", text)
    )
    return text.replace("without a prior", "without a --prior").replace(" for cluster", " for --cluster")


@contextmanager
def add_file_rows_to_errors(source: TableSource, rows: Any) -> Iterator[None]:
    """A ValueError names the file, the bad rows of it and options."""
    from jaxrate.data.table_sources import add_location_to_data_errors

    try:
        with add_location_to_data_errors(source.title, lambda row: source.where(int(rows[row]))):
            yield
    except ValueError as error:
        raise ValueError(replace_argument_names_by_options(str(error))) from None


if TYPE_CHECKING:
    from jaxrate.arena.rank_inference import RankSets
    from jaxrate.arena.strength_drift import StrengthDrift
    from jaxrate.arena.strength_fit import Strengths
    from jaxrate.site.wording import PlayerOrTeamNoun

STOP_REASONS = {
    "steps": "all steps are used up",
    "no further gain": "no step leads to likelier ratings",
    "no maximum": "ratings or coefficients grow without end",
}
TIE_MODELS = "davidson", "rao_kupper", "half", "none"
ERROR_METHODS = "curvature", "sandwich", "bootstrap"
READING_OPTIONS = (
    "format",
    *roles_taken_by("arena"),
    "dates",
    "na_values",
    "unfinished",
    "skip_incomplete",
    "normalise_names",
)


@click.command(
    cls=VariadicColumnOptionsCommand,
    groups={
        "Page": ("report", "title", "source", "noun"),
        "Ranking": ("ties", "cluster", "anchor", "prior", "errors", "moved", "top"),
        "Columns of counts": ("wins", "losses", "tied"),
    },
    examples=(
        "jaxrate arena votes.csv --cluster voter --anchor gpt-4=1200",
        "jaxrate arena votes.csv --cluster voter --covariates length --moved",
        "jaxrate arena counts.csv --wins wins --losses losses --out table.csv",
        'jaxrate arena votes.csv --report page.html --title "GPT arena"',
    ),
)
@click.argument("file", metavar="FILE", type=NonEmptyPath())
@click.option("--ties", type=click.Choice(TIE_MODELS), metavar="METHOD", help="Count ties by a model of them, davidson "
              "or rao_kupper, as half a win, half, or not at all, none.  [default: davidson]")  # fmt: skip
@click.option("--cluster", "clusters", multiple=True, metavar="COLUMN",
              help="Column of dependent votes, as the voter or the prompt; may be given twice.")  # fmt: skip
@click.option("--anchor", "anchors", multiple=True, metavar="NAME=RATING",
              help="Fix the rating of a player; may be repeated.  [default: the mean is 1500]")  # fmt: skip
@click.option("--prior", type=float, callback=check_finite, metavar="POINTS",
              help="Deviation of a prior at 1500, so that everybody has a rating.  [default: none]")  # fmt: skip
@click.option("--errors", type=click.Choice(ERROR_METHODS), metavar="METHOD",
              help="Intervals by curvature, sandwich or bootstrap.  "
              "[default: curvature; sandwich with --cluster]")  # fmt: skip
@click.option("--wins", metavar="COLUMN", help="Column of the wins of a.  [default: wins or wins_a]")
@click.option("--losses", metavar="COLUMN", help="Column of the wins of b.  [default: losses or wins_b]")
@click.option("--tied", multiple=True, metavar="COLUMN",
              help="Column of ties; several are added up.  [default: ties]")  # fmt: skip
@reading_options(READING_OPTIONS)
@click.option("--moved", is_flag=True, help="Test whether strengths changed over time, and whose.")
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, metavar="NUMBER",
              help="Length of the table.")  # fmt: skip
@click.option("--out", type=NonEmptyPath(path_type=Path), metavar="FILE", help="Save the table as .csv or .parquet.")
@click.option("--report", "page", type=NonEmptyPath(path_type=Path), metavar="FILE.html", help="Write an HTML page.")
@click.option("--title", metavar="TEXT", help="Title of the page.  [default: the name of FILE]")
@click.option("--source", metavar="TEXT", help="Where the votes are from.  [default: not said]")
@click.option("--noun", metavar="ONE,MANY", callback=parse_noun, help="What the ranked are called, as player,players.  "
              "[default: model,models]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_options
def arena(
    report: ProgressReport,
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
    top: int,
    out: Path | None,
    page: Path | None,
    title: str | None,
    source: str | None,
    noun: tuple[str, ...] | None,
    as_json: bool,
) -> None:
    """Rank fixed-strength players, such as language models, from votes (a, b, score, or winner, loser) or counts.

    The order of the votes does not matter. Ratings are on the Elo scale: 400 points are odds of 10 to 1. Each has a
    95% interval and a range of ranks; at 95% confidence, all ranks are in their ranges at once.

    Votes of the same voter or prompt depend on each other: name their column with --cluster, or intervals are too
    short. --covariates and --side get coefficients. Contests are ranked by the Plackett-Luce model.

    --moved tests whether strengths changed, for all players together at 5%, and whether drifting ratings would predict
    better.

    Exit code 1: the search did not converge.
    """
    from jaxrate.site.wording import MODELS, make_noun

    anchor_ratings, words = _parse_anchors(anchors), make_noun(noun, MODELS)
    if prior is not None and prior <= 0:
        raise ValueError(f"--prior must be above 0, got {prior:g}")
    if len(clusters) > 2:
        raise ValueError(f"--cluster takes one column or two, got {len(clusters)}")
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"--out {out}: the name must end in .csv or .parquet")
        check_output_file("--out", out, "table.csv")
    if page is not None:
        from jaxrate.site.page_templates import make_template_environment

        check_html_output_file("--report", page, "page.html")
        make_template_environment()
    votes = read_votes(report, file, options, (wins, losses, tied), clusters, moved)
    with report.stage("fitting strengths"), add_file_rows_to_errors(votes.source, votes.rows):
        settings: dict[str, Any] = {"prior": prior, "cluster": votes.clusters or None, "errors": errors}
        strengths = jr.arena.fit_strengths(
            votes.data, ties=ties, covariates=votes.covariates, anchors=anchor_ratings, **settings
        )
    for note in strengths.notes:
        report.note(replace_argument_names_by_options(note))
    ranks = _rank_sets(report, strengths)
    drift = None
    if moved:
        with report.stage("testing who moved"), add_file_rows_to_errors(votes.source, votes.rows):
            cluster = votes.clusters[0] if len(votes.clusters) == 1 else votes.clusters or None
            drift = jr.arena.detect_drift(votes.data, ties=ties, covariates=votes.covariates, cluster=cluster)
    if not strengths.converged:
        hint = "; leave out a covariate that tells the results, if there is one" if strengths.coefficient else ""
        report.note(f"not converged after {strengths.steps} steps: {STOP_REASONS[strengths.reason]}{hint}")
    if out is not None:
        jr.data.write(_strength_columns(strengths, ranks), out)
        report.note(f"saved the table to {out}")
    if page is not None:
        with report.stage("writing the page"):
            text = jr.site.arena_page_html(
                strengths,
                ranks=ranks,
                drift=drift,
                title=title or title_from_file(file),
                source=source or "",
                left_out=votes.left_out,
                dates=describe_vote_dates(votes, options.get("dates")),
                noun=noun,
                clusters=clusters,
            )
            page.write_text(text, encoding="utf-8")
        report.note(f"saved the page to {page}")
    if as_json:
        print_escaped(json.dumps(_json_result(file, strengths, ranks, drift), indent=2))
    else:
        sections: list[str | TextTable] = [
            _answer(strengths, ranks, words),
            _strength_table(strengths, ranks, top, words),
            "\n".join(_fit_details(strengths, with_model=report.verbose)),
        ]
        if drift is not None:
            table = TextTable(*drift.table_rows(top))
            caption = first_rows_caption(len(table.rows), len(strengths.players), words.many, has_hint=False)
            sections += ["\n".join(drift.summary_lines()), table._replace(caption=caption)]
        print_sections(*sections)
    if not strengths.converged:
        sys.exit(1)


def _parse_anchors(texts: tuple[str, ...]) -> dict[str, float]:
    """The values of --anchor NAME=RATING; a name may hold an equals sign."""
    anchors: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            rating = float(value)
        except ValueError:
            rating = float("nan")
        if not name or not np.isfinite(rating):
            raise ValueError(f"--anchor {text}: write NAME=RATING, as in Ada=1500")
        if name in anchors:
            raise ValueError(f"--anchor names {name} twice")
        anchors[name] = rating
    return anchors


def _rank_sets(report: ProgressReport, strengths: Strengths) -> RankSets | None:
    """The ranks that hold for all players together; None if there are too many players."""
    from jaxrate.arena.rank_inference import MAX_RANKED

    if not strengths.converged:
        return None
    if strengths.covariance is None or len(strengths.players) > MAX_RANKED:
        report.note(f"no rank ranges: they are limited to {MAX_RANKED:,} players")
        return None
    with report.stage("computing ranks"):
        return jr.arena.rank_sets(strengths)


def _answer(strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun) -> str:
    """The line above the table: who is the best, whether that is certain, and what was counted."""
    from jaxrate.site.arena_page import headline

    names = [" ".join(str(x).split()) for x in strengths.players]
    counts = f"{strengths.votes:,.15g} votes, {noun.quantify(len(names))}"
    return f"{headline(names, strengths, ranks, noun)} ({counts})"


def _fit_details(strengths: Strengths, *, with_model: bool) -> list[str]:
    """The lines below the table: ties and coefficients, and the model and its likelihood if these are asked for."""
    from jaxrate.arena.paired_comparison_likelihood import outcome_probabilities
    from jaxrate.arena.strength_fit import format_value_and_error

    lines = [] if strengths.converged else ["no intervals: the search did not converge"]
    if strengths.tie is not None:
        _, share, _ = outcome_probabilities(strengths.model, np.zeros(1), strengths.kappa)
        lines.append(f"ties: {100.0 * float(np.asarray(share)[0]):.0f}% of votes between equals")
    if with_model:
        name, likelihood = strengths.model.replace("_", "-").title(), strengths.log_likelihood / strengths.votes
        lines.append(f"{name}: log likelihood {likelihood:.4f} a vote; intervals by {strengths.errors}")
        if strengths.tie is not None:
            name = "nu" if strengths.model == "davidson" else "theta"
            lines.append(f"{name} of ties: {format_value_and_error(strengths.tie, strengths.tie_error, 4)}")
    for name, value in strengths.coefficient.items():
        sign, error = "+" * (value >= 0), strengths.coefficient_error[name]
        lines.append(f"{name}: {sign}{format_value_and_error(value, error, 2)} points for each unit")
    return lines


def _strength_table(strengths: Strengths, ranks: RankSets | None, top: int, noun: PlayerOrTeamNoun) -> TextTable:
    """The table of players, the best first, with the ranks that they may have."""
    rows: list[tuple[Any, ...]] = []
    for i in strengths.order[:top].tolist():
        rating, error = strengths.rating[i], strengths.half_width[i]
        has_interval = np.isfinite(rating) and np.isfinite(error)
        interval = " to ".join(format_decimals(rating + x * error, 0) for x in (-1.0, 1.0)) if has_interval else ""
        interval = "anchor" if strengths.is_anchor[i] else interval
        rating_text = "" if np.isnan(rating) else format_decimals(rating, 0)
        score = f"{100.0 * strengths.score[i]:.0f}%" if strengths.games[i] else ""
        rank_range = [] if ranks is None else [format_range(ranks.least[i], ranks.greatest[i])]
        rows.append((*rank_range, strengths.players[i], rating_text, interval, f"{strengths.games[i]:,.15g}", score))
    headings = [noun.one, "rating", "95% interval", "votes", "score"]
    caption = first_rows_caption(len(rows), len(strengths.order), noun.many)
    return TextTable(headings if ranks is None else ["ranks", *headings], rows, (noun.one,), caption, (noun.one,))


def _strength_columns(strengths: Strengths, ranks: RankSets | None) -> dict[str, Any]:
    """The table as columns, the best first."""
    columns = {
        "player": strengths.players,
        "rating": strengths.rating,
        "standard_error": strengths.standard_error,
        "low": strengths.rating - strengths.half_width,
        "high": strengths.rating + strengths.half_width,
        "votes": strengths.games,
        "score": strengths.score,
    }
    if ranks is not None:
        columns |= {"least_rank": ranks.least, "greatest_rank": ranks.greatest}
    return {name: np.asarray(values)[strengths.order] for name, values in columns.items()}


def _json_result(
    file: str, strengths: Strengths, ranks: RankSets | None, moved: StrengthDrift | None
) -> dict[str, Any]:
    """The result for JSON, in which None stands for what is not finite."""

    def finite_or_none(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        return None if isinstance(value, float) and not np.isfinite(value) else value

    def to_rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
        row_values = zip(*columns.values(), strict=True)
        return [{name: finite_or_none(x) for name, x in zip(columns, row, strict=True)} for row in row_values]

    drift = {}
    if moved is not None:
        player_columns = {name: x[moved.order] for name, x in moved._asdict().items() if np.ndim(x) == 1}
        drift = {name: finite_or_none(x) for name, x in moved._asdict().items() if np.ndim(x) == 0}
        drift = {"moved": drift | {"players": to_rows({"player": player_columns.pop("players"), **player_columns})}}
    return {
        "file": file,
        "model": strengths.model,
        "errors": strengths.errors,
        "votes": strengths.votes,
        "log_likelihood": finite_or_none(strengths.log_likelihood),
        "converged": strengths.converged,
        "reason": strengths.reason,
        "tie": strengths.tie,
        "tie_error": finite_or_none(strengths.tie_error),
        "coefficient": {name: finite_or_none(x) for name, x in strengths.coefficient.items()},
        "coefficient_error": {name: finite_or_none(x) for name, x in strengths.coefficient_error.items()},
        "notes": [replace_argument_names_by_options(note) for note in strengths.notes],
        "players": to_rows(_strength_columns(strengths, ranks)),
        **drift,
    }
