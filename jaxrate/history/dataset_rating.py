"""A dataset is rated event by event, also onto a history, league by league, or with hindsight."""

import logging
from collections.abc import Hashable
from functools import lru_cache, partial
from typing import Annotated, Any, Unpack

import jax
import numpy as np

from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, FilePath, Key, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import RatingSystem, set_period_if_default
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import is_missing_value
from jaxrate.data.column_role_definitions import Columns, raise_first_applicable_error
from jaxrate.data.dataset_from_table import as_dataset
from jaxrate.data.dataset_names import check_known_categories
from jaxrate.data.faulty_rows import describe_example_rows, warn_caller
from jaxrate.data.lookalike_names import unstorable_reason
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events import Matches, Ragged, Rounds, RowError, count_games, period_number, periods
from jaxrate.events.dataset import Dataset, check_dataset
from jaxrate.history.event_columns import are_plain_names, concatenate_event_columns, make_event_columns
from jaxrate.history.history import History, format_time, system_with_extended_seasons
from jaxrate.history.out_of_core.rating_by_chunks import Chunks, rate_by_chunks
from jaxrate.history.recorded_runs import (
    RecordedRun,
    calibrate_by_final_slope,
    calibrate_events,
    calibrate_like_history,
    calibration_slope_of_history,
    do_leads_fade,
    initial_calibration_slope,
    rating_history_with_performances,
    recorded_columns,
)
from jaxrate.replay.checked_replay import check_contest_order_if_time_matters, depends_on_time
from jaxrate.replay.padded_arrays import count_players
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.prediction_wrapping import unwrap_predictions
from jaxrate.systems.rounds.performance_inference import Performances
from jaxrate.systems.system_construction_by_name import extend_system_seasons, has_sides, uses_side


def split_by_league(data: Dataset, league: Any) -> dict[Hashable, Dataset]:
    """The events of each league with its own players, in order of first appearance; RowError for a row without one."""
    is_list = isinstance(league, (list, tuple))  # of tuples, perhaps
    labels = np.fromiter(league, object, len(league)) if is_list else np.asarray(league, object)
    if labels.ndim != 1 or len(labels) <= int(data.rows.max(initial=-1)):
        raise ValueError(f"league must have one value for each row of the source, got shape {labels.shape}")
    if missing_rows := [row for row in data.rows.tolist() if is_missing_value(labels[row])]:
        raise RowError(missing_rows[0], "there is no league")
    label_of_row, start = labels[data.rows].tolist(), data.events.start
    number = {name: i for i, name in enumerate(dict.fromkeys(label_of_row))}
    names, number_of_row = [*number], np.fromiter(map(number.__getitem__, label_of_row), int)
    first_row = np.repeat(start[:-1], np.diff(start))  # of the event
    if len(mixed_rows := np.flatnonzero(number_of_row != number_of_row[first_row])):
        row = int(mixed_rows[0])
        first, second = names[number_of_row[first_row[row]]], names[number_of_row[row]]
        raise RowError(int(data.rows[row]), f"its contest is of the leagues {first} and {second}")
    return {name: select_events(data, number_of_row[start[:-1]] == i) for name, i in number.items()}


def select_events(data: Dataset, keep: HostArray, num_known_players: int = 0) -> Dataset:
    """The events to keep, by a mask [E], and their players; the first `num_known_players` stay in any case."""
    rows = np.repeat(keep, np.diff(data.events.start))
    flat: Any = data.events.flat
    selected = jax.tree.map(lambda x: np.asarray(x)[keep if len(x) == len(keep) else rows], flat)
    is_present = np.arange(len(data.players)) < num_known_players
    is_present[selected.player] = True
    selected = selected._replace(player=(np.cumsum(is_present, dtype=np.int32) - 1)[selected.player])
    start = None if isinstance(flat, Matches) else np.append(0, np.cumsum(np.diff(data.rounds.player_start)[keep]))
    return data._replace(
        events=selected if start is None else Ragged(selected, start, None),
        players=data.players[is_present],
        rows=data.rows[rows],
        venues=None if data.venues is None else data.venues[rows],
        contests=None if data.contests is None else data.contests[keep],
        fixtures=None,
    )


MAX_COMPARED_ROWS = 100_000  # last rows of a history, in which repeated matches are sought


def check_data_can_continue_history(system: RatingSystem, data: Dataset, period: float | None, onto: History) -> None:
    """ValueError unless the events can follow a rated history by this system, in periods of this length."""
    if onto.seasons and data.seasons and not onto.seasons.items() <= data.seasons.items():
        raise ValueError("the seasons differ from the saved run's; read the matches with history=saved")
    continued_system = system_with_extended_seasons(onto, system.settings.get("seasons") or ())
    previous_form = "match by match" if onto.period is None else f"in periods of {onto.period:g}"
    raise_first_applicable_error(
        (
            (system.rules, system.params) != (continued_system.rules, continued_system.params),
            f"the saved run is of {onto.system.name} with its own parameters; carry on with those, "
            f"as jr.rate(saved.system, data, onto=saved) does, or rate all matches again by {system.name}",
        ),
        (period != onto.period, f"the saved run was rated {previous_form}; carry on the same way"),
    )
    _check_names_and_clock_continue(data, onto)
    if onto.last is not None and data.clock is not None and len(data.rows):
        _check_events_are_later(system, data, period, onto)


def _check_names_and_clock_continue(data: Dataset, onto: History) -> None:
    """ValueError unless players and categories have their ids, and events and times are of the kind of the history."""
    raise_first_applicable_error(
        (
            not np.array_equal(data.players[: len(onto.players)], onto.players),
            "the players have other ids than in the saved run; read the events with history=saved, the run that is "
            "given as onto",
        ),
    )
    check_known_categories(data, onto.categories)
    nouns, clocks = data.events.nouns, {None: "no times", "dates": "dates", "numbers": "numbers for times"}
    needs_same_clock = data.of_matches or bool(data.clock and onto.clock)
    raise_first_applicable_error(
        (
            onto.categories is not None and not np.array_equal(np.array(data.categories), onto.categories),
            "the categories differ from the saved run's; read the matches with history=saved",
        ),
        (nouns != onto.nouns, f"the saved run is of {onto.nouns}, these are {nouns}"),
        (
            data.clock != onto.clock and needs_same_clock,
            f"the saved run has {clocks[onto.clock]}, the new {nouns} have {clocks[data.clock]}",
        ),
    )


def _check_events_are_later(system: RatingSystem, data: Dataset, period: float | None, onto: History) -> None:
    """ValueError if the events begin before the end of the history, or within its last rating period."""
    time, last = data.events.flat.time, onto.last or 0.0
    event, end = "match" if data.of_matches else "contest", format_time(last, onto.clock)
    first = f"row {data.rows[0]} (counting from 0): time {format_time(time[0], onto.clock)}"
    raise_first_applicable_error(
        (
            time[0] < last and (data.of_matches or depends_on_time(system, system.params)),
            f"{first} is earlier than the last {event} of the saved run, {end}; leave out "
            f"what is rated already, which is all before that",
        ),
        (
            period is not None and period_number(time[0], period) == period_number(last, period),
            f"{first} is in the same rating period as the last match of the saved run, {end}; a period is "
            "rated as a whole, so carry on only where one has ended",
        ),
    )


def warn_doubtful_continuation(system: RatingSystem, data: Dataset, onto: History) -> None:
    """UserWarning if new matches lack the side that the system counts, or are as the last ones of the history."""
    if not data.of_matches:
        return
    if uses_side(system) and not has_sides(data):
        text = f"{system.name} counts the side, and the new matches do not say who has it, so nobody does; name "
        warn_caller(f"{text}its column, as side='home'")
    if onto.last is None or data.clock is None:
        return
    at_end = np.flatnonzero(np.asarray(data.matches.time) == onto.last)
    if not len(at_end):
        return
    last, total = format_time(onto.last, onto.clock), f"{len(data.rows):,} new matches"
    if not len(onto.events["row"]):
        text = f"{len(at_end):,} of {total} are at the end of the history, {last}, whose matches are in other files: "
        warn_caller(f"{text}they count as further matches")
    elif (repeated := _repeats_last_matches(data, at_end, onto)).any():
        text = f"{np.count_nonzero(repeated):,} of {total} repeat matches that the history has at its end, {last}: "
        text += f"{describe_example_rows(data.rows[at_end[repeated]])}; they count again, so remove them if they were "
        warn_caller(f"{text}played once")


def _repeats_last_matches(data: Dataset, indices: HostArray, onto: History) -> HostArray:
    """[indices] whether the history has a match of the same players with the same score at its last time."""
    events = onto.events
    latest = slice(max(len(events["row"]) - MAX_COMPARED_ROWS, 0), None)
    at_end = events["time"][latest] == events["time"][-1]
    known = {*zip(*events["player"][latest][at_end].T.tolist(), events["score"][latest][at_end].tolist(), strict=True)}
    a, b = data.matches.player[indices].T.tolist()
    score = np.asarray(data.matches.score)[indices].tolist()
    return np.array([match in known for match in zip(a, b, score, strict=True)])


@enforce_argument_annotations
def rate(
    system: RatingSystem,
    data: Any,
    *,
    period: float | None = None,
    onto: History | None = None,
    key: Key | None = None,
    calibrate: bool | None = None,
    chunk: int | Chunks | None = None,
    out: FilePath | None = None,
    **columns: Unpack[Columns],
) -> History:
    """Rate the matches or contests of a table: predict each, then learn from it.

        rated = jr.rate(jr.glicko(), data)
        jr.rate(rated.system, new, onto=rated)  # to carry on with a table of new results
        jr.rate(jr.glicko(), "matches/*.parquet", chunk=1_000_000, out="rated")  # larger than memory

    The predictions have one row per match: row in its file, time, a, b, score, prediction, and both ratings before with
    their deviations. Those of contests have one row per participation: row, contest, time, player, rank (from 1: so
    many are ahead, plus one), participants, prediction (the share of the others that the player should leave behind),
    rating and deviation before. If some play in teams, rank and prediction are among teams, and two more columns have
    the number of teams and the number of the player's team, from 1 (0: unknown). Deviations are left out if the system
    has none. Systems that infer performances add them, and the rank that would have kept the rating (see
    `performance_ratings`); both are null where there is none. If leads fade, from season to season or with time,
    "rating_after" and "deviation_after" have the ratings after the event; all matches of a rating period have those
    after the period.

    Where the data say who has the side, `side` follows: 1 for a, -1 for b, 0 for nobody. Where they have the points of
    both players as their margin, these follow as "points_a" and "points_b". Where they have categories, as surfaces,
    "category_a" and "category_b" are the names of those of both players, and `category` is that of a participation.

    Systems of `add_outcomes` add probabilities. The prediction is still the expected score, or the share. For a match
    they are those that a wins, draws and loses; for a contest, those that the player's team wins and that none does.
    Both have the quality of the event. Those of scores other than 0, 1/2 and 1 are named probability_0, ...,
    probability_1.

    With `chunk` and `out` files of any size are rated a chunk at a time, into a folder, in the memory of the ratings
    and a few chunks (JSON and spreadsheets are read as a whole). The numbers are those of the whole table in memory,
    sorted by time: on a CPU to the last bit; with BlatMMR, TrueSkill, skills, mean reversion and contests to rounding;
    with Urnings by chance. The folder gets predictions/part-000000.parquet and so on, one for each chunk;
    ratings.parquet, one row per player, best first; and a checkpoint, which is renewed every minute and when SIGTERM or
    Ctrl-C asks the process to end. The same call goes on from there, even if the process was killed, and ends with the
    same files as if it had never been interrupted; of a run that had ended it rates the files that were added since, if
    they do not begin before its end. DuckDB (`pip install "jaxrate[large]"`) puts the rows in order of time where times
    decrease or contests are not numbered as they stand; such a run takes no further files, and its players stand in the
    order in which they first play. The history that is returned has the ratings, and as `quality` the measures of its
    predictions; `load(out)` also has the events, if they are not too many.

    Args:
      system: as from `elo()`, `glicko()`, ...
      data: a `Dataset`, or a table or path as `read` takes it. To carry on, `read` needs `history=onto`; the system
        learns of new seasons. A table is read in this way, with the columns that the command line saved. A
        folder of Parquet files, or else of CSV, is one table in the order of their names, and so is a pattern as
        "2*/*.parquet" or a list of files; of a folder or pattern, files whose names begin with "." or "_" or end in
        ".truth.parquet" do not count. By chunks it is one of these, or a file.
      period: the length of rating periods; None: match by match, or contest by contest. A system whose own `period` is
        the default gets this one.
      onto: a history to carry on from: the result equals one run over both (on a CPU to the last bit; with
        BlatMMR, TrueSkill, skills, mean reversion and contests to rounding; with Urnings by chance). Players who are
        new to it join as newcomers.
      key: a PRNG key for systems that draw random numbers. None: one that follows from how much was rated before.
      calibrate: whether the predictions are calibrated: the log-odds of expected scores, and in contests of shares of
        the others to be beaten, are multiplied by a slope that is learnt from the events before. None: if the
        hyperparameters that a fit may move are all the default. Ratings are the same. The result's system is that of
        `calibrate`, with the slope at its end, so that forecasts are calibrated, too. A history that is carried on
        stays as it is. Never calibrated are skills that learn from goals, whose chances are those of their scorelines,
        and systems of `add_outcomes`.
      chunk: how many rows are rated at a time, or `jr.history.Chunks`. A rating period or contest is never divided.
        None: all in memory, or a million with `out`. Chunk i draws by `fold_in(key, i)`.
      out: the folder for the results of rating by chunks.
      columns: those of a table, by role, as `read` takes them.

    Otherwise a system is taken as it is. The logger "jaxrate" says so if the data have sides and its `side_advantage`
    is 0, or if they have none and it is not 0.

    Raises:
      ValueError: if the data are not events that the system rates, or not in periods of its own length; if names are of
        several types; or if the events cannot follow `onto`: of another kind, another system, other parameters or
        periods, times of another kind, players without their ids, or events before its end (names the row). By chunks
        also if the run in the folder is of other data, columns or settings, or damaged.
      OSError: if the disk is full. What had been rated by chunks by the last checkpoint is kept.
      KeyboardInterrupt: after Ctrl-C, once all that was rated by chunks is kept; at once if it is pressed again.

    Warns:
      UserWarning: if new matches do not say who has the side, and the system counts it; if matches at the end of `onto`
        are as others that it has at that time.
    """
    if chunk is not None or out is not None:
        folder, chunks = _output_folder_and_chunk_size(chunk, out, onto)
        return rate_by_chunks(system, data, folder, chunks, columns, period, key, calibrate)
    if period is not None:  # histories of earlier versions may have another than their system
        system = set_period_if_default(system, period if onto is None else getattr(onto.system.params, "period", None))
    data = as_dataset("rate", data, columns, onto)
    _check_names_storable(system, data)
    state, last, num_before, slope = None, None, 0, initial_calibration_slope(system, calibrate)
    if onto is None:
        log_side_mismatch(system, data.of_matches, has_sides(data))
    else:
        state, last, num_before, slope = onto.state, onto.last, onto.num_rows, calibration_slope_of_history(onto)
        system = extend_system_seasons(calibrate_like_history(system, onto), (data.seasons or {}).values())
        check_data_can_continue_history(system, data, period, onto)
        warn_doubtful_continuation(system, data, onto)
    events = data.events if period is None else _group_by_period(data, period, onto)
    check_contests_in_time_order(system, data)
    with add_location_to_data_errors("", lambda row: f"row {data.rows[row]} (counting from 0)"):
        system.check(data.events)
    if system.rules.draw is not None and key is None:
        key = jax.random.fold_in(jax.random.key(0), num_before)
    run_system, n = system if slope is None else unwrap_predictions(system), len(data.players)
    result, performances = rating_history_with_performances(
        run_system, events, after=do_leads_fade(system), state=state, key=key, num_players=n
    )
    if slope is not None:
        prediction, slope = calibrate_events(result.prediction, data, period, last, slope)
        result = result._replace(prediction=prediction)
    system, options = calibrate_by_final_slope(system, slope)
    history = build_history(system, data, period, onto, result, performances)
    return history._replace(options=history.options | options)


def _output_folder_and_chunk_size(
    chunk: int | Chunks | None, out: FilePath | None, onto: History | None
) -> tuple[FilePath, Chunks]:
    """The folder for the results of rating by chunks, and the size of chunks."""
    if out is None or onto is not None:
        raise ValueError("rating by chunks needs out, a folder, in which it also goes on; give no onto")
    return out, chunk if isinstance(chunk, Chunks) else Chunks() if chunk is None else Chunks(chunk)


def _group_by_period(data: Dataset, period: float, onto: History | None) -> Ragged:
    """The matches in rating periods, which go on from a history in the length of its own."""
    if data.clock is None:
        raise ValueError("rating periods need times; name the column of time")
    events = periods(data.matches, period)
    return events if onto is None else events._replace(length=None)


@lru_cache(maxsize=64)
def log_side_mismatch(system: RatingSystem, of_matches: bool, sided: bool) -> None:
    """Log, once for a system, a side advantage of 0 where the data have sides, or another where they have none."""
    if sided == uses_side(system):
        return
    worth = {name: getattr(system.params, name, None) for name in ("side_advantage", "side_trend")}
    name = next(filter(worth.get, worth), "side_advantage")
    if worth[name] is None or sided == bool(worth[name]):
        return
    text = "the data do not say who has the side; name its column, as side='home'"
    if not of_matches:
        text = "contests have no side; skills take a column of it as jr.parts.covariate('side')"
    if sided:
        text = "the data say who has the side; give it points or fit it"
    logging.getLogger("jaxrate").warning("%s is rated with %s=%g, though %s", system.name, name, worth[name], text)


def _check_names_storable(system: RatingSystem, data: Dataset) -> None:
    """ValueError unless a table can hold the names of players and categories."""
    if not are_plain_names(data.players):
        for name in data.players.tolist():
            if reason := unstorable_reason(name):
                raise ValueError(f"player {format_value_for_error(name)} {reason}")
        raise ValueError("the names of players must be all text, or all numbers, to be written in a table")
    categories = _category_names(system, data)
    if categories is not None and (not are_plain_names(categories) or isinstance(categories[0], bytes)):
        raise ValueError("the names of categories must be all text, or all numbers, to be kept")


def _category_names(system: RatingSystem, data: Dataset) -> HostArray | None:
    """The names of categories, if the system uses them."""
    return data.categories if system.settings.get("categories", 1) > 1 else None


def build_history(
    system: RatingSystem,
    data: Dataset,
    period: float | None,
    onto: History | None,
    result: RecordedRun,
    performances: Performances | None,
) -> History:
    """The history that `rate` returns, from the result of a run."""
    time: Any = data.events.flat.time
    games = count_games(data.events, len(data.players))
    before = 0 if onto is None else onto.contests or 0
    events = make_event_columns(data, result.prediction, recorded_columns(result, performances), before)
    last, clock = float(time[-1]) if data.clock and len(time) else None, data.clock
    known = {"dates": data.dates, "source": data.source, "derived": data.derived, "noun": data.noun}
    options = {name: x for name, x in known.items() if x}
    if onto is not None:
        games[: len(onto.games)] += onto.games
        events = concatenate_event_columns(onto.events, events)
        last, clock, options = onto.last if last is None else last, clock or onto.clock, onto.options | options
    knows_seasons = data.seasons and tuple(data.seasons.values()) == system.settings.get("seasons")
    seasons, categories = data.seasons if knows_seasons else None, _category_names(system, data)
    return History(system, result.state, data.players, games, period, last, clock, events, options, categories, seasons)


def check_contests_in_time_order(system: RatingSystem, data: Dataset) -> None:
    """ValueError if the times of contests decrease, and the system takes notice; names the row of the source."""
    if Rounds in system.events and not data.of_matches:
        with add_location_to_data_errors("", lambda row: f"row {data.rows[row]} (counting from 0)"):
            check_contest_order_if_time_matters(
                system, system.params, data.rounds, lambda time: format_time(time, data.clock)
            )


@enforce_argument_annotations
def rate_leagues(
    system: RatingSystem,
    data: Dataset,
    league: Any,
    *,
    period: float | None = None,
    key: Key | None = None,
    calibrate: bool | None = None,
    executor: Executor | None = None,
) -> dict[Hashable, History]:
    """Rate each league of a table alone, as `rate` does: players of one name in two leagues are two.

        table = {"a": ["Ada", "Eve", "Ada"], "b": ["Bo", "Al", "Bo"], "score": [1, 0, 1], "league": ["N", "S", "N"]}
        for name, rated in jr.history.rate_leagues(jr.elo(), jr.read(table), table["league"]).items():
            print(name, jr.leaderboard(rated))

    Args:
      system: as from `elo()`, `glicko()`, ...
      data: events and names, as from `read`.
      league: [N] which league each row of the source is of, of any hashable type; row i is that of number i in
        `data.rows`.
      period: the length of rating periods, as in `rate`.
      key: a PRNG key, as in `rate`; every league gets the same.
      calibrate: whether predictions are calibrated, as in `rate`.
      executor: whose workers each rate a league, see `compare`; the numbers are the same.

    Returns:
      The `History` of each league, in order of first appearance.

    Raises:
      ValueError: as `rate`; for a row without a league, or a contest in several.
    """
    check_dataset("rate_leagues", data)
    with add_location_to_data_errors("", lambda row: f"row {row} (counting from 0)"):
        leagues = split_by_league(data, league)
    rate_one = partial(rate, system, period=period, key=key, calibrate=calibrate)
    return dict(zip(leagues, map_items(executor, rate_one, leagues.values()), strict=True))


@enforce_argument_annotations
def smooth(
    system: RatingSystem,
    events: Annotated[Matches | Ragged | Dataset, CHECKED_BY_FUNCTION],
    *,
    params: Params = None,
    num_players: int | None = None,
    tolerance: float = 1e-3,
    sweeps: Annotated[int, CHECKED_BY_FUNCTION] = 200,
) -> History:
    """Rate a whole history with hindsight: every player at each of their matches or contests, given all of them.

    A filter knows of each match only what came before it. This is expectation propagation (Minka 2001) in the model of
    `skills`, as in TrueSkill through time (Dangauthier, Herbrich, Minka and Graepel 2007): the site of a match is
    computed from the sites of all other matches of its players, before and after, until nothing changes. If beliefs of
    opponents are kept as independent, as in the filter, deviations come out somewhat small; with margins, means are
    those of the exact posterior. A contest of teams has a site for each member. Goals and points tell of strength and
    pace of a team together.

        data = jr.data.datasets.nfl()
        system = jr.skills(jr.parts.seasons(data.seasons), observe=jr.parts.margin(*data.margin, compression=10.0))
        history = jr.smooth(system, data)
        best = history.rows.after.mean.max()  # of all teams in all games

    Args:
      system: `skills`. Glicko's model is that of the observation `logistic`, and TrueSkill's
        of two players `result(draw_margin=...)`.
      events: `Matches` or contests (as from `rounds`) in order of time, or a `Dataset` of them. A match of weight w
        counts as w matches.
      params: hyperparameters, by default `system.params`.
      num_players: rows of the state, by default the largest id plus one, or all whom a `Dataset` names.
      tolerance: above 0. The result has converged when in a sweep no mean moves by more than this share of its
        deviation, and no variance by more than ten times this share of itself.
      sweeps: the largest number of sweeps, from 1. After so many it stops, with a warning.

    Returns:
      A history whose ratings are those after each event, given all others. Its `state` is what `run(..., state=...)`
      filters on from. Its predictions leave out the match or contest itself and say how well the past is explained;
      they are no forecasts. `hindsight` has the evidence, the beliefs by part of the model, and whether the sweeps
      converged.

    Raises:
      ValueError: for another system, rating periods, a history without events, bad rows (see `matches`), contests
        whose times decrease, or in which a player meets a category in one of their teams and another in the next,
        columns that the system lacks, hyperparameters out of their range, or more matches than memory holds.
    """
    found = smooth_events(
        system, events, params=params, num_players=num_players, tolerance=float(tolerance), sweeps=sweeps
    )
    data: Any = events
    if not isinstance(events, Dataset):
        data = Dataset(events, np.arange(count_players(found.state)), np.arange(len(events.flat.player)))
    result = RecordedRun(found.state, found.prediction, Rating(None, None), found.rating)
    history = build_history(found.system, data._replace(events=found.events), None, None, result, None)
    return history._replace(hindsight=found)
