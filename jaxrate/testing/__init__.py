"""The contract of rating systems: what each must keep, to test one's own.

from jaxrate import testing
testing.check(my_system())
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jaxrate.events import Matches
from jaxrate.system import RatingSystem
from jaxrate.testing import matches, programs, pure, replays, rounds, slopes, values
from jaxrate.testing.cases import FORMS, Case

OF_VALUES: tuple[Callable[[RatingSystem], None], ...] = (
    values.parameters_are_described,
    values.it_is_a_plain_value,
    values.its_repr_is_one_line,
    values.rows_are_of_players,
    values.events_of_another_kind_are_refused,
)


class Property(NamedTuple):
    """What the replays of a system must keep."""

    holds: Callable[[Case], None]  # AssertionError if it does not
    forms: tuple[str, ...] = tuple(FORMS)  # in which it is tested
    double: tuple[bool, ...] = (True,)  # the precisions in which it is
    random: bool = True  # also of systems that draw random numbers


OF_REPLAYS = (
    Property(replays.states_are_finite_and_predictions_are_probabilities, double=(True, False)),
    Property(replays.single_precision_agrees_with_double, double=(False,), random=False),
    Property(replays.untouched_rows_are_inert),
    Property(replays.predictions_know_neither_their_result_nor_the_future),
    Property(replays.a_better_result_gives_a_better_rating, random=False),
    Property(replays.the_order_of_players_in_an_event_does_not_matter, random=False),
    Property(replays.renaming_the_players_renames_the_rows),
    Property(programs.no_state_sized_copy_inside_the_loop, double=(False,)),
    Property(programs.another_length_compiles_nothing),
    Property(pure.chunks_of_several_histories_in_one_batch_equal_runs),
    Property(pure.slopes_equal_finite_differences, random=False),  # the slopes are those of the mean
    Property(slopes.slopes_are_finite, double=(False,)),
    Property(matches.streams_equal_levels, ("stream",)),
    Property(matches.a_column_that_nobody_reads_changes_nothing, ("levels", "periods")),
    Property(matches.a_period_of_one_match_is_that_match, ("periods",)),
    Property(matches.win_draw_and_loss_agree_with_the_expected_score, ("levels", "periods")),
    Property(rounds.contests_one_by_one_equal_batches, ("rounds",)),
    Property(rounds.times_must_not_decrease_where_the_clock_matters, ("rounds",)),
    Property(rounds.a_contest_of_one_changes_nothing, ("rounds",)),
    Property(rounds.rounds_are_predicted_as_in_a_run, ("rounds",)),
    Property(rounds.ratings_have_any_unit_and_zero, ("rounds",), double=(True, False)),
)


def claims(system: RatingSystem) -> Iterator[tuple[Property, Case]]:
    """Every property that the system's forms allow, with what it is tested on."""
    for form, kind in FORMS.items():
        for double in (True, False):
            for one in OF_REPLAYS:
                fits = kind in system.events and form in one.forms and double in one.double
                drawn = system.rules.draw is not None
                both = one.holds is not matches.a_period_of_one_match_is_that_match or Matches in system.events
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
    made: Any = system if isinstance(system, RatingSystem) else system()
    if not any(kind in made.events for kind in FORMS.values()):
        raise AssertionError(f"{made.name} has no form to test: its events are {made.events}")
    for holds in OF_VALUES:
        _hold(holds, made, made.name)
    for one, case in claims(made):
        _hold(one.holds, case, str(case))


def _hold(holds: Callable[[Any], None], what: Any, shown: str) -> None:
    """Call a property; whatever is raised becomes an AssertionError that names it."""
    try:
        holds(what)
    except Exception as error:
        name, how = holds.__name__.replace("_", " "), str(error).strip()
        how = how if isinstance(error, AssertionError) else f"{type(error).__name__}: {how}"
        raise AssertionError(f"{shown}: {name}: {how}") from error
