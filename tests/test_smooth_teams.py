"""Hindsight for contests of teams against the slow twin, the exact posterior and the filter."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.smoothing import timelines
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.system import skills_by_name
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused
from tests.reference.smooth_twin import Smoother, dense
from tests.reference.teams_twin import TeamSkills
from tests.test_skills_teams import CASES, PLAYERS, contests_of, history, system_of, twin_of

CONTESTS = 16


def short_history(mixed=False, seed=0, n=CONTESTS, **options):
    """As of the filter, where a player in several teams meets one category and has one side in all of them."""
    rounds = history(mixed=mixed, seed=seed, n=n, **options)
    flat, start = rounds.events, rounds.player_start
    first = np.repeat(start[:-1], np.diff(start)) + (0 if flat.seat is None else flat.seat)
    columns = flat.columns | {"side": flat.columns["side"][first]}
    return rounds._replace(events=flat._replace(category=flat.category[first], columns=columns))


@MOSTLY_DOUBLE
@pytest.mark.parametrize("case", mark_full(CASES, "quits"))
def test_against_the_twin(x64, monkeypatch, case):
    """Those who quit in groups of contests of several sizes, whose participants lie in another order than here."""
    rounds = short_history(n=9)
    if case == "quits":
        rounds = short_history(mixed=True, seed=7, n=9, teams=(2, 2, 3, 4))
        monkeypatch.setattr(timelines, "FREE_PADDING", 10)
        monkeypatch.setattr(timelines, "BLOCK_NUMBERS", 40)
        assert len(timelines.group_events(rounds)) > 1
    found = smooth_events(system_of(case), rounds, num_players=PLAYERS, tolerance=1e-11 if x64 else 3e-6)
    twin, digits = Smoother(twin_of(case), contests_of(rounds)), 1e-8 if x64 else 1e-4
    twin.converge(damping=0.7, tolerance=1e-10)
    mean, variance = twin.parts()
    np.testing.assert_allclose(found.prediction, twin.predictions(), atol=digits)
    np.testing.assert_allclose(found.evidence, twin.evidence(), rtol=digits)
    parts = found.components
    if parts is None:
        contest = np.repeat(np.arange(len(twin.rows)), [len(x) for x in twin.rows])
        learns = np.array([len({one.team for one in x}) > 1 for _, x in twin.events])[contest]
        games = np.array(twin.games_before) + learns
        experience = getattr(system_of(case).params, "experience", None)
        parts = jr.extend.Rating(*(np.asarray(x)[:, None] for x in found.rating))
        mean = mean + (0.0 if experience is None else experience * np.log1p(games)[:, None])
    np.testing.assert_allclose(parts.mean, mean, atol=300 * digits)
    np.testing.assert_allclose(parts.deviation, np.sqrt(variance), atol=300 * digits)
    for name in twin.nodes:
        last = twin.prior(name)[2]
        np.testing.assert_allclose(np.ravel(found.state.mean[name]), last.m, atol=300 * digits)
        np.testing.assert_allclose(np.reshape(found.state.covariance[name], last.P.shape), last.P, atol=2e4 * digits)


def margins(teams, n, seats):
    """Contests with points and without ties, and a league without bounds of variances."""
    params = {"noise": 250.0, "initial_rating": 0.0, "initial_deviation": 150.0, "deviation_max": 1e5,
              "growth": 10.0, "match_growth": 5.0, "margin_scale": 20.0, "team_noise": 60.0}  # fmt: skip
    rounds = short_history(n=n, teams=teams)
    flat = rounds.events
    kept = np.ones(len(flat.player), bool) if seats or flat.seat is None else flat.seat == np.concatenate(
        [np.arange(k) for k in np.diff(rounds.player_start)]
    )  # fmt: skip
    contest = np.repeat(np.arange(n), np.diff(rounds.player_start))[kept]
    points = np.random.default_rng(3).permutation(100)[contest * 7 % 50 + flat.team[kept]] * 1.0
    rounds = jr.rounds(
        contest, flat.player[kept], -points, team=flat.team[kept], time=flat.time[contest], weight=flat.weight[kept],
        columns={"points": points},
    )  # fmt: skip
    system = skills_by_name(outcome="margin", margin="points", **params)
    return Smoother(TeamSkills("margin", **params), contests_of(rounds)), system, rounds


def test_margins_are_exact(double):
    """Means are those of a dense Kalman smoother, with players in several teams too."""
    twin, system, rounds = margins((2, 3, 4), 12, seats=True)
    assert rounds.events.seat is not None
    found = smooth_events(system, rounds, tolerance=1e-12, sweeps=2000)
    mean, variance, _ = dense(twin)
    np.testing.assert_allclose(found.rating.mean, mean[:, 0], atol=1e-7)
    less = np.asarray(found.rating.deviation) / np.sqrt(variance[:, 0])
    assert less.min() > 0.7 and less.mean() < 1.0


def test_contests_that_are_refused():
    plain = [0, 0, 1, 1], [0, 1, 1, 2], [1, 2, 1, 2]
    with refused("row 2 (counting from 0): time 1.0 is earlier than 2.0 in the row before; sort the contests by time"):
        smooth_events(jr.skills(), jr.rounds(*plain, time=[2, 2, 1, 1]))
    seats = jr.rounds([0] * 4, [0, 1, 0, 2], [1, 1, 2, 2], team=[0, 0, 1, 1], category=[0, 0, 1, 0])
    with refused("player 0 meets another category in another of their teams"):
        smooth_events(jr.skills(jr.parts.modifier(2)), seats)
    sides = seats._replace(
        events=seats.events._replace(category=None, columns={"side": np.array([1.0, 0.0, -1.0, 0.0])})
    )
    with refused("player 0 has another side in another of their teams"):
        smooth_events(jr.skills(jr.parts.own_side()), sides)
    with refused("there are no contests to smooth"):
        smooth_events(jr.skills(), jr.rounds([], [], []), num_players=3)


def test_form_is_part_of_ratings(double):
    """The last of each player, and those of later times, are those of the state."""
    rounds, system = short_history(n=9), system_of("draws")  # as the twin's, whose programs it shares
    found = smooth_events(system, rounds, num_players=PLAYERS, tolerance=1e-9)
    flat, late = rounds.events, rounds.events.time[-1] + 3.0
    last = {player: row for row, player in enumerate(flat.player.tolist())}
    state = jr.ratings(system, found.state)
    for one, two in zip(found.rating, state, strict=True):
        np.testing.assert_allclose(np.asarray(one)[[*last.values()]], np.asarray(two)[[*last]], rtol=1e-8)
    for one, two in zip(found.at(late), jr.ratings(system, found.state, time=late), strict=True):
        np.testing.assert_allclose(np.asarray(one)[[*last]], np.asarray(two)[[*last]], rtol=1e-8)


def named_history():
    """As the twin's, whose programs it shares."""
    rounds = short_history(n=9)
    names = np.array([f"player {i}" for i in range(PLAYERS)], object)
    contests = np.array([f"race {i}" for i in range(9)], object)
    return jr.data.Dataset(rounds, names, np.arange(len(rounds.events.player)), clock="numbers", contests=contests)


def test_pages_show_contests_in_hindsight(double):
    data, system = named_history(), system_of("draws")
    found, rated = jr.smooth(system, data), jr.rate(system, data)
    page = jr.site.report_html(rated, top=1, smoothed=found)
    assert "in hindsight" in page
    with refused("smoothed must be of the same contests as the rated history, in their order"):
        jr.site.report_html(rated._replace(events={name: x[2:] for name, x in rated.events.items()}), smoothed=found)
