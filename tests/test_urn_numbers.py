"""Replays with the random numbers given, through the public functions, against the stored traces."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.urns import matchmakers
from tests.reference import urnings_twin as twin
from tests.test_urnings import FOLDER, TRACES, random_matches


@pytest.mark.parametrize("number", range(len(TRACES)))
def test_a_replay_with_given_numbers_follows_the_stored_trace(number):
    """All urns before every game, as far as its prediction tells them, and those at the end; in both precisions."""
    with jax.enable_x64(number % 2 == 0):
        follows(number, 1e-12 if number % 2 == 0 else 1e-5)


def follows(number, tolerance):
    trace = TRACES[number]
    with np.load(FOLDER / "urnings.npz") as file:
        games, uniforms, green = (file[name][number] for name in ("games", "uniforms", "green"))
    weights, pair = trace["w"], games[:2].T
    system = jr.urnings(weights=weights, variant=trace["family"])
    played = jr.matches(pair, games[2] / (len(weights) - 1))
    options = dict(state=jr.urns.make_urns(trace["n"], green[0] / trace["n"]), key=uniforms.T)
    if trace["adaptive"]:
        got = jr.urns.replay_history(
            system, played, matchmaker=matchmakers.similarity_matchmaker(trace["lam"]), **options
        )
    else:
        got = jr.run(system, played, **options)
    np.testing.assert_array_equal(got.state.green, green[-1])
    pi = (np.take_along_axis(green[:-1], pair, axis=1) + 1) / (np.array(trace["n"])[pair] + 2)
    levels = np.arange(len(weights)) / (len(weights) - 1)
    wanted = [twin.observed(weights, *both) @ levels for both in pi]
    np.testing.assert_allclose(got.prediction, wanted, rtol=tolerance)


def test_given_numbers_are_those_of_a_key_in_every_order_of_replay():
    played, key = random_matches(9, 120, 1), jax.random.key(5)
    numbers = np.stack([jax.random.uniform(jax.random.fold_in(key, i), (2,)) for i in range(120)])
    wanted = jr.run(jr.urnings(10), played, key=key)
    for schedule in ("stream", "levels"):
        got = jr.run(jr.urnings(10), played, key=numbers, schedule=schedule)
        np.testing.assert_array_equal(got.state.green, wanted.state.green)
        np.testing.assert_allclose(got.prediction, wanted.prediction, rtol=1e-6)
    other = jr.run(jr.urnings(10), played, key=numbers[::-1]).state.green
    assert (np.asarray(other) != np.asarray(wanted.state.green)).any()


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        (np.zeros((3, 2)), r"a PRNG key, or numbers of shape \(2, 2\), got shape \(3, 2\)"),
        (np.zeros(2), r"got shape \(2,\)"),
        (np.array([[0.0, 0.5], [0.5, 1.0]]), r"row 1 .*the numbers \[0.5 1. \] are not from 0, below 1"),
        (jnp.array([[-0.1, 0.5], [0.5, jnp.nan]]), r"row 0 .*are not from 0, below 1"),
    ],
)
def test_bad_numbers_are_refused(numbers, says):
    played = jr.matches([[0, 1], [1, 0]], [1, 0])
    with pytest.raises(ValueError, match=says):
        jr.run(jr.urnings(10), played, key=numbers)
    with pytest.raises(ValueError, match="elo takes no numbers of yours in place of a key"):
        jr.run(jr.elo(), played, key=numbers)
