"""Leagues of one table are rated as if each had a table of its own."""

import re
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from tests.conftest import mark_full

pytest.importorskip("pyarrow")


def games(count=60):
    """Matches of two leagues, whose players have the same names; with sides, weights and times."""
    random = np.random.default_rng(0)
    pairs = np.array([random.choice(8, 2, replace=False) for _ in range(count)])
    table = {"a": pairs[:, 0], "b": pairs[:, 1], "score": random.choice([0.0, 0.5, 1.0], count)}
    table |= {"t": np.sort(random.random(count)), "home": random.choice([-1, 1], count), "w": random.random(count) + 1}
    return table | {"league": random.choice(["N", "S/1"], count)}


def races():
    random = np.random.default_rng(0)
    table = {"contest": np.repeat(np.arange(10), 4), "rank": np.tile(np.arange(4), 10)}
    table |= {"player": np.concatenate([random.permutation(6)[:4] for _ in range(10)])}
    return table | {"league": np.repeat(np.where(np.arange(10) % 3, "N", "S/1"), 4)}


@pytest.mark.filterwarnings("ignore:rank counts from 0")
@pytest.mark.parametrize("kind", ["matches", "periods", "contests"])
@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(2)], ids=["here", "threads"])
def test_a_league_is_rated_as_if_it_were_alone(kind, executor, share):
    table, options, system = games(), {"side": "home", "weight": "w"}, jr.glicko(side_advantage=40.0)
    if kind == "contests":
        table, options, system = races(), {}, share()
    more = {"period": 0.25} if kind == "periods" else {}
    found = jr.history.rate_leagues(system, jr.read(table, **options), table["league"], executor=executor, **more)
    assert [*found] == [*dict.fromkeys(table["league"])]
    for name, rated in found.items():
        own = {column: values[table["league"] == name] for column, values in table.items()}
        alone = jr.rate(system, jr.read(own, **options), **more)
        order = [rated.players.tolist().index(player) for player in alone.players]
        for x, y in zip(jax.tree.leaves(rated.state), jax.tree.leaves(alone.state), strict=True):
            np.testing.assert_array_equal(np.asarray(x)[order], y)
        assert rated.games[order].tolist() == alone.games.tolist()
        assert rated.predictions.drop("row").equals(alone.predictions.drop("row"))
        assert rated.predictions["row"].to_pylist() == np.flatnonzero(table["league"] == name).tolist()


@pytest.mark.filterwarnings("ignore:rank counts from 0")
def test_leagues_that_are_taken_and_refused():
    table, contests = games(), races()
    data = jr.read(table)
    pairs = jr.history.rate_leagues(jr.elo(), data, [(name, 1) for name in table["league"]])
    assert [*pairs] == [(name, 1) for name in dict.fromkeys(table["league"])]
    lacking = [*table["league"][:3], None, *table["league"][4:]]
    mixed = ["N", "N", "S", "N", *["N"] * 36]
    for given, league, message in (
        (data, lacking, "row 3 (counting from 0): there is no league"),
        (data, ["N"] * 9, "league must have one value for each row of the source, got shape (9,)"),
        (jr.read(contests), mixed, "row 2 (counting from 0): its contest is of the leagues N and S"),
        (data.matches, table["league"], "rate_leagues: data must be a Dataset"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            jr.history.rate_leagues(jr.elo(), given, league)


# What a match changed is told apart from what a new season, or time, changes before the next one.

NAMES = ["Ada", "Bo", "Cy"]
SEASONS = (0.0, 100.0, 200.0)
TIMES = [0.0, 10.0, 20.0, 30.0, 100.0, 110.0, 120.0, 210.0, 220.0]
SYSTEMS = {
    "elo": lambda: jr.elo(SEASONS, season_keep=0.5),
    "elo reversion": lambda: jr.elo(reversion=100.0),
    "glicko": lambda: jr.glicko(SEASONS, season_keep=0.5, season_growth=40.0),
    "glicko2": lambda: jr.glicko2(SEASONS, season_keep=0.5),
    "trueskill": lambda: jr.trueskill(seasons=SEASONS, season_keep=0.5),
    "skills": lambda: jr.skills(jr.parts.seasons(SEASONS, keep=0.5)),
}


def league():
    pairs = np.array([[0, 1], [1, 2], [0, 2], [1, 0], [0, 1], [2, 0], [1, 2], [1, 0], [0, 2]])
    score = np.array([1.0, 0.5, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    events = jr.matches(pairs, score, TIMES)
    return jr.data.Dataset(events, np.array(NAMES, object), np.arange(len(pairs)), clock="numbers")


def select_matches(data, low, high):
    return data._replace(events=slice_events(data.matches, low, high), rows=data.rows[low:high])


@pytest.mark.parametrize("name", mark_full(SYSTEMS, "elo", "skills"))
def test_the_change_at_a_match_is_what_the_match_changed(name):
    system, data = SYSTEMS[name](), league()
    rated, history = jr.rate(system, data), jr.history.rating_history(system, data.matches, after=True)
    careers = rated.rows
    for i, player in enumerate(NAMES):
        row, side = np.nonzero(data.matches.player == i)
        before, after = np.asarray(history.before.mean)[row, side], np.asarray(history.after.mean)[row, side]
        career, some = jr.career(rated, player), slice(*careers.start[i : i + 2])
        np.testing.assert_allclose(career["rating"], before, rtol=1e-6)
        np.testing.assert_allclose(career["change"], after - before, atol=2e-3)
        np.testing.assert_allclose(careers.after.mean[some], after, rtol=1e-6)
        np.testing.assert_allclose(careers.before.mean[some], before, rtol=1e-6)
        if history.after.deviation is not None:
            left = np.asarray(history.after.deviation)[row, side]
            np.testing.assert_allclose(careers.after.deviation[some], left, 1e-5)
            assert (careers.after.deviation[some] < career["deviation"]).all()
    ada = jr.career(rated, "Ada")
    assert (ada["change"][ada["score"] == 1] > 0).all()  # whatever season comes next


def test_a_season_lowers_nobody_before_it_begins():
    rated = jr.rate(SYSTEMS["elo"](), league())
    career = jr.career(rated, "Ada")
    left = career["rating"] + career["change"]
    for day, expected in ((40.0, left[2]), (99.0, left[2]), (100.0, left[3]), (5.0, career["rating"][1])):
        assert jr.history.rating_at(rated, "Ada", day).mean == pytest.approx(expected), day
        board = jr.leaderboard(rated, as_of=day, active="all")
        assert board.rating[board.player.tolist().index("Ada")] == pytest.approx(expected), day
    assert career["rating"][3] == pytest.approx(1500 + 0.5 * (left[2] - 1500))
    peaks = jr.history.peak_ratings(rated, min_games=1)
    assert peaks.rating[peaks.player.tolist().index("Ada")] == pytest.approx(left.max())


def test_a_rating_period_has_its_change_at_its_last_match():
    rated = jr.rate(SYSTEMS["elo"](), league(), period=25.0)
    career = jr.career(rated, "Ada")
    assert career["time"].tolist() == [0.0, 20.0, 30.0, 100.0, 110.0, 210.0, 220.0]
    assert (career["change"] != 0).tolist() == [False, True, True, False, True, False, True]
    assert career["rating"][3] == pytest.approx(1500 + 0.5 * (career["rating"][2] + career["change"][2] - 1500))


def test_a_history_that_carries_on_from_one_without_ratings_after_events():
    """Its events have the rating before the next event in their place."""
    data, system = league(), SYSTEMS["elo"]()
    early = jr.rate(system, select_matches(data, 0, 4))
    early = early._replace(events={name: x for name, x in early.events.items() if "after" not in name})
    rated, whole = jr.rate(system, select_matches(data, 4, len(TIMES)), onto=early), jr.rate(system, data)
    changes, expected = (jr.career(x, "Ada")["change"] for x in (rated, whole))
    assert np.isfinite(changes).all() and len(changes) == 7
    assert np.flatnonzero(changes != expected).tolist() == [2]
    assert np.isfinite(rated.rows.after.mean).all()


def test_only_systems_whose_leads_fade_have_ratings_after_events():
    assert "rating_after_a" in jr.rate(SYSTEMS["elo"](), league()).predictions.column_names
    assert "rating_after_a" not in jr.rate(jr.elo(), league()).predictions.column_names
    rows = jr.rate(jr.elo(), league()).rows
    is_same = np.diff(rows.player) == 0
    np.testing.assert_array_equal(rows.after.mean[:-1][is_same], rows.before.mean[1:][is_same])
