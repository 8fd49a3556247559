"""Fits by the evidence: slopes against differences, the maximum, and what is refused."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.fitting import evidence_objective
from jaxrate.fitting.free_parameters import make_free_parameters
from tests.test_skills import SEASONS, league

TIME = {"growth": 60.0, "match_growth": 7.0, "initial_deviation": 140.0, "season_keep": 0.7, "season_growth": 25.0}
SYSTEMS = {
    "draws": jr.skills(seasons=SEASONS, noise=280.0, draw_margin=60.0, experience=15.0, side_advantage=22.0, **TIME),
    "margin": jr.skills("margin", seasons=SEASONS, noise=280.0, margin=("home", "away"), margin_scale=9.0,
                        compression=8.0, **TIME),
}  # fmt: skip


def history(n=30):
    events = league(n=n)
    return events._replace(context=events.context._replace(weight=None, category=None))


def decided(events):
    points = events.context.columns
    return events._replace(score=(points["home"] > points["away"]) * 1.0)


@pytest.mark.parametrize(("case", "bounded"), [("draws", False), ("draws", True), ("margin", False)])
def test_slopes_are_those_of_differences(double, monkeypatch, case, bounded):
    """Though the sites are held fixed; nearly where variances reach their bound, which is told by the sites."""
    monkeypatch.setattr(evidence_objective, "TOLERANCE", 1e-11)
    events, system = history(), SYSTEMS[case]
    params = system.params._replace(deviation_max=160.0 if bounded else 400.0)
    system = system._replace(params=params)
    if case == "margin":
        events = decided(events)
    names = ("growth", "match_growth", "initial_deviation", "season_keep", "season_growth")
    names += ("draw_margin", "experience", "side_advantage") if case == "draws" else ("margin_scale", "compression")
    free, x = make_free_parameters(system, names)
    given, unit = evidence_objective.prepare_evidence_problem(system, events), np.ones(len(x))

    def at(x, what="values"):
        params = type(system.params)(*(None if y is None else np.array([y]) for y in system.params))
        return evidence_objective.negative_log_evidence_derivatives(what, given, free, x[None], unit, params, None)

    value, slope, _ = at(x, "forward")
    assert value[0, 0] == pytest.approx(-jr.smooth(system, events, tolerance=1e-11).evidence, rel=1e-12)
    for i in range(len(x)):
        step = 1e-4 * max(abs(x[i]), 1.0) * np.eye(len(x))[i]
        difference = (at(x + step)[0, 0] - at(x - step)[0, 0]) / (2.0 * step[i])
        assert slope[0, i] == pytest.approx(difference, rel=0.02 if bounded else 1e-5, abs=1e-7), names[i]


def test_the_greatest_evidence_is_found():
    events = history(150)
    found = jr.fit(SYSTEMS["draws"], events, free=["draw_margin", "side_advantage"], method="evidence")
    assert found.converged and found.loss < found.loss_history[0] and "loss" in repr(found)
    smoothed = jr.smooth(found.system, events, tolerance=1e-4)
    assert found.loss == pytest.approx(-smoothed.evidence / 150, rel=1e-5)
    for name in found.free:
        best, error = getattr(found.params, name), found.standard_error[name]
        sides = [
            jr.smooth(found.system, events, params=found.params._replace(**{name: best + sign * error})).evidence
            for sign in (1.0, -1.0)
        ]
        # An error to either side costs half a nat, where the other moves along; more where it does not.
        assert all(0.3 < smoothed.evidence - x < 1.0 for x in sides)


@pytest.mark.parametrize(
    ("system", "more", "message"),
    [
        (jr.skills(), {}, "row 3 is no win and no loss: half a win has no likelihood; give a draw_margin"),
        (jr.skills("logistic"), {}, r"of skills\('logistic'\) has no slopes"),
        (jr.elo(), {}, "elo has no hindsight"),
        (SYSTEMS["draws"], {"warm_up": 0.2, "loss": "brier"}, "takes no loss, warm_up"),
        (SYSTEMS["draws"], {"method": "map"}, 'method must be "ahead" or "evidence"'),
    ],
)
def test_refusals(system, more, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(system, history(), **({"method": "evidence"} | more))


def test_matches_of_weight_are_refused():
    events = league(n=30)
    with pytest.raises(ValueError, match="whole matches, but there are weights"):
        jr.fit(SYSTEMS["draws"], events, method="evidence")
    with pytest.raises(ValueError, match="of matches, each at its own time"):
        jr.fit(SYSTEMS["draws"], jr.periods(history(), 7.0), method="evidence")
