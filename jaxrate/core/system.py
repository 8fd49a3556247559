"""What a rating system is: its rules (see `rules`), its hyperparameters, and the call that makes it."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Signature, signature
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
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.hashable_functions_and_arrays import display_name
from jaxrate.core.hyperparameter_definitions import RELATIVE_TOLERANCE, add_hyperparameters_to_docstring
from jaxrate.core.rules import Params, RandomUpdate, Rating, Rules, SizedPrepare, State
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.events import Matches, Periods, Ragged, Rounds


def accept_any_events(events: Any) -> None:
    """Any events do."""
    del events


class EventCheckProtocol(Protocol):
    """ValueError if events lack what the system needs; names the row."""

    def __call__(self, events: Any) -> None: ...


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


FactoryArgs = ParamSpec("FactoryArgs")


def system_factory(make: Callable[FactoryArgs, RatingSystem]) -> Callable[FactoryArgs, RatingSystem]:
    """Around a factory of systems: a name that it does not know is a ValueError, and what it makes knows its maker.

    Arguments that are annotated with a `Parameter` are hyperparameters, and are documented; see `collect_params`.
    """
    add_hyperparameters_to_docstring(make)
    parameters = signature(make).parameters
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
        system = make(*args, **options)
        check = system.check if isinstance(system.check, EventCheck) else EventCheck(check=system.check)
        system = system._replace(check=check._replace(system=(system.name, system.events)))
        return system if system.factory is make_checked_system else system._replace(make=make_checked_system)

    make_checked_system.__signature__ = signature_of_types(signature(make))  # type: ignore[attr-defined]
    return make_checked_system


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


def elapsed_time(time: Array, last: Array) -> Array:
    """Time since `last`, never negative; zero for a player who has not played yet (`last` = inf)."""
    return jnp.maximum(time - last, 0.0)


def elapsed_within_period(event: Periods, period: float | Array, last: Array) -> Array:
    """[A] how much of the time since `last` passes within a rating period, before its games count.

    `advance` lets time pass until the period begins; what it leaves is as of its end. For newcomers no time passes.
    """
    return elapsed_time(event.time + period, last) - elapsed_time(event.time, last)


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


# --- Pairwise systems: one formula serves a single match and a whole rating period. ---


def split_sides(rows: State, event: Matches | Periods) -> tuple[State, State]:
    """The rows of the first and of the second player: leaves [] for a match, [M] for the pairs of a period."""
    first, second = (event.pair[:, 0], event.pair[:, 1]) if isinstance(event, Periods) else (0, 1)
    return jax.tree.map(lambda x: x[first], rows), jax.tree.map(lambda x: x[second], rows)


def signed_side_advantage(event: Matches | Periods, points: float | Array) -> Array | float:
    """Rating points that the first player enjoys: `points` on their own side, minus that on the other, 0 if neutral."""
    return 0.0 if event.context.side is None else points * event.context.side


def rate_players(
    rate: Callable[[State, tuple[Array, ...]], State],
    rows: State,
    event: Matches | Periods,
    first: tuple[Array, ...],
    second: tuple[Array, ...],
) -> State:
    """New rows from what the games say: `rate(rows, total)`, elementwise, on each player's total over their games.

    `first` and `second` are what each game says about its first and its second player; a game of weight w counts w
    times.
    """
    weight = event.context.weight
    if weight is not None:
        first, second = (tuple(weight * x for x in terms) for terms in (first, second))
    if isinstance(event, Periods):
        a, b = event.pair[:, 0], event.pair[:, 1]
        zero = jnp.zeros(event.player.shape, first[0].dtype)
        if has_launch_overhead():  # on a CPU all terms at once take longer
            terms = jnp.concatenate([jnp.stack(x, axis=-1) for x in (first, second)])
            none = jnp.zeros((*zero.shape, len(first)), zero.dtype)
            return rate(rows, tuple(jnp.moveaxis(none.at[event.pair.T.ravel()].add(terms), -1, 0)))
        return rate(rows, tuple(zero.at[a].add(x).at[b].add(y) for x, y in zip(first, second, strict=True)))
    return jax.tree.map(lambda *x: jnp.stack(x), *map(rate, split_sides(rows, event), (first, second)))


def random_draw_rule(rules: Any) -> Callable[[Array], Any] | None:
    """The function that makes the random numbers of an event of its key; None: the rules use none."""
    return rules.update.draw if isinstance(rules.update, RandomUpdate) else None


def rules_with_sizes_for_params(rules: Rules, params: Params) -> Rules:
    """The rules with sizes that hold for hyperparameters: numbers, arrays of them, or traced: then they may be any."""
    return rules._replace(prepare=rules.prepare.sized(params)) if isinstance(rules.prepare, SizedPrepare) else rules
