"""The contract of rating systems: properties that every system must have, to test your own.

properties.py  what every system must satisfy, claim by claim
cases.py       systems in all forms and precisions, and the histories that they rate

    from jaxrate import testing
    testing.check(my_system())
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jaxrate.core.system import RatingSystem
from jaxrate.testing import properties
from jaxrate.testing.cases import FORMS, SystemFormPrecision

__all__ = ["check"]

SYSTEM_PROPERTIES: tuple[Callable[[RatingSystem], None], ...] = (
    properties.parameters_are_described,
    properties.system_is_a_hashable_value,
    properties.system_repr_is_one_line,
    properties.state_leaves_have_a_row_per_player,
    properties.unsupported_events_are_refused,
)


class ReplayProperty(NamedTuple):
    """A property that replays of a system must have."""

    assert_holds: Callable[[SystemFormPrecision], None]  # AssertionError unless it holds
    forms: tuple[str, ...] = tuple(FORMS)  # forms in which it is tested
    precisions: tuple[bool, ...] = (True,)  # precisions in which it is tested: float64 is True
    allows_random: bool = True  # whether it holds for systems that draw random numbers


REPLAY_PROPERTIES = (
    ReplayProperty(properties.states_are_finite_and_predictions_are_probabilities, precisions=(True, False)),
    ReplayProperty(properties.single_precision_agrees_with_double, precisions=(False,), allows_random=False),
    ReplayProperty(properties.untouched_rows_are_inert),
    ReplayProperty(properties.predictions_know_neither_their_result_nor_the_future),
    ReplayProperty(properties.a_better_result_gives_a_better_rating, allows_random=False),
    ReplayProperty(properties.the_order_of_players_in_an_event_does_not_matter, allows_random=False),
    ReplayProperty(properties.renaming_the_players_renames_the_rows),
    ReplayProperty(properties.no_state_sized_copy_inside_the_loop, precisions=(False,)),
    ReplayProperty(properties.another_length_compiles_nothing),
    ReplayProperty(properties.chunks_of_several_histories_in_one_batch_equal_runs),
    ReplayProperty(properties.slopes_equal_finite_differences, allows_random=False),  # slopes are of the mean
    ReplayProperty(properties.slopes_are_finite, precisions=(False,)),
    ReplayProperty(properties.stream_form_equals_levels_form, ("stream",)),
    ReplayProperty(properties.a_column_that_nobody_reads_changes_nothing, ("levels", "periods")),
    ReplayProperty(properties.a_period_of_one_match_is_that_match, ("periods",)),
    ReplayProperty(properties.every_game_of_a_period_counts, ("periods",), allows_random=False),
    ReplayProperty(properties.win_draw_and_loss_agree_with_the_expected_score, ("levels", "periods")),
    ReplayProperty(properties.contests_one_by_one_equal_batches, ("rounds",)),
    ReplayProperty(properties.times_must_not_decrease_where_the_clock_matters, ("rounds",)),
    ReplayProperty(properties.a_contest_of_one_changes_nothing, ("rounds",)),
    ReplayProperty(properties.rounds_are_predicted_as_in_a_run, ("rounds",)),
    ReplayProperty(properties.ratings_have_any_unit_and_zero, ("rounds",), precisions=(True, False)),
)


def contract_cases(system: RatingSystem) -> Iterator[tuple[ReplayProperty, SystemFormPrecision]]:
    """Every property that applies to the system, with the cases on which it is tested."""
    for form, kind in FORMS.items():
        for double in (True, False):
            for tested_property in REPLAY_PROPERTIES:
                is_of_kind = kind in system.events and form in tested_property.forms
                allows_draws = tested_property.allows_random or system.rules.draw is None
                if is_of_kind and double in tested_property.precisions and allows_draws:
                    yield tested_property, SystemFormPrecision(system, form, double)


def check(system: RatingSystem | Callable[[], RatingSystem]) -> None:
    """Test a system against the contract, with all events that it rates: matches, periods, rounds.

    Histories are simulated and replayed in both precisions, with strict promotion of types and ranks. This does not
    test whether the formulas are right. Compiling takes most of the time: a minute or more.

    Args:
      system: a system, or a factory that makes it without arguments.

    Raises:
      AssertionError: if a property does not hold (says which, for which events, and how), or if the system rates no
        events that can be tested.
    """
    tested_system: Any = system if isinstance(system, RatingSystem) else system()
    if not any(kind in tested_system.events for kind in FORMS.values()):
        raise AssertionError(f"{tested_system.name} has no events to test: its events are {tested_system.events}")
    for assert_holds in SYSTEM_PROPERTIES:
        _assert_property(assert_holds, tested_system, tested_system.name)
    for tested_property, case in contract_cases(tested_system):
        _assert_property(tested_property.assert_holds, case, str(case))


def _assert_property(assert_holds: Callable[[Any], None], subject: Any, label: str) -> None:
    """Test a property; any exception becomes an AssertionError that names it."""
    try:
        assert_holds(subject)
    except Exception as error:
        name, message = assert_holds.__name__.replace("_", " "), str(error).strip()
        message = message if isinstance(error, AssertionError) else f"{type(error).__name__}: {message}"
        raise AssertionError(f"{label}: {name}: {message}") from error


def __dir__() -> list[str]:
    return __all__
