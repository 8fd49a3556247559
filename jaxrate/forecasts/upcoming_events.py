"""Forecasts of upcoming matches and contests: probabilities and fair odds."""

from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.events import count_teams
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.draw_probabilities import add_draw_probabilities_if_needed
from jaxrate.forecasts.upcoming_event_reading import connected_rows, is_list_of_name_tuples, read_upcoming_events
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.event_columns import contest_prediction_columns, days_to_dates, match_prediction_columns
from jaxrate.history.history import History
from jaxrate.replay.event_prediction import predict


@enforce_argument_annotations
def predict_fixtures(
    rated: History, source: Any, *, newcomers: bool = False, time: Any = None, **columns: Any
) -> ColumnTable:
    """Forecasts of upcoming matches or contests, as columns that print as a table.

        jr.forecasts.predict_fixtures(rated, [("Ada", "Bo"), ("Cy", "Di")], time="2026-07-01")
        jr.forecasts.predict_fixtures(rated, "july.csv", a="home", b="away", side="a")

    Matches have time, a, b, who has the side (where anybody has), the chances of a to win, to draw and to lose, and the
    fair odds of each, 1 / chance. If the history has draws and its system predicts only expected scores, Davidson's
    model divides these into win, draw and loss (see `add_outcomes`). Its `draw_odds` are those that make the results of
    the history likeliest, given its predictions. Without draws the chance to win is the expected score. Contests have
    time, contest, player, the expected rank, and the share of the others, or of the other teams, that the player should
    beat. Systems of `add_outcomes` add the chances to win and to draw. Where all contests are of two teams, each player
    has the number of their team, its chances and odds, as matches do. Where no chain of events of the history joins
    the players of some matches or contests, a column `connected` says of which one does, and a warning names some: the
    ratings of the others cannot be compared, so that their chances are those of strangers.

    Args:
      rated: the history, as from `rate` or `load`.
      source: a list of pairs of names. For contests, a list of line-ups, as [(["Ada", "Bo"], ["Cy", "Di"])]: the teams
        of each, where a team is a name or a list of names. Covariates of a list are 0. Or a table as `read` takes it,
        without score and rank. If it has scores, the rows without one are predicted. Or what `read` made of a table:
        the `fixtures` of the data that were rated, or what it read with `upcoming=True` and the players, categories and
        seasons of the history.
      newcomers: whether names that the history does not have are new players. If not, they are refused.
      time: the time of all events, if the source has no times: a date if the history has dates, else a number. Or the
        name of a table's column of times. None: the end of the history; for a table a warning says so.
      columns: names of columns, by the keywords of `read`. A keyword that you leave out is as the command line saved it
        with the history. Upcoming events need players, sides and whatever else the system learns from. A table may lack
        the column `neutral`: then no place is neutral. With a list, category="duo" names the category that everybody
        meets.

    Raises:
      ValueError: for names that the history does not have (names the nearest), events of another kind or with times of
        another kind or before its end, and as `read` does.
    """
    system, data = read_upcoming_events(rated, source, newcomers, time, columns)
    if not data.of_matches:
        forecasts = _forecast_contests(rated, system, data)
    else:
        forecasts = _forecast_matches(rated, add_draw_probabilities_if_needed(rated, system), data)
    is_connected = connected_rows(rated, data)
    if not is_connected.all():
        forecasts = ColumnTable({**forecasts, "connected": is_connected})
    return forecasts.drop_columns("row") if is_list_of_name_tuples(source) else forecasts


def time_column(data: Dataset, time: HostArray) -> dict[str, HostArray]:
    """The column of times, by its name; none without times."""
    if data.clock is None:
        return {}
    return {"time": days_to_dates(time) if data.clock == "dates" else time}


def _forecast_matches(rated: History, system: RatingSystem, data: Dataset) -> ColumnTable:
    matches = data.matches
    prediction_columns = match_prediction_columns(predict(system, rated.state, matches, num_players=len(data.players)))
    a, b = data.players[matches.player].T
    side = matches.context.side
    columns = {"row": data.rows, **time_column(data, matches.time), "a": a, "b": b}
    if side is not None and np.any(side):
        columns["side"] = np.where(np.asarray(side) > 0, a, np.where(np.asarray(side) < 0, b, ""))
    return ColumnTable(columns | _chances_and_odds(prediction_columns))


def _chances_and_odds(prediction_columns: dict[str, HostArray]) -> dict[str, HostArray]:
    """The chances of the first player, or of each participant's team, to win, draw and lose, and the fair odds."""
    chances = {x: np.asarray(y, np.float64) for x, y in prediction_columns.items() if x in ("win", "draw", "loss")}
    if "win" not in chances:
        chances["win"] = np.asarray(prediction_columns["prediction"], np.float64)
    chances.setdefault("loss", 1.0 - chances["win"] - chances.get("draw", 0.0))
    chances = {x: chances[x] for x in ("win", "draw", "loss") if x in chances}
    with np.errstate(divide="ignore"):
        odds = {f"odds_{name}": 1.0 / x for name, x in chances.items()}
    others = {name: x for name, x in prediction_columns.items() if name not in {*chances, "prediction"}}
    return chances | {"expected": prediction_columns["prediction"]} | odds | others


def _forecast_contests(rated: History, system: RatingSystem, data: Dataset) -> ColumnTable:
    rounds = data.rounds
    flat: Any = rounds.events
    size = np.diff(rounds.player_start)
    prediction_columns = contest_prediction_columns(
        predict(system, rated.state, data.events, num_players=len(data.players)), rounds
    )
    share, teams = prediction_columns["prediction"], count_teams(rounds)
    labels = np.arange(len(size)) if data.contests is None else np.asarray(data.contests)
    columns = {"row": data.rows, **time_column(data, np.repeat(flat.time, size)), "contest": np.repeat(labels, size)}
    columns |= {"player": data.players[flat.player]}
    columns["expected_rank"] = 1 + (1 - share.astype(float)) * np.repeat(teams - 1, size)
    if (teams == 2).all():
        prediction_columns = {"team": np.asarray(flat.team)} | _chances_and_odds(prediction_columns)
        del prediction_columns["expected"]
    return ColumnTable(columns | {"share": share} | prediction_columns)
