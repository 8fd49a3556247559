"""Forecasts of upcoming matches and contests: probabilities and fair odds."""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.array_types import Array, HostArray
from jaxrate.data.column_recognition import ColumnsRecognisedWarning
from jaxrate.data.dataset_from_table import read
from jaxrate.data.derived_covariates import upcoming_rest_and_form
from jaxrate.data.lookalike_names import MAX_SUGGESTIONS, similar_names_hint
from jaxrate.data.source_opening import open_table_source
from jaxrate.events import Context, Matches, check_clock, count_teams
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.pairwise_probabilities import fill_missing_margins, neutral_match_arguments
from jaxrate.league.column_table import ColumnTable
from jaxrate.league.prediction_columns import contest_prediction_columns, match_prediction_columns
from jaxrate.league.query_time import date_format_of_history_file, parse_time_after_last_events
from jaxrate.league.rated_history import Rated, days_to_dates, format_time, system_with_extended_seasons
from jaxrate.league.system_construction_by_name import split_unsupported_teams
from jaxrate.replay.event_prediction import predict
from jaxrate.replay.scan_programs import advance_and_predict_event, make_replay_rules, prepare_replay
from jaxrate.rules import State
from jaxrate.system import RatingSystem
from jaxrate.systems.draw_probability_wrapper import add_outcomes, find_own_draw_predict_rule, has_outcome_wrapper
from jaxrate.systems.outcome_prediction_forms import davidson_outcome_probabilities
from jaxrate.text_format import format_value_for_error

COMMON_OPTIONS = "time", "skip_incomplete", "normalise_names", "dates"  # options of `read` for all events
# Options for data known before a match
PREMATCH_OPTIONS = "category", "mixtures", "margin", "covariates", "season", "league_season", "age", "columns"
MATCH_OPTIONS = "a", "b", "score", "na_values", "side", "neutral", *PREMATCH_OPTIONS, *COMMON_OPTIONS
CONTEST_OPTIONS = "contest", "participant", "team", "weight", "ceiling", "noise", *COMMON_OPTIONS
OPTIONAL_OPTIONS = "time", "score", "neutral", "season", "columns"  # saved columns that upcoming events may lack
RESULT_OPTIONS = (
    "a",
    "b",
    "score",
    "winner",
    "loser",
    "margin",
    "skip_incomplete",
    "normalise_names",
)  # of played matches
DRAW_SAMPLE_LIMIT = 100_000  # last matches from which the odds of a draw are fitted
MIN_LOG_DRAW_ODDS, MAX_LOG_DRAW_ODDS = -10.0, 5.0  # of log(draw_odds)


@enforce_argument_annotations
def predict_fixtures(
    rated: Rated, source: Any, *, newcomers: bool = False, time: Any = None, **columns: Any
) -> ColumnTable:
    """Forecasts of upcoming matches or contests, as columns that print as a table.

        jr.forecasts.predict_fixtures(rated, [("Ada", "Bo"), ("Cy", "Di")], time="2026-07-01")
        jr.forecasts.predict_fixtures(rated, "july.csv", a="home", b="away", side="a")

    Matches have time, a, b, who has the side (where anybody has), the chances of a to win, to draw and to lose, and the
    fair odds of each, 1 / chance. Where the history has draws and its system does not tell them, Davidson's model
    divides what it expects, see `add_outcomes`, with the `draw_odds` that the history's own predictions make likeliest.
    Without draws the chance to win is the expected score. Contests have time, contest, player, expected rank and the
    share of the others, or of other teams, to be left behind; of systems of `add_outcomes` also the chances to win and
    to draw.

    Args:
      rated: as from `rate` or `load`.
      source: a list of pairs of names, whose covariates are 0; or a table as `read` takes it, without score and rank,
        or with scores, of which the rows without one are predicted; or what `read` made of one: the `fixtures` of the
        data that were rated, or with `upcoming=True` and the players, categories and seasons of the history.
      newcomers: whether names that the history does not have are new players. If not, they are refused.
      time: of all, where the source has no times: a date if the history has dates, else a number. None: the end of the
        history, which a warning says of a table.
      columns: as of `read`. Those that the command line saved with the history count where no other is named. What is
        to come needs players, sides and what else the system learns from; without its column no place is neutral.

    Raises:
      ValueError: for names that the history does not have (names the nearest), events of another kind or with times of
        another kind or before its end, and as `read` does.
    """
    windows = {name: (rated.options.get("columns", {}) | columns).get(name) for name in ("rest", "form")}
    data = _read_upcoming(rated, source, {name: x for name, x in columns.items() if name not in windows})
    if data.clock not in (None, rated.clock):
        raise ValueError(f"the times must be {rated.clock or 'left out'}, as in the run")
    unknown_names = data.players[len(rated.players) :]
    if len(unknown_names) and not newcomers:
        raise ValueError(_unknown_players_message(unknown_names.tolist(), rated.players))
    data = split_unsupported_teams(rated.system, data)
    if data.clock is None:
        if time is not None and rated.clock == "dates":
            check_clock(rated.clock, time)
        if time is None and rated.clock == "dates" and rated.last is not None and not _is_pair_list(source):
            end = f"took the end of the history, {format_time(rated.last, rated.clock)}, for the time of all matches"
            text = f"{end}, as they have none of their own; the option time, or --at of `jaxrate predict`, sets another"
            warnings.warn(text, ColumnsRecognisedWarning, stacklevel=3)
        query_time = parse_time_after_last_events(rated, rated.state, time, rated.players)
        data = _set_all_times(data, (rated.last or 0.0) if query_time is None else query_time)
    elif time is not None:
        raise ValueError("time is for fixtures without times, and these have them; leave it out")
    else:
        _check_after_history(rated, data)
    if any(windows.values()) and rated.contests is None:
        data = _add_rest_and_form(rated, data, windows)
    if _is_pair_list(source) and isinstance(data.events, Matches):
        data = _fill_neutral_side_and_covariates(rated.system, data)
    system = system_with_extended_seasons(rated, (data.seasons or {}).values())
    dated_data = data._replace(clock=rated.clock)
    if not isinstance(data.events, Matches):
        return _forecast_contests(rated, system, dated_data)
    forecasts = _forecast_matches(rated, add_draw_probabilities_if_needed(rated, system), dated_data)
    return forecasts.drop_columns("row") if _is_pair_list(source) else forecasts


def _check_after_history(rated: Rated, data: Dataset) -> None:
    """ValueError if an event is before the end of the history, whose ratings know later results."""
    if isinstance(data.events, Matches):
        time = np.asarray(data.events.time)
    else:
        time = np.repeat(np.asarray(data.rounds.events.time), np.diff(data.rounds.player_start))
    last = -np.inf if rated.last is None else rated.last
    early_rows = np.flatnonzero(time < last)
    if len(early_rows):
        row, time_text, end_text = (
            data.rows[early_rows[0]],
            *(format_time(x, rated.clock) for x in (time[early_rows[0]], last)),
        )
        others_text = f" and {len(early_rows) - 1:,} more" if len(early_rows) > 1 else ""
        raise ValueError(
            f"row {row} (counting from 0){others_text}: time {time_text} is before the end of the run, {end_text}, "
            "whose ratings know more than was known then; leave it out, or look at the predictions of the run"
        )


def _add_rest_and_form(rated: Rated, data: Dataset, windows: dict[str, float | None]) -> Dataset:
    """Upcoming matches with rest and form from the rated history, where they have none."""
    context = data.matches.context
    history_columns = upcoming_rest_and_form(
        rated.predictions, windows["rest"], windows["form"], data.players, data.matches
    )
    columns: Any = history_columns | (context.columns or {})
    return data._replace(events=data.matches._replace(context=context._replace(columns=columns)))


def _fill_neutral_side_and_covariates(system: RatingSystem, data: Dataset) -> Dataset:
    """Upcoming matches with what the system needs and pairs of names do not tell: no side, covariates of 0."""
    context, neutral = data.matches.context, neutral_match_arguments(system, len(data.matches.score))
    columns: Any = {**neutral.get("columns", {}), **(context.columns or {})}
    side = neutral.get("side") if context.side is None else context.side
    return data._replace(events=data.matches._replace(context=context._replace(side=side, columns=columns or None)))


def _is_pair_list(source: Any) -> bool:
    """Whether it is a list of pairs of names, and not one of dicts."""
    is_list = isinstance(source, (list, tuple)) and not hasattr(source, "_fields")
    return is_list and not (source and isinstance(source[0], Mapping))


def _read_upcoming(rated: Rated, source: Any, columns: dict[str, Any]) -> Dataset:
    of_matches = rated.contests is None
    if source is None:
        raise ValueError("nothing is to come: the data have no fixtures, which are rows without a result")
    if isinstance(source, Dataset):
        data = source
        if not np.array_equal(data.players[: len(rated.players)], rated.players):
            raise ValueError(
                "the players have other ids than in the run; read what is to come with players=rated.players"
            )
    else:
        pairs = _is_pair_list(source)
        if pairs:
            if not all(isinstance(x, (tuple, list)) and len(x) == 2 for x in source):
                example = f"; of one match it is [{tuple(source)!r}]" if len(source) == 2 else ""
                example += "" if of_matches else " with a row for each participant, in columns contest and player"
                raise ValueError(f"fixtures must be pairs of names, as [('Ada', 'Bo')], or a table{example}")
            table = {name: np.array([x[i] for x in source], object) for i, name in enumerate("ab")}
            source = open_table_source(table)._replace(
                noted=False
            )  # similar names were noted when the history was read
        saved_options: dict[str, Any] = {"side": "a"} if rated.options.get("sided") else {}
        saved_options |= {"dates": date_format_of_history_file(rated)}
        saved_options |= {} if pairs else rated.options.get("columns", {})
        read_options = {
            key: saved_options[key]
            for key in (MATCH_OPTIONS if of_matches else CONTEST_OPTIONS)
            if key in saved_options
        }
        source = open_table_source(source)
        required_options = {"columns"} if of_matches and _requires_noncovariate_columns_to_predict(rated) else set()
        optional = {*OPTIONAL_OPTIONS} - required_options
        read_options = {
            key: x
            for key, x in read_options.items()
            if x is False or key not in optional or {*np.atleast_1d(x)} <= {*source.names}
        }
        category_options: dict[str, Any] = {} if rated.categories is None else {"categories": rated.categories}
        if rated.seasons is not None and (read_options | columns).get("season") is not None:
            category_options["seasons"] = rated.seasons
        data = read(source, **read_options | columns, **category_options, players=rated.players, upcoming=True)
    if isinstance(data.events, Matches) != of_matches:
        kinds = ("matches", "contests") if of_matches else ("contests", "matches")
        raise ValueError("the run is of {}, these are {}".format(*kinds))
    return data


def _requires_noncovariate_columns_to_predict(rated: Rated) -> bool:
    """Whether the rules need columns other than covariates to predict."""
    params, zero = rated.system.params, jnp.zeros(())
    rules = make_replay_rules(rated.system.rules, params)
    covariates = dict.fromkeys(rated.system.settings.get("covariates", ()), zero)
    context = Context(side=zero, category=jnp.zeros(2, jnp.int32), columns=covariates)
    match = Matches(jnp.zeros(2, jnp.int32), zero, zero, context)

    def predict_rows(state: State) -> Any:
        rows = jax.tree.map(lambda x: jnp.stack([x[0], x[0]]), state)
        return advance_and_predict_event(rules, prepare_replay(rules, params), rows, match)

    try:
        jax.eval_shape(predict_rows, rated.state)
    except KeyError:
        return True
    return False


def read_played_names_and_scores(
    rated: Rated, source: Any, newcomers: bool, columns: dict[str, Any]
) -> tuple[HostArray, HostArray]:
    """Names [n, 2] and scores [n] of played matches between players of the history."""
    options = rated.options.get("columns", {}) | columns
    read_options = {name: x for name, x in options.items() if name in RESULT_OPTIONS}
    data = source if isinstance(source, Dataset) else read(source, **read_options, players=rated.players)
    unknown_names = data.players[len(rated.players) :]
    if len(unknown_names) and not newcomers:
        raise ValueError(_unknown_players_message(unknown_names.tolist(), rated.players))
    score = np.asarray(data.matches.score)
    if not np.isin(score, (0.0, 0.5, 1.0)).all():
        raise ValueError("the results of a season must be wins, draws and losses")
    return data.players[data.matches.player], score


def _unknown_players_message(names: list[Any], players: HostArray) -> str:
    quoted_names = [
        f"{format_value_for_error(name)}{similar_names_hint(name, players)}" for name in names[:MAX_SUGGESTIONS]
    ]
    others_text = f" and {len(names) - MAX_SUGGESTIONS:,} more" if len(names) > MAX_SUGGESTIONS else ""
    return f"no player {'; none '.join(quoted_names)}{others_text}; newcomers=True takes them as new players"


def _set_all_times(data: Dataset, time: float) -> Dataset:
    """The dataset with all events at this time."""
    events: Any = data.events
    if isinstance(events, Matches):
        return data._replace(events=events._replace(time=np.full_like(events.time, time)))
    flat = events.events._replace(time=np.full_like(events.events.time, time))
    return data._replace(events=events._replace(events=flat))


def add_draw_probabilities_if_needed(rated: Rated, system: RatingSystem) -> RatingSystem:
    """The system with probabilities of draws, if the history has draws and the system does not predict them."""
    table = rated.predictions
    if has_outcome_wrapper(system) or {"draw", "probability_1"} & {*table.column_names}:
        return system
    score, expected = (
        table[name].to_numpy()[-DRAW_SAMPLE_LIMIT:].astype(np.float64) for name in ("score", "prediction")
    )
    is_plain_result = np.isin(score, (0.0, 0.5, 1.0))
    if not is_plain_result.all() or not (score == 0.5).any():
        return system
    if find_own_draw_predict_rule(system) is not None:
        return add_outcomes(system)
    return add_outcomes(system, draw_odds=fit_draw_odds(expected, score))


@jax.jit
def _mean_draw_odds_loss(result: Array, expected: Array, log_odds: Array) -> Array:
    """The mean loss of results [n] of 0, 1 and 2 half points, given expected scores [n]."""
    outcome = davidson_outcome_probabilities(expected, jnp.exp(log_odds))
    probability = jnp.stack([outcome.win[:, 1], outcome.draw[:, 0], outcome.win[:, 0]])
    return -jnp.mean(jnp.log(jnp.maximum(jnp.take_along_axis(probability, result[None], axis=0), 1e-12)))


def fit_draw_odds(expected_scores: HostArray, score: HostArray) -> float:
    """The odds of a draw between equals that make scores [n] of 0, 1/2 and 1 likeliest, given the expected ones [n]."""
    result, expected = jnp.asarray(np.rint(2 * score).astype(np.int32)), jnp.asarray(expected_scores, float)
    loss = partial(_mean_draw_odds_loss, result, expected)
    low, high, golden = MIN_LOG_DRAW_ODDS, MAX_LOG_DRAW_ODDS, (5**0.5 - 1) / 2
    for _ in range(30):
        lower_point, upper_point = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, upper_point) if loss(lower_point) < loss(upper_point) else (lower_point, high)
    return float(np.exp((low + high) / 2))


def _time_column(data: Dataset, time: HostArray) -> dict[str, HostArray]:
    if data.clock is None:
        return {}
    return {"time": days_to_dates(time) if data.clock == "dates" else time}


def _forecast_matches(rated: Rated, system: RatingSystem, data: Dataset) -> ColumnTable:
    matches = data.matches
    upcoming = fill_missing_margins(system, matches)
    prediction_columns = match_prediction_columns(predict(system, rated.state, upcoming, num_players=len(data.players)))
    a, b = data.players[matches.player].T
    side = matches.context.side
    columns = {"row": data.rows, **_time_column(data, matches.time), "a": a, "b": b}
    if side is not None and np.any(side):
        columns["side"] = np.where(np.asarray(side) > 0, a, np.where(np.asarray(side) < 0, b, ""))
    if "win" in prediction_columns and "loss" in prediction_columns:
        probabilities = {
            x: np.asarray(prediction_columns[x], np.float64) for x in ("win", "draw", "loss") if x in prediction_columns
        }
    else:
        win = np.asarray(prediction_columns["prediction"], np.float64)
        probabilities = {"win": win, "loss": 1.0 - win}
    with np.errstate(divide="ignore"):
        odds = {f"odds_{name}": 1.0 / x for name, x in probabilities.items()}
    other_columns = {name: x for name, x in prediction_columns.items() if name not in {*probabilities, "prediction"}}
    return ColumnTable(columns | probabilities | {"expected": prediction_columns["prediction"]} | odds | other_columns)


def _forecast_contests(rated: Rated, system: RatingSystem, data: Dataset) -> ColumnTable:
    rounds, flat = data.rounds, data.rounds.events
    size = np.diff(rounds.player_start)
    prediction_columns = contest_prediction_columns(
        predict(system, rated.state, data.events, num_players=len(data.players)), rounds
    )
    share = prediction_columns.pop("prediction")
    labels = np.arange(len(size)) if data.contests is None else np.asarray(data.contests)
    columns = {"row": data.rows, **_time_column(data, np.repeat(flat.time, size)), "contest": np.repeat(labels, size)}
    columns |= {"player": data.players[flat.player]}
    columns["expected_rank"] = 1 + (1 - share.astype(float)) * np.repeat(count_teams(rounds) - 1, size)
    return ColumnTable(columns | {"share": share} | prediction_columns)
