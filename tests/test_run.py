"""`run`, `predict`, `ratings` and `leaderboard`: what they refuse, leave alone and promise beyond the contract."""

import logging
import subprocess
import sys
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.text_format import format_credible_intervals
from jaxrate.history.event_columns import empty_event_columns
from jaxrate.replay.execution import CompilePolicy
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, draw_pairs, mark_full, refused

PLAYERS = 10
DISTINCT = ["stream", "levels", "periods"]
FORMS = [*DISTINCT, "auto"]


def league(n=40, players=PLAYERS, seed=0):
    random = np.random.default_rng(seed)
    player = draw_pairs(random, players, n)
    player[-1] = [players - 1, 0]
    return jr.matches(player, random.integers(0, 3, n) / 2, np.arange(n) * 0.7)


NOTHING = jr.matches(np.zeros((0, 2), int), [])


def run(system, matches, form, **options):
    if form == "periods":
        return jr.run(system, jr.periods(matches, 7.0), **options)
    return jr.run(system, matches, schedule=form, **options)


def fresh(system, players=PLAYERS):
    return system.init(system.params, players)


def equal(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


WRONG_SCHEDULE = "schedule of matches (if not a plan) must be 'auto', 'stream' or 'levels', got "
WRONG_BLOCKS = "schedule of periods (if not a plan) must be 'auto' or 'levels', got "
REFUSALS = [
    *((form, {"state": 9}, "the events name player 9, but there are only 9 players") for form in FORMS),
    *((form, {"num_players": 4}, "the events name player 9, but there are only 4 players") for form in FORMS),
    *((form, {}, f"{WRONG_SCHEDULE}{form!r}") for form in ("Stream", "period")),
    (7, {}, "run: schedule must be text or a Plan, got 7"),
    *(("periods", {"schedule": form}, f"{WRONG_BLOCKS}{form!r}") for form in ("stream", "nonsense")),
]


@pytest.mark.parametrize(("form", "options", "message"), REFUSALS)
def test_what_run_refuses(form, options, message):
    system = jr.elo()
    if "state" in options:
        options = {"state": fresh(system, options["state"])}
    with refused(message):
        run(system, league(), form, **options)


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_history_leaves_the_state_as_it_was(form):
    system = jr.glicko()
    result = run(system, NOTHING, form, num_players=4)
    equal(result.state, fresh(system, 4))
    assert result.prediction.shape == (0,)
    state = run(system, league(), form).state
    equal(run(system, NOTHING, form, state=state).state, state)
    assert run(system, NOTHING, form).state.rating.shape == (0,)
    contests = jr.run(jr.elo_mmr(), jr.rounds([], [], []), num_players=3)
    equal((contests.state, contests.prediction), (fresh(jr.elo_mmr(), 3), np.zeros(0)))


def slow_elo(matches, params):
    """Ratings of both players before and after each match, and expected scores."""
    rating, before, after, expected = np.full(matches.player.max() + 1, 1500.0), [], [], []
    sides = np.zeros(len(matches.score)) if matches.context.side is None else matches.context.side
    for pair, score, side in zip(matches.player, matches.score, sides, strict=True):
        before.append(rating[pair])
        lead = rating[pair[0]] - rating[pair[1]] + params.side_advantage * side
        expected.append(1.0 / (1.0 + 10.0 ** (-lead / 400.0)))
        rating[pair] += params.k * (score - expected[-1]) * np.array([1.0, -1.0])
        after.append(rating[pair])
    return before, after, expected


@pytest.mark.parametrize("schedule", ["stream", 3, 8])
def test_predictions_come_in_the_order_of_the_input(schedule):
    matches = league()
    _, after, wanted = slow_elo(matches, jr.elo().params)
    arranged = schedule if schedule == "stream" else jr.extend.schedule_by_level(matches, schedule)
    result = jr.run(jr.elo(), matches, schedule=arranged)
    np.testing.assert_allclose(result.prediction, wanted, rtol=1e-5)
    last = {
        player: x for pair, row in zip(matches.player, after, strict=True) for player, x in zip(pair, row, strict=True)
    }
    np.testing.assert_allclose(np.asarray(result.state.rating)[[*last]], [*last.values()], rtol=1e-6)
    assert len(np.unique(np.round(wanted, 5))) > 30, "the predictions do not tell the matches apart"


@pytest.mark.parametrize("form", DISTINCT)
def test_a_state_of_jax_or_of_numpy_is_neither_overwritten_nor_deleted(form):
    system, matches = jr.glicko(), league()
    first = run(system, matches, form)
    before = jax.tree.map(np.array, first.state)
    copy = jax.tree.map(np.array, before)
    second = run(system, matches, form, state=first.state)
    assert not any(x.is_deleted() for x in jax.tree.leaves(first.state))
    assert (np.asarray(second.state.rating) != before.rating).any()
    equal(run(system, matches, form, state=first.state), second)
    equal(run(system, matches, form, state=copy), second)
    equal(first.state, before)
    equal(copy, before)


def test_upcoming_matches_are_predicted_each_at_its_own_time(x64):
    """As each would be in a run that goes on."""
    system = jr.glicko(c=30.0)
    state = jr.run(system, league(), num_players=PLAYERS + 1).state
    coming = [(0, 1, 30.0), (3, 0, 30.0), (0, 1, 100.0), (2, 10, 365.0), (0, 1, 5000.0)]
    one_by_one = [jr.matches([x[:2]], [1], [x[2]]) for x in coming]
    got = jr.predict(system, state, jr.matches([x[:2] for x in coming], [1, 0, 0.5, 1, 0], [x[2] for x in coming]))
    wanted = [float(jr.run(system, x, state=state).prediction[0]) for x in one_by_one]
    np.testing.assert_allclose(got, wanted, rtol=1e-12 if x64 else 1e-5)
    assert len({round(wanted[i], 4) for i in (0, 2, 4)}) == 3


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (jr.periods(jr.matches([[0, 1]], [1]), 1.0), "elo predicts Matches, not Periods"),
        (jr.Matches(np.array([[1, 1]]), np.ones(1), np.zeros(1)), "row 0 (counting from 0): player 1 is on both sides"),
    ],
)
def test_what_predict_refuses(events, message):
    with refused(message):
        jr.predict(jr.elo(), fresh(jr.elo(), 3), events)


@MOSTLY_SINGLE
def test_rows_beyond_the_state_are_newcomers(x64):
    system, matches = jr.glicko2(), league()
    half = jr.run(system, jax.tree.map(lambda x: x[:20], matches), num_players=4 * PLAYERS)
    small = jax.tree.map(lambda x: x[:PLAYERS], half.state)
    rest = jax.tree.map(lambda x: x[20:], matches)
    want = jr.run(system, rest, state=half.state)
    got = jr.run(system, rest, state=small, num_players=4 * PLAYERS)
    jax.tree.map(np.testing.assert_array_equal, tuple(got), tuple(want))
    coming = jr.matches([[0, 4 * PLAYERS - 1]], [1], [50.0])
    guess = jr.predict(system, small, coming, num_players=4 * PLAYERS)
    np.testing.assert_array_equal(guess, jr.predict(system, half.state, coming))
    with refused(f"the state has {PLAYERS} players, but there are only {PLAYERS - 1} players"):
        jr.run(system, NOTHING, state=small, num_players=PLAYERS - 1)


def played(system):
    """The state after one match on day 10, with a third player who has not played."""
    return jr.run(system, jr.matches([[0, 1]], [1], [10.0]), num_players=3).state


def test_ratings_use_the_given_parameters():
    system = jr.glicko()
    state = played(system)
    still = jr.ratings(system, state, time=500.0, params=system.params._replace(c=0.0))
    np.testing.assert_array_equal(still.deviation, jr.ratings(system, state).deviation)


def board_state(system=None):
    system = system or jr.elo()
    state = fresh(system, 5)
    return state._replace(rating=jnp.array([1400.0, 1700.0, 1500.0, 1700.0, 1650.0]))


def history_at_end(system, state, names=None):
    """A history without its events, as of files that were rated by chunks."""
    n = len(jax.tree.leaves(state)[0])
    players = np.arange(n) if names is None else np.array(names)
    return jr.History(system, state, players, np.ones(n, int), None, None, None, empty_event_columns(of_contests=False))


@pytest.mark.parametrize("factory", [jr.elo_mmr, jr.elo_mmx])
@pytest.mark.parametrize(
    ("settings", "limit"),
    [({"limit_deviation": 60.0}, 60.0), ({"beta": 60.0 * 6**0.5, "gamma": 60.0 * 0.2**0.5}, 60.0)],
)
def test_a_cautious_leaderboard_of_elo_mmr_counts_deviations_above_the_limit(factory, settings, limit):
    system = factory(**settings)
    rating, deviation = np.array([1900.0, 1800.0, 1700.0]), np.array([200.0, 60.0, 62.0])
    state = fresh(system, 3)._replace(rating=jnp.asarray(rating), variance=jnp.asarray(deviation) ** 2)
    board = jr.leaderboard(history_at_end(system, state), cautious=3.0)
    assert board.player.tolist() == [1, 2, 0] and board.deviation is None
    np.testing.assert_allclose(board.rating, (rating - 3.0 * (deviation - limit))[[1, 2, 0]], rtol=1e-5)


def test_the_interval_is_two_deviations_wide_and_widens_with_time():
    system = jr.glicko(c=100.0, deviation_max=None)
    state = board_state(system)._replace(variance=jnp.full(5, 100.0**2), time=jnp.zeros(5))
    now, later = (jr.leaderboard(history_at_end(system, state), top=1, as_of=time) for time in (None, 21.0))
    np.testing.assert_allclose([now.deviation[0], later.deviation[0]], [100, 200], rtol=1e-6)
    assert format_credible_intervals([25.3], [2]) == ["21.4 to 29.2"]  # small ratings in tenths
    assert "1,504 to 1,896" in str(now) and "1,308 to 2,092" in str(later)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="options of the CPU")
@pytest.mark.parametrize(
    ("make", "schedule", "x64"),
    mark_full(
        [glicko := (jr.glicko, "levels", True), (jr.glicko2, "levels", True), (jr.trueskill, "stream", False)], glicko
    ),
    indirect=["x64"],
)
def test_short_histories_are_compiled_sooner_to_the_same_numbers(make, schedule, x64):
    del x64
    matches, found = league(2_000, 200), []
    for policy in (CompilePolicy(), CompilePolicy(short_history=0)):
        found.append(jr.run(make(), matches, schedule=schedule, policy=policy))
    jax.tree.map(np.testing.assert_array_equal, *found)


def test_two_fields_of_a_fresh_state_may_be_one_array():
    """A rating and a peak that begin alike ended in a message about donated buffers."""

    def init(params, num_players, copy=False):
        start = jnp.full(num_players, 1500.0)
        return system.init(params, num_players)._replace(rating=start, games=start + 0.0 if copy else start)

    system = jr.elo(k_new=40, new_games=30)
    shared, apart = (jr.run(system._replace(init=x), league()) for x in (init, partial(init, copy=True)))
    np.testing.assert_array_equal(shared.state.rating, apart.state.rating)


ELO = jr.elo(k=20.0, side_advantage=30.0)
PLAYER = np.array([[0, 1], [1, 2], [2, 0], [0, 1], [3, 2]])
SCORE = np.array([1.0, 0.5, 0.0, 0.0, 1.0])


def games():
    return jr.matches(PLAYER, SCORE, [0.0, 1.0, 2.0, 3.0, 4.0], side=[1, 1, 0, -1, 1])


def everything(rated):
    return rated.before.rating, rated.after.rating, rated.prediction, rated.event.score, rated.params.k


@MOSTLY_SINGLE
@pytest.mark.parametrize("schedule", ["stream", "levels"])
def test_a_record_is_of_rows_before_and_after_each_match(x64, schedule):
    found, plain = (jr.run(ELO, games(), schedule=schedule, record=x) for x in (everything, None))
    before, after, prediction, score, k = found.prediction
    for got, wanted in zip((before, after, prediction), slow_elo(games(), ELO.params), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12 if x64 else 1e-6)
    np.testing.assert_array_equal(score, SCORE)
    np.testing.assert_array_equal(k, np.full(5, 20.0))
    np.testing.assert_array_equal(prediction, plain.prediction)
    np.testing.assert_array_equal(found.state.rating, plain.state.rating)
    assert plain._fields == ("state", "prediction")


def test_a_scan_records_what_a_run_does_and_slopes_pass_through():
    wanted = jr.run(ELO, games(), record=everything).prediction
    state = ELO.init(ELO.params, 4)

    @jax.jit
    def last(k):
        found = jr.scan(ELO, ELO.params._replace(k=k), state, games(), record=everything).prediction
        return found[1][-1, 0], found

    (_, found), slope = jax.value_and_grad(last, has_aux=True)(jnp.asarray(20.0))
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-6), found, wanted)
    assert 0.4 < float(slope) < 1.6


def rows_of_players(rated):
    """Not a row for each pair of a period: there may be more pairs than players."""
    return rated.before.rating


def sides(rated):
    pair = rated.event.pair
    return rated.prediction, rated.before.rating[pair], rated.after.rating[pair]


def test_a_record_of_periods_has_a_row_for_each_pair():
    events = jr.periods(games(), 10.0)
    prediction, before, after = jr.run(ELO, events, record=sides).prediction
    np.testing.assert_array_equal(prediction, jr.run(ELO, events).prediction)
    np.testing.assert_array_equal(before, np.full((5, 2), 1500.0))
    final = np.asarray(jr.run(ELO, events).state.rating)
    np.testing.assert_array_equal(after, final[PLAYER])
    with pytest.raises(ValueError, match="record must return a row for each pair of a period, .* here, got"):
        jr.run(ELO, jr.periods(jr.matches([[0, 1]] * 100, np.ones(100)), 1.0), record=rows_of_players)


def test_a_record_of_rounds_has_a_row_for_each_participant():
    rounds = jr.rounds([0, 0, 0, 1, 1], [0, 1, 2, 2, 0], [0, 1, 2, 0, 1])
    before, after = jr.run(jr.codeforces(), rounds, record=lambda x: (x.before.rating, x.after.rating)).prediction
    np.testing.assert_array_equal(before[:3], [1500.0] * 3)
    np.testing.assert_array_equal(before[3:], [after[2], after[0]])


def test_rounds_are_predicted_from_one_state_as_of_their_own_times():
    """Whoever plays in several of them plays in each from the same state."""
    system = jr.trueskill(drift=2.0)
    state = jr.run(system, jr.rounds([0, 0, 0], [0, 1, 2], [0, 1, 2])).state
    contest, player, rank, time = [0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 0, 1, 0, 2], [0, 1, 2, 0, 1, 0, 1, 2], 9.0
    coming = jr.rounds(contest, player, rank, time=[time] * 3 + [2 * time] * 2 + [3 * time] * 3)
    found = np.asarray(jr.predict(system, state, coming))
    for number, at in enumerate((slice(0, 3), slice(3, 5), slice(5, 8)), 1):
        count = len(player[at])
        alone = jr.rounds([0] * count, player[at], rank[at], time=[number * time] * count)
        np.testing.assert_allclose(found[at], jr.predict(system, state, alone), rtol=1e-6)


def test_the_library_logs_under_its_own_name(tmp_path, caplog):
    caplog.set_level(logging.INFO, "jaxrate")
    live = jr.live.start_history(jr.elo())
    live.update("Ada", "Bo", 1.0)
    live.correct(0, score=0.0)
    jr.save(tmp_path / "run", live)
    assert [record.name.partition(".")[0] for record in caplog.records] == ["jaxrate"] * 2


def test_the_library_is_silent_by_itself_and_does_not_wait_for_jax():
    code = (
        "import logging, sys, jaxrate; logging.getLogger('jaxrate.history').warning('no');"
        "assert 'jax' not in sys.modules; print(*logging.getLogger('jaxrate').handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout.strip() == "<NullHandler (NOTSET)>"


DUELS_PLAYERS = 12
SYSTEMS = {
    "elo_mmr": jr.elo_mmr(3, newcomer=(0.6, 0.8), drift=20.0),
    "elo_mmx": jr.elo_mmx(drift=15.0),
    "codeforces": jr.codeforces(),
    "topcoder": jr.topcoder(),
    "weng_lin": jr.weng_lin("plackett_luce", drift=0.7),
    "thurstone": jr.weng_lin("thurstone_mosteller_part", drift=0.7),
}


@lru_cache
def both():
    """[n] matches with draws and weights, and the same as contests of two."""
    random, n = np.random.default_rng(5), 60
    player = draw_pairs(random, DUELS_PLAYERS, n)
    score, weight, time = random.integers(0, 3, n) / 2, random.choice([0.5, 1.0], n), np.sort(random.uniform(0, 90, n))
    rank = np.stack([score < 0.5, score > 0.5], axis=1)
    pair = [np.repeat(x, 2) for x in (np.arange(n), weight, time)]
    contests = jr.rounds(pair[0], player.ravel(), rank.ravel(), weight=pair[1], time=pair[2])
    return jr.matches(player, score, time, weight=weight), contests


@MOSTLY_DOUBLE
@pytest.mark.parametrize("schedule", mark_full(["auto", "stream"], "stream"))
@pytest.mark.parametrize("name", mark_full(SYSTEMS, "elo_mmx", "weng_lin"))
def test_matches_are_contests_of_two(name, schedule, x64):
    matches, contests = both()
    wanted = jr.run(SYSTEMS[name], contests, num_players=DUELS_PLAYERS)
    got = jr.run(SYSTEMS[name], matches, num_players=DUELS_PLAYERS, schedule=schedule)
    for x, y in zip(jax.tree.leaves(got.state), jax.tree.leaves(wanted.state), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12 if x64 else 1e-5, atol=1e-12 if x64 else 1e-4)
    np.testing.assert_allclose(got.prediction, wanted.prediction[::2], atol=1e-6 if x64 else 1e-4)
    np.testing.assert_allclose(wanted.prediction[1::2], 1.0 - np.asarray(got.prediction), atol=1e-6 if x64 else 1e-4)
    assert np.ptp(np.asarray(wanted.state.rating)) > 10.0


def test_other_scores_are_refused():
    said = "row 1 (counting from 0): elo_mmr ranks the two players of a match, and score 0.7 is no win, draw or loss"
    with refused(said):
        jr.run(jr.elo_mmr(), jr.matches([[0, 1], [1, 0]], [1.0, 0.7]))
