"""The names in a dataset: players and categories that look alike joined, and categories that stand for several."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, check_that, enforce_argument_annotations, is_number
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_value_for_error
from jaxrate.data.lookalike_names import lookalike_key, normalise_name
from jaxrate.events import Matches, RowError, fail_where, seats
from jaxrate.events.dataset import Dataset

CategoryShares: TypeAlias = Mapping[Any, float] | Sequence[Any] | None


class NamesOfEarlierData(NamedTuple):
    """The names that have ids already, in their order, and the seasons that have begun; None: none."""

    players: Any = None  # or what makes ids of names
    categories: Any = None
    seasons: Mapping[str, float] | None = None


def names_of_earlier_data(history: Any) -> NamesOfEarlierData:
    """The names that keep their ids: those of an earlier `Dataset` or of a `History`, or players; None: none."""
    if history is None:
        return NamesOfEarlierData()
    if isinstance(history, (list, np.ndarray)) or type(history) is tuple:
        return NamesOfEarlierData(history)
    if getattr(history, "players", None) is None:
        kind = type(history).__name__
        raise ValueError(f"history must be an earlier Dataset or a History, as of jr.read or jr.rate, got {kind}")
    return NamesOfEarlierData(*(getattr(history, name, None) for name in NamesOfEarlierData._fields))


@enforce_argument_annotations
def mix_categories(data: Dataset, mixtures: Annotated[Mapping[Any, CategoryShares], CHECKED_BY_FUNCTION]) -> Dataset:
    """The events with shares of categories where the name of a category stands for several, as a random race does.

        data = jr.data.mix_categories(jr.read("games.csv", category=["race_a", "race_b"]), {"Random": None})

    Each player draws on their own. The mixtures are no categories any more; the others keep their order.

    Args:
      data: events with categories, as from `read`, and their `fixtures`.
      mixtures: by the name of a category the shares of others: by name, or names of equal parts. None: all others in
        equal parts.

    Raises:
      ValueError: for events without categories, or with mixtures already; for a mixture that nobody plays, of other
        names than categories, or of shares that do not sum to one.
    """
    if not isinstance(mixtures, Mapping):
        raise ValueError(f"mixtures must be a dict of shares by name, as {{'Random': None}}, got {mixtures!r}")
    if data.categories is None:
        raise ValueError("mixtures need category, the columns that they are in")
    last: Any = data if data.fixtures is None else data.fixtures  # which may add some
    check_that(not has_mixtures(data), "the categories are mixed already; give all mixtures at once")
    labels = [*map(str, last.categories)]
    absent = next((str(name) for name in mixtures if str(name) not in labels), None)
    if absent is not None:
        raise ValueError(f"the mixture {absent!r} is in no row{did_you_mean_suffix(absent, labels)}")
    is_mixture = np.isin(labels, [*map(str, mixtures)])
    pure = np.flatnonzero(~is_mixture)
    number = {labels[i]: position for position, i in enumerate(pure)}
    shares = np.eye(len(labels))[:, pure]
    for name, parts in mixtures.items():
        shares[labels.index(str(name))] = _mixture_shares(str(name), parts, number)
    fixtures = data.fixtures and _replace_category_ids_by_shares(data.fixtures, shares, is_mixture)
    return _replace_category_ids_by_shares(data, shares, is_mixture)._replace(fixtures=fixtures)


def _replace_category_ids_by_shares(data: Dataset, shares: HostArray, is_mixture: HostArray) -> Dataset:
    """The events with shares [n, ..., C] where a mixture is among their categories, and else with the new ids."""
    assert data.categories is not None
    ids, is_pure = event_categories(data), ~is_mixture[: len(data.categories)]
    new = shares[ids] if is_mixture[ids].any() else (np.cumsum(~is_mixture) - 1)[ids].astype(np.int32)
    return replace_event_categories(data, new)._replace(categories=data.categories[is_pure])


def event_categories(data: Dataset) -> HostArray:
    """[n, 2] the categories of the players of matches, or [n] those of participants: ids, or shares [..., C]."""
    flat: Any = data.events.flat
    return np.asarray(flat.category)


def replace_event_categories(data: Dataset, category: HostArray) -> Dataset:
    """The dataset, whose events have these categories."""
    flat: Any = data.events.flat
    if isinstance(flat, Matches):
        flat = flat._replace(context=flat.context._replace(category=category))
    else:
        flat = flat._replace(category=category)
    return data._replace(events=data.events.with_flat(flat))


def has_mixtures(data: Dataset) -> bool:
    """Whether events, or those to come, have shares of categories."""
    parts: list[Any] = [data] if data.fixtures is None else [data, data.fixtures]
    return any(event_categories(part).ndim > 1 + part.of_matches for part in parts)


def check_known_categories(
    data: Dataset, history_categories: Sequence[Any] | HostArray | None, mixtures: Iterable[Any] = ()
) -> None:
    """RowError for events of categories that a history does not know, nor are mixtures; None: it knows none at all."""
    if history_categories is None or data.categories is None:
        return
    labels, names = [*map(str, data.categories)], [*map(str, history_categories)]
    is_new = (np.arange(len(labels)) >= len(names)) & ~np.isin(labels, [*map(str, mixtures)])
    category = event_categories(data)
    if has_mixtures(data._replace(fixtures=None)):
        category = ((category > 0) & is_new).argmax(axis=-1)
    category = category.reshape(len(data.rows), -1)
    event, place = (positions[::-1] for positions in np.nonzero(is_new[category]))  # the first of a row stands
    new_of_row = np.full(data.rows.max(initial=-1) + 1, -1)
    new_of_row[data.rows[event]] = category[event, place]

    def say(row: int) -> str:
        name = labels[new_of_row[row]]
        return f"unknown category {name!r}{did_you_mean_suffix(name, names)} (there are {', '.join(names)})"

    fail_where(new_of_row >= 0, say)
    if data.fixtures is not None:
        check_known_categories(data.fixtures, history_categories, mixtures)


def _mixture_shares(name: str, shares: CategoryShares, categories: Mapping[str, int]) -> HostArray:
    """[C] the shares of a mixture; parts without shares are equal."""
    parts: Any = [*categories] if shares is None else shares
    if isinstance(parts, (list, tuple)):
        parts = dict.fromkeys(map(str, parts), 1.0 / max(len(parts), 1))
    if not isinstance(parts, Mapping) or not all(map(is_number, parts.values())):
        message = "must be None, a list of names, or a dict of shares by name"
        raise ValueError(f"the mixture {name!r} {message}, got {shares!r}")
    for unknown in [str(part) for part in parts if str(part) not in categories][:1]:
        reason = f"which is no category{did_you_mean_suffix(unknown, categories)} (there are {', '.join(categories)})"
        raise ValueError(f"the mixture {name!r} has {unknown!r}, {reason}")
    result = np.zeros(len(categories))
    for part, share in parts.items():
        result[categories[str(part)]] += share
    if not (result >= 0).all() or abs(result.sum() - 1.0) > 1e-6:
        raise ValueError(f"the shares of the mixture {name!r} must be from 0 and sum to 1, not to {result.sum():g}")
    return result


# Names that look alike


@enforce_argument_annotations
def unify_names(data: Dataset, history: Any = None) -> Dataset:
    """The events with one player for names that differ only by letter case, blanks or Unicode form; categories, too.

        data = jr.data.unify_names(jr.read("games.csv"))

    Blanks count where there are none around a name, or one in it; the Unicode form is NFKC. The name is spelt as most
    often, without superfluous blanks.

    Args:
      data: events, as from `read`, and their `fixtures`.
      history: whose players and categories stay as they are, and are joined by new ones that look alike: an earlier
        `Dataset`, or a `History`, by whose ids the data were read. None: there is none.

    Raises:
      ValueError: where players who become one meet each other (names the row); if categories are mixed.
    """
    if data.categories is not None and has_mixtures(data):
        raise ValueError("the categories are mixed already; unify names before mixing categories")
    earlier = names_of_earlier_data(history)
    datasets: list[Any] = [data] if data.fixtures is None else [data, data.fixtures]
    used = [np.ravel(x.events.flat.player) for x in datasets]
    names, ids = _unite_lookalikes(datasets[-1].players, np.concatenate(used), earlier.players)
    datasets = [_replace_players(x, names, ids) for x in datasets]
    if data.categories is not None:
        used = [np.ravel(event_categories(x)) for x in datasets]
        names, ids = _unite_lookalikes(datasets[-1].categories, np.concatenate(used), earlier.categories)
        datasets = [_replace_categories(x, names, ids) for x in datasets]
    united, *fixtures = datasets
    return united._replace(fixtures=fixtures[0]) if fixtures else united


def _replace_players(data: Dataset, names: HostArray, ids: HostArray) -> Dataset:
    _check_nobody_meets_themselves(data, names, ids)
    flat: Any = data.events.flat
    events = data.events.with_flat(flat._replace(player=ids[np.asarray(flat.player)]))
    return data._replace(events=events, players=_used_names(names, ids, data.players))


def _check_nobody_meets_themselves(data: Dataset, names: HostArray, ids: HostArray) -> None:
    """RowError where players of one event become one."""
    player, event = seats(data.events)
    united = ids[player]
    _, first, place = np.unique(event * np.int64(len(names)) + united, return_index=True, return_inverse=True)
    met = np.flatnonzero(player != player[first[place]])
    if len(met):
        where = "on both sides" if data.of_matches else "in a contest twice"
        name = format_value_for_error(names[united[met[0]]])
        row = data.rows[event[met[0]] if data.of_matches else met[0]]
        raise RowError(int(row), f"{name} is {where}, in two spellings; correct the name, or remove the row")


def _replace_categories(data: Dataset, names: HostArray, ids: HostArray) -> Dataset:
    categories = _used_names(names, ids, data.categories)
    return replace_event_categories(data, ids[event_categories(data)])._replace(categories=categories)


def _used_names(names: HostArray, ids: HostArray, old_names: Any) -> HostArray:
    """The names that stand in place of the old ones of a dataset, which may be fewer than those of its fixtures."""
    return names[: int(ids[: len(old_names)].max(initial=-1)) + 1]


def _unite_lookalikes(names: HostArray, used: HostArray, earlier_names: Any) -> tuple[HostArray, HostArray]:
    """Names without lookalikes of earlier ones, spelt as most `used` rows do, and the number of each name [n]."""
    if not all(isinstance(name, str) for name in names.tolist()):
        return names, np.arange(len(names), dtype=np.int32)
    num_earlier = 0 if earlier_names is None else len(earlier_names)
    keys = [*map(lookalike_key, names.tolist())]
    number = {key: i for i, key in reversed([*enumerate(keys[:num_earlier])])}
    new_keys = dict.fromkeys(key for key in keys[num_earlier:] if key not in number)
    number |= zip(new_keys, count(num_earlier), strict=False)
    ids = np.array([*range(num_earlier), *map(number.__getitem__, keys[num_earlier:])], np.int32)
    spellings = defaultdict[int, Counter[str]](Counter)
    for i, name, uses in zip(ids.tolist(), names.tolist(), np.bincount(used, minlength=len(names)), strict=True):
        spellings[i][normalise_name(name) or name] += int(uses)
    new = [spellings[number[key]].most_common(1)[0][0] for key in new_keys]
    united = [*names[:num_earlier].tolist(), *new]
    return np.fromiter(united, object, len(united)), ids
