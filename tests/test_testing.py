"""`jaxrate.testing`: what it says of systems that break the contract, and of those that it cannot test."""

import jax
import jax.numpy as jnp
import pytest

import jaxrate as jr
from jaxrate import testing
from jaxrate.core.rules import RandomUpdate
from jaxrate.systems.elo import State
from jaxrate.testing import properties as batch_chunk_and_slope_properties
from jaxrate.testing import properties as compilation_properties
from jaxrate.testing import properties as gradient_properties
from jaxrate.testing import properties as match_properties
from jaxrate.testing import properties as replay_properties
from jaxrate.testing.cases import (
    SystemFormPrecision,
    column_names_read_by_rules,
    column_names_read_only_to_update,
    two_season_events,
)

ELO = jr.elo(side_advantage=20.0)
RULES = ELO.rules


def with_rules(**changes):
    return ELO._replace(rules=RULES._replace(**changes), make=None)


def knows(constants, rows, event):
    return 0.9 * RULES.predict(constants, rows, event) + 0.1 * event.score


def beyond(constants, rows, event):
    return 2.0 * RULES.predict(constants, rows, event)


def knows_ids(constants, rows, event, key):
    rows = RULES.update(constants, rows, event, key)
    return rows._replace(rating=jnp.where(event.player == 3, rows.rating + 0.1, rows.rating))


def first_twice(constants, rows, event, key):
    rows = RULES.update(constants, rows, event, key)
    return rows._replace(rating=rows.rating + jnp.array([1.0, 0.0]))


def the_wrong_way(constants, rows, event, key):
    return jax.tree.map(lambda old, new: 2.0 * old - new, rows, RULES.update(constants, rows, event, key))


@jax.custom_batching.custom_vmap
def shifted(x):
    return x


@shifted.def_vmap
def _(axis_size, in_batched, x):
    return x + 1.0, in_batched[0]


def otherwise_in_batches(constants, rows, event, key):
    return rows._replace(rating=shifted(RULES.update(constants, rows, event, key).rating))


def without_slope_in_scores(constants, rows, event, key):
    return RULES.update(constants, rows, event._replace(score=jax.lax.stop_gradient(event.score)), key)


def for_each_length(events):
    jnp.max(jnp.asarray(events.score))


def without_slope(params):
    return RULES.prepare(jax.lax.stop_gradient(params))


def with_steep_slope(params):
    return RULES.prepare(params._replace(k=params.k + jnp.sqrt(params.k - params.k)))


def on_the_host(params):
    return RULES.prepare(params._replace(k=float(params.k)))


def by_position(params, num_players):
    return State(1500.0 + jnp.arange(num_players, dtype=float), None)


def without_rows(params, num_players):
    return State(params.initial_rating, None)


def by_number(params, num_players):
    return State(jnp.full(num_players, 1500.0 + num_players, float), None)


@pytest.mark.parametrize(
    ("broken", "holds", "message"),
    [
        (
            with_rules(predict=knows),
            replay_properties.predictions_know_neither_their_result_nor_the_future,
            "predictions up to",
        ),
        (
            with_rules(predict=beyond),
            replay_properties.states_are_finite_and_predictions_are_probabilities,
            "between 0 and 1",
        ),
        (with_rules(update=knows_ids), replay_properties.renaming_the_players_renames_the_rows, "the state"),
        (
            with_rules(update=first_twice),
            replay_properties.the_order_of_players_in_an_event_does_not_matter,
            "the state",
        ),
        (with_rules(update=the_wrong_way), replay_properties.a_better_result_gives_a_better_rating, "rated higher"),
        (
            with_rules(update=RandomUpdate(otherwise_in_batches, jax.random.uniform)),
            batch_chunk_and_slope_properties.chunks_of_several_histories_in_one_batch_equal_runs,
            "the state",
        ),
        (
            with_rules(update=without_slope_in_scores),
            batch_chunk_and_slope_properties.slopes_equal_finite_differences,
            "the columns score, time",
        ),
        (
            ELO._replace(check=for_each_length, make=None),
            compilation_properties.another_length_compiles_nothing,
            "took . compilations",
        ),
        (
            with_rules(prepare=without_slope),
            batch_chunk_and_slope_properties.slopes_equal_finite_differences,
            "the slope in k",
        ),
        (with_rules(prepare=with_steep_slope), gradient_properties.slopes_are_finite, "slopes are not finite"),
        (
            ELO._replace(init=by_position, make=None),
            replay_properties.renaming_the_players_renames_the_rows,
            "the state",
        ),
        (
            ELO._replace(init=by_number, make=None),
            replay_properties.untouched_rows_are_inert,
            "the rows of players who",
        ),
    ],
)
def test_what_is_broken_is_found(broken, holds, message):
    with pytest.raises(AssertionError, match=message):
        holds(SystemFormPrecision(broken, "stream", True))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (with_rules(advance=lambda constants, rows, time: rows), "elo: system is a hashable value: .*pickle"),
        (ELO._replace(space=jr.glicko().space), "elo: parameters are described: params has the fields"),
        (ELO._replace(space=ELO.space._replace(k=ELO.space.k._replace(unit=""))), "k lacks its range, unit or meaning"),
        (ELO._replace(name="two\nlines", make=None), "system repr is one line"),
        (ELO._replace(init=without_rows, make=None), "elo: state leaves have a row per player: .* leaves"),
        (ELO._replace(events=(), make=None), "elo has no events to test: its events are"),
        (
            with_rules(predict=beyond),
            "^elo, stream, float64: states are finite .*: a prediction is not between 0 and 1",
        ),
        (with_rules(prepare=on_the_host), "^elo, stream, float64: states are finite .*: ConcretizationTypeError: "),
    ],
)
def test_check_says_which_property_failed_and_how(broken, message):
    with pytest.raises(AssertionError, match=message):
        testing.check(broken)


def test_check_takes_factories():
    with pytest.raises(AssertionError, match="^elo has no events to test"):
        testing.check(lambda: ELO._replace(events=()))


def test_every_form_is_tested_in_both_precisions():
    forms = {(case.form, case.double) for _, case in testing.contract_cases(jr.trueskill())}
    assert forms == {(form, double) for form in ("stream", "levels", "rounds") for double in (False, True)}
    assert {case.form for _, case in testing.contract_cases(jr.category_glicko())} == {"periods"}
    assert {case.form for _, case in testing.contract_cases(jr.codeforces())} == {"stream", "levels", "rounds"}
    drawn = {one.assert_holds for one, _ in testing.contract_cases(jr.urnings())}
    assert (
        replay_properties.untouched_rows_are_inert in drawn
        and batch_chunk_and_slope_properties.slopes_equal_finite_differences not in drawn
    )


def by_margin(constants, rows, event, key):
    match = event._replace(score=jnp.tanh(event.context.columns["margin"]))
    return RULES.update(constants, rows, match, key)


def against_margin(constants, rows, event, key):
    columns = event.context.columns | {"margin": -event.context.columns["margin"]}
    return by_margin(constants, rows, event._replace(context=event.context._replace(columns=columns)), key)


@pytest.mark.parametrize("form", ["levels", "periods"])
def test_a_system_gets_the_columns_that_it_reads(form):
    system = with_rules(update=by_margin)
    assert column_names_read_by_rules(system, form) == ("margin",) and column_names_read_by_rules(ELO, form) == ()
    case = SystemFormPrecision(system, form, True)
    assert list(two_season_events(case).context.columns) == ["margin"]
    replay_properties.states_are_finite_and_predictions_are_probabilities(case)
    match_properties.a_column_that_nobody_reads_changes_nothing(case)


@pytest.mark.parametrize("form", ["levels", "periods"])
def test_a_system_may_learn_from_margins_alone(form):
    """Whatever the score says; a system that learns against them is found."""
    case = SystemFormPrecision(with_rules(update=by_margin), form, True)
    assert column_names_read_only_to_update(case.system, form) == ("margin",)
    replay_properties.predictions_know_neither_their_result_nor_the_future(case)
    replay_properties.a_better_result_gives_a_better_rating(case)
    with pytest.raises(AssertionError, match="is not rated higher than after a loss"):
        replay_properties.a_better_result_gives_a_better_rating(case._replace(system=with_rules(update=against_margin)))


def test_columns_that_predict_are_no_evidence():
    system = jr.skills(outcome="margin", margin="margin", covariates="rest")
    assert set(column_names_read_by_rules(system, "levels")) == {"margin", "rest"}
    assert column_names_read_only_to_update(system, "levels") == ("margin",)


def test_weights_are_left_out_where_they_are_refused():
    assert two_season_events(SystemFormPrecision(jr.urnings(outcomes=3), "levels", True)).context.weight is None
    assert 0.5 in two_season_events(SystemFormPrecision(jr.urnings(outcomes=3), "levels", True)).score


def test_draws_are_left_out_where_they_are_refused():
    case = SystemFormPrecision(jr.urnings(), "levels", True)
    assert 0.5 not in two_season_events(case).score
    replay_properties.states_are_finite_and_predictions_are_probabilities(case)
    match_properties.win_draw_and_loss_agree_with_the_expected_score(case)


def test_plain_systems_have_weights():
    assert two_season_events(SystemFormPrecision(ELO, "levels", True)).context.weight is not None
