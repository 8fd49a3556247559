"""jaxrate predict."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxrate as jr
from jaxrate.cli.commands import FIXTURES, RUN, Output, command, option
from jaxrate.cli.input_options import (
    FIXTURE_OPTIONS,
    is_parquet_folder_or_pattern,
    is_pgn_file,
    newcomers_option,
    open_file_table,
    reading_options,
)
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.output_path_checks import check_table_file
from jaxrate.cli.shared_options import split_reading_options
from jaxrate.cli.terminal_tables import (
    ODDS_HEADINGS,
    ProgressReport,
    TextTable,
    to_text_table,
    warnings_as_notes,
)
from jaxrate.core.text_format import (
    did_you_mean_suffix,
    display_width,
    format_decimals,
    format_number,
    format_percentage,
    format_percentages,
    format_unquoted_name,
    rating_decimals,
)


def parse_named_columns(option: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """The columns of each row, by its name, from NAME=COLUMN,COLUMN or COLUMN; ValueError for what is neither."""
    result: dict[str, list[str]] = {}
    for text in texts:
        name, equals, columns = text.rpartition("=")
        listed = [x.strip() for x in columns.split(",")]
        name = name.strip() if equals else columns.strip()
        if not name or not all(listed):
            raise ValueError(f"--{option} {text}: write as in NAME=COLUMN,COLUMN")
        if name in result:
            raise ValueError(f"--{option} names {name} twice")
        result[name] = listed
    return result


def recognise_forecast_columns_of_file(file: str, options: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    """The columns of published forecasts and of odds in a file, as far as their names tell."""
    from jaxrate.data.evidence_column_recognition import recognise_forecast_columns

    if is_pgn_file(file) or is_parquet_folder_or_pattern(file) or {"a", "b", "winner", "loser"} & options.keys():
        return {}
    with suppress(ValueError, OSError):  # reading the file says what is wrong
        return dict(zip(("forecast", "odds"), recognise_forecast_columns(open_file_table(file).names), strict=True))
    return {}


def load_match_columns(
    file: str, data: jr.data.Dataset, columns_by_name: dict[str, list[str]], kind: str
) -> dict[str, Any]:
    """[n], or [n, K] of several columns, numbers of the matches by name, NaN where the file has none.

    Args:
      file: what was read.
      data: its matches.
      columns_by_name: which columns belong together.
      kind: the option by which they are named, for errors.

    Raises:
      ValueError: for a column that the file does not have, or that holds no numbers.
    """
    option, rows = f"--{kind.replace('_', '-')}", np.asarray(data.rows)
    rows = rows if data.of_matches else rows[np.asarray(data.rounds.player_start)[:-1]]
    wanted = list(dict.fromkeys(name for columns in columns_by_name.values() for name in columns))
    numbers = _load_numbers(file, wanted, option)
    if any(rows.max(initial=0) >= len(x) for x in numbers.values()):
        raise ValueError(f"{option}: {file} is read from several tables, whose columns cannot be told apart")
    values = {
        label: np.stack([numbers[name][rows] for name in columns], axis=1) for label, columns in columns_by_name.items()
    }
    return {label: x[:, 0] if x.shape[1] == 1 else x for label, x in values.items()}


def _load_numbers(file: str, names: list[str], option: str) -> dict[str, Any]:
    """Columns of a file by their names, as numbers, without signs of percent."""
    from jaxrate.data.column_conversion import to_column, to_numbers
    from jaxrate.data.table_sources import add_location_to_data_errors

    if not names:
        return {}
    source = open_file_table(file)
    for name in names:
        if name not in source.names:
            raise ValueError(f"{option}: {file} has no column {name!r}{did_you_mean_suffix(name, source.names)}")
    with add_location_to_data_errors(source.title, source.where):
        loaded = source.load(names)
        return {name: to_numbers(name, _strip_percent_signs(to_column(name, loaded[name])), np.nan) for name in names}


def _strip_percent_signs(column: Any) -> Any:
    """A column of text as "34.6%" without the signs; others stay as they are."""
    from jaxrate.data.table_sources import import_pyarrow

    arrow = import_pyarrow()
    if isinstance(column, np.ndarray) or not arrow.types.is_large_string(column.type):
        return column
    return arrow.compute.utf8_rtrim(column, characters=" %")


if TYPE_CHECKING:
    from jaxrate.history.column_table import ColumnTable

MAX_ROWS_SHOWN = 30  # rows that are printed
MAX_EXPLANATIONS_SHOWN = 10
HIDDEN_COLUMNS = "row", "quality"
RESULT_COLUMNS = "win", "draw", "loss"
CHANCE_COLUMNS = *RESULT_COLUMNS, "over", "both_score"
WORD_COLUMNS = "side", "player", "category"  # of explanations
MAX_HEADING_WIDTH = 20  # cells of the terminal, of a name above a column
PART_NAMES = {"modifier": "in this category", "own_side": "own side", "points": "in this match"}
RATING_PARTS = "skill", "current_form", "experience"  # whose sum is the rating of `jr.skills`
SCALE_NOTE = "Ratings are those of the leaderboard at the time; other points add to them."
TEAM_NOTE = "Points are above a newcomer's rating; the numbers of larger teams are worth points, too."


def prediction_table(predictions: ColumnTable, rated: jr.History) -> TextTable:
    """The first predictions, and how many more there are."""
    return _first_rows(arrange_prediction_columns(predictions, rated), "--out writes them all")


def _first_rows(columns: ColumnTable, how_to_get_all: str) -> TextTable:
    total = len(next(iter(dict(columns).values())))
    rest = f"... and {total - MAX_ROWS_SHOWN:,} more; {how_to_get_all}" if total > MAX_ROWS_SHOWN else ""
    table = to_text_table(columns, rest, MAX_ROWS_SHOWN)
    return table._replace(left_aligned=(*table.left_aligned, "home", "away", "date"))


def scorelines_output(forecast: jr.forecasts.Scorelines, predictions: ColumnTable, rated: jr.History) -> Output:
    """Goals of matches, whose sides stand in `predictions`; the JSON has the chances of all scorelines."""
    from jaxrate.history.column_table import ColumnTable

    summary = jr.forecasts.summarise_scorelines(forecast)
    records = [
        row | {"scorelines": table} for row, table in zip(summary.to_records(), forecast.probability, strict=True)
    ]
    sides = {"side": predictions["side"]} if "side" in predictions else {}
    columns = dict(arrange_prediction_columns(ColumnTable(dict(summary) | sides), rated))
    columns |= {name: np.array([f"{x:.2f}" for x in summary[name].tolist()]) for name in ("goals_a", "goals_b")}
    names = {"over": "over 2.5"} | ({"goals_a": "home goals", "goals_b": "away goals"} if "home" in columns else {})
    shown = ColumnTable({names.get(name, name): x for name, x in columns.items()})
    return Output([_first_rows(shown, "--json prints them all")], records)


def arrange_prediction_columns(predictions: ColumnTable, rated: jr.History) -> ColumnTable:
    """The columns to print: chances of matches in percent, and their odds in one column; of teams, home and away."""
    from jaxrate.history.column_table import ODDS_COLUMNS, ColumnTable

    columns = dict(predictions.drop_columns(*HIDDEN_COLUMNS))
    if "connected" in columns:
        columns["connected"] = np.where(columns["connected"], "yes", "no")
    if {"odds_win", "player"} <= columns.keys():
        columns = _merge_teams(columns)
    if rated.clock == "dates":
        columns = {"date" if name == "time" else name: values for name, values in columns.items()}
    if "a" not in columns:
        return ColumnTable(columns | {"opponents beaten": _percent_texts(columns.pop("share"))})
    has_home = rated.options.get("teams") and "side" in columns
    columns = _name_home_and_away(columns) if has_home else columns
    shown = {name: values for name, values in columns.items() if name not in ("expected", *ODDS_COLUMNS)}
    return ColumnTable(shown | _chance_texts(columns) | _odds_texts(columns))


def _percent_texts(shares: Any) -> Any:
    """[n] shares in percent, as text."""
    return np.array([format_percentage(x) for x in shares.tolist()])


def _chance_texts(columns: dict[str, Any]) -> dict[str, Any]:
    """The chances of results, which add up, and of goals, in percent."""
    results = [name for name in RESULT_COLUMNS if name in columns]
    shares = np.stack([columns[name] for name in results], axis=1).tolist() if results else []
    texts = np.array([format_percentages(x) for x in shares]).T
    others = {name: _percent_texts(columns[name]) for name in CHANCE_COLUMNS[3:] if name in columns}
    return dict(zip(results, texts, strict=True)) | others


def _odds_texts(columns: dict[str, Any]) -> dict[str, Any]:
    """The odds of all results in one column, if there are odds."""
    from jaxrate.history.column_table import ODDS_COLUMNS

    odds = [[f"{x:.2f}" for x in columns[name].tolist()] for name in ODDS_COLUMNS if name in columns]
    padded = [[f"{x:>{max(map(len, texts))}}" for x in texts] for texts in odds]
    rows = np.array(["  ".join(row) for row in zip(*padded, strict=True)])
    return {ODDS_HEADINGS[len(odds) > 2]: rows} if odds else {}


def _merge_teams(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns of contests of two teams with a row for each contest: both line-ups, and the chances of the first."""
    from jaxrate.history.column_table import ODDS_COLUMNS

    _, first, contest = np.unique(columns["contest"].astype(str), return_index=True, return_inverse=True)
    is_first_team = columns["team"] == columns["team"][first][contest]
    first = np.sort(first)
    sides = [
        [", ".join(map(str, columns["player"][(contest == contest[i]) & side])) for i in first]
        for side in (is_first_team, ~is_first_team)
    ]
    shown = {name: columns[name][first] for name in ("time", "date", "contest") if name in columns}
    chances = {name: columns[name][first] for name in (*CHANCE_COLUMNS, *ODDS_COLUMNS, "connected") if name in columns}
    return shown | dict(zip("ab", map(np.array, sides), strict=True)) | chances


def _name_home_and_away(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns with home and away for a and b, unless a b is at home; the side stays if some ground is neutral."""
    if (columns["side"] == columns["b"]).any():
        return columns
    is_neutral = columns["side"] == ""
    names = {"a": "home", "b": "away"}
    shown = {names.get(name, name): values for name, values in columns.items() if name != "side" or is_neutral.any()}
    return shown | ({"side": np.where(is_neutral, "neutral", "home")} if "side" in shown else {})


def explanations_output(explanations: list[jr.forecasts.Explanation], rated: jr.History) -> Output:
    """Explanations as tables, as many as people read; the JSON has them all."""
    records = [{"event": x.event, "parts": x.parts.to_records(), "sides": x.sides.to_records()} for x in explanations]
    shown = explanations[:MAX_EXPLANATIONS_SHOWN]
    sections: list[str | TextTable] = []
    for one in shown:
        sections += [one.event, *explanation_tables(one, rated)]
    sections += {TEAM_NOTE if "numbers" in one.parts else SCALE_NOTE: None for one in shown}
    rest = len(explanations) - len(shown)
    return Output([*sections, f"... and {rest:,} more; --json prints them all" if rest else ""], records)


def explanation_tables(one: jr.forecasts.Explanation, rated: jr.History) -> list[TextTable]:
    """What each player contributes, in points of the leaderboard; those of teams of several sizes above a newcomer's.

    A match of two has a column for each of them, a contest a row for each player, and one for each team.
    """
    sides, newcomer = one.sides["side"].tolist(), _newcomer_rating(rated)
    digits = rating_decimals([*one.parts["points"].tolist(), newcomer])
    parts, are_teams = _points_of_leaderboard(one, newcomer), bool(rated.options.get("teams"))
    expected = format_percentages(one.sides["expected"].tolist())
    columns = _format_parts(parts, digits, are_teams)
    if len(one.parts["player"]) > len(sides):
        return [_table_of_columns(columns), _table_of_teams(one, parts, digits, expected)]
    del columns["side"]
    if len(sides) != 2:
        return [_table_of_columns(columns | {"expected": expected})]
    names = [_shorten_name(name) for name in columns.pop("player")]
    differences = {
        _part_name(name, are_teams): _format_points(round(float(x[0]), digits) - round(float(x[1]), digits), digits)
        for name, x in parts.items()
        if name not in (*WORD_COLUMNS, "weight")
    }
    rows = [(name, *texts, differences.get(name, "")) for name, texts in (columns | {"expected": expected}).items()]
    return [TextTable(["", *names, "difference"], rows, ("",))]


def _table_of_teams(
    one: jr.forecasts.Explanation, parts: dict[str, Any], digits: int, expected: list[str]
) -> TextTable:
    """The sums of teams: their players, their points and what is expected of them."""
    sides = one.sides["side"].tolist()
    points: Any = parts.get("points", parts.get("rating"))
    points = one.sides["points"] if "numbers" in parts else [points[parts["side"] == side].sum() for side in sides]
    sums = [_format_points(x, digits, is_rating="numbers" not in parts) for x in points]
    rows = [*zip(sides, one.sides["player"].tolist(), sums, expected, strict=True)]
    return TextTable(["side", "players", "in this match", "expected"], rows, ("side", "players"))


def _points_of_leaderboard(one: jr.forecasts.Explanation, newcomer: float) -> dict[str, Any]:
    """The parts of an explanation, those of the rating first and then their sum, on the scale of the leaderboard."""
    parts: dict[str, Any] = dict(one.parts)
    if "numbers" in parts:
        return parts
    base = next(name for name in ("skill", "rating") if name in parts)
    parts[base] = parts[base] + newcomer * np.asarray(parts.get("weight", 1.0))
    parts["points"] = parts["points"] + newcomer * np.asarray(parts.get("weight", 1.0))
    words = {name: parts[name] for name in (*WORD_COLUMNS, "weight") if name in parts}
    of_rating = {name: parts[name] for name in (*RATING_PARTS, "rating") if name in parts}
    if len(of_rating) > 1:
        of_rating["rating"] = np.sum([*of_rating.values()], axis=0)
    others = {name: x for name, x in parts.items() if name not in words | of_rating}
    if len(others) == 1:  # the sum, which is the rating
        others = {}
    return words | of_rating | others


def _format_parts(parts: dict[str, Any], digits: int, are_teams: bool) -> dict[str, list[str]]:
    """The columns of a table with a row for each player."""
    columns = {}
    for name, values in parts.items():
        if name in WORD_COLUMNS:
            columns[name] = [*map(str, values.tolist())]
        elif name == "weight":
            columns[name] = [format_number(round(float(x), 3)) for x in values]
        else:
            is_rating = name in ("skill", "rating", "points") and "numbers" not in parts
            columns[_part_name(name, are_teams)] = [_format_points(x, digits, is_rating) for x in values.tolist()]
    return columns


def _table_of_columns(columns: dict[str, list[str]]) -> TextTable:
    return TextTable([*columns], [*zip(*columns.values(), strict=True)], WORD_COLUMNS)


def _format_points(points: float, digits: int, is_rating: bool = False) -> str:
    """A rating, or points with their sign; nothing for none."""
    text = format_decimals(points, digits, signed=not is_rating)
    return text if is_rating or text.strip("+-0.") else ""


def _part_name(name: str, are_teams: bool) -> str:
    """A part in words."""
    if name == "side_advantage" and are_teams:
        return "home advantage"
    return PART_NAMES.get(name, name.replace("_", " "))


def _newcomer_rating(rated: jr.History) -> float:
    """The rating with which players begin, on the scale of the leaderboard."""
    from jaxrate.systems.prediction_wrapping import unwrap_predictions

    return float(unwrap_predictions(rated.system).params.initial_rating)


def _shorten_name(name: str) -> str:
    """A name that fits above a column."""
    while display_width(name) > MAX_HEADING_WIDTH:
        name = f"{name.rstrip('…')[:-1]}…"
    return name


@command(
    RUN,
    FIXTURES,
    reading_options(FIXTURE_OPTIONS),
    newcomers_option,
    option("at", "DATE", "Date of the matches, if FIXTURES has none.  [default: the end of the run]",
           excludes=("time",)),
    option("out", "FILE", "Save the table as .csv or .parquet."),
    option("explain", text="Print what each player contributes, in points, in place of the table."),
    option("scorelines", text="Print goals and the likeliest scoreline in place of the table, if the run learned from "
           "goals."),
    usual=("a", "b", "time", "side", "newcomers", "at", "out", "explain", "scorelines", "json"),
    groups={"Fixtures": ("newcomers", "at", "explain", "scorelines")},
    examples=(
        "jaxrate rate games.csv --out season",
        "jaxrate predict season july.csv",
        "jaxrate predict season july.csv --newcomers --out chances.csv",
        "jaxrate predict season july.csv --explain",
        "jaxrate predict season july.csv --scorelines",
    ),
)  # fmt: skip
def predict(
    report: ProgressReport, run: Path, file: str, options: dict[str, Any], newcomers: bool, at: str | None,
    out: Path | None, explain: bool, scorelines: bool,
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
    """
    check_table_file("--out", out, "chances.csv")
    rated, options = split_reading_options(jr.load(run), options)
    settings: dict[str, Any] = {"time": _parse_time_of_fixtures(at, rated)} | options | {"newcomers": newcomers}
    with report.stage(f"predicting {Path(file).name}"), warnings_as_notes(report):
        predictions = jr.forecasts.predict_fixtures(rated, file, **settings)
    _note_how_fixtures_are_predicted(report, predictions, rated)
    if out is not None:
        jr.data.write(predictions, out)
        report.note(f"saved the table to {out}")
    with warnings.catch_warnings(action="ignore"):  # which were notes above
        if explain:
            with report.stage("explaining predictions"):
                return explanations_output(jr.forecasts.explain_fixtures(rated, file, **settings), rated)
        if scorelines:
            return scorelines_output(jr.forecasts.predict_scorelines(rated, file, **settings), predictions, rated)
    return Output([prediction_table(predictions, rated)], predictions.to_records())


def _parse_time_of_fixtures(text: str | None, rated: jr.History) -> Any:
    """The value of --at: a number where the run has numbers for times, else a date as text."""
    if text is None or (rated.clock == "dates" and any(map(str.isdigit, text))):
        return text
    with suppress(ValueError):
        if rated.clock != "dates":
            return float(text)
    what = "a date, as 2026-05-20" if rated.clock == "dates" else "a number, as the times of the run are"
    raise ValueError(f"--at {text}: write {what}")


def _note_how_fixtures_are_predicted(report: ProgressReport, predictions: ColumnTable, rated: jr.History) -> None:
    """Say who is new, and what changes the chances."""
    from jaxrate.history.online_calibration import slope_of_history

    player_sets = [set(predictions[name].tolist()) for name in ("a", "b", "player") if name in predictions]
    new = sorted(set().union(*player_sets) - set(rated.players.tolist()), key=str)
    if new:
        names = ", ".join(map(format_unquoted_name, new[:3])) + ", ..." * (len(new) > 3)
        report.note(f"{len(new)} of these players have not played yet: {names}")
    if getattr(rated.system.params, "side_advantage", 0.0) and "side" not in predictions:
        report.note("side_advantage has no effect, as nobody has the side; name its column with --side")
    if slope := slope_of_history(rated):
        report.note(f"chances are calibrated by the slope of the run, {slope.learn().slope:.2f}")
