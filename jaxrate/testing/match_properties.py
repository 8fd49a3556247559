"""Properties of replays of matches, and of matches in rating periods."""

import numpy as np

from jaxrate.events import periods
from jaxrate.replay.checked_replay import run
from jaxrate.replay.execution import CompilePolicy
from jaxrate.systems.draw_probability_wrapper import add_outcomes, find_own_draw_predict_rule, has_outcome_wrapper
from jaxrate.systems.outcome_prediction_forms import scores_or_score_probabilities
from jaxrate.testing.case_and_assertions import (
    SystemFormPrecision,
    as_float_arrays,
    assert_claim,
    assert_close_leaves,
    assert_equal_leaves,
    assert_with_label,
    make_key,
    strict_precision,
)
from jaxrate.testing.replay_properties import replay_case_events, replay_first_season
from jaxrate.testing.synthetic_histories import MATCHES, player_count, split_seasons


def streams_equal_levels(case: SystemFormPrecision) -> None:
    assert_close_leaves(
        "the state and the predictions",
        replay_first_season(case),
        replay_first_season(case._replace(form="levels")),
        1e-11,
    )


def a_column_that_nobody_reads_changes_nothing(case: SystemFormPrecision) -> None:
    events = split_seasons(case)[0]
    unread = {"unread": np.random.default_rng(7).normal(size=MATCHES)}
    context = events.context._replace(columns=unread | (events.context.columns or {}))
    assert_equal_leaves(
        "the state and the predictions",
        replay_first_season(case),
        replay_case_events(case, events._replace(context=context)),
    )


def win_draw_and_loss_agree_with_the_expected_score(case: SystemFormPrecision) -> None:
    """With the system's own draws, or else Davidson's."""
    system = case.system
    if has_outcome_wrapper(system):
        return
    full = (
        add_outcomes(system)
        if find_own_draw_predict_rule(system)
        else add_outcomes(system, draw_odds=0.7, draw_strength=1e-3)
    )
    with_outcomes, plain = (
        replay_case_events(case._replace(system=full), split_seasons(case)[0]),
        replay_first_season(case),
    )
    with strict_precision(case.double):
        chance = np.asarray(scores_or_score_probabilities(with_outcomes.prediction))
    assert_claim(chance.shape[1:] >= (2,), f"probabilities of the scores have shape {chance.shape}")
    assert_claim(((chance >= 0.0) & (chance <= 1.0)).all(), "a probability of a score is not within [0, 1]")
    assert_with_label("sums of the probabilities", np.testing.assert_allclose, chance.sum(axis=1), 1.0, rtol=1e-12)
    mean = chance @ np.linspace(0.0, 1.0, chance.shape[1])
    assert_with_label("expected scores", np.testing.assert_allclose, mean, plain.prediction, rtol=1e-12)
    assert_close_leaves("the state", with_outcomes.state, plain.state, 1e-11)


def a_period_of_one_match_is_that_match(case: SystemFormPrecision) -> None:
    """If no time passes between the periods."""
    system, events = case.system, split_seasons(case)[0]
    if "match_periods" in system.params._fields:  # time that a match alone takes; leads fade in periods
        system = system._replace(params=system.params._replace(match_periods=1.0, reversion=None))
    events = events._replace(time=np.zeros(MATCHES))
    one_match_periods = periods(events, period=np.arange(MATCHES))
    one_match_periods = one_match_periods._replace(events=one_match_periods.events._replace(time=events.time))
    match_run = replay_case_events(case._replace(system=system, form="levels"), events)
    with strict_precision(case.double):
        params, policy = as_float_arrays(system.params), CompilePolicy(quick=True)
        num_players, key = player_count(case.form), make_key(system)
        period_run = run(system, one_match_periods, params=params, num_players=num_players, key=key, policy=policy)
    if "time" in match_run.state._fields:  # the time of the last match or period differs
        match_run, period_run = (x._replace(state=x.state._replace(time=0.0)) for x in (match_run, period_run))
    assert_close_leaves("the state and the predictions", match_run, period_run, 1e-10)
