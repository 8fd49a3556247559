"""Predictions remade: a system learns as it did, and what it predicts goes through a map with hyperparameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxrate.events import Array, Matches, Periods
from jaxrate.parameters import checked, params_of
from jaxrate.plain import bind
from jaxrate.system import Constants, Params, RatingSystem, Rules, State

Remake = Callable[..., RatingSystem]  # of a system and of further hyperparameters, by name


class Inner(NamedTuple):
    """What is kept of the system whose predictions are remade."""

    space: Params
    init: Callable[[Params, int], State]
    summary: Callable[[Params, State], Any]
    rules: Rules

    def own(self, params: Params) -> Params:
        """Its hyperparameters among these."""
        return type(self.space)(*(getattr(params, name) for name in self.space._fields))


class Remade(NamedTuple):
    """The constants of remade predictions."""

    inner: Constants
    params: Params  # all of them
    newcomer: Array  # the rating of one


Guess = Callable[[Inner, Remade, State, Matches | Periods], Any]


def remake(system: RatingSystem, way: Remake, given: Params, space: Params, guess: Guess) -> RatingSystem:
    """A system of matches that predicts what `guess` makes of its rows, and has these hyperparameters besides.

    Args:
      way: what remakes it so; its name is added to those of the system's traits.
      given, space: values of the further hyperparameters, and what they mean.

    Raises:
      ValueError: if the system rates no matches, was remade so before, has a hyperparameter of such a name, or if a
        value is out of range.
    """
    name, kinds = way.__name__, tuple(kind for kind in system.events if kind in (Matches, Periods))
    if not kinds:
        raise ValueError(f"{name} is of matches, which {system.name} does not rate")
    check_once(system, name)
    for field in given._fields:
        if field in system.params._fields:
            raise ValueError(f"{name}: {system.name} has a hyperparameter {field} of its own")
    given, made = checked(name, given, space), params_of((*system.params._fields, *given._fields))
    inner, rules = Inner(system.space, system.init, system.summary, system.rules), system.rules
    return system._replace(
        params=made(*system.params, *given),
        space=made(*system.space, *space),
        events=kinds,
        init=bind(_of_own, system.init, inner),
        rules=Rules(
            bind(_prepare, inner),
            bind(_advance, rules.advance),
            bind(guess, inner),
            bind(_update, rules.update),
            rules.draw,
            None if rules.sized is None else bind(_sized, inner),
        ),
        summary=bind(_of_own, system.summary, inner),
        clocked=bind(_of_own, system.clocked, inner),
        settled=bind(_of_own, system.settled, inner),
        traits=system.traits._replace(outlook=None, margin_loss=None, infer=None, remade=(*system.traits.remade, name)),
        make=None if system.make is None else bind(anew, way, given._fields, system.make),
    )


def check_once(system: RatingSystem, name: str) -> None:
    """ValueError if its predictions were remade so before, or are in full already."""
    for known in (name, "outlook"):
        if known in system.traits.remade:
            raise ValueError(f"this {system.name} is one of jr.{known} already; take {name} of the system before that")


def anew(way: Remake, fields: tuple[str, ...], make: Callable[..., RatingSystem], **changes: Any) -> RatingSystem:
    """What a factory makes, remade; the way takes the hyperparameters of these names."""
    mine = {name: changes.pop(name) for name in fields if name in changes}
    return way(make(**changes), **mine)


def _of_own(function: Callable[..., Any], inner: Inner, params: Params, *args: Any) -> Any:
    return function(inner.own(params), *args)


def _prepare(inner: Inner, params: Params) -> Remade:
    own = inner.own(params)
    return Remade(inner.rules.prepare(own), params, inner.summary(own, inner.init(own, 1)).mean[0])


def _sized(inner: Inner, params: Params) -> Any:
    assert inner.rules.sized is not None
    return bind(_prepare, inner._replace(rules=inner.rules._replace(prepare=inner.rules.sized(inner.own(params)))))


def _advance(advance: Any, constants: Remade, rows: State, time: Array) -> State:
    return advance(constants.inner, rows, time)


def _update(update: Any, constants: Remade, rows: State, event: Any, key: Any) -> State:
    return update(constants.inner, rows, event, key)
