"""`explain_fixtures`: parts of predictions, whose sums are the differences that the systems predict from."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

import jaxrate as jr
from jaxrate.systems.skills.system import skills_by_name
from tests.conftest import mark_full, refused

pytest.importorskip("pyarrow")
NAMES = ["Ada", "Bo", "Cy", "Di", "Eve", "Flo"]
Q = np.log(10.0) / 400.0


def duels(n=90, seed=0):
    """Matches with a side, categories, a covariate and times."""
    random = np.random.default_rng(seed)
    pair = np.array([random.permutation(6)[:2] for _ in range(n)])
    names = np.array(NAMES, object)
    return {
        "a": names[pair[:, 0]], "b": names[pair[:, 1]], "score": random.choice([0.0, 0.5, 1.0], n),
        "t": np.sort(random.uniform(0, 300, n)), "home": random.choice([-1.0, 0.0, 1.0], n),
        "court": random.choice(["clay", "grass"], n), "rest": random.normal(0, 2, n),
    }  # fmt: skip


def contests(n=60, seed=1):
    """Contests of two to three teams of one to three, in two modes, with weights, times and a covariate."""
    random, rows = np.random.default_rng(seed), []
    for contest in range(n):
        who = random.permutation(NAMES).tolist()
        sizes = random.permutation([[1, 1], [2, 2], [1, 2, 3], [3, 2]][contest % 4]).tolist()
        mode = ["solo", "duo", "mixed", "mixed"][contest % 4]
        for team, size in enumerate(sizes):
            rank = int(random.integers(1, 3))
            for _ in range(size):
                weight, party = float(random.choice([0.5, 1.0])), float(random.normal())
                rows.append((contest, who.pop(), team, rank, weight, mode, party, 3.0 * contest, 1.0 - team))
    names = "contest", "player", "team", "rank", "weight", "mode", "party", "t", "side"
    return {name: np.array(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)}


def coming_duels(time):
    """Every pair once, in either order."""
    random, (a, b) = np.random.default_rng(4), np.array([*itertools.permutations(NAMES, 2)], object).T
    home, court = random.choice([-1.0, 0.0, 1.0], 30), random.choice(["clay", "grass"], 30)
    return {"a": a, "b": b, "t": np.full(30, time), "home": home, "court": court, "rest": random.normal(0, 2, 30)}


def without_doubt(rated):
    """The history with skills that are known now, so that chances are those of leads alone."""
    covariance, time = np.zeros_like(rated.state.covariance), np.full_like(rated.state.time, rated.last)
    return rated._replace(state=rated.state._replace(covariance=covariance, time=time))


SKILLS_OF_MATCHES = {
    "categories": 2, "covariates": ("rest",), "own_side": True, "experience": 20.0, "form_deviation": 40.0,
    "side_advantage": 35.0, "rest": 4.0,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.* stand there twice, once from each side")
@pytest.mark.parametrize("wrapped", mark_full([False, True], True))
def test_parts_of_matches_sum_to_the_lead(double, wrapped):
    system = skills_by_name(**SKILLS_OF_MATCHES, noise=250.0)
    system = jr.forecasts.add_outcomes(jr.forecasts.calibrate(system)) if wrapped else system
    columns = {"side": "home", "category": "court", "covariates": "rest"}
    rated = without_doubt(jr.rate(system, jr.read(duels(), **columns)))
    coming = coming_duels(rated.last)
    found = jr.forecasts.explain_fixtures(rated, coming, **columns)
    chance = jr.forecasts.predict_fixtures(rated, coming, **columns)["expected"]
    lead = np.array([x.difference for x in found])
    np.testing.assert_allclose(norm.cdf(lead / 250.0), chance, atol=1e-6)
    every = {"rest", "skill", "modifier", "own_side", "current_form", "experience", "side_advantage"}
    assert every <= set().union(*(x.parts for x in found))
    for one, a, home, rest in zip(found, coming["a"], coming["home"], coming["rest"], strict=True):
        parts = [x for name, x in one.parts.items() if name not in ("side", "player", "category", "points")]
        np.testing.assert_allclose(sum(parts), one.parts["points"], atol=1e-9)
        assert one.parts["player"][0] == a and one.parts["rest"][0] == pytest.approx(4.0 * rest, rel=1e-6)
        assert one.parts.get("side_advantage", [0.0, 0.0])[int(home < 0)] == pytest.approx(35.0 * abs(home))


SUM = {"own_side": True, "size_advantage": 90.0}


@pytest.mark.parametrize("settings", mark_full([SUM, {"team_performance": "mean"}], SUM))
def test_parts_of_line_ups_sum_to_the_difference_of_teams(double, settings):
    system = skills_by_name(
        categories=2, covariates="party", party=9.0, experience=15.0, noise=250.0, growth=0.0, initial_rating=40.0,
        initial_deviation=60.0, **settings,
    )  # fmt: skip
    table = contests()
    table["mode"] = np.where(table["mode"] == "solo", "solo", "team").astype(object)
    columns = {"team": "team", "weight": "weight", "category": "mode", "covariates": "party", "columns": "side"}
    rated = without_doubt(jr.rate(system, jr.read(table, **columns)))
    coming = {name: x for name, x in table.items() if name != "rank"} | {"t": np.full(len(table["t"]), rated.last)}
    found = jr.forecasts.explain_fixtures(rated, coming, **columns)
    share = jr.forecasts.predict_fixtures(rated, coming, **columns)["share"]
    assert len(found) == 60
    for number, one in enumerate(found):
        at = table["contest"] == number
        weight = table["weight"][at]
        if settings.get("team_performance") == "mean":
            whole = np.bincount(table["team"][at], weight)
            weight = weight / whole[table["team"][at]]
        variance = np.bincount(table["team"][at], weight**2 * 250.0**2 / 2)
        expected = one.sides["expected"][table["team"][at]]
        np.testing.assert_allclose(expected, share[at], atol=1e-7)
        np.testing.assert_allclose(np.bincount(table["team"][at], one.parts["points"]), one.sides["points"])
        if len(variance) == 2:
            np.testing.assert_allclose(norm.cdf(one.difference / np.sqrt(variance.sum())), one.sides["expected"][0])
    with refused("a difference is of two sides, and there are 3"):
        _ = found[2].difference


def test_line_ups_in_lists():
    table = contests()
    columns = {"team": "team", "category": "mode", "columns": "side"}
    rated = jr.rate(jr.skills(jr.parts.modifier(3), jr.parts.own_side()), jr.read(table, **columns))
    line_ups = [(["Ada", "Bo"], ["Cy", "Di"]), ("Eve", ["Flo"])]
    (duo, solo) = jr.forecasts.explain_fixtures(rated, line_ups, category="duo")
    assert duo.parts["player"].tolist() == ["Ada", "Bo", "Cy", "Di"] and duo.parts["side"].tolist() == [1, 1, 2, 2]
    assert duo.sides["player"].tolist() == ["Ada, Bo", "Cy, Di"] and set(duo.parts["category"]) == {"duo"}
    assert solo.sides["player"].tolist() == ["Eve", "Flo"]
    assert str(duo).splitlines()[2].split() == ["side", "player", "category", "skill", "modifier", "points"]
    assert "<td" in duo._repr_html_()
    for wrong, message in (
        ([("Ada", "Nobody")], "no player 'Nobody'"),
        ([("Ada", [])], "contest 0 (counting from 0): team 1 has no players"),
        (["Ada"], "fixtures of contests must be line-ups"),
    ):
        with refused(message):
            jr.forecasts.explain_fixtures(rated, wrong, category="duo")
    with refused("unknown category 'trio'"):
        jr.forecasts.explain_fixtures(rated, line_ups, category="trio")


@pytest.mark.filterwarnings("ignore:.* stand there twice, once from each side")
@pytest.mark.parametrize("name", mark_full(["elo", "glicko", "glicko2", "trueskill", "weng_lin"], "elo", "trueskill"))
def test_systems_of_one_rating(name):
    system = getattr(jr, name)(side_advantage=50.0) if name in ("elo", "glicko", "glicko2") else getattr(jr, name)()
    rated = jr.rate(system, jr.read(duels(), side="home"))
    coming = coming_duels(rated.last)
    found = jr.forecasts.explain_fixtures(rated, coming, side="home")
    chance = jr.forecasts.predict_fixtures(rated, coming, side="home")["expected"]
    lead = np.array([x.difference for x in found])
    assert (np.sign(lead) == np.sign(chance - 0.5)).all()
    if name == "elo":
        np.testing.assert_allclose(1.0 / (1.0 + np.exp(-Q * lead)), chance, atol=1e-5)


def test_teams_of_trueskill():
    table = {"contest": [0] * 3 + [1] * 3, "player": ["Ada", "Bo", "Cy", "Cy", "Di", "Ada"]}
    rated = jr.rate(jr.trueskill(), jr.read(table | {"team": [0, 0, 1] * 2, "rank": [1, 1, 2, 2, 2, 1]}, team="team"))
    (one,) = jr.forecasts.explain_fixtures(rated, [(["Ada", "Bo"], ["Cy"])])
    mean = jr.ratings(rated).mean
    who = [rated.players.tolist().index(x) for x in ("Ada", "Bo", "Cy")]
    assert one.difference == pytest.approx(float(mean[who[0]] + mean[who[1]] - mean[who[2]]), abs=1e-4)
    assert one.sides["expected"].sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.filterwarnings("ignore:the column team is not used")
def test_matches_and_systems_without_parts_are_refused(share):
    with refused("the run is of matches, and not of contests of teams"):
        jr.forecasts.explain_fixtures(jr.rate(jr.elo(), duels()), [(["Ada", "Bo"], ["Cy", "Di"])])
    with refused("share has no parts that can be told apart; skills has, and elo, glicko, glicko2"):
        jr.forecasts.explain_fixtures(jr.rate(share(), contests()), [("Ada", "Bo")])
