"""The contract of rating systems: what each must keep, to test one's own.

from jaxrate import testing
testing.check(my_system())
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jaxrate.events import Matches
from jaxrate.system import RatingSystem
from jaxrate.testing import (
    compilation_properties,
    gradient_properties,
    match_properties,
    pure_replay_properties,
    replay_properties,
    round_properties,
    system_properties,
)
from jaxrate.testing.case_assertions import FORMS, Case

SYSTEM_PROPERTIES: tuple[Callable[[RatingSystem], None], ...] = (
    system_properties.parameters_are_described,
    system_properties.system_is_a_hashable_value,
    system_properties.system_repr_is_one_line,
    system_properties.state_leaves_have_a_row_per_player,
    system_properties.unsupported_events_are_refused,
)


class Property(NamedTuple):
    """What the replays of a system must keep."""

    holds: Callable[[Case], None]  # AssertionError if it does not
    forms: tuple[str, ...] = tuple(FORMS)  # in which it is tested
    double: tuple[bool, ...] = (True,)  # the precisions in which it is
    random: bool = True  # also of systems that draw random numbers


REPLAY_PROPERTIES = (
    Property(replay_properties.states_are_finite_and_predictions_are_probabilities, double=(True, False)),
    Property(replay_properties.single_precision_agrees_with_double, double=(False,), random=False),
    Property(replay_properties.untouched_rows_are_inert),
    Property(replay_properties.predictions_know_neither_their_result_nor_the_future),
    Property(replay_properties.a_better_result_gives_a_better_rating, random=False),
    Property(replay_properties.the_order_of_players_in_an_event_does_not_matter, random=False),
    Property(replay_properties.renaming_the_players_renames_the_rows),
    Property(compilation_properties.no_state_sized_copy_inside_the_loop, double=(False,)),
    Property(compilation_properties.another_length_compiles_nothing),
    Property(pure_replay_properties.chunks_of_several_histories_in_one_batch_equal_runs),
    Property(pure_replay_properties.slopes_equal_finite_differences, random=False),  # the slopes are those of the mean
    Property(gradient_properties.slopes_are_finite, double=(False,)),
    Property(match_properties.streams_equal_levels, ("stream",)),
    Property(match_properties.a_column_that_nobody_reads_changes_nothing, ("levels", "periods")),
    Property(match_properties.a_period_of_one_match_is_that_match, ("periods",)),
    Property(match_properties.win_draw_and_loss_agree_with_the_expected_score, ("levels", "periods")),
    Property(round_properties.contests_one_by_one_equal_batches, ("rounds",)),
    Property(round_properties.times_must_not_decrease_where_the_clock_matters, ("rounds",)),
    Property(round_properties.a_contest_of_one_changes_nothing, ("rounds",)),
    Property(round_properties.rounds_are_predicted_as_in_a_run, ("rounds",)),
    Property(round_properties.ratings_have_any_unit_and_zero, ("rounds",), double=(True, False)),
)


def contract_cases(system: RatingSystem) -> Iterator[tuple[Property, Case]]:
    """Every property that the system's forms allow, with what it is tested on."""
    for form, kind in FORMS.items():
        for double in (True, False):
            for one in REPLAY_PROPERTIES:
                fits = kind in system.events and form in one.forms and double in one.double
                drawn = system.rules.draw is not None
                both = one.holds is not match_properties.a_period_of_one_match_is_that_match or Matches in system.events
                if fits and both and (one.random or not drawn):
                    yield one, Case(system, form, double)


def check(system: RatingSystem | Callable[[], RatingSystem]) -> None:
    """Test a system against the contract, in every form in which it rates: matches, periods, rounds.

    Histories are drawn for it, and replayed in both precisions, with strict promotion of types and ranks. Whether its
    formulas are the right ones this cannot know. Compiling takes most of the time: a minute, or several.

    Args:
      system: or a factory that makes it without arguments.

    Raises:
      AssertionError: if a property does not hold; says which, in which form, and how. Also if the system rates nothing
        that could be tested.
    """
    tested_system: Any = system if isinstance(system, RatingSystem) else system()
    if not any(kind in tested_system.events for kind in FORMS.values()):
        raise AssertionError(f"{tested_system.name} has no form to test: its events are {tested_system.events}")
    for holds in SYSTEM_PROPERTIES:
        _check_property(holds, tested_system, tested_system.name)
    for one, case in contract_cases(tested_system):
        _check_property(one.holds, case, str(case))


def _check_property(holds: Callable[[Any], None], subject: Any, label: str) -> None:
    """Call a property; whatever is raised becomes an AssertionError that names it."""
    try:
        holds(subject)
    except Exception as error:
        name, how = holds.__name__.replace("_", " "), str(error).strip()
        how = how if isinstance(error, AssertionError) else f"{type(error).__name__}: {how}"
        raise AssertionError(f"{label}: {name}: {how}") from error
