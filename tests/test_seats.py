"""Players in several teams of one contest, as a constructor with two cars: by twins, by hand, and through a file."""

from functools import lru_cache
from itertools import product
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import count_games, slice_events
from jaxrate.replay.plan import Block
from jaxrate.replay.schedule import arrange_blocks
from jaxrate.testing.cases import assert_close_leaves
from tests.conftest import mark_full
from tests.reference import performance_twin, trueskill_twin

CARS = [["Leclerc", "Ferrari"], ["Norris", "McLaren"], ["Sainz", "Ferrari"], ["Piastri", "McLaren"]]
NAMES = ["Leclerc", "Ferrari", "Norris", "McLaren", "Sainz", "Piastri"]
RATING = np.array([27.0, 30.0, 22.0, 25.0, 24.0, 26.0])
DEVIATION = np.array([4.0, 2.0, 8.0, 3.0, 5.0, 6.0])
SYSTEMS = {"trueskill": jr.trueskill(), "elo_mmx": jr.elo_mmx(initial_rating=0)}
PRECISIONS = pytest.mark.parametrize("double", mark_full([False, True], True))


def race(ranks=None, weights=None):
    """One contest."""
    ranks, weights = (None if x is None else [x] for x in (ranks, weights))
    return jr.data.from_teams([CARS], ranks, weights=weights, players=NAMES).rounds


def after(system, events):
    """The ratings and deviations after a contest, from these before."""
    state = system.init(system.params, len(NAMES))
    state = state._replace(rating=jnp.asarray(RATING, float), variance=jnp.asarray(DEVIATION, float) ** 2)
    state = jr.run(system, events, state=state).state
    return np.stack([np.asarray(x) for x in system.summary(system.params, state)])


def test_a_seat_is_where_the_player_first_takes_part():
    rounds = jr.rounds([3, 3, 3, 3, 5, 5], [0, 9, 1, 9, 9, 1], [0, 0, 1, 1, 0, 1], team=[4, 4, 2, 2, 1, 2])
    assert rounds.events.seat.tolist() == [0, 1, 2, 1, 0, 1]
    assert count_games(rounds, 10).tolist() == [1, 2, 0, 0, 0, 0, 0, 0, 0, 2]
    assert slice_events(rounds, 1, 2).events.seat.tolist() == [0, 1]
    assert jr.rounds([3, 3], [0, 9], [0, 1], team=[4, 2]).events.seat is None


@pytest.mark.parametrize(
    ("team", "message"),
    [
        (None, r"row 2 .*player 7 is in contest 0 twice; leave one out$"),
        ([0, 1, 0], r"row 2 .*player 7 is in contest 0 twice, in the same team; leave one out"),
        ([0, 1, 2], r"row 2 .*player 7 is in contest 0 twice, alone; leave one out"),
    ],
)
def test_a_player_twice_in_a_team_or_alone_is_refused(team, message):
    with pytest.raises(ValueError, match=message):
        jr.rounds([0, 0, 0], [7, 8, 7], [1, 1, 1], team=team)


@pytest.mark.parametrize("name", ["elo_mmr", "codeforces", "topcoder", "weng_lin"])
def test_other_systems_refuse_and_name_the_row(name):
    system, events = jr.extend.SYSTEMS[name](), race()
    message = rf"{name} rates nobody in several teams.*rate them by skills or elo_mmx or trueskill"
    for call in (jr.run, lambda system, events: jr.predict(system, system.init(system.params, 6), events)):
        with pytest.raises(ValueError, match=r"row 5 \(counting from 0\): " + message):
            call(system, events)


def test_a_comparison_leaves_the_others_out():
    data = jr.data.from_teams([CARS] * 6)
    table = jr.compare(data, ["trueskill", "weng_lin"])
    assert table.left_out == {"weng_lin": "it rates nobody in several teams"}
    with pytest.raises(ValueError, match="in several teams: weng_lin; try skills or elo_mmx or trueskill"):
        jr.compare(data, ["weng_lin"])


@PRECISIONS
@pytest.mark.parametrize(
    ("ranks", "weights"),
    [
        pytest.param([0, 1, 2, 3], None, marks=pytest.mark.full),
        ([1, 0, 1, 0], [[1.0, 0.5], [1.0, 1.0], [0.5, 2.0], [1.0, 1.0]]),
    ],
)
def test_trueskill_is_as_its_twin(ranks, weights, double):
    players = dict(zip(NAMES, zip(RATING, DEVIATION, strict=True), strict=True))
    twin = trueskill_twin.rate_seats(players, CARS, ranks, weights)
    with jax.enable_x64(double):
        result = after(jr.trueskill(), race(ranks, weights))
    np.testing.assert_allclose(result.T, [twin[name] for name in NAMES], rtol=2e-5 if double else 1e-4)


@PRECISIONS
@pytest.mark.parametrize("kind", mark_full(["sum", "mean"], "sum"))
def test_elo_mmx_is_as_its_twin(kind, double):
    events, beta, gamma = race([1, 0, 1, 2]), 3.0, 0.5
    flat = events.events
    rating, drifted = RATING[flat.player], DEVIATION[flat.player] ** 2 + gamma**2
    contest = SimpleNamespace(team=flat.team, rank=flat.rank, ceiling=np.inf)
    p, *seats = performance_twin.team_performances(rating, drifted, np.full(8, beta**2), contest, False, kind == "mean")
    wanted = performance_twin.merge_seats(flat.player, rating, drifted, *seats)
    with jax.enable_x64(double):
        system = jr.elo_mmx(team_performance=kind, beta=beta, gamma=gamma)
        mean, deviation = after(system, events)
    tolerance = {"rtol": 1e-7 if double else 1e-4}
    np.testing.assert_allclose(mean[flat.player], wanted[0], **tolerance)
    np.testing.assert_allclose(deviation[flat.player] ** 2, wanted[1], **tolerance)
    assert len({*p.round(6)}) == 8  # each seat has a performance of its own


@lru_cache
def season():
    """Ten races of two to five constructors of two cars, beside one that has none: sizes differ, some ties."""
    random, rows = np.random.default_rng(1), []
    for contest in range(10):
        cars = 2 * int(random.integers(2, 6))
        rank = random.integers(0, cars, cars)
        drivers, makers = random.permutation(12)[:cars], 12 + random.permutation(6)[: cars // 2]
        rows += [(contest, drivers[i], rank[i], i) for i in range(cars)]
        rows += [(contest, makers[i // 2], rank[i], i) for i in random.permutation(cars)]
        rows += [(contest, 18, cars, cars)]
    contest, player, rank, team = np.array(rows).T
    return jr.rounds(contest, player, rank, team=team)


def arrange_in_larger_blocks(events):
    """At most ten races one by one, padded to more seats and teams than any has."""
    number = np.full((10, 1), len(events.player_start) - 1, np.int32)
    number[: number[0, 0], 0] = range(number[0, 0])
    return arrange_blocks(events, [Block(number, (40, 24))])


@pytest.mark.parametrize(("name", "double"), mark_full([*product(SYSTEMS, (False, True))], ("trueskill", True)))
def test_levels_padding_and_one_by_one_are_alike(name, double):
    system, events = SYSTEMS[name], season()
    with jax.enable_x64(double):
        whole, state, guess = jr.run(system, events), system.init(system.params, 19), []
        for i in range(0, 10, 5):
            part = slice_events(events, i, i + 5)
            state, prediction = jr.run(system, part, state=state, schedule=arrange_in_larger_blocks(part))
            guess.append(np.asarray(prediction))
        padded = jr.run(system, events, schedule=arrange_in_larger_blocks(events))
    assert_close_leaves("the state", state, padded.state, 1e-10 if double else 1e-4)
    assert_close_leaves("predictions", np.concatenate(guess), padded.prediction, 1e-10 if double else 1e-4)
    # (TrueSkill takes a sweep more where there is room for more teams.)
    assert_close_leaves("the padded state", padded.state, whole.state, 1e-8 if double else 1e-4)
    assert_close_leaves("padded predictions", padded.prediction, whole.prediction, 1e-8 if double else 1e-4)


def test_predictions_and_performances_are_of_seats():
    events = race()
    found = np.asarray(jr.predict(jr.trueskill(), jr.trueskill().init(jr.trueskill().params, 6), events))
    np.testing.assert_allclose(found[::2], found[1::2])
    performed = jr.history.performance_ratings(SYSTEMS["elo_mmx"], events)
    assert performed.performance[1] > performed.performance[5]  # Ferrari in its two cars


@pytest.fixture
def table(tmp_path):
    """Three races as Formula 1 has them, one row for each participant of a car."""
    lines, places = ["date,contest,player,team,rank"], [(0, 1, 2, 3), (1, 3, 0, 2), (2, 0, 3, 1)]
    for i, order in enumerate(places):
        for place, car in enumerate(order, 1):
            lines += [f"2026-03-0{i + 1},Race {i},{name},car {car},{place}" for name in CARS[car]]
    path = tmp_path / "races.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", mark_full(SYSTEMS, "trueskill"))
def test_a_file_is_read_rated_carried_on_saved_and_loaded(name, table, tmp_path):
    data = jr.read(table, team="team")
    rated = jr.rate(SYSTEMS[name], data)
    board = jr.leaderboard(rated, min_games=1)
    assert sorted(zip(board.player, board.games, strict=True)) == sorted((x, 3) for x in NAMES)
    assert rated.contests == 3 and len(rated.predictions) == 24
    ferrari = jr.career(rated, "Ferrari")
    assert len(ferrari["rank"]) == 6 and (ferrari["rating"][::2] == ferrari["rating"][1::2]).all()
    jr.save(tmp_path / "saved", rated)
    loaded = jr.load(tmp_path / "saved")
    assert loaded.predictions.equals(rated.predictions) and loaded.games.tolist() == rated.games.tolist()
    live = jr.live.start_history(loaded)
    fourth, fifth = [CARS[i] for i in (1, 0, 3, 2)], [["Alonso", "Aston"], ["Stroll", "Aston"]]
    assert live.predict_round(CARS, time="2026-03-08").shape == (8,)
    live.update_round(fourth, time="2026-03-08")
    live.update_round(fifth, time="2026-03-09")
    live.correct(-2, rank=[2, 1, 1, 3])
    both = jr.data.from_teams([fourth, fifth], [[2, 1, 1, 3], [0, 1]], players=rated.players)
    wanted = jr.run(SYSTEMS[name], both, state=rated.state)
    assert_close_leaves("the ratings", np.asarray(live.to_rated().state.rating)[:9], wanted.state.rating, 1e-5)
    assert live.to_rated().games.tolist() == [4] * 6 + [1] * 3
