"""`jaxrate site`."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.help_pages import HelpCommand
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.option_names import format_reading_options
from jaxrate.cli.output_path_checks import NonEmptyPath, check_output_folder
from jaxrate.cli.shared_options import LEADERBOARD_OPTIONS
from jaxrate.cli.terminal_tables import ProgressReport, print_escaped, report_options, warnings_as_notes
from jaxrate.core.text_format import format_value_for_error

SAMPLE_ROWS = 100  # of --file, to check that they were rated


def parse_noun(context: Any, parameter: Any, text: str | None) -> tuple[str, ...] | None:
    """Two words, for one and for many."""
    if text is None:
        return None
    words = tuple(x.strip() for x in text.split(","))
    if len(words) != 2 or not all(words):
        raise ValueError(f"--noun {text}: write one and many, as team,teams")
    return words


noun_option = click.option("--noun", metavar="ONE,MANY", callback=parse_noun, help="What the rated are called, as "
                           "team,teams.  [default: teams if the rated file is about teams, else players]")  # fmt: skip
names_option = click.option("--names", metavar="FILE", type=NonEmptyPath(path_type=Path),
                            help="Table of display names: columns id and name.")  # fmt: skip


@click.command(
    cls=HelpCommand,
    groups={
        "Site": ("title", "description", "address", "names", "noun", "active", "min-games"),
        "Columns of the rated file": ("file", "show", "points"),
        "Fixtures": ("coming", "season", "results", "relegated"),
    },
    examples=(
        "jaxrate rate games.csv --out season",
        'jaxrate site season --out public --title "Our league"',
        "jaxrate site season --out public --file games.csv --show venue",
        "jaxrate site season --out public --coming july.csv --season",
    ),
)
@click.argument("run", metavar="RUN", type=NonEmptyPath(path_type=Path))
@click.option("--out", required=True, type=NonEmptyPath(path_type=Path), metavar="DIR", help="Where to write the site.")
@click.option("--title", metavar="TEXT", help="Title of the site.  [default: the name of the rated file]")
@click.option(
    "--description", metavar="TEXT", help="One sentence on the ranking, for search engines and link previews."
)
@click.option(
    "--address",
    metavar="URL",
    help="Where the site will be, as https://ratings.example.org/: for previews, the site map and the feed of changes.",
)
@names_option
@noun_option
@click.option("--file", metavar="FILE", type=NonEmptyPath(path_type=Path), help="The file that was rated.")
@click.option("--show", multiple=True, metavar="COLUMN", help="Show this column of --file; may be repeated.")
@click.option("--points", nargs=2, metavar="COLUMN COLUMN",
              help="Show the points: columns of --file for the first and second player.")  # fmt: skip
@click.option(
    "--coming", metavar="FILE", type=NonEmptyPath(), help="Upcoming matches, with the columns of the rated file."
)
@click.option("--season", "seasonal", is_flag=True, help="With --coming: simulate the season, as jaxrate season does.")
@click.option("--results", metavar="FILE", type=NonEmptyPath(), help="With --season: the matches played so far.")
@click.option("--relegated", type=click.IntRange(min=0), default=0, metavar="NUMBER",
              help="With --season: number relegated.  [default: 0]")  # fmt: skip
@LEADERBOARD_OPTIONS[0]
@LEADERBOARD_OPTIONS[1]
@report_options
def site(
    report: ProgressReport,
    run: Path,
    out: Path,
    title: str | None,
    description: str | None,
    address: str | None,
    names: Path | None,
    noun: tuple[str, ...] | None,
    file: Path | None,
    show: tuple[str, ...],
    points: tuple[str, str] | None,
    coming: str | None,
    seasonal: bool,
    results: str | None,
    relegated: int,
    active: Any,
    min_games: int | None,
) -> None:
    """Write a website about a run that jaxrate rate --out RUN saved. Any host of static files can serve it.

    It has leaderboards of current and all-time players, a page for every player, win chances of any two, and the
    accuracy of the predictions. index.html also opens from the folder. Runs saved with --smooth show hindsight, too.
    """
    from jaxrate.site.accuracy_summary import summarise_accuracy
    from jaxrate.site.page_templates import check_address
    from jaxrate.site.site_writer import check_site_folder
    from jaxrate.site.wording import choose_player_or_team_noun

    check_output_folder("--out", out)
    with _prefix_errors_with_option("--out "):
        check_site_folder(out)
    with _prefix_errors_with_option("--"):
        check_address(address)
    if seasonal and coming is None:
        raise ValueError("--season needs --coming FILE")
    if (results or relegated) and not seasonal:
        raise ValueError("--results and --relegated need --season")
    if (show or points) and file is None:
        raise ValueError("--show and --points need --file FILE")
    rated = jr.load(run)
    display_names = {} if names is None else load_display_names(names, rated.players)
    file_columns = dict.fromkeys([*show, *(points or ())])
    columns = load_shown_columns_by_prediction_row(file, list(file_columns), rated) if file is not None else {}
    for name in points or ():
        if columns[name].dtype.kind not in "iuf":
            raise ValueError(
                f"--points: column {name!r} of {file} holds no numbers, but {format_value_for_error(columns[name][0])}"
            )
    with warnings_as_notes(report):
        fixtures = None if coming is None else jr.forecasts.predict_fixtures(rated, coming)
        explanations, scorelines = _explain(rated, coming), _predict_scorelines(rated, coming)
        season = jr.forecasts.simulate_season(rated, coming, results=results, relegated=relegated) if seasonal else None
    with report.stage(f"writing {len(rated.players):,} pages"):
        jr.site.write_site(
            rated,
            out,
            title=title,
            description=description,
            names=display_names,
            columns={name: columns[name] for name in show},
            points=(columns[points[0]], columns[points[1]]) if points else None,
            smoothed=_load_smoothed_columns(run, rated.contests is None),
            coming=fixtures,
            explanations=explanations,
            scorelines=scorelines,
            season=season,
            active=active,
            min_games=min_games,
            noun=noun,
            address=address,
        )
    for advice in summarise_accuracy(rated).advice:
        report.note(
            advice.to_text(
                None if file is None else shlex.quote(str(file)),
                shlex.quote(str(run)),
                format_reading_options(rated.options.get("columns", {})),
            )
        )
    _, plural = choose_player_or_team_noun(rated, noun)
    print_escaped(
        f"{out}: {len(rated.players):,} {plural}\nOpen {out / 'index.html'} in a browser, or copy the folder to a host."
    )


def _explain(rated: jr.History, coming: str | None) -> list[jr.forecasts.Explanation]:
    """The explanations of what is to come, of systems whose predictions have parts."""
    from jaxrate.forecasts.prediction_explanations import is_explained

    if coming is None or not is_explained(rated.system):
        return []
    with warnings.catch_warnings(action="ignore"):  # which were notes when the file was read for the forecasts
        return jr.forecasts.explain_fixtures(rated, coming)


def _predict_scorelines(rated: jr.History, coming: str | None) -> jr.forecasts.Scorelines | None:
    """The scorelines of what is to come, of systems that learn from goals."""
    from jaxrate.forecasts.scorelines import has_scorelines

    if coming is None or not has_scorelines(rated.system):
        return None
    with warnings.catch_warnings(action="ignore"):  # which were notes when the file was read for the forecasts
        return jr.forecasts.predict_scorelines(rated, coming)


def _load_smoothed_columns(run: Path, of_matches: bool) -> dict[str, Any] | None:
    """The smoothed ratings that `jaxrate rate --smooth` saved with the run; None if there are none."""
    of_two = ["score", "rating_a", "deviation_a", "rating_b", "deviation_b"]
    names = of_two if of_matches else ["rank", "rating", "deviation"]
    for name in ("hindsight.parquet", "hindsight.csv"):
        if (run / name).exists():
            return dict(zip(names, _load_columns(run / name, names), strict=True))
    return None


def _load_columns(file: Path, names: list[str], *, text: bool = False) -> list[np.ndarray[Any, Any]]:
    """Columns of a file, those of a CSV as they are written if `text`; ValueError if it lacks one."""
    from jaxrate.core.text_format import did_you_mean_suffix
    from jaxrate.data.table_files import open_table_file

    source = open_table_file(file)
    for name in names:
        if name not in source.names:
            raise ValueError(f"{file.name}: no column {name!r}{did_you_mean_suffix(name, source.names)}")
    loaded = source.load(names, names if text else (), ())
    return [loaded[name].to_numpy() for name in names]


def load_display_names(file: Path, players: Any) -> dict[Any, str]:
    """Names to display, by the names in the events."""
    with _prefix_errors_with_option("--names: "):
        ids, names = _load_columns(file, ["id", "name"], text=True)
    name_of_id = {str(x): str(name) for x, name in zip(ids.tolist(), names.tolist(), strict=True) if name is not None}
    display_names = {x: name_of_id[str(x)] for x in players.tolist() if str(x) in name_of_id}
    if not display_names:
        raise ValueError(f"--names: {file.name}: none of its ids is a player, such as {players[0]!r}")
    return display_names


def load_shown_columns_by_prediction_row(file: Path, names: list[str], rated: jr.History) -> dict[str, Any]:
    """[n] values of the columns for each row of the predictions."""
    if not names:
        return {}
    with _prefix_errors_with_option("--file: "):
        rows, loaded = rated.events["row"], _load_columns(file, names)
    if len(np.unique(rows)) < len(rows) or rows.max(initial=0) >= len(loaded[0]):
        raise ValueError(f"{file.name} is not the only file of the run: rate all its rows at once, or leave out --show")
    _check_file_matches_rated_history(file, rated)
    return {name: values[rows] for name, values in zip(names, loaded, strict=True)}


def _check_file_matches_rated_history(file: Path, rated: jr.History) -> None:
    """ValueError if none of some rows of the file names the players that were rated in it."""
    from jaxrate.data.table_files import open_table_file

    sampled = np.unique(np.linspace(0, len(rated.events["row"]) - 1, SAMPLE_ROWS).astype(int))
    rows, names_of_rows = (
        rated.events["row"][sampled].tolist(),
        rated.players[rated.events["player"][sampled]].tolist(),
    )
    names = list(open_table_file(file).names)
    columns = [*_load_columns(file, names), *_load_columns(file, names, text=True)]  # "007" is no number
    for row, seated in zip(rows, names_of_rows, strict=True):
        texts = {_fold_case_and_blanks(x[row]) for x in columns}
        if all(any(x == who or (len(x) > 2 and x in who) for x in texts) for who in map(_fold_case_and_blanks, seated)):
            return
    names_of_row = " and ".join(map(format_value_for_error, names_of_rows[0]))
    raise ValueError(f"--file: {file.name} is not what was rated: its row {rows[0]} should be of {names_of_row}")


def _fold_case_and_blanks(value: Any) -> str:
    """A value as text without letter case and repeated blanks, as formats join names from several columns."""
    return " ".join(str(value).casefold().split())


@contextmanager
def _prefix_errors_with_option(option: str) -> Iterator[None]:
    """A ValueError says which option it is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{option}{error}") from None
