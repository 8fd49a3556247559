"""The command line through its entry point: what it prints, writes and refuses."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import cli
from jaxrate.cli import hyperparameters, progress
from jaxrate.data import simulate
from jaxrate.league.system_choice import make_system
from jaxrate.replay.kernel.gpu_estimates import StepGroup, gpu_seconds

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("in_a_hurry")


@pytest.fixture
def races(tmp_path, league):
    """The same games among races, one of them random."""
    names, kinds = np.array([f"player {i:02}" for i in range(40)]), np.array(["Protoss", "Terran", "Zerg", "Random"])
    race = kinds[np.random.default_rng(0).choice(4, (600, 2), p=[0.35, 0.3, 0.3, 0.05])]
    a, b = names[league.player].T
    path = tmp_path / "races.csv"
    columns = {"a": a, "b": b, "score": league.score, "time": league.time, "race_a": race[:, 0], "race_b": race[:, 1]}
    jr.data.write(columns | {"map": np.array(["Lost Temple", "Python"])[np.arange(600) % 2]}, path)
    return path


# rate


@pytest.mark.parametrize("system", ["elo", "glicko", "glicko2"])
def test_rate_prints_and_saves_what_run_computes(jaxrate, games, tmp_path, system):
    out = tmp_path / "new" / "folder"
    code, text, errors = jaxrate("rate", games, "--system", system, "--out", out, "--csv", "--drop", "walkover")
    assert code == 0
    assert errors == f"jaxrate: saved the run to {out}\n"
    data = jr.read(games, drop="walkover")
    rated = getattr(jr, system)()
    result = jr.run(rated, data.matches)
    assert f"{system}: 594 matches of 40 players" in text
    assert f"log loss          {jr.metrics.log_loss(result.prediction, data.matches.score):.4f}" in text
    assert str(jr.leaderboard(jr.rate(rated, data), top=10)) in text
    written = {"ratings.parquet", "predictions.parquet", "ratings.csv", "predictions.csv", "run.json", "state.npz"}
    assert {p.name for p in out.iterdir()} == written
    board = jr.leaderboard(rated, result.state, data.players, top=40)
    for read in (lambda name: pa.parquet.read_table(out / f"{name}.parquet"), lambda name: csv(out / f"{name}.csv")):
        ratings, predictions = read("ratings").to_pydict(), read("predictions").to_pydict()
        assert ratings["player"] == list(board.player)
        np.testing.assert_allclose(ratings["rating"], board.rating, rtol=1e-6)
        assert predictions["row"] == list(data.rows)
        assert sum(ratings["games"]) == 2 * 594
        assert ("deviation" in ratings) == (system != "elo") and ("volatility" in ratings) == (system == "glicko2")
        assert predictions["a"] == list(data.players[data.matches.player[:, 0]])
        np.testing.assert_allclose(predictions["prediction"], result.prediction, rtol=1e-6)
        assert predictions["rating_a"][0] == 1500


def csv(path):
    import pyarrow.csv

    return pyarrow.csv.read_csv(path)


def test_rate_in_json(jaxrate, games):
    rated = jr.rate(jr.glicko(c=30), data := jr.read(games))
    one, two = rated.predictions["a"][0].as_py(), rated.predictions["b"][0].as_py()
    given = ("--param", "c=30", "--player", one, "--against", two, "--upsets", "--peaks", "--json")
    code, text, errors = jaxrate("rate", games, *given)
    found = json.loads(text)
    assert (
        code == 0 and errors == "" and (found["system"], found["params"]["c"], found["matches"]) == ("glicko", 30, 600)
    )
    loss = jr.metrics.log_loss(jr.run(rated.system, data.matches).prediction, data.matches.score)
    assert found["log loss"] == pytest.approx(loss, abs=1e-9)
    board = jr.leaderboard(rated, top=10)
    assert [row["player"] for row in found["leaderboard"]] == board.player.tolist()
    assert [row["rating"] for row in found["leaderboard"]] == pytest.approx(board.rating.tolist())
    assert found["against"]["won"] == jr.league.head_to_head(rated, one, two).won and len(found["upsets"]) == 10
    assert found["peaks"][0]["rating"] == pytest.approx(jr.league.peak_ratings(rated, top=1).rating[0])
    career = json.loads(jaxrate("rate", games, "--param", "c=30", "--player", one, "--json")[1])["career"]
    assert [row["score"] for row in career] == jr.career(rated, one)["score"].tolist()


def test_rate_takes_parameters_periods_and_a_side(jaxrate, games):
    data = jr.read(games, side="home")
    system = jr.glicko(c=30, deviation_max=None, side_advantage=40, period=50)
    result = jr.run(system, jr.periods(data.matches, 50.0))
    parameters = ("--param", "c=30", "--param", "deviation_max=none", "--param", "side_advantage=40")
    code, text, errors = jaxrate("rate", games, *parameters, "--period", 50, "--side", "home", "--top", 3)
    assert code == 0 and errors == ""
    assert f"log loss          {jr.metrics.log_loss(result.prediction, data.matches.score):.4f}" in text
    assert "in periods of 50" in text and len(text.split("\n\n")[1].splitlines()) == 4


def test_without_a_time_nobody_ages_and_there_are_no_periods(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("a,b,score\nx,y,1\ny,z,0\n")
    code, _, errors = jaxrate("rate", path)
    assert code == 0 and "no column of time, so deviations do not grow" in errors
    code, _, errors = jaxrate("rate", path, "--period", 7)
    assert code == 2 and "rating periods need times; name the column of time" in errors


def test_alone_it_prints_help(jaxrate):
    code, text, _ = jaxrate()
    assert code == 2 and text.startswith("Usage: ")


def test_the_side_is_worth_something_by_default_and_rate_says_how_much(jaxrate, games):
    """It was worth nothing, though the file says who has it."""
    data, losses = jr.read(games, side="home"), []
    for given, points in (((), 50), (("--param", "side_advantage=9"), 9), (("--param", "side_advantage=0"), 0)):
        code, text, errors = jaxrate("rate", games, "--side", "home", *given)
        run = jr.run(jr.glicko(side_advantage=points), data.matches)
        losses.append(f"log loss          {jr.metrics.log_loss(run.prediction, data.matches.score):.4f}")
        note = "the side is worth 50 points, as usual; give --param side_advantage, or fit it: jaxrate fit"
        assert code == 0 and losses[-1] in text and (note in errors) == (not given)
    assert len(set(losses)) == 3
    assert "urnings takes no notice of the side; elo, " in jaxrate("rate", games, "--side", "home", *URNS)[2]


URNS = "--system", "urnings"


def test_compare_says_what_the_side_is_worth_and_to_whom_it_is_unknown(jaxrate, games):
    options = "compare", games, "--side", "home", *URNS, "--system", "elo", "--last", 0.25, "--period", 50
    code, text, errors = jaxrate(*options)
    data = jr.read(games, side="home")
    found = jr.compare(data, ["elo", "urnings"], last=0.25)
    assert code == 0 and errors == "" and text.endswith("\n".join(["", *found.notes, ""]))
    assert found.notes[-1] == "Not known to urnings: the side." and " points of Elo to elo, by the 450" in text
    told = json.loads(jaxrate(*options, "--fit", "--json")[1])
    assert told["notes"][0] == "Hyperparameters of urnings and elo are fitted to the 450 matches before."
    values = {row["period"]: row["params"]["k"] for row in told["results"] if row["system"] == "elo"}
    assert len(values) == 2 and 32.0 not in values.values() and len({*values.values()}) == 2
    code, _, errors = jaxrate("compare", games, "--fit")
    assert code == 2 and "--fit needs matches that are not scored; score the last ones only, as by --last" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a FILE of matches or contests, or a saved run with --state"),
        (("FILE", "--sytem", "elo"), "No such option"),
        (
            ("FILE", "--system", "gliko"),
            "unknown system 'gliko'; did you mean 'glicko'? (there are elo, glicko, glicko2",
        ),
        (("FILE", "--param", "K=3"), "glicko has no parameter 'K' (it has seasons, c, initial_rating"),
        (
            ("FILE", "--param", "initial_deviaton=3"),
            "no parameter 'initial_deviaton'; did you mean 'initial_deviation'?",
        ),
        (("FILE", "--param", "c"), "--param c: write name=value, as in k=20"),
        (("FILE", "--param", "c=many"), "glicko: c must be a number, got 'many'"),
        (("FILE", "--param", "c=-1"), "c must be >= 0"),
        (("FILE", "--period", "0"), "--period must be above 0, got 0"),
        (("FILE", "--score", "points"), "games.csv: no column 'points'"),
        (("FILE", "--drop", "retired"), "games.csv: no column 'retired'"),
        (("FILE", "--neutral", "home"), "neutral"),
        (("FILE", "--top", "0"), "0 is not in the range"),
        (("FILE", "--out", "FILE"), "is a file; name a folder"),
        (("nowhere.csv",), "nowhere.csv: no such file"),
        (("games.xlsx",), "games.xlsx"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(jaxrate, games, arguments, message):
    code, text, errors = jaxrate("rate", *(games if x == "FILE" else x for x in arguments))
    assert code == 2 and text == ""
    assert message in errors and errors.startswith("jaxrate: ") and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,x,1,3", r"games.csv: row 2 \(counting from 0, line 4\): x is on both sides"),
        ("x,y,7,3", "row 2 .*: score 7.0 is outside"),
        ("x,y,1,1", "row 2 .*: time .*--sort|sort"),
        ("x,y,1", "games.csv: .*"),
        ("x,,1,3", "row 2 .*"),
    ],
)
def test_bad_rows_are_named(jaxrate, tmp_path, line, message):
    path = tmp_path / "games.csv"
    path.write_text(f"a,b,score,time\nx,y,1,1\ny,x,0,2\n{line}\n")
    code, _, errors = jaxrate("rate", path, "--out", tmp_path / "out")
    assert code == 2 and errors.count("\n") == 1 and re.search(message, errors)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def few_systems():
    """Few of those that rate matches, and the order of them all afterwards."""
    every = dict(jr.extend.SYSTEMS)
    for name in set(every) - {"elo", "glicko", "elo_mmr", "category_glicko"}:
        del jr.extend.SYSTEMS[name]
    yield
    jr.extend.SYSTEMS.clear()
    jr.extend.SYSTEMS.update(every)


def test_demo_rates_the_nfl(jaxrate, tmp_path, few_systems):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "teams.png"
    code, text, errors = jaxrate("demo", "--picture", picture)
    assert code == 0 and errors == "" and text.startswith("The NFL from 1920 to 2021: 16,810 matches of 123 teams")
    data = jr.data.datasets.nfl()
    systems = {name: getattr(jr, name)(data.seasons, side_advantage=65) for name in ("elo", "glicko")}
    for name, system in systems.items():
        found = jr.metrics.match_metrics(jr.run(system, data).prediction, data.matches.score)
        assert re.search(rf"\n{name} +{found['log loss']:.4f} +{100 * found['accuracy']:.1f}%\n", text)
    published = jr.metrics.log_loss(jr.data.datasets.nfl_forecast(), data.matches.score)
    assert re.search(rf"FiveThirtyEight\) +{published:.4f}", text) and "elo_mmr" not in text
    board = text.split("as of 2021-02-07:\n\n")[1].splitlines()[1:33]
    assert board[0].split()[:4] == ["1", "Kansas", "City", "Chiefs"] and board[-1].startswith("  32")
    assert "Rochester" not in text and picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_demo_of_a_simulated_league_names_every_system_and_the_truth(jaxrate):
    code, text, _ = jaxrate("demo", "--simulated", "--players", 60, "--matches", 2000, "--seed", 3)
    assert code == 0
    assert all(f"\n{name} " in text for name in ("elo", "glicko", "glicko2"))
    assert "true rank" in text and "95 % interval" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--players", "60"), "--players goes with --simulated"),
        (("--seed", "0"), "--seed goes with --simulated"),
        (("--picture", "nowhere/nfl.png"), "--picture nowhere/nfl.png: there is no folder nowhere"),
        (("--picture", "nfl.xyz"), "--picture nfl.xyz: the name must end in .png, .pdf or .svg"),
    ],
)
def test_demo_refuses(jaxrate, arguments, message):
    code, text, errors = jaxrate("demo", *arguments)
    assert code == 2 and text == "" and message in errors and errors.count("\n") == 1


# carrying on


@pytest.fixture
def halves(tmp_path, games):
    """The first and the second half of games.csv; players 30 to 39 appear only in the second."""
    lines = games.read_text().splitlines()
    late = [line for line in lines[1:] if re.search(r"player 3\d", line)]
    early = [line for line in lines[1:301] if line not in late]
    rest = [line for line in lines[1:] if line not in early and float(line.split(",")[3]) > 500]
    for name, part in (("first", early), ("second", rest), ("both", early + rest)):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *part]) + "\n")
    return tmp_path / "first.csv", tmp_path / "second.csv", tmp_path / "both.csv"


@pytest.mark.parametrize("period", [(), ("--period", 50)])
def test_state_carries_on_to_the_same_run(jaxrate, halves, tmp_path, period):
    first, second, both = halves
    options = ("--system", "glicko2", "--param", "tau=0.4", "--side", "home", "--param", "side_advantage=20", *period)
    assert jaxrate("rate", first, *options, "--out", tmp_path / "run")[0] == 0
    code, text, errors = jaxrate("rate", second, "--state", tmp_path / "run", "--out", tmp_path / "run", "--top", 40)
    assert code == 0, errors
    before = len(first.read_text().splitlines()) - 1
    assert " matches of 40 players" in text and f"\n{455 - before} new matches in " in text
    code, whole, _ = jaxrate("rate", both, *options, "--out", tmp_path / "whole", "--top", 40)
    assert code == 0 and text.split("\n\n")[:2] == whole.split("\n\n")[:2]
    for name in ("ratings", "predictions"):
        one, two = (pa.parquet.read_table(tmp_path / run / f"{name}.parquet").to_pydict() for run in ("run", "whole"))
        assert one.pop("row", None) != two.pop("row", []) and one == two
    one, two = (np.load(tmp_path / run / "state.npz") for run in ("run", "whole"))
    assert all((one[leaf] == two[leaf]).all() for leaf in two)


@pytest.fixture
def run(jaxrate, halves, tmp_path):
    assert jaxrate("rate", halves[0], "--param", "c=20", "--out", tmp_path / "run")[0] == 0
    return tmp_path / "run"


def test_a_state_alone_shows_ratings_as_of_a_time(jaxrate, run):
    saved = jr.load(run)
    code, text, errors = jaxrate("rate", "--state", run, "--as-of", 2000, "--top", 3)
    assert code == 0 and errors == ""
    assert text == (
        f"glicko: {len(saved.predictions)} matches of {len(saved.players)} players\n\n"
        f"{jr.leaderboard(saved, top=3, as_of=2000)}\n"
    )
    assert str(jr.leaderboard(saved, top=3)) not in text


def test_a_state_says_who_beat_whom(jaxrate, run):
    saved = jr.load(run)
    first = saved.predictions.slice(0, 1).to_pylist()[0]
    both = "--player", first["a"], "--against", first["b"]
    code, text, _ = jaxrate("rate", "--state", run, *both, "--upsets", "--top", 3)
    assert code == 0 and text.endswith(f"{jr.league.head_to_head(saved, first['a'], first['b'])}\n")
    assert f"least expected\n\n{jr.league.upsets(saved, player=first['a'], top=3)}\n" in text
    assert "--against goes with --player" in jaxrate("rate", "--state", run, *both[2:])[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("second.csv", "--system", "elo"), "the saved run is of glicko, not elo; rate its matches again by elo"),
        (("second.csv", "--param", "c=30"), "the saved run has c=20.0; carry on without --param"),
        (("second.csv", "--period", "7"), "was rated match by match; carry on without --period"),
        (("first.csv",), r"first.csv: row 0 \(counting from 0\): time .* is earlier than the last match"),
        (("--as-of", "100", "--out", "new"), "--out: the run in .*run goes beyond --as-of; rate its file anew"),
        (("--active", "few"), "--active few: write a number of days above 0, a share below 1, or all"),
        (("--since", "5000"), "since 5000 must be before the moment of the list"),
        (("--player", "player 9"), "no player 'player 9'; did you mean 'player "),
    ],
)
def test_what_cannot_follow_a_state(jaxrate, run, arguments, message):
    arguments = (run.parent / x if x.endswith(".csv") else x for x in arguments)
    code, _, errors = jaxrate("rate", *arguments, "--state", run)
    assert code == 2 and errors.count("\n") == 1 and re.search(message, errors)


def test_a_state_saved_from_python(jaxrate, halves, tmp_path):
    jr.save(tmp_path / "run", jr.rate(jr.elo(), jr.read(halves[0])))
    (tmp_path / "coming.csv").write_text("a,b\nplayer 01,player 02\n")
    code, text, errors = jaxrate("rate", halves[1], "--state", tmp_path / "run")
    assert code == 0 and errors == "" and "of 40 players" in text
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
    assert code == 0 and errors == "" and text.splitlines()[0].split() == PREDICTED


def test_a_state_that_is_none(jaxrate, games, tmp_path):
    code, _, errors = jaxrate("rate", games, "--state", tmp_path / "nowhere")
    assert code == 2 and "nowhere: no saved run there: run.json is missing" in errors


# as of, player, predict


def test_as_of_leaves_out_what_came_later(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("a,b,score,date\nx,y,1,2024-01-01T12:00\ny,x,0,2024-01-05T18:30\nx,y,0,2024-01-06T00:30\n")
    code, text, _ = jaxrate("rate", path, "--as-of", "2024-01-05", "--out", tmp_path / "run")
    assert code == 0 and "glicko: 2 matches" in text and len(jr.load(tmp_path / "run").predictions) == 2
    for moment, n in (
        ("2024-01-05T18:29", 1),
        ("2024-01-05T18:30", 2),
        ("2024-01-06", 3),
        ("2024-01-05T19:30+01:00", 2),
    ):
        code, text, _ = jaxrate("rate", path, "--as-of", moment)
        assert code == 0 and f"glicko: {n} matches" in text, moment
    for moment, message in (
        ("2023-01-01", "no matches are left"),
        ("May", "--as-of May: write a date, as in 2026-05-31"),
        ("19727.5", "--as-of 19727.5: write a date"),
        ("nan", "--as-of nan: write a date"),
    ):
        code, _, errors = jaxrate("rate", path, "--as-of", moment)
        assert code == 2 and message in errors


def test_as_of_knows_nobody_who_came_later(jaxrate, tmp_path):
    (tmp_path / "games.csv").write_text("winner,loser,t\nAda,Bo,0\nCy,Bo,1\nCy,Di,9\n")
    out = tmp_path / "run"
    code, text, _ = jaxrate("rate", tmp_path / "games.csv", "--as-of", 1, "--out", out, "--csv", "--param", "c=90")
    assert code == 0 and text.startswith("glicko: 2 matches of 3 players") and "Di" not in text
    assert sorted(jr.load(out).players) == ["Ada", "Bo", "Cy"]
    (tmp_path / "later.csv").write_text("winner,loser,t\nCy,Di,9\n")
    carried = jaxrate("rate", tmp_path / "later.csv", "--state", out, "--as-of", 100, "--top", 4)[1]
    whole = jaxrate("rate", tmp_path / "games.csv", "--param", "c=90", "--as-of", 100, "--top", 4)[1]
    assert carried.split("\n\n")[1] == whole.split("\n\n")[1]
    assert carried.split("\n\n")[1] not in jaxrate("rate", tmp_path / "games.csv", "--param", "c=90", "--top", 4)[1]
    one, two = csv(out / "ratings.csv"), pa.parquet.read_table(out / "ratings.parquet")
    np.testing.assert_allclose(one["deviation"], two["deviation"], rtol=1e-6)
    assert jaxrate("rate", tmp_path / "games.csv", "--out", out)[0] == 0  # and no tables of the earlier run stay
    assert {path.name for path in out.iterdir()} == {"ratings.parquet", "predictions.parquet", "run.json", "state.npz"}
    assert jaxrate("rate", tmp_path / "games.csv", "--out", tmp_path / "not", "--player", "Zed")[0] == 2
    assert not (tmp_path / "not" / "run.json").exists()


def test_player_shows_every_match(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,date\nAda,Bo,2024-01-01\nCy,Bo,2024-01-02\nCy,Ada,2024-01-03\n")
    code, text, _ = jaxrate("rate", path, "--system", "elo", "--player", "Ada", "--out", tmp_path / "run")
    assert code == 0
    lines = text.split("Ada: 2 matches\n\n")[1].splitlines()
    assert lines[0].split() == ["time", "opponent", "score", "probability", "rating", "change"]
    assert lines[1].split() == ["2024-01-01", "Bo", "1", "0.500", "1500.0", "+16.0"]
    when, opponent, score, probability, rating, change = lines[2].split()
    assert (when, opponent, score, rating) == ("2024-01-03", "Cy", "0", "1516.0")
    final = jr.load(tmp_path / "run").state.rating[0]
    assert float(change) == pytest.approx(float(final) - 1516, abs=0.051) and 0.49 < float(probability) < 0.51
    code, again, _ = jaxrate("rate", "--state", tmp_path / "run", "--player", "Ada")
    assert code == 0 and again.split("Ada: 2 matches")[1] == text.split("Ada: 2 matches")[1]


def test_smooth_shows_the_greatest_and_each_match_as_it_is_known_now(jaxrate, tmp_path):
    path, out = tmp_path / "games.csv", tmp_path / "run"
    path.write_text("winner,loser,date\nAda,Bo,2024-01-01\nCy,Bo,2024-01-02\nCy,Ada,2024-01-03\n")
    rate = "rate", path, "--system", "skills", "--param", "experience=none", "--smooth"
    code, text, _ = jaxrate(*rate, "--player", "Ada", "--out", out, "--csv")
    assert code == 0
    found = jr.smooth(jr.load(out).system, jr.read(path))
    best = text.split("with hindsight, each at their best")[1].splitlines()[2:4]
    assert best[0].split()[-1] == "time" and best[1].split()[:3] == ["1", "Cy", f"{found.rating.mean[:, 0].max():.1f}"]
    assert best[1].split()[-1] in ("2024-01-02", "2024-01-03")
    career = text.split("Ada: 2 matches\n\n")[1].splitlines()
    assert career[0].split()[-3:] == ["hindsight", "its", "deviation"]
    assert [float(x.split()[-2]) for x in career[1:3]] == pytest.approx(jr.career(found, "Ada")["rating"], abs=0.06)
    saved = (out / "hindsight.csv").read_text().splitlines()
    head = saved[0].replace('"', "")
    assert head == "row,time,a,b,score,prediction,rating_a,deviation_a,rating_b,deviation_b" and len(saved) == 4
    for refused, why in ((("rate", "--state", out), "a whole history"), (("rate", path, "--system", "elo"), "skills")):
        code, _, error = jaxrate(*refused, "--smooth")
        assert code == 2 and why in error


PREDICTED = ["time", "a", "b", "win", "draw", "loss", "expected", "odds", "win", "odds", "draw", "odds", "loss"]


def test_predict_says_what_to_expect(jaxrate, run, tmp_path):
    saved = jr.load(run)
    coming, out = tmp_path / "coming.csv", tmp_path / "out.csv"
    coming.write_text("a,b,time\nplayer 01,player 02,1500\nplayer 02,stranger,1501\n")
    code, _, errors = jaxrate("predict", run, coming)
    assert code == 2 and "no player 'stranger'; --newcomers takes them as new players" in errors
    code, text, errors = jaxrate("predict", run, coming, "--newcomers", "--out", out)
    assert code == 0 and "1 of these players have not played yet: stranger" in errors
    ids = [list(saved.players).index(name) for name in ("player 01", "player 02")]
    pairs = jr.matches([ids, [ids[1], len(saved.players)]], [0.5, 0.5], [1500, 1501])
    want = jr.predict(saved.system, saved.state, pairs, num_players=len(saved.players) + 1)
    for line, guess in zip(text.splitlines()[-2:], want, strict=True):
        assert line.split()[-4] == f"{guess:.3f}"
    table = csv(out).to_pydict()
    assert table["b"] == ["player 02", "stranger"]
    np.testing.assert_allclose(table["expected"], want, rtol=1e-5)
    assert json.loads(jaxrate("predict", run, coming, "--newcomers", "--json")[1])[0]["a"] == "player 01"
    coming.write_text("a,b\n" + "player 01,player 02\n" * 40)  # without times: right after the last match
    code, text, _ = jaxrate("predict", run, coming)
    assert code == 0 and "... and 10 more; --out writes them all" in text
    for given, when in (((), saved.last), (("--at", 1700), 1700.0)):
        pairs = jr.matches([ids], [0.5], [when])
        guess = jr.predict(saved.system, saved.state, pairs)[0]
        assert jaxrate("predict", run, coming, *given)[1].splitlines()[-2].split()[-4] == f"{guess:.3f}"
    coming.write_text("a,b\nplayer 01,player 01\n")
    for given, said in (
        ((), "coming.csv: row 0 (counting from 0, line 2): player"),
        (("--at", "May"), "--at May: write"),
    ):
        code, _, errors = jaxrate("predict", run, coming, *given)
        assert code == 2 and said in errors


# formats


def test_formats_by_name_and_by_ending(jaxrate, tmp_path):
    game = '[White "Ada"]\n[Black "Bo"]\n[Result "1-0"]\n[Date "2024.01.31"]\n\n1. e4 1-0\n\n'
    (tmp_path / "games.pgn").write_text(game * 2)
    code, text, errors = jaxrate("rate", tmp_path / "games.pgn", "--quiet", "--out", tmp_path / "run")
    assert code == 0 and "2 matches of 2 players" in text and errors == ""
    assert jaxrate("rate", tmp_path / "games.pgn", "--format", "pgn")[1].startswith("glicko: 2 matches")
    (tmp_path / "results.csv").write_text(
        "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral\n"
        "2024-01-31,Malta,Cyprus,2,1,Friendly,Ta' Qali,Malta,FALSE\n"
    )
    assert "1 matches of 2 players" in jaxrate("rate", tmp_path / "results.csv", "--format", "football")[1]
    more = ("--format", "football", "--system", "skills", "--category", "tournament", "--season", "country")
    code, text, errors = jaxrate("rate", tmp_path / "results.csv", *more)
    assert code == 0 and "skills: 1 matches of 2 players" in text, errors
    for arguments, message in (
        ((tmp_path / "results.csv", "--format", "soccer"), "unknown format 'soccer' (there are tennis, football, pgn"),
        ((tmp_path / "results.csv", "--format", "fotball"), "unknown format 'fotball'; did you mean 'football'?"),
        ((tmp_path / "results.csv", "--format", "football", "--a", "x"), "--a does not go with --format football"),
        ((tmp_path,), "is a folder; say what it holds with --format (tennis"),
    ):
        code, _, errors = jaxrate("rate", *arguments)
        assert code == 2 and message in errors


def test_predictions_after_a_format_know_the_side(jaxrate, tmp_path):
    game = '[White "{}"]\n[Black "{}"]\n[Result "1-0"]\n[Date "2024.01.31"]\n\n1. e4 1-0\n\n'
    (tmp_path / "games.pgn").write_text(game.format("Ada", "Bo") + game.format("Bo", "Ada"))
    (tmp_path / "coming.csv").write_text("a,b\nAda,Bo\nBo,Ada\n")
    elo = ("--system", "elo", "--param", "side_advantage=100", "--out", tmp_path / "run")
    assert jaxrate("rate", tmp_path / "games.pgn", *elo)[0] == 0
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
    assert code == 0 and "nobody has the side" not in errors
    assert all(line.split()[3] == line.split()[1] and float(line.split()[-3]) > 0.6 for line in text.splitlines()[-2:])
    text = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", "--side", "b")[1]  # what is given now wins
    assert all(float(line.split()[-3]) < 0.4 for line in text.splitlines()[-2:])
    (tmp_path / "more.csv").write_text("white,black,score,day\nAda,Cy,1,2024-02-01\n")
    columns = ("--a", "white", "--b", "black", "--time", "day", "--side", "a")
    state = ("--state", tmp_path / "run", "--out", tmp_path / "run")
    assert jaxrate("rate", tmp_path / "more.csv", *state, *columns)[0] == 0
    (tmp_path / "coming.csv").write_text("white,black,day\nAda,Cy,2024-03-01\n")  # the columns are remembered
    assert jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")[0] == 0
    (tmp_path / "won.csv").write_text("winner,loser,day\nAda,Cy,2024-03-01\n")  # and a new form replaces the old one
    more = ("--state", tmp_path / "run", "--winner", "winner", "--side", "day")
    assert "day" in jaxrate("rate", tmp_path / "won.csv", *more)[2]


def test_weights_count(jaxrate, tmp_path):
    rows = [("x", "y", 1, 1, 3), ("y", "z", 0, 2, 1), ("x", "z", 1, 3, 2)]
    weighted = "".join(f"{a},{b},{s},{t},{w}\n" for a, b, s, t, w in rows)
    (tmp_path / "games.csv").write_text("a,b,score,time,weight\n" + weighted)
    data = jr.read(tmp_path / "games.csv", weight="weight")
    result = jr.run(jr.elo(), data.matches)
    loss = jr.metrics.log_loss(result.prediction, data.matches.score, weight=[3, 1, 2])
    for command in ("rate", "compare"):
        text = jaxrate(command, tmp_path / "games.csv", "--weight", "weight", "--system", "elo")[1]
        assert f"{loss:.4f}" in text and str(round(loss, 4)) not in ("0.0", "")
    plain = jr.metrics.log_loss(result.prediction, data.matches.score)
    assert f"{loss:.4f}" != f"{plain:.4f}"


# categories


def test_rate_by_categories(jaxrate, races, tmp_path):
    """Two columns and a mixture; periods of the system's own length; the tables name the categories."""
    by = ["--system", "category_glicko", "--category", "race_a", "race_b", "--mixtures", "Random", races]
    code, out, err = jaxrate("rate", *by, "--out", tmp_path / "run")
    assert code == 0, err
    assert "category_glicko rates rating periods, here of 14" in err and "in periods of 14" in out
    data = jr.read(races, category=("race_a", "race_b"), mixtures={"Random": None})
    system = jr.category_glicko(3)
    result = jr.run(system, jr.periods(data.matches, 14.0))
    table = pa.parquet.read_table(tmp_path / "run" / "predictions.parquet")
    np.testing.assert_array_equal(table["prediction"], result.prediction)
    table = pa.parquet.read_table(tmp_path / "run" / "ratings.parquet").sort_by("id")
    for i, name in enumerate(data.categories):
        np.testing.assert_array_equal(table[f"modifier {name}"], result.state.modifiers[:, i])
        np.testing.assert_allclose(table[f"deviation {name}"], np.sqrt(result.state.modifier_variance[:, i]))
    code, out, err = jaxrate("rate", races, "--system", "category_glicko", "--category", "map", "--period", "30")
    assert code == 0 and "in periods of 30" in out and "\nlog loss" in out


def test_categories_carry_on_and_are_predicted(jaxrate, races, tmp_path):
    lines = races.read_text().splitlines()
    times = np.array([float(line.split(",")[3]) for line in lines[1:]])
    cut = 1 + int(np.searchsorted(times, 504.0))
    for name, rows in (("first", lines[1:cut]), ("second", lines[cut:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    by = ["--category", "race_a", "race_b", "--mixtures", "Random=Zerg:0.5,Protoss:0.5"]
    for file, more in (("first", by), ("second", ["--state", tmp_path / "run"])):
        system = ["--system", "category_glicko"] if file == "first" else []
        code, _, err = jaxrate("rate", tmp_path / f"{file}.csv", *system, *more, "--out", tmp_path / "run")
        assert code == 0, err
    code, _, err = jaxrate("rate", races, "--system", "category_glicko", *by, "--out", tmp_path / "whole")
    assert code == 0, err
    run, whole = (jr.load(tmp_path / name) for name in ("run", "whole"))
    assert run.categories.tolist() == whole.categories.tolist()
    for x, y in zip(run.state, whole.state, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-3)
    (tmp_path / "next.csv").write_text("a,b,race_a,race_b\nplayer 01,player 02,Zerg,Random\n")
    code, out, err = jaxrate("predict", tmp_path / "run", tmp_path / "next.csv")
    assert code == 0 and "player 01" in out, err
    (tmp_path / "next.csv").write_text("a,b,race_a,race_b\nplayer 01,player 02,Zerg,Xel\n")
    code, _, err = jaxrate("predict", tmp_path / "run", tmp_path / "next.csv")
    assert code == 2 and "row 0 (counting from 0, line 2): unknown category 'Xel'" in err


def test_compare_has_category_glicko_where_there_are_categories(jaxrate, races):
    named = ["--system", "glicko", "--period", "30"]
    code, out, _ = jaxrate("compare", races, *named)
    assert code == 0 and "category_glicko" not in out
    code, out, err = jaxrate("compare", races, *named, "--system", "category_glicko", "--category", "map")
    assert code == 0, err
    lines = [line.split()[:2] for line in out.splitlines() if "glicko" in line]
    assert sorted(lines[:3]) == [["category_glicko", "periods"], ["glicko", "by"], ["glicko", "periods"]]
    assert out.endswith("Not known to glicko: categories.\n")


def test_category_takes_one_column_or_two_wherever_they_stand(jaxrate, races, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "race_b").mkdir()  # a folder of that name does not matter
    quick = ["--system", "category_glicko", "--quiet", "--top", "1"]
    before = jaxrate("rate", "--category", "race_a", "race_b", *quick, "races.csv")
    for two in (["--category=race_a", "race_b"], ["--category", "race_a", "--category", "race_b"]):
        assert (
            jaxrate("rate", "races.csv", *quick, *two)[1].partition("matches in")[0]
            == before[1].partition("matches in")[0]
        )
    assert before[0] == 0 and "strength against" in before[1] and "Random" in before[1]
    code, out, _ = jaxrate("rate", *quick, "--category", "map", "races.csv")
    assert code == 0 and "Lost Temple" in out
    assert "no such file" in jaxrate("rate", *quick, "--category", "map", "races")[2]


def test_categories_that_a_system_does_not_know_are_not_kept(jaxrate, races, tmp_path):
    code, _, err = jaxrate("rate", races, "--system", "elo", "--category", "map", "--out", tmp_path / "run")
    assert code == 0 and "elo takes no notice of categories" in err
    assert jr.load(tmp_path / "run").categories is None
    (tmp_path / "next.csv").write_text("a,b\nplayer 01,player 02\n")
    code, _, err = jaxrate("predict", tmp_path / "run", tmp_path / "next.csv")
    assert code == 0, err


def test_plan_says_what_category_glicko_lacks(jaxrate, races):
    only = ["--system", "category_glicko"]
    assert "only with --period" in jaxrate("plan", races, *only, "--category", "map")[1]
    assert "only with --category" in jaxrate("plan", races, *only, "--period", "14")[1]
    code, out, _ = jaxrate("plan", races, *only, "--category", "map", "--period", "14")
    assert code == 0 and re.search(r"category_glicko +[\d.]+ MB", out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "category_glicko"], "needs the categories of both players of every match"),
        (["--category", "race_a", "race_b", "--param", "categories=2"], r"row \d+ .*category 2, counting from 0, but"),
        (["--category", "race_a", "rcae_b"], "no column 'rcae_b'; did you mean 'race_b'"),
        (
            ["--category", "race_a", "--mixtures", "Random=Zerg,Teran"],
            "has 'Teran', which is no category; did you mean",
        ),
        (["--category", "race_a", "--mixtures", "Random=Zerg:x"], "--mixtures Random=Zerg:x: write as in Random,"),
        (
            ["--category", "race_a", "--mixtures", "Random=Zerg:0.5,Zerg:0.5"],
            "--mixtures Random=Zerg:0.5,Zerg:0.5: write",
        ),
        (["--category", "race_a", "--mixtures", "Randm"], "the mixture 'Randm' is in no row; did you mean 'Random'"),
        (["--category", "race_a", "--mixtures", "Random", "--mixtures", "Random"], "--mixtures names one twice"),
        (["--mixtures", "Random"], "mixtures and categories need category"),
        (["--category", "race_a", "race_b", "--category", "map"], "category must be one column or the pair"),
        (["--category", "map", "--time", "race_a"], "row 0 .*column 'race_a' is .*, not an ISO date"),
    ],
)
def test_category_mistakes_are_said(jaxrate, races, arguments, message):
    code, out, err = jaxrate("rate", races, "--system", "category_glicko", *arguments)
    assert code == 2 and out == "" and re.search(message, err), err


# further columns


def test_columns_of_ones_own_reach_the_rules_and_are_kept(jaxrate, tmp_path, monkeypatch):
    """Of a system that predicts what a column says."""
    elo = jr.elo()._replace(name="told")

    def say(constants, rows, event):
        return 0.5 + event.context.columns["lead"] + 0.0 * rows.rating[0]

    monkeypatch.setitem(jr.extend.SYSTEMS, "told", lambda **params: elo._replace(rules=elo.rules._replace(predict=say)))
    (tmp_path / "games.csv").write_text("a,b,score,lead,weather\nx,y,1,0.25,1\ny,x,0,-0.125,0\n")
    further = ("--columns", "lead", "--columns", "weather", "--out", tmp_path / "run")
    code, _, errors = jaxrate("rate", tmp_path / "games.csv", "--system", "told", *further)
    assert code == 0, errors
    assert pa.parquet.read_table(tmp_path / "run" / "predictions.parquet")["prediction"].to_pylist() == [0.75, 0.375]
    (tmp_path / "coming.csv").write_text("a,b,lead,weather\nx,y,0.375,0\n")  # the columns are remembered
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
    assert code == 0 and text.splitlines()[-1].split()[-3] == "0.875", errors
    for table, message in (("a,b\nx,y\n", "coming.csv: no column 'lead'"), ("a,b,lead\nx,y,z\n", "'weather'")):
        (tmp_path / "coming.csv").write_text(table)
        code, _, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
        assert code == 2 and message in errors


# compare


def test_compare_scores_every_form(jaxrate, games):
    systems = [x for name in ("elo", "glicko", "glicko2", "blat_mmr") for x in ("--system", name)]
    arguments = ("--period", 50, "--param", "c=30", "--param", "glicko2.tau=0.3", *systems)
    code, text, errors = jaxrate("compare", games, *arguments)
    assert code == 0 and errors == ""
    head, *lines = text.split("\n\n")[1].splitlines()
    assert head.split("  ")[0] == "system" and "matches/s" in head
    data = jr.read(games)
    runs = {
        ("elo", "by match"): (jr.elo(), data.matches),
        ("elo", "periods of 50"): (jr.elo(), jr.periods(data.matches, 50.0)),
        ("glicko", "by match"): (jr.glicko(c=30), data.matches),
        ("glicko", "periods of 50"): (jr.glicko(c=30, period=50), jr.periods(data.matches, 50.0)),
        ("glicko2", "by match"): (jr.glicko2(tau=0.3), data.matches),
        ("glicko2", "periods of 50"): (jr.glicko2(tau=0.3, period=50), jr.periods(data.matches, 50.0)),
        ("blat_mmr", "by match"): (jr.blat_mmr(), data.matches),
    }
    table = {tuple(re.split(r"\s\s+", line)[:2]): re.split(r"\s\s+", line)[2:] for line in lines}
    assert list(table)[-1][0] == "(blend)" and float(list(table)[-1][1]) < 0.69
    del table[[*table][-1]]
    assert table.keys() == runs.keys()
    for key, (system, events) in runs.items():
        p, s = jr.run(system, events).prediction, data.matches.score
        error = jr.metrics.calibration(p, s).error
        quality = (jr.metrics.log_loss(p, s), jr.metrics.brier_score(p, s), jr.metrics.accuracy(p, s), error)
        assert table[key][:4] == [f"{x:.4f}" for x in quality]
    losses = [float(values[0]) for values in table.values()]
    assert losses == sorted(losses)


def test_compare_in_json_of_the_last_matches(jaxrate, games):
    code, text, errors = jaxrate("compare", games, "--system", "elo", "--last", 0.25, "--json")
    assert code == 0 and errors == ""
    about = json.loads(text)
    assert (about["matches"], about["players"], about["scored"]) == (600, 40, 150)
    assert [(x["system"], x["period"]) for x in about["results"]] in (
        [("elo", None), ("elo", 7)],
        [("elo", 7), ("elo", None)],
    )
    data = jr.read(games)
    loss = jr.metrics.log_loss(jr.run(jr.elo(), data.matches).prediction[450:], data.matches.score[450:])
    by_match = next(x for x in about["results"] if x["period"] is None)
    assert by_match["log loss"] == pytest.approx(loss, abs=1e-9) and by_match["params"]["k"] == 32
    assert by_match["matches/s"] > 0
    assert list(about["blend"]["weights"]) == ["elo", "elo, periods of 7"]
    assert about["blend"]["quality"].keys() == {"log loss", "Brier score", "accuracy", "calibration error"}


def test_compare_without_times_has_no_periods(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("winner,loser\nx,y\ny,z\nx,z\n")
    code, text, errors = jaxrate("compare", path)
    assert code == 0 and "no rating periods" in errors and "periods of" not in text
    rows = [re.split(r"\s\s+", line) for line in text.split("\n\n")[1].splitlines()[1:]]
    assert all(
        0.0 < float(row[4]) < 1.0 for row in rows
    )  # a winner's column makes calibration neither perfect nor worst
    assert jaxrate("compare", path, "-q")[2] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--system", "gliko"), "unknown system 'gliko'; did you mean 'glicko'?"),
        (
            ("--system", "elo", "--system", "glicko", "--param", "kk=3"),
            "elo and glicko: no parameter 'kk'; did you mean 'k'?",
        ),
        (("--param", "elo.c=3"), "elo: no parameter 'c'"),
        (("--param", "eloo.k=3"), "--param eloo.k: no system 'eloo' here; did you mean 'elo'?"),
        (("--param", ".k=3"), "--param .k: no system '' here"),
        (("--system", "elo", "--param", "tau=3"), "elo: no parameter 'tau'"),
        (("--param", "tau=x"), "glicko2: tau must be a number, got 'x'"),
        (("--period", "-1"), "--period must be above 0, got -1"),
        (("--last", "0"), "--last must be above 0 and at most 1, got 0"),
        (("--last", "nan"), "--last must be above 0 and at most 1, got nan"),
        (("--last", "20"), "--last must be above 0 and at most 1, got 20"),
    ],
)
def test_compare_refuses(jaxrate, games, arguments, message):
    code, text, errors = jaxrate("compare", games, *arguments)
    assert code == 2 and text == "" and message in errors and errors.count("\n") == 1


# contests


RACES = 30, 6  # contests of so many


@pytest.fixture
def contests(tmp_path, share):
    """races.csv: named drivers in races every other day, and ties."""
    random = np.random.default_rng(2)
    strength = np.arange(14) / 5
    rows = []
    for race in range(RACES[0]):
        who = random.permutation(8 + race // 5)[: RACES[1]]
        place = np.argsort(np.argsort(-strength[who] - random.normal(size=RACES[1]))) // 2 * 2
        day = np.datetime64("2024-01-01") + 2 * race
        rows += [f"race {race},driver {w:02},{p + 1},{p + 2},{day}\n" for w, p in zip(who, place, strict=True)]
    (tmp_path / "races.csv").write_text("race,driver,place,last,date\n" + "".join(rows))
    return tmp_path / "races.csv"


COLUMNS = ("--contest", "race", "--participant", "driver", "--rank", "place", "--last-rank", "last")
SHARE = ("--system", "share", "--param", "k=60")


def lines_of(rounds, rating, mask=None):
    """The quality that is printed."""
    masks = [jr.metrics.experience_mask(rounds, games) & (True if mask is None else mask) for games in (1, 5)]
    metrics = jr.metrics.pairwise_accuracy, jr.metrics.rank_deviation
    return [f"{100 * metric(rounds, rating, mask=mask):.2f}%" for mask in masks for metric in metrics]


def test_rate_of_contests_prints_and_saves_what_run_computes(jaxrate, contests, tmp_path):
    out = tmp_path / "run"
    code, text, errors = jaxrate("rate", contests, *COLUMNS, *SHARE, "--out", out, "--csv", "--player", "driver 03")
    assert code == 0 and errors == f"jaxrate: saved the run to {out}\n"
    data = jr.read(contests, contest="race", participant="driver", rank="place")
    system = jr.extend.SYSTEMS["share"](k=60)
    result = jr.league.rating_history(system, data.rounds)
    assert text.startswith("share: 30 contests, 180 participations of 13 players\n\n")
    assert str(jr.leaderboard(jr.rate(system, data), top=10)) in text
    assert "\n30 contests, 180 participations in " in text
    quality = re.findall(r"\n(?:pair inversion|rank deviation)(?:, 5plus)? +(\S+%)", text)
    assert quality == lines_of(data.rounds, result.before.mean) and float(quality[0][:-1]) > 60
    predictions = csv(out / "predictions.csv")
    np.testing.assert_allclose(predictions["prediction"], result.prediction, rtol=1e-6)
    assert sum(csv(out / "ratings.csv")["games"].to_pylist()) == 180
    career = text.split("driver 03: ")[1].splitlines()
    games = jr.career(jr.load(out), "driver 03")
    assert career[0] == f"{len(games['rank'])} contests"
    head = ["time", "contest", "participants", "rank", "expected rank", "rating", "deviation", "change"]
    assert re.split(r"  +", career[2]) == head
    first = [f"{games[name][0]}" for name in ("time", "contest", "participants", "rank")]
    rest = " ".join(f"{games[name][0]:.1f}" for name in ("expected_rank", "rating", "deviation"))
    rest += f" {games['change'][0]:+.1f}"
    assert re.split(r"  +", career[3]) == [*first, *rest.split()]
    again = jaxrate("rate", "--state", out, "--player", "driver 03")[1]
    assert (
        again.split("\n\n")[:2] == text.split("\n\n")[:2]
        and again.split("driver 03: ")[1] == text.split("driver 03: ")[1]
    )


def test_contests_of_another_density_and_noises_of_their_own(jaxrate, contests):
    head, *rows = contests.read_text().splitlines()
    loud = [0.5 + (int(row.split(",")[0][5:]) % 3) for row in rows]
    rows = [f"{row},{x}" for row, x in zip(rows[:60], loud, strict=False)]
    contests.write_text("\n".join([f"{head},loud", *rows, ""]))
    given = ("--system", "elo_mmr", "--param", "density=gumbel", "--param", "history=2")
    code, text, _ = jaxrate("rate", contests, *COLUMNS, *given, "--noise", "loud")
    assert code == 0
    data = jr.read(contests, contest="race", participant="driver", rank="place", noise="loud")
    np.testing.assert_array_equal(data.rounds.events.noise, [0.5, 1.5, 2.5] * 3 + [0.5])
    system = jr.elo_mmr(2, density="gumbel")
    board = str(jr.leaderboard(jr.rate(system, data), top=10))
    assert board in text and board not in jaxrate("rate", contests, *COLUMNS, *given)[1]


def test_contests_carry_on_and_are_predicted(jaxrate, contests, tmp_path):
    head, *rows = contests.read_text().splitlines(keepends=True)
    (tmp_path / "first.csv").write_text(head + "".join(rows[:60]))
    (tmp_path / "second.csv").write_text(head + "".join(rows[60:]))
    assert jaxrate("rate", tmp_path / "first.csv", *COLUMNS, *SHARE, "--out", tmp_path / "run")[0] == 0
    (tmp_path / "coming.csv").write_text("race,driver\nnext,driver 03\nnext,driver 07\nnext,nobody\n")
    code, text, errors = jaxrate(
        "rate", tmp_path / "second.csv", "--state", tmp_path / "run", "--out", tmp_path / "run"
    )
    assert code == 0
    whole = jaxrate("rate", contests, *COLUMNS, *SHARE, "--out", tmp_path / "whole")[1]
    assert text.split("\n\n")[:2] == whole.split("\n\n")[:2] and "\n20 new contests, 120 participations in " in text
    one, two = (jr.load(tmp_path / name) for name in ("run", "whole"))
    np.testing.assert_allclose(one.predictions["prediction"], two.predictions["prediction"], rtol=1e-5)
    data = jr.read(contests, contest="race", participant="driver", rank="place")
    late = np.arange(180) >= 60
    assert re.findall(r"(\S+%)", text) == lines_of(data.rounds, two.predictions["rating"].to_numpy(), late)
    ids = [data.players.tolist().index(name) for name in ("driver 03", "driver 07")]
    coming = jr.rounds([0] * 3, [*ids, 13], [0] * 3, time=[two.last] * 3)
    want = jr.predict(two.system, two.state, coming, num_players=14)
    more = ("--newcomers", "--out", tmp_path / "upcoming.parquet")
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", *more)
    assert code == 0 and "1 of these players have not played yet: nobody" in errors
    assert [line.split()[-1] for line in text.splitlines()[1:]] == [f"{x:.3f}" for x in want]
    found = pa.parquet.read_table(tmp_path / "upcoming.parquet").to_pydict()
    assert found["contest"] == ["next"] * 3 and found["player"] == ["driver 03", "driver 07", "nobody"]
    np.testing.assert_allclose(found["expected_rank"], 1 + 2 * (1 - np.asarray(want)), rtol=1e-6)
    code, text, _ = jaxrate("rate", contests, *COLUMNS, *SHARE, "--as-of", "2024-01-20")
    assert code == 0 and text.startswith("share: 10 contests, 60 participations of 9 players")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rate", "--system", "glicko"), "glicko does not rate contests of many players; try "),
        (("rate", "--period", "7"), "rating periods are of matches of two, not of contests; leave out --period"),
        (("compare", "--period", "7"), "rating periods are of matches of two, not of contests; leave out --period"),
        (("plan", "--period", "7"), "rating periods are of matches of two, not of contests; leave out --period"),
        (
            ("rate", "--side", "a"),
            "races.csv: contests take no side",
        ),
        (("rate", "--a", "driver"), "races.csv: give the columns a and b, or winner and loser, or those of contests"),
        (("rate", "--participant", "drivr"), "races.csv: no column 'drivr'; did you mean 'driver'?"),
        (("rate", "--format", "contests"), "--contest does not go with --format contests, which knows its own"),
        (("rate", *SHARE, "--as-of", "2023-05-01"), "no contests are left up to --as-of"),
        (("compare", "--system", "elo"), "none of these systems rates rounds: elo"),
    ],
)
def test_mistakes_about_contests(jaxrate, contests, arguments, message):
    command, *more = arguments
    code, text, errors = jaxrate(command, contests, *COLUMNS, *more)
    assert code == 2 and text == "" and message in errors and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("r,Cy,,3,2024-01-01", r"row 2 \(counting from 0, line 4\): column 'place' has no value"),
        ("r,Cy,2,3,2024-01-01", "row 2 .*: the places 2 to 3 overlap others of the same contest"),
        ("r,Bo,3,3,2024-01-01", "row 2 .*: player 'Bo' is in contest 'r' twice"),
        ("r,Cy,3,3,2024-01-02", "row 2 .*: time 19724.0 differs within contest 'r'"),
        ("s,Cy,1,1,2023-12-31\ns,Bo,2,2,2023-12-31", "row 2 .*: time 2023-12-31 is earlier than 2024-01-01.* --sort\n"),
    ],
)
def test_bad_rows_of_contests_are_named(jaxrate, tmp_path, share, row, message):
    path = tmp_path / "races.csv"
    path.write_text(f"race,driver,place,last,date\nr,Ada,1,1,2024-01-01\nr,Bo,2,2,2024-01-01\n{row}\n")
    code, text, errors = jaxrate("rate", path, *COLUMNS, "--system", "share", "--out", tmp_path / "out")
    assert code == 2 and text == "" and errors.count("\n") == 1 and re.search(f"races.csv: {message}", errors)
    assert not (tmp_path / "out").exists()
    for command in ("compare", "plan"):
        assert jaxrate(command, path, *COLUMNS, "--system", "share") == (2, "", errors)


def test_a_contest_of_one_is_a_note(jaxrate, tmp_path, share):
    rows = "contest,player,rank\nr,Ada,1\nr,Bo,2\ns,Ada,1\nt,Bo,1\nt,Ada,1\n"
    (tmp_path / "races.csv").write_text(rows)
    for command in ("rate", "compare"):
        code, text, errors = jaxrate(command, tmp_path / "races.csv", "--system", "share")
        assert (
            code == 0
            and errors == "jaxrate: contest 's' has one participant; that changes nothing in systems of ranks\n"
        )
        assert re.search(r"5plus .* -", text, re.DOTALL)  # nobody has played so often
    assert "one participant" in jaxrate("rate", tmp_path / "races.csv", "--system", "share", "-q")[2]


def test_a_folder_of_contests(jaxrate, tmp_path, share):
    (tmp_path / "c").mkdir()
    for i, last in ((0, 2), (1, 3)):
        standings = [["Ada", 1, 2], ["Bo", 0, 0], ["Cy", 1, last]]
        (tmp_path / "c" / f"{i}.json").write_text(json.dumps({"time_seconds": 0, "standings": standings}))
    arguments = ("rate", tmp_path / "c", "--format", "contests", "--system", "share", "--player", "Ada")
    code, text, errors = jaxrate(*arguments)
    assert code == 2 and text == "" and errors.count("\n") == 1
    assert "1.json: standings entry 2 (counting from 0): the places 1 to 3 overlap others of the same" in errors
    (tmp_path / "c" / "1.json").unlink()
    code, text, errors = jaxrate(*arguments)
    assert code == 0 and errors == "" and text.startswith("share: 1 contests, 3 participations of 3 players")
    assert text.splitlines()[-1].split()[:4] == ["0", "3", "2", "2.0"]  # without a time


def test_compare_of_contests(jaxrate, contests):
    systems = ("--system", "share", "--system", "glicko", "--param", "share.k=60")
    code, text, errors = jaxrate("compare", contests, *COLUMNS, *systems)
    assert code == 0 and errors == ""
    data = jr.read(contests, contest="race", participant="driver", rank="place")
    before = jr.league.rating_history(jr.extend.SYSTEMS["share"](k=60), data.rounds).before.mean
    title, body, notes = text.split("\n\n")
    assert title == "30 contests, 180 participations of 13 players"
    assert notes == "Hyperparameters are the default ones, except those of share.\n"
    head, line = body.splitlines()
    labels = ["pair inversion", "rank deviation", "pair inversion, 5plus", "rank deviation, 5plus"]
    assert re.split("  +", head) == ["system", *labels, "participations/s"]
    assert re.split("  +", line)[:5] == ["share", *lines_of(data.rounds, before)]
    about = json.loads(jaxrate("compare", contests, *COLUMNS, *systems, "--last", 0.2, "--json")[1])
    assert [about[key] for key in ("contests", "participations", "players", "scored")] == [30, 180, 13, 6]
    wanted = jr.metrics.pairwise_accuracy(
        data.rounds, before, mask=(np.arange(180) >= 144) & jr.metrics.experience_mask(data.rounds, 1)
    )
    assert about["results"][0]["pair inversion"] == pytest.approx(wanted)


TEAMS = """contest,player,side,rank,t
a,Ada,red,1,1\na,Bo,red,1,1\na,Cy,blue,2,1\nb,Cy,red,2,2\nb,Ada,red,2,2\nb,Di,blue,1,2\nb,Bo,blue,1,2
c,Ada,x,1,3\nc,Bo,y,1,3\n"""


def test_teams_are_rated_predicted_and_compared(jaxrate, tmp_path, share):
    (tmp_path / "games.csv").write_text(TEAMS)
    (tmp_path / "coming.csv").write_text("contest,player,side\nnext,Ada,1\nnext,Bo,1\nnext,Cy,2\nnext,Eve,3\n")
    out = ("--out", tmp_path / "run")
    code, text, errors = jaxrate("rate", tmp_path / "games.csv", "--team", "side", *out, "--player", "Ada")
    assert code == 0 and text.startswith("trueskill: 3 contests, 9 participations of 4 players")
    guess = jr.load(tmp_path / "run").predictions["prediction"].to_numpy()
    assert guess[0] == guess[1] == pytest.approx(1 - guess[2]) and guess[0] > 0.5
    for label, value in jr.metrics.match_metrics(guess[[0, 3, 7]], np.array([1, 0, 0.5])).items():
        assert f"\n{label:<18}{value:.4f}" in text
    head, *lines = text.split("Ada: 3 contests\n\n")[1].splitlines()
    assert re.split("  +", head)[2:6] == ["participants", "teams", "rank", "expected rank"]
    assert [line.split()[2:5] for line in lines] == [["3", "2", "1"], ["4", "2", "2"], ["2", "2", "1"]]
    more = ("--newcomers", "--out", tmp_path / "upcoming.parquet")
    assert jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", *more)[0] == 0
    found = pa.parquet.read_table(tmp_path / "upcoming.parquet").to_pydict()
    assert found["share"][0] == found["share"][1] and sum(found["expected_rank"][1:]) == pytest.approx(6)
    code, text, errors = jaxrate("rate", tmp_path / "games.csv", "--team", "side", "--system", "share")
    assert code == 0 and "share knows no teams, so team-mates count as opponents who tie" in errors
    assert "pair inversion" in text
    compared = ("--system", "elo_mmx", "--system", "elo_mmr")
    code, text, errors = jaxrate("compare", tmp_path / "games.csv", "--team", "side", *compared)
    assert code == 0 and errors == "jaxrate: left out, since team-mates would be opponents: elo_mmr\n"
    assert re.search("\nelo_mmx +0", text) and "log loss" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rate", "--team", "sid"), "games.csv: no column 'sid'; did you mean 'side'?"),
        (("rate", "--team", "contest"), "row 2 (counting from 0, line 4): rank 2.0 differs from 1.0 of the same team"),
        (("rate", "--team", "side", "--format", "pgn"), "--team does not go with --format pgn"),
        (("compare", "--team", "side", "--system", "elo_mmr"), "none of these systems rates teams: elo_mmr; try elo_m"),
    ],
)
def test_mistakes_about_teams(jaxrate, tmp_path, arguments, message):
    (tmp_path / "games.csv").write_text(TEAMS)
    command, *more = arguments
    code, text, errors = jaxrate(command, tmp_path / "games.csv", *more)
    assert code == 2 and text == "" and message in errors


def test_simulated_contests_are_rated_compared_and_planned(jaxrate, tmp_path, share):
    path = tmp_path / "c.parquet"
    assert jaxrate("simulate", path, "--players", 30, "--rounds", 40, "--size", 8, "-q") == (0, "", "")
    code, text, _ = jaxrate("rate", path, "--top", 3)
    assert code == 0 and text.startswith("elo_mmr: 40 contests, 320 participations of 30 players")
    code, compared, _ = jaxrate("compare", path, "--system", "share", "--system", "elo_mmr")
    lines = [re.split("  +", line) for line in compared.split("\n\n")[1].splitlines()[1:]]
    assert code == 0 and {line[0] for line in lines} == {"elo_mmr", "share"}
    inversion = [float(line[1][:-1]) for line in lines]
    assert inversion == sorted(inversion, reverse=True) and min(inversion) > 70
    assert re.findall(r"(\S+%)", text) == next(line[1:5] for line in lines if line[0] == "elo_mmr")
    code, text, _ = jaxrate("plan", path, "--system", "share", "--system", "elo")
    assert code == 0 and "320 participations of 30 players, 0 to 1000\n40 rounds in 38 steps" in text
    assert re.search(r"\nshare +0.0 MB +\S+ MB +\S+ s\n", text) and re.search(r"\nelo +does not rate rounds", text)


def test_values_of_parameters():
    values = hyperparameters.parse_params(("a=3", "b=0.5", "c=none", "d=False", "e=0.5,2", "f=probit", "g=0.5,"))
    assert values == {"a": 3, "b": 0.5, "c": None, "d": False, "e": (0.5, 2), "f": "probit", "g": (0.5,)}
    assert isinstance(values["a"], int)
    assert make_system("elo_mmr", {"newcomer": 0.5}).settings["newcomer"] == (0.5,)


# systems


def test_systems_lists_them_all(jaxrate):
    code, text, _ = jaxrate("systems")
    assert code == 0
    listed, defaults = text.split("\n\n")
    assert [line.split()[0] for line in listed.splitlines()[1:]] == list(jr.extend.SYSTEMS)
    assert "matches: glicko, contests: elo_mmr, teams: trueskill" in defaults and "elo, glicko, glicko2" in defaults
    for name in jr.extend.SYSTEMS:
        code, text, _ = jaxrate("systems", name)
        assert code == 0
        for field, about in zip(make_system(name, {}).params._fields, make_system(name, {}).space, strict=True):
            listed = text.partition("Parameters:")[2].splitlines()
            line = next(line for line in listed if line.split()[:1] == [field])
            assert about.meaning in line and about.unit in line and about.range.text in line
    text = jaxrate("systems", "glicko2")[1]
    assert "Glickman 2012" in text and re.search(r"tau +0.5 ", text)
    assert "luck=bradley_terry, size=1001" in jaxrate("systems", "blat_mmr")[1]
    assert jaxrate("systems", "elow")[0] == 2
    told = json.loads(jaxrate("systems", "--json")[1])
    assert list(told) == list(jr.extend.SYSTEMS) and told["glicko"]["default_of"] == ["matches"]
    assert told["glicko2"] == json.loads(jaxrate("systems", "glicko2", "--json")[1])
    tau = next(x for x in told["glicko2"]["parameters"] if x["name"] == "tau")
    assert tau["default"] == 0.5 and told["blat_mmr"]["settings"]["size"] == 1001


# plan


def test_plan_describes_and_rates_nothing(jaxrate, games, tmp_path):
    code, text, errors = jaxrate("plan", games)
    assert code == 0 and errors == ""
    assert text.startswith("600 matches of 40 players, 0 to 1000\n")
    plan = jr.extend.schedule_by_level(jr.read(games).matches)
    steps = int((plan.number < plan.size).any(axis=1).sum())
    assert f"{steps} steps of up to {plan.number.shape[1]} matches at once" in text
    assert "a GPU, an H100, is sooner done for " in text
    assert all(re.search(rf"\n{name} +0.[02] MB", text) for name in ("elo", "glicko", "glicko2", "blat_mmr"))
    code, text, _ = jaxrate("plan", games, "--period", 100, "--system", "glicko")
    assert code == 0 and "11 periods in 11 steps of" in text and "elo" not in text
    code, text, _ = jaxrate("plan", games, "--system", "codeforces")
    assert code == 0 and re.search(r"\ncodeforces +0.[02] MB", text)
    code, text, errors = jaxrate("plan", games, "--system", "glicko", "--system", "category_glicko", "--json")
    told = json.loads(text)
    assert code == 0 and errors == "" and (told["matches"], told["players"], told["last"]) == (600, 40, "1000")
    steps_there = jr.extend.schedule_by_level(jr.read(games).matches, 64).num_steps
    assert told["schedule"]["steps"] == plan.num_steps and 0 < told["schedule"]["filled"] <= 1
    assert told["systems"][0]["fits"] and told["systems"][0]["seconds"] > 0 and told["systems"][0]["memory"] > 5e8
    assert told["systems"][0]["gpu"] == gpu_seconds("glicko", "matches", [StepGroup(steps_there, 64, 2, 1)])
    assert told["systems"][1] == {"system": "category_glicko", "fits": False, "why": "only with --period"}


def test_plan_of_dates_in_a_fresh_process(tmp_path):
    (tmp_path / "games.csv").write_text("winner,loser,date\nAda,Bo,2024-01-31\nCy,Bo,2024-02-02\n")
    command = [sys.executable, "-m", "jaxrate", "plan", "games.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 matches of 3 players, 2024-01-31 to 2024-02-02\n")


def test_plan_warns_when_memory_will_not_do(jaxrate, games, monkeypatch):
    monkeypatch.setattr(cli.plan, "device_memory_bytes", lambda device: 1e8)
    code, text, errors = jaxrate("plan", games)
    assert code == 0 and "memory will not do for elo, glicko, glicko2" in errors
    assert re.search(r"\nelo .* -\n", text)


# simulate


def test_simulate_writes_a_league_and_its_truth(jaxrate, tmp_path):
    options = ("--players", 50, "--matches", 3000, "--draws", 0.3, "--side-advantage", 30, "--luck", 0.9, "--seed", 5)
    code, text, errors = jaxrate("simulate", tmp_path / "new" / "league.parquet", *options)
    assert code == 0 and text == "" and "wrote 3,000 matches of 50 players" in errors
    league = simulate.league(50, 3000, draws=0.3, side_advantage=30, luck=0.9, seed=5)
    data = jr.read(tmp_path / "new" / "league.parquet", side="side")
    np.testing.assert_array_equal(data.players[data.matches.player], league.matches.player)
    np.testing.assert_array_equal(data.matches.score, league.matches.score)
    truth = pa.parquet.read_table(tmp_path / "new" / "league.truth.parquet")
    np.testing.assert_allclose(truth["strength"], league.strength)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x.csv",), "x.csv: the name must end in .parquet"),
        (("x.parquet", "--players", 1), "num_players must be at least 2, got 1"),
        (("x.parquet", "--luck", 2), "luck must be in"),
        (("x.parquet", "--size", 5), "--size does not go with --matches"),
        (("x.parquet", "--rounds", 5, "--draws", 0.5), "--draws does not go with --rounds"),
        (("x.parquet", "--rounds", 5, "--matches", 5), "--matches does not go with --rounds"),
        (("x.parquet", "--rounds", 5, "--size", "many"), "--size many: write a whole number, as 10, or a range"),
        (("x.parquet", "--rounds", 5, "--size", "9-5"), "size must be from 2 to"),
        ((), "Missing argument 'FILE'"),
    ],
)
def test_simulate_refuses(jaxrate, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, text, errors = jaxrate("simulate", *arguments)
    assert code == 2 and text == "" and message in errors and errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


# all of them


@pytest.mark.parametrize("command", ["rate", "compare", "report", "site", "fit", "systems", "plan", "simulate", "demo"])
def test_help_has_an_example(jaxrate, command):
    code, text, _ = jaxrate(command, "--help")
    assert code == 0 and f"jaxrate {command} " in text.split("Example")[1]


@pytest.mark.parametrize("command", [[], *([name] for name in cli.cli.commands)], ids=" ".join)
def test_help_does_not_load_jax(tmp_path, command):
    """Through the installed script, in a process of its own."""
    script = shutil.which("jaxrate", path=Path(sys.executable).parent)
    assert script is not None
    argv = ["jaxrate", *command, "--help"]
    code = f"import sys, runpy; sys.argv = {argv}\ntry: runpy.run_path({script!r}, run_name='__main__')\n"
    code += "finally: print(sorted({'jax', 'pyarrow', 'rich'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("Usage: jaxrate ") and done.stderr == "[]\n"


def test_the_shell_completes(tmp_path):
    words = {"COMP_WORDS": "jaxrate rate --system gli", "COMP_CWORD": "3", "_JAXRATE_COMPLETE": "bash_complete"}
    script = shutil.which("jaxrate", path=Path(sys.executable).parent)
    done = subprocess.run([script], env=os.environ | words, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["plain,glicko", "plain,glicko2"]


def test_output_that_stops_early_or_cannot_show_a_name(tmp_path):
    (tmp_path / "games.csv").write_text("winner,loser\nĐoković,Bo\n", encoding="utf-8")
    command = [sys.executable, "-m", "jaxrate", "rate", "games.csv", "-q", "--out", "run"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": "cp1252"})
    assert done.returncode == 0 and b"?okovi" in done.stdout and jr.load(tmp_path / "run").players[0] == "Đoković"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*command[:-1], "run2"], stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path)
    os.close(writer)
    assert done.returncode == 1 and done.stderr == b"" and (tmp_path / "run2" / "run.json").exists()


def test_memory_that_does_not_do_is_one_line(jaxrate, games, monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(jr, "rate", fail)
    code, _, errors = jaxrate("rate", games)
    assert code == 2 and errors == "jaxrate: memory does not do; `jaxrate plan FILE` says what a file takes\n"
    monkeypatch.setattr(jr, "rate", lambda *arguments, **options: {}["a bug"])
    with pytest.raises(KeyError):
        jaxrate("rate", games)


def test_verbose_says_how_long_and_where(jaxrate, games):
    code, _, errors = jaxrate("rate", games, "--verbose")
    assert code == 0 and re.search(r"jaxrate: reading games.csv: \d+\.\d\d s\njaxrate: rating 600 matches: ", errors)
    code, _, errors = jaxrate("rate", games, "-v", "--a", "x")
    assert (
        code == 2 and "Traceback" in errors and errors.splitlines()[-1].startswith("jaxrate: games.csv: no column 'x'")
    )


@pytest.mark.parametrize("total", [None, 10])
@pytest.mark.parametrize("patience", [0.0, 10.0])
def test_a_terminal_sees_progress_if_it_takes_long(monkeypatch, total, patience):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with progress.ProgressReport(quiet=False, verbose=False).stage("thinking", total) as done:
        done(5)
        deadline = time.monotonic() + 10 * (patience == 0)
        while "thinking" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        done(7)
    assert ("thinking" in screen.getvalue()) == (patience == 0)
    with progress.ProgressReport(quiet=True, verbose=False).stage("silent"):
        time.sleep(0.05)
    assert "silent" not in screen.getvalue()
