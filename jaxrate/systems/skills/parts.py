"""Parts of what is believed of a player, and the state and constants that they add up to.

A player is a vector of D numbers, end to end those of the parts: a common skill, and whatever a model has beside it. A
part says what its numbers are of a newcomer, what they bring to an event, and what time makes of them. The linear
predictors of a participant are what the parts bring together: the strength, and in models of goals and points the pace.

Where a model has one number a player it is stored as [N] and not as [N, 1], see `expand_rows_to_vectors`.
"""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.rules import Rating
from jaxrate.core.system import full_leaf
from jaxrate.events import Matches, Periods, Ragged, Rounds, fail_where
from jaxrate.systems.skills.part_declarations import complete_params
from jaxrate.systems.skills.settings import SIDE_COLUMN, SIDES, ModelSettings, OwnPart

STRENGTH, PACE = 0, 1  # linear predictors


class Participants(NamedTuple):
    """What parts see of an event, of its participants: [2, ...] of both players of matches, [P] of contests."""

    one: Array  # [...] 1
    category: Array | None  # [...] the number of the category that each meets, or [..., C] shares of categories
    side: (
        Array | None
    )  # [...] 1 on their own side, -1 on that of the other, 0 on neutral ground; None: as a column says
    columns: Any  # further columns: of matches [...] without the 2, of contests [P]


class Part(NamedTuple):
    """A part of the vector of a player. What a hyperparameter says of it is told by its name."""

    name: str  # of what it brings, as explanations of predictions call it
    size: int  # how many numbers of a player it is
    loadings: Callable[[Participants], Array]  # [..., size] what of its numbers counts
    deviation: str  # of a newcomer, of each number
    growth: str | None  # of deviations, per square root of a period; None: what reversion takes from a newcomer's
    reversion: str = "reversion"  # the time constant in which it falls back; a value of None: it does not
    limit: str | None = None  # the deviation to which time leads; None, or a value of None: the newcomer's
    mean: str | None = None  # a newcomer's; None: 0
    grows_with_events: bool = False  # by matches and by seasons
    is_rated: bool = False  # whether it counts in the rating that is shown, of a neutral match
    predictor: int = STRENGTH


def constant_loading(participants: Participants) -> Array:
    """[..., 1] the loading of what counts in every event."""
    return participants.one[..., None]


def category_loadings(count: int, participants: Participants) -> Array:
    """[..., count] the loadings of categories: the one that is met, or their shares."""
    category: Any = participants.category
    if jnp.issubdtype(category.dtype, jnp.integer):
        return jax.nn.one_hot(category, count, dtype=participants.one.dtype)
    return category


def side_loading(participants: Participants) -> Array:
    """[..., 1] the loading of an own side advantage."""
    side: Any = participants.columns[SIDE_COLUMN] if participants.side is None else participants.side
    return side[..., None]


def own_part_loadings(part: OwnPart, participants: Participants) -> Array:
    """[..., size] the loadings of a part of a user's own, which sees no columns but those that it names."""
    columns = {name: participants.columns[name] for name in part.columns}
    values = jnp.asarray(part.loadings(participants._replace(columns=columns)), participants.one.dtype)
    return jnp.broadcast_to(values, (*participants.one.shape, part.size))


SKILL = Part(
    "skill", 1, constant_loading, "initial_deviation", "growth", limit="deviation_max", mean="initial_rating",
    grows_with_events=True, is_rated=True,
)  # fmt: skip
OWN_SIDE = Part("own_side", 1, side_loading, "initial_own_side_deviation", "own_side_growth")
PACE_PART = Part("pace", 1, constant_loading, "initial_pace_deviation", "pace_growth", predictor=PACE)
FORM = Part("current_form", 1, constant_loading, "form_deviation", None, reversion="form_reversion", is_rated=True)


def model_parts(model: ModelSettings) -> tuple[Part, ...]:
    """The parts of a model, in the order in which their numbers stand."""
    category = bind(category_loadings, model.categories)
    modifier = Part("modifier", model.modifiers, category, "initial_modifier_deviation", "modifier_growth")
    own = [
        Part(f"own_{x.name}", x.size, bind(own_part_loadings, x), f"initial_{x.name}_deviation", f"{x.name}_growth")
        for x in model.own_parts
    ]
    optional = (
        (modifier, model.modifiers),
        (OWN_SIDE, model.own_side),
        *((part, True) for part in own),
        (PACE_PART, model.pace),
        (FORM, model.form),
    )
    return (SKILL, *(part for part, has in optional if has))


def count_predictors(model: ModelSettings) -> int:
    """k, the number of linear predictors of a participant."""
    return 1 + max(part.predictor for part in model_parts(model))


def participants_of_parts(event: Matches | Periods | Rounds) -> Participants:
    """What parts see of the participants of an event."""
    if isinstance(event, Rounds):
        return Participants(jnp.ones_like(event.weight), event.category, None, event.columns)
    context, axis = event.context, event.score.ndim
    category, side = context.category, context.side
    return Participants(
        jnp.ones((2, *event.score.shape), event.score.dtype),
        None if category is None else jnp.moveaxis(jnp.flip(category, axis), axis, 0),
        None if side is None else jnp.stack([side, -side]),
        context.columns,
    )


def participant_values(event: Matches | Periods | Rounds, names: tuple[str, ...]) -> Array:
    """[...] of participants, or of one side each, values of columns; `SIDES`: 0 of first players, 1 of second."""
    one = participants_of_parts(event).one
    if names == (SIDES,):
        return jnp.stack([0.0 * one[0], one[1]])
    columns = [(event.context.columns or {})[name] for name in names]
    return jnp.broadcast_to(columns[0] if len(columns) == 1 else jnp.stack(columns), one.shape)


SEEN_FIELDS = {"score", "context", "weight", "category", "columns"}  # of events, by functions of users
CHECKED_AT_ONCE = 4096  # events, so that histories of all lengths share a program


def check_own_loadings(model: ModelSettings, events: Matches | Ragged) -> None:
    """ValueError that names the part of a user's own whose loadings of these events fail, or are no finite numbers."""
    for part in model.own_parts:
        call = f"parts.own({part.name!r}, ...)"
        use = f"they are a function of participants that returns [..., {part.size}], and see the columns {part.columns}"
        check_user_function(
            bind(are_loadings_finite, part),
            events,
            f"the loadings of {call} fail",
            use,
            f"a loading of {call} is no finite number",
        )


def hide_fields_from_user_functions(events: Matches | Ragged) -> Any:
    """The events, of all games or participants, with what functions of users see of them."""
    flat: Any = events.flat
    return type(flat)(**{name: x if name in SEEN_FIELDS else None for name, x in flat._asdict().items()})


def check_user_function(
    are_right: Callable[[Any], Array], events: Matches | Ragged, failure: str, use: str, mistake: str
) -> None:
    """ValueError where a user's function fails (`failure`), or does not give what it should (`mistake`)."""
    seen, count = hide_fields_from_user_functions(events), events.num_rows
    for start in range(0, count, CHECKED_AT_ONCE):
        rows = np.minimum(np.arange(start, start + CHECKED_AT_ONCE), count - 1)
        try:
            with jax.ensure_compile_time_eval():  # also where a caller traces
                is_right = are_right(jax.tree.map(lambda x: np.asarray(x)[rows], seen))  # noqa: B023
        except Exception as error:  # any of a function that a user wrote
            raise ValueError(f"{failure}: {type(error).__name__}: {error}; {use}") from error
        bad = np.append(np.zeros(start, bool), ~np.asarray(is_right))[:count]
        fail_where(bad, lambda row: mistake)


@partial(jax.jit, static_argnums=0)
def are_loadings_finite(part: OwnPart, event: Matches | Periods | Rounds) -> Array:
    """[n] whether the loadings of a part of a user's own are numbers, for matches or for participants of contests."""
    is_finite = jnp.isfinite(own_part_loadings(part, participants_of_parts(event))).all(axis=-1)
    return is_finite.reshape(-1, event.num_rows).all(axis=0)


def participant_loadings(model: ModelSettings, event: Matches | Periods | Rounds) -> Array:
    """x [..., k, D] of participants: what of their numbers counts in each of k linear predictors."""
    parts, participants = model_parts(model), participants_of_parts(event)
    each = [part.loadings(participants) for part in parts]
    rows = [
        jnp.concatenate(
            [x if part.predictor == i else jnp.zeros_like(x) for part, x in zip(parts, each, strict=True)], -1
        )
        for i in range(count_predictors(model))
    ]
    return jnp.stack(rows, axis=-2)


class State(NamedTuple):
    mean: Array  # [num_players, D] the numbers of all parts, see `model_parts`, in points; [num_players] if D = 1
    covariance: Array  # [num_players, D, D] as of `time`; [num_players] if D = 1
    games: Array | None  # [num_players] matches played, by weight. None: experience does not count
    time: Array  # [num_players] end of the last event; inf before the first
    kind: Array | None = None  # [num_players] 1 of the second kind, 0 of the first and of newcomers
    season: Array | None = None  # [num_players] number of the last season played; inf before the first


class PlayerKindConstants(NamedTuple):
    """The constants of a kind of players."""

    variance: Any  # [D] of a newcomer
    growth: Any  # [D] of the variances, per unit of time
    limit: Any  # [D] variances to which time lets them grow
    match_growth: Any  # of the variance; None: none
    experience: Any  # points per unit of log(1 + matches played); None: none


class Constants(NamedTuple):
    params: Any
    newcomer: Any  # [D] the mean
    kinds: tuple[PlayerKindConstants, ...]  # of one kind of players, or of two
    noise: Any  # the variance; None: the observation has its own


def select_by_player_kind(constants: Constants, kind: Array | None) -> PlayerKindConstants:
    """The constants of players [...] of these kinds, leaves [..., D]; [D] where all are of one kind."""
    if len(constants.kinds) == 1 or kind is None:
        return constants.kinds[0]

    def select(first: Any, second: Any) -> Any:
        is_second = kind > 0.5
        if jnp.ndim(first) == 0:
            return jnp.where(is_second, second, first)
        shape = (*is_second.shape, len(first))
        return jnp.where(is_second[..., None], *(jnp.broadcast_to(jnp.asarray(x), shape) for x in (second, first)))

    return jax.tree.map(select, *constants.kinds)


def concatenate_numbers(parts: tuple[Part, ...], values: list[Any]) -> Any:
    """[D] one vector of the numbers of all parts; NumPy's if none is JAX's."""
    each = [value for part, value in zip(parts, values, strict=True) for _ in range(part.size)]
    if any(isinstance(x, jax.Array) for x in each):
        return jnp.stack([jnp.asarray(x, float) for x in each])
    return np.array(each, jnp.result_type(float))


def part_field_indicator(parts: tuple[Part, ...], field: str) -> Any:
    """[D] 1 for the numbers of parts that have this field, 0 for others."""
    return concatenate_numbers(parts, [float(getattr(part, field)) for part in parts])


def indices_of_part(model: ModelSettings, name: str) -> list[int]:
    """The places of a part among the numbers of a player."""
    names = [part.name for part in model_parts(model) for _ in range(part.size)]
    return [i for i, own in enumerate(names) if own == name]


def indices_counted_in_rating(model: ModelSettings) -> Any:
    """The places of what counts in the rating that is shown."""
    return np.flatnonzero(part_field_indicator(model_parts(model), "is_rated"))


def newcomer_means(model: ModelSettings, params: Any) -> Any:
    """[D] the means of the numbers of a newcomer."""
    parts = model_parts(model)
    return concatenate_numbers(parts, [0.0 if part.mean is None else getattr(params, part.mean) for part in parts])


def player_kind_constants(model: ModelSettings, params: Any) -> PlayerKindConstants:
    """The constants of players with these hyperparameters."""
    parts = model_parts(model)
    deviations = [getattr(params, part.deviation) for part in parts]
    limits: list[Any] = [getattr(params, part.limit) if part.limit else None for part in parts]
    growths = [
        2.0 * deviation**2 / getattr(params, part.reversion)
        if part.growth is None
        else getattr(params, part.growth) ** 2 / params.period
        for part, deviation in zip(parts, deviations, strict=True)
    ]
    limits = [y if x is None else x for x, y in zip(limits, deviations, strict=True)]
    return PlayerKindConstants(
        concatenate_numbers(parts, [x**2 for x in deviations]),
        concatenate_numbers(parts, growths),
        concatenate_numbers(parts, [x**2 for x in limits]),
        None if params.match_growth is None else params.match_growth**2,
        params.experience,
    )


def prepare(model: ModelSettings, params: Any) -> Constants:
    params = complete_params(params)
    kinds = [player_kind_constants(model, params)]
    if model.kinds:
        of_second = "growth", "initial_deviation", "match_growth", "experience"
        second = params._replace(**{name: getattr(params, f"second_kind_{name}") for name in of_second})
        kinds.append(player_kind_constants(model, second))
    noise = None if params.noise is None else params.noise**2
    return Constants(params, newcomer_means(model, params), tuple(kinds), noise)


def init(model: ModelSettings, params: Any, num_players: int) -> State:
    params = complete_params(params)
    mean, variance = newcomer_means(model, params), player_kind_constants(model, params).variance
    numpy = jnp if isinstance(variance, jax.Array) else np
    shape = () if model.size == 1 else (model.size,)
    return State(
        full_leaf((num_players, *shape), mean.reshape(shape)),
        full_leaf((num_players, *shape, *shape), numpy.diag(variance).reshape(shape * 2)),
        None if params.experience is None else full_leaf(num_players, 0.0),
        full_leaf(num_players, jnp.inf),
        full_leaf(num_players, 0.0) if model.kinds else None,
        None if model.league_season is None else full_leaf(num_players, jnp.inf),
    )


def expand_rows_to_vectors(rows: State) -> State:
    """The rows with beliefs [..., D] and [..., D, D], also where D = 1."""
    if rows.mean.ndim > rows.time.ndim:
        return rows
    return apply_to_players(
        lambda rows: rows._replace(mean=rows.mean[..., None], covariance=rows.covariance[..., None, None]), rows
    )


def squeeze_single_number_rows(rows: State) -> State:
    """The rows as they are stored: beliefs [...] where D = 1."""
    if rows.mean.shape[-1] > 1:
        return rows
    return apply_to_players(
        lambda rows: rows._replace(mean=rows.mean[..., 0], covariance=rows.covariance[..., 0, 0]), rows
    )


def apply_to_players(function: Callable[..., Any], rows: State, *arrays: Any) -> Any:
    """A function of rows of players [...] and arrays; of both of a match, of one number each, apart.

    XLA then keeps the numbers of a player in registers, where pairs of vectors would go through memory: a replay of one
    match after the other takes a thirtieth of the time.
    """
    if rows.time.shape != (2,) or rows.mean.shape not in ((2,), (2, 1)):
        return function(rows, *arrays)
    each = [function(*jax.tree.map(itemgetter(player), (rows, *arrays))) for player in range(2)]
    return jax.tree.map(lambda *both: jnp.stack(both), *each)


def experience_points(constants: Constants, kind: Array | None, games: Array | None) -> Array | None:
    """[...] what so many games are worth to players of these kinds; None: nothing to anybody."""
    worth = select_by_player_kind(constants, kind).experience
    return None if worth is None or games is None else worth * jnp.log1p(games)


def summary(model: ModelSettings, params: Any, rows: State) -> Rating:
    """The rating of players in a neutral match: their common skill, their form, and their experience."""
    return _summarise_in_one_program(model, complete_params(params), rows)


@partial(jax.jit, static_argnums=0)
def _summarise_in_one_program(model: ModelSettings, params: Any, rows: State) -> Rating:
    mean, covariance = expand_rows_to_vectors(rows)[:2]
    rated = indices_counted_in_rating(model)
    rating = jnp.sum(mean[:, rated], axis=-1)
    variance = jnp.sum(covariance[:, rated[:, None], rated[None]], axis=(-2, -1))
    points = experience_points(prepare(model, params), rows.kind, rows.games)
    return Rating(rating if points is None else rating + points, jnp.sqrt(variance))
