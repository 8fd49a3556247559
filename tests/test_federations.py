"""Official ratings: numbers of the federations' own programs, of others, and of twins of their rules."""

import json
from importlib import import_module
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.federations import (
    FEDERATIONS,
    dwz,
    ecf,
    egf,
    fide,
    fifa,
    ingo,
    nba_elo,
    nfl_elo,
    uscf,
    world_rugby,
)
from jaxrate.systems.federations.official_rules import RatingState
from jaxrate.testing import properties
from jaxrate.testing.cases import SystemFormPrecision
from tests.conftest import MOSTLY_DOUBLE, refused

REFERENCE = json.loads((Path(__file__).parent / "reference" / "federations.json").read_text())


def column(table, number=0):
    return jnp.array([row[number] for row in table], float)


def rate(system, state, games, period=None, side=None, **columns):
    """The state after games [period, a, b, score of a, ...]."""
    games = np.array(games, float)
    matches = jr.matches(games[:, 1:3].astype(int), games[:, 3], games[:, 0], columns=columns or None, side=side)
    return jr.run(system, matches if period is None else jr.periods(matches, period), state=state).state


def by_period(reference):
    """The games of each period, and the states after it."""
    games = np.array(reference["games"], float)
    return [(games[games[:, 0] == i], after) for i, after in enumerate(reference["after_period"])]


def ages(reference, games, of=lambda player: player[-1]):
    """The columns of the ages of both players of each game."""
    age = np.array([of(player) for player in reference["players"]], float)
    return {"age_a": age[games[:, 1].astype(int)], "age_b": age[games[:, 2].astype(int)]}


def assert_states(found, wanted, x64):
    np.testing.assert_allclose(np.array(found, float), np.array(wanted, float), rtol=1e-9 if x64 else 3e-5, atol=1e-9)


AGES = ("age_a", "age_b")


def state_of(name, *leaves):
    """The state of a federation's system with these leaves."""
    module = import_module(f"jaxrate.systems.federations.{name}")
    return getattr(module, "State", RatingState)(*leaves)


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("name", "system", "leaves", "shown"),
    [
        ("egf_periods", egf(handicap="stones", rounding=False), 1, 1),
        ("ingo", ingo(AGES), 1, 1),
        ("dwz", dwz(AGES), 2, 2),
        ("uscf", uscf(), 2, 2),
        ("ecf", ecf(AGES), 1, 1),
    ],
)
def test_tournaments_are_rated_as_by_their_programs(name, system, leaves, shown, x64):
    reference = REFERENCE[name]
    state = state_of(system.name, *(column(reference["players"], i) for i in range(leaves)))
    for games, after in by_period(reference):
        columns = {}
        if name == "egf_periods":
            columns = {"stones": -games[:, 4]}
        elif name == "ecf":  # whose players have a K in place of an age
            columns = ages(reference, games, lambda player: 10 if player[1] == 40 else 50)
        elif "ages" in system.settings:
            columns = ages(reference, games)
        state = rate(system, state, games, 1.0, **columns)
        assert_states(np.stack(state[:shown], axis=1), [row[:shown] for row in after], x64)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("name", ["fifa", "world_rugby", "egf"])
def test_matches_are_rated_as_by_their_programs(name, x64):
    system = {
        "fifa": fifa("importance", "knockout", "penalties"),
        "world_rugby": world_rugby(("points_a", "points_b"), "world_cup"),
        "egf": egf("stones", rounding=False),
    }[name]
    reference = REFERENCE[name]
    state = RatingState(column(reference["players"]))
    for row, after in zip(reference["games"], reference["after"], strict=True):
        side = None
        if name == "fifa":
            columns = dict(zip(("importance", "knockout", "penalties"), row[4:], strict=True))
        elif name == "egf":
            columns = {"stones": -row[4]}
        else:
            columns, side = {"points_a": row[3], "points_b": row[4], "world_cup": row[6]}, [row[5]]
            row = [*row[:3], (np.sign(row[3] - row[4]) + 1) / 2]
        state = rate(system, state, [row[:4]], side=side, **{key: [x] for key, x in columns.items()})
        assert_states([state.rating[i] for i in row[1:3]], [x[0] for x in after], x64)


@pytest.mark.parametrize("make", [nfl_elo, nba_elo], ids=["nfl_elo", "nba_elo"])
def test_games_are_rated_as_fivethirtyeight_did(make, double):
    for _, is_neutral, points_a, points_b, one, two, chance, *after in REFERENCE[make.__name__]:
        state = state_of("nfl_elo", jnp.array([one, two]), jnp.full(2, jnp.inf))
        points = {"home_points": [points_a], "away_points": [points_b]}
        score = [(np.sign(points_a - points_b) + 1) / 2]
        run = jr.run(make(), jr.matches([[0, 1]], score, columns=points, side=[0 if is_neutral else 1]), state=state)
        np.testing.assert_allclose(run.prediction, chance, atol=1e-11)
        np.testing.assert_allclose(run.state.rating, after, atol=1e-3)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("number", [0, 1])
def test_stephensons_numbers_are_those_of_his_program(number, x64):
    reference = REFERENCE["stephenson"][number]
    given = reference["params"]
    system = jr.stephenson(
        c=given["cval"],
        game_growth=given["hval"],
        bonus=given["bval"],
        neighbourhood=given["lambda_"],
        deviation_max=given["rdmax"],
        side_advantage=given["gamma"],
        period=1.0,
    )
    variance = jnp.minimum(column(reference["players"], 1) ** 2 + given["cval"] ** 2, given["rdmax"] ** 2)  # newcomers
    state = import_module("jaxrate.systems.stephenson").State(
        column(reference["players"]), variance, jnp.full(len(variance), jnp.inf)
    )
    for games, after in by_period(reference):
        state = rate(system, state, games, 1.0, side=np.ones(len(games)))
        known = np.isfinite(state.time)
        found = np.stack([state.rating, jnp.sqrt(state.variance)], axis=1)
        assert_states(found[known], np.array(after)[known, :2], x64)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("number", [0, 1])
def test_boosts_are_those_of_the_paper_as_another_program_reads_it(number, x64):
    reference = REFERENCE["glicko_boost"][number]
    given = reference["params"]
    system = jr.glicko_boost(
        boost_from=given["k"],
        boost_factor=given["b1"],
        boost=given["b2"],
        deviation_max=given["rd_max"],
        side_advantage=given["eta"],
        period=1.0,
    )
    players = reference["players"]
    state = import_module("jaxrate.systems.glicko_boost").State(
        column(players), column(players, 1) ** 2, jnp.full(len(players), jnp.inf)
    )
    for games, after in by_period(reference):
        state = rate(system, state, games, 1.0, side=np.ones(len(games)))
        assert_states(np.stack([state.rating, jnp.sqrt(state.variance)], axis=1), after, x64)


@MOSTLY_DOUBLE
def test_a_league_is_rated_month_by_month_as_fides_rules_say(x64):
    reference = REFERENCE["fide"]
    players = reference["players"]
    rating = jnp.array([0.0 if player[0] is None else player[0] for player in players])
    state = state_of("fide", rating, column(players, 1), column(players, 3), jnp.zeros((len(players), 3)))
    for games, after in by_period(reference):
        columns = ages(reference, games, lambda player: reference["year"] - player[2])
        state = rate(fide(AGES), state, games, 1.0, **columns)
        wanted = [[0 if row[0] is None else row[0], row[1]] for row in after]
        np.testing.assert_allclose(np.stack(state[:2], axis=1), wanted, atol=1e-3)


def test_changes_and_first_ratings_are_those_of_fides_calculator(double):
    for own, opponent, score, k, change in REFERENCE["fide_official"]["change"]:
        state = state_of("fide", jnp.array([own, opponent], float), jnp.full(2, 99.0), jnp.zeros(2), jnp.zeros((2, 3)))
        found = rate(fide(k=k, rounding=True), state, [[0, 0, 1, score]]).rating[0] - own
        assert abs(found - change) <= 0.5 + 1e-6  # the list rounds what the calculator shows with a decimal
    for opponents, score, games, _, first in REFERENCE["fide_official"]["first"]:
        opponents = opponents if isinstance(opponents, list) else [opponents] * games
        rating = jnp.array([0.0, *opponents])
        state = state_of("fide", rating, jnp.full(games + 1, 99.0), jnp.zeros(games + 1), jnp.zeros((games + 1, 3)))
        results = [[0, 0, i + 1, min(max(score - i, 0), 1)] for i in range(games)]
        found = float(rate(fide(), state, results, 1.0).rating[0])
        assert found == (first if first >= 1400 else 0.0), (opponents, score)


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


def test_columns_that_are_missing_are_named():
    matches = jr.matches([[0, 1], [1, 2]], [1, 0], columns={"importance": [25.0, np.nan]})
    with refused("the matches need the column 'cup', which knockout= of the system names"):
        jr.run(fifa(knockout="cup"), matches)
    with refused("row 1: column 'importance' has no number, and importance= of the system needs one"):
        jr.run(fifa(importance="importance"), matches)
    with refused("fide: ages must be two columns, of the ages of a and of b, got ('age',)"):
        fide(("age",))


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
