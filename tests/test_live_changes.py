"""Live histories that are stopped in the middle, corrected and undone: always those of one replay of their log."""

import itertools
import linecache
import sys
import threading

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full, refused

pytest.importorskip("pyarrow")
RESULTS = [("Ada", "Bo", 1.0), ("Bo", "Cy", 0.5), ("Cy", "Ada", 0.0), ("Di", "Bo", 1.0), ("Ada", "Di", 0.5)]
SWAP = ("self.current = new_state",)  # between the look before it and this line Python runs no handler
HERE = "jaxrate/live/live_ratings", "jaxrate/live/live_history", "jaxrate/live/event_record_layout"


def feed(live, results=RESULTS, first=0):
    return [live.update(a, b, score, time=float(i)) for i, (a, b, score) in enumerate(results, first)]


def played(results, system=None):
    """A live history of these results from the start."""
    live = jr.live.start_history(system or jr.glicko())
    feed(live, results)
    return live


def check_same(live, wanted):
    """To the bit: names, state, last event, and the table."""
    assert live.players == wanted.players and live.to_json() == wanted.to_json() and repr(live) == repr(wanted)
    one, two = live.to_rated(), wanted.to_rated()
    assert one.predictions.equals(two.predictions) and (one.games == two.games).all()
    for x, y in zip(jax.tree.leaves(one.state), jax.tree.leaves(two.state), strict=True):
        np.testing.assert_array_equal(x, y)


def at_line(number, act, skip=()):
    """A tracer that acts at the line of that number in the files of `Live`; and how many there were."""
    count = [0]

    def local(frame, event, argument):
        if event == "line" and linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() not in skip:
            count[0] += 1
            if count[0] == number:
                sys.settrace(None)
                act()
        return local

    return (lambda frame, event, argument: local if any(x in frame.f_code.co_filename for x in HERE) else None), count


def interrupt():
    raise KeyboardInterrupt


def traced(tracer, call):
    sys.settrace(tracer)
    try:
        return call()
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("new", mark_full([False, True], True))
def test_an_update_that_is_stopped_at_any_line_leaves_the_history_before_or_after_it(new):
    more = ("Ada", "Eve" if new else "Bo", 1.0)
    wanted = [played(RESULTS[:2]), played(RESULTS[:2])]
    wanted[1].update(*more, time=5.0)
    told = [x.to_json() for x in wanted]
    number, seen = 0, set()
    while True:
        number += 1
        live = played(RESULTS[:2])
        tracer, count = at_line(number, interrupt)
        try:
            traced(tracer, lambda live=live: live.update(*more, time=5.0))
        except KeyboardInterrupt:
            after = told.index(live.to_json())
            seen.add(after)
            check_same(live, wanted[after])
            feed(live, [more] * (2 - after), 5)
            assert live.to_rated().games.sum() == 8
        else:
            assert count[0] < number
            break
    assert number > 30 and seen == {0, 1}


def test_late_results_are_rated_where_they_belong(x64):
    rows = [(*result, float(time)) for result, time in zip(RESULTS, (0, 1, 1, 2, 5), strict=True)]
    wanted = jr.live.start_history(jr.glicko())
    chances = [wanted.update(*row[:3], time=row[3]) for row in rows]
    for order in itertools.permutations(range(5)):
        if order.index(1) < order.index(2):  # of one time: in the order in which they come
            live = jr.live.start_history(jr.glicko())
            for i in order:
                chance = live.insert(*rows[i][:3], time=rows[i][3])
            check_same(live, wanted)
            assert chance == chances[order[-1]]
            live.undo(3)
            check_same(live, played(RESULTS[:2]))


def test_a_late_result_that_is_wrong_or_older_than_the_rated_past_is_refused():
    live = jr.live.start_history(played(RESULTS).to_rated())
    live.update("Ada", "Zed", 1.0, time=9.0)
    before = live.to_json()
    for match, time, message in (
        (("Ada", "Bo", 1.0), 3.0, "time 3 is earlier than 4"),
        (("Ada", "Ada", 1.0), 8.0, "on both sides"),
        (("Ada", "New", 2.0), 8.0, "score must be from 0 to 1"),
        (("Ada", "New", 1.0), None, "give time="),
    ):
        with refused(message):
            live.insert(*match, time=time)
        assert live.to_json() == before
    live.insert("New", "Zed", 0.5, time=8.0)
    assert live.players[-2:] == ["New", "Zed"]


@pytest.mark.full
def test_putting_a_stopped_update_in_order_may_be_stopped_too():
    wanted, number, more = played(RESULTS[:2]), 0, ("Ada", "Bo", 1.0)
    while True:
        number += 1
        live = played(RESULTS[:2])
        live._history.layouts[0] = None  # so that the update fails behind the program, which took the buffers
        program = live._history.programs.popitem()
        live._history.programs[program[0]] = (None, program[1][1])
        with pytest.raises(AttributeError):
            live.update(*more, time=5.0)
        live._history.layouts[0] = program[1][0]
        live._history.programs[program[0]] = program[1]
        tracer, count = at_line(number, interrupt)
        try:
            traced(tracer, live.to_json)
        except KeyboardInterrupt:
            check_same(live, wanted)
        else:
            assert count[0] < number
            break
    assert number > 30


@pytest.mark.parametrize("lines", mark_full([1, 3], 3))
def test_a_signal_handler_may_read_and_rate_in_the_middle_of_an_update(lines):
    more, inner, number, orders = ("Ada", "Bo", 1.0), ("Fay", "Ada", 1.0), 1 - lines, set()
    while True:
        number += lines
        live = played(RESULTS[:2])

        def handle(live=live):
            live.to_rated()
            live.update(*inner, time=5.0)

        tracer, count = at_line(number, handle, SWAP)
        traced(tracer, lambda live=live: live.update(*more, time=5.0))
        if count[0] < number:
            break
        again, last = played(RESULTS[:2]), _order(live)[2:]
        assert sorted(last) == [more, inner]
        for a, b, score in last:
            again.update(a, b, score, time=5.0)
        check_same(live, again)
        orders.add(last[0])
    assert number > 30 and orders == {more, inner}


def _order(live):
    table = live.to_rated().predictions
    return [*zip(*(table[name].to_pylist() for name in ("a", "b", "score")), strict=True)]


def test_a_device_that_fails_in_an_update_loses_nothing(monkeypatch):
    live = played(RESULTS)
    ((form, (layout, program)),) = live._history.programs.items()

    def fail(*given):
        program(*given)
        raise RuntimeError("out of memory")

    live._history.programs[form] = layout, fail
    with pytest.raises(RuntimeError, match="out of memory"):
        live.update("Ada", "Bo", 1.0, time=5.0)
    live._history.programs[form] = layout, program
    check_same(live, played(RESULTS))


def test_a_precision_that_is_switched_between_updates_changes_nothing():
    live = played(RESULTS[:2])
    with jax.enable_x64(True):
        feed(live, RESULTS[2:4], 2)
        live.predict("Ada", "Zoe")
        live.to_rated()
    feed(live, RESULTS[4:], 4)
    check_same(live, played(RESULTS))


def test_threads_take_turns():
    live, lost = jr.live.start_history(jr.elo()), []

    def work(name):
        try:
            for _ in range(40):
                live.update(name, "everybody", 1.0)
                assert 0 < live.predict(name, "everybody") < 1
                live.to_json()
        except Exception as error:
            lost.append(error)

    threads = [threading.Thread(target=work, args=(f"player {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not lost and live.to_rated().games.tolist().count(40) == 4
    again = jr.live.start_history(jr.elo())
    for a, b, score in _order(live):
        again.update(a, b, score)
    check_same(live, again)


@pytest.mark.parametrize("n", [0, 1, 2, 4, 5])
def test_results_are_undone(n):
    live = played(RESULTS)
    live.to_rated()
    live.undo(n)
    if n == 5:
        assert live.players == [] and "0 new events" in repr(live)
        live.update("Eve", "Bo", 1.0, time="2026-01-01")  # which is of another clock
        return
    check_same(live, played(RESULTS[: 5 - n]))
    feed(live, RESULTS[5 - n :], 5 - n)
    check_same(live, played(RESULTS))


@pytest.mark.parametrize("index", [0, 3, -1])
def test_a_result_is_corrected(index):
    live = played(RESULTS)
    live.to_rated()
    live.correct(index, score=0.25)
    right = list(RESULTS)
    right[index] = (*RESULTS[index][:2], 0.25)
    check_same(live, played(right))


def test_checkpoints_shorten_the_way_back(monkeypatch):
    monkeypatch.setattr("jaxrate.live.live_history.CHECKPOINT_EVENTS", 4)
    monkeypatch.setattr("jaxrate.live.live_history.CHECKPOINT_CAPACITY_SHARE", 64)
    results = RESULTS * 4
    live, right = played(results), list(results)
    assert [x.number for x in live._history.current.past.checkpoints] == [0, 8, 12, 16, 20]
    for index, numbers in ((17, [0, 8, 12, 16, 17]), (3, [0, 3])):
        live.correct(index, score=0.25)
        right[index] = (*right[index][:2], 0.25)
        assert [x.number for x in live._history.current.past.checkpoints] == numbers
    live.undo(2)
    check_same(live, played(right[:-2]))


def test_what_cannot_be_undone_or_corrected_changes_nothing():
    live = played(RESULTS)
    for call, message in (
        (lambda: live.undo(6), "n must be a whole number from 0 to 5, the results rated live, got 6"),
        (lambda: live.undo(-1), "n must be a whole number from 0 to 5"),
        (lambda: live.undo(1.0), "n must be a whole number from 0 to 5"),
        (lambda: live.correct(5, score=1), "no result 5: 5 results were rated live, counted from 0; -1 is the last"),
        (lambda: live.correct(0, score=2), "score must be from 0 to 1"),
        (lambda: live.correct(0, rank=[1, 2]), "a match has a score; give score="),
        (lambda: live.correct(0), "a match has a score; give score=, side="),
        (lambda: live.correct(0, side=3), "side must be from -1 to 1"),
        (lambda: live.correct("last", score=1), "no result 'last'"),
    ):
        with refused(message):
            call()
    check_same(live, played(RESULTS))
    fresh = jr.live.start_history(jr.elo())
    with refused("nothing to undo: no result since start_history"):
        fresh.undo()
    with refused("nothing to correct: no result since start_history"):
        fresh.correct(-1, score=1)


def test_contests_are_corrected_and_undone():
    teams = [["Ada", "Bo"], ["Cy"], ["Di"]]

    def rate(ranks):
        live = jr.live.start_history(jr.trueskill())
        for rank in ranks:
            live.update_round(teams, rank)
        return live

    live = rate([[1, 2, 3], [2, 1, 3], [3, 2, 1], [1, 1, 1]])
    live.correct(1, rank=[1, 1, 2])
    live.undo()
    check_same(live, rate([[1, 2, 3], [1, 1, 2], [3, 2, 1]]))
    with refused("a contest has ranks; give rank=, category=, columns=, weight=, ceiling= or noise="):
        live.correct(0, score=1.0)
    with refused("rank must have 3 numbers"):
        live.correct(0, rank=[1, 2])


def test_margins_are_not_asked_of_a_match_to_come_and_are_asked_of_one_that_was_played():
    system = jr.skills(outcome="margin", margin=("gap",), covariates=("rest",))
    live = jr.live.start_history(system)
    lacks = "skills learns from 'gap', which is missing; give columns={'gap': ..."
    for given in ({}, {"columns": {"rest": 1.0}}):
        with refused(lacks):
            live.update("Ada", "Bo", 1.0, **given)
    with refused("learns from 'rest', which is missing"):
        live.update("Ada", "Bo", 1.0, columns={"gap": 1.0})
    expected = live.predict("Ada", "Bo", columns={"rest": 1.0})
    assert live.update("Ada", "Bo", 1.0, columns={"gap": 3.0, "rest": 1.0}) == pytest.approx(expected)
    live.correct(-1, columns={"gap": 1.0, "rest": 1.0})
    again = jr.live.start_history(system)
    again.update("Ada", "Bo", 1.0, columns={"gap": 1.0, "rest": 1.0})
    check_same(live, again)


def test_sides_are_named_as_in_a_table():
    system = jr.glicko(side_advantage=50)
    lives = [jr.live.start_history(system) for _ in range(4)]
    for live, side in zip(lives, ("a", 1.0, "b", -1.0), strict=True):
        live.update("Ada", "Bo", 1.0, side=side)
    check_same(*lives[:2])
    check_same(*lives[2:])
    lives[0].correct(0, side="b")
    check_same(lives[0], lives[2])
    with refused("side must be a number, 'a' or 'b', got 'home'"):
        lives[0].predict("Ada", "Bo", side="home")
