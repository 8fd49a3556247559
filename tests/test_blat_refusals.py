"""What BlatMMR refuses."""

import math
from functools import partial

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from tests.blat import MATCHES, Kernel

pytestmark = pytest.mark.usefixtures("double")

BELIEFS = jr.blat_mmr().init(jr.blat_mmr().params, 2)
WRONG = jr.extend.luck.Luck("wrong", lambda x, y: jax.nn.sigmoid(x + 1.0 - y))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jr.blat_mmr(size=1), "size must be a whole number from 2, got 1"),
        (lambda: jr.blat_mmr(size=10.5), "size must be a whole number from 2, got 10.5"),
        (lambda: jr.blat_mmr(half_width=0), "half_width must be above 0, got 0"),
        (lambda: jr.blat_mmr(half_width=math.inf), "half_width must be above 0, got inf"),
        (lambda: jr.blat_mmr(size=101), "too coarse for the kernel: its width is 0.03, .*take size=935"),
        (lambda: jr.blat_mmr(draws="within"), "draws is one of inside, outside, got 'within'"),
        (lambda: jr.blat_mmr(algorithm="fast"), "algorithm is one of auto, naive, fft, laplace, low_rank, got 'fast'"),
        (
            lambda: jr.blat_mmr(algorithm="laplace"),
            'the algorithm laplace needs a .*laplace luck function.*, and draws="outside"',
        ),
        (lambda: jr.blat_mmr("laplace", algorithm="laplace", draws="outside"), "needs a laplace kernel"),
        (lambda: jr.blat_mmr("heaviside", algorithm="low_rank"), "low_rank needs a grid and a smooth luck function"),
        (lambda: jr.blat_mmr(support=[0, 1], algorithm="fft"), "fft needs a grid"),
        (lambda: jr.blat_mmr("ratio", support=[1, 2], algorithm="low_rank"), "low_rank needs a grid"),
        (lambda: jr.blat_mmr("ratio"), r"luck function ratio: L\(.*not in \[0, 1\]"),
        (lambda: jr.blat_mmr("two_of_three"), r"strengths of two_of_three lie in R\^3; give their support"),
        (lambda: jr.blat_mmr("two_of_three", support=[[0, 1]]), "2 axes with a last axis of 3, got shape"),
        (lambda: jr.blat_mmr("two_of_three", support=np.eye(3), kernel="laplace"), "strengths that are numbers"),
        (lambda: jr.blat_mmr(support=[0, 0]), "support must be finite, and numbers must increase"),
        (lambda: jr.blat_mmr(support=[0, math.nan]), "support must be finite"),
        (lambda: jr.blat_mmr(support=[[0, 1]]), "support must have 1 axes, got shape"),
        (lambda: jr.blat_mmr(support=[]), "support must have 1 axes, got shape"),
        (lambda: jr.blat_mmr(inner=[[1]]), "give support too"),
        (lambda: jr.blat_mmr(support=[[0, 1]], inner=[[0.5, 0.4]]), "its rows sum to 1"),
        (lambda: jr.blat_mmr(support=[[0, 1]], inner=[[1.5, -0.5]]), "its rows sum to 1"),
        (lambda: jr.blat_mmr(beta=1.1), "beta must be 0 to 1, got 1.1"),
        (lambda: jr.blat_mmr(kernel_width=0), "kernel_width must be > 0, got 0"),
        (lambda: jr.blat_mmr(width=1), "blat_mmr has no parameter 'width'"),
        (lambda: jr.blat_mmr("bradly_terry"), "unknown luck function 'bradly_terry'; did you mean 'bradley_terry'"),
        (lambda: jr.blat_mmr("coin(2)"), "coin takes no number"),
        (lambda: jr.blat_mmr("trueskill(-1)"), "trueskill takes a number above 0, got -1"),
        (lambda: jr.blat_mmr("trueskill(x)"), "trueskill.*x"),
        (lambda: jr.extend.luck.thurstone_mosteller(math.inf), "thurstone_mosteller takes a number above 0"),
        (lambda: jr.extend.luck.mixture([(1.0, 0.0)]), "a width above 0"),
        (lambda: jr.extend.luck.mixture([]), "a width above 0"),
        (lambda: jr.extend.luck.mixture([(0.5, 1.0)]), "the weights must sum to 1, got 0.5"),
        (lambda: jr.blat_mmr(WRONG), r"luck function wrong: L\(x, y\) must be 1 - L\(y, x\).*give Black's too"),
        (lambda: jr.blat_mmr(jr.extend.luck.Luck("flat", lambda x, y: 0.5 * x)), "must broadcast, got shape"),
        (lambda: jr.blat_mmr(jr.extend.luck.Luck("sum", lambda x, y: x + y)), r"luck function sum: .*not in \[0, 1\]"),
        (lambda: jr.blat_mmr(kernel="gauss"), "unknown kernel 'gauss'"),
        (lambda: jr.blat_mmr(kernel=Kernel("box")), "the kernel's shape is one of gaussian, laplace, got 'box'"),
        (lambda: jr.blat_mmr(kernel=Kernel(clock="day")), "the kernel's clock is one of match, time, got 'day'"),
        (lambda: jr.blat_mmr(kernel=Kernel(edges="cut")), "the kernel's edges is one of global, source"),
        (lambda: jr.blat_mmr(kernel=Kernel(weights=(0.5, 0.4), widths=(1, 2))), "they sum to 1"),
        (lambda: jr.blat_mmr(kernel=Kernel(weights=(0.5, 0.5))), "as many weights as widths"),
        (lambda: jr.blat_mmr(kernel=Kernel(widths=(0.0,))), "the widths of a kernel are above 0"),
        (
            lambda: jr.history.blat_mmr_beliefs.belief_mode(jr.elo(), BELIEFS),
            r"elo has no beliefs on a grid; make the system by blat_mmr\(\)",
        ),
        (
            lambda: jr.history.blat_mmr_beliefs.belief_quantile(jr.blat_mmr(), BELIEFS, 1.1),
            r"probability must lie in \[0, 1\], got 1.1",
        ),
        (
            lambda: jr.history.blat_mmr_beliefs.outcome_probabilities(jr.blat_mmr(), BELIEFS, MATCHES, draws=1.0),
            "draws must be a share",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("algorithm", "precision", "most"), [("auto", False, 10), ("fft", True, 100)])
def test_weights_that_transforms_and_interpolation_cannot_follow_are_refused(algorithm, precision, most):
    """A weight of 1,000 moved predictions by a third in float32, and nobody said so."""
    with jax.enable_x64(precision):
        make = partial(jr.blat_mmr, size=101, half_width=7, kernel=None)
        matches = jr.matches([[0, 1]] * 3, [1.0, 0.0, 1.0], weight=[1.0, most, most * 1.01])
        with pytest.raises(ValueError, match=rf"row 2 .*weight .* is above {most}.*algorithm=\"naive\""):
            jr.run(make(algorithm=algorithm), matches)
        make(algorithm=algorithm).check(slice_events(matches, 0, 2))
        make(algorithm="naive").check(matches)
