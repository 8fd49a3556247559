"""What is expected of matches to come: draws, odds, sides, names that are unknown."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.lookalike_names import similar_names_hint
from jaxrate.forecasts.draw_probabilities import fit_draw_odds
from jaxrate.systems.prediction_wrapping import davidson_outcome_probabilities
from tests.conftest import refused

pytest.importorskip("pyarrow")
NAMES = np.array([f"Club {i:02}" for i in range(39)] + ["Málaga"], object)


@pytest.fixture
def rated(league):
    return jr.rate(jr.glicko(side_advantage=60), jr.data.Dataset(league, NAMES, np.arange(600), clock="dates"))


def test_draws_are_as_frequent_as_the_history_says(rated):
    pairs = [("Club 03", "Málaga"), ("Málaga", "Club 03")]
    found = jr.forecasts.predict_fixtures(rated, pairs, side="a", time="1972-12-01")
    plain = jr.predict(rated.system, rated.state, jr.matches([[3, 39]], [0.5], [1065.0], side=[1.0]))
    assert found["expected"][0] == pytest.approx(float(plain[0]), abs=1e-5)
    np.testing.assert_allclose(found["win"] + found["draw"] + found["loss"], 1.0, rtol=1e-6)
    np.testing.assert_allclose(found["win"] + 0.5 * found["draw"], found["expected"], rtol=1e-5)
    np.testing.assert_allclose(found["odds_draw"], 1.0 / found["draw"], rtol=1e-6)
    assert found["side"].tolist() == ["Club 03", "Málaga"] and str(found["time"][0]) == "1972-12-01"
    table = rated.predictions
    score, guess = table["score"].to_numpy(), table["prediction"].to_numpy()
    nu = fit_draw_odds(guess, score)
    grid = np.linspace(0.5 * nu, 2.0 * nu, 61)
    index = (2 * score).astype(int)

    def loss(odds):
        x = davidson_outcome_probabilities(guess, odds)
        return -np.log(np.stack([x.win[:, 1], x.draw[:, 0], x.win[:, 0]])[index, np.arange(600)]).mean()

    assert abs(grid[np.argmin([loss(x) for x in grid])] - nu) <= grid[1] - grid[0]
    assert abs(np.asarray(davidson_outcome_probabilities(guess, nu).draw[:, 0]).mean() - (score == 0.5).mean()) < 0.02


def test_plain_numbers_are_no_moments_of_dates(rated):
    for call, coming in (
        (jr.forecasts.predict_fixtures, [("Club 00", "Club 01")]),
        (jr.forecasts.simulate_tournament, {"knockout": ["Club 00", "Club 01"]}),
    ):
        with refused("time 1706745600 is no date, but the history has dates; give one, as 2026-05-31 in text"):
            call(rated, coming, time=1706745600)
    coming = {"a": ["Club 00"], "b": ["Club 01"], "time": [17067.0]}
    with refused("the times must be dates, as in the run"):
        jr.forecasts.simulate_season(rated, coming)
    with refused("time 1706745600 is no day since 1970-01-01; give a date"):
        jr.ratings(rated, time=1706745600)


def test_a_system_that_knows_draws_says_its_own(league):
    data = jr.data.Dataset(league, NAMES, np.arange(600))
    system = jr.forecasts.add_outcomes(jr.elo(), draw_odds=0.4)
    rated = jr.rate(system, data)
    found = jr.forecasts.predict_fixtures(rated, [("Club 00", "Club 01")])
    guess = jr.predict(system, rated.state, jr.matches([[0, 1]], [0.5], [rated.last]))
    assert found["draw"][0] == pytest.approx(float(guess.draw[0, 0])) and "quality" in found
    won = jr.matches(league.player, np.where(league.score == 0.5, 1.0, league.score), league.time)
    found = jr.forecasts.predict_fixtures(jr.rate(jr.elo(), data._replace(events=won)), [("Club 00", "Club 01")])
    assert "draw" not in found and found["win"][0] == pytest.approx(found["expected"][0])


def test_margins_and_seasons_are_not_asked_of_what_is_to_come(league):
    goals, starts = np.where(league.score == 0.5, 0.0, 3.0), (-1.0, 200.0)
    events = league._replace(context=league.context._replace(columns={"goals": goals}, side=None))
    system = jr.skills(parts.seasons(starts, keep=0.8), observe=parts.margin("goals"))
    rated = jr.rate(system, jr.data.Dataset(events, NAMES, np.arange(600), seasons={"1": -1.0, "2": 200.0}))
    coming = jr.matches([[0, 1]], [0.5], [rated.last], columns={"goals": [0.0]})
    pairs = [("Club 00", "Club 01"), ("Club 02", "Club 03")]
    found = jr.forecasts.predict_fixtures(rated, pairs)
    assert found["expected"][0] == pytest.approx(float(jr.predict(rated.system, rated.state, coming)[0]), abs=1e-6)
    assert jr.forecasts.simulate_season(rated, pairs, samples=10).place.sum() == pytest.approx(4.0)


def test_columns_that_what_is_to_come_lacks(league):
    names, off = NAMES[league.player], np.arange(600) % 7 == 0
    table = {"home": names[:, 0], "away": names[:, 1], "result": league.score, "day": league.time, "off": off}
    columns = {"a": "home", "b": "away", "score": "result", "time": "day", "side": "a", "neutral": "off"}
    saved = jr.rate(jr.glicko(side_advantage=60), jr.read(table, **columns))._replace(options={"columns": columns})
    pair = {"home": "Club 00", "away": "Club 01"}
    here, off = (jr.forecasts.predict_fixtures(saved, [pair | x]) for x in ({}, {"day": saved.last, "off": True}))
    assert here["side"].tolist() == ["Club 00"] and here["expected"][0] > off["expected"][0] + 0.01


def test_sides_of_what_is_to_come_for_a_system_that_learns_them(league):
    table = {"a": league.player[:, 0], "b": league.player[:, 1], "score": league.score, "home": np.ones(600)}
    rated = jr.rate(jr.skills(parts.own_side(), parts.side(60.0)), jr.read(table, side="home"))
    coming = {"a": [1, 1, 2], "b": [2, 2, 1], "home": [1, 0, -1]}
    found = jr.forecasts.predict_fixtures(rated, coming, side="home")
    assert found["win"][0] > found["win"][1] + 0.02 and found["win"][0] == pytest.approx(found["loss"][2])


def test_unknown_names_are_refused_with_the_nearest(rated):
    with refused("no players 'malaga' (near: 'Málaga'), 'Clubb 04' (near: 'Club 04', "):
        jr.forecasts.predict_fixtures(rated, [("malaga", "Clubb 04")])
    names = np.array(["Jannik Sinner", "Jan Siner", "Martin Sinner", "Iga Świątek", "Juan Martin Del Potro"], object)
    for wanted, found in (
        ("sinner  jannik", "'Jannik Sinner'"),
        ("J. Sinner", "'Jannik Sinner'"),
        ("SWIATEK", "'Iga Świątek'"),
        ("Swiatek, I.", "'Iga Świątek'"),
        ("Del Potro J. M.", "'Juan Martin Del Potro'"),
    ):
        assert similar_names_hint(wanted, names).startswith(f" (near: {found}"), wanted
    found = jr.forecasts.predict_fixtures(rated, [("New", "Club 04")], newcomers=True)
    assert 0 < found["win"][0] < 1
    for source, message in (
        ([(1, 2)], "no players '1', '2'; newcomers=True takes them"),
        (None, "nothing is to come: the data have no fixtures"),
        ({"contest": [0, 0], "player": ["Club 01", "Club 02"]}, "the run is of matches, these are contests"),
    ):
        with refused(message):
            jr.forecasts.predict_fixtures(rated, source)
    dated = {"a": ["Club 01"], "b": ["Club 02"], "date": ["1973-01-01"]}
    with refused("the fixtures have times"):
        jr.forecasts.predict_fixtures(rated, dated, time="1973-01-01")


def test_fixtures_without_dates_are_dated_in_a_note():
    """The end of a history of dates may be long ago; pairs of names have no dates, and need no note."""
    table = {"date": ["2026-05-01", "2026-05-03"], "a": ["Ada", "Bo"], "b": ["Bo", "Ada"], "score": [1, 0.0]}
    rated, coming = jr.rate(jr.elo(), jr.read(table)), {"a": ["Ada"], "b": ["Bo"]}
    with pytest.warns(UserWarning, match="^took the end of the history, 2026-05-03, for the time .* time=") as notes:
        forecast = jr.forecasts.predict_fixtures(rated, coming)
    assert notes[0].filename == __file__ and str(forecast["time"][0]) == "2026-05-03"
    jr.forecasts.predict_fixtures(rated, coming, time="2026-06-01")
    jr.forecasts.predict_fixtures(rated, coming | {"date": ["2026-06-01"]})
    jr.forecasts.predict_fixtures(rated, [("Ada", "Bo")])


def test_fixtures_without_seasons_are_of_the_last_one_in_a_note():
    """A new season pulls strengths together: without its name chances were further apart, and nothing said so."""
    table = {"date": ["2024-09-01", "2025-09-01"], "a": ["Ada", "Ada"], "b": ["Bo", "Bo"], "score": [1, 1]}
    data = jr.read(table | {"season": [2024, 2025]}, season="season")
    rated = jr.rate(jr.elo(seasons=tuple(data.seasons.values()), season_keep=0.5), data)
    coming = {"a": ["Ada"], "b": ["Bo"], "date": ["2026-09-01"]}
    with pytest.warns(UserWarning, match="^took the last season of the history, 2025, for that of all .* season="):
        same = jr.forecasts.predict_fixtures(rated, coming)
    new = jr.forecasts.predict_fixtures(rated, coming | {"season": [2026]}, season="season")
    assert 0.5 < new["expected"][0] < same["expected"][0]
    jr.forecasts.predict_fixtures(rated, [("Ada", "Bo")])


def test_contests_to_come(share):
    data = jr.data.from_teams([[["Ada"], ["Bo"], ["Cy"]], [["Bo"], ["Ada"], ["Cy"]]])
    rated = jr.rate(share(), data)
    listed = jr.forecasts.predict_fixtures(rated, [("Cy", "Bo", "Ada")])
    found = jr.forecasts.predict_fixtures(rated, {"contest": ["x"] * 3, "player": ["Cy", "Bo", "Ada"]})
    assert found["player"].tolist() == ["Cy", "Bo", "Ada"] and found["expected_rank"][0] > 2 > found["expected_rank"][1]
    assert found["expected_rank"].sum() == pytest.approx(6, abs=1e-5)
    assert listed["expected_rank"].tolist() == found["expected_rank"].tolist()


def test_shares_of_play_are_not_known_before():
    """A saved history told of its column of weights refused line-ups to come, which have none."""
    table = {"contest": ["x", "x"], "player": ["Ada", "Bo"], "rank": [1, 2], "played": [1.0, 0.5]}
    rated = jr.rate(jr.skills(), jr.read(table, weight="played"))
    rated = rated._replace(options={"columns": {"weight": "played"}})
    found = jr.forecasts.predict_fixtures(rated, {"contest": ["y", "y"], "player": ["Ada", "Bo"]})
    assert found["share"][0] > 0.5


def test_no_time_before_the_end():
    """What has happened since would be known: the run has its own predictions of the past."""
    rated = jr.rate(jr.elo(), jr.read({"a": ["Ayr"], "b": ["Bury"], "score": [1.0], "date": ["2021-02-07"]}))
    pair = {"a": ["Ayr"], "b": ["Bury"]}
    with refused("time 1990-01-01 is before the last event of"):
        jr.forecasts.predict_fixtures(rated, pair, time="1990-01-01")
    with refused("row 0 (counting from 0): time 1990-01-01 is before the end of the run, 20"):
        jr.forecasts.predict_fixtures(rated, pair | {"date": ["1990-01-01"]})
    end = str(np.datetime64(int(rated.last), "D"))
    assert len(jr.forecasts.predict_fixtures(rated, pair | {"date": [end]})["expected"]) == 1
