"""One number on all surfaces: terminal, JSON, tables, pages and pictures show the same of one history."""

import json
import re
from html import unescape

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.text_format import format_percentages


def page_text(path):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8"))).replace("\xa0", " ").split())


def test_pairs_in_order_are_one_count(tmp_path, jaxrate):
    """The page counted pairs without ties, each once: 67.7% beside 72.7% of the terminal."""
    random, rows = np.random.default_rng(2), ["contest,player,rank,date"]
    for i in range(40):
        shown = np.round(random.normal(0.4 * (players := random.permutation(12)[: 3 + i % 6]), 2.0))  # with ties
        day = np.datetime64("2024-01-01") + np.timedelta64(i, "D")
        rows += [f"{i},p{x},{(shown > y).sum() + 1},{day}" for x, y in zip(players, shown, strict=True)]
    (tmp_path / "races.csv").write_text("\n".join(rows))
    given = tmp_path / "races.csv", "--system", "weng_lin"
    _, text, _ = jaxrate("rate", *given, "--out", tmp_path / "run")
    share = json.loads(jaxrate("rate", *given, "--json")[1])["pair inversion"]
    assert re.search(rf"pairs in order +{100 * share:.2f}%", text)
    assert f"{100 * share:.2f}%" in jaxrate("compare", *given)[1]
    jaxrate("report", *given, "--out", tmp_path / "report.html")
    jaxrate("site", tmp_path / "run", "--out", tmp_path / "site")
    for page in ("report.html", "site/quality.html"):
        said = page_text(tmp_path / page)
        assert (
            f"The player expected to finish ahead did so {share:.0%} of the time" in said
            and f" {share:.1%} (95% interval" in said
        )
    assert f"pairs in order {100 * share:.2f}%" in page_text(tmp_path / "report.html")


def test_three_chances_are_the_same_and_add_up_to_100(tmp_path, jaxrate):
    """The terminal rounded each by itself, to 99 or 101, and the page all together."""
    random, names = np.random.default_rng(3), np.array([f"team {i}" for i in range(8)])
    a, b = random.permuted(np.tile(range(8), (300, 1)), axis=1)[:, :2].T
    lead = a - b + random.normal(0, 4, 300)
    data = jr.read({"a": names[a], "b": names[b], "score": np.where(abs(lead) < 1.5, 0.5, lead > 0).astype(float)})
    rated = jr.rate(jr.glicko(), data)
    jr.save(tmp_path / "run", rated)
    pairs = [(x, y) for i, x in enumerate(names) for y in names[:i]]
    (tmp_path / "coming.csv").write_text("\n".join(["a,b", *(",".join(x) for x in pairs)]))
    records = json.loads(jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", "--json")[1])
    texts = [format_percentages([x[name] for name in ("win", "draw", "loss")]) for x in records]
    assert all(sum(int(x[:-1]) for x in row) == 100 for row in texts if not "".join(row).count("."))
    alone = [[f"{100 * x[name]:.0f}%" for name in ("win", "draw", "loss")] for x in records]
    assert any(sum(int(x[:-1]) for x in row) != 100 for row in alone)
    terminal = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")[1]
    coming = jr.forecasts.predict_fixtures(rated, pairs)
    jr.site.write_site(rated, tmp_path / "site", coming=coming)
    page = page_text(tmp_path / "site/coming.html")
    for (first, second), row in zip(pairs, texts, strict=True):
        assert (
            re.search(rf"{first} +{second} +{' +'.join(row)} ", terminal)
            and f"{first} {second} {' '.join(row)}" in page
        )


@pytest.mark.parametrize("matches", [1, 4])
def test_who_cannot_be_overtaken_is_champion(tmp_path, jaxrate, matches):
    """The table gave them > 99.9%, as those whom nobody overtook in any of the simulations."""
    rated = jr.rate(jr.elo(), jr.read({"winner": [*"AAAAB"], "loser": [*"BCBCC"]}))
    jr.save(tmp_path / "run", rated._replace(options={"noun": "team"}))
    (tmp_path / "coming.csv").write_text("a,b\n" + "B,C\n" * matches)
    (tmp_path / "results.csv").write_text("winner,loser\nA,B\nA,C\nA,B\n")
    given = (
        tmp_path / "run",
        tmp_path / "coming.csv",
        "--simulate",
        "--results",
        tmp_path / "results.csv",
        "--samples",
        50,
    )
    text, rows = jaxrate("predict", *given)[1], json.loads(jaxrate("predict", *given, "--json")[1])
    season = jr.forecasts.simulate_season(rated, tmp_path / "coming.csv", results=tmp_path / "results.csv", samples=50)
    jr.site.write_site(rated, tmp_path / "site", season=season, noun=("team", "teams"))
    surfaces = [text, page_text(tmp_path / "site/coming.html")]
    if matches == 1:  # nine points against at most three
        assert [x["champion"] for x in rows] == (rows[0]["player"] == "A") * [True, False, False]
        assert all(re.search(r"A .*champions?\b", x) and "99.9%" not in x for x in surfaces)
    else:
        assert season.champion is None and "champion" not in rows[0] and "champions" not in surfaces[0]
