"""Rated histories of an outlook keep what it says, and all that reads them copes."""

import json

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.evaluation.scored_predictions import evaluate_predictions
from jaxrate.forecasts.draw_probabilities import add_fitted_outcomes
from jaxrate.forecasts.matchup_tables import build_matchup_tables
from jaxrate.history.history import find_player_id
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


@pytest.mark.parametrize("name", mark_full(SYSTEMS, "levels"))
def test_rated_matches_keep_the_chances(name, tmp_path):
    plain, data = SYSTEMS[name](), table()
    system = jr.forecasts.add_outcomes(plain)
    rated, expected = jr.rate(system, data), jr.rate(plain, data, calibrate=False)
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
    jr.plots.loss_by_difference(jr.history.rating_history(system, data, key=jax.random.key(0)), data.matches.score)
    plt.close("all")


def test_comparisons_take_outlooks():
    both = jr.compare(table(), {"plain": jr.elo(), "in full": jr.forecasts.add_outcomes(jr.elo())}).results
    assert both[0].quality == pytest.approx(both[1].quality, rel=1e-4)


def test_rated_contests_keep_the_chances(tmp_path):
    """Of players alone, and of teams."""
    contests = {"contest": [1] * 4 + [4] * 4 + [5] * 4, "player": [*"abcdabcdacbd"]}
    contests |= {"rank": [1, 2, 3, 4, 1, 1, 2, 2, 2, 2, 1, 1], "team": [*"pqrsxxyyxxyy"]}
    data = jr.read(contests, team="team")
    systems = jr.trueskill(), jr.forecasts.add_outcomes(jr.trueskill())
    plain, full = (jr.rate(x, data, calibrate=False) for x in systems)
    got, wanted = columns(full), columns(plain)
    place = [*got].index("prediction")
    assert [*got][place : place + 4] == ["prediction", "win", "draw", "quality"]
    np.testing.assert_allclose(got["prediction"], wanted["prediction"], atol=1e-5)
    assert {"win", "draw", "quality", "expected_rank"} <= {*jr.career(full, "a")}
    jr.save(tmp_path, full)
    assert jr.load(tmp_path).system == full.system
    assert evaluate_predictions(full, data) == pytest.approx(evaluate_predictions(plain, data), nan_ok=True)
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


def test_all_commands_give_the_same_chances_of_draws(tmp_path, jaxrate, league):
    """`rate --outlook` did not fit the odds of draws, and reports did, so that they gave a pair different chances."""
    games, coming = tmp_path / "games.csv", tmp_path / "coming.csv"
    score = np.asarray(league.score) + 0.0
    score[::2] = np.where(score[::2] == 0.5, 1.0, score[::2])  # rarer draws than the odds of 1 give
    rows = zip(league.player[:, 0], league.player[:, 1], score, league.time, strict=True)
    games.write_text("a,b,score,t\n" + "".join(f"P{a},P{b},{s},{t}\n" for a, b, s, t in rows))
    coming.write_text(f"a,b,t\nP0,P1,{league.time[-1]}\n")
    found = {}
    for name, options in {"plain": (), "outlook": ("--outlook",)}.items():
        run = tmp_path / name
        assert jaxrate("rate", games, "--system", "glicko", "--time", "t", *options, "--out", run)[0] == 0
        code, said, error = jaxrate("predict", run, coming, "--time", "t", "--json")
        assert code == 0, error
        found[name] = [json.loads(said)[0][x] for x in ("win", "draw", "loss")]
        rated = jr.load(run)
        tables = build_matchup_tables(rated, np.array([find_player_id(rated.players, x) for x in ("P0", "P1")]))
        x = tables.draw
        found[f"pages of {name}"] = [
            float(tables.even.probability(0, 1)),
            float((x.scale * x.left[:, 0]) @ x.right[:, 1]),
        ]
    np.testing.assert_allclose(found["plain"], found["outlook"], rtol=1e-5)
    # Two programs, as one run's system has chances of draws: they may round the last bit otherwise.
    np.testing.assert_allclose(found["pages of plain"], found["pages of outlook"], rtol=1e-12)
    win, draw, _ = found["plain"]
    np.testing.assert_allclose(found["pages of plain"], [win + draw / 2, draw], atol=1e-3)
    chances = columns(rated)
    assert chances["draw"][200:].mean() == pytest.approx((score[200:] == 0.5).mean(), abs=0.02)


def test_chances_of_draws_are_fitted_to_the_matches_before():
    """Those of a match do not depend on its result, nor on later ones."""
    random = np.random.default_rng(2)
    score = random.choice([0.0, 0.5, 1.0], 500, p=[0.45, 0.1, 0.45])
    player = np.array([random.choice(8, 2, replace=False) for _ in range(500)])
    names = np.array([f"P{i}" for i in range(8)], object)

    def draws(score):
        data = jr.data.Dataset(jr.matches(player, score, np.arange(500.0)), names, np.arange(500))
        return columns(add_fitted_outcomes(jr.rate(jr.glicko(), data)))["draw"]

    known = draws(score)
    assert abs(known[200:].mean() - 0.1) < 0.03 and known[:100].mean() > 0.25
    np.testing.assert_array_equal(known[:401], draws(np.where(np.arange(500) >= 400, 0.5, score))[:401])
