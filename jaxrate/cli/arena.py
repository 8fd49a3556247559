"""jaxrate arena."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli import file_rating, options
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import Output, command
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.option_names import name_options
from jaxrate.cli.options import FILE, PAGE_FILE, TABLE_FILE, Number, library_choice, library_option, option
from jaxrate.cli.site import parse_singular_and_plural
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, first_rows_caption, intervals_to_draw
from jaxrate.core.optional_imports import import_optional
from jaxrate.core.text_format import join_names
from jaxrate.data.column_role_definitions import PLAYER_PAIR, RESULT_ROLES


class VoteData(NamedTuple):
    """The votes, counts or contests of a file."""

    data: Any  # a `Dataset` or counts
    covariates: tuple[str, ...]  # of matches: those of the file, and the side if there is one
    source: lazy.TableSource  # the file
    rows: Any  # [n] the row of each vote, or count, in the file
    clusters: Sequence[Any]  # [n] numbers of them, for each way of clustering
    left_out: str  # which counts of ties are not used
    tags: dict[str, Any]  # [N] texts of the players, by what they are


def read_votes(
    report: ProgressReport, file: str, columns: dict[str, Any], clusters: tuple[str, ...], named: lazy.CountColumns,
    *, has_times: bool, has_tags: bool,
) -> VoteData:  # fmt: skip
    """The votes, counts or contests of a file, as columns, clusters of votes and columns of counts say."""

    def read(source: Any, arguments: dict[str, Any]) -> jr.data.Dataset:
        """The events of the file by these arguments; of counts, which come as `upcoming`, without hints on results."""
        shown = ProgressReport(True, report.verbose) if "upcoming" in arguments else report
        return file_rating.read_events(shown, file, arguments, source=source)

    left_out, codes, tags = "", list[Any](), dict[str, Any]()
    if file_format := file_rating.find_format(file, columns):
        if clusters or any(named):
            raise ValueError("--cluster, --wins, --losses and --tied name columns, and not those of a public format")
        title = f"{Path(file).name}: "
        table = lazy.TableSource(title, [], lambda *names: {}, lambda row: f"{title}row {row} (counting from 0)")
        names = file_rating.reader_argument_names(jr.data.formats.FORMATS[file_format])
        votes = data = read(None, columns | {name: has_times for name in ("sort", "times") if name in names})
    else:
        table = file_rating.open_file_table(file)
        with _add_file_rows_to_errors(table, ()):
            unnoted = table._replace(noted=False)
            votes, data, counts = lazy.read_vote_table(unnoted, columns, read, named, in_order=has_times)
        if counts is not None:
            left_out = _note_uncounted_ties(report, table, counts, data.rows)
        with _add_file_rows_to_errors(table._replace(title=""), ()):
            codes = lazy.cluster_codes(table, clusters, data.rows)
            tags = read_tags(table, data) if has_tags and data.of_matches else {}
    sides = ("side",) if lazy.has_sides(data) else ()
    return VoteData(
        votes, (*data.covariates, *sides) if data.of_matches else (), table, data.rows, codes, left_out, tags
    )


def read_tags(table: lazy.TableSource, data: jr.data.Dataset) -> dict[str, Any]:
    """By name, [N] texts of players from columns such as maker_a and maker_b, where these agree on every player."""
    pairs = [(x, f"{x[:-2]}_b") for x in table.names if x.endswith("_a") and f"{x[:-2]}_b" in table.names]
    loaded = file_rating.load_columns(table, chain(*pairs))
    columns = {x[:-2].replace("_", " "): [lazy.to_column(name, loaded[name]) for name in (x, y)] for x, y in pairs}
    tags = {name: _texts_of_players(x, data) for name, x in columns.items() if name.lower() not in lazy.PLAYER_COLUMNS}
    return {name: texts for name, texts in tags.items() if len({*texts} - {""}) > 1}


def _texts_of_players(columns: list[Any], data: jr.data.Dataset) -> Any:
    """[N] the text that both columns have beside each player, nothing if these are not alike or are the names."""
    nothing = np.full(len(data.players), "", object)
    if not all(map(lazy.is_text, columns)):
        return nothing
    texts = [[(text or "").strip() for text in column.to_pylist()] for column in columns]
    own, of_players = nothing.copy(), np.array(texts, object).T[data.rows]
    own[data.matches.player] = of_players
    is_alike = (own[data.matches.player] == of_players).all()
    return own if is_alike and (own != data.players).any() else nothing


def _note_uncounted_ties(report: ProgressReport, source: lazy.TableSource, counts: lazy.CountColumns, rows: Any) -> str:
    """Which ties are not counted, in words; a note says so, too."""
    further = {name: count for name, count in lazy.uncounted_ties(source, counts, rows).items() if count > 0}
    if not further:
        return ""
    left_out = f"{join_names(f'{count:,.15g} of {name}' for name, count in further.items())} are left out"
    flags = " ".join(f"--tied {shlex.quote(name)}" for name in (*counts.ties, *further))
    report.note(f"{left_out}; {flags} counts them as ties")
    return left_out


def _add_file_rows_to_errors(source: lazy.TableSource, rows: Any) -> AbstractContextManager[None]:
    """A ValueError names the file, and the bad rows of it."""
    return lazy.add_location_to_data_errors(source.title, lambda row: source.where(int(rows[row])))


STOP_REASONS = {
    "steps": "all steps are used up",
    "no further gain": "no step leads to likelier ratings",
    "no maximum": "ratings or coefficients grow without end; leave out a covariate that tells the results",
}
READING_NAMES = (
    *("format", *PLAYER_PAIR, *RESULT_ROLES, "time", "side", "neutral", "weight", "covariates", "drop", "margin"),
    *("dates", "na_values", "unfinished", "skip_incomplete", "normalise_names"),
)


def _parse_anchors(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    """The values of --anchor NAME=RATING."""
    anchors: dict[str, float] = {}
    for text in texts:
        name, _, number = map(str.strip, text.rpartition("="))
        if not name or not number:
            raise ValueError(f"--anchor {text}: write NAME=RATING, as in Ada=1500")
        if name in anchors:
            raise ValueError(f"--anchor names {name} twice")
        anchors[name] = Number().convert(number, parameter, context)
    return anchors


@command(
    FILE,
    *options.reading_options(READING_NAMES),
    "Ranking",
    library_option("fit_strengths", "ties", "METHOD", type=library_choice("fit_strengths", "TieModel")),
    option("cluster", "COLUMN", "Column of dependent votes, as the voter or the prompt; may be given twice.",
           to="clusters", multiple=True),
    option("anchor", "NAME=RATING", "Fix the rating of a player; may be repeated.  [default: the mean is 1500]",
           to="anchors", multiple=True, callback=_parse_anchors),
    library_option("fit_strengths", "prior", "POINTS", above=0),
    library_option("fit_strengths", "errors", "METHOD", type=library_choice("fit_strengths", "ErrorSource")),
    option("moved", text="Test whether strengths changed over time, and whose."),
    option("top", "NUMBER", "Length of the table.", default=20, least=1),
    "Columns of counts",
    option("wins", "COLUMN", "Column of the wins of a.  [default: wins or wins_a]"),
    option("losses", "COLUMN", "Column of the wins of b.  [default: losses or wins_b]"),
    option("tied", "COLUMN", "Column of ties; several are added up.  [default: ties]", multiple=True),
    "Page",
    option("report", "FILE.html", "Write an HTML page.", to="page", type=PAGE_FILE),
    option("title", "TEXT", "Title of the page.  [default: the name of FILE]", needs="--report"),
    option("source", "TEXT", "Where the votes are from.  [default: not said]", needs="--report"),
    option("noun", "ONE,MANY", "What the ranked are called, as player,players.  [default: model,models]",
           callback=parse_singular_and_plural),
    "Output",
    option("out", "FILE", "Save the table as .csv or .parquet.", type=TABLE_FILE),
    usual=("a", "b", "score", "cluster", "anchor", "ties", "moved", "top", "out", "report"),
    examples=(
        "jaxrate arena votes.csv --cluster voter --anchor gpt-4=1200",
        "jaxrate arena votes.csv --cluster voter --column covariates=length",
        "jaxrate arena counts.csv --wins wins --losses losses --out table.csv",
        'jaxrate arena votes.csv --report page.html --title "GPT arena"',
    ),
)  # fmt: skip
def arena(
    report: ProgressReport, file: str, moved: bool, top: int, out: Path | None,
    page: Path | None, title: str | None, source: str | None, noun: list[str] | None, **settings: Any,
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
    reading, clusters = options.pop_column_arguments(settings), settings.pop("clusters")
    if len(clusters) > 2:
        raise ValueError(f"--cluster takes one column or two, got {len(clusters)}")
    named = lazy.CountColumns(*(settings.pop(name) for name in ("wins", "losses", "tied")))
    votes = read_votes(report, file, reading, clusters, named, has_times=moved, has_tags=page is not None)
    if page is not None and len(votes.data.players) > lazy.MAX_NUMBERED_PLAYERS:
        import_optional("PIL.Image")  # of the heat map, before the fit
    fitted = _fit_votes(report, votes, settings, moved)
    if out is not None:
        jr.data.write(_strength_columns(fitted), out)
        report.note(f"saved the table to {out}")
    if page is not None:
        with report.stage("writing the page"):
            text = jr.site.arena_page_html(
                fitted.strengths, ranks=fitted.ranks, drift=fitted.drift,
                title=title or file_rating.title_from_file(file), source=source or "", left_out=votes.left_out,
                noun=noun, clusters=clusters, tags=votes.tags,
                dates=lazy.describe_vote_dates(votes.source, reading.get("dates")),
            )  # fmt: skip
            page.write_text(text, encoding="utf-8")
        report.note(f"saved the page to {page}")
    sections = _arena_sections(fitted, top, lazy.make_noun(noun, lazy.MODELS), with_model=report.verbose)
    return Output(sections, _json_result(file, fitted), 0 if fitted.strengths.converged else 1)


class FittedVotes(NamedTuple):
    """Strengths, the ranks that they may have, and whether they changed."""

    strengths: lazy.Strengths
    ranks: lazy.RankSets | None
    drift: lazy.StrengthDrift | None
    notes: list[str]  # in the words of the command line


def _fit_votes(report: ProgressReport, votes: VoteData, settings: dict[str, Any], moved: bool) -> FittedVotes:
    """The strengths of a vote, and notes about players who cannot be compared and about the search."""
    shared: dict[str, Any] = {"ties": settings.pop("ties"), "covariates": votes.covariates}
    shared["cluster"] = votes.clusters if len(votes.clusters) > 1 else next(iter(votes.clusters), None)
    with report.stage("fitting strengths"), _add_file_rows_to_errors(votes.source, votes.rows):
        strengths = jr.arena.fit_strengths(votes.data, **settings, **shared)
    notes = name_options("\n".join(strengths.notes), click.get_current_context().command).splitlines()
    for note in notes:
        report.note(note)
    ranks, drift = _rank_sets(report, strengths), None
    if moved:
        with report.stage("testing who moved"), _add_file_rows_to_errors(votes.source, votes.rows):
            drift = jr.arena.detect_drift(votes.data, **shared)
    if not strengths.converged:
        report.note(f"not converged after {strengths.steps} steps: {STOP_REASONS[strengths.reason]}")
    return FittedVotes(strengths, ranks, drift, notes)


def _arena_sections(
    fitted: FittedVotes, top: int, words: lazy.PlayerOrTeamNoun, *, with_model: bool
) -> list[str | TextTable]:
    """Who is the best, the table, the model, and who moved."""
    strengths, ranks, drift = fitted[:3]
    counts = f"({strengths.votes:,.15g} votes, {words.quantify(len(strengths.players))})"
    names = [" ".join(str(x).split()) for x in strengths.players]
    sections: list[str | TextTable] = [
        f"{lazy.find_first_place(names, strengths, ranks, words)} {counts}",
        _strength_table(strengths, ranks, top, words),
        "\n".join(_fit_details(strengths, with_model=with_model)),
    ]
    if drift is None:
        return sections
    table = TextTable(*drift.heads_and_cells(top))
    caption = first_rows_caption(len(table.rows), len(strengths.players), words.many)
    return [*sections, "\n".join(drift.summary_lines()), table._replace(caption=caption)]


def _rank_sets(report: ProgressReport, strengths: lazy.Strengths) -> lazy.RankSets | None:
    """The ranks that hold for all players together; None if there are too many players."""
    if not strengths.converged:
        return None
    if strengths.covariance is None or len(strengths.players) > lazy.MAX_RANKED:
        report.note(f"no rank ranges: they are limited to {lazy.MAX_RANKED:,} players")
        return None
    with report.stage("computing ranks"):
        return jr.arena.rank_sets(strengths)


def _fit_details(strengths: lazy.Strengths, *, with_model: bool) -> Iterator[str]:
    """The lines below the table: ties and coefficients, and the model and its likelihood if these are asked for."""
    if not strengths.converged:
        yield "no intervals: the search did not converge"
    if strengths.tie is not None:
        yield f"ties: {100.0 * strengths.tie_share_of_equals():.0f}% of votes between equals"
    if with_model:
        yield from strengths.summary_lines()
    for name, value in strengths.coefficient.items():
        error = strengths.coefficient_error[name]
        yield f"{name}: {'+' * (value >= 0)}{lazy.format_value_and_error(value, error, 2)} points for each unit"


def _strength_table(
    strengths: lazy.Strengths, ranks: lazy.RankSets | None, top: int, noun: lazy.PlayerOrTeamNoun
) -> TextTable:
    """The table of players, the best first, with the ranks that they may have."""
    headings, rows = strengths.heads_and_cells(top)
    words = {"player": noun.one, "games": "votes"}
    if ranks is not None:
        words["rank"] = "ranks"
        rows = [(text, *row[1:]) for (text, *_), row in zip(ranks.heads_and_cells(top)[1], rows, strict=True)]
    caption = first_rows_caption(len(rows), len(strengths.order), noun.many)
    shown = strengths.order[:top]
    spans = intervals_to_draw(strengths.rating[shown], strengths.half_width[shown])
    return TextTable([words.get(x, x) for x in headings], rows, (noun.one,), caption, (noun.one,), spans)


def _strength_columns(fitted: FittedVotes) -> lazy.ColumnTable:
    """The table as columns, the best first."""
    strengths, ranks = fitted.strengths, fitted.ranks
    columns = {"votes" if name == "games" else name: x for name, x in strengths.columns().items()}
    if ranks is not None:
        columns |= {"least_rank": ranks.least[strengths.order], "greatest_rank": ranks.greatest[strengths.order]}
    return lazy.ColumnTable(columns)


def _json_result(file: str, fitted: FittedVotes) -> dict[str, Any]:
    """The strengths and tests of the command as values for JSON."""
    strengths, drift = fitted.strengths, fitted.drift
    kept = "model", "errors", "votes", "log_likelihood", "converged", "reason", "tie", "tie_error"
    values = {name: getattr(strengths, name) for name in (*kept, "coefficient", "coefficient_error")}
    values |= {"notes": fitted.notes, "players": _strength_columns(fitted).to_records()}
    if drift is not None:
        scalars = {name: x for name, x in vars(drift).items() if np.ndim(x) == 0}
        values["moved"] = scalars | {"players": drift.columns().to_records()}
    return {"file": file} | values
