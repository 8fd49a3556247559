"""Live updates: the numbers of one run over the same events, kept, carried on, and never changed by an error."""

import json
import re

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.system import random_draw_rule
from jaxrate.events import Matches
from jaxrate.live.event_packing import MATCH_FORMS, PackedEvent, required_match_columns
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused

pytest.importorskip("pyarrow")
RNG = np.random.default_rng(7)
NAMES = np.array([f"player {i:02}" for i in range(12)], object)
PAIRS = np.array([RNG.choice(12, 2, replace=False) for _ in range(60)])
SCORE, TIME = RNG.integers(0, 3, 60) / 2, np.cumsum(RNG.random(60) * 9)
MATCHES = jr.matches(PAIRS, SCORE, TIME)
EXACT = "elo", "glicko", "glicko2"


def known(system, events, **more):
    return jr.data.Dataset(events, NAMES, np.arange(np.size(events.score)), **more)


def feed(live, low=0, high=60, context=lambda i: {}):
    """The predictions of some of the matches."""
    return [live.update(*NAMES[PAIRS[i]], SCORE[i], time=TIME[i], **context(i)) for i in range(low, high)]


def same(one, two, exact=True, rtol=1e-5):
    close = np.testing.assert_array_equal if exact else lambda x, y: np.testing.assert_allclose(x, y, rtol, 1e-5)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        close(np.asarray(x, float), np.asarray(y, float))


def state_of(live):
    return jax.tree.map(np.array, live.to_rated().state)


SYSTEMS = {
    "elo": jr.elo(k_new=40, new_games=5),
    "glicko": jr.glicko(),
    "glicko2": jr.glicko2(),
    "trueskill": jr.trueskill(drift=0.1),
    "weng_lin": jr.weng_lin(),
    "skills": jr.skills(),
    "blat_mmr": jr.blat_mmr(size=101, kernel_width=0.3),
    "urnings": jr.urnings(outcomes=3),
}


@MOSTLY_DOUBLE
@pytest.mark.parametrize("name", mark_full(SYSTEMS, "glicko", "skills", "urnings"))
def test_matches_are_those_of_one_run(name, x64, request):
    system, exact = SYSTEMS[name], name in EXACT
    if exact:
        request.getfixturevalue("default_policy")
    live = jr.live.start_history(system, NAMES)
    key = None if random_draw_rule(system.rules) is None else jax.random.fold_in(jax.random.key(0), 0)
    result = jr.run(system, MATCHES, key=key)
    same(np.array(feed(live)), result.prediction, exact)
    same(live.to_rated().state, result.state, exact)


def test_side_weight_columns_and_categories():
    side, weight, margin = RNG.integers(-1, 2, 60).astype(float), RNG.uniform(0.5, 2, 60), RNG.normal(size=60)
    category = RNG.integers(0, 2, 60)
    system = jr.skills(outcome="margin", categories=2, margin=("gap",), side_advantage=20.0)
    columns = {"side": side, "weight": weight, "category": category, "columns": {"gap": margin}}
    events = jr.matches(PAIRS, SCORE, TIME, **columns)
    live = jr.live.start_history(system, NAMES)
    guess = feed(live, context=lambda i: jax.tree.map(lambda x: x[i], columns))
    result = jr.run(system, events)
    same(np.array(guess), result.prediction, exact=False)
    same(live.to_rated().state, result.state, exact=False)


def test_dates_in_text_are_as_in_other_queries():
    live = jr.live.start_history(jr.glicko())
    live.update("Ada", "Bo", 1.0, time="15/07/2026")
    assert live.to_rated().last == (np.datetime64("2026-07-15") - np.datetime64(0, "D")).astype(int)


def test_side_and_weight_alone(default_policy):
    side, weight = RNG.integers(-1, 2, 60).astype(float), RNG.uniform(0.5, 2, 60)
    system = jr.glicko(side_advantage=30)
    live = jr.live.start_history(system, NAMES)
    feed(live, context=lambda i: {"side": side[i], "weight": weight[i]})
    same(live.to_rated().state, jr.run(system, jr.matches(PAIRS, SCORE, TIME, side=side, weight=weight)).state)


CONTESTS = [RNG.choice(12, size, replace=False) for size in (3, 7, 4, 7, 3, 7)]
RANKS = [np.sort(RNG.integers(0, 6, len(x))) for x in CONTESTS]


def contests(teams=False):
    which = np.repeat(np.arange(6), [len(x) for x in CONTESTS])
    number = np.concatenate([np.arange(len(x)) // (2 if teams else 1) for x in CONTESTS])
    rank = np.concatenate([x[:: 2 if teams else 1].repeat(2 if teams else 1)[: len(x)] for x in RANKS])
    return jr.rounds(which, np.concatenate(CONTESTS), rank, team=number, time=which * 5.0)


def feed_contests(live, teams=False, low=0):
    guess = []
    for i in range(low, 6):
        names, rank = NAMES[CONTESTS[i]].tolist(), RANKS[i]
        if teams:
            names, rank = [names[k : k + 2] for k in range(0, len(names), 2)], rank[::2]
        guess.append(live.update_round(names, rank, time=5.0 * i))
    return np.concatenate(guess)


@pytest.mark.parametrize("name", mark_full(["elo_mmr", "trueskill", "weng_lin"], "weng_lin"))
def test_contests_are_those_of_one_run(name):
    system = jr.extend.SYSTEMS[name]()
    teams = "teams" in system.features
    live, rounds = jr.live.start_history(system, NAMES), contests(teams)
    result = jr.run(system, rounds)
    np.testing.assert_allclose(feed_contests(live, teams), result.prediction, 1e-4, 1e-5)
    same(live.to_rated().state, result.state, exact=False, rtol=1e-4)
    whole = jr.rate(system, jr.data.Dataset(rounds, NAMES, np.arange(31)))
    mine = live.to_rated().predictions
    assert mine.column_names == whole.predictions.column_names and len(mine) == 31
    for column in ("contest", "time", "player", "rank", "participants"):
        assert mine[column].to_pylist() == whole.predictions[column].to_pylist()
    if name == "elo_mmr":
        needed = np.array(mine["rank_needed"].to_pylist(), float)
        np.testing.assert_array_equal(needed, np.array(whole.predictions["rank_needed"].to_pylist(), float))


def test_a_history_goes_on_after_it_was_saved(tmp_path, default_policy):
    system = jr.glicko()
    whole = jr.rate(system, known(system, MATCHES), calibrate=False)  # a live history predicts as its system does
    first = jr.live.start_history(system)
    feed(first, 0, 20)
    jr.save(tmp_path / "run", first.to_rated())
    second = jr.live.start_history(jr.load(tmp_path / "run"))
    feed(second, 20, 45)
    feed(second, 45, 60)
    rated = second.to_rated()
    order = [rated.players.tolist().index(name) for name in NAMES]
    same(jax.tree.map(lambda x: np.asarray(x)[order], rated.state), whole.state)
    assert rated.predictions.drop(["row"]).equals(whole.predictions.drop(["row"]))
    assert rated.games[order].tolist() == whole.games.tolist() and rated.last == whole.last
    jr.save(tmp_path / "run", rated)
    again = jr.rate(
        system,
        jr.data.Dataset(MATCHES._replace(time=MATCHES.time + 1e4), rated.players, np.arange(60)),
        onto=jr.load(tmp_path / "run"),
    )
    assert len(again.predictions) == 120


def test_newcomers_join_and_room_grows():
    live, system = jr.live.start_history(jr.elo()), jr.elo()
    pairs = np.stack([np.arange(150), np.arange(150) + 1], axis=1)
    for a, b in pairs:
        live.update(int(a), int(b), 1.0)
    rated = live.to_rated()
    same(rated.state, jr.run(system, jr.matches(pairs, np.ones(150))).state)
    assert rated.players.tolist() == list(range(151)) and rated.games.sum() == 300 and rated.clock is None
    assert live.predict(10_000, 151) == 0.5 and len(live.players) == 151


def test_errors_change_nothing():
    live = jr.live.start_history(jr.glicko())
    feed(live, 0, 20)
    before, told, players = state_of(live), live.to_json(), live.players
    last = float(TIME[19])
    bad = [
        (("Ada", "Ada", 1.0), {"time": last}, "player 'Ada' is on both sides"),
        (("Ada", "Bo", 1.5), {"time": last}, "score must be from 0 to 1, got 1.5"),
        (("Ada", "Bo", np.nan), {"time": last}, "score must be from 0 to 1"),
        (("Ada", "Bo", "won"), {"time": last}, "score must be a number, got 'won'"),
        (("Ada", "Bo", None), {"time": last}, "score must be a number"),
        (("Ada", "Bo", 1.0), {"time": last - 1}, "is earlier than"),
        (("Ada", "Bo", 1.0), {"time": np.nan}, "time must be finite"),
        (("Ada", "Bo", 1.0), {"time": "2024-01-01"}, "counts time in numbers"),
        (("Ada", "Bo", 1.0), {}, "give time="),
        (("Ada", "Bo", 1.0), {"time": last, "side": 2}, "side must be from -1 to 1"),
        (("Ada", "Bo", 1.0), {"time": last, "weight": 0}, "weight must be a finite number above 0"),
        (("Ada", "Bo", 1.0), {"time": last, "weight": np.inf}, "weight must be a finite number above 0"),
        (
            ("Ada", "Bo", 1.0),
            {"time": last, "court": 1},
            "columns; give court as columns={'court': 1}",
        ),
        (("Ada", "Bo", 1.0), {"time": last, "columns": {"x": np.inf}}, "column 'x' is inf"),
        (("Ada", 7, 1.0), {"time": last}, "of another type than"),
        (("Ada", None, 1.0), {"time": last}, "None cannot be the name of a player"),
        (("Ada", [1], 1.0), {"time": last}, "cannot be the name of a player"),
    ]
    for given, more, message in bad:
        with refused(message):
            live.update(*given, **more)
    with refused("glicko rates no contests; take update"):
        live.update_round(["Ada", "Bo"], time=last)
    with refused("no player 'Ada'"):
        live.rating("Ada")
    same(state_of(live), before)
    assert live.to_json() == told and live.players == players
    feed(live, 20)
    same(jr.ratings(jr.live.start_history(live.to_rated()).to_rated()).mean, jr.ratings(live.to_rated()).mean)


def test_errors_of_contests_change_nothing():
    live = jr.live.start_history(jr.codeforces())
    live.update_round(["Ada", "Bo"])
    before = live.to_json()
    bad = [
        ((["Ada", "Ada"],), {}, "player 'Ada' is in contest 0 twice"),
        ((["Ada", "Cy"], [1]), {}, "rank must have 2 numbers"),
        ((["Ada", "Cy"], [1, np.nan]), {}, "rank is nan"),
        (("Ada",), {}, "players must be a list of names"),
        (([],), {}, "players must be a list of names"),
        (([["Ada"], []],), {}, "team 1 (counting from 0) has no players"),
        (([["Ada", "Bo"], ["Cy"]],), {}, "codeforces knows no teams"),
        ((["Ada", "Cy"],), {"weight": -1}, "weight -1.0 is not above 0"),
        ((["Ada", "Cy"],), {"noise": 2.0}, "codeforces knows no noise"),
        ((["Ada", "Cy"],), {"time": 1.0}, "have no times"),
    ]
    for given, more, message in bad:
        with refused(message):
            live.update_round(*given, **more)
    with refused("the history is of contests, this is one of matches"):
        live.update("Ada", "Bo", 1.0)
    assert live.to_json() == before and live.players == ["Ada", "Bo"]


def test_what_live_refuses():
    with refused("live ratings are of matches and contests"):
        jr.live.start_history(jr.category_glicko())
    with refused("players names somebody twice"):
        jr.live.start_history(jr.elo(), ["Ada", "Ada"])
    with refused("of another type than"):
        jr.live.start_history(jr.elo(), ["Ada", 3])
    with refused("a rated history has players of its own"):
        jr.live.start_history(jr.rate(jr.elo(), known(jr.elo(), MATCHES)), NAMES)
    with refused("rating is not a number for some player"):
        jr.live.start_history(jr.elo(), ["Ada"], jr.elo().init(jr.elo().params, 1)._replace(rating=np.array([np.nan])))
    with refused("start_history: rated must be a History"):
        jr.live.start_history("elo")
    with refused("nothing has been rated yet"):
        jr.live.start_history(jr.elo(), ["Ada"]).to_rated()


def test_predictions_and_ratings_as_of_a_time():
    live = jr.live.start_history(jr.glicko(c=60), NAMES)
    feed(live)
    rated, later = live.to_rated(), float(TIME[-1]) + 200.0
    coming = jr.matches([[0, 1]], [0.5], [later])
    assert live.predict(NAMES[0], NAMES[1], time=later) == jr.predict(rated.system, rated.state, coming)[0]
    now = jr.ratings(rated, time=later)
    assert live.rating(NAMES[3], time=later) == (float(now.mean[3]), float(now.deviation[3]))
    assert live.rating(NAMES[3]).deviation < live.rating(NAMES[3], time=later).deviation
    told = json.loads(live.to_json())
    assert told["player"] == NAMES.tolist() and told["last"] == TIME[-1]
    np.testing.assert_array_equal(told["rating"], np.asarray(jr.ratings(rated).mean, float))
    assert "12 players, 60 new events" in repr(live)


def test_dates():
    live = jr.live.start_history(jr.glicko())
    live.update("Ada", "Bo", 1.0, time="2024-01-01")
    live.update("Ada", "Bo", 0.5, time="2024-02-01")
    with refused("time 2024-01-31 is earlier than 2024-02-01, that of the last event"):
        live.update("Ada", "Bo", 1.0, time="2024-01-31")
    for call in (live.update, live.predict):
        with refused("time 1706745600.0 is no date, but the history has dates; give one, as 2026-05-31 in text"):
            call("Ada", "Bo", *[0.5] * (call == live.update), time=1706745600.0)
    with refused("time 20000 is no date"):
        live.rating("Ada", time=20000)
    rated = live.to_rated()
    assert rated.clock == "dates" and str(rated.predictions["time"][1]) == "2024-02-01"
    assert json.loads(live.to_json())["last"] == "2024-02-01"


def test_a_contest_to_come():
    live = jr.live.start_history(jr.weng_lin(), NAMES)
    feed_contests(live, teams=True)
    teams = [["player 00", "player 01"], ["player 02"], ["new"]]
    rounds = jr.rounds([0] * 4, [0, 1, 2, 12], [0, 0, 1, 2], team=[0, 0, 1, 2], time=[35.0] * 4)
    want = jr.predict(live.system, live.to_rated().state, rounds, num_players=13)
    np.testing.assert_allclose(live.predict_round(teams), want, 1e-5)
    assert len(live.players) == 12


def test_a_large_state_is_not_copied():
    live = jr.live.start_history(jr.glicko(), range(70_000))
    event, history = PackedEvent(Matches, MATCH_FORMS[False, False], [3, 69_000], [1.0, 0.0]), live._history
    given = history._program_arguments(history.current.state, event, 0)
    text = history._compile_program(event)[1].lower(*given, None).compile().as_text()
    assert "f32[131072]" in text and not re.findall(r"f32\[131072\]\S* copy\(", text)


@pytest.mark.parametrize("name", ["glicko", "periods", "contests"])
def test_a_history_tells_what_each_event_left(name):
    system = jr.weng_lin() if name == "contests" else jr.glicko(period=100)
    events = {"glicko": MATCHES, "periods": jr.periods(MATCHES, 100.0), "contests": contests()}[name]
    found, plain = (jr.history.rating_history(system, events, after=x) for x in (True, False))
    assert plain.after is None
    same(found.state, plain.state, exact=False)
    before, after = np.asarray(found.before.mean), np.asarray(found.after.mean)
    player = MATCHES.player if name != "contests" else events.events.player
    last = {who: at for at, who in np.ndenumerate(player)}
    final = jr.ratings(system, found.state)
    assert (found.after.deviation is None) == (final.deviation is None)
    for got, want in zip(found.after, final, strict=True):
        for who, at in last.items() if want is not None else ():
            np.testing.assert_allclose(np.asarray(got)[at], np.asarray(want)[who], rtol=1e-6)
    first = {who: at for at, who in reversed([*np.ndenumerate(player)])}
    assert all(before[at] == system.params.initial_rating != after[at] for at in list(first.values())[-3:])


def test_matches_without_columns_are_checked_as_columns_only_where_a_system_has_a_check_of_its_own():
    """As columns of one row checks take twice as long as the update itself."""
    assert all(required_match_columns(system).is_simple for system in (jr.elo(), jr.glicko(), jr.trueskill()))
    assert not any(required_match_columns(system).is_simple for system in (jr.codeforces(), jr.skills()))
