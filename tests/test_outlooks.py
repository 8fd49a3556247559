"""Rated histories of an outlook keep what it says, and all that reads them copes."""

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.league.evaluation import evaluate_predictions
from tests.conftest import mark_full

GAMES = {"a": [*"abcabcbcaa"], "b": [*"bcacabaabb"], "score": [1, 0.5, 0, 1, 0.5, 1, 0, 1, 0, 0.5], "t": [*range(10)]}
SYSTEMS = {"trueskill": jr.trueskill, "urnings": lambda: jr.urnings(outcomes=3), "levels": lambda: jr.urnings(20, 5)}
CHANCES = {
    "trueskill": ["win", "draw", "loss", "quality"],
    "urnings": ["win", "draw", "loss"],
    "levels": [f"probability_{x:g}" for x in (1, 0.75, 0.5, 0.25, 0)],
}


def table(rows=slice(None), **options):
    return jr.read({name: column[rows] for name, column in GAMES.items()}, time="t", **options)


def columns(rated):
    return {name: rated.predictions[name].to_numpy() for name in rated.predictions.column_names}


@pytest.mark.parametrize("name", mark_full(SYSTEMS, "levels", "urnings"))
def test_rated_matches_keep_the_chances(name, tmp_path):
    plain, data = SYSTEMS[name](), table()
    system = jr.forecasts.add_outcomes(plain)
    rated, expected = jr.rate(system, data), jr.rate(plain, data)
    got, wanted = columns(rated), columns(expected)
    assert [*got][5:-4] == ["prediction", *CHANCES[name]]
    np.testing.assert_allclose(got["prediction"], wanted["prediction"], rtol=1e-5)
    np.testing.assert_array_equal(got["rating_a"], wanted["rating_a"])
    every = [x for x in CHANCES[name] if x != "quality"]
    np.testing.assert_allclose(sum(got[x] for x in every), 1.0, rtol=1e-5)
    worth = np.linspace(1.0, 0.0, len(every))
    np.testing.assert_allclose(sum(w * got[x] for w, x in zip(worth, every, strict=True)), got["prediction"], rtol=1e-5)
    jr.save(tmp_path, rated)
    again = jr.load(tmp_path)
    assert again.system == system and again.predictions.equals(rated.predictions)

    half = jr.rate(system, table(slice(5)), key=jax.random.key(1))
    later = jr.rate(system, table(slice(5, None), players=half.players), onto=half)
    assert len(later.predictions) == 10 and later.predictions.column_names == rated.predictions.column_names

    career = jr.career(rated, "b")
    first = np.array(GAMES["a"]) == "b"
    mine = first | (np.array(GAMES["b"]) == "b")
    best, worst = every[0], every[-1]
    np.testing.assert_array_equal(career[best], np.where(first, got[best], got[worst])[mine])
    assert evaluate_predictions(rated, data) == pytest.approx(evaluate_predictions(expected, data), rel=1e-4)
    close = np.testing.assert_allclose
    close(jr.forecasts.matchup_matrix(rated), jr.forecasts.matchup_matrix(expected), rtol=1e-5)
    jr.leaderboard(rated), jr.site.report_html(rated), repr(rated)
    run = jr.run(system, data, key=jax.random.key(0)).prediction
    assert jr.metrics.brier_score(run, data.matches.score) == pytest.approx(
        evaluate_predictions(rated, data)["Brier score"], abs=0.1
    )
    jr.plots.calibration(run, data.matches.score), jr.plots.residuals(run, data)
    jr.plots.loss_by_difference(jr.league.rating_history(system, data, key=jax.random.key(0)), data.matches.score)
    plt.close("all")


def test_comparisons_take_outlooks():
    both = jr.compare(table(), {"plain": jr.trueskill(), "in full": jr.forecasts.add_outcomes(jr.trueskill())}).results
    assert both[0].quality == pytest.approx(both[1].quality, rel=1e-4)


def test_rated_contests_keep_the_chances(tmp_path):
    data = jr.read(
        {"contest": [1] * 4 + [2, 2, 3, 3, 3], "player": [*"abcdabcda"], "rank": [1, 2, 3, 4, 2, 1, 1, 2, 3]}
    )
    teams = {"contest": [1] * 4 + [2] * 4, "player": [*"abcdacbd"], "rank": [1, 1, 2, 2, 2, 2, 1, 1]}
    for number, case in enumerate((data, jr.read(teams | {"team": [*"xxyyxxyy"]}, team="team"))):
        plain, full = (jr.rate(x, case) for x in (jr.trueskill(), jr.forecasts.add_outcomes(jr.trueskill())))
        got, wanted = columns(full), columns(plain)
        place = [*got].index("prediction")
        assert [*got][place : place + 4] == ["prediction", "win", "draw", "quality"]
        np.testing.assert_allclose(got["prediction"], wanted["prediction"], atol=1e-5)
        assert {"win", "draw", "quality", "expected_rank"} <= {*jr.career(full, "a")}
        jr.save(tmp_path / str(number), full)
        assert jr.load(tmp_path / str(number)).system == full.system
        assert evaluate_predictions(full, case) == pytest.approx(evaluate_predictions(plain, case), nan_ok=True)
        jr.site.report_html(full)


def test_the_command_line_predicts_in_full(tmp_path, jaxrate):
    games, coming, out = tmp_path / "games.csv", tmp_path / "coming.csv", tmp_path / "out"
    head, rows = "a,b,score,t", [",".join(map(str, x)) for x in zip(*GAMES.values(), strict=True)]
    games.write_text("\n".join([head, *rows[:7]]))
    coming.write_text("a,b,t\na,c,20\n")
    options = "--time", "t", "--out", out
    code, _, error = jaxrate("rate", games, "--system", "trueskill", "--outlook", *options)
    assert code == 0, error
    games.write_text("\n".join([head, *rows[7:]]))
    more = "--state", out, "--player", "a", "--csv"
    code, said, error = jaxrate("rate", games, *more, *options)
    assert code == 0, error
    assert (
        (out / "predictions.csv")
        .read_text()
        .replace('"', "")
        .startswith("row,time,a,b,score,prediction,win,draw,loss,quality")
    )
    code, said, error = jaxrate("predict", out, coming, "--out", tmp_path / "chances.csv")
    assert code == 0 and "quality" not in said, error
    assert "win,draw,loss,expected,odds_win,odds_draw,odds_loss,quality" in (
        tmp_path / "chances.csv"
    ).read_text().replace('"', "")
    code, _, error = jaxrate("rate", games, "--outlook", *more)
    assert code != 0 and "--outlook is for new runs" in error
