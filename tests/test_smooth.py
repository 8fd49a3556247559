"""Hindsight against the slow twin, the exact posterior, TrueSkill through time and the filter."""

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy.special import ndtri

import jaxrate as jr
import jaxrate.smoothing.smoother as forecasting
from jaxrate.events import slice_events
from jaxrate.site.site_data import align_hindsight
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.system import skills_by_name
from tests.conftest import MOSTLY_DOUBLE, mark_full
from tests.reference.goals_twin import Goals, Points
from tests.reference.skills_twin import Skills, game
from tests.reference.smooth_twin import Smoother, dense
from tests.test_goals import games_of as goal_games
from tests.test_goals import league as goal_league
from tests.test_skills import (
    CASES,
    FADING_FORM,
    PLAYERS,
    SEASONS,
    events_of,
    games_of,
    league,
    system_of,
)

N = 22
PEERS = json.loads((Path(__file__).parent / "reference" / "smooth_peers.json").read_text())


def matches_of(case):
    """The system of a case, its events, the twin and its games; all forms, with all that time does."""
    if case in PAIRS_CASES:
        return pairs_of(case)
    events = events_of(case, n=N)
    return system_of(case), events, *games_of(case, events)


TEAMS = 5
PAIRS = {
    "growth": 8.0, "deviation_max": 1e4, "initial_deviation": 90.0, "side_advantage": 30.0, "pace_growth": 3.0,
    "initial_pace_deviation": 40.0, "experience": 15.0, "reversion": 500.0,
}  # fmt: skip
SCORED = {"margin": ("goals_a", "goals_b")}
EXPECTED = {"expected_goals_noise": 0.4, "expected_goals_scale": 0.9}
PAIRS_CASES = {  # settings, hyperparameters, and the class of the twin
    "goals": (
        {"outcome": "goals", "own_side": True},
        PAIRS | {"goal_rate": 1.3, "initial_own_side_deviation": 33.0},
        Goals,
    ),
    "expected goals": (
        {"outcome": "goals", "covariates": ("rest",), "expected_goals": ("xg_a", "xg_b")},
        PAIRS | {"goal_rate": 1.3, "goal_dispersion": 30.0, "low_score_dependence": -0.08, "rest": -6.0, **EXPECTED},
        Goals,
    ),
    "points": (
        {"outcome": "points", "covariates": ("rest",)},
        PAIRS | FADING_FORM
        | {"noise": 250.0, "margin_scale": 50.0, "compression": 2.0, "point_rate": 1.4, "total_noise": 90.0}
        | {"rest": -6.0},
        Points,
    ),
}  # fmt: skip


def pairs_of(case):
    """As of `matches_of`, of strengths and paces, of matches with a weight."""
    settings, params, kind = PAIRS_CASES[case]
    events = goal_league(True, n=10)
    player = np.asarray(events.player) % TEAMS
    player[:, 1] = np.where(player[:, 0] == player[:, 1], (player[:, 1] + 1) % TEAMS, player[:, 1])
    events = events._replace(player=player)
    own = {name: x for name, x in params.items() if name != "rest"}
    twin = kind(settings["outcome"], own_side="own_side" in settings, initial_rating=1500.0, own_side_growth=3.0,
                  weights=(params.get("rest", 0.0),), **own)  # fmt: skip
    games = goal_games(events, "expected_goals" in settings)
    return skills_by_name(**SCORED, **settings, **params), events, twin, games


BY_DEFAULT = "draws", "margin and statistics", "columns", "expected goals", "points"  # form is beside teams
ALL_CASES = *(x for x in CASES if x != "leagues"), *PAIRS_CASES


@MOSTLY_DOUBLE
@pytest.mark.parametrize("case", mark_full(ALL_CASES, *BY_DEFAULT))
def test_against_the_twin(x64, case):
    """Integrals of goals have five nodes to an axis in one, and a fine grid in the other."""
    system, events, of, games = matches_of(case)
    found = smooth_events(system, events, tolerance=1e-11 if x64 else 3e-6)
    twin, digits = Smoother(of, [*zip(events.time.tolist(), games, strict=True)]), 1e-9 if x64 else 1e-4
    digits = 1e-5 if isinstance(of, Goals) and not isinstance(of, Points) else digits
    twin.converge(tolerance=1e-12 if digits < 1e-6 else 1e-8)
    mean, variance = twin.parts()
    np.testing.assert_allclose(found.prediction, twin.predictions(), atol=digits)
    np.testing.assert_allclose(found.evidence, twin.evidence(), rtol=digits)
    if found.components is None:
        games = np.array(twin.games_before) + np.repeat(events.context.weight, 2)
        kinds = [kind for _, game in twin.events for kind in game.kinds]
        mean += (np.array([of.kinds[kind].experience for kind in kinds]) * np.log1p(games))[:, None]
    parts = found.components or jr.extend.Rating(*(np.asarray(x)[..., None] for x in found.rating))
    np.testing.assert_allclose(np.reshape(parts.mean, mean.shape), mean, atol=1000 * digits)
    np.testing.assert_allclose(np.reshape(parts.deviation, mean.shape), np.sqrt(variance), atol=300 * digits)
    for name in twin.nodes:
        last = twin.prior(name)[2]
        np.testing.assert_allclose(np.ravel(found.state.mean[name]), last.m, atol=1000 * digits)
        np.testing.assert_allclose(np.reshape(found.state.covariance[name], last.P.shape), last.P, atol=2e4 * digits)


def margins(pairs):
    """A league without bounds of variances, as the twin and as events."""
    random = np.random.default_rng(0)
    points, time = random.normal(0, 12, len(pairs)), 3.0 * np.arange(len(pairs))
    params = {"noise": 250.0, "initial_rating": 0.0, "initial_deviation": 150.0, "deviation_max": 1e5,
              "growth": 10.0, "match_growth": 5.0, "margin_scale": 20.0}  # fmt: skip
    games = [game(a, b, float(y > 0), margin=abs(y)) for (a, b), y in zip(pairs, points, strict=True)]
    events = jr.matches(np.array(pairs), points > 0, time, columns={"margin": points})
    twin = Smoother(Skills("margin", **params), [*zip(time, games, strict=True)])
    return twin, skills_by_name(outcome="margin", **params), events


def test_margins_are_exact(double):
    """Means wherever it converges, since it is belief propagation; all if nobody meets twice on any way."""
    random = np.random.default_rng(1)
    pairs = [(i + 1, random.integers(i + 1)) for i in range(16)]
    twin, system, events = margins(pairs)
    found = smooth_events(system, events, tolerance=1e-11)
    mean, variance, evidence = dense(twin)
    np.testing.assert_allclose(np.ravel(found.rating.mean), mean[:, 0], atol=1e-8)
    np.testing.assert_allclose(np.ravel(found.rating.deviation), np.sqrt(variance[:, 0]), rtol=1e-10)
    assert found.evidence == pytest.approx(evidence + len(pairs) * np.log(20.0), rel=1e-12)
    twin, system, events = margins([random.permutation(5)[:2] for _ in range(16)])
    found = smooth_events(system, events, tolerance=1e-11, num_players=17)
    mean, variance, _ = dense(twin)
    np.testing.assert_allclose(np.ravel(found.rating.mean), mean[:, 0], atol=1e-7)
    less = np.ravel(found.rating.deviation) / np.sqrt(variance[:, 0])
    assert less.min() > 0.7 and less.max() < 1.0 and less.mean() < 0.95


def test_against_trueskill_through_time(double):
    margin = float(ndtri(0.5 * (1.0 + PEERS["p_draw"])) * 2.0**0.5 * PEERS["beta"])
    system = jr.skills(
        jr.parts.skill(initial_rating=0, initial_deviation=PEERS["sigma"], growth=PEERS["gamma"], deviation_max=1e4),
        observe=jr.parts.result(noise=2.0**0.5 * PEERS["beta"], draw_margin=margin),
        period=1.0,
    )
    found = smooth_events(system, jr.matches(PEERS["player"], PEERS["score"], PEERS["time"]), tolerance=1e-10)
    np.testing.assert_allclose(found.rating.mean, PEERS["mean"], atol=3e-7)
    np.testing.assert_allclose(found.rating.deviation, PEERS["deviation"], atol=3e-7)


def test_sides_do_not_matter_and_the_state_is_filtered_on(double):
    events, system = league(seed=1, n=N), system_of("draws")
    turned = events._replace(player=events.player[:, ::-1], score=1 - events.score)
    turned = turned._replace(context=events.context._replace(side=-events.context.side))
    one, two = (smooth_events(system, x, tolerance=1e-10) for x in (events, turned))
    np.testing.assert_allclose(two.rating.mean[:, ::-1], one.rating.mean, atol=1e-6)
    assert two.evidence == pytest.approx(one.evidence, rel=1e-10)
    later = jr.matches([[0, 1]], [1], [events.time[-1] + 50.0], side=[0])
    after = jr.run(system, later, state=one.state)
    assert float(after.prediction[0]) == pytest.approx(float(jr.predict(system, one.state, later)[0]))
    np.testing.assert_allclose(jr.ratings(system, one.state).mean[events.player[-1]], one.rating.mean[-1])


def test_seasons_of_leagues_that_all_have_are_those_of_the_clock(double):
    events, clock = league(seed=1, n=N), system_of("draws")
    number = np.searchsorted(SEASONS, events.time, side="right") * 1.0
    leagues = skills_by_name(league_season="year", **clock.params._asdict())
    columns = events.context.columns | {"year": number}
    one = smooth_events(clock, events, tolerance=1e-10)
    two = smooth_events(leagues, events._replace(context=events.context._replace(columns=columns)), tolerance=1e-10)
    assert two.evidence == pytest.approx(one.evidence, rel=1e-9)
    for x, y in zip((*one.rating, one.state.mean), (*two.rating, two.state.mean), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-7)
    last = {player: number[i] for i, pair in enumerate(events.player.tolist()) for player in pair}
    np.testing.assert_array_equal(np.asarray(two.state.season)[[*last]], [*last.values()])


def test_forecasts_know_the_past_in_hindsight_and_nothing_of_the_future(double):
    """They are those of smoothing all that came before, and filtering on, whatever the scores later."""
    events, system = league(seed=1, n=N), system_of("draws")
    start, refit, time = events.time[5], 50.0, events.time
    with pytest.MonkeyPatch.context() as patient:
        patient.setattr(forecasting, "LATER_SWEEPS", 200)
        patient.setattr(forecasting, "TOLERANCE", 1e-11)
        found = jr.forecasts.forecast_by_smoothing(system, events, start=start, refit=refit)
    wanted, which = np.array(jr.run(system, slice_events(events, 0, 5)).prediction), np.floor((time - start) / refit)
    for k in np.unique(which[5:]):
        low, high = np.searchsorted(time, start + refit * np.array([k, k + 1]))
        past = smooth_events(system, slice_events(events, 0, low), num_players=PLAYERS, tolerance=1e-11).state
        run = jr.run(system, slice_events(events, low, high), state=past)
        wanted = np.append(wanted, run.prediction)
    np.testing.assert_allclose(found.prediction, wanted, atol=1e-8)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-7), found.state, run.state)
    one = jr.forecasts.forecast_by_smoothing(system, events, start=start, refit=refit).prediction
    score = np.where(np.arange(N) < 15, events.score, 1.0 - events.score)
    two = jr.forecasts.forecast_by_smoothing(system, events._replace(score=score), start=start, refit=refit).prediction
    np.testing.assert_array_equal(one[:16], two[:16])
    assert (one[16:] != two[16:]).any()
    filtered = jr.run(system, events).prediction
    assert np.abs(one - wanted).max() < 0.2 * np.abs(filtered - wanted).max()
    late = jr.forecasts.forecast_by_smoothing(system, events, start=time[-1]).prediction
    np.testing.assert_array_equal(late[:-1], filtered[:-1])
    assert late[-1] != filtered[-1]


def test_ratings_as_of_any_time(double):
    """Those of a match at its time; after the last, those of the state."""
    events, system = league(seed=1, n=N), system_of("draws")
    names = np.array([f"player {i}" for i in range(PLAYERS)], object)
    found = jr.smooth(system, jr.data.Dataset(events, names, np.arange(N), clock="numbers"), tolerance=1e-10)
    smoothed = found.hindsight
    time = events.time[12]
    rating, begun = smoothed.at(time), np.isin(np.arange(PLAYERS), events.player[:13])
    np.testing.assert_allclose(rating.mean[events.player[12]], smoothed.rating.mean[12], rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(rating.mean), ~begun)
    later = events.time[-1] + 40.0
    for mine, theirs in zip(smoothed.at(later), jr.ratings(system, found.state, time=later), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    board = jr.leaderboard(found, as_of=time)
    assert set(board.player) == set(names[begun]) and all(
        (np.diff(board.rating[board.group == group]) <= 0).all() for group in set(board.group)
    )
    assert jr.leaderboard(found).rating.max() == np.asarray(jr.ratings(system, found.state).mean).max()
    with pytest.raises(ValueError, match="has hyperparameters of its own"):
        jr.ratings(found, time=3.0, params=system.params)


def timeless():
    events = league()
    return jr.data.Dataset(events, np.arange(PLAYERS), np.arange(len(events.score)), clock=None)


smooth, forecast = partial(smooth_events, jr.skills()), partial(jr.forecasts.forecast_by_smoothing, jr.skills())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: smooth_events(jr.elo(), league()), "elo has no hindsight; take jr.skills()"),
        (lambda: smooth_events(jr.glicko(), league()), r"take jr.skills\(observe=jr.parts.logistic\(\)\)"),
        (lambda: smooth_events(jr.skills(observe=jr.parts.margin()), league()), "needs the column 'margin'"),
        (lambda: smooth(jr.periods(league(), 7.0)), "takes matches or contests, each at its own time, and"),
        (lambda: smooth(league(n=0)), "there are no matches"),
        (lambda: smooth(jr.matches([[0, 1]], [1])._replace(score=np.array([2.0]))), "row 0"),
        (lambda: forecast(timeless(), start=0), "forecast needs times, and this history has none"),
        (lambda: forecast(league(), start=1e6), r"start 1000000.0 is after the last match, at [\d.]+; giv"),
        (lambda: forecast(league(), start="2099-01-31"), r"start 2099-01-31 is after .* at 19\d\d-\d\d-"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_it_says_whether_it_converged(double):
    events, system = league(seed=1, n=N), system_of("draws")
    with pytest.warns(UserWarning, match="after 2 sweeps: allow more by sweeps="):
        found = jr.smooth(system, events, sweeps=2)
    assert not found.hindsight.converged and "2, not converged" in repr(found)
    patient = jr.smooth(system, events, tolerance=1e-10)
    assert "22 matches of 12 players" in repr(patient) and f"{patient.hindsight.sweeps}, converged" in repr(patient)


def careers_of(rating):
    rows = np.repeat(np.arange(len(rating)), 2)
    return SimpleNamespace(row=rows, after=SimpleNamespace(mean=rating.ravel()), gather=np.ravel)


def test_a_field_that_drifts_is_moved_and_one_that_spreads_is_scaled():
    """In hindsight all are 66 points higher, later 100, and differences are half as large again."""
    n = 4000
    rating = np.random.default_rng(0).normal(1500.0, 100.0, (n, 2))
    drift = np.where(np.arange(n) < n // 2, 66.0, 100.0)
    mean, deviation = 1500.0 + 1.5 * (rating - 1500.0) + drift[:, None], np.full((n, 2), 60.0)
    moved, narrowed = align_hindsight(careers_of(rating), mean, deviation)
    some = np.r_[: n // 4, n - n // 4 : n]  # far from the jump
    np.testing.assert_allclose(moved[some], rating[some], atol=1e-6)
    np.testing.assert_allclose(narrowed[some], 40.0, atol=1e-6)


def test_lines_of_a_strong_player_end_together():
    """The strongest stood 150 points higher in hindsight, also where both lines knew all results."""
    n = 4000
    rating = np.random.default_rng(1).normal(1500.0, 100.0, (n, 2))
    rating[-1, 0] = 1800.0
    mean, deviation = 1500.0 + 1.5 * (rating - 1500.0), np.full((n, 2), 60.0)
    moved, _ = align_hindsight(careers_of(rating), mean, deviation)
    assert abs(moved[-1, 0] - 1800.0) < 1e-6


def test_a_field_of_equals_is_only_moved():
    rating, mean = np.full((10, 2), 1500.0), np.full((10, 2), 1600.0)
    moved, same = align_hindsight(careers_of(rating), mean, np.full((10, 2), 60.0))
    np.testing.assert_array_equal(moved, rating)
    np.testing.assert_array_equal(same, 60.0)


def test_who_has_no_events_has_no_rating_at_a_time_and_questions_of_the_time_are_refused():
    table = {"a": ["Ada"], "b": ["Bo"], "score": [1.0], "time": [1.0]}
    smoothed = jr.smooth(jr.skills(), jr.read(table)._replace(players=np.array(["Ada", "Bo", "Cy"], object)))
    assert np.isnan(jr.history.rating_at(smoothed, "Cy", 2.0).mean) and jr.ratings(smoothed).mean[2] == 1500.0
    for ask in (jr.history.upsets, jr.history.recent_form):
        with pytest.raises(ValueError, match="the history is one with hindsight; take that of jr.rate"):
            ask(smoothed)
