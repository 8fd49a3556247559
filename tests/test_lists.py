"""Rounds from nested lists."""

import math
import subprocess
import sys

import numpy as np
import pytest

import jaxrate as jr

TWO = [[["Ada", "Bo"], ["Cy"]], [["Bo"], ["Cy"], ["Ada", "Di"]]]


def same(data, contest, player, rank, **columns):
    events = jr.rounds(contest, player, rank, **columns)
    for x, y in zip(data.rounds.events, events.events, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(data.rounds.player_start, events.player_start)


def test_lists_are_rounds():
    data = jr.data.from_teams(TWO)
    contest, player, team = [0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 1, 2, 0, 3], [0, 0, 1, 0, 1, 2, 2]
    same(data, contest, player, team, team=team)
    assert data.players.tolist() == ["Ada", "Bo", "Cy", "Di"] and data.rows.tolist() == list(range(7))
    assert data.clock is None and data.contests.tolist() == [0, 1]
    weights = [[[1, 0.5], [1]], [[1], [2], [0.5, 1]]]
    data = jr.data.from_teams(
        TWO, [[2, 1], [0, 0, -1]], weights=weights, time=np.array([3, 5]), players=np.array(["Di", "Bo", "Eve"])
    )
    player = [3, 1, 4, 1, 4, 3, 0]
    flat = [1, 0.5, 1, 1, 2, 0.5, 1]
    same(data, contest, player, [2, 2, 1, 0, 0, -1, -1], team=team, weight=flat, time=[3, 3, 3, 5, 5, 5, 5])
    assert data.players.tolist() == ["Di", "Bo", "Eve", "Ada", "Cy"] and data.clock == "numbers"


def test_names_are_anything_hashable():
    data = jr.data.from_teams([[[(1, 2)], [7, "x"]]], players=[(3, 4), 7])
    assert data.players.tolist() == [(3, 4), 7, (1, 2), "x"] and data.rounds.events.player.tolist() == [2, 1, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": []}, "no rounds"),
        ({"rounds": "Ada"}, "rounds must be a list, got 'Ada'"),
        ({"rounds": [*TWO, []]}, "round 2 (counting from 0): no teams"),
        ({"rounds": [["Ada", "Bo"]]}, "round 0, team 0 (counting from 0): players must be a list, got 'Ada'"),
        ({"rounds": [[["Ada"], []]]}, "round 0, team 1 (counting from 0): no players"),
        ({"rounds": [[["Cy"], ["Ada", "Ada"]]]}, "round 0, team 1 (counting from 0): player 'Ada' is in team 1 alrea"),
        ({"rounds": [[["Ada"], [None]]]}, "round 0, team 1 (counting from 0): None cannot be the name of a player"),
        ({"rounds": [[["Ada"], [{}]]]}, "round 0, team 1 (counting from 0): {} cannot be the name of a player"),
        ({"ranks": [[1, 2]]}, "ranks of 1 rounds, but there are 2"),
        ({"ranks": [[1, 2], None]}, "round 1 (counting from 0): ranks must be a list, got None"),
        ({"ranks": [[1, 2], [1, 2]]}, "round 1 (counting from 0): ranks of 2 teams, but there are 3"),
        ({"ranks": [[1, 2], [1, 2, math.nan]]}, "round 1, team 2 (counting from 0): rank is nan, not a finite number"),
        ({"ranks": [["1", 2], [1, 2, 3]]}, "round 0, team 0 (counting from 0): rank is '1', not a finite number"),
        ({"weights": [[[1, 1], [1]]]}, "weights of 1 rounds, but there are 2"),
        ({"weights": [[1, 1], []]}, "round 0, team 0 (counting from 0): weights must be a list, got 1"),
        ({"weights": [[[1], [1]], []]}, "round 0, team 0 (counting from 0): weights of 1 players, but there are 2"),
        ({"weights": [[[1, 0], [1]], []]}, "round 0, team 0 (counting from 0): weight 0.0 of player 'Bo' is not abo"),
        ({"weights": [[[0, 0], [0]], []]}, "round 0, team 0 (counting from 0): weight 0.0 of player 'Ada' is not ab"),
        ({"time": [1]}, "time of 1 rounds, but there are 2"),
        ({"time": [1, None]}, "round 1 (counting from 0): time is None, not a finite number"),
        ({"players": ["Ada", "Ada"]}, "players names somebody twice"),
    ],
)
def test_bad_lists_are_refused(arguments, message):
    with pytest.raises(ValueError) as refused:
        jr.data.from_teams(**{"rounds": TWO, **arguments})
    assert str(refused.value).startswith(message)


def test_lists_need_no_pyarrow():
    code = "import sys, jaxrate as jr; jr.data.from_teams([[['a'], ['b']]]); "
    code += "assert not {'pyarrow', 'jax'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
