"""Systems are plain values: equal if made alike, hashed, pickled, copied, printed in a line, and explained by help."""

import copy
import inspect
import pickle
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.factory_hyperparameters import collect_params
from jaxrate.core.hashable_functions_and_arrays import bind, hashable_array
from jaxrate.core.hyperparameter_definitions import (
    MAYBE_POSITIVE,
    NOT_NEGATIVE,
    POSITIVE,
    HyperparameterRange,
    Parameter,
    check_params,
)
from jaxrate.core.rules import RandomUpdate
from jaxrate.core.system import FactoryCall, replace_params, system_factory


def narrower(x, y, slope=0.2):
    return jnp.exp(-0.5 * ((y - x) / (0.1 - 0.01 * slope * x)) ** 2)


def flat(x, level=1.0):
    return level + 0.0 * x


SUPPORT = np.linspace(-1.0, 1.0, 5)
MAKERS = {
    **jr.extend.SYSTEMS,
    "variant": lambda: jr.trueskill(sweeps=3, tau=0.1),
    "outlook": lambda: jr.forecasts.add_outcomes(jr.trueskill(sweeps=3)),
    "support": lambda: jr.blat_mmr(
        luck=jr.extend.luck.trueskill(0.1), support=SUPPORT, algorithm="naive", kernel="none"
    ),
    "matrix": lambda: jr.blat_mmr(
        luck=jr.extend.luck.matrix(SUPPORT, np.full((5, 5), 0.5)), support=SUPPORT, kernel="none"
    ),
    "functions": lambda: jr.blat_mmr(kernel=jr.extend.kernels.Kernel(narrower), prior=flat, slope=0.1),
    "table": lambda: jr.blat_mmr(support=SUPPORT, kernel=jr.extend.kernels.Kernel(np.eye(5)), prior=np.ones(5)),
    "evidence": lambda: jr.history.blat_mmr_beliefs.make_evidence_predicting_system(jr.blat_mmr()),
    "limits": lambda: jr.elo_mmr(beta=200, gamma=np.float32(20), newcomer=[0.5]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_systems_made_alike_are_equal(name):
    one = MAKERS[name]()
    for _ in range(150):  # nothing hangs on what a cache still holds
        jr.trueskill(sweeps=2 + _)
    two = MAKERS[name]()
    assert one == two and hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one
    call = f"add_outcomes({one.name}(" if name == "outlook" else f"{one.name}("
    assert "\n" not in repr(one) and repr(one).startswith(call) and "object at" not in repr(one)
    assert replace_params(one, one.params) == one


def test_systems_made_otherwise_differ():
    systems = [make() for make in MAKERS.values()]
    assert len(set(systems)) == len(systems)
    assert jr.extend.luck.trueskill(0.1) != jr.extend.luck.trueskill(0.2)
    assert hashable_array(SUPPORT) != hashable_array(2.0 * SUPPORT) and np.array_equal(
        np.asarray(hashable_array(SUPPORT)), SUPPORT
    )
    assert bind(min, 1, 2)() == 1 and bind(min, 1) != bind(max, 1)


def test_a_run_is_carried_on_after_many_other_settings():
    data = jr.read({"a": ["Ada", "Bo"], "b": ["Bo", "Cy"], "score": [1.0, 0.5], "time": [0, 1]})
    rated = jr.rate(jr.trueskill(sweeps=3), data)
    for sweeps in range(4, 150):
        jr.trueskill(sweeps=sweeps)
    later = jr.read({"a": ["Ada"], "b": ["Cy"], "score": [1.0], "time": [2]}, players=rated.players)
    assert len(jr.rate(jr.trueskill(sweeps=3), later, onto=rated).predictions) == 3


@pytest.mark.parametrize("number", [20, 20.0, np.float32(20), np.int64(20), np.array(20.0), jnp.float32(20)])
def test_hyperparameters_are_any_real_number(number):
    assert jr.elo(k=number) == jr.elo(k=20.0)
    assert type(jr.elo(k=number).params.k) is float


@pytest.mark.parametrize("wrong", [True, np.bool_(True), "20", None, [20.0], np.ones(1), np.nan, np.inf, -1, 20j])
def test_other_values_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^elo: k must be (>= 0|a number), got "):
        jr.elo(k=wrong)


def test_ranges_are_values_of_ones_own():
    even = HyperparameterRange("whole, from 2", low=2.0, whole=True)
    space = type(jr.codeforces().params)(*[Parameter(even, "1", "an example", fitted=False)] * 3)
    assert check_params("mine", space._replace(beta=2, weight=4, initial_rating=6), space) == (2.0, 4.0, 6.0)
    with pytest.raises(ValueError, match=r"^mine: weight must be whole, from 2, got 2.5$"):
        check_params("mine", space._replace(beta=2, weight=2.5, initial_rating=6), space)
    assert [x for x in (-1.0, 0.0, 0.5, 1.0, np.inf) if jr.topcoder().space.weight_new.range.allows(x)] == [0.5]
    assert jr.elo_mmr().space.rho.range.allows(np.inf) and not jr.elo().space.k.range.allows(np.inf)


def test_bounds_are_declared_and_kept():
    for space in (make().space for make in jr.extend.SYSTEMS.values()):
        bounds = [x for about in space for x in about.bounds if x is not None]
        assert set(bounds) <= set(space._fields)
    message = "glicko2: volatility_min, initial_volatility and volatility_max must not decrease"
    with pytest.raises(ValueError, match=message):
        jr.glicko2(volatility_min=0.1, volatility_max=0.2)


@pytest.mark.parametrize("name", jr.extend.SYSTEMS)
def test_factories_say_what_their_parameters_are(name):
    """To an editor by the signature, to `help` by the docstring: default, meaning, unit and range."""
    make, system = jr.extend.SYSTEMS[name], jr.extend.SYSTEMS[name]()
    parameters = inspect.signature(make).parameters
    text = " ".join(inspect.getdoc(make).split())
    for key, parameter in parameters.items():
        assert parameter.kind is not parameter.VAR_KEYWORD or f"{key}: hyperparameters of " in text
    for field, value, about in zip(system.params._fields, system.params, system.space, strict=True):
        assert parameters[field].default in (value, None)
        unit = "" if about.unit == "1" else f"{about.unit}, "
        assert f"{field}: {about.meaning} ({unit}{about.range})." in text
        assert parameters[field].annotation in (float, float | None)
    with pytest.raises(ValueError, match=rf"^{name} has no parameter 'colour'"):
        make(colour=3)


@system_factory
def leaning(
    side: bool = True,
    *,
    k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "how fast ratings move")] = 20.0,
    lean: Annotated[float | None, Parameter(MAYBE_POSITIVE, "1", "whatever", if_none="7, or so", fitted=False)] = None,
):
    """An example.

    Args:
      side: a setting.

    Raises:
      ValueError: for bad values.
    """
    params, space = collect_params(leaning, locals(), {"more": (1.0, Parameter(POSITIVE, "1", "as asked"))})
    return jr.elo()._replace(params=params, space=space, make=FactoryCall(leaning, (("side", side),)))


def test_a_hyperparameter_is_written_once():
    """In the signature: its class, space, checks and documentation follow."""
    system = leaning(k=np.float32(3))
    assert repr(system.params) == "Params(k=3.0, lean=None, more=1.0)" and system.space.k.range is NOT_NEGATIVE
    assert pickle.loads(pickle.dumps(system.params)) == system.params
    assert [about.space for about in system.space] == ["positive", "fixed", "positive"]
    with pytest.raises(ValueError, match=r"^leaning: k must be >= 0, got -1$"):
        leaning(k=-1)
    assert inspect.getdoc(leaning).partition("Args:\n")[2] == (
        "  side: a setting.\n"
        "  k: how fast ratings move (points, >= 0).\n"
        "  lean: whatever (> 0 or None). None: 7, or so. Not fitted.\n\n"
        "Raises:\n  ValueError: for bad values."
    )
    assert str(inspect.signature(leaning)) == "(side: bool = True, *, k: float = 20.0, lean: float | None = None)"


def test_outlooks_are_made_anew_as_outlooks():
    system = jr.forecasts.add_outcomes(jr.trueskill())
    again = replace_params(system, system.params._replace(tau=0.2))
    assert again == jr.forecasts.add_outcomes(jr.trueskill(tau=0.2))
    rules = jr.elo().rules
    mine = jr.elo()._replace(rules=rules._replace(update=RandomUpdate(rules.update, jax.random.normal)))
    assert replace_params(mine, mine.params._replace(k=3.0)).rules == mine.rules


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: jr.trueskill(sweeps=x), "trueskill: sweeps must be a whole number from 1 to 10000"),
        (lambda x: jr.elo_mmr(history=x), "elo_mmr: history must be a whole number from 1 to 10000"),
        (lambda x: jr.category_glicko(x), "category_glicko: categories must be a whole number from 1 to 1000"),
        (lambda x: jr.urnings(outcomes=x), "urnings: outcomes must be a whole number from 2 to 101"),
    ],
)
@pytest.mark.parametrize("count", [0, True, 2.5, 3_000_000_000, 1 << 70])
def test_counts_that_no_memory_holds_are_refused(make, message, count):
    with pytest.raises(ValueError, match=message):
        make(count)


def test_hyperparameters_out_of_range_are_refused_by_run_and_predict():
    system, matches = jr.elo(), jr.matches([[0, 1]], [1.0])
    params = system.params._replace(k=-5.0)
    with pytest.raises(ValueError, match="elo: k must be"):
        jr.run(system, matches, params=params)
    with pytest.raises(ValueError, match="elo: k must be"):
        jr.predict(system, system.init(system.params, 2), matches, params=params)
