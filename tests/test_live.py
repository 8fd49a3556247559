"""Live updates: the numbers of one run over the same events, kept, carried on, and never changed by an error."""

import itertools
import json
import linecache
import re
import sys
import threading

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.dataset_names import NamesOfEarlierData
from jaxrate.events import Matches
from jaxrate.live.live_ratings import MATCH_FORMS, PackedEvent
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused

pytest.importorskip("pyarrow")
RNG = np.random.default_rng(7)
NAMES = np.array([f"player {i:02}" for i in range(12)], object)
PAIRS = np.array([RNG.choice(12, 2, replace=False) for _ in range(60)])
SCORE, TIME = RNG.integers(0, 3, 60) / 2, np.cumsum(RNG.random(60) * 9)
MATCHES = jr.matches(PAIRS, SCORE, TIME)
KNOWN = jr.data.Dataset(MATCHES, NAMES, np.arange(60))
EXACT = "elo", "glicko", "glicko2"


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
    key = None if system.rules.draw is None else jax.random.fold_in(jax.random.key(0), 0)
    result = jr.run(system, MATCHES, key=key)
    same(np.array(feed(live)), result.prediction, exact)
    same(live.to_rated().state, result.state, exact)


SIDE, WEIGHT, MARGIN = RNG.integers(-1, 2, 60).astype(float), RNG.uniform(0.5, 2, 60), RNG.normal(size=60)
COLUMNS = {"side": SIDE, "weight": WEIGHT, "category": RNG.integers(0, 2, 60), "columns": {"gap": MARGIN}}


@pytest.mark.parametrize(
    ("system", "fields"),
    [
        (jr.glicko(side_advantage=30), ("side", "weight")),
        (jr.skills(parts.modifier(2), parts.side(20.0), observe=parts.margin("gap")), COLUMNS),
    ],
    ids=["glicko", "skills"],
)
def test_sides_weights_columns_and_categories(system, fields, default_policy):
    columns = {name: COLUMNS[name] for name in fields}
    live = jr.live.start_history(system, NAMES)
    guess = feed(live, context=lambda i: jax.tree.map(lambda x: x[i], columns))
    result, exact = jr.run(system, jr.matches(PAIRS, SCORE, TIME, **columns)), system.name in EXACT
    same(np.array(guess), result.prediction, exact)
    same(live.to_rated().state, result.state, exact)


CONTESTS = [RNG.choice(12, size, replace=False) for size in (3, 7, 4, 7, 3, 7)]
TIMES = [5.0 * i for i in range(6)]
RANKS = [np.sort(RNG.integers(0, 6, len(x))) for x in CONTESTS]


def in_teams(size):
    """The teams of up to this size of each contest, and their ranks."""
    teams = [[NAMES[x[k : k + size]].tolist() for k in range(0, len(x), size)] for x in CONTESTS]
    return teams, [rank[::size].tolist() for rank in RANKS]


def feed_contests(live, size):
    columns = zip(*in_teams(size), TIMES, strict=True)
    return np.concatenate([live.update_round(teams, rank, time=time) for teams, rank, time in columns])


@pytest.mark.parametrize("name", mark_full(["elo_mmr", "trueskill", "weng_lin"], "weng_lin"))
def test_contests_are_those_of_one_run(name):
    system = jr.extend.SYSTEMS[name]()
    size = 1 + ("teams" in system.features)
    live, data = jr.live.start_history(system, NAMES), jr.data.from_teams(*in_teams(size), time=TIMES, players=NAMES)
    result = jr.run(system, data)
    np.testing.assert_allclose(feed_contests(live, size), result.prediction, 1e-4, 1e-5)
    same(live.to_rated().state, result.state, exact=False, rtol=1e-4)
    whole = jr.rate(system, data)
    mine = live.to_rated().predictions
    assert mine.column_names == whole.predictions.column_names and len(mine) == 31
    for column in ("contest", "time", "player", "rank", "participants"):
        assert mine[column].to_pylist() == whole.predictions[column].to_pylist()
    if name == "elo_mmr":
        needed = np.array(mine["rank_needed"].to_pylist(), float)
        np.testing.assert_array_equal(needed, np.array(whole.predictions["rank_needed"].to_pylist(), float))


def test_a_history_goes_on_after_it_was_saved(tmp_path, default_policy):
    system = jr.glicko()
    whole = jr.rate(system, KNOWN, calibrate=False)  # a live history predicts as its system does
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
    later = jr.data.Dataset(MATCHES._replace(time=MATCHES.time + 1e4), rated.players, np.arange(60))
    assert len(jr.rate(system, later, onto=jr.load(tmp_path / "run")).predictions) == 120


def test_newcomers_join_and_room_grows():
    live, system = jr.live.start_history(jr.elo()), jr.elo()
    pairs = np.stack([np.arange(150), np.arange(150) + 1], axis=1)
    for a, b in pairs:
        live.update(int(a), int(b), 1.0)
    rated = live.to_rated()
    same(rated.state, jr.run(system, jr.matches(pairs, np.ones(150))).state)
    assert rated.players.tolist() == list(range(151)) and rated.games.sum() == 300 and rated.clock is None
    assert live.predict(10_000, 151) == 0.5 and len(live.players) == 151


LAST = {"time": float(TIME[19])}
WRONG_MATCHES = [  # and what is said of them
    (("Ada", "Ada", 1.0), LAST, "player 'Ada' is on both sides"),
    (("Ada", "Bo", 1.0), {"time": float(TIME[19]) - 1}, "is earlier than"),
    (("Ada", "Bo", 1.0), {"time": np.nan}, "time must be finite"),
    (("Ada", "Bo", 1.0), {"time": "2024-01-01"}, "counts time in numbers"),
    (("Ada", "Bo", 1.0), {}, "give time="),
    (("Ada", "Bo", 1.0), LAST | {"court": 1}, "columns; give a number of your own as columns={'court': 0.5}"),
    (("Ada", 7, 1.0), LAST, "of another type than"),
    (("Ada", None, 1.0), LAST, "None cannot be the name of a player"),
]
WRONG_CONTESTS = [
    ((["Ada", "Ada"],), {}, "player 'Ada' is in contest 0 twice"),
    ((["Ada", "Cy"], [1]), {}, "rank has shape (1,), expected (2,)"),
    (("Ada",), {}, "players must be a list of names"),
    (([["Ada"], []],), {}, "team 1 (counting from 0) has no players"),
    (([["Ada", "Bo"], ["Cy"]],), {}, "codeforces knows no teams"),
    ((["Ada", "Cy"],), {"noise": 2.0}, "codeforces knows no noise"),
    ((["Ada", "Cy"],), {"time": 1.0}, "have no times"),
]


def test_errors_change_nothing():
    matches, contests = jr.live.start_history(jr.glicko()), jr.live.start_history(jr.codeforces())
    feed(matches, 0, 20)
    contests.update_round(["Ada", "Bo"])
    before = [(live.to_json(), live.players, state_of(live)) for live in (matches, contests)]
    calls = [(matches.update, *case) for case in WRONG_MATCHES]
    calls += [(contests.update_round, *case) for case in WRONG_CONTESTS]
    calls += [
        (matches.update_round, (["Ada", "Bo"],), LAST, "glicko rates no contests; take update"),
        (matches.rating, ("Ada",), {}, "no player 'Ada'"),
        (matches.predict, ("Ada", " "), {}, "' ' cannot be the name of a player"),
        (contests.update, ("Ada", "Bo", 1.0), {}, "the history is of contests, this is one of matches"),
        (contests.rating, ("Adda",), {}, "no player 'Adda' (near: 'Ada')"),
    ]
    for call, given, more, message in calls:
        with refused(message):
            call(*given, **more)
    for live, (told, players, state) in zip((matches, contests), before, strict=True):
        assert (live.to_json(), live.players) == (told, players)
        same(state_of(live), state)
    feed(matches, 20)
    again = jr.live.start_history(matches.to_rated())
    same(jr.ratings(again.to_rated()).mean, jr.ratings(matches.to_rated()).mean)


def test_what_live_refuses():
    rated, state = jr.rate(jr.elo(), KNOWN), jr.elo().init(jr.elo().params, 1)
    for given, message in (
        ((jr.category_glicko(),), "live ratings are of matches and contests"),
        ((jr.elo(), ["Ada", "Ada"]), "players names somebody twice"),
        ((jr.elo(), ["Ada", 3]), "of another type than"),
        ((jr.elo(), {"Ada": 3}), "players must be a list of names, got {'Ada': 3}"),
        ((rated, NAMES), "a rated history has players of its own"),
        ((jr.elo(), ["Ada"], state._replace(rating=np.array([np.nan]))), "rating is not a number for some player"),
    ):
        with refused(message):
            jr.live.start_history(*given)
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
    live.update("Ada", "Bo", 1.0, time="15/07/2026")  # in text as in other queries
    assert live.to_rated().last == (np.datetime64("2026-07-15") - np.datetime64(0, "D")).astype(int)


def test_a_contest_to_come():
    live = jr.live.start_history(jr.weng_lin(), NAMES)
    feed_contests(live, 2)
    teams = [["player 00", "player 01"], ["player 02"], ["new"]]
    rounds = jr.rounds([0] * 4, [0, 1, 2, 12], [0, 0, 1, 2], team=[0, 0, 1, 2], time=[35.0] * 4)
    want = jr.predict(live.system, live.to_rated().state, rounds, num_players=13)
    np.testing.assert_allclose(live.predict_round(teams), want, 1e-5)
    assert len(live.players) == 12


def test_a_large_state_is_not_copied():
    live = jr.live.start_history(jr.glicko(), range(70_000))
    event = PackedEvent(MATCH_FORMS[()], [3, 69_000], [1.0, 0.0])
    live.update(3, 69_000, 1.0)
    program = live._programs[Matches].lower(*live._arguments(event), live._current.state, None)
    text = program.compile().as_text()
    assert "f32[131072]" in text and not re.findall(r"f32\[131072\]\S* copy\(", text)


# Names of live histories: those that no table holds are refused, and those like others are told.

BROKEN = {  # names that no table holds, and what is said of them
    "a\ud800": "is no Unicode text",
    2**70: "does not fit into 64 bits with a sign; give it as text",
    "x" * 10_000_000: "is longer than 10,000 characters",
}


@pytest.mark.parametrize("name", BROKEN, ids=lambda name: str(name)[:1] + type(name).__name__)
def test_live_refuses_the_names_that_read_refuses(name):
    others = [type(name)(1), type(name)(2)]
    live = jr.live.start_history(jr.elo())
    live.update(*others, 1.0)
    before = live.to_json()
    known = NamesOfEarlierData([*others, name])
    calls = [
        lambda: live.update(others[0], name, 1.0),
        lambda: live.predict(name, others[0]),
        lambda: jr.live.start_history(jr.elo(), [name]),
        lambda: jr.live.start_history(jr.elo_mmr()).update_round([others[0], name]),
        lambda: jr.rate(jr.elo(), jr.read({"a": others, "b": [others[1], name], "score": [1, 1]})),
        lambda: jr.rate(jr.elo(), jr.read({"a": others[:1], "b": others[1:], "score": [1]}, history=known)),
    ][: 4 if isinstance(name, int) else None]  # columns with such numbers are text
    for call in calls:
        with refused(BROKEN[name]):
            call()
    assert before == live.to_json()


def test_newcomers_whose_names_look_like_those_of_players_are_told():
    live = jr.live.start_history(jr.elo(), players=["Zoë"])
    live.update("Bo", "Ada", 1.0)
    for name in ("Zoe", "zoë", "Bo "):
        with pytest.warns(
            UserWarning, match="taken as new players, though they differ .* accents: .* \\(near: '"
        ) as told:
            live.update(name, "Ada", 1.0)
        assert told[0].filename == __file__
        live.update(name, "Cy", 1.0)  # who is known by now
        live.undo(2)
    with pytest.raises(UserWarning, match="'Zoe' .near: 'Zoë'"):  # which warnings are here
        live.update("Zoe", "Ada", 1.0)
    assert "Zoe" not in live.players
    live.undo()
    live.update("ada", "bo", 1.0)  # the others are gone
    with pytest.warns(UserWarning, match="'ADA' .near: 'ada'"):  # who came after an undo is compared as anybody is
        live.update("ADA", "Cy", 1.0)
    contests = jr.live.start_history(jr.weng_lin())
    contests.update_round(["Ada", "Bo", "Zoë"])
    with pytest.warns(UserWarning, match="'Zoe' .near: 'Zoë'"):
        contests.update_round(["Ada", "Bo", "Zoe"])
    for predict in (lambda: live.predict("Addaa", "Cy"), lambda: contests.predict_round(["Addaa", "Bo"])):
        with pytest.warns(UserWarning, match="'Addaa' has not played, and is predicted as a newcomer .near: '") as told:
            predict()
        assert told[0].filename == __file__
    assert "Addaa" not in live.players


# Live contests of teams with modes, statistics, covariates and quits: the numbers of one run.

GAMES = [  # teams, ranks, mode, kills, party, quit
    ([["Ada", "Bo"], ["Cy", "Di"]], [1, 2], "duo", [3.0, 0.0, -1.0, -2.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]),
    ([["Ada"], ["Cy"]], [1, 2], "solo", [1.0, -1.0], 0.0, 0.0),
    ([["Ada", "Di"], ["Bo", "Cy"]], [1, 1], "duo", [0.0, np.nan, 0.5, -0.5], [0.0, 0.0, 1.0, 1.0], np.nan),
    ([["Bo"], ["Di"], ["Eve"]], [2, 1, 3], "solo", [0.0, 1.0, -1.0], 0.0, 0.0),
]
SYSTEM = jr.skills(
    parts.modifier(2),
    parts.experience(20.0),
    parts.covariate("party", 15.0),
    observe=(parts.statistic("kills"), parts.quits("left")),
)


EARLIER = NamesOfEarlierData([], np.array(["duo", "solo"]))


def as_data(games):
    rows = []
    for number, (teams, ranks, mode, *columns) in enumerate(games):
        sizes = [*map(len, teams)]
        kills, party, left = (np.broadcast_to(x, sum(sizes)).tolist() for x in columns)
        names = [name for team in teams for name in team]
        for i, (name, team) in enumerate(zip(names, np.repeat(range(len(teams)), sizes).tolist(), strict=True)):
            rows.append((number, name, team, ranks[team], mode, kills[i], party[i], left[i], 10.0 * number))
    names = "contest", "player", "team", "rank", "mode", "kills", "party", "left", "t"
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    left = np.array(table.pop("left"))
    data = jr.read(table, team="team", category="mode", statistics="kills", covariates="party", history=EARLIER)
    flat = data.rounds.events
    return data._replace(events=data.rounds._replace(events=flat._replace(columns=flat.columns | {"left": left})))


def teams_feed(live, games, first=0):
    predictions = []
    for number, (teams, ranks, mode, kills, party, left) in enumerate(games, first):
        columns = {"kills": kills, "party": party, "left": left}
        predictions.append(live.update_round(teams, ranks, time=10.0 * number, category=mode, columns=columns))
    return np.concatenate(predictions)


def test_corrections_and_errors():
    live = jr.live.start_history(jr.rate(SYSTEM, as_data(GAMES[:1])))
    teams_feed(live, GAMES[1:3], 1)
    live.correct(-1, rank=[2, 1], columns={"kills": [1.0, 2.0, 3.0, 4.0], "party": 0.0, "left": 0.0})
    changed = [*GAMES[:2], (GAMES[2][0], [2, 1], "duo", [1.0, 2.0, 3.0, 4.0], 0.0, 0.0)]
    mean = jr.rate(SYSTEM, as_data(changed)).state.mean
    np.testing.assert_allclose(live.to_rated().state.mean, mean, atol=1e-2)
    live.correct(-1, category="solo")
    mean = jr.rate(SYSTEM, as_data([*GAMES[:2], (*changed[2][:2], "solo", *changed[2][3:])])).state.mean
    np.testing.assert_allclose(live.to_rated().state.mean, mean, atol=1e-2)
    teams, known = GAMES[0][0], {"kills": 0.0, "party": 0.0, "left": 0.0}
    for given, message in (
        ({"category": "trio", "columns": known}, "category must be 'duo' or 'solo', got 'trio'"),
        ({"columns": known}, "parts.modifier needs the category of the contests"),
        ({"category": "duo", "columns": {"party": 0.0, "left": 0.0}}, "skills needs the column 'kills' of the"),
        ({"category": "duo", "kills": 3}, "contests have no 'kills'; they have weight, ceiling, noise, category and"),
        ({"category": ["duo", "solo"], "columns": known}, "category"),
    ):
        with refused(message):
            live.update_round(teams, time=99.0, **given)


def test_a_list_of_lists_has_a_value_for_each_member():
    flat, nested = jr.live.start_history(jr.trueskill()), jr.live.start_history(jr.trueskill())
    teams = [["Ada", "Bo", "Cy"], ["Di", "Eve"]]
    flat.update_round(teams, weight=[0.5, 0.5, 1.0, 1.0, 0.75])
    nested.update_round(teams, weight=[[0.5, 0.5, 1.0], [1.0, 0.75]])
    assert flat.to_json() == nested.to_json()
    with refused("weight"):
        nested.update_round(teams, weight=[[0.5, 0.5], [1.0, 0.75]])


# Live histories that are stopped in the middle, corrected and undone: always those of one replay of their log.

RESULTS = [("Ada", "Bo", 1.0), ("Bo", "Cy", 0.5), ("Cy", "Ada", 0.0), ("Di", "Bo", 1.0), ("Ada", "Di", 0.5)]
SWAP = ("self._current = new_state",)  # between the look before it and this line Python runs no handler
HERE = ("jaxrate/live/live_ratings",)


def changes_feed(live, results=RESULTS, first=0):
    return [live.update(a, b, score, time=float(i)) for i, (a, b, score) in enumerate(results, first)]


def played(results, system=None):
    """A live history of these results from the start."""
    live = jr.live.start_history(system or jr.glicko())
    changes_feed(live, results)
    return live


def check_same(live, wanted):
    """To the bit: names, state, last event, and the table."""
    assert live.players == wanted.players and live.to_json() == wanted.to_json() and repr(live) == repr(wanted)
    one, two = live.to_rated(), wanted.to_rated()
    assert one.predictions.equals(two.predictions) and (one.games == two.games).all()
    jax.tree.map(np.testing.assert_array_equal, one.state, two.state)


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


def stopped_at_each_line(make, call):
    """Live histories, each of which was interrupted at another line of a call, as by Ctrl-C."""
    for number in itertools.count(1):
        live = make()
        tracer, count = at_line(number, interrupt)
        try:
            traced(tracer, lambda live=live: call(live))
        except KeyboardInterrupt:
            yield live
        else:
            assert count[0] < number and number > 30
            return


@pytest.mark.parametrize("new", mark_full([False, True], True))
def test_an_update_that_is_stopped_at_any_line_leaves_the_history_before_or_after_it(new):
    more = ("Ada", "Eve" if new else "Bo", 1.0)
    wanted = [played(RESULTS[:2]), played(RESULTS[:2])]
    wanted[1].update(*more, time=5.0)
    told, seen = [x.to_json() for x in wanted], set()
    for live in stopped_at_each_line(lambda: played(RESULTS[:2]), lambda live: live.update(*more, time=5.0)):
        after = told.index(live.to_json())
        seen.add(after)
        check_same(live, wanted[after])
        changes_feed(live, [more] * (2 - after), 5)
        assert live.to_rated().games.sum() == 8
    assert seen == {0, 1}


@MOSTLY_DOUBLE
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
        (("Ada", "New", 2.0), 8.0, "score 2.0 is outside [0, 1]"),
        (("Ada", "New", 1.0), None, "give time="),
    ):
        with refused(message):
            live.insert(*match, time=time)
        assert live.to_json() == before
    live.insert("New", "Zed", 0.5, time=8.0)
    assert live.players[-2:] == ["New", "Zed"]


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


def fail_in_update(live, result):
    """An update that fails behind the program, which took the buffers."""
    program = live._programs[Matches]

    def fail(*given):
        program(*given)
        raise RuntimeError("out of memory")

    live._programs[Matches] = fail
    with pytest.raises(RuntimeError, match="out of memory"):
        live.update(*result, time=5.0)
    live._programs[Matches] = program


def test_a_device_that_fails_in_an_update_loses_nothing():
    live = played(RESULTS)
    fail_in_update(live, ("Ada", "Bo", 1.0))
    check_same(live, played(RESULTS))


def test_a_precision_that_is_switched_between_updates_changes_nothing():
    live = played(RESULTS[:2])
    with jax.enable_x64(True):
        changes_feed(live, RESULTS[2:4], 2)
        live.predict("Ada", "Zoe")
        live.to_rated()
    changes_feed(live, RESULTS[4:], 4)
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


def test_results_are_undone():
    live = played(RESULTS)
    live.undo(2)
    check_same(live, played(RESULTS[:3]))
    live.undo(3)
    assert live.players == [] and "0 new events" in repr(live)
    live.update("Eve", "Bo", 1.0, time="2026-01-01")  # which is of another clock


def test_a_result_is_corrected():
    live = played(RESULTS)
    live.correct(3, score=0.25)
    check_same(live, played([*RESULTS[:3], ("Di", "Bo", 0.25), RESULTS[4]]))


def test_checkpoints_shorten_the_way_back(monkeypatch):
    monkeypatch.setattr("jaxrate.live.live_ratings.CHECKPOINT_EVENTS", 4)
    monkeypatch.setattr("jaxrate.live.live_ratings.CHECKPOINT_CAPACITY_SHARE", 64)
    results = RESULTS * 4
    live, right = played(results), list(results)
    assert [x.number for x in live._current.checkpoints] == [0, 8, 12, 16, 20]
    for index, numbers in ((17, [0, 8, 12, 16, 17]), (3, [0, 3])):
        live.correct(index, score=0.25)
        right[index] = (*right[index][:2], 0.25)
        assert [x.number for x in live._current.checkpoints] == numbers
    live.undo(2)
    check_same(live, played(right[:-2]))


def test_what_cannot_be_undone_or_corrected_changes_nothing():
    live = played(RESULTS)
    for call, message in (
        (lambda: live.undo(6), "n, of the results rated live, must be a whole number from 0 to 5, got 6"),
        (lambda: live.correct(5, score=1), "index, from 0 or, of the last, -1, must be a whole number from -5 to 4,"),
        (lambda: live.correct(0, score=2), "score 2.0 is outside [0, 1]"),
        (lambda: live.correct(0, rank=[1, 2]), "the history is of matches; give score="),
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
    with refused("the history is of contests; give rank="):
        live.correct(0, score=1.0)


def test_margins_are_not_asked_of_a_match_to_come_and_are_asked_of_one_that_was_played():
    system = jr.skills(parts.covariate("rest"), observe=parts.margin("gap"))
    live = jr.live.start_history(system)
    for given, missing in (({"rest": 1.0}, "gap"), ({"gap": 1.0}, "rest")):
        with refused(f"skills needs the column '{missing}' of the matches"):
            live.update("Ada", "Bo", 1.0, columns=given)
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
    with refused("side must be a number, 'a' or 'b', got"):
        lives[0].predict("Ada", "Bo", side="home")
