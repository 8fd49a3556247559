"""What a rating system is: its rules (see `rules`), its hyperparameters, and the call that makes it."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Signature, signature
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, Protocol

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
from jaxrate.core.hashable_functions_and_arrays import display_name
from jaxrate.core.hyperparameter_definitions import (
    RELATIVE_TOLERANCE,
    add_hyperparameters_to_docstring,
    collect_params,
)
from jaxrate.core.mean_reversion import default_season_growth, fill_season_defaults, parse_season_starts
from jaxrate.core.pairwise import PairwiseRules, make_pairwise_rules
from jaxrate.core.rules import Params, RandomUpdate, Rating, Rules, SizedPrepare, State
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.events import Matches, Periods, Ragged, Rounds


def accept_any_events(_events: Any) -> None:
    """Any events do."""


class EventCheckProtocol(Protocol):
    """ValueError if events lack what the system needs; names the row."""

    def __call__(self, events: Any, /) -> None: ...


class EventCheck(NamedTuple):
    """The check of events: what they may have beyond plain ones, and what else is wrong with them.

    Features are "teams" (teams of a round share their result), "seats" (a player may be in several teams of a round, in
    one row each: `systems/rounds/round_teams.py`), "noise" (contests may be noisier than others) and
    "categories" (those of players matter). `run` refuses rounds with the first three for a system that does not name
    them. The `system`, which the factory fills in, has the name of the system and the kinds of events that it
    rates: others are refused before `check` sees them.
    """

    features: tuple[str, ...] = ()
    check: EventCheckProtocol = accept_any_events
    # Participants above which rules of rounds do little for padding (see `numerics/selective_evaluation.py`).
    # None: they do as much for it as for players.
    padding_skipped_above: int | None = None
    system: tuple[str, tuple[type, ...]] | None = None  # its name, and the events that it rates

    def __call__(self, events: Any) -> None:
        if self.system is not None and not isinstance(events, Matches):  # which all predict
            check_event_kind(*self.system, events)
        self.check(events)


def check_event_kind(name: str, rated: tuple[type, ...], events: Any) -> None:
    """ValueError unless a system of this name, which rates events of these types, rates such events.

    Args:
      events: events, of which `Ragged` ones are of the type that they hold; or a type.
    """
    is_bare = isinstance(events, (Periods, Rounds))
    events = events.events if isinstance(events, Ragged) else events
    kind = events if isinstance(events, type) else type(events)
    if kind not in rated or is_bare:
        hint = "; they come as jr.periods and jr.rounds make them" if is_bare else ""
        if (kind, rated) == (Matches, (Periods,)):
            hint = "; group them by periods(matches, length), or give `rate` a period"
        elif kind is Rounds and not is_bare:
            hint = "; jr.elo_mmr() and jr.skills() rate contests, and others that `jaxrate systems` shows"
        raise ValueError(f"{name} rates {' or '.join(x.__name__ for x in rated)}, not {kind.__name__}{hint}")


class SystemFactoryProtocol(Protocol):
    """A system with some hyperparameters, by name."""

    def __call__(self, **changes: Any) -> "RatingSystem": ...


class FactoryCall(NamedTuple):
    """A factory of systems with its settings: a function of hyperparameters."""

    factory: "Callable[..., RatingSystem]"
    settings: tuple[tuple[str, Any], ...] = ()  # names and values of what else the factory was given

    def __call__(self, **changes: Any) -> "RatingSystem":
        return self.factory(**dict(self.settings) | changes)


class WrappedSystemFactory(NamedTuple):
    """A factory whose systems a wrapper remakes; the wrapper takes the hyperparameters of these names."""

    wrapper: "Callable[..., RatingSystem]"
    fields: tuple[str, ...]
    factory: "Callable[..., RatingSystem]"

    def __call__(self, **changes: Any) -> "RatingSystem":
        own = {name: changes.pop(name) for name in self.fields if name in changes}
        return self.wrapper(self.factory(**changes), **own)


class RatingSystem(NamedTuple):
    """A rating system: data and pure functions, no hidden state. Systems made alike are equal."""

    name: str
    params: Params  # default hyperparameters
    space: Params  # the same fields, each a Parameter
    events: tuple[type, ...]  # what `update` consumes: Matches, Periods, Rounds
    init: Callable[[Params, int], State]  # (params, num_players) -> state
    rules: Rules
    summary: Callable[[Params, State], Rating]  # (params, rows) -> Rating
    check: EventCheckProtocol = EventCheck()
    make: "SystemFactoryProtocol | None" = None  # makes it with other hyperparameters: its factory, or a `FactoryCall`

    @property
    def settings(self) -> dict[str, Any]:
        """What else the factory was given, by name."""
        return dict(self.make.settings) if isinstance(self.make, FactoryCall) else {}

    @property
    def factory(self) -> "Callable[..., RatingSystem] | None":
        """The factory that made it, if one did."""
        return self.make.factory if isinstance(self.make, FactoryCall) else self.make

    @property
    def features(self) -> tuple[str, ...]:
        """What its events may have beyond plain ones, see `EventCheck`."""
        return self.check.features if isinstance(self.check, EventCheck) else ()

    @property
    def padding_skipped_above(self) -> int | None:
        """Participants above which its rules do little for padding, see `EventCheck`."""
        return self.check.padding_skipped_above if isinstance(self.check, EventCheck) else None

    def __repr__(self) -> str:
        """The call that makes it: every number is exact, and what is switched off by default is left out."""
        return _format_factory_call(self.name, self.factory, self.settings | self.params._asdict())


def _format_factory_call(name: str, factory: Any, values: dict[str, Any]) -> str:
    """The call of a factory by this name, and around it those of wrappers."""
    if isinstance(factory, WrappedSystemFactory):
        own = {field: values[field] for field in factory.fields if field in values}
        inner = _format_factory_call(
            name, factory.factory, {field: x for field, x in values.items() if field not in own}
        )
        known, positional, name = dict[str, Any](), [inner], factory.wrapper.__name__
    else:
        own, positional = values, list[str]()
        known = {} if factory is None else dict(signature(factory).parameters)
    usual = {field: about.default for field, about in known.items()}
    named = [
        f"{field}={_format_setting(value)}"
        for field, value in own.items()
        if value not in (None, ()) or usual.get(field, value) not in (None, (), Signature.empty)
    ]
    return f"{name}({', '.join([*positional, *named])})"


def _format_setting(value: Any) -> str:
    if not isinstance(value, float):
        return display_name(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def rating_and_deviation(_params: Params, rows: Any) -> Rating:
    """The rating, and the root of its variance if the rows have one."""
    return Rating(rows.rating, jnp.sqrt(rows.variance) if hasattr(rows, "variance") else None)


class SystemParts(NamedTuple):
    """What a factory returns; `system_factory` adds the name, the hyperparameters and the settings."""

    init: Callable[[Params, int], State]  # (params, num_players) -> state
    rules: Rules | PairwiseRules
    events: tuple[type, ...] = (Matches, Periods)  # what it rates
    summary: Callable[[Params, State], Rating] = rating_and_deviation  # (params, rows) -> Rating
    check: EventCheckProtocol = EventCheck()
    settings: Mapping[str, Any] = MappingProxyType({})  # those that are kept in another form than they were given in
    hyperparameters: tuple[Params, Params] | None = None  # and their space; None: as they were given
    season_growth: Callable[[Params], float] = default_season_growth  # where there are seasons and it is None
    name: str | None = None  # None: that of the factory


FactoryArgs = ParamSpec("FactoryArgs")


def system_factory(make: Callable[FactoryArgs, SystemParts]) -> Callable[FactoryArgs, RatingSystem]:
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
        parts = make(*bound.args, **bound.kwargs)
        return _assemble_system(make_checked_system, parts, bound.arguments)

    shown = signature_of_types(call_signature)
    if shown.return_annotation is SystemParts:
        shown = shown.replace(return_annotation=RatingSystem)
    make_checked_system.__signature__ = shown  # type: ignore[attr-defined]
    return make_checked_system


def _assemble_system(factory: Callable[..., Any], parts: SystemParts, arguments: Mapping[str, Any]) -> RatingSystem:
    """The system that a factory makes of its arguments."""
    name = parts.name or factory.__name__
    known = {x.name for x in signature(factory).parameters.values() if x.kind is not x.VAR_KEYWORD}
    params, space = parts.hyperparameters or collect_params(factory, arguments)
    settings = {key: x for key, x in arguments.items() if key in known and key not in space._fields} | dict(
        parts.settings
    )
    seasons = settings.get("seasons", ())
    if parts.hyperparameters is None:
        params = fill_season_defaults(name, seasons, params, parts.season_growth)
    rules = make_pairwise_rules(parts.rules, seasons) if isinstance(parts.rules, PairwiseRules) else parts.rules
    check = parts.check if isinstance(parts.check, EventCheck) else EventCheck(check=parts.check)
    check, make = check._replace(system=(name, parts.events)), FactoryCall(factory, tuple(settings.items()))
    return RatingSystem(name, params, space, parts.events, parts.init, rules, parts.summary, check, make)


def check_param_names(system: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """ValueError for a name that is none of those that a system has."""
    allowed = [*allowed]
    for name in names:
        if name not in allowed:
            hint = did_you_mean_suffix(name, allowed)
            raise ValueError(f"{system} has no parameter {name!r}{hint} (it has {', '.join(allowed)})")


def replace_params(system: RatingSystem, params: Params) -> RatingSystem:
    """The system with other hyperparameters; ValueError where its factory refuses them.

    Rules that are not those of its factory stay as they are.
    """
    params = jax.tree.map(float, params)
    if system.make is None:
        return system._replace(params=params)
    new = system.make(**params._asdict())
    if new.rules == system.rules:
        return new
    own = system.make(**system.params._asdict()).rules == system.rules
    return new if own else system._replace(params=params)


def set_default_period(system: RatingSystem, length: float | None) -> RatingSystem:
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
    """Copies of a hyperparameter, [num_players] or so, in the default precision: NumPy's if nothing is traced here.

    (Each shape would be compiled.)
    """
    for length in shape if isinstance(shape, tuple) else (shape,):
        check_not_traced("num_players", length, "give a number, as arrays of a length are made")
        check_count("num_players", length, 0, HUGE_COUNT)
    dtype = jnp.result_type(kind)
    if isinstance(value, jax.Array) or isinstance(jax.device_put(np.zeros(())), jax.core.Tracer):
        return jnp.full(shape, value, dtype=dtype)
    with np.errstate(over="ignore"):
        return jax.device_put(np.full(shape, value, dtype))


def random_draw_rule(rules: Any) -> Callable[[Array], Any] | None:
    """The function that makes the random numbers of an event of its key; None: the rules use none."""
    return rules.update.draw if isinstance(rules.update, RandomUpdate) else None


def rules_with_sizes_for_params(rules: Rules, params: Params) -> Rules:
    """The rules with sizes that hold for hyperparameters: numbers, arrays of them, or traced: then they may be any."""
    return rules._replace(prepare=rules.prepare.sized(params)) if isinstance(rules.prepare, SizedPrepare) else rules
