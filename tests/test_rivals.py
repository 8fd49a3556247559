"""Head to head, upsets and form: against one row of the predictions after the other."""

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import refused

pytest.importorskip("pyarrow")
NAMES = np.array([f"player {i:02}" for i in range(41)], object)


@pytest.fixture(scope="module")
def rated():
    league = jr.data.simulate.league(40, 600, seed=4, draws=0.2).matches
    return jr.rate(jr.elo(), jr.data.Dataset(league, NAMES, np.arange(600), clock="dates"))


def test_two_players_against_each_other(rated):
    rows = rated.predictions.to_pylist()
    pairs = [frozenset((x["a"], x["b"])) for x in rows]
    one, two = sorted(max(set(pairs), key=pairs.count))
    mine = [x for x in rows if {x["a"], x["b"]} == {one, two}]
    score = [x["score"] if x["a"] == one else 1 - x["score"] for x in mine]
    found = jr.history.head_to_head(rated, one, two)
    assert (found.won, found.drawn, found.lost) == tuple(score.count(x) for x in (1.0, 0.5, 0.0)) and len(score) > 2
    assert found.matches["score"].tolist() == score[::-1]
    expected = sum(x["prediction"] if x["a"] == one else 1 - x["prediction"] for x in mine)
    assert found.expected == pytest.approx(expected, rel=1e-5)
    assert found.matches["rating"][-1] == mine[0]["rating_a" if mine[0]["a"] == one else "rating_b"]
    table = jr.data.to_frame(found, "pyarrow")
    assert table.column_names == [*found.matches] and table["score"].to_pylist() == score[::-1]
    other = jr.history.head_to_head(rated, two, one)
    assert (other.won, other.lost) == (found.lost, found.won) and str(other).startswith(f"{two} against {one}: ")
    assert str(jr.history.head_to_head(rated, one, "player 40")) == f"{one} and player 40 have not met"
    with refused("head to head takes two different players"):
        jr.history.head_to_head(rated, one, one)


def test_upsets_and_best_wins(rated):
    rows = [x for x in rated.predictions.to_pylist() if x["score"] != 0.5]
    chance = np.array([x["prediction"] if x["score"] == 1 else 1 - x["prediction"] for x in rows])
    found = jr.history.upsets(rated, top=600)
    np.testing.assert_allclose(found["probability"], np.sort(chance), rtol=1e-6)
    least = rows[int(chance.argmin())]
    assert {found["winner"][0], found["loser"][0]} == {least["a"], least["b"]}
    assert found["winner"][0] == least["a" if least["score"] == 1 else "b"]
    name = "player 03"
    mine = jr.history.upsets(rated, player=name, top=3)
    assert set(mine["winner"]) == {name} and len(mine["time"]) == 3
    best = jr.history.best_wins(rated, name, top=600)
    career = jr.career(rated, name)
    assert len(best["loser"]) == (career["score"] == 1).sum() and (np.diff(best["losers_rating"]) <= 0).all()
    with refused("top must be at least 1, got 0"):
        jr.history.upsets(rated, top=0)


def test_form(rated):
    found = jr.history.recent_form(rated, ["player 03", "player 07", "player 40"], last=5)
    career = jr.career(rated, "player 03")
    letters = "".join({1.0: "W", 0.5: "D", 0.0: "L"}[x] for x in career["score"][-5:][::-1])
    assert found["result"][0] == letters and found["games"].tolist() == [5, 5, 0]
    assert found["change"][0] == pytest.approx(career["change"][-5:].sum(), abs=1e-3)
    assert found["expected_score"][0] == pytest.approx(career["probability"][-5:].sum(), rel=1e-5)
    assert jr.history.recent_form(rated)["player"].tolist() == jr.leaderboard(rated).player.tolist()
    assert "expected score" in str(found)
    contests = jr.rate(jr.weng_lin(), jr.data.from_teams([[["Ada"], ["Bo"]]]))
    for call in (
        lambda: jr.history.recent_form(contests),
        lambda: jr.history.upsets(contests),
        lambda: jr.history.head_to_head(contests, "Ada", "Bo"),
    ):
        with refused("this is of matches of two"):
            call()


def test_one_name_is_one_player(rated):
    """A name alone was taken letter by letter."""
    name = str(rated.players[0])
    assert jr.history.recent_form(rated, name)["player"].tolist() == [name]
    with refused("elo has no parameter 'kk'; did you mean 'k'?"):
        jr.fit(jr.elo(), jr.matches([[0, 1]] * 9, [1.0, 0.0, 0.5] * 3), free="kk")
