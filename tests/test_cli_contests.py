"""Commands for contests and teams."""

import json
import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli.terminal_tables import to_text_table
from tests.test_cli import csv

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def contests(tmp_path, share):
    """races.csv: named drivers in races every other day, and ties."""
    random, strength, rows = np.random.default_rng(2), np.arange(14) / 5, []
    for race in range(30):
        who = random.permutation(8 + race // 5)[:6]
        place = np.argsort(np.argsort(-strength[who] - random.normal(size=6))) // 2 * 2
        day = np.datetime64("2024-01-01") + np.timedelta64(2 * race, "D")
        rows += [f"race {race},driver {w:02},{p + 1},{p + 2},{day}\n" for w, p in zip(who, place, strict=True)]
    (tmp_path / "races.csv").write_text("race,driver,place,last,date\n" + "".join(rows))
    return tmp_path / "races.csv"


COLUMNS = ("--contest", "race", "--participant", "driver", "--rank", "place")
SHARE = ("--system", "share", "--param", "k=60")


def test_rate_of_contests_prints_and_saves_what_run_computes(jaxrate, contests, tmp_path):
    out = tmp_path / "run"
    code, text, errors = jaxrate("rate", contests, *COLUMNS, *SHARE, "--out", out, "--csv")
    assert code == 0 and errors == f"jaxrate: saved the run to {out}\n"
    data = jr.read(contests, contest="race", participant="driver", rank="place")
    rated = jr.rate(jr.extend.SYSTEMS["share"](k=60), data)
    assert text.startswith("share: 30 contests, 180 participations of 13 drivers\n\n")
    assert to_text_table(jr.leaderboard(rated, top=10)).describe() in text
    rating, metrics = rated.predictions["rating"].to_numpy(), (jr.metrics.pairwise_accuracy, jr.metrics.rank_deviation)
    masks = [jr.metrics.experience_mask(data.rounds, games) for games in (1, 5)]
    wanted = [f"{100 * metric(data.rounds, rating, mask=mask):.2f}%" for mask in masks for metric in metrics]
    assert re.findall(r"(?:pairs in order|rank error)(?:, 5 before)? ([\d.]+%)", text) == wanted
    np.testing.assert_allclose(csv(out / "predictions.csv")["prediction"], rated.predictions["prediction"], rtol=1e-6)
    assert sum(csv(out / "ratings.csv")["games"].to_pylist()) == 180
    again = jaxrate("rate", "--state", out, "--player", "driver 03")[1]
    summary, career = again.split("\n\n", 1)  # and no leaderboard
    assert summary == text.partition("\n")[0] and career.startswith("driver 03: ")


def test_contests_carry_on_and_are_predicted(jaxrate, contests, tmp_path):
    head, *rows = contests.read_text().splitlines(keepends=True)
    (tmp_path / "first.csv").write_text(head + "".join(rows[:60]))
    (tmp_path / "second.csv").write_text(head + "".join(rows[60:]))
    assert jaxrate("rate", tmp_path / "first.csv", *COLUMNS, *SHARE, "--out", tmp_path / "run")[0] == 0
    (tmp_path / "coming.csv").write_text("race,driver\nnext,driver 03\nnext,driver 07\nnext,nobody\n")
    run = tmp_path / "run"
    code, text, errors = jaxrate("rate", tmp_path / "second.csv", "--state", run, "--out", run)
    assert code == 0
    whole = jaxrate("rate", contests, *COLUMNS, *SHARE, "--out", tmp_path / "whole")[1]
    assert text.split("\n\n")[:2] == whole.split("\n\n")[:2] and "\n20 new contests, 120 participations in " in text
    one, two = (jr.load(tmp_path / name) for name in ("run", "whole"))
    np.testing.assert_allclose(one.predictions["prediction"], two.predictions["prediction"], rtol=1e-5)
    ids = [two.players.tolist().index(name) for name in ("driver 03", "driver 07")]
    coming = jr.rounds([0] * 3, [*ids, 13], [0] * 3, time=[two.last] * 3)
    want = jr.predict(two.system, two.state, coming, num_players=14)
    more = ("--newcomers", "--out", tmp_path / "upcoming.parquet")
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", *more)
    assert code == 0 and "1 new player: nobody" in errors
    assert [line.split()[-1] for line in text.splitlines()[1:]] == [f"{100 * x:.0f}%" for x in want]
    found = pa.parquet.read_table(tmp_path / "upcoming.parquet").to_pydict()
    assert found["contest"] == ["next"] * 3 and found["player"] == ["driver 03", "driver 07", "nobody"]
    np.testing.assert_allclose(found["expected_rank"], 1 + 2 * (1 - np.asarray(want)), rtol=1e-6)


def test_those_who_did_not_finish_tie_for_last(jaxrate, tmp_path, share):
    path = tmp_path / "races.csv"
    path.write_text("contest,player,rank\nr,Ada,1\nr,Bo,DNF\nr,Cy,2\nr,Di, dnf\ns,Bo,1\ns,Ada,DSQ\ns,Cy,2\n")
    data = jr.read(path, unfinished=["DNF", "dsq"])
    assert data.rounds.events.rank.tolist() == [0, 2, 1, 2, 0, 2, 1]
    code, text, errors = jaxrate("rate", path, "--system", "share", "--column", "unfinished=DNF")
    assert code == 2 and "'DSQ' in 1 row, not a number" in errors and "as --column unfinished=DNF, or" in errors
    named = "--column", "unfinished=DNF,DSQ"
    code, text, errors = jaxrate("rate", path, "--system", "share", *named, "--out", tmp_path / "run")
    assert code == 0 and text.startswith("share: 2 contests, 7 participations"), errors
    (tmp_path / "next.csv").write_text("contest,player\nt,Ada\nt,Bo\n")
    assert jaxrate("predict", tmp_path / "run", tmp_path / "next.csv")[0] == 0
    path.write_text("contest,player,rank\nu,Ada,1\nu,Bo,DNF\n")  # the saved run knows what the text means
    assert jaxrate("rate", path, "--state", tmp_path / "run")[0] == 0
    with pytest.raises(ValueError, match="unfinished is for the ranks of contests"):
        jr.read({"winner": ["Ada"], "loser": ["Bo"]}, unfinished=["DNF"])


MODES = """contest,player,team,mode,rank,kills
1,Ada,red,duo,1,3\n1,Bo,red,duo,1,0\n1,Cy,blue,duo,2,-1\n1,Di,blue,duo,2,-2
2,Ada,x,solo,1,1\n2,Cy,y,solo,2,-1\n3,Ada,red,duo,2,0\n3,Di,red,duo,2,-1\n3,Bo,blue,duo,1,0\n3,Cy,blue,duo,1,1
"""


def test_modes_are_rated_predicted_and_explained(jaxrate, tmp_path):
    (tmp_path / "games.csv").write_text(MODES)
    coming = "contest,player,team,mode\nnext,Ada,a,duo\nnext,Bo,a,duo\nnext,Cy,b,duo\nnext,Di,b,duo\n"
    (tmp_path / "coming.csv").write_text(coming + "last,Di,a,solo\nlast,Bo,b,solo\n")
    columns = ("--team", "team", "--category", "mode", "--column", "statistics=kills")
    system = ("--system", "skills", "--param", "experience=20", "--param", "kills_scale=30")
    code, text, errors = jaxrate("rate", tmp_path / "games.csv", *columns, *system, "--out", tmp_path / "run")
    assert code == 0 and "of 4 players" in text, errors
    code, text, _ = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
    rated = jr.load(tmp_path / "run")
    assert code == 0 and rated.categories.tolist() == ["duo", "solo"]
    duo, _ = jr.forecasts.explain_fixtures(rated, tmp_path / "coming.csv")
    (same,) = jr.forecasts.explain_fixtures(rated, [(["Ada", "Bo"], ["Cy", "Di"])], category="duo")
    assert duo.difference == pytest.approx(same.difference) and duo.sides["expected"][0] == same.sides["expected"][0]
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", "--explain")
    assert code == 0 and text.startswith("contest next\n\n") and not errors
    code, text, _ = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", "--explain", "--json")
    first, second = json.loads(text)
    assert code == 0 and first["sides"][0]["points"] == duo.sides["points"][0]
    assert [x["player"] for x in second["parts"]] == ["Di", "Bo"] and second["event"] == "contest last"
