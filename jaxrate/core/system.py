"""What a rating system is: its rules (see `rules`), its hyperparameters, and the call that makes it."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Signature, signature
from typing import Any, NamedTuple, ParamSpec

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import (
    HUGE_COUNT,
    check_argument,
    check_count,
    check_not_traced,
    is_traced,
    signature_of_types,
)
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import display_name
from jaxrate.core.hyperparameter_definitions import RELATIVE_TOLERANCE, add_hyperparameters_to_docstring, collect_params
from jaxrate.core.mean_reversion import fill_season_defaults, parse_season_starts
from jaxrate.core.pairwise_rules import PairwiseRules, make_pairwise_rules
from jaxrate.core.rules import Params, Rating, State
from jaxrate.core.text_format import did_you_mean_or_list
from jaxrate.events import Matches, Periods, Ragged, Rounds


def accept_any_events(_events: Any) -> None:
    """The check of events of a system that takes all: it refuses none."""


def check_event_type(system_name: str, accepted_types: tuple[type, ...], events: Any) -> None:
    """ValueError unless the system rates such events; of `Ragged` ones the type that they hold counts."""
    is_bare = isinstance(events, (Periods, Rounds))
    events = events.events if isinstance(events, Ragged) else events
    kind = events if isinstance(events, type) else type(events)
    if kind not in accepted_types or is_bare:
        hints: dict[type, str] = {
            Rounds: "; jr.elo_mmr() and jr.skills() rate contests, and others that `jaxrate systems` shows"
        }
        if accepted_types == (Periods,):
            hints[Matches] = "; group them by periods(matches, length), or give `rate` a period"
        hint = "; they come as jr.periods and jr.rounds make them" if is_bare else hints.get(kind, "")
        accepted = " or ".join(x.__name__ for x in accepted_types)
        raise ValueError(f"{system_name} rates {accepted}, not {kind.__name__}{hint}")


class Settings(dict[str, Any]):
    """Settings of a factory by name, as a value: nobody changes them."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def rating_and_deviation(_params: Params, rows: Any) -> Rating:
    """The rating, and the root of its variance if the rows have one."""
    return Rating(rows.rating, jnp.sqrt(rows.variance) if hasattr(rows, "variance") else None)


class RatingSystem(NamedTuple):
    """A rating system: data and pure functions, no hidden state. Systems made alike are equal.

    A factory gives `init`, `rules`, and what else differs from the defaults; `system_factory` adds the rest.
    Features are what events may have beyond plain ones: "teams" (teams of a round share their result), "seats" (a
    player may be in several teams of a round, in one row each), "noise" (contests may be noisier than others) and
    "categories" (those of players matter). `run` refuses rounds with the first three for a system without them.
    """

    init: Callable[[Params, int], State]  # (params, num_players) -> state
    rules: Any  # `Rules`; a factory may give `PairwiseRules`
    events: tuple[type, ...] = (Matches, Periods)  # what it rates
    summary: Callable[[Params, State], Rating] = rating_and_deviation  # (params, rows) -> Rating
    check_events: Callable[[Any], None] = accept_any_events  # ValueError if events lack what it needs; names the row
    features: tuple[str, ...] = ()
    # Participants above which rules of rounds do little for padding (see `numerics/selective_evaluation.py`).
    # None: they do as much for it as for players.
    padding_skipped_above: int | None = None
    name: str = ""  # that of the factory, unless it says otherwise
    params: Params = None  # default hyperparameters; from the arguments of the factory, unless it says otherwise
    space: Params = None  # the same fields, each a Parameter
    factory: "Callable[..., RatingSystem] | None" = None  # what made it
    settings: dict[str, Any] = Settings()  # what else the factory was given, or the form in which it is kept
    wrapper: "PredictionWrapper | None" = None  # what remade its predictions
    format_call: "Callable[[RatingSystem], str] | None" = None  # the call that makes it, if no plain one does

    def check(self, events: Any) -> None:
        """ValueError for events of a kind that it neither rates nor predicts, or that lack what it needs."""
        if type(events) is not Matches:  # which all predict
            check_event_type(self.name, self.events, events)
        self.check_events(events)

    def make(self, **changes: Any) -> "RatingSystem":
        """The system of the same factory and settings with these arguments; other hyperparameters have defaults."""
        if self.wrapper is not None:
            own = {name: changes.pop(name) for name in self.wrapper.param_names if name in changes}
            return self.wrapper.wrap(self.wrapper.inner.make(**changes), **own)
        assert self.factory is not None
        return self.factory(**{**self.settings, **changes})

    def __repr__(self) -> str:
        """The call that makes it: every number is exact, and what is switched off by default is left out."""
        if self.wrapper is not None:
            own = {name: getattr(self.params, name) for name in self.wrapper.param_names}
            arguments = [repr(self.wrapper.unwrap(self)), *_format_arguments(own, {})]
            return f"{self.wrapper.wrap.__name__}({', '.join(arguments)})"
        if self.format_call is not None:
            return self.format_call(self)
        known = {} if self.factory is None else dict(signature(self.factory).parameters)
        defaults = {field: about.default for field, about in known.items()}
        return f"{self.name}({', '.join(_format_arguments({**self.settings, **self.params._asdict()}, defaults))})"


class PredictionWrapper(NamedTuple):
    """What remade the predictions of a system: a function of it, and of further hyperparameters."""

    wrap: Callable[..., RatingSystem]
    inner: RatingSystem  # without values of hyperparameters
    param_names: tuple[str, ...] = ()  # of the further ones

    def unwrap(self, system: RatingSystem) -> RatingSystem:
        """The system whose predictions were remade, with the hyperparameters of the one that was made of it."""
        return self.inner._replace(params=select_params(self.inner, system.params))


def select_params(system: RatingSystem, params: Params) -> Params:
    """The hyperparameters of a system among these."""
    return type(system.space)(*(getattr(params, name) for name in system.space._fields))


def _format_arguments(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """The arguments of a call; None and () are left out where they are the default, or where that is not known."""
    return [
        f"{field}={format_setting(value)}"
        for field, value in values.items()
        if value not in (None, ()) or defaults.get(field, value) not in (None, (), Signature.empty)
    ]


def format_setting(value: Any) -> str:
    """A value in a call as it is written there."""
    if not isinstance(value, float):
        return display_name(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


FactoryArgs = ParamSpec("FactoryArgs")


def system_factory(make: Callable[FactoryArgs, RatingSystem]) -> Callable[FactoryArgs, RatingSystem]:
    """Around a factory of systems: a name that it does not know is a ValueError, and what it makes knows its maker.

    Arguments that are annotated with a `Parameter` are hyperparameters, and are documented; the others are settings.
    With the setting `seasons` ratings revert between seasons (see `core/mean_reversion.py`).
    """
    add_hyperparameters_to_docstring(make)
    call_signature = signature(make)
    parameters = call_signature.parameters
    takes_any_name = any(x.kind is x.VAR_KEYWORD for x in parameters.values())  # it refuses names of itself
    numbers = float, float | None, bool | float, int, int | None  # whose ranges it knows

    @wraps(make)
    def make_checked_system(*args: FactoryArgs.args, **options: FactoryArgs.kwargs) -> RatingSystem:
        if not takes_any_name:
            check_param_names(make.__name__, options, parameters)
        for name, value in [*zip(parameters, args, strict=False), *options.items()]:
            about = parameters.get(name)
            if about is None or about.annotation in numbers or value is about.default:
                continue
            check_argument(make.__name__, name, about.annotation, value)
        bound = call_signature.bind(*args, **options)
        bound.apply_defaults()
        if "seasons" in bound.arguments:
            bound.arguments["seasons"] = parse_season_starts(make.__name__, bound.arguments["seasons"])
        return _complete_system(make(*bound.args, **bound.kwargs), make_checked_system, bound.arguments)

    make_checked_system.__signature__ = signature_of_types(call_signature)  # type: ignore[attr-defined]
    return make_checked_system


def _complete_system(
    system: RatingSystem, factory: Callable[..., RatingSystem], arguments: Mapping[str, Any]
) -> RatingSystem:
    """The system with its name, hyperparameters and settings, which follow from the arguments of its factory."""
    name, seasons = system.name or factory.__name__, arguments.get("seasons", ())
    params, space, rules = system.params, system.space, system.rules
    if params is None:
        params, space = collect_params(factory, arguments)
        params = fill_season_defaults(name, bool(seasons), params)
    if isinstance(rules, PairwiseRules):
        rules = make_pairwise_rules(rules, seasons)
    named = [x.name for x in signature(factory).parameters.values() if x.kind is not x.VAR_KEYWORD]
    given = {key: arguments[key] for key in named if key not in space._fields}
    settings = Settings({**given, **system.settings})
    return system._replace(name=name, params=params, space=space, rules=rules, settings=settings, factory=factory)


class UnknownParameterError(ValueError):
    """A name that is none of those that a system has; the hint says which is meant, or all if they are few."""

    def __init__(self, system: str, name: str, hint: str) -> None:
        super().__init__(system, name, hint)
        self.system, self.name, self.hint = system, name, hint

    def __str__(self) -> str:
        return f"{self.system} has no parameter {self.name!r}{self.hint}"


def check_param_names(system: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """UnknownParameterError for a name that is none of those that a system has."""
    allowed = [*allowed]
    for name in names:
        if name not in allowed:
            raise UnknownParameterError(system, name, did_you_mean_or_list(name, allowed, "it has"))


def replace_params(system: RatingSystem, params: Params) -> RatingSystem:
    """The system with other hyperparameters; ValueError where its factory refuses them."""
    params = jax.tree.map(float, params)
    if system.factory is None:
        return system._replace(params=params)
    new = system.make(**params._asdict())
    if new.rules == system.rules:
        return new
    own = system.make(**system.params._asdict()).rules == system.rules
    return new if own else system._replace(params=params)


def set_period_if_default(system: RatingSystem, length: float | None) -> RatingSystem:
    """The system with rating periods of this length, if its own is the default; None: event by event, as it is."""
    own = getattr(system.params, "period", length)
    parameters = {} if system.factory is None else signature(system.factory).parameters
    if length is None or own == length or "period" not in parameters or own != parameters["period"].default:
        return system
    return system._replace(params=system.params._replace(period=float(length)))


def check_period_length(system: str, params: Params, length: float | None) -> None:
    """ValueError if rating periods of this length (None: not known) are of another than the hyperparameters say."""
    own = getattr(params, "period", None)
    if length is None or own is None or is_traced(own) or np.isclose(float(own), length, rtol=RELATIVE_TOLERANCE):
        return
    raise ValueError(
        f"the rating periods are of {length:g}, and this {system} has period={float(own):g}; the two must be equal, as "
        f"in jr.{system}(period={length:g})"
    )


def variance_bound(deviation_bound: float | Array | None) -> float | Array | None:
    """The bound of a variance from that of a deviation."""
    return None if deviation_bound is None else deviation_bound**2


def clip_optional(x: Array, low: float | Array | None, high: float | Array | None) -> Array:
    """`x` within bounds, where there are any."""
    x = x if low is None else jnp.maximum(x, low)
    return x if high is None else jnp.minimum(x, high)


def full_leaf(shape: int | tuple[int, ...], value: float | Array, kind: Any = float) -> Array:
    """Copies of a hyperparameter, [num_players] or so, in the default precision: NumPy's if nothing is traced here."""
    for length in shape if isinstance(shape, tuple) else (shape,):
        check_not_traced("num_players", length, "give a number, as arrays of a length are made")
        check_count("num_players", length, 0, HUGE_COUNT)
    dtype = jnp.result_type(kind)
    if isinstance(value, jax.Array) or isinstance(jax.device_put(np.zeros(())), jax.core.Tracer):
        return jnp.full(shape, value, dtype=dtype)
    with np.errstate(over="ignore"):
        return jax.device_put(np.full(shape, value, dtype))
