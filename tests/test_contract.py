"""The suite that every system must pass. To add a system, add a line to SYSTEMS.

A system of matches or periods that is not part of jaxrate is tested in place of all others: with `make()` in
`my_module.py`, which returns it, by `JAXRATE_SYSTEM=my_module:make PYTHONPATH=. pytest tests/test_contract.py`.
"""

import os
import pkgutil
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.replay.compiling import compiled
from jaxrate.replay.run import _levels, _stream
from jaxrate.replay.schedule import plan
from tests.conftest import quick

SYSTEMS = {
    "elo": jr.elo(side_advantage=20),
    "elo_fide": jr.elo(k=20, k_new=40, new_games=10.25, limit=400),
    "glicko": jr.glicko(side_advantage=20),
    "glicko2": jr.glicko2(side_advantage=20, tau=0.8),
    "glicko2_bounded": jr.glicko2(volatility_max=0.1, volatility_min=0.01, deviation_min=45, deviation_max=500),
    "category_glicko": jr.category_glicko(side_advantage=20, deviation_max=300, modifier_deviation_max=250),
    "category_glicko_site": jr.category_glicko(
        3, "logistic", "map", side_advantage=20, deviation_max=300, modifier_deviation_max=250
    ),
    "trueskill": jr.trueskill(side_advantage=2.0, drift=0.5, draw_probability=0.3),
    "weng_lin": jr.weng_lin(side_advantage=2.0, drift=0.5),
    "blat_mmr": jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.4, side_advantage=20),
    "blat_mmr_fft": jr.blat_mmr("trueskill(0.1)", 31, 3.0, algorithm="fft", kernel_width=0.4, beta=0.9),
    "blat_mmr_laplace": jr.blat_mmr("laplace", 15, 3.0, "laplace", "laplace", "outside", kernel_width=0.9),
    "urnings": jr.urnings(outcomes=3, size=30),
    "urnings_paper": jr.urnings(outcomes=3, weights=(1, 2.5, 1), variant="U1"),
    "blat_mmr_own": jr.blat_mmr(support=np.linspace(-2, 2, 9) ** 3, kernel="gaussian_by_time", temperature=1.5),
}
if own := os.environ.get("JAXRATE_SYSTEM"):
    SYSTEMS = {"mine": pkgutil.resolve_name(own)()}
FORMS = ["stream", "levels", "periods"]
pytestmark = pytest.mark.usefixtures("in_a_hurry")
PLAYERS = 23
# Their rounding depends on the width of a step: by multiplying and adding at once, or by products of matrices.
ROUNDED = {"trueskill", "blat_mmr"}
LONG = {"category_glicko", "trueskill", "weng_lin", "blat_mmr"}  # to compile
DRAWN = {
    "carrying_on": "a second run draws other numbers",
    "neither_its_result": "by chance one result may move the same balls as another",
    "swapping": "the same numbers say something else of players in another order",
    "finite_differences": "balls move in jumps, whose derivative is not that of their mean",
}


def league(n=400, players=PLAYERS, seed=0):
    random = np.random.default_rng(seed)
    first = random.integers(0, players, n)
    player = np.stack([first, (first + random.integers(1, players, n)) % players], 1)
    return jr.matches(
        player,
        random.integers(0, 3, n) / 2,
        np.sort(random.uniform(0, 100, n)),
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0], n),
        category=random.integers(0, 3, (n, 2)),
    )


def head(matches, n):
    return jax.tree.map(lambda x: x[:n], matches)


def options(system):
    """What `jr.run` needs."""
    return {} if system.rules.draw is None else {"key": jax.random.key(0)}


def whole(system, matches):
    """The matches, each counting as one if the system can only take such."""
    return matches._replace(context=matches.context._replace(weight=None)) if system.name == "urnings" else matches


def run(system, matches, form, length=5.0, **more):
    matches, more = whole(system, matches), options(system) | more
    if form == "periods":
        return jr.run(system, jr.periods(matches, length), **more)
    return jr.run(system, matches, schedule=form, **more)


def equal(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def near(a, b, rtol):
    """Vectors by their largest entry: the tails of a belief have no digits of their own."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        vectors = np.ndim(x) > 1 and x.shape[-1] > 2
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.abs(x).max() if vectors else 1e-30)


def same(system, a, b):
    """To the bit, if the order of operations is fixed."""
    if system.name in ROUNDED:
        near(a, b, 1e-11 if jnp.result_type(float) == jnp.float64 else 1e-4)
    else:
        equal(a, b)


@pytest.fixture(params=SYSTEMS.values(), ids=SYSTEMS)
def system(request):
    form = request.node.callspec.params.get("form")
    if form == "periods" and Periods not in request.param.events:
        pytest.skip(f"{request.param.name} does not rate periods")
    one_by_one = any(
        test in request.node.name for test in ("stream_equals_levels", "of_one_match", "no_state_sized_copy")
    )
    if Matches not in request.param.events and (form in ("stream", "levels") or one_by_one):
        pytest.skip(f"{request.param.name} does not rate single matches")
    for test, reason in DRAWN.items():
        if request.param.rules.draw is not None and test in request.node.name:
            pytest.skip(reason)
    double = request.node.callspec.params.get("x64")
    if double and request.param.name in LONG and "stream_equals_levels" not in request.node.name:
        pytest.skip("long to compile: here in float32, and its numbers in both precisions in a file of its own")
    return request.param


def test_stream_equals_levels_to_the_bit(system, x64, monkeypatch):
    if not (x64 and system.name in ROUNDED):
        monkeypatch.undo()  # as compiled for users: in a hurry XLA would round the two differently
    matches, more = whole(system, league(3000, 60)), options(system)
    stream = jr.run(system, matches, schedule="stream", **more)
    for width in (None, 1, 7, 64):
        schedule = jr.by_level(matches, width)
        same(system, stream, jr.run(system, matches, schedule=schedule, **more))
    same(system, stream, jr.run(system, matches, **more))


@pytest.mark.parametrize("form", FORMS)
def test_jit_equals_eager(system, x64, form):
    matches = head(league(), 6)
    jitted = run(system, matches, form)
    with jax.disable_jit():
        near(run(system, matches, form), jitted, 1e-12 if x64 else 2e-5)


@pytest.mark.parametrize("form", FORMS)
def test_state_is_finite_and_predictions_are_probabilities(system, x64, form):
    result = run(system, league(), form)
    assert all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(result.state))
    assert result.prediction.shape == (400,)
    assert bool(((result.prediction > 0) & (result.prediction < 1)).all())


@pytest.mark.parametrize("form", FORMS)
def test_carrying_on_equals_one_run(system, form):
    matches = league()
    half = int(np.searchsorted(matches.time, 50.0))
    first = run(system, head(matches, half), form, num_players=PLAYERS)
    second = run(system, jax.tree.map(lambda x: x[half:], matches), form, state=first.state)
    whole = run(system, matches, form)
    same(system, whole.state, second.state)
    same(system, whole.prediction, jnp.concatenate([first.prediction, second.prediction]))


@pytest.mark.parametrize("form", FORMS)
def test_untouched_rows_are_inert(system, form):
    matches = league()
    small, large = run(system, matches, form), run(system, matches, form, num_players=PLAYERS + 9)
    equal(small.state, jax.tree.map(lambda x: x[:PLAYERS], large.state))
    equal(system.init(system.params, 9), jax.tree.map(lambda x: x[PLAYERS:], large.state))


@pytest.mark.parametrize("form", FORMS)
def test_prediction_knows_neither_its_result_nor_the_future(system, form):
    matches = league()
    # The second result differs from the first in the last match, which is alone in its period.
    time = np.append(matches.time[:-1], 1000.0)
    one, other = (matches._replace(score=np.append(matches.score[:-1], s), time=time) for s in (0.0, 1.0))
    one, other = run(system, one, form), run(system, other, form)
    equal(one.prediction, other.prediction)
    last = matches.player[-1]
    rating = [np.asarray(jr.ratings(system, r.state).mean)[last] for r in (one, other)]
    assert rating[1][0] > rating[0][0] and rating[1][1] < rating[0][1]


@pytest.mark.parametrize("form", FORMS)
def test_swapping_the_players_of_every_match_changes_nothing(system, x64, form):
    matches = league()
    context = matches.context._replace(side=-matches.context.side, category=matches.context.category[:, ::-1])
    swapped = matches._replace(player=matches.player[:, ::-1], score=1 - matches.score, context=context)
    one, other = run(system, matches, form), run(system, swapped, form)
    near(one.state, other.state, 1e-10 if x64 else 1e-4)
    near(one.prediction, 1 - other.prediction, 1e-10 if x64 else 1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_renaming_the_players_renames_the_rows(system, form, x64):
    matches, name = league(), np.random.default_rng(1).permutation(PLAYERS)
    one = run(system, matches, form)
    other = run(system, matches._replace(player=name[matches.player].astype(np.int32)), form)
    near(one.state, jax.tree.map(lambda x: x[name], other.state), 1e-10 if x64 else 1e-4)


def loss(system, matches, form, params):
    """Something that depends on every prediction and on the whole final state."""
    result = run(system, matches, form, 25.0, params=params)
    rating = jr.ratings(system, result.state, time=130.0, params=params)
    log = jnp.where(jnp.asarray(matches.score, float) > 0.4, jnp.log(result.prediction), jnp.log1p(-result.prediction))
    spread = 0.0 if rating.deviation is None else jnp.mean(rating.deviation)
    return -jnp.mean(log) + 1e-3 * jnp.mean(rating.mean * jnp.linspace(0.0, 1.0, PLAYERS)) + 1e-2 * spread


@pytest.mark.parametrize("form", FORMS)
def test_gradients_equal_finite_differences(system, form):
    """Every hyperparameter, forward and reverse, with padding present (23 players in steps of at least 8 matches)."""
    if system.name in LONG and form == "stream":
        pytest.skip("the same rules as in levels, and long to compile")
    matches = league(120)
    with jax.enable_x64(True):
        params = jax.tree.map(lambda x: jnp.asarray(x, float), system.params)

        def f(params):
            return loss(system, matches, form, params)

        reverse, forward = quick(lambda p: (jax.grad(f)(p), jax.jacfwd(f)(p)))(params)
        for name in params._fields:
            value = getattr(params, name)
            if value is None:
                continue
            h = 1e-5 * max(abs(float(value)), 1.0) if "volatility" not in name else 1e-7
            low, high = (f(params._replace(**{name: value + sign * h})) for sign in (-1, 1))
            slope = float((high - low) / (2 * h))
            scale = max(abs(slope), 1e-4)
            assert abs(float(getattr(forward, name)) - slope) < 2e-4 * scale, name
            assert abs(float(getattr(reverse, name)) - slope) < 2e-4 * scale, name


@pytest.mark.parametrize("form", FORMS)
def test_gradients_in_float32_are_finite(system, form):
    if system.name in LONG and form == "stream":
        pytest.skip("the same rules as in levels, and long to compile")
    slope = quick(jax.jacfwd(lambda p: loss(system, league(120), form, p)))(jax.tree.map(jnp.asarray, system.params))
    assert all(bool(jnp.isfinite(x)) for x in jax.tree.leaves(slope))


@pytest.mark.parametrize("form", FORMS)
def test_vmap_over_parameters(system, x64, form):
    matches, field = league(150), system.params._fields[0]
    factors = [0.5, 0.75, 1.0] if getattr(system.space, field).space == "unit" else [0.5, 1.0, 2.0]
    values = jnp.asarray(getattr(system.params, field)) * jnp.array(factors)
    system_params = jax.tree.map(jnp.asarray, system.params)

    def rate(x):
        return run(system, matches, form, params=system_params._replace(**{field: x}))

    together = jax.vmap(rate)(values)
    for i, x in enumerate(values):
        near(jax.tree.map(lambda leaf: leaf[i], together), rate(x), 1e-10 if x64 else 1e-4)  # noqa: B023


def test_a_period_of_one_match_is_that_match(system, x64):
    if Periods not in system.events:
        pytest.skip(f"{system.name} does not rate periods")
    if "match_periods" in system.params._fields:
        system = system._replace(params=system.params._replace(match_periods=1.0))
    matches = league(150)._replace(time=np.zeros(150))
    ragged = jr.periods(matches, period=np.arange(150))
    still = ragged._replace(events=ragged.events._replace(time=np.zeros(150)))  # no time between the periods either
    one, other = jr.run(system, matches), jr.run(system, still)
    if "time" in one.state._fields:
        one, other = (r._replace(state=r.state._replace(time=0.0)) for r in (one, other))
    near(one, other, 1e-10 if x64 else 1e-4)


@pytest.mark.parametrize("schedule", ["stream", "levels"])
@pytest.mark.parametrize("x64_", [False, True], ids=["float32", "float64"])
def test_no_state_sized_copy_inside_the_loop(system, schedule, x64_):
    """XLA must not copy a leaf of the state at every step: a match would cost more, the more players there are."""
    players = 7919
    with jax.enable_x64(x64_):
        arranged, key = plan(whole(system, league(500, 60)), schedule), options(system).get("key")
        state = system.init(system.params, players)
        replay = _stream if schedule == "stream" else _levels
        arguments = system.params, state, arranged.events, arranged.number, key
        lowered = compiled(replay, system.params, state, key).lower(system.rules, 500, *arguments)
        text = lowered.compile().as_text()
    inner = text[: text.index("ENTRY")]
    assert re.search(rf"\[{players}[,\]]", inner), "the loop does not hold the state: the test looks in the wrong place"
    assert not re.findall(rf"= \S*\[{players}[,\]]\S* copy\(", inner)


def test_events_of_another_kind_are_refused(system):
    others = {Periods: jr.periods(league(5), 5.0), Rounds: jr.rounds([0, 0], [0, 1], [1, 2])}
    kinds = " or ".join(kind.__name__ for kind in system.events)
    for other in others.keys() - {*system.events}:
        with pytest.raises(ValueError, match=f"{system.name} rates {kinds}, not {other.__name__}"):
            jr.run(system, others[other])


def test_parameters_are_described(system):
    assert system.params._fields == system.space._fields
    for parameter in system.space:
        assert parameter.space in ("real", "positive", "unit", "fixed")
        assert parameter.meaning and parameter.unit
