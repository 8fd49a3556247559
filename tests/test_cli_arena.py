"""`jaxrate arena`: it prints what `jr.arena.fit_strengths` and `rank_sets` return; what is wrong is one line."""

import json
import sys

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import draw_pairs

pa = pytest.importorskip("pyarrow")

NAMES = np.array(["Ada", "Bo", "Cy", "Di", "Eve"])


@pytest.fixture
def votes():
    """Votes of five players by ten voters who like the longer answer; no order in time."""
    random = np.random.default_rng(3)
    a, b = draw_pairs(random, 5, 400).T
    length = random.normal(size=400).round(2)
    win = random.random(400) < 1 / (1 + np.exp(-(0.4 * (b - a) + 0.5 * length)))
    score = np.where(random.random(400) < 0.2, 0.5, win)
    voter = np.array([f"v{i}" for i in random.integers(0, 10, 400)])
    time = random.permutation(400)
    return {"a": NAMES[a], "b": NAMES[b], "score": score, "voter": voter, "length": length, "time": time}


@pytest.fixture
def file(votes, tmp_path):
    path = tmp_path / "votes.csv"
    jr.data.write(votes, path)
    return path


def plain(jaxrate, *arguments):
    code, text, errors = jaxrate("arena", *arguments, "--json")
    assert code == 0, errors
    return json.loads(text)


def same(said, found):
    order = found.order
    assert [row["player"] for row in said["players"]] == found.players[order].tolist()
    for name, values in {"rating": found.rating, "standard_error": found.standard_error, "votes": found.games}.items():
        np.testing.assert_allclose([row[name] for row in said["players"]], values[order], rtol=1e-9)
    ranks = jr.arena.rank_sets(found)
    assert [row["least_rank"] for row in said["players"]] == ranks.least[order].tolist()
    assert [row["greatest_rank"] for row in said["players"]] == ranks.greatest[order].tolist()


def test_counts_of_pairs_are_known_by_their_columns(jaxrate, votes, file, tmp_path):
    pairs = {(a, b): [0, 0, 0] for a, b in zip(votes["a"].tolist(), votes["b"].tolist(), strict=True)}
    for a, b, score in zip(votes["a"].tolist(), votes["b"].tolist(), votes["score"].tolist(), strict=True):
        pairs[a, b][{1.0: 0, 0.0: 1, 0.5: 2}[score]] += 1
    a, b = np.array(list(pairs)).T
    wins, losses, ties = np.array(list(pairs.values())).T
    whole, half = tmp_path / "counts.parquet", tmp_path / "counts.csv"
    jr.data.write({"a": a, "b": b, "wins_a": wins, "wins_b": losses, "ties": ties, "date": a}, whole)
    jr.data.write({"a": a, "b": b, "up": wins, "down": losses, "bad": ties - 1, "ok": ties * 0 + 1, "first": a}, half)
    one, two = plain(jaxrate, file)["players"], plain(jaxrate, whole)["players"]
    assert [row["player"] for row in one] == [row["player"] for row in two]
    np.testing.assert_allclose([row["rating"] for row in one], [row["rating"] for row in two], atol=1e-6)
    columns = "--wins", "up", "--losses", "down", "--tied", "bad", "--tied", "ok"
    assert plain(jaxrate, half, *columns)["players"] == two
    same(plain(jaxrate, whole), jr.arena.fit_strengths(whole))  # also in Python, which read no counts
    tags = {f"maker_{key}": np.where(np.isin(x, NAMES[:2]), "<M>", "N") for key, x in (("a", a), ("b", b))}
    spoken = pa.array([[{"role": "user"}, {"role": "model"}]] * len(a))  # as of conversations, which are no texts
    tags |= {"said_a": spoken, "said_b": spoken, "place_a": a, "place_b": b}
    pa.parquet.write_table(pa.table({"a": a, "b": b, "wins_a": wins, "wins_b": losses, "ties": ties} | tags), whole)
    assert "took" not in jaxrate("arena", whole, "--report", tmp_path / "page.html")[2]
    page = (tmp_path / "page.html").read_text()
    assert "<bdi>Ada</bdi> <small>&lt;M&gt;</small>" in page and '<a href="#search=%3CM%3E">&lt;M&gt;</a>' in page
    out = tmp_path / "table.csv"
    clustered = plain(jaxrate, half, *columns, "--cluster", "first", "--out", out)
    assert pa.csv.read_csv(out)["player"].to_pylist() == [row["player"] for row in clustered["players"]]
    assert clustered["errors"] == "sandwich"
    assert clustered["players"][0]["standard_error"] != two[0]["standard_error"]


def test_a_side_has_a_coefficient_and_public_formats_are_read(jaxrate, votes, file, tmp_path):
    said = plain(jaxrate, file, "--side", "a")
    data = jr.read({name: votes[name] for name in ("a", "b", "score")}, side="a")
    found = jr.arena.fit_strengths(data, covariates=["side"])
    same(said, found)
    np.testing.assert_allclose(said["coefficient"]["side"], found.coefficient["side"])
    path, games = tmp_path / "games.pgn", ["1-0", "0-1", "1/2-1/2", "1-0"]
    heads = [f'[White "Ada"]\n[Black "Bo"]\n[Result "{x}"]\n[Date "2024.01.01"]\n\n1. e4 {x}\n\n' for x in games]
    turned = [head.replace("Ada", "Cy").replace("Bo", "Ada").replace("Cy", "Bo") for head in heads]
    path.write_text("".join(heads + turned))
    said = plain(jaxrate, path)
    assert {row["player"]: row["votes"] for row in said["players"]} == {"Ada": 8, "Bo": 8}
    assert said["coefficient"]["side"] > 0 and said["players"][0]["rating"] == pytest.approx(1500)


def test_contests_are_ranked(jaxrate, tmp_path):
    path = tmp_path / "contests.csv"
    ranks = ["1,x,1", "1,y,2", "1,z,3", "2,y,1", "2,x,2", "2,z,3", "3,z,1", "3,x,2"]
    path.write_text("\n".join(["contest,player,rank", *ranks]) + "\n")
    same(plain(jaxrate, path), jr.arena.fit_strengths(jr.read(path)))
    code, _, errors = jaxrate("arena", path, "--ties", "half")
    assert code == 2 and "contests.csv: rounds have no covariate" in errors


def test_a_search_that_does_not_end_has_exit_code_1(jaxrate, file, monkeypatch):
    found = jr.arena.fit_strengths(jr.read(file, time="time", sort=True))._replace(converged=False, reason="steps")
    monkeypatch.setattr(jr.arena, "fit_strengths", lambda *args, **options: found)
    code, text, errors = jaxrate("arena", file)
    assert code == 1 and "all steps are used up" in errors and "no intervals" in text
    found = found._replace(reason="no maximum", coefficient={"k": 9e9}, coefficient_error={"k": 1.0})
    errors = jaxrate("arena", file)[2]
    assert "ratings or coefficients grow without end; leave out a covariate that tells the results" in errors


def test_a_page_says_what_was_found(jaxrate, file, tmp_path):
    page = tmp_path / "page.html"
    said = plain(jaxrate, file, "--column", "covariates=length", "--report", page, "--source", "our friends")
    text = page.read_text()
    assert "400 votes on 5 models." in text and "votes.csv" not in text
    assert "<title>Votes</title>" in text and "default-src 'none'" in text and "Source: our friends." in text
    assert f"length: {said['coefficient']['length']:+.2f} ±" in text and 'id="moved"' not in text
    votes = jr.arena.count_votes(["<i>x", "<i>x", "y", "z"], ["y", "y", "z", "y"], [3, 1, 1, 0], [2, 1, 0, 0])
    page = jr.site.arena_page_html(jr.arena.fit_strengths(votes), title="a & b")
    assert "<title>a &amp; b</title>" in page and "<i>x" not in page and "only lost" in page
    others = jr.arena.rank_sets(jr.arena.fit_strengths(jr.arena.count_votes([0, 1], [1, 0], [1, 1], [1, 1])))
    for wrong, message in (
        ({"ranks": others}, "ranks must be of the same players"),
        ({"tags": {"maker": ["A", "B"]}}, r"tags\['maker'\] must be 3 texts, one of each player"),
        ({"tags": {"maker": [1, 2, 3]}}, r"tags\['maker'\] must be 3 texts, one of each player"),
        ({"tags": {"Votes": ["A", "B", "C"]}}, "tags cannot be called 'Votes'"),
    ):
        with pytest.raises(ValueError, match=message):
            jr.site.arena_page_html(jr.arena.fit_strengths(votes), **wrong)


@pytest.mark.parametrize(("count", "wanted"), [(30, 2), (20, 0)])
def test_a_page_with_a_heat_map_needs_pillow_before_the_fit(jaxrate, tmp_path, monkeypatch, count, wanted):
    random = np.random.default_rng(1)
    a, b = draw_pairs(random, count, 900).T
    jr.data.write({"a": a, "b": b, "score": random.integers(0, 2, 900) * 1.0}, tmp_path / "votes.csv")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    monkeypatch.setattr(jr.arena, "fit_strengths", jr.arena.fit_strengths if wanted == 0 else None)
    code, _, errors = jaxrate("arena", tmp_path / "votes.csv", "--report", tmp_path / "page.html")
    assert code == wanted and ("heat maps of pages need pillow" in errors) == (wanted == 2), errors


def test_votes_of_the_chatbot_arena(jaxrate, tmp_path):
    head = "question_id,model_a,model_b,winner,judge,turn,anony,language,tstamp\n"
    won = ["model_a"] * 6 + ["model_b"] * 3 + ["tie", "tie (bothbad)"]
    votes = [(a, b, x) for a, b in (("oak", "elm"), ("oak", "ash"), ("elm", "ash")) for x in won]
    rows = [f"{i},{a},{b},{won},j,1,True,English,{1682351591.13 - i}" for i, (a, b, won) in enumerate(votes)]
    (tmp_path / "votes.csv").write_text(head + "\n".join(rows) + "\n")
    page = tmp_path / "page.html"
    code, said, notes = jaxrate("arena", tmp_path / "votes.csv", "--report", page)
    assert "33 votes on 3 models, cast on <time>2023-04-24</time>." in page.read_text()
    assert code == 0 and "took model_a and model_b for a and b; winner for the score" in notes, notes
    assert said.index("oak") < said.index("elm")


def test_games_in_any_order_of_time(jaxrate, tmp_path):
    games = [
        f'[White "{a}"]\n[Black "{b}"]\n[Result "{result}"]\n[Date "2026.0{month}.??"]\n\n1. e4 {result}\n\n'
        for month, a, b in ((5, "Ada", "Bo"), (3, "Bo", "Ada"))
        for result in ("1-0", "1/2-1/2", "0-1")
    ]
    path = tmp_path / "games.pgn"
    path.write_text("".join(games))
    assert plain(jaxrate, path)["votes"] == 6
    assert plain(jaxrate, path, "--moved")["moved"]["votes"] == 6
    path.write_text("".join(games) + '[White "Ada"]\n[Black "Bo"]\n[Result "1-0"]\n[Date "????.??.??"]\n\n1. e4 1-0\n')
    assert plain(jaxrate, path)["votes"] == jr.arena.fit_strengths(path).votes == 7
    assert "no date, but other games have one" in jaxrate("arena", path, "--moved")[2]


def test_ties_that_are_not_counted_are_told(jaxrate, tmp_path):
    rows = ["a,b,wins,losses,ties,ties_both_bad", "x,y,30,20,5,7", "y,z,22,18,3,4", "x,z,25,12,2,1"]
    (tmp_path / "counts.csv").write_text("\n".join(rows))
    page = tmp_path / "page.html"
    _, text, errors = jaxrate("arena", tmp_path / "counts.csv", "--report", page)
    assert "12 of ties_both_bad are left out; --tied ties --tied ties_both_bad counts them" in errors
    html = page.read_text(encoding="utf-8")
    assert ">12 of ties_both_bad are left out.</p>" in html and "Source:" not in html
    assert text.startswith("The leading model is x, but ") and "(137 votes, 3 models)" in text.splitlines()[0]
    named = "--tied", "ties", "--tied", "ties_both_bad"
    _, text, errors = jaxrate("arena", tmp_path / "counts.csv", *named)
    assert "left out" not in errors and "149 votes" in text
