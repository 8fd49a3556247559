"""Predictions remade: a system learns as it did, and what it predicts goes through a map with hyperparameters.

Predictions in full: who wins, whether nobody does, the ranks, match quality; every score.

Davidson's model (1970, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments",
equation 2.5) divides an expected score p: win, draw and loss have chances in the proportion r^2 : nu r : 1. The root r
of their odds is that with which win + draw / 2 = p, the positive solution of

    r^2 (1 - p) + nu r (1/2 - p) - p = 0
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import BoundFunction, bind
from jaxrate.core.hyperparameter_definitions import check_params, make_params_class
from jaxrate.core.rules import (
    Constants,
    InferringUpdate,
    Params,
    PredictRuleProtocol,
    RandomUpdate,
    Rules,
    SizedPrepare,
    State,
)
from jaxrate.core.system import FactoryCall, RatingSystem, WrappedSystemFactory, rules_with_sizes_for_params
from jaxrate.events import Matches, Periods


class OutcomeProbabilities(NamedTuple):
    """A prediction in full: [n, 2] for both players of matches, [P] for the team of each participant of rounds."""

    win: Array  # the probability that it beats every other team by more than the margin
    draw: Array  # the probability that no team does; of a match, that it is drawn
    rank: Array  # the expected rank among the teams, from 1; a draw is half a place
    quality: Array  # match quality: the density of a draw of all, relative to equals whose skills are known


def davidson_outcome_probabilities(expected_score: Array, draw_odds: Array) -> OutcomeProbabilities:
    """Win, draw and loss with these expected scores [...] of the first player, and these odds of a draw of equals.

    1 / r of the better player is the root that loses no digits, and it is at most 1.
    """
    expected_score = jnp.clip(expected_score, 0.0, 1.0)
    ahead = expected_score >= 0.5
    more, less = (
        jnp.where(ahead, expected_score, 1.0 - expected_score),
        jnp.where(ahead, 1.0 - expected_score, expected_score),
    )
    lean = draw_odds * (more - 0.5)
    root = 2.0 * less / (lean + jnp.sqrt(lean * lean + 4.0 * more * less))
    both = 1.0 + draw_odds * root + root * root
    better, worse, draw = 1.0 / both, root * root / both, draw_odds * root / both
    win = jnp.stack([jnp.where(ahead, better, worse), jnp.where(ahead, worse, better)], axis=-1)
    even = draw * ((2.0 + draw_odds) / draw_odds)
    draw, even = (jnp.stack([x, x], axis=-1) for x in (draw, even))
    return OutcomeProbabilities(win, draw, 2.0 - win - 0.5 * draw, even)


def scores_or_score_probabilities(prediction: Any) -> Any:
    """Expected scores [...], or probabilities [..., K]; of `OutcomeProbabilities`, of loss, draw and win."""
    if isinstance(prediction, OutcomeProbabilities):
        return jnp.stack([prediction.win[..., 1], prediction.draw[..., 0], prediction.win[..., 0]], axis=-1)
    return prediction


def expected_score_from_prediction(prediction: Any) -> Any:
    """[n] of player 0, from predictions of matches in any form: these, those of an outlook, or [n, K] of each score."""
    if isinstance(prediction, OutcomeProbabilities):
        if prediction.win.ndim != 2:
            raise ValueError("this outlook is of rounds, which have no expected scores")
        return prediction.win[:, 0] + 0.5 * prediction.draw[:, 0]
    if getattr(prediction, "ndim", 1) != 2:
        return prediction
    last = prediction.shape[1] - 1
    return sum(prediction[:, k] * (k / last) for k in range(1, last + 1))


SystemWrapper = Callable[..., RatingSystem]  # of a system and of further hyperparameters, by name


class InnerSystem(NamedTuple):
    """The parts of the system whose predictions are remade."""

    space: Params
    init: Callable[[Params, int], State]
    summary: Callable[[Params, State], Any]
    rules: Rules
    wrappers: tuple[str, ...]  # what its predictions go through, in order: "calibrated", "outlook"

    def select_params(self, params: Params) -> Params:
        """Its hyperparameters among these."""
        return type(self.space)(*(getattr(params, name) for name in self.space._fields))


class OwnDrawPredictRule(NamedTuple):
    """A rule that predicts in full, by draws that are the system's own."""

    rule: PredictRuleProtocol

    def __call__(self, constants: Constants, rows: State, event: Any) -> Any:
        return self.rule(constants, rows, event)


def wrapper_names(system: RatingSystem) -> tuple[str, ...]:
    """The names of the wrappers around the predictions of a system, in order: "calibrated", "outlook"."""
    rule = system.rules.predict
    if isinstance(rule, OwnDrawPredictRule):
        return ("outlook",)
    inner = rule.bound_args[0] if isinstance(rule, BoundFunction) and rule.bound_args else None
    return inner.wrappers if isinstance(inner, InnerSystem) else ()


def unwrap_predictions(system: RatingSystem) -> RatingSystem:
    """The system whose predictions are remade, by a rule of its own; others stay as they are."""
    rule: Any = system.rules.predict
    while isinstance(rule, BoundFunction) and isinstance(inner := (*rule.bound_args, None)[0], InnerSystem):
        params = inner.select_params(system.params)
        system = system._replace(
            params=params, space=inner.space, init=inner.init, rules=inner.rules, summary=inner.summary
        )
        rule = inner.rules.predict
    return system._replace(rules=system.rules._replace(predict=getattr(rule, "rule", rule)))


class WrappedConstants(NamedTuple):
    """The constants of remade predictions."""

    inner: Constants
    params: Params  # all of them
    newcomer: Array  # the rating of one


WRAPPER_KEYS = {"add_outcomes": "outlook", "calibrate": "calibrated"}  # what saved runs call the wrappers
WrappedPredict = Callable[[InnerSystem, WrappedConstants, State, Any], Any]


def wrap_predictions(
    system: RatingSystem,
    wrapper: SystemWrapper,
    extra_params: Params,
    extra_space: Params,
    predict: WrappedPredict,
    with_rounds: bool,
) -> RatingSystem:
    """A system that predicts what `predict` makes of its rows, and has these hyperparameters besides.

    Args:
      wrapper: what remakes it so; its name is added to those that the predictions go through.
      extra_params, extra_space: values of the further hyperparameters, and what they mean.
      with_rounds: whether `predict` takes rounds as well, if the system rates them.

    Raises:
      ValueError: if the system rates no events that `predict` takes, was remade so before, has a hyperparameter of such
        a name, or if a value is out of range.
    """
    name, kinds = wrapper.__name__, tuple(kind for kind in system.events if kind in (Matches, Periods))
    if not kinds and not with_rounds:
        raise ValueError(f"{name} is of matches, which {system.name} does not rate")
    check_not_wrapped(system, name)
    for field in extra_params._fields:
        if field in system.params._fields:
            raise ValueError(f"{name}: {system.name} has a hyperparameter {field} of its own")
    extra_params, params_class = (
        check_params(name, extra_params, extra_space),
        make_params_class((*system.params._fields, *extra_params._fields)),
    )
    rules, wrappers = system.rules, (*wrapper_names(system), WRAPPER_KEYS[name])
    inner = InnerSystem(system.space, system.init, system.summary, rules, wrappers)
    return system._replace(
        params=params_class(*system.params, *extra_params),
        space=params_class(*system.space, *extra_space),
        events=system.events if with_rounds else kinds,
        init=bind(_call_with_inner_params, system.init, inner),
        rules=Rules(
            _wrap_prepare(inner),
            bind(_advance_inner, rules.advance),
            bind(predict, inner),
            _wrap_update(rules.update),
        ),
        summary=bind(_call_with_inner_params, system.summary, inner),
        make=make_wrapped_factory_call(system, wrapper, extra_params._fields),
    )


def check_not_wrapped(system: RatingSystem, wrapper_name: str) -> None:
    """ValueError if its predictions were remade so before, or are in full already."""
    for known in (wrapper_name, "add_outcomes"):
        if WRAPPER_KEYS[known] in wrapper_names(system):
            raise ValueError(
                f"this {system.name} is one of jr.forecasts.{known} already; take {wrapper_name} of the system before "
                "that"
            )


def make_wrapped_factory_call(
    system: RatingSystem, wrapper: SystemWrapper, wrapper_param_names: tuple[str, ...]
) -> FactoryCall | None:
    """The call that makes the system and wraps it; the wrapper takes the hyperparameters of these names."""
    if system.factory is None:
        return None
    factory: Any = WrappedSystemFactory(wrapper, wrapper_param_names, system.factory)
    return FactoryCall(factory, tuple(system.settings.items()))


def _call_with_inner_params(function: Callable[..., Any], inner: InnerSystem, params: Params, *args: Any) -> Any:
    return function(inner.select_params(params), *args)


def _prepare_wrapped_constants(inner: InnerSystem, params: Params) -> WrappedConstants:
    own = inner.select_params(params)
    return WrappedConstants(inner.rules.prepare(own), params, inner.summary(own, inner.init(own, 1)).mean[0])


def _wrap_prepare(inner: InnerSystem) -> Any:
    plain = bind(_prepare_wrapped_constants, inner)
    return (
        SizedPrepare(plain, bind(_bind_sized_prepare, inner))
        if isinstance(inner.rules.prepare, SizedPrepare)
        else plain
    )


def _bind_sized_prepare(inner: InnerSystem, params: Params) -> Any:
    return bind(
        _prepare_wrapped_constants,
        inner._replace(rules=rules_with_sizes_for_params(inner.rules, inner.select_params(params))),
    )


def _wrap_update(update: Any) -> Any:
    if isinstance(update, RandomUpdate):
        return update._replace(update=bind(_update_inner, update.update))
    if isinstance(update, InferringUpdate):
        return InferringUpdate(*(bind(_update_inner, rule) for rule in update))
    return bind(_update_inner, update)


def _advance_inner(advance: Any, constants: WrappedConstants, rows: State, time: Array) -> State:
    return advance(constants.inner, rows, time)


def _update_inner(update: Any, constants: WrappedConstants, rows: State, event: Any, *drawn: Any) -> State:
    return update(constants.inner, rows, event, *drawn)
