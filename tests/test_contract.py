"""The contract of `jaxrate.testing`, kept by every system.

To add a system, add a line to SYSTEMS, and its events to USUALLY.
"""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts, testing
from jaxrate.systems.elo import State
from jaxrate.systems.system_construction_by_name import CONTEST_SYSTEMS
from jaxrate.testing import properties as claims
from jaxrate.testing.cases import (
    SystemFormPrecision,
    assert_equal_leaves,
    column_names_read_by_rules,
    column_names_read_only_to_update,
    make_key,
    two_season_events,
)
from tests.conftest import draw_pairs, mark_full


def steadier(x, y, *, low=0.3, slope=-0.2):
    """A kernel that spreads the strong less."""
    return jnp.exp(-0.5 * ((y - x) / (low * jnp.exp(slope * x))) ** 2)


def peaked(x, scale: Annotated[float, "positive"] = 0.7):
    return jnp.exp(-jnp.sqrt(1.0 + x**2) / scale)


SYSTEMS = {
    "elo": jr.elo(side_advantage=20),
    "glicko": jr.glicko(side_advantage=20),
    "glicko2": jr.glicko2(side_advantage=20, tau=0.8),
    "category_glicko": jr.category_glicko(side_advantage=20, deviation_max=300, modifier_deviation_max=250),
    "trueskill": jr.trueskill(side_advantage=2.0, drift=0.5, draw_probability=0.3),
    "weng_lin": jr.weng_lin(side_advantage=2.0, drift=0.5, kappa=0.8),
    "skills": jr.skills(
        parts.skill(growth=30.0, reversion=400.0, match_growth=9.0), parts.seasons((20.0, 60.0)), parts.experience(12.0)
    ),
    "skills_teams": jr.skills(parts.skill(growth=30.0, deviation_max=200.0, match_growth=9.0), parts.experience(12.0)),
    "blat_mmr": jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.4, side_advantage=20),
    "urnings": jr.urnings(outcomes=3, size=30),
    "elo_mmr": jr.elo_mmr(history=3, split_ties=True, newcomer=(0.6, 0.8), drift=20.0, rho=0.3),
    "elo_mmx": jr.elo_mmx(beta=200.0, gamma=40.0, drift=15.0),
    "codeforces": jr.codeforces(beta=250.0, weight=0.7),
    "topcoder": jr.topcoder(),
}
# The same rules with other settings
VARIANTS = {
    "elo_fide": jr.elo(k=20, k_new=40, new_games=10.25, limit=400),
    "elo_fading": jr.elo(seasons=(20.0, 60.0), reversion=400.0),
    "glicko_fading": jr.glicko(seasons=(20.0, 60.0), reversion=400.0, deviation_max=None),
    "trueskill_fading": jr.trueskill(seasons=(20.0, 60.0), reversion=400.0, drift=0.5, side_advantage=2.0),
    "glicko2_bounded": jr.glicko2(volatility_max=0.1, volatility_min=0.01, deviation_min=45, deviation_max=500),
    "category_glicko_site": jr.category_glicko(
        3, "logistic", "map", side_advantage=20, deviation_max=300, modifier_deviation_max=250
    ),
    "skills_margin": jr.skills(
        parts.own_side(),
        parts.seasons((20.0, 60.0)),
        parts.covariate("rest", 9.0),
        observe=parts.margin(scale=60.0, compression=3.0),
    ),
    "skills_draws": jr.skills(
        parts.covariate("rest", 9.0), observe=parts.margin(draw_margin=40.0, scale=60.0, compression=3.0)
    ),
    "skills_points": jr.skills(
        parts.skill(match_growth=6.0),
        parts.own_side(),
        parts.experience(12.0),
        observe=parts.points("points_a", "points_b", compression=3.0),
    ),
    "skills_goals": jr.skills(
        parts.skill(growth=9.0, initial_deviation=60.0, match_growth=6.0),
        parts.own_side(),
        parts.seasons((20.0, 60.0)),
        parts.experience(12.0),
        observe=(
            parts.goals("goals_a", "goals_b", dispersion=20.0, low_score_dependence=-0.05),
            parts.expected_goals("xg_a", "xg_b"),
        ),
    ),
    "calibrated": jr.forecasts.calibrate(
        jr.glicko(side_advantage=20), calibration_slope=0.8, calibration_intercept=0.3
    ),
    "blat_mmr_fft": jr.blat_mmr("trueskill(0.1)", 31, 3.0, algorithm="fft", kernel_width=0.4, beta=0.9),
    "blat_mmr_laplace": jr.blat_mmr("laplace", 15, 3.0, "laplace", "laplace", "outside", kernel_width=0.9),
    "blat_mmr_own": jr.blat_mmr(support=np.linspace(-2, 2, 9) ** 3, kernel="gaussian_by_time", temperature=1.5),
    "blat_mmr_functions": jr.blat_mmr(
        size=21, half_width=3.0, kernel=jr.extend.kernels.Kernel(steadier), prior=peaked, low=0.4, kernel_width=0.4
    ),
    "urnings_paper": jr.urnings(outcomes=3, weights=(1, 2.5, 1), variant="U1"),
    "elo_mmr_inf": jr.elo_mmr(history=5, rho=math.inf),
    "elo_mmr_gumbel": jr.elo_mmr(3, density="gumbel", drift=20.0),
}
EVERY = SYSTEMS | VARIANTS
# What hangs on the runner alone is tested with states of one number, of matrices and of random draws, and in contests.
RUNNER = {"elo": "stream levels periods", "skills": "levels", "urnings": "stream levels", "weng_lin": "rounds"}
IN_EVERY_RUN = {  # of some properties: systems, and their forms
    claims.chunks_of_several_histories_in_one_batch_equal_runs: RUNNER,
    claims.no_state_sized_copy_inside_the_loop: RUNNER,
    claims.another_length_compiles_nothing: RUNNER,
    claims.a_column_that_nobody_reads_changes_nothing: RUNNER,
    claims.slopes_equal_finite_differences: {  # formulas that differ most
        **dict.fromkeys(("elo", "glicko2_bounded", "category_glicko"), "periods"),
        **{"weng_lin": "rounds", "blat_mmr": "levels", "blat_mmr_functions": "levels"},
    },
    claims.slopes_are_finite: {},  # those that overflow first are in the fuzzers' findings
    claims.stream_form_equals_levels_form: {"elo": "stream", "urnings": "stream"},
    claims.win_draw_and_loss_agree_with_the_expected_score: {"elo": "levels", "urnings": "levels"},
    claims.a_period_of_one_match_is_that_match: {"elo": "periods", "skills": "periods"},
    claims.rounds_are_predicted_as_in_a_run: {"skills_teams": "rounds"},  # which drift and read columns
    claims.contests_one_by_one_equal_batches: {
        "weng_lin": "rounds"
    },  # those of the rest equal their twins in all sizes
}
# Of the other properties. Systems that are not here equal their twins in files of their own, in every form.
USUALLY = {"elo": "levels periods"} | dict.fromkeys(("glicko", "skills"), "periods")
USUALLY |= dict.fromkeys(("blat_mmr", "urnings"), "levels") | dict.fromkeys(("weng_lin", "elo_mmr"), "rounds")
USUALLY |= {"skills_teams": "rounds"}  # contests of skills have a line of their own
SINGLE = (
    ("elo", "periods"),
    ("urnings", "levels"),
    ("urnings", "stream"),
)  # also in single precision: a number by player, and a draw by match
ROUNDED = {"trueskill", "blat_mmr", "skills"}  # to the width of a step: by multiplying and adding at once, or in sums


def by_default(name, holds, form, double):
    """Whether a case is in every run of the tests, and not only in one of the whole contract."""
    if form not in IN_EVERY_RUN.get(holds, USUALLY).get(name, "").split():
        return False
    only_single = holds is claims.states_are_finite_and_predictions_are_probabilities and (name, form) in SINGLE
    return not double if only_single else double or (name, form) in SINGLE  # what is finite in single is in double


def contract():
    """Every case of every system; most are in a run of `pytest -m full` only."""
    for name, system in EVERY.items():
        for one, case in testing.contract_cases(system):
            marks = () if by_default(name, one.assert_holds, case.form, case.double) else pytest.mark.full
            yield pytest.param(name, one.assert_holds, case.form, case.double, marks=marks)


def labels(value):
    return {True: "float64", False: "float32"}.get(value) or getattr(value, "__name__", value)


@pytest.mark.parametrize(("name", "holds", "form", "double"), [*contract()], ids=labels)
def test_contract(name, holds, form, double, default_policy):
    holds(SystemFormPrecision(EVERY[name], form, double))


@pytest.mark.parametrize("holds", testing.SYSTEM_PROPERTIES, ids=labels)
@pytest.mark.parametrize("name", EVERY)
def test_values(name, holds):
    holds(EVERY[name])


def of_matches(system):
    exact = system.name not in ROUNDED and system.name not in CONTEST_SYSTEMS  # of which a match is sums over the two
    return jr.Matches in system.events and exact and not system.settings.get("seasons")


@pytest.mark.parametrize("name", mark_full([x for x, system in EVERY.items() if of_matches(system)], "elo"))
def test_stream_equals_levels_to_the_bit(name, default_policy):
    """Quickly compiled the two would be rounded differently."""
    system, random = EVERY[name], np.random.default_rng(0)
    n, players = 3000, 60
    player = draw_pairs(random, players, n)
    time, side = np.sort(random.uniform(0, 100, n)), random.integers(-1, 2, n)
    weight = None if system.name == "urnings" else random.choice([0.5, 1.0], n)
    league = jr.matches(player, random.integers(0, 3, n) / 2, time, side=side, weight=weight)
    stream = jr.run(system, league, schedule="stream", key=make_key(system))
    for schedule in ("auto", jr.extend.schedule_by_level(league), jr.extend.schedule_by_level(league, 7)):
        assert_equal_leaves(
            "state and predictions", stream, jr.run(system, league, schedule=schedule, key=make_key(system))
        )


# `jaxrate.testing`: what it says of systems that break the contract, and of those that it cannot test.

ELO = jr.elo(side_advantage=20.0)
RULES = ELO.rules


def with_rules(**changes):
    return ELO._replace(rules=RULES._replace(**changes), factory=None)


def knows(constants, rows, event):
    return 0.9 * RULES.predict(constants, rows, event) + 0.1 * event.score


def beyond(constants, rows, event):
    return 2.0 * RULES.predict(constants, rows, event)


def knows_ids(constants, rows, event):
    rows = RULES.update(constants, rows, event)
    return rows._replace(rating=jnp.where(event.player == 3, rows.rating + 0.1, rows.rating))


def first_twice(constants, rows, event):
    rows = RULES.update(constants, rows, event)
    return rows._replace(rating=rows.rating + jnp.array([1.0, 0.0]))


def the_wrong_way(constants, rows, event):
    return jax.tree.map(lambda old, new: 2.0 * old - new, rows, RULES.update(constants, rows, event))


def one_game_by_period(constants, rows, event):
    """Of the games of a player in a rating period the last one counts."""
    if not isinstance(event, jr.Periods):
        return RULES.update(constants, rows, event)
    surprise = 20.0 * (event.score - RULES.predict(constants, rows, event)) * event.context.weight
    both = jnp.stack([surprise, -surprise], axis=1)
    pair = jnp.where(event.context.weight[:, None] > 0, event.pair, len(rows.rating))  # nobody in padding
    return rows._replace(rating=rows.rating + jnp.zeros_like(rows.rating).at[pair].set(both, mode="drop"))


def without_slope_in_scores(constants, rows, event):
    return RULES.update(constants, rows, event._replace(score=jax.lax.stop_gradient(event.score)))


def with_steep_slope(params):
    return RULES.prepare(params._replace(k=params.k + jnp.sqrt(params.k - params.k)))


def on_the_host(params):
    return RULES.prepare(params._replace(k=float(params.k)))


def without_rows(params, num_players):
    return State(params.initial_rating, None)


def by_number(params, num_players):
    return State(jnp.full(num_players, 1500.0 + num_players, float), None)


@pytest.mark.parametrize(
    ("broken", "holds", "message"),
    [
        (with_rules(predict=knows), claims.predictions_know_neither_their_result_nor_the_future, "predictions up to"),
        (with_rules(predict=beyond), claims.states_are_finite_and_predictions_are_probabilities, "between 0 and 1"),
        (with_rules(update=knows_ids), claims.renaming_the_players_renames_the_rows, "the state"),
        (with_rules(update=first_twice), claims.the_order_of_players_in_an_event_does_not_matter, "the state"),
        (with_rules(update=the_wrong_way), claims.a_better_result_gives_a_better_rating, "rated higher"),
        (with_rules(update=without_slope_in_scores), claims.slopes_equal_finite_differences, "the columns score, time"),
        (with_rules(prepare=with_steep_slope), claims.slopes_are_finite, "slopes are not finite"),
        (ELO._replace(init=by_number, factory=None), claims.untouched_rows_are_inert, "the rows of players who"),
    ],
)
def test_what_is_broken_is_found(broken, holds, message):
    with pytest.raises(AssertionError, match=message):
        holds(SystemFormPrecision(broken, "stream", True))


def test_a_rating_period_of_which_a_game_is_lost_is_found():
    case = SystemFormPrecision(with_rules(update=one_game_by_period), "periods", True)
    claims.a_better_result_gives_a_better_rating(case)  # which asks of the last game
    with pytest.raises(AssertionError, match="of the . games of a player in a rating period one does not count"):
        claims.every_game_of_a_period_counts(case)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (with_rules(advance=lambda constants, rows, time: rows), "elo: system is a hashable value: .*pickle"),
        (ELO._replace(space=jr.glicko().space), "elo: parameters are described: params has the fields"),
        (ELO._replace(space=ELO.space._replace(k=ELO.space.k._replace(unit=""))), "k lacks its range, unit or meaning"),
        (ELO._replace(name="two\nlines", factory=None), "system repr is one line"),
        (ELO._replace(init=without_rows, factory=None), "elo: state leaves have a row per player: .* leaves"),
        (lambda: ELO._replace(events=()), "^elo has no events to test: its events are"),
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


def test_every_form_is_tested_in_both_precisions():
    forms = {(case.form, case.double) for _, case in testing.contract_cases(jr.trueskill())}
    assert forms == {(form, double) for form in ("stream", "levels", "rounds") for double in (False, True)}
    assert {case.form for _, case in testing.contract_cases(jr.category_glicko())} == {"periods"}
    assert {case.form for _, case in testing.contract_cases(jr.codeforces())} == {"stream", "levels", "rounds"}
    drawn = {one.assert_holds for one, _ in testing.contract_cases(jr.urnings())}
    assert claims.untouched_rows_are_inert in drawn and claims.slopes_equal_finite_differences not in drawn


def by_margin(constants, rows, event):
    match = event._replace(score=jnp.tanh(event.context.columns["margin"]))
    return RULES.update(constants, rows, match)


def against_margin(constants, rows, event):
    columns = event.context.columns | {"margin": -event.context.columns["margin"]}
    return by_margin(constants, rows, event._replace(context=event.context._replace(columns=columns)))


@pytest.mark.parametrize("form", ["levels", "periods"])
def test_a_system_gets_the_columns_that_it_reads_and_may_learn_from_them_alone(form):
    """Whatever the score says; a system that learns against them is found."""
    system = with_rules(update=by_margin)
    assert column_names_read_by_rules(system, form) == ("margin",) and column_names_read_by_rules(ELO, form) == ()
    assert column_names_read_only_to_update(system, form) == ("margin",)
    case = SystemFormPrecision(system, form, True)
    assert list(two_season_events(case).context.columns) == ["margin"]
    claims.states_are_finite_and_predictions_are_probabilities(case)
    claims.a_column_that_nobody_reads_changes_nothing(case)
    claims.predictions_know_neither_their_result_nor_the_future(case)
    claims.a_better_result_gives_a_better_rating(case)
    with pytest.raises(AssertionError, match="is not rated higher than after a loss"):
        claims.a_better_result_gives_a_better_rating(case._replace(system=with_rules(update=against_margin)))
