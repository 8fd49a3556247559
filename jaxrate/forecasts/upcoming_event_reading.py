"""Upcoming events of a rated history: read with its names and options, checked, and given times."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.data.column_recognition import ColumnsRecognisedWarning
from jaxrate.data.dataset_from_table import read
from jaxrate.data.derived_covariates import upcoming_rest_and_form
from jaxrate.data.lookalike_names import MAX_SUGGESTIONS, similar_names_hint
from jaxrate.data.source_opening import open_table_source
from jaxrate.events import Context, Matches, check_clock
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.pairwise_probabilities import fill_result_columns, neutral_match_arguments
from jaxrate.league.query_time import date_format_of_history_file, parse_time_after_last_events
from jaxrate.league.rated_history import Rated, format_time, system_with_extended_seasons
from jaxrate.league.system_construction_by_name import split_unsupported_teams
from jaxrate.replay.scan_programs import advance_and_predict_event, make_replay_rules, prepare_replay
from jaxrate.rules import State
from jaxrate.system import RatingSystem
from jaxrate.systems.skills.settings_and_event_checks import contest_prior_columns
from jaxrate.text_format import did_you_mean_suffix, format_value_for_error

COMMON_OPTIONS = "time", "skip_incomplete", "normalise_names", "dates"  # options of `read` for all events
# Options for data known before a match
PREMATCH_OPTIONS = "category", "mixtures", "margin", "covariates", "season", "league_season", "age", "columns"
MATCH_OPTIONS = "a", "b", "score", "na_values", "side", "neutral", *PREMATCH_OPTIONS, *COMMON_OPTIONS
CONTEST_OPTIONS = (
    *("contest", "participant", "team", "a", "b", "score", "na_values", "weight", "ceiling", "noise"),
    *("category", "mixtures", "covariates", "columns"),
    *COMMON_OPTIONS,
)
OPTIONAL_OPTIONS = "time", "score", "neutral", "season", "columns", "weight"  # columns that upcoming events may lack
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


def read_upcoming_events(
    rated: Rated, source: Any, newcomers: bool, time: Any, columns: dict[str, Any]
) -> tuple[RatingSystem, Dataset]:
    """What is to come, with its times, and the system that predicts it; arguments as of `predict_fixtures`.

    Raises:
      ValueError: as `predict_fixtures`.
    """
    windows = {name: (rated.options.get("columns", {}) | columns).get(name) for name in ("rest", "form")}
    if (
        isinstance(time, str)
        and not isinstance(source, Dataset)
        and source is not None
        and not is_list_of_name_tuples(source)
    ):
        source = open_table_source(source)
        if time in source.names:
            time, columns = None, columns | {"time": time}
        elif not any(map(str.isdigit, time)):  # as dates have
            suggestion = did_you_mean_suffix(time, source.names)
            raise ValueError(f"no column {time!r} of times{suggestion}")
    data = _read_source(rated, source, {name: x for name, x in columns.items() if name not in windows})
    if data.clock not in (None, rated.clock):
        raise ValueError(f"the times must be {rated.clock or 'left out'}, as in the run")
    unknown_names = data.players[len(rated.players) :]
    if len(unknown_names) and not newcomers:
        raise ValueError(_unknown_players_message(unknown_names.tolist(), rated.players))
    data = split_unsupported_teams(rated.system, data)
    if rated.seasons and not data.seasons and not isinstance(source, Dataset) and not is_list_of_name_tuples(source):
        latest = max(rated.seasons.items(), key=lambda season: season[1])[0]
        text = f"took the last season of the history, {latest}, for that of all matches, as no column says theirs"
        warnings.warn(f"{text}; season, or --season, names one", ColumnsRecognisedWarning, stacklevel=4)
    if data.clock is None:
        if time is not None and rated.clock == "dates":
            check_clock(rated.clock, time)
        if time is None and rated.clock == "dates" and rated.last is not None and not is_list_of_name_tuples(source):
            end = f"took the end of the history, {format_time(rated.last, rated.clock)}, for the time of all matches"
            text = f"{end}, as they have none of their own; the option time, or --at on the command line, sets another"
            warnings.warn(text, ColumnsRecognisedWarning, stacklevel=4)
        query_time = parse_time_after_last_events(rated, rated.state, time, rated.players)
        data = _set_all_times(data, (rated.last or 0.0) if query_time is None else query_time)
    elif time is not None:
        raise ValueError("time is for fixtures without times, and these have them; leave it out")
    else:
        _check_after_history(rated, data)
    if any(windows.values()) and rated.contests is None:
        data = _add_rest_and_form(rated, data, windows)
    if is_list_of_name_tuples(source):
        data = _fill_neutral_side_and_covariates(rated.system, data)
    data = data._replace(events=fill_result_columns(rated.system, data.events), clock=rated.clock)
    return system_with_extended_seasons(rated, (data.seasons or {}).values()), data


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
    """Upcoming events with what the system needs and lists of names do not tell: no side, covariates of 0."""
    if not isinstance(data.events, Matches):
        flat: Any = data.rounds.events
        zeros = dict.fromkeys(contest_prior_columns(system.settings), np.zeros(len(flat.player)))
        flat = flat._replace(columns={**zeros, **(flat.columns or {})} or None)
        return data._replace(events=data.rounds._replace(events=flat))
    context, neutral = data.matches.context, neutral_match_arguments(system, len(data.matches.score))
    columns: Any = {**neutral.get("columns", {}), **(context.columns or {})}
    side = neutral.get("side") if context.side is None else context.side
    return data._replace(events=data.matches._replace(context=context._replace(side=side, columns=columns or None)))


def is_list_of_name_tuples(source: Any) -> bool:
    """Whether it is a list of pairs of names, or of line-ups, and not one of dicts."""
    is_list = isinstance(source, (list, tuple)) and not hasattr(source, "_fields")
    return is_list and not (source and isinstance(source[0], Mapping))


def _pair_table(pairs: Any, category: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pairs of names as a table of matches, and the columns of it that `read` must be told of."""
    if not all(isinstance(x, (tuple, list)) and len(x) == 2 for x in pairs):
        example = f"; of one match it is [{tuple(pairs)!r}]" if len(pairs) == 2 else ""
        raise ValueError(f"fixtures must be pairs of names, as [('Ada', 'Bo')], or a table{example}")
    if any(isinstance(name, list) for pair in pairs for name in pair):
        raise ValueError("the run is of matches, and not of contests of teams: fixtures must be pairs of names")
    table = {name: to_object_array([x[i] for x in pairs]) for i, name in enumerate("ab")}
    return _add_category(table, {}, category)


def _line_up_table(contests: Any, category: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Line-ups as a table of contests, and the columns of it that `read` must be told of."""
    rows: list[tuple[int, int, Any]] = []
    for number, teams in enumerate(contests):
        if not isinstance(teams, (tuple, list)) or not len(teams):
            raise ValueError(
                f"fixtures of contests must be line-ups, as [(['Ada', 'Bo'], ['Cy', 'Di'])], got {teams!r}"
            )
        for i, team in enumerate(teams):
            members = list(team) if isinstance(team, (tuple, list)) else [team]
            if not members:
                raise ValueError(f"contest {number} (counting from 0): team {i} has no players")
            rows += [(number, i, name) for name in members]
    contest, team_number, player = zip(*rows, strict=True) if rows else ((), (), ())
    table = {"contest": np.array(contest), "team": np.array(team_number), "player": to_object_array(player)}
    return _add_category(table, {"contest": "contest", "participant": "player", "team": "team"}, category)


def _add_category(
    table: dict[str, Any], columns: dict[str, Any], category: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A table and the names of its columns, with the category that everybody meets; None: none."""
    if category is None:
        return table, columns
    count = len(next(iter(table.values())))
    return table | {"category": to_object_array([category] * count)}, columns | {"category": "category"}


def to_object_array(values: Any) -> HostArray:
    """[n] of objects, also of tuples."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _read_source(rated: Rated, source: Any, columns: dict[str, Any]) -> Dataset:
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
        pairs = is_list_of_name_tuples(source)
        if pairs:
            make_table = _pair_table if of_matches else _line_up_table
            table, named = make_table(source, columns.get("category"))
            columns = columns | named
            source = open_table_source(table)._replace(noted=False)  # similar names were noted with the history
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


class PlayedResults(NamedTuple):
    """Matches that were played."""

    names: HostArray  # [n, 2]
    score: HostArray  # [n] of the first player
    goals: HostArray | None  # [n, 2] of both sides; None: they are not needed


def read_played_results(
    rated: Rated, source: Any, newcomers: bool, columns: dict[str, Any], needs_goals: bool
) -> PlayedResults:
    """Played matches between players of the history; ValueError if goals are needed and unknown."""
    options = rated.options.get("columns", {}) | columns
    read_options = {name: x for name, x in options.items() if name in RESULT_OPTIONS}
    data = source if isinstance(source, Dataset) else read(source, **read_options, players=rated.players)
    unknown_names = data.players[len(rated.players) :]
    if len(unknown_names) and not newcomers:
        raise ValueError(_unknown_players_message(unknown_names.tolist(), rated.players))
    score = np.asarray(data.matches.score)
    if not np.isin(score, (0.0, 0.5, 1.0)).all():
        raise ValueError("the results of a season must be wins, draws and losses")
    goals = None
    if needs_goals:
        if len(data.margin) != 2:
            raise ValueError("the results need the goals of both sides, for the goal difference; name them as margin")
        further: Any = data.matches.context.columns
        goals = np.stack([np.asarray(further[name]) for name in data.margin], axis=1)
    return PlayedResults(data.players[data.matches.player], score, goals)


def _unknown_players_message(names: list[Any], players: HostArray) -> str:
    quoted_names = [
        f"{format_value_for_error(name)}{similar_names_hint(name, players)}" for name in names[:MAX_SUGGESTIONS]
    ]
    others_text = f" and {len(names) - MAX_SUGGESTIONS:,} more" if len(names) > MAX_SUGGESTIONS else ""
    noun = "players" if len(names) > 1 else "player"
    return f"no {noun} {', '.join(quoted_names)}{others_text}; newcomers=True takes them as new players"


def _set_all_times(data: Dataset, time: float) -> Dataset:
    """The dataset with all events at this time."""
    events: Any = data.events
    if isinstance(events, Matches):
        return data._replace(events=events._replace(time=np.full_like(events.time, time)))
    flat = events.events._replace(time=np.full_like(events.events.time, time))
    return data._replace(events=events._replace(events=flat))
