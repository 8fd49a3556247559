"""jaxrate arena."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli.commands import FILE, Output, command, option
from jaxrate.cli.input_options import (
    is_pgn_file,
    open_file_table,
    read_events,
    reader_argument_names,
    reading_options,
)
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.library_options import library_choice, library_option
from jaxrate.cli.option_names import name_options
from jaxrate.cli.output_path_checks import check_page_file, check_table_file, title_from_file
from jaxrate.cli.site import parse_noun
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, first_rows_caption
from jaxrate.core.text_format import format_decimals, format_range
from jaxrate.data.column_role_definitions import RESULT_ROLES, roles_taken_by

if TYPE_CHECKING:
    from jaxrate.data.table_sources import TableSource

COUNT_COLUMNS = ("wins", "losses"), ("wins_a", "wins_b")  # how files name them


class VoteColumns(NamedTuple):
    """The options that name columns of votes, beside those of `jr.read`."""

    wins: str | None
    losses: str | None
    tied: tuple[str, ...]
    clusters: tuple[str, ...]


class VoteData(NamedTuple):
    """The votes, counts or contests of a file."""

    data: Any  # a `Dataset` or counts
    covariates: tuple[str, ...]
    clusters: list[Any]  # [n] numbers of them, for each way of clustering
    source: TableSource  # the file
    rows: Any  # [n] the row of each vote, or count, in the file
    left_out: str = ""  # which counts of ties are not used


def read_votes(
    report: ProgressReport, file: str, options: dict[str, Any], named: VoteColumns, *, has_times: bool
) -> VoteData:
    """The votes, counts or contests of a file, with times if it `has_times` that matter."""
    from jaxrate.arena.votes import cluster_codes, drop_unused_times
    from jaxrate.data.column_recognition import time_columns

    if "format" in options or is_pgn_file(file):
        return _read_votes_of_format(report, file, options, named)
    table = open_file_table(file)
    if has_times and not time_columns(table.names) and "time" not in options:
        raise ValueError(f"{table.title}--moved needs the times of votes; name their column with --time")
    source = (table if has_times else drop_unused_times(table, _texts_of_options(options)))._replace(noted=False)
    with add_file_rows_to_errors(table, ()):
        counts = _choose_count_columns(source.names, options, named)
    if counts is None:
        order = {"sort": True} if has_times or "time" in options else {}
        data = read_events(report, file, options | order, source=source)
        votes = VoteData(data, _covariate_names(data), [], table, data.rows)
    elif has_times:
        raise ValueError(f"{table.title}--moved needs votes with times, and not counts of them")
    else:
        votes = _read_counts(report, file, options, counts, source)._replace(source=table)
    with add_file_rows_to_errors(table._replace(title=""), ()):
        return votes._replace(clusters=cluster_codes(table, named.clusters, votes.rows))


def _texts_of_options(options: dict[str, Any]) -> set[Any]:
    """The values of options, which may be columns."""
    return {x for given in options.values() for x in (given if isinstance(given, (list, tuple)) else [given])}


def _read_votes_of_format(report: ProgressReport, file: str, options: dict[str, Any], named: VoteColumns) -> VoteData:
    """The games of a public format, in order of time where it has one."""
    from jaxrate.data.table_sources import TableSource

    if any(named):
        raise ValueError("--cluster, --wins, --losses and --tied name columns, and not those of a public format")
    title = f"{Path(file).name}: "
    source = TableSource(title, [], lambda *names: {}, lambda row: f"{title}row {row} (counting from 0)")
    reader = jr.data.formats.FORMATS.get(options.get("format", "pgn"))
    sorts = reader is not None and "sort" in reader_argument_names(reader)
    data = read_events(report, file, options | ({"sort": True} if sorts else {}))
    return VoteData(data, _covariate_names(data), [], source, data.rows)


def _read_counts(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    columns: tuple[str, str, list[str]],
    source: TableSource,
) -> VoteData:
    """Counts of wins, losses and ties, and a note of ties that are not counted."""
    first, second, tie_columns = columns
    data = read_events(report, file, options | {"columns": [first, second, *tie_columns]}, source=source, upcoming=True)
    context = data.matches.context
    values = dict(context.columns or {}) | ({} if context.side is None else {"side": context.side})
    a, b = np.asarray(data.matches.player).T
    ties = sum(values[name] for name in tie_columns) if tie_columns else None
    with add_file_rows_to_errors(source, data.rows):
        counts = jr.arena.count_votes(a, b, values[first], values[second], ties, columns=values)
    left_out = _describe_unused_ties(source, columns, data.rows)
    if left_out:
        names = *tie_columns, *_unused_tie_columns(source.names, columns)
        named = " ".join(f"--tied {shlex.quote(name)}" for name in names)
        report.note(f"{left_out}; {named} counts them as ties")
    return VoteData(counts._replace(players=data.players), _covariate_names(data), [], source, data.rows, left_out)


def _unused_tie_columns(names: list[str], columns: tuple[str, str, list[str]]) -> list[str]:
    """Columns that begin as those of ties do, and are not among these."""
    used = {columns[0], columns[1], *columns[2]}
    return [name for name in names if re.match(r"(ties?|draws?)(_|$)", name.lower()) and name not in used]


def _describe_unused_ties(source: TableSource, columns: tuple[str, str, list[str]], rows: Any) -> str:
    """How many results in further columns of ties are left out, as "12 votes for neither are left out"."""
    from jaxrate.data.column_conversion import to_column, to_numbers

    found = []
    for name in _unused_tie_columns(source.names, columns):
        column = to_column(name, source.load([name], [name])[name])
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
        column = to_column(name, votes.source.load([name], [name])[name])
        try:
            days, is_dated = to_days(name, parse_dates(name, column, dates).column)
        except ValueError:  # votes do without times
            continue
        if is_dated and len(days):
            ends = (format_time(float(np.floor(day)), "dates") for day in (days.min(), days.max()))
            return " to ".join(dict.fromkeys(ends))
    return ""


def _choose_count_columns(
    names: list[str], options: dict[str, Any], named: VoteColumns
) -> tuple[str, str, list[str]] | None:
    """The columns of wins, losses and ties, as options or their names say; None if these are no counts."""
    from jaxrate.data.table_sources import find_column_ignoring_case

    def find(name: str) -> str | None:
        return find_column_ignoring_case(names, name)

    pairs = [[find(name) for name in pair] for pair in COUNT_COLUMNS]
    usual = next(filter(all, pairs), [None, None])
    of_votes = sorted({*RESULT_ROLES, "margin"} & options.keys())
    if not any(named[:3]) and (of_votes or not all(usual) or find("score") is not None):
        return None
    if of_votes or "weight" in options:
        raise ValueError(f"--{[*of_votes, 'weight'][0]} is for votes; counts have --wins, --losses and --tied")
    first, second = _check_has_both(named.wins or usual[0], named.losses or usual[1])
    tie_columns = [*named.tied] or [*filter(None, [find("ties")])]
    _check_different(names, [first, second, *tie_columns])
    return first, second, tie_columns


def _check_different(names: list[str], columns: list[str]) -> None:
    """ValueError for columns that are not there, or are named twice."""
    from jaxrate.data.table_sources import check_columns_exist_and_unique

    check_columns_exist_and_unique(names, columns)
    if len(set(columns)) < len(columns):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(columns)}")


def _check_has_both(wins: str | None, losses: str | None) -> tuple[str, str]:
    """The columns of wins and losses; ValueError if one is unknown."""
    if wins is None or losses is None:
        missing = "--wins" if wins is None else "--losses"
        raise ValueError(f"counts need columns of wins and of losses; name one with {missing}")
    return wins, losses


def _covariate_names(data: jr.data.Dataset) -> tuple[str, ...]:
    """The covariates of the matches, and the side if there is one."""
    if not data.of_matches:
        return ()
    return (*data.covariates, *(() if data.matches.context.side is None else ("side",)))


@contextmanager
def add_file_rows_to_errors(source: TableSource, rows: Any) -> Iterator[None]:
    """A ValueError names the file, and the bad rows of it."""
    from jaxrate.data.table_sources import add_location_to_data_errors

    with add_location_to_data_errors(source.title, lambda row: source.where(int(rows[row]))):
        yield


if TYPE_CHECKING:
    from jaxrate.arena.rank_inference import RankSets
    from jaxrate.arena.strength_drift import StrengthDrift
    from jaxrate.arena.strength_fit import Strengths
    from jaxrate.views.wording import PlayerOrTeamNoun

STOP_REASONS = {
    "steps": "all steps are used up",
    "no further gain": "no step leads to likelier ratings",
    "no maximum": "ratings or coefficients grow without end",
}
READING_OPTIONS = (
    "format",
    *roles_taken_by("arena"),
    "margin",
    "dates",
    "na_values",
    "unfinished",
    "skip_incomplete",
    "normalise_names",
)


def _parse_anchors(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    """The values of --anchor NAME=RATING; a name may hold an equals sign."""
    anchors: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        rating = float("nan")
        with suppress(ValueError):
            rating = float(value)
        if not name or not isfinite(rating):
            raise ValueError(f"--anchor {text}: write NAME=RATING, as in Ada=1500")
        if name in anchors:
            raise ValueError(f"--anchor names {name} twice")
        anchors[name] = rating
    return anchors


@command(
    FILE,
    library_option("fit_strengths", "ties", "METHOD", type=library_choice("fit_strengths", "TIE_MODELS")),
    option("cluster", "COLUMN", "Column of dependent votes, as the voter or the prompt; may be given twice.",
           to="clusters", multiple=True),
    option("anchor", "NAME=RATING", "Fix the rating of a player.  [default: the mean is 1500]", to="anchors",
           multiple=True, callback=_parse_anchors),
    library_option("fit_strengths", "prior", "POINTS", above=0),
    library_option("fit_strengths", "errors", "METHOD", type=library_choice("fit_strengths", "ERROR_SOURCES")),
    option("wins", "COLUMN", "Column of the wins of a.  [default: wins or wins_a]"),
    option("losses", "COLUMN", "Column of the wins of b.  [default: losses or wins_b]"),
    option("tied", "COLUMN", "Column of ties; several are added up.  [default: ties]", multiple=True),
    reading_options(READING_OPTIONS),
    option("moved", text="Test whether strengths changed over time, and whose."),
    option("top", "NUMBER", "Length of the table.", default=20, least=1),
    option("out", "FILE", "Save the table as .csv or .parquet."),
    option("report", "FILE.html", "Write an HTML page.", to="page"),
    option("title", "TEXT", "Title of the page.  [default: the name of FILE]", needs="report"),
    option("source", "TEXT", "Where the votes are from.  [default: not said]", needs="report"),
    option("noun", "ONE,MANY", "What the ranked are called, as player,players.  [default: model,models]",
           callback=parse_noun),
    usual=("a", "b", "score", "cluster", "anchor", "ties", "moved", "top", "out", "report"),
    groups={
        "Page": ("report", "title", "source", "noun"),
        "Ranking": ("ties", "cluster", "anchor", "prior", "errors", "moved", "top"),
        "Columns of counts": ("wins", "losses", "tied"),
    },
    examples=(
        "jaxrate arena votes.csv --cluster voter --anchor gpt-4=1200",
        "jaxrate arena votes.csv --cluster voter --column covariates=length",
        "jaxrate arena counts.csv --wins wins --losses losses --out table.csv",
        'jaxrate arena votes.csv --report page.html --title "GPT arena"',
    ),
)  # fmt: skip
def arena(
    report: ProgressReport, file: str, options: dict[str, Any], moved: bool, top: int, out: Path | None,
    page: Path | None, title: str | None, source: str | None, noun: tuple[str, ...] | None, **settings: Any,
) -> Output:  # fmt: skip
    """Rank fixed-strength players, such as language models, from votes (a, b, score, or winner, loser) or counts.

    The order of the votes does not matter. Ratings are on the Elo scale: 400 points are odds of 10 to 1. Each has a
    95% interval and a range of ranks; at 95% confidence, all ranks are in their ranges at once.

    Votes of the same voter or prompt depend on each other: name their column with --cluster, or intervals are too
    short. --side and --column covariates get coefficients. Contests are ranked by the Plackett-Luce model.

    --moved tests whether strengths changed, for all players together at 5%, and whether drifting ratings would predict
    better.

    Exit code 1: the search did not converge.
    """
    from jaxrate.views.wording import MODELS, make_noun

    named = VoteColumns(*(settings.pop(name) for name in VoteColumns._fields))
    _check_arena_options(named, out, page)
    votes = read_votes(report, file, options, named, has_times=moved)
    fitted = _fit_votes(report, votes, settings, moved)
    if out is not None:
        jr.data.write(_strength_columns(fitted), out)
        report.note(f"saved the table to {out}")
    if page is not None:
        with report.stage("writing the page"):
            text = jr.site.arena_page_html(
                fitted.strengths, ranks=fitted.ranks, drift=fitted.drift, title=title or title_from_file(file),
                source=source or "", left_out=votes.left_out, dates=describe_vote_dates(votes, options.get("dates")),
                noun=noun, clusters=named.clusters,
            )  # fmt: skip
            page.write_text(text, encoding="utf-8")
        report.note(f"saved the page to {page}")
    sections = _arena_sections(fitted, top, make_noun(noun, MODELS), with_model=report.verbose)
    return Output(sections, _json_result(file, fitted), 0 if fitted.strengths.converged else 1)


class FittedVotes(NamedTuple):
    """Strengths, the ranks that they may have, and whether they changed."""

    strengths: Strengths
    ranks: RankSets | None
    drift: StrengthDrift | None
    notes: list[str]  # in the words of the command line


def _check_arena_options(named: VoteColumns, out: Path | None, page: Path | None) -> None:
    """ValueError for too many clusters, or for files that cannot be written."""
    if len(named.clusters) > 2:
        raise ValueError(f"--cluster takes one column or two, got {len(named.clusters)}")
    check_table_file("--out", out, "table.csv")
    check_page_file("--report", page, "page.html")


def _fit_votes(report: ProgressReport, votes: VoteData, settings: dict[str, Any], moved: bool) -> FittedVotes:
    """The strengths of a vote, and notes about players who cannot be compared and about the search."""
    shared: dict[str, Any] = {"ties": settings["ties"], "covariates": votes.covariates}
    with report.stage("fitting strengths"), add_file_rows_to_errors(votes.source, votes.rows):
        strengths = jr.arena.fit_strengths(votes.data, cluster=votes.clusters or None, **settings | shared)
    notes = [name_options(note, click.get_current_context().command) for note in strengths.notes]
    for note in notes:
        report.note(note)
    ranks, drift = _rank_sets(report, strengths), None
    if moved:
        with report.stage("testing who moved"), add_file_rows_to_errors(votes.source, votes.rows):
            cluster = votes.clusters[0] if len(votes.clusters) == 1 else votes.clusters or None
            drift = jr.arena.detect_drift(votes.data, cluster=cluster, **shared)
    if not strengths.converged:
        hint = "; leave out a covariate that tells the results, if there is one" if strengths.coefficient else ""
        report.note(f"not converged after {strengths.steps} steps: {STOP_REASONS[strengths.reason]}{hint}")
    return FittedVotes(strengths, ranks, drift, notes)


def _arena_sections(
    fitted: FittedVotes, top: int, words: PlayerOrTeamNoun, *, with_model: bool
) -> list[str | TextTable]:
    """Who is the best, the table, the model, and who moved."""
    strengths, ranks, drift = fitted[:3]
    sections: list[str | TextTable] = [
        _answer(strengths, ranks, words),
        _strength_table(strengths, ranks, top, words),
        "\n".join(_fit_details(strengths, with_model=with_model)),
    ]
    if drift is None:
        return sections
    table = TextTable(*drift.table_rows(top))
    caption = first_rows_caption(len(table.rows), len(strengths.players), words.many, has_hint=False)
    return [*sections, "\n".join(drift.summary_lines()), table._replace(caption=caption)]


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
    from jaxrate.views.findings import find_first_place

    names = [" ".join(str(x).split()) for x in strengths.players]
    counts = f"{strengths.votes:,.15g} votes, {noun.quantify(len(names))}"
    return f"{find_first_place(names, strengths, ranks, noun)} ({counts})"


def _fit_details(strengths: Strengths, *, with_model: bool) -> list[str]:
    """The lines below the table: ties and coefficients, and the model and its likelihood if these are asked for."""
    from jaxrate.arena.strength_fit import format_value_and_error

    lines = [] if strengths.converged else ["no intervals: the search did not converge"]
    if strengths.tie is not None:
        lines.append(f"ties: {100.0 * strengths.tie_share_of_equals():.0f}% of votes between equals")
    lines += _model_lines(strengths) if with_model else []
    for name, value in strengths.coefficient.items():
        sign, error = "+" * (value >= 0), strengths.coefficient_error[name]
        lines.append(f"{name}: {sign}{format_value_and_error(value, error, 2)} points for each unit")
    return lines


def _model_lines(strengths: Strengths) -> list[str]:
    """The model, its likelihood, and its parameter of ties."""
    from jaxrate.arena.strength_fit import format_value_and_error

    name, likelihood = strengths.model.replace("_", "-").title(), strengths.log_likelihood / strengths.votes
    lines = [f"{name}: log likelihood {likelihood:.4f} a vote; intervals by {strengths.errors}"]
    if strengths.tie is not None:
        symbol = "nu" if strengths.model == "davidson" else "theta"
        lines.append(f"{symbol} of ties: {format_value_and_error(strengths.tie, strengths.tie_error, 4)}")
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


def _strength_columns(fitted: FittedVotes) -> dict[str, Any]:
    """The table as columns, the best first."""
    strengths, ranks = fitted.strengths, fitted.ranks
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


def _json_result(file: str, fitted: FittedVotes) -> dict[str, Any]:
    """The result for JSON."""
    from jaxrate.history.column_table import ColumnTable

    strengths, values = fitted.strengths, ("log_likelihood", "converged", "reason", "tie", "tie_error")
    moved = {} if fitted.drift is None else {"moved": _json_drift(fitted.drift)}
    return {
        "file": file,
        **{name: getattr(strengths, name) for name in ("model", "errors", "votes", *values)},
        "coefficient": strengths.coefficient,
        "coefficient_error": strengths.coefficient_error,
        "notes": fitted.notes,
        "players": ColumnTable(_strength_columns(fitted)).to_records(),
        **moved,
    }


def _json_drift(drift: StrengthDrift) -> dict[str, Any]:
    """Who moved, for JSON."""
    from jaxrate.history.column_table import ColumnTable

    values = drift._asdict()
    columns = {name: x[drift.order] for name, x in values.items() if np.ndim(x) == 1}
    scalars = {name: x for name, x in values.items() if np.ndim(x) == 0}
    return scalars | {"players": ColumnTable({"player": columns.pop("players"), **columns}).to_records()}
