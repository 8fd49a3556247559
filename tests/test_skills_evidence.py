"""Skills that learn from statistics, margins and all evidence that data have."""

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data.measurement_noise_estimation import estimate_measurement_noise
from jaxrate.systems.system_construction_by_name import make_system_for_data
from jaxrate.testing.cases import assert_close_leaves
from tests.conftest import MOSTLY_DOUBLE
from tests.test_skills import STATISTICS, league


def test_statistics_alone_say_what_several_of_the_same_noise_say_together(double):
    """Two of one noise are as their mean with half of the variance; and results of no weight in them say less."""
    events, n = league(n=60), 60
    random = np.random.default_rng(5)
    x, y = random.normal(size=(2, n))
    events = events._replace(context=jr.extend.Context(columns={"x": x, "y": y, "mean": 0.5 * (x + y)}))
    both = jr.skills(statistics=("x", "y"), x_scale=100, y_scale=100, x_noise=200, y_noise=200)
    one = jr.skills(statistics="mean", mean_scale=100, mean_noise=200 / 2**0.5)
    assert_close_leaves(
        "the run", tuple(jax.tree.leaves(jr.run(both, events))), tuple(jax.tree.leaves(jr.run(one, events))), 1e-11
    )


@MOSTLY_DOUBLE
def test_missing_statistics_say_nothing(x64):
    events = league(n=60)
    gone = {name: np.full(60, np.nan) for name in ("games", "aces")}
    events = events._replace(context=events.context._replace(columns=gone))
    names = {"statistics": ("games", "aces"), **STATISTICS}
    found, wanted = (jr.run(jr.skills(noise=280, **more), events) for more in (names, {}))
    digits = 1e-11 if x64 else 1e-5
    assert_close_leaves("the run", tuple(jax.tree.leaves(found)), tuple(jax.tree.leaves(wanted)), digits)


@pytest.mark.parametrize(("spread", "worst"), [(0.0, 0.05), (4.0, 0.1), (10.0, 0.15)])
def test_the_noise_of_measurements_is_found_again(spread, worst):
    random, n, players = np.random.default_rng(0), 6000, 60
    strength = spread * random.normal(size=players)
    player = np.stack([random.permutation(players)[:2] for _ in range(n)])
    side = random.integers(-1, 2, n)
    value = strength[player[:, 0]] - strength[player[:, 1]] + 3.0 * side + 7.0 * random.normal(size=n)
    value[::10] = np.nan
    assert estimate_measurement_noise(value, player, side) == pytest.approx(7.0, rel=worst)
    turned = np.where(value < 0, -1, 1)[:, None]  # winners first
    order = np.where(turned > 0, player, player[:, ::-1])
    assert estimate_measurement_noise(np.abs(value), order, side * turned[:, 0]) == pytest.approx(7.0, rel=worst)
    assert (
        estimate_measurement_noise(value[:0], player[:0]) == estimate_measurement_noise(value[1:2], player[1:2]) == 0.0
    )


def test_adapted_to_data_skills_take_all_evidence():
    data = jr.data.datasets.nfl()
    home, away = (np.asarray(data.matches.context.columns[name][:3362], float) for name in data.margin)  # a fifth
    size = float(np.mean(np.abs(home - away)))
    system = make_system_for_data("skills", {}, None, data)
    assert system == jr.skills(
        "margin",
        own_side=True,
        seasons=data.seasons,
        margin=data.margin,
        experience=20,
        side_advantage=54,
        margin_scale=600 / size,
        compression=size,
    )
    early = float(np.mean(np.abs(np.asarray(home, float)[:840] - away[:840])))  # a twentieth, where the rest is scored
    assert (
        make_system_for_data("skills", {}, None, data, past_share=0.05).params.compression
        == pytest.approx(early)
        != size
    )
    assert make_system_for_data("skills", {"outcome": "win"}, None, data).params.compression is None
    given = make_system_for_data("skills", {"compression": None, "experience": None, "own_side": False}, None, data)
    assert given.params.compression is given.params.experience is given.params.own_side_growth is None
    wide = data._replace(statistics=("home_points",))  # for want of another
    noise = estimate_measurement_noise(home, data.matches.player[:3362], data.matches.context.side[:3362])
    params = make_system_for_data("skills", {}, None, wide).params
    assert params.home_points_scale == pytest.approx(300 / noise) and params.home_points_noise == 300
    bare = data._replace(events=data.matches._replace(context=jr.extend.Context()), margin=(), seasons=None)
    clocked = make_system_for_data("skills", {}, 14.0, bare)
    assert clocked == jr.skills(experience=20, reversion=3000, period=14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jr.skills("score"), "outcome must be 'win', 'logistic', 'margin', 'points' or 'goals'"),
        (lambda: jr.skills(komi=3), "skills has no parameter 'komi'"),
        (lambda: jr.skills(covariates="noise"), "rename 'noise'"),
        (lambda: jr.skills(covariates=("x", "x")), "names a column twice"),
        (lambda: jr.skills(seasons=(3, 2)), "seasons must increase"),
        (lambda: jr.skills(modifier_growth=3), "modifier_growth needs categories"),
        (lambda: jr.skills(season_keep=0.5), "season_keep needs seasons"),
        (lambda: jr.skills("logistic", draw_margin=3), "draw_margin does not go with"),
        (lambda: jr.skills(compression=3), "compression needs outcome='margin'"),
        (lambda: jr.skills("logistic", statistics="xg"), "statistics does not go with outcome='logistic'"),
        (lambda: jr.skills(statistics=("xg", "xg")), "names a column twice"),
        (lambda: jr.skills(statistics="margin"), "a statistic must be one plain word .*; rename 'margin_scale'"),
        (lambda: jr.skills(statistics="x", covariates="x_noise"), "rename 'x_noise'"),
        (lambda: jr.skills(xg_scale=3), "skills has no parameter 'xg_scale'"),
        (lambda: jr.skills(statistics="xg", xg_noise=0), "xg_noise must be > 0"),
        (lambda: jr.skills(form_reversion=30), "form_reversion needs form_deviation"),
        (lambda: jr.run(jr.skills(statistics="xg"), league()), "column 'xg' of the matches"),
        (
            lambda: jr.run(jr.skills(covariates="games"), league()),
            "column 'games' has no number, which only statistics",
        ),
        (lambda: jr.skills(own_side=1), "own_side must be True or False"),
        (lambda: jr.skills(deviation_max=100), "must not decrease"),
        (lambda: jr.skills("margin", margin=("a", "b", "c")), "one column, or two"),
        (
            lambda: jr.run(jr.skills("margin"), league()),
            "column 'margin' of the matches",
        ),
        (lambda: jr.run(jr.skills(categories=2), league()), "category 2, counting from 0"),
        (lambda: jr.run(jr.skills(categories=2), jr.matches([[0, 1]], [1])), "needs those of the matches"),
        (lambda: jr.run(jr.skills(own_side=True), jr.matches([[0, 1]], [1])), "needs the sides"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_pairs_meet_on_even_terms():
    columns = {"margin": np.array([7.0, 3.0, 10.0]), "rest": np.array([1.0, 0.0, -2.0])}
    events = jr.matches([[0, 1], [1, 2], [0, 2]], [1, 1, 1], [0.0, 1.0, 2.0], side=[1, -1, 1], columns=columns)
    system = jr.skills("margin", covariates="rest", own_side=True, rest=20, side_advantage=50)
    state = jr.run(system, events).state
    none = {name: [0.0] for name in columns}
    wanted = jr.predict(system, state, jr.matches([[0, 2]], [0.5], [2.0], side=[0], columns=none))
    found = float(jr.forecasts.predict_pairs(system, state, np.arange(3), time=2.0).probability(0, 2))
    assert found == pytest.approx(float(wanted[0]), abs=3e-4) and found > 0.55
