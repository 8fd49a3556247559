"""Skills of goals against the slow twin, dense integrals, and Dixon and Coles' model as it is written."""

import json
from functools import partial
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import poisson

import jaxrate as jr
from jaxrate.forecasts.scorelines import make_scoreline_system
from jaxrate.forecasts.season_simulation import GoalSimulationMatches, poisson_quantile
from jaxrate.replay import compiler_options, execution
from jaxrate.systems.skills.goal_likelihoods import (
    HALF_Q,
    GoalObservation,
    GoalRateFactors,
    LogRateBelief,
    infer_log_rates,
    result_probabilities,
    scoreline_probabilities,
)
from jaxrate.systems.skills.system import skills_by_name
from jaxrate.systems.system_construction_by_name import DEFAULT_SIDE_SCORE, make_system_for_data
from tests.conftest import draw_pairs, mark_full, quick, refused
from tests.reference.goals_twin import Goals
from tests.reference.skills_twin import Q, game

TEAMS, MATCHES, SEASONS = 8, 30, (31.0, 62.5, 63.0)
PARTS = {
    "growth": 12.0, "initial_deviation": 40.0, "side_advantage": 35.0, "pace_growth": 3.0, "goal_rate": 1.3,
    "initial_pace_deviation": 20.0,
}  # fmt: skip
CASES = {  # settings and hyperparameters
    "plain": ({}, PARTS),
    "all parts": (
        {"seasons": SEASONS, "covariates": ("rest",), "own_side": True, "expected_goals": ("xg_a", "xg_b")},
        PARTS
        | {"season_keep": 0.7, "season_growth": 25.0, "reversion": 300.0, "experience": 15.0, "match_growth": 5.0}
        | {"goal_dispersion": 25.0, "own_side_growth": 2.0, "initial_own_side_deviation": 20.0}
        | {"low_score_dependence": 0.06, "expected_goals_noise": 0.4, "expected_goals_scale": 0.9},
    ),
}


def league(weight=False, seed=0, n=MATCHES):
    random = np.random.default_rng(seed)
    player = draw_pairs(random, TEAMS, n)
    goals = random.poisson(1.5, (2, n)).astype(float)
    goals[0, 7] = 9.0
    expected = np.where(random.random(n) < 0.3, np.nan, random.gamma(3.0, 0.5, (2, n)))
    columns = dict(zip(("goals_a", "goals_b", "xg_a", "xg_b"), (*goals, *expected), strict=True))
    return jr.matches(
        player,
        0.5 + 0.5 * np.sign(goals[0] - goals[1]),
        np.sort(random.uniform(0, 120, n)),
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0, 2.0], n) if weight else None,
        columns=columns | {"rest": random.normal(size=n)},
    )


def system_of(case, **changes):
    settings, params = CASES[case]
    weights = {"rest": -6.0} if "covariates" in settings else {}
    return skills_by_name(outcome="goals", margin=("goals_a", "goals_b"), **settings, **params | weights | changes)


def games_of(events, expected, first="goals_a", second="goals_b"):
    """The games of the twin, with expected goals or without."""
    of, games = events.context, []
    for i, (a, b) in enumerate(np.asarray(events.player).tolist()):
        weight = 1.0 if of.weight is None else of.weight[i]
        one = game(a, b, events.score[i], of.side[i], weight, z=(of.columns["rest"][i],))
        one.goals = [of.columns[x][i] for x in (first, second)]
        one.expected = [of.columns[x][i] if expected else np.nan for x in ("xg_a", "xg_b")]
        one.margin = one.goals[0] - one.goals[1]
        games.append(one)
    return games


def twin_of(case):
    settings, params = CASES[case]
    known = {name: x for name, x in settings.items() if name in ("own_side", "seasons")}
    weights = (-6.0 if "covariates" in settings else 0.0,)
    return Goals("goals", initial_rating=1500.0, **known, **params, weights=weights)


@pytest.mark.parametrize(("case", "weight"), mark_full([*product(CASES, (False, True))], ("all parts", True)))
def test_matches_are_those_of_the_twin(case, weight, double):
    events, twin, system = league(weight, n=16), twin_of(case), system_of(case)
    margin_loss = jr.fitting.losses.LOSSES["margin"].record(system)
    system = jr.forecasts.add_outcomes(system)
    run = jr.run(system, events, record=lambda rated: (rated.prediction, margin_loss(rated)))
    prediction, lost = jax.tree.map(np.asarray, run.prediction)
    for i, one in enumerate(games_of(events, "expected_goals" in CASES[case][0])):
        twin.age(events.time[i], [one])
        known = twin.known(events.time[i], one, 1.0)
        found = prediction.win[i, 0], prediction.draw[i, 0], prediction.win[i, 1]
        np.testing.assert_allclose(found, twin.chances(*known), atol=1e-6)
        expected, one.expected = one.expected, [np.nan, np.nan]  # which lose nothing
        np.testing.assert_allclose(-lost[i], twin.learn(*known)[2], atol=1e-6)
        one.expected = expected
        twin.play(events.time[i], [one])
    for name, row in twin.players.items():
        np.testing.assert_allclose(run.state.mean[name], row.m, atol=3e-4)
        np.testing.assert_allclose(run.state.covariance[name], row.P, rtol=1e-5, atol=3e-3)


@pytest.mark.parametrize("dependence", mark_full([None, -0.12, 0.3, 5.0, -5.0], None, -0.12))
def test_scorelines_sum_to_one_and_make_the_results(dependence, double):
    values = zip(
        (0.2, -1.0, 0.0), (0.3, 0.5, -0.4), (0.05, 0.2, 0.01), (0.01, -0.02, 0.0), (0.04, 0.03, 0.02), strict=True
    )
    belief = LogRateBelief(*map(np.array, zip(*values, strict=True)))

    @quick
    def probabilities(belief):
        return scoreline_probabilities(belief, dependence, 120), result_probabilities(belief, dependence)

    table, (win, draw, loss) = jax.tree.map(np.asarray, probabilities(belief))
    assert (table >= 0.0).all()
    np.testing.assert_allclose(table.sum(axis=(1, 2)), 1.0, rtol=1e-12)
    np.testing.assert_allclose(win + draw + loss, 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.tril(table, -1).sum(axis=(1, 2)), win, atol=1e-6)
    np.testing.assert_allclose(np.trace(table, axis1=1, axis2=2), draw, atol=1e-6)


def test_known_strengths_are_dixon_and_coles_model(double):
    """A season of eight teams, by penaltyblog."""
    known = json.loads((Path(__file__).parent / "reference" / "dixon_coles.json").read_text())
    attack, defence = np.array(known["attack"]) / Q, -np.array(known["defence"]) / Q
    system = jr.skills(
        jr.parts.skill(growth=0.0),
        jr.parts.side(known["home_advantage"] / Q),
        observe=jr.parts.goals(
            "goals_a",
            "goals_b",
            low_score_dependence=known["rho"],
            rate=float(np.exp(0.5 * known["home_advantage"])),
            pace_growth=0.0,
        ),
    )
    state = system.init(system.params, len(attack))
    mean = np.stack([1500.0 + attack + defence, attack - defence], axis=1)
    state = state._replace(mean=jnp.asarray(mean), covariance=1e-12 * state.covariance)
    home, away, *cells, win, draw = np.array(known["fixtures"]).T
    pairs = np.stack([home, away], axis=1).astype(int)
    zero = np.zeros(len(pairs))
    events = jr.matches(pairs, zero + 0.5, zero, side=zero + 1.0, columns={"goals_a": zero, "goals_b": zero})
    table = np.asarray(jr.predict(make_scoreline_system(system, 25), state, events))
    for (x, y), wanted in zip(((0, 0), (0, 1), (1, 0), (1, 1), (3, 2)), cells, strict=True):
        np.testing.assert_allclose(table[:, x, y], wanted, rtol=1e-9)
    lead = jr.forecasts.goal_difference_probabilities(table, 0.0)
    np.testing.assert_allclose(lead.over, win, atol=1e-9)
    np.testing.assert_allclose(lead.level, draw, atol=1e-9)


def test_results_of_many_goals_are_those_of_a_normal_difference(double):
    """Within the error of the formula, where goals are beyond those that are counted."""
    logs = np.log([30.0, 26.0])
    belief = LogRateBelief(0.5 * (logs[0] - logs[1]), logs.mean(), 1e-12, 0.0, 1e-12)
    number = np.arange(120)
    chances = [poisson.pmf(number, x) for x in (30.0, 26.0)]
    table = np.outer(*chances)
    wanted = np.tril(table, -1).sum(), np.trace(table), np.triu(table, 1).sum()
    np.testing.assert_allclose(quick(result_probabilities, static_argnums=1)(belief, None), wanted, atol=2e-3)


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("goals_a", [1.0, -1.0, 0.0], "row 1 (counting from 0): column 'goals_a' is -1; goals are whole numbers"),
        ("xg_b", [0.1, 0.2, -0.3], "row 2 (counting from 0): column 'xg_b' is -0.3; expected goals are numbers from"),
        (
            "goals_a",
            [2.0, 1.0, 3.0],
            "row 2 (counting from 0): the first player lost with 3 goals to 1; margin is goals_a, their goals, and",
        ),
        ("goals_a", [2.0, 0.0, 0.0], "row 1 (counting from 0): the first player drew with 0 goals to 1"),
    ],
)
def test_goals_that_are_none_are_refused(column, values, said):
    columns = {"goals_a": [2.0, 1.0, 0.0], "goals_b": [1.0, 1.0, 1.0], "xg_a": [1.0] * 3, "xg_b": [1.0] * 3}
    events = jr.matches([[0, 1], [1, 2], [2, 0]], [1.0, 0.5, 0.0], columns=columns | {column: values})
    with refused(said):
        jr.run(
            jr.skills(observe=(jr.parts.goals("goals_a", "goals_b"), jr.parts.expected_goals("xg_a", "xg_b"))), events
        )


def test_a_win_at_equal_goals_is_allowed(double):
    """As after a shoot-out: goals tell what they tell."""
    events = jr.matches([[0, 1]], [1.0], columns={"goals_a": [1.0], "goals_b": [1.0]})
    mean = np.asarray(jr.run(jr.skills(observe=jr.parts.goals("goals_a", "goals_b")), events).state.mean)
    np.testing.assert_allclose(mean[:, 0], 1500.0)


def test_rating_periods_of_one_match_are_matches_and_of_several_multiply_likelihoods(double):
    """Two matches of a team at the same time, at the beliefs before both, by a dense posterior of each."""
    columns = {"goals_a": [3.0, 0.0], "goals_b": [1.0, 2.0]}
    both = jr.matches([[0, 1], [0, 2]], [1.0, 0.0], [0.0, 0.0], columns=columns)
    system = jr.skills(
        jr.parts.skill(growth=0.0, initial_deviation=50.0),
        observe=jr.parts.goals("goals_a", "goals_b", pace_growth=0.0),
    )
    state = jax.tree.map(np.asarray, jr.run(system, jr.periods(both, 7.0)).state)
    prior = np.linalg.inv(np.diag([50.0**2, 30.0**2]))
    precision, pull, newcomer = prior, np.zeros(2), np.array([1500.0, 0.0])
    for i in (0, 1):
        alone = jr.matches([[0, 1]], [1.0 - i], columns={name: [x[i]] for name, x in columns.items()})
        one = jax.tree.map(np.asarray, jr.run(system, alone).state)
        told = np.linalg.inv(one.covariance[0])
        precision = precision + told - prior
        pull = pull + told @ (one.mean[0] - newcomer)
    np.testing.assert_allclose(np.linalg.inv(precision), state.covariance[0], rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(np.linalg.solve(precision, pull), state.mean[0] - newcomer, rtol=1e-9)


def test_slopes_are_compiled_by_the_older_emitters(monkeypatch):
    """By the newer ones of JAX 0.10 the slopes of 20,000 matches of 1,000 teams did not end in minutes."""
    monkeypatch.setattr(execution, "_jit_replay", lambda *arguments: arguments)
    for outermost in (False, True):
        inputs, policy = (0, np.zeros((3, 2, 2))), execution.CompilePolicy(outermost=outermost)
        *_, traits = execution.compile_replay(len, inputs, policy)
        assert compiler_options.options_on_cpu(traits)["xla_cpu_use_fusion_emitters"] != outermost


def test_what_follows_a_match_infers_nothing_anew():
    """XLA of JAX 0.12 would put the whole inference into each number that follows: slopes took 50 times as long."""
    observation = GoalObservation((np.ones(2), np.zeros(2)), (None, None), -0.05, None, None)
    infer = jax.make_jaxpr(lambda belief: infer_log_rates(belief, observation).message)
    program = infer(LogRateBelief(*np.ones((5, 2))))
    *_, last = program.jaxpr.eqns
    assert last.primitive.name == "optimization_barrier" and last.outvars[:2] == program.jaxpr.outvars


# Scorelines of matches to come: totals, leads, both score, and what is refused.

PAIRS = [("Ada", "Cy"), ("Bo", "Di")]


def season(n=120):
    random = np.random.default_rng(3)
    names = np.array(["Ada", "Bo", "Cy", "Di"])
    first, second = draw_pairs(random, 4, n).T
    strength = np.array([0.4, 0.2, -0.1, -0.5])
    goals = random.poisson(np.exp(0.3 + np.stack([1.0, -1.0])[:, None] * (strength[first] - strength[second])))
    table = {"home": names[first], "away": names[second], "home_goals": goals[0], "away_goals": goals[1]}
    columns = {"a": "home", "b": "away", "margin": ["home_goals", "away_goals"], "side": "a"}
    return jr.read(table | {"time": np.arange(n)}, **columns)


@pytest.fixture(scope="module")
def rated():
    data = season()
    return jr.rate(
        jr.skills(jr.parts.side(30.0), observe=jr.parts.goals(*data.margin, low_score_dependence=-0.05)), data
    )


def test_scorelines_agree_with_the_results(rated):
    lines = jr.forecasts.predict_scorelines(rated, PAIRS, side="a", most_goals=30)
    assert lines.a.tolist() == ["Ada", "Bo"] and lines.b.tolist() == ["Cy", "Di"]
    assert lines.probability.shape == (2, 31, 31)
    np.testing.assert_allclose(lines.probability.sum(axis=(1, 2)), 1.0, atol=2e-6)
    known = jr.forecasts.predict_fixtures(rated, PAIRS, side="a")
    lead = jr.forecasts.goal_difference_probabilities(lines.probability, 0.0)
    for name, found in (("win", lead.over), ("draw", lead.level), ("loss", lead.under)):
        np.testing.assert_allclose(found, known[name], atol=2e-6)
    wrapped = rated._replace(system=jr.forecasts.add_outcomes(rated.system))
    others = jr.forecasts.predict_scorelines(wrapped, PAIRS, side="a", most_goals=30)
    np.testing.assert_array_equal(others.probability, lines.probability)


def test_lines_at_halves_quarters_and_whole_goals():
    table = np.array([[0.1, 0.2, 0.0], [0.3, 0.1, 0.05], [0.15, 0.0, 0.1]])
    total, lead = jr.forecasts.total_goals_probabilities, jr.forecasts.goal_difference_probabilities
    np.testing.assert_allclose(total(table, 1.5), (0.4, 0.0, 0.6))
    np.testing.assert_allclose(total(table, 2), (0.15, 0.25, 0.6))
    np.testing.assert_allclose(total(table, 1.75), (0.275, 0.125, 0.6))
    np.testing.assert_allclose(lead(table, -1.0), (0.75, 0.25, 0.0))
    np.testing.assert_allclose(lead(table, 0.5), (0.45, 0.0, 0.55))
    np.testing.assert_allclose(jr.forecasts.both_score_probability(table), 0.25)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rated: jr.forecasts.both_score_probability([[0.9, 0.9], [0.0, 0.0]]), "which sum to at most 1"),
        (
            lambda rated: jr.forecasts.goal_difference_probabilities(np.eye(2) / 2, 0.3),
            "quarters of a goal, as 2.5, got 0.3",
        ),
        (
            lambda rated: jr.forecasts.predict_scorelines(jr.rate(jr.glicko(), season()), PAIRS),
            "this glicko says nothing of scorelines; take skills that learn from goals: --param outcome=goals",
        ),
        (
            lambda rated: jr.history.attack_and_defence(jr.rate(jr.glicko(), season())),
            "glicko knows no attack and no defence; take jr.skills(observe=jr.parts.goals(...))",
        ),
    ],
)
def test_what_has_no_scorelines_is_refused(rated, call, said):
    with refused(said):
        call(rated)


def test_systems_of_goals_are_saved(rated, tmp_path):
    jr.save(tmp_path / "run", rated)
    assert jr.load(tmp_path / "run").system == rated.system


def test_expected_goals_are_read_and_may_be_missing():
    table = {
        "home": ["Ada", "Bo", "Cy"], "away": ["Bo", "Cy", "Ada"], "date": ["2024-01-01", "2024-01-02", "2024-01-03"],
        "home_goals": [2, 1, 0], "away_goals": [1, 1, 3], "xh": [1.5, None, 0.4], "xa": [0.5, None, 2.2],
    }  # fmt: skip
    roles = {"a": "home", "b": "away", "side": "a", "margin": ["home_goals", "away_goals"]}
    read = partial(jr.read, expected_goals=["xh", "xa"], **roles)
    data = read(table)
    assert data.expected_goals == ("xh", "xa") and "xG" in repr(data)
    np.testing.assert_array_equal(data.matches.context.columns["xh"], [1.5, np.nan, 0.4])
    system = make_system_for_data("skills", {"outcome": "goals"}, None, data)
    assert system.settings["expected_goals"] == ("xh", "xa")
    with refused("column 'xh' holds expected goals, so that it cannot be something else as well"):
        read(table, covariates="xh")
    with refused("row 1 (counting from 0): column 'xa' is inf, not a finite number"):
        read(table | {"xa": [0.5, np.inf, 2.2]})


def test_a_side_is_worth_what_it_scores():
    data = season()
    system = make_system_for_data("skills", {"outcome": "goals"}, None, data)
    alike = jr.matches([[0, 1]], [0.5], side=[1.0], columns={name: [0.0] for name in data.margin})
    system = system.make(**dict(system.settings) | system.params._asdict() | {"initial_deviation": 1e-3})
    score = jr.predict(system, system.init(system.params, 2), alike)
    np.testing.assert_allclose(score, DEFAULT_SIDE_SCORE, atol=0.005)


def test_seasons_of_goals_have_the_chances_of_scorelines(rated):
    """One match: its chances, mean goals and the table after it; with results so far their goals count."""
    lines = jr.forecasts.predict_scorelines(rated, [("Ada", "Di")], side="a", most_goals=30)
    (summary,) = jr.forecasts.summarise_scorelines(lines).to_records()
    forecast = jr.forecasts.simulate_season(rated, [("Ada", "Di")], side="a", samples=40_000)
    assert forecast.player.tolist() == ["Ada", "Di"]
    wanted = 3 * summary["win"] + summary["draw"], 3 * summary["loss"] + summary["draw"]
    np.testing.assert_allclose(forecast.expected, wanted, atol=0.03)
    lead = summary["goals_a"] - summary["goals_b"]
    np.testing.assert_allclose(forecast.goal_difference, (lead, -lead), atol=0.04)
    assert "goal difference" in str(forecast)


def test_goal_difference_decides_between_equals(rated):
    """Ada has scored more, Bo has won their own match; the match to come cannot make up for it."""
    games = [("Bo", "Ada", 1, 0), ("Ada", "Cy", 60, 0), ("Ada", "Cy", 2, 0), ("Bo", "Di", 1, 0)]
    results = dict(zip(("a", "b", "home_goals", "away_goals"), map(list, zip(*games, strict=True)), strict=True))
    columns = {"margin": ["home_goals", "away_goals"], "side": "a"}
    play = partial(jr.forecasts.simulate_season, rated, {"a": ["Di"], "b": ["Cy"]}, samples=200, **columns)
    for ties, best in ((None, "Ada"), (("head_to_head",), "Bo")):
        forecast = play(results=results, ties=ties)
        assert forecast.place[forecast.player == best, 0] == 1.0
    with refused("no tie-break 'goal'; there are wins, head_to_head, goal_difference and goals"):
        play(ties=("goal",))
    with refused("the results need the goals of both sides, for the goal difference; name them as margin"):
        play(results=jr.read({"a": ["Ada"], "b": ["Bo"], "score": [1.0]}))
    with refused("the tie-break 'goals' needs goals: rate with jr.skills(observe=jr.parts.goals(...))"):
        jr.forecasts.simulate_season(jr.rate(jr.glicko(), season()), PAIRS, ties=("goals",), samples=10)


@pytest.mark.parametrize("dependence", mark_full([None, -0.15, 0.2, 5.0], -0.15))
def test_goals_are_drawn_as_scorelines_are(dependence, double):
    belief = LogRateBelief(*map(jnp.asarray, (0.1, 0.2, 0.05, 0.0, 0.03)))
    scatter = 40.0
    weights = np.sqrt([0.05, 0.03])
    factors = GoalRateFactors(
        jnp.full(1, 0.1), jnp.full(1, 0.2),
        jnp.array([[[weights[0], 0.0], [0.0, 0.0]]]), jnp.array([[[0.0, weights[1]], [0.0, 0.0]]]),
    )  # fmt: skip
    deviation = jnp.asarray(2.0 * HALF_Q * scatter)
    games = GoalSimulationMatches(
        jnp.array([[0, 1]]), factors, deviation, None if dependence is None else jnp.asarray(dependence)
    )

    def play(key):
        drawing, playing = jax.random.split(key)
        return games.play(playing, games.draw_strengths(drawing, 2))[1]

    keys = jax.random.split(jax.random.key(0), 100_000)
    goals = np.asarray(jax.jit(jax.vmap(play))(keys))[:, 0].astype(int)
    more = 0.5 * deviation**2
    belief = belief._replace(gap_variance=0.05 + more, level_variance=0.03 + more)
    wanted = np.asarray(quick(lambda: scoreline_probabilities(belief, dependence, 30))())
    counts = np.zeros((31, 31))
    np.add.at(counts, tuple(goals.T), 1.0)
    np.testing.assert_allclose(counts[:4, :4] / len(goals), wanted[:4, :4], atol=6e-3)
    means = [wanted.sum(axis=1 - i) @ np.arange(31) for i in (0, 1)]
    np.testing.assert_allclose(goals.mean(axis=0), means, atol=0.03)


def test_quantiles_of_counts_are_those_of_the_law(x64):
    """Counts from 0 to hundreds; the expansion of many is right to about 0.001."""
    rate, probability = np.meshgrid([0.01, 0.7, 1.6, 12.0, 59.0], np.linspace(0.0005, 0.9995, 400))
    quantile = quick(poisson_quantile)
    count = np.asarray(quantile(probability, rate))
    assert (count != poisson.ppf(probability, rate)).mean() < (1e-9 if x64 else 1e-3)
    for high in (60.0, 115.0, 3_000.0):
        count = np.asarray(quantile(probability[:, 0], np.full(400, high)))
        below, above = poisson.cdf(count - 1.0, high), poisson.cdf(count, high)
        assert (below < probability[:, 0] + 2e-3).all() and (above > probability[:, 0] - 2e-3).all()


def test_a_fit_scores_scorelines_unless_outcomes_are_asked_for(no_errors):
    found = jr.fit(system_of("plain"), league(n=300), free=["goal_rate"])
    assert found.objective.loss == "margin" and found.params.goal_rate == pytest.approx(1.5, abs=0.2)
    of_outcomes = jr.fit(jr.forecasts.add_outcomes(system_of("plain")), league(n=60), free=["goal_rate"], steps=1)
    assert of_outcomes.objective.loss == "log_loss"
