"""Fits by the evidence: slopes against differences, the maximum, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.evaluation.comparison import MARGIN_POINTS_GRID, loss_minimising_mean_margin_points
from jaxrate.fitting import evidence_objective
from jaxrate.fitting.free_parameters import ParameterSettings, make_free_parameters
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.system_construction_by_name import make_system_for_data
from tests.conftest import mark_full
from tests.test_skills import SEASONS, league
from tests.test_smooth_teams import short_history

TIME = (parts.skill(60.0, 140.0, match_growth=7.0, deviation_max=400.0), parts.seasons(SEASONS, keep=0.7, growth=25.0))
SYSTEMS = {
    "draws": jr.skills(*TIME, parts.experience(15.0), parts.side(22.0), observe=parts.result(280.0, draw_margin=60.0)),
    "margin": jr.skills(
        *TIME, parts.form(50.0, 9.0), observe=parts.margin("home", "away", scale=9.0, compression=8.0, noise=280.0)
    ),
    "goals": jr.skills(
        *TIME,
        parts.side(22.0),
        observe=parts.goals("home", "away", rate=9.0, dispersion=20.0, low_score_dependence=0.0),
    ),
}


def history(n=150):
    events = league(n=n)
    return events._replace(context=events.context._replace(weight=None, category=None))


def decided(events):
    points = events.context.columns
    return events._replace(score=(points["home"] > points["away"]) * 1.0)


def slopes_beside_differences(monkeypatch, system, events, names, digits):
    """The value at the start, and whether each slope is that of differences."""
    monkeypatch.setattr(evidence_objective, "TOLERANCE", 1e-11)
    free, x = make_free_parameters(system, names)
    given = evidence_objective.prepare_evidence_problem(system, events)
    params = jax.tree.map(lambda y: jnp.asarray([y]), system.params)

    def at(x):
        return evidence_objective.negative_log_evidence(given, ParameterSettings(free, x[None], params))

    value, slope, _ = at(x)
    for i in range(len(x)):
        step = 1e-4 * max(abs(x[i]), 1.0) * np.eye(len(x))[i]
        difference = (at(x + step)[0][0] - at(x - step)[0][0]) / (2.0 * step[i])
        assert slope[0, i] == pytest.approx(difference, rel=digits, abs=1e-7), names[i]
    return value[0]


@pytest.mark.parametrize(
    ("case", "bounded"),
    mark_full(
        [("draws", False), ("draws", True), ("margin", False), ("goals", False)],
        *(("draws", False), ("draws", True), ("goals", False)),
    ),
)
def test_slopes_are_those_of_differences(double, monkeypatch, case, bounded):
    """Though the sites are held fixed; nearly where variances reach their bound, which is told by the sites.

    Sites of goals have moments by a rule of nodes.
    """
    events, system = history(), SYSTEMS[case]
    params = system.params._replace(deviation_max=160.0) if bounded else system.params
    if case != "draws":
        events = decided(events)
    names = ("growth", "match_growth", "initial_deviation", "season_keep", "season_growth")
    names += {
        "draws": ("draw_margin", "experience", "side_advantage"),
        "margin": ("margin_scale", "compression", "form_deviation", "form_reversion"),
        "goals": ("goal_rate", "goal_dispersion", "low_score_dependence", "initial_pace_deviation", "side_advantage"),
    }[case]
    system = system._replace(params=params)
    value = slopes_beside_differences(
        monkeypatch, system, events, names, 0.02 if bounded else 1e-3 if case == "goals" else 1e-5
    )
    assert value == pytest.approx(-smooth_events(system, events, tolerance=1e-11).evidence, rel=1e-12)


OF_TEAMS = parts.skill(60.0, 140.0, deviation_max=400.0)
RESULT = parts.result(280.0, draw_margin=60.0)
REPORTS = parts.statistic("kills", 90.0, 310.0), parts.quits("quit", 1300.0)
TEAMS = {
    "draws": jr.skills(
        parts.skill(60.0, 140.0, deviation_max=400.0, match_growth=7.0),
        parts.experience(15.0),
        parts.kinds("kind", growth=30.0, initial_deviation=210.0, match_growth=3.0, experience=-6.0),
        parts.team(90.0),
        observe=RESULT,
    ),
    "margin": jr.skills(
        OF_TEAMS, parts.team(90.0, 50.0), observe=parts.margin("points", noise=280.0, scale=9.0, compression=8.0)
    ),
    "reports": jr.skills(OF_TEAMS, observe=(parts.margin("points", noise=280.0, scale=9.0), *REPORTS)),
    "quits": jr.skills(OF_TEAMS, parts.experience(15.0), observe=(RESULT, *REPORTS)),
}


def team_history(n, teams=(2, 2, 3, 5)):
    """Contests whose teams do not tie in points."""
    rounds = short_history(n=n, teams=teams)
    flat = rounds.events
    contest = np.repeat(np.arange(n), np.diff(rounds.player_start))
    points = np.random.default_rng(0).permutation(40)[(contest + 3 * flat.team) % 40] * 1.0
    return jr.rounds(
        contest, flat.player, -points, team=flat.team, weight=flat.weight, time=flat.time[contest],
        columns=flat.columns | {"points": points},
    )  # fmt: skip


QUITS = "kills_scale", "kills_noise", "quit_threshold"
OF_KIND = "second_kind_growth", "second_kind_initial_deviation", "second_kind_match_growth", "second_kind_experience"
CONTESTS = [
    ("reports", QUITS),
    ("quits", QUITS),
    ("quits", ("draw_margin", "experience")),
    ("draws", ("team_noise", "draw_margin", "experience", "match_growth", *OF_KIND)),
    ("margin", ("team_noise", "margin_scale", "compression", "size_advantage")),
]


@pytest.mark.parametrize(("case", "names"), mark_full(CONTESTS, CONTESTS[0]))
def test_slopes_of_contests_are_those_of_differences(double, monkeypatch, case, names):
    """With players in several teams, statistics and quits, by margins and by ties within a draw margin."""
    teams, n = ((3,), 6) if case in ("reports", "quits") else ((2, 2, 3, 5), 12)
    rounds = (team_history if "margin_scale" in TEAMS[case].params._fields else short_history)(n=n, teams=teams)
    assert rounds.events.seat is not None
    slopes_beside_differences(monkeypatch, TEAMS[case], rounds, ("growth", "initial_deviation", *names), 1e-4)


def test_contests_are_fitted_by_evidence(caplog):
    """And smoothed by the program of the fit: sweeps were compiled again."""
    rounds, system = team_history(80), TEAMS["margin"]
    found = jr.fit(system, rounds, free=["margin_scale", "team_noise"], objective=jr.fitting.evidence(), steps=30)
    with jax.log_compiles():
        smoothed = smooth_events(found.system, rounds, tolerance=1e-4)
    assert "smoothed_quantities" in caplog.text and "run_sweeps" not in caplog.text
    assert found.loss == pytest.approx(-smoothed.evidence / 80, rel=1e-4)
    assert found.converged and found.loss < found.loss_history[0] and found.objective.errors == "information"


def test_the_greatest_evidence_is_found(double):
    events = history()
    found = jr.fit(SYSTEMS["draws"], events, free=["draw_margin", "side_advantage"], objective=jr.fitting.evidence())
    assert found.converged and found.loss < found.loss_history[0] and "loss" in repr(found)
    smoothed = smooth_events(found.system, events, tolerance=1e-4)
    assert found.loss == pytest.approx(-smoothed.evidence / 150, rel=1e-5)
    for name in found.free:
        best, error = getattr(found.params, name), found.standard_error[name]
        sides = [
            smooth_events(found.system, events, params=found.params._replace(**{name: best + sign * error})).evidence
            for sign in (1.0, -1.0)
        ]
        # An error to either side costs half a nat, where the other moves along; more where it does not.
        assert all(0.3 < smoothed.evidence - x < 1.0 for x in sides)


@pytest.mark.parametrize(
    ("system", "events", "message"),
    [
        (jr.skills(), history(30), "row 3 is no win and no loss: half a win has no likelihood; give a draw_margin"),
        (jr.skills(observe=parts.logistic()), history(30), "of skills that observe `logistic` has no slopes"),
        (SYSTEMS["draws"], league(n=30), "whole matches, but there are weights"),
        (SYSTEMS["draws"], jr.periods(history(30), 7.0), "of matches or contests, each at its own"),
    ],
)
def test_refusals(system, events, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(system, events, objective=jr.fitting.evidence())


# What margins are worth to `skills` at first is taken from the matches that `compare` does not score.

MATCHES, PLAYERS, PAST = 8_000, 40, 6_400


def worth_league(spread, unit, last_sign=1.0):
    """Margins are differences of performances, of players with this spread, in whole units of so many points."""
    random = np.random.default_rng(1)
    strength = spread * random.normal(size=PLAYERS)
    pair = np.array([random.choice(PLAYERS, 2, replace=False) for _ in range(MATCHES)])
    margin = np.rint((strength[pair[:, 0]] - strength[pair[:, 1]] + 300.0 * random.normal(size=MATCHES)) / unit)
    margin[PAST:] *= last_sign
    score, time = 0.5 + 0.5 * np.sign(margin), np.arange(MATCHES) / 20.0
    return jr.read({"a": pair[:, 0], "b": pair[:, 1], "score": score, "time": time, "margin": margin}, margin="margin")


def compared(data, given=None, last=0.2):
    """The system, the points of a mean margin of the first fifth, and the notes."""
    found = jr.compare(data, {"skills": given or {}}, last=last)
    system, margins = found.results[0].system, data.matches.context.columns["margin"][: MATCHES // 5]
    return system, system.params.margin_scale * np.mean(np.abs(margins)), found.notes


LEAGUES = (60, 300, 300), (60, 25, 350), (250, 25, 600), (400, 25, 850)  # and the points that predict best on a grid


@pytest.mark.parametrize(("spread", "unit", "around"), mark_full(LEAGUES, LEAGUES[0]))
def test_the_worth_of_a_margin_is_what_predicts_best(spread, unit, around):
    data = worth_league(spread, unit)
    usual = make_system_for_data("skills", {}, None, data)
    system, worth, notes = compared(data)
    assert worth == pytest.approx(around, abs=60)
    assert system.params._replace(margin_scale=1.0) == usual.params._replace(margin_scale=1.0)
    assert "The weight of margins in skills is from the 6,400 matches before." in notes


def test_what_is_scored_and_what_is_given_change_nothing():
    data = worth_league(60, 25)
    system, *_ = compared(data)
    turned, *_ = compared(worth_league(60, 25, last_sign=-1.0))
    assert turned == system
    usual = make_system_for_data("skills", {}, None, data)
    assert system != usual
    whole, worth, notes = compared(data, last=1.0)
    assert whole == usual and worth == pytest.approx(600) and not any("margins" in note for note in notes)
    given, *_, notes = compared(data, {"margin_scale": 7.0})
    assert given.params.margin_scale == 7.0 and not any("margins" in note for note in notes)


def test_few_matches_say_little_of_margins():
    usual = loss_minimising_mean_margin_points(np.zeros(len(MARGIN_POINTS_GRID)))
    assert usual == pytest.approx(600)
    parabola = ((MARGIN_POINTS_GRID - 400.0) / 200.0) ** 2  # as much as twice what is known of leagues
    assert loss_minimising_mean_margin_points(parabola) == pytest.approx((2 * 400 + 600) / 3)
    assert loss_minimising_mean_margin_points(1e6 * parabola) == pytest.approx(400, rel=1e-4)
    assert loss_minimising_mean_margin_points(-1e3 * MARGIN_POINTS_GRID) == MARGIN_POINTS_GRID[-1]
    assert loss_minimising_mean_margin_points(np.where(MARGIN_POINTS_GRID > 1000, np.nan, 0.0)) == 600.0
