"""What a fit refuses."""

import math

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.rules import Rules
from jaxrate.events import slice_events
from tests.test_fit import league

# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"free": "k,side_advantage"}, "name several as free="),
        ({"free": ("sideadvantage",)}, "elo has no parameter 'sideadvantage'; did you mean 'side_advantage'"),
        ({"free": ("scale",)}, "scale is fixed .*try values of it with `sweep_parameters`"),
        ({"free": ("k_new",)}, "k_new is switched off"),
        ({"free": ("k", "k")}, "names a parameter twice"),
        ({"free": ()}, "no parameter to fit"),
        ({"loss": "accuracy"}, "loss must be one of"),
        ({"loss": "pairwise"}, "of rounds"),
        ({"warm_up": 1000}, "warm_up=1000 games of every player leave no matches"),
        ({"warm_up": 0.5, "weight": np.arange(600) < 300}, "warm_up=0.5 of the events leave no matches"),
        *(({"warm_up": x}, "warm_up is a whole number .* or a share") for x in (-1, 1.5, math.nan, math.inf)),
        ({"weight": np.ones(3)}, r"weight must be \[600\]"),
        ({"weight": np.r_[np.ones(7), -1.0, np.ones(592)]}, "row 7 .*weight is -1"),
        ({"weight": np.zeros(600)}, "the weights leave no matches"),
        ({"weight": np.arange(600) >= 300, "validation": 0.5}, "held out"),
        ({"weight": np.arange(600) < 300, "validation": 0.5}, "nothing to validate"),
        ({"validation": 1.0}, "validation is a share"),
        ({"starts": 2}, "random starts need a key"),
        ({"starts": 0}, "starts must be"),
        ({"steps": -1}, "steps must be at least 0, got -1"),
        ({"errors": "bootstrap"}, "errors must be"),
        ({"mode": "backward"}, "mode must be"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(jr.elo(), league(), **options)


def test_files_of_winners_and_losers_are_fitted_as_any_others():
    """They were refused, though systems learn the same from them."""
    matches = league()._replace(score=np.round(np.random.default_rng(2).uniform(size=600)))
    first = np.where(matches.score == 1, 0, 1)
    player = np.stack([matches.player[np.arange(600), first], matches.player[np.arange(600), 1 - first]], axis=1)
    sideless = matches._replace(context=jr.extend.Context())
    winners = sideless._replace(player=player, score=np.ones(600))
    found, wanted = (jr.fit(jr.elo(), x, data_share=0.8) for x in (winners, sideless))
    assert found.params.k == pytest.approx(wanted.params.k, rel=1e-3) and found.free == wanted.free
    assert found.loss == pytest.approx(wanted.loss, rel=1e-5) and found.held_out.constant == pytest.approx(math.log(2))


def test_bad_histories():
    matches, elo = league(), jr.elo()
    with pytest.raises(ValueError, match=r"every score is 0.5: such scores hold no information"):
        jr.fit(elo, matches._replace(score=np.full(600, 0.5)))
    with pytest.raises(ValueError, match="there are no events"):
        jr.fit(elo, slice_events(matches, 0, 0))
    with pytest.raises(ValueError, match="side_advantage changes no prediction"):
        jr.fit(elo, matches._replace(context=matches.context._replace(side=None)), free=("side_advantage",))
    with pytest.raises(ValueError, match="k starts at 0, the border"):
        jr.fit(jr.elo(k=0), matches, free=("k",))
    with pytest.raises(ValueError, match="deviation_max starts at initial_deviation"):
        jr.fit(jr.glicko(), matches, free=("deviation_max",))
    with pytest.raises(ValueError, match="rates Periods, not Matches"):
        jr.fit(jr.category_glicko(), matches)
    teams = jr.rounds([0] * 3, [0, 1, 2], [1, 1, 2], team=[0, 0, 1])
    with pytest.raises(ValueError, match="there are teams"):
        jr.fit(jr.trueskill(), teams, loss="pairwise")
    tie = jr.rounds([0] * 3, [0, 1, 2], [1, 1, 1])
    with pytest.raises(ValueError, match="no contest ranks anybody"):
        jr.fit(jr.codeforces(), tie)


def test_a_start_without_a_finite_loss_is_refused():
    elo = jr.elo()
    rules = Rules(*elo.rules[:2], lambda constants, rows, event: rows.rating[0] * math.nan, elo.rules.update)
    with pytest.raises(ValueError, match="the loss at the start is nan"):
        jr.fit(elo._replace(rules=rules), league())
