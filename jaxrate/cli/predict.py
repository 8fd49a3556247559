"""jaxrate predict."""

from __future__ import annotations

import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli import options, terminal_tables
from jaxrate.cli.command_framework import Output, check_no_other_options, command
from jaxrate.cli.file_rating import parse_library_time
from jaxrate.cli.lazy_imports import jax, np
from jaxrate.cli.options import FIXTURE_OPTIONS, RUN, TABLE_FILE, argument, library_choice, library_option, option
from jaxrate.cli.terminal_tables import ODDS_HEADINGS, ProgressReport, TextTable, columns_in_percent, to_text_table
from jaxrate.core.text_format import format_count, format_unquoted_name

MAX_ROWS_SHOWN = 30  # rows that are printed
MAX_EXPLANATIONS_SHOWN = 10
HIDDEN_COLUMNS = "row", "quality", "prediction", "expected", "odds_win", "odds_draw", "odds_loss"
WORD_COLUMNS = "side", "player", "category"  # of explanations
PART_NAMES = {"modifier": "in this category", "points": "in this match"}
SCALE_NOTE = "Points are above a newcomer's rating."


def prediction_table(predictions: lazy.ColumnTable, rated: jr.History) -> TextTable:
    """The first predictions, and how many more there are."""
    return _first_rows(arrange_prediction_columns(predictions, rated), "--out writes them all")


def _first_rows(columns: lazy.ColumnTable, how_to_get_all: str) -> TextTable:
    """The first rows of a table, and how many more there are."""
    table = to_text_table(columns, top=MAX_ROWS_SHOWN)
    caption = describe_rows_not_shown(len(next(iter(columns.values()))), MAX_ROWS_SHOWN, how_to_get_all)
    return table._replace(caption=caption, left_aligned=(*table.left_aligned, "home", "away", "date"))


def describe_rows_not_shown(count: int, num_shown: int, how_to_get_all: str) -> str:
    """How many more there are than are shown; "" if none."""
    return f"... and {count - num_shown:,} more; {how_to_get_all}" if count > num_shown else ""


def scorelines_output(forecast: jr.forecasts.Scorelines, predictions: lazy.ColumnTable, rated: jr.History) -> Output:
    """Goals of matches, whose sides stand in `predictions`; the JSON has the chances of all scorelines."""
    summary = jr.forecasts.summarise_scorelines(forecast)
    rows = zip(summary.to_records(), forecast.probability, strict=True)
    sides = {"side": predictions["side"]} if "side" in predictions else {}
    columns = dict(arrange_prediction_columns(lazy.ColumnTable(summary | sides), rated))
    columns |= {name: np.array([f"{x:.2f}" for x in summary[name].tolist()]) for name in ("goals_a", "goals_b")}
    names = {"over": "over 2.5"} | ({"goals_a": "home goals", "goals_b": "away goals"} if "home" in columns else {})
    shown = lazy.ColumnTable({names.get(name, name): x for name, x in columns.items()})
    return Output([_first_rows(shown, "--json prints them all")], [row | {"scorelines": x} for row, x in rows])


def arrange_prediction_columns(predictions: lazy.ColumnTable, rated: jr.History) -> lazy.ColumnTable:
    """The columns to print: chances of matches in percent, and their odds in one column; of teams, home and away."""
    columns: dict[str, Any] = dict(predictions)
    if "connected" in columns:
        columns["connected"] = np.where(columns["connected"], "yes", "no")
    if {"odds_win", "player"} <= columns.keys():
        columns = _merge_rows_by_contest(columns)
    if lazy.name_rated(rated.options).is_collective and "side" in columns:
        columns = _rename_to_home_and_away(columns)
    columns = columns_in_percent(columns) | _odds_texts(columns)
    words = {"share": "opponents beaten"} | ({"time": "date"} if rated.clock == "dates" else {})
    return lazy.ColumnTable({words.get(name, name): x for name, x in columns.items() if name not in HIDDEN_COLUMNS})


def _odds_texts(columns: dict[str, Any]) -> dict[str, Any]:
    """The odds of all results in one column, if there are odds."""
    odds = [np.array([f"{x:.2f}" for x in columns[name].tolist()]) for name in lazy.ODDS_COLUMNS if name in columns]
    padded = [np.strings.rjust(texts, np.strings.str_len(texts).max(initial=0)) for texts in odds]
    return {ODDS_HEADINGS[len(odds) > 2]: np.array([*map("  ".join, zip(*padded, strict=True))])} if odds else {}


def _merge_rows_by_contest(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns of contests of two teams with a row for each contest: both line-ups, and the chances of the first."""
    _, first, contest = np.unique(columns["contest"].astype(str), return_index=True, return_inverse=True)
    is_first_team = columns["team"] == columns["team"][first][contest]
    first = np.sort(first)

    def name_line_ups(is_of_side: Any) -> Any:
        """The members of one side of each contest, as text."""
        members = (columns["player"][(contest == contest[i]) & is_of_side] for i in first)
        return np.array([", ".join(map(str, names)) for names in members])

    sides = {"a": name_line_ups(is_first_team), "b": name_line_ups(~is_first_team)}
    shown = {name: x[first] for name, x in columns.items() if name not in ("player", "team", "share", "expected_rank")}
    places = {name: shown.pop(name) for name in ("time", "contest") if name in shown}
    return places | sides | shown


def _rename_to_home_and_away(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns with home and away for a and b, unless a b is at home; the side stays if some ground is neutral."""
    if (columns["side"] == columns["b"]).any():
        return columns
    is_neutral, names = columns["side"] == "", {"a": "home", "b": "away"}
    shown = {names.get(name, name): x for name, x in columns.items()}
    if is_neutral.any():
        return shown | {"side": np.where(is_neutral, "neutral", "home")}
    del shown["side"]
    return shown


def explanations_output(explanations: list[jr.forecasts.Explanation]) -> Output:
    """Explanations as tables, as many as people read; the JSON has them all."""
    records = [{"event": x.event, "parts": x.parts.to_records(), "sides": x.sides.to_records()} for x in explanations]
    sections: list[str | TextTable] = []
    for one in explanations[:MAX_EXPLANATIONS_SHOWN]:
        tables = map(_explanation_table, (one.parts, columns_in_percent(one.sides)))
        sections += [one.event, *tables]
    further = describe_rows_not_shown(len(explanations), MAX_EXPLANATIONS_SHOWN, "--json prints them all")
    return Output([*sections, SCALE_NOTE, further], records)


def _explanation_table(columns: lazy.ColumnTable) -> TextTable:
    """A table of an explanation, with parts by their names for people."""
    headings, rows = lazy.heads_and_cells(columns)
    return TextTable([PART_NAMES.get(name, name) for name in headings], rows, WORD_COLUMNS)


TOURNAMENT_OPTIONS = "simulate", "samples", "seed", "newcomers", "out"
NEEDS_SIMULATE = {"needs": "--simulate"}


@command(
    RUN,
    argument("file", "FIXTURES | PLAN.toml", is_file=True),
    *options.reading_options(FIXTURE_OPTIONS),
    "Fixtures",
    option("newcomers", text="Allow new players. Otherwise unknown names are errors; close matches are suggested."),
    option("at", "DATE", "Date of the matches, if FIXTURES has none.  [default: the end of the run]",
           excludes=("--time", "--simulate")),
    option("explain", text="Print what each player contributes, in points, in place of the table."),
    option("scorelines", text="Print goals and the likeliest scoreline in place of the table, if the run learned from "
           "goals."),
    "Season",
    option("simulate", text="Simulate the rest of the season, or the tournament in PLAN.toml, many times.",
           excludes=("--explain", "--scorelines")),
    library_option("simulate_season", "results", "FILE", text="The matches of the season played so far.",
                   **NEEDS_SIMULATE),
    library_option("simulate_season", "points", "WIN DRAW LOSS", type=float, nargs=3,
                   text="Points for a win, a draw and a loss.  [default: 3 1 0]", **NEEDS_SIMULATE),
    library_option("simulate_season", "ties", "RULE", multiple=True,
                   type=library_choice("simulate_season", "TIE_BREAKS", "GOAL_TIE_BREAKS"), **NEEDS_SIMULATE),
    library_option("simulate_season", "relegated", "NUMBER", **NEEDS_SIMULATE),
    library_option("simulate_season", "samples", "NUMBER", **NEEDS_SIMULATE),
    option("seed", "NUMBER", "Random seed.", default=0, **NEEDS_SIMULATE),
    "Output",
    option("out", "FILE", "Save the table as .csv or .parquet.", type=TABLE_FILE),
    usual=("a", "b", "time", "newcomers", "at", "explain", "scorelines", "simulate", "out", "json"),
    examples=(
        "jaxrate predict season july.csv",
        "jaxrate predict season july.csv --newcomers --out chances.csv",
        "jaxrate predict season july.csv --explain",
        "jaxrate predict season july.csv --simulate --results june.csv --relegated 3",
        "jaxrate predict season cup.toml --simulate",
        "where cup.toml holds",
        '  knockout = ["A1", "B2", "B1", "A2"]',
        "  [groups]",
        '  A = ["Ada", "Bo", "Cy"]',
        '  B = ["Di", "Eve", "Flo"]',
    ),
)  # fmt: skip
def predict(
    report: ProgressReport, run: Path, file: str, newcomers: bool, at: str | None, out: Path | None, explain: bool,
    scorelines: bool, simulate: bool, **season: Any,
) -> Output:  # fmt: skip
    """Predict the matches or contests in FIXTURES from a run that jaxrate rate --out RUN saved.

    FIXTURES has the columns of the rated file, without results. It may be the rated file itself: rows without a result
    are predicted.

    Matches get the chances of the first player to win, draw and lose, and fair odds (1 / chance). Contests get the
    expected rank and the expected share of opponents beaten. Files and JSON also have the row of each in FIXTURES and,
    of matches, the quality, which says how even the two are.

    --scorelines prints the mean goals of both, the likeliest scoreline, and the chances that there are more than 2.5
    goals and that both score; with --json also the chances of all scorelines up to 15 goals of a side.

    --explain prints, for each match or contest, the parts of every player: skill, experience, side and so on.

    --simulate plays the matches many times. Every simulation draws each player's strength from their rating and its
    uncertainty. Prints the expected points, and the chances to win and to be relegated. A run that learned from goals
    plays each match to a score.

    PLAN.toml has the groups of a tournament, in which everybody meets everybody else, and the pairings of the
    knock-out. There "A1" is the winner of group A, other names are players, and "" is a bye. Nobody has the home
    advantage. Optional: rounds, points and ties of the groups, and best = [3, 8], by which the best eight third places
    go through as best1 to best8.
    """
    columns = options.pop_column_arguments(season)
    if _is_tournament_plan(file):
        check_no_other_options(TOURNAMENT_OPTIONS, "a tournament, whose plan says its rules")
        if not simulate:
            raise ValueError(f"{file} is the plan of a tournament; add --simulate")
    rated, columns = options.split_reading_options(jr.load(run), columns)
    settings: dict[str, Any] = {"newcomers": newcomers} | columns
    if simulate:
        forecast, caption = _simulate(report, rated, file, season, settings)
        return _write_table(report, out, forecast, _forecast_table(forecast, caption, rated))
    settings = {"time": parse_library_time("--at", at, rated.clock)} | settings
    with report.stage(f"predicting {Path(file).name}"), terminal_tables.warnings_as_notes(report):
        predictions = jr.forecasts.predict_fixtures(rated, file, **settings)
    _note_how_fixtures_are_predicted(report, predictions, rated)
    output = _write_table(report, out, predictions, prediction_table(predictions, rated))
    with warnings.catch_warnings(action="ignore"):  # which were notes above
        if explain:
            with report.stage("explaining predictions"):
                return explanations_output(jr.forecasts.explain_fixtures(rated, file, **settings))
        if scorelines:
            return scorelines_output(jr.forecasts.predict_scorelines(rated, file, **settings), predictions, rated)
    return output


def _write_table(report: ProgressReport, out: Path | None, columns: lazy.ColumnTable, table: TextTable) -> Output:
    """The output of a table, which is also written to a file if there is to be one."""
    if out is not None:
        jr.data.write(columns, out)
        report.note(f"saved the table to {out}")
    return Output([table], columns.to_records())


def _simulate(
    report: ProgressReport, rated: jr.History, file: str, season: dict[str, Any], settings: dict[str, Any]
) -> tuple[lazy.ColumnTable, str]:
    """How a season or a tournament may end, and how often it was simulated, in words."""
    shared: dict[str, Any] = {"samples": season.pop("samples"), "key": jax.random.key(season.pop("seed"))}
    season["ties"] = season["ties"] or None
    with report.stage(f"simulating {shared['samples']:,} times"), terminal_tables.warnings_as_notes(report):
        if _is_tournament_plan(file):
            kind, newcomers = "tournaments", settings["newcomers"]
            forecast: Any = jr.forecasts.simulate_tournament(rated, file, newcomers=newcomers, **shared)
        else:
            kind, forecast = "seasons", jr.forecasts.simulate_season(rated, file, **shared, **season, **settings)
    return forecast.columns(), f"{shared['samples']:,} {kind}"


def _is_tournament_plan(file: str) -> bool:
    """Whether a file is the plan of a tournament, and not a table of fixtures."""
    return file.lower().endswith(".toml")


def _forecast_table(columns: lazy.ColumnTable, caption: str, rated: jr.History) -> TextTable:
    """The table of how it may end, with chances in percent."""
    shown = columns_in_percent(columns)
    if "champion" in shown:
        word = "champion" + "s" * lazy.name_rated(rated.options).is_collective
        shown["win"] = np.where(shown.pop("champion"), word, "")
    return terminal_tables.label_team_columns(to_text_table(shown, caption), rated)


def _note_how_fixtures_are_predicted(report: ProgressReport, predictions: lazy.ColumnTable, rated: jr.History) -> None:
    """Say who is new, and what changes the chances."""
    players = chain(*(predictions[name].tolist() for name in ("a", "b", "player") if name in predictions))
    if new := sorted({*players} - {*rated.players.tolist()}, key=str):
        report.note(f"{format_count(len(new), 'new player')}: {lazy.list_names([*map(format_unquoted_name, new)])}")
    if getattr(rated.system.params, "side_advantage", 0.0) and "side" not in predictions:
        report.note("side_advantage has no effect, as nobody has the side; name its column with --side")
