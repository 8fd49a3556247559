"""`jaxrate site`."""

from __future__ import annotations

import warnings
from pathlib import Path
from shlex import quote
from typing import Any

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import command, prefix_errors
from jaxrate.cli.file_rating import load_columns
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.options import LIST_RULES, RUN, OutputFolder, library_option, list_option, option
from jaxrate.cli.terminal_tables import ProgressReport, print_escaped, warnings_as_notes
from jaxrate.core.text_format import format_value_for_error

SAMPLE_ROWS = 100  # of --file, to check that they were rated


def parse_singular_and_plural(context: Any, parameter: Any, text: str | None) -> list[str] | None:
    """Two words, for one and for many."""
    noun = None if text is None else text.split(",")
    if noun is not None and len(noun) != 2:
        raise ValueError(f"--noun {text}: write one and many, as team,teams")
    return noun


noun_option = option(
    "noun", "ONE,MANY", "What the rated are called, as team,teams.  [default: teams if the rated file is about teams, "
    "else players]", callback=parse_singular_and_plural,
)  # fmt: skip
names_option = option("names", "FILE", "Table of display names: columns id and name.")


@command(
    RUN,
    "Site",
    option("title", "TEXT", "Title of the site.  [default: the name of the rated file]"),
    library_option("write_site", "description", "TEXT"),
    library_option("write_site", "address", "URL"),
    names_option,
    noun_option,
    list_option(LIST_RULES),
    "Columns of the rated file",
    option("file", "FILE", "The file that was rated."),
    option("show", "COLUMN", "Show this column on the pages; may be repeated.", multiple=True, needs="--file"),
    option("points", "COLUMN COLUMN", "Show the points: columns for the first and second player.", nargs=2,
           needs="--file"),
    "Fixtures",
    option("coming", "FILE", "Upcoming matches, with the columns of the rated file."),
    option("season", text="Simulate the season, as jaxrate predict --simulate does.", to="seasonal",
           needs="--coming"),
    option("results", "FILE", "The matches played so far.", needs="--season"),
    option("relegated", "NUMBER", "Number relegated.", default=0, needs="--season"),
    "Output",
    option("out", "DIR", "Where to write the site.", required=True, type=OutputFolder()),
    json=False,
    usual=("out", "title", "address", "names", "file", "show", "points", "coming", "season", "list"),
    examples=(
        'jaxrate site season --out public --title "Our league"',
        "jaxrate rate games.csv --out season",
        "jaxrate site season --out public --file games.csv --show venue",
        "jaxrate site season --out public --coming july.csv --season",
    ),
)  # fmt: skip
def site(
    report: ProgressReport, run: Path, out: Path, address: str | None, names: Path | None, file: Path | None,
    show: tuple[str, ...], points: tuple[str, str] | None, coming: Path | None, seasonal: bool, results: Path | None,
    relegated: int, rules: dict[str, Any], **settings: Any,
) -> None:  # fmt: skip
    """Write a website about a run that jaxrate rate --out RUN saved. Any host of static files can serve it.

    It has leaderboards of current and all-time players, a page for every player, win chances of any two, and the
    accuracy of the predictions. index.html also opens from the folder. Runs saved with --show hindsight show it, too.
    """
    with prefix_errors("--out "):
        lazy.check_site_folder(out)
    lazy.check_address(address)
    rated = jr.load(run)
    settings |= {"names": {} if names is None else load_display_names(names, rated.players), "address": address}
    settings |= _load_file_columns(file, show, points or (), rated)
    if coming is not None:
        with warnings_as_notes(report):
            settings |= _forecast_fixtures(rated, coming)
            if seasonal:
                season = jr.forecasts.simulate_season(rated, coming, results=results, relegated=relegated)
                settings["season"] = season
    with report.stage(f"writing {len(rated.players):,} pages"):
        smoothed = _load_smoothed_columns(run, rated.contests is None)
        jr.site.write_site(rated, out, smoothed=smoothed, **settings, **rules)
    for advice in lazy.summarise_accuracy(rated).advice:
        report.note(advice.replace("FILE", quote(str(file or "FILE"))).replace("RUN", quote(str(run))))
    _, plural = lazy.name_rated(rated.options, settings["noun"])
    print_escaped(
        f"{out}: {len(rated.players):,} {plural}\nOpen {out / 'index.html'} in a browser, or copy the folder to a host."
    )


def _load_file_columns(
    file: Path | None, show: tuple[str, ...], points: tuple[str, ...], rated: jr.History
) -> dict[str, Any]:
    """The columns of the rated file that pages show, and the points of both players."""
    names = list(dict.fromkeys([*show, *points]))
    columns = {} if file is None else load_shown_columns_by_prediction_row(file, names, rated)
    for name in points:
        if columns[name].dtype.kind not in "iuf":
            first = format_value_for_error(columns[name][0])
            raise ValueError(f"--points: column {name!r} of {file} holds no numbers, but {first}")
    shown = {name: columns[name] for name in show}
    return {"columns": shown, "points": tuple(columns[name] for name in points) or None}


def _forecast_fixtures(rated: jr.History, coming: Path) -> dict[str, Any]:
    """Forecasts of matches to come, and what the system knows about them: parts and scorelines."""
    forecasts: dict[str, Any] = {"coming": jr.forecasts.predict_fixtures(rated, coming)}
    with warnings.catch_warnings(action="ignore"):  # which were notes when the file was read for the forecasts
        if lazy.is_explained(rated.system):
            forecasts["explanations"] = jr.forecasts.explain_fixtures(rated, coming)
        if lazy.predicts_goals(rated.system):
            forecasts["scorelines"] = jr.forecasts.predict_scorelines(rated, coming)
    return forecasts


def _load_smoothed_columns(run: Path, of_matches: bool) -> dict[str, Any] | None:
    """The smoothed ratings that `jaxrate rate --show hindsight` saved with the run; None if there are none."""
    if not (run / "hindsight.parquet").exists():
        return None
    of_two = ["score", "rating_a", "deviation_a", "rating_b", "deviation_b"]
    names = of_two if of_matches else ["rank", "rating", "deviation"]
    return dict(zip(names, _load_columns(run / "hindsight.parquet", names), strict=True))


def _load_columns(
    file: Path, names: list[str], option: str = "", *, as_texts: bool = False
) -> list[np.ndarray[Any, Any]]:
    """Columns of a file, those of a CSV as they are written if `as_texts`; ValueError if it lacks one."""
    loaded = load_columns(lazy.open_table_file(file), names, option, as_texts=as_texts)
    return [loaded[name].to_numpy() for name in names]


def load_display_names(file: Path, players: Any) -> dict[Any, str]:
    """Names to display, by the names in the events."""
    ids, names = _load_columns(file, ["id", "name"], "--names: ", as_texts=True)
    name_of_id = {str(x): str(name) for x, name in zip(ids.tolist(), names.tolist(), strict=True) if name is not None}
    display_names = {x: name_of_id[str(x)] for x in players.tolist() if str(x) in name_of_id}
    if not display_names:
        raise ValueError(f"--names: {file.name}: none of its ids is a player, such as {players[0]!r}")
    return display_names


def load_shown_columns_by_prediction_row(file: Path, names: list[str], rated: jr.History) -> dict[str, Any]:
    """[n] values of the columns for each row of the predictions."""
    rows, loaded = rated.events["row"], _load_columns(file, names, "--file: ")
    if not names:
        return {}
    if len(np.unique(rows)) < len(rows) or rows.max(initial=0) >= len(loaded[0]):
        raise ValueError(f"{file.name} is not the only file of the run: rate all its rows at once, or leave out --show")
    _check_file_matches_rated_history(file, rated)
    return {name: values[rows] for name, values in zip(names, loaded, strict=True)}


def _check_file_matches_rated_history(file: Path, rated: jr.History) -> None:
    """ValueError if none of some rows of the file names the players that were rated in it."""

    def fold(value: Any) -> str:
        """A value as text without letter case and repeated blanks, as formats join names from several columns."""
        return " ".join(str(value).casefold().split())

    sampled = np.unique(np.linspace(0, len(rated.events["row"]) - 1, SAMPLE_ROWS).astype(int))
    rows = rated.events["row"][sampled].tolist()
    names_of_rows = rated.players[rated.events["player"][sampled]].tolist()
    columns = _load_columns(file, list(lazy.open_table_file(file).names), as_texts=True)
    for row, names in zip(rows, names_of_rows, strict=True):
        texts = {fold(x[row]) for x in columns}
        if all(any(text == name or (len(text) > 2 and text in name) for text in texts) for name in map(fold, names)):
            return
    named = " and ".join(map(format_value_for_error, names_of_rows[0]))
    raise ValueError(f"--file: {file.name} is not what was rated: its row {rows[0]} should be of {named}")
