"""Win, draw and loss of every system of matches, calibrated predictions, and the likelihood of margins."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import jaxrate as jr
from jaxrate.core.rules import RatedEvent
from jaxrate.core.system import replace_params
from jaxrate.fitting.losses import LOSSES
from jaxrate.forecasts.scorelines import make_point_system
from jaxrate.systems.prediction_wrapping import (
    davidson_outcome_probabilities,
    scores_or_score_probabilities,
    wrapper_names,
)
from jaxrate.systems.skills.system import skills_by_name
from jaxrate.systems.system_construction_by_name import make_system_for_data
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, draw_pairs, mark_full, quick
from tests.reference import outcomes_twin as twin
from tests.reference.goals_twin import Points
from tests.reference.skills_twin import Skills, game
from tests.test_goals import games_of

OF_ROUNDS = jr.elo_mmr()._replace(events=(jr.Rounds,))

N, PLAYERS = 200, 12


def league(draws=True):
    random = np.random.default_rng(3)
    player = draw_pairs(random, PLAYERS, N)
    home, away = random.poisson(1.6, N), random.poisson(1.2, N)
    if not draws:
        home = home + (home == away)
    score = 0.5 + 0.5 * np.sign(home - away)
    columns = {"home": home.astype(float), "away": away.astype(float)}
    time, side = np.sort(random.uniform(0, 300, N)), random.integers(-1, 2, N)
    return jr.matches(player, score, time, side=side, columns=columns)


def chances(outlook):
    """[n, 3] of win, draw and loss."""
    return np.stack([outlook.win[:, 0], outlook.draw[:, 0], outlook.win[:, 1]], axis=1)


@pytest.mark.parametrize("odds", [1e-3, 0.4, 1.0, 30.0])
def test_draws_are_davidsons(x64, odds):
    score = np.array([0.0, 1e-6, 0.03, 0.4, 0.5, 0.62, 0.999, 1.0])
    arguments = (jnp.asarray(x, float) for x in (score, np.full(len(score), odds)))
    got = quick(davidson_outcome_probabilities)(*arguments)
    wanted = [twin.davidson(x, odds) if 0.0 < x < 1.0 else (x, 0.0, 1.0 - x) for x in score]
    close = 1e-12 if x64 else 2e-6
    np.testing.assert_allclose(chances(got), wanted, rtol=close if x64 else 2e-4, atol=close)
    np.testing.assert_allclose(got.win[:, 0] + 0.5 * got.draw[:, 0], score, atol=close)
    np.testing.assert_allclose(got.quality[4], 1.0, rtol=1e-6)
    np.testing.assert_allclose(got.rank.sum(axis=1), 3.0, rtol=1e-6)


@MOSTLY_SINGLE
def test_slopes_of_draws_are_finite_at_the_ends(x64):
    at = np.array([0.0, 0.5, 1.0], jnp.result_type(float))

    def drawn(score, odds):
        return davidson_outcome_probabilities(score, odds).draw[0]

    slope = [np.asarray(x) for x in quick(jax.vmap(jax.grad(drawn, (0, 1)), (0, None)))(at, 0.7)]
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(slope[0][1], 0.0, atol=1e-6)


def test_draws_depend_on_strength(double):
    """log nu grows by the mean rating above a newcomer's."""
    plain, events = jr.glicko(), league()
    system = jr.forecasts.add_outcomes(plain, draw_odds=0.6, draw_strength=0.004)
    kept = jr.history.rating_history(plain, events)
    rating = np.asarray(kept.before.mean)
    odds = 0.6 * np.exp(0.004 * (rating.mean(axis=1) - 1500.0))
    wanted = [twin.davidson(p, nu) for p, nu in zip(np.asarray(kept.prediction), odds, strict=True)]
    np.testing.assert_allclose(chances(jr.run(system, events).prediction), wanted, rtol=1e-9)


@MOSTLY_DOUBLE
def test_calibration_is_a_line_through_the_log_odds(x64):
    plain, events = jr.elo(side_advantage=40), league()
    system = jr.forecasts.calibrate(plain, calibration_slope=0.7, calibration_intercept=0.3)
    one, other = jr.run(plain, events), jr.run(system, events)
    wanted = [twin.calibrate(p, 0.7, 0.3, s) for p, s in zip(one.prediction, events.context.side, strict=True)]
    np.testing.assert_allclose(other.prediction, wanted, rtol=1e-10 if x64 else 1e-5)
    np.testing.assert_array_equal(other.state.rating, one.state.rating)
    flipped = events._replace(player=events.player[:, ::-1], score=1.0 - events.score)
    flipped = flipped._replace(context=flipped.context._replace(side=-events.context.side))
    np.testing.assert_allclose(jr.run(system, flipped).prediction, 1.0 - other.prediction, atol=1e-6)


MARGINS = {"margin": ("home", "away"), "margin_scale": 90.0, "initial_deviation": 120.0, "side_advantage": 30.0}


@MOSTLY_DOUBLE
@pytest.mark.parametrize("compression", [None, 2.5])
def test_the_margin_loss_is_that_of_the_twin(x64, compression):
    events, system = league(), skills_by_name(outcome="margin", **MARGINS, compression=compression)
    got = jr.run(system, events, record=LOSSES["margin"].record(system)).prediction
    params = {x: y for x, y in MARGINS.items() if x != "margin"}
    slow = Skills("margin", growth=10.0, initial_rating=1500.0, noise=300.0, compression=compression, **params)
    wanted = []
    for i, (a, b) in enumerate(events.player.tolist()):
        points = events.context.columns["home"][i] - events.context.columns["away"][i]
        one = game(a, b, events.score[i], events.context.side[i], margin=points)
        slow.age(events.time[i], [one])
        ahead, variance = slow.lead(*slow.known(events.time[i], one, 1.0))
        wanted.append(twin.margin_loss(points, ahead, 300.0**2 + variance, 90.0, compression))
        slow.play(events.time[i], [one])
    np.testing.assert_allclose(got, wanted, rtol=1e-8 if x64 else 1e-4)


DRAWS = {"draw_odds": 0.7, "draw_strength": 0.002}
OUTLOOKS = {
    "davidson": lambda: jr.forecasts.add_outcomes(jr.elo(), **DRAWS),
    "calibrated": lambda: jr.forecasts.add_outcomes(
        jr.forecasts.calibrate(jr.elo(), calibration_slope=0.8, calibration_intercept=0.2), **DRAWS
    ),
    "own": lambda: jr.forecasts.add_outcomes(
        skills_by_name(outcome="margin", **MARGINS, draw_margin=50.0, compression=2.5)
    ),
}


def losses(name, events):
    """The mean loss as a function of hyperparameters, and these; of margins that of the results and of the points."""
    system, kinds = OUTLOOKS[name](), [LOSSES["log_loss"], LOSSES["margin"]][: 1 + (name == "own")]
    records = [loss.record(system) if loss.record else (lambda rated: rated.prediction) for loss in kinds]

    def value(params):
        guesses = jr.run(
            system, events, params=params, schedule="stream", record=lambda rated: [keep(rated) for keep in records]
        ).prediction
        each = [
            loss.each(scores_or_score_probabilities(guess), jnp.asarray(events.score, float))
            for loss, guess in zip(kinds, guesses, strict=True)
        ]
        return sum(map(jnp.mean, each))

    return value, system


@pytest.mark.parametrize("name", mark_full(OUTLOOKS, "calibrated", "own"))
def test_slopes_equal_differences(double, name):
    value, system = losses(name, league())
    free = [x for x in system.params._fields if getattr(system.params, x) is not None and x != "period"]
    step = {x: 1e-5 * (abs(getattr(system.params, x)) or 1.0) for x in free}
    moved = [system.params._replace(**{x: getattr(system.params, x) + s * step[x]}) for x in free for s in (-1, 1)]
    params = jax.tree.map(lambda *x: np.array(x, float), *moved)
    at, slopes = jax.tree.map(np.asarray, quick(jax.vmap(jax.value_and_grad(value)))(params))
    for i, (x, (low, high)) in enumerate(zip(free, at.reshape(-1, 2), strict=True)):
        slope = np.mean(getattr(slopes, x)[2 * i : 2 * i + 2])
        np.testing.assert_allclose(slope, (high - low) / (2 * step[x]), rtol=1e-4, atol=1e-9, err_msg=x)


@MOSTLY_DOUBLE
def test_margins_of_skills_are_those_of_a_kalman_filter_far_away_too(x64):
    """A hopeless player draws: the loss is large, and so is its slope, but both are finite."""
    system = skills_by_name(outcome="margin", **MARGINS)
    rows = system.init(system.params, 2)
    rows = rows._replace(mean=rows.mean + jnp.array([9000.0, -9000.0]))
    far = jax.tree.map(lambda x: jnp.asarray(x[:5], float), league()._replace(player=np.array([[0, 1]] * N)))
    constants, record = system.rules.prepare(system.params), LOSSES["margin"].record(system)

    def value(lead):
        state = rows._replace(mean=rows.mean + lead * jnp.array([1.0, -1.0]))
        return jnp.sum(jax.vmap(lambda x: record(RatedEvent(system.params, constants, state, None, None, x)))(far))

    found, slope = quick(jax.value_and_grad(value))(0.0)
    assert np.isfinite(found) and found > 1000.0 and np.isfinite(slope)


def test_they_are_values_and_made_anew():
    system = jr.forecasts.add_outcomes(jr.forecasts.calibrate(jr.glicko(c=20)), draw_odds=0.5, draw_strength=0.001)
    assert pickle.loads(pickle.dumps(system)) == system and hash(system) == hash(OUTLOOKS and system)
    again = replace_params(system, system.params._replace(c=30.0, calibration_slope=0.9))
    other = jr.forecasts.calibrate(jr.glicko(c=30), calibration_slope=0.9)
    assert again == jr.forecasts.add_outcomes(other, draw_odds=0.5, draw_strength=0.001)
    names = {"add_outcomes": jr.forecasts.add_outcomes, "calibrate": jr.forecasts.calibrate, "glicko": jr.glicko}
    assert eval(repr(system), names) == system
    own = jr.forecasts.add_outcomes(jr.trueskill(beta=4))
    assert eval(repr(own), names | {"trueskill": jr.trueskill}) == own


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jr.forecasts.add_outcomes(OF_ROUNDS), "^add_outcomes is of matches, which elo_mmr does not rate"),
        (lambda: jr.forecasts.add_outcomes(jr.trueskill(), draw_odds=1.0), "^trueskill has draws of its own, without"),
        (lambda: jr.forecasts.add_outcomes(jr.forecasts.add_outcomes(jr.elo())), "^this elo is one of jr.forecasts"),
        (lambda: jr.forecasts.calibrate(jr.forecasts.add_outcomes(jr.elo())), "take calibrate of the system before"),
        (lambda: jr.fit(jr.glicko(), league(), objective=jr.fitting.ahead(loss="margin")), "^glicko says nothing of m"),
        (lambda: jr.forecasts.predict_points(jr.rate(jr.skills(), {"a": ["Ada"], "b": ["Bo"], "score": [1.0]}),
                                             [("Ada", "Bo")]), "this skills says nothing of points; take jr.skills"),
    ],
)  # fmt: skip
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_command_line_fits_and_rates_them(tmp_path, jaxrate, no_errors):
    events, games, fitted, out = league(), tmp_path / "games.csv", tmp_path / "fitted.toml", tmp_path / "out"
    table = {"a": events.player[:, 0], "b": events.player[:, 1], "score": events.score, "t": events.time}
    jr.data.write(table, games)
    free = "--outlook", "--calibrated", "--free", "calibration_slope", "draw_odds"
    code, said, error = jaxrate("fit", games, "--time", "t", "--system", "elo", *free, "--save", fitted)
    assert code == 0 and "draw_odds" in said, error
    code, said, error = jaxrate("rate", games, "--time", "t", "--param", fitted, "--out", out)
    assert code == 0 and wrapper_names(jr.load(out).system) == ("calibrated", "outlook"), error


def ahead(by):
    return lambda x, y: jax.nn.sigmoid(x - y + by)


def with_hole(x, y):
    return jnp.where(x - y == 6.0, 0.2, jax.nn.sigmoid(x - y))


def asymmetric(x, y):
    return jax.nn.sigmoid(x - 0.5 * y)


GRID = dict(size=121, half_width=3.0, kernel="none")


@pytest.mark.parametrize(
    ("luck", "message"),
    [
        (jr.extend.luck.Luck("sided", ahead(0.2), black=ahead(-0.5)), "luck function sided: White's .*zero_sum=False"),
        (jr.extend.luck.Luck("hole", with_hole), r"furthest off are L\(-3.0, 3.0\) = 0.0024"),
        (jr.extend.luck.Luck("cubes", lambda x, y: jax.nn.sigmoid(x**3 - y**3)), "cubes: .* give it difference=False"),
        (jr.extend.luck.Luck("two sides", ahead(0.2), black=lambda x, y: jax.nn.sigmoid(x**3 - y**3)), "difference=F"),
        (jr.extend.luck.Luck("mixed", ahead(0.0), laplace=((1.0, 1.0),)), "it is not the mixture"),
        (jr.extend.luck.Luck("asymmetric", asymmetric, difference=False), r"must be 1 - L\(y, x\); furthest off are"),
    ],
)
def test_luck_functions_are_what_they_say_of_themselves(luck, message):
    with pytest.raises(ValueError, match=message):
        jr.blat_mmr(luck, **GRID)


def test_every_prediction_of_a_game_that_is_not_zero_sum_is_of_one_player(double):
    """Scores L(x, y) of player 0 and L(y, x) of player 1: evidence weighs both, outcomes would need them to be 1."""
    by = {1.0: (0.2, -0.5), -1.0: (-0.5, 0.2)}
    sided = jr.extend.luck.Luck("sided", ahead(0.2), black=ahead(-0.5), zero_sum=False, smooth=True)
    x = np.linspace(-3.0, 3.0, 121)
    difference = x[:, None] - x[None]
    for algorithm in ("naive", "fft", "low_rank"):
        system = jr.blat_mmr(sided, **GRID, algorithm=algorithm, beta=1.0)
        state = system.init(system.params, 2)
        p = np.asarray(state.belief[0])
        score = [1.0, 0.5, 0.0, 0.0]
        matches = jr.matches([[0, 1]] * 3 + [[1, 0]], score, side=[1.0, 1.0, 1.0, -1.0])
        by_evidence = jr.history.blat_mmr_beliefs.make_evidence_predicting_system(system)
        prediction, evidence = (np.asarray(jr.predict(one, state, matches)) for one in (system, by_evidence))
        for i, side in enumerate((1.0, 1.0, 1.0, -1.0)):
            mine = 1.0 / (1.0 + np.exp(-difference - by[side][0]))
            theirs = 1.0 / (1.0 + np.exp(difference - by[side][1]))
            np.testing.assert_allclose(prediction[i], p @ mine @ p, rtol=1e-9)
            np.testing.assert_allclose(evidence[i], p @ (mine ** score[i] * theirs ** (1.0 - score[i])) @ p, rtol=1e-9)
        np.testing.assert_allclose(evidence[2], prediction[3], rtol=1e-12)  # player 1's own score, not 1 - player 0's
        assert abs(prediction[0] + prediction[3] - 1.0) > 0.05
        with pytest.raises(ValueError, match="sided has zero_sum=False: expected scores that are not 1 together"):
            jr.history.blat_mmr_beliefs.outcome_probabilities(system, state, matches)


@pytest.mark.parametrize(("name", "lead"), [("trueskill(0.5)", 0.0), ("heaviside", 0.7), ("trueskill(0.3)", 0.9)])
@MOSTLY_DOUBLE
def test_strengths_at_a_jump_are_at_it_by_every_algorithm(x64, name, lead):
    """Margins and leads that are multiples of the step, of the grid and of a support, against whole numbers."""
    unit, grid, points = jr.extend.luck.POINTS_PER_NATURAL_UNIT, dict(size=301, half_width=3.0), np.arange(-150, 151)
    belief = np.random.default_rng(0).dirichlet(np.ones(301), 2)
    steps = {"heaviside": 0, "trueskill(0.5)": 25, "trueskill(0.3)": 15}[name]
    ahead = points[:, None] - points[None] + round(lead / 0.02)
    right = belief[0] @ (0.5 + 0.5 * (ahead > steps) - 0.5 * (ahead < -steps)) @ belief[1]
    for options in ({**grid, "algorithm": "naive"}, {**grid, "algorithm": "fft"}, {"support": 0.02 * points}):
        system = jr.blat_mmr(name, kernel="none", beta=1.0, side_advantage=lead * unit, **options)
        state = system.init(system.params, 2)._replace(belief=jnp.asarray(belief, float))
        got = jr.predict(system, state, jr.matches([[0, 1]], [1.0], side=[1.0]))
        np.testing.assert_allclose(got, right, rtol=0, atol=1e-12 if x64 else 1e-6)


TEAMS, MATCHES, SEASONS = 8, 40, (31.0, 62.5, 63.0)
POINTS = "points_a", "points_b"
PARTS = {
    "growth": 12.0, "initial_deviation": 90.0, "side_advantage": 35.0, "pace_growth": 9.0, "point_rate": 98.0,
    "initial_pace_deviation": 70.0, "noise": 290.0, "total_noise": 410.0, "margin_scale": 24.0, "season_keep": 0.7,
    "season_growth": 25.0, "reversion": 300.0, "experience": 15.0, "match_growth": 5.0, "own_side_growth": 2.0,
    "initial_own_side_deviation": 20.0, "compression": 11.0,
}  # fmt: skip


def points_league(weight=False, n=MATCHES):
    random = np.random.default_rng(1)
    player = draw_pairs(random, TEAMS, n)
    points = np.rint(random.normal(100.0, 12.0, (2, n)))
    points[0] += points[0] == points[1]
    return jr.matches(
        player,
        0.5 + 0.5 * np.sign(points[0] - points[1]),
        np.sort(random.uniform(0, 120, n)),
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0, 2.0], n) if weight else None,
        columns=dict(zip(POINTS, points, strict=True)) | {"rest": random.normal(size=n)},
    )


def system_of(outcome="points", **changes):
    settings = {"margin": POINTS, "own_side": True, "seasons": SEASONS, "covariates": ("rest",), "rest": -6.0}
    return skills_by_name(outcome=outcome, **settings, **PARTS | changes)


@pytest.mark.parametrize("weight", mark_full([False, True], True))
def test_matches_are_those_of_the_twin(weight, double):
    events, system = points_league(weight), system_of()
    twin = Points("points", own_side=True, seasons=SEASONS, weights=(-6.0,), initial_rating=1500.0, **PARTS)
    predict_points, lost_points = make_point_system(system).rules.predict, LOSSES["margin"].record(system)

    def record(rated):
        told = predict_points(rated.constants, rated.before, rated.event)
        return rated.prediction, told, lost_points(rated)

    run = jr.run(system, events, record=record)
    prediction, told, lost = jax.tree.map(np.asarray, run.prediction)
    for i, one in enumerate(games_of(events, False, *POINTS)):
        twin.age(events.time[i], [one])
        known = twin.known(events.time[i], one, 1.0)
        np.testing.assert_allclose(prediction[i], twin.predict(*known)[0], atol=1e-12)
        np.testing.assert_allclose([told.total[i], told.total_deviation[i]], twin.total(*known), rtol=1e-12)
        np.testing.assert_allclose(-lost[i], twin.learn(*known)[2], rtol=1e-12)
        twin.play(events.time[i], [one])
    for name, row in twin.players.items():
        np.testing.assert_allclose(run.state.mean[name], row.m, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(run.state.covariance[name], row.P, rtol=1e-11, atol=1e-8)


def dataset():
    names, events = np.array(["Ayr", "Bury", "Cork", "Derry", "Ely", "Fife", "Gorey", "Hull"]), points_league()
    table = {"home": names[events.player[:, 0]], "away": names[events.player[:, 1]], **events.context.columns}
    return jr.read(table, a="home", b="away", side="a", margin=list(POINTS))


def test_adapted_to_data_equals_score_what_was_scored_in_the_first_fifth():
    data = dataset()
    params = make_system_for_data("skills", {"outcome": "points"}, None, data).params
    first = [np.asarray(data.matches.context.columns[name], float)[: MATCHES // 5] for name in POINTS]
    assert params.point_rate == pytest.approx(np.mean(first))
    assert params.compression == pytest.approx(np.abs(first[0] - first[1]).mean())
    assert make_system_for_data("skills", {}, None, data).settings["outcome"] == "margin"


@pytest.mark.parametrize("compression", [None, 10.0])
def test_points_of_matches_to_come(compression, double):
    data = dataset()
    system = jr.skills(jr.parts.side(40.0), observe=jr.parts.points(*POINTS, compression=compression))
    rated = jr.rate(system, data)
    pairs = [("Ayr", "Hull"), ("Cork", "Ely")]
    found = jr.forecasts.predict_points(rated, pairs, side="a", total=205.5, lead=0.0)
    np.testing.assert_allclose(found["win"], jr.forecasts.predict_fixtures(rated, pairs, side="a")["win"], atol=2e-4)
    np.testing.assert_allclose(found["ahead"], found["win"], rtol=1e-12)
    total = found["points_a"] + found["points_b"]
    np.testing.assert_allclose(found["over"], norm.sf(205.5, total, found["total_deviation"]), rtol=1e-12)
    middle = float(found["points_a"][0] - found["points_b"][0])
    at = jr.forecasts.predict_points(rated, pairs, side="a", lead=middle)["ahead"]
    np.testing.assert_allclose(at[0], 0.5, atol=1e-12)
    if compression is None:  # attacks and defences make the points, of teams without a side
        teams = jr.history.attack_and_defence(rated)
        row = {name: i for i, name in enumerate(teams["player"].tolist())}
        level = jr.forecasts.predict_points(rated, pairs, side=None)
        for side, other in (("a", "b"), ("b", "a")):
            mine, theirs = ([row[x] for x in level[name].tolist()] for name in (side, other))
            ahead = teams["attack"][mine] - teams["defence"][theirs]
            np.testing.assert_allclose(level[f"points_{side}"], 100.0 + ahead / 25.0, atol=0.01)
