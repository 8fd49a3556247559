"""What a replay records of each event: the rows before and after it, the prediction and the event itself."""

import logging
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import MOSTLY_SINGLE

ELO = jr.elo(k=20.0, side_advantage=30.0)
PLAYER = np.array([[0, 1], [1, 2], [2, 0], [0, 1], [3, 2]])
SCORE = np.array([1.0, 0.5, 0.0, 0.0, 1.0])


def games():
    return jr.matches(PLAYER, SCORE, [0.0, 1.0, 2.0, 3.0, 4.0], side=[1, 1, 0, -1, 1])


def everything(rated):
    return rated.before.rating, rated.after.rating, rated.prediction, rated.event.score, rated.params.k


def twin():
    """Elo by hand: ratings before, after and expected scores."""
    rating, before, after, expected = np.full(4, 1500.0), [], [], []
    for (a, b), score, side in zip(PLAYER, SCORE, [1, 1, 0, -1, 1], strict=True):
        before.append(rating[[a, b]])
        lead = rating[a] - rating[b] + 30.0 * side
        expected.append(1.0 / (1.0 + 10.0 ** (-lead / 400.0)))
        rating[[a, b]] += 20.0 * (score - expected[-1]) * np.array([1.0, -1.0])
        after.append(rating[[a, b]])
    return before, after, expected


@MOSTLY_SINGLE
@pytest.mark.parametrize("schedule", ["stream", "levels"])
def test_a_record_is_of_rows_before_and_after_each_match(x64, schedule):
    found, plain = (jr.run(ELO, games(), schedule=schedule, record=x) for x in (everything, None))
    before, after, prediction, score, k = found.prediction
    for got, wanted in zip((before, after, prediction), twin(), strict=True):
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


# What the library says by `logging`, under its own name, to those who listen.


def test_the_library_logs_under_its_own_name(tmp_path, caplog):
    pytest.importorskip("pyarrow")
    caplog.set_level(logging.INFO, "jaxrate")
    live = jr.live.start_history(jr.elo())
    for _ in range(3):
        live.update("Ada", "Bo", 1.0)
    live.correct(0, score=0.0)
    live.undo()
    live._donated_state = live._current.state  # as after Ctrl-C
    jr.save(tmp_path / "run", live)
    assert {record.name.partition(".")[0] for record in caplog.records} == {"jaxrate"}
    assert [record.getMessage() for record in caplog.records] == [
        "results from number 0 on are replaced",
        "results from number 2 on are replaced",
        "a call was interrupted; the history is that of its 2 results",
        f"a history of 2 players is saved in {tmp_path / 'run'}",
    ]


def test_the_library_is_silent_by_itself_and_does_not_wait_for_jax():
    code = (
        "import logging, sys, jaxrate; logging.getLogger('jaxrate.history').warning('no');"
        "assert 'jax' not in sys.modules; print(*logging.getLogger('jaxrate').handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout.strip() == "<NullHandler (NOTSET)>"
