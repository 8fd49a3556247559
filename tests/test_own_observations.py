"""Observations of a user's own: copies of known ones equal these to the bit, and others a twin of dense integrals."""

import pickle
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import log_ndtr
from scipy.stats import norm

import jaxrate as jr
from jaxrate import parts, testing
from jaxrate.extend import POSITIVE, Parameter
from jaxrate.numerics.special_functions import log_normal_within, truncated_normal_moments
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.prediction_wrapping import add_outcomes
from jaxrate.systems.skills.outcome_likelihoods import normal_cdf
from jaxrate.systems.skills.system import skills_by_name
from tests.conftest import draw_pairs, refused

PLAYERS, MATCHES = 12, 240
SCALE = Parameter(POSITIVE, "points per unit", "rating points that a unit of the margin is worth")
EDGE = Parameter(POSITIVE, "points", "lead of a clear win")


def league():
    """Matches with margins, weights, statistics and sides; some are drawn."""
    random = np.random.default_rng(0)
    player = draw_pairs(random, PLAYERS, MATCHES)
    margin = np.rint(random.normal(0.0, 5.0, MATCHES))
    columns = {"margin": np.abs(margin), "shots": random.normal(0.0, 2.0, MATCHES)}
    side, time = random.integers(-1, 2, MATCHES), np.arange(MATCHES) * 0.5
    return jr.matches(player, 0.5 + 0.5 * np.sign(margin), time, side=side, columns=columns)


def margin_message(lead, variance, match, noise, scale: Annotated[float, SCALE] = 25.0):
    precision = 1.0 / noise**2
    return precision, precision * (jnp.sign(match.score - 0.5) * scale * jnp.abs(match.columns["margin"]) - lead)


def margin_log_density(lead, variance, match, noise, scale: Annotated[float, SCALE] = 25.0):
    size, sign = jnp.abs(match.columns["margin"]), jnp.sign(match.score - 0.5)
    inverse = jax.lax.rsqrt(noise**2 + variance)
    off = (sign * (scale * size) - lead) * inverse
    density = jnp.log(scale) + jnp.log(inverse) - 0.5 * off**2 - 0.5 * np.log(2.0 * np.pi)
    return jnp.where(sign == 0.0, log_normal_within(lead * inverse, 0.5 * scale * inverse), density)


def result_log_likelihood(lead, variance, match, noise, draw_margin):
    inverse = jax.lax.rsqrt(noise**2 + variance)
    lead, width = lead * inverse, draw_margin * inverse
    decided = log_ndtr(jnp.where(match.score > 0.5, lead, -lead) - width)
    return jnp.where(match.score == 0.5, log_normal_within(lead, width), decided)


def result_message(lead, variance, match, noise, draw_margin):
    square = noise**2 + variance
    inverse, sign = jax.lax.rsqrt(square), jnp.where(match.score < 0.5, -1.0, 1.0)
    push, lost, left, _ = truncated_normal_moments(sign * (lead * inverse), draw_margin * inverse, match.score == 0.5)
    rest = noise**2 + variance * left
    return lost / rest, sign * push * (square * inverse) / rest


def result_outcomes(lead, variance, noise, draw_margin):
    inverse = jax.lax.rsqrt(noise**2 + variance)
    loss, win = normal_cdf((-lead - draw_margin) * inverse), normal_cdf((lead - draw_margin) * inverse)
    return win, 1.0 - win - loss


def clear_log_likelihood(lead, variance, match, noise, edge: Annotated[float, EDGE] = 120.0):
    """A win by 7 or more is a lead beyond the edge, and any other a lead within it, on the winner's side."""
    inverse = jax.lax.rsqrt(noise**2 + variance)
    lead = jnp.where(match.score > 0.5, lead, -lead)
    close = log_normal_within((lead - 0.5 * edge) * inverse, 0.5 * edge * inverse)
    return jnp.where(match.columns["margin"] >= 7.0, log_ndtr((lead - edge) * inverse), close)


GAP = parts.own_observation("gap", margin_log_density, "margin", message=margin_message, noise=250)
WHO = parts.own_observation("who", result_log_likelihood, outcomes=result_outcomes, draw_margin=60)
CLEAR = parts.own_observation("clear", clear_log_likelihood, "margin", edge=100)
OTHERS = parts.own_side(), parts.experience(), parts.skill(match_growth=3, reversion=500)


SHOTS = (parts.statistic("shots"),)
COPIES = {  # an observation of one's own, the known one that it equals, and others beside them
    "margin": (GAP, parts.margin(noise=250), SHOTS),
    "margin and draws": (GAP.with_params({"draw_margin": 40.0}), parts.margin(noise=250, draw_margin=40), ()),
    "result": (
        parts.own_observation("who", result_log_likelihood, message=result_message, draw_margin=60),
        parts.result(draw_margin=60),
        SHOTS,
    ),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_of_an_observation_equals_it(double, name):
    *pair, beside = COPIES[name]
    systems = [jr.skills(*OTHERS, observe=(one, *beside)) for one in pair]
    events = league() if beside else jr.periods(league(), 7.0)
    runs = [jr.run(system, events) for system in systems]
    hindsight = [smooth_events(system, league())[:5] for system in systems]
    jax.tree.map(np.testing.assert_array_equal, *zip(runs, hindsight, strict=True))


def test_messages_are_derivatives_of_the_log_likelihood(double):
    systems = [jr.skills(*OTHERS, observe=one) for one in (WHO, parts.result(draw_margin=60))]
    runs = [jr.run(add_outcomes(system), league()) for system in systems]
    hindsight = [smooth_events(system, league(), tolerance=1e-9)[:5] for system in systems]
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-7), *zip(runs, hindsight, strict=True))


def posterior_of_lead(mean, variance, score, margin):
    """Mean and variance of a lead after a clear win or another, and the likelihood, by a dense grid."""
    grid = mean + np.sqrt(variance) * np.linspace(-12.0, 12.0, 1_201)
    ahead = np.where(score > 0.5, grid, -grid)
    above = norm.sf(100.0, ahead, 300.0)
    likelihood = above if margin >= 7 else norm.sf(0.0, ahead, 300.0) - above
    weight = norm.pdf(grid, mean, np.sqrt(variance)) * likelihood
    total = weight.sum()
    after = (grid * weight).sum() / total
    return after, ((grid - after) ** 2 * weight).sum() / total, total * (grid[1] - grid[0])


def forest():
    """Matches of which each brings a newcomer, so that nobody meets twice on any way."""
    random = np.random.default_rng(3)
    player = np.array([(i + 1, random.integers(i + 1)) for i in range(10)])
    columns = {"margin": random.integers(1, 14, 10).astype(float)}
    return jr.matches(player, random.integers(0, 2, 10).astype(float), np.arange(10.0), columns=columns)


def test_hindsight_is_that_of_a_dense_twin(double):
    """Expectation propagation of all players at once, of which each site keeps the moments of its lead."""
    events, size, column = forest(), 11, forest().context.columns["margin"]
    rows = np.eye(size)[events.player[:, 0]] - np.eye(size)[events.player[:, 1]]
    sites, prior = np.zeros((10, 2)), np.eye(size) / 150.0**2
    for _ in range(50):
        for i, x in enumerate(rows):
            covariance = np.linalg.inv(prior + rows.T * sites[:, 0] @ rows)
            mean, variance = x @ covariance @ rows.T @ sites[:, 1], x @ covariance @ x
            of_others = 1.0 / variance - sites[i, 0]
            cavity = (mean / variance - sites[i, 1]) / of_others, 1.0 / of_others
            after, left, _ = posterior_of_lead(*cavity, events.score[i], column[i])
            sites[i] = 1.0 / left - of_others, after / left - cavity[0] * of_others
    covariance = np.linalg.inv(prior + rows.T * sites[:, 0] @ rows)
    system = jr.skills(parts.skill(growth=0), observe=CLEAR)
    found = smooth_events(system, events, tolerance=1e-10)
    np.testing.assert_allclose(
        found.rating.mean, 1500.0 + (covariance @ rows.T @ sites[:, 1])[events.player], rtol=1e-7
    )
    np.testing.assert_allclose(found.rating.deviation, np.sqrt(np.diag(covariance))[events.player], rtol=1e-6)


def test_a_filter_is_that_of_a_plain_loop(double):
    events, mean, variance = league()._replace(score=np.ceil(league().score)), np.zeros(12), np.full(12, 150.0**2)
    events = events._replace(context=events.context._replace(side=None))
    for pair, score, margin in zip(events.player, events.score, events.context.columns["margin"], strict=True):
        lead, total, sign = mean[pair[0]] - mean[pair[1]], variance[pair].sum(), np.array([1.0, -1.0])
        after, left, _ = posterior_of_lead(lead, total, score, margin)
        mean[pair] += sign * variance[pair] / total * (after - lead)
        variance[pair] -= variance[pair] ** 2 / total**2 * (total - left)
    state = jr.run(jr.skills(parts.skill(growth=0), observe=CLEAR), events).state
    np.testing.assert_allclose(state.mean - 1500.0, mean, atol=1e-4)
    np.testing.assert_allclose(np.sqrt(state.covariance), np.sqrt(variance), rtol=1e-6)


def test_an_observation_is_a_value_that_prints_as_its_call():
    system = jr.skills(parts.experience(), observe=[GAP, parts.statistic("shots")])
    call = "parts.own_observation('gap', margin_log_density, columns=('margin',), message=margin_message, noise=250)"
    assert repr(system) == f"skills(parts.experience(), observe=({call}, parts.statistic('shots')))"
    assert eval(repr(system), {"skills": jr.skills, "parts": parts, **globals()}) == system
    assert system.make(**system.params._asdict()) == pickle.loads(pickle.dumps(system)) == system
    assert system.make(gap_scale=5).params.gap_scale == 5 and system.space.gap_scale == SCALE


def test_a_saved_run_needs_the_observation_again(tmp_path):
    names, rows = np.array([f"player {i}" for i in range(PLAYERS)], object), np.arange(MATCHES)
    rated = jr.rate(jr.skills(observe=CLEAR), jr.data.Dataset(league(), names, rows))
    jr.save(tmp_path / "run", rated)
    with refused("an observation of your own needs its functions: jr.load(folder, make=lambda outcome, **saved: "):
        jr.load(tmp_path / "run")
    with refused("skills: outcome must be 'win', "):
        skills_by_name(outcome="marign")
    loaded = jr.load(tmp_path / "run", make=lambda outcome, **saved: jr.skills(observe=CLEAR).make(**saved))
    assert loaded.system == rated.system
    assert 0.4 < jr.forecasts.predict_fixtures(rated, [("player 1", "player 2")])["expected"][0] < 0.9


def test_a_run_goes_on_with_the_functions_with_which_it_began(tmp_path):
    pairs = league().player
    table = {"a": pairs[:, 0], "b": pairs[:, 1], "score": league().score, "margin": league().context.columns["margin"]}
    jr.data.write(table, tmp_path / "games.csv")

    def rate(log_likelihood, columns="margin", **functions):
        own = parts.own_observation("clear", log_likelihood, columns, **functions)
        options = {"columns": "margin", "chunk": 100, "out": tmp_path / "out"}
        return jr.rate(jr.skills(observe=own), tmp_path / "games.csv", **options)

    def other_log_likelihood(lead, variance, match, noise, edge: Annotated[float, EDGE] = 120.0):
        return clear_log_likelihood(lead, variance, match, noise, edge)

    rate(clear_log_likelihood)
    for other in (
        partial(rate, other_log_likelihood),
        partial(rate, clear_log_likelihood, outcomes=lambda lead, *_: (0.0 * lead + 0.5, 0.0 * lead)),
    ):
        with refused("has settings {'outcome': \"OwnObservation('clear', clear_log_likelihood, None, None, "):
            other()
    rate(clear_log_likelihood)


def test_noise_and_draw_margin_have_the_defaults_of_its_functions():
    def log_likelihood(lead, variance, match, noise=50.0, draw_margin=20.0):
        return result_log_likelihood(lead, variance, match, noise, draw_margin)

    own = parts.own_observation("who", log_likelihood)
    assert own.params == {"noise": 50.0, "draw_margin": 20.0} and "noise" not in repr(own)
    assert parts.own_observation("who", log_likelihood, noise=300).params["noise"] == 300.0
    system = jr.skills(observe=own)
    assert system.make(growth=3).params.noise == 50.0 and eval(repr(system), vars(jr) | locals()) == system


@pytest.mark.full
@pytest.mark.parametrize("observe", [GAP, WHO])
def test_an_observation_keeps_the_promises_of_systems(observe):
    testing.check(jr.skills(parts.experience(), observe=observe))


def message_of_other_scale(lead, variance, match, noise, scale: Annotated[float, SCALE] = 5.0):
    return margin_message(lead, variance, match, noise, scale)


def log_likelihood_of_own_noise(lead, variance, match, noise: Annotated[float, SCALE]):
    return 0.0 * lead


own = partial(parts.own_observation, "x")
NOTHING = "the functions of parts.own_observation('x', ...) must tell of each match apart, [n] numbers"
INFINITE = "(chances from 0 to 1) of parts.own_observation('x', ...) is no finite number"


def run(*functions, **options):
    return jr.run(jr.skills(observe=own(*functions, **options)), league())


def zero(lead, variance, match):
    return 0.0 * lead


def log_of_margin(lead, variance, match):
    return jnp.log(match.columns["margin"] - 1) * lead


def over_margin(lead, variance, match):
    return lead / (match.columns["margin"] + match.score)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: parts.own_observation("a b", zero), "must be one plain word"),
        (lambda: parts.own_observation("win", zero), "'win' is the name of what another observation"),
        (lambda: own(lambda lead, variance, match, columns=1.0: 0.0), "rename columns of <lambda>"),
        (lambda: own(lambda lead, variance, match, worth: 0.0), "worth of <lambda> must be a"),
        (
            lambda: own(margin_log_density, message=message_of_other_scale),
            "own_observation: scale of message_of_other_scale has another default or Parameter than in the functions",
        ),
        (lambda: own(log_likelihood_of_own_noise), "rename noise of log_likelihood_of_own_noise, as it has one"),
        (lambda: jr.skills(CLEAR), "own_observation is observed: give it as observe=jr.parts.own_observation(...)"),
        (lambda: jr.skills(observe=(CLEAR, parts.quits("q"))), "quits does not go with own_observation, which"),
        (lambda: run(clear_log_likelihood, "gap"), "skills needs the column 'gap' of the matches"),
        (lambda: run(zero, message=lambda *_: 1.0), "fail: TypeError: "),
        (lambda: run(zero, outcomes=lambda *_: (0.9, 0.8)), "outcomes (chances from 0 to 1) of parts.own"),
        (lambda: run(zero, message=lambda *_: (-1e-3, 0.0)), "message (precision 0 or more) or outcomes"),
        (lambda: run(lambda lead, *_: jnp.sum(log_ndtr(lead / 300.0))), NOTHING),
        (lambda: run(lambda lead, *_: jnp.log1p(-jnp.exp(-(lead + 1.0)))), INFINITE),  # a number where nobody leads
        (lambda: run(log_of_margin, "margin"), INFINITE),
        (lambda: run(over_margin, "margin"), "must be a finite number where score and columns are 0, too"),
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    with refused(said):
        make()
