"""`jr.compare`: what `run` and `history` predict, scored and sorted, and what it leaves out."""

import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import simulate
from tests.conftest import refused

pytestmark = pytest.mark.usefixtures("in_a_hurry")


@pytest.fixture
def data(league):
    names = np.array([f"player {i:02}" for i in range(40)], object)
    return jr.Dataset(league, names, np.arange(600))


def test_a_comparison_scores_what_run_predicts(data):
    given = {"k = 8": jr.elo(k=8), "elo": {"k": 64}, "glicko": {}}
    done = []
    found = jr.compare(data, given, lengths=(None, 50.0), last=0.25, watch=done.append)
    systems = {"k = 8": jr.elo(k=8), "elo": jr.elo(k=64), "glicko": jr.glicko()}
    predicted = []
    for result in found.results:
        events = data.matches if result.period is None else jr.periods(data.matches, result.period)
        system = systems[result.name]
        if (result.name, result.period) == ("glicko", 50.0):
            system = jr.glicko(period=50.0)
        assert result.system == system and result.speed is None
        prediction = np.asarray(jr.run(system, events).prediction)[450:]
        assert result.quality == pytest.approx(jr.metrics.scores(prediction, data.matches.score[450:]))
        predicted.append(prediction)
    for result, prediction in zip(found.results, predicted, strict=True):
        wanted = jr.metrics.paired(prediction, predicted[0], data.matches.score[450:])
        assert result.behind == pytest.approx(wanted, rel=1e-4, abs=1e-9)
    losses = [result.quality["log loss"] for result in found.results]
    assert losses == sorted(losses) and len(losses) == 6 and done == pytest.approx(np.arange(1, 7) / 6)
    assert found.about == (
        "Scored on the last 150 of 600 matches. Hyperparameters are the default ones, except those of k = 8 and elo."
    )
    head, *lines = str(found).splitlines()
    assert head.split()[:4] == ["system", "form", "log", "loss"] and len(lines) == 7
    assert lines[0].split()[-4:] == [f"{x:.4f}" for x in found.results[0].quality.values()]
    assert lines[1].split()[-3:] == f"{found.results[1].behind[0]:+.4f} ± {found.results[1].behind[1]:.4f}".split()
    assert "<td" in found._repr_html_() and "periods of 50" in found._repr_html_()


def test_a_comparison_of_contests(share):
    rounds = simulate.contests(12, 30, size=6, seed=1).rounds
    data = jr.Dataset(rounds, np.arange(12), np.arange(180), contests=np.arange(30))
    found = jr.compare(data, ["share"], last=0.5, timed=True)
    before = jr.history(share(), rounds).before.mean
    (result,) = found.results
    assert result.quality == pytest.approx(jr.metrics.standings(rounds, before, mask=np.arange(180) >= 90))
    assert result.speed > 0 and found.counts == {"contests": 30, "participations": 180}
    assert re.search(r"share +\d\d\.\d\d% .* [\d,]+$", str(found).splitlines()[1])


def test_those_whose_demands_are_not_met_are_left_out():
    score = np.array([0.3, 0.7])
    data = jr.Dataset(jr.matches([[0, 1], [1, 2]], score), np.array(list("xyz"), object), np.arange(2), clock=None)
    found = jr.compare(data, watch=print)
    names = {result.name for result in found.results}
    assert {"elo", "glicko"} <= names and not names & {"elo_mmr", "category_glicko"}
    assert names.isdisjoint(found.left_out) and all("row" in why for why in found.left_out.values())


def test_what_compare_refuses(data):
    with refused("last must be above 0 and at most 1, got 2"):
        jr.compare(data, ["elo"], last=2)
    with refused("unknown system 'gliko'; did you mean 'glicko'?"):
        jr.compare(data, "gliko")
    with refused("two systems have the name elo; give each its own"):
        jr.compare(data, [jr.elo(), jr.elo(k=8)])
    with refused("none of these systems rates matches: elo_mmr"):
        jr.compare(data, ["elo_mmr"])
