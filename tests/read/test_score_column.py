"""A column that is called score and tells no result, beside the points of both sides."""

import pytest

import jaxrate as jr

POINTS = {"a": ["x", "y", "z"], "b": ["y", "z", "x"], "goals_a": [2, 1, 0], "goals_b": [1, 1, 3]}
PAIR = ("goals_a", "goals_b")
TEXT = {"Score": ["great", "dull", "so-so"]}


def test_a_text_column_called_score_does_not_block_the_points_of_both():
    with pytest.warns(UserWarning, match="nothing for the score, as Score has no results"):
        data = jr.read(POINTS | TEXT, margin=PAIR)
    assert data.matches.score.tolist() == [1.0, 0.5, 0.0]
    with pytest.warns(UserWarning, match="nothing for the score, as Score has no results"):
        assert jr.read(POINTS | {"Score": [70, 50, 10]}, margin=PAIR).matches.score.tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("score", [[0, 1, 0.5], ["0-1", "1-0", "1-1"]])
def test_a_column_of_results_is_still_the_score(score):
    with pytest.warns(UserWarning, match="margins .* have another sign than the score"):
        assert jr.read(POINTS | {"Score": score}, margin=PAIR).matches.score.tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("score", [[0, 1, 0.5], ["0-1", "1-0", "1-1"], *TEXT.values()])
def test_false_is_no_column_whatever_it_is_called(score):
    data = jr.read(POINTS | {"score": score}, margin=PAIR, score=False)
    assert data.matches.score.tolist() == [1.0, 0.5, 0.0]


def test_false_without_points_is_refused():
    for margin in ((), "goals_a"):
        with pytest.raises(ValueError, match="score=False needs the two columns of each side's points as margin"):
            jr.read(POINTS | TEXT, margin=margin, score=False)


def test_false_beside_winners_and_ranks_changes_nothing():
    won = {"winner": ["x"], "loser": ["y"], "score": ["6-1"]}
    assert jr.read(won, score=False).matches.score.tolist() == [1.0]
    race = {"contest": [1, 1], "player": ["x", "y"], "score": [3, 2]}
    assert jr.read(race | {"rank": [2, 1]}, score=False).rounds.events.rank.tolist() == [1, 0]
    with pytest.raises(ValueError, match="no column 'rank'"):
        jr.read(race, score=False)


def test_results_of_a_season_that_a_text_beside_them_does_not_spoil():
    rated = jr.rate(jr.elo(), jr.read(POINTS, margin=PAIR))
    table = jr.forecasts.simulate_season(
        rated, [("x", "z")], results=POINTS | {"score": [0, 1, 0]}, margin=PAIR, score=False, samples=100
    )
    assert dict(zip(table.player, table.points, strict=True)) == {"x": 6.0, "y": 1.0, "z": 1.0}
