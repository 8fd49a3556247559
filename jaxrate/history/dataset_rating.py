"""Rating a dataset: each event is predicted, then learnt from; a rated history carries on with new events."""

import logging
from functools import lru_cache
from typing import Any

import jax

from jaxrate.core.argument_checks import Key, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Rating
from jaxrate.core.system import RatingSystem, check_system, random_draw_rule, set_default_period
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.data_inputs import as_dataset
from jaxrate.data.lookalike_names import unstorable_reason
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events import (
    Rounds,
    count_games,
    periods,
)
from jaxrate.events.dataset import Dataset
from jaxrate.history.contest_performances import rating_history_with_performances
from jaxrate.history.event_columns import are_plain_names, concatenate_event_columns, make_event_columns
from jaxrate.history.history import History, format_time
from jaxrate.history.history_continuation import (
    check_data_can_continue_history,
    reading_options_of_history,
    warn_doubtful_continuation,
)
from jaxrate.history.online_calibration import (
    calibrate_events,
    calibrated_as_history,
    calibrated_by_end,
    initial_slope,
    slope_of_history,
)
from jaxrate.history.ratings_before_and_after_events import RecordedRun, do_leads_fade
from jaxrate.replay.contest_checks import check_contest_order_if_time_matters
from jaxrate.systems.prediction_wrapping import unwrap_predictions
from jaxrate.systems.rounds.performances_and_break_even_ranks import Performances
from jaxrate.systems.system_construction_by_name import extend_system_seasons, has_sides, uses_side


@enforce_argument_annotations
def rate(
    system: RatingSystem,
    data: Any,
    *,
    period: float | None = None,
    onto: History | None = None,
    key: Key | None = None,
    calibrate: bool | None = None,
) -> History:
    """Rate the matches or contests of a table: predict each, then learn from it.

        rated = jr.rate(jr.glicko(), data)
        jr.rate(rated.system, new, onto=rated)  # to carry on with a table of new results

    The predictions have one row per match: row in its file, time, a, b, score, prediction, and both ratings before with
    their deviations. Those of contests have one row per participation: row, contest, time, player, rank (from 1: so
    many are ahead, plus one), participants, prediction (the share of the others that the player should leave behind),
    rating and deviation before. If some play in teams, rank and prediction are among teams, and two more columns have
    the number of teams and the number of the player's team, from 1 (0: unknown). Deviations are left out if the system
    has none. Systems that infer performances add them, and the rank that would have kept the rating (see
    `performance_ratings`); both are null where there is none. If leads fade, from season to season or with time,
    `rating_after` and `deviation_after` have the ratings after the event; all matches of a rating period have those
    after the period.

    Where the data say who has the side, `side` follows: 1 for a, -1 for b, 0 for nobody. Where they have the points of
    both players as their margin, these follow as `points_a` and `points_b`. Where they have categories, as surfaces,
    `category_a` and `category_b` are the names of those of both players, and `category` is that of a participation.

    Systems of `add_outcomes` add probabilities. The prediction is still the expected score, or the share. For a match
    they are those that a wins, draws and loses; for a contest, those that the player's team wins and that none does.
    Both have the quality of the event. Those of scores other than 0, 1/2 and 1 are named probability_0, ...,
    probability_1.

    Args:
      system: as from `elo()`, `glicko()`, ...
      data: a `Dataset`, or a table or path as `read` takes it. To carry on, `read` needs `players=onto.players`, and
        `categories=onto.categories` and `seasons=onto.seasons` if there are any; the system learns of new seasons. A
        table is read in this way, with the columns that the command line saved.
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

    Otherwise a system is taken as it is. The logger "jaxrate" says so if the data have sides and its `side_advantage`
    is 0, or if they have none and it is not 0.

    Raises:
      ValueError: if the data are not events that the system rates, or not in periods of its own length; if names are of
        several types; or if the events cannot follow `onto`: of another kind, another system, other parameters or
        periods, times of another kind, players without their ids, or events before its end (names the row).

    Warns:
      UserWarning: if new matches do not say who has the side, and the system counts it; if matches at the end of `onto`
        are as others that it has at that time.
    """
    check_system(system)
    if period is not None:  # histories of earlier versions may have another than their system
        system = set_default_period(system, period if onto is None else getattr(onto.system.params, "period", None))
    data = as_dataset("rate", data, **reading_options_of_history(onto))
    _check_names_storable(system, data)
    if onto is None and data.of_matches and has_sides(data) != uses_side(system):
        log_side_mismatch(system, has_sides(data))
    events, n = data.events, len(data.players)
    slope = initial_slope(system, calibrate) if onto is None else slope_of_history(onto)
    if period is not None:
        if data.clock is None:
            raise ValueError("rating periods need times; name the column of time")
        events = periods(data.matches, period)
        events = events if onto is None else events._replace(length=None)
    if onto is not None:
        system = extend_system_seasons(calibrated_as_history(system, onto), (data.seasons or {}).values())
        check_data_can_continue_history(system, data, period, onto)
        warn_doubtful_continuation(system, data, onto, stacklevel=4)
    check_contests_in_time_order(system, data)
    with add_location_to_data_errors("", lambda row: f"row {data.rows[row]} (counting from 0)"):
        system.check(data.events)
    if random_draw_rule(system.rules) is not None and key is None:
        key = jax.random.fold_in(jax.random.key(0), 0 if onto is None else onto.num_rows)
    state = None if onto is None else onto.state
    rated_system = system if slope is None else unwrap_predictions(system)
    result, performances = rating_history_with_performances(
        rated_system, events, after=do_leads_fade(system), state=state, key=key, num_players=n
    )
    if slope is not None:
        last = None if onto is None else onto.last
        prediction, slope = calibrate_events(result.prediction, data, period, last, slope)
        result = result._replace(prediction=prediction)
    system, options = calibrated_by_end(system, slope)
    history = build_history(system, data, period, onto, result, performances)
    return history._replace(options=history.options | options)


@lru_cache(maxsize=64)
def log_side_mismatch(system: RatingSystem, sided: bool) -> None:
    """Log, once for a system, a side advantage of 0 where the data have sides, or another where they have none."""
    points = getattr(system.params, "side_advantage", None)
    if sided and points == 0.0:
        text = "though the data say who has the side; give it points or fit it"
    elif not sided and points:
        text = "though the data do not say who has the side; name its column, as side='home'"
    else:
        return
    logging.getLogger("jaxrate").warning("%s is rated with side_advantage=%g, %s", system.name, points, text)


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
    flat: Any = data.events.flat
    games = count_games(data.matches if data.of_matches else data.rounds, len(data.players))
    before = 0 if onto is None else onto.contests or 0
    events = make_event_columns(data, result.prediction, recorded_columns(result, performances), before)
    last = float(flat.time[-1]) if data.clock and len(flat.time) else None if onto is None else onto.last
    if onto is not None:
        games[: len(onto.games)] += onto.games
        events = concatenate_event_columns(onto.events, events)
    clock, options = (data.clock, {}) if onto is None else (data.clock or onto.clock, onto.options)
    about_data = {"dates": data.dates, "source": data.source}
    options = options | {name: value for name, value in about_data.items() if value is not None}
    seasons = data.seasons
    if not seasons or tuple(seasons.values()) != system.settings.get("seasons"):
        seasons = None
    categories = _category_names(system, data)
    return History(system, result.state, data.players, games, period, last, clock, events, options, categories, seasons)


def recorded_columns(result: RecordedRun, performances: Performances | None = None) -> dict[str, Any]:
    """The ratings before the events, those that they left if these were recorded, and performances, by column."""
    left = Rating(None, None) if result.after is None else result.after
    columns = {"rating": result.before.mean, "deviation": result.before.deviation}
    columns |= {"rating_after": left.mean, "deviation_after": left.deviation}
    return columns | ({} if performances is None else performances._asdict())


def check_contests_in_time_order(system: RatingSystem, data: Dataset) -> None:
    """ValueError if the times of contests decrease, and the system takes notice; names the row of the source."""
    if Rounds in system.events and not data.of_matches:
        with add_location_to_data_errors("", lambda row: f"row {data.rows[row]} (counting from 0)"):
            check_contest_order_if_time_matters(
                system, system.params, data.rounds, lambda time: format_time(time, data.clock)
            )
