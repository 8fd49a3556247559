"""Every player's rating through a history."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.backend_dependent_operations import check_accelerator_predictions_finite
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.rules import Params, RatedEvent, Rating, Record, State
from jaxrate.core.system import RatingSystem, check_system, split_sides
from jaxrate.events import Matches, Periods, Ragged
from jaxrate.events.dataset import Dataset
from jaxrate.replay.checked_replay import run
from jaxrate.replay.row_gather_and_scatter import describe_shapes

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
    check_system(system)
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
