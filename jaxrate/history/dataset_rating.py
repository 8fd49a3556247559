"""A dataset is rated event by event, also onto a history, or league by league.

Predictions of systems with default hyperparameters, calibrated by one slope of the log-odds that is learnt online.

`rate` and `rate_files` are where all commands and pages get their predictions, and these go through here: expected
scores of matches, and in contests the shares of the others to be beaten. Chances of goals do not: those of scorelines
and of seasons belong together with them. What is known of the slope is kept with the history, in its options, and its
system is that of `jr.forecasts.calibrate` with the slope at the end, so that forecasts are calibrated as well. Ratings
do not depend on it.
"""

import logging
import warnings
from collections.abc import Hashable, Mapping
from functools import lru_cache, partial
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, Key, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import check_accelerator_predictions_finite
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import InferringUpdate, Params, RatedEvent, Rating, Record, State
from jaxrate.core.system import RatingSystem, random_draw_rule, set_default_period, split_sides
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import missing_mask
from jaxrate.data.dataset_from_table import as_dataset
from jaxrate.data.faulty_rows import describe_example_rows
from jaxrate.data.lookalike_names import unstorable_reason
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events import Matches, Periods, Ragged, Rounds, RowError, count_games, period_number, periods
from jaxrate.events.dataset import Dataset, check_dataset, resolve_events_and_num_players
from jaxrate.history.event_columns import are_plain_names, concatenate_event_columns, make_event_columns
from jaxrate.history.history import History, format_time, system_with_extended_seasons
from jaxrate.metrics.calibration_slopes import OnlineSlope, calibrate_online
from jaxrate.metrics.prediction_metrics import observed_share_of_sides_beaten
from jaxrate.replay.checked_replay import check_contest_order_if_time_matters, depends_on_time, run
from jaxrate.replay.row_gather_and_scatter import describe_shapes
from jaxrate.systems import SYSTEMS
from jaxrate.systems.draw_probability_wrapper import calibrate
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction, unwrap_predictions, wrapper_names
from jaxrate.systems.rounds.performance_inference import PERFORMANCE_COLUMNS, Performances
from jaxrate.systems.system_construction_by_name import extend_system_seasons, has_sides, uses_side


def split_by_league(data: Dataset, league: Any) -> dict[Hashable, Dataset]:
    """The events of each league with its own players, in order of first appearance.

    Args:
      data: as from `read`.
      league: as in `jr.history.rate_leagues`.

    Raises:
      RowError: for a row of the source without a league, or a contest in several.
    """
    is_list = isinstance(league, (list, tuple))  # of tuples, perhaps
    labels = np.fromiter(league, object, len(league)) if is_list else np.asarray(league, object)
    if labels.ndim != 1 or len(labels) <= int(data.rows.max(initial=-1)):
        raise ValueError(f"league must have one value for each row of the source, got shape {labels.shape}")
    if len(missing_rows := np.flatnonzero(missing_mask(labels[data.rows], nan_is_missing=True))):
        raise RowError(int(data.rows[missing_rows[0]]), "there is no league")
    names, number_of_row = _number_labels_by_first_appearance(labels[data.rows].tolist())
    if not data.of_matches:
        size = np.diff(data.rounds.player_start)
        first_row = np.repeat(data.rounds.player_start[:-1], size)
        if len(mixed_rows := np.flatnonzero(number_of_row != number_of_row[first_row])):
            row = int(mixed_rows[0])
            first, second = names[number_of_row[first_row[row]]], names[number_of_row[row]]
            raise RowError(int(data.rows[row]), f"its contest is of the leagues {first} and {second}")
        number_of_row = number_of_row[data.rounds.player_start[:-1]]
    return {name: _select_events(data, number_of_row == number) for number, name in enumerate(names)}


def _number_labels_by_first_appearance(labels: list[Hashable]) -> tuple[list[Hashable], HostArray]:
    """Names in order of first appearance, and the number of the name of each label."""
    number = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    return [*number], np.array([number[label] for label in labels], int)


def _select_events(data: Dataset, keep: HostArray) -> Dataset:
    """The events to keep, by a mask [E], and their players."""
    rows = np.repeat(keep, np.diff(data.events.start))
    flat: Any = data.events.flat
    selected = jax.tree.map(lambda x: np.asarray(x)[keep if len(x) == len(keep) else rows], flat)
    is_present = np.zeros(len(data.players), bool)
    is_present[selected.player] = True
    selected = selected._replace(player=(np.cumsum(is_present, dtype=np.int32) - 1)[selected.player])
    start = None if isinstance(flat, Matches) else np.append(0, np.cumsum(np.diff(data.rounds.player_start)[keep]))
    return data._replace(
        events=selected if start is None else Ragged(selected, start, None),
        players=data.players[is_present],
        rows=data.rows[rows],
        contests=None if data.contests is None else data.contests[keep],
        fixtures=None,
    )


FADING_HYPERPARAMETERS = "reversion", "season_keep", "form_reversion"  # each None where nothing fades


class RecordedRun(NamedTuple):
    """What `run` leaves behind, and the ratings on the way."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # as in `Run`
    before: Rating  # leaves [n, 2] of both players of a match or pair, or [P] of participants, when the event begins
    after: Rating | None = None  # the same as the event left them; None unless asked for

    def __repr__(self) -> str:
        fields = {name: part for name, part in self._asdict().items() if part is not None}
        lines = (f"  {name:<11} {describe_shapes(part)}" for name, part in fields.items())
        return "\n".join(["RecordedRun", *lines])


@enforce_argument_annotations
def rating_history(
    system: RatingSystem, events: Matches | Ragged | Dataset, *, after: bool = False, **options: Any
) -> RecordedRun:
    """`run` with the same options, numbers and errors, recording the ratings before each event.

    With `after` also those that it left: a rating period those of its end, beside each of its matches. The numbers are
    then those of `run` to rounding, as a compiler that has more to keep may round in another order.

        history = jr.history.rating_history(jr.elo(), jr.matches([[0, 1], [1, 2]], [1, 0.5]), after=True)
        change = history.after.mean - history.before.mean  # [2, 2]
    """
    return rating_history_and_performances(system, events, after=after, **options)[0]


def do_leads_fade(system: RatingSystem) -> bool:
    """Whether means move while time passes, so that what an event left is not what the next one finds."""
    return any(getattr(system.params, name, None) is not None for name in FADING_HYPERPARAMETERS)


def rating_history_and_performances(
    system: RatingSystem,
    events: Matches | Ragged | Dataset,
    performance_function: Record | None = None,
    after: bool = False,
    **options: Any,
) -> tuple[RecordedRun, Any]:
    """The history, and what `performance_function` says of each event; None without it."""
    record = bind(record_prediction_and_ratings, system.summary, performance_function, after)
    state, (prediction, before, left, inferred) = run(system, events, record=record, **options)
    check_accelerator_predictions_finite(prediction)
    return RecordedRun(state, prediction, before, left), inferred


def record_prediction_and_ratings(
    summary: Any, performance_function: Record | None, with_ratings_after: bool, rated_event: RatedEvent
) -> tuple[Any, ...]:
    """The prediction, the ratings before, those after and the performances; None in place of what is not asked for."""
    before = _ratings_of_event_players(summary, rated_event.params, rated_event.before, rated_event.event)
    left = (
        _ratings_of_event_players(summary, rated_event.params, rated_event.after, rated_event.event)
        if with_ratings_after
        else None
    )
    return (
        rated_event.prediction,
        before,
        left,
        None if performance_function is None else performance_function(rated_event),
    )


def _ratings_of_event_players(summary: Any, params: Params, rows: State, event: Any) -> Rating:
    """The ratings of both players of a match or of each pair, or of participants."""
    rating = summary(params, rows)
    if isinstance(event, Periods):
        rating = jax.tree.map(lambda *x: jnp.stack(x, axis=-1), *split_sides(rating, event))
    return rating


def _performances_of_rated_event(rated_event: RatedEvent) -> Performances:
    inferred: Performances = rated_event.inferred
    return inferred


def performance_recording_function(system: RatingSystem) -> Record | None:
    """What records the `Performances` that a system infers of a round; None if it infers none."""
    return _performances_of_rated_event if isinstance(system.rules.update, InferringUpdate) else None


@enforce_argument_annotations
def performance_ratings(
    system: RatingSystem | History,
    contests: Annotated[Ragged | Dataset | None, CHECKED_BY_FUNCTION] = None,
    **options: Any,
) -> Performances:
    """The rating at which each participant performed in each contest, and the rank that would have kept their rating.

    The performance is inferred from the result before ratings are updated: the zero of the paper's Q
    (Ebtekar and Liu 2021, Theorem 3.3) in Elo-MMR and Elo-MMX, and what Codeforces and TopCoder call a performance;
    under a ceiling, if there is one. A member of a team has the performance that is expected of them, given that of
    the team. A rating rises if the performance lies above it, and falls if it lies below (of an asymmetric density of
    Elo-MMR only nearly so).

    The rank needed is the worst at which that performance would have been at least the rating before, had everybody
    else come in the order in which they did: 1 + the number of others, or of other teams, ahead. Nobody ties there.

        data = jr.data.from_teams([[["Ada"], ["Bo"], ["Cy"]], [["Bo"], ["Cy"], ["Ada"]]])
        jr.history.performance_ratings(jr.elo_mmr(), data)

    Args:
      system: `elo_mmr()`, `elo_mmx()`, `codeforces()` or `topcoder()`; or a history that one of them rated.
      contests: as of `run`; none with a rated history, which has its own.
      options: `params`, `state`, `num_players` and `schedule`, as of `run`.

    Returns:
      NumPy arrays [sum P], in the order of the rows: performances in rating points, NaN in contests that change
      nothing, as those of one participant; and ranks from 1, 0 in such contests and where even the first place would
      not have kept the rating, since the ceiling lies below it.

    Raises:
      ValueError: for a system that infers no performances, a history that was rated before they were kept, and as
        `run` does.
    """
    if isinstance(system, History):
        if contests is not None or options:
            raise ValueError("a rated history has contests of its own; give nothing else")
        performance, rank = (system.events.get(name, np.zeros(0)) for name in PERFORMANCE_COLUMNS)
        if (np.isnan(performance).all() and len(system.events["row"])) or "performance" not in system.events:
            _check_infers_performances(system.system)
            raise ValueError("this history was rated without performances; rate the contests again")
        return Performances(performance.astype(float), rank)
    _check_infers_performances(system)
    _, inferred = rating_history_with_performances(system, contests, **options)
    if inferred is None:
        raise ValueError("performances are of contests of many, as from jr.rounds, and these are matches")
    return inferred


def _check_infers_performances(system: RatingSystem) -> None:
    """ValueError for a system without performances."""
    if performance_recording_function(system) is None:
        names = [name for name, make in SYSTEMS.items() if performance_recording_function(make())]
        raise ValueError(f"{system.name} infers no performances; {', '.join(names)} do")


def rating_history_with_performances(
    system: RatingSystem, events: Any, **options: Any
) -> tuple[RecordedRun, Performances | None]:
    """The history, and its performances on the host, if these are contests and the system infers them."""
    event_data, _ = resolve_events_and_num_players(events)
    has_contests = isinstance(event_data, Ragged) and isinstance(event_data.events, Rounds)
    result, inferred = rating_history_and_performances(
        system, events, performance_recording_function(system) if has_contests else None, **options
    )
    if inferred is None:
        return result, None
    return result, mask_performances_of_contests_without_effect(system, jax.tree.map(np.asarray, inferred), event_data)


def mask_performances_of_contests_without_effect(
    system: RatingSystem, inferred: Performances, rounds: Ragged
) -> Performances:
    """The performances that a system inferred, NaN in contests that changed nothing."""
    if not len(inferred.performance):
        return inferred
    flat: Any = rounds.events
    start, performance = rounds.player_start, inferred.performance
    is_contested_row = (flat.rank if system.settings.get("skip_ties") else flat.team) > 0  # as `field.contested`
    contested = np.repeat(np.logical_or.reduceat(is_contested_row, start[:-1]), np.diff(start))
    performance = np.where(contested, performance, np.array(np.nan, performance.dtype))
    return Performances(performance, np.where(contested, inferred.rank_needed, np.int32(0)))


MAX_COMPARED_ROWS = 100_000  # last rows of a history, in which repeated matches are sought


def reading_options_of_history(onto: History | None) -> dict[str, Any]:
    """Options of `read` for a table that carries on a history."""
    if onto is None:
        return {}
    category_options = {"categories": onto.categories, "seasons": onto.seasons}
    columns = {} if "format" in onto.options.get("columns", {}) else onto.options.get("columns", {})
    dates = {} if onto.options.get("dates") is None else {"dates": onto.options["dates"]}
    return (
        dates | columns | {"players": onto.players} | {name: x for name, x in category_options.items() if x is not None}
    )


def check_data_can_continue_history(system: RatingSystem, data: Dataset, period: float | None, onto: History) -> None:
    """ValueError unless the events can follow a rated history by this system, in periods of this length."""
    if onto.seasons and data.seasons and not onto.seasons.items() <= data.seasons.items():
        raise ValueError("the seasons differ from the saved run's; read the matches with seasons=...")
    continued_system = system_with_extended_seasons(onto, system.settings.get("seasons") or ())
    if (system.rules, system.params) != (continued_system.rules, continued_system.params):
        raise ValueError(
            f"the saved run is of {onto.system.name} with its own parameters; carry on with those, "
            f"as jr.rate(saved.system, data, onto=saved) does, or rate all matches again by {system.name}"
        )
    if period != onto.period:
        previous_form = "match by match" if onto.period is None else f"in periods of {onto.period:g}"
        raise ValueError(f"the saved run was rated {previous_form}; carry on the same way")
    _check_names_and_clock_continue(data, onto)
    if onto.last is not None and data.clock is not None and len(data.rows):
        _check_events_are_later(system, data, period, onto)


def _check_names_and_clock_continue(data: Dataset, onto: History) -> None:
    """ValueError unless players and categories have their ids, and events and times are of the kind of the history."""
    if not np.array_equal(data.players[: len(onto.players)], onto.players):
        raise ValueError(
            "the players have other ids than in the saved run; read the events with players=saved.players, of the run "
            "that is given as onto"
        )
    if onto.categories is not None and not (
        data.categories is not None and data.categories.tolist() == onto.categories.tolist()
    ):
        raise ValueError("the categories differ from the saved run's; read the matches with categories=...")
    nouns = data.events.nouns
    if nouns != onto.nouns:
        raise ValueError(f"the saved run is of {onto.nouns}, these are {nouns}")
    if data.clock != onto.clock and (data.of_matches or (data.clock and onto.clock)):
        clocks = {None: "no times", "dates": "dates", "numbers": "numbers for times"}
        raise ValueError(f"the saved run has {clocks[onto.clock]}, the new {nouns} have {clocks[data.clock]}")


def _check_events_are_later(system: RatingSystem, data: Dataset, period: float | None, onto: History) -> None:
    """ValueError if the events begin before the end of the history, or within its last rating period."""
    time, last = data.events.flat.time, onto.last
    assert last is not None
    event, end = "match" if data.of_matches else "contest", format_time(last, onto.clock)
    first = f"row {data.rows[0]} (counting from 0): time {format_time(time[0], onto.clock)}"
    if time[0] < last and (data.of_matches or depends_on_time(system, system.params)):
        raise ValueError(
            f"{first} is earlier than the last {event} of the saved run, {end}; leave out "
            f"what is rated already, which is all before that"
        )
    if period is not None and period_number(time[0], period) == period_number(last, period):
        raise ValueError(
            f"{first} is in the same rating period as the last match of the saved run, {end}; a period is "
            "rated as a whole, so carry on only where one has ended"
        )


def warn_doubtful_continuation(system: RatingSystem, data: Dataset, onto: History, stacklevel: int) -> None:
    """UserWarning if new matches lack the side that the system counts, or are as the last ones of the history."""
    if not data.of_matches:
        return
    if uses_side(system) and not has_sides(data):
        text = f"{system.name} counts the side, and the new matches do not say who has it, so nobody does; name "
        warnings.warn(f"{text}its column, as side='home'", UserWarning, stacklevel=stacklevel)
    if onto.last is None or data.clock is None:
        return
    at_end = np.flatnonzero(np.asarray(data.matches.time) == onto.last)
    if not len(at_end):
        return
    last, total = format_time(onto.last, onto.clock), f"{len(data.rows):,} new matches"
    if not len(onto.events["row"]):
        text = f"{len(at_end):,} of {total} are at the end of the history, {last}, whose matches are in other files: "
        warnings.warn(f"{text}they count as further matches", UserWarning, stacklevel=stacklevel)
    elif (repeated := _is_repeated(data, at_end, onto)).any():
        text = f"{np.count_nonzero(repeated):,} of {total} repeat matches that the history has at its end, {last}: "
        text += f"{describe_example_rows(data.rows[at_end[repeated]])}; they count again, so remove them if they were "
        warnings.warn(f"{text}played once", UserWarning, stacklevel=stacklevel)


def _is_repeated(data: Dataset, indices: HostArray, onto: History) -> HostArray:
    """[indices] whether the history has a match of the same players with the same score at its last time."""
    events = onto.events
    latest = slice(max(len(events["row"]) - MAX_COMPARED_ROWS, 0), None)
    at_end = events["time"][latest] == events["time"][-1]
    known = {*zip(*events["player"][latest][at_end].T.tolist(), events["score"][latest][at_end].tolist(), strict=True)}
    a, b = data.matches.player[indices].T.tolist()
    score = np.asarray(data.matches.score)[indices].tolist()
    return np.array([match in known for match in zip(a, b, score, strict=True)])


OPTION = "calibration"  # of a history, with the fields of its `OnlineSlope`


def has_default_hyperparameters(system: RatingSystem) -> bool:
    """Whether the hyperparameters that a fit may move are those of its factory."""
    if system.factory is None or wrapper_names(system):
        return False
    try:
        default = system.factory(**system.settings).params._asdict()
    except ValueError:  # the settings need hyperparameters of their own, as a coarse grid a wide kernel
        return False
    fitted = (name for name, about in system.space._asdict().items() if about.fitted)
    return all(getattr(system.params, name) == default[name] for name in fitted)


def initial_slope(system: RatingSystem, calibrated: bool | None) -> OnlineSlope | None:
    """What is known of the slope before the first event; None if predictions are not calibrated.

    `calibrated` None: if hyperparameters are the default. Predictions of goals and those in full are never calibrated,
    since all of their numbers belong together, and nor are those of systems without a space of hyperparameters.
    """
    if system.space is None or wrapper_names(system) or getattr(system.params, "goal_rate", None) is not None:
        return None
    is_calibrated = has_default_hyperparameters(system) if calibrated is None else calibrated
    return OnlineSlope() if is_calibrated else None


def slope_of_history(rated: History) -> OnlineSlope | None:
    """What is known of the slope at the end of a history; None if its predictions are not calibrated online."""
    known = rated.options.get(OPTION)
    return None if known is None or wrapper_names(rated.system) != ("calibrated",) else OnlineSlope(**known)


def calibrated_as_history(system: RatingSystem, onto: History) -> RatingSystem:
    """The system, calibrated as that of the history is, if it is given as it was before."""
    if slope_of_history(onto) is None or wrapper_names(system):
        return system
    return set_slope(system, onto.system.params.calibration_slope)


def set_slope(system: RatingSystem, slope: float) -> RatingSystem:
    """The calibrated system with this slope, to six digits."""
    slope = float(f"{slope:.6g}")
    if wrapper_names(system):
        return system._replace(params=system.params._replace(calibration_slope=slope))
    return calibrate(system, calibration_slope=slope)


def calibrate_events(
    prediction: Any, data: Dataset, period: float | None, last: float | None, slope: OnlineSlope
) -> tuple[HostArray, OnlineSlope]:
    """The calibrated expected scores [n] or shares [sum P], and what is known of the slope after the events.

    Events of one time, or of one rating period, are calibrated by the slope before it; without times each event is
    after the one before it. `last` is the time of the event before them.
    """
    events: Any = data.events.flat
    begins_time = np.ones(len(events.time), bool)
    if data.clock is not None and len(begins_time):
        time = np.append(np.nan if last is None else last, events.time)
        begins_time = np.diff(time if period is None else period_number(time, period)) != 0.0
    if data.of_matches:
        expected = np.asarray(expected_score_from_prediction(prediction))
        return calibrate_online(expected, np.asarray(events.score), events.context.weight, begins_time, slope)
    start, rows = data.rounds.player_start, np.zeros(len(data.rows), bool)
    rows[start[:-1]] = begins_time
    beaten = observed_share_of_sides_beaten(data.rounds)
    team = np.repeat(start[:-1], np.diff(start)) + events.team  # numbered by the rows
    weight = np.where(np.isnan(beaten), 0.0, 0.5 / np.bincount(team, minlength=1)[team])
    return calibrate_online(np.asarray(prediction), np.nan_to_num(beaten), weight, rows, slope, start)


def calibrated_by_end(system: RatingSystem, slope: OnlineSlope | None) -> tuple[RatingSystem, dict[str, Any]]:
    """The system with the slope that is known at the end, and the options of its history. Without a slope as it is."""
    if slope is None:
        return system, {}
    return set_slope(system, slope.learn().slope), {OPTION: slope._asdict()}


def describe_calibration(system: RatingSystem, options: Mapping[str, Any]) -> str:
    """What was done to the predictions, by the system and options of a history, as a sentence; "" if nothing was."""
    if OPTION not in options:
        has_goals = getattr(system.params, "goal_rate", None) is not None and not wrapper_names(system)
        return "Chances are those of goals, and are not calibrated." if has_goals else ""
    slope = OnlineSlope(**options[OPTION]).learn().slope
    return (
        f"Chances are calibrated: a slope learnt from the events before each multiplies their log-odds, {slope:.2f} "
        "at the end."
    )


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
    if period is not None:  # histories of earlier versions may have another than their system
        system = set_default_period(system, period if onto is None else getattr(onto.system.params, "period", None))
    data = as_dataset("rate", data, **reading_options_of_history(onto))
    _check_names_storable(system, data)
    state, last, num_before, slope = None, None, 0, initial_slope(system, calibrate)
    if onto is None:
        _log_unfitting_side_advantage(system, data)
    else:
        state, last, num_before, slope = onto.state, onto.last, onto.num_rows, slope_of_history(onto)
        system = extend_system_seasons(calibrated_as_history(system, onto), (data.seasons or {}).values())
        check_data_can_continue_history(system, data, period, onto)
        warn_doubtful_continuation(system, data, onto, stacklevel=4)
    events = data.events if period is None else _group_by_period(data, period, onto)
    check_contests_in_time_order(system, data)
    with add_location_to_data_errors("", lambda row: f"row {data.rows[row]} (counting from 0)"):
        system.check(data.events)
    if random_draw_rule(system.rules) is not None and key is None:
        key = jax.random.fold_in(jax.random.key(0), num_before)
    run_system, n = system if slope is None else unwrap_predictions(system), len(data.players)
    result, performances = rating_history_with_performances(
        run_system, events, after=do_leads_fade(system), state=state, key=key, num_players=n
    )
    if slope is not None:
        prediction, slope = calibrate_events(result.prediction, data, period, last, slope)
        result = result._replace(prediction=prediction)
    system, options = calibrated_by_end(system, slope)
    history = build_history(system, data, period, onto, result, performances)
    return history._replace(options=history.options | options)


def _group_by_period(data: Dataset, period: float, onto: History | None) -> Ragged:
    """The matches in rating periods, which go on from a history in the length of its own."""
    if data.clock is None:
        raise ValueError("rating periods need times; name the column of time")
    events = periods(data.matches, period)
    return events if onto is None else events._replace(length=None)


def _log_unfitting_side_advantage(system: RatingSystem, data: Dataset) -> None:
    """Log a side advantage that does not fit the data."""
    if data.of_matches and has_sides(data) != uses_side(system):
        log_side_mismatch(system, has_sides(data))


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
    time: Any = data.events.flat.time
    games = count_games(data.events, len(data.players))
    before = 0 if onto is None else onto.contests or 0
    events = make_event_columns(data, result.prediction, recorded_columns(result, performances), before)
    last, clock = float(time[-1]) if data.clock and len(time) else None, data.clock
    options = {name: x for name, x in {"dates": data.dates, "source": data.source}.items() if x is not None}
    if onto is not None:
        games[: len(onto.games)] += onto.games
        events = concatenate_event_columns(onto.events, events)
        last, clock, options = onto.last if last is None else last, clock or onto.clock, onto.options | options
    knows_seasons = data.seasons and tuple(data.seasons.values()) == system.settings.get("seasons")
    seasons, categories = data.seasons if knows_seasons else None, _category_names(system, data)
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
      key, calibrate: as in `rate`; every league gets the same.
      executor: whose workers each rate a league, see `compare`; the numbers are the same.

    Returns:
      The `History` of each league, in order of first appearance.

    Raises:
      ValueError: as `rate`; for a row without a league, or a contest in several.
    """
    check_dataset("rate_leagues", data)
    with add_location_to_data_errors("", lambda row: f"row {row} (counting from 0)"):
        leagues = split_by_league(data, league)
    rate_one = partial(_rate_league, system, period, key, calibrate)
    return dict(zip(leagues, map_items(executor, rate_one, leagues.values()), strict=True))


def _rate_league(
    system: RatingSystem, period: float | None, key: Array | None, calibrate: bool | None, data: Dataset
) -> History:
    return rate(system, data, period=period, key=key, calibrate=calibrate)
