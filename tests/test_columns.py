"""Further columns of matches reach the rules of a system of one's own, whatever the form of the history."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.array_types import Array
from jaxrate.core.pairwise import PairwiseRules, make_pairwise_rules
from jaxrate.core.system import RatingSystem, full_leaf
from jaxrate.replay.plan import MATCH_SIZE, gather_events, place_events
from tests.conftest import MOSTLY_DOUBLE


class Params(NamedTuple):
    k: float | Array = 20.0
    power: float | Array = 1.5


class State(NamedTuple):
    rating: Array  # [num_players]


def predict(constants, first, second, event):
    return jax.nn.sigmoid((first.rating - second.rating) / 100.0)


def evidence(constants, first, second, event):
    """Wins by a margin m count log(m)^power times; a margin of 0 has no logarithm, and of 1 no gradient."""
    surprise = (event.score - predict(constants, first, second, event)) * jnp.log(event.context.columns["margin"])
    step = constants.k * jnp.sign(surprise) * jnp.abs(surprise) ** constants.power
    return (step,), (-step,)


def apply(constants, rows, total):
    return State(rows.rating + total[0])


def init(params, num_players):
    return State(full_leaf(num_players, 0.0))


RULES = make_pairwise_rules(PairwiseRules(predict, evidence, apply))
SYSTEM = RatingSystem(init, RULES, name="margins", params=Params(), space=Params())


@pytest.fixture
def history():
    """(matches, the number of the period of each): 1 to 5 matches of different players in a period."""
    random = np.random.default_rng(5)
    sizes = random.integers(1, 6, 60)
    player = np.concatenate([random.permutation(11)[: 2 * size].reshape(size, 2) for size in sizes])
    n = sizes.sum()
    margin = {"margin": random.integers(2, 30, n), "unread": np.arange(n)}
    return jr.matches(player, random.integers(0, 2, n), columns=margin), np.repeat(np.arange(60), sizes)


def twin(matches, k=20.0, power=1.5):
    """Ratings and predictions, one match after the other in plain Python."""
    rating, guesses = np.zeros(11), []
    for (a, b), score, margin in zip(matches.player, matches.score, matches.context.columns["margin"], strict=True):
        guess = 1 / (1 + np.exp((rating[b] - rating[a]) / 100))
        surprise = (score - guess) * np.log(margin)
        step = k * np.sign(surprise) * abs(surprise) ** power
        rating[a], rating[b] = rating[a] + step, rating[b] - step
        guesses.append(guess)
    return rating, np.array(guesses)


def forms(history):
    """The history in its three forms: (events, schedule)."""
    matches, number = history
    return [(matches, "stream"), (matches, "levels"), (jr.periods(matches, period=number), "auto")]


@MOSTLY_DOUBLE
def test_rules_read_columns_in_every_form(history, x64):
    rating, guesses = twin(history[0])
    for events, schedule in forms(history):
        state, prediction = jr.run(SYSTEM, events, schedule=schedule)
        np.testing.assert_allclose(state.rating, rating, rtol=1e-9 if x64 else 2e-5, atol=1e-3)
        np.testing.assert_allclose(prediction, guesses, rtol=1e-9 if x64 else 2e-5, atol=0)


def test_gradients_pass_through_padding(history):
    with jax.enable_x64(True):
        for events, schedule in forms(history):

            def last(params, events=events, schedule=schedule):
                return jr.run(SYSTEM, events, params=params, schedule=schedule).state.rating[3]

            slope = jax.grad(last)(Params())
            for name, h in (("k", 1e-4), ("power", 1e-6)):
                up, down = (twin(history[0], **{name: getattr(Params(), name) + x})[0][3] for x in (h, -h))
                np.testing.assert_allclose(getattr(slope, name), (up - down) / (2 * h), rtol=1e-6)


def test_columns_are_arranged_and_padded_with_values_of_theirs(history):
    matches, number = history
    margin = matches.context.columns["margin"]
    arranged = jr.extend.schedule_by_level(matches, 8)
    row = np.asarray(arranged.blocks[0].number)
    slots, _ = gather_events(place_events(matches, arranged), row, MATCH_SIZE)
    taken = np.asarray(slots.context.columns["margin"])
    assert arranged.fill < 1.0
    np.testing.assert_array_equal(taken[row < len(margin)], margin[row[row < len(margin)]])
    assert set(taken.ravel().tolist()) <= set(margin.tolist())
    periods = jr.periods(matches, period=number)
    np.testing.assert_array_equal(periods.events.context.columns["margin"], margin)


@pytest.mark.full
def test_a_system_of_categories_bears_columns():
    shares = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])
    system = jr.category_glicko(2)

    def state(columns):
        matches = jr.matches([[0, 1], [1, 2]], [1, 0], category=shares, columns=columns)
        return jr.run(system, jr.periods(matches, period=[0, 0])).state

    for plain, more in zip(state(None), state({"margin": [3, 4]}), strict=True):
        np.testing.assert_array_equal(plain, more)
