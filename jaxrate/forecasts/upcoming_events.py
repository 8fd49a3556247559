"""Events to come: read, checked against the history, and predicted."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from operator import itemgetter
from os import PathLike
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import (
    did_you_mean_suffix,
    format_count,
    format_unquoted_name,
    format_value_for_error,
    join_names,
)
from jaxrate.data.column_conversion import to_column, to_values, value_text
from jaxrate.data.column_recognition import ColumnsRecognisedWarning, recognise_evidence_columns, recognise_players
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    UntimedColumns,
    as_column_list,
    select_role_arguments,
)
from jaxrate.data.column_spellings import Header
from jaxrate.data.dataset_from_table import read_by_cli_options
from jaxrate.data.derived_covariates import DERIVED_COLUMNS, derive_columns
from jaxrate.data.faulty_rows import describe_share, warn_caller
from jaxrate.data.formats import FORMATS
from jaxrate.data.lookalike_names import MAX_SUGGESTIONS, similar_names_hint
from jaxrate.data.table_files import open_table_source
from jaxrate.events import check_clock, count_teams, event_numbers, seats
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.draw_probabilities import add_draw_probabilities_if_needed
from jaxrate.forecasts.pairwise_probabilities import fill_missing_columns, needs_sides
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.event_columns import contest_prediction_columns, days_to_dates, match_prediction_columns
from jaxrate.history.history import History, format_time, player_groups, system_with_extended_seasons
from jaxrate.history.participations import group_players
from jaxrate.history.ratings_at_times import input_date_format, parse_time_after_last_events
from jaxrate.replay.checked_replay import predict
from jaxrate.systems.skills.settings import contest_prior_columns, contest_result_columns, match_prior_columns
from jaxrate.systems.system_construction_by_name import split_unsupported_teams

PLAYER_ROLES = *PLAYER_PAIR, *WINNER_LOSER, "contest", "participant", "team"
NEEDED_ROLES = "side", "category", "covariates", "age", "venue"  # without which a system would predict something else
AFTER_MATCH_ROLES = "winner", "loser", "statistics", "shares", "expected_goals"
PLAYER_OF_RESULT = dict(zip(WINNER_LOSER, PLAYER_PAIR, strict=True))
RESULT_ROLES = *PLAYER_PAIR, *WINNER_LOSER, "score", "margin", "drop"  # of played matches
PREFERENCES = "na_values", "dates", "on_faulty", "skip_incomplete", "normalise_names"  # that name no column
MAX_SEASON_DAYS = 400.0  # from the first result to the last match to come
MAX_PAUSE_DAYS = 30.0  # from the end of the history to a match that is likely to be of the same season


class FixtureOptions(UntimedColumns, total=False):
    """How a table of what is to come is read; see `predict_fixtures`."""

    newcomers: bool
    time: Any
    dates: str | None
    na_values: Sequence[str]
    on_faulty: Literal["error", "skip"]


def reading_options_of_run(
    rated: History,
    names: Sequence[str],
    columns: Mapping[str, Any],
    roles: Collection[str],
    needed: Collection[str] = (),
) -> dict[str, Any]:
    """The arguments by which `read` takes a file as it took that of the history, and as `columns` say.

    A column of the history counts where the file has it, in whatever case, or one that is usually called so. Other
    columns are recognised. The `needed` ones are named all the same, so that an error says that one is missing.
    """
    saved: dict[str, Any] = {"side": "a"} if rated.options.get("sided") else {}
    saved |= {"dates": input_date_format(rated)} | rated.options.get("columns", {})
    if "winner" not in roles:  # of matches to come
        saved = {PLAYER_OF_RESULT.get(role, role): x for role, x in saved.items()}
    saved = _select(saved, {*roles}.difference(PLAYER_ROLES if {*PLAYER_ROLES} & columns.keys() else ()))
    options = _select(saved, saved.keys() - COLUMN_ROLES.keys())
    spelt = {role: _spelt_as_in_table(role, saved[role], names) for role in saved.keys() - options.keys()}
    lacking = {role for role in spelt if spelt[role] is None}
    lacking |= {*PLAYER_ROLES} if lacking & {*PLAYER_ROLES} else set()
    present = _select(spelt, spelt.keys() - lacking)
    usual = _select(recognise_evidence_columns(names, {**options, **present, **columns}), saved)
    return _select(saved, needed) | options | usual | present | dict(columns)


def _select(values: Mapping[str, Any], roles: Collection[str]) -> dict[str, Any]:
    """The values of these roles."""
    return {role: x for role, x in values.items() if role in roles}


def _spelt_as_in_table(role: str, value: Any, names: Sequence[str]) -> Any:
    """The columns of a role as a table of these columns spells them; None if it lacks one."""
    if value is False or (role == "side" and value in PLAYER_PAIR):
        return value
    spelt = {str(name).lower(): name for name in reversed(names)} | {name: name for name in names}
    found = [spelt.get(name, spelt.get(str(name).lower())) for name in as_column_list(value)]
    return None if None in found else found if isinstance(value, (list, tuple)) else found[0]


def read_upcoming_events(rated: History, source: Any, options: FixtureOptions) -> tuple[RatingSystem, Dataset]:
    """The events to come, with their times, and the system that predicts them; arguments as of `predict_fixtures`.

    Raises:
      ValueError: as `predict_fixtures`.
    """
    columns, is_listed = dict[str, Any](options), is_list_of_name_tuples(source)
    time, newcomers = columns.pop("time", None), columns.pop("newcomers", False)
    if isinstance(time, str) and is_table(source):
        source = open_table_source(source)
        if time in source.names:
            time, columns = None, columns | {"time": time}
        elif not any(map(str.isdigit, time)):  # as dates have
            raise ValueError(f"no column {time!r} of times{did_you_mean_suffix(time, source.names)}")
    data = _read_source(rated, source, columns)
    _check_no_unknown_players(rated, data, newcomers)
    data = split_unsupported_teams(rated.system, data)
    if rated.seasons and not data.seasons and is_table(source):
        latest = max(rated.seasons.items(), key=lambda season: season[1])[0]
        text = f"took the last season of the history, {latest}, for that of all matches, as no column says theirs"
        warn_caller(f"{text}; season='season' names one", ColumnsRecognisedWarning)
    data = _check_or_set_times(rated, data, time, is_listed)
    data = _add_derived_columns(rated, data) if data.of_matches else data
    data = _fill_neutral_sides_and_covariates(rated.system, data) if is_listed else data
    events = fill_missing_columns(data.events, contest_result_columns(rated.system.settings))
    data = data._replace(events=events, clock=rated.clock)
    _warn_unconnected(rated, data)
    return system_with_extended_seasons(rated, (data.seasons or {}).values()), data


def _check_or_set_times(rated: History, data: Dataset, time: Any, is_listed: bool) -> Dataset:
    """The events with the time of all if they have none of their own; else ValueError unless these are later ones."""
    if data.clock not in (None, rated.clock):
        raise ValueError(f"the times must be {rated.clock or 'left out'}, as in the run")
    if data.clock is not None:
        if time is not None:
            raise ValueError("the fixtures have times, so that none can be given for them all")
        _check_after_history(rated, data)
        return data
    if rated.clock == "dates" and time is not None:
        check_clock(rated.clock, time)
    elif rated.clock == "dates" and rated.last is not None and not is_listed:
        end = f"took the end of the history, {format_time(rated.last, rated.clock)}, for the time of all matches"
        text = f"{end}, as they have none of their own; time='2026-05-31' sets another"
        warn_caller(text, ColumnsRecognisedWarning)
    query_time = parse_time_after_last_events(rated, rated.state, time)
    flat: Any = data.events.flat
    time_of_all = np.full_like(flat.time, (rated.last or 0.0) if query_time is None else query_time)
    return data._replace(events=data.events.with_flat(flat._replace(time=time_of_all)))


def connected_rows(rated: History, data: Dataset) -> HostArray:
    """[n] whether a chain of events of the history joins the players of each match or participant's contest."""
    player, event = seats(data.events)
    has_played = np.flatnonzero(np.append(rated.games > 0, np.zeros(len(data.players), bool))[player])
    group, event_played = player_groups(rated)[player[has_played]], event[has_played]
    lowest, highest = np.full(len(event) + 1, len(rated.players)), np.zeros(len(event) + 1, int)
    np.minimum.at(lowest, event_played, group)
    np.maximum.at(highest, event_played, group)
    return (lowest >= highest)[event_numbers(data.events)]


def _warn_unconnected(rated: History, data: Dataset) -> None:
    """Warn of events whose players no chain of events of the history joins."""
    player, event = seats(data.events)
    unconnected = np.unique(event[np.repeat(~connected_rows(rated, data), 1 + data.of_matches)])
    if not len(unconnected):
        return
    noun = "match" if data.of_matches else "contest"
    names = map(format_unquoted_name, data.players[player[event == unconnected[0]]].tolist())
    count = format_count(len(unconnected), noun)
    text = f"{count} of players whom no chain of earlier ones joins ({join_names(names)})"
    warn_caller(f"{text}: their ratings cannot be compared, so that chances are those of strangers")


def _check_after_history(rated: History, data: Dataset) -> None:
    """ValueError if an event is before the end of the history, whose ratings know later results."""
    time = np.repeat(np.asarray(data.events.flat.time), np.diff(data.events.start))
    last = -np.inf if rated.last is None else rated.last
    early = np.flatnonzero(time < last)
    if len(early):
        early_text, end = (format_time(x, rated.clock) for x in (time[early[0]], last))
        others = f" and {len(early) - 1:,} more" * (len(early) > 1)
        raise ValueError(
            f"row {data.rows[early[0]]} (counting from 0){others}: time {early_text} is before the end of the run, "
            f"{end}, whose ratings know more than was known then; leave it out, or look at the predictions of the run"
        )


def _add_derived_columns(rated: History, data: Dataset) -> Dataset:
    """Upcoming matches with rest, form ... from the rated history, where it has them and they have not."""
    context = data.matches.context
    columns: Any = context.columns or {}
    spans = rated.options.get("columns", {}) | rated.options.get("derived", {})
    spans = {name: x for name in DERIVED_COLUMNS if name not in columns and (x := spans.get(name)) is not None}
    if not spans:
        return data
    columns = derive_columns(data._replace(upcoming=True), spans, [rated]) | columns
    return data._replace(events=data.matches._replace(context=context._replace(columns=columns)))


def _fill_neutral_sides_and_covariates(system: RatingSystem, data: Dataset) -> Dataset:
    """Upcoming events with what lists of names do not tell: no side, covariates of 0, no new season of a league.

    Newcomers are of the first kind of players.
    """
    if not data.of_matches:
        return data._replace(events=fill_missing_columns(data.events, contest_prior_columns(system.settings)))
    events: Any = fill_missing_columns(data.events, match_prior_columns(system.settings))
    if needs_sides(system) and events.context.side is None:
        events = events._replace(context=events.context._replace(side=np.zeros(len(data.rows))))
    return data._replace(events=events)


def is_table(source: Any) -> bool:
    """Whether it is a table, or the path of one, and no `Dataset` and no list of names."""
    return not (source is None or isinstance(source, Dataset) or is_list_of_name_tuples(source))


def is_list_of_name_tuples(source: Any) -> bool:
    """Whether it is a list of pairs of names, or of line-ups, and not one of dicts."""
    is_list = isinstance(source, (list, tuple)) and not hasattr(source, "_fields")
    return is_list and not (source and isinstance(source[0], Mapping))


def _match_table_from_pairs(pairs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pairs of names as a table of matches, and the columns of it that `read` must be told of."""
    if not all(isinstance(x, (tuple, list)) and len(x) == 2 and list not in map(type, x) for x in pairs):
        raise ValueError(
            "fixtures must be pairs of names, as [('Ada', 'Bo')] for one match, or a table; the run is of matches, and "
            "not of contests of teams"
        )
    return {name: to_object_array([x[i] for x in pairs]) for i, name in enumerate("ab")}, {}


def _contest_table_from_line_ups(contests: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Line-ups as a table of contests, and the columns of it that `read` must be told of."""
    rows: list[tuple[int, int, Any]] = []
    for number, teams in enumerate(contests):
        if not isinstance(teams, (tuple, list)) or not len(teams):
            example = "[(['Ada', 'Bo'], ['Cy', 'Di'])]"
            raise ValueError(f"fixtures of contests must be line-ups, as {example}, got {teams!r}")
        line_up = [*map(as_column_list, teams)]
        if not all(line_up):
            raise ValueError(f"contest {number} (counting from 0): team {line_up.index([])} has no players")
        rows += [(number, i, name) for i, members in enumerate(line_up) for name in members]
    contest, team_number, player = zip(*rows, strict=True) if rows else ((), (), ())
    table = {"contest": np.array(contest), "team": np.array(team_number), "player": to_object_array(player)}
    return table, {"contest": "contest", "participant": "player", "team": "team"}


def to_object_array(values: Any) -> HostArray:
    """Values, which may be tuples, as an array [n] of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _read_source(rated: History, source: Any, columns: dict[str, Any]) -> Dataset:
    """The events to come, from any source; ValueError if they are of another kind than those of the history."""
    of_matches, data, table = rated.of_matches, source, source
    if source is None:
        raise ValueError("nothing is to come: the data have no fixtures, which are rows without a result")
    if is_list_of_name_tuples(source):
        table, named = (_match_table_from_pairs if of_matches else _contest_table_from_line_ups)(source)
        if (category := columns.get("category")) is not None:  # which everybody meets
            count = len(next(iter(table.values())))
            table, named = table | {"category": to_object_array([category] * count)}, named | {"category": "category"}
        columns = reading_options_of_run(rated, [], columns | named, ["side", "dates"])
        table = open_table_source(table)._replace(noted=False)  # similar names were noted with the history
        data = read_by_cli_options(table, columns | {"upcoming": True}, rated)
    elif not isinstance(source, Dataset):
        table, roles = open_table_source(source), {*COLUMN_ROLES, "mixtures", *PREFERENCES} - {*AFTER_MATCH_ROLES}
        columns = reading_options_of_run(rated, table.names, columns, roles, NEEDED_ROLES)
        if not of_matches and columns.keys().isdisjoint(PLAYER_ROLES):
            columns |= _team_columns(table.names)
        data = read_by_cli_options(table, columns | {"upcoming": True}, rated)
    elif not np.array_equal(data.players[: len(rated.players)], rated.players):
        raise ValueError("the players have other ids than in the run; read what is to come with history=rated")
    if data.of_matches != of_matches:
        hint = "; if sides are of several players, name their columns, as a=['team1'], b=['team2']" * data.of_matches
        raise ValueError(f"the run is of {rated.nouns}, these are {data.events.nouns}{hint}")
    return data


def _team_columns(names: Sequence[str]) -> dict[str, list[str]]:
    """The columns of both sides, each as those of a team, as `read` takes them; none where contests have columns."""
    players = recognise_players(Header.of_columns(names), select_role_arguments({}), upcoming=True)
    if players is None or players.roles != PLAYER_PAIR or players.are_teams:
        return {}
    return {role: [name] for role, name in players.columns.items()}


class PlayedResults(NamedTuple):
    """Matches that were played."""

    names: HostArray  # [n, 2]
    score: HostArray  # [n] of the first player
    goals: HostArray  # [n, 2] of both sides; 0 where they are not needed


NO_RESULTS = PlayedResults(np.empty((0, 2), object), np.empty(0), np.empty((0, 2)))


def read_season_results(
    rated: History, results: Any, source: Any, coming: Dataset, options: FixtureOptions, needs_goals: bool
) -> PlayedResults:
    """The results of the season so far: those of a table, or beside what is to come, or else of the history.

    `results` is a table, or a `Dataset`, all of whose matches count; None: what is beside what is to come, in `source`.

    Raises:
      ValueError: if they are of more than one season, and no column says which, if those of a table are all of other
        seasons than what is to come, or if goals are needed and unknown.
    """
    if isinstance(results, Dataset):
        return _played_results(rated, results, options, needs_goals)
    is_beside = results is None
    if is_beside and not (coming.played and is_table(source)):
        return _results_in_history(rated, source, coming, options, needs_goals)
    # a table with both gave its warnings when it was read for what is to come
    with warnings.catch_warnings(action="ignore") if is_beside else nullcontext():
        title, data, seasons = _read_results(rated, source if is_beside else results, options)
    coming_seasons = _season_labels(rated, source, options)
    chosen = np.ones(len(data.rows), bool)
    if seasons is None or coming_seasons is None:
        _check_results_are_of_one_season(title, data, coming)
    else:
        chosen = np.isin(seasons, coming_seasons[coming.rows])
    past = PlayedResults(*map(itemgetter(chosen), _played_results(rated, data, options, needs_goals)))
    if is_beside:
        text = f"took {len(past.score):,} results in the table of what is to come for those of the season so far"
        warn_caller(f"{text}; results='results.csv' names others", ColumnsRecognisedWarning)
    elif not chosen.all():
        _report_other_seasons(title, ~chosen, np.asarray(seasons), np.asarray(coming_seasons)[coming.rows])
    return past


def _report_other_seasons(title: str, is_other: HostArray, seasons: HostArray, coming_seasons: HostArray) -> None:
    """Warn of the results that are of other seasons than what is to come; ValueError if all are."""
    theirs, names = (join_names([*map(repr, np.unique(x).tolist())]) for x in (seasons[is_other], coming_seasons))
    text = f"{title}{describe_share(is_other, 'result')} are of other seasons ({theirs}) than what is to come ({names})"
    check_that(not is_other.all(), f"{text}; name the season of both in the same way")
    warn_caller(f"{text}; they are left out")


def _check_results_are_of_one_season(title: str, data: Dataset, coming: Dataset) -> None:
    """ValueError if more than a season lies between the first result and the last match to come."""
    first = data.matches.time.min()
    if data.clock == coming.clock == "dates" and coming.matches.time.max() - first > MAX_SEASON_DAYS:
        raise ValueError(
            f"{title}the results since {format_time(first, 'dates')} are of more than a season; "
            "results='results.csv' names those of this season alone; season='season' tells seasons apart"
        )


def _season_labels(rated: History, table: Any, options: FixtureOptions) -> HostArray | None:
    """The season of each row of a table, as text, empty where there is none; None without such a column."""
    if not is_table(table):
        return None
    columns = {name: x for name, x in options.items() if name not in ("time", "newcomers")}
    season = reading_options_of_run(rated, table.names, columns, ["season", "league_season"])
    name = season.get("season") or season.get("league_season")
    if name is None:
        return None
    values = to_values(to_column(name, table.load([name], [name])[name]))
    return np.array(["" if x is None else value_text(x) for x in values], str)


def _results_in_history(
    rated: History, source: Any, coming: Dataset, options: FixtureOptions, needs_goals: bool
) -> PlayedResults:
    """The results in the history of the season of what is to come; none of a new one, and of leagues that are over.

    Where no column names the season, it is the last that has begun; pairs of names are of none. A warning says that
    there are no results if the history is likely to have some.
    """
    if is_list_of_name_tuples(source):
        return NO_RESULTS
    begin = _find_season_start(rated, source, coming, options)
    events, chosen = rated.events, _season_event_mask(rated.events, coming, begin)
    score, has_goals = np.asarray(events["score"])[chosen], "points" in events or not needs_goals
    if rated.has_events_elsewhere or not (has_goals and len(score) and np.isin(score, (0.0, 0.5, 1.0)).all()):
        _warn_if_season_has_begun(rated, coming, begin)
        return NO_RESULTS
    text = f"took {len(score):,} results of the history for those of the season so far"
    warn_caller(f"{text}; results='results.csv' names others", ColumnsRecognisedWarning)
    goals = events["points"][chosen] if needs_goals else np.zeros((len(score), 2))
    return PlayedResults(rated.players[events["player"][chosen]], score, goals)


def _find_season_start(rated: History, source: Any, coming: Dataset, options: FixtureOptions) -> float:
    """When the season of what is to come has begun; infinity if the history does not know it."""
    starts = rated.seasons | (coming.seasons or {}) if rated.seasons else {}
    begun = {name: start for name, start in starts.items() if start <= coming.matches.time.min()}
    labels = _season_labels(rated, source, options)
    if labels is None:
        return max(begun.values(), default=np.inf)
    return min(map(begun.__getitem__, begun.keys() & {*labels[coming.rows].tolist()}), default=np.inf)


def _season_event_mask(events: Any, coming: Dataset, season_start: float) -> HostArray:
    """[n] which events of a history are from this time on, and of the leagues of what is to come."""
    chosen = events["time"] >= season_start
    pairs = events["player"][chosen]
    league = group_players(len(coming.players), pairs, np.arange(len(pairs)))
    chosen[chosen] = np.isin(league[pairs[:, 0]], league[np.intersect1d(pairs, coming.matches.player)])
    return chosen


def _warn_if_season_has_begun(rated: History, coming: Dataset, begin: float) -> None:
    """Warn that no results are known if what is to come follows the history after no more than a pause."""
    end = rated.last if rated.clock == "dates" else None
    if end is None or end < begin < np.inf or coming.matches.time.min() > end + MAX_PAUSE_DAYS:
        return
    text, advice = "no results of this season are known", "results='results.csv' names those so far"
    if rated.has_events_elsewhere and begin <= end:
        text = "the results of this season are in files"
        advice = f"jr.load reads them if the run is not brief; {advice}"
    warn_caller(f"{text}, so that everybody begins with 0 points; {advice}")


def _played_results(rated: History, data: Dataset, options: FixtureOptions, needs_goals: bool) -> PlayedResults:
    """Played matches between players of the history; ValueError if goals are needed and unknown."""
    _check_no_unknown_players(rated, data, options.get("newcomers", False))
    score = np.asarray(data.matches.score)
    check_that(np.isin(score, (0.0, 0.5, 1.0)).all(), "the results of a season must be wins, draws and losses")
    goals = np.zeros((len(score), 2))
    if needs_goals:
        if len(data.margin) != 2:
            raise ValueError("the results need the goals of both sides, for the goal difference; name them as margin")
        further: Any = data.matches.context.columns
        goals = np.stack([np.asarray(further[name]) for name in data.margin], axis=1)
    return PlayedResults(data.players[data.matches.player], score, goals)


def _read_results(rated: History, source: Any, columns: FixtureOptions) -> tuple[str, Dataset, HostArray | None]:
    """Played matches of a table, or of a file in the format of the history; first the beginning of errors.

    Last is the season of each match, as text; None without such a column.
    """
    read_format = FORMATS.get(rated.options.get("columns", {}).get("format"))
    if read_format is not None and isinstance(source, (str, PathLike)):
        with suppress(ValueError):  # of other tables, which are read below
            return "", read_format(source, history=rated), None
    table = open_table_source(source)
    roles = *RESULT_ROLES, *PREFERENCES
    options = reading_options_of_run(rated, table.names, {x: y for x, y in columns.items() if x in roles}, roles)
    data, seasons = read_by_cli_options(table, options, rated), _season_labels(rated, table, columns)
    return table.title, data, None if seasons is None else seasons[data.rows]


def _check_no_unknown_players(rated: History, data: Dataset, newcomers: bool) -> None:
    """ValueError for players whom the history does not have, unless newcomers are allowed; it has the nearest names."""
    names, shown = data.players[len(rated.players) :].tolist(), MAX_SUGGESTIONS
    if newcomers or not names:
        return
    quoted = [f"{format_value_for_error(name)}{similar_names_hint(name, rated.players)}" for name in names[:shown]]
    others = f" and {len(names) - shown:,} more" * (len(names) > shown)
    noun = "player" + "s" * (len(names) > 1)
    raise ValueError(f"no {noun} {', '.join(quoted)}{others}; newcomers=True takes them as new players")


@enforce_argument_annotations
def predict_fixtures(rated: History, source: Any, **options: Unpack[FixtureOptions]) -> ColumnTable:
    """Forecasts of upcoming matches or contests, as columns that print as a table.

        jr.forecasts.predict_fixtures(rated, [("Ada", "Bo"), ("Cy", "Di")], time="2026-07-01")
        jr.forecasts.predict_fixtures(rated, "july.csv", a="home", b="away", side="a")

    Matches have time, a, b, who has the side (where anybody has), the chances of a to win, to draw and to lose, and the
    fair odds of each, 1 / chance. If the history has draws and its system predicts only expected scores, Davidson's
    model divides these into win, draw and loss (see `add_outcomes`), with the odds of draws that make the results of
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
        the `fixtures` of the data that were rated, or what it read with `upcoming=True` and `history=rated`.
      newcomers: whether names that the history does not have are new players. If not, they are refused.
      time: the time of all events, if the source has no times: a date if the history has dates, else a number. Or the
        name of a table's column of times. None: the end of the history; for a table a warning says so.
      options: names of columns, by the keywords of `read`, and its `dates`, `na_values` and `on_faulty`. A keyword that
        you leave out is as the command line saved it with the history. Rest and form (`jr.data.add_rest`) follow from
        the history where it has them. Upcoming events need players, sides and whatever else the system learns from. A
        table may lack the column `neutral`: then no place is neutral. With a list, category="duo" names the category
        that everybody meets.

    Raises:
      ValueError: for names that the history does not have (names the nearest), events of another kind or with times of
        another kind or before its end, and as `read` does.
    """
    system, data = read_upcoming_events(rated, source, options)
    try:
        if not data.of_matches:
            forecasts = _forecast_contests(rated, system, data)
        else:
            forecasts = forecast_matches(rated, add_draw_probabilities_if_needed(rated, system), data)
    except (KeyError, TypeError) as error:
        names = as_column_list(rated.options.get("columns", {}).get("columns"))
        if not names:
            raise
        raise ValueError(f"the system may need the columns of the run to predict: {join_names(names)}") from error
    is_connected = connected_rows(rated, data)
    if not is_connected.all():
        forecasts = ColumnTable({**forecasts, "connected": is_connected})
    return forecasts.drop_columns("row") if is_list_of_name_tuples(source) else forecasts


def event_time_column(data: Dataset, time: HostArray) -> HostArray | None:
    """The column of times; None without times."""
    if data.clock is None:
        return None
    return days_to_dates(time) if data.clock == "dates" else time


def forecast_matches(rated: History, system: RatingSystem, data: Dataset) -> ColumnTable:
    """The columns of forecasts of matches by this system, whose state is that of the history."""
    matches = data.matches
    prediction_columns = match_prediction_columns(predict(system, rated.state, matches, num_players=len(data.players)))
    a, b = data.players[matches.player].T
    side = matches.context.side
    columns: dict[str, Any] = {"row": data.rows, "time": event_time_column(data, matches.time), "a": a, "b": b}
    if side is not None and np.any(side):
        columns["side"] = np.select([np.greater(side, 0.0), np.less(side, 0.0)], [a, b], "")
    return ColumnTable(columns | _chances_and_odds(prediction_columns))


def _chances_and_odds(columns: dict[str, HostArray]) -> dict[str, HostArray]:
    """The chances of the first player, or of each participant's team, to win, draw and lose, and the fair odds."""
    win = np.asarray(columns.get("win", columns["prediction"]), np.float64)
    draw = np.asarray(columns.get("draw", 0.0), np.float64)
    loss = np.asarray(columns.get("loss", 1.0 - win - draw), np.float64)
    chances = {"win": win, "draw": draw, "loss": loss} if "draw" in columns else {"win": win, "loss": loss}
    with np.errstate(divide="ignore"):
        odds = {f"odds_{name}": 1.0 / x for name, x in chances.items()}
    others = {name: x for name, x in columns.items() if name not in {*chances, "prediction"}}
    return chances | {"expected": columns["prediction"]} | odds | others


def _forecast_contests(rated: History, system: RatingSystem, data: Dataset) -> ColumnTable:
    rounds = data.rounds
    flat: Any = rounds.events
    size = np.diff(rounds.player_start)
    prediction = predict(system, rated.state, data.events, num_players=len(data.players))
    prediction_columns = contest_prediction_columns(prediction, rounds)
    share, teams = prediction_columns["prediction"], count_teams(rounds)
    labels = np.arange(len(size)) if data.contests is None else np.asarray(data.contests)
    columns = {"row": data.rows, "time": event_time_column(data, np.repeat(flat.time, size))}
    columns |= {"contest": np.repeat(labels, size), "player": data.players[flat.player]}
    columns["expected_rank"] = 1 + (1 - share.astype(float)) * np.repeat(teams - 1, size)
    if (teams == 2).all():
        prediction_columns = {"team": np.asarray(flat.team)} | _chances_and_odds(prediction_columns)
        del prediction_columns["expected"]
    return ColumnTable(columns | {"share": share} | prediction_columns)
