"""Hindsight for contests of teams against the slow twin and the filter."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.smoothing import timelines
from jaxrate.smoothing.smoother import smooth_events
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused
from tests.reference.smooth_twin import Smoother
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
@pytest.mark.parametrize("case", mark_full(CASES, "quits", "margin"))
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
