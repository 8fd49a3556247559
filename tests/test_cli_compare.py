"""The command that compares systems."""

import json
import re

import pytest

import jaxrate as jr

pa = pytest.importorskip("pyarrow")


# compare


def test_compare_scores_every_form(jaxrate, games):
    systems = [x for name in ("elo", "glicko", "blat_mmr") for x in ("--system", name)]
    arguments = ("--period", 50, "--param", "k=30", "--param", "glicko.c=30", *systems)
    code, text, errors = jaxrate("compare", games, *arguments)
    assert code == 0 and errors == ""
    head, *lines = text.split("\n\n")[1].splitlines()
    assert head.split("  ")[0] == "system" and "matches/s" in head
    data = jr.read(games)
    runs = {
        ("elo", "by match"): (jr.elo(k=30), data.matches),
        ("elo", "periods of 50"): (jr.elo(k=30), jr.periods(data.matches, 50.0)),
        ("glicko", "by match"): (jr.glicko(c=30), data.matches),
        ("glicko", "periods of 50"): (jr.glicko(c=30, period=50), jr.periods(data.matches, 50.0)),
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
        assert table[key][:4] == [*(f"{x:.4f}" for x in quality[:2]), f"{100 * quality[2]:.1f}%", f"{error:.4f}"]
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
    assert about["blend"]["behind_error"] > 0


def test_published_forecasts_of_the_shipped_league_are_compared(jaxrate):
    """The report compared them, and this command did not."""
    code, text, errors = jaxrate("compare", "nfl", "--system", "elo", "--last", 0.01, "--json")
    (told,) = json.loads(text)["published"]
    assert code == 0 and told["name"] == "FiveThirtyEight" and told["behind_error"] > 0, errors
    assert 0.5 < told["quality"]["log loss"] < 0.7


def test_compare_without_times_has_no_periods(jaxrate, tmp_path, few_systems):
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


def test_compare_learns_from_what_rate_learns_from(jaxrate, tmp_path, monkeypatch):
    """Skills had a log loss of 0.623 in `compare`, and of 0.614 in `rate` of the same file."""

    def catch(report, file, data, changes, **options):
        raise ValueError(f"margin {data.margin}, side {data.matches.context.side is not None}")

    monkeypatch.setattr("jaxrate.cli.compare.compare_with_notes", catch)
    path = tmp_path / "games.csv"
    path.write_text("date,home_team,away_team,home_score,away_score\n2024-01-01,x,y,3,1\n2024-01-02,y,x,0,2\n")
    assert "margin ('home_score', 'away_score'), side True" in jaxrate("compare", path)[2]
    for options, said in (("--plain",), "margin (), side False"), (("--system", "elo"), "margin (), side True"):
        assert said in jaxrate("compare", path, *options)[2]


def test_simulated_contests_are_rated_compared_and_planned(jaxrate, tmp_path, share):
    path = tmp_path / "c.parquet"
    assert jaxrate("simulate", path, "--players", 30, "--rounds", 40, "--size", 8, "-q") == (0, "", "")
    code, text, _ = jaxrate("rate", path, "--top", 3)
    assert code == 0 and text.startswith("elo_mmr: 40 contests, 320 participations of 30 players")
    code, compared, _ = jaxrate("compare", path, "--system", "share", "--system", "elo_mmr")
    lines = [re.split("  +", line) for line in compared.split("\n\n")[1].splitlines()[1:]]
    assert code == 0 and {line[0] for line in lines} == {"elo_mmr", "share"}
    inversion = [float(line[1].removesuffix("%")) for line in lines]
    assert inversion == sorted(inversion, reverse=True) and min(inversion) > 70
    assert re.findall(r"(\S+\.\d+%)", text) == next(line[1:5] for line in lines if line[0] == "elo_mmr")
    text = jaxrate("plan", path, "--system", "share", "--system", "elo")[1]
    assert "320 participations of 30 players, 0 to 1000\n40 rounds in 40 steps" in text
    assert re.search(r"\nshare +\S+ MB", text) and "\nelo: does not rate rounds" in text
