"""Official ratings: numbers of the federations' own programs, of others, and of twins of their rules."""

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.federations import (
    dwz,
    ecf,
    egf,
    fide,
    fide_performance,
    fifa,
    ingo,
    nba_elo,
    nfl_elo,
    uscf,
    uscf_approximate,
    world_rugby,
)
from jaxrate.systems.federations import FEDERATIONS, fide_tables
from jaxrate.testing import properties
from jaxrate.testing.cases import SystemFormPrecision
from tests.conftest import MOSTLY_DOUBLE, refused
from tests.reference import federations_twin

REFERENCE = json.loads((Path(__file__).parent / "reference" / "federations.json").read_text())
AGES = ("age_a", "age_b")


def start(system, **fields):
    """The state in which players are who have these numbers in fields, and else what newcomers have."""
    leaves = {name: jnp.asarray(np.array(values, float)) for name, values in fields.items()}
    return system.init(system.params, len(leaves["rating"]))._replace(**leaves)


def rate(system, state, games, period=None, side=None, **columns):
    """The state after games [period, a, b, score of a, ...]."""
    games = np.array(games, float)
    matches = jr.matches(games[:, 1:3].astype(int), games[:, 3], games[:, 0], columns=columns or None, side=side)
    return jr.run(system, matches if period is None else jr.periods(matches, period), state=state).state


def columns_of_ages(games, age):
    return {name: np.array(age, float)[games[:, i].astype(int)] for i, name in enumerate(AGES, start=1)}


def assert_close(found, wanted, x64):
    np.testing.assert_allclose(np.array(found, float), np.array(wanted, float), rtol=1e-9 if x64 else 3e-5, atol=1e-9)


# By reference: the system, the fields of states in the columns of players, and the columns of games of some players.
PROGRAMS = {
    "egf": (egf("stones", rounding=False), ("rating",), lambda games, _: {"stones": -games[:, 4]}),
    "egf_periods": (egf("stones", rounding=False), ("rating",), lambda games, _: {"stones": -games[:, 4]}),
    "ingo": (ingo(AGES), ("rating",), lambda games, players: columns_of_ages(games, players[:, -1])),
    "dwz": (dwz(AGES), ("rating", "index"), lambda games, players: columns_of_ages(games, players[:, -1])),
    "uscf": (uscf_approximate(), ("rating", "games"), lambda *_: {}),
    "ecf": (  # whose players have a K in place of an age
        ecf(AGES),
        ("rating",),
        lambda games, players: columns_of_ages(games, np.where(players[:, 1] == 40, 10, 50)),
    ),
    "fifa": (
        fifa("importance", "knockout", "penalties"),
        ("rating",),
        lambda games, _: dict(zip(("importance", "knockout", "penalties"), games[:, 4:].T, strict=True)),
    ),
    "world_rugby": (
        world_rugby(("points_a", "points_b"), "world_cup"),
        ("rating",),
        lambda games, _: dict(zip(("points_a", "points_b", "side", "world_cup"), games[:, 3:].T, strict=True)),
    ),
}


@MOSTLY_DOUBLE
@pytest.mark.parametrize("name", PROGRAMS)
def test_games_are_rated_as_by_other_programs(name, x64):
    (system, fields, columns), reference = PROGRAMS[name], REFERENCE[name]
    players, games = np.array(reference["players"], float), np.array(reference["games"], float)
    state = start(system, **dict(zip(fields, players.T, strict=False)))
    by_period = "after_period" in reference
    number = games[:, 0] if by_period else np.arange(len(games))
    for i, after in enumerate(reference["after_period" if by_period else "after"]):
        batch = games[number == i]
        further = columns(batch, players)
        score = (np.sign(batch[:, 3] - batch[:, 4]) + 1) / 2 if name == "world_rugby" else batch[:, 3]
        state = rate(system, state, np.column_stack([batch[:, :3], score]), 1.0 if by_period else None, **further)
        rated = np.arange(len(players)) if by_period else batch[0, 1:3].astype(int)
        found = np.stack([getattr(state, field) for field in fields], axis=1)[rated]
        assert_close(found, np.array(after, float)[:, : len(fields)], x64)


@pytest.mark.parametrize("make", [nfl_elo, nba_elo], ids=["nfl_elo", "nba_elo"])
def test_games_are_rated_as_fivethirtyeight_did(make, double):
    for _, is_neutral, points_a, points_b, one, two, chance, *after in REFERENCE[make.__name__]:
        state = start(make(), rating=[one, two])
        points = {"home_points": [points_a], "away_points": [points_b]}
        score = [(np.sign(points_a - points_b) + 1) / 2]
        run = jr.run(make(), jr.matches([[0, 1]], score, columns=points, side=[0 if is_neutral else 1]), state=state)
        np.testing.assert_allclose(run.prediction, chance, atol=1e-11)
        np.testing.assert_allclose(run.state.rating, after, atol=1e-3)


STEPHENSON = {
    "c": "cval",
    "game_growth": "hval",
    "bonus": "bval",
    "neighbourhood": "lambda_",
    "deviation_max": "rdmax",
    "side_advantage": "gamma",
}
BOOST = {
    "boost_from": "k",
    "boost_factor": "b1",
    "boost": "b2",
    "deviation_max": "rd_max",
    "side_advantage": "eta",
}


@MOSTLY_DOUBLE
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(("make", "names"), [(jr.stephenson, STEPHENSON), (jr.glicko_boost, BOOST)])
def test_relatives_of_glicko_have_the_numbers_of_other_programs(make, names, number, x64):
    reference = REFERENCE[make.__name__][number]
    system = make(**{name: reference["params"][other] for name, other in names.items()}, period=1.0)
    rating, deviation = np.array(reference["players"], float)[:, :2].T
    variance = deviation**2
    if make is jr.stephenson:  # whose newcomers have grown by a period
        variance = np.minimum(variance + system.params.c**2, system.params.deviation_max**2)
    state, games = start(system, rating=rating, variance=variance), np.array(reference["games"], float)
    for i, after in enumerate(reference["after_period"]):
        batch = games[games[:, 0] == i]
        state = rate(system, state, batch, 1.0, side=np.ones(len(batch)))
        known = np.isfinite(state.time)
        found = np.stack([state.rating, jnp.sqrt(state.variance)], axis=1)
        assert_close(found[known], np.array(after)[known, :2], x64)


@MOSTLY_DOUBLE
def test_a_league_is_rated_month_by_month_as_fides_rules_say(x64):
    reference, system = REFERENCE["fide"], fide(AGES)
    rating, played, born, reached = np.array(reference["players"], float).T
    state = start(system, rating=np.nan_to_num(rating), games=played, reached=reached)
    games = np.array(reference["games"], float)
    for i, after in enumerate(reference["after_period"]):
        batch = games[games[:, 0] == i]
        state = rate(system, state, batch, 1.0, **columns_of_ages(batch, reference["year"] - born))
        wanted = np.nan_to_num(np.array(after, float)[:, :2])
        np.testing.assert_allclose(np.stack(state[:2], axis=1), wanted, atol=1e-3)


def test_changes_first_ratings_and_performances_are_those_of_fides_calculator(double):
    for own, opponent, score, k, change in REFERENCE["fide_official"]["change"]:
        system = fide(k=k)
        after = rate(system, start(system, rating=[own, opponent], games=[99, 99]), [[0, 0, 1, score]])
        assert abs(after.rating[0] - own - change) <= 0.5 + 1e-6  # the list rounds what the calculator shows
    for opponents, score, games, _, first in REFERENCE["fide_official"]["first"]:
        opponents = opponents if isinstance(opponents, list) else [opponents] * games
        results = [[0, 0, i + 1, min(max(score - i, 0), 1)] for i in range(games)]
        found = rate(fide(), start(fide(), rating=[0.0, *opponents]), results, 1.0).rating[0]
        assert found == (first if first >= 1400 else 0.0), (opponents, score)
    for opponents, scores, _, performance in REFERENCE["fide_official"]["performance"]:
        assert fide_performance(opponents, sum(scores)) == performance


def simulate_tournaments(number=50, num_players=60, seed=2):
    """Games [tournament, a, b, score of a], and ages and strengths of players."""
    rng = np.random.default_rng(seed)
    strength, age = rng.normal(1500, 350, num_players).round(), rng.integers(7, 60, num_players).astype(float)
    one = rng.integers(0, num_players, 40 * number)
    two = (one + rng.integers(1, num_players, len(one))) % num_players
    luck = rng.logistic(0, 174, len(one)) + strength[one] - strength[two]
    score = np.where(np.abs(luck) < 50, 0.5, luck > 0)
    return np.stack([np.repeat(np.arange(number), 40), one, two, score], axis=1), age, strength


def us_chess_player(rating):
    fields = {"rating": rating, "games": 0, "wins": 0, "draws": 0, "losses": 0, "events": 0, "peak": 0}
    return fields | {"games": 30, "wins": 15, "losses": 15, "events": 5, "peak": rating} if rating else fields


TWINS = {
    "uscf": (uscf(AGES), federations_twin.uscf_event, us_chess_player),
    "dwz": (dwz(AGES, initial_rating=None), federations_twin.dwz_event, lambda rating: {"rating": rating, "index": 1}),
    "ecf": (
        ecf(AGES, initial_rating=None),
        federations_twin.ecf_event,
        lambda rating: {"rating": rating, "past": [10 if rating else 0, 0, 0]},
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_tournaments_of_rated_and_new_players_are_rated_as_by_a_twin_of_the_rules(name, double):
    system, rate_event, make_player = TWINS[name]
    games, age, strength = simulate_tournaments()
    strength[::2] = 0  # unrated
    players = [make_player(float(x)) | {"age": float(y)} for x, y in zip(strength, age, strict=True)]
    fields = {"rating": strength}
    if name == "uscf":
        floor = np.clip(strength // 100 * 100 - 200, 0, 2100)
        fields |= {"games": 30.0 * (strength > 0), "score": 15.0 * (strength > 0)}
        fields["floor"] = np.where(strength > 0, np.where(floor >= 1200, floor, 150), 100)
    elif name == "ecf":
        fields["games"] = 10.0 * (strength > 0)
    state = rate(system, start(system, **fields), games, 1.0, **columns_of_ages(games, age))
    tables = [[int(x) for x in table.split()] for table in (fide_tables.TABLE_8_1_2, fide_tables.TABLE_8_1_1)]
    for i in range(int(games[-1, 0]) + 1):
        event = [(int(a), int(b), float(s)) for _, a, b, s in games[games[:, 0] == i]]
        rate_event(players, event, *(tables if name == "ecf" else ()))
    np.testing.assert_allclose(state.rating, [player["rating"] for player in players], atol=1e-6)


EVERY = FEDERATIONS | {"stephenson": jr.stephenson, "glicko_boost": jr.glicko_boost}


def unrounded(name):
    """The system with slopes that are those of its numbers."""
    return EVERY[name](**({"rounding": False} if "rounding" in EVERY[name]().settings else {}))


@pytest.mark.parametrize("name", EVERY)
def test_states_are_finite_and_predictions_probabilities(name):
    properties.states_are_finite_and_predictions_are_probabilities(
        SystemFormPrecision(unrounded(name), "periods", False)
    )


@pytest.mark.full
@pytest.mark.parametrize("name", EVERY)
def test_it_keeps_the_contract(name):
    jr.testing.check(unrounded(name))


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (fifa, {"knockout": "cup"}, "the matches need the column 'cup', which knockout= of the system names"),
        (
            fifa,
            {"importance": "i"},
            "row 1 (counting from 0): column 'i' has no number, and importance= of the system needs one",
        ),
        (
            uscf,
            {"ages": ("x", "y")},
            "row 0 (counting from 0): column 'y' has a number below 0, and ages= of the system needs one",
        ),
        (fide, {"ages": ("age",)}, "fide: ages must be two columns, of the ages of a and of b, got"),
        (ingo, {"ages": "xy"}, "ingo: ages must be two columns, of the ages of a and of b, got 'xy'"),
        (nfl_elo, {"margin": ("x", "y", "z")}, "nfl_elo: margin must be a column of margins, or two, of points, got"),
    ],
)
def test_columns_that_rules_cannot_take_are_named(make, settings, message):
    columns = {"i": [25.0, np.nan], "x": [9.0, 40.0], "y": [-1.0, 30.0]}
    with refused(message):
        jr.run(make(**settings), jr.matches([[0, 1], [1, 2]], [1, 0.5], columns=columns))


@pytest.mark.parametrize(
    ("opponents", "score", "message"),
    [
        ([np.inf], 1, "one finite rating"),
        ([1500.0], 2, "from 0 to 1, the number"),
    ],
)
def test_performances_of_impossible_results_are_refused(opponents, score, message):
    with refused(message):
        fide_performance(opponents, score)


def test_constants_of_a_federation_can_be_fitted():
    league = jr.data.simulate.league(40, 2000, spread=250, seed=3).matches
    fit = jr.fit(fide(rounding=False), jr.periods(league, 30.0), free=["k_new"], steps=3)
    assert fit.loss < fit.loss_history[0]


def test_official_ratings_are_named_as_other_systems_are_and_saved(tmp_path):
    data = jr.data.datasets.nfl()
    rated = jr.rate(nfl_elo(seasons=data.seasons, season_keep=2 / 3), data)
    jr.save(tmp_path / "run", rated)
    assert jr.load(tmp_path / "run").system == rated.system
    compared = jr.compare(data, ["nfl_elo", "elo"], last=0.1)
    assert compared.results[0].name == "nfl_elo" and compared.results[0].system.settings["seasons"]
    assert "stephenson" not in jr.extend.SYSTEMS and {"stephenson", *FEDERATIONS} < set(jr.extend.ALL_SYSTEMS)
